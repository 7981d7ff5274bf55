"""Treeval's numbers: counters of pairs of values, matrices of all pairs of two lists, means, score and tree from them; rows made on demand.

All pairs of two lists are computed at once, as matrices of counters and leaf scores (see `all_pairs`).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Literal, NamedTuple

from evalsuite.compare.bipartite_matching import best_assignment
from evalsuite.core.dataclasses import dataclass
from evalsuite.trees.all_pairs import Cells, Chosen, Floats, Grid, InnerLists, Names, matched_sums, np, pick
from evalsuite.trees.eval_schema import SchemaNode
from evalsuite.trees.json_schema import join
from evalsuite.trees.json_values import ABSENT, TreeLimitError, canonical_order
from evalsuite.trees.treeval_metrics import (
    ROOT_KEYS,
    CorpusMetric,
    ExactMatch,
    Levenshtein,
    Metric,
    measure,
    normalise,
    worst,
)


class Counts(NamedTuple):
    """Predicted nodes; true positive and false negative nodes; true positive, false negative and false positive leaves.

    Numbers of one batch, or matrices of those of many pairs.
    """

    predicted: Cells = 0
    tp_node: Cells = 0
    fn_node: Cells = 0
    tp_leaf: Cells = 0
    fn_leaf: Cells = 0
    fp_leaf: Cells = 0

    def plus(self, *others: "Counts") -> "Counts":
        return Counts(*map(sum, zip(self, *others, strict=True)))

    @property
    def perfect(self) -> Cells:
        """Whether all that was predicted was expected, and nothing missed."""
        return (self.predicted == self.tp_node) & (self.fn_node == 0) & (self.fn_leaf == 0) & (self.fp_leaf == 0)

    def rates(self) -> dict[str, Cells]:
        """Return precision, recall and F1 of nodes (0 for 0/0) and of leaves (1 for 0/0)."""
        nodes = _shares(self.tp_node, self.predicted, self.tp_node + self.fn_node, 0.0)
        leaves = _shares(self.tp_leaf, self.tp_leaf + self.fp_leaf, self.tp_leaf + self.fn_leaf, 1.0)
        return dict(zip(ROOT_KEYS, (*nodes, *leaves), strict=False))


def _shares(hit: Cells, n_predicted: Cells, n_expected: Cells, empty: float) -> tuple[Cells, Cells, Cells]:
    """Return hit/n_predicted and hit/n_expected, each `empty` for 0/0, and their harmonic mean."""
    precision, recall = (np.where(np.asarray(whole) > 0, hit / np.maximum(whole, 1), empty) for whole in (n_predicted, n_expected))
    both = precision + recall
    return precision, recall, np.where(both > 0, 2 * precision * recall / np.where(both > 0, both, 1), 0.0)


NOTHING = Counts()
_SCALARS = {str, int, float, bool, type(None)}
_NO_LEAVES = {dict, list, type(None), type(ABSENT)}


def scalars(values: Sequence[Any]) -> Sequence[int]:
    """Return the positions of the values that are no container."""
    if set(map(type, values)) <= _SCALARS:
        return range(len(values))
    return [i for i, value in enumerate(values) if not isinstance(value, dict | list)]


def present(values: Sequence[Any]) -> Sequence[int]:
    """Return the positions of the values that are neither absent nor null."""
    if not set(map(type, values)) & {type(None), type(ABSENT)}:
        return range(len(values))
    return [i for i, value in enumerate(values) if value is not None and value is not ABSENT]


def n_nodes(value: Any) -> int:
    """Return the number of keys of an object and of all objects below it by keys; the content of lists does not count."""
    return sum(1 for _ in _entries(value))


def n_leaves(value: Any) -> int:
    """Return the number of keys without an object as value."""
    return sum(1 for inner in _entries(value) if not isinstance(inner, dict))


def item_size(array: SchemaNode, item: Any) -> int:
    """Return the nodes of a surplus or missing item of a list: those of an object in a list of objects, 1 for anything else."""
    return n_nodes(item) if array.lists_objects and isinstance(item, dict) else 1


def items_size(array: SchemaNode, value: Any) -> int:
    """Return the nodes of all items of a missing list; none of another value."""
    return sum(item_size(array, item) for item in value) if isinstance(value, list) else 0


def fits(node: SchemaNode, value: Any) -> bool:
    """Return whether a value, not null, is of the schema's container here: object, list, or neither."""
    return isinstance(value, node.expects) if node.structural else not isinstance(value, dict | list)


def all_fit(node: SchemaNode, want: Sequence[Any], got: Sequence[Any]) -> bool:
    """Return whether all values of both sides exist and are of the schema's container."""
    kinds, others = set(map(type, want)), set(map(type, got))
    if node.structural:
        return kinds == others == {node.expects}
    return kinds.isdisjoint(_NO_LEAVES) and others.isdisjoint(_NO_LEAVES)


def count_pair(node: SchemaNode, got: Any, want: Any) -> Counts:
    """Return the counters of one pair under a schema node, without what is below the pair.

    A wrong container counts as predicted, and as a missed and an invented leaf. What both sides lack is not counted.
    """
    branch = node if node.is_object else None
    below = branch.n_nodes if branch else 0
    if got is ABSENT and want is ABSENT:
        return NOTHING
    want = None if want is ABSENT else want
    if got is ABSENT:
        return Counts(fn_node=1 + below, fn_leaf=branch.n_leaves if branch else 0)
    if got is None:
        if want is None:
            return Counts(tp_node=1)
        return Counts(tp_node=1, fn_node=below, fn_leaf=branch.n_leaves if branch else 1)
    if want is None:
        if isinstance(got, dict):
            return Counts(predicted=n_nodes(got), tp_node=1, fp_leaf=n_leaves(got))
        return Counts(tp_node=1, fp_leaf=1)
    if fits(node, got):
        return Counts(tp_node=1, tp_leaf=0 if branch else 1)
    missed = branch.n_leaves if branch else 1
    if not node.structural and isinstance(got, dict):
        return Counts(predicted=n_nodes(got), tp_node=1, fn_leaf=missed, fp_leaf=n_leaves(got))
    lost = below if branch else items_size(node, want)
    return Counts(tp_node=1, fn_node=lost, fn_leaf=missed, fp_leaf=1)


def not_an_object(branch: SchemaNode) -> Counts:
    """Return the counters of a record or item that is no object: one predicted node, and every key of the schema absent."""
    absent = [count_pair(child, ABSENT, None) for child in branch.children]
    return Counts(predicted=1).plus(*absent)


def leaf_entries(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield (path, value) of every leaf of an object, lists as one; anything else is a leaf itself. A loop, safe at any depth."""
    todo = [(path, value)]
    while todo:
        leaf_path, item = todo.pop()
        if isinstance(item, dict) and item:
            todo.extend((join(leaf_path, str(key)), inner) for key, inner in reversed(item.items()))
        else:
            yield leaf_path, item


def _entries(value: Any) -> Iterator[Any]:
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, Mapping):
            yield from item.values()
            todo.extend(inner for inner in item.values() if isinstance(inner, Mapping))


Means = dict[str, float | None]


class LeafOutcome(NamedTuple):
    """The mean of each metric of a leaf (None: nothing pooled), the entry of the results tree, and the pairs of corpus metrics."""

    means: dict[str, float | None]
    entries: dict[str, dict[str, float | None]]
    pooled: dict[str, tuple[CorpusMetric, Sequence[Any], Sequence[Any]]]


Outcomes = Mapping[SchemaNode, LeafOutcome]  # of each leaf that was reached


def leaves_of(branch: SchemaNode) -> Iterator[SchemaNode]:
    """Yield every leaf of the schema, in no particular order."""
    todo = [branch]
    while todo:
        node = todo.pop()
        if node.structural:
            todo.extend(node.children)
        else:
            yield node


def used_metrics(branch: SchemaNode) -> dict[str, Metric]:
    """Return the metrics that some leaf uses, by name."""
    return {metric.name: metric for leaf in leaves_of(branch) for metric in leaf.metrics}


def flat_means(names: Iterable[str], leaves: Iterable[LeafOutcome]) -> Means:
    """Return per metric the mean over all leaves with a value, for corpus metrics the value over all their pairs; None without any."""
    by_metric: dict[str, list[float]] = {name: [] for name in names}
    pooled: dict[str, tuple[CorpusMetric, list[Any], list[Any]]] = {}
    for leaf in leaves:
        for name, mean in leaf.means.items():
            if mean is not None:
                by_metric[name].append(mean)
        for name, (metric, references, predictions) in leaf.pooled.items():
            _, *sides = pooled.setdefault(name, (metric, [], []))
            for side, values in zip(sides, (references, predictions), strict=True):
                side.extend(values)
    whole = {name: metric.measure_together(references, predictions) for name, (metric, references, predictions) in pooled.items()}
    return {name: mean_of(values) for name, values in by_metric.items()} | whole


def hierarchical_means(names: Iterable[str], node: SchemaNode, outcomes: Outcomes) -> Means:
    """Return per metric the mean, at each branch, over its own leaves and one value of each child branch."""
    node = node.item if node.is_array else node
    if not node.structural:
        return {name: outcomes[node].means.get(name) if node in outcomes else None for name in names}
    names = list(names)
    below = [hierarchical_means(names, child, outcomes) for child in node.children]
    return {name: mean_of([value for means in below if (value := means[name]) is not None]) for name in names}


def per_leaf_type(branch: SchemaNode, outcomes: Outcomes) -> dict[str, Means | None]:
    """Return {type: {metric: mean over the leaves of that type}}, None for a type without a scored leaf."""
    by_type: dict[str, list[LeafOutcome]] = {}
    for leaf in leaves_of(branch):
        by_type.setdefault(leaf.json_type, []).extend([outcomes[leaf]] if leaf in outcomes else [])
    result: dict[str, Means | None] = {}
    for name, leaves in sorted(by_type.items()):
        used = {metric for leaf in leaves for metric in leaf.means}
        means: Means = {metric: mean for metric, mean in flat_means(sorted(used), leaves).items() if mean is not None}
        result[name] = means or None
    return result


def mean_over_metrics(means: Mapping[str, float | None], metrics: Mapping[str, Metric], *, clip: bool) -> float | None:
    """Return the mean over metrics, in 0..1, None without any scored leaf."""
    return mean_of([float(normalise(metrics[name], mean, clip=clip)) for name, mean in means.items() if mean is not None])


def total_score(leaf_score: float | None, counts: Counts) -> float:
    """Return the mean over metrics times both F1; without any scored leaf 1 for a perfect nothing, else 0."""
    if leaf_score is None:
        return float(counts.perfect)
    rates = counts.rates()
    return float(leaf_score * rates["f1_node"] * rates["f1_leaf"])


def results_tree(node: SchemaNode, outcomes: Outcomes, reached: Set[SchemaNode]) -> dict[str, Any]:
    """Return the outcomes in the schema's shape: {metric: result} at each leaf, None if no pair had a value on both sides."""
    if node.structural and not node.is_array:
        return {child.key: results_tree(child, outcomes, reached) if child in reached else None for child in node.children}
    return results_tree(node.item, outcomes, reached) if node.is_array else outcomes[node].entries


def mean_of(values: list[float]) -> float | None:
    """Return the mean, None without values; an exact sum, so that order never matters."""
    return math.fsum(values) / len(values) if values else None


RowStatus = Literal["match", "partial", "mismatch", "omission", "hallucination", "both_null"]


class Row(NamedTuple):
    """The expected and the predicted value at one place.

    `path` contains the positions of the expected items (of the predicted one for a surplus item); `expected_index` and `got_index` are
    those of the innermost list. `score` is the mean of the leaf's metrics in 0..1, None if nothing was scored; `flag` names a wrong
    container or type.
    """

    record: int
    path: str
    status: RowStatus
    expected: Any
    got: Any
    score: float | None
    expected_index: int | None
    got_index: int | None
    flag: str


class Rows(Sequence[Row]):
    """The rows of a walk in their order, made when they are read, because most callers need only the score."""

    def __init__(self) -> None:
        self._parts: list[Callable[[], Iterable[Row]]] = []
        self._rows: list[Row] | None = None

    def append(self, row: Row) -> None:
        self._parts.append(lambda: [row])

    def later(self, make: Callable[[], Iterable[Row]]) -> None:
        """Add rows that are made when they are read."""
        self._parts.append(make)

    def all(self) -> list[Row]:
        if self._rows is None:
            self._rows = list(iter(self))  # not `list(self)`, which asks for the length
        return self._rows

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows; new ones are not kept, so that a long batch needs little memory."""
        return iter(self._rows) if self._rows is not None else (row for make in self._parts for row in make())

    def __len__(self) -> int:
        return len(self.all())

    def __getitem__(self, place: Any) -> Any:
        return self.all()[place]

    def __eq__(self, other: object) -> bool:
        return self.all() == (other.all() if isinstance(other, Rows) else other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (self.all(),)


MAX_CELLS = 40_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to score: the reference's way or the sound one, and the most cells (item pairs x leaves) of one pair of lists."""

    compat: bool = False
    max_cells: int = MAX_CELLS


class TreevalGrid(Grid):
    """The items of two lists: the six counters of each pair, and the total and number of the scores of each (leaf, metric).

    Raises `TreeLimitError` for more cells (pairs x leaves) than the limit.
    """

    def __init__(self, node: SchemaNode, want: Sequence[Any], got: Sequence[Any], options: Options) -> None:
        self.absent = None if options.compat else ABSENT
        n_leaves = max(1, node.item.n_leaves) if node.lists_objects else len(node.item.metrics)
        if len(want) * len(got) * n_leaves > options.max_cells:
            sizes = f"{len(want):,} x {len(got):,} items x {n_leaves} leaves"
            message = f"{sizes} are more than the {options.max_cells:,} cells of the limit max_cells"
            raise TreeLimitError(message, node.path, of_gold=len(want) ** 2 * n_leaves > options.max_cells)
        super().__init__(len(want), len(got))
        self.options = options
        rows = range(len(want))
        if not node.lists_objects:
            self.leaf(node.item, want, rows, got, range(len(got)))
            return
        # Null matches null, anything else that is no object lacks every key.
        objects = [j for j, item in enumerate(got) if isinstance(item, dict)]
        nulls = dict.fromkeys(node.item.by_key)
        self.branch(node.item, [nulls if item is None else item for item in want], rows, pick(got, objects), objects)
        non_object = not_an_object(node.item)
        self.add(non_object._asdict(), rows, [j for j, item in enumerate(got) if not isinstance(item, dict)])
        agreeing = Counts(predicted=1, tp_node=1).plus(Counts(*(-n for n in non_object)))
        self.add(agreeing._asdict(), [i for i in rows if want[i] is None], [j for j, item in enumerate(got) if item is None])

    def objects(self, branch: SchemaNode, want: Sequence[Any], rows: Sequence[int], got: Sequence[Any], columns: Sequence[int]) -> None:
        """Count the keys of predicted objects."""
        sizes = [len(item) for item in got]
        n_keys = float(sizes[0]) if len(set(sizes)) == 1 else np.array([sizes], dtype=np.float64)
        self.add({**NOTHING._asdict(), "predicted": n_keys}, rows, columns)

    def present(self, node: SchemaNode, want: list[Any], rows: Sequence[int], got: list[Any], columns: Sequence[int]) -> Chosen | None:
        """Count the pairs of one key. Return the values of each side, of the right container."""
        if all_fit(node, want, got):
            self.add(count_pair(node, got[0], want[0])._asdict(), rows, columns)
            return range(len(want)), range(len(got))
        self.add(_count_pairs(node, want, got), rows, columns)
        left, right = ([i for i, value in enumerate(side) if value is not None and value is not ABSENT] for side in (want, got))
        if node.structural:
            right = [j for j in right if fits(node, got[j])]
        return (left, right) if left and right else None

    def leaf(self, leaf: SchemaNode, want: Sequence[Any], rows: Sequence[int], got: Sequence[Any], columns: Sequence[int]) -> None:
        """Compare values; a container in the place of a value gets the worst score."""
        fine = scalars(got)
        for k, metric in enumerate(leaf.metrics):
            raw = measure(metric, "matrix", want, pick(got, fine))
            if len(fine) < len(got):
                whole = np.full((len(want), len(got)), worst(metric))
                whole[:, fine] = raw
                raw = whole
            raw = raw if isinstance(metric, ExactMatch | Levenshtein) or np.isfinite(raw).all() else np.nan_to_num(raw)
            self.add({(leaf, k, "total"): raw, (leaf, k, "number"): 1.0}, rows, columns)

    def array(self, node: SchemaNode, want: Sequence[Any], rows: Sequence[int], got: Sequence[Any], columns: Sequence[int]) -> None:
        """Compare lists inside items."""
        self.lists.append((rows, columns, TreevalLists(node, want, got, self.options)))


def _count_pairs(node: SchemaNode, want: Sequence[Any], got: Sequence[Any]) -> Mapping[str, Cells]:
    """Return the counters of the pairs of one key, by predicted value against an expected value, an expected null and no key."""
    kinds = [1 if value is None else 2 if value is ABSENT else 0 for value in want]
    some = want[kinds.index(0)] if 0 in kinds else None
    stand_in: Any = [] if isinstance(some, list) else some  # sizes of missed lists are added below
    columns = [[count_pair(node, value, expected) for value in got] for expected in (stand_in, None, ABSENT)]
    chosen = np.array(columns, dtype=np.float64)[kinds]
    wrong = np.array([value is not ABSENT and value is not None and not fits(node, value) for value in got])
    if isinstance(some, list) and wrong.any():
        sizes = np.array([items_size(node, value) for value in want], dtype=np.float64)
        chosen[:, :, Counts._fields.index("fn_node")] += sizes[:, None] * wrong[None, :]
    return {name: chosen[:, :, k] for k, name in enumerate(Counts._fields)}


class TreevalLists(InnerLists):
    """Lists inside items, each in order of content (of position in the reference's way)."""

    def __init__(self, node: SchemaNode, want: Sequence[list[Any]], got: Sequence[list[Any]], options: Options) -> None:
        self.node, self.options = node, options
        super().__init__(*([self._in_order(items) for items in side] for side in (want, got)))

    def _in_order(self, items: list[Any]) -> list[Any]:
        return items if self.options.compat or len(items) < 2 else [items[i] for i in canonical_order(items)]

    def cross(self, gold: Sequence[Any], answered: Sequence[Any]) -> TreevalGrid:
        """Return the grid of some items."""
        return TreevalGrid(self.node, gold, answered, self.options)

    def lone(self, side: int) -> Mapping[Any, Floats]:
        """Return the nodes that a missing or surplus item costs."""
        return {("fn_node", "predicted")[side]: np.array([item_size(self.node, item) for item in self.elements[side]], dtype=np.float64)}

    def sum_matches(self, sums: Names, layers: Floats, part: slice, lists: slice) -> Floats:
        """Return the sums over the matched items; a list of values gives one value, its mean, for each pair of lists."""
        ends = self.bounds(lists)
        weights = pair_weights(self.node, sums, layers.shape[1:], self.options)
        if self.options.compat and (self.node.lists_objects or len(self.node.item.metrics) > 1):
            # More than the sum is read there, so it matters which of several best assignments is chosen.
            totals = np.zeros((len(layers), len(ends[0]) - 1, len(ends[1]) - 1))
            for i, j in np.ndindex(totals.shape[1:]):
                pairs = best_assignment(weights[ends[0][i] : ends[0][i + 1], ends[1][j] : ends[1][j + 1]])
                rows, columns = [ends[0][i] + a for a, _ in pairs], [ends[1][j] + b for _, b in pairs]
                totals[:, i, j] = layers[:, rows, columns].sum(axis=1)
        else:
            # Weights above 0, so that as many pairs as possible are matched.
            totals = matched_sums(layers, weights - weights.min(initial=0.0) + 1.0, ends)
        if not self.node.lists_objects:
            n_pairs = np.maximum(np.minimum(np.diff(ends[0])[:, None], np.diff(ends[1])[None, :]), 1)
            totals[[isinstance(name, tuple) for name in sums]] /= n_pairs
        return totals


def pair_weights(node: SchemaNode, sums: Mapping[Any, Cells], shape: tuple[int, ...], options: Options) -> Floats:
    """Return the weight of each pair of items, n x m: the mean of the metrics for values, the pair's own score for objects."""
    if node.lists_objects:
        weights = _pair_scores(sums, options)
    elif len(node.item.metrics) == 1:
        (metric,) = node.item.metrics
        raw = sums.get((node.item, 0, "total"), 0.0)
        if isinstance(metric, ExactMatch | Levenshtein):  # one division each: equal ratios are equal numbers, nothing is to be rounded
            return np.broadcast_to(raw, shape)
        weights = raw if metric.higher_is_better or options.compat else -raw
    else:
        metrics, clip = node.item.metrics, not options.compat
        each = [normalise(metric, sums.get((node.item, k, "total"), 0.0), clip=clip) for k, metric in enumerate(metrics)]
        weights = sum(each) / len(each)
    full: Floats = np.broadcast_to(weights, shape)
    return full if options.compat else np.round(full, 9)


def _pair_scores(sums: Mapping[Any, Cells], options: Options) -> Cells:
    """Return the score of each pair of objects: mean over metrics of the mean over leaves, times both F1."""
    counts = Counts(*(sums.get(name, 0.0) for name in Counts._fields))
    rates = counts.rates()
    metrics: dict[str, Metric] = {}
    by_metric: dict[str, list[Cells]] = {}
    for leaf, k in [name[:2] for name in sums if isinstance(name, tuple) and name[2] == "total"]:
        name, total, number = leaf.metrics[k].name, sums[leaf, k, "total"], sums[leaf, k, "number"]
        metrics[name] = leaf.metrics[k]
        entry = by_metric.setdefault(name, [0.0, 0.0])
        mean: Cells
        scored: Cells
        if isinstance(number, float):  # each pair has one score
            mean, scored = total, 1.0
        else:
            scored = np.asarray(number) > 0
            mean = np.where(scored, total / np.maximum(number, 1), 0.0)
        entry[0], entry[1] = entry[0] + mean, entry[1] + scored
    value: Cells = 0.0
    n_metrics: Cells = 0.0
    for name, (total, number) in by_metric.items():
        mean = normalise(metrics[name], total / np.maximum(number, 1), clip=not options.compat)
        value = value + mean * (np.asarray(number) > 0)
        n_metrics = n_metrics + (np.asarray(number) > 0)
    score = value / np.maximum(n_metrics, 1) * rates["f1_node"] * rates["f1_leaf"]
    if by_metric and np.ndim(n_metrics) == 0:
        return score
    return np.where(np.asarray(n_metrics) > 0, score, counts.perfect)
