"""Statements run for a run: an embedded engine's in walled workers that are killed at the limit, a server's in threads of this process.

What a worker sends is collected here part by part, so that a result is never held whole above `table_bytes`: beyond, it is spilled.
"""

import contextlib
import pickle
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalsuite.errors import EvalsuiteError, FaultError, MissingExtraError, in_one_sentence
from evalsuite.sql import ENGINES, is_embedded, open_session
from evalsuite.sql.execute import ResultCache, ask
from evalsuite.sql.session import Connection, Cost, Executed, QueryLimits, Session, read_of
from evalsuite.sql.spill import Collector
from evalsuite.sql.statement import only_statement
from evalsuite.types import Fault
from evalsuite.walls.landlock import library_paths, parts_without
from evalsuite.walls.worker_walls import can_fork
from evalsuite.workers.query_worker import END, FINGERPRINT, GO, PART, SAID, SKIP, STATEMENT, TIME_RATIO
from evalsuite.workers.start import Worker, Zygote, cannot_start, now, undisturbed
from evalsuite.workers.wire import LONGEST_RESULT, ClosedError, decode_forms, receive, send

# Shares of `seconds` after which an embedded engine is asked to stop, and its worker is killed; the rest is for what comes after.
_POLITE, _KILL = 0.85, 0.95
_FINGERPRINT_SECONDS = 600.0
# More statements at once than cores make sense where a server does the work.
_SERVER_THREADS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A text to run through a connection; `spill` is a folder of its own, not made yet, for a result above `table_bytes`."""

    name: str
    text: str
    connection: Connection
    spill: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What became of a query: its table with what it cost, or the fault that kept it from one; wall-clock seconds."""

    query: Query
    outcome: Executed | Fault
    seconds: float


class Queries:
    """Runs statements. No worker may read the folders of gold and of the submission, but for a database that lies there."""

    def __init__(
        self, *, limits: QueryLimits, jobs: int, isolation: str = "process", submission: Path, gold: Path, cache: ResultCache | None = None
    ) -> None:
        self._limits, self._jobs, self._isolation, self._cache = limits, jobs, isolation, cache
        self._hostile, self._hidden = submission.resolve(), [str(gold.resolve()), str(submission.resolve())]
        self._lock, self._here = threading.Lock(), threading.local()
        self._zygote: Zygote | None = None
        self._workers: list[Worker] = []
        self._sessions: list[Session] = []
        self._fingerprints: dict[str, str] = {}
        self._closed = False

    def answers(self, queries: Sequence[Query]) -> Iterator[Answered]:
        """One answer per query as soon as it is known. Whoever stops taking them ends the statements under way."""
        at_once = max(self._jobs, _SERVER_THREADS if any(not is_embedded(query.connection) for query in queries) else 1)
        threads = ThreadPoolExecutor(max_workers=at_once, thread_name_prefix="queries")
        embedded = threading.Semaphore(self._jobs)
        try:
            if engines := {query.connection.engine for query in queries if is_embedded(query.connection)}:
                self._start(["evalsuite.workers.query_worker", *sorted(engines & {"duckdb"})])
            # A worker reads one database: those of the same one come together.
            ordered = sorted(queries, key=lambda query: (is_embedded(query.connection), query.connection.name))
            for done in as_completed([threads.submit(self._answer, query, embedded) for query in ordered]):
                yield done.result()
        finally:
            self.close()
            threads.shutdown(wait=True, cancel_futures=True)
            self._rest()

    def time_ratios(self, pairs: Sequence[tuple[str, str, str, str]]) -> Iterator[float | None]:
        """For each (query, gold's query, SQLite file, evaluator) `sql.speed.time_ratio`, None where it could not be measured.

        One after the other in walled workers that know nothing but the pair and its file: two at once would be in each other's way.
        """
        if pairs:
            self._start(["evalsuite.workers.query_worker"])
        try:
            for query, gold, place, evaluator in pairs:
                try:
                    yield self._time_ratio((query, gold, evaluator), Connection(name=place, engine="sqlite", database=place))
                except (FaultError, EvalsuiteError):
                    yield None
        finally:
            self.close()
            self._rest()

    def _time_ratio(self, pair: tuple[str, str, str], connection: Connection) -> float:
        worker = self._worker(connection)
        # Two statements to begin with, rounds for `seconds`, two more under way then.
        talk, whole = _Talk(worker, now() + 6 * self._limits.seconds), False
        try:
            talk.order(TIME_RATIO, connection, self._limits, pair)
            ratio = float(talk.next_word())
            talk.until_end()
            whole = True
        except _ReportedError as reported:
            whole = reported.fault.code != "LIMIT"
            raise FaultError(reported.fault.code, reported.fault.detail) from None
        finally:
            if not whole:
                self._end(worker)
        return ratio

    def _start(self, modules: Sequence[str]) -> None:
        if can_fork():
            with undisturbed():
                self._zygote = Zygote(self._hostile)
            self._zygote.load(modules)

    def _rest(self) -> None:
        """Let go of what a call of `answers` or `time_ratios` started: another may follow."""
        if self._zygote is not None:
            self._zygote.close()
        self._closed, self._here = False, threading.local()

    def close(self) -> None:
        """Kill every worker and cancel what servers are at."""
        with self._lock:
            self._closed = True
            workers, self._workers = self._workers, []
            sessions = list(self._sessions)
        for worker in workers:
            worker.kill()
        for session in sessions:
            with contextlib.suppress(FaultError, EvalsuiteError, OSError):
                session.cancel()

    def _answer(self, query: Query, embedded: threading.Semaphore) -> Answered:
        with embedded if is_embedded(query.connection) else contextlib.nullcontext():
            started = now()
            outcome: Executed | Fault
            try:
                outcome = self._in_worker(query) if is_embedded(query.connection) else self._on_server(query)
            except FaultError as error:
                outcome = error.fault
            except MissingExtraError as error:
                outcome = Fault(code="NEEDS_EXTRA", detail=in_one_sentence(error))
            except EvalsuiteError as error:
                outcome = Fault(code="NEEDS_CONNECTION", detail=in_one_sentence(error))
            return Answered(query=query, outcome=outcome, seconds=now() - started)

    def bytes_to_bill(self, queries: Sequence[Query]) -> int:
        """What dry runs say that the queries on engines that bill will read, in all; one that fails bills nothing."""

        def of(query: Query) -> int:
            try:
                statement = only_statement(query.text, ENGINES[query.connection.engine].dialect, most_bytes=self._limits.sql_bytes)
                with contextlib.closing(open_session(query.connection, self._limits)) as session:
                    return int(session.estimate(statement))  # type: ignore[attr-defined]  # of every engine that bills
            except (FaultError, EvalsuiteError):
                return 0

        with ThreadPoolExecutor(max_workers=_SERVER_THREADS, thread_name_prefix="dry runs") as threads:
            return sum(threads.map(of, queries))

    def _on_server(self, query: Query) -> Executed:
        """What a server gives; one that goes away while it runs the statement is asked once more."""
        try:
            return self._asked_server(query)
        except FaultError as error:
            if error.side != "setup" or self._closed:
                raise
            return self._asked_server(query)

    def _asked_server(self, query: Query) -> Executed:
        statement = only_statement(query.text, ENGINES[query.connection.engine].dialect, most_bytes=self._limits.sql_bytes)
        with contextlib.closing(open_session(query.connection, self._limits)) as session:
            with self._lock:
                if self._closed:
                    raise FaultError("TIMEOUT", "the run was interrupted")
                self._sessions.append(session)
            try:
                return ask(session, statement, query.connection, self._limits, cache=self._cache, spill=query.spill)
            finally:
                with self._lock:
                    self._sessions.remove(session)

    def _in_worker(self, query: Query) -> Executed:
        key_part = self._fingerprint(query.connection) if self._cache else ""
        worker, started = self._worker(query.connection), now()
        talk = _Talk(worker, started + self._limits.seconds * _KILL)
        polite = replace(self._limits, seconds=self._limits.seconds * _POLITE)
        whole = False
        try:
            talk.order(STATEMENT, query.connection, polite, query.text)
            statement = str(talk.next_word())
            key = self._cache.key(query.connection.engine, key_part or None, statement) if self._cache else None
            if self._cache and key and (known := self._cache.get(key, self._limits)):
                talk.say(SKIP)
                talk.until_end()
                whole = True
                return known
            talk.say(GO)
            collector = self._collect(talk, query)
            whole = True
        except _ReportedError as reported:
            whole = reported.fault.code != "LIMIT"
            raise FaultError(reported.fault.code, reported.fault.detail) from None
        finally:
            if not whole:
                self._end(worker)
        table = collector.table()
        cost = Cost(seconds=now() - started, rows=table.n_rows, bytes=collector.n_bytes)
        executed = Executed(table=table, cost=cost, sql=statement)
        if self._cache and key:
            self._cache.put(key, executed)
        return executed

    def _collect(self, talk: "_Talk", query: Query) -> Collector:
        kind, head = talk.hear()
        if kind != PART:
            raise FaultError("WORKER_DIED", "the worker that ran the statement said what cannot be meant")
        collector = Collector(head.header, head.types, self._limits, query.spill)
        while (part := talk.hear())[0] == PART:
            collector.add(list(zip(*part[1].columns, strict=True)))
        return collector

    def _fingerprint(self, connection: Connection) -> str:
        """The state of a connection's database, asked once of a worker that has run no statement yet."""
        with self._lock:
            known = self._fingerprints.get(connection.name)
        if known is None:
            self._end(getattr(self._here, "worker", None))
            talk = _Talk(self._worker(connection), now() + _FINGERPRINT_SECONDS)
            try:
                talk.order(FINGERPRINT, connection, self._limits, "")
                known = str(talk.next_word())
                talk.until_end()
            except _ReportedError as reported:
                raise FaultError(reported.fault.code, reported.fault.detail) from None
            with self._lock:
                self._fingerprints[connection.name] = known
        return known

    def _worker(self, connection: Connection) -> Worker:
        """This thread's worker, a fresh one where it has none for this database."""
        worker: Worker | None = getattr(self._here, "worker", None)
        if worker is not None and self._here.connection == connection and worker.alive:
            return worker
        self._end(worker)
        walled = self._isolation != "none"
        readable = (
            [kept for path in (*library_paths(), *read_of(connection)) for kept in parts_without(path, self._hidden)] if walled else []
        )
        limits = {"memory_mib": self._limits.memory_mib}
        setup = {"walls": walled, "limits": limits, "readable": {"queries": readable}, "plugins": [], "metrics": {}}
        with undisturbed(), self._lock:
            if self._closed:
                raise FaultError("TIMEOUT", "the run was interrupted")
            if self._zygote is None:
                raise EvalsuiteError("this system cannot fork the workers that statements on files run in")
            worker = self._zygote.fork("queries")
            self._workers.append(worker)
            try:
                send(worker.control, pickle.dumps(setup))
            except OSError:
                raise cannot_start() from None
        self._here.worker, self._here.connection = worker, connection
        _Talk(worker, now() + _FINGERPRINT_SECONDS).receive()
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


class _ReportedError(Exception):
    """A fault that a worker reports; it lives on."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.code)
        self.fault = fault


class _Talk:
    """What is said between this thread and a worker, up to a deadline. Raises TIMEOUT, or WORKER_DIED, or LIMIT where memory ran out."""

    def __init__(self, worker: Worker, deadline: float) -> None:
        self._worker, self._started, self._deadline = worker, now(), deadline

    def sendall(self, data: bytes, /) -> None:
        self._worker.control.settimeout(max(0.01, self._deadline - now()))
        self._worker.control.sendall(data)

    def recv_into(self, buffer: memoryview, nbytes: int, /) -> int:
        left = self._deadline - now()
        if left <= 0:
            raise TimeoutError
        self._worker.control.settimeout(left)
        return self._worker.control.recv_into(buffer, nbytes)

    def order(self, *order: Any) -> None:
        """Send an order."""
        self.say(pickle.dumps(order))

    def say(self, word: bytes) -> None:
        """Send a frame."""
        try:
            send(self, word)
        except OSError as error:
            raise self._fault(error) from None

    def receive(self) -> bytes:
        """The next frame."""
        try:
            frame = receive(self, most=LONGEST_RESULT)
        except (ClosedError, OSError, ValueError) as error:
            raise self._fault(error) from None
        if frame is None:
            raise self._fault(ClosedError())
        return frame

    def hear(self) -> tuple[str, Any]:
        """(kind, value) of what the worker says next. Raises `_ReportedError` where it is a fault."""
        try:
            ((kind, value),) = decode_forms(self.receive()).items()
        except ValueError as error:
            raise self._fault(error) from None
        if isinstance(value, Fault):
            raise _ReportedError(value)
        return kind, value

    def next_word(self) -> Any:
        """The value of a word of the worker."""
        kind, value = self.hear()
        return value if kind == SAID else ""

    def until_end(self) -> None:
        """Hear the worker out."""
        while self.hear()[0] != END:
            pass

    def _fault(self, error: Exception) -> FaultError:
        if isinstance(error, TimeoutError | socket.timeout):
            return FaultError("TIMEOUT", f"the statement took longer than {self._deadline - self._started:g} seconds (limit seconds)")
        if self._worker.kill() == -signal.SIGABRT:
            # An engine that gets no memory where it cannot do without ends its process.
            return FaultError("LIMIT", "the statement needs more memory than it may have (limit memory_mib)")
        return FaultError("WORKER_DIED", "the worker died while it ran the statement")
