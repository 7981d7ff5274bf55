"""A leaderboard as a document: one row a submission, and what is needed to repeat it."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from evalsuite import __version__
from evalsuite.errors import FAULTS
from evalsuite.reports.document import Case, Column, Document, Form, Picture, Section, Strong, Suite, Table
from evalsuite.reports.leaderboard_columns import CSV_NUMBERS, faults_words, mapping_column, number_column, parquet_table, ranked_table
from evalsuite.reports.words import counted, percent
from evalsuite.store.signature import clock_in, shown_rules

if TYPE_CHECKING:
    from markupsafe import Markup

    from evalsuite.board.ranking import Leaderboard, RankedRow

MOST_DRAWN = 24


def leaderboard_document(
    board: "Leaderboard",
    *,
    title: str = "",
    about: Sequence[tuple[str, str]] = (),
    more: "Sequence[Column[RankedRow]]" = (),
    link: "Callable[[RankedRow], str] | None" = None,
) -> Document:
    """The report of a leaderboard.

    Where they are given, its page has another `title` than the suite's name, facts `about` it, `more` columns, and names that lead to a
    `link`.
    """
    table = ranked_table(board, more=more, link=link)
    # The numbers with their polarity in their names; a column for each part and each key of the metadata.
    named = {"score": f"score_{board.direction}_is_better"}
    keys = sorted({key for row in board.rows for key in row.metadata})
    columns: list[Column[RankedRow]] = [
        *(number_column(board, name, named.get(name, name)) for name in CSV_NUMBERS),
        Column(name="faults", value=lambda row: faults_words(row.faults) if row.faults else None),
        *(mapping_column("by", name, f"{name} ({way} is better)") for name, way in board.by_direction.items()),
        *(mapping_column("metadata", key, key) for key in keys),
    ]
    return Document(
        name=board.suite,
        title=board_heading(board),
        sections=lambda form: (
            _board_page_sections(board, table, title or board.suite, about) if form == "html" else _board_sections(board, form)
        ),
        last_line=board_last_line(board),
        tables={"csv": Table(columns=columns, rows=board.rows), "parquet": parquet_table(board)},
        whole=board.to_json(),
        suites=lambda: [_board_suite(board)],
        width=160,
    )


def _board_sections(board: "Leaderboard", form: Form) -> Iterator[Section]:
    if form == "markdown":
        yield Section(prose=(Strong(board_last_line(board).removeprefix("done: ")),))
    yield Section(table=ranked_table(board))
    yield Section(pairs=list(board_facts(board)))


def _board_page_sections(
    board: "Leaderboard", table: "Table[RankedRow]", title: str, facts: Sequence[tuple[str, str]]
) -> Iterator[Section]:
    """The scores with their intervals, the table, facts, and what is needed to repeat it."""
    about = f"{board_heading(board).removeprefix(f'{board.suite} · ')} · rules {shown_rules(board.rules, board.signatures)}"
    undrawn = max(0, len(board.rows) - MOST_DRAWN)
    yield Section(
        look="head",
        title=title,
        prose=[about, board_last_line(board).removeprefix("done: ")],
        values={"about": "leaderboard", "tab": f"{title}: leaderboard"},
    )
    note = f"{undrawn} more in the table" if undrawn else ""
    yield Section(look="card", pictures=[Picture(board.score_title.capitalize(), ranking_picture(board), note)])
    yield Section(table=table)
    yield Section(look="foot", pairs=[*facts, *board_facts(board), ("made with", f"evalsuite {__version__}")])


def board_facts(board: "Leaderboard") -> Iterator[tuple[str, str]]:
    """(label, text) of what stands under the table: how it was made, what was forced, what could not be read."""
    yield "instances", str(board.n_instances)
    counts = [f"{board.n_new} new", f"{board.n_reused} reused", *([f"{board.n_runs} runs"] if board.n_runs else [])]
    yield "scored", ", ".join(counts)
    yield "rules", shown_rules(board.rules, board.signatures)
    if clocks := {clock for signature in board.signatures if (clock := clock_in(signature))}:
        yield "clock at", ", ".join(sorted(clocks))
    for row in board.rows:
        if row.n_judged is not None and row.rank is None:
            more = "; --allow-unscored ranks over what all were judged on" if row.n_judged else ""
            yield "not ranked", f"{row.name}: judged on {row.n_judged} of {board.n_instances}{more}"
    if board.family:
        over = f"{board.correction.title()} over {counted(board.family, 'pair')}"
        pairs = f"{board.test} on paired instances, {over}, alpha {1 - board.confidence:.2g}"
        yield "ranks", f"by {board.score_title}; in brackets the places that tests leave open ({pairs})"
        own = f"{board.correction.title()} over its {counted(len([row for row in board.rows if row.rank]) - 1, 'pair')}"
        yield "rank interval", f"the places that the tests of one submission against the others leave open ({own})"
        yield "stability", _stability_words(board)
    for row in board.rows:
        if row.fault:
            yield "unreadable", f"{row.name}: {row.fault}"
    for note in board.notes:
        yield "note", note
    for difference in board.forced:
        yield "FORCED", f"ranked although they differ in {difference}"
    for line in board.signatures:
        yield "signature", line


def _stability_words(board: "Leaderboard") -> str:
    made = f"{board.n_resamples} resamples of the instances, seed {board.seed}"
    first = [row for row in board.rows if row.p_first]
    leaders = ", ".join(f"{row.name} {percent(row.p_first or 0)}" for row in sorted(first, key=lambda row: -(row.p_first or 0))[:3])
    tau = "" if board.tau is None else f"; mean Kendall tau {board.tau:.2f}"
    return f"first in {leaders} of {made}{tau}"


def board_heading(board: "Leaderboard") -> str:
    """The first line: what was ranked; not yet made safe for any format."""
    kind = "anonymous leaderboard" if board.anonymous else "leaderboard"
    return f"{board.suite} · {kind} · {counted(len(board.rows), 'submission')} · {_instances_ranked_on(board)}"


def _instances_ranked_on(board: "Leaderboard") -> str:
    """`40 instances`, or `27 of 40 instances` where the runs are of a part of gold."""
    n = counted(board.n_instances, "instance") if board.part_of is None else f"{board.n_instances} of {board.part_of} instances"
    return f"{n}, {board.n_units} records" if board.n_units > board.n_instances else n


def board_last_line(board: "Leaderboard") -> str:
    """The line that ends the command: `done: 12 submissions ranked (1 new, 11 reused)`."""
    n = sum(row.rank is not None for row in board.rows)
    broken = sum(bool(row.fault) for row in board.rows)
    unranked = f", {len(board.rows) - n - broken} not ranked: not all was judged" if len(board.rows) - n - broken else ""
    unread = (f", {broken} could not be read" if broken else "") + unranked
    runs = f", {board.n_runs} runs" if board.n_runs else ""
    part = "" if board.part_of is None else f" on {_instances_ranked_on(board)}"
    return f"done: {counted(n, 'submission')} ranked{part} ({board.n_new} new, {board.n_reused} reused{runs}){unread}"


def _board_suite(board: "Leaderboard") -> Suite:
    """A case for each submission, best first; one that could not be read is an error with its fault."""
    properties = [("polarity", board.score_title), *board_facts(board)]
    return Suite(name=board.suite, cases=[_submission_case(board, row) for row in board.rows], properties=properties)


def _submission_case(board: "Leaderboard", row: "RankedRow") -> Case:
    classname = f"{board.suite}.leaderboard"
    if not row.fault:
        if row.rank is not None:
            return Case(name=row.name, classname=classname)
        message = "the grader's side left instances unjudged"
        return Case(name=row.name, classname=classname, kind="skipped", type="unjudged", message=message)
    code = next((word for word in re.findall("[A-Z_]+", row.fault) if word in FAULTS), "UNREADABLE")
    return Case(name=row.name, classname=classname, kind="error", type=code, message=row.fault)


def ranking_picture(board: "Leaderboard") -> "Markup":
    """The scores of a leaderboard with their intervals, best first; what could not be read is left out."""
    from markupsafe import Markup

    from evalsuite.reports.pictures import IntervalRow, draw_intervals

    drawn = []
    for row in board.rows[:MOST_DRAWN]:
        if row.rank is not None:
            low, high = row.interval or (None, None)
            words = f"{row.score:.4g}" if board.is_raw and row.score is not None else ""
            drawn.append(IntervalRow(f"{row.rank}. {row.name}", row.score, low, high, words=words, bound=row.score_high))
    values = [value for row in drawn for value in (row.value, row.low, row.high) if value is not None]
    return Markup(
        draw_intervals(
            drawn,
            title="Scores, best first",
            span=(min([0.0, *values]), max([0.0 if board.is_raw else 1.0, *values])),
            confidence=board.confidence,
        )
    )
