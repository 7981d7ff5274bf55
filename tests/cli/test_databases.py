"""Databases, connections and the layouts of Spider 2.0: where they are looked for, and what is said where they are not."""

import csv
import json
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pytest

import evalsuite
from evalsuite.cli import main
from evalsuite.sql.session import QueryLimits
from tests.cli.test_run import as_json, called, lacks, said, write_answers, write_lines
from tests.conftest import copy_of
from tests.gold.layouts import CITIES, gold_folder, submission_folder

pytestmark = pytest.mark.usefixtures("shared_fork_server")


TOTALS = "SELECT region, sum(amount) AS total FROM sales GROUP BY region ORDER BY 1"
CREATE = "CREATE TABLE sales AS SELECT 'north' AS region, 40.5 AS amount UNION ALL SELECT 'south', 2"
ANSWER = "region,total\nnorth,40.5\nsouth,2\n"
LITE = {"engine": "sqlite", "database": "shop.sqlite"}
LAKE = {"engine": "duckdb", "database": "shop.duckdb"}


@copy_of
def place(folder: Path) -> None:
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
    write_answers(folder / "sub", *((id_, "file", "r.csv" if "temporal" in one else "q.sql") for id_, one in entries.items()))


@pytest.fixture
def top(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, in which the person stands in `here`."""
    monkeypatch.chdir(place / "here")
    monkeypatch.setenv("HOME", str(place))
    return place


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
    """It is the grader's side, named without a path of this machine; a table may be a link, in a folder with quotes."""
    for file in (top / "shop data" / "dätä").iterdir():
        file.rename(file.with_name(f"old-{file.name}"))
    assert "no dätä/shop.sqlite" in said("run ../sub --gold ../gold --out out --databases", "../shop data/dätä", code=4)
    rows = [json.loads(line) for line in Path("out/results.jsonl").read_text().splitlines()]
    assert {(row["score"], row["fault"]) for row in rows} == {(None, "NEEDS_CONNECTION")}
    assert str(top) not in Path("out/results.jsonl").read_text()
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


SECRET = "s3cr3t-9f"


@pytest.fixture
def connected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working folder with one database and a connection that cannot work."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PASSWORD_OF_NONE", SECRET)
    with sqlite3.connect("a.sqlite") as writer:
        writer.execute("CREATE TABLE t (x)")
    Path("connections.yaml").write_text(
        "sales: {engine: sqlite, database: a.sqlite, prefix: local_}\n"
        "none: {engine: postgres, host: 127.0.0.1, port: 1, user: u, password: '${PASSWORD_OF_NONE}', instances: [q1, q2]}\n"
    )


def test_connections(connected: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """All are tested, exit 2, no secret is shown; `--sql` is refused like any answer, `--seconds` limits it, a near name is proposed."""
    assert main(["connections", "test"]) == 2
    shown = capsys.readouterr().out
    assert "✗ none" in shown
    assert shown.endswith("failed: 1 of 2 work\n")
    assert SECRET not in shown
    assert main(["connections", "test", "sales", "--sql", "DELETE FROM t"]) == 2
    assert "only one SELECT is run" in capsys.readouterr().out
    asked: list[object] = []
    monkeypatch.setattr("evalsuite.sql.session.QueryLimits", lambda **limits: asked.append(limits) or QueryLimits(**limits))
    main(["connections", "test", "sales", "--seconds", "7"])
    assert asked == [{"seconds": 7}]
    assert main(["connections", "test", "sale"]) == 2
    assert "did you mean 'sales'?" in capsys.readouterr().out
    Path("connections.yaml").unlink()
    assert main(["connections", "test"]) == 0
    assert "docs/connections.md" in said("connections list")


def test_a_key_that_is_none(connected: None, capsys: pytest.CaptureFixture[str]) -> None:
    """A private key that cannot be read, or is not there, is told as such, and the others are tested."""
    pytest.importorskip("snowflake.connector")
    Path("k.p8").write_text("garbage")
    entries = (f"{name}: {{engine: snowflake, account: a-1, user: u, private_key_file: {name}.p8}}\n" for name in ("k", "gone"))
    Path("connections.yaml").write_text("".join(entries))
    assert main(["connections", "test"]) == 2
    assert capsys.readouterr().out.count("its private key cannot be read") == 2


ANSWERS = {"bq001.csv": CITIES, "sf_bq002.csv": "x\nnone\n", "local003.csv": CITIES, "other.csv": CITIES}
ENTRIES: dict[str, dict[str, object]] = {"local003": {}, "bq001": {}, "sf_bq002": {}, "ga004": {}}
TABLES = {"bq001.csv": CITIES, "sf_bq002_a.csv": CITIES, "local003.csv": CITIES, "ga004.csv": CITIES}
RUN = ["run", "sub", "--gold", "gold", "--isolation", "none", "--no-cache"]


@pytest.fixture
def lite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gold in the layout of Lite, a submission for it, and an empty working directory around them."""
    monkeypatch.chdir(tmp_path)
    gold_folder(tmp_path / "gold", ENTRIES, TABLES)
    submission_folder(tmp_path / "sub", ANSWERS)


def test_other_commands_of_a_layout(lite: None, tmp_path: Path) -> None:
    """Strict is the same in every layout, gold answers itself, explain opens both sides, and no query is run without a connection."""
    out = said(*RUN, "--no-save", "--rules", "strict")
    assert "layout lite) · sub (3 submitted) · rules strict" in out
    assert "|rules:strict|" in out.replace("evalsuite:0.2.0|", "|")
    assert "gold scores 4/4 under official, 4/4 under strict" in said("gold check gold --isolation none --no-save")
    assert "stray" not in said("gold lint gold")
    Path("sub/bq001.csv").write_text("city,n\nOslo,1\nRome,3\n")
    out = said("explain bq001 --result_dir sub --gold gold")
    assert not lacks(out, "sub/bq001.csv", "gold/exec_result/bq001.csv")
    (tmp_path / "sub" / "bq001.sql").write_text("select 1")
    assert "both .csv and .sql" in said(*RUN, "--no-save", code=2)
    out = said(*RUN, "--no-save", "--mode", "sql")
    assert not lacks(out, "sub (1 submitted)", "SQL_NOT_ALLOWED")


def test_reference_files(lite: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On request the right ids stand beside the submission as the reference writes them, and its log in the working directory."""
    assert main([*RUN, "--no-save", "--quiet"]) == 0
    assert not Path("sub-ids.csv").exists()
    assert main([*RUN, "--no-save", "--reference-files"]) == 0
    assert capsys.readouterr().err.splitlines() == [f"wrote {tmp_path / 'sub-ids.csv'}", "wrote log.txt"]
    with Path("sub-ids.csv").open(newline="") as handle:
        assert [row["instance_id"] for row in csv.DictReader(handle)] == ["sf_bq001", "sf_local003"]
    *reasons, scores, final, real = Path("log.txt").read_text().splitlines()
    assert len(reasons) == 1
    assert reasons[0].startswith("sf_bq002: ")
    assert scores == "{'bq001': 1, 'local003': 1, 'sf_bq002': 0}"
    assert final == f"Final score: {2 / 3}, Correct examples: 2, Total examples: 3"
    assert real == "Real score: 0.5, Correct examples: 2, Total examples: 4"
    assert main([*RUN, "--no-save", "--reference-files", "--layout", "snow"]) == 0
    assert Path("sub.csv").read_text() == "output\nbq001\nlocal003\n"


def test_check_and_validate(lite: None) -> None:
    """One instance and a look at what is to be handed in work on the same folders."""
    out = said("check sf_bq002 --result_dir sub --gold_dir gold")
    assert not lacks(out, "sf_bq002.csv", "reference=lite")
    out = said("validate sub --gold gold", code=1)
    assert not lacks(out, "other.csv: other: UNKNOWN_ID", "ga004: MISSING_INSTANCE", "3 of 4 answers (3 file), 3 ready")
    check = "check sf_bq002 --result_dir sub --gold_dir gold"
    for words in ("validate sub --gold gold", check):
        refused = called(*f"{words} --mode sql".split(), cwd=Path())
        assert (refused.returncode, "3 ready" in refused.stdout, "sf_bq002.csv" in refused.stdout) == (2, False, False)
    assert "reference=snow" in said(f"{check} --layout snow")
    Path("sub/other.csv").unlink()
    assert main(["validate", "sub", "--layout", "lite"]) == 0
    assert not lacks(said("validate sub"), "no results_metadata.jsonl: read as a folder of <id>.csv", "3 answers (3 file), 3 ready")
    Path("sub/folder").mkdir()
    assert not lacks(said("validate sub", code=2), "no results_metadata.jsonl in sub")


@pytest.mark.parametrize("rules", ["official", "strict"])
def test_a_receipt_without_gold_is_about_the_files(lite: None, rules: str) -> None:
    """Who has no gold finds out whether a receipt is about these files: its rules name the layout, or the files show it."""
    said(*RUN, "--out", "one", "--rules", rules)
    saved = json.loads(Path("one/run.json").read_text())
    names = {"submission": "sub", "seal": "", "signature": saved["signature"], "root": saved["root"]}

    def verified(code: int, **more: object) -> str:
        Path("r.json").write_text(json.dumps({**names, "n_instances": 4, "submission_hash": saved["submission"]["hash"], **more}))
        return said("runs verify r.json --result-dir sub", code=code)

    assert "files not verified: they differ, or some answer instances that gold does not have" in verified(4)
    Path("sub/other.csv").unlink()
    assert "sub is what was submitted" in verified(4)
    Path("sub/bq001.csv").write_text("x")
    assert "files not verified" in verified(4, n_other=1)
    assert "files not verified" in verified(4, n_other=0, signature=f"{saved['signature']}|limits:cells=9")
    assert "sub is not what was submitted" in verified(1, n_other=0)


def test_convert_leaderboard_and_rescore(lite: None) -> None:
    """The converted folder is original gold and is not written over; folders of answer files are ranked, and scored again."""
    assert said("gold convert gold --out plain") == "4 instances and 4 files, read as lite, written to plain\n"
    assert "gold scores 4/4 under official, 4/4 under strict" in said("gold check plain --isolation none --no-save")
    assert "not an empty folder" in said("gold convert gold --out plain", code=2)
    assert "read as snow, written to cold" in said("gold convert gold --out cold --layout snow")
    submission_folder(Path("subs/a"), {"bq001.csv": CITIES})
    submission_folder(Path("subs/b"), {"bq001.csv": CITIES, "ga004.csv": CITIES})
    board = ["leaderboard", "subs", "--gold", "gold", "--isolation", "none", "--json"]
    first = said(*board)
    Path("subs/a/ga004.csv").write_text(CITIES)
    Path("subs/a/local003.csv").write_text(CITIES)
    assert said(*board) != first
    assert main([*RUN, "--out", ".evalsuite/runs/one"]) == 0
    assert "done: 50.0 %, 0 of 4 verdicts changed" in said("rescore one --isolation none")
    (again,) = Path(".evalsuite/runs").glob("*-one")
    assert "|rules:official-lite|" in json.loads((again / "run.json").read_text())["signature"]
