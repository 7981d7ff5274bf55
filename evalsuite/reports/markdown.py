"""Render any document as Markdown for a pull request comment: the most important numbers first, everything else folded.

Texts that a submission or gold can influence are put in code spans or escaped, so that they contain no markup, HTML or mention.
"""

import html
import re
from collections.abc import Iterator, Sequence
from typing import Any

from evalsuite.compare.characters import clean
from evalsuite.reports.document import LONGEST, Code, Document, Own, Section, Strong, Table, Words, pieces, text_of

# A comment on GitHub has at most 65,536 characters; counting bytes is safe for any script.
MOST_BYTES = 60_000
MOST_IN_A_FOLD = 50
_MARKUP = re.compile(r"([\\`*_{}\[\]|~#!$])")


def as_markdown(document: Document) -> str:
    """Return the document in less than 60 kB; what is left out is counted."""
    sections = list(document.parts("markdown"))
    head = f"### {render_words(document.heading or document.title)}"
    whole = {at: _opened_section(section) for at, section in enumerate(sections) if _stands_whole(section)}
    room = MOST_BYTES - sum(len(part.encode()) + 2 for part in (head, *whole.values()))
    share = max(0, room) // max(1, len(sections) - len(whole))
    cut = {at: (_folded_section if one.is_folded else _opened_section)(one, share) for at, one in enumerate(sections) if at not in whole}
    return "\n\n".join(filter(None, (head, *((whole | cut)[at] for at in range(len(sections)))))) + "\n"


def render_words(words: Words) -> str:
    """Render the words; only evalsuite's own markup is kept."""
    return "".join(
        code_span(piece.text, piece.longest)
        if isinstance(piece, Code)
        else f"**{plain(piece.text)}**"
        if isinstance(piece, Strong)
        else clean(piece.text)
        if isinstance(piece, Own)
        else plain(piece)
        for piece in pieces(words)
    )


def code_span(text: str, longest: int = LONGEST) -> str:
    """Return the text as a closed code span: one printable line of at most `longest` characters, fenced by enough backticks."""
    text = clean(text)
    if len(text) > longest:
        text = f"{text[: longest - 1]}…"
    if not text:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    # Markdown strips one space on each side; it protects a backtick or space at the ends of the text.
    pad = " " if text.strip(" ") and (text[0] in "` " or text[-1] in "` ") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def plain(text: str) -> str:
    """Escape the text outside a code span: no markup, link, mention or cell border."""
    return _MARKUP.sub(r"\\\1", plain_html(text))


def plain_html(text: str) -> str:
    """Escape the text inside an HTML element of a Markdown document, where a backslash does not escape."""
    escaped = html.escape(clean(text), quote=False)
    # Mentions and URLs become links by themselves; an invisible zero-width space prevents that.
    return escaped.replace("@", "@\u200b").replace("://", ":\u200b//").replace("www.", "www\u200b.")


def _stands_whole(section: Section) -> bool:
    """Return whether the section must not be cut if space is short."""
    return section.look == "block" or not (section.is_folded or (section.table is not None and section.table.is_long))


def _words_in_table(words: Words) -> str:
    """Render the words in a table; a bar would end the cell even in a code span and becomes a broken bar."""
    if isinstance(words, tuple):
        return "".join(map(_words_in_table, words))
    return render_words(Code(words.text.replace("|", "¦"), min(words.longest, 60)) if isinstance(words, Code) else words)


def _opened_section(section: Section, room: int = MOST_BYTES) -> str:
    if section.look == "block":
        return _fenced_section(section)
    if section.look == "foot":
        return f"<sub>{''.join(map(render_words, section.lines))}</sub>"
    parts = [f"#### {render_words(section.title)}"] if section.title else []
    # Two spaces at the end of a line are a line break.
    parts += ["  \n".join(map(render_words, section.prose))] if section.prose else []
    if section.table is not None:
        rows = list(_markdown_table(section.table))
        fitting = _lines_that_fit(rows, room, len(rows))
        # Leave out a header without rows.
        if len(rows) > 2:
            parts.append("\n".join(fitting))
        if len(fitting) < len(rows):
            parts.append(f"... {len(rows) - len(fitting)} more")
    if listed := [f"- {render_words(label)}: {render_words(text)}" for label, text in section.pairs]:
        parts.append("\n".join(listed))
    if listed := [f"- {render_words(line)}" for line in section.lines if text_of(line)]:
        parts.append("\n".join(listed))
    parts += [render_words(line) for line in section.below]
    return "\n\n".join(parts)


def _fenced_section(section: Section) -> str:
    """Render the lines unchanged in a fence that they cannot close; unprintable characters become escapes."""
    text = "\n".join(clean(text_of(line)) for line in section.lines)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    fenced = f"{fence}{section.values.get('language', '')}\n{text}\n{fence}"
    if section.is_folded:
        return f"<details><summary>{plain_html(text_of(section.title))}</summary>\n\n{fenced}\n\n</details>"
    return f"{render_words(section.title)}:\n{fenced}" if section.title else fenced


def _folded_section(section: Section, room: int) -> str:
    """Render a folded section with as many lines as fit in the bytes; what is left out is counted. Empty without content."""
    bullets = [f"- {render_words(line)}".rstrip() for line in section.lines]
    is_table = section.table is not None and not section.table.is_listed
    lines = [*(_bulleted_rows(section.table) if section.table is not None else ()), *bullets]
    if not lines:
        return ""
    fitting = _lines_that_fit(lines, room - 200, len(lines) if is_table else MOST_IN_A_FOLD)
    if len(fitting) < len(lines):
        fitting += [*([""] if is_table else []), f"- ... {len(lines) - len(fitting)} more"]
    fitting += ["", *map(render_words, section.below)] if section.below else []
    return f"<details><summary>{plain_html(text_of(section.title))}</summary>\n\n" + "\n".join(fitting) + "\n\n</details>"


def _lines_that_fit(lines: Sequence[str], room: int, most: int) -> list[str]:
    """Return the first lines, limited by number and bytes."""
    found: list[str] = []
    for line in lines[:most]:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        found.append(line)
    return found


def _bulleted_rows(table: Table[Any]) -> Iterator[str]:
    """Return a bullet per row of a listed table, the lines of any other."""
    if not table.is_listed:
        yield from _markdown_table(table)
        return
    columns = table.of("markdown")
    for cells in table.cells("markdown"):
        named = [
            f"{plain(column.head)} {text}" if column.role == "more" else text
            for column, cell in zip(columns, cells, strict=True)
            if (text := render_words(cell))
        ]
        yield f"- {' '.join(named)}"


def _markdown_table(table: Table[Any]) -> Iterator[str]:
    """Return the lines of a table: texts aligned left, numbers right."""
    columns = table.of("markdown")
    yield "| " + " | ".join(plain(column.head) for column in columns) + " |"
    yield "| " + " | ".join("--:" if column.is_number else ":--" for column in columns) + " |"
    for cells in table.cells("markdown"):
        yield "| " + " | ".join(map(_words_in_table, cells)) + " |"
