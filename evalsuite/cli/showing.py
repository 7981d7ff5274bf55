"""How a run is shown, live or saved: the options that `run` and `report` share, and the printing."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalsuite.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from evalsuite.comparing import Comparison
    from evalsuite.leaderboard import Leaderboard
    from evalsuite.reports import Subject
    from evalsuite.reports.record import Record

Outputs = Annotated[
    list[Path] | None, typer.Option("-o", "--output", help="also write a report; the ending says the format; may be repeated")
]
Reveal = Annotated[
    str | None,
    typer.Option(
        "--reveal",
        metavar="none|status|class|shape|cells",
        help="how much of gold a report may show [default: cells; class where suite.yaml says hidden]",
    ),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="show all that is known about each instance")]
Failures = Annotated[bool, typer.Option("--failures", help="show only what is not right under every rule")]
Durations = Annotated[int, typer.Option("--durations", min=0, metavar="N", help="also show the N instances that took longest")]


def check_showing(outputs: Iterable[Path], reveal: str | None, subject: "Subject" = "run") -> None:
    """Raise `UsageError` for a format or a level that does not exist, before anything is scored."""
    from evalsuite.reports import check_output
    from evalsuite.reports.record import check_level

    for path in outputs:
        check_output(path, subject)
    check_level(reveal)


def write_all(
    what: "Record | Comparison | Leaderboard", outputs: Iterable[Path], reveal: str | None = None, *, subject: "Subject" = "run"
) -> None:
    """Write a record, a comparison or a leaderboard in every format that was asked for; two outputs cannot be one file."""
    from evalsuite.reports import write

    done: set[Path] = set()
    for path in outputs:
        if path.resolve() in done:
            raise UsageError(f"--output names {path} twice")
        done.add(path.resolve())
        write(what, path, subject, reveal=reveal)


def print_record(record: "Record", last_line: str | None, *, verbose: bool, failures: bool, durations: int) -> None:
    """Print the report as wide as the terminal; `record` is what may be seen of it."""
    from evalsuite.reports.terminal import show

    show(record, console(), last_line=last_line, verbose=verbose, failures=failures, durations=durations)


def console(width_in_a_file: int = 150, *, stderr: bool = False) -> "Console":
    """Where reports are printed: as wide as the terminal, or that wide where there is none; without any style under NO_COLOR."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else width_in_a_file
    return Console(stderr=stderr, width=width, highlight=False, color_system=None if os.environ.get("NO_COLOR") else "auto")
