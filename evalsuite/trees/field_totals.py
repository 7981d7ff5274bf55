"""Aggregate rows: post-processors change a record's rows, tallies count them, totals combine the records."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import fsum
from statistics import mean
from typing import Any

from evalsuite.core.types import Fault
from evalsuite.trees.field_results import COLUMNS, STATUSES, Average, FieldResult, PathScore, RecordResult, RunResult, Summary
from evalsuite.trees.json_values import loosely_same

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


@dataclass(slots=True)
class Tally:
    """Weighted sums over rows: the scores reached, fields on both sides, omissions, hallucinations."""

    scored: float = 0.0
    both: float = 0.0
    omitted: float = 0.0
    invented: float = 0.0

    @property
    def weight(self) -> float:
        """The weight of all rows that count, fields on both sides twice: what F1 divides by."""
        return 2 * self.both + self.omitted + self.invented

    @property
    def precision(self) -> float:
        """Of what was extracted, the share that is right; 1.0 where nothing was."""
        found = self.both + self.invented
        return self.scored / found if found else 1.0

    @property
    def recall(self) -> float:
        """Of what gold expects, the share that was found; 1.0 where it expects nothing."""
        expected = self.both + self.omitted
        return self.scored / expected if expected else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both; 1.0 where no row counts."""
        if not self.weight:
            return 1.0
        precision, recall = self.precision, self.recall
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def tally(rows: Iterable[FieldResult]) -> Tally:
    """The tally of some rows, summed without rounding, so that their order moves nothing."""
    scored: list[float] = []
    both: list[float] = []
    omitted: list[float] = []
    invented: list[float] = []
    for row in rows:
        status = row.status
        if status == "match":
            scored.append(row.weight if row.score == 1 else row.score * row.weight)
            both.append(row.weight)
        elif status == "mismatch":
            if row.score:
                scored.append(row.score * row.weight)
            both.append(row.weight)
        elif status == "omission":
            omitted.append(row.weight)
        elif status == "hallucination":
            invented.append(row.weight)
    return Tally(fsum(scored), fsum(both), fsum(omitted), fsum(invented))


Metrics = tuple[float | None, float | None, float | None]
UNDECIDED: Metrics = (None, None, None)


class PathTotals:
    """One schema path: the number of rows of each status, and their scores summed without rounding; `weight` is that of one row."""

    __slots__ = ("n_full", "numbers", "partial", "weight")

    def __init__(self) -> None:
        self.numbers = dict.fromkeys(COLUMNS, 0)
        self.n_full = 0
        self.partial: list[float] = []
        self.weight = 1.0

    def add_partial(self, score: float) -> None:
        """Add a score below 1, keeping what rounding would lose (Shewchuk's partial sums)."""
        kept = []
        for part in self.partial:
            small, large = sorted((score, part), key=abs)
            score = small + large
            if lost := small - (score - large):
                kept.append(lost)
        self.partial = [*kept, score]

    def tally(self) -> Tally:
        """The sums of its rows, each weighing 1."""
        both = self.numbers["match"] + self.numbers["mismatch"]
        return Tally(fsum([self.n_full, *self.partial]), both, self.numbers["omission"], self.numbers["hallucination"])

    def score(self) -> PathScore:
        """Precision, recall and F1 with the counts behind them."""
        columns = {COLUMNS[status]: n for status, n in self.numbers.items()}
        sums = self.tally()
        return PathScore(precision=sums.precision, recall=sums.recall, f1=sums.f1, **columns)


class Totals:
    """Running totals over records; memory grows with the number of schema paths, and by three numbers a record."""

    def __init__(self, *, compat: bool = False) -> None:
        self.compat = compat
        self.values: tuple[list[float], list[float], list[float]] = ([], [], [])
        self.n_records = self.n_undecided = self.n_batch_errors = self.n_errors = 0
        self.faults: dict[Fault, None] = {}
        self.paths: dict[str, PathTotals] = {}

    def add(self, rows: Sequence[FieldResult], *, failed: bool = False, undecided: bool = False) -> Metrics:
        """Count one record and give its precision, recall and F1.

        They are 0 where the record has `failed` as a whole, and None where it is `undecided` or where a judge's outage left nothing to
        count (1.0 in compat mode).

        Raises:
            KeyError: a row's status is none that there is.
        """
        counts, n_errors = self.count(rows)
        self.n_records += 1
        self.n_batch_errors += n_errors
        if undecided:
            self.n_undecided += 1
            return UNDECIDED
        if failed:
            metrics: Metrics = (0.0, 0.0, 0.0)
        elif n_errors and not counts.weight and not self.compat:
            self.n_undecided += 1
            return UNDECIDED
        else:
            metrics = counts.precision, counts.recall, counts.f1
        for values, value in zip(self.values, metrics, strict=True):
            values.append(value or 0.0)
        return metrics

    def count(self, rows: Sequence[FieldResult]) -> tuple[Tally, int]:
        """Count rows by schema path; the record's own tally, and the number of batch errors."""
        n_errors = 0
        paths = self.paths
        for row in rows:
            status = row.status
            if status not in COLUMNS:
                if status == "batch_error":
                    n_errors += 1
                elif status == "error":
                    self.n_errors += 1
                elif status not in STATUSES:
                    raise KeyError(status)
                continue
            known = paths.get(row.schema_path)
            if known is None:
                known = paths[row.schema_path] = PathTotals()
            known.numbers[status] += 1
            known.weight = row.weight
            if status == "match" or status == "mismatch":
                if row.score == 1:
                    known.n_full += 1
                elif row.score:
                    known.add_partial(row.score)
        return tally(rows), n_errors

    def micro(self) -> Tally:
        """All rows pooled."""
        sums = [(path.weight, path.tally()) for path in self.paths.values()]
        return Tally(*(fsum(weight * getattr(one, name) for weight, one in sums) for name in ("scored", "both", "omitted", "invented")))

    def numbers(self) -> dict[str, Any]:
        """The fields of a `Summary`."""
        precision, recall, f1 = (self.mean(values) for values in self.values)
        counts = {status: sum(path.numbers[status] for path in self.paths.values()) for status in COLUMNS}
        decided = sum(counts.values())
        asked = decided + self.n_batch_errors + self.n_errors
        paths = {path: known.score() for path, known in self.paths.items()}
        micro = self.micro()
        return {
            "mean_precision": precision,
            "mean_recall": recall,
            "mean_f1": f1,
            "total_records": self.n_records,
            "total_fields": decided,
            "total_omissions": counts["omission"],
            "total_hallucinations": counts["hallucination"],
            "total_batch_errors": self.n_batch_errors,
            "undecided_records": self.n_undecided,
            "coverage": decided / asked if asked else 1.0,
            "micro": self.average([(micro.precision, micro.recall, micro.f1)]),
            "macro": self.average([(score.precision, score.recall, score.f1) for score in paths.values()]),
            "per_schema_path": paths,
            "faults": list(self.faults),
        }

    def mean(self, values: list[float]) -> float | None:
        """The mean over records; 1.0 without any, None where none is decided."""
        if values:
            return mean(values)
        return None if self.n_undecided else 1.0

    def average(self, triples: list[tuple[float, float, float]]) -> Average:
        """The plain mean of precision, recall and F1 each."""
        if self.n_records and self.n_undecided == self.n_records:
            return Average(precision=None, recall=None, f1=None)
        columns = list(zip(*triples, strict=True)) or [(1.0,), (1.0,), (1.0,)]
        return Average(precision=mean(columns[0]), recall=mean(columns[1]), f1=mean(columns[2]))

    def summary(self) -> Summary:
        """The summary without rows."""
        return Summary(**self.numbers())

    def result(self, records: list[RecordResult]) -> RunResult:
        """The summary with all records."""
        return RunResult(**self.numbers(), records=records)
