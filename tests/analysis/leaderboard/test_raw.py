"""Values on a metric's own scale: kept, averaged, compared and ranked as they are, in no score and nowhere as percent."""

import json
import re
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.reports.test_suite import TestSuite
from evalsuite.runs.history import find_runs
from evalsuite.suites.transfer import import_suites
from tests.conftest import corpus

pytestmark = pytest.mark.usefixtures("shared_fork_server")

EASY, HARD = "The cat sat. The dog ran.", "Notwithstanding considerable institutional opposition, deregulation accelerated."
PLUGIN = """
from evalsuite.core.registry import scorer

@scorer(reads="text", range=None)
def words(prediction, *, gold=None):
    return len(prediction.split())

@scorer(reads="text", range=(0, 10))
def marks(prediction, *, gold=None):
    return len(prediction.split())

@scorer(reads="text")
def bare(prediction, *, gold=None):
    return len(prediction.split())
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def called(capsys: pytest.CaptureFixture[str], words: list[str], code: int = 0) -> list[str]:
    """The lines that a command prints, which must end with this code."""
    capsys.readouterr()
    assert main(words) == code, capsys.readouterr().err
    return capsys.readouterr().out.splitlines()


class Length:
    """A scorer of Bench's shape that counts words."""

    name = "length"

    def run_batch(self, outputs: list[str], references: Any, inputs: Any, contexts: Any) -> list[float]:
        """The number of words of each output."""
        return [float(len(text.split())) for text in outputs]


@pytest.mark.parametrize("scorer", ["readability", Length()])
def test_a_suite_without_a_range_gives_values(scorer: Any, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The scores of a run are raw, its mean too; two runs are compared and ranked by them, and nothing shows a percent."""
    suite = TestSuite("prose", scorer, input_text_list=["a", "b", "c"], reference_output_list=["x", "y", "z"])
    easy = suite.run("easy", candidate_output_list=[EASY, EASY + " It slept.", "One two."])
    hard = suite.run("hard", candidate_output_list=[HARD, HARD + " Indeed it did so.", HARD + " Yes."])
    if isinstance(scorer, Length):
        assert easy.scores == [6.0, 8.0, 2.0]
    means = [mean(value for value in made.scores if value is not None) for made in (easy, hard)]
    assert [made.run.summary.score for made in (easy, hard)] == [None, None]
    assert [made.run.summary.raw["mean"] for made in (easy, hard)] == pytest.approx(means)  # type: ignore[index]
    whole = json.loads("\n".join(called(capsys, ["compare", "easy", "hard", "--json"])))
    total = whole["candidates"][0]["total"]
    assert (total["n"], total["a"], total["b"], total["is_raw"]) == (3, pytest.approx(means[0]), pytest.approx(means[1]), True)
    runs = [str(made.run.folder) for made in (easy, hard)]
    board = json.loads("\n".join(called(capsys, ["leaderboard", *runs, "--json"])))
    assert [row["score"] for row in board["rows"]] == pytest.approx(sorted(means, reverse=True))
    assert [row["rank"] for row in board["rows"]] == [1, 2]
    table = called(capsys, ["compare", "easy", "hard"])
    assert any("difference" in line and "baseline" not in line for line in table), table
    assert not any("points" in line for line in table), table
    shown = [
        *called(capsys, ["runs", "list"]),
        *called(capsys, ["compare", "easy", "hard"]),
        *[line.partition("  first in")[0] for line in called(capsys, ["leaderboard", *runs]) if "stability" not in line],
        *called(capsys, ["suite", "show", "prose"]),
        *called(capsys, ["report", runs[0]]),
    ]
    assert [line for line in shown if re.search(r"\d\.\d %", line)] == []
    assert f"mean {means[0]:.4g}" in shown[0]
    called(capsys, ["leaderboard", *runs, "-o", "board.html"])
    tips = re.findall(r"95 % interval \[([^]]*)\]", (place / "board.html").read_text())
    assert set(tips) == {f"{row['interval'][0]:.4g}, {row['interval'][1]:.4g}" for row in board["rows"]}


def test_values_without_a_range_are_no_zeros_beside_scores(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a suite of both kinds every report has the score of the run, and calls the other instances neither wrong nor unjudged."""
    (place / "own.py").write_text(PLUGIN)
    checks = {"a": "marks", "b": "marks", "c": "words", "d": "words"}
    lines = [{"instance_id": name, "evaluation": {"func": func, "parameters": {}}} for name, func in checks.items()]
    (place / "gold").mkdir()
    (place / "gold/x_eval.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for sub, answers in (
        ("one", {"a": 10, "b": 5, "c": 7}),
        ("two", {"a": 10, "b": 5, "c": 9, "d": 2}),
        ("three", {"a": 10}),
        ("four", {"b": 10, "d": 1}),
    ):
        rows = [{"instance_id": name, "answer_type": "answer", "answer_or_path": "w " * n} for name, n in answers.items()]
        (place / sub).mkdir()
        (place / sub / "results_metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        run = called(capsys, ["run", sub, "--plugin", "own.py", "--out", f"runs/{sub}", "--isolation", "none"])
        assert run[-1].startswith("done: 75.0 %") or sub in ("three", "four")
    runs = ["runs/one", "runs/two"]
    board = json.loads("\n".join(called(capsys, ["leaderboard", *runs, "--plugin", "own.py", "--json"])))
    assert [(row["rank"], row["score"], row["n_judged"]) for row in board["rows"]] == [(1, 0.75, 2), (1, 0.75, 2)]
    assert "in no score: 2 instances measured on a scale without a range" in board["notes"]
    candidate = json.loads("\n".join(called(capsys, ["compare", *runs, "--json"])))["candidates"][0]
    assert (candidate["unjudged"], candidate["bounds"]) == (["d"], None)
    words = ["compare", "runs/one", "runs/three", "runs/four", "--shift", "--json"]
    for candidate in json.loads("\n".join(called(capsys, words)))["candidates"]:
        assert (candidate["total"]["n"], candidate["total"]["b"], candidate["total"]["is_raw"]) == (2, 0.5, False)
        assert [(shift["name"], shift["mean_a"]) for shift in candidate["shift"]] == [("marks", 0.75)]
    candidate = json.loads("\n".join(called(capsys, ["compare", "runs/three", "runs/four", "--json"])))["candidates"][0]
    assert (candidate["total"]["n"], candidate["total"]["wins"], candidate["total"]["losses"]) == (2, 1, 1)
    samples = json.loads("\n".join(called(capsys, ["samples", *runs, "--json"])))
    assert (samples["models"][0]["mean"], samples["models"][0]["n_questions"], samples["notes"]) == (0.75, 2, [])
    assert "left out: 1 measured on a scale without a range in one" in called(capsys, ["agree", *runs])
    (place / "models.csv").write_text("submission,model_name\none,m\ntwo,m\n")
    words = ["leaderboard", *runs, "--plugin", "own.py", "--samples", "--metadata", "models.csv", "--json"]
    (model,) = json.loads("\n".join(called(capsys, words)))["rows"]
    assert (model["score"], model["samples"]["n_questions"]) == (0.75, 2)
    called(capsys, ["report", "runs/two", "-o", "two.html", "-o", "two.md"])
    page = re.sub(r"<[^>]*>|\s+", " ", (place / "two.html").read_text())
    assert re.search(r"1 +right +1 +partly right +2 +measured", page)
    assert "words: mean 5.5" in page
    assert "not judged" not in page + (place / "two.md").read_text()


def test_the_declaration_of_a_scale_decides_without_any_value(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of an instance on a scale of its own a missing answer is in no score of the run, as on a board; next to a `scale` it counts 0."""
    (place / "own.py").write_text(PLUGIN)
    checks: list[tuple[str, str, dict[str, Any]]] = [
        *(("a", "marks", {}), ("b", "words", {})),
        *(("c", "readability", {"gold": "x", "scale": [0, 100]}), ("d", "readability", {"gold": "x"})),
    ]
    lines = [{"instance_id": name, "evaluation": {"func": func, "parameters": parameters}} for name, func, parameters in checks]
    (place / "gold").mkdir()
    (place / "gold/x_eval.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for sub, ids in (("one", "a"), ("two", "bd")):
        rows = [{"instance_id": name, "answer_type": "answer", "answer_or_path": "w " * 10} for name in ids]
        (place / sub).mkdir()
        (place / sub / "results_metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        called(capsys, ["run", sub, "--plugin", "own.py", "--out", f"runs/{sub}", "--isolation", "none"])
    for names, scores in ((("one",), [0.5]), (("two",), [0.0]), (("one", "two"), [0.5, 0.0])):
        runs = [f"runs/{name}" for name in names]
        summaries = [json.loads((place / run / "run.json").read_text())["summary"] for run in runs]
        board = json.loads("\n".join(called(capsys, ["leaderboard", *runs, "--plugin", "own.py", "--json"])))
        assert [(row["score"], row["n_judged"]) for row in board["rows"]] == [(score, 2) for score in scores]
        assert [(summary["score"], summary["n_judged"]) for summary in summaries] == [(score, 2) for score in scores]
        assert any(note == "without an answer to any of these instances: two" for note in board["notes"]) is ("two" in names)
    (candidate,) = json.loads("\n".join(called(capsys, ["compare", "runs/one", "runs/two", "--json"])))["candidates"]
    assert (candidate["total"]["a"], candidate["total"]["b"], candidate["total"]["n"]) == (0.5, 0.0, 2)


@pytest.mark.conformance
def test_every_recorded_bench_run_keeps_its_average(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Imported, each run has the average that Bench answers for it and each case its score; two runs of a suite are paired on all cases."""
    folder = corpus("bench")
    import_suites(folder / "folders")
    wanted = [json.loads(line) for line in (folder / "expected.jsonl").read_text(encoding="utf-8").splitlines()]
    wanted = [one for one in wanted if one["run"] is not None]
    entries = {(entry.suite, entry.metadata["run_name"]): entry for entry in find_runs()}
    assert entries.keys() == {(one["suite"], one["run"]) for one in wanted}
    for one in wanted:
        entry = entries[one["suite"], one["run"]]
        summary = entry.run["summary"]
        assert (summary.get("raw") or {}).get("mean", summary["score"]) == pytest.approx(one["avg_score"])
        values = [row.details["raw"] for row in entry.results()]
        assert values == pytest.approx(one["scores"])
    for suite in dict.fromkeys(one["suite"] for one in wanted):
        runs = [one for one in wanted if one["suite"] == suite]
        if len(runs) < 2:
            continue
        names = [str(entries[suite, one["run"]].folder) for one in runs[:2]]
        total = json.loads("\n".join(called(capsys, ["compare", *names, "--json"])))["candidates"][0]["total"]
        assert total["n"] == runs[0]["n_cases"]
        assert (total["a"], total["b"]) == (pytest.approx(runs[0]["avg_score"]), pytest.approx(runs[1]["avg_score"]))


def test_samples_and_questions_read_the_values(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two runs as samples of one side are their mean, `sql` has the values beside the empty scores, and no sample is called wrong."""
    suite = TestSuite("counted", Length(), input_text_list=["a", "b"], reference_output_list=["x", "y"])
    for name, outputs in (("one", ["1", "1 2"]), ("two", ["1 2 3", "1 2"]), ("three", ["1", "1 2 3 4"])):
        suite.run(name, candidate_output_list=outputs)
    total = json.loads("\n".join(called(capsys, ["compare", "one+two", "three", "--json"])))["candidates"][0]["total"]
    assert (total["a"], total["b"], total["is_raw"]) == (2.0, 2.5, True)
    (shift,) = json.loads("\n".join(called(capsys, ["compare", "one", "three", "--shift", "--json"])))["candidates"][0]["shift"]
    assert (shift["mean_a"], shift["mean_b"], shift["distance"], shift["is_raw"]) == (1.5, 2.5, 1.0, True)
    assert any(
        line.split()[:5] == ["length", "2", "1.5", "2.5", "1.000"] for line in called(capsys, ["compare", "one", "three", "--shift"])
    )
    listed = called(capsys, ["sql", "SELECT score, raw, n_judged, n_gold FROM runs ORDER BY raw"])
    assert [line.split("\t") for line in listed[1:]] == [["", "1.5", "2", "2"], ["", "2.5", "2", "2"], ["", "2.5", "2", "2"]]
    assert called(capsys, ["sql", "SELECT count(score), sum(raw) FROM results"])[1:] == ["0\t13.0"]
    called(capsys, ["samples", "one", "two"], 2)
