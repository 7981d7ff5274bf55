"""A schema in any form as JSON Schema: read, described from a class, resolved, inferred from records, from and to Treeval's types.

Two resolutions of a JSON Schema. The reference's has five passes (null branches, references, allOf, anyOf, definitions), including its
quirks; source: FAIRmat Struct Extract Eval, except that each occurrence of a reference is resolved separately (upstream changes shared
objects). Ours gives a schema with only `type`, `properties` and `items`: references followed, allOf merged, unions turned into types; a
recursive `$ref` stays a reference into `$defs` and is followed along the values that are scored, so that the data limits it.
"""

import copy
import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AnySet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)
from urllib.parse import unquote, urldefrag, urljoin
from uuid import UUID

from evalsuite.core.errors import EvalsuiteError, did_you_mean
from evalsuite.trees.field_results import Notice, Notify, log_notice
from evalsuite.trees.json_values import DEFAULT_LIMITS, JSON_NAMES, TreeLimits, choices, inspect

DEFINITIONS = "#/$defs/"
# "types" there means that fields get the comparators of their types; the schema of a class has it.
DEFAULTS = "x-eval-defaults"


class SchemaError(ValueError):
    """A schema, or metrics or records for it, that cannot be used; `path` is the schema path, the text `path: message`."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.message = message
        self.path = path


def effective_type(schema: Mapping[str, Any]) -> tuple[str | None, list[str] | None]:
    """Return the type, null aside, and the allowed types if there are several ("multi")."""
    declared = schema.get("type")
    if isinstance(declared, str):
        return declared, None
    if not isinstance(declared, list):
        return None, None
    names = [name for name in declared if isinstance(name, str) and name != "null"]
    if not names:
        return None, None
    return (names[0], None) if len(names) == 1 else ("multi", names)


def check_types(schema: Mapping[str, Any], path: str, more: Iterable[str] = ()) -> None:
    """Raise `SchemaError` if the type is not one of JSON Schema or of `more`, with the closest one."""
    type_names = [*dict.fromkeys((*JSON_NAMES.values(), *more))]
    declared = schema.get("type")
    for name in declared if isinstance(declared, list) else [declared]:
        if name is not None and name not in type_names:
            raise SchemaError(f"unknown type {name!r} in the schema; {did_you_mean(str(name), type_names)}", path)


def child_schemas(schema: Mapping[str, Any]) -> list[tuple[str, dict[str, Any], bool]]:
    """Return (name, sub-schema, is it the items) of each child: the properties, or else the one items; several types have none."""
    if effective_type(schema)[0] == "multi":
        return []
    properties = schema.get("properties")
    children = [(name, sub, False) for name, sub in properties.items() if isinstance(sub, dict)] if isinstance(properties, dict) else []
    if not children and isinstance(schema.get("items"), dict):
        return [("[]", schema["items"], True)]
    return children


def child_path(parent: str, name: str, is_items: bool) -> str:
    """Return `parent[]` for items, `parent.name` for a property."""
    if is_items:
        return parent + "[]"
    return f"{parent}.{name}" if parent else name


def plain_schema(schema: Any) -> dict[str, Any]:
    """Return a schema in any form as plain data: a JSON Schema (or Treeval's types), new unless it was read.

    A dict is copied. A path is read. A text is read as a path unless it is JSON. A Pydantic v2 model, dataclass or TypedDict is described
    as JSON Schema with `"x-eval-defaults": "types"`. In a dataclass or TypedDict, `Annotated[str, {"x-eval-compare": "exact"}]` adds keys.

    Raises `SchemaError` for anything else, naming its kind, and for a file that cannot be read.
    """
    if isinstance(schema, str | Path):
        schema = _read_schema(schema)
    if isinstance(schema, Mapping):
        inspect(schema, where="schema", of_gold=True)
        return copy.deepcopy(dict(schema))
    describe = getattr(schema, "model_json_schema", None) if isinstance(schema, type) else None
    if describe is None and not _has_fields(schema) and get_origin(schema) is None:
        schema_forms = "a JSON object, a path, JSON text, a Pydantic v2 model, a dataclass or a TypedDict"
        raise SchemaError(f"Eval schema must be an object: {schema_forms}, not {_kind_of(schema)}")
    definitions: dict[str, Any] = {}
    try:
        result = _describe(schema, definitions, {}) if describe is None else describe()
    except (TypeError, ValueError, NameError, AttributeError, RuntimeError) as error:
        first = str(error).partition("\n")[0]
        raise SchemaError(f"{_kind_of(schema)} cannot be described as JSON Schema: {type(error).__name__}: {first}") from None
    # The class itself stands at the root, where upstream cannot resolve what a reference leads to.
    if (
        len(result) == 1
        and (pointer := result.get("$ref"))
        and json.dumps({"$ref": pointer})[1:-1] not in json.dumps(definitions, default=str)
    ):
        result = definitions.pop(pointer.removeprefix(DEFINITIONS))
    return {DEFAULTS: "types", **result, **({"$defs": definitions} if definitions else {})}


def _read_schema(schema: str | Path) -> Any:
    from evalsuite.readers.json_text import read_named_json

    if isinstance(schema, str) and schema.startswith("python:"):
        raise SchemaError(f"{schema}: a class is imported only from a gold folder that you name, or pass the class itself")
    try:
        if isinstance(schema, str) and schema.lstrip()[:1] in ("{", "["):
            return json.loads(schema)
        return read_named_json(Path(schema))
    except EvalsuiteError as error:
        raise SchemaError(error.message) from None
    except ValueError as error:
        raise SchemaError(f"the text of the schema is not JSON: {error}") from None


def _kind_of(value: Any) -> str:
    """Return what a value is, in words of a message."""
    if isinstance(value, type):
        is_old = hasattr(value, "__fields__") and hasattr(value, "schema")
        return f"the Pydantic v1 model {value.__name__}" if is_old else f"the class {value.__name__}"
    return "None" if value is None else f"an object of type {type(value).__name__}"


def _has_fields(hint: Any) -> bool:
    """Return whether this is a dataclass or a TypedDict."""
    return is_typeddict(hint) or (isinstance(hint, type) and dataclasses.is_dataclass(hint)) or type(hint).__name__ == "_TypedDictMeta"


_PLAIN_TYPES: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    None: {"type": "null"},
    NoneType: {"type": "null"},
    date: {"type": "string", "format": "date"},
    datetime: {"type": "string", "format": "date-time"},
    time: {"type": "string", "format": "time"},
    timedelta: {"type": "string", "format": "duration"},
    UUID: {"type": "string", "format": "uuid"},
    bytes: {"type": "string", "format": "binary"},
    Decimal: {"anyOf": [{"type": "number"}, {"type": "string"}]},
    Any: {},
    object: {},
}


def _describe(hint: Any, definitions: dict[str, Any], names: dict[Any, str]) -> dict[str, Any]:
    """Return the JSON Schema of a type. Classes with fields are added to `definitions`; `names` has their names there."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is None and hint in _PLAIN_TYPES:
        return copy.deepcopy(_PLAIN_TYPES[hint])
    if origin in (Annotated, Required, NotRequired, Final, ClassVar):
        more = [part for part in parts[1:] if isinstance(part, Mapping)]
        return {key: value for keys in (_describe(parts[0], definitions, names), *more) for key, value in keys.items()}
    if origin in (Union, UnionType):
        return {"anyOf": [_describe(part, definitions, names) for part in parts]}
    if (inner := getattr(hint, "__supertype__", None) or getattr(hint, "__value__", None)) is not None:
        return _describe(inner, definitions, names)
    if not (_has_fields(origin or hint) or hasattr(hint, "model_json_schema")):
        return _describe_values(hint, origin or hint, parts, definitions, names)
    if hint not in names:
        name = (origin or hint).__name__
        names[hint] = f"{name}_{len(names)}" if name in definitions else name
        definitions[names[hint]] = {}
        definitions[names[hint]] = _class_schema(hint, definitions, names)
    return {"$ref": DEFINITIONS + names[hint]}


def _describe_values(
    hint: Any, container: Any, parts: tuple[Any, ...], definitions: dict[str, Any], names: dict[Any, str]
) -> dict[str, Any]:
    """Return the JSON Schema of listed values, an enumeration, a mapping, a list or a set."""
    is_class = isinstance(container, type)
    if container is Literal or (is_class and issubclass(container, Enum)):
        schema = {"enum": list(parts) if container is Literal else [member.value for member in container]}
        _add_type(schema)
        return schema
    if is_class and issubclass(container, Mapping):
        return {"type": "object"}
    if not is_class or not issubclass(container, Sequence | AnySet):
        raise TypeError(f"{hint!r} has no JSON Schema")
    unique = {"uniqueItems": True} if issubclass(container, AnySet) else {}
    if not parts or (container is tuple and parts[1:] != (...,)):
        return {"type": "array", **unique}
    return {"type": "array", **unique, "items": _describe(parts[0], definitions, names)}


def _class_schema(hint: Any, definitions: dict[str, Any], names: dict[Any, str]) -> dict[str, Any]:
    if hasattr(hint, "model_json_schema"):
        schema: dict[str, Any] = hint.model_json_schema()
        for name, definition in schema.pop("$defs", {}).items():
            definitions.setdefault(name, definition)
        return schema
    cls = get_origin(hint) or hint
    hints = get_type_hints(cls, include_extras=True)
    if dataclasses.is_dataclass(cls):
        missing = dataclasses.MISSING
        fields = dataclasses.fields(cls)
        required = [field.name for field in fields if field.default is missing and field.default_factory is missing]
        hints = {field.name: hints[field.name] for field in fields}
    else:
        required = [name for name in hints if name in cls.__required_keys__]
    properties = {name: _describe(each, definitions, names) for name, each in hints.items()}
    return {"type": "object", "properties": properties, "required": required}


def as_json_schema(schema: Any) -> dict[str, Any]:
    """Return a schema in any form as JSON Schema; Treeval's types are converted.

    Raises `SchemaError` as `plain_schema` does, and for a type of Treeval's that is none, with its place and the closest one.
    """
    plain = plain_schema(schema)
    if not plain or is_json_schema(plain) or any(key in _KEYWORDS or str(key).startswith(("x-eval-", "$")) for key in plain):
        return plain
    return lower_schema(plain, own_types="refuse")


_NULLS = ({"type": "null"}, {"type": None})
_PLAIN_KEYS = ("type", "title", "description")


class JsonRefError(Exception):
    """A `$ref` without a target; `path` is the list of keys to it."""

    def __init__(self, pointer: str, path: list[Any]) -> None:
        super().__init__(f"cannot resolve $ref {pointer!r}")
        self.pointer = pointer
        self.path = path


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
    branches = [_prune_nulls(branch) for branch in value["anyOf"] if branch not in _NULLS]
    if len(branches) == 1:
        host.update(branches[0])
    else:
        host["anyOf"] = branches
    return host


def look_up(root: Any, pointer: str) -> Any:
    """Return what a local JSON pointer (`#/$defs/T`, `#`) names. Raises KeyError."""
    if not pointer.startswith("#"):
        raise KeyError(pointer)
    target = root
    for name in _names(pointer[1:]) if pointer != "#/" else ():
        target = _step(target, name)
    return target


def _names(fragment: str) -> list[str]:
    """Return the keys of a pointer without its `#`."""
    parts = unquote(fragment).removeprefix("/").split("/") if fragment else []
    return [part.replace("~1", "/").replace("~0", "~") for part in parts]


def _step(target: Any, name: str) -> Any:
    if isinstance(target, list) and name.isdigit() and int(name) < len(target):
        return target[int(name)]
    if isinstance(target, dict) and name in target:
        return target[name]
    raise KeyError(name)


class _Reference:
    """An object with a `$ref`, its values read, and the URL that it is relative to."""

    def __init__(self, own: dict[str, Any], base: str) -> None:
        self.own, self.base = own, base


class _Inliner:
    """References as jsonref 1.1.0 resolves them for upstream: relative to the nearest `$id`, along pointers that cross other references.

    If the root itself is a reference, the pointers of all others begin at its target: `#/$defs/T` then exists only if the target has it.
    """

    def __init__(self, root: Any) -> None:
        self.documents: dict[str, Any] = {}
        self.open: set[_Reference] = set()
        self.root = self._read(root, "", is_root=True)

    def _read(self, value: Any, base: str, *, is_root: bool = False) -> Any:
        if isinstance(value, list):
            return [self._read(item, base) for item in value]
        if not isinstance(value, dict):
            return value
        own = value.get("$id") or value.get("id")
        base = urljoin(base, own) if isinstance(own, str) else base
        found: Any = {key: self._read(inner, urldefrag(base).url) for key, inner in value.items()}
        if isinstance(value.get("$ref"), str):
            found = _Reference(found, base)
        if is_root or isinstance(own, str):
            self.documents[base] = found
        return found

    def inline(self, value: Any, path: list[Any], within: tuple[_Reference, ...]) -> Any:
        """Return the value with its references replaced. Raises JsonRefError without a target, RecursionError for one into itself."""
        if isinstance(value, list):
            return [self.inline(item, [*path, place], within) for place, item in enumerate(value)]
        if isinstance(value, dict):
            return {key: self.inline(item, [*path, key], within) for key, item in value.items()}
        if not isinstance(value, _Reference):
            return value
        if value in within:
            raise RecursionError(f"recursive $ref {value.own['$ref']}")
        return self.inline(self.target(value, path), path, (*within, value))

    def target(self, reference: _Reference, path: list[Any]) -> Any:
        """Return what a reference names, which is no reference itself."""
        pointer = reference.own["$ref"]
        if reference in self.open:
            raise RecursionError(f"recursive $ref {pointer}")
        self.open.add(reference)
        try:
            url, fragment = urldefrag(urljoin(reference.base, pointer))
            found = self.documents[url]
            for name in _names(fragment):
                if isinstance(found, _Reference):
                    found = found.own if found is reference else self.target(found, path)
                found = _step(found, name)
        except KeyError:
            raise JsonRefError(pointer, path) from None
        else:
            if found is reference:
                raise JsonRefError(pointer, path)
            return self.target(found, path) if isinstance(found, _Reference) else found
        finally:
            self.open.discard(reference)


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
    types = []
    for branch in branches:
        declared = branch.get("type") if isinstance(branch, dict) else None
        names = [declared] if isinstance(declared, str) else declared
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            return None
        types.extend(names)
    return iter(types)


def _collapse(value: Any, path: str, notify: Notify) -> Any:
    if isinstance(value, list):
        return [_collapse(item, f"{path}[{place}]", notify) for place, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if branches := value.get("anyOf"):
        types = branch_types(branches)
        names = [] if types is None else [name for name in dict.fromkeys(types) if name != "null"]
        if len(names) >= 2:
            lost = sorted({key for branch in branches for key in branch if key not in _PLAIN_KEYS})
            if lost:
                notify(Notice("collapsed", path, f"anyOf became type {names}; lost: {', '.join(lost)}"))
            value = {**{key: item for key, item in value.items() if key != "anyOf"}, "type": names}
    return {key: _collapse(item, f"{path}.{key}" if path else key, notify) for key, item in value.items()}


MAX_NODES = 100_000


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
        pruned = _prune_nulls(schema)
        inliner = _Inliner(pruned)
        collapsed = _collapse(_merge_all_of(inliner.inline(inliner.root, [], ())), "", notify)
        if isinstance(collapsed, dict):
            collapsed.pop("$defs", None)
        return collapsed
    if not isinstance(schema, dict):
        raise SchemaError("Eval schema must be an object")
    return _Resolver(schema, notify).resolve()


def fields_of_some_branches(schema: Any) -> set[str]:
    """Return the paths of fields that only some of the objects of a union have: no record needs all of them."""
    resolver = _Resolver(schema, lambda _: None)
    resolver.resolve()
    return resolver.of_some_branches


def _is_decimal(node: Mapping[str, Any]) -> bool:
    return node.get("format") == "decimal" and node.get("type") == "string"


class _Resolver:
    """One resolution. `within` are the pointers being inlined on the way down; `direct` those followed since the last child step."""

    def __init__(self, root: dict[str, Any], notify: Notify) -> None:
        self.root = root
        self.notify = notify
        self.kept: dict[str, str] = {}
        self.of_some_branches: set[str] = set()
        self.n_nodes = 0

    def resolve(self) -> dict[str, Any]:
        root = self.node(self.root, "", ("#",), ("#",))
        root.pop("$defs", None)
        done: dict[str, Any] = {}
        while missing := [pointer for pointer, name in self.kept.items() if name not in done]:
            for pointer in missing:
                definition = self.node(self.look_up(pointer, []), "", (pointer,), (pointer,))
                definition.pop("$defs", None)
                done[self.kept[pointer]] = definition
        if done:
            root["$defs"] = done
        return root

    def node(self, schema: Any, path: str, within: tuple[str, ...], direct: tuple[str, ...]) -> dict[str, Any]:
        schema = {} if schema is True else schema  # any value
        if not isinstance(schema, dict):
            hint = "it allows no value" if schema is False else 'write {"type": "string"}, for example'
            raise SchemaError(f"{json.dumps(schema, default=str)} is no schema of a field: {hint}", path)
        self.n_nodes += 1
        if self.n_nodes > MAX_NODES:
            raise SchemaError(f"the schema unfolds to more than {MAX_NODES:,} fields", path)
        pointer = schema.get("$ref")
        if isinstance(pointer, str):
            return self.reference(schema, pointer, path, within, direct)
        unions = ("allOf", "anyOf", "oneOf")
        merged = {key: self.keyword(key, value, path, within) for key, value in schema.items() if key not in unions}
        for part in schema.get("allOf") or ():
            _unite(merged, self.node(part, path, within, direct))
        for union in unions[1:]:
            if isinstance(schema.get(union), list) and schema[union]:
                branches = [self.node(branch, path, within, direct) for branch in schema[union]]
                self.union(merged, [branch for branch in branches if branch.get("type") != "null"], path)
        _add_type(merged)
        return merged

    def keyword(self, key: str, value: Any, path: str, within: tuple[str, ...]) -> Any:
        if key == "properties" and isinstance(value, dict):
            return {name: self.node(sub, child_path(path, name, False), within, ()) for name, sub in value.items()}
        if key == "items" and isinstance(value, dict | bool):
            return self.node(value, child_path(path, "[]", True), within, ())
        return copy.deepcopy(value)

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
        definition = self.node(target, path, (*within, pointer), (*direct, pointer))
        return {**definition, **siblings}

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
            self.of_some_branches |= _fields_of_some(host, branches, path)
            for branch in branches:
                _unite(host, branch)
        else:
            self.notify(Notice("collapsed", path, f"union became type {names}, compared as one value"))

    def kept_types(self, name: str) -> list[str]:
        """Return the types of the definition behind a reference that stays."""
        declared = self.look_up(next(pointer for pointer, other in self.kept.items() if other == name), []).get("type")
        return [declared] if isinstance(declared, str) else declared or []


def _fields_of_some(host: Mapping[str, Any], branches: Sequence[Mapping[str, Any]], path: str) -> set[str]:
    fields = [{*(host.get("properties") or ()), *(branch.get("properties") or ())} for branch in branches]
    return {child_path(path, key, False) for key in set.union(*fields) - set.intersection(*fields)}


def _unite(host: dict[str, Any], part: dict[str, Any]) -> None:
    """Add a part's keys to its host, in place: properties are united, of everything else the first wins."""
    for key, value in part.items():
        if key == "properties" and isinstance(host.get(key), dict) and isinstance(value, dict):
            host[key] = {**value, **host[key]}
        elif key == "enum" and isinstance(host.get(key), list):
            host[key] = [*host[key], *(item for item in value if item not in host[key])]
        else:
            host.setdefault(key, value)


def _add_type(schema: dict[str, Any]) -> None:
    """Give a schema without a type that of its `properties`, `items`, `enum` or `const`, and a decimal both of its types, in place."""
    if _is_decimal(schema):
        schema["type"] = ["number", "string"]
    if "type" in schema:
        return
    if isinstance(schema.get("properties"), dict) or isinstance(schema.get("items"), dict):
        schema["type"] = "object" if "properties" in schema else "array"
    elif "enum" in schema or "const" in schema:
        values = schema["enum"] if isinstance(schema.get("enum"), list) else [schema.get("const")]
        names = list(dict.fromkeys(JSON_NAMES.get(type(value), "string") for value in values))
        schema["type"] = names[0] if len(names) == 1 else names


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
        raise ValueError("there is no record")
    alternatives = inspect(values, limits, of_gold=True)
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
        result: dict[str, Any] = self.infer_properties(names, present) if self.widen else {"type": names[0]}
        self.children(result, present, path)
        if self.widen and len(present) < len(values):
            result["type"] = [*([result["type"]] if isinstance(result["type"], str) else result["type"]), "null"]
        return result

    def infer_properties(self, names: list[str], present: list[Any]) -> dict[str, Any]:
        if "integer" in names and "number" in names:
            names = [name for name in names if name != "integer"]
        result: dict[str, Any] = {"type": names[0] if len(names) == 1 else names}
        if names == ["string"]:
            different = sorted(set(present))
            if len(different) <= MAX_ENUM and len(present) >= MIN_REPEATS * len(different):
                result["enum"] = different
        return result

    def children(self, schema: dict[str, Any], present: list[Any], path: str) -> None:
        if schema["type"] == "array":
            pool = [item for value in present if isinstance(value, list) for item in value]
            schema["items"] = self.schema(pool, child_path(path, "[]", True)) if pool else {"type": "string"}
        elif schema["type"] == "object":
            records = [value for value in present if isinstance(value, dict)]
            keys = sorted({key for record in records for key in record})
            columns = {key: [record[key] for record in records if key in record] for key in keys}
            schema["properties"] = {key: self.schema(column, child_path(path, key, False)) for key, column in columns.items()}


CHOICE = "()"
NUMBER_OR_TEXT = "number or string"  # takes the metrics of "string" unless it has its own
UNORDERED = {"match_by": "hungarian"}
MAX_DEPTH = 256  # branches and arrays one in another; the walks take two frames a level of Python's 1,000
TYPES = ("string", "integer", "number", "boolean")
_NAMES_OF_TYPES = {int: "integer", float: "number", bool: "boolean", str: "string"}
_KEYWORDS = ("type", "anyOf", "oneOf", "allOf", "enum", "const")


def type_key(key: Any) -> str:
    """Return the name of a type of Treeval's: "()" for a choice, that of JSON for a class of Python."""
    if key == () or key == "choice":
        return CHOICE
    return _NAMES_OF_TYPES.get(key, "") or str(key) if isinstance(key, type) else str(key)


def is_json_schema(schema: Mapping[str, Any]) -> bool:
    """Return whether this is a JSON Schema of an object or a list, and not a Treeval schema with a key called `type`."""
    described = isinstance(schema.get("properties"), Mapping) and schema.get("type", "object") in ("object", ["object"], ["object", "null"])
    described = described or (schema.get("type") == "array" and isinstance(schema.get("items"), Mapping))
    return described or isinstance(schema.get("$ref"), str) or "$schema" in schema


def json_schema_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a Treeval schema: unordered lists, a choice as an `enum`, a type of your own as text."""
    return lower_schema(schema, own_types="text")


def lower_schema(node: Any, path: str = "", depth: int = 0, *, own_types: Literal["text", "keep", "refuse"]) -> dict[str, Any]:
    """Return the JSON Schema of a Treeval schema. To `keep` own types also keeps "()" as the type of a choice. Raises `SchemaError`."""
    if depth > MAX_DEPTH:
        raise SchemaError(f"the schema is nested deeper than {MAX_DEPTH} at {shorten(path)}")
    if isinstance(node, Mapping):
        properties = {}
        for key, inner in node.items():
            if not isinstance(key, str):
                raise SchemaError(f"the schema key {key!r} at {shorten(path) or 'the top'} is no text")
            properties[key] = lower_schema(inner, join(path, key), depth + 1, own_types=own_types)
        return {"type": "object", "properties": properties}
    if isinstance(node, list | tuple) and len(node) == 1:
        return {
            "type": "array",
            "x-eval-align": dict(UNORDERED),
            "items": lower_schema(node[0], path + "[]", depth + 1, own_types=own_types),
        }
    if isinstance(node, list | tuple):
        if not node:
            raise SchemaError(f"an empty list at {shorten(path)}: write one element for an array, two or more for a choice")
        if any(isinstance(option, dict | list) for option in node):
            raise SchemaError(f"the choice at {shorten(path)} contains a container; write one element for an array")
        return {"type": CHOICE if own_types == "keep" else "string", "enum": list(node)}
    name = type_key(node)
    if name == NUMBER_OR_TEXT:
        return {"type": ["number", "string"]}
    if name not in TYPES and own_types == "refuse":
        raise SchemaError(f"unknown type {node!r} in Treeval's types; {did_you_mean(name, [*TYPES, NUMBER_OR_TEXT])}", shorten(path))
    return {"type": name if name in TYPES or own_types == "keep" else "string"}


def join(path: str, key: str) -> str:
    """Return a JSON path one key further: `a.b`, and `a['b.c']` for keys that are no plain names."""
    if key.isidentifier():
        return f"{path}.{key}" if path else key
    return f"{path}[{key!r}]"


def shorten(path: str) -> str:
    """Return a path for a message: its beginning and its end."""
    return path if len(path) <= 80 else f"{path[:60]}...{path[-15:]}"
