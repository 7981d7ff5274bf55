"""`evalsuite import`: what another tool logged becomes a suite with runs, its verdicts kept as labels."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from evalsuite.cli.options import Json
from evalsuite.errors import EXIT_OK
from evalsuite.reports.clean import clean

_MOST_LOST = 5


def import_command(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="results of promptfoo, a log of Inspect, or samples_*.jsonl of lm-eval")],
    name: Annotated[str | None, typer.Option(help="the suite's name [default: the log's]", show_default=False)] = None,
    scorer: Annotated[
        str | None,
        typer.Option(help="also score the outputs with this scorer of ours, as runs of their own for `agree`", show_default=False),
    ] = None,
    json_: Json = False,
) -> int:
    """Read a log of promptfoo, Inspect or lm-eval into a suite with a run for each provider, log or filter.

    A run keeps their verdicts: `compare` holds two of them to each other, `agree` theirs to ours.
    """
    from evalsuite.suites.foreign_logs import read_log
    from evalsuite.suites.logged_runs import save_log
    from evalsuite.suites.test_suite import TestSuite

    log = read_log(path)
    log = replace(log, suite=name) if name else log
    folders = save_log(log, scorer or "string_match")
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
        print(json.dumps(found, ensure_ascii=False, indent=1))
        return EXIT_OK
    for row in found["runs"]:
        theirs = "not judged" if row["theirs"] is None else f"{100 * row['theirs']:.1f} %"
        print(clean(f" {row['name']}: {row['n']} samples, {theirs} by {log.format}"))
    names = [json.dumps(run.name, ensure_ascii=False) for run in log.runs]
    step = f"agree {names[0]} {json.dumps(ours[0])}" if ours else f"compare {names[0]} {names[1]}" if names[1:] else f"report {names[0]}"
    print(clean(f"next: evalsuite {step}"))
    again = "" if folders else "; all of it was there already"
    print(clean(f"done: imported suite {log.suite!r} from {log.format}, {len(log.runs)} run{'s' * (len(log.runs) != 1)}{again}"))
    return EXIT_OK
