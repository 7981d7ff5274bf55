"""Paths of databases are resolved from the working folder, from the connections file, by `~`, and through links."""

import json
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pytest

import evalsuite
from tests.cli.test_run import as_json, said, write_lines
from tests.conftest import copy_of

pytestmark = pytest.mark.usefixtures("shared_fork_server")

TOTALS = "SELECT region, sum(amount) AS total FROM sales GROUP BY region ORDER BY 1"
CREATE = "CREATE TABLE sales AS SELECT 'north' AS region, 40.5 AS amount UNION ALL SELECT 'south', 2"
ANSWER = "region,total\nnorth,40.5\nsouth,2\n"
LITE = {"engine": "sqlite", "database": "shop.sqlite"}
LAKE = {"engine": "duckdb", "database": "shop.duckdb"}


def make_top(folder: Path) -> None:
    """A folder with `gold`, `sub`, `shop data/dätä` and `here`."""
    databases = folder / "shop data" / "dätä"
    for name in (databases, folder / "here", folder / "sub"):
        name.mkdir(parents=True)
    with sqlite3.connect(databases / "shop.sqlite") as lite:
        lite.execute(CREATE)
    lite.close()
    with duckdb.connect(str(databases / "shop.duckdb")) as lake:
        lake.execute(CREATE)
    entries: dict[str, dict[str, Any]] = {
        "sql_lite": {"parameters": {"gold": "r.csv"}},
        "sql_lake": {"parameters": {"gold": "r.csv", **LAKE}},
        "living_lite": {"parameters": LITE, "temporal": True},
        "living_lake": {"parameters": {"connection": "lake"}, "temporal": True},
    }
    for id_, evaluation in entries.items():
        (folder / "gold" / id_).mkdir(parents=True)
        (folder / "sub" / id_).mkdir()
        living = "temporal" in evaluation
        (folder / "gold" / id_ / ("gold.sql" if living else "r.csv")).write_text(TOTALS if living else ANSWER)
        (folder / "sub" / id_ / ("r.csv" if living else "q.sql")).write_text(ANSWER if living else TOTALS)
    connections = {"lite": {**LITE, "prefix": "sql_lite"}, "lake": LAKE}
    (folder / "gold" / "connections.yaml").write_text(json.dumps(connections))
    lines = [{"instance_id": id_, "evaluation": {"func": "table_match", **evaluation}} for id_, evaluation in entries.items()]
    write_lines(folder / "gold" / "shop_eval.jsonl", *lines)
    names = {id_: "r.csv" if "temporal" in evaluation else "q.sql" for id_, evaluation in entries.items()}
    answers = [{"instance_id": id_, "answer_type": "file", "answer_or_path": name} for id_, name in names.items()]
    write_lines(folder / "sub" / "results_metadata.jsonl", *answers)


place = copy_of(make_top)


@pytest.fixture
def top(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, in which the person stands in `here`."""
    monkeypatch.chdir(place / "here")
    monkeypatch.setenv("HOME", str(place))
    return place


def links(top: Path) -> str:
    """A link to a folder in which each database is a link."""
    (top / "links").mkdir()
    for database in (top / "shop data" / "dätä").iterdir():
        (top / "links" / database.name).symlink_to(database)
    (top / "linked").symlink_to("links")
    return "../linked/"


def test_every_command_resolves_them_alike(top: Path) -> None:
    """run, check, compare, gold check, leaderboard, rescore, connections and `evaluate` take the same words for the same folder."""
    folder = "./../here/../shop data/dätä/"
    spec = top / "gold/shop_eval.jsonl"
    write_lines(spec, *(line for line in spec.read_text().splitlines() if "lite" in line))
    place = ("--isolation", "none", "--databases", folder)
    assert "✓ lite" in said("connections test --gold ../gold", *place[2:])
    said("connections list --gold ../gold", *place[2:])
    said("run ../sub --gold ../gold --out first -q --jobs 1", *place[2:])
    assert as_json("rescore first --rules strict --runs again", *place)["summary"]["score"] == 1
    said("compare first ../sub -q", *place)
    assert "gold scores 2/2 under official, 2/2 under strict\n" in said("gold check ../gold --no-save", *place)
    said("check living_lite --result_dir ../sub --gold_dir ../gold --fail-under 1", *place[2:])
    said("leaderboard ../sub --gold ../gold --runs runs -o board.json", *place)
    assert json.loads(Path("board.json").read_text())["rows"][0]["score"] == 1
    assert evalsuite.evaluate("../sub", "../gold", databases=folder, save=False, isolation="none").summary.score == 1


def test_a_database_that_is_not_there_costs_nobody_points(top: Path) -> None:
    """A missing or unreadable file is the grader's side: not judged, with the file's name and no path of this machine in the report."""
    for file in (top / "shop data" / "dätä").iterdir():
        file.rename(file.with_name(f"old-{file.name}"))
    assert "no dätä/shop.sqlite" in said("run ../sub --gold ../gold --out out --databases", "../shop data/dätä", code=4)
    rows = [json.loads(line) for line in Path("out/results.jsonl").read_text().splitlines()]
    assert {(row["score"], row["fault"]) for row in rows} == {(None, "NEEDS_CONNECTION")}
    assert str(top) not in Path("out/results.jsonl").read_text()


def test_a_folder_of_tables_with_a_link(top: Path) -> None:
    """A table in a folder may be a link, and the folder may hold quotes: a walled worker reads what `connections test` reads."""
    tables = top / "O'Brien's \"tables\""
    tables.mkdir()
    (top / "sales-2026.csv").write_text("region,amount\nnorth,40.5\nsouth,2\n")
    (tables / "sales.csv").symlink_to("../sales-2026.csv")
    (top / "gold" / "connections.yaml").write_text(json.dumps({"lake": {"engine": "duckdb", "database": f"../{tables.name}"}}))
    assert evalsuite.evaluate("../sub", "../gold", only=("living_lake",), save=False).summary.score == 1


def test_a_path_that_is_not_utf8_costs_nobody_points(top: Path) -> None:
    """No engine takes such a path: the grader's side, in words, for SQLite and DuckDB."""
    odd = os.fsdecode(b"../l\xe9")
    try:
        shutil.copytree("../shop data", odd)
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    run = evalsuite.evaluate("../sub", "../gold", databases=f"{odd}/dätä", save=False)
    assert {(result.score, result.fault) for result in run.results} == {(None, "NEEDS_CONNECTION")}
    assert all("is not UTF-8" in result.reason for result in run.results)
