"""The strict table rule: held to a plain exhaustive model, and to the properties a judge would ask for."""

from collections.abc import Sequence
from decimal import Decimal
from itertools import islice
from random import Random

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from evalsuite.compare.numbers import Tolerance
from evalsuite.compare.strict_columns import Terms, equal
from evalsuite.compare.strict_tables import judge_table
from evalsuite.compare.values import read_cell
from evalsuite.core.types import Table
from evalsuite.scorers import SCORERS
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


@examples(150)
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_rows_says_nothing_where_it_is_ignored(case: tuple[list[list[str]], list[list[str]]], random) -> None:  # type: ignore[no-untyped-def]
    """Moving whole rows of either side changes no verdict."""
    gold, predicted = case
    rows = random.sample(range(len(gold[0])), len(gold[0]))
    moved = [[column[row] for row in rows] for column in predicted]
    assert strict(gold, moved, False) == strict(gold, predicted, False)
    moved_gold = [[column[row] for row in rows] for column in gold]
    assert strict(moved_gold, predicted, False) == strict(gold, predicted, False)


@examples(150)
@given(cases(), st.booleans(), st.data())
def test_a_further_column_never_spoils_an_answer(case: tuple[list[list[str]], list[list[str]]], ordered: bool, data: st.DataObject) -> None:
    """Where the needed columns are there, adding one keeps the 1."""
    gold, predicted = case
    assume(strict(gold, predicted, ordered) == 1)
    further = [data.draw(st.sampled_from(gold[0] + NEAR[:3])) for _ in gold[0]]
    at = data.draw(st.integers(0, len(predicted)))
    assert strict(gold, [*predicted[:at], further, *predicted[at:]], ordered) == 1


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
