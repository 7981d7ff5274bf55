"""Default comparators by type, and writing them into a schema."""

import copy
from typing import Any

from evalsuite.trees.schema import DEFINITIONS, child_schemas, effective_type, two_shapes

_BUILT_IN: dict[str, Any] = {"string": "exact", "boolean": "exact", "number": "numeric", "integer": "numeric"}
_defaults: dict[str, Any] = dict(_BUILT_IN)


def set_type_default(json_type: str, entry: Any) -> None:
    """Make `entry` the comparator that `annotate_xeval` writes for a type ("multi" for several), in this process.

    Raises:
        TypeError, ValueError: the entry is not `"name"` or `{"name": {...}}`, or the type is no text.
    """
    if not isinstance(json_type, str) or not json_type:
        raise ValueError(f"json_type must be a non-empty string, got {json_type!r}")
    two_shapes(entry)
    _defaults[json_type] = copy.deepcopy(entry)


def reset_type_defaults() -> None:
    """Restore the defaults: exact for string and boolean, numeric for number and integer, exact for all else."""
    _defaults.clear()
    _defaults.update(_BUILT_IN)


def annotate_xeval(schema: dict[str, Any], *, compat: bool = False) -> dict[str, Any]:
    """The same schema, with `x-eval-compare` written in place into every leaf that has none and is not skipped.

    With `compat` a leaf with `x-eval-skip: false` is left alone as upstream does, so that parsing it fails.
    """
    seen: set[int] = set()
    waiting: list[Any] = [schema]
    definitions = schema.get("$defs") if isinstance(schema, dict) else None
    if not compat and isinstance(definitions, dict):
        waiting.extend(definitions.values())
    while waiting:
        node = waiting.pop()
        if not isinstance(node, dict) or id(node) in seen:
            continue
        seen.add(id(node))
        children = [sub for _, sub, _ in child_schemas(node)]
        waiting.extend(children)
        lazy = not compat and str(node.get("$ref", "")).startswith(DEFINITIONS)
        skip = "x-eval-skip" in node if compat else node.get("x-eval-skip", False) is not False
        if not children and not lazy and not skip and "x-eval-compare" not in node:
            node["x-eval-compare"] = copy.deepcopy(_defaults.get(effective_type(node)[0] or "", "exact"))
    return schema
