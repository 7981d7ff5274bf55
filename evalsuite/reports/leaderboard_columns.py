"""The columns of a leaderboard: those of its table for people, and those of its files for programs."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from evalsuite.outcome import KINDS
from evalsuite.reports.document import Column, Table
from evalsuite.reports.words import interval_words, percent

if TYPE_CHECKING:
    from evalsuite.board.ranking import Leaderboard, RankedRow

_SHOWN_METADATA = ("model_name", "model_version", "foundation_model")
_ABSENT = "-"


def ranked_table(
    board: "Leaderboard", *, more: "Sequence[Column[RankedRow]]" = (), link: "Callable[[RankedRow], str] | None" = None
) -> "Table[RankedRow]":
    """A row for each submission, best first, shares in percent; columns of metadata and faults only where a row has some.

    The columns of `more` stand behind the names; these lead to a `link`.
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
        column("handed in", lambda row: f"{row.n_handed_in}/{board.n_instances}"),
        column("rank interval", _own_places),
        *_sample_columns(board),
        *faults,
        *map(part, board.by_direction),
    ]
    return Table(columns=columns, rows=board.rows, style=lambda row: "dim" if row.rank is None else "", link=link, is_long=True)


def _sample_columns(board: "Leaderboard") -> "list[Column[RankedRow]]":
    """How many samples a model has, and its chances at the most samples that all models have; none where rows are no models."""
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
    """`2 (1-4)`: the rank by score, and the places that the tests leave open where that is more than one."""
    first, last = row.shared_ranks or (row.rank, row.rank)
    return f"{row.rank}" if first == last else f"{row.rank} ({first}-{last})"


def _own_places(row: "RankedRow") -> str:
    """`2-5`: where its true rank lies with 95 % confidence."""
    if row.rank_interval is None:
        return _ABSENT
    return "-".join(str(place) for place in dict.fromkeys(row.rank_interval))


def _score_words(board: "Leaderboard", row: "RankedRow") -> str:
    """The score in percent, with what it may be over all instances where something was not judged; a dash where nothing was.

    A mean on the metric's own scale as it is.
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
    """A share in percent, a value on the metric's own scale as it is, a dash for none."""
    return _ABSENT if value is None else f"{value:.4g}" if board.is_raw else percent(value)


def _part_words(board: "Leaderboard", name: str, value: float | None) -> str:
    return f"{value:.4g}" if value is not None and name in board.raw_columns else _value_words(board, value)


# Column of a Parquet file -> its type and its value in a row; shares in [0, 1], None for what there is not.
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
    """A row for each submission with all numbers by their names."""
    return Table(columns=[number_column(board, name) for name in _BOARD_NUMBERS], rows=board.rows)


def number_column(board: "Leaderboard", name: str, title: str = "") -> "Column[RankedRow]":
    """One of the board's numbers as a column, by its name or under another title."""
    type_, value = _BOARD_NUMBERS[name]
    return Column(name=title or name, type=type_, value=lambda row: value(board, row))


def mapping_column(attribute: str, key: str, title: str) -> "Column[RankedRow]":
    """What a row's mapping of this name has under the key."""
    return Column(name=title, value=lambda row: getattr(row, attribute).get(key))
