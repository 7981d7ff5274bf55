"""Workers for systems without fork or descriptor passing (Windows): an interpreter each, which reads and scores an answer.

They communicate through standard input and output. A death or a time-out costs one answer; but one process reads the submission and has
gold, and its only sandbox feature is the memory limit.
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

from evalsuite.core.errors import side_of, timeout_error
from evalsuite.core.plugin_calls import OFFICIAL_CALLBACK
from evalsuite.core.types import Fault, Result, Task
from evalsuite.readers.paths import Inode
from evalsuite.runs.instance_checks import JUDGE, JUDGE_OFFICIAL, faulty, out_of_budget, unjudged
from evalsuite.runs.run_files import reported_result
from evalsuite.sandbox.budget import Budget, answer_seconds, killed, size_of
from evalsuite.sandbox.cpu_clock import Alarm, Clock, Verdict
from evalsuite.sandbox.fork_server import import_path, now, start_error, worker_environment
from evalsuite.sandbox.framing import LONGEST_ORDER, LONGEST_RESULT, OFFICIAL, ClosedError, receive, send
from evalsuite.sandbox.linux_layers import was_killed
from evalsuite.scorers import SCORERS, worker_setup

# Seconds for a worker to end after it closed its pipe.
_END_SECONDS = 5.0
_CODE = "import sys; sys.path[:] = {path!r}; from evalsuite.runs.subprocess_worker import serve; serve()"


class _Pipes:
    """Two pipes as the one stream that frames need."""

    def __init__(self, source: IO[bytes], target: IO[bytes]) -> None:
        self._source, self._target = source, target

    def sendall(self, data: bytes, /) -> None:
        self._target.write(data)
        self._target.flush()

    def recv_into(self, buffer: memoryview, nbytes: int, /) -> int:
        return self._source.readinto1(buffer[:nbytes])  # type: ignore[attr-defined, no-any-return]


class _SubprocessWorker:
    """One interpreter. Raises `EvalsuiteError` if it cannot be started."""

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
            raise start_error() from None
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
            raise start_error()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def score(self, task: Task, order: str, *, is_last: bool = False) -> Result | str:
        """Return the result of a task; a fault of the answer if its time is over or the worker dies of it.

        Return an order instead if the task must be scored again: alone if the operating system killed the worker, unless this `is_last` of
        its attempts, and under the official rules only if just the strict ones took too long.
        """
        started, seconds = now(), answer_seconds(task.limits, size_of(task), with_gold_query=bool(task.databases))
        over: list[Verdict] = []

        def stop(verdict: Verdict) -> None:
            over.append(verdict)
            self.kill()

        alarm = Alarm(Clock(lambda: [self._process.pid], with_caller=True), seconds, stop)
        n_official = -1
        frame: bytes | None = OFFICIAL
        try:
            send(self._stream, pickle.dumps((order, task)))
            while frame == OFFICIAL:
                n_official, frame = n_official + 1, receive(self._stream, most=LONGEST_RESULT)
            result = reported_result(frame, task.instance.instance_id) if frame is not None else None
        except (ClosedError, OSError, ValueError):
            result = None
        alarm.cancel()
        if result is not None:
            return result
        by_system = not over and was_killed(self._ended())
        self.kill()
        if by_system and not is_last:
            return order
        if over == ["late"] and n_official > 0 and order == JUDGE:
            return JUDGE_OFFICIAL
        if over or by_system:
            what = "the worker of the answer, twice, then alone"
            fault = timeout_error(over[0], "the answer", seconds).fault if over else killed(what)
        else:
            fault = Fault(code="WORKER_DIED", detail="the worker died while the answer was being read or compared")
        if side_of(fault) == "setup":
            return unjudged(task, fault, seconds=now() - started)
        return faulty(task, fault, status="timeout" if over else "crashed", seconds=now() - started)

    def _ended(self) -> int:
        """Return its exit status, 0 while it runs."""
        try:
            return self._process.wait(timeout=_END_SECONDS)
        except subprocess.TimeoutExpired:
            return 0

    def kill(self) -> None:
        # Without SIGKILL, as on Windows, terminating a process kills it.
        end = self._process.kill if hasattr(signal, "SIGKILL") else self._process.terminate
        end()
        self._process.wait()


def subprocess_results(
    tasks: Sequence[Task],
    *,
    jobs: int,
    gold_inodes: frozenset[Inode],
    order: str,
    budget: Budget,
) -> Iterator[Result]:
    """Yield one result per task as soon as it is known; `jobs` workers in parallel, started on demand and ended with the last task."""
    own, workers = threading.local(), list[_SubprocessWorker]()
    setup = _setup(tasks[0].limits, gold_inodes)

    def score(task: Task, order: str, *, is_last: bool = False) -> Result | tuple[Task, str]:
        if not is_last and not budget.spend(size_of(task)):
            return out_of_budget(task, budget)
        if (worker := getattr(own, "worker", None)) is None or not worker.alive:
            worker = own.worker = _SubprocessWorker(setup, task.submission_folder)
            workers.append(worker)
        told = worker.score(task, order, is_last=is_last)
        return told if isinstance(told, Result) else (task, told)

    again: list[tuple[Task, str]] = []
    threads = ThreadPoolExecutor(max_workers=min(jobs, len(tasks)), thread_name_prefix="spawned")
    try:
        ordered = sorted(tasks, key=size_of, reverse=True)
        for done in as_completed([threads.submit(score, task, order) for task in ordered]):
            if isinstance(scored := done.result(), Result):
                yield scored
            else:
                again.append(scored)
        while again:
            # When nothing else runs.
            if isinstance(scored := score(*again.pop(), is_last=True), Result):
                yield scored
            else:
                again.append(scored)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        for worker in list(workers):
            worker.kill()
        threads.shutdown(wait=True)


def _setup(limits: Mapping[str, int | float], gold_inodes: frozenset[Inode]) -> bytes:
    told = {"limits": dict(limits), "gold_inodes": gold_inodes}
    return pickle.dumps({**told, **worker_setup()})


def serve() -> None:
    """Score what the parent sends until it closes the pipe. The frames come from the trusted side."""
    from evalsuite.runs.run_files import whole_line
    from evalsuite.runs.task_execution import score_task
    from evalsuite.sandbox.windows_job import limit_by_job

    stream = _Pipes(sys.stdin.buffer, os.fdopen(os.dup(1), "wb"))
    OFFICIAL_CALLBACK.set(lambda _: send(stream, OFFICIAL))
    # What a scorer prints is no frame.
    os.dup2(2, 1)
    setup = pickle.loads(receive(stream, most=LONGEST_ORDER) or b"")
    SCORERS.register_all(setup["plugins"], setup["metrics"])
    limit_by_job(int(setup["limits"]["memory_mib"]) << 20)
    send(stream, b"ready")
    while (frame := receive(stream, most=LONGEST_ORDER)) is not None:
        order, task = pickle.loads(frame)
        send(stream, whole_line(score_task(task, setup["gold_inodes"], order)).encode())
