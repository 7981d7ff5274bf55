"""Client side of the worker protocol: call functions in a sandboxed worker within a time limit.

`RpcClient` is for code outside a run that reads an untrusted file (validate, check): the worker reads the given paths and writes nothing; a
call that kills it or takes too long costs only that call. `WorkerSession` exchanges messages with one worker of queries.
"""

import json
import pickle
import select
import signal
import socket
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from evalsuite.core.errors import FAULTS, EvalsuiteError, FaultError, SubmissionError, UsageError, timeout_error
from evalsuite.core.import_ref import ImportRef
from evalsuite.core.types import Fault
from evalsuite.sandbox.fork_server import ForkServer, Worker, signals_blocked, start_error
from evalsuite.sandbox.framing import COPY, END, LONGEST_RESULT, SAID, ClosedError, receive, send
from evalsuite.sandbox.linux_layers import library_paths, parts_without, was_killed
from evalsuite.sandbox.machine_limits import check_limits
from evalsuite.sandbox.time_limits import Clock, Verdict, answer_seconds, killed_fault
from evalsuite.sandbox.worker_main import ITEM
from evalsuite.sandbox.worker_sandbox import can_fork


class KilledError(FaultError):
    """The operating system killed a worker; no limit of the run did."""

    def __init__(self, what: str) -> None:
        fault = killed_fault(f"the worker that {what}")
        super().__init__(fault.code, fault.detail, side="setup")


class TimedStream:
    """Stream to a worker with a time limit. Raises TimeoutError when the time is over; `over` then says how."""

    def __init__(self, worker: Worker, seconds: float) -> None:
        self._worker, self.seconds = worker, seconds
        # The worker blocks until its output is read, so it waits too while this thread waits for a CPU.
        self._clock = Clock(lambda: [worker.pid], with_caller=True)
        self.over: Verdict = ""

    @property
    def had(self) -> float:
        """The seconds that the worker and this thread had."""
        return self._clock.looked()

    def sendall(self, data: bytes, /) -> None:
        left = memoryview(data)
        while left:
            self._await(select.POLLOUT)
            self._worker.control.setblocking(False)
            try:
                left = left[self._worker.control.send(left) :]
            except BlockingIOError:
                continue

    def recv_into(self, buffer: memoryview, nbytes: int, /) -> int:
        self._await(select.POLLIN)
        return self._worker.control.recv_into(buffer, nbytes)

    def _await(self, event: int) -> None:
        poll = select.poll()
        poll.register(self._worker.control, event)
        is_ready = False
        while not is_ready:
            is_ready = bool(poll.poll(self._clock.wait(self.seconds) * 1000))
            if self._clock.is_due(self.seconds) and (over := self._clock.over(self.seconds)):
                self.over = over
                raise TimeoutError


_STARTUP_SECONDS = 60.0
_SERVE = {"calls": "evalsuite.sandbox.worker_main:serve_calls"}


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
    """

    def __init__(
        self,
        *,
        readable: Iterable[Path],
        hostile: Path,
        limits: Mapping[str, int | float],
        hidden: Iterable[Path] = (),
        fork_server: ForkServer | None = None,
        modules: Collection[str] = (),
        setup: Mapping[str, Any] | None = None,
    ) -> None:
        hidden_paths = [str(path.resolve()) for path in hidden]
        paths = [*library_paths(), *(str(path.resolve()) for path in readable)]
        self._readable = [kept for path in paths for kept in parts_without(path, hidden_paths)]
        self._hostile, self._limits = hostile.resolve(), limits
        self._worker: Worker | None = None
        self._fork_server, self._owns_fork_server = fork_server, fork_server is None
        self._modules, self._setup = modules, setup or {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()
        if self._fork_server is not None and self._owns_fork_server:
            self._fork_server.close()
            self._fork_server = None

    def call(self, function: str, *arguments: Any, copy: IO[bytes] | None = None, n_bytes: int = 0) -> Any:
        """Return what `function` (`module:name`) returns, as JSON. With a `copy`, its argument `private` is the path of that open file.

        The call has the seconds of one instance, and more for each of the `n_bytes` that it reads.

        Raises:
            FaultError: What the function raised; LIMIT if memory ran out; TIMEOUT and WORKER_DIED.
            EvalsuiteError: What the function raised; the worker cannot be started.
        """
        for value in self.stream(function, *arguments, copy=copy, n_bytes=n_bytes):
            return value
        return None

    def stream(self, function: str, *arguments: Any, copy: IO[bytes] | None = None, n_bytes: int = 0) -> Iterator[Any]:
        """Yield each value of the iterator that `function` returns, or its one value, within the seconds of one `call`.

        Raises as `call` does. The caller must consume all values. A system without fork calls the function in this process.
        """
        if not can_fork():
            returned = ImportRef(function).load()(*arguments)
            yield from returned if isinstance(returned, Iterator) else [returned]
            return
        seconds, n_given = answer_seconds(self._limits, n_bytes), 0
        for is_last in (False, True):
            try:
                for kind, value in self._request(pickle.dumps((function, arguments, copy is not None)), copy, seconds):
                    if kind in (ITEM, "value"):
                        n_given += 1
                        yield value
                break
            except KilledError:
                # Values that were yielded cannot be taken back.
                if is_last or n_given:
                    raise
        if kind == "fault" and value[0] in FAULTS:
            raise FaultError(value[0], str(value[1]), where=str(value[2]), side="setup" if value[3:] == ["setup"] else None)
        if kind == "error":
            error = next((known for known in (SubmissionError, UsageError) if known.__name__ == value[2]), EvalsuiteError)
            raise error(str(value[0]), hint=str(value[1]))

    def _request(self, order: bytes, copy: IO[bytes] | None, seconds: float) -> Iterator[Any]:
        """Send a request and yield the replies as (kind, value), to the end."""
        worker = self._worker or self._start()
        stream = TimedStream(worker, seconds)
        try:
            send(stream, order)
            if copy is not None:
                worker.control.setblocking(True)
                socket.send_fds(worker.control, [COPY.encode()], [copy.fileno()])
            kind = ITEM
            while kind == ITEM:
                kind, value = _receive(stream)
                yield kind, value
        except (ClosedError, OSError, ValueError) as error:
            if stream.over:
                self._end()
                raise timeout_error(stream.over, "reading the file", stream.seconds) from None
            is_killed = not isinstance(error, ValueError) and was_killed(worker.kill())
            self._end()
            if is_killed:
                raise KilledError("read the file") from None
            raise FaultError("WORKER_DIED", "the worker died while the file was being read") from None

    def _start(self) -> Worker:
        check_limits(self._limits)
        setup = {"sandboxed": True, "limits": dict(self._limits), "readable": {"calls": self._readable}, "serve": _SERVE}
        setup |= self._setup
        # A worker that the operating system kills while it starts is replaced once.
        for is_last in (False, True):
            with signals_blocked():
                self._fork_server = self._fork_server or ForkServer(self._hostile)
                self._worker = worker = self._fork_server.fork("calls")
            if self._modules:
                self._fork_server.load(self._modules)
            stream = TimedStream(worker, _STARTUP_SECONDS)
            try:
                send(worker.control, pickle.dumps(setup))
                if _receive(stream):
                    return worker
            except (ClosedError, OSError, ValueError):
                pass
            self._end()
            if is_last or stream.over:
                break
        raise start_error()

    def _end(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker = None


def _receive(stream: TimedStream) -> Any:
    """Receive the next message. Raises `ClosedError`, OSError, ValueError."""
    frame = receive(stream, most=LONGEST_RESULT)
    if frame is None:
        raise ClosedError
    return json.loads(frame)


class ReportedError(Exception):
    """A fault that a worker reports while it stays usable."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.code)
        self.fault = fault


class WorkerSession:
    """Exchange messages with a worker within some seconds.

    Raises TIMEOUT, WORKER_DIED, or LIMIT if memory ran out; `KilledError` if the operating system killed the worker.
    """

    def __init__(self, worker: Worker, seconds: float) -> None:
        self._worker, self._stream = worker, TimedStream(worker, seconds)

    @property
    def had(self) -> float:
        """The seconds that the worker and this thread had."""
        return self._stream.had

    def order(self, *order: Any) -> None:
        """Send an order."""
        self.send_frame(pickle.dumps(order))

    def send_frame(self, word: bytes) -> None:
        """Send a frame."""
        try:
            send(self._stream, word)
        except OSError as error:
            raise self._fault(error) from None

    def receive(self) -> bytes:
        """Return the next frame."""
        try:
            frame = receive(self._stream, most=LONGEST_RESULT)
        except (ClosedError, OSError, ValueError) as error:
            raise self._fault(error) from None
        if frame is None:
            raise self._fault(ClosedError())
        return frame

    def receive_message(self) -> tuple[str, Any]:
        """Return (kind, value) of the next message. Raises `ReportedError` if it is a fault."""
        from evalsuite.sandbox.payloads import decode_payloads

        try:
            ((kind, value),) = decode_payloads(self.receive()).items()
        except ValueError as error:
            raise self._fault(error) from None
        if isinstance(value, Fault):
            raise ReportedError(value)
        return kind, value

    def next_value(self) -> Any:
        """Return the value of the next message, "" at the end."""
        kind, value = self.receive_message()
        return value if kind == SAID else ""

    def skip_to_end(self) -> None:
        """Read messages up to the end."""
        while self.receive_message()[0] != END:
            pass

    def _fault(self, error: Exception) -> FaultError:
        if isinstance(error, TimeoutError):
            return timeout_error(self._stream.over, "the statement", self._stream.seconds)
        status = self._worker.kill()
        if status == -signal.SIGABRT:
            # An engine that runs out of memory at a critical point aborts its process.
            return FaultError("LIMIT", "the statement needs more memory than the limit memory_mib")
        if not isinstance(error, ValueError) and was_killed(status):
            return KilledError("ran the statement")
        return FaultError("WORKER_DIED", "the worker died while it ran the statement")
