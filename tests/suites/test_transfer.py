"""Suites and runs out of one place and into another, and code and folders of Arthur Bench as they are."""

import asyncio
import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evalsuite import TestSuite
from evalsuite.cli import main
from evalsuite.core.errors import UsageError
from evalsuite.core.status import raw_value
from evalsuite.runs.history import find_runs, one_run, tag_run
from evalsuite.suites.stored_suites import list_suites, load_suite, new_suite, save_suite
from evalsuite.suites.transfer import export_suite, import_suites
from tests.conftest import corpus
from tests.suites.made import INPUTS, METADATA, REFERENCES, capitals

pytestmark = pytest.mark.usefixtures("shared_fork_server")


def test_export_and_import_keep_every_field(tmp_path: Path) -> None:
    """A suite with its run comes back whole in another place: every file of both but where the submission lies, tags and contexts too."""
    suite = capitals(tmp_path / "a", config={"conj": "and"})
    made = suite.run("r1", candidate_output_list=["Paris", "Milan", "Oslo"], context_list=["x", "", "z"], **METADATA)
    tag_run(one_run(made.id, tmp_path / "a" / "runs"), add=["best"])
    export_suite("capitals", tmp_path / "new" / "s.json", tmp_path / "a")
    assert import_suites(tmp_path / "new" / "s.json", tmp_path / "b") == ["capitals"]
    there, here = (_files(tmp_path / side) for side in "ab")
    assert there.keys() == here.keys()
    name = f"runs/{made.id}/run.json"
    runs = [json.loads(side.pop(name)) for side in (there, here)]
    assert there == here
    for run, side in zip(runs, "ab", strict=True):
        assert run["submission"].pop("folder") == str(tmp_path / side / "suites" / "capitals" / "submissions" / "r1")
        del run["digests"]
    assert runs[0] == runs[1]


def _files(root: Path) -> dict[str, str]:
    return {str(file.relative_to(root)): file.read_text() for file in root.rglob("*") if file.is_file() and "judge" not in file.parts}


BENCH = {"name": "b", "scoring_method": "exact_match", "test_cases": [{"input": "q", "reference_output": "a"}]}


@pytest.mark.parametrize("text", [
    *("", "[]", "{}", '{"evalsuite_suite": 1}', '{"evalsuite_suite": 1, "suite": {"name": "x"}}', "[" * 100_000),
    *(json.dumps({key: value for key, value in BENCH.items() if key != left_out}) for left_out in BENCH),
    *(json.dumps({**BENCH, **other}) for other in ({"test_cases": [{"input": 3}]}, {"scoring_method": {"name": "f1", "config": "x"}})),
])  # fmt: skip
def test_a_file_that_is_no_suite_is_refused(tmp_path: Path, text: str) -> None:
    """Nothing of it is written, and the file is named."""
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(UsageError, match=r"s\.json: not"):
        import_suites(tmp_path / "s.json", tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_a_bench_folder_is_imported_whole(tmp_path: Path) -> None:
    """Suite, cases with their ids, runs with model and scores; Bench's -1 for no verdict is unscored, never a number."""
    bench = tmp_path / "bench_runs"
    case_ids = ["3f0c9f2e-0000-4000-8000-00000000000" + str(i) for i in range(3)]
    cases = [{"id": i, "input": q, "reference_output": r} for i, q, r in zip(case_ids, INPUTS, REFERENCES, strict=True)]
    method = {"name": "exact_match", "type": "built_in", "config": {}}
    made, changed = "2024-03-01T10:00:00", "2024-03-02T10:00:00"
    about = {"name": "capitals", "description": "d", "created_at": made, "updated_at": changed, "last_run_time": changed, "num_runs": 1}
    suite = {"id": "5b1", **about, "scoring_method": method, "test_cases": cases}
    outputs = [{"id": i, "output": o, "score": s} for i, o, s in zip(case_ids, ["Paris", "Milan", "?"], [1.0, 0.0, -1.0], strict=True)]
    told = {**METADATA, "model_name": "gpt"}
    run = {"id": "77", "name": "r1", "test_suite_id": "5b1", "created_at": made, "updated_at": changed, **told, "test_cases": outputs}
    for path, data in (("capitals/suite.json", suite), ("capitals/r1/run.json", run), ("suite_id_to_name.json", {"5b1": "capitals"})):
        (bench / path).parent.mkdir(parents=True, exist_ok=True)
        (bench / path).write_text(json.dumps(data))
    assert import_suites(bench, tmp_path / "new") == ["capitals"]
    stored = load_suite("capitals", tmp_path / "new")
    assert ([case.id for case in stored.test_cases], stored.id, stored.scorer) == (case_ids, "5b1", "exact_match")
    assert (stored.description, stored.created_at, stored.updated_at) == ("d", made, changed)
    assert stored.extra == {"last_run_time": changed, "num_runs": 1}
    assert stored.scoring_method["config"] == {"variant": "arthur"}
    (entry,) = find_runs(tmp_path / "new" / "runs", model="gpt", since="2024-03-01", until="2024-03-01")
    bench = {"bench_id": "77", "bench_created_at": made, "bench_updated_at": changed}
    assert entry.metadata == {**told, **bench, "run_name": "r1", "suite_id": "5b1", "imported_from": "bench"}
    assert [r.details.get("output") for r in entry.results()] == ["Paris", "Milan", "?"]
    assert [(r.status, r.score) for r in entry.results()] == [("scored", 1.0), ("scored", 0.0), ("unscored", None)]


@pytest.mark.parametrize(("kind", "scores", "values"), [
    ("built_in", [math.nan], [None]), ("built_in", [math.inf], [None]), ("built_in", ["0.5x"], "refused"), ("built_in", [{}], "refused"),
    ("built_in", [10**400], "refused"),
    # Of an own scorer -1 is a value if another is below 0, else no verdict as of Bench's judges.
    ("custom", [-1.0, -2.5], [-1.0, -2.5]), ("custom", [-1.0, 2.5], [None, 2.5]),
])  # fmt: skip
def test_odd_scores_of_bench(tmp_path: Path, kind: str, scores: list[object], values: object) -> None:
    """NaN and infinity are no verdicts; what is no number refuses the run by its file, and the suite has none."""
    (tmp_path / "b/r").mkdir(parents=True)
    cases = [{"id": f"c{at}", "input": "q", "reference_output": "a"} for at in range(len(scores))]
    method = {"name": "own" if kind == "custom" else "exact_match", "type": kind, "config": {}}
    (tmp_path / "b/suite.json").write_text(json.dumps({**BENCH, "scoring_method": method, "test_cases": cases}))
    outputs = [{"id": f"c{at}", "output": "o", "score": score} for at, score in enumerate(scores)]
    (tmp_path / "b/r/run.json").write_text(json.dumps({"name": "r", "test_cases": outputs}))
    if values == "refused":
        with pytest.raises(UsageError, match=r"run\.json: not a Bench run"):
            import_suites(tmp_path, tmp_path / "new")
        return
    import_suites(tmp_path, tmp_path / "new")
    (entry,) = find_runs(tmp_path / "new" / "runs")
    assert [raw_value(result) for result in entry.results()] == values
    assert kind == "custom" or [(result.score, result.status) for result in entry.results()] == [(None, "unscored")]


@pytest.mark.parametrize("odd", [
    *({"run": run} for run in (None, {}, {"submission": None}, {"submission": {}, "metadata": "x"})),
    *({"submission": submission} for submission in (None, {"contexts.json": 1})),
    {"tags": 1},
])  # fmt: skip
def test_an_export_with_an_odd_run_is_refused_whole(tmp_path: Path, odd: dict[str, object]) -> None:
    """The error names the file, and no suite is stored."""
    save_suite(new_suite("s", "exact_match", inputs=["q"], references=["a"]), tmp_path / "old")
    export_suite("s", tmp_path / "s.json", tmp_path / "old")
    data = json.loads((tmp_path / "s.json").read_text())
    whole = {"name": "", "run": {"submission": {}, "metadata": {}}, "results": [], "tags": [], "submission": {}}
    (tmp_path / "s.json").write_text(json.dumps({**data, "runs": [{**whole, **odd}]}))
    with pytest.raises(UsageError, match=r"s\.json: not a complete export of a suite"):
        import_suites(tmp_path / "s.json", tmp_path / "new")
    assert not (tmp_path / "new").exists()


ASKED = ["what year is it?", "what is the capital of France?"]
RIGHT = ["2023", "Paris"]
OUTPUTS = ["2023", "Lyon"]


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bench keeps its files where it runs."""
    monkeypatch.chdir(tmp_path)


def test_positional_arguments_and_attributes() -> None:
    """Bench's order of arguments, and everything that its code reads of a suite and of a run."""
    suite = TestSuite("years", "exact_match", "two questions", None, None, ASKED, RIGHT, "input", "reference_output", None)
    assert (suite.name, suite.description, suite.scoring_method) == ("years", "two questions", "exact_match")
    assert (suite.input_texts, suite.reference_outputs) == (ASKED, RIGHT)
    assert [case.reference_output for case in suite.test_cases] == RIGHT
    assert (suite.suite.name, suite.suite.test_cases[0].input, suite.scoring_method.type) == ("years", ASKED[0], "built_in")
    run = suite.run("first", None, None, OUTPUTS, "candidate_output", None, None, True, 2, "a model", "1", "base", "{{text}}")
    assert (run.name, run.scores, run.output, run.test_suite_id) == ("first", [1.0, 0.0], tuple(OUTPUTS), suite.suite.id)
    told = (run.model_name, run.model_version, run.foundation_model, run.prompt_template)
    assert told == ("a model", "1", "base", "{{text}}")
    shown = [(case.input, case.reference_output, case.output, case.score, case.category) for case in run.test_cases]
    assert shown == [(ASKED[0], "2023", "2023", 1.0, "match"), (ASKED[1], "Paris", "Lyon", 0.0, "non match")]
    assert TestSuite("years", "exact_match").run("second", candidate_output_list=OUTPUTS, model_name=None).scores == [1.0, 0.0]


def test_lists_of_any_kind_and_what_bench_calls_them() -> None:
    """Series, arrays and generators are lists; numpy's numbers are batch sizes; a case has a score and a category; `arun` is `run`."""
    suite = TestSuite("years", "exact_match", input_text_list=pd.Series(ASKED), reference_output_list=np.array(RIGHT))
    run = suite.run("r", candidate_output_list=(text for text in OUTPUTS), batch_size=np.int64(2))  # type: ignore[arg-type]
    assert all(type(text) is str for text in (*suite.input_texts, *run.output))
    assert [type(score) for score in run.scores] == [float, float]
    first = run.test_case_outputs[0].score_result
    assert (first.score, first.category.name) == (1.0, "match")
    assert suite.run("s", candidate_output_list=OUTPUTS, batch_size=None).scores == run.scores

    async def both() -> list[Any]:
        return await asyncio.gather(*(suite.arun(f"r{n}", candidate_output_list=OUTPUTS, batch_size=5) for n in range(2)))

    assert [run.scores for run in asyncio.run(both())] == [[1.0, 0.0]] * 2
    for name in ("", "  ", None):
        with pytest.raises(ValueError, match="needs a name"):
            suite.run(name, candidate_output_list=OUTPUTS)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="needs a name"):
            TestSuite(name, "exact_match", input_text_list=ASKED, reference_output_list=RIGHT)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"."):
        TestSuite("other", "exact_match", input_text_list=ASKED, reference_output_list=RIGHT, client="https://example.org")
    for wrong in ({"candidate_output_list": OUTPUTS, "batch_size": 0}, {"candidate_data_path": "absent.csv"}):
        with pytest.raises(ValueError, match=r"."):
            suite.run("t", **wrong)  # type: ignore[arg-type]


def test_scores_on_benchs_scales() -> None:
    """Hedging is 1 where it is used, reading ease has no bounds; in a comparison more hedging is lost."""
    suite = TestSuite("hedged", "hedging_language", input_text_list=ASKED)
    plain = suite.run("plain", candidate_output_list=["It is 2023.", "Paris."])
    hedged = suite.run("hedged", candidate_output_list=["As an AI language model, I do not know.", "Paris."])
    assert (plain.scores, hedged.scores, hedged.categories) == ([0.0, 0.0], [1.0, 0.0], ["hedging", "no hedging"])
    assert main(["compare", plain.id, hedged.id, "-o", "c.json", "--quiet"]) == 0
    (found,) = json.loads(Path("c.json").read_text())["candidates"]
    assert (found["total"]["wins"], found["total"]["losses"]) == (0, 1)
    easy = TestSuite("easy", "readability", input_text_list=["q"])
    assert easy.run("r", candidate_output_list=["The American Civil War"]).scores == [50.5]


@pytest.mark.conformance
def test_every_recorded_run_keeps_its_scores() -> None:
    """Scores, categories and the mean of all runs are those that Bench stored; a second import adds nothing."""
    bench_folder = corpus("bench")
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
            summary = runs[row["suite"], row["run"]].run["summary"]
            mean = (summary.get("raw") or {}).get("mean", summary["score"])
            assert mean == pytest.approx(sum(raw) / len(raw)) == pytest.approx(row["avg_score"])
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
        assert (found["total"]["a"], found["total"]["b"]) == (pytest.approx(first["avg_score"]), pytest.approx(second["avg_score"]))


@pytest.mark.conformance
def test_an_import_grows_what_is_there(tmp_path: Path) -> None:
    """A run that came later is added to the known suite; another suite of a known name needs --force-new-version."""
    copy = shutil.copytree(corpus("bench") / "folders", tmp_path / "copy")
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
