"""Memory limit on Windows: a job object that this process joins and cannot leave."""

import ctypes
from typing import Any, Final

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
