"""Who scores the tasks of a run: a table of executors by name, each loaded when it is asked for. All give the same results.

Processes behind walls, local or on a cluster, behind one `Executor`: tasks in, one result a task out, in order of completion.

`start.Zygote` forks worker processes; `isolated` is what they do inside, after `walls.worker_walls.lock_in`. A `lane.Lane` is a reader,
which opens the submission and knows no gold, joined to a judge, which opens gold and sees what was read. `pool.Pool` is the loop over
lanes, `dask_pool.DaskPool` the same over a cluster whose workers hold a pool each. `requests` and `stages` say what is done with one
answer, `combine` joins its checks to a result; `wire`, `sent_forms`, `streams` and `packing` are the bytes in between. `calls` calls one
function in a worker (`called`), `queries` runs statements in some, with a `talk` for each. `budget` is what the whole run may take.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from evalsuite.core.errors import UsageError
from evalsuite.core.import_ref import ImportRef
from evalsuite.core.types import Gold, Result, Task
from evalsuite.readers.paths import Inode
from evalsuite.runs.worker_pool import Pool, open_lane
from evalsuite.sandbox.budget import Budget
from evalsuite.sandbox.fork_server import ForkServer

# name -> (module:function of a Work, one-line summary); a new executor is one file and one line here.
EXECUTORS: dict[str, ImportRef] = {
    "local": ImportRef("evalsuite.runs.executors:local", "worker processes of this machine"),
    "dask": ImportRef("evalsuite.runs.dask_executor:DaskPool", "the workers of a dask cluster, or of one made for the run on this machine"),
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
    zygote: ForkServer | None = None
    judges: ForkServer | None = None
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
