"""Pair two columns as multisets: equal cells share a key, and numbers within a tolerance of each other form a group with one key."""

import heapq
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from evalsuite.compare.column_profiles import ColumnProfile, place
from evalsuite.compare.numbers import SLACK, ZERO_TOL, Number, Tolerance, exact_of, reach, within
from evalsuite.compare.strict_cells import Cell, equal

# A group with more pairs of distinct cells than this is marked incomplete without comparing them: the flow decides.
_PAIRS_LOOKED_AT: Final = 2_000
# Numbers that show more decimals than this are searched as if they showed this many: half of that last place is negligible.
_MOST_DECIMALS: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPair:
    """A gold and a predicted column, in one reading, whose multisets of keys are equal: n_rows keys each.

    `complete` means that cells with equal keys are always equal, so that the keys alone decide.
    """

    gold: ColumnProfile
    predicted: ColumnProfile
    gold_keys: Sequence[Any]
    predicted_keys: Sequence[Any]
    complete: bool


def pair_columns(gold: ColumnProfile, predicted: ColumnProfile, tolerance: Tolerance) -> ColumnPair | None:
    """The pair, in the first reading of percent signs that allows one, or None if no order of the rows can make the columns equal."""
    for g, p in _readings(gold, predicted):
        if _cannot_pair(g, p, tolerance):
            continue
        if not _needs_clusters(g, p, tolerance):
            return ColumnPair(gold=g, predicted=p, gold_keys=g.keys, predicted_keys=p.keys, complete=True)
        pair = _pair_by_clusters(g, p, tolerance)
        if pair is not None:
            return pair
    return None


def cannot_pair(gold: ColumnProfile, predicted: ColumnProfile, tolerance: Tolerance) -> bool:
    """Whether a cheap test rules the pair out.

    If numbers can be paired within a distance at all, then they can in ascending order: the i-th smallest with the i-th smallest.
    """
    return all(_cannot_pair(g, p, tolerance) for g, p in _readings(gold, predicted))


def _readings(gold: ColumnProfile, predicted: ColumnProfile) -> Sequence[tuple[ColumnProfile, ColumnProfile]]:
    """The columns in each reading of their percent signs, the same for both."""
    a, b = gold.readings, predicted.readings
    n = max(len(a), len(b))
    return [(a[i if len(a) > 1 else 0], b[i if len(b) > 1 else 0]) for i in range(n)]


def _cannot_pair(gold: ColumnProfile, predicted: ColumnProfile, tolerance: Tolerance) -> bool:
    if not _needs_clusters(gold, predicted, tolerance):
        return gold.bag_hash != predicted.bag_hash or gold.bag != predicted.bag
    a, b = gold.line, predicted.line
    if len(a) != len(b) or gold.others != predicted.others:
        return True
    reach = predicted.reach(tolerance, gold.coarsest)
    return bool(a) and any(abs(a[k] - b[k]) > reach for k in (0, len(a) // 2, -1))


def _needs_clusters(gold: ColumnProfile, predicted: ColumnProfile, tolerance: Tolerance) -> bool:
    return gold.coarsest is not None or predicted.has_loose or (tolerance.own and gold.has_integers)


def _pair_by_clusters(gold: ColumnProfile, predicted: ColumnProfile, tolerance: Tolerance) -> ColumnPair | None:
    # For each predicted number the widest interval (low, high) of gold numbers that it may equal.
    intervals = {}
    for cell in predicted.distinct:
        if isinstance(cell, int | Number) and (span := reach(cell, tolerance, gold.coarsest)) is not None:
            value = _place_of(cell)
            intervals[cell] = (value - span, value + span)
    names, clusters = _clusters(gold.distinct, intervals)
    gold_keys = [names[0].get(cell, cell) for cell in gold.cells]
    predicted_keys = [names[1].get(cell, cell) for cell in predicted.cells]
    if Counter(gold_keys) != Counter(predicted_keys):
        return None
    complete, same = True, gold.bag == predicted.bag
    for points, accepting in clusters:
        if _all_pairs_equal(points, accepting, tolerance):
            continue
        complete = False
        if len(points) * len(accepting) <= _PAIRS_LOOKED_AT and not _all_have_one(points, accepting, tolerance):
            return None
        if not same and not _greedy(points, [(*intervals[p], predicted.distinct[p]) for p in accepting], gold.distinct):
            return None
    return ColumnPair(gold=gold, predicted=predicted, gold_keys=gold_keys, predicted_keys=predicted_keys, complete=complete)


def _clusters(
    gold: Counter[Cell], intervals: dict[Cell, tuple[float, float]]
) -> tuple[tuple[dict[Cell, Any], dict[Cell, Any]], list[tuple[list[Cell], list[Cell]]]]:
    """Group names for the numbers of either side, and each group's distinct gold and predicted cells.

    A number that no chain reaches from the other side is a group of its own, which the multisets will reject.
    """
    events: list[tuple[float, float, bool, Cell]] = [(low, high, False, cell) for cell, (low, high) in intervals.items()]
    events += [(value, value, True, cell) for cell in gold if (value := place(cell)) is not None]
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


def _all_have_one(points: Sequence[Cell], accepting: Sequence[Cell], tolerance: Tolerance) -> bool:
    """Whether each gold cell of a group equals some predicted one, and the reverse."""
    pairs = [[equal(point, cell, tolerance) for cell in accepting] for point in points]
    return all(map(any, pairs)) and all(map(any, zip(*pairs, strict=True)))


def _all_pairs_equal(points: Sequence[Cell], intervals: Sequence[Cell], tolerance: Tolerance) -> bool:
    """Whether every gold cell of a group equals every predicted one."""
    if not points or not intervals:
        return True
    if tolerance.own and _spans(points, intervals, tolerance):
        return True
    if len(points) * len(intervals) > _PAIRS_LOOKED_AT:
        return False
    return all(equal(g, p, tolerance) for g in points for p in intervals)


def _spans(points: Sequence[Cell], intervals: Sequence[Cell], tolerance: Tolerance) -> bool:
    """Whether a check's own tolerance covers even the two ends of a group, so that all cells between them are equal."""
    golds, predictions = list(map(exact_of, points)), list(map(exact_of, intervals))
    low, high = min(golds), max(golds)
    # The share of gold is smallest for the smallest gold.
    smallest = min(abs(low), abs(high)) if low * high > 0 else Decimal(0)
    return all(within(distance, smallest, tolerance) for distance in (abs(max(predictions) - low), abs(high - min(predictions))))


def _place_of(cell: Cell) -> float:
    return place(cell) or 0.0


def _greedy(points: Sequence[Cell], accepting: Sequence[tuple[float, float, int]], bag: Counter[Cell]) -> bool:
    """Whether the points can be covered one to one by the intervals (low, high, how often): always use the open one with the earliest end.

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
    return not heap and at == len(waiting)


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """For each gold number the predictions near enough to be compared: ranges (start, stop) of the `orders` by decimals shown."""

    orders: Sequence[Sequence[int]]
    stretches: Sequence[Sequence[tuple[int, int]]]

    @property
    def width(self) -> int:
        """The number of pairs to compare."""
        return sum(stop - start for row in self.stretches for start, stop in row)

    def __getitem__(self, row: int) -> list[int]:
        """The indices of the predictions to compare with gold number `row`."""
        return [k for order, (start, stop) in zip(self.orders, self.stretches[row], strict=True) for k in order[start:stop]]


def windows_of(gold: Sequence[Cell], predicted: Sequence[Cell], tolerance: Tolerance) -> Windows | None:
    """The windows of gold numbers among predicted ones; None if a cell is not a number."""
    places = [place(cell) for cell in predicted]
    if any(value is None for value in places) or any(place(cell) is None for cell in gold):
        return None
    groups: dict[int, list[int]] = {}
    for k, cell in enumerate(predicted):
        groups.setdefault(0 if tolerance.own else _shown(cell), []).append(k)
    orders = [sorted(group, key=lambda k: places[k] or 0.0) for group in groups.values()]
    lines = [[places[k] or 0.0 for k in order] for order in orders]
    stretches = []
    for cell in gold:
        value, row = _place_of(cell), []
        for decimals, line in zip(groups, lines, strict=True):
            near = _nearness(cell, decimals, tolerance)
            row.append((bisect_left(line, value - near), bisect_right(line, value + near)))
        stretches.append(row)
    return Windows(orders=orders, stretches=stretches)


def _shown(cell: Cell) -> int:
    return min(cell.decimals, _MOST_DECIMALS) if isinstance(cell, Number) else 0


def _nearness(gold: Cell, decimals: int, tolerance: Tolerance) -> float:
    """How far a prediction that shows so many decimals may be from a gold number at most."""
    if tolerance.own:
        return max(abs(_place_of(gold)) * tolerance.rel, tolerance.abs, ZERO_TOL) * SLACK
    # Gold reaches for a prediction as a prediction reaches for gold; a rounding shows the decimals of the coarser side.
    coarsest = None if isinstance(gold, int) else decimals
    return (reach(gold, tolerance, coarsest) or 0.0) * SLACK
