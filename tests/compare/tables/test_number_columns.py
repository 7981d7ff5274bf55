"""Columns of numbers as arrays: what each cell says, and what arrays may decide without exact arithmetic."""

import math
from decimal import Decimal
from functools import cache
from itertools import product

import numpy as np
import pytest

from evalsuite.compare.number_columns import (
    MOST_DECIMALS,
    WHOLE,
    Numbers,
    fewest_decimals,
    join_blocks,
    number_groups,
    numbers_of,
    surely_strictly_equal,
    widest,
)
from evalsuite.compare.numbers import Number, Tolerance, numbers_equal
from evalsuite.compare.packed_text import pack_lists
from evalsuite.compare.values import read_cell


def column_of(cells: list[str], kind: str = "", at: int = 0) -> Numbers | None:
    """The numbers of a column, the first or the second of two."""
    columns = [cells] if not at else [["a long word before it"] * len(cells), cells]
    return numbers_of(next(iter(pack_lists(columns).blocks())), at, kind=kind)


def shown(text: str) -> int:
    """The decimals of a number: an exponent shifts its point."""
    mantissa, _, exponent = text.strip().lower().partition("e")
    decimals = len(mantissa.partition(".")[2]) - int(exponent or 0)
    if not exponent:
        return decimals if "." in mantissa else WHOLE
    return min(max(decimals, 0), MOST_DECIMALS) if float(text) else 0


NUMBERS = "0|5|-5|12345678|-1234567|123456789012345|0.5|-0.25|1.00|1234567.5|12345678.5|123456.78|1234567.89|0.12345678|1e3|1E3|1e+3"
NUMBERS += "|1e-3|1.5e3|1.50e1|1.5e-3|1.25E-10|-2.5e-08|12345.678e2|0e0|0.0|0.0e5|1e-400|-1e-400|1e-99|1.5e-99|1e-100|1e-101|1e15|1e016"
NUMBERS += "|1.5e00|12345678.12345678|0.1234567812345678|123456781234567.1|1234567812345678.25e-8| 5|5 | 0.25 |-0.0|1e0009|-0| -0 |0e-5"
NUMBERS += "|0.1234567890123456789012"


NAN, LONG = math.nan, "0." + "1" * 30
COLUMNS = [
    ("1||2.50", "", "1.0 nan 2.5"), ("NA|1", "", "nan 1.0"), ("null|1|NaN|N/A", "", "nan 1.0 nan nan"), ("Apple|1", "", None),
    (" null|1", "", None), ("1|x", "", None), ("a", "", None), ("7.|1", "", "7.0 1.0"), ("+5|1", "", "5.0 1.0"), ("007|1", "", "7.0 1.0"),
    ("true|false", "", None), ("True|1", "", None), (LONG, "", repr(float(LONG))), (LONG + "1", "", None), ("1|1,5", "", None),
    ("1|2", "int", "1.0 2.0"), ("1.50", "decimal", "1.5"), ("1", "text", None), ("-0", "", "-0.0"),
    ("1|2", "bool", None), ("nan|1", "float", "nan 1.0"), ("inf|1", "float", "inf 1.0"), ("1|]", "", None), ("1|1]", "", None),
    ("|", "", "nan nan"), ("null|7.", "", "nan 7.0"), ("Z|1", "", None), ("|".join(map(str, range(16))) + "|word", "", None),
    ("1e400", "", "inf"),
]  # fmt: skip


def test_which_columns_are_numbers() -> None:
    """Numbers, empty cells and words for NULL; of a database the kinds of numbers alone."""
    found = [column_of(cells.split("|"), kind) for cells, kind, _ in COLUMNS]
    assert [numbers and " ".join(map(repr, numbers.values.tolist())) for numbers in found] == [values for _, _, values in COLUMNS]
    assert [numbers is not None and numbers.digits is None for numbers in found if numbers] == [
        any(mark in cells for mark in ("7.", "+5", "007", "inf", "1e400", "nan|")) for cells, _, values in COLUMNS if values
    ]


@pytest.mark.parametrize(
    ("values", "digits", "is_exact"),
    [
        ([1.5, NAN], [1, 0], True), ([1.5], [0], False), ([1.5], None, False), ([1e15 - 1], [WHOLE], True), ([1e15], [WHOLE], False),
        ([-1e15], [WHOLE], False), ([99999999999.9999], [4], True), ([1e11], [4], False), ([1e13], [1], True), ([1e14], [1], False),
        ([1e14], [2], False), ([1.5, 2e15], [1, WHOLE], False), ([9e14], [WHOLE], True), ([0.5], [1], True),
    ],
)  # fmt: skip
def test_numbers_of_at_most_15_digits_are_exact(values: list[float], digits: list[int] | None, is_exact: bool) -> None:
    """Of all of a column, with the decimals that they show; an exponent does not say."""
    assert Numbers(np.array(values), None if digits is None else np.array(digits, np.int8)).are_exact is is_exact


def test_large_numbers_are_not_safe() -> None:
    """From 9e18 on, of either sign; infinity is no integer."""
    found = [Numbers(np.array([0, value]), None).are_safe for value in (8.9e18, -8.9e18, 9e18, -9e18, 1.7e19, math.inf, NAN)]
    assert found == [True, True, False, False, False, True, True]


def test_blocks_are_joined() -> None:
    """In their order; one that is no number makes none of all, and decimals are known where all are."""
    first, second = Numbers(np.array([1.5]), np.array([1], np.int8)), Numbers(np.array([2.0, 3.0]), None)
    for parts, digits in (((first, first), [1, 1]), ((second,), None), ((first, second), None), ((second, first), None)):
        n = sum(len(part.values) for part in parts)
        found = join_blocks(iter(parts), n)
        assert found is not None
        assert found.values.tolist() == [value for part in parts for value in part.values.tolist()]
        assert (None if found.digits is None else found.digits.tolist()) == digits
    assert join_blocks(iter([first, None]), 2) is None
    assert join_blocks(iter([]), 0) is None


BASES = ["0", "1", "12.5", "64.20", "99.995", "1234.5678", "0.1", "0.05", "-12.5", "1234567890123.25", "9007199254740992", "0.11"]
BASES += [
    "9007199254740991",
    "-9007199254740993",
    "100000000000001",
    "9007199254740992.5",
    "1e3",
    "1.5e-3",
    "1e-400",
    "5000000",
    "0.12345678901234567",
    "1e-9",
    "123456789.125",
]
MOVES = ["0", "4e-13", "4e-10", "1e-9", "1.1e-9", "0.004", "0.005", "0.0051", "0.5"]
TERMS = [Tolerance(), Tolerance(abs=0.005, own=True), Tolerance(rel=0.5, own=True), Tolerance(rel=1.0, own=True)]
COUNTS = [
    (4778, 2570, 1358, 1528, 501, 2938, 2876),
    (4778, 2868, 2139, 2146, 708, 2964, 2964),
    (4778, 4234, 3820, 3756, 1254, 4758, 4758),
    (4778, 4577, 3990, 3892, 1300, 4778, 4778),
]


@cache
def near_pairs() -> list[tuple[str, str]]:
    """Numbers and others near them, written with few and with many decimals."""
    pairs = []
    for base, move, sign in product(BASES, MOVES, (1, -1)):
        moved = [Decimal(base) + sign * Decimal(move), Decimal(base) * (1 + sign * Decimal(move))]
        texts = {f"{number:f}" for number in moved} | {f"{number:.{n}f}" for number in moved for n in (1, 2, 4)}
        pairs += [(base, text) for text in sorted(texts) if len(text) < 25]
    pairs = [*pairs, *(pair[::-1] for pair in pairs)]
    return [pair for pair in pairs if all(isinstance(read_cell(text), int | Number) for text in pair)]


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("tolerance", "counts"), list(zip(TERMS, COUNTS, strict=True)))
def test_what_arrays_say_of_near_numbers(tolerance: Tolerance, counts: tuple[int, ...], step: int) -> None:
    """Of pairs at every edge: what is sure is equal, what is equal is within reach and in one group; and most of it is known by arrays.

    The test line looks at the groups of every third pair.
    """
    pairs = near_pairs()
    are_equal = np.array([numbers_equal(*map(read_cell, pair), tolerance) for pair in pairs])
    columns = [column_of([pair[side] for pair in pairs]) for side in (0, 1)]
    a, b = (column for column in columns if column is not None and column.digits is not None)
    sure = surely_strictly_equal(a, b, tolerance)
    assert [pairs[at] for at in np.flatnonzero(sure & ~are_equal)] == []
    size = np.maximum(np.abs(a.values), np.abs(b.values))
    decimals = np.minimum(a.digits, b.digits)
    within = [np.abs(a.values - b.values) <= widest(tolerance, size, *more) for more in ((), (decimals,))]
    assert [pairs[at] for at in np.flatnonzero(are_equal & ~(within[0] & within[1]))] == []
    n_tight = 0
    for at, is_equal in list(enumerate(are_equal))[::step]:
        two = a.take(np.array([at])), b.take(np.array([at]))
        values, digits = (np.concatenate([getattr(side, name) for side in two]) for name in ("values", "digits"))
        order = [0, 1] if at % 2 else [1, 0]
        groups, is_loose = number_groups(values[order], digits[order], np.array([True, False])[order], tolerance)
        is_one = groups[0] == groups[1]
        assert is_one or not is_equal, pairs[at]
        assert is_equal or not is_one or is_loose[0], pairs[at]
        n_tight += bool(is_one and not is_loose[0])
    seen = len(pairs), int(are_equal.sum()), int(sure.sum()), *(int(part.sum()) for part in within)
    assert (seen, n_tight) == (counts[:3] + counts[5:], counts[3 if step == 1 else 4])


def test_the_fewest_decimals() -> None:
    """Of all numbers of a column; empty cells show none, and unknown decimals are none."""
    columns = [["1.5", "2.25", ""], ["1.25"], ["7"], ["", ""], ["7.", "1.5"], ["1e3", "1.5"]]
    assert [fewest_decimals(numbers) for column in columns if (numbers := column_of(column))] == [1, 2, WHOLE, MOST_DECIMALS, 0, 0]


def test_numbers_without_known_decimals_are_never_sure() -> None:
    """On either side."""
    known, unknown = Numbers(np.array([1.5]), np.array([1], np.int8)), Numbers(np.array([1.5]), None)
    pairs = [(known, known), (known, unknown), (unknown, known), (unknown, unknown)]
    assert [surely_strictly_equal(*pair, Tolerance()).tolist() for pair in pairs] == [[True], [False], [False], [False]]
