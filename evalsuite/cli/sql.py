"""`evalsuite sql`: questions to the history."""

from pathlib import Path
from typing import Annotated

import typer

from evalsuite.errors import EXIT_OK


def command(
    statement: Annotated[str, typer.Argument(metavar="SELECT", help="one SELECT over the tables runs, results and fields")],
    runs: Annotated[Path, typer.Option("--runs", help="the folder of runs")] = Path(".evalsuite/runs"),
    json_: Annotated[bool, typer.Option("--json", help="print one JSON object a row")] = False,
) -> int:
    """Ask the saved runs a question in SQL; nothing can be changed by it."""
    import json

    from evalsuite.reports.clean import clean
    from evalsuite.store.history import query

    names, rows = query(statement, runs)
    if not json_:
        print("\t".join(clean(name) for name in names))
    for row in rows:
        if json_:
            print(json.dumps(dict(zip(names, row, strict=True)), default=str))
        else:
            print("\t".join("" if value is None else clean(str(value)) for value in row))
    return EXIT_OK
