"""Run statements: one through one connection (parse, refuse or run it, stop it at its limits, cache its result), or many concurrently.

    table = run_answer(text, connection, limits)

The same for every engine; only the connection names the engine. `QueryPool` runs statements of embedded engines in sandboxed workers that
are killed at the limit, and those of servers in threads of this process. Results are streamed from workers to CSV files, so that none is in
memory as a whole.
"""

import contextlib
import hashlib
import json
import logging
import shutil
import threading
import time
import unicodedata
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.disk_cache import DiskCache, code_stamp, file_digest
from evalsuite.core.errors import EvalsuiteError, FaultError, MissingExtraError, error_sentence, machine_fault, reason_of, timeout_error
from evalsuite.core.plugin_calls import failure
from evalsuite.core.scores import Fault, Table
from evalsuite.sandbox.fork_server import ForkServer
from evalsuite.sandbox.limits import Alarm, Clock, Verdict
from evalsuite.sandbox.messages import ClosedError, reply, send
from evalsuite.sandbox.rpc_client import RUNNING, KilledError, RpcClient
from evalsuite.sandbox.worker_main import PROCESS
from evalsuite.sql import ENGINES, is_embedded, open_session
from evalsuite.sql.frozen_clock import reads_time
from evalsuite.sql.query_pairs import EVALUATORS, time_ratio
from evalsuite.sql.result_csv import ColumnKind, CsvFile, CsvText
from evalsuite.sql.session import (
    Connection,
    Cost,
    Executed,
    QueryLimits,
    Session,
    Stream,
    WideRowError,
    Written,
    blank_out,
    only_statement,
    read_of,
    unread_database_error,
)

_log = logging.getLogger(__name__)

# The approximate overhead of a cell in addition to its text.
_CELL_BYTES = 8
_COST, _RESULT = "cost.json", "result.csv"


class ResultCache:
    """A cache of results, one folder each. Several processes may share it.

    Entries of other code, and those that cannot be read or written, are skipped.
    """

    def __init__(self, folder: Path) -> None:
        self._memo = DiskCache(folder, stamp=code_stamp())

    def key(self, engine: str, fingerprint: str | None, sql: str, clock: int) -> str | None:
        """The cache key of a result; None if the database cannot report whether it has changed, or if the result depends on a running
        clock.
        """
        if fingerprint is None or (not clock and reads_time(sql, engine)):
            return None
        return hashlib.sha256(json.dumps([_RESULT, "sha256", engine, fingerprint, sql, *([clock] if clock else [])]).encode()).hexdigest()

    def get(self, key: str, limits: QueryLimits, place: Path) -> Written | None:
        """Copy a cached result to `place`, with its cost from when it ran; raises LIMIT if it exceeds the current limits."""

        def read(folder: Path) -> Written:
            entry = json.loads((folder / _COST).read_text(encoding="utf-8"))
            cost = replace(Cost(**entry["cost"]), cached=True)
            if file_digest(folder / _RESULT) != entry["digest"]:
                raise ValueError("the result was not written to its end")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / _RESULT, place)
            return Written(place=place, header=tuple(entry["header"]), cost=cost, sql=entry["sql"])

        files = self._memo.files(key, read)
        if files is None:
            return None
        limits.check(rows=files.cost.rows, columns=len(files.header), result_bytes=files.cost.bytes)
        return files

    def put(self, key: str, written: Written) -> None:
        """Add a result to the cache."""

        def write(folder: Path) -> None:
            shutil.copyfile(written.place, folder / _RESULT)
            entry = {"sql": written.sql, "header": written.header, "cost": asdict(written.cost), "digest": file_digest(folder / _RESULT)}
            (folder / _COST).write_text(json.dumps(entry), encoding="utf-8")

        self._memo.put_files(key, write)


def run_answer(text: str, connection: Connection, limits: QueryLimits) -> Table:
    """Run the SQL text of a submission and return its table.

    Args:
        text: one SELECT.
        connection: the database; it is opened read-only and closed again.
        limits: the limits of the statement, in seconds, rows, columns and bytes.

    Returns:
        The table: n_columns x n_rows, each column with its type.

    Raises:
        FaultError: SQL_NOT_ALLOWED, SQL_ERROR, LIMIT or TIMEOUT.
        EvalsuiteError: the connection cannot be opened.
    """
    return execute(text, connection, limits).table


def execute(text: str, connection: Connection, limits: QueryLimits) -> Executed:
    """The table of one SELECT with its cost; the connection is opened and closed again.

    The result is in memory: above `held_bytes` it is a LIMIT. An embedded engine respects its limits only as far as it can be interrupted:
    one single operation can outlast `seconds`, and memory can exceed `memory_mib`, so untrusted text belongs in a process that can be
    killed.

    Raises:
        FaultError: SQL_NOT_ALLOWED, SQL_ERROR, LIMIT or TIMEOUT.
        EvalsuiteError: The connection cannot be opened.
    """
    statement = only_statement(text, ENGINES[connection.engine].dialect, most_bytes=limits.sql_bytes)
    with contextlib.closing(open_session(connection, limits)) as session, _naming_odd_signs(statement, connection.engine):
        return ask(session, statement, limits)


def ask(session: Session, statement: str, limits: QueryLimits) -> Executed:
    """`execute` on an open session, for a statement from `only_statement`."""
    started = time.monotonic()
    collector = run_into_sink(session, statement, limits, lambda stream: Collector(stream.header, stream.types, limits))
    table = collector.table()
    cost = Cost(seconds=time.monotonic() - started, rows=table.n_rows, bytes=collector.n_bytes, billed_bytes=session.billed_bytes)
    return Executed(table=table, cost=cost, sql=statement)


def write_result(
    session: Session, statement: str, connection: Connection, limits: QueryLimits, place: Path, *, cache: ResultCache | None = None
) -> Written:
    """Write the result of a statement to a CSV file, for an open session; read from `cache`, or stored there. Raises like `execute`."""
    key = cache.key(connection.engine, session.fingerprint(), statement, limits.clock) if cache else None
    if cache and key and (stored := cache.get(key, limits, place)):
        return stored
    started, writes_text = time.monotonic(), ENGINES[connection.engine].writes_text
    with contextlib.ExitStack() as opened, _naming_odd_signs(statement, connection.engine):
        files: list[CsvFile] = []

        def open_sink(stream: Stream) -> CsvText:
            # A statement that runs again begins its file again.
            opened.close()
            files[:] = [opened.enter_context(CsvFile(place, stream.header, limits))]
            return CsvText(stream.types, files[0].add, in_hex=writes_text)

        text = run_into_sink(session, statement, limits, open_sink, as_text=writes_text)
        files[0].show_days(text.days)
    cost = Cost(seconds=time.monotonic() - started, rows=files[0].n_rows, bytes=files[0].n_bytes, billed_bytes=session.billed_bytes)
    written = Written(place=place, header=files[0].header, cost=cost, sql=statement)
    if cache and key:
        cache.put(key, written)
    return written


class Collector:
    """Collect a result's chunks of rows in order into a `Table`; raises LIMIT as soon as a limit is exceeded."""

    def __init__(self, header: Sequence[str], types: Sequence[str] | None, limits: QueryLimits) -> None:
        limits.check(columns=len(header))
        self.n_bytes = self.n_rows = 0
        self._header, self._types, self._limits = tuple(header), types, limits
        self._kinds = [ColumnKind() for _ in header]
        self._columns: list[list[Any]] = [[] for _ in header]

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        """Add a chunk of rows of neutral cells."""
        self.n_rows += len(rows)
        self._limits.check(rows=self.n_rows)
        # A chunk without rows has no columns either.
        for kind, held, column in zip(self._kinds, self._columns, zip(*rows, strict=True), strict=False):
            self.n_bytes += sum(len(cell) if isinstance(cell, str | bytes) else 0 for cell in column) + _CELL_BYTES * len(column)
            held.extend(column)
            kind.see(column)
        self._limits.check(result_bytes=self.n_bytes, held_bytes=self.n_bytes)

    def table(self) -> Table:
        """The whole result."""
        types = tuple(self._types or (kind.name for kind in self._kinds))
        return Table(header=self._header, columns=tuple(self._columns), n_rows=self.n_rows, types=types)


S = TypeVar("S", Collector, CsvText)


def run_into_sink(session: Session, statement: str, limits: QueryLimits, open_sink: Callable[[Stream], S], *, as_text: bool = False) -> S:
    """Run a statement and write its whole result to a sink within `limits.seconds`; returns the sink. Raises like `execute`."""
    # Other engines have no such parameters.
    options = {"as_text": True} if as_text else {}

    def run(is_over: threading.Event, **how: bool) -> S:
        stream = session.stream(statement, **options, **how)
        sink = open_sink(stream)
        chunks: Iterator[Any] = stream.lines or stream.chunks
        for chunk in chunks:
            if is_over.is_set():
                break
            sink.add(chunk)
        return sink

    with _clock(session, limits.seconds) as is_over:
        try:
            sink = run(is_over)
        except WideRowError:
            _log.debug("the result has a wide row: the statement runs again, row by row, into a new sink")
            try:
                sink = run(is_over, row_by_row=True)
            except WideRowError:
                raise FaultError("LIMIT", "a row of the result is too long to be read at once") from None
    return sink


@contextlib.contextmanager
def _naming_odd_signs(sql: str, engine: str) -> Iterator[None]:
    """Add to an SQL_ERROR the first sign outside of quotes that is no letter, digit or ASCII, such as the `\uff1b` of a word processor."""
    try:
        yield
    except FaultError as error:
        blank = blank_out(sql, ENGINES[engine].dialect) if error.fault.code == "SQL_ERROR" else ""
        # DuckDB reads every space as one.
        kinds = "CPS" if engine == "duckdb" else "CPSZ"
        sign = next((sign for sign in blank if not sign.isascii() and unicodedata.category(sign)[0] in kinds), None)
        if sign is None:
            raise
        name = unicodedata.name(sign, "no name").lower()
        raise FaultError(
            "SQL_ERROR", f"{error.fault.detail}; outside of quotes it has U+{ord(sign):04X}, {name}", side=error.side
        ) from None


@contextlib.contextmanager
def _clock(session: Session, seconds: float) -> Iterator[threading.Event]:
    """Cancel the session's statement after `seconds`; the error that follows is a TIMEOUT, unless the server cannot be reached."""
    is_over, lost, done = threading.Event(), threading.Event(), threading.Lock()
    failed: FaultError | None = None
    how: list[Verdict] = []

    def cancel(verdict: Verdict) -> None:
        # Once the statement has ended, a cancel would hit the session's next one.
        with done:
            if not over.is_set():
                how.append(verdict)
                is_over.set()
                try:
                    session.cancel()
                except Exception as error:  # logged; `lost` keeps the fault of a server that cannot be reached, the rest is a TIMEOUT
                    lost.set()
                    _log.debug("cancel: %s", type(error).__name__)

    over = threading.Event()
    alarm = Alarm(Clock(with_caller=True), seconds, cancel)
    try:
        yield is_over
    except FaultError as error:
        failed = error
    finally:
        alarm.cancel()
        with done:
            over.set()
    if failed and (not is_over.is_set() or (lost.is_set() and failed.side == "setup")):
        raise failed
    if is_over.is_set():
        raise timeout_error(how[0], "the statement", seconds)


_PART_BYTES = 4 << 20
# Bytes in front of a part of a result's text: the number of rows that begin in it.
_COUNT_BYTES = 8


@contextlib.contextmanager
def _statement_faults() -> Iterator[None]:
    """Turn what else a statement can end in into its fault."""
    try:
        yield
    except FaultError:
        raise
    except EvalsuiteError as error:
        raise FaultError("NEEDS_CONNECTION", error.message) from None
    except (MemoryError, RecursionError):
        raise FaultError("LIMIT", "the statement needs more memory than the limit memory_mib") from None
    except (ClosedError, ConnectionError):
        raise
    except OSError as error:
        raise unread_database_error(reason_of(error)) from None
    except Exception as error:
        raise failure("the statement", error) from None


def read_fingerprint(connection: Connection, limits: QueryLimits) -> str:
    """Worker side: return the state of a connection's database, empty if the engine reports none."""
    with _statement_faults(), contextlib.closing(open_session(connection, limits)) as session:
        return session.fingerprint() or ""


def measure_time_ratio(connection: Connection, limits: QueryLimits, query: str, gold: str, evaluator: str) -> float:
    """Worker side: return `time_ratio` of a pair on the SQLite file of a connection."""
    with _statement_faults():
        return time_ratio(query, gold, connection.database, EVALUATORS[evaluator], limits)


def read_statement(text: str, engine: str, most_bytes: int) -> str:
    """Worker side: return the one statement of a text."""
    with _statement_faults():
        return only_statement(text, ENGINES[engine].dialect, most_bytes=most_bytes)


def stream_result(connection: Connection, limits: QueryLimits, statement: str) -> Iterator[Any]:
    """Worker side: send a result's header, and its text in parts with the number of rows that begin in each; yield the columns of days."""
    writes_text = ENGINES[connection.engine].writes_text
    with _statement_faults(), contextlib.closing(open_session(connection, limits)) as session:

        def open_text(stream: Stream) -> CsvText:
            send(PROCESS.parent, reply(list(stream.header)))
            return CsvText(stream.types, send_text, in_hex=writes_text)

        def send_text(text: bytes, n_rows: int) -> None:
            for start in range(0, len(text), _PART_BYTES):
                count = (0 if start else n_rows).to_bytes(_COUNT_BYTES)
                send(PROCESS.parent, reply(count + text[start : start + _PART_BYTES]))

        with _naming_odd_signs(statement, connection.engine):
            written = run_into_sink(session, statement, limits, open_text, as_text=writes_text)
        yield list(written.days)


# Shares of `seconds` after which an embedded engine is interrupted, and its worker is killed; the remainder is for the clean-up.
_POLITE, _KILL = 0.85, 0.95
_FINGERPRINT_SECONDS = 600.0
_NO_RESULT = "the worker that ran the statement sent an invalid message"
# If a server does the work, running more statements than cores makes sense.
_SERVER_THREADS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A text to run through a connection; `place` is the path for the CSV file of its result."""

    name: str
    text: str
    connection: Connection
    place: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOutcome:
    """The outcome of a query: the file of its result with its cost, or its fault; and the seconds that count."""

    query: Query
    outcome: Written | Fault
    seconds: float


class QueryPool:
    """Runs statements. No worker may read the folders of gold and of the submission, except a database in them.

    `fork_server` returns the running process that forks its workers, called before each batch of statements on files.
    """

    def __init__(
        self,
        *,
        limits: QueryLimits,
        jobs: int,
        isolation: str = "process",
        submission: Path,
        gold: Path,
        cache: ResultCache | None = None,
        fork_server: Callable[[], ForkServer | None],
    ) -> None:
        self._limits, self._jobs, self._isolation, self._cache = limits, jobs, isolation, cache
        self._hostile, self._hidden = submission.resolve(), [gold, submission]
        self._lock, self._here = threading.Lock(), threading.local()
        self._running_server = fork_server
        self._fork_server: ForkServer | None = None
        self._clients: list[RpcClient] = []
        self._sessions: list[Session] = []
        self._fingerprints: dict[str, str] = {}
        self._closed = False

    def answers(self, queries: Sequence[Query]) -> Iterator[QueryOutcome]:
        """One answer per query as soon as it is available. Closing the iterator ends the running statements."""
        at_once = max(self._jobs, _SERVER_THREADS if any(not is_embedded(query.connection) for query in queries) else 1)
        threads = ThreadPoolExecutor(max_workers=at_once, thread_name_prefix="queries")
        embedded = threading.Semaphore(self._jobs)
        try:
            if engines := {query.connection.engine for query in queries if is_embedded(query.connection)}:
                self._start(["evalsuite.sql.execution", *sorted(engines & {"duckdb"})])
            # A worker reads one database: queries of the same one are grouped.
            ordered = sorted(queries, key=lambda query: (is_embedded(query.connection), query.connection.name))
            killed: list[Query] = []
            for done in as_completed([threads.submit(self._answer, query, embedded) for query in ordered]):
                if isinstance(answered := done.result(), QueryOutcome):
                    yield answered
                else:
                    killed.append(answered)
            # Retried while no other query runs.
            yield from (last for query in killed if isinstance(last := self._answer(query, embedded, is_last=True), QueryOutcome))
        finally:
            self.close()
            threads.shutdown(wait=True, cancel_futures=True)
            self._release()

    def time_ratios(self, pairs: Sequence[tuple[str, str, str, str]]) -> Iterator[float | None]:
        """`time_ratio` for each (query, gold's query, SQLite file, evaluator), None if it could not be measured.

        They run one after another in sandboxed workers that receive only the pair and its file: two at once would affect each other's
        times.
        """
        if pairs:
            self._start(["evalsuite.sql.execution"])
        try:
            for query, gold, place, evaluator in pairs:
                try:
                    connection, seconds = Connection(name=place, engine="sqlite", database=place), 6 * self._limits.seconds
                    # The time of two statements at the start, rounds for `seconds`, and two more running at the end.
                    yield float(self._call(connection, seconds, measure_time_ratio, connection, self._limits, query, gold, evaluator))
                except (FaultError, EvalsuiteError):
                    yield None
        finally:
            self.close()
            self._release()

    def _start(self, modules: Sequence[str]) -> None:
        if (server := self._running_server()) is not None:
            server.load(modules)
        self._fork_server = server

    def _release(self) -> None:
        """Forget what a call of `answers` or `time_ratios` started: another call may follow."""
        self._closed, self._here = False, threading.local()

    def close(self) -> None:
        """Kill every worker and cancel the statements that servers run."""
        with self._lock:
            self._closed = True
            clients, self._clients = self._clients, []
            sessions = list(self._sessions)
        for client in clients:
            client.close()
        for session in sessions:
            with contextlib.suppress(FaultError, EvalsuiteError, OSError):
                session.cancel()

    def _answer(self, query: Query, embedded: threading.Semaphore, *, is_last: bool = False) -> "QueryOutcome | Query":
        """The outcome of a query; the query itself if the system killed its worker, unless this `is_last` of its tries."""
        with embedded if is_embedded(query.connection) else contextlib.nullcontext():
            started, self._here.seconds_used = time.monotonic(), 0.0
            outcome: Written | Fault
            try:
                outcome = self._in_worker(query) if is_embedded(query.connection) else self._on_server(query)
            except KilledError as error:
                if not is_last:
                    return query
                outcome = error.fault
            except FaultError as error:
                outcome = error.fault
            except OSError as error:
                outcome = machine_fault(f"the result cannot be written: {reason_of(error)}")
            except MissingExtraError as error:
                outcome = Fault(code="NEEDS_EXTRA", detail=error_sentence(error))
            except EvalsuiteError as error:
                outcome = Fault(code="NEEDS_CONNECTION", detail=error_sentence(error))
            return QueryOutcome(query=query, outcome=outcome, seconds=self._here.seconds_used or time.monotonic() - started)

    def bytes_to_bill(self, queries: Sequence[Query]) -> tuple[int, int]:
        """Return (the total bytes that the queries will read on engines that bill, by dry runs, how many could not be asked about).

        A statement that is refused reads nothing.
        """

        def of(query: Query) -> int | None:
            try:
                statement = only_statement(query.text, ENGINES[query.connection.engine].dialect, most_bytes=self._limits.sql_bytes)
                with contextlib.closing(open_session(query.connection, self._limits)) as session:
                    return int(session.estimate(statement))  # type: ignore[attr-defined]  # of every engine that bills
            except FaultError as error:
                return None if error.side == "setup" else 0
            except EvalsuiteError:
                return None

        with ThreadPoolExecutor(max_workers=_SERVER_THREADS, thread_name_prefix="dry runs") as threads:
            known = [n_bytes for n_bytes in threads.map(of, queries) if n_bytes is not None]
        return sum(known), len(queries) - len(known)

    def _on_server(self, query: Query) -> Written:
        """The result from a server; if it disconnects during the statement, the query is sent once more."""
        try:
            return self._try_server(query)
        except FaultError as error:
            if error.side != "setup" or self._closed:
                raise
            return self._try_server(query)

    def _try_server(self, query: Query) -> Written:
        statement = only_statement(query.text, ENGINES[query.connection.engine].dialect, most_bytes=self._limits.sql_bytes)
        with contextlib.closing(open_session(query.connection, self._limits)) as session:
            with self._lock:
                if self._closed:
                    raise FaultError("TIMEOUT", "the run was interrupted")
                self._sessions.append(session)
            try:
                return write_result(session, statement, query.connection, self._limits, query.place, cache=self._cache)
            finally:
                with self._lock:
                    self._sessions.remove(session)

    def _in_worker(self, query: Query) -> Written:
        connection, seconds = query.connection, self._limits.seconds * _KILL
        key_part = self._fingerprint(connection) if self._cache else ""
        started = time.monotonic()
        statement = str(self._call(connection, seconds, read_statement, query.text, connection.engine, self._limits.sql_bytes))
        key = self._cache.key(connection.engine, key_part or None, statement, self._limits.clock) if self._cache else None
        if self._cache and key and (stored := self._cache.get(key, self._limits, query.place)):
            return stored
        seconds, polite = seconds - self._here.seconds_used, replace(self._limits, seconds=self._limits.seconds * _POLITE)
        with contextlib.closing(self._stream(connection, seconds, stream_result, connection, polite, statement)) as items:
            file = self._collect(items, query)
        cost = Cost(seconds=time.monotonic() - started, rows=file.n_rows, bytes=file.n_bytes)
        written = Written(place=query.place, header=file.header, cost=cost, sql=statement)
        if self._cache and key:
            self._cache.put(key, written)
        return written

    def _call(self, connection: Connection, seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
        (value,) = self._stream(connection, seconds, function, *arguments)
        return value

    def _stream(self, connection: Connection, seconds: float, function: Callable[..., Any], *arguments: Any) -> Generator[Any, None, None]:
        """Yield the items of a call in this thread's worker, which survives a fault that it reports, unless its memory ran out."""
        client = self._client(connection)
        try:
            yield from client.stream(f"{__name__}:{function.__name__}", *arguments, seconds=seconds, n_tries=1)
        except FaultError as error:
            if error.fault.code == "LIMIT":
                client.end()
            raise
        finally:
            self._here.seconds_used = client.seconds_used

    def _collect(self, items: Iterator[Any], query: Query) -> CsvFile:
        header, days = next(items, None), None
        if not isinstance(header, list):
            raise FaultError("WORKER_DIED", _NO_RESULT)
        with CsvFile(query.place, list(map(str, header)), self._limits) as file:
            for item in items:
                if isinstance(item, bytes) and days is None:
                    file.add(item[_COUNT_BYTES:], int.from_bytes(item[:_COUNT_BYTES]))
                elif isinstance(item, list) and days is None:
                    days = item
                else:
                    raise FaultError("WORKER_DIED", _NO_RESULT)
            file.show_days(list(map(int, days or ())))
        return file

    def _fingerprint(self, connection: Connection) -> str:
        """The state of a connection's database, requested once from a worker that has run no statement yet."""
        with self._lock:
            cached_fingerprint = self._fingerprints.get(connection.name)
        if cached_fingerprint is None:
            self._end(getattr(self._here, "client", None))
            cached_fingerprint = str(self._call(connection, _FINGERPRINT_SECONDS, read_fingerprint, connection, self._limits))
            with self._lock:
                self._fingerprints[connection.name] = cached_fingerprint
        return cached_fingerprint

    def _client(self, connection: Connection) -> RpcClient:
        """Return this thread's worker, a new one if it has none for this database."""
        client: RpcClient | None = getattr(self._here, "client", None)
        if client is not None and self._here.connection == connection:
            return client
        self._end(client)
        with self._lock:
            if self._closed:
                raise FaultError("TIMEOUT", "the run was interrupted")
            if self._fork_server is None:
                raise EvalsuiteError("this system cannot fork the workers that statements on files run in")
            client = RpcClient(
                readable=read_of(connection),
                hidden=self._hidden,
                hostile=self._hostile,
                limits={"memory_mib": self._limits.memory_mib},
                fork_server=self._fork_server,
                work=RUNNING,
                sandboxed=self._isolation != "none",
            )
            self._clients.append(client)
        self._here.client, self._here.connection = client, connection
        return client

    def _end(self, client: RpcClient | None) -> None:
        if client is None:
            return
        self._here.client = None
        with self._lock:
            if client in self._clients:
                self._clients.remove(client)
        client.close()
