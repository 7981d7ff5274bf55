"""Progress of unfinished runs from their journals, and a stream of server-sent events."""

import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evalsuite.reports.viewer.library import Library, stamp_of, unfinished
from evalsuite.reports.viewer.query import made_at, safe_id, utc
from evalsuite.runs.history import part_asked_for
from evalsuite.runs.run_files import read_json
from evalsuite.runs.run_folder import RESULTS, RUN, STARTED

LOCKS = Path("/proc/locks")
# Without a list of locks from the kernel, a journal unchanged for this long counts as abandoned.
QUIET_SECONDS = 60.0
TICK_SECONDS = 1.0
# Below the idle timeouts of proxies and browsers; a comment line keeps the stream open.
TICKS_TO_PING = 15
# Most bytes of a journal that are read: 64 MiB are 200,000 results of the usual size.
MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """An unfinished run. `n_total` is None if unknown; `score` is the mean of the results so far.

    `state` is "running", or "interrupted" if no process has locked it; `--resume` continues it.
    """

    id: str
    name: str
    suite_name: str
    state: str
    started_at: str
    last_result_at: str | None
    n_done: int
    n_total: int | None
    n_right: int
    score: float | None


class Journals:
    """Progress of unfinished runs; each journal is read on from its last position."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._seen: dict[Path, _Journal] = {}

    def all(self) -> list[Progress]:
        """Return every unfinished run, newest first."""
        folders = list(unfinished(self._library.sources))
        for gone in set(self._seen) - set(folders):
            del self._seen[gone]
        found = [progress for folder in folders if (progress := self._progress_of(folder)) is not None]
        return sorted(found, key=lambda progress: (progress.started_at, progress.id), reverse=True)

    def fingerprint(self) -> tuple[int, ...]:
        """Return a value that changes only with the finished runs."""
        return stamp_of(*(path for source in self._library.sources for path in source.watched()))

    def _progress_of(self, folder: Path) -> Progress | None:
        started = read_json(folder / STARTED)
        if not isinstance(started, dict) or (folder / RUN).exists():
            return None
        begun = stamp_of(folder / STARTED)[1] / 1e9
        journal = self._seen.setdefault(folder, _Journal(folder / RESULTS))
        journal.read_on()
        name, total = self._known_of_suite(started)
        return Progress(
            id=safe_id(folder.name),
            name=folder.name,
            suite_name=name,
            state=_state_of(folder, journal.touched or begun),
            started_at=made_at(folder.name) or utc(begun),
            last_result_at=utc(journal.touched) if journal.n else None,
            n_done=journal.n,
            n_total=total,
            n_right=journal.n_right,
            score=journal.points / journal.n_judged if journal.n_judged else None,
        )

    def _known_of_suite(self, started: Mapping[str, Any]) -> tuple[str, int | None]:
        """Return (suite name, number of instances) from the start of the run, else from an earlier whole run over the same gold."""
        if isinstance(started.get("n_instances"), int):
            return str(started.get("suite", "")), int(started["n_instances"])
        gold = _gold_hash(str(started.get("signature", "")))
        options = started.get("options")
        part = isinstance(options, dict) and bool(part_asked_for(options))
        for suite in self._library.suites() if gold else ():
            for run in suite.runs:
                if run.run["gold"].get("hash") == gold:
                    return suite.name, None if part else int(run.run["gold"].get("n_instances") or 0) or None
        return "", None


class _Journal:
    """Counts of one growing `results.jsonl`."""

    def __init__(self, path: Path) -> None:
        self._path, self._at, self._inode = path, 0, 0
        self.touched = 0.0
        self._forget_counts()

    def _forget_counts(self) -> None:
        self._at = self.n = self.n_right = self.n_judged = 0
        self.points = 0.0

    def read_on(self) -> None:
        """Count the complete lines since the last call; start again if the file was replaced or truncated."""
        try:
            with self._path.open("rb") as lines:
                file = os.fstat(lines.fileno())
                if file.st_ino != self._inode or file.st_size < self._at:
                    self._forget_counts()
                    self._inode = file.st_ino
                self.touched = file.st_mtime
                lines.seek(self._at)
                data = lines.read(MOST_BYTES)
        except OSError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._at += len(whole)
        for line in whole.splitlines():
            self._count_result(line)

    def _count_result(self, line: bytes) -> None:
        try:
            score = json.loads(line)["score"]
        except (ValueError, KeyError, TypeError):
            return
        self.n += 1
        if isinstance(score, int | float):
            self.n_judged += 1
            self.points += score
            self.n_right += score == 1


def _gold_hash(signature: str) -> str:
    return dict(part.partition(":")[::2] for part in signature.split("|")).get("gold", "")


def _state_of(folder: Path, touched: float) -> str:
    """Return whether a process has locked the folder.

    The lock is looked up, not taken: even a short lock could stop a run from starting.
    """
    import time

    try:
        locks = LOCKS.read_text(encoding="ascii").splitlines()
        inode = folder.stat().st_ino
    except (OSError, ValueError):
        return "running" if time.time() - touched < QUIET_SECONDS else "interrupted"
    return "running" if any(f":{inode} " in line and "FLOCK" in line for line in locks) else "interrupted"


async def progress_events(journals: Journals) -> AsyncIterator[str]:
    """Yield server-sent events: `progress` with all unfinished runs if one changed, `changed` if finished runs changed."""
    import anyio

    last: Sequence[Progress] | None = None
    finished = await anyio.to_thread.run_sync(journals.fingerprint)
    for tick in range(1 << 30):
        now = await anyio.to_thread.run_sync(journals.all)
        if now != last:
            yield f"event: progress\ndata: {json.dumps([asdict(progress) for progress in now])}\n\n"
            last = now
        elif tick % TICKS_TO_PING == 0:
            yield ": still here\n\n"
        seen = await anyio.to_thread.run_sync(journals.fingerprint)
        if seen != finished:
            yield "event: changed\ndata: {}\n\n"
            finished = seen
        await anyio.sleep(TICK_SECONDS)
