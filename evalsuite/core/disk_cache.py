"""Disk cache of computed values: JSON values by kind and key in one SQLite file, large values as files in folders next to it.

Many processes and threads may share one cache. It only saves time: a cache that is broken, cannot be opened or cannot be written acts as an
empty one.
"""

import contextlib
import errno
import json
import os
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from evalsuite.core.files import is_file
from evalsuite.core.import_ref import LazyModule

if TYPE_CHECKING:
    import hashlib
    import shutil
    import sqlite3
    import tempfile
    import zlib
else:
    hashlib, shutil, sqlite3, tempfile = LazyModule("hashlib"), LazyModule("shutil"), LazyModule("sqlite3"), LazyModule("tempfile")
    zlib = LazyModule("zlib")

FILE = "memo.sqlite"
_BUSY_SECONDS = 30
# Hex digits of a checksum.
_DIGITS = 8
_TABLE = (
    "CREATE TABLE IF NOT EXISTS memo (kind TEXT, stamp TEXT, key TEXT, value TEXT NOT NULL, PRIMARY KEY (kind, stamp, key)) WITHOUT ROWID"
)
_SELECT = "SELECT key, value FROM memo WHERE kind = ? AND stamp = ? AND key IN (SELECT value FROM json_each(?))"
_DELETE_OUTDATED = "DELETE FROM memo WHERE kind = ? AND (stamp < ? OR stamp > ?)"

T = TypeVar("T")


def append_whole(path: Path, data: bytes) -> None:
    """Append to a file, which keeps its length if the disk has no room for all of it: half a line would spoil the whole file."""
    with path.open("ab", buffering=0) as file:
        n_written = file.write(data)
        if n_written < len(data):
            file.truncate(file.tell() - n_written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_state(place: str | Path | int) -> tuple[int, ...]:
    """Return what changes when a file (a path or a descriptor) is edited or replaced: device and inode, size, times. Raises OSError."""
    status = os.stat(place)  # noqa: PTH116 - for descriptors too
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


class DiskCache:
    """JSON values by kind and key, in `<folder>/memo.sqlite`, and files by key, each in `<folder>/<key>-<stamp>/`.

    Values are written when the cache is closed, all or none of them; with `at_once` each is written immediately, so that a killed process
    loses nothing that was paid for; what cannot be written stays in memory, and is tried again after the next value that can be. Values
    and files with another `stamp` are ignored; such values are deleted when new values of their kind are written, but not files, which
    another process may be reading. A read-only folder is read; with `folder` None values stay in memory. Each value is stored behind a
    checksum, without which one that a failing disk has changed would be taken for what was put.

    The journal is SQLite's default, because a write-ahead log cannot be read from a read-only folder or shared over a network.
    """

    def __init__(self, folder: Path | None, *, stamp: str = "", at_once: bool = False) -> None:
        self._folder, self._stamp, self._at_once = folder, stamp, at_once
        self._unsaved: dict[tuple[str, str], Any] = {}
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    def get(self, kind: str, key: str) -> Any:
        """Return the value, or None if there is none."""
        return self.get_all(kind, [key]).get(key)

    def get_all(self, kind: str, keys: Sequence[str]) -> dict[str, Any]:
        """Return the known values by key, fetched by one query."""
        with self._lock:
            values = {key: self._unsaved[kind, key] for key in keys if (kind, key) in self._unsaved}
            # Keys are stored as JSON, so that names that are not valid UTF-8 reach SQLite as ASCII.
            names = {json.dumps(key): key for key in keys if key not in values}
            with contextlib.suppress(sqlite3.Error, OSError, ValueError):
                if names and self._folder is not None and is_file(self._folder / FILE):
                    rows = self._connect(self._folder).execute(_SELECT, [kind, self._stamp, json.dumps(list(names))]).fetchall()
                    values |= {names[name]: value for name, text in rows if (value := _read(kind, name, text)) is not None}
            return values

    def put(self, kind: str, key: str, value: Any) -> None:
        """Store a value that survives a round trip through JSON."""
        with self._lock:
            self._unsaved[kind, key] = value
            if self._at_once and self._write([kind], [(kind, key, value)]):
                del self._unsaved[kind, key]
                self._write_unsaved()

    def put_all(self, kind: str, values: Iterable[tuple[str, Any]]) -> None:
        """Write many values of one kind, all or none of them, without keeping them in memory."""
        with self._lock:
            self._write([kind], ((kind, key, value) for key, value in values))

    def close(self) -> None:
        """Write new values and close the file."""
        with self._lock:
            self._write_unsaved()
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @property
    def n_unsaved(self) -> int:
        """Number of values in memory alone: not written yet or, with `at_once`, impossible to write so far."""
        return len(self._unsaved)

    def files(self, key: str, read: Callable[[Path], T]) -> T | None:
        """Return `read(folder of files under the key)`, or None if the folder is absent or cannot be read."""
        if self._folder is None:
            return None
        try:
            return read(self._folder / self._name(key))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def put_files(self, key: str, write: Callable[[Path], None]) -> None:
        """Store what `write` puts into an empty folder, atomically. The first folder stored under a key stays."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            place = Path(tempfile.mkdtemp(dir=self._folder, prefix=".new-"))
            try:
                write(place)
                os.rename(place, self._folder / self._name(key))  # noqa: PTH104
            finally:
                shutil.rmtree(place, ignore_errors=True)

    def _name(self, key: str) -> str:
        return f"{key}-{self._stamp}" if self._stamp else key

    def _write_unsaved(self) -> None:
        values = ((kind, key, value) for (kind, key), value in self._unsaved.items())
        if self._unsaved and self._write({kind for kind, _ in self._unsaved}, values):
            self._unsaved.clear()

    def _write(self, kinds: Collection[str], values: Iterable[tuple[str, str, Any]]) -> bool:
        """Write values of these kinds, all or none of them; return whether they are written."""
        if self._folder is None:
            return False
        with contextlib.suppress(sqlite3.Error, OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            connection = self._connect(self._folder)
            with connection:
                for kind in kinds:
                    connection.execute(_DELETE_OUTDATED, [kind, self._stamp, self._stamp])
                rows = (
                    (kind, self._stamp, (name := json.dumps(key)), checked(kind, name, json.dumps(value))) for kind, key, value in values
                )
                connection.executemany("INSERT OR REPLACE INTO memo VALUES (?, ?, ?, ?)", rows)
            return True
        return False

    def _connect(self, folder: Path) -> "sqlite3.Connection":
        if self._connection is None:
            connection = sqlite3.connect(folder / FILE, timeout=_BUSY_SECONDS, check_same_thread=False, isolation_level="IMMEDIATE")
            try:
                # With `at_once`, writes do not wait for the disk: values lost in a power cut are computed again.
                connection.execute(f"PRAGMA synchronous = {'OFF' if self._at_once else 'NORMAL'}")
                connection.execute(_TABLE)
            except sqlite3.Error:
                connection.close()
                raise
            self._connection = connection
        return self._connection


def checked(kind: str, name: str, text: str) -> str:
    """Return the text of a value as it is stored, behind its checksum; `name` is the key as JSON."""
    return f"{zlib.crc32(f'{kind} {name} {text}'.encode()):0{_DIGITS}x}{text}"


def _read(kind: str, name: str, stored: str) -> Any:
    """Return the value of a stored text; None if it is damaged."""
    text = stored[_DIGITS:]
    if stored != checked(kind, name, text):
        # Earlier versions stored objects, replies of judges that were paid for, without a checksum.
        text = stored if stored.startswith("{") else "null"
    try:
        return json.loads(text)
    except ValueError:
        return None


@cache
def code_stamp() -> str:
    """Return a digest of the code of this package, so that cached values do not outlive an edit of it.

    It covers names and bytes, not times: a copy may keep the times of its files, and each installation has others.
    """
    package, digest = Path(__file__).resolve().parents[1], hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        data = path.read_bytes()
        digest.update(f"{path.relative_to(package).as_posix()} {len(data)}\n".encode() + data)
    return digest.hexdigest()[:16]
