"""`python -m tests.runs.store.every_moment FOLDER STEP`: a run killed before each change to its folder, then killed while it goes on.

Prints one JSON object: how many moments there were for a new folder and for one that holds an earlier run, and what came out wrong.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from evalsuite.core.errors import OutputError
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from evalsuite.sandbox.fork_server import fork_server_for, share
from tests.cli.test_run import text_gold, text_submission
from tests.runs.made import without_seconds, without_times

# Who reads the answers has no part in what is written: one worker, and no walls to build a thousand times.
HERE: dict[str, Any] = {"isolation": "none", "jobs": 1}
CHANGES = ("open", "os.mkdir", "os.rename", "os.remove")


def killed(work: Callable[[], object], folder: Path, moment: int, watcher: "Watcher | None" = None) -> bool:
    """Whether `work`, in a process of its own, came to its `moment`-th change in `folder`, and was killed just before it.

    Each change is one for the `watcher` too, and so is the end, before a kill or without one.
    """
    child = os.fork()
    if child == 0:
        changes = count(1)
        if watcher is not None:
            watcher.begin()

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            if event not in CHANGES or not str(arguments[0]).startswith(str(folder)) or (watcher is not None and watcher.is_busy):
                return
            if next(changes) == moment:
                if watcher is not None:
                    watcher.end()
                os.kill(os.getpid(), signal.SIGKILL)
            if watcher is not None:
                watcher.before_change()

        sys.addaudithook(hook)
        try:
            work()
        except BaseException:
            os._exit(1)
        if watcher is not None:
            watcher.end()
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == 1:
        raise RuntimeError(f"the work failed at moment {moment}")
    return status == -signal.SIGKILL


class Watcher(Protocol):
    """Looks at the folder in the process that changes it; what it does itself while `is_busy` is no change."""

    is_busy: bool

    def begin(self) -> None: ...
    def before_change(self) -> None: ...
    def end(self) -> None: ...


def go_on(submission: Path, gold: Path, out: Path) -> None:
    """What a user does after a kill: resume, or start anew where nothing had begun: no folder yet, or only the earlier run there."""
    if out.exists():
        try:
            run(submission, gold, RunOptions(resume=out, **HERE))
        except OutputError as error:
            if "is a finished run" not in error.message:
                raise
        else:
            return
    run(submission, gold, RunOptions(out=out, **HERE))


def walk(folder: Path, step: int, *, earlier: bool) -> tuple[int, list[str]]:
    """(n moments, what came out wrong) of a run into a new folder, or into one that holds an `earlier` run of another submission.

    Every `step // 10`-th moment is tried, and with each every `step`-th one at which it is killed again, other ones for each.
    """
    gold = text_gold(folder / "gold", a="Paris", b="Rome", c="Oslo")
    submission, other = (text_submission(folder / name, a=name, b="It is Rome", c="Oslo") for name in ("one", "two"))
    whole, wrong = run(submission, gold, RunOptions(out=folder / "whole", **HERE)).folder, []
    assert whole is not None
    if earlier:
        run(other, gold, RunOptions(out=folder / "earlier", **HERE))
    for moment in count(1, max(1, step // 10)):
        for second in count(1 + moment % step, step):
            out = folder / f"run-{moment}-{second}"
            if earlier:
                shutil.copytree(folder / "earlier", out)
            if not killed(lambda out=out: run(submission, gold, RunOptions(out=out, **HERE)), out, moment):
                return moment - 1, wrong
            again = killed(lambda out=out: go_on(submission, gold, out), out, second)
            go_on(submission, gold, out)
            if without_seconds(out) != without_seconds(whole) or without_times(out) != without_times(whole):
                wrong.append(f"killed before change {moment}, then before change {second}")
            if left := {path.name for path in out.iterdir()} - {"run.json", "results.jsonl"}:
                wrong.append(f"left after {moment}, {second}: {sorted(left)}")
            if earlier or not again:
                break
    raise AssertionError


if __name__ == "__main__":
    base = Path(sys.argv[1])
    # Workers never see the run folder: one fork server for all runs changes no write and no kill.
    with fork_server_for() as server, share(server):
        print(json.dumps({name: walk(base / name, int(sys.argv[2]), earlier=name == "earlier") for name in ("new", "earlier")}))
