"""Connections: where they are configured, which instance they are for, and that no secret is shown."""

import json
from pathlib import Path

import pytest

from evalsuite.core.errors import EvalsuiteError, GoldError, UsageError
from evalsuite.core.types import GoldInstance
from evalsuite.gold.connection_files import read_connections

SECRET = "s3cr3t-9f"


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    """A gold folder with a suite.yaml."""
    folder = tmp_path / "gold"
    folder.mkdir()
    (folder / "suite.yaml").write_text(
        "name: sales\nconnections:\n"
        "  local: {engine: sqlite, database: main.sqlite, prefix: [loc_, local_big_]}\n"
        "  big: {engine: duckdb, database: big.duckdb, prefix: local_}\n"
        "  one: {engine: duckdb, database: one.duckdb, instances: [local_7]}\n"
        "  hr: {engine: sqlite, database: hr.sqlite, metadata: {db_id: hr}}\n"
        "  house:\n    engine: postgres\n    host: db\n    user: reader\n    password: ${HOUSE_PASSWORD}\n"
    )
    (folder / "main.sqlite").write_bytes(b"x")
    return folder


@pytest.fixture
def working(tmp_path: Path) -> Path:
    """An empty working folder."""
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("instance_id", "extra", "parameters", "name"),
    [
        ("loc_1", {}, {}, "local"),
        ("local_1", {}, {}, "big"),
        ("local_big_1", {}, {}, "local"),
        ("local_7", {}, {}, "one"),
        ("local_1", {"db_id": "hr"}, {}, "hr"),
        ("local_7", {"db_id": "hr"}, {}, "one"),
        ("local_7", {"connection": "big"}, {}, "big"),
        ("local_7", {"connection": "big"}, {"connection": "hr"}, "hr"),
        ("local_7", {}, {"engine": "sqlite", "database": "local"}, "local"),
        ("other", {}, {}, None),
    ],
)
def test_the_closest_entry_wins(
    gold: Path, working: Path, instance_id: str, extra: dict[str, str], parameters: dict[str, str], name: str | None
) -> None:
    """The check's parameters, the gold line's own key, the id, metadata, then the longest prefix; else no connection."""
    known = read_connections(gold, working=working, environment={})
    found = known.of_instance(GoldInstance(instance_id=instance_id, checks=(), extra=extra), parameters)
    assert (found.name if found else None) == name


def test_databases_folder(gold: Path, working: Path, tmp_path: Path) -> None:
    """A relative file is looked for below --databases, then beside the file that configures it; a check's own never leaves it."""
    databases = tmp_path / "databases"
    databases.mkdir()
    (databases / "hr.sqlite").write_bytes(b"x")
    known = read_connections(gold, working=working, databases=databases, environment={})
    assert known.get("hr").database == str(databases / "hr.sqlite")
    assert known.get("local").database == str(gold / "main.sqlite")
    instance = GoldInstance(instance_id="a", checks=())
    found = known.of_instance(instance, {"engine": "sqlite", "database": "hr.sqlite"})
    assert found.database == str(databases / "hr.sqlite")
    # That of a server is no file.
    (working / "connections.yaml").write_text("shop: {engine: postgres, database: shop}\nmemory: {engine: duckdb}\n")
    known = read_connections(gold, working=working, databases=databases, environment={})
    assert [known.get(name).database for name in ("shop", "memory")] == ["shop", ""]
    with pytest.raises(UsageError, match="not a folder") as told:
        read_connections(gold, working=working, databases=databases / "hr.sqlite", environment={})
    assert told.value.hint == f"name its folder: {databases}"
    with pytest.raises(UsageError, match="no such folder"):
        read_connections(gold, working=working, databases=databases / "none", environment={})
    with pytest.raises(UsageError, match="the path cannot be followed"):
        read_connections(gold, working=working, databases=Path("~nobody-of-this-name/x"), environment={})


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"engine": "sqlite", "database": "../x"}, GoldError, "q:1: the database '../x' leaves the folder of --databases"),
        ({"engine": "sqlite", "database": "/x"}, GoldError, "q:1: the database '/x' leaves the folder of --databases"),
        ({"engine": "sqlite", "database": "~x"}, GoldError, "q:1: the database '~x' leaves the folder of --databases"),
        ({"engine": "mysql", "database": "x"}, GoldError, "q:1: unknown engine 'mysql'"),
        ({"engine": "duckdb", "database": "hr"}, GoldError, "q:1: connection 'hr' is sqlite, not duckdb"),
        ({"engine": "postgres"}, GoldError, "q:1: postgres needs a configured connection"),
        ({"engine": "sqlite", "database": "x"}, UsageError, "q:1: the database 'x' was not found"),
    ],
)
def test_databases_of_a_check_that_cannot_be_meant(
    gold: Path, working: Path, parameters: dict[str, str], error: type[EvalsuiteError], message: str
) -> None:
    """The place in gold is named; a connection under its engine's name needs no database."""
    (working / "connections.yaml").write_text("duckdb: {engine: duckdb, database: d.duckdb}\n")
    folder = None if error is UsageError else gold
    known = read_connections(gold, working=working, databases=folder, environment={})
    instance = GoldInstance(instance_id="a", checks=(), where="q:1")
    with pytest.raises(error) as told:
        known.of_instance(instance, parameters)
    assert told.value.message == message
    found = known.of_instance(instance, {"engine": "duckdb"})
    assert found.name == "duckdb"


def test_secrets_come_from_outside_and_stay_hidden(gold: Path, working: Path) -> None:
    """A variable or a file fills a secret in when the connection is used; no text of any object or error shows it."""
    known = read_connections(gold, working=working, environment={"HOUSE_PASSWORD": SECRET})
    house = known.get("house")
    assert house.options["password"] == SECRET
    assert SECRET not in f"{house!r}{house}{known!r}{known}{known.entries}"
    with pytest.raises(UsageError, match="needs the variable HOUSE_PASSWORD"):
        read_connections(gold, working=working, environment={}).get("house")
    (working / "connections.yaml").write_text("house: {engine: postgres, password_from: secret.txt}\n")
    (working / "secret.txt").write_text(SECRET + "\nmore\n")
    house = read_connections(gold, working=working, environment={}).get("house")
    assert (house.options["password"], "password_from" in house.options) == (SECRET, False)
    (working / "secret.txt").unlink()
    with pytest.raises(UsageError, match="password_from"):
        read_connections(gold, working=working, environment={}).get("house")


def test_the_working_folder_counts_last_and_a_submission_never(gold: Path, working: Path) -> None:
    """Of one name the working folder's entry counts; a working folder inside the submission is not looked into."""
    (gold / "connections.yaml").write_text("connections:\n  local: {engine: sqlite, database: b.sqlite}\n")
    (working / "connections.yaml").write_text("local: {engine: duckdb, database: c.duckdb}\n")
    (working / "bigquery_credential.json").write_text("{}")
    assert read_connections(gold, working=working, environment={}).get("local").database == str(working / "c.duckdb")
    inside = read_connections(gold, working=working, submission=working.parent / "here", environment={})
    assert inside.get("local").database == str(gold / "b.sqlite")
    assert "bigquery" not in inside.entries


def test_the_references_files(gold: Path, working: Path) -> None:
    """They are looked for in the working folder, then beside suite.yaml, and give way to a configured connection."""
    (gold / "bigquery_credential.json").write_text("{}")
    (gold / "snowflake_credential.json").write_text(json.dumps({"user": "gold", "password": SECRET, "account": "a"}))
    (working / "snowflake_credential.json").write_text(json.dumps({"user": "here", "password": SECRET, "account": "a", "odd": "x"}))
    known = read_connections(gold, working=working, environment={})
    assert known.get("snowflake").options == {"user": "here", "password": SECRET, "account": "a"}
    assert known.get("bigquery").options == {"credentials": str(gold / "bigquery_credential.json")}
    assert SECRET not in repr(known)
    (working / "connections.yaml").write_text("bigquery: {engine: bigquery, credentials: default, project: p}\n")
    assert read_connections(gold, working=working, environment={}).get("bigquery").options["credentials"] == "default"
    (working / "snowflake_credential.json").write_text(SECRET)
    broken = read_connections(gold, working=working, environment={})
    with pytest.raises(UsageError) as caught:
        broken.get("snowflake")
    assert SECRET not in caught.value.message + caught.value.hint
    assert broken.get("bigquery").options["credentials"] == "default", "a broken file is a matter of its own engine"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("a: 1", "must be a mapping with an engine", "duckdb"),
        ("a: {engine: sqlit}", "unknown engine 'sqlit'", "did you mean 'sqlite'?"),
        (f"a: {{engine: postgres, passwort: {SECRET}}}", "unknown key 'passwort'", "did you mean 'password'?"),
        (f"a: {{engine: postgres, password: [{SECRET}]}}", "password of connection 'a' must be text", ""),
        ("a: {engine: sqlite, prefix: ''}", "prefix of connection 'a'", ""),
        ("a: {engine: sqlite, instances: [7]}", "instances of connection 'a'", ""),
        ("a: {engine: sqlite, metadata: x}", "metadata of connection 'a'", ""),
        ("- a", "not a mapping", ""),
        ("connections: [a]", "must be a mapping", ""),
    ],
)
def test_what_cannot_be_meant(working: Path, text: str, message: str, hint: str) -> None:
    """The message names file and line, connection and key, and no value."""
    (working / "connections.yaml").write_text(text)
    with pytest.raises(GoldError) as caught:
        read_connections(working=working, environment={})
    assert caught.value.message.startswith("here/connections.yaml:1: ")
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert SECRET not in caught.value.message + caught.value.hint


def test_a_suite_names_its_connections(tmp_path: Path, working: Path) -> None:
    """Anything else than names of connections in suite.yaml is an error with its line."""
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "suite.yaml").write_text("description: x\nconnections: [a]\n")
    with pytest.raises(GoldError, match=r"suite/suite.yaml:2: connections must be a mapping of names to connections"):
        read_connections(tmp_path / "suite", working=working, environment={})


def test_unknown_name(gold: Path, working: Path) -> None:
    """A name nobody configured is told with the nearest one."""
    with pytest.raises(UsageError) as caught:
        read_connections(gold, working=working, environment={}).get("locl")
    assert caught.value.hint == "did you mean 'local'?"
