"""Reports in files: `FORMATS` says what sets any document in the form of an ending.

What there is to report builds its `Document` in a file of its own (`run_document`, `comparison_document` ...); a new format is one function
of a document and one line here.
"""

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from evalsuite.errors import LOOK, UsageError, cannot_write
from evalsuite.lazy import Lazy

if TYPE_CHECKING:
    from evalsuite.reports.document import Document

# A format is a function of a document: text, bytes, or pieces of text where the whole would be large.
Rendered = str | bytes | Iterable[str]
FORMATS: dict[str, Lazy] = {
    ".csv": Lazy("evalsuite.reports.data_files:as_csv"),
    ".html": Lazy("evalsuite.reports.html:html_pieces"),
    ".json": Lazy("evalsuite.reports.data_files:as_json"),
    ".md": Lazy("evalsuite.reports.markdown:as_markdown"),
    ".parquet": Lazy("evalsuite.reports.data_files:as_parquet"),
    ".svg": Lazy("evalsuite.reports.terminal:as_svg"),
    ".txt": Lazy("evalsuite.reports.terminal:as_text"),
    ".xml": Lazy("evalsuite.reports.ci_files:as_junit"),
}
# The endings whose files are no text.
BINARY = frozenset({".parquet"})


def check_output(path: Path) -> None:
    """Raise `UsageError` where no format has the ending of `path`, `OutputError` where it cannot be written; called before any scoring."""
    if path.suffix not in FORMATS:
        raise UsageError(f"no report format for {path.name!r}", hint=f"the endings are {', '.join(FORMATS)}")
    check_writable(path)


def check_writable(path: Path, *, hint: str = LOOK) -> None:
    """Raise `OutputError` where no file can be written at `path`.

    It is tried, by a file without a name in the nearest folder that is there: rights do not tell of a file system that is read-only.
    """
    try:
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISDIR((found := path.stat()).st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if stat.S_ISREG(found.st_mode):
                path.open("ab").close()
            return
        tempfile.TemporaryFile(dir=next(folder for folder in path.absolute().parents if folder.exists())).close()
    except OSError as error:
        raise cannot_write(path, error, hint=hint) from error


def encoded(document: "Document", ending: str) -> Iterator[bytes]:
    """The pieces of a file that holds a document in the format of an ending of `FORMATS`."""
    rendered: Rendered = FORMATS[ending].load()(document)
    pieces = [rendered] if isinstance(rendered, str | bytes) else rendered
    return (piece if isinstance(piece, bytes) else piece.encode("utf-8", "backslashreplace") for piece in pieces)


def write(document: "Document", path: Path) -> None:
    """Write a document in the format of the file's ending. Raises `OutputError`."""
    pieces = encoded(document, path.suffix)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.writelines(pieces)
    except OSError as error:
        raise cannot_write(path, error) from error
