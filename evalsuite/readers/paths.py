"""Open files whose names a submission chose (inside a folder, regular, not gold, not too large), and hash exactly the bytes that were read.

A submitter may replace a file, or write to it, between two reads. Only the bytes that were scored are hashed: every piece that a reader
receives is added to the digest, and a file that is read twice must be the same both times.
"""

import errno
import io
import math
import os
import stat
from collections import OrderedDict
from collections.abc import Container, Iterable
from contextlib import suppress
from functools import lru_cache
from io import BufferedReader, FileIO
from pathlib import Path
from threading import local
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import quote

from evalsuite.core.errors import FaultError, UsageError, reason_of, unicode_form_hint
from evalsuite.core.files import is_file, is_symlink
from evalsuite.core.import_ref import LazyModule, lazy_pattern
from evalsuite.core.library_calls import OwnErrors
from evalsuite.core.scores import METADATA, METADATA_ARRAY
from evalsuite.readers.limits import Limits

if TYPE_CHECKING:
    import hashlib

    from _typeshed import WriteableBuffer
else:
    hashlib = LazyModule("hashlib")

Inode = tuple[int, int]

# The file that identifies a gold folder.
SPEC_PATTERN = "*_eval.jsonl"
MAX_PATH_BYTES = 1024
MAX_PART_BYTES = 255
_MOST_NAMED = 1 << 30
_PIECE = 1 << 20
_LONGEST_NAME = 120
_CONTROL = lazy_pattern(r"[\x00-\x1f\x7f-\x9f]")
# C: on Windows, md: and sqlite: for duckdb.
_SCHEME = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SURROGATE = lazy_pattern(r"[\ud800-\udfff]")


def _flags(*names: str) -> int:
    """The flags of `os.open` of these names, without those that this system lacks."""
    return sum(getattr(os, name, 0) for name in names)


# O_NONBLOCK: opening a pipe must not wait for its writer.
_TRUSTED_FLAGS = _flags("O_RDONLY", "O_NONBLOCK", "O_BINARY")
_FILE_FLAGS = _flags("O_RDONLY", "O_NONBLOCK", "O_BINARY", "O_NOFOLLOW")
_ROOT_FLAGS = _flags("O_RDONLY", "O_DIRECTORY")
_FOLDER_FLAGS = _flags("O_RDONLY", "O_DIRECTORY", "O_NOFOLLOW")
# Detail of the fault for a file that exists and whose permissions exclude this user, and its hint.
UNREADABLE, READABLE_HINT = "the file may not be read", "make it readable for this user"
# What a name alone causes. Any other error is the machine's: no descriptor, no memory, a disk or a server that fails.
_OF_NAME = frozenset(getattr(errno, name) for name in ("EINVAL", "EILSEQ", "ETXTBSY") if hasattr(errno, name))
_BY_DESCRIPTOR = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW") and hasattr(os, "O_DIRECTORY")


class FromRoot(str):
    """A path relative to its side's root, not to the instance's folder. Only a layout's reader creates one: no text can become it."""

    __slots__ = ()


def file_name(instance_id: str) -> str:
    """A file's name for an instance id, the id itself if it is a valid name; different for different ids."""
    safe = quote(instance_id, safe=" ,+=@()[]!")
    if len(safe) > _LONGEST_NAME or safe.startswith("."):
        return safe.strip(".")[:_LONGEST_NAME] + "-" + hashlib.sha256(instance_id.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return safe


def why_no_folder(path: Path, what: str) -> str:
    """Why a folder that a person named cannot be read, empty if it can: it does not exist, is something else, or the system's error."""
    try:
        os.scandir(path).close()
    except FileNotFoundError:
        return f"no such {what}"
    except NotADirectoryError:
        return "not a folder"
    except OSError as error:
        return f"cannot be read: {reason_of(error)}"
    return ""


def similar_folders(root: Path, ids: Iterable[str], taken: Container[str]) -> dict[str, str]:
    """For each id without a folder below `root`: the folder there, not one of `taken`, whose name differs from it only in case, outer
    spaces or Unicode form.
    """
    import unicodedata

    def folded(name: str) -> str:
        return unicodedata.normalize("NFC", name.strip().casefold())

    try:
        with os.scandir(root) as entries:
            by_folded_name = {
                folded(entry.name): entry.name for entry in entries if entry.name not in taken and entry.is_dir(follow_symlinks=False)
            }
    except OSError:
        return {}
    near = {id_: by_folded_name.get(folded(id_)) for id_ in ids}
    return {id_: name for id_, name in near.items() if name is not None and not os.path.lexists(root / id_)}


def similar_file_hint(submission: Path, instance_id: str, value: str) -> str:
    """Return a hint that names the file meant by a path without a file: its name in another case, form or ending. Empty if it has one.

    Only names in the instance's own folder are listed, and none through a link.
    """
    folder, wanted = submission / instance_id, value.replace("\\", "/").rpartition("/")[2].strip()
    if instance_id in ("", ".", "..") or "/" in instance_id or is_symlink(folder):
        return ""
    with suppress(OSError, ValueError):
        names = sorted(path.name for path in folder.iterdir())
        for name in () if os.path.lexists(folder / value) else names:
            if hint := unicode_form_hint(wanted, [name], "the file's name"):
                return hint
            if name.casefold() == wanted.casefold() or name.rpartition(".")[0] == wanted.rpartition(".")[0] != "":
                return f"did you mean {name!r}?"
    return ""


def metadata_like(folder: Path) -> list[str]:
    """The metadata file's name if it exists, else the names in the folder that begin like it, case ignored."""
    if os.path.lexists(folder / METADATA):
        return [METADATA]
    try:
        return sorted(name for name in os.listdir(folder) if name.casefold().startswith("results_metadata"))  # noqa: PTH208 - a name each
    except OSError:
        return []


def metadata_name(folder: Path) -> str:
    """The name of the folder's metadata file: `results_metadata.json` if that is the only similar one, else the standard name."""
    return METADATA_ARRAY if metadata_like(folder) == [METADATA_ARRAY] else METADATA


def open_confined(root: Path, path: str, *, limit_bytes: float, gold_inodes: frozenset[Inode] = frozenset()) -> BufferedReader:
    """An open binary handle on `root/path`, a regular file of at most `limit_bytes` bytes reached without links.

    `root` belongs to the user and may be a link. The opened file is the checked one: the walk uses descriptors, so replacing a folder with
    a link meanwhile has no effect.

    Raises:
        FaultError: BAD_PATH, MISSING_FILE, NOT_REGULAR_FILE or TOO_LARGE.
    """
    parts = split_path(path)
    try:
        descriptor = _walk(root, parts) if _BY_DESCRIPTOR else _resolve(root, parts)
    except OSError as error:
        raise _fault_of_opening(error) from None
    return _regular_file(descriptor, limit_bytes, gold_inodes)


def open_trusted(path: Path, *, limit_bytes: float) -> BufferedReader:
    """An open binary handle on a file the grader names; links are followed, the rest is checked as in `open_confined`."""
    try:
        descriptor = os.open(path, _TRUSTED_FLAGS)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise FaultError("MISSING_FILE", "the link leads to itself") from None
        raise _fault_of_opening(error) from None
    return _regular_file(descriptor, limit_bytes, frozenset(), place=str(path))


def check_readable(path: Path, *, limit_bytes: float) -> None:
    """Raise the fault of a machine that cannot open a file with another one next to it, or cannot read it: libraries name no such cause."""
    with open_trusted(path, limit_bytes=limit_bytes) as handle, open_trusted(path, limit_bytes=limit_bytes):
        while handle.read(_PIECE):
            pass


def refuse_endless(path: Path, most: float = _MOST_NAMED) -> None:
    """Raise `UsageError` for a file that a person named and that is read whole: a pipe or device, or more than `most` bytes.

    What is absent, or a folder, is left to its reader.
    """
    with suppress(OSError):
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            raise UsageError(f"{path}: a pipe, socket or device is where a file is needed", hint="write its content to a file first")
        if status.st_size > most:
            raise UsageError(f"{path}: {status.st_size:,} bytes, a file that is read whole has at most {most:,}")


def reopen(handle: BufferedReader) -> BufferedReader:
    """The same open file from its beginning, with its own close: it may have no name any more. Both share one position, so read them in
    turn.
    """
    copy: BufferedReader = BufferedReader(_File(os.dup(handle.fileno())))
    copy.seek(0)
    return copy


def split_path(path: str) -> list[str]:
    """The parts of a relative path that is safe to walk, without `.` and empty ones; raises FaultError BAD_PATH with the reason."""
    return list(_parts(path))


@lru_cache(maxsize=1 << 12)
def _parts(path: str) -> tuple[str, ...]:
    # The same few names occur in every folder, and each id is looked up several times.
    if reason := _refusal(path):
        raise FaultError("BAD_PATH", reason)
    return tuple(part for part in path.split("/") if part not in ("", "."))


def relative_to_instance(root: Path, instance_id: str, path: str) -> str:
    """An absolute path into the folder of an instance below `root`, made relative to that folder; any other path unchanged.

    The folder is recognised by its inode, whatever links lead to it; `open_confined` walks the rest of the path.
    """
    if not path.startswith("/") or len(path) > MAX_PATH_BYTES or _refusal(path[1:]) or "/" in instance_id:
        return path
    try:
        folder_status, parts = (root / instance_id).lstat(), path.split("/")
        for n in range(2, len(parts)):
            if os.path.samestat(folder_status, Path("/".join(parts[:n])).stat()):
                return "/".join(part for part in parts[n:] if part)
    except (OSError, ValueError):
        pass
    return path


def resolve_in_side(instance_id: str, path: str) -> str:
    """The path of an instance's file below its side's root, each half checked on its own; raises FaultError BAD_PATH."""
    if isinstance(path, FromRoot):
        return "/".join(split_path(path))
    if len(split_path(instance_id)) != 1:
        raise FaultError("BAD_PATH", "the instance id contains '/'")
    return "/".join([instance_id, *split_path(path)])


def _refusal(path: str) -> str:
    """Why a path is not allowed, or an empty text."""
    if not path:
        return "the path is empty"
    if _SURROGATE.search(path):
        return "the path contains a lone surrogate"
    if _CONTROL.search(path):
        return "the path contains a control character"
    if len(path.encode()) > MAX_PATH_BYTES:
        return f"the path is longer than {MAX_PATH_BYTES} bytes"
    if "://" in path:
        return "the path is a URL"
    if path.startswith(("/", "~")):
        return "the path is not relative"
    if "\\" in path:
        return "the path contains a backslash; write '/'"
    parts = path.split("/")
    if any(_SCHEME.match(part) for part in parts):
        return "the path names a drive or a URL scheme"
    if ".." in parts:
        return "the path contains '..'"
    if parts[-1] in ("", "."):
        return "the path names a folder"
    if any(len(part.encode()) > MAX_PART_BYTES for part in parts):
        return f"a part of the path is longer than {MAX_PART_BYTES} bytes"
    return ""


def _walk(root: Path, parts: list[str]) -> int:
    """The descriptor of the last part, each folder opened inside the one before."""
    folder = os.open(root, _ROOT_FLAGS)
    try:
        for part in parts[:-1]:
            # With O_DIRECTORY the kernel reports ENOTDIR for a linked folder, which is less specific.
            if stat.S_ISLNK(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode):
                raise OSError(errno.ELOOP, "link")
            inner = os.open(part, _FOLDER_FLAGS, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], _FILE_FLAGS, dir_fd=folder)
    finally:
        os.close(folder)


def _resolve(root: Path, parts: list[str]) -> int:
    """The descriptor if the system cannot open by folder descriptors (Windows): no link on the way, still below `root`."""
    place = root
    for part in parts:
        place = place / part
        if is_symlink(place):
            raise OSError(errno.ELOOP, "link")
    if not place.resolve(strict=True).is_relative_to(root.resolve()):
        raise OSError(errno.ELOOP, "link")
    if not is_file(place):
        raise OSError(errno.EISDIR, "not a file")
    return os.open(place, _FILE_FLAGS)


def _regular_file(descriptor: int, limit_bytes: float, gold_inodes: frozenset[Inode], *, place: str = "") -> BufferedReader:
    """The handle of a descriptor that is a regular file, not one of gold's, of at most `limit_bytes` bytes; else it is closed."""
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe, socket or device"
            raise FaultError("NOT_REGULAR_FILE", f"{kind} is where a file is needed")
        if (status.st_dev, status.st_ino) in gold_inodes:
            raise FaultError("BAD_PATH", "hard link to a gold file")
        if status.st_size > limit_bytes:
            raise FaultError("TOO_LARGE", f"{status.st_size} bytes, the limit is {int(limit_bytes)}")
        return BufferedReader(_File(descriptor, place))
    except BaseException:
        os.close(descriptor)
        raise


def _fault_of_opening(error: OSError) -> FaultError:
    """The fault of a failed open; the system's own text is left out because it contains paths."""
    if error.errno == errno.ELOOP:
        return FaultError("BAD_PATH", "the path goes through a link")
    if error.errno == errno.ENAMETOOLONG:
        return FaultError("BAD_PATH", "the path is too long")
    if error.errno in (errno.ENXIO, errno.EISDIR, errno.ENODEV):
        return FaultError("NOT_REGULAR_FILE")
    if error.errno in (errno.EACCES, errno.EPERM):
        return FaultError("MISSING_FILE", UNREADABLE)
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return FaultError("MISSING_FILE")
    if error.errno in _OF_NAME:
        return FaultError("MISSING_FILE", "the file cannot be opened")
    return FaultError("LIMIT", f"this machine cannot open the file: {reason_of(error)}", side="setup")


def _fault_of_reading(error: OSError, place: str = "") -> FaultError:
    return FaultError("LIMIT", f"this machine cannot read the file: {reason_of(error)}", where=place, side="setup")


class _File(FileIO):
    """A regular file whose failed reads raise `FaultError` of the machine: no content causes one. `place` names it."""

    def __init__(self, descriptor: int, place: str = "") -> None:
        super().__init__(descriptor)
        self._place = place

    def readinto(self, buffer: "WriteableBuffer") -> int | None:
        try:
            return super().readinto(buffer)
        except OSError as error:
            raise _fault_of_reading(error, self._place) from None

    def readall(self) -> bytes:
        try:
            return super().readall()
        except OSError as error:
            raise _fault_of_reading(error, self._place) from None


def content_digest(handle: BinaryIO | FileIO) -> "hashlib._Hash":
    """The SHA-256 of an open file from its current position. `hashlib.file_digest` allocates 256 KB each time: most files are smaller."""
    digest = hashlib.sha256()
    while block := handle.read(1 << 16):
        digest.update(block)
    return digest


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
        self.n_bytes = 0

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
            self.n_bytes += len(piece)
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


def open_digesting(handle: BinaryIO, seen: FileDigest) -> BinaryIO:
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
    try:
        os.lseek(descriptor, index * PIECE, os.SEEK_SET)
        piece = os.read(descriptor, PIECE)
        while 0 < len(piece) < PIECE and (more := os.read(descriptor, PIECE - len(piece))):
            piece += more
    except OSError as error:
        raise _fault_of_reading(error) from None
    return piece


class AnswerFiles:
    """Open the files that one answer names; `digests` then returns what was read of them.

    A file of less than a `PIECE` is read once. A larger one is opened once, however often it is read, and stays open until `digests`;
    beyond `MOST_OPEN` files the least recently read are closed and opened again on demand.
    """

    def __init__(self, folder: Path, instance_id: str, limits: Limits, gold_inodes: frozenset[Inode] = frozenset()) -> None:
        self._folder, self._instance_id, self._limits, self._gold_inodes = folder, instance_id, limits, gold_inodes
        self._seen: dict[str, FileDigest] = {}
        self._contents: dict[str, bytes] = {}
        self._faults: dict[str, str] = {}
        # By path, the most recently read last: an open file, and whether it may have any size, because it is a query.
        self._opened: OrderedDict[str, tuple[BufferedReader, bool]] = OrderedDict()

    def __del__(self) -> None:
        self._close()

    def open(self, path: str, *, query: bool = False) -> BinaryIO:
        """An open handle on a file of the instance's folder; a file that ends in .sql only as a `query`. Raises `FaultError`."""
        if path in self._contents:
            return io.BytesIO(self._contents[path])
        handle = self._opened.pop(path, None)
        if handle is None or (handle[1] and not query):
            handle = self.open_unread(path, query=query), query
        seen = self._seen.setdefault(path, FileDigest())
        self._opened[path] = handle
        self._close(MOST_OPEN)
        if not query and not seen.n_bytes and len(content := _piece(handle[0].fileno(), 0)) < PIECE:
            seen.take(0, content)
            self._contents[path] = content
            self._opened.pop(path)[0].close()
            return io.BytesIO(content)
        return open_digesting(reopen(handle[0]), seen)

    def open_unread(self, path: str, *, query: bool = False) -> BufferedReader:
        """The file itself, as `open` opens it; what is read of it is not digested. Raises `FaultError`."""
        if path.lower().endswith(".sql") and not query:
            raise FaultError("SQL_NOT_ALLOWED")
        limit = math.inf if query else self._limits["file_bytes"]
        try:
            return open_confined(self._folder, resolve_in_side(self._instance_id, path), limit_bytes=limit, gold_inodes=self._gold_inodes)
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

    def identify(self, paths: Iterable[str]) -> dict[str, tuple[int, str]]:
        """The size and the SHA-256 of each of these files; empty if one of them cannot be read, or only as a query."""
        try:
            for path in paths:
                self.open(path).close()
            digests = self.digests()
            return {path: (self._seen[path].n_bytes, digests[path]) for path in paths}
        except Exception:  # whatever prevents it is reported when the answer is read
            return {}

    def _finish(self, path: str, seen: FileDigest) -> None:
        left = int(self._limits["file_bytes"])
        try:
            with self.open(path, query=True) as handle:
                # Bounded even if the file grows while it is read.
                while left > 0 and (piece := handle.read(PIECE)):
                    left -= len(piece)
        except (FaultError, OSError):
            seen.mark_changed()


# What a system says of a place that no file can have, which a damaged database may name.
NO_PLACE = (errno.EINVAL, errno.EOVERFLOW)
# Errors of what duckdb calls, except those that a damaged file causes, such as places beyond its end.
DUCKDB_CALLS = OwnErrors()
kept_from_duckdb = DUCKDB_CALLS.kept(ValueError, OverflowError, MemoryError)


class SharedFile(FileIO):
    """A file in which each thread has its own position, because duckdb reads one file in several threads: it seeks, then it reads."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "rb")
        self._places = local()

    @kept_from_duckdb
    def tell(self) -> int:
        """The position of this thread."""
        return getattr(self._places, "at", 0)

    @kept_from_duckdb
    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Set the position of this thread."""
        begin = {os.SEEK_SET: 0, os.SEEK_CUR: self.tell(), os.SEEK_END: os.fstat(self.fileno()).st_size}[whence]
        if begin + offset < 0:
            raise ValueError("before the beginning")
        self._places.at = begin + offset
        return begin + offset

    @kept_from_duckdb
    def read(self, size: int | None = -1) -> bytes:
        """The next bytes of this thread: all that were asked for, up to the file's end."""
        left = os.fstat(self.fileno()).st_size if size is None or size < 0 else size
        parts = list[bytes]()
        try:
            while left and (part := os.pread(self.fileno(), left, self.tell())):
                parts.append(part)
                left -= len(part)
                self._places.at = self.tell() + len(part)
        except OSError as error:
            if error.errno in NO_PLACE:
                raise ValueError("a place that no file has") from error
            raise
        return b"".join(parts)
