"""The fields of a schema: parse one with `x-eval-*` keys, and choose comparators by type for fields that name none."""

import copy
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from evalsuite.core.dataclasses import dataclass, field
from evalsuite.core.errors import did_you_mean
from evalsuite.trees.comparators import (
    BUILTIN,
    OPTIONS,
    PROTECTED,
    SHIPPED,
    TRANSFORMS,
    Registry,
    UnknownNameError,
    check_transform,
    problem_of,
    unknown_options,
)
from evalsuite.trees.field_results import Notice, Notify, log_notice
from evalsuite.trees.json_schema import (
    CHOICE,
    DEFAULTS,
    DEFINITIONS,
    NUMBER_OR_TEXT,
    TYPES,
    SchemaError,
    as_json_schema,
    check_types,
    child_path,
    child_schemas,
    effective_type,
    is_json_schema,
    join,
    lower_schema,
    plain_schema,
    resolve_schema_references,
    shorten,
)

Entry = tuple[str, dict[str, Any]]
KNOWN = ("compare", "skip", "transform", "align", "weight", "threshold", "required", "optional", "ignore", "defaults", "class")
MATCH_BY = ("key_field", "hungarian")


Transforms = tuple[tuple[str, Callable[[Any, Mapping[str, Any]], Any], dict[str, Any]], ...]


@dataclass(slots=True, eq=False)
class SchemaNode:
    """One field of a schema, parsed: of an eval schema with its comparator, of Treeval's types with its metrics.

    `comparator` is ("", {}) if there is none. `expand` makes the children of a recursive `$ref` when a value needs them. `ignore` are
    keys that an extracted object may have without a penalty; True is any. The other attributes are compiled from these: `uses` is the name
    of the comparator, `key` that of the value in its object (in compat mode what follows the last dot of the path), `suffix` what the path
    adds to its parent's. A `structural` field has children that are compared, any other is a unit with one comparator. A `trusted`
    comparator neither fails, skips nor leaves [0, 1], and takes the values unchanged.
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
    uses: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    key: str = ""
    suffix: str = ""
    structural: bool = False
    is_array: bool = False
    expects: type = dict
    compare: Callable[..., Any] | None = None
    trusted: Callable[..., Any] | None = None
    accepts_itself: bool = False
    is_own: bool = False
    falls_back: bool = False
    any_batch: bool = False
    batch: bool = False
    steps: Transforms = ()
    metrics: tuple[Any, ...] = ()
    n_nodes: int = 0
    n_leaves: int = 0
    _by_key: dict[str, "SchemaNode"] | None = None
    _unordered: bool | None = None

    @property
    def fields(self) -> list["SchemaNode"]:
        """The children; those of a recursive schema are made on first use, because it has no end of them."""
        if self.expand is not None and not self.children:
            self.children = self.expand()
        return self.children

    @property
    def by_key(self) -> dict[str, "SchemaNode"]:
        """The children by key."""
        if self._by_key is None:
            self._by_key = {child.key: child for child in self.fields}
        return self._by_key

    @property
    def item(self) -> "SchemaNode":
        """The elements of a list."""
        return self.fields[0]

    @property
    def is_object(self) -> bool:
        """Whether this is an object whose fields are compared."""
        return self.structural and not self.is_array

    @property
    def lists_objects(self) -> bool:
        """Whether this is a list of objects whose fields are compared."""
        return self.is_array and self.structural and self.fields[0].structural

    def has_content(self, compat: bool) -> bool:
        """Return whether a value is read further inside: upstream does so for objects and lists only, not for a text with `properties`."""
        return self.has_children and not (compat and self.json_type not in ("object", "array"))

    @property
    def has_children(self) -> bool:
        """Whether this is a container; recursive ones always are."""
        return bool(self.children) or self.expand is not None

    @property
    def ignores_order(self) -> bool:
        """Whether this field, or one below it, ignores the order of a list; True for a recursive schema."""
        if self._unordered is None:
            align = self.align or {}
            has_free_order = (self.structural and align.get("ordered") is not True and bool(align.get("match_by"))) or self.uses == "set"
            self._unordered = has_free_order or self.expand is not None or any(child.ignores_order for child in self.children)
        return self._unordered

    def has_batch(self) -> bool:
        """Return whether a batch comparator may judge something at or below this field."""
        return self.batch or self.expand is not None or any(child.has_batch() for child in self.children)

    def compile(self, registry: Registry) -> None:
        """Look up the comparator and the transforms."""
        self.uses, self.params = self.comparator
        if self.uses and not self.skip:
            self.compare, self.batch = registry.comparator(self.uses), registry.is_batch(self.uses)
        self.key = self.path.rsplit(".", 1)[-1] if registry.compat else self.name
        self.is_own = self.uses in PROTECTED
        self.steps = tuple((name, registry.transform(name), params) for name, params in self.transforms)
        self.trusted = self.compare if self.compare is BUILTIN.get(self.uses) and self.threshold is None and not self.steps else None
        # A value identical to gold is right, unless a plugin's comparator or transform decides otherwise.
        shipped = self.compare is not None and self.compare in (BUILTIN.get(self.uses), SHIPPED.get(self.uses))
        self.accepts_itself = shipped and all(name in TRANSFORMS for name, _, _ in self.steps)
        self.structural = self.has_children and not self.uses
        self.is_array = self.json_type == "array"
        align = self.align or {}
        self.falls_back = "fallback" in align and align.get("match_by") == "key_field" and not (registry.compat or align.get("ordered"))
        self.expects = list if self.is_array or (registry.compat and self.json_type != "object") else dict


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
    """Return the schema as a tree of nodes, with every `x-eval-*` key checked; the input is not changed.

    Args:
        schema: a schema in any form (see `plain_schema`). Unless `compat`, references and unions are resolved, and leaves without a
            comparator get that of their type (see `annotate_xeval`).
        compat: leave the parameters of comparators and transforms unchecked, and know no keys but the reference's; every leaf needs a
            comparator.
        registry: the names of comparators and transforms; by default those of the process.
        notify: called with a `Notice` for each remark.

    Raises:
        SchemaError: the first problem, parents before children.
        JsonRefError: a `$ref` without a target.
    """
    source = plain_schema(schema) if compat else annotate_xeval(as_json_schema(schema))
    reader = _Reader(registry or Registry(compat=compat), source, compat, notify)
    root = reader.node(source, "", "")
    root.any_batch = reader.any_batch
    return root


def read_treeval_schema(schema: Any) -> SchemaNode:
    """Return the fields of a schema in any form, read as Treeval does: the type of a choice is "()", its values are in `params`.

    Several types are text, a list without items one of texts; an object without properties and a recursive `$ref` are text, because
    Treeval has no such leaf. Fields that are skipped (`x-eval-skip`) are left out. Of an object, `n_nodes` counts every key below it,
    `n_leaves` those without an object. Raises `SchemaError` for a schema that is empty, too deep, no object, or has an array of arrays.
    """
    plain = schema if isinstance(schema, Mapping) and not is_json_schema(schema) else plain_schema(schema)
    own_types = not is_json_schema(plain)
    source = lower_schema(plain, own_types="keep") if own_types else resolve_schema_references(plain, notify=lambda _: None)
    reader = _TreevalReader(source, own_types)
    root = reader.keys(source, "", "")
    if not root.is_object:
        raise SchemaError(f"a record of Treeval is an object, this schema describes the type {source.get('type')!r}")
    root.children = reader.children(root, source)
    if not root.children:
        raise SchemaError("the schema is empty")
    return root


def treeval_schema_of(schema: Any, id_field: str | None = None) -> Any:
    """Return the Treeval schema of a schema in any form (see `read_treeval_schema`), one of Treeval unchanged; without `id_field`."""
    plain = schema if isinstance(schema, Mapping) and not is_json_schema(schema) else plain_schema(schema)
    if not is_json_schema(plain):
        return plain
    return {child.key: _treeval_type(child) for child in read_treeval_schema(plain).children if child.key != id_field}


def _treeval_type(node: SchemaNode) -> Any:
    if not node.structural:
        return node.params.get("values", node.json_type)
    if not node.is_array:
        return {child.key: _treeval_type(child) for child in node.children}
    return [node.item.json_type if not node.item.structural else _treeval_type(node.item)]


class _Reader:
    """Reads a resolved JSON Schema into fields: those of an eval schema, or as a `_TreevalReader` those of Treeval."""

    def __init__(self, registry: Registry, root: dict[str, Any], compat: bool, notify: Notify) -> None:
        self.registry = registry
        self.compat = compat
        self.notify = notify
        self.definitions: Mapping[str, Any] = root.get("$defs") or {}
        self.any_batch = False

    def node(self, schema: dict[str, Any], path: str, name: str) -> SchemaNode:
        pointer = None if self.compat else schema.get("$ref")
        if isinstance(pointer, str):
            target = self.definitions[pointer.removeprefix(DEFINITIONS)]
            schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
        node = self.keys(schema, path, name)
        if not isinstance(pointer, str):
            node.children = self.children(node, schema)
        elif child_schemas(schema):
            # Made when a value needs them; they were checked where the definition was inlined above.
            node.expand = partial(self.children, node, schema)
        return self.compile_node(node)

    def compile_node(self, node: SchemaNode) -> SchemaNode:
        node.compile(self.registry)
        self.any_batch = self.any_batch or node.batch
        return node

    def children(self, node: SchemaNode, schema: dict[str, Any]) -> list[SchemaNode]:
        nodes = []
        for name, sub, items in child_schemas(schema):
            nodes.append(child := self.node(sub, child_path(node.path, name, items), name))
            child.suffix = child.path[len(node.path) :]
        return nodes

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
                hint = did_you_mean(key, list(OPTIONS[name])) if OPTIONS[name] else "it takes no options"
                self.notify(Notice("unknown_option", path, f"{name} takes no option {key!r}; {hint}"))
        return name, params

    def transforms(self, entries: Any, path: str) -> list[Entry]:
        if not isinstance(entries, list):
            raise SchemaError("x-eval-transform must be a list", path)
        steps = []
        for position, entry in enumerate(entries):
            where = f"x-eval-transform[{position}]"
            name, params = _entry(entry, where, path)
            try:
                self.registry.transform(name)
            except UnknownNameError as error:
                raise SchemaError(f"{where}: {error}", path) from None
            if not self.compat and (problem := check_transform(name, params)):
                raise SchemaError(f"{where}: {problem}", path)
            steps.append((name, params))
        return steps

    def remark(self, node: SchemaNode) -> None:
        name = node.comparator[0]
        if (name == "numeric" and node.json_type in ("string", "boolean")) or (name == "exact" and node.json_type in ("number", "integer")):
            self.notify(Notice("odd_comparator", node.path, f"{name} on type {node.json_type}"))


class _TreevalReader(_Reader):
    """The same for Treeval, which knows types and the values of a choice, and no other key but `x-eval-skip`."""

    def __init__(self, root: dict[str, Any], own_types: bool) -> None:
        super().__init__(Registry(), root, True, log_notice)
        self.own_types = own_types

    def keys(self, schema: dict[str, Any], path: str, name: str) -> SchemaNode:
        if not self.own_types:
            check_types(schema, path)
        kind, several = effective_type(schema)
        options = schema.get("enum")
        if not isinstance(options, list) or any(isinstance(option, dict | list) for option in options):
            options = []
        texts = [str(option) for option in options if option is not None]
        properties = schema.get("properties")
        if kind == CHOICE or len(texts) > 1:
            return SchemaNode(path, CHOICE, key=name, params={"values": texts})
        if kind == "object" and isinstance(properties, dict) and (properties or self.own_types):
            return SchemaNode(path, kind, key=name, structural=True)
        if kind == "array":
            return SchemaNode(path, kind, key=name, structural=True, is_array=True, expects=list)
        is_either = several and "string" in several and not {"number", "integer"}.isdisjoint(several)
        is_known = kind in TYPES or (self.own_types and not several)
        return SchemaNode(path, NUMBER_OR_TEXT if is_either else str(kind) if is_known else "string", key=name)

    def compile_node(self, node: SchemaNode) -> SchemaNode:
        return node

    def children(self, node: SchemaNode, schema: dict[str, Any]) -> list[SchemaNode]:
        if not node.structural:
            return []
        subs = [(name, sub) for name, sub, items in child_schemas(schema) if items == node.is_array]
        if node.is_array:
            sub = subs[0][1] if subs else {"type": "string"}
            if effective_type(sub)[0] == "array":
                raise SchemaError(f"an array of arrays at {shorten(node.path)}: not supported")
            item = self.node(sub, node.path + "[]", "")
            item.path = item.path if item.structural else node.path
            return [item]
        nodes = []
        for name, sub in subs:
            if sub.get("x-eval-skip") is not True:
                nodes.append(child := self.node(sub, join(node.path, name), name))
                node.n_nodes += 1 + child.n_nodes
                node.n_leaves += child.n_leaves if child.is_object else 1
        return nodes


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
    if align.get("fallback", "hungarian") != "hungarian":
        raise SchemaError(f"x-eval-align 'fallback' must be 'hungarian', got {align['fallback']!r}", path)
    return align


def _key_field(schema: dict[str, Any], align: dict[str, Any], path: str, notify: Notify) -> None:
    key, items = align.get("key"), schema.get("items")
    if not isinstance(key, str) or not key:
        raise SchemaError("x-eval-align with match_by='key_field' needs a non-empty 'key'", path)
    if not isinstance(items, dict):
        raise SchemaError("x-eval-align with match_by='key_field' needs an 'items' object", path)
    kind = items.get("type", "object")
    if kind != "object" and effective_type(items)[0] != "object":
        raise SchemaError(f"x-eval-align with match_by='key_field' requires items type 'object', got {kind!r}", path)
    if key not in (items.get("properties") or {}):
        notify(Notice("align", path, f"key {key!r} is not among the properties of the items"))


def _own_keys(node: SchemaNode, schema: dict[str, Any]) -> None:
    """Read the keys that the reference does not know: weight, threshold, required, optional, ignore."""
    weight, threshold = schema.get("x-eval-weight", 1.0), schema.get("x-eval-threshold")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < 1e9:
        raise SchemaError("x-eval-weight must be a number above 0, below 1e9", node.path)
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


LONG_TEXT = 100
RELATIVE = {"tolerance": {"rel": 1e-9}}
# Names of properties that identify an object of a list; the first that the objects require is their key.
KEY_NAMES = ("id", "uuid", "key", "sku", "code")
_CASE_FREE_FORMATS = ("email", "idn-email", "hostname", "idn-hostname", "uuid")


def annotate_xeval(schema: Any, *, compat: bool = False, types: bool = False, notify: Notify = lambda _: None) -> dict[str, Any]:
    """Write `x-eval-compare` into every leaf that has none and is not skipped, and return the schema: a dict in place, else a new one.

    Unless `compat`, references and unions are resolved first. A leaf of a JSON Schema gets `exact`, `numeric` or `number_or_text`, and
    `date` or `datetime` by its `format`. The schema of a class, or any with `types` or `"x-eval-defaults": "types"` at its root, gets more
    from its types: numbers a relative tolerance, texts `text`, lists of objects `x-eval-align` by a key or by best fit.

    Args:
        schema: a schema in any form (see `plain_schema`).
        compat: do what upstream does; a leaf with `x-eval-skip: false` is left alone, so that parsing it fails.
        types: whether to choose by types in any case.
        notify: called with a `Notice` for each choice and its reason.
    """
    root = schema if isinstance(schema, dict) else plain_schema(schema) if compat else as_json_schema(schema)
    if not compat:
        resolved = resolve_schema_references(root, notify=lambda _: None)
        root.clear()
        root.update(resolved)
    defined = root.get("$defs")
    definitions: dict[str, Any] = defined if isinstance(defined, dict) and not compat else {}
    chooser = _Chooser(compat, not compat and (types or root.get(DEFAULTS) == "types"), definitions, notify)
    seen: set[int] = set()
    waiting: list[tuple[Any, str]] = [*((node, f"$defs.{name}") for name, node in definitions.items()), (root, "")]
    while waiting:
        node, path = waiting.pop()
        if isinstance(node, dict) and id(node) not in seen:
            seen.add(id(node))
            waiting.extend((sub, child_path(path, name, items)) for name, sub, items in reversed(child_schemas(node)))
            chooser.annotate(node, path)
    return root


@dataclass(frozen=True, slots=True)
class _Chooser:
    """Choose the comparator of a leaf and the alignment of a list, each with the reason."""

    compat: bool
    types: bool
    definitions: Mapping[str, Any]
    notify: Notify

    def annotate(self, node: dict[str, Any], path: str) -> None:
        children = child_schemas(node)
        lazy = not self.compat and str(node.get("$ref", "")).startswith(DEFINITIONS)
        skip = "x-eval-skip" in node if self.compat else node.get("x-eval-skip", False) is not False
        if lazy or skip or "x-eval-compare" in node:
            if not (lazy or children):
                self.add_any_type(node, path)
            return
        if not children:
            if not self.compat:
                check_types(node, path, _defaults)
            entry, why = self.comparator(node)
            if self.add_any_type(node, path):
                entry, why = "exact", "a value of any type"
            node["x-eval-compare"] = copy.deepcopy(entry)
            self.notify(Notice("chosen", path, f"x-eval-compare {json.dumps(entry)}: {why}"))
        elif self.types and children[0][2] and "x-eval-align" not in node and effective_type(node)[0] == "array":
            align, why = self.alignment(node, children[0][1])
            if align:
                node["x-eval-align"] = align
            self.notify(Notice("chosen", path, f"x-eval-align {json.dumps(align or {'ordered': True})}: {why}"))

    def add_any_type(self, node: dict[str, Any], path: str) -> bool:
        """Whether a leaf that says nothing of its type gets every type; a whole schema that says nothing is more likely a mistake."""
        if self.compat or "type" in node or not (path or self.types):
            return False
        node["type"] = ["string", "number", "boolean", "object", "array"]
        return True

    def comparator(self, node: dict[str, Any]) -> tuple[Any, str]:
        """Return (the entry of `x-eval-compare`, the reason)."""
        kind, several = effective_type(node)
        name = kind or ""
        if self.compat or _defaults.get(name) != _BUILT_IN.get(name):
            return _defaults.get(name, "exact"), f"the default of the type {name}"
        form = node.get("format")
        if "enum" in node or "const" in node:
            return "exact" if self.types else _BUILT_IN.get(name, "exact"), "one of listed values"
        if several and "string" in several and not {"number", "integer"}.isdisjoint(several):
            return {"number_or_text": RELATIVE} if self.types else "number_or_text", "a number, or a text that may be one"
        if name == "string" and form in ("date", "date-time"):
            return form.replace("-", ""), f"a text of the format {form}: any unambiguous form"
        if self.types:
            return self.by_type(node, name, form)
        return _BUILT_IN.get(name, "exact"), f"the type {name}"

    def by_type(self, node: dict[str, Any], name: str, form: Any) -> tuple[Any, str]:
        """Return the comparator of a plain leaf and the reason."""
        if name == "string" and (form is None or form in _CASE_FREE_FORMATS) and "contentEncoding" not in node:
            return {"text": {"long": LONG_TEXT}}, f"a text: case and spaces do not count, over {LONG_TEXT} characters by similarity"
        if name == "number":
            return {"numeric": RELATIVE}, "a number with decimals: within a relative tolerance"
        return _BUILT_IN.get(name, "exact"), f"the type {name}" + (f" of the format {form}" if form else "")

    def alignment(self, node: Mapping[str, Any], items: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str]:
        """Return (the value of `x-eval-align`, None for a list in order; the reason)."""
        pointer = items.get("$ref")
        if isinstance(pointer, str):
            items = {**self.definitions.get(pointer.removeprefix(DEFINITIONS), {}), **items}
        if not isinstance(items.get("properties"), dict):
            if node.get("uniqueItems"):
                return {"match_by": "hungarian"}, "a set of values"
            return None, "a list of values"
        if key := _key_of(items):
            return {"match_by": "key_field", "key": key, "fallback": "hungarian"}, f"a list of objects with the key {key}"
        return {"match_by": "hungarian"}, "a list of objects without a key"


def _key_of(items: Mapping[str, Any]) -> str:
    """Return the property that identifies the objects: required, a text or an integer, by its name; "" if there is none, or several."""
    required = items.get("required")
    usable = [name for name, sub in items["properties"].items() if name in (required or ()) and _is_key(sub)]
    matches = [name for name in KEY_NAMES if name in usable] or [name for name in usable if name.endswith(("_id", "Id", "_key", "_code"))]
    return matches[0] if matches and (matches[0] in KEY_NAMES or len(matches) == 1) else ""


def _is_key(node: Mapping[str, Any]) -> bool:
    return node.get("type") in ("string", "integer") and "enum" not in node and node.get("x-eval-skip", False) is False
