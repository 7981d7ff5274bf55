"""Strict 1 where official is 0 only for a cause of the closed list, and only where that cause is there to be seen."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evalsuite.compare.flip_causes import kind_of_form
from evalsuite.compare.numbers import Tolerance
from evalsuite.compare.values import read_cell
from evalsuite.compare.verdict import CAUSES
from evalsuite.core.types import Score, Table
from evalsuite.scorers import SCORERS
from tests.compare.tables import test_big_tables, test_table_strict
from tests.compare.texts import test_values
from tests.properties import is_full

N = 100_000 if is_full() else 100
SHARE = {"tables": 0.5, "numbers": 0.3, "texts": 0.2, "causes": 0.1}
Columns = list[list[str]]
PLAIN = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
WORDS = ["Paris", "New York", "10", "C", "Zoë", "R&D", "10.5", "東京"]
PIECES = [*WORDS, *["paris", "New\u00a0York", "10.0", "1,000", "C++", "Zoe\u0308", "Yorker", "'s", "\u200b"], *" -.$(%x\n", ", "]
NUMERALS = ["42", "-42", "42.0", "17.5", "17.49", "17.5 %", "1,234", "1.2 million", "3rd", "2019", "GPT-4", "10:30", "4²", "x12", "-3.2"]
SAID = [*NUMERALS, "1e3", "12km", *" -()\n", ", ", " or ", "In ", "- ", "of York "]
GOLDS = [42, 17.5, "17.5", -3.2, "-42", 0.175, "17.5%", 2019, 1000, 3, 0, 1234.56, "1,234", 1200000]


@dataclass(frozen=True)
class Case:
    """What was compared: the texts of all cells or the answer, and the check's options."""

    texts: list[str]
    options: Mapping[str, Any] = field(default_factory=dict)
    has_types: bool = False

    def any(self, holds: Callable[[str], Any]) -> bool:
        """Whether some text is such a one."""
        return any(map(holds, self.texts))

    def option(self, *names: str) -> bool:
        """Whether one of these options was set."""
        return any(self.options.get(name) for name in names)


def is_odd(text: str) -> bool:
    """Whether a cell is anything but a plain number that a float can hold, and 64 bits if it is whole."""
    return PLAIN.fullmatch(text) is None or len(text) > 300 or ("." not in text and not -(1 << 63) <= int(text) < 1 << 63)


THERE: dict[str, Callable[[Case], bool]] = {
    "row pairing": lambda case: case.options.get("ignore_order") in (True, [True]),
    "typed by column": lambda case: case.any(is_odd),
    "dtype of other columns": lambda case: case.any(is_odd),
    "null words": lambda case: case.any(lambda text: text.strip() == "" or text.strip().lower() in ("na", "null", "none", "nan")),
    "null in an integer column": lambda case: case.has_types,
    "cells the reference dies of": lambda case: case.has_types or case.any(lambda text: len(text) > 300),
    "same instant": lambda case: case.any(lambda text: re.match(r"\s*\d{4}-\d\d-\d\d", text)),
    "true and false": lambda case: case.any(lambda text: text.strip().lower() in ("true", "false")),
    "spaces": lambda case: case.any(lambda text: text != text.strip()),
    "spelling form": lambda case: case.any(lambda text: not text.isascii() or text != text.strip() or "inf" in text.lower()),
    "written form": lambda case: case.any(
        lambda text: re.search(r"[,$€£¥()\u2012\u2013\u2212]|USD|EUR|GBP|\d['\u2019\s]\d|\d\.\d{3}\.", text)
    ),
    "per-gold options": lambda case: isinstance(case.options.get("ignore_order"), list),
    "native types": lambda case: case.has_types,
    "percent form": lambda case: case.any(lambda text: "%" in text) or case.option("percentage"),
    "tie order": lambda case: case.option("order_by") and case.options.get("ignore_order") not in (True, [True]),
    "own tolerance": lambda case: case.option("abs_tol", "rel_tol"),
    "rounding": lambda case: case.any(lambda text: "." in text),
    "sign": lambda case: case.any(lambda text: "-" in text),
    "number form": lambda case: case.any(lambda text: re.search(r"[^\d\s]", text)),
    "context numbers": lambda case: len(re.findall(r"\d+", case.texts[0])) > 1,
    "exclude inside a word": lambda case: case.option("exclude"),
}


def hold(score: Score, family: str, case: Case) -> None:
    """Fail where strict takes what official refuses without a listed cause that is there."""
    if score.official != 0 or score.strict != 1:
        return
    cause = score.flip.partition(":")[0]
    assert cause in CAUSES[family], (cause, case)
    assert cause != "own tolerance" or case.option("abs_tol", "rel_tol")
    assert THERE[cause](case), (cause, case, score.reason)


def run(scorer: str, prediction: Any, **parameters: Any) -> Score:
    """The score of a prediction."""
    score = SCORERS.load(scorer).function(prediction, **parameters)
    assert isinstance(score, Score)
    return score


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "ignore_order": st.sampled_from([True, False, [False], [True]]),
        "order_by": st.just([0]),
        "percentage": st.booleans(),
        "abs_tol": st.just(0.5),
        "rel_tol": st.just(0.01),
        "labels": st.just("ignore"),
    },
)


@st.composite
def plain_tables(draw: st.DrawFn) -> tuple[list[list[str]], list[list[str]]]:
    """Columns of plain numbers beside numbers like them, rows in gold's order."""
    n_rows, n_columns = draw(st.integers(1, 4)), draw(st.integers(1, 2))
    numbers = test_values.pairs().filter(lambda pair: not any(map(is_odd, pair)))
    pairs = [draw(st.lists(numbers, min_size=n_rows, max_size=n_rows)) for _ in range(n_columns)]
    return [[a for a, _ in column] for column in pairs], [[b for _, b in column] for column in pairs]


TABLES = st.one_of(test_table_strict.cases(), test_big_tables.cases(), plain_tables())


# Ways to write a value: mixed in a column, one of them decides how the reference reads the others.
SPELLINGS = [
    ["5", "5.0", "5.00", "$5", "5e0"], ["", "NULL", "NONE", "n/a"], ["true", "True", "TRUE"], ["a", " a", "a "], ["e\u0301", "\u00e9"],
    ["9.999", "10.0", "$10.00"], ["2020-01-01", "2020-01-01 00:00:00"], ["64.2", "64.20", "64.204"], ["1250", "1,250", "1250.0"],
]  # fmt: skip


@st.composite
def respelled_tables(draw: st.DrawFn) -> tuple[Columns, Columns]:
    """Columns of a few values beside the same values, each written in some way."""
    n_rows, n_columns = draw(st.integers(1, 4)), draw(st.integers(1, 2))
    gold, predicted = list[list[str]](), list[list[str]]()
    for _ in range(n_columns):
        spellings = draw(st.lists(st.sampled_from(SPELLINGS), min_size=1, max_size=2))
        values = draw(st.lists(st.sampled_from(spellings), min_size=n_rows, max_size=n_rows))
        for side in (gold, predicted):
            side.append([draw(st.sampled_from(value)) for value in values])
    return gold, predicted


def judge(gold: Columns, answer: Columns, options: Mapping[str, Any]) -> Score:
    """The score of columns whose headers cannot be mistaken."""
    sides = [test_table_strict.table(side, len(gold[0]), ("city", "visits")[: len(gold)]) for side in (answer, gold)]
    return run("table_match", sides[0], gold=sides[1], **options)


def proves(cause: str, gold: Columns, answer: Columns, options: Mapping[str, Any]) -> bool:
    """Whether the reference refuses the answer with all other cells as gold writes them, or accepts it with only these repaired."""
    tolerance, kind = Tolerance(abs=options.get("abs_tol", 0.0), own="abs_tol" in options), cause.replace("row pairing", "typed by column")

    def repaired(repairs: Callable[[str], bool]) -> Columns:
        def cell(a: str, b: str) -> str:
            return a if repairs(kind_of_form(read_cell(a), read_cell(b), (a, b), tolerance)) else b

        return [list(map(cell, *sides)) for sides in zip(gold, answer, strict=True)]

    alone = repaired(lambda other: other != kind)
    if cause == "row pairing" and judge(gold, alone, {**options, "ignore_order": False}).official != 1:
        return False
    return judge(gold, alone, options).official == 0 or judge(gold, repaired(lambda other: other == kind), options).official == 1


def natively(table: Table) -> Table:
    """The table as a database would hold it: columns of whole numbers with their NULLs, of floats, of text."""
    columns, types = [], []
    for cells in table.columns:
        present = [cell for cell in cells if cell.strip()]
        if all(re.fullmatch(r"-?\d{1,15}", cell) for cell in present):
            columns.append([int(cell) if cell.strip() else None for cell in cells])
            types.append("BIGINT")
        elif all(PLAIN.fullmatch(cell) for cell in present):
            columns.append([float(cell) if cell.strip() else None for cell in cells])
            types.append("DOUBLE")
        else:
            columns.append(list(cells))
            types.append("VARCHAR")
    return Table(header=table.header, columns=tuple(columns), n_rows=table.n_rows, types=tuple(types))


NUMBER_OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "percentage": st.booleans(),
        "conj": st.sampled_from(["and", "or"]),
        "abs_tol": st.just(0.5),
        "rel_tol": st.just(0.01),
        "exclude": st.just(["or"]),
    },
)
NUMBERS = st.tuples(
    st.one_of(st.lists(st.sampled_from(SAID), min_size=1, max_size=5).map("".join), test_values.numbers()),
    st.one_of(st.sampled_from(GOLDS), st.lists(st.sampled_from(GOLDS), min_size=1, max_size=3), test_values.numbers()),
    NUMBER_OPTIONS,
)


TEXTS = st.tuples(
    st.lists(st.sampled_from(PIECES), max_size=5).map("".join),
    st.one_of(st.sampled_from(WORDS), st.lists(st.sampled_from(WORDS), min_size=1, max_size=2)),
    st.fixed_dictionaries(
        {}, optional={"conj": st.sampled_from(["and", "or"]), "exclude": st.lists(st.sampled_from([*WORDS, "or"]), max_size=2)}
    ),
)


def examples(kind: str, n_parts: int = 1) -> settings:
    """The cases of one of some parts of a kind, of `N` in all."""
    return settings(max_examples=int(N * SHARE[kind] / n_parts), deadline=None)


# The slow tests draw as many cases in parts, which take turns with others.
PARTS = range(5 if is_full() else 1)


@pytest.mark.parametrize("part", PARTS)
@examples("tables", len(PARTS))
@given(case=TABLES, options=OPTIONS)
@example(([["0", "-0.0", "-1"]], [["0", "0.000000", "-0.996000"]]), {"ignore_order": True})
@example(([["-0.0", "-1"]], [["0.000000", "-1"]]), {"ignore_order": True})
@example(([["1", "1.0", "9" * 23]], [["1", "9" * 23, "1.0"]]), {})
@example(([["-0.0", "-1"]], [["-0", "-1"]]), {"ignore_order": [False]})
@example(([["1.5", "1.5"], ["1", "1.5"]], [["1.5", "1.5"], ["1", ".5"]]), {"ignore_order": [False], "abs_tol": 0.5, "order_by": [0]})
def test_tables(part: int, case: tuple[list[list[str]], list[list[str]]], options: dict[str, Any]) -> None:
    """Tables of text and of a database; on plain numbers in order strict is inside official."""
    predicted, gold = (test_table_strict.table(side, len(case[0][0])) for side in case[::-1])
    seen = Case([cell for side in case for column in side for cell in column], options)
    score = run("table_match", predicted, gold=[gold] if isinstance(options.get("ignore_order"), list) else gold, **options)
    hold(score, "table", seen)
    if not (seen.any(is_odd) or options) and score.strict == 1:
        assert score.official == 1, "on plain numbers strict is inside official"
    sorts = bool(options.get("ignore_order"))
    typed = run("duckdb_match", {"t": natively(predicted)}, gold={"t": natively(gold)}, ignore_orders=[sorts])
    hold(typed, "table", Case(seen.texts, {"ignore_order": sorts}, True))


@examples("causes")
@given(respelled_tables(), st.fixed_dictionaries({"ignore_order": st.booleans()}, optional={"abs_tol": st.just(0.5)}))
@example(([["null", "NaN", "NONE"], ["5", "6", "7"]], [["null", "", "NULL"], ["5", "6", "7.0"]]), {"ignore_order": False})
@example(([["5", "5"]], [["5.0", "$5"]]), {"ignore_order": False})
@example(([["n/a"], ["2020-01-01"]], [["null"], ["2020-01-01 00:00:00"]]), {"ignore_order": False})
@example(([["5", "NULL"]], [["5.4", "NONE"]]), {"ignore_order": False, "abs_tol": 0.5})
@example(
    ([["9.999"] * 3, ["$10.00", "9.999", "9.999"]], [["$10.00", "9.999", "10.0"], ["9.999", "9.999", "10.0"]]), {"ignore_order": False}
)
@example(([["NONE", "a"], ["", "a"]], [["", "a"], ["NONE", " a"]]), {"ignore_order": False})
def test_the_repair_of_a_cause_is_what_the_reference_needs(case: tuple[Columns, Columns], options: dict[str, Any]) -> None:
    """A flip's cause is why the reference refuses, and not just the first cell that is written differently."""
    gold, answer = case
    score = judge(gold, answer, options)
    if (score.official, score.strict) == (0, 1):
        orders = permutations(range(len(gold[0]))) if options["ignore_order"] else [range(len(gold[0]))]
        aligned = ([[column[row] for row in order] for column in answer] for order in orders)
        ordered = {**options, "ignore_order": False}
        same_rows = (rows for rows in aligned if judge(gold, rows, ordered).strict == 1)
        assert any(proves(score.flip.partition(":")[0], gold, rows, options) for rows in same_rows), (case, options, score.flip)


@examples("numbers")
@given(NUMBERS)
def test_numbers_in_answers(case: tuple[str, Any, dict[str, Any]]) -> None:
    """Numbers in an answer, of gold that the reference can read."""
    answer, gold, options = case
    if not isinstance(gold, str) or abs(float(gold.replace(",", "").rstrip("%"))) < 1e300:
        score = run("number_match", answer, gold=gold, **options)
        hold(score, "number", Case([answer, *map(str, gold if isinstance(gold, list) else [gold])], options))


@examples("texts")
@given(TEXTS)
def test_texts(case: tuple[str, Any, dict[str, Any]]) -> None:
    """Texts in an answer."""
    answer, gold, options = case
    hold(run("string_match", answer, gold=gold, **options), "text", Case([answer, *([gold] if isinstance(gold, str) else gold)], options))


def test_every_cause_can_be_looked_up() -> None:
    """Each listed cause says here where it is to be seen, but for those of queries, two that no table in memory shows, and none at all."""
    assert set().union(*CAUSES.values()) - CAUSES["query"] - set(THERE) == {"quoted name", "view", "no cause found"}
