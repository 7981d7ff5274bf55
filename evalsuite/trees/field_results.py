"""Results of comparing records with gold: rows, post-processors, tallies, totals over records, and the reason and details of a score."""

import dataclasses
import logging
import math
import re
from array import array
from ast import literal_eval
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from heapq import nsmallest
from itertools import islice
from math import fsum
from operator import attrgetter
from statistics import mean
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from msgspec import NODEFAULT, Struct, structs

from evalsuite.core.dataclasses import dataclass, field
from evalsuite.core.scores import Fault
from evalsuite.stats.units import unit_details
from evalsuite.trees.json_values import Margin, are_loosely_equal, json_name

if TYPE_CHECKING:
    from evalsuite.trees.treeval import TreevalResult


LOG = logging.getLogger(__name__)


class Notice(NamedTuple):
    """A remark on a schema or on gold; `kind` is a stable word, `path` the place."""

    kind: str
    path: str
    message: str


Notify = Callable[[Notice], None]


def log_notice(notice: Notice) -> None:
    """Write a notice to the log of this module."""
    LOG.warning("%s: %s", notice.path or "<root>", notice.message)


RowStatus = Literal["match", "mismatch", "omission", "hallucination", "skipped", "pending", "batch_error", "error"]
STATUSES: tuple[RowStatus, ...] = ("match", "mismatch", "omission", "hallucination", "skipped", "pending", "batch_error", "error")

_PAIRED = frozenset({"match", "mismatch"})
COLUMNS = {"match": "matches", "mismatch": "mismatches", "omission": "omissions", "hallucination": "hallucinations"}


@dataclass(frozen=True, slots=True)
class ComparatorResult:
    """The verdict of a comparator on one field.

    Attributes:
        score: in [0, 1]; 1 is right.
        comparator: the name of the comparator.
        reason: one sentence that explains the score, or None.
        skip: whether the field is left out of all numbers.
    """

    score: float
    comparator: str = ""
    reason: str | None = None
    skip: bool = False


class _DataclassFields:
    """The fields of a Struct as those of a dataclass, so that `replace`, `asdict` and `fields` of the standard library take it."""

    def __get__(self, _: object, owner: type[Struct]) -> Any:
        parts = [(each.name, each.type, {} if each.default is NODEFAULT else {"default": each.default}) for each in structs.fields(owner)]
        cls: Any = dataclasses.make_dataclass(owner.__name__, [(name, kind, dataclasses.field(**default)) for name, kind, default in parts])
        return cls.__dataclass_fields__


class FieldResult(Struct, gc=False):  # no row is part of a cycle of references
    """One row: the expected value at a path, the extracted one, and the verdict.

    `path` is the instance path with gold's index (`steps[2].n`; -1, -2, ... for elements that gold lacks), `schema_path` the same with
    indexes folded (`steps[].n`), `aligned` the index in the extracted list for each `[]` (None if gold's element has no partner).
    `gold_compared` and `extracted_compared` are the values after transforms, `params` the comparator's parameters while a row waits for a
    batch.
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
    __dataclass_fields__ = _DataclassFields()

    @property
    def found_path(self) -> str | None:
        """The path in the extracted record, None for what it lacks: `schema_path` with the aligned indexes."""
        if self.status == "omission" or None in self.aligned:
            return None
        parts = self.schema_path.split("[]", len(self.aligned))
        filled = [f"{part}[{index}]" for part, index in zip(parts, self.aligned, strict=False)]
        return "".join([*filled, *parts[len(filled) :]])


@dataclass(slots=True)
class RecordResult:
    """One record: its rows and its precision, recall and F1.

    They are None if a judge's outage left nothing to count, or if a comparator, transform or post-processor of a plugin failed. `reason`
    explains this, or why the whole record is worth 0: no prediction, or a required field missing.
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

    mean_score: float
    matches: int
    mismatches: int
    omissions: int
    hallucinations: int


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
    """Precision, recall and F1 of one kind of average; None if nothing was decided."""

    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(kw_only=True)
class Summary:
    """The numbers of a run: means over records, micro (all rows pooled) and macro (mean over schema paths), totals and coverage.

    `coverage` is decided / (decided + batch_error + error), 1.0 if all was decided. `mean_*` are over the decided records, None if there
    is none. `faults` are failures of plugin code; the other numbers then cover only a part.
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
        """Instance path (`steps[0].n`) -> its rows over all records, in order of first occurrence; made on first use."""
        sums: dict[str, PathTotals] = defaultdict(PathTotals)
        for row in (row for record in self.records for row in record.field_results if row.status in COLUMNS):
            sums[row.path].add(row.status, row.score if row.status in _PAIRED else 0.0)
        columns = {path: totals.columns() for path, totals in sums.items()}
        return {
            path: FieldAggregation(mean_score=sums[path].tally().scored / sum(numbers.values()), **numbers)
            for path, numbers in columns.items()
        }


PostProcess = Callable[[list[FieldResult]], list[FieldResult]]


@dataclass(frozen=True, slots=True)
class NullHandling:
    """Values that count as absent, and whether a field that is absent on both sides is skipped or a match."""

    absent_values: list[Any] = field(default_factory=lambda: [None])
    both_absent_skip: bool = True


def reclassify_nulls(rows: list[FieldResult], handling: NullHandling | None = None) -> list[FieldResult]:
    """Return the same rows, in place: null expected and a value found is a hallucination, a value expected and null found an omission.

    For extractors that must fill every field. Containers are judged by their values, except in a compat run, whose container rows have
    no compared values and so count as null on both sides.
    """
    handling = handling or NullHandling()
    for row in rows:
        if row.status in ("match", "mismatch", "pending"):
            _reclassify(row, handling)
    return rows


def _reclassify(row: FieldResult, handling: NullHandling) -> None:
    values = row.gold_compared, row.extracted_compared
    gold_absent, extracted_absent = (
        any(value is absent or are_loosely_equal(value, absent) for absent in handling.absent_values) for value in values
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
    """Return the same rows, in place: if a comparator failed on one field of a record, none of its verdicts there count."""
    tainted = {row.comparator for row in rows if row.status == "batch_error"}
    for row in rows:
        if row.comparator in tainted and row.status not in ("omission", "hallucination"):
            row.status, row.score = "batch_error", 0.0
            row.reason = f"batch tainted: comparator '{row.comparator}' had errors in this record — all its results are excluded"
    return rows


def chain(steps: list[PostProcess]) -> PostProcess:
    """Return one post-processor that applies several in order."""

    def apply(rows: list[FieldResult]) -> list[FieldResult]:
        for step in steps:
            rows = step(rows)
        return rows

    return apply


@dataclass(slots=True)
class Tally:
    """Weighted sums over rows: the scores reached, fields on both sides, omissions, hallucinations."""

    scored: float
    both: float
    omitted: float
    invented: float

    @property
    def weight(self) -> float:
        """The weight of all rows that count, fields on both sides twice: the divisor of F1."""
        return 2 * self.both + self.omitted + self.invented

    @property
    def precision(self) -> float:
        """The correct share of what was extracted; 1.0 if nothing was."""
        whole = self.both + self.invented
        return self.scored / whole if whole else 1.0

    @property
    def recall(self) -> float:
        """The found share of what gold expects; 1.0 if it expects nothing."""
        whole = self.both + self.omitted
        return self.scored / whole if whole else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both; 1.0 if no row counts."""
        if not self.weight:
            return 1.0
        precision, recall = self.precision, self.recall
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


Metrics = tuple[float | None, float | None, float | None]
UNDECIDED: Metrics = (None, None, None)


# Scores are summed as whole numbers of this grain, without rounding, so that the order of rows has no effect.
_GRAIN = 2**100


class PathTotals(Struct, gc=False):
    """The rows of one path or record: how many match with score 1, the others by status, and `partial`, the sum of their scores.

    `weight` is that of one row.
    """

    weight: float = 1.0
    n_right: int = 0
    match: int = 0
    mismatch: int = 0
    omission: int = 0
    hallucination: int = 0
    partial: int = 0

    def add(self, status: str, score: float) -> None:
        """Count one row."""
        if score == 1 and status == "match":
            self.n_right += 1
            return
        setattr(self, status, getattr(self, status) + 1)
        if score:
            self.partial += int(score * _GRAIN)

    def tally(self) -> Tally:
        """Return the sums of its rows, each with weight 1."""
        both = self.n_right + self.match + self.mismatch
        return Tally((self.n_right * _GRAIN + self.partial) / _GRAIN, both, self.omission, self.hallucination)

    def share(self) -> float:
        """Return twice the scores over the weight of the rows, F1 in one division."""
        sums = self.tally()
        return 2 * sums.scored / sums.weight

    def columns(self) -> dict[str, int]:
        return {column: getattr(self, status) + self.n_right * (status == "match") for status, column in COLUMNS.items()}

    def score(self) -> PathScore:
        sums = self.tally()
        return PathScore(precision=sums.precision, recall=sums.recall, f1=sums.f1, **self.columns())


def count_rows(rows: Iterable[FieldResult], sums: dict[str, PathTotals] | None = None) -> tuple[Tally, list[str]]:
    """Return (the tally of some rows, the statuses of those that do not count); add them to `sums` by schema path.

    Summed without rounding, so that the order of rows has no effect.
    """
    right: list[float] = []
    scored: list[float] = []
    both: list[float] = []
    omitted: list[float] = []
    invented: list[float] = []
    others: list[str] = []
    for row in rows:
        status, weight, score = row.status, row.weight, row.score
        if score == 1 and status == "match":
            right.append(weight)
        elif status == "match" or status == "mismatch":
            both.append(weight)
            scored.append(score * weight)
        elif status == "omission":
            omitted.append(weight)
        elif status == "hallucination":
            invented.append(weight)
        else:
            others.append(status)
            continue
        if sums is not None:
            path_totals = sums.get(path := row.schema_path)
            if path_totals is None:
                path_totals = sums[path] = PathTotals(weight)
            if score == 1 and status == "match":
                path_totals.n_right += 1
            else:
                path_totals.add(status, score if status in _PAIRED else 0.0)
    return Tally(fsum(right + scored), fsum(right + both), fsum(omitted), fsum(invented)), others


def tally(rows: Iterable[FieldResult]) -> Tally:
    """Return the tally of some rows."""
    return count_rows(rows)[0]


class Totals:
    """Running totals over records. Memory grows with the number of schema paths, and by three numbers per record."""

    def __init__(self, *, compat: bool = False) -> None:
        self.compat = compat
        self.values: tuple[list[float], list[float], list[float]] = ([], [], [])
        self.n_records = self.n_undecided = self.n_batch_errors = self.n_errors = 0
        self.faults: dict[Fault, None] = {}
        self.paths: dict[str, PathTotals] = {}

    def add(self, rows: Sequence[FieldResult], *, failed: bool = False, undecided: bool = False) -> Metrics:
        """Count one record and return its precision, recall and F1.

        They are 0 if the record has `failed` as a whole, and None if it is `undecided` or if a judge's outage left nothing to count (1.0
        in compat mode). Raises KeyError for an unknown status of a row.
        """
        counts, others = count_rows(rows, self.paths)
        for status in others:
            if status not in STATUSES:
                raise KeyError(status)
        n_errors = others.count("batch_error")
        self.n_records += 1
        self.n_batch_errors += n_errors
        self.n_errors += others.count("error")
        if undecided or (n_errors and not counts.weight and not self.compat and not failed):
            self.n_undecided += 1
            return UNDECIDED
        metrics = (0.0, 0.0, 0.0) if failed else (counts.precision, counts.recall, counts.f1)
        for values, value in zip(self.values, metrics, strict=True):
            values.append(value)
        return metrics

    def micro(self) -> Tally:
        sums = [(path.weight, path.tally()) for path in self.paths.values()]
        return Tally(*(fsum(weight * getattr(part, name) for weight, part in sums) for name in ("scored", "both", "omitted", "invented")))

    def numbers(self) -> dict[str, Any]:
        """Return the fields of a `Summary`."""
        precision, recall, f1 = (self.mean(values) for values in self.values)
        columns = [path.columns() for path in self.paths.values()]
        counts = {status: sum(path[column] for path in columns) for status, column in COLUMNS.items()}
        decided = sum(counts.values())
        n_judged = decided + self.n_batch_errors + self.n_errors
        paths = {path: path_totals.score() for path, path_totals in self.paths.items()}
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
            "coverage": decided / n_judged if n_judged else 1.0,
            "micro": self.average([(micro.precision, micro.recall, micro.f1)]),
            "macro": self.average([(score.precision, score.recall, score.f1) for score in paths.values()]),
            "per_schema_path": paths,
            "faults": list(self.faults),
        }

    def mean(self, values: list[float]) -> float | None:
        """Return the mean over records; 1.0 without any, None if none is decided."""
        if values:
            return mean(values)
        return None if self.n_undecided else 1.0

    def average(self, triples: list[tuple[float, float, float]]) -> Average:
        """Return the plain mean of precision, recall and F1 each."""
        if self.n_records and self.n_undecided == self.n_records:
            return Average(precision=None, recall=None, f1=None)
        columns = list(zip(*triples, strict=True)) or [(1.0,), (1.0,), (1.0,)]
        return Average(precision=mean(columns[0]), recall=mean(columns[1]), f1=mean(columns[2]))


def rows_of(result: RunResult) -> Iterator[dict[str, Any]]:
    """Yield every row of a run as plain data: expected against got, with both paths."""
    return (_row_data(record, row) for record in result.records for row in record.field_results)


def _row_data(record: RecordResult, row: FieldResult) -> dict[str, Any]:
    return {
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


MAX_FIELDS = 1000
MAX_RECORDS = 100
N_WORST = 5
N_ROWS = 100
N_CONFUSIONS = 10
LONGEST_TEXT = 200
_UNCOUNTED = ("skipped", "both_null")
_RIGHT = ("match", *_UNCOUNTED)
_STATUS_OF = {"partial": "mismatch"}
MAX_ROWS = 200  # rows of a report that do not agree


class Report:
    """The counts that the details of a score show for at most n records. Rows are counted as they come and not kept.

    `margin` is the tolerance that their numbers need, `confusions` how often a value was found in place of another, `fields` the F1 of each
    field in each record: twice its scores over its rows, those with a value on both sides counted twice.
    """

    def __init__(self, n: int) -> None:
        self.n, self.n_rows, self.n_wrong = n, 0, 0
        self.margin = Margin()
        self.confusions: Counter[str] = Counter()
        self.sums: dict[str, tuple[array[float], array[int]]] = {}

    def add(self, record: int | None, path: str, status: str, score: float, gold: Any, answer: Any) -> None:
        """Count one row; one of an undecided record (None) is in no field."""
        self.n_rows += 1
        if status in _UNCOUNTED:
            return
        self.margin.add(gold, answer, is_right=status == "match")
        if status != "match":
            self.n_wrong += 1
            status = _STATUS_OF.get(status, status)
            if status in COLUMNS:
                self.confusions[repr((path, status, _short(gold), _short(answer)))] += 1
        if status in COLUMNS and record is not None:
            if path not in self.sums:
                self.sums[path] = array("d", [0.0]) * self.n, array("L", [0]) * self.n
            reached, whole = self.sums[path]
            is_paired = status in _PAIRED
            reached[record] += 2 * score * is_paired
            whole[record] += 1 + is_paired

    def fields(self, n_records: int) -> dict[str, list[float | None]]:
        """Return path -> F1 by record, None if a record has no such field."""
        columns = ((path, islice(zip(*sums, strict=True), n_records)) for path, sums in self.sums.items())
        return {path: [reached / whole if whole else None for reached, whole in column] for path, column in columns}

    def commonest(self) -> list[dict[str, Any]]:
        """Return which values were found in place of which, the commonest first (at most 10); elements of lists are pooled."""
        names = ("path", "status", "expected", "got")
        return [dict(zip(names, literal_eval(text), strict=True), n=n) for text, n in self.confusions.most_common(N_CONFUSIONS)]


class FieldReport(Report):
    """The rows of records by `evaluate`: also the score of each record and type, and the first rows that differ."""

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.records: list[tuple[Any, float | None, float | None, float | None]] = []
        self.types: dict[str, PathTotals] = defaultdict(PathTotals)
        self.wrong: list[dict[str, Any]] = []
        self.reason = ""
        self._has_several = n > 2

    def add_record(self, record: RecordResult) -> None:
        """Count the rows of one record."""
        at = None if record.f1 is None else len(self.records)
        self.records.append((record.record_id, record.precision, record.recall, record.f1))
        if record.reason and not self.reason:
            is_named = self._has_several and record.record_id is not None
            self.reason = f"record {record.record_id}: {record.reason}" if is_named else record.reason
        for row in record.field_results:
            status = row.status
            self.add(at, row.schema_path, status, row.score, row.gold_value, row.extracted_value)
            if status in _PAIRED:
                self.types[json_name(row.gold_value)].add(status, row.score)
            if status not in _RIGHT and len(self.wrong) < N_ROWS:
                self.wrong.append({key: _short(value) for key, value in _row_data(record, row).items()})


def field_reason(result: Summary, failure: str = "") -> str:
    """Return one sentence: why the first record failed as a whole, and the worst fields; or that all are right."""
    if result.mean_f1 is None:
        return f"undecided: no verdict from the judge on any of {result.total_batch_errors} fields"
    if result.mean_f1 == 1:
        return "the only field is right" if result.total_fields == 1 else f"all {result.total_fields} fields right"
    worst = ", ".join(f"{path or '(root)'} {min(score.f1, 0.99):.2f}" for path, score in _worst(result)[:N_WORST] if score.f1 < 1)
    return "; ".join(filter(None, (failure, f"worst fields by F1: {worst}" if worst else "")))


def _worst(result: Summary) -> list[tuple[str, PathScore]]:
    return sorted(result.per_schema_path.items(), key=lambda entry: (entry[1].f1, entry[0]))


def field_details(result: Summary, report: FieldReport, official: Sequence[float | None]) -> dict[str, Any]:
    """Return numbers, the fields worst first (at most 1,000), the first rows that are not right (at most 100), and the units.

    These are the F1 of each record and of its fields; `official` are the reference's of each record.
    """
    fields = [{"path": path, **dataclasses.asdict(score)} for path, score in _worst(result)]
    types = [(name, totals.tally()) for name, totals in sorted(report.types.items())]
    return {
        "precision": result.mean_precision,
        "recall": result.mean_recall,
        "f1": result.mean_f1,
        "micro_f1": result.micro.f1,
        "macro_f1": result.macro.f1,
        "coverage": result.coverage,
        "tree": _tree_of_scores(result),
        "per_type": {name: sums.scored / sums.both for name, sums in types},
        "counts": {column: sum(getattr(score, column) for score in result.per_schema_path.values()) for column in COLUMNS.values()},
        "n_records": result.total_records,
        "n_rows": report.n_rows,
        "n_fields": len(fields),
        "fields": fields[:MAX_FIELDS],
        "records": _worst_records(report.records, len(report.records)),
        "confusions": report.commonest(),
        "n_wrong": report.n_wrong,
        "wrong": report.wrong,
        "margin": report.margin.value,
        **unit_details([f1 for *_, f1 in report.records], official=official, fields=report.fields(len(report.records))),
    }


def _tree_of_scores(result: Summary) -> dict[str, Any]:
    """Return the F1 of every field in the shape of the schema; a list is under the name of its field with `[]`."""
    tree: dict[str, Any] = {}
    for path, score in sorted(result.per_schema_path.items()):
        *parents, leaf = path.split(".")
        branch = tree
        for name in parents:
            inner = branch.setdefault(name, {})
            branch = inner if isinstance(inner, dict) else branch
        branch[leaf] = score.f1
    return tree


def _short(value: Any) -> Any:
    """Return a value for a report: JSON-safe, texts and containers cut to 200 characters."""
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if value is None or isinstance(value, bool | int):
        return value
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def treeval_reason(result: "TreevalResult") -> str:
    """Return one sentence: the factors of the score, and the first leaf that differs."""
    first, n_wrong, n_rows = None, 0, 0
    for row in result.rows:
        n_rows += 1
        if row.status not in _RIGHT:
            n_wrong += 1
            first = first or row
    leaves = "" if result.leaf_score is None else f"leaf metrics {result.leaf_score:.3g} x "
    text = f"{leaves}F1 of nodes {result.f1_node:.3g} x F1 of non-null leaves {result.f1_leaf:.3g}"
    if first is None:
        return f"{text}; {'the only leaf agrees' if n_rows == 1 else f'all {n_rows} leaves agree'}"
    place = f"[{first.record}]{'.' * (first.path[:1] not in ('', '['))}{first.path}"
    return f"{text}; {n_wrong} of {n_rows} leaves differ, first at {place}: {first.status}"


def treeval_details(result: "TreevalResult", n_records: int) -> dict[str, Any]:
    """Return the seven numbers, means per metric and type, counts, fields (at most 1,000), records (100) and differing rows by record
    (200).

    The unit of a batch of `n_records` records is the F1 of a record's leaves: the score itself is no mean over records.
    """
    report = Report(n_records)
    fields: dict[str, PathTotals] = defaultdict(PathTotals)
    records: dict[int, PathTotals] = defaultdict(PathTotals)
    for row in result.rows:
        path = re.sub(r"\[\d+\]", "[]", row.path) if "[" in row.path else row.path
        status, score = _STATUS_OF.get(row.status, row.status), row.score or 0.0
        report.add(row.record, path, row.status, score, row.expected, row.got)
        if status in COLUMNS:
            fields[path].add(status, score)
            records[row.record].add(status, score)
    sums = ((n, records[n].tally()) for n in sorted(records))
    by_field = [{"path": path, **dataclasses.asdict(totals.score())} for path, totals in fields.items()]
    wrong = (row for row in result.rows if row.status not in _RIGHT)
    return {
        **result.summary,
        "per_metric": {name: mean for name, mean in result.per_metric.items() if name not in result.summary},
        "per_type": {name: means for name, means in result.per_leaf_type.items() if name not in result.summary},
        "counts": dict(result.counts._asdict()),
        "n_leaves": report.n_rows,
        "n_records": len(records),
        "n_fields": len(by_field),
        "n_wrong": report.n_wrong,
        "fields": sorted(by_field, key=lambda field: (field["f1"], field["path"]))[:MAX_FIELDS],
        "records": _worst_records(((n, counts.precision, counts.recall, counts.f1) for n, counts in sums), len(records)),
        "confusions": report.commonest(),
        "rows": [row._asdict() for row in nsmallest(MAX_ROWS, wrong, key=attrgetter("record"))] if report.n_wrong else [],
        "signature": result.signature,
        "margin": report.margin.value if result.f1_node == result.f1_leaf == 1 else None,
        **unit_details([records[n].share() if n in records else 1.0 for n in range(n_records)], fields=report.fields(n_records)),
    }


def _worst_records(records: Iterable[tuple[Any, float | None, float | None, float | None]], n: int) -> list[dict[str, Any]]:
    """Return the numbers of n records in their order; if there are more than a report takes (100), of the worst, worst first."""
    if n > MAX_RECORDS:
        records = nsmallest(MAX_RECORDS, records, key=lambda record: 2.0 if record[3] is None else record[3])
    return [dict(zip(("record", "precision", "recall", "f1"), (_short(label), *shares), strict=True)) for label, *shares in records]
