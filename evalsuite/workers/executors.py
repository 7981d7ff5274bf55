"""Who scores the tasks of a run: a table of executors by name, each loaded when it is asked for. All give the same results."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from evalsuite.errors import UsageError
from evalsuite.lazy import Lazy
from evalsuite.readers.paths import Inode
from evalsuite.types import Gold, Result, Task
from evalsuite.workers.budget import Budget
from evalsuite.workers.lane import open_lane
from evalsuite.workers.pool import Pool
from evalsuite.workers.start import Zygote

# name -> (module:function of a Work, one-line summary); a new executor is one file and one line here.
EXECUTORS: dict[str, Lazy] = {
    "local": Lazy("evalsuite.workers.executors:local", "worker processes of this machine"),
    "dask": Lazy("evalsuite.workers.dask_pool:DaskPool", "the workers of a dask cluster, or of one made for the run on this machine"),
}
_ADDRESS = re.compile(r"(?:(?:tcp|tls|ucx|wss?)://)?[^/\s]+:\d{1,5}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What an executor is told of a run. `scheduler` is the address of a dask scheduler, None to start workers here.

    `gold` comes with its hash: what it must be wherever a task is scored. `zygote` forks the workers of this machine, `judges` those of
    them that judge, where gold was read ahead; `budget` is what the run may take.
    """

    jobs: int
    isolation: str
    gold_inodes: frozenset[Inode]
    gold: Gold
    scheduler: str | None = None
    zygote: Zygote | None = None
    judges: Zygote | None = None
    budget: Budget | None = None


class Executor(Protocol):
    """Scores tasks: n results for n tasks in order of completion. `jobs` is how many answers are scored side by side."""

    jobs: int

    @property
    def walls(self) -> Sequence[str]:
        """The walls round each worker."""
        ...

    def results(self, tasks: Sequence[Task]) -> Iterator[Result]:
        """One result per task as soon as it is known."""
        ...

    def close(self) -> None:
        """End whatever was started."""
        ...


def open_executor(name: str, work: Work) -> Executor:
    """The executor of that name; raises `UsageError` as `check_executor` does."""
    check_executor(name, work.scheduler)
    executor: Executor = EXECUTORS[name].load()(work)
    return executor


def check_executor(name: str, scheduler: str | None) -> None:
    """Raise `UsageError` where there is no such executor, and for a scheduler that is no address or that it would not use."""
    if name not in EXECUTORS:
        raise UsageError(f"no executor {name!r}", hint="known: " + ", ".join(EXECUTORS))
    if scheduler is not None and name != "dask":
        raise UsageError(f"--scheduler is not used by --executor {name}", hint="add --executor dask")
    if scheduler is not None and not _ADDRESS.fullmatch(scheduler):
        # The client of dask would say so later, with a traceback when it is thrown away.
        raise UsageError(f"--scheduler cannot be {scheduler!r}", hint="an address such as tcp://10.0.0.5:8786")


def local(work: Work) -> Pool:
    """The pool of this machine."""
    open_one = partial(open_lane, judges=work.judges)
    return Pool(
        jobs=work.jobs,
        isolation=work.isolation,
        gold_inodes=work.gold_inodes,
        zygote=work.zygote,
        budget=work.budget,
        open_one=open_one,
    )


def default_jobs() -> int:
    """How many answers are scored side by side unless told otherwise: the cores this process may use, at most 8."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(8, cores))
