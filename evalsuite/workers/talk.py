"""What is said between a thread of the parent and the worker that runs its statement, word by word and up to a deadline."""

import pickle
import signal
from typing import Any

from evalsuite.errors import FaultError
from evalsuite.types import Fault
from evalsuite.workers.query_worker import END, SAID
from evalsuite.workers.sent_forms import decode_forms
from evalsuite.workers.start import Worker, now
from evalsuite.workers.wire import LONGEST_RESULT, ClosedError, receive, send


class ReportedError(Exception):
    """A fault that a worker reports; it lives on."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.code)
        self.fault = fault


class Talk:
    """What is said between this thread and a worker, up to a deadline. Raises TIMEOUT, or WORKER_DIED, or LIMIT where memory ran out."""

    def __init__(self, worker: Worker, deadline: float) -> None:
        self._worker, self._started, self._deadline = worker, now(), deadline

    def sendall(self, data: bytes, /) -> None:
        self._worker.control.settimeout(max(0.01, self._deadline - now()))
        self._worker.control.sendall(data)

    def recv_into(self, buffer: memoryview, nbytes: int, /) -> int:
        left = self._deadline - now()
        if left <= 0:
            raise TimeoutError
        self._worker.control.settimeout(left)
        return self._worker.control.recv_into(buffer, nbytes)

    def order(self, *order: Any) -> None:
        """Send an order."""
        self.say(pickle.dumps(order))

    def say(self, word: bytes) -> None:
        """Send a frame."""
        try:
            send(self, word)
        except OSError as error:
            raise self._fault(error) from None

    def receive(self) -> bytes:
        """The next frame."""
        try:
            frame = receive(self, most=LONGEST_RESULT)
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
            return FaultError("TIMEOUT", f"the statement took longer than {self._deadline - self._started:g} seconds (limit seconds)")
        if self._worker.kill() == -signal.SIGABRT:
            # An engine that gets no memory where it cannot do without ends its process.
            return FaultError("LIMIT", "the statement needs more memory than it may have (limit memory_mib)")
        return FaultError("WORKER_DIED", "the worker died while it ran the statement")
