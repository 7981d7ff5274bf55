"""The one statement of a text: fences, comments, quotes and semicolons in each engine's dialect."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.core.errors import FaultError
from evalsuite.sql import ENGINES
from evalsuite.sql.session import only_statement


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
