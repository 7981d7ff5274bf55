"""What the reference implementation makes of values in the wrong container, where it does not raise.

It tells leaf, list and object apart by the first predicted value of the batch that has one, and takes the others for the same.
"""

from typing import Any, NamedTuple

from evalsuite.trees.treeval_counts import ABSENT, Counts, not_an_object
from evalsuite.trees.treeval_schema import Branch, Leaf, LeafArray, Node


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
