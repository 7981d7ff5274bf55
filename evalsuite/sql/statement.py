"""Extract the one statement of a submission's SQL text, and format queries for display.

The check uses no grammar: only comments, quotes and semicolons, in the dialect of the engine, and the first word. It is the same for all
engines; the engine's own parser decides after it.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Final

from evalsuite.core.errors import FaultError
from evalsuite.sql.session import NOT_SELECT, not_allowed, sql_error

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*([\w+-]*)")
_SQL_WORDS = frozenset({"sql", "sqlite", "duckdb", "postgres", "postgresql", "pgsql", "snowflake", "bigquery", "googlesql"})
_SURROGATE = re.compile("[\ud800-\udfff]")
_STRING = r"'(?:[^']|'')*'"
_ESCAPED = r"'(?:[^'\\]|\\.|'')*'"
_NAME = r'"(?:[^"]|"")*"'
_BACKTICKED = r"`(?:[^`\\]|\\.)*`"
# In PostgreSQL each character beyond ASCII is a letter of names, a line also ends at a carriage return, and a text may continue in the next
# line.
_LETTERS = r"A-Za-z_\x80-\U0010ffff"
_NO_NAME_BEFORE = rf"(?<![{_LETTERS}0-9$])"
_TAG = rf"\$(?:[{_LETTERS}][{_LETTERS}0-9]*)?\$"
_NEXT_LINE = r"(?:[ \t\f\v]|--[^\n\r]*+)*+[\n\r](?:[ \t\n\r\f\v]|--[^\n\r]*+[\n\r])*+"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The part of an engine's SQL syntax that the check needs: the words that begin a SELECT, and patterns of quoted texts, quoted names
    and comments.

    If one of `openers` occurs outside a complete quote, its end is missing. The search stops there: continuing from each would take n x n
    steps.
    """

    first_words: tuple[str, ...] = ("select", "with", "values")
    quotes: tuple[str, ...] = (_STRING, _NAME)
    name: str = _NAME
    openers: str = r"['\"]"
    line_comment: str = r"--[^\n]*"
    nested_comments: bool = False


STANDARD = Dialect()
POSTGRES = Dialect(
    first_words=("select", "with", "values", "table"),
    quotes=(
        rf"{_NO_NAME_BEFORE}[eE]{_ESCAPED}(?:{_NEXT_LINE}{_ESCAPED})*",
        _STRING,
        _NAME,
        rf"{_NO_NAME_BEFORE}(?P<tag>{_TAG}).*?(?P=tag)",
    ),
    openers=rf"['\"]|{_NO_NAME_BEFORE}{_TAG}",
    line_comment=r"--[^\n\r]*",
    nested_comments=True,
)
# Statements other than SELECT that DuckDB itself treats as one.
_READ_AS_SELECT = ("from", "pivot", "pivot_wider", "unpivot", "pivot_longer", "summarize", "describe", "desc", "show")
DUCKDB = replace(POSTGRES, first_words=(*POSTGRES.first_words, *_READ_AS_SELECT))
SQLITE = Dialect(quotes=(_STRING, _NAME, r"`(?:[^`]|``)*`", r"\[[^\]]*\]"), openers=r"['\"`\[]")
SNOWFLAKE = Dialect(quotes=(_ESCAPED, _NAME, r"\$\$.*?\$\$"), openers=r"['\"]|\$\$", line_comment=r"(?:--|//)[^\n]*")
BIGQUERY = Dialect(
    first_words=("select", "with", "from"),
    quotes=(r"(?:\"\"\".*?\"\"\"|'''.*?''')", _ESCAPED, r'"(?:[^"\\]|\\.)*"', _BACKTICKED),
    name=_BACKTICKED,
    openers=r"['\"`]",
    line_comment=r"(?:--|#)[^\n]*",
)


def only_statement(text: str, dialect: Dialect, *, most_bytes: int = 100_000, fenced: bool = True) -> str:
    """The one statement of a text, without its closing semicolon, and its fence if it may be `fenced`; comments inside stay.

    Raises:
        FaultError: SQL_ERROR for no statement, one of more than `most_bytes` or one with a NUL; SQL_NOT_ALLOWED for several, or for one
            that does not begin like a SELECT.
    """
    if len(text.encode("utf-8", "replace")) > most_bytes:
        raise sql_error("long")
    if "\0" in text or _SURROGATE.search(text):
        raise sql_error("syntax")
    sql = unfenced(text) if fenced else text.removeprefix("\ufeff")
    blank = blanked(sql, dialect)
    pieces = [piece for piece in blank.split(";") if piece.strip()]
    if not pieces:
        raise sql_error("empty")
    if len(pieces) > 1:
        raise not_allowed(f"{NOT_SELECT}, and this is {len(pieces)} statements")
    word = re.match(r"[\s(]*(\w*)", pieces[0])
    if word is None or word[1].lower() not in dialect.first_words:
        raise not_allowed(NOT_SELECT, f"this begins with {(word[1].upper() if word else '') or 'no word'}")
    # The only statement is between two semicolons, or the text's ends: leading ones are empty statements.
    start = blank.index(pieces[0])
    return sql[start : start + len(pieces[0])].strip()


def unfenced(text: str) -> str:
    """The text inside a Markdown fence, if there is one; otherwise the text itself.

    Of several fences the one marked as SQL is meant. Raises `FaultError` SQL_NOT_ALLOWED if several could be.
    """
    fences = list(_fences(text.replace("\r\n", "\n")))
    marked = [body for word, body in fences if word.lower() in _SQL_WORDS]
    chosen = marked or [body for _, body in fences]
    if len(chosen) > 1:
        raise FaultError("SQL_NOT_ALLOWED", f"{NOT_SELECT}, and this is {len(chosen)} fenced blocks")
    return chosen[0] if chosen else text.removeprefix("\ufeff")


def _fences(text: str) -> Iterator[tuple[str, str]]:
    """(word after the opening mark, text inside) of each closed fence; one step per line for any text."""
    lines = text.split("\n")
    ends: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        if (mark := line.strip(" \t"))[:3] in ("```", "~~~"):
            ends.setdefault(mark, []).append(number)
    number = 0
    while number < len(lines):
        opened = _FENCE.match(lines[number])
        closing = ends.get(opened[1], []) if opened else []
        after = bisect_right(closing, number)
        if opened and after < len(closing):
            yield opened[2], "".join(f"{line}\n" for line in lines[number + 1 : closing[after]])
            number = closing[after]
        number += 1


@lru_cache(maxsize=64)
def blanked(sql: str, dialect: Dialect) -> str:
    """The text with every comment and every quoted part replaced by blanks of the same length; a quote leaves one letter as a placeholder.

    Raises `FaultError` SQL_ERROR if a quote is not closed.
    """
    token = _token(dialect)
    out, position = [], 0
    while found := token.search(sql, position):
        if found["open"]:
            raise sql_error("syntax")
        start, end = found.span()
        out.append(sql[position:start])
        comment = found[0].startswith(("--", "//", "#", "/*"))
        if found[0] == "/*":
            end = _comment_end(sql, end, nested=dialect.nested_comments)
        out.append(" " * (end - start) if comment else "_".ljust(end - start))
        position = end
    return "".join([*out, sql[position:]])


@cache
def _token(dialect: Dialect) -> re.Pattern[str]:
    """A quoted part, a comment, or the beginning of a quote that does not end. Cached: joining the pattern takes longer than most
    searches.
    """
    return re.compile("|".join([*dialect.quotes, dialect.line_comment, r"/\*", f"(?P<open>{dialect.openers})"]), re.S)


def changes(sql: str, dialect: Dialect) -> str:
    """The first words of a change in the text, such as `delete from`; empty if there is none. Raises `FaultError` if a quote is not
    closed.
    """
    found = re.search(r"\b(?:insert\s+(?:or\s+\w+\s+)?into|delete\s+from|merge\s+into|update\s+\S+\s+set)\b", blanked(sql, dialect), re.I)
    return found[0] if found else ""


def called_names(sql: str, dialect: Dialect) -> set[str]:
    """The names before an opening bracket: of functions, as the server looks them up, and of some keywords.

    Unquoted ones are in lower case. Raises `FaultError` SQL_ERROR if a quote is not closed.
    """
    return {name for name, _ in calls(sql, dialect)}


def calls(sql: str, dialect: Dialect) -> Iterator[tuple[str, int]]:
    """Each of `called_names` with the position after its bracket, once per occurrence."""
    blank, quoted, bracket = blanked(sql, dialect), re.compile(dialect.name), re.compile(r"\s*\(")
    for found in re.finditer(r"(?<![\w$])([^\W\d][\w$]*+)\s*+\(", blank):
        yield found[1].lower(), found.end()
    for mark in re.finditer("_", blank):
        name = quoted.match(sql, mark.start())
        if name and (opened := bracket.match(blank, name.end())):
            yield name[0][1:-1].replace('""', '"'), opened.end()


def _comment_end(sql: str, position: int, *, nested: bool) -> int:
    """The end of the block comment that began before `position`; the end of the text if nothing closes it."""
    depth = 1
    for mark in re.finditer(r"/\*|\*/", sql[position:]):
        if mark[0] == "*/":
            depth -= 1
        elif nested:
            depth += 1
        if depth == 0:
            return position + mark.end()
    return len(sql)


_LONGEST_LINE: Final = 100


def both_queries(gold: str, answer: str, dialect: str) -> str:
    """Gold's query and the answer's, each after a line that names its side; an empty one is left out.

    `dialect` is an engine's name in `ENGINES`, empty if unknown.
    """
    sides = {"gold": gold, "answer": answer}
    return "\n\n".join(f"-- {whose}\n{laid_out(sql, dialect)};" for whose, sql in sides.items() if sql.strip())


def laid_out(sql: str, dialect: str) -> str:
    """The same statement with a line for each clause; unchanged if its lines are short, or if it cannot be parsed."""
    written = sql.strip().rstrip(";").rstrip()
    if all(len(line) <= _LONGEST_LINE for line in written.splitlines()):
        return written
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        tree = sqlglot.parse_one(written, read=dialect)
        shown: str = tree.sql(dialect, pretty=True)
        return shown if sqlglot.parse_one(shown, read=dialect) == tree else written
    except (SqlglotError, RecursionError, ValueError):
        return written
