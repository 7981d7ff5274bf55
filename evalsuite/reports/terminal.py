"""The report on a terminal: rows with failures first, the block of numbers, and one last line that agrees with the exit code.

All texts of a submission pass `clean` and reach rich as `Text`, never as markup.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from evalsuite import __version__
from evalsuite.reports.clean import clean
from evalsuite.reports.words import (
    caused_by,
    counts_line,
    faults_by_hint,
    flips_by_kind,
    flips_line,
    percent,
    row_words,
    share,
    some,
    verdict_line,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

    from evalsuite.runner.run import Run
    from evalsuite.types import Result

# Above this many instances the right ones are folded into one line.
ROWS_IN_FULL = 200
MOST_WARNINGS = 8
_FAULTS = frozenset({"submission_fault", "gold_fault", "scorer_fault", "timeout", "crashed", "unscored"})


def render(run: "Run", *, width: int = 120) -> str:
    """The report as plain text of the given width in columns."""
    from io import StringIO

    from rich.console import Console

    text = StringIO()
    show(run, Console(file=text, width=width, no_color=True, force_terminal=False, highlight=False))
    return text.getvalue()


def show(run: "Run", console: "Console", *, last_line: str | None = None) -> None:
    """Print the report; `last_line` replaces the default last line where a gate was set."""
    _heading(run, console)
    console.print(_rows(run, console.width))
    _pairs(console, faults_by_hint(run.results))
    _numbers(run, console)
    console.print(last_line or verdict_line(run.summary), style="bold", highlight=False, markup=False)


def _heading(run: "Run", console: "Console") -> None:
    s = run.summary
    parts = (
        f"evalsuite {__version__}",
        f"{run.gold.suite.name} ({_n(s.n_gold, 'instance')})",
        f"{run.submission.folder.name or run.submission.folder} ({s.n_submitted} handed in)",
        f"rules {run.rules}",
    )
    _say(console, " · ".join(clean(part) for part in parts), style="bold")
    console.print()


def _rows(run: "Run", width: int) -> "RichTable":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=True, header_style="dim")
    narrow = width < 80
    shown, folded = _in_order(run)
    sizes = [_fitting((r.instance_id for r in shown), max(12, width // 5))]
    sizes += [] if narrow else [_fitting((r.scorer or "" for r in shown), 16)]
    sizes += [3, 3] if narrow else [8, 6]
    sizes.append(max(10, width - sum(sizes) - 2 * (len(sizes) + 1)))
    headers = ["instance", "off", "str", "why"] if narrow else ["instance", "scorer", "official", "strict", "why"]
    for header, size in zip(headers, sizes, strict=True):
        justify: Literal["center", "left"] = "center" if header.startswith(("off", "str")) else "left"
        table.add_column(header, no_wrap=True, overflow="ellipsis", width=size, justify=justify)
    for result in shown:
        cells = [
            Text(clean(result.instance_id), overflow="ellipsis"),
            Text(clean(result.scorer or "")),
            _mark(result, result.official),
            _mark(result, result.strict),
            Text(_why(result), overflow="ellipsis"),
        ]
        table.add_row(*(cells[:1] + cells[2:] if narrow else cells))
    if folded:
        last = [Text("..."), Text(""), Text(""), Text(""), Text(f"{folded} more, right under every rule that judged them")]
        table.add_row(*(last[:1] + last[2:] if narrow else last), style="dim")
    return table


def _fitting(texts: Iterable[str], most: int) -> int:
    """A column width that holds the longest text, at least 8 and at most `most` characters."""
    return min(max((len(text) for text in texts), default=8), max(8, most))


def _in_order(run: "Run") -> tuple[list["Result"], int]:
    """The results to show, faults first, then wrong, flips, missing and right ones; and how many right ones are folded away."""

    def rank(result: "Result") -> int:
        if result.status in _FAULTS:
            return 0
        if result.status == "missing":
            return 3
        if _flipped(result):
            return 2
        return 4 if result.score == 1 else 1

    ordered = sorted(run.results, key=rank)
    if len(ordered) <= ROWS_IN_FULL:
        return ordered, 0
    shown = [result for result in ordered if rank(result) < 4]
    return shown, len(ordered) - len(shown)


def _flipped(result: "Result") -> bool:
    return result.official is not None and result.strict is not None and result.official != result.strict


def _why(result: "Result") -> str:
    if _flipped(result) and result.details.get("flip"):
        return clean(f"flip: {result.details['flip']}")
    return clean(result.reason)


def _mark(result: "Result", value: float | None) -> Any:
    from rich.text import Text

    if result.status == "missing":
        return Text("-", style="dim")
    if value is None:
        return Text("?" if result.status not in _FAULTS else "!", style="yellow")
    if result.status in _FAULTS and value == 0:
        return Text("!", style="yellow")
    if value in (0, 1):
        return Text("✓", style="green") if value else Text("✗", style="red")
    return Text(f"{value:.2f}", style="cyan")


def _numbers(run: "Run", console: "Console") -> None:
    _pairs(console, _number_rows(run))
    _notes(run, console)
    _warnings(console, run.warnings)


def _pairs(console: "Console", pairs: Iterable[tuple[str, str]]) -> None:
    """An empty line and the pairs as label and text, the text wrapped beside its label; nothing where there are none."""
    from rich.table import Table
    from rich.text import Text

    block = Table(box=None, show_header=False, pad_edge=True)
    block.add_column(no_wrap=True, style="dim")
    block.add_column(overflow="fold")
    for label, text in pairs:
        block.add_row(Text(label), Text(text))
    if block.row_count:
        console.print()
        console.print(block)


def _number_rows(run: "Run") -> Iterable[tuple[str, str]]:
    s = run.summary
    yield _n(s.n_gold, "instance"), counts_line(s)
    if s.n_gold:
        text = share(s.chosen)
        cause = caused_by(s)
        if cause:
            text += f" [{percent(s.chosen.low, '')}, {percent(s.chosen.high, '')}]: {cause}"
        if s.interval:
            text += f"    95 % CI [{percent(s.interval[0], '')}, {percent(s.interval[1], '')}]"
        yield "score", text
    other = s.strict if s.rules == "official" else s.official
    if other is not None and s.n_gold:
        yield "strict" if s.rules == "official" else "official", f"{share(other)}    {flips_line(s)}".rstrip()
    for way, down in (("flips down", True), ("flips up", False)):
        flips = flips_by_kind(s, down=down)
        if flips:
            yield way, flips
    if s.reference_ratio is not None:
        right = round(s.reference_ratio * s.n_reference)
        yield "reference ratio", f"{right}/{s.n_reference} = {percent(s.reference_ratio)}  (over what was handed in; for comparison only)"
    for label, rows in (("by scorer", s.by_scorer), ("by group", s.by_group)):
        if rows:
            yield label, " · ".join(row_words(clean(name), row, s.rules) for name, row in rows.items())
    yield "signature", run.signature
    isolation = str(run.receipt["isolation"])
    yield "isolation", f"{isolation}: no walls, for submissions you trust" if isolation == "none" else isolation
    yield "saved", str(run.folder) if run.folder is not None else "not saved"


def _notes(run: "Run", console: "Console") -> None:
    """Facts about how answers were made, by kind."""
    from evalsuite.runner.forensics import by_kind

    kinds = by_kind(run.results)
    if kinds:
        console.print()
        _say(console, " notes: facts without effect on the score", style="dim")
        for kind, ids in list(kinds.items())[:MOST_WARNINGS]:
            _say(console, f"   {clean(kind)}  {some([clean(id_) for id_ in ids])}")


def _warnings(console: "Console", lines: Sequence[str]) -> None:
    if not lines:
        return
    console.print()
    _say(console, f" {_n(len(lines), 'warning')}", style="yellow")
    for line in lines[:MOST_WARNINGS]:
        _say(console, f"   {clean(line)}")
    if len(lines) > MOST_WARNINGS:
        _say(console, f"   ... {len(lines) - MOST_WARNINGS} more in run.json", style="dim")
    console.print()


def _say(console: "Console", text: str, style: str = "") -> None:
    from rich.text import Text

    console.print(Text(text, style=style, overflow="ellipsis"), no_wrap=True)


def _n(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
