"""The one place where worker processes are started; in `walls.worker_walls.lock_in` each takes from itself what it must not have.

Workers are forked from a zygote: a fresh interpreter that has imported what judging needs, and has seen neither gold nor a submission
(one that forks judges alone may be told to hold gold). A fork costs some milliseconds where an interpreter of its own costs 100 and more,
so there is no need of a spare that stands ready. The zygote reads nothing but orders of the parent, and waits for every worker that it
forked, so that no number of a process means two.
"""

import contextlib
import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalsuite.core.errors import EvalsuiteError
from evalsuite.sandbox.framing import ANSWER, CALL, FORK, LOAD, ORDER, REAP
from evalsuite.sandbox.linux_layers import PACKAGE
from evalsuite.sandbox.temp_dirs import sweep_scratch
from evalsuite.sandbox.worker_sandbox import can_fork

# Nothing that it imports is ever garbage, and a page that a collector never touched stays shared with the workers.
_CODE = (
    "import gc, sys; gc.disable(); sys.path[:] = {path!r}; "
    "from evalsuite.sandbox.worker_main import serve_forks; serve_forks({control}, {modules})"
)
# What a reader may need to find its libraries; nothing else of the user's environment reaches a worker.
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "TZ": "UTC", "PATH": "/usr/bin:/bin"}
_KEPT = ("LD_LIBRARY_PATH", "SYSTEMROOT")
# So long it may take to end its workers before it is killed itself.
_END_SECONDS = 5.0


@dataclass(slots=True)
class Worker:
    """One process with its control socket, and the zygote that waits for it. `ready`: it stands behind its walls."""

    pid: int
    control: socket.socket
    zygote: "ForkServer"
    ready: bool = False
    status: int | None = None

    @property
    def alive(self) -> bool:
        """Whether its end of the control socket is open, whatever it sent before: no worker closes that before it ends."""
        if self.status is not None:
            return False
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        try:
            ready = dict(poll.poll(0))
            if any(events & (select.POLLHUP | select.POLLERR) for events in ready.values()):
                return False
            return not ready or self.control.recv(1, socket.MSG_PEEK) != b""
        except OSError:
            return False

    def kill(self) -> int:
        """End the process and everything it started; how it had ended, as `subprocess.Popen.returncode` says it."""
        if self.status is None:
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    kill(self.pid, signal.SIGKILL)
            self.status = self.zygote.reap(self.pid)
            self.control.close()
        return self.status


class ForkServer:
    """The process that workers are forked from. No import path leads it into a `hostile` folder, a submission.

    It imports `modules` before the first fork. It is started by the constructor and not waited for. It dies with the thread that made it,
    and its workers die with it.
    """

    def __init__(self, *hostile: Path, modules: Sequence[str] = ()) -> None:
        if not can_fork():
            raise EvalsuiteError("this system cannot fork workers", hint="`--isolation none` needs less, for submissions you trust")
        self._lock, self._has_forked = threading.Lock(), False
        self._control, theirs = socket.socketpair()
        with theirs, undisturbed():
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    "-c",
                    _CODE.format(path=import_path(*hostile), control=theirs.fileno(), modules=tuple(modules)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=worker_environment(),
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        # While it starts: every command that opens workers clears away what a killed one left.
        sweep_scratch()

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def load(self, modules: Collection[str]) -> None:
        """Have it import modules, so that no worker has to; what cannot be imported is left to whoever needs it."""
        names = " ".join(modules).encode()
        with contextlib.suppress(OSError), self._lock, undisturbed():
            self._control.sendall(ORDER.pack(LOAD, len(names), b"") + names)

    def call(self, function: str, *arguments: Any) -> None:
        """Have it call `function` (`module:name`); every worker that is forked afterwards has what the call left in memory."""
        order = pickle.dumps((function, arguments))
        with contextlib.suppress(OSError), self._lock, undisturbed():
            self._control.sendall(ORDER.pack(CALL, len(order), b"") + order)

    def fork(self, role: str, data: socket.socket | None = None) -> Worker:
        """A worker in a session of its own, cwd `/`, with nothing of this process but its sockets. Raises `EvalsuiteError`."""
        ours, theirs = socket.socketpair()
        with theirs:
            passed = [theirs.fileno(), *([data.fileno()] if data is not None else [])]
            self._has_forked = True
            pid = self._order(ORDER.pack(FORK, 0, role.encode()), passed)
        if pid < 0:
            ours.close()
            raise cannot_start()
        return Worker(pid=pid, control=ours, zygote=self)

    def reap(self, pid: int) -> int:
        """How a worker that was killed ended; -SIGKILL where the zygote is gone, which takes all with it."""
        return self._order(ORDER.pack(REAP, pid, b""), default=-signal.SIGKILL)

    def close(self) -> None:
        """End it, and with it every worker that is left; when this returns there is none."""
        self._control.close()
        if self._has_forked:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_SECONDS)
        self._process.kill()
        self._process.wait()

    def _order(self, order: bytes, passed: Sequence[int] = (), *, default: int = -1) -> int:
        """What it answers, `default` where it is gone."""
        with self._lock, undisturbed():
            try:
                socket.send_fds(self._control, [order], passed)
                answer = self._control.recv(ANSWER.size, socket.MSG_WAITALL)
                return int(ANSWER.unpack(answer)[0])
            except (OSError, struct.error):
                return default


_shared: ForkServer | None = None


@contextlib.contextmanager
def shared(server: ForkServer | None) -> Iterator[None]:
    """Let every `forking()` of the block use one running fork server, where a process scores many trusted folders."""
    global _shared
    before, _shared = _shared, server
    try:
        yield
    finally:
        _shared = before


@contextlib.contextmanager
def forking(*hostile: Path, modules: Sequence[str] = (), is_shareable: bool = True) -> Iterator[ForkServer | None]:
    """A zygote for the time of a block, None on a system that has no such thing.

    Yields the server of an enclosing `shared()` block if there is one, unless `is_shareable` is false (a server that will read gold).
    """
    if not can_fork():
        yield None
        return
    if is_shareable and _shared is not None and _shared.alive:
        yield _shared
        return
    zygote: ForkServer | None = None
    try:
        with undisturbed():
            zygote = ForkServer(*hostile, modules=modules)
        yield zygote
    finally:
        if zygote is not None:
            zygote.close()


def import_path(*hostile: Path) -> list[str]:
    """Where a worker looks for modules: as this process does, but in no `hostile` folder."""
    path = [entry or str(Path.cwd()) for entry in sys.path]
    places = {entry: Path(entry).resolve() for entry in path}
    # A board may have thousands, and most entries lie apart from all of them.
    folders = {folder.resolve() for folder in hostile}
    around = {entry: {place, *place.parents} & folders for entry, place in places.items()}
    return [entry for entry in path if not any(_is_hostile(places[entry], folder) for folder in around[entry])]


def worker_environment() -> dict[str, str]:
    """The whole environment of a worker."""
    return {**_ENVIRONMENT, **{name: os.environ[name] for name in _KEPT if name in os.environ}}


def _is_hostile(entry: Path, submission: Path) -> bool:
    """Whether an import path leads into the submission; an environment that somebody keeps there is the user's own."""
    return entry.is_relative_to(submission) and not entry.is_relative_to(sys.prefix) and entry != PACKAGE.parent


def cannot_start() -> EvalsuiteError:
    """What is said where the system gives no process."""
    return EvalsuiteError("a worker process cannot be started", hint="`--isolation none` needs less, for submissions you trust")


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Inside, what would interrupt this process waits until the end; processes started inside never hear it at all."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    stops = {stop for stop in signal.Signals if stop.name in ("SIGINT", "SIGTERM", "SIGHUP")}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def now() -> float:
    """The clock of deadlines, in seconds."""
    return time.monotonic()
