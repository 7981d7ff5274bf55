"""A file of rows that a person names for a suite -> its columns: CSV, TSV, JSON Lines, JSON, Parquet, Excel, each by its ending."""

import datetime
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalsuite.errors import MissingExtraError, UsageError
from evalsuite.readers.csv_table import read_named_rows

# Column name -> n cells as the file has them; None where there is none.
Columns = Mapping[str, Sequence[Any]]
FILE_KINDS = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".xlsx")
_HINT = "give a path to a CSV, TSV, JSONL, JSON, Parquet or Excel file"


def read_columns(source: Any) -> Columns:
    """The columns of a file (by its ending) or of a frame (anything with `columns` and `to_dict`), n cells each.

    Raises `UsageError` for anything else, and for a file that cannot be read; `MissingExtraError` for Excel without its extra.
    """
    if hasattr(source, "columns") and hasattr(source, "to_dict"):
        return {str(name): list(source[name]) for name in source.columns}
    if not isinstance(source, str | Path):
        raise UsageError(f"cannot read data from {type(source).__name__}", hint=f"{_HINT}, or a data frame")
    path = Path(source)
    kind = path.suffix.lower()
    if kind not in FILE_KINDS:
        raise UsageError(f"cannot read {path.name!r}: its ending is none of {', '.join(FILE_KINDS)}", hint=_HINT)
    if kind in (".csv", ".tsv"):
        header, rows = read_named_rows(path, delimiters="\t" if kind == ".tsv" else ",;\t")
        return {name: [row[i] if i < len(row) else None for _, row in rows] for i, name in enumerate(header)}
    if not path.is_file():
        raise UsageError(f"{path}: no such file", hint=_HINT)
    read = {".jsonl": _read_jsonl, ".json": _read_json_rows, ".parquet": _read_parquet, ".xlsx": _read_excel}[kind]
    try:
        return read(path)
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8", hint="save the file as UTF-8") from None


def _read_jsonl(path: Path) -> Columns:
    records: list[dict[str, Any]] = []
    # Not `splitlines`: a text may hold other ends of a line, as U+2028.
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), start=1):
        if line.strip():
            try:
                records.append(json.loads(line))
            except (ValueError, RecursionError):
                raise UsageError(f"{path}:{number}: not valid JSON", hint="one JSON object a line") from None
            if not isinstance(records[-1], dict):
                raise UsageError(f"{path}:{number}: not a JSON object", hint="one JSON object a line")
    return _columns_of(records)


def _read_json_rows(path: Path) -> Columns:
    hint = 'a list of objects, [{"input": ..., "reference": ...}, ...], or an object of lists of one length'
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}: not valid JSON", hint=hint) from None
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply", hint=hint) from None
    if isinstance(value, list) and all(isinstance(record, dict) for record in value):
        return _columns_of(value)
    lists = isinstance(value, dict) and value and all(isinstance(cells, list) for cells in value.values())
    if not lists or len({len(cells) for cells in value.values()}) > 1:
        raise UsageError(f"{path}: no rows in it", hint=hint)
    return {str(name): cells for name, cells in value.items()}


def _columns_of(records: Sequence[Mapping[str, Any]]) -> Columns:
    names = dict.fromkeys(name for record in records for name in record)
    return {name: [record.get(name) for record in records] for name in names}


def _read_parquet(path: Path) -> Columns:
    import duckdb

    try:
        with duckdb.connect() as connection:
            answer = connection.execute("SELECT * FROM read_parquet(?)", [str(path)])
            names = [described[0] for described in answer.description or ()]
            rows = answer.fetchall()
    except duckdb.Error:
        raise UsageError(f"{path}: not a readable Parquet file", hint=_HINT) from None
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def _read_excel(path: Path) -> Columns:
    """The columns of the first sheet, whose first row names them; rows without any cell are left out."""
    try:
        import openpyxl  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        raise MissingExtraError(f"{path}: openpyxl is not installed", extra="xlsx") from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        rows = [list(row) for row in book.worksheets[0].iter_rows(values_only=True)]
        book.close()
    except Exception:  # openpyxl lets through whatever a broken archive makes of its parts: KeyError, BadZipFile, ParseError ...
        raise UsageError(f"{path}: not a readable Excel file", hint="save it again as .xlsx, or export the sheet as CSV") from None
    rows = [[cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else cell for cell in row] for row in rows]
    rows = [row for row in rows if any(cell is not None for cell in row)]
    if not rows:
        raise UsageError(f"{path}: its first sheet is empty", hint="the first row names the columns")
    header, *body = rows
    return {str(name): [row[i] for row in body] for i, name in enumerate(header) if name is not None}
