"""Margin of two tables: the smallest tolerance (`abs_tol`) under which the strict rules would accept one for the other.

For small tables the strict rules try every distance between numbers that may be compared. In larger tables each needed gold column is
compared with its matched predicted column, else with its likely one; if rows may be in any order, the i-th smallest number with the i-th
smallest.

A run omits a margin that would cost more than a tenth of the verdict, counted in cells, never in time; `runs margins` computes it.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from math import inf
from sys import float_info
from typing import Any

from evalsuite.compare.messages import are_reasons_wanted, is_every_margin_wanted
from evalsuite.compare.number_columns import in_parts
from evalsuite.compare.numbers import Number, Tolerance, as_margin, exact_of, upward
from evalsuite.compare.strict_columns import StrictColumn, Terms, key, likely_columns, read_columns
from evalsuite.compare.strict_matching import match_columns
from evalsuite.compare.strict_tables import chosen_columns, columns_for, labels_of, order_for, ties_of
from evalsuite.compare.table_diff import BulkDiff, Comparisons, TableDiff
from evalsuite.compare.values import Cell
from evalsuite.core.dataclasses import replace
from evalsuite.core.import_ref import np
from evalsuite.core.scores import Fault, Score, Table

_MOST_READ = 20_000
# The limits on pairs of cells whose distances are all tried; lower if rows may change places, because the search for matching rows and
# columns grows with the tolerance.
_MOST_TRIED, _MOST_MOVED, _MOST_COLUMNS = 20_000, 1_000, 3
# How much of the work of the verdict a margin may take in a run.
_SHARE = 0.1


class _TooMuchWorkError(Exception):
    """A margin costs more than its share."""


class _Work:
    """The work that margins may still take, in cells that a verdict compares."""

    def __init__(self, tables: Sequence[Table | Fault]) -> None:
        n_cells = sum(table.n_rows * len(table.columns) for table in tables if isinstance(table, Table))
        self._left = inf if is_every_margin_wanted() else _SHARE * n_cells

    def take(self, n_cells: float) -> None:
        """Count cells. Raises `_TooMuchWorkError`."""
        self._left -= n_cells
        if self._left < 0:
            raise _TooMuchWorkError

    def count_cells(self, evidence: TableDiff, n_rows: int) -> None:
        """Count cells of both sides that are read one by one. Raises `_TooMuchWorkError`."""
        self.take(2 * n_rows * evidence.cell_cost)


def with_margin(
    score: Score,
    predictions: Sequence[Table | Fault],
    golds: Sequence[Table | Fault],
    *,
    needed: Any,
    ignore_orders: Any,
    comparisons: Comparisons,
    terms: Terms,
    order_by: Any = (),
    any_gold: bool = False,
) -> Score:
    """The score with `details.margin`: for n tables against their golds the largest, with `any_gold` for one table the smallest.

    Without it where it costs too much.
    """
    if not are_reasons_wanted():
        return score
    work = _Work([*predictions, *golds])
    margins: list[float] = []
    # The matched gold comes first: no margin is below 0, and none above that of a table that no tolerance accepts.
    met, last = score.details.get("gold"), 0.0 if any_gold else inf
    for at in sorted(range(len(golds)), key=lambda at: at + 1 != met):
        if last in margins:
            break
        gold = golds[at]
        prediction = predictions[0 if any_gold else at] if len(predictions) == len(golds) or any_gold else Fault(code="MISSING_TABLE")
        pairs = score.details.get("pairs", ()) if score.details.get("gold", at + 1) == at + 1 else ()
        columns, by = columns_for(needed, at), columns_for(order_by, at)
        ignore_order = order_for(ignore_orders, at)
        try:
            margin = _margin(prediction, gold, columns, ignore_order, pairs, comparisons, work)
            if score.strict != 1 or margin:
                margin = _smallest_margin(prediction, gold, columns, ignore_order, by, comparisons, terms, work, else_=margin)
        except _TooMuchWorkError:
            return score
        margins.append(margin)
    total = (min if any_gold else max)(margins, default=inf)
    return replace(score, details={**score.details, "margin": as_margin(total)})


def _margin(
    prediction: Table | Fault,
    gold: Table | Fault,
    needed: Sequence[int],
    ignore_order: bool,
    pairs: Sequence[Sequence[int]],
    comparisons: Comparisons,
    work: _Work,
) -> float:
    if isinstance(prediction, Fault) or isinstance(gold, Fault):
        return inf
    if prediction.n_rows != gold.n_rows or prediction.ragged_line is not None or gold.ragged_line is not None:
        return inf
    chosen, partners = chosen_columns(needed, len(gold.columns)), {i - 1: k - 1 for i, k in pairs}
    are_named_alike = [gold.header[i] for i in chosen] == [prediction.header[i] for i in chosen if i < len(prediction.header)]
    if comparisons.identical(gold, prediction, chosen) == [partners.get(i, i if are_named_alike else None) for i in chosen]:
        # No cell needs to be parsed.
        return 0.0
    return _table_margin(comparisons.compare(gold, prediction), chosen, partners, work, ignore_order=ignore_order)


def _smallest_margin(
    prediction: Table | Fault,
    gold: Table | Fault,
    needed: Sequence[int],
    ignore_order: bool,
    order_by: Sequence[int],
    comparisons: Comparisons,
    terms: Terms,
    work: _Work,
    *,
    else_: float,
) -> float:
    """The smallest distance between comparable cells at which the strict rules accept; `else_` for big tables."""
    if not (isinstance(prediction, Table) and isinstance(gold, Table)) or prediction.n_rows != gold.n_rows:
        return else_
    ties = None if ignore_order else ties_of(gold, order_by)
    in_order, n_columns = not ignore_order and ties is None, len(prediction.columns)
    n_met = len(gold.columns) * n_columns * gold.n_rows * (1 if in_order else gold.n_rows)
    is_small = n_met <= _MOST_TRIED if in_order else n_met <= _MOST_MOVED and n_columns <= _MOST_COLUMNS
    if not (n_met and is_small) or prediction.ragged_line is not None or gold.ragged_line is not None:
        return else_
    # Each try compares all cells.
    work.take(n_met)
    evidence, chosen = comparisons.compare(gold, prediction), chosen_columns(needed, len(gold.columns))
    gold_labels, predicted_labels = labels_of(gold, prediction, terms)
    gold_columns = read_columns(evidence.gold, chosen, labelled=gold_labels)
    predicted = read_columns(evidence.predicted, range(len(prediction.columns)), labelled=predicted_labels)

    def accepts(tolerance: float) -> bool:
        column_tolerance, n_rows = Tolerance(abs=tolerance, own=True), evidence.n_rows
        columns = [replace(column, tolerance=column_tolerance) for column in gold_columns]
        return match_columns(
            columns, predicted, n_gold=n_rows, n_predicted=n_rows, ordered=not ignore_order, ties=ties, evidence=evidence
        ).is_equal

    if accepts(0.0):
        return 0.0
    candidates = sorted(set(_distances(gold_columns, predicted, in_order=in_order)))
    at = bisect_left(candidates, True, key=accepts)
    return candidates[at] if at < len(candidates) else inf


def _distances(gold: Sequence[StrictColumn], predicted: Sequence[StrictColumn], *, in_order: bool) -> Iterator[float]:
    """The distances of numbers that may be compared: with fixed row order only the largest of each pair of columns can change a verdict."""
    for column in gold:
        for other in predicted:
            if in_order:
                distances = [_distance(a, b) for a, b in zip(column.cells, other.cells, strict=True)]
                numbers = [distance for distance in distances if distance is not None]
                if numbers and len(numbers) == len(distances):
                    yield upward(max(numbers))
            else:
                sides = [{exact_of(cell) for cell in side.cells if isinstance(cell, int | Number)} for side in (column, other)]
                yield from (upward(abs(a - b)) for a in sides[0] for b in sides[1])


def _table_margin(evidence: TableDiff, chosen: Sequence[int], partners: Mapping[int, int], work: _Work, *, ignore_order: bool) -> float:
    """The tolerance: 0 if none is needed, infinity if none is enough. `partners` maps gold columns to predicted columns that are equal."""
    gold = read_columns(evidence.gold, chosen)
    predicted = read_columns(evidence.predicted, range(len(evidence.predicted.columns)))
    guesses = likely_columns(gold, predicted) or list(range(len(gold)))
    needed = 0.0
    for column, guess in zip(gold, guesses, strict=True):
        k = partners.get(column.position, guess)
        if k >= len(predicted):
            return inf
        needed = max(needed, _column_margin(evidence, column, predicted[k], ignore_order, work))
        if needed == inf:
            break
    return needed


def _column_margin(evidence: TableDiff, gold: StrictColumn, predicted: StrictColumn, ignore_order: bool, work: _Work) -> float:
    if evidence.is_same_text(gold.position, predicted.position):
        # No cell needs to be parsed.
        return 0.0
    if ignore_order:
        margin = evidence.try_in_bulk(lambda bulk: _bulk_margin(bulk, gold, predicted, work))
        if margin is not None:
            return margin
        work.count_cells(evidence, evidence.n_rows)
        return _sorted_margin(gold.cells, predicted.cells)
    unlike: Any = evidence.unlike(gold.position, predicted.position)
    if len(unlike) > _MOST_READ:
        farthest = evidence.try_in_bulk(lambda bulk: _farthest(bulk, gold.position, predicted.position, unlike))
        unlike = unlike if farthest is None else farthest
    work.count_cells(evidence, len(unlike))
    widest = Decimal(0)
    for _, a, b in evidence.cells(gold.position, predicted.position, unlike):
        distance = _distance(gold.read(a), predicted.read(b))
        if distance is None:
            return inf
        widest = max(widest, distance)
    return upward(widest)


def _farthest(evidence: BulkDiff, i: int, k: int, rows: Any) -> Any:
    """The row with the largest difference of two columns of numbers, or the first in which one is empty; else some of the rows."""
    a, b = evidence.columns[0][i].numbers(), evidence.columns[1][k].numbers()
    if a is None or b is None:
        return rows[:_MOST_READ]
    x, y = a.values[rows], b.values[rows]
    distances = np.where(np.isnan(x) == np.isnan(y), np.abs(x - y), np.inf)
    return rows[[np.argmax(np.nan_to_num(distances, posinf=np.inf))]]


def _bulk_margin(evidence: BulkDiff, gold: StrictColumn, predicted: StrictColumn, work: _Work) -> float | None:
    """The tolerance, None if floats cannot tell the numbers of so few cells apart."""
    i, k = gold.position, predicted.position
    if evidence.hashes.has_same_texts(i, k):
        return 0.0
    a, b = gold.source.numbers(), predicted.source.numbers()
    if a is None or b is None:
        gold_rows, predicted_rows = evidence.spare([i], [k])
        if len(gold_rows) > _MOST_READ:
            return inf
        work.count_cells(evidence, len(gold_rows))
        left, right = gold.cells_at(gold_rows), predicted.cells_at(predicted_rows)
        # Numbers among other values: which of them are compared is unknown.
        return inf if any(isinstance(cell, int | Number) for cell in [*left, *right]) else _sorted_margin(left, right)
    # Sorting and comparing numbers in bulk.
    work.take(0.2 * len(a.values))
    x, y = gold.source.sorted_numbers(), predicted.source.sorted_numbers()
    if x is None or y is None or len(x) != len(y):
        return inf
    if not len(x):
        return 0.0
    widest_float, *numbers = _widest(x, y)
    if len(a.values) <= _MOST_READ and not _is_told(widest_float, x, y) and not (a.are_exact and b.are_exact):
        return None
    row, other = (np.flatnonzero(side.values == number)[0] for side, number in zip((a, b), numbers, strict=True))
    widest = _distance(gold.cell(row), predicted.cell(other))
    return upward(widest) if widest is not None else inf


def _widest(x: Any, y: Any) -> tuple[float, float, float]:
    """The largest difference of two sorted columns of floats, and the two numbers."""
    ends = []
    for p, q in in_parts(x, y):
        at = int(np.abs(p - q).argmax())
        ends.append((abs(p[at] - q[at]), p[at], q[at]))
    return max(ends)


def _is_told(distance: float, x: Any, y: Any) -> bool:
    """Whether a distance is more than the last digit of the largest float of two sorted columns."""
    largest = max(abs(side[end]) for side in (x, y) for end in (0, -1))
    return bool(distance > largest * float_info.epsilon)


def _sorted_margin(gold: Sequence[Cell], predicted: Sequence[Cell]) -> float:
    numbers = [sorted(exact_of(cell) for cell in side if isinstance(cell, int | Number)) for side in (gold, predicted)]
    others = [Counter(key(cell) for cell in side if not isinstance(cell, int | Number)) for side in (gold, predicted)]
    if others[0] != others[1]:
        return inf
    return upward(max((abs(a - b) for a, b in zip(*numbers, strict=True)), default=Decimal(0)))


def _distance(gold: Cell, predicted: Cell) -> Decimal | None:
    """The distance of two cells, None if no tolerance makes them equal."""
    if isinstance(gold, int | Number) and isinstance(predicted, int | Number):
        return abs(exact_of(gold) - exact_of(predicted))
    return Decimal(0) if type(gold) is type(predicted) and gold == predicted else None
