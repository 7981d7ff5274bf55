"""Suites of several scorers: one makes the score, each has a column in every report, and an outage of one leaves only its column open."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import evalsuite
from evalsuite.cli import main
from evalsuite.core.errors import EvalsuiteError, GoldError, UsageError
from evalsuite.gold.layouts import read_gold
from evalsuite.suites.stored_suites import SuiteError
from tests.scorers.judge.conftest import KEY, Serve, serve
from tests.scorers.judge.server import Say
from tests.suites.made import Typos

pytestmark = pytest.mark.usefixtures("shared_fork_server")

__all__ = ["serve"]
QUESTIONS = ["who sat?", "which colours?", "where?", "how many?"]
REFERENCES = ["the cat sat on the mat", "red and blue", "on the hill", "forty two"]
ANSWERS = ["the cat sat", "red and blue", "in a valley", "42"]
BETTER = ["the cat sat on the mat", "red and blue", "on a hill", "forty two"]


def _gold(folder: Path, suite: dict[str, Any], *, scorer: str = "f1") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {"instance_id": f"q{at}", "question": asked, "evaluation": {"func": scorer, "parameters": {"gold": text}}}
        for at, (asked, text) in enumerate(zip(QUESTIONS, REFERENCES, strict=True))
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
    assert (run.summary.score, run.summary.interval, run.summary.counts) == (
        alone.summary.score,
        alone.summary.interval,
        alone.summary.counts,
    )
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


@pytest.mark.parametrize(
    ("suite", "said"),
    [
        ({"scorers": ["f1", "blue"]}, "unknown scorer 'blue'"),
        ({"scorers": ["f1", "f1"]}, "lists 'f1' twice"),
        ({"scorers": ["f1", "table_match"]}, "table_match reads a table"),
        ({"scorers": ["f1", "bleu"], "score": "f2"}, "score names 'f2'"),
        ({"score": "f1"}, "score names 'f1'"),
        ({"scorers": ["f1", 3]}, "scorers must be a mapping"),
    ],
)
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
    data = {"input_text_list": QUESTIONS, "reference_output_list": REFERENCES}
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
    (tmp_path / "q.csv").write_text("input,reference_output\n" + "".join(f"{q},{r}\n" for q, r in zip(QUESTIONS, REFERENCES, strict=True)))
    (tmp_path / "a.csv").write_text("candidate_output\n" + "".join(f"{text}\n" for text in ANSWERS))
    create = ["suite", "create", "s", "--from", "q.csv", "--scorer", "f1", "--scorer", "exact_match"]
    assert main([*create, "--parameter", "variant=multiset"]) == 2
    assert main([*create, "--parameter", "f1.variant=multiset"]) == 0
    assert main(["suite", "run", "s", "--from", "a.csv"]) == 0
    capsys.readouterr()
    assert main(["report", "a"]) == 0
    assert "f1 41.7 % (the score) · exact_match 1/4" in " ".join(capsys.readouterr().out.split())
