"""The columns of a table as the strict rules see them: cells with a value, and the tolerance of each."""

from collections.abc import Mapping, Sequence
from typing import Any

from evalsuite.matching.table_strict import Column
from evalsuite.matching.values import Cell, Tolerance, read_native, read_text
from evalsuite.types import Table

PerColumn = float | Mapping[str, float] | None


def read_columns(table: Table, chosen: Sequence[int], *, abs_tol: PerColumn = None, rel_tol: PerColumn = None) -> list[Column]:
    """The chosen columns as cells; equal texts become the same object, so that most comparisons end at once."""
    return [
        Column(
            cells=_cells(table, index),
            name=table.header[index] if index < len(table.header) else "",
            position=index,
            tolerance=tolerance_of(table, index, abs_tol, rel_tol),
        )
        for index in chosen
    ]


def _cells(table: Table, index: int) -> list[Cell]:
    column = table.columns[index]
    if table.types is not None:
        return [read_native(value) for value in column]
    known: dict[Any, Cell] = {}
    cells = []
    for text in column:
        if text not in known:
            known[text] = read_text(text)
        cells.append(known[text])
    return cells


def tolerance_of(table: Table, index: int, abs_tol: PerColumn, rel_tol: PerColumn) -> Tolerance:
    absolute, relative = _of_column(abs_tol, table, index), _of_column(rel_tol, table, index)
    if absolute is None and relative is None:
        return Tolerance()
    return Tolerance(rel=relative or 0.0, abs=absolute or 0.0, rounding=False, integers=True)


def _of_column(value: PerColumn, table: Table, index: int) -> float | None:
    """A tolerance given for the whole check, or per column by header or by position (as text, from 0)."""
    if value is None or isinstance(value, int | float):
        return value
    header = table.header[index] if index < len(table.header) else ""
    return value.get(header, value.get(str(index)))
