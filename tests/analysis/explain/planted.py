"""The planted corpus: errors of a known cause in the project's own gold, with fixed seeds, and the explanation each gets."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from evalsuite.analysis.causes import ERROR_HYPOTHESES, hypothesis
from evalsuite.analysis.causes.error_injection import NOTHING
from evalsuite.analysis.causes.table_alignment import TablePair, table_pairs
from evalsuite.analysis.causes.table_repairs import pick, rows_of, set_column, set_rows
from evalsuite.analysis.explain.instance_evidence import explain
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import FaultError
from evalsuite.core.registry import Scorer
from evalsuite.core.types import RULES, Fault, Rule, Table, Task
from evalsuite.gold.layouts import read_gold
from evalsuite.readers.limits import resolve_limits
from evalsuite.runs.task_execution import usable_parameters
from evalsuite.scorers import SCORERS
from tests.conftest import ROOT

ROW_CAUSES = (
    "wrong order", "rows duplicated", "missing filter", "extra rows", "missing rows", "missing column", "transposed", "no header row",
    "delimiter", "rows scrambled", "columns swapped", "tie at the cut",
)  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """One wrong answer: in which instance, of which cause, and what the scorer gets."""

    name: str
    cause: str
    scorer: Scorer
    form: Any
    parameters: dict[str, Any]
    rules: Rule

    def is_refused(self) -> bool:
        """Whether the scorer refuses it; what it accepts (a sign that official rules do not see) is no error."""
        return self.scorer.function(self.form, **self.parameters).value(self.rules) == 0

    def explained(self) -> dict[str, Any]:
        """What the search says of it."""
        return explain(self.scorer, self.form, self.parameters, rules=self.rules)


@cache
def corpus() -> tuple[Planted, ...]:
    """All planted errors. Left out is gold that its own scorer refuses under the rules: there nothing can be proved."""
    return tuple(case for name, scorer, parameters in _checks() for case in _of_check(name, scorer, parameters))


def _checks() -> Iterator[tuple[str, Scorer, dict[str, Any]]]:
    gold = read_gold(ROOT / "gold")
    for instance in gold.instances:
        for check in instance.checks:
            task = Task(instance=instance, answer=None, gold_folder=gold.folder, submission_folder=gold.folder, limits=resolve_limits())
            scorer = SCORERS.load(check.scorer)
            try:
                yield instance.instance_id, scorer, usable_parameters(task, check, scorer)
            except FaultError:
                continue


def _of_check(name: str, scorer: Scorer, parameters: dict[str, Any]) -> Iterator[Planted]:
    reads = scorer.marker.reads
    for rules in RULES:
        if scorer.function(_right(reads, parameters), **parameters).value(rules) != 1:
            continue
        if reads == "text":
            cases = _texts(scorer.name, parameters)
        else:
            cases = _tables(reads, parameters, rules, random.Random(f"{name} {scorer.name}"))
        for cause, form in cases:
            yield Planted(name, cause, scorer, form, parameters, rules)


def _right(reads: str, parameters: dict[str, Any]) -> Any:
    """Gold handed in as the answer."""
    gold = parameters["gold"]
    if reads == "text":
        golds = gold if isinstance(gold, list) else [gold]
        return " and ".join(map(str, golds)) if parameters.get("conj") == "and" else str(golds[0])
    return next(item for item in gold if isinstance(item, Table)) if reads == "table" and isinstance(gold, list) else gold


def _tables(reads: str, parameters: dict[str, Any], rules: Rule, random_: random.Random) -> Iterator[tuple[str, Any]]:
    """Each error in the first readable gold table of the check."""
    gold = parameters["gold"]
    if reads == "table":
        golds = [gold] if isinstance(gold, Table) else [g for g in gold if isinstance(g, Table)]
        if any(isinstance(g, Fault) for g in ([gold] if isinstance(gold, Table) else gold)):
            return
        whole: Any = golds[0]
    else:
        whole = list(gold) if reads == "tables" else dict(gold)
    pair = table_pairs(whole, parameters, reads, rules)[0]
    for cause, table in _wrong_tables(pair, random_):
        if reads == "table":
            yield cause, table
        elif reads == "tables":
            yield cause, [table, *whole[1:]]
        else:
            yield cause, {**whole, pair.name: table}
    if reads == "tables" and len(whole) > 1:
        yield "tables swapped", [*whole[1:], whole[0]]


def plant_column(name: str, cells: list[Any], *, native: bool) -> list[Any] | None:
    """The cells with the error of a hypothesis in each that allows it; None if none does, or if it cannot be injected."""
    inject = hypothesis(name).inject
    planted = [NOTHING if inject is None else inject(value, native) for value in cells]
    wrong = [own if other is NOTHING else other for own, other in zip(cells, planted, strict=True)]
    return wrong if any(other is not NOTHING for other in planted) else None


def _wrong_tables(pair: TablePair, random_: random.Random) -> Iterator[tuple[str, Table]]:
    gold = pair.gold
    needed = pair.needed or tuple(range(len(gold.columns)))
    for law in ERROR_HYPOTHESES:
        for column in needed:
            planted = plant_column(law.name, list(gold.columns[column]), native=gold.types is not None)
            if planted is not None:
                yield law.name, _typed(set_column(gold, column, planted), column, as_text=law.name in ("stored as text", "true and false"))
                break
    for cause in ROW_CAUSES:
        table = _wrong_rows(cause, pair, needed, random_)
        if table is not None:
            yield cause, table


def _typed(table: Table, column: int, *, as_text: bool) -> Table:
    """A database's table with one column of text; any other table as it is."""
    if table.types is None or not as_text:
        return table
    return replace(table, types=tuple("VARCHAR" if i == column else name for i, name in enumerate(table.types)))


def _wrong_rows(cause: str, pair: TablePair, needed: tuple[int, ...], random_: random.Random) -> Table | None:
    gold = pair.gold
    n, places = gold.n_rows, list(range(gold.n_rows))
    if n < 3:
        return None
    if cause == "wrong order":
        random_.shuffle(places)
        return pick(gold, places)
    if cause == "rows duplicated":
        return pick(gold, sorted(places * random_.choice([2, 3])))
    if cause == "missing rows":
        return pick(gold, sorted(random_.sample(places, n - random_.choice([1, 2]))))
    if cause == "rows scrambled" and len(needed) > 1:
        cells = list(gold.columns[needed[-1]])
        return set_column(gold, needed[-1], cells[1:] + cells[:1])
    if cause == "columns swapped" and len(needed) > 1:
        return _exchanged(gold, needed)
    if cause == "missing column" and len(needed) > 1 and gold.types is None:
        kept = [i for i in range(len(gold.columns)) if i != needed[-1]]
        return replace(gold, header=tuple(gold.header[i] for i in kept), columns=tuple(gold.columns[i] for i in kept))
    if cause in ("missing filter", "extra rows", "tie at the cut"):
        return _too_many(cause, gold, needed, random_)
    return _wrong_file(cause, gold)


def _exchanged(gold: Table, needed: tuple[int, ...]) -> Table | None:
    rows = [list(row) for row in rows_of(gold)]
    for row in rows[:2]:
        row[needed[0]], row[needed[1]] = row[needed[1]], row[needed[0]]
    return set_rows(gold, rows) if gold.types is None or gold.types[needed[0]] == gold.types[needed[1]] else None


def _too_many(cause: str, gold: Table, needed: tuple[int, ...], random_: random.Random) -> Table | None:
    rows = rows_of(gold)
    if gold.types is not None:
        return None
    new = [tuple(f"{cell}{i}" if j == needed[0] else cell for j, cell in enumerate(random_.choice(rows))) for i in (7, 8, 9)]
    if cause == "extra rows":
        return set_rows(gold, [*rows, new[0]])
    if cause == "missing filter":
        cells = [[*row, "kept"] for row in rows] + [[*row, "cancelled"] for row in new]
        return set_rows(replace(gold, header=(*gold.header, "status")), cells)
    ranked = next((j for j in needed[1:] if _ranks(gold.columns[j])), None)
    if ranked is None:
        return None
    last = list(rows[-1])
    last[needed[0]] = "another of the tied"
    return set_rows(gold, [*rows[:-1], tuple(last)])


def _ranks(column: Any) -> bool:
    try:
        numbers = [float(cell) for cell in column]
    except (TypeError, ValueError):
        return False
    return numbers == sorted(numbers, reverse=True) and numbers[0] > numbers[-1]


def _wrong_file(cause: str, gold: Table) -> Table | None:
    if gold.types is not None:
        return None
    rows = rows_of(gold)
    if cause == "no header row":
        return replace(set_rows(gold, rows[1:]), header=tuple(map(str, rows[0])))
    if cause == "transposed":
        turned = list(zip(gold.header, *rows, strict=True))
        columns = tuple(list(column) for column in zip(*turned[1:], strict=True))
        return Table(header=tuple(map(str, turned[0])), columns=columns, n_rows=len(turned) - 1, name=gold.name)
    if cause == "delimiter" and len(gold.header) > 1:
        body = [";".join("" if cell is None else str(cell) for cell in row) for row in rows]
        if any(";" in str(cell) or "," in str(cell) for row in rows for cell in row):
            return None
        return Table(header=(";".join(gold.header),), columns=(body,), n_rows=len(body), name=gold.name)
    return None


def _texts(scorer: str, parameters: dict[str, Any]) -> Iterator[tuple[str, str]]:
    gold = parameters["gold"]
    golds = list(gold) if isinstance(gold, list) else [gold]
    if scorer == "string_match":
        word = golds[0]
        if parameters.get("conj") == "and":
            yield "part missing", f"It is {word}."
        whole = " and ".join(golds) if parameters.get("conj") == "and" else word
        for bad in parameters.get("exclude", ()):
            yield "excluded text", f"{whole}, not {bad}"
        if " " in word:
            yield "spaces", f"It is {whole.replace(' ', '_')}"
        return
    if parameters.get("conj") == "and" or len(golds) > 1:
        return
    value = float(str(golds[0]))
    for cause, factor in (("times 100", 100), ("unit", 1000), ("sign", -1)):
        yield cause, f"The answer is {value * factor:.10g}"
    if value == int(value):
        yield "off by one", f"The answer is {int(value) + 1}"
    else:
        yield "rounding", f"The answer is {value:.0f}"
    yield "extra text", f"Of 17 and 23 candidates the answer is {golds[0]}"
