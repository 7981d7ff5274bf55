"""A leaderboard on a terminal: one line a submission, and under it what is needed to repeat it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from evalsuite.outcome import KINDS
from evalsuite.reports.clean import clean
from evalsuite.reports.layout import print_line, print_pairs, side_by_side
from evalsuite.reports.words import percent

if TYPE_CHECKING:
    from rich.console import Console

    from evalsuite.leaderboard import Leaderboard, Row

_SHOWN_METADATA = ("model_name", "model_version", "foundation_model")
_ABSENT = "-"
# The width where no terminal says one.
WIDTH = 160


def titles(board: "Leaderboard") -> list[str]:
    """The titles of the columns, the polarity of every score in them; those of metadata and faults only where a row has some."""
    model = ["model"] if any(_model(row.metadata) for row in board.rows) else []
    parts = [f"{name} ({way} is better)" for name, way in board.by_direction.items()]
    faults = ["faults"] if any(row.faults for row in board.rows) else []
    return ["rank", "submission", *model, board.score_title, "95 % CI", "official", "strict", "handed in", *faults, *parts]


def cells(board: "Leaderboard", row: "Row") -> list[str]:
    """The texts of one row under `titles`; not yet made safe for any format."""
    n_columns = len(titles(board))
    model = [_model(row.metadata) or _ABSENT] if any(_model(other.metadata) for other in board.rows) else []
    if row.rank is None:
        head = [_ABSENT, row.name, *model]
        return [*head, *[_ABSENT] * (n_columns - len(head))]
    faults = [faults_words(row.faults)] if any(other.faults for other in board.rows) else []
    low, high = row.interval or (None, None)
    interval = _ABSENT if low is None or high is None else f"[{percent(low, '')}, {percent(high, '')}]"
    shares = [_share(row.official), _share(row.strict), f"{row.n_handed_in}/{board.n_instances}"]
    parts = [_share(row.by.get(name)) for name in board.by_direction]
    return [rank_words(row), row.name, *model, score_words(row), interval, *shares, *faults, *parts]


def rank_words(row: "Row") -> str:
    """`2 (1-4)`: the rank by score, and the places that the tests leave open where that is more than one."""
    first, last = row.shared_ranks or (row.rank, row.rank)
    return f"{row.rank}" if first == last else f"{row.rank} ({first}-{last})"


def score_words(row: "Row") -> str:
    """The score in percent; with its upper end where something could not be judged."""
    assert row.score is not None
    assert row.score_high is not None
    if abs(row.score_high - row.score) < 1e-12:
        return percent(row.score)
    low, high = sorted((row.score, row.score_high))
    return f"{percent(row.score)} [{percent(low, '')}, {percent(high, '')}]"


def faults_words(faults: Mapping[str, int]) -> str:
    """`2 submission faults, 1 timeout`, or a dash."""
    return ", ".join(KINDS[name].counted(count) for name, count in faults.items()) or _ABSENT


def _n(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _model(metadata: Mapping[str, str]) -> str:
    return " ".join(metadata[key] for key in _SHOWN_METADATA if metadata.get(key))


def _share(value: float | None) -> str:
    return _ABSENT if value is None else percent(value)


def facts(board: "Leaderboard") -> Iterator[tuple[str, str]]:
    """(label, text) of what stands under the table: how it was made, what was forced, what could not be read."""
    yield "instances", str(board.n_instances)
    counts = [f"{board.n_new} new", f"{board.n_reused} reused", *([f"{board.n_runs} runs"] if board.n_runs else [])]
    yield "scored", ", ".join(counts)
    yield "rules", board.rules
    if board.family:
        over = f"{board.correction.title()} over {_n(board.family, 'pair')}"
        pairs = f"{board.test} on paired instances, {over}, alpha {1 - board.confidence:.2g}"
        yield "ranks", f"by score; in brackets the places that tests leave open ({pairs})"
        yield "stability", _stability(board)
    for row in board.rows:
        if row.fault:
            yield "unreadable", f"{row.name}: {row.fault}"
    for note in board.notes:
        yield "note", note
    for difference in board.forced:
        yield "FORCED", f"ranked although they differ in {difference}"
    for line in board.signatures:
        yield "signature", line


def _stability(board: "Leaderboard") -> str:
    made = f"{board.n_resamples} resamples of the instances, seed {board.seed}"
    first = [row for row in board.rows if row.p_first]
    leaders = ", ".join(f"{row.name} {percent(row.p_first or 0)}" for row in sorted(first, key=lambda row: -(row.p_first or 0))[:3])
    tau = "" if board.tau is None else f"; mean Kendall tau {board.tau:.2f}"
    return f"first in {leaders} of {made}{tau}"


def heading(board: "Leaderboard") -> str:
    """The first line: what was ranked; not yet made safe for any format."""
    kind = "anonymous leaderboard" if board.anonymous else "leaderboard"
    return f"{board.suite} · {kind} · {_n(len(board.rows), 'submission')} · {_n(board.n_instances, 'instance')}"


def is_text(at: int, title: str) -> bool:
    """Whether the column at that place holds words, not numbers."""
    return at < 2 or title in ("model", "faults")


def render(board: "Leaderboard", *, width: int = WIDTH) -> str:
    """The board as plain text of the given width in columns."""
    from io import StringIO

    from rich.console import Console

    text = StringIO()
    show(board, Console(file=text, width=width, no_color=True, force_terminal=False, highlight=False))
    return f"{text.getvalue()}\n{clean(last_line(board))}\n"


def picture(board: "Leaderboard", *, width: int = WIDTH) -> str:
    """The board as it looks on a terminal of the given width in columns, as SVG."""
    from evalsuite.reports.svg import recorded

    return recorded(lambda console: show(board, console), width=width)


def show(board: "Leaderboard", console: "Console") -> None:
    """Print the board; every text of a submission goes through `clean` and never as markup."""
    print_line(console, heading(board), "bold")
    console.print()
    head = [clean(title) for title in titles(board)]
    rows = [[clean(cell) for cell in cells(board, row)] for row in board.rows]
    styles = ["dim" if row.rank is None else "" for row in board.rows]
    if (table := side_by_side(head, rows, console.width, wraps=("model", "faults"), styles=styles)) is not None:
        console.print(table)
    else:
        _print_stacked(console, head, rows, styles)
    print_pairs(console, facts(board))


def _print_stacked(console: "Console", head: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str]) -> None:
    """Rank and submission on a line, whole, and below it the other columns by name."""
    rank = max(len(row[0]) for row in [head, *rows])

    def stacked(cells: Sequence[str], below: str, style: str) -> None:
        print_line(console, f" {cells[0]:<{rank}}  {cells[1]}", style)
        print_line(console, f"{' ' * (rank + 3)}{below}", style)

    stacked(head, " · ".join(head[2:]), "dim")
    for row, style in zip(rows, styles, strict=True):
        named = zip((title.partition(" (")[0] for title in head[2:]), row[2:], strict=True)
        stacked(row, " · ".join(f"{title} {cell}" for title, cell in named), style)


def last_line(board: "Leaderboard") -> str:
    """The line that ends the command: `done: 12 submissions ranked (1 new, 11 reused)`."""
    n = sum(row.rank is not None for row in board.rows)
    broken = len(board.rows) - n
    unread = f", {broken} could not be read" if broken else ""
    runs = f", {board.n_runs} runs" if board.n_runs else ""
    return f"done: {_n(n, 'submission')} ranked ({board.n_new} new, {board.n_reused} reused{runs}){unread}"
