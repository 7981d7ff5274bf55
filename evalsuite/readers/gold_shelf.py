"""Gold's tables as they were read, so that a worker reads each once: the last ones used, as many bytes as `MOST_BYTES` in all.

What is kept stands under the place of a file with its inode, size and times, and under how it was read: a file that was changed is
read anew. The judges of a leaderboard are forked from a process that has read gold for all of them.
"""

import pickle
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any, Final

from evalsuite.tables.arrays import array_columns
from evalsuite.tables.digested import DigestedTable
from evalsuite.tables.packed import packed_of
from evalsuite.types import Fault, Table

MOST_BYTES: Final = 64 << 20
# About what a cell takes as a Python value.
_CELL_BYTES: Final = 64


class Shelf:
    """What was read of files, at most `most_bytes` in all; `n_read` counts the readings."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes, self._n_bytes, self.n_read = most_bytes, 0, 0
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def read(self, path: Path, how: Hashable, read: Callable[[], Any]) -> Any:
        """What `read()` makes of the file, or made of it before. Raises what it raises."""
        stamp = _stamp(path)
        if (known := self._kept.get((path, how, stamp))) is not None:
            self._kept.move_to_end((path, how, stamp))
            return known[0]
        value = read()
        self.n_read += 1
        if stamp is not None and stamp == _stamp(path):
            self._keep((path, how, stamp), value, _bytes_of(value, stamp[2]))
        return value

    def _keep(self, key: Hashable, value: Any, size: int | None) -> None:
        if size is None or size > self._most_bytes:
            return
        self._kept[key] = value, size
        self._n_bytes += size
        while self._n_bytes > self._most_bytes:
            self._n_bytes -= self._kept.popitem(last=False)[1][1]

    def has_room_for(self, path: Path) -> bool:
        """Whether a file is there whose tables will most likely be kept: as values they may take several times its bytes."""
        stamp = _stamp(path)
        return stamp is not None and 16 * stamp[2] < self._most_bytes

    @property
    def is_full(self) -> bool:
        """Whether more than half of the room is taken: what is read ahead stops there."""
        return 2 * self._n_bytes > self._most_bytes

    def to_bytes(self) -> bytes:
        """All that is kept, for `take`."""
        return pickle.dumps(self._kept)

    def take(self, kept: bytes) -> None:
        """Take in what another shelf of a process that read gold alone gave."""
        for key, (value, size) in pickle.loads(kept).items():
            self._keep(key, value, size)


# One for each process; the parent's stays empty.
SHELF: Final = Shelf()


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _bytes_of(value: Any, file_bytes: int) -> int | None:
    """About how much memory the tables of a file take, None for what is not kept."""
    tables = list(value.values()) if isinstance(value, Mapping) else [value]
    if not all(isinstance(table, Table | DigestedTable | Fault) for table in tables):
        return None
    held = [table for table in tables if isinstance(table, Table) and packed_of(table) is None and array_columns(table) is None]
    return file_bytes + sum(table.n_rows * len(table.columns) * _CELL_BYTES for table in held)
