"""The executor of this machine: lanes side by side, the largest answers first; a death or a time-out costs one answer.

`Pool.results` parts the tasks: what nobody needs to look at is settled at once, programs go into jails, all else into lanes. The one
loop is `Pool._in_lanes`. Each round it gives every idle lane some tasks (`_some`), after it saw that the lane still stands (`_able`); waits
until a judge says something or a clock has to be looked at (`_wait`); yields what was heard; and puts a new lane in the place of each
that died, is full, or is late (`_replace`). Of a lane that ends so, the task that it was at is lost (`lost.lost`): TIMEOUT or WORKER_DIED.
Those behind it go back to the front of `waiting`, for they have no part in that. Where the system killed a worker, the task has no part in
it either: it is tried once more when all else is done, alone, and is `unscored` where that happens again. A task counts against the run's
`Budget` when it goes in; when the time of the run is over, all that is left is lost to the budget. Whatever ends the loop, `close` kills
every worker.
"""

import select
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from evalsuite.errors import EvalsuiteError, FaultError
from evalsuite.types import Result, Task
from evalsuite.walls.worker_walls import can_fork, expected_walls
from evalsuite.workers.budget import Budget, size_of
from evalsuite.workers.combine import faulty, out_of_budget
from evalsuite.workers.lane import Lane, Setup, open_lane, set_up
from evalsuite.workers.lost import is_over, lost, seconds_of
from evalsuite.workers.requests import (
    JUDGE,
    JUDGE_OFFICIAL,
    asks_programs,
    files_of,
    modules_of,
    opens_files,
    read_request,
    settle_early,
    wants_database,
)
from evalsuite.workers.start import Zygote, now, undisturbed

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
        open_one: Callable[[Setup, Zygote], Lane] = open_lane,
        order: str = JUDGE,
        zygote: Zygote | None = None,
        budget: Budget | None = None,
        links: Sequence[Path] | None = None,
    ) -> None:
        self.jobs, self.isolation, self.gold_inodes = jobs, isolation, gold_inodes
        self._built: Sequence[str] = ()
        self._open_one, self._order, self._zygote, self._budget = open_one, order, zygote, budget
        self._owns_zygote, self._links = zygote is None, links
        self._lanes: list[Lane] = []
        self._opened: list[Lane] = []
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
            early = settle_early(task)
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

        from evalsuite.workers.stages import score_task

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
        from evalsuite.workers.spawned import spawned_results

        yield from spawned_results(tasks, jobs=self.jobs, gold_inodes=self.gold_inodes, order=self._order, budget=budget)

    def _score_here(self, task: Task, budget: Budget) -> Result:
        from evalsuite.workers.stages import score_task

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
            self._zygote = self._zygote or Zygote(self._hostile)
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

    def _open(self) -> Lane:
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
                self._zygote, self._owns_zygote = Zygote(self._hostile), True
                self._zygote.load(self._modules)
                lane = self._open_one(self._setup, self._zygote)
            self._opened.append(lane)
        return lane

    def _able(self, lane: Lane, waiting: deque[Task]) -> Lane:
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

    def _replace(self, lane: Lane, waiting: deque[Task]) -> Lane:
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

    def _copied(self, task: Task, lane: Lane) -> Result | None:
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


def _wait(lanes: Sequence[Lane], seconds: float) -> list[Lane]:
    """The lanes whose judge says something or is gone, none where nobody does in this time."""
    poll, by_number = select.poll(), {lane.judge.control.fileno(): lane for lane in lanes}
    for number in by_number:
        poll.register(number, select.POLLIN)
    # What lies ready is seen even where all time is over: the parent may have been busy elsewhere.
    return [by_number[number] for number, _ in poll.poll(seconds * 1000)]
