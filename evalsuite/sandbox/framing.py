"""What goes between processes: frames of bytes, and the orders to the zygote.

A frame is its length in eight bytes, then so many bytes; who receives says how long one may be. `receive` waits for a frame, `Frames` takes
them apart for who must not wait. Three kinds of frames go about: orders, pickled, from the parent, which alone is trusted; results,
the JSON lines of the journal, from a judge to the parent; and what was read of an answer, from a reader to its judge
(`sent_forms`). A worker that read hostile bytes is itself not trusted: what it sends is decoded as plain data of known shape, never
unpickled, and a frame of another shape is a ValueError to whoever reads it, who then ends the lane.
"""

import struct
from typing import Protocol

# What a worker says that keeps so much memory that the next answer might not fit: it ends, and another takes the answers that are left.
FULL = b""
# What a judge says when it knows what the official rules say of an answer, and asks the strict ones.
OFFICIAL = b"official"
# Stands for a private copy whose descriptor comes behind the request.
COPY = "copy"
# What a worker says of a statement: something about it, or that this is the end.
SAID, END = "said", "end"
# The longest frame that a worker is heard with, and the longest order that it takes from the trusted side.
LONGEST_RESULT, LONGEST_ORDER = 64 << 20, 1 << 31
# An order to the zygote: what to do, a process or a length, a role. Its answer: the number of a process, or how it ended.
ORDER, ANSWER = struct.Struct("<cq16s"), struct.Struct("<q")
FORK, REAP, LOAD, CALL = b"F", b"R", b"L", b"C"
_HEAD = struct.Struct("<Q")
_CHUNK = 1 << 20


class Stream(Protocol):
    """The two calls of a socket that frames need."""

    def sendall(self, data: bytes, /) -> None: ...
    def recv_into(self, buffer: memoryview, nbytes: int, /) -> int: ...


class ClosedError(Exception):
    """The other side went away in the middle of a frame."""


def send(stream: Stream, payload: bytes) -> None:
    """Write one frame: its length, then its bytes. A short one goes in one piece, so that it arrives in one piece."""
    head = _HEAD.pack(len(payload))
    if len(payload) < _CHUNK:
        stream.sendall(head + payload)
    else:
        stream.sendall(head)
        stream.sendall(payload)


def receive(stream: Stream, *, most: int) -> bytes | None:
    """One frame of at most `most` bytes; None where the other side closed between frames. Raises `ClosedError`, ValueError."""
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
    """Takes frames of at most `most` bytes apart that come in any pieces; for who must not wait for the rest of one."""

    def __init__(self, *, most: int) -> None:
        self._most, self._rest = most, bytearray()

    def add(self, data: bytes) -> list[bytes]:
        """The frames that are whole now. Raises ValueError for one that is too long."""
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
