"""Entries of a leaderboard: find submissions, archives and runs under folders; score each submission without a finished run.

An archive is read in a worker and written here by name as a folder, once for the same bytes. Entries can be anonymised: letters instead of
names.
"""

import hashlib
import json
import os
from base64 import b64decode
from binascii import Error as Base64Error
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.disk_cache import DiskCache, code_stamp
from evalsuite.core.errors import (
    EvalsuiteError,
    FaultError,
    MachineError,
    OutputError,
    SubmissionError,
    UsageError,
    describe,
    machine_error,
)
from evalsuite.core.files import exists, is_dir, is_file
from evalsuite.core.scores import METADATA, Rule
from evalsuite.core.status import UNGRADED
from evalsuite.gold.errata import ERRATA_FILE, read_errata
from evalsuite.gold.layouts import holds_answers, layout_of, read_gold, refuse_empty
from evalsuite.gold.suite_yaml import judge_line_in
from evalsuite.readers.archives import OTHER_ENDINGS, ArchiveChecks, is_archive, stream_files, without_ending
from evalsuite.readers.duckdb_tables import private_copy, unnamed_copy
from evalsuite.readers.gold_files import find_spec, gold_hash, gold_inodes, is_alone
from evalsuite.readers.limits import Limits, moved_limits, resolve_limits
from evalsuite.readers.paths import Inode, content_digest, metadata_like, open_confined, why_no_folder
from evalsuite.readers.submission_files import cached_hash, submission_hash
from evalsuite.runs import WORKER_MODULES
from evalsuite.runs.databases import Databases, database_stamps
from evalsuite.runs.history import read_run_file, refuse_no_run
from evalsuite.runs.history_index import RunScores, digest_of_ids, errata_line, find_scored, key_of, run_scores
from evalsuite.runs.plan import default_rules, refuse_changes, signature_word
from evalsuite.runs.run_folder import RESULTS, RUN, STARTED, holds_run, is_submission
from evalsuite.runs.run_options import CODE, RunOptions, changed_versions, signature
from evalsuite.runs.submission_reader import SubmissionReader, read_unit_columns
from evalsuite.sandbox.fork_server import ForkServer, fork_server_for
from evalsuite.sandbox.rpc_client import RpcClient
from evalsuite.sandbox.temp_dirs import TempDir
from evalsuite.sandbox.worker_sandbox import can_fork
from evalsuite.scorers import SCORERS

_STREAM = "evalsuite.readers.archives:stream_files"
# Faults that another try may not have.
_PASSING = frozenset({"TIMEOUT", "WORKER_DIED", "MISSING_FILE"})


class Unpacker:
    """Unpack archives, each in its own worker. No worker starts if all archives are known."""

    def __init__(self, memo: DiskCache, limits: Mapping[str, int | float], isolation: str, *, is_temporary: bool = False) -> None:
        self._memo, self._limits, self._isolation, self._is_temporary = memo, limits, isolation, is_temporary
        self._workers = ExitStack()
        self._fork_server: ForkServer | None = None

    def close(self) -> None:
        """End the worker and its fork server."""
        self._workers.close()

    def folder_of(self, archive: Path) -> Path:
        """Return the folder of an archive; if the archive contains a single folder, that folder.

        The path contains the digest of the archive's bytes, and the unpacked content is a copy of exactly those bytes.

        Raises:
            SubmissionError: The archive is refused, with the reason.
            OutputError: There is no space left.
        """
        try:
            with open_confined(archive.parent, archive.name, limit_bytes=self._limits["archive_bytes"]) as handle:
                if (known_folder := self._find_folder(content_digest(handle).hexdigest())) is not None:
                    return known_folder
                with unnamed_copy(handle, int(self._limits["archive_bytes"])) as copy:
                    copy.seek(0)
                    digest = content_digest(copy).hexdigest()  # type: ignore[arg-type]
                    return self._find_folder(digest) or self._unpack(copy, archive, digest)
        except FaultError as error:
            if error.is_of_machine:
                raise machine_error(archive, error.fault) from None
            raise SubmissionError(describe(error.fault)) from None

    def _find_folder(self, digest: str) -> Path | None:
        if (folder := self._memo.files(_key(digest), _submission_in)) is not None:
            return folder
        if (fault := self._memo.get("archive", self._memo_key(digest))) is not None:
            raise SubmissionError(str(fault))
        return None

    def _memo_key(self, digest: str) -> str:
        return json.dumps([digest, *(self._limits[name] for name in ("archive_bytes", "archive_members", "file_bytes"))])

    def _unpack(self, copy: IO[bytes], archive: Path, digest: str) -> Path:
        try:
            self._memo.put_files(_key(digest), lambda place: _write(place, self._read_archive(copy, archive), self._limits))
        except FaultError as error:
            if error.fault.code not in _PASSING:
                self._memo.put("archive", self._memo_key(digest), describe(error.fault))
            raise
        if (folder := self._memo.files(_key(digest), _submission_in)) is None:
            hint = "set TMPDIR to a folder with room" if self._is_temporary else "make room where `.evalsuite` lies"
            raise OutputError(f"{archive}: no space left to unpack it", hint=hint)
        return folder

    def _read_archive(self, copy: IO[bytes], archive: Path) -> Iterable[Any]:
        copy.seek(0)
        if self._isolation == "none" or not can_fork():
            with private_copy(copy, int(self._limits["archive_bytes"])) as place:
                yield from stream_files(str(place), archive.name, self._limits)
            return
        self._fork_server = self._fork_server or self._workers.enter_context(fork_server_for(archive.parent, modules=WORKER_MODULES))
        n_bytes = os.fstat(copy.fileno()).st_size
        with RpcClient(readable=[], hostile=archive.parent, limits=self._limits, fork_server=self._fork_server) as calls:
            yield from calls.stream(_STREAM, "", archive.name, dict(self._limits), copy=copy, n_bytes=20 * n_bytes)


@contextmanager
def unpack(archive: Path, options: RunOptions) -> Iterator[Path]:
    """Provide the folder of an archive, unpacked by a worker into the cache, or without a cache into a temporary folder.

    Raises `SubmissionError` with the archive's name if it is refused.
    """
    with TempDir() as scratch:
        limits = resolve_limits(options.limits)
        memo = DiskCache(options.cache or scratch, stamp=code_stamp())
        with closing(Unpacker(memo, limits, options.isolation, is_temporary=options.cache is None)) as unpacker:
            try:
                folder = unpacker.folder_of(archive.absolute())
            except SubmissionError as error:
                raise SubmissionError(f"{archive}: {error.message}", hint=error.hint) from None
            name = str(archive) if folder.name.startswith(_key("")) else f"{archive}/{folder.name}"
            try:
                yield folder
            except SubmissionError as error:
                hint = "an archive has the files of a submission at its top, or in one folder" if METADATA in error.message else error.hint
                raise SubmissionError(error.message.replace(str(folder), name), hint=hint) from None


def _key(digest: str) -> str:
    return f"unpacked-{digest}"


def _submission_in(folder: Path) -> Path:
    """Return the folder with the answers: the only subfolder, or this folder itself. Raises OSError if there is none."""
    inner = list(folder.iterdir())
    alone = len(inner) == 1 and is_dir(inner[0]) and not metadata_like(folder)
    return inner[0] if alone else folder


def _write(place: Path, messages: Iterable[Any], limits: Mapping[str, int | float]) -> None:
    """Write the reported files of an archive below a folder. The worker is not trusted, since an archive may control it."""
    contents, now, written = ArchiveChecks(limits), "", 0
    with ExitStack() as opened:
        file: IO[bytes] | None = None
        for item in messages:
            match item:
                case [str(name), str(text)] | (str(name), str(text)):
                    pass
                case _:
                    raise FaultError("WORKER_DIED", "the worker sent no file")
            if name != now or file is None:
                contents.count()
                contents.file(name)
                opened.close()
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                file, now, written = opened.enter_context((place / name).open("xb")), name, 0
            try:
                piece = b64decode(text, validate=True)
            except Base64Error:
                raise FaultError("WORKER_DIED", "the worker sent no file") from None
            contents.hold(len(piece), name, so_far=written)
            written += file.write(piece)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder to rank: a submission to score, a finished run, or an unreadable one with its `fault`; with its display name.

    The files of a run that `is_foreign` come from other people and are parsed in the sandbox. For an archive the folder is the archive
    itself until it is unpacked, and `archive` its path from then on.
    """

    name: str
    folder: Path
    is_run: bool = False
    is_archive: bool = False
    archive: str = ""
    fault: str = ""
    is_foreign: bool = False


def find_places(folders: Sequence[Path], gold: Path) -> tuple[list[Place], list[str]]:
    """Return (the places to rank, notes on what was left out). A folder is a submission (folder or archive), a run, or contains several.

    Next to submissions every folder counts as a submission, so that broken ones are visible and finished runs are no entries; hidden
    folders and gold do not count. An empty or unreadable one becomes a place with a fault. Raises `UsageError` for anything but folders,
    and if there is nothing to rank.
    """
    notes: list[str] = []
    by_files = exists(gold) and layout_of(find_spec(gold)) != "original"
    by_folder = {folder: _places_in(folder, gold, notes, by_files=by_files) for folder in folders}
    if not any(not place.fault for places in by_folder.values() for place in places):
        empty = next((folder for folder, places in by_folder.items() if not places), None)
        if empty is not None:
            refuse_no_run(empty)
        broken = next((f"{place.folder}: {place.fault}" for places in by_folder.values() for place in places), "")
        raise UsageError(
            broken or f"{empty or folders[0]}: no submission and no finished run in it", hint=f"a submission holds {METADATA}, a run {RUN}"
        )
    by_path: dict[Path, Place] = {}
    for folder, places in by_folder.items():
        for place in places or [_broken_place(folder, f"no submission and no finished run in {folder}")]:
            by_path.setdefault(place.folder.resolve(), place)
    return _with_own_names(list(by_path.values())), notes


def _places_in(folder: Path, gold: Path, notes: list[str], *, by_files: bool) -> list[Place]:
    """Return the places of a folder, an archive or a file of queries; empty if there are none."""
    if is_file(folder) and is_archive(folder.name):
        return [_archive_place(folder)]
    if is_file(folder) and exists(gold) and is_alone(find_spec(gold)):
        return [Place(name=folder.name, folder=folder)]
    if (why := why_no_folder(folder, "folder")) in ("no such folder", "not a folder"):
        raise UsageError(f"{folder}: {why}", hint="name folders of submissions or of runs")
    if why:
        return [_broken_place(folder, why)]
    if (place := _place(folder, by_files=by_files)) is not None:
        return [place]
    return _places_below(folder, gold.parent if is_file(gold) else gold, notes, by_files=by_files)


def _places_below(folder: Path, gold: Path, notes: list[str], *, by_files: bool) -> list[Place]:
    """Return the places in a folder that contains several; if a submission is among them, every folder counts as one."""
    by_item = {item: _place(item, by_files=by_files) for item in _candidates(folder, gold, notes)}
    places = [place for place in by_item.values() if place is not None]
    if all(place.fault for place in places):
        return places
    unfinished = [item for item, place in by_item.items() if place is None and exists(item / STARTED)]
    if unfinished:
        notes.append(f"unfinished runs left out: {len(unfinished)}")
    if all(place.is_run or place.fault for place in places):
        return places
    runs = [place.folder for place in places if place.is_run]
    notes += [f"{item.name} is a run among submissions, and not taken at its word: name it by itself" for item in runs]
    scored = [place or Place(name=item.name, folder=item) for item, place in by_item.items() if item not in unfinished]
    return [replace(place, is_run=False) for place in scored]


def _candidates(folder: Path, gold: Path, notes: list[str]) -> list[Path]:
    """Return the subfolders and archives that may be places; gold, hidden items and other files are left out."""
    seen = [item for item in sorted(folder.iterdir()) if not item.name.startswith(".")]
    notes += [f"{item.name} left out: an archive is .zip, .tar, .tar.gz or .tgz" for item in seen if _is_other_archive(item)]
    return [item for item in seen if (is_dir(item) and not (exists(gold) and item.samefile(gold))) or is_archive(item.name)]


def _place(folder: Path, *, by_files: bool) -> Place | None:
    """Return the place of one folder, None if it is neither submission nor run. `by_files` accepts answer files only (lite, snow)."""
    if is_archive(folder.name) and not is_dir(folder):
        return _archive_place(folder)
    if why := why_no_folder(folder, "folder"):
        return _broken_place(folder, why)
    name = _own_name(folder)
    if is_submission(folder) or (by_files and holds_answers(folder)):
        return Place(name=name, folder=folder)
    return Place(name=name, folder=folder, is_run=True) if holds_run(folder) else None


def _archive_place(archive: Path) -> Place:
    return Place(name=without_ending(archive.name), folder=archive, is_archive=True)


def _words_of(error: EvalsuiteError, place: Place) -> str:
    """Return why a submission cannot be read, for a line that begins with its name; with the name that was probably meant."""
    near = f"; {error.hint}" if error.hint.startswith("did you mean") else ""
    return f"{error.message}{near}".replace(str(place.folder), place.name).removeprefix(f"{place.name}: ")


def _is_other_archive(item: Path) -> bool:
    return item.name.casefold().endswith(OTHER_ENDINGS) and not is_archive(item.name) and is_file(item)


def _broken_place(folder: Path, why: str) -> Place:
    return Place(name=_own_name(folder), folder=folder, fault=why)


def _own_name(folder: Path) -> str:
    """Return the name by which a folder was given: of a link the link's, which says more than that of its target."""
    return Path(os.path.abspath(folder)).name  # noqa: PTH100 - `resolve` would follow the link


def _with_own_names(places: list[Place]) -> list[Place]:
    """Return the places with unique names: duplicates get the name of their parent folder, or a number."""
    names = [place.name for place in places]
    longer = [f"{place.folder.resolve().parent.name}/{place.name}" if names.count(place.name) > 1 else place.name for place in places]
    seen: dict[str, int] = {}
    new_places = []
    for place, name in zip(places, longer, strict=True):
        seen[name] = seen.get(name, 0) + 1
        new_places.append(replace(place, name=name if seen[name] == 1 else f"{name} ({seen[name]})"))
    return new_places


Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A place with its scores, or with the `fault` that made it unreadable. `is_new`: it was scored in this call.

    The run of an entry that `is_foreign` was written by other people.
    """

    name: str
    scores: RunScores | None
    fault: str = ""
    is_new: bool = False
    is_run: bool = False
    is_foreign: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)


# Submission hash by name -> the names that are refused; nothing of them is scored.
Admit = Callable[[Mapping[str, str]], Collection[str]]


def score_places(
    places: Sequence[Place],
    gold_dir: Path,
    settings: RunOptions,
    memo: DiskCache,
    *,
    metadata: Mapping[str, Mapping[str, str]] | None = None,
    no_cache: bool = False,
    progress: Progress | None = None,
    admit: Admit | None = None,
) -> list[Entry]:
    """Return one entry per place, in order.

    A submission is scored and saved as `run` does, unless a finished run under `settings.runs_folder` has its signature, errata and
    submission hash; `no_cache` scores all. `metadata` by name is stored with new runs. A place that `admit` rejects has no entry.

    Raises what `run` raises, except for an unreadable submission: that is an entry with its fault.
    """
    about = metadata or {}
    submissions = [place for place in places if not place.is_run and not place.fault]
    scoring = _Scoring(submissions, gold_dir, settings, memo, about, no_cache, admit) if submissions else None
    entries = []
    with scoring.workers if scoring is not None else nullcontext():
        for place in places:
            run_metadata = about.get(place.name, {})
            if place.fault:
                entries.append(Entry(name=place.name, scores=None, fault=place.fault, metadata=run_metadata))
            elif place.is_run or scoring is None:
                scores = run_scores(place.folder, memo, read=read_unit_columns if place.is_foreign else None)
                fault = "" if scores is not None else f"{RUN} or {RESULTS} cannot be read"
                more = {"is_run": True, "is_foreign": place.is_foreign}
                entries.append(Entry(name=place.name, scores=scores, fault=fault, metadata=run_metadata, **more))
            elif place.name not in scoring.turned_away:
                entries.append(replace(scoring.entry(place, progress), metadata=run_metadata))
    return entries


class _Scoring:
    """The submissions of one leaderboard: their hashes, known results, and the scoring of the rest."""

    def __init__(
        self,
        places: Sequence[Place],
        gold_dir: Path,
        settings: RunOptions,
        memo: DiskCache,
        metadata: Mapping[str, Mapping[str, str]],
        no_cache: bool,
        admit: Admit | None,
    ) -> None:
        self._gold_dir, self._settings, self._memo, self._metadata = gold_dir, settings, memo, metadata
        self.workers = ExitStack()
        self._fork_server: ForkServer | None = None
        self._judges: ForkServer | None = None
        spec = find_spec(gold_dir)
        content = gold_hash(spec.parent, spec)
        facts = _gold_facts(gold_dir, content, memo)
        limits = resolve_limits(facts["limits"], settings.limits)
        chosen: Rule | None = settings.rules or facts["rules"]
        layout = facts["layout"]
        word = signature_word(chosen, facts["defaults"].values())
        more: dict[str, Any] = {"programs": settings.allow_programs, "invalid_as": settings.invalid_as}
        more["judge"] = judge_line_in(None if is_alone(spec) else spec.parent, settings.judge)
        line = signature(rules=word, gold_hash=content, limits=moved_limits(limits), layout=layout, **more)
        errata = read_errata(read_gold(gold_dir)) if is_file(spec.parent / ERRATA_FILE) else None
        corrected = errata_line(errata.hash, (entry.id for entry in errata.of_state("applied"))) if errata is not None else ""
        self._faults: dict[str, str] = {}
        self._places = self._unpack(places, limits)
        self._folders = [place.folder for place in self._places.values()]
        hashes = self._hashes(limits, layout, gold_inodes=gold_inodes(spec.parent), gold_hash=content)
        self.turned_away = frozenset(admit(hashes) if admit is not None else ())
        only = digest_of_ids(settings.only)
        self._keys = {name: key_of(line, corrected, digest, only=only) for name, digest in hashes.items() if name not in self.turned_away}
        runs = self._settings.runs_folder.resolve()
        is_foreign = any(runs.is_relative_to(folder.resolve()) for folder in self._folders)
        keys = set() if no_cache or is_foreign or not facts["is_bundled"] else set(self._keys.values())
        self._scores: dict[Path, RunScores] = {}
        self._find_folder = self._find_known(keys, {name: chosen or default for name, default in facts["defaults"].items()})
        self._memo_key = set[str]()
        self._n_new = len({key for key in self._keys.values() if key not in self._find_folder})
        self._n_done = 0

    def _hashes(self, limits: Limits, layout: str, *, gold_inodes: frozenset[Inode], gold_hash: str) -> dict[str, str]:
        """Return the submission hash of each readable place by name; an unreadable one gets its fault."""
        hashes: dict[str, str] = {}
        with closing(SubmissionReader(self._gold_dir, self._folders, limits, self._settings.isolation)) as reader:
            for name, place in self._places.items():
                try:
                    if layout == "original":
                        read = partial(reader.read, place.folder)
                        hashes[name] = cached_hash(
                            place.folder, self._memo, limits=limits, gold_inodes=gold_inodes, gold_hash=gold_hash, read=read
                        )
                    else:
                        # Without metadata a new file is a new answer, which no stamp of known files would show.
                        hashes[name] = submission_hash(reader.read(place.folder), gold_inodes)
                except MachineError:
                    raise
                except (SubmissionError, UsageError) as error:
                    # No option gives the file types of one submission among many.
                    self._faults[name] = _words_of(error, place)
        return hashes

    def _find_known(self, keys: set[str], rules: Mapping[str, Rule]) -> dict[str, Path]:
        """Return the finished runs with one of `keys` whose results are readable, follow `rules`, and used these versions and databases."""
        scored = find_scored(self._settings.runs_folder, keys, self._memo)
        self._scores = {folder: scores for folder in scored.values() if (scores := run_scores(folder, self._memo)) is not None}
        folders = {key: folder for key, folder in scored.items() if folder in self._scores and not _is_of_other_versions(folder)}
        if rules:
            folders = {key: folder for key, folder in folders.items() if _follows(self._scores[folder], rules)}
        return self._on_todays_databases(folders)

    def _on_todays_databases(self, folders: Mapping[str, Path]) -> dict[str, Path]:
        """Return the runs whose databases have not changed; the state of a server is unknown, so its answers stay."""
        ran = {key: self._scores[folder].databases for key, folder in folders.items()}
        if not any(ran.values()):
            return dict(folders)
        gold = read_gold(self._gold_dir)
        with closing(Databases(gold, gold.folder, limits={}, jobs=1, isolation="none", folder=self._settings.databases)) as databases:
            now = database_stamps(gold.instances, databases.connections())
        return {key: folder for key, folder in folders.items() if all(now.get(name) == state for name, state in ran.get(key, {}).items())}

    def _unpack(self, places: Sequence[Place], limits: Mapping[str, int | float]) -> dict[str, Place]:
        """Return the places by name, archives as their unpacked folders; a refused one gets its fault."""
        folders = {}
        with closing(Unpacker(self._memo, limits, self._settings.isolation)) as unpacker:
            for place in places:
                try:
                    archive = str(place.folder) if place.is_archive else ""
                    folders[place.name] = replace(place, folder=unpacker.folder_of(place.folder), archive=archive) if archive else place
                except SubmissionError as error:
                    self._faults[place.name] = f"{place.folder.name}: {error.message}"
        return folders

    def entry(self, place: Place, progress: Progress | None) -> Entry:
        """Return the entry of a submission; two of the same content are scored once."""
        if place.name in self._faults:
            return Entry(name=place.name, scores=None, fault=self._faults[place.name])
        place, key = self._places[place.name], self._keys[place.name]
        is_new = key not in self._find_folder
        try:
            folder = self._score(place, progress) if is_new else self._find_folder[key]
            if not is_new and key not in self._memo_key:
                self._ask_again(place, folder)
        except SubmissionError as error:
            return Entry(name=place.name, scores=None, fault=_words_of(error, place))
        self._memo_key.add(key)
        scores = self._scores.get(folder) or run_scores(folder, self._memo)
        if scores is not None and key.endswith(f"|submission:{scores.submission_hash}"):
            self._find_folder[key] = folder
        if scores is None:
            return Entry(name=place.name, scores=None, fault="its run was deleted while the leaderboard was made")
        return Entry(name=place.name, scores=scores, is_new=is_new)

    def _ask_again(self, place: Place, folder: Path) -> None:
        """Score the unscored instances of a known run again, in its own folder; if that is not writable, the run stays unchanged."""
        run = self._scores.get(folder)
        if run is not None and any(value is None and status in UNGRADED for value, status in zip(run.score, run.status, strict=True)):
            del self._scores[folder]
            with suppress(OutputError):
                self._run(place, metadata=run.metadata, resume=folder)

    def _score(self, place: Place, progress: Progress | None) -> Path:
        def report_progress(done: int, total: int) -> None:
            if progress is not None:
                progress(self._n_done * total + done, self._n_new * total)

        folder = self._run(
            place, metadata=self._metadata.get(place.name, {}), label=place.name.rpartition("/")[2], progress=report_progress
        )
        self._n_done += 1
        return folder

    def _run(self, place: Place, *, progress: Progress | None = None, **options: Any) -> Path:
        # Imported here: a leaderboard with nothing new to score is a third faster without.
        from evalsuite.runs.scoring import run

        self._fork_server = self._fork_server or self.workers.enter_context(fork_server_for(*self._folders, modules=WORKER_MODULES))
        how = replace(self._settings, archive=place.archive, **options)
        done = run(place.folder, self._gold_dir, how, progress=progress, fork_server=self._fork_server, judges=self._with_gold())
        refuse_changes(done.changed_gold)
        assert done.folder is not None, "a leaderboard saves its runs"
        return done.folder

    def _with_gold(self) -> "ForkServer | None":
        """Return the fork server of judges with gold loaded, if several submissions will be scored in the sandbox: gold is read once."""
        from evalsuite.runs.task_execution import takes_big_tables

        if self._judges is None and self._n_new > 1 and self._settings.isolation != "none":
            gold = read_gold(self._gold_dir)
            orders = [
                (entry.marker.reads, check.parameters, instance.instance_id)
                for instance in gold.instances
                for check in instance.checks
                if takes_big_tables(entry := SCORERS.load(check.scorer)) and check.computed is None and not check.problems
            ]
            if (judges := self.workers.enter_context(fork_server_for(*self._folders, modules=WORKER_MODULES, is_shareable=False))) is None:
                return None
            self._judges = judges
            names = {check.scorer for instance in gold.instances for check in instance.checks}
            judges.load(sorted({SCORERS.load(name).function.__module__ for name in names if name in SCORERS.bundled}))
            judges.call(
                "evalsuite.runs.task_execution:read_ahead",
                gold.folder.absolute(),
                dict(resolve_limits(gold.suite.limits, self._settings.limits)),
                list(orders),
            )
        return self._judges


def _gold_facts(gold_dir: Path, content: str, memo: DiskCache) -> dict[str, Any]:
    """Return facts of gold: its `layout`, `limits` and `rules` of its suite, whether all scorers are bundled, and `defaults`.

    `defaults` are the default rules by instance if some are strict, else empty. A plugin's code is in no signature, so a run with a plugin
    is never reused, and such facts are not cached.
    """
    entry: dict[str, Any] | None = memo.get("gold", content)
    if entry is not None and "layout" in entry:
        return entry
    gold = refuse_empty(read_gold(gold_dir))
    defaults = {instance.instance_id: default_rules(instance) for instance in gold.instances}
    facts = {
        "limits": dict(gold.suite.limits),
        "rules": gold.suite.rules,
        "layout": gold.layout,
        "is_bundled": all(check.scorer in SCORERS.bundled for instance in gold.instances for check in instance.checks),
        "defaults": defaults if "strict" in defaults.values() else {},
    }
    if facts["is_bundled"]:
        memo.put("gold", content, facts)
    return facts


def _is_of_other_versions(folder: Path) -> bool:
    """Return whether a run's receipt names other code, another Python or library, of those that can change a verdict, or no code."""
    run = read_run_file(folder)
    receipt = run.get("receipt") if isinstance(run, dict) else None
    return not isinstance(receipt, dict) or CODE not in receipt or bool(changed_versions(receipt))


def _follows(run: RunScores, rules: Mapping[str, Rule]) -> bool:
    """Return whether each score follows its instance's rules.

    The signature of a suite with trees is the same for `--rules official` and none.
    """
    if set(run.ids) != set(rules):
        return False
    rows = zip(run.ids, run.score, run.official, run.strict, strict=True)
    return all(score == (official if rules[name] == "official" else strict) for name, score, official, strict in rows)


# No vowels, so no words; five of them distinguish a thousand submissions.
_LETTERS, _N_LETTERS = "BCDFGHJKLMNPQRSTVWXZ", 5


def without_names(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries with letters as names, without metadata, paths and texts of faults.

    The letters come from the content of a submission: they stay when others are added and do not reveal the name, but the owner of the
    folder can compute them. Two of the same content get numbers.
    """
    digests = [_content(entry.scores) if entry.scores is not None else "" for entry in entries]
    distinct = sorted(set(digests) - {""})
    length = next(n for n in range(_N_LETTERS, 26) if len({_letters(digest, n) for digest in distinct}) == len(distinct))
    seen: Counter[str] = Counter()
    hidden = []
    for entry, digest in zip(entries, digests, strict=True):
        name = _letters(digest, length) if digest else "unreadable"
        seen[name] += 1
        name = name if digest and seen[name] == 1 else f"{name} {seen[name]}"
        scores = replace(entry.scores, metadata={}, folder="", submission="") if entry.scores is not None else None
        hidden.append(replace(entry, name=name, scores=scores, fault="cannot be read" if entry.fault else "", metadata={}))
    # In the order of the letters; the order of the names would reveal them.
    return sorted(hidden, key=lambda entry: entry.name)


def _content(scores: RunScores) -> str:
    identity = scores.submission_hash or json.dumps([scores.ids, scores.score, scores.status])
    return hashlib.sha256(f"leaderboard|{identity}".encode("utf-8", "surrogatepass")).hexdigest()


def _letters(digest: str, length: int) -> str:
    number, letters = int(digest, 16), ""
    for _ in range(length):
        number, at = divmod(number, len(_LETTERS))
        letters += _LETTERS[at]
    return letters
