"""Equality of cells and columns under the official rules (Spider2 `eval_utils.vectors_match` on pandas 3.1.1 lists).

Empty equals empty; two numbers (a boolean is one) are equal within 0.01 or a relative 1e-9; everything else by `==`. Some pairs make the
reference raise: `Uncomparable`. The original turns that into a score of 0 for the whole check; the dbt suite, since July 2025, into two
columns that are not equal.
"""

import math
from dataclasses import dataclass
from typing import Any, Final, Literal
from uuid import UUID

from evalsuite.compare.pandas_typing import NAN

ABS_TOL: Final = 0.01

# The suite of Spider 2.0 that is the reference; those of result files (lite and snow) read an empty cell as the number 0.
Reference = Literal["original", "lite", "snow", "dbt"]
RESULT_SUITES: Final[frozenset[Reference]] = frozenset({"lite", "snow"})

Nature = Literal["number", "text", "moment", "other"]


class Uncomparable(Exception):  # noqa: N818 - a verdict on two cells, no error of the program
    """Two cells that the reference cannot compare; the message is the reason."""


class Empty:
    """A stand-in for one of pandas' empty values, identified by the text that it is sorted by."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


NA: Final = Empty("<NA>")
NAT: Final = Empty("NaT")


class Items(tuple[Any, ...]):
    """A list cell, which is an array in the reference: only a list of one item has a truth value there."""

    __slots__ = ()

    def __str__(self) -> str:
        return "[" + " ".join(map(repr, self)) + "]"


@dataclass(slots=True)
class Column:
    """A column of n_rows values as the reference compares them; `other` means that comparing its cells can raise."""

    values: list[Any]
    nature: Nature

    @property
    def safe(self) -> bool:
        """Whether no comparison of its cells can raise."""
        return self.nature != "other"

    def ordered(self) -> "Column":
        """The column sorted on its own, as the reference does if rows may be in any order."""
        simple = self.nature == "number" or (self.nature == "text" and "nan" not in self.values and 0 not in self.values)
        return Column(sorted(self.values, key=str if simple else _sort_key), self.nature)

    def with_zeros(self) -> "Column":
        """The column with the integer 0 for each empty cell, in text columns too (the references of Spider 2.0 Lite and Snow)."""
        return Column([0 if is_empty(value) else value for value in self.values], self.nature)


def _sort_key(value: Any) -> tuple[bool, str, bool]:
    return value is None, str(value), isinstance(value, int | float)


def is_empty(value: Any) -> bool:
    """Whether pandas treats a cell as empty: None, NaN, NaT or NA."""
    return value is None or value is NAN or value is NA or value is NAT or (isinstance(value, float) and value != value)


def cells_equal(gold: Any, predicted: Any) -> bool:
    """Whether two cells are equal; raises `Uncomparable` if the reference raises."""
    if isinstance(gold, Items) or isinstance(predicted, Items):
        # Lists of one item are compared by that item; any other length has no truth value in the reference.
        cells = [cell[0] if isinstance(cell, Items) and len(cell) == 1 else cell for cell in (gold, predicted)]
        if any(isinstance(cell, list | tuple) for cell in cells):
            raise Uncomparable("a list has no single truth value")
        if is_empty(cells[0]) and is_empty(cells[1]):
            return True
        return _plainly_equal(cells[0], cells[1])
    if is_empty(gold) and is_empty(predicted):
        return True
    if isinstance(gold, int | float) and isinstance(predicted, int | float):
        try:
            return math.isclose(float(gold), float(predicted), abs_tol=ABS_TOL)
        except OverflowError:
            raise Uncomparable("an integer is too large for a float") from None
    return _plainly_equal(gold, predicted)


def _plainly_equal(gold: Any, predicted: Any) -> bool:
    if gold is NA or predicted is NA:
        other = predicted if gold is NA else gold
        if isinstance(other, dict | UUID | bytes):
            return False
        raise Uncomparable("an empty cell of a typed column is compared with a value")
    return bool(gold == predicted)


def columns_equal(gold: Column, predicted: Column) -> bool:
    """Whether two columns are equal cell by cell; raises `Uncomparable` at the first pair for which the reference raises."""
    if len(gold.values) != len(predicted.values):
        return False
    if gold.nature == predicted.nature and gold.safe:
        if gold.values == predicted.values:
            return True
        if gold.nature == "text":
            return False
        if gold.nature == "number":
            pairs, close = zip(gold.values, predicted.values, strict=True), math.isclose
            return all(a == b or close(a, b, abs_tol=ABS_TOL) or (a != a and b != b) for a, b in pairs)
    return all(map(cells_equal, gold.values, predicted.values))


def differing_rows(gold: Column, predicted: Column, n_rows: int) -> list[int]:
    """The first `n_rows` rows (from 0) in which two columns differ; a pair that cannot be compared counts as different."""
    return [row for row in range(n_rows) if not _surely_equal(gold.values[row], predicted.values[row])]


def _surely_equal(gold: Any, predicted: Any) -> bool:
    try:
        return cells_equal(gold, predicted)
    except Uncomparable:
        return False
