"""Fork server: the only place that starts worker processes.

Workers are forked from a fresh interpreter that has imported what scoring needs and has read neither gold nor a submission (the server that
forks only the gold-side workers may load gold). A fork takes a few milliseconds, a new interpreter 100 or more, so no spare workers are
kept. The fork server reads only orders of the parent, and reaps every worker that it forked, so that process ids are never reused. Each
worker enters its sandbox itself (`worker_sandbox.enter_sandbox`).
"""

import contextlib
import os
import pickle
import select
import signal
import socket
import struct
import sys
import threading
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.core.dataclasses import dataclass, field
from evalsuite.core.errors import EvalsuiteError, MachineError, reason_of
from evalsuite.core.import_ref import ImportRef, LazyModule
from evalsuite.core.runtime import signals_blocked
from evalsuite.sandbox.linux_layers import PACKAGE, fork_process_1
from evalsuite.sandbox.messages import ANSWER, CALL, FORK, ORDER, REAP, ClosedError, Frames
from evalsuite.sandbox.temp_dirs import remove_stale_temp_dirs
from evalsuite.sandbox.worker_sandbox import can_fork

if TYPE_CHECKING:
    import subprocess
else:
    subprocess = LazyModule("subprocess")

# Garbage collection is off: imports create no garbage, and untouched pages stay shared with the workers.
_CODE = (
    "import gc, sys; gc.disable(); sys.path[:] = {path!r}; "
    "from evalsuite.sandbox.worker_main import serve_forks; serve_forks({control}, {modules})"
)
# Environment that libraries need; no other variable of the user reaches a worker.
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "TZ": "UTC", "PATH": "/usr/bin:/bin"}
_KEPT = ("LD_LIBRARY_PATH", "SYSTEMROOT")
# Bytes that are taken from a worker's socket at once.
_PIECE = 1 << 18
# Seconds to end the workers before the fork server itself is killed.
_END_SECONDS = 5.0


@dataclass(slots=True)
class Worker:
    """One worker process with its control socket and its fork server. `ready`: it has entered its sandbox."""

    pid: int
    control: socket.socket
    fork_server: "ForkServer"
    ready: bool = False
    status: int | None = None
    _incoming: Frames = field(default_factory=Frames)

    def receive(self) -> list[bytes]:
        """Return the frames that have arrived, without waiting. Raises `ClosedError` if the worker's end is closed, OSError, ValueError."""
        try:
            data = self.control.recv(_PIECE, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return []
        if not data:
            raise ClosedError
        return self._incoming.add(data)

    @property
    def alive(self) -> bool:
        """Whether the worker's end of the control socket is open; a worker closes it only when it ends."""
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
        """Kill the process and everything it started. Return its exit status as `subprocess.Popen.returncode` does."""
        if self.status is None:
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    kill(self.pid, signal.SIGKILL)
            self.status = self.fork_server.reap(self.pid)
            self.control.close()
        return self.status


class ForkServer:
    """Process that workers are forked from. Its import path contains no `hostile` folder (a submission).

    The constructor starts it and does not wait. It imports `modules` before the first fork. It dies with the thread that created it, and
    its workers die with it.
    """

    def __init__(self, *hostile: Path, modules: Sequence[str] = ()) -> None:
        if not can_fork():
            raise EvalsuiteError("this system cannot fork workers", hint="`--isolation none` needs less, for submissions you trust")
        self._lock, self._has_forked, self._is_lost = threading.Lock(), False, False
        self._process: _Forked | subprocess.Popen[bytes]
        if _ahead:
            self._process, self._control = _ahead.pop()
            self.call("evalsuite.sandbox.worker_main:set_import_path", import_path(*hostile))
            self.load(modules)
        else:
            self._process, self._control = _start_process(import_path(*hostile), modules)
        # Meanwhile the process starts.
        remove_stale_temp_dirs()

    @property
    def alive(self) -> bool:
        """Whether the process is running and answers."""
        return not self._is_lost and self._process.poll() is None

    def load(self, modules: Collection[str]) -> None:
        """Import modules in the fork server, so that workers share them. A module that cannot be imported is skipped."""
        self.call("evalsuite.sandbox.worker_main:import_for_workers", list(modules))

    def call(self, function: str, *arguments: Any) -> None:
        """Call `function` (`module:name`) in the fork server. Workers forked later share the memory that it filled."""
        order = pickle.dumps((function, arguments))
        with contextlib.suppress(OSError), self._lock, signals_blocked():
            self._control.sendall(ORDER.pack(CALL, len(order)) + order)

    def fork(self, data: socket.socket | None = None, *, sandboxed: bool = True) -> Worker:
        """Fork a worker in its own session, with cwd `/` and no descriptors but its sockets. Raises `EvalsuiteError`.

        `sandboxed`: it will enter the sandbox, and gets the user namespace that this needs.
        """
        parent_end, child_end = socket.socketpair()
        with child_end:
            passed = [child_end.fileno(), *([data.fileno()] if data is not None else [])]
            self._has_forked = True
            pid = self._order(ORDER.pack(FORK, sandboxed), passed, default=0)
        if pid <= 0:
            parent_end.close()
            raise start_error(OSError(-pid, os.strerror(-pid)) if pid else "the process that starts workers has ended")
        return Worker(pid=pid, control=parent_end, fork_server=self)

    def reap(self, pid: int) -> int:
        """Wait for a killed worker and return its status; -SIGKILL if the fork server is gone, since its workers die with it."""
        return self._order(ORDER.pack(REAP, pid), default=-signal.SIGKILL)

    def close(self) -> None:
        """End the fork server and all its workers; none is left when this returns."""
        is_ending = False
        with self._control, contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)
            self._control.settimeout(_END_SECONDS)
            # It ends its workers, and its own end closes its side.
            is_ending = self._has_forked and not self._control.recv(1)
        if not is_ending:
            self._process.kill()
        self._process.wait()

    def _order(self, order: bytes, passed: Sequence[int] = (), *, default: int) -> int:
        """Send an order and return its answer; `default` if the fork server is gone."""
        with self._lock, signals_blocked():
            try:
                socket.send_fds(self._control, [order], passed)
                answer = self._control.recv(ANSWER.size, socket.MSG_WAITALL)
                return int(ANSWER.unpack(answer)[0])
            except (OSError, struct.error):
                self._is_lost = True
                return default


def _start_process(path: Sequence[str], modules: Collection[str]) -> "tuple[subprocess.Popen[bytes], socket.socket]":
    """Start a fork server in a new interpreter; return its process and its control socket. Raises `EvalsuiteError`."""
    control, child_end = socket.socketpair()
    with child_end, signals_blocked():
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _CODE.format(path=path, control=child_end.fileno(), modules=tuple(modules))],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=worker_environment(),
                pass_fds=[child_end.fileno()],
                start_new_session=True,
            )
        except OSError as error:
            control.close()
            raise start_error(error) from None
    return process, control


class _Forked:
    """The methods of `subprocess.Popen` that `ForkServer` needs, for a process that this one forked."""

    def __init__(self, pid: int) -> None:
        self._pid, self._has_ended = pid, False

    def poll(self, *, waits: bool = False) -> int | None:
        """Return None as long as the process runs."""
        if not self._has_ended:
            # No child: a handler of the user's program has waited for it.
            with contextlib.suppress(ChildProcessError):
                self._has_ended = os.waitpid(self._pid, 0 if waits else os.WNOHANG)[0] == self._pid
        return 0 if self._has_ended else None

    def kill(self) -> None:
        """Kill the process if it runs."""
        if self.poll() is None:
            os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> None:
        """Wait for the end of the process."""
        self.poll(waits=True)


# The fork server that `fork_ahead` started for this process and that no `ForkServer` has taken over yet.
_ahead: list[tuple[_Forked, socket.socket]] = []


def fork_ahead(modules: Collection[str]) -> None:
    """Import `modules`, and fork the process that the next `ForkServer` of this process uses.

    It shares the imported modules, which saves a third of the CPU of a small run. Only for a command that has just started: it has read no
    file of gold yet, and its child overwrites the environment (`worker_main.continue_as_fork_server`). Does nothing if another thread runs.
    """
    try:
        if not can_fork() or len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208 - no Path is needed
            return
    except OSError:
        return
    for name in modules:
        ImportRef(name).load()
    from evalsuite.sandbox.worker_main import continue_as_fork_server

    control, child_end = socket.socketpair()
    with child_end, signals_blocked(), contextlib.suppress(OSError):
        try:
            pid = fork_process_1()
        except OSError:
            pid = os.fork()
        if pid:
            _ahead.append((_Forked(pid), control))
        else:
            continue_as_fork_server(child_end, worker_environment())


_shared: ForkServer | None = None


@contextlib.contextmanager
def share(server: ForkServer | None) -> Iterator[None]:
    """Let every `fork_server_for()` in the block use one running fork server. For processes that score many trusted folders."""
    global _shared
    before, _shared = _shared, server
    try:
        yield
    finally:
        _shared = before


@contextlib.contextmanager
def fork_server_for(*hostile: Path, modules: Sequence[str] = (), is_shareable: bool = True) -> Iterator[ForkServer | None]:
    """Open a fork server for the block; None if the system cannot fork.

    Yields the server of an enclosing `share()` block if there is one, unless `is_shareable` is false (a server that will read gold).
    """
    if not can_fork():
        yield None
        return
    if is_shareable and _shared is not None and _shared.alive:
        yield _shared
        return
    fork_server: ForkServer | None = None
    try:
        with signals_blocked():
            fork_server = ForkServer(*hostile, modules=modules)
        yield fork_server
    finally:
        if fork_server is not None:
            fork_server.close()


def import_path(*hostile: Path) -> list[str]:
    """Return the import path of workers: that of this process without `hostile` folders."""
    path = [entry or str(Path.cwd()) for entry in sys.path]
    places = {entry: Path(entry).resolve() for entry in path}
    # A leaderboard may have thousands of folders, and most entries are outside all of them.
    folders = {folder.resolve() for folder in hostile}
    around = {entry: {place, *place.parents} & folders for entry, place in places.items()}
    # A virtual environment inside the submission belongs to the user and is allowed.
    own_entries = {entry for entry, place in places.items() if place.is_relative_to(sys.prefix) or place == PACKAGE.parent}
    return [entry for entry in path if not around[entry] or entry in own_entries]


def worker_environment() -> dict[str, str]:
    """Return the whole environment of a worker."""
    return {**_ENVIRONMENT, **{name: os.environ[name] for name in _KEPT if name in os.environ}}


def start_error(reason: OSError | str) -> MachineError:
    """Return the error for a worker that does not start, with the reason that the system gives, or what was seen."""
    hint = "raise the limits of processes (ulimit -u, pids.max) and memory, or use --isolation none for submissions you trust"
    if isinstance(reason, OSError):
        reason = reason_of(reason) if reason.filename is None else f"{reason.filename}: {reason_of(reason)}"
    return MachineError(f"a worker process cannot be started: {reason}", hint=hint)
