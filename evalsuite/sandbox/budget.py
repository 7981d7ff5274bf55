"""Time and byte budgets: `seconds` for one answer; `run_seconds` and `run_bytes` for all answers of a run."""

import os
from collections.abc import Mapping
from contextlib import suppress

from evalsuite.core.errors import machine_fault
from evalsuite.core.types import Fault, Task
from evalsuite.sandbox.cpu_clock import WALL_TIMES
from evalsuite.sandbox.fork_server import now

# Reading and comparing a file may take this much longer per byte than the fixed limit of an instance.
_BYTES_PER_SECOND = 4_000_000


def answer_seconds(limits: Mapping[str, int | float], n_bytes: int, *, with_gold_query: bool = False) -> float:
    """Return the seconds that an answer of `n_bytes` may take.

    With `with_gold_query` (the gold side runs a query too) the limit is three times `seconds`: each query stops by itself at its own limit,
    and the time of the gold query is not the answer's.
    """
    return limits["seconds"] * (3 if with_gold_query else 1) + n_bytes / _BYTES_PER_SECOND


def delayed(what: str, seconds: float) -> Fault:
    """Return the fault of an answer that did not get its CPU seconds before the wall-clock limit."""
    return machine_fault(f"{what}: {WALL_TIMES * seconds:g} s elapsed, most of it waiting for a CPU")


def killed(what: str) -> Fault:
    """Return the fault of an answer whose worker was killed by something other than a limit of the run, mostly lack of memory."""
    return machine_fault(f"the operating system killed {what}, not a limit of the run: is there too little memory?")


class Budget:
    """Time and bytes left for a run, counted from construction. Later answers are `timeout`, with the limit in `details.budget`."""

    def __init__(self, limits: Mapping[str, int | float]) -> None:
        self._limits = limits
        self._ends = now() + limits["run_seconds"]
        self._bytes = int(limits["run_bytes"])

    @property
    def seconds(self) -> float:
        """Seconds left of `run_seconds`."""
        return max(0.0, self._ends - now())

    def spend(self, n_bytes: int) -> bool:
        """Reserve `n_bytes` of `run_bytes`. Return False, and reserve nothing, if the bytes or the time are used up."""
        if n_bytes > self._bytes or not self.seconds:
            return False
        self._bytes -= n_bytes
        return True

    def spent_fault(self) -> tuple[Fault, str]:
        """Return the fault of an answer for which no budget is left, and the name of the limit."""
        limit = "run_bytes" if self.seconds else "run_seconds"
        what = f"{self._limits[limit]:g} " + ("seconds of the run were over" if limit == "run_seconds" else "bytes of the run were read")
        return Fault(code="TIMEOUT", detail=f"the {what} before this answer was scored (limit {limit})"), limit


def size_of(task: Task) -> int:
    """Return the bytes of a task's answer; files are sized by `lstat`. A wrong number here only changes the time limit."""
    if task.answer is None:
        return 0
    value = task.answer.value
    if task.answer.answer_type == "answer":
        return len(value)
    total = 0
    for name in {value} if isinstance(value, str) else set(value):
        with suppress(OSError, ValueError):
            total += os.lstat(f"{task.submission_folder}/{task.instance.instance_id}/{name}").st_size
    return min(total, int(task.limits["file_bytes"]))
