"""One conversation between a thread of the parent and one worker, within the seconds of the worker."""

import pickle
import signal
from typing import Any

from evalsuite.core.errors import FaultError, timeout_error
from evalsuite.core.types import Fault
from evalsuite.sandbox.fork_server import Worker
from evalsuite.sandbox.framing import END, LONGEST_RESULT, SAID, ClosedError, receive, send
from evalsuite.sandbox.linux_layers import was_killed
from evalsuite.sandbox.payloads import decode_forms
from evalsuite.sandbox.rpc_client import KilledError, TimedStream


class ReportedError(Exception):
    """A fault that a worker reports; it lives on."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.code)
        self.fault = fault


class WorkerSession:
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
            return timeout_error(self._stream.over, "the statement", self._stream.seconds)
        status = self._worker.kill()
        if status == -signal.SIGABRT:
            # An engine that gets no memory where it cannot do without ends its process.
            return FaultError("LIMIT", "the statement needs more memory than it may have (limit memory_mib)")
        if not isinstance(error, ValueError) and was_killed(status):
            return KilledError("ran the statement")
        return FaultError("WORKER_DIED", "the worker died while it ran the statement")
