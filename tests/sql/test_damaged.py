"""Database files that are damaged, and services that are ill: nobody's answer is to blame."""

import json
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest

from evalsuite.cli import main
from evalsuite.sql.session import QueryLimits
from evalsuite.sql.snowflake import SnowflakeSession
from tests.duckdb_files import opened
from tests.sql.conftest import made_lite


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
