"""All answers that are made for one check of one instance, and the tasks that hand them in."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from evalsuite.audit.made_answers import OWN, Edit, Made, clear, edited, write_database, write_table, write_tables, write_text, write_tree
from evalsuite.audit.own_answers import first_choice
from evalsuite.audit.right_answers import number_variants, table_variants, text_variants, tree_variants
from evalsuite.audit.wrong_answers import number_mutants, scrambled, table_mutants, text_mutants, tree_mutants
from evalsuite.causes.table_pairs import table_pairs
from evalsuite.causes.value_pairs import plain, read_gold_number
from evalsuite.errors import FaultError
from evalsuite.readers.paths import FromRoot, inside
from evalsuite.registry import Scorer
from evalsuite.scorers import SCORERS
from evalsuite.types import Answer, Check, Fault, Gold, GoldInstance, Table, Task
from evalsuite.workers.stages import usable_parameters

MOST_CELLS: Final = 200_000
# Texts that are compared as a whole or by judges have no wrong answer that is known to be wrong.
TEXTS: Final = ("string_match", "number_match")


class NotAuditedError(Exception):
    """A check for which no wrong answers are made; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A check to be audited with what is made for it: gold itself first, then wrong and right answers in turns."""

    instance: GoldInstance
    check: Check
    answers: tuple[Made, ...]
    write: Callable[[Made, Path, str], Answer]

    def task(self, i: int, gold: Gold, folder: Path, limits: Mapping[str, int | float]) -> Task:
        """The i-th answer as a task of an instance of its own, whose gold stays where it lies. Raises `NotMadeError`."""
        name = f"{self.instance.instance_id}.{self.check.scorer}.{i}"
        check = replace(self.check, parameters=_rooted(self.check.parameters, gold.folder, self.instance.instance_id))
        return Task(
            instance=replace(self.instance, instance_id=name, checks=(check,)),
            answer=self.write(self.answers[i], folder, name),
            gold_folder=gold.folder.absolute(),
            submission_folder=folder,
            rules="official",
            limits=limits,
        )


def _rooted(parameters: Mapping[str, Any], folder: Path, instance_id: str) -> dict[str, Any]:
    """The parameters with the names of gold files from gold's own folder on."""

    def from_root(value: Any) -> Any:
        if isinstance(value, list):
            return [from_root(item) for item in value]
        if not isinstance(value, str) or isinstance(value, FromRoot):
            return value
        try:
            place = inside(instance_id, value)
        except FaultError:
            return value
        return FromRoot(place) if (folder / place).is_file() else value

    return {key: from_root(value) if key in ("gold", "schema") else value for key, value in parameters.items()}


def subject(gold: Gold, instance: GoldInstance, check: Check, others: "Others", limits: Mapping[str, int | float], *, seed: int) -> Subject:
    """The check with its answers. Raises `NotAuditedError`."""
    entry = SCORERS.load(check.scorer)
    reads = entry.marker.reads
    if any(len(problem.blocks) > 1 for problem in check.problems):
        raise NotAuditedError("the spec itself is faulty")
    random_ = random.Random(f"{seed} {instance.instance_id} {check.scorer}")
    if reads in ("text", "number"):
        return _of_text(instance, check, others, random_)
    if reads not in ("table", "tables", "database", "tree") or (entry.marker.asks is not None and entry.marker.asks(check.parameters)):
        raise NotAuditedError("needs a judge")
    try:
        task = Task(instance=instance, answer=None, gold_folder=gold.folder.absolute(), submission_folder=gold.folder, limits=limits)
        parameters = usable_parameters(task, check, entry)
    except FaultError as error:
        raise NotAuditedError(f"gold cannot be read: {error.fault.detail or error.fault.code}") from None
    if reads == "tree":
        tree = first_choice(parameters["gold"])
        answers = _in_turns(Made(kind=OWN, right=True, value=tree), list(tree_mutants(tree, random_)), list(tree_variants(tree)))
        return Subject(instance=instance, check=check, answers=answers, write=write_tree)
    return _of_tables(gold, instance, check, entry, parameters, random_)


def _in_turns(own: Made, wrong: Sequence[Made], right: Sequence[Made]) -> tuple[Made, ...]:
    """Gold itself, then one wrong and one right answer at a time, so that a short audit has some of both."""
    turns = [made for i in range(max(len(wrong), len(right))) for made in (*wrong[i : i + 1], *right[i : i + 1])]
    return (own, *turns)


@dataclass(frozen=True, slots=True)
class Others:
    """The golds of all instances of a suite, from which an answer to one is a wrong answer to another."""

    texts: tuple[str, ...]
    numbers: tuple[Decimal, ...]


def all_golds(gold: Gold) -> Others:
    """What the text and number checks of a suite accept, each once, in the order of the file."""
    texts, numbers = dict[str, None](), dict[Decimal, None]()
    for instance in gold.instances:
        for check in instance.checks:
            given = check.parameters.get("gold")
            items = given if isinstance(given, list) else [given]
            if check.scorer == "string_match":
                texts |= dict.fromkeys(item for item in items if isinstance(item, str) and item.strip())
            elif check.scorer == "number_match":
                numbers |= dict.fromkeys(value for item in items if (value := read_gold_number(item)) is not None)
    return Others(tuple(texts), tuple(numbers))


def _of_text(instance: GoldInstance, check: Check, others: Others, random_: random.Random) -> Subject:
    if check.scorer not in TEXTS:
        raise NotAuditedError("gives a share, or compares meanings: no answer is known to be wrong")
    given = check.parameters.get("gold")
    items = given if isinstance(given, list) else [given]
    every = check.parameters.get("conj") == "and"
    if check.scorer == "string_match":
        golds = [item for item in items if isinstance(item, str) and item]
        if not golds:
            raise NotAuditedError("has no gold")
        own = " and ".join(golds) if every else golds[0]
        wrong = list(text_mutants(golds, every=every, others=others.texts, random_=random_))
        right = list(text_variants(golds, every=every))
    else:
        numbers = [value for item in items if (value := read_gold_number(item)) is not None]
        if not numbers or len(numbers) < len(items):
            raise NotAuditedError("gold is no number")
        percentage = bool(check.parameters.get("percentage"))
        own = " and ".join(map(plain, numbers if every else numbers[:1]))
        wrong = list(number_mutants(numbers, every=every, percentage=percentage, others=others.numbers, random_=random_))
        right = list(number_variants(numbers, every=every))
    answers = _in_turns(Made(kind=OWN, right=True, value=own), wrong, right)
    return Subject(instance=instance, check=check, answers=answers, write=lambda made, _, name: write_text(made, name))


def _of_tables(
    gold: Gold, instance: GoldInstance, check: Check, entry: Scorer, parameters: Mapping[str, Any], random_: random.Random
) -> Subject:
    reads, form = entry.marker.reads, parameters["gold"]
    if reads == "table":
        form = [table for table in (form if isinstance(form, list | tuple) else [form]) if isinstance(table, Table)]
    tables = list(form.values() if isinstance(form, Mapping) else form)
    if not tables or any(isinstance(table, Fault) for table in tables):
        raise NotAuditedError("gold cannot be read")
    if sum(table.n_rows * len(table.columns) for table in tables) > MOST_CELLS:
        raise NotAuditedError(f"gold has more than {MOST_CELLS:,} cells")
    # Each gold table beside itself.
    if reads == "table":
        pairs = [pair for table in form for pair in table_pairs(table, parameters, reads, "strict") if pair.gold is table]
    else:
        pairs = table_pairs(form, parameters, reads, "strict")
    if not pairs:
        raise NotAuditedError("gold cannot be read")
    # Each table is scrambled; of all else one is enough, for it is one check.
    i = random_.randrange(len(pairs))
    table: int | str = pairs[i].name if reads == "database" else i
    edits = [(pair.name if reads == "database" else k, scrambled(pair, random_)) for k, pair in enumerate(pairs)]
    edits += [(table, edit) for edit in table_mutants(pairs[i], random_)]
    wrong = [Made(kind=edit.kind, right=False, value=edit, table=of) for of, edit in edits if edit is not None]
    if reads == "table" and len(tables) > 1:
        wrong = [made for made in wrong if not _accepted(edited(tables[int(made.table)], made.value), tables)]
    right = [Made(kind=edit.kind, right=True, value=edit, table=table) for edit in table_variants(pairs[i], random_)]
    own = Made(kind=OWN, right=True, value=Edit(kind=OWN), table=table)
    return Subject(
        instance=instance, check=check, answers=_in_turns(own, wrong, right), write=_writer(gold, instance, check, reads, tables)
    )


def _accepted(table: Table, golds: list[Table]) -> bool:
    """Whether a table made from one accepted gold is another one of them: there NULL may be 0."""

    def cells(one: Table) -> list[list[Any]]:
        return [[clear(value, native=False) for value in column] for column in one.columns]

    made = cells(table)
    return any(cells(gold) == made for gold in golds)


def _writer(gold: Gold, instance: GoldInstance, check: Check, reads: str, tables: list[Table]) -> Callable[[Made, Path, str], Answer]:
    if reads == "table":
        return lambda made, folder, name: write_table(made, tables[int(made.table)], folder, name)
    if reads == "tables":
        return lambda made, folder, name: write_tables(made, tables, folder, name)
    file = gold.folder / inside(instance.instance_id, check.parameters["gold"])
    return lambda made, folder, name: write_database(made, file, folder, name)
