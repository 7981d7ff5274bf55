"""Messages between processes: frames, requests and replies, tasks and results, and the orders to the fork server.

A frame is its length in eight bytes, then that many bytes; the receiver sets the maximum length. A worker waits for a frame (`receive`);
the parent never does: `Frames` splits what has arrived.

Readers, judges, queries and metadata use one protocol. A request is the name of a function with its arguments, pickled by the parent, the
only trusted side. The worker calls the function and sends replies: items, then an end or the fault that the function raised. A reply is
its kind (one byte) and its content: JSON, or the bytes themselves. A result is its line, as in `results.jsonl`, the score cache and dask.
Submitted content goes from reader to judge as msgpack (`payloads`). A worker that read hostile bytes is not trusted: nothing that it sends
is unpickled. A malformed frame or reply raises ValueError, and the receiver then kills the workers.
"""

import json
import pickle
import struct
from collections.abc import Sequence
from typing import Any, Protocol

from evalsuite.core.errors import FAULTS, EvalsuiteError, FaultError, MachineError, SubmissionError, UsageError
from evalsuite.core.types import PLACES, Task

# Kinds of replies: an item as JSON, an item of bytes, the end, a fault or another error that the function raised. A judge sends OFFICIAL
# when the official verdict of an answer is known and the strict one is next. A worker sends FULL, to the parent or to its judge, when it
# keeps so much memory that the next answer might not fit: it ends, and another takes the remaining answers.
ITEM, DATA, END, FAULT, ERROR, OFFICIAL, FULL = b"i", b"d", b"e", b"f", b"x", b"o", b"m"
# Placeholder for a private copy; its descriptor follows the request.
COPY = "copy"
# Maximum bytes of a frame from a worker, and of a request from the trusted side.
LONGEST_RESULT, LONGEST_REQUEST = 64 << 20, 1 << 31
# An order to the fork server: command, process id or length. The answer: a process id or an exit status.
ORDER, ANSWER = struct.Struct("<cq"), struct.Struct("<q")
FORK, REAP, CALL = b"F", b"R", b"C"
_HEAD = struct.Struct("<Q")
_CHUNK = 1 << 20


class Sender(Protocol):
    """The socket method that sends a frame."""

    def sendall(self, data: bytes, /) -> None: ...


class Stream(Sender, Protocol):
    """The two socket methods that frames need."""

    def recv_into(self, buffer: memoryview, nbytes: int, /) -> int: ...


class ClosedError(Exception):
    """The other side closed in the middle of a frame."""


def send(stream: Sender, payload: bytes) -> None:
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
    """Split a byte stream into frames of at most `LONGEST_RESULT` bytes without waiting."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def add(self, data: bytes) -> list[bytes]:
        """Return the frames that are complete now. Raises ValueError for one that is too long."""
        self._rest += data
        frames, at = [], 0
        while at + _HEAD.size <= len(self._rest):
            (length,) = _HEAD.unpack_from(self._rest, at)
            if length > LONGEST_RESULT:
                raise ValueError(f"a frame of {length} bytes is longer than {LONGEST_RESULT}")
            if at + _HEAD.size + length > len(self._rest):
                break
            frames.append(bytes(self._rest[at + _HEAD.size : at + _HEAD.size + length]))
            at += _HEAD.size + length
        del self._rest[:at]
        return frames


def pack_call(function: str, *arguments: Any, n_copies: int = 0) -> bytes:
    """Return the request to call `function` (`module:name`); `n_copies` descriptors follow it, for its argument `private`."""
    return pickle.dumps((function, arguments, n_copies))


def reply(value: Any) -> bytes:
    """Return the reply with an item of a function: bytes as they are, anything else as JSON."""
    return DATA + value if isinstance(value, bytes) else ITEM + json.dumps(value, default=str).encode()


def error_reply(error: FaultError | EvalsuiteError) -> bytes:
    """Return the reply with what a function raised."""
    if isinstance(error, FaultError):
        return FAULT + json.dumps([error.fault.code, error.fault.detail, error.fault.where, error.fault.side]).encode()
    return ERROR + json.dumps([error.message, error.hint, type(error).__name__]).encode()


def item_of(frame: bytes) -> tuple[bytes, Any]:
    """Return (kind, item) of a reply. Raises what the function raised, and ValueError for what is no reply."""
    kind, content = frame[:1], frame[1:]
    if kind in (DATA, END):
        return kind, content
    if kind == ITEM:
        return kind, json.loads(content)
    match json.loads(content) if kind in (FAULT, ERROR) else None:
        case [str(code), detail, where, side] if kind == FAULT and code in FAULTS:
            raise FaultError(code, str(detail), where=str(where), side="setup" if side == "setup" else None)
        case [message, hint, name] if kind == ERROR:
            classes = (SubmissionError, UsageError, MachineError)
            raise next((one for one in classes if one.__name__ == name), EvalsuiteError)(str(message), hint=str(hint))
    raise ValueError("a worker sent no reply")


def pack_tasks(tasks: Sequence[Task]) -> bytes:
    """Serialize tasks for a worker or another machine, with the names of the files that their numbers of places stand for."""
    return pickle.dumps((PLACES, tasks))


def unpack_tasks(data: bytes) -> list[Task]:
    """Deserialize what `pack_tasks` returned in the trusted parent."""
    places, tasks = pickle.loads(data)
    PLACES.update(places)
    return list(tasks)
