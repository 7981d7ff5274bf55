"""The fields of extracted records over all instances of a run: a table of them, and what was commonly taken for what."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from evalsuite.reports.document import Code, Column, Form, Own, Section, Table
from evalsuite.reports.drawn_lines import share_bar
from evalsuite.reports.words import percent
from evalsuite.stats.pooled_fields import COUNTS, pooled_confusions

if TYPE_CHECKING:
    from evalsuite.reports.record import Record

MOST_FIELDS = 20


def field_sections(record: "Record", form: Form) -> Iterator[Section]:
    """The pooled fields, the worst F1 first, and the commonest confusions where gold's values may be seen; nothing for other runs."""
    rows = list(record.summary.by_field.items())
    if not rows:
        return
    shown = rows if form == "html" else rows[:MOST_FIELDS]
    rest = len(rows) - len(shown)
    yield Section(
        title="fields over all instances, worst first",
        kind="field",
        table=Table(columns=_field_columns(), rows=shown),
        below=[f"... {rest} more fields; -o FILE.json lists all"] if rest > 0 else (),
        is_folded=True,
    )
    confusions = pooled_confusions(record.results)
    if confusions:
        yield Section(
            title="commonest confusions",
            kind="confusion",
            table=Table(columns=_confusion_columns(), rows=confusions),
            is_folded=True,
        )


def _field_columns() -> list[Column[tuple[str, Any]]]:
    def number(name: str, title: str, *, is_share: bool) -> Column[tuple[str, Any]]:
        return Column(
            name=name, title=title, words=lambda row: Own(percent(row[1][name], "") if is_share else str(row[1][name])), is_number=True
        )

    return [
        Column(name="field", words=lambda row: Code(row[0] or "(root)", 60), role="name"),
        *(number(name, title, is_share=True) for name, title in (("precision", "P"), ("recall", "R"), ("f1", "F1"))),
        Column(name="bar", title=" ", words=lambda row: Own(share_bar(row[1]["f1"], 10)), forms=frozenset({"text"})),
        *(number(name, name, is_share=False) for name in COUNTS),
    ]


def _confusion_columns() -> list[Column[dict[str, Any]]]:
    def value(row: dict[str, Any], name: str, nothing: str) -> Code | Own:
        found = row[name]
        return Own("(nothing)") if row["status"] == nothing else Code(found if isinstance(found, str) else json.dumps(found), 60)

    return [
        Column(name="field", words=lambda row: Code(row["path"] or "(root)", 60), role="name"),
        Column(name="n", words=lambda row: Own(str(row["n"])), is_number=True),
        Column(name="expected", words=lambda row: value(row, "expected", "hallucination")),
        Column(name="got", words=lambda row: value(row, "got", "omission")),
        Column(name="what", words=lambda row: Own(row["status"])),
    ]
