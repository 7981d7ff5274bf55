"""The time that counts is what a process had: it runs or sleeps, and does not wait for a CPU that others have; no verdict moves by it."""

import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from evalsuite.sandbox import limits
from evalsuite.sandbox.limits import BLIND_TIMES, WALL_TIMES, Clock, Verdict, descendants
from tests.conformance.recorded import gold_folder, submission_folder, submissions
from tests.conftest import ROOT, is_default_corpus
from tests.processes import started
from tests.runs.made import write_file, write_sides

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's own account of each thread")
SPIN = [sys.executable, "-S", "-c", "while True: pass"]


@contextmanager
def busy(n: int) -> Iterator[None]:
    """Neighbours that take every CPU they can get, as long as the block lasts."""
    with ExitStack() as stack:
        for _ in range(n):
            stack.enter_context(started(SPIN, seconds=1800))
        yield


# So many that a program has a CPU for a quarter of the time.
MANY = 4 * (os.cpu_count() or 1)


def until_over(watched: Clock, seconds: float) -> Verdict:
    """What a clock says in the end, looked at as often as it asks for."""
    while not (verdict := watched.is_over(seconds)):
        time.sleep(watched.wait(seconds))
    return verdict


@linux
def test_a_neighbours_load_costs_nothing() -> None:
    """Beside many busy processes what a program that computes is charged is what it had of a CPU, however long it takes."""
    with busy(MANY), started(SPIN) as program:
        watched = Clock(lambda: [program.pid])
        before = time.clock_gettime((~program.pid << 3) | 2)
        assert until_over(watched, 0.2)
        taken = time.clock_gettime((~program.pid << 3) | 2) - before
    assert taken > watched.seconds_used / 2
    assert watched.waited > watched.seconds_used


@linux
def test_a_sleeper_ends_on_time_beside_any_load() -> None:
    """What a program sleeps is its own: none of it is taken for waiting."""
    with busy(MANY), started(["sleep", "60"]) as program:
        time.sleep(0.2)
        watched = Clock(lambda: [program.pid])
        assert until_over(watched, 0.4) == "late"
    assert watched.waited < 0.1


class Told:
    """What the kernel tells a clock, step by step: how long the step was, then what is new of delay and CPU, and whether it is told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, told: bool = True, throttled: float = 0.0, state: str = "") -> None:
        self.at, self.delay, self.cpu, self.told = 100.0, 0.0, 0.0, told
        self.throttled, self.step_throttled = 0.0, throttled
        monkeypatch.setattr(limits.time, "monotonic", lambda: self.at)
        monkeypatch.setattr(limits, "throttled_seconds", lambda: self.throttled)
        self.slices = 0
        monkeypatch.setattr(limits, "_state", lambda _: state)
        monkeypatch.setattr(Clock, "_differences", lambda clock: self.differences(clock))

    def watch(self) -> Clock:
        """A clock of one thread that is known already."""
        watched = Clock()
        watched._known = {"/proc/1/task/1": (1.0, 1.0, 0)}
        return watched

    def differences(self, clock: Clock) -> tuple[float, float, bool]:
        """What is new, as the clock would read it; a thread that used a CPU had another time slice."""
        self.slices += self.cpu > 0
        clock._known = dict.fromkeys(clock._known, (1.0, 1.0, self.slices))
        return self.delay, self.cpu, self.told

    def after(self, watched: Clock, *, seconds: float, passed: float, delay: float = 0.0, cpu: float = 0.0) -> Verdict:
        """The verdict after so long on the wall, looked at every half second; delay and CPU are shares of that."""
        for _ in range(round(passed * 2)):
            self.at += 0.5
            self.throttled += self.step_throttled / 2
            self.delay, self.cpu = delay / 2, cpu / 2
            if verdict := watched.is_over(seconds):
                return verdict
        return ""


@pytest.mark.parametrize(
    ("told", "state", "delay", "cpu", "verdict", "at"),
    [
        ({}, "", 0.0, 1.0, "late", 10),  # computes
        ({}, "", 0.0, 0.0, "late", 10),  # sleeps
        ({}, "", 0.5, 0.5, "late", 20),  # has every second slice
        ({}, "", 0.5, 0.0, "late", 20),  # sleeps, and waits to go to sleep again
        ({}, "", 7.0, 1.0, "late", 10),  # eight threads on one CPU wait for each other
        ({}, "", 7.0, 0.5, "late", 20),  # the same beside a neighbour
        ({}, "", 0.95, 0.05, "delayed", 100),
        ({}, "", 1.0, 0.0, "delayed", 100),
        # The kernel does not tell who waited: CPU time counts, and three times the limit on the wall is the end.
        *(({"told": False}, "", 0.0, cpu, "late", at) for cpu, at in ((1.0, 10), (0.5, 20), (0.0, 30))),
        # The group may run for a fifth of the time: a process that could run waits, a sleeper loses nothing by it.
        ({"throttled": 0.8}, "R", 0.0, 0.2, "late", 50),
        ({"throttled": 0.8}, "S", 0.0, 0.0, "late", 10),
    ],
)
def test_what_counts(
    told: dict[str, Any], state: str, delay: float, cpu: float, verdict: Verdict, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit of 10 s is over when the process had 10 s; what its own threads take from each other counts; ten times that is the end."""
    kernel = Told(monkeypatch, **told, state=state)
    watched = kernel.watch() if state else Clock()
    assert kernel.after(watched, seconds=10, passed=at - 1, delay=delay, cpu=cpu) == ""
    assert kernel.after(watched, seconds=10, passed=2 if state else 1 if told else 1.5, delay=delay, cpu=cpu) == verdict
    assert (WALL_TIMES, BLIND_TIMES) == (10, 3)


def test_each_task_has_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was waited before a task began makes its time no longer. An hour in which nobody looked, not the one who waits either, counts as
    half a second: as the time between two looks. Who sleeps between the looks and could run at each of them gains that and no more.
    """
    told = Told(monkeypatch, state="R")
    watched = told.watch()
    assert told.after(watched, seconds=10, passed=10, cpu=0.1) == ""
    assert told.after(watched, seconds=10, passed=1, cpu=0.1) == "late"
    told = Told(monkeypatch)
    watched = Clock()
    told.after(watched, seconds=2, passed=1, cpu=1)
    told.at, told.cpu, told.delay = told.at + 3600, 0.0, 0.0
    assert watched.is_over(2) == ""
    assert watched.seconds_used == pytest.approx(1.5)
    told = Told(monkeypatch)
    watched = Clock()
    told.after(watched, seconds=10, passed=5, delay=0.9, cpu=0.1)
    watched.start()
    assert (watched.seconds_used, watched.waited) == (0, 0)
    assert told.after(watched, seconds=10, passed=9.5, cpu=1) == ""
    assert told.after(watched, seconds=10, passed=0.5, cpu=1) == "late"


@linux
def test_descendants_are_found() -> None:
    """A program that was started by a process that was started by another is one of its own."""
    code = "import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', 'while True: pass'])"
    with started([sys.executable, "-S", "-c", code]) as program:
        ends = time.monotonic() + 30
        while len(descendants(program.pid)) < 2 and time.monotonic() < ends:
            time.sleep(0.05)
        assert len(descendants(program.pid)) == 2


V1 = "12:cpu,cpuacct:/docker/abc\n7:memory:/docker/abc/job\n1:name=systemd:/docker/abc\n"
V2 = "0::/user.slice/run.scope\n"


@pytest.mark.parametrize(
    ("groups", "mounts", "folders"),
    [
        (
            V1,
            [("/", "sys/memory", "cgroup", "rw,memory"), ("/", "sys/cpu", "cgroup", "rw,cpu,cpuacct")],
            {"memory": ["sys/memory/docker/abc/job", "sys/memory/docker/abc", "sys/memory/docker", "sys/memory"]},
        ),
        # A container that sees only its own part of the tree.
        (V1, [("/docker/abc", "sys/me mory", "cgroup", "rw,memory")], {"memory": ["sys/me mory/job", "sys/me mory"], "cpu": []}),
        (
            V2,
            [("/", "sys/all", "cgroup2", "rw")],
            {"cpu": ["sys/all/user.slice/run.scope", "sys/all/user.slice", "sys/all"], "memory": None},
        ),
    ],
)
def test_groups_are_found_in_both_versions(
    groups: str, mounts: list[tuple[str, str, str, str]], folders: dict[limits.Controller, list[str] | None], tmp_path: Path
) -> None:
    """Every level counts that can be seen, the own one first; another mount has a name that is no text, with a line end of Unicode."""
    lines = ["29 23 0:25 / /mnt/\udcff\u2028 rw shared:8 - vfat /dev/sdb1 rw\n"]
    for root, place, kind, options in mounts:
        mounted = str(tmp_path / place).replace(" ", "\\040")
        lines.append(f"30 23 0:26 {root} {mounted} rw,nosuid shared:9 - {kind} cgroup {options}\n")
        (tmp_path / place).mkdir(parents=True)
    for wanted in folders.values():
        for folder in wanted or ():
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / "cgroup").write_text(groups)
    (tmp_path / "mountinfo").write_bytes("".join(lines).encode(errors="surrogateescape"))
    for controller, wanted in folders.items():
        if wanted is not None:
            assert limits.levels(controller, tmp_path) == tuple(tmp_path / folder for folder in wanted)


def test_the_smallest_limit_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all levels the smallest memory limit counts, in the words of either version; "max" and the largest number are none."""
    said = {"a": ("memory.max", "max\n"), "b": ("memory.limit_in_bytes", "536870912\n"), "c": ("memory.max", "1073741824\n")}
    for name, (file, text) in said.items():
        write_file(tmp_path / name / file, text)
    monkeypatch.setattr(limits, "levels", lambda _: tuple(tmp_path / name for name in said))
    assert limits.memory_limit() == (512 << 20, tmp_path / "b" / "memory.limit_in_bytes")
    (tmp_path / "b" / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    assert limits.memory_limit() == (1 << 30, tmp_path / "c" / "memory.max")
    (tmp_path / "c" / "memory.max").unlink()
    assert limits.memory_limit() is None


def test_a_wait_that_goes_on_is_not_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel tells a wait when it is over: until then nobody is late by it, and then what was charged is given back."""
    told = Told(monkeypatch, state="R")
    watched = told.watch()
    assert told.after(watched, seconds=10, passed=9.5, cpu=1) == ""
    told.at, told.delay, told.cpu = told.at + 1, 0.0, 0.0
    assert watched.is_over(10) == ""
    told.at, told.delay, told.cpu = told.at + 1, 1.9, 0.1
    assert watched.is_over(10) == ""
    assert watched.seconds_used == pytest.approx(9.6)
    assert told.after(watched, seconds=10, passed=0.5, cpu=1) == "late"


@pytest.mark.parametrize(("state", "reported"), [("R", 21.5), ("T", 1.0)])
def test_a_long_wait_is_not_charged_and_counts_once(state: str, reported: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that is runnable, or stopped, for 20 s is charged nothing; the kernel's report of a wait, later, pays for no sleep."""
    at, thread = 100.0, (1.0, 1.0, 1)
    monkeypatch.setattr(limits.time, "monotonic", lambda: at)
    monkeypatch.setattr(limits, "throttled_seconds", lambda: 0.0)
    monkeypatch.setattr(limits, "_threads", lambda _: ["/proc/1/task/1"])
    monkeypatch.setattr(limits, "_schedule", lambda _: thread)
    monkeypatch.setattr(limits, "_state", lambda _: state)
    watched, own = Clock(lambda: [1], stops_wait=True), Clock(lambda: [1])
    for _ in range(40):
        at += 0.5
        assert watched.is_over(5) == ""
        of_program = own.is_over(5)
    # A program that stops itself gains nothing.
    assert of_program == ("" if state == "R" else "late")
    # At most one reading stays unexplained.
    assert watched.seconds_used - watched._pending <= 0.5
    at, thread, state = at + 0.5, (1.0, reported, 2), "S"
    assert watched.is_over(5) == ""
    assert watched.seconds_used <= (0.5 if state == "S" and reported > 1 else 1.0)
    sleeping = at
    while not watched.is_over(5):
        at += 0.5
    assert at - sleeping <= 5.5


EXAMPLE, GOLD = ROOT / "example_submission_folder", ROOT / "gold"
Verdict = tuple[str, str | None, float | None, float | None]


def verdicts(submission: Path, gold: Path, **limits: float) -> dict[str, Verdict]:
    """Status, fault and both verdicts of each instance."""
    done = run(submission, gold, RunOptions(save=False, jobs=2, limits=limits))
    return {one.instance_id: (one.status, one.fault, one.official, one.strict) for one in done.results}


@linux
@pytest.mark.slow
def test_the_example_beside_a_load(tmp_path: Path) -> None:
    """Every answer of the example ends as it does alone, also with a limit that the wall clock passes while it waits for a CPU."""
    alone = verdicts(EXAMPLE, GOLD)
    with busy(20):
        assert verdicts(EXAMPLE, GOLD, seconds=3) == alone


def shuffled(folder: Path, n_rows: int) -> tuple[Path, Path]:
    """(submission, gold) of one large table: rounded, in another order, and right."""
    random_ = random.Random(5)
    rows = [(at, 100 + 899 * random_.random(), random_.choice("abcdef") * 5, random_.randint(1, 10**6)) for at in range(n_rows)]
    gold, submission = folder / "gold", folder / "submission"
    write_file(gold / "t" / "t.csv", "id,v,w,n\n" + "".join(f"{a},{b!r},{c},{d}\n" for a, b, c, d in rows))
    random_.shuffle(rows)
    write_file(submission / "t" / "t.csv", "id,v,w,n\n" + "".join(f"{a},{b:.2f},{c},{d}\n" for a, b, c, d in rows))
    return write_sides(submission, gold, {"t": ("table_match", {"gold": "t.csv", "ignore_order": True}, Path("t.csv"))})


@pytest.mark.parametrize("n_rows", [20_000, 200_000], ids=["20k", "200k"])
@linux
@pytest.mark.slow
def test_a_large_right_answer_beside_a_load(n_rows: int, tmp_path: Path) -> None:
    """An answer that needs seconds of a CPU has them, though on the wall its limit passes many times."""
    seconds = 4 if n_rows < 200_000 else 20
    with busy(20):
        assert verdicts(*shuffled(tmp_path, n_rows), seconds=seconds) == {"t": ("scored", None, 1, 1)}


@pytest.mark.slow
@pytest.mark.conformance
@linux
def test_the_recorded_suite_beside_a_load() -> None:
    """All recorded submissions end as they do alone."""
    alone = {name: verdicts(submission_folder(name), gold_folder()) for name in submissions()}
    with busy(20):
        beside = {name: verdicts(submission_folder(name), gold_folder()) for name in submissions()}
    assert beside == alone
    assert sum(map(len, alone.values())) > (500 if is_default_corpus() else 0)
