"""`evalsuite validate` lists, line by line, what prevents a folder from being submitted."""

import json
import shutil
from pathlib import Path
from unittest import mock

import duckdb
import pytest

from evalsuite.core.types import METADATA
from evalsuite.sandbox.rpc_client import KilledError, RpcClient
from tests.cli.test_run import as_json, called, lacks, said, write_lines
from tests.conftest import copy_of

pytestmark = pytest.mark.usefixtures("shared_fork_server")

NAME = "results_metadata.jsonl"


def line(instance: str, value: object, kind: str = "file") -> dict[str, object]:
    """One object of results_metadata.jsonl."""
    return {"instance_id": instance, "answer_type": kind, "answer_or_path": value}


def gold_line(instance: str, func: str, **parameters: object) -> dict[str, object]:
    """One object of gold's spec."""
    return {"instance_id": instance, "evaluation": {"func": func, "parameters": parameters}}


def make_sides(place: Path) -> None:
    """A submission with a text, a table, a database, two tables, all in order; gold's spec for the same, without any gold file."""
    folder = place / "sub"
    rows = [line("t", "Paris", "answer"), line("f", "r.csv"), line("d", "x.duckdb"), line("m", ["a.csv", "b.csv"], "files")]
    write_lines(folder / "results_metadata.jsonl", *rows)
    for name in ("f/r.csv", "m/a.csv", "m/b.csv", "d/none"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("a,b\n1,2\n")
    with duckdb.connect(str(folder / "d" / "x.duckdb")) as connection:
        connection.execute("CREATE TABLE orders (n INTEGER)")
        connection.execute("CREATE VIEW seen AS SELECT 1 AS n")
    spec = [
        gold_line("t", "string_match", gold="Paris"),
        gold_line("f", "table_match", gold="r.csv"),
        gold_line("d", "duckdb_match", gold="g.duckdb", condition_tabs=["orders"]),
        gold_line("m", "tables_match", gold=["a.csv", "b.csv"]),
    ]
    write_lines(place / "gold" / "toy_eval.jsonl", *spec)


place = copy_of(make_sides)


@pytest.fixture
def sub(place: Path) -> Path:
    """The submission."""
    return place / "sub"


@pytest.fixture
def gold(place: Path) -> Path:
    """The folder of gold."""
    return place / "gold"


def leave(sub: Path, gold: Path, *ids: str) -> None:
    """Leave these instances alone on both sides."""
    for path in (sub / NAME, gold / "toy_eval.jsonl"):
        write_lines(path, *(text for text in path.read_text().splitlines() if json.loads(text)["instance_id"] in ids))


def found(*arguments: object) -> tuple[int, list[str]]:
    """(exit code, `place id code` of each problem) by --json."""
    done = called("validate", *arguments, "--json")
    told = json.loads(done.stdout)
    assert told["ready"] == (not told["problems"]) == (done.returncode == 0)
    return done.returncode, [f"{p['where'].rpartition('/')[2]} {p['instance_id']} {p['code']}" for p in told["problems"]]


def test_an_archive_is_checked_like_its_folder(sub: Path, gold: Path) -> None:
    """Zipped, with and without a folder around it, and as the tar of a folder with a fault; an archive that is none is named."""
    leave(sub, gold, "t", "f")
    (sub / "f" / "r.csv").write_bytes(b"a\xff\xff\n")
    faults = found(sub, "--gold", gold)
    assert faults == (1, [f"{NAME}:2 f BAD_ENCODING"])
    for name, kind, root in (("a", "zip", sub), ("b", "zip", sub.parent), ("c", "gztar", sub)):
        packed = shutil.make_archive(str(gold.parent / name), kind, root, None if root == sub else sub.name)
        assert found(packed, "--gold", gold) == faults
    (gold.parent / "a.zip").write_bytes(b"PK")
    assert "a.zip: " in said("validate", gold.parent / "a.zip", code=2)


def test_a_big_table_is_read_to_its_end(sub: Path) -> None:
    """What is wrong with the last line of many is named too."""
    (sub / "f" / "r.csv").write_bytes(b"a,b\n" + b"1,2\n" * 100_000 + b"1,\xff\n")
    assert found(sub) == (1, ["results_metadata.jsonl:2 f BAD_ENCODING"])


def test_lines_are_checked(sub: Path) -> None:
    """Broken JSON, a missing id, a type nobody knows and an id that stands twice are problems; an unknown key is only a note."""
    rows = [
        "{not json",
        {"answer_type": "answer"},
        line("k", "x", "fille"),
        line("t", "Rome", "answer"),
        line("e", "x", "answer") | {"z": 1},
    ]
    write_lines(sub / NAME, line("t", "Paris", "answer"), *rows)
    expected = [f"{NAME}:1 t DUPLICATE_ID", f"{NAME}:2  BAD_METADATA", f"{NAME}:3  BAD_METADATA", f"{NAME}:4 k BAD_METADATA"]
    assert found(sub) == (1, expected)
    assert "note: results_metadata.jsonl:6: key 'z' is not read" in said("validate", sub, code=1)


def test_very_many_ids_that_gold_lacks_are_counted(sub: Path, gold: Path) -> None:
    """The first hundred are named at their lines, the others are one problem more; what they hand in is not looked at."""
    leave(sub, gold, "t")
    write_lines(sub / NAME, line("t", "Paris", "answer"), *(line(f"u{n}", "none.csv") for n in range(300)))
    code, problems = found(sub, "--gold", gold)
    assert (code, len(problems)) == (1, 101)
    assert sorted(problems) == sorted([f"{NAME}:{n + 2} u{n} UNKNOWN_ID" for n in range(100)] + [f"{METADATA}  UNKNOWN_ID"])
    out = said("validate", sub, "--gold", gold, code=1)
    assert not lacks(out, "200 more lines name such ids", "1 of 1 answers (1 answer), 1 ready")


def test_gold_adds_ids_and_answer_types(sub: Path, gold: Path) -> None:
    """With gold: an id it lacks, an answer type no check takes, a file of the wrong kind, a view for a table, an id not handed in."""
    rows = [line("tt", "x", "answer"), line("f", "text", "answer"), line("d", "x.duckdb"), line("m", "a.csv")]
    write_lines(sub / "results_metadata.jsonl", *rows)
    spec = (gold / "toy_eval.jsonl").read_text().replace('"orders"', '"seen"')
    (gold / "toy_eval.jsonl").write_text(spec)
    code, problems = found(sub, "--gold", gold)
    assert code == 1
    assert problems == [
        f"{NAME}:1 tt UNKNOWN_ID",
        f"{NAME}:2 f WRONG_ANSWER_TYPE",
        f"{NAME}:3 d NOT_A_TABLE",
        f"{NAME}:4 m WRONG_ANSWER_TYPE",
        "toy_eval.jsonl:1 t MISSING_INSTANCE",
    ]


def test_names_that_look_alike_are_told_apart(sub: Path, gold: Path) -> None:
    """An id and a file in another Unicode form (macOS), and a file in other case: the hint says so, where both names look the same."""
    write_lines(gold / "toy_eval.jsonl", gold_line("\xfc", "table_match", gold="r.csv"), gold_line("f", "table_match", gold="r.csv"))
    (sub / "f" / "e\u0301.csv").write_text("a\n")
    for name, hint in (
        ("R.CSV", "did you mean 'r.csv'?"),
        ("r.txt", "did you mean 'r.csv'?"),
        ("f/r.csv", "did you mean 'r.csv'?"),
        ("\xe9.csv", "another Unicode form"),
    ):
        write_lines(sub / NAME, line("u\u0308", "r.csv"), line("f", name))
        same = "gold's id has the same letters in another Unicode form"
        assert not lacks(said("validate", sub, "--gold", gold, code=1), hint, same)
    assert same in said("run", sub, "--gold", gold, "--no-save")
    (sub / "f").rename(sub / "other")
    (sub / "f").symlink_to(sub / "other")
    assert "did you mean" not in said("validate", sub, "--gold", gold, code=1)


def test_folders_that_look_like_an_id_are_named(sub: Path, gold: Path) -> None:
    """A folder in another Unicode form, in other case or with a space: `validate` and a run name it, unless it is another id's own."""
    ids = ("\xfc", "F", "m", "d", "D")
    write_lines(gold / "toy_eval.jsonl", *(gold_line(name, "table_match", gold="r.csv") for name in ids))
    write_lines(sub / NAME, *(line(name, "r.csv") for name in ids))
    (sub / "m").rename(sub / " m")
    (sub / "u\u0308").mkdir()
    hints = [f"rename the folder '{name}' to the id" for name in ("u\u0308", "f", " m")]
    out = said("validate", sub, "--gold", gold, code=1)
    assert not lacks(out, *hints)
    assert "rename the folder 'd'" not in out
    out = " ".join(said("run", sub, "--gold", gold, "--no-save").split())
    assert "(MISSING_FILE): 'u\u0308' for '\xfc', 'f' for 'F', ' m' for 'm'; rename it to the id" in out


def test_a_file_of_the_wrong_kind(sub: Path, gold: Path) -> None:
    """Gold decides what a file must be: a database where a CSV table is read cannot be handed in."""
    rows = [line("t", "x", "answer"), line("f", "x.duckdb"), line("d", "x.duckdb"), line("m", ["a.csv"], "files")]
    write_lines(sub / "results_metadata.jsonl", *rows)
    (sub / "f" / "x.duckdb").write_bytes((sub / "d" / "x.duckdb").read_bytes())
    code, problems = found(sub, "--gold", gold)
    assert (code, len(problems), problems[0].split()[1]) == (1, 1, "f")
    assert found(sub) == (0, [])


def test_an_empty_submission_is_not_ready(sub: Path) -> None:
    """A metadata file without a line is a problem; folders that no line names are notes."""
    (sub / "results_metadata.jsonl").write_text("")
    out = said("validate", sub, code=1)
    assert not lacks(out, "no line with an instance_id", "note: f/: no line of results_metadata.jsonl names this folder")
    assert out.splitlines()[-1] == "not ready: 1 problem (exit 1)"


def test_too_little_memory_is_no_problem_of_the_submission(sub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system kills the worker that reads a file, the command ends with 2: the file may be in order."""
    killed = mock.Mock(side_effect=KilledError("read the file"))
    monkeypatch.setattr(RpcClient, "call", killed)
    says = said("validate", sub, code=2)
    assert not lacks(says, "results_metadata.jsonl:2: f: the operating system killed the worker that read the file", "with more memory")


def test_no_submission_at_all(tmp_path: Path) -> None:
    """A folder that is absent, or has no metadata file, is exit 2; so is gold that cannot be read."""
    ended = [called("validate", tmp_path / "nope"), called("validate", tmp_path)]
    write_lines(tmp_path / "results_metadata.jsonl", line("t", "x", "answer"))
    ended.append(called("validate", tmp_path, "--gold", tmp_path / "nope"))
    assert [(done.returncode, done.stdout) for done in ended] == [(2, "")] * 3


def test_queries_of_instances_with_a_connection_are_no_faults(tmp_path: Path) -> None:
    """Where gold's side maps an instance to a connection its query is looked at as text; elsewhere SQL is refused, without gold open."""
    rows = [gold_line(name, "table_match", gold="g.csv") for name in ("good", "bad", "gone", "unmapped")]
    write_lines(tmp_path / "gold" / "n_eval.jsonl", *rows)
    described = "s: {engine: duckdb, database: s.duckdb, instances: [good, bad, gone]}\n"
    (tmp_path / "gold" / "connections.yaml").write_text(described)
    sub = tmp_path / "sub"
    write_lines(sub / "results_metadata.jsonl", *(line(row["instance_id"], "q.sql") for row in rows))  # type: ignore[arg-type]
    for name, text in (("good", "```sql\nSELECT 1;\n```"), ("bad", "DROP TABLE t"), ("unmapped", "SELECT 1")):
        (sub / name).mkdir()
        (sub / name / "q.sql").write_text(text)
    found = {item["instance_id"]: item["code"] for item in as_json("validate", sub, "--gold", tmp_path / "gold", code=1)["problems"]}
    assert found == {"bad": "SQL_NOT_ALLOWED", "gone": "MISSING_FILE", "unmapped": "SQL_NOT_ALLOWED"}
    alone = as_json("validate", sub, code=1)
    assert {item["instance_id"]: item["code"] for item in alone["problems"]} == {"gone": "MISSING_FILE"}
    assert alone["notes"] == ["3 answers in SQL: only gold says whether SQL is accepted (--gold FOLDER)"]
    assert (alone["n_answers"], alone["n_ready"], alone["n_gold"]) == ({"answer": 0, "file": 4, "files": 0}, 3, None)
