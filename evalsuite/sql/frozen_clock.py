"""A frozen clock: `now` has the same value in gold's queries and in answers, on every engine.

An engine inside this process gets replacements for its own functions, so that statements, views and column names do not change. For a
server only the parts of a statement that read the time are rewritten. What cannot be frozen is NOT_FROZEN: it never runs on another clock.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from evalsuite.core.errors import FaultError
from evalsuite.core.library_calls import OwnErrors
from evalsuite.sql.session import BIGQUERY, DUCKDB, POSTGRES, SNOWFLAKE, SQLITE, Dialect, blank_out, called_names

# Name -> replacement; `{at}` are seconds since 1970, `{more}` the arguments. Those in `_BARE` may be written without brackets.
_MOMENT, _ZONED = '(SELECT to_timestamp({at})%s AS "{name}")', "%s(TIMESTAMP_SECONDS({at}){more})"
_POSTGRES: Final = {
    **dict.fromkeys(("now", "transaction_timestamp", "statement_timestamp", "clock_timestamp", "current_timestamp"), _MOMENT % ""),
    "current_date": _MOMENT % "::date",
    "current_time": _MOMENT % "::timetz",
    "localtime": _MOMENT % "::time",
    "localtimestamp": _MOMENT % "::timestamp",
    "timeofday": "(SELECT to_char(to_timestamp({at}), 'Dy Mon DD HH24:MI:SS.US YYYY TZ') AS timeofday)",
}
_BIGQUERY: Final = {
    "current_date": _ZONED % "DATE",
    "current_datetime": _ZONED % "DATETIME",
    "current_time": _ZONED % "TIME",
    "current_timestamp": "TIMESTAMP_SECONDS({at})",
}
_SNOWFLAKE: Final = {
    **dict.fromkeys(("current_timestamp", "localtimestamp", "getdate", "systimestamp"), "TO_TIMESTAMP_LTZ({at})"),
    "current_date": "TO_TIMESTAMP_LTZ({at})::DATE",
    **dict.fromkeys(("current_time", "localtime"), "TO_TIMESTAMP_LTZ({at})::TIME"),
    "sysdate": "TO_TIMESTAMP_NTZ({at})",
}
# Name -> the macro's value.
_DUCKDB: Final = {
    **dict.fromkeys(("now", "get_current_timestamp", "transaction_timestamp", "current_timestamp"), "to_timestamp({at})"),
    **dict.fromkeys(("today", "current_date"), "CAST(to_timestamp({at}) AS DATE)"),
    **dict.fromkeys(("current_localtimestamp", "localtimestamp"), "CAST(to_timestamp({at}) AS TIMESTAMP)"),
    **dict.fromkeys(
        ("get_current_time", "current_localtime", "localtime", "current_time"), "CAST(CAST(to_timestamp({at}) AS TIMESTAMP) AS TIME)"
    ),
}
_BARE: Final = frozenset({"current_date", "current_time", "current_timestamp", "current_datetime", "localtime", "localtimestamp"})
_REWRITTEN: Final[Mapping[str, tuple[Dialect, Mapping[str, str]]]] = {
    "postgres": (POSTGRES, _POSTGRES),
    "bigquery": (BIGQUERY, _BIGQUERY),
    "snowflake": (SNOWFLAKE, _SNOWFLAKE),
}
# SQLite's functions of time with the positions of the arguments that may be 'now'.
_SQLITE: Final = {**dict.fromkeys(("date", "time", "datetime", "julianday", "unixepoch"), (0,)), "strftime": (1,), "timediff": (0, 1)}
_SUBSECONDS: Final = frozenset({"subsec", "subsecond"})
_KEPT_CALLS = 1 << 16
# PostgreSQL reads these texts as times wherever one is expected.
_WORD = re.compile(r"'\s*(now|today|tomorrow|yesterday)\b([^']*)'", re.IGNORECASE)
_TIME_TYPE = r"(?:date|time|timetz|timestamp|timestamptz)\b"
_TYPED_BEFORE = re.compile(rf"(?:\b{_TIME_TYPE}|\btime\s+zone)\s*$", re.IGNORECASE)
_TYPED_AFTER = re.compile(rf"\s*(?:::|\bas\b)\s*{_TIME_TYPE}", re.IGNORECASE)
_LOOK_BACK = 40


def not_frozen(what: str) -> FaultError:
    """NOT_FROZEN, with the part of a statement that would read another clock."""
    return FaultError("NOT_FROZEN", f"the clock of {what} cannot be frozen")


def freeze_sqlite(connection: sqlite3.Connection, at: int, own_errors: OwnErrors) -> None:
    """Replace SQLite's own functions, CURRENT_DATE among them, with those of a clock frozen at `at` (seconds since 1970).

    `own_errors` keeps the errors of a replacement that no argument causes.
    """
    memory_database, now = sqlite3.connect(":memory:", check_same_thread=False), _utc(at).strftime("%Y-%m-%d %H:%M:%S")

    def function(name: str, places: Sequence[int]) -> Callable[..., Any]:
        @own_errors.kept(sqlite3.Error, ValueError, OverflowError, MemoryError)
        @lru_cache(maxsize=_KEPT_CALLS, typed=True)
        def call(*arguments: Any) -> Any:
            values = [*arguments]
            for place in places:
                if len(values) == place:
                    values.append(now)
                elif len(values) > place and isinstance(values[place], str):
                    word = values[place].lower()
                    values[place : place + 1] = (
                        [now] if word == "now" else [now, word] if word in _SUBSECONDS else values[place : place + 1]
                    )
            return memory_database.execute(f"SELECT {name}({', '.join('?' * len(values))})", values).fetchone()[0]

        return call

    functions = {name for (name,) in memory_database.execute("SELECT DISTINCT name FROM pragma_function_list")}
    for name, places in _SQLITE.items():
        if name in functions:
            connection.create_function(name, -1, function(name, places), deterministic=True)
    for keyword, name in (("current_date", "date"), ("current_time", "time"), ("current_timestamp", "datetime")):
        connection.create_function(keyword, 0, function(name, (0,)), deterministic=True)


def duckdb_macros(at: int) -> Iterator[str]:
    """The statements that create macros of a clock at `at` in front of DuckDB's functions, for this connection only."""
    for name, value in _DUCKDB.items():
        yield f"CREATE TEMP MACRO {name}() AS {value.format(at=at)}"
    today = f"CAST(CAST(to_timestamp({at}) AS DATE) AS TIMESTAMP)"
    yield f"CREATE TEMP MACRO age(x) AS system.main.age({today}, x), (x, y) AS system.main.age(x, y)"


def freeze_statement(sql: str, engine: str, at: int, are_times: Callable[[str, int], Sequence[bool]] | None = None) -> str:
    """The statement with its clock at `at` (0: unchanged), for an engine that accepts no functions of ours, or no qualified ones.

    `are_times` returns which of the n parameters of a PostgreSQL statement are read as times. Raises `FaultError` NOT_FROZEN, and SQL_ERROR
    if a quote is not closed.
    """
    if not at or engine == "sqlite":
        return sql
    if engine == "duckdb":
        qualified = rf"(?<![\w$.])(?:system\s*\.\s*(?:main\s*\.\s*)?|pg_catalog\s*\.\s*)(?=(?:age|{'|'.join(_DUCKDB)})\s*\()"
        return _splice(sql, [(*match.span(), "") for match in re.finditer(qualified, blank_out(sql, DUCKDB), re.IGNORECASE)])
    dialect, table = _REWRITTEN[engine]
    if engine == "postgres":
        sql = _without_words(sql, at, are_times)
        sql = _splice(sql, [(place, place, f"to_timestamp({at})::date::timestamp, ") for place in _lone_ages(blank_out(sql, dialect))])
    sql = _splice(sql, list(_parts(sql, dialect, table, at)))
    if left := sorted(_function_names(sql, dialect) & set(table)):
        raise not_frozen(f"{left[0]}()")
    return sql


def _function_names(sql: str, dialect: Dialect) -> set[str]:
    """The names of functions in lower case: an engine also finds its own functions under quoted names in their own case."""
    return set(map(str.lower, called_names(sql, dialect)))


def _parts(sql: str, dialect: Dialect, table: Mapping[str, str], at: int) -> Iterator[tuple[int, int, str]]:
    """(start, end, replacement) of each call and keyword that reads the time. Raises NOT_FROZEN for one inside another."""
    blank, last = blank_out(sql, dialect), 0
    pattern = re.compile(rf"(?<![\w$.])(?:pg_catalog\s*\.\s*)?\b({'|'.join(table)})\b(?:\s*(\())?", re.IGNORECASE)
    for match in pattern.finditer(blank):
        name, end, arguments = match[1].lower(), match.end(), ""
        if match[2]:
            end = _closing_bracket(blank, end)
            arguments = sql[match.end() : end - 1].strip()
        elif name not in _BARE or re.search(r"\bas\s+$", blank[max(0, match.start() - _LOOK_BACK) : match.start()], re.IGNORECASE):
            # A name given to a column.
            continue
        if match.start() < last:
            raise not_frozen(f"{name} inside another")
        last = end
        yield match.start(), end, table[name].format(at=at, name=name, more=f", {arguments}" if arguments else "")


def _lone_ages(blank: str) -> Iterator[int]:
    """The start of the argument of each `age(x)`, which counts from today."""
    for match in re.finditer(r"(?<![\w$.])(?:pg_catalog\s*\.\s*)?age\s*\(", blank, re.IGNORECASE):
        if blank[_closing_bracket(blank, match.end(), stop=",") - 1] != ",":
            yield match.end()


def _closing_bracket(blank: str, start: int, stop: str = "") -> int:
    """The position after the bracket that closes the one before `start`, or after an earlier `stop` outside all other brackets."""
    depth = 1
    for place in range(start, len(blank)):
        depth += (blank[place] == "(") - (blank[place] == ")")
        if depth == 0 or (depth == 1 and blank[place] == stop):
            return place + 1
    return len(blank)


def _without_words(sql: str, at: int, are_times: Callable[[str, int], Sequence[bool]] | None) -> str:
    """A PostgreSQL statement with the day instead of 'today' and similar texts: next to a type, or where the server expects a time."""
    blank, day, open_ = blank_out(sql, POSTGRES), _utc(at), list[tuple[int, int, str]]()
    days = {"today": day, "tomorrow": day + timedelta(days=1), "yesterday": day - timedelta(days=1)}
    sure = list[tuple[int, int, str]]()
    for match in _WORD.finditer(sql):
        if blank[match.start()] != "_":
            continue
        word = match[1].lower()
        text = f"'{day:%Y-%m-%d %H:%M:%S+00}'" if word == "now" else f"'{days[word]:%Y-%m-%d}{match[2]}'"
        before, after = blank[max(0, match.start() - _LOOK_BACK) : match.start()], blank[match.end() : match.end() + _LOOK_BACK]
        is_typed = _TYPED_BEFORE.search(before) or _TYPED_AFTER.match(after)
        (sure if is_typed else open_).append((match.start(), match.end(), text))
    if open_ and are_times is not None:
        # The server infers the same type for an unknown text and for a parameter in its place.
        candidate = _splice(sql, sorted([*sure, *((start, end, f"${n}") for n, (start, end, _) in enumerate(open_, 1))]))
        sure += [part for part, is_time in zip(open_, are_times(candidate, len(open_)), strict=True) if is_time]
    return _splice(sql, sorted(sure))


def _splice(sql: str, parts: Sequence[tuple[int, int, str]]) -> str:
    for start, end, text in reversed(parts):
        sql = sql[:start] + text + sql[end:]
    return sql


def _utc(at: int) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def reads_time(sql: str, engine: str) -> bool:
    """Whether the result of a statement depends on the clock, as far as its text shows; False for text that cannot be parsed."""
    dialect, names = _REWRITTEN.get(engine) or ((SQLITE, {}) if engine == "sqlite" else (DUCKDB, _DUCKDB))
    try:
        blank = blank_out(sql, dialect)
    except FaultError:
        return False
    if any(blank[match.start()] == "_" for match in _WORD.finditer(sql)):
        # In SQLite and PostgreSQL a text can mean the current time, and it is unknown which function reads it.
        return engine in ("sqlite", "postgres")
    if re.search(rf"(?<![\w$.])(?:{'|'.join(_BARE)})\b", blank, re.IGNORECASE):
        return True
    if engine == "sqlite":
        return bool(re.search(rf"\b(?:(?:{'|'.join(_SQLITE)})\s*\(|strftime\s*\(\s*_\s*)\s*\)", blank, re.IGNORECASE))
    return bool(_function_names(sql, dialect) & set(names)) or (engine in ("postgres", "duckdb") and any(_lone_ages(blank)))
