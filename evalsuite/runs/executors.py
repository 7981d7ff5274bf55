"""Executors by name, and the pipeline of a run, in which an executor is one stage.

An executor takes tasks and yields one result per task in order of completion; all give the same results. `local` is the pool of worker
pairs of `worker_pool`; `dask` is `dask_pool`.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from evalsuite.core.dataclasses import dataclass, field
from evalsuite.core.errors import MissingExtraError, UsageError, did_you_mean
from evalsuite.core.import_ref import ImportRef, lazy_pattern
from evalsuite.core.types import Gold, Result, Task
from evalsuite.readers.paths import Inode
from evalsuite.runs.worker_pool import Pool, open_pair
from evalsuite.sandbox.fork_server import ForkServer
from evalsuite.sandbox.limits import Budget
from evalsuite.sandbox.rpc_client import IdleWorker

# name -> (module:function of a Work, one-line summary); a new executor is one file and one line here.
EXECUTORS: dict[str, ImportRef] = {
    "local": ImportRef("evalsuite.runs.executors:local", "worker processes of this machine"),
    "dask": ImportRef("evalsuite.runs.dask_pool:DaskPool", "the workers of a dask cluster, or of one made for the run on this machine"),
}
_ADDRESS = lazy_pattern(r"(?:(?:tcp|tls|ucx|wss?)://)?[^/\s]+:\d{1,5}")

# Score tasks: one result per task, as soon as it is known.
Execute = Callable[[Sequence[Task]], Iterator[Result]]
# Yield the results of some tasks, as soon as they are known, and the tasks that are left to the next stage.
Stage = Callable[[Sequence[Task]], Iterator[Task | Result]]


def stage_of(takes: Callable[[Task], bool], score: Execute) -> Stage:
    """Return the stage that scores the tasks that it `takes`."""

    def stage(tasks: Sequence[Task]) -> Iterator[Task | Result]:
        own = list[Task]()
        for task in tasks:
            if takes(task):
                own.append(task)
            else:
                yield task
        if own:
            yield from score(own)

    return stage


def pipeline(stages: Sequence[Stage], tasks: Sequence[Task]) -> Iterator[Result]:
    """Yield one result per task. Each stage ends before the next one starts; the last one leaves no task."""
    for stage in stages:
        left = list[Task]()
        for item in stage(tasks):
            if isinstance(item, Result):
                yield item
            else:
                left.append(item)
        if not (tasks := left):
            return


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What an executor gets from a run. `scheduler` is the address of a dask scheduler, None to start workers here.

    `gold` comes with its hash, which every machine must confirm. `fork_server` forks the workers of this machine, `judges` those of them
    that compare, if gold was read ahead; `budget` is what the run may take; `links` are the targets of links in gold, if known;
    `cached_gold` is what is known of gold's files, for the cache of a worker that compares; `idle_readers` are workers that have read the
    submission's metadata and can become readers of pairs.
    """

    jobs: int
    isolation: str
    gold_inodes: frozenset[Inode]
    gold: Gold
    scheduler: str | None = None
    fork_server: ForkServer | None = None
    judges: ForkServer | None = None
    budget: Budget | None = None
    links: Sequence[Path] | None = None
    cached_gold: bytes = b""
    idle_readers: list[IdleWorker] = field(default_factory=list)


class Executor(Protocol):
    """Score tasks: n results for n tasks in order of completion. `jobs` is the number of answers scored in parallel."""

    jobs: int

    @property
    def features(self) -> Sequence[str]:
        """The active sandbox features of each worker."""
        ...

    def results(self, tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield one result per task as soon as it is known."""
        ...

    def close(self) -> None:
        """End everything that was started."""
        ...


def open_executor(name: str, work: Work) -> Executor:
    """Return the executor of that name; raises `UsageError` as `check_executor` does."""
    check_executor(name, work.scheduler)
    executor: Executor = EXECUTORS[name].load()(work)
    return executor


def check_executor(name: str, scheduler: str | None) -> None:
    """Raise `UsageError` for an unknown executor, and for a scheduler that is no address or that the executor would not use.

    Without dask, `MissingExtraError` is raised before anything is written.
    """
    if name not in EXECUTORS:
        raise UsageError(f"no executor {name!r}", hint=did_you_mean(name, EXECUTORS))
    if scheduler is not None and name != "dask":
        raise UsageError(f"--scheduler is not used by --executor {name}", hint="add --executor dask")
    if scheduler is not None and not _ADDRESS.fullmatch(scheduler):
        # The client of dask would report it later, with a traceback when it is discarded.
        raise UsageError(f"--scheduler cannot be {scheduler!r}", hint="an address such as tcp://10.0.0.5:8786")
    if name == "dask" and find_spec("distributed") is None:
        raise MissingExtraError("--executor dask needs the package distributed", extra="dask")


def local(work: Work) -> Pool:
    """Return the pool of this machine."""
    open_one = partial(open_pair, judges=work.judges, idle_readers=work.idle_readers)
    return Pool(
        jobs=work.jobs,
        isolation=work.isolation,
        gold_inodes=work.gold_inodes,
        fork_server=work.fork_server,
        budget=work.budget,
        open_one=open_one,
        links=work.links,
        cached_gold=work.cached_gold,
    )


def default_jobs() -> int:
    """Return the default number of parallel answers: the cores this process may use, at most 8."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(8, cores))
