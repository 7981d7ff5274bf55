"""Packed text, the store of big tables: the bytes of all cells with the length of each, in blocks of rows.

numpy compares text as 64-bit words, the last one of a cell padded with zeros, so that cells of equal length are equal when their words are.
The cells of a CSV file are text. Those of a database are stored as the text that duckdb writes, NULL as a byte that no text contains, so
that two cells of one kind are the same when their texts are.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import chain
from os import urandom
from typing import Any, Final

from evalsuite.core.dataclasses import dataclass
from evalsuite.core.import_ref import np

WORD = 8
# This many bytes after the last cell must be readable, because numbers are read in words of this total length.
PADDING = b"\0" * 6 * WORD
# A cell of a database without value: a byte that no UTF-8 contains.
NULL: Final = b"\xff"
# The positions of this many cells are kept, 8 bytes each; of a bigger table only those of the last block.
_CELLS_KEPT = 2_500_000
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
        starts, lengths = self.starts[:, columns], self.lengths[:, columns]
        are_null: np.ndarray[Any, Any] = (lengths == 1) & (np.frombuffer(self.data, np.uint8)[starts] == NULL[0])
        return are_null

    def hashes(self, columns: Sequence[int], keys: "Keys") -> "np.ndarray[Any, Any]":
        """A 64-bit number for each cell of some columns (n_rows x n): equal for equal texts; `Keys` bounds how often for different
        texts.
        """
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
        # The numbers of texts, once they replace hashes.
        self._numbers: dict[str, int] | None = None

    @staticmethod
    def _random_words(n: int) -> "np.ndarray[Any, Any]":
        """Random numbers of the system, four columns in each row."""
        return np.frombuffer(urandom(WORD * n), np.uint64)

    def begin(self, lengths: "np.ndarray[Any, Any]") -> "list[np.ndarray[Any, Any]]":
        """The two sums of some cells, started with their lengths."""
        sizes = lengths.astype(np.uint64)
        return [sizes * key for key in self._first]

    def take(self, sums: "list[np.ndarray[Any, Any]]", words: "np.ndarray[Any, Any]", at: int) -> None:
        """Add word number `at` of some cells to their sums, in place."""
        while len(self._words) <= at:
            self._words.append(tuple(self._random_words(4)))
        low, high = words & np.uint64(_LOW), words >> np.uint64(32)
        keys = self._words[at]
        for side, a, b in zip(sums, keys[:2], keys[2:], strict=True):
            term = low + a
            term *= high + b
            side += term

    @property
    def are_numbers(self) -> bool:
        """Whether numbers of texts have replaced hashes."""
        return self._numbers is not None

    def number_texts(self) -> None:
        """Give different texts different numbers from now on, because hashes of different texts were equal."""
        self._numbers = self._numbers or {}

    def of_texts(self, texts: Sequence[str]) -> "np.ndarray[Any, Any]":
        """The same number for each of some texts."""
        if (numbers := self._numbers) is not None:
            return np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.uint64)
        return text_block(texts).hashes([0], self)[:, 0]

    def of_rows(self, hashed: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
        """One hash for each row of cell hashes, the sum of products with odd secret numbers; the order of the columns counts."""
        width = hashed.shape[1]
        if width > len(self._columns):
            self._columns = np.concatenate([self._columns, self._random_words(width - len(self._columns)) | np.uint64(1)])
        sums: np.ndarray[Any, Any] = hashed @ self._columns[:width]
        return sums


def _upper_halves(sums: "Sequence[np.ndarray[Any, Any]]") -> "np.ndarray[Any, Any]":
    """The upper 32 bits of both sums as one number: the lower bits of a sum reveal too much about the lower bits of its terms."""
    halves: np.ndarray[Any, Any] = (sums[0] & np.uint64(_HIGH)) | (sums[1] >> np.uint64(32))
    return halves


@cache
def masks() -> "np.ndarray[Any, Any]":
    """For 0 to 8 bytes the mask that keeps them in a word."""
    return np.array([(1 << 8 * n) - 1 for n in range(WORD + 1)], np.uint64)


def equal_cells(gold: Block, gold_columns: Sequence[int], predicted: Block, predicted_columns: Sequence[int]) -> "np.ndarray[Any, Any]":
    """Whether cells contain the same text (n_rows x n pairs of columns), for blocks of equally many rows."""
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
    if gold.lengths.shape != predicted.lengths.shape or not np.array_equal(gold.lengths, predicted.lengths):
        return False
    return len(gold) == 0 or _run(gold) == _run(predicted)


def _run(block: Block) -> bytes:
    return block.data[int(block.starts[0, 0]) : int(block.starts[-1, -1]) + int(block.lengths[-1, -1])]


def side_by_side(gold: Iterator[Block], predicted: Iterator[Block]) -> Iterator[tuple[Block, Block]]:
    """Blocks of both sides, which have equally many rows, cut to the same rows."""
    a, b = next(gold, None), next(predicted, None)
    while a is not None and b is not None:
        n = min(len(a), len(b))
        yield a.rows(0, n), b.rows(0, n)
        a = a.rows(n, len(a)) if len(a) > n else next(gold, None)
        b = b.rows(n, len(b)) if len(b) > n else next(predicted, None)


_SHAPE: Final = struct.Struct("<cQQB")
# The first byte of every packed block, which distinguishes it from other frames.
BLOCK: Final = b"B"
_SHORT: Final = 255
_ROWS_AT_ONCE: Final = 16_384


class OddError(Exception):
    """A file that is not plain enough for blocks; the exact reader decides what it is."""


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
        self.types = tuple(types or [""] * width)
        self.kinds = [""] * width if types is None else [kind_of(type_) or "" for type_ in types]
        if types is not None and (len(types) != width or "" in self.kinds):
            raise ValueError("packed columns of other types")
        self.frames: list[bytes] = []
        self.counts: list[int] = []
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
                self.frames.append(frame)
                self.counts.append(n_rows)
        self._unpacked: dict[int, Block] = {}

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(self.counts)

    def blocks(self) -> Iterator[Block]:
        """The rows from the beginning."""
        return map(self._block, range(len(self.frames)))

    def rows(self, rows: "np.ndarray[Any, Any]") -> Iterator[tuple[Block, "np.ndarray[Any, Any]"]]:
        """The blocks that contain some rows (ascending, from 0), each with the numbers of those rows within it."""
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
    narrow = int(lengths.max(initial=0)) <= _SHORT
    written = lengths.astype(np.uint8 if narrow else np.uint32).tobytes()
    return b"".join((_SHAPE.pack(BLOCK, *lengths.shape, 1 if narrow else 4), written, text, PADDING))


def _lengths(frame: bytes, n_cells: int, size: int) -> "np.ndarray[Any, Any]":
    return np.frombuffer(frame, np.uint8 if size == 1 else "<u4", n_cells, _SHAPE.size)


def _unpack(frame: bytes) -> Block:
    _, n_rows, n_columns, size = _SHAPE.unpack_from(frame)
    lengths = _lengths(frame, n_rows * n_columns, size).astype(np.int32)
    starts = np.empty(len(lengths), np.int32)
    starts[:1] = _SHAPE.size + n_rows * n_columns * size
    np.add(lengths[:-1], 1, out=starts[1:])
    np.cumsum(starts, out=starts)
    return Block(frame, starts.reshape(n_rows, n_columns), lengths.reshape(n_rows, n_columns), is_padded=True)


def text_block(texts: Sequence[str]) -> Block:
    """The cells of a column of text."""
    whole_text = "".join(texts)
    sizes = map(len, texts) if whole_text.isascii() else (len(text.encode()) for text in texts)
    lengths = np.fromiter(sizes, np.int64, len(texts))
    return Block(whole_text.encode(), (np.cumsum(lengths) - lengths)[:, None], lengths[:, None])


def pack_lists(columns: Sequence[Sequence[str]]) -> Packed:
    """Columns of text, given as lists, as packed text."""
    return Packed(len(columns), _frames_of(columns))


def _frames_of(columns: Sequence[Sequence[str]]) -> Iterator[bytes]:
    for start in range(0, len(columns[0]) if columns else 0, _ROWS_AT_ONCE):
        cells = list(chain.from_iterable(zip(*(column[start : start + _ROWS_AT_ONCE] for column in columns), strict=True)))
        text = "\n".join([*cells, ""]).encode("utf-8", "surrogatepass")
        lengths = np.fromiter(map(len, cells), np.uint32, len(cells))
        if not text.isascii():
            # From characters to bytes: the position of the character after each cell.
            begins = np.flatnonzero(np.frombuffer(text, np.uint8) & 0xC0 != 0x80)
            ends = begins[np.cumsum(lengths + 1, dtype=np.int64) - 1]
            lengths = (np.diff(ends, prepend=-1) - 1).astype(np.uint32)
        yield frame_of(text, lengths.reshape(-1, len(columns)))


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
