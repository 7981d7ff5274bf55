"""A schema from examples: the types that gold's values show."""

from collections.abc import Sequence
from typing import Any

from evalsuite.trees.limits import DEFAULT_LIMITS, TreeLimits, choices, inspect
from evalsuite.trees.notices import Notice, Notify, log_notice
from evalsuite.trees.schema import child_path

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
