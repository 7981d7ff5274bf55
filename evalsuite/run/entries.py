"""What a leaderboard is made of: submissions and runs found under folders, each scored unless a finished run says the same already."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evalsuite.errors import OutputError, SubmissionError, UsageError
from evalsuite.gold.errata import ERRATA_FILE, read_errata
from evalsuite.gold.judge_file import judge_line_in
from evalsuite.gold.layouts import read_gold
from evalsuite.memo import Memo
from evalsuite.outcome import UNGRADED
from evalsuite.readers.gold_files import find_spec, gold_hash, gold_inodes, is_alone
from evalsuite.readers.limits import moved_limits, resolve_limits
from evalsuite.readers.submission_files import known_hash, submission_hash
from evalsuite.run.handed_in import HandedInReader, walled_columns
from evalsuite.run.places import Place
from evalsuite.run.plan import default_rules, signature_word
from evalsuite.run.unpacked import Unpacker
from evalsuite.scorers import SCORERS
from evalsuite.store.run_folder import RUN
from evalsuite.store.run_scores import RunScores, digest_of_ids, errata_line, find_scored, key_of, run_scores
from evalsuite.store.signature import signature
from evalsuite.types import Rule

if TYPE_CHECKING:
    from evalsuite.workers.start import Zygote

Progress = Callable[[int, int], None]


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
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A place with its scores, or with the `fault` that kept it from being read. `is_new`: it was scored in this call.

    The run of one that `is_foreign` was written by others.
    """

    name: str
    scores: RunScores | None
    fault: str = ""
    is_new: bool = False
    is_run: bool = False
    is_foreign: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)


# Submission hash by name -> the names that are not taken, for nothing is scored of them.
Admit = Callable[[Mapping[str, str]], Collection[str]]


def score_places(
    places: Sequence[Place],
    gold_dir: Path,
    settings: Settings,
    memo: Memo,
    *,
    metadata: Mapping[str, Mapping[str, str]] | None = None,
    anew: bool = False,
    progress: Progress | None = None,
    admit: Admit | None = None,
) -> list[Entry]:
    """One entry a place, in order. A submission is scored and saved as `run` does it, unless a finished run under `settings.runs_folder`
    has its signature, errata and submission hash; `anew` scores all. `metadata` by name is kept with new runs. What `admit` turns away has
    no entry.

    Raises what `run` raises, but for a submission that cannot be read: that is an entry with its fault.
    """
    about = metadata or {}
    submissions = [place for place in places if not place.is_run and not place.fault]
    scoring = _Scoring(submissions, gold_dir, settings, memo, about, anew, admit) if submissions else None
    entries = []
    with scoring.workers if scoring is not None else nullcontext():
        for place in places:
            own = about.get(place.name, {})
            if place.fault:
                entries.append(Entry(name=place.name, scores=None, fault=place.fault, metadata=own))
            elif place.is_run or scoring is None:
                scores = run_scores(place.folder, memo, read=walled_columns if place.is_foreign else None)
                fault = "" if scores is not None else f"{RUN} or the results beside it cannot be read"
                more = {"is_run": True, "is_foreign": place.is_foreign}
                entries.append(Entry(name=place.name, scores=scores, fault=fault, metadata=own, **more))
            elif place.name not in scoring.turned_away:
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
        admit: Admit | None,
    ) -> None:
        self._gold_dir, self._settings, self._memo, self._metadata = gold_dir, settings, memo, metadata
        self.workers = ExitStack()
        self._zygote: Zygote | None = None
        self._judges: Zygote | None = None
        spec = find_spec(gold_dir)
        content, inodes = gold_hash(spec.parent, spec), gold_inodes(spec.parent)
        facts = _gold_facts(gold_dir, content, memo)
        limits = resolve_limits(facts["limits"], settings.limits)
        chosen: Rule | None = settings.rules or facts["rules"]
        layout = facts["layout"]
        word = signature_word(chosen, facts["defaults"].values())
        more: dict[str, Any] = {"programs": settings.allow_programs, "invalid_as": settings.invalid_as}
        more["judge"] = judge_line_in(None if is_alone(spec) else spec.parent, settings.judge)
        line = signature(rules=word, gold_hash=content, limits=moved_limits(limits), layout=layout, **more)
        errata = read_errata(read_gold(gold_dir)) if (spec.parent / ERRATA_FILE).is_file() else None
        corrected = errata_line(errata.hash, (entry.id for entry in errata.of_state("applied"))) if errata is not None else ""
        self._faults: dict[str, str] = {}
        self._places = self._unpacked(places, limits)
        self._folders = [place.folder for place in self._places.values()]
        hashes: dict[str, str] = {}
        reading = HandedInReader(gold_dir, self._folders, limits, settings.isolation)
        with closing(reading):
            for name, place in self._places.items():
                try:
                    if layout == "original":
                        read = partial(reading.read, place.folder)
                        hashes[name] = known_hash(place.folder, memo, limits=limits, gold_inodes=inodes, gold_hash=content, read=read)
                    else:
                        # Without metadata a new file is a new answer, and no stamp of known files would show it.
                        hashes[name] = submission_hash(reading.read(place.folder), inodes)
                except (SubmissionError, UsageError) as error:
                    # No option says of one submission among many what its files are.
                    self._faults[name] = error.message.replace(str(place.folder), name)
        self.turned_away = frozenset(admit(hashes) if admit is not None else ())
        only = digest_of_ids(settings.only)
        self._keys = {name: key_of(line, corrected, own, only=only) for name, own in hashes.items() if name not in self.turned_away}
        wanted = set() if anew or not facts["is_bundled"] else set(self._keys.values())
        scored = find_scored(settings.runs_folder, wanted, memo)
        # One whose results cannot be read says nothing.
        self._scores = {folder: scores for folder in scored.values() if (scores := run_scores(folder, memo)) is not None}
        found = {key: folder for key, folder in scored.items() if folder in self._scores}
        if facts["defaults"]:
            rules = {name: chosen or default for name, default in facts["defaults"].items()}
            found = {key: folder for key, folder in found.items() if _follows(self._scores[folder], rules)}
        self._known, self._asked = self._on_todays_databases(found), set[str]()
        self._n_new = len({key for key in self._keys.values() if key not in self._known})
        self._n_done = 0

    def _on_todays_databases(self, found: Mapping[str, Path]) -> dict[str, Path]:
        """The runs whose databases are as they were; of a server nobody can say, and its answers stand."""
        ran = {key: self._scores[folder].databases for key, folder in found.items()}
        if not any(ran.values()):
            return dict(found)
        from evalsuite.run.databases import Databases, database_stamps

        gold = read_gold(self._gold_dir)
        with closing(Databases(gold, gold.folder, limits={}, jobs=1, isolation="none", folder=self._settings.databases)) as databases:
            now = database_stamps(gold.instances, databases.connections())
        return {key: folder for key, folder in found.items() if all(now.get(name) == state for name, state in ran.get(key, {}).items())}

    def _unpacked(self, places: Sequence[Place], limits: Mapping[str, int | float]) -> dict[str, Place]:
        """The places by name, archives as the folders that they hold; of one that is refused the fault is noted."""
        found = {}
        with closing(Unpacker(self._memo, limits, self._settings.isolation)) as unpacker:
            for place in places:
                try:
                    found[place.name] = replace(place, folder=unpacker.folder_of(place.folder)) if place.is_archive else place
                except SubmissionError as error:
                    self._faults[place.name] = f"{place.folder.name}: {error.message}"
        return found

    def entry(self, place: Place, progress: Progress | None) -> Entry:
        """The entry of a submission; two of the same content are scored once."""
        if place.name in self._faults:
            return Entry(name=place.name, scores=None, fault=self._faults[place.name])
        place, key = self._places[place.name], self._keys[place.name]
        is_new = key not in self._known
        try:
            folder = self._score(place, progress) if is_new else self._known[key]
            if not is_new and key not in self._asked:
                self._ask_again(place, folder)
        except SubmissionError as error:
            return Entry(name=place.name, scores=None, fault=error.message.replace(str(place.folder), place.name))
        self._asked.add(key)
        scores = self._scores.get(folder) or run_scores(folder, self._memo)
        if scores is not None and key.endswith(f"|submission:{scores.submission_hash}"):
            self._known[key] = folder
        if scores is None:
            return Entry(name=place.name, scores=None, fault="its run was deleted while the leaderboard was made")
        return Entry(name=place.name, scores=scores, is_new=is_new)

    def _ask_again(self, place: Place, folder: Path) -> None:
        """Have a known run's instances judged that nobody could judge, in its own folder; where it cannot be written it stays as it is."""
        run = self._scores.get(folder)
        if run is not None and any(value is None and status in UNGRADED for value, status in zip(run.score, run.status, strict=True)):
            del self._scores[folder]
            with suppress(OutputError):
                self._run(place, metadata=run.metadata, resume=folder)

    def _score(self, place: Place, progress: Progress | None) -> Path:
        def shown(done: int, total: int) -> None:
            if progress is not None:
                progress(self._n_done * total + done, self._n_new * total)

        folder = self._run(place, metadata=self._metadata.get(place.name, {}), label=place.name.rpartition("/")[2], progress=shown)
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
            if (judges := self.workers.enter_context(forking(*self._folders, is_shareable=False))) is None:
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


def _follows(run: RunScores, rules: Mapping[str, Rule]) -> bool:
    """Whether each score follows its instance's rules: the signature of a suite with trees does not tell `--rules official` from none."""
    if set(run.ids) != set(rules):
        return False
    rows = zip(run.ids, run.score, run.official, run.strict, strict=True)
    return all(score == (official if rules[name] == "official" else strict) for name, score, official, strict in rows)
