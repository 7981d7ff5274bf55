"""The stream between a thread of the parent and one worker, for as long as the worker has its seconds."""

import select

from evalsuite.errors import FaultError
from evalsuite.walls.clock import Clock, Verdict
from evalsuite.workers.budget import killed
from evalsuite.workers.start import Worker


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
