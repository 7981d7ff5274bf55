"""Documents of a leaderboard (`analysis.leaderboard.ranking`): the ranked table, its facts, its page."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from evalsuite.core.errors import FAULTS, count_words
from evalsuite.core.scores import RULES
from evalsuite.core.status import KINDS
from evalsuite.core.version import __version__
from evalsuite.reports.comparison_documents import MOST_DRAWN, instances_in_words
from evalsuite.reports.document import Case, Column, Document, Form, Picture, Section, Strong, Suite, Table, interval_words, percent
from evalsuite.reports.pictures import IntervalRow, draw_intervals
from evalsuite.runs.run_options import clock_in, rules_label

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

    def model(row: "RankedRow") -> str:
        return " ".join(row.metadata[key] for key in _SHOWN_METADATA if row.metadata.get(key)) or _ABSENT

    def interval(row: "RankedRow") -> str:
        ends = row.interval
        return f"[{ends[0]:.4g}, {ends[1]:.4g}]" if board.is_raw and ends is not None else interval_words(ends) or _ABSENT

    def part(name: str) -> "Column[RankedRow]":
        def words(row: "RankedRow") -> str:
            value = row.by.get(name)
            return f"{value:.4g}" if value is not None and name in board.raw_columns else _value_words(board, value)

        return column(f"{name} ({board.by_direction[name]} is better)", words, short=name)

    def rank(row: "RankedRow") -> str:
        """`2 (1-4)`: the rank by score, and the range of ranks that the tests do not exclude if it has more than one."""
        first, last = row.shared_ranks or (row.rank, row.rank)
        return _ABSENT if row.rank is None else f"{row.rank}" if first == last else f"{row.rank} ({first}-{last})"

    models = [Column(name="model", words=model, wraps=True)] if any(model(row) != _ABSENT for row in board.rows) else []
    faults = [column("faults", lambda row: faults_words(row.faults), wraps=True)] if any(row.faults for row in board.rows) else []
    has_errata = any(row.corrected is not None for row in board.rows)
    corrected = [column("corrected", lambda row: _value_words(board, row.corrected))] if has_errata else []
    columns: list[Column[RankedRow]] = [
        Column(name="rank", words=rank, role="name"),
        Column(name="submission", words=lambda row: row.name, role="name"),
        *more,
        *models,
        column(board.score_title, lambda row: _score_words(board, row), short="score"),
        column("95 % CI", interval),
        *_columns_of_rules(board),
        *corrected,
        column("submitted", lambda row: f"{row.n_handed_in}/{board.n_instances}"),
        column("rank interval", lambda row: "-".join(map(str, dict.fromkeys(row.rank_interval or ()))) or _ABSENT),
        *_sample_columns(board),
        *faults,
        *map(part, board.by_direction),
    ]
    return Table(columns=columns, rows=board.rows, style=lambda row: "dim" if row.rank is None else "", link=link, is_long=True)


def column(title: str, words: "Callable[[RankedRow], str]", *, short: str = "", wraps: bool = False) -> "Column[RankedRow]":
    """Return a column of numbers, or of texts that may wrap; an unreadable submission has a dash in it."""

    def cell(row: "RankedRow") -> str:
        return words(row) if not row.fault else _ABSENT

    return Column(name=title, short=short, words=cell, wraps=wraps, is_number=not wraps)


def _columns_of_rules(board: "Leaderboard") -> "list[Column[RankedRow]]":
    """The means under both rules; only under the other one if those of the board's rules are the score in every row.

    Values on a scale of their own follow no rules.
    """
    names = (
        []
        if board.is_raw
        else [name for name in RULES if name != board.rules or any(getattr(row, name) != row.score for row in board.rows)]
    )

    def of(name: str) -> "Column[RankedRow]":
        return column(name, lambda row: _value_words(board, getattr(row, name)))

    return list(map(of, names))


def _sample_columns(board: "Leaderboard") -> "list[Column[RankedRow]]":
    """The columns of samples: their number, and pass@k at the most samples that all models have; none if rows are not models."""
    least = [row.samples["n_samples"][0] for row in board.rows if row.samples]
    if not least:
        return []
    k = min(least)

    def chance(name: str) -> "Callable[[RankedRow], str]":
        def words(row: "RankedRow") -> str:
            passes = row.samples["passes"][k - 1] if row.samples else None
            return f"{percent(passes[name])} {interval_words(passes[f'{name}_interval_95'])}" if passes else _ABSENT

        return words

    def n_samples(row: "RankedRow") -> str:
        return "-".join(map(str, dict.fromkeys(row.samples["n_samples"]))) if row.samples else _ABSENT

    return [
        Column(name="samples", words=n_samples, is_number=True),
        Column(name=f"pass@{k}", words=chance("any"), is_number=True),
        Column(name=f"pass^{k}", words=chance("all"), is_number=True),
    ]


def _score_words(board: "Leaderboard", row: "RankedRow") -> str:
    """Format the score in percent, with its bounds over all instances if some were not judged; a dash if none was.

    A mean on the metric's own scale is shown unchanged.
    """
    if board.is_raw or row.score is None or row.score_low is None or row.score_high is None:
        return _value_words(board, row.score)
    low, high = sorted((row.score_low, row.score_high))
    return percent(row.score) if high - low < 1e-12 else f"{percent(row.score)} [{percent(low, '')}, {percent(high, '')}]"


def faults_words(faults: Mapping[str, int]) -> str:
    """`2 submission faults, 1 timeout`, or a dash."""
    return ", ".join(KINDS[name].label_count(count) for name, count in faults.items()) or _ABSENT


def _value_words(board: "Leaderboard", value: float | None) -> str:
    """Format a share in percent, or a value on the metric's own scale; a dash for none."""
    return _ABSENT if value is None else f"{value:.4g}" if board.is_raw else percent(value)


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


def number_column(board: "Leaderboard", name: str, title: str = "") -> "Column[RankedRow]":
    """Return the column of one of the board's numbers, by its name or under another title."""
    type_, value = _BOARD_NUMBERS[name]
    return Column(name=title or name, type=type_, value=lambda row: value(board, row))


def mapping_column(attribute: str, key: str, title: str) -> "Column[RankedRow]":
    """Return the column of one key of a row's mapping."""
    return Column(name=title, value=lambda row: getattr(row, attribute).get(key))


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
    keys = sorted({key for row in board.rows for key in row.metadata})
    properties = [("polarity", board.score_title), *board_facts(board)]
    columns: list[Column[RankedRow]] = [
        *(number_column(board, name, f"score_{board.direction}_is_better" if name == "score" else name) for name in CSV_NUMBERS),
        Column(name="faults", value=lambda row: faults_words(row.faults) if row.faults else None),
        *(mapping_column("by", name, f"{name} ({way} is better)") for name, way in board.by_direction.items()),
        *(mapping_column("metadata", key, key) for key in keys),
    ]
    return Document(
        name=board.suite,
        title=board_heading(board),
        sections=lambda form: _page_sections(board, table, title or board.suite, about) if form == "html" else _board_sections(board, form),
        last_line=board_last_line(board),
        tables={
            "csv": Table(columns=columns, rows=board.rows),
            "parquet": Table(columns=[number_column(board, name) for name in _BOARD_NUMBERS], rows=board.rows),
        },
        whole=board.to_json(),
        suites=lambda: [Suite(name=board.suite, cases=[_submission_case(board, row) for row in board.rows], properties=properties)],
        width=160,
    )


def _board_sections(board: "Leaderboard", form: Form) -> Iterator[Section]:
    if form == "markdown":
        yield Section(prose=(Strong(board_last_line(board).removeprefix("done: ")),))
    yield from (Section(table=ranked_table(board)), Section(pairs=list(board_facts(board))))


def _page_sections(board: "Leaderboard", table: "Table[RankedRow]", title: str, facts: Sequence[tuple[str, str]]) -> Iterator[Section]:
    """Yield the parts of the page: the scores with intervals, the table, facts, and how to repeat it."""
    about = f"{board_heading(board).removeprefix(f'{board.suite} · ')} · rules {rules_label(board.rules, board.signatures)}"
    undrawn = max(0, len(board.rows) - MOST_DRAWN)
    values = {"about": "leaderboard", "tab": f"{title}: leaderboard"}
    yield Section(look="head", title=title, prose=[about, board_last_line(board).removeprefix("done: ")], values=values)
    note = f"{undrawn} more in the table" if undrawn else ""
    yield Section(look="card", pictures=[Picture(board.score_title.capitalize(), ranking_picture(board), note)])
    yield Section(table=table)
    yield Section(look="foot", pairs=[*facts, *board_facts(board), ("made with", f"evalsuite {__version__}")])


def board_facts(board: "Leaderboard") -> Iterator[tuple[str, str]]:
    """Yield (label, text) below the table: how it was made, what was forced, what could not be read."""
    yield "instances", str(board.n_instances)
    counts = [f"{board.n_new} new", f"{board.n_reused} reused", *([count_words(board.n_runs, "run")] if board.n_runs else [])]
    yield "scored", ", ".join(counts)
    yield "rules", rules_label(board.rules, board.signatures)
    if clocks := {clock for signature in board.signatures if (clock := clock_in(signature))}:
        yield "clock at", ", ".join(sorted(clocks))
    for row in board.rows:
        if row.n_judged is not None and row.rank is None:
            more = "; --allow-unscored ranks over what all were judged on" if row.n_judged else ""
            yield "not ranked", f"{row.name}: judged on {row.n_judged} of {board.n_instances}{more}"
    if board.family:
        over = f"{board.correction.title()} over {count_words(board.family, 'pair')}"
        pairs = f"{board.test} on paired instances, {over}, alpha {1 - board.confidence:.2g}"
        yield "ranks", f"by {board.score_title}; in brackets the ranks that the tests do not exclude ({pairs})"
        correction = f"{board.correction.title()} over its {count_words(len([row for row in board.rows if row.rank]) - 1, 'pair')}"
        yield "rank interval", f"the ranks that the tests of one submission against the others do not exclude ({correction})"
        yield "stability", _stability_words(board)
    for row in board.rows:
        if row.fault:
            yield "unreadable", f"{row.name}: {row.fault}"
    yield from (("note", note) for note in board.notes)
    yield from (("FORCED", f"ranked although they differ in {difference}") for difference in board.forced)
    yield from (("signature", line) for line in board.signatures)


def _stability_words(board: "Leaderboard") -> str:
    drawn = "whole clusters" if board.test.endswith("whole clusters") else "the instances"
    resamples = f"{board.n_resamples} resamples of {drawn}, seed {board.seed}"
    leading = sorted(((row.p_first, row.name) for row in board.rows if row.p_first), key=lambda pair: -pair[0])
    leaders = ", ".join(f"{name} {percent(share)}" for share, name in leading[:3])
    tau = "" if board.tau is None else f"; mean Kendall tau {board.tau:.2f}"
    return f"first in {leaders} of {resamples}{tau}"


def board_heading(board: "Leaderboard") -> str:
    """Return the first line: the suite and rules; not escaped."""
    kind = "anonymous leaderboard" if board.anonymous else "leaderboard"
    instances = instances_in_words(board.n_instances, board.part_of, board.n_units)
    return f"{board.suite} · {kind} · {count_words(len(board.rows), 'submission')} · {instances}"


def board_last_line(board: "Leaderboard") -> str:
    """Return the last line of the command: `done: 12 submissions ranked (1 new, 11 reused)`."""
    n = sum(row.rank is not None for row in board.rows)
    broken = sum(bool(row.fault) for row in board.rows)
    unranked = f", {len(board.rows) - n - broken} not ranked: not all was judged" if len(board.rows) - n - broken else ""
    unread = (f", {broken} could not be read" if broken else "") + unranked
    runs = f", {count_words(board.n_runs, 'run')}" if board.n_runs else ""
    part = "" if board.part_of is None else f" on {instances_in_words(board.n_instances, board.part_of, board.n_units)}"
    return f"done: {count_words(n, 'submission')} ranked{part} ({board.n_new} new, {board.n_reused} reused{runs}){unread}"


def _submission_case(board: "Leaderboard", row: "RankedRow") -> Case:
    """Build the test case of a submission; an unreadable one is an error with its fault."""
    classname = f"{board.suite}.leaderboard"
    if not row.fault:
        if row.rank is not None:
            return Case(name=row.name, classname=classname)
        message = "some instances have no verdict, for a reason on the grader's side"
        return Case(name=row.name, classname=classname, kind="skipped", type="unjudged", message=message)
    code = next((word for word in re.findall("[A-Z_]+", row.fault) if word in FAULTS), "UNREADABLE")
    return Case(name=row.name, classname=classname, kind="error", type=code, message=row.fault)


def ranking_picture(board: "Leaderboard") -> "Markup":
    """Draw the scores of a leaderboard with their intervals, best first; unreadable submissions are left out."""
    drawn = []
    for row in board.rows[:MOST_DRAWN]:
        if row.rank is not None:
            low, high = row.interval or (None, None)
            drawn.append(IntervalRow(f"{row.rank}. {row.name}", row.score, low, high, bound=row.score_high, is_raw=board.is_raw))
    values = [value for row in drawn for value in (row.value, row.low, row.high) if value is not None]
    span = (min([0.0, *values]), max([0.0 if board.is_raw else 1.0, *values]))
    return draw_intervals(drawn, title="Scores, best first", span=span, confidence=board.confidence)
