"""A folder that is replaced as a whole: readers see the old one or the new one, and whoever is killed on the way leaves the old one."""

import ctypes
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from evalsuite.errors import UsageError, cannot_write, reason_of
from evalsuite.site.movement import BOARD
from evalsuite.walls.scratch import lock

_AT_HERE, _EXCHANGE = -100, 2
_INDEX: Final = "index.html"


def check_site(folder: Path) -> None:
    """Raise `UsageError` where a folder (absolute, without links) cannot become a site, because it holds something else."""
    if (folder.exists() and not folder.is_dir()) or Path.cwd().is_relative_to(folder):
        raise UsageError(f"{folder} cannot be a site", hint="a site is a folder of its own, below or beside the current one")
    if (folder / _INDEX).exists() and not (folder / BOARD).exists():
        raise UsageError(f"{folder} holds pages of somebody else", hint="name a folder of its own for the site")


@contextmanager
def new_version(folder: Path) -> Iterator[Path]:
    """A folder beside this one with all that lies in it, which takes its place where the block ends well.

    Files are shared until they are replaced, never written in place: `write_atomically` does that. Raises what `check_site` does,
    and `OutputError` where it cannot be written.
    """
    new, old = (folder.with_name(f".{folder.name}.{what}") for what in ("new", "old"))
    check_site(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # What a killed build left.
        if old.exists() and not folder.exists():
            old.rename(folder)
        for left in (new, old):
            shutil.rmtree(left, ignore_errors=True)
        if folder.exists():
            shutil.copytree(folder, new, symlinks=True, copy_function=_share)
        else:
            new.mkdir()
        yield new
        if folder.exists():
            _exchange(new, folder, old)
        else:
            new.rename(folder)
    except OSError as error:
        raise cannot_write(folder, error) from error
    finally:
        for left in (new, old):
            shutil.rmtree(left, ignore_errors=True)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """The block of one builder at a time. Raises `UsageError` where another one builds with this private folder."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise cannot_write(folder, error) from error
    try:
        try:
            lock(held)
        except BlockingIOError:
            raise UsageError(f"another build goes on with {folder}", hint="wait for its end") from None
        except OSError as error:
            raise UsageError(f"{folder} cannot be locked: {reason_of(error)}", hint="name a local folder by --private") from None
        yield
    finally:
        os.close(held)


def _share(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        # A file system without links.
        shutil.copy2(source, target)


def _exchange(new: Path, folder: Path, old: Path) -> None:
    """Put the new folder in the place of the one that is there: in one step where the system can, else in two."""
    with suppress(OSError, AttributeError):
        if sys.platform == "linux":
            rename = ctypes.CDLL(None, use_errno=True).renameat2
            if rename(_AT_HERE, os.fsencode(new), _AT_HERE, os.fsencode(folder), _EXCHANGE) == 0:
                return
    folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        old.rename(folder)
        raise
