"""Both sides' files in the forms that scorers take, and who is blamed for a file that cannot be read."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from evalsuite.compare.columns import packed_of
from evalsuite.core.errors import FaultError
from evalsuite.core.types import BROKEN_RECORD
from evalsuite.readers import load_answer
from evalsuite.readers.limits import DEFAULT_LIMITS
from evalsuite.readers.load_answer import read_answer, read_gold_copy, read_gold_files, read_gold_query, read_pair, read_query
from evalsuite.readers.paths import AnswerFiles
from tests.duckdb_files import opened


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    (tmp_path / "q").mkdir()
    (tmp_path / "q/a.csv").write_text("a\n1\n", encoding="utf-8")
    (tmp_path / "q/b.csv").write_text('a\n"1\n', encoding="utf-8")
    (tmp_path / "q/t.json").write_text("{", encoding="utf-8")
    return tmp_path


def read(folder: Path, form: str, **parameters: Any) -> dict[str, Any]:
    return read_gold_files(form, parameters, folder=folder, instance_id="q", limits=DEFAULT_LIMITS)


@pytest.mark.parametrize("error", [MemoryError, RecursionError])
def test_memory_that_gold_takes_is_no_limit_of_the_answer(gold: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    """Where a gold file, or the text of gold's entry, does not fit, nobody could have handed in anything better."""

    def too_much(*_: object, **__: object) -> None:
        raise error

    for module, name in ((load_answer.csv_table, "read_csv_table"), (load_answer, "read_tree"), (load_answer, "parse_tree")):
        monkeypatch.setattr(module, name, too_much)
    for form, name, code in (("table", "a.csv", "BAD_GOLD_FILE"), ("tree", "t.json", "BAD_GOLD_FILE"), ("tree", "{}", "BAD_SPEC")):
        with pytest.raises(FaultError) as caught:
            read(gold, form, gold=name)
        assert (caught.value.fault.code, caught.value.side) == (code, "gold")


def test_one_of_several_golds_may_be_broken(gold: Path) -> None:
    """A list of golds comes with the fault in the place of the one that cannot be read; a single one raises it, with the file's place."""
    found = read(gold, "table", gold=["a.csv", "b.csv"])["gold"]
    assert type(found) is list
    assert (found[0].header, found[1].code) == (("a",), "BAD_GOLD_FILE")
    for form, name in (("table", "b.csv"), ("tree", "t.json"), ("table", "../a.csv")):
        with pytest.raises(FaultError, match=f"gold file q/{name}: "):
            read(gold, form, gold=name)


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"gold": "{"}, "line 1: not valid JSON at column 2"),
        ({"gold": "{}", "schema": "{"}, "the schema, line 1: not valid JSON at column 2"),
        ({"gold": "{}", "schema": "t.json"}, "the schema, gold file q/t.json: line 1: not valid JSON at column 2"),
    ],
)
def test_a_tree_of_gold_that_is_broken(gold: Path, parameters: dict[str, str], why: str) -> None:
    """The fault is gold's, and says which of its two texts, or which file."""
    with pytest.raises(FaultError) as refused:
        read(gold, "tree", **parameters)
    assert (refused.value.side, refused.value.fault.detail.partition(": it ends")[0]) == ("gold", why)


def test_gold_in_the_place_of_an_equal_answer(gold: Path) -> None:
    """Under the answer's name, if both are CSV by their names."""
    digest = hashlib.sha256((gold / "q/a.csv").read_bytes()).hexdigest()
    (gold / "q/a.txt").write_bytes((gold / "q/a.csv").read_bytes())
    known: dict[str, Any] = {"folder": gold, "instance_id": "q", "limits": DEFAULT_LIMITS}
    copies = [
        read_gold_copy("table", name, 4, digest, file, parameters={}, **known)
        for name, file in (("R.CSV", "a.csv"), ("r.txt", "a.csv"), ("r.csv", "a.txt"))
    ]
    assert [copy and copy.name for copy in copies] == ["R.CSV", None, None]


def test_gold_that_is_not_an_equal_answer(gold: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of another size or digest, gone, broken, changed while it is read, or a database that an answer would not be read like."""
    known: dict[str, Any] = {"folder": gold, "instance_id": "q", "limits": DEFAULT_LIMITS, "parameters": {}}
    with opened(gold / "q/g.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS n")

    def copy(name: str, size: int | None, digest: str = "") -> Any:
        data = (gold / "q" / name).read_bytes() if (gold / "q" / name).exists() else b""
        form = "database" if name.endswith(".duckdb") else "table"
        return read_gold_copy(form, name, size, digest or hashlib.sha256(data).hexdigest(), name, **known)

    assert copy("a.csv", None).n_rows == 1
    for name, size, digest in (
        ("a.csv", 5, ""),
        ("a.csv", 4, "0" * 64),
        ("none.csv", None, ""),
        ("b.csv", None, ""),
        ("../a.csv", None, ""),
    ):
        assert copy(name, size, digest) is None, (name, size)
    assert list(copy("g.duckdb", None)["t"].columns[0]) == [1]
    (gold / "q/g.duckdb.wal").touch()
    assert copy("g.duckdb", None) is None
    (gold / "q/p.csv").write_text("a\n1\n")
    monkeypatch.setattr("evalsuite.readers.csv_table.PACKED_BYTES", 1)
    assert packed_of(copy("p.csv", None)) is not None
    digests = iter(["1", "2"])
    monkeypatch.setattr(load_answer, "_digest", lambda _: next(digests))
    assert (copy("a.csv", 4, "1"), next(digests, "both were read")) == (None, "both were read")


def test_forms_of_an_answer(gold: Path) -> None:
    """A file that is named twice is one table, and the result of a query has a limit of its own."""
    files = AnswerFiles(gold, "q", DEFAULT_LIMITS)
    known: dict[str, Any] = {"files": files, "table_names": None}
    first, second = read_answer("tables", answer_type="files", value=("a.csv", "a.csv"), limits=DEFAULT_LIMITS, **known)
    assert first is second
    private = {"value": "SELECT 1", "private": str(gold / "q/a.csv"), "answer_type": "answer"}
    limits = {**DEFAULT_LIMITS, "file_bytes": 1}
    assert read_answer("text", **private, limits=limits, **known) == "SELECT 1"
    private["answer_type"] = "file"
    assert read_answer("table", **private, limits=limits, **known).name == "a.csv"
    with pytest.raises(FaultError, match="4 bytes, the limit is 3"):
        read_answer("table", **private, limits={**limits, "result_bytes": 3}, **known)
    (gold / "q.sql").write_text("SELECT 2")
    assert read_gold_query(gold / "q.sql") == "SELECT 2"


def test_trees_of_gold(gold: Path) -> None:
    """Values, texts and files, each under its name; without a schema there is none."""
    (gold / "q/u.json").write_text("[1]", encoding="utf-8")
    assert read(gold, "tree", gold={"a": 1}) == {"gold": {"a": 1}}
    assert read(gold, "tree", gold="u.json", schema='{"b": 2}') == {"gold": [1], "schema": {"b": 2}}


def test_of_several_golds_each_is_read_when_it_is_asked_for(gold: Path) -> None:
    """Who compares is given what is like a list: what nobody asks for is not opened, one that cannot be read is a fault in its place."""
    names = ["a.csv", "b.csv", "gone.csv"]
    found = read_gold_files("table", {"gold": names}, folder=gold, instance_id="q", limits=DEFAULT_LIMITS, as_it_comes=True)["gold"]
    (gold / "q/b.csv").write_text("a\n2\n", encoding="utf-8")
    assert (len(found), found[0].columns[0], found[1].columns[0], found[-1].code) == (3, ["1"], ["2"], "BAD_GOLD_FILE")
    (gold / "q/b.csv").unlink()
    assert [table is found[at] for at, table in enumerate(found)] == [True] * 3
    assert found[:2] == [found[0], found[1]]
    with pytest.raises(IndexError):
        found[3]


def test_tables_of_many_rows_come_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of an answer's database, of gold's, and of a copy of either. A log next to it is named where a table is missing."""
    monkeypatch.setattr("evalsuite.readers.duckdb_tables.PACKED_ROWS", 3)
    (tmp_path / "q").mkdir()
    place = tmp_path / "q" / "r.duckdb"
    with opened(place) as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS n FROM range(3)")
    files = AnswerFiles(tmp_path, "q", DEFAULT_LIMITS)
    options: dict[str, Any] = {"files": files, "table_names": None, "limits": DEFAULT_LIMITS}
    found = [read_answer("database", answer_type="file", value="r.duckdb", **options)]
    for private in (None, place):
        prediction, gold = read_pair("database", place, {"gold": place}, private=private)
        found += [prediction, gold["gold"]]
    assert all(packed_of(tables["t"]) is not None for tables in found)
    options["table_names"] = ["t", "z"]
    (tmp_path / "q" / "r.duckdb.wal").write_bytes(b"log")
    for private in (None, str(place)):
        tables = read_answer("database", answer_type="file", value="r.duckdb", private=private, **options)
        assert tables["z"].detail.startswith("the database has no table 'z' in schema main; 'r.duckdb.wal' next to it is not read: close")
    (tmp_path / "q" / "q.sql").write_text("SELECT 1")
    assert read_query(files, "q.sql", limit_bytes=8) == "SELECT 1"
    with pytest.raises(FaultError, match="longer than 7 bytes"):
        read_query(files, "q.sql", limit_bytes=7)


def test_a_pair_of_plain_paths(tmp_path: Path) -> None:
    """A single check without folders: files, lists of them, ready values, or the text of a tree; a fault names the file."""
    for name, text in (
        ("a.csv", "n\n1\n"),
        ("b.csv", "n\n2\n"),
        ("t.json", '{"a": 1}'),
        ("bad.json", "{"),
        ("fenced.json", '```{"a": 2}```'),
    ):
        (tmp_path / name).write_text(text)
    for name in ("gold.duckdb", "own.duckdb"):
        with opened(tmp_path / name) as connection:
            connection.execute(f"CREATE TABLE {name[0]} AS SELECT 1 AS n; CREATE TABLE t AS SELECT 2 AS n")
    a, b, tree = (str(tmp_path / name) for name in ("a.csv", "b.csv", "t.json"))

    def rows(table: Any) -> list[Any]:
        return [list(column) for column in table.columns]

    prediction, named = read_pair("table", a, {"gold": b})
    assert (rows(prediction), rows(named["gold"])) == ([["1"]], [["2"]])
    predictions, named = read_pair("tables", [a, b], {"gold": [b, prediction]})
    assert ([rows(one) for one in predictions], rows(named["gold"][0]), named["gold"][1] is prediction) == (
        [[["1"]], [["2"]]],
        [["2"]],
        True,
    )
    own, gold = tmp_path / "own.duckdb", tmp_path / "gold.duckdb"
    for private in (None, own):
        prediction, named = read_pair("database", own if private is None else tmp_path / "x.duckdb", {"gold": gold}, private=private)
        assert ({*named["gold"]}, {*prediction}) == ({"g", "t"}, {"g", "t"})
        assert (rows(named["gold"]["t"]), rows(prediction["t"]), prediction["g"].code) == ([[2]], [[2]], "MISSING_TABLE")
    assert {*read_pair("database", own, {"gold": gold, "condition_tabs": ["t"]})[1]["gold"]} == {"t"}
    broken = {
        BROKEN_RECORD: {
            "line": 1,
            "cause": "line 1: not valid JSON at column 1: it begins with a Markdown code block",
            "repaired": {"a": 2},
        }
    }
    for prediction, value in ((tree, {"a": 1}), (Path(tree), {"a": 1}), ('{"b": 2}', {"b": 2}), (str(tmp_path / "fenced.json"), broken)):
        assert read_pair("tree", prediction, {"gold": tree, "schema": {"x": 1}}) == (value, {"gold": {"a": 1}, "schema": {"x": 1}})
    assert read_pair("tree", "[1]", {"gold": {"a": 3}, "schema": None}) == ([1], {"gold": {"a": 3}})
    bad = str(tmp_path / "bad.json")
    for form, prediction, parameters, code, where in (
        ("tree", bad, {"gold": tree}, "BAD_JSON", bad),
        ("tree", "{}", {"gold": bad}, "BAD_JSON", bad),
        ("tree", "{}", {"gold": str(tmp_path / "fenced.json")}, "BAD_JSON", str(tmp_path / "fenced.json")),
        ("tree", "{}", {"gold": str(tmp_path)}, "NOT_REGULAR_FILE", str(tmp_path)),
        ("table", str(tmp_path / "none.csv"), {"gold": a}, "MISSING_FILE", str(tmp_path / "none.csv")),
        ("database", a, {"gold": gold}, "BAD_DUCKDB", a),
    ):
        with pytest.raises(FaultError) as refused:
            read_pair(form, prediction, parameters)
        assert (refused.value.fault.code, refused.value.fault.where) == (code, where)
