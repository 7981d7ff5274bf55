"""The executor: lanes side by side, largest task first, a spare standing ready; a death or a time-out costs one instance."""

import contextlib
import json
import os
import selectors
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace

from evalsuite.errors import FaultError
from evalsuite.metrics.programs import runs_programs
from evalsuite.readers.duckdb_connections import unnamed_copy
from evalsuite.types import Fault, Result, Task
from evalsuite.walls.worker_walls import expected_walls
from evalsuite.workers.combine import faulty
from evalsuite.workers.lane import Lane, Setup, open_lane, set_up
from evalsuite.workers.requests import COPY, asks_gold, files_of, read_request, settle_early, table_names
from evalsuite.workers.stages import JUDGE, score_task
from evalsuite.workers.start import Worker, now, undisturbed

# Reading and comparing a file may take this much longer per byte than the fixed limit of an instance.
_BYTES_PER_SECOND = 4_000_000
_TEXT_ONLY = frozenset({"text", "number"})


class Pool:
    """Scores tasks in worker processes: `for result in Pool(...).results(tasks)`, in order of completion."""

    def __init__(
        self,
        *,
        jobs: int,
        isolation: str,
        gold_inodes: frozenset[tuple[int, int]],
        open_one: Callable[[Setup], Lane] = open_lane,
        order: str = JUDGE,
    ) -> None:
        self.jobs, self.isolation, self.gold_inodes = jobs, isolation, gold_inodes
        self._built: Sequence[str] = ()
        self._open_one, self._order = open_one, order
        self._lanes: list[Lane] = []
        self._spare: Lane | None = None
        self._opened: list[Lane] = []
        self._setup: Setup | None = None

    @property
    def walls(self) -> Sequence[str]:
        """The walls round each worker; known before one is started, so that a resumed run with nothing left to read tells the same."""
        return self._built or (expected_walls() if self.isolation != "none" else ())

    def results(self, tasks: Sequence[Task]) -> Iterator[Result]:
        """One result per task as soon as it is known. Text answers are judged here; files only in workers."""
        queued: list[Task] = []
        programs: list[Task] = []
        for task in tasks:
            early = settle_early(task)
            if early is not None:
                yield early
            elif any(runs_programs([check.scorer, check.parameters]) for check in task.instance.checks) and self._stays_here(task):
                programs.append(task)
            elif self._stays_here(task):
                yield score_task(task, self.gold_inodes, self._order)
            else:
                queued.append(task)
        if programs:
            # Each runs in a jail of its own with a clock of its own; here is only the waiting.
            with ThreadPoolExecutor(self.jobs) as threads:
                judged = [threads.submit(score_task, task, self.gold_inodes, self._order) for task in programs]
                yield from (one.result() for one in as_completed(judged))
        if not queued:
            return
        self._setup = self._make_setup(queued)
        try:
            yield from self._in_lanes(deque(sorted(queued, key=size_of, reverse=True)))
        finally:
            self.close()

    def close(self) -> None:
        """Kill every worker; also where the results were not taken to their end."""
        self._lanes, self._spare = [], None
        while self._opened:
            self._opened[-1].kill()
            self._opened.pop()

    def _open(self) -> Lane:
        """A new lane; no interruption comes between its start and the list of those to kill."""
        assert self._setup is not None
        with undisturbed():
            lane = self._open_one(self._setup)
            self._opened.append(lane)
        return lane

    def _stays_here(self, task: Task) -> bool:
        """Whether a task opens no file: bundled text scorers on a capped text."""
        request = read_request(task, table_names=None)
        return set(request.wanted) <= _TEXT_ONLY and task.answer is not None and task.answer.answer_type == "answer"

    def _make_setup(self, tasks: Sequence[Task]) -> Setup:
        task = tasks[0]
        executed = {task.executed.parent for task in tasks if task.executed is not None}
        computed = {check.computed for task in tasks for check in task.instance.checks if check.computed is not None}
        return set_up(
            isolation=self.isolation,
            limits=task.limits,
            submission_folder=task.submission_folder,
            gold_folder=task.gold_folder,
            gold_inodes=self.gold_inodes,
            made={"reader": executed, "judge": computed},
        )

    def _in_lanes(self, queue: deque[Task]) -> Iterator[Result]:
        assert self._setup is not None
        selector = selectors.DefaultSelector()
        self._lanes = [self._open() for _ in range(min(self.jobs, len(queue)))]
        for lane in list(self._lanes):
            yield from self._feed(lane, queue, selector, fresh=True)
        if self.isolation != "none" and queue:
            self._spare = self._open()
        while any(lane.task is not None for lane in self._lanes):
            waited = max(0.0, min(lane.deadline for lane in self._lanes if lane.task is not None) - now())
            for key, _ in selector.select(waited):
                lane, worker = key.data
                if lane not in self._lanes:
                    continue
                if lane.task is None:
                    # Nothing is left to do in this lane: what its worker still says, or that it died, changes nothing.
                    selector.unregister(key.fileobj)
                else:
                    yield from self._hear(lane, worker, queue, selector)
            for lane in self._expired(selector):
                yield from self._lose(lane, queue, selector, timeout=True)

    def _expired(self, selector: selectors.BaseSelector) -> list[Lane]:
        """The lanes out of time; one whose result lies ready while the parent was busy elsewhere is not."""
        late = [lane for lane in self._lanes if lane.task is not None and now() > lane.deadline]
        ready = [key.data[1] for key, _ in selector.select(0)] if late else []
        return [lane for lane in late if not any(lane.judge is worker for worker in ready)]

    def _hear(self, lane: Lane, worker: Worker, queue: deque[Task], selector: selectors.BaseSelector) -> Iterator[Result]:
        """Act on one message of a worker: table names, `read`, a result, or its death."""
        frame = lane.answer(worker)
        assert lane.task is not None
        if frame is None:
            yield from self._lose(lane, queue, selector, timeout=False)
        elif worker is not lane.judge:
            lane.reading = False
        elif lane.asking:
            lane.asking = False
            yield from self._read(lane, tuple(json.loads(frame)), queue, selector)
            yield from self._feed(lane, queue, selector)
        else:
            result = Result(**json.loads(frame))
            yield replace(result, seconds=now() - lane.started, digests={**result.digests, **lane.digests})
            lane.clear()
            yield from self._feed(lane, queue, selector)

    def _feed(self, lane: Lane, queue: deque[Task], selector: selectors.BaseSelector, *, fresh: bool = False) -> Iterator[Result]:
        """Give a lane its next task; a faulty path is settled here and the next one taken.

        This loop and no recursion goes from answer to answer: a thousand bad paths in a row must not nest.
        """
        if fresh:
            lane.await_ready()
            self._built = lane.walls
            for worker in lane.workers.values():
                selector.register(worker.control, selectors.EVENT_READ, (lane, worker))
        while queue and lane.task is None:
            walled = self.isolation != "none"
            if not lane.alive or (walled and not fresh and lane.is_bloated(queue[0].limits)):
                # A worker died after its last result, or kept much of its memory: the task that comes now has no part in either.
                yield from self._replace(lane, queue, selector)
                return
            task = queue.popleft()
            lane.task, lane.started = task, now()
            lane.deadline = lane.started + task.limits["seconds"] + size_of(task) / _BYTES_PER_SECOND
            lane.asking = "fused" not in lane.workers and asks_gold(task)
            try:
                if "fused" in lane.workers:
                    lane.order("fused", (self._order, task))
                elif lane.asking:
                    lane.order("judge", ("names", task))
            except OSError:
                yield from self._lose(lane, queue, selector, timeout=False)
                return
            if "fused" not in lane.workers and not lane.asking:
                yield from self._read(lane, table_names(task), queue, selector)
            if lane not in self._lanes:
                return

    def _read(self, lane: Lane, names: tuple[str, ...], queue: deque[Task], selector: selectors.BaseSelector) -> Iterator[Result]:
        """Send a task into both stages, or settle it here where its path is at fault.

        A database is copied first, so that the reader needs to write nothing, and the copy handed over by its descriptor.
        """
        task = lane.task
        assert task is not None
        assert self._setup is not None
        request = read_request(task, table_names=names)
        if "database" in request.wanted:
            files = files_of(request, self.gold_inodes)
            try:
                with files.open(str(request.value)) as source:
                    lane.private = unnamed_copy(source, int(request.limits["file_bytes"]))
                lane.digests = files.digests()
            except FaultError as error:
                yield replace(faulty(task, error.fault, seconds=now() - lane.started), digests=files.digests())
                lane.clear()
                return
            request = replace(request, private=COPY)
        lane.reading = True
        try:
            lane.order("judge", (self._order, task))
            lane.order("reader", request)
            lane.hand_over()
        except OSError:
            yield from self._lose(lane, queue, selector, timeout=False)

    def _lose(self, lane: Lane, queue: deque[Task], selector: selectors.BaseSelector, *, timeout: bool) -> Iterator[Result]:
        """The result of the task in a lane that is dead or out of time; the spare takes its place."""
        task = lane.task
        assert task is not None
        assert self._setup is not None
        seconds = now() - lane.started
        stage = "read" if lane.reading else "compared"
        if timeout:
            fault = Fault(
                code="TIMEOUT", detail=f"the answer was being {stage} when its {task.limits['seconds']:g} s were over (limit seconds)"
            )
        else:
            fault = Fault(code="WORKER_DIED", detail=f"the worker died while the answer was being {stage}")
        lost = faulty(task, fault, status="timeout" if timeout else "crashed", seconds=seconds)
        yield replace(lost, digests=dict(lane.digests))
        yield from self._replace(lane, queue, selector)

    def _replace(self, lane: Lane, queue: deque[Task], selector: selectors.BaseSelector) -> Iterator[Result]:
        """End a lane; where tasks wait, the spare takes its place."""
        for worker in lane.workers.values():
            with contextlib.suppress(KeyError, ValueError):
                selector.unregister(worker.control)
        lane.kill()
        self._opened.remove(lane)
        self._lanes.remove(lane)
        if not queue:
            return
        fresh, self._spare = self._spare or self._open(), None
        self._lanes.append(fresh)
        yield from self._feed(fresh, queue, selector, fresh=True)
        if self.isolation != "none" and queue:
            self._spare = self._open()


def size_of(task: Task) -> int:
    """The bytes of a task's files as far as a look from outside tells; wrong answers here cost time only."""
    if task.answer is None or task.answer.answer_type == "answer":
        return 0
    value = task.answer.value
    total = 0
    for name in [value] if isinstance(value, str) else value:
        with contextlib.suppress(OSError, ValueError):
            total += os.lstat(task.submission_folder / task.instance.instance_id / name).st_size
    return min(total, int(task.limits["file_bytes"]))
