"""Suites and runs out of one place and into another: our export, and Arthur Bench's folders."""

import json
from pathlib import Path

import pytest

from evalsuite.core.errors import UsageError
from evalsuite.core.status import raw_value
from evalsuite.runs.history import find_runs, one_run, tag_run
from evalsuite.suites.stored_suites import load_suite, new_suite, save_suite
from evalsuite.suites.transfer import export_suite, import_suites
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


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", '{"evalsuite_suite": 1}', '{"evalsuite_suite": 1, "suite": {"name": "x"}}', "[" * 100_000),
        *(json.dumps({key: value for key, value in BENCH.items() if key != left_out}) for left_out in BENCH),
        *(json.dumps({**BENCH, **other}) for other in ({"test_cases": [{"input": 3}]}, {"scoring_method": {"name": "f1", "config": "x"}})),
    ],
)
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


@pytest.mark.parametrize(("score", "values"), [(float("nan"), [None]), (float("inf"), [None]), ("0.5x", None), ({}, None), (10**400, None)])
def test_a_bench_score_that_is_no_number(tmp_path: Path, score: object, values: list[float | None] | None) -> None:
    """NaN and infinity are no verdicts; what is no number refuses the run by its file, and the suite has none."""
    (tmp_path / "b/r").mkdir(parents=True)
    (tmp_path / "b/suite.json").write_text(json.dumps({**BENCH, "test_cases": [{"id": "c", "input": "q", "reference_output": "a"}]}))
    (tmp_path / "b/r/run.json").write_text(json.dumps({"name": "r", "test_cases": [{"id": "c", "output": "o", "score": score}]}))
    if values is None:
        with pytest.raises(UsageError, match=r"run\.json: not a Bench run"):
            import_suites(tmp_path, tmp_path / "new")
        return
    import_suites(tmp_path, tmp_path / "new")
    (entry,) = find_runs(tmp_path / "new" / "runs")
    assert [(result.score, result.status) for result in entry.results()] == [(value, "unscored") for value in values]


@pytest.mark.parametrize(("other", "values"), [(-2.5, [-1.0, -2.5]), (2.5, [None, 2.5])])
def test_minus_one_on_a_scale_that_goes_below_zero(tmp_path: Path, other: float, values: list[float | None]) -> None:
    """Of an own scorer -1 is a value if another is below 0, else no verdict as of Bench's judges."""
    (tmp_path / "b/r").mkdir(parents=True)
    cases = [{"id": name, "input": "q", "reference_output": "a"} for name in "cd"]
    method = {"name": "own", "type": "custom", "config": {}}
    (tmp_path / "b/suite.json").write_text(json.dumps({**BENCH, "scoring_method": method, "test_cases": cases}))
    outputs = [{"id": name, "output": "o", "score": score} for name, score in zip("cd", (-1.0, other), strict=True)]
    (tmp_path / "b/r/run.json").write_text(json.dumps({"name": "r", "test_cases": outputs}))
    import_suites(tmp_path, tmp_path / "new")
    (entry,) = find_runs(tmp_path / "new" / "runs")
    assert [raw_value(result) for result in entry.results()] == values


@pytest.mark.parametrize(
    "odd",
    [
        {"run": None},
        {"run": {}},
        {"run": {"submission": None}},
        {"run": {"submission": {}, "metadata": "x"}},
        {"submission": None},
        {"submission": {"contexts.json": 1}},
        {"tags": 1},
    ],
)
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
