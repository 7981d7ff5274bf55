"""Check gold against the schema: every field known, ids usable and unique, containers of the right kind."""

from collections.abc import Sequence
from typing import Any

from evalsuite.trees.comparators import Registry
from evalsuite.trees.eval_schema import SchemaNode, child_path, prepare
from evalsuite.trees.field_results import Notice, Notify, log_notice
from evalsuite.trees.json_values import ANY_OF, DEFAULT_LIMITS, TreeLimits, alternatives_of, inspect, json_name


class GoldValidationError(Exception):
    """A gold record that the schema does not describe; `path` is the schema path, `record_id` the record's id or index."""

    def __init__(self, message: str, path: str = "", record_id: Any = None) -> None:
        super().__init__(f"Record {record_id}: {message}")
        self.message = message
        self.path = path
        self.record_id = record_id


def check_id(record: Any, id_field: str, index: int) -> str | int:
    """The record's id: a text or an integer; 1 and "1" are two ids.

    Raises:
        GoldValidationError: there is none, or it is of another type.
    """
    if not isinstance(record, dict) or id_field not in record:
        raise GoldValidationError(f"id field {id_field!r} is missing", id_field, index)
    found = record[id_field]
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise GoldValidationError(f"id field {id_field!r} must be a string or integer, got {type(found).__name__}", id_field, index)
    return found


def check_unique(ids: Sequence[Any], id_field: str) -> None:
    """Raise if an id is repeated, with the id and both indexes."""
    seen: dict[tuple[type, Any], int] = {}
    for index, found in enumerate(ids):
        first = seen.setdefault((type(found), found), index)
        if first != index:
            raise GoldValidationError(f"duplicate id {found!r}: records {first} and {index}", id_field, found)


def validate_gold(
    gold: Sequence[Any],
    schema: Any,
    id_field: str | None = None,
    warn_missing: bool = True,
    strict_types: bool = False,
    *,
    compat: bool = False,
    registry: Registry | None = None,
    notify: Notify = log_notice,
    limits: TreeLimits = DEFAULT_LIMITS,
) -> None:
    """Check every gold record against the schema; remarks (missing fields, wrong containers) go to `notify`.

    With `strict_types` a value must be of its declared type; integer and number are one there.

    Raises:
        SchemaError: the schema cannot be used.
        GoldValidationError: a field that the schema does not know, a wrong type under `strict_types`, an id that is missing, of a wrong
            type or (unless `compat`) a duplicate.
    """
    root = prepare(schema, compat=compat, registry=registry)
    check = GoldCheck(id_field, warn_missing, strict_types, compat, notify)
    ids = []
    for index, record in enumerate(gold):
        inspect(record, limits, where=f"record {index}")
        check.label = index if id_field is None else check_id(record, id_field, index)
        ids.append(check.label)
        check.walk(root, record, at_root=True)
    if id_field is not None and not compat:
        check_unique(ids, id_field)


class GoldCheck:
    """A walk over one gold record after the other along the schema; `label` is the record's id or index."""

    def __init__(self, id_field: str | None, warn_missing: bool, strict_types: bool, compat: bool, notify: Notify) -> None:
        self.id_field = id_field
        self.warn_missing = warn_missing
        self.strict_types = strict_types
        self.compat = compat
        self.notify = notify
        self.label: Any = None

    def walk(self, node: SchemaNode, value: Any, *, at_root: bool = False) -> None:
        """Check a value; raises `GoldValidationError` for what gold may not be."""
        if value is None:
            return
        if not self.compat:
            if node.skip:
                return
            if (choices := alternatives_of(value)) is not None:
                for choice in choices:
                    self.walk(node, choice, at_root=at_root)
                return
        if self.strict_types:
            self.strict(node, value)
        if node.json_type == "multi":
            if json_name(value) not in (node.allowed_types or ()):
                self.remark("multi_type", node.path, f"{json_name(value)} is not among {node.allowed_types}")
        elif node.comparator[0]:
            return
        elif node.has_children and node.json_type != "array":
            self.object(node, value, at_root)
        elif node.has_children:
            self.array(node, value)

    def strict(self, node: SchemaNode, value: Any) -> None:
        """Check the type."""
        declared = set(node.allowed_types or [node.json_type])
        if declared & {"integer", "number"}:
            declared |= {"integer", "number"}
        if json_name(value) not in declared:
            wanted = node.allowed_types or [node.json_type]
            message = f"gold at {node.path!r} is {json_name(value)}, not the schema-declared type {wanted}"
            self.fail("type", node.path, message)

    def object(self, node: SchemaNode, value: Any, at_root: bool) -> None:
        """Check an object."""
        if not isinstance(value, dict):
            self.remark("container_type", node.path, f"object expected, got {json_name(value)}")
            return
        children = node.expand() if node.expand else node.children
        known = set()
        for child in children:
            name = child.path.rsplit(".", 1)[-1] if self.compat else child.name
            known.add(name)
            if name in value:
                self.walk(child, value[name])
            elif self.warn_missing and not child.optional:
                self.remark("missing", child.path, "missing from gold")
        for key in value:
            excused = (at_root and key == self.id_field) or node.ignore is True or (node.ignore and key in node.ignore)
            if key not in known and not excused:
                path = child_path(node.path, key, False)
                message = f"field {path!r} is in gold but not in the schema; add it there with x-eval-skip: true if it should not count"
                self.fail("unknown_field", path, message)

    def array(self, node: SchemaNode, value: Any) -> None:
        """Check a list."""
        if not isinstance(value, list):
            self.remark("container_type", node.path, f"array expected, got {json_name(value)}")
            return
        children = node.expand() if node.expand else node.children
        for item in value if children else ():
            self.walk(children[0], item)

    def fail(self, kind: str, path: str, message: str) -> None:
        """Raise `GoldValidationError`."""
        del kind
        raise GoldValidationError(message, path, self.label)

    def remark(self, kind: str, path: str, message: str) -> None:
        """Say what is odd but allowed."""
        self.notify(Notice(kind, path, f"record {self.label}: {message}"))


def check_alternatives(record: Any, label: Any) -> None:
    """Raise `GoldValidationError` with the path where `x-eval-any-of` is no list of accepted values, or has other keys beside it."""
    waiting: list[tuple[str, Any]] = [("", record)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            if ANY_OF in value and alternatives_of(value) is None:
                message = f"{path or 'the record'}: {ANY_OF!r} must be the only key, with a list of at least one accepted value"
                raise GoldValidationError(message, path, label)
            waiting.extend((child_path(path, str(key), False) if key != ANY_OF else path, item) for key, item in value.items())
        elif isinstance(value, list):
            waiting.extend((f"{path}[{place}]", item) for place, item in enumerate(value))
