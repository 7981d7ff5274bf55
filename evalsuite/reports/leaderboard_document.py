"""Build the document of a leaderboard: the table for people, the columns of its files, and how to repeat it."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from evalsuite.core.errors import FAULTS
from evalsuite.core.status import KINDS
from evalsuite.core.version import __version__
from evalsuite.reports.document import Case, Column, Document, Form, Picture, Section, Strong, Suite, Table
from evalsuite.reports.words import count_words, interval_words, percent
from evalsuite.runs.signature import clock_in, shown_rules

if TYPE_CHECKING:
    from markupsafe import Markup

    from evalsuite.analysis.leaderboard.ranking import Leaderboard, RankedRow


_SHOWN_METADATA = ("model_name", "model_version", "foundation_model")
_ABSENT = "-"


def ranked_table(
    board: "Leaderboard", *, more: "Sequence[Column[RankedRow]]" = (), link: "Callable[[RankedRow], str] | None" = None
) -> "Table[RankedRow]":
    """Build the table: one row per submission, best first, shares in percent; metadata and faults only if a row has some.

    The columns of `more` follow the names; `link` returns the address of a name's page.
    """

    def column(title: str, words: "Callable[[RankedRow], str]", *, short: str = "", wraps: bool = False) -> "Column[RankedRow]":
        def cell(row: "RankedRow") -> str:
            return words(row) if not row.fault else _ABSENT

        return Column(name=title, short=short, words=cell, wraps=wraps, is_number=not wraps)

    def model(row: "RankedRow") -> str:
        return " ".join(row.metadata[key] for key in _SHOWN_METADATA if row.metadata.get(key)) or _ABSENT

    def part(name: str) -> "Column[RankedRow]":
        return column(f"{name} ({board.by_direction[name]} is better)", lambda row: _part_words(board, name, row.by.get(name)), short=name)

    models = [Column(name="model", words=model, wraps=True)] if any(model(row) != _ABSENT for row in board.rows) else []
    faults = [column("faults", lambda row: faults_words(row.faults), wraps=True)] if any(row.faults for row in board.rows) else []
    has_errata = any(row.corrected is not None for row in board.rows)
    corrected = [column("corrected", lambda row: _value_words(board, row.corrected))] if has_errata else []
    columns: list[Column[RankedRow]] = [
        Column(name="rank", words=lambda row: _rank_words(row) if row.rank is not None else _ABSENT, role="name"),
        Column(name="submission", words=lambda row: row.name, role="name"),
        *more,
        *models,
        column(board.score_title, lambda row: _score_words(board, row), short="score"),
        column("95 % CI", lambda row: _words_of_interval(board, row.interval)),
        column("official", lambda row: _value_words(board, row.official)),
        column("strict", lambda row: _value_words(board, row.strict)),
        *corrected,
        column("submitted", lambda row: f"{row.n_handed_in}/{board.n_instances}"),
        column("rank interval", _own_places),
        *_sample_columns(board),
        *faults,
        *map(part, board.by_direction),
    ]
    return Table(columns=columns, rows=board.rows, style=lambda row: "dim" if row.rank is None else "", link=link, is_long=True)


def _sample_columns(board: "Leaderboard") -> "list[Column[RankedRow]]":
    """The columns of samples: their number, and pass@k at the most samples that all models have; none if rows are not models."""
    least = [row.samples["n_samples"][0] for row in board.rows if row.samples]
    if not least:
        return []
    k = min(least)

    def chance(name: str) -> "Callable[[RankedRow], str]":
        def words(row: "RankedRow") -> str:
            found = row.samples["passes"][k - 1] if row.samples else None
            error = found[f"{name}_se"] if found else None
            return _ABSENT if found is None else percent(found[name]) + ("" if error is None else f" ± {100 * error:.1f}")

        return words

    def n_samples(row: "RankedRow") -> str:
        return "-".join(map(str, dict.fromkeys(row.samples["n_samples"]))) if row.samples else _ABSENT

    return [
        Column(name="samples", words=n_samples, is_number=True),
        Column(name=f"pass@{k}", words=chance("any"), is_number=True),
        Column(name=f"pass^{k}", words=chance("all"), is_number=True),
    ]


def _rank_words(row: "RankedRow") -> str:
    """`2 (1-4)`: the rank by score, and the range of ranks that the tests leave open if it has more than one."""
    first, last = row.shared_ranks or (row.rank, row.rank)
    return f"{row.rank}" if first == last else f"{row.rank} ({first}-{last})"


def _own_places(row: "RankedRow") -> str:
    """`2-5`: the 95 % interval of the rank."""
    if row.rank_interval is None:
        return _ABSENT
    return "-".join(str(place) for place in dict.fromkeys(row.rank_interval))


def _score_words(board: "Leaderboard", row: "RankedRow") -> str:
    """Format the score in percent, with its bounds over all instances if some were not judged; a dash if none was.

    A mean on the metric's own scale is shown unchanged.
    """
    if board.is_raw or row.score is None or row.score_low is None or row.score_high is None:
        return _value_words(board, row.score)
    low, high = sorted((row.score_low, row.score_high))
    return percent(row.score) if high - low < 1e-12 else f"{percent(row.score)} [{percent(low, '')}, {percent(high, '')}]"


def _words_of_interval(board: "Leaderboard", ends: "tuple[float, float] | None") -> str:
    if board.is_raw and ends is not None:
        return f"[{ends[0]:.4g}, {ends[1]:.4g}]"
    return interval_words(ends) or _ABSENT


def faults_words(faults: Mapping[str, int]) -> str:
    """`2 submission faults, 1 timeout`, or a dash."""
    return ", ".join(KINDS[name].counted(count) for name, count in faults.items()) or _ABSENT


def _value_words(board: "Leaderboard", value: float | None) -> str:
    """Format a share in percent, or a value on the metric's own scale; a dash for none."""
    return _ABSENT if value is None else f"{value:.4g}" if board.is_raw else percent(value)


def _part_words(board: "Leaderboard", name: str, value: float | None) -> str:
    return f"{value:.4g}" if value is not None and name in board.raw_columns else _value_words(board, value)


# Column of a Parquet file -> its type and its value in a row; shares in [0, 1], None for absent values.
_BOARD_NUMBERS: "Final[Mapping[str, tuple[str, Callable[[Leaderboard, RankedRow], Any]]]]" = {
    "suite": ("VARCHAR", lambda board, _: board.suite),
    "rules": ("VARCHAR", lambda board, _: board.rules),
    "direction": ("VARCHAR", lambda board, _: board.direction),
    "submission": ("VARCHAR", lambda _, row: row.name),
    "run": ("VARCHAR", lambda _, row: row.run),
    "rank": ("BIGINT", lambda _, row: row.rank),
    "shared_rank_from": ("BIGINT", lambda _, row: (row.shared_ranks or (None, None))[0]),
    "shared_rank_to": ("BIGINT", lambda _, row: (row.shared_ranks or (None, None))[1]),
    "rank_low": ("BIGINT", lambda _, row: (row.rank_interval or (None, None))[0]),
    "rank_high": ("BIGINT", lambda _, row: (row.rank_interval or (None, None))[1]),
    "p_first": ("DOUBLE", lambda _, row: row.p_first),
    "score": ("DOUBLE", lambda _, row: row.score),
    "ci_low": ("DOUBLE", lambda _, row: (row.interval or (None, None))[0]),
    "ci_high": ("DOUBLE", lambda _, row: (row.interval or (None, None))[1]),
    "n_judged": ("BIGINT", lambda _, row: row.n_judged),
    "score_if_unjudged_were_right": ("DOUBLE", lambda _, row: row.score_high),
    "official": ("DOUBLE", lambda _, row: row.official),
    "strict": ("DOUBLE", lambda _, row: row.strict),
    "corrected": ("DOUBLE", lambda _, row: row.corrected),
    "n_handed_in": ("BIGINT", lambda _, row: row.n_handed_in),
    "n_instances": ("BIGINT", lambda board, _: board.n_instances),
    "fault": ("VARCHAR", lambda _, row: row.fault or None),
    "faults": ("MAP(VARCHAR, BIGINT)", lambda _, row: dict(row.faults)),
    "by": ("MAP(VARCHAR, DOUBLE)", lambda _, row: dict(row.by)),
    "metadata": ("MAP(VARCHAR, VARCHAR)", lambda _, row: dict(row.metadata)),
}
CSV_NUMBERS: Final = (
    "rank", "submission", "score", "ci_low", "ci_high", "score_if_unjudged_were_right", "official", "strict", "corrected", "n_handed_in",
    "n_instances", "shared_rank_from", "shared_rank_to", "rank_low", "rank_high", "p_first", "fault", "run",
)  # fmt: skip


def parquet_table(board: "Leaderboard") -> "Table[RankedRow]":
    """Build a table with one row per submission and all numbers by name."""
    return Table(columns=[number_column(board, name) for name in _BOARD_NUMBERS], rows=board.rows)


def number_column(board: "Leaderboard", name: str, title: str = "") -> "Column[RankedRow]":
    """Return the column of one of the board's numbers, by its name or under another title."""
    type_, value = _BOARD_NUMBERS[name]
    return Column(name=title or name, type=type_, value=lambda row: value(board, row))


def mapping_column(attribute: str, key: str, title: str) -> "Column[RankedRow]":
    """Return the column of one key of a row's mapping."""
    return Column(name=title, value=lambda row: getattr(row, attribute).get(key))


MOST_DRAWN = 24


def leaderboard_document(
    board: "Leaderboard",
    *,
    title: str = "",
    about: Sequence[tuple[str, str]] = (),
    more: "Sequence[Column[RankedRow]]" = (),
    link: "Callable[[RankedRow], str] | None" = None,
) -> Document:
    """Build the report of a leaderboard.

    The optional arguments change its page: another `title` than the suite's name, facts `about` it, `more` columns, and a `link` of each
    name.
    """
    table = ranked_table(board, more=more, link=link)
    # Column names include the direction; one column per part and per metadata key.
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
    """Yield the parts of the page: the scores with intervals, the table, facts, and how to repeat it."""
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
    """Yield (label, text) below the table: how it was made, what was forced, what could not be read."""
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
        over = f"{board.correction.title()} over {count_words(board.family, 'pair')}"
        pairs = f"{board.test} on paired instances, {over}, alpha {1 - board.confidence:.2g}"
        yield "ranks", f"by {board.score_title}; in brackets the places that tests leave open ({pairs})"
        own = f"{board.correction.title()} over its {count_words(len([row for row in board.rows if row.rank]) - 1, 'pair')}"
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
    """Return the first line: the suite and rules; not escaped."""
    kind = "anonymous leaderboard" if board.anonymous else "leaderboard"
    return f"{board.suite} · {kind} · {count_words(len(board.rows), 'submission')} · {_instances_ranked_on(board)}"


def _instances_ranked_on(board: "Leaderboard") -> str:
    """`40 instances`, or `27 of 40 instances` if the runs cover a part of gold."""
    n = count_words(board.n_instances, "instance") if board.part_of is None else f"{board.n_instances} of {board.part_of} instances"
    return f"{n}, {board.n_units} records" if board.n_units > board.n_instances else n


def board_last_line(board: "Leaderboard") -> str:
    """Return the last line of the command: `done: 12 submissions ranked (1 new, 11 reused)`."""
    n = sum(row.rank is not None for row in board.rows)
    broken = sum(bool(row.fault) for row in board.rows)
    unranked = f", {len(board.rows) - n - broken} not ranked: not all was judged" if len(board.rows) - n - broken else ""
    unread = (f", {broken} could not be read" if broken else "") + unranked
    runs = f", {board.n_runs} runs" if board.n_runs else ""
    part = "" if board.part_of is None else f" on {_instances_ranked_on(board)}"
    return f"done: {count_words(n, 'submission')} ranked{part} ({board.n_new} new, {board.n_reused} reused{runs}){unread}"


def _board_suite(board: "Leaderboard") -> Suite:
    """Build a test suite with one case per submission, best first; an unreadable one is an error with its fault."""
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
    """Draw the scores of a leaderboard with their intervals, best first; unreadable submissions are left out."""
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
