"""A lane: the two processes that one answer passes, started together and killed together.

An own pool and no library: measured on this work, pebble keeps each task in one process, so that the process that parses a submission's
file would also hold gold; two pebble pools would send every table through the parent (0.15 s and the parent's memory for the recorded
suite, against nothing here, where reader and judge are joined by a socket); and it unpickles what a worker sends, with which a worker
that has read a hostile file must not be trusted. ProcessPoolExecutor and loky lose every unfinished task at one death.
"""

import os
import pickle
import socket
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from evalsuite.readers.gold_files import gold_links
from evalsuite.scorers import SCORERS
from evalsuite.types import Task
from evalsuite.walls.landlock import around, library_paths
from evalsuite.workers.requests import COPY
from evalsuite.workers.start import Worker, cannot_start, spawn
from evalsuite.workers.wire import ClosedError, receive, send

_STARTUP_SECONDS = 60
_LONGEST_RESULT = 64 << 20
# How long a worker may keep the parent waiting in the middle of a frame, either way.
_FRAME_SECONDS = 5.0
_WORD = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What every lane of a run is told once. `isolation` none means one process that does both stages, without walls.

    `readable` are the paths below which each role may read where the kernel has Landlock; `hostile` is the submission's folder, from
    which no worker imports.
    """

    isolation: str
    limits: Mapping[str, int | float]
    readable: Mapping[str, Sequence[str]]
    hostile: Path
    gold_inodes: frozenset[tuple[int, int]]

    def to_bytes(self, role: str) -> bytes:
        """The set-up frame of a worker, pickled by the trusted side; the inodes of gold are for who opens the submission's files."""
        walls = self.isolation != "none"
        inodes = self.gold_inodes if role in ("reader", "fused") else frozenset()
        shared = {"walls": walls, "limits": dict(self.limits), "readable": dict(self.readable), "gold_inodes": inodes}
        return pickle.dumps({**shared, "plugins": list(SCORERS.brought()), "metrics": dict(SCORERS.metrics)})


def set_up(
    *,
    isolation: str,
    limits: Mapping[str, int | float],
    submission_folder: Path,
    gold_folder: Path,
    gold_inodes: frozenset[tuple[int, int]],
    made: Mapping[str, Collection[Path]] | None = None,
) -> Setup:
    """The set-up of a run's lanes: the reader may read the submission and never gold, wherever gold lies; the judge the reverse.

    `made` are folders that each role may read besides: what was made for this run of its own side.
    """
    readable: dict[str, list[str]] = {}
    if isolation != "none":
        submission, libraries = submission_folder.resolve(), library_paths()
        gold = [gold_folder.resolve(), *gold_links(gold_folder)]
        sides = {"reader": ([str(submission)], gold), "judge": (list(map(str, gold)), [submission])}
        for role, (own, others) in sides.items():
            hidden = list(map(str, others))
            own += [str(path.resolve()) for path in (made or {}).get(role, ())]
            readable[role] = [kept for path in (*libraries, *own) for kept in around(path, hidden)]
    return Setup(
        isolation=isolation,
        limits=limits,
        readable=readable,
        hostile=submission_folder.resolve(),
        gold_inodes=gold_inodes,
    )


@dataclass(slots=True)
class Lane:
    """One or two workers, and the task that is in them; `private` is the copy of its file that was made here, `digests` what was copied."""

    workers: dict[str, Worker]
    task: Task | None = None
    asking: bool = False
    reading: bool = False
    started: float = 0.0
    deadline: float = 0.0
    private: IO[bytes] | None = None
    digests: dict[str, str] = field(default_factory=dict)
    walls: list[str] = field(default_factory=list)

    @property
    def alive(self) -> bool:
        """Whether every worker of this lane still runs."""
        return all(worker.process.poll() is None for worker in self.workers.values())

    def is_bloated(self, limits: Mapping[str, int | float]) -> bool:
        """Whether a worker holds so much address space after its last answer that the next one might not fit. False where unknown."""
        return any(_address_space(worker.process.pid) > int(limits["memory_mib"]) << 19 for worker in self.workers.values())

    @property
    def judge(self) -> Worker:
        """The worker that sends results."""
        return self.workers.get("judge") or self.workers["fused"]

    def await_ready(self) -> None:
        """Wait until every worker stands behind its walls. Raises `EvalsuiteError` where one died on the way."""
        import json

        for worker in self.workers.values():
            if not worker.ready:
                worker.control.settimeout(_STARTUP_SECONDS)
                try:
                    frame = receive(worker.control, most=_LONGEST_RESULT)
                except (ClosedError, OSError):
                    frame = None
                if frame is None:
                    raise cannot_start()
                worker.control.settimeout(_FRAME_SECONDS)
                worker.ready = True
                self.walls = json.loads(frame)["walls"]

    def order(self, role: str, message: Any) -> None:
        """Send a pickled order to one worker of this lane."""
        send(self.workers[role].control, pickle.dumps(message))

    def hand_over(self) -> None:
        """Send the reader the descriptor of the private copy, where there is one, behind its order."""
        if self.private is not None:
            socket.send_fds(self.workers["reader"].control, [COPY.encode()], [self.private.fileno()])

    def answer(self, worker: Worker) -> bytes | None:
        """What a worker says, None where it died or sent what cannot be meant.

        A reader has only one thing to say, so whatever bytes stand there are taken as that: it cannot make the parent wait for more.
        """
        try:
            return receive(worker.control, most=_LONGEST_RESULT) if worker is self.judge else worker.control.recv(_WORD) or None
        except (ClosedError, OSError, ValueError):
            return None

    def clear(self) -> None:
        """Forget the task and its private copy."""
        self.task, self.asking, self.reading, self.digests = None, False, False, {}
        if self.private is not None:
            self.private.close()
            self.private = None

    def kill(self) -> None:
        """End all workers of this lane."""
        self.clear()
        for worker in self.workers.values():
            worker.kill()


def open_lane(setup: Setup) -> Lane:
    """A lane whose processes are starting; `await_ready` before the first task."""
    lane = Lane(workers={})
    try:
        if setup.isolation == "none":
            lane.workers["fused"] = spawn("fused", None, setup.hostile)
        else:
            left, right = socket.socketpair()
            with left, right:
                lane.workers["reader"] = spawn("reader", left, setup.hostile)
                lane.workers["judge"] = spawn("judge", right, setup.hostile)
        for role, worker in lane.workers.items():
            send(worker.control, setup.to_bytes(role))
    except OSError:
        lane.kill()
        raise cannot_start() from None
    return lane


def _address_space(pid: int) -> int:
    """The bytes of address space of a process, 0 where the system does not say (only Linux limits it)."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
