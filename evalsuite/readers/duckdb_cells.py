"""Rows that DuckDB reads, with cells as Python's own values, and as texts where Python has none."""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from itertools import chain
from typing import Any, Final

from evalsuite.core.import_ref import duckdb, lazy_pattern
from evalsuite.core.scores import Fault, Table
from evalsuite.readers.limits import Limits

# Types whose native value loses digits or needs pytz are fetched as text, in UTC.
_AS_INSTANT = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ", "TIMESTAMP_NS")
# What the client makes of infinity, and the types in which it may be.
_EDGES: Final = (date.min, date.max, datetime.min, datetime.max)
TIMES: Final = lazy_pattern("DATE|TIMESTAMP|VARIANT")
# Types whose values may be beyond Python's, or nest deeper than it can follow, and the deepest that is read as lists.
MAY_NOT_FIT: Final = lazy_pattern("INTERVAL|VARIANT")
_DEEPEST: Final = 300
_INTERVAL: Final = lazy_pattern(
    r"(?:(-?\d+) years? ?)?(?:(-?\d+) months? ?)?(?:(-?\d+) days? ?)?(?:(-)?(\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?)?", re.ASCII
)
read_json: Final = partial(json.loads, parse_int=str, parse_float=str)
_TARGET_CHUNK_BYTES = 4 << 20
_FIRST_CHUNK_ROWS = 64
_MOST_CHUNK_ROWS = 50_000
# Names and types of columns.
Described = tuple[tuple[str, ...], tuple[str, ...]]
_SIZED = ("VARCHAR", "BLOB", "JSON", "BIT", "BIGNUM", "GEOMETRY")


def check_depth(cells: Sequence[Any]) -> None:
    """Raise RecursionError for a cell of lists in lists that nests deeper than `_DEEPEST`, wherever it is read."""
    level = [cell for cell in cells if isinstance(cell, list | dict)]
    for _ in range(_DEEPEST):
        if not level:
            return
        items = chain.from_iterable(cell.values() if isinstance(cell, dict) else cell for cell in level)
        level = [item for item in items if isinstance(item, list | dict)]
    if level:
        raise RecursionError


def converted(texts: Sequence[str | None], type_: str) -> Iterator[Any]:
    """The cells of a column that was read as texts: those that Python can hold as its own values."""
    convert = _instant if type_ in _AS_INSTANT else _interval if type_ == "INTERVAL" else None
    return map(convert, texts) if convert else iter(texts)


def _interval(text: str | None) -> timedelta | str | None:
    """The interval of a text as duckdb gives it to Python, with 30 days a month; the text if Python cannot hold it."""
    if text is None or (parts := _INTERVAL.fullmatch(text)) is None:
        return text
    years, months, days, sign, hours, minutes, seconds, fraction = parts.groups(default="")
    n_days = 30 * (12 * int(years or 0) + int(months or 0)) + int(days or 0)
    microseconds = (int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)) * 10**6 + int(f"{fraction:0<6}")
    try:
        return timedelta(days=n_days, microseconds=-microseconds if sign else microseconds)
    except OverflowError:
        return text


def has_edge(cell: Any) -> bool:
    """Whether a cell, or one inside it, is what the client makes of infinity."""
    if isinstance(cell, dict | list | tuple):
        return any(map(has_edge, (*cell, *cell.values()) if isinstance(cell, dict) else cell))
    return isinstance(cell, date) and cell in _EDGES


def with_texts(cell: Any, written: Any) -> Any:
    """A cell with the text of each date and time inside it that Python cannot represent; `written` is the JSON of the cell."""
    if isinstance(written, dict) and not isinstance(cell, dict) and len(written) == 1:
        (written,) = written.values()  # of a UNION
    if isinstance(cell, list | tuple) and isinstance(written, list):
        return type(cell)(map(with_texts, cell, written))
    if isinstance(cell, dict) and isinstance(written, dict) and len(cell) == len(written):
        return dict(zip(map(with_texts, cell, written), map(with_texts, cell.values(), written.values()), strict=True))
    return written if isinstance(cell, date) and isinstance(written, str) and isinstance(_instant(written), str) else cell


def needs_text(type_: str) -> bool:
    """Whether the client cannot convert a type to a native value."""
    return "TIME ZONE" in type_ or type_ in _AS_INSTANT


def bytes_of_cells(cells: Sequence[Any], type_: str) -> int:
    """The approximate size of cells in bytes; at least 8 each."""
    if type_.startswith(_SIZED):
        return sum(len(cell) for cell in cells if cell is not None) + 8 * len(cells)
    if type_.endswith("]") or type_.startswith(("STRUCT", "MAP", "UNION", "VARIANT")):
        return sum(len(str(cell)) for cell in cells) + 8 * len(cells)
    return 8 * len(cells)


def _instant(text: str | None) -> datetime | str | None:
    """The datetime of an ISO text if Python can represent it exactly, else the text."""
    if text is None or re.search(r"\.\d{6}0*[1-9]", text):
        return text
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return text


def read_rows(connection: "duckdb.DuckDBPyConnection", name: str, stored: str, place: str, limits: Limits) -> Table | Fault:
    """The rows of a FROM source; a column with a value that Python cannot hold, or that nests too deep, as texts."""
    header, types = header_and_types(connection.execute(f"SELECT * FROM {place}"))
    in_text = {index for index, type_ in enumerate(types) if needs_text(type_)}
    suspects = [index for index, type_ in enumerate(types) if MAY_NOT_FIT.search(type_)]
    try:
        return _read_rows_with(connection, name, stored, place, limits, in_text, (header, types))
    except (OverflowError, RecursionError):
        if not suspects:
            raise
    for index in suspects:
        try:
            column = f"(SELECT {quoted_name(header[index])} FROM {place})"
            only = header_and_types(connection.execute(f"SELECT * FROM {column}"))
            _read_rows_with(connection, name, stored, column, limits, set(), only)
        except (OverflowError, RecursionError):
            in_text.add(index)
    return _read_rows_with(connection, name, stored, place, limits, in_text, (header, types))


def _read_rows_with(
    connection: "duckdb.DuckDBPyConnection",
    name: str,
    stored: str,
    place: str,
    limits: Limits,
    in_text: Collection[int],
    described: Described,
) -> Table | Fault:
    """The rows of a FROM source, just selected, the columns `in_text` as texts, in chunks: limits are checked between."""
    header, types = described
    if in_text:
        named = enumerate(map(quoted_name, header))
        selected = ", ".join(f"CAST({column} AS VARCHAR)" if index in in_text else column for index, column in named)
        connection.execute(f"SELECT {selected} FROM {place}")
    columns: list[list[Any]] = [[] for _ in header]
    n_bytes, n_rows, chunk = 0, 0, _FIRST_CHUNK_ROWS
    while rows := connection.fetchmany(chunk):
        n_rows += len(rows)
        for index, cells in enumerate(zip(*rows, strict=True)):
            if types[index] == "VARIANT" and index not in in_text:
                check_depth(cells)
            n_bytes += bytes_of_cells(cells, types[index])
            columns[index].extend(converted(cells, types[index]) if index in in_text else cells)
        if n_bytes > limits["table_bytes"]:
            return too_many_fault(name, f"than {int(limits['table_bytes'])} bytes (limit table_bytes)")
        if n_rows > limits["rows"] or n_rows * len(header) > limits["cells"]:
            return too_many_fault(name, "rows or cells than the limits rows and cells allow")
        chunk = max(1, min(_MOST_CHUNK_ROWS, chunk * 4, _TARGET_CHUNK_BYTES * n_rows // n_bytes))
    for index, column in enumerate(columns):
        if index not in in_text and TIMES.search(types[index]) and ("_NS" in types[index] or has_edge(column)):
            texts = connection.execute(f"SELECT system.main.to_json({quoted_name(header[index])}) FROM {place}").fetchall()
            columns[index] = [with_texts(cell, text and read_json(text)) for cell, (text,) in zip(column, texts, strict=True)]
    return Table(header=header, columns=tuple(columns), n_rows=n_rows, types=types, name=stored)


def too_many_fault(name: str, what: str) -> Fault:
    return Fault(code="LIMIT", detail=f"{name!r} has more {what}")


def quoted_name(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def header_and_types(result: "duckdb.DuckDBPyConnection") -> Described:
    columns = result.description or []
    return tuple(str(column[0]) for column in columns), tuple(str(column[1]) for column in columns)
