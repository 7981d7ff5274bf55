"""Call functions in a sandboxed worker, one at a time, each within a time limit.

The worker reads the given paths and writes nothing; a call that kills it or takes too long costs only that call. It is for code outside the
pairs of `worker_pool`: metadata of a submission, single files (validate, check), statements.
"""

import os
import pickle
import select
import signal
import socket
import threading
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from evalsuite.core.dataclasses import dataclass
from evalsuite.core.errors import EvalsuiteError, FaultError, timeout_error
from evalsuite.core.import_ref import ImportRef
from evalsuite.core.runtime import signals_blocked
from evalsuite.sandbox.fork_server import ForkServer, Worker, start_error
from evalsuite.sandbox.limits import Clock, Verdict, answer_seconds, check_limits, killed_fault
from evalsuite.sandbox.linux_layers import library_paths, parts_without, was_killed
from evalsuite.sandbox.messages import COPY, END, ClosedError, item_of, pack_call, send
from evalsuite.sandbox.worker_sandbox import can_fork


class KilledError(FaultError):
    """The operating system killed a worker; no limit of the run did."""

    def __init__(self, what: str) -> None:
        fault = killed_fault(f"the worker that {what}")
        super().__init__(fault.code, fault.detail, side="setup")


@dataclass(frozen=True, slots=True)
class Work:
    """Words for what a worker does: what takes too long, what it did when it was killed, what happened when it died."""

    late: str
    killed: str
    died: str


READING = Work("reading the file", "read the file", "while the file was being read")
RUNNING = Work("the statement", "ran the statement", "while it ran the statement")


class TimedStream:
    """Frames to and from a worker with a time limit. Raises TimeoutError when the time is over; `over` then says how."""

    def __init__(self, worker: Worker, seconds: float) -> None:
        self._worker, self.seconds = worker, seconds
        # The worker blocks until its output is read, so it waits too while this thread waits for a CPU.
        self._clock = Clock(lambda: [worker.pid], with_caller=True, stops_wait=True)
        self.over: Verdict = ""
        self._arrived: deque[bytes] = deque()

    @property
    def seconds_used(self) -> float:
        """The seconds that the worker and this thread had."""
        return self._clock.read()

    def sendall(self, data: bytes, /) -> None:
        left = memoryview(data)
        while left:
            self._await(select.POLLOUT)
            self._worker.control.setblocking(False)
            try:
                left = left[self._worker.control.send(left) :]
            except BlockingIOError:
                continue

    def receive(self) -> bytes:
        """Wait for the next frame and return it."""
        while not self._arrived:
            self._await(select.POLLIN)
            self._arrived += self._worker.receive()
        return self._arrived.popleft()

    def _await(self, event: int) -> None:
        poll = select.poll()
        poll.register(self._worker.control, event)
        is_ready = False
        while not is_ready:
            is_ready = bool(poll.poll(self._clock.wait(self.seconds) * 1000))
            self.over = self._clock.check(self.seconds)
            if self.over:
                raise TimeoutError


@dataclass(frozen=True, slots=True)
class IdleWorker:
    """A worker that waits for calls of another client; `peer` is the other end of the socket that it keeps, `readable` what it may read."""

    worker: Worker
    peer: socket.socket
    readable: Sequence[str]

    def close(self) -> None:
        """End the worker."""
        self.worker.kill()
        self.peer.close()


_STARTUP_SECONDS = 60.0


def readable_paths(readable: Iterable[str], hidden: Iterable[str]) -> list[str]:
    """Return the paths that a worker may read: libraries and `readable`, without what is below `hidden` paths. None is below another."""
    hidden, outermost = list(hidden), list[str]()
    parts = [
        f"{part.rstrip('/')}/" for path in (*library_paths(), *map(os.path.realpath, readable)) for part in parts_without(path, hidden)
    ]
    for part in sorted(parts):
        if not outermost or not part.startswith(outermost[-1]):
            outermost.append(part)
    return [part.rstrip("/") or "/" for part in outermost]


class RpcClient:
    """Call functions by name, one at a time, in a worker that starts on demand and ends with the block.

    Args:
        readable: Paths below which the worker may read.
        hostile: Folder that must not be on the import path.
        limits: The limits of the run.
        hidden: Paths that it may not read, even below `readable`.
        fork_server: Server to fork from; without one, a server is started and closed here.
        modules: Modules that the fork server imports for later workers while this worker reads.
        setup: Entries added to the worker's set-up message, such as the plugins that a called function needs.
        work: What the worker does, for messages.
        sandboxed: Whether the worker enters a sandbox.
        has_peer: Whether the worker keeps a socket for another worker, to which `release` gives the other end.

    Attributes:
        seconds_used: The seconds that the worker and this thread had during the last call.
    """

    def __init__(
        self,
        *,
        readable: Iterable[Path | str],
        hostile: Path,
        limits: Mapping[str, int | float],
        hidden: Iterable[Path] = (),
        fork_server: ForkServer | None = None,
        modules: Collection[str] = (),
        setup: Mapping[str, Any] | None = None,
        work: Work = READING,
        sandboxed: bool = True,
        has_peer: bool = False,
    ) -> None:
        self.readable = readable_paths((str(Path(path).resolve()) for path in readable), (str(path.resolve()) for path in hidden))
        self._hostile, self._limits = hostile.resolve(), limits
        self._worker: Worker | None = None
        self._fork_server, self._owns_fork_server = fork_server, fork_server is None
        self._modules, self._setup, self._work, self._sandboxed = modules, setup or {}, work, sandboxed
        self._has_peer = has_peer
        self._peer: socket.socket | None = None
        self._lock, self._is_closed = threading.Lock(), False
        self.seconds_used = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the worker, also from another thread; its call raises, and later ones too."""
        with self._lock:
            self._is_closed = True
        self.end()
        if self._fork_server is not None and self._owns_fork_server:
            self._fork_server.close()
            self._fork_server = None

    def end(self) -> None:
        """End the worker; the next call starts another one."""
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()
        if self._peer is not None:
            self._peer.close()

    def release(self) -> IdleWorker:
        """Return the worker of the last call, which the caller ends from now on."""
        assert self._worker is not None
        assert self._peer is not None
        idle = IdleWorker(self._worker, self._peer, self.readable)
        self._worker = self._peer = None
        return idle

    def call(self, function: str, *arguments: Any, copy: IO[bytes] | None = None, n_bytes: int = 0, seconds: float = 0.0) -> Any:
        """Return what `function` (`module:name`) returns, as JSON. With a `copy`, its argument `private` is the path of that open file.

        The call has the seconds of one instance, and more for each of the `n_bytes` that it reads, or `seconds`.

        Raises:
            FaultError: What the function raised; LIMIT if memory ran out; TIMEOUT and WORKER_DIED.
            EvalsuiteError: What the function raised; the worker cannot be started.
        """
        values = list(self.stream(function, *arguments, copy=copy, n_bytes=n_bytes, seconds=seconds))
        return values[0] if values else None

    def stream(
        self,
        function: str,
        *arguments: Any,
        copy: IO[bytes] | None = None,
        n_bytes: int = 0,
        seconds: float = 0.0,
        n_tries: int = 2,
    ) -> Iterator[Any]:
        """Yield each value of the iterator that `function` returns, or its one value, within the seconds of one `call`.

        Raises as `call` does. The caller must consume all values. A worker that the operating system kills before the first value is
        replaced, for at most `n_tries` in all. A system without fork calls the function in this process.
        """
        if not can_fork():
            returned = ImportRef(function).load()(*arguments)
            yield from returned if isinstance(returned, Iterator) else [returned]
            return
        seconds, n_yielded = seconds or answer_seconds(self._limits, n_bytes), 0
        for n_left in reversed(range(n_tries)):
            try:
                for value in self._request(pack_call(function, *arguments, n_copies=int(copy is not None)), copy, seconds):
                    n_yielded += 1
                    yield value
                return
            except KilledError:
                # Values that were yielded cannot be taken back.
                if not n_left or n_yielded:
                    raise

    def _request(self, order: bytes, copy: IO[bytes] | None, seconds: float) -> Iterator[Any]:
        """Send a request and yield the items of its replies, to the end. Raises what the function raised."""
        worker = self._worker or self._start()
        stream = TimedStream(worker, seconds)
        try:
            send(stream, order)
            if copy is not None:
                worker.control.setblocking(True)
                socket.send_fds(worker.control, [COPY.encode()], [copy.fileno()])
            while (reply := item_of(stream.receive()))[0] != END:
                yield reply[1]
        except GeneratorExit:
            # What the worker still sends would answer the next request.
            self.end()
            raise
        except EvalsuiteError:
            # What the function raised; some are a ValueError too.
            raise
        except (ClosedError, OSError, ValueError, RecursionError) as error:
            if stream.over:
                self.end()
                raise timeout_error(stream.over, self._work.late, stream.seconds) from None
            status = worker.kill()
            self.end()
            if self._work is RUNNING and status == -signal.SIGABRT:
                # An engine that runs out of memory at a critical point aborts its process.
                raise FaultError("LIMIT", "the statement needs more memory than the limit memory_mib") from None
            if isinstance(error, ClosedError | OSError) and was_killed(status):
                raise KilledError(self._work.killed) from None
            raise FaultError("WORKER_DIED", f"the worker died {self._work.died}") from None
        finally:
            self.seconds_used = stream.seconds_used

    def _start(self) -> Worker:
        if self._work is READING:
            check_limits(self._limits)
        self.end()
        setup = pack_setup(self._limits, self.readable, sandboxed=self._sandboxed, more=self._setup)
        # A worker that the operating system kills while it starts is replaced once.
        for is_last in (False, True):
            try:
                worker = self._fork()
                send(worker.control, setup)
                await_ready(worker)
                return worker
            except (EvalsuiteError, OSError) as error:
                self.end()
                if is_last:
                    raise (start_error(error) if isinstance(error, OSError) else error) from None
        raise AssertionError("the last try returns or raises")

    def _fork(self) -> Worker:
        """Fork a worker, from another fork server if the operating system has killed the one that was started here."""
        with signals_blocked(), self._lock:
            if self._is_closed:
                raise FaultError("TIMEOUT", "the run was interrupted")
            if self._fork_server is not None and self._owns_fork_server and not self._fork_server.alive:
                self._fork_server.close()
                self._fork_server = None
            server = self._fork_server = self._fork_server or ForkServer(self._hostile)
            if self._has_peer:
                self._peer, worker_end = socket.socketpair()
                with worker_end:
                    self._worker = server.fork(worker_end, sandboxed=self._sandboxed)
            else:
                self._worker = server.fork(sandboxed=self._sandboxed)
            if self._modules:
                server.load(self._modules)
            return self._worker


def pack_setup(limits: Mapping[str, int | float], readable: Sequence[str], *, sandboxed: bool, more: Mapping[str, Any] | None) -> bytes:
    """Return the first message to a worker (see `worker_main.main`), pickled by the trusted side."""
    return pickle.dumps({"sandboxed": sandboxed, "limits": dict(limits), "readable": list(readable), **(more or {})})


def await_ready(worker: Worker) -> list[str]:
    """Wait until a worker has entered its sandbox; return its active features. Raises `EvalsuiteError` if it dies or is late."""
    try:
        _, features = item_of(TimedStream(worker, _STARTUP_SECONDS).receive())
    except TimeoutError:
        raise start_error(f"it was not ready after {_STARTUP_SECONDS:g} seconds") from None
    except (ClosedError, OSError, ValueError):
        # A worker that is still there is ended here: its exit status would then be ours.
        was_alive, status = worker.alive, worker.kill()
        ended = "was ended because its first message cannot be read" if was_alive else f"ended before it was ready (exit status {status})"
        raise start_error(f"it {ended}") from None
    worker.ready = True
    return list(features)
