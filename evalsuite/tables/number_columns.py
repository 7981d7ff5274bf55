"""The columns of two packed tables as numbers: each read when it is asked for, two of them held at a time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evalsuite.tables.number_blocks import WHOLE, Numbers, is_surely_text, joined, numbers_of
from evalsuite.tables.packed import Packed
from evalsuite.types import Table

if TYPE_CHECKING:
    import numpy as np

_HELD: Final = 2


class Summary(NamedTuple):
    """What a packed column holds: numbers and empty cells alone, all of them integers, how many empty; the first and the last number."""

    are_numbers: bool
    is_whole: bool = False
    n_empty: int = 0
    low: float = 0.0
    high: float = 0.0


class NumberColumns:
    """What is known of the numbers of gold (side 0) and of a predicted table (side 1); `heads` are their first rows as text."""

    def __init__(self, packed: Sequence[Packed], heads: Sequence[Table]) -> None:
        self._packed, self._heads = packed, heads
        self._known: dict[Any, Any] = {}

    def some(self, side: int, column: int, rows: "np.ndarray[Any, Any]") -> Numbers | None:
        """Some cells of packed text as numbers, None where one is neither a number nor empty."""
        return joined(numbers_of(block, column, part) for block, part in self._packed[side].rows(rows))

    def column(self, side: int, column: int) -> Numbers | None:
        """A packed column as numbers, NaN where empty; None where a cell is something else, or no plain double. The last two are held."""
        import numpy as np

        held = self._known.setdefault("columns", {})
        if (side, column) not in held:
            while len(held) >= _HELD:
                held.pop(next(iter(held)))
            found = self.some(side, column, np.arange(self._packed[side].n_rows))
            held[side, column] = found if found is not None and found.are_safe and not np.isinf(found.values).any() else None
        numbers: Numbers | None = held[side, column]
        return numbers

    def has_no_neighbour(self, i: int, numbers: "np.ndarray[Any, Any]", span: "np.ndarray[Any, Any]") -> bool:
        """Whether one of some predicted numbers has no number of gold column i, which holds numbers alone, within its span."""
        import numpy as np

        held = self._known.setdefault("sorted", {})
        if i not in held:
            held.clear()
            found = self.column(0, i)
            held[i] = np.sort(found.values[~np.isnan(found.values)]) if found is not None else None
        ordered = held[i]
        if ordered is None:
            return False
        return bool((np.searchsorted(ordered, numbers - span) == np.searchsorted(ordered, numbers + span, "right")).any())

    def summary(self, side: int, column: int) -> Summary:
        """What a packed column holds, in short."""
        import numpy as np

        name = ("summary", side, column)
        if name not in self._known:
            numbers = None if any(map(is_surely_text, self._heads[side].columns[column])) else self.column(side, column)
            summary = Summary(False)
            if numbers is not None:
                empty = np.isnan(numbers.values)
                values = numbers.values[~empty]
                is_whole = numbers.digits is not None and not empty.any() and bool((numbers.digits == WHOLE).all())
                ends = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
                summary = Summary(True, is_whole, int(empty.sum()), *ends)
            self._known[name] = summary
        found: Summary = self._known[name]
        return found
