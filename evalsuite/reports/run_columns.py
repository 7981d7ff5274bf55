"""Columns of the results table: a column in `COLUMNS` appears in every format. Also the field tables and test cases of a run."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalsuite.core.errors import FAULTS
from evalsuite.core.status import FAULTY, KINDS, UNJUDGED, kind_of, raw_value, results_by, sign_under
from evalsuite.gold.question_texts import NOTHING, Exchange
from evalsuite.reports.document import EVERYWHERE, MACHINES, Case, Code, Column, Form, Own, Section, Suite, Table, text_of
from evalsuite.reports.pictures import share_bar
from evalsuite.reports.words import coverage, percent, reason_of
from evalsuite.stats.units import COUNTS, pooled_confusions

if TYPE_CHECKING:
    from evalsuite.core.types import Result
    from evalsuite.reports.record import Record


MOST_FIELDS = 20


def field_sections(record: "Record", form: Form) -> Iterator[Section]:
    """Yield the pooled fields, the worst F1 first, and the most common confusions if gold may be shown; nothing for runs without fields."""
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
    """A result with report data: the run's name, its groups, question and answer."""

    result: "Result"
    run: str
    groups: tuple[str, ...] = ()
    exchange: Exchange = NOTHING

    @property
    def reason(self) -> str:
        """The reason, with the missing gold text if it may be shown."""
        return self.exchange.told(self.result.reason)

    corrected: float | None = None


def _whole(value: float | None) -> float | None:
    """Return the number as in results.jsonl: 1, not 1.0."""
    return int(value) if value is not None and value == int(value) else value


def _verdict_column(name: str, short: str) -> Column[ReportRow]:
    """Return the column of one rule's verdict."""

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
    """Return a column of texts of a text answer; on a terminal they are shown below the row."""

    def text(row: ReportRow) -> str | None:
        return getattr(row.exchange, name) or None

    return Column(name=name, value=text, words=lambda row: Code(text(row) or ""), forms=frozenset({"csv", "markdown", "html"}))


def scorer_columns(scorers: Sequence[str]) -> Iterator[Column[ReportRow]]:
    """Return a column per scorer of a suite with several: its score, or its value on its own scale."""
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

# Order for programs; people see names first, then verdicts, then the rest, and the reason last.
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
    Column(name="why", role="why", words=lambda row: row.exchange.told(reason_of(row.result)), forms=frozenset({"text", "html"})),
    Column(name="fault", value=lambda row: row.result.fault, forms=MACHINES),
    Column(name="flip", value=lambda row: row.result.details.get("flip") or None, forms=frozenset({"csv"})),
    Column(name="groups", type="VARCHAR[]", value=lambda row: list(row.groups), forms=frozenset({"csv", "parquet"})),
    Column(name="details", type="JSON", value=lambda row: row.result.details, forms=frozenset({"json", "parquet"})),
    Column(name="seconds", type="DOUBLE", value=lambda row: round(row.result.seconds, 6), spelled="{:.6f}".format, forms=MACHINES),
    *EXCHANGE_COLUMNS,
)


# With errata: the score after the entry of the instance, None for a waived instance.
CORRECTED: Column[ReportRow] = Column(
    name="corrected", type="DOUBLE", value=lambda row: _whole(row.corrected), forms=frozenset({"csv", "parquet"})
)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of n results, made while they are read, so that 100,000 rows are never in memory."""

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
    """Return the table of the results, by default all in gold order."""
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
    # No word of a right answer is marked: it may contain more than gold.
    other = ("", "", "") if row.result.score == 1 else ("", answer, reference)
    found = zip(("asked", "gold", "answer"), row.exchange, other, strict=True)
    return [(label, text, against) for label, text, against in found if text]


def ci_outcome(result: "Result") -> tuple[str, str]:
    """Return (`passed`, `failure`, `error` or `skipped`; its type: wrong, partly_right, missing, or the fault code).

    Wrong, partly right and missing answers are failures; unreadable or unjudgeable ones are errors with their fault code; instances without
    a verdict are skipped.
    """
    if result.status == "scored" and result.score is not None:
        return ("passed", "") if result.score == 1 else ("failure", "partly_right" if result.score else "wrong")
    if result.status == "missing":
        return "failure", "missing"
    if result.status == "scored":
        # Judged, with a hidden verdict: `--reveal none`.
        return "skipped", "not_shown"
    if result.status == "unscored":
        return "skipped", result.fault or result.status
    return "error", result.fault or result.status


def results_suite(record: "Record", places: Mapping[str, str]) -> Suite:
    """Return the test cases of all results in gold order, classed by suite and scorer; `places` maps ids to lines of the submission."""
    score = [("score", percent(record.summary.score))] if record.summary.score is not None else []
    numbers = [*score, ("coverage", coverage(record.summary))]
    properties = [("submission", record.submission), ("rules", record.rules), *numbers, ("signature", str(record.run["signature"]))]
    columns = [column for column in _columns_of(record) if "junit" in column.forms]
    cases = [_result_case(record.suite, row, columns, places) for row in results_table(record).rows]
    return Suite(name=record.suite, cases=cases, properties=properties)


def _result_case(suite: str, row: ReportRow, columns: Sequence[Column[ReportRow]], places: Mapping[str, str]) -> Case:
    result = row.result
    kind, type_ = ci_outcome(result)
    # The submitter can fix an error; right and hidden verdicts have no annotation.
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
