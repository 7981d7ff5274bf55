"""Suites and runs as the viewer shows them, whatever kind of folder they came from, with the texts that were handed in.

What was read from files is kept in memory until the files change.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeVar

from evalsuite.readers.paths import metadata_name
from evalsuite.reports.record import Record
from evalsuite.store.history import CONTEXTS, LONGEST, submission_folder
from evalsuite.store.run_folder import RUN
from evalsuite.types import Result
from evalsuite.web.query import STAMP

Kind = Literal["suite", "gold", "bench"]
# Bench writes -1 where nobody could judge; of what has no bounds only this one truly goes below 0.
_GOES_BELOW_0 = "readability"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCase:
    """One question of a suite: its input and reference output where they are texts, and how it is scored."""

    id: str
    input: str = ""
    reference_output: str | None = None
    checks: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRun:
    """A finished run. `id` names it in addresses, `name` is what people called it; times are ISO 8601 in UTC."""

    id: str
    name: str
    suite_id: str
    suite_name: str
    created_at: str
    run: Mapping[str, Any]
    folder: Path
    tags: tuple[str, ...]
    record: Callable[[], Record]
    ended_ns: int = 0

    @property
    def made(self) -> tuple[str, int]:
        """By what runs are put in order of time: those of one second by when they ended."""
        return self.created_at, self.ended_ns

    @property
    def label(self) -> str:
        """The name without the time that a run folder's name begins with: the time stands beside it."""
        return STAMP.sub("", self.name) or self.name

    @property
    def summary(self) -> Mapping[str, Any]:
        """The `summary` object of `run.json`."""
        found: Mapping[str, Any] = self.run.get("summary") or {}
        return found

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What was said of the model."""
        found: Mapping[str, Any] = self.run.get("metadata") or {}
        return found

    @property
    def is_bounded(self) -> bool:
        """Whether there is a score in [0, 1]: what an unbounded metric alone has scored has only raw values."""
        by_scorer = self.summary.get("by_scorer") or {}
        if any("raw_interval_95" in row for row in by_scorer.values()):
            return any(row.get("score") is not None for row in by_scorer.values())
        return not by_scorer or any((row.get("score_high") or 0) - (row.get("score_low") or 0) < 1 for row in by_scorer.values())

    def average(self) -> float | None:
        """The score; for a run of an unbounded metric the mean of the raw values. None where there is neither."""
        if self.is_bounded:
            score = self.summary.get("score")
            return None if score is None else float(score)
        known = [value for value in map(value_of, self.record().results) if value is not None]
        return sum(known) / len(known) if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSuite:
    """A suite with its finished runs, newest first. `scoring_method` is {name, type, config, output_type, categories}."""

    id: str
    name: str
    kind: Kind
    description: str
    scoring_method: Mapping[str, Any]
    created_at: str
    updated_at: str
    runs: tuple[ShownRun, ...]
    scorers: tuple[str, ...]
    folder: Path | None = None
    hidden: bool = False
    cases: Callable[[], Sequence[ShownCase]] = field(default=tuple)

    @property
    def last_run_time(self) -> str | None:
        """When its newest run was made; None where it was never run."""
        return max((run.created_at for run in self.runs), default=None)


def value_of(result: Result) -> float | None:
    """The number to draw for a result: its score, else the raw value of a metric without bounds; None where nobody judged."""
    if result.score is not None:
        return result.score
    raw = result.details.get("raw")
    if not isinstance(raw, int | float) or isinstance(raw, bool) or raw != raw or abs(raw) == float("inf"):
        return None
    if raw == -1 and result.scorer != _GOES_BELOW_0:
        return None
    return float(raw)


Value = TypeVar("Value")
Stamp = tuple[int, ...]


class Kept:
    """The last `most` values by key, each with the stamp of the files it came from; safe to ask from several threads."""

    def __init__(self, most: int = 256) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, tuple[Stamp, Any]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, stamp: Stamp, make: Callable[[], Value]) -> Value:
        """The value of that key as it was made under this stamp, made now where there is none."""
        with self._lock:
            known = self._values.get(key)
            if known is not None and known[0] == stamp:
                self._values.move_to_end(key)
                value: Value = known[1]
                return value
        value = make()
        with self._lock:
            self._values[key] = (stamp, value)
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        return value


def stamp_of(*paths: Path) -> Stamp:
    """Size, times and inode of each file in turn; an absent one counts as zeros."""
    found: list[int] = []
    for path in paths:
        try:
            file = path.stat()
        except OSError:
            found += [0, 0, 0, 0]
        else:
            found += [file.st_size, file.st_mtime_ns, file.st_ctime_ns, file.st_ino]
    return tuple(found)


_outputs_kept, _contexts_kept = Kept(16), Kept(16)


def submission_of(record: Record) -> Path:
    """The submission's folder: as the run names it, seen from where runs are usually started."""
    if record.folder is None:
        return Path(str(record.run["submission"]["folder"]))
    return submission_folder(record.folder, record.run)


def handed_in_texts(record: Record) -> Mapping[str, str]:
    """Instance id -> the text that was handed in, cut at 20,000 characters; files, and a submission changed since the run, have none."""
    recorded = {r.instance_id: out[:LONGEST] for r in record.results if isinstance(out := r.details.get("output"), str)}
    if recorded or (folder := record.folder) is None:
        return recorded
    stamp = stamp_of(submission_of(record) / metadata_name(submission_of(record)), folder / RUN)
    return _outputs_kept.get(folder, stamp, lambda: _read_outputs(record, folder))


def handed_in_contexts(record: Record) -> Mapping[str, str]:
    """Instance id -> the context that a suite's run kept beside its answer, cut at 20,000 characters; empty where it kept none."""
    if record.folder is None:
        return {}
    from evalsuite.run.handed_in import walled_contexts

    folder, ids = submission_of(record), [result.instance_id for result in record.results]
    return _contexts_kept.get(record.folder, stamp_of(folder / CONTEXTS), lambda: walled_contexts(folder, ids))


def _read_outputs(record: Record, run_folder: Path) -> Mapping[str, str]:
    from evalsuite.run.handed_in import read_unchanged

    handed_in = read_unchanged(record.run, run_folder, [result.instance_id for result in record.results])
    answers = handed_in.answers if handed_in is not None else {}
    return {id_: str(answer.value)[:LONGEST] for id_, answer in answers.items() if answer.fault is None and answer.answer_type == "answer"}
