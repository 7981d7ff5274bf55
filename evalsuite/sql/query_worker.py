"""Worker process that runs statements of one embedded database: it may read that database, but no folder of gold or a submission.

For each order the worker sends the parsed statement, waits for permission, and then streams the result's text.
"""

import contextlib
import pickle
import socket
from functools import partial
from typing import Any

from evalsuite.core.errors import EvalsuiteError, FaultError
from evalsuite.core.types import Fault
from evalsuite.sandbox.framing import END, SAID, receive, send
from evalsuite.sandbox.payloads import encode_payloads
from evalsuite.sql import ENGINES, open_session
from evalsuite.sql.execution import run_into_sink
from evalsuite.sql.query_pairs import EVALUATORS, time_ratio
from evalsuite.sql.result_csv import CsvText
from evalsuite.sql.session import Connection, QueryLimits, Stream
from evalsuite.sql.statement import only_statement

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
