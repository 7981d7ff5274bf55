"""Whether something is at a path, and what: an error of the machine is raised, and never read as an absence.

`pathlib` says so up to Python 3.13. From 3.14 on its methods return False for every error, and a folder that may not be entered, or whose
disk fails, would be one without answers.
"""

import errno
import os
import stat

_ABSENT = frozenset((errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP))
# Windows: no disk in the drive, a name that cannot be, a link that cannot be followed.
_ABSENT_ON_WINDOWS = frozenset((21, 123, 1921))


def is_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a file, or a link to one. Raises `OSError` if the system does not tell."""
    return stat.S_ISREG(_mode(path))


def is_dir(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder, or a link to one. Raises `OSError` if the system does not tell."""
    return stat.S_ISDIR(_mode(path))


def exists(path: str | os.PathLike[str]) -> bool:
    """Return whether anything is at a path, also at the end of its links. Raises `OSError` if the system does not tell."""
    return _mode(path) != 0


def is_symlink(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a link. Raises `OSError` if the system does not tell."""
    return stat.S_ISLNK(_mode(path, follows=False))


def _mode(path: str | os.PathLike[str], *, follows: bool = True) -> int:
    """The mode of what is at a path, 0 if nothing is."""
    try:
        return os.stat(path, follow_symlinks=follows).st_mode  # noqa: PTH116 - no Path is needed
    except ValueError:
        # A name with a null byte, or that the file system cannot encode.
        return 0
    except OSError as error:
        if error.errno in _ABSENT or getattr(error, "winerror", None) in _ABSENT_ON_WINDOWS:
            return 0
        raise
