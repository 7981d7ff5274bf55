"""How well each gold element fits each extracted one, without writing rows: whole columns of values are compared at once.

The result is what the F1 of every pair's rows would be: counts of scores, shared, omitted and invented fields as n x m matrices."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evalsuite.trees.field_columns import may_skip, score_matrix
from evalsuite.trees.field_plan import Plan
from evalsuite.trees.field_totals import Tally, tally
from evalsuite.trees.json_values import ANY_OF, TreeLimitError, same

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from evalsuite.trees.field_rows import Walk

    Floats = NDArray[np.float64]


FEW_PAIRS = 4


def similarity(walk: "Walk", items: Plan, gold: list[Any], extracted: list[Any], path: str) -> Any:
    """The n x m fits in [0, 1] (rows gold); nothing to count is 0 unless both elements are equal (in compat mode 1)."""
    n, m = len(gold), len(extracted)
    if n * m <= FEW_PAIRS:
        return [[_fit(walk, items, g, e) for e in extracted] for g in gold]
    if walk.alternatives and any(_holds_alternatives(element) for element in gold):
        if n * m > walk.limits.max_row_pairs:
            limit = walk.limits.max_row_pairs
            raise TreeLimitError(f"{n:,} x {m:,} elements with alternatives to align, the limit is {limit:,} pairs", path)
        return [[_fit(walk, items, g, e) for e in extracted] for g in gold]
    if not items.structural and not items.skip:
        return _unit_fits(walk, items, gold, extracted)
    counts = _Counts(walk, n, m)
    counts.both(items, gold, range(n), extracted, range(m))
    return counts.fits(gold, extracted)


def _fit(walk: "Walk", items: Plan, gold: Any, extracted: Any) -> float:
    counts = _count(walk, items, gold, extracted)
    if counts.total or walk.compat:
        return counts.f1
    return float(same(gold, extracted))


def _count(walk: "Walk", plan: Plan, gold: Any, extracted: Any) -> Tally:
    """The tally of one pair, by its rows."""
    rows: list[Any] = []
    before = walk.missing
    walk.missing = []
    walk.pair(plan, gold, extracted, plan.path, (), rows)
    walk.missing = before
    return tally(rows)


def _holds_alternatives(value: Any) -> bool:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if ANY_OF in item:
                return True
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return False


def _unit_fits(walk: "Walk", items: Plan, gold: list[Any], extracted: list[Any]) -> Any:
    """Fits of elements that are one field each: the score itself; a pair that does not count fits where it is equal."""
    import numpy as np

    scores = score_matrix(items, gold, extracted, compat=walk.compat).astype(np.float64)
    for i, j in np.argwhere(np.isnan(scores)):
        scores[i, j] = float(walk.compat or same(gold[i], extracted[j]))
    return scores


class _Counts:
    """Sums over the fields of every pair, n x m each: scores, fields on both sides, omissions, hallucinations."""

    def __init__(self, walk: "Walk", n: int, m: int) -> None:
        import numpy as np

        self.walk = walk
        self.shape = (n, m)
        self.scored, self.shared, self.omitted, self.invented = (np.zeros((n, m)) for _ in range(4))

    def add(self, target: "Floats", rows: Sequence[int], columns: Sequence[int], amount: Any) -> None:
        """Add a number or a matrix to the cells rows x columns."""
        import numpy as np

        if (len(rows), len(columns)) == self.shape:
            target += amount
        elif len(rows) and len(columns):
            target[np.ix_(rows, columns)] += amount

    def both(self, plan: Plan, gold: Sequence[Any], rows: Sequence[int], extracted: Sequence[Any], columns: Sequence[int]) -> None:
        """Count a field that all of these elements have; `rows` and `columns` are their places in the matrix."""
        if not gold or not extracted or (plan.skip and not (self.walk.compat and plan.structural)):
            return
        if not plan.structural:
            self.unit(plan, gold, rows, extracted, columns)
        elif plan.is_array or plan.expects is not dict:
            self.one_by_one(plan, gold, rows, extracted, columns)
        else:
            self.objects(plan, gold, rows, extracted, columns)

    def unit(self, plan: Plan, gold: Sequence[Any], rows: Sequence[int], extracted: Sequence[Any], columns: Sequence[int]) -> None:
        import numpy as np

        scores = score_matrix(plan, gold, extracted, compat=self.walk.compat)
        uncounted = np.isnan(scores) if may_skip(plan) else None
        if uncounted is not None and uncounted.any():
            self.add(self.shared, rows, columns, np.where(uncounted, 0.0, plan.weight))
            scores = np.where(uncounted, 0.0, scores)
        else:
            self.add(self.shared, rows, columns, plan.weight)
        self.add(self.scored, rows, columns, scores * plan.weight if plan.weight != 1 else scores)

    def one_by_one(self, plan: Plan, gold: Sequence[Any], rows: Sequence[int], extracted: Sequence[Any], columns: Sequence[int]) -> None:
        for g, row in zip(gold, rows, strict=True):
            for e, column in zip(extracted, columns, strict=True):
                counts = _count(self.walk, plan, g, e)
                self.scored[row, column] += counts.scored
                self.shared[row, column] += counts.both
                self.omitted[row, column] += counts.omitted
                self.invented[row, column] += counts.invented

    def objects(self, plan: Plan, gold: Sequence[Any], rows: Sequence[int], extracted: Sequence[Any], columns: Sequence[int]) -> None:
        objects, object_rows, others, other_rows = _split(gold, rows)
        found, found_columns, other_found, other_columns = _split(extracted, columns)
        self.one_by_one(plan, others, other_rows, extracted, columns)
        self.one_by_one(plan, objects, object_rows, other_found, other_columns)
        if not objects or not found:
            return
        empty_rows = [row for value, row in zip(objects, object_rows, strict=True) if not value]
        empty_columns = [column for value, column in zip(found, found_columns, strict=True) if not value]
        self.add(self.scored, empty_rows, empty_columns, plan.weight)
        self.add(self.shared, empty_rows, empty_columns, plan.weight)
        for child in plan.children:
            if not child.skip:
                self.child(child, objects, object_rows, found, found_columns)
        self.unknown(plan, objects, object_rows, found, found_columns)

    def child(self, child: Plan, gold: list[Any], rows: list[int], extracted: list[Any], columns: list[int]) -> None:
        key = child.key
        try:
            everywhere = [value[key] for value in gold], [value[key] for value in extracted]
        except KeyError:
            self.sparse_child(child, gold, rows, extracted, columns)
        else:
            self.both(child, everywhere[0], rows, everywhere[1], columns)

    def sparse_child(self, child: Plan, gold: list[Any], rows: list[int], extracted: list[Any], columns: list[int]) -> None:
        """A field that some elements lack: an omission or invention beside those that have it."""
        key = child.key
        with_rows = [row for value, row in zip(gold, rows, strict=True) if key in value]
        with_columns = [column for value, column in zip(extracted, columns, strict=True) if key in value]
        gold_values = [value[key] for value in gold if key in value]
        found_values = [value[key] for value in extracted if key in value]
        self.both(child, gold_values, with_rows, found_values, with_columns)
        if len(with_columns) < len(columns):
            lacking = sorted(set(columns) - set(with_columns))
            for value, row in zip(gold_values, with_rows, strict=True):
                self.add(self.omitted, [row], lacking, tally(self.walk.sides(child, value, "omission", "", ())).omitted)
        if len(with_rows) < len(rows):
            lacking = sorted(set(rows) - set(with_rows))
            for value, column in zip(found_values, with_columns, strict=True):
                self.add(self.invented, lacking, [column], tally(self.walk.sides(child, value, "hallucination", "", ())).invented)

    def unknown(self, plan: Plan, gold: list[Any], rows: list[int], extracted: list[Any], columns: list[int]) -> None:
        for value, column in zip(extracted, columns, strict=True):
            if value.keys() <= plan.by_key:
                continue
            keys = value.keys() - plan.by_key
            for expected, row in zip(gold, rows, strict=True):
                statuses = [self.walk.unknown_status(plan, key, expected)[0] for key in keys]
                self.invented[row, column] += statuses.count("hallucination")

    def fits(self, gold: list[Any], extracted: list[Any]) -> "Floats":
        """2 S / (2 both + omitted + invented): the F1 of the record formula."""
        import numpy as np

        weight = 2 * self.shared + self.omitted + self.invented
        empty = weight == 0
        fits = np.divide(2 * self.scored, weight, out=np.ones(self.shape), where=~empty)
        if not self.walk.compat:
            for i, j in np.argwhere(empty):
                fits[i, j] = float(same(gold[i], extracted[j]))
        return fits


def _split(values: Sequence[Any], places: Sequence[int]) -> tuple[list[Any], list[int], list[Any], list[int]]:
    """(objects, their places, other values, their places)."""
    objects = [(value, place) for value, place in zip(values, places, strict=True) if isinstance(value, dict)]
    others = [(value, place) for value, place in zip(values, places, strict=True) if not isinstance(value, dict)]
    return [v for v, _ in objects], [p for _, p in objects], [v for v, _ in others], [p for _, p in others]
