"""Message frames between processes, and the orders to the fork server.

A frame is its length in eight bytes, then that many bytes; the receiver sets the maximum length. `receive` waits for a frame; `Frames`
splits incoming bytes without waiting. Orders come pickled from the parent, the only trusted side. Results are JSON lines. Submitted content
travels as msgpack (`serialization`). A worker that read hostile bytes is not trusted: its frames are decoded as plain data of known shape
and never unpickled. A malformed frame raises ValueError, and the receiver then kills the workers.
"""

import struct
from typing import Protocol

# Sent by a worker that keeps so much memory that the next answer might not fit: it ends, and another takes the remaining answers.
FULL = b""
# Sent when the official verdict of an answer is known and the strict one is next.
OFFICIAL = b"official"
# Placeholder for a private copy; its descriptor follows the request.
COPY = "copy"
# Tags of messages about a statement: a message, or the end.
SAID, END = "said", "end"
# Maximum bytes of a frame from a worker, and of an order from the trusted side.
LONGEST_RESULT, LONGEST_ORDER = 64 << 20, 1 << 31
# An order to the fork server: command, process id or length, role. The answer: a process id or an exit status.
ORDER, ANSWER = struct.Struct("<cq16s"), struct.Struct("<q")
FORK, REAP, LOAD, CALL = b"F", b"R", b"L", b"C"
_HEAD = struct.Struct("<Q")
_CHUNK = 1 << 20


class Stream(Protocol):
    """The two socket methods that frames need."""

    def sendall(self, data: bytes, /) -> None: ...
    def recv_into(self, buffer: memoryview, nbytes: int, /) -> int: ...


class ClosedError(Exception):
    """The other side closed in the middle of a frame."""


def send(stream: Stream, payload: bytes) -> None:
    """Write one frame. A short one is sent in one call, so that it arrives whole."""
    head = _HEAD.pack(len(payload))
    if len(payload) < _CHUNK:
        stream.sendall(head + payload)
    else:
        stream.sendall(head)
        stream.sendall(payload)


def receive(stream: Stream, *, most: int) -> bytes | None:
    """Read one frame of at most `most` bytes; None if the other side closed between frames. Raises `ClosedError`, ValueError."""
    head = _exactly(stream, _HEAD.size, first=True)
    if head is None:
        return None
    (length,) = _HEAD.unpack(head)
    if length > most:
        raise ValueError(f"a frame of {length} bytes is longer than {most}")
    return bytes(_exactly(stream, length) or b"")


def _exactly(stream: Stream, n: int, *, first: bool = False) -> bytearray | None:
    buffer = bytearray(n)
    view, got = memoryview(buffer), 0
    while got < n:
        read = stream.recv_into(view[got:], min(n - got, _CHUNK))
        if read == 0:
            if first and got == 0:
                return None
            raise ClosedError
        got += read
    return buffer


class Frames:
    """Split a byte stream into frames of at most `most` bytes without waiting."""

    def __init__(self, *, most: int) -> None:
        self._most, self._rest = most, bytearray()

    def add(self, data: bytes) -> list[bytes]:
        """Return the frames that are complete now. Raises ValueError for one that is too long."""
        self._rest += data
        frames, at = [], 0
        while at + _HEAD.size <= len(self._rest):
            (length,) = _HEAD.unpack_from(self._rest, at)
            if length > self._most:
                raise ValueError(f"a frame of {length} bytes is longer than {self._most}")
            if at + _HEAD.size + length > len(self._rest):
                break
            frames.append(bytes(self._rest[at + _HEAD.size : at + _HEAD.size + length]))
            at += _HEAD.size + length
        del self._rest[:at]
        return frames
