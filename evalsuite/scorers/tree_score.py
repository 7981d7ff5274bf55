"""`tree_score`: extracted JSON against gold JSON by Treeval."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalsuite.errors import FaultError
from evalsuite.registry import scorer
from evalsuite.trees.score_details import treeval_details, treeval_reason
from evalsuite.trees.treeval import TreevalResult, prepare, treeval_score
from evalsuite.types import Problem, Score


def problems(parameters: Mapping[str, Any]) -> Iterator[Problem]:
    """What keeps the parameters from being judged: a schema or metrics that cannot be used."""
    schema = parameters.get("schema")
    if isinstance(schema, str) or schema is None:  # a file is read later
        return
    try:
        prepare(
            schema, None, parameters.get("types_metrics"), parameters.get("leaves_metrics"), exclusive=bool(parameters.get("exclusive"))
        )
    except ValueError as error:
        yield Problem(code="BAD_SPEC", message=str(error), hint="write a Treeval schema: one type name for each leaf, [x] for a list of x")


@scorer(reads="tree", validate=problems, gold_files=Any)
def tree_score(
    prediction: Any,
    *,
    gold: Any,
    schema: Any,
    types_metrics: dict[str, str | list[str]] | None = None,
    leaves_metrics: dict[str, Any] | None = None,
    exclusive: bool = False,
    hierarchical: bool = False,
) -> Score:
    """How well extracted JSON follows gold: the mean of the leaf metrics times the F1 of nodes times the F1 of leaves (Treeval).

    One record, or n records of a JSONL as one batch. Lists have no order. Official: the reference's numbers, 0 where it raises.
    Strict: any JSON is scored by the same rules, whatever its shape; this is the score to read.

    Args:
        prediction: the extracted record, or the list of n of them.
        gold: the expected record, or the list of n of them.
        schema: leaf types (string, integer, number, boolean, or your own), [a, b] for a choice, [type] for a list of it.
        types_metrics: leaf type -> metric or metrics, over exact_match, boolean_accuracy and levenshtein; a choice is "()".
        leaves_metrics: metrics for single leaves, in the schema's shape.
        exclusive: whether those replace the type's metrics instead of adding to them.
        hierarchical: whether each branch counts as one value beside the leaves next to it.

    Example:
        `{"func": "tree_score", "parameters": {"gold": {"total": 12}, "schema": {"total": "integer"}}}`
    """
    references: list[Any] = gold if isinstance(gold, list) else [gold]
    predictions, surplus = _in_step(prediction, references, batch=isinstance(gold, list))

    def scored(*, compat: bool) -> TreevalResult:
        return treeval_score(
            predictions,
            references,
            schema,
            types_metrics=types_metrics,
            leaves_metrics=leaves_metrics,
            exclusive=exclusive,
            hierarchical=hierarchical,
            compat=compat,
        )

    try:
        strict, official = scored(compat=False), scored(compat=True)
    except ValueError as error:
        raise FaultError("BAD_SPEC", str(error)) from None
    return _verdict(official, strict, surplus)


def _in_step(prediction: Any, references: Sequence[Any], *, batch: bool) -> tuple[list[Any], int]:
    """(one predicted record for each reference, null where there is none; the number of records too many)."""
    if not batch:
        return [prediction], 0
    records = prediction if isinstance(prediction, list) else [prediction]
    missing = max(0, len(references) - len(records))
    return records[: len(references)] + [None] * missing, max(0, len(records) - len(references))


def _verdict(official: TreevalResult, strict: TreevalResult, surplus: int) -> Score:
    value = 0.0 if official.reference_raises else min(1.0, max(0.0, official.score))
    reason = f"the reference raises: {official.reference_raises}" if official.reference_raises else treeval_reason(official)
    more = f"; {surplus} records more than gold has are left out" if surplus else ""
    flip = ""
    if abs(value - strict.score) > 1e-9:
        flip = "the reference raises" if official.reference_raises else "ties or wrong containers"
    return Score(
        official=value,
        strict=strict.score,
        reason=reason + more,
        strict_reason=treeval_reason(strict) + more,
        flip=flip,
        details=treeval_details(strict),
    )
