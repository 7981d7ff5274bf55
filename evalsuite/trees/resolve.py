"""Any JSON Schema -> one with `type`, `properties` and `items` only: references followed, allOf merged, unions made types.

A recursive `$ref` stays, as a reference into `$defs`; it is followed along a value when one is scored, so the data bounds it.
"""

import copy
from typing import Any

from evalsuite.trees.eval_schema import DEFINITIONS, SchemaError, child_path
from evalsuite.trees.field_results import Notice, Notify, log_notice
from evalsuite.trees.resolve_compat import JsonRefError, branch_types, look_up, resolve_like_upstream

MAX_NODES = 100_000
_BY_VALUE = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null", list: "array", dict: "object"}
_COMPOSED = ("$ref", "anyOf", "oneOf", "allOf", "enum", "const")


def resolve_schema_references(schema: Any, *, compat: bool = False, notify: Notify = log_notice) -> Any:
    """A new schema with references inlined, allOf merged and unions (anyOf, oneOf) turned into types; the input is not changed.

    `x-eval-*` keys beside a `$ref` are kept and override the target's. A union of objects has the properties of all, integer with number
    is number, null makes nothing. `compat` does what upstream does, pass by pass; there a recursive `$ref` raises RecursionError.

    Raises:
        SchemaError: a `$ref` that leads only to itself; more than 100,000 fields.
        JsonRefError: a `$ref` that leads nowhere; remote ones are never fetched.
    """
    notify(Notice("not_read", "", "oneOf, if/then/else, patternProperties and constraints are not scored"))
    if compat:
        return resolve_like_upstream(schema, notify)
    if not isinstance(schema, dict):
        raise SchemaError("Eval schema must be an object")
    return _Resolver(schema, notify).resolve()


def needs_resolving(schema: dict[str, Any]) -> bool:
    """Whether anything in a schema has to be resolved before it is parsed; references left by a resolution do not count."""
    waiting: list[Any] = [schema]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, dict):
            continue
        if any(key in node for key in _COMPOSED if key not in ("enum", "const") or "type" not in node):
            return True
        for key in ("properties", "$defs"):
            if isinstance(node.get(key), dict):
                waiting.extend(node[key].values())
        waiting.append(node.get("items"))
    return False


class _Resolver:
    """One resolution. `within` are the pointers being inlined on the way down; `direct` those followed since the last child step."""

    def __init__(self, root: dict[str, Any], notify: Notify) -> None:
        self.root = root
        self.notify = notify
        self.kept: dict[str, str] = {}
        self.n_nodes = 0

    def resolve(self) -> dict[str, Any]:
        found = self.node(self.root, "", ("#",), ("#",))
        found.pop("$defs", None)
        done: dict[str, Any] = {}
        while missing := [pointer for pointer, name in self.kept.items() if name not in done]:
            for pointer in missing:
                definition = self.node(self.look_up(pointer, []), "", (pointer,), (pointer,))
                definition.pop("$defs", None)
                done[self.kept[pointer]] = definition
        if done:
            found["$defs"] = done
        return found

    def node(self, schema: dict[str, Any], path: str, within: tuple[str, ...], direct: tuple[str, ...]) -> dict[str, Any]:
        self.n_nodes += 1
        if self.n_nodes > MAX_NODES:
            raise SchemaError(f"the schema unfolds to more than {MAX_NODES:,} fields", path)
        pointer = schema.get("$ref")
        if isinstance(pointer, str):
            return self.reference(schema, pointer, path, within, direct)
        merged = {
            key: copy.deepcopy(value) for key, value in schema.items() if key not in ("properties", "items", "allOf", "anyOf", "oneOf")
        }
        self.own_children(merged, schema, path, within)
        for part in schema.get("allOf") or ():
            _unite(merged, self.node(part, path, within, direct))
        for union in ("anyOf", "oneOf"):
            if isinstance(schema.get(union), list) and schema[union]:
                branches = [self.node(branch, path, within, direct) for branch in schema[union]]
                self.union(merged, [branch for branch in branches if branch.get("type") != "null"], path)
        _type_of_values(merged)
        return merged

    def own_children(self, merged: dict[str, Any], schema: dict[str, Any], path: str, within: tuple[str, ...]) -> None:
        properties, items = schema.get("properties"), schema.get("items")
        if isinstance(properties, dict):
            merged["properties"] = {
                name: self.node(sub, child_path(path, name, False), within, ()) for name, sub in properties.items() if isinstance(sub, dict)
            }
        if isinstance(items, dict):
            merged["items"] = self.node(items, child_path(path, "[]", True), within, ())

    def reference(
        self, schema: dict[str, Any], pointer: str, path: str, within: tuple[str, ...], direct: tuple[str, ...]
    ) -> dict[str, Any]:
        siblings = {key: value for key, value in schema.items() if key.startswith("x-eval-")}
        if pointer in direct:
            raise SchemaError(f"recursive $ref {pointer}", path)
        target = self.look_up(pointer, path)
        if pointer in within:
            name = self.kept.setdefault(pointer, self.name_for(pointer))
            return {"$ref": DEFINITIONS + name, **siblings}
        found = self.node(target, path, (*within, pointer), (*direct, pointer))
        return {**found, **siblings}

    def name_for(self, pointer: str) -> str:
        base = pointer.rsplit("/", 1)[-1].lstrip("#") or "root"
        name, n = base, 1
        while name in self.kept.values():
            n += 1
            name = f"{base}_{n}"
        return name

    def look_up(self, pointer: str, path: Any) -> dict[str, Any]:
        try:
            target = look_up(self.root, pointer)
        except KeyError:
            raise JsonRefError(pointer, [path]) from None
        if not isinstance(target, dict):
            raise JsonRefError(pointer, [path])
        return target

    def union(self, host: dict[str, Any], branches: list[dict[str, Any]], path: str) -> None:
        """Turn the branches of a union into the host's type, in place."""
        lazy = [branch for branch in branches if "$ref" in branch]
        if len(branches) == 1:
            for key, value in branches[0].items():
                host.setdefault(key, value)
            return
        types = branch_types([branch for branch in branches if branch not in lazy])
        if types is None:
            return
        names = [name for name in dict.fromkeys(types) if name != "null"]
        for branch in lazy:
            declared = self.look_up_kept(branch)
            names.extend(name for name in ([declared] if isinstance(declared, str) else declared or []) if name not in names)
        if "integer" in names and "number" in names:
            names.remove("integer")
        host["type"] = names[0] if len(names) == 1 else names
        if len(names) == 1:
            for branch in branches:
                _unite(host, branch)
        else:
            self.notify(Notice("collapsed", path, f"union became type {names}, compared as one value"))

    def look_up_kept(self, branch: dict[str, Any]) -> Any:
        name = branch["$ref"].removeprefix(DEFINITIONS)
        pointer = next(pointer for pointer, kept in self.kept.items() if kept == name)
        return self.look_up(pointer, []).get("type")


def _unite(host: dict[str, Any], part: dict[str, Any]) -> None:
    """Take a part's keys into its host, in place: properties are united, of everything else the first wins."""
    for key, value in part.items():
        if key == "properties" and isinstance(host.get(key), dict):
            host[key] = {**value, **host[key]}
        elif key == "enum" and isinstance(host.get(key), list):
            host[key] = [*host[key], *(item for item in value if item not in host[key])]
        else:
            host.setdefault(key, value)


def _type_of_values(schema: dict[str, Any]) -> None:
    """Give a schema that lists its values (`enum`, `const`) and names no type the type of these values, in place."""
    if "type" in schema or not ("enum" in schema or "const" in schema):
        return
    values = schema["enum"] if isinstance(schema.get("enum"), list) else [schema.get("const")]
    names = list(dict.fromkeys(_BY_VALUE.get(type(value), "string") for value in values))
    schema["type"] = names[0] if len(names) == 1 else names
