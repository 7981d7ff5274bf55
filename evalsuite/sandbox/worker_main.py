"""The process side of the fork server: fork workers, enter the sandbox, call the function that the caller named, or serve its calls."""

import contextlib
import gc
import json
import os
import pickle
import signal
import socket
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from evalsuite.core.errors import EvalsuiteError, FaultError
from evalsuite.core.import_ref import ImportRef
from evalsuite.core.plugin_calls import failure
from evalsuite.core.runtime import collect_rarely
from evalsuite.sandbox.framing import ANSWER, CALL, COPY, FORK, LOAD, LONGEST_ORDER, LONGEST_RESULT, ORDER, ClosedError, receive, send
from evalsuite.sandbox.linux_layers import adopt_orphans, die_with_parent, enter_process_namespace, number_outside
from evalsuite.sandbox.temp_dirs import descriptor_path
from evalsuite.sandbox.worker_sandbox import enter_sandbox, reduce_address_space

with contextlib.suppress(ModuleNotFoundError):  # absent on Windows, where this process calls what a worker would
    import resource

# Pages of address space in use, and how much of the file is read.
_TAKEN, _LONGEST_STATM = Path("/proc/self/statm"), 256


def serve_forks(control: int, modules: Sequence[str]) -> None:
    """Import `modules`, then import, fork and reap as the parent orders, until it closes the socket. Does not return."""
    # A signal to the whole process group is for the run: the parent decides, and no worker's death is blamed on its answer.
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.SIG_IGN)
    die_with_parent()
    if not enter_process_namespace():
        adopt_orphans()
    reduce_address_space()
    # Worker process ids as the parent sees them -> as this process sees them; they differ inside a process namespace.
    children: dict[int, int] = {}
    _import(modules)
    parent, own = socket.socket(fileno=control), os.getpid()
    while order := _order(parent):
        what, number, role, passed = order
        if what == LOAD:
            _import(parent.recv(number, socket.MSG_WAITALL).decode().split())
        elif what == CALL:
            function, arguments = pickle.loads(parent.recv(number, socket.MSG_WAITALL))
            _function(function)(*arguments)
        elif what == FORK:
            read_end, write_end = os.pipe()
            pid = os.fork()
            if pid == 0:
                parent.close()
                os.close(read_end)
                os.write(write_end, ANSWER.pack(number_outside()))
                os.close(write_end)
                _run_worker(role, passed, fork_server=own)
            for descriptor in (write_end, *passed):
                os.close(descriptor)
            answer = os.read(read_end, ANSWER.size) or ANSWER.pack(-1)
            os.close(read_end)
            children[ANSWER.unpack(answer)[0]] = pid
            parent.sendall(answer)
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


def _order(parent: socket.socket) -> tuple[bytes, int, str, list[int]] | None:
    """Return (command, number, role, descriptors) of the parent's next order; None if the parent is gone."""
    head, passed, _, _ = socket.recv_fds(parent, ORDER.size, 2)
    if not head:
        return None
    while len(head) < ORDER.size and (more := parent.recv(ORDER.size - len(head))):
        head += more
    what, number, role = ORDER.unpack(head)
    return what, number, role.rstrip(b"\0").decode(), passed


def _import(modules: Sequence[str]) -> None:
    """Import modules for all workers, and exclude everything that exists now from garbage collection."""
    for name in modules:
        with contextlib.suppress(ImportError):
            import_module(name)
    gc.freeze()


def _run_worker(role: str, passed: Sequence[int], *, fork_server: int) -> None:
    """Run as a worker. Does not return."""
    os.setsid()
    gc.enable()
    collect_rarely()
    die_with_parent()
    # Open to the very end: the parent may kill a worker whose socket is closed, and reads its exit status.
    sockets = [socket.socket(fileno=one) for one in passed]
    try:
        if os.getppid() == fork_server:
            main(role, *sockets)
    except (ClosedError, BrokenPipeError, ConnectionResetError):
        pass
    except BaseException:  # the parent records its death as WORKER_DIED; it must not return into the fork server's code
        os._exit(1)
    os._exit(0)


def main(role: str, parent: socket.socket, other: socket.socket | None = None) -> None:
    """Serve until the parent closes its socket.

    The first frame is the pickled set-up, sent by the trusted parent. `limits`; `readable`, the paths for each role; `serve`, the function
    for each role (`module:name`, called with both sockets and the set-up); `prepare`, a function to call before the sandbox is entered.
    """
    setup = pickle.loads(receive(parent, most=LONGEST_ORDER) or b"")
    if prepare := setup.get("prepare"):
        _function(prepare)(setup)
    features = enter_sandbox(setup["readable"][role], setup["limits"]) if setup["sandboxed"] else []
    send(parent, json.dumps({"features": features}).encode())
    _function(setup["serve"][role])(parent, other, setup)


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


def _function(function: str) -> Any:
    return ImportRef(function).load()


# Tags of a call that yields many values: one value, or the end.
ITEM, END = "item", "end"


def serve_calls(parent: socket.socket, *_: object) -> None:
    """Serve calls until the parent closes the socket."""
    while (frame := receive(parent, most=LONGEST_RESULT)) is not None:
        function, arguments, copied = pickle.loads(frame)
        copies: Sequence[int] = socket.recv_fds(parent, len(COPY), 1)[1] if copied else ()
        private = {"private": descriptor_path(copies[0])} if copies else {}
        try:
            reply = ["value", _function(function)(*arguments, **private)]
            if isinstance(reply[1], Iterator):
                for item in reply[1]:
                    send(parent, json.dumps([ITEM, item], default=str).encode())
                reply = [END, None]
        except FaultError as error:
            reply = ["fault", [error.fault.code, error.fault.detail, error.fault.where, error.fault.side]]
        except EvalsuiteError as error:
            reply = ["error", [error.message, error.hint, type(error).__name__]]
        except (MemoryError, RecursionError):
            reply = ["fault", ["LIMIT", "the file does not fit into memory_mib or nests too deep", "", ""]]
        except Exception as error:  # a fault of the tool, recorded as such: no file ends a command
            fault = failure(function, error).fault
            reply = ["fault", [fault.code, fault.detail, "", ""]]
        for copy in copies:
            os.close(copy)
        send(parent, json.dumps(reply, default=str).encode())
