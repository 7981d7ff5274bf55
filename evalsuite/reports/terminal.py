"""The report on a terminal: rows with failures first, the block of numbers, and one last line that agrees with the exit code.

All texts of a submission pass `clean` and reach rich as `Text`, never as markup.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalsuite import __version__
from evalsuite.outcome import FAULTY
from evalsuite.reports.clean import clean
from evalsuite.reports.layout import print_last_line, print_line, print_pairs, print_row
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
    from rich.text import Text

    from evalsuite.reports.record import Record
    from evalsuite.types import Result

# Above this many instances the right ones are folded into one line.
ROWS_IN_FULL = 200
# Nobody reads on; laying out 10,000 rows would take longer than scoring them.
MOST_ROWS = 2000
MOST_WARNINGS = 8


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
    _print_rows(console, shown, folded)
    if verbose:
        _each(shown, console)
    if durations:
        _slowest(record, console, durations)
    print_pairs(console, faults_by_hint(record.results))
    _numbers(record, console)
    print_last_line(console, last_line or verdict_line(record.summary))


def _heading(record: "Record", console: "Console") -> None:
    s = record.summary
    parts = (
        f"evalsuite {__version__}",
        f"{record.suite} ({_n(s.n_gold, 'instance')}{'' if record.layout == 'original' else f', layout {record.layout}'})",
        f"{record.submission} ({s.n_submitted} handed in)",
        f"rules {rules_name(record.rules, record.layout)}",
    )
    print_line(console, " · ".join(clean(part) for part in parts), style="bold")
    console.print()


def _print_rows(console: "Console", shown: "Sequence[Result]", folded: Sequence[str]) -> None:
    """A line for each result: its id whole, both verdicts, and as much of the reason as there is room for."""
    from rich.text import Text

    rows = [
        {
            "instance": Text(clean(result.instance_id)),
            "scorer": Text(clean(result.scorer or "")),
            "official": (official := _mark(result, result.official)),
            "strict": (strict := _mark(result, result.strict)),
            "off": official,
            "str": strict,
            "why": Text(_why(result)),
        }
        for result in shown
    ]
    sizes = _sizes(rows, console.width)
    print_row(console, {name: Text(name) for name in sizes}, sizes, "dim")
    for row in rows:
        if "instance" not in sizes:
            print_line(console, f" {row['instance']}")
        print_row(console, row, sizes)
    for line in folded:
        print_line(console, f" ...  {line}", "dim")


def _sizes(rows: "Sequence[Mapping[str, Text]]", width: int) -> dict[str, int]:
    """The columns that fit, in cells: where ids leave no room for reasons the scorers go first, then each id gets a line of its own."""
    size = {name: max([len(name), *(row[name].cell_len for row in rows)]) for name in ("instance", "scorer", "off", "str")}
    narrow = {name: size[name] for name in ("off", "str")}
    wide = {"instance": size["instance"], "scorer": size["scorer"], "official": 8, "strict": 6}
    for sizes in (wide, {"instance": size["instance"], **narrow}, narrow):
        room = width - sum(sizes.values()) - 2 * (len(sizes) + 1)
        if room >= max(20, width // 3):
            break
    return {**sizes, "why": max(10, room)}


def _in_order(record: "Record", *, failures: bool) -> tuple[list["Result"], list[str]]:
    """The results to show, faults first, then wrong, flips, missing and right ones; and lines that count those left out."""

    def rank(result: "Result") -> int:
        if result.status in FAULTY:
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
        return Text("?" if result.status not in FAULTY else "!", style="yellow")
    if result.status in FAULTY and value == 0:
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
    print_line(console, f" slowest {len(slowest)}", style="dim")
    for result in slowest:
        print_line(console, f" {result.seconds:9.3f} s  {clean(result.instance_id)}  {clean(result.scorer or result.status)}")


def _numbers(record: "Record", console: "Console") -> None:
    print_pairs(console, _number_rows(record))
    _notes(record, console)
    _warnings(console, record.run["warnings"])


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
        print_line(console, " notes: facts without effect on the score", style="dim")
        for kind, ids in list(kinds.items())[:MOST_WARNINGS]:
            print_line(console, f"   {clean(kind)}  {some([clean(id_) for id_ in ids])}")


def _warnings(console: "Console", lines: Sequence[str]) -> None:
    if not lines:
        return
    console.print()
    print_line(console, f" {_n(len(lines), 'warning')}", style="yellow")
    for line in lines[:MOST_WARNINGS]:
        print_line(console, f"   {clean(line)}")
    if len(lines) > MOST_WARNINGS:
        print_line(console, f"   ... {len(lines) - MOST_WARNINGS} more in run.json", style="dim")
    console.print()


def _n(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
