"""What is said between a thread of the parent and one worker, word by word, for as long as the worker has its seconds."""

import pickle
import select
import signal
from typing import Any

from evalsuite.errors import FaultError, out_of_time
from evalsuite.types import Fault
from evalsuite.walls.clock import Clock, Verdict
from evalsuite.workers.budget import killed
from evalsuite.workers.query_worker import END, SAID
from evalsuite.workers.sent_forms import decode_forms
from evalsuite.workers.start import Worker, was_killed
from evalsuite.workers.wire import LONGEST_RESULT, ClosedError, receive, send


class ReportedError(Exception):
    """A fault that a worker reports; it lives on."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.code)
        self.fault = fault


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


class Talk:
    """What is said between this thread and a worker within some seconds.

    Raises TIMEOUT, or WORKER_DIED, or LIMIT where memory ran out; `KilledError` where the system ended the worker.
    """

    def __init__(self, worker: Worker, seconds: float) -> None:
        self._worker, self._stream = worker, TimedStream(worker, seconds)

    @property
    def had(self) -> float:
        """The seconds that both had."""
        return self._stream.had

    def order(self, *order: Any) -> None:
        """Send an order."""
        self.say(pickle.dumps(order))

    def say(self, word: bytes) -> None:
        """Send a frame."""
        try:
            send(self._stream, word)
        except OSError as error:
            raise self._fault(error) from None

    def receive(self) -> bytes:
        """The next frame."""
        try:
            frame = receive(self._stream, most=LONGEST_RESULT)
        except (ClosedError, OSError, ValueError) as error:
            raise self._fault(error) from None
        if frame is None:
            raise self._fault(ClosedError())
        return frame

    def hear(self) -> tuple[str, Any]:
        """(kind, value) of what the worker says next. Raises `ReportedError` where it is a fault."""
        try:
            ((kind, value),) = decode_forms(self.receive()).items()
        except ValueError as error:
            raise self._fault(error) from None
        if isinstance(value, Fault):
            raise ReportedError(value)
        return kind, value

    def next_word(self) -> Any:
        """The value of a word of the worker."""
        kind, value = self.hear()
        return value if kind == SAID else ""

    def until_end(self) -> None:
        """Hear the worker out."""
        while self.hear()[0] != END:
            pass

    def _fault(self, error: Exception) -> FaultError:
        if isinstance(error, TimeoutError):
            return out_of_time(self._stream.over, "the statement", self._stream.seconds)
        status = self._worker.kill()
        if status == -signal.SIGABRT:
            # An engine that gets no memory where it cannot do without ends its process.
            return FaultError("LIMIT", "the statement needs more memory than it may have (limit memory_mib)")
        if not isinstance(error, ValueError) and was_killed(status):
            return KilledError("ran the statement")
        return FaultError("WORKER_DIED", "the worker died while it ran the statement")
