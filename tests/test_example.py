"""The committed example is what its script writes, and each instance gets the verdict it is there to show."""

import json
from pathlib import Path

import pytest

import evalsuite
from evalsuite.runs.scoring import Run
from tests.conftest import ROOT
from tests.data.build_example import GOLD, INSTANCES, SUBMISSION, build, database_content

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, written anew."""
    folder = tmp_path_factory.mktemp("example")
    build(folder)
    return folder


def files(folder: Path) -> dict[str, Path]:
    """Each file of the example below `folder`, by its relative path."""
    found = (path for part in (GOLD, SUBMISSION) for path in sorted((folder / part).rglob("*")))
    return {path.relative_to(folder).as_posix(): path for path in found if path.is_file()}


def test_the_script_writes_every_committed_file(rebuilt: Path) -> None:
    """Neither a stale file nor a missing one: the committed folders hold exactly what the script writes."""
    assert sorted(files(ROOT)) == sorted(files(rebuilt))


def test_text_files_are_the_same_bytes(rebuilt: Path) -> None:
    """Every file that is no database is byte for byte the committed one."""
    committed = files(ROOT)
    written = {name: path for name, path in files(rebuilt).items() if path.suffix != ".duckdb"}
    assert len(written) > len(INSTANCES)
    assert [name for name, path in written.items() if path.read_bytes() != committed[name].read_bytes()] == []


@pytest.mark.parametrize("name", [name for name in files(ROOT) if name.endswith(".duckdb")])
def test_databases_hold_the_same_tables(name: str, rebuilt: Path) -> None:
    """Each database has the committed one's tables, views, columns, types and rows, and stays below 1 MiB."""
    content = database_content(rebuilt / name)
    assert content == database_content(ROOT / name)
    assert content
    assert (ROOT / name).stat().st_size < MIB


def test_building_again_changes_no_file(rebuilt: Path) -> None:
    """A second build leaves every byte as it was, those of databases too: gold's hash stays."""
    before = {name: path.read_bytes() for name, path in files(rebuilt).items()}
    build(rebuilt)
    assert {name: path.read_bytes() for name, path in files(rebuilt).items()} == before


@pytest.fixture(scope="module")
def run() -> Run:
    """The committed example, scored."""
    return evalsuite.evaluate(ROOT / SUBMISSION, ROOT / GOLD, save=False)


def test_each_instance_gets_the_verdict_it_shows(run: Run) -> None:
    """Scored by the tool, every instance gets the (official, strict) verdicts written beside it."""
    assert {result.instance_id: (result.official, result.strict) for result in run.results} == {i.id: i.expected for i in INSTANCES}


def test_faults_are_told_apart(run: Run) -> None:
    """One instance is not handed in, one file is broken, one view is refused, one gold is at fault and makes the score an interval."""
    assert {result.instance_id: result.fault for result in run.results if result.fault} == {
        "ops_001": "NOT_A_TABLE",
        "ops_006": "BAD_ENCODING",
        "ops_007": "MISSING_INSTANCE",
        "fin_004": "BAD_GOLD_FILE",
    }
    assert [result.instance_id for result in run.results if result.status == "gold_fault"] == ["fin_004"]
    assert (run.summary.chosen.low, run.summary.chosen.high) == pytest.approx((27 / 40, 28 / 40))


def test_every_scorer_and_answer_type_is_shown() -> None:
    """The example uses the five functions of Spider 2.0, the three answer types, and asks a question in every entry."""
    entries = [json.loads(line) for line in (ROOT / GOLD / "demo_eval.jsonl").read_text(encoding="utf-8").splitlines()]
    checks = [
        check for entry in entries for check in ([entry["evaluation"]] if isinstance(entry["evaluation"], dict) else entry["evaluation"])
    ]
    answers = [json.loads(line) for line in (ROOT / SUBMISSION / "results_metadata.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {check["func"] for check in checks} == {"string_match", "number_match", "table_match", "tables_match", "duckdb_match"}
    assert {answer["answer_type"] for answer in answers} == {"answer", "file", "files"}
    assert all(entry["instruction"].endswith((".", "?")) for entry in entries)
