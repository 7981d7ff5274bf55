"""A comparison as a document: its parts for people, its differences as CSV, its instances as Parquet and as test cases."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalsuite.reports.comparison_page import page_sections
from evalsuite.reports.comparison_sections import heading, headline, sections, verdict_line
from evalsuite.reports.document import Case, Column, Document, Form, Section, Strong, Suite, Table
from evalsuite.reports.words import points

if TYPE_CHECKING:
    from evalsuite.board import Candidate, Comparison
    from evalsuite.board.pairing import Paired
    from evalsuite.board.tested_differences import PairedDifference

_NUMBERS = {
    "n": "n", "baseline": "a", "score": "b", "difference": "difference", "low": "low", "high": "high", "p": "p",
    "p_adjusted": "p_adjusted", "effect": "effect", "wins": "wins", "ties": "ties", "losses": "losses", "method": "method",
}  # fmt: skip


def comparison_document(comparison: "Comparison", *, everything: bool = False) -> Document:
    """The report of a comparison; `everything` lists all flips and fields, as a page always does."""

    def parts(form: Form) -> Iterator[Section]:
        if form == "html":
            yield from page_sections(comparison, list(sections(comparison, everything=True)))
            return
        if form == "markdown":
            yield Section(prose=(Strong(headline(comparison)),))
        yield from sections(comparison, everything=everything)

    return Document(
        name=comparison.suite,
        title=heading(comparison),
        sections=parts,
        last_line=verdict_line(comparison),
        tables={"csv": difference_table(comparison), "parquet": instance_table(comparison)},
        whole=comparison.to_json(),
        suites=lambda: suites(comparison),
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """A row of the CSV: a difference, the candidate it is of, and the part of the comparison it stands in."""

    candidate: str
    part: str
    row: "PairedDifference"


def difference_table(comparison: "Comparison") -> Table[Difference]:
    """A row for each difference: the totals, by scorer, by group and by field (F1); shares in [0, 1], None for what there is not."""

    def number(name: str, attribute: str) -> Column[Difference]:
        return Column(name=name, value=lambda one: getattr(one.row, attribute))

    columns: list[Column[Difference]] = [
        Column(name="candidate", value=lambda one: one.candidate),
        Column(name="part", value=lambda one: one.part),
        Column(name="name", value=lambda one: one.row.name),
        *(number(name, attribute) for name, attribute in _NUMBERS.items()),
    ]
    return Table(columns=columns, rows=_differences(comparison))


def _differences(comparison: "Comparison") -> Iterator[Difference]:
    for one in comparison.candidates:
        parts = (("total", [one.total]), ("scorer", one.by_scorer), ("group", one.by_group), ("field", [field.f1 for field in one.fields]))
        for part, rows in parts:
            yield from (Difference(one.label, part, row) for row in rows)


def instance_table(comparison: "Comparison") -> "Table[tuple[Candidate, Paired]]":
    """A row for each instance and candidate, in gold order; scores in [0, 1]."""

    def column(name: str, value: Any, type_: str = "VARCHAR") -> "Column[tuple[Candidate, Paired]]":
        return Column(name=name, value=lambda row: value(*row), type=type_)

    columns = [
        column("suite", lambda *_: comparison.suite),
        column("baseline", lambda *_: comparison.baseline),
        column("candidate", lambda one, _: one.label),
        column("instance_id", lambda _, pair: pair.instance_id),
        column("scorer", lambda _, pair: pair.scorer),
        column("groups", lambda _, pair: pair.groups, "VARCHAR[]"),
        column("outcome", lambda _, pair: outcome(comparison, pair)),
        column("baseline_score", lambda _, pair: pair.a, "DOUBLE"),
        column("score", lambda _, pair: pair.b, "DOUBLE"),
        column("difference", lambda _, pair: pair.change, "DOUBLE"),
        column("baseline_reason", lambda _, pair: pair.reason_a),
        column("reason", lambda _, pair: pair.reason_b),
    ]
    return Table(columns=columns, rows=((one, pair) for one in comparison.candidates for pair in one.instances))


def outcome(comparison: "Comparison", one: "Paired") -> str:
    """`lost`, `won` or `tied`; `unjudged` where one side was not judged, `not_shown` where nobody may know."""
    if one.change is None:
        return "not_shown" if comparison.level == "none" else "unjudged"
    return "lost" if one.change < 0 else "won" if one.change > 0 else "tied"


def suites(comparison: "Comparison") -> list[Suite]:
    """A test suite for each candidate with a case for each instance of both sides; what was lost is a failure."""
    return [_suite(comparison, one) for one in comparison.candidates]


def _suite(comparison: "Comparison", candidate: "Candidate") -> Suite:
    total = candidate.total
    properties = [("baseline", comparison.baseline), ("rules", comparison.rules), ("verdict", candidate.verdict)]
    properties += [("points", points(total.difference)), ("p", "" if total.p_adjusted is None else f"{total.p_adjusted:.6g}")]
    properties += [("won / tied / lost", f"{total.wins} / {total.ties} / {total.losses}"), ("signature", candidate.signature)]
    return Suite(name=candidate.label, cases=[_case(comparison, one) for one in candidate.instances], properties=properties)


def _case(comparison: "Comparison", one: "Paired") -> Case:
    found = outcome(comparison, one)
    kind = {"lost": "failure", "unjudged": "skipped", "not_shown": "skipped"}.get(found, "passed")
    scores = " -> ".join("not judged" if value is None else f"{value:.4g}" for value in (one.a, one.b))
    why = f"{comparison.baseline}: {one.reason_a or 'no reason'}; now: {one.reason_b or 'no reason'}"
    message = scores if not (one.reason_a or one.reason_b) else f"{scores}; {why}"
    return Case(name=one.instance_id, classname=f"{comparison.suite}.{one.scorer or 'none'}", kind=kind, type=found, message=message)
