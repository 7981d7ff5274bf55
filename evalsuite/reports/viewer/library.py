"""Find suites and runs under one or several folders, for each request; files are read again only if they changed.

Reads evalsuite's own folders and Arthur Bench folders (in place, nothing is written) as the same classes. The progress of unfinished runs
comes from their journals, also as a stream of server-sent events.
"""

import hashlib
import json
import os
import re
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeVar

from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.errors import EvalsuiteError, MachineError, UsageError
from evalsuite.core.files import exists, is_dir, is_file
from evalsuite.core.status import own_value
from evalsuite.core.types import Result
from evalsuite.gold.spec import question_of, reference_text
from evalsuite.readers.paths import metadata_name
from evalsuite.reports.document import percent
from evalsuite.reports.record import Record, record_of_entry, redact_record
from evalsuite.runs.history import CONTEXTS, LONGEST, TAGS, RunEntry, read_run, read_run_file, selected_part, submission_folder
from evalsuite.runs.run_files import read_json, why_no_run
from evalsuite.runs.run_folder import RESULTS, RUN, STARTED, holds_run, labels_path
from evalsuite.runs.run_options import signature_parts
from evalsuite.runs.summary import summarise
from evalsuite.stats.samples import mean
from evalsuite.suites.stored_suites import ScoringMethod, StoredSuite, read_suite_file
from evalsuite.suites.transfer import GOES_BELOW_0, NO_VERDICT, bench_run, bench_suite

Kind = Literal["suite", "gold", "bench"]
ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")

STAMP = re.compile(r"^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)-")


def safe_id(text: str) -> str:
    """Return the text if it is a valid id, else 16 hex digits of its hash."""
    if ID.fullmatch(text) and ".." not in text:
        return text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def utc(seconds: float) -> str:
    """Format seconds since 1970 as `2026-11-21T14:03:22+00:00`."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def creation_time(folder_name: str) -> str | None:
    """Return the time at the start of a run folder's name, None if there is none."""
    stamp = STAMP.match(folder_name)
    if stamp is None:
        return None
    try:
        return datetime(*map(int, stamp.groups()), tzinfo=UTC).isoformat(timespec="seconds")  # type: ignore[arg-type,misc]
    except ValueError:
        return None


class BadQueryError(EvalsuiteError):
    """An invalid request: HTTP 422."""


class NotThereError(EvalsuiteError):
    """An unknown suite, run or instance: HTTP 404."""


def check_id(text: str) -> str:
    """Return the id of a suite or run. Raises `BadQueryError` for an invalid id."""
    if not ID.fullmatch(text) or ".." in text:
        raise BadQueryError(f"not an id: {text[:80]!r}", hint="letters, digits, dot, hyphen and underscore")
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseView:
    """One question of a suite: input and reference if they are texts, and the scoring."""

    id: str
    input: str = ""
    reference_output: str | None = None
    checks: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A finished run. `id` is its address, `name` its display name; times are ISO 8601 in UTC."""

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
    def time_key(self) -> tuple[str, int]:
        """Sort key of time; runs of the same second are ordered by their end."""
        return self.created_at, self.ended_ns

    @property
    def label(self) -> str:
        """The name without the time prefix of a run folder."""
        return STAMP.sub("", self.name) or self.name

    @property
    def summary(self) -> Mapping[str, Any]:
        """The `summary` object of `run.json`."""
        return dict(self.run.get("summary") or {})

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata of the model."""
        return dict(self.run.get("metadata") or {})

    @property
    def is_bounded(self) -> bool:
        """Whether there is a score in [0, 1]; an unbounded metric alone has only raw values."""
        by_scorer = self.summary.get("by_scorer") or {}
        if any("raw_interval_95" in row for row in by_scorer.values()):
            return any(row.get("score") is not None for row in by_scorer.values())
        return not by_scorer or any((row.get("score_high") or 0) - (row.get("score_low") or 0) < 1 for row in by_scorer.values())

    def average(self) -> float | None:
        """The score; for a run of an unbounded metric the mean of the raw values. None where there is neither, or it is damaged."""
        if self.is_bounded:
            score = self.summary.get("score")
            return None if score is None else float(score)
        try:
            values = [value for value in map(value_of, self.record().results) if value is not None]
        except DamagedRunError:
            return None
        return mean(values) if values else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteView:
    """A suite with its finished runs, newest first. `scoring_method` is {name, type, config, output_type, categories}."""

    id: str
    name: str
    kind: Kind
    description: str
    scoring_method: Mapping[str, Any]
    created_at: str
    updated_at: str
    runs: tuple[RunView, ...]
    scorers: tuple[str, ...]
    folder: Path | None = None
    hidden: bool = False
    cases: Callable[[], Sequence[CaseView]] = field(default=tuple)

    @property
    def last_run_time(self) -> str | None:
        """The time of its newest run; None if there is none."""
        return max((run.created_at for run in self.runs), default=None)


def value_of(result: Result) -> float | None:
    """Return the number to draw for a result: its score, else the raw value of an unbounded metric; None if unjudged."""
    if result.score is not None:
        return result.score
    raw = own_value(result)
    return None if raw == NO_VERDICT and result.scorer != GOES_BELOW_0 else raw


Value = TypeVar("Value")
Stamp = tuple[int, ...]


class DamagedRunError(NotThereError):
    """A run that cannot be read; `run` is its name, `suite_id` that of its suite, empty if unknown."""

    def __init__(self, run: str, why: str, suite_id: str = "", *, is_here: bool = True) -> None:
        words, hint = f"is damaged: {why}", "copy it again, or score the submission again"
        if not is_here:
            words, hint = "cannot be read on this machine", "check the disk and the permissions"
        super().__init__(f"run {run!r} {words}", hint=hint)
        self.run, self.suite_id = run, suite_id


class StampedCache:
    """Cache of the last `most` values by key, each with the stamp of its files; thread-safe."""

    def __init__(self, most: int = 256) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, tuple[Stamp, Any]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, stamp: Stamp, make: Callable[[], Value]) -> Value:
        """Return the cached value of a key if its stamp is unchanged, else make it."""
        with self._lock:
            entry = self._values.get(key)
            if entry is not None and entry[0] == stamp:
                self._values.move_to_end(key)
                value: Value = entry[1]
                return value
        value = make()
        with self._lock:
            self._values[key] = (stamp, value)
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        return value


def stamp_of(*paths: Path) -> Stamp:
    """Return size, times and inode of each file; zeros for an absent one."""
    stamp: list[int] = []
    for path in paths:
        try:
            file = path.stat()
        except OSError:
            stamp += [0, 0, 0, 0]
        else:
            stamp += [file.st_size, file.st_mtime_ns, file.st_ctime_ns, file.st_ino]
    return tuple(stamp)


_outputs_kept, _contexts_kept = StampedCache(16), StampedCache(16)


def submission_of(record: Record) -> Path:
    """Return the submission folder of a run, resolved from the usual working directories."""
    if record.folder is None:
        return Path(str(record.run["submission"]["folder"]))
    return submission_folder(record.folder, record.run)


def submitted_texts(record: Record) -> Mapping[str, str]:
    """Map ids to submitted texts, cut at 20,000 characters; files, and submissions changed since the run, have none."""
    recorded = {r.instance_id: out[:LONGEST] for r in record.results if isinstance(out := r.details.get("output"), str)}
    if recorded or (folder := record.folder) is None:
        return recorded
    stamp = stamp_of(submission_of(record) / metadata_name(submission_of(record)), folder / RUN)
    return _outputs_kept.get(folder, stamp, lambda: _read_outputs(record, folder))


def submitted_contexts(record: Record) -> Mapping[str, str]:
    """Map ids to the contexts saved with a suite's run, cut at 20,000 characters; empty if none were saved."""
    if record.folder is None:
        return {}
    from evalsuite.runs.submission_reader import read_contexts

    folder, ids = submission_of(record), [result.instance_id for result in record.results]
    return _contexts_kept.get(record.folder, stamp_of(folder / CONTEXTS), lambda: read_contexts(folder, ids))


def _read_outputs(record: Record, run_folder: Path) -> Mapping[str, str]:
    from evalsuite.runs.submission_reader import read_unchanged

    submission = read_unchanged(record.run, run_folder, [result.instance_id for result in record.results])
    answers = submission.answers if submission is not None else {}
    return {id_: str(answer.value)[:LONGEST] for id_, answer in answers.items() if answer.fault is None and answer.answer_type == "answer"}


INDEX, SUITE, BENCH_RUN = "suite_id_to_name.json", "suite.json", "run.json"


def is_bench(folder: Path) -> bool:
    """Return whether a folder is a Bench folder: its index, or a `<suite>/suite.json` without a gold folder next to it."""
    return is_file(folder / INDEX) or any(not is_dir(path.parent / "gold") for path in folder.glob(f"*/{SUITE}"))


class BenchFolder:
    """The suites of one Bench folder; `notes` lists unreadable parts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._kept = StampedCache(2048)

    def watched_paths(self) -> list[Path]:
        """The files and folders that indicate changes."""
        return [self.folder, *sorted(self.folder.glob("*")), *sorted(self.folder.glob("*/*/run.json"))]

    def suites(self) -> Iterator[SuiteView]:
        """Return every readable suite, in folder order."""
        for path in sorted(self.folder.glob(f"*/{SUITE}")):
            stored = self._kept.get(path, stamp_of(path), lambda path=path: _read_suite(path))  # type: ignore[misc]
            if stored is not None:
                yield suite_view(stored, "bench", path.parent, self._runs_of_suite(stored, path.parent))

    def _runs_of_suite(self, suite: StoredSuite, folder: Path) -> tuple[RunView, ...]:
        runs = []
        for path in sorted(folder.glob(f"*/{BENCH_RUN}")):
            run = self._kept.get((suite.id, path), stamp_of(path), lambda path=path: _read_run(suite, path))  # type: ignore[misc]
            if run is not None:
                runs.append(run)
        return tuple(sorted(runs, key=lambda run: run.created_at, reverse=True))


def _read_suite(path: Path) -> StoredSuite | None:
    """Read a suite with any scorer; None for a file that is not a suite."""
    defaults = {"id": f"bench:{path.parent.name}", "created_at": utc(path.stat().st_mtime)}
    data = {**defaults, **{key: value for key, value in _read_object(path).items() if value is not None}}
    try:
        suite = bench_suite(data, path, allows_nulls=True)
        method = data["scoring_method"]
        scoring_method = ScoringMethod(name=method, type="built_in", config={}) if isinstance(method, str) else ScoringMethod(method)
        return replace(suite, id=safe_id(suite.id), scoring_method=scoring_method)
    except (EvalsuiteError, AttributeError, KeyError, TypeError):
        return None


def _read_run(suite: StoredSuite, path: Path) -> RunView | None:
    data = _read_object(path)
    try:
        run, results = bench_run(suite, data, path)
    except (EvalsuiteError, AttributeError, KeyError, TypeError, ValueError):
        return None
    created = str(data.get("created_at") or "") or utc(path.stat().st_mtime)
    record = Record(
        name=str(data["name"]), run=run, results=tuple(results), summary=summarise(results, rules="strict"), folder=None
    )  # fmt: skip
    return RunView(
        id=safe_id(str(data.get("id") or f"bench:{path.parent}")),
        name=str(data["name"]),
        suite_id=suite.id,
        suite_name=suite.name,
        created_at=created,
        run=run,
        folder=path.parent,
        tags=(),
        record=lambda: record,
    )


def suite_view(suite: StoredSuite, kind: Kind, folder: Path, runs: tuple[RunView, ...]) -> SuiteView:
    """Return a named suite, made by evalsuite or Bench, whose gold is in the folder."""
    return SuiteView(
        id=safe_id(suite.id),
        name=suite.name,
        kind=kind,
        description=suite.description,
        scoring_method=suite.scoring_method,
        created_at=suite.created_at,
        updated_at=suite.updated_at,
        runs=runs,
        scorers=suite.scorers,
        folder=folder,
        cases=lambda: _cases_of(suite),
    )


def _cases_of(suite: StoredSuite) -> Sequence[CaseView]:
    """Return the cases of a named suite."""
    checks = tuple({"scorer": name, "parameters": dict(suite.method(name).get("config") or {})} for name in suite.scorers)
    return [CaseView(id=case.id, input=case.input, reference_output=case.reference_output, checks=checks) for case in suite.test_cases]


def _read_object(path: Path) -> Mapping[str, Any]:
    data = read_json(path)
    return data if isinstance(data, dict) else {}


ROOT = Path(".evalsuite")
BENCH_VARIABLE, BENCH_DEFAULT = "BENCH_FILE_DIR", Path("bench_runs")


class RunsFolder:
    """Evalsuite's own folders: runs, and the named suites next to them (`suites` None: no suites)."""

    def __init__(self, runs: Path, suites: Path | None) -> None:
        self.folder = runs
        self._suites = suites
        # More than usual numbers of runs: with a smaller cache each request would read all of them again.
        self._kept = StampedCache(32_768)
        # A record contains all results of a run; a few are enough to page through one or compare four.
        self._records = StampedCache(12)

    def run_folders(self) -> list[Path]:
        """Return every folder that is or may become a run."""
        if holds_run(self.folder):
            return [self.folder]
        return sorted(item for item in self.folder.iterdir() if is_dir(item)) if is_dir(self.folder) else []

    def watched_paths(self) -> list[Path]:
        """The run folders with their final files, and the suites."""
        suites = [self._suites, *sorted(self._suites.glob("*/suite.json"))] if self._suites is not None else []
        return [self.folder, *(folder / RUN for folder in self.run_folders()), *suites]

    def suites(self) -> Iterator[SuiteView]:
        """Return named suites, with or without runs, then every gold folder that a run names."""
        by_suite: dict[str, list[RunEntry]] = {}
        for entry in (entry for entry in self._entries() if isinstance(entry, RunEntry)):
            by_suite.setdefault(_suite_id(entry), []).append(entry)
        for path in sorted(self._suites.glob("*/suite.json")) if self._suites is not None else ():
            stored = self._kept.get(path, stamp_of(path), lambda path=path: read_suite_file(path))  # type: ignore[misc]
            if stored is not None:
                yield suite_view(stored, "suite", path.parent / "gold", self._run_views(stored.id, by_suite.pop(stored.id, [])))
        for id_, entries in by_suite.items():
            yield self._suites_of_runs(id_, self._run_views(id_, entries))

    def damaged_runs(self) -> list[DamagedRunError]:
        """The finished runs that are in no suite, since their `run.json` cannot be read."""
        return [entry for entry in self._entries() if isinstance(entry, DamagedRunError)]

    def _entries(self) -> Iterator[RunEntry | DamagedRunError | None]:
        for folder in self.run_folders():
            stamp = stamp_of(folder / RUN, folder / TAGS)
            yield self._kept.get(folder, stamp, lambda folder=folder: _entry_or_fault(folder))  # type: ignore[misc]

    def _run_views(self, suite_id: str, entries: Sequence[RunEntry]) -> tuple[RunView, ...]:
        runs = [self._run_view(entry, suite_id) for entry in entries]
        return tuple(sorted(runs, key=lambda run: (run.time_key, run.id), reverse=True))

    def _run_view(self, entry: RunEntry, suite_id: str) -> RunView:
        return RunView(
            id=safe_id(entry.name),
            name=str(entry.metadata.get("run_name") or entry.name),
            suite_id=suite_id,
            suite_name=entry.suite,
            created_at=creation_time(entry.name) or utc((entry.folder / RUN).stat().st_mtime),
            run=entry.run,
            folder=entry.folder,
            tags=entry.tags,
            record=lambda: self._record(entry),
            ended_ns=stamp_of(entry.folder / RUN)[1],
        )

    def _record(self, entry: RunEntry) -> Record:
        """Return the record at the reveal level of the suite: everything unless its gold is hidden."""
        from evalsuite.runs.submission_reader import saved_exchanges

        stamp = stamp_of(entry.folder / RUN, entry.folder / RESULTS, labels_path(entry.folder))
        try:
            return self._records.get(entry.folder, stamp, lambda: redact_record(record_of_entry(entry, exchanges=saved_exchanges(entry))))
        except (OSError, ValueError, TypeError, KeyError, EvalsuiteError) as error:
            is_here = not isinstance(error, OSError | MachineError)
            raise DamagedRunError(entry.name, "its results cannot be read", _suite_id(entry), is_here=is_here) from error

    def _suites_of_runs(self, id_: str, runs: tuple[RunView, ...]) -> SuiteView:
        newest = runs[0]
        gold = newest.run["gold"]
        folder = self._find_folder(str(gold.get("folder", "")))
        scorers = tuple(name for name in (newest.summary.get("by_scorer") or {}) if name)
        return SuiteView(
            id=id_,
            name=newest.suite_name,
            kind="gold",
            description="",
            scoring_method={"name": ", ".join(scorers), "type": "gold", "config": {}},
            created_at=runs[-1].created_at,
            updated_at=newest.created_at,
            runs=runs,
            scorers=scorers,
            folder=folder,
            hidden=any(bool(run.run["gold"].get("hidden")) for run in runs),
            cases=lambda: self._gold_cases(folder, newest),
        )

    def _find_folder(self, folder: str) -> Path | None:
        """Return the folder that a run names, resolved from the usual working directories; None if it is gone."""
        starts = [self.folder.resolve().parent.parent, self.folder.resolve().parent, Path.cwd()]
        return next((start / folder for start in starts if folder and is_dir(start / folder)), None)

    def _gold_cases(self, folder: Path | None, run: RunView) -> Sequence[CaseView]:
        if folder is None:
            return [CaseView(id=result.instance_id, checks=_name_checks(result.scorer)) for result in run.record().results]
        return self._kept.get(
            ("cases", folder), stamp_of(*sorted(path for path in folder.iterdir() if is_file(path))), lambda: _read_cases(folder, run)
        )


Source = RunsFolder | BenchFolder


class Library:
    """The suites of several folders, by id."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = tuple(sources)

    def suites(self) -> list[SuiteView]:
        """Return every suite once; of equal ids the first folder counts."""
        suites: dict[str, SuiteView] = {}
        for source in self.sources:
            for suite in source.suites():
                suites.setdefault(suite.id, suite)
        return list(suites.values())

    def damaged_runs(self) -> list[DamagedRunError]:
        """The runs of all folders that are in no suite, since their `run.json` cannot be read."""
        return [fault for source in self.sources if isinstance(source, RunsFolder) for fault in source.damaged_runs()]

    def suite(self, id_: str) -> SuiteView:
        """Return the suite of an id. Raises `BadQueryError` for an invalid id, `NotThereError` for an unknown one."""
        check_id(id_)
        for suite in self.suites():
            if suite.id == id_:
                return suite
        raise NotThereError(f"no suite {id_!r}", hint="the list of suites has their ids")

    def run(self, id_: str, suite_id: str | None = None) -> RunView:
        """Return a finished run of a suite. Raises `BadQueryError` and `NotThereError`."""
        check_id(id_)
        for suite in [self.suite(suite_id)] if suite_id is not None else self.suites():
            for run in suite.runs:
                if run.id == id_:
                    return run
        for fault in self.damaged_runs():
            if safe_id(fault.run) == id_:
                raise fault
        raise NotThereError(f"no finished run {id_!r}", hint="the page of its suite has the ids of its runs")

    def suite_of(self, run: RunView) -> SuiteView:
        """Return the suite of a run."""
        return self.suite(run.suite_id)


def open_library(folder: Path | None, environ: Mapping[str, str]) -> Library:
    """Open a folder: `.evalsuite` or its parent, a folder of runs, one run, or a Bench folder.

    Without a folder: `.evalsuite` in the working directory, and the Bench folder named by BENCH_FILE_DIR (or `bench_runs`) if it exists.
    Raises `UsageError` for a folder that does not exist.
    """
    if folder is not None:
        if not is_dir(folder):
            raise UsageError(f"{folder}: {'not a folder' if exists(folder) else 'no such folder'}", hint="a folder of runs, or .evalsuite")
        return Library([_source_of(folder)])
    sources: list[Source] = [RunsFolder(ROOT / "runs", ROOT / "suites")]
    bench_folder = environ.get(BENCH_VARIABLE)
    if bench_folder and not is_dir(Path(bench_folder)):
        raise UsageError(f"{BENCH_VARIABLE} names {bench_folder!r}, which is no folder", hint=f"unset {BENCH_VARIABLE}, or correct it")
    bench = Path(bench_folder) if bench_folder else BENCH_DEFAULT
    if bench_folder or (is_dir(bench) and is_bench(bench)):
        sources.append(BenchFolder(bench))
    return Library(sources)


def _source_of(folder: Path) -> Source:
    inner = folder / ROOT.name
    if is_dir(inner):
        return RunsFolder(inner / "runs", inner / "suites")
    if is_dir(folder / "runs") or is_dir(folder / "suites"):
        return RunsFolder(folder / "runs", folder / "suites")
    return BenchFolder(folder) if is_bench(folder) else RunsFolder(folder, None)


def _entry_or_fault(folder: Path) -> RunEntry | DamagedRunError | None:
    """The run in a folder, or how it is damaged; None where there is no finished one."""
    entry = read_run(folder)
    if entry is not None or not holds_run(folder) or not exists(folder / RESULTS):
        return entry
    try:
        (folder / RUN).read_bytes()
    except OSError:
        return DamagedRunError(folder.name, "", is_here=False)
    return DamagedRunError(folder.name, why_no_run(read_run_file(folder)))


def _suite_id(entry: RunEntry) -> str:
    """Return the id of a run's suite: of the named suite, else made from gold's name and folder."""
    stored_id = entry.metadata.get("suite_id")
    gold = entry.run["gold"]
    return safe_id(str(stored_id)) if stored_id else safe_id(f"gold:{gold.get('name')}|{gold.get('folder')}")


def _read_cases(folder: Path, run: RunView) -> Sequence[CaseView]:
    """Return the cases of a gold folder; only their ids if it cannot be read any more."""
    from evalsuite.gold.layouts import read_gold

    try:
        gold = read_gold(folder, plugins=False)
    except EvalsuiteError:
        return [CaseView(id=result.instance_id, checks=_name_checks(result.scorer)) for result in run.record().results]
    return [
        CaseView(
            id=instance.instance_id,
            input=question_of(instance),
            reference_output=reference_text(instance.checks[0]) if instance.checks else None,
            checks=tuple({"scorer": check.scorer, "parameters": dict(check.parameters)} for check in instance.checks),
        )
        for instance in gold.instances
    ]


def _name_checks(scorer: str | None) -> tuple[Mapping[str, Any], ...]:
    return ({"scorer": scorer, "parameters": {}},) if scorer else ()


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
        sources = [source for source in self._library.sources if isinstance(source, RunsFolder)]
        folders = [folder for source in sources for folder in source.run_folders() if is_file(folder / STARTED)]
        for old_folder in set(self._seen) - set(folders):
            del self._seen[old_folder]
        running = [progress for folder in folders if (progress := self._progress_of(folder)) is not None]
        return sorted(running, key=lambda progress: (progress.started_at, progress.id), reverse=True)

    def fingerprint(self) -> tuple[int, ...]:
        """Return a value that changes only with the finished runs."""
        return stamp_of(*(path for source in self._library.sources for path in source.watched_paths()))

    def _progress_of(self, folder: Path) -> Progress | None:
        started = read_json(folder / STARTED)
        if not isinstance(started, dict) or exists(folder / RUN):
            return None
        started_seconds = stamp_of(folder / STARTED)[1] / 1e9
        journal = self._seen.setdefault(folder, _Journal(folder / RESULTS))
        journal.read_new_lines()
        name, total = self._count_instances(started)
        return Progress(
            id=safe_id(folder.name),
            name=folder.name,
            suite_name=name,
            state=_state_of(folder, journal.touched or started_seconds),
            started_at=creation_time(folder.name) or utc(started_seconds),
            last_result_at=utc(journal.touched) if journal.n else None,
            n_done=journal.n,
            n_total=total,
            n_right=journal.n_right,
            score=journal.points / journal.n_judged if journal.n_judged else None,
        )

    def _count_instances(self, started: Mapping[str, Any]) -> tuple[str, int | None]:
        """Return (suite name, number of instances) from the start of the run, else from an earlier whole run over the same gold."""
        if isinstance(started.get("n_instances"), int):
            return str(started.get("suite", "")), int(started["n_instances"])
        gold = signature_parts(str(started.get("signature", ""))).get("gold", "")
        options = started.get("options")
        part = isinstance(options, dict) and bool(selected_part(options))
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

    def read_new_lines(self) -> None:
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


def _state_of(folder: Path, touched: float) -> str:
    """Return whether a process has locked the folder.

    The lock is looked up, not taken: even a short lock could stop a run from starting.
    """
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
            rows = [{**asdict(run), "score_text": "" if run.score is None else percent(run.score)} for run in now]
            yield f"event: progress\ndata: {json.dumps(rows)}\n\n"
            last = now
        elif tick % TICKS_TO_PING == 0:
            yield ": still here\n\n"
        seen = await anyio.to_thread.run_sync(journals.fingerprint)
        if seen != finished:
            yield "event: changed\ndata: {}\n\n"
            finished = seen
        await anyio.sleep(TICK_SECONDS)
