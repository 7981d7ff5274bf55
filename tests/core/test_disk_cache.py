"""The disk cache is shared by processes; a damaged or foreign one costs only time."""

import multiprocessing
import os
import re
import signal
import sqlite3
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from evalsuite.core import disk_cache
from evalsuite.core.disk_cache import FILE, DiskCache, append_whole, code_stamp
from tests.processes import LIMIT_SECONDS, room_for_files, side_by_side
from tests.runs.store.every_moment import killed


def kept(folder: Path, **values: object) -> None:
    """Values of kind `a` written into a folder's memo."""
    memo = DiskCache(folder)
    for key, value in values.items():
        memo.put("a", key, value)
    memo.close()


def test_files_of_other_code_are_not_read(tmp_path: Path) -> None:
    """Each stamp has its own files, which those of another neither replace nor hide."""
    for stamp in ("1", "2", ""):
        memo = DiskCache(tmp_path, stamp=stamp)
        assert memo.files("key", os.listdir) is None
        memo.put_files("key", lambda folder, name=f"x{stamp}": (folder / name).touch())  # type: ignore[misc]
    for stamp in ("1", "2", ""):
        assert DiskCache(tmp_path, stamp=stamp).files("key", os.listdir) == [f"x{stamp}"]


def test_values_that_can_be_computed_again_do_not_wait_for_the_disk(tmp_path: Path) -> None:
    """Written one by one they would wait each time; all at once they wait once."""
    for at_once, synchronous in ((True, 0), (False, 1)):
        memo = DiskCache(tmp_path, at_once=at_once)
        memo.put_all("a", [("key", 1)])
        assert memo._connection is not None
        assert memo._connection.execute("PRAGMA synchronous").fetchone() == (synchronous,)
        memo.close()


def test_the_stamp_of_the_code_is_that_of_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the names and bytes of the package and nothing next to it; when its files were written does not matter."""
    monkeypatch.setattr(disk_cache, "__file__", str(tmp_path / "evalsuite/core/disk_cache.py"))
    stamps = []
    for name, code in (
        *(("evalsuite/core/disk_cache.py", "a"), ("evalsuite/a/b.py", "b"), ("evalsuite/a/b.py", "c"), ("evalsuite/a/bc.py", "")),
        *(("evalsuite/a/page.html", "d"), ("tests/other.py", "e"), ("evalsuite/a/b.py", "c")),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(code)
        os.utime(tmp_path / name, ns=(len(stamps), len(stamps)))
        stamps.append(code_stamp.__wrapped__())
    assert len(set(stamps[:4])) == 4
    assert set(stamps[3:]) == {stamps[3]}


def test_many_values_are_written_at_once(tmp_path: Path) -> None:
    """All of them are known before the memo is closed, take the place of what was known, and a broken one among them keeps all out."""
    memo = DiskCache(tmp_path)
    memo.put_all("a", ((str(n), n) for n in range(3)))
    assert DiskCache(tmp_path).get_all("a", ["0", "2", "3"]) == {"0": 0, "2": 2}
    memo.put_all("a", [("2", "new")])
    assert memo.get("a", "2") == "new"
    with pytest.raises(TypeError):
        memo.put_all("a", [("3", 3), ("4", object())])
    assert memo.get("a", "3") is None
    memo.close()


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("what", ["junk", "folder", "a file above", "none"])
def test_a_broken_memo_is_none(tmp_path: Path, what: str, at_once: bool) -> None:
    """Junk in its file, a folder in its place, a file in that of its folder, or no place at all: no error."""
    if what == "junk":
        (tmp_path / FILE).write_bytes(b"junk" * 1000)
    elif what == "folder":
        (tmp_path / FILE).mkdir()
    elif what == "a file above":
        (tmp_path / "file").touch()
    place = {"none": None, "a file above": tmp_path / "file"}.get(what, tmp_path)
    memo = DiskCache(place, at_once=at_once)
    memo.put("a", "key", 1)
    assert memo.get("a", "key") == 1
    memo.put_files("key", lambda folder: (folder / "x").touch())
    assert memo.files("missing", lambda folder: (folder / "x").stat()) is None
    memo.close()


def test_a_broken_value_is_none(tmp_path: Path) -> None:
    """A value that is no JSON is unknown."""
    kept(tmp_path, key=1)
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("UPDATE memo SET value = '{'")
    connection.close()
    assert DiskCache(tmp_path).get("a", "key") is None


def _write_and_read(folder: str, number: int) -> int:
    memo, wrong = DiskCache(Path(folder), at_once=True), 0
    for n in range(24):
        key, value = str(n % 6), f"{n % 6} " * 2000
        memo.put("a", key, [number, value])
        memo.put_files(key, lambda place, value=value: (place / "x").write_text(value) and None)  # type: ignore[misc]
        wrong += memo.get("a", key)[1] != value or memo.files(key, lambda place: (place / "x").read_text()) != value
    return wrong


def test_many_processes_that_write_at_once_see_whole_values(tmp_path: Path) -> None:
    """Two processes that write and read the same keys never see a torn value or file, and leave none behind."""
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        written = pool.starmap_async(_write_and_read, [(str(tmp_path), n) for n in range(2)])
        assert written.get(LIMIT_SECONDS) == [0, 0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "2", "3", "4", "5", FILE]


def test_threads_share_one_memo(tmp_path: Path) -> None:
    """Sixteen threads write into one memo at once, and the next one knows it all."""
    memo = DiskCache(tmp_path, at_once=True)
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda n: memo.put("a", str(n), n), range(64)))
    assert DiskCache(tmp_path).get_all("a", [str(n) for n in range(64)]) == {str(n): n for n in range(64)}


def test_a_killed_writer_loses_nothing_that_was_put(tmp_path: Path) -> None:
    """What was put at once is known after a kill, and the file is whole."""
    code = "Memo(Path('.'), at_once=True).put('a', 'key', 1); os.kill(os.getpid(), 9)"
    imports = "import os; from pathlib import Path; from evalsuite.core.disk_cache import DiskCache as Memo; "
    (killed,) = side_by_side([[sys.executable, "-c", imports + code]], cwd=tmp_path)
    assert killed.returncode not in (0, 1)
    assert DiskCache(tmp_path).get("a", "key") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="a limit that Windows lacks")
def test_what_a_full_disk_refused_stays_known(tmp_path: Path) -> None:
    """While there is no room, what was put at once is known to its own process; with the next value that fits all of it is written."""
    memo = DiskCache(tmp_path, at_once=True)
    with room_for_files(1 << 10):
        memo.put("a", "small", 0)
        assert (memo.get("a", "small"), DiskCache(tmp_path).get("a", "small")) == (0, None)
    with room_for_files(1 << 14):
        for value in ("first ", "second "):
            memo.put("b", "key", value * 9999)
        assert (memo.get("b", "key"), DiskCache(tmp_path).get("b", "key")) == ("second " * 9999, None)
        memo.put("a", "small", 1)
        assert (DiskCache(tmp_path).get("a", "small"), memo.get("b", "key")) == (1, "second " * 9999)
    memo.put("a", "other", 2)
    assert DiskCache(tmp_path).get("b", "key") == "second " * 9999
    assert not memo._unsaved
    memo.close()


def test_a_writer_killed_at_any_moment_leaves_a_whole_entry_or_none(tmp_path: Path) -> None:
    """Before each change of the folder, and amid the rows of the SQLite file: what is found is whole, and can be written afterwards."""
    kept(tmp_path / "rows", old="first")

    def write_files(folder: Path) -> None:
        DiskCache(folder).put_files("key", lambda place: [(place / name).write_text("whole " * 9999) for name in "ab"] and None)

    def rows(n: int) -> Iterator[tuple[str, str]]:
        yield from ((str(key), "x" * 100_000) for key in range(n))
        os.kill(os.getpid(), signal.SIGKILL)

    moment = 1
    while killed(partial(write_files, tmp_path / f"{moment}"), tmp_path / f"{moment}", moment):
        memo = DiskCache(tmp_path / f"{moment}")
        assert memo.files("key", lambda place: (place / "b").read_text()) is None, moment
        write_files(tmp_path / f"{moment}")
        assert memo.files("key", lambda place: [(place / name).read_text() for name in "ab"]) == ["whole " * 9999] * 2, moment
        moment += 1
    assert moment > 4
    for n in (1, 100):
        assert killed(lambda n=n: DiskCache(tmp_path / "rows").put_all("a", rows(n)), tmp_path / "none", 0)  # type: ignore[misc]
        assert DiskCache(tmp_path / "rows").get_all("a", ["old", "0", "50"]) == {"old": "first"}
    kept(tmp_path / "rows", new=1)
    assert DiskCache(tmp_path / "rows").get_all("a", ["old", "new"]) == {"old": "first", "new": 1}


@pytest.mark.skipif(sys.platform == "win32", reason="a limit that Windows lacks")
def test_a_line_is_appended_whole_or_not_at_all(tmp_path: Path) -> None:
    """Where the disk takes a part of a line the file stays as it was, and the error names it."""
    file = tmp_path / "lines"
    append_whole(file, b"first\n")
    with room_for_files(9), pytest.raises(OSError, match=re.escape(str(file))):
        append_whole(file, b"second\n")
    append_whole(file, b"third\n")
    assert file.read_bytes() == b"first\nthird\n"
