"""The committed example is what its script writes, and each instance gets the verdict it is there to show."""

import json
import shutil
from pathlib import Path

import duckdb
import pytest

import evalsuite
from evalsuite.runs.scoring import Run
from evalsuite.sandbox.fork_server import ForkServer, share
from tests.conftest import ROOT
from tests.data.build_example import GOLD, INSTANCES, SUBMISSION, build, database_content

MIB = 1024 * 1024


def files(folder: Path) -> dict[str, bytes]:
    """What each file of the example below `folder` holds, by its relative path."""
    found = (path for part in (GOLD, SUBMISSION) for path in sorted((folder / part).rglob("*")))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found if path.is_file()}


def test_the_committed_files_are_what_the_script_writes(tmp_path: Path) -> None:
    """Built upon a copy of the committed folders, every byte stays as it was: a database is written only if its tables or rows differ.

    Neither a stale file nor a missing one is there, and each database stays below 1 MiB.
    """
    for part in (GOLD, SUBMISSION):
        shutil.copytree(ROOT / part, tmp_path / part)
    committed = files(tmp_path)
    build(tmp_path)
    assert [name for name, content in files(tmp_path).items() if content != committed.get(name)] == []
    sides = [(part, i.id, name) for i in INSTANCES for part, own in ((GOLD, i.gold), (SUBMISSION, i.handed_in)) for name in own]
    lists = {f"{GOLD}/suite.yaml", f"{GOLD}/demo_eval.jsonl", f"{SUBMISSION}/results_metadata.jsonl"}
    assert set(committed) == lists | {"/".join(side) for side in sides}
    assert max(len(content) for name, content in committed.items() if name.endswith(".duckdb")) < MIB


def test_another_table_is_another_content(tmp_path: Path) -> None:
    """What the test above rests on: a copy has the same content, one with a further table has not."""
    path = min((ROOT / GOLD).rglob("*.duckdb"))
    copy = shutil.copy(path, tmp_path / path.name)
    content = database_content(path)
    assert content
    assert content == database_content(copy)
    with duckdb.connect(str(copy)) as connection:
        connection.execute("CREATE TABLE other_table AS SELECT 1 AS n")
    assert content != database_content(copy)


@pytest.fixture(scope="module")
def run(session_fork_server: ForkServer | None) -> Run:
    """The committed example, scored."""
    with share(session_fork_server):
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
