"""Open the files of an answer and hash exactly the bytes that were read.

A submitter may replace a file, or write to it, between two reads. Only the bytes that were scored are hashed: every piece that a reader
receives is added to the digest, and a file that is read twice must be the same both times.
"""

import hashlib
import io
import math
import os
from collections import OrderedDict
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from evalsuite.core.errors import FaultError
from evalsuite.readers.limits import Limits
from evalsuite.readers.paths import Inode, inside, open_confined, reopen

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


PIECE = 1 << 18
# This many files of an answer are open at once; a worker may have 64 of all kinds.
MOST_OPEN = 8
# Replaces the digest of a file if it is not certain which bytes were read.
UNKNOWN = ""


class FileDigest:
    """The bytes of one file read so far: a digest over each piece read for the first time, checked by every later read."""

    def __init__(self) -> None:
        # The state of the digest before each piece, and after the last one.
        self._states = [hashlib.sha256()]
        self._is_whole = self._is_torn = False

    def take(self, index: int, piece: bytes) -> None:
        """Add piece number `index`; all have `PIECE` bytes except the one at the file's end, which is shorter or empty."""
        if index >= len(self._states):
            self._is_torn = True
            return
        state = self._states[index].copy()
        state.update(piece)
        if index + 1 < len(self._states):
            self._is_torn |= state.digest() != self._states[index + 1].digest()
        else:
            self._states.append(state)
            self._is_whole = len(piece) < PIECE

    def mark_changed(self) -> None:
        """Record that two reads of the file differ."""
        self._is_torn = True

    @property
    def is_whole(self) -> bool:
        """Whether the whole file has been read."""
        return self._is_whole or self._is_torn

    @property
    def digest(self) -> str:
        """The SHA-256 of the file, `UNKNOWN` if it changed between two reads or was not read to its end."""
        return self._states[-1].hexdigest() if self._is_whole and not self._is_torn else UNKNOWN


def digesting(handle: BinaryIO, seen: FileDigest) -> BinaryIO:
    """The same file as a handle that adds every piece it returns to `seen`."""
    return io.BufferedReader(_DigestingHandle(handle, seen), 1 << 16)


class _DigestingHandle(io.RawIOBase):
    def __init__(self, handle: BinaryIO, seen: FileDigest) -> None:
        self._handle, self._seen = handle, seen
        self._at, self._index, self._piece = 0, -1, memoryview(b"")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._handle.fileno()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_END:
            raise io.UnsupportedOperation("the end of a file is where its bytes end, which nobody knows before they are read")
        self._at = offset + (self._at if whence == io.SEEK_CUR else 0)
        return self._at

    def readinto(self, buffer: "WriteableBuffer") -> int:
        index, begin = divmod(self._at, PIECE)
        if index != self._index:
            piece = _piece(self._handle.fileno(), index)
            self._seen.take(index, piece)
            self._index, self._piece = index, memoryview(piece)
        view = memoryview(buffer)
        part = self._piece[begin : begin + len(view)]
        view[: len(part)] = part
        self._at += len(part)
        return len(part)

    def close(self) -> None:
        self._handle.close()
        super().close()


def _piece(descriptor: int, index: int) -> bytes:
    """Piece number `index` as it is in the file now: readers of one file share its position, and no buffer is used."""
    os.lseek(descriptor, index * PIECE, os.SEEK_SET)
    piece = os.read(descriptor, PIECE)
    while 0 < len(piece) < PIECE and (more := os.read(descriptor, PIECE - len(piece))):
        piece += more
    return piece


class AnswerFiles:
    """Open the files that one answer names; `digests` then returns what was read of them.

    Each is opened once, however often it is read, and stays open until `digests`; beyond `MOST_OPEN` files the least recently read are
    closed and opened again on demand.
    """

    def __init__(self, folder: Path, instance_id: str, limits: Limits, gold_inodes: frozenset[Inode] = frozenset()) -> None:
        self._folder, self._instance_id, self._limits, self._gold_inodes = folder, instance_id, limits, gold_inodes
        self._seen: dict[str, FileDigest] = {}
        self._faults: dict[str, str] = {}
        # By path, the most recently read last: an open file, and whether it may have any size, because it is a query.
        self._opened: OrderedDict[str, tuple[BufferedReader, bool]] = OrderedDict()

    def __del__(self) -> None:
        self._close()

    def open(self, path: str, *, query: bool = False) -> BinaryIO:
        """An open handle on a file of the instance's folder; a file that ends in .sql only as a `query`. Raises `FaultError`."""
        if path.lower().endswith(".sql") and not query:
            raise FaultError("SQL_NOT_ALLOWED")
        known = self._opened.pop(path, None)
        if known is None or (known[1] and not query):
            known = self._confined(path, query=query), query
        self._opened[path] = known
        self._close(MOST_OPEN)
        return digesting(reopen(known[0]), self._seen.setdefault(path, FileDigest()))

    def _confined(self, path: str, *, query: bool) -> BufferedReader:
        limit = math.inf if query else self._limits["file_bytes"]
        try:
            return open_confined(self._folder, inside(self._instance_id, path), limit_bytes=limit, gold_inodes=self._gold_inodes)
        except FaultError as error:
            self._faults[path] = error.fault.code
            raise

    def _close(self, n_left: int = 0) -> None:
        while len(self._opened) > n_left:
            self._opened.popitem(last=False)[1][0].close()

    def digests(self) -> dict[str, str]:
        """For each opened path the SHA-256 of the file (64 hex digits), the code of the fault that prevented opening it, or `UNKNOWN` if
        two reads differ.

        The parts that no reader needed are not read now: the verdict depends only on the bytes before.
        """
        for path, seen in self._seen.items():
            if not seen.is_whole:
                self._finish(path, seen)
        self._close()
        read = {path: seen.digest for path, seen in self._seen.items()}
        return read | {path: code if path not in read else UNKNOWN for path, code in self._faults.items()}

    def _finish(self, path: str, seen: FileDigest) -> None:
        left = int(self._limits["file_bytes"])
        try:
            with self.open(path, query=True) as handle:
                # Bounded even if the file grows while it is read.
                while left > 0 and (piece := handle.read(PIECE)):
                    left -= len(piece)
        except (FaultError, OSError):
            seen.mark_changed()
