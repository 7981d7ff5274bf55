"""The executor of this machine: lanes side by side, the largest answers first; a death or a time-out costs one answer.

`Pool.results` parts the tasks: what nobody needs to look at is settled at once, programs go into jails, all else into lanes. The one
loop is `Pool._in_lanes`. Each round it gives every idle lane some tasks (`_some`), after it saw that the lane still stands (`_able`); waits
until a judge says something or the first deadline is over (`_wait`); yields what was heard; and puts a new lane in the place of each
that died, is full, or is late (`_replace`). Of a lane that ends so, the task that it was at is lost (`_lost`): TIMEOUT or WORKER_DIED.
Those behind it go back to the front of `waiting`, for they have no part in that. A task counts against the run's `Budget` when it goes in;
when the time of the run is over, all that is left is lost to the budget. Whatever ends the loop, `close` kills every worker.
"""

import select
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from evalsuite.errors import FaultError
from evalsuite.metrics import runs_programs
from evalsuite.readers.limits import BIG_BYTES
from evalsuite.scorers import SCORERS
from evalsuite.types import Check, Fault, Result, Task
from evalsuite.walls.worker_walls import can_fork, expected_walls
from evalsuite.workers.budget import Budget, answer_seconds, size_of
from evalsuite.workers.combine import faulty
from evalsuite.workers.lane import Lane, Setup, open_lane, set_up
from evalsuite.workers.requests import JUDGE, files_of, opens_files, read_request, settle_early, wants_database
from evalsuite.workers.start import Zygote, now, undisturbed

# What goes into a lane at once: enough that the way there costs little, so little that the lanes end together.
_MOST_TASKS, _MOST_BYTES, _BATCHES_A_LANE = 64, 1 << 18, 4
# Answers of at most so many bytes are all alike: of a hundred thousand texts no size is kept.
_SMALL = _MOST_BYTES // _MOST_TASKS

# What compares the answers that a scorer reads in some form.
_OF_TABLES = ("evalsuite.tables.database_rules", "evalsuite.tables.margins")
_OF_FORMS = {"table": _OF_TABLES, "tables": _OF_TABLES, "database": (*_OF_TABLES, "duckdb")}


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
            elif not opens_files(task) and any(map(_runs_programs, task.instance.checks)):
                programs.append(task)
            else:
                queued.append(task)
        if queued or programs:
            budget = self._budget = self._budget or Budget((queued or programs)[0].limits)
            try:
                yield from self._in_jails(programs, budget)
                yield from self._in_lanes(queued, budget) if can_fork() else self._without_forks(queued, budget)
            finally:
                self.close()
        # Last, so that whoever stops at the first failure is shown an answer and not that one is missing.
        yield from settled

    def _in_jails(self, tasks: Sequence[Task], budget: Budget) -> Iterator[Result]:
        """The results of answers that are programs. Each runs in a jail of its own with a clock of its own; a thread here waits for it.

        In no lane: behind a worker's walls no jail can be built, and a worker without walls would be one more process and no wall more.
        What this process itself makes of such an answer is one `json.loads` of a text of at most `answer_bytes`, and bytes for a pipe.
        There is one thread more than jobs, because much of a short program's time is the start of its interpreter.
        """
        if not tasks:
            return
        from concurrent.futures import ThreadPoolExecutor, as_completed

        threads = ThreadPoolExecutor(self.jobs + 1, thread_name_prefix="jails")
        try:
            yield from (done.result() for done in as_completed([threads.submit(self._score_here, task, budget) for task in tasks]))
        finally:
            # Whoever stops taking results waits for the jails that stand, and for no other.
            threads.shutdown(wait=True, cancel_futures=True)

    def _without_forks(self, tasks: Sequence[Task], budget: Budget) -> Iterator[Result]:
        """The results on a system without forks: of interpreters that are started for it, or of this process, without walls and clocks."""
        if self.isolation == "none":
            yield from (self._score_here(task, budget) for task in tasks)
            return
        from evalsuite.workers.spawned import spawned_results

        yield from spawned_results(tasks, jobs=self.jobs, gold_inodes=self.gold_inodes, order=self._order, budget=budget)

    def _score_here(self, task: Task, budget: Budget) -> Result:
        from evalsuite.workers.stages import score_task

        return score_task(task, self.gold_inodes, self._order) if budget.spend(size_of(task)) else budget.lost(task)

    def close(self) -> None:
        """Kill every worker; also where the results were not taken to their end."""
        self._lanes = []
        while self._opened:
            self._opened[-1].kill()
            self._opened.pop()
        if self._zygote is not None and self._owns_zygote:
            self._zygote.close()
            self._zygote = None

    def _make_ready(self, tasks: Sequence[Task]) -> None:
        """Make what all lanes share: a zygote, and what each worker is told."""
        with undisturbed():
            self._zygote = self._zygote or Zygote(tasks[0].submission_folder)
        self._zygote.load(modules_of(tasks))
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

    def _in_lanes(self, tasks: Sequence[Task], budget: Budget) -> Iterator[Result]:
        """The loop: give each idle lane some tasks, hear who has results, end who is late or dead; until nothing is left."""
        if not tasks:
            return
        self._make_ready(tasks)
        sizes = {task.instance.instance_id: size for task in tasks if (size := size_of(task)) > _SMALL}
        waiting = deque(sorted(tasks, key=lambda task: sizes.get(task.instance.instance_id, 0), reverse=True))
        self._lanes = [self._open() for _ in range(min(self.jobs, len(waiting)))]
        while waiting or any(lane.tasks for lane in self._lanes):
            if not budget.seconds:
                yield from [budget.lost(task) for task in (*(task for lane in self._lanes for task in lane.tasks), *waiting)]
                return
            for lane in [self._able(lane, waiting) for lane in self._lanes if waiting and not lane.tasks]:
                ready: list[Task] = []
                for task in self._some(waiting, sizes):
                    if not budget.spend(sizes.get(task.instance.instance_id) or size_of(task)):
                        yield budget.lost(task)
                    elif (faulty_one := self._copied(task, lane)) is not None:
                        yield faulty_one
                    else:
                        ready.append(task)
                if ready:
                    lane.take(ready, self._order)
            if not (busy := [lane for lane in self._lanes if lane.tasks]):
                continue
            heard = _wait(busy, min([now() + budget.seconds, *(_deadline(lane, sizes) for lane in busy)]))
            for lane in heard:
                yield from lane.hear()
            for lane in busy:
                is_late = lane not in heard and now() > _deadline(lane, sizes)
                if is_late or lane.is_gone:
                    if lane.tasks:
                        yield _lost(lane, is_late=is_late)
                    self._replace(lane, waiting)
                elif lane.is_full:
                    # A lane that is full before it did anything can do nothing with the first task.
                    if lane.tasks and not lane.n_done:
                        yield _lost(lane, is_late=False)
                    self._replace(lane, waiting)

    def _open(self) -> Lane:
        """A new lane that stands ready; no interruption comes between its start and the list of those to kill."""
        assert self._setup is not None
        assert self._zygote is not None
        with undisturbed():
            lane = self._open_one(self._setup, self._zygote)
            self._opened.append(lane)
        return lane

    def _able(self, lane: Lane, waiting: deque[Task]) -> Lane:
        """The lane, or a new one in its place where a worker of it died after its last result: what comes has no part in that."""
        if not lane.is_ready:
            lane.await_ready()
            self._built = lane.walls
        return lane if lane.alive else self._able(self._replace(lane, waiting), waiting)

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


def modules_of(tasks: Sequence[Task]) -> list[str]:
    """What every worker of every lane would import for itself to score these tasks, all of which somebody has to look at."""
    modules = scorer_modules({check.scorer for task in tasks for check in task.instance.checks})
    if any(opens_files(task) and wants_database(task) for task in tasks):
        modules |= {"duckdb", "numpy"}
    elif any(opens_files(task) and size_of(task) >= BIG_BYTES for task in tasks):
        modules.add("numpy")
    return sorted(modules)


def scorer_modules(names: Iterable[str]) -> set[str]:
    """What these scorers import at the latest when they are first called, those that no plugin brings."""
    scorers = [SCORERS.load(name) for name in names if name in SCORERS.bundled]
    return {scorer.function.__module__ for scorer in scorers}.union(*(_OF_FORMS.get(scorer.marker.reads, ()) for scorer in scorers))


def _runs_programs(check: Check) -> bool:
    """Whether a check asks for programs, also through a scorer that the suite makes of metrics.

    A tree that does is parsed in a worker all the same, where it has no jail: NO_JAIL.
    """
    if SCORERS.load(check.scorer).marker.reads == "tree":
        return False
    return runs_programs([check.scorer, check.parameters, SCORERS.metrics.get(check.scorer, {})])


def _wait(lanes: Sequence[Lane], until: float) -> list[Lane]:
    """The lanes whose judge says something or is gone, none where nobody does until then."""
    poll, by_number = select.poll(), {lane.judge.control.fileno(): lane for lane in lanes}
    for number in by_number:
        poll.register(number, select.POLLIN)
    # What lies ready is seen even where all time is over: the parent may have been busy elsewhere.
    return [by_number[number] for number, _ in poll.poll(max(0.0, until - now()) * 1000)]


def _deadline(lane: Lane, sizes: Mapping[str, int]) -> float:
    """When the time of a lane's first task is over."""
    task = lane.tasks[0]
    beside_gold = bool(task.databases) and lane.stage() == "compared"
    return lane.started + answer_seconds(task.limits, sizes.get(task.instance.instance_id, 0), beside_gold=beside_gold)


def _lost(lane: Lane, *, is_late: bool) -> Result:
    """The result of the first task of a lane that is dead or out of time, which leaves it."""
    stage, seconds = lane.stage(), now() - lane.started
    digests = lane.private.get(lane.tasks[0].instance.instance_id, (None, {}))[1]
    task = lane.let_go()
    if is_late:
        fault = Fault(
            code="TIMEOUT", detail=f"the answer was being {stage} when its {task.limits['seconds']:g} s were over (limit seconds)"
        )
    else:
        fault = Fault(code="WORKER_DIED", detail=f"the worker died while the answer was being {stage}")
    return replace(faulty(task, fault, status="timeout" if is_late else "crashed", seconds=seconds), digests=digests)
