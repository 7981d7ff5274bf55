"""The columns of two packed tables as numbers: each read when it is asked for, two of them held at a time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evalsuite.tables.hashed_rows import Held
from evalsuite.tables.number_blocks import WHOLE, Numbers, in_order, is_surely_text, joined, numbers_of
from evalsuite.tables.packed import Packed
from evalsuite.types import Table

if TYPE_CHECKING:
    import numpy as np

_HELD: Final = 2
_SORTED: Final = "sorted"


class Summary(NamedTuple):
    """What a packed column holds: numbers and empty cells alone, all of them integers, how many empty; the first and the last number.

    `are_plain` says that none is written as 007 is, which the strict rules take for text.
    """

    are_numbers: bool
    is_whole: bool = False
    n_empty: int = 0
    low: float = 0.0
    high: float = 0.0
    are_plain: bool = False


class NumberColumns:
    """What is known of the numbers of gold (side 0) and of a predicted table (side 1); `heads` are their first rows as text."""

    def __init__(self, packed: Sequence[Packed], heads: Sequence[Table], held: Held) -> None:
        self._packed, self._heads, self._held = packed, heads, held
        self._known: dict[Any, Any] = {}

    def some(self, side: int, column: int, rows: "np.ndarray[Any, Any]") -> Numbers | None:
        """Some cells of packed text as numbers, None where one is neither a number nor empty."""
        return joined((numbers_of(block, column, part) for block, part in self._packed[side].rows(rows)), len(rows))

    def column(self, side: int, column: int) -> Numbers | None:
        """A packed column as numbers, NaN where empty; None where a cell is something else, or no plain double. The last two are held."""
        import numpy as np

        held = self._held.of("numbers")
        if (side, column) not in held:
            for known in [name for name in held if name != _SORTED][: 1 - _HELD or None]:
                del held[known]
            packed = self._packed[side]
            found = joined((numbers_of(block, column) for block in packed.blocks()), packed.n_rows)
            held[side, column] = found if found is not None and found.are_safe and not np.isinf(found.values).any() else None
        numbers: Numbers | None = held[side, column]
        return numbers

    def ordered(self, side: int, column: int) -> "np.ndarray[Any, Any] | None":
        """The numbers of a packed column in order of size; None where `column` is. Gold's last is held."""
        held = self._held.of("numbers")
        if side == 0 and held.get(_SORTED, (None,))[0] == column:
            return held[_SORTED][1]  # type: ignore[no-any-return]
        if side == 0:
            held.pop(_SORTED, None)
        found = self.column(side, column)
        ordered = in_order(found.values.copy()) if found is not None else None
        if side == 0:
            held[_SORTED] = column, ordered
        return ordered

    def has_no_neighbour(self, i: int, numbers: "np.ndarray[Any, Any]", span: "np.ndarray[Any, Any]") -> bool:
        """Whether one of some predicted numbers has no number of gold column i, which holds numbers alone, within its span."""
        import numpy as np

        ordered = self.ordered(0, i)
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
                n_empty = int(np.isnan(numbers.values).sum())
                is_whole = numbers.digits is not None and not n_empty and bool((numbers.digits == WHOLE).all())
                # Neither heeds NaN.
                ends = (np.fmin.reduce(numbers.values), np.fmax.reduce(numbers.values)) if n_empty < len(numbers.values) else (0.0, 0.0)
                summary = Summary(True, is_whole, n_empty, float(ends[0]), float(ends[1]), are_plain=numbers.digits is not None)
            self._known[name] = summary
        found: Summary = self._known[name]
        return found
