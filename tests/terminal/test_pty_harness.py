"""The harness itself: a command really stands in a terminal of that width, and what hangs is ended."""

import sys
from pathlib import Path

import pytest

from tests.processes import finished, started
from tests.terminal.pty_harness import environment, piped, run

SEES = "import os, sys; print(os.get_terminal_size().columns, *(s.isatty() for s in (sys.stdin, sys.stdout, sys.stderr)))"


@pytest.mark.parametrize("columns", [60, 300])
def test_a_terminal_of_that_width(columns: int) -> None:
    """The command sees a terminal on its three ends and the width that was asked for."""
    shown = run([sys.executable, "-c", SEES], columns=columns)
    assert (shown.code, shown.screen.strip()) == (0, f"{columns} True True True")


def test_what_was_drawn_over_is_gone() -> None:
    """The screen holds what a person reads in the end: carriage returns, erased lines and cursor moves are obeyed."""
    code = r"print('one\ntwo\r\x1b[2Kthree\n\x1b[1Afour\x1b[K', end='\x1b[31m!\x1b[0m\n')"
    shown = run([sys.executable, "-c", code])
    assert shown.lines == ["one", "four!"]
    assert shown.coloured


def test_keys_are_typed_and_stdout_can_go_elsewhere(tmp_path: Path) -> None:
    """Ctrl-C reaches the command through its terminal, here only stderr."""
    code = "import sys, time\ntry:\n  print('kept', flush=True); print('go', file=sys.stderr); time.sleep(60)\n"
    shown = run([sys.executable, "-c", f"{code}except KeyboardInterrupt: sys.exit(130)"], typed=[("go", b"\x03")], into=tmp_path / "out")
    assert (shown.code, (tmp_path / "out").read_text()) == (130, "kept\n")
    assert "kept" not in shown.screen


def test_an_internal_error_is_never_let_pass() -> None:
    """A command that says so, prints a traceback, ends with 3 or is killed by a signal fails whatever test called it."""
    for code in ("print('internal error: x')", "1/0", "raise SystemExit(3)", "import os; os.kill(os.getpid(), 15)"):
        for way in (run, piped):
            with pytest.raises(AssertionError):
                way([sys.executable, "-c", code])


def test_what_hangs_is_ended() -> None:
    """A command that does not end, or leaves its pipe to a child that does not, is ended after its time and named; a started process with
    its block.
    """
    with started(["sleep", "60"]) as process:
        assert process.poll() is None
    assert process.returncode == -9
    for command in (["sleep", "60"], ["sh", "-c", "sleep 60 & wait"], ["sh", "-c", "sleep 60 &"]):
        with pytest.raises(AssertionError, match="not ended after"):
            finished(command, seconds=0.1)
    with pytest.raises(AssertionError, match="not ended after"):
        run(["sleep", "60"], timeout=0.1)
    with pytest.raises(AssertionError, match="never seen: 'hello'"):
        run(["true"], typed=[("hello", b"")])


def test_the_environment_is_the_tests() -> None:
    """What would decide width, colour or encoding comes from the test alone."""
    assert "COLUMNS" not in environment()
    assert "HOME" not in environment({"HOME": None})
