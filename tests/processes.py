"""Processes that tests start: each has a time limit of its own, hears the signals it is sent, and is ended with all its children."""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

# Generous: what hangs must end, what is slow on a busy machine must not fail.
LIMIT_SECONDS = 120.0


@contextmanager
def started(
    command: Sequence[object] | str, *, seconds: float = LIMIT_SECONDS, farewell: signal.Signals | None = None, **how: Any
) -> Iterator[subprocess.Popen[str]]:
    """A process that is going on, leader of a session of its own; at the end of the block it and its group are killed.

    `how` are the keywords of `subprocess.Popen`; texts unless it says otherwise. A process that has to put things away first is sent
    `farewell` and given 20 s. Raises `AssertionError` where the block has not come to its end after that many seconds: the process is then
    killed, so nobody waits for what it does not say.
    """
    words = command if isinstance(command, str) else [str(word) for word in command]
    process = subprocess.Popen(words, **{"text": True, "start_new_session": True, **how})
    too_late = threading.Event()

    def end() -> None:
        too_late.set()
        _kill(process)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield process
    finally:
        timer.cancel()
        if farewell is not None:
            process.send_signal(farewell)
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=20)
        _kill(process)
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        if too_late.is_set():
            raise AssertionError(f"not ended after {seconds:g} s: {words}")


@contextmanager
def room_for_files(n_bytes: int) -> Iterator[None]:
    """No file of this process takes more bytes, as on a disk that is full: a write takes what fits, then fails."""
    import resource  # Windows has none

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def finished(
    command: Sequence[object] | str, *, seconds: float = LIMIT_SECONDS, text: str | None = None, check: bool = False, **how: Any
) -> subprocess.CompletedProcess[str]:
    """A process that has ended, with what it printed; `text` is its stdin, and with `check` another exit code than 0 is an error."""
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL if text is None else subprocess.PIPE, **how}
    with started(command, seconds=seconds, **how) as process:
        printed, complaint = process.communicate(text)
    done = subprocess.CompletedProcess(process.args, process.returncode, printed, complaint)
    assert not check or done.returncode == 0, (process.args, done.returncode, complaint)
    return done


def side_by_side(commands: Sequence[Sequence[object]], **how: Any) -> list[subprocess.CompletedProcess[str]]:
    """Processes that went on at the same time, when all have ended."""
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **how}
    with ExitStack() as stack:
        going_on = [stack.enter_context(started(command, **how)) for command in commands]
        said = [process.communicate() for process in going_on]
        return [
            subprocess.CompletedProcess(process.args, process.returncode, *texts) for process, texts in zip(going_on, said, strict=True)
        ]


def _kill(process: subprocess.Popen[Any]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
