"""The process side of the fork server: fork workers, enter the sandbox, call the function that the caller named, or serve its calls."""

import contextlib
import ctypes
import errno
import gc
import os
import pickle
import signal
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from evalsuite.core.dataclasses import dataclass, field
from evalsuite.core.errors import EvalsuiteError, FaultError
from evalsuite.core.import_ref import ImportRef
from evalsuite.core.plugin_calls import failure
from evalsuite.core.runtime import collect_rarely
from evalsuite.sandbox.linux_layers import adopt_orphans, die_with_parent, enter_process_namespace, fork_worker, libc
from evalsuite.sandbox.messages import (
    ANSWER,
    CALL,
    COPY,
    END,
    FORK,
    FULL,
    LONGEST_REQUEST,
    ORDER,
    ClosedError,
    error_reply,
    receive,
    reply,
    send,
)
from evalsuite.sandbox.temp_dirs import descriptor_path
from evalsuite.sandbox.worker_sandbox import enter_sandbox, prepare_sandbox, reduce_address_space

with contextlib.suppress(ModuleNotFoundError):  # absent on Windows, where this process calls what a worker would
    import resource

# The exit statuses of a worker that a bug of evalsuite's own code ended, and of one that ended in another error, mostly for lack of memory.
OWN_ERROR, OTHER_ERROR = 70, 1
# Pages of address space in use, and how much of the file is read.
_TAKEN, _LONGEST_STATM = Path("/proc/self/statm"), 256


def continue_as_fork_server(control: socket.socket, environment: Mapping[str, str]) -> None:
    """Continue in the child of a command as its fork server, with this environment and no descriptor but `control`. Does not return."""
    try:
        os.setsid()
        os.chdir("/")
        null, control_copy = os.open(os.devnull, os.O_RDWR), os.dup(control.detach())
        for number in range(3):
            os.dup2(null, number)
        os.closerange(3, control_copy)
        os.closerange(control_copy + 1, os.sysconf("SC_OPEN_MAX"))
        for stop in (signal.SIGHUP, signal.SIGALRM):
            signal.signal(stop, signal.SIG_DFL)
        sys.excepthook, sys.unraisablehook = sys.__excepthook__, sys.__unraisablehook__
        _replace_environment(environment)
        gc.disable()
        serve_forks(control_copy, ())
    finally:
        os._exit(1)


def _replace_environment(environment: Mapping[str, str]) -> None:
    """Overwrite this process's command line and environment in memory, because they can contain secrets, and set another environment."""
    _show_as(__name__)
    # The values as Python keeps them. It shares values of one byte with the rest of the program.
    for value in os.environb.values():
        if len(value) > 1:
            ctypes.memset(id(value) + bytes.__basicsize__ - 1, 0, len(value))
    libc().clearenv()
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()


def _show_as(title: str) -> None:
    """Write a title over the command line and the initial environment of this process; `ps` shows it."""
    # The addresses are fields 48 to 51 of proc_pid_stat(5); the first field after the name is the third.
    start, _, _, end = map(int, Path("/proc/self/stat").read_text().rpartition(")")[2].split()[45:49])
    text = title.encode(errors="surrogateescape")[: end - start - 1]
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, text, len(text))


def set_import_path(path: list[str]) -> None:
    """Set the import path of this process and its workers, and show it in their command line, as that of a new interpreter does."""
    sys.path[:] = path
    _show_as(f"{__name__} {os.pathsep.join(path)}")


def serve_forks(control: int, modules: Sequence[str]) -> None:
    """Import `modules`, then import, fork and reap as the parent orders, until it closes the socket. Does not return."""
    # A signal to the whole process group is for the run: the parent decides, and no worker's death is blamed on its answer.
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    die_with_parent()
    if os.getpid() != 1 and not enter_process_namespace():
        adopt_orphans()
    reduce_address_space()
    prepare_sandbox()
    # Worker process ids as the parent sees them -> as this process sees them; they differ inside a process namespace.
    children: dict[int, int] = {}
    import_for_workers(modules)
    parent, own_pid = socket.socket(fileno=control), os.getpid()
    while order := _order(parent):
        what, number, passed = order
        if what == CALL:
            function, arguments = pickle.loads(parent.recv(number, socket.MSG_WAITALL))
            ImportRef(function).load()(*arguments)
        elif what == FORK:
            try:
                pid, answer, has_namespace = fork_worker(has_namespace=bool(number))
            except OSError as error:
                # The system may have no process left.
                pid, answer, has_namespace = -1, -(error.errno or errno.ECHILD), False
            if pid == 0:
                parent.close()
                _run_worker(passed, fork_server=own_pid, has_namespace=has_namespace)
            for descriptor in passed:
                os.close(descriptor)
            if pid > 0:
                children[answer] = pid
            parent.sendall(ANSWER.pack(answer))
        else:
            _, status = os.waitpid(children.pop(number), 0)
            parent.sendall(ANSWER.pack(os.waitstatus_to_exitcode(status)))
    for group in children.values():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    # Interpreter shutdown would cost as much as two workers, and nothing is left to write.
    os._exit(0)


def _order(parent: socket.socket) -> tuple[bytes, int, list[int]] | None:
    """Return (command, number, descriptors) of the parent's next order; None if the parent is gone."""
    head, passed, _, _ = socket.recv_fds(parent, ORDER.size, 2)
    if not head:
        return None
    while len(head) < ORDER.size and (more := parent.recv(ORDER.size - len(head))):
        head += more
    return *ORDER.unpack(head), passed


def import_for_workers(modules: Sequence[str]) -> None:
    """Import modules for all workers, and exclude everything that exists now from garbage collection."""
    for name in modules:
        with contextlib.suppress(ImportError):
            import_module(name)
    gc.freeze()


def _run_worker(passed: Sequence[int], *, fork_server: int, has_namespace: bool) -> None:
    """Run as a worker. Does not return."""
    os.setsid()
    gc.enable()
    collect_rarely()
    die_with_parent()
    # Open to the very end: the parent may kill a worker whose socket is closed, and reads its exit status.
    sockets = [socket.socket(fileno=number) for number in passed]
    try:
        if os.getppid() == fork_server:
            main(*sockets, has_namespace=has_namespace)
    except (ClosedError, BrokenPipeError, ConnectionResetError):
        pass
    except BaseException as error:  # it must not return into the fork server's code
        os._exit(exit_status(error))
    os._exit(0)


def exit_status(error: BaseException) -> int:
    """Return the exit status of a worker for the error that ends it: by it the parent decides whose fault that is."""
    is_own = isinstance(error.__cause__ or error, Exception) and not isinstance(error.__cause__ or error, MemoryError | RecursionError)
    return OWN_ERROR if is_own else OTHER_ERROR


@dataclass(slots=True)
class Process:
    """What the functions that a worker calls may use: the stream to the parent, the socket to the other worker of its pair, the limits."""

    parent: Any = None
    peer: socket.socket | None = None
    limits: Mapping[str, int | float] = field(default_factory=dict)


PROCESS = Process()


class FullError(BaseException):
    """This worker keeps so much memory that it ends; another one takes the remaining answers."""


def main(parent: socket.socket, peer: socket.socket | None = None, *, has_namespace: bool) -> None:
    """Serve calls until the parent closes its socket.

    The first frame is the pickled set-up, sent by the trusted parent: `limits`; `readable`, the paths that this worker may read;
    `sandboxed`; `prepare`, a function to call before the sandbox is entered.
    """
    setup = pickle.loads(receive(parent, most=LONGEST_REQUEST) or b"")
    if prepare := setup.get("prepare"):
        ImportRef(prepare).load()(setup)
    features = enter_sandbox(setup["readable"], setup["limits"], has_namespace=has_namespace) if setup["sandboxed"] else []
    PROCESS.peer = peer
    send(parent, reply(features))
    serve(parent, setup["limits"])


def serve(parent: Any, limits: Mapping[str, int | float]) -> None:
    """Call the functions that the parent requests and reply with their items, until it closes the stream."""
    PROCESS.parent, PROCESS.limits = parent, limits
    while (frame := receive(parent, most=LONGEST_REQUEST)) is not None:
        function, arguments, n_copies = pickle.loads(frame)
        copies: Sequence[int] = socket.recv_fds(parent, len(COPY), 1)[1] if n_copies else ()
        private = {"private": descriptor_path(copies[0])} if copies else {}
        end = END
        try:
            returned = ImportRef(function).load()(*arguments, **private)
            for item in returned if isinstance(returned, Iterator) else [] if returned is None else [returned]:
                send(parent, reply(item))
        except FullError:
            send(parent, FULL)
            return
        except (FaultError, EvalsuiteError) as error:
            end = error_reply(error)
        except (MemoryError, RecursionError):
            end = error_reply(FaultError("LIMIT", "the file does not fit into memory_mib or nests too deep"))
        except (ClosedError, ConnectionError):
            raise
        except Exception as error:  # a fault of the tool, recorded as such: no file ends a command
            end = error_reply(failure(function, error))
        for copy in copies:
            os.close(copy)
        send(parent, end)


class Memory:
    """Check whether this process has kept so much address space that the next answer might not fit."""

    def __init__(self, limits: Mapping[str, int | float]) -> None:
        self._most, self._peak = int(limits["memory_mib"]) << 19, 0

    def is_short(self, *, of_files: bool = True) -> bool:
        """Return whether more than half of `memory_mib` is in use. After an answer without files, check only if peak memory has grown.

        False if the system does not report it (only Linux limits address space).
        """
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if peak <= self._peak and not of_files:
            return False
        self._peak = peak
        try:
            # Opened each time: a worker keeps no descriptors but its sockets.
            with _TAKEN.open("rb", buffering=0) as read_end:
                return int(read_end.read(_LONGEST_STATM).split()[0]) * resource.getpagesize() > self._most
        except OSError:
            return False
