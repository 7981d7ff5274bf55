"""Pairs of queries get the verdicts of BIRD's EX and of the Spider test suite, by the command, in both layouts."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from tests.conftest import corpus

pytestmark = [pytest.mark.conformance, pytest.mark.usefixtures("shared_fork_server")]
KEYS = {"bird-ex": "bird_ex", "test-suite": "test_suite"}
# An empty answer counts for BIRD's evaluator, and the test suite's drops a second statement: the corpus does not judge these.
NOT_JUDGED = {"bird-ex": "no_answer_empty_gold", "test-suite": "two_statements"}


@pytest.mark.parametrize(("handed_in", "gold", "rules"), [("pred.json", "gold.sql", "bird-ex"), ("predict.txt", "gold.txt", "test-suite")])
def test_recorded_verdicts(handed_in: str, gold: str, rules: str, tmp_path: Path) -> None:
    """One line a pair in gold's order with the recorded score; an answer that fails is 0, and nothing is anybody else's fault."""
    folder, out = corpus("execution"), tmp_path / "run"
    words = ["run", folder / handed_in, "--gold", folder / gold, "--databases", folder / "databases", "--rules", rules, "--out", out]
    assert main([*map(str, words), "-q", "--no-cache"]) == 0
    recorded: list[dict[str, Any]] = [json.loads(line) for line in (folder / "expected.jsonl").read_text(encoding="utf-8").splitlines()]
    if handed_in == "predict.txt":
        recorded = sorted((pair for pair in recorded if pair["line"] is not None), key=lambda pair: pair["line"])
    results = [json.loads(line) for line in (out / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(results) == len(recorded)
    assert {result["status"] for result in results} <= {"scored", "missing", "submission_fault"}
    wrong = [
        (pair["index"], pair["tag"], result["score"], result["reason"])
        for pair, result in zip(recorded, results, strict=True)
        if pair["tag"] != NOT_JUDGED[rules] and result["score"] != (pair[KEYS[rules]] or 0)
    ]
    assert wrong == []
