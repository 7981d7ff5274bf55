"""History of runs: find, read, tag and remove run folders, by name or by a retention policy.

The history is the run folders themselves. Next to them is the score of each gold against itself, the highest that its reports can show.
"""

import fnmatch
import glob
import json
import os
import time
from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from evalsuite.core.dataclasses import dataclass
from evalsuite.core.errors import (
    CHECK_HINT,
    OutputError,
    UsageError,
    did_you_mean,
    reading_error,
    write_error,
)
from evalsuite.core.files import exists, is_dir, is_file
from evalsuite.core.import_ref import lazy_pattern
from evalsuite.core.types import Result
from evalsuite.runs.run_files import UNITS, newer_version, read_json, read_results, why_no_run, write_atomically
from evalsuite.runs.run_folder import (
    MAY_BE_WRONG,
    NOT_AS_WRITTEN,
    RESULTS,
    RUN,
    STARTED,
    changed_file,
    holds_run,
    is_held,
    is_submission,
    unfinished_hint,
)
from evalsuite.runs.run_options import signature

RUNS_FOLDER = Path(".evalsuite/runs")
TAGS = "tags.json"
_BEGAN = lazy_pattern(r"\d{8}-\d{6}")
_SECOND = len("20261122-093000")
# File of a suite's run next to its answers: the context of each instance.
CONTEXTS = "contexts.json"
# Maximum characters of a question or an answer in a report.
LONGEST = 20_000
# What else a run writes into its folder, and the key of run.json that says so: tables of queries, gold from queries.
_OWN_FOLDERS = {"sql": "executed", "living_gold": "gold"}
_SIGNATURE = "signature.json"
# The folders read last, to tell damaged runs from our own failures.
_read_last: deque[Path] = deque(maxlen=100)
# Those whose results a command read, with what is wrong with them; None if they were not compared with their seals yet.
_with_results: dict[Path, str | None] = {}
# Common metadata keys of a model; others are allowed.
METADATA_KEYS = ("model_name", "model_version", "foundation_model", "prompt_template", "description")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEntry:
    """A finished run folder: its path, the `run.json` object, and its tags."""

    folder: Path
    run: Mapping[str, Any]
    tags: tuple[str, ...]

    @property
    def name(self) -> str:
        """The folder's name, which commands use for the run."""
        return self.folder.name

    @property
    def suite(self) -> str:
        """The suite's name."""
        return str(self.run.get("gold", {}).get("name", ""))

    @property
    def score(self) -> float | None:
        """The score under the run's rules."""
        value = self.run.get("summary", {}).get("score")
        return None if value is None else float(value)

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Metadata of the model: model_name, model_version, foundation_model, prompt_template, description."""
        metadata: Mapping[str, Any] = self.run.get("metadata", {})
        return metadata

    def results(self) -> list[Result]:
        """Return the n results in gold order.

        Raises `OutputError` for a damaged line or another number of results than the run says, `UsageError` if the run was replaced since
        `run.json` was read.
        """
        with unreplaced(self.folder, self.run):
            results = list(read_results(self.folder / RESULTS))
            n = self.run.get("summary", {}).get("n_gold")
            if n is not None and n != len(results):
                hint = "the file is damaged or half copied: copy it again, or score the submission again"
                raise OutputError(f"{self.folder / RESULTS}: {len(results)} results of {n}", hint=hint)
        note_reading(self.folder)
        return results


def read_run(folder: Path) -> RunEntry | None:
    """Return the run in a folder; None if it has no finished run, or `run.json` is malformed."""
    if not holds_run(folder) or not exists(folder / RESULTS):
        return None
    _read_last.append(folder)
    run, tags = read_run_file(folder), read_json(folder / TAGS)
    return RunEntry(folder=folder, run=run, tags=tuple(map(str, tags)) if isinstance(tags, list) else ()) if not why_no_run(run) else None


@contextmanager
def unreplaced(folder: Path, run: Any) -> Iterator[None]:
    """Read other files of a folder with this `run.json` in the block; without digests in it, nothing is checked.

    Raises `UsageError`, also in place of an error of the block, if another process has removed or replaced the run: what was read may be
    of another one, and is not damaged.
    """
    digests = run.get("digests") if isinstance(run, Mapping) else None
    try:
        yield
    finally:
        if digests is not None:
            refuse_no_run(folder)
            now = read_run_file(folder)
            if not isinstance(now, Mapping) or now.get("digests") != digests:
                failure = reading_failure(folder)
                raise _changed_error(folder) if failure is None else reading_error(folder, failure)


def read_files(folder: Path) -> tuple[bytes, bytes]:
    """Return the bytes of `run.json` and `results.jsonl` of one run. Raises `UsageError` if there is none, or if it is being replaced."""
    refuse_no_run(folder)
    try:
        run = (folder / RUN).read_bytes()
        with unreplaced(folder, json_value(run)):
            return run, (folder / RESULTS).read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise UsageError(f"no finished run in {folder}", hint=f"a run folder contains {RUN} and {RESULTS}") from None
    except OSError as error:
        raise reading_error(folder, error) from None


def _changed_error(folder: Path) -> UsageError:
    return UsageError(f"{folder / RUN} changed while it was read", hint="call the command again when nothing writes there")


def read_run_file(folder: Path) -> Any:
    """Return the JSON value of `run.json`, None if unreadable. It takes a third of the time of `json` (10,000 runs)."""
    try:
        return json_value((folder / RUN).read_bytes())
    except OSError:
        return None


def json_value(content: bytes) -> Any:
    """Return the JSON value of the bytes of a `run.json`, None if they are none."""
    try:
        return msgspec.json.decode(content)
    except RecursionError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError):
        # Python's own reader is more lenient.
        try:
            return json.loads(content.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            return None


def forget_runs_read() -> None:
    """Forget the runs read by an earlier command of this process."""
    _read_last.clear()
    _with_results.clear()


def why_damaged() -> str:
    """Return which of the runs read last does not match its seal; empty if all match or have none.

    Called when a command failed on what it read of runs.
    """
    return next(filter(None, map(damage_of, reversed(_read_last))), "")


def note_reading(folder: Path, damage: str | None = None) -> None:
    """Note that a command read the results of a run, and what `damage_of` said of it if it was asked."""
    _with_results[folder] = damage


def warn_of_damage() -> Iterator[str]:
    """Yield a warning for each run whose results were read and that does not match its seal."""
    damages = (damage_of(folder) if damage is None else damage for folder, damage in _with_results.items())
    return (damage + MAY_BE_WRONG for damage in damages if damage)


def damage_of(folder: Path) -> str:
    """Return which file of which run does not match its seal; empty if all match, have none or cannot be read."""
    changed = changed_file_of(folder)
    return changed and f"{folder} is damaged: {changed} {NOT_AS_WRITTEN}"


def changed_file_of(folder: Path) -> str:
    """Return the name of a run's file that does not match its seal; empty if all match, have none or cannot be read."""
    try:
        return changed_file((folder / RUN).read_bytes(), (folder / RESULTS).read_bytes())
    except OSError:
        return ""


def is_changed(folder: Path) -> bool:
    """Return whether the `run.json` of a run does not match its own seal; `results.jsonl` is not read."""
    try:
        return changed_file((folder / RUN).read_bytes(), b"") == RUN
    except OSError:
        return False


def selected_part(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a run that selected a part of gold; empty if all of it was requested."""
    return {key: value for key in ("only", "filter", "group", "shard") if (value := options.get(key))}


def find_runs(
    root: Path = RUNS_FOLDER,
    *,
    suite: str | None = None,
    model: str | None = None,
    tag: str | None = None,
    since: str = "",
    until: str = "~",
) -> list[RunEntry]:
    """Return the finished runs under a folder, oldest first. `suite` and `model` are patterns; dates are prefixes such as 20261121."""
    return [
        entry
        for entry in _all_entries(root)
        if (suite is None or fnmatch.fnmatchcase(entry.suite, suite))
        and (model is None or fnmatch.fnmatchcase(str(entry.metadata.get("model_name", "")), model))
        and (tag is None or tag in entry.tags)
        and since.replace("-", "") <= _began(entry.folder) <= until.replace("-", "") + "~"
    ]


def _began(folder: Path) -> str:
    """Return the time that begins a run's name; for a name without one, when the run was finished."""
    name = folder.name[:_SECOND]
    return name if _BEGAN.fullmatch(name) else time.strftime("%Y%m%d-%H%M%S", time.gmtime(_written_ns(folder) / 1e9))


def warn_of_clock(folder: Path) -> Iterator[str]:
    """Yield a warning if a run beside `folder` began later than a minute from now: the clock was set back, or was wrong at that time."""
    soon = time.strftime("%Y%m%d-%H%M%S", time.gmtime(time.time() + 60))
    with suppress(OSError):
        later = sorted(name for name in os.listdir(folder.parent) if _BEGAN.fullmatch(name[:_SECOND]) and name > soon)  # noqa: PTH208
        if last := next((name for name in reversed(later) if holds_run(folder.parent / name)), ""):
            yield (
                f"the clock of this machine is before the run {last}: "
                "lists, `runs prune` and commands without a run's name take that one for the last"
            )


def _all_entries(root: Path) -> Iterator[RunEntry]:
    if is_dir(root):
        for began, group in groupby(sorted(os.listdir(root)), key=lambda name: name[:_SECOND]):  # noqa: PTH208 - of ten thousand runs
            names = list(group)
            if len(names) > 1 and _BEGAN.fullmatch(began):
                names.sort(key=lambda name: _written_ns(root / name))
            yield from filter(None, (read_run(root / name) for name in names))


def _written_ns(folder: Path) -> int:
    """Return when a run was finished (ns since 1970), which orders the runs of one second; 0 for an unfinished run."""
    try:
        return (folder / RUN).stat().st_mtime_ns
    except OSError:
        return 0


def one_run(name: str, root: Path = RUNS_FOLDER) -> RunEntry:
    """Return the run of that name. Raises `UsageError`.

    A name is the path of its folder, that folder's name under `root`, the second at which it began, or the run's given name; `suite/name`
    if runs of several suites have the same given name.
    """
    entry = find_named_run(name, root)
    if entry is not None:
        return entry
    for folder in (Path(name), root / name):
        refuse_no_run(folder)
        if holds_run(folder):
            raise unreadable_error(folder)
    place = Path(name)
    if place.suffix == ".json" and is_dir(place.parent):
        # Receipts of a site have a digest behind the name of the submission.
        near = next((file for file in sorted(place.parent.iterdir()) if file.match(f"{glob.escape(place.stem)}-*.json")), None)
        if near is not None:
            raise UsageError(f"no finished run {name!r}", hint=f"did you mean {str(near)!r}?")
    names = [entry.name for entry in _all_entries(root)]
    raise UsageError(f"no finished run {name!r}", hint=did_you_mean(name, names[-20:]) if names else f"no runs in {root}")


def unreadable_error(folder: Path) -> UsageError:
    """Return the error for a folder whose `run.json` is no run, or that lacks results; for what this machine does not read, its own."""
    why = f"there is no {RESULTS}"
    if exists(folder / RESULTS):
        try:
            run = json_value((folder / RUN).read_bytes())
        except OSError as error:
            return reading_error(folder / RUN, error)
        if newer := newer_version(run):
            return UsageError(f"{folder / RUN}: {newer}", hint="`pip install -U evalsuite` updates this one")
        if not (why := why_no_run(run)):
            return _changed_error(folder)
        why = f"{RUN}: {why}"
    return UsageError(f"{folder} is a damaged run: {why}", hint="copy it again, or score the submission again")


def reading_failure(folder: Path) -> OSError | None:
    """Return why this machine does not read a file of a run; None if it reads them, whatever they contain."""
    for name in (RUN, RESULTS):
        try:
            with (folder / name).open("rb") as file:
                while file.read(1 << 20):
                    pass
        except FileNotFoundError:
            continue
        except OSError as error:
            return error
    return None


def unfinished_error(folder: Path) -> UsageError:
    """Return the error for a run that was interrupted, or that another process writes."""
    if is_held(folder):
        return UsageError(f"{folder} is being written by another run", hint="wait until it ends")
    return UsageError(f"{folder} is an unfinished run", hint=unfinished_hint(folder))


def short_name(folder: Path) -> str:
    """Return the shortest name by which `one_run` finds a run: its starting second, or the whole name if another run began then."""
    began = folder.name[:_SECOND]
    return began if _BEGAN.fullmatch(began) and len(list(folder.parent.glob(f"{began}*"))) == 1 else folder.name


def refuse_no_run(folder: Path) -> None:
    """Raise `UsageError` if the folder is a submission instead of a run, or an unfinished run."""
    if is_submission(folder):
        raise UsageError(f"{folder} is a submission, not a run", hint=f"`evalsuite run {folder}` scores it, whatever else it contains")
    if exists(folder / STARTED) and not exists(folder / RUN):
        raise unfinished_error(folder)


def find_named_run(name: str, root: Path = RUNS_FOLDER) -> RunEntry | None:
    """Like `one_run`, but None if there is none. Raises `UsageError` if runs of several suites have the given name."""
    for folder in (Path(name), root / name):
        if (entry := read_run(folder)) is not None:
            return entry
    matches = [entry for entry in _all_entries(root) if _is_called(entry, name)]
    if len(matches) > 1:
        suites = Counter(entry.suite for entry in matches)
        short_names = {entry.suite: name.removeprefix(f"{entry.suite}/") for entry in matches}
        by_suite = [entry.name if suites[entry.suite] > 1 else f"{entry.suite}/{short_names[entry.suite]}" for entry in matches[:5]]
        raise UsageError(f"{len(matches)} runs are named {name!r}", hint=f"say which: {', '.join(by_suite)}")
    return matches[0] if matches else None


def _is_called(entry: RunEntry, name: str) -> bool:
    """Return whether the name is the run's given name (which may contain a slash), also with its suite or its second."""
    short_name = name.removeprefix(f"{entry.suite}/")
    began = _BEGAN.fullmatch(short_name) is not None and entry.name.startswith(f"{short_name}-")
    return entry.metadata.get("run_name") in (name, short_name) or began or (short_name != name and entry.name == short_name)


def last_suite_of(names: Collection[str], root: Path = RUNS_FOLDER) -> str | None:
    """Return the suite that ran last among several suites that have a run of each of these names; None if there are not several."""
    by_suite: dict[str, set[str]] = {}
    for entry in _all_entries(root):  # oldest first: the last run comes last
        by_suite[entry.suite] = by_suite.pop(entry.suite, set()) | {str(entry.metadata.get("run_name") or "")}
    suites = [suite for suite, run_names in by_suite.items() if run_names >= set(names)]
    return suites[-1] if len(suites) > 1 else None


def tag_run(entry: RunEntry, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the run's tags after adding and removing some. They are stored next to `run.json`, which does not change."""
    tags = tuple(dict.fromkeys([*(tag for tag in entry.tags if tag not in remove), *add]))
    write_atomically(entry.folder / TAGS, json.dumps(list(tags)) + "\n")
    return tags


def remove_run(entry: RunEntry) -> None:
    """Delete a run folder; refuse if it contains anything but a run's files, or if another run is being written there by now."""
    if is_held(entry.folder):
        raise unfinished_error(entry.folder)
    file_names = {RUN, RESULTS, TAGS, UNITS, _SIGNATURE, *(folder for key, folder in _OWN_FOLDERS.items() if key in entry.run)}
    strange = [item.name for item in entry.folder.iterdir() if item.name not in file_names and not item.name.startswith(".")]
    if strange:
        raise UsageError(f"{entry.folder} holds more than a run: {', '.join(sorted(strange)[:5])}", hint="delete it by hand")
    import shutil

    shutil.rmtree(entry.folder)


def submission_folder(run_folder: Path, run: Mapping[str, Any]) -> Path:
    """Return the submission's folder as named in `run.json`: relative to the folder of the run's history, to here, or to one above the run.

    A folder of the same name that is no submission is taken only if there is no other.
    """
    folder = Path(str(run["submission"]["folder"]))
    places = [place for place in recorded_places(run_folder, folder) if is_dir(place)]
    return next(filter(is_submission, places), next(iter(places), folder))


def recorded_places(run_folder: Path, path: Path) -> list[Path]:
    """Return where a path of `run.json` may be: relative to the folder of the run's history, to here, or to a folder above the run."""
    above = run_folder.resolve().parents
    # Of a run that `--out` put elsewhere it is not known where it was started.
    history = above[2:3] if run_folder.resolve().parts[-3:-1] == RUNS_FOLDER.parts else ()
    starts = [start for start in history if start != Path.cwd()]
    return [start / path for start in (*starts, Path(), *above[:3])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Retention policy: remove finished runs if `keep` newer ones of the same suite and model exist, and only those from before a day.

    `before` is a prefix of folder names such as 20261121, empty for any day. Runs with a tag stay, and the best run of each suite stays if
    `keeps_best`. `unfinished` also removes the rests of killed runs.
    """

    keep: int
    before: str = ""
    keeps_best: bool = True
    unfinished: bool = False


def find_unreadable(root: Path, finished_names: Collection[str] = ()) -> tuple[list[Path], list[Path]]:
    """Return (folders of unfinished runs, folders with a `run.json` that is no run), each in the order of names.

    Names in `finished_names` are finished runs.
    """
    unfinished, broken = [], []
    for folder in sorted(root.iterdir()) if is_dir(root) else ():
        if not is_dir(folder) or is_submission(folder):
            continue
        if is_file(folder / STARTED):
            unfinished.append(folder)
        elif folder.name not in finished_names and exists(folder / RUN) and read_run(folder) is None:
            broken.append(folder)
    return unfinished, broken


def find_outdated(root: Path, policy: Policy) -> list[RunEntry]:
    """Return the finished runs under a folder that the policy removes, oldest first. Raises `UsageError` for a negative number to keep."""
    if policy.keep < 0:
        raise UsageError(f"--keep cannot be {policy.keep}", hint="the number of newest runs of each suite and model that stay")
    entries = find_runs(root)
    best = dict(_best(entries)) if policy.keeps_best else {}
    newer, notes = Counter[tuple[str, str]](), []
    for entry in reversed(entries):
        if exists(entry.folder.joinpath(STARTED)):
            continue
        kind = _kind(entry)
        newer[kind] += 1
        is_old = newer[kind] > policy.keep and (not policy.before or entry.name < policy.before)
        if is_old and not entry.tags and best.get(entry.suite) != entry.name:
            notes.append(entry)
    return notes[::-1]


def find_left_behind(root: Path, policy: Policy) -> list[Path]:
    """Return the folders of unfinished runs that the policy removes; none that a process still writes."""
    unfinished_runs = find_unreadable(root)[0] if policy.unfinished else []
    return [folder for folder in unfinished_runs if (not policy.before or folder.name < policy.before) and not is_held(folder)]


def remove(entries: Sequence[RunEntry], folders: Sequence[Path]) -> Iterator[str]:
    """Delete runs and folders. Yield one line for each that could not be deleted, with the reason."""
    for entry in entries:
        try:
            remove_run(entry)
        except (UsageError, OutputError) as error:
            yield error.message
        except OSError as error:
            yield f"{entry.folder}: {error.strerror or error}"
    for folder in folders:
        try:
            import shutil

            shutil.rmtree(folder)
        except OSError as error:
            yield f"{folder}: {error.strerror or error}"


def _kind(entry: RunEntry) -> tuple[str, str]:
    """Return the key by which runs are attempts of one thing: suite, and model or else submission folder."""
    name = entry.metadata.get("model_name") or entry.run.get("submission", {}).get("folder")
    return entry.suite, str(name)


def _best(entries: Sequence[RunEntry]) -> Iterator[tuple[str, str]]:
    """Yield (suite, name of its run with the highest score; the first of several)."""
    for suite in dict.fromkeys(entry.suite for entry in entries):
        pairs = [(entry.score, entry.name) for entry in entries if entry.suite == suite and entry.score is not None]
        if pairs:
            yield suite, max(pairs, key=lambda pair: pair[0])[1]


SELF_SCORES_FOLDER = Path(".evalsuite/gold")
# Alternatives if nothing can be stored.
WITHOUT = f"use --no-save, or {CHECK_HINT}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldSelfScore:
    """In how many of `n` instances gold's own answer is right, under both rules; `n_untried` more could not be tried.

    `unsatisfied` are those refused under official. `made_by` is the signature (without rules) it was found with: another version may give
    another result.
    """

    gold_hash: str
    name: str
    n: int
    n_untried: int
    official: int
    strict: int
    unsatisfied: tuple[str, ...] = ()
    made_by: str = ""

    def words(self) -> str:
        """`gold scores 579/583 under official, 583/583 under strict`."""
        more = f" ({self.n_untried} more not tried)" if self.n_untried else ""
        return f"gold scores {self.official}/{self.n} under official, {self.strict}/{self.n} under strict{more}"


def signature_of(gold_hash: str) -> str:
    """Return what the self score depends on: gold, this version, and the libraries that can change a verdict."""
    return signature(rules="official", gold_hash=gold_hash, limits={}).replace("|rules:official", "")


def save_self_score(ceiling: GoldSelfScore, findings: list[dict[str, Any]], folder: Path = SELF_SCORES_FOLDER) -> Path:
    """Write the self score with its findings and return the file. Raises `OutputError`."""
    path = folder / f"{ceiling.gold_hash}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        from dataclasses import asdict

        write_atomically(path, json.dumps({**asdict(ceiling), "findings": findings}, indent=2) + "\n")
    except OSError as error:
        raise write_error(path, error, hint=WITHOUT) from error
    return path


def load_self_score(gold_hash: str, folder: Path = SELF_SCORES_FOLDER) -> GoldSelfScore | None:
    """Return the self score of the gold with that hash; None if it was never checked, or with other versions."""
    try:
        record = read_json(folder / f"{gold_hash}.json")
        record.pop("findings", None)
        ceiling = GoldSelfScore(**{**record, "unsatisfied": tuple(record["unsatisfied"])})
    except (TypeError, KeyError, AttributeError):
        # An unreadable file counts as absent: the check can be repeated at any time.
        return None
    return ceiling if ceiling.made_by == signature_of(gold_hash) else None
