"""How text reports are set on a terminal of any width: names and numbers stay whole, and nothing is cut away but the end of a reason."""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from evalsuite.reports.clean import clean

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

_INDENT = 3
# A column of texts may wrap down to this many characters.
_NARROWEST = 14
_NUMBER = re.compile(r"[-+<]? ?[\d.]+(?:/\d+)?(?: %)?(?: \[.*\])?|\[.*\]|-")
# A word with the spaces before it; an interval is one word, and so is a number with its %.
_WORD = re.compile(r" *(?:\[[^\[\] ]+, [^\[\] ]+\]|[^ ])+(?: %(?![^ \],;:)]))?")


def in_lines(text: str, width: int) -> list[str]:
    """The words of a text in lines of at most `width` cells; only a word that is wider alone is broken, at the end of a line of its own."""
    from rich.cells import cell_len, chop_cells

    lines, taken = [""], 0
    for word in _WORD.findall(text):
        size = cell_len(word)
        if lines[-1] and taken + size > width:
            word = word.lstrip()
            lines.append("")
            taken, size = 0, cell_len(word)
        pieces = [word] if size <= width else chop_cells(word, width)
        lines[-1:] = [lines[-1] + pieces[0], *pieces[1:]]
        taken = taken + size if len(pieces) == 1 else cell_len(pieces[-1])
    return lines


def print_line(console: "Console", text: str, style: str = "") -> None:
    """Print a text in lines of whole words, those after the first a little farther in where it is indented itself."""
    words = clean(text)
    margin = len(words) - len(words.lstrip(" "))
    further = margin + _INDENT if margin else 0
    for at, line in enumerate(in_lines(words.strip(" "), console.width - further)):
        _print(console, " " * (further if at else margin), line, style)


def print_last_line(console: "Console", text: str) -> None:
    """Print the line that says how a command ended: one line on a terminal of any width, for whoever reads the last one."""
    _print(console, "", clean(text), "bold")


def print_pairs(console: "Console", pairs: Iterable[tuple[str, str]], *, after_a_line: bool = True) -> None:
    """An empty line and the pairs as label and text, the text in lines beside its label; nothing where there are none.

    A text with a word that is too long for the room beside the labels begins below its label.
    """
    from rich.cells import cell_len, set_cell_size

    rows = [(clean(label), clean(text)) for label, text in pairs]
    column = min(max((cell_len(label) for label, _ in rows), default=0) + 3, console.width // 2)
    if rows and after_a_line:
        console.print()
    for label, text in rows:
        longest = max((cell_len(word.strip()) for word in _WORD.findall(text)), default=0)
        if below := cell_len(label) + 3 > column or longest > console.width - column:
            print_line(console, f" {label}", "dim")
        indent = _INDENT if below else column
        for at, line in enumerate(in_lines(text, console.width - indent)):
            _print(console, " " * indent if at or below else set_cell_size(f" {label}", column), line, head_style="dim")


def print_row(console: "Console", cells: "Mapping[str, Text]", sizes: Mapping[str, int], style: str = "") -> None:
    """Print the cells that have a size, side by side in columns of those sizes; what is longer ends in an ellipsis, marks are centred."""
    from rich.text import Text

    parts = []
    for name, size in sizes.items():
        cell = cells[name].copy()
        cell.truncate(size, overflow="ellipsis")
        cell.align("center" if name.startswith(("off", "str")) else "left", size)
        parts.append(cell)
    row = Text("  ").join(parts)
    row.rstrip()
    console.print(Text(" ").append_text(row), style=style, no_wrap=True, overflow="ignore", crop=False)


def side_by_side(
    head: Sequence[str], rows: Sequence[Sequence[str]], width: int, *, wraps: Container[str] = (), styles: Sequence[str] = ()
) -> "Table | None":
    """A table in which every cell stands whole, but for the columns named in `wraps`; None where the width is too small for that.

    Titles wrap between words. Columns of numbers are set to the right.
    """
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    columns = list(zip(head, zip(*rows, strict=True), strict=True))
    longest = [max(map(cell_len, cells)) for _, cells in columns]
    least = [
        max(*map(cell_len, name.split()), min(size, _NARROWEST) if name in wraps else size)
        for size, (name, _) in zip(longest, columns, strict=True)
    ]
    spare = width - sum(least) - 2 * len(least)
    if spare < 0:
        return None
    sizes = dict(enumerate(least))
    # What is left goes to the cells that wrap, in equal parts, and then to the titles.
    for at in sorted(sizes, key=lambda at: (head[at] not in wraps, longest[at])):
        n_left = max(1, sum(head[other] in wraps and sizes[other] == least[other] for other in sizes))
        more = min(max(longest[at], cell_len(head[at])) - least[at], spare // n_left if head[at] in wraps else spare)
        sizes[at] += more
        spare -= more
    table = Table(box=None, pad_edge=True, header_style="dim")
    for (name, cells), size in zip(columns, sizes.values(), strict=True):
        table.add_column(Text(name), justify="right" if all(map(_NUMBER.fullmatch, cells)) else "left", overflow="fold", width=size)
    for row, style in zip(rows, styles or [""] * len(rows), strict=True):
        table.add_row(*map(Text, row), style=style)
    return table


def _print(console: "Console", head: str, line: str, style: str = "", *, head_style: str = "") -> None:
    from rich.text import Text

    console.print(Text.assemble((head, head_style), (line, style)), no_wrap=True, overflow="ignore", crop=False)
