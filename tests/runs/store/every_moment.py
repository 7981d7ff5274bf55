"""`python -m tests.runs.store.every_moment kill|cut FOLDER STEP`: a run killed, or the power cut, before each STEP-th change that it makes.

A killed run is killed again while it goes on. What a program wrote is on the disk once it called `fsync` on the file, and a name once it
called it on the folder. `Disk` keeps track of both in the process that writes, and leaves the folder as a failing machine could: names
without content (as a file system that orders only its own changes), zeros in place of content, or neither names nor content. Power is cut
for sites too. Prints as JSON how many moments there were, and what came out wrong.
"""

import json
import os
import shutil
import signal
import stat
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from evalsuite.cli import main
from evalsuite.core.errors import OutputError
from evalsuite.runs.run_files import is_intact
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


def made(folder: Path, *, earlier: bool) -> tuple[Path, Path, Path]:
    """(submission, gold, a whole run of them) in the folder, with an `earlier` run of another submission."""
    gold = text_gold(folder / "gold", a="Paris", b="Rome", c="Oslo")
    submission, other = (text_submission(folder / name, a=name, b="It is Rome", c="Oslo") for name in ("one", "two"))
    run(submission, gold, RunOptions(out=folder / "whole", **HERE))
    if earlier:
        run(other, gold, RunOptions(out=folder / "earlier", **HERE))
    return submission, gold, folder / "whole"


def walk(folder: Path, step: int, *, earlier: bool) -> tuple[int, list[str]]:
    """(n moments, what came out wrong) of a run into a new folder, or into one that holds an `earlier` run of another submission.

    Every `step // 10`-th moment is tried, and with each every `step`-th one at which it is killed again, other ones for each.
    """
    submission, gold, whole, wrong = *made(folder, earlier=earlier), list[str]()
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


LOSSES = ("content", "zeros", "names")
MANY = 5


class Disk:
    """What of `root` is on the disk. What is there at the start is; everything stays open, so that no number of a file is used twice."""

    def __init__(self, root: Path, target: Path, loss: str) -> None:
        self._root, self._target, self._loss, self.is_busy, self._is_named = root, target, loss, False, root.exists()
        self._open: dict[int, int] = {}
        self._content: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {}

    def begin(self) -> None:
        """Watch this process."""
        os.fsync = self.fsync
        self.before_change()
        for number, descriptor in self._open.items():
            self._keep(number, Path(f"/proc/self/fd/{descriptor}").readlink())

    def before_change(self) -> None:
        """Open what is new."""
        self.is_busy = True
        for place, _, names in os.walk(self._root):
            for path in (Path(place), *(Path(place, name) for name in names)):
                if (number := path.stat().st_ino) not in self._open:
                    self._open[number] = os.open(path, os.O_RDONLY)
        self.is_busy = False

    def fsync(self, descriptor: int) -> None:
        """Note what is on the disk from now on."""
        self.before_change()
        self.is_busy = True
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        self._is_named |= path == self._root.parent
        if path.is_relative_to(self._root):
            self._keep(os.fstat(descriptor).st_ino, path)
        self.is_busy = False

    def _keep(self, number: int, path: Path) -> None:
        if path.is_dir():
            self._names[number] = {one.name: one.stat().st_ino for one in path.iterdir()}
        else:
            self._content[number] = path.read_bytes()

    def end(self) -> None:
        """Write to the target what is left of the root after the power cut; nothing if not even its name is."""
        self.before_change()
        self.is_busy = True
        if self._root.exists() and (self._loss != "names" or self._is_named):
            self._leave(self._root.stat().st_ino, self._target, self._loss)
        self.is_busy = False

    def _leave(self, number: int, target: Path, loss: str) -> None:
        descriptor = self._open[number]
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            target.mkdir()
            now = {name: os.stat(name, dir_fd=descriptor).st_ino for name in os.listdir(descriptor)}  # noqa: PTH208 - of a descriptor
            for name, inner in (self._names.get(number, {}) if loss == "names" else now).items():
                self._leave(inner, target / name, loss)
            return
        kept, size = self._content.get(number, b""), os.fstat(descriptor).st_size
        target.write_bytes(kept[:size] + b"\0" * (size - len(kept)) if loss == "zeros" else kept)


def is_believed(folder: Path) -> bool | None:
    """Whether a folder that says it is a finished run is one; None if it does not say so."""
    if not (folder / "run.json").exists():
        return None
    return is_intact((folder / "run.json").read_bytes(), (folder / "results.jsonl").read_bytes()) == (True, True)


def cut_runs(folder: Path, step: int, *, earlier: bool) -> tuple[int, list[str]]:
    """(n moments, what came out wrong) of a run into a new folder, or into one that holds an `earlier` run of another submission."""
    submission, gold, whole, wrong = *made(folder, earlier=earlier), list[str]()

    def fail(moment: int, loss: str) -> bool:
        out, left = folder / f"run-{moment}-{loss}", folder / f"left-{moment}-{loss}"
        if earlier:
            shutil.copytree(folder / "earlier", out)
        is_cut = killed(lambda: run(submission, gold, RunOptions(out=out, **HERE)), out, moment, Disk(out, left, loss))
        if is_believed(left) is False:
            wrong.append(f"{loss} lost before change {moment}: half a run is believed")
        if not is_cut and is_believed(left) is None:
            wrong.append(f"{loss} lost after the end: the finished run is lost")
        go_on(submission, gold, left)
        if without_seconds(left) != without_seconds(whole) or without_times(left) != without_times(whole):
            wrong.append(f"{loss} lost before change {moment}: the run that goes on differs")
        return is_cut

    return n_moments(step, fail), wrong


def cut_sites(folder: Path, step: int) -> tuple[int, list[str]]:
    """(n moments, what came out wrong) of a leaderboard that replaces its site of the day before: the old site or the new one is left."""
    gold = text_gold(folder / "gold", a="Paris", b="Rome")
    for name, answer in (("one", "Paris"), ("two", "Rome")):
        text_submission(folder / "subs" / name, a=answer, b="Rome")
    words = ["leaderboard", str(folder / "subs"), "--gold", str(gold), "--isolation", "none", "--runs", str(folder / "runs"), "--quiet"]

    def build(root: Path, day: int) -> dict[str, bytes]:
        os.environ["SOURCE_DATE_EPOCH"] = str(86400 * day)
        assert main([*words, "--site", str(root / "site"), "--private", str(folder / "private")]) == 0
        return pages(root / "site")

    first = folder / "first"
    before = build(first, 20000)
    shutil.copytree(folder / "private", folder / "private-before")
    shutil.copytree(first, folder / "second")
    after, wrong = build(folder / "second", 20001), []

    def fail(moment: int, loss: str) -> bool:
        root, left = folder / f"site-{moment}-{loss}", folder / f"left-{moment}-{loss}"
        shutil.copytree(first, root)
        shutil.rmtree(folder / "private")
        shutil.copytree(folder / "private-before", folder / "private")
        is_cut = killed(lambda: build(root, 20001), root, moment, Disk(root, left, loss))
        found = pages(left / "site")
        if found not in ((before, after) if is_cut else (after,)):
            other = sorted(name for name in {*before, *after, *found} if found.get(name) not in (before.get(name), after.get(name)))
            wrong.append(f"{loss} lost before change {moment}: neither the old site nor the new one: {other[:3]}")
        return is_cut

    return n_moments(step, fail), wrong


def n_moments(step: int, fail: Callable[[int, str], bool]) -> int:
    """How many moments there are, of which each `step`-th is tried; `fail` says whether there was one.

    Each kind of loss is tried at a moment in steps of less than `MANY`, else one after the other; after the end always each.
    """
    for turn, moment in enumerate(count(1, step)):
        tried = LOSSES if step < MANY else (LOSSES[turn % len(LOSSES)],)
        if False in [fail(moment, loss) for loss in tried]:
            for loss in {*LOSSES}.difference(tried):
                fail(moment, loss)
            return moment - 1
    raise AssertionError


def pages(site: Path) -> dict[str, bytes]:
    """The files of a site by name."""
    return {str(path.relative_to(site)): path.read_bytes() for path in sorted(site.rglob("*")) if path.is_file()}


if __name__ == "__main__":
    way, base, step = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    # Workers never see the run folder: one fork server for all runs changes no write and no kill.
    with fork_server_for() as server, share(server):
        if way == "kill":
            moments = {name: walk(base / name, step, earlier=name == "earlier") for name in ("new", "earlier")}
        else:
            # The disk of this machine has no part in it.
            os.fsync = lambda _: None
            # The longer ones in larger steps.
            moments = {name: cut_runs(base / name, n, earlier=name == "earlier") for name, n in (("new", step), ("earlier", 2 * step - 1))}
            moments["site"] = cut_sites(base / "site", 4 * step - 3)
    print(json.dumps(moments))
