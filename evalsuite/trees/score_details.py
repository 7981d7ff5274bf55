"""What a person sees of a tree result, of either engine: the reason in one sentence, and the details of a report."""

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable
from heapq import nsmallest
from typing import Any

from evalsuite.trees.field_results import COLUMNS, PathScore, RunResult
from evalsuite.trees.field_totals import Tally
from evalsuite.trees.json_values import json_name
from evalsuite.trees.record_scoring import rows_of
from evalsuite.trees.treeval import TreevalResult
from evalsuite.trees.treeval_rows import Row

MAX_FIELDS = 100
N_WORST = 5
N_ROWS = 100
N_CONFUSIONS = 10
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
    """Numbers, the fields worst first (at most 100) and the first rows that are not right (at most 100)."""
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


def treeval_details(result: TreevalResult) -> dict[str, Any]:
    """The seven numbers, means per metric and type, counts, fields and records (at most 100), what differs by record (at most 200)."""
    fields: dict[str, _Shares] = {}
    records: dict[int, _Shares] = {}
    wrong: list[Row] = []
    n_rows = 0
    for row in result.rows:
        n_rows += 1
        if row.status in _COLUMNS:
            fields.setdefault(_folded(row), _Shares()).add(row)
            records.setdefault(row.record, _Shares()).add(row)
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
    }


def _worst_records(records: Iterable[dict[str, Any]], n: int) -> list[dict[str, Any]]:
    """The n records in their order; of more than a report holds (100) the worst, worst first."""
    if n <= MAX_FIELDS:
        return list(records)
    return nsmallest(MAX_FIELDS, records, key=lambda record: 2.0 if record["f1"] is None else record["f1"])
