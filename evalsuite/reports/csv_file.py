"""The rows of a document as CSV, for spreadsheets and data frames."""

import csv
from collections.abc import Iterator
from io import StringIO
from itertools import islice
from typing import Any

from evalsuite.reports.clean import clean
from evalsuite.reports.document import Column, Document

# What a spreadsheet takes for the beginning of a formula, in both widths.
_FORMULA = frozenset("=+-@＝＋－＠")
_ROWS_A_PIECE = 1000


def as_csv(document: Document) -> Iterator[str]:
    """Pieces of the CSV text: a header and a line a row; items of a list are separated by `;`, what there is not is empty."""
    table = document.tables["csv"]
    columns = table.of("csv")
    yield _lines([[cell(column.name) for column in columns]])
    rows = iter(table.values("csv"))
    while some := list(islice(rows, _ROWS_A_PIECE)):
        yield _lines([[_spelled(column, value) for column, value in zip(columns, row, strict=True)] for row in some])


def cell(text: str) -> str:
    """The text as a cell that no spreadsheet computes: printable, one line, a formula quoted by `'`."""
    text = clean(text)
    return f"'{text}" if text.lstrip()[:1] in _FORMULA and text.strip() else text


def _spelled(column: Column[Any], value: Any) -> Any:
    if column.spelled is not None and value is not None:
        return column.spelled(value)
    if isinstance(value, list | tuple):
        value = ";".join(map(str, value))
    # A number is no text: -1 stays one.
    return value if value is None or isinstance(value, int | float) else cell(str(value))


def _lines(rows: list[list[Any]]) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
