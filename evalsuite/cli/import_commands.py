"""`evalsuite import` and `evalsuite export`: convert logs of other tools to suites and runs, and back."""

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from evalsuite.cli.options import RUNS, Json, RunName, RunsFolder
from evalsuite.cli.showing import Reveal
from evalsuite.compare.characters import clean
from evalsuite.core.errors import EXIT_OK, UsageError, write_error
from evalsuite.reports.words import count_words
from evalsuite.runs.history import find_runs, one_run
from evalsuite.runs.run_files import write_atomically

_MOST_LOST = 5


def import_command(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="results of promptfoo, a log of Inspect, or samples_*.jsonl of lm-eval")],
    name: Annotated[str | None, typer.Option(help="the suite's name [default: the log's]", show_default=False)] = None,
    scorer: Annotated[
        str | None,
        typer.Option(help="also score the outputs with this scorer, as separate runs for `agree`", show_default=False),
    ] = None,
    json_: Json = False,
) -> int:
    """Import a log of promptfoo, Inspect or lm-eval as a suite with a run for each provider, log or filter.

    A run keeps the log's verdicts: `compare` compares two of them, `agree` compares theirs with evalsuite's. The same bytes are imported
    once, whatever the file's name; another log of the same suite adds runs, named after the file if a name is taken.
    """
    from evalsuite.reports.test_suite import TestSuite
    from evalsuite.suites.tool_logs import read_log, save_log

    log, folders = save_log(read_log(path), scorer or "string_match", name=name)
    for lost in log.lost[:_MOST_LOST]:
        print(clean(f"warning: {path}: {lost} cannot be read and is left out"), file=sys.stderr)
    if log.lost[_MOST_LOST:]:
        print(f"warning: {path}: {len(log.lost) - _MOST_LOST} more are left out", file=sys.stderr)
    ours = []
    if scorer is not None and folders:
        suite = TestSuite(log.suite)
        for run in log.runs:
            outputs = {one.key: one.output for one in run.cases}
            texts = [outputs.get(case.id, "") for case in suite.suite.test_cases]
            ours.append(suite.run(f"{run.name} by {scorer}", candidate_output_list=texts).name)
    found = log.to_json()
    if json_:
        print(json.dumps(found, indent=1))
        return EXIT_OK
    for row in found["runs"]:
        theirs = "not judged" if row["theirs"] is None else f"{100 * row['theirs']:.1f} %"
        print(clean(f" {row['name']}: {count_words(row['n'], 'sample')}, {theirs} by {log.format}"))
    names = [run.name for run in log.runs]
    if folders and not names[1:]:
        # Suggest a comparison with earlier imports of the suite.
        others = [str(one.metadata.get("run_name")) for one in find_runs(suite=log.suite)]
        names = [*[name for name in others if name not in (*names, *ours)][:1], *names]
    step = ["compare", *names[:2]] if names[1:] else ["report", f"{log.suite}/{names[0]}"]
    step = ["agree", *(f"{log.suite}/{name}" for name in (names[0], ours[0]))] if ours else step
    print(clean(f"next: evalsuite {shlex.join(step)}"))
    again = "" if folders else "; all of it was there already"
    print(clean(f"done: imported suite {log.suite!r} from {log.format}, {count_words(len(log.runs), 'run')}{again}"))
    return EXIT_OK


def export_command(
    run: RunName,
    path: Annotated[Path, typer.Argument(metavar="FILE", help="the log to write: .json for Inspect, .jsonl for lm-eval")],
    runs: RunsFolder = RUNS,
    as_: Annotated[str | None, typer.Option("--as", metavar="inspect|lm-eval", help="the format, if the ending does not imply it")] = None,
    reveal: Reveal = None,
) -> int:
    """Write a saved run as a log of Inspect or as samples of lm-eval: question, reference, answer, verdict and reason.

    Instances answered by files, or without a question in gold, cannot be exported and are counted.
    """
    from evalsuite.reports import check_writable
    from evalsuite.reports.record import record_of_entry, redact_record
    from evalsuite.runs.submission_reader import saved_exchanges
    from evalsuite.suites.tool_logs import EXPORTS, text_samples

    form = as_ or next((name for name, (ending, _) in EXPORTS.items() if path.suffix == ending), "")
    if form not in EXPORTS:
        raise UsageError(f"no form for {as_ or path.name!r}", hint="--as inspect, or --as lm-eval")
    check_writable(path)
    entry = one_run(run, runs)
    record = redact_record(record_of_entry(entry, exchanges=saved_exchanges(entry)), reveal)
    n = sum(1 for _ in text_samples(record))
    if not n:
        raise UsageError(f"{record.name}: no instance has a question and a text as its answer", hint="`report -o x.json` writes any run")
    try:
        write_atomically(path, EXPORTS[form][1](record))
    except OSError as error:
        raise write_error(path, error) from error
    if left := len(record.results) - n:
        print(f"note: {left} of {len(record.results)} instances have no question or no text as their answer and are left out")
    print(clean(f"done: wrote {count_words(n, 'sample')} to {path} as {form} has them"))
    return EXIT_OK
