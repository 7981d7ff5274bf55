"""One check of one instance, audited where gold is read: what is made for it, what its scorer says of that, and what closes its holes."""

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from evalsuite.audit.closing_lines import Hole, closing_line
from evalsuite.audit.made_answers import OWN, Edit, Made, clear, edited, handed_in
from evalsuite.audit.own_answers import first_choice
from evalsuite.audit.right_answers import number_variants, table_variants, text_variants, tree_variants
from evalsuite.audit.small_changes import size_of
from evalsuite.audit.wrong_answers import number_mutants, scrambled, table_mutants, text_mutants, tree_mutants
from evalsuite.causes.row_repairs import pick
from evalsuite.causes.table_pairs import table_pairs
from evalsuite.causes.value_pairs import number, read_gold_number
from evalsuite.errors import FaultError
from evalsuite.registry import Scorer
from evalsuite.scorers import SCORERS
from evalsuite.tables.columns import held
from evalsuite.tables.packed import unpacked
from evalsuite.tables.wording import verdicts_only
from evalsuite.types import RULES, Check, Fault, Gold, Result, Rule, Table, Task
from evalsuite.workers.stages import Prediction, judge, usable_parameters

ORDER: Final = "evalsuite.audit.audited_checks:collect_verdicts"
KEY: Final = "audit"
# Of larger gold tables the first rows are audited: the holes of a spec are those of any table like it.
MOST_CELLS, FEWEST_ROWS = 10_000, 100
# Texts that are compared as a whole or by judges have no wrong answer that is known to be wrong.
TEXTS: Final = ("string_match", "number_match")
# A graded scorer's 1 may miss it by the rounding of its sums.
_FULL: Final = 1 - 1e-9
# What a float loses when it is written and read.
_NOISE: Final = 1e-9
Taken = dict[Rule, bool | None]


class NotAuditedError(Exception):
    """A check for which no wrong answers are made; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked of an audit of a check: see `mutation.audit_gold`; `until` is a moment of `time.monotonic`, `queried` what edited gold
    queries gave (see `query_mutants`)."""

    seed: int
    most: int
    kinds: tuple[str, ...] = ()
    until: float | None = None
    texts: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    queried: tuple[tuple[str, Table], ...] = ()


def all_golds(gold: Gold) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts and the numbers, as text, that the checks of a suite accept, each once, in the order of the file."""
    texts, numbers = dict[str, None](), dict[str, None]()
    for instance in gold.instances:
        for check in instance.own_checks:
            given = check.parameters.get("gold")
            items = given if isinstance(given, list) else [given]
            if check.scorer == "string_match":
                texts |= dict.fromkeys(item for item in items if isinstance(item, str) and item.strip())
            elif check.scorer == "number_match":
                numbers |= dict.fromkeys(str(value) for item in items if (value := read_gold_number(item)) is not None)
    return tuple(texts), tuple(numbers)


def check_auditable(check: Check) -> None:
    """Raise `NotAuditedError` where the spec alone says that a check cannot be audited."""
    entry = SCORERS.load(check.scorer)
    reads = entry.marker.reads
    if any(len(problem.blocks) > 1 for problem in check.problems):
        raise NotAuditedError("the spec itself is faulty")
    if reads in ("text", "number"):
        if check.scorer not in TEXTS:
            raise NotAuditedError("gives a share, or compares meanings: no answer is known to be wrong")
    elif reads not in ("table", "tables", "database", "tree") or (entry.marker.asks is not None and entry.marker.asks(check.parameters)):
        raise NotAuditedError("needs a judge")


def collect_verdicts(task: Task, prediction: Prediction) -> Result:
    """The result of gold itself; its details hold, by `KEY`, the verdict on each made answer, or why none is made. Runs in a worker."""
    result = judge(task, prediction)
    asked: Asked = task.instance.extra[KEY]
    (check,) = task.instance.checks
    try:
        found: dict[str, Any] = {"verdicts": _verdicts(task, check, asked)}
    except NotAuditedError as why:
        found = {"untried": str(why)}
    return replace(result, details={KEY: found})


def _verdicts(task: Task, check: Check, asked: Asked) -> list[dict[str, Any]]:
    entry = SCORERS.load(check.scorer)
    try:
        parameters = usable_parameters(task, check, entry)
    except FaultError as error:
        raise NotAuditedError(f"gold cannot be read: {error.fault.detail or error.fault.code}") from None
    if entry.marker.reads in ("table", "tables", "database"):
        parameters["gold"] = _first_rows(parameters["gold"])
    random_ = random.Random(f"{asked.seed} {task.instance.instance_id} {check.scorer}")
    answers = _made(check, entry, parameters, asked, random_)
    wanted = [made for made in answers[1:] if not asked.kinds or made.kind in asked.kinds][: asked.most]
    if entry.marker.reads == "table" and asked.queried:
        wanted += [made for made in _of_queries(entry, parameters, asked) if not asked.kinds or made.kind in asked.kinds]
    if not wanted:
        raise NotAuditedError("no such answer can be made")
    blocked: frozenset[Rule] = frozenset().union(*(problem.blocks for problem in check.problems))

    def score(form: Any, changed: Mapping[str, Any]) -> Taken:
        return _taken(entry, form, changed, blocked)

    found = []
    with verdicts_only():
        for made in wanted:
            if asked.until is not None and time.monotonic() > asked.until:
                break
            form = handed_in(made, _gold_of(made, parameters, entry.marker.reads))
            found.append((made, form, score(form, parameters)))
        own = handed_in(answers[0], _gold_of(answers[0], parameters, entry.marker.reads))
        told = []
        for made, form, taken in found:
            lines: dict[str, str] = {}
            for rule in RULES:
                if taken[rule] is None or taken[rule] is made.right or (asked.until is not None and time.monotonic() > asked.until):
                    continue
                stay = [(OWN, own), *((one.kind, other) for one, other, verdict in found if one.right and verdict[rule])]
                lines[rule] = closing_line(Hole(made.kind, form, made.right, taken), rule, parameters, entry.parameters, stay, score)
            told.append({"kind": made.kind, "right": made.right, "size": made.size, "taken": taken, "lines": lines})
    return told


def _of_queries(entry: Scorer, parameters: Mapping[str, Any], asked: Asked) -> list[Made]:
    """The tables of edited gold queries that are not gold; none where the query as it stands does not give gold here."""
    exact = {**parameters, "rel_tol": _NOISE, "abs_tol": 0.0}
    gold = parameters["gold"] if isinstance(parameters["gold"], Table) else next(iter(parameters["gold"]), None)
    found = []
    for kind, table in asked.queried:
        is_gold = _taken(entry, table, exact, frozenset())["strict"]
        if not kind and not is_gold:
            return []
        if kind and is_gold is False and isinstance(gold, Table):
            found.append(Made(kind=f"gold's query: {kind}", right=False, value=table, size=_size(gold, table)))
    return found


def _size(gold: Table, table: Table) -> float | None:
    """By which share of itself the number changes that changes most; None where more than numbers are others."""
    if (gold.n_rows, len(gold.columns)) != (table.n_rows, len(table.columns)):
        return None
    largest = 0.0
    for ours, theirs in zip(gold.columns, table.columns, strict=True):
        for before, after in ((number(a, native=False), number(b, native=False)) for a, b in zip(ours, theirs, strict=True) if a != b):
            share = size_of(before, after) if before is not None and after is not None else None
            if share is None:
                return None
            largest = max(largest, share)
    return largest


def _first_rows(gold: Any) -> Any:
    """The gold tables of a check, each cut to `MOST_CELLS` cells, and the faults in the place of others."""
    if isinstance(gold, Mapping):
        return {name: _first_rows(table) for name, table in gold.items()}
    if isinstance(gold, list | tuple):
        return list(map(_first_rows, gold))
    if isinstance(gold, Fault):
        return gold
    if gold.n_rows * len(gold.columns) <= MOST_CELLS:
        return _held(gold)
    return _held(pick(gold, range(max(FEWEST_ROWS, MOST_CELLS // len(gold.columns)))))


def _held(gold: Table) -> Table:
    """The table with columns of text that keep what is worked out of them: all answers made from it share most of them."""
    return gold if gold.types is not None else held(unpacked(gold))


def _taken(entry: Scorer, form: Any, parameters: Mapping[str, Any], blocked: frozenset[Rule]) -> Taken:
    """By rule whether the scorer takes an answer; None where it cannot judge it."""
    try:
        score = entry.score(form, **parameters)
    except FaultError:
        return dict.fromkeys(RULES)
    values = {rule: None if rule in blocked else score.value(rule) for rule in RULES}
    return {rule: None if value is None else value >= _FULL for rule, value in values.items()}


def _gold_of(made: Made, parameters: Mapping[str, Any], reads: str) -> Any:
    """What a made answer is an edit of: of several accepted tables one."""
    gold = parameters.get("gold")
    if reads == "table" and isinstance(gold, list | tuple):
        return [table for table in gold if isinstance(table, Table)][int(made.table)]
    return gold


def _made(check: Check, entry: Scorer, parameters: Mapping[str, Any], asked: Asked, random_: random.Random) -> tuple[Made, ...]:
    """The answers of a check: gold itself, then one wrong and one right one at a time, so that a short audit has some of both."""
    reads = entry.marker.reads
    if reads in ("text", "number"):
        own, wrong, right = _of_text(check, asked, random_)
    elif reads == "tree":
        tree = first_choice(parameters["gold"])
        own, wrong, right = Made(kind=OWN, right=True, value=tree), list(tree_mutants(tree, random_)), list(tree_variants(tree))
    else:
        own, wrong, right = _of_tables(reads, parameters, random_)
    turns = [made for i in range(max(len(wrong), len(right))) for made in (*wrong[i : i + 1], *right[i : i + 1])]
    return (own, *turns)


def _of_text(check: Check, asked: Asked, random_: random.Random) -> tuple[Made, list[Made], list[Made]]:
    given = check.parameters.get("gold")
    items = given if isinstance(given, list) else [given]
    every = check.parameters.get("conj") == "and"
    if check.scorer == "string_match":
        golds = [item for item in items if isinstance(item, str) and item]
        if not golds:
            raise NotAuditedError("has no gold")
        own = " and ".join(golds) if every else golds[0]
        wrong = list(text_mutants(golds, every=every, others=asked.texts, random_=random_))
        return Made(kind=OWN, right=True, value=own), wrong, list(text_variants(golds, every=every))
    numbers = [value for item in items if (value := read_gold_number(item)) is not None]
    if not numbers or len(numbers) < len(items):
        raise NotAuditedError("gold is no number")
    others = list(map(Decimal, asked.numbers))
    percentage = bool(check.parameters.get("percentage"))
    wrong = list(number_mutants(numbers, every=every, percentage=percentage, others=others, random_=random_))
    right = list(number_variants(numbers, every=every))
    return Made(kind=OWN, right=True, value=" and ".join(f"{n:f}" for n in (numbers if every else numbers[:1]))), wrong, right


def _of_tables(reads: str, parameters: Mapping[str, Any], random_: random.Random) -> tuple[Made, list[Made], list[Made]]:
    form = parameters["gold"]
    if reads == "table":
        form = [table for table in (form if isinstance(form, list | tuple) else [form]) if isinstance(table, Table)]
    tables = list(form.values() if isinstance(form, Mapping) else form)
    if not tables or any(isinstance(table, Fault) for table in tables):
        raise NotAuditedError("gold cannot be read")
    # Each gold table beside itself.
    if reads == "table":
        pairs = [pair for table in form for pair in table_pairs(table, parameters, reads, "strict") if pair.gold is table]
    else:
        pairs = table_pairs(form, parameters, reads, "strict")
    if not pairs:
        raise NotAuditedError("gold cannot be read")
    given = {name: parameters[name] for name in ("rel_tol", "abs_tol") if name in parameters}
    pairs = [replace(pair, terms=replace(pair.terms, **given)) for pair in pairs]
    # Each table is scrambled; of all else one is enough, for it is one check.
    i = random_.randrange(len(pairs))
    table: int | str = pairs[i].name if reads == "database" else i
    edits = [(pair.name if reads == "database" else k, scrambled(pair, random_)) for k, pair in enumerate(pairs)]
    edits += [(table, edit) for edit in table_mutants(pairs[i], random_)]
    wrong = [Made(kind=edit.kind, right=False, value=edit, table=of, size=edit.size) for of, edit in edits if edit is not None]
    if reads == "table" and len(tables) > 1:
        wrong = [made for made in wrong if not _accepted(edited(tables[int(made.table)], made.value), tables)]
    right = [Made(kind=edit.kind, right=True, value=edit, table=table) for edit in table_variants(pairs[i], random_)]
    return Made(kind=OWN, right=True, value=Edit(kind=OWN), table=table), wrong, right


def _accepted(table: Table, golds: Sequence[Table]) -> bool:
    """Whether a table made from one accepted gold is another one of them: there NULL may be 0."""

    def cells(table: Table) -> list[list[Any]]:
        return [[clear(value, native=False) for value in column] for column in table.columns]

    made = cells(table)
    return any(cells(gold) == made for gold in golds)
