"""Two lists: which gold element stands against which extracted one (in order, by key, or best fit), and their rows."""

from typing import TYPE_CHECKING, Any

from evalsuite.errors import FaultError
from evalsuite.trees.field_plan import Plan, try_transformed
from evalsuite.trees.field_totals import tally
from evalsuite.trees.json_values import TreeLimitError, choices, same

if TYPE_CHECKING:
    from evalsuite.trees.field_rows import Aligned, Rows, Walk


UPSTREAM_MAX_PAIRS = 2500
JUST_ABOVE_NOTHING = 1e-9
Pairs = list[tuple[int, int]]


def array_rows(walk: "Walk", plan: Plan, gold: list[Any], extracted: list[Any], path: str, aligned: "Aligned", out: "Rows") -> None:
    """Rows for two lists, by the alignment of the schema."""
    if not gold and not extracted:
        out.append(walk.container_row(plan, gold, extracted, "match", None, path, aligned))
        return
    align = plan.node.align or {}
    how = "ordered" if align.get("ordered") is True else align.get("match_by")
    lists = _Lists(walk, plan.children[0], gold, extracted, path, aligned, out)
    if how == "key_field":
        lists.by_key(align["key"])
    elif how == "hungarian":
        lists.by_fit()
    else:
        lists.in_order()


class _Lists:
    """Two lists being aligned; indexes in paths are gold's, and -1, -2, ... for extracted elements without a partner."""

    def __init__(
        self, walk: "Walk", items: Plan, gold: list[Any], extracted: list[Any], path: str, aligned: "Aligned", out: "Rows"
    ) -> None:
        self.walk, self.items = walk, items
        self.gold, self.extracted = gold, extracted
        self.path, self.aligned, self.out = path, aligned, out

    def in_order(self) -> None:
        n = min(len(self.gold), len(self.extracted))
        for i in range(n):
            self.matched(i, i)
        self.omitted(range(n, len(self.gold)))
        self.invented(range(n, len(self.extracted)))

    def matched(self, i: int, j: int) -> None:
        self.walk.pair(self.items, self.gold[i], self.extracted[j], f"{self.path}[{i}]", (*self.aligned, j), self.out)

    def omitted(self, indexes: Any) -> None:
        for i in indexes:
            self.walk.one_sided(self.items, self.gold[i], "omission", f"{self.path}[{i}]", (*self.aligned, None), self.out)

    def invented(self, indexes: Any) -> None:
        for n, j in enumerate(indexes, 1):
            self.walk.one_sided(self.items, self.extracted[j], "hallucination", f"{self.path}[{-n}]", (*self.aligned, j), self.out)

    def by_key(self, key: str) -> None:
        first: dict[Any, int] = {}
        rest = []
        for j, element in enumerate(self.extracted):
            found = self.key_of(element, key)
            if found is None or found in first:
                rest.append(j)
            else:
                first[found] = j
        claimed = set()
        for i, element in enumerate(self.gold):
            found = self.key_of(next(choices(element)) if self.walk.alternatives else element, key)
            if found is None or found in claimed or found not in first:
                claimed.add(found)
                self.omitted([i])
            else:
                claimed.add(found)
                self.matched(i, first[found])
        self.invented([*(j for found, j in first.items() if found not in claimed), *rest])

    def key_of(self, element: Any, key: str) -> Any:
        """The element's key where it can serve as one; unless in compat mode after the key field's transforms."""
        found = element.get(key) if isinstance(element, dict) else None
        if not self.walk.compat:
            field = next((child for child in self.items.children if child.key == key), None)
            if field is not None and field.transforms:
                try:
                    found, _ = try_transformed(field, found)
                except FaultError as error:
                    self.walk.faults.append(error.fault)
        if isinstance(found, bool) or not isinstance(found, str | int | float) or found != found:
            return None
        return found

    def by_fit(self) -> None:
        n, m = len(self.gold), len(self.extracted)
        if self.walk.compat and n * m > UPSTREAM_MAX_PAIRS:
            self.in_order()
            return
        if not n or not m:
            self.omitted(range(n))
            self.invented(range(m))
            return
        if n * m > self.walk.limits.max_pairs:
            raise TreeLimitError(f"{n:,} x {m:,} elements to align, the limit is {self.walk.limits.max_pairs:,} pairs", self.path)
        pairs = self.fit_by_rows() if self.items.has_batch() else self.fit_by_values()
        self.omitted(sorted(set(range(n)) - {i for i, _ in pairs}))
        self.invented(sorted(set(range(m)) - {j for _, j in pairs}))

    def fit_by_values(self) -> Pairs:
        """Align by comparing values column by column; rows are written for the matched pairs only.

        Where somebody's comparator fails nobody knows what fits: the rows are in order, and the record stays undecided.
        """
        from evalsuite.trees.field_pairs import similarity

        try:
            fits = similarity(self.walk, self.items, self.gold, self.extracted, self.path)
        except TreeLimitError:
            raise
        except FaultError as error:
            self.walk.faults.append(error.fault)
            pairs = list(zip(range(len(self.gold)), range(len(self.extracted)), strict=False))
        else:
            pairs = assign(fits, compat=self.walk.compat)
        for i, j in pairs:
            self.matched(i, j)
        return pairs

    def fit_by_rows(self) -> Pairs:
        """Align by the rows of every pair, for fields that a batch comparator judges; matched pairs keep their rows."""
        n, m = len(self.gold), len(self.extracted)
        if n * m > self.walk.limits.max_row_pairs:
            limit = self.walk.limits.max_row_pairs
            raise TreeLimitError(f"{n:,} x {m:,} elements to align through a judge, the limit is {limit:,} pairs", self.path)
        before = self.walk.missing
        scored, left_out = [], []
        for i in range(n):
            for j in range(m):
                rows: Rows = []
                self.walk.missing = []
                self.walk.pair(self.items, self.gold[i], self.extracted[j], self.items.path, (*self.aligned, j), rows)
                if self.walk.compat:
                    self.walk.dispatch(rows)
                scored.append(rows)
                left_out.append(self.walk.missing)
        if not self.walk.compat:
            self.dispatch_together(scored)
        fits = [[self.fit(scored[i * m + j], i, j) for j in range(m)] for i in range(n)]
        pairs = assign(fits, compat=self.walk.compat)
        self.walk.missing = before
        for i, j in pairs:
            prefix = f"{self.path}[{i}]"
            for row in scored[i * m + j]:
                row.path = prefix + row.path[len(self.items.path) :]
            self.walk.missing.extend(prefix + path[len(self.items.path) :] for path in left_out[i * m + j])
            self.out.extend(scored[i * m + j])
        return pairs

    def dispatch_together(self, scored: "list[Rows]") -> None:
        """Ask a comparator that judges each item alone once for all pairs, others pair by pair."""
        from evalsuite.trees.batch_comparators import is_independent

        together = [row for rows in scored for row in rows if row.status == "pending" and is_independent(self.walk, row.comparator)]
        if together:
            self.walk.dispatch(together)
        for rows in scored:
            if any(row.status == "pending" for row in rows):
                self.walk.dispatch(rows)

    def fit(self, rows: "Rows", i: int, j: int) -> float:
        """The F1 of a pair's rows. Nothing to count is 0 unless both are equal, and next to 0 where the judge gave no answer."""
        counts = tally(rows)
        if counts.total or self.walk.compat:
            return counts.f1
        if same(self.gold[i], self.extracted[j]):
            return 1.0
        return JUST_ABOVE_NOTHING if any(row.status == "batch_error" for row in rows) else 0.0


def assign(fits: Any, *, compat: bool) -> Pairs:
    """The pairs (gold, extracted) of the best assignment, those that fit at all, by gold index."""
    n, m = len(fits), len(fits[0])
    if n == 1 or m == 1:
        cells = [(float(fits[i][j]), i, j) for i in range(n) for j in range(m)]
        fit, i, j = max(cells, key=lambda cell: cell[0])
        return [(i, j)] if fit > 0 else []
    from evalsuite.trees.assignment import best_assignment

    return [(i, j) for i, j in best_assignment(fits, ties="solver" if compat else "first") if fits[i][j] > 0]
