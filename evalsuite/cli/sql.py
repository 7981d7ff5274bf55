"""`evalsuite sql`: questions to the history."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalsuite.cli.showing import Reveal
from evalsuite.errors import EXIT_OK

if TYPE_CHECKING:
    from evalsuite.types import Result


def command(
    statement: Annotated[str, typer.Argument(metavar="SELECT", help="one SELECT over the tables runs, results and fields")],
    runs: Annotated[Path, typer.Option("--runs", help="the folder of runs")] = Path(".evalsuite/runs"),
    json_: Annotated[bool, typer.Option("--json", help="print one JSON object a row")] = False,
    level: Reveal = None,
) -> int:
    """Ask the saved runs a question in SQL; nothing can be changed by it."""
    import json

    from evalsuite.reports.clean import clean
    from evalsuite.reveal import check_level, default_level, reveal
    from evalsuite.store.history import RunEntry, find_runs, query

    check_level(level)

    def cut(entry: RunEntry) -> "list[Result] | None":
        allowed = level or default_level(hidden=bool(entry.run.get("gold", {}).get("hidden")))
        return None if allowed == "cells" else [reveal(result, allowed) for result in entry.results()]

    names, rows = query(statement, runs, cut=cut)
    if not find_runs(runs):
        print(clean(f"note: no runs in {runs}"), file=sys.stderr)
    if not json_:
        print("\t".join(clean(name) for name in names))
    for row in rows:
        if json_:
            print(json.dumps(dict(zip(names, row, strict=True)), default=str))
        else:
            print("\t".join("" if value is None else clean(str(value)) for value in row))
    return EXIT_OK
