"""The pool: a death or a time-out costs one instance, and nothing else about workers moves a result."""

import json
import os
import pickle
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalsuite.gold.layouts import read_gold, read_submission
from evalsuite.readers.gold_files import gold_inodes
from evalsuite.readers.limits import resolve_limits
from evalsuite.run.plan import plan
from evalsuite.run.scoring import Options, run
from evalsuite.types import Result, Task
from evalsuite.workers.lane import Lane, Setup, open_lane
from evalsuite.workers.pool import Pool
from tests.conftest import ROOT

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
EXAMPLE, GOLD = ROOT / "example_submission_folder", ROOT / "gold"


class RiggedLane(Lane):
    """A lane in which things happen to a worker: `rigged` maps (role, instance) to what is done once it has its order."""

    rigged: dict[tuple[str, str], str]

    def order(self, role: str, message: Any) -> None:
        """Stop the worker before it gets the order, so that it is in the middle of it when it is killed or left hanging."""
        name = message.instance_id if role == "reader" else message[1].instance.instance_id
        fate = self.rigged.get((role, name))
        if fate is not None and fate != "die after":
            os.kill(self.workers[role].process.pid, signal.SIGSTOP)
        Lane.order(self, role, message)
        if fate == "die":
            os.kill(self.workers[role].process.pid, signal.SIGKILL)

    def clear(self) -> None:
        """Kill a worker between two tasks."""
        name = self.task.instance.instance_id if self.task is not None else ""
        Lane.clear(self)
        for (role, rigged), fate in self.rigged.items():
            if fate == "die after" and rigged == name:
                self.workers[role].process.kill()
                self.workers[role].process.wait()


def tables(folder: Path, n: int, *, answer: str = "t.csv") -> tuple[Path, Path]:
    """(submission, gold) of n equal tables, all handed in right; `answer` is the path that the metadata names."""
    gold, submission = folder / "gold", folder / "submission"
    spec, metadata = [], []
    for name in (f"t{at}" for at in range(n)):
        for side in (gold, submission):
            (side / name).mkdir(parents=True)
            (side / name / "t.csv").write_text("id,v\n" + "".join(f"{row},{row * 1.5}\n" for row in range(20)))
        scorer = {"gold": "t.csv"} if answer.endswith(".csv") else {"gold": "t.duckdb", "condition_tabs": ["t"]}
        func = "table_match" if answer.endswith(".csv") else "duckdb_match"
        spec.append({"instance_id": name, "evaluation": {"func": func, "parameters": scorer}})
        metadata.append({"instance_id": name, "answer_type": "file", "answer_or_path": answer})
    (gold / "pool_eval.jsonl").write_text("".join(json.dumps(row) + "\n" for row in spec))
    (submission / "results_metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in metadata))
    return submission, gold


def tasks_of(submission: Path, gold: Path, **limits: float) -> list[Task]:
    """The tasks of a submission."""
    resolved = resolve_limits(limits)
    return plan(read_gold(gold), read_submission(submission), rules="official", limits=resolved)


def scored(folder: Path, rigged: dict[tuple[str, str], str], *, jobs: int, n: int = 8, **limits: float) -> tuple[dict[str, Result], int]:
    """The results of n right tables in a pool of rigged lanes, and how many lanes it took."""
    submission, gold = tables(folder, n)
    opened: list[Lane] = []

    def open_one(setup: Setup) -> Lane:
        lane = RiggedLane(workers=open_lane(setup).workers)
        lane.rigged = rigged
        opened.append(lane)
        return lane

    pool = Pool(jobs=jobs, isolation="process", gold_inodes=gold_inodes(gold), open_one=open_one)
    results = {result.instance_id: result for result in pool.results(tasks_of(submission, gold, **limits))}
    assert all(worker.process.poll() is not None for lane in opened for worker in lane.workers.values()), "a worker was left behind"
    return results, len(opened)


def test_what_a_worker_is_told_of_an_answer_does_not_grow_with_gold(tmp_path: Path) -> None:
    """What is the same for all answers is told once: the inodes of ten thousand gold files are in no order."""
    submission, gold = tables(tmp_path, 3)
    sizes: list[int] = []

    class Weighed(Lane):
        def order(self, role: str, message: Any) -> None:
            sizes.append(len(pickle.dumps(message)))
            Lane.order(self, role, message)

    inodes = gold_inodes(gold) | {(1, number) for number in range(10_000)}
    pool = Pool(jobs=1, isolation="process", gold_inodes=inodes, open_one=lambda setup: Weighed(workers=open_lane(setup).workers))
    assert [result.official for result in pool.results(tasks_of(submission, gold))] == [1] * 3
    assert len(sizes) == 6
    assert max(sizes) < 5000


@pytest.mark.parametrize("isolation", ["process", "none"])
def test_every_worker_knows_gold_by_its_inodes(isolation: str, tmp_path: Path) -> None:
    """A hard link to a gold file is read by no worker, the ones that take the place of dead ones included."""
    submission, gold = tables(tmp_path, 4)
    for name in ("t0", "t3"):
        (submission / name / "t.csv").unlink()
        (submission / name / "t.csv").hardlink_to(gold / name / "t.csv")
    opened: list[Lane] = []

    def open_one(setup: Setup) -> Lane:
        lane = RiggedLane(workers=open_lane(setup).workers)
        lane.rigged = {("reader", "t1"): "die"} if isolation == "process" else {}
        opened.append(lane)
        return lane

    pool = Pool(jobs=1, isolation=isolation, gold_inodes=gold_inodes(gold), open_one=open_one if isolation == "process" else open_lane)
    results = {result.instance_id: result.fault for result in pool.results(tasks_of(submission, gold))}
    assert (results["t0"], results["t2"], results["t3"]) == ("BAD_PATH", None, "BAD_PATH")
    assert len(opened) >= 2 or isolation == "none"


@pytest.mark.parametrize("role", ["reader", "judge"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_death_costs_one_instance(role: str, jobs: int, tmp_path: Path) -> None:
    """A worker that is killed with a task in it loses that task and no other; the spare takes over, again and again."""
    rigged = {(role, "t1"): "die", (role, "t4"): "die"}
    results, n_lanes = scored(tmp_path, rigged, jobs=jobs)
    assert {name: (r.status, r.fault) for name, r in results.items() if r.official != 1} == {
        "t1": ("crashed", "WORKER_DIED"),
        "t4": ("crashed", "WORKER_DIED"),
    }
    assert len(results) == 8
    assert n_lanes >= jobs + 2


def test_the_last_task_may_die_too(tmp_path: Path) -> None:
    """A death with nothing left to do ends the run like any other."""
    results, _ = scored(tmp_path, {("reader", "t0"): "die"}, jobs=1, n=1)
    assert [(r.status, r.official) for r in results.values()] == [("crashed", 0.0)]


@pytest.mark.parametrize("role", ["reader", "judge"])
def test_a_worker_that_hangs_runs_out_of_time(role: str, tmp_path: Path) -> None:
    """A worker that gives no answer is killed when the instance's seconds are over; the others are scored."""
    results, _ = scored(tmp_path, {(role, "t2"): "hang"}, jobs=2, seconds=0.5)
    assert {name: (r.status, r.fault) for name, r in results.items() if r.official != 1} == {"t2": ("timeout", "TIMEOUT")}
    assert "limit seconds" in results["t2"].reason


@pytest.mark.parametrize("role", ["reader", "judge"])
def test_a_death_between_two_tasks_costs_nothing(role: str, tmp_path: Path) -> None:
    """A worker that dies after its result is replaced before the next task comes, which has no part in it."""
    results, n_lanes = scored(tmp_path, {(role, "t1"): "die after", (role, "t5"): "die after"}, jobs=1)
    assert [r.official for r in results.values()] == [1] * 8
    assert n_lanes >= 3


def test_a_worker_that_keeps_its_memory_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one answer left in a worker's memory cannot make the next one fail: each answer after it gets a fresh lane."""
    monkeypatch.setattr(RiggedLane, "is_bloated", lambda *_: True)
    results, n_lanes = scored(tmp_path, {}, jobs=1, n=3)
    assert [result.official for result in results.values()] == [1] * 3
    assert n_lanes == 3


def test_a_thousand_bad_paths_do_not_nest(tmp_path: Path) -> None:
    """Answers that are settled while a lane is fed are settled one after another, however many there are."""
    submission, gold = tables(tmp_path, 1200, answer="../x.duckdb")
    pool = Pool(jobs=1, isolation="process", gold_inodes=frozenset())
    assert {result.fault for result in pool.results(tasks_of(submission, gold))} == {"BAD_PATH"}


def lines(folder: Path) -> list[dict[str, Any]]:
    """The saved results without their seconds."""
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The example's results with one job."""
    out = tmp_path_factory.mktemp("pool") / "once"
    run(EXAMPLE, GOLD, Options(out=out, jobs=1))
    return lines(out)


@pytest.mark.parametrize(("jobs", "isolation"), [(2, "process"), (4, "process"), (2, "none")])
def test_jobs_and_isolation_move_no_result(jobs: int, isolation: str, once: list[dict[str, Any]], tmp_path: Path) -> None:
    """However many lanes there are, and with or without walls, the saved results are the same but for their seconds."""
    run(EXAMPLE, GOLD, Options(out=tmp_path / "run", jobs=jobs, isolation=isolation))
    assert lines(tmp_path / "run") == once


@pytest.fixture
def lane() -> Iterator[Lane]:
    """A lane of the example that stands ready."""
    setup = Pool(jobs=1, isolation="process", gold_inodes=frozenset())._make_setup(tasks_of(EXAMPLE, GOLD)[:1])
    lane = open_lane(setup)
    lane.await_ready()
    yield lane
    lane.kill()


@linux
def test_a_worker_with_half_its_address_space_in_use_is_bloated(lane: Lane) -> None:
    """The room that counts is the one the limit leaves: 1 MiB is too little for any worker, the default enough for a new one."""
    assert lane.is_bloated({"memory_mib": 1})
    assert not lane.is_bloated(resolve_limits())


@linux
def test_workers_inherit_nothing(lane: Lane, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither variables nor descriptors of the parent reach a worker, and its gold is named nowhere in the reader's command line."""
    for role, worker in lane.workers.items():
        process = Path(f"/proc/{worker.process.pid}")
        names = {entry.split(b"=")[0] for entry in (process / "environ").read_bytes().split(b"\0") if entry}
        assert names <= {b"OPENBLAS_NUM_THREADS", b"OMP_NUM_THREADS", b"PYTHONHASHSEED", b"TZ", b"PATH", b"LD_LIBRARY_PATH"}
        targets = [str(link.readlink()) for link in (process / "fd").iterdir()]
        assert sorted(target.split(":")[0] for target in targets) == ["/dev/null"] * 3 + ["socket"] * 2, role
        assert (process / "cwd").readlink() == Path("/")
    assert str(GOLD).encode() not in Path(f"/proc/{lane.workers['reader'].process.pid}/cmdline").read_bytes()


def test_a_readers_half_word_does_not_hold_up_the_parent(lane: Lane) -> None:
    """A reader that was taken over cannot make the parent wait: what it says is one word, whatever and however long it is."""
    import socket

    ours, theirs = socket.socketpair()
    reader = lane.workers["reader"]
    ours, reader.control = reader.control, ours
    try:
        theirs.sendall(b"\xff" * 3)
        assert lane.answer(reader) is not None
        theirs.sendall(b"\xff" * 100_000)
        assert lane.answer(reader) is not None
        theirs.close()
        while lane.answer(reader) is not None:
            pass
    finally:
        reader.control.close()
        reader.control = ours
