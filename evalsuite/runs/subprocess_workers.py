"""Executor for systems without fork: interpreters that take one answer at a time over a pipe, in as many threads as there are jobs."""

import contextlib
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from evalsuite.core.errors import timeout_error
from evalsuite.core.import_ref import LazyModule
from evalsuite.core.types import Result, Task
from evalsuite.readers.paths import Inode
from evalsuite.runs.instance_checks import JUDGE, JUDGE_OFFICIAL, fault_of_end, fault_result, opens_files, out_of_budget
from evalsuite.runs.run_files import result_of_worker
from evalsuite.sandbox.fork_server import import_path, start_error, worker_environment
from evalsuite.sandbox.limits import Alarm, Budget, Clock, Verdict, answer_seconds, killed_fault, limit_by_job, size_of
from evalsuite.sandbox.linux_layers import was_killed
from evalsuite.sandbox.messages import (
    DATA,
    END,
    LONGEST_REQUEST,
    LONGEST_RESULT,
    OFFICIAL,
    ClosedError,
    pack_call,
    pack_tasks,
    receive,
    reply,
    send,
)
from evalsuite.scorers import SCORERS, worker_setup

if TYPE_CHECKING:
    import subprocess
else:
    subprocess = LazyModule("subprocess")

_SCORE = "evalsuite.runs.answer_workers:score_answers"

# Seconds for a worker to end after it closed its pipe.
_END_SECONDS = 5.0
_CODE = "import sys; sys.path[:] = {path!r}; from evalsuite.runs.subprocess_workers import serve; serve()"


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
        except OSError as error:
            raise start_error(error) from None
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
            self.close()
            raise start_error("it ended before it was ready")

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def score(self, task: Task, order: str, *, is_last: bool = False) -> Result | str:
        """Return the result of a task; a fault of the answer if its time is over or the worker dies of it.

        Return an order instead if the task must be scored again: alone if the operating system killed the worker, unless this `is_last` of
        its attempts, and under the official rules only if just the strict ones took too long.
        """
        started, seconds = time.monotonic(), answer_seconds(task.limits, size_of(task), with_gold_query=bool(task.databases))
        over: list[Verdict] = []

        def stop(verdict: Verdict) -> None:
            over.append(verdict)
            self.kill()

        alarm = Alarm(Clock(lambda: [self._process.pid], with_caller=True), seconds, stop)
        n_official, result = 0, None
        try:
            send(self._stream, pack_call(_SCORE, order, pack_tasks([task])))
            while (frame := receive(self._stream, most=LONGEST_RESULT)) not in (None, END):
                n_official += frame == OFFICIAL
                result = result_of_worker(frame[1:], task.instance.instance_id) if frame and frame[:1] == DATA else result
        except (ClosedError, OSError, ValueError):
            result = None
        alarm.cancel()
        if result is not None:
            return result
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_END_SECONDS)
        by_system = not over and was_killed(self._process.returncode or 0)
        self.kill()
        if by_system and not is_last:
            return order
        if over == ["late"] and n_official > 0 and order == JUDGE:
            return JUDGE_OFFICIAL
        if over or by_system:
            what = "the worker of the answer, twice, then alone"
            fault = timeout_error(over[0], "the answer", seconds).fault if over else killed_fault(what)
        else:
            status = self._process.returncode or 0
            fault = fault_of_end(task, status, by_scorer=not opens_files(task), stage="read or compared")
        return fault_result(task, fault, status="timeout" if over else "crashed", seconds=time.monotonic() - started)

    def kill(self) -> None:
        # Without SIGKILL, as on Windows, terminating a process kills it.
        end = self._process.kill if hasattr(signal, "SIGKILL") else self._process.terminate
        end()
        self._process.wait()

    def close(self) -> None:
        """Close the pipes of a worker that was killed, from which no thread reads any more."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def subprocess_results(tasks: Sequence[Task], *, jobs: int, gold_inodes: frozenset[Inode], order: str, budget: Budget) -> Iterator[Result]:
    """Yield one result per task as soon as it is known; `jobs` workers in parallel, started on demand and ended with the last task."""
    from concurrent.futures import ThreadPoolExecutor, as_completed

    thread_state, workers = threading.local(), list[_SubprocessWorker]()
    setup = pickle.dumps({"limits": dict(tasks[0].limits), "gold_inodes": gold_inodes, **worker_setup()})

    def score(task: Task, order: str, *, is_last: bool = False) -> Result | tuple[Task, str]:
        if not is_last and not budget.spend(size_of(task)):
            return out_of_budget(task, budget)
        if (worker := getattr(thread_state, "worker", None)) is None or not worker.alive:
            worker = thread_state.worker = _SubprocessWorker(setup, task.submission_folder)
            workers.append(worker)
        scored = worker.score(task, order, is_last=is_last)
        return scored if isinstance(scored, Result) else (task, scored)

    retries: list[tuple[Task, str]] = []
    threads = ThreadPoolExecutor(max_workers=min(jobs, len(tasks)), thread_name_prefix="spawned")
    try:
        ordered = sorted(tasks, key=size_of, reverse=True)
        for done in as_completed([threads.submit(score, task, order) for task in ordered]):
            if isinstance(scored := done.result(), Result):
                yield scored
            else:
                retries.append(scored)
        while retries:
            # When nothing else runs.
            if isinstance(scored := score(*retries.pop(), is_last=True), Result):
                yield scored
            else:
                retries.append(scored)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        for worker in list(workers):
            worker.kill()
        threads.shutdown(wait=True)
        for worker in workers:
            worker.close()


def serve() -> None:
    """Serve calls until the parent closes the pipe. The requests come from the trusted side."""
    from evalsuite.runs.answer_workers import LostError, set_gold_inodes
    from evalsuite.sandbox import worker_main

    stream = _Pipes(sys.stdin.buffer, os.fdopen(os.dup(1), "wb"))
    # What a scorer prints is no frame.
    os.dup2(2, 1)
    setup = pickle.loads(receive(stream, most=LONGEST_REQUEST) or b"")
    SCORERS.register_all(setup["plugins"], setup["metrics"])
    set_gold_inodes(setup["gold_inodes"])
    limit_by_job(int(setup["limits"]["memory_mib"]) << 20)
    send(stream, reply([]))
    try:
        worker_main.serve(stream, setup["limits"])
    except LostError as error:
        os._exit(worker_main.exit_status(error))
