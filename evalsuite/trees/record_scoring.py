"""Extracted records against gold, field by field: rows, records and run, or a stream of pairs to its summary."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from evalsuite.errors import FaultError, describe
from evalsuite.garbage import not_looking
from evalsuite.registry import foreign
from evalsuite.trees.batch_comparators import Dispatcher
from evalsuite.trees.field_plan import Plan, compile_plan
from evalsuite.trees.field_results import FieldResult, Notify, RecordResult, RunResult, Summary
from evalsuite.trees.field_rows import Walk
from evalsuite.trees.field_totals import PostProcess, Totals, tally
from evalsuite.trees.gold_validation import check_alternatives, check_id, check_unique
from evalsuite.trees.json_values import ABSENT, DEFAULT_LIMITS, TreeLimits, inspect
from evalsuite.trees.record_pairing import Lost, join_by_id
from evalsuite.trees.registries import Registry
from evalsuite.trees.schema_sources import prepare

# Every round but the last finds a better alignment; two or three are usual.
MAX_ROUNDS = 50
SAME_RATE = 1e-13

Named = Mapping[str, Callable[..., Any]]


def evaluate(
    gold: Sequence[Any],
    extracted: Sequence[Any],
    schema: Any,
    id_field: str | None = None,
    post_process: PostProcess | None = None,
    *,
    compat: bool = False,
    comparators: Named | None = None,
    transforms: Named | None = None,
    limits: TreeLimits = DEFAULT_LIMITS,
    notify: Notify = lambda _: None,
) -> RunResult:
    """Rows, precision, recall and F1 of n extracted records against n gold records.

    Records are paired by position; with `id_field`, where extracted records carry ids, by id: a gold record without a partner is worth 0,
    and so is an extracted one that gold does not know (its id is the record's id). `schema` is an eval schema, a plain JSON Schema or a
    Pydantic model; leaves without a comparator get their type's. `comparators` and `transforms` are known to this run only.

    Args:
        gold: the expected records; `{"x-eval-any-of": [...]}` anywhere accepts several values.
        extracted: the records found.
        schema: how to compare.
        id_field: the key that names a record; it is no field of its own.
        post_process: changes a record's rows before they are counted (see `post`).
        compat: give the reference's numbers, quirks included.
        comparators: names of this run only; batch ones have `is_batch = True`.
        transforms: the same for transforms.
        limits: how large values may be.
        notify: hears what is odd about the schema.

    A comparator, transform or post-processor of somebody's that fails leaves its record undecided (precision, recall and F1 are None);
    `faults` of the result tells what failed.

    Raises:
        ValueError: not as many extracted records as gold ones, and no ids to join by.
        SchemaError: the schema cannot be used.
        GoldValidationError: a gold record has no usable id, or two have the same (in compat mode KeyError where one has none).
        TreeLimitError: a value or an alignment is larger than `limits`.
    """
    joined = None if compat or id_field is None else join_by_id(gold, extracted, id_field)
    if joined is None and len(gold) != len(extracted):
        raise ValueError(f"gold and extracted must have the same length, got {len(gold)} and {len(extracted)}")
    names = {"comparators": comparators, "transforms": transforms}
    scoring = Scoring(schema, id_field, post_process, compat=compat, **names, limits=limits, notify=notify)
    if joined is None:
        labels = [None if g is ABSENT else scoring.label(g, i) for i, g in enumerate(gold)]
        if id_field is not None and not compat:
            check_unique([label for label in labels if label is not None], id_field)
        joined = list(zip(labels, gold, extracted, strict=True))
    totals = Totals(compat=compat)
    with not_looking():
        records = [scoring.record(label, expected, found, totals) for label, expected, found in joined]
    return totals.result(records)


def evaluate_stream(
    pairs: Iterable[tuple[Any, Any]],
    schema: Any,
    id_field: str | None = None,
    post_process: PostProcess | None = None,
    *,
    compat: bool = False,
    comparators: Named | None = None,
    transforms: Named | None = None,
    limits: TreeLimits = DEFAULT_LIMITS,
    each: Callable[[RecordResult], None] | None = None,
) -> Summary:
    """The summary of (gold, extracted) pairs; no row is kept, `each` sees every record as it is scored.

    Arguments and errors as in `evaluate`; pairs come as they are to be compared, duplicate ids are not looked for.
    """
    scoring = Scoring(schema, id_field, post_process, compat=compat, comparators=comparators, transforms=transforms, limits=limits)
    totals = Totals(compat=compat)
    for index, (gold, extracted) in enumerate(pairs):
        record = scoring.record(scoring.label(gold, index), gold, extracted, totals)
        if each is not None:
            each(record)
    return totals.summary()


class Scoring:
    """One schema, ready to score records one by one; `notify` hears what is odd about the schema."""

    def __init__(
        self,
        schema: Any,
        id_field: str | None = None,
        post_process: PostProcess | None = None,
        *,
        compat: bool = False,
        comparators: Named | None = None,
        transforms: Named | None = None,
        limits: TreeLimits = DEFAULT_LIMITS,
        notify: Notify = lambda _: None,
    ) -> None:
        self.registry = registry = Registry(compat=compat, comparators=comparators or {}, transforms=transforms or {})
        self.plan: Plan = compile_plan(prepare(schema, compat=compat, registry=registry, notify=notify), registry)
        self.id_field = id_field
        self.post_process = post_process
        self.compat = compat
        self.limits = limits

    def label(self, gold: Any, index: int) -> Any:
        """The record's id, or its index."""
        if self.id_field is None:
            return index
        return gold[self.id_field] if self.compat else check_id(gold, self.id_field, index)

    def record(self, label: Any, gold: Any, extracted: Any, totals: Totals) -> RecordResult:
        """One record, scored and counted in `totals`; `ABSENT` on a side means that there is no such record."""
        if gold is ABSENT or extracted is ABSENT or isinstance(extracted, Lost):
            return self.lone_record(label, gold, extracted, totals)
        alternatives = inspect(gold, self.limits, where=f"gold of record {label!r}")
        inspect(extracted, self.limits, where=f"record {label!r}")
        if alternatives and not self.compat:
            check_alternatives(gold, label)
        walk = self.walk(alternatives)
        rows = self.best_rows(walk, gold, extracted)
        if self.post_process is not None:
            try:
                rows = _checked_rows(foreign.call("post_process", self.post_process, rows))
            except FaultError as error:
                # What it left half changed is nobody's verdict.
                rows = []
                walk.faults.append(error.fault)
        reason = f"required and missing: {', '.join(walk.missing)}" if walk.missing else ""
        if walk.faults:
            reason = describe(walk.faults[0])
        precision, recall, f1 = totals.add(rows, failed=bool(walk.missing), undecided=bool(walk.faults))
        totals.faults |= dict.fromkeys([*walk.faults, *walk.dispatch.faults])
        return RecordResult(label, rows, gold, extracted, precision, recall, f1, reason)

    def best_rows(self, walk: Walk, gold: Any, extracted: Any) -> list[FieldResult]:
        """The rows of a record by the alignments and alternatives that make its F1 highest.

        They are chosen at a rate, first 1, then the F1 reached, until that no longer rises (see `field_arrays`).
        """
        judged: dict[tuple[str, Any], FieldResult] = {}
        for _ in range(MAX_ROUNDS):
            rows: list[FieldResult] = []
            walk.missing = []
            walk.pair(self.plan, gold, extracted, "", (), rows)
            if self.plan.any_batch:
                for row in rows:
                    if row.status == "pending" and (known := judged.get((row.path, row.aligned))) is not None:
                        row.status, row.score, row.reason, row.params = known.status, known.score, known.reason, None
                walk.dispatch(rows)
                judged = {(row.path, row.aligned): row for row in rows}
            if self.compat or not walk.has_chosen or walk.faults or abs((reached := tally(rows).f1) - walk.rate) <= SAME_RATE:
                break
            walk.rate = reached
        return rows

    def lone_record(self, label: Any, gold: Any, extracted: Any, totals: Totals) -> RecordResult:
        """A record that only one side has is worth 0."""
        missing = gold is not ABSENT
        value = gold if missing else extracted
        if value is ABSENT or isinstance(value, Lost):
            value = None
        alternatives = inspect(value, self.limits, where=f"record {label!r}")
        rows = self.walk(alternatives).sides(self.plan, value, "omission" if missing else "hallucination", "", ())
        reason = "no record was handed in" if missing else "gold has no such record"
        reason = extracted.reason if isinstance(extracted, Lost) else reason
        shown = (gold, None) if missing else (None, extracted)
        precision, recall, f1 = totals.add(rows, failed=True)
        return RecordResult(label, rows, shown[0], shown[1], precision, recall, f1, reason)

    def walk(self, alternatives: bool) -> Walk:
        """A fresh walk over one record."""
        dispatch = Dispatcher(self.registry)
        return Walk(compat=self.compat, limits=self.limits, dispatch=dispatch, id_field=self.id_field, alternatives=alternatives)


def _checked_rows(rows: Any) -> list[FieldResult]:
    """The rows. Raises for what cannot be counted: TypeError where a post-processor gave no list, `FaultError` for no row or no score."""
    if not isinstance(rows, list):
        raise TypeError(f"post_process must return the list of rows, got {type(rows).__name__}")
    for row in rows:
        if not isinstance(row, FieldResult):
            raise FaultError("SCORER_ERROR", f"post_process gave {type(row).__name__}, expected a FieldResult")
        foreign.unit("post_process", row.score)
    return rows


def rows_of(result: RunResult) -> Iterator[dict[str, Any]]:
    """Every row of a run as plain data: expected against got, with both paths."""
    for record in result.records:
        for row in record.field_results:
            yield {
                "record": record.record_id,
                "path": row.path,
                "found_path": row.found_path,
                "schema_path": row.schema_path,
                "status": row.status,
                "score": row.score,
                "comparator": row.comparator,
                "expected": row.gold_value,
                "got": row.extracted_value,
                "reason": row.reason,
            }
