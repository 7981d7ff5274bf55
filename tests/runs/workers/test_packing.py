"""Packed tasks and results come back as they were."""

from pathlib import Path

from evalsuite.core.types import Result
from evalsuite.gold.layouts import read_gold, read_submission
from evalsuite.readers.limits import resolve_limits
from evalsuite.runs.plan import plan
from evalsuite.sandbox.serialization import pack_results, pack_tasks, unpack_results, unpack_tasks
from tests.conftest import ROOT


def test_tasks_and_results_come_back(tmp_path: Path) -> None:
    """Every field of the example's tasks, faulty answers and absent ones among them, and of a result with odd details."""
    gold, submission = read_gold(ROOT / "gold"), read_submission(ROOT / "example_submission_folder")
    tasks = plan(gold, submission, rules=None, limits=resolve_limits(gold.suite.limits))
    assert {task.answer is None for task in tasks} == {True, False}
    assert unpack_tasks(pack_tasks(tasks)) == tasks
    result = Result(
        instance_id="a", status="scored", score=0.5, official=None, strict=1.0, scorer=None, reason="é\ud800", fault=None,
        details={"x": (1, {"y": {2}})}, seconds=0.25,
    )  # fmt: skip
    assert unpack_results(pack_results([result])) == [result]
