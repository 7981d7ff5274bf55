"""Parsed Treeval schema: branches, leaves and arrays, each leaf with its metrics."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsuite.core.errors import did_you_mean
from evalsuite.trees.treeval_metrics import Metric

MAX_DEPTH = 256  # branches and arrays one in another; the walks take two frames a level of Python's 1,000
CHOICE = "()"
ROOT_KEYS = ("precision_node", "recall_node", "f1_node", "precision_leaf", "recall_leaf", "f1_leaf", "treeval_score")
DEFAULT_METRICS: dict[str, tuple[str, ...]] = {
    "integer": ("exact_match",),
    "number": ("exact_match",),
    CHOICE: ("exact_match",),
    "boolean": ("boolean_accuracy",),
    "string": ("levenshtein",),
}
_PYTHON_TYPES = {int: "integer", float: "number", bool: "boolean", str: "string"}


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """One value: its type (a name, or "()" for a choice) and the metrics that judge it."""

    path: str
    type: str
    metrics: tuple[Metric, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """An object: its children by key; `n_nodes` counts every key below it, `n_leaves` those that hold no object."""

    path: str
    children: dict[str, "Node"]
    n_nodes: int
    n_leaves: int


@dataclass(frozen=True, slots=True, eq=False)
class LeafArray:
    """An unordered list of values."""

    path: str
    item: Leaf


@dataclass(frozen=True, slots=True, eq=False)
class DictArray:
    """An unordered list of objects."""

    path: str
    item: Branch


Node = Leaf | Branch | LeafArray | DictArray


def create_tree_metrics(
    schema: Mapping[str, Any],
    leaves_metrics: Mapping[str, Any] | None = None,
    types_metrics: Mapping[Any, Any] | None = None,
    exclusive: bool = False,
) -> dict[str, Any]:
    """The schema's shape with a set of metric names at each leaf; the item's shape stands for an array of objects.

    A leaf's metrics are its entry in `leaves_metrics` plus those of its type; with `exclusive` an entry replaces the type's.

    Args:
        schema: the Treeval schema.
        leaves_metrics: metric names (one, or a list) at the same path; for an array of objects straight at the item's keys.
        types_metrics: leaf type -> metric names; a choice is "()", an array takes the type of its items.
        exclusive: whether an entry of a leaf replaces its type's metrics.

    Raises:
        ValueError: a leaf without metrics, a path the schema lacks, a reserved name, a schema that cannot be read.
    """
    by_type = {_type_key(key): names_of(value, f"types_metrics[{key!r}]") for key, value in (types_metrics or {}).items()}
    return _choose(check_schema(schema), leaves_metrics or {}, by_type, exclusive, "")


def with_defaults(types_metrics: Mapping[Any, Any] | None) -> dict[str, Any]:
    """`types_metrics` over the default of each of the five types."""
    return {**DEFAULT_METRICS, **{_type_key(key): value for key, value in (types_metrics or {}).items()}}


def compile_schema(schema: Mapping[str, Any], tree_metrics: Mapping[str, Any], metrics: Mapping[str, Metric]) -> Branch:
    """The schema as a `Branch`, each leaf with its metric objects in the order of `metrics`."""
    return _compile_branch(schema, tree_metrics, metrics, "")


def check_schema(schema: Any) -> Mapping[str, Any]:
    """The schema itself. Raises ValueError where it is empty, no object, too deep, or holds an array of arrays."""
    if not isinstance(schema, Mapping):
        raise ValueError(f"the schema must be an object, found {type(schema).__name__}")
    if not schema:
        raise ValueError("the schema is empty")
    todo: list[tuple[str, Any, int]] = [("", schema, 0)]
    while todo:
        path, node, depth = todo.pop()
        if depth > MAX_DEPTH:
            raise ValueError(f"the schema is nested deeper than {MAX_DEPTH} at {_shorten(path)}")
        if isinstance(node, Mapping):
            for key, child in node.items():
                if not isinstance(key, str):
                    raise ValueError(f"the schema key {key!r} at {_shorten(path) or 'the top'} is no text")
                todo.append((join(path, key), child, depth + 1))
        elif is_array(node):
            if is_array(node[0]):
                raise ValueError(f"an array of arrays at {_shorten(path)}: not supported")
            todo.append((path + "[]", node[0], depth + 1))
        elif is_choice(node):
            if any(isinstance(option, dict | list) for option in node):
                raise ValueError(f"the choice at {_shorten(path)} contains a container; write one element for an array")
            if not node:
                raise ValueError(f"an empty list at {_shorten(path)}: write one element for an array, two or more for a choice")
    return schema


def is_of_shape(node: "Node", values: Sequence[Any]) -> bool:
    """Whether all expected values are of the schema's shape here and below, whole columns at a time; null may stand anywhere."""
    kinds = set(map(type, values)) - {type(None)}
    if isinstance(node, Leaf):
        return not kinds & {dict, list}
    values = [value for value in values if value is not None] if type(None) in set(map(type, values)) else values
    if isinstance(node, Branch):
        columns = ((child, [value.get(key) for value in values]) for key, child in node.children.items())
        return kinds <= {dict} and all(is_of_shape(child, column) for child, column in columns)
    return kinds <= {list} and is_of_shape(node.item, [item for value in values for item in value])


def check_reference(branch: Branch, record: Any, name: str) -> None:
    """Raise ValueError with the path where an expected record is not of the schema's shape; null may stand anywhere below it."""
    if not isinstance(record, dict):
        raise ValueError(f"{name} must be an object, found {type(record).__name__}")
    waiting: list[tuple[Node, Any, str]] = [(branch, record, "")]
    while waiting:
        node, value, path = waiting.pop()
        if value is None:
            continue
        if isinstance(node, Branch):
            if not isinstance(value, dict):
                raise ValueError(f"{name}: {path} must be an object, found {type(value).__name__}")
            waiting.extend((child, value.get(key), join(path, key)) for key, child in node.children.items())
        elif isinstance(node, Leaf):
            if isinstance(value, dict | list):
                raise ValueError(f"{name}: {path} must be a plain value, found {type(value).__name__}")
        elif not isinstance(value, list):
            raise ValueError(f"{name}: {path} must be a list, found {type(value).__name__}")
        else:
            waiting.extend((node.item, item, f"{path}[{place}]") for place, item in enumerate(value))


def is_array(node: Any) -> bool:
    """A list of exactly one element."""
    return isinstance(node, list | tuple) and len(node) == 1


def is_choice(node: Any) -> bool:
    """A list of none or several elements: one value out of them."""
    return isinstance(node, list | tuple) and len(node) != 1


def type_of(node: Any) -> str:
    """The type key of a leaf: its name, or "()" for a choice."""
    return CHOICE if is_choice(node) else _type_key(node)


def join(path: str, key: str) -> str:
    """A JSON path one key further: `a.b`, and `a['b.c']` for keys that are no plain names."""
    if key.isidentifier():
        return f"{path}.{key}" if path else key
    return f"{path}[{key!r}]"


def names_of(entry: Any, where: str) -> list[str]:
    """Metric names given as one text or as a list, tuple or set of texts."""
    names = [entry] if isinstance(entry, str) else list(entry) if isinstance(entry, Iterable) and not isinstance(entry, Mapping) else None
    if names is None or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{where} must be a metric name or a list of them")
    reserved = [name for name in names if name in ROOT_KEYS]
    if reserved:
        raise ValueError(f"{where}: {reserved[0]!r} is a reserved name")
    return sorted(names) if isinstance(entry, set | frozenset) else names


def _type_key(key: Any) -> str:
    if key == () or key == "choice":
        return CHOICE
    return _PYTHON_TYPES.get(key, "") or str(key) if isinstance(key, type) else str(key)


def _choose(schema: Mapping[str, Any], leaves: Any, types: Mapping[str, list[str]], exclusive: bool, path: str) -> dict[str, Any]:
    if not isinstance(leaves, Mapping):
        raise ValueError(f"leaves_metrics at {path or 'the top'} must be an object, as in the schema")
    for key in leaves:
        if key not in schema:
            raise ValueError(f"leaves_metrics names {join(path, str(key))}, which the schema lacks; {did_you_mean(str(key), list(schema))}")
    chosen: dict[str, Any] = {}
    for key, node in schema.items():
        here = join(path, key)
        inner = node[0] if is_array(node) else node
        entry = leaves.get(key)
        if isinstance(inner, Mapping):
            if isinstance(entry, list | tuple) and len(entry) == 1 and isinstance(entry[0], Mapping):
                entry = entry[0]
            chosen[key] = _choose(inner, {} if entry is None else entry, types, exclusive, here)
            continue
        own = [] if entry is None else names_of(entry, f"leaves_metrics at {here}")
        chosen[key] = set(own) | (set() if own and exclusive else set(types.get(type_of(inner), ())))
        if not chosen[key]:
            raise ValueError(f"no metric for the leaf {here} of type {type_of(inner)!r}: name one in types_metrics or leaves_metrics")
    return chosen


def _compile_branch(schema: Mapping[str, Any], chosen: Mapping[str, Any], metrics: Mapping[str, Metric], path: str) -> Branch:
    children: dict[str, Node] = {}
    n_nodes = n_leaves = 0
    for key, node in schema.items():
        here = join(path, key)
        inner = node[0] if is_array(node) else node
        n_nodes += 1
        if isinstance(inner, Mapping):
            branch = _compile_branch(inner, chosen[key], metrics, here + "[]" * is_array(node))
            children[key] = DictArray(here, branch) if is_array(node) else branch
            n_nodes += 0 if is_array(node) else branch.n_nodes
            n_leaves += 1 if is_array(node) else branch.n_leaves
        else:
            leaf = Leaf(here, type_of(inner), tuple(metric for name, metric in metrics.items() if name in chosen[key]))
            children[key] = LeafArray(here, leaf) if is_array(node) else leaf
            n_leaves += 1
    return Branch(path, children, n_nodes, n_leaves)


def _shorten(path: str) -> str:
    return path if len(path) <= 80 else f"{path[:60]}...{path[-15:]}"
