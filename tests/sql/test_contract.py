"""What every engine keeps to, on real files, servers and clients; the CSV file of a result is the one that its typed table gives."""

import contextlib
import csv
import io
import json
import math
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsuite import evaluate
from evalsuite.core.errors import FaultError
from evalsuite.core.types import Fault, Table
from evalsuite.sql import ENGINES as TABLE
from evalsuite.sql import open_session
from evalsuite.sql.execution import ResultCache, ask, execute, run_answer, write_result
from evalsuite.sql.result_csv import CsvFile, CsvText
from evalsuite.sql.session import Connection, QueryLimits, Written, only_statement
from tests.cli.test_run import check, text_submission, write_gold
from tests.duckdb_files import opened
from tests.properties import examples, is_full
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
def test_only_a_select_within_limits(made: Made) -> None:
    """A fenced reply runs; one row, column or byte too many is a LIMIT; no other statement is run, and the session stays usable."""
    for name in ("rows", "columns", "held_bytes", "result_bytes"):
        limits = QueryLimits(**{"seconds": 60, name: 1})  # type: ignore[arg-type]
        with pytest.raises(FaultError) as caught:
            run_answer("SELECT id, name FROM items", made.connection, limits)
        assert caught.value.fault.code == "LIMIT", name
    reply = "Here it is:\n```sql\n-- the ids;\nSELECT id, ';' AS s /* ; */ FROM items\nORDER BY id; -- done\n```\nThat is all; good luck"
    table = run_answer(reply, made.connection, LIMITS)
    assert [list(column) for column in table.columns] == [[1, 2, 3], [";"] * 3]
    with contextlib.closing(open_session(made.connection, LIMITS)) as session:
        for text in NO_SELECT:
            with pytest.raises(FaultError) as caught:
                ask(session, only_statement(text, TABLE[made.engine].dialect), LIMITS)
            assert caught.value.fault.code == "SQL_NOT_ALLOWED", text
            rows = ask(session, "SELECT id FROM items ORDER BY id", LIMITS).table
            assert list(rows.columns[0]) == [1, 2, 3]


@running_engines
def test_cut_off_at_the_time_limit(made: Made) -> None:
    """An endless statement ends as TIMEOUT, and the connection's next statement runs."""
    assert refused(made.endless, made.connection, QueryLimits(seconds=0.1)) == "TIMEOUT"
    assert run_answer("SELECT 1 AS one", made.connection, LIMITS).columns[0][0] == 1


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
def test_the_file_is_the_typed_table(made: Made) -> None:
    """Every type with NULL and quotes, many rows and none: the file that the table gives, the same for each engine that is named."""
    with contextlib.closing(open_session(made.connection, LIMITS)) as session:
        assert made.engine[:4] in session.describe().lower()
    table = csv_form(run_answer("SELECT id, name, weight, day FROM items ORDER BY id", made.connection, LIMITS))
    assert table.types is None
    assert [list(column) for column in table.columns] == [
        ["1", "2", "3"],
        ["Zoë", "", ""],
        ["0.5", "", "-1.25"],
        ["2024-02-29", "", "1969-07-20"],
    ]
    for sql in (
        "SELECT * FROM items ORDER BY id",
        "SELECT id, name, day, stamp FROM items WHERE id > 100",
        "SELECT name FROM items ORDER BY id",
        "SELECT name AS \"a,b\", 'x\"y' AS q, 'two\nlines' AS l FROM items ORDER BY id -- done",
        made.series.format(n=2_500),
    ):
        assert written_bytes(sql, made.connection) == modelled(sql, made.connection), sql


FLOATS = (
    st.floats() | st.floats(1e-4, 1e15) | st.sampled_from([0.0, -0.0, -math.nan, 1e15, 1e16, 1e-4, 9e-5, 2.0**81, 1.07e243, 5e-324, 1e22])
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6) | st.sampled_from(
    ["", "a,b", 'q"q', "two\nlines", "a\rb", " ", "NULL", "2020-01-01 00:00:00", "inf"]
)
MOMENTS = st.datetimes() | st.dates().map(lambda day: datetime(day.year, day.month, day.day))
# How DuckDB gets the values of a type.
CELLS = {
    "BOOLEAN": st.booleans(),
    "TINYINT": st.integers(-128, 127),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "UBIGINT": st.integers(0, 2**64 - 1),
    "HUGEINT": st.integers(-(2**127), 2**127 - 1),
    "DOUBLE": FLOATS,
    "FLOAT": st.floats(width=32),
    "DECIMAL(12,3)": st.decimals(-(10**8), 10**8, places=3),
    "DECIMAL(38,38)": st.decimals(-1, 1, places=38).filter(lambda cell: abs(cell) < 1),
    "VARCHAR": TEXTS,
    "BLOB": st.binary(max_size=4),
    "DATE": st.dates().map(str) | st.sampled_from(["infinity", "-infinity", "10000-01-01", "0044-03-15 (BC)"]),
    "TIME": st.times().map(str) | st.just("24:00:00"),
    "TIMESTAMP": MOMENTS.map(str) | st.sampled_from(["infinity", "10000-01-01 00:00:00.5", "0044-03-15 (BC) 10:00:00"]),
    "TIMESTAMP_S": st.datetimes().map(lambda moment: str(moment.replace(microsecond=0))),
    "TIMESTAMP_MS": st.datetimes().map(lambda moment: str(moment.replace(microsecond=moment.microsecond // 1000 * 1000))),
    "TIMESTAMP_NS": st.sampled_from(["2020-01-01", "2020-01-01 00:00:00.123456789", "1999-12-31 23:59:59.5", "infinity"]),
    "TIMESTAMPTZ": MOMENTS.map(lambda moment: f"{moment}+00") | st.sampled_from(["2020-01-01 00:00:00+02", "infinity", "290000-01-01"]),
    "UUID": st.uuids().map(str),
    "INTERVAL": st.sampled_from(["3 days", "1 year 2 months", "-00:00:01.5"]),
    "ENUM('a,b', 'c')": st.sampled_from(["a,b", "c"]),
    "JSON": st.sampled_from(['{"a": [1, "x,y"]}', "null", "1.50"]),
    "INTEGER[]": st.lists(st.none() | st.integers(-9, 9), max_size=3),
}


# The same for PostgreSQL; some are none that Python holds.
POSTGRES_CELLS = {
    "int2": st.integers(-(2**15), 2**15 - 1),
    "int8": st.integers(-(2**63), 2**63 - 1),
    "oid": st.integers(0, 2**32 - 1),
    "float8": FLOATS.map(str),
    "float4": st.floats(width=32).map(str) | st.just("1234567"),
    "numeric": st.decimals(allow_nan=True, min_value=-(10**9), max_value=10**9).map(str) | st.sampled_from(["1e20", "1.500", "Infinity"]),
    "numeric(12,3)": st.decimals(-(10**8), 10**8, places=3).map(str),
    "text": TEXTS,
    "varchar(9)": TEXTS,
    "char(4)": st.sampled_from(["a", "a,b", "", "'"]),
    "bool": st.booleans(),
    "bytea": st.binary(max_size=4).map(lambda cell: f"\\x{cell.hex()}"),
    "date": st.dates().map(str) | st.sampled_from(["infinity", "10000-01-01", "0044-03-15 BC"]),
    "time": st.times().map(str) | st.just("24:00:00"),
    "timestamp": MOMENTS.map(str) | st.sampled_from(["infinity", "10000-01-01", "0044-03-15 10:00:00 BC"]),
    "timestamptz": MOMENTS.map(lambda moment: f"{moment}+00") | st.sampled_from(["2020-01-01 00:00:00+02", "-infinity"]),
    "timetz": st.just("10:00:00.5+02"),
    "interval": st.sampled_from(["3 days", "1 year 2 months", "-00:00:01.5"]),
    "uuid": st.uuids().map(str),
    "json": st.sampled_from(['{"a": [1, "x,y"]}', "1.50"]),
    "jsonb": st.sampled_from(['{"a": [1, "x,y"]}', "1.50"]),
    "int4[]": st.sampled_from(["{1,NULL,2}", "{}"]),
    "inet": st.just("10.0.0.1/24"),
    "numrange": st.just("[1.5,2)"),
}


def modelled(sql: str, connection: Connection) -> bytes:
    """The CSV text of a statement's typed table: what every file of a result has to be."""
    table = csv_form(execute(sql, connection, LIMITS).table, in_hex=connection.engine in {"duckdb", "postgres"})
    block = io.StringIO()
    csv.writer(block, lineterminator="\n").writerows([table.header, *zip(*table.columns, strict=True)])
    return block.getvalue().encode("utf-8", "backslashreplace")


def written_bytes(sql: str, connection: Connection, limits: QueryLimits = LIMITS) -> bytes:
    """The file that a run would have of it."""
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(open_session(connection, limits)) as session:
        found = write_result(session, sql, connection, limits, Path(folder) / "made" / "result.csv")
        return found.place.read_bytes()


@pytest.mark.parametrize("made", ["duckdb", "postgres"], indirect=True)
def test_moments_at_midnight_show_days(made: Made) -> None:
    """A column whose moments all lie on midnight shows days, as the table does; texts that look like one and the header stay."""
    stamp = "2024-02-29 00:00:00"
    sql = f"SELECT {{first}} AS a, TIMESTAMP '{stamp}' AS \"b 00:00:00\", 'c,\n 00:00:00' AS c, '{stamp}' AS d, NULL AS e"
    for first, shown in (("TIMESTAMP '2024-02-29 10:00:00.5'", b"2024-02-29 10:00:00.500000"), ("CAST(NULL AS TIMESTAMP)", b"")):
        asked = f"{sql.format(first=first)} UNION ALL {sql.format(first=first)}"
        assert written_bytes(asked, made.connection) == modelled(asked, made.connection)
        assert written_bytes(asked, made.connection).endswith(shown + b',2024-02-29,"c,\n 00:00:00",2024-02-29 00:00:00,\n')


@settings(max_examples=1000 if is_full() else 4, deadline=None)
@given(data=st.data())
def test_duckdb_writes_what_python_would(data: st.DataObject) -> None:
    """Columns of any types, NULL among them, come out of DuckDB's own text byte by byte as from Python's cells."""
    types = data.draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=12))
    rows = data.draw(st.lists(st.tuples(*(st.none() | CELLS[type_] for type_ in types)), max_size=6))
    with tempfile.TemporaryDirectory() as folder:
        connection = Connection(name="base", engine="duckdb", database=f"{folder}/base.duckdb")
        with opened(connection.database) as writer:
            writer.execute(f"CREATE TABLE t ({', '.join(f'c{i} {type_}' for i, type_ in enumerate(types))})")
            for row in rows:
                writer.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(types))})", row)
        with contextlib.closing(open_session(connection, LIMITS)) as session:
            assert (session.stream("SELECT * FROM t", as_text=True).lines is None) == ("DECIMAL(38,38)" in types)
        assert written_bytes("SELECT * FROM t", connection) == modelled("SELECT * FROM t", connection)


def outcome(of: Callable[[str, Connection], bytes], sql: str, connection: Connection) -> bytes | Fault:
    """The text of a result, or the fault that there is instead."""
    try:
        return of(sql, connection)
    except FaultError as error:
        return error.fault


@settings(max_examples=2000 if is_full() else 20, deadline=None)
@given(data=st.data())
def test_postgres_writes_what_python_would(postgres: Connection, data: st.DataObject) -> None:
    """Columns of any types come out of the server's own text byte by byte as from psycopg's cells, or end in the same fault."""
    types = data.draw(st.lists(st.sampled_from(sorted(POSTGRES_CELLS)), min_size=1, max_size=6))
    rows = data.draw(st.lists(st.tuples(*(st.none() | POSTGRES_CELLS[type_] for type_ in types)), min_size=1, max_size=6))

    def literal(cell: Any, type_: str) -> str:
        quoted = "NULL" if cell is None else "'" + str(cell).replace("'", "''") + "'"
        return f"{quoted}::{type_}"

    values = ", ".join(f"({', '.join(map(literal, row, types))})" for row in rows)
    sql = f"SELECT * FROM (VALUES {values}) AS t"
    assert outcome(written_bytes, sql, postgres) == outcome(modelled, sql, postgres)


def test_floats_in_a_later_batch(tmp_path: Path) -> None:
    """Of many rows the few whose floats Python has to write are written by it, in each batch of DuckDB's; NaN has no sign."""
    with opened(tmp_path / "f.duckdb"):
        pass
    connection = Connection(name="f", engine="duckdb", database=str(tmp_path / "f.duckdb"))
    sql = "SELECT i % 2 AS a, CASE WHEN i % 99999 = 31500 THEN 1.07e243 END AS x FROM range(131500) AS r(i)"
    assert written_bytes(sql, connection) == b"a,x\n" + b"".join(
        b"%d,%s\n" % (i % 2, b"1.07e+243" if i % 99999 == 31500 else b"") for i in range(131_500)
    )
    nan = "CAST('nan' AS DOUBLE)"
    assert written_bytes(f"SELECT {nan} AS a, -{nan} AS b, CAST(-{nan} AS FLOAT) AS c", connection) == b"a,b,c\nnan,nan,nan\n"


@pytest.mark.parametrize("made", ["duckdb", "sqlite", "postgres"], indirect=True)
def test_what_goes_wrong_leaves_no_file(made: Made, tmp_path: Path) -> None:
    """A fault in the middle of a result, an endless statement, one row, column or byte too many: a fault of its kind, and no file."""
    bad = {
        "duckdb": "SELECT CAST(CASE WHEN i = 132000 THEN 'x' ELSE '1' END AS INTEGER) FROM range(132001) AS r(i)",
        "sqlite": f"{made.series.format(n=9000).partition('SELECT i, ')[0]}SELECT abs(-9223372036854775807 - (i = 9000)) FROM s",
        "postgres": "SELECT 1 / (9000 - i) FROM generate_series(1, 9000) AS t(i)",
    }
    asked = {name: ("SELECT id, name FROM items", QueryLimits(**{"seconds": 60, name: 1})) for name in ("rows", "columns", "result_bytes")}
    asked |= {"value": (bad[made.kind], LIMITS), "endless": (made.endless, QueryLimits(seconds=0.1))}
    codes = {}
    for name, (sql, limits) in asked.items():
        taken = TimeTaken()
        with contextlib.closing(open_session(made.connection, limits)) as session, pytest.raises(FaultError) as caught:
            write_result(session, sql, made.connection, limits, tmp_path / "result.csv")
        codes[name] = taken.code_of(caught.value.fault, limits.seconds)
        assert not list(tmp_path.glob("result*"))
    assert codes == {"rows": "LIMIT", "columns": "LIMIT", "result_bytes": "LIMIT", "value": "SQL_ERROR", "endless": "TIMEOUT"}


# What an engine gives as text in a column of moments: those that a calendar of Python does not have.
BEYOND = st.sampled_from(["infinity", "-infinity", "0044-03-15 00:00:00 (BC)", "10000-01-01 00:00:00"])
CHUNKS = st.lists(
    st.lists(
        st.tuples(
            st.none() | MOMENTS | BEYOND,
            st.none() | TEXTS | st.integers() | FLOATS | st.binary(max_size=3) | st.booleans() | st.decimals() | st.uuids() | st.times(),
        ),
        max_size=4,
    ),
    max_size=4,
)


@examples(60)
@given(chunks=CHUNKS, in_hex=st.booleans())
def test_chunks_are_the_table(chunks: list[list[tuple[object, ...]]], in_hex: bool) -> None:
    """However a result comes in chunks, its file is the one of the whole table, whose moments show days where all lie on midnight."""
    rows = [row for chunk in chunks for row in chunk]
    types = ("TIMESTAMP", "VARCHAR")
    columns = tuple(map(list, zip(*rows, strict=True))) if rows else ([], [])
    table = csv_form(Table(header=("a 00:00:00", "b"), columns=columns, n_rows=len(rows), types=types), in_hex=in_hex)
    block = io.StringIO()
    csv.writer(block, lineterminator="\n").writerows([table.header, *zip(*table.columns, strict=True)])
    with tempfile.TemporaryDirectory() as folder:
        with CsvFile(Path(folder) / "x.csv", table.header, LIMITS) as file:
            text = CsvText(types, file.add, in_hex=in_hex)
            for chunk in chunks:
                text.add(chunk)
            file.show_days(text.days)
        assert (Path(folder) / "x.csv").read_bytes() == block.getvalue().encode("utf-8", "backslashreplace")
        assert (file.n_rows, len(list(Path(folder).iterdir()))) == (len(rows), 1)


QUERY = "SELECT sum(weight) + 1 FROM items"
# parameters, answer, what it is worth; the query gives 0.25.
NUMBERS: tuple[tuple[dict[str, Any], str, float], ...] = (
    ({}, "It is 0.25", 1),
    ({}, "It is 0.26", 0),
    ({}, "It is 25", 0),
    ({"percentage": True}, "It is 25", 1),
    ({"percentage": True}, "It is 26", 0),
    ({"precision": 1}, "It is 0.3", 1),
    ({"precision": 2}, "It is 0.3", 0),
    ({"percentage": True, "precision": 1}, "It is 25.05", 1),
    ({"exclude": ["about"]}, "It is about 0.25", 0),
)


@pytest.mark.parametrize("made", ["duckdb", pytest.param("folder", marks=pytest.mark.slow), "sqlite", "postgres"], indirect=True)
@pytest.mark.usefixtures("shared_fork_server")
def test_scores_on_every_engine(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With nothing but `"parameters": {}`, and with percentage and precision too, answers are right and wrong under both rules."""
    monkeypatch.chdir(tmp_path)
    gold, submission = tmp_path / "gold", tmp_path / "handed_in"
    ids = [f"q{at}" for at in range(len(NUMBERS))]
    for id_ in ids:
        (gold / id_).mkdir(parents=True)
        (gold / id_ / "gold.sql").write_text(QUERY)
    write_gold(gold, **{id_: check("number_match", **case[0]) | {"temporal": True} for id_, case in zip(ids, NUMBERS, strict=True)})
    text_submission(submission, **{id_: case[1] for id_, case in zip(ids, NUMBERS, strict=True)})
    connection = {"engine": made.engine, "database": made.connection.database, "prefix": "q", **made.connection.options}
    (tmp_path / "connections.yaml").write_text(json.dumps({"house": connection}))
    run = evaluate(submission, gold, save=False, jobs=1)
    worth = [case[2] for case in NUMBERS]
    assert [(result.official, result.strict) for result in run.results] == [(value, value) for value in worth]
