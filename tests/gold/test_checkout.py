"""A checkout of Spider 2.0 is scored as it is; connections: where they are configured, for which instance, and no secret is shown."""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from evalsuite.cli import main
from evalsuite.core.errors import EvalsuiteError, GoldError, UsageError
from evalsuite.core.types import GoldInstance
from evalsuite.gold.connection_files import read_connections
from evalsuite.gold.layouts import read_gold

pytestmark = pytest.mark.usefixtures("shared_fork_server")

IDS = ("local001", "local002", "bq001", "ga002", "sf_003")
TABLE = "a,b\n1,x\n2,y\n"


def database(place: Path) -> None:
    """A database with one table of two rows."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(place)) as connection:
        connection.executescript("create table t (a, b); insert into t values (1, 'x'), (2, 'y')")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a checkout-shaped `spider2-lite`, answers in `sub`, and `dbs` that holds one of two databases."""
    gold = tmp_path / "spider2-lite" / "evaluation_suite" / "gold"
    (gold / "exec_result").mkdir(parents=True)
    (tmp_path / "sub").mkdir()
    database(tmp_path / "dbs" / "E commerce.sqlite")
    asked = [{"instance_id": id_, "db": "absent" if id_ == "local002" else "E commerce", "question": f"what of {id_}?"} for id_ in IDS]
    (tmp_path / "spider2-lite" / "spider2-lite.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked))
    specs = [{"instance_id": id_, "condition_cols": [], "ignore_order": True} for id_ in IDS]
    (gold / "spider2lite_eval.jsonl").write_text("".join(json.dumps(row) + "\n" for row in specs))
    for id_ in IDS:
        (gold / "exec_result" / f"{id_}.csv").write_text(TABLE)
        (tmp_path / "sub" / f"{id_}.sql").write_text("SELECT a, b FROM t")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scored(*words: str, code: int, gold: str = "spider2-lite/evaluation_suite/gold") -> dict[str, dict[str, Any]]:
    """The results of a run by id."""
    n = len(list(Path().glob("out*")))
    assert main(["run", "sub", "--gold", gold, "--out", f"out{n}", "-q", "--no-cache", "--isolation", "none", *words]) == code
    lines = Path(f"out{n}", "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["instance_id"]: row for row in map(json.loads, lines)}


def test_local_answers_are_scored_and_the_rest_is_unscored(here: Path) -> None:
    """A database's name may hold a space; a missing file and absent servers are nobody's 0."""
    found = scored("--databases", "dbs", code=4)
    assert (found["local001"]["status"], found["local001"]["score"]) == ("scored", 1)
    for name in IDS[1:]:
        told = [found[name][key] for key in ("status", "fault", "score", "official", "strict")]
        assert told == ["unscored", "NEEDS_CONNECTION", None, None, None]


def test_without_a_word_of_golds_side_sql_is_refused(here: Path) -> None:
    """No file of questions, no connection: a query is no answer here, and counts 0; --questions names a file that lies elsewhere."""
    (here / "spider2-lite" / "spider2-lite.jsonl").rename(here / "asked.jsonl")
    assert {(row["fault"], row["score"]) for row in scored("--databases", "dbs", code=0).values()} == {("SQL_NOT_ALLOWED", 0)}
    assert scored("--databases", "dbs", "--questions", "asked.jsonl", code=4)["local001"]["score"] == 1
    assert main(["run", "sub", "--gold", "spider2-lite/evaluation_suite/gold", "--questions", "none.jsonl", "--no-save"]) == 2
    missing = "instance_id is missing"
    for line, why in (("[1]", "not a JSON object"), ('{"db": "x"}', missing), ('{"instance_id": 1}', missing)):
        (here / "asked.jsonl").write_text('{"instance_id": "q"}\n' + line + "\n")
        with pytest.raises(UsageError, match=rf"^asked\.jsonl:2: .*{why}"):
            read_gold(here / "spider2-lite/evaluation_suite/gold", questions=here / "asked.jsonl")


def test_snow_asks_snowflake_for_every_instance(here: Path) -> None:
    """The account of the reference's credential file, with the database of the question; keys are spelled as Snow has them."""
    gold = here / "spider2-snow" / "evaluation_suite" / "gold"
    (gold / "exec_result").mkdir(parents=True)
    (gold / "spider2snow_eval.jsonl").write_text('{"instance_id": "sf_bq011", "condition_cols": [], "ignore_order": true}\n')
    asked = {"instance_id": "sf_bq011", "instruction": "how many?", "db_id": "GA4"}
    (here / "spider2-snow" / "spider2-snow.jsonl").write_text(json.dumps(asked) + "\n")
    instance = read_gold(gold).instances[0]
    assert instance.question_entry == {"db": "GA4", "question": "how many?", "engine": "snowflake"}
    with pytest.raises(UsageError, match="no connection to snowflake"):
        read_connections(gold).of_instance(instance)
    (gold.parent / "snowflake_credential.json").write_text('{"user": "u", "password": "p", "account": "a-1"}')
    found = read_connections(gold).of_instance(instance)
    assert (found.engine, found.database, found.options["account"]) == ("snowflake", "GA4", "a-1")


def test_a_pattern_names_a_database_for_each_instance(here: Path) -> None:
    """`{db}` is what the file of questions or gold's line says; an instance without it is told, and a connection of the user's own wins."""
    database(here / "dbs" / "absent" / "absent.sqlite")
    (here / "connections.yaml").write_text('local: {engine: sqlite, database: "{db}/{db}.sqlite", prefix: local}\n')
    found = scored("--databases", "dbs", code=4)
    assert (found["local002"]["score"], found["local002"]["details"]["sql"]["connection"]) == (1, "local: absent/absent.sqlite")
    assert found["local001"]["fault"] == "NEEDS_CONNECTION"
    (here / "connections.yaml").write_text('local: {engine: sqlite, database: "{who}.sqlite", prefix: local}\n')
    assert "'who'" in scored("--databases", "dbs", code=4)["local001"]["reason"]


def test_doctor_says_what_is_missing_for_how_many(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line a need that mends it, exit 0; the same as JSON; nothing where nothing is missing."""
    gold = "spider2-lite/evaluation_suite/gold"
    assert main(["doctor", gold]) == 0
    shown = capsys.readouterr().out
    assert "2 instances: no folder of databases is given\n   mend: --databases DIR\n   local001, local002" in shown
    assert "done: 0 of 5 instances have all they need" in shown
    assert main(["doctor", gold, "--databases", "dbs", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(need["what"].partition(" is ")[0], need["instances"]) for need in found["needs"]] == [
        ("no connection to bigquery", ["bq001", "ga002"]),
        ("no absent.sqlite in the folder of --databases", ["local002"]),
        ("no connection to snowflake", ["sf_003"]),
    ]
    # Answers that are files are scored wherever there is a gold table.
    (here / gold / "exec_result" / "bq001.csv").unlink()
    assert main(["doctor", gold]) == 0
    assert "note: answers that are files need no connection: those to 4 of 5 instances can be scored" in capsys.readouterr().out
    (here / "plain" / "q").mkdir(parents=True)
    check = {"func": "string_match", "parameters": {"gold": "Paris"}}
    (here / "plain" / "x_eval.jsonl").write_text(json.dumps({"instance_id": "q", "evaluation": check}) + "\n")
    assert main(["doctor", "plain"]) == 0
    assert "nothing is missing for 1 instance" in capsys.readouterr().out
    (here / "plain" / "x_eval.jsonl").write_text("")
    assert main(["doctor", "plain"]) == 0
    assert capsys.readouterr().out == "done: this gold has no instance\n"


@pytest.mark.parametrize(
    ("name", "text"), [("snowflake", "not json"), ("snowflake", '{"user": "", "account": ""}'), ("bigquery", "[]"), ("bigquery", "{}")]
)
def test_a_broken_credential_costs_its_own_engine_alone(name: str, text: str, here: Path) -> None:
    """What other instances ask is none of its business."""
    (here / "spider2-lite" / "evaluation_suite" / f"{name}_credential.json").write_text(text)
    found = scored("--databases", "dbs", code=4)
    assert found["local001"]["score"] == 1
    assert {id_: row["fault"] for id_, row in found.items() if id_ != "local001"} == dict.fromkeys(IDS[1:], "NEEDS_CONNECTION")
    told = found["sf_003" if name == "snowflake" else "bq001"]["reason"]
    assert "credential" in told or "needs account and user" in told


def test_doctor_opens_the_files(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A database that is damaged, none, or has changes beside it is told, for pairs too; it is what a run would say."""
    whole = (here / "dbs" / "E commerce.sqlite").read_bytes()
    (here / "dbs" / "E commerce.sqlite").write_bytes(whole[:100] + b"\xff" * (len(whole) - 100))
    (here / "dbs" / "absent.sqlite").write_bytes(b"")
    database(here / "dbs" / "late.sqlite")
    (here / "dbs" / "late.sqlite-wal").write_bytes(b"x")
    assert main(["doctor", "spider2-lite/evaluation_suite/gold", "--databases", "dbs"]) == 0
    shown = capsys.readouterr().out
    assert "1 instance: E commerce.sqlite is damaged: SQLite cannot read its file\n   mend: copy it again\n   local001" in shown
    assert "1 instance: absent.sqlite is not an SQLite database" in shown
    (here / "gold.sql").write_text("SELECT 1\tlate\nSELECT 1\tlate\n")
    assert main(["doctor", "gold.sql", "--databases", "dbs"]) == 0
    assert "2 instances: late.sqlite-wal contains changes that are not in the file" in capsys.readouterr().out


def test_questions_that_lie_elsewhere_stay_with_the_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """rescore, explain and check of a run read the file that it was made with; verify reads the one that is given to it alone."""
    (here / "spider2-lite" / "spider2-lite.jsonl").rename(here / "asked.jsonl")
    (here / "sub" / "local001.sql").write_text("SELECT a, b || '' AS b FROM t WHERE a = 1")
    assert scored("--databases", "dbs", "--questions", "asked.jsonl", code=4)["local001"]["status"] == "scored"
    assert main(["rescore", "out0", "--databases", "dbs"]) == 4
    assert "0 of 5 verdicts changed" in capsys.readouterr().out
    for command in ("explain", "check"):
        assert main([command, "local001", "--run", "out0", "--databases", "dbs", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["status"] == "scored"
    for words in ("rescore out0", "explain local001 --run out0", "check local001 --run out0", "doctor spider2-lite/evaluation_suite/gold"):
        assert main([*words.split(), "--databases", "dbs", "--questions", "none.jsonl"]) == 2
        assert "none.jsonl" in capsys.readouterr().err
    assert main(["verify", "out0", "--databases", "dbs"]) == 2
    assert "--questions FILE: one that you trust" in capsys.readouterr().err
    assert main(["verify", "out0", "--databases", "dbs", "--questions", "asked.jsonl", "--json"]) in (0, 4)
    assert all(finding["good"] for finding in json.loads(capsys.readouterr().out)["findings"])


def test_the_words_of_the_references_own_command(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those with a meaning here have it, the others are named; the README's own form of an answer type is read with a note."""
    words = ["--databases", "dbs", "--mode", "sql", "--max_workers", "1", "--timeout", "20", "--temp_dir", "made", "--is_sql_debug"]
    scored(*words, code=4)
    said = capsys.readouterr().err
    assert "--temp_dir has no meaning here" in said
    assert "--is_sql_debug has no meaning here" in said
    assert json.loads(Path("out0/run.json").read_text())["options"]["limits"] == {"seconds": 20.0}
    (here / "one" / "q").mkdir(parents=True)
    (here / "handed_in" / "q").mkdir(parents=True)
    check = {"func": "table_match", "parameters": {"gold": "g.csv"}}
    (here / "one" / "x_eval.jsonl").write_text(json.dumps({"instance_id": "q", "evaluation": check}) + "\n")
    for side in ("one", "handed_in"):
        (here / side / "q" / "g.csv").write_text(TABLE)
    answer = {"instance_id": "q", "answer_type": ["file"], "answer_or_path": "g.csv"}
    (here / "handed_in" / "results_metadata.jsonl").write_text(json.dumps(answer) + "\n")
    assert main(["run", "handed_in", "--gold", "one", "--no-save", "--no-cache"]) == 0
    assert "answer_type is a list of one" in capsys.readouterr().out


def test_validate_speaks_of_the_layout(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is not handed in is a file in a folder of files."""
    (here / "sub" / "bq001.sql").unlink()
    assert main(["validate", "sub", "--gold", "spider2-lite/evaluation_suite/gold"]) == 1
    said = capsys.readouterr().out
    assert "add bq001.csv or bq001.sql" in said
    assert "results_metadata.jsonl" not in said


PLACEHOLDERS = ("", " ", "your_username", "YOUR_PASSWORD", "<password>", "<your account>", "xxx", "xxxxxx", "your-private-key")
SNOWFLAKE = {"user": "reader", "password": "p4ss", "account": "RSRSBDK-YDB67606"}
SERVICE = {"project_id": "acme", "private_key": "-----BEGIN", "client_email": "r@acme.iam.gserviceaccount.com"}
LOGINS = {"snowflake": SNOWFLAKE, "bigquery": SERVICE}
TEMPLATE_TEXTS = {"client_email": "xxxxx@xxx.iam.gserviceaccount.com", "private_key": "your_private_key"}


@pytest.mark.parametrize(
    ("engine", "key"),
    [
        # Only with its client a login without a placeholder is ready.
        pytest.param(engine, key, marks=[] if key else [pytest.mark.extras])
        for engine, login in LOGINS.items()
        for key in (None, *login)
    ],
)
def test_a_placeholder_in_a_credential_file_counts_as_absent(
    engine: str, key: str | None, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A login with the template's account is ready; one placeholder in any of its keys makes it none, for a run and for doctor alike."""
    id_, place = ("sf_003" if engine == "snowflake" else "bq001"), here / "spider2-lite" / "evaluation_suite"
    for text in PLACEHOLDERS if key else ("",):
        login = {**LOGINS[engine], **({key: TEMPLATE_TEXTS.get(key, text) if text == "xxx" else text} if key else {})}
        (place / f"{engine}_credential.json").write_text(json.dumps(login))
        gold = read_gold(place / "gold")
        instance = next(one for one in gold.instances if one.instance_id == id_)
        if key is None:
            assert read_connections(gold.folder).of_instance(instance) is not None
        else:
            with pytest.raises(UsageError, match=f"absent, empty or a placeholder: {key}$"):
                read_connections(gold.folder).of_instance(instance)
    assert main(["doctor", "spider2-lite/evaluation_suite/gold", "--json"]) == 0
    needs = json.loads(capsys.readouterr().out)["needs"]
    assert any(id_ in need["instances"] for need in needs) == (key is not None)


@pytest.mark.parametrize(("described", "lacking"), [
    ({"engine": "snowflake", **SNOWFLAKE, "password": "xxx", "private_key_file": "key.p8"}, None),
    ({"engine": "snowflake", **SNOWFLAKE, "password": "${UNFILLED}"}, "password"),
    ({"engine": "snowflake", **SNOWFLAKE, "schema": "xxx"}, None),
    ({"engine": "snowflake", **SNOWFLAKE, "user": "xxx", "password": "<p>"}, "password, user"),
    ({"engine": "postgres", "host": "db", "password": ""}, None),
    ({"engine": "postgres", "host": "db", "password": "your_password"}, "password"),
    ({"engine": "postgres", "host": "<host>"}, "host"), ({"engine": "bigquery", "credentials": "default"}, None),
    ({"engine": "bigquery"}, "credentials"),
    ({"engine": "bigquery", "endpoint": "http://127.0.0.1:9"}, None),
])  # fmt: skip
def test_a_placeholder_in_a_connection_counts_as_absent(described: dict[str, str], lacking: str | None, here: Path) -> None:
    """Another proof may stand in for it; what is no login, and an empty password of a server that asks none, is no matter."""
    (here / "connections.yaml").write_text(json.dumps({"own": {**described, "prefix": "sf"}}))
    instance = read_gold(here / "spider2-lite" / "evaluation_suite" / "gold").instances[-1]
    connections = read_connections(environment={"UNFILLED": ""})
    if lacking is None:
        found = connections.of_instance(instance)
        assert not {"xxx", "", "your_password"} & {str(value) for key, value in found.options.items() if key != "schema"}
    else:
        with pytest.raises(UsageError, match=f"absent, empty or a placeholder: {lacking}$"):
            connections.of_instance(instance)


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
    (tmp_path / "here").mkdir()
    return tmp_path / "here"


@pytest.mark.parametrize(("instance_id", "extra", "parameters", "name"), [
    ("loc_1", {}, {}, "local"), ("local_1", {}, {}, "big"), ("local_big_1", {}, {}, "local"), ("local_7", {}, {}, "one"),
    ("local_1", {"db_id": "hr"}, {}, "hr"), ("local_7", {"db_id": "hr"}, {}, "one"), ("local_7", {"connection": "big"}, {}, "big"),
    ("local_7", {"connection": "big"}, {"connection": "hr"}, "hr"),
    ("local_7", {}, {"engine": "sqlite", "database": "local"}, "local"),
    ("other", {}, {}, None),
])  # fmt: skip
def test_the_closest_entry_wins(
    gold: Path, working: Path, instance_id: str, extra: dict[str, str], parameters: dict[str, str], name: str | None
) -> None:
    """The check's parameters, the gold line's own key, the id, metadata, then the longest prefix; else no connection."""
    known = read_connections(gold, working=working, environment={})
    found = known.of_instance(GoldInstance(instance_id=instance_id, checks=(), extra=extra), parameters)
    assert (found.name if found else None) == name
    with pytest.raises(UsageError) as caught:
        known.get("locl")
    assert caught.value.hint == "did you mean 'local'?"


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


@pytest.mark.parametrize(("parameters", "error", "message"), [
    ({"engine": "sqlite", "database": "../x"}, GoldError, "q:1: the database '../x' leaves the folder of --databases"),
    ({"engine": "sqlite", "database": "/x"}, GoldError, "q:1: the database '/x' leaves the folder of --databases"),
    ({"engine": "sqlite", "database": "~x"}, GoldError, "q:1: the database '~x' leaves the folder of --databases"),
    ({"engine": "mysql", "database": "x"}, GoldError, "q:1: unknown engine 'mysql'"),
    ({"engine": "duckdb", "database": "hr"}, GoldError, "q:1: connection 'hr' is sqlite, not duckdb"),
    ({"engine": "postgres"}, GoldError, "q:1: postgres needs a configured connection"),
    ({"engine": "sqlite", "database": "x"}, UsageError, "q:1: the database 'x' was not found"),
])  # fmt: skip
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


@pytest.mark.parametrize(("text", "message", "hint"), [
    ("a: 1", "must be a mapping with an engine", "duckdb"),
    ("a: {engine: sqlit}", "unknown engine 'sqlit'", "did you mean 'sqlite'?"),
    (f"a: {{engine: postgres, passwort: {SECRET}}}", "unknown key 'passwort'", "did you mean 'password'?"),
    (f"a: {{engine: postgres, password: [{SECRET}]}}", "password of connection 'a' must be text", ""),
    ("a: {engine: sqlite, prefix: ''}", "prefix of connection 'a'", ""),
    ("a: {engine: sqlite, instances: [7]}", "instances of connection 'a'", ""),
    ("a: {engine: sqlite, metadata: x}", "metadata of connection 'a'", ""),
    ("- a", "not a mapping", ""), ("connections: [a]", "must be a mapping", ""),
])  # fmt: skip
def test_what_cannot_be_meant(working: Path, text: str, message: str, hint: str) -> None:
    """The message names file and line, connection and key, and no value; so does that of suite.yaml."""
    (working / "suite.yaml").write_text("description: x\nconnections: [a]\n")
    with pytest.raises(GoldError, match=r"here/suite.yaml:2: connections must be a mapping of names to connections"):
        read_connections(working, environment={})
    (working / "connections.yaml").write_text(text)
    with pytest.raises(GoldError) as caught:
        read_connections(working=working, environment={})
    assert caught.value.message.startswith("here/connections.yaml:1: ")
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert SECRET not in caught.value.message + caught.value.hint
