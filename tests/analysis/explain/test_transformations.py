"""Each error hypothesis undoes the errors that it injects, and fits no unrelated values."""

import json
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from evalsuite.analysis.causes import ERROR_HYPOTHESES, OTHER_CAUSES, TABLE_CAUSES, general_sentence
from evalsuite.analysis.causes.error_injection import NOTHING
from evalsuite.analysis.causes.predicates import predicate_of
from evalsuite.analysis.causes.table_alignment import Alignment, TablePair, drop_strange_pairs, pair_by_rank, table_pairs
from evalsuite.analysis.causes.values import Pair
from evalsuite.core.dataclasses import replace
from evalsuite.core.types import Fault, Rule
from tests.analysis.explain.planted import plant_column
from tests.analysis.explain.planted_tables import table_in_line
from tests.analysis.explain.stated_rows import rows_of
from tests.conftest import ROOT

CELLS = ["12.5", "007", "Porto Santo", "Zürich", "2024-03-05", "2024-03-05 10:30:15", "true", "", "40", "-3.25", "Edo 1615\u20131868"]
PLANTED = [entry for entry in ERROR_HYPOTHESES if entry.inject is not None]


@pytest.mark.parametrize("entry", PLANTED, ids=lambda entry: entry.name)
def test_a_law_recognises_what_it_plants(entry: object) -> None:
    """Every cell that a law made wrong is one it undoes to a value of gold's."""
    from evalsuite.analysis.causes.error_hypotheses import ErrorHypothesis

    assert isinstance(entry, ErrorHypothesis)
    tried = 0
    for native, cells in ((False, CELLS), (True, [12, 12.5, "Porto", None, True])):
        for cell in cells:
            planted = plant_column(entry.name, [cell] * 3, native=native)
            if planted is None or planted[0] == cell or entry.name == "constant factor":
                continue
            fixed = entry.fix([Pair(cell, planted[0], native)])
            assert fixed is not None, (cell, planted[0])
            same = fixed.values[0] == cell or Decimal(str(fixed.values[0])) == Decimal(str(cell))
            assert same, (cell, planted[0], fixed.values[0])
            tried += 1
    assert tried or entry.name == "constant factor"


def test_names_are_unique_and_explained() -> None:
    """Each cause has one name, and a sentence that is not the name."""
    names = [entry.name for entry in ERROR_HYPOTHESES] + [entry.name for entry in TABLE_CAUSES] + list(OTHER_CAUSES)
    assert len(names) == len(set(names))
    assert all(general_sentence(name) != name for name in names)
    assert [general_sentence(name) for name in ("sign", "no cause")] == ["the sign is the opposite", "no cause"]
    assert [entry.name for entry in ERROR_HYPOTHESES if entry.partial] == ["summer time", "fan-out"]


def recorded(name: str) -> Iterator[dict[str, Any]]:
    """The rows of a file of values."""
    return read_rows((ROOT / "tests/data/values" / name).read_text(encoding="utf-8"))


def read_rows(text: str) -> Iterator[dict[str, Any]]:
    """Lines of JSON; `{"day": ...}` and `{"time": ...}` are a date and a timestamp."""
    dates = {"day": date.fromisoformat, "time": datetime.fromisoformat}

    def cell(made: dict[str, Any]) -> Any:
        return next((read(made[key]) for key, read in dates.items() if key in made), made)

    for line in text.splitlines():
        yield json.loads(line, object_hook=cell)


def fitted(row: dict[str, Any]) -> dict[str, Any]:
    """What each hypothesis that holds says of gold and answer, with its place, and with the answer undone where that is not gold."""
    pairs = [Pair(*pair, row.get("native", False)) for pair in zip(row["gold"], row["answer"], strict=True)]
    found = {entry.name: fixed for entry in ERROR_HYPOTHESES if (fixed := entry.fix(pairs)) is not None}
    undone = {name: repr(fixed.values) for name, fixed in found.items() if repr(fixed.values) != repr(tuple(row["gold"]))}
    return {name: [fixed.says, fixed.where, undone.get(name, "")] for name, fixed in found.items()}


def injected(row: dict[str, Any]) -> dict[str, str]:
    """What each hypothesis makes of a cell of gold."""
    made = {entry.name: entry.inject(row["cell"], row.get("native", False)) for entry in PLANTED if entry.inject is not None}
    return {name: repr(value) for name, value in made.items() if value is not NOTHING}


def test_what_each_hypothesis_says_and_makes() -> None:
    """Of small columns exactly the recorded hypotheses hold, with their sentences, and each makes the recorded value of a cell."""
    for row in recorded("hypotheses.jsonl"):
        found, wanted = (injected(row), row["made"]) if "cell" in row else (fitted(row), row["found"])
        assert found == wanted, row


def sides(row: dict[str, Any]) -> Alignment:
    """Gold and answer of a recorded row side by side."""
    answer, gold = (table_in_line(row[side], row.get("types", ())) for side in ("answer", "gold"))
    pair = TablePair(answer, gold, tuple(row.get("needed", ())), row.get("ordered", False), key=tuple(row.get("key", ())))
    aligned = pair.align(row.get("rules", "strict"))
    assert aligned is not None
    return aligned


def repaired(row: dict[str, Any]) -> tuple[str, list[str]]:
    """(How rows and columns are paired and the condition on the others, what each repair says, and makes if that is not gold)."""
    a = sides(row)
    wrong = [len(some) for by in (a.wrong, a.unrelated, replace(a, exact=True).wrong) for some in by]
    conditions = [predicate_of(a.gold, a.missing, [g for g, _ in a.pairs]), predicate_of(a.prediction, a.extra, [p for _, p in a.pairs])]
    said = [f"{one.words} ({one.column} {one.size} {one.of_others} {one.chance:.6g})" for one in conditions if one is not None]
    ranked = pair_by_rank(a).pairs if a.gold.n_rows == a.prediction.n_rows else ()
    pairs = [*a.partners, "", *a.pairs, "", *a.missing, "", *a.extra, "", *drop_strange_pairs(a).extra, "", *ranked]
    found = []
    for cause in TABLE_CAUSES:
        for one in cause.repair(a):
            words = [one.name or cause.name, one.says, one.where, "puts gold in" * one.puts_gold_in, f"{one.chance:.6g}" * bool(one.chance)]
            made = rows_of(one.table)
            words += [str(made)] * (made != rows_of(a.gold)) + [str(one.table.types)] * (one.table.types != a.gold.types)
            words += [",".join(one.table.header)] * (one.table.header not in (a.gold.header, a.prediction.header))
            found.append(" | ".join(filter(None, words)))
    return f"{' '.join(str(one).replace(' ', '') for one in pairs)} {wrong} {'; '.join(said)}".strip(), found


@pytest.mark.parametrize("part", range(3))
def test_what_each_repair_says_and_makes(part: int) -> None:
    """Of small tables exactly the recorded rows and columns are paired, and each repair says and makes what is recorded."""
    for row in [*recorded("repairs.jsonl")][part::3]:
        assert repaired(row) == (row["aligned"], row["found"]), row


def test_pairs_of_tables_follow_the_parameters() -> None:
    """Official rules read any list as no order; tables of a database are paired by name, and what is no table is left out."""
    a, b, fault = table_in_line("a/1"), replace(table_in_line("b/2"), name="b"), Fault(code="BAD_CSV")
    lists: dict[str, Any] = {"condition_cols": [[0], []], "ignore_order": [True, False], "ignore_orders": [False, True], "abs_tol": 2}
    by_name = {"gold": {"A": a, "b": b, "c": fault}, **lists}

    def said(reads: str, rules: Rule, form: Any, parameters: dict[str, Any]) -> list[Any]:
        pairs = table_pairs(form, parameters, reads, rules)
        assert all(pair.terms.abs_tol == parameters.get("abs_tol") and not pair.terms.percentage for pair in pairs)
        return [("ab"[pair.gold is b], pair.needed, pair.ordered, pair.name) for pair in pairs]

    assert said("table", "official", b, {"gold": [a, b], **lists}) == [("a", (0,), False, ""), ("b", (), False, "")]
    assert said("table", "strict", b, {"gold": [a, b], **lists}) == [("a", (0,), False, ""), ("b", (), True, "")]
    assert said("table", "strict", b, {"gold": a}) == [("a", (), True, "")]
    assert said("table", "strict", b, {"gold": fault}) == []
    assert said("tables", "official", [b], {"gold": [a, b], **lists}) == [("a", (0,), True, "")]
    assert said("tables", "strict", [fault, a], {"gold": [a, b], **lists}) == [("b", (), False, "b")]
    assert said("database", "strict", {"B": a, "a": b, "C": a}, by_name) == [("a", (0,), True, "A"), ("b", (), False, "b")]
    assert said("database", "strict", {"B": a}, {**by_name, "condition_tabs": ["B", "A"]}) == [("b", (0,), True, "B")]
