"""Statements that try to get out of an embedded engine, each run in a process of its own that can be killed."""

import contextlib
import hashlib
import multiprocessing
import resource
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from evalsuite.core.errors import FaultError
from evalsuite.sandbox.limits import WALL_TIMES
from evalsuite.sql import frozen_clock, open_session, sqlite
from evalsuite.sql.execution import run_answer
from evalsuite.sql.session import Connection, QueryLimits
from tests.duckdb_files import opened
from tests.sql.conftest import DUCKDB_SETUP, Made, TimeTaken

CANARY = "CANARY_51c2"
ALLOWED, ERROR, LIMIT, TIMEOUT = "SQL_NOT_ALLOWED", "SQL_ERROR", "LIMIT", "TIMEOUT"
BOTH: list[tuple[str, set[str]]] = [
    ("attach '{gold}' as g", {ALLOWED}),
    ("delete from items", {ALLOWED}),
    ("select 1; drop table items", {ALLOWED}),
    ("with recursive r(i) as (select 1 union all select i + 1 from r) select count(*) x from r", {TIMEOUT}),
    ("pragma database_list", {ALLOWED}),
    ("select " + "(" * 5000 + "1" + ")" * 5000, {ERROR}),
    ("-- nothing", {ERROR}),
    ("vacuum into '{out}'", {ALLOWED}),
    ("vacuum", {ALLOWED}),
    ("explain select 1", {ALLOWED}),
    ("select * from items where name = '" + "x" * 200_000 + "'", {ERROR}),
    ("```sql\nselect 1\n```\n```sql\nselect 2\n```", {ALLOWED}),
]
SQLITE: list[tuple[str, set[str]]] = [
    ("select load_extension('/tmp/x')", {ALLOWED}),
    ("select writefile('{out}', 'x')", {ALLOWED, ERROR}),
    ("select readfile('{gold}')", {ALLOWED, ERROR}),
    ("select randomblob(2000000000)", {ERROR, LIMIT}),
    ("select printf('%.*c', 100000000, 'x')", {TIMEOUT, ERROR, LIMIT, "killed"}),
    ("select group_concat(hex(zeroblob(4000000))) from items a, items b, items c, items d", {TIMEOUT, ERROR, LIMIT}),
    ("select * from pragma_database_list", {ALLOWED}),
    ("select * from pragma_optimize(65535)", {ALLOWED}),
    ("select file from items, pragma_database_list", {ALLOWED}),
    ("with x as (select 1) update sqlite_master set sql = 'x'", {ALLOWED}),
    ("with x as (select 1) delete from sqlite_master", {ALLOWED}),
    ("with x as (select 1) delete from items returning *", {ALLOWED}),
    ("describe items", {ALLOWED}),
    ("select key from json_each(readfile('{gold}'))", {ALLOWED, ERROR}),
    ("select * from sqlite_master; attach 'x' as y", {ALLOWED}),
    ("with x as (select 1) insert into items (id) select * from x", {ALLOWED}),
    ("values (1); pragma query_only = 0", {ALLOWED}),
    ("select " + "+".join(["1"] * 5000), {ERROR}),
]
DUCKDB: list[tuple[str, set[str]]] = [
    ("copy (select 1) to '{out}'", {ALLOWED}),
    ("select * from read_csv('{gold}')", {ALLOWED}),
    ("select * from read_text('{gold}')", {ALLOWED}),
    ("select * from read_blob('{gold}')", {ALLOWED}),
    ("select * from glob('{gold}')", {ALLOWED}),
    ("select * from '{gold}'", {ALLOWED}),
    ("from '{gold}'", {ALLOWED}),
    ("select * from query('select * from read_text(''{gold}'')')", {ALLOWED}),
    ("select * from query_table('{gold}')", {ALLOWED, ERROR}),
    ("select * from (select * from '{gold}') where 1 = 0", {ALLOWED}),
    ("select * from parquet_metadata('{gold}')", {ALLOWED}),
    ("select * from read_duckdb('{other}')", {ALLOWED, ERROR}),
    ("select * from read_json('{gold}')", {ALLOWED}),
    ("select * from sniff_csv('{gold}')", {ALLOWED}),
    ("select * from duckdb_secrets()", {ALLOWED}),
    ("select * from sqlite_scan('{gold}', 't')", {ALLOWED}),
    ("select * from read_csv('http://127.0.0.1:9/x.csv')", {ALLOWED, ERROR}),
    ("set enable_external_access = true", {ALLOWED}),
    ("install httpfs", {ALLOWED}),
    ("load httpfs", {ALLOWED}),
    ("describe '{gold}'", {ALLOWED}),
    ("describe select * from read_csv('{gold}')", {ALLOWED}),
    ("summarize '{gold}'", {ALLOWED}),
    ("summarize select * from read_text('{gold}')", {ALLOWED}),
    ("summarize 'http://127.0.0.1:9/x.csv'", {ALLOWED, ERROR}),
    ("from (describe '{gold}')", {ALLOWED}),
    ("show tables from '{other}'", {ALLOWED, ERROR}),
    ("describe delete from items", {ALLOWED, ERROR}),
    ("from (summarize (with x as (delete from items returning *) from x))", {ALLOWED}),
    ("pivot '{gold}' on x using count(*)", {ALLOWED}),
    ("pivot (from read_csv('{gold}')) on x using count(*)", {ALLOWED}),
    ("unpivot '{gold}' on x", {ALLOWED}),
    ("with p as (pivot items on name using sum(price)) delete from items", {ALLOWED}),
    ("with p as (pivot items on name using sum(price)) insert into items (id) select 1 from p", {ALLOWED}),
    ("with p as (pivot items on name using sum(price)) copy p to '{out}'", {ALLOWED, ERROR}),
    ("with p as (pivot items on name using sum(price)), d as (delete from items returning id) select * from p, d", {ALLOWED}),
    ("pivot (with d as (update items set id = 7 returning *) from d) on name using sum(price)", {ALLOWED}),
    ("create table new as pivot items on name using sum(price)", {ALLOWED}),
    ("explain pivot items on name using sum(price)", {ALLOWED}),
    ("pivot items on name using sum(price); drop table items", {ALLOWED}),
    ("from enable_logging(storage = 'file', storage_path = '{out}')", {ALLOWED, ERROR}),
    ("from enable_profiling(save_location = '{out}')", {ALLOWED, ERROR}),
    ("with x as (insert into items (id) values (9) returning id) select * from x", {ALLOWED}),
    ("with x as (delete from items returning id) select * from x", {ALLOWED}),
    ("select 1) as answer(c0); copy (select 1", {ALLOWED, ERROR}),
    ("select 1) as t(c0), (select 2", {ERROR}),
    ("select list_sort(range(200000000)) x", {LIMIT, TIMEOUT, "killed"}),
    ("select repeat('x', 2000000000)", {LIMIT, TIMEOUT, ERROR, "killed"}),
    ("select * from gold_df", {ERROR}),
]


def _serve(pipe: Any) -> None:
    """A worker: statements in, codes or texts of cells out."""
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    gold_df = CANARY  # noqa: F841  a name that a replacement scan would find
    while job := pipe.recv():
        connection, text, limits = job
        taken = TimeTaken()
        try:
            table = run_answer(text, connection, limits)
            pipe.send(("done", str([list(column) for column in table.columns])))
        except FaultError as error:
            pipe.send((taken.code_of(error.fault, limits.seconds), error.fault.detail))


class Worker:
    """A process that is replaced when it has to be killed."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other,), daemon=True)
        self._process.start()
        other.close()

    def run(self, connection: Connection, text: str, limits: QueryLimits) -> tuple[str, str]:
        """(code or `done`, text), `killed` half a minute after what the time limit may last on a busy machine, or a death."""
        self._pipe.send((connection, text, limits))
        try:
            if self._pipe.poll(WALL_TIMES * limits.seconds + 30):
                answer: tuple[str, str] = self._pipe.recv()
                return answer
        except EOFError:
            pass
        self.stop()
        self._start()
        return "killed", ""

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._pipe.close()


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """One worker for all attacks."""
    running = Worker()
    yield running
    running.stop()


def _digests(place: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(place.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    ("made", "step"), [("sqlite", 1), ("duckdb", 1), ("folder", 8), pytest.param("folder", 1, marks=pytest.mark.slow)], indirect=["made"]
)
def test_attacks_are_refused(made: Made, step: int, worker: Worker, tmp_path: Path) -> None:
    """Each ends as it must, nothing holds gold, is written or changed; of a folder, DuckDB's too, the line tries every eighth."""
    other = tmp_path / "other.duckdb"
    with opened(other) as writer:
        writer.execute(f"CREATE TABLE t AS SELECT '{CANARY}' AS x")
    gold = tmp_path / "gold.csv"
    gold.write_text(f"x\n{CANARY}\n")
    before = _digests(tmp_path)
    for text, codes in (BOTH + (SQLITE if made.kind == "sqlite" else DUCKDB))[::step]:
        if made.kind == "folder" and TIMEOUT in codes:
            continue  # the engine of a folder is DuckDB's, and so are its clock and its memory
        filled = text.replace("{gold}", str(gold)).replace("{out}", str(tmp_path / "out")).replace("{other}", str(other))
        # Short only where the clock is what must end it: on a busy machine a refusal may take its time.
        code, said = worker.run(made.connection, filled, QueryLimits(seconds=0.1 if TIMEOUT in codes else 30, memory_mib=512))
        assert code in codes, (filled[:80], code, said[:200])
        assert CANARY not in said
        assert str(tmp_path) not in said
    assert _digests(tmp_path) == before
    assert worker.run(made.connection, "select count(*) from items", QueryLimits(seconds=5)) == ("done", "[[3]]")


@pytest.mark.parametrize("made", ["sqlite", "duckdb", "folder"], indirect=True)
def test_the_engine_itself_cannot_write(made: Made) -> None:
    """Past our own look at the statement, the open connection refuses to write and to unlock itself."""
    session: Any = open_session(made.connection, QueryLimits())
    tries = [
        "DELETE FROM items",
        "INSERT INTO items (id) VALUES (4)",
        "ATTACH ':memory:' AS m",
        f"ATTACH '{made.connection.database}x' AS m",
    ]
    tries += ["PRAGMA query_only = 0"] if made.kind == "sqlite" else ["SET enable_external_access = true", "SET lock_configuration = false"]
    tries += ["CREATE TABLE new (a INTEGER)"] if made.kind != "folder" else ["COPY (SELECT 1) TO 'out.csv'"]
    for text in tries:
        if text.startswith("ATTACH ':memory:'") and made.kind != "sqlite":
            continue  # a database in memory is nobody's
        with pytest.raises((duckdb.Error, sqlite3.Error)):
            session.connection.execute(text)
    session.close()


def test_what_sqlite_may_hold_and_say(tmp_path: Path) -> None:
    """An open connection attaches nothing, starts no thread, and holds no longer text, statement or expression; memory is a limit."""
    with contextlib.closing(sqlite3.connect(tmp_path / "a.sqlite")) as writer:
        writer.execute("CREATE TABLE t (a INTEGER)")
    with contextlib.closing(
        open_session(Connection(name="a", engine="sqlite", database=str(tmp_path / "a.sqlite")), QueryLimits())
    ) as opened:
        session: Any = opened
        names = ("ATTACHED", "LENGTH", "SQL_LENGTH", "EXPR_DEPTH", "WORKER_THREADS")
        kept = [session.connection.getlimit(getattr(sqlite3, f"SQLITE_LIMIT_{name}")) for name in names]
        assert kept == [0, 10_000_000, 100_000, 200, 0]
        error = sqlite3.OperationalError("out of memory")
        error.sqlite_errorname = "SQLITE_NOMEM"
        fault = session._fault_of(error).fault
        assert (fault.code, fault.detail) == ("LIMIT", "the statement needs more memory than the limit memory_mib")
        with pytest.raises(FaultError, match="more memory"), session._faults():
            raise MemoryError


@pytest.mark.parametrize("clock", [0, 86_400])
def test_a_bug_in_what_sqlite_calls_is_no_fault_of_a_statement(clock: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite would say that the statement is not authorized, or that a function of the frozen clock failed."""
    connection = Connection(name="a", engine="sqlite", database=str(tmp_path / "a.sqlite"))
    with contextlib.closing(sqlite3.connect(connection.database)) as writer:
        writer.execute("CREATE TABLE t (a INTEGER)")
    if clock:
        monkeypatch.setattr(frozen_clock, "_SUBSECONDS", None)
    else:
        monkeypatch.setattr(sqlite, "_ALLOWED", None)
    with contextlib.closing(open_session(connection, QueryLimits(clock=clock))) as session, pytest.raises(TypeError):
        list(session.stream("SELECT date('subsec')").chunks)


def test_every_setting_of_duckdb_is_locked(tmp_path: Path) -> None:
    """What the sandbox rests on has the value that it should have, and no setting can be changed."""
    file = tmp_path / "items.duckdb"
    with opened(file) as writer:
        writer.execute(DUCKDB_SETUP[0])
    session: Any = open_session(Connection(name="made", engine="duckdb", database=str(file)), QueryLimits(memory_mib=256))
    settings = dict(session.connection.execute("SELECT name, value FROM duckdb_settings()").fetchall())
    wanted = {
        "access_mode": "read_only",
        "enable_external_access": "false",
        "lock_configuration": "true",
        "autoload_known_extensions": "false",
        "autoinstall_known_extensions": "false",
        "allow_community_extensions": "false",
        "python_enable_replacements": "false",
        "temp_directory": "",
        "memory_limit": "128.0 MiB",
        "TimeZone": "UTC",
    }
    assert {name: settings[name] for name in wanted} == wanted
    session.close()


@pytest.mark.parametrize(
    ("engine", "text", "named"),
    [
        ("sqlite", "DROP TABLE t", "begins with DROP"),
        ("sqlite", "WITH x AS (SELECT 1) DELETE FROM t", "DELETE FROM t"),
        ("sqlite", "SELECT * FROM pragma_database_list", "PRAGMA database_list"),
        ("sqlite", "SELECT load_extension('x')", "load_extension()"),
        ("duckdb", "SELECT * FROM read_csv('/etc/passwd')", "/etc/passwd"),
        ("duckdb", "WITH x AS (INSERT INTO t VALUES (1) RETURNING a) SELECT * FROM x", "INSERT"),
        ("duckdb", "WITH x AS (SELECT 1 AS a) INSERT INTO t SELECT a FROM x", "this is INSERT"),
        ("duckdb", "SELECT 1; SELECT 2", "2 statements"),
        ("duckdb", "SELECT nextval('numbers') FROM t", "this changes the database"),
        ("duckdb", "WITH p AS (PIVOT t ON a USING sum(a)) DELETE FROM t", "DELETE FROM"),
        ("duckdb", "FROM enable_logging()", "a setting is changed"),
        ("duckdb", "SELECT * FROM duckdb_secrets()", "a file is opened"),
    ],
)
def test_a_refusal_names_the_part(engine: str, text: str, named: str, tmp_path: Path) -> None:
    """SQL_NOT_ALLOWED says which part of the statement it is about."""
    place = tmp_path / "shop"
    with sqlite3.connect(place) if engine == "sqlite" else duckdb.connect(str(place)) as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
        if engine == "duckdb":
            connection.execute("CREATE SEQUENCE numbers")
    connection.close()
    with pytest.raises(FaultError) as caught:
        run_answer(text, Connection(name="shop", engine=engine, database=str(place)), QueryLimits())
    assert caught.value.fault.code == "SQL_NOT_ALLOWED"
    assert named in caught.value.fault.detail
