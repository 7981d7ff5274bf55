"""One small database behind every engine: the same rows in each, written in the engine's own SQL."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from evalsuite.core.types import Fault
from evalsuite.sandbox.limits import WALL_TIMES
from evalsuite.sql.session import Connection
from tests.duckdb_files import opened
from tests.sql import bigquery_stub, postgres_server
from tests.sql.bigquery_stub import Stub

ENGINES = ("duckdb", "folder", "sqlite", "postgres", "snowflake", "bigquery")
# Of a folder the engine is DuckDB.
OWN_ENGINES = tuple(name for name in ENGINES if name != "folder")
COLUMNS = ("id", "name", "price", "weight", "sold", "day", "stamp", "moment", "raw")
ROWS = """
 (1, 'Zoë', 10.50, 0.5, true, DATE '2024-02-29', TIMESTAMP '2024-02-29 23:59:59.25', {zone} '2024-02-29 23:00:00-02:00', {raw}),
 (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
 (3, '', 12345678.90, -1.25, false, DATE '1969-07-20', TIMESTAMP '1969-07-20 20:17:40', {zone} '1969-07-20 20:17:40+00:00', NULL)
"""


@dataclass(frozen=True)
class Made:
    """A connection to the database, and how its engine writes what differs."""

    kind: str
    connection: Connection
    series: str
    endless: str

    @property
    def engine(self) -> str:
        """The engine's name."""
        return self.connection.engine


class TimeTaken:
    """The CPU time of this process and the time on the wall, from when it is made."""

    def __init__(self) -> None:
        self._cpu, self._wall = time.process_time(), time.monotonic()

    def code_of(self, fault: Fault, seconds: float) -> str:
        """The code of a fault; TIMEOUT too for a LIMIT where the machine gave less CPU time than the limit in many times as long.

        A statement that had its seconds is TIMEOUT on a busy machine as on a quiet one: its own CPU time counts.
        """
        cpu, wall = time.process_time() - self._cpu, time.monotonic() - self._wall
        # What is stopped goes on for a moment, and what came before the statement took CPU time too.
        is_starved = cpu < 2 * seconds and wall >= WALL_TIMES * seconds
        return "TIMEOUT" if fault.code == "LIMIT" and is_starved else fault.code


def _create(zone: str, raw: str, types: str) -> list[str]:
    return [f"CREATE TABLE items ({types})", f"INSERT INTO items VALUES {ROWS.format(zone=zone, raw=raw)}"]


_STANDARD = (
    "id INTEGER, name VARCHAR, price DECIMAL(10,2), weight {double}, sold BOOLEAN, day DATE, stamp TIMESTAMP, moment {zone}, raw {raw}"
)
DUCKDB_SETUP = _create("TIMESTAMPTZ", "'\\x00\\xFF'::BLOB", _STANDARD.format(double="DOUBLE", zone="TIMESTAMPTZ", raw="BLOB"))
_RECURSIVE = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT count(*) AS x FROM r"


def _duckdb(place: Path, kind: str) -> Made:
    file = place / "items.duckdb"
    with opened(file) as writer:
        for statement in DUCKDB_SETUP:
            writer.execute(statement)
        if kind == "folder":
            writer.execute("SET TimeZone = 'UTC'")
            (place / "tables").mkdir()
            writer.execute(f"COPY items TO '{place}/tables/items.parquet'")
            file = place / "tables"
    connection = Connection(name="made", engine="duckdb", database=str(file))
    return Made(kind, connection, "SELECT i, 'row ' || i AS label FROM range(1, {n} + 1) AS t(i) ORDER BY i", _RECURSIVE)


def _sqlite(place: Path) -> Made:
    file = place / "items.sqlite"
    writer = sqlite3.connect(file)
    writer.execute("CREATE TABLE items (id, name, price, weight, sold, day, stamp, moment, raw)")
    # SQLite has integers, floats, texts and bytes: what the others have beyond those, its users write as text or numbers.
    rows = [
        (1, "Zoë", 10.50, 0.5, 1, "2024-02-29", "2024-02-29 23:59:59.25", "2024-03-01 01:00:00+00:00", b"\x00\xff"),
        (2, *[None] * 8),
        (3, "", 12345678.90, -1.25, 0, "1969-07-20", "1969-07-20 20:17:40", "1969-07-20 20:17:40+00:00", None),
    ]
    writer.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    writer.commit()
    writer.close()
    series = (
        "WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < {n}) SELECT i, 'row ' || i AS label FROM s ORDER BY i"
    )
    return Made("sqlite", Connection(name="made", engine="sqlite", database=str(file)), series, _RECURSIVE)


def made_lite(tmp_path: Path, connection_line: str) -> list[str]:
    """A folder of two questions on a server, their gold, and two answers that are queries; the words of a run of them."""
    gold = tmp_path / "gold"
    (gold / "exec_result").mkdir(parents=True)
    specs = [{"instance_id": f"q{n}", "condition_cols": [], "ignore_order": True} for n in (1, 2)]
    (gold / "made_eval.jsonl").write_text("".join(json.dumps(spec) + "\n" for spec in specs))
    for n in (1, 2):
        (gold / "exec_result" / f"q{n}.csv").write_text("n\n3\n")
    (gold / "connections.yaml").write_text(connection_line)
    answers = tmp_path / "answers"
    answers.mkdir()
    (answers / "q1.sql").write_text("SELECT count(*) AS n FROM items")
    (answers / "q2.sql").write_text("SELECT max(id) + 1 AS n FROM items")
    return ["run", str(answers), "--gold", str(gold), "--layout", "lite", "--mode", "sql", "--out", str(tmp_path / "out"), "--no-cache"]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Connection]:
    """A connection to the tests' own server, as a role that may only read."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed (pip install 'evalsuite[postgres]')")
    with postgres_server.server() as port:
        login = {"host": "127.0.0.1", "port": port, "password": postgres_server.PASSWORD}
        with psycopg.connect(**login, user=postgres_server.OWNER, dbname="postgres", autocommit=True) as owner:
            types = _STANDARD.format(double="DOUBLE PRECISION", zone="TIMESTAMPTZ", raw="BYTEA")
            for statement in _create("TIMESTAMPTZ", "'\\x00ff'::BYTEA", types):
                owner.execute(statement)
            # A reader that could write: read-only must come from us, not from its rights.
            owner.execute(f"CREATE ROLE {postgres_server.READER} LOGIN PASSWORD '{postgres_server.PASSWORD}'")
            owner.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {postgres_server.READER}")
            owner.execute(f"GRANT CREATE ON SCHEMA public TO {postgres_server.READER}")
        yield Connection(name="made", engine="postgres", database="postgres", options={**login, "user": postgres_server.READER})


@pytest.fixture
def stub() -> Iterator[Stub]:
    """The loopback stub of BigQuery's service, with the same rows."""
    pytest.importorskip("google.cloud.bigquery", reason="the client is not installed (pip install 'evalsuite[bigquery]')")
    with bigquery_stub.serving(DUCKDB_SETUP) as running:
        yield running


@pytest.fixture
def snowflake() -> Iterator[Connection]:
    """A connection through Snowflake's connector, answered by fakesnow in this process."""
    fakesnow = pytest.importorskip("fakesnow", reason="fakesnow is not installed (pip install 'evalsuite[test]')")
    import snowflake.connector

    with fakesnow.patch():
        types = _STANDARD.format(double="DOUBLE", zone="TIMESTAMP_TZ", raw="BINARY").replace("stamp TIMESTAMP", "stamp TIMESTAMP_NTZ")
        with snowflake.connector.connect(database="db", schema="public") as writer:
            for statement in _create("", "NULL", types):
                writer.cursor().execute(statement.replace(" DATE '", " '").replace(" TIMESTAMP '", " '"))
        options = {"account": "acme-1", "user": "reader", "password": "hidden", "schema": "public"}
        yield Connection(name="made", engine="snowflake", database="db", options=options)


@pytest.fixture
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    """The database behind the engine that the test's parameter names."""
    kind = request.param
    makers: dict[str, Callable[[], Made]] = {
        "duckdb": lambda: _duckdb(tmp_path, "duckdb"),
        "folder": lambda: _duckdb(tmp_path, "folder"),
        "sqlite": lambda: _sqlite(tmp_path),
    }
    if kind in makers:
        return makers[kind]()
    if kind == "bigquery":
        running: Stub = request.getfixturevalue("stub")
        connection = Connection(name="made", engine=kind, options={"project": "p", "endpoint": running.url})
        return Made(kind, connection, "SELECT i, 'row ' || i AS label FROM range(1, {n} + 1) AS t(i) ORDER BY i", "SELECT 'endless' AS x")
    connection = request.getfixturevalue(kind)
    series = "SELECT i, 'row ' || i AS label FROM generate_series(1, {n}) AS t(i) ORDER BY i"
    if kind == "snowflake":
        series = "SELECT seq4() + 1 AS i, 'row ' || (seq4() + 1) AS label FROM TABLE(GENERATOR(ROWCOUNT => {n})) ORDER BY 1"
    return Made(kind, connection, series, _RECURSIVE)
