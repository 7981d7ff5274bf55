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
import pickle
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from evalsuite.core.disk_cache import DiskCache
from evalsuite.core.errors import EvalsuiteError, FaultError, MissingExtraError, error_sentence, machine_fault, reason_of, timeout_error
from evalsuite.core.types import Fault, Table
from evalsuite.sandbox.fork_server import ForkServer, Worker, signals_blocked, start_error
from evalsuite.sandbox.framing import END, SAID, receive, send
from evalsuite.sandbox.linux_layers import library_paths, parts_without
from evalsuite.sandbox.payloads import encode_payloads
from evalsuite.sandbox.rpc_client import KilledError, ReportedError, WorkerSession
from evalsuite.sandbox.time_limits import Alarm, Clock, Verdict
from evalsuite.sandbox.worker_sandbox import can_fork
from evalsuite.sql import ENGINES, is_embedded, open_session
from evalsuite.sql.frozen_clock import reads_time
from evalsuite.sql.query_pairs import EVALUATORS, time_ratio
from evalsuite.sql.result_csv import ColumnKind, CsvFile, CsvText
from evalsuite.sql.session import Connection, Cost, Executed, QueryLimits, Session, Stream, Written, only_statement, read_of

_log = logging.getLogger(__name__)

# The approximate overhead of a cell in addition to its text.
_CELL_BYTES = 8
_COST, _RESULT = "cost.json", "result.csv"


class ResultCache:
    """A cache of results, one folder each. Several processes may share it; entries that cannot be read or written are skipped."""

    def __init__(self, folder: Path) -> None:
        self._memo = DiskCache(folder)

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
            if _digest(folder / _RESULT) != entry["digest"]:
                raise ValueError("the result was not written to its end")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / _RESULT, place)
            return Written(place=place, header=tuple(entry["header"]), cost=cost, sql=entry["sql"])

        known = self._memo.files(key, read)
        if known is None:
            return None
        for name, found, most in (("rows", known.cost.rows, limits.rows), ("columns", len(known.header), limits.columns)):
            if found > most:
                raise FaultError("LIMIT", f"the result has {found} {name} (limit {name}: {most})")
        if known.cost.bytes > limits.result_bytes:
            raise FaultError("LIMIT", f"the result has more than {limits.result_bytes} bytes (limit result_bytes)")
        return known

    def put(self, key: str, written: Written) -> None:
        """Add a result to the cache."""

        def write(folder: Path) -> None:
            shutil.copyfile(written.place, folder / _RESULT)
            entry = {"sql": written.sql, "header": written.header, "cost": asdict(written.cost), "digest": _digest(folder / _RESULT)}
            (folder / _COST).write_text(json.dumps(entry), encoding="utf-8")

        self._memo.put_files(key, write)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def run_answer(text: str, connection: Connection, limits: QueryLimits) -> Table:
    """The table of a submission's SQL text: n_columns x n_rows, each column with its type. Arguments, raises: see `execute`."""
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
    with contextlib.closing(open_session(connection, limits)) as session:
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
    if cache and key and (known := cache.get(key, limits, place)):
        return known
    started = time.monotonic()
    with contextlib.ExitStack() as opened:
        files: list[CsvFile] = []

        def open_sink(stream: Stream) -> CsvText:
            files.append(opened.enter_context(CsvFile(place, stream.header, limits)))
            return CsvText(stream.types, files[0].add)

        text = run_into_sink(session, statement, limits, open_sink, as_text=ENGINES[connection.engine].writes_text)
        files[0].show_days(text.days)
    cost = Cost(seconds=time.monotonic() - started, rows=files[0].n_rows, bytes=files[0].n_bytes, billed_bytes=session.billed_bytes)
    written = Written(place=place, header=files[0].header, cost=cost, sql=statement)
    if cache and key:
        cache.put(key, written)
    return written


class Collector:
    """Collect a result's chunks of rows in order into a `Table`; raises LIMIT as soon as a limit is exceeded."""

    def __init__(self, header: Sequence[str], types: Sequence[str] | None, limits: QueryLimits) -> None:
        if len(header) > limits.columns:
            raise FaultError("LIMIT", f"the result has {len(header)} columns (limit columns: {limits.columns})")
        self.n_bytes = self.n_rows = 0
        self._header, self._types, self._limits = tuple(header), types, limits
        self._kinds = [ColumnKind() for _ in header]
        self._columns: list[list[Any]] = [[] for _ in header]

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        """Add a chunk of rows of neutral cells."""
        self.n_rows += len(rows)
        if self.n_rows > self._limits.rows:
            raise FaultError("LIMIT", f"the result has more than {self._limits.rows} rows (limit rows)")
        # A chunk without rows has no columns either.
        for kind, held, column in zip(self._kinds, self._columns, zip(*rows, strict=True), strict=False):
            self.n_bytes += sum(len(cell) if isinstance(cell, str | bytes) else 0 for cell in column) + _CELL_BYTES * len(column)
            held.extend(column)
            kind.see(column)
        for name, most in (("result_bytes", self._limits.result_bytes), ("table_bytes", self._limits.held_bytes)):
            if self.n_bytes > most:
                raise FaultError("LIMIT", f"the result has more than {most} bytes (limit {name})")

    def table(self) -> Table:
        """The whole result."""
        types = tuple(self._types or (kind.name for kind in self._kinds))
        return Table(header=self._header, columns=tuple(self._columns), n_rows=self.n_rows, types=types)


class Sink(Protocol):
    """Receives a result chunk by chunk."""

    def add(self, chunk: Any, /) -> None:
        """Add rows of neutral cells; a sink that requested text receives `Lines` too."""
        ...


S = TypeVar("S", bound=Sink)


def run_into_sink(session: Session, statement: str, limits: QueryLimits, open_sink: Callable[[Stream], S], *, as_text: bool = False) -> S:
    """Run a statement and write its whole result to a sink within `limits.seconds`; returns the sink. Raises like `execute`."""
    with _clock(session, limits.seconds) as is_over:
        # Other engines have no `as_text` parameter.
        stream = session.stream(statement, as_text=True) if as_text else session.stream(statement)  # type: ignore[call-arg]
        sink = open_sink(stream)
        for chunk in stream.lines or stream.chunks:
            if is_over.is_set():
                break
            sink.add(chunk)
    return sink


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


STATEMENT, FINGERPRINT, TIME_RATIO = "statement", "fingerprint", "time ratio"
# Messages of the worker: the statement, fingerprint or ratio; for a result its header, parts of its text with the number of rows that begin
# in each, the columns that show days; the end with a fault or an empty text.
HEADER, PART, DAYS = "header", "part", "days"
GO, SKIP = b"go", b"skip"
_PART_BYTES = 4 << 20
_LONGEST_ORDER = 1 << 20


def serve(parent: socket.socket, *_: object) -> None:
    """Execute orders until the parent closes the socket."""
    while (frame := receive(parent, most=_LONGEST_ORDER)) is not None:
        order, connection, limits, text = pickle.loads(frame)
        end: Any = ""
        try:
            if order == FINGERPRINT:
                with contextlib.closing(open_session(connection, limits)) as session:
                    _send(parent, SAID, session.fingerprint() or "")
            elif order == TIME_RATIO:
                query, gold, evaluator = text
                _send(parent, SAID, repr(time_ratio(query, gold, connection.database, EVALUATORS[evaluator], limits)))
            else:
                _run(parent, connection, limits, text)
        except FaultError as error:
            end = error.fault
        except EvalsuiteError as error:
            end = Fault(code="NEEDS_CONNECTION", detail=error.message)
        except (MemoryError, RecursionError):
            end = Fault(code="LIMIT", detail="the statement needs more memory than the limit memory_mib")
        _send(parent, END, end)


def _run(parent: socket.socket, connection: Connection, limits: QueryLimits, text: str) -> None:
    statement = only_statement(text, ENGINES[connection.engine].dialect, most_bytes=limits.sql_bytes)
    _send(parent, SAID, statement)
    if receive(parent, most=_LONGEST_ORDER) == GO:
        with contextlib.closing(open_session(connection, limits)) as session:
            written = run_into_sink(session, statement, limits, partial(_opened, parent), as_text=ENGINES[connection.engine].writes_text)
            _send(parent, DAYS, written.days)


def _opened(parent: socket.socket, stream: Stream) -> CsvText:
    """A sink that sends a result's header and then its text to the parent, some MiB at once."""
    _send(parent, HEADER, list(stream.header))

    def send_text(text: bytes, n_rows: int) -> None:
        for start in range(0, len(text), _PART_BYTES):
            _send(parent, PART, [text[start : start + _PART_BYTES], 0 if start else n_rows])

    return CsvText(stream.types, send_text)


def _send(parent: socket.socket, kind: str, value: Any) -> None:
    send(parent, encode_payloads({kind: value}))


# Shares of `seconds` after which an embedded engine is interrupted, and its worker is killed; the remainder is for the clean-up.
_POLITE, _KILL = 0.85, 0.95
_FINGERPRINT_SECONDS = 600.0
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
    """Runs statements. No worker may read the folders of gold and of the submission, except a database in them."""

    def __init__(
        self, *, limits: QueryLimits, jobs: int, isolation: str = "process", submission: Path, gold: Path, cache: ResultCache | None = None
    ) -> None:
        self._limits, self._jobs, self._isolation, self._cache = limits, jobs, isolation, cache
        self._hostile, self._hidden = submission.resolve(), [str(gold.resolve()), str(submission.resolve())]
        self._lock, self._here = threading.Lock(), threading.local()
        self._fork_server: ForkServer | None = None
        self._workers: list[Worker] = []
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
                    yield self._time_ratio((query, gold, evaluator), Connection(name=place, engine="sqlite", database=place))
                except (FaultError, EvalsuiteError):
                    yield None
        finally:
            self.close()
            self._release()

    def _time_ratio(self, pair: tuple[str, str, str], connection: Connection) -> float:
        # The time of two statements at the start, rounds for `seconds`, and two more running at the end.
        with self._session(connection, 6 * self._limits.seconds, TIME_RATIO, self._limits, pair) as session_worker:
            ratio = float(session_worker.next_value())
            session_worker.skip_to_end()
        return ratio

    def _start(self, modules: Sequence[str]) -> None:
        if can_fork():
            with signals_blocked():
                self._fork_server = ForkServer(self._hostile)
            self._fork_server.load(modules)

    def _release(self) -> None:
        """Release what a call of `answers` or `time_ratios` started: another call may follow."""
        if self._fork_server is not None:
            self._fork_server.close()
        self._closed, self._here = False, threading.local()

    def close(self) -> None:
        """Kill every worker and cancel the statements that servers run."""
        with self._lock:
            self._closed = True
            workers, self._workers = self._workers, []
            sessions = list(self._sessions)
        for worker in workers:
            worker.kill()
        for session in sessions:
            with contextlib.suppress(FaultError, EvalsuiteError, OSError):
                session.cancel()

    def _answer(self, query: Query, embedded: threading.Semaphore, *, is_last: bool = False) -> "QueryOutcome | Query":
        """The outcome of a query; the query itself if the system killed its worker, unless this `is_last` of its tries."""
        with embedded if is_embedded(query.connection) else contextlib.nullcontext():
            started, self._here.had = time.monotonic(), 0.0
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
            return QueryOutcome(query=query, outcome=outcome, seconds=self._here.had or time.monotonic() - started)

    def bytes_to_bill(self, queries: Sequence[Query]) -> int:
        """The total bytes that the queries will read on engines that bill, by dry runs; a failed dry run counts 0."""

        def of(query: Query) -> int:
            try:
                statement = only_statement(query.text, ENGINES[query.connection.engine].dialect, most_bytes=self._limits.sql_bytes)
                with contextlib.closing(open_session(query.connection, self._limits)) as session:
                    return int(session.estimate(statement))  # type: ignore[attr-defined]  # of every engine that bills
            except (FaultError, EvalsuiteError):
                return 0

        with ThreadPoolExecutor(max_workers=_SERVER_THREADS, thread_name_prefix="dry runs") as threads:
            return sum(threads.map(of, queries))

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
        connection, seconds = query.connection, self._limits.seconds
        key_part = self._fingerprint(connection) if self._cache else ""
        polite = replace(self._limits, seconds=seconds * _POLITE)
        with self._session(connection, seconds * _KILL, STATEMENT, polite, query.text) as session_worker:
            started = time.monotonic()
            statement = str(session_worker.next_value())
            key = self._cache.key(connection.engine, key_part or None, statement, self._limits.clock) if self._cache else None
            if self._cache and key and (known := self._cache.get(key, self._limits, query.place)):
                session_worker.send_frame(SKIP)
                session_worker.skip_to_end()
                return known
            session_worker.send_frame(GO)
            file = self._collect(session_worker, query)
        cost = Cost(seconds=time.monotonic() - started, rows=file.n_rows, bytes=file.n_bytes)
        written = Written(place=query.place, header=file.header, cost=cost, sql=statement)
        if self._cache and key:
            self._cache.put(key, written)
        return written

    @contextlib.contextmanager
    def _session(self, connection: Connection, seconds: float, order: str, limits: QueryLimits, about: Any) -> Iterator[WorkerSession]:
        """A session with this thread's worker that lasts at most `seconds` and begins with an order.

        A worker whose answer was not read to its end is ended; it survives a fault that it reports itself, unless its memory ran out.
        """
        worker, whole = self._worker(connection), False
        session_worker = WorkerSession(worker, seconds)
        try:
            session_worker.order(order, connection, limits, about)
            yield session_worker
            whole = True
        except ReportedError as reported:
            whole = reported.fault.code != "LIMIT"
            raise FaultError(reported.fault.code, reported.fault.detail, side=reported.fault.side or None) from None
        finally:
            self._here.had = session_worker.had
            if not whole:
                self._end(worker)

    def _collect(self, session_worker: WorkerSession, query: Query) -> CsvFile:
        kind, header = session_worker.receive_message()
        if kind != HEADER:
            raise FaultError("WORKER_DIED", "the worker that ran the statement sent an invalid message")
        with CsvFile(query.place, list(map(str, header)), self._limits) as file:
            while (part := session_worker.receive_message())[0] == PART:
                file.add(bytes(part[1][0]), int(part[1][1]))
            file.show_days(list(map(int, part[1])))
            session_worker.skip_to_end()
        return file

    def _fingerprint(self, connection: Connection) -> str:
        """The state of a connection's database, requested once from a worker that has run no statement yet."""
        with self._lock:
            known = self._fingerprints.get(connection.name)
        if known is None:
            self._end(getattr(self._here, "worker", None))
            with self._session(connection, _FINGERPRINT_SECONDS, FINGERPRINT, self._limits, "") as session_worker:
                known = str(session_worker.next_value())
                session_worker.skip_to_end()
            with self._lock:
                self._fingerprints[connection.name] = known
        return known

    def _worker(self, connection: Connection) -> Worker:
        """This thread's worker, a new one if it has none for this database."""
        worker: Worker | None = getattr(self._here, "worker", None)
        if worker is not None and self._here.connection == connection and worker.alive:
            return worker
        self._end(worker)
        sandboxed = self._isolation != "none"
        readable = (
            [kept for path in (*library_paths(), *read_of(connection)) for kept in parts_without(path, self._hidden)] if sandboxed else []
        )
        limits = {"memory_mib": self._limits.memory_mib}
        setup = {
            "sandboxed": sandboxed,
            "limits": limits,
            "readable": {"queries": readable},
            "serve": {"queries": "evalsuite.sql.execution:serve"},
        }
        with signals_blocked(), self._lock:
            if self._closed:
                raise FaultError("TIMEOUT", "the run was interrupted")
            if self._fork_server is None:
                raise EvalsuiteError("this system cannot fork the workers that statements on files run in")
            worker = self._fork_server.fork("queries")
            self._workers.append(worker)
            try:
                send(worker.control, pickle.dumps(setup))
            except OSError:
                raise start_error() from None
        self._here.worker, self._here.connection = worker, connection
        WorkerSession(worker, _FINGERPRINT_SECONDS).receive()
        return worker

    def _end(self, worker: Worker | None) -> None:
        if worker is None:
            return
        self._here.worker = None
        with self._lock:
            known = worker in self._workers
            if known:
                self._workers.remove(worker)
        if known:
            worker.kill()
