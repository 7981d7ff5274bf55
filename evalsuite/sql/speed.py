"""How fast a query is beside gold's, as BIRD's VES asks: both take turns in one process, and the medians of their times are compared."""

import contextlib
import math
import statistics
import time
from pathlib import Path

from evalsuite.sql.pairs import Evaluator, statement_of
from evalsuite.sql.session import Connection, QueryLimits
from evalsuite.sql.sqlite import SqliteSession, open_session

# The median is over blocks. In each a side's time is the shortest of its rounds and samples: whatever else runs here only makes one longer.
_BLOCKS, _ROUNDS, _SAMPLES = 5, 4, 3
# What takes less is run several times between two looks at the clock.
_SAMPLE_NS = 200_000
_MOST_REPEATS = 64
_SLOW_NS = 1_000_000_000


def time_ratio(query: str, gold: str, place: str, evaluator: Evaluator, limits: QueryLimits) -> float:
    """Gold's time over the query's on one SQLite file, above 0: 2 is twice as fast as gold. The median of several measurements.

    Unlike BIRD's, which is a mean of wall-clock times, it is the CPU time of the statement alone, from its preparation to its last row, the
    file's pages once read. The two take turns. Each round has new sessions, one for each side: where memory lies for one can make it a
    tenth slower than its twin. What takes long is measured for about `seconds`.

    Raises:
        FaultError: what either query is refused for, and TIMEOUT.
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
    """Nanoseconds that each statement took in the shortest of its samples; `order` says who begins."""
    with contextlib.ExitStack() as opened:
        sessions = {side: opened.enter_context(contextlib.closing(open_session(connection, limits))) for side in order}
        for session in sessions.values():
            session.connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        # The first time reads the pages, and says how often a sample runs its statement; what takes a second is measured by it.
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
    """CPU time of this thread for running a statement so often, every row read."""
    started = time.thread_time_ns()
    for _ in range(repeats):
        for _rows in session.stream(statement).chunks:
            pass
    return time.thread_time_ns() - started
