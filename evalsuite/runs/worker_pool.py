"""Executor of this machine: worker pairs in parallel, the largest answers first; a death or a time-out costs one answer.

`Pool.results` divides the tasks: what needs no worker is settled at once, programs go into program sandboxes, the rest to worker pairs.
`Pool._run_pairs` is the event loop: dispatch tasks, collect results, kill workers that exceed their limit, and replace worker pairs that
died, are full or are late. Of such a pair only the current task is lost (TIMEOUT or WORKER_DIED); the tasks behind it return to the front
of the queue. If the operating system killed a worker, the task is tried once more after all others, alone, and is `unscored` if that
happens again. A task counts against the run's `Budget` when it is dispatched; when the run's time is over, the remaining tasks are lost to
the budget. `close` kills every worker.

Why no library. Measured on this work, pebble keeps each task in one process, so the process that parses a submission's file would also have
gold; two pebble pools would send every table through the parent (0.15 s and the parent's memory for the recorded suite; a socket between
reader and judge costs nothing measurable); and it unpickles what a worker sends, which is unsafe once the worker has read a hostile file.
ProcessPoolExecutor and loky lose every unfinished task at one death.
"""

import contextlib
import math
import select
import socket
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import copy_context
from pathlib import Path
from typing import IO

from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.errors import EvalsuiteError, FaultError
from evalsuite.core.runtime import signals_blocked
from evalsuite.core.types import Fault, Result, Task
from evalsuite.readers.gold_files import gold_links
from evalsuite.runs import WORKER_MODULES
from evalsuite.runs.instance_checks import (
    JUDGE,
    JUDGE_OFFICIAL,
    asks_programs,
    fault_of_end,
    fault_result,
    files_of,
    modules_of,
    opens_files,
    out_of_budget,
    read_request,
    skip_unscorable,
    unjudged_result,
    wants_database,
)
from evalsuite.runs.run_files import result_of_worker
from evalsuite.sandbox.fork_server import ForkServer, Worker, start_error
from evalsuite.sandbox.limits import Budget, Clock, Verdict, answer_seconds, delayed_fault, killed_fault, size_of
from evalsuite.sandbox.linux_layers import was_killed
from evalsuite.sandbox.messages import (
    COPY,
    DATA,
    END,
    FAULT,
    FULL,
    OFFICIAL,
    ClosedError,
    pack_call,
    pack_tasks,
    send,
)
from evalsuite.sandbox.rpc_client import IdleWorker, await_ready, pack_setup, readable_paths
from evalsuite.sandbox.worker_main import OWN_ERROR
from evalsuite.sandbox.worker_sandbox import can_fork, expected_features
from evalsuite.scorers import worker_setup

# Seconds that a worker may block the parent by not reading its orders.
_ORDER_SECONDS = 5.0
# The functions that workers call.
_WORKERS = "evalsuite.runs.answer_workers"
_READ, _JUDGE, _SCORE, _SET_INODES = (
    f"{_WORKERS}:{name}" for name in ("read_answers", "judge_answers", "score_answers", "set_gold_inodes")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Set-up that all worker pairs of a run share. `isolation` none means one process for both stages, without a sandbox.

    `readable` are the paths that each role may read if the kernel has Landlock. Without `opens_files` all answers are texts, and nothing is
    read for them. `needs_numpy`: the fork server has imported numpy for them, and duckdb for databases; a worker forked before has neither.
    `cached_gold` goes into the judge's cache of gold files.
    """

    isolation: str
    limits: Mapping[str, int | float]
    readable: Mapping[str, Sequence[str]]
    gold_inodes: frozenset[tuple[int, int]]
    opens_files: bool = True
    needs_numpy: bool = False
    cached_gold: bytes = b""

    def to_bytes(self, role: str) -> bytes:
        """Return the set-up message of a worker."""
        more = {} if role == "reader" else {**worker_setup(), "cached_gold": self.cached_gold}
        return pack_setup(self.limits, self.readable.get(role, ()), sandboxed=self.isolation != "none", more=more)


def set_up(
    *,
    isolation: str,
    limits: Mapping[str, int | float],
    submission_folder: Path,
    gold_folder: Path,
    gold_inodes: frozenset[tuple[int, int]],
    made: Mapping[str, Collection[Path]] | None = None,
    opens_files: bool = True,
    needs_numpy: bool = False,
    links: Sequence[Path] | None = None,
    cached_gold: bytes = b"",
) -> Setup:
    """Return the set-up of a run's worker pairs: the reader may read the submission and never gold, the judge the reverse.

    `made` are folders of this run that each role may read in addition. `links` are the targets of links in the gold folder, if known.
    """
    readable: dict[str, list[str]] = {}
    if isolation != "none":
        submission = submission_folder.resolve()
        gold = [gold_folder.resolve(), *(gold_links(gold_folder) if links is None else links)]
        sides = {"reader": ([submission], gold), "judge": (gold, [submission])}
        for role, (visible, hidden) in sides.items():
            visible = [*visible, *(path.resolve() for path in (made or {}).get(role, ()))]
            readable[role] = readable_paths(map(str, visible), map(str, hidden))
    return Setup(
        isolation=isolation,
        limits=limits,
        readable=readable,
        gold_inodes=gold_inodes,
        opens_files=opens_files,
        needs_numpy=needs_numpy,
        cached_gold=cached_gold,
    )


@dataclass(slots=True)
class WorkerPair:
    """One or two workers and their tasks: `clock` counts the time of the first of `tasks`; the others wait behind it.

    `private` are private copies of databases with the digests of their content, by instance id. `is_full`: its workers ended before the
    remaining tasks, mostly because of the memory they kept. `is_gone`: they died or sent something malformed. `has_failed`: a bug of
    evalsuite was sent in place of a result. `n_official`: the number of checks of the first task with a known official verdict. `pace`:
    the seconds that each result of the last message of tasks took so far.
    """

    workers: dict[str, Worker]
    tasks: deque[Task] = field(default_factory=deque)
    clock: Clock = field(default_factory=Clock)
    n_done: int = 0
    private: dict[str, tuple[IO[bytes], dict[str, str]]] = field(default_factory=dict)
    features: list[str] = field(default_factory=list)
    is_full: bool = False
    is_gone: bool = False
    has_failed: bool = False
    n_official: int = 0
    pace: float = 0.0
    _n_reading: int = 0
    _n_sent: int = 0
    _sent: float = 0.0
    _is_deaf: bool = False

    @property
    def has_ended(self) -> bool:
        """Whether a worker has ended, or sent something malformed, as far as their messages show."""
        return self.is_full or self.is_gone

    @property
    def alive(self) -> bool:
        """Whether every worker of this pair runs and can take answers."""
        return not self.has_ended and all(worker.alive for worker in self.workers.values())

    @property
    def judge(self) -> Worker:
        """The worker that sends results."""
        return self.workers.get("judge") or self.workers["fused"]

    def await_ready(self) -> None:
        """Wait until every worker has entered its sandbox. Raises `EvalsuiteError` if one died before."""
        starting = [worker for worker in self.workers.values() if not worker.ready]
        for worker in starting:
            self.features = await_ready(worker)
        if starting:
            self.clock = Clock(lambda: [worker.pid for worker in self.workers.values()], stops_wait=True)

    def take(self, tasks: Sequence[Task], order: str) -> None:
        """Send tasks to both stages. A worker that cannot receive them ended earlier, for another reason than these tasks."""
        self.tasks.extend(tasks)
        self.stage()
        self._n_reading = 0
        requests = [read_request(task) for task in tasks if opens_files(task)]
        with_files = [
            replace(request, private=COPY, digests=copied[1]) if (copied := self.private.get(request.instance_id)) else request
            for request in requests
        ]
        try:
            self.order(self.judge, pack_call(_JUDGE if "judge" in self.workers else _SCORE, order, pack_tasks(tasks)))
            if (reader := self.workers.get("reader")) is not None and with_files:
                self.order(reader, pack_call(_READ, with_files))
                for copy, _ in self.private.values():
                    socket.send_fds(reader.control, [COPY.encode()], [copy.fileno()])
        except OSError:
            self.is_full = self._is_deaf = True
        # The clock starts only now: time that this process waits while sending is not the tasks'.
        self.clock.start()
        self.pace, self._n_sent, self._sent = 0.0, len(tasks), time.monotonic()

    def order(self, worker: Worker, message: bytes) -> None:
        """Send a request to one worker of this pair."""
        worker.control.settimeout(_ORDER_SECONDS)
        send(worker.control, message)
        worker.control.setblocking(False)

    def receive_results(self) -> list[Result]:
        """Return new results, in the order of the tasks; `tasks` keeps the rest."""
        try:
            frames = self.judge.receive()
        except (ClosedError, OSError, ValueError):
            self.is_gone = True
            return []
        results = []
        for frame in frames:
            if frame == FULL:
                self.is_full = True
            elif frame == OFFICIAL:
                self.n_official += 1
                self.is_gone |= not self.tasks or self.n_official > len(self.tasks[0].instance.checks)
            elif frame[:1] == DATA and (result := self._result(frame[1:])) is not None:
                results.append(result)
            elif frame != END:
                self.is_gone, self.has_failed = True, frame[:1] == FAULT and b'"SCORER_ERROR"' in frame
                break
        if results:
            self.pace = (time.monotonic() - self._sent) / (self._n_sent - len(self.tasks))
        return results

    def _result(self, frame: bytes) -> Result | None:
        """Remove the first task and return its result; None if the frame is malformed."""
        result = result_of_worker(frame, self.tasks[0].instance.instance_id) if self.tasks else None
        if result is None:
            return None
        if (copied := self.private.get(result.instance_id)) is not None:
            result = replace(result, digests={**result.digests, **copied[1]})
        self.pop_task()
        return result

    def pop_task(self) -> Task:
        """Remove and return the first task; the next one's time begins."""
        task = self.tasks.popleft()
        self.n_done, self.n_official = self.n_done + 1, 0
        self._n_reading -= opens_files(task)
        self.clock.start()
        if (copy := self.private.pop(task.instance.instance_id, None)) is not None:
            copy[0].close()
        return task

    def stage(self) -> str:
        """The stage of the first task as far as its reader reports: `read` or `compared`."""
        if (reader := self.workers.get("reader")) is not None:
            with contextlib.suppress(ClosedError, OSError, ValueError):
                self._n_reading += sum(frame != END for frame in reader.receive())
        return "read" if self.tasks and opens_files(self.tasks[0]) and self._n_reading <= 0 else "compared"

    def was_killed(self) -> bool:
        """Return whether the operating system killed a worker of this pair, or none takes an order.

        The current task is then not the cause. A worker that finds the other one gone ends with 0, so a nonzero status shows which ended
        first.
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

    @property
    def status(self) -> int:
        """The exit status of its workers, of the judge before the reader; 0 for workers that ended because the other one did, or run."""
        known = [OWN_ERROR if self.has_failed else 0, self.judge.status, *(worker.status for worker in self.workers.values())]
        return next(filter(None, known), 0)

    def kill(self) -> None:
        """End all workers of this pair and remove their private copies."""
        for copy, _ in self.private.values():
            copy.close()
        self.private = {}
        for worker in self.workers.values():
            worker.kill()


def open_pair(
    setup: Setup, fork_server: ForkServer, judges: ForkServer | None = None, idle_readers: list[IdleWorker] | None = None
) -> WorkerPair:
    """Start a worker pair; call `await_ready` before the first task.

    `judges` forks the judge if gold was read ahead. A reader of `idle_readers` that may read what this pair's reads becomes its reader.
    """
    pair, judging = WorkerPair(workers={}), judges if judges is not None and judges.alive else fork_server
    try:
        if setup.isolation == "none":
            pair.workers["fused"] = fork_server.fork(sandboxed=False)
        elif setup.opens_files:
            idle = idle_readers.pop() if idle_readers else None
            fits = idle is not None and not setup.needs_numpy and list(idle.readable) == list(setup.readable["reader"])
            if idle is not None and fits and idle.worker.alive:
                pair.workers["reader"], right = idle.worker, idle.peer
            else:
                if idle is not None:
                    idle.close()
                left, right = socket.socketpair()
                with left:
                    pair.workers["reader"] = fork_server.fork(left)
            with right:
                pair.workers["judge"] = judging.fork(right)
        else:
            pair.workers["judge"] = judging.fork()
        for role, worker in pair.workers.items():
            if not worker.ready:
                send(worker.control, setup.to_bytes(role))
            if role != "judge":
                send(worker.control, pack_call(_SET_INODES, setup.gold_inodes))
    except OSError as error:
        pair.kill()
        raise start_error(error) from None
    return pair


def seconds_of(pair: WorkerPair, sizes: Mapping[str, int]) -> float:
    """Return the seconds that a pair's first task may take."""
    if not pair.tasks:
        return math.inf
    task = pair.tasks[0]
    # A fused worker has one stage.
    with_gold_query = bool(task.databases) and ("fused" in pair.workers or pair.stage() == "compared")
    return answer_seconds(task.limits, sizes.get(task.instance.instance_id, 0), with_gold_query=with_gold_query)


def lose_first(pair: WorkerPair, over: Verdict, *, by_system: bool = False) -> Result:
    """Remove the first task of a pair that is out of time or dead, and return its result.

    That is `timeout` or `crashed`, or without a score if the task was not the cause.
    """
    stage, seconds = pair.stage(), pair.clock.seconds_used
    digests = pair.private.get(pair.tasks[0].instance.instance_id, (None, {}))[1]
    task = pair.pop_task()
    if over == "delayed":
        result = unjudged_result(task, delayed_fault(f"the answer was being {stage}", task.limits["seconds"]), seconds=seconds)
    elif over == "late":
        detail = f"the answer was being {stage} when its {task.limits['seconds']:g} s were over (limit seconds)"
        result = fault_result(task, Fault(code="TIMEOUT", detail=detail), status="timeout", seconds=seconds)
    elif by_system:
        result = unjudged_result(
            task, killed_fault(f"the worker by which the answer was being {stage}, twice, then alone"), seconds=seconds
        )
    else:
        # A judge that lost its reader ends with 0; one worker for both stages does not show which it was in.
        had_read = not opens_files(task) or ("judge" in pair.workers and bool(pair.judge.status))
        by_scorer = had_read and stage == "compared" and pair.judge.status is not None
        fault = fault_of_end(task, pair.status, by_scorer=by_scorer, stage=stage)
        result = fault_result(task, fault, status="crashed", seconds=seconds)
    return replace(result, digests=digests)


def pairs_worth(tasks: Sequence[Task], sizes: Mapping[str, int]) -> int:
    """Return how many pairs are worth their opening for these tasks; `sizes` are those of answers that are not small."""
    shares = [
        1.0 if task.instance.instance_id in sizes else max(1 / _MEANWHILE.get(check.scorer, 1) for check in task.instance.checks)
        for task in tasks
    ]
    return math.ceil(sum(shares))


# Tasks per message: enough to amortise it, few enough that all pairs end together.
_MOST_TASKS, _MOST_BYTES, _BATCHES_A_PAIR = 256, 1 << 18, 4
# Longest time that the parent lets results collect, and the part of a pair's remaining work in which it does: then a block of them is read
# at once, and no pair waits for tasks. A worker sends each result when it is known, so a death costs none of them.
_COLLECT_SECONDS, _COLLECT_SHARE = 0.01, 0.25
# Small answers that a pair scores while another one is opened, by scorer; any other answer is worth a pair of its own.
_MEANWHILE = {"string_match": 64, "number_match": 64, "table_match": 8}
# Worker pairs in a row that may die before their first task; then no more are started.
_STARTS = 5
# Answers up to this size count as equal: no size is kept for a hundred thousand texts.
_SMALL = 1 << 12


class Pool:
    """Score tasks in worker processes: `for result in Pool(...).results(tasks)`, in order of completion.

    `order` is the order of the judges, `budget` what the whole run may take (None: the limits of its tasks, from the first one on), `links`
    are the targets of links in gold, if known.
    """

    def __init__(
        self,
        *,
        jobs: int,
        isolation: str,
        gold_inodes: frozenset[tuple[int, int]],
        open_one: Callable[[Setup, ForkServer], WorkerPair] = open_pair,
        order: str = JUDGE,
        fork_server: ForkServer | None = None,
        budget: Budget | None = None,
        links: Sequence[Path] | None = None,
        cached_gold: bytes = b"",
    ) -> None:
        self.jobs, self.isolation, self.gold_inodes = jobs, isolation, gold_inodes
        self._built: Sequence[str] = ()
        self._open_one, self._order, self._fork_server, self._budget = open_one, order, fork_server, budget
        self._owns_fork_server, self._links, self._cached_gold = fork_server is None, links, cached_gold
        self._pairs: list[WorkerPair] = []
        self._opened: list[WorkerPair] = []
        self._again: deque[tuple[Task, str]] = deque()
        self._setup: Setup | None = None

    @property
    def features(self) -> Sequence[str]:
        """The sandbox features of each worker; known before one starts, so that a finished resumed run reports them too."""
        return self._built or (expected_features() if self.isolation != "none" else ())

    def results(self, tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield one result per task as soon as it is known."""
        queued: list[Task] = []
        programs: list[Task] = []
        early_results: list[Result] = []
        for task in tasks:
            early = skip_unscorable(task)
            if early is not None:
                early_results.append(early)
            elif not opens_files(task) and any(map(asks_programs, task.instance.checks)):
                programs.append(task)
            else:
                queued.append(task)
        if queued or programs:
            budget = self._budget = self._budget or Budget((queued or programs)[0].limits)
            try:
                if programs:
                    yield from self._program_results(programs, budget)
                if queued:
                    yield from self._pair_results(queued, budget) if can_fork() else self._without_forks(queued, budget)
            finally:
                self.close()
        # Last: a caller that stops at the first failure should get a real answer first, not a missing one.
        yield from early_results

    def _program_results(self, tasks: Sequence[Task], budget: Budget) -> Iterator[Result]:
        """Yield the results of answers that are programs. Each runs in its own program sandbox and clock; a thread here waits for it.

        Not in a worker pair: inside a worker's sandbox no program sandbox can be built, and a worker without one would add no protection.
        This process only parses such an answer with one `json.loads` of at most `answer_bytes` and writes it to a pipe. There is one thread
        more than jobs, because much of a short program's time is the start of its interpreter. An answer that this machine did not let
        finish is tried once more after the others, alone.
        """
        from concurrent.futures import ThreadPoolExecutor, as_completed

        from evalsuite.runs.task_execution import score_task

        threads, retries = ThreadPoolExecutor(self.jobs + 1, thread_name_prefix="programs"), list[tuple[Task, Result]]()
        try:
            under_way = {threads.submit(copy_context().run, self._score_here, task, budget): task for task in tasks}
            for done in as_completed(under_way):
                result = done.result()
                # LIMIT of an answer is a 0; this one is the machine's.
                if result.status == "unscored" and result.fault == "LIMIT":
                    retries.append((under_way[done], result))
                else:
                    yield result
        finally:
            # Closing the iterator waits for the running sandboxes, and no other.
            threads.shutdown(wait=True, cancel_futures=True)
        for task, result in retries:
            yield score_task(task, self.gold_inodes, self._order) if budget.seconds else result

    def _without_forks(self, tasks: Sequence[Task], budget: Budget) -> Iterator[Result]:
        """Yield the results on a system without fork: from new interpreters, or from this process without sandbox and clocks."""
        if self.isolation == "none":
            yield from (self._score_here(task, budget) for task in tasks)
            return
        from evalsuite.runs.subprocess_workers import subprocess_results

        yield from subprocess_results(tasks, jobs=self.jobs, gold_inodes=self.gold_inodes, order=self._order, budget=budget)

    def _score_here(self, task: Task, budget: Budget) -> Result:
        from evalsuite.runs.task_execution import score_task

        return score_task(task, self.gold_inodes, self._order) if budget.spend(size_of(task)) else out_of_budget(task, budget)

    def close(self) -> None:
        """Kill every worker, also if not all results were taken."""
        self._end_pairs()
        if self._fork_server is not None and self._owns_fork_server:
            self._fork_server.close()
            self._fork_server = None

    def _end_pairs(self) -> None:
        self._pairs = []
        while self._opened:
            # Only then off the list: an interruption in between kills it again.
            self._opened[-1].kill()
            self._opened.pop()

    def _make_ready(self, tasks: Sequence[Task]) -> None:
        """Create what all worker pairs share: a fork server, and the set-up of each worker."""
        self._hostile, self._modules = tasks[0].submission_folder, modules_of(tasks)
        with signals_blocked():
            self._fork_server = self._fork_server or ForkServer(self._hostile, modules=WORKER_MODULES)
        self._fork_server.load(self._modules)
        executed = {task.executed.parent for task in tasks if task.executed is not None}
        computed = {check.computed for task in tasks for check in task.instance.checks if check.computed is not None}
        queried = {Path(place).parent for task in tasks for place in task.databases}
        self._setup = set_up(
            isolation=self.isolation,
            limits=tasks[0].limits,
            submission_folder=tasks[0].submission_folder,
            gold_folder=tasks[0].gold_folder,
            gold_inodes=self.gold_inodes,
            made={"reader": executed | queried, "judge": computed | queried},
            opens_files=any(map(opens_files, tasks)),
            needs_numpy="numpy" in self._modules,
            links=self._links,
            cached_gold=self._cached_gold,
        )

    def _pair_results(self, tasks: Sequence[Task], budget: Budget) -> Iterator[Result]:
        """Yield the results of all tasks: first in parallel, then, one by one, of those to be tried again."""
        self._make_ready(tasks)
        yield from self._run_pairs(tasks, budget, self._order, is_first=True)
        while self._again:
            self._end_pairs()
            task, order = self._again.popleft()
            yield from self._run_pairs([task], budget, order, is_first=False)

    def _run_pairs(self, tasks: Sequence[Task], budget: Budget, order: str, *, is_first: bool) -> Iterator[Result]:
        """Event loop: dispatch tasks, collect results, kill workers that exceed their limit."""
        sizes = {task.instance.instance_id: size for task in tasks if (size := size_of(task)) > _SMALL}
        waiting = deque(sorted(tasks, key=lambda task: sizes.get(task.instance.instance_id, 0), reverse=True))
        self._pairs = [self._open() for _ in range(min(self.jobs, pairs_worth(tasks, sizes)))]
        while waiting or self._busy():
            if not budget.seconds:
                left = [*(task for pair in self._pairs for task in pair.tasks), *waiting]
                yield from [out_of_budget(task, budget) for task in left]
                return
            for pair in [self._usable(pair, waiting) for pair in self._pairs if waiting and not pair.tasks]:
                yield from self._dispatch(pair, self._next_tasks(waiting, sizes), budget, order, is_first=is_first)
            if not (busy := self._busy()):
                continue
            with_results = _wait(busy, budget.seconds, sizes)
            for pair in with_results:
                yield from pair.receive_results()
            for pair in busy:
                over = "" if pair in with_results else pair.clock.check(seconds_of(pair, sizes))
                if over or pair.has_ended:
                    yield from self._lose_task(pair, over, order, is_first=is_first)
                    self._replace(pair, waiting)

    def _busy(self) -> list[WorkerPair]:
        return [pair for pair in self._pairs if pair.tasks]

    def _dispatch(self, pair: WorkerPair, tasks: Iterable[Task], budget: Budget, order: str, *, is_first: bool) -> Iterator[Result]:
        """Send tasks to a pair, counted against the budget on their first try; yield the results of those that cannot be sent."""
        ready: list[Task] = []
        for task in tasks:
            if is_first and not budget.spend(size_of(task)):
                yield out_of_budget(task, budget)
            elif (result := self._copy_database(task, pair)) is not None:
                yield result
            else:
                ready.append(task)
        if ready:
            pair.take(ready, order)

    def _lose_task(self, pair: WorkerPair, over: Verdict, order: str, *, is_first: bool) -> Iterator[Result]:
        """Remove the first task of a pair that is late or dead: yield its result, or put it among those to be tried again."""
        # If a pair is full before it did anything, it can do nothing with the first task.
        if not (pair.tasks and (over or pair.is_gone or (pair.is_full and not pair.n_done))):
            return
        by_system = not over and pair.was_killed()
        if by_system and is_first:
            self._again.append((pair.pop_task(), order))
        elif over == "late" and pair.n_official and order == JUDGE:
            # The strict verdict is late; the official one must not be lost with it.
            self._again.append((pair.pop_task(), JUDGE_OFFICIAL))
        else:
            yield lose_first(pair, over, by_system=by_system)

    def _open(self) -> WorkerPair:
        """Start a worker pair and wait for it; no interruption can occur before it is on the list of those to kill."""
        assert self._setup is not None
        assert self._fork_server is not None
        with signals_blocked():
            try:
                pair = self._open_one(self._setup, self._fork_server)
            except EvalsuiteError:
                # The operating system may have killed the fork server, and with it all its workers.
                if self._owns_fork_server:
                    self._fork_server.close()
                self._fork_server, self._owns_fork_server = ForkServer(self._hostile, modules=WORKER_MODULES), True
                self._fork_server.load(self._modules)
                pair = self._open_one(self._setup, self._fork_server)
            self._opened.append(pair)
        return pair

    def _usable(self, pair: WorkerPair, waiting: deque[Task]) -> WorkerPair:
        """Return the pair, or a new one if a worker died after its last result, which new tasks did not cause."""
        for is_last in (False,) * _STARTS + (True,):
            try:
                pair.await_ready()
                self._built = pair.features
                if pair.alive:
                    break
            except EvalsuiteError:
                if is_last:
                    raise
            pair = self._replace(pair, waiting)
        return pair

    def _replace(self, pair: WorkerPair, waiting: deque[Task]) -> WorkerPair:
        """Replace a pair that ends; its remaining tasks come first now."""
        waiting.extendleft(reversed(pair.tasks))
        pair.tasks.clear()
        pair.kill()
        self._opened.remove(pair)
        if waiting:
            self._pairs[self._pairs.index(pair)] = pair = self._open()
        return pair

    def _next_tasks(self, waiting: deque[Task], sizes: Mapping[str, int]) -> Iterator[Task]:
        """Yield the next tasks for a pair: a large one alone, small ones in a number that lets all pairs end together."""
        most = min(_MOST_TASKS, -(-len(waiting) // (_BATCHES_A_PAIR * len(self._pairs))))
        n_bytes = 0
        for at in range(most):
            if not waiting:
                return
            size = sizes.get(waiting[0].instance.instance_id, 0) or (_SMALL if opens_files(waiting[0]) else _MOST_BYTES // _MOST_TASKS)
            if at and n_bytes + size > _MOST_BYTES:
                return
            n_bytes += size
            yield waiting.popleft()

    def _copy_database(self, task: Task, pair: WorkerPair) -> Result | None:
        """Copy a database for the reader, which then writes nothing; return the result of a task whose path is at fault."""
        if not opens_files(task) or self.isolation == "none" or not wants_database(task):
            return None
        from evalsuite.readers.duckdb_tables import unnamed_copy

        request, started = read_request(task), time.monotonic()
        files = files_of(request, self.gold_inodes)
        try:
            # Unchanged: a name may be relative to the folder's root.
            with files.open(request.value if isinstance(request.value, str) else str(request.value)) as source:
                pair.private[task.instance.instance_id] = unnamed_copy(source, int(request.limits["file_bytes"])), files.digests()
        except FaultError as error:
            return replace(fault_result(task, error.fault, seconds=time.monotonic() - started), digests=files.digests())
        return None


def _wait(pairs: Sequence[WorkerPair], seconds: float, sizes: Mapping[str, int]) -> list[WorkerPair]:
    """Return the pairs whose judge has sent something or is gone; empty if none has in `seconds`, or until the first task is late."""
    # 0 for a pair that has sent nothing yet.
    time.sleep(min(_COLLECT_SECONDS, *(pair.pace * len(pair.tasks) * _COLLECT_SHARE for pair in pairs)))
    seconds = min([seconds, *(pair.clock.wait(seconds_of(pair, sizes)) for pair in pairs)])
    poll, by_number = select.poll(), {pair.judge.control.fileno(): pair for pair in pairs}
    for number in by_number:
        poll.register(number, select.POLLIN)
    # Available data is read even if all time is over: the parent may have been busy.
    return [by_number[number] for number, _ in poll.poll(seconds * 1000)]
