"""Treeval's numbers value by value, as the reference implementation computes them, for batches that do not have the schema's shape.

It distinguishes leaf, list and object by the first predicted value of the batch that has one, and treats the others as the same: it counts
the letters of a text as keys or items, the keys of an object as items, and compares a list in the place of a text with the text's letters.
Each pair of items of two lists is a batch of its own.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from evalsuite.compare.bipartite_matching import best_assignment
from evalsuite.trees.all_pairs import Floats, np, pick
from evalsuite.trees.eval_schema import SchemaNode
from evalsuite.trees.json_values import ABSENT, TreeLimitError
from evalsuite.trees.treeval_counts import Counts, LeafOutcome, Options, TreevalGrid, count_pair, item_size, mean_of, pair_weights
from evalsuite.trees.treeval_metrics import ROOT_KEYS, ExactMatch, Levenshtein, Metric, measure, normalise

CELLS_OF_A_CALL = 20  # a metric called for one pair costs as much as this many cells of a matrix
Leaf = dict[str, float]
Found = dict[SchemaNode, Leaf]  # the mean of each metric of each leaf that was reached
Pair = tuple[Found, list[float]]  # of two items: the means of each leaf, and the counters
ByValue = tuple[list[float], dict[SchemaNode, LeafOutcome], set[SchemaNode]]


class ReferenceRaisesError(Exception):
    """The reference has no number; the text says why."""


def is_regular(node: SchemaNode, want: Sequence[Any], got: Sequence[Any], *, in_items: bool = False) -> bool:
    """Return whether the matrices give the reference's numbers: values have the schema's shape, and no rule here treats them differently.

    `want` and `got` are pairs, or with `in_items` the items of two lists, of which every one meets every one.
    """
    if node.is_object:
        return set(map(type, got)) == {dict} == set(map(type, want)) and _has_free_keys(node, in_items) and all(
            _is_regular_field(child, want, got, in_items) for child in node.children
        )  # fmt: skip
    if not (node.structural and node.is_array):
        return _is_regular_leaf(node, want, got, in_items)
    if {*map(type, want), *map(type, got)} != {list} or [] in (*want, *(got if in_items else got[:1])):
        return False
    if node.item.is_array or (in_items and node.item.is_object):
        return False
    return is_regular(node.item, list(chain.from_iterable(want)), list(chain.from_iterable(got)), in_items=True)


def _is_regular_field(child: SchemaNode, want: Sequence[Any], got: Sequence[Any], in_items: bool) -> bool:
    key = child.key
    left, right = [value.get(key) for value in want], [value.get(key) for value in got]
    if None in left or None in right:
        if in_items or any(key in value and key not in expected for expected, value in zip(want, got, strict=True)):
            return False
        both = [i for i, value in enumerate(left) if value is not None and right[i] is not None]
        left, right = [left[i] for i in both], [right[i] for i in both]
    return not left or is_regular(child, left, right, in_items=in_items)


def _is_regular_leaf(leaf: SchemaNode, want: Sequence[Any], got: Sequence[Any], in_items: bool) -> bool:
    kinds = {*map(type, want), *map(type, got)}
    if kinds == {str}:
        return True
    if not kinds <= {int, float, bool} or any(isinstance(metric, Levenshtein) for metric in leaf.metrics):
        return False
    if not all(-(2**53) <= value <= 2**53 for value in (*want, *got) if type(value) is int):
        return False
    # A batch with one predicted float is one of floats.
    predicted = set(map(type, got))
    return in_items or float not in kinds or int not in predicted or predicted == {int}


def _has_free_keys(node: SchemaNode, in_items: bool) -> bool:
    """Return whether no key of records or of items has the name of one of the reference's six rates, which stand next to it there."""
    return (bool(node.path) and not in_items) or not any(child.key in ROOT_KEYS[:6] for child in node.children)


def surplus_raises(matched: Sequence[int], n_predicted: int) -> bool:
    """Return whether the reference's search for surplus objects, which deletes matched positions from a list, reads past its end."""
    return n_predicted > len(matched) and any(position >= n_predicted - done for done, position in enumerate(reversed(matched)))


def score_by_value(branch: SchemaNode, want: Sequence[Any], got: Sequence[Any], options: Options) -> ByValue:
    """Return the six counters, the outcome of each leaf and the fields that were reached. Raises `ReferenceRaisesError`."""
    walk = _ByValue(options)
    counts = [0.0] * len(Counts._fields)
    try:
        _refuse_keys(branch)
        walk.objects(branch, want, got, counts)
    except RecursionError:
        raise ReferenceRaisesError("values nested too deep") from None
    return counts, walk.outcomes, walk.reached


def _refuse_keys(branch: SchemaNode) -> None:
    for child in branch.children:
        if child.key in ROOT_KEYS[:6]:
            raise ReferenceRaisesError(f"a key with the name of one of its numbers, {child.path}")


class _ByValue:
    """One walk: `outcomes` has each leaf outside items, and the matched items of each list together."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.n_calls = 0
        self.outcomes: dict[SchemaNode, LeafOutcome] = {}
        self.reached: set[SchemaNode] = set()

    def objects(self, node: SchemaNode, want: Sequence[Any], got: Sequence[Any], counts: list[float], *, in_items: bool = False) -> Found:
        """Count the keys of predicted objects and score each field over the pairs with a value on both sides."""
        where = node.path or "the top"
        if not isinstance(got[0], dict) or not all(isinstance(value, dict | str | list) for value in got):
            raise ReferenceRaisesError(f"no object at {where}")
        _add(counts, Counts(predicted=sum(map(len, got))))
        found: Found = {}
        for child in node.children:
            left, right = [], []
            for expected, value in zip(want, got, strict=True):
                if child.key not in value:
                    _add(counts, count_pair(child, ABSENT, None))
                    continue
                if not isinstance(value, dict):
                    raise ReferenceRaisesError(f"no object at {where}")
                if child.key not in expected:
                    raise ReferenceRaisesError(f"an expected object without the key {child.path}")
                sides = expected[child.key], value[child.key]
                if None in [side if side is None else 0 for side in sides]:
                    _add(counts, count_pair(child, sides[1], sides[0]))
                    continue
                _add(counts, Counts(tp_node=1, tp_leaf=0 if child.is_object else 1))
                left.append(sides[0])
                right.append(sides[1])
            if right:
                self.reached.add(child)
                found |= self.field(child, left, right, counts, in_items=in_items)
            elif in_items:
                raise ReferenceRaisesError(f"a null or missing key in an object of a list at {child.path}")
        return found

    def field(self, node: SchemaNode, want: Sequence[Any], got: Sequence[Any], counts: list[float], *, in_items: bool = False) -> Found:
        """Score a batch as what its first predicted value is."""
        first = got[0]
        if first == []:
            raise ReferenceRaisesError(f"no answer (hang) for an empty list at {node.path}")
        if node.is_object:
            return self.objects(node, want, got, counts, in_items=in_items)
        if isinstance(first, list):
            return self.lists(node, want, got, counts, in_items=in_items)
        leaf = node.item if node.is_array else node
        if isinstance(first, dict) or leaf.structural:
            kind = "no list" if node.is_array else "a container in the place of a value"
            raise ReferenceRaisesError(f"{kind} at {node.path}")
        results = {metric.name: self.value(metric, leaf, want, got) for metric in leaf.metrics}
        means = {name: mean for name, (mean, _) in results.items()}
        if not in_items:
            self.outcomes[leaf] = LeafOutcome(dict(means), {name: entry for name, (_, entry) in results.items()}, {})
        return {leaf: means}

    def value(self, metric: Metric, leaf: SchemaNode, want: Sequence[Any], got: Sequence[Any]) -> tuple[float, dict[str, float | None]]:
        """Return (score, results) of one call of a metric."""
        self.charge(1)
        if isinstance(metric, ExactMatch):
            mean = _exact_match(leaf.path, want, got)
            return mean, {metric.name: mean}
        if isinstance(metric, Levenshtein):
            if not isinstance(want[0], str) or not isinstance(got[0], str):
                raise ReferenceRaisesError(f"a value that is no text at {leaf.path}")
            want, got = [list(map(str, side)) for side in (want, got)]
        elif any(isinstance(value, dict | list) for value in (*want, *got)):
            raise ReferenceRaisesError(f"a container in the place of a value at {leaf.path}")
        mean = mean_of(measure(metric, "scores", want, got).tolist()) or 0.0
        return mean, dict(metric.summary(want, got, mean))

    def lists(self, node: SchemaNode, want: Sequence[Any], got: Sequence[Any], counts: list[float], *, in_items: bool) -> Found:
        """Align the items of each pair of lists; return the mean of each metric over all matched items."""
        inner, where = node.item if node.is_array else node, node.path
        if isinstance(got[0][0], dict) != inner.is_object or inner.is_array:
            raise ReferenceRaisesError(f"no object in the list at {where}" if inner.is_object else f"a list of lists or objects at {where}")
        if inner.is_object:
            if in_items:
                raise ReferenceRaisesError(f"a list of objects in a list of objects at {where}")
            _refuse_keys(inner)
        pooled: dict[SchemaNode, dict[str, list[float]]] = {}
        for expected, value in zip(want, got, strict=True):
            if not isinstance(value, list | str | dict) or not isinstance(expected, list | str):
                raise ReferenceRaisesError(f"no list at {where}")
            if not expected:
                raise ReferenceRaisesError(f"an empty expected list at {where}")
            self.pair_of_lists(node, inner, list(expected), list(value), pooled, counts)
        means = {leaf: {name: sum(scores) / len(scores) for name, scores in by_metric.items()} for leaf, by_metric in pooled.items()}
        if not in_items:
            for leaf, by_name in means.items():
                self.outcomes[leaf] = LeafOutcome(dict(by_name), {name: {name: mean} for name, mean in by_name.items()}, {})
        return means

    def pair_of_lists(
        self,
        node: SchemaNode,
        inner: SchemaNode,
        want: list[Any],
        got: list[Any],
        pooled: dict[SchemaNode, dict[str, list[float]]],
        counts: list[float],
    ) -> None:
        """Score every pair of items, and add those of the assignment with the highest weight to `pooled` and `counts`."""
        weights, result_of = self.all_pairs(node, inner, want, got)
        chosen = best_assignment(weights)
        if inner.is_object and surplus_raises([j for _, j in chosen], len(got)):
            raise ReferenceRaisesError(f"surplus objects matched out of order at {node.path}")
        for i, j in chosen:
            found, own = result_of(i, j)
            for leaf, means in found.items():
                for name, mean in means.items():
                    pooled.setdefault(leaf, {}).setdefault(name, []).append(mean)
            _add(counts, Counts(*own) if inner.is_object else Counts())
        surplus, missing = (
            [item for place, item in enumerate(side) if place not in used]
            for side, used in ((got, {j for _, j in chosen}), (want, {i for i, _ in chosen}))
        )
        sizes = [sum(item_size(node, item) if inner.is_object else 1 for item in side) for side in (surplus, missing)]
        _add(counts, Counts(predicted=sizes[0], fn_node=sizes[1]))

    def all_pairs(self, node: SchemaNode, inner: SchemaNode, want: list[Any], got: list[Any]) -> tuple[Floats, Callable[[int, int], Pair]]:
        """Return the weight of each pair of items, and a function that gives its means and counters.

        Those of items that have the schema's shape are computed as matrices, so that one odd item does not make all others slow.
        """
        weights = np.empty((len(want), len(got)))
        shaped = [
            [place for place, item in enumerate(side) if node.is_array and is_regular(inner, [item], [item], in_items=True)]
            for side in (want, got)
        ]
        sides = pick(want, shaped[0]), pick(got, shaped[1])
        cells: dict[Any, Floats] = {}
        if all(shaped) and is_regular(inner, *sides, in_items=True):
            grid = TreevalGrid(node, *sides, self.options)
            sums = grid.totals()
            weights[np.ix_(*shaped)] = pair_weights(node, sums, grid.shape, self.options)
            cells = {name: np.broadcast_to(sums[name], grid.shape) for name in sums}
            self.reach(inner)
        rows, columns = ({place: k for k, place in enumerate(places if cells else ())} for places in shaped)
        others: dict[tuple[int, int], Pair] = {}
        for i, expected in enumerate(want):
            for j, value in enumerate(got):
                if i not in rows or j not in columns:
                    weights[i, j], found, own = self.pair_of_items(inner, expected, value)
                    others[i, j] = found, own

        def result_of(i: int, j: int) -> Pair:
            if i not in rows or j not in columns:
                return others[i, j]
            at = rows[i], columns[j]
            found: Found = {}
            for leaf, k, _ in [name for name in cells if isinstance(name, tuple) and name[2] == "total"]:
                mean = cells[leaf, k, "total"][at] / cells[leaf, k, "number"][at]
                found.setdefault(leaf, {})[leaf.metrics[k].name] = float(mean)
            return found, [float(cells[name][at]) if name in cells else 0.0 for name in Counts._fields]

        return weights, result_of

    def pair_of_items(self, inner: SchemaNode, expected: Any, value: Any) -> tuple[float, Found, list[float]]:
        """Return (weight, means of each leaf, counters) of an expected and a predicted item."""
        own = [0.0] * len(Counts._fields)
        if not inner.is_object:
            found = self.field(inner, [expected], [value], own, in_items=True)
            (means,) = found.values()
            if len(means) == 1:
                return next(iter(means.values())), found, own
            return _mean_over(inner.metrics, means), found, own
        if not isinstance(expected, dict):
            raise ReferenceRaisesError(f"a null in the list at {inner.path}")
        found = self.objects(inner, [expected], [value], own, in_items=True)
        metrics = {metric.name: metric for leaf in found for metric in leaf.metrics}
        if not metrics:
            raise ReferenceRaisesError(f"nothing to score in an object of the list at {inner.path}")
        means = {name: mean_of([each[name] for each in found.values() if name in each]) or 0.0 for name in metrics}
        rates = Counts(*own).rates()
        return float(_mean_over(list(metrics.values()), means) * rates["f1_node"] * rates["f1_leaf"]), found, own

    def reach(self, node: SchemaNode) -> None:
        """Mark all fields below."""
        for child in node.children if node.structural else ():
            self.reached.add(child)
            self.reach(child)

    def charge(self, n: int) -> None:
        """Count calls of metrics. Raises `TreeLimitError` for more than the limit of cells allows."""
        self.n_calls += n
        if self.n_calls * CELLS_OF_A_CALL > self.options.max_cells:
            raise TreeLimitError(
                f"values of the wrong shape need more comparisons than the limit max_cells of {self.options.max_cells:,} allows", ""
            )


def _add(counts: list[float], more: Counts) -> None:
    for k, n in enumerate(more):
        counts[k] += float(n)


def _mean_over(metrics: Sequence[Metric], means: Mapping[str, float]) -> float:
    return sum(float(normalise(metric, means[metric.name], clip=False)) for metric in metrics) / len(metrics)


def _exact_match(where: str, want: Sequence[Any], got: Sequence[Any]) -> float:
    """Return the share of equal pairs: by the type of the first prediction, numbers as numpy compares two arrays."""
    first = got[0]
    if isinstance(first, str):
        if not isinstance(want[0], str):
            raise ReferenceRaisesError(f"values of different types at {where}")
        return sum(str(a) == str(b) for a, b in zip(want, got, strict=True)) / len(got)
    if not isinstance(first, int | float):
        return sum(bool(a == b) for a, b in zip(want, got, strict=True)) / len(got)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            answered, expected = np.array(got), np.array(want)
            is_whole = np.issubdtype(answered.dtype, np.integer)
            equal = np.equal(answered, expected) if is_whole else np.isclose(answered, expected, 1e-5, 1e-8)
        return float(np.count_nonzero(equal) / len(got))
    except (TypeError, ValueError, OverflowError, ArithmeticError):
        kinds = {*map(type, want), *map(type, got)}
        why = "an integer of more than 64 bits" if kinds <= {int, float, bool} else "values of different types"
        raise ReferenceRaisesError(f"{why} at {where}") from None
