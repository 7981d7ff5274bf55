"""Columns as the strict rules compare them: parsed cells, tolerance, label, multiset of values and sorted numbers.

Each derived value is computed at most once, because matching compares the same columns many times.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Final, Literal, overload

from evalsuite.compare.bipartite_matching import bipartite_matching
from evalsuite.compare.numbers import FIRST_INEXACT, Number, Tolerance, float_of, is_whole, reach
from evalsuite.compare.strict_cells import Cell, Percent, in_reading, key, read_native, read_text
from evalsuite.compare.table_digests import AnyTable
from evalsuite.core.types import Table

Verdict = Literal["equal", "labels", "no column", "not injective", "rows", "shape", "limit"]


class CachedColumn(list[Any]):
    """The cells of a column that is compared several times, with a cache of derived values by name. The cells must not be changed."""

    def __init__(self, cells: Iterable[Any]) -> None:
        super().__init__(cells)
        self.known: dict[Any, Any] = {}


def with_cache(table: Table) -> Table:
    """The table with columns that cache derived values; a table whose columns are not lists is returned unchanged."""
    if not all(isinstance(column, list | tuple) for column in table.columns):
        return table
    return replace(table, columns=tuple(column if isinstance(column, CachedColumn) else CachedColumn(column) for column in table.columns))


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column as cells; `name` is its header, `position` its index in its own table (from 0), `label` its folded name if that identifies
    it.

    `has_percent` is true if cells contain percent signs that can be read in two ways; `read` parses a written cell.
    """

    cells: Sequence[Cell]
    name: str
    position: int
    tolerance: Tolerance = field(default_factory=Tolerance)
    label: str | None = None
    has_percent: bool = False
    read: Callable[[Any], Cell] = read_text

    def contradicts(self, other: "Column") -> bool:
        """Whether the labels show that a gold and a predicted column are different columns."""
        return None not in (self.label, other.label) and self.label != other.label


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """The verdict on two tables, with what explains it.

    `assignment[i]` is the predicted column (index into the predicted list) of needed gold column i, if one was found or tried;
    `candidates[i]` are all predicted columns that match it alone. `moved` means that tied rows changed places.
    """

    verdict: Verdict
    assignment: tuple[int | None, ...] = ()
    candidates: tuple[tuple[int, ...], ...] = ()
    n_tried: int = 0
    moved: bool = False

    @property
    def is_equal(self) -> bool:
        """Whether the table is the gold table."""
        return self.verdict == "equal"


def matched_as(assignment: Iterable[int]) -> Matching:
    """The verdict that the table equals the gold table under this assignment."""
    chosen = tuple(assignment)
    return Matching(verdict="equal", assignment=chosen, candidates=tuple((k,) for k in chosen))


def likely_columns(gold: Sequence[Column], predicted: Sequence[Column]) -> list[int] | None:
    """For each gold column the predicted column of the same name; for repeated or missing names the one in the same place. None if already
    taken.
    """
    by_name: dict[str, list[int]] = {}
    for k, column in enumerate(predicted):
        by_name.setdefault(column.name, []).append(k)
    found: dict[int, None] = {}
    for column in gold:
        named = [k for k in by_name.get(column.name, ()) if k not in found]
        k = min(named, key=lambda k: (predicted[k].position != column.position, k)) if named else column.position
        if k >= len(predicted) or k in found:
            return None
        found[k] = None
    return list(found)


def in_likely_order(gold: Column, predicted: Sequence[Column], chosen: Iterable[int]) -> list[int]:
    """Columns with an equal header first, then the one in the same place, then the rest in order."""
    return sorted(chosen, key=lambda k: (predicted[k].name != gold.name, predicted[k].position != gold.position, k))


def verdict_of_candidates(candidates: Sequence[Sequence[int]], otherwise: Verdict) -> Matching:
    """The verdict if the candidates alone decide it, else `otherwise`."""
    assignment = tuple(bipartite_matching(candidates))
    verdict: Verdict = "no column" if not all(candidates) else "not injective" if None in assignment else otherwise
    return Matching(verdict=verdict, candidates=tuple(map(tuple, candidates)), assignment=assignment)


class ColumnProfile:
    """Derived values of a column of n_rows cells that pairing needs, each computed at most once."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.cells = cells
        self._reach: dict[tuple[Tolerance, int | None], float] = {}

    @cached_property
    def keys(self) -> list[Any]:
        """The key of each cell."""
        return [key(cell) for cell in self.cells]

    @cached_property
    def bag(self) -> Counter[Any]:
        """The number of occurrences of each key."""
        return Counter(self.keys)

    @cached_property
    def bag_hash(self) -> int:
        """A hash that is equal for equal bags, so that most unequal bags are recognised with one comparison."""
        return hash(frozenset(self.bag.items()))

    @cached_property
    def distinct(self) -> Counter[Cell]:
        """The number of occurrences of each cell."""
        return Counter(self.cells)

    @cached_property
    def readings(self) -> tuple["ColumnProfile", ...]:
        """The possible readings of the column: one, or two with its percent signs read as figures and as shares."""
        if not any(isinstance(cell, Percent) for cell in self.distinct):
            return (self,)
        return ColumnProfile(in_reading(self.cells, "figure")), ColumnProfile(in_reading(self.cells, "share"))

    @cached_property
    def coarsest(self) -> int | None:
        """The fewest decimals that its decimal numbers show, None if it has no decimal numbers."""
        return min((cell.decimals for cell in self.distinct if isinstance(cell, Number)), default=None)

    @cached_property
    def has_loose(self) -> bool:
        """Whether a decimal may equal an integer with another key."""
        return any(isinstance(cell, Number) and (abs(cell.value) >= FIRST_INEXACT or not is_whole(cell)) for cell in self.distinct)

    @cached_property
    def has_integers(self) -> bool:
        """Whether a cell is an integer."""
        return any(isinstance(cell, int) for cell in self.distinct)

    @cached_property
    def line(self) -> list[float]:
        """The finite numbers in ascending order, repeated as often as they occur."""
        places = ((place(cell), n) for cell, n in self.distinct.items())
        return sorted(value for value, n in places if value is not None for _ in range(n))

    @cached_property
    def others(self) -> dict[Cell, int]:
        """The number of occurrences of each cell that is not a finite number."""
        return {cell: n for cell, n in self.distinct.items() if place(cell) is None}

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Equal for columns that can be paired at all: how many numbers there are, and what the other cells are."""
        return len(self.line), hash(frozenset(self.others.items()))

    def distance(self, other: "ColumnProfile") -> float:
        """The summed distance of the numbers of two columns after sorting both."""
        return sum(abs(a - b) for a, b in zip(self.line, other.line, strict=True))

    def reach(self, tolerance: Tolerance, coarsest: int | None) -> float:
        """The largest distance at which a number of a gold column with such decimals may match a prediction of this column."""
        name = (tolerance, coarsest)
        if name not in self._reach:
            numbers = (cell for cell in self.distinct if isinstance(cell, int | Number))
            self._reach[name] = max((reach(cell, tolerance, coarsest) or 0.0 for cell in numbers), default=0.0)
        return self._reach[name]


class ColumnIndex:
    """Columns sorted by shape and smallest number, so that few are compared with each gold column."""

    def __init__(self, outlines: Sequence[ColumnProfile]) -> None:
        self._outlines = outlines
        self._shelves: dict[tuple[int, int], list[tuple[float, int]]] = {}
        for k, outline in enumerate(outlines):
            self._shelves.setdefault(outline.shape, []).append((outline.line[0] if outline.line else 0.0, k))
        for shelf in self._shelves.values():
            shelf.sort()
        self._reach: dict[tuple[tuple[int, int], Tolerance, int | None], float] = {}

    def near(self, gold: ColumnProfile, tolerance: Tolerance) -> list[int]:
        """The columns whose smallest number is near gold's; they include all that can be paired with it."""
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
    """The value of a finite number as a float, None for every other cell."""
    return float_of(cell) if isinstance(cell, int | Number) else None


PerColumn = float | Mapping[str, float] | None

# Names that engines and data frames generate: `f0_`, `_c1`, `col2`, `?column?`, `Unnamed: 3`, digits; folded as below.
_MADE: Final = re.compile(r"|\?column\?|(?:[cfvx]|col|column|field|var|expr\$?|unnamed:|\$)?[0-9]+")
_BETWEEN: Final = re.compile(r"[\s_-]")


def labels(header: Sequence[str], other: Sequence[str]) -> list[str | None]:
    """The folded name of each column if it names one column of either table and is not generated, else None.

    Two columns with different labels contradict each other: each name belongs to another column of the other table.
    """
    mine, theirs = list(map(_folded, header)), list(map(_folded, other))
    n_mine, n_theirs = Counter(mine), Counter(theirs)
    return [name if n_mine[name] == n_theirs[name] == 1 and not _MADE.fullmatch(name) else None for name in mine]


def _folded(name: str) -> str:
    return name.casefold() if name.isalnum() else _BETWEEN.sub("", name.casefold())


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How strictly a check compares cells: its own tolerances (for all columns, or by header or position), whether a number may be a
    percentage, and whether labels that contradict the values count.
    """

    abs_tol: PerColumn = None
    rel_tol: PerColumn = None
    percentage: bool = False
    heeds_labels: bool = True

    def tolerance(self, table: AnyTable, index: int) -> Tolerance:
        """The tolerance of a gold column."""
        absolute, relative = _of_column(self.abs_tol, table, index), _of_column(self.rel_tol, table, index)
        if absolute is None and relative is None:
            return Tolerance()
        return Tolerance(rel=relative or 0.0, abs=absolute or 0.0, own=True)


PLAIN_TERMS: Final = Terms()


class Cells(Sequence[Cell]):
    """The cells of a column, each parsed on first access and at most once; equal texts share one object."""

    def __init__(self, written: Sequence[Any], read: Callable[[Any], Cell]) -> None:
        self._written, self.read = written, read
        self._all: list[Cell] | None = None
        self._outline: ColumnProfile | None = None

    def __len__(self) -> int:
        return len(self._written)

    def __iter__(self) -> Iterator[Cell]:
        if self._all is None:
            self._all = self._read_all(self._written)
        return iter(self._all)

    @overload
    def __getitem__(self, at: int) -> Cell: ...
    @overload
    def __getitem__(self, at: slice) -> list[Cell]: ...
    def __getitem__(self, at: int | slice) -> Cell | list[Cell]:
        if self._all is not None:
            return self._all[at]
        return self._read_all(self._written[at]) if isinstance(at, slice) else self.read(self._written[at])

    def outline(self) -> ColumnProfile:
        """The profile that pairing needs; cached if the column caches derived values."""
        if not isinstance(self._written, CachedColumn):
            return ColumnProfile(self)
        self._outline = self._outline or ColumnProfile(self)
        return self._outline

    def _read_all(self, written: Sequence[Any]) -> list[Cell]:
        if self.read is read_native:
            return list(map(self.read, written))
        known: dict[Any, Cell] = {}
        return [known[text] if text in known else known.setdefault(text, self.read(text)) for text in written]


def read_columns(table: Table, chosen: Sequence[int], terms: Terms = PLAIN_TERMS, *, labelled: Sequence[str | None] = ()) -> list[Column]:
    """The chosen columns as cells that are parsed on first access."""
    read = partial(read_text, percentage=True) if terms.percentage else read_text
    found = []
    for index in chosen:
        own = read if table.types is None else read_native
        cells = _cells_of(table.columns[index], own, terms.percentage)
        column = Column(
            cells=cells,
            name=table.header[index] if index < len(table.header) else "",
            position=index,
            tolerance=terms.tolerance(table, index),
            label=labelled[index] if index < len(labelled) else None,
            read=own,
            has_percent=terms.percentage and any(isinstance(cell, Percent) for cell in cells),
        )
        found.append(column)
    return found


def _cells_of(written: Sequence[Any], read: Callable[[Any], Cell], percentage: bool) -> Cells:
    if not isinstance(written, CachedColumn):
        return Cells(written, read)
    found: Cells = written.known.setdefault(percentage, Cells(written, read))
    return found


def _of_column(value: PerColumn, table: AnyTable, index: int) -> float | None:
    """A tolerance given for the whole check, or per column by header or by position (as text, from 0)."""
    if value is None or isinstance(value, int | float):
        return value
    header = table.header[index] if index < len(table.header) else ""
    return value.get(header, value.get(str(index)))
