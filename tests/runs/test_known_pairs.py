"""What is known of pairs of queries: a verdict of the same texts on the same databases is taken over, and one statement is run once."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.core.errors import FaultError
from evalsuite.core.types import Check, Task
from evalsuite.runs.databases import Databases
from evalsuite.runs.task_execution import gold_tables
from evalsuite.sql.query_pairs import can_share_run, state_of

pytestmark = pytest.mark.usefixtures("shared_fork_server")

GOLD = ("SELECT name FROM t WHERE n > 1", "SELECT count(*) FROM t", "SELECT n FROM t ORDER BY n")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: a database in `dbs`, gold.sql and a pred.json that is right twice."""
    (tmp_path / "dbs").mkdir()
    change(tmp_path, "CREATE TABLE t (name TEXT, n INTEGER)", "INSERT INTO t VALUES ('a', 1), ('b', 2), ('c', 3)")
    monkeypatch.chdir(tmp_path)
    write(tmp_path, GOLD, ["SELECT name FROM t WHERE n >= 2", "SELECT 3", "SELECT n FROM t WHERE n < 3"])
    return tmp_path


def change(folder: Path, *statements: str) -> None:
    """Run statements on the database, and put it in the place of the old one at one moment."""
    place, fresh = folder / "dbs" / "shop.sqlite", folder / "fresh.sqlite"
    if place.exists():
        shutil.copyfile(place, fresh)
    connection = sqlite3.connect(fresh)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    fresh.replace(place)


def write(folder: Path, gold: tuple[str, ...], answers: list[str]) -> None:
    """The files of pairs."""
    (folder / "gold.sql").write_text("".join(f"{query}\tshop\n" for query in gold))
    (folder / "pred.json").write_text(json.dumps({str(n): query for n, query in enumerate(answers)}))


def scored(*words: str) -> list[str]:
    """The lines of results of one run by the command; that of a verdict taken over has the time of the run that it is from."""
    place = Path("out") / str(len(list(Path("out").glob("*"))))
    run = [
        "run",
        "pred.json",
        "--gold",
        "gold.sql",
        "--databases",
        "dbs",
        "--rules",
        "bird-ex",
        "--out",
        str(place),
        "-q",
        "--isolation",
        "none",
    ]
    assert main([*run, *words]) in (0, 4)
    return (place / "results.jsonl").read_text().splitlines()


def scores(lines: list[str]) -> list[float | None]:
    """The score of each line."""
    return [json.loads(line)["score"] for line in lines]


def with_another_row(folder: Path) -> None:
    change(folder, "UPDATE t SET n = 1.5 WHERE name = 'b'")


def with_another_row_of_the_same_time(folder: Path) -> None:
    status = (folder / "dbs" / "shop.sqlite").stat()
    with_another_row(folder)
    assert (folder / "dbs" / "shop.sqlite").stat().st_size == status.st_size
    os.utime(folder / "dbs" / "shop.sqlite", ns=(status.st_atime_ns, status.st_mtime_ns))


def with_another_gold(folder: Path) -> None:
    write(folder, ("SELECT name FROM t WHERE n > 2", *GOLD[1:]), json.loads((folder / "pred.json").read_text()).values())


@pytest.mark.parametrize(
    "move", [with_another_row_of_the_same_time, with_another_gold, pytest.param(with_another_row, marks=pytest.mark.slow)]
)
def test_what_moves_a_verdict_misses(move: Callable[[Path], None], here: Path) -> None:
    """Another row in the database, or another query of gold, and the verdict of the same answer is one on it."""
    assert scores(scored())[0] == 1
    move(here)
    assert (scores(scored())[0], scores(scored("--no-cache"))[0]) == (0, 0)


def test_what_may_be_another_tomorrow_is_never_taken_over_nor_run_once_for_both(here: Path) -> None:
    """Drawn at random or of the clock, in the statement under any spelling or in a view."""
    queries = (
        *("SELECT n FROM t ORDER BY random()", 'SELECT "random"()', "SELECT [random]()", "SELECT Random/**/() FROM t"),
        *("SELECT hex(randomblob(2))", "SELECT date('now')", "SELECT CURRENT_TIMESTAMP", "SELECT strftime('%s')", "SELECT `date`()"),
    )
    place = here / "dbs" / "shop.sqlite"
    for asked in (queries, ("SELECT * FROM moving",)):
        if asked != queries:
            change(here, "CREATE VIEW moving AS SELECT n FROM t ORDER BY random()")
        for query in asked:
            assert state_of(["SELECT 1", query], [place], {}) is None, query
            assert not can_share_run(query, query, [str(place)], {}), query
        write(here, asked, list(asked))
        # Two runs may take the same time by chance.
        assert not set.intersection(*(set(scored()) for _ in range(3)))


def test_a_clock_that_stands_moves_nothing(here: Path) -> None:
    """Under --frozen-clock what asks the time gives the same each time."""
    place = here / "dbs" / "shop.sqlite"
    assert state_of(["SELECT date('now')"], [place], {"clock": 1}) is not None
    assert can_share_run("SELECT date('now')", "SELECT date('now');", [str(place)], {"clock": 1})


def test_a_database_that_changes_while_a_run_is_on_leaves_nothing_behind(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was judged on one state is not kept for another."""
    original, n = Databases.state_of, 0

    def moved_meanwhile(self: Databases, task: Task) -> str | None:
        nonlocal n
        n += 1
        if n == len(GOLD) + 1:
            # The first look of those after the judging.
            with_another_row(here)
        return original(self, task)

    with monkeypatch.context() as patch:
        patch.setattr(Databases, "state_of", moved_meanwhile)
        first = scored()
    assert n == 2 * len(GOLD)
    second = scored()
    assert not set(first) & set(second)
    assert scored() == second


def test_a_query_that_was_stopped_is_asked_again(here: Path) -> None:
    """What was too late on this machine today may be in time tomorrow, gold's query too."""
    endless = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT max(i) FROM r"
    write(here, (endless, "SELECT 1"), ["SELECT 1", endless])
    first, second = (scored("--limit", "seconds=0.2", "--isolation", "process") for _ in range(2))
    assert [json.loads(line)["status"] for line in first] == ["gold_fault", "timeout"]
    assert not set(first) & set(second)


def test_asked_for_speed_all_of_them_run(here: Path) -> None:
    """--ves measures again, and takes no verdict over."""
    scored()
    timed = [json.loads(line)["details"] for line in scored("--ves")]
    assert ["time_ratio" in details for details in timed] == [True, True, False]


def test_golds_result_is_that_of_its_query_databases_and_evaluator(here: Path) -> None:
    """Of what was run last: another evaluator drops DISTINCT, another database has other rows; a query that fails is gold's fault."""
    change(here, "INSERT INTO t VALUES ('d', 3)")
    connection = sqlite3.connect(here / "other.sqlite")
    connection.execute("CREATE TABLE t AS SELECT 1 AS n")
    connection.close()

    def rows(query: str, place: str, evaluator: str = "bird-ex") -> int:
        check = Check(scorer="sql_match", parameters={"gold": query, "evaluator": evaluator}, where="")
        task: Any = SimpleNamespace(databases=(str(here / place),), limits={}, answer=None)
        (table,) = gold_tables(task, check)
        return table.n_rows

    distinct = "SELECT DISTINCT n FROM t"
    for _ in range(2):
        assert (rows(distinct, "dbs/shop.sqlite"), rows(distinct, "dbs/shop.sqlite", "test-suite")) == (3, 4)
        assert (rows(distinct, "other.sqlite"), rows("SELECT n FROM t", "other.sqlite")) == (1, 1)
    for query, place, side in (("SELECT m FROM t", "other.sqlite", "gold"), (distinct, "gone.sqlite", "setup")):
        with pytest.raises(FaultError, match="gold's query: ") as fault:
            rows(query, place)
        assert fault.value.side == side
