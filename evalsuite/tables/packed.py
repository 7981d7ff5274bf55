"""Tables too big to hold as Python values are held as packed text: the bytes of the file with the length of every cell.

A `Table` of packed columns is a table like any other; who knows `packed_of` looks at thousands of its cells at a time.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, Protocol, overload

from evalsuite.tables.blocks import PADDING, Block
from evalsuite.tables.pandas_typing import raw_column
from evalsuite.types import Table

if TYPE_CHECKING:
    import numpy as np

_SHAPE: Final = struct.Struct("<cQQB")
# The first byte of every packed block, which tells it from other frames.
BLOCK: Final = b"B"
_SHORT: Final = 255
_ROWS_AT_ONCE: Final = 16_384


class OddError(Exception):
    """A file is not as plain as blocks need it; the exact reader decides what it is."""


class UnreadSource(Protocol):
    """Where an unread table lies."""

    def blocks(self) -> Iterator[Block]:
        """The rows in file order, each call from the beginning. Raises `OddError` where they are not plain."""
        ...

    def whole(self) -> Table:
        """The table as the exact reader makes it. Raises `FaultError`."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class UnreadTable:
    """A big CSV file of which only the header is read so far; nobody judges it before it is a `Table`."""

    header: tuple[str, ...]
    name: str
    source: UnreadSource

    def frames(self) -> Iterator[bytes]:
        """The rows as packed blocks, as they go to another process too. Raises `OddError`."""
        return map(packed_block, self.source.blocks())

    def read(self) -> Table:
        """The table. Raises `FaultError`."""
        try:
            return packed_table(self.header, self.name, self.frames())
        except OddError:
            return self.source.whole()


def packed_block(block: Block) -> bytes:
    """The lengths of a block's cells, and the cells with the one byte behind each; padded, so that nobody has to copy it to look at it."""
    import numpy as np

    lengths = block.lengths
    narrow = int(lengths.max(initial=0)) <= _SHORT
    start = int(block.starts[0, 0]) if len(block) else 0
    stop = int(block.starts[-1, -1] + lengths[-1, -1]) + 1 if len(block) else 0
    written = lengths.astype(np.uint8 if narrow else np.uint32).tobytes()
    return b"".join((_SHAPE.pack(BLOCK, *lengths.shape, 1 if narrow else 4), written, memoryview(block.data)[start:stop], PADDING))


class Packed:
    """The cells of a table, n_rows x width, as packed blocks one behind the other.

    Raises ValueError for a block of another shape: it may come from a process that read hostile bytes.
    """

    def __init__(self, width: int, frames: Iterable[bytes]) -> None:
        self.width = width
        self.frames: list[bytes] = []
        self.counts: list[int] = []
        self.longest = 0
        for frame in frames:
            _, n_rows, n_columns, size = _SHAPE.unpack_from(frame)
            if n_columns != width or size not in (1, 4) or _SHAPE.size + n_rows * n_columns * size > len(frame):
                raise ValueError("a packed block of another shape")
            lengths = _lengths(frame, n_rows * n_columns, size)
            if int(lengths.sum(dtype="int64")) + len(lengths) != len(frame) - _SHAPE.size - n_rows * n_columns * size - len(PADDING):
                raise ValueError("the lengths of a packed block do not fit its text")
            if n_rows:
                self.longest = max(self.longest, int(lengths.max()))
                self.frames.append(frame)
                self.counts.append(n_rows)
        self._last: tuple[int, Block] | None = None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(self.counts)

    def columns(self) -> "tuple[PackedColumn, ...]":
        """The columns of a table that is held so."""
        return tuple(PackedColumn(self, place) for place in range(self.width))

    def blocks(self) -> Iterator[Block]:
        """The rows from the beginning."""
        return map(self._block, range(len(self.frames)))

    def rows(self, rows: "np.ndarray[Any, Any]") -> Iterator[tuple[Block, "np.ndarray[Any, Any]"]]:
        """The blocks that hold some rows (ascending, from 0), each with those rows as counted in it."""
        import numpy as np

        ends = np.cumsum(self.counts)
        cuts = np.searchsorted(rows, ends)
        begin = 0
        for index, (cut, end) in enumerate(zip(cuts.tolist(), ends.tolist(), strict=True)):
            if cut > begin:
                yield self._block(index), rows[begin:cut] - (end - self.counts[index])
            begin = cut

    def texts(self, column: int, rows: "np.ndarray[Any, Any]") -> list[str]:
        """The cells of a column in some rows (ascending, from 0)."""
        return [text for block, part in self.rows(rows) for text in block.texts(column, part)]

    def _block(self, index: int) -> Block:
        # Who asks for one column after the other of a table of one block shall not unpack it anew each time.
        if self._last is None or self._last[0] != index:
            self._last = (index, _unpacked(self.frames[index]))
        return self._last[1]


def _lengths(frame: bytes, n_cells: int, size: int) -> "np.ndarray[Any, Any]":
    import numpy as np

    return np.frombuffer(frame, np.uint8 if size == 1 else "<u4", n_cells, _SHAPE.size)


def _unpacked(frame: bytes) -> Block:
    import numpy as np

    _, n_rows, n_columns, size = _SHAPE.unpack_from(frame)
    lengths = _lengths(frame, n_rows * n_columns, size).astype(np.int32)
    starts = np.empty(len(lengths), np.int32)
    starts[:1] = _SHAPE.size + n_rows * n_columns * size
    np.add(lengths[:-1], 1, out=starts[1:])
    np.cumsum(starts, out=starts)
    return Block(frame, starts.reshape(n_rows, n_columns), lengths.reshape(n_rows, n_columns), is_padded=True)


class PackedColumn(Sequence[str]):
    """One column of packed text, read like a list."""

    def __init__(self, packed: Packed, place: int) -> None:
        self.packed, self.place = packed, place

    def __len__(self) -> int:
        return self.packed.n_rows

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(block.texts(self.place) for block in self.packed.blocks())

    def __contains__(self, value: object) -> bool:
        return isinstance(value, str) and any(value == cell for cell in self)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        import numpy as np

        if isinstance(at, slice):
            rows = np.arange(*at.indices(len(self)))
            return self.packed.texts(self.place, rows) if at.step in (None, 1) else list(self)[at]
        row = at + len(self) if at < 0 else at
        if not 0 <= row < len(self):
            raise IndexError(at)
        return self.packed.texts(self.place, np.array([row]))[0]


def packed_table(header: tuple[str, ...], name: str, frames: Iterable[bytes]) -> Table:
    """The table of packed blocks. Raises ValueError, and what the frames raise."""
    packed = Packed(len(header), frames)
    return Table(header=header, columns=packed.columns(), n_rows=packed.n_rows, name=name)


def packed_of(table: Table) -> Packed | None:
    """The packed text behind a table's columns, None for a table that is held otherwise."""
    first = table.columns[0] if table.columns else None
    return first.packed if isinstance(first, PackedColumn) else None


def pack(table: Table) -> Packed:
    """The packed text of a table of text, "" for a field that a short row lacks."""
    found = packed_of(table)
    return found if found is not None else Packed(len(table.columns), _packed_lists(table))


def _packed_lists(table: Table) -> Iterator[bytes]:
    import numpy as np

    for start in range(0, table.n_rows, _ROWS_AT_ONCE):
        rows = zip(*(column[start : start + _ROWS_AT_ONCE] for column in table.columns), strict=True)
        cells = ["" if cell is None else cell for cell in chain.from_iterable(rows)]
        text = "\n".join([*cells, ""]).encode("utf-8", "surrogatepass")
        lengths = np.fromiter(map(len, cells), np.uint32, len(cells))
        if not text.isascii():
            # From characters to bytes: where the character behind each cell begins.
            begins = np.flatnonzero(np.frombuffer(text, np.uint8) & 0xC0 != 0x80)
            ends = begins[np.cumsum(lengths + 1, dtype=np.int64) - 1]
            lengths = (np.diff(ends, prepend=-1) - 1).astype(np.uint32)
        narrow = int(lengths.max(initial=0)) <= _SHORT
        written = lengths.astype(np.uint8).tobytes() if narrow else lengths.tobytes()
        shape = _SHAPE.pack(BLOCK, len(cells) // len(table.columns), len(table.columns), 1 if narrow else 4)
        yield b"".join((shape, written, text, PADDING))


def unpacked(table: Table) -> Table:
    """The table with its cells as Python values."""
    return replace(table, columns=tuple(map(list, table.columns))) if packed_of(table) is not None else table


def first_rows(table: Table, n: int) -> Table:
    """The first n rows as a plain table; of a table of text "" stands for what a short row lacks."""
    packed = packed_of(table)
    if packed is not None and table.n_rows:
        block = next(packed.blocks())
        if len(block) >= min(n, table.n_rows):
            part = block.rows(0, n)
            return replace(table, columns=tuple(part.texts(k) for k in range(packed.width)), n_rows=len(part))
    columns = tuple(list(islice(column, n)) for column in table.columns)
    head = replace(table, columns=columns, n_rows=min(n, table.n_rows))
    return replace(head, columns=tuple(raw_column(head, k) for k in range(len(columns)))) if table.types is None else head
