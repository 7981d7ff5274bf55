"""From the outcomes of a walk to numbers: means per metric and per leaf type, the score, the results tree."""

import math
from collections.abc import Iterable, Iterator, Mapping

from evalsuite.trees.treeval_counts import Counts
from evalsuite.trees.treeval_metrics import Metric, normalise
from evalsuite.trees.treeval_schema import Branch, DictArray, Leaf, LeafArray
from evalsuite.trees.treeval_walk import BranchOutcome, LeafOutcome, Outcome

Means = dict[str, float | None]


def leaf_outcomes(outcome: Outcome | None) -> Iterator[LeafOutcome]:
    """Every leaf below that was reached."""
    todo: list[Outcome | None] = [outcome]
    while todo:
        one = todo.pop()
        if isinstance(one, LeafOutcome):
            yield one
        elif one is not None:
            todo.extend(one.children.values())


def leaves_of(branch: Branch) -> Iterator[Leaf]:
    """Every leaf of the schema, in no particular order."""
    todo = list(branch.children.values())
    while todo:
        node = todo.pop()
        if isinstance(node, Leaf):
            yield node
        elif isinstance(node, LeafArray):
            yield node.item
        else:
            todo.extend((node.item if isinstance(node, DictArray) else node).children.values())


def used_metrics(branch: Branch) -> dict[str, Metric]:
    """The metrics that some leaf uses, by name."""
    return {metric.name: metric for leaf in leaves_of(branch) for metric in leaf.metrics}


def flat_means(names: Iterable[str], leaves: Iterable[LeafOutcome]) -> Means:
    """Per metric the mean over all leaves that have a value; None where none has."""
    found: dict[str, list[float]] = {name: [] for name in names}
    for leaf in leaves:
        for name, mean in leaf.means.items():
            if mean is not None:
                found[name].append(mean)
    return {name: _mean(values) for name, values in found.items()}


def hierarchical_means(names: Iterable[str], outcome: Outcome) -> Means:
    """Per metric the mean, at each branch, over its own leaves and one value of each child branch."""
    if isinstance(outcome, LeafOutcome):
        return {name: outcome.means.get(name) for name in names}
    names = list(names)
    below = [hierarchical_means(names, child) for child in outcome.children.values() if child is not None]
    return {name: _mean([value for means in below if (value := means[name]) is not None]) for name in names}


def per_leaf_type(branch: Branch, outcome: Outcome) -> dict[str, Means | None]:
    """{type: {metric: mean over the leaves of that type}}, None for a type without a scored leaf."""
    found: dict[str, list[LeafOutcome]] = {leaf.type: [] for leaf in leaves_of(branch)}
    for leaf in leaf_outcomes(outcome):
        found[leaf.leaf.type].append(leaf)
    result: dict[str, Means | None] = {}
    for name, leaves in sorted(found.items()):
        used = {metric for leaf in leaves for metric in leaf.means}
        means: Means = {metric: mean for metric, mean in flat_means(sorted(used), leaves).items() if mean is not None}
        result[name] = means or None
    return result


def total_score(means: Mapping[str, float | None], metrics: Mapping[str, Metric], counts: Counts, *, clip: bool) -> float:
    """The mean over metrics, in 0..1, times the F1 of nodes and of leaves; without any scored leaf 1 for a perfect nothing, else 0."""
    values = [float(normalise(metrics[name], mean, clip=clip)) for name, mean in means.items() if mean is not None]
    if not values:
        return float(counts.perfect)
    rates = counts.rates()
    return math.fsum(values) / len(values) * rates["f1_node"] * rates["f1_leaf"]


def results_tree(outcome: Outcome | None) -> object:
    """The outcome in the schema's shape: {metric: result} at each leaf, None where no pair had a value on both sides."""
    if isinstance(outcome, BranchOutcome):
        return {key: results_tree(child) for key, child in outcome.children.items()}
    return None if outcome is None else outcome.shown


def _mean(values: list[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
