"""`evalsuite samples`, and `compare` of sides that are several samples."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from evalsuite.cli import main

ANSWERS = {"a0": "yynn", "a1": "yyyn", "b0": "nnnn", "b1": "nynn"}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Gold of four questions, a submission for each of `ANSWERS`, and their runs."""
    monkeypatch.chdir(tmp_path)
    spec = {"func": "string_match", "parameters": {"gold": ["y"]}}
    (tmp_path / "gold").mkdir()
    lines = [json.dumps({"instance_id": f"q{i}", "evaluation": spec}) for i in range(4)]
    (tmp_path / "gold" / "x_eval.jsonl").write_text("\n".join(lines))
    for name, answers in ANSWERS.items():
        submission(tmp_path / name, answers)
        assert main(["run", name, "--gold", "gold", "--out", f"runs/{name}", "--quiet", "--isolation", "none"]) == 0
    return tmp_path


def submission(folder: Path, answers: str) -> None:
    """A submission with a letter for each question."""
    folder.mkdir()
    rows = [
        {"instance_id": f"q{i}", "answer_type": "answer", "answer_or_path": letter} for i, letter in enumerate(answers) if letter != "-"
    ]
    (folder / "results_metadata.jsonl").write_text("\n".join(map(json.dumps, rows)))


def told(capsys: pytest.CaptureFixture[str], arguments: Sequence[str], code: int = 0) -> str:
    """What a command prints."""
    capsys.readouterr()
    assert main(arguments) == code
    return capsys.readouterr().out


def test_samples_of_a_model(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two runs: the mean over questions, one or both right, and where the noise is, in words and as JSON."""
    shown = told(capsys, ["samples", "runs/a0", "runs/a1"])
    assert "62.5 %" in shown
    assert "most of the width comes from the questions" in shown
    (model,) = json.loads(told(capsys, ["samples", "runs/a0", "runs/a1", "--json"]))["models"]
    assert (model["mean"], model["n_questions"], model["n_samples"], model["runs"]) == (0.625, 4, [2, 2], ["a0", "a1"])
    assert [(row["k"], row["any"], row["all"]) for row in model["passes"]] == [(1, 0.625, 0.625), (2, 0.75, 0.5)]


def test_runs_that_name_their_model_are_its_samples(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Four runs of two model names are two rows."""
    for name in ANSWERS:
        path = place / "runs" / name / "run.json"
        run = json.loads(path.read_text())
        path.write_text(json.dumps({**run, "metadata": {**run.get("metadata", {}), "model_name": name[0]}}))
    found = json.loads(told(capsys, ["samples", *(f"runs/{name}" for name in ANSWERS), "--json"]))
    assert [(one["model"], one["mean"]) for one in found["models"]] == [("a", 0.625), ("b", 0.125)]


def test_compare_pairs_samples_by_question(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`a0+a1` is one side whose score on a question is the mean of both: n is the number of questions, not of answers."""
    found = json.loads(told(capsys, ["compare", "runs/a0+runs/a1", "runs/b0+runs/b1", "--json"]))
    total = found["candidates"][0]["total"]
    assert (total["n"], total["a"], total["b"], total["difference"]) == (4, 0.625, 0.125, -0.5)
    assert found["baseline"] == "a0+a1"


def test_unequal_samples_are_a_note(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A question that one run has no judged answer to is named, and counts by the others."""
    path = place / "runs" / "a1" / "results.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[1] |= {"status": "unscored", "score": None, "official": None, "strict": None}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "fewer than 2 samples were judged of q1 (1)" in told(capsys, ["samples", "runs/a0", "runs/a1"])
    assert main(["compare", "runs/a0+runs/a1", "runs/b0"]) == 0
    assert "fewer than 2 samples were judged of q1 (1)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["samples", "runs/a0"], "samples are two or more"),
        (["compare", "runs/a0+", "runs/b0"], "a sample has no name"),
        (["samples", "runs/a0", "runs/none"], "none"),
    ],
)
def test_what_is_no_sample_is_an_error(place: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    """One run, an empty name and an unknown one end with exit 2 and say why."""
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
