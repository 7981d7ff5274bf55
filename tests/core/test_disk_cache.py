"""What evalsuite finds on a machine: a disk cache that processes share, where a damaged one costs only time, and its own installation."""

import gc
import json
import multiprocessing
import os
import re
import shlex
import shutil
import signal
import sqlite3
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import metadata
from pathlib import Path

import pytest

from evalsuite.core import disk_cache, runtime
from evalsuite.core.disk_cache import FILE, DiskCache, append_whole, code_stamp
from evalsuite.core.runtime import extra_line
from evalsuite.runs.run_options import VERDICT_PACKAGES, signature
from tests.conftest import ROOT
from tests.processes import LIMIT_SECONDS, finished, room_for_files, side_by_side
from tests.runs.store.every_moment import killed


def kept(folder: Path, **values: object) -> None:
    """Values of kind `a` written into a folder's memo."""
    memo = DiskCache(folder)
    for key, value in values.items():
        memo.put("a", key, value)
    memo.close()


def test_values_and_files_of_a_memo(tmp_path: Path) -> None:
    """Stamps have their own files; values at once wait once for the disk and are all known or none, from any thread; broken is none."""
    for stamp in ("1", "2", ""):
        memo = DiskCache(tmp_path, stamp=stamp)
        assert memo.files("key", os.listdir) is None
        memo.put_files("key", lambda folder, name=f"x{stamp}": (folder / name).touch())  # type: ignore[misc]
    for stamp in ("1", "2", ""):
        assert DiskCache(tmp_path, stamp=stamp).files("key", os.listdir) == [f"x{stamp}"]
    for at_once, synchronous in ((True, 0), (False, 1)):
        memo = DiskCache(tmp_path, at_once=at_once)
        memo.put_all("a", [("key", 1)])
        assert memo._connection is not None
        assert memo._connection.execute("PRAGMA synchronous").fetchone() == (synchronous,)
        memo.close()
    memo = DiskCache(tmp_path)
    memo.put_all("a", ((str(n), n) for n in range(3)))
    assert DiskCache(tmp_path).get_all("a", ["0", "2", "3"]) == {"0": 0, "2": 2}
    memo.put_all("a", [("2", "new")])
    assert memo.get("a", "2") == "new"
    with pytest.raises(TypeError):
        memo.put_all("a", [("3", 3), ("4", object())])
    assert memo.get("a", "3") is None
    memo.close()
    memo = DiskCache(tmp_path, at_once=True)
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda n: memo.put("a", str(n), n), range(64)))
    assert DiskCache(tmp_path).get_all("a", [str(n) for n in range(64)]) == {str(n): n for n in range(64)}
    kept(tmp_path, key=1)
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("UPDATE memo SET value = '{'")
    connection.close()
    assert DiskCache(tmp_path).get("a", "key") is None


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


def _write_and_read(folder: str, number: int) -> int:
    memo, wrong = DiskCache(Path(folder), at_once=True), 0
    for n in range(24):
        key, value = str(n % 6), f"{n % 6} " * 2000
        memo.put("a", key, [number, value])
        memo.put_files(key, lambda place, value=value: (place / "x").write_text(value) and None)  # type: ignore[misc]
        wrong += memo.get("a", key)[1] != value or memo.files(key, lambda place: (place / "x").read_text()) != value
    return wrong


def test_processes_that_write_at_once_or_are_killed(tmp_path: Path) -> None:
    """They never see a torn value or file; what was put at once is known after a kill, and the file is whole."""
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        written = pool.starmap_async(_write_and_read, [(str(tmp_path), n) for n in range(2)])
        assert written.get(LIMIT_SECONDS) == [0, 0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "2", "3", "4", "5", FILE]
    code = "Memo(Path('.'), at_once=True).put('a', 'key', 1); os.kill(os.getpid(), 9)"
    imports = "import os; from pathlib import Path; from evalsuite.core.disk_cache import DiskCache as Memo; "
    (killed,) = side_by_side([[sys.executable, "-c", imports + code]], cwd=tmp_path)
    assert killed.returncode not in (0, 1)
    assert DiskCache(tmp_path).get("a", "key") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="a limit that Windows lacks")
def test_what_a_full_disk_refused(tmp_path: Path) -> None:
    """It stays known to its process until all of it is written; a line is appended whole or not at all, and the error names the file."""
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
    file = tmp_path / "lines"
    append_whole(file, b"first\n")
    with room_for_files(9), pytest.raises(OSError, match=re.escape(str(file))):
        append_whole(file, b"second\n")
    append_whole(file, b"third\n")
    assert file.read_bytes() == b"first\nthird\n"


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


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder without a checkout, and a `pip` on the path that is this Python's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shutil, "which", lambda _name: str(Path(sys.executable).parent / "pip"))
    return tmp_path


def packaged(folder: Path, monkeypatch: pytest.MonkeyPatch, direct_url: object) -> Path:
    """A package folder as in site-packages, and what its installer noted of where it came from."""

    class Distribution:
        def read_text(self, _name: str) -> str | None:
            return None if direct_url is None else json.dumps(direct_url)

    monkeypatch.setattr(metadata, "distribution", lambda _name: Distribution())
    package = folder / "site-packages" / "evalsuite"
    package.mkdir(parents=True)
    return package


@pytest.mark.parametrize(
    ("direct_url", "place"),
    [
        (None, ""),
        ({"url": "file:///tmp/evalsuite-0.1.0-py3-none-any.whl", "archive_info": {}}, " @ file:///tmp/evalsuite-0.1.0-py3-none-any.whl"),
        ({"url": "file:///src/evalsuite", "dir_info": {}}, " @ file:///src/evalsuite"),
        ({"url": "https://x/y.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}}, " @ git+https://x/y.git@abc"),
    ],
)
def test_as_a_package(elsewhere: Path, monkeypatch: pytest.MonkeyPatch, direct_url: object, place: str) -> None:
    """From an index by its name; from a wheel, a folder or a repository by where it came from (PEP 610)."""
    package = packaged(elsewhere, monkeypatch, direct_url)
    assert extra_line("view", package=package) == f"pip install 'evalsuite[view]{place}'"


def test_notes_that_cannot_be_read_and_the_python_that_runs(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package nobody installed is the index's; where `pip` is another Python's the line names this one."""

    def nobody(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    package = packaged(elsewhere, monkeypatch, None)
    monkeypatch.setattr(metadata, "distribution", nobody)
    assert extra_line("dask", package=package) == "pip install 'evalsuite[dask]'"
    monkeypatch.setattr(shutil, "which", lambda _name: "/usr/bin/pip")
    assert extra_line("view").startswith(f"{shlex.quote(sys.executable)} -m pip install -e ")
    monkeypatch.setattr(runtime.sys, "executable", str(elsewhere / ".venv" / "bin" / "python"))
    assert extra_line("view").startswith(".venv/bin/python -m pip install -e ")
    monkeypatch.chdir("/")  # as in a worker, whose lines the user runs elsewhere
    assert extra_line("view").startswith(f"{elsewhere}/.venv/bin/python -m pip install -e ")


def bare_python(folder: Path, *but: str) -> Path:
    """A Python of its own that has what this one has but for some packages, or (none named) nothing at all."""
    finished([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    place = next((folder / "lib").glob("python*")) / "site-packages"
    for found in Path(metadata.distribution("typer").locate_file("")).iterdir() if but else ():
        if found.name.partition("-")[0].partition(".")[0].strip("_") not in (*but, "evalsuite"):
            (place / found.name).symlink_to(found)
    return folder / "bin" / "python"


@pytest.mark.skipif(sys.platform == "win32", reason="folders of an environment have other names")
def test_a_clone_that_was_not_installed_says_how(tmp_path: Path) -> None:
    """Whatever is called with a Python that lacks packages: one sentence and the README's line, exit 2; help and version are told."""
    bare, line = bare_python(tmp_path / "bare"), "python3 -m venv .venv && .venv/bin/pip install -q -e ."
    assert line in (ROOT / "README.md").read_text(encoding="utf-8")
    calls = (
        ["evaluate.py", "--result_dir", "example_submission_folder", "--gold_dir", "gold"],
        ["-m", "evalsuite"],
        ["-m", "evalsuite", "doctor"],
    )
    for words in calls:
        shown = finished([bare, *words], cwd=ROOT)
        assert (shown.returncode, shown.stdout) == (2, "")
        sentence, hint = shown.stderr.splitlines()
        assert sentence == f"error: {bare} lacks packages that evalsuite needs: {', '.join(runtime.REQUIRED)}"
        assert hint.startswith(f"hint: {line}")
    elsewhere = finished([bare, ROOT / "evaluate.py", "--result_dir", "x"], cwd=tmp_path)
    assert f"hint: cd {shlex.quote(str(ROOT))} && {line}" in elsewhere.stderr
    assert finished([bare, "-m", "evalsuite", "--help"], cwd=ROOT).returncode == 0
    assert finished([bare, "-m", "evalsuite", "--version"], cwd=ROOT).returncode == 0


def test_what_is_required_and_installed() -> None:
    """The table of imports is pyproject's, no page asks an index for evalsuite, and the signature has the packages' own versions."""
    required = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    names = [re.split("[<>=]", line)[0] for line in required]
    assert [{"pyyaml": "yaml"}.get(name, name.replace("-", "_")) for name in names] == list(runtime.REQUIRED)
    pages = [ROOT / "README.md", ROOT / "action.yml", ROOT / ".pre-commit-hooks.yaml", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert "install 'evalsuite[" not in text, page
        assert "OWNER" not in text, page
    told = [page.name for page in pages if "example/evalsuite" in page.read_text(encoding="utf-8")]
    assert told == ["install.md", "reports.md"]
    parts = dict(part.split(":", 1) for part in signature(rules="official", gold_hash="", limits={}).split("|"))
    assert {name: parts[name] for name in VERDICT_PACKAGES} == {name: metadata.version(name) for name in VERDICT_PACKAGES}


def test_an_empty_place_is_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in `sys.path`; a place that cannot be read has no names. The version in the first folder counts, if it is the only one there."""
    monkeypatch.chdir(tmp_path)
    for version in ("1.5", "1.6"):
        (tmp_path / f"some_thing-{version}.dist-info").mkdir()
        (tmp_path / f"some_thing-{version}.dist-info" / "METADATA").write_text(f"Name: some_thing\nVersion: {version}\n")
    (tmp_path / "some_thing-1.6.dist-info").rename("later")
    monkeypatch.setattr(sys, "path", ["nowhere", ""])
    monkeypatch.setattr(runtime, "_names_in", runtime._names_in.__wrapped__)
    assert (sorted(runtime._names_in("")), runtime._names_in("nowhere")) == (["later", "some_thing-1.5.dist-info"], ())
    version_of = runtime.package_version.__wrapped__
    assert (version_of("some_thing"), version_of("some")) == ("1.5", "absent")
    Path("later").rename("some_thing-1.6.dist-info")
    assert version_of("some_thing") in ("1.5", "1.6")


def test_packages_that_are_missing_or_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A module that is found elsewhere is there; outside of a checkout there is no environment to make."""
    monkeypatch.setattr(runtime, "REQUIRED", ("duckdb", "sys", "no_such_package"))
    assert runtime.missing_packages() == ["no_such_package"]
    monkeypatch.setattr(runtime, "REQUIRED", ("duckdb",))
    assert runtime.missing_packages() == []
    monkeypatch.setattr(runtime, "__file__", str(tmp_path / "lib" / "evalsuite" / "core" / "runtime.py"))
    monkeypatch.setattr(runtime, "_origin", lambda: "")
    assert runtime.install_line() == runtime.extra_line("")
    assert runtime.install_line().endswith(" install evalsuite")


def test_what_starts_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name if PATH leads to it, else its path, below the current folder without that; Python where no command is installed."""
    monkeypatch.chdir(tmp_path)
    tools, other = tmp_path / "my tools", tmp_path / "other"
    for folder in (tools, other):
        folder.mkdir()
        (folder / "evalsuite").touch()
    monkeypatch.setattr(sys, "executable", str(tools / "python"))
    for on_path, word in (
        (tools / "evalsuite", "evalsuite"),
        (other / "evalsuite", "'my tools/evalsuite'"),
        (None, "'my tools/evalsuite'"),
    ):
        monkeypatch.setattr(shutil, "which", lambda _, on_path=on_path: on_path and str(on_path))
        assert runtime.program() == word
    monkeypatch.chdir(other)
    assert runtime.program() == shlex.quote(str(tools / "evalsuite"))
    (tools / "evalsuite").unlink()
    assert runtime.program() == f"{shlex.quote(str(tools / 'python'))} -m evalsuite"
    monkeypatch.setattr(shutil, "which", lambda _: str(other / "evalsuite"))
    assert runtime.program() == "evalsuite"


def test_msgspec_is_imported_without_typing_extensions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only in a process of one thread that has imported none of four modules; the others can be imported afterwards."""
    seen: list[tuple[str, bool]] = []
    monkeypatch.setattr(runtime, "import_module", lambda name: seen.append((name, sys.modules.get("typing_extensions", 1) is None)))
    names = ("msgspec", "typing_extensions", "platform", "uuid")
    for n_threads, known in ((2, ()), *((1, (name,)) for name in names), (1, ())):
        monkeypatch.setattr(runtime.threading, "active_count", lambda n_threads=n_threads: n_threads)
        with monkeypatch.context() as patch:
            for name in names:
                patch.delitem(sys.modules, name, raising=False)
            for name in known:
                patch.setitem(sys.modules, name, sys)
            runtime.load_msgspec()
            assert ("typing_extensions" in sys.modules) is ("typing_extensions" in known)
        assert seen == ([("msgspec", True)] if (n_threads, known) == (1, ()) else [])


def test_blocks_end_as_they_began() -> None:
    """Signals are blocked, and garbage is left, inside the block alone."""
    for was_on in (True, False):
        (gc.enable if was_on else gc.disable)()
        with runtime.without_collection():
            assert not gc.isenabled()
        assert gc.isenabled() is was_on
    gc.enable()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with runtime.signals_blocked():
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) - before == {signal.SIGINT, signal.SIGTERM, signal.SIGHUP} - before
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def test_the_folder_is_made_once(tmp_path: Path) -> None:
    """With the folders above it; a value that is put later joins the first one."""
    kept(tmp_path / "a" / "b", first=1)
    kept(tmp_path / "a" / "b", second=2)
    assert DiskCache(tmp_path / "a" / "b").get_all("a", ["first", "second"]) == {"first": 1, "second": 2}
    DiskCache(tmp_path / "c" / "d").put_files("key", lambda folder: (folder / "x").touch())
    assert (tmp_path / "c" / "d" / "key" / "x").is_file()
