"""A comparison as a page: the difference in large, pictures, what was lost and won with both reasons, and the parts."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from evalsuite import __version__
from evalsuite.reports.comparison_sections import headline, small_print
from evalsuite.reports.document import Picture, Section, Tile
from evalsuite.reports.words import p_value, points

if TYPE_CHECKING:
    from markupsafe import Markup

    from evalsuite.board import Candidate, Comparison
    from evalsuite.board.tested_differences import PairedDifference

MOST_ROWS = 1000
MOST_DRAWN = 24


def page_sections(comparison: "Comparison", sections: Sequence[Section]) -> Iterator[Section]:
    """The parts of the page; `sections` are those of every form for people."""
    n = max(one.total.n for one in comparison.candidates)
    one = comparison.candidates[0] if len(comparison.candidates) == 1 else None
    large = points(one.total.difference) if one else f"{len(comparison.candidates)} candidates"
    overview = differences([one.total for one in comparison.candidates], comparison, title=f"Difference to {comparison.baseline}")
    yield Section(
        look="hero",
        title=comparison.suite or "Comparison",
        prose=[f"baseline {comparison.baseline} · rules {comparison.rules} · {n} instances paired", headline(comparison)],
        pictures=[Picture("", overview, f"in points against {comparison.baseline}; right of the dashed line is better")],
        values={
            "about": "comparison",
            "headline": large,
            "unit": "points" if one and large != "-" else "",
            "tab": f"{headline(comparison)} · {comparison.suite}",
        },
    )
    yield Section(look="card", title="Warnings", lines=comparison.warnings)
    if one:
        yield Section(tiles=tiles(one))
    yield next(section for section in sections if section.kind == "candidate")
    yield Section(look="cards", pictures=figures(comparison))
    for section in sections:
        if section.of:
            yield _cut(replace(section, is_folded=section.kind not in ("lost", "won")))
    yield Section(look="foot", pairs=[*small_print(comparison), ("made with", f"evalsuite {__version__}")])


def tiles(one: "Candidate") -> list[Tile]:
    """What happened to the instances."""
    total = one.total
    found = (Tile(total.losses, "lost", "wrong"), Tile(total.wins, "won", "right"), Tile(total.ties, "tied"))
    return [tile for tile in (*found, Tile(len(one.unjudged), "not judged", "unscored")) if tile.n]


def figures(comparison: "Comparison") -> list[Picture]:
    """Verdicts of both sides, and the differences of each part."""
    found = []
    for one in comparison.candidates:
        label = "" if len(comparison.candidates) == 1 else f"{one.label}: "
        matrix = flip_matrix(one, comparison.baseline)
        found.append(Picture(f"{label}Who is right", matrix, "of the instances that both were judged on"))
        for name, rows in (("scorer", one.by_scorer), ("group", one.by_group), ("field", [field.f1 for field in one.fields])):
            if any(row.n < one.total.n for row in rows) or (name == "field" and rows):
                title = f"{label}Difference by {name}"
                more = f"; {len(rows) - MOST_DRAWN} more in the table" if len(rows) > MOST_DRAWN else ""
                found.append(Picture(title, differences(rows, comparison, title=title), f"in points, with Holm's p{more}"))
    return found


def differences(rows: "Sequence[PairedDifference]", comparison: "Comparison", *, title: str) -> "Markup":
    """Differences to the baseline in points with their intervals, on a scale around 0: right of the dashed line is better."""
    from markupsafe import Markup

    from evalsuite.reports.pictures.intervals import IntervalRow, draw

    drawn = [IntervalRow(row.name or "(root)", row.difference, row.low, row.high, words=_words(row)) for row in rows[:MOST_DRAWN]]
    widest = max((abs(end) for row in drawn for end in (row.value, row.low, row.high) if end is not None), default=0.0)
    reach = max(0.05, widest) * 1.05
    return Markup(draw(drawn, title=title, span=(-reach, reach), mark=0.0, confidence=1 - comparison.alpha))


def _words(row: "PairedDifference") -> str:
    return f"{points(row.difference)} (p {p_value(row.p if row.p_adjusted is None else row.p_adjusted)})"


def flip_matrix(one: "Candidate", baseline: str) -> "Markup":
    """How often both are right, one of them, or neither; of the instances that both were judged on."""
    from markupsafe import Markup

    from evalsuite.reports.pictures.flips import Flips, draw

    both, first_only, second_only, neither = one.right
    matrix = Flips(both=both, first_only=first_only, second_only=second_only, neither=neither)
    return Markup(draw(matrix, title=f"{baseline} and {one.label}", first="baseline", second="candidate"))


def _cut(section: Section) -> Section:
    """The section with at most a thousand rows; how many are left out is said."""
    if section.table is None:
        return section
    rows = list(section.table.rows)
    rest = len(rows) - MOST_ROWS
    if rest <= 0:
        return section
    more = f"... {rest} more, not shown to keep this file small; a .parquet or .csv file holds all"
    return replace(section, table=replace(section.table, rows=rows[:MOST_ROWS]), below=(*section.below, more))
