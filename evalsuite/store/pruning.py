"""Which runs of a history may go: a policy over finished runs, and what killed runs left behind."""

import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalsuite.errors import OutputError, UsageError
from evalsuite.store.history import RunEntry, find_runs, read_run, remove_run
from evalsuite.store.run_folder import RUN, STARTED, is_held, is_submission


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What goes: finished runs of which `keep` newer ones of the same suite and model exist, and of these only those from before a day.

    `before` is a prefix of folder names such as 20261121, empty for any day. A run with a tag never goes, nor does the best one of a suite
    where `keeps_best`. `unfinished`: what killed runs left goes too.
    """

    keep: int
    before: str = ""
    keeps_best: bool = True
    unfinished: bool = False


def unreadable(root: Path, known: Collection[str] = ()) -> tuple[list[Path], list[Path]]:
    """(folders of runs that were begun and not finished, folders that hold a `run.json` and no run), each in the order of names.

    Those with a name that is `known` are runs.
    """
    begun, broken = [], []
    for folder in sorted(root.iterdir()) if root.is_dir() else ():
        if not folder.is_dir() or is_submission(folder):
            continue
        if (folder / STARTED).is_file():
            begun.append(folder)
        elif folder.name not in known and (folder / RUN).exists() and read_run(folder) is None:
            broken.append(folder)
    return begun, broken


def outdated(root: Path, policy: Policy) -> list[RunEntry]:
    """The finished runs under a folder that a policy lets go, oldest first. Raises `UsageError` for fewer than no runs to keep."""
    if policy.keep < 0:
        raise UsageError(f"--keep cannot be {policy.keep}", hint="the number of newest runs of each suite and model that stay")
    entries = find_runs(root)
    best = dict(_best(entries)) if policy.keeps_best else {}
    newer, found = Counter[tuple[str, str]](), []
    for entry in reversed(entries):
        if entry.folder.joinpath(STARTED).exists():
            continue
        kind = _kind(entry)
        newer[kind] += 1
        is_old = newer[kind] > policy.keep and (not policy.before or entry.name < policy.before)
        if is_old and not entry.tags and best.get(entry.suite) != entry.name:
            found.append(entry)
    return found[::-1]


def left_behind(root: Path, policy: Policy) -> list[Path]:
    """The folders of unfinished runs that a policy lets go; none that a process still writes."""
    begun = unreadable(root)[0] if policy.unfinished else []
    return [folder for folder in begun if (not policy.before or folder.name < policy.before) and not is_held(folder)]


def remove(entries: Sequence[RunEntry], folders: Sequence[Path]) -> Iterator[str]:
    """Delete them; what could not be deleted, and why, as one line each."""
    for entry in entries:
        try:
            remove_run(entry)
        except (UsageError, OutputError) as error:
            yield error.message
        except OSError as error:
            yield f"{entry.folder}: {error.strerror or error}"
    for folder in folders:
        try:
            shutil.rmtree(folder)
        except OSError as error:
            yield f"{folder}: {error.strerror or error}"


def _kind(entry: RunEntry) -> tuple[str, str]:
    """What a run is one more try of: its suite, and its model or else the folder that was handed in."""
    said = entry.metadata.get("model_name") or entry.run.get("submission", {}).get("folder")
    return entry.suite, str(said)


def _best(entries: Sequence[RunEntry]) -> Iterator[tuple[str, str]]:
    """(suite, the name of its run with the highest score, the first of several)."""
    for suite in dict.fromkeys(entry.suite for entry in entries):
        own = [(entry.score, entry.name) for entry in entries if entry.suite == suite and entry.score is not None]
        if own:
            yield suite, max(own, key=lambda one: one[0])[1]
