"""The store of big tables: packed text, the bytes of all cells with the length of each; small tables are lists.

A cell becomes a Python value when it is read, and numpy compares whole columns. A `Table` of such columns can be used like any other. The
cells of a CSV file are text. Those of a database are the values that duckdb's client returns: each is stored as the text that duckdb
writes, NULL as a byte that no text contains, so that two cells of one kind are the same when their texts are. numpy compares text as 64-bit
words, the last one of a cell padded with zeros, so that cells of equal length are equal when their words are.
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cache, cached_property
from itertools import chain, islice
from os import urandom
from typing import TYPE_CHECKING, Any, Final, Protocol, overload

from evalsuite.compare.official_cells import raw_column
from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.types import Table

if TYPE_CHECKING:
    import numpy as np


WORD = 8
# This many bytes after the last cell must be readable, because numbers are read in words of this total length.
PADDING = b"\0" * 6 * WORD
# A cell of a database without value: a byte that no UTF-8 contains.
NULL: Final = b"\xff"
_NULL_TEXT: Final = NULL.decode(errors="surrogateescape")
# The positions of this many cells are kept, 8 bytes each; of a bigger table only those of the last block.
_CELLS_KEPT = 2_500_000
# The characters of integers, with the white space around them.
INTEGER_CHARACTERS: Final = "0123456789+- \t\n\v\f\r"
# The approximate size of a cell as a Python value.
_CELL_BYTES: Final = 64
_LOW, _HIGH = (1 << 32) - 1, (1 << 32) - 1 << 32


@dataclass()
class Block:
    """Some rows of a table: `starts` and `lengths` (n_rows x n_columns, in bytes) give the position in `data` of each cell of UTF-8.

    One separator byte follows each cell; `is_padded` means that `PADDING` follows all. `whole` is the block that these rows were taken
    from.
    """

    data: bytes
    starts: "np.ndarray[Any, Any]"
    lengths: "np.ndarray[Any, Any]"
    whole: "Block | None" = None
    is_padded: bool = False

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def _words(self) -> "np.ndarray[Any, Any]":
        """The eight bytes from every position on, as numbers; a view of the data, not eight copies of it."""
        import numpy as np

        if self.whole is not None:
            return self.whole._words
        padded = self.data if self.is_padded else self.data + PADDING
        return np.ndarray((len(padded) - WORD + 1,), "<u8", padded, 0, (1,))

    def rows(self, start: int, stop: int) -> "Block":
        """The rows from start to stop as a block that shares the data."""
        return Block(self.data, self.starts[start:stop], self.lengths[start:stop], self.whole or self)

    def words(self, starts: "np.ndarray[Any, Any]", lengths: "np.ndarray[Any, Any]", at: int = 0) -> "np.ndarray[Any, Any]":
        """Word number `at` of some cells (0 if a cell is too short for one)."""
        words: np.ndarray[Any, Any] = self._words[starts + at * WORD if at else starts]
        words &= masks().take(lengths - at * WORD if at else lengths, mode="clip")
        return words

    def text(self, row: int, column: int) -> str:
        """One cell."""
        start = int(self.starts[row, column])
        return self.data[start : start + int(self.lengths[row, column])].decode()

    def texts(self, column: int, rows: "Sequence[int] | np.ndarray[Any, Any] | None" = None, errors: str = "strict") -> list[str]:
        """The cells of a column, in all or in some rows."""
        starts, lengths = self.starts[:, column], self.lengths[:, column]
        if rows is not None:
            starts, lengths = starts[rows], lengths[rows]
        data = self.data
        return [data[start : start + length].decode(errors=errors) for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)]

    def empty(self, columns: Any) -> "np.ndarray[Any, Any]":
        """Which cells of one or some columns of a database are NULL."""
        import numpy as np

        starts, lengths = self.starts[:, columns], self.lengths[:, columns]
        are_null: np.ndarray[Any, Any] = (lengths == 1) & (np.frombuffer(self.data, np.uint8)[starts] == NULL[0])
        return are_null

    def hashes(self, columns: Sequence[int], keys: "Keys") -> "np.ndarray[Any, Any]":
        """A 64-bit number for each cell of some columns (n_rows x n): equal for equal texts; `Keys` bounds how often for different
        texts.
        """
        import numpy as np

        starts, lengths = (part[:, columns].ravel() for part in (self.starts, self.lengths))
        sums = keys.begin(lengths)
        keys.take(sums, self.words(starts, lengths), 0)
        at, long = 1, np.flatnonzero(lengths > WORD)
        while len(long):
            part = [side[long] for side in sums]
            keys.take(part, self.words(starts[long], lengths[long], at), at)
            for side, long_sums in zip(sums, part, strict=True):
                side[long] = long_sums
            at += 1
            long = long[lengths[long] > at * WORD]
        return _upper_halves(sums).reshape(len(self), len(columns))


class Keys:
    """Secret random numbers, new for each comparison, for hashes that the author of a table can neither predict nor make collide.

    A text is a row of 32-bit numbers: its length, then the halves of its words. Each word adds (low + key) * (high + another key) to a sum
    of 64 bits, and the upper 32 bits of two such sums are the hash ("Multilinear-HM", which is strongly universal): any two different texts
    have the same hash for one choice of keys in 2^64.
    """

    def __init__(self) -> None:
        self._words: list[tuple[int, int, int, int]] = []
        self._columns = self._random_words(0)
        self._first = self._random_words(2)

    @staticmethod
    def _random_words(n: int) -> "np.ndarray[Any, Any]":
        """Random numbers of the system, four columns in each row."""
        import numpy as np

        return np.frombuffer(urandom(WORD * n), np.uint64)

    def begin(self, lengths: "np.ndarray[Any, Any]") -> "list[np.ndarray[Any, Any]]":
        """The two sums of some cells, started with their lengths."""
        import numpy as np

        sizes = lengths.astype(np.uint64)
        return [sizes * key for key in self._first]

    def take(self, sums: "list[np.ndarray[Any, Any]]", words: "np.ndarray[Any, Any]", at: int) -> None:
        """Add word number `at` of some cells to their sums, in place."""
        import numpy as np

        while len(self._words) <= at:
            self._words.append(tuple(self._random_words(4)))
        low, high = words & np.uint64(_LOW), words >> np.uint64(32)
        keys = self._words[at]
        for side, a, b in zip(sums, keys[:2], keys[2:], strict=True):
            term = low + a
            term *= high + b
            side += term

    def of_rows(self, hashed: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
        """One hash for each row of cell hashes, the sum of products with odd secret numbers; the order of the columns counts."""
        import numpy as np

        width = hashed.shape[1]
        if width > len(self._columns):
            self._columns = np.concatenate([self._columns, self._random_words(width - len(self._columns)) | np.uint64(1)])
        sums: np.ndarray[Any, Any] = hashed @ self._columns[:width]
        return sums


def _upper_halves(sums: "Sequence[np.ndarray[Any, Any]]") -> "np.ndarray[Any, Any]":
    """The upper 32 bits of both sums as one number: the lower bits of a sum reveal too much about the lower bits of its terms."""
    import numpy as np

    halves: np.ndarray[Any, Any] = (sums[0] & np.uint64(_HIGH)) | (sums[1] >> np.uint64(32))
    return halves


@cache
def masks() -> "np.ndarray[Any, Any]":
    """For 0 to 8 bytes the mask that keeps them in a word."""
    import numpy as np

    return np.array([(1 << 8 * n) - 1 for n in range(WORD + 1)], np.uint64)


def equal_cells(gold: Block, gold_columns: Sequence[int], predicted: Block, predicted_columns: Sequence[int]) -> "np.ndarray[Any, Any]":
    """Whether cells contain the same text (n_rows x n pairs of columns), for blocks of equally many rows."""
    import numpy as np

    lengths = gold.lengths[:, gold_columns]
    same = lengths == predicted.lengths[:, predicted_columns]
    a, b = gold.starts[:, gold_columns], predicted.starts[:, predicted_columns]
    same &= _differing_bits(gold, a, predicted, b, lengths) == 0
    at, longest = WORD, int(lengths.max(initial=0))
    flat: np.ndarray[Any, Any]
    flat, lengths, a, b = same.ravel(), lengths.ravel(), a.ravel(), b.ravel()
    while at < longest:
        long = np.flatnonzero(flat & (lengths > at))
        if not len(long):
            break
        flat[long] = _differing_bits(gold, a[long] + at, predicted, b[long] + at, lengths[long] - at) == 0
        at += WORD
    return flat.reshape(same.shape)


def _differing_bits(gold: Block, a: Any, predicted: Block, b: Any, lengths: Any) -> Any:
    """The bits in which the words of cells at positions a and b differ, of which `lengths` bytes count."""
    bits = gold._words[a]
    bits ^= predicted._words[b]
    bits &= masks().take(lengths, mode="clip")
    return bits


def is_same_run(gold: Block, predicted: Block) -> bool:
    """Whether two blocks contain the same cells at the same positions, compared as one byte string."""
    import numpy as np

    if gold.lengths.shape != predicted.lengths.shape or not np.array_equal(gold.lengths, predicted.lengths):
        return False
    return len(gold) == 0 or _run(gold) == _run(predicted)


def _run(block: Block) -> bytes:
    return block.data[int(block.starts[0, 0]) : int(block.starts[-1, -1]) + int(block.lengths[-1, -1])]


def side_by_side(gold: Iterator[Block], predicted: Iterator[Block]) -> Iterator[tuple[Block, Block]]:
    """Blocks of both sides cut to the same rows. Extra rows of one side come last, with an empty block for the other side."""
    a, b = next(gold, None), next(predicted, None)
    while a is not None and b is not None:
        n = min(len(a), len(b))
        if n:
            yield a.rows(0, n), b.rows(0, n)
        a = a.rows(n, len(a)) if len(a) > n else next(gold, None)
        b = b.rows(n, len(b)) if len(b) > n else next(predicted, None)
    while a is not None or b is not None:
        left = a if a is not None else b
        assert left is not None
        if len(left):
            yield (left, left.rows(0, 0)) if a is not None else (left.rows(0, 0), left)
        a, b = (next(gold, None), None) if a is not None else (None, next(predicted, None))


_SHAPE: Final = struct.Struct("<cQQB")
# The first byte of every packed block, which distinguishes it from other frames.
BLOCK: Final = b"B"
_SHORT: Final = 255
_ROWS_AT_ONCE: Final = 16_384


class OddError(Exception):
    """A file that is not plain enough for blocks; the exact reader decides what it is."""


class UnreadSource(Protocol):
    """The source of an unread table."""

    def blocks(self) -> Iterator[Block]:
        """The rows in file order, each call from the beginning. Raises `OddError` if they are not plain."""
        ...

    def read_table(self) -> Table:
        """The table as the exact reader returns it. Raises `FaultError`."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class UnreadTable:
    """A big CSV file, or a big table of a database, of which only the header has been read. Call `read()` before comparing."""

    header: tuple[str, ...]
    name: str
    source: UnreadSource
    types: tuple[str, ...] | None = None

    def frames(self) -> Iterator[bytes]:
        """The rows as packed blocks, in the form in which other processes receive them. Raises `OddError`."""
        return map(packed_block, self.source.blocks())

    def read(self) -> Table:
        """The table. Raises `FaultError`."""
        try:
            return packed_table(self.header, self.name, self.frames(), self.types)
        except OddError:
            return self.source.read_table()


def packed_block(block: Block) -> bytes:
    """The lengths of a block's cells, and the cells with one separator byte after each; padded, so that it can be read without a copy."""
    start = int(block.starts[0, 0]) if len(block) else 0
    stop = int(block.starts[-1, -1] + block.lengths[-1, -1]) + 1 if len(block) else 0
    return frame_of(memoryview(block.data)[start:stop], block.lengths)


class Packed:
    """The cells of a table, n_rows x width, as consecutive packed blocks; `kinds` say how the cells of a database are read ("" for text of
    a CSV file).

    Raises ValueError for a block of another shape: it may come from a process that read untrusted bytes.
    """

    def __init__(self, width: int, frames: Iterable[bytes], types: Sequence[str] | None = None) -> None:
        self.width = width
        self.kinds = [""] * width if types is None else [kind_of(type_) or "" for type_ in types]
        if types is not None and (len(types) != width or "" in self.kinds):
            raise ValueError("packed columns of other types")
        self.values: Sequence[Any] = ()
        self.frames: list[bytes] = []
        self.counts: list[int] = []
        self.longest = 0
        for frame in frames:
            if len(frame) < _SHAPE.size or frame[:1] != BLOCK:
                raise ValueError("not a packed block")
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
        self._unpacked: dict[int, Block] = {}

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(self.counts)

    def columns(self) -> "tuple[PackedColumn, ...]":
        """The columns of a table in this form."""
        return tuple(PackedColumn(self, place) for place in range(self.width))

    def blocks(self) -> Iterator[Block]:
        """The rows from the beginning."""
        return map(self._block, range(len(self.frames)))

    def rows(self, rows: "np.ndarray[Any, Any]") -> Iterator[tuple[Block, "np.ndarray[Any, Any]"]]:
        """The blocks that contain some rows (ascending, from 0), each with the numbers of those rows within it."""
        import numpy as np

        ends = np.cumsum(self.counts)
        rows = np.asarray(rows)
        cuts = np.searchsorted(rows, ends)
        begin = 0
        for index, (cut, end) in enumerate(zip(cuts.tolist(), ends.tolist(), strict=True)):
            if cut > begin:
                yield self._block(index), rows[begin:cut] - (end - self.counts[index])
            begin = cut

    @cached_property
    def with_null(self) -> frozenset[int]:
        """The columns of a database in which a cell is NULL."""
        import numpy as np

        if not any(self.kinds) or not any(NULL in frame for frame in self.frames):
            return frozenset()
        all_columns = range(self.width)
        return frozenset(np.flatnonzero(np.any([block.empty(all_columns).any(axis=0) for block in self.blocks()], axis=0)).tolist())

    def _block(self, index: int) -> Block:
        if index not in self._unpacked:
            if self.n_rows * self.width > _CELLS_KEPT:
                self._unpacked.clear()
            self._unpacked[index] = _unpack(self.frames[index])
        return self._unpacked[index]


def frame_of(text: "bytes | bytearray | memoryview", lengths: "np.ndarray[Any, Any]") -> bytes:
    """A packed block of cells with a separator byte after each, row by row; `lengths` (n_rows x n_columns) are their bytes."""
    import numpy as np

    narrow = int(lengths.max(initial=0)) <= _SHORT
    written = lengths.astype(np.uint8 if narrow else np.uint32).tobytes()
    return b"".join((_SHAPE.pack(BLOCK, *lengths.shape, 1 if narrow else 4), written, text, PADDING))


def _lengths(frame: bytes, n_cells: int, size: int) -> "np.ndarray[Any, Any]":
    import numpy as np

    return np.frombuffer(frame, np.uint8 if size == 1 else "<u4", n_cells, _SHAPE.size)


def _unpack(frame: bytes) -> Block:
    import numpy as np

    _, n_rows, n_columns, size = _SHAPE.unpack_from(frame)
    lengths = _lengths(frame, n_rows * n_columns, size).astype(np.int32)
    starts = np.empty(len(lengths), np.int32)
    starts[:1] = _SHAPE.size + n_rows * n_columns * size
    np.add(lengths[:-1], 1, out=starts[1:])
    np.cumsum(starts, out=starts)
    return Block(frame, starts.reshape(n_rows, n_columns), lengths.reshape(n_rows, n_columns), is_padded=True)


class PackedColumn(Sequence[Any]):
    """One column of packed text, read like a list; its `kind` is that of `Packed.kinds`."""

    def __init__(self, packed: Packed, place: int) -> None:
        self.packed, self.place, self.kind = packed, place, packed.kinds[place]
        self._errors = "surrogateescape" if self.kind else "surrogatepass"

    def __len__(self) -> int:
        return self.packed.n_rows

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(map(self.cells_of, self.packed.blocks()))

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> list[Any]: ...
    def __getitem__(self, at: int | slice) -> Any:
        import numpy as np

        if isinstance(at, slice):
            rows = np.arange(*at.indices(len(self)))
            return self.cells(rows) if at.step in (None, 1) else list(self)[at]
        return self.cells(np.array([range(len(self))[at]]))[0]

    @property
    def has_null(self) -> bool:
        """Whether a cell of a database is NULL."""
        return self.place in self.packed.with_null

    def texts(self, rows: "np.ndarray[Any, Any] | None" = None) -> list[str]:
        """The cells in all rows, or in some (ascending, from 0), as they are stored."""
        parts = ((block, None) for block in self.packed.blocks()) if rows is None else self.packed.rows(rows)
        return [text for block, part in parts for text in block.texts(self.place, part, self._errors)]

    def cells(self, rows: "np.ndarray[Any, Any]") -> list[Any]:
        """The cells in some rows (ascending, from 0): texts, or the values of a database."""
        return self._read(self.texts(rows))

    def cells_of(self, block: Block) -> list[Any]:
        """The cells in a block of the table."""
        return self._read(block.texts(self.place, errors=self._errors))

    def _read(self, texts: list[str]) -> list[Any]:
        if not self.kind:
            return texts
        read = _READ[self.kind] if self.kind in _READ else lambda number: self.packed.values[int(number)]
        try:
            return [None if text == _NULL_TEXT else read(text) for text in texts]
        except (ValueError, ArithmeticError):
            # Only a process that was taken over sends such cells; as texts they equal no value.
            return list(texts)

    def first_rows_of(self, rows: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
        """Some of these rows (ascending, from 0), among them that of the first text in alphabetical order: all that begin like it."""
        import numpy as np

        if self.kind:
            return rows
        # The bytes of a word compare like text if the first is the highest.
        begins = self.first_words(rows).byteswap()
        first: np.ndarray[Any, Any] = rows[begins == begins.min()]
        return first

    def first_words(self, rows: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
        """The first bytes of the cells in some rows (ascending, from 0), as words."""
        import numpy as np

        words = [block.words(block.starts[part, self.place], block.lengths[part, self.place]) for block, part in self.packed.rows(rows)]
        return np.concatenate([np.empty(0, np.uint64), *words])

    def lengths(self) -> "np.ndarray[Any, Any]":
        """The bytes of each cell."""
        import numpy as np

        return np.concatenate([block.lengths[:, self.place] for block in self.packed.blocks()])

    def has_long_integer(self, n_characters: int) -> bool:
        """Whether a cell with so many characters, at least `WORD` * 2, begins like an integer."""
        import numpy as np

        in_integers = np.zeros(256, bool)
        in_integers[list(INTEGER_CHARACTERS.encode())] = True
        for block in self.packed.blocks():
            starts = block.starts[:, self.place][block.lengths[:, self.place] >= n_characters]
            data = np.frombuffer(block.data, np.uint8)
            if in_integers[data[starts[:, None] + np.arange(2 * WORD)]].all(axis=1).any():
                return True
        return False

    def rows_of(self, cell: Any) -> "Iterable[int]":
        """The rows whose cells equal this one."""
        import numpy as np

        if _AS_TEXT.get(self.kind) is not type(cell):
            return (row for row, value in enumerate(self) if value == cell)
        needle, rows, start = text_block([str(cell)]), list[int](), 0
        for block in self.packed.blocks():
            shape = len(block), 1
            part = replace(needle, starts=np.zeros(shape, int), lengths=np.full(shape, len(needle.data)))
            rows += (np.flatnonzero(equal_cells(block, [self.place], part, [0])) + start).tolist()
            start += len(block)
        return rows


# The kinds of columns whose cells are equal exactly when their texts are, with the type of the cells.
_AS_TEXT: Final[dict[str, type]] = {"": str, "text": str, "int": int}
# How the cells of a database are read from their texts, by kind; cells of one kind are the same exactly when their texts are.
_READ: Final[dict[str, Callable[[str], Any]]] = {
    "int": int,
    "bool": "true".__eq__,
    "float": float,
    "decimal": Decimal,
    "text": str,
    "date": date.fromisoformat,
    "moment": datetime.fromisoformat,
}
NUMBER_KINDS: Final = frozenset({"", "int", "float", "decimal"})
_INTEGERS: Final = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
_KINDS: Final = {
    **dict.fromkeys(_INTEGERS, "int"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "float"),
    "BOOLEAN": "bool",
    "VARCHAR": "text",
    "DATE": "date",
    "TIMESTAMP": "moment",
}


def kind_of(type_: str) -> str | None:
    """How the cells of a column of a database type are read, None for a type whose cells are no plain values."""
    return "decimal" if type_.startswith("DECIMAL(") else _KINDS.get(type_)


def packed_table(header: tuple[str, ...], name: str, frames: Iterable[bytes], types: Sequence[str] | None = None) -> Table:
    """The table of packed blocks. Raises ValueError, and what the iterator of frames raises."""
    packed = Packed(len(header), frames, types)
    return Table(header=header, columns=packed.columns(), n_rows=packed.n_rows, types=None if types is None else tuple(types), name=name)


def packed_of(table: Table) -> Packed | None:
    """The packed text behind a table's columns, None for a table in another form."""
    first = table.columns[0] if table.columns else None
    return first.packed if isinstance(first, PackedColumn) else None


def memory_of(table: Table) -> int:
    """The approximate bytes that the cells take in addition to the bytes of their file."""
    return 0 if packed_of(table) is not None else table.n_rows * len(table.columns) * _CELL_BYTES


def to_message(table: Table, convert: Callable[[Sequence[Any]], Sequence[Any]]) -> list[Any]:
    """The table as plain values for another process: its packed blocks, or its cells, with those of databases converted."""
    types = None if table.types is None else list(table.types)
    if (packed := packed_of(table)) is not None:
        return ["packed", list(table.header), table.name, packed.frames, types]
    columns = table.columns if types is None else map(convert, table.columns)
    return ["table", list(table.header), list(columns), table.n_rows, types, table.ragged_line, table.name, table.is_view]


def from_message(message: Any) -> Table:
    """The table of `to_message`. Raises ValueError, TypeError or IndexError for any other message."""
    if message[0] == "packed":
        _, header, name, frames, types = message
        return packed_table(tuple(map(str, header)), str(name), frames, None if types is None else tuple(map(str, types)))
    _, header, columns, n_rows, types, ragged, name, is_view = message
    if any(len(column) != n_rows for column in columns) or len(columns) != len(header):
        raise ValueError("a table whose columns differ in length")
    return Table(
        header=tuple(map(str, header)),
        columns=tuple(columns),
        n_rows=int(n_rows),
        types=None if types is None else tuple(map(str, types)),
        ragged_line=None if ragged is None else int(ragged),
        name=str(name),
        is_view=bool(is_view),
    )


def as_values(form: Any) -> Any:
    """A payload with the cells of its tables as Python values. Raises `FaultError` for a table that has not been read."""
    if isinstance(form, list):
        return [as_values(table) for table in form]
    if isinstance(form, Table):
        return as_lists(form)
    return {name: as_values(table) for name, table in form.items()} if isinstance(form, Mapping) else form


def pack(table: Table) -> Packed:
    """The packed text of a table of text ("" for a field that a short row lacks), or of a packed table of a database."""
    packed = packed_of(table)
    return packed if packed is not None else Packed(len(table.columns), _packed_lists(table))


def pack_values(gold: Table, predicted: Table) -> tuple[Packed, Packed]:
    """Tables of any values as packed text: for each cell the number of its value, which is the same in both tables."""
    numbers: dict[tuple[type, str], int] = {}
    values: list[Any] = []
    sides = []
    for table in (gold, predicted):
        columns = []
        for column in table.columns:
            cells = []
            for cell in column:
                number = numbers.setdefault((type(cell), repr(cell)), len(values))
                if number == len(values):
                    values.append(cell)
                cells.append(str(number))
            columns.append(cells)
        packed = pack(replace(table, columns=tuple(columns)))
        packed.kinds, packed.values = ["value"] * packed.width, values
        sides.append(packed)
    return sides[0], sides[1]


def _packed_lists(table: Table) -> Iterator[bytes]:
    import numpy as np

    for start in range(0, table.n_rows, _ROWS_AT_ONCE):
        rows = zip(*(column[start : start + _ROWS_AT_ONCE] for column in table.columns), strict=True)
        cells = ["" if cell is None else cell for cell in chain.from_iterable(rows)]
        text = "\n".join([*cells, ""]).encode("utf-8", "surrogatepass")
        lengths = np.fromiter(map(len, cells), np.uint32, len(cells))
        if not text.isascii():
            # From characters to bytes: the position of the character after each cell.
            begins = np.flatnonzero(np.frombuffer(text, np.uint8) & 0xC0 != 0x80)
            ends = begins[np.cumsum(lengths + 1, dtype=np.int64) - 1]
            lengths = (np.diff(ends, prepend=-1) - 1).astype(np.uint32)
        yield frame_of(text, lengths.reshape(-1, len(table.columns)))


def as_lists(table: Table) -> Table:
    """The table with its cells as Python values."""
    return replace(table, columns=tuple(map(list, table.columns))) if packed_of(table) is not None else table


def first_rows(table: Table, n: int) -> Table:
    """The first n rows as a plain table; in a table of text "" replaces a field that a short row lacks."""
    packed = packed_of(table)
    if packed is not None and table.n_rows:
        block = next(packed.blocks())
        if len(block) >= min(n, table.n_rows):
            part = block.rows(0, n)
            return replace(table, columns=tuple(column.cells_of(part) for column in packed.columns()), n_rows=len(part))
    columns = tuple(list(islice(column, n)) for column in table.columns)
    head = replace(table, columns=columns, n_rows=min(n, table.n_rows))
    return replace(head, columns=tuple(raw_column(head, k) for k in range(len(columns)))) if table.types is None else head


def text_block(texts: Sequence[str]) -> Block:
    """The cells of a column of text."""
    import numpy as np

    whole_text = "".join(texts)
    sizes = map(len, texts) if whole_text.isascii() else (len(text.encode()) for text in texts)
    return block_of(whole_text.encode(), np.fromiter(sizes, np.int32, len(texts)))


def block_of(data: bytes, lengths: "np.ndarray[Any, Any]") -> Block:
    """A column of text from concatenated cells (lengths in bytes). Raises ValueError if they do not fit."""
    import numpy as np

    ends = np.cumsum(lengths, dtype=np.int64)
    if (int(ends[-1]) if len(ends) else 0) != len(data) or (lengths < 0).any():
        raise ValueError("the lengths of a column do not fit its text")
    return Block(data, (ends - lengths).reshape(-1, 1), lengths.astype(np.int64).reshape(-1, 1))


def has_long_integer(table: Table, n_characters: int, chosen: Sequence[int] | None = None) -> bool:
    """Whether a cell of some columns of text (None: all) with so many characters, at least `WORD` * 2, begins like an integer."""
    if (packed := packed_of(table)) is not None:
        return packed.longest >= n_characters and any(column.has_long_integer(n_characters) for column in packed.columns())
    columns = table.columns if chosen is None else [table.columns[index] for index in chosen]
    long = (cell for column in columns if _has_long(column, n_characters) for cell in column if cell and len(cell) >= n_characters)
    return any(not cell[: 2 * WORD].strip(INTEGER_CHARACTERS) for cell in long)


def _has_long(column: Sequence[str | None], n_characters: int) -> bool:
    """Whether a cell may have so many characters: a scan of consecutive short cells takes a tenth of the time of testing each."""
    at = 0
    text = "\0".join(filter(None, column) if None in column else column)  # type: ignore[arg-type]
    while len(text) - at >= n_characters:
        end = text.rfind("\0", at, at + n_characters)
        if end < 0:
            return True
        at = end + 1
    return False
