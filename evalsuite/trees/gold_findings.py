"""Report all contradictions of gold and schema: unknown fields and keys, ids, types, and gold values that would not be right themselves."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evalsuite.trees.comparators import oneof
from evalsuite.trees.field_plan import Plan
from evalsuite.trees.field_results import ComparatorResult, Notice
from evalsuite.trees.field_totals import Totals
from evalsuite.trees.gold_validation import GoldCheck, GoldValidationError, check_alternatives, check_id
from evalsuite.trees.json_values import DEFAULT_LIMITS, TreeLimits, alternatives_of, inspect
from evalsuite.trees.record_scoring import Scoring

UNREAD = ("unknown_key", "unknown_option")
Named = Mapping[str, Callable[..., Any]]


class Finding(NamedTuple):
    """One thing that gold and schema do not agree on: the record's id or index, the schema path, a stable word and a sentence.

    The record is None where it is the schema that is odd.
    """

    record: Any
    path: str
    kind: str
    message: str


def gold_findings(
    gold: Sequence[Any],
    schema: Any,
    id_field: str | None = None,
    *,
    warn_missing: bool = True,
    strict_types: bool = False,
    comparators: Named | None = None,
    transforms: Named | None = None,
    limits: TreeLimits = DEFAULT_LIMITS,
) -> list[Finding]:
    """Everything that `validate_gold` would raise or remark, over all records; empty where gold fits the schema.

    And the keys and options of the schema that nobody reads, and every gold value that is not right when it is handed in.

    Raises:
        SchemaError: the schema cannot be used.
        TreeLimitError: a record passes a limit.
    """
    notices: list[Notice] = []
    # Whoever judges meanings judges the same value as the same.
    known = {"semantic": lambda *_: ComparatorResult(1.0, "semantic"), **(comparators or {})}
    scoring = Scoring(schema, None, comparators=known, transforms=transforms, limits=limits, notify=notices.append)
    check = _Collecting(id_field, warn_missing, strict_types, compat=False, notify=lambda _: None)
    ids: dict[tuple[type, Any], int] = {}
    for index, record in enumerate(gold):
        inspect(record, limits, where=f"record {index}")
        check.label = index
        if id_field is not None:
            try:
                check.label = check_id(record, id_field, index)
            except GoldValidationError as error:
                check.fail("id", id_field, error.message)
            else:
                first = ids.setdefault((type(check.label), check.label), index)
                if first != index:
                    check.fail("id", id_field, f"duplicate id: records {first} and {index}")
        check.walk(scoring.plan.node, record, at_root=True)
        try:
            check_alternatives(record, check.label)
        except GoldValidationError as error:
            check.fail("alternatives", error.path, error.message)
            continue
        for path, message in dict.fromkeys(_refusals(scoring, record)):
            check.fail("refused", path, message)
    unread = [Finding(None, notice.path, notice.kind, notice.message) for notice in dict.fromkeys(notices) if notice.kind in UNREAD]
    return [*unread, *check.found]


class _Collecting(GoldCheck):
    """The check that goes on behind a finding."""

    def __init__(self, *options: Any, **named: Any) -> None:
        super().__init__(*options, **named)
        self.found: list[Finding] = []

    def fail(self, kind: str, path: str, message: str) -> None:
        self.found.append(Finding(self.label, path, kind, message))

    remark = fail


def _refusals(scoring: Scoring, record: Any) -> Iterator[tuple[str, str]]:
    """(path, why) of each value that is not right when it is handed in, and of each that stands in no list of its `oneof`."""
    for place in range(_most_choices(record)):
        answer = _with_choice(record, place)
        for row in scoring.record(None, answer, answer, Totals()).field_results:
            if row.status in ("mismatch", "error", "batch_error"):
                yield row.schema_path, f"gold does not accept itself: {row.reason or row.comparator}"
            elif row.comparator == "oneof" and row.status == "match":
                strict: Callable[..., ComparatorResult] = oneof.__wrapped__  # type: ignore[attr-defined]
                listed = strict(row.gold_compared, row.gold_compared, _params_at(scoring.plan, row.schema_path))
                if not listed.score:
                    yield row.schema_path, str(listed.reason)


def _params_at(plan: Plan, path: str) -> Mapping[str, Any]:
    """The comparator's parameters of the field with this schema path."""
    while plan.path != path:
        plan = max((child for child in plan.children if path.startswith(child.path)), key=lambda child: len(child.path))
    return plan.params


def _most_choices(value: Any) -> int:
    if isinstance(value, dict):
        found = alternatives_of(value)
        return max([len(found or ()), *map(_most_choices, found or value.values())], default=1) or 1
    return max(map(_most_choices, value), default=1) if isinstance(value, list) else 1


def _with_choice(value: Any, place: int) -> Any:
    """The value with one alternative in the place of each list of them: the one at that place, or the last."""
    if (found := alternatives_of(value)) is not None:
        return _with_choice(found[min(place, len(found) - 1)], place)
    if isinstance(value, dict):
        return {key: _with_choice(item, place) for key, item in value.items()}
    return [_with_choice(item, place) for item in value] if isinstance(value, list) else value
