"""`tree_score`: compare extracted JSON with gold JSON by Treeval."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from evalsuite.core.errors import FaultError
from evalsuite.core.scorer_contract import scorer
from evalsuite.core.types import Problem, Score
from evalsuite.trees.eval_schema import JsonRefError, SchemaError, infer_schema
from evalsuite.trees.field_results import treeval_details, treeval_reason
from evalsuite.trees.json_values import ABSENT, tree_margin
from evalsuite.trees.record_scoring import GoldValidationError, Lost, join_by_id, pair_by_position, read_broken
from evalsuite.trees.treeval import TreevalResult, prepare, treeval_score
from evalsuite.trees.treeval_metrics import treeval_schema_of


def problems(parameters: Mapping[str, Any]) -> Iterator[Problem]:
    """Return problems of the parameters: an invalid schema or metrics."""
    schema = parameters.get("schema")
    if isinstance(schema, str) or schema is None:  # a file is read later, and None is inferred from gold
        return
    metrics = [parameters.get(key) for key in ("metrics", "types_metrics", "leaves_metrics")]
    try:
        prepare(treeval_schema_of(schema, parameters.get("id_field")), *metrics, exclusive=bool(parameters.get("exclusive")))
    except (ValueError, SchemaError, JsonRefError) as error:
        yield Problem(code="BAD_SPEC", message=str(error), hint="write a Treeval schema: one type name for each leaf, [x] for a list of x")


@scorer(reads="tree", validate=problems, gold_files=Any)
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
        prediction: the extracted record, or the list of n of them.
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
    answers: list[Any] = prediction if isinstance(prediction, list) and isinstance(gold, list) else [prediction]
    lost = next((record for record in answers if isinstance(record, Lost) and record.cause), None)
    how: dict[str, Any] = {"metrics": metrics, "types_metrics": types_metrics, "leaves_metrics": leaves_metrics}
    how |= {"exclusive": exclusive, "hierarchical": hierarchical}
    try:
        known = treeval_schema_of(schema if schema is not None else infer_schema(references, widen=True, notify=lambda _: None), id_field)
        expected, predictions, invented = _paired(references, answers, id_field, known)

        def scored(predictions: list[Any], invented: list[Any], *, compat: bool) -> TreevalResult:
            return treeval_score(predictions, expected, known, compat=compat, invented=invented, **how)

        value, reason, raises = _by_position(scored, answers, len(references), lost)
        strict = scored(predictions, invented, compat=False)
    except (ValueError, SchemaError, JsonRefError, GoldValidationError) as error:
        raise FaultError("BAD_SPEC", str(error), side="gold") from None
    notes = [f"{len(invented)} records that gold does not have"] if invented else []
    notes += [f"{n_repaired} of {len(answers)} records repaired"] if n_repaired else []
    notes += [lost.reason] if lost else []
    flip = ""
    if abs(value - strict.score) > 1e-9:
        flip = "the reference raises" if raises else "records joined by id" if id_field else "values, ties or wrong containers"
    return Score(
        official=value,
        strict=strict.score,
        reason=reason,
        strict_reason="; ".join([treeval_reason(strict), *notes]),
        flip=flip,
        details={
            **treeval_details(strict, len(references)),
            "n_repaired": n_repaired,
            "margin": tree_margin(prediction, gold, id_field, right=_right(strict)),
        },
    )


def _by_position(scored: Callable[..., TreevalResult], answers: Sequence[Any], n: int, lost: Lost | None) -> tuple[float, str, str]:
    """Return (value, reason, why the reference raises) under official rules: records by position, null for lost or missing ones.

    The result is released here before the next is made, because with many records each is large.
    """
    by_position = [None if isinstance(record, Lost) else record for record in answers][:n]
    official = scored([*by_position, *[None] * (n - len(by_position))], [], compat=True)
    raises = f"it cannot read {lost.reason}" if lost else official.reference_raises
    if raises:
        return 0.0, f"the reference raises: {raises}", raises
    return min(1.0, max(0.0, official.score)), treeval_reason(official), ""


def _right(result: TreevalResult) -> Iterator[tuple[Any, Any]]:
    """Yield (gold, predicted) of each right leaf."""
    return ((row.expected, row.got) for row in result.rows if row.status == "match" and row.score == 1)


def _paired(references: list[Any], answers: list[Any], id_field: str | None, schema: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Return (references, one predicted record or null for each, predicted records without a gold record).

    The id is not a field of the records, unless the schema has it.
    """
    joined = join_by_id(references, answers, id_field) if id_field is not None else None
    if joined is None:
        expected, predictions = pair_by_position(references, answers)
        joined = list(zip([None] * len(expected), expected, predictions, strict=True))
    inner = [(label, *(None if side is ABSENT or isinstance(side, Lost) else side for side in sides)) for label, *sides in joined]
    n = len(references)
    drop = id_field if id_field is not None and id_field not in schema else None

    def without_id(record: Any) -> Any:
        named = isinstance(record, dict) and drop in record
        return {key: value for key, value in record.items() if key != drop} if named else record

    predictions = [without_id(found) for _, _, found in inner]
    return [without_id(record) for record in references], predictions[:n], predictions[n:]
