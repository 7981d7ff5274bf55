"""A made answer: gold with something done to it, as an edit of a table, a text or a tree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evalsuite.texts.numbers import Number
from evalsuite.trust.transformations.rows import pick, with_column
from evalsuite.trust.transformations.values import cell
from evalsuite.types import Table

OWN = "gold itself"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What is done to a table: rows of gold's by number in their new order, then cells by column and new row, then headers and columns.

    `columns` are gold's by number in their new order; one beyond the last is a column of row numbers. `quoted` writes each field of a CSV
    file in quotation marks and ends its lines as Windows does.
    """

    kind: str
    rows: Sequence[int] | None = None
    cells: Mapping[int, Mapping[int, Any]] = field(default_factory=dict)
    header: Sequence[str] | None = None
    columns: Sequence[int] | None = None
    quoted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One answer: what was done (`kind`), whether it is still right, and the answer itself: a text, an `Edit` of a table, or a tree.

    `table` is the number of the table that is edited, where a check reads several, or its name in a database.
    """

    kind: str
    right: bool
    value: Any
    table: int | str = 0


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
    return table


def clear(value: Any, *, native: bool) -> Any:
    """A hashable form of a cell that differs only for cells that no tolerance takes for one: decimals to three significant digits."""
    read = cell(value, native=native)
    if isinstance(read, Number | int) and not isinstance(read, bool):
        # The official tolerance is 0.01, so that smaller differences are no clear ones.
        if isinstance(read, int):
            return f"{float(read):.9g}"
        # The same for a whole number that is written with decimals, which has their tolerance.
        return f"{float(f'{read.value:.3g}'):.9g}" if abs(read.value) >= 1 else f"{float(f'{read.value:.1f}'):.9g}"
    return read if read.__hash__ is not None else repr(read)
