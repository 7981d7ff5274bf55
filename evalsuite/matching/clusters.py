"""Two columns as bags: keys under which equal cells meet, with clusters where a tolerance lets numbers be equal."""

import heapq
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from evalsuite.matching.outlines import Outline, place
from evalsuite.matching.values import INT_REL_TOL, SLACK, Cell, Number, Tolerance, accepted_interval, close, equal

# A cluster with more pairs of distinct cells than this is called incomplete without looking: the flow decides.
_PAIRS_LOOKED_AT: Final = 2_000
_INTEGERS_ONLY: Final = Tolerance(rel=INT_REL_TOL, abs=0.0, rounding=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPair:
    """A gold and a predicted column whose bags of keys are equal: n_rows keys each.

    `complete` says that cells with equal keys are always equal, so that the keys alone decide.
    """

    gold_keys: Sequence[Any]
    predicted_keys: Sequence[Any]
    complete: bool


def pair_columns(gold: Outline, predicted: Outline, tolerance: Tolerance) -> ColumnPair | None:
    """The pair, or None where no order of the rows can make the columns equal."""
    if cannot_pair(gold, predicted, tolerance):
        return None
    if not _needs_clusters(gold, predicted, tolerance):
        return ColumnPair(gold_keys=gold.keys, predicted_keys=predicted.keys, complete=True)
    if not gold.has_decimals and not tolerance.integers:
        tolerance = _INTEGERS_ONLY
    return _pair_by_clusters(gold, predicted, tolerance)


def cannot_pair(gold: Outline, predicted: Outline, tolerance: Tolerance) -> bool:
    """Whether a cheap look rules the pair out.

    If numbers can be paired within a distance at all, then they can in order of size: the i-th smallest with the i-th smallest.
    """
    if not _needs_clusters(gold, predicted, tolerance):
        return gold.bag_hash != predicted.bag_hash or gold.bag != predicted.bag
    a, b = gold.line, predicted.line
    if len(a) != len(b) or gold.others != predicted.others:
        return True
    reach = predicted.reach(tolerance)
    return bool(a) and any(abs(a[k] - b[k]) > reach for k in (0, len(a) // 2, -1))


def _needs_clusters(gold: Outline, predicted: Outline, tolerance: Tolerance) -> bool:
    return gold.has_decimals or predicted.has_loose or (tolerance.integers and gold.has_integers)


def _pair_by_clusters(gold: Outline, predicted: Outline, tolerance: Tolerance) -> ColumnPair | None:
    names, clusters = _clusters(gold.distinct, predicted.distinct, tolerance)
    gold_keys = [names[0].get(cell, cell) for cell in gold.cells]
    predicted_keys = [names[1].get(cell, cell) for cell in predicted.cells]
    if Counter(gold_keys) != Counter(predicted_keys):
        return None
    complete, same = True, gold.bag == predicted.bag
    for points, intervals in clusters:
        if _all_pairs_equal(points, intervals, tolerance):
            continue
        complete = False
        if not same and not _greedy(points, intervals, gold.distinct, predicted.distinct, tolerance):
            return None
    return ColumnPair(gold_keys=gold_keys, predicted_keys=predicted_keys, complete=complete)


def _clusters(
    gold: Counter[Cell], predicted: Counter[Cell], tolerance: Tolerance
) -> tuple[tuple[dict[Cell, Any], dict[Cell, Any]], list[tuple[list[Cell], list[Cell]]]]:
    """Names of clusters for the numbers of either side, and each cluster's distinct gold and predicted cells.

    A number that no chain reaches from the other side is a cluster of its own, which the bags will refuse.
    """
    events: list[tuple[float, float, bool, Cell]] = []
    for cell in gold:
        value = place(cell)
        if value is not None:
            events.append((value, value, True, cell))
    for cell in predicted:
        interval = accepted_interval(cell, tolerance)
        if interval is not None:
            events.append((*interval, False, cell))
    events.sort(key=lambda event: event[:2])
    names: tuple[dict[Cell, Any], dict[Cell, Any]] = ({}, {})
    clusters: list[tuple[list[Cell], list[Cell]]] = []
    reach = float("-inf")
    for low, high, is_gold, cell in events:
        if not clusters or low > reach:
            clusters.append(([], []))
            reach = high
        reach = max(reach, high)
        clusters[-1][0 if is_gold else 1].append(cell)
        names[0 if is_gold else 1][cell] = ("cluster", len(clusters))
    return names, clusters


def _all_pairs_equal(points: Sequence[Cell], intervals: Sequence[Cell], tolerance: Tolerance) -> bool:
    """Whether every gold cell of a cluster equals every predicted one. If the far ends are within tolerance, so is all between them."""
    if not points or not intervals:
        return True
    ends = ((min(points, key=_place_of), max(intervals, key=_place_of)), (max(points, key=_place_of), min(intervals, key=_place_of)))
    if not all(equal(g, p, tolerance) for g, p in ends):
        return False
    tolerant = tolerance.integers or all(isinstance(g, Number) for g in points)
    if tolerant and all(close(g.exact if isinstance(g, Number) else Decimal(g), p, tolerance) for g, p in ends):
        return True
    if len(points) * len(intervals) > _PAIRS_LOOKED_AT:
        return False
    return all(equal(g, p, tolerance) for g in points for p in intervals)


def _place_of(cell: Cell) -> float:
    return place(cell) or 0.0


def _greedy(
    points: Sequence[Cell], intervals: Sequence[Cell], gold_bag: Counter[Cell], predicted_bag: Counter[Cell], tolerance: Tolerance
) -> bool:
    """Whether the points can be covered one to one by the intervals: always the open interval with the earliest right end.

    A necessary condition only, because the intervals are the widest that a prediction may accept; rows are decided by `equal`.
    """
    waiting = sorted(((*_interval(p, tolerance), predicted_bag[p]) for p in intervals), key=lambda item: item[0])
    places = sorted((_place_of(g), gold_bag[g]) for g in points)
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
    return not heap and at == len(waiting)


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """For each gold number the predictions near enough to be looked at: a stretch (start, stop) of `order`."""

    order: Sequence[int]
    stretches: Sequence[tuple[int, int]]

    @property
    def width(self) -> int:
        """How many pairs there are to look at."""
        return sum(stop - start for start, stop in self.stretches)

    def __getitem__(self, row: int) -> Sequence[int]:
        """The indices of the predictions to compare with gold number `row`."""
        start, stop = self.stretches[row]
        return self.order[start:stop]


def windows_of(gold: Sequence[Cell], predicted: Sequence[Cell], tolerance: Tolerance) -> Windows | None:
    """The windows of gold numbers among predicted ones; None where a cell is no number."""
    places = [place(cell) for cell in predicted]
    if any(value is None for value in places) or any(place(cell) is None for cell in gold):
        return None
    order = sorted(range(len(predicted)), key=lambda k: places[k] or 0.0)
    line = [places[k] or 0.0 for k in order]
    half = max((0.5 * 10.0**-cell.decimals for cell in predicted if isinstance(cell, Number) and cell.decimals >= 2), default=0.0)
    rel, least = max(tolerance.rel, INT_REL_TOL), max(tolerance.abs, half if tolerance.rounding else 0.0)
    stretches = []
    for cell in gold:
        value = _place_of(cell)
        exact = isinstance(cell, int) and not tolerance.integers
        near = (abs(value) * INT_REL_TOL if exact else max(abs(value) * rel, least)) * SLACK
        stretches.append((bisect_left(line, value - near), bisect_right(line, value + near)))
    return Windows(order=order, stretches=stretches)


def _interval(cell: Cell, tolerance: Tolerance) -> tuple[float, float]:
    interval = accepted_interval(cell, tolerance)
    assert interval is not None
    return interval
