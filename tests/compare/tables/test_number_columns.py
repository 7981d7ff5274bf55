"""Columns of numbers as arrays: what each cell says, and what arrays may decide without exact arithmetic."""

import math

import numpy as np
import pytest

from evalsuite.compare.number_columns import (
    WHOLE,
    Numbers,
    join_blocks,
    numbers_of,
    surely_strictly_equal,
)
from evalsuite.compare.numbers import Tolerance
from evalsuite.compare.packed_text import pack_lists


def column_of(cells: list[str], kind: str = "", at: int = 0) -> Numbers | None:
    """The numbers of a column, the first or the second of two."""
    columns = [cells] if not at else [["a long word before it"] * len(cells), cells]
    return numbers_of(next(iter(pack_lists(columns).blocks())), at, kind=kind)


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


def test_numbers_without_known_decimals_are_never_sure() -> None:
    """On either side."""
    known, unknown = Numbers(np.array([1.5]), np.array([1], np.int8)), Numbers(np.array([1.5]), None)
    pairs = [(known, known), (known, unknown), (unknown, known), (unknown, unknown)]
    assert [surely_strictly_equal(*pair, Tolerance()).tolist() for pair in pairs] == [[True], [False], [False], [False]]
