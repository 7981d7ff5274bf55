"""A big table on its way from the reader to the judge: block by block, as often as the judge asks, never whole in either process.

The judge says nothing but "from the beginning", "the next", "all of it" and "done"; what it knows of gold never reaches the reader.
"""

import struct
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from evalsuite.tables.digested import Digest, DigestedTable, digested_tables
from evalsuite.tables.streamed import AnswerFaultError, OddError, StreamedTable
from evalsuite.types import Fault, Table
from evalsuite.workers.wire import ClosedError, decode_forms, encode_forms, receive, send

if TYPE_CHECKING:
    from socket import socket

    from evalsuite.tables.blocks import Block

_FIRST, _NEXT, _WHOLE, _DONE = b"first", b"next", b"whole", b"done"
# Followed by the place of a database table among those that are told by their digests.
_ROWS = b"rows "
_BLOCK, _END, _ODD = b"B", b"E", b"O"
_SHAPE = struct.Struct("<cQQB")
_LONGEST_ORDER = 16
_SHORT = 255


def serve_streams(forms: Mapping[str, Any], judge: "socket", most: int) -> None:
    """Answer the judge's orders for the one streamed table among the forms until it is done; nothing where there is none."""
    table = next((form for form in forms.values() if isinstance(form, StreamedTable)), None)
    digested = digested_tables(forms)
    if table is None and not digested:
        return
    frames: Iterator[bytes] = iter(())
    while (order := receive(judge, most=_LONGEST_ORDER)) not in (None, _DONE):
        assert order is not None
        if order.startswith(_ROWS):
            send(judge, _rows(digested[int(order.removeprefix(_ROWS))], most))
            continue
        assert table is not None
        if order == _WHOLE:
            send(judge, _whole(table, most))
            continue
        if order == _FIRST:
            frames = _frames(table)
        send(judge, next(frames, _END))


def _frames(table: StreamedTable) -> Iterator[bytes]:
    try:
        for block in table.source.blocks():
            yield _packed(block)
    except (OddError, MemoryError, OSError):
        yield _ODD


def _whole(table: StreamedTable, most: int) -> bytes:
    try:
        payload = encode_forms({"table": table.source.whole()})
    except AnswerFaultError as error:
        return encode_forms({"table": error.fault})
    except (MemoryError, RecursionError):
        return encode_forms({"table": Fault(code="LIMIT", detail="the file does not fit into memory_mib or nests too deep")})
    if len(payload) > most:
        return encode_forms({"table": Fault(code="LIMIT", detail=f"the tables take more than {most} bytes (limit message_bytes)")})
    return payload


def _rows(table: DigestedTable, most: int) -> bytes:
    """A database table, its own fault in its place, or as `answer` the fault that keeps the whole file from being read."""
    assert table.source is not None
    try:
        # Asked for anew each time: what was sent is not held on to.
        payload = encode_forms({"table": table.source.whole()})
    except AnswerFaultError as error:
        return encode_forms({"answer": error.fault})
    except (MemoryError, RecursionError):
        return encode_forms({"answer": Fault(code="LIMIT", detail="the file does not fit into memory_mib or nests too deep")})
    if len(payload) > most:
        return encode_forms({"answer": Fault(code="LIMIT", detail=f"the tables take more than {most} bytes (limit message_bytes)")})
    return payload


def _packed(block: "Block") -> bytes:
    """The cells of a block with the one byte behind each, and their lengths."""
    import numpy as np

    lengths = block.lengths
    narrow = int(lengths.max(initial=0)) <= _SHORT
    start = int(block.starts[0, 0]) if len(block) else 0
    stop = int(block.starts[-1, -1] + lengths[-1, -1]) + 1 if len(block) else 0
    written = lengths.astype(np.uint8 if narrow else np.uint32).tobytes()
    return b"".join((_SHAPE.pack(_BLOCK, *lengths.shape, 1 if narrow else 4), written, memoryview(block.data)[start:stop]))


def _unpacked(frame: bytes, width: int) -> "Block":
    """The block behind a frame. Raises ValueError where the lengths do not say what is there."""
    import numpy as np

    from evalsuite.tables.blocks import Block

    _, n_rows, n_columns, size = _SHAPE.unpack_from(frame)
    stop = _SHAPE.size + n_rows * n_columns * size
    if n_columns != width or size not in (1, 4) or stop > len(frame):
        raise ValueError("a reader sent a block of another shape")
    lengths = np.frombuffer(frame, np.uint8 if size == 1 else "<u4", n_rows * n_columns, _SHAPE.size).astype(np.int64)
    data = frame[stop:]
    ends = np.cumsum(lengths + 1)
    if len(ends) and int(ends[-1]) != len(data):
        raise ValueError("a reader sent lengths that do not fit their text")
    starts = (ends - lengths - 1).astype(np.int32)
    shape = n_rows, n_columns
    return Block(data, starts.reshape(shape), lengths.astype(np.int32).reshape(shape))


class RemoteSource:
    """The judge's end of a streamed table: a `Source` whose rows come over the socket. One reading at a time."""

    def __init__(self, reader: "socket", width: int, most: int) -> None:
        self._reader, self._width, self._most = reader, width, most

    def blocks(self) -> "Iterator[Block]":
        """The rows from the beginning; one block is always under way while another is looked at."""
        send(self._reader, _FIRST)
        waiting = True
        try:
            while True:
                frame = self._receive()
                waiting = False
                if frame[:1] == _ODD:
                    raise OddError
                if frame[:1] == _END:
                    return
                send(self._reader, _NEXT)
                waiting = True
                yield _unpacked(frame, self._width)
        finally:
            if waiting:
                self._receive()

    def whole(self) -> Table:
        """The table as the exact reader made it. Raises `AnswerFaultError`."""
        send(self._reader, _WHOLE)
        form = decode_forms(self._receive())["table"]
        if isinstance(form, Fault):
            raise AnswerFaultError(form)
        if not isinstance(form, Table):
            raise ValueError("a reader sent no table")
        return form

    def _receive(self) -> bytes:
        frame = receive(self._reader, most=self._most)
        if frame is None:
            raise ClosedError
        return frame


class RemoteTable:
    """The judge's end of a database table whose digest is known: a `DigestSource` whose rows come over the socket."""

    def __init__(self, reader: "socket", place: int, most: int) -> None:
        self._reader, self._place, self._most = reader, place, most

    def digest(self, salt: int) -> Digest | None:
        """Nothing: the reader sent its digest, under the salt it chose."""
        return None

    def whole(self) -> Table | Fault:
        """The table as the exact reader made it, or its fault. Raises `AnswerFaultError` where the whole file is at fault."""
        send(self._reader, _ROWS + str(self._place).encode())
        frame = receive(self._reader, most=self._most)
        if frame is None:
            raise ClosedError
        forms = decode_forms(frame)
        if isinstance(fault := forms.get("answer"), Fault):
            raise AnswerFaultError(fault)
        if not isinstance(table := forms.get("table"), Table | Fault):
            raise ValueError("a reader sent no table")
        return table


def done(reader: "socket") -> None:
    """Let the reader go on to its next answer."""
    send(reader, _DONE)
