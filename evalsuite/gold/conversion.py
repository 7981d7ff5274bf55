"""Gold of Lite or Snow -> the same gold in the original layout: every entry, every file, the same verdicts under both rules.

Each entry's `evaluation` is the one its layout's reader makes of it, with `reference` saying whose official rules hold.
"""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evalsuite.errors import FaultError, GoldError, UsageError, cannot_write
from evalsuite.gold.layouts import read_gold
from evalsuite.gold.lite_and_snow import KEYS, QUERIES, RESULTS, GoldFiles, evaluation_of
from evalsuite.gold.spec import GOLD_QUERY
from evalsuite.readers.gold_files import SUITE_FILE, find_spec, is_alone
from evalsuite.readers.json_text import Obj
from evalsuite.readers.jsonl import read_objects
from evalsuite.readers.limits import DEFAULT_LIMITS, Limits
from evalsuite.readers.paths import inside, open_trusted


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """What was written: the folder, how many instances and files, and notes on what the original layout has no words for."""

    folder: Path
    layout: str
    n_instances: int
    n_files: int
    notes: tuple[str, ...]


def convert(gold: Path, out: Path, *, layout: str | None = None, limits: Limits = DEFAULT_LIMITS) -> Converted:
    """Write gold in the layout `lite` or `snow` to the folder `out`, which is made, in the original layout.

    Keys of an entry that the layout does not know stay in it. A gold query becomes `<id>/gold.sql`; files of no instance stay behind with
    a note.

    Raises:
        GoldError: gold cannot be read, or an id is no folder name.
        UsageError: gold is in the original layout already, or `out` is not empty.
        OutputError: a file cannot be written.
    """
    read = read_gold(gold, limits, layout=layout)
    if read.layout == "original":
        raise UsageError(f"{gold} is in the original layout already", hint="what is converted is gold of the layouts lite and snow")
    if is_alone(find_spec(gold)):
        raise UsageError(f"{gold} holds pairs of queries", hint="what is converted is gold of the layouts lite and snow")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is not an empty folder", hint="name a new folder: --out DIR")
    spec = find_spec(gold)
    files = GoldFiles(spec.parent)
    entries = list(_entries_of_spec(spec, limits))
    plan = {source: target for id_, _ in entries for source, target in _copies(files, id_)}
    lines = []
    for id_, entry in entries:
        # Where gold has no file, the entry names the one that is missing.
        evaluation, _ = evaluation_of(entry, files.of(id_) or f"{entry['instance_id']}.csv", read.layout)
        rest = {key: value for key, value in entry.items() if key not in KEYS}
        lines.append(json.dumps({"instance_id": entry["instance_id"], "evaluation": evaluation, **rest}, ensure_ascii=False))
    try:
        out.mkdir(parents=True, exist_ok=True)
        for source, target in plan.items():
            (out / target).parent.mkdir(exist_ok=True)
            shutil.copyfile(spec.parent / source, out / target)
        if (suite := spec.parent / SUITE_FILE).is_file():
            shutil.copyfile(suite, out / SUITE_FILE)
        (out / spec.name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    except OSError as error:
        raise cannot_write(out, error) from error
    lost = [f"{problem.where}: {problem.message}" for i in read.instances for problem in i.checks[0].problems if "fails" in problem.message]
    return Converted(
        folder=out,
        layout=read.layout,
        n_instances=len(entries),
        n_files=len(plan),
        notes=(*(f"{text}; as converted it does not" for text in lost), *_left_behind(spec.parent, plan)),
    )


def _entries_of_spec(spec: Path, limits: Limits) -> Iterator[tuple[str, Obj]]:
    """(id, entry) of a spec file that is known to be readable."""
    with open_trusted(spec, limit_bytes=limits["metadata_bytes"]) as handle:
        for found in read_objects(handle, limits=limits):
            entry = found.value or {}
            id_ = str(entry["instance_id"])
            try:
                inside(id_, "x")
            except FaultError as error:
                raise GoldError(f"{spec.name}:{found.line}: the id {id_!r} is no folder name", hint=error.fault.detail) from None
            yield id_, entry


def _copies(files: GoldFiles, id_: str) -> Iterator[tuple[str, str]]:
    """(where a file of an instance lies, where it goes), both below gold's folder."""
    found = files.of(id_)
    for name in [*([found] if isinstance(found, str) else found), *files.beside(id_)]:
        yield f"{RESULTS}/{name}", f"{id_}/{name}"
    if (query := files.query(id_)) is not None:
        yield f"{QUERIES}/{query}", f"{id_}/{GOLD_QUERY}"


def _left_behind(folder: Path, plan: dict[str, str]) -> Iterator[str]:
    for below in (RESULTS, QUERIES):
        names = sorted(place.name for place in (folder / below).iterdir()) if (folder / below).is_dir() else []
        left = [name for name in names if f"{below}/{name}" not in plan and not name.startswith(".")]
        if left:
            more = f" and {len(left) - 5} more" if len(left) > 5 else ""
            yield f"{below}/: {', '.join(left[:5])}{more} of no instance, not copied"
