"""What every engine keeps to, on real files, a real PostgreSQL server, and the real clients of the two warehouses."""

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest

from evalsuite.core.errors import FaultError
from evalsuite.sql import ENGINES as TABLE
from evalsuite.sql import open_session
from evalsuite.sql.execution import ResultCache, ask, run_answer, write_result
from evalsuite.sql.session import Connection, QueryLimits, Written, only_statement
from tests.sql.conftest import ENGINES, OWN_ENGINES, Made, TimeTaken
from tests.sql.csv_model import csv_form

LIMITS = QueryLimits(seconds=60)
every_engine = pytest.mark.parametrize("made", ENGINES, indirect=True)
own_engines = pytest.mark.parametrize("made", OWN_ENGINES, indirect=True)
# Engines that really run statements at their own pace, and so can be cut off.
running_engines = pytest.mark.parametrize("made", [name for name in OWN_ENGINES if name != "snowflake"], indirect=True)


NO_SELECT = (
    *("DELETE FROM items", "INSERT INTO items (id) VALUES (4)", "UPDATE items SET id = 7", "DROP TABLE items"),
    *("CREATE TABLE other (a INTEGER)", "SELECT 1; DELETE FROM items", "SELECT 1; SELECT 2", "/* SELECT */ DELETE FROM items -- SELECT"),
    *("EXPLAIN SELECT 1", "BEGIN", "SET x = 1"),
)


def refused(text: str, connection: Connection, limits: QueryLimits = LIMITS) -> str:
    """The code of the fault a text ends in (see `TimeTaken`)."""
    taken = TimeTaken()
    with pytest.raises(FaultError) as caught:
        run_answer(text, connection, limits)
    return taken.code_of(caught.value.fault, limits.seconds)


def written(sql: str, made: Made, place: Path, cache: ResultCache | None = None, limits: QueryLimits = LIMITS) -> Written:
    """The file of a statement's result."""
    with contextlib.closing(open_session(made.connection, limits)) as session:
        return write_result(session, sql, made.connection, limits, place, cache=cache)


@own_engines
def test_limits_of_size(made: Made) -> None:
    """One row, column or byte too many is a LIMIT; the result is not cut short in silence."""
    for name in ("rows", "columns", "held_bytes", "result_bytes"):
        limits = QueryLimits(**{"seconds": 60, name: 1})  # type: ignore[arg-type]
        with pytest.raises(FaultError) as caught:
            run_answer("SELECT id, name FROM items", made.connection, limits)
        assert caught.value.fault.code == "LIMIT", name


@running_engines
def test_cut_off_at_the_time_limit(made: Made) -> None:
    """An endless statement ends as TIMEOUT, and the connection's next statement runs."""
    assert refused(made.endless, made.connection, QueryLimits(seconds=0.1)) == "TIMEOUT"
    assert run_answer("SELECT 1 AS one", made.connection, LIMITS).columns[0][0] == 1


@own_engines
def test_only_a_select(made: Made) -> None:
    """Whatever is no single SELECT is refused, the session stays usable, and the rows are as they were."""
    with contextlib.closing(open_session(made.connection, LIMITS)) as session:
        for text in NO_SELECT:
            with pytest.raises(FaultError) as caught:
                ask(session, only_statement(text, TABLE[made.engine].dialect), LIMITS)
            assert caught.value.fault.code == "SQL_NOT_ALLOWED", text
            rows = ask(session, "SELECT id FROM items ORDER BY id", LIMITS).table
            assert list(rows.columns[0]) == [1, 2, 3]


@pytest.mark.parametrize("made", ["sqlite", "duckdb"], indirect=True)
def test_a_sign_of_a_word_processor_is_named(made: Made) -> None:
    """Outside of quotes and comments only, and not the spaces that DuckDB reads."""
    for text, sign in (
        ("SELECT id FROM items\uff1b", "U+FF1B, fullwidth semicolon"),
        ("SELECT id FROM items WHERE name = \u2018x\u2019", "U+2018, left single quotation mark"),
        ("SELECT\u00a0idd FROM items", "" if made.connection.engine == "duckdb" else "U+00A0, no-break space"),
        ("SELECT '\u00a0', \u00fcber FROM items -- \u2018", ""),
    ):
        with pytest.raises(FaultError) as caught:
            run_answer(text, made.connection, LIMITS)
        assert caught.value.fault.detail.partition("; outside of quotes it has ")[2] == sign


@own_engines
def test_fenced_with_comments(made: Made) -> None:
    """A model's whole reply runs: prose around a fence, comments, a closing semicolon, a quoted one inside."""
    reply = "Here it is:\n```sql\n-- the ids;\nSELECT id, ';' AS s /* ; */ FROM items\nORDER BY id; -- done\n```\nThat is all; good luck"
    table = run_answer(reply, made.connection, LIMITS)
    assert [list(column) for column in table.columns] == [[1, 2, 3], [";"] * 3]


@pytest.mark.parametrize("made", ["duckdb", "folder", "sqlite", "postgres"], indirect=True)
def test_kept_results(made: Made, tmp_path: Path) -> None:
    """The same statement on the same data is not run again; it is told by the cost, and the file is the same."""
    cache, sql = ResultCache(tmp_path / "cache"), "SELECT * FROM items ORDER BY id"
    first = written(sql, made, tmp_path / "first.csv", cache)
    # A server also writes of its own accord, and then it cannot say that nothing has changed: soon it can.
    tries = range(5 if made.kind == "postgres" else 1)
    second = next(found for n in tries if (found := written(sql, made, tmp_path / f"{n}.csv", cache)).cost.cached)
    assert not first.cost.cached
    assert (second.header, second.place.read_bytes()) == (first.header, first.place.read_bytes())
    with pytest.raises(FaultError, match="limit rows"):
        written(sql, made, tmp_path / "last.csv", cache, QueryLimits(rows=2))
    # A result that other code, or another version of an embedded engine, wrote is not used.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evalsuite.sql.execution.code_stamp", lambda: "other")
        assert not written(sql, made, tmp_path / "last.csv", ResultCache(tmp_path / "cache")).cost.cached
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evalsuite.sql.duckdb.duckdb.__version__", "0.1")
        patch.setattr("sqlite3.sqlite_version", "3.0")
        assert written(sql, made, tmp_path / "last.csv", cache).cost.cached is (made.kind == "postgres")


@pytest.mark.parametrize("made", ["snowflake", "bigquery"], indirect=True)
def test_warehouses_are_kept_under_a_version(made: Made, tmp_path: Path) -> None:
    """A warehouse cannot say that nothing has changed: results are kept only where a person names the state of the data."""
    cache = ResultCache(tmp_path / "cache")
    for version, cached in ((None, [False, False]), ("may", [False, True]), ("june", [False, True])):
        options = {**made.connection.options, **({"version": version} if version else {})}
        connection = Connection(name="made", engine=made.engine, database=made.connection.database, options=options)
        versioned = replace(made, connection=connection)
        assert [written("SELECT id FROM items", versioned, tmp_path / "x.csv", cache).cost.cached for _ in range(2)] == cached


@every_engine
def test_describe(made: Made) -> None:
    """A session names its engine."""
    with contextlib.closing(open_session(made.connection, LIMITS)) as session:
        assert made.engine[:4] in session.describe().lower()


@every_engine
def test_csv_form(made: Made) -> None:
    """As text the table is what a CSV file of it would hold, whatever the engine, but for what SQLite has no type for."""
    table = csv_form(run_answer("SELECT id, name, weight, day FROM items ORDER BY id", made.connection, LIMITS))
    assert table.types is None
    assert [list(column) for column in table.columns] == [
        ["1", "2", "3"],
        ["Zoë", "", ""],
        ["0.5", "", "-1.25"],
        ["2024-02-29", "", "1969-07-20"],
    ]
