"""PostgreSQL through psycopg 3: a read-only transaction, and a cursor, which the server declares only for a SELECT.

A read-only transaction prevents a volatile function from writing tables, and from nothing else: messages, locks, signals to other sessions
and files of the server outlive it. So a statement may call only functions with no effect except their result.

PostgreSQL writes the CSV text of a result itself, one text per row, identical to `result_csv.as_lines` of the row's neutral cells. psycopg
reads the server's text of a cell, so only what Python would format differently is changed.

The fingerprint is the state of the database: as long as it is unchanged, a statement that reads no time returns the same result.
"""

import contextlib
import logging
import os
import re
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Sequence, Set
from datetime import date, datetime
from functools import reduce
from operator import or_
from typing import Any, Final

from evalsuite.core.errors import FaultError, UsageError
from evalsuite.sql.frozen_clock import freeze_statement, reads_time
from evalsuite.sql.result_csv import INSTANT, as_lines, quoted_codes
from evalsuite.sql.session import (
    NOT_SELECT,
    OUTSIDE,
    POSTGRES,
    Connection,
    Lines,
    QueryLimits,
    Session,
    Stream,
    WideRowError,
    blank_out,
    called_names,
    calls,
    changes,
    client,
    find_name,
    neutral,
    not_allowed_error,
    only_statement,
    server_gone,
    sql_error,
    unfinished,
)

# Volatile functions that only read what the role may read, draw random numbers, read the clock or wait.
_HARMLESS: Final = frozenset(
    {
        *("random", "random_normal", "normal_rand", "setseed", "clock_timestamp", "timeofday", "currval", "lastval", "lo_get"),
        *("gen_random_uuid", "gen_random_bytes", "gen_salt", "uuidv4", "uuidv7"),
        *(f"uuid_generate_v{version}" for version in ("1", "1mc", "4")),
        *("pg_sleep", "pg_sleep_for", "pg_sleep_until", "current_query", "currtid2", "amvalidate", "txid_status"),
        *(f"pg_{what}_size" for what in ("relation", "table", "indexes", "total_relation", "database", "tablespace")),
        *(f"pg_current_wal{what}_lsn" for what in ("", "_insert", "_flush")),
        *("pg_last_wal_receive_lsn", "pg_last_wal_replay_lsn", "pg_last_xact_replay_timestamp", "pg_last_committed_xact"),
        *("pg_is_in_recovery", "pg_is_wal_replay_paused", "pg_get_wal_replay_pause_state", "pg_get_wal_resource_managers"),
        *("pg_blocking_pids", "pg_safe_snapshot_blocking_pids", "pg_lock_status", "pg_prepared_xact", "pg_get_multixact_members"),
        *("pg_partition_tree", "pg_partition_ancestors", "pg_sequence_last_value", "pg_notification_queue_usage", "pg_jit_available"),
        *("pg_xact_status", "pg_xact_commit_timestamp", "pg_xact_commit_timestamp_origin", "pg_stat_have_stats"),
        *("pg_collation_actual_version", "pg_database_collation_actual_version", "pg_get_backend_memory_contexts"),
        *(f"pg_stat_get_xact_{what}" for what in ("blocks_fetched", "blocks_hit", "numscans")),
        *(f"pg_stat_get_xact_tuples_{what}" for what in ("deleted", "fetched", "hot_updated", "inserted", "returned", "updated")),
        *(f"pg_stat_get_xact_function_{what}" for what in ("calls", "self_time", "total_time")),
    }
)
# Functions that run texts as SQL, with the positions of those texts; ts_rewrite with three arguments runs none.
_RUN_TEXTS: Final = {
    **dict.fromkeys(("query_to_xml", "query_to_xmlschema", "query_to_xml_and_xmlschema", "ts_stat"), (0,)),
    "ts_rewrite": (1,),
    **dict.fromkeys(("crosstab", "crosstab2", "crosstab3", "crosstab4"), (0, 1)),
}
# They build SQL from their arguments, and are not marked as volatile.
_MAKE_SQL: Final = ("connectby", "xpath_table")
# The method of a TABLESAMPLE cannot be called in any other way.
_VOLATILE: Final = (
    "SELECT DISTINCT proname FROM pg_proc WHERE proname = ANY(%s) AND (provolatile = 'v' OR proname = ANY(%s)) "
    "AND prorettype <> 'tsm_handler'::regtype ORDER BY 1"
)
# `row.name` calls such a function too if the row has no column of that name.
_VOLATILE_OF_ROWS: Final = (
    "SELECT proname FROM pg_proc JOIN pg_type AS taken ON taken.oid = proargtypes[0] WHERE proname = ANY(%s) AND provolatile = 'v' "
    "AND pronargs - pronargdefaults <= 1 AND (typtype = 'p' OR typtype IN ('c', 'd') AND NOT EXISTS "
    "(SELECT FROM pg_attribute WHERE attrelid = typrelid AND attname = proname)) ORDER BY 1"
)
# `U&"..."` before a bracket, perhaps with its UESCAPE, or after a dot.
_HIDDEN_NAME: Final = re.compile(r"\bu&\s*_\s*(?:uescape\s*_\s*)?\(|\.\s*u&", re.IGNORECASE)
_PART: Final = re.compile(r"\.\s*([^\W\d][\w$]*+)")
_LITERAL: Final = re.compile(r"(?:'((?:[^']|'')*)'|(\$(?:[A-Za-z_]\w*)?\$)((?:(?!\2).)*+)\2)(?:\s*::\s*text)?", re.DOTALL | re.IGNORECASE)


def refuse_side_effects(connection: Any, sql: str, functions: frozenset[str]) -> None:
    """Raise SQL_NOT_ALLOWED if the statement calls a function that could have effects other than its result.

    `functions` are names that a person allowed. Text that a function runs as SQL is checked in the same way if it is a plain literal.
    """
    blank = blank_out(sql, POSTGRES)
    if _HIDDEN_NAME.search(blank):
        raise not_allowed_error(f'{OUTSIDE}: names in U&"..." hide what is called')
    names = called_names(sql, POSTGRES) - functions
    for text in _texts_run(sql, blank, names):
        if reads_time(text, "postgres"):
            # The frozen clock and the result cache check only the statement itself.
            raise not_allowed_error(f"{OUTSIDE}: a text that it runs as SQL reads the time")
        refuse_side_effects(connection, only_statement(text, POSTGRES, fenced=False), functions)
    unknown = sorted(names - _HARMLESS - set(_RUN_TEXTS))
    volatile = connection.execute(_VOLATILE, (unknown, list(_MAKE_SQL))).fetchone() if unknown else None
    if not volatile and (parts := sorted(_parts_of_rows(sql, blank) - functions)):
        volatile = connection.execute(_VOLATILE_OF_ROWS, (parts,)).fetchone()
    if volatile:
        raise not_allowed_error(f"{OUTSIDE}: the function {volatile[0]} can have other effects than its result")


def _parts_of_rows(sql: str, blank: str) -> set[str]:
    """The names after a dot, as the server looks them up."""
    quoted = re.compile(POSTGRES.name)
    return {
        name[0][1:-1].replace('""', '"') if (name := quoted.match(sql, match.start(1))) else match[1].lower()
        for match in _PART.finditer(blank)
    }


def _texts_run(sql: str, blank: str, names: Set[str]) -> Iterator[str]:
    """Each text that calls of functions with these names run. Raises SQL_NOT_ALLOWED if one is not a plain literal."""
    for name, place in calls(sql, POSTGRES):
        if name not in _RUN_TEXTS or name not in names:
            continue
        arguments = list(_arguments(sql, blank, place))
        for argument in (
            [] if name == "ts_rewrite" and len(arguments) > 2 else [arguments[at] for at in _RUN_TEXTS[name] if at < len(arguments)]
        ):
            if literal := _LITERAL.fullmatch(argument):
                yield literal[3] if literal[2] else literal[1].replace("''", "'")
            elif not argument.isdigit():
                raise not_allowed_error(f"{OUTSIDE}: the text that {name} runs is not a plain literal")


def _arguments(sql: str, blank: str, start: int) -> Iterator[str]:
    """The arguments of the call whose bracket is before `start`, as written."""
    depth, begin = 1, start
    for place in range(start, len(blank)):
        depth += (blank[place] in "([") - (blank[place] in ")]")
        if depth == 0 or (depth == 1 and blank[place] == ","):
            yield sql[begin:place].strip()
            begin = place + 1
        if depth == 0:
            return


_AS_IS: Final = {"int2", "int4", "int8", "oid", "numeric", "uuid", "interval", "timetz"}
_TEXTS: Final = {"text", "varchar", "bpchar", "name", "json", "jsonb"}
# From this size on the server writes a float with an exponent; below 1e-4 it does too.
_FLOATS: Final = {"float8": "1e15", "float4": "1e6"}
# The forms that Python can represent; it parses anything else itself, and refuses it.
_DAYS: Final = {"date": date.fromisoformat, "timestamp": datetime.fromisoformat, "timestamptz": datetime.fromisoformat}
_LONGEST_MOMENT = len("2020-01-01 00:00:00.000000")
_MOST_MOMENTS, _MOST_COLUMNS = 31, 500
# concat() takes at most a hundred arguments.
_AT_ONCE = 40


def line_query(sql: str, types: Sequence[str], most: int) -> str | None:
    """A SELECT of the line of each row of a statement, for `lines_of`; None if Python has to write the lines.

    `types` are PostgreSQL's names of its columns' types, empty for a type without a name. A line of more than `most` bytes is NULL.
    """
    if not types or len(types) > _MOST_COLUMNS or types.count("timestamp") > _MOST_MOMENTS:
        return None
    cells = [_cell(f"c{index}", type_) for index, type_ in enumerate(types)]
    if None in cells:
        return None
    odd = " OR ".join(filter(None, (_oddity(f"c{index}", type_) for index, type_ in enumerate(types)))) or "false"
    moments = [f"c{index}" for index, type_ in enumerate(types) if type_ == "timestamp"]
    times = " + ".join(
        f"{1 << 2 * place}::int8 * CASE WHEN {c} IS NULL THEN 0 WHEN {c} = pg_catalog.date_trunc('day', {c}) THEN 1 ELSE 2 END"
        for place, c in enumerate(moments)
    )
    parts = [part for cell in cells for part in ("','", str(cell))][1:]
    line = " || ".join(f"pg_catalog.concat({', '.join(parts[start : start + _AT_ONCE])})" for start in range(0, len(parts), _AT_ONCE))
    if len(cells) == 1:
        line = f"CASE WHEN {line} = '' THEN '\"\"' ELSE {line} END"
    texts = ", ".join(f"CASE WHEN c{index} IS NOT NULL THEN pg_catalog.concat(c{index}) END" for index in range(len(types)))
    names = ", ".join(f"c{index}" for index in range(len(types)))
    # The bracket is on a line of its own, because the statement may end in a comment.
    fits = f"pg_catalog.octet_length(line) <= {most} AND (odd IS NULL OR pg_catalog.octet_length(pg_catalog.concat(odd)) <= {most})"
    # OFFSET 0 lets the server write each line once, although it is named twice.
    return (
        f"SELECT CASE WHEN {fits} THEN line END, times, CASE WHEN {fits} THEN odd END FROM "
        f"(SELECT CASE WHEN {odd} THEN '' ELSE {line} || pg_catalog.chr(10) END AS line, {times or '0'} AS times, "
        f"CASE WHEN {odd} THEN ARRAY[{texts}] END AS odd FROM (\n{sql}\n) AS answer({names}) OFFSET 0) AS written"
    )


def cell_query(sql: str, n_columns: int, most: int) -> str:
    """A SELECT of the cells of a statement; the first column says whether its row has more than `most` bytes: then the cells are NULL."""
    names = [f"c{index}" for index in range(n_columns)]
    groups = (", ".join(names[start : start + _AT_ONCE]) for start in range(0, n_columns, _AT_ONCE))
    width = " + ".join(f"pg_catalog.octet_length(pg_catalog.concat({group}))::int8" for group in groups)
    cells = ", ".join(f"CASE WHEN width <= {most} THEN {name} END" for name in names)
    listed = ", ".join(names)
    return (
        f"SELECT width > {most}, {cells} FROM (SELECT {listed}, {width} AS width FROM (\n{sql}\n) AS answer({listed}) OFFSET 0) AS measured"
    )


def lines_of(chunks: Iterable[Sequence[tuple[str, int, list[str | None] | None]]], types: Sequence[str]) -> Iterator[Lines]:
    """The lines of the chunks of rows that a `line_query` returned. Raises ValueError for a day or timestamp beyond Python's range,
    and `WideRowError` for a row without a line.
    """
    moments = [index for index, type_ in enumerate(types) if type_ == "timestamp"]
    for rows in chunks:
        lines, times, odd = zip(*rows, strict=True)
        if None in lines:
            raise WideRowError
        if odd.count(None) < len(odd):
            lines = tuple(line if cells is None else _format_like_python(cells, types) for line, cells in zip(lines, odd, strict=True))
        bits = reduce(or_, set(times))
        yield Lines.from_bits("".join(lines).encode("utf-8", "backslashreplace"), len(lines), bits, moments)


def _format_like_python(texts: Sequence[str | None], types: Sequence[str]) -> str:
    """The line of a row with a float that Python formats differently, or a day that may be beyond its range."""
    cells: list[Any] = []
    for text, type_ in zip(texts, types, strict=True):
        if text is None:
            cells.append(None)
        elif type_ in _FLOATS:
            cells.append(float(text))
        elif type_ in _DAYS:
            cells.append(_DAYS[type_](text))
        elif type_ == "bool":
            cells.append(text == "t")
        else:
            cells.append(text.removeprefix("\\x") if type_ == "bytea" else text)
    return as_lines([cells]).decode()


def _cell(c: str, type_: str) -> str | None:
    """The text of a column's cells, quoted if needed; None for a type that Python has to write."""
    if type_ in _AS_IS or type_ == "date":
        return c
    if type_ in _TEXTS:
        text = f"pg_catalog.concat({c})"
        needs = " OR ".join(f"pg_catalog.strpos({text}, pg_catalog.chr({code})) > 0" for code in quoted_codes())
        return f"CASE WHEN {needs} THEN '\"' || pg_catalog.replace({text}, '\"', '\"\"') || '\"' ELSE {text} END"
    if type_ in _FLOATS:
        names = "".join(
            f"WHEN {c} = '{spelling}' THEN '{python}' " for spelling, python in (("NaN", "nan"), ("Infinity", "inf"), ("-Infinity", "-inf"))
        )
        return f"CASE {names}WHEN {c} = pg_catalog.trunc({c}::float8) THEN pg_catalog.concat({c}, '.0') ELSE pg_catalog.concat({c}) END"
    if type_ == "bool":
        return f"CASE WHEN {c} THEN 'True' WHEN NOT {c} THEN 'False' END"
    if type_ == "bytea":
        return f"pg_catalog.encode({c}, 'hex')"
    if type_ == "timestamp":
        return _six_digits(f"pg_catalog.concat({c})")
    if type_ == "timestamptz":
        return f"CASE WHEN {c} IS NOT NULL THEN {_six_digits(f'pg_catalog.left(pg_catalog.concat({c}), -3)')} || '+00:00' END"
    return None


def _oddity(c: str, type_: str) -> str:
    """A condition for cells that Python has to check."""
    if type_ in _FLOATS:
        size = f"pg_catalog.abs({c})"
        plain = f"{c} IN (0, 'NaN', 'Infinity', '-Infinity') OR ({size} >= 1e-4 AND {size} < {_FLOATS[type_]})"
        return f"({c} IS NOT NULL AND NOT ({plain}))"
    if type_ in _DAYS:
        zone = "+00" if type_ == "timestamptz" else ""
        last = "9999-12-31" if type_ == "date" else f"9999-12-31 23:59:59.999999{zone}"
        return f"({c} IS NOT NULL AND NOT {c} BETWEEN {type_} '0001-01-01{' 00:00:00' + zone if zone else ''}' AND {type_} '{last}')"
    return ""


def _six_digits(text: str) -> str:
    """The text of a timestamp with all six fractional digits of the seconds or none."""
    return f"CASE WHEN pg_catalog.strpos({text}, '.') > 0 THEN pg_catalog.rpad({text}, {_LONGEST_MOMENT}, '0') ELSE {text} END"


# Objects that may read the time although a statement does not: views, and functions that a SELECT can call.
_DEFINED: Final = (
    "SELECT definition FROM pg_views WHERE schemaname NOT IN ('pg_catalog', 'information_schema') UNION ALL "
    "SELECT CASE WHEN prosrc = '' THEN pg_get_functiondef(oid) ELSE prosrc END FROM pg_proc "
    "WHERE oid >= 16384 AND prokind IN ('f', 'w') AND prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype)"
)
# Queried with every state: a change of a view or function gives its catalog row another xmin, and the server computes the sum.
_MARK: Final = (
    "(SELECT coalesce(sum(hashtext(concat(oid, ' ', xmin))), 0) FROM "
    "(SELECT oid, xmin FROM pg_rewrite UNION ALL SELECT oid, xmin FROM pg_proc) AS defined WHERE oid >= 16384)"
)
_STATE: Final = (
    "SELECT (SELECT system_identifier FROM pg_control_system()), current_database(), current_user, "
    "CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END::text, "
    f"current_setting('search_path'), EXISTS (SELECT FROM pg_foreign_table), {_MARK}"
)
# (cluster, database) -> the last mark, and whether an object read the time then; every statement has a session of its own.
_asking: dict[tuple[int, str], tuple[int, bool]] = {}


def fingerprint(connection: Any) -> str | None:
    """The cluster's identity and its position in the write-ahead log: any write, in any of its databases, changes it.

    None if a view or a function of the database reads the time, because it uses the server's clock, or if there is a foreign table,
    because its data are elsewhere.
    """
    *state, mark = connection.execute(_STATE).fetchone()
    place = (state[0], state[1])
    lock = _asking.get(place)
    if lock is None or lock[0] != mark:
        texts = connection.execute(_DEFINED).fetchall()
        lock = _asking[place] = mark, any(reads_time(text or "", "postgres") for (text,) in texts)
    return None if lock[1] or state[-1] else "|".join(map(str, state))


_log = logging.getLogger(__name__)

_CHUNK_ROWS, _FIRST_ROWS = 1000, 64
# The widest row that is in memory with thousands of others, and the widest row of a result.
_NARROW, _WIDEST = 32 << 10, 64 << 20
# A SELECT has at most 1,664 columns, one of which says how wide the row is.
_MOST_MEASURED = 1663
_CONNECT_SECONDS = 10
_PASSED_ON = ("host", "port", "user", "password", "sslmode")
_TYPES = {
    "bool": "BOOLEAN",
    "int2": "SMALLINT",
    "int4": "INTEGER",
    **dict.fromkeys(("int8", "oid"), "BIGINT"),
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "bytea": "BLOB",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamptz": INSTANT,
    "uuid": "UUID",
    **dict.fromkeys(("json", "jsonb"), "JSON"),
}
_TIME_TYPES = ("date", "time", "timetz", "timestamp", "timestamptz")
# Read as the text that the server sends: psycopg would turn a month into 30 days, the numbers in a JSON into floats, and `[1,5)` into
# `[1, 5)`.
_RANGES = tuple(f"{of}{kind}" for of in ("int4", "int8", "num", "date", "ts", "tstz") for kind in ("range", "multirange"))
_TEXT_TYPES = ("interval", "json", "jsonb", "timetz", *_RANGES)
# Roles, other than superuser, that let a SELECT read files of the server or start programs there.
_STRONG = "SELECT rolname FROM pg_roles WHERE rolname LIKE 'pg\\_%server\\_%' AND pg_has_role(current_user, oid, 'member')"
# Error codes of an ended session.
_ENDED = ("57P", "08", "25P03", "25P04")
# Error codes of what no statement causes, with the reason; the first that fits counts.
_SERVERS_OWN = {
    "55P03": "another session holds a lock on a table",
    "57014": "another session cancelled it",
    "40": "it conflicts with other sessions or with the server's recovery",
    "53400": "",
    "53": "the server has no space, memory or connection left",
    "58": "the server cannot read or write its files",
    "HV": "the source of a foreign table does not answer",
    "XX001": "its data are damaged",
    "XX002": "its data are damaged",
}
# The server keeps these settings for a role or a database too, where they could change what a result contains or a statement calls.
_SETTINGS = (
    *("default_transaction_read_only=on", "timezone=UTC", "datestyle=ISO", "intervalstyle=iso_8601", "extra_float_digits=1"),
    *("standard_conforming_strings=on", "statement_timeout=0", "lock_timeout=0"),
)
# The share of the time limit after which a statement that still waits for a lock of another session ends.
_LOCK_SHARE = 0.9
# A table, column, function or type that does not exist.
_UNDEFINED = ("42P01", "42703", "42883", "42704")


def open_session(connection: Connection, limits: QueryLimits) -> "PostgresSession":
    """An open session in one read-only transaction.

    Raises:
        MissingExtraError: psycopg is not installed.
        UsageError: No server answers, the login is refused, the `schema` does not exist, or the role could reach files of the server.
    """
    psycopg = client("psycopg", "postgres")
    options = connection.options
    schema = str(options.get("schema", "public")).replace("\\", "\\\\").replace(" ", "\\ ")
    settings = " ".join(f"-c {setting}" for setting in (*_SETTINGS, f"search_path={schema}"))
    arguments = {key: options[key] for key in _PASSED_ON if key in options}
    try:
        opened = psycopg.connect(
            dbname=connection.database or None,
            **arguments,
            options=settings,
            client_encoding="utf8",
            connect_timeout=_CONNECT_SECONDS,
            application_name="evalsuite",
        )
    except psycopg.Error as error:
        _log.debug("postgres: %s", type(error).__name__)
        message, hint = _cause(error)
        raise UsageError(f"connection {connection.name!r}: {message}", hint=hint) from None
    opened.read_only = True
    session = PostgresSession(opened, limits, frozenset(str(options.get("functions", "")).replace(",", " ").split()))
    if not options.get("allow_superuser"):
        session.refuse_strong_role(connection.name)
    if "schema" in options:
        session.find_schema(connection.name)
    return session


def _load_as_text(adapters: Any) -> None:
    """Read the types that psycopg changes, and the time that Python does not have, as the text that the server sends."""
    from psycopg.types.datetime import TimeLoader
    from psycopg.types.string import TextLoader

    def load(loader: Any, data: Any) -> Any:
        return "24:00:00" if bytes(data) == b"24:00:00" else TimeLoader.load(loader, data)

    for name in _TEXT_TYPES:
        adapters.register_loader(name, TextLoader)
    adapters.register_loader("time", type("DayEndLoader", (TimeLoader,), {"load": load}))


def _cause(error: Exception) -> tuple[str, str]:
    """(why there is no connection, what to do)."""
    text, refused, absent = str(error), "the server refuses the login", "no server answers"
    causes = {
        "authentication failed": (refused, "check `user` and `password`"),
        "no password supplied": (refused, "add `password: ${NAME}`"),
        "does not exist": (refused, "check `database` and `user`"),
        "search_path": (refused, "check `schema`"),
        "too many": ("the server has no connection left for the role", "wait, or raise its CONNECTION LIMIT"),
        "Connection refused": (absent, "check `host` and `port`; is the server running?"),
        "No such file": (absent, "check `host`; is the server running?"),
        **dict.fromkeys(("could not translate host name", "failed to resolve host"), (absent, "check `host`")),
        "timeout": (absent, "check `host` and the network"),
    }
    unknown = ("the server accepts no connection", "check host, port, user, password, database and sslmode")
    return next((cause for part, cause in causes.items() if part in text), unknown)


def _cells_of(chunks: Iterator[Sequence[Any]], *, is_measured: bool) -> Iterator[Sequence[Sequence[Any]]]:
    """The neutral cells of the chunks of rows, of a `cell_query` if the rows are measured."""
    for rows in chunks:
        if is_measured and any(row[0] for row in rows):
            raise WideRowError
        yield [tuple(map(neutral, row[is_measured:])) for row in rows]


class PostgresSession(Session):
    """One connection; each statement runs in a transaction of its own, which is always rolled back."""

    def __init__(self, connection: Any, limits: QueryLimits, functions: frozenset[str] = frozenset()) -> None:
        self.connection = connection
        self._functions = functions
        self._limits = limits
        self._cursor: Any = None
        # When the statement was sent, None before.
        self._sent: float | None = None
        _load_as_text(connection.adapters)

    def refuse_strong_role(self, name: str) -> None:
        """Raise `UsageError` for a role whose SELECT could read files of the server, or that has other superuser rights.

        Raises `FaultError` NEEDS_CONNECTION if the server does not report the role.
        """
        try:
            with self._faults(), self.connection.transaction():
                superuser = self.connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
                strong = self.connection.execute(_STRONG).fetchall()
        except FaultError:
            self.close()
            raise server_gone("PostgreSQL") from None
        if (superuser and superuser[0]) or strong:
            self.close()
            raise UsageError(
                f"connection {name!r}: its role may read files of the server",
                hint="give it a role that may only SELECT, or say `allow_superuser: true`",
            )

    def find_schema(self, name: str) -> None:
        """Raise `UsageError` if no schema of the search path exists for the role: no statement would find a table.

        Raises `FaultError` NEEDS_CONNECTION if the server does not report it.
        """
        try:
            with self._faults(), self.connection.transaction():
                found = self.connection.execute("SELECT pg_catalog.current_schemas(false)").fetchone()[0]
        except FaultError:
            self.close()
            raise server_gone("PostgreSQL") from None
        if not found:
            self.close()
            raise UsageError(
                f"connection {name!r}: its `schema` does not exist, or its role may not use it",
                hint="""a name with capitals is written with both quotes: schema: '"Name"'""",
            )

    def stream(self, sql: str, *, as_text: bool = False, row_by_row: bool = False) -> Stream:
        """The result of one SELECT through a cursor of the server, in chunks of narrow rows or row by row.

        Reading the chunks raises `WideRowError` at a row that is not narrow.
        """
        with self._faults(sql):
            self.connection.rollback()
            sql = freeze_statement(sql, "postgres", self._limits.clock, self._are_times)
            refuse_side_effects(self.connection, sql, self._functions)
            limit = max(2, int(self._limits.seconds * 1000))
            self._sent = time.monotonic()
            self.connection.execute(f"SET LOCAL statement_timeout = {limit}")
            self.connection.execute(f"SET LOCAL lock_timeout = {int(_LOCK_SHARE * limit)}")
            # DECLARE accepts a SELECT or VALUES without any changing part; sent as one prepared message it cannot contain two statements.
            self._open_cursor(sql)
            # A SELECT without columns has none.
            described = self._cursor.description or []
            header, types = tuple(str(column.name) for column in described), tuple(map(self._type_name, described))
            # The server's names of the types, empty for arrays and for user-defined types.
            column_types = [(column, self.connection.adapters.types.get(column.type_code)) for column in described]
            type_names = [type_.name if type_ and column.type_code == type_.oid else "" for column, type_ in column_types]
            is_measured = 0 < len(header) <= _MOST_MEASURED
            rows = self._fetch_rows(row_by_row=row_by_row or not is_measured)
            most = _WIDEST if row_by_row else _NARROW
            if as_text and type_names and (written := line_query(sql, type_names, most)):
                self._cursor.close()
                self._open_cursor(written)
                return Stream(header=header, types=types, chunks=iter(()), lines=self._lines(rows, type_names))
            if is_measured:
                self._cursor.close()
                self._open_cursor(cell_query(sql, len(header), most))
        return Stream(header=header, types=types, chunks=_cells_of(rows, is_measured=is_measured))

    def _open_cursor(self, sql: str) -> None:
        self._cursor = self.connection.cursor(name="evalsuite")
        self._cursor.execute(sql)

    def _are_times(self, sql: str, n: int) -> list[bool]:
        """Which of the n parameters of a statement the server reads as times; nothing runs. All False if it cannot report that."""
        prepared = self.connection.pgconn.prepare(b"", sql.encode())
        described = self.connection.pgconn.describe_prepared(b"")
        self.connection.rollback()
        if prepared.error_message or described.nparams != n:
            return [False] * n
        types = [self.connection.adapters.types.get(described.param_type(at)) for at in range(n)]
        return [type_ is not None and type_.name in _TIME_TYPES for type_ in types]

    def _type_name(self, column: Any) -> str:
        type_ = self.connection.adapters.types.get(column.type_code)
        if type_ and column.type_code == type_.array_oid:
            return "JSON"
        if (name := type_.name if type_ else "") == "numeric":
            # The size of a numeric without one is reported as the largest; such a column has no fixed scale.
            fixed = column.precision is not None and 0 <= (column.scale or 0) <= column.precision
            return f"DECIMAL({column.precision},{column.scale or 0})" if fixed else "DECIMAL"
        return _TYPES.get(name, "VARCHAR")

    def _lines(self, rows: Iterator[Sequence[Any]], types: Sequence[str]) -> Iterator[Lines]:
        with self._faults():
            yield from lines_of(rows, types)

    def _fetch_rows(self, *, row_by_row: bool) -> Iterator[Sequence[Any]]:
        with self._faults():
            if row_by_row:
                # The server sends a row when the one before is read.
                yield from ([row] for row in self.connection.cursor().stream("FETCH ALL FROM evalsuite"))
            else:
                n_rows = _FIRST_ROWS
                while rows := self._cursor.fetchmany(n_rows):
                    yield rows
                    n_rows = min(_CHUNK_ROWS, 8 * n_rows)
            self.connection.rollback()

    @contextlib.contextmanager
    def _faults(self, sql: str = "") -> Iterator[None]:
        """Turn psycopg's exceptions into faults with fixed texts, and the part of the statement that they name."""
        import psycopg

        # A server that stops responding while its connection stays open would block forever.
        watch = threading.Timer(self._limits.seconds + _CONNECT_SECONDS, self._hang_up)
        watch.daemon = True
        watch.start()
        try:
            yield
        except psycopg.Error as error:
            _log.debug("postgres: %s %s", type(error).__name__, error.sqlstate)
            fault = self._fault_of(error, sql)
            with contextlib.suppress(psycopg.Error):
                self.connection.rollback()
            raise fault from None
        except (ValueError, OverflowError) as error:
            _log.debug("postgres: %r", error)
            raise sql_error("range") from None
        finally:
            watch.cancel()

    def _hang_up(self) -> None:
        """Shut down the socket, so that a thread that waits for the server gets an error."""
        with contextlib.suppress(Exception), socket.socket(fileno=os.dup(self.connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)

    def _fault_of(self, error: Any, sql: str = "") -> FaultError:
        from psycopg import DataError

        state = error.sqlstate or ""
        if fault := self._server_fault(error, state):
            return fault
        if state == "57014":
            return FaultError("TIMEOUT", f"the statement took longer than {self._limits.seconds:g} seconds (limit seconds)")
        if state == "42601":
            # In addition to plain errors: two statements, and everything that DECLARE rejects. `only_statement` refused most of them
            # before.
            return sql_error("syntax")
        if state in ("25006", "42P11") or (state == "0A000" and changes(sql, POSTGRES)):
            return not_allowed_error(NOT_SELECT, find_name(str(error), sql))
        if state == "42501":
            return not_allowed_error(OUTSIDE, find_name(str(error), sql))
        if state == "54001":
            return sql_error("deep")
        if state.startswith(("53400", "54")):
            return FaultError("LIMIT", "the statement needs more memory or space than the server allows")
        if isinstance(error, DataError) and not state:
            return sql_error("range")
        return sql_error(
            "name" if state in _UNDEFINED else "form" if state.startswith("42") else "value" if state.startswith("22") else "other"
        )

    def _server_fault(self, error: Any, state: str) -> FaultError | None:
        """The fault of the server or of another session, None if the statement caused the error."""
        from psycopg import OperationalError

        # 08P01 is the error for a statement with a parameter, `SELECT $1`: the server and the connection are fine.
        if (state.startswith(_ENDED) and state != "08P01") or (
            isinstance(error, OperationalError) and not state and self.connection.broken
        ):
            return server_gone("PostgreSQL")
        if state == "57014" and self._sent is not None and time.monotonic() - self._sent >= _LOCK_SHARE * self._limits.seconds:
            return None
        reason = next((reason for code, reason in _SERVERS_OWN.items() if state.startswith(code)), "")
        return unfinished("PostgreSQL", reason) if reason else None

    def cancel(self) -> None:
        """Request that the server stops; works from another thread."""
        self.connection.cancel_safe(timeout=_CONNECT_SECONDS)

    def describe(self) -> str:
        """`PostgreSQL 15.14`."""
        return "PostgreSQL {}.{}".format(*divmod(self.connection.info.server_version, 10000))

    def fingerprint(self) -> str | None:
        """`fingerprint` of the connection, None if the server does not report it; raises NEEDS_CONNECTION if the server is gone."""
        try:
            with self._faults(), self.connection.transaction():
                return fingerprint(self.connection)
        except FaultError as error:
            if error.side == "setup":
                raise
            return None
