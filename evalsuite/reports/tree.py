"""The fields of a tree score as tables: bars for precision, recall and F1, worst first; records; the commonest confusions."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from evalsuite.reports.clean import clean

TABLED = ("fields", "records", "confusions", "wrong")
N_FIELDS = 30
N_RECORDS = 10
BAR = 8
LONGEST = 40
_COUNTS = ("matches", "mismatches", "omissions", "hallucinations")


def is_tree(details: Mapping[str, Any]) -> bool:
    """Whether these are the details of a score by fields."""
    return isinstance(details.get("fields"), list) and isinstance(details.get("confusions"), list)


def render_tree(details: Mapping[str, Any]) -> str:
    """Up to three tables with a blank line before each; empty where the details are of another kind."""
    if not is_tree(details):
        return ""
    found = _fields(details["fields"], int(details["n_fields"]))
    if details["n_records"] > 1:
        found += _records(details["records"], int(details["n_records"]))
    return found + _confusions(details["confusions"])


def bar(value: float | None) -> str:
    """The value as `BAR` cells and two decimals; a dash where there is none."""
    if value is None:
        return "-".ljust(BAR + 5)
    # Full only for 1: rounding must not show a field as right that is not.
    cells = int(value * BAR)
    return "█" * cells + "░" * (BAR - cells) + f" {value:.2f}"


def _fields(fields: Sequence[Mapping[str, Any]], n_fields: int) -> str:
    head = ("field, worst first", "P", "R", "F1", "match", "mismatch", "omission", "hallucination")
    rows = [
        (_text(row["path"] or "(root)"), *(bar(row[key]) for key in ("precision", "recall", "f1")), *(str(row[key]) for key in _COUNTS))
        for row in fields[:N_FIELDS]
    ]
    return _table(head, rows) + _rest(n_fields - len(rows), "fields")


def _records(records: Sequence[Mapping[str, Any]], n_records: int) -> str:
    worst = sorted(records, key=lambda row: 2.0 if row["f1"] is None else row["f1"])[:N_RECORDS]
    rows = [(_text(row["record"]), *(bar(row[key]) for key in ("precision", "recall", "f1"))) for row in worst]
    of = "record, worst first" if n_records == len(records) else f"record, worst of the first {len(records)}"
    return _table((of, "P", "R", "F1"), rows) + _rest(n_records - len(rows), "records")


def _confusions(confusions: Sequence[Mapping[str, Any]]) -> str:
    if not confusions:
        return ""
    rows = [
        (
            f"{row['n']} x {_text(row['path'] or '(root)')}",
            "(nothing)" if row["status"] == "hallucination" else _value(row["expected"]),
            "(nothing)" if row["status"] == "omission" else _value(row["got"]),
            row["status"],
        )
        for row in confusions
    ]
    return _table(("commonest confusions", "expected", "got", ""), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (head, *rows)]
    return "\n" + "".join(f" {line}\n" for line in lines)


def _rest(n: int, what: str) -> str:
    return f" ... {n} more {what}\n" if n > 0 else ""


def _value(value: Any) -> str:
    return _text(value if isinstance(value, str) else json.dumps(value))


def _text(value: Any) -> str:
    text = clean(str(value))
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
