"""Messages between a thread of the parent and one worker, within a time limit."""

import pickle
import signal
from typing import Any

from evalsuite.core.errors import FaultError, timeout_error
from evalsuite.core.types import Fault
from evalsuite.sandbox.fork_server import Worker
from evalsuite.sandbox.framing import END, LONGEST_RESULT, SAID, ClosedError, receive, send
from evalsuite.sandbox.linux_layers import was_killed
from evalsuite.sandbox.payloads import decode_payloads
from evalsuite.sandbox.rpc_client import KilledError, TimedStream


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
