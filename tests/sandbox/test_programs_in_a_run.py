"""Whole runs of programs: sandboxed without being asked, bounded in time, and nothing is left behind."""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.sandbox.limits import descendants
from evalsuite.sandbox.program_sandbox import can_sandbox_programs
from tests.conftest import ROOT
from tests.processes import started
from tests.runs.made import write_sides

pytestmark = pytest.mark.skipif(
    not can_sandbox_programs(), reason="this machine gives no jail: namespaces, Landlock or seccomp are missing"
)


def rows(tmp_path: Path, programs: list[str], *options: str) -> dict[str, dict[str, Any]]:
    """Result lines by id of a run over these programs, each asked whether x is 1."""
    check = {"gold": "assert x == 1", "timeout_seconds": 30}
    write_sides(tmp_path / "sub", tmp_path / "gold", {f"p{i}": ("python_unit_testing", check, text) for i, text in enumerate(programs)})
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
    begins = "import threading, time\nopen('mine', 'w').write('x')\n"
    program = f"{begins}threading.Thread(target=time.sleep, args=(99,)).start()\ntime.sleep(99)"
    check = {"gold": "assert True", "timeout_seconds": 60}
    write_sides(tmp_path / "sub", tmp_path / "gold", {f"p{i}": ("python_unit_testing", check, program) for i in range(4)})
    place = tmp_path / "tmp"
    place.mkdir()
    sides = [str(tmp_path / "sub"), "--gold", str(tmp_path / "gold")]
    words = [sys.executable, "-m", "evalsuite", "run", *sides, "--no-save", "--no-cache", "-q", "--jobs", "2", "--limit", "seconds=60"]
    with started(words, cwd=ROOT, env={**os.environ, "TMPDIR": str(place)}) as process:
        while process.poll() is None and len(below := descendants(process.pid)[1:]) < 4:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
    while any(b"State:\tZ" not in status(pid) for pid in below):
        time.sleep(0.02)
    assert list(place.iterdir()) == []


def status(pid: int) -> bytes:
    """What the system says of a process; of one that is gone, that it is dead."""
    try:
        return Path(f"/proc/{pid}/status").read_bytes()
    except OSError:
        return b"State:\tZ"


def test_endless_programs_cost_the_seconds_of_an_answer(tmp_path: Path) -> None:
    """`--limit seconds` bounds all programs of an answer, however long a check would let each of them run."""
    found = rows(tmp_path, ["while True: pass", "x = 1"], "--limit", "seconds=0.5", "--jobs", "1")
    assert [row["score"] for row in found.values()] == [0, 1]
    assert found["p0"]["details"]["ended"] == "timeout"
