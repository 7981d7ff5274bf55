"""The time that processes had: what the clock on the wall says, less what they waited for a CPU that others had.

A right answer is no less right on a busy machine, and a program that sleeps must end on time all the same. So the time counts that a
process runs or sleeps; the time does not count in which it could run and no CPU was free (the run delay of each of its threads, as the
kernel has it in `/proc/<pid>/task/*/schedstat`), or in which its control group had used up its share. What it takes itself always counts:
threads of one process that wait for each other get nothing for it.

Where the kernel does not tell the run delay, CPU time counts, and on the wall three times the limit may pass.

The control groups that hold this process: where their files lie, and what they say of memory and of processor time.

Version 2 has one tree, version 1 one for each controller; a container often sees only its own part of either. A limit of a group holds for
all groups below it, so every level is read up to the root that can be seen.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final, Literal

Controller = Literal["cpu", "memory"]
# What stands in version 1 for "no limit" is the largest number of whole pages.
_NO_LIMIT: Final = 1 << 60


@cache
def levels(controller: Controller, process: Path = Path("/proc/self")) -> tuple[Path, ...]:
    """The folders of this process's groups that have the controller, its own first; empty where there is none (other systems too).

    Args:
        controller: which one; in version 2 a group may lack it, and then has no files of it.
        process: the folder of the process below /proc.
    """
    try:
        groups = [line.split(":", 2) for line in (process / "cgroup").read_text().splitlines()]
        mounts = [line.split() for line in (process / "mountinfo").read_text().splitlines()]
    except OSError:
        return ()
    found: list[Path] = []
    for _, names, own in groups:
        for mount in mounts:
            root, place, rest = mount[3], mount[4], mount[mount.index("-") + 1 :]
            fits = (rest[0] == "cgroup" and controller in names.split(",") and controller in rest[2].split(",")) or (
                rest[0] == "cgroup2" and not names
            )
            if fits:
                found += _upward(Path(place), root, own)
    return tuple(found)


def _upward(mount: Path, root: str, own: str) -> Iterator[Path]:
    """The folders from a group up to where its tree is mounted; `root` is the group that is seen there."""
    inside = own.removeprefix(root) if root != "/" and (own == root or own.startswith(root + "/")) else own
    group = mount / inside.strip("/")
    while group != mount and mount in group.parents:
        if group.is_dir():
            yield group
        group = group.parent
    yield mount


def throttled_seconds() -> float:
    """How long the groups of this process were kept from every CPU because their share was used up, since they exist."""
    total = 0.0
    for group in levels("cpu"):
        with suppress(OSError, ValueError):
            said = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
            total += int(said.get("throttled_usec", 0)) / 1e6 + int(said.get("throttled_time", 0)) / 1e9
    return total


def memory_limit() -> tuple[int, Path] | None:
    """(bytes, the file that says so) of the smallest memory limit of the groups of this process; None where none has any."""
    found = []
    for group in levels("memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            with suppress(OSError, ValueError):
                n_bytes = int((group / name).read_text())
                if n_bytes < _NO_LIMIT:
                    found.append((n_bytes, group / name))
    return min(found, default=None)


# `late`: it had its seconds. `delayed`: it did not have them, and so much time passed on the wall that nobody waits any longer.
Verdict = Literal["", "late", "delayed"]
# So many times its limit may pass on the wall; where run delay is not told it is the shorter one.
WALL_TIMES: Final = 10
BLIND_TIMES: Final = 3
# How often who waits has to look: what passed before a look that is long overdue counts with the CPU time that was taken in it.
TICK: Final = 0.5
_LEAST_WAIT: Final = 0.02
_OVERDUE: Final = 2.0
_LEAST_PENDING: Final = 0.01


class Clock:
    """Counts the seconds of some processes from `start` on; it goes on only when somebody looks.

    Args:
        processes: gives the numbers of the processes, asked at each look.
        with_caller: whether the thread that makes the clock counts too, because they wait for each other.
    """

    def __init__(self, processes: Callable[[], Iterable[int]] = tuple, *, with_caller: bool = False) -> None:
        self._processes = processes
        self._caller = _this_thread() if with_caller else []
        self._known: dict[str, tuple[float, float]] = {}
        self._cpu_known: dict[int, float] = {}
        self.had = self.waited = self._pending = 0.0
        self._is_blind = False
        self._at = self._began = time.monotonic()
        self._throttled = throttled_seconds()
        self._differences()

    def start(self) -> None:
        """Count from now on; what was seen of the processes before stays known, so that nothing has to be read."""
        self.had = self.waited = self._pending = 0.0
        self._began = time.monotonic()

    def over(self, seconds: float) -> Verdict:
        """Look, and say whether this many seconds are over."""
        self._look()
        if self.had - self._pending >= seconds:
            return "late"
        if self.had + self.waited >= seconds * (BLIND_TIMES if self._is_blind else WALL_TIMES):
            return "late" if self._is_blind else "delayed"
        return ""

    def looked(self) -> float:
        """The seconds that they had, as of now."""
        self._look()
        return self.had

    def wait(self, seconds: float) -> float:
        """For how long who waits may do so until the next look, where this many seconds are the limit."""
        passed = time.monotonic() - max(self._at, self._began)
        return max(_LEAST_WAIT, min(TICK, seconds - self.had) - passed)

    def is_due(self, seconds: float) -> bool:
        """Whether it is time for the next look."""
        return time.monotonic() - max(self._at, self._began) >= min(TICK, max(_LEAST_WAIT, seconds - self.had))

    def _look(self) -> None:
        at = time.monotonic()
        whole, own = at - self._at, at - max(self._at, self._began)
        self._at = at
        delay, cpu, told = self._differences()
        throttled, self._throttled = self._throttled, throttled_seconds()
        if not told:
            # Sleeping and waiting cannot be told apart here.
            self._is_blind = True
            taken = min(own, cpu)
            self.had, self.waited = self.had + taken, self.waited + own - taken
            return
        can_run = self._can_run() if self._throttled > throttled or own + self._pending - delay - cpu > _LEAST_PENDING else False
        if can_run:
            delay += self._throttled - throttled
        waited = max(0.0, min(delay, whole - cpu + self._pending, own + self._pending))
        # A machine that stood still, or a process that could not look: what passed meanwhile is nobody's.
        watched = min(own - waited, max(_OVERDUE, cpu))
        self.had, self.waited = self.had + watched, self.waited + waited
        # A wait is told when it is over: of one that goes on it is known at the next look whether it was one. What nothing explains
        # stays open for one look only, so that nobody sleeps at the cost of the clock who computes whenever it looks.
        self._pending = max(0.0, min(own, self._pending + watched - cpu)) if can_run else 0.0

    def _differences(self) -> tuple[float, float, bool]:
        """(seconds of run delay, of CPU) of all threads since this was last asked, and whether the kernel tells them."""
        known, delay, cpu, told = self._known, 0.0, 0.0, False
        self._known = {}
        numbers = list(self._processes())
        for place in (*self._caller, *(place for number in numbers for place in _threads(number))):
            ran, waited = _schedule(place)
            if ran or waited:
                told = True
                before = known.get(place, (0.0, 0.0))
                cpu, delay = cpu + max(0.0, ran - before[0]), delay + max(0.0, waited - before[1])
                self._known[place] = ran, waited
        if not told:
            taken = {number: _cpu_of(number) for number in numbers or [os.getpid()]}
            cpu = sum(max(0.0, now - self._cpu_known.get(number, 0.0)) for number, now in taken.items())
            self._cpu_known = taken
        return delay, cpu, told

    def _can_run(self) -> bool:
        """Whether a thread waits for a CPU or has one: what sleeps is kept from nothing where its group has used up its share."""
        return any(_state(place) == "R" for place in self._known)


class Alarm:
    """Rings once, from a thread of its own, when the seconds of a clock are over; not after `cancel`."""

    def __init__(self, clock: Clock, seconds: float, ring: Callable[[Verdict], None]) -> None:
        self._clock, self._seconds, self._ring = clock, seconds, ring
        self._cancelled = threading.Event()
        threading.Thread(target=self._watch, name="alarm", daemon=True).start()

    def _watch(self) -> None:
        while not self._cancelled.wait(self._clock.wait(self._seconds)):
            if verdict := self._clock.over(self._seconds):
                self._ring(verdict)
                return

    def cancel(self) -> None:
        """Be quiet from now on."""
        self._cancelled.set()


class Deadline:
    """When the time of what this thread does is over: called often, it looks seldom. How long that may take on the wall, others say."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self._clock = seconds, Clock(with_caller=True)
        self._is_over = False

    def __call__(self) -> bool:
        """Whether the seconds are over."""
        if not self._is_over and self._clock.is_due(self.seconds):
            self._is_over = self._clock.over(self.seconds) == "late"
        return self._is_over


def _this_thread() -> list[str]:
    """The folder of the calling thread for who mounted /proc, whose numbers are not those of a namespace of processes."""
    try:
        return [str(Path("/proc", Path("/proc/thread-self").readlink()))]
    except OSError:
        return []


def _threads(number: int) -> list[str]:
    """The folders of a process's threads."""
    folder = f"/proc/{number}/task"
    try:
        return [f"{folder}/{thread}" for thread in os.listdir(folder)]  # noqa: PTH208
    except OSError:
        return []


def _schedule(place: str) -> tuple[float, float]:
    """(seconds on a CPU, seconds of waiting for one) of a thread; zeros where the kernel does not say, or the thread is gone."""
    try:
        ran, waited, _ = _text(f"{place}/schedstat").split()
        return int(ran) / 1e9, int(waited) / 1e9
    except (OSError, ValueError):
        return 0.0, 0.0


def _state(place: str) -> str:
    """The letter of what a thread does."""
    try:
        return _text(f"{place}/stat").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def _cpu_of(number: int) -> float:
    """The CPU time of a process by its own clock, which Linux lets others read; 0 where there is none."""
    try:
        return time.clock_gettime((~number << 3) | 2)
    except (AttributeError, OSError, OverflowError):
        return 0.0


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - a path a thread, many times a second
        return file.read()


def descendants(number: int) -> list[int]:
    """A process and all that it started, directly or not, as far as they are there."""
    found, waiting = [], [number]
    while waiting:
        parent = waiting.pop()
        found.append(parent)
        try:
            threads = os.listdir(f"/proc/{parent}/task")  # noqa: PTH208
            waiting += [int(child) for one in threads for child in _text(f"/proc/{parent}/task/{one}/children").split()]
        except (OSError, ValueError):
            continue
    return found
