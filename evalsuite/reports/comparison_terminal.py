"""A comparison on a terminal of any width."""

from typing import TYPE_CHECKING

from evalsuite.reports.comparison import Section, heading, sections, verdict_line
from evalsuite.reports.layout import print_last_line, print_line, print_pairs, side_by_side

if TYPE_CHECKING:
    from rich.console import Console

    from evalsuite.comparing import Comparison


def render(comparison: "Comparison", *, width: int = 150, everything: bool = False) -> str:
    """The report as plain text of the given width in columns."""
    from io import StringIO

    from rich.console import Console

    text = StringIO()
    show(comparison, Console(file=text, width=width, no_color=True, force_terminal=False, highlight=False), everything=everything)
    return text.getvalue()


def picture(comparison: "Comparison", *, width: int = 150) -> str:
    """The report as it looks on a terminal of the given width in columns, as SVG."""
    from evalsuite.reports.svg import recorded

    return recorded(lambda console: show(comparison, console), width=width)


def show(comparison: "Comparison", console: "Console", *, everything: bool = False, last_line: str | None = None) -> None:
    """Print the report; `everything` lists all flips and fields, `last_line` replaces the default one where a gate was set."""
    print_line(console, heading(comparison), "bold")
    for section in sections(comparison, everything=everything):
        console.print()
        if section.title:
            print_line(console, f" {section.title}", "bold")
        if section.rows:
            _print_rows(console, section)
        for line in section.lines:
            print_line(console, f" {line}")
    console.print()
    print_last_line(console, last_line or verdict_line(comparison))


def _print_rows(console: "Console", section: Section) -> None:
    """The section's table; where its names and numbers do not fit side by side, every row as a block of lines."""
    reasons = [name for name in section.head if name.startswith("why ")]
    if (table := side_by_side(section.head, section.rows, console.width, wraps=reasons)) is not None:
        console.print(table)
        return
    for at, cells in enumerate(section.rows):
        print_pairs(console, zip(section.head, cells, strict=True), after_a_line=at > 0)
