"""The executor beyond one machine: chunks of tasks on the workers of a dask cluster.

A chunk that a worker held when it was lost is scored again by another one: a score hangs on nothing but the bytes of both sides. On each
worker a chunk passes the same pool as on one machine, walls included; a chunk that took several workers down with it is tried alone and
halved until the one answer that does it is found. What is judged with the network or over all answers at once stays in the parent.
"""

import contextlib
import logging
import pickle
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.errors import EvalsuiteError, MissingExtraError
from evalsuite.garbage import not_looking
from evalsuite.readers.gold_files import gold_links
from evalsuite.scorers import SCORERS
from evalsuite.store.signature import signature
from evalsuite.types import Fault, Result, Task
from evalsuite.workers.budget import Budget, killed, size_of
from evalsuite.workers.combine import out_of_budget, unjudged
from evalsuite.workers.dask_chunks import Shared, digest_of, score_chunk
from evalsuite.workers.packing import pack_tasks, unpack_results
from evalsuite.workers.pool import Pool
from evalsuite.workers.requests import opens_files, settle_early

if TYPE_CHECKING:
    from evalsuite.workers.executors import Work

_CONNECT_SECONDS = 20
# Answers a chunk, and bytes of their files: few enough that a lost worker costs little, many enough that what a chunk costs does not
# count, a message of dask's and a lane that is opened behind its walls (80 ms).
_MOST_ANSWERS, _MOST_BYTES = 5000, 64 << 20
_CHUNKS_A_WORKER = 4
# A cluster that is made for a run is looked at by nobody: how often its processes look at themselves by default (a profile 100 times a
# second, the loop 50 times) takes a fifth of a core while four workers wait.
_UNWATCHED = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.cycle": "10s",
}
_RETRIES = 3
_AGAIN, _DIED = object(), object()


class DaskPool:
    """Scores tasks on dask workers: those of `scheduler`, or of a cluster of `jobs` processes that lives as long as the run."""

    def __init__(self, work: "Work") -> None:
        self.jobs = work.jobs
        self.walls: Sequence[str] = Pool(jobs=1, isolation=work.isolation, gold_inodes=frozenset()).walls
        self._work = work
        self._client: Any = None
        self._cluster: Any = None

    def results(self, tasks: Sequence[Task]) -> Iterator[Result]:
        """One result per task as soon as its chunk is done."""
        queued: list[Task] = []
        for task in tasks:
            early = settle_early(task)
            if early is not None:
                yield early
            else:
                queued.append(task)
        if not queued:
            return
        shared, budget = _shared(queued, self._work), self._work.budget or Budget(queued[0].limits)
        affordable = [task for task in queued if budget.spend(size_of(task))]
        left = {task.instance.instance_id: task for task in queued}
        yield from (out_of_budget(left.pop(name), budget) for name in left.keys() - {task.instance.instance_id for task in affordable})
        self._connect()
        try:
            for chunk, outcome in self._outcomes(deque(chunks(affordable, self.jobs)), shared, budget):
                for result in _results(chunk, outcome):
                    del left[result.instance_id]
                    yield result
        except TimeoutError:
            yield from (out_of_budget(task, budget) for task in left.values())
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the cluster; one that was made for the run ends with it."""
        for opened in (self._client, self._cluster):
            if opened is not None:
                with contextlib.suppress(Exception):  # a cluster that is gone already cannot be closed, and need not be
                    opened.close()
        self._client = self._cluster = None

    def _connect(self) -> None:
        """Find the workers. Raises `EvalsuiteError` where there are none and `MissingExtraError` without dask."""
        distributed = _distributed()
        address = self._work.scheduler
        try:
            if address is None:
                quiet = logging.getLogger("evalsuite").getEffectiveLevel() > logging.DEBUG
                with import_module("dask").config.set(_UNWATCHED):
                    self._cluster = distributed.LocalCluster(
                        n_workers=self.jobs,
                        threads_per_worker=1,
                        dashboard_address=":0",
                        silence_logs=logging.CRITICAL if quiet else logging.WARNING,
                    )
            self._client = distributed.Client(self._cluster or address, timeout=_CONNECT_SECONDS, set_as_default=False)
            self._client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
        except (OSError, ValueError, TimeoutError) as error:
            self.close()
            where = f"at {address}" if address else "on this machine"
            hint = "--scheduler takes an address such as tcp://10.0.0.5:8786, and the cluster needs a worker"
            raise EvalsuiteError(f"no dask workers {where}: {type(error).__name__}", hint=hint if address else "") from None
        self.jobs = max(1, sum(self._client.nthreads().values()))

    def _outcomes(self, queue: deque[list[Task]], shared: Shared, budget: Budget) -> Iterator[tuple[list[Task], bytes | Fault]]:
        """Each chunk with the bytes of its results, or with the fault of its one task; never more in flight than workers can hold.

        Raises TimeoutError where the time of the run is over.

        A chunk whose workers died may only have lain beside the one that killed them, so it is not blamed before it died alone.
        """
        flying: dict[Any, tuple[list[Task], int]] = {}
        suspects: list[list[Task]] = []
        done = _distributed().as_completed(loop=self._client.loop, timeout=budget.seconds)

        def send(chunk: list[Task], tries: int = 0) -> None:
            future = self._submit(chunk, shared)
            flying[future] = chunk, tries
            done.add(future)

        while queue and len(flying) < 2 * self.jobs + 2:
            send(queue.popleft())
        for future in done:
            chunk, tries = flying.pop(future)
            outcome = self._outcome(future, tries)
            future.release()
            if outcome is _AGAIN:
                send(chunk, tries + 1)
                continue
            if outcome is _DIED:
                suspects.append(chunk)
            else:
                yield chunk, outcome
            if queue:
                send(queue.popleft())
        yield from self._one_by_one(suspects, shared)

    def _one_by_one(self, suspects: list[list[Task]], shared: Shared) -> Iterator[tuple[list[Task], bytes | Fault]]:
        """The outcomes of chunks with nothing else in flight; one whose workers die again is halved until it is one task."""
        while suspects:
            chunk = suspects.pop()
            outcome: Any = _AGAIN
            tries = 0
            while outcome is _AGAIN:
                alone = _distributed().as_completed(loop=self._client.loop)
                alone.add(future := self._submit(chunk, shared))
                outcome, tries = self._outcome(next(alone), tries), tries + 1
                future.release()
            if outcome is not _DIED:
                yield chunk, outcome
            elif len(chunk) > 1:
                suspects += [chunk[: len(chunk) // 2], chunk[len(chunk) // 2 :]]
            else:
                # What a worker of dask's forks has limits of its own, and its death is told as such: this is another one.
                yield chunk, killed("every dask worker that was given this answer, also alone")

    def _submit(self, chunk: Sequence[Task], shared: Shared) -> Any:
        payload = pickle.dumps((shared, pack_tasks(chunk)))
        return self._client.submit(score_chunk, payload, key=f"evalsuite-{uuid.uuid4().hex}", pure=False)

    def _outcome(self, future: Any, tries: int) -> Any:
        """The bytes of a chunk's results, or `_AGAIN`, or `_DIED` where it took its workers down. Raises `EvalsuiteError`."""
        if future.status == "finished":
            return future.result()
        error = future.exception() if future.status == "error" else None
        if isinstance(error, EvalsuiteError):
            raise error
        if isinstance(error, _distributed().KilledWorker):
            return _DIED
        if self._client.status != "running":
            raise EvalsuiteError("the dask scheduler is gone", hint="go on with --resume and the run's folder")
        if tries < _RETRIES:
            return _AGAIN
        raise EvalsuiteError(f"a dask worker failed: {type(error).__name__}", hint="its log says more; go on with --resume") from error


def chunks(tasks: Sequence[Task], n_workers: int) -> Iterator[list[Task]]:
    """The tasks in chunks, those with files first and the largest of them at the front, so that no big one is left to the end."""
    files = sorted(((size_of(task), task) for task in tasks if opens_files(task)), key=itemgetter(0), reverse=True)
    texts = [(0, task) for task in tasks if not opens_files(task)]
    for some in (files, texts):
        most = max(1, min(_MOST_ANSWERS, -(-len(some) // (_CHUNKS_A_WORKER * n_workers))))
        chunk, n_bytes = list[Task](), 0
        for size, task in some:
            if len(chunk) == most or (chunk and n_bytes + size > _MOST_BYTES):
                yield chunk
                chunk, n_bytes = [], 0
            chunk.append(task)
            n_bytes += size
        if chunk:
            yield chunk


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError:
        raise MissingExtraError("--executor dask needs the package distributed", extra="dask") from None


def _shared(tasks: Sequence[Task], work: "Work") -> Shared:
    brought = tuple((name, Path(file), attribute) for name, file, attribute in SCORERS.brought())
    folder, needs_files = work.gold.folder.absolute(), any(map(opens_files, tasks))
    return Shared(
        token=uuid.uuid4().hex,
        isolation=work.isolation,
        versions=signature(rules="official", gold_hash="", limits={}),
        gold_folder=folder,
        gold_spec=work.gold.spec_file.absolute(),
        gold_hash=work.gold.hash,
        gold_seen=pickle.dumps((work.gold_inodes, gold_links(folder))) if needs_files and work.scheduler is None else b"",
        submission_folder=tasks[0].submission_folder,
        needs_files=needs_files,
        plugins=brought,
        digests=tuple(digest_of(file) for _, file, _ in brought),
        metrics=tuple(SCORERS.metrics.items()),
    )


def _results(chunk: Sequence[Task], outcome: bytes | Fault) -> list[Result]:
    if isinstance(outcome, Fault):
        return [unjudged(task, outcome) for task in chunk]
    with not_looking():
        return unpack_results(outcome)
