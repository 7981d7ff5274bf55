"""Single functions called in a worker: what reads a hostile file outside of a run (validate, check) reads it behind the same walls.

The worker may read what it is told and writes nothing. A call that kills it, or that takes too long, costs that call and nothing else.
"""

import json
import pickle
import socket
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from evalsuite.errors import FAULTS, EvalsuiteError, FaultError, SubmissionError, UsageError, out_of_time
from evalsuite.walls.landlock import library_paths, parts_without
from evalsuite.walls.machine import check_limits
from evalsuite.walls.namespaces import was_killed
from evalsuite.walls.worker_walls import can_fork
from evalsuite.workers.budget import answer_seconds
from evalsuite.workers.called import ITEM, named
from evalsuite.workers.start import Worker, Zygote, cannot_start, undisturbed
from evalsuite.workers.timed_stream import KilledError, TimedStream
from evalsuite.workers.wire import COPY, LONGEST_RESULT, ClosedError, receive, send

_STARTUP_SECONDS = 60.0


class Calls:
    """Calls of functions by name, one at a time, in a worker that is started when it is needed and ended with the block.

    `readable` are the paths below which it may read, `hidden` those that it may not read even there; no import leads into `hostile`.
    While the worker reads, its zygote imports `modules` for those to come. `setup` is added to what the worker receives when it starts:
    `SCORERS.carried()` where a function it calls needs the scorers of plugins.
    """

    def __init__(
        self,
        *,
        readable: Iterable[Path],
        hostile: Path,
        limits: Mapping[str, int | float],
        hidden: Iterable[Path] = (),
        zygote: Zygote | None = None,
        modules: Collection[str] = (),
        setup: Mapping[str, Any] | None = None,
    ) -> None:
        hidden_paths = [str(path.resolve()) for path in hidden]
        paths = [*library_paths(), *(str(path.resolve()) for path in readable)]
        self._readable = [kept for path in paths for kept in parts_without(path, hidden_paths)]
        self._hostile, self._limits = hostile.resolve(), limits
        self._worker: Worker | None = None
        self._zygote, self._owns_zygote = zygote, zygote is None
        self._modules, self._setup = modules, setup or {"plugins": [], "metrics": {}}

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
                raise out_of_time(stream.over, "reading the file", stream.seconds) from None
            is_killed = not isinstance(error, ValueError) and was_killed(worker.kill())
            self._end()
            if is_killed:
                raise KilledError("read the file") from None
            raise FaultError("WORKER_DIED", "the worker died while the file was being read") from None

    def _start(self) -> Worker:
        check_limits(self._limits)
        setup = {"walls": True, "limits": dict(self._limits), "readable": {"calls": self._readable}, "gold_inodes": frozenset()}
        setup |= self._setup
        with undisturbed():
            self._zygote = self._zygote or Zygote(self._hostile)
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
