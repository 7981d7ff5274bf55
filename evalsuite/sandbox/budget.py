"""What may be taken: by one answer the limit `seconds`, by a whole run, over all its instances, `run_seconds` and `run_bytes`."""

import os
from collections.abc import Mapping
from contextlib import suppress

from evalsuite.core.errors import machine_fault
from evalsuite.core.types import Fault, Task
from evalsuite.sandbox.cpu_clock import WALL_TIMES
from evalsuite.sandbox.fork_server import now

# Reading and comparing a file may take this much longer per byte than the fixed limit of an instance.
_BYTES_PER_SECOND = 4_000_000


def answer_seconds(limits: Mapping[str, int | float], n_bytes: int, *, beside_gold: bool = False) -> float:
    """How long an answer of so many bytes may take.

    A query `beside_gold`'s own has thrice the time: each of both stops by itself when its own is over, and what gold's takes is none of
    the answer's.
    """
    return limits["seconds"] * (3 if beside_gold else 1) + n_bytes / _BYTES_PER_SECOND


def delayed(what: str, seconds: float) -> Fault:
    """The fault of an answer that did not have its seconds, and was waited for no longer."""
    return machine_fault(f"{what}: {WALL_TIMES * seconds:g} s were over on the wall, most of which it waited for a CPU")


def killed(what: str) -> Fault:
    """The fault of an answer whose worker was ended by no limit of the run: mostly the machine had no memory left."""
    return machine_fault(f"the system killed {what}, which no limit of the run does: is there too little memory?")


class Budget:
    """Counts from when it is made. What is left when it is spent is `timeout`, and says which limit it was in `details.budget`."""

    def __init__(self, limits: Mapping[str, int | float]) -> None:
        self._limits = limits
        self._ends = now() + limits["run_seconds"]
        self._bytes = int(limits["run_bytes"])

    @property
    def seconds(self) -> float:
        """What is left of `run_seconds`."""
        return max(0.0, self._ends - now())

    def spend(self, n_bytes: int) -> bool:
        """Whether so many bytes of answers may still be looked at; if so they count. One that is too long leaves what is left to others."""
        if n_bytes > self._bytes or not self.seconds:
            return False
        self._bytes -= n_bytes
        return True

    def spent_fault(self) -> tuple[Fault, str]:
        """The fault of an answer for which nothing is left, and the limit that was reached."""
        limit = "run_bytes" if self.seconds else "run_seconds"
        what = f"{self._limits[limit]:g} " + ("seconds of the run were over" if limit == "run_seconds" else "bytes of the run were read")
        return Fault(code="TIMEOUT", detail=f"the {what} before this answer was scored (limit {limit})"), limit


def size_of(task: Task) -> int:
    """The bytes of a task's answer, of files as far as a look from outside tells; wrong numbers here cost time only."""
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
