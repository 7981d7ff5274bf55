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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from evalsuite.tables.clusters import ColumnPair, cannot_pair, pair_columns
from evalsuite.tables.columns import Column, Matching, decided, in_likely_order, likely_columns, matched_as
from evalsuite.tables.evidence import Evidence
from evalsuite.tables.outlines import Outline, Shelf
from evalsuite.tables.row_bags import match_bags
from evalsuite.tables.row_search import CapReachedError, RowSearch, Work
from evalsuite.tables.strict_cells import Cell, equal, readings
from evalsuite.tables.strict_columns import Cells
from evalsuite.texts.numbers import Tolerance

# So many columns with the same first rows are looked at before all others.
_TWINS_TRIED: Final = 8


def match_columns(
    gold: Sequence[Column],
    predicted: Sequence[Column],
    *,
    n_gold: int,
    n_predicted: int,
    ordered: bool,
    ties: Sequence[int] | None = None,
    evidence: Evidence | None = None,
) -> Matching:
    """The strict verdict on needed gold columns against all predicted ones, of n_gold and n_predicted rows.

    Where order counts, rows of the same number in `ties` (one for each row) may still change places.
    """
    if len(predicted) < len(gold) or n_gold != n_predicted:
        return Matching(verdict="shape")
    if n_gold == 0 or not gold:
        return matched_as(range(len(gold)))
    assert evidence is not None
    found = _matched(gold, predicted, ordered, ties, evidence)
    if not (found.is_equal and crossed(found, gold, predicted)):
        return found
    heeding = _matched(gold, predicted, ordered, ties, evidence, heeds_labels=True)
    return heeding if heeding.verdict in ("equal", "limit") else replace(found, verdict="labels")


def crossed(matching: Matching, gold: Sequence[Column], predicted: Sequence[Column]) -> list[tuple[int, int]]:
    """The pairs of a full assignment (indices) whose labels contradict each other."""
    return [(i, k) for i, k in enumerate(matching.assignment) if k is not None and gold[i].contradicts(predicted[k])]


def _matched(
    gold: Sequence[Column],
    predicted: Sequence[Column],
    ordered: bool,
    ties: Sequence[int] | None,
    evidence: Evidence,
    *,
    heeds_labels: bool = False,
) -> Matching:
    n_rows = evidence.n_rows
    if not ordered:
        quick = match_bags(gold, predicted, evidence, heeds_labels) if evidence.packed is not None else None
        return quick or _unordered(gold, predicted, [0] * n_rows, heeds_labels)
    found = _ordered(gold, predicted, heeds_labels, evidence)
    if found.is_equal or ties is None or len(set(ties)) == n_rows:
        return found
    # What is wrong is told row by row all the same: the order is what gold asked for.
    moved = _unordered(gold, predicted, ties, heeds_labels)
    return replace(moved, moved=True) if moved.is_equal else found


def _likely(gold: Sequence[Column], predicted: Sequence[Column], heeds_labels: bool) -> list[int] | None:
    found = likely_columns(gold, predicted)
    if found is None or (heeds_labels and any(gold[i].contradicts(predicted[k]) for i, k in enumerate(found))):
        return None
    return found


def _ordered(gold: Sequence[Column], predicted: Sequence[Column], heeds_labels: bool, evidence: Evidence) -> Matching:
    """Each column beside its likely partner first; the others are looked at only for a column whose partner is unequal."""
    likely = likely_columns(gold, predicted)
    if likely is not None:
        evidence.look([(column.position, predicted[k].position) for column, k in zip(gold, likely, strict=True)])
    twins: dict[tuple[str, ...], list[int]] = {}
    for k, column in enumerate(predicted):
        twins.setdefault(tuple(map(repr, evidence.heads[1].columns[column.position])), []).append(k)
    chosen: dict[int, int] = {}
    candidates: list[list[int]] = []
    for i, column in enumerate(gold):
        allowed = [k for k in range(len(predicted)) if not (heeds_labels and column.contradicts(predicted[k]))]
        alike = twins.get(tuple(map(repr, evidence.heads[0].columns[column.position])), ())
        first = [k for k in ([likely[i]] if likely is not None else [*alike[:_TWINS_TRIED]]) if k in allowed]
        found = next((k for k in first if k not in chosen and column_fits(column, predicted[k], evidence)), None)
        if found is None:
            near = [k for k in in_likely_order(column, predicted, allowed) if heads_fit(column, predicted[k], evidence)]
            evidence.look([(column.position, predicted[k].position) for k in near])
            fits = (k for k in near if column_fits(column, predicted[k], evidence))
            own = []
            # One that no other column has is enough for now.
            for k in fits:
                own.append(k)
                if k not in chosen:
                    break
            candidates.append(own)
            found = next((k for k in own if k not in chosen), None)
        else:
            candidates.append([found])
        if found is not None:
            chosen[found] = i
    if all(candidates) and len(chosen) < len(gold):
        # Which of them goes to which is asked only where each has one.
        candidates = [_all_fitting(column, predicted, heeds_labels, evidence) for column in gold]
    if len(chosen) == len(gold):
        return matched_as([k for k, _ in sorted(chosen.items(), key=lambda pair: pair[1])])
    return decided(candidates, "equal")


def _all_fitting(gold: Column, predicted: Sequence[Column], heeds_labels: bool, evidence: Evidence) -> list[int]:
    near = [
        k for k, column in enumerate(predicted) if not (heeds_labels and gold.contradicts(column)) and heads_fit(gold, column, evidence)
    ]
    return in_likely_order(gold, predicted, [k for k in near if column_fits(gold, predicted[k], evidence)])


def heads_fit(gold: Column, predicted: Column, evidence: Evidence) -> bool:
    """Whether the first rows of two columns leave open that they are equal."""
    if gold.has_percent or predicted.has_percent:
        return True
    a, b = _head(0, gold, evidence), _head(1, predicted, evidence)
    return all(x is y or equal(x, y, gold.tolerance) for x, y in zip(a, b, strict=True))


def _head(side: int, column: Column, evidence: Evidence) -> list[Cell]:
    name = ("head", side, column.position, column.read)
    if name not in evidence.known:
        evidence.known[name] = list(map(column.read, evidence.heads[side].columns[column.position]))
    found: list[Cell] = evidence.known[name]
    return found


def column_fits(gold: Column, predicted: Column, evidence: Evidence) -> bool:
    """Whether a predicted column equals gold in every row. Their first rows are compared first."""
    if gold.has_percent or predicted.has_percent:
        return any(
            all(a is b or equal(a, b, gold.tolerance) for a, b in zip(g, p, strict=True))
            for g, p in readings(list(gold.cells), list(predicted.cells))
        )
    return heads_fit(gold, predicted, evidence) and next(differing_cells(gold, predicted, evidence), None) is None


def differing_cells(gold: Column, predicted: Column, evidence: Evidence) -> Iterator[tuple[int, Cell, Cell]]:
    """(row, gold cell, predicted cell) of the rows in which the cells are unequal, from above."""
    i, k = gold.position, predicted.position
    for row, a, b in evidence.cells(i, k, evidence.suspects(i, k, gold.tolerance)):
        mine, theirs = gold.read(a), predicted.read(b)
        if not equal(mine, theirs, gold.tolerance):
            yield row, mine, theirs


def _unordered(gold: Sequence[Column], predicted: Sequence[Column], classes: Sequence[int], heeds_labels: bool) -> Matching:
    """The verdict where rows of the same class may change places."""
    # What an honest answer needs is free, twice: a look at each of its columns alone, one beside the others, four at the end.
    work = Work(free=12 * len(classes) * len(gold))
    pairs = _Pairs(gold, predicted, classes, work, heeds_labels)
    try:
        likely = _likely(gold, predicted, heeds_labels)
        if likely is not None and pairs.same_rows(likely):
            return matched_as(likely)
        if likely is not None:
            options = [pairs.among(i, [k]) for i, k in enumerate(likely)]
            if all(options) and pairs.search(options) is not None:
                return matched_as(likely)
        options = pairs.all()
        found = decided([list(own) for own in options], "rows")
        if found.verdict != "rows":
            return found
        work.assignments = 0
        assignment = pairs.search(options)
    except CapReachedError:
        return Matching(verdict="limit", n_tried=work.assignments)
    if assignment is None:
        return replace(found, n_tried=work.assignments)
    return replace(found, verdict="equal", assignment=assignment, n_tried=work.assignments)


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
        self._gold_outlines, self._outlines = (
            [column.cells.outline() if isinstance(column.cells, Cells) else Outline(column.cells) for column in side]
            for side in (gold, predicted)
        )
        self._gold_twins, self._twins = _Twins(gold), _Twins(predicted, heeds_labels)
        self._known: dict[tuple[int, Tolerance, int], ColumnPair | None] = {}

    def all(self) -> list[dict[int, ColumnPair]]:
        """For each gold column all that it may take."""
        shelf = Shelf(self._outlines)
        return [self.among(i, shelf.near(self._gold_outlines[i], column.tolerance)) for i, column in enumerate(self.gold)]

    def among(self, i: int, chosen: Iterable[int]) -> dict[int, ColumnPair]:
        """The columns of `chosen` that gold column i may take: the nearest by their sorted numbers first, then by likeness."""
        found = {k: pair for k in chosen if (pair := self._pair(i, k)) is not None}
        likely = in_likely_order(self.gold[i], self.predicted, found)
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
