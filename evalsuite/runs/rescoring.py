"""Runs made from saved runs: a run scored again, under other rules or versions, and shards merged into one run.

Shard i of n takes every n-th instance in gold order, starting with the i-th: neighbours, which often have similar cost, are spread, and the
gold order of the whole follows from the parts alone. Drift compares the verdicts of stored runs with those of a rescoring, by changed
component of the signature.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, TypeVar

from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.errors import EvalsuiteError, MachineError, UsageError, count_words, join_names
from evalsuite.core.files import exists, is_dir, is_file
from evalsuite.core.status import lacks_setup
from evalsuite.core.types import METADATA_ARRAY, Result, Rule
from evalsuite.core.version import __version__
from evalsuite.gold.connection_files import databases_folder
from evalsuite.gold.layouts import read_gold
from evalsuite.readers.gold_files import find_spec, gold_hash
from evalsuite.readers.limits import resolve_limits
from evalsuite.readers.paths import SPEC_PATTERN
from evalsuite.readers.submission_files import submission_hash
from evalsuite.runs.corrected_scores import merge_corrections
from evalsuite.runs.history import RunEntry, read_run, recorded_places, refuse_no_run, unreplaced
from evalsuite.runs.run_files import read_results
from evalsuite.runs.run_folder import RESULTS, RUN, RunFolder, claim
from evalsuite.runs.run_options import (
    RunOptions,
    changed_parts,
    changed_versions,
    chosen_rules,
    merge_receipts,
    signature_parts,
    versions_warning,
)
from evalsuite.runs.scoring import Progress, Run, by_kind, run
from evalsuite.runs.submission_reader import read_submission_in_worker
from evalsuite.runs.summary import summarise, tags_by_instance

_T = TypeVar("_T")
_MOST: Final = 100_000
_HINT: Final = "--shard 2/8 is the second of eight parts"


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `i` of `n`, counted from 1; its text is `i/n`."""

    i: int
    n: int

    def __str__(self) -> str:
        return f"{self.i}/{self.n}"

    def select(self, items: Sequence[_T]) -> list[_T]:
        """Return the items of this part, in order."""
        return list(items[self.i - 1 :: self.n])


def parse_shard(text: str | None) -> Shard | None:
    """Parse `i/n`; None for None. Raises `UsageError` for any other text."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]) <= _MOST:
        raise UsageError(f"--shard cannot be {text!r}", hint=_HINT)
    return Shard(int(match[1]), int(match[2]))


def merge(folders: Sequence[Path], out: Path) -> RunEntry:
    """Merge the finished runs in `folders`, the shards of one run, into `out`; the order of the folders does not matter.

    Its `results.jsonl` equals that of a run of the whole, except for seconds. Raises `UsageError` if the folders are no shards, or not all
    of one run: other gold, signature, submission or selection, a shard missing or repeated.
    """
    entries = [_entry(folder) for folder in folders]
    if any(out.resolve() == entry.folder.resolve() for entry in entries):
        raise UsageError(f"{out} is one of the shards: the merged run would replace it", hint="name a new folder with --out")
    parts = _in_order(entries)
    first = parts[0]
    _check_alike(parts)
    rows = [_rows(entry) for entry in parts]
    results = _woven(parts, rows)
    run = _merge_run_objects(parts, results)
    plan = {"signature": first.run["signature"], "submission": first.run["submission"].get("hash", ""), "options": run["options"]}
    folder = RunFolder(claim(out)).open(plan)
    try:
        folder.finish(results, run)
    finally:
        folder.close()
    merged = read_run(out)
    assert merged is not None
    return merged


def _rows(part: RunEntry) -> list[Result]:
    with unreplaced(part.folder, part.run):
        return list(read_results(part.folder / RESULTS))


def _entry(folder: Path) -> RunEntry:
    refuse_no_run(folder)
    entry = read_run(folder)
    if entry is None:
        raise UsageError(f"no finished run in {folder}", hint="merge takes the folders that `run --shard i/n --out DIR` wrote")
    return entry


def _shard(entry: RunEntry) -> Shard:
    text = entry.run.get("options", {}).get("shard")
    if not isinstance(text, str):
        raise UsageError(f"{entry.folder} is the run of no shard", hint="merge takes runs that `run --shard i/n` made")
    shard = parse_shard(text)
    assert shard is not None
    return shard


def _in_order(entries: Sequence[RunEntry]) -> list[RunEntry]:
    """Return the entries by shard; raises `UsageError` unless every shard of one count is there once."""
    if not entries:
        raise UsageError("no runs to merge", hint="evalsuite runs merge RUN... --out DIR")
    n = _shard(entries[0]).n
    by_number: dict[int, RunEntry] = {}
    for entry in entries:
        shard = _shard(entry)
        if shard.n != n:
            raise UsageError(f"{entry.folder} is shard {shard}, {entries[0].folder} one of {n}", hint="all shards have one count")
        if shard.i in by_number:
            raise UsageError(f"{by_number[shard.i].folder} and {entry.folder} are both shard {shard}", hint="give each shard once")
        by_number[shard.i] = entry
    missing = [str(Shard(i, n)) for i in range(1, n + 1) if i not in by_number]
    if missing:
        raise UsageError(f"missing shards: {join_names(missing)}", hint="run them with the same gold, submission and options, then merge")
    return [by_number[i] for i in range(1, n + 1)]


def _check_alike(parts: Sequence[RunEntry]) -> None:
    """Raise `UsageError` for shards of different runs, with the difference."""
    first = _identity(parts[0].run)
    for part in parts[1:]:
        other = _identity(part.run)
        for name, value in first.items():
            if other.get(name) != value:
                raise UsageError(
                    f"{part.folder} has another {name} than {parts[0].folder}: {other.get(name)} and {value}",
                    hint="shards are parts of one run: the same gold, submission, options and versions",
                )


def _identity(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return what all shards of a run have in common."""
    signature = signature_parts(str(run.get("signature", "")))
    options = {name: value for name, value in run.get("options", {}).items() if name != "shard"}
    return {
        **{f"signature ({name})": value for name, value in signature.items()},
        "signature": run.get("signature"),
        "submission": run.get("submission", {}).get("hash"),
        **{f"--{name}": value for name, value in options.items()},
        "options": options,
    }


def _woven(parts: Sequence[RunEntry], rows: Sequence[Sequence[Result]]) -> list[Result]:
    """Return the results in gold order; raises `UsageError` for an instance in two shards, or a shard without some of its results."""
    n_results = sum(map(len, rows))
    # First the counts of each run: a missing result makes the sum wrong, and the expected share of every other shard.
    n_gold = [entry.run["summary"].get("n_gold") for entry in parts]
    shares = [len(range(i, n_results, len(parts))) for i in range(len(parts))]
    for entry, part_rows, n in [*zip(parts, rows, n_gold, strict=True), *zip(parts, rows, shares, strict=True)]:
        if n is not None and len(part_rows) != n:
            message = f"{entry.folder} contains {count_words(len(part_rows), 'result')}, shard {_shard(entry)} has {n}"
            raise UsageError(message, hint="the file is damaged or half copied: copy it again, or run the shard again")
    results = [result for turn in zip_longest(*rows) for result in turn if result is not None]
    seen: set[str] = set()
    for result in results:
        if result.instance_id in seen:
            raise UsageError(f"the shards overlap: {result.instance_id!r} is in two of them", hint="run them again from one gold")
        seen.add(result.instance_id)
    return results


def _merge_run_objects(parts: Sequence[RunEntry], results: Sequence[Result]) -> dict[str, Any]:
    """Return the `run.json` object of the whole: every number computed again from the results."""
    first = parts[0].run
    groups = _groups(parts, results)
    tags = tags_by_instance(groups.items())
    part = {"clusters": first["gold"].get("clusters", ()), "n_instances": first["gold"].get("n_instances")}
    where = join_names([str(each.folder / RUN) for each in parts])
    summary = summarise(results, rules=first["options"]["rules"], groups=tags, where=where, **part)
    unsure = [name for part in parts for name in part.run.get("submission", {}).get("unsure", ())]
    accounts = {name: _add_accounts(parts, name) for name in ("judge", "sql", "living_gold", "databases")}
    # Only each shard knows which file bytes were read: the whole has no root.
    return {
        **{key: value for key, value in first.items() if key != "root"},
        "options": {name: value for name, value in first["options"].items() if name != "shard"},
        **({"submission": {**first["submission"], "unsure": unsure}} if unsure else {}),
        "summary": summary.to_json(),
        **merge_corrections([part.run for part in parts], results),
        "groups": groups,
        **{name: account for name, account in accounts.items() if account},
        "notes": by_kind(results),
        "warnings": [*dict.fromkeys(text for part in parts for text in part.run.get("warnings", ())), *_version_warnings(parts)],
        "receipt": merge_receipts([part.run.get("receipt", {}) for part in parts]),
        "seconds": round(sum(part.run.get("seconds", 0) for part in parts), 3),
    }


def _version_warnings(parts: Sequence[RunEntry]) -> list[str]:
    receipt = parts[0].run.get("receipt", {})
    names = dict.fromkeys(name for part in parts for name in changed_versions(receipt, part.run.get("receipt", {})))
    return [versions_warning(names, who="the merged shards")] if names else []


def _groups(parts: Sequence[RunEntry], results: Sequence[Result]) -> dict[str, list[str]]:
    """Return tag -> the ids of its instances, both in gold order."""
    tags = tags_by_instance(group for part in parts for group in part.run.get("groups", {}).items())
    groups: dict[str, list[str]] = {}
    for result in results:
        for tag in tags.get(result.instance_id, ()):
            groups.setdefault(tag, []).append(result.instance_id)
    return groups


def _add_accounts(parts: Sequence[RunEntry], name: str) -> dict[str, Any]:
    """Join an object of all shards by key: numbers are added up, lists joined, and of anything else the first is taken."""
    total: dict[str, Any] = {}
    for key, value in (item for part in parts for item in (part.run.get(name) or {}).items()):
        if isinstance(value, list):
            total[key] = [*(known := total.get(key, [])), *(each for each in value if each not in known)]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            total[key] = round((total.get(key) or 0) + value, 9)
        else:
            total.setdefault(key, value)
    return total


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
    recorded, notes = entry.run.get("submission", {}), []
    layout, mode = entry.run.get("gold", {}).get("layout", "original"), entry.run.get("options", {}).get("mode")
    submitted = place_of(entry, recorded.get("folder"), submission, f"{METADATA_ARRAY}*" if layout == "original" else "*", "submission")
    gold_folder = place_of(entry, entry.run.get("gold", {}).get("folder"), gold, SPEC_PATTERN, "gold")
    spec = find_spec(gold_folder)
    if not as_it_lies:
        _check_content(entry, "gold", gold_folder, entry.run.get("gold", {}).get("hash"), gold_hash(gold_folder, spec))
    if recorded.get("hash"):
        read = read_gold(gold_folder, layout=layout)
        limits = resolve_limits(read.suite.limits, own_limits)
        now = submission_hash(read_submission_in_worker(submitted, read, limits, mode=mode, isolation=options.isolation))
        _check_content(entry, "submission", submitted, recorded["hash"], now)
    else:
        notes.append("the run does not record the content of its submission: the current content was scored")
    before = entry.results()
    options = replace(options, archive=recorded.get("archive", "") if submission is None else "")
    done = run(submitted, gold_folder, _options_again(entry, layout, rules, options, own_limits), progress=progress)
    parts = changed_parts(str(entry.run.get("signature", "")), done.signature) | changed_versions(entry.run.get("receipt"))
    return Rescored(
        run=done,
        changed=tuple(_list_changes(before, done.results)),
        signature_changes=tuple(f"{name} {old} -> {new}" for name, (old, new) in parts.items()),
        notes=tuple(notes),
    )


def _options_again(entry: RunEntry, layout: str, rules: Rule | None, options: RunOptions, limits: Mapping[str, int | float]) -> RunOptions:
    """Return the options of the new run: what was scored and how is that of the old one, the rest is from `options`."""
    old, label = entry.run.get("options", {}), _STAMPED.fullmatch(entry.name)
    return replace(
        options,
        rules=rules or chosen_rules(str(entry.run.get("signature", "")), layout),
        only=tuple(old.get("only") or ()),
        pattern=old.get("filter"),
        group=old.get("group"),
        shard=parse_shard(old.get("shard")),
        limits=limits,
        as_of=day_of_gold(entry),
        **{name: old.get(name) for name in ("layout", "mode")},
        live_gold=old.get("live_gold", False),
        questions=questions_of(entry, options.questions),
        invalid_as=options.invalid_as or old.get("invalid_as"),
        metadata={**entry.metadata, FROM: entry.name},
        label=label[1] if label else entry.name,
    )


def _check_version(entry: RunEntry, version: str | None) -> None:
    """Raise `UsageError` if the required scorer version is not the installed one."""
    needed_version = signature_parts(str(entry.run.get("signature", ""))).get("evalsuite", "") if version == "same" else version
    if needed_version is not None and needed_version != __version__:
        raise UsageError(
            f"scorer version {needed_version or 'unknown'} is requested, {__version__} is installed",
            hint=f"install evalsuite {needed_version}, or leave --scorer-version out" if needed_version else "leave --scorer-version out",
        )


def day_of_gold(entry: RunEntry) -> str | None:
    """Return the day of the gold queries that the run used; None if none depends on a day."""
    days = (gold.get("as_of") for gold in entry.run.get("living_gold", {}).values())
    return entry.run.get("options", {}).get("as_of") or next(filter(None, days), None)


def questions_of(entry: RunEntry, override: Path | None = None) -> Path | None:
    """Return the file of questions that the run used: `override`, else the recorded one; None if there is none.

    Raises `UsageError` if it is gone.
    """
    recorded = entry.run.get("options", {}).get("questions")
    return place_of(entry, recorded, override, "*", "questions") if recorded else override


# Side of a run -> the option that names it, if it has another name.
_OPTIONS: Final = {"submission": "result-dir"}


def place_of(entry: RunEntry, recorded: str | None, override: Path | None, pattern: str, side: str) -> Path:
    """Return a side's folder or file: `override`, else the recorded one in the first of `recorded_places` that holds it.

    Raises `UsageError` if it is not there: that says nothing about the run.
    """
    if override is not None:
        if not exists(override):
            raise UsageError(f"{override}: no such {side} folder", hint=f"--{_OPTIONS.get(side, side)} names that of {entry.name}")
        return override
    for place in recorded_places(entry.folder, Path(recorded)) if recorded else ():
        if is_file(place) or (is_dir(place) and any(place.glob(pattern))):
            return place
    option = f"--{_OPTIONS.get(side, side)}"
    archive = str(entry.run.get(side, {}).get("archive") or "") if side == "submission" else ""
    if packed := [place for place in recorded_places(entry.folder, Path(archive)) if is_file(place)] if archive else []:
        raise UsageError(f"the unpacked files of {packed[0]} are gone", hint=f"{option} {shlex.quote(str(packed[0]))}")
    raise UsageError(
        f"the {side} of {entry.name} is no longer in {archive or recorded or 'a known folder'}", hint=f"say where it is: {option} DIR"
    )


def _check_content(entry: RunEntry, side: str, folder: Path, then: str | None, now: str) -> None:
    """Raise `UsageError` if a folder does not contain what was scored."""
    if then != now:
        hint = f"--{_OPTIONS.get(side, side)} DIR names the folder that does; `evalsuite run` scores what is there now as a new run"
        raise UsageError(f"the {side} {folder} does not contain what {entry.name} scored ({then} then, {now} now)", hint=hint)


def _list_changes(before: Sequence[Result], after: Sequence[Result]) -> Iterator[tuple[str, float | None, float | None]]:
    old = {r.instance_id: r.score for r in before}
    for result in after:
        if result.instance_id in old and old[result.instance_id] != result.score:
            yield result.instance_id, old[result.instance_id], result.score


# A verdict changed although the whole signature is the same.
UNNAMED = "nothing that the signature names"
Verdict = tuple[str, float | None, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Changes of one run's n verdicts: `moved` contains (instance id, old score, new score).

    `components` are the changed parts of the signature, as `name then -> now`. `problem` is the reason why the run, or some of its
    verdicts, could not be scored again; empty if all were. `unscored` are the ids of the latter, which are not in `moved`.
    """

    name: str
    n: int = 0
    moved: tuple[Verdict, ...] = ()
    unscored: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    problem: str = ""

    @property
    def suspected_causes(self) -> str:
        """The changed components, any of which may have moved a verdict; empty if no verdict moved."""
        return (", ".join(self.components) or UNNAMED) if self.moved else ""

    def to_json(self) -> dict[str, Any]:
        """Return one object of the array that `drift --json` prints."""
        moves = [{"instance_id": name, "then": then, "now": now} for name, then, now in self.moved]
        return {
            "run": self.name,
            "n": self.n,
            "n_moved": len(moves),
            "moved": moves,
            "n_unscored": len(self.unscored),
            "unscored": list(self.unscored),
            "components": list(self.components),
            "problem": self.problem,
        }


def find_drifts(entries: Iterable[RunEntry], options: RunOptions, *, gold: Path | None, progress: Progress | None) -> Iterator[Drift]:
    """Yield the drift of each run. Nothing is saved or taken from a cache; a run that cannot be scored again has the reason.

    Raises `UsageError` if the folder of databases is missing, `MachineError`.
    """
    if options.databases is not None:
        databases_folder(options.databases)
    for entry in entries:
        try:
            done = rescore(entry, gold=gold, options=replace(options, save=False, cache=None), progress=progress, as_it_lies=True)
        except MachineError:
            raise
        except EvalsuiteError as error:
            yield Drift(name=entry.name, problem=error.message)
            continue
        results = done.run.results
        lost = {result.instance_id: result.reason for result in results if lacks_setup(result)}
        moves = tuple(change for change in done.changed if change[0] not in lost)
        problem = f"{len(lost)} of {len(results)} verdicts cannot be scored here: {next(iter(lost.values()))}" if lost else ""
        yield Drift(name=entry.name, n=len(results), moved=moves, unscored=tuple(lost), components=done.signature_changes, problem=problem)


def by_component(drifts: Iterable[Drift]) -> list[tuple[str, int, int, int, int]]:
    """Return (component `name then -> now`, runs, verdicts, moved and unscored ones) of every change, most moved first."""
    counts: dict[str, list[int]] = {}
    for drift in drifts:
        for component in drift.components or ((UNNAMED,) if drift.moved else ()):
            count = counts.setdefault(component, [0, 0, 0, 0])
            for at, more in enumerate((1, drift.n, len(drift.moved), len(drift.unscored))):
                count[at] += more
    return sorted(((name, *count) for name, count in counts.items()), key=lambda row: (-row[3], row[0]))  # type: ignore[misc]
