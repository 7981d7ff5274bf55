"""Folders for temporary files: one that nobody holds goes with the next command that opens workers, one that somebody holds stays."""

import errno
import re
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from evalsuite.cli import main
from evalsuite.core.errors import OutputError, write_error
from evalsuite.sandbox.temp_dirs import TempDir, remove_stale_temp_dirs
from tests.conftest import ROOT
from tests.processes import room_for_files, started

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
    """With all that is in it, an error in the block or not, and twice is no error."""
    folder = TempDir()
    with folder as path:
        (path / "a" / "b").mkdir(parents=True)
        remove_stale_temp_dirs()
        assert (path / "a" / "b").is_dir()
    folder.close()
    assert list(place.iterdir()) == []


def test_what_is_not_ours_stays(place: Path) -> None:
    """Files, links and other names are left alone, also where they look like ours."""
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
