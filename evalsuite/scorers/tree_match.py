"""`tree_match`: extracted JSON records against gold records, field by field along a schema."""

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalsuite.errors import FaultError
from evalsuite.registry import scorer
from evalsuite.trees.batch_comparators import CompoundComparator
from evalsuite.trees.comparators import PROTECTED
from evalsuite.trees.eval_schema import SchemaError, effective_type
from evalsuite.trees.field_results import Notice, PathScore, RunResult
from evalsuite.trees.field_totals import NullHandling, PostProcess, chain, propagate_batch_errors, reclassify_nulls
from evalsuite.trees.gold_validation import GoldValidationError
from evalsuite.trees.json_values import TreeLimitError, inspect
from evalsuite.trees.registries import UnknownNameError
from evalsuite.trees.resolve_compat import JsonRefError
from evalsuite.trees.schema_sources import as_json_schema, infer_schema
from evalsuite.trees.scoring import evaluate, rows_of
from evalsuite.trees.semantic_judges import SemanticBatchComparator
from evalsuite.types import Fault, Score

MAX_FIELDS = 100
N_WORST = 5
N_ROWS = 20
N_CONFUSIONS = 10
_CONFUSED = ("mismatch", "omission", "hallucination")
LONGEST_TEXT = 200
_CRASHES = (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError)


def _asks(parameters: Mapping[str, Any]) -> bool:
    """Whether the schema compares a field with the `semantic` comparator."""
    return '"semantic"' in json.dumps(parameters.get("schema"), default=str)


@scorer(reads="tree", asks=_asks)
def tree_match(
    prediction: Any,
    *,
    judge: Any = None,
    gold: Any,
    schema: dict[str, Any] | str | None = None,
    id_field: str | None = None,
    post_process: Sequence[str | dict[str, Any]] = (),
    compounds: Sequence[dict[str, Any]] = (),
    compat: bool = False,
) -> Score:
    """Mean F1 over records of the fields found against the fields expected; one record, or a list of n.

    Strict is the score unless official rules are asked for.
    Official: the reference's numbers, records paired by position; 0 where the prediction makes the reference crash.
    Strict: sound rules, records joined by `id_field`, a record without a partner is 0.

    Args:
        prediction: the extracted record or records, as JSON.
        judge: what the `semantic` comparator asks; a run makes it out of suite.yaml.
        gold: the expected record or records; `{"x-eval-any-of": [...]}` anywhere accepts several values.
        schema: a JSON Schema with `x-eval-*` keys; without one it is inferred from gold, `id_field` left out.
        id_field: the key that names a record.
        post_process: `propagate_batch_errors`, `reclassify_nulls` or `{"reclassify_nulls": {"absent_values": [null]}}`, in order.
        compounds: fields that only count together: `{"fields": [...], "primary": ..., "name": ..., "rule": "all_equal"}`.
        compat: take the reference's numbers as the strict ones too.

    Example:
        `{"func": "tree_match", "parameters": {"gold": {"method": "CVD", "kelvin": 300}, "schema": null}}`
    """
    try:
        inspect(prediction, where="prediction")
    except TreeLimitError as error:
        limit = Fault(code="LIMIT", detail=str(error))
        return Score(official=0.0, strict=0.0, reason=str(error), fault=limit, strict_fault=limit)
    known = schema if schema is not None else _without(id_field, _inferred(gold, widen=True))
    expected, found = _records(gold, known), _records(prediction, known)
    run = _Run(known, id_field, _steps(post_process), {**_semantic(known, judge), **_compounds(compounds)})
    upstream = run if schema is not None else replace(run, schema=_inferred(gold, widen=False))
    official, why, fault = _official(upstream, expected, found)
    if compat:
        return Score(official=official, strict=official, reason=why, fault=fault, strict_fault=fault)
    try:
        result = run.score(expected, found, compat=False)
    except TreeLimitError as error:
        limit = Fault(code="LIMIT", detail=str(error))
        return Score(official=official, strict=0.0, reason=why or str(error), strict_reason=str(error), fault=fault, strict_fault=limit)
    except (SchemaError, JsonRefError, UnknownNameError, GoldValidationError) as error:
        raise FaultError("BAD_SPEC", str(error), side="gold") from error
    except ValueError as error:
        if len(expected) == len(found):
            raise
        return Score(official=official, strict=0.0, reason=why or str(error), strict_reason=str(error), fault=fault)
    strict_reason = _reason(result)
    flip = "sound rules" if official is not None and result.mean_f1 is not None and abs(official - result.mean_f1) > 1e-9 else ""
    undecided = Fault(code="NO_VERDICT", detail=strict_reason) if result.mean_f1 is None else None
    return Score(
        official=official,
        strict=result.mean_f1,
        reason=why or strict_reason,
        strict_reason=strict_reason,
        flip=flip,
        fault=fault or (undecided if official is None else None),
        strict_fault=undecided,
        details=_details(result),
    )


def _semantic(schema: Any, judge: Any) -> dict[str, SemanticBatchComparator]:
    """The `semantic` comparator over the judge, where the schema names it. Raises `FaultError` where there is none to ask."""
    if not _asks({"schema": schema}):
        return {}
    from evalsuite.judge import needed, semantic_comparator

    return {"semantic": SemanticBatchComparator(semantic_comparator(needed(judge)))}


@dataclass(frozen=True, slots=True)
class _Run:
    schema: Any
    id_field: str | None
    post_process: PostProcess | None
    compounds: Mapping[str, Any]

    def score(self, gold: list[Any], found: list[Any], *, compat: bool) -> RunResult:
        """The result; raises the first fault of somebody else's code: what is left without it is no score."""
        result = evaluate(gold, found, self.schema, self.id_field, self.post_process, compat=compat, comparators=self.compounds)
        for fault in result.faults:
            raise FaultError(fault.code, fault.detail, where=fault.where)
        return result


def _official(run: _Run, gold: list[Any], found: list[Any]) -> tuple[float | None, str, Fault | None]:
    """(score, why, fault) of the reference: 0 where the prediction makes it crash, None where gold or the schema does."""
    run = replace(run, schema=_annotated(run.schema))
    try:
        return run.score(gold, found, compat=True).mean_f1, "", None
    except TreeLimitError as error:
        return 0.0, str(error), Fault(code="LIMIT", detail=str(error))
    except (SchemaError, JsonRefError) as error:
        return None, str(error), Fault(code="BAD_SPEC", detail=str(error))
    except _CRASHES as error:
        text = f"the reference fails: {type(error).__name__}: {error}"[:200]
    try:
        run.score(gold, gold, compat=True)
    except _CRASHES:
        return None, text, Fault(code="BAD_SPEC", detail=text)
    return 0.0, text, None


def _annotated(schema: Any) -> Any:
    """The schema as one has to hand it to the reference: annotated, references resolved."""
    from evalsuite.trees.resolve import needs_resolving, resolve_schema_references
    from evalsuite.trees.schema_sources import annotate_xeval

    plain = as_json_schema(schema)
    if not isinstance(plain, dict):
        return plain
    try:
        if needs_resolving(plain):
            plain = resolve_schema_references(plain, compat=True, notify=_quiet)
    except (JsonRefError, RecursionError, ValueError):
        return plain  # what upstream cannot resolve it cannot parse either: the run says so
    return annotate_xeval(plain, compat=True)


def _inferred(gold: Any, *, widen: bool) -> dict[str, Any]:
    """The schema that gold shows: by the first value of a field as upstream does, or by all of them."""
    records = gold if isinstance(gold, list) else [gold]
    try:
        return infer_schema(records, widen=widen, notify=_quiet)
    except (ValueError, TreeLimitError) as error:
        raise FaultError("BAD_SPEC", f"no schema can be inferred from gold: {error}", side="gold") from error


def _without(id_field: str | None, schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without the id, in place: what records are joined by is no field that can be found or missed."""
    schema.get("properties", {}).pop(id_field, None)
    return schema


def _quiet(notice: Notice) -> None:
    """Remarks on gold belong to `evalsuite schema`, not to each answer."""


def _records(value: Any, schema: Any) -> list[Any]:
    """One record as a list of one; a list is n records, unless the schema says that a record is itself a list."""
    as_list = isinstance(schema, dict) and effective_type(schema)[0] == "array"
    return value if isinstance(value, list) and not as_list else [value]


def _steps(names: Sequence[str | dict[str, Any]]) -> PostProcess | None:
    """The post-processors of a gold file as one."""
    steps: list[PostProcess] = []
    for entry in names:
        name, options = (entry, {}) if isinstance(entry, str) else next(iter(entry.items()), ("", {}))
        if name == "propagate_batch_errors" and not options:
            steps.append(propagate_batch_errors)
        elif name == "reclassify_nulls" and isinstance(options, dict) and options.keys() <= {"absent_values", "both_absent_skip"}:
            steps.append(_null_step(NullHandling(**options)))
        else:
            raise FaultError("BAD_SPEC", f"unknown post-processor {entry!r}: reclassify_nulls or propagate_batch_errors", side="gold")
    return chain(steps) if steps else None


def _null_step(handling: NullHandling) -> PostProcess:
    return lambda rows: reclassify_nulls(rows, handling)


def _compounds(entries: Sequence[dict[str, Any]]) -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for entry in entries:
        try:
            name = entry.get("name", "compound")
            if name in PROTECTED:
                raise ValueError(f"{name!r} is built in and cannot be replaced")
            found[name] = CompoundComparator(entry["fields"], entry["primary"], name, entry.get("rule", "all_equal"))
        except (KeyError, ValueError, TypeError) as error:
            raise FaultError("BAD_SPEC", f"compound {entry!r}: {error}", side="gold") from error
    return found


def _reason(result: RunResult) -> str:
    """One sentence: what is wrong most, or that all is right."""
    if result.mean_f1 is None:
        return f"undecided: no verdict from the judge on any of {result.total_batch_errors} fields"
    if result.mean_f1 == 1:
        return f"all {result.total_fields} fields right"
    worst = ", ".join(f"{path or '(root)'} {score.f1:.2f}" for path, score in _worst(result)[:N_WORST] if score.f1 < 1)
    failed = next((record.reason for record in result.records if record.reason), "")
    return "; ".join(filter(None, (failed, f"worst fields by F1: {worst}" if worst else "")))


def _worst(result: RunResult) -> list[tuple[str, PathScore]]:
    return sorted(result.per_schema_path.items(), key=lambda entry: (entry[1].f1, entry[0]))


def _details(result: RunResult) -> dict[str, Any]:
    """Numbers, the fields worst first (at most 100) and the first rows that are not right (at most 20)."""
    fields = [
        {
            "path": path,
            "precision": score.precision,
            "recall": score.recall,
            "f1": score.f1,
            "matches": score.matches,
            "mismatches": score.mismatches,
            "omissions": score.omissions,
            "hallucinations": score.hallucinations,
        }
        for path, score in _worst(result)
    ]
    wrong = [row for row in rows_of(result) if row["status"] not in ("match", "skipped")]
    return {
        "precision": result.mean_precision,
        "recall": result.mean_recall,
        "f1": result.mean_f1,
        "micro_f1": result.micro.f1,
        "macro_f1": result.macro.f1,
        "coverage": result.coverage,
        "n_records": result.total_records,
        "n_rows": sum(len(record.field_results) for record in result.records),
        "n_fields": len(fields),
        "fields": fields[:MAX_FIELDS],
        "records": [
            {"record": _short(r.record_id), "precision": r.precision, "recall": r.recall, "f1": r.f1} for r in result.records[:MAX_FIELDS]
        ],
        "confusions": _confusions(wrong),
        "n_wrong": len(wrong),
        "wrong": [_shown(row) for row in wrong[:N_ROWS]],
    }


def _confusions(wrong: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was taken for what, the commonest first (at most 10); elements of lists are pooled."""
    rows = [(row["schema_path"], row["status"], _short(row["expected"]), _short(row["got"])) for row in wrong if row["status"] in _CONFUSED]
    counts = Counter(map(repr, rows))
    first = {repr(row): row for row in reversed(rows)}
    return [dict(zip(("path", "status", "expected", "got"), first[key], strict=True), n=n) for key, n in counts.most_common(N_CONFUSIONS)]


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """A row for a report: JSON-safe, texts and containers cut to 200 characters."""
    return {key: _short(value) for key, value in row.items()}


def _short(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if value is None or isinstance(value, bool | int):
        return value
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
