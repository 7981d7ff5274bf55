"""The one place where a worker process is started; `walls.worker_walls.lock_in` takes from it what it must not have."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evalsuite.errors import EvalsuiteError
from evalsuite.walls.landlock import PACKAGE
from evalsuite.workers.wire import send

_CODE = "import sys; sys.path[:] = {path!r}; from evalsuite.workers.inside import start; start()"


# What a reader may need to find its libraries; nothing else of the user's environment reaches a worker.
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "TZ": "UTC", "PATH": "/usr/bin:/bin"}


_KEPT = ("LD_LIBRARY_PATH", "SYSTEMROOT")


@dataclass(slots=True)
class Worker:
    """One process with its control socket."""

    process: subprocess.Popen[bytes]
    control: socket.socket
    ready: bool = False

    def kill(self) -> None:
        """End the process and everything it started, and take its exit."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()
        self.process.wait()
        self.control.close()


def open_worker(role: str, setup: bytes, hostile: Path) -> Worker:
    """A worker that is in no lane, on its way behind its walls; no import path leads it into the `hostile` folder, a submission."""
    try:
        worker = spawn(role, None, hostile)
        send(worker.control, setup)
    except OSError:
        raise cannot_start() from None
    return worker


def spawn(role: str, data: socket.socket | None, hostile: Path) -> Worker:
    """A fresh interpreter in its own session, cwd `/`, with nothing of this process but its sockets and import path."""
    if sys.platform == "win32":
        raise EvalsuiteError("workers need POSIX sockets and sessions", hint="on Windows, run it under WSL")
    ours, theirs = socket.socketpair()
    passed = [theirs.fileno(), *([data.fileno()] if data is not None else [])]
    path = [entry or str(Path.cwd()) for entry in sys.path]
    path = [entry for entry in path if not _is_hostile(Path(entry).resolve(), hostile)]
    arguments = [role, str(theirs.fileno()), str(data.fileno() if data is not None else -1)]
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _CODE.format(path=path), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={**_ENVIRONMENT, **{name: os.environ[name] for name in _KEPT if name in os.environ}},
        pass_fds=passed,
        start_new_session=True,
    )
    theirs.close()
    return Worker(process=process, control=ours)


def _is_hostile(entry: Path, submission: Path) -> bool:
    """Whether an import path leads into the submission; an environment that somebody keeps there is the user's own."""
    return entry.is_relative_to(submission) and not entry.is_relative_to(sys.prefix) and entry != PACKAGE.parent


def cannot_start() -> EvalsuiteError:
    return EvalsuiteError("a worker process cannot be started", hint="`--isolation none` needs less, for submissions you trust")


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Inside, what would interrupt this process waits until the end; workers started inside never hear it at all."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def now() -> float:
    """The clock of deadlines, in seconds."""
    return time.monotonic()
