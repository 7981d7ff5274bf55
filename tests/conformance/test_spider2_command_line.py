"""The recorded folders through the command line give the numbers of the conformance test."""

import json
import sys
from pathlib import Path

import pytest

from tests.conformance.recorded import gold_folder, scored, submission_folder, submissions
from tests.processes import finished
from tests.properties import is_full

pytestmark = pytest.mark.conformance


# The test line runs one folder as a user does; tests/conformance/test_spider2_official.py scores all of them.
_IN_LINE = submissions()[1:2] or submissions()
FOLDERS = [pytest.param(name, marks=[] if name in _IN_LINE else [pytest.mark.slow]) for name in submissions()]


@pytest.mark.parametrize("name", FOLDERS)
def test_command_line_equals_the_api(name: str, tmp_path: Path, root: Path) -> None:
    """`python evaluate.py --result_dir X --gold_dir gold` writes the same verdicts (in the line of a fifteenth), and counts them."""
    out, known = tmp_path / "run", scored(name).results[:: 1 if is_full() else 15]
    only = ",".join(one.instance_id for one in known)
    arguments = [
        "--result_dir",
        str(submission_folder(name)),
        "--gold_dir",
        str(gold_folder()),
        "--out",
        str(out),
        "--quiet",
        "--only",
        only,
    ]
    done = finished([sys.executable, root / "evaluate.py", *arguments], seconds=900)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (out / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(r["instance_id"], r["status"], r["official"], r["strict"]) for r in rows] == [
        (r.instance_id, r.status, r.official, r.strict) for r in known
    ]
    summary = json.loads((out / "run.json").read_text(encoding="utf-8"))["summary"]
    assert summary["n_gold"] == len(rows)
    assert summary["score"] == pytest.approx(sum(r["score"] or 0 for r in rows) / len(rows))
    assert sum(summary["counts"].values()) == len(rows)
