"""A jail for programs: Python that somebody submitted, run to learn one thing, whether it passes a test.

Program and test run in two processes that send each other data (`program_channel`); the asserts are in the test's (`jailed_test`), and
nothing that the program does to its own interpreter (`jailed_program`) reaches them. Round each of the two stand, all of them or there is
no jail: namespaces of its own for users, processes, network, mounts and IPC; Landlock, which leaves it the interpreter's packages to read
and one empty folder in memory to write, from which nothing is executed; a seccomp filter, under which it starts no process, opens no
socket and has no memory that is written and executed; limits on memory, CPU time and file size (`jail_start`).
"""

import contextlib
import os
import select
import signal
import struct
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal, NamedTuple

from evalsuite.core.errors import OutputError
from evalsuite.sandbox.cpu_clock import Clock, descendants
from evalsuite.sandbox.linux_layers import PACKAGE, can_filter, landlock_version, was_killed
from evalsuite.sandbox.temp_dirs import ScratchFolder

CHUNK: Final = 4096
READY: Final = b"!"
# How long the walls may take to build, on a machine with much else to do.
START_SECONDS: Final = 30.0
# The exit code of the first process where the system killed the one below it, and how long that one may take to end then.
EXIT_KILLED: Final = 77
_END_SECONDS: Final = 5.0
# Lengths of program and test.
_HEADER: Final = struct.Struct("=II")
# Interpreter flags: no environment, no user folder, no site packages.
_BARE: Final = ("-I", "-S", "-X", "utf8")


class Ended(NamedTuple):
    """How a program's test ended, and why: `unknown` where it cannot be run apart from the program, `unrun` where this machine did not let
    it come to its end; the seconds that its processes had, their start included.
    """

    how: Literal["passed", "failed", "timeout", "unknown", "unrun", "killed"]
    why: str = ""
    seconds: float = 0.0


def run_program(program: str, test: str, *, timeout_seconds: float, memory_mib: int, jailed: bool = True) -> Ended:
    """`passed` where the test ran to its end without an error, `timeout` where it was killed, else `failed`.

    The test sees the program's names as if it stood behind it in one file. `jailed` False runs both behind limits and an audit hook only,
    which a program walks through.
    """
    for _ in range(2):
        ended = _run_once(program, test, timeout_seconds=timeout_seconds, memory_mib=memory_mib, jailed=jailed)
        if ended is not None and ended.how != "killed":
            return ended
    # Without a jail a program can end each of its processes itself.
    if ended is not None and jailed:
        return Ended("unrun", "the system killed it twice, which no limit of the run does: is there too little memory?", ended.seconds)
    return Ended("failed")


def _run_once(program: str, test: str, *, timeout_seconds: float, memory_mib: int, jailed: bool) -> Ended | None:
    """How it ended: `killed` where the system killed one of its processes; None where the test's was gone before it could say anything."""
    source, behind = program.encode("utf-8", "surrogatepass"), test.encode("utf-8", "surrogatepass")
    message = _HEADER.pack(len(source), len(behind)) + source + behind
    with contextlib.nullcontext(os.sep) if jailed else _own_folder() as folder:
        process = subprocess.Popen(
            _command(memory_mib, timeout_seconds, jailed=jailed),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env={},
            start_new_session=True,
        )
        try:
            ended = _told(process, message, timeout_seconds)
            with contextlib.suppress(subprocess.TimeoutExpired):
                # What waits for the test's process ends with it.
                if ended is None and (process.wait(_END_SECONDS) == EXIT_KILLED or was_killed(process.returncode)):
                    return Ended("killed")
            return ended
        finally:
            _end(process)


def _command(memory_mib: int, seconds: float, *, jailed: bool) -> list[str]:
    # Only this package and the one that packs messages are put on the path; both are off it again before the program runs.
    packing = find_spec("msgspec")
    assert packing is not None
    own = [str(PACKAGE.parent), str(Path(str(packing.origin)).parent.parent)]
    installed = sorted({os.path.realpath(sysconfig.get_path(name)) for name in ("purelib", "platlib")})
    code = (
        f"import sys; sys.path[:0] = {own}; from evalsuite.sandbox.program_start import begin; "
        f"begin({memory_mib}, {seconds}, {installed}, jailed={jailed})"
    )
    return [sys.executable, *_BARE, "-c", code]


@cache
def can_jail() -> bool:
    """Whether this machine lets all walls of the jail be built; tried once, with an empty program."""
    if not (can_filter() and landlock_version()):
        return False
    try:
        return run_program("", "", timeout_seconds=20.0, memory_mib=512).how == "passed"
    except OSError:
        # Inside other walls no process can be started.
        return False


def _told(process: subprocess.Popen[bytes], message: bytes, timeout_seconds: float) -> Ended | None:
    """Send the message and read the answer; the program's seconds begin when both processes are ready. None where there is no answer."""
    assert process.stdin is not None
    assert process.stdout is not None
    to, back = process.stdin.fileno(), process.stdout.fileno()
    os.set_blocking(to, False)
    left, heard = memoryview(message), b""
    clock, seconds, over, before = Clock(lambda: descendants(process.pid)), START_SECONDS, "", 0.0
    while not over:
        readable, writable, _ = select.select([back], [to] if left else [], [], clock.wait(seconds))
        if readable:
            piece = os.read(back, CHUNK)
            heard += piece
            if heard == READY:
                before, seconds = clock.looked(), timeout_seconds
                clock.start()
            if heard.endswith(b"\n"):
                return _verdict(heard.removeprefix(READY))._replace(seconds=before + clock.looked())
            if not piece:
                return None
        if writable:
            try:
                left = left[os.write(to, left) :]
            except BrokenPipeError:
                left = left[:0]
        over = clock.over(seconds) if clock.is_due(seconds) else ""
    if not heard:
        return Ended("unrun", f"its walls did not stand within {START_SECONDS:g} s", clock.had)
    if over == "delayed":
        return Ended("unrun", "it waited for a CPU most of the time (limit seconds)", before + clock.had)
    return Ended("timeout", "", before + clock.had)


def _verdict(line: bytes) -> Ended:
    how, _, why = line.decode("utf-8", "replace").strip().partition(" ")
    if how == "killed":
        return Ended("killed")
    return Ended("passed") if how == "passed" else Ended("unknown", why) if how == "unknown" else Ended("failed", why)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and whatever it started, and take it off the system's list."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    process.wait()


@contextmanager
def _own_folder() -> Iterator[str]:
    """An empty folder that goes afterwards; behind walls that forbid writing, the file system's root."""
    try:
        folder = ScratchFolder()
    except OutputError:
        yield os.sep
        return
    with folder as path:
        yield str(path)
