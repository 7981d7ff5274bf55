"""The files of an answer and of gold: who is blamed for one that cannot be read, a digest of what was read, and what is kept of it."""

import gzip
import hashlib
import io
import os
from pathlib import Path
from typing import Any

import pytest

from evalsuite.compare.columns import packed_of
from evalsuite.core.errors import FaultError
from evalsuite.core.types import BROKEN_RECORD
from evalsuite.readers import csv_table, gold_files, load_answer, paths
from evalsuite.readers.limits import DEFAULT_LIMITS, resolve_limits
from evalsuite.readers.load_answer import (
    FileCache,
    gold_table_names,
    read_answer,
    read_gold_copy,
    read_gold_files,
    read_gold_query,
    read_pair,
    read_query,
)
from evalsuite.readers.paths import UNKNOWN, AnswerFiles
from evalsuite.runs.task_execution import GoldOrder, read_ahead
from tests.duckdb_files import opened

LIMITS = resolve_limits()
A, B = b"n\n1\n2\n", b"n\n1\n3\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder of instance q in a submission, with one file."""
    (tmp_path / "q").mkdir()
    (tmp_path / "q" / "r.csv").write_bytes(A)
    return tmp_path / "q"


def files(place: Path, **limits: float) -> AnswerFiles:
    return AnswerFiles(place.parent, "q", resolve_limits(limits))


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("how", ["renamed", "written"])
def test_the_digest_is_of_what_was_read(place: Path, how: str) -> None:
    """A file that is exchanged or rewritten after it was read, while it is still open, changes nothing."""
    opened = files(place)
    with opened.open("r.csv") as handle:
        first = handle.read()
        if how == "renamed":
            (place / "other").write_bytes(B)
            (place / "other").replace(place / "r.csv")
        else:
            (place / "r.csv").write_bytes(B)
    assert (first, opened.digests()) == (A, {"r.csv": sha(A)})


@pytest.mark.parametrize("piece", [1, 2, 3, len(A)])
def test_two_readings_that_differ_have_no_digest(place: Path, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one form was read of is not what the other was: nobody can say what the verdict is about."""
    monkeypatch.setattr(paths, "PIECE", piece)
    opened = files(place)
    for data, digest in ((A, sha(A)), (A, sha(A)), (B, UNKNOWN), (A, UNKNOWN)):
        (place / "r.csv").write_bytes(data)
        with opened.open("r.csv") as handle:
            assert handle.read() == data
        assert opened.digests() == {"r.csv": digest}


@pytest.mark.parametrize("now", [A[:-1], A + b"4\n", b""])
def test_a_file_that_shrank_or_grew_has_no_digest(place: Path, now: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second reading ends elsewhere."""
    monkeypatch.setattr(paths, "PIECE", 3)
    opened = files(place)
    with opened.open("r.csv") as handle:
        handle.read()
    (place / "r.csv").write_bytes(now)
    with opened.open("r.csv") as handle:
        handle.read()
    assert opened.digests() == {"r.csv": UNKNOWN}


def test_what_nobody_needed_and_a_rest_that_could_not_be_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The digest is of the whole file, read on for it; a rest that failed once, or another beginning, stays unknown."""
    monkeypatch.setattr(paths, "PIECE", 2)
    opened = files(place)
    with opened.open("r.csv") as handle:
        handle.read(1)
    for name in ("_piece", "no part of the module"):
        with monkeypatch.context() as patch:
            patch.setattr(paths, name, lambda *_: os.fstat(-1), raising=False)
            assert opened.digests() == {"r.csv": UNKNOWN}
    opened = files(place)
    with opened.open("r.csv") as handle:
        assert handle.read(1) == b"n"
    (place / "r.csv").write_bytes(B)
    assert opened.digests() == {"r.csv": sha(B)}
    opened = files(place, file_bytes=3)
    opened.open("r.csv", query=True).close()
    assert opened.digests() == {"r.csv": UNKNOWN}, "no more is read than any file may have"
    opened = files(place)
    with opened.open("r.csv") as handle:
        handle.read(1)
    (place / "r.csv").write_bytes(b"m" + B[1:])
    assert opened.digests() == {"r.csv": UNKNOWN}


def test_a_file_can_be_read_again_from_any_place(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines, seeks and short readings give its bytes and digest; one that was closed is opened again, as whatever it is then."""
    monkeypatch.setattr(paths, "PIECE", 4)
    opened, data = files(place), bytes(range(256)) * 3
    (place / "r.csv").write_bytes(data)
    with files(place).open("r.csv") as handle:
        handle.seek(5)
        assert handle.read(2) == data[5:7]
    with opened.open("r.csv") as handle:
        assert handle.read(10) == data[:10]
        handle.seek(3)
        assert handle.tell() == 3
        assert handle.readline() == data[3:11]
        assert handle.read() == data[11:]
        handle.seek(0)
        assert handle.read() == data
        handle.seek(5)
        handle.seek(2, os.SEEK_CUR)
        assert handle.read(1) == data[7:8]
        assert (handle.readable(), handle.seekable(), os.fstat(handle.fileno()).st_size) == (True, True, len(data))
        with pytest.raises(io.UnsupportedOperation, match="the end of a file"):
            handle.seek(0, os.SEEK_END)
    assert opened.digests() == {"r.csv": sha(data)}
    monkeypatch.setattr(paths, "PIECE", 2)
    opened, names = files(place), [f"{i}.csv" for i in range(paths.MOST_OPEN + 2)]
    for name in names:
        (place / name).write_bytes(A)
        with opened.open(name) as handle:
            handle.read(3)
    for name in names:
        (place / "other").write_bytes(B)
        (place / "other").replace(place / name)
    (place / names[1]).unlink()
    with opened.open(names[2]) as second, opened.open(names[-1]) as last, opened.open(names[0]) as first:
        assert (second.read(), last.read(), first.read()) == (A, A, B)
    with pytest.raises(FaultError, match="the file is not there"):
        opened.open(names[1])
    found = opened.digests()
    assert [found[name] for name in (names[2], names[-1], names[0], names[1])] == [sha(A), sha(A), sha(B), UNKNOWN]


def test_faults_stand_in_the_place_of_digests(place: Path) -> None:
    """What kept a file from being opened is what was seen of it; a query is no table, and opened as such it is a file like any other."""
    (place / "link.csv").symlink_to("r.csv")
    (place / "q.sql").write_bytes(b"SELECT 1")
    opened = files(place, file_bytes=len(A))
    (place / "big.csv").write_bytes(A + A)
    for path in ("gone.csv", "link.csv", "big.csv", "../q/r.csv", "q.sql", "Q.SQL"):
        with pytest.raises(FaultError):
            opened.open(path)
    assert opened.digests() == {"gone.csv": "MISSING_FILE", "link.csv": "BAD_PATH", "big.csv": "TOO_LARGE", "../q/r.csv": "BAD_PATH"}
    opened.open("q.sql", query=True).close()
    assert opened.digests()["q.sql"] == sha(b"SELECT 1"), "though nothing of it was read"
    opened = files(place, file_bytes=3)
    with opened.open("r.csv", query=True) as handle:
        assert handle.read() == A
    with pytest.raises(FaultError, match="6 bytes, the limit is 3"):
        opened.open("r.csv")
    assert opened.identify(["gone.csv"]) == {}


@pytest.mark.parametrize("form", ["table", "tables", "text", "tree"])
def test_every_form_is_digested(place: Path, form: str) -> None:
    """Compressed tables, texts and trees: the digest is that of the file as it lies there."""
    data = {"tree": b'{"a": 1}', "text": b"Paris"}.get(form, gzip.compress(A))
    name = "r.csv.gz" if form in ("table", "tables") else "r.txt"
    (place / name).write_bytes(data)
    opened = files(place)
    value = (name,) if form == "tables" else name
    read = read_answer(form, answer_type="file", value=value, files=opened, table_names=None, limits=LIMITS)
    assert opened.digests() == {name: sha(data)}
    if form in ("tree", "text"):
        assert read == {"tree": {"a": 1}, "text": "Paris"}[form]


def test_a_table_in_blocks_is_digested_as_its_blocks_are_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A big table is read as often as it is asked for: what nobody has read yet may change, what was read may not."""
    monkeypatch.setattr(paths, "PIECE", 1 << 16)
    monkeypatch.setattr(csv_table, "_CHUNK", 1 << 16)
    data = b"a,b\n" + b"1,2\n" * 100_000
    (place / "r.csv").write_bytes(data)
    for change in (False, True):
        opened = files(place)
        table = read_answer("table", answer_type="file", value="r.csv", files=opened, table_names=None, limits=LIMITS)
        if change:
            with (place / "r.csv").open("r+b") as handle:
                handle.seek(-4, os.SEEK_END)
                handle.write(b"7,7\n")
        n_rows = sum(len(block) for block in table.source.blocks())
        assert (n_rows, table.read().n_rows) == (100_000, 100_000)
        now = (place / "r.csv").read_bytes()
        assert opened.digests() == {"r.csv": sha(now)}
        with (place / "r.csv").open("r+b") as handle:
            handle.write(b"c")
        next(iter(table.source.blocks()))
        assert opened.digests() == {"r.csv": UNKNOWN}
        (place / "r.csv").write_bytes(data)


@pytest.mark.parametrize("most", [1, 3])
def test_a_disk_that_returns_less_than_was_asked_for(place: Path, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked again until the piece is whole or the file ends."""
    read = os.read
    monkeypatch.setattr(paths, "PIECE", 4)
    monkeypatch.setattr(paths.os, "read", lambda descriptor, n: read(descriptor, min(n, most)))
    opened = files(place)
    with opened.open("r.csv") as handle:
        assert handle.read() == A
    assert opened.identify(["r.csv"]) == {"r.csv": (len(A), sha(A))}


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


def test_forms_of_gold_and_of_an_answer(gold: Path) -> None:
    """A broken gold of a list is a fault in its place, each read when asked for; trees are values, texts or files; limits of a query."""
    found = read(gold, "table", gold=["a.csv", "b.csv"])["gold"]
    assert type(found) is list
    assert (found[0].header, found[1].code) == (("a",), "BAD_GOLD_FILE")
    for form, name in (("table", "b.csv"), ("tree", "t.json"), ("table", "../a.csv")):
        with pytest.raises(FaultError, match=f"gold file q/{name}: "):
            read(gold, form, gold=name)
    (gold / "q/u.json").write_text("[1]", encoding="utf-8")
    assert read(gold, "tree", gold={"a": 1}) == {"gold": {"a": 1}}
    assert read(gold, "tree", gold="u.json", schema='{"b": 2}') == {"gold": [1], "schema": {"b": 2}}
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
    names = ["a.csv", "b.csv", "gone.csv"]
    found = read_gold_files("table", {"gold": names}, folder=gold, instance_id="q", limits=DEFAULT_LIMITS, as_it_comes=True)["gold"]
    (gold / "q/b.csv").write_text("a\n2\n", encoding="utf-8")
    assert (len(found), found[0].columns[0], found[1].columns[0], found[-1].code) == (3, ["1"], ["2"], "BAD_GOLD_FILE")
    (gold / "q/b.csv").unlink()
    assert [table is found[at] for at, table in enumerate(found)] == [True] * 3
    assert found[:2] == [found[0], found[1]]
    with pytest.raises(IndexError):
        found[3]


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


def test_gold_and_an_equal_answer(gold: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gold stands for an equal answer under its name; not one of another size or digest, gone, broken, changed, or with a log."""
    digest = hashlib.sha256((gold / "q/a.csv").read_bytes()).hexdigest()
    (gold / "q/a.txt").write_bytes((gold / "q/a.csv").read_bytes())
    known: dict[str, Any] = {"folder": gold, "instance_id": "q", "limits": DEFAULT_LIMITS}
    copies = [
        read_gold_copy("table", name, 4, digest, file, parameters={}, **known)
        for name, file in (("R.CSV", "a.csv"), ("r.txt", "a.csv"), ("r.csv", "a.txt"))
    ]
    assert [copy and copy.name for copy in copies] == ["R.CSV", None, None]
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


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> FileCache:
    """An empty shelf in the place of this process's own."""
    made = FileCache()
    monkeypatch.setattr(load_answer, "FILE_CACHE", made)
    monkeypatch.setattr("evalsuite.readers.load_answer.FILE_CACHE", made)
    return made


def make(folder: Path) -> list[GoldOrder]:
    """Gold of three instances: a small table, one that comes packed, and a database; and the orders to read it."""
    for name in ("a", "b", "c"):
        (folder / name).mkdir(parents=True)
    (folder / "a" / "gold.csv").write_text("x,y\n1,2\n")
    (folder / "b" / "gold.csv").write_text("x,y\n" + "".join(f"{row},{row * 7919}\n" for row in range(40_000)))
    with opened(folder / "c" / "gold.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS x")
    tables = [("table", {"gold": "gold.csv"}, name) for name in ("a", "b")]
    return [*tables, ("database", {"gold": "gold.duckdb", "condition_tabs": ["t"]}, "c")]


def read_order(folder: Path, order: GoldOrder) -> Any:
    """What a judge gets."""
    form, parameters, instance_id = order
    return read_gold_files(form, parameters, folder=folder, instance_id=instance_id, limits=LIMITS, as_it_comes=True)["gold"]


def test_what_was_read_ahead_is_not_read_again(tmp_path: Path, shelf: FileCache) -> None:
    """All forms come back from the process that read them; a file at fault is left to who asks for it."""
    orders = make(tmp_path)
    read_ahead(tmp_path, LIMITS, [("table", {"gold": "none.csv"}, "a"), *orders])
    found = [read_order(tmp_path, order) for order in orders]
    assert shelf.n_read == 0
    assert [list(found[0].columns[0]), found[1].n_rows, found[2]["t"].columns[0]] == [["1"], 40_000, [1]]
    assert found[1].columns[1][39_999] == str(39_999 * 7919)


def test_what_a_cache_keeps_and_drops(tmp_path: Path) -> None:
    """As many bytes as it may have and no more: of what is too much the least recently read goes first. Nor what is under no name."""
    cache = FileCache(32)
    for name, size in {"a": 16, "b": 16, "c": 1, "d": 33, "e": 32, "f": 2}.items():
        (tmp_path / name).write_bytes(bytes(size))

    def reads(name: str, value: Any = "") -> int:
        before = cache.n_read
        assert cache.read(tmp_path / name, "how", lambda: value) == value
        return cache.n_read - before

    assert [(reads(name), cache.is_full) for name in "aab"] == [(1, False), (0, False), (1, True)]
    assert [reads(name) for name in "abacab"] == [0, 0, 0, 1, 0, 1]
    other = FileCache(32)
    other.take(cache.to_bytes())
    assert (other.read(tmp_path / "b", "how", lambda: "new"), other.n_read) == ("", 0)
    assert (other.read(tmp_path / "b", "other how", lambda: "new"), other.n_read) == ("new", 1)
    assert [reads(name) for name in "ddee"] == [1, 1, 1, 0]
    assert [reads("c", object), reads("c", object)] == [1, 1]
    assert [cache.has_room_for(tmp_path / name) for name in ("c", "f", "none")] == [True, False, False]
    assert FileCache(33).has_room_for(tmp_path / "f")
    cache = FileCache()
    (tmp_path / "a").touch()
    for n_read, name in enumerate(("a", "a", "none", "none"), start=1):
        assert cache.read(tmp_path / name, "how", lambda: str((tmp_path / "a").write_text("x" * cache.n_read + "x")))
        assert cache.n_read == n_read


def test_digests_of_gold_are_known_with_its_files(tmp_path: Path, shelf: FileCache) -> None:
    """What was hashed for gold as a whole is not read again to compare a file of an answer with it."""
    make(tmp_path)
    (tmp_path / "x_eval.jsonl").touch()
    gold = gold_files.read_gold_files(tmp_path)
    shelf.take(gold.to_cache())
    assert load_answer._digest(tmp_path / "a" / "gold.csv") == gold.digests["a/gold.csv"]
    assert (shelf.n_read, shelf._n_bytes) == (0, 64 * len(gold.digests))


def test_names_of_gold_tables_are_read_with_the_tables(tmp_path: Path, shelf: FileCache) -> None:
    """What was read for them is what a judge gets; without room for it only the names are read."""
    order = make(tmp_path)[2]
    with opened(tmp_path / "c" / "gold.duckdb") as connection:
        connection.execute("CREATE TABLE u AS SELECT 2 AS x")
    assert gold_table_names(tmp_path, "c", "gold.duckdb", LIMITS) == ("t", "u")
    known = read_gold_files("database", {"gold": "gold.duckdb"}, folder=tmp_path, instance_id="c", limits=LIMITS, as_it_comes=True)
    assert (shelf.n_read, known["gold"]["t"].columns[0], order[2]) == (1, [1], "c")
    shelf._most_bytes = 1
    assert (gold_table_names(tmp_path, "c", "gold.duckdb", LIMITS), shelf.n_read) == (("t", "u"), 1)
    assert list(read_order(tmp_path, order)) == ["t"], "without those that nobody asks for"
