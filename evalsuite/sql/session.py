"""What all engines share: connections, limits of a query, the protocol of a session, neutral cells, and the statement of an answer.

`only_statement` extracts the one statement of a submission's SQL text. It uses no grammar: only comments, quotes and semicolons, in the
dialect of the engine, and the first word. It is the same for all engines; the engine's own parser decides after it.
"""

import contextlib
import hashlib
import json
import os
import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.disk_cache import file_digest, file_state
from evalsuite.core.errors import FaultError, MissingExtraError, UsageError
from evalsuite.core.files import is_dir
from evalsuite.core.scores import Table

MIB = 1 << 20
_LONGEST_PART = 60

# Why a statement failed, in fixed texts: an engine's own text can contain paths and any part of the statement.
REASONS = {
    "syntax": "the statement is not valid SQL of this engine",
    "name": "the statement names a table, column or function that the database does not have",
    "form": "the parts of the statement do not fit together: its types, columns, grouping or names",
    "value": "a value cannot be converted or computed",
    "empty": "there is no statement",
    "deep": "the statement is nested too deeply",
    "long": "the statement is too long",
    "range": "the result contains a value outside the supported range, such as a date after the year 9999",
    "encoding": "the result contains a text that is not UTF-8",
    "other": "the engine refused the statement",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The description of one database: plain data that is pickled to a worker and opened there.

    Attributes:
        name: the name of the connection, for messages.
        engine: a name in `ENGINES`, such as `duckdb`, `sqlite` or `postgres`.
        database: a file for an embedded engine, else the name of the database.
        options: further settings of the engine. They can contain secrets: `repr`, `str` and errors show none of the values.
    """

    name: str
    engine: str
    database: str = ""
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLimits:
    """The limits of one statement.

    Attributes:
        seconds: elapsed time of the statement.
        rows, columns: size of the result.
        held_bytes: bytes of cells that are in memory at once.
        result_bytes: bytes of the whole result.
        memory_mib: memory of an embedded engine, in MiB.
        billed_bytes: bytes that BigQuery may bill.
        sql_bytes: length of the statement.
        clock: frozen time of the statement, in seconds since 1970 (0: the real clock).
    """

    seconds: float = 10
    rows: int = 5_000_000
    columns: int = 20_000
    held_bytes: int = 256 * MIB
    result_bytes: int = 16 << 30
    memory_mib: int = 2048
    billed_bytes: int = 10 << 30
    sql_bytes: int = 100_000
    clock: int = 0

    @classmethod
    def from_names(cls, limits: Mapping[str, int | float]) -> "QueryLimits":
        """The limits by the names of suite.yaml and --limit; `table_bytes` becomes `held_bytes`. Names of other limits are ignored."""
        query_limits = {name: limits[name] for name in cls.__dataclass_fields__ if name in limits}
        if "table_bytes" in limits:
            query_limits.setdefault("held_bytes", limits["table_bytes"])
        return cls(**query_limits)  # type: ignore[arg-type]

    def check(self, *, rows: int = 0, columns: int = 0, result_bytes: int = 0, held_bytes: int = 0) -> None:
        """Raise LIMIT for a result with more rows, columns or bytes than these."""
        if columns > self.columns:
            raise FaultError("LIMIT", f"the result has {columns} columns (limit columns: {self.columns})")
        for n, most, limit in (
            (rows, self.rows, "rows (limit rows)"),
            (result_bytes, self.result_bytes, "bytes (limit result_bytes)"),
            (held_bytes, self.held_bytes, "bytes (limit table_bytes)"),
        ):
            if n > most:
                raise FaultError("LIMIT", f"the result has more than {most} {limit}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of a statement: wall-clock seconds, rows and bytes of its result, bytes billed (None: the engine bills none)."""

    seconds: float
    rows: int
    bytes: int
    billed_bytes: int | None = None
    cached: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """A statement's table with its cost. `sql` is the statement that ran, without its fence."""

    table: Table
    cost: Cost
    sql: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A statement's result as the CSV file that is scored, with its cost. `sql` is the statement that ran, without its fence."""

    place: Path
    header: tuple[str, ...]
    cost: Cost
    sql: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Rows as text written by the engine, equal to `result_csv.as_lines` of them; the columns with timestamps at midnight, and at other
    times.
    """

    text: bytes
    n_rows: int
    at_midnight: frozenset[int] = frozenset()
    at_other_times: frozenset[int] = frozenset()

    @classmethod
    def from_bits(cls, text: bytes, n_rows: int, bits: int, moments: Sequence[int]) -> "Lines":
        """Return the lines with two bits for each column of `moments`: whether some are at midnight, and at other times."""
        midnight, other = (frozenset(column for place, column in enumerate(moments) if bits >> 2 * place & bit) for bit in (1, 2))
        return cls(text=text, n_rows=n_rows, at_midnight=midnight, at_other_times=other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A result being read: header, types (None: each cell has its own, as in SQLite), and chunks of rows of neutral cells, or `lines`."""

    header: tuple[str, ...]
    types: tuple[str, ...] | None
    chunks: Iterator[Sequence[Sequence[Any]]]
    lines: Iterator[Lines] | None = None


class WideRowError(Exception):
    """A row of a server's result is too wide to be in memory with thousands of others, or, read row by row, at all."""


class Session(ABC):
    """An open read-only connection. Every method raises `FaultError` with fixed texts; engines' texts go to the debug log.

    `billed_bytes` is what the last statement was billed for, None for engines that do not bill.
    """

    billed_bytes: int | None = None
    connection: Any
    described: Connection

    @abstractmethod
    def stream(self, sql: str) -> Stream:
        """Start a statement from `only_statement`; refuses everything that the engine does not parse as one SELECT.

        An engine that writes text itself returns `lines` instead of chunks for `as_text=True`, if it can write this result so.
        """

    def cancel(self) -> None:
        """Stop the running statement; called from another thread. Embedded engines check for it between two steps of their work."""
        self.connection.interrupt()

    @abstractmethod
    def describe(self) -> str:
        """The engine and its version."""

    def fingerprint(self) -> str | None:
        """A value that changes whenever the data change; None if the engine cannot report that, and then no result is cached.

        For a warehouse it is the connection's `version`: it cannot report whether all data that a statement may read are unchanged.
        """
        version = self.described.options.get("version")
        return None if version is None else f"{self.account()}|{self.described.database}|{version}"

    def account(self) -> str:
        """The name of a warehouse's account."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def client(module: str, engine: str) -> Any:
    """An engine's client library; raises `MissingExtraError` with the pip line if it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(f"{engine} needs its client library", extra=engine) from error


def sql_error(kind: str) -> FaultError:
    """SQL_ERROR with the fixed text of a kind of `REASONS`."""
    return FaultError("SQL_ERROR", REASONS[kind])


def not_allowed_error(reason: str, part: str = "") -> FaultError:
    """SQL_NOT_ALLOWED with a fixed reason, and the part of the statement that it is about, if it is plain text."""
    part_name = re.sub(r"[^\w$.()*:/ -]", "", part)[:_LONGEST_PART].strip()
    return FaultError("SQL_NOT_ALLOWED", f"{reason}: {part_name}" if part_name else reason)


def unread_database_error(reason: str = "input/output error") -> FaultError:
    """The fault of a disk or a server that does not give the database's bytes: no statement causes it."""
    return FaultError("NEEDS_CONNECTION", f"this machine cannot read the database: {reason}", side="setup")


def find_name(text: str, sql: str) -> str:
    """The first name in an engine's first line that also occurs in the statement; nothing else of the engine's text is shown. Empty if
    none.
    """
    words = re.findall(r"\"([^\"]+)\"|'([^']+)'|(\w+)", text.partition("\n")[0])
    quoted = [name for double, single, _ in words if (name := double or single) and name in sql]
    return next(iter(quoted or [word for *_, word in words[::-1] if word and re.search(rf"\b{word}\b", sql)]), "")


def server_gone(engine: str) -> FaultError:
    """NEEDS_CONNECTION for a server that disconnected while it ran a statement: not the answer's fault."""
    return FaultError("NEEDS_CONNECTION", f"{engine} disconnected while it ran the statement", side="setup")


def unfinished(engine: str, reason: str) -> FaultError:
    """NEEDS_CONNECTION for a statement that the server or its account stopped, whatever it says: not the answer's fault."""
    return FaultError("NEEDS_CONNECTION", f"{engine} did not finish the statement: {reason}", side="setup")


NOT_SELECT = "only one SELECT is run"
OUTSIDE = "the statement reaches outside its database"


def neutral(value: Any) -> Any:
    """A cell in the form that is the same for every engine: instants in UTC, lists and objects as JSON text, other types as text."""
    if value is None or isinstance(value, bool | int | float | str | bytes | Decimal | UUID):
        return value
    if isinstance(value, datetime):
        return value if value.tzinfo is None else value.astimezone(UTC)
    if isinstance(value, date | time):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, list | tuple | Mapping):
        return as_json(value)
    return str(value)


def as_json(value: Any) -> str:
    """A nested value as JSON text; values without a JSON form become text."""
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return value.hex()
    return value.isoformat() if isinstance(value, date | time) else str(value)


def database_path(connection: Connection) -> Path:
    """The connection's file or folder; raises `UsageError` if it does not exist."""
    if not connection.database:
        raise UsageError(f"connection {connection.name!r} names no database", hint="add `database: FILE`")
    path = Path(connection.database)
    if not is_there(path):
        raise UsageError(
            f"connection {connection.name!r}: no {'/'.join(path.parts[-2:])}",
            hint="a relative path starts in --databases DIR, then in the folder of the configuration file",
        )
    if not os.access(path, os.R_OK | (os.X_OK if is_dir(path) else 0)):
        raise UsageError(f"connection {connection.name!r}: {path.name} cannot be read", hint="check its permissions")
    path = path.resolve()
    try:
        text_of(path)
    except UnicodeDecodeError:
        raise UsageError(f"connection {connection.name!r}: the path of {path.name} is not UTF-8", hint="rename it") from None
    return path


def text_of(path: Path) -> str:
    """The path in UTF-8, as engines expect it, whatever encoding this process uses for file names. Raises `UnicodeDecodeError`."""
    return os.fsencode(path).decode()


def is_there(path: Path) -> bool:
    """Whether a file or folder exists; False inside a folder without read permission."""
    return os.path.exists(path)  # noqa: PTH110 - `exists` raises there


def read_of(connection: Connection) -> list[str]:
    """The paths that an embedded engine reads: the file and its write-ahead log, or the folder and the targets of the links in it."""
    paths = [connection.database, f"{connection.database}.wal"]
    with contextlib.suppress(OSError):
        paths += [os.path.realpath(entry) for entry in os.scandir(connection.database) if entry.is_symlink()]
    return paths


def digest_of(files: Sequence[Path]) -> str:
    """SHA-256 over the names and bytes of files; unchanged files are not read again in this process."""
    digest = hashlib.sha256()
    for path in files:
        content = _digest_in_state(path, *file_state(path))
        digest.update(os.fsencode(path.name) + f"\0{content}\0".encode())
    return digest.hexdigest()


@lru_cache(maxsize=4096)
def _digest_in_state(path: Path, *_state: int) -> str:
    return file_digest(path)


_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*([\w+-]*)")
_SQL_WORDS = frozenset({"sql", "sqlite", "duckdb", "postgres", "postgresql", "pgsql", "snowflake", "bigquery", "googlesql"})
_SURROGATE = re.compile("[\ud800-\udfff]")
_STRING = r"'(?:[^']|'')*'"
_ESCAPED = r"'(?:[^'\\]|\\.|'')*'"
_NAME = r'"(?:[^"]|"")*"'
_BACKTICKED = r"`(?:[^`\\]|\\.)*`"
# In PostgreSQL each character beyond ASCII is a letter of names, a line also ends at a carriage return, and a text may continue in the next
# line. A set is compiled 20 times faster as the characters of ASCII that are not in it.
_LETTER, _LETTER_OR_DIGIT = r"[^\x00-@\[-^`{-\x7f]", r"[^\x00-/:-@\[-^`{-\x7f]"
_NO_NAME_BEFORE = r"(?<![^\x00-#%-/:-@\[-^`{-\x7f])"
_TAG = rf"\$(?:{_LETTER}{_LETTER_OR_DIGIT}*)?\$"
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
    sql = remove_fence(text) if fenced else text.removeprefix("\ufeff")
    blank = blank_out(sql, dialect)
    pieces = [piece for piece in blank.split(";") if piece.strip()]
    if not pieces:
        raise sql_error("empty")
    if len(pieces) > 1:
        raise not_allowed_error(f"{NOT_SELECT}, and this is {len(pieces)} statements")
    word = re.match(r"[\s(]*(\w*)", pieces[0])
    if word is None or word[1].lower() not in dialect.first_words:
        raise not_allowed_error(NOT_SELECT, f"this begins with {_beginning(sql, word[1] if word else '')}")
    # The only statement is between two semicolons, or the text's ends: leading ones are empty statements.
    start = blank.index(pieces[0])
    return sql[start : start + len(pieces[0])].strip()


_SIGNS: Final = {"`": "a backtick", "'": "a quote", '"': "a quote", "{": "a brace", "[": "a bracket", "<": "a tag"}


def _beginning(sql: str, word: str) -> str:
    """How a text begins that is no SELECT, for its reason: the sign before its first word, or that word."""
    return _SIGNS.get(sql.lstrip()[:1]) or word.upper() or "no word"


def remove_fence(text: str) -> str:
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
def blank_out(sql: str, dialect: Dialect) -> str:
    """The text with every comment and every quoted part replaced by blanks of the same length; a quote leaves one letter as a placeholder.

    Raises `FaultError` SQL_ERROR if a quote is not closed.
    """
    token = _token(dialect)
    out, position = [], 0
    while match := token.search(sql, position):
        if match["open"]:
            raise sql_error("syntax")
        start, end = match.span()
        out.append(sql[position:start])
        comment = match[0].startswith(("--", "//", "#", "/*"))
        if match[0] == "/*":
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
    match = re.search(r"\b(?:insert\s+(?:or\s+\w+\s+)?into|delete\s+from|merge\s+into|update\s+\S+\s+set)\b", blank_out(sql, dialect), re.I)
    return match[0] if match else ""


def called_names(sql: str, dialect: Dialect) -> set[str]:
    """The names before an opening bracket: of functions, as the server looks them up, and of some keywords.

    Unquoted ones are in lower case. Raises `FaultError` SQL_ERROR if a quote is not closed.
    """
    return {name for name, _ in calls(sql, dialect)}


def calls(sql: str, dialect: Dialect) -> Iterator[tuple[str, int]]:
    """Each of `called_names` with the position after its bracket, once per occurrence."""
    blank, quoted, bracket = blank_out(sql, dialect), re.compile(dialect.name), re.compile(r"\s*\(")
    for match in re.finditer(r"(?<![\w$])([^\W\d][\w$]*+)\s*+\(", blank):
        yield match[1].lower(), match.end()
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
    return "\n\n".join(f"-- {owner}\n{laid_out(sql, dialect)};" for owner, sql in sides.items() if sql.strip())


def laid_out(sql: str, dialect: str) -> str:
    """The same statement with a line for each clause; unchanged if its lines are short, or if it cannot be parsed."""
    written = sql.strip().rstrip(";").rstrip()
    if all(len(line) <= _LONGEST_LINE for line in written.splitlines()):
        return written
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        tree = sqlglot.parse_one(written, read=dialect)
        pretty: str = tree.sql(dialect, pretty=True)
        return pretty if sqlglot.parse_one(pretty, read=dialect) == tree else written
    except (SqlglotError, RecursionError, ValueError):
        return written
