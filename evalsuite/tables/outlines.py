"""What pairing asks of columns: their bags, their numbers in order, and which of them lie near each other."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from evalsuite.tables.strict_cells import Cell, Percent, in_reading, key
from evalsuite.texts.numbers import FIRST_INEXACT, Number, Tolerance, float_of, is_whole, reach


class Outline:
    """What pairing asks of a column of n_rows cells, each worked out at most once."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.cells = cells
        self._reach: dict[tuple[Tolerance, int | None], float] = {}

    @cached_property
    def keys(self) -> list[Any]:
        """The key of each cell."""
        return [key(cell) for cell in self.cells]

    @cached_property
    def bag(self) -> Counter[Any]:
        """How often each key stands in the column."""
        return Counter(self.keys)

    @cached_property
    def bag_hash(self) -> int:
        """Equal for equal bags, so that unequal ones are told apart at one look."""
        return hash(frozenset(self.bag.items()))

    @cached_property
    def distinct(self) -> Counter[Cell]:
        """How often each cell stands in the column."""
        return Counter(self.cells)

    @cached_property
    def readings(self) -> tuple["Outline", ...]:
        """The column as it can be read: once, or with its percent signs as figures and as shares."""
        if not any(isinstance(cell, Percent) for cell in self.distinct):
            return (self,)
        return Outline(in_reading(self.cells, "figure")), Outline(in_reading(self.cells, "share"))

    @cached_property
    def coarsest(self) -> int | None:
        """The fewest decimals that its decimal numbers show, None where it has none of them."""
        return min((cell.decimals for cell in self.distinct if isinstance(cell, Number)), default=None)

    @cached_property
    def has_loose(self) -> bool:
        """Whether a decimal may equal an integer that is not its own key."""
        return any(isinstance(cell, Number) and (abs(cell.value) >= FIRST_INEXACT or not is_whole(cell)) for cell in self.distinct)

    @cached_property
    def has_integers(self) -> bool:
        """Whether a cell is an integer."""
        return any(isinstance(cell, int) for cell in self.distinct)

    @cached_property
    def line(self) -> list[float]:
        """The finite numbers in order of size, as often as they stand in the column."""
        places = ((place(cell), n) for cell, n in self.distinct.items())
        return sorted(value for value, n in places if value is not None for _ in range(n))

    @cached_property
    def others(self) -> dict[Cell, int]:
        """How often each cell stands in the column that is no finite number."""
        return {cell: n for cell, n in self.distinct.items() if place(cell) is None}

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Equal for columns that can be paired at all: how many numbers there are, and what the other cells are."""
        return len(self.line), hash(frozenset(self.others.items()))

    def distance(self, other: "Outline") -> float:
        """How far the numbers of two columns are apart when both are sorted, summed."""
        return sum(abs(a - b) for a, b in zip(self.line, other.line, strict=True))

    def reach(self, tolerance: Tolerance, coarsest: int | None) -> float:
        """How far at most a number of a gold column with such decimals may be from a prediction of this column."""
        name = (tolerance, coarsest)
        if name not in self._reach:
            numbers = (cell for cell in self.distinct if isinstance(cell, int | Number))
            self._reach[name] = max((reach(cell, tolerance, coarsest) or 0.0 for cell in numbers), default=0.0)
        return self._reach[name]


class Shelf:
    """Columns in order of their shapes and smallest numbers, so that few are looked at for one gold column."""

    def __init__(self, outlines: Sequence[Outline]) -> None:
        self._outlines = outlines
        self._shelves: dict[tuple[int, int], list[tuple[float, int]]] = {}
        for k, outline in enumerate(outlines):
            self._shelves.setdefault(outline.shape, []).append((outline.line[0] if outline.line else 0.0, k))
        for shelf in self._shelves.values():
            shelf.sort()
        self._reach: dict[tuple[tuple[int, int], Tolerance, int | None], float] = {}

    def near(self, gold: Outline, tolerance: Tolerance) -> list[int]:
        """The columns whose smallest number is near gold's, all that can be paired with it among them."""
        shelf = self._shelves.get(gold.shape, [])
        name = (gold.shape, tolerance, gold.coarsest)
        if name not in self._reach:
            self._reach[name] = max((self._outlines[k].reach(tolerance, gold.coarsest) for _, k in shelf), default=0.0)
        first = gold.line[0] if gold.line else 0.0
        start, stop = (
            bisect_left(shelf, (first - self._reach[name],)),
            bisect_right(shelf, (first + self._reach[name], len(self._outlines))),
        )
        return sorted(k for _, k in shelf[start:stop])


def place(cell: Cell) -> float | None:
    """A finite number's place on the line, None for every other cell."""
    return float_of(cell) if isinstance(cell, int | Number) else None
