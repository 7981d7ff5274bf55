"""Namespaces of its own for a process that meets hostile work: no network, no memory or queues shared with others, and nothing to write.

All file systems are read-only inside, and the process keeps no right of a superuser but, where it had it, that of reading all files.
The numbers are the kernel's own (`linux/sched.h`, `linux/mount.h`, `linux/capability.h`), which never change.
"""

import ctypes
import os
import signal
import struct
import sys
from functools import cache
from pathlib import Path
from typing import Final

MOUNTS, IPC, USERS, PROCESSES, NETWORK = 0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000
PRIVATE: Final = (1 << 18) | (1 << 14)
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
# The same number on every architecture since Linux 5.12; everything below a folder; read-only and without set-uid.
_MOUNT_SETATTR, _HERE, _RECURSIVE, _READ_ONLY = 442, -100, 0x8000, 1 | 2
_CAPABILITIES_3: Final = 0x20080522
_FROM_OUTSIDE: Final = frozenset(
    signal.Signals[name] for name in ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGXCPU") if hasattr(signal, name)
)
_READ_ALL, _SET_GROUPS, _SET_USERS = 1 << 2, 1 << 6, 1 << 7


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent dies, where it can (Linux): a killed run leaves no worker behind."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def was_killed(status: int) -> bool:
    """Whether a process that ended by itself, with this status, was ended by the system or by somebody, and by no limit of a run.

    None of those sends these signals: memory, files and time of a worker end as errors in it, or by the hand of the parent.
    """
    return -status in _FROM_OUTSIDE


def adopt_orphans() -> None:
    """Have the kernel give this process, where it can (Linux), what its children leave behind: then it can wait for all of it."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@cache
def can_enter_namespaces() -> bool:
    """Whether this machine lets a process have namespaces of its own; tried once, by a child."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        child = os.fork()
    except OSError:
        # Inside other walls no process can be started.
        return False
    if child == 0:
        entered = False
        try:
            entered = enter_namespaces()
        finally:
            os._exit(not entered)
    return os.waitpid(child, 0)[1] == 0


def enter_namespaces() -> bool:
    """Whether this process stands now in namespaces of its own for users, network, IPC and mounts; to be called in its only thread.

    It stays the same user to files outside. A superuser's process keeps the users and the right to read that it had, because it may read
    what other users handed in; without the right to set users, which that takes, nothing is entered.
    """
    if not sys.platform.startswith("linux"):
        return False
    libc, held = ctypes.CDLL(None, use_errno=True), _capabilities()
    if not _enter(libc, USERS | NETWORK | IPC | MOUNTS):
        return False
    libc.mount(b"none", b"/", None, PRIVATE, None)
    attributes = struct.pack("4Q", _READ_ONLY, 0, 0, 0)
    libc.syscall(_MOUNT_SETATTR, _HERE, b"/", _RECURSIVE, attributes, len(attributes))
    drop_capabilities(libc, kept=held & _READ_ALL)
    # What a process becomes may end its tie to its parent.
    die_with_parent()
    return True


def drop_capabilities(libc: ctypes.CDLL, *, kept: int = 0) -> bool:
    """Whether this process has no rights of a superuser from now on, in no namespace, but those `kept`."""
    return bool(libc.capset(struct.pack("Ii", _CAPABILITIES_3, 0), struct.pack("6I", kept, kept, 0, 0, 0, 0)) == 0)


def enter_process_namespace() -> bool:
    """Whether this process goes on as process 1 of a namespace of its own: when it ends, however that is, the kernel kills all in it.

    Who called stays outside as its parent, waits, and ends when it does; a kill of either ends both. To be called in the only thread.
    """
    if not sys.platform.startswith("linux") or not _enter(ctypes.CDLL(None, use_errno=True), USERS | PROCESSES):
        return False
    die_with_parent()
    inside = os.fork()
    if inside:
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.waitpid(inside, 0)
        os._exit(0)
    die_with_parent()
    return True


def number_outside() -> int:
    """The number of this process for who mounted /proc, which a namespace of processes does not change."""
    try:
        return int(Path("/proc/self").readlink().name)
    except (OSError, ValueError):
        return os.getpid()


def _enter(libc: ctypes.CDLL, kinds: int) -> bool:
    """Whether this process is in new namespaces of these kinds, one of users among them, as the user that it was."""
    needed = _SET_USERS | _SET_GROUPS
    if os.geteuid() == 0:
        return _capabilities() & needed == needed and _enter_as_superuser(libc, kinds)
    uid, gid = os.geteuid(), os.getegid()
    if libc.unshare(kinds) != 0:
        return False
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        Path(f"/proc/self/{name}").write_text(text)
    return True


def _enter_as_superuser(libc: ctypes.CDLL, kinds: int) -> bool:
    """Enter with all users of today's namespace, which only a process that stayed outside may write down."""
    maps = {name: Path(f"/proc/self/{name}").read_text().splitlines() for name in ("uid_map", "gid_map")}
    same = {name: "".join("{0} {0} {2}\n".format(*line.split()) for line in lines) for name, lines in maps.items()}
    pid, (told, tell) = number_outside(), os.pipe()
    outside = os.fork()
    if outside == 0:
        done = 1
        try:
            os.close(tell)
            if os.read(told, 1):
                for name, text in same.items():
                    Path(f"/proc/{pid}/{name}").write_text(text)
                done = 0
        finally:
            os._exit(done)
    os.close(told)
    entered = libc.unshare(kinds) == 0
    if entered:
        os.write(tell, b"!")
    os.close(tell)
    _, status = os.waitpid(outside, 0)
    if entered and was_killed(os.waitstatus_to_exitcode(status)):
        # Without its users this process would read no file, and blame the answer for it.
        raise OSError("the process that writes down the users of a namespace was killed")
    return entered and status == 0


def _capabilities() -> int:
    """The lower 32 effective capabilities of this process as bits."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next((int(line.split()[1], 16) for line in lines if line.startswith("CapEff")), 0) & 0xFFFFFFFF
