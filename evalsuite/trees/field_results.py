"""Results of comparing extracted records with gold: rows, records, aggregates and notices."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

from evalsuite.core.types import Fault

LOG = logging.getLogger(__name__)


class Notice(NamedTuple):
    """A remark on a schema or on gold; `kind` is a stable word, `path` the place."""

    kind: str
    path: str
    message: str


Notify = Callable[[Notice], None]


def log_notice(notice: Notice) -> None:
    """Write a notice to the log of this room."""
    LOG.warning("%s: %s", notice.path or "<root>", notice.message)


RowStatus = Literal["match", "mismatch", "omission", "hallucination", "skipped", "pending", "batch_error", "error"]
STATUSES: tuple[RowStatus, ...] = ("match", "mismatch", "omission", "hallucination", "skipped", "pending", "batch_error", "error")

COLUMNS = {"match": "matches", "mismatch": "mismatches", "omission": "omissions", "hallucination": "hallucinations"}


@dataclass(frozen=True, slots=True)
class ComparatorResult:
    """What a comparator returns: a score in [0, 1], its name, a reason, and whether the field counts at all."""

    score: float
    comparator: str = ""
    reason: str | None = None
    skip: bool = False


@dataclass(slots=True)
class FieldResult:
    """One row: what was expected at a path, what was found, and what came of it.

    `path` is the instance path with gold's index (`steps[2].n`; -1, -2, ... for elements that gold lacks), `schema_path` the same with
    indexes folded (`steps[].n`), `aligned` the index in the extracted list for each `[]` (None where gold's element has no partner).
    `gold_compared` and `extracted_compared` are the values after transforms, `params` the comparator's parameters while a row waits for
    a batch.
    """

    path: str
    score: float
    comparator: str
    gold_value: Any = None
    extracted_value: Any = None
    status: RowStatus = "pending"
    reason: str | None = None
    gold_compared: Any = None
    extracted_compared: Any = None
    schema_path: str = ""
    aligned: tuple[int | None, ...] = ()
    weight: float = 1.0
    name: str = ""
    params: Mapping[str, Any] | None = None

    @property
    def expected_path(self) -> str | None:
        """The path in gold, None for what gold lacks."""
        return None if self.status == "hallucination" else self.path

    @property
    def found_path(self) -> str | None:
        """The path in the extracted record, None for what it lacks: `schema_path` with the aligned indexes filled in."""
        if self.status == "omission" or None in self.aligned:
            return None
        parts = self.schema_path.split("[]", len(self.aligned))
        filled = [f"{part}[{index}]" for part, index in zip(parts, self.aligned, strict=False)]
        return "".join([*filled, *parts[len(filled) :]])


@dataclass(slots=True)
class RecordResult:
    """One record: its rows and its precision, recall and F1.

    They are None where a judge's outage left nothing to count, and where somebody's comparator, transform or post-processor failed.
    `reason` says so, or why a record is worth 0 as a whole: no prediction, or a required field missing.
    """

    record_id: Any
    field_results: list[FieldResult]
    gold: Any
    extracted: Any
    precision: float | None
    recall: float | None
    f1: float | None
    reason: str = ""


@dataclass(slots=True)
class FieldAggregation:
    """One instance path over all records; omissions and hallucinations count 0 in the mean."""

    mean_score: float = 0.0
    matches: int = 0
    mismatches: int = 0
    omissions: int = 0
    hallucinations: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PathScore:
    """One schema path (indexes folded) over all records: precision, recall and F1, and the counts behind them."""

    precision: float
    recall: float
    f1: float
    matches: int
    mismatches: int
    omissions: int
    hallucinations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Average:
    """Precision, recall and F1 of one way to average; None where nothing was decided."""

    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(kw_only=True)
class Summary:
    """The numbers of a run: means over records, micro (all rows pooled) and macro (mean over schema paths), totals and coverage.

    `coverage` is decided / (decided + batch_error + error), 1.0 where all was decided. `mean_*` are over the decided records, None where
    there is none. `faults` are what somebody else's code failed with: numbers beside them are of a part only.
    """

    mean_precision: float | None
    mean_recall: float | None
    mean_f1: float | None
    total_records: int
    total_fields: int
    total_omissions: int
    total_hallucinations: int
    total_batch_errors: int
    undecided_records: int
    coverage: float
    micro: Average
    macro: Average
    per_schema_path: dict[str, PathScore] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)


@dataclass(kw_only=True)
class RunResult(Summary):
    """A summary with every record and row."""

    records: list[RecordResult] = field(default_factory=list)

    @cached_property
    def per_field(self) -> dict[str, FieldAggregation]:
        """Instance path (`steps[0].n`) -> its rows over all records, in order of first sight; made when it is asked for."""
        found: dict[str, FieldAggregation] = {}
        for record in self.records:
            for row in record.field_results:
                column = COLUMNS.get(row.status)
                if column is None:
                    continue
                entry = found.get(row.path)
                if entry is None:
                    entry = found[row.path] = FieldAggregation()
                setattr(entry, column, getattr(entry, column) + 1)
                if column in ("matches", "mismatches"):
                    entry.mean_score += row.score
        for entry in found.values():
            entry.mean_score /= entry.matches + entry.mismatches + entry.omissions + entry.hallucinations
        return found
