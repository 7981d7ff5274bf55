"""Ctrl-C and SIGTERM: a valid journal, no worker and no temporary file left, one line that says how to go on, exit 130."""

import re
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.processes import finished
from tests.runs.made import command, make, start, without_seconds, without_times, workers
from tests.runs.test_resume import made, saved, wait_until
from tests.terminal.pty_harness import answers_signals

__all__ = ["made"]

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for workers in /proc")
STOPS = [signal.SIGINT, *(pytest.param(stop, marks=pytest.mark.slow) for stop in (signal.SIGTERM, signal.SIGHUP))]
# So many results are there before the first file is read: answers that are missing, refused or plain text.
WITHOUT_FILES = 14


@pytest.mark.parametrize("stop", STOPS)
def test_interrupted_and_resumed(made: tuple[Path, Path, Path], tmp_path: Path, stop: signal.Signals) -> None:
    """The one line tells how many results the journal holds; resuming from it gives what an uninterrupted run gives."""
    submission, gold, whole = made
    out, marker = tmp_path / "run", tmp_path / "marker"
    with start(command(submission, gold, "--out", out), marker) as process:
        wait_until(process, out, WITHOUT_FILES + 5)
        assert workers(marker)
        process.send_signal(stop)
        printed, complaint = process.communicate()
    assert (process.returncode, printed) == (130, "")
    n, n_instances = len(saved(out)), len(saved(whole))
    assert complaint == f"interrupted: {n} of {n_instances} instances are saved in {out}; continue with --resume {out}\n"
    assert WITHOUT_FILES + 5 <= n < n_instances
    assert (workers(marker), list(marker.iterdir())) == ([], [])
    with start(command(submission, gold, "--quiet", "--resume", out), marker) as resumed:
        assert resumed.wait() == 0
    assert without_seconds(out) == without_seconds(whole)
    assert without_times(out) == without_times(whole)


def test_interrupted_without_a_folder(made: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """With --no-save the line says that nothing is saved."""
    submission, gold, _ = made
    marker = tmp_path / "marker"
    with start(command(submission, gold, "--no-save"), marker) as process:
        # The fork server and both workers of an answer: before that the command has no run whose state it could name.
        while process.poll() is None and len(workers(marker)) < 3:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert (process.communicate()[1], process.returncode) == ("interrupted: nothing is saved\n", 130)
    assert (workers(marker), list(marker.iterdir())) == ([], [])


def test_interrupted_at_any_time(tmp_path: Path) -> None:
    """From its first moment to its last a run ends with 130 and one line, or with its own end; never with an error or a half folder."""
    submission, gold = make(tmp_path, n=8)
    seen = set()
    for step in range(3):
        out, marker = tmp_path / f"run-{step}", tmp_path / "marker"
        with start(command(submission, gold, "--quiet", "--out", out), marker) as process:
            while not answers_signals(process):
                time.sleep(0.005)
            time.sleep(step * 0.3)
            process.send_signal((signal.SIGTERM, signal.SIGHUP)[step % 2])
            _, complaint = process.communicate()
        seen.add(process.returncode)
        assert process.returncode in (130, 0), (step, complaint)
        if process.returncode == 130:
            assert re.fullmatch(r"interrupted[^\n]*\n", complaint), (step, complaint)
            assert (out / "run.json").exists() is False or "finished" in complaint or complaint == "interrupted\n"
        assert (workers(marker), list(marker.iterdir())) == ([], [])
    assert 130 in seen


# Runs a command and sends SIGTERM to itself at the n-th call in the main thread of the functions so named, or at the n-th new function.
_STOPPED_AT = """
import os, pathlib, signal, sys
from evalsuite.cli import gate, main

name, wanted, reached, *sys.argv[1:] = sys.argv[1:]
seen, command = set(), os.getpid()


def stop(frame, event, argument):
    code = frame.f_code
    if os.getpid() != command or (code.co_name != name if name else code in seen):
        return
    seen.add(frame if name else code)
    if len(seen) == int(wanted):
        sys.settrace(None)
        pathlib.Path(reached).write_text(f"{code.co_filename}:{code.co_firstlineno} {code.co_qualname}")
        os.kill(os.getpid(), signal.SIGTERM)


def traced(missing=gate.missing_packages):
    sys.settrace(stop)
    return missing()


# The first call in which a signal is an interruption.
gate.missing_packages = traced
raise SystemExit(main())
"""
_EVERYWHERE = [("__set_name__", n) for n in range(5, 60)] + [("cb", n) for n in (1, 10, 100)] + [("", n) for n in range(5, 1500, 8)]
_SOME = [("__set_name__", 6), ("cb", 3), ("", 300), ("", 1200)]


# A signal while the C code of msgspec imports a module, at which it drops an error of that import.
_IMPORTING = """
import os, signal, sys
from evalsuite.core.runtime import load_msgspec


def stop(frame, event, argument):
    # From Python 3.13 on, math is imported before.
    if frame.f_locals.get("fullname") == ("math" if sys.version_info < (3, 13) else "msgspec._core"):
        sys.settrace(None)
        os.kill(os.getpid(), signal.SIGTERM)


signal.signal(signal.SIGTERM, signal.default_int_handler)
sys.settrace(stop)
try:
    load_msgspec()
except KeyboardInterrupt:
    print("msgspec._core" in sys.modules)
"""
_WRAPPED = """
import os, signal
from evalsuite.cli import gate, main


def wrapping(arguments):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
    except KeyboardInterrupt as stop:
        raise RuntimeError("the loop stopped") from stop


gate._dispatch = wrapping
raise SystemExit(main())
"""


_CALLED = """
import os, signal
from evalsuite.cli import gate, main

stops = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
before = [signal.getsignal(stop) for stop in stops]
gate._dispatch = lambda _: [os.kill(os.getpid(), signal.SIGTERM), signal.pause()]
print(main(["doctor"]), [signal.getsignal(stop) for stop in stops] == before)
"""


@pytest.mark.parametrize(
    ("code", "ended"),
    [(_CALLED, (0, "130 True\n", "interrupted\n")), (_WRAPPED, (130, "", "interrupted\n")), (_IMPORTING, (0, "True\n", ""))],
    ids=["called", "wrapped", "importing"],
)
def test_an_interruption_in_a_program(code: str, ended: tuple[int, str, str]) -> None:
    """One that calls `main` has its own handlers of signals afterwards; a RuntimeError that follows an interruption is the interruption,
    not an internal error; and one while msgspec is imported comes when the import has ended, and is not lost.
    """
    done = finished([sys.executable, "-c", code], cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == ended


@pytest.mark.parametrize("places", [_SOME, pytest.param(_EVERYWHERE, marks=pytest.mark.slow)], ids=["some", "all"])
def test_interrupted_at_a_function(places: list[tuple[str, int]], tmp_path: Path) -> None:
    """Whatever runs when the signal comes, the command ends with 130 and one line, and a note if a folder is left.

    Also where Python turns an interruption into a RuntimeError (`__set_name__` of a dataclass field) or drops it (a callback of the import
    system).
    """
    submission, gold = make(tmp_path, n=4)
    for name, n in places:
        out, marker, reached = tmp_path / "run", tmp_path / "marker", tmp_path / "reached"
        _, _, _, *arguments = command(submission, gold, "--quiet", "--out", out)
        with start([sys.executable, "-c", _STOPPED_AT, name, str(n), str(reached), *arguments], marker) as process:
            _, complaint = process.communicate()
        if not reached.exists():
            # The command calls fewer functions of this name, as each version of Python does.
            assert (name, process.returncode, n > 6) == ("__set_name__", 0, True)
            shutil.rmtree(out)
            continue
        at = reached.read_text()
        reached.unlink()
        said = [line for line in complaint.splitlines() if not line.startswith("note: ")]
        assert (process.returncode, len(said)) == (130, 1), (at, complaint)
        assert complaint.startswith("interrupted"), at
        # A fork server that has just been started ends by itself, because its pipe is closed.
        for _ in range(1_000):
            if not workers(marker):
                break
            time.sleep(0.01)
        assert (workers(marker), list(marker.iterdir())) == ([], []), at
        shutil.rmtree(out, ignore_errors=True)
