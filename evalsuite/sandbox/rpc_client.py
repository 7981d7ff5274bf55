"""What is said between a thread of the parent and one worker, word by word, for as long as the worker has its seconds.

The stream between a thread of the parent and one worker, for as long as the worker has its seconds.

Single functions called in a worker: what reads a hostile file outside of a run (validate, check) reads it behind the same walls.

The worker may read what it is told and writes nothing. A call that kills it, or that takes too long, costs that call and nothing else.
"""

import json
import pickle
import select
import socket
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from evalsuite.core.errors import FAULTS, EvalsuiteError, FaultError, SubmissionError, UsageError, timeout_error
from evalsuite.sandbox.budget import answer_seconds, killed
from evalsuite.sandbox.cpu_clock import Clock, Verdict
from evalsuite.sandbox.fork_server import ForkServer, Worker, cannot_start, undisturbed
from evalsuite.sandbox.framing import COPY, LONGEST_RESULT, ClosedError, receive, send
from evalsuite.sandbox.linux_layers import library_paths, parts_without, was_killed
from evalsuite.sandbox.machine_limits import check_limits
from evalsuite.sandbox.rpc_server import ITEM, named
from evalsuite.sandbox.worker_sandbox import can_fork


class KilledError(FaultError):
    """The system killed a worker, which no limit of a run does."""

    def __init__(self, what: str) -> None:
        fault = killed(f"the worker that {what}")
        super().__init__(fault.code, fault.detail, side="setup")


class TimedStream:
    """The stream to a worker that has some seconds; raises TimeoutError when they are over, and then `over` says how."""

    def __init__(self, worker: Worker, seconds: float) -> None:
        self._worker, self.seconds = worker, seconds
        # What a worker sends has to be taken: while this thread waits for a CPU the worker waits with it.
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
_SERVE = {"calls": "evalsuite.sandbox.rpc_server:serve_calls"}


class WorkerCalls:
    """Calls of functions by name, one at a time, in a worker that is started when it is needed and ended with the block.

    `readable` are the paths below which it may read, `hidden` those that it may not read even there; no import leads into `hostile`.
    While the worker reads, its zygote imports `modules` for those to come. `setup` is added to what the worker receives when it starts:
    `scorers.worker_setup()` where a function it calls needs the scorers of plugins.
    """

    def __init__(
        self,
        *,
        readable: Iterable[Path],
        hostile: Path,
        limits: Mapping[str, int | float],
        hidden: Iterable[Path] = (),
        zygote: ForkServer | None = None,
        modules: Collection[str] = (),
        setup: Mapping[str, Any] | None = None,
    ) -> None:
        hidden_paths = [str(path.resolve()) for path in hidden]
        paths = [*library_paths(), *(str(path.resolve()) for path in readable)]
        self._readable = [kept for path in paths for kept in parts_without(path, hidden_paths)]
        self._hostile, self._limits = hostile.resolve(), limits
        self._worker: Worker | None = None
        self._zygote, self._owns_zygote = zygote, zygote is None
        self._modules, self._setup = modules, setup or {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()
        if self._zygote is not None and self._owns_zygote:
            self._zygote.close()
            self._zygote = None

    def call(self, function: str, *arguments: Any, copy: IO[bytes] | None = None, n_bytes: int = 0) -> Any:
        """What `function` (`module:name`) returns, as JSON has it; with a `copy` its argument `private` is where that is opened.

        It has the seconds of an instance, and more for each of the `n_bytes` that it has to read.

        Raises:
            FaultError: what the function raised, LIMIT where memory ran out, TIMEOUT and WORKER_DIED.
            EvalsuiteError: what the function raised of it, as such; a worker that cannot be started.
        """
        for value in self.stream(function, *arguments, copy=copy, n_bytes=n_bytes):
            return value
        return None

    def stream(self, function: str, *arguments: Any, copy: IO[bytes] | None = None, n_bytes: int = 0) -> Iterator[Any]:
        """Each value that an iterator yields which `function` returns, or the one value that it returns; in the seconds of one `call`.

        Raises as `call` does, and has to be taken to its end. A system without forks calls it in this process.
        """
        if not can_fork():
            told = named(function)(*arguments)
            yield from told if isinstance(told, Iterator) else [told]
            return
        seconds, n_given = answer_seconds(self._limits, n_bytes), 0
        for is_last in (False, True):
            try:
                for kind, value in self._told(pickle.dumps((function, arguments, copy is not None)), copy, seconds):
                    if kind in (ITEM, "value"):
                        n_given += 1
                        yield value
                break
            except KilledError:
                # What was given cannot be taken back.
                if is_last or n_given:
                    raise
        if kind == "fault" and value[0] in FAULTS:
            raise FaultError(value[0], str(value[1]), where=str(value[2]), side="setup" if value[3:] == ["setup"] else None)
        if kind == "error":
            error = next((known for known in (SubmissionError, UsageError) if known.__name__ == value[2]), EvalsuiteError)
            raise error(str(value[0]), hint=str(value[1]))

    def _told(self, order: bytes, copy: IO[bytes] | None, seconds: float) -> Iterator[Any]:
        """What the worker says to an order, (kind, value) each, to the end."""
        worker = self._worker or self._start()
        stream = TimedStream(worker, seconds)
        try:
            send(stream, order)
            if copy is not None:
                worker.control.setblocking(True)
                socket.send_fds(worker.control, [COPY.encode()], [copy.fileno()])
            kind = ITEM
            while kind == ITEM:
                kind, value = _heard(stream)
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
        setup = {"walls": True, "limits": dict(self._limits), "readable": {"calls": self._readable}, "serve": _SERVE}
        setup |= self._setup
        with undisturbed():
            self._zygote = self._zygote or ForkServer(self._hostile)
            self._worker = self._zygote.fork("calls")
        if self._modules:
            self._zygote.load(self._modules)
        try:
            send(self._worker.control, pickle.dumps(setup))
            is_ready = bool(_heard(TimedStream(self._worker, _STARTUP_SECONDS)))
        except (ClosedError, OSError, ValueError):
            is_ready = False
        if not is_ready:
            self._end()
            raise cannot_start()
        return self._worker

    def _end(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker = None


def _heard(stream: TimedStream) -> Any:
    """What the worker says next. Raises `ClosedError`, OSError, ValueError."""
    frame = receive(stream, most=LONGEST_RESULT)
    if frame is None:
        raise ClosedError
    return json.loads(frame)
