"""Reference and candidate data from files, frames or lists -> columns of text; a blank cell is an error that names its row."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalsuite.errors import UsageError, did_you_mean
from evalsuite.readers.csv_table import read_named_rows

Columns = Mapping[str, Sequence[str | None]]
FILE_KINDS = (".csv", ".jsonl", ".parquet")
_HINT = "give a path to a CSV, JSONL or Parquet file"


def read_columns(source: Any) -> Columns:
    """The columns of a file (by its ending) or of a frame (anything with `columns` and `to_dict`), n cells of text or None each."""
    if isinstance(source, str | Path):
        return _read_file(Path(source))
    if hasattr(source, "columns") and hasattr(source, "to_dict"):
        return {str(name): [_text(value) for value in source[name]] for name in source.columns}
    raise UsageError(f"cannot read data from {type(source).__name__}", hint=f"{_HINT}, or a data frame")


def column(data: Columns, name: str, *, what: str, allow_empty: bool = False) -> list[str]:
    """One column without blanks. Raises `UsageError` where it is missing or a cell is blank."""
    if name not in data:
        hint = f"{did_you_mean(name, data)}; name another with --{what.replace(' ', '-')}-column"
        raise UsageError(f"the data has no {what} column {name!r}", hint=hint)
    cells = []
    for row, cell in enumerate(data[name], start=1):
        if not cell and not allow_empty:
            raise UsageError(f"row {row}: the {what} column {name!r} is blank", hint="fill it in, or pass --allow-empty")
        cells.append(cell or "")
    return cells


def equal_lengths(**lists: Sequence[Any] | None) -> int:
    """The length all given lists share. Raises `UsageError` with both numbers where two differ, or where there is no row."""
    given = {name: len(values) for name, values in lists.items() if values is not None}
    if len(set(given.values())) > 1:
        counts = ", ".join(f"{count} {name}" for name, count in given.items())
        raise UsageError(f"the lists differ in length: {counts}", hint="one entry for each test case")
    n = next(iter(given.values()), 0)
    if n == 0:
        raise UsageError("there is no test case", hint="a suite needs at least one row")
    return n


def texts(values: Sequence[Any], *, what: str) -> list[str]:
    """The list, all of it text. Raises `UsageError` that names the first entry that is something else, None too."""
    for row, value in enumerate(values, start=1):
        if not isinstance(value, str):
            raise UsageError(f"entry {row} of the {what} list is {type(value).__name__}, not text", hint="one text for each test case")
    return list(values)


def references_of(values: Sequence[Any] | None) -> list[str] | None:
    """The references, None where there is none. Raises `UsageError` where some are given and some are None."""
    if values is None or all(value is None for value in values):
        return None
    missing = [row for row, value in enumerate(values, start=1) if value is None]
    if missing:
        raise UsageError(f"some references are null and some are not: entry {missing[0]} is null", hint="all or none")
    return texts(values, what="reference")


def _read_file(path: Path) -> Columns:
    if path.suffix not in FILE_KINDS:
        raise UsageError(f"cannot read {path.name!r}: its ending is none of {', '.join(FILE_KINDS)}", hint=_HINT)
    if path.suffix == ".csv":
        header, rows = read_named_rows(path)
        return {name: [row[i] if i < len(row) else None for _, row in rows] for i, name in enumerate(header)}
    if not path.is_file():
        raise UsageError(f"{path}: no such file", hint=_HINT)
    try:
        return _read_jsonl(path) if path.suffix == ".jsonl" else _read_parquet(path)
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8", hint="save the file as UTF-8") from None


def _read_jsonl(path: Path) -> Columns:
    records = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), start=1):
        if line.strip():
            try:
                records.append(json.loads(line))
            except ValueError:
                raise UsageError(f"{path}:{number}: not valid JSON", hint="one JSON object a line") from None
            if not isinstance(records[-1], dict):
                raise UsageError(f"{path}:{number}: not a JSON object", hint="one JSON object a line")
    return _by_column(records)


def _by_column(records: Iterable[Mapping[str, Any]]) -> Columns:
    records = list(records)
    names = dict.fromkeys(name for record in records for name in record)
    return {name: [_text(record.get(name)) for record in records] for name in names}


def _read_parquet(path: Path) -> Columns:
    import duckdb

    try:
        with duckdb.connect() as connection:
            answer = connection.execute("SELECT * FROM read_parquet(?)", [str(path)])
            names = [described[0] for described in answer.description or ()]
            rows = answer.fetchall()
    except duckdb.Error:
        raise UsageError(f"{path}: not a readable Parquet file", hint=_HINT) from None
    return {name: [_text(row[i]) for row in rows] for i, name in enumerate(names)}


def _text(value: Any) -> str | None:
    """A cell as text; what is no value (None, NaN) is None, a whole number keeps its form, other values are JSON."""
    if value is None or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict | list | bool) else str(value)
