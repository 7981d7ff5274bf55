"""The frozen clock of queries: on real SQLite, DuckDB and PostgreSQL nothing but the time changes, and no cache serves another day."""

import contextlib
import os
import sqlite3
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.errors import FaultError
from evalsuite.readers.limits import clock_of
from evalsuite.sql import open_session
from evalsuite.sql.execution import ResultCache, execute, write_result
from evalsuite.sql.frozen_clock import freeze_statement, reads_time
from evalsuite.sql.session import Connection, QueryLimits, Written
from tests.duckdb_files import opened
from tests.sql import postgres_server

AT = clock_of("2024-02-29T18:30:05Z")
DAY, MOMENT = date(2024, 2, 29), datetime(2024, 2, 29, 18, 30, 5, tzinfo=UTC)


def first(connection: Connection, sql: str, at: int = AT) -> Any:
    """The first cell of what a statement gives with the clock at `at`."""
    return execute(sql, connection, QueryLimits(clock=at)).table.columns[0][0]


@pytest.fixture
def sqlite(tmp_path: Path) -> Connection:
    """A database with a view and an index that call functions of time."""
    file = tmp_path / "a.sqlite"
    with contextlib.closing(sqlite3.connect(file)) as writer:
        writer.executescript(
            "CREATE TABLE t (day TEXT, said TEXT); INSERT INTO t VALUES ('2024-02-01', 'now'), ('2023-02-28', 'now and then');"
            "CREATE VIEW today AS SELECT date('now') AS day; CREATE INDEX of_month ON t (strftime('%m', day));"
        )
    return Connection(name="a", engine="sqlite", database=str(file))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT date('now')", "2024-02-29"),
        ("SELECT DATE('NOW', '+1 day')", "2024-03-01"),
        ("SELECT date()", "2024-02-29"),
        ("SELECT time('now')", "18:30:05"),
        ("SELECT datetime('now', 'start of month')", "2024-02-01 00:00:00"),
        ("SELECT strftime('%Y')", "2024"),
        ("SELECT strftime('%Y-%m', 'now', '-1 year')", "2023-03"),
        ("SELECT julianday('now')", 2460370.271),
        ("SELECT CAST(unixepoch('now') AS TEXT)", str(AT)),
        ("SELECT current_timestamp", "2024-02-29 18:30:05"),
        ("SELECT CURRENT_DATE || ' ' || current_time", "2024-02-29 18:30:05"),
        ("SELECT day FROM today", "2024-02-29"),
        ("SELECT date('n' || 'ow')", "2024-02-29"),
        ("SELECT date(said) FROM t", "2024-02-29"),
        ("SELECT said FROM t WHERE strftime('%m', day) = '02' AND day > date('now', '-1 month')", "now"),
        ("SELECT date('2020-01-31', '+1 month')", "2020-03-02"),
        ("SELECT date('nonsense')", None),
        ("SELECT 'now'", "now"),
    ],
)
def test_sqlite(sqlite: Connection, sql: str, expected: Any) -> None:
    """Each of its ways to ask the time gives the frozen one, from views and data too; what asks nothing gives what it gave."""
    found = first(sqlite, sql)
    assert found == (pytest.approx(expected, abs=1e-3) if isinstance(expected, float) else expected)
    with contextlib.closing(open_session(sqlite, QueryLimits(clock=AT))) as session:
        plain = sqlite3.connect(sqlite.database).execute(sql)
        assert session.stream(sql).header == tuple(column[0] for column in plain.description)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT now()", MOMENT),
        ("SELECT get_current_timestamp()", MOMENT),
        ("SELECT current_timestamp", MOMENT),
        ("SELECT transaction_timestamp()", MOMENT),
        ("SELECT current_date", DAY),
        ("SELECT today() + 1", date(2024, 3, 1)),
        ("SELECT date_trunc('year', current_date)::DATE", date(2024, 1, 1)),
        ("SELECT localtimestamp", MOMENT.replace(tzinfo=None)),
        ("SELECT localtime", time(18, 30, 5)),
        ("SELECT CAST(extract('year' FROM age(DATE '2000-02-28')) AS INTEGER)", 24),
        ("SELECT CAST(extract('year' FROM age(DATE '2024-02-29', DATE '2000-02-28')) AS INTEGER)", 24),
        ("SELECT day FROM asked", DAY),
        ("SELECT system.main.now()", MOMENT),
        ("SELECT pg_catalog.now()", MOMENT),
        ("FROM (SELECT current_date AS now) SELECT now", DAY),
        ("SELECT 'now()'", "now()"),
    ],
)
def test_duckdb(tmp_path: Path, sql: str, expected: Any) -> None:
    """Macros of this connection stand before DuckDB's functions, in a file that is only read and in its views."""
    file = tmp_path / "a.duckdb"
    with opened(file) as writer:
        writer.execute("CREATE VIEW asked AS SELECT current_date AS day, now() AS moment")
    found = first(Connection(name="a", engine="duckdb", database=str(file)), sql)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT now()", MOMENT),
        ("SELECT pg_catalog.now() AS now", MOMENT),
        ("SELECT clock_timestamp()", MOMENT),
        ("SELECT current_timestamp(0)", MOMENT),
        ("SELECT current_date - 1", date(2024, 2, 28)),
        ("SELECT current_date AS current_date", DAY),
        ("SELECT localtimestamp", MOMENT.replace(tzinfo=None)),
        ("SELECT localtime::text", "18:30:05"),
        ("SELECT timeofday()", "Thu Feb 29 18:30:05.000000 2024 UTC"),
        ("SELECT extract(year FROM age(date '2000-02-28'))::int", 24),
        ("SELECT extract(year FROM age(date '2024-02-29', date '2000-02-28'))::int", 24),
        ("SELECT 'today'::date", DAY),
        ("SELECT date 'tomorrow'", date(2024, 3, 1)),
        ("SELECT CAST('yesterday 10:00' AS timestamp)", datetime(2024, 2, 28, 10, 0)),
        ("SELECT timestamp with time zone 'now'", MOMENT),
        ("SELECT count(*)::int FROM items WHERE day < 'tomorrow'", 2),
        ("SELECT (day < 'now')::int FROM items WHERE id = 1", 0),
        ("SELECT 'today'", "today"),
        ("SELECT name = 'today' FROM items WHERE id = 1", False),
        ("SELECT 'it is ''now''' -- now()", "it is 'now'"),
        ("SELECT date_trunc('month', now())::date AS m FROM items GROUP BY date_trunc('month', now())", date(2024, 2, 1)),
        ("SELECT now FROM (SELECT now()) AS t", MOMENT),
        ('SELECT "current_date" FROM (SELECT current_date) AS t', DAY),
    ],
)
def test_postgres(postgres: Connection, sql: str, expected: Any) -> None:
    """What asks the time is rewritten, with the names of columns as they were; texts are times where the server takes them for some."""
    found = first(postgres, sql)
    assert found == expected
    assert type(found) is type(expected)


def test_a_clock_that_cannot_be_stopped_is_named(postgres: Connection) -> None:
    """A function of somebody else's with such a name, or a quoted one, is refused and not run on another clock.

    It is the statement's fault: who could leave an answer unjudged that way would choose what counts.
    """
    for sql in ('SELECT "now"()', "SELECT util.now()"):
        with pytest.raises(FaultError, match=r"the clock of now\(\)") as caught:
            first(postgres, sql)
        assert (caught.value.fault.code, caught.value.side) == ("NOT_FROZEN", "submission")


@pytest.mark.parametrize(
    ("engine", "sql"),
    [
        ("bigquery", "SELECT CURRENT_DATE(IF(CURRENT_TIMESTAMP > TIMESTAMP '2024-01-01', 'UTC', 'Asia/Tokyo'))"),
        ("postgres", "SELECT " + "now(" * 20_000),
    ],
)
def test_a_clock_within_a_clock_is_named(engine: str, sql: str) -> None:
    """What stands in the brackets of a call that asks the time would be run as it is; 100 KB of such calls are told as soon."""
    with pytest.raises(FaultError, match="inside another") as caught:
        freeze_statement(sql, engine, AT)
    assert caught.value.fault.code == "NOT_FROZEN"


@pytest.mark.parametrize(
    ("engine", "sql"),
    [("bigquery", "SELECT `CURRENT_DATE` ()"), ("snowflake", 'SELECT "CURRENT_DATE"()'), ("snowflake", "SELECT util.getdate()")],
)
def test_no_quoted_name_asks_another_clock(engine: str, sql: str) -> None:
    """What a server finds under a name in quotes or behind a dot is not rewritten, so it is refused, and nothing is kept of it."""
    with pytest.raises(FaultError, match="cannot be frozen"):
        freeze_statement(sql, engine, AT)
    assert reads_time(sql, engine)


@pytest.mark.parametrize(
    ("engine", "sql", "expected"),
    [
        ("bigquery", "SELECT '`current_date`()', (1)", None),
        ("bigquery", "SELECT CURRENT_DATE()", f"SELECT DATE(TIMESTAMP_SECONDS({AT}))"),
        ("bigquery", "SELECT current_date", f"SELECT DATE(TIMESTAMP_SECONDS({AT}))"),
        ("bigquery", "SELECT CURRENT_TIMESTAMP ( )", f"SELECT TIMESTAMP_SECONDS({AT})"),
        ("bigquery", "SELECT CURRENT_DATETIME('Asia/Tokyo')", f"SELECT DATETIME(TIMESTAMP_SECONDS({AT}), 'Asia/Tokyo')"),
        ("bigquery", "SELECT `current_date`, t.current_date, 'CURRENT_DATE()' # now", None),
        ("snowflake", "SELECT CURRENT_TIMESTAMP(3), SYSDATE()", f"SELECT TO_TIMESTAMP_LTZ({AT}), TO_TIMESTAMP_NTZ({AT})"),
        ("snowflake", "SELECT current_date - 1 AS getdate", f"SELECT TO_TIMESTAMP_LTZ({AT})::DATE - 1 AS getdate"),
        ("snowflake", "SELECT max(getdate) FROM t // getdate()", None),
        ("postgres", "SELECT known, snow() FROM now_and_then", None),
        ("postgres", "date 'today'", "date '2024-02-29'"),
        ("postgres", "SELECT 'today'::date, date 'tomorrow', 'now'", "SELECT '2024-02-29'::date, date '2024-03-01', 'now'"),
        ("sqlite", "SELECT date('now')", None),
    ],
)
def test_statements_are_rewritten_part_by_part(engine: str, sql: str, expected: str | None) -> None:
    """Names in quotes, behind a dot and after AS stay as they are, and so does every other byte."""
    assert freeze_statement(sql, engine, AT) == (sql if expected is None else expected)
    assert freeze_statement(sql, engine, 0) == sql


@pytest.mark.parametrize(
    ("engine", "sql", "expected"),
    [
        ("sqlite", "SELECT date('now')", True),
        ("sqlite", "SELECT strftime('%Y')", True),
        ("sqlite", "SELECT julianday( )", True),
        ("sqlite", "SELECT Current_Date", True),
        ("sqlite", "SELECT date(day), 'known' FROM t -- now", False),
        ("duckdb", "SELECT today()", True),
        ("duckdb", "SELECT age(day) FROM t", True),
        ("duckdb", "SELECT age(a, b), 'now' FROM t", False),
        ("postgres", "SELECT * FROM t WHERE day < 'today'", True),
        ("postgres", "SELECT now FROM t", False),
        ("bigquery", "SELECT CURRENT_DATETIME('Asia/Tokyo')", True),
        ("snowflake", "SELECT getdate FROM t", False),
        ("snowflake", "SELECT 'unclosed", False),
    ],
)
def test_who_asks_the_time(engine: str, sql: str, expected: bool) -> None:
    """A statement whose result moves with the clock is told by its text."""
    assert reads_time(sql, engine) is expected


def test_no_cache_serves_another_day(sqlite: Connection, tmp_path: Path) -> None:
    """A result is kept under its clock, and one that hangs on a clock that goes is not kept."""
    cache = ResultCache(tmp_path / "cache")

    def asked(limits: QueryLimits) -> Written:
        with contextlib.closing(open_session(sqlite, limits)) as session:
            return write_result(session, "SELECT date('now') AS day", sqlite, limits, tmp_path / "day.csv", cache=cache)

    for day in ("2024-02-29", "2024-03-01", "2024-02-29"):
        assert asked(QueryLimits(clock=clock_of(day))).place.read_text() == f"day\n{day}\n"
    assert asked(QueryLimits(clock=clock_of("2024-03-01"))).cost.cached
    asked(QueryLimits())
    assert not asked(QueryLimits()).cost.cached


def test_nothing_is_kept_of_a_database_whose_views_ask_the_time(sqlite: Connection, postgres: Connection, tmp_path: Path) -> None:
    """Its state cannot be told from its bytes, unless the clock stands still; a view or macro that asks nothing changes nothing."""
    import psycopg

    plain, moving = (str(tmp_path / f"{name}.duckdb") for name in ("plain", "moving"))
    for place, text in ((plain, "42"), (moving, "now()")):
        with opened(place) as writer:
            writer.execute(f"CREATE MACRO told() AS {text}")

    def state(connection: Connection, at: int = 0) -> str | None:
        with contextlib.closing(open_session(connection, QueryLimits(clock=at))) as session:
            return session.fingerprint()

    assert state(sqlite) is None
    assert state(sqlite, AT)
    assert state(Connection(name="p", engine="duckdb", database=plain))
    assert state(Connection(name="m", engine="duckdb", database=moving)) is None
    assert state(Connection(name="m", engine="duckdb", database=moving), AT)
    assert state(postgres)
    login = {key: postgres.options[key] for key in ("host", "port", "password")}
    with psycopg.connect(**login, user=postgres_server.OWNER, dbname="postgres", autocommit=True) as owner:
        for made, what in (
            ("VIEW lately AS SELECT current_date - 7 AS day", "VIEW lately"),
            ("FUNCTION of_late() RETURNS date LANGUAGE sql STABLE AS $$ SELECT now()::date - 7 $$", "FUNCTION of_late"),
            ("FUNCTION of_late() RETURNS date STABLE RETURN current_date - 7", "FUNCTION of_late"),
        ):
            owner.execute(f"CREATE {made}")
            try:
                assert state(postgres) is None
                assert state(postgres, AT) is None
            finally:
                owner.execute(f"DROP {what}")
            assert state(postgres)


def test_views_are_read_once_until_one_changes(postgres: Connection) -> None:
    """Sessions after one another read what views and functions say once, other writes or not; the first after a change reads them again."""
    import psycopg

    login = {key: postgres.options[key] for key in ("host", "port", "password")}
    role, shown = postgres.options["user"], list[bool]()
    with psycopg.connect(**login, user=postgres_server.OWNER, dbname="postgres", autocommit=True) as owner:
        data = owner.execute("SHOW data_directory").fetchone()
        assert data is not None
        log = Path(data[0]).parent / "log"
        if not os.access(log, os.R_OK):
            pytest.skip("the server's log cannot be read")

        def n_read() -> int:
            return log.read_text(encoding="utf-8", errors="replace").count("FROM pg_views")

        owner.execute(f"ALTER ROLE {role} SET log_statement = 'all'")
        try:
            with contextlib.closing(open_session(postgres, QueryLimits())) as kept:
                for change in (
                    "CREATE VIEW lately AS SELECT 1 AS a",
                    *("CREATE TABLE noise (a INTEGER)", "INSERT INTO noise VALUES (1)", "DROP TABLE noise"),
                    "CREATE OR REPLACE VIEW lately AS SELECT extract(day FROM now())::integer AS a",
                    "DROP VIEW lately",
                ):
                    owner.execute(change)
                    before = n_read()
                    shown.append(bool(kept.fingerprint()))
                    for _ in range(3):
                        with contextlib.closing(open_session(postgres, QueryLimits())) as session:
                            assert bool(session.fingerprint()) is shown[-1]
                    assert n_read() - before == (1 if "VIEW" in change else 0), change
        finally:
            owner.execute(f"ALTER ROLE {role} RESET log_statement")
            owner.execute("DROP VIEW IF EXISTS lately")
    assert shown == [True, True, True, True, False, True]
