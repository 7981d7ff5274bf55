"""A comparison as a document: its parts for people, its page, its differences as CSV, its instances as Parquet and as test cases."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evalsuite import __version__
from evalsuite.reports.comparison_sections import (
    candidates_in_words,
    comparison_facts,
    comparison_heading,
    comparison_sections,
    comparison_verdict,
    how_it_was_made,
    own_points,
)
from evalsuite.reports.document import Case, Column, Document, Form, Picture, Section, Strong, Suite, Table, Tile
from evalsuite.reports.words import p_value

if TYPE_CHECKING:
    from markupsafe import Markup

    from evalsuite.board import Candidate, Comparison
    from evalsuite.board.pairing import Paired
    from evalsuite.board.tested_differences import PairedDifference


_DIFFERENCE_NUMBERS = {
    "n": "n", "baseline": "a", "score": "b", "difference": "difference", "low": "low", "high": "high", "p": "p",
    "p_adjusted": "p_adjusted", "effect": "effect", "wins": "wins", "ties": "ties", "losses": "losses", "method": "method",
}  # fmt: skip


def comparison_document(comparison: "Comparison", *, everything: bool = False) -> Document:
    """The report of a comparison; `everything` lists all flips and fields, as a page always does."""

    def parts(form: Form) -> Iterator[Section]:
        if form == "html":
            yield from comparison_page_sections(comparison, list(comparison_sections(comparison, everything=True)))
            return
        if form == "markdown":
            yield Section(prose=(Strong(candidates_in_words(comparison)),))
        yield from comparison_sections(comparison, everything=everything, drawn=form == "text")

    return Document(
        name=comparison.suite,
        title=comparison_heading(comparison),
        sections=parts,
        last_line=comparison_verdict(comparison),
        tables={"csv": difference_table(comparison), "parquet": instance_table(comparison)},
        whole=comparison.to_json(),
        suites=lambda: [_candidate_suite(comparison, one) for one in comparison.candidates],
    )


@dataclass(frozen=True, slots=True)
class PartDifference:
    """A row of the CSV: a difference, the candidate it is of, and the part of the comparison it stands in."""

    candidate: str
    part: str
    row: "PairedDifference"


def difference_table(comparison: "Comparison") -> Table[PartDifference]:
    """A row for each difference: the totals, by scorer, by group and by field (F1); shares in [0, 1], None for what there is not."""

    def number(name: str, attribute: str) -> Column[PartDifference]:
        return Column(name=name, value=lambda one: getattr(one.row, attribute))

    columns: list[Column[PartDifference]] = [
        Column(name="candidate", value=lambda one: one.candidate),
        Column(name="part", value=lambda one: one.part),
        Column(name="name", value=lambda one: one.row.name),
        *(number(name, attribute) for name, attribute in _DIFFERENCE_NUMBERS.items()),
    ]
    if comparison.corrected is not None:
        of = {one.label: one.corrected for one in comparison.candidates}
        columns += [
            Column(name="baseline_corrected", value=lambda one: comparison.corrected if one.part == "total" else None),
            Column(name="corrected", value=lambda one: of.get(one.candidate) if one.part == "total" else None),
        ]
    return Table(columns=columns, rows=list(_part_differences(comparison)))


def _part_differences(comparison: "Comparison") -> Iterator[PartDifference]:
    for one in comparison.candidates:
        parts = (("total", [one.total]), ("scorer", one.by_scorer), ("group", one.by_group), ("field", [field.f1 for field in one.fields]))
        for part, rows in parts:
            yield from (PartDifference(one.label, part, row) for row in rows)


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
        column("outcome", lambda _, pair: paired_outcome(comparison, pair)),
        column("baseline_score", lambda _, pair: pair.a, "DOUBLE"),
        column("score", lambda _, pair: pair.b, "DOUBLE"),
        column("difference", lambda _, pair: pair.change, "DOUBLE"),
        column("baseline_reason", lambda _, pair: pair.reason_a),
        column("reason", lambda _, pair: pair.reason_b),
    ]
    if comparison.corrected is not None:
        columns += [
            column("baseline_corrected", lambda *_: comparison.corrected, "DOUBLE"),
            column("corrected", lambda one, _: one.corrected, "DOUBLE"),
        ]
    return Table(columns=columns, rows=[(one, pair) for one in comparison.candidates for pair in one.instances])


def paired_outcome(comparison: "Comparison", pair: "Paired") -> str:
    """`lost`, `won` or `tied`; `unjudged` where one side was not judged, `not_shown` where nobody may know."""
    if pair.gain is None:
        return "not_shown" if comparison.level == "none" else "unjudged"
    return "lost" if pair.gain < 0 else "won" if pair.gain > 0 else "tied"


def _candidate_suite(comparison: "Comparison", candidate: "Candidate") -> Suite:
    """A case for each instance of both sides; what was lost is a failure."""
    total = candidate.total
    properties = [("baseline", comparison.baseline), ("rules", comparison.rules), ("verdict", candidate.verdict)]
    properties += [
        ("difference" if total.is_raw else "points", own_points(total)),
        ("p", "" if total.p_adjusted is None else f"{total.p_adjusted:.6g}"),
    ]
    properties += [("won / tied / lost", f"{total.wins} / {total.ties} / {total.losses}"), ("signature", candidate.signature)]
    return Suite(name=candidate.label, cases=[_instance_case(comparison, one) for one in candidate.instances], properties=properties)


def _instance_case(comparison: "Comparison", pair: "Paired") -> Case:
    found = paired_outcome(comparison, pair)
    kind = {"lost": "failure", "unjudged": "skipped", "not_shown": "skipped"}.get(found, "passed")
    scores = " -> ".join("not judged" if value is None else f"{value:.4g}" for value in (pair.a, pair.b))
    why = f"{comparison.baseline}: {pair.reason_a or 'no reason'}; now: {pair.reason_b or 'no reason'}"
    message = scores if not (pair.reason_a or pair.reason_b) else f"{scores}; {why}"
    return Case(name=pair.instance_id, classname=f"{comparison.suite}.{pair.scorer or 'none'}", kind=kind, type=found, message=message)


MOST_ROWS = 1000
MOST_DRAWN = 24


def comparison_page_sections(comparison: "Comparison", sections: Sequence[Section]) -> Iterator[Section]:
    """The parts of the page; `sections` are those of every form for people."""
    one = comparison.candidates[0] if len(comparison.candidates) == 1 else None
    large = own_points(one.total) if one else f"{len(comparison.candidates)} candidates"
    is_raw = any(row.total.is_raw for row in comparison.candidates)
    better = "right of the dashed line is better"
    scale = f"on the metric's own scale against {comparison.baseline}" if is_raw else f"in points against {comparison.baseline}; {better}"
    overview = differences_picture([one.total for one in comparison.candidates], comparison, title=f"Difference to {comparison.baseline}")
    yield Section(
        look="hero",
        title=comparison.suite or "Comparison",
        prose=[
            " · ".join(comparison_facts(comparison)),
            candidates_in_words(comparison),
        ],
        pictures=[Picture("", overview, scale)],
        values={
            "about": "comparison",
            "headline": large,
            "unit": "points" if one and large != "-" and not one.total.is_raw else "",
            "tab": f"{candidates_in_words(comparison)} · {comparison.suite}",
        },
    )
    yield Section(look="card", title="Warnings", lines=comparison.warnings)
    if one:
        yield Section(tiles=candidate_tiles(one))
    yield next(section for section in sections if section.kind == "candidate")
    yield Section(look="cards", pictures=comparison_figures(comparison))
    for section in sections:
        if section.of:
            yield _at_most_a_thousand(replace(section, is_folded=section.kind not in ("lost", "won")))
    yield Section(look="foot", pairs=[*how_it_was_made(comparison), ("made with", f"evalsuite {__version__}")])


def candidate_tiles(candidate: "Candidate") -> list[Tile]:
    """What happened to the instances."""
    total = candidate.total
    found = (Tile(total.losses, "lost", "wrong"), Tile(total.wins, "won", "right"), Tile(total.ties, "tied"))
    return [tile for tile in (*found, Tile(len(candidate.unjudged), "not judged", "unscored")) if tile.n]


def comparison_figures(comparison: "Comparison") -> list[Picture]:
    """Verdicts of both sides, and the differences of each part."""
    found = []
    for one in comparison.candidates:
        label = "" if len(comparison.candidates) == 1 else f"{one.label}: "
        matrix = flips_picture(one, comparison.baseline)
        found.append(Picture(f"{label}Who is right", matrix, "of the instances that both were judged on"))
        for name, rows in (("scorer", one.by_scorer), ("group", one.by_group), ("field", [field.f1 for field in one.fields])):
            rows = [row for row in rows if row.is_raw == one.total.is_raw]
            if len(rows) > 1 or any(row.n < one.total.n for row in rows) or (name == "field" and rows):
                title = f"{label}Difference by {name}"
                more = f"; {len(rows) - MOST_DRAWN} more in the table" if len(rows) > MOST_DRAWN else ""
                found.append(Picture(title, differences_picture(rows, comparison, title=title), f"in points, with Holm's p{more}"))
    return found


def differences_picture(rows: "Sequence[PairedDifference]", comparison: "Comparison", *, title: str) -> "Markup":
    """Differences to the baseline in points with their intervals, on a scale around 0: right of the dashed line is better."""
    from markupsafe import Markup

    from evalsuite.reports.pictures import IntervalRow, draw_intervals

    drawn = [IntervalRow(row.name or "(root)", row.difference, row.low, row.high, words=_points_and_p(row)) for row in rows[:MOST_DRAWN]]
    widest = max((abs(end) for row in drawn for end in (row.value, row.low, row.high) if end is not None), default=0.0)
    reach = max(0.05, widest) * 1.05
    return Markup(draw_intervals(drawn, title=title, span=(-reach, reach), mark=0.0, confidence=1 - comparison.alpha))


def _points_and_p(row: "PairedDifference") -> str:
    return f"{own_points(row)} (p {p_value(row.p if row.p_adjusted is None else row.p_adjusted)})"


def flips_picture(candidate: "Candidate", baseline: str) -> "Markup":
    """How often both are right, one of them, or neither; of the instances that both were judged on."""
    from markupsafe import Markup

    from evalsuite.reports.pictures import FlipCounts, draw_flips

    both, first_only, second_only, neither = candidate.right
    matrix = FlipCounts(both=both, first_only=first_only, second_only=second_only, neither=neither)
    return Markup(draw_flips(matrix, title=f"{baseline} and {candidate.label}", first="baseline", second="candidate"))


def _at_most_a_thousand(section: Section) -> Section:
    """The section with at most a thousand rows; how many are left out is said."""
    if section.table is None:
        return section
    rows = list(section.table.rows)
    rest = len(rows) - MOST_ROWS
    if rest <= 0:
        return section
    more = f"... {rest} more, not shown to keep this file small; a .parquet or .csv file holds all"
    return replace(section, table=replace(section.table, rows=rows[:MOST_ROWS]), below=(*section.below, more))
