"""Rescoring: score a saved run again from its submission folder, under other rules or with the installed versions.

Drift compares the verdicts of stored runs with those of a rescoring, by changed component of the signature.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalsuite.core.errors import EvalsuiteError, UsageError
from evalsuite.core.status import lacks_setup
from evalsuite.core.types import METADATA_ARRAY, Result, Rule
from evalsuite.core.version import __version__
from evalsuite.gold.layouts import read_gold
from evalsuite.readers.gold_files import find_spec, gold_hash
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.paths import SPEC_PATTERN
from evalsuite.readers.submission_files import submission_hash
from evalsuite.runs.history import RunEntry
from evalsuite.runs.run_options import RunOptions
from evalsuite.runs.run_result import Run
from evalsuite.runs.scoring import Progress, run
from evalsuite.runs.shards import parse_shard
from evalsuite.runs.submission_reader import read_submission_in_worker

FROM = "rescored_from"
_STAMPED = re.compile(r"\d{8}-\d{6}-(.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescored:
    """The new run, the changes of the old one's n verdicts, and notes. `changed` contains (instance id, old score, new score)."""

    run: Run
    changed: tuple[tuple[str, float | None, float | None], ...]
    signature_changes: tuple[str, ...]
    notes: tuple[str, ...]


def rescore(
    entry: RunEntry,
    *,
    rules: Rule | None = None,
    submission: Path | None = None,
    gold: Path | None = None,
    version: str | None = None,
    options: RunOptions,
    progress: Progress | None = None,
    as_it_lies: bool = False,
) -> Rescored:
    """Score the submission of `entry` again as a new run that keeps metadata and label and records `rescored_from`.

    The instances and limits are those of the old run, except limits in `options`; the rules too if `rules` is None. `submission` and `gold`
    are the current folders. `version` requires a scorer version, which is that of evalsuite; "same" is the old run's. With `as_it_lies`
    gold may have changed, which changes the signature.

    Raises:
        UsageError: Another version is installed; a folder has moved, or its content is not what was scored.
    """
    _check_version(entry, version)
    own_limits = {**(entry.run.get("options", {}).get("limits") or {}), **options.limits}
    said, notes = entry.run.get("submission", {}), []
    layout, mode = entry.run.get("gold", {}).get("layout", "original"), entry.run.get("options", {}).get("mode")
    handed_in = place_of(entry, said.get("folder"), submission, f"{METADATA_ARRAY}*" if layout == "original" else "*", "submission")
    gold_folder = place_of(entry, entry.run.get("gold", {}).get("folder"), gold, SPEC_PATTERN, "gold")
    spec = find_spec(gold_folder)
    if not as_it_lies:
        _check_content(entry, "gold", gold_folder, entry.run.get("gold", {}).get("hash"), gold_hash(gold_folder, spec))
    if said.get("hash"):
        read = read_gold(gold_folder, layout=layout)
        limits = resolve_limits(read.suite.limits, own_limits)
        now = submission_hash(read_submission_in_worker(handed_in, read, limits, mode=mode, isolation=options.isolation))
        _check_content(entry, "submission", handed_in, said["hash"], now)
    else:
        notes.append("the run does not record the content of its submission: the current content was scored")
    old, before = entry.run.get("options", {}), entry.results()
    label = _STAMPED.fullmatch(entry.name)
    done = run(
        handed_in,
        gold_folder,
        RunOptions(
            rules=rules or chosen_rules(old.get("rules"), before),
            only=tuple(old.get("only") or ()),
            pattern=old.get("filter"),
            group=old.get("group"),
            shard=parse_shard(old.get("shard")),
            save=options.save,
            limits=own_limits,
            live_gold=old.get("live_gold", False),
            as_of=old.get("as_of"),
            layout=old.get("layout"),
            mode=mode,
            runs_folder=options.runs_folder,
            isolation=options.isolation,
            jobs=options.jobs,
            cache=options.cache,
            databases=options.databases,
            questions=questions_of(entry, options.questions),
            allow_programs=options.allow_programs,
            invalid_as=options.invalid_as or old.get("invalid_as"),
            judge=options.judge,
            metadata={**entry.metadata, FROM: entry.name},
            label=label[1] if label else entry.name,
        ),
        progress=progress,
    )
    return Rescored(
        run=done,
        changed=tuple(_changed(before, done.results)),
        signature_changes=tuple(_moved(str(entry.run.get("signature", "")), done.signature)),
        notes=tuple(notes),
    )


def _check_version(entry: RunEntry, version: str | None) -> None:
    """Raise `UsageError` if the required scorer version is not the installed one."""
    wanted = _parts(str(entry.run.get("signature", ""))).get("evalsuite", "") if version == "same" else version
    if wanted is not None and wanted != __version__:
        raise UsageError(
            f"scorer version {wanted or 'unknown'} is requested, {__version__} is installed",
            hint=f"install evalsuite {wanted}, or leave --scorer-version out" if wanted else "leave --scorer-version out",
        )


def questions_of(entry: RunEntry, given: Path | None = None) -> Path | None:
    """Return the file of questions that the run used: `given`, else the recorded one; None if there is none.

    Raises `UsageError` if it is gone.
    """
    said = entry.run.get("options", {}).get("questions")
    return place_of(entry, said, given, "*", "questions") if said else given


def place_of(entry: RunEntry, said: str | None, given: Path | None, pattern: str, side: str) -> Path:
    """Return a side's folder or file: the given one, else the recorded one, relative to here or to the folder of its history."""
    if given is not None:
        return given
    # A relative path was relative to where the run was started: the folder that contains `.evalsuite/runs/<run>`.
    starts = [Path(), *entry.folder.resolve().parents[2:3]]
    places = [start / said for start in starts] if said else []
    for place in places:
        if place.is_file() or (place.is_dir() and any(place.glob(pattern))):
            return place
    raise UsageError(f"the {side} of {entry.name} is no longer in {said or 'a known folder'}", hint=f"say where it is: --{side} DIR")


def _check_content(entry: RunEntry, side: str, folder: Path, then: str | None, now: str) -> None:
    """Raise `UsageError` if a folder does not contain what was scored."""
    if then != now:
        hint = f"--{side} DIR names the folder that does; `evalsuite run` scores what is there now as a new run"
        raise UsageError(f"the {side} {folder} does not contain what {entry.name} scored ({then} then, {now} now)", hint=hint)


def chosen_rules(rules: Rule | None, results: Sequence[Result]) -> Rule | None:
    """Return the rules of the old run; None if not all its scores follow them, because trees used their own default."""
    follows = all(r.score == (r.official if rules == "official" else r.strict) for r in results)
    return rules if follows else None


def _changed(before: Sequence[Result], after: Sequence[Result]) -> Iterator[tuple[str, float | None, float | None]]:
    old = {r.instance_id: r.score for r in before}
    for result in after:
        if result.instance_id in old and old[result.instance_id] != result.score:
            yield result.instance_id, old[result.instance_id], result.score


def _moved(before: str, after: str) -> Iterator[str]:
    old, new = _parts(before), _parts(after)
    for name in {**old, **new}:
        if old.get(name) != new.get(name):
            yield f"{name} {old.get(name, 'none')} -> {new.get(name, 'none')}"


def _parts(signature: str) -> dict[str, str]:
    return dict(part.partition(":")[::2] for part in signature.split("|"))


# A verdict changed although the whole signature is the same.
UNNAMED = "nothing that the signature names"
Verdict = tuple[str, float | None, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Changes of one run's n verdicts: `moved` contains (instance id, old score, new score).

    `components` are the changed parts of the signature, as `name then -> now`. `problem` is the reason why the run, or some of its
    verdicts, could not be scored again; empty if all were. An unscored verdict has not moved.
    """

    name: str
    n: int = 0
    moved: tuple[Verdict, ...] = ()
    components: tuple[str, ...] = ()
    problem: str = ""

    @property
    def blamed(self) -> str:
        """The changed components, any of which may have moved a verdict; empty if no verdict moved."""
        return (", ".join(self.components) or UNNAMED) if self.moved else ""

    def to_json(self) -> dict[str, Any]:
        """Return one object of the array that `drift --json` prints."""
        moved = [{"instance_id": name, "then": then, "now": now} for name, then, now in self.moved]
        return {
            "run": self.name,
            "n": self.n,
            "n_moved": len(moved),
            "moved": moved,
            "components": list(self.components),
            "problem": self.problem,
        }


def drifted(
    entries: Iterable[RunEntry], options: RunOptions, *, gold: Path | None = None, progress: Progress | None = None
) -> Iterator[Drift]:
    """Yield the drift of each run. Nothing is saved or taken from a cache; a run that cannot be scored again has the reason."""
    for entry in entries:
        try:
            done = rescore(entry, gold=gold, options=replace(options, save=False, cache=None), progress=progress, as_it_lies=True)
        except EvalsuiteError as error:
            yield Drift(name=entry.name, problem=error.message)
            continue
        results = {result.instance_id: result for result in done.run.results}
        moved = tuple(one for one in done.changed if not lacks_setup(results[one[0]]))
        lost = [results[name] for name, *_ in done.changed if lacks_setup(results[name])]
        problem = f"{len(lost)} of {len(results)} verdicts cannot be scored here: {lost[0].reason}" if lost else ""
        yield Drift(name=entry.name, n=len(results), moved=moved, components=done.signature_changes, problem=problem)


def by_component(drifts: Iterable[Drift]) -> list[tuple[str, int, int, int]]:
    """Return (component `name then -> now`, runs, verdicts, moved verdicts) of every change, most moved first."""
    counts: dict[str, list[int]] = {}
    for drift in drifts:
        for component in drift.components or ((UNNAMED,) if drift.moved else ()):
            count = counts.setdefault(component, [0, 0, 0])
            for at, more in enumerate((1, drift.n, len(drift.moved))):
                count[at] += more
    return sorted(((name, *count) for name, count in counts.items()), key=lambda row: (-row[3], row[0]))  # type: ignore[misc]
