"""Strict comparison of rows in any order: pair off rows that are written alike, then search for an assignment of columns and rows.

Packed tables: each pair of columns is turned into `Codes`, one number for each cell, and rows into combinations of codes. Cells with equal
codes are equal, but for *loose* groups of near numbers, whose rows are compared cell by cell. As soon as the columns so far tell all rows
apart, the remaining columns are compared row by row.

The search assigns columns one by one, fewest candidates first, and counts its work. After each choice rows are split into classes by their
keys so far, and the choice is dropped if the two sides' multisets of classes differ. At the end, if a group of near numbers contained cells
that are not all equal to each other, a maximum flow between the rows of each class decides.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evalsuite.compare.bipartite_matching import saturating_flow
from evalsuite.compare.number_columns import SAFE_WHOLE, WHOLE, Numbers, Summary, in_parts, is_surely_text, surely_strictly_equal
from evalsuite.compare.numbers import FEWEST_DECIMALS, NOISE_BEYOND, NOISE_FLOOR, NOISE_REL, Number, Tolerance
from evalsuite.compare.strict_columns import (
    Column,
    ColumnPair,
    ColumnProfile,
    Matching,
    all_pairs_equal,
    equal,
    in_likely_order,
    key,
    likely_columns,
    matched_as,
    pair_columns,
    place,
    read_native,
    show,
    verdict_of_candidates,
    windows_of,
)
from evalsuite.compare.table_diff import TableDiff
from evalsuite.compare.table_hashes import stable_order
from evalsuite.compare.values import STARTS_OF_VALUES, WORDS_WITH_VALUE, Cell, plain_amount
from evalsuite.core.dataclasses import dataclass, replace

if TYPE_CHECKING:
    import numpy as np

# Above this many near numbers of two columns, the search cell by cell decides.
MOST_LEFT: Final = 20_000
_CHUNK: Final = 131_072
_FEW: Final = 500
_FIRST: Final = 16
_MOST_TIGHTENED: Final = 4_000
# About this many cells of columns are kept as numbers and hashes, 26 bytes each.
_HELD_CELLS: Final = 1_500_000
_NOISE: Final = 4e-15
_DAY: Final = 86_400 * 10**9
# Numbers that show more decimals count as showing this many.
_MOST_DIGITS: Final = 100
_WORDS: Final = [word.encode() for word in WORDS_WITH_VALUE]
_LONGEST_WORD: Final = 8
_DATE_LENGTH: Final = 10


def cells_of(evidence: TableDiff, side: int, column: Column, rows: Any) -> list[Cell]:
    """The cells of a column in some rows; equal texts share one object."""
    if evidence.packed is None:
        return list(column.cells)
    known: dict[str, Cell] = {}
    texts = evidence.written(side, column.position, rows)
    return [known[text] if text in known else known.setdefault(text, column.read(text)) for text in texts]


def _fewest_decimals(a: Numbers, b: Numbers) -> int:
    """The minimum number of decimals that each number of two columns shows."""
    import numpy as np

    return min(0 if side.digits is None else int(side.digits[~np.isnan(side.values)].min(initial=100)) for side in (a, b))


def widest(tolerance: Tolerance, values: Any, decimals: int = FEWEST_DECIMALS) -> Any:
    """How far two equal numbers near these values can be apart if each shows at least so many decimals; a generous upper bound."""
    import numpy as np

    size = np.abs(values) * 1.1 + 0.01
    if tolerance.own:
        share = tolerance.rel / (1 - tolerance.rel) if tolerance.rel < 1 else np.inf
        return np.maximum(np.maximum(tolerance.abs, share * size), 1e-9) * 1.001 + 1e-15 * size
    rounding = 0.5 * 10.0 ** -max(FEWEST_DECIMALS, decimals)
    noise = np.minimum(NOISE_REL * size, np.maximum(NOISE_FLOOR, NOISE_BEYOND * size))
    # Beyond 2^53 an integer may be a different one as a double.
    return (np.maximum(rounding, noise) + np.where(size >= SAFE_WHOLE, 1e-12 * size, 0) + 1e-9) * 1.001 + 1e-15 * size


def far(mine: Summary, theirs: Summary, tolerance: Tolerance) -> bool:
    """Whether the first or the last numbers of two columns cannot be equal."""
    ends = (mine.low, theirs.low), (mine.high, theirs.high)
    return any(abs(x - y) > float(widest(tolerance, max(abs(x), abs(y)))) for x, y in ends)


def apart(evidence: TableDiff, gold: Column, predicted: Column) -> bool:
    """Whether two columns of equally many numbers cannot be paired: if they can at all, then the i-th smallest with the i-th smallest."""
    import numpy as np

    places = (0, gold.position), (1, predicted.position)
    a, b = (evidence.numbers.column(*place) for place in places)
    if a is None or b is None:
        return False
    decimals = _fewest_decimals(a, b)
    sides = [ordered for place in places if (ordered := evidence.numbers.ordered(*place)) is not None]
    parts = ((np.abs(x - y), np.maximum(np.abs(x), np.abs(y))) for x, y in in_parts(*sides))
    return any(bool((distance > widest(gold.tolerance, size, decimals)).any()) for distance, size in parts)


def _may_be_values(words: Any) -> Any:
    """Whether words with digits, given by their first bytes, may be dates or amounts of money; true also for some that are text."""
    import numpy as np

    known = np.zeros(1 << 15, bool)
    # Five bits tell letters apart without their case.
    known[[sum((ord(letter) & 31) << 5 * at for at, letter in enumerate(start)) for start in STARTS_OF_VALUES]] = True
    a, b, c = (words >> np.uint64(8 * at) & np.uint64(31) for at in range(3))
    return known[a | b << np.uint64(5) | c << np.uint64(10)]


CELL_CAP: Final = 5_000_000
EDGE_CAP: Final = 3_000_000
FLOW_CAP: Final = 10_000_000
# The approximate work per cell for grouping rows, pairing equal ones and finding windows.
_LOOKS_AT_END: Final = 4

Rows = Counter[tuple[Cell, ...]]


class CapReachedError(Exception):
    """The counted work reached its limit."""


@dataclass(slots=True)
class Work:
    """Counted work: compared cells (`free` of them beyond the limit), edges between rows, edges visited by flows, assignments tried."""

    free: int = 0
    cells: int = 0
    edges: int = 0
    walked: int = 0
    assignments: int = 0

    def look(self, n: int) -> None:
        """Count n cells; raises `CapReachedError` above the limit."""
        self.cells += n
        if self.cells > CELL_CAP + self.free:
            raise CapReachedError

    def connect(self, n: int) -> None:
        """Count n possible edges; raises `CapReachedError` above the limit."""
        self.edges += n
        if self.edges > EDGE_CAP:
            raise CapReachedError

    def walk(self, n: int) -> None:
        """Count n edges that a flow visited; raises `CapReachedError` above the limit."""
        self.walked += n
        if self.walked > FLOW_CAP:
            raise CapReachedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """A partition of the rows: the class of each gold and of each predicted row, n classes in all, equally large on both sides."""

    gold: list[int]
    predicted: list[int]
    n: int

    def split(self, pair: ColumnPair) -> "Classes | None":
        """The classes split by the pair's keys, or None if the multisets of classes differ."""
        names: dict[tuple[int, Any], int] = {}
        gold = [names.setdefault(item, len(names)) for item in zip(self.gold, pair.gold_keys, strict=True)]
        n_names = len(names)
        predicted = [names.setdefault(item, len(names)) for item in zip(self.predicted, pair.predicted_keys, strict=True)]
        if len(names) != n_names or Counter(gold) != Counter(predicted):
            return None
        return self if n_names == self.n else Classes(gold=gold, predicted=predicted, n=n_names)


class RowSearch:
    """Depth-first search over assignments. `options[i]` contains the predicted columns that gold column i may take, in the order of trying.

    `classes` gives for each row the class of rows with which it may change places; `twin[k]` is equal for predicted columns with identical
    cells, of which only one needs to be tried.
    """

    def __init__(
        self,
        options: Sequence[Mapping[int, ColumnPair]],
        *,
        classes: Sequence[int],
        tolerances: Sequence[Tolerance],
        twin: Mapping[int, int],
        work: Work,
    ) -> None:
        self.options, self.classes, self.tolerances, self.twin, self.work = options, list(classes), tolerances, twin, work
        self.order = sorted(range(len(options)), key=lambda i: len(options[i]))
        self._widths: dict[tuple[int, int], int] = {}

    def run(self) -> tuple[int, ...] | None:
        """The predicted column of each gold column, or None if no assignment makes the rows agree. Raises `CapReachedError`."""
        start = Classes(gold=self.classes, predicted=self.classes, n=len(set(self.classes)))
        levels = [self._steps((), start)]
        while levels:
            step = next(levels[-1], None)
            if step is None:
                levels.pop()
                continue
            chosen, classes = step
            if len(chosen) < len(self.order):
                levels.append(self._steps(chosen, classes))
                continue
            self.work.assignments += 1
            assignment = dict(zip(self.order, chosen, strict=True))
            if self._rows_agree(assignment, classes):
                return tuple(assignment[i] for i in range(len(self.options)))
        return None

    def _steps(self, chosen: tuple[int, ...], classes: Classes) -> Iterator[tuple[tuple[int, ...], Classes]]:
        """The choices for the next column that keep the multisets of classes equal."""
        tried: set[int] = set()
        for k, pair in self.options[self.order[len(chosen)]].items():
            if k in chosen or self.twin[k] in tried:
                continue
            tried.add(self.twin[k])
            self.work.look(len(classes.gold))
            refined = classes.split(pair)
            if refined is not None:
                yield (*chosen, k), refined
            elif len(chosen) + 1 == len(self.order):
                self.work.assignments += 1

    def _rows_agree(self, assignment: Mapping[int, int], classes: Classes) -> bool:
        """Whether the rows of every class can be paired one to one; the multisets of classes are known to be equal."""
        loose = [i for i in assignment if not self.options[i][assignment[i]].complete]
        if not loose:
            return True
        self.work.look(_LOOKS_AT_END * len(loose) * len(classes.gold))
        loose.sort(key=lambda i: self._width(i, assignment[i]))
        pairs = [self.options[i][assignment[i]] for i in loose]
        gold_rows = _grouped(classes.gold, [pair.gold.cells for pair in pairs])
        predicted_rows = _grouped(classes.predicted, [pair.predicted.cells for pair in pairs])
        tolerances = [self.tolerances[i] for i in loose]
        return all(class_agrees(rows, predicted_rows[name], tolerances, self.work) for name, rows in gold_rows.items())

    def _width(self, i: int, k: int) -> int:
        """How many predicted cells are near enough to a gold cell to be compared, summed over the distinct cells of a pair."""
        if (i, k) not in self._widths:
            pair = self.options[i][k]
            windows = windows_of(list(pair.gold.distinct), list(pair.predicted.distinct), self.tolerances[i])
            self._widths[i, k] = windows.width if windows is not None else len(pair.gold.cells) ** 2
        return self._widths[i, k]


def class_agrees(gold: Rows, predicted: Rows, tolerances: Sequence[Tolerance], work: Work) -> bool:
    """Whether equally many rows can be paired one to one. Plainly equal rows are paired off first.

    That can only confirm a match, not refute it: {0, 1} and {1, 2} agree at tolerance 1.
    """
    gold_left, predicted_left = _without_equal_rows(gold, predicted)
    if not gold_left or _flows(gold_left, predicted_left, tolerances, work):
        return True
    return gold_left.total() < gold.total() and _flows(gold, predicted, tolerances, work)


def _flows(gold: Rows, predicted: Rows, tolerances: Sequence[Tolerance], work: Work) -> bool:
    gold_rows, predicted_rows = list(gold), list(predicted)
    windows = windows_of([row[0] for row in gold_rows], [row[0] for row in predicted_rows], tolerances[0])
    edges: list[list[int]] = []
    for row, g in enumerate(gold_rows):
        window = windows[row] if windows is not None else range(len(predicted_rows))
        work.connect(len(window))
        edges.append([k for k in window if all(map(equal, g, predicted_rows[k], tolerances))])
        if not edges[-1]:
            return False
    supply, demand = [gold[g] for g in gold_rows], [predicted[p] for p in predicted_rows]
    return saturating_flow(supply, demand, edges, work.walk)


def _grouped(classes: Sequence[int], columns: Sequence[Sequence[Cell]]) -> dict[int, Rows]:
    """For each class the distinct rows of these columns with their counts."""
    groups: dict[int, Rows] = {}
    for name, row in zip(classes, zip(*columns, strict=True), strict=True):
        groups.setdefault(name, Counter())[row] += 1
    return groups


def _without_equal_rows(gold: Rows, predicted: Rows) -> tuple[Rows, Rows]:
    """The rows of both sides that remain when rows with equal keys are paired off."""
    by_key: dict[tuple[Any, ...], list[tuple[Cell, ...]]] = {}
    for row in predicted:
        by_key.setdefault(tuple(map(key, row)), []).append(row)
    gold_left, predicted_left = Counter(gold), Counter(predicted)
    for row in gold:
        partners = by_key.get(tuple(map(key, row)), [])
        while partners and gold_left[row]:
            used = min(gold_left[row], predicted_left[partners[-1]])
            gold_left[row] -= used
            predicted_left[partners[-1]] -= used
            if not predicted_left[partners[-1]]:
                partners.pop()
    return +gold_left, +predicted_left


def match_bags(gold: Sequence[Column], predicted: Sequence[Column], evidence: TableDiff, heeds_labels: bool) -> Matching | None:
    """The verdict on columns of packed tables; None if percent signs, or too many near numbers, leave it to the search cell by cell."""
    if any(column.has_percent for column in (*gold, *predicted)):
        return None
    coded = CodedColumns(gold, predicted, evidence, heeds_labels)
    try:
        partners = coded.partners()
        may_fit = partners is not None and all(coded.is_alike(i, k) or not coded.fits_none(i) for i, k in enumerate(partners))
        if partners is not None and may_fit and coded.rows_agree(partners):
            return matched_as(partners)
        options = coded.options()
        found = verdict_of_candidates(options, "rows")
        if found.verdict != "rows":
            return found
        return coded.search(options, found, partners)
    except CapReachedError:
        return None


class Codes(NamedTuple):
    """A gold and a predicted column as numbers, one for each row: equal cells have equal codes.

    `is_loose[code]` is true if cells of this code may still be unequal.
    """

    gold: "np.ndarray[Any, Any]"
    predicted: "np.ndarray[Any, Any]"
    is_loose: "np.ndarray[Any, Any]"

    @property
    def have_equal_bags(self) -> bool:
        """Whether both sides have each code equally often."""
        return not self.surplus().any()

    def surplus(self) -> "np.ndarray[Any, Any]":
        """How many more gold than predicted rows have each code."""
        import numpy as np

        n = len(self.is_loose)
        return np.bincount(self.gold, minlength=n) - np.bincount(self.predicted, minlength=n)


class CodedColumns:
    """The columns of two packed tables, compared with rows in any order: each pair of columns as `Codes`, rows as combinations of codes."""

    def __init__(self, gold: Sequence[Column], predicted: Sequence[Column], evidence: TableDiff, heeds_labels: bool = False) -> None:
        self.gold, self.predicted, self.evidence, self.heeds_labels = gold, predicted, evidence, heeds_labels
        self._work = Work(free=12 * evidence.n_rows * len(gold))

    def partners(self) -> list[int] | None:
        """For each gold column a predicted one of its own: the likely one, or another that contains the same texts if the likely one
        does not.
        """
        likely = likely_columns(self.gold, self.predicted)
        if likely is not None and self._are_all_alike(likely):
            return likely
        self.evidence.hashes.compute_bags(1, [column.position for column in self.predicted])
        by_bag: dict[int, list[int]] = {}
        for k, column in enumerate(self.predicted):
            by_bag.setdefault(self.evidence.hashes.bag(1, column.position), []).append(k)
        taken: dict[int, int] = {}
        if likely is not None:
            self.compare(enumerate(likely))
        for i, column in enumerate(self.gold):
            alike = [k for k in by_bag.get(self.evidence.hashes.bag(0, column.position), ()) if k not in taken and self.may_be(i, k)]
            if alike:
                taken[in_likely_order(column, self.predicted, alike)[0]] = i
        for i in sorted(set(range(len(self.gold))) - set(taken.values())):
            free = [k for k in range(len(self.predicted)) if k not in taken and self.may_be(i, k)]
            if not free:
                return None
            wish = likely[i] if likely is not None else -1
            taken[wish if wish in free else in_likely_order(self.gold[i], self.predicted, free)[0]] = i
        partner = {i: k for k, i in taken.items()}
        return [partner[i] for i in range(len(self.gold))]

    def _are_all_alike(self, likely: Sequence[int]) -> bool:
        """Whether each gold column contains the same texts as its likely predicted column."""
        if not all(map(self.may_be, range(len(self.gold)), likely)):
            return False
        self.evidence.hashes.compute_bags(0, [column.position for column in self.gold])
        self.evidence.hashes.compute_bags(1, [self.predicted[k].position for k in likely])
        self.compare(enumerate(likely))
        return all(map(self.is_alike, range(len(self.gold)), likely))

    def may_be(self, i: int, k: int) -> bool:
        """Whether the labels, if they count, allow a predicted column to match a gold column."""
        return not (self.heeds_labels and self.gold[i].contradicts(self.predicted[k]))

    def is_alike(self, i: int, k: int) -> bool:
        """Whether a gold and a predicted column contain the same texts."""
        return self.evidence.hashes.are_alike(self.gold[i].position, self.predicted[k].position)

    def compare(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Compute `is_alike` for several pairs at once."""
        self.evidence.hashes.compare([(self.gold[i].position, self.predicted[k].position) for i, k in pairs])

    def rows_agree(self, partners: Sequence[int]) -> bool:
        """Whether the rows can be paired one to one under an assignment. Raises `CapReachedError`."""
        places = [column.position for column in self.gold], [self.predicted[k].position for k in partners]
        if not len(self.evidence.spare(*places)[0]):
            return True
        rows = RowCodes(self.evidence.n_rows)
        pairs = sorted(enumerate(partners), key=lambda pair: self._is_decimal(pair[0]))
        for at, (i, k) in enumerate(pairs):
            if rows.are_unique:
                order = rows.paired()
                return all(self.agree_in_order(*pair, *order) for pair in (*pairs[at:], *self._loose(pairs[:at])))
            if not rows.split(self.codes(i, k)):
                return False
        return self.loose_rows_agree(pairs, rows)

    def _is_decimal(self, i: int) -> bool:
        """Whether the first cells of a gold column contain decimals: such a column says least about which rows belong together."""
        return any("." in str(cell) for cell in self.evidence.heads[0].columns[self.gold[i].position])

    def _loose(self, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        return [pair for pair in pairs if self.codes(*pair).is_loose.any()]

    def agree_in_order(self, i: int, k: int, mine: Any, theirs: Any) -> bool:
        """Whether gold column i in the rows `mine` equals predicted column k in the rows `theirs`, one by one."""
        import numpy as np

        gold, predicted = self.gold[i], self.predicted[k]
        (a, names, mine_hashed), (b, others, theirs_hashed) = self._cells(0, gold), self._cells(1, predicted)
        a, b = a.at(mine), b.at(theirs)
        is_text = np.isnan(a.values), np.isnan(b.values)
        size = np.maximum(np.abs(a.values), np.abs(b.values))
        if bool(((is_text[0] != is_text[1]) | (np.abs(a.values - b.values) > widest(gold.tolerance, size))).any()):
            return False
        unsure = np.where(is_text[0], names[mine] != others[theirs], ~surely_strictly_equal(a, b, gold.tolerance))
        hashes = [hashed for hashed in (mine_hashed, theirs_hashed) if hashed is not None]
        if len(hashes) > 1 and not self.evidence.hashes.are_confirmed(hashes, gold.position, predicted.position):
            unsure[:] = True
        rows = np.flatnonzero(unsure)
        # A few rows show most differences; a part of rows in any order reads every block.
        for part in (rows[:_FEW], *(rows[start : start + _CHUNK] for start in range(_FEW, len(rows), _CHUNK))):
            order = np.argsort(theirs[part])
            found = cells_of(self.evidence, 1, predicted, theirs[part][order])
            for x, y in zip(_at_places(cells_of(self.evidence, 0, gold, mine[part]), order), found, strict=True):
                if x is not y and not equal(x, y, gold.tolerance):
                    return False
        return True

    def loose_rows_agree(self, pairs: Sequence[tuple[int, int]], rows: "RowCodes") -> bool:
        """Whether the rows of each class can be paired one to one; only classes with a loose cell need a look at the cells."""
        import numpy as np

        loose = self._loose(pairs)
        if not loose:
            return True
        is_loose = np.zeros(rows.n, bool)
        for i, k in loose:
            codes = self.codes(i, k)
            is_loose[rows.gold[codes.is_loose[codes.gold]]] = True
        mine, theirs = (np.flatnonzero(is_loose[side]) for side in (rows.gold, rows.predicted))
        self._work.look(_LOOKS_AT_END * len(loose) * len(mine))
        gold_rows = _grouped(rows.gold[mine].tolist(), [cells_of(self.evidence, 0, self.gold[i], mine) for i, _ in loose])
        predicted_rows = _grouped(
            rows.predicted[theirs].tolist(), [cells_of(self.evidence, 1, self.predicted[k], theirs) for _, k in loose]
        )
        tolerances = [self.gold[i].tolerance for i, _ in loose]
        return all(class_agrees(own, predicted_rows[name], tolerances, self._work) for name, own in gold_rows.items())

    def codes(self, i: int, k: int) -> Codes:
        """The codes of gold column i and predicted column k."""
        gold, predicted = self.gold[i], self.predicted[k]
        name = ("codes", gold.position, predicted.position, gold.tolerance)
        if name not in self.evidence.known:
            self.evidence.known[name] = self._codes(gold, predicted)
        found: Codes = self.evidence.known[name]
        return found

    def _codes(self, gold: Column, predicted: Column) -> Codes:
        import numpy as np

        sides = self._cells(0, gold), self._cells(1, predicted)
        hashes = [hashed for _, _, hashed in sides if hashed is not None]
        if len(hashes) == len(sides) and not self.evidence.hashes.are_confirmed(hashes, gold.position, predicted.position):
            raise CapReachedError
        n = len(sides[0][0].values)
        values = np.concatenate([numbers.values for numbers, _, _ in sides])
        digits = np.concatenate([numbers.digits for numbers, _, _ in sides])
        others = np.concatenate([others for _, others, _ in sides])
        found = np.empty(len(values), np.int32)
        at = np.flatnonzero(~np.isnan(values))
        groups, is_loose = number_groups(values[at], digits[at], at < n, gold.tolerance)
        found[at] = groups
        rest = np.flatnonzero(np.isnan(values))
        names, places = np.unique(others[rest], return_inverse=True)
        found[rest] = places + len(is_loose)
        codes = Codes(found[:n], found[n:], np.concatenate([is_loose, np.zeros(len(names), bool)]))
        self._tighten(codes, gold, predicted)
        return codes

    def _tighten(self, codes: Codes, gold: Column, predicted: Column) -> None:
        """Mark loose groups as tight if all their cells are equal, as long as few rows are in loose groups."""
        import numpy as np

        rows = [np.flatnonzero(codes.is_loose[own]) for own in (codes.gold, codes.predicted)]
        if not 0 < sum(map(len, rows)) <= _MOST_TIGHTENED:
            return
        groups: dict[int, tuple[dict[Cell, None], dict[Cell, None]]] = {}
        for side, (column, own) in enumerate(((gold, codes.gold), (predicted, codes.predicted))):
            for group, cell in zip(own[rows[side]].tolist(), cells_of(self.evidence, side, column, rows[side]), strict=True):
                groups.setdefault(group, ({}, {}))[side][cell] = None
        for group, (mine, theirs) in groups.items():
            codes.is_loose[group] = not all_pairs_equal(list(mine), list(theirs), gold.tolerance)

    def _numbers(self, side: int, column: Column) -> Numbers | None:
        """A column that contains only plainly written numbers and empty cells, else None."""
        found = self.evidence.numbers.column(side, column.position)
        return found if found is not None and found.digits is not None else None

    def _cells(self, side: int, column: Column) -> "tuple[Numbers, np.ndarray[Any, Any], np.ndarray[Any, Any] | None]":
        """(The cells that are numbers, NaN elsewhere; a number for each other cell, equal for equal cells; the hashes used, if any.)"""
        held, name = self.evidence.arrays.of("cells"), (side, column.position)
        if name not in held:
            for known in list(held)[: -max(1, _HELD_CELLS // self.evidence.n_rows)]:
                del held[known]
            held[name] = self._read(side, column)
        found: tuple[Numbers, np.ndarray[Any, Any], np.ndarray[Any, Any] | None] = held[name]
        return found

    def _read(self, side: int, column: Column) -> "tuple[Numbers, np.ndarray[Any, Any], np.ndarray[Any, Any] | None]":
        import numpy as np

        assert self.evidence.packed is not None
        if (numbers := self._numbers(side, column)) is not None:
            return numbers, np.broadcast_to(self._names([None]), len(numbers.values)), None
        packed, hashes = self.evidence.packed[side], self.evidence.hashes.cells(side, column.position)
        names, values, digits = hashes.copy(), np.full(len(hashes), np.nan), np.zeros(len(hashes), np.int16)
        is_value = bool(packed.kinds[column.position])
        odd = np.arange(len(hashes)) if is_value else np.flatnonzero(~self._plain(side)[:, column.position])
        distinct, places = np.unique(names[odd], return_inverse=True)
        first = np.empty(len(distinct), np.int64)
        first[places[::-1]] = np.arange(len(odd))[::-1]
        ascending = np.argsort(first)
        read: list[tuple[float, int, Cell]] = [(np.nan, WHOLE, None)] * len(first)
        for at, cell in zip(ascending.tolist(), packed.cells(column.position, odd[first[ascending]]), strict=True):
            read[at] = _read_number(cell, column)
        floats, shown, cells = zip(*read, strict=True) if read else ((), (), ())
        values[odd], digits[odd] = np.array(floats, np.float64)[places], np.array(shown, np.int16)[places]
        names[odd] = self._names(cells, is_value=is_value)[places]
        found = Numbers(values)
        found.digits = digits
        return found, names, hashes

    def _plain(self, side: int) -> "np.ndarray[Any, Any]":
        import numpy as np

        assert self.evidence.packed is not None
        if ("plain", side) not in self.evidence.known:
            self.evidence.known["plain", side] = np.concatenate([plain_words(block) for block in self.evidence.packed[side].blocks()])
        found: np.ndarray[Any, Any] = self.evidence.known["plain", side]
        return found

    def _names(self, cells: Sequence[Cell], *, is_value: bool = False) -> "np.ndarray[Any, Any]":
        """A hash for each cell that is not a number, equal for equal cells; that of a plain text in a CSV file is the hash of the text."""
        return self.evidence.hashes.of_texts([_canonical(cell, is_value) for cell in cells])

    def nearest(self, gold: Cell, rows: Any) -> "np.ndarray[Any, Any]":
        """The first of some rows of the only predicted column, and the row whose number is nearest to a gold cell."""
        import numpy as np

        value, numbers = place(gold), self._cells(1, self.predicted[0])[0].values[rows]
        if value is None or np.isnan(numbers).all():
            return rows[:_FEW]  # type: ignore[no-any-return]
        return np.union1d(rows[:_FEW], rows[[np.nanargmin(np.abs(numbers - value))]])

    def options(self) -> list[list[int]]:
        """For each gold column the predicted columns that contain its cells in some order, the likely ones first.

        Raises `CapReachedError` if a pair is undecided, unless another gold column certainly has none.
        """
        found, is_undecided = [], False
        for i, column in enumerate(self.gold):
            own = []
            for k in filter(partial(self.may_be, i), range(len(self.predicted))):
                try:
                    if self.is_alike(i, k) or self.can_pair(i, k):
                        own.append(k)
                except CapReachedError:
                    is_undecided = True
                    own.append(k)
            found.append(in_likely_order(column, self.predicted, own))
        if is_undecided and all(found):
            raise CapReachedError
        return found

    def fits_none(self, i: int) -> bool:
        """Whether a cheap test rules out every predicted column for gold column i."""
        return all(not self.may_be(i, k) or (not self.is_alike(i, k) and self.cannot_pair(i, k)) for k in range(len(self.predicted)))

    def can_pair(self, i: int, k: int) -> bool:
        """Whether two columns with different texts can be paired cell by cell. Raises `CapReachedError`."""
        import numpy as np

        if self.cannot_pair(i, k):
            return False
        (_, names, _), (numbers, head, _) = self._cells(0, self.gold[i]), self._cells(1, self.predicted[k])
        if any(not (names == name).any() for name in head[:_FIRST][np.isnan(numbers.values[:_FIRST])]):
            return False
        codes = self.codes(i, k)
        if not codes.have_equal_bags:
            return False
        if not codes.is_loose.any():
            return True
        # In ascending order most numbers equal their counterpart; only groups with others are paired cell by cell.
        gold, predicted = self.gold[i], self.predicted[k]
        sides = []
        for side, column, own in ((0, gold, codes.gold), (1, predicted, codes.predicted)):
            rows = np.flatnonzero(codes.is_loose[own])
            numbers = self._cells(side, column)[0].at(rows)
            order = np.argsort(numbers.values)
            sides.append((rows[order], numbers.at(order), own[rows[order]]))
        (mine, a, groups), (theirs, b, _) = sides
        is_open = np.zeros(len(codes.is_loose), bool)
        is_open[groups[~surely_strictly_equal(a, b, gold.tolerance)]] = True
        mine, theirs = (np.sort(rows[is_open[groups]]) for rows in (mine, theirs))
        if len(mine) > MOST_LEFT:
            raise CapReachedError
        left = cells_of(self.evidence, 0, gold, mine), cells_of(self.evidence, 1, predicted, theirs)
        return pair_columns(ColumnProfile(left[0]), ColumnProfile(left[1]), gold.tolerance) is not None

    def cannot_pair(self, i: int, k: int) -> bool:
        """Whether numbers would be paired with text, or are too far apart in ascending order."""
        name = ("apart", self.gold[i].position, self.predicted[k].position, self.gold[i].tolerance)
        if name not in self.evidence.known:
            self.evidence.known[name] = self._cannot_pair(self.gold[i], self.predicted[k])
        found: bool = self.evidence.known[name]
        return found

    def _cannot_pair(self, gold: Column, predicted: Column) -> bool:
        mine = self.evidence.numbers.summary(0, gold.position)
        if mine.are_plain and self._head_is_apart(gold, predicted):
            return True
        theirs = self.evidence.numbers.summary(1, predicted.position)
        if mine.are_numbers and theirs.are_numbers:
            return mine.n_empty != theirs.n_empty or far(mine, theirs, gold.tolerance) or apart(self.evidence, gold, predicted)
        return (mine.are_plain and self._has_text(1, predicted)) or (theirs.are_plain and self._has_text(0, gold))

    def _has_text(self, side: int, column: Column) -> bool:
        """Whether the first cells of a column show that it does not contain only numbers."""
        head = self.evidence.heads[side].columns[column.position]
        return any(
            (not isinstance(text, str) or is_surely_text(text)) and (cell := column.read(text)) is not None and place(cell) is None
            for text in head
        )

    def _head_is_apart(self, gold: Column, predicted: Column) -> bool:
        """Whether one of the first predicted cells is text or a number that is near no number of a gold column."""
        import numpy as np

        cells = list(map(predicted.read, self.evidence.heads[1].columns[predicted.position]))
        if any(cell is not None and place(cell) is None for cell in cells):
            return True
        numbers = np.array([at for cell in cells if (at := place(cell)) is not None], np.float64)
        return self.evidence.numbers.has_no_neighbour(gold.position, numbers, widest(gold.tolerance, numbers))

    def search(self, options: Sequence[Sequence[int]], otherwise: Matching, tried: Sequence[int] | None) -> Matching:
        """The first assignment under which the rows agree, else `otherwise`; `tried` is known to fail. Raises `CapReachedError`."""
        order, n_tried = sorted(range(len(options)), key=lambda i: len(options[i])), 0

        def assignments(chosen: tuple[int, ...], rows: RowCodes) -> Iterator[tuple[dict[int, int], RowCodes]]:
            if len(chosen) == len(order):
                yield dict(zip(order, chosen, strict=True)), rows
                return
            twins: list[int] = []
            for k in options[i := order[len(chosen)]]:
                if k in chosen or any(self._are_twins(k, twin) for twin in twins):
                    continue
                twins.append(k)
                self._work.look(self.evidence.n_rows)
                if (split := rows.copy()).split(self.codes(i, k)):
                    yield from assignments((*chosen, k), split)

        if tried is None or [[k] for k in tried] != list(map(list, options)):
            for assignment, rows in assignments((), RowCodes(self.evidence.n_rows)):
                n_tried += 1
                partners = tuple(assignment[i] for i in range(len(options)))
                if partners != tuple(tried or ()) and self.loose_rows_agree(list(enumerate(partners)), rows):
                    return replace(otherwise, verdict="equal", assignment=partners, n_tried=n_tried)
        return replace(otherwise, n_tried=max(1, n_tried))

    def _are_twins(self, k: int, other: int) -> bool:
        """Whether two predicted columns contain the same texts, row by row, and have the same label if labels count."""
        if self.heeds_labels and self.predicted[k].label != self.predicted[other].label:
            return False
        return self.evidence.hashes.are_twins(self.predicted[k].position, self.predicted[other].position)


class RowCodes:
    """The class of each gold and of each predicted row: rows with equal codes so far are in one class."""

    def __init__(self, n_rows: int) -> None:
        import numpy as np

        self.gold, self.predicted, self.n = np.zeros(n_rows, np.int32), np.zeros(n_rows, np.int32), 1

    def copy(self) -> "RowCodes":
        """Classes that can be split on their own."""
        found = RowCodes(0)
        found.gold, found.predicted, found.n = self.gold, self.predicted, self.n
        return found

    @property
    def are_unique(self) -> bool:
        """Whether each class is one row of each side."""
        return self.n == len(self.gold)

    def split(self, codes: Codes) -> bool:
        """Split the classes by the codes of one more column; False if the sides then have different classes."""
        import numpy as np

        n_codes, n = len(codes.is_loose), len(self.gold)
        rows = np.concatenate(
            [self.gold.astype(np.int64) * n_codes + codes.gold, self.predicted.astype(np.int64) * n_codes + codes.predicted]
        )
        names, places = np.unique(rows, return_inverse=True)
        self.gold, self.predicted, self.n = places[:n].astype(np.int32), places[n:].astype(np.int32), len(names)
        return not self.surplus().any()

    def surplus(self) -> "np.ndarray[Any, Any]":
        """How many more gold than predicted rows each class has."""
        import numpy as np

        return np.bincount(self.gold, minlength=self.n) - np.bincount(self.predicted, minlength=self.n)

    def paired(self) -> "tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]":
        """The gold rows, in their order, and the predicted row of each; for unique classes."""
        import numpy as np

        return np.arange(len(self.gold)), np.argsort(self.predicted)[self.gold]


def last_rows(groups: Any, n: Any) -> Any:
    """The last `n[group]` rows of each group, in ascending order; none where that is negative."""
    import numpy as np

    order = stable_order(groups)
    ordered = groups[order]
    from_end = np.cumsum(np.bincount(groups, minlength=len(n)))[ordered] - np.arange(len(ordered))
    return np.sort(order[from_end <= n[ordered]])


def _read_number(written: Any, column: Column) -> tuple[float, int, Cell]:
    """(The number of a cell or NaN, its decimals as `Numbers.digits` gives them, the cell if it is no number.)

    A number that is too small for a float shows 0 decimals, which promises nothing.
    """
    if column.read is not read_native and (plain := plain_amount(written)) is not None:
        point = plain.find(".")
        return float(plain), len(plain) - point - 1 if point >= 0 else WHOLE, None
    cell = column.read(written)
    value = place(cell)
    if value is None:
        return math.nan, WHOLE, cell
    if not isinstance(cell, Number):
        return value, WHOLE, None
    return value, 0 if cell.value == 0 and cell.exact else min(cell.decimals, _MOST_DIGITS), None


def _at_places(cells: Sequence[Cell], places: Any) -> list[Cell]:
    return [cells[at] for at in places.tolist()]


def number_groups(values: Any, digits: Any, is_gold: Any, tolerance: Tolerance) -> tuple[Any, Any]:
    """(The group of each number, whether each group may contain unequal numbers.) Equal numbers are always in one group.

    Groups are the chains whose gaps exceed every tolerance. A group is not loose if even its most distant numbers are certainly equal, at
    the most decimals that they show.
    """
    import numpy as np

    order = np.argsort(values)
    ordered, size, from_gold = values[order], np.abs(values[order]), is_gold[order]
    # Exponents do not show how many decimals were written.
    shown = np.where(digits[order] == WHOLE, 0, digits[order]) if len(order) else digits
    fewest = int(shown.min(initial=_MOST_DIGITS))
    if not tolerance.own and bool((digits == WHOLE).all()) and float(size.max(initial=0)) < SAFE_WHOLE:
        starts = np.concatenate([[True], np.diff(ordered) != 0])[: len(ordered)]
        loose = np.zeros(int(starts.sum()), bool)
    else:
        reach = widest(tolerance, np.maximum(size[1:], size[:-1]), fewest)
        starts = np.concatenate([[True], np.diff(ordered) > reach])[: len(ordered)]
        loose = ~_are_tight(ordered, digits[order], from_gold, np.flatnonzero(starts), tolerance)
    groups = np.empty(len(order), np.int32)
    groups[order] = np.cumsum(starts) - 1
    return groups, loose


def _are_tight(values: Any, digits: Any, is_gold: Any, starts: Any, tolerance: Tolerance) -> Any:
    """Whether all gold numbers of each group certainly equal all predicted ones; groups of one side alone count as tight."""
    import numpy as np

    if not len(values):
        return np.zeros(0, bool)
    size, stops = np.abs(values), np.append(starts[1:], len(values)) - 1
    low, high = np.minimum.reduceat(size, starts), np.maximum.reduceat(size, starts)
    # The numbers are in ascending order, so the first and the last of a side are its ends.
    ends = [
        function.reduceat(np.where(own, values, other), starts)
        for own in (is_gold, ~is_gold)
        for function, other in ((np.minimum, np.inf), (np.maximum, -np.inf))
    ]
    with np.errstate(invalid="ignore"):
        distance = np.maximum(ends[3] - ends[0], ends[1] - ends[2])
    has_exponent = np.maximum.reduceat(digits == 0, starts)
    same = (values[starts] == values[stops]) & (high < SAFE_WHOLE) & ~((high == 0) & has_exponent)
    one_sided = ~np.isfinite(distance)
    if tolerance.own:
        within = distance + _NOISE * high < np.maximum(tolerance.rel * low, tolerance.abs)
        return one_sided | within | (same & np.maximum.reduceat(digits == WHOLE, starts) & np.minimum.reduceat(digits == WHOLE, starts))
    near = distance + _NOISE * high < np.minimum(NOISE_REL * low, NOISE_FLOOR)
    gold_digits = np.where(is_gold, digits, _MOST_DIGITS), np.where(is_gold, digits, WHOLE)
    shown = np.where(digits == WHOLE, 0, digits)
    other_digits = np.where(is_gold, _MOST_DIGITS, shown), np.where(is_gold, 0, shown)
    least = np.minimum(np.minimum.reduceat(gold_digits[0], starts), np.minimum.reduceat(other_digits[0], starts))
    most = np.minimum(np.maximum.reduceat(gold_digits[1], starts), np.maximum.reduceat(other_digits[1], starts))
    units = 10.0 ** -np.arange(16.0)
    rounded = distance + _NOISE * high < 0.4999999999 * units.take(np.clip(most, FEWEST_DECIMALS, 15))
    rounded &= (low > 10.0000001 * units.take(np.clip(least, FEWEST_DECIMALS, 15))) & (most <= 15) & ~has_exponent
    rounded &= np.minimum.reduceat(gold_digits[0], starts) > 0
    return one_sided | same | ((near | rounded) & (low > 0) & (high < SAFE_WHOLE) & (np.sign(values[starts]) == np.sign(values[stops])))


def _canonical(cell: Cell, is_value: bool) -> str:
    """A text for a cell that is not a number: its own for a text, and for a date the form that `plain_words` accepts.

    In a database (`is_value`) no text is a date.
    """
    if cell is None:
        return ""
    kind, value = cell if isinstance(cell, tuple) else ("int", cell)
    if kind == "text" and not is_value:
        return str(value)
    if kind == "instant" and value % _DAY == 0 and (found := show(cell))[10:] == " 00:00:00":
        return found[:10]
    return f"\0{kind} {value}"


def plain_words(block: Any) -> Any:
    """Which cells (n_rows x n_columns) are words or ISO dates in the one form in which two different texts are never equal."""
    import numpy as np

    starts, lengths = block.starts, block.lengths
    if not block.data[int(starts[0, 0]) :].isascii():
        return np.zeros(starts.shape, bool)
    data = np.frombuffer(block.data, np.uint8)
    first, last = data[starts], data[starts + np.maximum(lengths, 1) - 1]
    digits = (data >= ord("0")) & (data <= ord("9"))
    # How many digits precede each position.
    sums = np.zeros(len(digits) + 1, np.int32)
    np.cumsum(digits, dtype=np.int32, out=sums[1:])
    n_other = lengths - (sums[starts + lengths] - sums[starts])
    dashes = np.minimum(starts + 4, len(data) - 1), np.minimum(starts + 7, len(data) - 1)
    is_date = (lengths == _DATE_LENGTH) & (n_other == 2) & (data[dashes[0]] == ord("-")) & (data[dashes[1]] == ord("-"))
    lowered = first | 0x20
    is_word = (lowered >= ord("a")) & (lowered <= ord("z")) & (last > ord(" "))
    short = is_word & (lengths <= _LONGEST_WORD)
    if short.any():
        words = block.words(starts[short], lengths[short])
        blanks = np.array([int.from_bytes(b" " * n + b"\0" * (8 - n), "little") for n in range(9)], np.uint64)
        special = np.array([int.from_bytes(word.ljust(8, b"\0"), "little") for word in _WORDS], np.uint64)
        is_word[short] = ~np.isin(words | blanks[lengths[short]], special)
    with_digits = is_word & (n_other < lengths)
    if with_digits.any():
        is_word[with_digits] = ~_may_be_values(block.words(starts[with_digits], lengths[with_digits]))
    return is_date | is_word
