"""Check gold against the schema: unknown fields and keys, ids, types, and gold values that would not be accepted as answers.

`validate_gold` stops at the first contradiction, `gold_findings` lists all.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evalsuite.trees.comparators import Registry, oneof
from evalsuite.trees.eval_schema import SchemaNode, parse_eval_schema
from evalsuite.trees.field_results import ComparatorResult, Notice, Notify, Totals, log_notice
from evalsuite.trees.json_schema import as_json_schema, child_path, fields_of_some_branches
from evalsuite.trees.json_values import DEFAULT_LIMITS, TreeLimits, alternatives_of, inspect, json_name
from evalsuite.trees.record_scoring import GoldValidationError, Scoring, check_alternatives, check_id, check_unique


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
    """Check every gold record against the schema; `notify` gets the remarks (missing fields, wrong containers).

    With `strict_types` a value must be of its declared type; integer and number count as one there.

    Raises:
        SchemaError: the schema cannot be used.
        GoldValidationError: a field that the schema does not know, a wrong type under `strict_types`, an id that is missing, of a
            wrong type or (unless `compat`) a duplicate.
    """
    root = parse_eval_schema(schema, compat=compat, registry=registry, notify=lambda _: None)
    check = _GoldCheck(id_field, warn_missing, strict_types, compat, _fields_of_some(schema, warn_missing and not compat))
    ids = []
    for index, record in enumerate(gold):
        inspect(record, limits, where=f"record {index}")
        label = index if id_field is None else check_id(record, id_field, index)
        ids.append(label)
        for kind, path, message in check.problems(root, record, at_root=True):
            if kind in ("type", "unknown_field"):
                raise GoldValidationError(message, path, label)
            notify(Notice(kind, path, f"record {label}: {message}"))
    if id_field is not None and not compat:
        check_unique(ids, id_field)


Problems = Iterator[tuple[str, str, str]]  # a stable word, the schema path and a sentence


class _GoldCheck(NamedTuple):
    """A walk over gold records along the schema."""

    id_field: str | None
    warn_missing: bool
    strict_types: bool
    compat: bool = False
    of_some_branches: Collection[str] = ()

    def problems(self, node: SchemaNode, value: Any, *, at_root: bool = False) -> Problems:
        """Yield what gold must not contain (`type`, `unknown_field`), and what is unusual but allowed."""
        if value is None or (node.skip and not self.compat):
            return
        if not self.compat and (choices := alternatives_of(value)) is not None:
            for choice in choices:
                yield from self.problems(node, choice, at_root=at_root)
            return
        is_declared = _is_declared(node, value)
        if self.strict_types and not is_declared:
            declared_types = node.allowed_types or [node.json_type]
            yield "type", node.path, f"gold at {node.path!r} is {json_name(value)}, not the schema-declared type {declared_types}"
        if node.json_type == "multi":
            if not is_declared:
                yield "multi_type", node.path, f"{json_name(value)} is not among {node.allowed_types}"
        elif node.comparator[0] or not node.has_content(self.compat):
            return
        elif not isinstance(value, list if node.json_type == "array" else dict):
            expected = "array" if node.json_type == "array" else "object"
            yield "container_type", node.path, f"{expected} expected, got {json_name(value)}"
        elif node.json_type == "array":
            for item in value if node.fields else ():
                yield from self.problems(node.item, item)
        else:
            yield from self._of_object(node, value, at_root)

    def _of_object(self, node: SchemaNode, value: Any, at_root: bool) -> Problems:
        for child in node.fields:
            if child.key in value:
                yield from self.problems(child, value[child.key])
            elif self.warn_missing and not child.optional and child.path not in self.of_some_branches:
                yield "missing", child.path, "missing from gold"
        for key in value:
            excused = (at_root and key == self.id_field) or node.ignore is True or (node.ignore and key in node.ignore)
            if key not in node.by_key and not excused:
                path = child_path(node.path, key, False)
                message = f"field {path!r} is in gold but not in the schema; add it there with x-eval-skip: true if it should not count"
                yield "unknown_field", path, message


def _fields_of_some(schema: Any, warn_missing: bool) -> Collection[str]:
    return fields_of_some_branches(as_json_schema(schema)) if warn_missing else ()


def _is_declared(node: SchemaNode, value: Any) -> bool:
    """Return whether a value has one of the types of its node; integer and number count as one."""
    declared = set(node.allowed_types or [node.json_type])
    return json_name(value) in declared | ({"integer", "number"} if declared & {"integer", "number"} else set())


UNREAD = ("unknown_key", "unknown_option")
Named = Mapping[str, Callable[..., Any]]


class Finding(NamedTuple):
    """One contradiction between gold and schema: the record's id or index (None for the schema itself), the schema path, a stable word and
    a sentence."""

    record: Any
    path: str
    kind: str
    message: str


def gold_findings(
    gold: Sequence[Any],
    schema: Any,
    id_field: str | None = None,
    *,
    warn_missing: bool,
    strict_types: bool = False,
) -> list[Finding]:
    """Return everything that `validate_gold` would raise or remark, over all records; empty if gold fits the schema.

    Also the keys and options of the schema that have no effect, and every gold value that would not be right as an answer. Raises
    `SchemaError`, and `TreeLimitError` for a record that exceeds a limit.
    """
    notices: list[Notice] = []
    # Whoever judges meanings judges the same value as the same.
    same = {"semantic": lambda *_: ComparatorResult(1.0, "semantic")}
    scoring = Scoring(schema, None, comparators=same, notify=notices.append)
    check = _GoldCheck(id_field, warn_missing, strict_types, of_some_branches=_fields_of_some(schema, warn_missing))
    findings = [Finding(None, notice.path, notice.kind, notice.message) for notice in dict.fromkeys(notices) if notice.kind in UNREAD]
    ids: dict[tuple[type, Any], int] = {}
    for index, record in enumerate(gold):
        inspect(record, where=f"record {index}")
        label: Any = index
        problems: list[tuple[str, str, str]] = []
        if id_field is not None:
            try:
                label = check_id(record, id_field, index)
            except GoldValidationError as error:
                problems.append(("id", id_field, error.message))
            else:
                first = ids.setdefault((type(label), label), index)
                if first != index:
                    problems.append(("id", id_field, f"duplicate id: records {first} and {index}"))
        problems += check.problems(scoring.node, record, at_root=True)
        try:
            check_alternatives(record, label)
        except GoldValidationError as error:
            problems.append(("alternatives", error.path, error.message))
        else:
            problems += [("refused", path, message) for path, message in dict.fromkeys(_refusals(scoring, record))]
        findings += [Finding(label, path, kind, message) for kind, path, message in problems]
    return findings


def _refusals(scoring: Scoring, record: Any) -> Iterator[tuple[str, str]]:
    """Yield (path, reason) of each value that would not be right as an answer, and of each that is in no list of its `oneof`."""
    for place in range(_most_choices(record)):
        answer = _with_choice(record, place)
        for row in scoring.record(None, answer, answer, Totals()).field_results:
            if row.status in ("mismatch", "error", "batch_error"):
                yield row.schema_path, f"gold does not accept itself: {row.reason or row.comparator}"
            elif row.comparator == "oneof" and row.status == "match":
                strict: Callable[..., ComparatorResult] = oneof.__wrapped__  # type: ignore[attr-defined]
                node, path = scoring.node, row.schema_path
                while node.path != path:
                    node = max((child for child in node.fields if path.startswith(child.path)), key=lambda child: len(child.path))
                verdict = strict(row.gold_compared, row.gold_compared, node.params)
                if not verdict.score:
                    yield row.schema_path, str(verdict.reason)


def _most_choices(value: Any) -> int:
    if isinstance(value, dict):
        options = alternatives_of(value)
        return max([1, len(options or ()), *map(_most_choices, options or value.values())])
    return max([1, *map(_most_choices, value)]) if isinstance(value, list) else 1


def _with_choice(value: Any, place: int) -> Any:
    """Return the value with one alternative in place of each list of them: the one at that place, or the last."""
    if (options := alternatives_of(value)) is not None:
        return _with_choice(options[min(place, len(options) - 1)], place)
    if isinstance(value, dict):
        return {key: _with_choice(item, place) for key, item in value.items()}
    return [_with_choice(item, place) for item in value] if isinstance(value, list) else value
