"""Run one statement through one connection: parse, refuse or run it, stop it at its limits, cache its result.

    table = run_answer(text, connection, limits)

The same for every engine; only the connection names the engine.
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
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from evalsuite.core.disk_cache import DiskCache
from evalsuite.core.errors import EvalsuiteError, FaultError, timeout_error
from evalsuite.core.types import Fault, Table
from evalsuite.sandbox.cpu_clock import Alarm, Clock, Verdict
from evalsuite.sandbox.framing import END, SAID, receive, send
from evalsuite.sandbox.payloads import encode_payloads
from evalsuite.sql import ENGINES, open_session
from evalsuite.sql.frozen_clock import reads_time
from evalsuite.sql.query_pairs import EVALUATORS, time_ratio
from evalsuite.sql.result_csv import ColumnKind, CsvFile, CsvText
from evalsuite.sql.session import Connection, Cost, Executed, QueryLimits, Session, Stream, Written
from evalsuite.sql.statement import only_statement

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
    with _clock(session, limits.seconds) as rang:
        # Other engines have no `as_text` parameter.
        stream = session.stream(statement, as_text=True) if as_text else session.stream(statement)  # type: ignore[call-arg]
        sink = open_sink(stream)
        for chunk in stream.lines or stream.chunks:
            if rang.is_set():
                break
            sink.add(chunk)
    return sink


@contextlib.contextmanager
def _clock(session: Session, seconds: float) -> Iterator[threading.Event]:
    """Cancel the session's statement after `seconds`; the error that follows is a TIMEOUT, unless the server cannot be reached."""
    rang, lost, done = threading.Event(), threading.Event(), threading.Lock()
    failed: FaultError | None = None
    how: list[Verdict] = []

    def ring(verdict: Verdict) -> None:
        # Once the statement has ended, a cancel would hit the session's next one.
        with done:
            if not over.is_set():
                how.append(verdict)
                rang.set()
                try:
                    session.cancel()
                except Exception as error:  # in a thread of its own nobody would hear it, and the statement counts as cut off anyway
                    lost.set()
                    _log.debug("cancel: %s", type(error).__name__)

    over = threading.Event()
    alarm = Alarm(Clock(with_caller=True), seconds, ring)
    try:
        yield rang
    except FaultError as error:
        failed = error
    finally:
        alarm.cancel()
        with done:
            over.set()
    if failed and (not rang.is_set() or (lost.is_set() and failed.side == "setup")):
        raise failed
    if rang.is_set():
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
