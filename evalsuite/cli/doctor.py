"""`evalsuite doctor`: which walls this machine gives round hostile work."""

import shutil
import sys
import textwrap
from collections.abc import Iterator
from typing import Annotated

import typer

from evalsuite.errors import EXIT_OK


def command(json_: Annotated[bool, typer.Option("--json", help="print one JSON object and nothing else")] = False) -> int:
    """Try each wall that answers are read behind, and each that programs run behind, and say which of them this machine gives."""
    rows = list(_walls())
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


def _walls() -> Iterator[tuple[str, bool, str]]:
    from evalsuite.walls.jail import can_jail
    from evalsuite.walls.landlock import landlock_version
    from evalsuite.walls.seccomp import can_filter

    version = landlock_version()
    yield "processes", sys.platform != "win32", "each answer is read and judged in processes of their own, killed at the time limit"
    yield "limits", sys.platform != "win32", "no byte written, few descriptors, no core dumps" + _memory()
    yield "landlock", version > 0, f"only the submission (the judge: only gold) can be read{f', version {version}' if version else ''}"
    yield "seccomp", can_filter(), "no socket, no process, no change of files, limits or signals of others"
    yield "jail", can_jail(), "programs run in namespaces of their own (python_unit_testing, pass_at_k); without it: --allow-programs"


def _memory() -> str:
    return "; memory" if sys.platform.startswith("linux") else "; memory has no limit that the system keeps"
