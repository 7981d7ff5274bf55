"""The walls round a worker: built by the worker itself before it reads anything of a submission, told by name, and listed by the doctor.

Every wall only takes away; what a system lacks is left out and named in the run's receipt.
"""

import ctypes
import os
import select
import signal
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from evalsuite.sandbox.linux_layers import (
    can_enter_namespaces,
    can_filter,
    enter_namespaces,
    landlock_version,
    restrict_calls,
    restrict_files,
)
from evalsuite.sandbox.windows_job import can_limit_by_job

MAX_OPEN_FILES: Final = 64
# Threads count as processes in Linux.
MAX_THREADS: Final = 64
# An option of mallopt, in glibc alone.
_M_ARENA_MAX: Final = -8


class Wall(NamedTuple):
    """A wall by its name, whether this machine gives it, and what it keeps from whom."""

    name: str
    stands: bool
    what: str


def can_fork() -> bool:
    """Whether this system can fork workers and send them descriptors; where it cannot, `spawned` makes them."""
    needed = [
        (os, "fork"),
        (os, "setsid"),
        (os, "killpg"),
        (socket, "AF_UNIX"),
        (socket, "send_fds"),
        (select, "poll"),
        (signal, "SIGKILL"),
    ]
    return sys.platform != "win32" and all(hasattr(*one) for one in needed)


def enter_sandbox(readable: Iterable[str], limits: Mapping[str, int | float]) -> list[str]:
    """The names of the walls that stand round this process from now on, for good; it may read below the paths `readable`.

    To be called in its only thread.
    """
    inside = enter_namespaces()
    files = restrict_files(readable)
    limit_resources(limits, alone=inside)
    # Last: it takes away the calls that the other walls are built with.
    calls = restrict_calls()
    return _named(inside, files, calls)


def expected_walls() -> list[str]:
    """What `lock_in` will say on this machine."""
    if not can_fork():
        return ["limits"] if can_limit_by_job() else []
    return _named(can_enter_namespaces(), landlock_version() > 0, can_filter())


def _named(inside: bool, files: bool, calls: bool) -> list[str]:
    return ["limits", *(name for name, built in (("namespaces", inside), ("landlock", files), ("seccomp", calls)) if built)]


def every_wall() -> Iterator[Wall]:
    """Each wall there is."""
    from evalsuite.sandbox.program_sandbox import can_jail

    version = landlock_version()
    if not can_fork():
        yield Wall("processes", True, "each answer is read and judged in one process of its own, killed at the time limit")
        yield Wall("limits", can_limit_by_job(), "memory, and no process started")
    else:
        memory = "memory" if sys.platform.startswith("linux") else "memory has no limit that the system keeps"
        yield Wall("processes", True, "each answer is read and judged in processes of their own, killed at the time limit")
        yield Wall("limits", True, f"no byte written, few descriptors, no core dumps; {memory}")
    yield Wall(
        "namespaces", can_enter_namespaces(), "users, processes, network, IPC and mounts of their own: no interface, read-only files"
    )
    shown = f", version {version}" if version else ""
    yield Wall("landlock", version > 0, f"only the submission (the judge: only gold) can be read{shown}")
    yield Wall("seccomp", can_filter(), "no socket, no process, no change of files, limits or signals of others")
    yield Wall("jail", can_jail(), "programs run in namespaces of their own (python_unit_testing, pass_at_k); without it: --allow-programs")


def limit_resources(limits: Mapping[str, int | float], *, alone: bool = False) -> None:
    """Take from this process what a reader never needs: big memory, any written byte, many descriptors, core dumps, more processes.

    `memory_mib` bounds the address space. There is no CPU limit: it would count over the worker's life; the parent's clock kills. Linux
    counts all processes of a user, so that a bound can be set only where this one is `alone` in its namespace of users.
    """
    if sys.platform == "win32":
        return
    import resource

    linux = sys.platform.startswith("linux")
    wanted = {"AS": int(limits["memory_mib"]) << 20, "FSIZE": 0, "CORE": 0, "NOFILE": MAX_OPEN_FILES}
    if alone or not linux:
        wanted["NPROC"] = MAX_THREADS if linux else 0
    for name, value in wanted.items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is None or (name == "AS" and sys.platform == "darwin"):
            continue
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def spare_address_space() -> None:
    """Have libraries that are imported from here on take little of the address space that `memory_mib` bounds.

    Of its 2 GiB Arrow's own allocator takes one at its first cell, and the arenas of malloc, one a thread, half of another.
    """
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
