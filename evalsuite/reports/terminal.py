"""The report on a terminal: rows with failures first, the block of numbers, and one last line that agrees with the exit code.

All texts of a submission pass `clean` and reach rich as `Text`, never as markup.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from evalsuite import __version__
from evalsuite.reports.clean import clean
from evalsuite.reports.words import (
    caused_by,
    ceiling_words,
    corrected_words,
    counts_line,
    faults_by_hint,
    flips_by_kind,
    flips_line,
    judge_words,
    percent,
    row_words,
    share,
    some,
    verdict_line,
)
from evalsuite.store.signature import rules_name

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

    from evalsuite.reports.record import Record
    from evalsuite.types import Result

# Above this many instances the right ones are folded into one line.
ROWS_IN_FULL = 200
# Nobody reads on; laying out 10,000 rows would take longer than scoring them.
MOST_ROWS = 2000
MOST_WARNINGS = 8
_FAULTS = frozenset({"submission_fault", "gold_fault", "scorer_fault", "timeout", "crashed", "unscored"})


def render(record: "Record", *, width: int = 120) -> str:
    """The report as plain text of the given width in columns."""
    from io import StringIO

    from rich.console import Console

    text = StringIO()
    show(record, Console(file=text, width=width, no_color=True, force_terminal=False, highlight=False))
    return text.getvalue()


def show(
    record: "Record",
    console: "Console",
    *,
    last_line: str | None = None,
    failures: bool = False,
    verbose: bool = False,
    durations: int = 0,
) -> None:
    """Print the report; `last_line` replaces the default last line where a gate was set.

    `failures` leaves out the instances that are right under every rule, `verbose` adds all that is known about each one shown, and
    `durations` the slowest n instances.
    """
    _heading(record, console)
    shown, folded = _in_order(record, failures=failures)
    console.print(_rows(shown, folded, console.width))
    if verbose:
        _each(shown, console)
    if durations:
        _slowest(record, console, durations)
    _pairs(console, faults_by_hint(record.results))
    _numbers(record, console)
    console.print(last_line or verdict_line(record.summary), style="bold", highlight=False, markup=False)


def _heading(record: "Record", console: "Console") -> None:
    s = record.summary
    parts = (
        f"evalsuite {__version__}",
        f"{record.suite} ({_n(s.n_gold, 'instance')}{'' if record.layout == 'original' else f', layout {record.layout}'})",
        f"{record.submission} ({s.n_submitted} handed in)",
        f"rules {rules_name(record.rules, record.layout)}",
    )
    _say(console, " · ".join(clean(part) for part in parts), style="bold")
    console.print()


def _rows(shown: "Sequence[Result]", folded: Sequence[str], width: int) -> "RichTable":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=True, header_style="dim")
    narrow = width < 80
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
    for line in folded:
        last = [Text("..."), Text(""), Text(""), Text(""), Text(line)]
        table.add_row(*(last[:1] + last[2:] if narrow else last), style="dim")
    return table


def _fitting(texts: Iterable[str], most: int) -> int:
    """A column width that holds the longest text, at least 8 and at most `most` characters."""
    return max(8, min(max((len(text) for text in texts), default=8), most))


def _in_order(record: "Record", *, failures: bool) -> tuple[list["Result"], list[str]]:
    """The results to show, faults first, then wrong, flips, missing and right ones; and lines that count those left out."""

    def rank(result: "Result") -> int:
        if result.status in _FAULTS:
            return 0
        if result.status == "missing":
            return 3
        if _flipped(result):
            return 2
        return 4 if result.score == 1 else 1

    ordered = sorted(record.results, key=rank)
    if len(ordered) <= ROWS_IN_FULL and not failures:
        return ordered, []
    shown = [result for result in ordered if rank(result) < 4]
    n_cut, n_right = max(0, len(shown) - MOST_ROWS), len(ordered) - len(shown)
    more = [f"{n_cut} more not shown; -o FILE.csv lists all"] if n_cut else []
    return shown[:MOST_ROWS], [*more, *([f"{n_right} more, right under every rule that judged them"] if n_right else [])]


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


def _each(shown: "Sequence[Result]", console: "Console") -> None:
    """All that is known about each of the results."""
    from rich.text import Text

    from evalsuite.reports.instance import render as render_instance

    for result in shown:
        console.print()
        console.print(Text(render_instance(result).rstrip("\n")), soft_wrap=False)


def _slowest(record: "Record", console: "Console", count: int) -> None:
    slowest = sorted(record.results, key=lambda result: -result.seconds)[:count]
    console.print()
    _say(console, f" slowest {len(slowest)}", style="dim")
    for result in slowest:
        _say(console, f" {result.seconds:9.3f} s  {clean(result.instance_id)}  {clean(result.scorer or result.status)}")


def _numbers(record: "Record", console: "Console") -> None:
    _pairs(console, _number_rows(record))
    _notes(record, console)
    _warnings(console, record.run["warnings"])


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


def _number_rows(record: "Record") -> Iterable[tuple[str, str]]:
    s = record.summary
    yield _n(s.n_gold, "instance"), counts_line(s)
    if s.n_gold:
        text = share(s.chosen)
        cause = caused_by(s)
        if cause:
            text += f" [{percent(s.chosen.low, '')}, {percent(s.chosen.high, '')}]: {cause}"
        if s.interval:
            text += f"    95 % CI [{percent(s.interval[0], '')}, {percent(s.interval[1], '')}]"
        if s.clusters and s.clusters["interval_95"]:
            low, high = s.clusters["interval_95"]
            text += f", over {s.clusters['n_clusters']} clusters [{percent(low, '')}, {percent(high, '')}]"
        yield "score", text
    if corrected := corrected_words(record):
        yield "corrected", corrected
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
    if reached := ceiling_words(record):
        yield "gold reaches", reached
    if judge := record.run.get("judge"):
        yield "judge", judge_words(judge)
    yield "signature", str(record.run["signature"])
    isolation = str(record.run["receipt"]["isolation"])
    yield "isolation", f"{isolation}: no walls, for submissions you trust" if isolation == "none" else isolation
    yield "saved", str(record.folder) if record.folder is not None else "not saved"


def _notes(record: "Record", console: "Console") -> None:
    """Facts about how answers were made, by kind."""
    kinds = record.run.get("notes", {})
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
