"""Open files whose names a submission chose: inside a folder, regular, not gold, not too large."""

import errno
import hashlib
import os
import re
import stat
from functools import lru_cache
from io import BufferedReader, FileIO
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from evalsuite.core.errors import FaultError, reason_of
from evalsuite.core.types import METADATA, METADATA_ARRAY

Inode = tuple[int, int]

# The file that identifies a gold folder.
SPEC_PATTERN = "*_eval.jsonl"
MAX_PATH_BYTES = 1024
MAX_PART_BYTES = 255
_LONGEST_NAME = 120
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# C: on Windows, md: and sqlite: for duckdb.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_CLOSE_ON_EXEC = getattr(os, "O_CLOEXEC", 0)
# O_NONBLOCK: opening a pipe must not wait for its writer.
_FILE_FLAGS = os.O_RDONLY | _CLOSE_ON_EXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_FOLDER_FLAGS = os.O_RDONLY | _CLOSE_ON_EXEC | getattr(os, "O_DIRECTORY", 0)
# No space, no descriptor, a disk or a server that fails: an answer causes none of these.
OF_MACHINE = frozenset(
    getattr(errno, name)
    for name in ["ENOSPC", "EDQUOT", "EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "EFBIG", "EIO", "EAGAIN", "ESTALE", "ETIMEDOUT", "EINTR"]
    if hasattr(errno, name)
)
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
        descriptor = os.open(path, (_FILE_FLAGS & ~getattr(os, "O_NOFOLLOW", 0)) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise _fault_of_opening(error) from None
    return _regular_file(descriptor, limit_bytes, frozenset())


def reopen(handle: BufferedReader) -> BufferedReader:
    """The same open file from its beginning, with its own close: it may have no name any more. Both share one position, so read them in
    turn.
    """
    again = os.fdopen(os.dup(handle.fileno()), "rb")
    again.seek(0)
    return again


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
        own, parts = (root / instance_id).lstat(), path.split("/")
        for n in range(2, len(parts)):
            if os.path.samestat(own, Path("/".join(parts[:n])).stat()):
                return "/".join(part for part in parts[n:] if part)
    except (OSError, ValueError):
        pass
    return path


def inside(instance_id: str, path: str) -> str:
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
    folder = os.open(root, _FOLDER_FLAGS)
    try:
        for part in parts[:-1]:
            # With O_DIRECTORY the kernel reports ENOTDIR for a linked folder, which is less specific.
            if stat.S_ISLNK(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode):
                raise OSError(errno.ELOOP, "link")
            inner = os.open(part, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=folder)
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
        if place.is_symlink():
            raise OSError(errno.ELOOP, "link")
    if not place.resolve(strict=True).is_relative_to(root.resolve()):
        raise OSError(errno.ELOOP, "link")
    if not place.is_file():
        raise OSError(errno.EISDIR, "not a file")
    return os.open(place, _FILE_FLAGS | getattr(os, "O_BINARY", 0))


def _regular_file(descriptor: int, limit_bytes: float, gold_inodes: frozenset[Inode]) -> BufferedReader:
    """The handle of a descriptor that is a regular file, not one of gold's, of at most `limit_bytes` bytes; else it is closed."""
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "a pipe, socket or device"
            raise FaultError("NOT_REGULAR_FILE", f"{kind} is where a file is needed")
        if (found.st_dev, found.st_ino) in gold_inodes:
            raise FaultError("BAD_PATH", "hard link to a gold file")
        if found.st_size > limit_bytes:
            raise FaultError("TOO_LARGE", f"{found.st_size} bytes, the limit is {int(limit_bytes)}")
        return os.fdopen(descriptor, "rb")
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
        return FaultError("MISSING_FILE", "the file may not be read")
    if error.errno in OF_MACHINE:
        return FaultError("LIMIT", f"this machine cannot open the file: {error.strerror}", side="setup")
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return FaultError("MISSING_FILE")
    return FaultError("MISSING_FILE", "the file cannot be opened")


def content_digest(handle: BinaryIO | FileIO) -> "hashlib._Hash":
    """The SHA-256 of an open file from its current position. `hashlib.file_digest` allocates 256 KB each time: most files are smaller."""
    digest, most = hashlib.sha256(), 1 << 20
    size = os.fstat(handle.fileno()).st_size
    while block := handle.read(min(size + 1, most)):
        digest.update(block)
        size = most
    return digest
