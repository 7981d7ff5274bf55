"""The executor beyond one machine: chunks of tasks on the workers of a dask cluster.

A chunk that a worker held when it was lost is scored again by another one: a score hangs on nothing but the bytes of both sides. On each
worker a chunk passes the same pool as on one machine, walls included; a chunk that took several workers down with it is tried alone and
halved until the one answer that does it is found. What is judged with the network or over all answers at once stays in the parent.
"""

import contextlib
import gc
import hashlib
import logging
import pickle
import threading
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.errors import EvalsuiteError, GoldError, MissingExtraError, SubmissionError
from evalsuite.readers.gold_files import gold_hash, gold_inodes
from evalsuite.readers.paths import Inode
from evalsuite.scorers import SCORERS
from evalsuite.store.signature import signature
from evalsuite.types import Fault, Result, Task
from evalsuite.workers.budget import size_of
from evalsuite.workers.combine import faulty
from evalsuite.workers.packing import pack_results, pack_tasks, unpack_results, unpack_tasks
from evalsuite.workers.pool import Pool
from evalsuite.workers.requests import opens_files, settle_early

if TYPE_CHECKING:
    from evalsuite.workers.executors import Work

_CONNECT_SECONDS = 20
# Tasks a chunk: few enough that a lost worker costs little, many enough that dask's millisecond a task does not count.
_MOST_TEXTS, _MOST_FILES = 2000, 64
_CHUNKS_A_WORKER = 4
_RETRIES = 3
_AGAIN, _DIED = object(), object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What all chunks of a run have in common, and what a worker checks once before it scores any of them.

    `versions` is the part of the signature that says what is installed; `needs_files` whether a task opens files of either side.
    """

    token: str
    isolation: str
    versions: str
    gold_folder: Path
    gold_spec: Path
    gold_hash: str
    submission_folder: Path
    needs_files: bool
    plugins: tuple[tuple[str, Path, str], ...]
    digests: tuple[str, ...]
    metrics: tuple[tuple[str, dict[str, Any]], ...]

    def __hash__(self) -> int:
        return hash(self.token)


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
        shared = _shared(queued, self._work)
        self._connect()
        try:
            for chunk, outcome in self._outcomes(deque(chunks(queued, self.jobs)), shared):
                yield from _results(chunk, outcome)
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

    def _outcomes(self, queue: deque[list[Task]], shared: Shared) -> Iterator[tuple[list[Task], bytes | Fault]]:
        """Each chunk with the bytes of its results, or with the fault of its one task; never more in flight than workers can hold.

        A chunk whose workers died may only have lain beside the one that killed them, so it is not blamed before it died alone.
        """
        flying: dict[Any, tuple[list[Task], int]] = {}
        suspects: list[list[Task]] = []
        done = _distributed().as_completed(loop=self._client.loop)

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
                yield chunk, Fault(code="WORKER_DIED", detail="every dask worker died that was given this answer")

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
    files = sorted(filter(opens_files, tasks), key=size_of, reverse=True)
    texts = [task for task in tasks if not opens_files(task)]
    for some, most in ((files, _MOST_FILES), (texts, _MOST_TEXTS)):
        size = max(1, min(most, -(-len(some) // (_CHUNKS_A_WORKER * n_workers))))
        rest = iter(some)
        while chunk := list(islice(rest, size)):
            yield chunk


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError:
        raise MissingExtraError("--executor dask needs the package distributed", extra="dask") from None


def _shared(tasks: Sequence[Task], work: "Work") -> Shared:
    brought = tuple((name, Path(file), attribute) for name, file, attribute in SCORERS.brought())
    return Shared(
        token=uuid.uuid4().hex,
        isolation=work.isolation,
        versions=signature(rules="official", gold_hash="", limits={}),
        gold_folder=work.gold.folder.absolute(),
        gold_spec=work.gold.spec_file.absolute(),
        gold_hash=work.gold.hash,
        submission_folder=tasks[0].submission_folder,
        needs_files=any(map(opens_files, tasks)),
        plugins=brought,
        digests=tuple(_digest(file) for _, file, _ in brought),
        metrics=tuple(SCORERS.metrics.items()),
    )


def _results(chunk: Sequence[Task], outcome: bytes | Fault) -> list[Result]:
    if isinstance(outcome, Fault):
        return [faulty(task, outcome, status="crashed") for task in chunk]
    with _without_gc():
        return unpack_results(outcome)


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


# The inside of a dask worker.


def score_chunk(payload: bytes) -> bytes:
    """The packed results of a packed chunk, in order of completion. Raises `EvalsuiteError` where this worker is no place for it."""
    shared, packed = pickle.loads(payload)
    with _ONE_AT_A_TIME:
        inodes = _prepared(shared)
    pool = Pool(jobs=1, isolation=shared.isolation, gold_inodes=inodes)
    with _without_gc():
        return pack_results(list(pool.results(unpack_tasks(packed))))


@contextlib.contextmanager
def _without_gc() -> Iterator[None]:
    """Inside, cycles are not looked for: tasks and results make none, and a third of the time would go into looking."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


_ONE_AT_A_TIME = threading.Lock()
_DIGESTS: dict[Path, str] = {}


@cache
def _prepared(shared: Shared) -> frozenset[Inode]:
    """The inodes of gold's files as this machine sees them, once all that a score hangs on is known to be the same here as in the parent.

    A worker without the shared folders would otherwise find every answer's file missing.
    """
    if shared.versions != (own := signature(rules="official", gold_hash="", limits={})):
        raise EvalsuiteError(f"a dask worker has other packages installed: {own}", hint=f"the run has {shared.versions}")
    for (name, file, attribute), digest in zip(shared.plugins, shared.digests, strict=True):
        if not file.is_file() or _digest(file) != digest or _DIGESTS.setdefault(file, digest) != digest:
            raise EvalsuiteError(f"a dask worker has another {file}", hint="share its folder, and restart the workers after a change")
        SCORERS.bring(name, file, attribute)
    for name, spec in shared.metrics:
        SCORERS.bring_metric(name, spec)
    if not shared.needs_files:
        return frozenset()
    if not shared.submission_folder.is_dir():
        raise SubmissionError(f"a dask worker does not see {shared.submission_folder}", hint="share the folder under the same path")
    try:
        found = gold_hash(shared.gold_folder, shared.gold_spec)
    except (GoldError, OSError):
        raise GoldError(f"a dask worker does not see {shared.gold_folder}", hint="share the folder under the same path") from None
    if found != shared.gold_hash:
        raise GoldError(f"a dask worker sees another gold in {shared.gold_folder}: {found}", hint=f"the run has {shared.gold_hash}")
    return gold_inodes(shared.gold_folder)
