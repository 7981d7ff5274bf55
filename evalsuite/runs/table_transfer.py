"""Transfer of tables that are not part of an answer's payloads, from the reader to the judge.

A big CSV file is sent in blocks while it is split, so that the reader never stores all of it. For a database table its digest is sent, and
its rows on request: the judge sends only which table, and "done", so nothing about gold reaches the reader.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from evalsuite.compare.string_columns import BLOCK, OddError, UnreadTable, packed_table
from evalsuite.compare.table_digests import Digest, DigestedTable, digested_tables
from evalsuite.core.errors import FaultError
from evalsuite.core.types import Fault, Table
from evalsuite.sandbox.framing import ClosedError, receive, send
from evalsuite.sandbox.payloads import decode_payloads, encode_payloads, unread_tables

if TYPE_CHECKING:
    from socket import socket


_DONE = b"done"
# Followed by the index of a database table among those sent as digests.
_ROWS = b"rows "
_END, _ODD = b"E", b"O"
_LONGEST_ORDER = 16


def serve_streams(forms: Mapping[str, Any], judge: "socket", most: int) -> None:
    """Send what is not in the payloads: the blocks of unread tables at once, rows of digested ones on request."""
    for table in unread_tables(forms):
        _send_table(table, judge, most)
    digested = digested_tables(forms)
    while digested and (order := receive(judge, most=_LONGEST_ORDER)) not in (None, _DONE):
        assert order is not None
        send(judge, _rows(digested[int(order.removeprefix(_ROWS))], most))


def _send_table(table: UnreadTable, judge: "socket", most: int) -> None:
    """Send the blocks of a table and an end; if they turn out not to be plain, a marker and the table of the exact reader."""
    sent = 0
    try:
        for frame in table.frames():
            sent += len(frame)
            if sent > most:
                break
            send(judge, frame)
        else:
            send(judge, _END)
            return
    except (OddError, MemoryError):
        sent = 0
    send(judge, _ODD)
    send(judge, _encoded(table.source.whole, most) if sent <= most else encode_payloads({"table": _too_long(most)}))


def _encoded(read: Callable[[], Table | Fault], most: int) -> bytes:
    """Encode the table or fault that a reading returns."""
    try:
        payload = encode_payloads({"table": read()})
    except FaultError as error:
        return encode_payloads({"table": error.fault})
    except (MemoryError, RecursionError):
        return encode_payloads({"table": Fault(code="LIMIT", detail="the file does not fit into memory_mib or nests too deep")})
    return payload if len(payload) <= most else encode_payloads({"table": _too_long(most)})


def _too_long(most: int) -> Fault:
    return Fault(code="LIMIT", detail=f"the tables take more than {most} bytes (limit message_bytes)")


def receive_table(reader: "socket", header: tuple[str, ...], name: str, most: int) -> Table | Fault:
    """Receive on the judge's side what `_send_table` sends. Raises ValueError for anything else."""
    try:
        return packed_table(header, name, _frames(reader, most))
    except OddError:
        form = decode_payloads(_received(reader, most))["table"]
    if not isinstance(form, Table | Fault):
        raise ValueError("a reader sent no table")
    return form


def _frames(reader: "socket", most: int) -> Iterator[bytes]:
    while (frame := _received(reader, most)) != _END:
        if frame[:1] != BLOCK:
            raise OddError
        yield frame


def _received(reader: "socket", most: int) -> bytes:
    frame = receive(reader, most=most)
    if frame is None:
        raise ClosedError
    return frame


def _rows(table: DigestedTable, most: int) -> bytes:
    """Return a database table, or its fault in its place."""
    return _encoded(table.rows, most)


class RemoteTable:
    """Judge's side of a database table with a known digest: a `DigestSource` that receives rows over the socket."""

    def __init__(self, reader: "socket", place: int, most: int) -> None:
        self._reader, self._place, self._most = reader, place, most

    def digest(self, salt: int) -> Digest | None:
        """Return None: the reader sent its digest, under the salt it chose."""
        return None

    def rows(self) -> Table | Fault:
        """Return the table as the reader sends it, or its fault."""
        send(self._reader, _ROWS + str(self._place).encode())
        table = decode_payloads(_received(self._reader, self._most)).get("table")
        if not isinstance(table, Table | Fault):
            raise ValueError("a reader sent no table")
        return table


def done(reader: "socket") -> None:
    """Let the reader continue with its next answer."""
    send(reader, _DONE)
