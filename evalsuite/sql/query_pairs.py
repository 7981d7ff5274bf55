"""Pairs of gold and answer queries on SQLite files, as text-to-SQL evaluators run them: results, and the speed ratio of BIRD's VES.

    tables = tables_of("SELECT 1", ["shop/shop.sqlite"], EVALUATORS["bird-ex"], limits)

Both sides of a pair run this code, each in its own process; a session per file stays open. The evaluator decides how a query is prepared,
evalsuite decides what is refused. To compare speed, both queries take turns in one process, and the medians of their times are compared.
"""

import contextlib
import hashlib
import json
import math
import os
import re
import sqlite3
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, cast

from evalsuite.core.dataclasses import dataclass
from evalsuite.core.disk_cache import file_state
from evalsuite.core.errors import EvalsuiteError, FaultError
from evalsuite.core.files import is_file
from evalsuite.core.scores import SQLITE_CELLS, Table
from evalsuite.sandbox.limits import Deadline
from evalsuite.sql.session import REASONS, SQLITE, Connection, QueryLimits, blank_out, only_statement
from evalsuite.sql.sqlite import NO_TEMPORARY_FILE, SqliteSession, is_steady, open_session, writes_nothing

_DISTINCT = re.compile(r"\bdistinct\b", re.IGNORECASE)
_YEAR_NOW = re.compile(r"YEAR\s*\(\s*CURDATE\s*\(\s*\)\s*\)\s*", re.IGNORECASE)
_GAP = re.compile(r"([<>!]) =")
_ORDER = re.compile(r"\border\s+by\b", re.IGNORECASE)
_ORDER_ENDS = re.compile(r"\b(?:limit|offset)\b", re.IGNORECASE)
_DIRECTION = re.compile(r"(?:\s+collate\s+\w+|\s+(?:asc|desc)|\s+nulls\s+(?:first|last))+\s*$", re.IGNORECASE)
# Text that may surround a statement.
_AROUND = " \t\r\n;"
# Sessions that stay open; beyond this many databases the least recently used session is closed.
_MOST_OPEN = 8


@dataclass(frozen=True, slots=True)
class Evaluator:
    """How a known evaluator runs a pair: how it changes both queries, on which files it runs them, how it decodes texts that are not UTF-8.

    With `every_file` all files of the database's folder count, otherwise only the database; `text_errors` is as in `bytes.decode`.
    """

    name: str
    every_file: bool
    text_errors: str

    def prepare(self, sql: str) -> str:
        """The query as the evaluator runs it."""
        if self.name != "test-suite":
            return sql
        # The evaluator's own steps, in its order (`exec_eval.postprocess`, `remove_distinct`, `replace_cur_year`).
        sql = _GAP.sub(r"\1=", sql)
        hidden = blank_out(sql, SQLITE)
        words = list(_DISTINCT.finditer(hidden))
        for word in reversed(words):
            sql = sql[: word.start()] + sql[word.end() :]
        return _YEAR_NOW.sub("2020", sql)


EVALUATORS: Mapping[str, Evaluator] = {
    "bird-ex": Evaluator("bird-ex", every_file=False, text_errors="strict"),
    "test-suite": Evaluator("test-suite", every_file=True, text_errors="ignore"),
}


def files_of(name: str, evaluator: Evaluator, folder: Path) -> list[Path]:
    """The files of a database below the folder of --databases: `<name>/<name>.sqlite`, or `<name>.sqlite` in the folder itself.

    If the evaluator uses every file, all in the database's own folder with `.sqlite` in their names. Empty if there is none. Raises
    `FaultError` BAD_SPEC for a name that leads out of the folder.
    """
    if Path(name).is_absolute() or ".." in Path(name).parts or name.startswith("~"):
        raise FaultError("BAD_SPEC", f"the database {name!r} is outside the folder of --databases")
    # `is_file` raises for a name that cannot be a file's.
    places = (folder / name / f"{name}.sqlite", folder / f"{name}.sqlite")
    existing = next((place for place in places if os.path.isfile(place)), None)  # noqa: PTH113
    if existing is None:
        return []
    if not evaluator.every_file or existing.parent == folder:
        return [existing]
    # The database itself first: if the queries differ on it, the other files are not needed.
    return [
        existing,
        *sorted(place for place in existing.parent.iterdir() if ".sqlite" in place.name and place != existing and is_file(place)),
    ]


def both_tables(query: str, parameters: Mapping[str, Any], folder: Path) -> tuple[list[Table], list[Table]]:
    """The results of the query and of gold's, on the file that the parameters of a `sql_match` name, or on the database below the folder.

    Raises:
        FaultError: NEEDS_CONNECTION if there is no such database, and the faults of either query.
    """
    name, evaluator = str(parameters["database"]), EVALUATORS[str(parameters.get("evaluator", "bird-ex"))]
    files = [place] if is_file(place := folder / name) else files_of(name, evaluator, folder)
    if not files:
        raise FaultError("NEEDS_CONNECTION", f"no database {name!r} here", side="setup")
    sides = (query, str(parameters["gold"]))
    predicted, gold = (tables_of(side, list(map(str, files)), evaluator, {}) for side in sides)
    return predicted, gold


def tables_of(sql: str, files: Sequence[str], evaluator: Evaluator, limits: Mapping[str, int | float]) -> list[Table]:
    """The result on each file, in the order of the files; they share one limit of `seconds`.

    Raises `FaultError`: SQL_ERROR, SQL_NOT_ALLOWED, LIMIT or TIMEOUT.
    """
    query_limits = QueryLimits.from_names(limits)
    statement, deadline = statement_of(sql, evaluator, query_limits), Deadline(query_limits.seconds)
    return [_table(statement, place, evaluator.text_errors, query_limits, deadline) for place in files]


def can_share_run(query: str, gold: str, files: Sequence[str], limits: Mapping[str, int | float]) -> bool:
    """Whether both queries have the same text, of a statement whose result on these files is deterministic: then one run serves both.

    Raises `FaultError` NEEDS_CONNECTION.
    """
    if query.strip(_AROUND) != gold.strip(_AROUND):
        return False
    query_limits, temp_in_memory = QueryLimits.from_names(limits), not writes_nothing()
    if not is_steady(gold, clock=query_limits.clock):
        return False
    return all(_session(place, query_limits, temp_in_memory=temp_in_memory).has_steady_views for place in files)


def state_of(queries: Sequence[str], files: Sequence[Path], limits: Mapping[str, int | float]) -> str | None:
    """A digest of everything that the results depend on in addition to the queries' texts: every byte of their files, and SQLite's version.

    None if there is none: for a query or a view that is not deterministic, and for files that cannot be read. Raises OSError for a file
    that does not exist.
    """
    query_limits = QueryLimits.from_names(limits)
    if not files or not all(is_steady(query, clock=query_limits.clock) for query in queries):
        return None
    states = list(map(file_state, files))
    fingerprints = [_fingerprint(str(place), query_limits, *state) for place, state in zip(files, states, strict=True)]
    return None if None in fingerprints else hashlib.sha256(json.dumps(fingerprints).encode()).hexdigest()


@lru_cache(maxsize=4096)
def _fingerprint(place: str, limits: QueryLimits, *_state: int) -> str | None:
    """The fingerprint of a file in the state that the other arguments describe."""
    try:
        with contextlib.closing(open_session(Connection(name=Path(place).stem, engine="sqlite", database=place), limits)) as session:
            return session.fingerprint()
    except (EvalsuiteError, sqlite3.Error, OSError):
        return None


def statement_of(sql: str, evaluator: Evaluator, limits: QueryLimits) -> str:
    """The one statement of a query, prepared as the evaluator does. Raises `FaultError` SQL_ERROR or SQL_NOT_ALLOWED."""
    return only_statement(evaluator.prepare(sql), SQLITE, most_bytes=limits.sql_bytes, fenced=False)


def _table(statement: str, place: str, text_errors: str, limits: QueryLimits, deadline: Deadline) -> Table:
    """The result on one file; run again if a text is not UTF-8 and the evaluator accepts that, or if memory was short."""
    temp_in_memory, decode = not writes_nothing(), cast(Callable[[bytes], str], str)
    while True:
        session = _session(place, limits, temp_in_memory=temp_in_memory)
        session.connection.text_factory = decode
        try:
            return _fetch_table(session, statement, limits, deadline)
        except FaultError as error:
            if error.fault.detail == NO_TEMPORARY_FILE and not temp_in_memory:
                temp_in_memory = True
            elif error.fault.detail == REASONS["encoding"] and decode is str and text_errors != "strict":
                decode = partial(str, encoding="utf-8", errors=text_errors)
            else:
                raise


def _fetch_table(session: SqliteSession, statement: str, limits: QueryLimits, deadline: Deadline) -> Table:
    stream = session.stream(statement, deadline=deadline)
    rows: list[Sequence[object]] = []
    for chunk in stream.chunks:
        rows += chunk
        limits.check(rows=len(rows))
    columns = tuple(zip(*rows, strict=True)) if rows else ((),) * len(stream.header)
    return Table(header=stream.header, columns=columns, n_rows=len(rows), types=(SQLITE_CELLS,) * len(stream.header))


def _session(place: str, limits: QueryLimits, *, temp_in_memory: bool) -> SqliteSession:
    """A session of this thread with the file as it is now; no SELECT can change its state."""
    state: tuple[int, ...] = ()
    with contextlib.suppress(OSError):  # reported by the opening
        state = file_state(place)
    return _open(os.path.abspath(place), limits, temp_in_memory, threading.get_ident(), *state)  # noqa: PTH100 - once a query


@lru_cache(maxsize=_MOST_OPEN)
def _open(place: str, limits: QueryLimits, temp_in_memory: bool, *_state: int) -> SqliteSession:
    try:
        return open_session(Connection(name=Path(place).stem, engine="sqlite", database=place), limits, temp_in_memory=temp_in_memory)
    except (EvalsuiteError, sqlite3.Error) as error:
        why = error.message if isinstance(error, EvalsuiteError) else "the database cannot be opened"
        raise FaultError("NEEDS_CONNECTION", why, side="setup") from None


def order_terms(sql: str) -> list[str] | None:
    """The terms of the ORDER BY of a query's whole result, without ASC and DESC; None if it has none."""
    hidden = blank_out(sql, SQLITE)
    if not _ORDER.search(hidden):
        return None
    depths = list(accumulate((character == "(") - (character == ")") for character in hidden))
    outer = [match for match in _ORDER.finditer(hidden) if depths[match.start()] == 0]
    if not outer:
        return None
    start = outer[-1].end()
    end = next((match.start() for match in _ORDER_ENDS.finditer(hidden, start) if depths[match.start()] == 0), len(sql))
    commas = [start - 1, *(at for at in range(start, end) if hidden[at] == "," and depths[at] == 0), end]
    terms = [sql[before + 1 : after].strip() for before, after in pairwise(commas)]
    return [_DIRECTION.sub("", f" {term}").strip() for term in terms]


def order_columns(sql: str, header: Sequence[str]) -> list[int] | None:
    """The positions of the columns that a query's ORDER BY names; empty if a term is not one of them, None if there is no ORDER BY."""
    terms = order_terms(sql)
    if terms is None:
        return None
    names = [name.casefold() for name in header]
    columns = []
    for term in terms:
        plain = term.strip('"`[]').casefold()
        if term.isdecimal() and 0 < int(term) <= len(names):
            columns.append(int(term) - 1)
        elif plain in names:
            columns.append(names.index(plain))
        else:
            return []
    return columns


# The median is over blocks. In each, a side's time is the shortest of its rounds and samples, because other processes only make it longer.
_BLOCKS, _ROUNDS, _SAMPLES = 5, 4, 3
# Statements shorter than this run several times between two readings of the clock.
_SAMPLE_NS = 200_000
_MOST_REPEATS = 64
_SLOW_NS = 1_000_000_000


def time_ratio(query: str, gold: str, place: str, evaluator: Evaluator, limits: QueryLimits) -> float:
    """Gold's time divided by the query's on one SQLite file, above 0: 2 is twice as fast as gold. The median of several measurements.

    Unlike BIRD's mean of wall-clock times, this is the CPU time of the statement alone, from its preparation to its last row, after the
    file's pages were read once. The two take turns. Each round has new sessions, one for each side, because memory placement can make one
    side a tenth slower. Long statements are measured for about `seconds`.

    Raises:
        FaultError: The faults of either query, and TIMEOUT.
    """
    statements = [statement_of(text, evaluator, limits) for text in (query, gold)]
    connection = Connection(name=Path(place).stem, engine="sqlite", database=place)
    ends, ratios = time.monotonic() + limits.seconds, list[float]()
    while len(ratios) < _BLOCKS and not (ratios and time.monotonic() > ends):
        shortest = [math.inf, math.inf]
        for turn in range(_ROUNDS):
            for side, took in enumerate(_round(statements, connection, limits, order=(0, 1) if turn % 2 else (1, 0))):
                shortest[side] = min(shortest[side], took)
            if time.monotonic() > ends:
                break
        ratios.append(max(1.0, shortest[1]) / max(1.0, shortest[0]))
    return statistics.median(ratios)


def _round(statements: list[str], connection: Connection, limits: QueryLimits, order: tuple[int, int]) -> list[float]:
    """The nanoseconds of each statement's shortest sample; `order` decides which runs first."""
    with contextlib.ExitStack() as opened:
        sessions = {side: opened.enter_context(contextlib.closing(open_session(connection, limits))) for side in order}
        for session in sessions.values():
            session.connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        # The first run reads the pages, and decides how often a sample runs its statement; a statement of a second is measured by it.
        first = {side: _nanoseconds(sessions[side], statements[side], 1) for side in order}
        if max(first.values()) > _SLOW_NS:
            return [first[0], first[1]]
        repeats = min(_MOST_REPEATS, math.ceil(_SAMPLE_NS / max(1, *first.values())))
        samples: list[list[int]] = [[], []]
        for _ in range(_SAMPLES):
            for side in order:
                samples[side].append(_nanoseconds(sessions[side], statements[side], repeats))
        return [min(side) / repeats for side in samples]


def _nanoseconds(session: SqliteSession, statement: str, repeats: int) -> int:
    """The CPU time of this thread for running a statement this many times, reading every row."""
    started = time.thread_time_ns()
    for _ in range(repeats):
        for _rows in session.stream(statement).chunks:
            pass
    return time.thread_time_ns() - started
