"""Commands as a person sees them: in a real terminal of a given width (Python's `pty`), or through pipes in any encoding.

Every command that goes through here is held to what no command may ever say: an internal error, a traceback, exit code 3.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.command_server import Command, command_server
from tests.conftest import ROOT
from tests.processes import LIMIT_SECONDS, finished, started

# The console script, whatever the folder that a test stands in.
EVALSUITE = (sys.executable, "-m", "evalsuite")
# What would decide the width, the colours or the encoding in place of the test.
_DECIDED_BY_THE_TEST = (
    *("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE"),
    *("PYTHONIOENCODING", "PYTHONUTF8", "PYTHONCOERCECLOCALE", "LANG", "LC_ALL", "LC_CTYPE", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"),
)
# No UTF-8 anywhere, not even for the names of files.
C_LOCALE = {"LC_ALL": "C", "LANG": None, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
_USUAL = {"TERM": "xterm-256color", "LANG": "C.UTF-8"}
_ESCAPE = re.compile(r"\x1b(?:\[([0-9;?]*)([A-Za-z])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-B]|[=>78])")
_STYLE = re.compile(r"\x1b\[[0-9;:]*m")
_NEVER = ("internal error", "Traceback (most recent call last)")


@dataclass(frozen=True)
class Shown:
    """What a command showed: `raw` all that reached the terminal, or stdout of a pipe; `errors` stderr where it had a pipe of its own."""

    code: int
    raw: str
    errors: str = ""

    @property
    def screen(self) -> str:
        """The text as it stands on the screen in the end: escapes obeyed, what was drawn over gone, lines as long as they were written."""
        return _screen(self.raw)

    @property
    def lines(self) -> list[str]:
        """The lines of the screen without the empty ones."""
        return [line for line in self.screen.splitlines() if line.strip()]

    @property
    def coloured(self) -> bool:
        """Whether any character was coloured, bold or dim."""
        return _STYLE.search(self.raw) is not None


def run(
    command: Sequence[object],
    *,
    columns: int = 80,
    env: Mapping[str, str | None] | None = None,
    cwd: Path = ROOT,
    timeout: float = LIMIT_SECONDS,
    typed: Sequence[tuple[str, bytes]] = (),
    into: Path | None = None,
) -> Shown:
    """The command in a terminal of its own, with stdin, stdout and stderr on it.

    `typed` are keys: once the text was seen, the bytes are typed (`b"\\x03"` is Ctrl-C); once an evalsuite answers signals, if there is no
    text. With `into`, stdout goes to that file and the terminal shows stderr only. `env` is laid over the environment, None takes a
    variable away.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    waiting = list(typed)
    shown = b""
    out: Any = into.open("wb") if into is not None else theirs
    try:
        with _in_terminal(command, theirs, out, timeout, cwd, env, is_stopped=any(b"\x03" in keys for _, keys in typed)) as process:
            os.close(theirs)
            theirs = -1
            deadline = time.monotonic() + timeout
            while time.monotonic() < deadline:
                # Asked first: what a process printed before its end is read afterwards.
                is_over = process.poll() is not None
                piece = _read(ours)
                if piece is None:
                    break
                shown += piece
                while waiting and (waiting[0][0].encode() in shown if waiting[0][0] else answers_signals(process)):
                    os.write(ours, waiting.pop(0)[1])
                if not piece and is_over:
                    break
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=max(0.0, deadline - time.monotonic()))
            raw = shown.decode("utf-8", "backslashreplace")
            assert process.returncode is not None, f"not ended after {timeout:g} s: {list(command)}; the screen says\n{_screen(raw)}"
    finally:
        os.close(ours)
        if theirs >= 0:
            os.close(theirs)
        if into is not None:
            out.close()
    assert not waiting, f"never seen: {waiting[0][0]!r}; the screen says\n{_screen(raw)}"
    return _held(command, Shown(process.returncode, raw))


def piped(
    command: Sequence[object],
    *,
    env: Mapping[str, str | None] | None = None,
    cwd: Path = ROOT,
    timeout: float = LIMIT_SECONDS,
    text: str | None = None,
    encoding: str = "utf-8",
) -> Shown:
    """The command between pipes, `text` on stdin; what it prints is read strictly in that encoding, which `env` has to ask for."""
    if _is_forkable(command, env):
        words = list(command)[len(EVALSUITE) :]
        done = command_server().run(words, cwd=cwd, env=environment(env), text=text, seconds=timeout, encoding=encoding)
    else:
        done = finished(command, seconds=timeout, text=text, cwd=cwd, env=environment(env), encoding=encoding)
    return _held(command, Shown(done.returncode, done.stdout, done.stderr))


def need_ascii_checkout() -> None:
    """Skip a test in the C locale whose Python could not start: the path of its environment is not ASCII."""
    if not sys.prefix.isascii() or not str(ROOT).isascii():
        pytest.skip("in the C locale Python does not start from a folder with a name that is not ASCII")


def _is_forkable(command: Sequence[object], env: Mapping[str, str | None] | None) -> bool:
    """Whether a fork of the command server shows the same: most of Python's own variables are read at the start only."""
    changed = {*(env or {})} - {"PYTHONIOENCODING"}
    return tuple(command)[: len(EVALSUITE)] == EVALSUITE and not any(name.startswith(("PYTHON", "LC_", "LANG")) for name in changed)


def environment(changes: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """The environment of a person with an ordinary terminal, with these changes; None takes a variable away."""
    if changes == C_LOCALE:
        need_ascii_checkout()
    base = {key: value for key, value in os.environ.items() if key not in _DECIDED_BY_THE_TEST}
    return {key: value for key, value in {**base, **_USUAL, **(changes or {})}.items() if value is not None}


def answers_signals(process: subprocess.Popen[str]) -> bool:
    """Whether a process has set its handlers, or has ended: before that a signal is the system's to answer, or Python's own."""
    if process.poll() is not None:
        return True
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def _held(command: Sequence[object], shown: Shown) -> Shown:
    everything = f"{shown.raw}\n{shown.errors}"
    for words in _NEVER:
        assert words not in everything, f"{list(command)} says {words!r}:\n{everything}"
    assert shown.code != 3, f"{list(command)} ends with exit code 3:\n{everything}"
    assert shown.code >= 0, f"{list(command)} was ended by signal {-shown.code}:\n{everything}"
    return shown


@contextmanager
def _in_terminal(
    command: Sequence[object], terminal: int, out: Any, timeout: float, cwd: Path, env: Mapping[str, str | None] | None, *, is_stopped: bool
) -> Iterator["subprocess.Popen[str] | Command"]:
    """The command on that terminal: a fork of the command server, or an interpreter of its own where Ctrl-C is typed."""
    if is_stopped or not _is_forkable(command, env):
        how = {"stdin": terminal, "stdout": out, "stderr": terminal, "preexec_fn": _take_terminal}
        with started(command, seconds=timeout, cwd=cwd, env=environment(env), **how) as process:
            yield process
        return
    streams = (terminal, out if isinstance(out, int) else out.fileno(), terminal)
    words = list(command)[len(EVALSUITE) :]
    forked = command_server().start(words, streams, cwd=cwd, env=environment(env), has_terminal=True)
    try:
        yield forked
    finally:
        forked.kill()


def _take_terminal() -> None:
    # In the child, which leads a session of its own: Ctrl-C typed on the terminal on its stdin is to reach it.
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _read(ours: int) -> bytes | None:
    """What the terminal shows by now, nothing after a while; None when the last writer has closed it."""
    if not select.select([ours], [], [], 0.05)[0]:
        return b""
    try:
        return os.read(ours, 65536) or None
    except OSError:
        # Linux says so when the last writer has closed the terminal.
        return None


def _screen(raw: str) -> str:
    rows, row, column = [[]], 0, 0  # type: list[list[str]], int, int
    at = 0
    while at < len(raw):
        char = raw[at]
        if char == "\x1b" and (escape := _ESCAPE.match(raw, at)):
            at = escape.end()
            count = int((escape[1] or "").strip("?").split(";")[0] or 0)
            if escape[2] == "A":
                row = max(0, row - (count or 1))
            elif escape[2] == "C":
                column += count or 1
            elif escape[2] == "D":
                column = max(0, column - (count or 1))
            elif escape[2] == "G":
                column = max(0, count - 1)
            elif escape[2] == "K":
                rows[row] = [] if count == 2 else rows[row][:column]
            elif escape[2] == "J":
                rows[row + 1 :] = []
                rows[row] = rows[row][:column]
            continue
        at += 1
        if char == "\n":
            row, column = row + 1, 0
            while len(rows) <= row:
                rows.append([])
        elif char == "\r":
            column = 0
        elif char == "\b":
            column = max(0, column - 1)
        elif char not in "\x07\x00":
            line = rows[row]
            line.extend(" " * (column + 1 - len(line)))
            line[column] = char
            column += 1
    return "\n".join("".join(line).rstrip() for line in rows)
