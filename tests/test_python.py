"""Runs in Python: a frame, a report, a repr, the public names, and an assertion for tests."""

import json
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import evalsuite
from evalsuite.cli import main
from evalsuite.core.errors import FaultError, GoldError, UsageError
from tests.conftest import copy_example, copy_of
from tests.processes import finished

pytestmark = pytest.mark.usefixtures("shared_fork_server")

EXAMPLE, GOLD = Path("example_submission_folder"), Path("gold")
place = copy_of(lambda folder: copy_example(folder, {"sales_001", "sales_002", "hr_001", "hr_004", "fin_004"}))


def test_a_run_is_a_frame_a_report_and_a_line(place: Path) -> None:
    """Rows as in the CSV, a page by its ending, a repr of one line, and HTML for a notebook."""
    run = evalsuite.evaluate(EXAMPLE, GOLD, save=False)
    frame = run.to_frame()
    assert list(frame["instance_id"]) == [result.instance_id for result in run.results]
    assert {"question", "reference", "answer", "score"} <= set(frame.columns)
    assert run.write(place / "x.html").read_text().startswith("<!")
    assert repr(run).startswith("<Run of 'example_submission_folder'")
    assert "\n" not in repr(run)
    assert "<table>" in run._repr_html_()


def test_a_run_of_a_suite_is_read_the_same_way(tmp_path: Path) -> None:
    """A frame with question, reference and answer, a page, and one line each for suite and run."""
    suite = evalsuite.TestSuite("t", "exact_match", input_text_list=["a?", "b?"], reference_output_list=["x", "y"], root=tmp_path)
    run = suite.run("first", candidate_output_list=["x", "z"])
    frame = run.to_frame()
    assert frame[["question", "reference", "answer", "score"]].to_numpy().tolist() == [["a?", "x", "x", 1], ["b?", "y", "z", 0]]
    assert run.write(tmp_path / "x.html").read_text().startswith("<!")
    assert (repr(suite), repr(run)) == ("<TestSuite 't': 2 cases, exact_match>", "<TestRun 'first' of 't': done: 50.0 % (no gate set)>")
    assert "<table>" in run._repr_html_()


def test_a_test_asserts_scores(place: Path) -> None:
    """What is good enough passes; what is not names its instances."""
    assert evalsuite.assert_scores(EXAMPLE, GOLD, at_least=0.5).summary.score
    with pytest.raises(AssertionError, match=r"is less than 0\.99[\s\S]*hr_004: "):
        evalsuite.assert_scores(EXAMPLE, GOLD, at_least=0.99)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rules": "strct"}, "rules cannot be 'strct'\nhint: did you mean 'strict'?"),
        ({"rules": "bird-ex"}, "rules cannot be 'bird-ex'"),
        ({"isolation": "no"}, "isolation cannot be 'no'"),
        ({"invalid_as": "null"}, "invalid_as cannot be 'null'"),
        ({"jobs": -3}, "jobs cannot be -3\nhint: a whole number from 1 to 256"),
        ({"jobs": "2"}, "jobs cannot be '2'"),
        ({"jobs": True}, "jobs cannot be True"),
        ({"limits": "seconds=3"}, "limits cannot be 'seconds=3'"),
        ({"only": [1]}, "only takes instance ids, found 1"),
        ({"only": "hr_01"}, "no instance 'hr_01' in gold\nhint: did you mean 'hr_001'?"),
        ({"shard": "3/2"}, "--shard cannot be '3/2'"),
        ({"judge": "no.yaml"}, "no.yaml: no such file"),
        ({"rule": "strict"}, "unknown option 'rule'\nhint: did you mean 'rules'?"),
        ({"at_least": 80}, "at_least must be between 0 and 1, found 80"),
    ],
)
def test_an_option_of_no_use_is_refused(place: Path, options: dict[str, Any], message: str) -> None:
    """A misspelt value is no silent default and no internal error, and a traceback shows the hint."""
    call = evalsuite.assert_scores if "at_least" in options else evalsuite.evaluate
    with pytest.raises(UsageError) as refused:
        call(EXAMPLE, GOLD, **{"save": False, **options})
    shown = "\n".join([str(refused.value), *getattr(refused.value, "__notes__", [])])
    assert shown.startswith(message)


def test_texts_stand_for_ids_and_parts(place: Path) -> None:
    """`only` and `shard` may be texts as on the command line; a report of an unknown ending and a file that is not there are named."""
    run = evalsuite.evaluate(EXAMPLE, GOLD, only="hr_001, hr_004", shard="1/1", save=False)
    assert [result.instance_id for result in run.results] == ["hr_001", "hr_004"]
    with pytest.raises(UsageError, match=r"no report format for 'x\.docx'"):
        run.write("x.docx")
    with pytest.raises(FaultError) as lost:
        evalsuite.score("table_match", "nosuch.csv", gold="nosuch.csv")
    with pytest.raises(UsageError, match=r"judge cannot be 'judge\.yaml'"):
        evalsuite.score("llm_judge", "a", gold="b", judge="judge.yaml")  # type: ignore[arg-type]
    assert lost.value.__notes__ == ["MISSING_FILE: nosuch.csv: the file is not there"]


def question(folder: Path, func: str, suite: str = "", plugin: str = "") -> Path:
    """A gold folder of one question with its suite and its plugin."""
    folder.mkdir(exist_ok=True)
    check = {"func": func, "parameters": {"gold": "the cat sat"}}
    (folder / "x_eval.jsonl").write_text(json.dumps({"instance_id": "q", "evaluation": check}))
    (folder / "suite.yaml").write_text(suite or "name: x\n")
    if plugin:
        (folder / "my.py").write_text(f"from evalsuite import scorer\n\n@scorer(reads='text')\n{plugin}")
    return folder


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """A submission with one answer."""
    (tmp_path / "answers").mkdir()
    line = {"instance_id": "q", "answer_type": "answer", "answer_or_path": "the cat sat down"}
    (tmp_path / "answers" / "results_metadata.jsonl").write_text(json.dumps(line))
    return tmp_path / "answers"


def test_a_call_knows_nothing_of_the_plugins_of_earlier_calls(answers: Path, tmp_path: Path) -> None:
    """A plugin that was edited, another one of the same name, none, and a file that is gone: as in a process of its own."""
    mine = "scorers: {mine: 'python:my.py:mine'}\n"
    plain = evalsuite.evaluate(answers, question(tmp_path / "plain", "string_match"), save=False)
    for folder, share in (("a", 0.25), ("a", 0.5), ("b", 0.75)):
        plugin = f"def mine(prediction: str, *, gold: str) -> float:\n    return {share}\n"
        gold = question(tmp_path / folder, "mine", mine, plugin)
        assert evalsuite.evaluate(answers, gold, save=False).summary.score == share
        assert evalsuite.score("mine", "x", gold="x").official == share
    with pytest.raises(GoldError, match="unknown scorer 'mine'"):
        evalsuite.evaluate(answers, question(tmp_path / "c", "mine"), save=False)
    parts = tmp_path / "parts.py"
    text = "from evalsuite.trees.comparators import exact, register\nregister('own', lambda *row: exact(*row)){}\n"
    for end in ("", "  # edited"):
        parts.write_text(text.format(end))
        assert main(["run", str(answers), "--gold", str(tmp_path / "plain"), "--no-save", "--quiet", "--plugin", str(parts)]) == 0
    shutil.rmtree(tmp_path / "a")
    parts.unlink()
    again = evalsuite.evaluate(answers, tmp_path / "plain", save=False)
    assert (again.signature, again.summary.score) == (plain.signature, plain.summary.score)


def test_calls_in_threads_keep_their_scorers(answers: Path, tmp_path: Path) -> None:
    """Suites that define a metric of the same name differently, at once: each call has the score of its own suite."""
    golds = []
    for at, weight in enumerate((0.2, 0.8)):
        parts = f"parts: [{{exact_match: {{}}, weight: {weight}}}, {{f1: {{}}, weight: {1 - weight}}}]"
        golds.append(question(tmp_path / f"g{at}", "quality", f"scorers: {{quality: {{composite: {{{parts}}}}}}}\n"))

    def score(gold: Path) -> float | None:
        return evalsuite.evaluate(answers, gold, save=False).summary.score

    alone = [score(gold) for gold in golds]
    assert alone[0] != alone[1]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(score, golds * 2)) == alone * 2


def test_a_working_folder_that_is_gone_is_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a bare FileNotFoundError without a name, wherever the folders of the call are."""
    (place / "gone").mkdir()
    monkeypatch.chdir(place / "gone")
    (place / "gone").rmdir()
    for submission, gold in ((place / EXAMPLE, place / GOLD), (Path("sub"), Path("gold"))):
        with pytest.raises(UsageError, match="the current folder does not exist any more"):
            evalsuite.evaluate(submission, gold, save=False)


def test_debug_ends_with_its_command(tmp_path: Path) -> None:
    """The log of a command with --debug is not printed by the next command of the process."""
    plugin = "def boom(prediction: str, *, gold: str) -> float:\n    raise ValueError\n"
    question(tmp_path, "boom", plugin=plugin)
    words = ["check", "boom", "--plugin", "my.py", "--prediction", "3", "--gold", "3"]
    code = f"from evalsuite.cli import main\nfor more in ([], ['--debug'], []):\n    assert main([*more, *{words}]) == 2"
    ended = finished([sys.executable, "-c", code], cwd=tmp_path, check=True)
    assert [part.count("Traceback") for part in ended.stderr.split("error: ")] == [0, 1, 0, 0]


def test_the_package_shows_its_names_and_its_types() -> None:
    """`dir` gives the public names, and `py.typed` lies in the package."""
    assert set(evalsuite.__all__) <= set(dir(evalsuite))
    assert (files("evalsuite") / "py.typed").is_file()
