"""The engines and what they share: the one statement of a text in each dialect, and whose fault a missing or damaged database is."""

import contextlib
import json
import sqlite3
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.cli import main
from evalsuite.core.errors import FaultError, MissingExtraError, UsageError
from evalsuite.core.runtime import extra_line
from evalsuite.runs.databases import Databases
from evalsuite.sql import ENGINES, execution, open_session
from evalsuite.sql.execution import Query, QueryPool
from evalsuite.sql.session import Connection, QueryLimits, Written, find_name, neutral, only_statement, server_gone
from evalsuite.sql.snowflake import SnowflakeSession
from tests.duckdb_files import opened
from tests.sql.conftest import made_lite


@pytest.mark.parametrize("engine", [name for name, entry in ENGINES.items() if entry.client])
def test_a_missing_client_is_told_with_the_pip_line(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its extra an engine says what to install."""
    monkeypatch.setitem(sys.modules, ENGINES[engine].client, None)
    assert not ENGINES[engine].has_client
    with pytest.raises(MissingExtraError) as caught:
        open_session(Connection(name="x", engine=engine, options={"account": "a", "user": "u"}), QueryLimits())
    assert caught.value.hint == extra_line(engine)


def test_a_query_without_its_client_cannot_run_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line before the run counts it as one that cannot run, and no number of bytes is said of it."""
    monkeypatch.setitem(sys.modules, "google.cloud.bigquery", None)
    words = made_lite(tmp_path, "bq: {engine: bigquery, project: p, endpoint: 'http://127.0.0.1:9', prefix: q}\n")
    assert main([*words, "-q"]) == 4
    shown = capsys.readouterr().err
    assert "note: 0 of 2 queries can run here; 2 need a client that is not installed (bigquery)" in shown
    assert "dry run" not in shown


@pytest.mark.parametrize("engine", [name for name, entry in ENGINES.items() if entry.embedded])
def test_files_that_are_no_database(engine: str, tmp_path: Path) -> None:
    """No file, no name, an empty folder and a file of something else are told apart from a fault of an answer."""
    (tmp_path / "text").write_text("not a database")
    for database in ("", str(tmp_path / "absent"), str(tmp_path / "text"), str(tmp_path)):
        with pytest.raises(UsageError, match="connection 'x'"):
            open_session(Connection(name="x", engine=engine, database=database), QueryLimits())


@pytest.mark.parametrize(("fault", "closed", "n"), [("gone", False, 2), ("gone", True, 1), ("refused", False, 1)])
def test_a_server_that_disconnects_is_asked_once_more(
    fault: str, closed: bool, n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, and not after the run has ended; what is the statement's fault is not asked again."""
    asked = []

    def fail(_: QueryPool, query: Query) -> None:
        asked.append(query)
        raise server_gone("PostgreSQL") if fault == "gone" else FaultError("SQL_ERROR", "refused")

    monkeypatch.setattr(QueryPool, "_try_server", fail)
    pool = QueryPool(limits=QueryLimits(), jobs=1, submission=tmp_path, gold=tmp_path, fork_server=lambda: None)
    if closed:
        pool.close()
    query = Query(name="q", text="SELECT 1", connection=Connection(name="x", engine="postgres"), place=tmp_path / "x.csv")
    with pytest.raises(FaultError, match=fault.replace("gone", "disconnected")):
        pool._on_server(query)
    assert asked == [query] * n


@pytest.mark.parametrize(("closed", "said"), [(True, "the run was interrupted"), (False, "asked")])
def test_a_server_is_not_asked_after_the_end(closed: bool, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement whose turn comes when the run has ended is not sent."""

    def fail(*_: object, **__: object) -> None:
        raise FaultError("SQL_ERROR", "asked")

    monkeypatch.setattr(execution, "open_session", lambda *_: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(execution, "write_result", fail)
    pool = QueryPool(limits=QueryLimits(), jobs=1, submission=tmp_path, gold=tmp_path, fork_server=lambda: None)
    pool._closed = closed
    with pytest.raises(FaultError, match=said):
        pool._try_server(Query(name="q", text="SELECT 1", connection=Connection(name="x", engine="postgres"), place=tmp_path / "x.csv"))


def test_one_fork_server_starts_the_workers_of_all_statements(tmp_path: Path, quick_fork_servers: None) -> None:
    """It outlives the statements of a batch, and ends with the databases; after an early end the statements run all the same."""
    connection = Connection(name="x", engine="sqlite", database=str(tmp_path / "a.sqlite"))
    with contextlib.closing(sqlite3.connect(connection.database)) as database:
        database.execute("CREATE TABLE t (x)")
    gold: Any = SimpleNamespace(folder=tmp_path / "gold")
    used: list[Any] = []
    with contextlib.closing(Databases(gold, tmp_path / "sub", limits={}, jobs=1, isolation="process")) as databases:
        for n in range(3):
            query = Query(name="q", text="SELECT 7 AS n", connection=connection, place=tmp_path / f"{n}.csv")
            assert [type(answered.outcome) for answered in databases.queries().answers([query])] == [Written]
            assert query.place.read_text() == "n\n7\n"
            used.append(databases._running_server())
            if n == 1:
                used[n]._process.kill()
                used[n]._process.wait()
        assert used[2].alive
    assert used[0] is used[1] is not used[2]
    assert not used[2].alive


@pytest.mark.parametrize(
    ("text", "sql", "name"),
    [
        ("syntax error near c or d", "SELECT c, d", "d"),
        ('no "b" near c', "SELECT b, c", "b"),
        ("near c or", "SELECT c", "c"),
        ("near x", "SELECT b", ""),
        ("near x\nb", "SELECT b", ""),
    ],
)
def test_the_name_that_an_engine_speaks_of(text: str, sql: str, name: str) -> None:
    """One in quotes before others, of others the last one, and nothing that the statement does not hold."""
    assert find_name(text, sql) == name


def test_limits_by_name_and_changes_beside_a_file(tmp_path: Path) -> None:
    """The project's limits by their names, no others; a journal with changes that the file lacks is not passed over."""
    limits = QueryLimits.from_names({"seconds": 3, "rows": 5, "table_bytes": 7, "json_depth": 9})
    assert (limits.seconds, limits.rows, limits.held_bytes, limits.columns) == (3, 5, 7, QueryLimits().columns)
    writer = sqlite3.connect(tmp_path / "a.sqlite")
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("CREATE TABLE t (x)")
    with pytest.raises(UsageError, match=r"a\.sqlite-wal contains changes"):
        open_session(Connection(name="x", engine="sqlite", database=str(tmp_path / "a.sqlite")), QueryLimits())
    writer.close()


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (datetime(2024, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), datetime(2024, 1, 1, tzinfo=UTC)),
        (bytearray(b"x"), b"x"),
        ([1, None, date(2024, 1, 1)], '[1, null, "2024-01-01"]'),
        ({"a": (1, {"b": MappingProxyType({"c": "é"})})}, '{"a": [1, {"b": {"c": "é"}}]}'),
        ([datetime(2024, 1, 1, 2)], '["2024-01-01T02:00:00"]'),
        (timedelta(days=1), "1 day, 0:00:00"),
    ],
)
def test_neutral_cells(value: object, cell: object) -> None:
    """Instants in UTC, nested values as JSON text, the rest as text."""
    assert neutral(value) == cell


def code(text: str, engine: str) -> str:
    """The fault a text ends in, or an empty text."""
    try:
        only_statement(text, ENGINES[engine].dialect)
    except FaultError as error:
        return error.fault.code
    return ""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("select 1", "select 1"),
        (" select 1 ; \n", "select 1"),
        (";; select 1;", "select 1"),
        ("(select 1)", "(select 1)"),
        ("-- a; b\nselect 1 -- c;", "-- a; b\nselect 1 -- c;"),
        ("/* ; */ select ';' /* ; */;", "/* ; */ select ';' /* ; */"),
        ("select 'it''s; fine'", "select 'it''s; fine'"),
        ('select 1 as "a;b"', 'select 1 as "a;b"'),
        ("```sql\nselect 1;\n```", "select 1"),
        ("~~~\nselect 1\n~~~", "select 1"),
        ("Text; more.\r\n```SQL\r\nselect 1\r\n```\r\nDone;", "select 1"),
        ("```python\nprint()\n```\n```sql\nselect 1\n```", "select 1"),
        ("\ufeffselect 1", "select 1"),
        ("WITH a AS (SELECT 1) SELECT * FROM a", "WITH a AS (SELECT 1) SELECT * FROM a"),
    ],
)
def test_what_is_taken(text: str, sql: str, engine: str) -> None:
    """The statement without fence and semicolon, the same for every engine."""
    assert only_statement(text, ENGINES[engine].dialect) == sql


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        ("select $$;$$", "postgres"),
        ("select $a$ ; $$ $a$", "postgres"),
        ("select $$;$$", "duckdb"),
        ("select e'\\';'", "postgres"),
        ("/* /* ; */ ; */ select 1", "postgres"),
        ("select `a;b`, [c;d]", "sqlite"),
        ("select '\\';'", "snowflake"),
        ("select 1 // ; delete", "snowflake"),
        ('select "a;b", """c";d""", `e;f` # ; g', "bigquery"),
    ],
)
def test_dialects(text: str, engine: str) -> None:
    """A semicolon inside what only this engine takes for a quote or a comment ends nothing."""
    assert only_statement(text, ENGINES[engine].dialect) == text


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        ("select '\\'; delete from t -- '", "postgres"),
        ("/* /* */ select 1; */ delete from t", "sqlite"),
        ("select $$; delete from t; $$", "sqlite"),
        ("select 1 # ; delete", "postgres"),
    ],
)
def test_dialects_do_not_hide(text: str, engine: str) -> None:
    """What is a quote or a comment elsewhere hides no second statement here."""
    assert code(text, engine) == "SQL_NOT_ALLOWED"


@given(
    st.lists(
        st.sampled_from(["select", "1", "'", '"', ";", "--", "/*", "*/", "\n", " ", "`", "[", "]", "a", "$$", "\\", "delete", "\x00"]),
        max_size=14,
    )
)
def test_never_more_than_sqlite_takes(parts: list[str]) -> None:
    """Any text is taken or is a fault; what is taken, SQLite itself does not call several statements."""
    text = "select " + "".join(parts)
    if code(text, "sqlite"):
        return
    sql = only_statement(text, ENGINES["sqlite"].dialect)
    said = ""
    try:
        sqlite3.connect(":memory:").execute(f"EXPLAIN {sql}")
    except (sqlite3.Warning, sqlite3.Error) as error:
        said = str(error)
    assert "one statement" not in said, text


def damage(place: Path) -> None:
    """Overwrite the middle of a file."""
    found = bytearray(place.read_bytes())
    middle = len(found) // 2 // 4096 * 4096
    found[middle : middle + 300_000] = b"\x07" * len(found[middle : middle + 300_000])
    place.write_bytes(found)


@pytest.mark.parametrize("kind", ["header", "middle"])
@pytest.mark.usefixtures("shared_fork_server")
def test_a_damaged_sqlite_file(kind: str, tmp_path: Path) -> None:
    """Pairs on it are unscored, NEEDS_CONNECTION, exit 4; the pair on another database is judged."""
    for name in ("ill", "well"):
        place = tmp_path / "dbs" / f"{name}.sqlite"
        place.parent.mkdir(exist_ok=True)
        with sqlite3.connect(place) as connection:
            connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
            connection.executemany("INSERT INTO t (b) VALUES (?)", [("x" * 50,)] * 10_000)
        connection.close()
    if kind == "middle":
        damage(tmp_path / "dbs" / "ill.sqlite")
    else:
        (tmp_path / "dbs" / "ill.sqlite").write_bytes(b"SQLite format 3\0" + b"\1" * 5000)
    query = "SELECT count(*), max(b) FROM t"
    (tmp_path / "gold.sql").write_text(f"{query}\till\n{query}\twell\n")
    (tmp_path / "pred.json").write_text(json.dumps({"0": query, "1": query}))
    words = [
        "run",
        tmp_path / "pred.json",
        "--gold",
        tmp_path / "gold.sql",
        "--databases",
        tmp_path / "dbs",
        "--out",
        tmp_path / "out",
        "-q",
    ]
    assert main([*map(str, words), "--rules", "bird-ex"]) == 4
    rows = [json.loads(line) for line in (tmp_path / "out/results.jsonl").read_text().splitlines()]
    assert [(row["status"], row["fault"], row["score"]) for row in rows] == [("unscored", "NEEDS_CONNECTION", None), ("scored", None, 1)]


@pytest.mark.usefixtures("shared_fork_server")
def test_a_damaged_duckdb_file(tmp_path: Path) -> None:
    """A block whose checksum is wrong: unscored; a statement that only speaks of damage is its own fault."""
    place = tmp_path / "lake.duckdb"
    with opened(place) as connection:
        connection.execute("CREATE TABLE orders AS SELECT i AS total, random()::VARCHAR AS b FROM range(80000) AS r(i)")
    damage(place)
    words = made_lite(tmp_path, f"lake: {{engine: duckdb, database: {place}, prefix: q}}\n")
    answers = sorted(tmp_path.rglob("*.sql"))
    said = ["SELECT max(b) FROM orders", "SELECT error('Corrupt database file')"]
    for file, text in zip(answers, said, strict=True):
        file.write_text(text)
    assert main([*words, "-q"]) == 4
    rows = [json.loads(line) for line in (tmp_path / "out/results.jsonl").read_text().splitlines()]
    assert [(row["status"], row["fault"]) for row in rows] == [("unscored", "NEEDS_CONNECTION"), ("submission_fault", "SQL_ERROR")]


@pytest.mark.parametrize(
    ("errno", "sqlstate", "code"),
    [
        *[(errno, "42S02", "NEEDS_CONNECTION") for errno in (290500, 290503)],
        *[(606, "57P03", "NEEDS_CONNECTION"), (666, "57014", "NEEDS_CONNECTION"), (90073, "22000", "NEEDS_CONNECTION")],
        *[(609, "57P03", "NEEDS_CONNECTION"), (604, "57014", "TIMEOUT"), (2003, "42S02", "SQL_ERROR")],
    ],
)
def test_what_snowflake_answers_when_it_is_ill(errno: int, sqlstate: str, code: str) -> None:
    """An HTTP 5xx of the service, and an account without a warehouse, is the set-up's; an unknown object the statement's."""
    session = SnowflakeSession.__new__(SnowflakeSession)
    session._limits = QueryLimits()
    assert session._fault_of(SimpleNamespace(errno=errno, sqlstate=sqlstate, msg="")).fault.code == code
