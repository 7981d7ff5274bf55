"""Code written for Arthur Bench runs as it is: its argument order, its keywords, its attributes and its exceptions."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evalsuite import TestSuite
from evalsuite.cli import main
from evalsuite.runs.history import find_runs
from evalsuite.suites.stored_suites import list_suites
from evalsuite.suites.transfer import import_suites
from tests.conftest import corpus

pytestmark = pytest.mark.usefixtures("shared_fork_server")

INPUTS = ["what year is it?", "what is the capital of France?"]
REFERENCES = ["2023", "Paris"]
OUTPUTS = ["2023", "Lyon"]


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bench keeps its files where it runs."""
    monkeypatch.chdir(tmp_path)


def test_positional_arguments_and_attributes() -> None:
    """Bench's order of arguments, and everything that its code reads of a suite and of a run."""
    suite = TestSuite("years", "exact_match", "two questions", None, None, INPUTS, REFERENCES, "input", "reference_output", None)
    assert (suite.name, suite.description, suite.scoring_method) == ("years", "two questions", "exact_match")
    assert (suite.input_texts, suite.reference_outputs) == (INPUTS, REFERENCES)
    assert [case.reference_output for case in suite.test_cases] == REFERENCES
    assert (suite.suite.name, suite.suite.test_cases[0].input, suite.scoring_method.type) == ("years", INPUTS[0], "built_in")
    run = suite.run("first", None, None, OUTPUTS, "candidate_output", None, None, True, 2, "a model", "1", "base", "{{text}}")
    assert (run.name, run.scores, run.output, run.test_suite_id) == ("first", [1.0, 0.0], tuple(OUTPUTS), suite.suite.id)
    told = (run.model_name, run.model_version, run.foundation_model, run.prompt_template)
    assert told == ("a model", "1", "base", "{{text}}")
    shown = [(case.input, case.reference_output, case.output, case.score, case.category) for case in run.test_cases]
    assert shown == [(INPUTS[0], "2023", "2023", 1.0, "match"), (INPUTS[1], "Paris", "Lyon", 0.0, "non match")]
    assert TestSuite("years", "exact_match").run("second", candidate_output_list=OUTPUTS, model_name=None).scores == [1.0, 0.0]


def test_lists_of_any_kind_and_what_bench_calls_them() -> None:
    """Series, arrays and generators are lists; a whole number of numpy's is a batch size; a case has a score and a category in one, too."""
    suite = TestSuite("years", "exact_match", input_text_list=pd.Series(INPUTS), reference_output_list=np.array(REFERENCES))
    run = suite.run("r", candidate_output_list=(text for text in OUTPUTS), batch_size=np.int64(2))  # type: ignore[arg-type]
    assert all(type(text) is str for text in (*suite.input_texts, *run.output))
    assert [type(score) for score in run.scores] == [float, float]
    first = run.test_case_outputs[0].score_result
    assert (first.score, first.category.name) == (1.0, "match")
    assert suite.run("s", candidate_output_list=OUTPUTS, batch_size=None).scores == run.scores
    for name in ("", "  ", None):
        with pytest.raises(ValueError, match="needs a name"):
            suite.run(name, candidate_output_list=OUTPUTS)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="needs a name"):
            TestSuite(name, "exact_match", input_text_list=INPUTS, reference_output_list=REFERENCES)  # type: ignore[arg-type]


def test_a_run_is_awaited() -> None:
    """`arun` gives what `run` gives; several go on at once."""
    suite = TestSuite("years", "exact_match", input_text_list=INPUTS, reference_output_list=REFERENCES, client=None)

    async def both() -> list[Any]:
        return await asyncio.gather(*(suite.arun(f"r{n}", candidate_output_list=OUTPUTS, batch_size=5) for n in range(2)))

    assert [run.scores for run in asyncio.run(both())] == [[1.0, 0.0]] * 2


@pytest.mark.parametrize(
    ("made", "ran"),
    [
        ({"client": "https://example.org"}, None),
        ({}, {"candidate_output_list": OUTPUTS, "batch_size": 0}),
        ({}, {"candidate_data_path": "absent.csv"}),
    ],
)
def test_invalid_arguments_are_value_errors(made: dict[str, Any], ran: dict[str, Any] | None) -> None:
    """What Bench's tests expect as a `ValueError` is one, whatever we call it."""
    arguments = {"scoring_method": "exact_match", "input_text_list": INPUTS, "reference_output_list": REFERENCES} | made
    if ran is None:
        with pytest.raises(ValueError, match=r"."):
            TestSuite("years", **arguments)
        return
    suite = TestSuite("years", **arguments)
    with pytest.raises(ValueError, match=r"."):
        suite.run("r", **ran)


def test_scores_on_benchs_scales() -> None:
    """Hedging is 1 where it is used, reading ease has no bounds; in a comparison more hedging is lost."""
    suite = TestSuite("hedged", "hedging_language", input_text_list=INPUTS)
    plain = suite.run("plain", candidate_output_list=["It is 2023.", "Paris."])
    hedged = suite.run("hedged", candidate_output_list=["As an AI language model, I do not know.", "Paris."])
    assert (plain.scores, hedged.scores, hedged.categories) == ([0.0, 0.0], [1.0, 0.0], ["hedging", "no hedging"])
    assert main(["compare", plain.id, hedged.id, "-o", "c.json", "--quiet"]) == 0
    (found,) = json.loads(Path("c.json").read_text())["candidates"]
    assert (found["total"]["wins"], found["total"]["losses"]) == (0, 1)
    easy = TestSuite("easy", "readability", input_text_list=["q"])
    assert easy.run("r", candidate_output_list=["The American Civil War"]).scores == [50.5]


@pytest.fixture
def bench_folder() -> Path:
    """The folder that the real Bench wrote."""
    return corpus("bench")


@pytest.mark.conformance
def test_every_recorded_run_keeps_its_scores(bench_folder: Path) -> None:
    """Scores, categories and the mean of all runs are those that Bench stored; a second import adds nothing."""
    import_suites(bench_folder / "folders")
    expected = [json.loads(line) for line in (bench_folder / "expected.jsonl").read_text().splitlines()]
    suites = {suite.id: suite.name for suite in list_suites()}
    runs = {(suites[entry.metadata["suite_id"]], entry.metadata["run_name"]): entry for entry in find_runs(Path(".evalsuite/runs"))}
    assert set(runs) == {(row["suite"], row["run"]) for row in expected if row["run"]}
    for row in expected:
        if row["run"]:
            results = runs[row["suite"], row["run"]].results()
            raw = [result.details["raw"] for result in results]
            assert raw == row["scores"]
            assert sum(raw) / len(raw) == pytest.approx(row["avg_score"])
            assert [result.details.get("category") for result in results] == row["case_categories"]
    import_suites(bench_folder / "folders")
    assert len(find_runs(Path(".evalsuite/runs"))) == len(runs)
    for suite in {row["suite"] for row in expected if row["run"]}:
        first, second, *_ = [row for row in expected if row["suite"] == suite] * 2
        names = [runs[suite, row["run"]].name for row in (first, second)]
        assert main(["compare", *names, "-o", "c.json", "--quiet"]) == 0
        (found,) = json.loads(Path("c.json").read_text())["candidates"]
        sign = -1 if first["better"] == "lower" else 1
        gains = [sign * (b - a) for a, b in zip(first["scores"], second["scores"], strict=True)]
        counts = (len(gains), sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains))
        assert tuple(found["total"][key] for key in ("n", "wins", "losses")) == counts, suite


@pytest.mark.conformance
def test_an_import_grows_what_is_there(bench_folder: Path, tmp_path: Path) -> None:
    """A run that came later is added to the known suite; another suite of a known name needs --force-new-version."""
    copy = shutil.copytree(bench_folder / "folders", tmp_path / "copy")
    # Recorded cases may be read-only, and so are copies of their folders.
    for path in (copy, *copy.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)
    later = tmp_path / "m2"
    shutil.move(copy / "suite_exact_match" / "m2", later)
    import_suites(copy)
    before = len(find_runs(Path(".evalsuite/runs")))
    shutil.move(later, copy / "suite_exact_match" / "m2")
    import_suites(copy)
    assert len(find_runs(Path(".evalsuite/runs"))) == before + 1
    path = copy / "suite_exact_match" / "suite.json"
    data = json.loads(path.read_text())
    data["test_cases"][0]["reference_output"] = "another one"
    path.write_text(json.dumps(data))
    assert main(["suite", "import", str(copy)]) == 2
    assert main(["suite", "import", str(copy), "--force-new-version"]) == 0
    assert {"suite_exact_match", "suite_exact_match 2"} <= {suite.name for suite in list_suites()}
