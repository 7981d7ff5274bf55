"""`evalsuite doctor`: which walls this machine gives round hostile work."""

import shutil
import textwrap
from typing import Annotated

import typer

from evalsuite.errors import EXIT_OK


def command(json_: Annotated[bool, typer.Option("--json", help="print one JSON object and nothing else")] = False) -> int:
    """Try each wall that answers are read behind, and each that programs run behind, and say which of them this machine gives."""
    from evalsuite.walls.worker_walls import every_wall

    rows = list(every_wall())
    if json_:
        import json

        print(json.dumps({name: {"stands": stands, "what": what} for name, stands, what in rows}, indent=2))
        return EXIT_OK
    width = shutil.get_terminal_size().columns
    for name, stands, what in rows:
        head = f" {name:<12} {'yes' if stands else 'no':<4} "
        print(textwrap.fill(what, max(40, width), initial_indent=head, subsequent_indent=" " * len(head)))
    absent = [name for name, stands, _ in rows if not stands]
    print("done: every wall stands" if not absent else f"done: not on this machine: {', '.join(absent)}; SECURITY.md says what that means")
    return EXIT_OK
