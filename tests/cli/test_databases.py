"""Paths of databases are resolved from the working folder, from the connections file, by `~`, and through links."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import evalsuite
from evalsuite.cli import main

pytestmark = pytest.mark.usefixtures("shared_fork_server")

TOTALS = "SELECT region, sum(amount) AS total FROM sales GROUP BY region ORDER BY 1"
CREATE = "CREATE TABLE sales AS SELECT 'north' AS region, 40.5 AS amount UNION ALL SELECT 'south', 2"
ANSWER = "region,total\nnorth,40.5\nsouth,2\n"
LITE = {"engine": "sqlite", "database": "shop.sqlite"}
LAKE = {"engine": "duckdb", "database": "shop.duckdb"}


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `gold`, `sub`, `shop data/dätä` and `here`, in which the person stands."""
    databases = tmp_path / "shop data" / "dätä"
    for folder in (databases, tmp_path / "here", tmp_path / "sub"):
        folder.mkdir(parents=True)
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
    lines, answers = [], []
    for id_, evaluation in entries.items():
        (tmp_path / "gold" / id_).mkdir(parents=True)
        (tmp_path / "sub" / id_).mkdir()
        living = "temporal" in evaluation
        (tmp_path / "gold" / id_ / ("gold.sql" if living else "r.csv")).write_text(TOTALS if living else ANSWER)
        name = "r.csv" if living else "q.sql"
        (tmp_path / "sub" / id_ / name).write_text(ANSWER if living else TOTALS)
        lines.append({"instance_id": id_, "evaluation": {"func": "table_match", **evaluation}})
        answers.append({"instance_id": id_, "answer_type": "file", "answer_or_path": name})
    connections = {"lite": {**LITE, "prefix": "sql_lite"}, "lake": LAKE}
    (tmp_path / "gold" / "connections.yaml").write_text(json.dumps(connections))
    (tmp_path / "gold" / "shop_eval.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "sub" / "results_metadata.jsonl").write_text("".join(json.dumps(line) + "\n" for line in answers))
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def links(top: Path) -> str:
    """A link to a folder in which each database is a link."""
    (top / "links").mkdir()
    for database in (top / "shop data" / "dätä").iterdir():
        (top / "links" / database.name).symlink_to(database)
    (top / "linked").symlink_to("links")
    return "../linked/"


WAYS: dict[str, Callable[[Path], str]] = {
    "relative": lambda _: "./../here/../shop data/dätä/",
    "home": lambda _: "~/shop data/dätä",
    "links": links,
}


@pytest.mark.parametrize("way", WAYS)
def test_run_finds_databases_from_where_the_person_stands(way: str, top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SQLite and DuckDB files are found for SQL answers and for gold queries, however the folder is named."""
    place = WAYS[way](top)
    assert main(["run", "../sub", "--gold", "../gold", "--databases", place, "--no-save", "--no-cache", "--jobs", "1"]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[-1].startswith("done: 100.0 %"), shown


def test_every_command_resolves_them_alike(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """check, compare, gold check, leaderboard, rescore, connections and `evaluate` take the same words for the same folder."""
    place = ["--databases", "../shop data/dätä"]
    where = ["--gold", "../gold", *place]
    for words in (["connections", "test", *where], ["connections", "list", *where], ["run", "../sub", *where, "--out", "first", "-q"]):
        assert main(words) == 0, words
    assert "✓ lite" in capsys.readouterr().out
    assert main(["rescore", "first", "--rules", "strict", "--runs", "again", "--json", *place]) == 0
    assert json.loads(capsys.readouterr().out)["summary"]["score"] == 1
    assert main(["compare", "first", "../sub", "-q", *place]) == 0
    capsys.readouterr()
    assert main(["gold", "check", "../gold", "--no-save", *place]) == 0
    assert "gold scores 4/4 under official, 4/4 under strict\n" in capsys.readouterr().out
    assert main(["check", "living_lite", "--result_dir", "../sub", "--gold_dir", "../gold", "--fail-under", "1", *place]) == 0
    assert main(["leaderboard", "../sub", *where, "--runs", "runs", "-o", "board.json"]) == 0
    assert json.loads(Path("board.json").read_text())["rows"][0]["score"] == 1
    assert evalsuite.evaluate("../sub", "../gold", databases=place[1], save=False).summary.score == 1


@pytest.mark.parametrize(
    "written", ["../shop data/dätä/", "~/shop data/dätä/", pytest.param("{top}/shop data/dätä/", marks=pytest.mark.slow)]
)
def test_a_connections_file_is_seen_from_its_own_folder(written: str, top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is relative in a connections file starts beside it, wherever the person stands and however gold is named."""
    folder = written.format(top=top)
    connections = top / "gold" / "connections.yaml"
    connections.write_text(connections.read_text().replace("shop.", f"{folder}shop."))
    spec = top / "gold" / "shop_eval.jsonl"
    spec.write_text(spec.read_text().replace("shop.sqlite", "lite").replace("shop.duckdb", "lake"))
    assert main(["run", "../sub", "--gold", "../gold", "--no-save", "--no-cache", "--jobs", "1", "-q"]) == 0
    assert capsys.readouterr().out == "done: 100.0 % (no gate set)\n"
    assert main(["check", "living_lite", "--result_dir", "../sub", "--gold_dir", "../gold", "--fail-under", "1"]) == 0


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("../nowhere", "--databases ../nowhere: no such folder"),
        ("../gold/shop_eval.jsonl", "--databases ../gold/shop_eval.jsonl: not a folder"),
        ("~nobody-of-that-name/x", "--databases: the path cannot be followed"),
    ],
)
def test_no_such_folder(place: str, message: str, top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One clear error with a hint before anything is scored, and no run is made."""
    for words in (["run", "../sub", "--gold", "../gold"], ["connections", "test"], ["leaderboard", "../sub", "--gold", "../gold"]):
        assert main([*words, "--databases", place]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert "hint: " in error
    assert not list(Path(".evalsuite").glob("runs/*"))


def test_a_database_that_is_not_there_costs_nobody_points(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing or unreadable file is the grader's side: not judged, with the file's name and no path of this machine in the report."""
    for file in (top / "shop data" / "dätä").iterdir():
        file.rename(file.with_name(f"old-{file.name}"))
    assert main(["run", "../sub", "--gold", "../gold", "--databases", "../shop data/dätä", "--out", "out"]) == 4
    assert "no dätä/shop.sqlite" in capsys.readouterr().out
    rows = [json.loads(line) for line in Path("out/results.jsonl").read_text().splitlines()]
    assert {(row["score"], row["fault"]) for row in rows} == {(None, "NEEDS_CONNECTION")}
    assert str(top) not in Path("out/results.jsonl").read_text()


def test_a_name_that_leaves_the_folder(top: Path) -> None:
    """A database that gold names lies in --databases: no way up, no path from the root, no home."""
    spec = top / "gold" / "shop_eval.jsonl"
    kept = spec.read_text()
    for name in ("../dätä/shop.sqlite", f"{top}/shop data/dätä/shop.sqlite", "~/shop.sqlite"):
        spec.write_text(kept.replace("shop.sqlite", name))
        run = evalsuite.evaluate("../sub", "../gold", databases="../shop data/dätä", only=("living_lite",), save=False)
        assert (run.results[0].status, run.results[0].score) == ("unscored", None)
        assert "leaves the folder of --databases" in run.results[0].reason


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
