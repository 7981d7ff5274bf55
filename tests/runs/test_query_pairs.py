"""Files of queries as submission and gold: BIRD's and Spider's forms, groups by difficulty, what is absent, what cannot be meant."""

import json
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.sandbox import limits

pytestmark = pytest.mark.usefixtures("shared_fork_server")

GOLD = (("SELECT name FROM t WHERE n > 1", "my shop"), ("SELECT count(*) FROM t", "my shop"), ("SELECT n FROM t ORDER BY n", "school"))
ENDLESS = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT max(i) FROM r"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with `dbs` and `gold.sql`."""
    for name in ("my shop", "school"):
        place = tmp_path / "dbs" / name / f"{name}.sqlite"
        place.parent.mkdir(parents=True)
        connection = sqlite3.connect(place)
        connection.execute("create table t (name text, n integer)")
        connection.executemany("insert into t values (?, ?)", [("a", 1), ("b", 2), ("c", 3)])
        connection.commit()
        connection.close()
    write_gold(tmp_path / "gold.sql")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_gold(place: Path, pairs: Sequence[tuple[str, str]] = GOLD) -> None:
    """A file with a query and its database a line."""
    place.write_text("".join(f"{query}\t{database}\n" for query, database in pairs), encoding="utf-8")


def scored(handed_in: str, *words: str, gold: str = "gold.sql", code: int = 0) -> list[dict[str, Any]]:
    """The lines of results of one run by the command, with its exit code held."""
    out = Path("out")
    n = len(list(out.iterdir())) if out.is_dir() else 0
    place = out / str(n)
    assert main(["run", handed_in, "--gold", gold, "--out", str(place), "-q", "--no-cache", "--isolation", "none", *words]) == code
    return [json.loads(line) for line in (place / "results.jsonl").read_text(encoding="utf-8").splitlines()]


def with_queries(place: Path, queries: Mapping[str, Any]) -> str:
    """A pred.json of these queries; its name."""
    place.write_text(json.dumps(queries), encoding="utf-8")
    return place.name


def test_what_is_no_answer_and_what_fails(here: Path) -> None:
    """null and an absent key are not handed in; an answer that fails, or is no text, is 0 and nobody else's fault."""
    name = with_queries(here / "pred.json", {"0": "SELECT x FROM t", "1": None})
    rows = scored(name, "--databases", "dbs", "--rules", "bird-ex")
    assert [(row["status"], row["score"]) for row in rows] == [("submission_fault", 0), ("missing", 0), ("missing", 0)]


def test_an_endless_answer_is_late_and_costs_the_others_nothing(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine is stopped at the limit; the next answers are right. A busy machine may take any time to give it its seconds."""
    monkeypatch.setattr(limits, "WALL_TIMES", 10_000)
    name = with_queries(here / "pred.json", {"0": ENDLESS, "1": GOLD[1][0], "2": GOLD[2][0]})
    rows = scored(name, "--databases", "dbs", "--rules", "bird-ex", "--limit", "seconds=0.3", "--jobs", "1")
    assert [(row["status"], row["score"]) for row in rows] == [("timeout", 0), ("scored", 1), ("scored", 1)]


@pytest.mark.parametrize("isolation", ["process", "none"])
def test_an_endless_gold_query_is_golds_fault(isolation: str, here: Path) -> None:
    """It ends by its own limit, whichever worker runs it, before the answer is out of time."""
    write_gold(here / "gold.sql", [(ENDLESS, "school"), GOLD[2]])
    name = with_queries(here / "pred.json", {"0": "SELECT 1", "1": GOLD[2][0]})
    rows = scored(name, "--databases", "dbs", "--rules", "bird-ex", "--limit", "seconds=0.2", "--jobs", "1", "--isolation", isolation)
    assert [(row["status"], row["score"]) for row in rows] == [("gold_fault", None), ("scored", 1)]


def test_what_is_absent_is_unscored(here: Path) -> None:
    """Without --databases, or without one database's file, nobody is at fault: no score, exit 4; what can be judged is."""
    name = with_queries(here / "pred.json", {str(n): query for n, (query, _) in enumerate(GOLD)})
    (here / "dbs/school/school.sqlite").unlink()
    rows = scored(name, "--databases", "dbs", "--rules", "bird-ex", code=4)
    assert [(row["status"], row["score"], row["official"], row["strict"], row["fault"]) for row in rows[2:]] == [
        ("unscored", None, None, None, "NEEDS_CONNECTION")
    ]
    assert [row["score"] for row in rows[:2]] == [1, 1]
    assert {row["fault"] for row in scored(name, "--rules", "bird-ex", code=4)} == {"NEEDS_CONNECTION"}
    assert {row["status"] for row in scored(name, "--rules", "bird-ex", "--allow-unscored")} == {"unscored"}


def test_a_gold_query_that_fails_is_golds_fault(here: Path) -> None:
    """Where the answer runs; where it fails itself it is 0."""
    write_gold(here / "gold.sql", [("SELECT x FROM t", "school"), ("SELECT x FROM t", "school")])
    rows = scored(with_queries(here / "pred.json", {"0": "SELECT 1", "1": "SELECT"}), "--databases", "dbs", "--rules", "bird-ex")
    assert [(row["status"], row["score"]) for row in rows] == [("gold_fault", None), ("submission_fault", 0)]


def test_difficulties_are_groups(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """dev.json beside gold gives question and difficulty; one that does not fit is told of and not used."""
    name = with_queries(here / "pred.json", {str(n): query for n, (query, _) in enumerate(GOLD)})
    words = ("--databases", "dbs", "--rules", "bird-ex", "--no-save", "--no-cache", "--isolation", "none")
    about = [{"question_id": n, "db_id": database, "difficulty": "simple" if n else "challenging"} for n, (_, database) in enumerate(GOLD)]
    (here / "dev.json").write_text(json.dumps(about))
    assert main(["run", name, "--gold", "gold.sql", *words]) == 0
    assert "challenging 1/1" in (shown := capsys.readouterr().out)
    assert "simple 2/2" in shown
    (here / "dev.json").write_text(json.dumps(about[:2]))
    assert main(["run", name, "--gold", "gold.sql", *words]) == 0
    assert "dev.json is not read" in (shown := capsys.readouterr().out)
    assert "challenging" not in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "none.json", "--gold", "gold.sql"], "none.json"),
        (["run", "dbs", "--gold", "gold.sql"], "a folder"),
        (["run", "gold.sql", "--gold", "gold.sql"], "is in the gold folder"),
        (["run", "broken.json", "--gold", "gold.sql"], "BAD_JSON"),
        (["run", "pred.json", "--gold", "bare.sql"], "bare.sql:1: no database after the query"),
        (["run", "pred.json", "--gold", "gold.sql", "--mode", "sql"], "--mode"),
        (["run", "pred.json", "--gold", "gold.sql", "--databases", "nowhere"], "no such folder"),
        (["run", "pred.json", "--gold", "outside.sql", "--databases", "dbs"], ""),
    ],
)
def test_what_cannot_be_meant(words: list[str], message: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An error that names the file, never an internal one; a database that leaves --databases is gold's fault."""
    with_queries(here / "pred.json", {"0": "SELECT 1"})
    (here / "broken.json").write_text('{"0": "SELECT 1"')
    (here / "bare.sql").write_text("SELECT 1\n")
    write_gold(here / "outside.sql", [("SELECT 1", "../dbs/school")])
    code = main([*words, "--no-save", "--no-cache", "-q"])
    said = capsys.readouterr()
    assert "internal error" not in said.err
    assert message in said.err
    assert code == 2
    assert message or "nothing judged" in said.out


def test_other_commands_know_pairs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """validate tells what will be refused; rescore finds both files again, and every verdict is the same."""
    name = with_queries(here / "pred.json", {"0": "SELECT 1; SELECT 2", "1": GOLD[1][0], "2": GOLD[2][0]})
    assert main(["validate", name, "--gold", "gold.sql"]) == 1
    assert "SQL_NOT_ALLOWED" in capsys.readouterr().out
    scored(name, "--databases", "dbs", "--rules", "bird-ex")
    assert main(["rescore", "out/0", "--databases", "dbs"]) == 0
    assert "0 of 3 verdicts changed" in capsys.readouterr().out
    assert main(["gold", "lint", "gold.sql"]) == 0
    assert main(["gold", "convert", "gold.sql", "--out", "made"]) == 2


def test_check_and_explain_run_what_the_run_ran(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --databases they say what the run said, and show both queries and the rows that differ."""
    name = with_queries(here / "pred.json", {"0": "SELECT name FROM t WHERE n > 2"})
    sides = ["--result_dir", name, "--gold", "gold.sql", "--databases", "dbs"]
    assert main(["explain", "0", *sides, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["status"], found["difference"]["counts"]["rows_missing"]) == ("scored", 1)
    assert "SELECT name FROM t WHERE n > 1;" in found["sql"]
    assert "SELECT name FROM t WHERE n > 2" in found["sql"]
    assert main(["check", "0", *sides, "--rules", "bird-ex", "--fail-under", "1"]) == 1
    assert "1 of gold's 2 distinct rows is not among the answer's" in capsys.readouterr().out


def test_explain_and_check_keep_to_the_evaluator_of_the_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`test-suite` over gold.sql stays so in both, from a run and by --rules; the next line can be pasted; a bundle is refused in words."""
    write_gold(here / "gold.sql", [("SELECT name, n FROM t", "school"), *GOLD[1:]])
    name = with_queries(here / "pred.json", {"0": "SELECT n, name FROM t", "2": "SELECT n FROM t ORDER BY n DESC"})
    words = ["--databases", "dbs", "--rules", "test-suite", "--isolation", "none"]
    assert main(["run", name, "--gold", "gold.sql", *words, "--out", "out"]) == 0
    shown = capsys.readouterr().out
    again = ["explain", "2", "--run", "out", "--databases", "dbs"]
    assert f"next: evalsuite {' '.join(again)}\n" in shown
    assert main([*again, "--json"]) == 0
    assert "another order" in json.loads(capsys.readouterr().out)["reason"]
    assert main(again) == 0
    assert "\n both queries:\n   -- gold\n   SELECT n FROM t ORDER BY n;\n" in capsys.readouterr().out
    assert main(["explain", "0", "--result_dir", name, "--gold", "gold.sql", "--databases", "dbs", "--rules", "test-suite", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reason"] == "the same rows: 3 rows"
    assert main(["check", "0", "--run", "out", "--databases", "dbs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["details"]["evaluator"] == "test-suite"
    assert main(["bundle", "2", "--run", "out"]) == 2
    assert "was scored by the result of a gold query" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("gold", "message"),
    [("SELECT 'é'\tschool\n".encode("utf-16"), "the file is UTF-16, not text in UTF-8"), (b"SELECT 1\t" + b"x" * 5000 + b"\n", "")],
)
def test_gold_in_another_encoding_and_a_name_no_file_can_have(
    gold: bytes, message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first is told in words with its place; the second costs its own pair and no other."""
    (here / "gold.sql").write_bytes(gold if message else gold + f"{GOLD[1][0]}\tschool\n".encode())
    name = with_queries(here / "pred.json", {"0": "SELECT 1", "1": GOLD[1][0]})
    if not message:
        rows = scored(name, "--databases", "dbs", "--rules", "bird-ex", code=4)
        assert [(row["score"], row["fault"]) for row in rows] == [(None, "NEEDS_CONNECTION"), (1, None)]
    else:
        assert main(["run", name, "--gold", "gold.sql", "--databases", "dbs", "--rules", "bird-ex"]) == 2
        assert f"gold.sql:1: {message}" in capsys.readouterr().err


def test_a_leaderboard_of_files(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files of queries are ranked by their names; gold's ending says the evaluator, and rules of the other one are refused."""
    with_queries(here / "all right.json", {str(n): query for n, (query, _) in enumerate(GOLD)})
    with_queries(here / "one.json", {"0": GOLD[0][0], "1": "SELECT 7", "2": "SELECT"})
    words = ["leaderboard", "one.json", "all right.json", "--gold", "gold.sql", "--databases", "dbs"]
    assert main([*words, "--rules", "bird-ex"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("all right.json") < shown.index("one.json")
    assert main([*words, "--rules", "test-suite"]) == 2
    assert "gold.txt" in capsys.readouterr().err


def test_two_files_of_answers_are_compared(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`compare` scores both files as `run` would, and calls the rules by the evaluator's name; the second lost one pair."""
    right = {str(n): query for n, (query, _) in enumerate(GOLD)}
    names = [with_queries(here / "a.json", right), with_queries(here / "b.json", right | {"1": "SELECT 4"})]
    capsys.readouterr()
    assert main(["compare", *names, "--gold", "gold.sql", "--databases", "dbs"]) == 0
    shown = capsys.readouterr().out
    assert "rules bird-ex · 3 instances paired" in shown
    assert "b.json against a.json: 1 instance lost" in shown


def test_no_verdict_outlives_its_database(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A board takes a run over while the databases stay as they were, and scores again once one of them changed."""
    place = here / "dbs" / "school" / "school.sqlite"
    with_queries(here / "pred.json", {"0": GOLD[0][0], "1": "SELECT 3", "2": "SELECT 1 UNION SELECT 2 UNION SELECT 3"})
    words = ["leaderboard", "pred.json", "--gold", "gold.sql", "--databases", "dbs", "--jobs", "1"]

    def board() -> tuple[str, float]:
        capsys.readouterr()
        assert main([*words, "-q"]) == 0
        said = capsys.readouterr().out.strip()
        assert main([*words, "--json"]) == 0
        return said, json.loads(capsys.readouterr().out)["rows"][0]["score"]

    assert board() == ("done: 1 submission ranked (1 new, 0 reused)", 1.0)
    assert board()[0] == "done: 1 submission ranked (0 new, 1 reused)"
    with sqlite3.connect(place) as connection:
        connection.execute("UPDATE t SET n = 7 WHERE n = 3")
    connection.close()
    said, score = board()
    assert said == "done: 1 submission ranked (1 new, 0 reused)"
    assert round(score, 3) == 0.667
    other = shutil.copytree(here / "dbs", here / "other")
    words[words.index("dbs")] = other.name
    assert board()[0] == "done: 1 submission ranked (1 new, 0 reused)"


def test_a_run_of_pairs_is_verified(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --databases every row is run again, times are the run's word; a forged score is seen; without databases rows are left out."""
    about = [{"db_id": database, "difficulty": "simple"} for _, database in GOLD]
    (here / "dev.json").write_text(json.dumps(about))
    name = with_queries(here / "pred.json", {"0": GOLD[0][0], "1": "SELECT 7", "2": "SELECT 1; SELECT 2"})
    scored(name, "--databases", "dbs", "--rules", "bird-ex", "--ves")
    assert main(["verify", "out/0", "--databases", "dbs"]) == 0
    assert "details.time_ratio not verified: of 1 row" in capsys.readouterr().out
    assert main(["verify", "out/0"]) == 4
    results = here / "out/0/results.jsonl"
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    results.write_text("".join(json.dumps({**row, "score": 1.0, "official": 1.0}) + "\n" for row in rows))
    assert main(["verify", "out/0", "--databases", "dbs"]) == 1
