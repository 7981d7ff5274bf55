"""Gold as a submission: for each check of an instance the answers that hand in its own gold, the files copied to a folder."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

from evalsuite.errors import FaultError
from evalsuite.readers.answer_forms import read_gold_files
from evalsuite.readers.paths import inside
from evalsuite.scorers import SCORERS
from evalsuite.trees.json_values import alternatives_of
from evalsuite.types import Answer, Check, Fault, Gold, GoldInstance

# Their gold is a program's tests, not a program.
_TESTS = ("python_unit_testing", "pass_at_k")


class NoOwnAnswerError(Exception):
    """A check whose gold is no answer; the text says why."""


def own_answers(gold: Gold, instance: GoldInstance, check: Check, folder: Path, limits: Mapping[str, int | float]) -> list[Answer]:
    """One answer for each accepted alternative of a check, its files copied below `folder`.

    A file that is not there is left out of the copy: the answer then fails by itself, with its own fault. Raises `NoOwnAnswerError`.
    """
    reads = SCORERS.load(check.scorer).marker.reads
    given = check.parameters.get("gold")
    if reads == "batch":
        raise NoOwnAnswerError("needs a judge")
    if check.scorer in _TESTS:
        raise NoOwnAnswerError("gold is a test, not an answer")
    if given is None:
        raise NoOwnAnswerError("has no gold")
    if reads in ("text", "number", "query"):
        return [_answer(instance, "answer", text) for text in _texts(given, check.parameters.get("conj", "or"))]
    if reads == "tree":
        return [_tree(gold, instance, check, folder, limits)]
    names = _names(check)
    for name in names:
        _copy(check.computed or gold.folder, instance.instance_id, name, folder)
    if reads == "tables":
        return [_answer(instance, "files", tuple(names))]
    return [_answer(instance, "file", name) for name in names]


def lost_files(gold: Gold, instance: GoldInstance, check: Check) -> list[str]:
    """The gold tables and databases that a check names and that are not there; none where its gold was computed."""
    if check.computed is not None or SCORERS.load(check.scorer).marker.reads not in ("table", "tables", "database"):
        return []
    lost = []
    for name in _names(check):
        with suppress(FaultError):
            if not (gold.folder / inside(instance.instance_id, name)).is_file():
                lost.append(name)
    return lost


def _names(check: Check) -> list[str]:
    given = check.parameters.get("gold")
    return [name for name in (given if isinstance(given, list) else [given]) if isinstance(name, str)]


def _answer(instance: GoldInstance, kind: str, value: str | tuple[str, ...]) -> Answer:
    return Answer(instance_id=instance.instance_id, answer_type=kind, value=value, where=instance.where)


def _texts(gold: Any, conj: Any) -> Iterator[str]:
    """Each accepted text, or all of them in one where all are needed; numbers as a person would write them: 0.00001, not 1e-05."""
    golds = gold if isinstance(gold, list) else [gold]
    texts = [format(Decimal(repr(item)), "f") if isinstance(item, float) else str(item) for item in golds]
    if conj == "and":
        yield " and ".join(texts)
    else:
        yield from texts


def _tree(gold: Gold, instance: GoldInstance, check: Check, folder: Path, limits: Mapping[str, int | float]) -> Answer:
    """The gold records as a JSON file, the first of several alternatives taken everywhere."""
    try:
        read = read_gold_files("tree", check.parameters, folder=gold.folder, instance_id=instance.instance_id, limits=limits)["gold"]
    except FaultError as error:
        fault = Fault(code=error.fault.code, detail=error.fault.detail, where=instance.where)
        return Answer(instance_id=instance.instance_id, answer_type="file", value="gold.json", where=instance.where, fault=fault)
    value = first_choice(read)
    name = "gold.jsonl" if isinstance(value, list) else "gold.json"
    target = folder / inside(instance.instance_id, name)
    target.parent.mkdir(parents=True, exist_ok=True)
    records = value if isinstance(value, list) else [value]
    target.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return _answer(instance, "file", name)


def first_choice(value: Any) -> Any:
    """The tree with the first of several accepted values everywhere."""
    while (choices := alternatives_of(value)) is not None:
        value = choices[0]
    if isinstance(value, dict):
        return {key: first_choice(item) for key, item in value.items()}
    return [first_choice(item) for item in value] if isinstance(value, list) else value


def _copy(gold_folder: Path, instance_id: str, name: str, folder: Path) -> None:
    """Copy a gold file to the same place below `folder`; a name that no gold file can have is left to the check itself."""
    try:
        place = inside(instance_id, name)
    except FaultError:
        return
    source, target = gold_folder / place, folder / place
    if source.is_file() and not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
