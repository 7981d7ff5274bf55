"""Cells and columns under the strict rules: parsed cells and their equality, columns with tolerance and label, pairs of columns.

The equality of two cells is `equal`; `key` gives a hashable form for the cells whose equality is plain (everything but decimals).
- null words in any case are null; null equals only null.
- `true` and `false` are the integers 1 and 0.
- numbers are equal by the rules of `numbers`. Groups of thousands (by commas, apostrophes, spaces) and one currency sign are removed,
  brackets and dashes before a number are a minus; 007 is text. `%` is text, unless the check says `percentage`: then a cell may be a
  percent figure or a share, with one reading for the whole column (`in_reading`).
- infinities equal themselves. ISO dates and timestamps are instants (naive = UTC). Text is stripped and NFC; its case counts.

Each value derived from a column is computed at most once, because matching compares the same columns many times. Two columns are paired as
multisets: equal cells share a key, and numbers within a tolerance of each other form a group with one key.
"""

import heapq
import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, Final, Literal, NamedTuple, cast

from evalsuite.compare.bipartite_matching import bipartite_matching
from evalsuite.compare.columns import Column, with_columns
from evalsuite.compare.dates import nanoseconds
from evalsuite.compare.number_columns import (
    MOST_DECIMALS,
    WHOLE,
    Numbers,
    fewest_decimals,
    in_order,
    is_surely_text,
    numbers_of,
    plain_words,
    ranks_of,
)
from evalsuite.compare.numbers import (
    FLOAT_ERROR,
    SLACK,
    ZERO_TOL,
    Number,
    Tolerance,
    float_of,
    numbers_equal,
    reach,
)
from evalsuite.compare.packed_text import text_block
from evalsuite.compare.values import Cell, Percent, number_cell, plain_amounts, read_cell, text_cell
from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.import_ref import np
from evalsuite.core.scores import Table

Reading = Literal["figure", "share"]
# The decimals of a number beyond floats, whose value is NaN like that of a text.
HUGE: Final = -2
_DAY: Final = 86_400 * 10**9
_READ_PERCENT: Final = partial(read_cell, percentage=True)


def read_native(value: Any) -> Cell:
    """Parse a database value: its type decides, so the text '1' is not the number 1."""
    if value is None or isinstance(value, int):
        return None if value is None else int(value)
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return ("inf", value) if math.isinf(value) else number_cell(Decimal(repr(value)))
    if isinstance(value, Decimal):
        if not value.is_finite():
            return ("inf", float(value))
        # A DECIMAL without decimals is written like an integer.
        return int(value) if value.as_tuple().exponent == 0 else number_cell(value)
    if isinstance(value, str):
        return text_cell(value)
    if isinstance(value, datetime):
        return ("instant", nanoseconds(value))
    if isinstance(value, date):
        return ("instant", nanoseconds(datetime(value.year, value.month, value.day)))
    # Times, intervals, blobs, lists and structs are compared as values of their type, recursively, in a hashable form.
    if isinstance(value, dict):
        return ("struct", tuple((str(k), key(read_native(v))) for k, v in sorted(value.items(), key=lambda item: str(item[0]))))
    if isinstance(value, list | tuple):
        return ("list", tuple(key(read_native(item)) for item in value))
    if isinstance(value, bytes | bytearray | memoryview):
        return ("bytes", bytes(value))
    if isinstance(value, time | timedelta):
        return (type(value).__name__, value)
    return (type(value).__name__, str(value))


def key(cell: Cell) -> Any:
    """A hashable value that is equal for cells that are plainly equal; a whole decimal has the key of its integer."""
    if isinstance(cell, Number):
        return int(cell.exact) if cell.exact == cell.exact.to_integral_value() else ("decimal", cell.exact)
    return cell


def equal(gold: Cell, predicted: Cell, tolerance: Tolerance) -> bool:
    """Whether the predicted cell equals the gold cell under the rules of this module."""
    if isinstance(gold, int | Number) and isinstance(predicted, int | Number):
        return numbers_equal(gold, predicted, tolerance)
    return bool(gold == predicted) and type(gold) is type(predicted)


@dataclass(frozen=True, slots=True)
class PercentReader:
    """Parses cells like `read`, with all percent signs in one reading."""

    read: Callable[[Any], Cell]
    reading: Reading

    def __call__(self, written: Any) -> Cell:
        cell = self.read(written)
        return getattr(cell, self.reading) if isinstance(cell, Percent) else cell


def show(cell: Cell) -> str:
    """The text of a cell in a reason."""
    if cell is None:
        return "null"
    if isinstance(cell, Number):
        return str(cell.exact)
    if isinstance(cell, Percent):
        return f"{show(cell.figure)}%"
    if isinstance(cell, int):
        return str(cell) if cell.bit_length() < 1000 else "a huge integer"
    kind, value = cell[0], cell[1]
    if kind == "instant":
        try:
            return str(datetime(1970, 1, 1) + timedelta(microseconds=value // 1000))
        except OverflowError:  # an offset moved it out of the years 1 to 9999
            return f"{value} ns"
    if kind == "list":
        return f"[{', '.join(map(show, value))}]"
    if kind == "struct":
        return "{" + ", ".join(f"{name}: {show(item)}" for name, item in value) + "}"
    return repr(value) if kind == "text" else str(value)


def in_readings(gold: "StrictColumn", predicted: "StrictColumn") -> "list[tuple[StrictColumn, StrictColumn]]":
    """A gold and a predicted column in each reading of their percent signs: as figures, then as shares; one if they have none."""
    if not (gold.has_percent or predicted.has_percent):
        return [(gold, predicted)]
    return [(gold.in_reading(reading), predicted.in_reading(reading)) for reading in ("figure", "share")]


Verdict = Literal["equal", "labels", "no column", "not injective", "rows", "shape", "limit"]


class Sketch(NamedTuple):
    """What columns that can be paired share: how many cells are no numbers, the sum of their hashes, and, nearly, the numbers at some
    ranks in ascending order. `decimals` are the fewest that a number shows.
    """

    n_others: int
    others: int
    ranks: "np.ndarray[Any, Any]"
    decimals: int


class CellArrays(NamedTuple):
    """The cells that are numbers, NaN elsewhere; a number for each other cell, equal for equal cells; the hashes used, if any."""

    numbers: Numbers
    names: "np.ndarray[Any, Any]"
    hashes: "np.ndarray[Any, Any] | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictColumn:
    """A column as the strict rules read its cells; `name` is its header, `position` its index in its own table (from 0), `label` its folded
    name if that identifies it.

    `has_percent` is true if cells contain percent signs that can be read in two ways; `read` parses a written cell.
    """

    source: Column
    name: str
    position: int
    tolerance: Tolerance = field(default_factory=Tolerance)
    label: str | None = None
    has_percent: bool = False
    read: Callable[[Any], Cell] = read_cell

    @property
    def cells(self) -> list[Cell]:
        """All cells."""
        return self.source.once(("cells", self.read), lambda: self._read_all(self.source))

    @property
    def head(self) -> list[Cell]:
        """The cells in the first rows."""
        return self.source.once(("head", self.read), lambda: list(map(self.read, self.source.head)))

    def cells_at(self, rows: Any) -> list[Cell]:
        """The cells in some rows (ascending, from 0)."""
        return self._read_all(self.source.cells(rows))

    def cell(self, row: int) -> Cell:
        """The cell in a row."""
        return self.cells_at([row])[0]

    def _read_all(self, written: Iterable[Any]) -> list[Cell]:
        """Parsed cells; equal texts share one object."""
        if self.read is read_native:
            return list(map(self.read, written))
        by_text: dict[Any, Cell] = {}
        return [by_text[text] if text in by_text else by_text.setdefault(text, self.read(text)) for text in written]

    def contradicts(self, other: "StrictColumn") -> bool:
        """Whether the labels show that a gold and a predicted column are different columns."""
        return None not in (self.label, other.label) and self.label != other.label

    def in_reading(self, reading: Reading) -> "StrictColumn":
        """The column with all percent signs read in one way."""
        return replace(self, read=PercentReader(self.read, reading), has_percent=False)

    @property
    def kind(self) -> str:
        """`plain` for a column that contains only plain numbers, `text` if its first cells show that it does not."""

        def find() -> str:
            if self.source.summary.are_plain:
                return "plain"
            may_be_text = (
                cell for text, cell in zip(self.source.head, self.head, strict=True) if not isinstance(text, str) or is_surely_text(text)
            )
            return "text" if any(cell is not None and place(cell) is None for cell in may_be_text) else ""

        return self.source.once(("kind", self.read), find)

    def sketch(self) -> Sketch:
        """What it shares with the columns that it can be paired with."""

        def compute() -> Sketch:
            summary = self.source.summary
            if summary.are_plain:
                # Its ranks are kept, even if its numbers were released.
                empty = self.source.arrays.keys.of_texts([""]) * np.uint64(summary.n_empty)
                return Sketch(summary.n_empty, int(empty[0]), self.source.ranks(), summary.decimals)
            numbers, names, _ = self.arrays()
            ordered, is_other = in_order(numbers.values.copy()), np.isnan(numbers.values)
            others = int(names[is_other].sum(dtype=np.uint64))
            return Sketch(len(numbers.values) - len(ordered), others, ranks_of(ordered, len(numbers.values)), fewest_decimals(numbers))

        return self.source.array(("sketch", self.read, self.source.arrays.keys.are_numbers), compute)

    def arrays(self) -> CellArrays:
        """The cells as arrays."""
        return self.source.array(("cells", self.read, self.source.arrays.keys.are_numbers), self._compute_arrays)

    def _compute_arrays(self) -> CellArrays:
        source, keys = self.source, self.source.arrays.keys
        numbers = source.numbers()
        if numbers is not None and numbers.digits is not None:
            return CellArrays(numbers, np.broadcast_to(keys.of_texts([""]), len(numbers.values)))
        hashes = source.hashes()
        names, values, digits = hashes.copy(), np.full(len(hashes), np.nan), np.zeros(len(hashes), np.int16)
        odd = np.arange(len(hashes)) if source.kind else np.flatnonzero(~source.plain_words())
        distinct, places = np.unique(names[odd], return_inverse=True)
        first = np.empty(len(distinct), np.int64)
        first[places[::-1]] = np.arange(len(odd))[::-1]
        ascending = np.argsort(first)
        read = self._read_distinct(source.cells(odd[first[ascending]]))
        places = np.argsort(ascending)[places]
        values[odd], digits[odd], names[odd] = (part[places] for part in read)
        return CellArrays(Numbers(values, digits), names, hashes)

    def _read_distinct(self, written: Sequence[Any]) -> "tuple[np.ndarray[Any, Any], ...]":
        """(Numbers, decimals, names) of some cells as written: plain words and amounts of money all at once, the others one by one."""
        n, keys = len(written), self.source.arrays.keys
        values, digits, names, left = np.full(n, np.nan), np.full(n, WHOLE, np.int16), np.zeros(n, np.uint64), np.arange(n)
        if not self.source.kind and n:
            # An empty cell has no first byte.
            texts = [text.strip() or " " for text in written]
            names, left = keys.of_texts(texts), np.flatnonzero(~plain_words(text_block(texts))[:, 0])
            amounts = plain_amounts([texts[at] for at in left.tolist()])
            numbers = numbers_of(text_block(list(filter(None, amounts))), 0)
            if numbers is not None and numbers.digits is not None:
                is_amount = np.array([amount is not None for amount in amounts], bool)
                values[left[is_amount]], digits[left[is_amount]] = numbers.values, numbers.digits
                left = left[~is_amount]
        if len(left):
            floats, decimals, cells = zip(*(_number_of(self.read(written[at])) for at in left.tolist()), strict=True)
            values[left], digits[left] = floats, decimals
            names[left] = keys.of_texts([_canonical(cell, is_value=bool(self.source.kind)) for cell in cells])
        return values, digits, names


def _number_of(cell: Cell) -> tuple[float, int, Cell]:
    """(The number of a cell or NaN, its decimals as `Numbers.digits` gives them, the cell if it is no number.)

    A number that is too small for a float shows 0 decimals, which promises nothing.
    """
    value = place(cell)
    if value is None:
        return math.nan, HUGE if isinstance(cell, int | Number) else WHOLE, cell
    if not isinstance(cell, Number):
        return value, WHOLE, None
    return value, 0 if cell.value == 0 and cell.exact else min(cell.decimals, MOST_DECIMALS), None


def _canonical(cell: Cell, *, is_value: bool) -> str:
    """A text for a cell that is not a number: its own for a text, and for a date the form that `plain_words` accepts.

    In a database (`is_value`) no text is a date.
    """
    if cell is None:
        return ""
    kind, value = cell if isinstance(cell, tuple) else ("int", cell)
    if kind == "text" and not is_value:
        return str(value)
    if kind == "instant" and value % _DAY == 0 and (date := show(cell))[10:] == " 00:00:00":
        return date[:10]
    return f"\0{kind} {value}"


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


def likely_columns(gold: Sequence[StrictColumn], predicted: Sequence[StrictColumn]) -> list[int] | None:
    """For each gold column the predicted column of the same name; for repeated or missing names the one in the same place. None if already
    taken.
    """
    by_name: dict[str, list[int]] = {}
    for k, column in enumerate(predicted):
        by_name.setdefault(column.name, []).append(k)
    guesses: dict[int, None] = {}
    for column in gold:
        candidates = [k for k in by_name.get(column.name, ()) if k not in guesses]
        k = min(candidates, key=lambda k: (predicted[k].position != column.position, k)) if candidates else column.position
        if k >= len(predicted) or k in guesses:
            return None
        guesses[k] = None
    return list(guesses)


def in_likely_order(gold: StrictColumn, predicted: Sequence[StrictColumn], chosen: Iterable[int]) -> list[int]:
    """Columns with an equal header first, then the one in the same place, then the rest in order."""
    return sorted(chosen, key=lambda k: (predicted[k].name != gold.name, predicted[k].position != gold.position, k))


def verdict_of_candidates(candidates: Sequence[Sequence[int]], otherwise: Verdict) -> Matching:
    """The verdict if the candidates alone decide it, else `otherwise`."""
    assignment = tuple(bipartite_matching(candidates))
    verdict: Verdict = "no column" if not all(candidates) else "not injective" if None in assignment else otherwise
    return Matching(verdict=verdict, candidates=tuple(map(tuple, candidates)), assignment=assignment)


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
    gold_names, predicted_names = list(map(_fold_name, header)), list(map(_fold_name, other))
    n_gold, n_predicted = Counter(gold_names), Counter(predicted_names)
    return [name if n_gold[name] == n_predicted[name] == 1 and not _MADE.fullmatch(name) else None for name in gold_names]


def _fold_name(name: str) -> str:
    return _BETWEEN.sub("", name.casefold())


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How strictly a check compares cells: its own tolerances (for all columns, or by header or position), whether a number may be a
    percentage, and whether labels that contradict the values count.
    """

    abs_tol: PerColumn = None
    rel_tol: PerColumn = None
    percentage: bool = False
    heeds_labels: bool = True

    def tolerance(self, table: Table, index: int) -> Tolerance:
        """The tolerance of a gold column."""
        absolute, relative = _of_column(self.abs_tol, table, index), _of_column(self.rel_tol, table, index)
        if absolute is None and relative is None:
            return Tolerance()
        return Tolerance(rel=relative or 0.0, abs=absolute or 0.0, own=True)


PLAIN_TERMS: Final = Terms()


def read_columns(
    table: Table, chosen: Sequence[int], terms: Terms = PLAIN_TERMS, *, labelled: Sequence[str | None] = ()
) -> list[StrictColumn]:
    """The chosen columns, with cells that are parsed when they are asked for."""
    read = (_READ_PERCENT if terms.percentage else read_cell) if table.types is None else read_native
    sources = table.columns if isinstance(next(iter(table.columns), None), Column) else with_columns(table).columns
    columns = []
    for index in chosen:
        column = StrictColumn(
            source=cast("Column", sources[index]),
            name=table.header[index] if index < len(table.header) else "",
            position=index,
            tolerance=terms.tolerance(table, index),
            label=labelled[index] if index < len(labelled) else None,
            read=read,
        )
        has_percent = terms.percentage and any(isinstance(cell, Percent) for cell in column.cells)
        columns.append(replace(column, has_percent=True) if has_percent else column)
    return columns


def _of_column(value: PerColumn, table: Table, index: int) -> float | None:
    """A tolerance given for the whole check, or per column by header or by position (as text, from 0)."""
    if value is None or isinstance(value, int | float):
        return value
    header = table.header[index] if index < len(table.header) else ""
    return value.get(header, value.get(str(index)))


# A group with more pairs of distinct cells than this is marked incomplete without comparing them: the flow decides.
_PAIRS_LOOKED_AT: Final = 2_000
# Numbers that show more decimals than this are searched as if they showed this many: half of that last place is negligible.
_MOST_DECIMALS: Final = 12


def can_pair(gold: Sequence[Cell], predicted: Sequence[Cell], tolerance: Tolerance) -> bool:
    """Whether numbers of two columns may be paired one to one: a necessary condition, because only `equal` decides rows."""
    bags = Counter(gold), Counter(predicted)
    coarsest = min((cell.decimals for cell in bags[0] if isinstance(cell, Number)), default=None)
    # For each predicted number the widest interval (low, high) of gold numbers that it may equal.
    intervals = {}
    for cell in bags[1]:
        if isinstance(cell, int | Number) and (span := reach(cell, tolerance, coarsest)) is not None:
            value = _place_of(cell)
            intervals[cell] = (value - span, value + span)
    names, clusters = _clusters(bags[0], intervals)
    left, right = (Counter(class_of.get(cell, cell) for cell in cells) for class_of, cells in zip(names, (gold, predicted), strict=True))
    if left != right:
        return False
    for points, accepting in clusters:
        if len(points) * len(accepting) <= _PAIRS_LOOKED_AT and not _all_have_one(points, accepting, tolerance):
            return False
        if not _greedy(points, [(*intervals[p], bags[1][p]) for p in accepting], bags[0]):
            return False
    return True


def _clusters(
    gold: Counter[Cell], intervals: dict[Cell, tuple[float, float]]
) -> tuple[tuple[dict[Cell, Any], dict[Cell, Any]], list[tuple[list[Cell], list[Cell]]]]:
    """Group names for the numbers of either side, and each group's distinct gold and predicted cells.

    A number that no chain reaches from the other side is a group of its own, which the multisets will reject.
    """
    events: list[tuple[float, float, bool, Cell]] = [(low, high, False, cell) for cell, (low, high) in intervals.items()]
    events += [(value, value, True, cell) for cell in gold if (value := place(cell)) is not None]
    events.sort(key=lambda event: event[0])
    names: tuple[dict[Cell, Any], dict[Cell, Any]] = ({}, {})
    clusters: list[tuple[list[Cell], list[Cell]]] = []
    reach = float("-inf")
    for low, high, is_gold, cell in events:
        if not clusters or low > reach:
            clusters.append(([], []))
        reach = max(reach, high)
        clusters[-1][0 if is_gold else 1].append(cell)
        names[0 if is_gold else 1][cell] = ("cluster", len(clusters))
    return names, clusters


def _all_have_one(points: Sequence[Cell], accepting: Sequence[Cell], tolerance: Tolerance) -> bool:
    """Whether each gold cell of a group equals some predicted one, and the reverse."""
    pairs = [[equal(point, cell, tolerance) for cell in accepting] for point in points]
    return all(map(any, pairs)) and all(map(any, zip(*pairs, strict=True)))


def all_pairs_equal(points: Sequence[Cell], accepting: Sequence[Cell], tolerance: Tolerance) -> bool:
    """Whether every gold cell of a group equals every predicted one; false for too many pairs, whose rows are compared then."""
    return len(points) * len(accepting) <= _PAIRS_LOOKED_AT and all(equal(g, p, tolerance) for g in points for p in accepting)


def _place_of(cell: Cell) -> float:
    return place(cell) or 0.0


def _greedy(points: Sequence[Cell], accepting: Sequence[tuple[float, float, int]], bag: Counter[Cell]) -> bool:
    """Whether the points can be covered by as many intervals (low, high, how often): always use the open one with the earliest end.

    A necessary condition only, because the intervals are the widest that a prediction may accept; `equal` decides rows.
    """
    waiting = sorted(accepting, key=lambda item: item[0])
    places = sorted((_place_of(g), bag[g]) for g in points)
    heap: list[list[float]] = []
    at = 0
    for value, needed in places:
        while at < len(waiting) and waiting[at][0] <= value:
            heapq.heappush(heap, [waiting[at][1], waiting[at][2]])
            at += 1
        if heap and heap[0][0] < value:
            return False
        while needed:
            if not heap:
                return False
            used = min(needed, int(heap[0][1]))
            needed -= used
            heap[0][1] -= used
            if heap[0][1] == 0:
                heapq.heappop(heap)
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Predicted numbers in ascending order, for each number of decimals shown: their indices and their values."""

    decimals: Sequence[int]
    orders: Sequence[Sequence[int]]
    lines: Sequence[Sequence[float]]
    tolerance: Tolerance

    @classmethod
    def from_numbers(cls, predicted: Sequence[Cell], tolerance: Tolerance) -> "Places":
        """The places of some finite numbers."""
        groups: dict[int, list[int]] = {}
        for k, cell in enumerate(predicted):
            groups.setdefault(0 if tolerance.own else _n_decimals(cell), []).append(k)
        places = list(map(_place_of, predicted))
        orders = [sorted(group, key=lambda k: places[k]) for group in groups.values()]
        return cls(decimals=tuple(groups), orders=orders, lines=[[places[k] for k in order] for order in orders], tolerance=tolerance)

    def _stretches(self, gold: Cell) -> list[tuple[int, int]]:
        """The range (start, stop) of each order in which predictions are near enough to a gold number to be compared."""
        value, ranges = _place_of(gold), []
        for decimals, line in zip(self.decimals, self.lines, strict=True):
            near = _nearness(gold, decimals, self.tolerance)
            ranges.append((bisect_left(line, value - near), bisect_right(line, value + near)))
        return ranges

    def find_near(self, gold: Cell) -> list[int]:
        """The indices of the predictions that are near enough to a gold number to be compared."""
        return [k for order, (start, stop) in zip(self.orders, self._stretches(gold), strict=True) for k in order[start:stop]]

    def n_near(self, gold: Cell) -> int:
        """How many these are."""
        return sum(stop - start for start, stop in self._stretches(gold))


def places_of(gold: Sequence[Cell], predicted: Sequence[Cell], tolerance: Tolerance) -> Places | None:
    """The places of predicted numbers, to look up gold numbers; None if a cell of either side is not a number."""
    if any(place(cell) is None for side in (predicted, gold) for cell in side):
        return None
    return Places.from_numbers(predicted, tolerance)


def _n_decimals(cell: Cell) -> int:
    return min(cell.decimals, _MOST_DECIMALS) if isinstance(cell, Number) else 0


def _nearness(gold: Cell, decimals: int, tolerance: Tolerance) -> float:
    """How far a prediction that shows so many decimals may be from a gold number at most."""
    if tolerance.own:
        size = abs(_place_of(gold))
        return max(size * tolerance.rel, tolerance.abs, ZERO_TOL) * SLACK + FLOAT_ERROR * size
    # Gold reaches for a prediction as a prediction reaches for gold; a rounding shows the decimals of the coarser side.
    coarsest = None if isinstance(gold, int) else decimals
    distance = reach(gold, tolerance, coarsest)
    assert distance is not None
    return distance * SLACK
