"""Packed tasks and lines of results come back as they were."""

from pathlib import Path

from evalsuite.core.types import Fault, Result
from evalsuite.gold.layouts import read_gold, read_submission
from evalsuite.readers.limits import resolve_limits
from evalsuite.runs.plan import plan
from evalsuite.runs.run_files import result_of, whole_line
from evalsuite.sandbox.messages import pack_tasks, unpack_tasks
from tests.conftest import ROOT


def test_tasks_and_results_come_back(tmp_path: Path) -> None:
    """Every field of the example's tasks, faulty answers and absent ones among them, and of a result with odd details."""
    gold, submission = read_gold(ROOT / "gold"), read_submission(ROOT / "example_submission_folder")
    tasks = plan(gold, submission, rules=None, limits=resolve_limits(gold.suite.limits))
    assert {task.answer is None for task in tasks} == {True, False}
    assert unpack_tasks(pack_tasks(tasks)) == tasks
    result = Result(
        instance_id="a", status="scored", score=0.5, official=None, strict=1.0, scorer=None, reason="é\ud800", fault=None,
        details={"x": [1, {"y": 2}]}, seconds=0.25, digests={"t.csv": "0" * 64}, strict_fault=Fault(code="TIMEOUT", detail="late"),
    )  # fmt: skip
    assert result_of(whole_line(result).encode()) == result
