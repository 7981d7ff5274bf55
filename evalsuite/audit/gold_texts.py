"""What of gold is sought in other texts: questions, answers, and tables in each form that others write them in; and canaries."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from evalsuite.errors import FaultError
from evalsuite.readers.answer_forms import read_gold_files
from evalsuite.scorers import SCORERS
from evalsuite.types import Check, Fault, Gold, GoldInstance, Table

# A text that stands in a benchmark for no other reason than to be found again, such as a GUID: a key of an instance in the spec.
CANARY: Final = "canary"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldText:
    """One text of an instance, in pieces; `part` says where it stands: `instruction`, `string_match gold`, `result.csv`.

    `any_length` texts are sought however short they are.
    """

    instance_id: str
    part: str
    where: str
    pieces: tuple[str, ...]
    any_length: bool = False


FILE_FORMS = ("table", "tables", "database")


def gold_texts(gold: Gold, limits: Mapping[str, int | float]) -> Iterator[GoldText | Fault]:
    """The texts of each instance in gold order; a `Fault` stands for a gold file that cannot be read."""
    for instance in gold.instances:
        for key, value in instance.extra.items():
            yield replace(_gold_text(instance, key, value), any_length=key == CANARY)
        for check in instance.checks:
            reads = SCORERS.load(check.scorer).marker.reads
            if reads in FILE_FORMS or reads == "tree":
                yield from _file_texts(instance, check, reads, gold, limits)
            else:
                for key, value in check.parameters.items():
                    yield _gold_text(instance, f"{check.scorer} {key}", value)


def _file_texts(
    instance: GoldInstance, check: Check, reads: str, gold: Gold, limits: Mapping[str, int | float]
) -> Iterator[GoldText | Fault]:
    if "gold" not in check.parameters:
        return
    try:
        read = read_gold_files(reads, check.parameters, folder=gold.folder, instance_id=instance.instance_id, limits=limits)["gold"]
    except FaultError as error:
        yield Fault(code=error.fault.code, detail=error.fault.detail, where=instance.where)
        return
    if reads == "tree":
        yield _gold_text(instance, f"{check.scorer} gold", read)
        return
    tables = read.values() if isinstance(read, Mapping) else read if isinstance(read, list) else [read]
    for table in tables:
        if isinstance(table, Table):
            for form, pieces in _table_forms(table):
                part = f"{table.name or 'gold'}{form}"
                yield GoldText(instance_id=instance.instance_id, part=part, where=instance.where, pieces=pieces)
        else:
            yield Fault(code=table.code, detail=table.detail, where=instance.where)


def _table_forms(table: Table) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(form, texts in order) of a table as others write it: row by row (CSV, Markdown, print), turned round, as JSON records."""
    rows = list(zip(*table.columns, strict=True))
    yield "", (*table.header, *(str(cell) for row in rows for cell in row if cell is not None))
    if len(table.columns) > 1:
        yield ", columns turned round", (*table.header[::-1], *(str(cell) for row in rows for cell in row[::-1] if cell is not None))
        yield ", column by column", tuple(str(cell) for column in table.columns for cell in column if cell is not None)
    records = (piece for row in rows for name, cell in zip(table.header, row, strict=True) for piece in (name, _json_word(cell)))
    yield ", as JSON records", tuple(records)


def _json_word(cell: Any) -> str:
    return "null" if cell is None else str(cell)


def _gold_text(instance: GoldInstance, part: str, value: Any) -> GoldText:
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
