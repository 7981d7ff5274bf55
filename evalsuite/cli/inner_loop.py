"""Scoring again with less waiting: stop at the first failure, only what failed last time, and once more whenever a file changes."""

import json
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.cli.options import RUNS
from evalsuite.errors import EXIT_OK, EvalsuiteError, UsageError

if TYPE_CHECKING:
    from evalsuite.reports.record import Record
    from evalsuite.run.asked import Options

# A look at the files takes at most about a tenth of the time between two looks, however many there are.
_SECONDS_BETWEEN = 0.3
_SHARE_OF_LOOKING = 10
Snapshot = dict[str, tuple[int, int]]


class FirstFailure(Exception):  # noqa: N818 - it is no error: it ends a run that was asked to end here
    """An instance that is not right, under `--exitfirst`; `row` is its line of `results.jsonl`."""

    def __init__(self, row: dict[str, Any], n_scored: int, folder: Path | None) -> None:
        super().__init__(row["instance_id"])
        self.row = row
        self.n_scored = n_scored
        self.folder = folder


def is_right(status: str, score: float | None) -> bool:
    """Whether an instance needs no second look: judged, with the full score."""
    return status == "scored" and score == 1


def last_failed(gold: Path, runs: Path = RUNS) -> tuple[str, ...]:
    """The ids that were not right when they were last scored against this gold folder, in gold order of their runs.

    A run of a part of gold counts for its part: from the newest run back to the last one of all of gold, each instance is taken from the
    newest run that has it. Raises `UsageError` where there is no run of this gold.
    """
    from evalsuite.store.history import find_runs, part_asked_for

    right: dict[str, bool] = {}
    entries = [entry for entry in find_runs(runs) if Path(str(entry.run.get("gold", {}).get("folder"))).resolve() == gold.resolve()]
    if not entries:
        raise UsageError(f"no earlier run of {gold} in {runs}", hint="run without --lf first")
    # Names say the second; runs of one second are told apart by when they were finished.
    entries.sort(key=lambda entry: (entry.name[:15], (entry.folder / "run.json").stat().st_mtime_ns))
    for entry in reversed(entries):
        for result in entry.results():
            right.setdefault(result.instance_id, is_right(result.status, result.score))
        if not part_asked_for(entry.run.get("options", {})):
            break
    return tuple(name for name, was_right in right.items() if not was_right)


class StopAtFirst:
    """A progress callback that raises `FirstFailure`, so that the run ends with its folder as it is: unfinished, to be resumed.

    It reads the journal that the run writes; `folder` is the run folder. What a resumed run already holds was looked at before.
    """

    def __init__(self, folder: Path, progress: Callable[[int, int], None], *, saved: bool, resumed: bool) -> None:
        from evalsuite.store.run_folder import RESULTS

        self._journal = folder / RESULTS
        # A half-written last line is cut off before the run goes on.
        self._read = self._journal.read_bytes().rfind(b"\n") + 1 if resumed and self._journal.exists() else 0
        self._progress = progress
        self._folder = folder if saved else None

    def __call__(self, done: int, total: int) -> None:
        self._progress(done, total)
        with self._journal.open("rb") as journal:
            journal.seek(self._read)
            new = journal.read()
        self._read += len(new)
        for line in new.splitlines():
            row = json.loads(line)
            if not is_right(row["status"], row["score"]):
                raise FirstFailure(row, done, self._folder)


def with_known_folder(options: "Options", label: str, spare: Path) -> "Options":
    """The options with a run folder that is known before the run: the one asked for, a new one, or `spare` where nothing is to be saved."""
    from dataclasses import replace

    from evalsuite.store.new_folders import new_folder

    if options.resume is not None or options.out is not None:
        return options
    return replace(options, save=True, out=new_folder(options.runs_folder, label) if options.save else spare)


class Moves:
    """What moved between two rounds of a watch. The first round has nothing to be held to."""

    def __init__(self) -> None:
        self._before: tuple[dict[str, str], str] | None = None

    def since_last(self, record: "Record") -> list[str]:
        """Lines for a person: the instances that are now something else (`moved: sales_004 wrong to right`), and the score."""
        from evalsuite.outcome import kind_of, sign_of
        from evalsuite.reports.words import score_words, some

        kinds = [(result.instance_id, kind_of(result), result.score) for result in record.results]
        now = {id_: sign_of(score) if kind.name == "partial" else kind.words for id_, kind, score in kinds}
        score = score_words(record.summary)
        last, self._before = self._before, (now, score)
        if last is None:
            return []
        before, score_before = last
        moved = [f"{id_} {before.get(id_, 'not asked')} to {words}" for id_, words in now.items() if before.get(id_) != words]
        moved += [f"{id_} is gone" for id_ in before if id_ not in now]
        return [f"moved: {some(moved)}", f"score: {score_before} to {score}"] if moved else ["moved: nothing"]


def watch(places: Sequence[Path], once: Callable[[], int], *, written: Sequence[Path] = ()) -> int:
    """Call `once`, and again whenever a file of the places changes, until the user stops it (KeyboardInterrupt) or nobody reads on.

    What `once` writes itself, `written`, is no change. An error a person should see is printed, and the watch goes on: a half-written
    file is what a watch meets.
    """
    from evalsuite.cli.output_streams import stdout_failure
    from evalsuite.reports.clean import clean

    look = partial(snapshot, places, frozenset(map(os.path.realpath, written)))
    code, seen = EXIT_OK, look()
    while True:
        try:
            code = once()
        except EvalsuiteError as error:
            print(f"error: {clean(error.message)}", flush=True)
        if stdout_failure() is not None:
            return code
        try:
            print("watching for changes; Ctrl-C stops", flush=True)
            changed, seen = _next_change(look, seen)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"stopped watching; the last run ended with exit code {code}") from None
        print(f"\nchanged: {clean(', '.join(changed[:3]))}{' ...' if len(changed) > 3 else ''}\n", flush=True)


def snapshot(places: Sequence[Path], but: Collection[str] = ()) -> Snapshot:
    """Path -> (time of change in ns, size in bytes) of the files among the places and of every file below the folders among them.

    Links are not followed; the real paths of `but` are left out, with all that lies below them.
    """
    found: Snapshot = {}
    for path in _files(places, but):
        with suppress(OSError):
            stat = os.lstat(path)
            found[path] = (stat.st_mtime_ns, stat.st_size)
    return found


def _files(places: Sequence[Path], but: Collection[str]) -> Iterator[str]:
    for one in places:
        if not one.is_dir():
            yield str(one)
        for place, inner, names in os.walk(one):
            real = os.path.realpath(place) if but else place
            # Databases and editors leave files of their own beside what was handed in; hidden folders are nobody's answer.
            inner[:] = [name for name in inner if not name.startswith(".") and os.path.join(real, name) not in but]  # noqa: PTH118
            yield from (
                os.path.join(place, name)  # noqa: PTH118 - asked often
                for name in names
                if not name.startswith(".") and os.path.join(real, name) not in but  # noqa: PTH118
            )


def _next_change(look: Callable[[], Snapshot], before: Snapshot) -> tuple[list[str], Snapshot]:
    """Wait for a change and then for quiet: the paths that changed, and how the places look then."""
    last = before
    while True:
        started = time.monotonic()
        now = look()
        if now == last and now != before:
            return sorted(path for path in now.keys() | before.keys() if now.get(path) != before.get(path)), now
        last = now
        time.sleep(max(_SECONDS_BETWEEN, _SHARE_OF_LOOKING * (time.monotonic() - started)))
