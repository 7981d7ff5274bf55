"""The files of embedded engines: found, and told apart by their bytes."""

import contextlib
import hashlib
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from evalsuite.errors import UsageError
from evalsuite.sql.base import Connection


def existing(connection: Connection) -> Path:
    """The connection's file or folder; raises `UsageError` where there is none."""
    if not connection.database:
        raise UsageError(f"connection {connection.name!r} names no database", hint="add `database: FILE`")
    path = Path(connection.database)
    if not is_there(path):
        raise UsageError(
            f"connection {connection.name!r}: no {'/'.join(path.parts[-2:])}",
            hint="a relative path starts in --databases DIR, then in the folder of the file that configures it",
        )
    if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
        raise UsageError(f"connection {connection.name!r}: {path.name} cannot be read", hint="who may read it?")
    path = path.resolve()
    try:
        text_of(path)
    except UnicodeDecodeError:
        raise UsageError(f"connection {connection.name!r}: the path of {path.name} is not UTF-8", hint="rename it") from None
    return path


def text_of(path: Path) -> str:
    """The path as engines take it: in UTF-8, whatever this process takes names of files to be in. Raises `UnicodeDecodeError`."""
    return os.fsencode(path).decode()


def is_there(path: Path) -> bool:
    """Whether there is a file or folder; what lies behind a folder that lets nobody in is not."""
    return os.path.exists(path)  # noqa: PTH110 - `Path.exists` raises there


def read_of(connection: Connection) -> list[str]:
    """What an embedded engine reads: the file and its log of changes, or the folder and the ends of the links in it."""
    found = [connection.database, f"{connection.database}.wal"]
    with contextlib.suppress(OSError):
        found += [os.path.realpath(entry) for entry in os.scandir(connection.database) if entry.is_symlink()]
    return found


def digest_of(files: Sequence[Path]) -> str:
    """SHA-256 over the names and bytes of files; a file that has not been touched since is not read again in this process."""
    digest = hashlib.sha256()
    for path in files:
        status = path.stat()
        content = _file_digest(path, status.st_ino, status.st_size, status.st_mtime_ns)
        digest.update(os.fsencode(path.name) + f"\0{content}\0".encode())
    return digest.hexdigest()


@lru_cache(maxsize=4096)
def _file_digest(path: Path, _inode: int, _size: int, _changed: int) -> str:
    """The digest of a file in the state that the other arguments describe."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
