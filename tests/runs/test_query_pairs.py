"""Files of queries as submission and gold: BIRD's and Spider's forms, groups, what is absent, and which verdicts are taken over."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.core.errors import FaultError
from evalsuite.core.types import Check, Task
from evalsuite.runs.databases import Databases
from evalsuite.runs.task_execution import gold_tables
from evalsuite.sandbox import limits
from evalsuite.sql.query_pairs import can_share_run, state_of
from tests.cli.test_run import as_json, said

pytestmark = pytest.mark.usefixtures("shared_fork_server")

GOLD = (("SELECT name FROM t WHERE n > 1", "my shop"), ("SELECT count(*) FROM t", "my shop"), ("SELECT n FROM t ORDER BY n", "school"))
QUERIES = [query for query, _ in GOLD]
PAIRS, SHOP = ("--databases", "dbs", "--rules", "bird-ex"), "dbs/my shop/my shop.sqlite"
ENDLESS = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT max(i) FROM r"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with `dbs` and `gold.sql`."""
    monkeypatch.chdir(tmp_path)
    for name in ("my shop", "school"):
        place = tmp_path / "dbs" / name / f"{name}.sqlite"
        place.parent.mkdir(parents=True)
        with closing(sqlite3.connect(place)) as connection:
            connection.execute("create table t (name text, n integer)")
            connection.execute("insert into t values ('a', 1), ('b', 2), ('c', 3)")
            connection.commit()
    write_gold(*GOLD)
    return tmp_path


@pytest.fixture
def known(here: Path) -> Path:
    """The same of one database, with answers of which two are right."""
    write_gold(*((query, "my shop") for query in QUERIES))
    with_queries("SELECT name FROM t WHERE n >= 2", "SELECT 3", "SELECT n FROM t WHERE n < 3")
    return here


def write_gold(*pairs: tuple[str, str]) -> None:
    """gold.sql with a query and its database a line."""
    Path("gold.sql").write_text("".join(f"{query}\t{database}\n" for query, database in pairs), encoding="utf-8")


def with_queries(*queries: str | None, name: str = "pred.json") -> None:
    """A file of these queries, of which None is handed in as null."""
    Path(name).write_text(json.dumps({str(n): query for n, query in enumerate(queries)}), encoding="utf-8")


def lines(*words: str, code: int = 0, pairs: Sequence[str] = PAIRS) -> list[str]:
    """The lines of results of a run by the command that ends with this code; that of a verdict taken over has the time of the run that
    it is from.
    """
    place = Path("out", str(len(list(Path("out").glob("*")))))
    assert main(["run", "pred.json", "--gold", "gold.sql", *pairs, "--out", str(place), "-q", "--isolation", "none", *words]) == code
    return (place / "results.jsonl").read_text(encoding="utf-8").splitlines()


def scored(*words: str, code: int = 0, pairs: Sequence[str] = PAIRS) -> list[dict[str, Any]]:
    """The results of a run that takes nothing over."""
    return [json.loads(line) for line in lines("--no-cache", *words, code=code, pairs=pairs)]


def test_what_is_no_answer_and_what_fails(here: Path) -> None:
    """null and an absent key are not handed in; an answer that fails, or is no text, is 0 and nobody else's fault; a query of gold that
    fails is gold's fault where the answer runs.
    """
    with_queries("SELECT x FROM t", None)
    rows = scored()
    assert [(row["status"], row["score"]) for row in rows] == [("submission_fault", 0), ("missing", 0), ("missing", 0)]
    write_gold(*[("SELECT x FROM t", "school")] * 2)
    with_queries("SELECT 1", "SELECT")
    assert [(row["status"], row["score"]) for row in scored()] == [("gold_fault", None), ("submission_fault", 0)]


def test_an_endless_answer_is_late_and_costs_the_others_nothing(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine is stopped at the limit; the next answers are right. A busy machine may take any time to give it its seconds."""
    monkeypatch.setattr(limits, "WALL_TIMES", 10_000)
    with_queries(ENDLESS, *QUERIES[1:])
    rows = scored("--limit", "seconds=0.3", "--jobs", "1")
    assert [(row["status"], row["score"]) for row in rows] == [("timeout", 0), ("scored", 1), ("scored", 1)]


@pytest.mark.parametrize("isolation", ["process", "none"])
def test_an_endless_gold_query_is_golds_fault(isolation: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends by its own limit, whichever worker runs it, before the answer is out of time."""
    monkeypatch.setattr(limits, "WALL_TIMES", 10_000)
    write_gold((ENDLESS, "school"), GOLD[2])
    with_queries("SELECT 1", QUERIES[2])
    rows = scored("--limit", "seconds=0.2", "--jobs", "1", "--isolation", isolation)
    assert [(row["status"], row["score"]) for row in rows] == [("gold_fault", None), ("scored", 1)]


def test_what_is_absent_is_unscored(here: Path) -> None:
    """Without --databases, or without one database's file, nobody is at fault: no score, exit 4; what can be judged is."""
    with_queries(*QUERIES)
    (here / "dbs/school/school.sqlite").unlink()
    rows = scored(code=4)
    assert [(row["status"], row["score"], row["official"], row["strict"], row["fault"]) for row in rows[2:]] == [
        ("unscored", None, None, None, "NEEDS_CONNECTION")
    ]
    assert [row["score"] for row in rows[:2]] == [1, 1]
    assert {row["fault"] for row in scored(code=4, pairs=PAIRS[2:])} == {"NEEDS_CONNECTION"}
    assert {row["status"] for row in scored("--allow-unscored", pairs=PAIRS[2:])} == {"unscored"}


def test_difficulties_are_groups(here: Path) -> None:
    """dev.json beside gold gives question and difficulty; one that does not fit is told of and not used."""
    with_queries(*QUERIES)
    words = ["run", "pred.json", "--gold", "gold.sql", *PAIRS, "--no-save", "--no-cache", "--isolation", "none"]
    about = [{"question_id": n, "db_id": database, "difficulty": "simple" if n else "challenging"} for n, (_, database) in enumerate(GOLD)]
    (here / "dev.json").write_text(json.dumps(about))
    assert "challenging 1/1" in (shown := said(*words))
    assert "simple 2/2" in shown
    (here / "dev.json").write_text(json.dumps(about[:2]))
    assert "dev.json is not read" in (shown := said(*words))
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
    with_queries("SELECT 1")
    (here / "broken.json").write_text('{"0": "SELECT 1"')
    (here / "bare.sql").write_text("SELECT 1\n")
    (here / "outside.sql").write_text("SELECT 1\t../dbs/school\n")
    code = main([*words, "--no-save", "--no-cache", "-q"])
    shown = capsys.readouterr()
    assert "internal error" not in shown.err
    assert message in shown.err
    assert code == 2
    assert message or "nothing judged" in shown.out


def test_other_commands_know_pairs(here: Path) -> None:
    """validate tells what will be refused; rescore finds both files again, and every verdict is the same."""
    with_queries("SELECT 1; SELECT 2", *QUERIES[1:])
    assert "SQL_NOT_ALLOWED" in said("validate", "pred.json", "--gold", "gold.sql", code=1)
    scored()
    assert "0 of 3 verdicts changed" in said("rescore", "out/0", "--databases", "dbs")
    assert main(["gold", "lint", "gold.sql"]) == 0
    assert main(["gold", "convert", "gold.sql", "--out", "made"]) == 2


def test_check_and_explain_run_what_the_run_ran(here: Path) -> None:
    """With --databases they say what the run said, and show both queries and the rows that differ."""
    with_queries("SELECT name FROM t WHERE n > 2")
    sides = ["--result_dir", "pred.json", "--gold", "gold.sql", "--databases", "dbs"]
    found = as_json("explain", "0", *sides)
    assert (found["status"], found["difference"]["counts"]["rows_missing"]) == ("scored", 1)
    assert "SELECT name FROM t WHERE n > 1;" in found["sql"]
    assert "SELECT name FROM t WHERE n > 2" in found["sql"]
    assert "1 of gold's 2 distinct rows is not among the answer's" in said(
        "check", "0", *sides, "--rules", "bird-ex", "--fail-under", "1", code=1
    )


def test_explain_and_check_keep_to_the_evaluator_of_the_run(here: Path) -> None:
    """`test-suite` over gold.sql stays so in both, from a run and by --rules; the next line can be pasted; a bundle is refused in words."""
    write_gold(("SELECT name, n FROM t", "school"), *GOLD[1:])
    with_queries("SELECT n, name FROM t", None, "SELECT n FROM t ORDER BY n DESC")
    words = ["--gold", "gold.sql", "--databases", "dbs", "--rules", "test-suite"]
    shown = said("run", "pred.json", *words, "--isolation", "none", "--out", "out")
    again = ["explain", "2", "--run", "out", "--databases", "dbs"]
    assert f"next: evalsuite {' '.join(again)}\n" in shown
    assert "another order" in as_json(*again)["reason"]
    assert "\n both queries:\n   -- gold\n   SELECT n FROM t ORDER BY n;\n" in said(*again)
    assert as_json("explain", "0", "--result_dir", "pred.json", *words)["reason"] == "the same rows: 3 rows"
    assert as_json("check", "0", "--run", "out", "--databases", "dbs")["details"]["evaluator"] == "test-suite"
    assert "was scored by the result of a gold query" in said("bundle", "2", "--run", "out", code=2)


@pytest.mark.parametrize(
    ("gold", "message"),
    [("SELECT 'é'\tschool\n".encode("utf-16"), "the file is UTF-16, not text in UTF-8"), (b"SELECT 1\t" + b"x" * 5000 + b"\n", "")],
)
def test_gold_in_another_encoding_and_a_name_no_file_can_have(gold: bytes, message: str, here: Path) -> None:
    """The first is told in words with its place; the second costs its own pair and no other."""
    (here / "gold.sql").write_bytes(gold if message else gold + f"{GOLD[1][0]}\tschool\n".encode())
    with_queries("SELECT 1", QUERIES[1])
    if not message:
        rows = scored(code=4)
        assert [(row["score"], row["fault"]) for row in rows] == [(None, "NEEDS_CONNECTION"), (1, None)]
    else:
        assert f"gold.sql:1: {message}" in said("run", "pred.json", "--gold", "gold.sql", *PAIRS, code=2)


def test_a_leaderboard_of_files(here: Path) -> None:
    """Files of queries are ranked by their names; gold's ending says the evaluator, and rules of the other one are refused."""
    with_queries(*QUERIES, name="all right.json")
    with_queries(QUERIES[0], "SELECT 7", "SELECT", name="one.json")
    words = ["leaderboard", "one.json", "all right.json", "--gold", "gold.sql", "--databases", "dbs"]
    shown = said(*words, "--rules", "bird-ex")
    assert shown.index("all right.json") < shown.index("one.json")
    assert "gold.txt" in said(*words, "--rules", "test-suite", code=2)


def test_two_files_of_answers_are_compared(here: Path) -> None:
    """`compare` scores both files as `run` would, and calls the rules by the evaluator's name; the second lost one pair."""
    with_queries(*QUERIES, name="a.json")
    with_queries(QUERIES[0], "SELECT 4", QUERIES[2], name="b.json")
    shown = said("compare", "a.json", "b.json", "--gold", "gold.sql", "--databases", "dbs")
    assert "rules bird-ex · 3 instances paired" in shown
    assert "b.json against a.json: 1 instance lost" in shown


def test_no_verdict_outlives_its_database(here: Path) -> None:
    """A board takes a run over while the databases stay as they were, and scores again once one of them changed."""
    with_queries(QUERIES[0], "SELECT 3", "SELECT 1 UNION SELECT 2 UNION SELECT 3")
    words = ["leaderboard", "pred.json", "--gold", "gold.sql", "--databases", "dbs", "--jobs", "1"]

    def board() -> tuple[str, float]:
        shown = said(*words, "-q").strip()
        return shown, as_json(*words)["rows"][0]["score"]

    assert board() == ("done: 1 submission ranked (1 new, 0 reused)", 1.0)
    assert board()[0] == "done: 1 submission ranked (0 new, 1 reused)"
    with closing(sqlite3.connect(here / "dbs/school/school.sqlite")) as connection:
        connection.execute("UPDATE t SET n = 7 WHERE n = 3")
        connection.commit()
    shown, score = board()
    assert shown == "done: 1 submission ranked (1 new, 0 reused)"
    assert round(score, 3) == 0.667
    other = shutil.copytree(here / "dbs", here / "other")
    words[words.index("dbs")] = other.name
    assert board()[0] == "done: 1 submission ranked (1 new, 0 reused)"


def test_a_run_of_pairs_is_verified(here: Path) -> None:
    """With --databases every row is run again, times are the run's word; a forged score is seen; without databases rows are left out."""
    about = [{"db_id": database, "difficulty": "simple"} for _, database in GOLD]
    (here / "dev.json").write_text(json.dumps(about))
    with_queries(QUERIES[0], "SELECT 7", "SELECT 1; SELECT 2")
    scored("--ves")
    assert "details.time_ratio not verified: of 1 row" in said("verify", "out/0", "--databases", "dbs")
    assert main(["verify", "out/0"]) == 4
    results = here / "out/0/results.jsonl"
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    results.write_text("".join(json.dumps({**row, "score": 1.0, "official": 1.0}) + "\n" for row in rows))
    assert main(["verify", "out/0", "--databases", "dbs"]) == 1


def change(folder: Path, *statements: str) -> None:
    """Run statements on the database, and put it in the place of the old one at one moment."""
    fresh = shutil.copyfile(folder / SHOP, folder / "fresh.sqlite")
    with closing(sqlite3.connect(fresh)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    fresh.replace(folder / SHOP)


def with_another_row(folder: Path) -> None:
    change(folder, "UPDATE t SET n = 1.5 WHERE name = 'b'")


def with_another_row_of_the_same_time(folder: Path) -> None:
    status = (folder / SHOP).stat()
    with_another_row(folder)
    assert (folder / SHOP).stat().st_size == status.st_size
    os.utime(folder / SHOP, ns=(status.st_atime_ns, status.st_mtime_ns))


def with_another_gold(folder: Path) -> None:
    write_gold(("SELECT name FROM t WHERE n > 2", "my shop"), *GOLD[1:])


@pytest.mark.parametrize(
    "move", [with_another_row_of_the_same_time, with_another_gold, pytest.param(with_another_row, marks=pytest.mark.slow)]
)
def test_what_moves_a_verdict_misses(move: Callable[[Path], None], known: Path) -> None:
    """Another row in the database, or another query of gold, and the verdict of the same answer is one on it."""
    assert json.loads(lines()[0])["score"] == 1
    move(known)
    assert (json.loads(lines()[0])["score"], scored()[0]["score"]) == (0, 0)


def test_what_may_be_another_tomorrow_is_never_taken_over_nor_run_once_for_both(here: Path) -> None:
    """Drawn at random or of the clock, in the statement under any spelling or in a view."""
    queries = (
        *("SELECT n FROM t ORDER BY random()", 'SELECT "random"()', "SELECT [random]()", "SELECT Random/**/() FROM t"),
        *("SELECT hex(randomblob(2))", "SELECT date('now')", "SELECT CURRENT_TIMESTAMP", "SELECT strftime('%s')", "SELECT `date`()"),
    )
    place = here / SHOP
    assert state_of(["SELECT date('now')"], [place], {"clock": 1}) is not None, "a clock that stands moves nothing"
    assert can_share_run("SELECT date('now')", "SELECT date('now');", [str(place)], {"clock": 1})
    for asked in (queries, ("SELECT * FROM moving",)):
        if asked != queries:
            change(here, "CREATE VIEW moving AS SELECT n FROM t ORDER BY random()")
        for query in asked:
            assert state_of(["SELECT 1", query], [place], {}) is None, query
            assert not can_share_run(query, query, [str(place)], {}), query
        write_gold(*((query, "my shop") for query in asked))
        with_queries(*asked)
        # Two runs may take the same time by chance.
        assert not set.intersection(*(set(lines()) for _ in range(3)))


def test_a_database_that_changes_while_a_run_is_on_leaves_nothing_behind(known: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was judged on one state is not kept for another."""
    original, n = Databases.state_of, 0

    def moved_meanwhile(self: Databases, task: Task) -> str | None:
        nonlocal n
        n += 1
        if n == len(GOLD) + 1:
            # The first look of those after the judging.
            with_another_row(known)
        return original(self, task)

    with monkeypatch.context() as patch:
        patch.setattr(Databases, "state_of", moved_meanwhile)
        first = lines()
    assert n == 2 * len(GOLD)
    second = lines()
    assert not set(first) & set(second)
    assert lines() == second


def test_a_query_that_was_stopped_is_asked_again(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was too late on this machine today may be in time tomorrow, gold's query too."""
    monkeypatch.setattr(limits, "WALL_TIMES", 10_000)
    write_gold((ENDLESS, "school"), ("SELECT 1", "school"))
    with_queries("SELECT 1", ENDLESS)
    first, second = (lines("--limit", "seconds=0.2", "--isolation", "process") for _ in range(2))
    assert [json.loads(line)["status"] for line in first] == ["gold_fault", "timeout"]
    assert not set(first) & set(second)


def test_asked_for_speed_all_of_them_run(known: Path) -> None:
    """--ves measures again, and takes no verdict over."""
    lines()
    timed = [json.loads(line)["details"] for line in lines("--ves")]
    assert ["time_ratio" in details for details in timed] == [True, True, False]


def test_golds_result_is_that_of_its_query_databases_and_evaluator(here: Path) -> None:
    """Of what was run last: another evaluator drops DISTINCT, another database has other rows; a query that fails is gold's fault."""
    change(here, "INSERT INTO t VALUES ('d', 3)")
    sqlite3.connect(here / "other.sqlite").execute("CREATE TABLE t AS SELECT 1 AS n").connection.close()

    def rows(query: str, place: str, evaluator: str = "bird-ex") -> int:
        check = Check(scorer="sql_match", parameters={"gold": query, "evaluator": evaluator}, where="")
        task: Any = SimpleNamespace(databases=(str(here / place),), limits={}, answer=None)
        (table,) = gold_tables(task, check)
        return table.n_rows

    distinct = "SELECT DISTINCT n FROM t"
    for _ in range(2):
        assert (rows(distinct, SHOP), rows(distinct, SHOP, "test-suite")) == (3, 4)
        assert (rows(distinct, "other.sqlite"), rows("SELECT n FROM t", "other.sqlite")) == (1, 1)
    for query, place, side in (("SELECT m FROM t", "other.sqlite", "gold"), (distinct, "gone.sqlite", "setup")):
        with pytest.raises(FaultError, match="gold's query: ") as fault:
            rows(query, place)
        assert fault.value.side == side
