"""A lane: the two processes that an answer passes, started together and killed together.

An own pool and no library: measured on this work, pebble keeps each task in one process, so that the process that parses a submission's
file would also hold gold; two pebble pools would send every table through the parent (0.15 s and the parent's memory for the recorded
suite, against nothing here, where reader and judge are joined by a socket); and it unpickles what a worker sends, with which a worker
that has read a hostile file must not be trusted. ProcessPoolExecutor and loky lose every unfinished task at one death.
"""

import contextlib
import json
import pickle
import select
import socket
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from evalsuite.readers.gold_files import gold_links
from evalsuite.scorers import SCORERS
from evalsuite.store.run_files import reported_result
from evalsuite.types import Result, Task
from evalsuite.walls.clock import Clock
from evalsuite.walls.landlock import library_paths, parts_without
from evalsuite.walls.namespaces import was_killed
from evalsuite.workers.packing import pack_tasks
from evalsuite.workers.requests import opens_files, read_request
from evalsuite.workers.start import Worker, Zygote, cannot_start
from evalsuite.workers.wire import COPY, FULL, LONGEST_RESULT, OFFICIAL, ClosedError, Frames, receive, send

_STARTUP_SECONDS = 60
# How long a worker may keep the parent waiting that does not take its orders.
_ORDER_SECONDS = 5.0
_PIECE = 1 << 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What every lane of a run is told once. `isolation` none means one process that does both stages, without walls.

    `readable` are the paths below which each role may read where the kernel has Landlock. Without `opens_files` there are but texts, for
    which nothing is read.
    """

    isolation: str
    limits: Mapping[str, int | float]
    readable: Mapping[str, Sequence[str]]
    gold_inodes: frozenset[tuple[int, int]]
    opens_files: bool = True

    def to_bytes(self, role: str) -> bytes:
        """The set-up frame of a worker, pickled by the trusted side; the inodes of gold are for who opens the submission's files."""
        walls = self.isolation != "none"
        inodes = self.gold_inodes if role in ("reader", "fused") else frozenset()
        shared = {"walls": walls, "limits": dict(self.limits), "readable": dict(self.readable), "gold_inodes": inodes}
        return pickle.dumps({**shared, **SCORERS.carried()})


def set_up(
    *,
    isolation: str,
    limits: Mapping[str, int | float],
    submission_folder: Path,
    gold_folder: Path,
    gold_inodes: frozenset[tuple[int, int]],
    made: Mapping[str, Collection[Path]] | None = None,
    opens_files: bool = True,
    links: Sequence[Path] | None = None,
) -> Setup:
    """The set-up of a run's lanes: the reader may read the submission and never gold, wherever gold lies; the judge the reverse.

    `made` are folders that each role may read besides: what was made for this run of its own side. `links` is where links in the gold
    folder lead, where that is known already.
    """
    readable: dict[str, list[str]] = {}
    if isolation != "none":
        submission, libraries = submission_folder.resolve(), library_paths()
        gold = [gold_folder.resolve(), *(gold_links(gold_folder) if links is None else links)]
        sides = {"reader": ([str(submission)], gold), "judge": (list(map(str, gold)), [submission])}
        for role, (own, others) in sides.items():
            hidden = list(map(str, others))
            own += [str(path.resolve()) for path in (made or {}).get(role, ())]
            readable[role] = [kept for path in (*libraries, *own) for kept in parts_without(path, hidden)]
    return Setup(isolation=isolation, limits=limits, readable=readable, gold_inodes=gold_inodes, opens_files=opens_files)


@dataclass(slots=True)
class Lane:
    """One or two workers, and the tasks that are in them: the first of `tasks`, whose time `clock` counts; the others wait behind it.

    `private` are the copies that were made here of databases, with the digests of what was copied, by instance id. `is_full`: its workers
    ended before the tasks that are left, mostly because of the memory they kept; `is_gone`: they died, or say what cannot be meant.
    `n_official`: of so many checks of the first task the official verdict is known.
    """

    workers: dict[str, Worker]
    tasks: deque[Task] = field(default_factory=deque)
    clock: Clock = field(default_factory=Clock)
    n_done: int = 0
    private: dict[str, tuple[IO[bytes], dict[str, str]]] = field(default_factory=dict)
    walls: list[str] = field(default_factory=list)
    is_full: bool = False
    is_gone: bool = False
    n_official: int = 0
    _frames: Frames = field(default_factory=lambda: Frames(most=LONGEST_RESULT))
    _n_reading: int = 0
    _is_deaf: bool = False

    @property
    def alive(self) -> bool:
        """Whether every worker of this lane still runs, and can take answers."""
        return not (self.is_full or self.is_gone) and all(worker.alive for worker in self.workers.values())

    @property
    def is_ready(self) -> bool:
        """Whether its workers stand behind their walls."""
        return all(worker.ready for worker in self.workers.values())

    @property
    def judge(self) -> Worker:
        """The worker that sends results."""
        return self.workers.get("judge") or self.workers["fused"]

    def await_ready(self) -> None:
        """Wait until every worker stands behind its walls. Raises `EvalsuiteError` where one died on the way."""
        for worker in self.workers.values():
            if not worker.ready:
                worker.control.settimeout(_STARTUP_SECONDS)
                try:
                    frame = receive(worker.control, most=LONGEST_RESULT)
                except (ClosedError, OSError):
                    frame = None
                if frame is None:
                    raise cannot_start()
                # From here on nobody waits for what a worker says.
                worker.control.setblocking(False)
                worker.ready = True
                self.walls = json.loads(frame)["walls"]

    def take(self, tasks: Sequence[Task], order: str) -> None:
        """Send tasks into both stages. A worker that cannot be told of them ended before they came: they have no part in that."""
        self.tasks.extend(tasks)
        self.stage()
        self._n_reading = 0
        requests = [read_request(task) for task in tasks if opens_files(task)]
        with_files = [replace(one, private=COPY) if one.instance_id in self.private else one for one in requests]
        try:
            self.order(self.judge, (order, pack_tasks(tasks)))
            if (reader := self.workers.get("reader")) is not None and with_files:
                self.order(reader, with_files)
                for copy, _ in self.private.values():
                    socket.send_fds(reader.control, [COPY.encode()], [copy.fileno()])
        except OSError:
            self.is_full = self._is_deaf = True
        # Only now: what this process itself waits for while it tells them is not theirs.
        self.clock = Clock(lambda: [worker.pid for worker in self.workers.values()])

    def order(self, worker: Worker, message: Any) -> None:
        """Send a pickled order to one worker of this lane."""
        worker.control.settimeout(_ORDER_SECONDS)
        send(worker.control, pickle.dumps(message))
        worker.control.setblocking(False)

    def hear(self) -> list[Result]:
        """The results that came of the first tasks, in their order; what is left of `tasks` has none yet."""
        try:
            data = self.judge.control.recv(_PIECE)
            frames = self._frames.add(data)
        except BlockingIOError:
            return []
        except (OSError, ValueError):
            self.is_gone = True
            return []
        self.is_gone |= not data
        results = []
        for frame in frames:
            if frame == FULL:
                self.is_full = True
            elif frame == OFFICIAL:
                self.n_official += 1
                self.is_gone |= not self.tasks or self.n_official > len(self.tasks[0].instance.checks)
            elif (result := self._result(frame)) is not None:
                results.append(result)
            else:
                self.is_gone = True
                break
        return results

    def _result(self, frame: bytes) -> Result | None:
        """The result of the first task, which leaves the lane; None where that cannot be meant."""
        result = reported_result(frame, self.tasks[0].instance.instance_id) if self.tasks else None
        if result is None:
            return None
        if (copied := self.private.get(result.instance_id)) is not None:
            result = replace(result, digests={**result.digests, **copied[1]})
        self.let_go()
        return result

    def let_go(self) -> Task:
        """The first task, which leaves the lane; the next one's time begins."""
        task = self.tasks.popleft()
        self.n_done, self.n_official = self.n_done + 1, 0
        self._n_reading -= opens_files(task)
        self.clock.start()
        if (copy := self.private.pop(task.instance.instance_id, None)) is not None:
            copy[0].close()
        return task

    def stage(self) -> str:
        """What is done with the first task, as far as its reader says: `read` or `compared`."""
        if (reader := self.workers.get("reader")) is not None:
            with contextlib.suppress(OSError):
                self._n_reading += len(reader.control.recv(_PIECE))
        return "read" if self.tasks and opens_files(self.tasks[0]) and self._n_reading <= 0 else "compared"

    def was_killed(self) -> bool:
        """Whether the system ended a worker of this lane, or none takes an order: what it was at has no part in that.

        A worker that finds the other one gone ends with 0, so the one that is asked is the one that went first.
        """
        first = next((worker for worker in (self.judge, *self.workers.values()) if not worker.alive), None)
        if self._is_deaf or first is None:
            return self._is_deaf
        if first.kill() == 0 and (reader := self.workers.get("reader")) is not None and reader.status is None:
            poll = select.poll()
            poll.register(reader.control, select.POLLHUP)
            poll.poll(_ORDER_SECONDS * 1000)
            first = first if reader.alive else reader
        return was_killed(first.kill())

    def kill(self) -> None:
        """End all workers of this lane and remove what was copied for it."""
        for copy, _ in self.private.values():
            copy.close()
        self.private = {}
        for worker in self.workers.values():
            worker.kill()


def open_lane(setup: Setup, zygote: Zygote, judges: Zygote | None = None) -> Lane:
    """A lane whose processes are starting; `await_ready` before the first task. `judges` forks the judge, where gold was read ahead."""
    lane, judging = Lane(workers={}), judges if judges is not None and judges.alive else zygote
    try:
        if setup.isolation == "none":
            lane.workers["fused"] = zygote.fork("fused")
        elif setup.opens_files:
            left, right = socket.socketpair()
            with left, right:
                lane.workers["reader"] = zygote.fork("reader", left)
                lane.workers["judge"] = judging.fork("judge", right)
        else:
            lane.workers["judge"] = judging.fork("judge")
        for role, worker in lane.workers.items():
            send(worker.control, setup.to_bytes(role))
    except OSError:
        lane.kill()
        raise cannot_start() from None
    return lane
