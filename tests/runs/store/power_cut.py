"""`python -m tests.runs.store.power_cut FOLDER STEP`: the power fails before every STEP-th change that a run or a site makes.

What a program wrote is on the disk once it called `fsync` on the file, and a name once it called it on the folder. `Disk` keeps track of
both in the process that writes, and leaves the folder as a failing machine could: names without content (as a file system that orders
only its own changes), zeros in place of content, or neither names nor content. Prints the moments, and what came out wrong, as JSON.
"""

import json
import os
import shutil
import stat
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

from evalsuite.cli import main
from evalsuite.runs.run_files import is_intact
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.scoring import run
from evalsuite.sandbox.fork_server import fork_server_for, share
from tests.cli.test_run import text_gold, text_submission
from tests.runs.made import without_seconds, without_times
from tests.runs.store.every_moment import HERE, go_on, killed

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
    gold = text_gold(folder / "gold", a="Paris", b="Rome", c="Oslo")
    submission, other = (text_submission(folder / name, a=name, b="It is Rome", c="Oslo") for name in ("one", "two"))
    whole, wrong = run(submission, gold, RunOptions(out=folder / "whole", **HERE)).folder, []
    assert whole is not None
    if earlier:
        run(other, gold, RunOptions(out=folder / "earlier", **HERE))

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
    base = Path(sys.argv[1])
    # The disk of this machine has no part in it.
    os.fsync = lambda _: None
    with fork_server_for() as server, share(server):
        # The longer ones in larger steps.
        step = int(sys.argv[2])
        found = {
            "new": cut_runs(base / "new", step, earlier=False),
            "earlier": cut_runs(base / "earlier", 2 * step - 1, earlier=True),
            "site": cut_sites(base / "site", 4 * step - 3),
        }
    print(json.dumps(found))
