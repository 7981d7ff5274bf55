"""Strict comparison of rows in any order: pair off rows that are written alike, then search for an assignment of columns and rows.

Each pair of columns is turned into `Codes`, one number for each cell, and rows into combinations of codes. Cells with equal codes are
equal, but for *loose* groups of near numbers, whose rows are compared cell by cell. As soon as the columns so far tell all rows apart, the
remaining columns are compared row by row.

The search assigns columns one by one, fewest candidates first, and counts its work. After each choice rows are split into classes by their
codes so far, and the choice is dropped if the two sides' multisets of classes differ. At the end, if a group of near numbers contained
cells that are not all equal to each other, a maximum flow between the rows of each class decides.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeVar

from evalsuite.compare.bipartite_matching import assignments, saturating_flow
from evalsuite.compare.number_columns import (
    fewest_decimals,
    in_order,
    in_parts,
    number_groups,
    surely_strictly_equal,
    widest,
)
from evalsuite.compare.numbers import Tolerance
from evalsuite.compare.strict_columns import (
    HUGE,
    Matching,
    StrictColumn,
    all_pairs_equal,
    can_pair,
    equal,
    in_likely_order,
    in_readings,
    key,
    likely_columns,
    matched_as,
    place,
    places_of,
    verdict_of_candidates,
)
from evalsuite.compare.table_diff import TableDiff
from evalsuite.compare.table_hashes import stable_order
from evalsuite.compare.values import Cell
from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.import_ref import np

Result = TypeVar("Result")

# Up to this many near numbers of two columns are paired cell by cell for a reason.
MOST_LEFT: Final = 20_000
_AT_ONCE: Final = 65_536
_FEW: Final = 500
_MOST_TIGHTENED: Final = 4_000


CELL_CAP: Final = 5_000_000
EDGE_CAP: Final = 3_000_000
FLOW_CAP: Final = 10_000_000
# Which ranks of two columns are compared, one look after the other: of many columns the smallest number alone rules most out.
_MANY_COLUMNS: Final = 16
_ALL: Final = (slice(None),)
_FIRST_AND_ALL: Final = (slice(1), slice(None))
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
    n_steps: int = 0
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
        self.n_steps += n
        if self.n_steps > FLOW_CAP:
            raise CapReachedError


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
    places = places_of([row[0] for row in gold_rows], [row[0] for row in predicted_rows], tolerances[0])
    edges: list[list[int]] = []
    for g in gold_rows:
        window = places.find_near(g[0]) if places is not None else range(len(predicted_rows))
        work.connect(len(window))
        edges.append([k for k in window if all(map(equal, g, predicted_rows[k], tolerances))])
        if not edges[-1]:
            return False
    supply, demand = [gold[g] for g in gold_rows], [predicted[p] for p in predicted_rows]
    return saturating_flow(supply, demand, edges, work.walk)


def _count_by_class(classes: Sequence[int], columns: Sequence[Sequence[Cell]]) -> dict[int, Rows]:
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


def match_rows(
    gold: Sequence[StrictColumn],
    predicted: Sequence[StrictColumn],
    evidence: TableDiff,
    heeds_labels: bool,
    ties: Sequence[int] | None = None,
) -> Matching:
    """The verdict where rows may be in any order, or only rows of the same number in `ties` (one for each row) may change places."""
    coded = CodedColumns(gold, predicted, evidence, heeds_labels, ties)
    guesses = likely_columns(gold, predicted)
    if ties is None and guesses is not None and all(coded.may_be(i, k) for i, k in enumerate(guesses)):
        places = [column.position for column in gold], [predicted[k].position for k in guesses]
        # Most right answers need no codes.
        if evidence.are_permuted(*places):
            return matched_as(guesses)
    partners = coded.partners()
    may_fit = partners is not None and all(coded.is_alike(i, k) or not coded.fits_none(i) for i, k in enumerate(partners))
    try:
        if partners is not None and may_fit and coded.rows_agree(partners):
            return matched_as(partners)
    except CapReachedError:
        partners = None
    try:
        matching = verdict_of_candidates(options := coded.options(), "rows")
        return coded.search(options, matching, partners) if matching.verdict == "rows" else matching
    except CapReachedError:
        return Matching(verdict="limit", n_tried=coded.work.assignments)


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
        n = len(self.is_loose)
        return np.bincount(self.gold, minlength=n) - np.bincount(self.predicted, minlength=n)


class CodedColumns:
    """The columns of two tables, compared with rows in any order: each pair of columns as `Codes`, rows as combinations of codes."""

    def __init__(
        self,
        gold: Sequence[StrictColumn],
        predicted: Sequence[StrictColumn],
        evidence: TableDiff,
        heeds_labels: bool = False,
        ties: Sequence[int] | None = None,
    ) -> None:
        self.gold, self.predicted, self.heeds_labels = gold, predicted, heeds_labels
        # The comparisons that a correct answer needs do not count, twice: each column alone, its partner, and four at the end.
        self.work = Work(free=12 * evidence.n_rows * len(gold))
        self.evidence, self._ties = evidence, ties
        self._pairs: dict[tuple[int, int], tuple[StrictColumn, StrictColumn]] = {}
        self._near: dict[int, list[int]] = {}
        self._distances: dict[Any, dict[int, float]] = {}
        self._offers_by_kind: dict[tuple[str, bool], dict[tuple[int, int], tuple[np.ndarray[Any, Any], ...]]] = {}

    def pair(self, i: int, k: int) -> tuple[StrictColumn, StrictColumn]:
        """Gold column i and predicted column k, percent signs in the first reading in which they can be paired; in the second one for k
        plus the number of predicted columns.
        """
        if (i, k) not in self._pairs:
            readings = in_readings(self.gold[i], self.predicted[k])
            fitting = readings if len(readings) == 1 else [pair for pair in readings if self._can_pair(*pair)]
            for at, pair in enumerate(fitting or readings[:1]):
                self._pairs[i, k + at * len(self.predicted)] = pair
        return self._pairs[i, k]

    def _in_both_readings(self, i: int, candidates: Sequence[int]) -> list[int]:
        """The options of gold column i, and those that can be paired in a second reading in which other cells are equal."""
        seconds = [k + len(self.predicted) for k in candidates if self.pair(i, k) and (i, k + len(self.predicted)) in self._pairs]
        return [*candidates, *(k for k in seconds if self._tells_more(self.codes(i, k), self.codes(i, k - len(self.predicted))))]

    @staticmethod
    def _tells_more(codes: Codes, others: Codes) -> bool:
        """Whether not exactly the cells with equal codes have equal other codes."""
        cells = [np.concatenate([side.gold, side.predicted]).astype(np.int64) for side in (codes, others)]
        n_both = len(np.unique(cells[0] * len(others.is_loose) + cells[1]))
        return bool(codes.is_loose.any() or others.is_loose.any()) or {len(np.unique(side)) for side in cells} != {n_both}

    def rows(self) -> "RowCodes":
        """The rows before any column is compared: those in one class may change places."""
        names, places = np.unique(np.array(self._ties or [0] * self.evidence.n_rows), return_inverse=True)
        classes = places.astype(np.int32)
        return RowCodes(classes, classes, len(names))

    def partners(self) -> list[int] | None:
        """For each gold column a predicted one of its own: the likely one, or another that contains the same texts if the likely one
        does not.
        """
        guesses = likely_columns(self.gold, self.predicted)
        if guesses is not None and self._are_all_alike(guesses):
            return guesses
        owner: dict[int, int] = {}
        for i, column in enumerate(self.gold):
            if twins := [k for k in self._likely_alike(i) if k not in owner]:
                owner[in_likely_order(column, self.predicted, twins)[0]] = i
        for i in sorted(set(range(len(self.gold))) - set(owner.values())):
            free = [k for k in range(len(self.predicted)) if k not in owner and self.may_be(i, k)]
            if not free:
                return None
            likely = in_likely_order(self.gold[i], self.predicted, free)[0]
            wish = likely if guesses is None else guesses[i]
            owner[wish if wish in free else likely] = i
        partner = {i: k for k, i in owner.items()}
        return [partner[i] for i in range(len(self.gold))]

    def _likely_alike(self, i: int) -> list[int]:
        """The predicted columns that labels allow for gold column i and whose texts have the same sum of hashes."""
        return [k for k in self._by_bag.get(self.evidence.hashes.bag(0, self.gold[i].position), ()) if self.may_be(i, k)]

    @cached_property
    def _by_bag(self) -> dict[int, list[int]]:
        """The predicted columns by the sum of the hashes of their texts."""
        self.evidence.hashes.compute_bags(1, [column.position for column in self.predicted])
        by_bag: dict[int, list[int]] = {}
        for k, column in enumerate(self.predicted):
            by_bag.setdefault(self.evidence.hashes.bag(1, column.position), []).append(k)
        return by_bag

    def _are_all_alike(self, guesses: Sequence[int]) -> bool:
        """Whether each gold column contains the same texts as its likely predicted column."""
        if not all(map(self.may_be, range(len(self.gold)), guesses)):
            return False
        self.evidence.hashes.compute_bags(0, [column.position for column in self.gold])
        self.evidence.hashes.compute_bags(1, [self.predicted[k].position for k in guesses])
        self.compare(enumerate(guesses))
        return all(map(self.is_alike, range(len(self.gold)), guesses))

    def may_be(self, i: int, k: int) -> bool:
        """Whether the labels, if they count, allow a predicted column to match a gold column."""
        return not (self.heeds_labels and self.gold[i].contradicts(self.predicted[k]))

    def is_alike(self, i: int, k: int) -> bool:
        """Whether a gold and a predicted column contain the same texts."""
        return self.evidence.hashes.has_same_texts(self.gold[i].position, self.predicted[k].position)

    def compare(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Compute `is_alike` for several pairs at once."""
        self.evidence.hashes.compare([(self.gold[i].position, self.predicted[k].position) for i, k in pairs])

    def rows_agree(self, partners: Sequence[int]) -> bool:
        """Whether the rows can be paired one to one under an assignment. Raises `CapReachedError`."""
        places = [column.position for column in self.gold], [self.predicted[k].position for k in partners]
        if self._ties is None and (self.evidence.are_permuted(*places) or self._rest_agrees(partners)):
            return True
        rows = self.rows()
        pairs = sorted(enumerate(partners), key=lambda pair: self._is_decimal(pair[0]))
        for at, (i, k) in enumerate(pairs):
            if rows.are_unique:
                order = rows.paired()
                return all(self.agree_in_order(*pair, *order) for pair in (*pairs[at:], *self._loose(pairs[:at])))
            if (following := rows.split(self.codes(i, k))) is None:
                return False
            rows = following
        return self.loose_rows_agree(pairs, rows)

    def _rest_agrees(self, partners: Sequence[int]) -> bool:
        """Whether the columns with the same texts tell all rows apart, and the others agree in rows that are paired by these texts."""
        pairs = [pair for pair in enumerate(partners) if self.is_alike(*pair)]
        gold_columns, predicted_columns = [self.gold[i].position for i, _ in pairs], [self.predicted[k].position for _, k in pairs]
        if not pairs or not self.evidence.are_permuted(gold_columns, predicted_columns):
            return False
        names, places = np.unique(self.evidence.hashes.rows(0, gold_columns), return_inverse=True)
        rows = RowCodes(places, np.searchsorted(names, self.evidence.hashes.rows(1, predicted_columns)), len(names))
        return rows.are_unique and all(self.agree_in_order(*pair, *rows.paired()) for pair in enumerate(partners) if pair not in pairs)

    def _is_decimal(self, i: int) -> bool:
        """Whether the first cells of a gold column contain decimals: such a column says least about which rows belong together."""
        return any("." in str(cell) for cell in self.gold[i].source.head)

    def _loose(self, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        return [pair for pair in pairs if self.codes(*pair).is_loose.any()]

    def agree_in_order(self, i: int, k: int, left: Any, right: Any) -> bool:
        """Whether gold column i in the rows `left` equals predicted column k in the rows `right`, one by one."""
        gold, predicted = self.pair(i, k)
        if self.is_alike(i, k):
            hashes = [column.source.hashes() for column in (gold, predicted)]
            is_same = np.array_equal(hashes[0][left], hashes[1][right])
            if is_same and self.evidence.hashes.are_confirmed(hashes, [gold.position], [predicted.position]):
                return True
        return not any(map(len, self.unequal_in_order(i, k, left, right)))

    def unequal_in_order(self, i: int, k: int, left: Any, right: Any) -> "Iterator[np.ndarray[Any, Any]]":
        """The positions, in parts and ascending, at which gold column i in the rows `left` and predicted column k in the rows `right` are
        unequal. Only cells that arrays leave open are read; few of them come first, because these show most differences.
        """
        gold, predicted = self.pair(i, k)
        (a, names, mine_hashed), (b, others, theirs_hashed) = gold.arrays(), predicted.arrays()
        hashes = [hashed for hashed in (mine_hashed, theirs_hashed) if hashed is not None]
        are_sure = len(hashes) < 2 or self.evidence.hashes.are_confirmed(hashes, [gold.position], [predicted.position])
        for start, stop in pairwise((0, *range(min(_FEW, len(left)), len(left), _AT_ONCE), len(left))):
            rows = left[start:stop], right[start:stop]
            x, y = a.take(rows[0]), b.take(rows[1])
            is_text, is_other_text = np.isnan(x.values), np.isnan(y.values)
            size = np.maximum(np.abs(x.values), np.abs(y.values))
            unequal = (is_text != is_other_text) | (np.abs(x.values - y.values) > widest(gold.tolerance, size))
            are_named_alike = names[rows[0]] == others[rows[1]]
            unequal |= is_text & ~are_named_alike & (x.digits != HUGE)
            sure = np.where(is_text, are_named_alike, surely_strictly_equal(x, y, gold.tolerance)) & are_sure
            places = np.flatnonzero(~sure & ~unequal)
            # A part of rows in any order reads every block.
            order = np.argsort(rows[1][places], kind="stable")
            cells = gold.cells_at(rows[0][places])
            for at, cell in zip(order.tolist(), predicted.cells_at(rows[1][places[order]]), strict=True):
                unequal[places[at]] = cells[at] is not cell and not equal(cells[at], cell, gold.tolerance)
            yield start + np.flatnonzero(unequal)

    def loose_rows_agree(self, pairs: Sequence[tuple[int, int]], rows: "RowCodes") -> bool:
        """Whether the rows of each class can be paired one to one; only classes with a loose cell need a look at the cells."""
        loose = self._loose(pairs)
        if not loose:
            return True
        is_loose = np.zeros(rows.n, bool)
        for i, k in loose:
            codes = self.codes(i, k)
            is_loose[rows.gold[codes.is_loose[codes.gold]]] = True
        gold_loose, predicted_loose = (np.flatnonzero(is_loose[side]) for side in (rows.gold, rows.predicted))
        self.work.look(_LOOKS_AT_END * len(loose) * len(gold_loose))
        gold_rows, predicted_rows = (
            _count_by_class(classes[chosen].tolist(), [self.pair(*pair)[side].cells_at(chosen) for pair in loose])
            for side, classes, chosen in ((0, rows.gold, gold_loose), (1, rows.predicted, predicted_loose))
        )
        tolerances = [self.gold[i].tolerance for i, _ in loose]
        return all(class_agrees(cells, predicted_rows[name], tolerances, self.work) for name, cells in gold_rows.items())

    def codes(self, i: int, k: int) -> Codes:
        """The codes of gold column i and predicted column k."""
        return self._codes(*self.pair(i, k))

    def _codes(self, gold: StrictColumn, predicted: StrictColumn) -> Codes:
        return self._once("codes", gold, predicted, lambda: self._compute_codes(gold, predicted))

    def _compute_codes(self, gold: StrictColumn, predicted: StrictColumn) -> Codes:
        sides = gold.arrays(), predicted.arrays()
        hashes = [hashed for _, _, hashed in sides if hashed is not None]
        if len(hashes) == len(sides) and not self.evidence.hashes.are_confirmed(hashes, [gold.position], [predicted.position]):
            self.evidence.arrays.keys.number_texts()
            sides = gold.arrays(), predicted.arrays()
        n, is_text = self.evidence.n_rows, np.isnan(np.concatenate([numbers.values for numbers, _, _ in sides]))
        values = np.concatenate([numbers.values for numbers, _, _ in sides])[~is_text]
        digits = np.concatenate([numbers.digits for numbers, _, _ in sides])[~is_text]
        groups, is_loose = number_groups(values, digits, (np.arange(len(is_text), dtype=np.int32) < n)[~is_text], gold.tolerance)
        names, places = np.unique(np.concatenate([others for _, others, _ in sides])[is_text], return_inverse=True)
        codes_of_cells = np.empty(len(is_text), np.int32)
        codes_of_cells[~is_text], codes_of_cells[is_text] = groups, places + len(is_loose)
        codes = Codes(codes_of_cells[:n], codes_of_cells[n:], np.concatenate([is_loose, np.zeros(len(names), bool)]))
        self._tighten(codes, gold, predicted)
        return codes

    def _tighten(self, codes: Codes, gold: StrictColumn, predicted: StrictColumn) -> None:
        """Mark loose groups as tight if all their cells are equal, as long as few rows are in loose groups."""
        rows = [np.flatnonzero(codes.is_loose[row_codes]) for row_codes in (codes.gold, codes.predicted)]
        if not 0 < sum(map(len, rows)) <= _MOST_TIGHTENED:
            return
        groups: dict[int, tuple[dict[Cell, None], dict[Cell, None]]] = {}
        for side, (column, row_codes) in enumerate(((gold, codes.gold), (predicted, codes.predicted))):
            for group, cell in zip(row_codes[rows[side]].tolist(), column.cells_at(rows[side]), strict=True):
                groups.setdefault(group, ({}, {}))[side][cell] = None
        for group, (gold_cells, predicted_cells) in groups.items():
            codes.is_loose[group] = not all_pairs_equal(list(gold_cells), list(predicted_cells), gold.tolerance)

    def nearest(self, gold: Cell, rows: Any) -> "np.ndarray[Any, Any]":
        """The first of some rows of the only predicted column, and the row whose number is nearest to a gold cell."""
        value, numbers = place(gold), self.predicted[0].arrays().numbers.values[rows]
        if value is None or np.isnan(numbers).all():
            return rows[:_FEW]  # type: ignore[no-any-return]
        return np.union1d(rows[:_FEW], rows[[np.nanargmin(np.abs(numbers - value))]])

    def options(self) -> list[list[int]]:
        """For each gold column the predicted columns that contain its cells in some order, nearest numbers first, then likely ones.

        If a column has none, the others have one at most: no assignment is possible.
        """
        firsts = [self._alike_columns(i) or self._options(i) for i in range(len(self.gold))]
        return list(map(self._options, range(len(self.gold)))) if all(firsts) else firsts

    def _alike_columns(self, i: int) -> list[int]:
        """The likeliest predicted column with the texts of gold column i, if any."""
        candidates = in_likely_order(self.gold[i], self.predicted, self._likely_alike(i))
        return next(([k] for k in candidates if self.is_alike(i, k)), [])

    def _options(self, i: int) -> list[int]:
        gold = self.gold[i]
        # Gold columns with the same texts have the same options; only the likely order is their own.
        name = self._bag(0, gold), gold.label if self.heeds_labels else None, gold.tolerance
        if name not in self._distances:
            candidates = [k for k in self._near_columns(i) if self.is_alike(i, k) or self._can_pair(*self.pair(i, k))]
            self._distances[name] = {k: self._distance(*self.pair(i, k)) if len(candidates) > 1 else 0.0 for k in candidates}
        distances = self._distances[name]
        return sorted(in_likely_order(gold, self.predicted, distances), key=distances.__getitem__)

    def _near_columns(self, i: int) -> list[int]:
        """The predicted columns that labels, kinds of cells and sketches do not rule out for gold column i."""
        if i not in self._near:
            self._near[i] = self._find_near_columns(i)
        return self._near[i]

    def _find_near_columns(self, i: int) -> list[int]:
        gold = self.gold[i]
        if gold.has_percent or self._has_percent:
            return [k for k in range(len(self.predicted)) if self.may_be(i, k)]
        sketch = gold.sketch()
        if (offers := self._offers(gold.kind).get(sketch[:2])) is None:
            return []
        ks, ranks, decimals = offers
        for chosen in _FIRST_AND_ALL if len(ks) >= _MANY_COLUMNS else _ALL:
            a, b = ranks[:, chosen], sketch.ranks[chosen]
            with np.errstate(invalid="ignore"):
                limit = widest(gold.tolerance, np.maximum(np.abs(a), np.abs(b)), np.minimum(sketch.decimals, decimals)[:, None])
                is_near = ~(np.abs(a - b) > limit).any(axis=1)
            ks, ranks, decimals = ks[is_near], ranks[is_near], decimals[is_near]
        return [k for k in ks.tolist() if self.may_be(i, k)]

    @cached_property
    def _has_percent(self) -> bool:
        return any(column.has_percent for column in self.predicted)

    def _offers(self, kind: str) -> "dict[tuple[int, int], tuple[np.ndarray[Any, Any], ...]]":
        """(The predicted columns that a gold column of this kind may match, their ranks, their fewest decimals), by number and hashes of
        the cells that are no numbers.
        """
        name = kind, self.evidence.arrays.keys.are_numbers
        if name not in self._offers_by_kind:
            groups: dict[tuple[int, int], list[Any]] = {}
            for k, column in enumerate(self.predicted):
                if {kind, column.kind} != {"plain", "text"}:
                    sketch = column.sketch()
                    groups.setdefault(sketch[:2], []).append((k, *sketch[2:]))
            self._offers_by_kind[name] = {others: tuple(map(np.array, zip(*group, strict=True))) for others, group in groups.items()}
        return self._offers_by_kind[name]

    def _distance(self, gold: StrictColumn, predicted: StrictColumn) -> float:
        """The summed distance of the numbers of two columns after sorting both."""

        def compute() -> float:
            lines = (in_order(column.arrays().numbers.values.copy()) for column in (gold, predicted))
            return float(np.abs(np.subtract(*lines)).sum())

        return self._once_for_bags("distance", gold, predicted, compute)

    def fits_none(self, i: int) -> bool:
        """Whether a cheap test rules out every predicted column for gold column i."""
        for k in self._near_columns(i):
            readings = in_readings(self.gold[i], self.predicted[k])
            if self.is_alike(i, k) or not all(self._cannot_pair(*pair) for pair in readings):
                return False
        return True

    def _can_pair(self, gold: StrictColumn, predicted: StrictColumn) -> bool:
        """Whether two columns with different texts can be paired cell by cell."""
        return self._once_for_bags(
            "can pair", gold, predicted, lambda: not self._cannot_pair(gold, predicted) and self._is_pair(gold, predicted)
        )

    def _is_pair(self, gold: StrictColumn, predicted: StrictColumn) -> bool:
        codes = self._codes(gold, predicted)
        if not codes.have_equal_bags:
            return False
        rows = self.open_rows(gold, predicted, codes)
        return can_pair(gold.cells_at(rows[0]), predicted.cells_at(rows[1]), gold.tolerance)

    def open_rows(self, gold: StrictColumn, predicted: StrictColumn, codes: Codes) -> "list[np.ndarray[Any, Any]]":
        """The gold and the predicted rows in loose groups of two columns in which the i-th smallest numbers are not surely equal."""
        is_uneven, sides = codes.surplus() != 0, []
        for column, row_codes in ((gold, codes.gold), (predicted, codes.predicted)):
            rows = np.flatnonzero((codes.is_loose & ~is_uneven)[row_codes])
            numbers = column.arrays().numbers.take(rows)
            order = np.argsort(numbers.values)
            sides.append((numbers.take(order), row_codes[rows[order]]))
        (a, groups), (b, _) = sides
        is_open = codes.is_loose & is_uneven
        is_open[groups[~surely_strictly_equal(a, b, gold.tolerance)]] = True
        return [np.flatnonzero(is_open[row_codes]) for row_codes in (codes.gold, codes.predicted)]

    def _cannot_pair(self, gold: StrictColumn, predicted: StrictColumn) -> bool:
        """Whether numbers would be paired with other cells, or are too far apart in ascending order: if two columns of equally many
        numbers can be paired at all, then the i-th smallest with the i-th smallest.
        """
        return self._once_for_bags("apart", gold, predicted, lambda: self._are_apart(gold, predicted))

    def _are_apart(self, gold: StrictColumn, predicted: StrictColumn) -> bool:
        sides = gold.arrays().numbers, predicted.arrays().numbers
        decimals = min(fewest_decimals(side) for side in sides)
        ordered = [in_order(side.values.copy()) for side in sides]
        if len(ordered[0]) != len(ordered[1]):
            return True
        parts = ((np.abs(x - y), np.maximum(np.abs(x), np.abs(y))) for x, y in in_parts(*ordered))
        with np.errstate(invalid="ignore"):
            return any(bool((distance > widest(gold.tolerance, size, decimals)).any()) for distance, size in parts)

    def search(self, options: Sequence[Sequence[int]], otherwise: Matching, first_try: Sequence[int] | None) -> Matching:
        """The first assignment under which the rows agree, else `otherwise`; `first_try` is known to fail. Raises `CapReachedError`."""
        work, seen = self.work, dict[int, tuple[RowCodes, Container[Any] | None]]()

        def split(rows: RowCodes, i: int, k: int) -> RowCodes | None:
            work.look(self.evidence.n_rows)
            if i not in seen:
                seen[i] = rows, None
            elif seen[i][0] is not rows:
                # Only other rows than the first time: all columns that were tried then are tested at once.
                seen[i] = rows, self._splitting(rows, i, options[i])
            may_split = seen[i][1]
            return rows.split(self.codes(i, k)) if may_split is None or self._name(k) in may_split else None

        options = [self._in_both_readings(i, candidates) for i, candidates in enumerate(options)]
        n_columns = len(self.predicted)
        if [[k] for k in first_try or ()] != options:
            for partners, rows in assignments(options, self.rows(), split, self._name, n_columns):
                work.assignments += 1
                if partners != tuple(first_try or ()) and self.loose_rows_agree(list(enumerate(partners)), rows):
                    return replace(otherwise, verdict="equal", assignment=tuple(k % n_columns for k in partners))
        return otherwise

    def _splitting(self, rows: "RowCodes", i: int, candidates: Sequence[int]) -> Container[Any] | None:
        """The predicted columns (by name) that split the rows like gold column i; None if testing all is dear."""
        twins = list({self._name(k): k for k in candidates}.items())
        if len(twins) * len(rows.gold) > _AT_ONCE:
            return None

        def stack() -> "tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]":
            codes = [self.codes(i, k) for _, k in twins]
            return np.stack([pair.gold for pair in codes]), np.stack([pair.predicted for pair in codes])

        gold, predicted = self.evidence.arrays.once((self, "codes", i), stack)
        n_codes = max(gold.max(), predicted.max()) + 1
        gold, predicted = (
            np.sort(classes.astype(np.int64) * n_codes + codes, axis=1)
            for classes, codes in ((rows.gold, gold), (rows.predicted, predicted))
        )
        return {twins[at][0] for at in np.flatnonzero((gold == predicted).all(axis=1)).tolist()}

    def _name(self, k: int) -> tuple[int, str | None, int]:
        """A name that predicted columns share if they contain the same texts, row by row, and the same label if labels count; each reading
        has its own.
        """
        reading, k = divmod(k, len(self.predicted))
        return self._twin(1, self.predicted[k]), self.predicted[k].label if self.heeds_labels else None, reading

    def _once(self, word: str, gold: StrictColumn, predicted: StrictColumn, compute: Callable[[], Result]) -> Result:
        """The result of a function of two columns, which is called once for all twins of the two."""
        name = word, self._twin(0, gold), self._twin(1, predicted), gold.tolerance, gold.read
        return self.evidence.compute_once(name, compute)

    def _once_for_bags(self, word: str, gold: StrictColumn, predicted: StrictColumn, compute: Callable[[], Result]) -> Result:
        """The result of a function of two columns in which the order of rows does not count: called once for all with the same texts."""
        name = word, self._bag(0, gold), self._bag(1, predicted), gold.tolerance, gold.read
        return self.evidence.compute_once(name, compute)

    def _bag(self, side: int, column: StrictColumn) -> Any:
        """A name that columns of a side share if they contain the same texts: in any order in wide tables, else row by row."""
        if self.evidence.n_rows > _MOST_TIGHTENED or len(self.predicted) < _MANY_COLUMNS:
            return self._twin(side, column)

        def find() -> int:
            texts = tuple(sorted(column.source.texts()))
            return self.evidence.compute_once(("bag", side, column.source.kind, texts), lambda: column.position)

        return self.evidence.compute_once(("bag", side, column.position), find)

    def _twin(self, side: int, column: StrictColumn) -> int:
        return self.evidence.hashes.twin(side, column.position)


class RowCodes(NamedTuple):
    """The class of each gold and of each predicted row, of n classes: rows with equal codes so far are in one class."""

    gold: "np.ndarray[Any, Any]"
    predicted: "np.ndarray[Any, Any]"
    n: int

    @property
    def are_unique(self) -> bool:
        """Whether each class is one row of each side."""
        return self.n == len(self.gold)

    def split(self, codes: Codes, *, even_if_unequal: bool = False) -> "RowCodes | None":
        """The classes split by the codes of one more column; None if the sides then have different classes."""
        n_codes, n = len(codes.is_loose), len(self.gold)
        rows = np.concatenate(
            [self.gold.astype(np.int64) * n_codes + codes.gold, self.predicted.astype(np.int64) * n_codes + codes.predicted]
        )
        names, places = np.unique(rows, return_inverse=True)
        classes = RowCodes(places[:n].astype(np.int32), places[n:].astype(np.int32), len(names))
        return classes if even_if_unequal or not classes.surplus().any() else None

    def surplus(self) -> "np.ndarray[Any, Any]":
        """How many more gold than predicted rows each class has."""
        return np.bincount(self.gold, minlength=self.n) - np.bincount(self.predicted, minlength=self.n)

    def paired(self) -> "tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]":
        """The gold rows, in their order, and the predicted row of each; for unique classes."""
        return np.arange(len(self.gold)), np.argsort(self.predicted)[self.gold]


def last_rows(groups: Any, n: Any) -> Any:
    """The last `n[group]` rows of each group, in ascending order; none where that is negative."""
    order = stable_order(groups)
    ordered = groups[order]
    from_end = np.cumsum(np.bincount(groups, minlength=len(n)))[ordered] - np.arange(len(ordered))
    return np.sort(order[from_end <= n[ordered]])
