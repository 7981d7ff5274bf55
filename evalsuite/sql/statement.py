"""Queries for reading: both sides of an answer beside each other, long ones with a line for each clause.

A submission's SQL text -> the one statement in it. A coarse look, the same for all engines; the engine's own parser decides after it.

It reads no grammar: only comments, quotes and semicolons, in the dialect of the engine, and the first word.
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
# In PostgreSQL each character beyond ASCII is a letter of names, a line ends at a carriage return too, and a text goes on in the next line.
_LETTERS = r"A-Za-z_\x80-\U0010ffff"
_NO_NAME_BEFORE = rf"(?<![{_LETTERS}0-9$])"
_TAG = rf"\$(?:[{_LETTERS}][{_LETTERS}0-9]*)?\$"
_NEXT_LINE = r"(?:[ \t\f\v]|--[^\n\r]*+)*+[\n\r](?:[ \t\n\r\f\v]|--[^\n\r]*+[\n\r])*+"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """As much of an engine's SQL as the look needs: the words a SELECT begins with, and patterns of what is quoted, a name in quotes or
    a comment.

    Where one of `openers` is met outside a whole quote, its end is missing. The look stops there: going on from each would take n x n
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
# Beside a SELECT: what DuckDB itself reads as one.
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
    """The one statement of a text, without its closing semicolon, and its fence where it may be `fenced`; comments inside stay.

    Raises:
        FaultError: SQL_ERROR for no statement, one of more than `most_bytes` or one with a NUL; SQL_NOT_ALLOWED for several, or for one
            that does not begin as a SELECT does.
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
        raise not_allowed(f"{NOT_SELECT}, and here stand {len(pieces)} statements")
    word = re.match(r"[\s(]*(\w*)", pieces[0])
    if word is None or word[1].lower() not in dialect.first_words:
        raise not_allowed(NOT_SELECT, f"this begins with {(word[1].upper() if word else '') or 'no word'}")
    # The only piece stands between two semicolons, or the text's ends: leading ones are empty statements.
    start = blank.index(pieces[0])
    return sql[start : start + len(pieces[0])].strip()


def unfenced(text: str) -> str:
    """The text inside a Markdown fence, where there is one; the text itself where there is none.

    Of several fences the one marked as SQL is meant. Raises `FaultError` SQL_NOT_ALLOWED where several could be.
    """
    fences = list(_fences(text.replace("\r\n", "\n")))
    marked = [body for word, body in fences if word.lower() in _SQL_WORDS]
    chosen = marked or [body for _, body in fences]
    if len(chosen) > 1:
        raise FaultError("SQL_NOT_ALLOWED", f"{NOT_SELECT}, and here stand {len(chosen)} fenced blocks")
    return chosen[0] if chosen else text.removeprefix("\ufeff")


def _fences(text: str) -> Iterator[tuple[str, str]]:
    """(word behind the opening mark, text inside) of each closed fence; one step a line, whatever the text."""
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
    """The text with every comment and every quoted part turned to blanks of the same length; quotes leave one letter to stand for them.

    Raises `FaultError` SQL_ERROR where a quote is not closed.
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
    """What is quoted, a comment, or the beginning of a quote that does not end. Joining the pattern takes longer than most searches."""
    return re.compile("|".join([*dialect.quotes, dialect.line_comment, r"/\*", f"(?P<open>{dialect.openers})"]), re.S)


def changes(sql: str, dialect: Dialect) -> str:
    """The first words of a change in the text, such as `delete from`; empty without. Raises `FaultError` where a quote is not closed."""
    found = re.search(r"\b(?:insert\s+(?:or\s+\w+\s+)?into|delete\s+from|merge\s+into|update\s+\S+\s+set)\b", blanked(sql, dialect), re.I)
    return found[0] if found else ""


def called_names(sql: str, dialect: Dialect) -> set[str]:
    """The names before an opening bracket: of functions, as the server looks them up, and of some words that are none.

    Unquoted ones are in small letters. Raises `FaultError` SQL_ERROR where a quote is not closed.
    """
    return {name for name, _ in calls(sql, dialect)}


def calls(sql: str, dialect: Dialect) -> Iterator[tuple[str, int]]:
    """Each of `called_names` with the place behind its bracket, as often as it stands in the statement."""
    blank, quoted, bracket = blanked(sql, dialect), re.compile(dialect.name), re.compile(r"\s*\(")
    for found in re.finditer(r"(?<![\w$])([^\W\d][\w$]*+)\s*+\(", blank):
        yield found[1].lower(), found.end()
    for mark in re.finditer("_", blank):
        name = quoted.match(sql, mark.start())
        if name and (opened := bracket.match(blank, name.end())):
            yield name[0][1:-1].replace('""', '"'), opened.end()


def _comment_end(sql: str, position: int, *, nested: bool) -> int:
    """Where the block comment that began before `position` ends; the end of the text where nothing closes it."""
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
    """Gold's query and the answer's, each behind a line that says whose it is; one that is empty is left out.

    `dialect` is an engine's name in `ENGINES`, empty where none is known.
    """
    sides = {"gold": gold, "answer": answer}
    return "\n\n".join(f"-- {whose}\n{laid_out(sql, dialect)};" for whose, sql in sides.items() if sql.strip())


def laid_out(sql: str, dialect: str) -> str:
    """The same statement with a line for each clause; as it is written where its lines are short, or where it cannot be taken apart."""
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
