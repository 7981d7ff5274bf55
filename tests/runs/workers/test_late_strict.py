"""A strict verdict that takes too long is no verdict, and the official one that was known before stands."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from evalsuite.cli.prediction import check_prediction
from evalsuite.core.plugin_calls import late_strict
from evalsuite.core.types import Result, Rule, Score
from evalsuite.gold.layouts import read_gold, read_submission
from evalsuite.readers.gold_files import gold_inodes
from evalsuite.readers.limits import DEFAULT_LIMITS, resolve_limits
from evalsuite.runs.instance_checks import Outcome, combine
from evalsuite.runs.plan import plan
from evalsuite.runs.worker_pool import Pool
from tests.runs.made import load_scorer, write_sides

pytestmark = pytest.mark.usefixtures("quick_fork_servers")
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
    submission, gold = tmp_path / "submission", tmp_path / "gold"
    for name in CASES:
        for side in (submission, gold):
            (side / name).mkdir(parents=True)
            for file in ("t.csv", "u.csv"):
                (side / name / file).write_text("a,b\nslow,1\nslower,2\n")
            duckdb.connect(str(side / name / "t.duckdb")).execute("CREATE TABLE t AS SELECT 'slow' a, 1 b").close()
    return write_sides(submission, gold, CASES)


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
