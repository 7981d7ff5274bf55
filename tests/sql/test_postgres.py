"""What only a real PostgreSQL server can show."""

import contextlib
import select
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalsuite.core.errors import FaultError, UsageError
from evalsuite.core.types import Fault
from evalsuite.sql import open_session
from evalsuite.sql.execution import Query, QueryOutcome, QueryPool, ask, run_answer, write_result
from evalsuite.sql.session import Connection, QueryLimits
from tests.sql import postgres_server

LIMITS = QueryLimits(seconds=30)


def test_a_role_that_could_write_cannot(postgres: Connection) -> None:
    """The role may write; the session may not, whatever is sent past our look at the statement."""
    import psycopg

    with contextlib.closing(open_session(postgres, LIMITS)) as session:
        raw: Any = session
        for text in ("INSERT INTO items (id) VALUES (4)", "CREATE TABLE other (a INTEGER)", "SELECT nextval('nothing')"):
            with pytest.raises(psycopg.Error):
                raw.connection.execute(text)
            raw.connection.rollback()
        for text in (
            "INSERT INTO items (id) VALUES (4)",
            "SELECT 1; DELETE FROM items",
            "WITH x AS (DELETE FROM items RETURNING 1) SELECT 1",
        ):
            with pytest.raises(FaultError):
                session.stream(text)
        assert ask(session, "SELECT count(*) FROM items", LIMITS).table.columns[0][0] == 3


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("WITH x AS (DELETE FROM items RETURNING id) SELECT * FROM x", "SQL_NOT_ALLOWED"),
        ("SELECT * INTO other FROM items", "SQL_ERROR"),
        ("SELECT * FROM items FOR UPDATE", "SQL_NOT_ALLOWED"),
        ("SELECT pg_read_file('/etc/passwd')", "SQL_NOT_ALLOWED"),
        ("SELECT pg_ls_dir('.')", "SQL_NOT_ALLOWED"),
        ("SELECT lo_import('/etc/passwd')", "SQL_NOT_ALLOWED"),
        ("SELECT set_config('transaction_read_only', 'off', false)", "SQL_NOT_ALLOWED"),
        ("SELECT pg_notify('a', 'b')", "SQL_NOT_ALLOWED"),
        ("SELECT $1", "SQL_ERROR"),
        ("SELECT id FROM items WHERE id = $2", "SQL_ERROR"),
        ("SELECT count(*) FROM items WHERE pg_catalog.PG_Notify('a', name) IS NULL", "SQL_NOT_ALLOWED"),
        ("SELECT pg_catalog . \"pg_notify\" /* why */ ('a', 'b')", "SQL_NOT_ALLOWED"),
        ("SELECT U&\"pg\\005fnotify\"('a', 'b')", "SQL_NOT_ALLOWED"),
        ("SELECT pg_advisory_lock(7)", "SQL_NOT_ALLOWED"),
        # Where the server's quotes, names and comments end otherwise than elsewhere.
        ('SELECT \'"\', "pg_try_advisory_lock"(7)', "SQL_NOT_ALLOWED"),
        ("SELECT $é$'$é$, pg_try_advisory_lock(7), $é$'$é$", "SQL_NOT_ALLOWED"),
        ("SELECT 1 AS “$a$, pg_try_advisory_lock(7), 2 AS “$a$", "SQL_NOT_ALLOWED"),
        ("SELECT 1 -- x\r, pg_try_advisory_lock(7)", "SQL_NOT_ALLOWED"),
        ("SELECT E'a' -- b\n -- c\n '\\'', pg_try_advisory_lock(7) -- '", "SQL_NOT_ALLOWED"),
        ("SELECT id FROM items LIMIT pg_try_advisory_lock(7)::int", "SQL_NOT_ALLOWED"),
        ("SELECT * FROM (VALUES (pg_try_advisory_lock_shared(7)), (true)) AS v", "SQL_NOT_ALLOWED"),
        ("SELECT query_to_xml('SELECT pg_notify(''a'', ''b'')', true, true, '')", "SQL_NOT_ALLOWED"),
        ("SELECT * FROM ts_stat('SELECT pg_notify(''a'', ''b'')::text::tsvector')", "SQL_NOT_ALLOWED"),
        ("SELECT * FROM crosstab('SELECT 1, 2, pg_notify(''a'', ''b'')')", "SQL_NOT_ALLOWED"),
        ("SELECT query_to_xml('DELETE FROM items', true, true, '')", "SQL_NOT_ALLOWED"),
        ("SELECT query_to_xml('SELECT ' || 'pg_notify(1, 2)', true, true, '')", "SQL_NOT_ALLOWED"),
        ("SELECT query_to_xml(E'SELECT pg\\\\x5fnotify(1, 2)', true, true, '')", "SQL_NOT_ALLOWED"),
        ("SELECT query_to_xml($a$SELECT query_to_xml('SELECT pg_notify(1, 2)', true, true, '')$a$, true, true, '')", "SQL_NOT_ALLOWED"),
        ("SELECT \"query_to_xml\"(name, true, true, '') FROM items", "SQL_NOT_ALLOWED"),
        ("SELECT query_to_xml(query => 'SELECT pg_notify(1, 2)', nulls => true, tableforest => true, targetns => '')", "SQL_NOT_ALLOWED"),
        ("SELECT ts_rewrite('a'::tsquery, 'SELECT pg_notify(''a'', ''b'')::text::tsquery, ''b''::tsquery')", "SQL_NOT_ALLOWED"),
        ("SELECT U&\"pg!005fnotify\" UESCAPE '!' ('a', 'b')", "SQL_NOT_ALLOWED"),
        ("SELECT * FROM items TABLESAMPLE SYSTEM (pg_try_advisory_lock(7)::int)", "SQL_NOT_ALLOWED"),
        ("SELECT query_to_xml($$SELECT 1, $$ || 'pg_no' || $$tify('a', 'b')$$, true, true, '')", "SQL_NOT_ALLOWED"),
        ("SELECT query_to_xml($a$SELECT 1, $a$ || 'pg_no' || $a$tify('a', 'b')$a$, true, true, '')", "SQL_NOT_ALLOWED"),
        ("SELECT query_to_xml('SELECT 1, ' 'pg_notify(1, 2)', true, true, '')", "SQL_NOT_ALLOWED"),
        ("SELECT query_to_xml('SELECT 1, '\n'pg_notify(1, 2)', true, true, '')", "SQL_NOT_ALLOWED"),
        ("SELECT query_to_xml((SELECT $$SELECT 1$$), true, true, '')", "SQL_NOT_ALLOWED"),
        ("SELECT query_to_xml('SELECT 1; SELECT pg_notify(1, 2)', true, true, '')", "SQL_NOT_ALLOWED"),
        ("SELECT query_to_xml /* a ( */ (name, true, true, '') FROM items", "SQL_NOT_ALLOWED"),
        ("SELECT query_to_xml('SELECT now()', true, true, '')", "SQL_NOT_ALLOWED"),
        ("SELECT to_ascii('a')", "SQL_ERROR"),
        ("SELECT pg_terminate_backend(1)", "SQL_NOT_ALLOWED"),
        ("SELECT pg_logical_emit_message(false, 'a', 'b')", "SQL_NOT_ALLOWED"),
        ("SELECT 1/0", "SQL_ERROR"),
        ("SELECT 'infinity'::timestamptz", "SQL_ERROR"),
        ("SELECT '10000-01-01'::date", "SQL_ERROR"),
    ],
)
def test_statements_that_only_select_by_name(postgres: Connection, text: str, code: str) -> None:
    """A SELECT that would change something, read the server's files or unlock the session is a fault."""
    with pytest.raises(FaultError) as caught:
        run_answer(text, postgres, LIMITS)
    assert caught.value.fault.code == code


@contextlib.contextmanager
def changed(postgres: Connection, changes: dict[str, str]) -> Iterator[None]:
    """What the server's owner makes, each statement with the one that takes it back."""
    import psycopg

    login = {key: postgres.options[key] for key in ("host", "port", "password")}
    with psycopg.connect(**login, user=postgres_server.OWNER, dbname="postgres", autocommit=True) as owner:
        try:
            for statement in changes:
                owner.execute(statement)
            yield
        finally:
            for statement in reversed(changes.values()):
                owner.execute(statement)


def test_volatile_functions(postgres: Connection) -> None:
    """`row.name` calls a volatile one and is refused; those that leave nothing behind, and names in texts and columns, are let through."""
    made = {
        f"CREATE FUNCTION {name}(items) RETURNS text LANGUAGE sql VOLATILE AS $$SELECT pg_notify('a', 'b')::text$$": f"DROP FUNCTION {name}"
        for name in ("wiped", "day")
    }
    with changed(postgres, made):
        for call in ("i.wiped", 'i."wiped"', "(i) /* a */ . Wiped", 'i.U&"wip\\0065d"'):
            with pytest.raises(FaultError) as caught:
                run_answer(f"SELECT {call} FROM items AS i", postgres, LIMITS)
            assert caught.value.fault.code == "SQL_NOT_ALLOWED"
        assert run_answer("SELECT i.day FROM items AS i", postgres, LIMITS).n_rows == 3
    for text in (
        "SELECT count(*) FROM items WHERE random() >= 0 AND clock_timestamp() IS NOT NULL",
        "SELECT pg_relation_size('items') > 0",
        "SELECT 'pg_notify(1)' AS \"pg_notify\" -- pg_advisory_lock(1)",
        "SELECT E'a'\n'\\'pg_notify(1)', $é$pg_notify(1)'$é$, 1 AS “$a$",
        "SELECT length(query_to_xml('SELECT id FROM items', true, false, '')::text) > 0 AS U&\"\\0061b\"",
        "SELECT count(*) FROM ts_stat($$SELECT to_tsvector(name) FROM items$$)",
        "SELECT ts_rewrite('a'::tsquery, 'SELECT ''a''::tsquery, ''b''::tsquery'::text)",
        "SELECT ts_rewrite('a & b'::tsquery, ('a'::text)::tsquery, 'c'::tsquery)",
        "SELECT coalesce(max(id), 0), row_number() OVER (ORDER BY max(id)) FROM items WHERE id IN (1, 2)",
    ):
        assert run_answer(text, postgres, LIMITS).n_rows == 1
    named = replace(postgres, options={**postgres.options, "functions": "pg_advisory_lock, pg_try_advisory_lock"})
    assert run_answer("SELECT pg_try_advisory_lock(7)", named, LIMITS).columns[0][0] is True


def test_settings_of_a_role_change_no_result(postgres: Connection) -> None:
    """Digits of floats, escapes in texts, time limits and encodings are this session's own, whatever the server keeps for the role."""
    kept = (
        "extra_float_digits = 0",
        "standard_conforming_strings = off",
        "statement_timeout = 1",
        "lock_timeout = 1",
        "client_encoding = latin1",
    )
    role = f"ALTER ROLE {postgres_server.READER}"
    with changed(postgres, {f"{role} SET {setting}": f"{role} RESET ALL" for setting in kept}):
        table = run_answer(
            "SELECT 0.1::float8 + 0.2::float8, '\\x00'::bytea, '€', pg_sleep(0.01)::text FROM items LIMIT 1", postgres, LIMITS
        )
        assert [column[0] for column in table.columns] == [0.1 + 0.2, b"\0", "€", ""]
        with pytest.raises(FaultError):
            run_answer("SELECT '\\'', pg_try_advisory_lock(7), '\\''", postgres, LIMITS)


def test_encodings_and_schemas(postgres: Connection) -> None:
    """Its texts are texts, not bytes. No statement would find a table in it; one of two that exists is enough, and capitals need quotes."""
    with changed(postgres, {"CREATE DATABASE plain ENCODING 'SQL_ASCII' TEMPLATE template0": "DROP DATABASE plain"}):
        table = run_answer("SELECT 'é' AS é, ARRAY['é'] AS b WHERE 'é' = 'é'", replace(postgres, database="plain"), LIMITS)
    assert (table.header, [column[0] for column in table.columns]) == (("é", "b"), ["é", '["é"]'])
    with changed(postgres, {'CREATE SCHEMA "Made" AUTHORIZATION reader': 'DROP SCHEMA "Made"'}):
        for schema, exists in (("absent", False), ("Made", False), ('"Made"', True), ("absent, public", True), ("a b", False)):
            named = replace(postgres, options={**postgres.options, "schema": schema})
            with contextlib.nullcontext() if exists else pytest.raises(UsageError, match=r"schema|login"):
                open_session(named, LIMITS).close()


def test_what_the_server_does_to_a_statement_is_nobodys_answer(postgres: Connection) -> None:
    """A lock, conflict, disk, source or damage of the server's own is the set-up's fault, what a statement needs too much of its own."""
    text = "CREATE FUNCTION fail(text) RETURNS int STABLE LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION USING ERRCODE = $1; END$$"
    codes = {
        **dict.fromkeys(
            ("40001", "40P01", "55P03", "53100", "53200", "58030", "HV00N", "XX001", "57P05", "25P03", "08006"), "NEEDS_CONNECTION"
        ),
        **{"53400": "LIMIT", "54000": "LIMIT", "22012": "SQL_ERROR", "42P01": "SQL_ERROR", "57014": "NEEDS_CONNECTION"},
    }
    with changed(postgres, {text: "DROP FUNCTION fail"}):
        found = {}
        for state in codes:
            with pytest.raises(FaultError) as caught:
                run_answer(f"SELECT fail('{state}')", postgres, LIMITS)
            found[state] = caught.value.fault.code
    assert found == codes
    with (
        changed(postgres, {"BEGIN": "ROLLBACK", "LOCK TABLE items IN ACCESS EXCLUSIVE MODE": "SELECT"}),
        pytest.raises(FaultError) as caught,
    ):
        run_answer("SELECT * FROM items", postgres, replace(LIMITS, seconds=0.5))
    assert caught.value.side == "setup"
    assert "lock" in caught.value.fault.detail


def test_a_server_that_goes_away_is_nobodys_answer(postgres: Connection, tmp_path: Path) -> None:
    """Its session ended in the middle, a statement is asked once more; where that ends too, the set-up is at fault."""
    import psycopg

    login = {key: postgres.options[key] for key in ("host", "port", "password")}
    ended: list[int] = []

    def end_sessions(end: str, times: int) -> None:
        with psycopg.connect(**login, user=postgres_server.OWNER, dbname="postgres", autocommit=True) as owner:
            while len(ended) < times and not stopped.wait(0.02):
                running = (
                    "SELECT pid FROM pg_stat_activity WHERE application_name = 'evalsuite' AND query LIKE 'FETCH%' AND state = 'active'"
                )
                for (pid,) in owner.execute(running).fetchall():
                    if pid not in ended and owner.execute(f"SELECT {end}(%s)", (pid,)).fetchone():
                        ended.append(pid)

    long = "SELECT pg_sleep(20)::text AS x"
    for end, times, sql, code in (
        ("pg_terminate_backend", 1, "SELECT pg_sleep(2)::text AS x", ""),
        ("pg_terminate_backend", 2, long, "NEEDS_CONNECTION"),
        ("pg_cancel_backend", 2, long, "NEEDS_CONNECTION"),
    ):
        ended.clear()
        stopped = threading.Event()
        killer = threading.Thread(target=end_sessions, args=(end, times), daemon=True)
        killer.start()
        queries = QueryPool(limits=LIMITS, jobs=1, submission=tmp_path, gold=tmp_path, fork_server=lambda: None)
        try:
            ((answered),) = queries.answers([Query(name="q", text=sql, connection=postgres, place=tmp_path / "q.csv")])
        finally:
            stopped.set()
            killer.join(30)
        assert len(ended) == times
        assert (answered.outcome.code if isinstance(answered.outcome, Fault) else "") == code


@contextlib.contextmanager
def relay(port: int, word: bytes) -> Iterator[int]:
    """The port of a line to the server that falls silent, and stays open, as soon as a client has said `word`; so do all that follow."""
    silent, lines = threading.Event(), list[socket.socket]()

    def pass_on(client: socket.socket, server: socket.socket) -> None:
        while not silent.is_set():
            for end in select.select([client, server], [], [])[0]:
                said = end.recv(1 << 16)
                if not said or (end is client and word in said):
                    silent.set()
                    return
                (server if end is client else client).sendall(said)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                lines.append(listening.accept()[0])
                if not silent.is_set():
                    lines.append(socket.create_connection(("127.0.0.1", port)))
                    threading.Thread(target=pass_on, args=lines[-2:], daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
    for line in lines:
        line.close()


@pytest.mark.parametrize("word", [b"FETCH", pytest.param(b"rolsuper", marks=pytest.mark.slow)])
def test_a_server_that_falls_silent_is_nobodys_answer(
    postgres: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: bytes
) -> None:
    """Its line stands, and nothing comes any more, nor of a new one: the run ends, and the set-up is at fault, not the answer."""
    monkeypatch.setattr("evalsuite.sql.postgres._CONNECT_SECONDS", 2)
    answered: list[QueryOutcome] = []
    with relay(int(postgres.options["port"]), word) as port:
        silent = replace(postgres, options={**postgres.options, "port": port})
        queries = QueryPool(limits=replace(LIMITS, seconds=1), jobs=1, submission=tmp_path, gold=tmp_path, fork_server=lambda: None)
        asked = [Query(name="q", text="SELECT 1 AS x", connection=silent, place=tmp_path / "q.csv")]
        asking = threading.Thread(target=lambda: answered.extend(queries.answers(asked)), daemon=True)
        asking.start()
        asking.join(60)
    assert [isinstance(one.outcome, Fault) and one.outcome.code for one in answered] == ["NEEDS_CONNECTION"]


@pytest.mark.parametrize("cells", ["i, repeat('x', {})", "i, ARRAY[repeat('x', {})]", "1e20::float8, i, repeat('x', {})"])
def test_wide_rows_come_one_at_a_time(postgres: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: str) -> None:
    """Narrow rows come in chunks. A wide one after them has the statement run again, row by row, and one above the limit is a LIMIT."""
    place = tmp_path / "wide.csv"
    narrow, wide = (f"SELECT {cells.format(size)} AS t FROM generate_series(1, 3000) AS s(i)" for size in ("5", "1 + i / 3000 * 100000"))
    monkeypatch.setattr("evalsuite.sql.postgres._WIDEST", 150_000)
    with contextlib.closing(open_session(postgres, LIMITS)) as session:
        for as_text in (False, True):
            stream = session.stream(narrow, as_text=as_text)  # type: ignore[call-arg]
            sizes = [chunk.n_rows for chunk in stream.lines] if stream.lines else list(map(len, stream.chunks))
            assert (sum(sizes), max(sizes)) == (3000, 1000)
        assert write_result(session, wide, postgres, LIMITS, place).cost.rows == 3000
        lines = place.read_text().splitlines()
        assert (len(lines), [n for n, line in enumerate(lines) if len(line) > 100], len(lines[-1]) > 100_000) == (3001, [3000], True)
        table = ask(session, wide, LIMITS).table
        assert (table.n_rows, len(str(table.columns[-1][-1])) > 100_000) == (3000, True)
        with pytest.raises(FaultError, match="too long to be read at once") as refused:
            write_result(session, wide.replace("100000", "200000"), postgres, LIMITS, place)
        assert refused.value.fault.code == "LIMIT"
    assert not place.exists()


def test_roles_and_connections_that_are_refused(postgres: Connection) -> None:
    """A superuser is taken only if asked for by name; a server without a free connection is called that."""
    owner = replace(postgres, options={**postgres.options, "user": postgres_server.OWNER})
    with pytest.raises(UsageError, match="may read files"):
        open_session(owner, LIMITS)
    allowed = replace(owner, options={**owner.options, "allow_superuser": True})
    with contextlib.closing(open_session(allowed, LIMITS)) as session:
        assert "PostgreSQL" in session.describe()
    role = f"ALTER ROLE {postgres_server.READER} CONNECTION LIMIT"
    with changed(postgres, {f"{role} 0": f"{role} -1"}), pytest.raises(UsageError, match="no connection left"):
        open_session(postgres, LIMITS)


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"password": "wrong-one"}, "refuses the login check `user` and `password`"),
        ({"user": "nobody9"}, "refuses the login check `user`"),
        ({"port": 1}, "no server answers check `host` and `port`"),
        ({"host": "nowhere.invalid"}, "no server answers check `host`"),
    ],
)
def test_a_login_that_fails(postgres: Connection, change: dict[str, Any], cause: str) -> None:
    """The message says why and names what to look at, and no value of the connection."""
    broken = replace(postgres, options={**postgres.options, **change})
    with pytest.raises(UsageError) as caught:
        open_session(broken, LIMITS)
    assert cause in f"{caught.value.message} {caught.value.hint}"
    assert not any(str(value) in caught.value.message + caught.value.hint for value in broken.options.values())


def test_fingerprints_and_types_of_its_own(postgres: Connection) -> None:
    """The same until somebody writes, none of other servers; numbers stay exact, nested values are JSON, the rest the server's text."""
    import psycopg

    def now() -> str | None:
        with contextlib.closing(open_session(postgres, LIMITS)) as session:
            return session.fingerprint()

    # The server itself logs the running transactions now and then.
    assert any((before := now()) == now() for _ in range(5))
    login = {key: postgres.options[key] for key in ("host", "port", "password")}
    with psycopg.connect(**login, user=postgres_server.OWNER, dbname="postgres") as owner:
        owner.execute("CREATE TABLE IF NOT EXISTS noted (a INTEGER)")
        owner.execute("INSERT INTO noted VALUES (1)")
    assert now() != before
    elsewhere = {"CREATE FOREIGN DATA WRAPPER w": "DROP FOREIGN DATA WRAPPER w", "CREATE SERVER s FOREIGN DATA WRAPPER w": "DROP SERVER s"}
    with changed(postgres, {**elsewhere, "CREATE FOREIGN TABLE f (a INTEGER) SERVER s": "DROP FOREIGN TABLE f"}):
        assert now() is None
    table = run_answer(
        "SELECT 1.10::numeric AS a, 'NaN'::numeric(10,2) AS b, ARRAY[1, NULL] AS c, '{\"k\": 1.0}'::jsonb AS d, "
        "interval '1 month 2 hours' AS e, '10.0.0.1'::inet AS f, 'x'::name AS g, 1::oid AS h, int4range(1, 5) AS i, "
        "'{[1,2),[4,9)}'::int4multirange AS j, '24:00'::time AS k, ARRAY[1.10] AS l, ARRAY['\\x00ff'::bytea] AS m",
        postgres,
        LIMITS,
    )
    types = table.types or ()
    assert types[:8] == ("DECIMAL", "DECIMAL(10,2)", "JSON", "JSON", "VARCHAR", "VARCHAR", "VARCHAR", "BIGINT")
    assert types[8:] == ("VARCHAR", "VARCHAR", "TIME", "JSON", "JSON")
    cells = [column[0] for column in table.columns]
    assert (cells[0], str(cells[1])) == (Decimal("1.10"), "NaN")
    assert cells[2:8] == ["[1, null]", '{"k": 1.0}', "P1MT2H", "10.0.0.1", "x", 1]
    assert cells[8:] == ["[1,5)", "{[1,2),[4,9)}", "24:00:00", '["1.10"]', '["00ff"]']
