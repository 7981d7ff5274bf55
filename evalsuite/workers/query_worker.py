"""The inside of a worker that runs statements of one embedded database: it may read that database, and no folder of gold or a submission.

For each order the worker says the statement it found, waits for word to go on, and sends the result part by part. Nothing is held whole.
"""

import contextlib
import pickle
import socket
from collections.abc import Sequence
from typing import Any

from evalsuite.errors import EvalsuiteError, FaultError
from evalsuite.sql import ENGINES, open_session
from evalsuite.sql.execute import pour
from evalsuite.sql.pairs import EVALUATORS
from evalsuite.sql.session import Connection, QueryLimits, Stream
from evalsuite.sql.speed import time_ratio
from evalsuite.sql.spill import bytes_of_cells
from evalsuite.sql.statement import only_statement
from evalsuite.types import Fault, Table
from evalsuite.workers.wire import encode_forms, receive, send

STATEMENT, FINGERPRINT, TIME_RATIO = "statement", "fingerprint", "time ratio"
# What the worker says: the statement, fingerprint or ratio, a part of the result, its end with a fault or an empty text.
SAID, PART, END = "said", "part", "end"
GO, SKIP = b"go", b"skip"
_PART_BYTES = 4 << 20
_MOST_ROW = 48 << 20
_LONGEST_ORDER = 1 << 20


def serve(parent: socket.socket) -> None:
    """Take orders until the parent closes the socket."""
    while (frame := receive(parent, most=_LONGEST_ORDER)) is not None:
        order, connection, limits, text = pickle.loads(frame)
        end: Any = ""
        try:
            if order == FINGERPRINT:
                with contextlib.closing(open_session(connection, limits)) as session:
                    _say(parent, SAID, session.fingerprint() or "")
            elif order == TIME_RATIO:
                query, gold, evaluator = text
                _say(parent, SAID, repr(time_ratio(query, gold, connection.database, EVALUATORS[evaluator], limits)))
            else:
                _run(parent, connection, limits, text)
        except FaultError as error:
            end = error.fault
        except EvalsuiteError as error:
            end = Fault(code="NEEDS_CONNECTION", detail=error.message)
        except (MemoryError, RecursionError):
            end = Fault(code="LIMIT", detail="the statement needs more memory than it may have (limit memory_mib)")
        _say(parent, END, end)


def _run(parent: socket.socket, connection: Connection, limits: QueryLimits, text: str) -> None:
    statement = only_statement(text, ENGINES[connection.engine].dialect, most_bytes=limits.sql_bytes)
    _say(parent, SAID, statement)
    if receive(parent, most=_LONGEST_ORDER) == GO:
        with contextlib.closing(open_session(connection, limits)) as session:
            pour(session, statement, limits, lambda stream: _Parts(parent, stream))


class _Parts:
    """Sends a result's rows to the parent, a few MiB at once; the first part is empty and carries header and types."""

    def __init__(self, parent: socket.socket, stream: Stream) -> None:
        self._parent, self._stream = parent, stream
        self._send(tuple([] for _ in stream.header), 0)

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        """Send rows, in halves where they are big."""
        columns = tuple(zip(*rows, strict=True))
        n_bytes = sum(map(bytes_of_cells, columns))
        if n_bytes <= _PART_BYTES:
            self._send(columns, len(rows))
        elif len(rows) > 1:
            self.add(rows[: len(rows) // 2])
            self.add(rows[len(rows) // 2 :])
        elif n_bytes <= _MOST_ROW:
            self._send(columns, len(rows))
        else:
            raise FaultError("LIMIT", f"one row of the result has more than {_MOST_ROW} bytes")

    def _send(self, columns: tuple[Sequence[Any], ...], n_rows: int) -> None:
        _say(self._parent, PART, Table(header=self._stream.header, columns=columns, n_rows=n_rows, types=self._stream.types))


def _say(parent: socket.socket, kind: str, value: Any) -> None:
    send(parent, encode_forms({kind: value}))
