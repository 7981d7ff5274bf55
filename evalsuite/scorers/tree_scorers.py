"""`tree_match` and `tree_score`: extracted JSON records against gold records, field by field along a schema, or by Treeval."""

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.errors import FaultError, count_words, join_names
from evalsuite.core.plugin_calls import report_official
from evalsuite.core.registry import scorer
from evalsuite.core.runtime import without_collection
from evalsuite.core.scores import Fault, Problem, Score
from evalsuite.stats.units import unit_details
from evalsuite.trees.batch_comparators import CompoundComparator, SemanticBatchComparator
from evalsuite.trees.comparators import PROTECTED, UnknownNameError, post_processor
from evalsuite.trees.eval_schema import annotate_xeval, treeval_schema_of
from evalsuite.trees.field_results import (
    FieldReport,
    Notice,
    Notify,
    NullHandling,
    PostProcess,
    RecordResult,
    Summary,
    Totals,
    chain,
    field_details,
    field_reason,
    propagate_batch_errors,
    reclassify_nulls,
    treeval_details,
    treeval_reason,
)
from evalsuite.trees.gold_validation import UNREAD
from evalsuite.trees.json_schema import (
    JsonRefError,
    SchemaError,
    as_json_schema,
    effective_type,
    infer_schema,
    plain_schema,
    resolve_schema_references,
)
from evalsuite.trees.json_values import ABSENT, TreeLimitError, inspect, other_container
from evalsuite.trees.record_scoring import GoldValidationError, Lost, Scoring, in_step, join_by_id, pair_by_position, read_broken
from evalsuite.trees.treeval import TreevalResult, prepare, treeval_score


def tree_score_problems(parameters: Mapping[str, Any]) -> Iterator[Problem]:
    """Return problems of the parameters: an invalid schema or metrics."""
    schema = parameters.get("schema")
    if isinstance(schema, str | Path) or schema is None:  # a file is read later, and None is inferred from gold
        return
    metrics = [parameters.get(key) for key in ("metrics", "types_metrics", "leaves_metrics")]
    try:
        prepare(treeval_schema_of(schema, parameters.get("id_field")), *metrics, exclusive=bool(parameters.get("exclusive")))
    except (SchemaError, JsonRefError) as error:
        yield Problem(code="BAD_SPEC", message=str(error), hint="write a Treeval schema: one type name for each leaf, [x] for a list of x")


@scorer(reads="tree", validate=tree_score_problems, gold_files=Any)
def tree_score(
    prediction: Any,
    *,
    gold: Any,
    schema: Any = None,
    id_field: str | None = None,
    metrics: dict[str, Any] | None = None,
    types_metrics: dict[str, str | list[str]] | None = None,
    leaves_metrics: dict[str, Any] | None = None,
    exclusive: bool = False,
    hierarchical: bool = False,
    repair: bool = False,
) -> Score:
    """How well extracted JSON follows gold: the mean of the leaf metrics times the F1 of nodes times the F1 of leaves (Treeval).

    One record, or n records of a JSONL as one batch. Lists have no order. Official: the reference's numbers, records paired by position;
    0 if it raises. Strict: any JSON is scored by the same rules, records joined by `id_field`; a line that is not a record counts as null,
    an extra record costs precision.

    Range: 0 to 1, higher is better. Source: Treeval.

    Args:
        prediction: the extracted record, or the list of n of them; a list of one (a JSONL of one line) is that record.
        gold: the expected record, or the list of n of them.
        schema: leaf types (string, integer, number, boolean, or your own), [a, b] for a choice, [type] for a list of it; a JSON Schema is
            converted, and without one it is inferred from gold.
        id_field: the key that identifies a record.
        metrics: name -> a text metric with its options, `{"near": {"bertscore": {"model": "models/x"}}}`, for the two below.
        types_metrics: leaf type -> metric or metrics, from exact_match, boolean_accuracy and levenshtein; a choice is "()".
        leaves_metrics: metrics for single leaves, in the schema's shape.
        exclusive: whether those replace the type's metrics instead of adding to them.
        hierarchical: whether each branch counts as one value next to its sibling leaves.
        repair: accept JSON in fences or prose, or with an extra comma; the report counts such records.

    Example:
        `{"func": "tree_score", "parameters": {"gold": {"total": 12}, "schema": {"total": "integer"}}}`
    """
    prediction, n_repaired = read_broken(prediction, repair=repair)
    references: list[Any] = gold if isinstance(gold, list) else [gold]
    records = prediction if isinstance(gold, list) or not isinstance(prediction, list) else in_step(prediction, 1)
    answers: list[Any] = records if isinstance(prediction, list) and (isinstance(gold, list) or len(records) == 1) else [prediction]
    lost = next((record for record in answers if isinstance(record, Lost) and record.cause), None)
    how: dict[str, Any] = {"metrics": metrics, "types_metrics": types_metrics, "leaves_metrics": leaves_metrics}
    how |= {"exclusive": exclusive, "hierarchical": hierarchical}
    if schema is None and not references:
        raise FaultError("BAD_SPEC", "there is no record", side="gold")
    try:
        parsed_schema = treeval_schema_of(
            schema if schema is not None else infer_schema(references, widen=True, notify=lambda _: None), id_field
        )
        expected, predictions, invented = _pair_records(references, answers, id_field, parsed_schema)

        def scored(predictions: list[Any], invented: list[Any], *, compat: bool) -> TreevalResult:
            return treeval_score(predictions, expected, parsed_schema, compat=compat, invented=invented, **how)

        official = _by_position(scored, answers, len(references), lost)
        strict = scored(predictions, invented, compat=False)
    except (SchemaError, JsonRefError, GoldValidationError) as error:
        raise FaultError("BAD_SPEC", str(error), side="gold") from None
    notes = [f"{count_words(len(invented), 'record')} that gold does not have"] if invented else []
    notes += [f"{n_repaired} of {count_words(len(answers), 'record')} repaired"] if n_repaired else []
    notes += [lost.reason] if lost else []
    cause = official.flip or ("records joined by id" if id_field else "values, ties or wrong containers")
    details = {**treeval_details(strict, len(references) + len(invented)), "n_repaired": n_repaired}
    score = _with_strict(official, strict.score, "; ".join([treeval_reason(strict), *notes]), details, cause=cause)
    return _with_container(score, gold, prediction)


def _by_position(scored: Callable[..., TreevalResult], answers: Sequence[Any], n: int, lost: Lost | None) -> Score:
    """Return the official part of the score, with the cause of a flip if it is known: records by position, null for lost or missing ones.

    The result is released here before the next is made, because with many records each is large.
    """
    by_position = [None if isinstance(record, Lost) else record for record in in_step(answers, n)][:n]
    try:
        official = scored([*by_position, *[None] * (n - len(by_position))], [], compat=True)
    except TreeLimitError as error:
        if error.side == "gold":
            raise
        return Score(official=0.0, reason=str(error), flip="a limit under official rules", fault=error.fault)
    raises = f"it cannot read {lost.reason}" if lost else official.reference_raises
    if raises:
        return Score(official=0.0, reason=f"the reference raises: {raises}", flip="the reference raises")
    return Score(official=min(1.0, max(0.0, official.score)), reason=treeval_reason(official))


def _pair_records(references: list[Any], answers: list[Any], id_field: str | None, schema: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Return (references, one predicted record or null for each, predicted records without a gold record).

    The id is not a field of the records, unless the schema has it.
    """
    by_id = join_by_id(references, answers, id_field) if id_field is not None else None
    if by_id is None:
        expected, predictions = pair_by_position(references, answers)
        by_id = list(zip([None] * len(expected), expected, predictions, strict=True))
    inner = [(label, *(None if side is ABSENT or isinstance(side, Lost) else side for side in sides)) for label, *sides in by_id]
    n = len(references)
    drop = id_field if id_field is not None and id_field not in schema else None

    def without_id(record: Any) -> Any:
        has_id = isinstance(record, dict) and drop in record
        return {key: value for key, value in record.items() if key != drop} if has_id else record

    predictions = [without_id(record) for _, _, record in inner]
    return [without_id(record) for record in references], predictions[:n], predictions[n:]


_CRASHES = (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError)


def _asks(parameters: Mapping[str, Any]) -> bool:
    """Return whether the schema compares a field with the `semantic` comparator."""
    schema = parameters.get("schema")
    if schema is not None and not isinstance(schema, Mapping | str | Path):
        with suppress(SchemaError):
            schema = plain_schema(schema)
    return '"semantic"' in json.dumps(schema, default=str)


def tree_match_problems(parameters: Mapping[str, Any]) -> Iterator[Problem]:
    """Return warnings for unknown keys and options of the schema; other errors are reported where the schema is used."""
    schema = parameters.get("schema")
    notices: list[Notice] = []
    if isinstance(schema, dict):
        with suppress(SchemaError, JsonRefError, TreeLimitError):
            Scoring(schema, comparators={"semantic": _asks}, notify=notices.append)
    elif schema is not None and not isinstance(schema, str | Path):
        try:
            plain_schema(schema)
        except SchemaError as error:
            yield Problem(code="BAD_SPEC", message=str(error))
    for message in _unread(notices):
        yield Problem(code="BAD_SPEC", message=message, blocks=frozenset())


def _unread(notices: Sequence[Notice]) -> list[str]:
    """Return a sentence for each unknown key and option of the schema."""
    return [f"schema at {notice.path or 'its root'}: {notice.message}" for notice in dict.fromkeys(notices) if notice.kind in UNREAD]


@scorer(reads="tree", asks=_asks, validate=tree_match_problems)
def tree_match(
    prediction: Any,
    *,
    judge: Any = None,
    gold: Any,
    schema: Any = None,
    id_field: str | None = None,
    post_process: Sequence[str | dict[str, Any]] = (),
    compounds: Sequence[dict[str, Any]] = (),
    compat: bool = False,
    repair: bool = False,
) -> Score:
    """Mean F1 over records of the fields found against the fields expected; one record, or a list of n.

    Strict is the score unless official rules are requested.
    Official: the reference's numbers, records paired by position; 0 if the prediction makes the reference raise.
    Strict: sound rules, records joined by `id_field`; a record without a partner, or a line that is not a record, is 0.

    Range: 0 to 1, higher is better. Source: Struct Extract Eval.

    Args:
        prediction: the extracted record or records, as JSON.
        judge: the judge of the `semantic` comparator; a run takes it from suite.yaml.
        gold: the expected record or records; `{"x-eval-any-of": [...]}` anywhere accepts several values.
        schema: a JSON Schema with `x-eval-*` keys, or Treeval's types: an object, its file or text, in suite.yaml also
            `python:models.py:Invoice`, in Python a Pydantic model, dataclass or TypedDict; without one it is inferred, without `id_field`.
        id_field: the key that identifies a record.
        post_process: `propagate_batch_errors`, `reclassify_nulls` or `{"reclassify_nulls": {"absent_values": [null]}}`, in order.
        compounds: fields that only count together: `{"fields": [...], "primary": ..., "name": ..., "rule": "all_equal"}`.
        compat: use the reference's numbers as the strict ones too.
        repair: accept JSON in fences or prose, or with an extra comma; the report counts such records.

    Example:
        `{"func": "tree_match", "parameters": {"gold": {"method": "CVD", "kelvin": 300}, "schema": null}}`
    """
    try:
        inspect(prediction, where="prediction")
    except TreeLimitError as error:
        return Score(official=0.0, strict=0.0, reason=str(error), fault=error.fault, strict_fault=error.fault)
    try:
        parsed_schema = as_json_schema(schema) if schema is not None else _infer(gold, widen=True, id_field=id_field)
    except (SchemaError, TreeLimitError) as error:
        raise FaultError("BAD_SPEC", str(error), side="gold") from None
    prediction, n_repaired = read_broken(prediction, repair=repair)
    expected, answers = _as_records(gold, parsed_schema), _as_records(prediction, parsed_schema)
    notices: list[Notice] = []
    run = _Run(parsed_schema, id_field, _steps(post_process), {**_semantic(parsed_schema, judge), **_compounds(compounds)}, notices.append)
    upstream = run if schema is not None else replace(run, schema=_infer(gold, widen=False))
    value, why, fault, by_record = _official(upstream, expected, answers)
    official = Score(official=value, reason=why, fault=fault)
    if compat:
        return replace(official, strict=value, strict_fault=fault, details=unit_details(by_record))
    report_official(official)
    if id_field is None or not any(isinstance(record, dict) and id_field in record for record in answers):
        expected, answers = pair_by_position(expected, answers)
    report = FieldReport(len(expected) + len(answers))
    try:
        result = run.score(expected, answers, report.add_record, compat=False)
    except TreeLimitError as error:
        strict = _at_limit(error)
        flip = "sound rules" if official.official and strict is not None else ""
        return replace(official, strict=strict, reason=why or str(error), strict_reason=str(error), strict_fault=error.fault, flip=flip)
    except (SchemaError, JsonRefError, UnknownNameError, GoldValidationError) as error:
        raise FaultError("BAD_SPEC", str(error), side="gold") from error
    details = {
        **field_details(result, report, by_record),
        "n_repaired": n_repaired,
        **({"warnings": unread} if (unread := _unread(notices)) else {}),
    }
    reason = field_reason(result, report.reason) + (
        f"; {n_repaired} of {count_words(len(answers), 'record')} repaired" if n_repaired else ""
    )
    return _with_container(_with_strict(official, result.mean_f1, reason, details), gold, prediction)


def _with_container(score: Score, gold: Any, prediction: Any) -> Score:
    """Return the score; if nothing is right and the answer has gold's fields in another container, its reasons say so."""
    if score.official or score.strict or not (other := other_container(gold, prediction)):
        return score
    strict_reason = score.strict_reason and f"{score.strict_reason}; {other}"
    return replace(score, reason=f"{score.reason}; {other}", strict_reason=strict_reason)


def _with_strict(official: Score, strict: float | None, reason: str, details: Mapping[str, Any], *, cause: str = "sound rules") -> Score:
    """Return the official part of a score with the strict value (None if a judge gave no verdict), and the `cause` if they differ."""
    value = official.official
    undecided = Fault(code="NO_VERDICT", detail=reason) if strict is None else None
    return replace(
        official,
        strict=strict,
        reason=official.reason or reason,
        strict_reason=reason,
        flip=cause if value is not None and strict is not None and abs(value - strict) > 1e-9 else "",
        fault=official.fault or (undecided if value is None else None),
        strict_fault=undecided,
        details=details,
    )


def _semantic(schema: Any, judge: Any) -> dict[str, SemanticBatchComparator]:
    """Return the `semantic` comparator with the judge, if the schema names it. Raises `FaultError` if there is no judge."""
    if not _asks({"schema": schema}):
        return {}
    from evalsuite.scorers.judge import needed, semantic_comparator

    return {"semantic": SemanticBatchComparator(semantic_comparator(needed(judge)))}


@dataclass(frozen=True, slots=True)
class _Run:
    schema: Any
    id_field: str | None
    post_process: PostProcess | None
    compounds: Mapping[str, Any]
    notify: Notify

    def score(self, gold: list[Any], answers: list[Any], each: Callable[[RecordResult], None], *, compat: bool) -> Summary:
        """Return the totals; `each` is called with every record, which is not kept.

        Raises the first fault of plugin code, because a result without that part would not be a score.
        """
        how: dict[str, Any] = {"compat": compat, "comparators": self.compounds, "notify": (lambda _: None) if compat else self.notify}
        scoring = Scoring(self.schema, self.id_field, self.post_process, **how)
        totals = Totals(compat=compat)
        with without_collection():
            for pair in scoring.join(gold, answers):
                each(scoring.record(*pair, totals))
        for fault in totals.faults:
            raise FaultError(fault.code, fault.detail, where=fault.where)
        return Summary(**totals.numbers())


def _official(run: _Run, gold: list[Any], answers: list[Any]) -> tuple[float | None, str, Fault | None, list[float | None]]:
    """Return (score, reason, fault, F1 of each record) of the reference: 0 if the prediction makes it raise, None if gold does."""
    nothing: list[float | None] = [0.0] * len(gold)
    try:
        run = replace(run, schema=_annotate(run.schema))
    except SchemaError as error:
        return None, str(error), Fault(code="BAD_SPEC", detail=str(error)), []
    by_record: list[float | None] = []
    causes: set[str] = set()

    def add(record: RecordResult) -> None:
        by_record.append(record.f1)
        causes.update(_causes(record, run.id_field))

    lost = next((record for record in answers if isinstance(record, Lost) and record.cause), None)
    if lost is not None:
        text = f"the reference cannot read {lost.reason}"
    else:
        try:
            result = run.score(gold, [record for record in answers if not isinstance(record, Lost)], add, compat=True)
        except TreeLimitError as error:
            return _at_limit(error), str(error), error.fault, nothing
        except (SchemaError, JsonRefError) as error:
            return None, str(error), Fault(code="BAD_SPEC", detail=str(error)), []
        except _CRASHES as error:
            text = _failure(error)
        else:
            return result.mean_f1, "; ".join([field_reason(result), *sorted(causes)]), None, by_record
    try:
        run.score(gold, gold, add, compat=True)
    except TreeLimitError as error:
        return None, str(error), error.fault, []
    except (*_CRASHES, SchemaError, JsonRefError) as error:
        why = str(error) if isinstance(error, SchemaError | JsonRefError) else _failure(error)
        return None, why, Fault(code="BAD_SPEC", detail=why), []
    return 0.0, text, None, nothing


def _failure(error: Exception) -> str:
    return f"the reference fails: {type(error).__name__}: {error}"[:200]


def _at_limit(error: TreeLimitError) -> float | None:
    """Return the value of an answer that cannot be compared: 0, but None if gold alone exceeds the limit."""
    return None if error.side == "gold" else 0.0


def _causes(record: RecordResult, id_field: str | None) -> Iterator[str]:
    """Yield where the reference's number of a record differs from the strict rules because of its id."""
    gold, answer = record.gold, record.extracted
    if id_field is None or not isinstance(gold, dict) or not isinstance(answer, dict):
        return
    if gold.get(id_field) != answer.get(id_field):
        yield "records are paired by position, not by id"
    if any(row.path == id_field and row.schema_path == "*" for row in record.field_results):
        yield f"the id {id_field!r} counts as invented"


def _annotate(schema: Any) -> Any:
    """Return the schema in the form that the reference requires: annotated, references resolved. Raises `SchemaError`."""
    plain = copy.deepcopy(schema)
    try:
        plain = resolve_schema_references(plain, compat=True, notify=lambda _: None)
    except (JsonRefError, RecursionError, ValueError) as error:
        raise SchemaError(f"the reference raises for this schema: {error}") from None
    return annotate_xeval(plain, compat=True)


def _infer(gold: Any, *, widen: bool, id_field: str | None = None) -> dict[str, Any]:
    """Infer the schema from gold: from the first value of a field as the reference does, or from all values.

    It is without `id_field`: the key by which records are joined is not a field to find.
    """
    records = gold if isinstance(gold, list) else [gold]
    if not records:
        raise FaultError("BAD_SPEC", "no schema can be inferred from gold: there is no record", side="gold")
    try:
        schema = infer_schema(records, widen=widen, notify=lambda _: None)
    except (SchemaError, TreeLimitError) as error:
        raise FaultError("BAD_SPEC", f"no schema can be inferred from gold: {error}", side="gold") from error
    schema.get("properties", {}).pop(id_field, None)
    return schema


def _as_records(value: Any, schema: Any) -> list[Any]:
    """Return one record as a list of one; a list is n records, unless the schema says that a record is itself a list."""
    as_list = isinstance(schema, dict) and effective_type(schema)[0] == "array"
    return value if isinstance(value, list) and not as_list else [value]


def _steps(names: Sequence[str | dict[str, Any]]) -> PostProcess | None:
    """Return the post-processors of a gold file as one function."""
    steps: list[PostProcess] = []
    for entry in names:
        name, options = (entry, {}) if isinstance(entry, str) else next(iter(entry.items()), ("", {}))
        if name == "propagate_batch_errors" and not options:
            steps.append(propagate_batch_errors)
        elif name == "reclassify_nulls" and isinstance(options, dict) and options.keys() <= {"absent_values", "both_absent_skip"}:
            steps.append(partial(reclassify_nulls, handling=NullHandling(**options)))
        elif not options and (step := post_processor(name)) is not None:
            steps.append(step)
        else:
            raise FaultError("BAD_SPEC", f"unknown post-processor {entry!r}: reclassify_nulls or propagate_batch_errors", side="gold")
    return chain(steps) if steps else None


def _compounds(entries: Sequence[dict[str, Any]]) -> dict[str, Callable[..., Any]]:
    comparators: dict[str, Callable[..., Any]] = {}
    for entry in entries:
        try:
            name = entry.get("name", "compound")
            if absent := [key for key in ("fields", "primary") if key not in entry]:
                raise ValueError(
                    f"lacks {join_names(absent)}; write {{'fields': ['value', 'unit'], 'primary': 'value', 'name': 'quantity'}}"
                )
            if name in PROTECTED:
                raise ValueError(f"{name!r} is built in and cannot be replaced")
            comparators[name] = CompoundComparator(entry["fields"], entry["primary"], name, entry.get("rule", "all_equal"))
        except (KeyError, ValueError, TypeError) as error:
            raise FaultError("BAD_SPEC", f"compound {entry!r}: {error}", side="gold") from error
    return comparators
