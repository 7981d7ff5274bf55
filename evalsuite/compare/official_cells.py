"""Cells and columns under the official rules: typed as pandas types them, compared as Spider2 compares them.

Typing follows `pandas.read_csv(low_memory=False)` of pandas 3.1.1, without pandas. The order of the attempts is int64, float64, bool, text,
and the first one that takes every cell wins. If pandas and a reader of the file would disagree, pandas is followed: a number beyond int64
makes it try unsigned and then Python integers, and if that fails the column stays text with its NA words unchanged. Floats are
`float(text)`: pandas 3.1.1 rounds correctly (300,000 random numbers of up to 25 digits agree), unlike older versions' 17-digit parser.

Equality is that of Spider2's `eval_utils.vectors_match` on pandas 3.1.1 lists. Empty equals empty; two numbers (a boolean is one) are equal
within 0.01 or a relative 1e-9; everything else by `==`. Some pairs make the reference raise: `Uncomparable`. The original turns that into a
score of 0 for the whole check; the dbt suite, since July 2025, into two columns that are not equal.
"""

import math
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, Literal

from evalsuite.core.dataclasses import dataclass
from evalsuite.core.import_ref import lazy_pattern
from evalsuite.core.scores import Table

NAN: Final = float("nan")
_NA_TEXT = "|#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NA|NULL|NaN|None|n/a|nan|null"
NA_WORDS: Final = frozenset(_NA_TEXT.split("|"))
INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1
UINT64_MAX: Final = 2**64 - 1
FLOAT_BITS: Final = 1024

Kind = Literal["int", "uint", "float", "bool", "object", "text", "raw"]
_FLOATS_END: Final = 2**FLOAT_BITS - 2 ** (FLOAT_BITS - 54)
NUMERIC: Final[frozenset[str]] = frozenset({"int", "uint", "float"})

_SPACES = " \t\n\v\f\r"
_INTEGER = lazy_pattern(r"[ \t\n\v\f\r]*[+-]?[0-9]+[ \t\n\v\f\r]*")
_NOT_IN_INTEGERS = lazy_pattern(r"[^0-9+\- \t\n\v\f\r]")
_NOT_IN_FLOATS = lazy_pattern(r"[^0-9+\-.eE \t\n\v\f\r]")
_INFINITY = {"inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"}
_BOOLEANS = {"true": True, "false": False}
SHORTEST_OVERFLOW: Final = 19


@dataclass(frozen=True, slots=True)
class Typed:
    """A column of n_rows Python values and the type that pandas gives it; an empty cell is `NAN`.

    `raw` is text with its NA words unchanged, `object` contains Python integers beyond 64 bits, or booleans with empty cells.
    """

    kind: Kind
    values: list[Any]

    @property
    def overflows(self) -> bool:
        """Whether a value is an integer too large for a float: comparing it as a number raises."""
        return self.kind == "object" and any(type(v) is int and v.bit_length() >= FLOAT_BITS for v in self.values)


def raw_column(table: Table, index: int) -> list[str]:
    """Column `index` of a text table as written in the file, "" if a short row has no field."""
    cells = list(table.columns[index])
    return ["" if cell is None else cell for cell in cells] if None in cells else cells


def official_frame(table: Table, needed: Sequence[int] | None = None) -> list[Typed]:
    """The needed columns (all if `needed` is None), typed like those of `df.iloc[:, needed].transpose()`: numbers of different types in
    one frame all become floats. Raises IndexError if `needed` names a column that the table does not have.
    """
    chosen = range(len(table.columns)) if needed is None else needed
    columns = [typed_column(raw_column(table, index)) for index in chosen]
    kinds = {column.kind for column in columns}
    if len(kinds) > 1 and kinds <= NUMERIC:
        return [Typed("float", _as_floats(column.values)) for column in columns]
    return columns


def typed_column(cells: list[str]) -> Typed:
    """One column of text, typed alone."""
    present = cells if NA_WORDS.isdisjoint(cells) else [cell for cell in cells if cell not in NA_WORDS]
    if not present:
        return Typed("float" if cells else "text", [NAN] * len(cells))
    has_empty = len(present) < len(cells)
    typed = _typed_numbers(present, has_empty) or _typed_booleans(present)
    if typed is None:
        return Typed("text", [NAN if cell in NA_WORDS else cell for cell in cells] if has_empty else cells)
    if typed.kind == "raw":
        return Typed("raw", cells)
    return _with_empty(typed, cells) if has_empty else typed


def _with_empty(typed: Typed, cells: list[str]) -> Typed:
    """The typed values with the empty cells inserted: integers become floats and booleans become objects if a cell is empty."""
    values = _as_floats(typed.values) if typed.kind in NUMERIC else typed.values
    kind: Kind = "float" if typed.kind in NUMERIC else "object"
    following = iter(values)
    return Typed(kind, [NAN if cell in NA_WORDS else next(following) for cell in cells])


def _typed_numbers(present: list[str], has_empty: bool) -> Typed | None:
    integers = _integers(present)
    if integers is not None and min(integers) >= INT64_MIN and max(integers) <= INT64_MAX:
        return Typed("int", integers)
    if _overflows_int64(present):
        large_integers = _beyond_int64(present, has_empty)
        if large_integers is not None:
            return large_integers
    floats = _floats(present)
    return Typed("float", floats) if floats is not None else None


def _typed_booleans(present: list[str]) -> Typed | None:
    values = []
    for cell in present:
        value = _BOOLEANS.get(cell.lower()) if len(cell) <= 5 else None
        if value is None:
            return None
        values.append(value)
    return Typed("bool", values)


def _integers(present: list[str]) -> list[int] | None:
    """The cells as integers, or None if one is not: Python also takes `1_000` and `١`, which pandas leaves as text."""
    try:
        values = list(map(int, present))
    except ValueError:
        return None
    return None if _NOT_IN_INTEGERS.search("".join(present)) else values


def _floats(present: list[str]) -> list[float] | None:
    """The cells as floats, or None if one is not: Python also takes `1_0`, ` inf` and `NAN`, which pandas leaves as text."""
    try:
        values = list(map(float, present))
    except ValueError:
        return None
    if _NOT_IN_FLOATS.search("".join(present)) is None:
        return values
    plain = all(_NOT_IN_FLOATS.search(cell) is None or cell.lower() in _INFINITY for cell in present)
    return values if plain else None


def _overflows_int64(present: list[str]) -> bool:
    """Whether the first cell that is not an int64 is an integer too large: only then does pandas try wider integers."""
    if max(map(len, present)) < SHORTEST_OVERFLOW:
        return False
    for cell in present:
        if _INTEGER.fullmatch(cell) is None:
            return False
        if len(cell) >= SHORTEST_OVERFLOW and not _fits(cell, INT64_MIN, INT64_MAX):
            return True
    return False


def _beyond_int64(present: list[str], has_empty: bool) -> Typed | None:
    """Unsigned integers, else Python integers, else text as written; None if a cell is not an integer."""
    signed = unsigned = False
    for cell in present:
        if cell.lstrip(_SPACES).startswith("-"):
            signed = True  # pandas looks no further into a cell with a minus sign here
        elif _INTEGER.fullmatch(cell) is None:
            return None
        elif not _fits(cell, 0, UINT64_MAX):
            return _python_integers(present)
        elif not _fits(cell, 0, INT64_MAX):
            unsigned = True
    if unsigned and (signed or has_empty):
        return Typed("raw", present)
    return _python_integers(present) if signed else Typed("uint", [int(cell) for cell in present])


def _python_integers(present: list[str]) -> Typed:
    try:
        return Typed("object", [int(cell.encode("utf-8", "surrogatepass")) for cell in present])
    except ValueError:
        return Typed("raw", present)


def _fits(integer: str, low: int, high: int) -> bool:
    try:
        return low <= int(integer) <= high
    except ValueError:  # more digits than Python reads (4,300)
        return False


def _as_floats(values: list[Any]) -> list[float]:
    return [value if type(value) is float else float(value) for value in values]


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


class Far(tuple[str, str]):
    """A moment beyond Python's range: what kind of value it is in a frame, and its text."""

    __slots__ = ()

    def __str__(self) -> str:
        return self[1]


class Bits(bytes):
    """A cell of type BIT, which pandas compares with NA as it does numbers and texts, while a BLOB there is a bytearray."""


@dataclass(slots=True)
class Vector:
    """A column of n_rows values as the reference compares them; `other` means that comparing its cells can raise."""

    values: list[Any]
    nature: Nature

    @property
    def safe(self) -> bool:
        """Whether no comparison of its cells can raise."""
        return self.nature != "other"

    def sort(self) -> "Vector":
        """The column sorted on its own, as the reference does if rows may be in any order."""
        simple = self.nature == "number" or (self.nature == "text" and "nan" not in self.values and 0 not in self.values)
        return Vector(sorted(self.values, key=str if simple else _sort_key), self.nature)

    def with_zeros(self) -> "Vector":
        """The column with the integer 0 for each empty cell, in text columns too (the references of Spider 2.0 Lite and Snow)."""
        return Vector([0 if is_empty(value) else value for value in self.values], self.nature)


def _sort_key(value: Any) -> tuple[bool, str, bool]:
    if isinstance(value, Far) and value[0] == "timestamptz":
        raise Uncomparable("a moment with a zone beyond the year 9999 has no text")
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
        if gold is NA or predicted is NA:
            raise Uncomparable("an empty cell of a typed column is compared with a list")
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
        from uuid import UUID

        other = predicted if gold is NA else gold
        if type(other) in (dict, UUID, bytes):
            return False
        raise Uncomparable("an empty cell of a typed column is compared with a value")
    return bool(gold == predicted)


def columns_equal(gold: Vector, predicted: Vector) -> bool:
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


def differing_rows(gold: Vector, predicted: Vector, n_rows: int) -> list[int]:
    """The first `n_rows` rows (from 0) in which two columns differ; a pair that cannot be compared counts as different."""
    if all(column.nature in ("text", "number") for column in (gold, predicted)) and any(map(_has_only_texts, (gold, predicted))):
        # No text equals a number, and two texts are compared as Python does; an empty cell equals an empty one.
        pairs = zip(gold.values[:n_rows], predicted.values[:n_rows], strict=True)
        return [row for row, (a, b) in enumerate(pairs) if a is not b and a != b and not (is_empty(a) and is_empty(b))]
    return [row for row in range(n_rows) if not surely_equal(gold.values[row], predicted.values[row])]


def count_unmatched(gold: Sequence[Any], predicted: Sequence[Any]) -> tuple[int, list[int]]:
    """(The number of gold's cells without an equal cell of their own, in any row; the rows that contain these cells.)

    As many cells as possible are paired. Identical cells can always be paired first, so the rows contain every remaining cell.
    """
    names = [list(map(_name, side)) for side in (gold, predicted)]
    numbers = [sorted(name for name in side if isinstance(name, float)) for side in names]
    n, spare = n_numbers_left(*numbers), Counter(names[1])
    rows, numeric = list[int](), list[int]()
    for row, name in enumerate(names[0]):
        if spare[name] > 0:
            spare[name] -= 1
        else:
            (numeric if isinstance(name, float) else rows).append(row)
    return n + len(rows), sorted(rows + numeric) if n else rows


def n_numbers_left(gold: Sequence[float], predicted: Sequence[float]) -> int:
    """How many of gold's numbers remain, both sides in ascending order: each takes the smallest one that equals it."""
    left, at, n, close = 0, 0, len(predicted), math.isclose
    for value in gold:
        while at < n and predicted[at] < value and not close(value, predicted[at], abs_tol=ABS_TOL):
            at += 1
        if at < n and close(value, predicted[at], abs_tol=ABS_TOL):
            at += 1
        else:
            left += 1
    return left


def _name(value: Any) -> Any:
    """A hashable value that is equal for equal cells: a float for each number."""
    if isinstance(value, int | float) and value == value and abs(value) < _FLOATS_END:
        return float(value)
    if is_empty(value):
        return None
    return value if isinstance(value, str | datetime) else repr(value)


def _has_only_texts(column: Vector) -> bool:
    """Whether all cells are texts or empty, none of them written as the integer 0."""
    return column.nature == "text" and all(type(value) is str or value is NAN for value in column.values)


def surely_equal(gold: Any, predicted: Any) -> bool:
    """Whether two cells are equal; a pair that cannot be compared is not."""
    try:
        return cells_equal(gold, predicted)
    except Uncomparable:
        return False
