"""The strict table rule: its own examples, a plain exhaustive model, properties that hold, and tables that are hard to match."""

import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from itertools import islice
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalsuite.compare import row_multisets
from evalsuite.compare.bipartite_matching import bipartite_matching
from evalsuite.compare.numbers import Tolerance
from evalsuite.compare.row_multisets import CELL_CAP
from evalsuite.compare.strict_columns import Terms, equal
from evalsuite.compare.strict_tables import judge_table
from evalsuite.compare.values import read_cell
from evalsuite.compare.verdict import Strict
from evalsuite.core.types import Score, Table
from evalsuite.scorers import SCORERS
from tests.conftest import ROOT
from tests.models import strict_table
from tests.properties import examples

NEAR = ["1.0", "1.004", "1.008", "0.996", "1", "1.00", "1.0000000001", "1.0050", "2.0", "1e0", "0.00", "0", "1e-10", "-1.0", "0.001"]
FINE = ["1.0041", "1.0042", "1.00415", "1.004", "1.01", "1.0", "1.009", "1.00", "1.002", "1.006"]
ROUNDED = ["0.125", "0.12", "0.13", "0.1249", "0.1251", "0.135", "0.14", "0.1", "12.346", "12.35", "12.3456", "12.34", "0.005", "0.01"]
WORDS = ["", "NULL", "nan", "a", "b", " a ", "true", "True", "1", "007", "7", "2020-01-01", "2020-01-01 00:00:00", "inf", "Infinity"]
BITS = ["0", "1"]
BIG = ["20000000000", "20000000001", "20000000000.0", "20000000001.0", "2e10", "20000000000.004", "20000000000.03"]
HUGE = ["9007199254740993", "9007199254740992", "9007199254740992.0", "9.007199254740992e15", "9007199254740994.0", "9007199254740995"]
SORTED_AS_TEXT = ["9.999", "10.001", "10.0", "9.998", "100.004", "99.999", "99.997", "100.001"]
WRITTEN = ["1,234", "1234", "$1,234.00", "1234.5", "-$1,234", "-1234", "€1234.50", "1,23", "12,34", "$", "$007"]
GROUPED = ["12,345", "12345", "-2345", "12'345", "12 345", "(12,345)", "-12345", "–12,345", "012345", "06037", "-6037", "07", "(7)", "-7"]
NAMES = ["city", "City", "visits", "VISITS ", "first_day", "first day", "f0_", "x", "n", "c_1", "", "rate"]


def table(columns: Sequence[Sequence[str | None]], n_rows: int, names: Sequence[str] = ()) -> Table:
    """A table as a reader hands it over; headers say nothing, unless they are named."""
    header = tuple(names) or tuple(f"c{i}" for i in range(len(columns)))
    return Table(header=header, columns=tuple(map(list, columns)), n_rows=n_rows)


def strict(gold: Sequence[Sequence[str | None]], predicted: Sequence[Sequence[str | None]], ordered: bool, **tolerance: float) -> int:
    """The strict value of the fast code."""
    n_gold, n_predicted = (len(side[0]) if side else 0 for side in (gold, predicted))
    verdict = judge_table(table(predicted, n_predicted), table(gold, n_gold), Terms(**tolerance), ignore_order=not ordered)
    assert verdict.value in (0, 1), verdict.reason
    assert verdict.reason
    return int(verdict.value)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[list[str]], list[list[str]]]:
    """A gold table and one that was made from it: columns and rows moved, columns added, some cells drawn anew from near ones."""
    n_rows, n_gold = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    pools = draw(
        st.lists(
            st.sampled_from([NEAR, FINE, ROUNDED, WORDS, BITS, BIG, HUGE, WRITTEN, GROUPED, SORTED_AS_TEXT, NEAR[:4], BITS + NEAR[:3]]),
            min_size=n_gold,
            max_size=n_gold,
        )
    )
    gold = [[draw(st.sampled_from(pool)) for _ in range(n_rows)] for pool in pools]
    rows = draw(st.permutations(range(n_rows)))
    predicted = [[column[row] for row in rows] for column in gold]
    for column, pool in zip(predicted, pools, strict=True):
        for row in draw(st.lists(st.integers(0, n_rows - 1), max_size=2)):
            column[row] = draw(st.sampled_from(pool))
    if draw(st.booleans()):
        column = draw(st.sampled_from(predicted))
        moved = draw(st.permutations(range(n_rows)))
        column[:] = [column[row] for row in moved]
    if len(predicted) < 4 and draw(st.booleans()):
        predicted.append([draw(st.sampled_from(pools[0])) for _ in range(n_rows)])
    return gold, [predicted[k] for k in draw(st.permutations(range(len(predicted))))]


@examples(600)
@given(cases(), st.booleans())
@example(([["1.0", "1.008"]], [["1.004", "1.004"]]), False)
@example(([["0", "1"], ["0", "1"]], [["0", "1"], ["1", "0"]]), False)
@example(([["1.0", "1.004"], ["a", "b"]], [["1.004", "1.004"], ["b", "a"]]), False)
def test_strict_equals_the_model(case: tuple[list[list[str]], list[list[str]]], ordered: bool) -> None:
    """On small tables full of ties, near floats, nulls and duplicates the verdict is that of the exhaustive model."""
    gold, predicted = case
    assert strict(gold, predicted, ordered) == strict_table.score_tables(gold, predicted, ordered)


@examples(200)
@given(cases(), st.booleans(), st.sampled_from([{"abs_tol": 0.1}, {"rel_tol": 0.0005}, {"abs_tol": 1.0, "rel_tol": 0.1}, {"abs_tol": 0.0}]))
def test_own_tolerances_equal_the_model(case: tuple[list[list[str]], list[list[str]]], ordered: bool, tolerance: dict[str, float]) -> None:
    """A check's own tolerances hold for integers too, and rounding no longer counts."""
    gold, predicted = case
    assert strict(gold, predicted, ordered, **tolerance) == strict_table.score_tables(gold, predicted, ordered, **tolerance)


@st.composite
def labelled_cases(draw: st.DrawFn) -> tuple[list[list[str]], list[list[str]], list[str], list[str]]:
    """A case with the headers of both tables, often the same names."""
    gold, predicted = draw(cases())
    names = draw(st.lists(st.sampled_from(NAMES), min_size=len(gold), max_size=len(gold)))
    return gold, predicted, names, draw(st.permutations([*names, *NAMES[:4]]))[: len(predicted)]


ONES, NEAR_ONE = ["1.0", "1.0"], ["1.0", "1.008"]


@examples(300)
@given(labelled_cases(), st.booleans())
@example(([ONES, ONES, NEAR_ONE], [ONES, NEAR_ONE, ONES], ["city", "visits", "x"], ["city", "visits", "x"]), False)
@example(([ONES, ONES, NEAR_ONE], [ONES, NEAR_ONE, ONES], ["city", "visits", "f0_"], ["city", "visits", "f0_"]), False)
def test_labels_equal_the_model(case: tuple[list[list[str]], list[list[str]], list[str], list[str]], ordered: bool) -> None:
    """Columns whose headers say that they are others never stand for each other; with `labels: ignore` they may."""
    gold, predicted, names, others = case
    sides = table(predicted, len(gold[0]), others), table(gold, len(gold[0]), names)
    verdict = judge_table(*sides, ignore_order=not ordered)
    free = strict_table.score_tables(gold, predicted, ordered)
    assert verdict.value == strict_table.score_tables(gold, predicted, ordered, names=(names, others))
    assert (verdict.kind == "labels") == (free == 1 and verdict.value == 0)
    assert judge_table(*sides, Terms(heeds_labels=False), ignore_order=not ordered).value == free


@examples(300)
@given(cases(), st.data())
def test_tied_rows_equal_the_model(case: tuple[list[list[str]], list[list[str]]], data: st.DataObject) -> None:
    """Rows that are equal in the columns of `order_by` may change places, and no other ones."""
    gold, predicted = case
    order_by = data.draw(st.lists(st.integers(0, len(gold) - 1), min_size=1, max_size=2, unique=True))
    sides = table(predicted, len(gold[0])), table(gold, len(gold[0]))
    verdict = judge_table(*sides, order_by=order_by)
    assert verdict.value == strict_table.score_tables(gold, predicted, True, order_by=order_by)
    assert verdict.value == 1 or judge_table(*sides).value == 0
    score = SCORERS.load("table_match").function(sides[0], gold=sides[1], order_by=order_by)
    moved = sorted(zip(*gold, strict=True)) == sorted(zip(*predicted, strict=True))
    if moved and (verdict.value, score.official, judge_table(*sides).value) == (1, 0, 0):
        assert score.flip.startswith("tie order")
    assert judge_table(*sides, order_by=order_by, ignore_order=True).value == judge_table(*sides, ignore_order=True).value


def test_rows_decide_the_reading_of_percent_signs() -> None:
    """Of two readings in which the cells of a column agree in some order, the one counts in which the rows agree."""
    rows = ["a", "b"]
    for gold, predicted, right in (
        (["12.5", "1250%"], ["12.5", "1250%"], 1), (["12.5", "1250%"], ["1250%", "12.5"], 1), (["0.125", "12.5%"], ["12.5%", "0.125"], 1),
        (["12.4%", "12.36%"], ["12.36%", "12.4%"], 1), (["1250%", "13"], ["13", "1250%"], 0),
    ):  # fmt: skip
        sides = [table([column, rows, column], 2) for column in (gold, predicted)]
        assert judge_table(sides[1], sides[0], Terms(percentage=True), ignore_order=True).value == right
    cells = [["1250%", "0.125", "12.5"], ["a", "b", "c"]], [["0.125", "12.5", "1250%"], ["b", "a", "c"]]
    mixed = [table(columns, 3) for columns in cells]
    assert judge_table(mixed[1], mixed[0], Terms(percentage=True), ignore_order=True).value == 1


def at_the_limit(drawn: Random, tolerance: Tolerance) -> tuple[str, str]:
    """A number of a few cents or many millions and one that is as far away as it may be, or nearer, in another form."""
    gold = Decimal(drawn.randrange(10 ** drawn.choice([2, 6, 11, 11, 11, 15]))).scaleb(-2)
    limit = max(Decimal(repr(tolerance.abs)), gold * Decimal(repr(tolerance.rel))) if tolerance.own else Decimal("0.005")
    other = gold + limit * drawn.choice([0, 1, 1, 1, -1, -1, -1])
    return f"{gold:f}", drawn.choice([f"{other:f}", f"{other:f}", f"{other:,f}", repr(float(other))])


@pytest.mark.parametrize("own", [{}, {"abs_tol": 0.004}, {"rel_tol": 1e-9}], ids=str)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 40))])
def test_long_tables_made_of_equal_cells(seed: int, own: dict[str, float]) -> None:
    """2,100 pairs of cells that are equal one by one make equal tables, in any order too; with one more that nothing equals they do not."""
    drawn, tolerance = Random(seed), Tolerance(own.get("rel_tol", 0.0), own.get("abs_tol", 0.0), own=bool(own))
    pairs = (at_the_limit(drawn, tolerance) for _ in iter(int, 1))
    gold, predicted = map(list, zip(*islice((pair for pair in pairs if equal(*map(read_cell, pair), tolerance)), 2_100), strict=True))
    for shuffled in (predicted, drawn.sample(predicted, len(predicted))):
        assert strict([gold], [shuffled], shuffled is predicted, **own) == 1
        assert strict([[*gold, "-7"]], [[*shuffled, "-8"]], shuffled is predicted, **own) == 0


Columns = Sequence[Sequence[str]]


@contextmanager
def shallow(frames: int = 120) -> Iterator[None]:
    """Little room for recursion: a search that recurses once a column or row cannot end in here."""
    depth, frame = 0, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + frames)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def judged(gold: Columns, predicted: Columns, *, ordered: bool = False, names: Sequence[str] = (), times: int = 1) -> Strict:
    """The strict verdict; given more than once it is the same each time."""
    with shallow():
        sides = table(predicted, len(predicted[0]), names), table(gold, len(gold[0]))
        first, *others = (judge_table(*sides, ignore_order=not ordered) for _ in range(times))
    assert others == [first] * (times - 1)
    assert first.value in (0, 1)
    assert first.value == 1 or first.reason
    return first


def mixed(columns: Columns, seed: int) -> list[list[str]]:
    """The same rows and columns, both moved about."""
    rng = random.Random(seed)
    rows = rng.sample(range(len(columns[0])), len(columns[0]))
    return rng.sample([[column[row] for row in rows] for column in columns], len(columns))


def scrambled(columns: Columns, seed: int) -> list[list[str]]:
    """Each column moved about by itself."""
    rng = random.Random(seed)
    return [rng.sample(list(column), len(column)) for column in columns]


def balanced(n_columns: int, n_rows: int, seed: int) -> list[list[str]]:
    """Columns of as many zeros as ones."""
    return scrambled([["0", "1"] * (n_rows // 2)] * n_columns, seed)


def hadamard(order: int) -> list[list[str]]:
    """0/1 columns of which any two agree in exactly half of the rows, so that pairs of columns tell nothing apart."""
    signs = [[1]]
    while len(signs) < order:
        signs = [row + row for row in signs] + [row + [-x for x in row] for row in signs]
    return [[str((x + 1) // 2) for x in row] for row in signs[1:]]


def dense(n_columns: int, n_rows: int, seed: int, spread: float = 1.0) -> list[list[str]]:
    """Floats within `spread` of 1, all different."""
    rng = random.Random(seed)
    return [[f"{1 + rng.random() * spread:.15f}" for _ in range(n_rows)] for _ in range(n_columns)]


def chain(n_rows: int, shift: float = 0.0) -> list[str]:
    """Floats each within noise of the next one, far from the one after."""
    return [f"{1 + (i + shift) * 0.9e-9:.16f}" for i in range(n_rows)]


@pytest.mark.parametrize(("make", "expected"), [
    (lambda: (balanced(12, 64, 1), mixed(balanced(12, 64, 1), 2)), 1),
    (lambda: (balanced(12, 64, 1), balanced(14, 64, 3)), 0),
    (lambda: (hadamard(64)[:30], mixed(hadamard(64), 4)), 1),
    (lambda: ([*hadamard(32)[:12], ["0"] * 16 + ["1"] * 16], scrambled(hadamard(32), 5)), 0),
    (lambda: ([["1", "2"] * 50] * 60, [["1", "2"] * 50] * 120), 1),
    (lambda: ([["1", "2"] * 50] * 60, [["1", "2"] * 50] * 59), 0),
    (lambda: ([["1", "2"] * 50] * 60, [["1", "2"] * 50] * 59 + [["1", "1"] * 50]), 0),
    (lambda: ([chain(2000)], mixed([chain(2000)], 6)), 1),
    (lambda: ([chain(2000)], mixed([chain(2000, 0.5)], 7)), 1),
    (lambda: ([chain(2000)], mixed([chain(2000, 3.0)], 8)), 0),
    (lambda: ([chain(2000), chain(2000)], mixed([chain(2000), chain(2000, 0.5)], 9)), 1),
    (lambda: ([chain(800), chain(800)], [chain(800), chain(800)[3:] + chain(800)[:3]]), 0),
    (lambda: (dense(6, 2000, 10), mixed(dense(6, 2000, 10), 11)), 1),
    (lambda: (dense(6, 2000, 10), scrambled(dense(6, 2000, 10), 12)), 0),
    (lambda: (dense(6, 400, 13, 1e-8), mixed(dense(6, 400, 13, 1e-8), 14)), 1),
])  # fmt: skip
def test_hard_tables_are_decided(make: Callable[[], tuple[Columns, Columns]], expected: int) -> None:
    """Balanced bits, equal columns, chains of near-equal floats and dense floats get the right verdict, not a limit."""
    gold, predicted = make()
    verdict = judged(gold, predicted)
    assert verdict.value == expected
    assert verdict.fault is None


@pytest.mark.parametrize("make", [
    lambda: (near := [[f"{1 + (i + j) % 7 * 3e-10:.11f}" for j in range(30)] for i in range(40)], scrambled(near, 15)),
    lambda: (dense(6, 400, 16, 1e-8), scrambled(dense(6, 400, 16, 1e-8), 17)),
])  # fmt: skip
def test_what_cannot_be_decided_ends_at_a_counted_cap(make: Callable[[], tuple[Columns, Columns]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every column fits every other and no rows agree, the answer is a 0 with LIMIT after the same number of tries each time."""
    monkeypatch.setattr(row_multisets, "CELL_CAP", CELL_CAP // 1000)
    gold, predicted = make()
    verdict = judged(gold, predicted, times=2)
    assert verdict.value == 0
    assert verdict.fault is not None
    assert verdict.fault.code == "LIMIT"
    assert verdict.reason.startswith("LIMIT: no matching column assignment among ")


@pytest.mark.parametrize("ordered", [True, False])
def test_hundreds_of_columns_need_no_recursion(ordered: bool) -> None:
    """150 needed columns are found among 300, all renamed; one changed cell is found missing."""
    gold = dense(150, 6, 18)
    both = [*gold, *dense(150, 6, 19)]
    predicted = mixed(both, 20) if not ordered else random.Random(21).sample(both, 300)
    names = [f"x{i}" for i in range(300)]
    assert judged(gold, predicted, ordered=ordered, names=names).value == 1
    at = next(k for k, column in enumerate(predicted) if sorted(column) == sorted(gold[7]))
    predicted[at] = ["5.5", *predicted[at][1:]]
    verdict = judged(gold, predicted, ordered=ordered, names=names)
    assert verdict.value == 0
    assert verdict.details["gold_column"] == 8


def test_a_large_honest_table_is_not_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of more cells than the cap on steps, in another order and with rounded numbers, is accepted: its own size is free."""
    monkeypatch.setattr(row_multisets, "CELL_CAP", 1000)
    n_rows = 4000
    gold = [[f"{i / 7:.6f}" for i in range(n_rows)], *([str((i * k) % 11) for i in range(n_rows)] for k in range(2, 8))]
    rows = random.Random(22).sample(range(n_rows), n_rows)
    predicted = [[f"{float(gold[0][row]):.2f}" for row in rows], *([column[row] + ".0" for row in rows] for column in gold[1:])]
    assert judged(gold, predicted).value == 1
    assert judged(gold, predicted, names="gfedcba").value == 1


def test_long_chains_of_moves_need_no_recursion() -> None:
    """3,000 columns of which each may move one further are matched without recursion."""
    n = 3000
    with shallow():
        assert bipartite_matching([*([i, i + 1] for i in range(n)), [0]])[:2] == [1, 2]


CELLS = """
12345678.90|12346900.15|0  20230115.0|20231231.0|0  20230115.0|20230115|1  1234.5|1234.56|0  1234.56|1234.5601|1  1234.56|1234.6|0
2604.2362912|2604.24|1  2604.24|2604.2362912|1  2604.2362912|2604.23|0  12.5|12.4961|1  12.496|12.5|1  12.5|12.54|0  19.998|20|1
19.6|20|0  0.1249|0.12|1  0.1249|0.1|0  0.0463|0.05|0  0.0463|0.046|1  0.004|0|0  0|0.004|0  0.0|5.5e-17|1  0.3|0.30000000000000004|1
7|7.0000000000000009|1  7|7.004|0  12345678901|12345678902|0  12345678901|1.2345678901e10|1  12.349|12.34|0  1234567|1,234,567|1
12.5|$12.50|1  12.5|12.5%|0
"""
TABLES = """
city,min,max; Oslo,-9,21|city,min,max; Oslo,21,-9|0
city,min,max; Oslo,-9,21|city,max,min; Oslo,21,-9|1
city,min,max; Oslo,-9,21|a,b,c; Oslo,21,-9|1
city,min,max; Oslo,-9,21|city,lowest,highest; Oslo,-9,21|1
f0_,f1_; 1,2|f1_,f0_; 1,2|1
"""
NUMBERS = """
20230102|20230101|0  1234567|1234568|0  10000000|9999999|0  19.6|20|0  17.49|17|0  17.49|17.5|1  3.14159|3.1|1  3.14159|3|0  0.3333|0.33|1
1234.56|1,235|1  1234.56|1,230|0  2604.2362912|2,604.24|1  17.5|17.51|0  42|41.97|0  42|42.0|1  42|`4²`|0  42|④②|0  42|A-0 ... A-9499|0
3|3rd of 20|1  2|1st, 2nd or 3rd|0  4|GPT-4|0  7|At 10:30: 7|1  42|In 2019: 42|1  42|42 or 43|0
"""
TEXTS = """
10|-10|0  10|10,000|0  10|10:30|0  10|10/12/2020|0  10|10-12|0  10|10 000|0  10|10.0|1  10|$10.|1  10|**10**, 20|1  C|C++|0  C|C.|1
R|R&D|0  Paris|Paris's|1  Paris|anti-Paris|0  Paris|Par`U+200B`is|1  York (not New York)|New-York|0  York (not New York)|York|1
York (not Lima)|York, L`U+0336`ima|0
"""
SPEC = ROOT.parent / "shared" / "specs" / "strict.md"


def lines(block: str) -> list[list[str]]:
    """The fields of each case of a block; cases of a line are two spaces apart."""
    return [case.split("|") for case in re.split(r"\n|  ", block.strip())]


def strict_value(scorer: str, prediction: Any, **parameters: Any) -> float | None:
    """The strict value of a scorer; official is judged too."""
    score = SCORERS.load(scorer).function(prediction, **parameters)
    assert isinstance(score, Score)
    assert score.official in (0, 1)
    return score.strict


def column(*cells: Any) -> Table:
    """A table of one column."""
    return Table(header=("v",), columns=(list(cells),), n_rows=len(cells))


@pytest.mark.parametrize("ignore_order", [False, True])
def test_cells(ignore_order: bool) -> None:
    """A cell alone, and among rows in any order."""
    for gold, predicted, expected in lines(CELLS):
        found = strict_value("table_match", column(predicted), gold=column(gold), ignore_order=ignore_order)
        among = strict_value("table_match", column("77", predicted, "0.5"), gold=column(gold, "0.5", "77"), ignore_order=True)
        assert found == among == int(expected), (gold, predicted)


@pytest.mark.parametrize(("gold", "predicted", "expected"), lines(TABLES))
@pytest.mark.parametrize("ignore_order", [False, True])
def test_tables(gold: str, predicted: str, expected: str, ignore_order: bool) -> None:
    """Labels that the values contradict, and labels that say nothing."""
    parts = [[line.split(",") for line in text.split("; ")] for text in (gold, predicted)]
    sides = [Table(header=tuple(names), columns=tuple([cell] for cell in cells), n_rows=1) for names, cells in parts]
    assert strict_value("table_match", sides[1], gold=sides[0], ignore_order=ignore_order) == int(expected)
    typed = [{"t": Table(header=t.header, columns=t.columns, n_rows=1, types=("VARCHAR",) * len(t.header))} for t in sides]
    assert strict_value("duckdb_match", typed[1], gold=typed[0]) == int(expected)
    assert strict_value("table_match", sides[1], gold=sides[0], labels="ignore") == 1
    assert strict_value("tables_match", sides[1:], gold=sides[:1], ignore_orders=[ignore_order]) == int(expected)
    assert strict_value("tables_match", sides[1:], gold=sides[:1], labels="ignore") == 1
    assert strict_value("duckdb_match", typed[1], gold=typed[0], labels="ignore") == 1


def stated(section: str) -> Iterator[tuple[str, str, str]]:
    """The (gold, prediction, strict) of a section of the specification's `Pairs`."""
    text = SPEC.read_text(encoding="utf-8").partition("## Pairs")[2]
    part = re.split(r"^(Cells|Tables|Numbers|Texts)\b.*$", text, flags=re.MULTILINE)
    rows = part[part.index(section) + 1].strip().splitlines()[2:]
    for row in rows:
        cells = row.strip().strip("|").split("|")
        yield from ((a, b, c) for a, b, c in zip(cells[::3], cells[1::3], cells[2::3], strict=True))


@pytest.mark.parametrize(("section", "block"), [("Cells", CELLS), ("Tables", TABLES), ("Numbers", NUMBERS), ("Texts", TEXTS)])
def test_the_examples_are_the_specifications(section: str, block: str) -> None:
    """Where the specification is at hand, its examples are the ones above, each of them."""
    if not SPEC.is_file():
        pytest.skip("the specification is not here")
    assert [list(row) for row in stated(section)] == lines(block)
