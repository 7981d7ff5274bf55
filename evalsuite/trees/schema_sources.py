"""Anything that can serve as a schema -> the parsed tree: examples of records, a plain JSON Schema, a Pydantic model, an eval schema."""

import copy
from collections.abc import Sequence
from typing import Any

from evalsuite.trees.eval_schema import DEFINITIONS, SchemaNode, child_path, child_schemas, effective_type, parse_eval_schema, two_shapes
from evalsuite.trees.field_results import Notice, Notify, log_notice
from evalsuite.trees.json_values import DEFAULT_LIMITS, TreeLimits, choices, inspect
from evalsuite.trees.registries import Registry
from evalsuite.trees.resolve import needs_resolving, resolve_schema_references

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


_NAMES = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"), (dict, "object"))
MAX_ENUM = 12
MIN_REPEATS = 3


def infer_schema(
    values: Sequence[Any], *, widen: bool = False, notify: Notify = log_notice, limits: TreeLimits = DEFAULT_LIMITS
) -> dict[str, Any]:
    """The JSON Schema (`type`, `properties`, `items`) of a list of records; gold alternatives count as values each.

    The first value that is not null decides the type of a field, and a field of mixed types is named to `notify`. With `widen` all values
    decide: integers and numbers make a number, other mixtures a list of types, nulls make the type nullable, and texts of at most 12
    different values, each seen three times on average, get an `enum`.

    Raises:
        ValueError: no value at all.
        TreeLimitError: the values pass a limit.
    """
    values = list(values)
    if not values:
        raise ValueError("infer_schema requires at least one value")
    alternatives = inspect(values, limits)
    return _Inference(widen, notify, alternatives).schema(values, "")


class _Inference:
    def __init__(self, widen: bool, notify: Notify, alternatives: bool) -> None:
        self.widen = widen
        self.notify = notify
        self.alternatives = alternatives

    def schema(self, values: list[Any], path: str) -> dict[str, Any]:
        if self.alternatives:
            values = [choice for value in values for choice in choices(value)]
        present = [value for value in values if value is not None]
        if not present:
            return {"type": ["string", "null"]} if self.widen and values else {"type": "string"}
        names = list(dict.fromkeys(map(_name, present)))
        if len({"number" if name == "integer" else name for name in names}) > 1:
            self.notify(Notice("polymorphic", path or "<root>", f"values of several types: {', '.join(names)}"))
        found: dict[str, Any] = self.declared(names, present) if self.widen else {"type": names[0]}
        self.children(found, present, path)
        if self.widen and len(present) < len(values):
            found["type"] = [*([found["type"]] if isinstance(found["type"], str) else found["type"]), "null"]
        return found

    def declared(self, names: list[str], present: list[Any]) -> dict[str, Any]:
        if "integer" in names and "number" in names:
            names = [name for name in names if name != "integer"]
        found: dict[str, Any] = {"type": names[0] if len(names) == 1 else names}
        if names == ["string"]:
            different = sorted(set(present))
            if len(different) <= MAX_ENUM and len(present) >= MIN_REPEATS * len(different):
                found["enum"] = different
        return found

    def children(self, found: dict[str, Any], present: list[Any], path: str) -> None:
        if found["type"] == "array":
            pool = [item for value in present if isinstance(value, list) for item in value]
            found["items"] = self.schema(pool, child_path(path, "[]", True)) if pool else {"type": "string"}
        elif found["type"] == "object":
            records = [value for value in present if isinstance(value, dict)]
            keys = sorted({key for record in records for key in record})
            found["properties"] = {key: self.child(records, key, child_path(path, key, False)) for key in keys}

    def child(self, records: list[dict[str, Any]], key: str, path: str) -> dict[str, Any]:
        """The schema of one key; with `widen` an absent key is no null, without it nulls count for nothing anyway."""
        return self.schema([record[key] for record in records if key in record], path)


def _name(value: Any) -> str:
    for kind, name in _NAMES:
        if isinstance(value, kind):
            return name
    return "string"


def as_json_schema(schema: Any) -> Any:
    """The JSON Schema as plain data: that of a Pydantic model, or a copy of what was given."""
    describe = getattr(schema, "model_json_schema", None)
    return describe() if callable(describe) else copy.deepcopy(schema)


def prepare(schema: Any, *, compat: bool = False, registry: Registry | None = None, notify: Notify = lambda _: None) -> SchemaNode:
    """The parsed schema. Unless `compat`, references and unions are resolved and leaves get their type's comparator; input is not changed.

    Remarks go to `notify`: by default nobody hears them at each scoring.

    Raises:
        SchemaError: the schema cannot be used.
    """
    if isinstance(schema, dict):
        inspect(schema, where="schema")
    found = as_json_schema(schema)
    if not compat and isinstance(found, dict):
        if needs_resolving(found):
            found = resolve_schema_references(found, notify=lambda _: None)
        annotate_xeval(found)
    return parse_eval_schema(found, compat=compat, registry=registry, notify=notify)
