"""Kills: SIGKILL at random moments of a run and of its workers, then resume; nothing is lost, nothing scored twice, nothing left behind.

20 kills with `pytest -m slow`, 200 with EVALSUITE_KILLS=200. In the test line each kind of process ends in each phase of
its work: `test_each_process_dies_in_each_phase` in `tests/runs/workers/test_pool.py`, and for programs
`tests/sandbox/test_program_sandbox.py`.
"""

import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from evalsuite.core.types import METADATA
from evalsuite.sandbox.temp_dirs import PREFIX
from tests.runs.made import N_INSTANCES, command, make, start, without_seconds, without_times, workers

KILLS = int(os.environ.get("EVALSUITE_KILLS", "20"))
KILLS_PER_CHAIN = 4
CHAINS = range(-(-KILLS // KILLS_PER_CHAIN))

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for workers in /proc")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """(submission, gold, the folder of a run that nobody killed)."""
    base = tmp_path_factory.mktemp("made")
    submission, gold = make(base)
    add_living_gold(submission, gold)
    with start(command(submission, gold, "--quiet", "--out", base / "whole"), base / "marker") as whole:
        assert whole.wait() == 0, whole.communicate()
    return submission, gold, base / "whole"


def add_living_gold(submission: Path, gold: Path) -> None:
    """One more instance, whose gold a query gives: a run keeps that in a folder for temporary files."""
    with closing(sqlite3.connect(gold / "shop.sqlite")) as database:
        database.execute("CREATE TABLE sales AS SELECT 40 AS total")
        database.commit()
    (gold / "connections.yaml").write_text("shop: {engine: sqlite, database: shop.sqlite, prefix: living}\n")
    (gold / "living").mkdir()
    (gold / "living" / "gold.sql").write_text("SELECT total FROM sales")
    (submission / "living").mkdir()
    (submission / "living" / "r.csv").write_text("total\n40\n")
    check = {"func": "table_match", "parameters": {}, "temporal": True}
    answer = {"instance_id": "living", "answer_type": "file", "answer_or_path": "r.csv"}
    for file, line in ((gold / "made_eval.jsonl", {"instance_id": "living", "evaluation": check}), (submission / METADATA, answer)):
        with file.open("a") as lines:
            lines.write(json.dumps(line) + "\n")


def saved(folder: Path) -> dict[str, float]:
    """The seconds of each instance that stands in a journal as a whole line; by them a second scoring would show."""
    with suppress(FileNotFoundError):
        lines = (folder / "results.jsonl").read_bytes().split(b"\n")[:-1]
        rows = [json.loads(line) for line in lines]
        assert len({row["instance_id"] for row in rows}) == len(rows)
        return {row["instance_id"]: row["seconds"] for row in rows}
    return {}


def wait_until(process: subprocess.Popen[str], folder: Path, n: int) -> None:
    """Return when n results are saved or the process has ended."""
    while process.poll() is None and len(saved(folder)) < n:
        time.sleep(0.005)


def wait_for_no_workers(marker: Path) -> list[int]:
    """The workers that are still there after a while: none, when all end by themselves.

    One look is not enough: a worker that was just being started has for a moment no command line to know it by.
    """
    looks: list[list[int]] = []
    while len(looks) < 2000 and (len(looks) < 20 or any(looks[-20:])):
        looks.append(workers(marker))
        time.sleep(0.005)
    return looks[-1]


def at_some_moment(chance: random.Random, process: subprocess.Popen[str], folder: Path) -> None:
    """Wait for a random moment of a run: any time from its start on, or soon after a random number of results."""
    if chance.random() < 0.4:
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=chance.uniform(0, 1.5))
        return
    n = len(saved(folder))
    wait_until(process, folder, chance.randint(min(n + 1, N_INSTANCES), N_INSTANCES))
    time.sleep(chance.uniform(0, 0.03))


def kill(chance: random.Random, process: subprocess.Popen[str], marker: Path, folder: Path) -> int:
    """How many workers were killed before their run: 0 where the run was killed alone or first, with all its workers after it.

    Before gold is kept in the folder no worker is killed first: that may be the one that computes it, and other gold is another run.
    """
    way = chance.choice(["the run alone", "the run and its workers", "a worker, then the run"])
    there = workers(marker)
    first = [chance.choice(there)] if there and way.startswith("a worker") and any(folder.glob("gold/*.json")) else []
    for worker in first:
        kill_one(worker)
        time.sleep(chance.uniform(0, 0.2))
    process.kill()
    process.wait()
    for worker in there if way == "the run and its workers" else ():
        kill_one(worker)
    return len(first)


def kill_one(worker: int) -> None:
    """SIGKILL to a process that may just have ended."""
    with suppress(ProcessLookupError):
        os.kill(worker, 9)


def chains(chance: random.Random, made: tuple[Path, Path, Path], base: Path) -> Iterator[tuple[Path, int]]:
    """Runs killed and resumed until they ended: (folder, workers killed), until enough kills have hit a run that was going on."""
    submission, gold, _ = made
    hits = 0
    for chain in range(1000):
        folder, lost, known = base / f"run-{chain}", 0, {}
        while True:
            target = "--resume" if folder.exists() else "--out"
            with start(command(submission, gold, "--quiet", target, folder), base / "marker") as process:
                if hits < KILLS_PER_CHAIN:
                    at_some_moment(chance, process, folder)
                else:
                    process.wait()
                if process.poll() is not None:
                    assert process.returncode == 0, process.communicate()
                    # Those of all that were killed before are gone as well.
                    assert list((base / "marker").glob(f"{PREFIX}*")) == []
                    break
                lost += kill(chance, process, base / "marker", folder)
                hits += 1
                assert wait_for_no_workers(base / "marker") == []
            now = saved(folder)
            assert {name: now.get(name) for name in known} == known
            known = now
            if (folder / "run.json").exists() and not (folder / ".started.json").exists():
                # The kill came when the run was whole and only its report was missing.
                break
        assert {name: saved(folder)[name] for name in known} == known
        yield folder, lost
        if hits >= KILLS_PER_CHAIN:
            return


@pytest.mark.slow
@pytest.mark.parametrize("seed", CHAINS)
def test_killed_and_resumed(made: tuple[Path, Path, Path], tmp_path: Path, seed: int) -> None:
    """After 4 kills every instance has one result, the first it got, and all is as in a run that nobody killed.

    Only an answer whose worker was killed twice while it read it says so instead, and has no score.
    """
    _, _, whole = made
    for folder, lost in chains(random.Random(seed), made, tmp_path):
        pairs = list(zip(without_seconds(folder), without_seconds(whole), strict=True))
        other = [json.loads(ours + "}") for ours, theirs in pairs if ours != theirs]
        assert [row["score"] for row in other] == [None] * len(other)
        assert len(other) <= lost
        if not other:
            assert without_times(folder) == without_times(whole)
