"""Temporary folders. If their process is killed, the next command that opens workers removes them."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evalsuite.core.errors import NO_ROOM, OutputError, reason_of
from evalsuite.core.files import is_dir
from evalsuite.core.import_ref import LazyModule

if TYPE_CHECKING:
    import shutil
    import tempfile
else:
    shutil, tempfile = LazyModule("shutil"), LazyModule("tempfile")

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # Windows
    CAN_LOCK = False
else:
    CAN_LOCK = True

PREFIX: Final = "evalsuite-scratch-"
_DESCRIPTORS: Final = "/proc/self/fd" if is_dir(Path("/proc/self/fd")) else "/dev/fd"


def descriptor_path(descriptor: int) -> Path:
    """Return the path by which only this process can open a file that has no name."""
    return Path(_DESCRIPTORS, str(descriptor))


class TempDir:
    """Empty folder of this process, removed by `close`, at the end of the block, or by the next command after a kill.

    A lock marks it as used; the kernel releases the lock when the process ends. Raises `OutputError` if no folder can be created.
    """

    def __init__(self) -> None:
        self._lock: int | None = None
        try:
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
            while CAN_LOCK and not self._take_lock():
                self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        except OSError as error:
            raise OutputError(f"cannot make a temporary folder: {reason_of(error)}", hint="set TMPDIR to a folder with room") from error

    def _take_lock(self) -> bool:
        """Lock the folder. Return False if another run removed it between creation and lock, as one of a dead process."""
        self._lock = _open_locked(self.path, wait=True)
        if self._lock is None:
            return False
        if is_dir(self.path):
            return True
        os.close(self._lock)
        return False

    def close(self) -> None:
        """Remove the folder and its contents."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Remove the folder. Raises `OutputError` in place of an error of the block that says that the folder's disk is full."""
        self.close()
        # A message may name a file of this folder, which is gone now.
        cause = error.__cause__ if isinstance(error, OutputError) and str(self.path) in error.message else error
        if isinstance(cause, OSError) and cause.errno in NO_ROOM:
            # An error in the middle of a copy names both files, one in the middle of a file none.
            names = [os.fsdecode(name) for name in (cause.filename, cause.filename2) if isinstance(name, str | bytes | os.PathLike)]
            if cause is not error or not names or any(name.startswith(str(self.path)) for name in names):
                message = f"cannot write a temporary file in {self.path.parent}: {reason_of(cause)}"
                raise OutputError(message, hint="set TMPDIR to a folder with room") from error


def lock(descriptor: int, *, wait: bool = False) -> None:
    """Lock a file or folder until its descriptor is closed; do nothing where the system has no such locks.

    Raises BlockingIOError if another process has the lock, OSError if the file system cannot say.
    """
    if CAN_LOCK:
        flock(descriptor, LOCK_EX | (0 if wait else LOCK_NB))


def remove_stale_temp_dirs() -> None:
    """Remove the unlocked temporary folders of processes that were killed."""
    for place in _leftover_folders() if CAN_LOCK else ():
        lock = _open_locked(place, wait=False)
        if lock is not None:
            shutil.rmtree(place, ignore_errors=True)
            os.close(lock)


def _leftover_folders() -> Iterator[Path]:
    # The folder that tempfile chooses; importing tempfile costs as much as a tenth of the start of Python.
    places = (*map(os.environ.get, ("TMPDIR", "TEMP", "TMP")), "/tmp", "/var/tmp", "/usr/tmp")
    folder = next((place for place in places if place and os.access(place, os.W_OK | os.X_OK)), "")
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False):
                yield Path(entry.path)


def _open_locked(place: Path, *, wait: bool) -> int | None:
    """Return the descriptor of this user's folder under an exclusive lock; None if it is gone or belongs to another user."""
    try:
        folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | getattr(os, "O_NOFOLLOW", 0) | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if os.fstat(folder).st_uid == os.geteuid():
            lock(folder, wait=wait)
            return folder
    except OSError:
        pass
    os.close(folder)
    return None
