"""Workers for a system that cannot fork or send descriptors (Windows): an interpreter each, that reads an answer and judges it.

They speak through the pipes of their standard input and output. A death or a time-out costs one answer, as everywhere; but one process
reads the submission and knows gold, and the only wall round it is its memory.
"""

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import IO

from evalsuite.readers.paths import Inode
from evalsuite.scorers import SCORERS
from evalsuite.types import Fault, Result, Task
from evalsuite.workers.budget import Budget, answer_seconds, size_of
from evalsuite.workers.combine import faulty
from evalsuite.workers.start import cannot_start, import_path, now, worker_environment
from evalsuite.workers.wire import LONGEST_ORDER, LONGEST_RESULT, ClosedError, receive, result_of, send

_CODE = "import sys; sys.path[:] = {path!r}; from evalsuite.workers.spawned import serve; serve()"


class _Pipes:
    """Two pipes as the one stream that frames need."""

    def __init__(self, source: IO[bytes], target: IO[bytes]) -> None:
        self._source, self._target = source, target

    def sendall(self, data: bytes, /) -> None:
        self._target.write(data)
        self._target.flush()

    def recv_into(self, buffer: memoryview, nbytes: int, /) -> int:
        return self._source.readinto1(buffer[:nbytes])  # type: ignore[attr-defined, no-any-return]


class _SpawnedWorker:
    """One interpreter. Raises `EvalsuiteError` where it cannot be started."""

    def __init__(self, setup: bytes, hostile: Path) -> None:
        code = _CODE.format(path=import_path(hostile))
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=Path(sys.prefix).anchor,
                env=worker_environment(),
            )
        except OSError:
            raise cannot_start() from None
        assert self._process.stdout is not None
        assert self._process.stdin is not None
        self._stream = _Pipes(self._process.stdout, self._process.stdin)
        try:
            send(self._stream, setup)
            is_ready = receive(self._stream, most=LONGEST_RESULT) is not None
        except (ClosedError, OSError, ValueError):
            is_ready = False
        if not is_ready:
            self.kill()
            raise cannot_start()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def score(self, task: Task, order: str) -> Result:
        """The result of a task: a fault of the answer where its time is over or the worker dies of it."""
        started, seconds = now(), answer_seconds(task.limits, size_of(task), beside_gold=bool(task.databases))
        late = threading.Event()

        def stop() -> None:
            late.set()
            self.kill()

        clock = threading.Timer(seconds, stop)
        clock.daemon = True
        clock.start()
        try:
            send(self._stream, pickle.dumps((order, task)))
            frame = receive(self._stream, most=LONGEST_RESULT)
            result = result_of(frame, task) if frame is not None else None
        except (ClosedError, OSError, ValueError):
            result = None
        clock.cancel()
        if result is not None:
            return result
        self.kill()
        if late.is_set():
            fault = Fault(code="TIMEOUT", detail=f"the {task.limits['seconds']:g} s of the answer were over (limit seconds)")
        else:
            fault = Fault(code="WORKER_DIED", detail="the worker died while the answer was being read or compared")
        return faulty(task, fault, status="timeout" if late.is_set() else "crashed", seconds=now() - started)

    def kill(self) -> None:
        # Without SIGKILL, as on Windows, to terminate a process is to kill it.
        end = self._process.kill if hasattr(signal, "SIGKILL") else self._process.terminate
        end()
        self._process.wait()


def spawned_results(
    tasks: Sequence[Task],
    *,
    jobs: int,
    gold_inodes: frozenset[Inode],
    order: str,
    budget: Budget,
) -> Iterator[Result]:
    """One result per task as soon as it is known; `jobs` workers side by side, each started when it is needed and ended with the last."""
    own, workers = threading.local(), list[_SpawnedWorker]()
    setup = _setup(tasks[0].limits, gold_inodes)

    def score(task: Task) -> Result:
        if not budget.spend(size_of(task)):
            return budget.lost(task)
        if (worker := getattr(own, "worker", None)) is None or not worker.alive:
            worker = own.worker = _SpawnedWorker(setup, task.submission_folder)
            workers.append(worker)
        return worker.score(task, order)

    threads = ThreadPoolExecutor(max_workers=min(jobs, len(tasks)), thread_name_prefix="spawned")
    try:
        ordered = sorted(tasks, key=size_of, reverse=True)
        for done in as_completed([threads.submit(score, task) for task in ordered]):
            yield done.result()
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        for worker in list(workers):
            worker.kill()
        threads.shutdown(wait=True)


def _setup(limits: Mapping[str, int | float], gold_inodes: frozenset[Inode]) -> bytes:
    told = {"limits": dict(limits), "gold_inodes": gold_inodes}
    return pickle.dumps({**told, "plugins": list(SCORERS.brought()), "metrics": dict(SCORERS.metrics)})


def serve() -> None:
    """Score what the parent sends until it closes the pipe. The frames come from the trusted side."""
    from evalsuite.store.run_files import whole_line
    from evalsuite.walls.job_object import limit_by_job
    from evalsuite.workers.stages import score_task

    stream = _Pipes(sys.stdin.buffer, os.fdopen(os.dup(1), "wb"))
    # What a scorer prints is no frame.
    os.dup2(2, 1)
    setup = pickle.loads(receive(stream, most=LONGEST_ORDER) or b"")
    SCORERS.bring_all(setup["plugins"], setup["metrics"])
    limit_by_job(int(setup["limits"]["memory_mib"]) << 20)
    send(stream, b"ready")
    while (frame := receive(stream, most=LONGEST_ORDER)) is not None:
        order, task = pickle.loads(frame)
        send(stream, whole_line(score_task(task, setup["gold_inodes"], order)).encode())
