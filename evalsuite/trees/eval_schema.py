"""The eval schema, parsed: a JSON-Schema-like tree whose `x-eval-*` keys say how each field is compared."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalsuite.errors import did_you_mean
from evalsuite.trees.comparator_params import OPTIONS, problem_of, unknown_options
from evalsuite.trees.comparators import BUILTIN, SHIPPED
from evalsuite.trees.field_results import Notice, Notify, log_notice
from evalsuite.trees.registries import Registry, UnknownNameError, check_transform

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

    `comparator` is ("", {}) where there is none. `expand` makes the children of a recursive `$ref` when a value needs them.
    `ignore` are the keys that an extracted object may have without being invented; True is any.
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
    """The type that counts, null aside, and the allowed types where there are several ("multi")."""
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
    """(name, sub-schema, is it the items) of each child: the properties, or else the one items; several types have none."""
    if effective_type(schema)[0] == "multi":
        return []
    properties = schema.get("properties")
    found = [(name, sub, False) for name, sub in properties.items() if isinstance(sub, dict)] if isinstance(properties, dict) else []
    if not found and isinstance(schema.get("items"), dict):
        return [("[]", schema["items"], True)]
    return found


def child_path(parent: str, name: str, is_items: bool) -> str:
    """`parent[]` for items, `parent.name` for a property."""
    if is_items:
        return parent + "[]"
    return f"{parent}.{name}" if parent else name


def two_shapes(entry: Any, what: str = "Config object") -> Entry:
    """(name, params) of `"name"` or `{"name": {...}}`.

    Raises:
        ValueError: not exactly one key, an empty name, or params that are no object.
        TypeError: neither text nor object, or a key that is no text.
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
    """The schema as a tree of nodes, every `x-eval-*` key checked.

    `compat` leaves the parameters of comparators and transforms unchecked and knows no keys but the reference's.

    Raises:
        SchemaError: the first thing wrong, parents before children.
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
        """A node whose children are made when a value needs them; the definition itself is checked once, now."""
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
    """The alignment of an array, checked in the reference's order."""
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
