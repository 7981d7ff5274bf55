"""Render any document for a terminal of any width, as plain text, and as an SVG picture of the terminal.

Names and numbers are never cut, only the end of a reason. All texts pass `clean` and reach rich as `Text`, never as markup.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalsuite.compare.characters import clean
from evalsuite.reports.document import Column, Document, Section, Table, text_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


_TITLES = {"quiet": "dim", "warning": "yellow"}
_INDENT = 3
# Narrowest width of a wrapped text column.
_NARROWEST = 14
_NUMBER = re.compile(r"[-+<]? ?[\d.]+(?:/\d+)?(?: %)?(?: \[.*\])?|\[.*\]|-")
# A word with its leading spaces. An interval is one word, and so is a number with its %. A signature is split at |.
_WORD = re.compile(r" *(?:(?:\[[^\[\] ]+, [^\[\] ]+\]|[^ |])+(?: %(?![^ \],;:)]))?\|?|\|)")


def as_text(document: Document, *, width: int | None = None) -> str:
    """Return the document as plain text of the given width in columns, by default the document's."""
    from io import StringIO

    from rich.console import Console

    text = StringIO()
    show(document, Console(file=text, width=width or document.width, no_color=True, force_terminal=False, highlight=False))
    return text.getvalue()


def as_svg(document: Document) -> str:
    """Return an SVG of the document on a terminal of at least 150 columns, recorded by rich, without remote fonts."""
    from io import StringIO

    from rich._export_format import CONSOLE_SVG_FORMAT
    from rich.console import Console

    width = max(150, document.width)
    console = Console(record=True, width=width, file=StringIO(), force_terminal=True, color_system="truecolor", highlight=False)
    show(document, console)
    # rich's @font-face blocks would load from the network.
    template = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return console.export_svg(title="evalsuite", code_format=template, unique_id="evalsuite")


def show(document: Document, console: "Console", *, last_line: str | None = None) -> None:
    """Print the document; `last_line` replaces its last line, for example the result of a gate."""
    if title := text_of(document.title):
        print_line(console, title, "bold")
    for section in document.parts("text"):
        _show_section(console, section)
    if last := text_of(document.last_line) if last_line is None else last_line:
        if document.last_stands_apart:
            console.print()
        # Unwrapped, because scripts read the last line.
        _print(console, "", clean(last), "bold")


def _show_section(console: "Console", section: Section) -> None:
    if section.look in ("lines", "part"):
        _show_lines(console, section)
        return
    if section.look == "block":
        console.print()
        if title := text_of(section.title):
            print_line(console, f" {title}", "bold")
        console.print(_unmarked_text("\n".join(clean(text_of(line)) for line in section.lines)), soft_wrap=False)
        return
    if not section.pairs or section.title or section.table is not None:
        console.print()
    if title := text_of(section.title):
        print_line(console, f" {title}", _TITLES.get(section.look, "bold"))
    for line in section.prose:
        print_line(console, f" {text_of(line)}")
    if section.table is not None:
        (_print_listed if section.table.is_listed else _print_table)(console, section.table)
    print_pairs(console, [(text_of(label), text_of(text)) for label, text in section.pairs])
    for line in section.lines:
        print_line(console, f" {text}" if (text := text_of(line)) else "")
    for line in section.below:
        print_line(console, f" {text}" if (text := text_of(line)) else "", "dim")


def _show_lines(console: "Console", section: Section) -> None:
    """Print the lines of a section unwrapped, so that a search of the output finds each on one line."""
    if section.look == "part":
        console.print()
    table = section.table
    of_rows = [line for row in table.rows for line in table.lines(row)] if table is not None and table.lines is not None else []
    for line in (*([section.title] if section.title else ()), *section.prose, *of_rows, *section.lines, *section.below):
        _print(console, "", clean(text_of(line)))


def in_lines(text: str, width: int) -> list[str]:
    """Wrap a text to lines of at most `width` cells; only a word wider than that is broken."""
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
    """Print a text wrapped at words; continuation lines of an indented text are indented further."""
    words = clean(text)
    margin = len(words) - len(words.lstrip(" "))
    further = margin + _INDENT if margin else 0
    for at, line in enumerate(in_lines(words.strip(" "), console.width - further)):
        _print(console, " " * (further if at else margin), line, style)


def print_pairs(console: "Console", pairs: Iterable[tuple[str, str]], *, after_a_line: bool = True) -> None:
    """Print an empty line and the pairs as label and wrapped text; nothing for no pairs.

    A text with a word too long for its column starts below its label.
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


def _print_listed(console: "Console", table: Table[Any]) -> None:
    """Print one line per row: its names in full, its marks, and as much of its reason as fits."""
    rows = list(table.rows)
    columns = table.of("text")
    cells = [{column.name: _cell_on_terminal(column, row) for column in columns} for row in rows]
    marks = [column.name for column in columns if column.role == "mark"]
    heads, sizes = _sizes_of_listed(columns, cells, console.width)
    _print_row(console, {name: _unmarked_text(heads[name]) for name in sizes}, sizes, marks, "dim")
    first = next(column.name for column in columns if column.role == "name")
    for one, row in zip(rows, cells, strict=True):
        if first not in sizes:
            print_line(console, f" {row[first]}")
        _print_row(console, row, sizes, marks)
        if table.below is not None and (texts := table.below(one)):
            _print_below(console, texts)


def _sizes_of_listed(
    columns: Sequence[Column[Any]], cells: "Sequence[Mapping[str, Text]]", width: int
) -> tuple[Mapping[str, str], dict[str, int]]:
    """Return the titles and the width of each shown column.

    If names leave no space for reasons, only the first name is shown, if necessary on its own line (then it has no width).
    """
    by_role = {role: [column.name for column in columns if column.role == role] for role in ("name", "mark", "why")}
    last, marks = by_role["why"][-1:], by_role["mark"]
    whole = {column.name: clean(column.head) for column in columns}
    short = {column.name: clean(column.short or column.head) for column in columns}
    for heads, names in ((whole, [name for name in whole if name not in last]), (short, [by_role["name"][0], *marks]), (short, marks)):
        sizes = {name: max([len(heads[name]), *(row[name].cell_len for row in cells)]) for name in names}
        room = width - sum(sizes.values()) - 2 * (len(sizes) + 1)
        if room >= max(20, width // 3):
            break
    return heads, sizes | dict.fromkeys(last, max(10, room))


def _cell_on_terminal(column: Column[Any], row: Any) -> "Text":
    from rich.text import Text

    return Text(clean(text_of(column.cell(row))), style=column.style(row) if column.style is not None else "")


def _unmarked_text(words: str) -> "Text":
    from rich.text import Text

    return Text(words)


def _print_below(console: "Console", texts: Sequence[tuple[str, str, str]]) -> None:
    """Print the texts of a row on one line below it, each cut to its share of the width; in full if not on a terminal."""
    from rich.text import Text

    room = console.width - _INDENT - sum(len(label) + 1 for label, *_ in texts) - 3 * (len(texts) - 1)
    parts = []
    for n_left, (label, text, other) in zip(range(len(texts), 0, -1), texts, strict=True):
        words = Text()
        known = {_word_alone(word) for word in other.split()}
        for word in clean(" ".join(text.split())).split(" "):
            words.append(" " if words else "").append(word, "bold yellow" if other and _word_alone(word) not in known else "")
        if not console.soft_wrap:
            words.truncate(max(4, room // n_left), overflow="ellipsis")
            room -= words.cell_len
        parts.append(Text(f"{label} ", "dim").append_text(words))
    line = Text(" " * _INDENT).append_text(Text(" · ", "dim").join(parts))
    console.print(line, no_wrap=True, overflow="ignore", crop=False)


def _word_alone(word: str) -> str:
    """Normalise a word for comparison: lower case, without surrounding punctuation."""
    return word.casefold().strip(".,;:!?\"'()[]{}")


def _print_row(console: "Console", cells: "Mapping[str, Text]", sizes: Mapping[str, int], marks: Sequence[str], style: str = "") -> None:
    """Print the cells with a size as one row: marks centred, longer cells cut with an ellipsis.

    In a pipe the last cell is not cut.
    """
    from rich.text import Text

    parts = []
    for name, size in sizes.items():
        cell = cells[name].copy()
        if not (console.soft_wrap and name == [*sizes][-1]):
            cell.truncate(size, overflow="ellipsis")
            cell.align("center" if name in marks else "left", size)
        parts.append(cell)
    row = Text("  ").join(parts)
    row.rstrip()
    console.print(Text(" ").append_text(row), style=style, no_wrap=True, overflow="ignore", crop=False)


def _print_table(console: "Console", table: Table[Any]) -> None:
    """Print the rows side by side if they fit; otherwise each row as a block of labelled cells."""
    columns = table.of("text")
    styles = [table.style(row) for row in table.rows]
    rows = [[clean(text_of(cell)) for cell in cells] for cells in table.cells("text")]
    if _print_side_by_side(console, columns, rows, styles):
        return
    head = [clean(column.head) for column in columns]
    n_names = sum(column.role == "name" for column in columns)
    if n_names == 1:
        for at, row in enumerate(rows):
            print_pairs(console, zip(head, row, strict=True), after_a_line=at > 0)
        return
    widths = [max(len(row[at]) for row in [head, *rows]) if at < n_names - 1 else 0 for at in range(n_names)]

    def stacked(names: Sequence[str], below: str, style: str) -> None:
        print_line(console, " " + "  ".join(f"{name:<{width}}" for name, width in zip(names, widths, strict=True)), style)
        print_line(console, f"{' ' * (widths[0] + 3)}{below}", style)

    stacked(head[:n_names], " · ".join(head[n_names:]), "dim")
    for row, style in zip(rows, styles, strict=True):
        named = zip(columns[n_names:], row[n_names:], strict=True)
        stacked(row[:n_names], " · ".join(f"{clean(column.short or column.head)} {cell}" for column, cell in named), style)


def _print_side_by_side(console: "Console", columns: Sequence[Column[Any]], rows: Sequence[Sequence[str]], styles: Sequence[str]) -> bool:
    """Print a table without cutting any cell; return False if the width is too small.

    Titles are short, and wrap, if the long ones do not fit on one line. Columns of numbers are aligned right.
    """
    from rich.cells import cell_len
    from rich.table import Table as RichTable
    from rich.text import Text

    wraps = [column.wraps for column in columns]
    cells = list(zip(*rows, strict=True)) or [()] * len(columns)
    longest = [max(map(cell_len, column), default=0) for column in cells]
    narrow = [min(size, _NARROWEST) if wrap else size for size, wrap in zip(longest, wraps, strict=True)]
    whole = [clean(column.head) for column in columns]
    has_room = sum(map(max, map(cell_len, whole), narrow)) + 2 * len(columns) <= console.width
    head = whole if has_room else [clean(column.short or column.head) for column in columns]
    least = [max(*map(cell_len, name.split()), size, 0) for name, size in zip(head, narrow, strict=True)]
    spare = console.width - sum(least) - 2 * len(least)
    if spare < 0:
        return False
    sizes = list(least)
    # Spare width goes to wrapping cells in equal parts, then to titles.
    for at in sorted(range(len(sizes)), key=lambda at: (not wraps[at], longest[at])):
        n_left = max(1, sum(wraps[other] and sizes[other] == least[other] for other in range(len(sizes))))
        more = min(max(longest[at], cell_len(head[at])) - least[at], spare // n_left if wraps[at] else spare)
        sizes[at] += more
        spare -= more
    table = RichTable(box=None, pad_edge=True, header_style="dim")
    for name, column, size in zip(head, cells, sizes, strict=True):
        justify: Any = "right" if all(map(_NUMBER.fullmatch, column)) else "left"
        table.add_column(Text(name), justify=justify, overflow="fold", width=size)
    for row, style in zip(rows, styles, strict=True):
        table.add_row(*map(Text, row), style=style)
    console.print(table)
    return True


def _print(console: "Console", head: str, line: str, style: str = "", *, head_style: str = "") -> None:
    from rich.text import Text

    console.print(Text.assemble((head, head_style), (line, style)), no_wrap=True, overflow="ignore", crop=False)
