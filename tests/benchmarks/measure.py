"""Time whole processes: wall and CPU seconds and peak memory, two things side by side in one run.

Every command finds its modules compiled, as after an installation: the first run, which is not counted, writes what is missing. A developer
who keeps Python from writing bytecode would otherwise measure its compiler, and of one side alone: pandas comes compiled.
"""

import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The median cost of one command over n runs: seconds of wall clock and CPU (children included), peak memory in MiB."""

    wall_seconds: float
    cpu_seconds: float
    peak_mib: float
    n: int


def one_run(command: Sequence[str], *, cwd: str | None = None) -> tuple[float, float, float]:
    """(wall seconds, CPU seconds, peak MiB) of one process and the children it waited for."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=cwd, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)} ended with exit code {process.returncode}")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def side_by_side(commands: dict[str, Sequence[str]], *, n: int = 5, cwd: str | None = None) -> dict[str, Cost]:
    """The median cost of each command; the runs alternate, so that a busy machine slows all of them alike."""
    for command in commands.values():
        one_run(command, cwd=cwd)
    runs: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
    for _ in range(n):
        for name, command in commands.items():
            runs[name].append(one_run(command, cwd=cwd))
    return {name: _median(values) for name, values in runs.items()}


def cpu_seconds(tasks: dict[str, Callable[[], object]], n: int) -> dict[str, float]:
    """The median CPU seconds of each task; the runs alternate, so that a busy machine slows all of them alike."""
    found: dict[str, list[float]] = {name: [] for name in tasks}
    for task in tasks.values():
        task()
    # As in a worker: what was imported before is none of the work, also not for the garbage collector.
    gc.freeze()
    for _ in range(n):
        for name, task in tasks.items():
            started = time.process_time()
            task()
            found[name].append(time.process_time() - started)
    return {name: statistics.median(values) for name, values in found.items()}


def _median(values: Sequence[tuple[float, float, float]]) -> Cost:
    wall, cpu, peak = (statistics.median(column) for column in zip(*values, strict=True))
    return Cost(wall_seconds=wall, cpu_seconds=cpu, peak_mib=peak, n=len(values))


def python(code: str) -> list[str]:
    """A command that runs this code in the current interpreter."""
    return [sys.executable, "-c", code]
