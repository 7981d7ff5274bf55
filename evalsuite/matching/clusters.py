"""Two columns as bags: keys under which equal cells meet, with clusters where a tolerance lets numbers be equal."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from evalsuite.matching.values import Cell, Number, Tolerance, accepted_interval, equal, key

# From here on a whole number that was written as a decimal can be within rel 1e-9 of more than one integer.
_BIG: Final = 2e8
# A cluster with more pairs of distinct cells than this is called incomplete without looking: the flow decides.
_PAIRS_LOOKED_AT: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPair:
    """A gold and a predicted column whose bags of keys are equal: n_rows keys each.

    `complete` says that cells with equal keys are always equal, so that the keys alone decide.
    """

    gold_keys: Sequence[Any]
    predicted_keys: Sequence[Any]
    complete: bool


def pair_columns(gold: Sequence[Cell], predicted: Sequence[Cell], tolerance: Tolerance) -> ColumnPair | None:
    """The pair, or None where no order of the rows can make the columns equal."""
    if not _needs_clusters(gold, predicted, tolerance):
        gold_keys, predicted_keys = [key(cell) for cell in gold], [key(cell) for cell in predicted]
        if Counter(gold_keys) != Counter(predicted_keys):
            return None
        return ColumnPair(gold_keys=gold_keys, predicted_keys=predicted_keys, complete=True)
    return _pair_by_clusters(gold, predicted, tolerance)


def _needs_clusters(gold: Sequence[Cell], predicted: Sequence[Cell], tolerance: Tolerance) -> bool:
    if tolerance.integers and any(isinstance(cell, int) for cell in gold):
        return True
    return any(isinstance(cell, Number) for cell in gold) or any(isinstance(cell, Number) and _loose(cell) for cell in predicted)


def _loose(cell: Number) -> bool:
    """Whether a predicted decimal may equal an integer that is not its own key."""
    return abs(cell.value) > _BIG or cell.exact != cell.exact.to_integral_value()


def _pair_by_clusters(gold: Sequence[Cell], predicted: Sequence[Cell], tolerance: Tolerance) -> ColumnPair | None:
    gold_bag, predicted_bag = Counter(gold), Counter(predicted)
    names, clusters = _clusters(list(gold_bag), list(predicted_bag), tolerance)
    gold_keys = [names[0].get(cell, cell) for cell in gold]
    predicted_keys = [names[1].get(cell, cell) for cell in predicted]
    if Counter(gold_keys) != Counter(predicted_keys):
        return None
    complete = True
    for points, intervals in clusters:
        if _all_pairs_equal(points, intervals, tolerance):
            continue
        complete = False
        if not _greedy(points, intervals, gold_bag, predicted_bag, tolerance):
            return None
    return ColumnPair(gold_keys=gold_keys, predicted_keys=predicted_keys, complete=complete)


def _clusters(
    gold: Sequence[Cell], predicted: Sequence[Cell], tolerance: Tolerance
) -> tuple[tuple[dict[Cell, Any], dict[Cell, Any]], list[tuple[list[Cell], list[Cell]]]]:
    """Names of clusters for the numbers of either side, and each cluster's distinct gold and predicted cells.

    A number that no chain reaches from the other side is a cluster of its own, which the bags will refuse.
    """
    events: list[tuple[float, float, bool, Cell]] = []
    for cell in gold:
        value = _value(cell)
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


def _value(cell: Cell) -> float | None:
    """A finite number's place on the line, None for every other cell."""
    if isinstance(cell, Number):
        return cell.value
    if isinstance(cell, int):
        try:
            return float(cell)
        except OverflowError:
            return None
    return None


def _all_pairs_equal(points: Sequence[Cell], intervals: Sequence[Cell], tolerance: Tolerance) -> bool:
    if len(points) * len(intervals) > _PAIRS_LOOKED_AT:
        return False
    return all(equal(g, p, tolerance) for g in points for p in intervals)


def _greedy(
    points: Sequence[Cell], intervals: Sequence[Cell], gold_bag: Counter[Cell], predicted_bag: Counter[Cell], tolerance: Tolerance
) -> bool:
    """Whether the points can be covered one to one by the intervals: always the open interval with the earliest right end.

    A necessary condition only, because the intervals are the widest that a prediction may accept; rows are decided by `equal`.
    """
    import heapq

    waiting = sorted(((*_interval(p, tolerance), predicted_bag[p]) for p in intervals), key=lambda item: item[0])
    places = sorted((_value(g) or 0.0, gold_bag[g]) for g in points)
    heap: list[list[float]] = []
    at = 0
    for place, needed in places:
        while at < len(waiting) and waiting[at][0] <= place:
            heapq.heappush(heap, [waiting[at][1], waiting[at][2]])
            at += 1
        if heap and heap[0][0] < place:
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


def windows_of(gold: Sequence[Cell], predicted: Sequence[Cell], tolerance: Tolerance) -> list[Sequence[int]] | None:
    """For each gold number the indices of the predictions near enough to be looked at; None where a cell is no number."""
    places = [_value(cell) for cell in predicted]
    if any(place is None for place in places):
        return None
    order = sorted(range(len(predicted)), key=lambda k: places[k] or 0.0)
    line = [places[k] or 0.0 for k in order]
    rounding = 0.005 if tolerance.rounding else 0.0
    windows: list[Sequence[int]] = []
    for cell in gold:
        value = _value(cell)
        if value is None:
            return None
        reach = max(abs(value) * max(tolerance.rel, 1e-9), tolerance.abs, rounding) * (1 + 1e-9)
        windows.append(order[bisect_left(line, value - reach) : bisect_right(line, value + reach)])
    return windows


def _interval(cell: Cell, tolerance: Tolerance) -> tuple[float, float]:
    interval = accepted_interval(cell, tolerance)
    assert interval is not None
    return interval
