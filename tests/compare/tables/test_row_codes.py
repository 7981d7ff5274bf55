"""Rows in any order by codes: near numbers, odd forms and moved cells get the verdicts of the plain model, at a bounded cost."""

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from types import FrameType
from typing import Any

import pytest

from evalsuite.compare import strict_matching
from evalsuite.compare.number_columns import numbers_of
from evalsuite.compare.official_tables import match_table
from evalsuite.compare.strict_columns import Terms
from evalsuite.compare.strict_tables import judge_table
from evalsuite.core.types import Table
from evalsuite.scorers.table_match import table_match
from tests.benchmarks.surface import KINDS, table_of
from tests.models import strict_table

NEAR = (0.001, 0.0049, 0.5, 1.005, 2.004, 2.005, 2.006, 10.01, 10.015, 12.345, 12.3449, 12.35, 99.995, 100.0)
STEPS = (0, 0, 0, 1e-10, 5e-9, 0.004, 0.005, 0.006, -0.005)
WORDS = (
    *("a", "b", "A", " a", "a ", "NULL", "", "nan", "true", "True", "false", "NA", "#NA", "\\N", "inf", "-inf", "é", "Ł5"),
    *("city 5", "x1234"),
)
DATES = ("2023-01-05", "2023-01-05 00:00:00", "2023-01-05T00:00:00Z", "2023-01-06", "2023-13-05", "Jan 5, 2023", "5 Jan 2023", "01/02/2024")
ODD = (
    *("1,234", "1234", "1234.0", "$5", "5", "5.0", "007", "7", "(5)", "-5", "1e3", "1000", "0.0", "-0", "0", "1e-400", "12%", "4120,33"),
    *("4120.33", "9007199254740993", "9007199254740992.0", "9007199254740992", "USD 5", "5 EUR", "(1,250)", "-1250", "1.234"),
)
TERMS = (Terms(), Terms(), Terms(), Terms(abs_tol=0.01), Terms(rel_tol=0.001), Terms(abs_tol=1.0), Terms(rel_tol=0.0))


def cell(drawn: Random) -> str:
    """A number near others, a word, a date, or a number in an odd form."""
    form = drawn.randrange(4)
    if form == 0:
        return f"{drawn.choice(NEAR) + drawn.choice(STEPS):.{drawn.choice((1, 2, 3, 4, 12))}f}"
    return drawn.choice((WORDS, DATES, ODD)[form - 1])


def written_again(text: str, drawn: Random) -> str:
    """The cell with spaces, or the number rounded or off by float noise."""
    try:
        value = float(text)
    except ValueError:
        return drawn.choice((text, text, text + " ", text.upper()))
    if not abs(value) < 1e15:
        return text
    return drawn.choice((text, repr(value * (1 + drawn.choice((0, 1e-10, -3e-10, 2e-9)))), f"{value:.2f}", f"{value:.3f}", f"{value:.1f}"))


def case(seed: int, most_rows: int = 14) -> tuple[Table, Table, Terms]:
    """(gold, answer, terms): few different cells, rows moved, numbers written again, some cells exchanged or replaced."""
    drawn = Random(seed)
    n, width = drawn.randint(1, most_rows), drawn.randint(1, 3)
    gold = [[drawn.choice(pool) for _ in range(n)] for pool in ([cell(drawn) for _ in range(drawn.randint(1, 8))] for _ in range(width))]
    order, again = drawn.sample(range(n), n) if seed % 3 else range(n), drawn.random() < 0.7
    answer = [[written_again(column[row], drawn) if again else column[row] for row in order] for column in gold]
    if drawn.random() < 0.3:
        drawn.choice(answer)[drawn.randrange(n)] = cell(drawn)
    if drawn.random() < 0.2:
        column, (a, b) = drawn.choice(answer), (drawn.randrange(n), drawn.randrange(n))
        column[a], column[b] = column[b], column[a]
    if drawn.random() < 0.3:
        answer.append([cell(drawn) for _ in range(n)])
    places = drawn.sample(range(len(answer)), len(answer)) if drawn.random() < 0.3 else range(len(answer))
    names = [f"name {chr(97 + at)}" for at in range(len(answer))]
    tables = ((names[:width], gold), ([names[at] for at in places], [answer[at] for at in places]))
    a, b = (Table(header=tuple(header), columns=tuple(columns), n_rows=n, name="t.csv") for header, columns in tables)
    return a, b, drawn.choice(TERMS)


@pytest.mark.parametrize("block", [0, *(pytest.param(block, marks=pytest.mark.slow) for block in range(1, 240))])
def test_codes_give_the_verdicts_of_every_pairing_tried(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """50 drawn tables a block, as lists and as packed text: the verdict of the plain model, and the same fact that decides it."""
    values = set()
    monkeypatch.setattr(strict_matching, "MOST_UNLIKE", 0)
    for seed in range(50 * block, 50 * (block + 1)):
        gold, answer, terms = case(seed, most_rows=5)
        found, ignore_order = [], seed % 3 > 0
        for most in (0, 1 << 60):
            monkeypatch.setattr("evalsuite.compare.columns.PACKED_CELLS", most)
            strict = judge_table(answer, gold, terms, ignore_order=ignore_order)
            found.append((strict.value, strict.reason.split()[0] if strict.value == 0 else ""))
        assert found[0] == found[1], (seed, gold.columns, answer.columns, terms)
        names = gold.header, answer.header
        model = strict_table.score_tables(gold.columns, answer.columns, not ignore_order, terms.abs_tol, terms.rel_tol, names=names)  # type: ignore[arg-type]
        assert found[0][0] == model, (seed, gold.columns, answer.columns, terms)
        values.add(found[1][0])
    assert values == {0.0, 1.0}


@pytest.mark.parametrize("block", [0, *(pytest.param(block, marks=pytest.mark.slow) for block in range(1, 120))])
def test_packed_tables_get_the_official_counts_of_lists(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """100 drawn tables a block, both orders and all references: the same verdict, closest column and number of differing cells."""
    n_wrong = 0
    for seed in range(100 * block, 100 * (block + 1)):
        gold, answer, _ = case(seed)
        found, reference = [], ("original", "lite", "dbt")[seed % 7 % 3]
        for most in (0, 1 << 60):
            monkeypatch.setattr("evalsuite.compare.columns.PACKED_CELLS", most)
            score = match_table(answer, gold, ignore_order=seed % 2 > 0, reference=reference)  # type: ignore[arg-type]
            found.append((score.official, *(score.details.get(name) for name in ("gold_column", "predicted_column", "n_differ"))))
        assert found[0] == found[1], (seed, gold.columns, answer.columns, reference)
        n_wrong += found[0][0] == 0
    assert n_wrong > 15


# Calls of Python functions for each cell of both tables; the search cell by cell makes 30 and more. Up to 20,000 cells of one column are
# read to count those that differ.
MOST_CALLS = 12.0
LINE = ("one cell", "one column scrambled", "moved and jittered", "rows twice", "NULL spellings", "unrelated")


def as_table(frame: Any) -> Table:
    """A frame as a table of text."""
    columns = tuple(["" if text == "nan" else text for text in frame[name].astype(str)] for name in frame.columns)
    return Table(header=tuple(frame.columns), columns=columns, n_rows=len(frame), name="t.csv")


@pytest.mark.parametrize("kind", [kind if kind in LINE else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS])
def test_no_difference_costs_python_calls_for_each_cell(kind: str) -> None:
    """Both verdicts with reason on 1,200 rows of 3 columns, in order and in any order."""
    gold, answer = map(as_table, KINDS[kind](table_of(1_200, 3)))
    for ignore_order in (False, True):
        table_match(answer, gold=gold, ignore_order=ignore_order)
        n_calls = calls_of(partial(table_match, answer, gold=gold, ignore_order=ignore_order))
        assert n_calls <= MOST_CALLS * 2 * gold.n_rows * len(gold.columns), ignore_order


@pytest.mark.parametrize("kind", LINE)
def test_each_column_of_numbers_is_parsed_once_and_again_only_if_released(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both rules ask the same column for its numbers; with no space for arrays the verdicts, reasons and details are the same."""
    gold, answer = map(as_table, KINDS[kind](table_of(250, 10)))
    parsed: list[tuple[int, int]] = []

    def count(block: Any, column: int, **options: Any) -> Any:
        parsed.append((id(block), column))
        return numbers_of(block, column, **options)

    monkeypatch.setattr("evalsuite.compare.number_columns.numbers_of", count)
    for ignore_order in (False, True):
        parsed.clear()
        score = table_match(answer, gold=gold, ignore_order=ignore_order)
        assert len(parsed) == len(set(parsed))
        with monkeypatch.context() as patch:
            patch.setattr("evalsuite.compare.columns._MOST_BYTES", 0)
            assert table_match(answer, gold=gold, ignore_order=ignore_order) == score


def calls_of(judge: Callable[[], object]) -> int:
    """How many Python functions are called."""
    n_calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal n_calls
        n_calls += 1

    # A profiler would also hear of each return, and of calls of C.
    sys.settrace(count)
    try:
        judge()
    finally:
        sys.settrace(None)
    return n_calls


WIDE = {
    "unrelated": lambda columns: [[f"{float(cell) + 0.5:.2f}" for cell in column] for column in columns],
    "one cell": lambda columns: [["x", *columns[0][1:]], *columns[1:]],
    "two cells swapped": lambda columns: [[*columns[0][1::-1], *columns[0][2:]], *columns[1:]],
    "texts": lambda columns: [[f" city {cell} " for cell in column] for column in columns],
    "columns moved and jittered": lambda columns: [[f"{float(cell) * (1 + 1e-10):.14g}" for cell in column] for column in columns[::-1]],
}


@pytest.mark.parametrize(("kind", "ignore_order"), [(kind, at % 2 == 0) for at, kind in enumerate(WIDE)])
def test_columns_of_wide_tables_are_not_compared_pair_by_pair(kind: str, ignore_order: bool) -> None:
    """Four times as many columns take at most six times as many calls: pair by pair they would take sixteen times as many."""
    n_calls = []
    for n_columns in (33, 132):
        columns = [[f"{(31 * row + 7 * at) % 9973}.{(row + at) % 100:02d}" for row in range(20)] for at in range(n_columns)]
        if kind == "two cells swapped":
            # The first and the last numbers of all columns are equal.
            columns = [["0.00", *column[1:-1], "9999.99"] for column in columns]
        gold = Table(header=tuple(f"c{at}" for at in range(n_columns)), columns=tuple(columns), n_rows=20)
        answer = replace(gold, columns=tuple(WIDE[kind](columns)), name="t.csv")
        n_calls.append(calls_of(partial(table_match, answer, gold=gold, ignore_order=ignore_order)))
    assert n_calls[1] <= 6 * n_calls[0]
