"""Killed or interrupted runs: nothing is lost, nothing scored twice, nothing left behind; resumed they end as if nothing had been.

SIGKILL at random moments of a run and of its workers: 20 kills with `pytest -m slow`, 200 with EVALSUITE_KILLS=200. In the test line each
kind of process ends in each phase of its work: `test_each_process_dies_in_each_phase` in `tests/runs/workers/test_pool.py`, and for
programs `tests/sandbox/test_programs.py`. Ctrl-C and SIGTERM: a valid journal, one line that says how to go on, exit 130.
"""

import json
import os
import random
import shutil
import signal
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
from tests.conftest import ROOT
from tests.processes import finished
from tests.runs.made import N_INSTANCES, command, make, start, without_seconds, without_times, workers, write_file

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for workers in /proc")

KILLS = int(os.environ.get("EVALSUITE_KILLS", "20"))
KILLS_PER_CHAIN = 4
CHAINS = range(-(-KILLS // KILLS_PER_CHAIN))


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
    write_file(gold / "living" / "gold.sql", "SELECT total FROM sales")
    write_file(submission / "living" / "r.csv", "total\n40\n")
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


STOPS = [signal.SIGINT, *(pytest.param(stop, marks=pytest.mark.slow) for stop in (signal.SIGTERM, signal.SIGHUP))]
# So many results are there before the first file is read: answers that are missing, refused or plain text.
WITHOUT_FILES = 14


@pytest.mark.parametrize("stop", STOPS)
def test_interrupted_and_resumed(made: tuple[Path, Path, Path], tmp_path: Path, stop: signal.Signals) -> None:
    """The one line tells how many results the journal holds; resuming from it gives what an uninterrupted run gives."""
    submission, gold, whole = made
    out, marker = tmp_path / "run", tmp_path / "marker"
    with start(command(submission, gold, "--out", out), marker) as process:
        wait_until(process, out, WITHOUT_FILES + 5)
        assert workers(marker)
        process.send_signal(stop)
        printed, complaint = process.communicate()
    assert (process.returncode, printed) == (130, "")
    n, n_instances = len(saved(out)), len(saved(whole))
    assert complaint == f"interrupted: {n} of {n_instances} instances are saved in {out}; continue with --resume {out}\n"
    assert WITHOUT_FILES + 5 <= n < n_instances
    assert (workers(marker), list(marker.iterdir())) == ([], [])
    with start(command(submission, gold, "--quiet", "--resume", out), marker) as resumed:
        assert resumed.wait() == 0
    assert without_seconds(out) == without_seconds(whole)
    assert without_times(out) == without_times(whole)


def test_interrupted_without_a_folder(made: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """With --no-save the line says that nothing is saved."""
    submission, gold, _ = made
    marker = tmp_path / "marker"
    with start(command(submission, gold, "--no-save"), marker) as process:
        # The fork server and both workers of an answer: before that the command has no run whose state it could name.
        while process.poll() is None and len(workers(marker)) < 3:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert (process.communicate()[1], process.returncode) == ("interrupted: nothing is saved\n", 130)
    assert (workers(marker), list(marker.iterdir())) == ([], [])


# Runs a command and sends itself SIGTERM or SIGHUP at the n-th call of functions of that name in the main thread, or at the n-th new one.
_STOPPED_AT = """
import os, pathlib, signal, sys
from evalsuite.cli import gate, main

name, wanted, reached, *sys.argv[1:] = sys.argv[1:]
seen, command = set(), os.getpid()


def stop(frame, event, argument):
    code = frame.f_code
    if os.getpid() != command or (code.co_name != name if name else code in seen):
        return
    seen.add(frame if name else code)
    if len(seen) == int(wanted):
        sys.settrace(None)
        pathlib.Path(reached).write_text(f"{code.co_filename}:{code.co_firstlineno} {code.co_qualname}")
        os.kill(os.getpid(), (signal.SIGTERM, signal.SIGHUP)[len(seen) % 2])


def traced(missing=gate.missing_packages):
    sys.settrace(stop)
    return missing()


# The first call in which a signal is an interruption.
gate.missing_packages = traced
raise SystemExit(main())
"""
_EVERYWHERE = [("__set_name__", n) for n in range(5, 60)] + [("cb", n) for n in (1, 10, 100)] + [("", n) for n in range(5, 1500, 8)]
_SOME = [("__set_name__", 6), ("cb", 3), ("", 300), ("", 1200)]


# A signal while the C code of msgspec imports a module, at which it drops an error of that import.
_IMPORTING = """
import os, signal, sys
from evalsuite.core.runtime import load_msgspec


def stop(frame, event, argument):
    # From Python 3.13 on, math is imported before.
    if frame.f_locals.get("fullname") == ("math" if sys.version_info < (3, 13) else "msgspec._core"):
        sys.settrace(None)
        os.kill(os.getpid(), signal.SIGTERM)


signal.signal(signal.SIGTERM, signal.default_int_handler)
sys.settrace(stop)
try:
    load_msgspec()
except KeyboardInterrupt:
    print("msgspec._core" in sys.modules)
"""
_WRAPPED = """
import os, signal
from evalsuite.cli import gate, main


def wrapping(arguments):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
    except KeyboardInterrupt as stop:
        raise RuntimeError("the loop stopped") from stop


gate._dispatch = wrapping
raise SystemExit(main())
"""


_CALLED = """
import os, signal
from evalsuite.cli import gate, main

stops = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
before = [signal.getsignal(stop) for stop in stops]
gate._dispatch = lambda _: [os.kill(os.getpid(), signal.SIGTERM), signal.pause()]
print(main(["doctor"]), [signal.getsignal(stop) for stop in stops] == before)
"""


@pytest.mark.parametrize(
    ("code", "ended"),
    [(_CALLED, (0, "130 True\n", "interrupted\n")), (_WRAPPED, (130, "", "interrupted\n")), (_IMPORTING, (0, "True\n", ""))],
    ids=["called", "wrapped", "importing"],
)
def test_an_interruption_in_a_program(code: str, ended: tuple[int, str, str]) -> None:
    """One that calls `main` has its own handlers of signals afterwards; a RuntimeError that follows an interruption is the interruption,
    not an internal error; and one while msgspec is imported comes when the import has ended, and is not lost.
    """
    done = finished([sys.executable, "-c", code], cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == ended


@pytest.mark.parametrize("places", [_SOME, pytest.param(_EVERYWHERE, marks=pytest.mark.slow)], ids=["some", "all"])
def test_interrupted_at_a_function(places: list[tuple[str, int]], tmp_path: Path) -> None:
    """Whatever runs when the signal comes, the command ends with 130 and one line, and a note if a folder is left, which is no half run.

    Also where Python turns an interruption into a RuntimeError (`__set_name__` of a dataclass field) or drops it (a callback of the import
    system).
    """
    submission, gold = make(tmp_path, n=4)
    for name, n in places:
        out, marker, reached = tmp_path / "run", tmp_path / "marker", tmp_path / "reached"
        _, _, _, *arguments = command(submission, gold, "--quiet", "--out", out)
        with start([sys.executable, "-c", _STOPPED_AT, name, str(n), str(reached), *arguments], marker) as process:
            _, complaint = process.communicate()
        if not reached.exists():
            # The command calls fewer functions of this name, as each version of Python does.
            assert (name, process.returncode, n > 6) == ("__set_name__", 0, True)
            shutil.rmtree(out)
            continue
        at = reached.read_text()
        reached.unlink()
        said = [line for line in complaint.splitlines() if not line.startswith("note: ")]
        assert (process.returncode, len(said)) == (130, 1), (at, complaint)
        assert complaint.startswith("interrupted"), at
        assert not (out / "run.json").exists() or "finished" in complaint or complaint == "interrupted\n", at
        # A fork server that has just been started ends by itself, because its pipe is closed.
        for _ in range(1_000):
            if not workers(marker):
                break
            time.sleep(0.01)
        assert (workers(marker), list(marker.iterdir())) == ([], []), at
        shutil.rmtree(out, ignore_errors=True)
