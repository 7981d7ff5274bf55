"""Program sandbox: run a submitted Python program for one result, whether it passes a test.

Program and test run in two processes that exchange data (`program_channel`). The test's process (`program_test`) has the asserts, and
nothing that the program does to its own interpreter (`program_runner`) reaches them. `program_start` builds the sandbox around both
processes, complete or not at all: user, process, network, mount and IPC namespaces; Landlock, which allows reading the interpreter's
packages and writing one empty in-memory folder without execution; a seccomp filter without new processes, sockets, or memory that is both
writable and executable; limits on memory, CPU time and file size.
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
from evalsuite.sandbox.limits import Clock, descendants
from evalsuite.sandbox.linux_layers import PACKAGE, can_filter, landlock_version, was_killed
from evalsuite.sandbox.temp_dirs import TempDir

CHUNK: Final = 4096
READY: Final = b"!"
# Seconds to build the sandbox on a busy machine.
START_SECONDS: Final = 30.0
# Exit code of the first process if the system killed the one below it, and the seconds that it then has to end.
EXIT_KILLED: Final = 77
_END_SECONDS: Final = 5.0
# Lengths of program and test.
_HEADER: Final = struct.Struct("=II")
# Libraries start no threads of their own. With an arena for each thread every one would reserve 64 MiB, and the machine's load would decide
# how many threads the memory limit allows.
_ENVIRONMENT: Final = dict.fromkeys(("MALLOC_ARENA_MAX", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
# Interpreter flags: no environment, no user folder, no site packages.
_BARE: Final = ("-I", "-S", "-X", "utf8")


class Ended(NamedTuple):
    """Outcome of a program's test, with the reason.

    `unknown`: the test cannot run in a process of its own. `unrun`: this machine did not let it finish. `seconds` is the time that its
    processes had, start included.
    """

    outcome: Literal["passed", "failed", "timeout", "unknown", "unrun", "killed"]
    why: str = ""
    seconds: float = 0.0


def run_program(program: str, test: str, *, timeout_seconds: float, memory_mib: int, sandboxed: bool = True) -> Ended:
    """Run the test on the program: `passed` if it ends without an error, `timeout` if it is killed for its time, else `failed`.

    The test sees the program's names as if it followed the program in one file. With `sandboxed` False both run with limits and an audit
    hook only, which a program can circumvent.
    """
    for _ in range(2):
        ended = _run_once(program, test, timeout_seconds=timeout_seconds, memory_mib=memory_mib, sandboxed=sandboxed)
        if ended is not None and ended.outcome != "killed":
            return ended
    # Without a sandbox a program can kill each of its processes itself.
    if ended is not None and sandboxed:
        return Ended("unrun", "the operating system killed it twice, not a limit of the run: is there too little memory?", ended.seconds)
    return Ended("failed")


def _run_once(program: str, test: str, *, timeout_seconds: float, memory_mib: int, sandboxed: bool) -> Ended | None:
    """Return the outcome: `killed` if the system killed one of the processes; None if the test's process ended without a verdict."""
    source, behind = program.encode("utf-8", "surrogatepass"), test.encode("utf-8", "surrogatepass")
    message = _HEADER.pack(len(source), len(behind)) + source + behind
    with contextlib.nullcontext(os.sep) if sandboxed else _own_folder() as folder:
        process = subprocess.Popen(
            _command(memory_mib, timeout_seconds, sandboxed=sandboxed),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=_ENVIRONMENT,
            start_new_session=True,
        )
        try:
            ended = _exchange(process, message, timeout_seconds)
            with contextlib.suppress(subprocess.TimeoutExpired):
                # The first process ends with the test's process.
                if ended is None and (process.wait(_END_SECONDS) == EXIT_KILLED or was_killed(process.returncode)):
                    return Ended("killed")
            return ended
        finally:
            _end(process)


def _command(memory_mib: int, seconds: float, *, sandboxed: bool) -> list[str]:
    # Only this package and msgspec are on the path; both are removed before the program runs.
    packing = find_spec("msgspec")
    assert packing is not None
    import_roots = [str(PACKAGE.parent), str(Path(str(packing.origin)).parent.parent)]
    installed = sorted({os.path.realpath(sysconfig.get_path(name)) for name in ("purelib", "platlib")})
    code = (
        f"import sys; sys.path[:0] = {import_roots}; from evalsuite.sandbox.program_start import begin; "
        f"begin({memory_mib}, {seconds}, {installed}, sandboxed={sandboxed})"
    )
    return [sys.executable, *_BARE, "-c", code]


@cache
def can_sandbox_programs() -> bool:
    """Return whether this machine supports the whole program sandbox; tried once, with an empty program."""
    if not (can_filter() and landlock_version()):
        return False
    try:
        return run_program("", "", timeout_seconds=20.0, memory_mib=512).outcome == "passed"
    except OSError:
        # Inside another sandbox no process can be started.
        return False


def _exchange(process: subprocess.Popen[bytes], message: bytes, timeout_seconds: float) -> Ended | None:
    """Send the message and read the reply; the program's time starts when both processes are ready. None if there is no reply."""
    assert process.stdin is not None
    assert process.stdout is not None
    to, back = process.stdin.fileno(), process.stdout.fileno()
    os.set_blocking(to, False)
    left, received = memoryview(message), b""
    clock, seconds, over, before = Clock(lambda: descendants(process.pid)), START_SECONDS, "", 0.0
    while not over:
        readable, writable, _ = select.select([back], [to] if left else [], [], clock.wait(seconds))
        if readable:
            piece = os.read(back, CHUNK)
            received += piece
            if received == READY:
                before, seconds = clock.read(), timeout_seconds
                clock.start()
            if received.endswith(b"\n"):
                how, _, why = received.removeprefix(READY).decode("utf-8", "replace").strip().partition(" ")
                ends: dict[str, Ended] = {"killed": Ended("killed"), "passed": Ended("passed"), "unknown": Ended("unknown", why)}
                return ends.get(how, Ended("failed", why))._replace(seconds=before + clock.read())
            if not piece:
                return None
        if writable:
            try:
                left = left[os.write(to, left) :]
            except BrokenPipeError:
                left = left[:0]
        over = clock.check(seconds)
    if not received:
        return Ended("unrun", f"its sandbox was not ready within {START_SECONDS:g} s", clock.seconds_used)
    if over == "delayed":
        return Ended("unrun", "it waited for a CPU most of the time (limit seconds)", before + clock.seconds_used)
    return Ended("timeout", "", before + clock.seconds_used)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and everything it started, and reap it."""
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
    """Create an empty folder for the block; yield the root folder if the surrounding sandbox forbids writing."""
    try:
        folder = TempDir()
    except OutputError:
        yield os.sep
        return
    with folder as path:
        yield str(path)
