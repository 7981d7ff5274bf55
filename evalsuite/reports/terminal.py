"""Render any document for a terminal of any width, as plain text, and as an SVG picture of the terminal.

Names and numbers are never cut, only the end of a reason. All texts pass `clean`. rich draws the picture only: importing it takes a
tenth of the time of a small run.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from evalsuite.compare.characters import clean
from evalsuite.core.import_ref import lazy_pattern
from evalsuite.reports.document import Column, Document, Section, Table, text_of

if TYPE_CHECKING:
    from rich.console import Console


_TITLES = {"quiet": "dim", "warning": "yellow"}
_INDENT = 3
# Narrowest width of a wrapped text column.
_NARROWEST = 14
_NUMBER = lazy_pattern(r"[-+<]? ?[\d.]+(?:/\d+)?(?: %)?(?: \[.*\])?|\[.*\]|-")
# A word with its leading spaces. An interval is one word, and so is a number with its %. A signature is split at |.
_WORD = lazy_pattern(r" *(?:(?:\[[^\[\] ]+, [^\[\] ]+\]|[^ |])+(?: %(?![^ \],;:)]))?\|?|\|)")


# The label of ` label  text`.
_LABEL = lazy_pattern(r" [^ ]+(?: [^ ]+)? {2,}(?=[^ ])")
# Codes of the terminal (SGR) by the names that rich has for the styles.
_CODES = {"bold": "1", "dim": "2", "italic": "3", "red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35", "cyan": "36"}
# A word of the shell with its leading spaces: quoted texts are not broken.
_SHELL_WORD = lazy_pattern(r" *(?:'[^']*'|\"[^\"]*\"|[^ '\"])+")
_CELL_WORD = lazy_pattern(r" *\S+")
# A word of SQL: a literal, a quoted name and a comment are not broken, so that wrapped SQL can be pasted.
_SQL_WORD = lazy_pattern(r""" *(?:'[^']*'|"[^"]*"|`[^`]*`|--.*|[^ ])+""")
# Characters that take one cell each; rich has the table of all others.
_NARROW = lazy_pattern("[ -~\xa1-\xac\xae-\u02ff✓✗…–—‘’“”→≈≠≤≥]*")


class Styled(NamedTuple):
    """A text in one style, by rich's name; empty for none."""

    text: str
    style: str = ""


class Screen:
    """A stream with lines of `width` columns.

    With `is_whole` the last cell of a row is not cut: the stream is a file or a pipe. On a terminal (`is_terminal`) every line is wrapped.
    """

    def __init__(self, stream: TextIO, width: int, *, is_whole: bool = False, is_terminal: bool = False, has_styles: bool = False) -> None:
        self.width, self.is_whole, self.is_terminal = width, is_whole, is_terminal
        self._stream, self._has_styles = stream, has_styles

    def line(self, *parts: Styled, style: str = "") -> None:
        """Write one line; `style` is that of all its parts."""
        self._stream.write("".join(self._add_codes(text, f"{style} {part_style}") for text, part_style in parts) + "\n")

    def _add_codes(self, text: str, style: str) -> str:
        codes = ";".join(_CODES[name] for name in style.split()) if self._has_styles and text else ""
        return f"\x1b[{codes}m{text}\x1b[0m" if codes else text


class _RichScreen(Screen):
    """A screen that rich draws: to record a picture, and for the consoles of Windows."""

    def __init__(self, console: "Console", *, is_whole: bool = False) -> None:
        self.width, self.is_whole, self.is_terminal, self._console = (
            console.width,
            is_whole,
            console.is_terminal and not console.record,
            console,
        )

    def line(self, *parts: Styled, style: str = "") -> None:
        from rich.text import Text

        self._console.print(Text.assemble(*parts), style=style, no_wrap=True, overflow="ignore", crop=False)


def screen_of(stream: TextIO, width_in_a_file: int) -> Screen:
    """Return the screen of a stream: as wide as the terminal, or the given width in a file; without styles under NO_COLOR."""
    if os.name == "nt":
        from rich.console import Console

        width = None if stream.isatty() else width_in_a_file
        colors: Any = None if os.environ.get("NO_COLOR") else "auto"
        return _RichScreen(Console(file=stream, width=width, highlight=False, color_system=colors), is_whole=width is not None)
    is_dumb = os.environ.get("TERM", "").lower() in ("dumb", "unknown")
    has_styles = ((stream.isatty() and not is_dumb) or bool(os.environ.get("FORCE_COLOR"))) and not os.environ.get("NO_COLOR")
    if not stream.isatty():
        return Screen(stream, width_in_a_file, is_whole=True, has_styles=has_styles)
    return Screen(stream, 80 if is_dumb else _terminal_width(), is_terminal=True, has_styles=has_styles)


def _terminal_width() -> int:
    if (width := os.environ.get("COLUMNS", "")).isdigit():
        return int(width)
    for descriptor in (0, 1, 2):
        try:
            return os.get_terminal_size(descriptor).columns or 80
        except OSError:
            continue
    return 80


def as_text(document: Document, *, width: int | None = None) -> str:
    """Return the document as plain text of the given width in columns, by default the document's."""
    from io import StringIO

    text = StringIO()
    show(document, Screen(text, width or document.width))
    return text.getvalue()


def as_svg(document: Document) -> str:
    """Return an SVG of the document on a terminal of at least 150 columns, recorded by rich, without remote fonts."""
    from io import StringIO

    from rich._export_format import CONSOLE_SVG_FORMAT
    from rich.console import Console

    width = max(150, document.width)
    console = Console(record=True, width=width, file=StringIO(), force_terminal=True, color_system="truecolor", highlight=False)
    show(document, _RichScreen(console))
    # rich's @font-face blocks would load from the network.
    template = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return console.export_svg(title="evalsuite", code_format=template, unique_id="evalsuite")


def show(document: Document, screen: Screen, *, last_line: str | None = None) -> None:
    """Print the document; `last_line` replaces its last line, for example the result of a gate."""
    if title := text_of(document.title):
        print_line(screen, title, "bold")
    for section in document.parts("text"):
        _show_section(screen, section)
    if last := text_of(document.last_line) if last_line is None else last_line:
        if document.last_stands_apart:
            screen.line()
        print_last_line(screen, last)


def print_last_line(screen: Screen, text: str) -> None:
    """Print the last line of a report; only on a terminal it is wrapped, because scripts read it."""
    if screen.is_terminal:
        print_line(screen, text, "bold", hangs=True)
    else:
        screen.line(Styled(clean(text), "bold"))


def print_command(screen: Screen, text: str) -> None:
    """Print a line of the shell; on a terminal its lines end in a backslash where it is wrapped, so that it can be pasted."""
    text = clean(text)
    words = _SHELL_WORD.findall(text) if screen.is_terminal else []
    words = words if "".join(words) == text else [text]
    lines = [words[0]]
    for word in words[1:]:
        if cell_len(lines[-1]) + cell_len(word) + 2 > screen.width:
            lines[-1] += " \\"
            lines.append(" " * _INDENT + word.lstrip())
        else:
            lines[-1] += word
    for line in lines:
        screen.line(Styled(line))


def _show_section(screen: Screen, section: Section) -> None:
    if section.look in ("lines", "part"):
        _show_lines(screen, section)
        return
    if section.look == "block":
        screen.line()
        if title := text_of(section.title):
            print_line(screen, f" {title}", "bold")
        for words in "\n".join(clean(text_of(line)) for line in section.lines).split("\n"):
            for piece in wrap_text(words, screen.width) if cell_len(words) > screen.width else [words]:
                screen.line(Styled(piece))
        return
    if not section.pairs or section.title or section.table is not None:
        screen.line()
    if title := text_of(section.title):
        print_line(screen, f" {title}", _TITLES.get(section.look, "bold"))
    for line in section.prose:
        print_line(screen, f" {text_of(line)}")
    if section.table is not None:
        (_print_list if section.table.is_listed else _print_table)(screen, section.table)
    print_pairs(screen, [(text_of(label), text_of(text)) for label, text in section.pairs])
    for line in section.lines:
        print_line(screen, f" {text}" if (text := text_of(line)) else "")
    for line in section.below:
        print_line(screen, f" {text}" if (text := text_of(line)) else "", "dim")


def _show_lines(screen: Screen, section: Section) -> None:
    """Print the lines of a section; in a file or pipe unwrapped, so that a search of the output finds each on one line."""
    if section.look == "part":
        screen.line()
    table = section.table
    of_rows = [line for row in table.rows for line in table.lines(row)] if table is not None and table.lines is not None else []
    for line in (*([section.title] if section.title else ()), *section.prose, *of_rows, *section.lines, *section.below):
        text = clean(text_of(line))
        if text.startswith(" next: "):
            print_command(screen, text)
        elif not screen.is_terminal or cell_len(text) <= screen.width:
            screen.line(Styled(text))
        else:
            print_line(screen, text, word=_SQL_WORD if section.values.get("language") == "sql" else _WORD, hangs=True)


def cell_len(text: str) -> int:
    """Return the number of cells that a text takes on a terminal."""
    if (text.isascii() and text.isprintable()) or _NARROW.fullmatch(text):
        return len(text)
    from rich.cells import cell_len as wide_len

    return wide_len(text)


def set_cell_size(text: str, size: int) -> str:
    """Return a text of this many cells: cut, or filled with spaces."""
    if _NARROW.fullmatch(text):
        return text[:size].ljust(size)
    from rich.cells import set_cell_size as set_wide_size

    return set_wide_size(text, size)


def _pieces(text: str, width: int) -> list[str]:
    """Return a text in pieces of at most `width` cells."""
    if _NARROW.fullmatch(text):
        return [text[at : at + width] for at in range(0, len(text), width)]
    from rich.cells import chop_cells

    return chop_cells(text, width)


def wrap_text(text: str, width: int, word: re.Pattern[str] = _WORD) -> list[str]:
    """Wrap a text to lines of at most `width` cells; only a word wider than that is broken, and none of SQL."""
    lines, width_used = [""], 0
    for part in word.findall(text):
        size = cell_len(part)
        if lines[-1] and width_used + size > width:
            part = part.lstrip()
            lines.append("")
            width_used, size = 0, cell_len(part)
        pieces = [part] if size <= width or word is _SQL_WORD else _pieces(part, width)
        lines[-1:] = [lines[-1] + pieces[0], *pieces[1:]]
        width_used = width_used + size if len(pieces) == 1 else cell_len(pieces[-1])
    return lines


def print_line(screen: Screen, text: str, style: str = "", *, word: re.Pattern[str] = _WORD, hangs: bool = False) -> None:
    """Print a text wrapped at words; continuation lines of a text that is indented, or that `hangs`, are indented further.

    Those of a hanging ` label  text` begin below the text.
    """
    words = clean(text)
    label = _LABEL.match(words) if hangs else None
    if label is not None and cell_len(label[0]) <= screen.width // 2:
        indent = cell_len(label[0])
        for at, line in enumerate(wrap_text(words[label.end() :], screen.width - indent, word)):
            screen.line(Styled(" " * indent if at else label[0]), Styled(line, style))
        return
    margin = len(words) - len(words.lstrip(" "))
    further = margin + _INDENT if margin or hangs else 0
    for at, line in enumerate(wrap_text(words.strip(" "), screen.width - further, word)):
        screen.line(Styled(" " * (further if at else margin)), Styled(line, style))


def print_pairs(screen: Screen, pairs: Iterable[tuple[str, str]], *, after_a_line: bool = True) -> None:
    """Print an empty line and the pairs as label and wrapped text; nothing for no pairs.

    A text with a word too long for its column starts below its label.
    """
    rows = [(clean(label), clean(text)) for label, text in pairs]
    column = min(max((cell_len(label) for label, _ in rows), default=0) + 3, screen.width // 2)
    if rows and after_a_line:
        screen.line()
    for label, text in rows:
        longest = max((cell_len(word.strip()) for word in _WORD.findall(text)), default=0)
        if below := cell_len(label) + 3 > column or longest > screen.width - column:
            print_line(screen, f" {label}", "dim")
        indent = _INDENT if below else column
        for at, line in enumerate(wrap_text(text, screen.width - indent)):
            screen.line(Styled(" " * indent if at or below else set_cell_size(f" {label}", column), "dim"), Styled(line))


def _print_list(screen: Screen, table: Table[Any]) -> None:
    """Print one line per row: its names in full, its marks, and as much of its reason as fits; below it the last part of a longer one."""
    rows = list(table.rows)
    columns = table.columns_of("text")
    cells = [
        {
            cell_column.name: Styled(clean(text_of(cell_column.cell(row))), cell_column.style(row) if cell_column.style else "")
            for cell_column in columns
        }
        for row in rows
    ]
    marks = [column.name for column in columns if column.role == "mark"]
    heads, sizes = _list_sizes(columns, cells, screen.width)
    _print_row(screen, {name: Styled(heads[name]) for name in sizes}, sizes, marks, "dim")
    first = next(column.name for column in columns if column.role == "name")
    for source, row in zip(rows, cells, strict=True):
        if first not in sizes:
            print_line(screen, f" {row[first].text}")
        _print_row(screen, row, sizes, marks)
        reason, size = [(row[name].text, size) for name, size in sizes.items()][-1]
        if not screen.is_whole and cell_len(reason) > size and (end := _last_part(reason)):
            print_line(screen, " " * _INDENT + _cut(end, 3 * screen.width), hangs=True)
        if table.below is not None and (texts := table.below(source)):
            _print_below(screen, texts)


def _list_sizes(
    columns: Sequence[Column[Any]], cells: Sequence[Mapping[str, Styled]], width: int
) -> tuple[Mapping[str, str], dict[str, int]]:
    """Return the titles and the width of each shown column.

    If names leave no space for reasons, only the first name is shown, if necessary on its own line (then it has no width).
    """
    by_role = {role: [column.name for column in columns if column.role == role] for role in ("name", "mark", "why")}
    last, marks = by_role["why"][-1:], by_role["mark"]
    whole = {column.name: clean(column.head) for column in columns}
    short = {column.name: clean(column.short or column.head) for column in columns}
    for heads, names in ((whole, [name for name in whole if name not in last]), (short, [by_role["name"][0], *marks]), (short, marks)):
        sizes = {name: max([len(heads[name]), *(cell_len(row[name].text) for row in cells)]) for name in names}
        room = width - sum(sizes.values()) - 2 * (len(sizes) + 1)
        if room >= max(20, width // 3):
            break
    return heads, sizes | dict.fromkeys(last, max(10, room))


def _last_part(reason: str) -> str:
    """Return what follows the last semicolon outside quotes, which says what to do or what is nearest; empty for a reason of one part."""
    parts = reason.split("; ")
    for at in range(len(parts) - 1, 0, -1):
        end = "; ".join(parts[at:])
        # An apostrophe inside a word is no quote.
        if len(re.findall(r"(?<!\w)'|'(?!\w)", end)) % 2 == 0 and end.count('"') % 2 == 0:
            return end
    return ""


def _cut(text: str, width: int) -> str:
    """Return a text of at most `width` cells; a longer one ends in an ellipsis."""
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1)}…"


def _print_below(screen: Screen, texts: Sequence[tuple[str, str, str]]) -> None:
    """Print the texts of a row on one line below it, each cut to its share of the width; in full if not on a terminal."""
    room = screen.width - _INDENT - sum(len(label) + 1 for label, *_ in texts) - 3 * (len(texts) - 1)
    wholes = [clean(" ".join(text.split())) for _, text, _ in texts]
    shares = _shares([cell_len(whole) for whole in wholes], room)
    parts = [Styled(" " * _INDENT)]
    for whole, share, (label, _, other) in zip(wholes, shares, texts, strict=True):
        words_above = {_bare_word(word) for word in other.split()}
        lines = whole if screen.is_whole else _cut(whole, share)
        parts += [Styled(" · ", "dim")] if len(parts) > 1 else []
        parts.append(Styled(f"{label} ", "dim"))
        n_free = len(lines)
        for at, word in enumerate(whole.split(" ")):
            piece = (" " if at else "") + word
            if n_free <= 0:
                break
            end = len(lines) - n_free + len(piece)
            style = "bold yellow" if other and _bare_word(word) not in words_above else ""
            parts.append(Styled(lines[len(lines) - n_free : end], style))
            n_free -= len(piece)
    screen.line(*parts)


def _shares(lengths: Sequence[int], room: int) -> list[int]:
    """Return the width of each text: equal parts, and what short texts leave is for the long ones."""
    shares = [0] * len(lengths)
    for n_left, at in zip(range(len(lengths), 0, -1), sorted(range(len(lengths)), key=lengths.__getitem__), strict=True):
        shares[at] = min(lengths[at], max(4, room // n_left))
        room -= shares[at]
    return shares


def _bare_word(word: str) -> str:
    """Normalise a word for comparison: lower case, without surrounding punctuation."""
    return word.casefold().strip(".,;:!?\"'()[]{}")


def _print_row(screen: Screen, cells: Mapping[str, Styled], sizes: Mapping[str, int], marks: Sequence[str], style: str = "") -> None:
    """Print the cells with a size as one row: marks centred, longer cells cut with an ellipsis.

    In a pipe the last cell is not cut.
    """
    parts = [Styled(" ")]
    for name, size in sizes.items():
        text, cell_style = cells[name]
        if not (screen.is_whole and name == [*sizes][-1]):
            text = _align(_cut(text, size), size, "center" if name in marks else "left")
        parts += [Styled("  "), Styled(text, cell_style)] if len(parts) > 1 else [Styled(text, cell_style)]
    while parts and not parts[-1].text.strip(" "):
        parts.pop()
    screen.line(*parts[:-1], *(Styled(last.text.rstrip(), last.style) for last in parts[-1:]), style=style)


def _align(text: str, width: int, side: str) -> str:
    spare = max(0, width - cell_len(text))
    before = {"left": 0, "center": spare // 2, "right": spare}[side]
    return " " * before + text + " " * (spare - before)


def _print_table(screen: Screen, table: Table[Any]) -> None:
    """Print the rows side by side if they fit; otherwise each row as a block of labelled cells."""
    columns = table.columns_of("text")
    styles = [table.style(row) for row in table.rows]
    rows = [[clean(text_of(cell)) for cell in cells] for cells in table.cells("text")]
    if _print_side_by_side(screen, columns, rows, styles):
        return
    head = [clean(column.head) for column in columns]
    n_names = sum(column.role == "name" for column in columns)
    if n_names == 1:
        for at, row in enumerate(rows):
            print_pairs(screen, zip(head, row, strict=True), after_a_line=at > 0)
        return
    widths = [max(len(row[at]) for row in [head, *rows]) if at < n_names - 1 else 0 for at in range(n_names)]

    def print_stacked(names: Sequence[str], below: str, style: str) -> None:
        print_line(screen, " " + "  ".join(f"{name:<{width}}" for name, width in zip(names, widths, strict=True)), style)
        print_line(screen, f"{' ' * (widths[0] + 3)}{below}", style)

    print_stacked(head[:n_names], " · ".join(head[n_names:]), "dim")
    for row, style in zip(rows, styles, strict=True):
        labelled = zip(columns[n_names:], row[n_names:], strict=True)
        print_stacked(row[:n_names], " · ".join(f"{clean(column.short or column.head)} {cell}" for column, cell in labelled), style)


def _print_side_by_side(screen: Screen, columns: Sequence[Column[Any]], rows: Sequence[Sequence[str]], styles: Sequence[str]) -> bool:
    """Print a table without cutting any cell; return False if the width is too small.

    Titles are short, and wrap, if the long ones do not fit on one line. Columns of numbers are aligned right.
    """
    wraps = [column.wraps for column in columns]
    cells = list(zip(*rows, strict=True)) or [()] * len(columns)
    longest = [max(map(cell_len, column), default=0) for column in cells]
    narrow = [min(size, _NARROWEST) if wrap else size for size, wrap in zip(longest, wraps, strict=True)]
    whole = [clean(column.head) for column in columns]
    has_room = sum(map(max, map(cell_len, whole), narrow)) + 2 * len(columns) <= screen.width
    head = whole if has_room else [clean(column.short or column.head) for column in columns]
    least = [max(*map(cell_len, name.split()), size, 0) for name, size in zip(head, narrow, strict=True)]
    spare = screen.width - sum(least) - 2 * len(least)
    if spare < 0:
        return False
    sizes = list(least)
    # Spare width goes to wrapping cells in equal parts, then to titles.
    for at in sorted(range(len(sizes)), key=lambda at: (not wraps[at], longest[at])):
        n_left = max(1, sum(wraps[other] and sizes[other] == least[other] for other in range(len(sizes))))
        more = min(max(longest[at], cell_len(head[at])) - least[at], spare // n_left if wraps[at] else spare)
        sizes[at] += more
        spare -= more
    sides = ["right" if all(map(_NUMBER.fullmatch, column)) else "left" for column in cells]
    for row, style in zip([head, *rows], ["dim", *styles], strict=True):
        for line in _wrap_row(row, sizes, sides, is_head=row is head):
            screen.line(Styled(line, style))
    return True


def _wrap_row(row: Sequence[str], sizes: Sequence[int], sides: Sequence[str], *, is_head: bool) -> Iterator[str]:
    """Yield the lines of a row: titles stand above their columns, cells at the top of their row."""
    wrapped = [wrap_text(text, size, _CELL_WORD) for text, size in zip(row, sizes, strict=True)]
    height = max(map(len, wrapped), default=0)
    for at in range(height):
        places = [at - (height - len(lines)) * is_head for lines in wrapped]
        texts = [lines[place] if 0 <= place < len(lines) else "" for lines, place in zip(wrapped, places, strict=True)]
        yield "".join(f" {_align(text, size, side)} " for text, size, side in zip(texts, sizes, sides, strict=True)).rstrip(" ")
