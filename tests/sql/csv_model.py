"""The plain model of how a result reads as a CSV file, cell by cell."""

from collections.abc import Sequence
from datetime import datetime, time
from decimal import Decimal
from typing import Any

from evalsuite.core.types import Table
from evalsuite.sql.result_csv import INSTANT


def csv_form(table: Table, *, in_hex: bool = False) -> Table:
    """The table as the CSV reader would give it had pandas written it: text cells, "" for NULL, no types.

    Gold of the same question is a CSV file, so its rules of reading must hold for both sides. A column of instants that all lie on
    midnight shows days, as pandas does; booleans are True and False; bytes are as Python prints them, or hexadecimal (`in_hex`).
    """
    types = table.types or ("VARCHAR",) * len(table.columns)
    columns = tuple(_csv_column(column, type_, in_hex=in_hex) for column, type_ in zip(table.columns, types, strict=True))
    return Table(header=table.header, columns=columns, n_rows=table.n_rows, name=table.name)


def _csv_column(column: Sequence[Any], type_: str, *, in_hex: bool) -> list[str]:
    instants = type_ in ("TIMESTAMP", INSTANT)
    days = instants and all(cell.timetz().replace(tzinfo=None) == time() for cell in column if isinstance(cell, datetime))
    return [cell.hex() if in_hex and isinstance(cell, bytes) else _cell(cell, days=days) for cell in column]


def _cell(cell: Any, *, days: bool) -> str:
    if isinstance(cell, datetime):
        return cell.date().isoformat() if days and cell.tzinfo is None else cell.isoformat(" ")
    if isinstance(cell, Decimal) and cell.is_finite():
        return format(cell, "f")
    return "" if cell is None else str(cell)
