"""The rows of a document as CSV, for spreadsheets and data frames."""

import csv
from collections.abc import Iterable, Iterator, Sequence
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
    rows = iter(table.rows)
    while some := list(islice(rows, _ROWS_A_PIECE)):
        yield _lines(zip(*(_cells(column, some) for column in columns), strict=True))


def cell(text: str) -> str:
    """The text as a cell that no spreadsheet computes: printable, one line, a formula quoted by `'`."""
    text = clean(text)
    return f"'{text}" if text.lstrip()[:1] in _FORMULA and text.strip() else text


def _cells(column: Column[Any], rows: list[Any]) -> list[Any]:
    """A column's cells in these rows; a number is no text: -1 stays one."""
    values = map(column.value, rows)
    if (spelled := column.spelled) is not None:
        return [None if value is None else spelled(value) for value in values]
    return [value if value is None or isinstance(value, int | float) else cell(_text(value)) for value in values]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ";".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _lines(rows: Iterable[Sequence[Any]]) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
