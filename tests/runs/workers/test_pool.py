"""The pool: a death or a time-out costs one instance, and nothing else about workers moves a result."""

import json
import math
import mmap
import os
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import EvalsuiteError, FaultError, MachineError
from evalsuite.core.status import lacks_setup
from evalsuite.core.types import Result, Task
from evalsuite.gold.layouts import read_gold, read_submission
from evalsuite.readers.gold_files import gold_inodes
from evalsuite.readers.limits import resolve_limits
from evalsuite.runs.answer_workers import LostError, score_answers
from evalsuite.runs.instance_checks import JUDGE, missing_result
from evalsuite.runs.plan import plan
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from evalsuite.runs.task_execution import score_task
from evalsuite.runs.worker_pool import Pool, Setup, WorkerPair, open_pair, seconds_of, set_up
from evalsuite.sandbox import fork_server
from evalsuite.sandbox.fork_server import ForkServer, Worker
from evalsuite.sandbox.limits import Budget, Clock, descendants
from evalsuite.sandbox.messages import DATA, FULL, OFFICIAL, pack_tasks, reply, send
from evalsuite.sandbox.rpc_client import RpcClient, await_ready
from evalsuite.sandbox.worker_main import Memory, exit_status
from evalsuite.scorers import SCORERS
from tests.conftest import ROOT
from tests.runs.made import load_scorer, make, write_sides
from tests.runs.workers.test_executors import texts

pytestmark = pytest.mark.usefixtures("quick_fork_servers")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


@pytest.fixture
def own_fork_servers(quick_fork_servers: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork servers are started as for a user: children of this process."""
    monkeypatch.setattr(fork_server, "subprocess", subprocess)


Alone = Callable[[], None]


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Alone:
    """Has every answer go into its worker pair by itself."""
    return partial(monkeypatch.setattr, "evalsuite.runs.worker_pool._MOST_TASKS", 1)


@pytest.fixture(autouse=True)
def pairs_at_once(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """As many pairs as jobs, however small the answers are."""
    if request.function is not test_a_pair_is_opened_where_there_is_work_for_it:
        monkeypatch.setattr("evalsuite.runs.worker_pool._MEANWHILE", {})


EXAMPLE, GOLD = ROOT / "example_submission_folder", ROOT / "gold"


class RiggedLane(WorkerPair):
    """A worker pair in which things happen to a worker: `rigged` maps (role, instance) to what is done once it has its order."""

    rigged: dict[tuple[str, str], str]

    def take(self, tasks: Sequence[Task], order: str) -> None:
        """Stop a worker before it gets the order, so that it is in the middle of it when it is killed or left hanging."""
        fates = {role: self.rigged.get((role, tasks[0].instance.instance_id)) for role in self.workers}
        for role, fate in fates.items():
            if fate is not None and fate != "die after":
                os.kill(self.workers[role].pid, signal.SIGSTOP)
            if fate == "hang":
                # What others stop has no time; here the stop stands for work without end.
                self.clock = Clock(lambda: [worker.pid for worker in self.workers.values()])
        WorkerPair.take(self, tasks, order)
        for role, fate in fates.items():
            if fate == "die":
                # As of a parser that reads where it must not.
                os.kill(self.workers[role].pid, signal.SIGSEGV)
                os.kill(self.workers[role].pid, signal.SIGCONT)
            elif fate is not None and fate.startswith("killed"):
                os.kill(self.workers[role].pid, signal.SIGKILL)
            if fate == "killed once":
                del self.rigged[role, tasks[0].instance.instance_id]

    def pop_task(self) -> Task:
        """Kill a worker between two tasks."""
        task = WorkerPair.pop_task(self)
        for (role, rigged), fate in self.rigged.items():
            if fate == "die after" and rigged == task.instance.instance_id:
                self.workers[role].kill()
        return task


def opening(kind: type[WorkerPair], **more: Any) -> tuple[Callable[[Setup, ForkServer], WorkerPair], list[WorkerPair]]:
    """What opens pairs of this kind, with `more` attributes, for a pool; and the pairs that it opened."""
    opened: list[WorkerPair] = []

    def open_one(setup: Setup, fork_server: ForkServer) -> WorkerPair:
        opened.append(kind(workers=open_pair(setup, fork_server).workers))
        for name, value in more.items():
            setattr(opened[-1], name, value)
        return opened[-1]

    return open_one, opened


def tables(folder: Path, n: int, *, answer: str = "t.csv", func: str = "table_match", n_rows: int = 20) -> tuple[Path, Path]:
    """(submission, gold) of n equal tables, all handed in right; `answer` is the path that the metadata names. No rows: no files."""
    table = "id,v\n" + "".join(f"{row},{row * 1.5}\n" for row in range(n_rows))
    is_text = answer.endswith(".csv")
    parameters = {"gold": "t.csv"} if is_text else {"gold": "t.duckdb", "condition_tabs": ["t"]}
    case = (func if is_text else "duckdb_match", parameters, Path(answer))
    files = {f"t{at}/t.csv": table for at in range(n if n_rows else 0)}
    return write_sides(folder / "submission", folder / "gold", {f"t{at}": case for at in range(n)}, files)


def tasks_of(submission: Path, gold: Path, **limits: float) -> list[Task]:
    """The tasks of a submission."""
    resolved = resolve_limits(limits)
    return plan(read_gold(gold), read_submission(submission), rules="official", limits=resolved)


def scored(folder: Path, rigged: dict[tuple[str, str], str], *, jobs: int, n: int = 8, **limits: float) -> tuple[dict[str, Result], int]:
    """The results of n right tables in a pool of rigged worker pairs, and how many worker pairs it took."""
    submission, gold = tables(folder, n)
    open_one, opened = opening(RiggedLane, rigged=rigged)
    pool = Pool(jobs=jobs, isolation="process", gold_inodes=gold_inodes(gold), open_one=open_one)
    results = {result.instance_id: result for result in pool.results(tasks_of(submission, gold, **limits))}
    assert all(not worker.alive for pair in opened for worker in pair.workers.values()), "a worker was left behind"
    return results, len(opened)


@pytest.mark.parametrize(
    ("kind", "n", "n_pairs"),
    [
        *(("text", n, n_pairs) for n, n_pairs in ((64, 1), (65, 2), (300, 4))),
        *(("number", 65, 2), ("table", 8, 1), ("table", 9, 2), ("table", 17, 3), ("long table", 3, 3), ("database", 3, 3)),
    ],
)
def test_a_pair_is_opened_where_there_is_work_for_it(kind: str, n: int, n_pairs: int, tmp_path: Path) -> None:
    """Of four jobs one scores 64 texts or 8 small tables before another pair would be open; any other answer is worth one."""
    n_rows, answer = (2000, "t.csv") if kind == "long table" else (2, "t.duckdb" if kind == "database" else "t.csv")
    func = {"text": "string_match", "number": "number_match"}.get(kind)
    submission, gold = texts(tmp_path, n, func=func) if func else tables(tmp_path, n, answer=answer, n_rows=n_rows)
    open_one, opened = opening(WorkerPair)
    pool = Pool(jobs=4, isolation="process", gold_inodes=gold_inodes(gold), open_one=open_one)
    assert len(list(pool.results(tasks_of(submission, gold)))) == n
    assert len(opened) == n_pairs


DIED, UNSCORED = ("crashed", 0, "WORKER_DIED"), ("unscored", None, "LIMIT")


@pytest.mark.parametrize(
    ("fate", "names", "jobs", "lost", "n_pairs"),
    [
        *(("die", ("t1", "t4"), jobs, DIED, n_pairs) for jobs, n_pairs in ((1, 3), (2, 2))),
        # Killed from outside, as for want of memory: at once in the middle of other tasks, and again when tried alone.
        *(("killed once", ("t0", "t4"), jobs, None, 1) for jobs in (1, 2)),
        ("killed", ("t1", "t4"), 2, UNSCORED, 2),
        # After its result, before the next task comes, which has no part in it.
        ("die after", ("t1", "t5"), 1, None, 3),
        # With nothing left to do.
        ("die", ("t0",), 1, DIED, 1),
    ],
)
def test_a_death_costs_one_instance(
    fate: str, names: Sequence[str], jobs: int, lost: tuple[str, float | None, str] | None, n_pairs: int, tmp_path: Path, alone: Alone
) -> None:
    """A worker that dies with a task in it loses that task and no other; the spare takes over. Who kills one from outside costs nothing
    where it happens once; where the second try ends alike nobody knows what the answer is worth: no score, and never a 0.
    """
    if fate != "killed once":
        alone()
    rigged = dict.fromkeys(zip(("reader", "judge"), names, strict=False), fate)
    n = 8 if len(names) > 1 else 1
    results, n_opened = scored(tmp_path, rigged, jobs=jobs, n=n)
    found = {name: (r.status, r.score, r.fault) for name, r in results.items() if r.official != 1}
    assert found == dict.fromkeys(names if lost else (), lost)
    for one in (results[name] for name in names if lost == UNSCORED):
        assert (one.strict, "operating system killed the worker" in one.reason, lacks_setup(one)) == (None, True, True)
    assert len(results) == n
    # With two jobs the worker pair that is left may do all the rest.
    assert n_opened >= n_pairs


# Says its official verdict, then waits while `WAIT` exists. What it says in the end is longer than what a socket takes at once.
PATIENT = """
import time
from pathlib import Path

from evalsuite.core.registry import scorer; from evalsuite.core.plugin_calls import report_official
from evalsuite.core.types import Score, Table


@scorer(reads="table", gold_files=str)
def patient(prediction: Table, *, gold: Table) -> Score:
    score = Score(official=float(prediction == gold), strict=float(prediction == gold), details={"long": "x" * 600_000})
    report_official(score)
    while Path(WAIT).exists():
        time.sleep(0.01)
    return score
"""
PHASES = ("starting", "idle", "reading", "ahead", "strict", "result", "between", "reading")


class DoomedLane(WorkerPair):
    """A worker pair of a run in which one process is killed in each of `phases`, in their order; `doom` kills it."""

    phases: list[str]
    doom: Callable[[WorkerPair], None]

    def _meet(self, phase: str) -> None:
        if self.phases[:1] == [phase]:
            with suppress(ProcessLookupError, FileNotFoundError):
                self.doom(self)

    def await_ready(self) -> None:
        """Before the workers stand ready."""
        self._meet("starting")
        WorkerPair.await_ready(self)

    def take(self, tasks: Sequence[Task], order: str) -> None:
        """Before the first task; before it is read; when the reader is ahead of the judge with more than their socket has room for."""
        self._meet("idle")
        reader, phase = self.workers["reader"], self.phases[0] if self.phases else ""
        # With fewer tasks the reader cannot be ahead.
        phase = "" if phase == "ahead" and len(tasks) <= 3 else phase
        stopped = {"reading": reader, "ahead": self.judge}.get(phase)
        if phase == "reading":
            with suppress(ProcessLookupError):
                os.kill(reader.pid, signal.SIGSTOP)
        WorkerPair.take(self, tasks, order)
        # The judge has told the reader what to read before it stops.
        for n_read in (1, 3) if phase == "ahead" else ():
            for _ in range(30_000):
                if not reader.alive or len(_peeked(reader)) >= n_read * len(_PROGRESS):
                    break
                time.sleep(0.001)
            else:
                raise AssertionError("an answer fills so much of the socket that the reader cannot be ahead")
            with suppress(ProcessLookupError):
                os.kill(self.judge.pid, signal.SIGSTOP)
        if stopped is not None:
            self._meet(phase)
            with suppress(ProcessLookupError):
                os.kill(stopped.pid, signal.SIGCONT)

    def receive_results(self) -> list[Result]:
        """When the official verdict is known, and when half a result was sent."""
        results = WorkerPair.receive_results(self)
        if self.n_official:
            self._meet("strict")
        if self.judge._incoming._rest:
            self._meet("result")
        return results

    def pop_task(self) -> Task:
        """When the next task is under way."""
        task = WorkerPair.pop_task(self)
        self._meet("between")
        return task


# The frame that a reader sends to the parent for each answer that it has read.
_PROGRESS = bytes(8) + reply(None)


def _peeked(worker: Worker) -> bytes:
    """What a worker has said that the parent did not take yet."""
    with suppress(OSError):
        return worker.control.recv(99, socket.MSG_PEEK)
    return b""


def _victim(pair: WorkerPair, name: str) -> int:
    """The process id of a worker, of the fork server, or of the process outside its namespace that waits for it. Raises OSError."""
    if name in pair.workers:
        return pair.workers[name].pid
    outer = pair.judge.fork_server._process.pid
    inner = Path(f"/proc/{outer}/task/{outer}/children").read_text().split()
    if not inner:
        raise ProcessLookupError("it is dead already")
    return int(inner[0]) if name == "fork server" else outer


@pytest.fixture(scope="session")
def wait(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file for which the scorer `patient` waits."""
    plugin = tmp_path_factory.mktemp("plugin") / "patient.py"
    plugin.write_text(PATIENT.replace("WAIT", repr(str(plugin.with_name("wait")))))
    SCORERS.load_file(plugin)
    return plugin.with_name("wait")


# Of each pair the test line kills one today and the other tomorrow: a worker, and a process that starts workers.
PAIRS = (("reader", "judge"), ("fork server", "its parent"))
KILLED = [((name,), signal.SIGKILL) for names in PAIRS for name in names]
# Another signal ends a process in the same way.
OTHERS = ((("reader",), signal.SIGHUP), (("fork server",), signal.SIGTERM))


@pytest.mark.parametrize(
    ("names", "stop"),
    [*((names, signal.SIGKILL) for names in PAIRS), *(pytest.param(*one, marks=pytest.mark.slow) for one in (*KILLED, *OTHERS))],
)
@linux
def test_each_process_dies_in_each_phase(
    names: Sequence[str], stop: signal.Signals, wait: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is ended from outside, once in each phase of its work: every answer has its right score in the end."""
    name = names[date.today().toordinal() % len(names)]
    # A batch of answers of which each fills half a socket.
    monkeypatch.setattr("evalsuite.runs.worker_pool._MOST_BYTES", 1 << 24)
    monkeypatch.setattr("evalsuite.runs.worker_pool._BATCHES_A_PAIR", 2)
    submission, gold = tables(tmp_path, 20, func="patient", n_rows=4000)
    for place in submission.rglob("*.csv"):
        # Other bytes than gold's, so that it is read.
        place.write_bytes(place.read_bytes().rstrip(b"\n"))
    phases = list(PHASES)

    def doom(pair: WorkerPair) -> None:
        os.kill(_victim(pair, name), stop)
        phases.pop(0)
        if phases[:1] == ["strict"]:
            wait.touch()
        else:
            wait.unlink(missing_ok=True)

    open_one, _ = opening(DoomedLane, phases=phases, doom=doom)
    pool = Pool(jobs=2, isolation="process", gold_inodes=gold_inodes(gold), open_one=open_one)
    results = list(pool.results(tasks_of(submission, gold)))
    assert phases == []
    assert [(result.status, result.score, result.strict) for result in results] == [("scored", 1, 1)] * 20


@pytest.mark.parametrize("n_kills", [10, pytest.param(300, marks=pytest.mark.slow)])
@linux
@pytest.mark.usefixtures("own_fork_servers")
def test_no_kill_from_outside_makes_a_zero(n_kills: int, tmp_path: Path) -> None:
    """Whichever workers die at whatever moment, those that fork them included, an answer that is right is right or unscored."""
    submission, gold = tables(tmp_path, 60)
    random_, results, is_done = random.Random(n_kills), dict[str, Result](), threading.Event()
    n_killed = 0
    # What other tests of this process share, a viewer or a server, and what that starts meanwhile, is no worker of these runs.
    others = descendants(os.getpid())

    def kill() -> None:
        nonlocal n_killed
        while n_killed < n_kills and not is_done.wait(random_.random() / 20):
            spared = {number for other in others[1:] for number in descendants(other)} | {*others}
            if workers := [number for number in descendants(os.getpid()) if number not in spared]:
                with suppress(ProcessLookupError):
                    os.kill(random_.choice(workers), signal.SIGKILL)
                    n_killed += 1

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        while not results or n_killed < n_kills:
            pool = Pool(jobs=3, isolation="process", gold_inodes=gold_inodes(gold))
            # No process can be started where all of them die at once: that ends a run, and says so.
            with suppress(EvalsuiteError):
                results |= {result.instance_id: result for result in pool.results(tasks_of(submission, gold))}
                assert {result.official for result in results.values()} <= {1, None}
                assert {result.status for result in results.values() if result.official is None} <= {"unscored"}
    finally:
        is_done.set()
        killer.join()
    assert len(results) == 60


@pytest.mark.parametrize(
    "place", ["readers.csv_table._read_with_csv", "readers.paths.AnswerFiles.digests", "runs.task_execution.table_names"]
)
def test_a_bug_is_no_zero(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the reader, or around the scorer, is the tool's fault: the answer has no score."""

    def fail(*_: object, **__: object) -> None:
        raise KeyError("planted")

    monkeypatch.setattr(f"evalsuite.{place}", fail)
    # A worker's call, of which nothing must stay in this process.
    (line,) = copy_context().run(list, score_answers(JUDGE, pack_tasks(tasks_of(*tables(tmp_path, 1)))))
    row = json.loads(line)
    assert (row["status"], row["fault"], row["score"], row["official"]) == ("scorer_fault", "SCORER_ERROR", None, None)


def test_gold_that_is_read_at_the_second_try_makes_no_table_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the names of its tables the reader reads none, which is no fault of the answer."""

    def fail(*_: object) -> None:
        raise FaultError("BAD_GOLD_FILE")

    (task,) = tasks_of(*make(tmp_path, n=1))
    assert score_task(task).official == 1
    monkeypatch.setattr("evalsuite.readers.load_answer.gold_table_names", fail)
    result = score_task(task)
    assert (result.status, result.fault, result.score) == ("unscored", "LIMIT", None)


@pytest.mark.parametrize(
    ("name", "deed", "said"),
    [
        ("crashes", "ctypes.string_at(0)", "crashes ended its process (signal 11)"),
        ("exits", "os._exit(0)", "exits ended its process (exit status 0)"),
        # Of the next answer, between two calls of the scorer.
        ("blocks", "workers.judge_answers = None", "an error in evalsuite's own code ended the worker while the answer was being compared"),
        ("breaks", "workers._judge_answer = None", "an error in evalsuite's own code ended the worker while the answer was being compared"),
    ],
)
def test_a_plugin_or_a_bug_that_ends_a_worker_makes_no_zero(name: str, deed: str, said: str, tmp_path: Path, alone: Alone) -> None:
    """As where they raise: the answer has no score, and the others are scored. A bug of ours has its own status; for lack of memory the
    answer may be responsible.
    """
    alone()
    bug, short = LostError(), LostError()
    bug.__cause__, short.__cause__ = KeyError(), MemoryError()
    assert [exit_status(error) for error in (KeyError(), bug, short, SystemExit())] == [70, 70, 1, 1]
    before = "import ctypes, os\nfrom evalsuite.runs import answer_workers as workers"
    odd = "city 1" if name in ("blocks", "breaks") else "die"
    load_scorer(tmp_path, name, f"if prediction == '{odd}': {deed}\nreturn Score(official=1.0, strict=1.0)", before=before)
    submission, gold = texts(tmp_path, 3, func=name, odd="die")
    results = run(submission, gold, RunOptions(jobs=1, save=False)).results
    assert [(r.status, r.score) for r in results] == [("scored", 1.0)] * 2 + [("scorer_fault", None)]
    assert results[2].reason == f"SCORER_ERROR: {said}"


@linux
def test_memory_is_short_where_half_the_room_is_taken() -> None:
    """The room that counts is the one the limit leaves, touched or not: 1 MiB is too little for any process, as long as it lasts."""
    n_mib = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE >> 20
    short, roomy = Memory({"memory_mib": 1}), Memory({"memory_mib": 2 * n_mib + 1024})
    assert short.is_short()
    assert short.is_short()
    assert not roomy.is_short()
    with mmap.mmap(-1, 1 << 30):
        assert not roomy.is_short(of_files=False)
        assert roomy.is_short()
    assert not roomy.is_short()


def test_a_worker_that_keeps_its_memory_is_replaced(tmp_path: Path) -> None:
    """What one answer left in a worker's memory cannot make the next one fail: the answers behind it get another worker pair."""
    body = "answer_workers.Memory.is_short = lambda *_, **__: True\nreturn Score(official=1.0, strict=1.0)"
    load_scorer(tmp_path, "hoarder", body, before="from evalsuite.runs import answer_workers")
    submission, gold = texts(tmp_path, 8, func="hoarder")
    open_one, opened = opening(WorkerPair)
    pool = Pool(jobs=1, isolation="process", gold_inodes=frozenset(), open_one=open_one)
    assert [result.official for result in pool.results(tasks_of(submission, gold))] == [1] * 8
    assert len(opened) == 8


@linux
@pytest.mark.parametrize(("n", "n_answers"), [(2, 12), (24, 40)])
def test_a_reader_that_is_full_between_two_orders_costs_nothing(
    n: int, n_answers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that says to its judge that it is full after each `n`th answer, the last of an order or not, costs no answer its score."""
    full = (
        f"import sys; sys.path[:] = [{str(ROOT)!r}, *{{path!r}}]; from itertools import count; "
        "from evalsuite.runs import answer_workers as w; "
        f"at = count(1); w.Memory.is_short = lambda *_, of_files=None: of_files is None and next(at) % {n} == 0; "
    )
    monkeypatch.setattr(fork_server, "_CODE", full + fork_server._CODE)
    submission, gold = tables(tmp_path, n_answers, n_rows=3)
    for at in range(0, n_answers, 3):
        (submission / f"t{at}" / "t.csv").write_text("id,v\n1,2\n")
    pool = Pool(jobs=1, isolation="process", gold_inodes=frozenset())
    results = {result.instance_id: (result.fault, result.official) for result in pool.results(tasks_of(submission, gold))}
    assert results == {f"t{at}": (None, float(at % 3 > 0)) for at in range(n_answers)}


def test_a_thousand_bad_paths_do_not_nest(tmp_path: Path) -> None:
    """Answers that are settled while a worker pair is fed are settled one after another, however many there are."""
    submission, gold = tables(tmp_path, 1200, answer="../x.duckdb", n_rows=0)
    pool = Pool(jobs=1, isolation="process", gold_inodes=frozenset())
    assert {result.fault for result in pool.results(tasks_of(submission, gold))} == {"BAD_PATH"}


SETUP: dict[str, Any] = {"isolation": "process", "submission_folder": EXAMPLE, "gold_folder": GOLD, "gold_inodes": frozenset()}


@pytest.fixture
def pair(own_fork_servers: None) -> Iterator[WorkerPair]:
    """A worker pair of the example that stands ready."""
    server = ForkServer(EXAMPLE)
    pair = open_pair(set_up(limits=resolve_limits(), **SETUP), server)
    pair.await_ready()
    yield pair
    pair.kill()
    server.close()


def test_a_pair_of_which_only_the_reader_starts_leaves_no_worker(pair: WorkerPair) -> None:
    """Without a judge there is no pair: the reader that was forked ends, and the error says that no worker could be started."""
    reader, forked = pair.workers["reader"], iter([pair.workers["reader"]])

    class Full:
        alive = True

        def fork(self, _: socket.socket) -> Worker:
            if (worker := next(forked, None)) is None:
                raise OSError
            return worker

    with pytest.raises(EvalsuiteError, match="cannot be started"):
        open_pair(set_up(limits=resolve_limits(), **SETUP), Full())  # type: ignore[arg-type]
    assert not reader.alive


@linux
@pytest.mark.usefixtures("own_fork_servers")
def test_the_reason_why_no_worker_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system refuses is said, not guessed: an interpreter that this user may not run, files that may not be opened, and with
    which status a worker ended before it was ready, unless it was ended here, because it sent what nobody can read.
    """
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", str(tmp_path))
        with pytest.raises(MachineError, match=re.escape(f"a worker process cannot be started: {tmp_path}: Permission denied")):
            ForkServer()
    server = ForkServer(tmp_path)
    worker = server.fork()
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(MachineError, match=r"it ended before it was ready \(exit status -9\)"):
        await_ready(worker)
    worker = server.fork()
    ours, theirs = socket.socketpair()
    theirs.sendall(b"\xff" * 64)
    worker.control.close()
    worker.control = ours
    with theirs, pytest.raises(MachineError, match="it was ended because its first message cannot be read"):
        await_ready(worker)
    # Its three streams, its socket, and the one that it is sent.
    server.call("resource:setrlimit", resource.RLIMIT_NOFILE, (5, 5))
    with pytest.raises(MachineError, match="a worker process cannot be started: Too many open files"):
        server.fork()
    server.close()
    with pytest.raises(MachineError, match="a worker process cannot be started: the process that starts workers has ended"):
        server.fork()


@pytest.mark.usefixtures("own_fork_servers")
def test_a_client_replaces_its_fork_server_that_was_killed(tmp_path: Path) -> None:
    """The system may kill the process that forks a client's workers: the next call has another."""
    with RpcClient(readable=[], hostile=tmp_path, limits=resolve_limits()) as client:
        client.call("os:getpid")
        client.end()
        assert client._fork_server is not None
        client._fork_server._process.kill()
        assert client.call("os:getpid") > 0


def test_a_readers_half_word_does_not_hold_up_the_parent(pair: WorkerPair) -> None:
    """Workers that were taken over cannot make the parent wait: it takes what is there, whatever that is, and half a frame is no result."""
    for role in ("reader", "judge"):
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        worker = pair.workers[role]
        ours, worker.control = worker.control, ours
        theirs.sendall(b"\x05\0\0")
        assert pair.receive_results() == []
        assert pair.stage() == "compared"
        theirs.sendall(b"\xff" * 100)
        pair.receive_results()
        assert pair.is_gone == (role == "judge")
        theirs.close()
        worker.control.close()
        worker.control = ours


@pytest.mark.parametrize("said", [[b"?"], [DATA + b"{}"], [OFFICIAL], [FULL, b"", DATA]])
def test_a_judge_that_says_what_no_judge_says_is_gone(said: list[bytes], pair: WorkerPair) -> None:
    """A frame of no kind, a result or an official verdict where there is no task: nothing after it is taken."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    real, pair.judge.control = pair.judge.control, ours
    for frame in said:
        send(theirs, frame)
    assert pair.receive_results() == []
    assert pair.is_gone
    pair.judge.control = real
    ours.close()
    theirs.close()


def test_programs_that_wait_are_not_run_when_nobody_takes_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten programs those that no thread has begun are let go when the results are taken no further: an interrupted run ends soon."""
    submission, gold = texts(tmp_path, 10, func="python_unit_testing", odd="x = 1")
    begun: list[str] = []
    may_end = threading.Event()

    class Threads(ThreadPoolExecutor):
        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            may_end.set()
            super().shutdown(wait=wait)

    def judged(task: Task, *_: Any) -> Result:
        begun.append(task.instance.instance_id)
        assert begun[0] == task.instance.instance_id or may_end.wait(60)
        return missing_result(task)

    monkeypatch.setattr("concurrent.futures.ThreadPoolExecutor", Threads)
    monkeypatch.setattr("evalsuite.runs.task_execution.score_task", judged)
    tasks = plan(read_gold(gold), read_submission(submission), rules=None, limits=resolve_limits())
    results = Pool(jobs=1, isolation="process", gold_inodes=frozenset()).results(tasks)
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert len(begun) <= 3


@pytest.mark.parametrize("forks", [True, False])
def test_a_closed_pool_scores_again_and_no_more_bytes_than_the_run_may_read(
    forks: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing twice does no harm; what a run's bytes do not reach is named as such, with worker pairs and without."""
    if not forks:
        monkeypatch.setattr("evalsuite.runs.worker_pool.can_fork", lambda: False)
    isolation = "process" if forks else "none"
    sides = tables(tmp_path, 3)
    n_bytes = (sides[0] / "t0" / "t.csv").stat().st_size
    for n_scored in (3, 1):
        pool = Pool(jobs=1, isolation=isolation, gold_inodes=frozenset(), budget=Budget(resolve_limits({"run_bytes": n_scored * n_bytes})))
        results = list(pool.results(tasks_of(*sides)))
        assert [(r.official, r.details.get("budget")) for r in results] == [(1, None)] * n_scored + [(0, "run_bytes")] * (3 - n_scored)
        pool.close()
        pool.close()
    pool = Pool(jobs=1, isolation=isolation, gold_inodes=frozenset())
    for _ in range(2):
        assert [result.official for result in pool.results(tasks_of(*sides))] == [1] * 3
        pool.close()


def test_seconds_of_a_task_with_a_gold_query(pair: WorkerPair, tmp_path: Path) -> None:
    """Without a task there is no end; a comparison with a gold query has three times the seconds, a file that is still read has one."""
    assert seconds_of(pair, {}) == math.inf
    (task,) = tasks_of(*tables(tmp_path, 1), seconds=10)
    for databases, n_reading, seconds in (((), 1, 10), (("d",), 0, 10), (("d",), 1, 30)):
        asked = WorkerPair(workers={}, tasks=deque([replace(task, databases=databases)]), _n_reading=n_reading)
        assert seconds_of(asked, {}) == seconds
