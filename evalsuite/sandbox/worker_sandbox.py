"""Sandbox of a worker, which the worker enters itself before it reads anything untrusted.

It only takes rights away; a feature that the system lacks is left out and named in the run's receipt.
"""

import os
import select
import signal
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from evalsuite.sandbox.limits import can_limit_by_job
from evalsuite.sandbox.linux_layers import (
    can_enter_namespaces,
    can_filter,
    common_rules,
    enter_namespaces,
    landlock_version,
    libc,
    restrict_calls,
    restrict_files,
)

MAX_OPEN_FILES: Final = 64
# Threads count as processes in Linux.
MAX_THREADS: Final = 64
# An option of mallopt, in glibc alone.
_M_ARENA_MAX: Final = -8


class SandboxFeature(NamedTuple):
    """A sandbox feature: its name, whether this machine supports it, and what it prevents."""

    name: str
    is_active: bool
    description: str


def can_fork() -> bool:
    """Return whether this system can fork workers and send them descriptors; otherwise the caller starts subprocesses."""
    needed = [
        (os, "fork"),
        (os, "setsid"),
        (os, "killpg"),
        (socket, "AF_UNIX"),
        (socket, "send_fds"),
        (select, "poll"),
        (signal, "SIGKILL"),
    ]
    return sys.platform != "win32" and all(hasattr(*pair) for pair in needed)


def enter_sandbox(readable: Iterable[str], limits: Mapping[str, int | float], *, has_namespace: bool) -> list[str]:
    """Enter the sandbox, for good, and return the names of the active features. Call it from the only thread.

    The process may read only below the paths `readable`. `has_namespace`: it has its own user namespace (`linux_layers.fork_worker`).
    """
    inside = has_namespace and enter_namespaces()
    files = restrict_files(readable)
    limit_resources(limits, alone=inside)
    # Last: it refuses the system calls that the other features need.
    calls = restrict_calls()
    return _feature_names(inside, files, calls)


def expected_features() -> list[str]:
    """Return what `enter_sandbox` will return on this machine."""
    if not can_fork():
        return ["limits"] if can_limit_by_job() else []
    return _feature_names(can_enter_namespaces(), landlock_version() > 0, can_filter())


def _feature_names(inside: bool, files: bool, calls: bool) -> list[str]:
    return ["limits", *(name for name, built in (("namespaces", inside), ("landlock", files), ("seccomp", calls)) if built)]


def sandbox_features() -> Iterator[SandboxFeature]:
    """Yield every sandbox feature."""
    from evalsuite.sandbox.program_sandbox import can_sandbox_programs

    version = landlock_version()
    if not can_fork():
        yield SandboxFeature("processes", True, "each answer is read and scored in its own process, killed at the time limit")
        yield SandboxFeature("limits", can_limit_by_job(), "memory, and no process started")
    else:
        memory = "memory" if sys.platform.startswith("linux") else "the system enforces no memory limit"
        yield SandboxFeature("processes", True, "each answer is read and scored in its own processes, killed at the time limit")
        yield SandboxFeature("limits", True, f"no byte written, few descriptors, no core dumps; {memory}")
    yield SandboxFeature(
        "namespaces", can_enter_namespaces(), "own users, processes, network, IPC and mounts: no interface, read-only files"
    )
    suffix = f", version {version}" if version else ""
    yield SandboxFeature("landlock", version > 0, f"a process can read either the submission or gold{suffix}")
    yield SandboxFeature("seccomp", can_filter(), "no socket, no process, no change of files, limits or signals of others")
    yield SandboxFeature(
        "jail",
        can_sandbox_programs(),
        "submitted programs run in the program sandbox; without it they need --allow-programs",
    )


def limit_resources(limits: Mapping[str, int | float], *, alone: bool = False) -> None:
    """Limit memory, written bytes, descriptors, core dumps and processes of this process.

    `memory_mib` limits the address space. There is no CPU limit, which would count over the worker's whole life; the parent enforces time.
    Linux counts all processes of a user, so that limit is set only if this process is `alone` in its user namespace.
    """
    if sys.platform == "win32":
        return
    import resource

    linux = sys.platform.startswith("linux")
    bounds = {"AS": int(limits["memory_mib"]) << 20, "FSIZE": 0, "CORE": 0, "NOFILE": MAX_OPEN_FILES}
    if alone or not linux:
        bounds["NPROC"] = MAX_THREADS if linux else 0
    for name, value in bounds.items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is None or (name == "AS" and sys.platform == "darwin"):
            continue
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def prepare_sandbox() -> None:
    """Compute what the workers that this process forks need to enter the sandbox."""
    landlock_version()
    if can_filter():
        common_rules()


def reduce_address_space() -> None:
    """Make libraries that are imported later use little of the address space that `memory_mib` limits.

    Of its 2 GiB, Arrow's own allocator takes one at its first cell, and malloc's arenas, one per thread, half of another.
    """
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
    with suppress(OSError, AttributeError, TypeError):
        libc().mallopt(_M_ARENA_MAX, 1)
