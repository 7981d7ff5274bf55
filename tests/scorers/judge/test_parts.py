"""A judge as a part of something else: of a composite in gold or suite.yaml, of a tree's schema, of `check` and `score`; and its cost."""

import json
from pathlib import Path
from typing import Any

import pytest

import evalsuite
from evalsuite.cli import main
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from tests.scorers.judge.conftest import KEY, Serve
from tests.scorers.judge.server import Say, prompt_of

pytestmark = pytest.mark.usefixtures("shared_fork_server")


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The key in the environment, caches in a folder of the test."""
    monkeypatch.setenv("TEST_JUDGE_KEY", KEY)
    monkeypatch.chdir(tmp_path)


def section(base_url: str, **more: Any) -> dict[str, Any]:
    """A `judge:` section that reaches the server."""
    return {"base_url": base_url, "model": "m", "key_env": "TEST_JUDGE_KEY", "backoff_seconds": 0.001, **more}


def write(folder: Path, suite: dict[str, Any], evaluation: dict[str, Any], answers: list[Any]) -> tuple[Path, Path]:
    """Gold with the same check for instances q0..., and a submission that answers them; answers that are no text are JSON files."""
    gold, submission = folder / "gold", folder / "submission"
    gold.mkdir()
    submission.mkdir()
    (gold / "suite.yaml").write_text(json.dumps(suite))
    lines = [{"instance_id": f"q{n}", "evaluation": evaluation} for n in range(len(answers))]
    (gold / "x_eval.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    rows = []
    for n, answer in enumerate(answers):
        kind, value = ("answer", answer) if isinstance(answer, str) else ("file", "a.json")
        if kind == "file":
            (submission / f"q{n}").mkdir()
            (submission / f"q{n}" / "a.json").write_text(json.dumps(answer))
        rows.append({"instance_id": f"q{n}", "answer_type": kind, "answer_or_path": value})
    (submission / "results_metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return submission, gold


PARTS = [{"exact_match": {}, "weight": 0.5}, {"llm_judge": {}, "weight": 0.5}]


def test_composite_without_a_verdict_is_unscored(tmp_path: Path, serve: Serve) -> None:
    """A part without a verdict leaves the composite unscored: an interval, no 0 and no fault of gold."""
    server = serve(lambda *_: "I would rather not say")
    suite = {"judge": section(server.base_url)}
    evaluation = {"func": "composite", "parameters": {"gold": "Paris", "parts": PARTS}}
    [result] = run(*write(tmp_path, suite, evaluation, ["Paris"]), RunOptions(save=False)).results
    assert (result.status, result.score, result.fault) == ("unscored", None, "UNDEFINED")


@pytest.mark.parametrize("on_missing", ["null", "renormalise", "zero"])
def test_composite_with_the_judge_down_is_unscored(tmp_path: Path, serve: Serve, on_missing: str) -> None:
    """An outage is nobody's 0: nothing stands in for the part, whatever is done with parts without a value."""
    server = serve(lambda *_: Say(status=400))
    evaluation = {"func": "composite", "parameters": {"gold": "Paris", "parts": PARTS, "on_missing": on_missing}}
    [result] = run(*write(tmp_path, {"judge": section(server.base_url)}, evaluation, ["Paris"]), RunOptions(save=False)).results
    assert (result.status, result.score, result.fault) == ("unscored", None, "JUDGE_FAILED")


@pytest.mark.parametrize(
    ("func", "parameters"),
    [
        ("jaro_winkler", {"gold": "x", "prefix_weight": "much"}),
        ("pass_at_k", {"gold": "x", "k": "2"}),
        ("composite", {"gold": "x", "parts": ["f1"], "aggregation": 5}),
        ("composite", {"gold": "x", "parts": {"f1": 1}}),
        ("composite", {"gold": "x"}),
        ("llm_judge", {"gold": "x", "scale": "1-5"}),
    ],
)
def test_wrong_parameters_beside_a_judge_are_golds_fault(tmp_path: Path, func: str, parameters: dict[str, Any]) -> None:
    """Whether a check asks the judge is looked at before it is scored; what cannot be made is a gold fault and no crash."""
    suite = {"judge": section("http://127.0.0.1:9")}
    [result] = run(*write(tmp_path, suite, {"func": func, "parameters": parameters}, ["x"]), RunOptions(save=False)).results
    assert (result.status, result.fault) == ("gold_fault", "BAD_SPEC")


SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "x-eval-compare": "semantic"}, "year": {"type": "integer"}},
}


def test_semantic_fields_of_a_tree_ask_the_suites_judge(tmp_path: Path, serve: Serve) -> None:
    """A schema's `semantic` comparator reaches the judge of suite.yaml in a run; equal values are not asked."""
    server = serve(lambda *_: '{"results": [1]}')
    evaluation = {"func": "tree_match", "parameters": {"gold": {"name": "New York City", "year": 1900}, "schema": SCHEMA}}
    answers = [{"name": "NYC", "year": 1900}, {"name": "New York City", "year": 1900}]
    done = run(*write(tmp_path, {"judge": section(server.base_url)}, evaluation, answers), RunOptions(save=False))
    assert [result.score for result in done.results] == [1, 1], [r.reason for r in done.results]
    assert {"NYC" in prompt_of(body) for body in server.asked} == {True}


def test_semantic_fields_without_a_judge_are_unscored(tmp_path: Path) -> None:
    """Without a judge a schema that needs one leaves the answer unscored and says which key is missing."""
    evaluation = {"func": "tree_match", "parameters": {"gold": {"name": "New York City"}, "schema": SCHEMA}}
    [result] = run(*write(tmp_path, {}, evaluation, [{"name": "NYC"}]), RunOptions(save=False)).results
    assert (result.status, result.score, result.fault) == ("unscored", None, "NO_JUDGE")


def test_check_and_score_ask_the_judge(tmp_path: Path, serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    """`check --judge suite.yaml` and `score(..., judge=...)` ask the same judge for one prediction."""
    server = serve(lambda *_: '{"score": 5}')
    suite = tmp_path / "suite.yaml"
    suite.write_text(json.dumps({"judge": section(server.base_url)}))
    assert main(["check", "llm_judge", "--prediction", "Paris", "--gold", "Paris", "--judge", str(suite)]) == 0
    assert "the judge says 5 of 5" in capsys.readouterr().out
    found = evalsuite.score("llm_judge", "Rome", gold="Paris", judge=section(server.base_url))
    assert found.official == 1
    part = evalsuite.score("composite", "Rome", gold="Paris", parts=PARTS, judge=section(server.base_url))
    assert part.official == pytest.approx(0.5)


def test_check_without_a_judge_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No judge, and a suite.yaml without one, are clear errors with a way out."""
    assert main(["check", "llm_judge", "--prediction", "Paris", "--gold", "Paris"]) == 2
    assert "NO_JUDGE" in capsys.readouterr().err
    (tmp_path / "suite.yaml").write_text("name: x\n")
    assert main(["check", "llm_judge", "--prediction", "x", "--gold", "x", "--judge", str(tmp_path / "suite.yaml")]) == 2
    assert "no `judge` section" in capsys.readouterr().err
