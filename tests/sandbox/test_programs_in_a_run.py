"""Whole runs of programs: jailed without being asked, bounded in time, and nothing is left behind."""

import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.sandbox.program_sandbox import can_sandbox_programs
from tests.cli.test_run import write_lines
from tests.conftest import ROOT
from tests.processes import started

pytestmark = pytest.mark.skipif(
    not can_sandbox_programs(), reason="this machine gives no jail: namespaces, Landlock or seccomp are missing"
)


def rows(tmp_path: Path, programs: list[str], *options: str) -> dict[str, dict[str, Any]]:
    """Result lines by id of a run over these programs, each asked whether x is 1."""
    check = {"func": "python_unit_testing", "parameters": {"gold": "assert x == 1", "timeout_seconds": 30}}
    write_lines(tmp_path / "gold" / "p_eval.jsonl", *({"instance_id": f"p{i}", "evaluation": check} for i in range(len(programs))))
    answers = [{"instance_id": f"p{i}", "answer_type": "answer", "answer_or_path": text} for i, text in enumerate(programs)]
    write_lines(tmp_path / "sub" / "results_metadata.jsonl", *answers)
    place = tmp_path / "run"
    assert main(["run", str(tmp_path / "sub"), "--gold", str(tmp_path / "gold"), "-q", "--no-cache", "--out", str(place), *options]) == 0
    return {row["instance_id"]: row for row in map(json.loads, (place / "results.jsonl").read_text().splitlines())}


def test_programs_are_judged_in_a_jail_without_being_asked(tmp_path: Path) -> None:
    """A right program is 1, a wrong one 0, and the trick that passed any test before is 0."""
    found = rows(tmp_path, ["x = 1", "x = 2", "import os\nos.write(3, os.read(0, 16))\nos._exit(0)", "if 0:\\"])
    assert [row["score"] for row in found.values()] == [1, 0, 0, 0]
    assert {row["status"] for row in found.values()} == {"scored"}


def test_nothing_is_left_of_a_killed_run(tmp_path: Path) -> None:
    """Programs that never end, and what started them, are gone when the run is killed in their middle; no file of theirs is left."""
    check = {"func": "python_unit_testing", "parameters": {"gold": "assert True", "timeout_seconds": 60}}
    write_lines(tmp_path / "gold" / "p_eval.jsonl", *({"instance_id": f"p{i}", "evaluation": check} for i in range(4)))
    program = (
        "import threading, time\nopen('mine', 'w').write('x')\nthreading.Thread(target=time.sleep, args=(99,)).start()\ntime.sleep(99)"
    )
    answers = [{"instance_id": f"p{i}", "answer_type": "answer", "answer_or_path": program} for i in range(4)]
    write_lines(tmp_path / "sub" / "results_metadata.jsonl", *answers)
    place = tmp_path / "tmp"
    place.mkdir()
    sides = [str(tmp_path / "sub"), "--gold", str(tmp_path / "gold")]
    words = [sys.executable, "-m", "evalsuite", "run", *sides, "--no-save", "--no-cache", "-q", "--jobs", "2", "--limit", "seconds=60"]
    with started(words, cwd=ROOT, env={**os.environ, "TMPDIR": str(place)}) as process:
        while process.poll() is None and len(below := descendants(process.pid)) < 4:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
    while any(map(is_alive, below)):
        time.sleep(0.02)
    assert list(place.iterdir()) == []


def descendants(pid: int) -> list[int]:
    """The processes below one, itself not."""
    children: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(place.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found[1:]


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be taken off the list does not."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_endless_programs_cost_the_seconds_of_an_answer(tmp_path: Path) -> None:
    """`--limit seconds` bounds all programs of an answer, however long a check would let each of them run."""
    found = rows(tmp_path, ["while True: pass"] * 2 + ["x = 1"], "--limit", "seconds=0.5", "--jobs", "2")
    assert [row["score"] for row in found.values()] == [0, 0, 1]
    assert found["p0"]["details"]["ended"] == "timeout"
