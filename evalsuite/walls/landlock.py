"""Which files a process may read: Landlock, through its three kernel calls, and the paths that an interpreter and its libraries need."""

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import evalsuite

# The same numbers on every architecture since Linux 5.13.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PR_SET_NO_NEW_PRIVS = 38
_RULE_PATH_BENEATH = 1
_READ_FILE, _READ_DIR, _EXECUTE = 1 << 2, 1 << 3, 1 << 0
_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
_OF_FILES = _EXECUTE | _READ_FILE | _WRITE_FILE | _TRUNCATE
# ABI version -> every file-system right it knows, all of which the worker gives up but reading.
_ALL_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_NEWEST_RIGHTS = (1 << 16) - 1
# TCP bind and connect (version 4); abstract sockets and signals to processes outside (version 6).
_NET_RIGHTS, _SCOPES = 0b11, 0b11
_O_PATH = 0o10000000
PACKAGE = Path(evalsuite.__file__).resolve().parent
# What duckdb asks of the system; without the first two it aborts.
SYSTEM = ("/proc/self", "/sys/fs/cgroup", "/dev/null", "/dev/urandom")


@cache
def landlock_version() -> int:
    """The kernel's Landlock ABI version, 0 where it has none."""
    if not sys.platform.startswith("linux"):
        return 0
    try:
        return max(0, _syscall(_CREATE_RULESET, None, 0, 1))
    except OSError:
        return 0


def restrict_files(
    readable: Iterable[str], *, listed: Iterable[str] = (), writable: Iterable[str] = (), system: Iterable[str] = SYSTEM
) -> bool:
    """Allow this process (and its children) to read below these paths, to do all below `writable`, and nothing else: no TCP either.

    Below `listed` names may be seen, and no file is opened. `system` are the files of the system that may be read besides. False without
    Landlock.
    """
    version = landlock_version()
    if not version:
        return False
    rights = _ALL_RIGHTS.get(version, _NEWEST_RIGHTS)
    words = [rights, *([_NET_RIGHTS] if version >= 4 else []), *([_SCOPES] if version >= 6 else [])]
    attributes = struct.pack(f"{len(words)}Q", *words)
    ruleset = _syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for path in [*readable, *system]:
            _allow(ruleset, path, _READ_FILE | _EXECUTE | _READ_DIR)
        for path in listed:
            _allow(ruleset, path, _READ_DIR)
        for path in writable:
            _allow(ruleset, path, rights)
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        _syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return True


def parts_without(path: str, hidden: Iterable[str]) -> list[str]:
    """`path`, or, where one of the `hidden` paths lies in it, the parts of it that hold none of them.

    A rule of Landlock can only allow, and what it allows holds for everything below. `hidden` are paths without links. A path that lies
    itself below a hidden one is kept: whoever names it means it.
    """
    place = Path(path).resolve()
    inside = [other for other in map(Path, hidden) if other.is_relative_to(place)]
    if not inside:
        return [str(place)]
    if place in inside:
        return []
    try:
        # A link would allow what it points to, wherever that is.
        children = [child.path for child in os.scandir(place) if not child.is_symlink()]
    except OSError:
        return []
    return [kept for child in sorted(children) for kept in parts_without(child, map(str, inside))]


def library_paths() -> list[str]:
    """What an interpreter needs to read to import its packages late.

    The current folder and a folder of sources that holds this package can hold anything, gold too: of them only the package counts.
    """
    sources = PACKAGE.parent
    broad = {Path.cwd().resolve(), *([] if sources.name in ("site-packages", "dist-packages") else [sources])}
    own = {sys.prefix, sys.base_prefix, sys.exec_prefix, *(path for path in sys.path if path and Path(path).resolve() not in broad)}
    return [
        *sorted(own),
        str(PACKAGE),
        "/usr",
        "/lib",
        "/lib64",
        "/etc/localtime",
        "/etc/ld.so.cache",
    ]


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, _O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        # What only a folder can have is refused for a file.
        rights &= ~0 if os.path.isdir(path) else _OF_FILES  # noqa: PTH112
        rule = struct.pack("=Qi", rights, descriptor)
        _syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(descriptor)


def _syscall(number: int, *arguments: int | bytes | None) -> int:
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    converted = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    answer = int(call(ctypes.c_long(number), *converted))
    if answer < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return answer
