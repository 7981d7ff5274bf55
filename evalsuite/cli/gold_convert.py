"""`evalsuite gold convert`: gold of Spider 2.0 Lite or Snow in the original layout."""

from pathlib import Path
from typing import Annotated

import typer

from evalsuite.cli.options import Layout
from evalsuite.errors import EXIT_OK


def convert(
    gold: Annotated[Path, typer.Argument(metavar="GOLD", help="the gold folder, or its spec file")],
    out: Annotated[Path, typer.Option("--out", help="the folder to write, new or empty", metavar="DIR")],
    layout: Layout = None,
) -> int:
    """Write gold in the layout of Spider 2.0 Lite or Snow as gold in the original layout: nothing is lost, every verdict stays."""
    from evalsuite.gold.conversion import convert as write
    from evalsuite.reports.clean import clean

    done = write(gold, out, layout=layout)
    for note in done.notes:
        print(clean(f"note: {note}"))
    print(clean(f"{done.n_instances} instances and {done.n_files} files, read as {done.layout}, written to {done.folder}"))
    return EXIT_OK
