"""Limits that the machine sets for a run: those of each process and those of its control group.

They are checked before anything is scored: with less than `memory_mib`, a worker would fail on right answers, and that fault could not be
told from a wrong answer.
"""

import ctypes
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from evalsuite.core.errors import UsageError
from evalsuite.sandbox.time_limits import memory_limit

_EXTENDED_LIMITS: Final = 9
_ONE_PROCESS, _MEMORY, _DIE_WITH_JOB = 0x8, 0x100, 0x2000
_SELF: Final = -1


class _Basic(ctypes.Structure):
    _fields_ = (
        ("process_time", ctypes.c_int64),
        ("job_time", ctypes.c_int64),
        ("flags", ctypes.c_uint32),
        ("least_working_set", ctypes.c_size_t),
        ("most_working_set", ctypes.c_size_t),
        ("n_processes", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority", ctypes.c_uint32),
        ("scheduling", ctypes.c_uint32),
    )


class _Extended(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION, https://learn.microsoft.com/windows/win32/api/winnt."""

    _fields_ = (
        ("basic", _Basic),
        ("io", ctypes.c_uint64 * 6),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("peak_process_memory", ctypes.c_size_t),
        ("peak_job_memory", ctypes.c_size_t),
    )


def can_limit_by_job() -> bool:
    """Return whether this system has job objects."""
    return hasattr(ctypes, "windll")


def limit_by_job(n_bytes: int) -> bool:
    """Limit this process to `n_bytes` of memory and no child processes. Return False if the system has no job objects."""
    if not can_limit_by_job():
        return False
    kernel: Any = ctypes.windll.kernel32  # type: ignore[attr-defined]
    kernel.CreateJobObjectW.restype = ctypes.c_void_p
    job = ctypes.c_void_p(kernel.CreateJobObjectW(None, None))
    limits = _Extended()
    limits.basic.flags, limits.basic.n_processes, limits.process_memory = _ONE_PROCESS | _MEMORY | _DIE_WITH_JOB, 1, n_bytes
    is_set = kernel.SetInformationJobObject(job, _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits))
    return bool(is_set and kernel.AssignProcessToJobObject(job, ctypes.c_void_p(_SELF)))


_MIB: Final = 1 << 20
# Address space of a worker before it reads anything: interpreter and libraries (270 MiB measured).
LEAST_MEMORY_MIB: Final = 320
# Open files of a process apart from those of its workers, and of each worker pair.
_FILES, _FILES_A_JOB = 64, 12
# Unshared memory of the parent process and of a worker pair (76 MiB measured).
_RUN_BYTES, _JOB_BYTES = 160 * _MIB, 96 * _MIB
# Memory of a table as a multiple of its file size, in both workers of a pair together.
_TIMES_FILE: Final = 12


def check_limits(limits: Mapping[str, int | float], *, seconds: float = 0.0, n_bytes: int = 0) -> None:
    """Raise `UsageError` if the system allows a process less than the limits of a run allow an answer.

    Args:
        limits: The limits of the run.
        seconds: The longest time of one answer, if that is more than the limit `seconds`.
        n_bytes: The largest file that is written or copied.
    """
    memory = int(limits["memory_mib"])
    if memory < LEAST_MEMORY_MIB:
        message = f"limit memory_mib is {memory}: a worker takes {LEAST_MEMORY_MIB} MiB of address space before it reads an answer"
        raise UsageError(message, hint=f"--limit memory_mib={LEAST_MEMORY_MIB} or more")
    wanted = max(seconds, limits["seconds"])
    needed: dict[str, tuple[float, str, str]] = {
        "AS": (memory * _MIB, "ulimit -v", f"of address space: a worker may take {memory} MiB (limit memory_mib)"),
        "DATA": (memory * _MIB, "ulimit -d", f"of data: a worker may take {memory} MiB (limit memory_mib)"),
        "CPU": (wanted, "ulimit -t", f"of CPU time: one answer may take {wanted:g} s (limit seconds)"),
        "FSIZE": (n_bytes, "ulimit -f", f"a file: this run writes one of {n_bytes} bytes"),
        "NOFILE": (_FILES + _FILES_A_JOB, "ulimit -n", f"open files: a run needs {_FILES + _FILES_A_JOB}"),
    }
    for name, (least, command, what) in needed.items():
        if (most := _soft_limit(name)) is not None and most < least:
            raise UsageError(f"this machine gives a process {_shown(name, most)} {what}", hint=_cure(name, command, most))


def jobs_that_fit(jobs: int, sizes: list[int], limits: Mapping[str, int | float]) -> tuple[int, str]:
    """Return (how many answers can be scored in parallel, why that is less than `jobs`).

    Args:
        jobs: The requested number.
        sizes: The bytes of each answer.
        limits: The limits of the run.

    Raises:
        UsageError: Not even one answer fits.
    """
    fits, why = jobs, ""
    if (most := _soft_limit("NOFILE")) is not None and (n := (most - _FILES) // _FILES_A_JOB) < fits:
        fits, why = max(1, n), f"{most} open files (ulimit -n)"
    if (room := memory_room()) is None:
        return fits, why
    n_bytes, where = room
    largest = sorted(sizes, reverse=True)
    most_bytes = 2 * int(limits["memory_mib"]) * _MIB
    needs = [min(_JOB_BYTES + _TIMES_FILE * size, most_bytes) for size in (largest + [0] * fits)[:fits]]
    n = fits
    while n and _RUN_BYTES + sum(needs[:n]) > n_bytes:
        n -= 1
    if not n:
        least = (_RUN_BYTES + needs[0]) // _MIB
        message = f"this machine has {n_bytes // _MIB} MiB of memory left ({where}), and the largest answer needs about {least} MiB"
        raise UsageError(message, hint="score on a machine, or in a group, with more memory")
    return (n, f"{n_bytes // _MIB} MiB of memory left ({where})") if n < fits else (fits, why)


def memory_room() -> tuple[int, str] | None:
    """Return the free memory of this process's groups and of the machine as (bytes, file it was read from); None if unknown."""
    found = []
    if (limit := memory_limit()) is not None:
        n_bytes, file = limit
        found.append((max(0, n_bytes - _used(file.parent)), str(file)))
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        available = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
        swap = next(int(line.split()[1]) for line in lines if line.startswith("SwapFree:"))
        found.append(((available + swap) << 10, "/proc/meminfo"))
    return min(found, default=None)


def _used(group: Path) -> int:
    """Return the bytes that a group uses and cannot free."""
    for name, key in (("memory.current", "inactive_file"), ("memory.usage_in_bytes", "total_inactive_file")):
        with suppress(OSError, ValueError):
            stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            return max(0, int((group / name).read_text()) - int(stat.get(key, 0)))
    return 0


def _soft_limit(name: str) -> int | None:
    """Return the system's soft limit on each process, None if there is none."""
    if sys.platform == "win32":
        return None
    import resource

    # macOS does not enforce the first two.
    kind = getattr(resource, f"RLIMIT_{name}", None)
    if kind is None or (name in ("AS", "DATA") and sys.platform == "darwin"):
        return None
    soft = resource.getrlimit(kind)[0]
    return None if soft == resource.RLIM_INFINITY else soft


def _shown(name: str, most: int) -> str:
    if name in ("AS", "DATA"):
        return f"{most // _MIB} MiB"
    return f"{most} s" if name == "CPU" else f"{most} bytes for" if name == "FSIZE" else str(most)


def _cure(name: str, command: str, most: int) -> str:
    raised = f"raise it ({command})"
    if name in ("AS", "DATA") and most // _MIB >= LEAST_MEMORY_MIB:
        return f"{raised}, or score under it: --limit memory_mib={most // _MIB}, which the run's signature then says"
    return f"{raised}, or --limit seconds={most}" if name == "CPU" and most else raised
