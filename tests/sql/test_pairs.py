"""Pairs of queries: what an evaluator does to the text, on which files it runs, what is refused, how fast it is, and how it is shown."""

import contextlib
import json
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
import sqlglot

import evalsuite
from evalsuite.cli import main
from evalsuite.core.errors import FaultError
from evalsuite.core.scores import Table
from evalsuite.readers.limits import resolve_limits
from evalsuite.scorers.sql_match import sql_match
from evalsuite.sql import query_pairs
from evalsuite.sql.query_pairs import EVALUATORS, files_of, order_columns, order_terms, statement_of, tables_of, time_ratio
from evalsuite.sql.session import QueryLimits, laid_out
from tests.cli.test_run import check, write_answers, write_gold
from tests.conftest import ROOT
from tests.processes import finished

pytestmark = pytest.mark.usefixtures("shared_fork_server")


Rows = Sequence[tuple[Any, ...]]
BIRD, SUITE = EVALUATORS["bird-ex"], EVALUATORS["test-suite"]


def database(place: Path, *rows: Sequence[object]) -> str:
    """A database with a table t(name, n) of these rows."""
    place.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(place)
    connection.execute("create table t (name text, n integer)")
    connection.executemany("insert into t values (?, ?)", rows)
    connection.commit()
    connection.close()
    return str(place)


@pytest.mark.parametrize(
    ("given", "prepared"),
    [
        ("SELECT DISTINCT a FROM t", "SELECT  a FROM t"),
        ("SELECT count(distinct a), 'distinct' FROM t -- distinct", "SELECT count( a), 'distinct' FROM t -- distinct"),
        ("SELECT a FROM t WHERE a > = 1 AND b ! = 2", "SELECT a FROM t WHERE a >= 1 AND b != 2"),
        ("SELECT YEAR ( CURDATE() ) - 1", "SELECT 2020- 1"),
    ],
)
def test_the_test_suite_prepares_both_queries(given: str, prepared: str) -> None:
    """DISTINCT is taken out where it is a word of SQL, gaps in operators are closed, this year is 2020; BIRD changes nothing."""
    assert SUITE.prepare(given) == prepared
    assert BIRD.prepare(given) == given


def test_marks_and_files_of_a_database(tmp_path: Path) -> None:
    """A BOM is passed over, what is no SELECT is named; a database's files by its folder or name, its own first."""
    assert statement_of("\ufeffSELECT 1;", EVALUATORS["bird-ex"], QueryLimits()) == "SELECT 1"
    signs = {"{SELECT 1}": "a brace", "```sql\nSELECT 1\n```": "a backtick", '"SELECT 1"': "a quote", "+1": "no word", "drop a": "DROP"}
    for text, beginning in signs.items():
        with pytest.raises(FaultError) as refused:
            statement_of(text, EVALUATORS["bird-ex"], QueryLimits())
        assert refused.value.fault.detail.endswith(f"this begins with {beginning}")
    for name in ("my shop/my shop.sqlite", "my shop/a.sqlite", "my shop/b.sqlite.copy", "my shop/notes.txt", "flat.sqlite", "other.sqlite"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    assert [place.name for place in files_of("my shop", BIRD, tmp_path)] == ["my shop.sqlite"]
    assert [place.name for place in files_of("my shop", SUITE, tmp_path)] == ["my shop.sqlite", "a.sqlite", "b.sqlite.copy"]
    assert [place.name for place in files_of("flat", SUITE, tmp_path)] == ["flat.sqlite"]
    assert files_of("nowhere", SUITE, tmp_path) == []


def test_results_and_texts_that_are_no_utf_8(tmp_path: Path) -> None:
    """Headers and cells as SQLite gives them, also of no rows; on broken texts BIRD fails, the test suite leaves their bytes out."""
    files = [database(tmp_path / "a.sqlite", ("x", 1), (None, 2)), database(tmp_path / "b.sqlite")]
    full, empty = tables_of("SELECT name, n * 0.5 AS half FROM t;", files, BIRD, resolve_limits())
    assert (full.header, full.columns, full.n_rows) == (("name", "half"), (("x", None), (0.5, 1.0)), 2)
    assert (empty.header, empty.columns, empty.n_rows) == (("name", "half"), ((), ()), 0)
    files = [database(tmp_path / "c.sqlite", ("x", 1))]
    query = "SELECT CAST(x'61FF62' AS TEXT)"
    assert tables_of(query, files, SUITE, resolve_limits())[0].columns == (("ab",),)
    with pytest.raises(FaultError, match="not UTF-8") as error:
        tables_of(query, files, BIRD, resolve_limits())
    assert error.value.fault.code == "SQL_ERROR"


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", "SQL_ERROR"),
        ("SELECT nothing FROM t", "SQL_ERROR"),
        ("SELECT 'open", "SQL_ERROR"),
        ("SELECT 1; DROP TABLE t", "SQL_NOT_ALLOWED"),
        ("DELETE FROM t", "SQL_NOT_ALLOWED"),
        ("PRAGMA table_info(t)", "SQL_NOT_ALLOWED"),
        ("ATTACH '/etc/passwd' AS p", "SQL_NOT_ALLOWED"),
        ("WITH a AS (SELECT 1) INSERT INTO t SELECT 'y', 2", "SQL_NOT_ALLOWED"),
        ("SELECT load_extension('x')", "SQL_ERROR SQL_NOT_ALLOWED"),
        ("SELECT writefile('/tmp/x', 'y')", "SQL_ERROR SQL_NOT_ALLOWED"),
        ("WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT max(i) FROM r", "TIMEOUT"),
        ("WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT i FROM r", "LIMIT TIMEOUT"),
    ],
)
@pytest.mark.parametrize("evaluator", [BIRD, SUITE], ids=["bird-ex", "test-suite"])
def test_what_is_refused(query: str, code: str, evaluator: object, tmp_path: Path) -> None:
    """Whatever is no SELECT of this database, and what has no end; the file is as it was."""
    place = database(tmp_path / "a.sqlite", ("x", 1))
    before = Path(place).read_bytes()
    with pytest.raises(FaultError) as error:
        tables_of(query, [place], evaluator, resolve_limits({"seconds": 0.2, "rows": 1000}))  # type: ignore[arg-type]
    assert error.value.fault.code in code.split()
    assert Path(place).read_bytes() == before


@pytest.mark.parametrize(
    ("query", "terms", "places"),
    [
        ("SELECT a FROM t", None, None),
        ("SELECT a, b FROM t ORDER BY b DESC, a LIMIT 3", ["b", "a"], [1, 0]),
        ("SELECT a, 'order by' FROM t", None, None),
        ("SELECT a FROM t WHERE b IN (SELECT b FROM t ORDER BY b LIMIT 2)", None, None),
        ("SELECT a, sum(b) OVER (ORDER BY c) FROM t", None, None),
        ("SELECT a, b FROM t ORDER BY 2, max(a, b) ASC", ["2", "max(a, b)"], []),
        ('SELECT a AS "the a", b FROM t ORDER BY "the a" COLLATE NOCASE DESC NULLS LAST', ['"the a"'], [0]),
    ],
)
def test_the_order_gold_asks_for(query: str, terms: list[str] | None, places: list[int] | None) -> None:
    """The outermost ORDER BY, with the columns of the result that it names."""
    header = ["the a", "b"] if "the a" in query else ["a", "b"]
    assert order_terms(query) == terms
    assert order_columns(query, header) == places


@pytest.mark.parametrize(
    ("evaluator", "gold", "rows", "submitted", "flip"),
    [
        ("bird-ex", "SELECT a, b FROM t", [(1, "x"), (2, "y")], [("x", 1), ("y", 2)], "column order: 2 of"),
        ("bird-ex", "SELECT a, b FROM t", [(1, "x"), (2, "y")], [("y", 2), ("x", 1)], "column order: 2 of"),
        ("bird-ex", "SELECT a FROM t", [(1,), (2,)], [(1, "x"), (2, "x")], "more columns: 2 columns"),
        ("bird-ex", "SELECT a FROM t", [(9.125,), (2,)], [(2,), (9.12,)], "rounding: 1 of"),
        ("bird-ex", "SELECT a, b FROM t ORDER BY b", [(9.125, 5), (2, 5)], [(2, 5), (9.12, 5)], "rounding: 1 of"),
        ("bird-ex", "SELECT a FROM t", [(9.125,)], [(9.12,)], "rounding: 1 of"),
        ("bird-ex", "SELECT a, b FROM t", [(9.125, "x"), (2, "y")], [("x", 9.12), ("y", 2)], "rounding: 2 of"),
        ("bird-ex", "SELECT a FROM t ORDER BY a", [(1,), (2,)], [(2,), (1,)], "row order: the same rows in another order than gold's"),
        ("bird-ex", "SELECT a FROM t", [(1,), (1,), (2,)], [(1,), (2,), (2,)], "repeated rows: gold column 1"),
        ("bird-ex", "SELECT a FROM t", [(1,), (1,), (2,)], [(1,), (2,)], "row count: 2 rows"),
        ("test-suite", "SELECT a, b FROM t ORDER BY b", [(1, 5), (2, 5)], [(2, 5), (1, 5)], "tie order: the same rows"),
        ("test-suite", "SELECT a FROM (SELECT a FROM t ORDER BY b)", [(1,), (2,)], [(2,), (1,)], "row order: the same rows"),
    ],
)
def test_the_cause_of_a_flip(evaluator: Literal["bird-ex", "test-suite"], gold: str, rows: Rows, submitted: Rows, flip: str) -> None:
    """It names what one of both rules compares and the other does not: the order, the columns, how often a row occurs, rounded numbers."""

    def table(side: Rows) -> Table:
        header = ("b", "a") if side[0][0] in ("x", "y") else ("a", "b")[: len(side[0])]
        return Table(header=header, columns=tuple(zip(*side, strict=True)), n_rows=len(side), types=("ANY",) * len(header))

    score = sql_match(([table(submitted)], [table(rows)]), gold=gold, database="t", evaluator=evaluator)
    assert score.flip.startswith(flip), score
    assert score.official != score.strict


def test_a_database_is_read_as_it_is_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that stays open is not used for a file that was replaced or edited, nor for another one of the same name."""

    def verdict() -> float | None:
        return evalsuite.score("sql_match", "SELECT count(*) FROM t", gold="SELECT 3", database="shop.sqlite").official

    def write(folder: Path, statement: str) -> None:
        with contextlib.closing(sqlite3.connect(folder / "shop.sqlite", isolation_level=None)) as connection:
            connection.executescript(statement)

    three, one = (f"CREATE TABLE t AS VALUES {', '.join(['(1)'] * n)}" for n in (3, 1))
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, three if name == "a" else one)
        monkeypatch.chdir(tmp_path / name)
        assert verdict() == (name == "a")
    write(tmp_path / "b", "INSERT INTO t VALUES (2), (3)")
    assert verdict() == 1
    (tmp_path / "b" / "shop.sqlite").unlink()
    write(tmp_path / "b", one)
    assert verdict() == 0


def test_a_sort_that_needs_a_file_goes_on_in_memory(tmp_path: Path) -> None:
    """In a process that may write nothing a result too large for SQLite's cache comes all the same, whole and in its order."""
    place = tmp_path / "shop.sqlite"
    with sqlite3.connect(place) as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
    connection.close()
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
from evalsuite.sql import query_pairs as pairs, sqlite
sqlite._CACHE_KIB = 256
numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) SELECT i, 'text ' || i FROM n ORDER BY -i"
assert sqlite.writes_nothing()
(table,) = pairs.tables_of(numbers, [{str(place)!r}], pairs.EVALUATORS["bird-ex"], {{}})
assert table.n_rows == 60000 and table.columns[0] == tuple(range(60000, 0, -1)), table.n_rows
assert pairs._open.cache_info().misses == 2
"""
    done = finished([sys.executable, "-c", code], cwd=ROOT)
    assert done.returncode == 0, done.stderr


# The slow one is some 35 times slower, because a busy machine makes short statements several times slower than long ones.
FAST, SLOW = "SELECT max(n) FROM t", "SELECT max(a.n) FROM t a, t b, (SELECT n FROM t LIMIT 6) c"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An SQLite file with 250 numbers, below `dbs`."""
    file = tmp_path / "dbs" / "many numbers" / "many numbers.sqlite"
    file.parent.mkdir(parents=True)
    connection = sqlite3.connect(file)
    connection.execute("create table t (n integer)")
    connection.executemany("insert into t values (?)", [(n,) for n in range(250)])
    connection.commit()
    connection.close()
    return file


def test_a_ratio_says_who_is_faster(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gold's time over the query's, about 1 beside itself; a slow statement is measured by its first run."""
    limits = QueryLimits.from_names(resolve_limits())
    assert time_ratio(FAST, SLOW, str(place), BIRD, limits) > 5
    assert time_ratio(SLOW, FAST, str(place), BIRD, limits) < 0.2
    assert time_ratio(SLOW, SLOW, str(place), BIRD, limits) == pytest.approx(1, abs=0.3)
    monkeypatch.setattr(query_pairs, "_SLOW_NS", 0)
    assert time_ratio(FAST, SLOW, str(place), BIRD, limits) > 5


def test_a_run_times_right_answers(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --ves right answers alone have a ratio, groups have their numbers; without it none has, and nothing is said of times."""
    gold = tmp_path / "gold.sql"
    gold.write_text(f"{SLOW}\tmany numbers\n" * 3)
    (tmp_path / "dev.json").write_text(json.dumps([{"difficulty": name} for name in ("simple", "simple", "hard")]))
    handed_in = tmp_path / "pred.json"
    handed_in.write_text(json.dumps({"0": FAST, "1": "SELECT 1", "2": SLOW}))
    words = ["run", str(handed_in), "--gold", str(gold), "--databases", str(tmp_path / "dbs"), "--rules", "bird-ex", "--no-cache"]
    assert main([*words, "--ves", "--out", str(tmp_path / "timed")]) == 0
    shown = capsys.readouterr().out
    rows = [json.loads(line) for line in (tmp_path / "timed/results.jsonl").read_text().splitlines()]
    assert ["time_ratio" in row["details"] for row in rows] == [True, False, True]
    assert rows[0]["details"]["time_ratio"] > 5
    summary = json.loads((tmp_path / "timed/run.json").read_text())["summary"]
    assert summary["pairs"]["n_timed"] == 2
    assert summary["by_group"]["simple"]["pairs"]["r_ves"] == pytest.approx(100 * 1.25**0.5 / 2)
    assert "R-VES" in shown
    assert "soft F1      66.7    simple 50.0 · hard 100.0" in shown
    assert main([*words, "--out", str(tmp_path / "plain")]) == 0
    shown = capsys.readouterr().out
    assert "R-VES" not in shown
    assert "soft F1" in shown
    assert "time_ratio" not in (tmp_path / "plain/results.jsonl").read_text()


LONG = (
    "SELECT city, sum(n) AS total, count(*) AS many, avg(n) AS mean FROM t WHERE n > 0 AND city LIKE 'a%' -- of the north\n"
    "GROUP BY city HAVING count(*) > 0 ORDER BY total DESC, city LIMIT 10"
)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb", "postgres", "bigquery", "snowflake", ""])
def test_a_long_query_has_a_line_for_each_clause_and_stays_the_same_statement(dialect: str) -> None:
    """Its comment and texts stay in it."""
    shown = laid_out(f"{LONG};", dialect)
    assert max(map(len, shown.splitlines())) < 60
    assert {"FROM t", "WHERE", "GROUP BY", "ORDER BY"} <= set(shown.splitlines())
    assert "of the north" in shown
    assert sqlglot.parse_one(shown, read=dialect) == sqlglot.parse_one(LONG, read=dialect)


@pytest.mark.parametrize("sql", ["select  A\n  from t", "SELEC " + "x, " * 60, "SELECT " + "(" * 3000 + "1" + ")" * 3000, "'" + "x" * 200])
def test_what_is_short_or_cannot_be_taken_apart_stays_as_it_is_written(sql: str) -> None:
    """Nobody's query is lost or changed, nor any walls needed to hold one."""
    assert laid_out(f" {sql} ;\n", "sqlite") == sql.strip()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: gold that a query gives (`a`) and gold that is a file (`b`), on one database; answers are to be written."""
    monkeypatch.chdir(tmp_path)
    for side in ("gold", "sub"):
        for name in "ab":
            (tmp_path / side / name).mkdir(parents=True)
    connection = sqlite3.connect(tmp_path / "shop.sqlite")
    connection.execute("CREATE TABLE t (n INTEGER, city TEXT)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(1, "a"), (2, "b")])
    connection.commit()
    connection.close()
    (tmp_path / "gold/a/gold.sql").write_text("SELECT n FROM t WHERE n > 0")
    (tmp_path / "gold/b/g.csv").write_text("n\n1\n2\n")
    write_gold(tmp_path / "gold", a=check("table_match", gold="gold.sql"), b=check("table_match", gold="g.csv"))
    write_answers(tmp_path / "sub", ("a", "file", "a.sql"), ("b", "file", "b.sql"))
    (tmp_path / "gold/connections.yaml").write_text("shop:\n  engine: sqlite\n  database: shop.sqlite\n  instances: [a, b]\n")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "answer", "lines"),
    [
        ("a", "SELECT n FROM t WHERE n > 1", [" both queries:", "   SELECT n FROM t WHERE n > 0;", "   SELECT n FROM t WHERE n > 1;"]),
        ("a", "SELECT nope FROM t", [" both queries:", "   SELECT n FROM t WHERE n > 0;", "   SELECT nope FROM t;"]),
        ("b", "SELECT n FROM t WHERE n > 1", [" the query:", "   -- answer", "   SELECT n FROM t WHERE n > 1;"]),
    ],
)
def test_explain_and_check_show_the_queries(
    name: str, answer: str, lines: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a wrong answer and of one that the engine refused; gold that was run has no problem with its connection."""
    (here / "sub" / name / f"{name}.sql").write_text(answer)
    sides = ["--result_dir", "sub", "--gold", "gold", "--databases", "."]
    for command in (["explain", name, *sides], ["check", name, *sides, "--explain"]):
        assert main(command) == 0
        shown = capsys.readouterr().out
        assert set(lines) <= set(shown.splitlines())
        assert "has to be run" not in shown or "nope" in answer
