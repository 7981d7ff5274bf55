"""Suites and runs by name: what is saved, what is refused, and that nothing leaves its folder."""

import json
import math
import shutil
from itertools import count
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evalsuite.core.errors import UsageError
from evalsuite.core.registry import UnknownScorerError
from evalsuite.reports.test_suite import TestSuite
from evalsuite.runs.history import find_runs, one_run, tag_run
from evalsuite.runs.history_index import query
from evalsuite.suites.stored_suites import SuiteError, delete_suite, list_suites, load_suite, rename_suite, save_suite, slug
from tests.command_server import command_server
from tests.runs.store.every_moment import killed
from tests.suites.made import INPUTS, REFERENCES, Frame, capitals

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@pytest.mark.parametrize(
    "changed",
    [
        {"scoring_method": {}},
        {"scoring_method": "f1"},
        {"test_cases": [{"id": "a", "input": {}}]},
        {"extra": 1},
        {"id": [[]]},
        {"name": None},
    ],
)
def test_a_damaged_suite_file_is_named(tmp_path: Path, changed: dict[str, object]) -> None:
    """One value of another type in `suite.json`: the file is named, and the list goes on without it."""
    capitals(tmp_path)
    file = tmp_path / "suites" / "capitals" / "suite.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changed))
    with pytest.raises(SuiteError, match="not a suite file"):
        load_suite("capitals", tmp_path)
    assert list_suites(tmp_path) == []


def test_a_suite_is_reloaded_by_name_alone(tmp_path: Path) -> None:
    """The name is enough; equal data and the same scorer may be given again."""
    made = capitals(tmp_path)
    assert TestSuite("capitals", root=str(tmp_path)).suite == made.suite
    assert capitals(tmp_path).suite == made.suite


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scoring_method": "number_match"}, "is scored by string_match, not number_match"),
        ({"input_text_list": ["x"], "reference_output_list": ["y"]}, "contains other data"),
        ({"config": {"conj": "and"}}, "has another configuration"),
    ],
)
def test_what_differs_from_the_stored_suite_is_an_error(tmp_path: Path, arguments: dict[str, object], message: str) -> None:
    """Another scorer, other data or another configuration is never ignored, and the hint names a way out."""
    capitals(tmp_path)
    with pytest.raises(SuiteError, match=message) as raised:
        TestSuite("capitals", root=tmp_path, **arguments)  # type: ignore[arg-type]
    assert "another name" in raised.value.hint


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"scoring_method": "no_such"}, UnknownScorerError, "unknown scorer 'no_such'"),
        ({}, UsageError, "no reference data given"),
        ({"input_text_list": ["a", "b"], "reference_output_list": ["x"]}, UsageError, "2 inputs, 1 references"),
        ({"input_text_list": [], "reference_output_list": []}, UsageError, "there is no test case"),
        ({"input_text_list": ["a"]}, UsageError, "string_match compares with a reference output, and none was given"),
        ({"reference_data_path": "data.odt"}, UsageError, "its ending is none of"),
        ({"input_text_list": ["a", "b"], "reference_output_list": ["x", None]}, UsageError, "some references are null and some are not"),
        ({"input_text_list": "ab", "reference_output_list": ["x", "y"]}, UsageError, "the input list is one text"),
        ({"input_text_list": ["a", "b"], "reference_output_list": "xy"}, UsageError, "the reference list is one text"),
        ({"input_text_list": ["a", 2], "reference_output_list": ["x", "y"]}, UsageError, "entry 2 of the input list is int, not text"),
        ({"reference_data": Frame({"prompt": ["a"], "reference_output": ["x"]})}, UsageError, "the data has no input column 'input'"),
        ({"reference_data": Frame({"input": ["a"]}), "reference_column": "ref"}, UsageError, "the data has no reference column 'ref'"),
        ({"reference_data": Frame({"input": ["a"], "reference_output": [math.nan]})}, UsageError, "row 1: .* is blank"),
        ({"reference_data": pd.DataFrame({"input": ["a"], "reference_output": [pd.NA]})}, UsageError, "row 1: .* is blank"),
        (
            {"reference_data": pd.DataFrame([["a", "b", "x"]], columns=["input", "input", "reference_output"])},
            UsageError,
            "two columns are",
        ),
    ],
)
def test_a_suite_that_cannot_be_made_says_why(tmp_path: Path, arguments: dict[str, object], error: type[Exception], message: str) -> None:
    """Each fault of the data or the scorer is found when the suite is made, not when it runs."""
    given = {"scoring_method": "string_match", "root": tmp_path, **arguments}
    if "scoring_method" in arguments:
        given |= {"input_text_list": INPUTS, "reference_output_list": REFERENCES}
    with pytest.raises(error, match=message) as raised:
        TestSuite("new", **given)  # type: ignore[arg-type]
    assert isinstance(raised.value, ValueError), "as Arthur Bench's are"
    assert list_suites(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"candidate_output_list": ["a", "b", None]}, "entry 3 of the candidate list is NoneType, not text"),
        ({"candidate_output_list": "abc"}, "the candidate list is one text"),
        ({"candidate_output_list": ["a", "b", "c"], "context_list": "xyz"}, "the context list is one text"),
        ({"candidate_output_list": ["a", "b", "c"], "context_list": ["x"]}, "3 candidates, 1 contexts"),
        ({"candidate_data": Frame({"output": ["a"]})}, "the data has no candidate column 'candidate_output'"),
        (
            {"candidate_data": Frame({"candidate_output": ["a"]}), "context_list": ["x"]},
            "a list of contexts goes with a list of candidates",
        ),
        ({"candidate_data": Frame({"candidate_output": ["a"]}), "context_column": "c"}, "the data has no context column 'c'"),
        ({"candidate_data_path": "a.odt"}, "its ending is none of"),
    ],
)
def test_a_run_that_cannot_be_made_says_why(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    """Each fault of the candidates or contexts is found before anything is scored or written."""
    suite = capitals(tmp_path)
    with pytest.raises(UsageError, match=message) as raised:
        suite.run("r", **arguments)
    assert isinstance(raised.value, ValueError)
    assert find_runs(tmp_path / "runs") == []


def test_a_suite_a_run_and_a_name_that_are_not_there(tmp_path: Path) -> None:
    """Each is named with what there is instead; a second suite of a name is refused."""
    suite = capitals(tmp_path)
    made = suite.run("r", candidate_output_list=["a", "b", "c"])
    with pytest.raises(SuiteError, match="no suite 'capitls'") as raised:
        load_suite("capitls", tmp_path)
    assert "capitals" in raised.value.hint
    with pytest.raises(UsageError, match="no finished run 'nope'") as missing:
        one_run("nope", tmp_path / "runs")
    assert made.id in missing.value.hint
    with pytest.raises(SuiteError, match="there is a suite 'capitals' already"):
        save_suite(suite.suite, tmp_path)


def test_a_run_is_saved_once(tmp_path: Path) -> None:
    """A run that was not saved can be, whole; a second time is an error, and so is saving one that was."""
    suite = capitals(tmp_path)
    made = suite.run("r", candidate_output_list=["Paris", "b", "c"], save=False, model_name="m")
    assert (made.id, find_runs(tmp_path / "runs")) == ("", [])
    assert made.save().name == made.id
    (entry,) = find_runs(tmp_path / "runs", model="m")
    assert [result.score for result in entry.results()] == [1, 0, 0]
    assert entry.run["submission"]["hash"] == made.run.submission_hash
    with pytest.raises(SuiteError, match="the run 'r' is saved already"):
        made.save()
    assert issubclass(SuiteError, ValueError)


def test_runs_are_refused_with_both_numbers(tmp_path: Path) -> None:
    """Too few candidates, a run name that is taken, contexts with a file: each is an error."""
    suite = capitals(tmp_path)
    with pytest.raises(UsageError, match="2 candidates for 3 test cases"):
        suite.run("r", candidate_output_list=["a", "b"])
    suite.run("r", candidate_output_list=["a", "b", "c"])
    for name in ("r", "R"):  # one folder
        with pytest.raises(SuiteError, match=f"already has a run '{name}'"):
            suite.run(name, candidate_output_list=["a", "b", "c"])
    with pytest.raises(UsageError, match="no candidate data given"):
        suite.run("q")


@pytest.mark.parametrize("name", ["../../esc", "a/b", "..", "/etc", "C:\\x", "\x00", "ключ", "con", "x" * 500, "a b", "A b"])
def test_no_name_leaves_its_folder(tmp_path: Path, name: str) -> None:
    """Every name becomes one folder below `suites/`, and different names keep apart."""
    TestSuite(name, "string_match", input_text_list=["q"], reference_output_list=["a"], root=tmp_path)
    assert [path.parent for path in tmp_path.rglob("suite.json")] == [tmp_path / "suites" / slug(name)]
    assert load_suite(name, tmp_path).name == name
    assert "/" not in slug(name)
    assert slug(name) not in ("", ".", "..")


def test_rename_and_delete(tmp_path: Path) -> None:
    """A renamed suite keeps its cases under the new name; a deleted one is gone; a taken name is refused."""
    made = capitals(tmp_path)
    TestSuite("other", "string_match", input_text_list=["q"], reference_output_list=["a"], root=tmp_path)
    with pytest.raises(SuiteError, match="there is a suite 'other' already"):
        rename_suite("capitals", "other", tmp_path)
    (tmp_path / "suites" / "capitals" / "gold" / "suite.yaml").write_text("name: capitals\nhidden: true\n")
    assert rename_suite("capitals", "cities", tmp_path).test_cases == made.suite.test_cases
    assert (tmp_path / "suites" / "cities" / "gold" / "suite.yaml").read_text() == 'name: "cities"\nhidden: true\n'
    delete_suite("cities", tmp_path)
    assert [suite.name for suite in list_suites(tmp_path)] == ["other"]


def test_a_killed_rename_is_completed_by_the_same_call(tmp_path: Path) -> None:
    """Killed before any change: the suite is there under the old name or, complete, under the new one; a copied folder is a suite too."""
    capitals(tmp_path)
    for moment in count(1):
        if not killed(lambda: rename_suite("capitals", "cities", tmp_path), tmp_path, moment):
            break
        assert [suite.name for suite in list_suites(tmp_path)] == ["capitals"]
        assert load_suite("capitals", tmp_path).name == "capitals"
    assert moment > 5
    copy = shutil.copytree(tmp_path / "suites" / "cities", tmp_path / "suites" / "towns")
    assert [suite.name for suite in list_suites(tmp_path)] == ["cities", "towns"]
    assert sorted(path.name for path in (copy / "gold").iterdir() if path.suffix != ".part") == ["suite.yaml", "suite_eval.jsonl"]


def test_history_answers_sql_and_changes_nothing(tmp_path: Path) -> None:
    """Runs and results are tables; anything but one SELECT, and any file, is refused."""
    suite = capitals(tmp_path)
    made = suite.run("r1", candidate_output_list=["Paris", "Rome", "Bergen"], model_name="m")
    tag_run(one_run(made.id, tmp_path / "runs"), add=["best"])
    assert query("select suite, score, model_name, tags from runs", tmp_path / "runs")[1] == [
        ("capitals", pytest.approx(2 / 3), "m", ["best"])
    ]
    assert query("select count(*) from results where score = 1", tmp_path / "runs")[1] == [(2,)]
    for forbidden in ("drop table runs", "select 1; select 2", "copy runs to 'x.csv'", "select * from read_text('/etc/hostname')"):
        with pytest.raises(UsageError):
            query(forbidden, tmp_path / "runs")


def test_the_command_line_from_csv_to_a_run(tmp_path: Path) -> None:
    """`suite create`, `suite run`, `suite show`, `runs list` and `sql` as a person calls them."""
    (tmp_path / "q.csv").write_text("input,reference_output\nCapital of France?,Paris\nCapital of Italy?,Rome\n")
    (tmp_path / "a.csv").write_text("candidate_output\nIt is Paris\nMilan\n")

    def evalsuite(*arguments: str) -> str:
        done = command_server().run(arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    evalsuite("suite", "create", "capitals", "--from", "q.csv", "--scorer", "string_match")
    assert "50.0 %" in evalsuite("suite", "run", "capitals", "first", "--from", "a.csv", "--model-name", "tiny")
    assert "tiny" in evalsuite("suite", "show", "capitals")
    assert "capitals" in evalsuite("runs", "list")
    assert evalsuite("sql", "select count(*) as n from results").splitlines() == ["n", "2"]
