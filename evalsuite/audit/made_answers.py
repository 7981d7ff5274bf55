"""A made answer: gold with something done to it, as an edit of a table, a text or a tree."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

from evalsuite.causes.row_repairs import pick, with_column
from evalsuite.causes.value_pairs import cell
from evalsuite.readers.csv_table import csv_rows
from evalsuite.texts.numbers import Number
from evalsuite.types import Table

OWN = "gold itself"
_SHORT: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What is done to a table: rows of gold's by number in their new order, then cells by column and new row, then headers and columns.

    `columns` are gold's by number in their new order; one beyond the last is a column of row numbers. `quoted` writes each field of a CSV
    file in quotation marks, ends its lines as Windows does, and reads it again. `size` is by which share of itself a number changes, None
    where something else does.
    """

    kind: str
    rows: Sequence[int] | None = None
    cells: Mapping[int, Mapping[int, Any]] = field(default_factory=dict)
    header: Sequence[str] | None = None
    columns: Sequence[int] | None = None
    quoted: bool = False
    size: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One answer: what was done (`kind`), whether it is still right, and the answer itself: a text, an `Edit` of a table, or a tree.

    `table` is the number of the table that is edited, where a check reads several, or its name in a database; `size` as of an `Edit`.
    """

    kind: str
    right: bool
    value: Any
    table: int | str = 0
    size: float | None = None


def edited(table: Table, edit: Edit) -> Table:
    """The table after the edit."""
    if edit.rows is not None:
        table = pick(table, edit.rows)
    for k, cells in edit.cells.items():
        column = list(table.columns[k])
        for row, value in cells.items():
            column[row] = value
        table = with_column(table, k, column)
    if edit.header is not None:
        table = replace(table, header=tuple(edit.header))
    if edit.columns is not None:
        header, columns = [*table.header, "row_number"], [*table.columns, [str(row) for row in range(1, table.n_rows + 1)]]
        table = replace(table, header=tuple(header[k] for k in edit.columns), columns=tuple(columns[k] for k in edit.columns))
    return _quoted(table) if edit.quoted else table


def _quoted(table: Table) -> Table:
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(table.header)
    writer.writerows(["" if value is None else value for value in row] for row in zip(*table.columns, strict=True))
    text.seek(0)
    rows = [row for _, row in csv_rows(text, delimiter=",")]
    cells = [[None if value == "" else value for value in column] for column in zip(*rows[1:], strict=True)]
    return replace(table, header=tuple(rows[0]), columns=tuple(cells) or tuple([] for _ in rows[0]))


def handed_in(made: Made, gold: Any) -> Any:
    """The made answer in the form that a scorer reads: `gold` is a table, a list of tables or a database of them, or does not matter."""
    if not isinstance(made.value, Edit):
        return made.value
    if isinstance(gold, Table):
        return edited(gold, made.value)
    if isinstance(gold, Mapping):
        own = str(made.table).lower()
        return {name: edited(table, made.value) if name.lower() == own else table for name, table in gold.items()}
    return [edited(table, made.value) if i == made.table else table for i, table in enumerate(gold)]


def clear(value: Any, *, native: bool) -> Any:
    """A hashable form of a cell that differs only for cells that no tolerance takes for one: decimals to three significant digits."""
    return _clear_text(value) if isinstance(value, str) and not native and len(value) <= _SHORT else _clear(value, native=native)


@lru_cache(maxsize=1 << 14)
def _clear_text(value: str) -> Any:
    return _clear(value, native=False)


def _clear(value: Any, *, native: bool) -> Any:
    read = cell(value, native=native)
    if isinstance(read, Number | int) and not isinstance(read, bool):
        # The official tolerance is 0.01, so that smaller differences are no clear ones.
        if isinstance(read, int):
            return f"{float(read):.9g}"
        # The same for a whole number that is written with decimals, which has their tolerance.
        return f"{float(f'{read.value:.3g}'):.9g}" if abs(read.value) >= 1 else f"{float(f'{read.value:.1f}'):.9g}"
    return read if read.__hash__ is not None else repr(read)
