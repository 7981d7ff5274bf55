"""Limits of time and memory: clocks of processes, the seconds of an answer, the budget of a run, the memory of the machine.

The time that a process had is the elapsed time minus the time in which it waited for a CPU that other processes used.

A busy machine must not turn a right answer into a timeout, and a program that sleeps must still end on time. So running and sleeping count.
Time in which a thread could run but no CPU was free does not count (run delay, `/proc/<pid>/task/*/schedstat`), nor does time in which the
control group had used up its CPU share. CPU time always counts: threads of one process that wait for each other gain nothing.

Where the kernel reports no run delay, CPU time counts, and three times the limit may elapse.

Control groups: version 2 has one tree, version 1 one per controller; a container often sees only its part of either. A group's limit
applies to all groups below it, so every level up to the visible root is read.
"""

import ctypes
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from evalsuite.core.errors import MachineError, UsageError, machine_fault
from evalsuite.core.files import is_dir
from evalsuite.core.types import Fault, Task

Controller = Literal["cpu", "memory"]
# Version 1 writes "no limit" as the largest number of whole pages.
_NO_LIMIT: Final = 1 << 60


@cache
def levels(controller: Controller, process: Path = Path("/proc/self")) -> tuple[Path, ...]:
    """Return the folders of this process's groups that have the controller, innermost first; empty if there are none.

    Args:
        controller: In version 2 a group may lack it; its folder then has no files of that controller.
        process: The folder of the process below /proc.
    """
    try:
        # Names of groups and mounts may be any bytes.
        texts = [os.fsdecode((process / name).read_bytes()).split("\n") for name in ("cgroup", "mountinfo")]
        groups, mounts = [line.split(":", 2) for line in texts[0] if line], [line.split(" ") for line in texts[1] if line]
    except OSError:
        return ()
    folders: list[Path] = []
    for _, names, group_path in groups:
        for mount in mounts:
            rest = mount[mount.index("-") + 1 :]
            fits = (rest[0] == "cgroup" and controller in names.split(",") and controller in rest[2].split(",")) or (
                rest[0] == "cgroup2" and not names
            )
            if fits:
                # Spaces, tabs, line ends and backslashes are octal numbers there.
                root, place = (re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text) for text in mount[3:5])
                folders += _upward(Path(place), root, group_path)
    return tuple(folders)


def _upward(mount: Path, root: str, group_path: str) -> Iterator[Path]:
    """Yield the folders from a group up to the mount point of its tree; `root` is the group that is mounted there."""
    inside = group_path.removeprefix(root) if root != "/" and (group_path == root or group_path.startswith(root + "/")) else group_path
    group = mount / inside.strip("/")
    while group != mount and mount in group.parents:
        if is_dir(group):
            yield group
        group = group.parent
    yield mount


def throttled_seconds() -> float:
    """Return the seconds for which the groups of this process were throttled, since the groups exist."""
    total = 0.0
    for group in levels("cpu"):
        with suppress(OSError, ValueError):
            fields = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
            total += int(fields.get("throttled_usec", 0)) / 1e6 + int(fields.get("throttled_time", 0)) / 1e9
    return total


def memory_limit() -> tuple[int, Path] | None:
    """Return the smallest memory limit of this process's groups as (bytes, file it was read from); None if there is none."""
    limits = []
    for group in levels("memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            with suppress(OSError, ValueError):
                n_bytes = int((group / name).read_text())
                if n_bytes < _NO_LIMIT:
                    limits.append((n_bytes, group / name))
    return min(limits, default=None)


# `late`: it had its seconds. `delayed`: it did not have them, but the wall-clock limit has passed.
Verdict = Literal["", "late", "delayed"]
# Wall-clock limit as a multiple of the time limit; the second one applies if the kernel reports no run delay.
WALL_TIMES: Final = 10
BLIND_TIMES: Final = 3
# Seconds between two checks. After a check that is long overdue, the gap counts as one of these, or as its CPU time if that is more.
TICK: Final = 0.5
_LEAST_WAIT: Final = 0.02
_OVERDUE: Final = 2.0
_LEAST_PENDING: Final = 0.01


class Clock:
    """Count the seconds that some processes had since `start`. The count advances only when a method reads it.

    Args:
        processes: Returns the process ids; called at each reading.
        with_caller: Count the constructing thread too, because both wait for each other.
        stops_wait: Time in which a signal stopped a process is time without a CPU. Only for processes that cannot stop themselves.
    """

    def __init__(self, processes: Callable[[], Iterable[int]] = tuple, *, with_caller: bool = False, stops_wait: bool = False) -> None:
        self._processes = processes
        self._waiting = "RTt" if stops_wait else "R"
        self._caller = _this_thread() if with_caller else []
        self._known: dict[str, tuple[float, float, int]] = {}
        # Runnable threads at the last reading with their time slices, and the waits counted before the kernel reported them.
        self._runnable: dict[str, int] = {}
        self._counted: dict[str, float] = {}
        self._cpu_known: dict[int, float] = {}
        self.seconds_used = self.waited = self._pending = 0.0
        self._is_blind = False
        self._at = self._began = time.monotonic()
        self._throttled = throttled_seconds()
        self._differences()

    def start(self) -> None:
        """Restart the count at 0. Earlier readings of the processes stay as the baseline."""
        self.seconds_used = self.waited = self._pending = 0.0
        self._began = time.monotonic()

    def is_over(self, seconds: float) -> Verdict:
        """Take a reading and return whether `seconds` are over."""
        self._look()
        if self.seconds_used - self._pending >= seconds:
            return "late"
        if self.seconds_used + self.waited >= seconds * (BLIND_TIMES if self._is_blind else WALL_TIMES):
            return "late" if self._is_blind else "delayed"
        return ""

    def read(self) -> float:
        """Take a reading and return the seconds that the processes had."""
        self._look()
        return self.seconds_used

    def wait(self, seconds: float) -> float:
        """Return how long the caller may wait before the next reading, for a limit of `seconds`."""
        passed = time.monotonic() - max(self._at, self._began)
        return max(_LEAST_WAIT, min(TICK, seconds - self.seconds_used) - passed)

    def check(self, seconds: float) -> Verdict:
        """Return whether `seconds` are over; take a reading only if one is due."""
        is_due = time.monotonic() - max(self._at, self._began) >= min(TICK, max(_LEAST_WAIT, seconds - self.seconds_used))
        return self.is_over(seconds) if is_due else ""

    def _look(self) -> None:
        at = time.monotonic()
        whole, elapsed = at - self._at, at - max(self._at, self._began)
        self._at = at
        delay, cpu, is_reported = self._differences()
        throttled, self._throttled = self._throttled, throttled_seconds()
        if not is_reported:
            # Without run delay, sleeping and waiting for a CPU look the same.
            self._is_blind = True
            cpu_share = min(elapsed, cpu)
            self.seconds_used, self.waited = self.seconds_used + cpu_share, self.waited + elapsed - cpu_share
            return
        can_run = False
        if self._throttled > throttled or elapsed + self._pending - delay - cpu > _LEAST_PENDING:
            delay += self._ongoing_wait(elapsed)
            can_run = bool(self._runnable)
        else:
            self._runnable = {}
        if can_run:
            delay += self._throttled - throttled
        waited = max(0.0, min(delay, whole - cpu + self._pending, elapsed + self._pending))
        # If the machine or this process was suspended, the gap does not count.
        watched = gap if (gap := elapsed - waited) <= _OVERDUE else min(gap, max(TICK, cpu))
        self.seconds_used, self.waited = self.seconds_used + watched, self.waited + waited
        # The kernel reports a wait only after it ends, so an ongoing wait shows at the next reading. Unexplained time stays pending for
        # one reading only; otherwise a process that computes at each reading could sleep for free in between.
        self._pending = max(0.0, min(elapsed, self._pending + watched - cpu)) if can_run else 0.0

    def _differences(self) -> tuple[float, float, bool]:
        """Return (seconds of run delay, seconds of CPU) of all threads since the last call, and whether the kernel reports them."""
        last_values, delay, cpu, is_reported = self._known, 0.0, 0.0, False
        self._known = {}
        numbers = list(self._processes())
        for place in (*self._caller, *(place for number in numbers for place in _threads(number))):
            ran, waited, slices = _schedule(place)
            if ran or waited:
                is_reported = True
                before = last_values.get(place, (0.0, 0.0, 0))
                reported = max(0.0, waited - before[1])
                counted_delay = min(reported, self._counted.get(place, 0.0))
                if counted_delay:
                    self._counted[place] -= counted_delay
                cpu, delay = cpu + max(0.0, ran - before[0]), delay + reported - counted_delay
                self._known[place] = ran, waited, slices
        if not is_reported:
            cpu_times = {number: _cpu_of(number) for number in numbers or [os.getpid()]}
            cpu = sum(max(0.0, now - self._cpu_known.get(number, 0.0)) for number, now in cpu_times.items())
            self._cpu_known = cpu_times
        return delay, cpu, is_reported

    def _ongoing_wait(self, elapsed: float) -> float:
        """Read which threads are runnable, or stopped, and return the seconds of a wait that has not ended: all of `elapsed`, else 0.

        The kernel reports a wait when it ends. A thread that is runnable at two readings, with no time slice in between, waited throughout.
        """
        states = {place: state for place in self._known if (state := _state(place)) and state in self._waiting}
        before, self._runnable = self._runnable, {place: self._known[place][2] for place in states}
        stuck = [place for place, slices in self._runnable.items() if before.get(place) == slices]
        for place in stuck:
            # A stop is never reported.
            if states[place] == "R":
                self._counted[place] = self._counted.get(place, 0.0) + elapsed
        return elapsed if stuck else 0.0


class Alarm:
    """Call `on_end` once, from its own thread, when the seconds of a clock are over; never after `cancel`."""

    def __init__(self, clock: Clock, seconds: float, on_end: Callable[[Verdict], None]) -> None:
        self._clock, self._seconds, self._on_end = clock, seconds, on_end
        self._cancelled = threading.Event()
        threading.Thread(target=self._watch, name="alarm", daemon=True).start()

    def _watch(self) -> None:
        while not self._cancelled.wait(self._clock.wait(self._seconds)):
            if verdict := self._clock.is_over(self._seconds):
                self._on_end(verdict)
                return

    def cancel(self) -> None:
        """Stop the alarm."""
        self._cancelled.set()


class Deadline:
    """Time limit of the current thread, cheap to call often. It has no wall-clock limit; the caller's parent enforces that."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self._clock = seconds, Clock(with_caller=True)
        self._is_over = False

    def __call__(self) -> bool:
        """Return whether the seconds are over."""
        self._is_over = self._is_over or self._clock.check(self.seconds) == "late"
        return self._is_over


def _this_thread() -> list[str]:
    """Return the /proc folder of the calling thread; its ids differ from those inside a process namespace."""
    try:
        return [str(Path("/proc", Path("/proc/thread-self").readlink()))]
    except OSError:
        return []


def _threads(number: int) -> list[str]:
    """Return the /proc folders of a process's threads."""
    folder = f"/proc/{number}/task"
    try:
        return [f"{folder}/{thread}" for thread in os.listdir(folder)]  # noqa: PTH208
    except OSError:
        return []


def _schedule(place: str) -> tuple[float, float, int]:
    """Return (seconds on a CPU, seconds of waiting for one, time slices) of a thread; zeros if the kernel does not report them."""
    try:
        ran, waited, slices = map(int, _text(f"{place}/schedstat").split())
        return ran / 1e9, waited / 1e9, slices
    except (OSError, ValueError):
        return 0.0, 0.0, 0


def _state(place: str) -> str:
    """Return the state letter of a thread, such as R for running."""
    try:
        return _text(f"{place}/stat").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def _cpu_of(number: int) -> float:
    """Return the CPU seconds of a process from its CPU clock, which Linux lets other processes read; 0 if it has none."""
    try:
        return time.clock_gettime((~number << 3) | 2)
    except (AttributeError, OSError, OverflowError):
        return 0.0


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - opened per thread, many times a second
        return file.read()


def descendants(number: int) -> list[int]:
    """Return a process and all its live descendants."""
    numbers, waiting = [], [number]
    while waiting:
        parent = waiting.pop()
        numbers.append(parent)
        try:
            threads = os.listdir(f"/proc/{parent}/task")  # noqa: PTH208
            waiting += [int(child) for thread in threads for child in _text(f"/proc/{parent}/task/{thread}/children").split()]
        except (OSError, ValueError):
            continue
    return numbers


# Reading and comparing a file may take this much longer per byte than the fixed limit of an instance.
_BYTES_PER_SECOND = 4_000_000


def answer_seconds(limits: Mapping[str, int | float], n_bytes: int, *, with_gold_query: bool = False) -> float:
    """Return the seconds that an answer of `n_bytes` may take.

    With `with_gold_query` (the gold side runs a query too) the limit is three times `seconds`: each query stops by itself at its own limit,
    and the time of the gold query is not the answer's.
    """
    return limits["seconds"] * (3 if with_gold_query else 1) + n_bytes / _BYTES_PER_SECOND


def delayed_fault(what: str, seconds: float) -> Fault:
    """Return the fault of an answer that did not get its CPU seconds before the wall-clock limit."""
    return machine_fault(f"{what}: {WALL_TIMES * seconds:g} s elapsed, most of it waiting for a CPU or stopped by a signal")


def killed_fault(what: str) -> Fault:
    """Return the fault of an answer whose worker was killed by something other than a limit of the run, mostly lack of memory."""
    return machine_fault(f"the operating system killed {what}, not a limit of the run: is there too little memory?")


class Budget:
    """Time and bytes left for a run, counted from construction. Later answers are `timeout`, with the limit in `details.budget`."""

    def __init__(self, limits: Mapping[str, int | float]) -> None:
        self._limits = limits
        self._ends = time.monotonic() + limits["run_seconds"]
        self._bytes = int(limits["run_bytes"])

    @property
    def seconds(self) -> float:
        """Seconds left of `run_seconds`."""
        return max(0.0, self._ends - time.monotonic())

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
    if task.answer.answer_type == "answer":
        return len(task.answer.value)
    total = 0
    for name in set(task.answer.paths):
        # A path from the submission's root has a type of its own.
        place = f"{task.instance.instance_id}/{name}" if type(name) is str else name
        with suppress(OSError, ValueError):
            total += os.lstat(f"{task.submission_folder}/{place}").st_size
    return min(total, int(task.limits["file_bytes"]))


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
# A deep answer or query that is read with the usual 8 MiB of stack crashes DuckDB with one MiB, and Python's JSON reader with 256 KiB.
_STACK: Final = 2 * _MIB
# Memory of a table as a multiple of its file size, in both workers of a pair together.
_TIMES_FILE: Final = 12


def check_limits(limits: Mapping[str, int | float], *, seconds: float = 0.0, n_bytes: int = 0) -> None:
    """Raise `MachineError` if the system allows a process less than the limits of a run allow an answer, `UsageError` for a limit that is
    less than a worker needs.

    Args:
        limits: The limits of the run.
        seconds: The longest time of one answer, if that is more than the limit `seconds`.
        n_bytes: The largest file that is written or copied.
    """
    if sys.platform.startswith("linux") and not is_dir(Path("/proc/self/fd")):
        # Without it no process finds the private copy of a database.
        raise MachineError("this machine shows a process no files of its own: /proc is not mounted", hint="mount -t proc proc /proc")
    memory = int(limits["memory_mib"])
    if memory < LEAST_MEMORY_MIB:
        message = f"limit memory_mib is {memory}: a worker takes {LEAST_MEMORY_MIB} MiB of address space before it reads an answer"
        raise UsageError(message, hint=f"--limit memory_mib={LEAST_MEMORY_MIB} or more")
    cpu_seconds = max(seconds, limits["seconds"])
    needed: dict[str, tuple[float, str, str]] = {
        "AS": (memory * _MIB, "ulimit -v", f"of address space: a worker may take {memory} MiB (limit memory_mib)"),
        "DATA": (memory * _MIB, "ulimit -d", f"of data: a worker may take {memory} MiB (limit memory_mib)"),
        "CPU": (cpu_seconds, "ulimit -t", f"of CPU time: one answer may take {cpu_seconds:g} s (limit seconds)"),
        "FSIZE": (n_bytes, "ulimit -f", f"a file: this run writes one of {n_bytes} bytes"),
        "NOFILE": (_FILES + _FILES_A_JOB, "ulimit -n", f"open files: a run needs {_FILES + _FILES_A_JOB}"),
        "STACK": (_STACK, "ulimit -s", f"of stack: a deep answer takes up to {_STACK >> 10} KiB"),
    }
    for name, (least, command, what) in needed.items():
        if (most := _soft_limit(name)) is not None and most < least:
            raise MachineError(f"this machine gives a process {_show_limit(name, most)} {what}", hint=_cure(name, command, most))


def jobs_that_fit(jobs: int, sizes: list[int], limits: Mapping[str, int | float]) -> tuple[int, str]:
    """Return (how many answers can be scored in parallel, why that is less than `jobs`).

    Args:
        jobs: The requested number.
        sizes: The bytes of each answer.
        limits: The limits of the run.

    Raises:
        MachineError: Not even one answer fits.
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
        raise MachineError(message, hint="score on a machine, or in a group, with more memory")
    return (n, f"{n_bytes // _MIB} MiB of memory left ({where})") if n < fits else (fits, why)


def memory_room() -> tuple[int, str] | None:
    """Return the free memory of this process's groups and of the machine as (bytes, file it was read from); None if unknown."""
    rooms = []
    if (limit := memory_limit()) is not None:
        n_bytes, file = limit
        rooms.append((max(0, n_bytes - _used_bytes(file.parent)), str(file)))
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        available = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
        swap = next(int(line.split()[1]) for line in lines if line.startswith("SwapFree:"))
        rooms.append(((available + swap) << 10, "/proc/meminfo"))
    return min(rooms, default=None)


def _used_bytes(group: Path) -> int:
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


def _show_limit(name: str, most: int) -> str:
    if name in ("AS", "DATA"):
        return f"{most // _MIB} MiB"
    return {"CPU": f"{most} s", "FSIZE": f"{most} bytes for", "STACK": f"{most >> 10} KiB"}.get(name, str(most))


def _cure(name: str, command: str, most: int) -> str:
    raised = f"raise it ({command})"
    if name in ("AS", "DATA") and most // _MIB >= LEAST_MEMORY_MIB:
        return f"{raised}, or score under it: --limit memory_mib={most // _MIB}, which the run's signature then says"
    return f"{raised}, or --limit seconds={most}" if name == "CPU" and most else raised
