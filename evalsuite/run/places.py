"""Where submissions and runs lie: what stands under the folders that a person names."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evalsuite.errors import UsageError
from evalsuite.gold.layouts import layout_of
from evalsuite.gold.lite_and_snow import holds_answers
from evalsuite.readers.archives import OTHER_ENDINGS, is_archive, without_ending
from evalsuite.readers.gold_files import find_spec, is_alone
from evalsuite.readers.paths import why_no_folder
from evalsuite.store.run_folder import RUN, STARTED, holds_run, is_submission
from evalsuite.types import METADATA


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder to rank: a submission to score or a finished run, by the name it goes by; or one that cannot be read, with its `fault`.

    The files of a run that `is_foreign` were written by others, and are parsed behind walls. Of an archive the folder is the archive
    itself, until it is unpacked.
    """

    name: str
    folder: Path
    is_run: bool = False
    is_archive: bool = False
    fault: str = ""
    is_foreign: bool = False


def find_places(folders: Sequence[Path], gold: Path) -> tuple[list[Place], list[str]]:
    """(what is to be ranked, notes on what was left out). Each folder is a submission, as a folder or an archive, a run, or holds several.

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
    """The places that a folder is or holds, or an archive or a file of queries is; empty where there is none."""
    if folder.is_file() and is_archive(folder.name):
        return [_packed(folder)]
    if folder.is_file() and gold.exists() and is_alone(find_spec(gold)):
        return [Place(name=folder.name, folder=folder)]
    if (why := why_no_folder(folder, "folder")) in ("no such folder", "not a folder"):
        raise UsageError(f"{folder}: {why}", hint="name folders of submissions or of runs")
    if why:
        return [_broken(folder, why)]
    if (place := _place(folder, by_files=by_files)) is not None:
        return [place]
    gold = gold.parent if gold.is_file() else gold
    seen = [item for item in sorted(folder.iterdir()) if not item.name.startswith(".")]
    inner = [item for item in seen if (item.is_dir() and not _same(item, gold)) or is_archive(item.name)]
    notes += [f"{item.name} left out: an archive is .zip, .tar, .tar.gz or .tgz" for item in seen if _is_other_archive(item)]
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
    if is_archive(folder.name) and not folder.is_dir():
        return _packed(folder)
    if why := why_no_folder(folder, "folder"):
        return _broken(folder, why)
    name = folder.resolve().name
    if is_submission(folder) or (by_files and holds_answers(folder)):
        return Place(name=name, folder=folder)
    return Place(name=name, folder=folder, is_run=True) if holds_run(folder) else None


def _packed(archive: Path) -> Place:
    return Place(name=without_ending(archive.name), folder=archive, is_archive=True)


def _is_other_archive(item: Path) -> bool:
    return item.name.casefold().endswith(OTHER_ENDINGS) and not is_archive(item.name) and item.is_file()


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
