"""What a leaderboard is made of: submissions and runs found under folders, each scored unless a finished run says the same already."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evalsuite.errors import OutputError, SubmissionError, UsageError
from evalsuite.gold.errata import ERRATA_FILE, read_errata
from evalsuite.gold.judge_file import judge_line_in
from evalsuite.gold.layouts import layout_of, read_gold
from evalsuite.gold.lite_and_snow import holds_answers
from evalsuite.memo import Memo
from evalsuite.outcome import UNGRADED
from evalsuite.readers.gold_files import find_spec, gold_hash, gold_inodes, is_alone
from evalsuite.readers.limits import moved_limits, resolve_limits
from evalsuite.readers.paths import why_no_folder
from evalsuite.readers.submission_files import known_hash, submission_hash
from evalsuite.run.handed_in import HandedInReader, walled_columns
from evalsuite.run.plan import default_rules
from evalsuite.scorers import SCORERS
from evalsuite.store.run_folder import RUN, STARTED, holds_run, is_submission
from evalsuite.store.run_scores import RunScores, errata_line, find_scored, key_of, run_scores
from evalsuite.store.signature import signature
from evalsuite.types import METADATA, Rule

if TYPE_CHECKING:
    from evalsuite.workers.start import Zygote

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder to rank: a submission to score or a finished run, by the name it goes by; or one that cannot be read, with its `fault`.

    The files of a run that `is_foreign` were written by others, and are parsed behind walls.
    """

    name: str
    folder: Path
    is_run: bool = False
    fault: str = ""
    is_foreign: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How submissions are scored: the options of a run that a board has, with the same meaning."""

    rules: Rule | None = None
    limits: Mapping[str, int | float] = field(default_factory=dict)
    runs_folder: Path = Path(".evalsuite/runs")
    isolation: str = "process"
    jobs: int | None = None
    cache: Path | None = None
    databases: Path | None = None
    allow_programs: bool = False
    invalid_as: Literal["zero"] | None = None
    judge: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A place with its scores, or with the `fault` that kept it from being read. `is_new`: it was scored in this call."""

    name: str
    scores: RunScores | None
    fault: str = ""
    is_new: bool = False
    is_run: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)


def find_places(folders: Sequence[Path], gold: Path) -> tuple[list[Place], list[str]]:
    """(what is to be ranked, notes on what was left out). Each folder is a submission, a run, or holds several of them.

    Beside submissions every folder counts as one, so that a broken one is seen, and so that nobody hands in a finished run of his own;
    hidden folders and gold itself do not. One that is empty or cannot be read ends nothing: it is a place with a fault. Raises
    `UsageError` for what is no folder, and where there is nothing to rank.
    """
    notes: list[str] = []
    by_files = gold.exists() and layout_of(find_spec(gold)) != "original"
    found = {folder: _places_in(folder, gold, notes, by_files=by_files) for folder in folders}
    if not any(not place.fault for places in found.values() for place in places):
        empty = next((folder for folder, places in found.items() if not places), folders[0])
        broken = next((f"{place.folder}: {place.fault}" for places in found.values() for place in places), "")
        raise UsageError(broken or f"{empty}: no submission and no finished run in it", hint=f"a submission holds {METADATA}, a run {RUN}")
    own: dict[Path, Place] = {}
    for folder, places in found.items():
        for place in places or [_broken(folder, f"no submission and no finished run in {folder}")]:
            own.setdefault(place.folder.resolve(), place)
    return _with_own_names(list(own.values())), notes


def _places_in(folder: Path, gold: Path, notes: list[str], *, by_files: bool) -> list[Place]:
    """The places that a folder is or holds, or a file of queries is; empty where there is none."""
    if folder.is_file() and gold.exists() and is_alone(find_spec(gold)):
        return [Place(name=folder.name, folder=folder)]
    if (why := why_no_folder(folder, "folder")) in ("no such folder", "not a folder"):
        raise UsageError(f"{folder}: {why}", hint="name folders of submissions or of runs")
    if why:
        return [_broken(folder, why)]
    if (place := _place(folder, by_files=by_files)) is not None:
        return [place]
    gold = gold.parent if gold.is_file() else gold
    inner = [item for item in sorted(folder.iterdir()) if item.is_dir() and not item.name.startswith(".") and not _same(item, gold)]
    found = {item: _place(item, by_files=by_files) for item in inner}
    if not any(place is not None and not place.fault for place in found.values()):
        return [place for place in found.values() if place is not None]
    unfinished = [item for item in inner if found[item] is None and (item / STARTED).exists()]
    if unfinished:
        notes.append(f"unfinished runs left out: {len(unfinished)}")
    if all(place is None or place.is_run or place.fault for place in found.values()):
        return [place for place in found.values() if place is not None]
    runs = [item for item, place in found.items() if place is not None and place.is_run]
    notes += [f"{item.name} is a run among submissions, and not taken at its word: name it by itself" for item in runs]
    return [replace(found[item] or Place(name=item.name, folder=item), is_run=False) for item in inner if item not in unfinished]


def _place(folder: Path, *, by_files: bool) -> Place | None:
    """What a folder is to a board, None for neither; `by_files`: one of answer files alone is a submission too, as in lite and snow."""
    if why := why_no_folder(folder, "folder"):
        return _broken(folder, why)
    name = folder.resolve().name
    if is_submission(folder) or (by_files and holds_answers(folder)):
        return Place(name=name, folder=folder)
    return Place(name=name, folder=folder, is_run=True) if holds_run(folder) else None


def _broken(folder: Path, why: str) -> Place:
    return Place(name=folder.resolve().name, folder=folder, fault=why)


def _same(a: Path, b: Path) -> bool:
    return b.exists() and a.samefile(b)


def _with_own_names(places: list[Place]) -> list[Place]:
    """The places, those of one name told apart by the folder they lie in, or by a number."""
    names = [place.name for place in places]
    longer = [f"{place.folder.resolve().parent.name}/{place.name}" if names.count(place.name) > 1 else place.name for place in places]
    seen: dict[str, int] = {}
    own = []
    for place, name in zip(places, longer, strict=True):
        seen[name] = seen.get(name, 0) + 1
        own.append(replace(place, name=name if seen[name] == 1 else f"{name} ({seen[name]})"))
    return own


def score_places(
    places: Sequence[Place],
    gold_dir: Path,
    settings: Settings,
    memo: Memo,
    *,
    metadata: Mapping[str, Mapping[str, str]] | None = None,
    anew: bool = False,
    progress: Progress | None = None,
) -> list[Entry]:
    """One entry a place, in order. A submission is scored and saved as `run` does it, unless a finished run under `settings.runs_folder`
    has its signature, errata and submission hash; `anew` scores all. `metadata` by name is kept with new runs.

    Raises what `run` raises, but for a submission that cannot be read: that is an entry with its fault.
    """
    about = metadata or {}
    submissions = [place for place in places if not place.is_run and not place.fault]
    scoring = _Scoring(submissions, gold_dir, settings, memo, about, anew) if submissions else None
    entries = []
    with scoring.workers if scoring is not None else nullcontext():
        for place in places:
            own = about.get(place.name, {})
            if place.fault:
                entries.append(Entry(name=place.name, scores=None, fault=place.fault, metadata=own))
            elif place.is_run or scoring is None:
                scores = run_scores(place.folder, memo, read=walled_columns if place.is_foreign else None)
                fault = "" if scores is not None else f"{RUN} or the results beside it cannot be read"
                entries.append(Entry(name=place.name, scores=scores, fault=fault, is_run=True, metadata=own))
            else:
                entries.append(replace(scoring.entry(place, progress), metadata=own))
    return entries


class _Scoring:
    """The submissions of one board: what each one's hash is, what is known already, and the scoring of the rest."""

    def __init__(
        self,
        places: Sequence[Place],
        gold_dir: Path,
        settings: Settings,
        memo: Memo,
        metadata: Mapping[str, Mapping[str, str]],
        anew: bool,
    ) -> None:
        self._gold_dir, self._settings, self._memo, self._metadata = gold_dir, settings, memo, metadata
        self._folders = [place.folder for place in places]
        self.workers = ExitStack()
        self._zygote: Zygote | None = None
        self._judges: Zygote | None = None
        spec = find_spec(gold_dir)
        content, inodes = gold_hash(spec.parent, spec), gold_inodes(spec.parent)
        facts = _gold_facts(gold_dir, content, memo)
        limits = resolve_limits(facts["limits"], settings.limits)
        chosen: Rule | None = settings.rules or facts["rules"]
        layout = facts["layout"]
        word = chosen or ("default" if facts["defaults"] else "official")
        more: dict[str, Any] = {"programs": settings.allow_programs, "invalid_as": settings.invalid_as}
        more["judge"] = judge_line_in(None if is_alone(spec) else spec.parent, settings.judge)
        line = signature(rules=word, gold_hash=content, limits=moved_limits(limits), layout=layout, **more)
        errata = read_errata(read_gold(gold_dir)) if (spec.parent / ERRATA_FILE).is_file() else None
        corrected = errata_line(errata.hash, (entry.id for entry in errata.of_state("applied"))) if errata is not None else ""
        self._faults: dict[str, str] = {}
        self._keys: dict[str, str] = {}
        reading = HandedInReader(gold_dir, self._folders, limits, settings.isolation)
        with closing(reading):
            for place in places:
                try:
                    if layout == "original":
                        read = partial(reading.read, place.folder)
                        found_hash = known_hash(place.folder, memo, limits=limits, gold_inodes=inodes, gold_hash=content, read=read)
                    else:
                        # Without metadata a new file is a new answer, and no stamp of known files would show it.
                        found_hash = submission_hash(reading.read(place.folder), inodes)
                    self._keys[place.name] = key_of(line, corrected, found_hash)
                except (SubmissionError, UsageError) as error:
                    # No option says of one submission among many what its files are.
                    self._faults[place.name] = error.message
        wanted = set() if anew or not facts["is_bundled"] else set(self._keys.values())
        found = find_scored(settings.runs_folder, wanted, memo)
        if facts["defaults"]:
            rules = {name: chosen or default for name, default in facts["defaults"].items()}
            found = {key: folder for key, folder in found.items() if _follows(run_scores(folder, memo), rules)}
        self._known, self._asked = found, set[str]()
        self._n_new = len({key for key in self._keys.values() if key not in self._known})
        self._n_done = 0

    def entry(self, place: Place, progress: Progress | None) -> Entry:
        """The entry of a submission; two of the same content are scored once."""
        if place.name in self._faults:
            return Entry(name=place.name, scores=None, fault=self._faults[place.name])
        key = self._keys[place.name]
        is_new = key not in self._known
        try:
            folder = self._score(place, progress) if is_new else self._known[key]
            if not is_new and key not in self._asked:
                self._ask_again(place, folder)
        except SubmissionError as error:
            return Entry(name=place.name, scores=None, fault=error.message)
        self._asked.add(key)
        scores = run_scores(folder, self._memo)
        if scores is not None and key.endswith(f"|submission:{scores.submission_hash}"):
            self._known[key] = folder
        if scores is None:
            return Entry(name=place.name, scores=None, fault="its run was deleted while the leaderboard was made")
        return Entry(name=place.name, scores=scores, is_new=is_new)

    def _ask_again(self, place: Place, folder: Path) -> None:
        """Have a known run's instances judged that nobody could judge, in its own folder; where it cannot be written it stays as it is."""
        run = run_scores(folder, self._memo)
        if run is not None and any(value is None and status in UNGRADED for value, status in zip(run.score, run.status, strict=True)):
            with suppress(OutputError):
                self._run(place, metadata=run.metadata, resume=folder)

    def _score(self, place: Place, progress: Progress | None) -> Path:
        def shown(done: int, total: int) -> None:
            if progress is not None:
                progress(self._n_done * total + done, self._n_new * total)

        folder = self._run(place, metadata=self._metadata.get(place.name, {}), label=place.folder.resolve().name, progress=shown)
        self._n_done += 1
        return folder

    def _run(self, place: Place, *, progress: Progress | None = None, **options: Any) -> Path:
        # Here, because a board with nothing new to score is a third faster without.
        from evalsuite.run.scoring import Options, run
        from evalsuite.workers.start import forking

        self._zygote = self._zygote or self.workers.enter_context(forking(*self._folders))
        settings = {name: getattr(self._settings, name) for name in Settings.__slots__}
        how = Options(**settings, **options)
        done = run(place.folder, self._gold_dir, how, progress=progress, zygote=self._zygote, judges=self._with_gold())
        assert done.folder is not None, "a leaderboard saves its runs"
        return done.folder

    def _with_gold(self) -> "Zygote | None":
        """What judges are forked from that hold gold, where more than one submission is to be scored behind walls: gold is read once."""
        from evalsuite.workers.stages import takes_big_tables
        from evalsuite.workers.start import forking

        if self._judges is None and self._n_new > 1 and self._settings.isolation != "none":
            gold = read_gold(self._gold_dir)
            orders = [
                (entry.marker.reads, check.parameters, instance.instance_id)
                for instance in gold.instances
                for check in instance.checks
                if takes_big_tables(entry := SCORERS.load(check.scorer)) and check.computed is None and not check.problems
            ]
            if (judges := self.workers.enter_context(forking(*self._folders))) is None:
                return None
            self._judges = judges
            names = {check.scorer for instance in gold.instances for check in instance.checks}
            judges.load(sorted({SCORERS.load(name).function.__module__ for name in names if name in SCORERS.bundled}))
            judges.read_gold(gold.folder.absolute(), resolve_limits(gold.suite.limits, self._settings.limits), orders)
        return self._judges


def _gold_facts(gold_dir: Path, content: str, memo: Memo) -> dict[str, Any]:
    """What a board asks of gold: its `layout`, `limits` and `rules` of its suite, whether all scorers are bundled, and `defaults`.

    `defaults` are the default rules by instance where some are strict, else empty. A plugin's code is in no signature, so a run with
    one is never taken over, and such facts are not kept.
    """
    known: dict[str, Any] | None = memo.get("gold", content)
    if known is not None and "layout" in known:
        return known
    gold = read_gold(gold_dir)
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


def _follows(run: RunScores | None, rules: Mapping[str, Rule]) -> bool:
    """Whether each score follows its instance's rules: the signature of a suite with trees does not tell `--rules official` from none."""
    if run is None or set(run.ids) != set(rules):
        return False
    rows = zip(run.ids, run.score, run.official, run.strict, strict=True)
    return all(score == (official if rules[name] == "official" else strict) for name, score, official, strict in rows)
