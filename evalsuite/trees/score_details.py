"""Reason and details of a tree result, for both engines."""

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from typing import Any

from evalsuite.stats.units import unit_details
from evalsuite.trees.field_results import COLUMNS, PathScore, RunResult
from evalsuite.trees.field_totals import Tally
from evalsuite.trees.json_values import json_name
from evalsuite.trees.record_scoring import rows_of
from evalsuite.trees.treeval import TreevalResult
from evalsuite.trees.treeval_counts import Row

MAX_FIELDS = 1000
MAX_RECORDS = 100
N_WORST = 5
N_ROWS = 100
N_CONFUSIONS = 10
_PAIRED = frozenset({"match", "partial", "mismatch"})
_CONFUSED = ("mismatch", "omission", "hallucination")
LONGEST_TEXT = 200
_COLUMNS = {
    "match": "matches",
    "partial": "mismatches",
    "mismatch": "mismatches",
    "omission": "omissions",
    "hallucination": "hallucinations",
}
_PLACES = {status: list(COLUMNS.values()).index(column) for status, column in _COLUMNS.items()}
_RIGHT = ("match", "both_null")
MAX_ROWS = 200  # rows of a report that do not agree


def field_reason(result: RunResult) -> str:
    """One sentence: what is wrong most, or that all is right."""
    if result.mean_f1 is None:
        return f"undecided: no verdict from the judge on any of {result.total_batch_errors} fields"
    if result.mean_f1 == 1:
        return f"all {result.total_fields} fields right"
    worst = ", ".join(f"{path or '(root)'} {min(score.f1, 0.99):.2f}" for path, score in _worst(result)[:N_WORST] if score.f1 < 1)
    failed = next((record.reason for record in result.records if record.reason), "")
    return "; ".join(filter(None, (failed, f"worst fields by F1: {worst}" if worst else "")))


def _worst(result: RunResult) -> list[tuple[str, PathScore]]:
    return sorted(result.per_schema_path.items(), key=lambda entry: (entry[1].f1, entry[0]))


def field_details(result: RunResult) -> dict[str, Any]:
    """Numbers, the fields worst first (at most 1,000) and the first rows that are not right (at most 100)."""
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
        "tree": _tree_of_scores(result),
        "per_type": _per_type(result),
        "counts": {column: sum(getattr(score, column) for score in result.per_schema_path.values()) for column in COLUMNS.values()},
        "n_records": result.total_records,
        "n_rows": sum(len(record.field_results) for record in result.records),
        "n_fields": len(fields),
        "fields": fields[:MAX_FIELDS],
        "records": _worst_records(
            ({"record": _short(r.record_id), "precision": r.precision, "recall": r.recall, "f1": r.f1} for r in result.records),
            result.total_records,
        ),
        "confusions": _confusions(wrong),
        "n_wrong": len(wrong),
        "wrong": [_shown(row) for row in wrong[:N_ROWS]],
    }


def match_units(result: RunResult, official: Sequence[float | None]) -> dict[str, Any]:
    """The F1 of each record and of its fields, for details; `official` are the reference's of each record."""
    units = _UnitSums(len(result.records))
    for at, record in enumerate(result.records):
        for row in record.field_results if record.f1 is not None else ():
            if row.status in _COLUMNS:
                units.add(at, row.schema_path, row.status, row.score)
    return unit_details([record.f1 for record in result.records], official=official, fields=units.of_fields())


class _UnitSums:
    """What the fields of each of n records reached: F1 is twice the scores over twice the fields on both sides and those on one."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.sums: dict[str, tuple[array[float], array[int]]] = {}

    def add(self, record: int, path: str, status: str, score: float) -> None:
        """Count one field."""
        reached, whole = self.sums.setdefault(path, (array("d"), array("L")))
        if record >= len(whole):
            self.n = max(self.n, record + 1)
            reached.extend([0.0] * (self.n - len(reached)))
            whole.extend([0] * (self.n - len(whole)))
        is_paired = status in _PAIRED
        reached[record] += 2 * score * is_paired
        whole[record] += 1 + is_paired

    def of_fields(self) -> dict[str, list[float | None]]:
        """Path -> F1 by record, None where a record has no such field."""
        found = {}
        for path, (reached, whole) in self.sums.items():
            column = [own / n if n else None for own, n in zip(reached, whole, strict=True)]
            found[path] = [*column, *[None] * (self.n - len(column))]
        return found

    def of_records(self) -> list[float]:
        """F1 by record; 1 where nothing was expected and nothing found."""
        reached, whole = [0.0] * self.n, [0] * self.n
        for sums, counts in self.sums.values():
            for at, (own, n) in enumerate(zip(sums, counts, strict=True)):
                reached[at] += own
                whole[at] += n
        return [own / n if n else 1.0 for own, n in zip(reached, whole, strict=True)]


def _tree_of_scores(result: RunResult) -> dict[str, Any]:
    """The F1 of every field in the shape of the schema; a list stands under the name of its field with `[]`."""
    tree: dict[str, Any] = {}
    for path, score in sorted(result.per_schema_path.items()):
        *parents, leaf = path.split(".")
        branch = tree
        for name in parents:
            inner = branch.setdefault(name, {})
            branch = inner if isinstance(inner, dict) else branch
        branch[leaf] = score.f1
    return tree


def _per_type(result: RunResult) -> dict[str, float]:
    """The mean score of the fields that both sides have, by the JSON type of gold's value."""
    scores: dict[str, list[float]] = {}
    for record in result.records:
        for row in record.field_results:
            if row.status in ("match", "mismatch"):
                scores.setdefault(json_name(row.gold_value), []).append(row.score)
    return {name: math.fsum(values) / len(values) for name, values in sorted(scores.items())}


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


class _Shares:
    """Some leaves by the scores they reached, without the leaves."""

    __slots__ = ("scores", "statuses")

    def __init__(self) -> None:
        self.scores = array("d")
        self.statuses = bytearray()

    def add(self, row: Row) -> None:
        self.scores.append(row.score or 0.0)
        self.statuses.append(_PLACES[row.status])

    def rates(self) -> dict[str, Any]:
        """Precision, recall and F1."""
        matches, mismatches, omissions, hallucinations = self.counts().values()
        sums = Tally(math.fsum(self.scores), matches + mismatches, omissions, hallucinations)
        return {"precision": sums.precision, "recall": sums.recall, "f1": sums.f1}

    def counts(self) -> dict[str, int]:
        return {column: self.statuses.count(place) for place, column in enumerate(COLUMNS.values())}


def _folded(row: Row) -> str:
    return re.sub(r"\[\d+\]", "[]", row.path)


def treeval_reason(result: TreevalResult) -> str:
    """One sentence: both F1, and the first leaf that differs."""
    first, n_wrong, n_rows = None, 0, 0
    for row in result.rows:
        n_rows += 1
        if row.status not in _RIGHT:
            n_wrong += 1
            first = first or row
    text = f"F1 of nodes {result.f1_node:.3g}, of leaves {result.f1_leaf:.3g}"
    if first is None:
        return f"{text}; all {n_rows} leaves agree"
    return f"{text}; {n_wrong} of {n_rows} leaves differ, first record {first.record} {first.path or 'itself'}: {first.status}"


def treeval_details(result: TreevalResult, n_gold: int = 0) -> dict[str, Any]:
    """The seven numbers, means per metric and type, counts, fields (at most 1,000) and records (100), what differs by record (200).

    The unit of a batch of `n_gold` records is the F1 of a record's leaves: the score itself is no mean over records.
    """
    units = _UnitSums(n_gold)
    fields: dict[str, _Shares] = {}
    records: dict[int, _Shares] = {}
    wrong: list[Row] = []
    n_rows = 0
    for row in result.rows:
        n_rows += 1
        if row.status in _COLUMNS:
            path = _folded(row)
            fields.setdefault(path, _Shares()).add(row)
            records.setdefault(row.record, _Shares()).add(row)
            units.add(row.record, path, row.status, row.score or 0.0)
        if row.status not in _RIGHT:
            wrong.append(row)
    confused = [
        {"schema_path": _folded(row), "status": row.status.replace("partial", "mismatch"), "expected": row.expected, "got": row.got}
        for row in wrong
    ]
    by_field = [{"path": path, **shares.rates(), **shares.counts()} for path, shares in fields.items()]
    return {
        **result.summary,
        "per_metric": {name: mean for name, mean in result.per_metric.items() if name not in result.summary},
        "per_type": {name: means for name, means in result.per_leaf_type.items() if name not in result.summary},
        "counts": dict(result.counts._asdict()),
        "n_leaves": n_rows,
        "n_records": len(records),
        "n_fields": len(by_field),
        "n_wrong": len(wrong),
        "fields": sorted(by_field, key=lambda field: (field["f1"], field["path"]))[:MAX_FIELDS],
        "records": _worst_records(({"record": number, **records[number].rates()} for number in sorted(records)), len(records)),
        "confusions": _confusions(confused),
        "rows": [row._asdict() for row in sorted(wrong, key=lambda row: row.record)[:MAX_ROWS]],
        "signature": result.signature,
        **unit_details(units.of_records(), fields=units.of_fields()),
    }


def _worst_records(records: Iterable[dict[str, Any]], n: int) -> list[dict[str, Any]]:
    """The n records in their order; of more than a report holds (100) the worst, worst first."""
    if n <= MAX_RECORDS:
        return list(records)
    return nsmallest(MAX_RECORDS, records, key=lambda record: 2.0 if record["f1"] is None else record["f1"])
