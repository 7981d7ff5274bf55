"""Folders of dbt projects that are submissions without metadata: one database an instance."""

import json
from pathlib import Path

import pytest

from evalsuite.cli import main
from tests.duckdb_files import opened

pytestmark = pytest.mark.usefixtures("shared_fork_server")


def database(place: Path, n: int) -> None:
    """A database with a table `base data` of n rows and dbt's view `mart` over it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with opened(place) as writer:
        writer.execute(f'CREATE TABLE "base data" AS SELECT i FROM range({n}) AS t(i)')
        writer.execute(f'CREATE VIEW mart AS SELECT i * 2 AS twice FROM "{place.stem}"."main"."base data"')


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """(projects, gold) of three instances: one right, one with two databases, one not handed in."""
    gold, projects = tmp_path / "gold", tmp_path / "projects"
    specs = []
    for name in ("shop001", "shop002", "shop003"):
        (gold / name).mkdir(parents=True)
        with opened(gold / name / "shop.duckdb") as writer:
            writer.execute("CREATE TABLE mart AS SELECT i * 2 AS twice FROM range(3) AS t(i)")
        check = {"func": "duckdb_match", "parameters": {"gold": "shop.duckdb", "ignore_orders": [True], "reference": "dbt"}}
        specs.append(json.dumps({"instance_id": name, "evaluation": check}))
    (gold / "made_eval.jsonl").write_text("\n".join(specs) + "\n")
    database(projects / "shop001" / "my shop.duckdb", 3)
    (projects / "shop001" / "models").mkdir()
    (projects / "shop001" / "dbt_project.yml").write_text("name: shop\n")
    for name in ("a", "b"):
        database(projects / "shop002" / f"{name}.duckdb", 3)
    database(projects / "elsewhere" / "shop.duckdb", 3)
    return projects, gold


def test_projects_are_a_submission(folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The one database of a folder is read, several are a fault of the submission, a folder that gold does not know is told."""
    projects, gold = folders
    assert main(["run", str(projects), "--gold", str(gold), "--out", str(tmp_path / "out"), "--no-cache"]) == 0
    rows = [json.loads(line) for line in (tmp_path / "out/results.jsonl").read_text().splitlines()]
    assert [(row["status"], row["score"]) for row in rows] == [("scored", 1), ("submission_fault", 0), ("missing", 0)]
    assert "2 databases (a.duckdb, b.duckdb)" in rows[1]["reason"]
    assert "no results_metadata.jsonl" in capsys.readouterr().out


def test_gold_is_no_submission_of_projects(folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A gold folder in the place of answers is refused as before, and so is a folder without any database."""
    _, gold = folders
    (tmp_path / "empty" / "shop001").mkdir(parents=True)
    other = tmp_path / "other gold"
    other.mkdir()
    (other / "made_eval.jsonl").write_text((gold / "made_eval.jsonl").read_text())
    database(other / "shop001" / "shop.duckdb", 3)
    for place in (other, tmp_path / "empty"):
        assert main(["run", str(place), "--gold", str(gold), "--no-save", "-q"]) == 2
        assert "no results_metadata.jsonl" in capsys.readouterr().err
