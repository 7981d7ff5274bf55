"""Lint of the cells that count: what official types otherwise than a reader would, and what no tolerance can tell apart."""

import math
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Any

from evalsuite.audit.lint.book import Found, GoldTable, Kind
from evalsuite.tables.official_cells import ABS_TOL
from evalsuite.tables.strict_cells import is_written_form, read_native, read_text
from evalsuite.texts.numbers import Number

BIG = 10**10
_NULL_WORDS = frozenset({"NA", "N/A", "n/a", "#N/A", "NULL", "null", "None", "none", "NaN", "nan", "<NA>", "NONE", "Null"})
_ISO_MIDNIGHT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]00:00(:00(\.0+)?)?")
_OTHER_DATE = re.compile(
    r"\d{1,2}[/.]\d{1,2}[/.](\d{4}|\d{2})|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{4}|[A-Za-z]{3,9} \d{1,2},? \d{4}"
)
_LEADING_ZERO = re.compile(r"0\d+")
_FORMATTED = re.compile(r"[-+]?[$€£]?\s?\d{1,3}(,\d{3})+(\.\d+)?\s?%?|[-+]?\d+(\.\d+)?\s?%|[$€£]\s?\d+(\.\d+)?")
_MOSTLY = 0.8


@lru_cache(maxsize=1 << 16)  # several findings read the same cells
def _read(cell: str) -> Any:
    """The cell as strict reads it, but for numbers with groups and currency signs, which are text to official."""
    return ("text", cell) if is_written_form(cell.strip()) else read_text(cell)


def _texts(table: GoldTable, index: int) -> list[str]:
    """The texts of a CSV column that hold something."""
    return [cell for cell in table.table.columns[index] if cell is not None and cell.strip()]


def _numbers(cells: list[str]) -> list[Any]:
    return [value for value in map(_read, cells) if isinstance(value, int | Number)]


def find_null_words(table: GoldTable) -> Iterator[Found]:
    """Cells that are text to a person and empty to a reader: NA for Namibia, None for a name."""
    for index in table.needed if table.is_csv else ():
        cells = _texts(table, index)
        null = next((cell for cell in cells if cell.strip() in _NULL_WORDS), None)
        others = [cell for cell in cells if cell.strip() not in _NULL_WORDS]
        if null is not None and len(_numbers(others)) < len(others):
            message = f"{table.column(index)} is text and holds {null!r}, which is read as empty"
            yield table.finding("literal-null", message, hint="write another word where it is a value, nothing where it is none")


def find_padded_cells(table: GoldTable) -> Iterator[Found]:
    """Text cells with spaces round them: official compares them letter by letter."""
    for index in table.needed if table.is_csv else ():
        cells = _texts(table, index)
        padded = next((cell for cell in cells if cell != cell.strip() and not isinstance(_read(cell), int | Number)), None)
        if padded is not None:
            yield table.finding("padded-cells", f"{table.column(index)} holds {padded!r} with a space round it", hint="remove the space")


def find_mixed_columns(table: GoldTable) -> Iterator[Found]:
    """Number columns that a few cells make text, so that official compares 1.0 and 1 as text."""
    for index in table.needed if table.is_csv else ():
        cells = [cell for cell in _texts(table, index) if cell.strip() not in _NULL_WORDS]
        formatted = [cell for cell in cells if _FORMATTED.fullmatch(cell.strip())]
        if cells and len(formatted) == len(cells):
            message = f"{table.column(index)} holds formatted numbers such as {formatted[0]!r}, which official compares as text"
            yield table.finding("formatted-numbers", message, hint="write plain numbers")
            continue
        n_numbers = len(_numbers(cells))
        if _MOSTLY * len(cells) <= n_numbers < len(cells) and len(cells) >= 3:
            odd = next(cell for cell in cells if not isinstance(_read(cell), int | Number))
            message = f"{table.column(index)} holds numbers and {odd!r}: official compares the whole column as text"
            yield table.finding("mixed-column", message, hint="leave the cell empty, or make it a number")


def find_leading_zeros(table: GoldTable) -> Iterator[Found]:
    """Codes such as 007: official reads them as numbers."""
    for index in table.needed if table.is_csv else ():
        cells = _texts(table, index)
        code = next((cell for cell in cells if _LEADING_ZERO.fullmatch(cell.strip())), None)
        if code is not None:
            message = f"{table.column(index)} holds {code!r}, which official reads as {int(code)}"
            yield table.finding("leading-zeros", message, hint="the strict rules read text")


def find_indistinct_numbers(table: GoldTable) -> Iterator[Found]:
    """Numbers too large or too near one another for official's tolerance."""
    for index in table.needed:
        values = _values(table, index)
        if table.is_csv and any(isinstance(cell := _read(text), tuple) and cell[0] == "huge" for text in _texts(table, index)):
            yield table.finding("overflow", f"{table.column(index)} holds a number beyond all floats", hint="official reads it as infinity")
        exact = [Decimal(value) if isinstance(value, int) else value.exact for value in values]
        finite = sorted({_float(value) for value in exact} - {math.inf})
        if any(isinstance(value, int) and abs(value) >= BIG for value in values):
            message = f"{table.column(index)} holds integers from 10,000,000,000 on: official takes neighbours for equal"
            yield table.finding("large-integers", message, hint="the strict rules compare every digit")
        if len(finite) > 1 and finite[-1] - finite[0] <= ABS_TOL:
            message = f"{table.column(index)}: all values lie within {ABS_TOL:g} of one another, which official takes for equal"
            yield table.finding("values-in-tolerance", message, hint="give a larger unit, or use the strict rules")
        elif any(0 < abs(value) <= ABS_TOL for value in finite):
            small = next(value for value in finite if 0 < abs(value) <= ABS_TOL)
            yield table.finding(
                "value-near-zero", f"{table.column(index)}: {small:g} lies within {ABS_TOL:g} of 0, which official takes for equal"
            )


def _float(value: Decimal) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _values(table: GoldTable, index: int) -> list[Any]:
    """The numbers of a column, as they stand in it."""
    if table.is_csv:
        return _numbers(_texts(table, index))
    from evalsuite.tables.strict_cells import read_native

    cells = [cell for cell in table.table.columns[index] if not isinstance(cell, bool)]
    return [value for value in map(read_native, cells) if isinstance(value, int | Number)]


def find_odd_dates(table: GoldTable) -> Iterator[Found]:
    """Dates in a form that only one way of writing matches."""
    for index in table.needed if table.is_csv else ():
        cells = _texts(table, index)
        if cells and all(_OTHER_DATE.fullmatch(cell.strip()) for cell in cells):
            message = f"{table.column(index)} writes dates as {cells[0]!r}: no rule reads them, they are compared as text"
            yield table.finding("date-format", message, hint="write YYYY-MM-DD")
        elif cells and all(_ISO_MIDNIGHT.fullmatch(cell.strip()) for cell in cells):
            message = f"{table.column(index)} writes days with a time of 00:00: official takes a plain date for another text"
            yield table.finding("midnight-times", message, hint="the strict rules compare instants")


# With fewer rows a column is in order by chance too often.
FEWEST_ROWS = 4
# Nobody sorts by more columns than these, and trying all would take for ever on wide tables.
MOST_KEYS = 4
_CALENDAR = (
    ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    ("mon", "tue", "wed", "thu", "fri", "sat", "sun"),
)


def find_order_ties(table: GoldTable) -> Iterator[Found]:
    """An order that a person can name but not repeat: sorted by a column with ties, which nothing breaks."""
    if not table.ordered or table.table.n_rows < FEWEST_ROWS or table.spot.check.parameters.get("order_by"):
        return
    ranks = [rank for index in table.needed if (rank := _ranks(table, index)) is not None]
    rows = list(zip(*ranks, strict=True)) if ranks else []
    if not rows or len(set(rows)) < 2:
        return
    # A column of one value is in order and says nothing.
    sorted_by = [at for at, column in enumerate(ranks) if len(set(column)) > 1 and _direction(column)]
    if not sorted_by:
        message = "the order of the rows counts, and no needed column is in order"
        yield table.finding("no-order", message, hint="does the question say how to sort?")
        return
    if any(_explained(rows, at, list(range(len(rows)))) for at in sorted_by):
        return
    index = table.needed[sorted_by[0]]
    message = f"the order of the rows counts; {table.column(index)} is in order but has ties, and nothing says how they stand"
    line = f'add "order_by": [{index}] to the parameters' if table.spot.check.scorer == "table_match" else "set ignore_orders"
    yield table.finding("order-ties", message, hint=f"{line}, or break the ties in the question")


def _ranks(table: GoldTable, index: int) -> list[int] | None:
    """The cells of a column as ranks among themselves, empty ones first; None where they cannot be put in order."""
    read = read_text if table.is_csv else read_native
    cells = [read(cell) for cell in table.table.columns[index]]
    keys = [_key(cell) for cell in cells]
    for names in _CALENDAR:
        if all(key[0] == 2 and str(key[1][1])[:3].lower() in names for key in keys):
            return [names.index(str(key[1][1])[:3].lower()) for key in keys]
    try:
        order = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    except TypeError:
        return None
    return [order[key] for key in keys]


def _key(cell: Any) -> tuple[int, Any]:
    if cell is None:
        return (0, 0)
    if isinstance(cell, int | Number):
        return (1, cell if isinstance(cell, int) else cell.exact)
    return (2, (str(cell[0]), cell[1]))


def _direction(ranks: Sequence[int]) -> int:
    """1 for a column in rising order, -1 for a falling one, 0 for neither; equal neighbours do not matter."""
    pairs = list(pairwise(ranks))
    if all(x <= y for x, y in pairs):
        return 1
    return -1 if all(x >= y for x, y in pairs) else 0


def _explained(rows: Sequence[tuple[int, ...]], by: int, group: Sequence[int], used: frozenset[int] = frozenset()) -> bool:
    """Whether sorting a group of rows by column `by`, then by others, gives their order; equal rows have no order to explain."""
    column = [rows[at][by] for at in group]
    if not _direction(column):
        return False
    used |= {by}
    # In order, equal values stand together.
    tied = [list(part) for _, part in groupby(group, key=lambda at: rows[at][by])]
    open_ = [part for part in tied if len({rows[at] for at in part}) > 1]
    if not open_:
        return True
    others = [other for other in range(len(rows[0])) if other not in used] if len(used) < MOST_KEYS else []
    return any(all(_explained(rows, other, part, used) for part in open_) for other in others)


PER_TABLE = {
    "literal-null": Kind("warning", find_null_words, "a word such as NA or None in a text column: it is read as empty"),
    "padded-cells": Kind("warning", find_padded_cells, "text cells with spaces round them"),
    "mixed-column": Kind("warning", find_mixed_columns, "a number column that a few cells make text"),
    "formatted-numbers": Kind("warning", find_mixed_columns, "a column of formatted numbers, compared as text"),
    "leading-zeros": Kind("note", find_leading_zeros, "codes with leading zeros, which official reads as numbers"),
    "values-in-tolerance": Kind(
        "note", find_indistinct_numbers, "a column whose values all lie within official's tolerance of one another"
    ),
    "value-near-zero": Kind("note", find_indistinct_numbers, "a value that official cannot tell from 0"),
    "large-integers": Kind("note", find_indistinct_numbers, "integers so large that official takes neighbours for equal"),
    "overflow": Kind("warning", find_indistinct_numbers, "a number beyond all floats"),
    "date-format": Kind("warning", find_odd_dates, "dates that are not written YYYY-MM-DD"),
    "midnight-times": Kind("note", find_odd_dates, "days written with a time of 00:00"),
    "order-ties": Kind("warning", find_order_ties, "the order of rows counts, and ties in it are broken by nothing"),
    "no-order": Kind("note", find_order_ties, "the order of rows counts, and no column is in order"),
}
