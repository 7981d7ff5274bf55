"""A lane: the two processes that one answer passes, started together and killed together.

An own pool and no library: measured on this work, pebble keeps each task in one process, so that the process that parses a submission's
file would also hold gold; two pebble pools would send every table through the parent (0.15 s and the parent's memory for the recorded
suite, against nothing here, where reader and judge are joined by a socket); and it unpickles what a worker sends, with which a worker
that has read a hostile file must not be trusted. ProcessPoolExecutor and loky lose every unfinished task at one death.
"""

import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalsuite.runner.wire import ClosedError, receive, send
from evalsuite.types import Task

_CODE = "import sys; sys.path[:] = {path!r}; from evalsuite.runner.isolated import start; start()"
# What a reader may need to find its libraries; nothing else of the user's environment reaches a worker.
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "TZ": "UTC", "PATH": "/usr/bin:/bin"}
_KEPT = ("LD_LIBRARY_PATH", "SYSTEMROOT")
_STARTUP_SECONDS = 60
_LONGEST_RESULT = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What every lane of a run is told once. `isolation` none means one process that does both stages, without walls."""

    isolation: str
    limits: Mapping[str, int | float]
    submission_folder: str
    gold_folder: str
    scratch: str
    gold_inodes: frozenset[tuple[int, int]]

    def to_bytes(self) -> bytes:
        """The set-up frame, pickled by the trusted side for the worker."""
        readable = {"reader": [self.submission_folder, self.scratch], "judge": [self.gold_folder], "fused": []}
        walls = self.isolation != "none"
        inodes = self.gold_inodes if not walls else frozenset()
        return pickle.dumps({"walls": walls, "limits": dict(self.limits), "readable": readable, "gold_inodes": inodes})


@dataclass(slots=True)
class Worker:
    """One process with its control socket."""

    process: subprocess.Popen[bytes]
    control: socket.socket
    ready: bool = False

    def kill(self) -> None:
        """End the process and everything it started, and take its exit."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()
        self.process.wait()
        self.control.close()


@dataclass(slots=True)
class Lane:
    """One or two workers, and the task that is in them."""

    workers: dict[str, Worker]
    task: Task | None = None
    asking: bool = False
    reading: bool = False
    started: float = 0.0
    deadline: float = 0.0
    private: Path | None = None
    walls: list[str] = field(default_factory=list)

    @property
    def judge(self) -> Worker:
        """The worker that sends results."""
        return self.workers.get("judge") or self.workers["fused"]

    def await_ready(self) -> None:
        """Wait until every worker stands behind its walls. Raises `ClosedError` where one died on the way."""
        import json

        for worker in self.workers.values():
            if not worker.ready:
                worker.control.settimeout(_STARTUP_SECONDS)
                frame = receive(worker.control, most=_LONGEST_RESULT)
                if frame is None:
                    raise ClosedError
                worker.control.settimeout(None)
                worker.ready = True
                self.walls = json.loads(frame)["walls"]

    def order(self, role: str, message: Any) -> None:
        """Send a pickled order to one worker of this lane."""
        send(self.workers[role].control, pickle.dumps(message))

    def answer(self, worker: Worker) -> bytes | None:
        """One frame of a worker, None where it died."""
        try:
            return receive(worker.control, most=_LONGEST_RESULT)
        except (ClosedError, OSError, ValueError):
            return None

    def clear(self) -> None:
        """Forget the task and remove its private copy."""
        self.task, self.asking, self.reading = None, False, False
        if self.private is not None:
            self.private.unlink(missing_ok=True)
            self.private = None

    def kill(self) -> None:
        """End all workers of this lane."""
        self.clear()
        for worker in self.workers.values():
            worker.kill()


def open_lane(setup: Setup) -> Lane:
    """A lane whose processes are starting; `await_ready` before the first task."""
    if setup.isolation == "none":
        lane = Lane(workers={"fused": _spawn("fused", None)})
    else:
        left, right = socket.socketpair()
        lane = Lane(workers={"reader": _spawn("reader", left), "judge": _spawn("judge", right)})
        left.close()
        right.close()
    frame = setup.to_bytes()
    for worker in lane.workers.values():
        send(worker.control, frame)
    return lane


def _spawn(role: str, data: socket.socket | None) -> Worker:
    """A fresh interpreter in its own session, cwd `/`, with nothing of this process but its sockets and import path."""
    ours, theirs = socket.socketpair()
    passed = [theirs.fileno(), *([data.fileno()] if data is not None else [])]
    path = [entry or str(Path.cwd()) for entry in sys.path]
    arguments = [role, str(theirs.fileno()), str(data.fileno() if data is not None else -1)]
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _CODE.format(path=path), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=tempfile.gettempdir() if sys.platform == "win32" else "/",
        env={**_ENVIRONMENT, **{name: os.environ[name] for name in _KEPT if name in os.environ}},
        pass_fds=passed,
        start_new_session=True,
    )
    theirs.close()
    return Worker(process=process, control=ours)


def now() -> float:
    """The clock of deadlines, in seconds."""
    return time.monotonic()
