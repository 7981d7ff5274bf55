"""`evalsuite samples`, and `compare` of sides that are several samples."""

import json
from pathlib import Path

import pytest

from evalsuite.cli import main
from tests.cli.test_run import as_json, lacks, said
from tests.conftest import copy_of

pytestmark = pytest.mark.usefixtures("shared_fork_server")

ANSWERS = {"a0": "yynn", "a1": "yyyn", "b0": "nnnn", "b1": "nynn"}


def make_runs(folder: Path) -> None:
    """Gold of four questions, a submission for each of `ANSWERS`, and their runs."""
    spec = {"func": "string_match", "parameters": {"gold": ["y"]}}
    (folder / "gold").mkdir()
    lines = [json.dumps({"instance_id": f"q{i}", "evaluation": spec}) for i in range(4)]
    (folder / "gold" / "x_eval.jsonl").write_text("\n".join(lines))
    for name, answers in ANSWERS.items():
        submission(folder / name, answers)
        assert main(["run", name, "--gold", "gold", "--out", f"runs/{name}", "--quiet", "--isolation", "none"]) == 0


place = copy_of(make_runs)


def submission(folder: Path, answers: str) -> None:
    """A submission with a letter for each question."""
    folder.mkdir()
    rows = [
        {"instance_id": f"q{i}", "answer_type": "answer", "answer_or_path": letter} for i, letter in enumerate(answers) if letter != "-"
    ]
    (folder / "results_metadata.jsonl").write_text("\n".join(map(json.dumps, rows)))


def test_runs_that_name_their_model_are_its_samples(place: Path) -> None:
    """Four runs of two model names are two rows."""
    for name in ANSWERS:
        path = place / "runs" / name / "run.json"
        run = json.loads(path.read_text())
        path.write_text(json.dumps({**run, "metadata": {**run.get("metadata", {}), "model_name": name[0]}}))
    found = as_json("samples", *(f"runs/{name}" for name in ANSWERS))
    assert [(one["model"], one["mean"]) for one in found["models"]] == [("a", 0.625), ("b", 0.125)]


def test_compare_pairs_samples_by_question(place: Path) -> None:
    """`a0+a1` is one side whose score on a question is the mean of both: n is the number of questions, not of answers."""
    found = as_json("compare", "runs/a0+runs/a1", "runs/b0+runs/b1")
    total = found["candidates"][0]["total"]
    assert (total["n"], total["a"], total["b"], total["difference"]) == (4, 0.625, 0.125, -0.5)
    assert found["baseline"] == "a0+a1"


def test_unequal_samples_are_a_note(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A question that one run has no judged answer to is named, and counts by the others."""
    path = place / "runs" / "a1" / "results.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[1] |= {"status": "unscored", "score": None, "official": None, "strict": None}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "fewer than 2 samples were judged of q1 (1)" in said("samples", "runs/a0", "runs/a1")
    assert main(["compare", "runs/a0+runs/a1", "runs/b0"]) == 0
    assert "fewer than 2 samples were judged of q1 (1)" in capsys.readouterr().err
    # One run is no samples.
    assert main(["compare", "runs/a1", "runs/b0"]) == 0
    assert "samples were judged" not in capsys.readouterr().err


def test_samples_of_one_side_were_scored_alike(place: Path) -> None:
    """A run under other rules is no sample of the first."""
    assert main(["run", "a1", "--gold", "gold", "--rules", "strict", "--out", "runs/strict", "--quiet", "--isolation", "none"]) == 0
    assert "are not samples of one model" in said("compare runs/a0+runs/strict runs/b0", code=2)


@pytest.fixture
def several(place: Path) -> Path:
    """A submission of three lines an id but for q2, which has two, and q3, which has four."""
    folder = place / "several"
    folder.mkdir()
    letters = {"q0": "yyy", "q1": "nyn", "q2": "yn", "q3": "yyyy"}
    rows = [
        {"instance_id": name, "answer_type": "answer", "answer_or_path": own[at]}
        for at in range(4)
        for name, own in letters.items()
        if at < len(own)
    ]
    (folder / "results_metadata.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def test_several_answers_a_question_in_one_submission(several: Path) -> None:
    """Each sample is a run, its i-th line of each id; too few and too many are named by their line and count as wrong."""
    shown = said("run", "several", "--gold", "gold", "--samples", "3", "--out", "runs/s", "--isolation", "none")
    assert not lacks(shown, "results_metadata.jsonl:7: 'q2' has 2 of 3 samples", "results_metadata.jsonl:12: 'q3' has more than 3 samples")
    assert shown.splitlines()[-1] == "done: 41.7 %, the mean of 3 samples (no gate set)"
    rows = [[json.loads(line)["score"] for line in Path(f"runs/s/sample_{at}/results.jsonl").read_text().splitlines()] for at in (1, 2, 3)]
    assert rows == [[1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]]
    assert main(["verify", "runs/s/sample_2", "--isolation", "none"]) == 0
    assert "0 of 4 verdicts changed" in said("rescore", "runs/s/sample_2", "--isolation", "none")


def test_gates_hold_for_the_mean_of_samples(several: Path) -> None:
    """No single sample is held to the gate; what is about one run alone is refused."""
    asked = ["run", "several", "--gold", "gold", "--samples", "3", "--no-save", "--isolation", "none"]
    assert said(*asked, "--fail-under", "0.4", "--quiet").endswith("(gate 40.0 % met)\n")
    assert "below the gate of 45.0 % (exit 1)" in said(*asked, "--fail-under", "0.45", "--quiet", code=1)
    assert as_json(*asked)["models"][0]["n_samples"] == [3, 3]
    Path("gold/suite.yaml").write_text("fail_under: 0.9\n")
    assert "below the gate of 90.0 % (exit 1)" in said(*asked, "--quiet", code=1)
    assert said(*asked, "--fail-under", "0", "--quiet").endswith("(gate 0.0 % met)\n")
    for refused in (["--watch"], ["-x"], ["--lf"], ["--mode", "sql"]):
        assert main([*asked, *refused]) == 2


def test_a_board_of_models_ranks_the_means_of_their_samples(several: Path) -> None:
    """`leaderboard --samples`: submissions of one model_name are a row with pass@k and pass^k; one without a name is a row of its own."""
    Path("models.csv").write_text("submission,model_name\na0,A\na1,A\nb0,B\nb1,B\n")
    asked = ["leaderboard", "a0", "a1", "b0", "b1", "--gold", "gold", "--metadata", "models.csv", "--samples", "--isolation", "none"]
    rows = as_json(*asked)["rows"]
    assert [(row["name"], row["rank"], row["score"]) for row in rows] == [("A", 1, 0.625), ("B", 2, 0.125)]
    assert [(one["k"], one["any"], one["all"]) for one in rows[0]["samples"]["passes"]] == [(1, 0.625, 0.625), (2, 0.75, 0.5)]
    assert rows[0]["samples"]["runs"] == ["a0", "a1"]
    shown = said(*asked)
    assert not lacks(shown, "pass@2", "75.0 % [30.1, 95.4]")
    plain = as_json(*asked[:-3], "--isolation", "none")["rows"]
    assert {(row["name"], row["samples"]) for row in plain} == {(name, None) for name in ANSWERS}
