"""Packed text: cells lie one behind the other in one run of bytes, and numpy looks at eight bytes of every cell at a time.

A cell is a sequence of 64-bit words, its last one filled up with zeros, so that cells of equal length are equal when their words are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from os import urandom
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

WORD = 8
# So many bytes behind the last cell may be asked for, by a number as long as `numbers` reads them.
PADDING = b"\0" * 6 * WORD
_LOW, _HIGH = (1 << 32) - 1, (1 << 32) - 1 << 32


@dataclass
class Block:
    """Some rows of a table: `starts` and `lengths` (n_rows x n_columns, in bytes) say where in `data` each cell of UTF-8 lies.

    Behind each cell stands one byte that belongs to none; `is_padded` where `PADDING` stands behind all. `whole` is the block of which
    this one is some rows.
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
        """The eight bytes from every place on, as numbers; a view of the data, not a copy of it eight times."""
        import numpy as np

        if self.whole is not None:
            return self.whole._words
        padded = self.data if self.is_padded else self.data + PADDING
        return np.ndarray((len(padded) - WORD + 1,), "<u8", padded, 0, (1,))

    def rows(self, start: int, stop: int) -> "Block":
        """The rows from start to stop as a block of its own that shares the data."""
        return Block(self.data, self.starts[start:stop], self.lengths[start:stop], self.whole or self)

    def words(self, starts: "np.ndarray[Any, Any]", lengths: "np.ndarray[Any, Any]", at: int = 0) -> "np.ndarray[Any, Any]":
        """Word number `at` of some cells (0 where a cell is too short for one)."""
        found: np.ndarray[Any, Any] = self._words[starts + at * WORD if at else starts]
        found &= masks().take(lengths - at * WORD if at else lengths, mode="clip")
        return found

    def text(self, row: int, column: int) -> str:
        """One cell."""
        start = int(self.starts[row, column])
        return self.data[start : start + int(self.lengths[row, column])].decode()

    def texts(self, column: int, rows: "Sequence[int] | np.ndarray[Any, Any] | None" = None) -> list[str]:
        """The cells of a column, in all or in some rows."""
        starts, lengths = self.starts[:, column], self.lengths[:, column]
        if rows is not None:
            starts, lengths = starts[rows], lengths[rows]
        data = self.data
        return [data[start : start + length].decode() for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)]

    def hashes(self, columns: Sequence[int], keys: "Keys") -> "np.ndarray[Any, Any]":
        """A 64-bit number for each cell of some columns (n_rows x n): equal for equal texts; `Keys` says how seldom for others."""
        import numpy as np

        starts, lengths = (part[:, columns].ravel() for part in (self.starts, self.lengths))
        sums = keys.begin(lengths)
        keys.take(sums, self.words(starts, lengths), 0)
        at, long = 1, np.flatnonzero(lengths > WORD)
        while len(long):
            part = [side[long] for side in sums]
            keys.take(part, self.words(starts[long], lengths[long], at), at)
            for side, taken in zip(sums, part, strict=True):
                side[long] = taken
            at += 1
            long = long[lengths[long] > at * WORD]
        return _upper_halves(sums).reshape(len(self), len(columns))


class Keys:
    """Secret random numbers, new for each comparison, that make hashes of which the writer of a table cannot know or build a collision.

    A text is a row of 32-bit numbers: its length, then the halves of its words. Each word adds (low + key) * (high + another key) to a sum
    of 64 bits, and the upper 32 bits of two such sums are the hash ("Multilinear-HM", which is strongly universal): whatever two different
    texts are, and whoever made them, for one choice of keys in 2^64 they have the same hash.
    """

    def __init__(self) -> None:
        self._words: list[tuple[int, int, int, int]] = []
        self._columns = self._drawn(0)
        self._first = self._drawn(2)

    @staticmethod
    def _drawn(n: int) -> "np.ndarray[Any, Any]":
        """Random numbers of the system, each column of a row four of them."""
        import numpy as np

        return np.frombuffer(urandom(WORD * n), np.uint64)

    def begin(self, lengths: "np.ndarray[Any, Any]") -> "list[np.ndarray[Any, Any]]":
        """The two sums of some cells of which the lengths are taken."""
        import numpy as np

        sizes = lengths.astype(np.uint64)
        return [sizes * key for key in self._first]

    def take(self, sums: "list[np.ndarray[Any, Any]]", words: "np.ndarray[Any, Any]", at: int) -> None:
        """Take word number `at` of some cells into their sums, in place."""
        import numpy as np

        while len(self._words) <= at:
            self._words.append(tuple(self._drawn(4)))
        low, high = words & np.uint64(_LOW), words >> np.uint64(32)
        keys = self._words[at]
        for side, a, b in zip(sums, keys[:2], keys[2:], strict=True):
            term = low + a
            term *= high + b
            side += term

    def of_rows(self, hashed: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
        """One hash for each row of cell hashes, their sum times odd secret numbers; the order of the columns counts."""
        import numpy as np

        width = hashed.shape[1]
        if width > len(self._columns):
            self._columns = np.concatenate([self._columns, self._drawn(width - len(self._columns)) | np.uint64(1)])
        found: np.ndarray[Any, Any] = hashed @ self._columns[:width]
        return found


def _upper_halves(sums: "Sequence[np.ndarray[Any, Any]]") -> "np.ndarray[Any, Any]":
    """The upper 32 bits of both sums as one number: the lower ones of a sum say too much of the lower ones of what it was made of."""
    import numpy as np

    found: np.ndarray[Any, Any] = (sums[0] & np.uint64(_HIGH)) | (sums[1] >> np.uint64(32))
    return found


@cache
def masks() -> "np.ndarray[Any, Any]":
    """For 0 to 8 bytes the mask that keeps them of a word."""
    import numpy as np

    return np.array([(1 << 8 * n) - 1 for n in range(WORD + 1)], np.uint64)


def equal_cells(gold: Block, gold_columns: Sequence[int], predicted: Block, predicted_columns: Sequence[int]) -> "np.ndarray[Any, Any]":
    """Whether cells hold the same text (n_rows x n pairs of columns), for blocks of as many rows."""
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
    """The bits in which the words of cells at places a and b differ, of which `lengths` bytes count."""
    bits = gold._words[a]
    bits ^= predicted._words[b]
    bits &= masks().take(lengths, mode="clip")
    return bits


def is_same_run(gold: Block, predicted: Block) -> bool:
    """Whether two blocks hold the same cells in the same places, seen at one look."""
    import numpy as np

    if gold.lengths.shape != predicted.lengths.shape or not np.array_equal(gold.lengths, predicted.lengths):
        return False
    return len(gold) == 0 or _run(gold) == _run(predicted)


def _run(block: Block) -> bytes:
    return block.data[int(block.starts[0, 0]) : int(block.starts[-1, -1]) + int(block.lengths[-1, -1])]


def side_by_side(gold: Iterator[Block], predicted: Iterator[Block]) -> Iterator[tuple[Block, Block]]:
    """Blocks of both sides cut to the same rows. What one side has more comes last, beside an empty block."""
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
