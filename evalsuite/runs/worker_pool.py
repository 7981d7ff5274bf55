"""The executor of this machine: lanes side by side, the largest answers first; a death or a time-out costs one answer.

`Pool.results` parts the tasks: what nobody needs to look at is settled at once, programs go into jails, all else into lanes. The one
loop is `Pool._in_lanes`. Each round it gives every idle lane some tasks (`_some`), after it saw that the lane still stands (`_able`); waits
until a judge says something or a clock has to be looked at (`_wait`); yields what was heard; and puts a new lane in the place of each
that died, is full, or is late (`_replace`). Of a lane that ends so, the task that it was at is lost (`lost.lost`): TIMEOUT or WORKER_DIED.
Those behind it go back to the front of `waiting`, for they have no part in that. Where the system killed a worker, the task has no part in
it either: it is tried once more when all else is done, alone, and is `unscored` where that happens again. A task counts against the run's
`Budget` when it goes in; when the time of the run is over, all that is left is lost to the budget. Whatever ends the loop, `close` kills
every worker.

A lane: the two processes that an answer passes, started together and killed together.

An own pool and no library: measured on this work, pebble keeps each task in one process, so that the process that parses a submission's
file would also hold gold; two pebble pools would send every table through the parent (0.15 s and the parent's memory for the recorded
suite, against nothing here, where reader and judge are joined by a socket); and it unpickles what a worker sends, with which a worker
that has read a hostile file must not be trusted. ProcessPoolExecutor and loky lose every unfinished task at one death.

What becomes of an answer whose lane ended before it gave a result: out of time, dead by its own doing, or killed by the system.
"""

import contextlib
import json
import math
import pickle
import select
import socket
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from evalsuite.core.errors import EvalsuiteError, FaultError
from evalsuite.core.types import Fault, Result, Task
from evalsuite.readers.gold_files import gold_links
from evalsuite.runs import WORKER_MODULES
from evalsuite.runs.instance_checks import (
    JUDGE,
    JUDGE_OFFICIAL,
    asks_programs,
    faulty,
    files_of,
    modules_of,
    opens_files,
    out_of_budget,
    read_request,
    skip_unscorable,
    unjudged,
    wants_database,
)
from evalsuite.runs.run_files import reported_result
from evalsuite.sandbox.budget import Budget, answer_seconds, delayed, killed, size_of
from evalsuite.sandbox.cpu_clock import Clock, Verdict
from evalsuite.sandbox.fork_server import ForkServer, Worker, cannot_start, now, undisturbed
from evalsuite.sandbox.framing import COPY, FULL, LONGEST_RESULT, OFFICIAL, ClosedError, Frames, receive, send
from evalsuite.sandbox.linux_layers import library_paths, parts_without, was_killed
from evalsuite.sandbox.serialization import pack_tasks
from evalsuite.sandbox.worker_sandbox import can_fork, expected_walls
from evalsuite.scorers import worker_setup

_STARTUP_SECONDS = 60
# How long a worker may keep the parent waiting that does not take its orders.
_ORDER_SECONDS = 5.0
_PIECE = 1 << 18
# What each role of a worker does.
_SERVE = {role: f"evalsuite.runs.answer_workers:serve_{role}" for role in ("reader", "judge", "fused")}


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
        shared = {"walls": walls, "limits": dict(self.limits), "readable": dict(self.readable), "gold_inodes": inodes, "serve": _SERVE}
        return pickle.dumps({**shared, **({} if role == "reader" else worker_setup())})


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
class WorkerPair:
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


def open_lane(setup: Setup, zygote: ForkServer, judges: ForkServer | None = None) -> WorkerPair:
    """A lane whose processes are starting; `await_ready` before the first task. `judges` forks the judge, where gold was read ahead."""
    lane, judging = WorkerPair(workers={}), judges if judges is not None and judges.alive else zygote
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


def seconds_of(lane: WorkerPair, sizes: Mapping[str, int]) -> float:
    """What a lane's first task may take."""
    if not lane.tasks:
        return math.inf
    task = lane.tasks[0]
    beside_gold = bool(task.databases) and lane.stage() == "compared"
    return answer_seconds(task.limits, sizes.get(task.instance.instance_id, 0), beside_gold=beside_gold)


def is_over(lane: WorkerPair, sizes: Mapping[str, int]) -> Verdict:
    """Whether the time of a lane's first task is over, and how."""
    seconds = seconds_of(lane, sizes)
    return lane.clock.over(seconds) if lane.clock.is_due(seconds) else ""


def lost(lane: WorkerPair, over: Verdict, *, by_system: bool = False) -> Result:
    """The result of the first task of a lane that is out of time or dead, which leaves it: `timeout`, `crashed`, or `unscored` where it
    had no part in that.
    """
    stage, seconds = lane.stage(), lane.clock.had
    digests = lane.private.get(lane.tasks[0].instance.instance_id, (None, {}))[1]
    task = lane.let_go()
    if over == "delayed":
        result = unjudged(task, delayed(f"the answer was being {stage}", task.limits["seconds"]), seconds=seconds)
    elif over == "late":
        detail = f"the answer was being {stage} when its {task.limits['seconds']:g} s were over (limit seconds)"
        result = faulty(task, Fault(code="TIMEOUT", detail=detail), status="timeout", seconds=seconds)
    elif by_system:
        result = unjudged(task, killed(f"the worker by which the answer was being {stage}, twice, then alone"), seconds=seconds)
    else:
        detail = f"the worker died while the answer was being {stage}"
        result = faulty(task, Fault(code="WORKER_DIED", detail=detail), status="crashed", seconds=seconds)
    return replace(result, digests=digests)


# What goes into a lane at once: enough that the way there costs little, so little that the lanes end together.
_MOST_TASKS, _MOST_BYTES, _BATCHES_A_LANE = 64, 1 << 18, 4
# How many lanes in a row may die before their first task until none is started any more.
_STARTS = 5
# Answers of at most so many bytes are all alike: of a hundred thousand texts no size is kept.
_SMALL = _MOST_BYTES // _MOST_TASKS


class Pool:
    """Scores tasks in worker processes: `for result in Pool(...).results(tasks)`, in order of completion.

    `order` is what judges do, `budget` what the whole run may take (None: what the limits of its tasks say, from the first one on),
    `links` where the links in gold lead, where that is known already.
    """

    def __init__(
        self,
        *,
        jobs: int,
        isolation: str,
        gold_inodes: frozenset[tuple[int, int]],
        open_one: Callable[[Setup, ForkServer], WorkerPair] = open_lane,
        order: str = JUDGE,
        zygote: ForkServer | None = None,
        budget: Budget | None = None,
        links: Sequence[Path] | None = None,
    ) -> None:
        self.jobs, self.isolation, self.gold_inodes = jobs, isolation, gold_inodes
        self._built: Sequence[str] = ()
        self._open_one, self._order, self._zygote, self._budget = open_one, order, zygote, budget
        self._owns_zygote, self._links = zygote is None, links
        self._lanes: list[WorkerPair] = []
        self._opened: list[WorkerPair] = []
        self._again: deque[tuple[Task, str]] = deque()
        self._setup: Setup | None = None

    @property
    def walls(self) -> Sequence[str]:
        """The walls round each worker; known before one is started, so that a resumed run with nothing left to read tells the same."""
        return self._built or (expected_walls() if self.isolation != "none" else ())

    def results(self, tasks: Sequence[Task]) -> Iterator[Result]:
        """One result per task as soon as it is known."""
        queued: list[Task] = []
        programs: list[Task] = []
        settled: list[Result] = []
        for task in tasks:
            early = skip_unscorable(task)
            if early is not None:
                settled.append(early)
            elif not opens_files(task) and any(map(asks_programs, task.instance.checks)):
                programs.append(task)
            else:
                queued.append(task)
        if queued or programs:
            budget = self._budget = self._budget or Budget((queued or programs)[0].limits)
            try:
                yield from self._in_jails(programs, budget)
                yield from self._in_turns(queued, budget) if can_fork() else self._without_forks(queued, budget)
            finally:
                self.close()
        # Last, so that whoever stops at the first failure is shown an answer and not that one is missing.
        yield from settled

    def _in_jails(self, tasks: Sequence[Task], budget: Budget) -> Iterator[Result]:
        """The results of answers that are programs. Each runs in a jail of its own with a clock of its own; a thread here waits for it.

        In no lane: behind a worker's walls no jail can be built, and a worker without walls would be one more process and no wall more.
        What this process itself makes of such an answer is one `json.loads` of a text of at most `answer_bytes`, and bytes for a pipe.
        There is one thread more than jobs, because much of a short program's time is the start of its interpreter. An answer that this
        machine did not let come to its end is tried once more when the others are done, alone.
        """
        if not tasks:
            return
        from concurrent.futures import ThreadPoolExecutor, as_completed

        from evalsuite.runs.task_execution import score_task

        threads, again = ThreadPoolExecutor(self.jobs + 1, thread_name_prefix="jails"), list[tuple[Task, Result]]()
        try:
            under_way = {threads.submit(self._score_here, task, budget): task for task in tasks}
            for done in as_completed(under_way):
                result = done.result()
                # An answer's own LIMIT is a 0; this one is the machine's.
                if result.status == "unscored" and result.fault == "LIMIT":
                    again.append((under_way[done], result))
                else:
                    yield result
        finally:
            # Whoever stops taking results waits for the jails that stand, and for no other.
            threads.shutdown(wait=True, cancel_futures=True)
        for task, result in again:
            yield score_task(task, self.gold_inodes, self._order) if budget.seconds else result

    def _without_forks(self, tasks: Sequence[Task], budget: Budget) -> Iterator[Result]:
        """The results on a system without forks: of interpreters that are started for it, or of this process, without walls and clocks."""
        if self.isolation == "none":
            yield from (self._score_here(task, budget) for task in tasks)
            return
        from evalsuite.runs.subprocess_worker import spawned_results

        yield from spawned_results(tasks, jobs=self.jobs, gold_inodes=self.gold_inodes, order=self._order, budget=budget)

    def _score_here(self, task: Task, budget: Budget) -> Result:
        from evalsuite.runs.task_execution import score_task

        return score_task(task, self.gold_inodes, self._order) if budget.spend(size_of(task)) else out_of_budget(task, budget)

    def close(self) -> None:
        """Kill every worker; also where the results were not taken to their end."""
        self._end_lanes()
        if self._zygote is not None and self._owns_zygote:
            self._zygote.close()
            self._zygote = None

    def _end_lanes(self) -> None:
        self._lanes = []
        while self._opened:
            self._opened[-1].kill()
            self._opened.pop()

    def _make_ready(self, tasks: Sequence[Task]) -> None:
        """Make what all lanes share: a zygote, and what each worker is told."""
        self._hostile, self._modules = tasks[0].submission_folder, modules_of(tasks)
        with undisturbed():
            self._zygote = self._zygote or ForkServer(self._hostile, modules=WORKER_MODULES)
        self._zygote.load(self._modules)
        self._setup = self._make_setup(tasks)

    def _make_setup(self, tasks: Sequence[Task]) -> Setup:
        executed = {task.executed.parent for task in tasks if task.executed is not None}
        computed = {check.computed for task in tasks for check in task.instance.checks if check.computed is not None}
        asked = {Path(place).parent for task in tasks for place in task.databases}
        return set_up(
            isolation=self.isolation,
            limits=tasks[0].limits,
            submission_folder=tasks[0].submission_folder,
            gold_folder=tasks[0].gold_folder,
            gold_inodes=self.gold_inodes,
            made={"reader": executed | asked, "judge": computed | asked},
            opens_files=any(map(opens_files, tasks)),
            links=self._links,
        )

    def _in_turns(self, tasks: Sequence[Task], budget: Budget) -> Iterator[Result]:
        """The results of all tasks: first side by side, then, one by one, of those that are to be tried again."""
        if tasks:
            self._make_ready(tasks)
            yield from self._in_lanes(tasks, budget, self._order, is_first=True)
            while self._again:
                self._end_lanes()
                task, order = self._again.popleft()
                yield from self._in_lanes([task], budget, order, is_first=False)

    def _in_lanes(self, tasks: Sequence[Task], budget: Budget, order: str, *, is_first: bool) -> Iterator[Result]:
        """The loop: give each idle lane some tasks, hear who has results, end who is late or dead; until nothing is left."""
        sizes = {task.instance.instance_id: size for task in tasks if (size := size_of(task)) > _SMALL}
        waiting = deque(sorted(tasks, key=lambda task: sizes.get(task.instance.instance_id, 0), reverse=True))
        self._lanes = [self._open() for _ in range(min(self.jobs, len(waiting)))]
        while waiting or any(lane.tasks for lane in self._lanes):
            if not budget.seconds:
                yield from [out_of_budget(task, budget) for task in (*(task for lane in self._lanes for task in lane.tasks), *waiting)]
                return
            for lane in [self._able(lane, waiting) for lane in self._lanes if waiting and not lane.tasks]:
                ready: list[Task] = []
                for task in self._some(waiting, sizes):
                    if is_first and not budget.spend(sizes.get(task.instance.instance_id) or size_of(task)):
                        yield out_of_budget(task, budget)
                    elif (faulty_one := self._copied(task, lane)) is not None:
                        yield faulty_one
                    else:
                        ready.append(task)
                if ready:
                    lane.take(ready, order)
            if not (busy := [lane for lane in self._lanes if lane.tasks]):
                continue
            heard = _wait(busy, min([budget.seconds, *(lane.clock.wait(seconds_of(lane, sizes)) for lane in busy)]))
            for lane in heard:
                yield from lane.hear()
            for lane in busy:
                over = "" if lane in heard else is_over(lane, sizes)
                # A lane that is full before it did anything can do nothing with the first task.
                if lane.tasks and (over or lane.is_gone or (lane.is_full and not lane.n_done)):
                    by_system = not over and lane.was_killed()
                    if by_system and is_first:
                        self._again.append((lane.let_go(), order))
                    elif over == "late" and lane.n_official and order == JUDGE:
                        # The strict verdict is late, and must not take the official one with it.
                        self._again.append((lane.let_go(), JUDGE_OFFICIAL))
                    else:
                        yield lost(lane, over, by_system=by_system)
                if over or lane.is_gone or lane.is_full:
                    self._replace(lane, waiting)

    def _open(self) -> WorkerPair:
        """A new lane that stands ready; no interruption comes between its start and the list of those to kill."""
        assert self._setup is not None
        assert self._zygote is not None
        with undisturbed():
            try:
                lane = self._open_one(self._setup, self._zygote)
            except EvalsuiteError:
                # The system may have killed the zygote, and with it all its workers.
                if self._owns_zygote:
                    self._zygote.close()
                self._zygote, self._owns_zygote = ForkServer(self._hostile, modules=WORKER_MODULES), True
                self._zygote.load(self._modules)
                lane = self._open_one(self._setup, self._zygote)
            self._opened.append(lane)
        return lane

    def _able(self, lane: WorkerPair, waiting: deque[Task]) -> WorkerPair:
        """The lane, or a new one in its place where a worker of it died after its last result: what comes has no part in that."""
        for is_last in (False,) * _STARTS + (True,):
            try:
                if not lane.is_ready:
                    lane.await_ready()
                    self._built = lane.walls
                if lane.alive:
                    break
            except EvalsuiteError:
                if is_last:
                    raise
            lane = self._replace(lane, waiting)
        return lane

    def _replace(self, lane: WorkerPair, waiting: deque[Task]) -> WorkerPair:
        """A new lane in the place of one that ends; the tasks that are left in that come first now."""
        waiting.extendleft(reversed(lane.tasks))
        lane.tasks.clear()
        lane.kill()
        self._opened.remove(lane)
        if waiting:
            self._lanes[self._lanes.index(lane)] = lane = self._open()
        return lane

    def _some(self, waiting: deque[Task], sizes: Mapping[str, int]) -> Iterator[Task]:
        """The next tasks for a lane: a large one alone, of small ones so many that all lanes end together."""
        most = min(_MOST_TASKS, -(-len(waiting) // (_BATCHES_A_LANE * len(self._lanes))))
        n_bytes = 0
        for at in range(most):
            if not waiting or (at and n_bytes + sizes.get(waiting[0].instance.instance_id, _SMALL) > _MOST_BYTES):
                return
            task = waiting.popleft()
            n_bytes += sizes.get(task.instance.instance_id, _SMALL)
            yield task

    def _copied(self, task: Task, lane: WorkerPair) -> Result | None:
        """Copy a database for the lane to hand over, so that its reader writes nothing; the result of one whose path is at fault."""
        if not opens_files(task) or self.isolation == "none" or not wants_database(task):
            return None
        from evalsuite.readers.duckdb_connections import unnamed_copy

        request, started = read_request(task), now()
        files = files_of(request, self.gold_inodes)
        try:
            # As it is, for a name may count from the folder's root.
            with files.open(request.value if isinstance(request.value, str) else str(request.value)) as source:
                lane.private[task.instance.instance_id] = unnamed_copy(source, int(request.limits["file_bytes"])), files.digests()
        except FaultError as error:
            return replace(faulty(task, error.fault, seconds=now() - started), digests=files.digests())
        return None


def _wait(lanes: Sequence[WorkerPair], seconds: float) -> list[WorkerPair]:
    """The lanes whose judge says something or is gone, none where nobody does in this time."""
    poll, by_number = select.poll(), {lane.judge.control.fileno(): lane for lane in lanes}
    for number in by_number:
        poll.register(number, select.POLLIN)
    # What lies ready is seen even where all time is over: the parent may have been busy elsewhere.
    return [by_number[number] for number, _ in poll.poll(seconds * 1000)]
