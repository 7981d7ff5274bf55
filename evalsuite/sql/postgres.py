"""PostgreSQL through psycopg 3: a read-only transaction, the statement behind a cursor, which the server declares for a SELECT only."""

import contextlib
import logging
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from evalsuite.errors import FaultError, UsageError
from evalsuite.sql.cell_forms import INSTANT
from evalsuite.sql.clock import frozen
from evalsuite.sql.postgres_calls import refuse_side_effects
from evalsuite.sql.postgres_lines import line_query, lines_of
from evalsuite.sql.postgres_state import fingerprint
from evalsuite.sql.session import (
    NOT_SELECT,
    OUTSIDE,
    Connection,
    Lines,
    QueryLimits,
    Stream,
    client,
    neutral,
    not_allowed,
    part_named,
    server_gone,
    sql_error,
)
from evalsuite.sql.statement import POSTGRES, changes

_log = logging.getLogger(__name__)

_CHUNK_ROWS, _FIRST_ROWS, _CHUNK_BYTES = 2000, 64, 16 << 20
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
# Read as the text the server sends: psycopg would make 30 days of a month, and floats of the numbers in a JSON.
_TEXT_TYPES = ("interval", "json", "jsonb", "timetz")
# Roles beyond a superuser's own that let a SELECT read files of the server or start programs there.
_STRONG = "SELECT rolname FROM pg_roles WHERE rolname LIKE 'pg\\_%server\\_%' AND pg_has_role(current_user, oid, 'member')"
# The first two letters of what a server says that ends a session, and what psycopg says of a server that says nothing any more.
_ENDED = ("57P01", "57P02", "57P03", "08")
# A table, column, function or type that is not there.
_UNDEFINED = ("42P01", "42703", "42883", "42704")


def open_session(connection: Connection, limits: QueryLimits) -> "PostgresSession":
    """An open session in one read-only transaction.

    Raises:
        MissingExtraError: psycopg is not installed.
        UsageError: nobody answers, the login is refused, or the role could reach files of the server.
    """
    psycopg = client("psycopg", "postgres")
    options = connection.options
    schema = str(options.get("schema", "public")).replace("\\", "\\\\").replace(" ", "\\ ")
    settings = f"-c default_transaction_read_only=on -c timezone=UTC -c datestyle=ISO -c intervalstyle=iso_8601 -c search_path={schema}"
    arguments = {key: options[key] for key in _PASSED_ON if key in options}
    try:
        opened = psycopg.connect(
            dbname=connection.database or None,
            **arguments,
            options=settings,
            connect_timeout=_CONNECT_SECONDS,
            application_name="evalsuite",
        )
    except psycopg.Error as error:
        _log.debug("postgres: %s", type(error).__name__)
        raise UsageError(f"connection {connection.name!r}: the server does not let us in", hint=_hint(error)) from None
    opened.read_only = True
    session = PostgresSession(opened, limits, frozenset(str(options.get("functions", "")).replace(",", " ").split()))
    if not options.get("allow_superuser"):
        session.refuse_strong_role(connection.name)
    return session


def _hint(error: Exception) -> str:
    text = str(error)
    known = {
        "authentication failed": "check `user` and `password`",
        "no password supplied": "add `password: ${NAME}`",
        "does not exist": "check `database` and `user`",
        "Connection refused": "check `host` and `port`; is the server running?",
        "No such file": "check `host`; is the server running?",
        "could not translate host name": "check `host`",
        "timeout": "check `host` and the network",
    }
    return next((hint for part, hint in known.items() if part in text), "check host, port, user, password, database and sslmode")


class PostgresSession:
    """One connection; each statement runs in a transaction of its own, which is always rolled back."""

    billed_bytes: int | None = None

    def __init__(self, connection: Any, limits: QueryLimits, functions: frozenset[str] = frozenset()) -> None:
        self.connection = connection
        self._functions = functions
        self._limits = limits
        self._cursor: Any = None
        from psycopg.types.string import TextLoader

        for name in _TEXT_TYPES:
            connection.adapters.register_loader(name, TextLoader)

    def refuse_strong_role(self, name: str) -> None:
        """Raise `UsageError` for a role whose SELECT could read files of the server, and whatever else a superuser may.

        Raises `FaultError` NEEDS_CONNECTION where the server does not say.
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

    def stream(self, sql: str, *, as_text: bool = False) -> Stream:
        """The result of one SELECT, chunk by chunk through a cursor of the server."""
        with self._faults(sql):
            self.connection.rollback()
            sql = frozen(sql, "postgres", self._limits.clock, self._are_times)
            refuse_side_effects(self.connection, sql, self._functions)
            self.connection.execute(f"SET LOCAL statement_timeout = {max(1, int(self._limits.seconds * 1000))}")
            # DECLARE takes a SELECT or VALUES without any changing part; sent as one prepared message it cannot hold two statements.
            self._open_cursor(sql)
            # A SELECT of no columns has none.
            described = self._cursor.description or []
            header, types = tuple(str(column.name) for column in described), tuple(map(self._type_name, described))
            own = list(map(self._own_name, described))
            if as_text and own and (written := line_query(sql, own)):
                self._cursor.close()
                self._open_cursor(written)
                return Stream(header=header, types=types, chunks=iter(()), lines=self._lines(own))
        return Stream(header=header, types=types, chunks=self._chunks())

    def _open_cursor(self, sql: str) -> None:
        self._cursor = self.connection.cursor(name="evalsuite")
        self._cursor.execute(sql)

    def _are_times(self, sql: str, n: int) -> list[bool]:
        """Which of the n parameters of a statement the server reads as times; nothing runs. None where it cannot say."""
        prepared = self.connection.pgconn.prepare(b"", sql.encode())
        described = self.connection.pgconn.describe_prepared(b"")
        self.connection.rollback()
        if prepared.error_message or described.nparams != n:
            return [False] * n
        known = [self.connection.adapters.types.get(described.param_type(at)) for at in range(n)]
        return [one is not None and one.name in _TIME_TYPES for one in known]

    def _own_name(self, column: Any) -> str:
        """The server's name of a column's type, empty for arrays and for types that it was not born with."""
        known = self.connection.adapters.types.get(column.type_code)
        return known.name if known and column.type_code == known.oid else ""

    def _type_name(self, column: Any) -> str:
        known = self.connection.adapters.types.get(column.type_code)
        if (name := known.name if known else "") == "numeric":
            # The size of a numeric without one reads as the largest; such a column has no fixed scale.
            fixed = column.precision is not None and 0 <= (column.scale or 0) <= column.precision
            return f"DECIMAL({column.precision},{column.scale or 0})" if fixed else "DECIMAL"
        if known and column.type_code == known.array_oid:
            return "JSON"
        return _TYPES.get(name, "VARCHAR")

    def _chunks(self) -> Iterator[Sequence[Sequence[Any]]]:
        for rows in self._fetched():
            yield [tuple(map(neutral, row)) for row in rows]

    def _lines(self, types: Sequence[str]) -> Iterator[Lines]:
        with self._faults():
            yield from lines_of(self._fetched(), types)

    def _fetched(self) -> Iterator[Sequence[Any]]:
        n_rows = _FIRST_ROWS
        with self._faults():
            while rows := self._cursor.fetchmany(n_rows):
                yield rows
                # A few of them tell how many of the next may be held at once.
                widest = max(sum(len(cell) for cell in row if isinstance(cell, str | bytes)) for row in rows[:: len(rows) // 8 + 1])
                n_rows = min(_CHUNK_ROWS, 8 * n_rows, _CHUNK_BYTES // (widest + 1) + 1)
            self.connection.rollback()

    @contextlib.contextmanager
    def _faults(self, sql: str = "") -> Iterator[None]:
        """Turn what psycopg raises into a fault with fixed words, and the part of the statement that it names."""
        import psycopg

        # A server that says nothing any more, while its line stands, is waited for by nobody else.
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
        """End the line, so that whoever waits for the server learns that it is gone."""
        with contextlib.suppress(Exception), socket.socket(fileno=os.dup(self.connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)

    def _fault_of(self, error: Any, sql: str = "") -> FaultError:
        from psycopg import DataError, OperationalError

        state = error.sqlstate or ""
        # 08P01 is what a statement with a parameter, `SELECT $1`, comes to: the server is well, and the connection too.
        if (state.startswith(_ENDED) and state != "08P01") or (
            isinstance(error, OperationalError) and not state and self.connection.broken
        ):
            return server_gone("PostgreSQL")
        if state == "57014":
            return FaultError("TIMEOUT", f"the statement took longer than {self._limits.seconds:g} seconds (limit seconds)")
        if state == "42601":
            # Besides plain errors: two statements, and all that DECLARE does not take. Only_statement told most of them apart.
            return sql_error("syntax")
        if state in ("25006", "42P11") or (state == "0A000" and changes(sql, POSTGRES)):
            return not_allowed(NOT_SELECT, part_named(str(error), sql))
        if state == "42501":
            return not_allowed(OUTSIDE, part_named(str(error), sql))
        if state == "54001":
            return sql_error("deep")
        if state.startswith(("53", "54")):
            return FaultError("LIMIT", "the statement needs more than the server gives (memory or space)")
        if isinstance(error, DataError) and not state:
            return sql_error("range")
        return sql_error(
            "name" if state in _UNDEFINED else "form" if state.startswith("42") else "value" if state.startswith("22") else "other"
        )

    def cancel(self) -> None:
        """Ask the server to stop; works from another thread."""
        self.connection.cancel_safe(timeout=_CONNECT_SECONDS)

    def describe(self) -> str:
        """`PostgreSQL 15.14`."""
        return "PostgreSQL {}.{}".format(*divmod(self.connection.info.server_version, 10000))

    def fingerprint(self) -> str | None:
        """`postgres_state.fingerprint`, None of a server that does not tell it; raises NEEDS_CONNECTION where it is gone."""
        try:
            with self._faults(), self.connection.transaction():
                return fingerprint(self.connection)
        except FaultError as error:
            if error.side == "setup":
                raise
            return None

    def close(self) -> None:
        """Close the connection; what is open is rolled back."""
        self.connection.close()
