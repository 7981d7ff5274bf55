"""What can go wrong with a CSV file as a whole: its separator, its header line, rows for columns. See `rows` for the form of a repair."""

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from evalsuite.causes.row_repairs import Repaired, rows_of
from evalsuite.causes.table_alignment import Alignment
from evalsuite.readers.csv_table import csv_rows
from evalsuite.types import Table

SEPARATORS: Final = {";": "semicolons", "\t": "tabs", "|": "bars"}


def delimiter(a: Alignment) -> Iterator[Repaired]:
    """A CSV file with another separator than the comma, read as it was meant."""
    table = a.prediction
    if a.native or len(a.gold.columns) < 2 or len(table.columns) > len(a.gold.columns):
        return
    for mark, name in SEPARATORS.items():
        if not any(mark in header for header in table.header):
            continue
        lines = [",".join(map(_or_empty, row)) for row in [table.header, *rows_of(table)]]
        rows = [row for _, row in csv_rows(io.StringIO("\n".join(lines)), delimiter=mark)]
        if mark == "|":
            rows = [[cell.strip() for cell in row[1:-1]] for row in rows if not set("".join(row).strip()) <= set("-: ")]
        width = len(rows[0]) if rows else 0
        if width > 1 and all(len(row) == width for row in rows):
            yield Repaired(_table(table, rows), f"the columns are separated by {name}, not commas")


def no_header(a: Alignment) -> Iterator[Repaired]:
    """A file without a header line: its first row was taken for one."""
    table = a.prediction
    if a.native or table.n_rows + 1 != a.gold.n_rows:
        return
    first = Counter(str(a.gold.columns[i][0]) for i in a.needed)
    if not any(header in first for header in table.header):
        seen = {str(cell) for i in a.needed for cell in a.gold.columns[i]}
        if not any(header in seen for header in table.header):
            return
    rows = [table.header, *rows_of(table)]
    says = "the header line is missing, so the first row is taken for it"
    yield Repaired(_table(table, [a.gold.header, *rows], strict=False), says)


def transposed(a: Alignment) -> Iterator[Repaired]:
    """Rows for columns; with gold's headers down the first column, or without them."""
    table, gold, says = a.prediction, a.gold, "rows stand for columns"
    if a.native or not gold.n_rows:
        return
    # Of a single column only its header and cell are left, side by side as a header.
    labels = list(map(_or_empty, table.columns[0])) if table.n_rows else list(table.header[:1])
    headers = {header.strip().casefold() for header in gold.header}
    if len(table.columns) == gold.n_rows + 1 and any(label.strip().casefold() in headers for label in labels):
        turned = zip(table.header, *rows_of(table), strict=True)
        yield Repaired(_table(table, list(turned)), says)
    elif (len(table.columns), table.n_rows) == (gold.n_rows, len(gold.columns)) and len(gold.columns) > 1:
        names = [f"column {i}" for i in range(1, table.n_rows + 1)]
        yield Repaired(_table(table, [names, *table.columns]), says)


def _or_empty(cell: Any) -> str:
    return "" if cell is None else str(cell)


def _table(like: Table, rows: Sequence[Sequence[Any]], *, strict: bool = True) -> Table:
    """A text table from rows, the first of which is the header."""
    width = len(rows[1]) if not strict and len(rows) > 1 else len(rows[0])
    header = tuple(map(_or_empty, rows[0]))[:width]
    header += tuple(f"column {i + 1}" for i in range(len(header), width))
    body = [list(row)[:width] for row in rows[1:]]
    columns = tuple([row[i] for row in body] for i in range(width))
    return Table(header=header, columns=columns, n_rows=len(body), name=like.name)
