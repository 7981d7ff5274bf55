"""Write reports to files: `FORMATS` maps a file ending to its renderer.

Each kind of report builds its `Document` in its own module (`run_document`, `comparison_document` ...). A new format is one function of a
document and one line in `FORMATS`.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from evalsuite.core.errors import CHECK_HINT, NO_ROOM, OutputError, UsageError, write_error
from evalsuite.core.files import exists, is_symlink
from evalsuite.core.import_ref import ImportRef

if TYPE_CHECKING:
    from evalsuite.reports.document import Document


# A format is a function from a document to text, bytes, or an iterable of text where the whole is large.
Rendered = str | bytes | Iterable[str]
FORMATS: dict[str, ImportRef] = {
    ".csv": ImportRef("evalsuite.reports.file_formats:as_csv"),
    ".html": ImportRef("evalsuite.reports.html:html_pieces"),
    ".json": ImportRef("evalsuite.reports.file_formats:as_json"),
    ".md": ImportRef("evalsuite.reports.file_formats:as_markdown"),
    ".parquet": ImportRef("evalsuite.reports.file_formats:as_parquet"),
    ".svg": ImportRef("evalsuite.reports.terminal:as_svg"),
    ".txt": ImportRef("evalsuite.reports.terminal:as_text"),
    ".xml": ImportRef("evalsuite.reports.file_formats:as_junit"),
}
# Endings of binary files.
BINARY = frozenset({".parquet"})


def check_output(path: Path) -> None:
    """Raise `UsageError` for an unknown ending of `path`, `OutputError` if `path` cannot be written. Called before any scoring."""
    if path.suffix not in FORMATS:
        near = next((ending for ending in FORMATS if path.suffix and ending.startswith(path.suffix.lower())), "")
        hint = f"did you mean '{path.with_suffix(near)}'?" if near else f"the endings are {', '.join(FORMATS)}"
        raise UsageError(f"no report format for '{path}'", hint=hint)
    check_writable(path)


def check_writable(path: Path, *, hint: str = CHECK_HINT) -> None:
    """Raise `OutputError` if no file can be written at `path`.

    Creates an unnamed file in the nearest existing folder, because permissions do not show a read-only file system.
    """
    _refuse_links(path)
    try:
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISDIR((state := path.stat()).st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if stat.S_ISREG(state.st_mode):
                path.open("ab").close()
            return
        import tempfile

        tempfile.TemporaryFile(dir=next(folder for folder in path.absolute().parents if exists(folder))).close()
    except OSError as error:
        raise write_error(path, error, hint=hint) from error


def encode(document: "Document", ending: str) -> Iterator[bytes]:
    """Yield the pieces of the file of a document, in the format of an ending in `FORMATS`."""
    rendered: Rendered = FORMATS[ending].load()(document)
    pieces = [rendered] if isinstance(rendered, str | bytes) else rendered
    return (piece if isinstance(piece, bytes) else piece.encode("utf-8", "backslashreplace") for piece in pieces)


def write(document: "Document", path: Path) -> None:
    """Write a document in the format of the file's ending. Raises `OutputError`."""
    pieces = encode(document, path.suffix)
    try:
        with replace_atomically(path) as file:
            file.writelines(pieces)
    except OSError as error:
        raise write_error(path, error) from error


@contextlib.contextmanager
def replace_atomically(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that takes the place of `path` if the block succeeds, so that an old report is never lost to half a new one.

    A device, a pipe, and a file in a folder where no other can be created are written in place. Folders are created. Below
    GITHUB_WORKSPACE no link is followed, because a pull request controls those paths.
    """
    parts = _parts_in_workspace(path)
    if parts:
        _refuse_links(path)
    path = _workspace().joinpath(*parts) if parts else Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = None
    if os.open in os.supports_dir_fd:
        folder = _folder_without_links(parts[:-1]) if parts else os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    name, part = (
        file_name if folder is not None else str(path.with_name(file_name)) for file_name in (path.name, f".{path.name}.{os.getpid()}.part")
    )
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for more in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, more, 0)
    try:
        try:
            before = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        except FileNotFoundError:
            before = None
        try:
            new = None if before is not None and not stat.S_ISREG(before) else os.open(part, flags, 0o666, dir_fd=folder)
        except OSError as error:
            if before is None or error.errno in NO_ROOM:
                raise
            new = None
        if new is None:
            with os.fdopen(os.open(name, flags, 0o666, dir_fd=folder), "wb") as file:
                yield file
            return
        try:
            with os.fdopen(new, "wb") as file:
                if before is not None and hasattr(os, "fchmod"):
                    os.fchmod(new, stat.S_IMODE(before))
                yield file
                file.flush()
                os.fsync(new)
            os.replace(part, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(part, dir_fd=folder)
            raise
    finally:
        if folder is not None:
            os.close(folder)


def _workspace() -> Path:
    return Path(os.environ.get("GITHUB_WORKSPACE", ""))


def _parts_in_workspace(path: Path) -> list[str]:
    """Return the path parts from the workspace to a file below it; empty for other files."""
    root, place = _workspace(), Path(os.path.abspath(path))  # noqa: PTH100 - `resolve` follows links
    return list(place.relative_to(root).parts) if root.is_absolute() and place.is_relative_to(root) else []


def _refuse_links(path: Path) -> None:
    """Raise `OutputError` if a part of the path from the workspace to a file is a link."""
    place = _workspace()
    for name in _parts_in_workspace(path):
        place /= name
        if is_symlink(place):
            raise OutputError(f"cannot write {path}: {place} is a link", hint="in GITHUB_WORKSPACE reports are written through no link")


def _folder_without_links(parts: Sequence[str]) -> int:
    """Return a descriptor of a folder of the workspace, opened part by part. Raises OSError if one was replaced by a link meanwhile."""
    flags = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(_workspace(), flags & ~os.O_NOFOLLOW)
    try:
        for folder in parts:
            inner = os.open(folder, flags, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
