"""What was worked out once is not worked out again: values by kind and key in one SQLite file, what is too big for one as files beside it.

Many processes and threads share a memo. It saves time and nothing else: one that is broken, cannot be opened or cannot be written is none.
"""

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

FILE = "memo.sqlite"
_BUSY_SECONDS = 30
_TABLE = (
    "CREATE TABLE IF NOT EXISTS memo (kind TEXT, stamp TEXT, key TEXT, value TEXT NOT NULL, PRIMARY KEY (kind, stamp, key)) WITHOUT ROWID"
)
_KNOWN = "SELECT key, value FROM memo WHERE kind = ? AND stamp = ? AND key IN (SELECT value FROM json_each(?))"
_OUTDATED = "DELETE FROM memo WHERE kind = ? AND (stamp < ? OR stamp > ?)"

T = TypeVar("T")


class DiskCache:
    """JSON values by kind and key, in `<folder>/memo.sqlite`, and files by key, each in `<folder>/<key>/`.

    Values are written when the memo is closed, all or none of them; `at_once` as soon as they are known, so that no killed process loses
    what was paid for. Values with another `stamp` are unknown, and go when new ones of their kind are written. A folder that may only be
    read is read; with `folder` None values are remembered until `close`.

    The journal is SQLite's own and no write-ahead log, which could not be read where nothing may be written, nor shared over a network.
    """

    def __init__(self, folder: Path | None, *, stamp: str = "", at_once: bool = False) -> None:
        self._folder, self._stamp, self._at_once = folder, stamp, at_once
        self._fresh: dict[tuple[str, str], Any] = {}
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    def get(self, kind: str, key: str) -> Any:
        """The value, None where there is none."""
        return self.get_all(kind, [key]).get(key)

    def get_all(self, kind: str, keys: Sequence[str]) -> dict[str, Any]:
        """The known values by key, in one look for all of them."""
        with self._lock:
            known = {key: self._fresh[kind, key] for key in keys if (kind, key) in self._fresh}
            # Names that are no UTF-8 are keys too, so that what SQLite gets is ASCII.
            names = {json.dumps(key): key for key in keys if key not in known}
            if names and self._folder is not None and (self._folder / FILE).is_file():
                with contextlib.suppress(sqlite3.Error, OSError, ValueError):
                    rows = self._opened(self._folder).execute(_KNOWN, [kind, self._stamp, json.dumps(list(names))]).fetchall()
                    known |= {names[name]: json.loads(value) for name, value in rows}
            return known

    def put(self, kind: str, key: str, value: Any) -> None:
        """Remember a value, which JSON gives back as it is."""
        with self._lock:
            self._fresh[kind, key] = value
            if self._at_once:
                self._write_fresh()

    def put_all(self, kind: str, values: Iterable[tuple[str, Any]]) -> None:
        """Write many values of one kind, all or none of them; none is held here meanwhile."""
        with self._lock:
            self._write([kind], ((kind, key, value) for key, value in values))

    def close(self) -> None:
        """Write what is new and let go of the file."""
        with self._lock:
            self._write_fresh()
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def files(self, key: str, read: Callable[[Path], T]) -> T | None:
        """What `read` makes of the folder of files under a key; None where there is none, or none that it can read."""
        if self._folder is None:
            return None
        try:
            return read(self._folder / key)
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def put_files(self, key: str, write: Callable[[Path], None]) -> None:
        """Keep what `write` puts into an empty folder, whole or not at all; who is first with a key stays."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            place = Path(tempfile.mkdtemp(dir=self._folder, prefix=".new-"))
            try:
                write(place)
                os.rename(place, self._folder / key)  # noqa: PTH104
            finally:
                shutil.rmtree(place, ignore_errors=True)

    def _write_fresh(self) -> None:
        if self._fresh:
            self._write({kind for kind, _ in self._fresh}, ((kind, key, value) for (kind, key), value in self._fresh.items()))
            self._fresh.clear()

    def _write(self, kinds: Collection[str], values: Iterable[tuple[str, str, Any]]) -> None:
        if self._folder is None:
            return
        with contextlib.suppress(sqlite3.Error, OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            connection = self._opened(self._folder)
            with connection:
                for kind in kinds:
                    connection.execute(_OUTDATED, [kind, self._stamp, self._stamp])
                rows = ((kind, self._stamp, json.dumps(key), json.dumps(value)) for kind, key, value in values)
                connection.executemany("INSERT OR REPLACE INTO memo VALUES (?, ?, ?, ?)", rows)

    def _opened(self, folder: Path) -> sqlite3.Connection:
        if self._connection is None:
            connection = sqlite3.connect(folder / FILE, timeout=_BUSY_SECONDS, check_same_thread=False, isolation_level="IMMEDIATE")
            try:
                # A write for each value does not wait for the disk: what a power cut loses is asked for again.
                connection.execute(f"PRAGMA synchronous = {'OFF' if self._at_once else 'NORMAL'}")
                connection.execute(_TABLE)
            except sqlite3.Error:
                connection.close()
                raise
            self._connection = connection
        return self._connection


@cache
def code_stamp() -> str:
    """When the code that this process runs last changed: what was worked out never outlives an edit or an update without a new version."""
    return str(max(path.stat().st_mtime_ns for path in Path(__file__).resolve().parents[1].rglob("*.py")))
