"""The options of commands that read folders of several layouts."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from evalsuite.reports.record import Record

Layout = Annotated[
    str | None,
    typer.Option("--layout", help="how the gold folder is laid out [default: what its spec shows]", metavar="original|lite|snow"),
]
Mode = Annotated[
    str | None,
    typer.Option("--mode", help="lite and snow: what the answers are [default: the files that are there]", metavar="sql|exec_result"),
]
ReferenceFiles = Annotated[
    bool,
    typer.Option("--reference-files", "--reference_files", help="also write the reference's files: RESULT_DIR-ids.csv and log.txt"),
]


def check_reference_files(result_dir: Path) -> None:
    """Raise `OutputError` where the files that the reference leaves behind cannot be written; called before any scoring."""
    from evalsuite.reports import check_writable
    from evalsuite.reports.reference_files import places

    for path in places(result_dir):
        check_writable(path)


def write_reference_files(record: "Record", result_dir: Path, level: str | None) -> None:
    """Write the files that the reference leaves behind, and say where; what `level` hides of gold stands in none of them."""
    from evalsuite.reports.clean import clean
    from evalsuite.reports.record import revealed
    from evalsuite.reports.reference_files import write

    for path in write(revealed(record, level), result_dir):
        print(clean(f"wrote {path}"), file=sys.stderr)
