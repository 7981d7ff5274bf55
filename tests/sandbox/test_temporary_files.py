"""Folders for temporary files: what a killed process left goes, what somebody holds stays; no file larger than the folder stops a run."""

import errno
import json
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalsuite import evaluate
from evalsuite.cli import main
from evalsuite.core.errors import OutputError, write_error
from evalsuite.readers import duckdb_tables
from evalsuite.sandbox.temp_dirs import TempDir, remove_stale_temp_dirs
from tests.conftest import ROOT
from tests.processes import finished, room_for_files, started
from tests.runs.made import write_sides

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="folders are locked by descriptors of their own")

HOLDS = """
import sys, time
from evalsuite.sandbox.temp_dirs import TempDir
folder = TempDir()
(folder.path / 'inside').mkdir()
print(folder.path, flush=True)
time.sleep(60)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files of these tests."""
    found = tmp_path / "tmp"
    found.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(found))
    monkeypatch.setenv("TMPDIR", str(found))
    return found


@pytest.mark.parametrize("words", [["run", "-q", "--no-save", "--no-cache"], ["validate"]], ids=lambda words: words[0])
def test_what_a_killed_process_left_goes_with_the_next_command(words: list[str], example: tuple[Path, Path], place: Path) -> None:
    """While it lives nobody takes its folder; when it was killed, whatever command opens workers removes it."""
    with started([sys.executable, "-c", HOLDS], cwd=ROOT, env={"TMPDIR": str(place)}, stdout=-1) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        remove_stale_temp_dirs()
        assert (folder / "inside").is_dir()
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert (folder / "inside").is_dir()
    assert main([words[0], str(example[0]), "--gold", str(example[1]), *words[1:]]) in (0, 1)
    assert list(place.iterdir()) == []


def test_a_folder_goes_with_its_block(place: Path) -> None:
    """With all that is in it, an error in the block or not, and twice is no error; files, links and other names stay, also where they
    look like ours.
    """
    folder = TempDir()
    with folder as path:
        (path / "a" / "b").mkdir(parents=True)
        remove_stale_temp_dirs()
        assert (path / "a" / "b").is_dir()
    folder.close()
    assert list(place.iterdir()) == []
    for name in ("evalsuite-scratch-file", "other"):
        (place / name).write_text("x")
    (place / "elsewhere").mkdir()
    (place / "evalsuite-scratch-link").symlink_to(place / "elsewhere")
    remove_stale_temp_dirs()
    assert sorted(path.name for path in place.iterdir()) == ["elsewhere", "evalsuite-scratch-file", "evalsuite-scratch-link", "other"]


def test_no_folder_for_temporary_files(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that a person can act on; sweeping finds nothing to do."""
    monkeypatch.setattr(tempfile, "tempdir", str(place / "none"))
    remove_stale_temp_dirs()
    with pytest.raises(OutputError, match="cannot make a temporary folder"):
        TempDir()


def in_a_copy(folder: Path) -> None:
    """What Python raises in the middle of a copy."""
    raise OSError(errno.ENOSPC, "full", "the source", None, str(folder / "target"))


def below_a_run(folder: Path) -> None:
    """What a command raises for a run folder in it."""
    error = OSError(errno.ENOSPC, "full")
    raise write_error(folder / "run", error, hint="--resume it") from error


@pytest.mark.parametrize("fill", [lambda folder: (folder / "target").write_text("text"), in_a_copy, below_a_run])
def test_no_room_for_temporary_files(place: Path, fill: Callable[[Path], object]) -> None:
    """A full disk is named by its folder, and not by the file that is copied; a full disk elsewhere is none of the folder's."""
    said = re.escape(f"cannot write a temporary file in {place}: ")
    with room_for_files(0), pytest.raises(OutputError, match=said) as error, TempDir() as folder:
        fill(folder)
    assert error.value.hint == "set TMPDIR to a folder with room"
    with pytest.raises(OSError, match="elsewhere"), TempDir():
        raise OSError(errno.ENOSPC, "full", "elsewhere")
    assert list(place.iterdir()) == []


MIB = 1 << 20
# A file system of 4 MiB for temporary files, in a mount namespace of its own.
SMALL = 'mount -t tmpfs -o size=4m none "$1" && shift && exec "$@"'


def databases(folder: Path, *, dense_mib: int) -> tuple[Path, Path]:
    """(submission, gold) of three equal databases: one plain, one with holes up to 8 MiB, one with so many MiB of other blocks."""
    names, rows = ("plain", "sparse", "dense"), "CREATE TABLE t AS SELECT i, i * 2 AS v FROM range(100) r(i)"
    cases: dict[str, Any] = dict.fromkeys(names, ("duckdb_match", {"gold": "a.duckdb", "condition_tabs": ["t"]}, Path("a.duckdb")))
    cases["text"] = ("string_match", {"gold": "Oslo"}, "Oslo")
    submission, gold = write_sides(folder / "submission", folder / "gold", cases, {f"{name}/a.duckdb": rows for name in names})
    with (submission / "sparse" / "a.duckdb").open("ab") as file:
        file.truncate(8 * MIB)
    with (submission / "dense" / "a.duckdb").open("ab") as file:
        file.write(b"x" * (dense_mib * MIB))
    return submission, gold


@pytest.mark.parametrize("isolation", ["process", "none"])
def test_a_database_larger_than_the_folder_for_temporary_files(isolation: str, tmp_path: Path) -> None:
    """Every one of them is right, and the folder is empty afterwards."""
    submission, gold = databases(tmp_path, dense_mib=6)
    place, out = tmp_path / "tmp", tmp_path / "out"
    place.mkdir()
    words = [sys.executable, "-m", "evalsuite", "run", str(submission), "--gold", str(gold), "--no-cache", "-q", "--isolation", isolation]
    small = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", SMALL, "sh", str(place)]
    if shutil.which("unshare") is None or finished([*small, "true"]).returncode != 0:
        small = []
    done = finished([*small, *words, "--out", str(out)], cwd=ROOT, env={"TMPDIR": str(place)})
    assert (done.returncode, done.stderr) == (0, "")
    rows = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert {row["instance_id"]: row["score"] for row in rows} == {"plain": 1, "sparse": 1, "dense": 1, "text": 1}
    assert list(place.iterdir()) == []


def test_a_run_needs_no_folder_for_temporary_files(tmp_path: Path) -> None:
    """Where nothing can be written, databases are read all the same."""
    submission, gold = databases(tmp_path, dense_mib=1)
    words = [sys.executable, "-m", "evalsuite", "run", str(submission), "--gold", str(gold), "--no-save", "--no-cache"]
    done = finished(words, cwd=ROOT, env={"TMPDIR": str(tmp_path / "none")})
    assert done.returncode == 0
    assert "4 right" in done.stdout


@pytest.mark.usefixtures("shared_fork_server")
def test_the_command_opens_no_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own process hands the bytes on; only a worker, which runs already, opens them as a database."""
    submission, gold = databases(tmp_path, dense_mib=1)
    evaluate(submission, gold, save=False, cache=None, only=["text"])

    class Refusing:
        def __getattr__(self, name: str) -> None:
            raise AssertionError("a database was opened in the process of the command")

    monkeypatch.setattr(duckdb_tables, "duckdb", Refusing())
    assert evaluate(submission, gold, save=False, cache=None).summary.score == 1
    duckdb_tables._gold_connection.cache_clear()
    with pytest.raises(AssertionError, match="was opened"):
        duckdb_tables._gold_connection()
