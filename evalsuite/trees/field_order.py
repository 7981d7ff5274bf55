"""What an element of a list is by its content: its place in an order, its key, and what it costs where it stands alone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evalsuite.errors import FaultError
from evalsuite.trees.field_plan import Plan, try_transformed
from evalsuite.trees.field_results import RowStatus
from evalsuite.trees.field_totals import tally
from evalsuite.trees.json_values import ANY_OF, ByObject, choices, exact_text, unordered_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from evalsuite.trees.field_rows import Walk

    Floats = NDArray[np.float64]

Keyed = tuple[list[tuple[int, int | None]], list[int], list[int]]


def how_aligned(plan: Plan) -> str:
    """`ordered`, `key_field` or `hungarian` (best fit)."""
    align = plan.node.align or {}
    return "ordered" if align.get("ordered") is True else str(align.get("match_by") or "ordered")


class ContentOrder:
    """The order of a list's elements by their content: the same whatever order they, or unordered lists inside them, stand in."""

    def __init__(self) -> None:
        self.known: ByObject[tuple[list[int], list[str]]] = ByObject()

    def of(self, plan: Plan, values: list[Any]) -> tuple[list[int], list[str]]:
        """(positions of the elements in order of content, their texts in that order)."""

        def sort() -> tuple[list[int], list[str]]:
            texts = [self.text(plan.children[0], value) for value in values]
            places = sorted(range(len(values)), key=texts.__getitem__)
            return places, [texts[place] for place in places]

        return self.known.get(plan.path, (values,), sort)

    def text(self, plan: Plan, value: Any) -> str:
        """A text that two values share where they differ in nothing that this field heeds as an order."""
        if not isinstance(value, dict | list) or not plan.unordered:
            return exact_text(value)
        if not plan.structural:
            return unordered_text(value)
        if isinstance(value, dict):
            named = {child.key: child for child in plan.children} if ANY_OF not in value else {}
            parts = [f"{exact_text(k)}:{self.text(named[k], v) if k in named else exact_text(v)}" for k, v in sorted(value.items())]
            return "{" + ",".join(parts) + "}"
        if not plan.is_array:
            return exact_text(value)
        texts = [self.text(plan.children[0], v) for v in value] if how_aligned(plan) == "ordered" else self.of(plan, value)[1]
        return "[" + ",".join(texts) + "]"


def keyed_pairs(walk: "Walk", plan: Plan, gold: list[Any], extracted: list[Any]) -> Keyed:
    """([(gold index, extracted index or None)], extracted elements with a key that gold lacks, those without a key of their own).

    The first of several elements with one key counts: in the reference by position, else by content.
    """
    places = [list(range(len(side))) if walk.compat else walk.order.of(plan, side)[0] for side in (gold, extracted)]
    first: dict[Any, int] = {}
    rest = []
    for j in places[1]:
        key = key_of(walk, plan, extracted[j])
        if key is None or key in first:
            rest.append(j)
        else:
            first[key] = j
    claimed: set[Any] = set()
    pairs: list[tuple[int, int | None]] = []
    for i in places[0]:
        key = key_of(walk, plan, next(choices(gold[i])) if walk.alternatives else gold[i])
        pairs.append((i, first.get(key) if key is not None and key not in claimed else None))
        claimed.add(key)
    left = [j for key, j in first.items() if key not in claimed]
    return sorted(pairs), left if walk.compat else sorted(left), sorted(rest)


def key_of(walk: "Walk", plan: Plan, element: Any) -> Any:
    """The element's key where it can serve as one; unless in compat mode after the key field's transforms."""
    name = (plan.node.align or {})["key"]
    key = element.get(name) if isinstance(element, dict) else None
    field = next((child for child in plan.children[0].children if child.key == name), None)
    if not walk.compat and field is not None and field.transforms:
        try:
            key, _ = try_transformed(field, key)
        except FaultError as error:
            walk.faults.append(error.fault)
    return key if isinstance(key, str | int | float) and not isinstance(key, bool) and key == key else None


def lone_weights(walk: "Walk", items: Plan, values: Sequence[Any], status: RowStatus) -> "Floats":
    """What each element costs where it stands alone on its side."""
    import numpy as np

    counts = [tally(walk.sides(items, value, status, "", ())) for value in values]
    return np.array([count.omitted + count.invented for count in counts], dtype=np.float64)
