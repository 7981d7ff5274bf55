"""Several checks of one instance as one result."""

from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import FaultError
from evalsuite.core.types import Answer, Check, GoldInstance, Score, Task
from evalsuite.runs import task_execution
from evalsuite.runs.instance_checks import Outcome, applicable_checks, combine, missing_result


def outcome(scorer: str, official: float | None, strict: float | None, flip: str = "") -> Outcome:
    """One check's outcome."""
    return Outcome(check=Check(scorer=scorer, parameters={}), score=Score(official=official, strict=strict, reason=scorer, flip=flip))


def task_of(*checks: Check) -> Task:
    """The task of an instance with these checks."""
    return Task(instance=GoldInstance(instance_id="q", checks=checks), answer=None, gold_folder=Path(), submission_folder=Path())


@pytest.mark.parametrize(
    ("values", "best"), [([0.2, 0.7], 0.7), ([1, None], 1), ([None, 1], 1), ([0.5, None], None), ([0, None], None), ([None, None], None)]
)
def test_the_best_value_counts_unless_an_unscored_check_could_be_better(values: list[float | None], best: float | None) -> None:
    """Under each rule by itself; an instance without a value is never a 0."""
    outcomes = [outcome(name, value, 0.25) for name, value in zip("ab", values, strict=True)]
    made = combine(task_of(*(one.check for one in outcomes)), outcomes, seconds=0)
    assert (made.official, made.strict, made.score) == (best, 0.25, best)
    assert (made.status == "scored") is (best is not None)


FREE = Check(scorer="ter", parameters={})


@pytest.mark.parametrize(
    ("checks", "names"),
    [
        ([FREE], ["ter"]),
        ([Check(scorer="ter", parameters={"scale": [0, 200]})], None),
        ([FREE, Check(scorer="string_match", parameters={})], None),
        ([Check(scorer="string_match", parameters={}), replace(FREE, is_further=True)], ["ter"]),
        ([FREE, replace(FREE, is_further=True)], ["ter", "ter"]),
    ],
)
def test_a_missing_answer_says_which_scorers_have_a_scale_of_their_own(checks: list[Check], names: Any) -> None:
    """Those whose only check it is; then it is in no score."""
    assert missing_result(task_of(*checks)).details.get("own_scale") == names


@pytest.mark.parametrize(
    ("outcomes", "flip"),
    [
        ([outcome("a", 1, 0, "sign: no"), outcome("b", 0, 0)], "sign: no"),
        ([outcome("a", 0, 0), outcome("b", 1, 0, "sign: no")], "sign: no"),
        ([outcome("a", 1, 0, "sign: no"), outcome("b", 0, 1, "percent form: yes")], None),
        ([outcome("a", 0.5, 0.5), outcome("b", 0, 1, "percent form: yes")], "percent form: yes"),
        ([outcome("a", 0.5, 0.5), outcome("b", 0.2, 0.7)], "another check: official by a, strict by b"),
        ([outcome("a", 0.5, 0.5, "sign: no"), outcome("b", 0.2, 0.7)], "another check: official by a, strict by b"),
    ],
)
def test_the_flip_of_several_checks_has_a_cause(outcomes: list[Outcome], flip: str | None) -> None:
    """Where the best value differs between the rules the cause of a deciding check is named; where both agree there is none."""
    assert combine(task_of(*(one.check for one in outcomes)), outcomes, seconds=0).details.get("flip") == flip


@pytest.mark.parametrize(
    ("scorers", "answer_type", "value", "expected"),
    [
        ("string_match number_match", "answer", "x", "string_match number_match"),
        ("table_match", "answer", "x", ""),
        ("table_match duckdb_match", "file", "r.csv", "table_match duckdb_match"),
        ("table_match string_match", "file", "r.txt", "table_match"),
        ("string_match", "file", "R.TXT", "string_match"),
        ("string_match tree_match", "file", "r.md", "string_match"),
        ("string_match", "file", "r.csv", ""),
        ("table_match tree_match", "file", "R.JSONL", "table_match tree_match"),
        ("table_match tree_match", "file", "r.csv", "table_match"),
        ("table_match duckdb_match", "file", "Q.SQL", "table_match"),
        ("duckdb_match", "file", "q.sql", "duckdb_match"),
        ("table_match duckdb_match", "sql", "q.sql", "table_match"),
        ("table_match tables_match", "files", ("a.csv", "b.csv"), "tables_match"),
        ("string_match +table_match", "file", "r.csv", ""),
        ("table_match +string_match", "file", "r.csv", "table_match"),
    ],
)
def test_the_checks_that_an_answer_reaches(scorers: str, answer_type: str, value: Any, expected: str) -> None:
    """By its type, and a file by its ending; further scorers (`+`) alone make no score."""
    checks = tuple(Check(scorer=name.lstrip("+"), parameters={}, is_further="+" in name) for name in scorers.split())
    found = applicable_checks(GoldInstance(instance_id="q", checks=checks), Answer(instance_id="q", answer_type=answer_type, value=value))
    assert " ".join(check.scorer for check in found) == expected


@pytest.mark.parametrize(
    ("error", "value", "status", "code"),
    [
        (FaultError("LIMIT", side="submission"), 0, "submission_fault", "LIMIT"),
        (FaultError("BAD_JSON", side="submission"), 0, "submission_fault", "BAD_JSON"),
        (FaultError("BAD_JSON", side="gold"), None, "gold_fault", "BAD_JSON"),
        (FaultError("LIMIT", side="setup"), None, "unscored", "LIMIT"),
        (FaultError("JUDGE_FAILED"), None, "unscored", "JUDGE_FAILED"),
        (MemoryError(), 0, "submission_fault", "LIMIT"),
        (RecursionError(), 0, "submission_fault", "LIMIT"),
        (ZeroDivisionError(), None, "scorer_fault", "SCORER_ERROR"),
    ],
)
def test_whose_fault_an_error_of_a_scorer_is(
    error: Exception, value: float | None, status: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an answer can cause makes it wrong under both rules; anything else is no verdict, never a 0."""

    def fail(*_: Any) -> Score:
        raise error

    monkeypatch.setattr(task_execution, "_call_scorer", fail)
    check = Check(scorer="string_match", parameters={"gold": "x"})
    task = task_of(check)
    task = replace(task, answer=Answer(instance_id="q", answer_type="answer", value="x"))
    made = task_execution.judge(task, task_execution.Prediction(payloads={"text": "x"}))
    assert (made.score, made.official, made.strict, made.status, made.fault) == (value, value, value, status, code)
