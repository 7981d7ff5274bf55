"""The official rules on packed tables: columns as pandas would type them, compared without making Python values of what is written alike.

Where only the values themselves can tell, the answer is open, and the exact way makes them.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from evalsuite.tables.evidence import Evidence
from evalsuite.tables.number_blocks import in_order, in_parts, is_surely_text, officially_equal, surely_unequal
from evalsuite.tables.official_cells import ABS_TOL
from evalsuite.tables.packed import Packed
from evalsuite.tables.pandas_typing import NA_WORDS
from evalsuite.texts.numbers import Tolerance

# An integer of so many characters may be written otherwise as a float, or be none of 64 bits.
_WIDE: Final = 16
_MOST_SORTED: Final = 200_000
_PLAIN: Final = 1e15


class Kind(NamedTuple):
    """What pandas makes of a column: `number`, `bool`, `text` or open (""); how many are empty or true, and the ends."""

    name: str
    is_whole: bool = False
    n_empty: int = 0
    n_true: int = 0
    low: float = 0.0
    high: float = 0.0


class OfficialColumns:
    """The columns of two packed tables as the reference compares them."""

    def __init__(self, evidence: Evidence, *, ignore_order: bool, empty_is_zero: bool) -> None:
        assert evidence.packed is not None
        self.evidence, self.ignore_order, self.empty_is_zero = evidence, ignore_order, empty_is_zero
        self.packed: tuple[Packed, Packed] = evidence.packed

    def are_equal(self, i: int, k: int) -> bool | None:
        """Whether gold column i equals predicted column k, None where that is open."""
        return self._as_bags(i, k) if self.ignore_order else self._in_order(i, k)

    def _in_order(self, i: int, k: int) -> bool | None:
        for a, b in zip(self.evidence.heads[0].columns[i], self.evidence.heads[1].columns[k], strict=True):
            if a != b and not (self.empty_is_zero and (a in NA_WORDS or b in NA_WORDS)) and surely_unequal(a, b):
                return False
        if not len(self.evidence.unlike(i, k)):
            return True
        rows = self.differing(i, k)
        return None if rows is None else not len(rows)

    def differing(self, i: int, k: int) -> Any:
        """The rows, in order, in which two columns differ; None where that is open."""
        import numpy as np

        rows = self.evidence.unlike(i, k)
        if len(rows) and not self.empty_is_zero and not self.is_text(0, i) and not self.is_text(1, k):
            found = self.evidence.beside(i, k, Tolerance())
            if found.are_numbers and self.evidence.rest_is_numbers(i, k):
                return found.unequal
        if (self.kind(0, i).name, self.kind(1, k).name) != ("text", "text"):
            return None
        unlike = [row for row, a, b in self.evidence.cells(i, k, rows) if not (a in NA_WORDS and b in NA_WORDS)]
        return np.array(unlike, np.int64)

    def is_text(self, side: int, column: int) -> bool:
        """Whether the first rows say that a column holds text."""
        return any(map(is_surely_text, self.evidence.heads[side].columns[column]))

    def _as_bags(self, i: int, k: int) -> bool | None:
        if self.evidence.hashes.are_alike(i, k):
            return None if self.is_wide(0, i) else True
        if self._head_is_apart(i, k):
            return False
        mine, theirs = self.kind(0, i), self.kind(1, k)
        if "" in (mine.name, theirs.name):
            return None
        if "bool" in (mine.name, theirs.name) and "text" not in (mine.name, theirs.name):
            if mine.name == theirs.name:
                return mine.n_true == theirs.n_true
            return False if _apart(mine.low, theirs.low) or _apart(mine.high, theirs.high) else None
        if mine.name != theirs.name:
            return False
        if mine.name == "text":
            rows = self.evidence.spare([i], [k])
            return all(text in NA_WORDS for side in (0, 1) for text in self.evidence.written(side, (i, k)[side], rows[side]))
        return self._numbers_as_bags(i, k, mine, theirs)

    def _head_is_apart(self, i: int, k: int) -> bool:
        """Whether one of the first predicted cells is a number that none of gold's, which are numbers alone, is near."""
        import numpy as np

        if self.empty_is_zero or self.kind(0, i).name != "number" or self.kind(0, i).n_empty:
            return False
        try:
            numbers = np.array(list(map(float, self.evidence.heads[1].columns[k])))
        except ValueError:
            return False
        if not np.isfinite(numbers).all():
            return False
        return self.evidence.numbers.has_no_neighbour(i, numbers, 1.01 * np.maximum(ABS_TOL, 1e-9 * np.abs(numbers)))

    def _numbers_as_bags(self, i: int, k: int, mine: Kind, theirs: Kind) -> bool | None:
        """If numbers can be paired within the tolerance at all, then the i-th smallest with the i-th smallest."""
        import numpy as np

        if not self.empty_is_zero and (mine.n_empty != theirs.n_empty or _apart(mine.low, theirs.low) or _apart(mine.high, theirs.high)):
            return False
        a, b = (self._filled(self._values(side, column)) for side, column in ((0, i), (1, k)))
        x, y = (in_order(side.copy()) for side in (a, b)) if self.empty_is_zero else (self._ordered(0, i), self._ordered(1, k))
        if len(x) != len(y) or any(bool(_apart(*part).any()) for part in in_parts(x, y)):
            return False
        if self.empty_is_zero and (mine.n_empty or theirs.n_empty):
            return None
        if max(abs(mine.low), abs(mine.high), abs(theirs.low), abs(theirs.high)) >= _PLAIN:
            return None
        if bool((x == y).all()) and int(np.signbit(a).sum()) == int(np.signbit(b).sum()) == int((a < 0).sum()):
            return True
        return bool(officially_equal(_by_text(a, mine.is_whole), _by_text(b, theirs.is_whole)).all())

    def _values(self, side: int, column: int) -> Any:
        found = self.evidence.numbers.column(side, column)
        assert found is not None
        return found.values

    def _ordered(self, side: int, column: int) -> Any:
        found = self.evidence.numbers.ordered(side, column)
        assert found is not None
        return found

    def _filled(self, values: Any) -> Any:
        import numpy as np

        return np.where(np.isnan(values), 0.0, values) if self.empty_is_zero else values

    def kind(self, side: int, column: int) -> Kind:
        """What pandas makes of a column."""
        name = ("kind", side, column)
        if name not in self.evidence.known:
            self.evidence.known[name] = self._kind(side, column)
        found: Kind = self.evidence.known[name]
        return found

    def _kind(self, side: int, column: int) -> Kind:

        if self.is_text(side, column):
            return Kind("" if self.is_wide(side, column) else "text")
        found = self.evidence.numbers.summary(side, column)
        if not found.are_numbers:
            return self._no_numbers(side, column)
        if found.n_empty == self.evidence.n_rows:
            return Kind("")
        return Kind("number", found.is_whole, found.n_empty, low=found.low, high=found.high)

    def _no_numbers(self, side: int, column: int) -> Kind:
        texts = Counter(text for block in self.packed[side].blocks() for text in block.texts(column))
        if any(map(is_surely_text, texts)):
            return Kind("" if self.is_wide(side, column) else "text")
        if not {text.lower() for text in texts} <= {"true", "false"}:
            return Kind("")
        n_true = sum(n for text, n in texts.items() if text.lower() == "true")
        return Kind("bool", n_true=n_true, low=float(n_true == self.evidence.n_rows), high=float(n_true > 0))

    def is_wide(self, side: int, column: int) -> bool:
        """Whether a cell may be an integer that is written otherwise as a float, or is beyond 64 bits."""
        import numpy as np

        name = ("wide", side, column)
        if name not in self.evidence.known:
            in_integers = np.zeros(256, bool)
            in_integers[list(b"0123456789+- ")] = True
            found = False
            for block in self.packed[side].blocks():
                starts = block.starts[:, column][block.lengths[:, column] >= _WIDE]
                data = np.frombuffer(block.data, np.uint8)
                found = found or bool(in_integers[data[starts[:, None] + np.arange(_WIDE)]].all(axis=1).any())
            self.evidence.known[name] = found
        wide: bool = self.evidence.known[name]
        return wide

    def value(self, side: int, column: int, text: str) -> Any:
        """A cell as pandas types it in its column of numbers or text."""
        kind = self.kind(side, column)
        if text in NA_WORDS or kind.name != "number":
            return text if text not in NA_WORDS else None
        return int(text) if kind.is_whole else float(text)

    @property
    def are_many(self) -> bool:
        """Whether sorting the text of a column's values takes longer than a reason is worth."""
        return self.ignore_order and self.evidence.n_rows > _MOST_SORTED


def partners_of(columns: OfficialColumns, chosen: Sequence[int], n_predicted: int) -> tuple[list[int], bool] | None:
    """(the first equal predicted column of each needed one until one has none, whether all have); None where that is open."""
    heads = columns.evidence.heads
    twins: dict[tuple[Any, ...], list[int]] = {}
    if not columns.ignore_order:
        for k in range(n_predicted):
            twins.setdefault(tuple(heads[1].columns[k]), []).append(k)
        near = {i: twins.get(tuple(heads[0].columns[i]), []) for i in chosen}
        columns.evidence.look([(i, i if i in near[i] else near[i][0]) for i in chosen if near[i]])
    else:
        columns.evidence.hashes.know_bags(0, list(chosen))
        columns.evidence.hashes.know_bags(1, range(n_predicted))
        bags: dict[Any, list[int]] = {}
        for k in range(n_predicted):
            bags.setdefault(columns.evidence.hashes.bag(1, k), []).append(k)
        near = {i: bags.get(columns.evidence.hashes.bag(0, i), []) for i in chosen}
        columns.evidence.hashes.compare([(i, near[i][0]) for i in chosen if near[i]])
    found: list[int] = []
    for i in chosen:
        partner = next((k for k in near[i] if columns.ignore_order or not len(columns.evidence.unlike(i, k))), None)
        if partner is None or (columns.ignore_order and not columns.are_equal(i, partner)):
            fits = ((k, columns.are_equal(i, k)) for k in range(n_predicted))
            partner, is_equal = next(((k, fit) for k, fit in fits if fit is not False), (None, False))
            if is_equal is None:
                return None
        if partner is None:
            return found, False
        found.append(partner)
    return found, True


def _by_text(values: Any, is_whole: bool) -> Any:
    """Numbers in the order of their text, as the reference sorts them."""
    import numpy as np

    listed = values.tolist()
    return np.array(sorted(map(int, listed) if is_whole else listed, key=str), np.float64)


def _apart(a: Any, b: Any) -> Any:
    """Whether numbers are farther from each other than the official tolerance, beyond all rounding."""
    import numpy as np

    return np.abs(a - b) > 1.001 * np.maximum(ABS_TOL, 1e-9 * np.maximum(np.abs(a), np.abs(b)))
