"""`evalsuite compare`: a baseline against one or more candidates, instance by instance."""

from pathlib import Path
from typing import Annotated

import typer

from evalsuite.cli.database_options import Databases
from evalsuite.cli.options import AllowPrograms, Rules, job_count, load_plugins, rule
from evalsuite.cli.showing import Outputs, Reveal, check_showing, console, with_lost, write_all
from evalsuite.errors import EXIT_GATE, EXIT_OK

CACHE_FOLDER = Path(".evalsuite/cache")


def command(
    names: Annotated[list[str], typer.Argument(metavar="A B [C ...]", help="runs or submission folders; A is the baseline")],
    gold: Annotated[
        Path | None,
        typer.Option(
            "--gold", "--gold-dir", "--gold_dir", help="the gold to score submission folders against [default: the runs' own, else gold]"
        ),
    ] = None,
    runs: Annotated[Path, typer.Option("--runs", help="the folder of runs")] = Path(".evalsuite/runs"),
    rules: Rules = None,
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
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="print the last line only")] = False,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="score submission folders anew")] = False,
    jobs: Annotated[str, typer.Option(help="answers scored side by side: a number, or auto", metavar="N|auto")] = "auto",
    databases: Databases = None,
    allow_programs: AllowPrograms = False,
    plugin: Annotated[list[Path] | None, typer.Option(help="a Python file that brings scorers; may be repeated", metavar="FILE.py")] = None,
) -> int:
    """Compare runs or submission folders on the same instances: difference, interval, p-value, and which instances flipped.

    Pairs instances by id. Exact McNemar for 0/1 scores, sign-flip permutation for graded ones, Holm over several candidates.
    """
    from evalsuite.comparing import compare, load_sides
    from evalsuite.reports.comparison import comparison_document
    from evalsuite.reports.comparison_sections import verdict_line
    from evalsuite.reports.json_file import as_json
    from evalsuite.reports.terminal import show

    load_plugins(plugin)
    check_showing(output or (), reveal)
    chosen = rule(rules)
    cache = None if no_cache else CACHE_FOLDER
    how = {"cache": cache, "jobs": job_count(jobs), "databases": databases, "allow_programs": allow_programs}
    sides = load_sides(names, runs=runs, gold=gold, rules=chosen, how=how)
    found = compare(sides, rules=chosen, alpha=alpha, force=force, cluster=cluster, shift=shift, reveal=reveal)
    code, line = EXIT_GATE if fail_on_regression and found.regressions else EXIT_OK, verdict_line(found, gate=fail_on_regression)
    code, line = with_lost(code, line, write_all(found, output or (), subject="comparison"))
    if json_:
        print(*as_json(comparison_document(found)), sep="", end="")
    elif quiet:
        print(line)
    else:
        show(comparison_document(found, everything=all_), console(), last_line=line)
    return code
