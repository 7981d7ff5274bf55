"""BigQuery through Google's client: a dry run checks that the text is a SELECT and estimates its cost; then it runs with that limit."""

import contextlib
import logging
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import TimeoutError as FutureTimeoutError
from pathlib import Path
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

_PAGE_ROWS = 2000
# The service names a table in its messages like this: `Access Denied: Table project:dataset.table: ...`.
_TABLE = re.compile(r"[\w-]+:[\w-]+\.[\w$-]+")
_TYPES = {
    **dict.fromkeys(("INTEGER", "INT64"), "BIGINT"),
    **dict.fromkeys(("FLOAT", "FLOAT64"), "DOUBLE"),
    **{"NUMERIC": "DECIMAL(38,9)", "BIGNUMERIC": "DECIMAL"},
    **dict.fromkeys(("BOOLEAN", "BOOL"), "BOOLEAN"),
    **{"BYTES": "BLOB", "DATE": "DATE", "TIME": "TIME", "DATETIME": "TIMESTAMP", "TIMESTAMP": INSTANT},
    **dict.fromkeys(("JSON", "RECORD", "STRUCT"), "JSON"),
}
_OWN_LOGIN = "default"
# The service's reasons that lie in the account and not in the statement.
_ACCOUNT = {
    **dict.fromkeys(("quotaExceeded", "rateLimitExceeded"), "a quota of the project is used up"),
    **dict.fromkeys(("billingNotEnabled", "blocked"), "the project may not run queries now"),
}


def open_session(connection: Connection, limits: QueryLimits) -> "BigquerySession":
    """An open session; nothing is sent yet.

    Raises:
        MissingExtraError: The client is not installed.
        UsageError: No credentials are named, or they cannot be read. This machine's own login is used only if requested by name.
    """
    bigquery = client("google.cloud.bigquery", "bigquery")
    options = connection.options
    credentials, project = _credentials(connection)
    arguments: dict[str, Any] = {"project": options.get("project") or project, "location": options.get("location")}
    if options.get("endpoint"):
        arguments["client_options"] = {"api_endpoint": options["endpoint"]}
    if not arguments["project"]:
        raise UsageError(f"connection {connection.name!r} names no project", hint="add `project: NAME`, which is billed")
    return BigquerySession(bigquery.Client(credentials=credentials, **arguments), connection, limits)


def _credentials(connection: Connection) -> tuple[Any, str | None]:
    """(credentials, the project they belong to); no credentials only for an emulator at another address on this machine."""
    source = connection.options.get("credentials")
    endpoint = str(connection.options.get("endpoint", ""))
    if not source:
        if endpoint.startswith(("http://127.0.0.1:", "http://localhost:")):
            return client("google.auth.credentials", "bigquery").AnonymousCredentials(), None
        raise UsageError(
            f"connection {connection.name!r} names no credentials",
            hint=f"add `credentials: FILE`, or `credentials: {_OWN_LOGIN}` for this machine's own login",
        )
    if source == _OWN_LOGIN:
        auth = client("google.auth", "bigquery")
        try:
            login: tuple[Any, str | None] = auth.default()
        except auth.exceptions.GoogleAuthError:
            raise UsageError(f"connection {connection.name!r}: this machine has no login of its own", hint="name a file") from None
        return login
    service = client("google.oauth2.service_account", "bigquery")
    try:
        read = service.Credentials.from_service_account_file(str(Path(source)))
    # For JSON that is not an object, or lacks texts, Google's client raises arbitrary Python exceptions.
    except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        _log.debug("bigquery: %s", type(error).__name__)
        raise UsageError(f"connection {connection.name!r}: its credentials cannot be read", hint="a service account's JSON file") from None
    return read, read.project_id


class BigquerySession(Session):
    """One client."""

    def __init__(self, service: Any, connection: Connection, limits: QueryLimits) -> None:
        self.connection, self.described, self._limits = service, connection, limits
        self._job: Any = None

    def estimate(self, sql: str) -> int:
        """The bytes that one SELECT would read: a dry run, which costs nothing."""
        sql = freeze_statement(sql, "bigquery", self._limits.clock)
        with self._faults(sql):
            dry = self.connection.query(sql, job_config=self._config(dry_run=True), **self._patience())
        if dry.statement_type != "SELECT":
            raise not_allowed_error(NOT_SELECT, f"this is {dry.statement_type}" if dry.statement_type else "")
        return int(dry.total_bytes_processed or 0)

    def stream(self, sql: str) -> Stream:
        """The result of one SELECT, page by page, after a dry run."""
        self.billed_bytes, sql = None, freeze_statement(sql, "bigquery", self._limits.clock)
        if (n_bytes := self.estimate(sql)) > self._limits.billed_bytes:
            raise FaultError("LIMIT", f"the statement would read {n_bytes} bytes (limit billed_bytes: {self._limits.billed_bytes})")
        with self._faults(sql):
            self._job = self.connection.query(sql, job_config=self._config(dry_run=False), **self._patience())
            rows = self._job.result(page_size=_PAGE_ROWS, **self._patience())
            self.billed_bytes = self._job.total_bytes_billed

        def chunks() -> Iterator[Sequence[Sequence[Any]]]:
            with self._faults():
                for page in rows.pages:
                    yield [tuple(map(neutral, row.values())) for row in page]

        header = tuple(str(column.name) for column in rows.schema)
        return Stream(header=header, types=tuple(map(_type_name, rows.schema)), chunks=chunks())

    def _patience(self) -> dict[str, Any]:
        """Limits on the time of a call and of its retries: the client's default of ten minutes is more than a statement has."""
        retry = client("google.cloud.bigquery.retry", "bigquery").DEFAULT_RETRY
        # The retry of whole jobs has its own ten minutes, which no argument shortens.
        return {"timeout": self._limits.seconds, "retry": retry.with_timeout(self._limits.seconds), "job_retry": None}

    def _config(self, *, dry_run: bool) -> Any:
        bigquery = client("google.cloud.bigquery", "bigquery")
        config = bigquery.QueryJobConfig(
            dry_run=dry_run,
            use_legacy_sql=False,
            maximum_bytes_billed=self._limits.billed_bytes,
            job_timeout_ms=max(1000, int(self._limits.seconds * 1000)),
            labels={"tool": "evalsuite"},
        )
        if self.described.database:
            project, _, dataset = self.described.database.rpartition(".")
            config.default_dataset = bigquery.DatasetReference(project or self.connection.project, dataset)
        return config

    @contextlib.contextmanager
    def _faults(self, sql: str = "") -> Iterator[None]:
        """Turn the client's exceptions into faults with fixed texts, and the part of the statement that they name."""
        api = client("google.api_core.exceptions", "bigquery")
        auth = client("google.auth.exceptions", "bigquery")
        outages = (api.ServerError, auth.TransportError, client("requests.exceptions", "bigquery").ConnectionError, ConnectionError)
        try:
            yield
        except (FutureTimeoutError, TimeoutError, api.RetryError) as error:
            if isinstance(getattr(error, "cause", None), outages):
                raise server_gone("BigQuery") from None
            with contextlib.suppress(Exception):
                self.cancel()
            raise FaultError("TIMEOUT", f"the statement took longer than {self._limits.seconds:g} seconds (limit seconds)") from None
        except outages as error:
            _log.debug("bigquery: %s", type(error).__name__)
            raise server_gone("BigQuery") from None
        except (api.Unauthorized, auth.GoogleAuthError) as error:
            _log.debug("bigquery: %s", type(error).__name__)
            raise unfinished("BigQuery", "it does not accept the credentials") from None
        except api.GoogleAPICallError as error:
            _log.debug("bigquery: %s", type(error).__name__)
            raise self._fault_of(error, sql) from None

    def _fault_of(self, error: Any, sql: str) -> FaultError:
        details = getattr(error, "errors", None) or [{}]
        reason, text = str(details[0].get("reason", "")), str(error)
        if reason == "bytesBilledLimitExceeded":
            return FaultError("LIMIT", f"the statement would be billed more than {self._limits.billed_bytes} bytes (limit billed_bytes)")
        if reason in ("stopped", "timeout") or "timed out" in text:
            return FaultError("TIMEOUT", f"the statement took longer than {self._limits.seconds:g} seconds (limit seconds)")
        if reason in _ACCOUNT:
            return unfinished("BigQuery", _ACCOUNT[reason])
        if reason in ("resourcesExceeded", "responseTooLarge"):
            return FaultError("LIMIT", "the statement needs more resources than BigQuery allows")
        if reason == "accessDenied":
            message = str(details[0].get("message", ""))
            return not_allowed_error(OUTSIDE, next((table for table in _TABLE.findall(message) if table.rpartition(".")[2] in sql), ""))
        if reason == "notFound" or "Unrecognized name" in text:
            return sql_error("name")
        return sql_error("syntax" if "Syntax error" in text else "value" if reason == "invalidQuery" else "other")

    def cancel(self) -> None:
        """Request that BigQuery stops the job; its own timeout is the fallback.

        Raises if there is no job yet, or BigQuery cannot be reached: then what failed was not the statement's time.
        """
        if self._job is None:
            raise server_gone("BigQuery")
        self._job.cancel(timeout=5, retry=None)

    def describe(self) -> str:
        """`BigQuery, billed to NAME`."""
        return f"BigQuery, billed to {self.connection.project}"

    def account(self) -> str:
        """The project that is billed."""
        return str(self.connection.project)


def _type_name(column: Any) -> str:
    if column.mode == "REPEATED":
        return "JSON"
    if column.field_type == "NUMERIC" and column.precision:
        return f"DECIMAL({column.precision},{column.scale or 0})"
    return _TYPES.get(column.field_type, "VARCHAR")
