"""Single functions called in a worker: what reads a hostile file outside of a run (validate, check) reads it behind the same walls.

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

from evalsuite.errors import FAULTS, EvalsuiteError, FaultError, SubmissionError, UsageError
from evalsuite.scorers import SCORERS
from evalsuite.walls.landlock import library_paths, parts_without
from evalsuite.walls.worker_walls import can_fork
from evalsuite.workers.budget import answer_seconds
from evalsuite.workers.called import ITEM, named
from evalsuite.workers.requests import COPY
from evalsuite.workers.start import Worker, Zygote, cannot_start, now, undisturbed
from evalsuite.workers.wire import LONGEST_RESULT, ClosedError, receive, send

_STARTUP_SECONDS = 60.0


class Calls:
    """Calls of functions by name, one at a time, in a worker that is started when it is needed and ended with the block.

    `readable` are the paths below which it may read, `hidden` those that it may not read even there; no import leads into `hostile`.
    While the worker reads, its zygote imports `modules` for those to come.
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
    ) -> None:
        hidden_paths = [str(path.resolve()) for path in hidden]
        paths = [*library_paths(), *(str(path.resolve()) for path in readable)]
        self._readable = [kept for path in paths for kept in parts_without(path, hidden_paths)]
        self._hostile, self._limits = hostile.resolve(), limits
        self._worker: Worker | None = None
        self._zygote, self._owns_zygote = zygote, zygote is None
        self._modules = modules

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
        worker, seconds = self._worker or self._start(), answer_seconds(self._limits, n_bytes)
        deadline, kind = now() + seconds, ITEM
        try:
            send(worker.control, pickle.dumps((function, arguments, copy is not None)))
            if copy is not None:
                socket.send_fds(worker.control, [COPY.encode()], [copy.fileno()])
            while kind == ITEM:
                told = self._heard(worker, max(0.0, deadline - now()))
                if told is None:
                    self._end()
                    raise FaultError("TIMEOUT", f"the file was being read when its {seconds:.0f} s were over (limit seconds)")
                kind, value = told
                if kind in (ITEM, "value"):
                    yield value
        except (ClosedError, OSError, ValueError):
            self._end()
            raise FaultError("WORKER_DIED", "the worker died while the file was being read") from None
        if kind == "fault" and value[0] in FAULTS:
            raise FaultError(value[0], str(value[1]), where=str(value[2]))
        if kind == "error":
            error = next((known for known in (SubmissionError, UsageError) if known.__name__ == value[2]), EvalsuiteError)
            raise error(str(value[0]), hint=str(value[1]))

    def _start(self) -> Worker:
        # Names of plugins travel, so that a scorer of the user's own is called like any other.
        setup = {"walls": True, "limits": dict(self._limits), "readable": {"calls": self._readable}, "gold_inodes": frozenset()}
        setup |= {"plugins": list(SCORERS.brought()), "metrics": dict(SCORERS.metrics)}
        with undisturbed():
            self._zygote = self._zygote or Zygote(self._hostile)
            self._worker = self._zygote.fork("calls")
        if self._modules:
            self._zygote.load(self._modules)
        try:
            send(self._worker.control, pickle.dumps(setup))
            is_ready = self._heard(self._worker, _STARTUP_SECONDS) is not None
        except (ClosedError, OSError, ValueError):
            is_ready = False
        if not is_ready:
            self._end()
            raise cannot_start()
        return self._worker

    def _heard(self, worker: Worker, seconds: float) -> Any:
        """What the worker says within these seconds, None where it says nothing. Raises `ClosedError`, OSError, ValueError."""
        deadline = now() + seconds
        if not select.select([worker.control], [], [], seconds)[0]:
            return None
        worker.control.settimeout(max(1.0, deadline - now()))
        frame = receive(worker.control, most=LONGEST_RESULT)
        if frame is None:
            raise ClosedError
        return json.loads(frame)

    def _end(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker = None
