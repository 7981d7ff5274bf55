"""Snowflake through its own connector: the role limits what a statement may do, the connector accepts one statement at a time."""

import contextlib
import logging
import re
from collections.abc import Iterator, Sequence
from typing import Any

from evalsuite.core.errors import FaultError, UsageError
from evalsuite.sql.frozen_clock import freeze_statement
from evalsuite.sql.result_csv import INSTANT
from evalsuite.sql.session import (
    NOT_SELECT,
    OUTSIDE,
    Connection,
    QueryLimits,
    Session,
    Stream,
    client,
    neutral,
    not_allowed_error,
    server_gone,
    sql_error,
    unfinished,
)

_log = logging.getLogger(__name__)

_CHUNK_ROWS = 2000
_LOGIN_SECONDS = 30
_PASSED_ON = (
    *("account", "user", "password", "private_key_file", "private_key_file_pwd", "token", "authenticator"),
    *("role", "warehouse", "schema"),
)
# The types of the connector's codes from 1 on.
_TYPES = dict(
    enumerate(
        ("DOUBLE", "VARCHAR", "DATE", "TIMESTAMP", "JSON", INSTANT, INSTANT, "TIMESTAMP", "JSON", "JSON", "BLOB", "TIME", "BOOLEAN"), 1
    )
)
_FIXED = 0
# The connector's error numbers for a request that reached no server, or whose session has ended.
_NO_NETWORK = frozenset({250001, 250003, 250005, 251001, 251011, 251012, 290403, 390112, 390114})
# 290000 plus the HTTP status: the service, or a proxy in front of it, has failed.
_SERVER_ERRORS = range(290500, 290600)
# No warehouse is chosen, a free trial has ended, a resource monitor's quota is used up.
_NO_WAREHOUSE = frozenset({606, 666, 90073})
# System functions can stop sessions, and FROM can call a procedure: neither is a query of data.
_SYSTEM_CALL = re.compile(r"\bSYSTEM\$\w+|\bTABLE\s*\(\s*CALL\b", re.IGNORECASE)


def open_session(connection: Connection, limits: QueryLimits) -> "SnowflakeSession":
    """An open session. Raises `MissingExtraError` without the connector, `UsageError` if Snowflake refuses the login."""
    connector = client("snowflake.connector", "snowflake")
    options = connection.options
    if "account" not in options or "user" not in options:
        raise UsageError(f"connection {connection.name!r} needs account and user", hint="see docs/connections.md")
    arguments = {key: options[key] for key in _PASSED_ON if key in options}
    if connection.database:
        arguments["database"] = connection.database
    parameters = {
        "TIMEZONE": "UTC",
        "QUERY_TAG": "evalsuite",
        "MULTI_STATEMENT_COUNT": 1,
        "STATEMENT_TIMEOUT_IN_SECONDS": max(1, round(limits.seconds)),
    }
    try:
        opened = connector.connect(**arguments, session_parameters=parameters, login_timeout=_LOGIN_SECONDS)
    except connector.errors.Error as error:
        _log.debug("snowflake: %s %s", type(error).__name__, error.errno)
        raise UsageError(
            f"connection {connection.name!r}: Snowflake refuses the login", hint="check account, user, password, role and the network"
        ) from None
    except (OSError, ValueError, TypeError) as error:
        # The connector reads the key itself, and passes on the exceptions of its parser.
        _log.debug("snowflake: %s", type(error).__name__)
        hint = "`private_key_file` is a private key in PEM or DER, `private_key_file_pwd` its passphrase"
        raise UsageError(f"connection {connection.name!r}: its private key cannot be read", hint=hint) from None
    return SnowflakeSession(opened, connection, limits)


class SnowflakeSession(Session):
    """One connection of the connector."""

    def __init__(self, connection: Any, described: Connection, limits: QueryLimits) -> None:
        self.connection, self.described, self._limits = connection, described, limits
        self._cursor: Any = None

    def stream(self, sql: str) -> Stream:
        """The result of one SELECT, chunk by chunk as the connector downloads it."""
        if called := _SYSTEM_CALL.search(sql):
            raise not_allowed_error(OUTSIDE, called[0])
        sql = freeze_statement(sql, "snowflake", self._limits.clock)
        with self._faults():
            self._cursor = self.connection.cursor()
            self._cursor.execute(sql, timeout=max(1, round(self._limits.seconds)))
            described = self._cursor.description

        def chunks() -> Iterator[Sequence[Sequence[Any]]]:
            with self._faults():
                while rows := self._cursor.fetchmany(_CHUNK_ROWS):
                    yield [tuple(map(neutral, row)) for row in rows]

        header = tuple(str(column.name) for column in described)
        return Stream(header=header, types=tuple(map(_type_name, described)), chunks=chunks())

    @contextlib.contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn the connector's exceptions into faults with fixed texts."""
        errors = client("snowflake.connector", "snowflake").errors
        try:
            yield
        except errors.Error as error:
            _log.debug("snowflake: %s %s %s", type(error).__name__, error.errno, error.sqlstate)
            raise self._fault_of(error) from None

    def _fault_of(self, error: Any) -> FaultError:
        if error.errno in _NO_NETWORK or (error.errno or 0) in _SERVER_ERRORS:
            return server_gone("Snowflake")
        if error.errno in _NO_WAREHOUSE or error.sqlstate == "57P03":
            return unfinished("Snowflake", "the account has no warehouse that runs")
        if error.errno in (604, 630) or error.sqlstate == "57014":
            return FaultError("TIMEOUT", f"the statement took longer than {self._limits.seconds:g} seconds (limit seconds)")
        if error.errno == 8 or "statement count" in str(error.msg):
            return not_allowed_error(NOT_SELECT)
        if error.errno == 3001:
            return not_allowed_error(OUTSIDE)
        state = error.sqlstate or ""
        kinds = {"42000": "syntax", "42601": "syntax", "02000": "name", "42S02": "name", "42S22": "name"}
        return sql_error(kinds.get(state, "value" if state.startswith("22") else "form" if state.startswith("42") else "other"))

    def cancel(self) -> None:
        """Request that Snowflake stops the statement, through a separate cursor; the server's own timeout is the fallback."""
        running = getattr(self._cursor, "sfqid", None)
        if running:
            with contextlib.suppress(Exception), self.connection.cursor() as other:
                other.execute("SELECT SYSTEM$CANCEL_QUERY(%s)", (running,), timeout=5)

    def describe(self) -> str:
        """`Snowflake 9.30.1`."""
        with self._faults(), self.connection.cursor() as cursor:
            return f"Snowflake {cursor.execute('SELECT CURRENT_VERSION()').fetchone()[0]}"

    def account(self) -> str:
        """The account's identifier."""
        return str(self.described.options["account"])


def _type_name(column: Any) -> str:
    if column.type_code == _FIXED:
        return f"DECIMAL({column.precision},{column.scale})" if column.scale else "BIGINT" if (column.precision or 38) < 19 else "HUGEINT"
    return _TYPES.get(column.type_code, "VARCHAR")
