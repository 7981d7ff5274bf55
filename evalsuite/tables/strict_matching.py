"""Whether a table is the gold table: rows are tuples, each needed gold column has its own predicted column.

Matching rows and columns at once under a tolerance is as hard as hypergraph isomorphism in general; this is exact wherever it answers
and deterministic. Work is counted, never timed: at a cap it answers `limit` and not a guess.

1. Columns of the same name or place are tried first: what an honest answer needs is one look at each column.
2. Ordered: a predicted column is a candidate for a needed gold column when every cell is equal; Kuhn matching of the columns.
3. Unordered: a candidate has the same bag of keys. Numbers near each other share a key: chains of overlap between gold points and the
   intervals the predictions accept ("clusters"). The rest is `row_search`. Where some rows only are tied, they alone change places.
4. Where the table agrees only with columns whose labels contradict each other, it is no gold table.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from typing import Final, Literal

from evalsuite.tables.clusters import ColumnPair, cannot_pair, pair_columns
from evalsuite.tables.flows import bipartite_matching
from evalsuite.tables.outlines import Outline, Shelf
from evalsuite.tables.row_search import CapReachedError, RowSearch, Work
from evalsuite.tables.strict_cells import Cell, equal, readings
from evalsuite.texts.numbers import Tolerance

# Rows with rare values are compared first: columns that differ at all mostly differ there.
_PROBED_ROWS: Final = 8

Verdict = Literal["equal", "labels", "no column", "not injective", "rows", "shape", "limit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column as cells; `name` is its header, `position` its place in its own table (from 0), `label` what it says it is, if anything.

    `has_percent` says that cells hold percent signs that can be read in two ways.
    """

    cells: Sequence[Cell]
    name: str
    position: int
    tolerance: Tolerance = field(default_factory=Tolerance)
    label: str | None = None
    has_percent: bool = False

    def contradicts(self, other: "Column") -> bool:
        """Whether the labels of a gold and a predicted column say that they are different columns."""
        return None not in (self.label, other.label) and self.label != other.label


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """The verdict on two tables, with what explains it.

    `assignment[i]` is the predicted column (index into the predicted list) of needed gold column i, where one was found or tried;
    `candidates[i]` all that fit it one by one. `moved` says that tied rows changed places.
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


def match_columns(
    gold: Sequence[Column],
    predicted: Sequence[Column],
    *,
    n_gold: int,
    n_predicted: int,
    ordered: bool,
    ties: Sequence[int] | None = None,
) -> Matching:
    """The strict verdict on needed gold columns against all predicted ones, of n_gold and n_predicted rows.

    Where order counts, rows of the same number in `ties` (one for each row) may still change places.
    """
    if len(predicted) < len(gold) or n_gold != n_predicted:
        return Matching(verdict="shape")
    if n_gold == 0 or not gold:
        return _equal(range(len(gold)))
    found = _matched(gold, predicted, ordered, ties)
    if not (found.is_equal and crossed(found, gold, predicted)):
        return found
    heeding = _matched(gold, predicted, ordered, ties, heeds_labels=True)
    return heeding if heeding.verdict in ("equal", "limit") else replace(found, verdict="labels")


def crossed(matching: Matching, gold: Sequence[Column], predicted: Sequence[Column]) -> list[tuple[int, int]]:
    """The pairs of a full assignment (indices) whose labels contradict each other."""
    return [(i, k) for i, k in enumerate(matching.assignment) if k is not None and gold[i].contradicts(predicted[k])]


def _matched(
    gold: Sequence[Column], predicted: Sequence[Column], ordered: bool, ties: Sequence[int] | None, *, heeds_labels: bool = False
) -> Matching:
    n_rows = len(gold[0].cells)
    if not ordered:
        return _unordered(gold, predicted, [0] * n_rows, heeds_labels)
    found = _ordered(gold, predicted, heeds_labels)
    if found.is_equal or ties is None or len(set(ties)) == n_rows:
        return found
    # What is wrong is told row by row all the same: the order is what gold asked for.
    moved = _unordered(gold, predicted, ties, heeds_labels)
    return replace(moved, moved=True) if moved.is_equal else found


def _equal(assignment: Iterable[int]) -> Matching:
    chosen = tuple(assignment)
    return Matching(verdict="equal", assignment=chosen, candidates=tuple((k,) for k in chosen))


def likely_columns(gold: Sequence[Column], predicted: Sequence[Column]) -> list[int] | None:
    """For each gold column the predicted one of the same name, the one in the same place among several or without one; None if taken."""
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


def _likely(gold: Sequence[Column], predicted: Sequence[Column], heeds_labels: bool) -> list[int] | None:
    found = likely_columns(gold, predicted)
    if found is None or (heeds_labels and any(gold[i].contradicts(predicted[k]) for i, k in enumerate(found))):
        return None
    return found


def _in_likely_order(gold: Column, predicted: Sequence[Column], chosen: Iterable[int]) -> list[int]:
    """Columns with an equal header first, then the one in the same place, then in order."""
    return sorted(chosen, key=lambda k: (predicted[k].name != gold.name, predicted[k].position != gold.position, k))


def _ordered(gold: Sequence[Column], predicted: Sequence[Column], heeds_labels: bool) -> Matching:
    likely = _likely(gold, predicted, heeds_labels)
    if likely is not None and all(_all_equal(column, predicted[k]) for column, k in zip(gold, likely, strict=True)):
        return _equal(likely)
    gold_twins, twins = _Twins(gold), _Twins(predicted)
    known: dict[tuple[int, Tolerance], list[int]] = {}
    candidates = []
    for i, column in enumerate(gold):
        name = (gold_twins[i], column.tolerance)
        if name not in known:
            known[name] = _equal_columns(column, predicted, twins)
        fitting = [k for k in known[name] if not (heeds_labels and column.contradicts(predicted[k]))]
        candidates.append(_in_likely_order(column, predicted, fitting))
    return _decided(candidates, "equal")


def _equal_columns(gold: Column, predicted: Sequence[Column], twins: "_Twins") -> list[int]:
    """The predicted columns that equal gold in every row. Rows with rare values are compared first; of twins one is compared in full."""
    outline, tolerance = Outline(gold.cells), gold.tolerance
    probed = nsmallest(_PROBED_ROWS, range(len(gold.cells)), key=lambda row: outline.bag[outline.keys[row]])
    fits: dict[int, bool] = {}
    found = []
    for k, column in enumerate(predicted):
        if any(all(equal(g[row], p[row], tolerance) for row in probed) for g, p in _readings(gold, column)):
            if twins[k] not in fits:
                fits[twins[k]] = _all_equal(gold, column)
            if fits[twins[k]]:
                found.append(k)
    return found


def _all_equal(gold: Column, predicted: Column) -> bool:
    tolerance = gold.tolerance
    return any(all(a is b or equal(a, b, tolerance) for a, b in zip(g, p, strict=True)) for g, p in _readings(gold, predicted))


def _readings(gold: Column, predicted: Column) -> list[tuple[Sequence[Cell], Sequence[Cell]]]:
    if not (gold.has_percent or predicted.has_percent):
        return [(gold.cells, predicted.cells)]
    return readings(gold.cells, predicted.cells)


def _unordered(gold: Sequence[Column], predicted: Sequence[Column], classes: Sequence[int], heeds_labels: bool) -> Matching:
    """The verdict where rows of the same class may change places."""
    # What an honest answer needs is free, twice: a look at each of its columns alone, one beside the others, four at the end.
    work = Work(free=12 * len(classes) * len(gold))
    pairs = _Pairs(gold, predicted, classes, work, heeds_labels)
    try:
        likely = _likely(gold, predicted, heeds_labels)
        if likely is not None and pairs.same_rows(likely):
            return _equal(likely)
        if likely is not None:
            options = [pairs.among(i, [k]) for i, k in enumerate(likely)]
            if all(options) and pairs.search(options) is not None:
                return _equal(likely)
        options = pairs.all()
        decided = _decided([list(found) for found in options], "rows")
        if decided.verdict != "rows":
            return decided
        work.assignments = 0
        assignment = pairs.search(options)
    except CapReachedError:
        return Matching(verdict="limit", n_tried=work.assignments)
    if assignment is None:
        return replace(decided, n_tried=work.assignments)
    return replace(decided, verdict="equal", assignment=assignment, n_tried=work.assignments)


def _decided(candidates: Sequence[Sequence[int]], otherwise: Verdict) -> Matching:
    """The verdict where the candidates alone give one, else `otherwise`."""
    assignment = tuple(bipartite_matching(candidates))
    verdict: Verdict = "no column" if not all(candidates) else "not injective" if None in assignment else otherwise
    return Matching(verdict=verdict, candidates=tuple(map(tuple, candidates)), assignment=assignment)


class _Twins(dict[int, int]):
    """For a column the first one asked for that holds the very same cells (and, where labels count, the same label), on demand."""

    def __init__(self, columns: Sequence[Column], heeds_labels: bool = False) -> None:
        super().__init__()
        self._columns, self._heeds_labels = columns, heeds_labels
        self._seen: dict[tuple[str | None, tuple[Cell, ...]], int] = {}

    def __missing__(self, k: int) -> int:
        column = self._columns[k]
        self[k] = self._seen.setdefault((column.label if self._heeds_labels else None, tuple(column.cells)), k)
        return self[k]


class _Pairs:
    """The pairs of gold and predicted columns, each worked out at most once; twins share theirs."""

    def __init__(self, gold: Sequence[Column], predicted: Sequence[Column], classes: Sequence[int], work: Work, heeds_labels: bool) -> None:
        self.gold, self.predicted, self.classes, self.work, self.heeds_labels = gold, predicted, classes, work, heeds_labels
        self._gold_outlines = [Outline(column.cells) for column in gold]
        self._outlines = [Outline(column.cells) for column in predicted]
        self._gold_twins, self._twins = _Twins(gold), _Twins(predicted, heeds_labels)
        self._known: dict[tuple[int, Tolerance, int], ColumnPair | None] = {}

    def all(self) -> list[dict[int, ColumnPair]]:
        """For each gold column all that it may take."""
        shelf = Shelf(self._outlines)
        return [self.among(i, shelf.near(self._gold_outlines[i], column.tolerance)) for i, column in enumerate(self.gold)]

    def among(self, i: int, chosen: Iterable[int]) -> dict[int, ColumnPair]:
        """The columns of `chosen` that gold column i may take: the nearest by their sorted numbers first, then by likeness."""
        found = {k: pair for k in chosen if (pair := self._pair(i, k)) is not None}
        likely = _in_likely_order(self.gold[i], self.predicted, found)
        if len({self._twins[k] for k in found}) > 1:
            distances = {self._twins[k]: pair.gold.distance(pair.predicted) for k, pair in found.items()}
            likely.sort(key=lambda k: distances[self._twins[k]])
        return {k: found[k] for k in likely}

    def same_rows(self, likely: Sequence[int]) -> bool:
        """Whether rows are plainly equal, in any order inside their classes, under this assignment."""
        rows = zip(self.classes, *(outline.keys for outline in self._gold_outlines), strict=True)
        return Counter(rows) == Counter(zip(self.classes, *(self._outlines[k].keys for k in likely), strict=True))

    def _pair(self, i: int, k: int) -> ColumnPair | None:
        gold, predicted, tolerance = self._gold_outlines[i], self._outlines[k], self.gold[i].tolerance
        self.work.look(1)
        if (self.heeds_labels and self.gold[i].contradicts(self.predicted[k])) or cannot_pair(gold, predicted, tolerance):
            return None
        name = (self._gold_twins[i], tolerance, self._twins[k])
        if name not in self._known:
            self.work.look(len(gold.cells))
            self._known[name] = pair_columns(gold, predicted, tolerance)
        return self._known[name]

    def search(self, options: Sequence[Mapping[int, ColumnPair]]) -> tuple[int, ...] | None:
        """An assignment under which the rows agree, or None. Raises `CapReachedError`."""
        tolerances = [column.tolerance for column in self.gold]
        return RowSearch(options, classes=self.classes, tolerances=tolerances, twin=self._twins, work=self.work).run()
