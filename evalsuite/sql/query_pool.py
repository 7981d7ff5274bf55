"""Run statements concurrently: of embedded engines in sandboxed workers that are killed at the limit, of servers in threads of this
process.

Results are streamed from workers to CSV files, so that none is in memory as a whole.
"""

import contextlib
import pickle
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalsuite.core.errors import EvalsuiteError, FaultError, MissingExtraError, error_sentence, machine_fault, reason_of
from evalsuite.core.types import Fault
from evalsuite.sandbox.fork_server import ForkServer, Worker, now, signals_blocked, start_error
from evalsuite.sandbox.framing import send
from evalsuite.sandbox.linux_layers import library_paths, parts_without
from evalsuite.sandbox.rpc_client import KilledError, ReportedError, WorkerSession
from evalsuite.sandbox.worker_sandbox import can_fork
from evalsuite.sql import ENGINES, is_embedded, open_session
from evalsuite.sql.execution import FINGERPRINT, GO, HEADER, PART, SKIP, STATEMENT, TIME_RATIO, ResultCache, write_result
from evalsuite.sql.result_csv import CsvFile
from evalsuite.sql.session import Connection, Cost, QueryLimits, Session, Written, read_of
from evalsuite.sql.statement import only_statement

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
        with self._session(connection, 6 * self._limits.seconds, TIME_RATIO, self._limits, pair) as talk:
            ratio = float(talk.next_value())
            talk.skip_to_end()
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
            started, self._here.had = now(), 0.0
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
            return QueryOutcome(query=query, outcome=outcome, seconds=self._here.had or now() - started)

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
        with self._session(connection, seconds * _KILL, STATEMENT, polite, query.text) as talk:
            started = now()
            statement = str(talk.next_value())
            key = self._cache.key(connection.engine, key_part or None, statement, self._limits.clock) if self._cache else None
            if self._cache and key and (known := self._cache.get(key, self._limits, query.place)):
                talk.send_frame(SKIP)
                talk.skip_to_end()
                return known
            talk.send_frame(GO)
            file = self._collect(talk, query)
        cost = Cost(seconds=now() - started, rows=file.n_rows, bytes=file.n_bytes)
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
        talk = WorkerSession(worker, seconds)
        try:
            talk.order(order, connection, limits, about)
            yield talk
            whole = True
        except ReportedError as reported:
            whole = reported.fault.code != "LIMIT"
            raise FaultError(reported.fault.code, reported.fault.detail, side=reported.fault.side or None) from None
        finally:
            self._here.had = talk.had
            if not whole:
                self._end(worker)

    def _collect(self, talk: WorkerSession, query: Query) -> CsvFile:
        kind, said = talk.receive_message()
        if kind != HEADER:
            raise FaultError("WORKER_DIED", "the worker that ran the statement sent an invalid message")
        with CsvFile(query.place, list(map(str, said)), self._limits) as file:
            while (part := talk.receive_message())[0] == PART:
                file.add(bytes(part[1][0]), int(part[1][1]))
            file.show_days(list(map(int, part[1])))
            talk.skip_to_end()
        return file

    def _fingerprint(self, connection: Connection) -> str:
        """The state of a connection's database, requested once from a worker that has run no statement yet."""
        with self._lock:
            known = self._fingerprints.get(connection.name)
        if known is None:
            self._end(getattr(self._here, "worker", None))
            with self._session(connection, _FINGERPRINT_SECONDS, FINGERPRINT, self._limits, "") as talk:
                known = str(talk.next_value())
                talk.skip_to_end()
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
