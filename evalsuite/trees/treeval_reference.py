"""What the reference implementation of Treeval makes of values in the wrong container, and where it raises or never answers.

It tells leaf, list and object apart by the first predicted value of the batch that has one, and takes the others for the same; each pair
of items of a list of objects is a batch of its own. The reasons for no number are those of the specification (B1 to B11).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from evalsuite.trees.json_values import ABSENT
from evalsuite.trees.treeval_counts import Counts, not_an_object
from evalsuite.trees.treeval_schema import Branch, DictArray, Leaf, LeafArray, Node


class Letters(NamedTuple):
    """A text or list in the place of an object: its letters or items count as predicted keys, every key of the schema is absent."""

    value: str | list[Any]
    counts: Counts


def see_as_reference(node: Node, want: list[Any], got: list[Any]) -> None:
    """Put in the place of predicted values, in `got`, what the reference takes them for under this schema node.

    A container for a leaf is its Python text, a text for a list the list of its letters; one lone number or boolean for a list is held
    against each expected item. Where the reference raises instead, the value stays.
    """
    both = [i for i, value in enumerate(got) if value is not ABSENT and value is not None and want[i] is not None]
    first = got[both[0]] if both else None
    for i in both:
        value = got[i]
        if isinstance(node, Leaf):
            if isinstance(value, dict | list) and not isinstance(first, dict | list):
                got[i] = str(value)
        elif isinstance(node, Branch):
            if isinstance(value, str | list) and isinstance(first, dict):
                got[i] = Letters(value, not_an_object(node).plus(Counts(predicted=len(value) - 1, tp_node=1)))
        elif isinstance(node, LeafArray):
            if isinstance(value, str) and isinstance(first, list):
                got[i] = list(value)
            elif len(both) == 1 and not isinstance(value, str | dict | list):
                got[i] = [value] * len(want[i])


NUMBER = (int, float)


def reference_raises(branch: Branch, want: Sequence[Any], got: Sequence[Any]) -> str:
    """Why the reference has no number for these records, with the path; "" where it has one (as far as values and types tell)."""
    return _objects(branch, want, got, items=False)


def surplus_raises(matched: Sequence[int], n_predicted: int) -> bool:
    """Whether the reference's way to find surplus objects, deleting matched positions from a shrinking list, runs off its end."""
    return n_predicted > len(matched) and any(position >= n_predicted - done for done, position in enumerate(reversed(matched)))


def _objects(branch: Branch, want: Sequence[Any], got: Sequence[Any], *, items: bool) -> str:
    """Records or branches side by side; with `items` every expected one meets every predicted one."""
    reason = _no_objects(branch, got, items=items)
    if reason:
        return reason
    if items:
        want = [value for value in want if isinstance(value, dict)]
    else:
        pairs = [(w, g) for w, g in zip(want, got, strict=True) if isinstance(g, dict) and isinstance(w, dict)]
        want, got = [w for w, _ in pairs], [g for _, g in pairs]
    for key, node in branch.children.items():
        expected, predicted = [value.get(key) for value in want], [value.get(key, ABSENT) for value in got]
        if items:
            if any(value is None or value is ABSENT for value in (*expected, *predicted)):
                return f"a null or missing key in an object of a list at {node.path}"
        else:
            both = [(w, g) for w, g in zip(expected, predicted, strict=True) if w is not None and g is not None and g is not ABSENT]
            expected, predicted = [w for w, _ in both], [g for _, g in both]
        if expected and predicted and (reason := _node(node, expected, predicted, items=items)):
            return reason
    return ""


def _no_objects(branch: Branch, got: Sequence[Any], *, items: bool) -> str:
    for i, value in enumerate(got):
        if isinstance(value, dict):
            continue
        passes = i > 0 and not items and isinstance(value, str | list) and not any(key in value for key in branch.children)
        if not passes:
            return f"no object at {branch.path or 'the top'}"
    return ""


def _node(node: Node, want: list[Any], got: list[Any], *, items: bool) -> str:
    where = node.path
    if isinstance(node, Leaf):
        return _values(node, want, got, where, items=items)
    if isinstance(node, Branch):
        return _objects(node, want, got, items=items)
    firsts = got if items else got[:1]
    if any(value == [] for value in firsts):
        return f"no answer (hang) for an empty list at {where}"
    if any(not isinstance(value, list) for value in firsts):
        lone = len(got) == 1 and isinstance(got[0], NUMBER) and not items
        return "" if lone and isinstance(node, LeafArray) else f"no list at {where}"
    if any(not isinstance(value, list | str) or (isinstance(value, str) and isinstance(node, DictArray)) for value in got):
        return f"no list at {where}"
    if any(value == [] for value in want):
        return f"an empty expected list at {where}"
    if isinstance(node, DictArray) and items:
        return f"a list of objects in a list of objects at {where}"
    lists = [(want, got)] if items else [([w], [g]) for w, g in zip(want, got, strict=True)]
    return next(filter(None, (_items(node, w, g, where) for w, g in lists)), "")


def _items(node: LeafArray | DictArray, want: list[list[Any]], got: list[Any], where: str) -> str:
    left, right = [x for items in want for x in items], [x for items in got for x in items]
    if not left or not right:
        return ""
    if isinstance(node, DictArray):
        return _objects(node.item, left, right, items=True)
    return _values(node.item, left, right, where, items=True)


def _values(leaf: Leaf, want: Sequence[Any], got: Sequence[Any], where: str, *, items: bool) -> str:
    """Values that the metrics cannot take: levenshtein checks the first pair for texts, exact_match goes by the first prediction's type."""
    containers = [isinstance(value, dict | list) for value in got]
    if containers[0] or (items and any(containers)):
        return f"a container in the place of a value at {where}"
    names = {metric.name for metric in leaf.metrics}
    wanted, given = set(map(type, want)), set(map(type, got))
    firsts = wanted | given if items else {type(want[0]), type(got[0])}
    if "levenshtein" in names and firsts != {str}:
        return f"a value that is no text at {where}"
    if "exact_match" not in names:
        return ""
    if items:
        clash = (str in given and wanted != {str}) or (bool(given & {float, bool}) and not wanted <= {int, float, bool})
    elif isinstance(got[0], str):
        clash = not isinstance(want[0], str)
    elif type(got[0]) is int:
        clash = any(containers) or str in given
    else:
        clash = not (wanted | given) <= {int, float, bool}
    return f"values of different types at {where}" if clash else ""
