"""The words gold is made of: questions, accepted answers and the cells of gold tables, each as one named text."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evalsuite.errors import FaultError
from evalsuite.readers.answer_forms import read_gold_files
from evalsuite.scorers import SCORERS
from evalsuite.types import Check, Fault, Gold, GoldInstance, Table

FILE_FORMS = ("table", "tables", "database")


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldText:
    """One text of an instance, in pieces; `part` says where it stands: `instruction`, `string_match gold`, `result.csv`."""

    instance_id: str
    part: str
    where: str
    pieces: tuple[str, ...]


def gold_texts(gold: Gold, limits: Mapping[str, int | float]) -> Iterator[GoldText | Fault]:
    """The texts of each instance in gold order; a `Fault` stands for a gold file that cannot be read."""
    for instance in gold.instances:
        for key, value in instance.extra.items():
            yield _text(instance, key, value)
        for check in instance.checks:
            reads = SCORERS.load(check.scorer).marker.reads
            if reads in FILE_FORMS or reads == "tree":
                yield from _files(instance, check, reads, gold, limits)
            else:
                for key, value in check.parameters.items():
                    yield _text(instance, f"{check.scorer} {key}", value)


def _files(instance: GoldInstance, check: Check, reads: str, gold: Gold, limits: Mapping[str, int | float]) -> Iterator[GoldText | Fault]:
    if "gold" not in check.parameters:
        return
    try:
        read = read_gold_files(reads, check.parameters, folder=gold.folder, instance_id=instance.instance_id, limits=limits)["gold"]
    except FaultError as error:
        yield Fault(code=error.fault.code, detail=error.fault.detail, where=instance.where)
        return
    if reads == "tree":
        yield _text(instance, f"{check.scorer} gold", read)
        return
    tables = read.values() if isinstance(read, Mapping) else read if isinstance(read, list) else [read]
    for table in tables:
        if isinstance(table, Table):
            # Row by row, as a CSV file or a printed table would show them.
            cells = tuple(str(cell) for row in zip(*table.columns, strict=True) for cell in row if cell is not None)
            yield GoldText(
                instance_id=instance.instance_id, part=table.name or "gold", where=instance.where, pieces=(*table.header, *cells)
            )
        else:
            yield Fault(code=table.code, detail=table.detail, where=instance.where)


def _text(instance: GoldInstance, part: str, value: Any) -> GoldText:
    return GoldText(instance_id=instance.instance_id, part=part, where=instance.where, pieces=tuple(_strings(value)))


def _strings(value: Any) -> Iterator[str]:
    """Every text and number in a JSON value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
