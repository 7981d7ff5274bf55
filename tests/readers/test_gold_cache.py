"""Gold that was read is kept: once for a worker, once for the judges of a leaderboard, and never longer than it stands so on disk."""

from pathlib import Path
from typing import Any

import pytest

from evalsuite.readers import gold_files, load_answer
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.load_answer import FileCache, gold_table_names, read_gold_files
from evalsuite.runs.task_execution import GoldOrder, read_ahead
from tests.duckdb_files import opened

LIMITS = resolve_limits()


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


def read(folder: Path, order: GoldOrder) -> Any:
    """What a judge gets."""
    form, parameters, instance_id = order
    return read_gold_files(form, parameters, folder=folder, instance_id=instance_id, limits=LIMITS, as_it_comes=True)["gold"]


def test_what_was_read_ahead_is_not_read_again(tmp_path: Path, shelf: FileCache) -> None:
    """All forms come back from the process that read them; a file at fault is left to who asks for it."""
    orders = make(tmp_path)
    read_ahead(tmp_path, LIMITS, [("table", {"gold": "none.csv"}, "a"), *orders])
    found = [read(tmp_path, order) for order in orders]
    assert shelf.n_read == 0
    assert [list(found[0].columns[0]), found[1].n_rows, found[2]["t"].columns[0]] == [["1"], 40_000, [1]]
    assert found[1].columns[1][39_999] == str(39_999 * 7919)


def test_what_a_cache_keeps_and_drops(tmp_path: Path) -> None:
    """As many bytes as it may have and no more: of what is too much the least recently read goes first."""
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


def test_what_changes_while_it_is_read_is_not_kept(tmp_path: Path) -> None:
    """Nor what is under no name."""
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
    assert list(read(tmp_path, order)) == ["t"], "without those that nobody asks for"
