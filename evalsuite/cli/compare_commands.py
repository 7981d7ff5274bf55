"""`evalsuite compare`, `samples` and `agree`: compare several runs or raters."""

import math
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from evalsuite.cli.options import RUNS, Json, Quiet, RunsFolder, Scoring
from evalsuite.cli.showing import Outputs, Reveal, check_showing, console, print_document, with_write_failures, write_all
from evalsuite.compare.characters import clean
from evalsuite.core.errors import EXIT_GATE, EXIT_OK, UsageError

Rater = Annotated[str, typer.Argument(help="a run's name or folder, or a .csv file with the columns instance_id and label")]


def compare_command(
    names: Annotated[
        list[str],
        typer.Argument(metavar="A B [C ...]", help="runs (SUITE/RUN too) or submission folders; A is the baseline; A1+A2: samples"),
    ],
    gold: Annotated[
        Path | None,
        typer.Option(
            "--gold", "--gold-dir", "--gold_dir", help="the gold to score submission folders against [default: the runs' own, else gold]"
        ),
    ] = None,
    runs: RunsFolder = RUNS,
    alpha: Annotated[float, typer.Option(help="the accepted rate of false positives; intervals cover 1 - alpha", metavar="0-1")] = 0.05,
    fail_on_regression: Annotated[
        bool, typer.Option("--fail-on-regression", help="exit 1 if a candidate is worse than the baseline at alpha")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="compare runs of different signatures, with a warning in every report")] = False,
    cluster: Annotated[
        str | None,
        typer.Option(help="groups with this prefix are clusters [default: the clusters of suite.yaml]", metavar="TAG-PREFIX"),
    ] = None,
    suite: Annotated[
        str | None, typer.Option(help="the names are of runs of this suite: A is SUITE/A", metavar="SUITE", show_default=False)
    ] = None,
    shift: Annotated[
        bool, typer.Option("--shift", help="also test whether scores are distributed differently, by field or by scorer")
    ] = False,
    labels: Annotated[
        list[Path] | None,
        typer.Option("--labels", metavar="FILE.csv", help="human labels of answers, one file for each run in order", show_default=False),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="list every flip and every field")] = False,
    output: Outputs = None,
    reveal: Reveal = None,
    json_: Annotated[bool, typer.Option("--json", help="print the comparison as JSON and nothing else")] = False,
    quiet: Quiet = False,
    *,
    how: Scoring,
) -> int:
    """Compare runs or submission folders on the same instances: difference, interval, p-value, and which instances flipped.

    Pairs instances by id. Exact McNemar for 0/1 scores, sign-flip permutation for graded ones, Holm over several candidates.
    """
    from evalsuite.analysis.leaderboard import compare
    from evalsuite.analysis.leaderboard.pairing import with_labels
    from evalsuite.analysis.leaderboard.repeated_runs import load_samples
    from evalsuite.reports.comparison_document import comparison_document, comparison_verdict
    from evalsuite.reports.data_files import as_json
    from evalsuite.reports.terminal import show
    from evalsuite.runs.history import last_suite_of

    how.load()
    check_showing(output or (), reveal)
    scoring = how.options()
    chosen = scoring.pop("rules")
    load = partial(load_samples, runs=runs, gold=gold, rules=chosen, how=scoring)
    try:
        sides, notes = load(_of_suite(suite, names) if suite is not None else names)
    except UsageError:
        last = last_suite_of({own for name in names for own in name.split("+")}, runs) if suite is None else None
        if last is None:
            raise
        sides, notes = load(_of_suite(last, names))
        notes = [*notes, f"several suites have runs of these names: compared are those of {last}, which ran last (--suite says another)"]
    for note in notes:
        print(f"note: {clean(note)}", file=sys.stderr)
    found = compare(with_labels(sides, labels or ()), rules=chosen, alpha=alpha, force=force, cluster=cluster, shift=shift, reveal=reveal)
    fails = fail_on_regression and (found.regressions or found.undecided)
    code, line = EXIT_GATE if fails else EXIT_OK, comparison_verdict(found, gate=fail_on_regression)
    code, line = with_write_failures(code, line, write_all(comparison_document(found), output or ()))
    if json_:
        print(*as_json(comparison_document(found)), sep="", end="")
    elif quiet:
        print(line)
    else:
        show(comparison_document(found, everything=all_), console(), last_line=line)
    return code


def _of_suite(suite: str, names: Sequence[str]) -> list[str]:
    """Return the names as runs of a suite."""
    return ["+".join(f"{suite}/{own}" for own in name.split("+")) for name in names]


def samples_command(
    names: Annotated[list[str], typer.Argument(metavar="RUN RUN [RUN ...]", help="runs or submission folders of one model, or of several")],
    gold: Annotated[
        Path | None, typer.Option("--gold", help="the gold to score submission folders against [default: the runs' own, else gold]")
    ] = None,
    runs: RunsFolder = RUNS,
    output: Outputs = None,
    json_: Annotated[bool, typer.Option("--json", help="print the numbers as JSON and nothing else")] = False,
    *,
    how: Scoring,
) -> int:
    """Analyse several runs as samples of the same questions: mean, pass@k, pass^k, and the noise of questions and of samples.

    Runs that each have a `model_name` are the samples of that model; otherwise all belong to one. `compare A1+A2 B1+B2` compares samples.
    """
    from evalsuite.analysis.leaderboard import load_sides
    from evalsuite.analysis.leaderboard.repeated_runs import samples_of
    from evalsuite.reports.analysis_documents import samples_document

    how.load()
    check_showing(output or (), None)
    scoring = how.options()
    document = samples_document(samples_of(load_sides(names, runs=runs, gold=gold, rules=scoring.pop("rules"), how=scoring)))
    n_lost = write_all(document, output or ())
    print_document(document, "json" if json_ else "text")
    return EXIT_GATE if n_lost else EXIT_OK


def agree_command(
    rater_a: Rater,
    rater_b: Rater,
    runs: RunsFolder = RUNS,
    threshold: Annotated[float | None, typer.Option(help="count labels of at least this as 1, others as 0", metavar="NUMBER")] = None,
    most: Annotated[int, typer.Option(help="how many disagreements are shown")] = 20,
    json_: Json = False,
) -> int:
    """Measure how far two raters agree beyond chance, and list where they do not: two runs (two judges), or a run and human labels."""
    from evalsuite.analysis.leaderboard.agreement import agree, read_rater
    from evalsuite.reports.analysis_documents import raters_document

    if threshold is not None and math.isnan(threshold):
        raise UsageError("--threshold cannot be nan", hint="a number; labels of at least this count as 1")
    if most < 0:
        raise UsageError(f"--most cannot be {most}", hint="a number from 0")
    found = agree(read_rater(rater_a, runs), read_rater(rater_b, runs), threshold=threshold)
    print_document(raters_document(found, most=most), "json" if json_ else "text")
    return EXIT_OK
