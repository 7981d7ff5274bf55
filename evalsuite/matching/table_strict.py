"""Whether a table is the gold table: rows are tuples, each needed gold column has its own predicted column.

Matching rows and columns at once under a tolerance is as hard as hypergraph isomorphism in general; this is exact wherever it answers
and deterministic. Work is counted, never timed: at a cap it answers `limit` and not a guess.

1. Ordered: a predicted column is a candidate for a needed gold column when every cell is equal; Kuhn matching of the columns.
2. Unordered: a candidate has the same bag of keys. Numbers near each other share a key: chains of overlap between gold points and the
   intervals the predictions accept ("clusters").
3. Columns are assigned one by one, fewest candidates first; after each choice rows are split into classes by their keys so far, and the
   choice is dropped where the two sides' bags of classes differ.
4. At the end, if a cluster held cells that are not all equal to each other, a flow between the rows of each class decides.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from evalsuite.matching.assignment import bipartite_matching, saturating_flow
from evalsuite.matching.clusters import ColumnPair, pair_columns, windows_of
from evalsuite.matching.values import Cell, Tolerance, equal

CELL_CAP: Final = 5_000_000
EDGE_CAP: Final = 3_000_000

Verdict = Literal["equal", "no column", "not injective", "rows", "shape", "limit"]


class CapReachedError(Exception):
    """The counted work reached its cap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column as cells; `name` is its header, `position` its place in its own table (from 0)."""

    cells: Sequence[Cell]
    name: str
    position: int
    tolerance: Tolerance = field(default_factory=Tolerance)


@dataclass(slots=True)
class Work:
    """Counted work: cells looked at while columns are assigned, and edges between rows."""

    cells: int = 0
    edges: int = 0
    assignments: int = 0

    def look(self, n: int) -> None:
        """Count n cells; raises `CapReachedError` past the cap."""
        self.cells += n
        if self.cells > CELL_CAP:
            raise CapReachedError

    def connect(self, n: int) -> None:
        """Count n edges; raises `CapReachedError` past the cap."""
        self.edges += n
        if self.edges > EDGE_CAP:
            raise CapReachedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """The verdict on two tables, with what explains it.

    `assignment[i]` is the predicted column (index into the predicted list) of needed gold column i, where one was found or tried;
    `candidates[i]` all that fit it one by one.
    """

    verdict: Verdict
    assignment: tuple[int | None, ...] = ()
    candidates: tuple[tuple[int, ...], ...] = ()
    n_tried: int = 0

    @property
    def is_equal(self) -> bool:
        """Whether the table is the gold table."""
        return self.verdict == "equal"


def match_columns(gold: Sequence[Column], predicted: Sequence[Column], *, n_gold: int, n_predicted: int, ordered: bool) -> Matching:
    """The strict verdict on needed gold columns against all predicted ones, of n_gold and n_predicted rows."""
    if len(predicted) < len(gold) or n_gold != n_predicted:
        return Matching(verdict="shape")
    if n_gold == 0:
        return Matching(verdict="equal", assignment=tuple(range(len(gold))))
    return _ordered(gold, predicted) if ordered else _unordered(gold, predicted, n_gold)


def _ordered(gold: Sequence[Column], predicted: Sequence[Column]) -> Matching:
    candidates = tuple(tuple(k for k in _by_likeness(column, predicted) if _all_equal(column, predicted[k])) for column in gold)
    assignment = tuple(bipartite_matching(candidates))
    if any(not found for found in candidates):
        return Matching(verdict="no column", candidates=candidates, assignment=assignment)
    verdict: Verdict = "equal" if None not in assignment else "not injective"
    return Matching(verdict=verdict, candidates=candidates, assignment=assignment)


def _all_equal(gold: Column, predicted: Column) -> bool:
    tolerance = gold.tolerance
    return all(g is p or equal(g, p, tolerance) for g, p in zip(gold.cells, predicted.cells, strict=True))


def _by_likeness(gold: Column, predicted: Sequence[Column]) -> list[int]:
    """Predicted columns with an equal header first, then the one in the same place, then in order: an honest answer is tried first."""
    return sorted(range(len(predicted)), key=lambda k: (predicted[k].name != gold.name, predicted[k].position != gold.position, k))


def _unordered(gold: Sequence[Column], predicted: Sequence[Column], n_rows: int) -> Matching:
    pairs: list[dict[int, ColumnPair]] = []
    for column in gold:
        found: dict[int, ColumnPair] = {}
        for k in _by_likeness(column, predicted):
            pair = pair_columns(column.cells, predicted[k].cells, column.tolerance)
            if pair is not None:
                found[k] = pair
        pairs.append(found)
    candidates = tuple(tuple(found) for found in pairs)
    first = tuple(bipartite_matching(candidates))
    if any(not found for found in pairs):
        return Matching(verdict="no column", candidates=candidates, assignment=first)
    if None in first:
        return Matching(verdict="not injective", candidates=candidates, assignment=first)
    search = _Search(gold, predicted, pairs, n_rows)
    try:
        assignment = search.run()
    except CapReachedError:
        return Matching(verdict="limit", candidates=candidates, assignment=first, n_tried=search.work.assignments)
    if assignment is None:
        return Matching(verdict="rows", candidates=candidates, assignment=first, n_tried=search.work.assignments)
    return Matching(verdict="equal", candidates=candidates, assignment=assignment, n_tried=search.work.assignments)


class _Search:
    """Depth-first over column assignments, rows refined into classes after each choice."""

    def __init__(self, gold: Sequence[Column], predicted: Sequence[Column], pairs: Sequence[dict[int, ColumnPair]], n_rows: int) -> None:
        self.gold, self.predicted, self.pairs, self.n_rows = gold, predicted, pairs, n_rows
        self.order = sorted(range(len(gold)), key=lambda i: len(pairs[i]))
        self.twin = _twins(predicted)
        self.work = Work()

    def run(self) -> tuple[int | None, ...] | None:
        """The predicted column of each gold column, or None where no assignment makes the rows agree."""
        found = self._choose(0, {}, [0] * self.n_rows, [0] * self.n_rows)
        return None if found is None else tuple(found[i] for i in range(len(self.gold)))

    def _choose(self, depth: int, chosen: dict[int, int], gold_class: list[int], predicted_class: list[int]) -> dict[int, int] | None:
        if depth == len(self.order):
            self.work.assignments += 1
            return dict(chosen) if self._rows_agree(chosen, gold_class, predicted_class) else None
        i = self.order[depth]
        taken, tried = set(chosen.values()), set()
        for k, pair in self.pairs[i].items():
            if k in taken or self.twin[k] in tried:
                continue
            tried.add(self.twin[k])
            self.work.look(self.n_rows)
            refined = _refine(gold_class, predicted_class, pair)
            if refined is None:
                self.work.assignments += depth + 1 == len(self.order)
                continue
            chosen[i] = k
            found = self._choose(depth + 1, chosen, *refined)
            if found is not None:
                return found
            del chosen[i]
        return None

    def _rows_agree(self, chosen: dict[int, int], gold_class: list[int], predicted_class: list[int]) -> bool:
        """Whether the rows of every class can be paired one to one; bags of classes are known to be equal."""
        loose = [i for i in sorted(chosen) if not self.pairs[i][chosen[i]].complete]
        if not loose:
            return True
        gold_rows = _grouped(gold_class, [self.gold[i].cells for i in loose])
        predicted_rows = _grouped(predicted_class, [self.predicted[chosen[i]].cells for i in loose])
        tolerances = [self.gold[i].tolerance for i in loose]
        return all(self._class_agrees(rows, predicted_rows[name], tolerances) for name, rows in gold_rows.items())

    def _class_agrees(self, gold: Counter[Any], predicted: Counter[Any], tolerances: Sequence[Tolerance]) -> bool:
        gold_rows, predicted_rows = list(gold), list(predicted)
        windows = _narrowest_windows(gold_rows, predicted_rows, tolerances)
        edges: list[list[int]] = []
        for g, window in zip(gold_rows, windows, strict=True):
            self.work.connect(len(window))
            edges.append([k for k in window if all(equal(a, b, t) for a, b, t in zip(g, predicted_rows[k], tolerances, strict=True))])
        return saturating_flow([gold[g] for g in gold_rows], [predicted[p] for p in predicted_rows], edges)


def _refine(gold_class: list[int], predicted_class: list[int], pair: ColumnPair) -> tuple[list[int], list[int]] | None:
    """Both sides' classes split by the pair's keys, or None where the bags of classes differ."""
    names: dict[tuple[int, Any], int] = {}
    gold = [names.setdefault(item, len(names)) for item in zip(gold_class, pair.gold_keys, strict=True)]
    n_gold = len(names)
    predicted = [names.setdefault(item, len(names)) for item in zip(predicted_class, pair.predicted_keys, strict=True)]
    if len(names) != n_gold or Counter(gold) != Counter(predicted):
        return None
    return gold, predicted


def _narrowest_windows(gold: Sequence[Any], predicted: Sequence[Any], tolerances: Sequence[Tolerance]) -> list[Sequence[int]]:
    """For each gold row the predicted rows worth comparing, by the column in which these are fewest."""
    every = [range(len(predicted))] * len(gold)
    best: list[Sequence[int]] = list(every)
    for c, tolerance in enumerate(tolerances):
        windows = windows_of([row[c] for row in gold], [row[c] for row in predicted], tolerance)
        if windows is not None and sum(map(len, windows)) < sum(map(len, best)):
            best = list(windows)
    return best


def _grouped(classes: Sequence[int], columns: Sequence[Sequence[Cell]]) -> dict[int, Counter[Any]]:
    """Per class the distinct rows of these columns with their counts."""
    groups: dict[int, Counter[Any]] = {}
    for name, row in zip(classes, zip(*columns, strict=True), strict=True):
        groups.setdefault(name, Counter())[row] += 1
    return groups


def _twins(columns: Sequence[Column]) -> list[int]:
    """For each column the first one that holds the very same cells: of twins only one needs trying."""
    seen: dict[tuple[Cell, ...], int] = {}
    return [seen.setdefault(tuple(column.cells), k) for k, column in enumerate(columns)]
