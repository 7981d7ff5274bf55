"""How fast an endpoint is asked: how many calls at once, how many requests and tokens a minute."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_MINUTE = 60.0
_STEP = 0.5  # seconds after which a waiting call looks again whether it was ended


class Pace:
    """Lets calls out. A refusal for haste (429, 529) halves the number that may be under way; each reply lets half a call more out again.

    Args:
        concurrency: how many may be under way at most.
        requests_per_minute: 0 sets no limit.
        tokens_per_minute: tokens of prompts and replies together, told when a reply is there; 0 sets no limit.
        wait: waits so many seconds, true where the calls were ended meanwhile.
        clock: seconds.
    """

    def __init__(
        self,
        concurrency: int,
        requests_per_minute: float = 0,
        tokens_per_minute: float = 0,
        *,
        wait: Callable[[float], Any] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.allowed = float(concurrency)
        self._most, self._under_way = concurrency, 0
        self._free = threading.Condition()
        self._wait, self._clock = wait, clock
        self._gap = _MINUTE / requests_per_minute if requests_per_minute else 0.0
        self._per_token = _MINUTE / tokens_per_minute if tokens_per_minute else 0.0
        self._next = 0.0

    @contextmanager
    def call(self) -> Iterator[None]:
        """One call, from where it may go out until its reply is there."""
        with self._free:
            while self._under_way >= max(1, int(self.allowed)):
                self._free.wait(_STEP)
            self._under_way += 1
        try:
            yield
        finally:
            with self._free:
                self._under_way -= 1
                self._free.notify()

    def turn(self) -> None:
        """Wait for this request's turn by the limits of a minute; each try is a request."""
        if not (self._gap or self._per_token):
            return
        with self._free:
            now = self._clock()
            at = max(now, self._next)
            self._next = at + self._gap
        if at > now:
            self._wait(at - now)

    def replied(self, n_tokens: int) -> None:
        """A reply came: its tokens put the next turn off, and more calls may be under way."""
        with self._free:
            self._next = max(self._next, self._clock()) + n_tokens * self._per_token if self._per_token else self._next
            self.allowed = min(float(self._most), self.allowed + 0.5)
            self._free.notify()

    def refused(self) -> None:
        """The endpoint says that it is asked too fast."""
        with self._free:
            self.allowed = max(1.0, self.allowed / 2)
