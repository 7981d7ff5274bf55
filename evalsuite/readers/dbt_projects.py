"""A folder of dbt projects as agents leave them: `<instance>/<name>.duckdb` and no results_metadata.jsonl; the database is the answer."""

from collections.abc import Collection
from fnmatch import fnmatch
from pathlib import Path

from evalsuite.readers.limits import Limits
from evalsuite.readers.paths import SPEC_PATTERN
from evalsuite.types import METADATA, Answer, Fault, Submission

_ENDING = ".duckdb"
_SHOWN = 3


def read_projects(folder: Path, limits: Limits, ids: Collection[str] | None) -> Submission | None:
    """The submission in such a folder, of answers to other `ids` but their number; None where no subfolder that can be read holds one.

    Where several lie in one folder nobody can say which is meant: that instance is a fault of the submission.
    """
    places = _names_in(folder)
    if any(fnmatch(name, SPEC_PATTERN) for name in places):
        # Gold, which has databases too.
        return None
    answers: dict[str, Answer] = {}
    for place in places:
        if names := [name for name in _names_in(folder / place) if name.endswith(_ENDING)]:
            answers[place] = _answer(place, names)
    unknown = [(answer.where, name) for name, answer in answers.items() if ids is not None and name not in ids]
    for _, name in unknown:
        del answers[name]
    if not answers:
        return None
    return Submission(
        folder=folder,
        answers=answers,
        n_unknown=len(unknown),
        unknown=tuple(unknown[: int(limits["notes"])]),
        notes=(f"no {METADATA}: the database in an instance's folder is taken for its answer",),
        n_objects=len(answers) + len(unknown),
        limit_bytes=limits["file_bytes"],
        metadata="",
    )


def _names_in(folder: Path) -> list[str]:
    """What lies open in a folder, in order; nothing where it is none or cannot be read, which others say better."""
    try:
        return sorted(item.name for item in folder.iterdir() if not item.name.startswith("."))
    except OSError:
        return []


def _answer(name: str, files: list[str]) -> Answer:
    where = f"{name}/{files[0]}"
    if len(files) == 1:
        return Answer(instance_id=name, answer_type="file", value=files[0], where=where)
    shown = ", ".join(files[:_SHOWN]) + (", ..." if len(files) > _SHOWN else "")
    fault = Fault(code="BAD_METADATA", detail=f"{len(files)} databases ({shown}) and no {METADATA} that names one", where=where)
    return Answer(instance_id=name, answer_type="file", value="", where=where, fault=fault)
