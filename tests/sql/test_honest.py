"""What people write is not refused: honest statements of our own, and those of the engines' own tests, beside the attacks.

    EVALSUITE_SQL_CORPUS=folder pytest -m upstream tests/sql -s

reads `*.test` below `folder/sqlite` and `folder/duckdb`, `*.sql` below `folder/postgres`: checkouts of the engines, or their test folders.
"""

import contextlib
import multiprocessing
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

import duckdb
import pytest

from evalsuite.core.errors import FaultError
from evalsuite.sql import ENGINES, open_session
from evalsuite.sql.execution import ask, write_result
from evalsuite.sql.session import OUTSIDE, Connection, QueryLimits, only_statement
from tests.sql import honest, postgres_server, upstream

LIMITS = QueryLimits(seconds=30, memory_mib=1024)
# Of every so many one is run in the test line.
STEP = 32
READER = "honest_reader"


@pytest.fixture(scope="module", params=["sqlite", "duckdb", pytest.param("postgres", marks=pytest.mark.extras)])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Connection, list[str]]:
    """The made tables behind an engine, and calls of every function of its catalogue."""
    engine = str(request.param)
    if engine == "postgres":
        return _on_server(request.getfixturevalue("postgres"), honest.tables(engine))
    place = tmp_path_factory.mktemp("honest") / "made.db"
    with contextlib.closing(sqlite3.connect(place) if engine == "sqlite" else duckdb.connect(str(place))) as writer:
        for statement in honest.tables(engine):
            writer.execute(statement)
        if engine == "sqlite":
            writer.commit()  # type: ignore[union-attr]
        return Connection(name="made", engine=engine, database=str(place)), honest.called(engine, writer)


def _on_server(server: Connection, builds: Sequence[str]) -> tuple[Connection, list[str]]:
    """A database of its own on the tests' server, with a role that may SELECT and nothing else."""
    login = {key: server.options[key] for key in ("host", "port", "password")}
    import psycopg

    with psycopg.connect(**login, user=postgres_server.OWNER, dbname="postgres", autocommit=True) as owner:
        owner.execute("DROP DATABASE IF EXISTS honest WITH (FORCE)")
        owner.execute("CREATE DATABASE honest")
        if not owner.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (READER,)).fetchone():
            owner.execute(f"CREATE ROLE {READER} LOGIN PASSWORD '{postgres_server.PASSWORD}'")
    with psycopg.connect(**login, user=postgres_server.OWNER, dbname="honest", autocommit=True) as owner:
        owner.execute("SET statement_timeout = '5s'")
        for statement in builds:
            # Of the engine's own tests some are about what fails.
            with contextlib.suppress(psycopg.Error) if len(builds) > 100 else contextlib.nullcontext():
                owner.execute(statement.encode())
        for kind in ("TABLES", "SEQUENCES"):
            owner.execute(f"GRANT SELECT ON ALL {kind} IN SCHEMA public TO {READER}")
        called = honest.called("postgres", owner)
    return Connection(name="made", engine="postgres", database="honest", options={**login, "user": READER}), called


def _outcomes(connection: Connection, statements: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """(statement, `done` or its fault's code, the fault's words) of each statement, in one session."""
    with contextlib.closing(open_session(connection, LIMITS)) as session:
        for text in statements:
            try:
                ask(session, only_statement(text, ENGINES[connection.engine].dialect), LIMITS)
                yield text, "done", ""
            except FaultError as error:
                yield text, error.fault.code, error.fault.detail


def _check_written(connection: Connection, step: int) -> None:
    statements = honest.written(connection.engine)
    assert len(set(statements)) >= 3_000
    failed = [outcome for outcome in _outcomes(connection, statements[::step]) if outcome[1] != "done"]
    assert failed == []


def _check_called(connection: Connection, called: Sequence[str], step: int) -> None:
    outcomes = list(_outcomes(connection, called[::step]))
    assert [outcome for outcome in outcomes if outcome[1] in ("SQL_NOT_ALLOWED", "LIMIT", "TIMEOUT")] == []
    # Some are called with what they do not take; most run.
    assert Counter(code for _, code, _ in outcomes)["done"] > 0.7 * len(outcomes)


@pytest.mark.parametrize("step", [STEP, pytest.param(1, marks=pytest.mark.slow)])
def test_honest_statements_run(step: int, made: tuple[Connection, list[str]], tmp_path: Path) -> None:
    """Of 3,000 honest statements an engine and the catalogue's functions (all under `slow`) none is refused, as a table or a file."""
    connection, called = made
    _check_written(connection, step)
    # Of functions more are needed: which of a few take these arguments is chance.
    _check_called(connection, called, max(1, step // 4))
    with contextlib.closing(open_session(connection, LIMITS)) as session:
        for text in honest.written(connection.engine)[:: step * 8]:
            statement = only_statement(text, ENGINES[connection.engine].dialect)
            assert write_result(session, statement, connection, LIMITS, tmp_path / "result.csv").place.exists()


# What a statement that is refused has: files, secrets and extensions, or a change; in PostgreSQL the role's rights refuse some too.
RIGHTLY = {
    "sqlite": r"\b(?:insert|update|delete|replace)\b|fts3_tokenizer|optimize\(|load_extension|pragma_(?:database_list|optimize)",
    "duckdb": r"(?:read|scan|parquet|sniff|glob|secret|extension|nextval|setval|insert|delete|update|complete|log|checkpoint)"
    r"|\bfrom\s+['\"{]|[/.]\w+['\"]|;|https?:",
    "postgres": r"\b(?:insert|update|delete|merge|nextval|setval|lo_\w+|loread|lowrite)\b"
    r"|\b(?:set_config|for\s+(?:no\s+key\s+)?(?:update|share)|into)\b"
    r"|advisory|pg_(?:stat_reset|notify|cancel|log|rotate|reload|create|drop|replication|logical|switch|read|ls|import|export|"
    r"stat_force|stat_clear|terminate|control|current_logfile|show|hba|ident|promote|stat_file|backup|stop)|_to_xml|binary_upgrade|\bbrin_|\bgin_",
}


def _is_rightly_refused(engine: str, outcome: tuple[str, str, str], own: Set[str]) -> bool:
    """Whether a refusal is one that stays: `own` are the functions that change something and that the tests made themselves."""
    text, _, words = outcome
    if re.search(RIGHTLY[engine], text, re.IGNORECASE):
        return True
    if engine == "duckdb":
        # A macro is refused for what it does; `memory` is the database that the test had open, and ours has another name.
        if any(re.search(rf"\b{name}\s*\(", text) for name in own) or re.fullmatch(rf"{OUTSIDE}: memory\.\w+\.\w+", words):
            return True
        # A name that is not in the catalogue is one of an extension.
        named = re.fullmatch(rf"{OUTSIDE}: (\w+)", words)
        return named is not None and not duckdb.execute("SELECT 1 FROM duckdb_functions() WHERE function_name = $1", [named[1]]).fetchone()
    called = re.search(r"the function (\S+) can leave", words)
    # What the server refuses by itself with a word of its rights is no refusal of ours.
    is_of_rights = words.startswith(OUTSIDE) and not called and "is no plain text" not in words
    return engine == "postgres" and (is_of_rights or (called is not None and called[1] in own))


_CHANGING_MACRO = re.compile(
    r"create\s+(?:or\s+replace\s+)?(?:macro|function)\s+(\w+)\b.*\b(?:nextval|setval)\b", re.IGNORECASE | re.DOTALL
)


def _own(engine: str, file: Path) -> set[str]:
    """The names of DuckDB's macros in a file that move a sequence."""
    builds = upstream.statements(engine, file)[0] if engine == "duckdb" else ()
    return {found[1] for one in builds if (found := _CHANGING_MACRO.match(one))}


def _replay(engine: str, file: Path, place: Path, pipe: Pipe) -> None:
    builds, asked = upstream.statements(engine, file)
    os.chdir(place)
    built = place / "built.db"
    writer: Any = sqlite3.connect(built, isolation_level=None) if engine == "sqlite" else duckdb.connect(str(built), config={"threads": 1})
    with contextlib.closing(writer):
        for statement in ["CREATE TABLE made_first (a INTEGER)", *builds]:
            with contextlib.suppress(Exception):
                writer.execute(statement)
    # A file that its own test damaged is no connection.
    with contextlib.suppress(Exception):
        for outcome in _outcomes(Connection(name="built", engine=engine, database=str(built)), asked):
            pipe.send(outcome)


def _replayed(engine: str, file: Path, place: Path) -> list[tuple[str, str, str]]:
    """The outcomes of a file's statements, as far as it came in half a minute; in a process, for some tests are made to crash an engine."""
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_replay, args=(engine, file, place, there), daemon=True)
    process.start()
    there.close()
    outcomes = []
    with contextlib.suppress(EOFError):
        while here.poll(30):
            outcomes.append(here.recv())
    process.kill()
    process.join()
    return outcomes


@pytest.mark.upstream
@pytest.mark.parametrize("engine", upstream.FILES)
def test_the_engines_own_statements_are_not_refused(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Of the statements in an engine's own tests those are refused that reach for files or change something, and no others."""
    folder = Path(os.environ.get("EVALSUITE_SQL_CORPUS") or "no folder") / engine
    files = sorted(folder.rglob(upstream.FILES[engine]))
    if not files:
        pytest.skip(f"no {upstream.FILES[engine]} in {engine}/ of EVALSUITE_SQL_CORPUS")
    outcomes: list[tuple[str, str, str]] = []
    wrongly: list[tuple[str, str, str]] = []

    def take(found: Iterable[tuple[str, str, str]], own: Set[str]) -> None:
        for outcome in found:
            outcomes.append(outcome)
            if outcome[1] == "SQL_NOT_ALLOWED" and not _is_rightly_refused(engine, outcome, own):
                wrongly.append(outcome)

    if engine == "postgres":
        scripts = [upstream.statements(engine, file) for file in files]
        server = request.getfixturevalue("postgres")
        connection, _ = _on_server(server, [one for builds, _ in scripts for one in builds])
        login = {key: server.options[key] for key in ("host", "port", "password")}
        import psycopg

        with psycopg.connect(**login, user=postgres_server.OWNER, dbname="honest") as owner:
            own = {
                str(name) for (name,) in owner.execute("SELECT proname FROM pg_proc WHERE oid >= 16384 AND provolatile = 'v'").fetchall()
            }
        for _, asked in scripts:
            take(_outcomes(connection, asked), own)
    else:
        for number, file in enumerate(files):
            place = tmp_path / str(number)
            place.mkdir()
            take(_replayed(engine, file, place), _own(engine, file))
    print(f"\n{engine}: {len(files)} files, {len(outcomes)} statements, {dict(Counter(code for _, code, _ in outcomes))}")
    assert len(outcomes) > 100
    assert wrongly == []
