"""Post-processors change the rows of a record after scoring, before anything is counted: rows -> rows."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from evalsuite.trees.results import FieldResult
from evalsuite.trees.values import loosely_same

PostProcess = Callable[[list[FieldResult]], list[FieldResult]]


@dataclass(frozen=True, slots=True)
class NullHandling:
    """Which values stand for nothing, and whether a field that is nothing on both sides is skipped or a match."""

    absent_values: list[Any] = field(default_factory=lambda: [None])
    both_absent_skip: bool = True


def reclassify_nulls(rows: list[FieldResult], handling: NullHandling | None = None) -> list[FieldResult]:
    """The same rows, in place: null expected and a value found is a hallucination, a value expected and null found an omission.

    For extractors that must fill every field. Containers are judged by their values,
    but in a compat run, whose container rows have no compared values and so count as null on both sides.
    """
    handling = handling or NullHandling()
    for row in rows:
        if row.status in ("match", "mismatch", "pending"):
            _reclassify(row, handling)
    return rows


def _reclassify(row: FieldResult, handling: NullHandling) -> None:
    values = row.gold_compared, row.extracted_compared
    gold_absent, extracted_absent = (
        any(value is absent or loosely_same(value, absent) for absent in handling.absent_values) for value in values
    )
    if gold_absent and extracted_absent:
        if handling.both_absent_skip:
            row.status, row.score, row.reason = "skipped", 0.0, "both absent"
        else:
            row.status, row.score, row.reason = "match", 1.0, "both absent (counted as match)"
    elif gold_absent:
        row.status, row.score, row.reason = "hallucination", 0.0, "gold is absent"
    elif extracted_absent:
        row.status, row.score, row.reason = "omission", 0.0, "extracted is absent"


def propagate_batch_errors(rows: list[FieldResult]) -> list[FieldResult]:
    """The same rows, in place: where a comparator failed on one field of a record, none of its verdicts there count."""
    tainted = {row.comparator for row in rows if row.status == "batch_error"}
    for row in rows:
        if row.comparator in tainted and row.status not in ("omission", "hallucination"):
            row.status, row.score = "batch_error", 0.0
            row.reason = f"batch tainted: comparator '{row.comparator}' had errors in this record — all its results are excluded"
    return rows


def chain(steps: list[PostProcess]) -> PostProcess:
    """One post-processor that applies several in order."""

    def apply(rows: list[FieldResult]) -> list[FieldResult]:
        for step in steps:
            rows = step(rows)
        return rows

    return apply
