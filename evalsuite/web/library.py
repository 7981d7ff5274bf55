"""What there is to see: the suites and runs under one or several folders, found anew for each request and read only when changed."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from evalsuite.errors import EvalsuiteError, UsageError
from evalsuite.gold.exchanges import question_of, reference_text
from evalsuite.reports.record import Record, record_of_entry, revealed
from evalsuite.store.history import TAGS, RunEntry, read_run
from evalsuite.store.run_folder import RESULTS, RUN, STARTED, holds_run, labels_beside
from evalsuite.suites.stored_suites import read_suite_file
from evalsuite.web.bench import BenchFolder, is_bench, shown_suite
from evalsuite.web.query import NotThereError, checked_id, made_at, safe_id, utc
from evalsuite.web.shelf import Kept, ShownCase, ShownRun, ShownSuite, stamp_of

ROOT = Path(".evalsuite")
BENCH_VARIABLE, BENCH_DEFAULT = "BENCH_FILE_DIR", Path("bench_runs")


class Source(Protocol):
    """A folder of suites and runs."""

    folder: Path

    def suites(self) -> Iterator[ShownSuite]:
        """Its suites with their runs."""
        ...

    def watched(self) -> list[Path]:
        """The folders and files whose change means that there is something new."""
        ...


class RunsFolder:
    """Our own folders: runs, and the suites made by name beside them (`suites` None: there are none)."""

    def __init__(self, runs: Path, suites: Path | None) -> None:
        self.folder = runs
        self._suites = suites
        # More than people keep: with one less than there are, each look at all would read all of them again.
        self._kept = Kept(32_768)
        # A record is all results of a run: a few of them are enough to page through one or compare four.
        self._records = Kept(12)

    def run_folders(self) -> list[Path]:
        """Every folder that is or may become a run."""
        if holds_run(self.folder):
            return [self.folder]
        return sorted(item for item in self.folder.iterdir() if item.is_dir()) if self.folder.is_dir() else []

    def watched(self) -> list[Path]:
        """The run folders with their final files, and the suites."""
        suites = [self._suites, *sorted(self._suites.glob("*/suite.json"))] if self._suites is not None else []
        return [self.folder, *(folder / RUN for folder in self.run_folders()), *suites]

    def suites(self) -> Iterator[ShownSuite]:
        """Suites made by name, whether they were run or not, then every gold folder that a run names."""
        by_suite: dict[str, list[RunEntry]] = {}
        for entry in self._whole_entries():
            by_suite.setdefault(_suite_id(entry), []).append(entry)
        for path in sorted(self._suites.glob("*/suite.json")) if self._suites is not None else ():
            stored = self._kept.get(path, stamp_of(path), lambda path=path: read_suite_file(path))  # type: ignore[misc]
            if stored is not None:
                yield shown_suite(stored, "suite", path.parent / "gold", self._shown_runs(stored.id, by_suite.pop(stored.id, [])))
        for id_, entries in by_suite.items():
            yield self._from_runs(id_, self._shown_runs(id_, entries))

    def _whole_entries(self) -> Iterator[RunEntry]:
        for folder in self.run_folders():
            stamp = stamp_of(folder / RUN, folder / TAGS)
            entry = self._kept.get(folder, stamp, lambda folder=folder: _entry_if_whole(read_run(folder)))  # type: ignore[misc]
            if entry is not None:
                yield entry

    def _shown_runs(self, suite_id: str, entries: Sequence[RunEntry]) -> tuple[ShownRun, ...]:
        runs = [self._shown_run(entry, suite_id) for entry in entries]
        return tuple(sorted(runs, key=lambda run: (run.made, run.id), reverse=True))

    def _shown_run(self, entry: RunEntry, suite_id: str) -> ShownRun:
        return ShownRun(
            id=safe_id(entry.name),
            name=str(entry.metadata.get("run_name") or entry.name),
            suite_id=suite_id,
            suite_name=entry.suite,
            created_at=made_at(entry.name) or utc((entry.folder / RUN).stat().st_mtime),
            run=entry.run,
            folder=entry.folder,
            tags=entry.tags,
            record=lambda: self._record(entry),
            ended_ns=stamp_of(entry.folder / RUN)[1],
        )

    def _record(self, entry: RunEntry) -> Record:
        """The record cut to what may be shown: all of it, unless the suite's gold is hidden."""
        from evalsuite.run.handed_in import saved_exchanges

        stamp = stamp_of(entry.folder / RUN, entry.folder / RESULTS, labels_beside(entry.folder))
        try:
            return self._records.get(entry.folder, stamp, lambda: revealed(record_of_entry(entry, exchanges=saved_exchanges(entry))))
        except (OSError, ValueError, TypeError, KeyError, EvalsuiteError) as error:
            raise NotThereError(f"the results of run {entry.name!r} cannot be read", hint="score it again") from error

    def _from_runs(self, id_: str, runs: tuple[ShownRun, ...]) -> ShownSuite:
        newest = runs[0]
        gold = newest.run["gold"]
        folder = self._existing(str(gold.get("folder", "")))
        scorers = tuple(name for name in (newest.summary.get("by_scorer") or {}) if name)
        return ShownSuite(
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

    def _existing(self, folder: str) -> Path | None:
        """The folder that a run names, seen from where runs are usually started; None where it is gone."""
        starts = [self.folder.resolve().parent.parent, self.folder.resolve().parent, Path.cwd()]
        return next((start / folder for start in starts if folder and (start / folder).is_dir()), None)

    def _gold_cases(self, folder: Path | None, run: ShownRun) -> Sequence[ShownCase]:
        if folder is None:
            return [ShownCase(id=result.instance_id, checks=_checks_named(result.scorer)) for result in run.record().results]
        return self._kept.get(
            ("cases", folder), stamp_of(*sorted(path for path in folder.iterdir() if path.is_file())), lambda: _read_cases(folder, run)
        )


class Library:
    """The suites of several folders, by id."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = tuple(sources)

    def suites(self) -> list[ShownSuite]:
        """Every suite once; where two folders hold the same id the first one counts."""
        found: dict[str, ShownSuite] = {}
        for source in self.sources:
            for suite in source.suites():
                found.setdefault(suite.id, suite)
        return list(found.values())

    def suite(self, id_: str) -> ShownSuite:
        """The suite of that id. Raises `BadQueryError` for what is no id and `NotThereError` where there is none."""
        checked_id(id_)
        for suite in self.suites():
            if suite.id == id_:
                return suite
        raise NotThereError(f"no suite {id_!r}", hint="the list of suites has their ids")

    def run(self, id_: str, suite_id: str | None = None) -> ShownRun:
        """The finished run of that id, in that suite. Raises `BadQueryError` and `NotThereError`."""
        checked_id(id_)
        for suite in [self.suite(suite_id)] if suite_id is not None else self.suites():
            for run in suite.runs:
                if run.id == id_:
                    return run
        raise NotThereError(f"no finished run {id_!r}", hint="the page of its suite has the ids of its runs")

    def suite_of(self, run: ShownRun) -> ShownSuite:
        """The suite that a run belongs to."""
        return self.suite(run.suite_id)


def open_library(folder: Path | None, environ: Mapping[str, str]) -> Library:
    """The library of a folder: `.evalsuite` or what holds one, a folder of runs, one run, or a Bench folder.

    Without a folder: `.evalsuite` here, with the Bench folder that BENCH_FILE_DIR names (or `bench_runs`) where there is one. Raises
    `UsageError` for a folder that is not there.
    """
    if folder is not None:
        if not folder.is_dir():
            raise UsageError(f"{folder}: {'not a folder' if folder.exists() else 'no such folder'}", hint="a folder of runs, or .evalsuite")
        return Library([_source_of(folder)])
    sources: list[Source] = [RunsFolder(ROOT / "runs", ROOT / "suites")]
    named = environ.get(BENCH_VARIABLE)
    if named and not Path(named).is_dir():
        raise UsageError(f"{BENCH_VARIABLE} names {named!r}, which is no folder", hint=f"unset {BENCH_VARIABLE}, or correct it")
    bench = Path(named) if named else BENCH_DEFAULT
    if named or (bench.is_dir() and is_bench(bench)):
        sources.append(BenchFolder(bench))
    return Library(sources)


def _source_of(folder: Path) -> Source:
    inner = folder / ROOT.name
    if inner.is_dir():
        return RunsFolder(inner / "runs", inner / "suites")
    if (folder / "runs").is_dir() or (folder / "suites").is_dir():
        return RunsFolder(folder / "runs", folder / "suites")
    return BenchFolder(folder) if is_bench(folder) else RunsFolder(folder, None)


def _entry_if_whole(entry: RunEntry | None) -> RunEntry | None:
    """The entry where its `run.json` is an object with what a run has; None for a file that only bears the name."""
    if entry is None or not isinstance(entry.run.get("gold"), dict) or not isinstance(entry.run.get("summary"), dict):
        return None
    return entry if isinstance(entry.run.get("submission"), dict) and isinstance(entry.run.get("options"), dict) else None


def _suite_id(entry: RunEntry) -> str:
    """The id of the suite a run belongs to: the one it was made for by name, else one made of gold's name and folder."""
    given = entry.metadata.get("suite_id")
    gold = entry.run["gold"]
    return safe_id(str(given)) if given else safe_id(f"gold:{gold.get('name')}|{gold.get('folder')}")


def _read_cases(folder: Path, run: ShownRun) -> Sequence[ShownCase]:
    """The cases of a gold folder; only their ids where it cannot be read any more."""
    from evalsuite.gold.layouts import read_gold

    try:
        gold = read_gold(folder, plugins=False)
    except EvalsuiteError:
        return [ShownCase(id=result.instance_id, checks=_checks_named(result.scorer)) for result in run.record().results]
    return [
        ShownCase(
            id=instance.instance_id,
            input=question_of(instance),
            reference_output=reference_text(instance.checks[0]) if instance.checks else None,
            checks=tuple({"scorer": check.scorer, "parameters": dict(check.parameters)} for check in instance.checks),
        )
        for instance in gold.instances
    ]


def _checks_named(scorer: str | None) -> tuple[Mapping[str, Any], ...]:
    return ({"scorer": scorer, "parameters": {}},) if scorer else ()


def unfinished(sources: Sequence[Source]) -> Iterator[Path]:
    """The folders of runs that were begun and have not ended."""
    for source in sources:
        if isinstance(source, RunsFolder):
            yield from (folder for folder in source.run_folders() if (folder / STARTED).is_file())
