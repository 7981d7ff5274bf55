"""Suites and runs by name, with own and several scorers: what is saved, what is refused, and that nothing leaves its folder."""

import csv
import json
import math
import shutil
from itertools import count
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import evalsuite
from evalsuite.api import evaluate
from evalsuite.cli import main
from evalsuite.core.errors import EvalsuiteError, GoldError, UsageError
from evalsuite.core.registry import UnknownScorerError
from evalsuite.gold.layouts import read_gold
from evalsuite.reports import test_suite
from evalsuite.reports.test_suite import TestSuite
from evalsuite.runs.history import find_runs, one_run, tag_run
from evalsuite.runs.history_index import query
from evalsuite.scorers import SCORERS
from evalsuite.suites.stored_suites import SuiteError, delete_suite, list_suites, load_suite, rename_suite, save_suite, slug
from tests.command_server import command_server
from tests.runs.made import write_sides
from tests.runs.store.every_moment import killed
from tests.scorers.judge.conftest import KEY, Serve, serve
from tests.scorers.judge.server import Say, prompt_of
from tests.suites.made import INPUTS, REFERENCES, Frame, Typos, capitals

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@pytest.mark.parametrize(("key", "value"), [
    ("scoring_method", {}), ("scoring_method", "f1"), ("test_cases", [{"id": "a", "input": {}}]), ("extra", 1), ("id", [[]]),
    ("name", None),
])  # fmt: skip
def test_a_damaged_suite_file_is_named(tmp_path: Path, key: str, value: object) -> None:
    """One value of another type in `suite.json`: the file is named, and the list goes on without it."""
    capitals(tmp_path)
    file = tmp_path / "suites" / "capitals" / "suite.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: value}))
    with pytest.raises(SuiteError, match="not a suite file"):
        load_suite("capitals", tmp_path)
    assert list_suites(tmp_path) == []


@pytest.mark.parametrize(("arguments", "message"), [
    ({"scoring_method": "number_match"}, "is scored by string_match, not number_match"),
    ({"input_text_list": ["x"], "reference_output_list": ["y"]}, "contains other data"),
    ({"config": {"conj": "and"}}, "has another configuration"),
])  # fmt: skip
def test_what_differs_from_the_stored_suite_is_an_error(tmp_path: Path, arguments: dict[str, object], message: str) -> None:
    """Another scorer, other data or another configuration is never ignored, and the hint names a way out; else its name is enough."""
    made = capitals(tmp_path)
    assert TestSuite("capitals", root=str(tmp_path)).suite == made.suite == capitals(tmp_path).suite
    with pytest.raises(SuiteError, match=message) as raised:
        TestSuite("capitals", root=tmp_path, **arguments)  # type: ignore[arg-type]
    assert "another name" in raised.value.hint


@pytest.mark.parametrize(("arguments", "error", "message"), [
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
    ({"reference_data": pd.DataFrame([list("abx")], columns=["input", "input", "reference_output"])}, UsageError, "two columns are"),
])  # fmt: skip
def test_a_suite_that_cannot_be_made_says_why(tmp_path: Path, arguments: dict[str, object], error: type[Exception], message: str) -> None:
    """Each fault of the data or the scorer is found when the suite is made, not when it runs."""
    given = {"scoring_method": "string_match", "root": tmp_path, **arguments}
    if "scoring_method" in arguments:
        given |= {"input_text_list": INPUTS, "reference_output_list": REFERENCES}
    with pytest.raises(error, match=message) as raised:
        TestSuite("new", **given)  # type: ignore[arg-type]
    assert isinstance(raised.value, ValueError), "as Arthur Bench's are"
    assert list_suites(tmp_path) == []


@pytest.mark.parametrize(("arguments", "message"), [
    ({"candidate_output_list": ["a", "b", None]}, "entry 3 of the candidate list is NoneType, not text"),
    ({"candidate_output_list": "abc"}, "the candidate list is one text"),
    ({"candidate_output_list": ["a", "b"]}, "2 candidates for 3 test cases"),
    ({}, "no candidate data given"),
    ({"candidate_output_list": ["a", "b", "c"], "context_list": "xyz"}, "the context list is one text"),
    ({"candidate_output_list": ["a", "b", "c"], "context_list": ["x"]}, "3 candidates, 1 contexts"),
    ({"candidate_data": Frame({"output": ["a"]})}, "the data has no candidate column 'candidate_output'"),
    ({"candidate_data": Frame({"candidate_output": ["a"]}), "context_list": ["x"]}, "contexts goes with a list of candidates"),
    ({"candidate_data": Frame({"candidate_output": ["a"]}), "context_column": "c"}, "the data has no context column 'c'"),
    ({"candidate_data_path": "a.odt"}, "its ending is none of"),
])  # fmt: skip
def test_a_run_that_cannot_be_made_says_why(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    """Each fault of the candidates or contexts is found before anything is scored or written."""
    suite = capitals(tmp_path)
    with pytest.raises(UsageError, match=message) as raised:
        suite.run("r", **arguments)
    assert isinstance(raised.value, ValueError)
    assert find_runs(tmp_path / "runs") == []


def test_a_run_is_saved_once(tmp_path: Path) -> None:
    """A run that was not saved can be, whole; a second time is an error, and so is another run or suite of its name."""
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
    for name in ("r", "R"):  # one folder
        with pytest.raises(SuiteError, match=f"already has a run '{name}'"):
            suite.run(name, candidate_output_list=["a", "b", "c"])
    # What is not there is named with what there is instead; a second suite of a name is refused.
    with pytest.raises(SuiteError, match="no suite 'capitls'") as raised:
        load_suite("capitls", tmp_path)
    assert "capitals" in raised.value.hint
    with pytest.raises(UsageError, match="no finished run 'nope'") as missing:
        one_run("nope", tmp_path / "runs")
    assert made.id in missing.value.hint
    with pytest.raises(SuiteError, match="there is a suite 'capitals' already"):
        save_suite(suite.suite, tmp_path)


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


__all__ = ["serve"]


def test_a_scorer_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An object with `run_batch` sees all cases at once; its name alone, another scorer and other settings are refused on reload.

    In another process the scorer is not there: the suite is read, a run of it names what to give.
    """

    def equal(prediction: str, reference: str) -> float:
        return float(prediction == reference)

    scorer = Typos()
    suite = TestSuite("own", scorer, input_text_list=INPUTS, reference_output_list=REFERENCES, root=tmp_path)
    made = suite.run("r", candidate_output_list=["Paris", "R#me", "#sl#"], context_list=["x", "y", "z"])
    assert made.scores == [1, 0.5, 0.25]
    assert scorer.seen == [(["Paris", "R#me", "#sl#"], REFERENCES, INPUTS, ["x", "y", "z"])]
    assert suite.suite.scoring_method == {"name": "typos", "type": "custom", "config": {"base": 0.5}}
    for other, message in (("typos", "uses the user-defined scorer"), (Typos(0.9), "another configuration"), (equal, "not equal")):
        with pytest.raises(SuiteError, match=message):
            TestSuite("own", other, root=tmp_path)
    with pytest.raises(UsageError, match="typos compares with a reference output"):
        TestSuite("bare", scorer, input_text_list=INPUTS, root=tmp_path)
    monkeypatch.setattr(test_suite, "_OBJECTS", {})
    SCORERS.begin_call()
    with pytest.raises(SuiteError, match="the suite's scorer 'typos' is not loaded"):
        TestSuite("own", root=tmp_path).run("s", candidate_output_list=["a", "b", "c"])


def test_scorers_of_one_name_are_those_of_their_suites(tmp_path: Path) -> None:
    """Two functions of one name, as lambdas, and gold with a plugin of that name: each suite, reloaded too, and gold have theirs."""
    data: dict[str, Any] = {"input_text_list": INPUTS, "reference_output_list": REFERENCES, "root": tmp_path}
    suites = [TestSuite(f"suite {value}", lambda *_, value=value: value, **data) for value in (0.25, 0.5)]
    runs = [suite.run("r", candidate_output_list=INPUTS) for suite in suites]
    runs += [TestSuite("suite 0.25", root=tmp_path).run("again", candidate_output_list=INPUTS)]
    assert [run.scores[0] for run in runs] == [0.25, 0.5, 0.25]
    assert [suite.scorer.score("a", gold="a").official for suite in suites] == [0.25, 0.5]
    submission, gold = write_sides(tmp_path / "sub", tmp_path / "gold", {"q": ("own", {"gold": "x"}, "x")})
    (gold / "suite.yaml").write_text("scorers: {own: 'python:my.py:own'}\n")
    (gold / "my.py").write_text("def own(prediction, gold):\n    return 0.75\n")

    def own(prediction: str, reference: str) -> float:
        return 0.0

    TestSuite("of the same name", own, **data)
    assert evaluate(submission, gold, save=False).summary.score == 0.75
    (gold / "suite.yaml").unlink()
    with pytest.raises(EvalsuiteError, match="unknown scorer 'own'"):
        evaluate(submission, gold, save=False)


def test_contexts_reach_a_scorer_that_takes_one(tmp_path: Path, serve: Serve) -> None:
    """The judge is shown each case's context; runs with other contexts have another signature, and none is an error."""
    server = serve(lambda *_: '{"claims": [], "verdict": "yes"}')
    judge = {"base_url": server.base_url, "model": "m", "cache": False, "concurrency": 1}
    suite = TestSuite("claims", "hallucination", input_text_list=INPUTS, judge=judge, root=tmp_path)
    with pytest.raises(UsageError, match="hallucination needs a context"):
        suite.run("r", candidate_output_list=["a", "b", "c"])
    runs = [suite.run(str(n), candidate_output_list=["a", "b", "c"], context_list=[f"x{n}", "y", "z"]) for n in (1, 2)]
    asked = "".join(prompt_of(body) for body in server.asked)
    assert all(context in asked for context in ("x1", "x2", "y", "z"))
    assert runs[0].run.signature != runs[1].run.signature
    assert [entry.suite for entry in find_runs(tmp_path / "runs")] == ["claims", "claims"]


QUESTIONS = ["who sat?", "which colours?", "where?", "how many?"]
TEXTS = ["the cat sat on the mat", "red and blue", "on the hill", "forty two"]
ANSWERS = ["the cat sat", "red and blue", "in a valley", "42"]
BETTER = ["the cat sat on the mat", "red and blue", "on a hill", "forty two"]


def _gold(folder: Path, suite: dict[str, Any], *, scorer: str = "f1") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {"instance_id": f"q{at}", "question": asked, "evaluation": {"func": scorer, "parameters": {"gold": text}}}
        for at, (asked, text) in enumerate(zip(QUESTIONS, TEXTS, strict=True))
    ]
    (folder / "x_eval.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "suite.yaml").write_text(json.dumps(suite))
    return folder


def _handed_in(folder: Path, answers: list[str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{"instance_id": f"q{at}", "answer_type": "answer", "answer_or_path": text} for at, text in enumerate(answers)]
    (folder / "results_metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_each_scorer_has_a_column_in_every_report_and_one_is_the_score(tmp_path: Path) -> None:
    """The score, its interval and its verdicts are those of the named scorer alone; the others are means of their own."""
    alone = evalsuite.evaluate(
        _handed_in(tmp_path / "a", ANSWERS), _gold(tmp_path / "bleu", {}, scorer="bleu"), save=False, isolation="none"
    )
    f1 = evalsuite.evaluate(tmp_path / "a", _gold(tmp_path / "f1", {}), save=False, isolation="none")
    gold = _gold(tmp_path / "gold", {"scorers": ["f1", "bleu", "ter"], "score": "bleu"})
    run = evalsuite.evaluate(tmp_path / "a", gold, save=False, isolation="none")
    assert run.summary.scorers == ("bleu", "f1", "ter")
    assert [getattr(run.summary, key) == getattr(alone.summary, key) for key in ("score", "interval", "counts")] == [True] * 3
    assert run.summary.by_scorer["f1"]["score"] == f1.summary.score
    assert run.summary.by_scorer["f1"]["interval_95"] == list(f1.summary.interval or ())
    assert run.summary.by_scorer["ter"]["score"] is None
    assert run.summary.by_scorer["ter"]["raw"] > 0
    frame = run.to_frame()
    assert list(frame["f1"]) == [result.score for result in f1.results]
    assert list(frame["bleu"]) == list(frame["score"]) == [result.score for result in alone.results]
    for ending in ("csv", "json", "md", "html", "xml", "parquet"):
        text = run.write(tmp_path / f"r.{ending}").read_bytes()
        assert all(name.encode() in text.replace(b"\\_", b"_") for name in ("f1", "bleu", "ter")), ending
    with (tmp_path / "r.csv").open() as file:
        assert [row["f1"] for row in csv.DictReader(file)] == ["0.6666666666666666", "1", "0", "0"]


def test_an_outage_of_one_scorer_leaves_only_its_column_open_and_a_resumed_run_fills_it(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No score moves with a judge that is down: its column says how much of it was judged, and the run is whole."""
    monkeypatch.setenv("TEST_JUDGE_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    is_down = [True]
    server = serve(lambda _, number: Say(status=500) if is_down[0] and number > 2 else '{"score": 5}')
    judge = {"base_url": server.base_url, "model": "m", "key_env": "TEST_JUDGE_KEY", "retries": 0, "concurrency": 1}
    _gold(tmp_path / "gold", {"scorers": ["f1", "llm_judge"], "judge": judge})
    _handed_in(tmp_path / "a", ANSWERS)
    assert main(["run", "a", "--gold", "gold"]) == 0
    said = capsys.readouterr().out
    assert "llm_judge judged 2/4: 100.0 %" in said
    assert "41.7 %" in said
    assert "llm_judge: 2 of 4 not scored: JUDGE_FAILED" in said
    is_down[0] = False
    folder = next((tmp_path / ".evalsuite/runs").iterdir())
    assert main(["run", "a", "--gold", "gold", "--resume", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "llm_judge 4/4" in said
    assert "41.7 %" in said
    assert len(server.asked) == 6


def test_a_leaderboard_has_a_column_for_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The means of the scorers beside the score, those without bounds on their own scale and with their own good end."""
    monkeypatch.chdir(tmp_path)
    _gold(tmp_path / "gold", {"scorers": ["f1", "exact_match", "ter"]})
    _handed_in(tmp_path / "a", ANSWERS)
    _handed_in(tmp_path / "b", BETTER)
    assert main(["leaderboard", "a", "b", "--gold", "gold", "-o", "board.json"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "exact_match" in said
    board = json.loads(Path("board.json").read_text())
    assert board["by_direction"] == {"exact_match": "higher", "ter": "lower"}
    assert [(row["name"], row["by"]["exact_match"]) for row in board["rows"]] == [("b", 0.75), ("a", 0.25)]
    assert board["raw_columns"] == ["ter"]
    assert board["rows"][0]["by"]["ter"] < board["rows"][1]["by"]["ter"]


def test_a_hidden_suite_shows_numbers_of_each_scorer_and_no_gold(tmp_path: Path) -> None:
    """Below `cells` a column has its numbers, and nothing of what its scorer said."""
    gold = _gold(tmp_path / "gold", {"scorers": ["f1", "string_match"], "hidden": True})
    run = evalsuite.evaluate(_handed_in(tmp_path / "a", ANSWERS), gold, save=False, isolation="none")
    text = run.write(tmp_path / "r.json").read_text()
    assert '"string_match": 1' in text
    assert not any(word in text for word in ("forty two", "on the hill", "the mat"))
    nothing = run.write(tmp_path / "n.csv", reveal="none").read_text()
    assert all(row["string_match"] == "" for row in csv.DictReader(nothing.splitlines()))


@pytest.mark.parametrize(("suite", "said"), [
    ({"scorers": ["f1", "blue"]}, "unknown scorer 'blue'"), ({"scorers": ["f1", "f1"]}, "lists 'f1' twice"),
    ({"scorers": ["f1", "table_match"]}, "table_match reads a table"),
    ({"scorers": ["f1", "bleu"], "score": "f2"}, "score names 'f2'"),
    ({"score": "f1"}, "score names 'f1'"), ({"scorers": ["f1", 3]}, "scorers must be a mapping"),
])  # fmt: skip
def test_a_list_that_cannot_be_meant_is_refused_with_its_line(tmp_path: Path, suite: dict[str, Any], said: str) -> None:
    """File and line stand in front, and what is wrong is named."""
    with pytest.raises((GoldError, EvalsuiteError)) as caught:
        read_gold(_gold(tmp_path / "gold", suite))
    assert said in caught.value.message
    assert "suite.yaml" in caught.value.message


def test_a_scorer_moves_the_signature(tmp_path: Path) -> None:
    """Runs of another list of scorers are no runs of the same suite."""
    handed_in = _handed_in(tmp_path / "a", ANSWERS)
    signatures = {
        evalsuite.evaluate(handed_in, _gold(tmp_path / f"g{at}", {"name": "one", "scorers": names}), save=False, isolation="none").signature
        for at, names in enumerate((["f1", "bleu"], ["f1", "bleu", "ter"], ["bleu", "f1"]))
    }
    assert len(signatures) == 3


def test_a_suite_by_name_takes_a_list_of_scorers(tmp_path: Path) -> None:
    """`TestSuite("name", ["f1", "bleu"])`: a name, an object of the caller's own, parameters by scorer, and the same list on reload."""
    data = {"input_text_list": QUESTIONS, "reference_output_list": TEXTS}
    suite = evalsuite.TestSuite("s", ["f1", "bleu", Typos()], config={"f1": {"variant": "multiset"}}, root=tmp_path, **data)
    assert suite.scoring_method == "f1"
    assert suite.suite.scorers == ("f1", "bleu", "typos")
    run = suite.run("a", candidate_output_list=ANSWERS)
    assert list(run.scores_by_scorer) == ["f1", "bleu", "typos"]
    assert run.scores_by_scorer["f1"] == run.scores
    assert run.scores_by_scorer["typos"] == [1.0, 1.0, 1.0, 1.0]
    assert run.test_cases[1].scores == {"f1": 1.0, "bleu": 1.0, "typos": 1.0}
    assert evalsuite.TestSuite("s", ["f1", "bleu", Typos()], root=tmp_path).test_cases == suite.test_cases
    with pytest.raises(SuiteError, match="is scored by f1, bleu, typos, not f1"):
        evalsuite.TestSuite("s", "f1", root=tmp_path)
    for wrong in ({"f2": {}}, {"f1": {"variant": "no such"}}, {"bleu": 3}):
        with pytest.raises(UsageError):
            evalsuite.TestSuite("t", ["f1", "bleu"], config=wrong, root=tmp_path, **data)
    with pytest.raises(UsageError, match="f1, f1"):
        evalsuite.TestSuite("t", ["f1", "f1"], root=tmp_path, **data)


def test_suite_create_takes_several_scorers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`--scorer` may be repeated; `--parameter SCORER.NAME=VALUE` says whose a parameter is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.csv").write_text("input,reference_output\n" + "".join(f"{q},{r}\n" for q, r in zip(QUESTIONS, TEXTS, strict=True)))
    (tmp_path / "a.csv").write_text("candidate_output\n" + "".join(f"{text}\n" for text in ANSWERS))
    create = ["suite", "create", "s", "--from", "q.csv", "--scorer", "f1", "--scorer", "exact_match"]
    assert main([*create, "--parameter", "variant=multiset"]) == 2
    assert main([*create, "--parameter", "f1.variant=multiset"]) == 0
    assert main(["suite", "run", "s", "--from", "a.csv"]) == 0
    capsys.readouterr()
    assert main(["report", "a"]) == 0
    assert "f1 41.7 % (the score) · exact_match 1/4" in " ".join(capsys.readouterr().out.split())
