"""One statement through one connection: read, refused or run, cut off at its limits, kept for the next time.

    table = run_answer(text, connection, limits)

The same for every engine; which one it is, only the connection says.
"""

import contextlib
import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from evalsuite.errors import FaultError
from evalsuite.memo import Memo
from evalsuite.sql import ENGINES, open_session
from evalsuite.sql.clock import asks_time
from evalsuite.sql.session import Connection, Cost, Executed, QueryLimits, Session, Stream
from evalsuite.sql.spill import Collector, load_table, save_table
from evalsuite.sql.statement import only_statement
from evalsuite.types import Table

_log = logging.getLogger(__name__)

_COST = "cost.json"


class ResultCache:
    """Executed tables below a folder, one folder a result. Many processes may share it; what cannot be read or written is left out."""

    def __init__(self, folder: Path) -> None:
        self._memo = Memo(folder)

    def key(self, engine: str, fingerprint: str | None, sql: str, clock: int) -> str | None:
        """The name a result is kept under; None where the database cannot say whether it has changed, or where it moves with the clock."""
        if fingerprint is None or (not clock and asks_time(sql, engine)):
            return None
        return hashlib.sha256(json.dumps([engine, fingerprint, sql, *([clock] if clock else [])]).encode()).hexdigest()

    def get(self, key: str, limits: QueryLimits) -> Executed | None:
        """A known result, its cost as it was when it ran; raises LIMIT where it does not keep to today's limits."""

        def read(folder: Path) -> Executed:
            entry = json.loads((folder / _COST).read_text(encoding="utf-8"))
            return Executed(table=load_table(folder), cost=replace(Cost(**entry["cost"]), cached=True), sql=entry["sql"])

        known = self._memo.files(key, read)
        if known is None:
            return None
        for name, found, most in (("rows", known.table.n_rows, limits.rows), ("columns", len(known.table.header), limits.columns)):
            if found > most:
                raise FaultError("LIMIT", f"the result has {found} {name} (limit {name}: {most})")
        if known.cost.bytes > limits.result_bytes:
            raise FaultError("LIMIT", f"the result has more than {limits.result_bytes} bytes (limit result_bytes)")
        return known

    def put(self, key: str, executed: Executed) -> None:
        """Keep a result."""
        import duckdb

        def write(folder: Path) -> None:
            save_table(executed.table, folder)
            (folder / _COST).write_text(json.dumps({"sql": executed.sql, "cost": asdict(executed.cost)}), encoding="utf-8")

        with contextlib.suppress(duckdb.Error):
            self._memo.put_files(key, write)


def run_answer(
    text: str, connection: Connection, limits: QueryLimits, *, cache: ResultCache | None = None, spill: Path | None = None
) -> Table:
    """The table of a submission's SQL text: n_columns x n_rows, each column with its type. Arguments, raises: see `execute`."""
    return execute(text, connection, limits, cache=cache, spill=spill).table


def execute(
    text: str, connection: Connection, limits: QueryLimits, *, cache: ResultCache | None = None, spill: Path | None = None
) -> Executed:
    """The table of one SELECT with what it cost; the connection is opened and closed again.

    `spill` is a private folder for results above `held_bytes`; without one such a result is a LIMIT. A table spilled there can be read
    as long as the folder stands. An embedded engine holds to its limits as far as it lets itself be interrupted: one single operation
    can outlast `seconds` and memory can go beyond `memory_mib`, so hostile text belongs in a process that can be killed.

    Raises:
        FaultError: SQL_NOT_ALLOWED, SQL_ERROR, LIMIT or TIMEOUT.
        EvalsuiteError: the connection cannot be opened.
    """
    statement = only_statement(text, ENGINES[connection.engine].dialect, most_bytes=limits.sql_bytes)
    with contextlib.closing(open_session(connection, limits)) as session:
        return ask(session, statement, connection, limits, cache=cache, spill=spill)


def ask(
    session: Session,
    statement: str,
    connection: Connection,
    limits: QueryLimits,
    *,
    cache: ResultCache | None = None,
    spill: Path | None = None,
) -> Executed:
    """`execute` on a session that is open already, for a statement that `only_statement` gave."""
    key = cache.key(connection.engine, session.fingerprint(), statement, limits.clock) if cache else None
    if cache and key and (known := cache.get(key, limits)):
        return known
    started = time.monotonic()
    collector = pour(session, statement, limits, lambda stream: Collector(stream.header, stream.types, limits, spill))
    table = collector.table()
    cost = Cost(seconds=time.monotonic() - started, rows=table.n_rows, bytes=collector.n_bytes, billed_bytes=session.billed_bytes)
    executed = Executed(table=table, cost=cost, sql=statement)
    if cache and key:
        cache.put(key, executed)
    return executed


class Sink(Protocol):
    """What takes a result chunk by chunk."""

    def add(self, rows: Sequence[Sequence[Any]], /) -> None:
        """Take rows of neutral cells."""
        ...


S = TypeVar("S", bound=Sink)


def pour(session: Session, statement: str, limits: QueryLimits, open_sink: Callable[[Stream], S]) -> S:
    """The sink that a statement's whole result was poured into, within `limits.seconds`. Raises as `execute` does."""
    with _clock(session, limits.seconds) as rang:
        stream = session.stream(statement)
        sink = open_sink(stream)
        for chunk in stream.chunks:
            if rang.is_set():
                break
            sink.add(chunk)
    return sink


@contextlib.contextmanager
def _clock(session: Session, seconds: float) -> Iterator[threading.Event]:
    """Cancels the session's statement after `seconds`; whatever happens after that is a TIMEOUT."""
    rang, done = threading.Event(), threading.Lock()

    def ring() -> None:
        # Once the statement is over a cancel would hit the session's next one.
        with done:
            if not over.is_set():
                rang.set()
                try:
                    session.cancel()
                except Exception as error:  # in a thread of its own nobody would hear it, and the statement counts as cut off anyway
                    _log.debug("cancel: %s", type(error).__name__)

    over = threading.Event()
    timer = threading.Timer(seconds, ring)
    timer.daemon = True
    timer.start()
    try:
        yield rang
    except FaultError:
        if not rang.is_set():
            raise
    finally:
        timer.cancel()
        with done:
            over.set()
    if rang.is_set():
        raise FaultError("TIMEOUT", f"the statement took longer than {seconds:g} seconds (limit seconds)")
