"""Executor `dask`: chunks of tasks on the workers of a dask cluster, each in a pool of its own.

If a worker is lost, another one scores its chunk again; a chunk that killed several workers is tried alone and halved until the one answer
that does it is found. Each worker first checks everything that a score depends on: one with other packages, other gold or without the
folders scores nothing. Scorers that need the network or all answers at once stay in the parent.
"""

import contextlib
import hashlib
import pickle
import threading
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.core.dataclasses import dataclass
from evalsuite.core.disk_cache import file_digest
from evalsuite.core.errors import EvalsuiteError, GoldError, SubmissionError
from evalsuite.core.files import exists, is_file
from evalsuite.core.runtime import without_collection
from evalsuite.core.types import Fault, Result, Task
from evalsuite.readers.gold_files import gold_hash, gold_inodes, gold_links
from evalsuite.readers.paths import Inode
from evalsuite.runs import WORKER_MODULES
from evalsuite.runs.instance_checks import opens_files, out_of_budget, skip_unscorable, unjudged_result
from evalsuite.runs.run_files import result_of, whole_line
from evalsuite.runs.run_options import feature_version, signature, versions
from evalsuite.runs.worker_pool import Pool
from evalsuite.sandbox.fork_server import ForkServer
from evalsuite.sandbox.limits import Budget, killed_fault, size_of
from evalsuite.sandbox.messages import pack_tasks, unpack_tasks
from evalsuite.scorers import SCORERS

if TYPE_CHECKING:
    from evalsuite.runs.executors import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What all chunks of a run share, and what a worker checks once before it scores any of them.

    `versions` is the part of the signature that names installed packages; `needs_files` says whether a task opens files of either side.
    `gold_seen` is for workers started for the run on this machine: the pickled inodes and link targets of the gold files that the parent
    hashed. Other workers compute them from their own files.
    """

    token: str
    isolation: str
    versions: str
    gold_folder: Path
    gold_spec: Path
    gold_hash: str
    gold_seen: bytes
    submission_folder: Path
    needs_files: bool
    plugins: tuple[tuple[str, Path, str], ...]
    digests: tuple[str, ...]
    metrics: tuple[tuple[str, dict[str, Any]], ...]

    def __hash__(self) -> int:
        return hash(self.token)


def score_chunk(payload: bytes) -> bytes:
    """Return the lines of a packed chunk's results, in order of completion. Raises `EvalsuiteError` if this worker cannot score it."""
    shared, task_bytes = pickle.loads(payload)
    with _ONE_AT_A_TIME:
        inodes, links = _prepare_worker(shared)
    pool = Pool(jobs=1, isolation=shared.isolation, gold_inodes=inodes, links=links, fork_server=_fork_server_of(shared.submission_folder))
    with without_collection():
        return "\n".join(map(whole_line, pool.results(unpack_tasks(task_bytes)))).encode()


def _fork_server_of(submission_folder: Path) -> ForkServer:
    """Return the fork server of this thread, with which it would die: one for all chunks of a submission. An older one is closed."""
    last_server: tuple[Path, ForkServer] | None = getattr(_HERE, "fork_server", None)
    if last_server is None or last_server[0] != submission_folder or not last_server[1].alive:
        if last_server is not None:
            last_server[1].close()
        last_server = _HERE.fork_server = submission_folder, ForkServer(submission_folder, modules=WORKER_MODULES)
    return last_server[1]


_ONE_AT_A_TIME, _HERE = threading.Lock(), threading.local()
_DIGESTS: dict[Path, str] = {}


@lru_cache(maxsize=8)  # a worker may live for many runs
def _prepare_worker(shared: Shared) -> tuple[frozenset[Inode], list[Path]]:
    """Return the inodes of gold's files as this machine sees them, and the targets of links in it.

    First it checks that everything a score depends on equals the parent's: a worker without the shared folders would find every answer's
    file missing.
    """
    if shared.versions != (worker_versions := _versions()):
        raise EvalsuiteError(f"a dask worker has other packages installed: {worker_versions}", hint=f"the run has {shared.versions}")
    for (name, file, attribute), digest in zip(shared.plugins, shared.digests, strict=True):
        if not is_file(file) or file_digest(file) != digest or _DIGESTS.setdefault(file, digest) != digest:
            raise EvalsuiteError(f"a dask worker has another {file}", hint="share its folder, and restart the workers after a change")
        SCORERS.register(name, file, attribute)
    for name, spec in shared.metrics:
        SCORERS.register_metric(name, spec)
    if not shared.needs_files:
        return frozenset(), []
    if not exists(shared.submission_folder):
        raise SubmissionError(f"a dask worker does not see {shared.submission_folder}", hint="share the folder under the same path")
    if shared.gold_seen:
        seen: tuple[frozenset[Inode], list[Path]] = pickle.loads(shared.gold_seen)
        return seen
    try:
        gold_digest = gold_hash(shared.gold_folder, shared.gold_spec)
    except (GoldError, OSError):
        raise GoldError(f"a dask worker does not see {shared.gold_folder}", hint="share the folder under the same path") from None
    if gold_digest != shared.gold_hash:
        raise GoldError(f"a dask worker sees another gold in {shared.gold_folder}: {gold_digest}", hint=f"the run has {shared.gold_hash}")
    return gold_inodes(shared.gold_folder), gold_links(shared.gold_folder)


def _versions() -> str:
    """Return the versions that a verdict can depend on."""
    own = (f"{name}:{feature_version(name, version)}" for name, version in versions().items())
    return "|".join([*own, signature(rules="official", gold_hash="", limits={})])


_CONNECT_SECONDS = 20
# Answers per chunk, and bytes of their files: few enough that a lost worker costs little, many enough that the cost of a chunk (a dask
# message, a sandboxed worker pair of 80 ms) does not matter.
_MOST_ANSWERS, _MOST_BYTES = 5000, 64 << 20
_CHUNKS_A_WORKER = 4
# A cluster made for one run needs no dashboard. Its default self-monitoring (a profile 100 times a second, the loop 50 times) takes a fifth
# of a core while four workers wait.
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
    """Score tasks on dask workers: those of `scheduler`, or of a cluster of `jobs` processes for this run."""

    def __init__(self, work: "Work") -> None:
        self.jobs = work.jobs
        self.features: Sequence[str] = Pool(jobs=1, isolation=work.isolation, gold_inodes=frozenset()).features
        self._work = work
        self._client: Any = None
        self._cluster: Any = None

    def results(self, tasks: Sequence[Task]) -> Iterator[Result]:
        """Yield one result per task as soon as its chunk is done."""
        queued: list[Task] = []
        for task in tasks:
            early = skip_unscorable(task)
            if early is not None:
                yield early
            else:
                queued.append(task)
        if not queued:
            return
        shared, budget = _make_shared(queued, self._work), self._work.budget or Budget(queued[0].limits)
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
        """Disconnect from the cluster; one that was made for the run ends."""
        for opened in (self._client, self._cluster):
            if opened is not None:
                with contextlib.suppress(Exception):  # a cluster that is gone already cannot be closed, and need not be
                    opened.close()
        self._client = self._cluster = None

    def _connect(self) -> None:
        """Connect to the workers. Raises `EvalsuiteError` if there are none."""
        import logging

        distributed = import_module("distributed")
        address = self._work.scheduler
        try:
            quiet = logging.getLogger("evalsuite").getEffectiveLevel() > logging.DEBUG
            if quiet:
                # A scheduler that ends is one error of ours, not dask's traceback.
                logging.getLogger("distributed.client").setLevel(logging.CRITICAL + 1)
            if address is None:
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
        """Yield each chunk with the bytes of its results, or with the fault of its one task; never more in flight than workers have slots.

        A chunk whose workers died may only have run next to the one that killed them, so it is not blamed until it kills workers alone.

        Raises:
            TimeoutError: The time of the run is over.
        """
        flying: dict[Any, tuple[list[Task], int]] = {}
        suspects: list[list[Task]] = []
        done = import_module("distributed").as_completed(loop=self._client.loop, timeout=budget.seconds)

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
        """Yield the outcomes of chunks with nothing else in flight; one whose workers die again is halved until it is one task."""
        while suspects:
            chunk = suspects.pop()
            outcome: Any = _AGAIN
            tries = 0
            while outcome is _AGAIN:
                alone = import_module("distributed").as_completed(loop=self._client.loop)
                alone.add(future := self._submit(chunk, shared))
                outcome, tries = self._outcome(next(alone), tries), tries + 1
                future.release()
            if outcome is not _DIED:
                yield chunk, outcome
            elif len(chunk) > 1:
                suspects += [chunk[: len(chunk) // 2], chunk[len(chunk) // 2 :]]
            else:
                # Workers that dask's worker forks have limits and report their own death; this is another one.
                yield chunk, killed_fault("every dask worker that was given this answer, also alone")

    def _submit(self, chunk: Sequence[Task], shared: Shared) -> Any:
        payload = pickle.dumps((shared, pack_tasks(chunk)))
        # Found by name in the task: a worker of dask that cannot load what it is sent ends and is sent it again, without end.
        code = f"__import__({score_chunk.__module__!r}, fromlist=['']).{score_chunk.__name__}(payload)"
        return self._client.submit(eval, code, {"payload": payload}, key=f"evalsuite-{uuid.uuid4().hex}", pure=False)

    def _outcome(self, future: Any, tries: int) -> Any:
        """Return the bytes of a chunk's results, or `_AGAIN`, or `_DIED` if it killed its workers. Raises `EvalsuiteError`."""
        if future.status == "finished":
            return future.result()
        error = future.exception() if future.status == "error" else None
        if isinstance(error, EvalsuiteError):
            raise error
        if isinstance(error, import_module("distributed").KilledWorker):
            return _DIED
        if self._client.status != "running":
            raise EvalsuiteError("the dask scheduler is gone", hint="continue with --resume and the run's folder")
        if tries < _RETRIES:
            return _AGAIN
        raise EvalsuiteError(f"a dask worker failed: {type(error).__name__}", hint="its log says more; continue with --resume") from error


def chunks(tasks: Sequence[Task], n_workers: int) -> Iterator[list[Task]]:
    """Yield the tasks in chunks, those with the largest files first, so that no big one is left to the end."""
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


def _make_shared(tasks: Sequence[Task], work: "Work") -> Shared:
    plugins = [*SCORERS.registered_plugins()]
    folder, needs_files = work.gold.folder.absolute(), any(map(opens_files, tasks))
    return Shared(
        token=uuid.uuid4().hex,
        isolation=work.isolation,
        versions=_versions(),
        gold_folder=folder,
        gold_spec=work.gold.spec_file.absolute(),
        gold_hash=work.gold.hash,
        gold_seen=pickle.dumps((work.gold_inodes, gold_links(folder))) if needs_files and work.scheduler is None else b"",
        submission_folder=tasks[0].submission_folder,
        needs_files=needs_files,
        plugins=tuple((name, Path(file), attribute) for name, file, attribute, _ in plugins),
        digests=tuple(hashlib.sha256(source).hexdigest() for *_, source in plugins),
        metrics=tuple(SCORERS.additions.metrics.items()),
    )


def _results(chunk: Sequence[Task], outcome: bytes | Fault) -> list[Result]:
    if isinstance(outcome, Fault):
        return [unjudged_result(task, outcome) for task in chunk]
    with without_collection():
        return [result_of(line) for line in outcome.splitlines()]
