"""Both queries of an answer as `explain` and `check` show them: laid out where they are long, whatever became of the answer."""

import json
import sqlite3
from pathlib import Path

import pytest
import sqlglot

from evalsuite.cli import main
from evalsuite.sql.session import laid_out

pytestmark = pytest.mark.usefixtures("shared_fork_server")

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
    for place, key, names in (("gold/toy_eval.jsonl", "evaluation", ("gold.sql", "g.csv")), ("sub/results_metadata.jsonl", "", ())):
        rows: list[dict[str, object]] = [{"instance_id": name, "answer_type": "file", "answer_or_path": f"{name}.sql"} for name in "ab"]
        if key:
            checks = [{"func": "table_match", "parameters": {"gold": name}} for name in names]
            rows = [{"instance_id": name, key: check} for name, check in zip("ab", checks, strict=True)]
        (tmp_path / place).write_text("".join(json.dumps(row) + "\n" for row in rows))
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
