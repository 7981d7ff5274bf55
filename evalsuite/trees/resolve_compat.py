"""The reference's five passes over a JSON Schema: null branches, references, allOf, anyOf, definitions; quirks included.

Source: FAIRmat Struct Extract Eval. Differs in: each occurrence of a reference is resolved on its own (upstream changes shared objects).
"""

from collections.abc import Iterator
from typing import Any

from evalsuite.trees.field_results import Notice, Notify

_NULLS = ({"type": "null"}, {"type": None})
_PLAIN_KEYS = ("type", "title", "description")


class JsonRefError(Exception):
    """A `$ref` that leads nowhere; `path` is the list of keys to the place where it stands."""

    def __init__(self, pointer: str, path: list[Any]) -> None:
        super().__init__(f"cannot resolve $ref {pointer!r}")
        self.pointer = pointer
        self.path = path


def resolve_like_upstream(schema: Any, notify: Notify) -> Any:
    """A new schema without references, allOf and (where its branches have two or more types) anyOf.

    Raises:
        JsonRefError: a reference leads nowhere.
        RecursionError: a reference leads into itself.
    """
    pruned = _prune_nulls(schema)
    inlined = _Inliner(pruned).inline(pruned, [], ())
    merged = _merge_all_of(inlined)
    collapsed = _collapse(merged, "", notify)
    if isinstance(collapsed, dict):
        collapsed.pop("$defs", None)
    return collapsed


def _prune_nulls(value: Any) -> Any:
    if isinstance(value, list):
        return [_prune_nulls(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "anyOf" not in value:
        return {key: _prune_nulls(item) for key, item in value.items()}
    host = {key: _prune_nulls(item) for key, item in value.items() if key != "anyOf"}
    if not isinstance(value["anyOf"], list):
        raise ValueError("anyOf must be a list")
    kept = [_prune_nulls(branch) for branch in value["anyOf"] if branch not in _NULLS]
    if len(kept) == 1:
        host.update(kept[0])
    else:
        host["anyOf"] = kept
    return host


def look_up(root: Any, pointer: str) -> Any:
    """What a local JSON pointer (`#/$defs/T`, `#`) names.

    Raises:
        KeyError: nothing.
    """
    if not pointer.startswith("#"):
        raise KeyError(pointer)
    found = root
    for part in filter(None, pointer[1:].split("/")):
        name = part.replace("~1", "/").replace("~0", "~").replace("%25", "%")
        if isinstance(found, list) and name.isdigit() and int(name) < len(found):
            found = found[int(name)]
        elif isinstance(found, dict) and name in found:
            found = found[name]
        else:
            raise KeyError(pointer)
    return found


class _Inliner:
    def __init__(self, root: Any) -> None:
        self.root = root

    def inline(self, value: Any, path: list[Any], within: tuple[str, ...]) -> Any:
        if isinstance(value, list):
            return [self.inline(item, [*path, place], within) for place, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        pointer = value.get("$ref")
        if not isinstance(pointer, str):
            return {key: self.inline(item, [*path, key], within) for key, item in value.items()}
        if pointer in within:
            raise RecursionError(f"recursive $ref {pointer}")
        try:
            target = look_up(self.root, pointer)
        except KeyError:
            raise JsonRefError(pointer, path) from None
        return self.inline(target, path, (*within, pointer))


def _merge_all_of(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    parts = node.get("allOf")
    if isinstance(parts, list):
        node = {key: value for key, value in node.items() if key != "allOf"}
        for part in parts:
            _take(node, _merge_all_of(part))
    else:
        node = dict(node)
    if isinstance(node.get("properties"), dict):
        node["properties"] = {name: _merge_all_of(sub) for name, sub in node["properties"].items()}
    if isinstance(node.get("items"), dict):
        node["items"] = _merge_all_of(node["items"])
    return node


def _take(host: dict[str, Any], part: Any) -> None:
    """Merge a part of allOf into its host, in place: properties are united, of everything else the first wins."""
    if not isinstance(part, dict):
        return
    for key, value in part.items():
        if key == "properties" and isinstance(value, dict) and isinstance(host.get("properties"), dict):
            host["properties"] = {**host["properties"], **{k: v for k, v in value.items() if k not in host["properties"]}}
        elif key not in host:
            host[key] = value


def branch_types(branches: list[Any]) -> Iterator[str] | None:
    """The type names of all branches in order, None where a branch has none."""
    found = []
    for branch in branches:
        declared = branch.get("type") if isinstance(branch, dict) else None
        names = [declared] if isinstance(declared, str) else declared
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            return None
        found.extend(names)
    return iter(found)


def _collapse(value: Any, path: str, notify: Notify) -> Any:
    if isinstance(value, list):
        return [_collapse(item, f"{path}[{place}]", notify) for place, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    branches = value.get("anyOf")
    if isinstance(branches, list) and branches:
        types = branch_types(branches)
        names = [] if types is None else [name for name in dict.fromkeys(types) if name != "null"]
        if len(names) >= 2:
            lost = sorted({key for branch in branches for key in branch if key not in _PLAIN_KEYS})
            if lost:
                notify(Notice("collapsed", path, f"anyOf became type {names}; lost: {', '.join(lost)}"))
            value = {**{key: item for key, item in value.items() if key != "anyOf"}, "type": names}
    return {key: _collapse(item, f"{path}.{key}" if path else key, notify) for key, item in value.items()}
