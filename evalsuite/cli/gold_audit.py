"""`evalsuite gold audit`: mutation testing of the specs."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from evalsuite.cli.options import Plugins, Rules, job_count, load_plugins, one_of, rule, share
from evalsuite.errors import EXIT_GATE, EXIT_OK, UsageError


def audit(
    gold: Annotated[Path, typer.Argument(metavar="GOLD", help="the gold folder, or its spec file")],
    rules: Rules = None,
    only: Annotated[list[str] | None, typer.Option("--only", help="only this instance; may be repeated", metavar="ID")] = None,
    most: Annotated[int, typer.Option("--most", min=1, help="how many answers are made for a check at most", metavar="N")] = 24,
    seconds: Annotated[float | None, typer.Option(help="begin no further check after this time", metavar="S", show_default=False)] = None,
    seed: Annotated[int, typer.Option(help="what chooses the rows and cells that are changed")] = 0,
    top: Annotated[int, typer.Option("--top", min=0, help="how many of the weakest checks are shown", metavar="N")] = 20,
    form: Annotated[str, typer.Option("--format", help="how the audit is written", metavar="text|json|md")] = "text",
    fail_under: Annotated[
        float | None, typer.Option("--fail-under", help="exit 1 where less than this share of the wrong answers is caught", metavar="0-1")
    ] = None,
    isolation: Annotated[str, typer.Option(help="how files are kept apart while they are read", metavar="process|none")] = "process",
    jobs: Annotated[str, typer.Option(help="answers scored side by side: a number, or auto", metavar="N|auto")] = "auto",
    plugin: Plugins = None,
) -> int:
    """Make wrong and right answers from gold and say which each check takes: the holes of a spec, and what closes them."""
    from evalsuite.cli.showing import ProgressBar
    from evalsuite.reports.audit import FORMATS, audit_text
    from evalsuite.trust.audit.audit import audit_gold

    share(fail_under, "--fail-under")
    if seconds is not None and seconds <= 0:
        raise UsageError(f"--seconds cannot be {seconds:g}", hint="a number of seconds above 0")
    load_plugins(plugin)
    one_of(form, FORMATS, "--format")
    chosen = rule(rules) or "official"
    with ProgressBar(hidden=not sys.stderr.isatty()) as progress:
        found = audit_gold(
            gold,
            only=tuple(only or ()),
            most=most,
            seconds=seconds,
            seed=seed,
            isolation=one_of(isolation, ("process", "none"), "--isolation"),
            jobs=job_count(jobs),
            progress=progress,
        )
    print(audit_text(found, form, rules=chosen, most=top))
    caught = found.caught(chosen)
    if fail_under is not None and caught is not None and caught < fail_under:
        print(f"below the gate of {fail_under * 100:.1f} % (exit 1)", file=sys.stdout if form == "text" else sys.stderr)
        return EXIT_GATE
    return EXIT_OK
