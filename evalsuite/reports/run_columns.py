"""The one table of a run's columns: what is added to `COLUMNS` stands in every format. And a run as test cases.

The fields of extracted records over all instances of a run: a table of them, and what was commonly taken for what.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalsuite.core.errors import FAULTS
from evalsuite.core.status import FAULTY, KINDS, UNJUDGED, kind_of, raw_value, results_by, sign_under
from evalsuite.gold.question_texts import NOTHING, Exchange
from evalsuite.reports.document import EVERYWHERE, MACHINES, Case, Code, Column, Form, Own, Section, Suite, Table, text_of
from evalsuite.reports.pictures import share_bar
from evalsuite.reports.words import coverage, percent, why_of
from evalsuite.stats.units import COUNTS, pooled_confusions

if TYPE_CHECKING:
    from evalsuite.core.types import Result
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


_STYLES = {"right": "green", "wrong": "red", "partial": "cyan", "missing": "dim"}


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A result with what a report knows of it besides: its run's name, its groups, and what was asked and answered."""

    result: "Result"
    run: str
    groups: tuple[str, ...] = ()
    exchange: Exchange = NOTHING

    @property
    def reason(self) -> str:
        """Why, with the gold text that is lacking where it may be seen."""
        return self.exchange.told(self.result.reason)

    corrected: float | None = None


def _whole(value: float | None) -> float | None:
    """The number as results.jsonl has it: 1, not 1.0."""
    return int(value) if value is not None and value == int(value) else value


def _verdict_column(name: str, short: str) -> Column[ReportRow]:
    """The column of one rule's verdict."""

    def look(row: ReportRow) -> str:
        sign = sign_under(row.result, getattr(row.result, name))
        return next((style for kind, style in _STYLES.items() if KINDS[kind].sign == sign), "cyan" if "." in sign else "yellow")

    return Column(
        name=name,
        short=short,
        role="mark",
        type="DOUBLE",
        value=lambda row: _whole(getattr(row.result, name)),
        words=lambda row: sign_under(row.result, getattr(row.result, name)),
        style=look,
        forms=MACHINES | {"text", "html"},
    )


def _exchange_column(name: str) -> Column[ReportRow]:
    """A column of texts of an instance that was answered by a text: on a terminal they stand below the row."""

    def text(row: ReportRow) -> str | None:
        return getattr(row.exchange, name) or None

    return Column(name=name, value=text, words=lambda row: Code(text(row) or ""), forms=frozenset({"csv", "markdown", "html"}))


def scorer_columns(scorers: Sequence[str]) -> Iterator[Column[ReportRow]]:
    """A column for each scorer of a suite of several: its score, or what it measured on a scale of its own."""
    taken = {column.name for column in COLUMNS}

    def column(scorer: str) -> Column[ReportRow]:
        def seen(row: ReportRow) -> "Result | None":
            return results_by(row.result, scorers).get(scorer)

        def value(row: ReportRow) -> float | None:
            one = seen(row)
            return None if one is None else _whole(one.score if one.score is not None else raw_value(one))

        def words(row: ReportRow) -> Own:
            one = seen(row)
            raw = None if one is None else raw_value(one)
            return Own("" if one is None else sign_under(one, one.score) if raw is None else f"{raw:.4g}")

        name = f"{scorer}_score" if scorer in taken else scorer
        return Column(name=name, short=scorer[:6], type="DOUBLE", value=value, words=words, is_number=True)

    return map(column, scorers)


EXCHANGE_COLUMNS: tuple[Column[ReportRow], ...] = tuple(map(_exchange_column, Exchange._fields))

# The order is that of the machines; a person reads names first, then verdicts, then everything else, and the reason last.
COLUMNS: tuple[Column[ReportRow], ...] = (
    Column(name="run", value=lambda row: row.run, forms=frozenset({"parquet"})),
    Column(
        name="instance_id",
        title="instance",
        role="name",
        value=lambda row: row.result.instance_id,
        words=lambda row: Code(row.result.instance_id, 80),
        forms=EVERYWHERE - {"junit"},
    ),
    Column(
        name="status",
        value=lambda row: row.result.status,
        words=lambda row: Own(row.result.status if row.result.status in FAULTY else ""),
        role="name",
        forms=MACHINES | {"markdown"},
    ),
    Column(
        name="score",
        type="DOUBLE",
        value=lambda row: _whole(row.result.score),
        words=lambda row: Own(f"{row.result.score:.2f}" if kind_of(row.result).name == "partial" else ""),
        role="mark",
        forms=MACHINES | {"markdown"},
    ),
    _verdict_column("official", "off"),
    _verdict_column("strict", "str"),
    Column(
        name="scorer",
        role="name",
        value=lambda row: row.result.scorer,
        words=lambda row: Code(row.result.scorer or "", 40),
        forms=EVERYWHERE - {"junit"},
    ),
    Column(
        name="reason",
        title="why",
        role="why",
        value=lambda row: row.result.reason,
        words=lambda row: Code(row.reason),
        forms=MACHINES | {"markdown"},
    ),
    Column(name="why", role="why", words=lambda row: row.exchange.told(why_of(row.result)), forms=frozenset({"text", "html"})),
    Column(name="fault", value=lambda row: row.result.fault, forms=MACHINES),
    Column(name="flip", value=lambda row: row.result.details.get("flip") or None, forms=frozenset({"csv"})),
    Column(name="groups", type="VARCHAR[]", value=lambda row: list(row.groups), forms=frozenset({"csv", "parquet"})),
    Column(name="details", type="JSON", value=lambda row: row.result.details, forms=frozenset({"json", "parquet"})),
    Column(name="seconds", type="DOUBLE", value=lambda row: round(row.result.seconds, 6), spelled="{:.6f}".format, forms=MACHINES),
    *EXCHANGE_COLUMNS,
)


# Where gold has errata: the score with the entry of the instance applied, None for one that is waived.
CORRECTED: Column[ReportRow] = Column(
    name="corrected", type="DOUBLE", value=lambda row: _whole(row.corrected), forms=frozenset({"csv", "parquet"})
)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of n results, made as they are read: those of 100,000 never stand in memory at once."""

    results: "Sequence[Result]"
    record: "Record"

    def __iter__(self) -> Iterator[ReportRow]:
        name, groups, exchange = self.record.name, self.record.groups, self.record.exchange
        applied = {row["instance_id"]: row["corrected"] for row in (self.record.run.get("corrections") or {}).get("applied", ())}

        def corrected(result: "Result") -> float | None:
            if result.instance_id not in applied or kind_of(result).name == "handed_in":
                return result.score
            return (applied[result.instance_id] or {}).get("score")

        return (ReportRow(one, name, groups.get(one.instance_id, ()), exchange(one.instance_id), corrected(one)) for one in self.results)


def results_table(record: "Record", results: "Sequence[Result] | None" = None) -> Table[ReportRow]:
    """The results, by default all in gold order, as a table."""
    return Table(
        columns=_columns_of(record),
        rows=_Rows(record.results if results is None else results, record),
        is_listed=True,
        is_long=True,
        below=_texts_below,
    )


def _columns_of(record: "Record") -> list[Column[ReportRow]]:
    after = next(at for at, column in enumerate(COLUMNS) if column.name == "strict") + 1
    corrected = [CORRECTED] if record.run.get("corrections") else []
    return [*COLUMNS[:after], *scorer_columns(record.summary.scorers), *COLUMNS[after:], *corrected]


def _texts_below(row: ReportRow) -> list[tuple[str, str, str]]:
    _, reference, answer = row.exchange
    # Of what is right no word is marked: it may say more than gold.
    other = ("", "", "") if row.result.score == 1 else ("", answer, reference)
    found = zip(("asked", "gold", "answer"), row.exchange, other, strict=True)
    return [(label, text, against) for label, text, against in found if text]


def ci_outcome(result: "Result") -> tuple[str, str]:
    """(`passed`, `failure`, `error` or `skipped`; its type: wrong, partly_right, missing, or the fault code).

    A wrong answer, one that is only partly right and one that was not handed in are failures; what could not be read or judged is an error
    with its fault code; what nobody gave a verdict on is skipped.
    """
    if result.status == "scored" and result.score is not None:
        return ("passed", "") if result.score == 1 else ("failure", "partly_right" if result.score else "wrong")
    if result.status == "missing":
        return "failure", "missing"
    if result.status == "scored":
        # Judged, and nobody may know how: `--reveal none`.
        return "skipped", "not_shown"
    if result.status == "unscored":
        return "skipped", result.fault or result.status
    return "error", result.fault or result.status


def results_suite(record: "Record", places: Mapping[str, str]) -> Suite:
    """The test cases of all results in gold order, classed by suite and scorer; `places` says by id where each was handed in."""
    score = [("score", percent(record.summary.score))] if record.summary.score is not None else []
    numbers = [*score, ("coverage", coverage(record.summary))]
    properties = [("submission", record.submission), ("rules", record.rules), *numbers, ("signature", str(record.run["signature"]))]
    columns = [column for column in _columns_of(record) if "junit" in column.forms]
    cases = [_result_case(record.suite, row, columns, places) for row in results_table(record).rows]
    return Suite(name=record.suite, cases=cases, properties=properties)


def _result_case(suite: str, row: ReportRow, columns: Sequence[Column[ReportRow]], places: Mapping[str, str]) -> Case:
    result = row.result
    kind, type_ = ci_outcome(result)
    # An error is what whoever handed in can mend; of what is right, and of what nobody may know, nothing is said.
    level = "warning" if result.status in UNJUDGED else "error"
    return Case(
        name=result.instance_id,
        classname=f"{suite}.{result.scorer or result.status}",
        kind=kind,
        type=type_,
        message=result.reason or (FAULTS[result.fault].message if result.fault in FAULTS else result.status),
        body="\n".join(f"{label}: {text}" for label, text in zip(Exchange._fields, row.exchange, strict=True) if text),
        points=f"{result.score:.2f}" if type_ == "partly_right" else "",
        place=places.get(result.instance_id, ""),
        level="" if kind == "passed" or type_ == "not_shown" else level,
        seconds=result.seconds,
        properties=[(column.head, text_of(column.cell(row))) for column in columns],
    )
