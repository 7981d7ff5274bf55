"""Two lists: which gold element stands against which extracted one (in order, by key, or best fit), and their rows.

The best fit is the one by which the record's F1 is highest. F1 is 2 x scores / weight, so a pair of elements is worth what it adds at the
rate F1 (2 x scores - rate x weight) beyond what both cost unmatched; the record is written at a rate, and again at the F1 it reached,
until that no longer rises (Dinkelbach's method; `Scoring.record` does it). Of equally good fits the one that stands first when both lists
are sorted by content is taken, so that the order of such a list moves nothing.
"""

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from evalsuite.errors import FaultError
from evalsuite.trees.field_order import how_aligned, keyed_pairs, lone_weights
from evalsuite.trees.field_pairs import compat_fits
from evalsuite.trees.field_plan import Plan
from evalsuite.trees.field_totals import tally
from evalsuite.trees.json_values import TreeLimitError, same

if TYPE_CHECKING:
    from evalsuite.trees.field_rows import Aligned, Rows, Walk

UPSTREAM_MAX_PAIRS = 2500
# As a share of the largest gain: what is less is rounding, and what two elements of the same content are worth beyond their fields.
NOISE, SAME_CONTENT = 1e-11, 1e-10
Pairs = list[tuple[int, int]]


def array_rows(walk: "Walk", plan: Plan, gold: list[Any], extracted: list[Any], path: str, aligned: "Aligned", out: "Rows") -> None:
    """Rows for two lists, by the alignment of the schema.

    Raises:
        TreeLimitError: more pairs to align than the limit.
    """
    if not gold and not extracted:
        out.append(walk.container_row(plan, gold, extracted, "match", None, path, aligned))
        return
    how = how_aligned(plan)
    lists = _ListRows(walk, plan, gold, extracted, path, aligned, out)
    if how == "key_field":
        pairs, left, right = keyed_pairs(walk, plan, gold, extracted)
        for i, j in pairs:
            if j is None:
                lists.omitted([i])
            else:
                lists.matched(i, j)
        lists.invented([*left, *right])
    elif how == "hungarian" and gold and extracted and not (walk.compat and len(gold) * len(extracted) > UPSTREAM_MAX_PAIRS):
        lists.by_fit()
    else:
        lists.pairs_and_rest([(i, i) for i in range(min(len(gold), len(extracted)))])


class _ListRows:
    """The rows of two lists; indexes in paths are gold's, and -1, -2, ... for extracted elements without a partner."""

    def __init__(self, walk: "Walk", plan: Plan, gold: list[Any], extracted: list[Any], path: str, aligned: "Aligned", out: "Rows") -> None:
        self.walk, self.plan, self.items = walk, plan, plan.children[0]
        self.gold, self.extracted = gold, extracted
        self.path, self.aligned, self.out = path, aligned, out

    def matched(self, i: int, j: int) -> None:
        self.walk.pair(self.items, self.gold[i], self.extracted[j], f"{self.path}[{i}]", (*self.aligned, j), self.out)

    def omitted(self, indexes: Iterable[int]) -> None:
        for i in indexes:
            self.walk.one_sided(self.items, self.gold[i], "omission", f"{self.path}[{i}]", (*self.aligned, None), self.out)

    def invented(self, indexes: Iterable[int]) -> None:
        for n, j in enumerate(indexes, 1):
            self.walk.one_sided(self.items, self.extracted[j], "hallucination", f"{self.path}[{-n}]", (*self.aligned, j), self.out)

    def pairs_and_rest(self, pairs: Pairs) -> None:
        for i, j in pairs:
            self.matched(i, j)
        self.rest(pairs)

    def rest(self, pairs: Pairs) -> None:
        self.omitted(sorted(set(range(len(self.gold))) - {i for i, _ in pairs}))
        self.invented(sorted(set(range(len(self.extracted))) - {j for _, j in pairs}))

    def by_fit(self) -> None:
        self.walk.has_chosen = True
        n, m, limits = len(self.gold), len(self.extracted), self.walk.limits
        if n * m > limits.max_pairs:
            raise TreeLimitError(f"{n:,} x {m:,} elements to align, the limit is {limits.max_pairs:,} pairs", self.path)
        if self.items.has_batch():
            if n * m > limits.max_row_pairs:
                text = f"{n:,} x {m:,} elements to align through a judge, the limit is {limits.max_row_pairs:,} pairs"
                raise TreeLimitError(text, self.path)
            self.by_rows()
            return
        try:
            pairs = assign(compat_fits(self.walk, self.items, self.gold, self.extracted)) if self.walk.compat else self.best_pairs()
        except TreeLimitError:
            raise
        except FaultError as error:
            # Where somebody's comparator fails nobody knows what fits: the rows are in order, and the record stays undecided.
            self.walk.faults.append(error.fault)
            pairs = [(i, i) for i in range(min(n, m))]
        self.pairs_and_rest(pairs)

    def best_pairs(self) -> Pairs:
        """The pairs of the best fit at the walk's rate, by comparing values column by column."""
        lists = self.walk.lists_of(self.plan, self.gold, self.extracted)
        left, right = lists.places
        return sorted((left[i], right[j]) for i, j in fitting(lists.gains(), lists.same_content()))

    def by_rows(self) -> None:
        """Align by the rows of every pair, for fields that a batch comparator judges; matched pairs keep their rows.

        The rows are written and judged once for a record, whatever its rate: lists inside these elements keep their first alignment.
        """
        m = len(self.extracted)
        scored = self.walk.judged.get(self.aligned, (self.gold, self.extracted), self.all_rows)
        if self.walk.compat:
            pairs = assign([[tally(scored[i * m + j][0]).f1 for j in range(m)] for i in range(len(self.gold))])
        else:
            pairs = self.best_judged([rows for rows, _ in scored])
        for i, j in pairs:
            rows, missing = scored[i * m + j]
            prefix, n_cut = f"{self.path}[{i}]", len(self.items.path)
            for row in map(copy.copy, rows):
                row.path = prefix + row.path[n_cut:]
                self.out.append(row)
            self.walk.missing.extend(prefix + path[n_cut:] for path in missing)
        self.rest(pairs)

    def all_rows(self) -> "list[tuple[Rows, list[str]]]":
        """(judged rows, required fields left out) of every pair, row-major."""
        before = self.walk.missing
        scored: list[tuple[Rows, list[str]]] = []
        for expected in self.gold:
            for j, element in enumerate(self.extracted):
                rows: Rows = []
                self.walk.missing = []
                self.walk.pair(self.items, expected, element, self.items.path, (*self.aligned, j), rows)
                if self.walk.compat:
                    self.walk.dispatch(rows)
                scored.append((rows, self.walk.missing))
        self.walk.missing = before
        if not self.walk.compat:
            # A comparator that judges each item alone is asked once for all pairs, others pair by pair.
            dispatch = self.walk.dispatch
            together = [row for rows, _ in scored for row in rows if row.status == "pending" and dispatch.is_independent(row.comparator)]
            dispatch(together)
            for rows, _ in scored:
                dispatch(rows)
        return scored

    def best_judged(self, scored: "list[Rows]") -> Pairs:
        """The pairs of the best fit by their rows; a field without a verdict counts as a mismatch here, so that an outage wins nothing."""
        import numpy as np

        walk, shape = self.walk, (len(self.gold), len(self.extracted))
        places = [walk.order.of(self.plan, side)[0] for side in (self.gold, self.extracted)]
        lone = lone_weights(walk, self.items, self.gold, "omission"), lone_weights(walk, self.items, self.extracted, "hallucination")
        gains, alike = np.zeros(shape), np.zeros(shape, dtype=bool)
        for (i, j), rows in zip(np.ndindex(shape), scored, strict=True):
            unknown = sum(row.weight for row in rows if row.status in ("batch_error", "error"))
            gains[i, j] = walk.gain_of(tally(rows)) + walk.rate * (lone[0][i] + lone[1][j] - 2 * unknown)
            alike[i, j] = bool(unknown) or same(self.gold[i], self.extracted[j])
        cells = np.ix_(*places)
        return sorted((places[0][i], places[1][j]) for i, j in fitting(gains[cells], alike[cells]))


def fitting(gains: Any, alike: Any) -> Pairs:
    """The pairs of an assignment with the largest sum of gains, those that gain anything; of equal sums one with more pairs `alike`."""
    import numpy as np

    from evalsuite.trees.assignment import best_assignment

    scale = float(np.abs(gains).max()) or 1.0
    gains = np.maximum(gains, 0.0) + alike * (SAME_CONTENT * scale)
    return [(i, j) for i, j in best_assignment(gains, ties="solver") if gains[i, j] > NOISE * scale]


def assign(fits: Any) -> Pairs:
    """The pairs (gold, extracted) of the reference's assignment: the largest sum of fits, those that fit at all, by gold index."""
    n, m = len(fits), len(fits[0])
    if n == 1 or m == 1:
        cells = [(float(fits[i][j]), i, j) for i in range(n) for j in range(m)]
        fit, i, j = max(cells, key=lambda cell: cell[0])
        return [(i, j)] if fit > 0 else []
    from evalsuite.trees.assignment import best_assignment

    return [(i, j) for i, j in best_assignment(fits, ties="solver") if fits[i][j] > 0]
