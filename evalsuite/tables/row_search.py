"""The search for an assignment of columns under which the rows of two tables can be paired one to one, in counted work.

Columns are assigned one by one, fewest candidates first. After each choice rows are split into classes by their keys so far, and the
choice is dropped where the two sides' bags of classes differ. At the end, if a cluster held cells that are not all equal to each
other, a flow between the rows of each class decides.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evalsuite.tables.clusters import ColumnPair, windows_of
from evalsuite.tables.flows import saturating_flow
from evalsuite.tables.strict_cells import Cell, equal, key
from evalsuite.texts.numbers import Tolerance

CELL_CAP: Final = 5_000_000
EDGE_CAP: Final = 3_000_000
FLOW_CAP: Final = 10_000_000
# Grouping rows, pairing equal ones and looking for windows is about this much work for a cell.
_LOOKS_AT_END: Final = 4

Rows = Counter[tuple[Cell, ...]]


class CapReachedError(Exception):
    """The counted work reached its cap."""


@dataclass(slots=True)
class Work:
    """Counted work: cells looked at (`free` of them beyond the cap), edges between rows, edges walked by flows, assignments tried."""

    free: int = 0
    cells: int = 0
    edges: int = 0
    walked: int = 0
    assignments: int = 0

    def look(self, n: int) -> None:
        """Count n cells; raises `CapReachedError` past the cap."""
        self.cells += n
        if self.cells > CELL_CAP + self.free:
            raise CapReachedError

    def connect(self, n: int) -> None:
        """Count n possible edges; raises `CapReachedError` past the cap."""
        self.edges += n
        if self.edges > EDGE_CAP:
            raise CapReachedError

    def walk(self, n: int) -> None:
        """Count n edges that a flow looked at; raises `CapReachedError` past the cap."""
        self.walked += n
        if self.walked > FLOW_CAP:
            raise CapReachedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """Rows told apart so far: the class of each gold and of each predicted row, n classes in all, as large on one side as on the other."""

    gold: list[int]
    predicted: list[int]
    n: int

    def split(self, pair: ColumnPair) -> "Classes | None":
        """The classes split by the pair's keys, or None where the bags of classes differ."""
        names: dict[tuple[int, Any], int] = {}
        gold = [names.setdefault(item, len(names)) for item in zip(self.gold, pair.gold_keys, strict=True)]
        n_names = len(names)
        predicted = [names.setdefault(item, len(names)) for item in zip(self.predicted, pair.predicted_keys, strict=True)]
        if len(names) != n_names or Counter(gold) != Counter(predicted):
            return None
        return self if n_names == self.n else Classes(gold=gold, predicted=predicted, n=n_names)


class RowSearch:
    """Depth first over assignments. `options[i]` holds the predicted columns that gold column i may take, in the order of trying.

    `classes` says for each place which rows may change places with each other; `twin[k]` is equal for predicted columns that hold the
    very same cells, of which only one needs trying.
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
        """The predicted column of each gold column, or None where no assignment makes the rows agree. Raises `CapReachedError`."""
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
        """The choices for the next column that keep the bags of classes equal."""
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
        """Whether the rows of every class can be paired one to one; bags of classes are known to be equal."""
        loose = [i for i in assignment if not self.options[i][assignment[i]].complete]
        if not loose:
            return True
        self.work.look(_LOOKS_AT_END * len(loose) * len(classes.gold))
        loose.sort(key=lambda i: self._width(i, assignment[i]))
        pairs = [self.options[i][assignment[i]] for i in loose]
        gold_rows = _grouped(classes.gold, [pair.gold.cells for pair in pairs])
        predicted_rows = _grouped(classes.predicted, [pair.predicted.cells for pair in pairs])
        tolerances = [self.tolerances[i] for i in loose]
        return all(self._class_agrees(rows, predicted_rows[name], tolerances) for name, rows in gold_rows.items())

    def _width(self, i: int, k: int) -> int:
        """How many predicted cells are near enough to a gold cell to be looked at, summed over the distinct cells of a pair."""
        if (i, k) not in self._widths:
            pair = self.options[i][k]
            windows = windows_of(list(pair.gold.distinct), list(pair.predicted.distinct), self.tolerances[i])
            self._widths[i, k] = windows.width if windows is not None else len(pair.gold.cells) ** 2
        return self._widths[i, k]

    def _class_agrees(self, gold: Rows, predicted: Rows, tolerances: Sequence[Tolerance]) -> bool:
        """Rows that are plainly equal are paired first. That can only lead to a yes: {0, 1} and {1, 2} agree at tolerance 1."""
        gold_left, predicted_left = _without_equal_rows(gold, predicted)
        if not gold_left or self._flows(gold_left, predicted_left, tolerances):
            return True
        return gold_left.total() < gold.total() and self._flows(gold, predicted, tolerances)

    def _flows(self, gold: Rows, predicted: Rows, tolerances: Sequence[Tolerance]) -> bool:
        gold_rows, predicted_rows = list(gold), list(predicted)
        windows = windows_of([row[0] for row in gold_rows], [row[0] for row in predicted_rows], tolerances[0])
        edges: list[list[int]] = []
        for row, g in enumerate(gold_rows):
            window = windows[row] if windows is not None else range(len(predicted_rows))
            self.work.connect(len(window))
            edges.append([k for k in window if all(map(equal, g, predicted_rows[k], tolerances))])
            if not edges[-1]:
                return False
        supply, demand = [gold[g] for g in gold_rows], [predicted[p] for p in predicted_rows]
        return saturating_flow(supply, demand, edges, self.work.walk)


def _grouped(classes: Sequence[int], columns: Sequence[Sequence[Cell]]) -> dict[int, Rows]:
    """Per class the distinct rows of these columns with their counts."""
    groups: dict[int, Rows] = {}
    for name, row in zip(classes, zip(*columns, strict=True), strict=True):
        groups.setdefault(name, Counter())[row] += 1
    return groups


def _without_equal_rows(gold: Rows, predicted: Rows) -> tuple[Rows, Rows]:
    """What is left of both sides when rows with equal keys are paired off."""
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
