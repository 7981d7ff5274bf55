"""`evalsuite compare`: a baseline against one or more candidates, instance by instance."""

from pathlib import Path
from typing import Annotated

import typer

from evalsuite.cli.options import RUNS, Quiet, Scoring
from evalsuite.cli.showing import Outputs, Reveal, check_showing, console, with_lost, write_all
from evalsuite.errors import EXIT_GATE, EXIT_OK


def command(
    names: Annotated[list[str], typer.Argument(metavar="A B [C ...]", help="runs or submission folders; A is the baseline")],
    how: Scoring,
    gold: Annotated[
        Path | None,
        typer.Option(
            "--gold", "--gold-dir", "--gold_dir", help="the gold to score submission folders against [default: the runs' own, else gold]"
        ),
    ] = None,
    runs: Annotated[Path, typer.Option("--runs", help="the folder of runs")] = RUNS,
    alpha: Annotated[
        float, typer.Option(help="the chance of a false call that is accepted; intervals hold 1 - alpha", metavar="0-1")
    ] = 0.05,
    fail_on_regression: Annotated[
        bool, typer.Option("--fail-on-regression", help="exit 1 where a candidate is worse than the baseline at alpha")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="compare runs of different signatures, with a warning in every report")] = False,
    cluster: Annotated[
        str | None,
        typer.Option(help="groups that begin with this are clusters [default: the clusters of suite.yaml]", metavar="TAG-PREFIX"),
    ] = None,
    shift: Annotated[
        bool, typer.Option("--shift", help="also test whether scores are distributed differently, by field or by scorer")
    ] = False,
    all_: Annotated[bool, typer.Option("--all", help="list every flip and every field")] = False,
    output: Outputs = None,
    reveal: Reveal = None,
    json_: Annotated[bool, typer.Option("--json", help="print the comparison as JSON and nothing else")] = False,
    quiet: Quiet = False,
) -> int:
    """Compare runs or submission folders on the same instances: difference, interval, p-value, and which instances flipped.

    Pairs instances by id. Exact McNemar for 0/1 scores, sign-flip permutation for graded ones, Holm over several candidates.
    """
    from evalsuite.board import compare, load_sides
    from evalsuite.reports.comparison_document import comparison_document
    from evalsuite.reports.comparison_sections import comparison_verdict
    from evalsuite.reports.data_files import as_json
    from evalsuite.reports.terminal import show

    how.load()
    check_showing(output or (), reveal)
    scoring = how.options()
    chosen = scoring.pop("rules")
    sides = load_sides(names, runs=runs, gold=gold, rules=chosen, how=scoring)
    found = compare(sides, rules=chosen, alpha=alpha, force=force, cluster=cluster, shift=shift, reveal=reveal)
    code, line = EXIT_GATE if fail_on_regression and found.regressions else EXIT_OK, comparison_verdict(found, gate=fail_on_regression)
    code, line = with_lost(code, line, write_all(found, output or (), subject="comparison"))
    if json_:
        print(*as_json(comparison_document(found)), sep="", end="")
    elif quiet:
        print(line)
    else:
        show(comparison_document(found, everything=all_), console(), last_line=line)
    return code
