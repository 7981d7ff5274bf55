"""Convert a schema to the parsed tree: example records, a JSON Schema, a Pydantic model, or an eval schema with `x-eval-*` keys.

Two resolutions of a JSON Schema. The reference's has five passes (null branches, references, allOf, anyOf, definitions), including its
quirks; source: FAIRmat Struct Extract Eval, except that each occurrence of a reference is resolved separately (upstream changes shared
objects). Ours gives a schema with only `type`, `properties` and `items`: references followed, allOf merged, unions turned into types; a
recursive `$ref` stays a reference into `$defs` and is followed along the values that are scored, so that the data limits it.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalsuite.core.errors import did_you_mean
from evalsuite.trees.comparators import BUILTIN, OPTIONS, SHIPPED, Registry, UnknownNameError, check_transform, problem_of, unknown_options
from evalsuite.trees.field_results import Notice, Notify, log_notice
from evalsuite.trees.json_values import DEFAULT_LIMITS, JSON_NAMES, TreeLimits, choices, inspect

Entry = tuple[str, dict[str, Any]]
KNOWN = ("compare", "skip", "transform", "align", "weight", "threshold", "required", "optional", "ignore")
MATCH_BY = ("key_field", "hungarian")
DEFINITIONS = "#/$defs/"


class SchemaError(Exception):
    """A schema that cannot be used; `path` is the schema path, the text `path: message`."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.message = message
        self.path = path


@dataclass(slots=True)
class SchemaNode:
    """One field of the eval schema.

    `comparator` is ("", {}) if there is none. `expand` makes the children of a recursive `$ref` when a value needs them. `ignore` are
    keys that an extracted object may have without a penalty; True is any.
    """

    path: str
    json_type: str
    name: str = ""
    comparator: Entry = ("", {})
    children: list["SchemaNode"] = field(default_factory=list)
    skip: bool = False
    transforms: list[Entry] = field(default_factory=list)
    align: dict[str, Any] | None = None
    allowed_types: list[str] | None = None
    weight: float = 1.0
    threshold: float | None = None
    required: bool = False
    optional: bool = False
    ignore: frozenset[str] | bool = False
    expand: Callable[[], list["SchemaNode"]] | None = None

    @property
    def has_children(self) -> bool:
        """Whether this is a container; recursive ones always are."""
        return bool(self.children) or self.expand is not None


def effective_type(schema: Mapping[str, Any]) -> tuple[str | None, list[str] | None]:
    """Return the type, null aside, and the allowed types if there are several ("multi")."""
    declared = schema.get("type")
    if isinstance(declared, str):
        return declared, None
    if not isinstance(declared, list):
        return None, None
    names = [name for name in declared if name != "null"]
    if not names:
        return None, None
    return (names[0], None) if len(names) == 1 else ("multi", names)


def child_schemas(schema: Mapping[str, Any]) -> list[tuple[str, dict[str, Any], bool]]:
    """Return (name, sub-schema, is it the items) of each child: the properties, or else the one items; several types have none."""
    if effective_type(schema)[0] == "multi":
        return []
    properties = schema.get("properties")
    found = [(name, sub, False) for name, sub in properties.items() if isinstance(sub, dict)] if isinstance(properties, dict) else []
    if not found and isinstance(schema.get("items"), dict):
        return [("[]", schema["items"], True)]
    return found


def child_path(parent: str, name: str, is_items: bool) -> str:
    """Return `parent[]` for items, `parent.name` for a property."""
    if is_items:
        return parent + "[]"
    return f"{parent}.{name}" if parent else name


def two_shapes(entry: Any, what: str = "Config object") -> Entry:
    """Return (name, params) of `"name"` or `{"name": {...}}`.

    Raises ValueError unless it has exactly one key, a name and an object of params; TypeError if it is neither text nor object.
    """
    if isinstance(entry, str):
        if not entry:
            raise ValueError(f"{what} name must not be empty")
        return entry, {}
    if not isinstance(entry, dict):
        raise TypeError(f"{what} must be a string or object")
    if len(entry) != 1:
        raise ValueError(f"{what} must have exactly one key, got {len(entry)}: {list(entry)}")
    name, params = next(iter(entry.items()))
    if not isinstance(name, str) or not name:
        raise TypeError(f"{what} name must be a non-empty string")
    if not isinstance(params, dict):
        raise ValueError(f"params for {name!r} must be a dict, got {type(params).__name__}")
    return name, params


def parse_eval_schema(schema: Any, *, compat: bool = False, registry: Registry | None = None, notify: Notify = log_notice) -> SchemaNode:
    """Return the schema as a tree of nodes, with every `x-eval-*` key checked.

    Args:
        schema: an eval schema without open references.
        compat: leave the parameters of comparators and transforms unchecked, and know no keys but the reference's.
        registry: the names of comparators and transforms; by default those of the process.
        notify: called with a `Notice` for each remark.

    Raises:
        SchemaError: the first problem, parents before children.
    """
    parser = _Parser(registry or Registry(compat=compat), schema, compat, notify)
    return parser.node(schema, "", "")


class _Parser:
    def __init__(self, registry: Registry, root: Any, compat: bool, notify: Notify) -> None:
        self.registry = registry
        self.compat = compat
        self.notify = notify
        found = root.get("$defs") if isinstance(root, dict) else None
        self.definitions: Mapping[str, Any] = found if isinstance(found, dict) and not compat else {}
        self.checked: set[str] = set()

    def node(self, schema: Any, path: str, name: str) -> SchemaNode:
        if not isinstance(schema, dict):
            raise SchemaError("Eval schema must be an object", path)
        if not self.compat and isinstance(schema.get("$ref"), str):
            return self.recursive(schema, path, name)
        node = self.keys(schema, path, name)
        node.children = self.children(schema, path)
        return node

    def children(self, schema: dict[str, Any], path: str) -> list[SchemaNode]:
        return [self.node(sub, child_path(path, name, items), name) for name, sub, items in child_schemas(schema)]

    def recursive(self, schema: dict[str, Any], path: str, name: str) -> SchemaNode:
        """Return a node with children that are made when a value needs them; the definition itself is checked once, now."""
        pointer = schema["$ref"]
        target = self.definitions.get(pointer.removeprefix(DEFINITIONS)) if pointer.startswith(DEFINITIONS) else None
        if not isinstance(target, dict) or "$ref" in target:
            raise SchemaError(f"unresolved $ref {pointer} -- run resolve_schema_references first", path)
        merged = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
        if pointer not in self.checked:
            self.checked.add(pointer)
            self.children(merged, path)
        node = self.keys(merged, path, name)
        if child_schemas(merged):
            node.expand = lambda: self.children(merged, path)
        return node

    def keys(self, schema: dict[str, Any], path: str, name: str) -> SchemaNode:
        self.names(schema, path)
        skip = schema.get("x-eval-skip", False)
        if not isinstance(skip, bool):
            raise SchemaError("x-eval-skip must be a boolean", path)
        json_type, allowed = effective_type(schema)
        align = _align(schema, json_type, path, self.notify) if "x-eval-align" in schema else None
        comparator = self.comparator(schema["x-eval-compare"], path) if "x-eval-compare" in schema else ("", {})
        transforms = self.transforms(schema["x-eval-transform"], path) if "x-eval-transform" in schema else []
        if json_type is None:
            raise SchemaError("Missing or invalid 'type'", path)
        if not skip and not comparator[0] and not child_schemas(schema):
            raise SchemaError("missing x-eval-compare -- run annotate_xeval first", path)
        node = SchemaNode(path, json_type, name, comparator, [], skip, transforms, align, allowed)
        self.remark(node)
        if not self.compat:
            _own_keys(node, schema)
        return node

    def names(self, schema: dict[str, Any], path: str) -> None:
        for key in schema:
            if not isinstance(key, str):
                raise SchemaError(f"keys must be strings, got {key!r}", path)
            if key.startswith("x-eval-") and key.removeprefix("x-eval-") not in KNOWN:
                hint = did_you_mean(key, [f"x-eval-{name}" for name in KNOWN])
                self.notify(Notice("unknown_key", path, f"unknown key {key!r}; {hint}"))

    def comparator(self, entry: Any, path: str) -> Entry:
        name, params = _entry(entry, "x-eval-compare", path)
        try:
            function = self.registry.comparator(name)
        except UnknownNameError as error:
            raise SchemaError(str(error), path) from None
        if name in OPTIONS and function in (BUILTIN.get(name), SHIPPED.get(name)):
            if problem := problem_of(name, params):
                raise SchemaError(problem, path)
            for key in unknown_options(name, params):
                hint = did_you_mean(key, OPTIONS[name]) if OPTIONS[name] else "it takes no options"
                self.notify(Notice("unknown_option", path, f"{name} takes no option {key!r}; {hint}"))
        return name, params

    def transforms(self, entries: Any, path: str) -> list[Entry]:
        if not isinstance(entries, list):
            raise SchemaError("x-eval-transform must be a list", path)
        found = []
        for position, entry in enumerate(entries):
            where = f"x-eval-transform[{position}]"
            name, params = _entry(entry, where, path)
            try:
                self.registry.transform(name)
            except UnknownNameError as error:
                raise SchemaError(f"{where}: {error}", path) from None
            if not self.compat and (problem := check_transform(name, params)):
                raise SchemaError(f"{where}: {problem}", path)
            found.append((name, params))
        return found

    def remark(self, node: SchemaNode) -> None:
        name = node.comparator[0]
        if (name == "numeric" and node.json_type in ("string", "boolean")) or (name == "exact" and node.json_type in ("number", "integer")):
            self.notify(Notice("odd_comparator", node.path, f"{name} on type {node.json_type}"))


def _entry(entry: Any, what: str, path: str) -> Entry:
    try:
        return two_shapes(entry, what)
    except (TypeError, ValueError) as error:
        raise SchemaError(str(error), path) from None


def _align(schema: dict[str, Any], json_type: str | None, path: str, notify: Notify) -> dict[str, Any]:
    """Return the alignment of an array, checked in the reference's order."""
    align = schema["x-eval-align"]
    if json_type != "array":
        raise SchemaError(f"x-eval-align is only valid on array nodes, but this node has type {json_type!r}", path)
    if not isinstance(align, dict):
        raise SchemaError("x-eval-align must be a dict", path)
    if "ordered" not in align and "match_by" not in align:
        raise SchemaError("x-eval-align must have 'ordered' or 'match_by' key", path)
    ordered, match_by = align.get("ordered", False), align.get("match_by")
    if not isinstance(ordered, bool):
        raise SchemaError("x-eval-align 'ordered' must be a boolean", path)
    if "ordered" in align and not ordered and match_by is None:
        raise SchemaError("x-eval-align with ordered=false needs 'match_by'", path)
    if "match_by" in align and match_by is None:
        notify(Notice("align", path, "match_by is null: elements are compared in order"))
    elif "match_by" in align and (not isinstance(match_by, str) or match_by not in MATCH_BY):
        raise SchemaError(f"x-eval-align 'match_by' must be one of {list(MATCH_BY)}, got {match_by!r}", path)
    if match_by == "key_field":
        _key_field(schema, align, path, notify)
    return align


def _key_field(schema: dict[str, Any], align: dict[str, Any], path: str, notify: Notify) -> None:
    key, items = align.get("key"), schema.get("items")
    if not isinstance(key, str) or not key:
        raise SchemaError("x-eval-align with match_by='key_field' needs a non-empty 'key'", path)
    if not isinstance(items, dict):
        raise SchemaError("x-eval-align with match_by='key_field' needs an 'items' object", path)
    found = items.get("type", "object")
    if found != "object" and effective_type(items)[0] != "object":
        raise SchemaError(f"x-eval-align with match_by='key_field' requires items type 'object', got {found!r}", path)
    if key not in (items.get("properties") or {}):
        notify(Notice("align", path, f"key {key!r} is not among the properties of the items"))


def _own_keys(node: SchemaNode, schema: dict[str, Any]) -> None:
    """Read the keys that the reference does not know: weight, threshold, required, optional, ignore."""
    weight, threshold = schema.get("x-eval-weight", 1.0), schema.get("x-eval-threshold")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < 1e9:
        raise SchemaError("x-eval-weight must be a number above 0", node.path)
    if threshold is not None and (isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 < threshold <= 1):
        raise SchemaError("x-eval-threshold must be a number above 0, at most 1", node.path)
    required, optional, ignore = (schema.get(f"x-eval-{key}", False) for key in ("required", "optional", "ignore"))
    if not isinstance(required, bool) or not isinstance(optional, bool):
        raise SchemaError("x-eval-required and x-eval-optional must be booleans", node.path)
    if required and optional:
        raise SchemaError("a field is either required or optional", node.path)
    if not isinstance(ignore, bool) and not (isinstance(ignore, list) and all(isinstance(name, str) for name in ignore)):
        raise SchemaError("x-eval-ignore must be true or a list of key names", node.path)
    node.weight, node.threshold, node.required, node.optional = float(weight), threshold, required, optional
    node.ignore = ignore if isinstance(ignore, bool) else frozenset(ignore)


_NULLS = ({"type": "null"}, {"type": None})
_PLAIN_KEYS = ("type", "title", "description")


class JsonRefError(Exception):
    """A `$ref` without a target; `path` is the list of keys to it."""

    def __init__(self, pointer: str, path: list[Any]) -> None:
        super().__init__(f"cannot resolve $ref {pointer!r}")
        self.pointer = pointer
        self.path = path


def resolve_like_upstream(schema: Any, notify: Notify) -> Any:
    """Return a new schema without references, allOf and (if its branches have two or more types) anyOf.

    Raises JsonRefError for a reference without a target, RecursionError for one into itself.
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
    """Return what a local JSON pointer (`#/$defs/T`, `#`) names. Raises KeyError."""
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
    """Return the type names of all branches in order, None if a branch has none."""
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


MAX_NODES = 100_000
_COMPOSED = ("$ref", "anyOf", "oneOf", "allOf", "enum", "const")


def resolve_schema_references(schema: Any, *, compat: bool = False, notify: Notify = log_notice) -> Any:
    """Return a new schema with references inlined, allOf merged and unions (anyOf, oneOf) turned into types.

    `x-eval-*` keys next to a `$ref` are kept and override the target's. A union of objects has the properties of all, integer with
    number is number, null adds nothing.

    Args:
        schema: a JSON Schema; it is not changed.
        compat: do what upstream does, pass by pass; a recursive `$ref` then raises RecursionError.
        notify: called with a `Notice` for each remark.

    Raises:
        SchemaError: a `$ref` that leads only to itself; more than 100,000 fields.
        JsonRefError: a `$ref` without a target; remote ones are never fetched.
    """
    notify(Notice("not_read", "", "oneOf, if/then/else, patternProperties and constraints are not scored"))
    if compat:
        return resolve_like_upstream(schema, notify)
    if not isinstance(schema, dict):
        raise SchemaError("Eval schema must be an object")
    return _Resolver(schema, notify).resolve()


def needs_resolving(schema: dict[str, Any]) -> bool:
    """Return whether a schema needs resolving before it is parsed; references left by a resolution do not count."""
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
            names.extend(name for name in self.kept_types(branch["$ref"].removeprefix(DEFINITIONS)) if name not in names)
        if "integer" in names and "number" in names:
            names.remove("integer")
        host["type"] = names[0] if len(names) == 1 else names
        if len(names) == 1:
            for branch in branches:
                _unite(host, branch)
        else:
            self.notify(Notice("collapsed", path, f"union became type {names}, compared as one value"))

    def kept_types(self, name: str) -> list[str]:
        """Return the types of the definition behind a reference that stays."""
        declared = self.look_up(next(pointer for pointer, kept in self.kept.items() if kept == name), []).get("type")
        return [declared] if isinstance(declared, str) else declared or []


def _unite(host: dict[str, Any], part: dict[str, Any]) -> None:
    """Add a part's keys to its host, in place: properties are united, of everything else the first wins."""
    for key, value in part.items():
        if key == "properties" and isinstance(host.get(key), dict):
            host[key] = {**value, **host[key]}
        elif key == "enum" and isinstance(host.get(key), list):
            host[key] = [*host[key], *(item for item in value if item not in host[key])]
        else:
            host.setdefault(key, value)


def _type_of_values(schema: dict[str, Any]) -> None:
    """Give a schema with values (`enum`, `const`) and no type the type of these values, in place."""
    if "type" in schema or not ("enum" in schema or "const" in schema):
        return
    values = schema["enum"] if isinstance(schema.get("enum"), list) else [schema.get("const")]
    names = list(dict.fromkeys(JSON_NAMES.get(type(value), "string") for value in values))
    schema["type"] = names[0] if len(names) == 1 else names


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
    """Restore the defaults: numeric for number and integer, number_or_text for number or text, exact for all else."""
    _defaults.clear()
    _defaults.update(_BUILT_IN)


def annotate_xeval(schema: dict[str, Any], *, compat: bool = False) -> dict[str, Any]:
    """Write `x-eval-compare`, in place, into every leaf that has none and is not skipped; return the same schema.

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
            kind, several = effective_type(node)
            is_either = not compat and several and "string" in several and not {"number", "integer"}.isdisjoint(several)
            node["x-eval-compare"] = copy.deepcopy(_defaults.get(kind or "", "number_or_text" if is_either else "exact"))
    return schema


MAX_ENUM = 12
MIN_REPEATS = 3


def infer_schema(
    values: Sequence[Any], *, widen: bool = False, notify: Notify = log_notice, limits: TreeLimits = DEFAULT_LIMITS
) -> dict[str, Any]:
    """Return the JSON Schema (`type`, `properties`, `items`) of a list of records; gold alternatives count as values each.

    The first value that is not null decides the type of a field, and a field of mixed types is reported to `notify`. With `widen` all
    values decide: integers and numbers make a number, other mixtures a list of types, nulls make the type nullable, and texts of at most 12
    different values, each seen three times on average, get an `enum`.

    Raises:
        ValueError: no value at all.
        TreeLimitError: the values exceed a limit.
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
        names = list(
            dict.fromkeys(next((name for kind, name in JSON_NAMES.items() if isinstance(value, kind)), "string") for value in present)
        )
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
            having = {key: [record[key] for record in records if key in record] for key in keys}
            found["properties"] = {key: self.schema(column, child_path(path, key, False)) for key, column in having.items()}


def as_json_schema(schema: Any) -> Any:
    """Return the JSON Schema as plain data: that of a Pydantic model, or a copy of the argument."""
    describe = getattr(schema, "model_json_schema", None)
    return describe() if callable(describe) else copy.deepcopy(schema)


def prepare(schema: Any, *, compat: bool = False, registry: Registry | None = None, notify: Notify = lambda _: None) -> SchemaNode:
    """Return the parsed schema; the input is not changed.

    Unless `compat`, references and unions are resolved and leaves get the comparator of their type. By default remarks are dropped, so
    that they are not repeated at each scoring. Raises `SchemaError`.
    """
    if isinstance(schema, dict):
        inspect(schema, where="schema")
    found = as_json_schema(schema)
    if not compat and isinstance(found, dict):
        if needs_resolving(found):
            found = resolve_schema_references(found, notify=lambda _: None)
        annotate_xeval(found)
    return parse_eval_schema(found, compat=compat, registry=registry, notify=notify)
