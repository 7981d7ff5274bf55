"""Whole runs of programs: jailed without being asked, bounded in time, and nothing is left behind."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.walls.jail import can_jail
from tests.cli.test_run import write_lines

pytestmark = pytest.mark.skipif(not can_jail(), reason="this machine gives no jail: namespaces, Landlock or seccomp are missing")


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


def test_endless_programs_cost_the_seconds_of_an_answer(tmp_path: Path) -> None:
    """`--limit seconds` bounds all programs of an answer, however long a check would let each of them run."""
    found = rows(tmp_path, ["while True: pass"] * 4 + ["x = 1"], "--limit", "seconds=2", "--jobs", "2")
    assert [row["score"] for row in found.values()] == [0, 0, 0, 0, 1]
    assert found["p0"]["details"]["ended"] == "timeout"
