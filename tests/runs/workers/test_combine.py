"""Several checks of one instance as one result; a strict verdict that takes too long is none, and the official one stands."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli.prediction import check_prediction
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import FaultError
from evalsuite.core.plugin_calls import late_strict
from evalsuite.core.types import Answer, Check, GoldInstance, Result, Rule, Score, Task
from evalsuite.gold.layouts import read_gold, read_submission
from evalsuite.readers.gold_files import gold_inodes
from evalsuite.readers.limits import DEFAULT_LIMITS, resolve_limits
from evalsuite.runs import task_execution
from evalsuite.runs.instance_checks import Outcome, applicable_checks, combine, missing_result
from evalsuite.runs.plan import plan
from evalsuite.runs.worker_pool import Pool
from tests.runs.made import load_scorer, write_sides

pytestmark = pytest.mark.usefixtures("quick_fork_servers")


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


BRIEF = {"seconds": 0.5}

# In a worker strict rules take for ever on one kind of answer.
SLEEPERS = """
import os
import time
from evalsuite.scorers import tree_scorers as tree_match
from evalsuite.compare import strict_tables


def sleeping(function):
    def asleep(*given, **named):
        if "{0}" not in str(given):
            return function(*given, **named)
        time.sleep(600)
    return asleep


def score(run, expected, found, *each, compat, plain=tree_match._Run.score):
    if not compat and "slow" in str(found):
        time.sleep(600)
    return plain(run, expected, found, *each, compat=compat)


# Workers have no environment of their own.
if "PYTEST_CURRENT_TEST" not in os.environ:
    strict_tables.judge_any = sleeping(strict_tables.judge_any)
    strict_tables.judge_each = sleeping(strict_tables.judge_each)
    tree_match._Run.score = score
"""
CASES: dict[str, tuple[str, dict[str, Any], Any]] = {
    "table": ("table_match", {"gold": "t.csv"}, Path("t.csv")),
    "several": ("table_match", {"gold": ["t.csv", "u.csv"]}, Path("t.csv")),
    "tables": ("tables_match", {"gold": ["t.csv", "u.csv"]}, ["t.csv", "u.csv"]),
    "database": ("duckdb_match", {"gold": "t.duckdb", "condition_tabs": ["t"]}, Path("t.duckdb")),
    "tree": ("tree_match", {"gold": {"a": "slow", "b": 2}}, json.dumps({"a": "slow", "b": 2})),
    "text": ("string_match", {"gold": "slow"}, "slow"),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(submission, gold): an answer for each kind of scorer, all right; strict rules sleep over each that says "slow"."""
    tmp_path = tmp_path_factory.mktemp("late")
    load_scorer(tmp_path, "sleepers", "return Score(official=1.0)", before=SLEEPERS.format("slow"))
    files = {**dict.fromkeys(("t.csv", "u.csv"), "a,b\nslow,1\nslower,2\n"), "t.duckdb": "CREATE TABLE t AS SELECT 'slow' a, 1 b"}
    paths = {f"{name}/{file}": content for name in CASES for file, content in files.items()}
    return write_sides(tmp_path / "submission", tmp_path / "gold", CASES, paths)


def scored(folders: tuple[Path, Path], *, rules: Rule = "official", isolation: str = "process", only: Any = ()) -> dict[str, Result]:
    """The results of answers with half a second each."""
    submission, gold = folders
    tasks = plan(read_gold(gold), read_submission(submission), rules=rules, limits=resolve_limits(BRIEF), only=only)
    pool = Pool(jobs=2, isolation=isolation, gold_inodes=gold_inodes(gold))
    return {result.instance_id: result for result in pool.results(tasks)}


LATE = {"table", "several", "tables", "database", "tree"}


def test_under_strict_rules_it_is_unscored(folders: tuple[Path, Path]) -> None:
    """Where the strict verdict is the score there is none: `unscored`, never a 0."""
    results = scored(folders, rules="strict", only=("table", "tree", "text"))
    assert {(r.status, r.score, r.official, r.fault) for name, r in results.items() if name in LATE} == {("unscored", None, 1.0, "TIMEOUT")}
    assert {r.score for name, r in results.items() if name not in LATE} == {1}


def test_the_late_check_is_named_whichever_decides(folders: tuple[Path, Path]) -> None:
    """Of two checks that officially pass one is strictly 0 and the other late: strict is null, and the result says why."""
    task = plan(read_gold(folders[1]), read_submission(folders[0]), rules="official", limits=resolve_limits({}), only=("table",))[0]
    (check,) = task.instance.checks
    quick = Outcome(check=check, score=Score(official=1, strict=0))
    late = Outcome(check=check, score=late_strict(Score(official=1)))
    for outcomes in ([quick, late], [late, quick]):
        result = combine(task, outcomes, seconds=0)
        assert (result.official, result.strict, result.strict_fault) == (1, None, late.score.strict_fault)
    strict = Outcome(check=check, score=Score(official=1, strict=1))
    assert combine(task, [late, strict], seconds=0).strict_fault is None


@pytest.mark.parametrize("name", ["tables", "tree"])
def test_a_check_of_files_keeps_the_official_verdict(
    name: str, folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`check SCORER` on files says what `run` says of them."""
    monkeypatch.setitem(DEFAULT_LIMITS, "seconds", BRIEF["seconds"])
    func, _, answer = CASES[name]
    if name == "tree":
        (folders[0] / "answer.json").write_text(str(answer))
        (folders[1] / "gold.json").write_text(str(answer))
        given, gold = [str(folders[0] / "answer.json")], [str(folders[1] / "gold.json")]
    else:
        given, gold = ([str(side / name / file) for file in answer] for side in folders)
    assert check_prediction(func, given, gold, [], "official", None, as_json=True)[0] == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["official"], found["strict"], found["fault"], found["strict_fault"]["code"]) == (1, None, None, "TIMEOUT")
    assert "TIMEOUT" in found["strict_reason"]
