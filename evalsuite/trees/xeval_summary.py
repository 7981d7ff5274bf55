"""The numbers of a run: records are counted one by one, so that a run of any length needs the memory of its schema."""

from collections.abc import Sequence
from statistics import mean
from typing import Any

from evalsuite.trees.results import COLUMNS, STATUSES, Average, FieldResult, PathScore, RecordResult, RunResult, Summary
from evalsuite.trees.tally import Tally
from evalsuite.types import Fault

Metrics = tuple[float | None, float | None, float | None]
UNDECIDED: Metrics = (None, None, None)


class PathTotals:
    """One schema path: weighted sums, and the number of rows of each status."""

    __slots__ = ("counts", "numbers")

    def __init__(self) -> None:
        self.counts = Tally()
        self.numbers = dict.fromkeys(COLUMNS, 0)

    def score(self) -> PathScore:
        """Precision, recall and F1 with the counts behind them."""
        columns = {COLUMNS[status]: n for status, n in self.numbers.items()}
        return PathScore(precision=self.counts.precision, recall=self.counts.recall, f1=self.counts.f1, **columns)


class Totals:
    """Running totals over records; memory grows with the number of schema paths, and by three numbers a record."""

    def __init__(self, *, compat: bool = False) -> None:
        self.compat = compat
        self.values: tuple[list[float], list[float], list[float]] = ([], [], [])
        self.n_records = self.n_undecided = self.n_batch_errors = self.n_errors = 0
        self.faults: dict[Fault, None] = {}
        self.all = Tally()
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
        self.all.merge(counts)
        if undecided:
            self.n_undecided += 1
            return UNDECIDED
        if failed:
            metrics: Metrics = (0.0, 0.0, 0.0)
        elif n_errors and not counts.total and not self.compat:
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
        scored = both = omitted = invented = 0.0
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
            path, weight = row.schema_path, row.weight
            known = paths[path] if path in paths else paths.setdefault(path, PathTotals())
            known.numbers[status] += 1
            if status == "omission":
                omitted += weight
                known.counts.omitted += weight
            elif status == "hallucination":
                invented += weight
                known.counts.invented += weight
            else:
                score = row.score * weight
                scored += score
                both += weight
                known.counts.scored += score
                known.counts.both += weight
        return Tally(scored, both, omitted, invented), n_errors

    def numbers(self) -> dict[str, Any]:
        """The fields of a `Summary`."""
        precision, recall, f1 = (self.mean(values) for values in self.values)
        counts = {status: sum(path.numbers[status] for path in self.paths.values()) for status in COLUMNS}
        decided = sum(counts.values())
        asked = decided + self.n_batch_errors + self.n_errors
        paths = {path: known.score() for path, known in self.paths.items()}
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
            "micro": self.average([(self.all.precision, self.all.recall, self.all.f1)]),
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
