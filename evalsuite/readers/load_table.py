"""Load a table from a file that a person names: CSV, TSV, Excel, Parquet, JSON records, a table of a DuckDB or SQLite file."""

import contextlib
import math
import mimetypes
import os
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, time, timedelta
from pathlib import Path
from typing import Any, Final

from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import FaultError, MissingExtraError, UsageError
from evalsuite.core.import_ref import duckdb
from evalsuite.core.scores import Fault, Table
from evalsuite.readers.csv_dialect import DEFAULT, Dialect, detect_dialect
from evalsuite.readers.csv_table import read_csv_table, read_named_rows
from evalsuite.readers.duckdb_cells import read_rows
from evalsuite.readers.duckdb_tables import duckdb_table_names, read_duckdb
from evalsuite.readers.json_text import read_tree
from evalsuite.readers.limits import Limits
from evalsuite.readers.paths import open_trusted
from evalsuite.sandbox.temp_dirs import descriptor_path

SQLITE: Final = (".sqlite", ".sqlite3")
DATABASES: Final = (".duckdb", ".ddb", ".db", *SQLITE)
WORKBOOKS: Final = (".xlsx",)
TREES: Final = (".json", ".jsonl")
ENDINGS: Final = (".csv", ".tsv", ".parquet", *WORKBOOKS, *TREES, *DATABASES)
_PACKED: Final = (".gz", ".bz2", ".xz")
# Other endings of the same formats.
_ALSO: Final = {".ndjson": ".jsonl", ".pq": ".parquet", ".tab": ".tsv", ".psv": ".csv"}
_MAGIC: Final = {b"PAR1": ".parquet", b"SQLite format 3\0": ".sqlite"}
# Endings that say nothing about the content.
_PLAIN: Final = ("", ".txt", ".dat", ".data", ".out", ".bin")
_SNIFFED_BYTES: Final = 1 << 16
# Parts of a workbook, a formula in a sheet, and the sign that formulas are computed when the file is opened.
_PART_WITH_FORMULAS: Final = re.compile(r"xl/(workbook|worksheets/[^/]+)\.xml", re.IGNORECASE)
_FORMULA: Final = re.compile(rb"<(\w+:)?f[\s/>]")
_STALE: Final = re.compile(rb"""fullCalcOnLoad=["'](1|true)""")
# How a sheet writes the line end of Windows.
_LINE_END: Final = "_x000D_\n"


def ending_of(path: Path) -> str:
    """The member of `ENDINGS` that a file has or, where its name says nothing, that fits its content; empty if none does.

    For CSV the ending of its compression is left out.
    """
    last, before = path.suffix.lower(), Path(path.stem).suffix.lower()
    if last in _PACKED and before == ".csv":
        return ".csv"
    if last in ENDINGS or last in _ALSO:
        return _ALSO.get(last, last)
    return _ending_of_content(path) if last in _PLAIN or before in ENDINGS else ""


def _ending_of_content(path: Path) -> str:
    """The ending that fits the first bytes of a file; empty for one that is no table and no JSON."""
    try:
        with path.open("rb") as handle:
            head = handle.read(_SNIFFED_BYTES)
    except OSError:
        return ""
    if magic_ending := next((ending for magic, ending in _MAGIC.items() if head.startswith(magic)), ""):
        return magic_ending
    if head[8:12] == b"DUCK":
        return ".duckdb"
    if head[:4] == b"PK\x03\x04":
        return ".xlsx" if b"xl/" in head else ""
    return _ending_of_text(head)


def _ending_of_text(head: bytes) -> str:
    """The ending that fits a text: JSON, JSON lines, or lines with the same number of delimiters; empty for another."""
    dialect = detect_dialect(head)
    text = head.decode(dialect.encoding, "replace").lstrip("\ufeff \r\n\t")
    lines = [line for line in text.splitlines() if line.strip()][:20]
    if "\0" in text or not lines:
        return ""
    if text[0] in "[{":
        return ".jsonl" if all(line.startswith("{") for line in lines) and lines[0].rstrip().endswith("}") and lines[1:] else ".json"
    widths = {line.count(dialect.delimiter) for line in lines[:-1]}
    return ".csv" if 0 not in widths and len(widths) == 1 else ""


def dialect_of(path: Path) -> Dialect:
    """How a CSV file that belongs to no check is written, by its first bytes."""
    if path.suffix.lower() in _PACKED:
        return DEFAULT
    # Where the machine cannot read it, this says so.
    with open_trusted(path, limit_bytes=math.inf) as handle:
        return detect_dialect(handle.read(_SNIFFED_BYTES))


def dialect_parameters(path: Path) -> dict[str, str]:
    """The parameters of a check with this CSV file as gold, which say how it is written: none if its first line has commas, or one column.

    Raises `OSError`.
    """
    with path.open("rb") as handle:
        head = handle.read(_SNIFFED_BYTES)
    dialect = detect_dialect(head)
    delimiters = DEFAULT.delimiter if DEFAULT.delimiter in head.decode(dialect.encoding, "replace").partition("\n")[0] else ",;\t|"
    return detect_dialect(head, delimiters).parameters()


def load_table(path: Path, limits: Limits, *, table: str | None = None, private: Path | None = None) -> Any:
    """A `Table`, or the value of a JSON file that is not a list of flat records.

    `table` names one of a database file that has several, `private` is a copy of it that no other process can reach. Cells of databases
    and Parquet are native, others text.

    Raises:
        FaultError: The readers' faults, with the file's name.
        UsageError: A database of several tables and no name, or no such table.
    """
    ending = ending_of(path)
    try:
        if ending in DATABASES:
            return _database_table(path, limits, table, private or path)
        if ending == ".parquet":
            return read_parquet(path, limits)
        if ending in WORKBOOKS:
            return _table_of_rows(*read_workbook(path, limits, keep_unnamed=True), path.name, limits)
        if ending == ".tsv":
            header, numbered = read_named_rows(path, delimiters="\t")
            width = len(header)
            return _table_of_rows(
                header, [[cell or None for cell in [*row, *[""] * width][:width]] for _, row in numbered], path.name, limits
            )
        with open_trusted(path, limit_bytes=limits["file_bytes"]) as handle:
            if ending in TREES:
                value = read_tree(handle, name=ending, limits=limits)
                return _table_of_records(value, path.name) if _are_flat(value) else value
            return read_csv_table(handle, name=path.name, limits=limits, dialect=dialect_of(path))
    except FaultError as error:
        raise FaultError(error.fault.code, error.fault.detail, where=str(path), side=error.side) from None


def as_texts(table: Table) -> Table:
    """The table with cells as a CSV file would contain them, to compare a typed table with one of texts."""
    if table.types is None:
        return table
    columns = tuple([None if cell is None else _text_of_value(cell) for cell in column] for column in table.columns)
    return replace(table, columns=columns, types=None)


def _text_of_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _database_table(path: Path, limits: Limits, name: str | None, opened: Path) -> Table:
    in_sqlite = is_sqlite(opened)
    names = _sqlite_tables(opened) if in_sqlite else duckdb_table_names(opened, limits=limits)
    by_lower_name = {name_of.lower(): name_of for name_of in names}
    if name is None and len(names) != 1:
        raise UsageError(f"{path.name} contains {len(names)} tables", hint=f"--table NAME: {', '.join(names[:10]) or 'there is none'}")
    table_name = names[0] if name is None else by_lower_name.get(name.lower())
    if table_name is None:
        raise UsageError(f"{path.name} has no table {name!r}", hint=f"it contains {', '.join(names[:10]) or 'none'}")
    if in_sqlite:
        return _sqlite_table(opened, table_name, limits)
    read = read_duckdb(opened, names=[table_name], limits=limits)[table_name]
    if isinstance(read, Fault):
        raise FaultError(read.code, read.detail)
    assert isinstance(read, Table)
    return read


def is_sqlite(path: Path) -> bool:
    """Whether a file is a database of SQLite, by its first bytes."""
    with path.open("rb") as handle:
        return handle.read(16) == b"SQLite format 3\0"


def _sqlite_tables(path: Path) -> tuple[str, ...]:
    return tuple(row[0] for row in _sqlite_rows(path, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"))


def _sqlite_table(path: Path, name: str, limits: Limits) -> Table:
    quoted = name.replace('"', '""')
    header = [str(row[1]) for row in _sqlite_rows(path, f'PRAGMA table_info("{quoted}")')]
    rows = _sqlite_rows(path, f'SELECT * FROM "{quoted}" LIMIT {int(limits["rows"]) + 1}')
    # SQLite's types belong to values, not to columns: cells are compared as a CSV file would contain them.
    return _table_of_rows(header, rows, name, limits)


def _table_of_rows(header: Sequence[str], rows: Sequence[Sequence[Any]], name: str, limits: Limits) -> Table:
    """The table of rows as long as the header, cells as a CSV file would contain them."""
    if len(rows) > limits["rows"] or len(rows) * len(header) > limits["cells"]:
        raise FaultError("LIMIT", "has more rows or cells than the limits rows and cells allow")
    columns = tuple([None if row[i] is None else _text_of_value(row[i]) for row in rows] for i in range(len(header)))
    return Table(header=tuple(header), columns=columns, n_rows=len(rows), name=name)


def _sqlite_rows(path: Path, statement: str) -> list[tuple[Any, ...]]:
    """The rows of a statement; the file is opened so that SQLite neither writes to it nor looks for a journal."""
    import sqlite3

    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            return connection.execute(statement).fetchall()
    except sqlite3.Error:
        raise FaultError("BAD_DUCKDB", "cannot be read as SQLite") from None


def read_workbook(path: Path, limits: Limits, *, keep_unnamed: bool = False) -> tuple[list[str], list[list[Any]]]:
    """The header and the rows (as long as the header) of the first visible sheet of an Excel file; empty rows are left out.

    So are columns without a name; `keep_unnamed` keeps those that have a cell, but for the first column, which is an index.

    Raises:
        MissingExtraError: Excel's reader is not installed.
        UsageError: A file that cannot be read, an empty sheet, or formulas whose values are not saved.
        FaultError: LIMIT.
    """
    # openpyxl reads the system's table of MIME types, which a sandboxed worker may not open; it needs none of it.
    mimetypes.knownfiles.clear()
    try:
        import openpyxl  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        raise MissingExtraError(f"{path}: openpyxl is not installed", extra="xlsx") from None
    try:
        with zipfile.ZipFile(path) as archive:
            n_bytes = sum(part.file_size for part in archive.infolist())
        if n_bytes > limits["file_bytes"]:
            raise FaultError("LIMIT", f"has {n_bytes} bytes unpacked (limit file_bytes: {int(limits['file_bytes'])})")
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        sheet = _sheet_of(book)
        rows = _limited_rows(sheet.iter_rows(values_only=True), limits)
        unknown = _unsaved_formula(path, sheet, openpyxl.load_workbook)
        book.close()
    except (FaultError, MemoryError):
        raise
    except Exception:  # openpyxl passes on the errors of a broken archive: KeyError, BadZipFile, ParseError ...
        raise UsageError(f"{path}: not a readable Excel file", hint="save it again as .xlsx, or export the sheet as CSV") from None
    if unknown:
        hint = "open the file in a spreadsheet program and save it, or export the sheet as CSV"
        raise UsageError(f"{path}: the value of the formula in cell {unknown} is not saved in the file", hint=hint)
    if not rows:
        raise UsageError(f"{path}: its first sheet is empty", hint="the first row names the columns")
    return _columns_of(*rows, keep_unnamed=keep_unnamed)


def _columns_of(header: Sequence[Any], *rows: Sequence[Any], keep_unnamed: bool) -> tuple[list[str], list[list[Any]]]:
    """The names of the columns that are kept, and the rows with a cell for each."""
    names = {i: None for row in rows for i in range(len(row))} | dict(enumerate(header))
    filled = {i for row in rows for i, cell in enumerate(row) if cell is not None} if keep_unnamed and None in names.values() else set()
    kept = [i for i in sorted(names) if names[i] is not None or (i and i in filled)]
    return ["" if names[i] is None else str(names[i]) for i in kept], [[row[i] if i < len(row) else None for i in kept] for row in rows]


def _sheet_of(book: Any) -> Any:
    """The first visible sheet. Its rows end where they end: some programs write a wrong size of the sheet, which cuts it."""
    sheet = next((sheet for sheet in book.worksheets if sheet.sheet_state == "visible"), book.worksheets[0])
    sheet.reset_dimensions()
    return sheet


def _unsaved_formula(path: Path, sheet: Any, load: Callable[..., Any]) -> str:
    """The first cell with a formula whose value nobody has computed, as programs write it that cannot compute; empty if there is none.

    Such a cell has no value, or 0 in a file that asks for its formulas to be computed when it is opened.
    """
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist() if _PART_WITH_FORMULAS.match(name)}
    if not any(_FORMULA.search(part) for name, part in parts.items() if "workbook" not in name):
        return ""
    are_stale = any(_STALE.search(part) for name, part in parts.items() if "workbook" in name)
    book = load(path, read_only=True)
    for formulas, cells in zip(_sheet_of(book).iter_rows(), sheet.iter_rows(), strict=True):
        for formula, cell in zip(formulas, cells, strict=True):
            if formula.data_type == "f" and cell.data_type == "n" and (cell.value is None or (cell.value == 0 and are_stale)):
                return str(formula.coordinate)
    book.close()
    return ""


def _limited_rows(sheet: Iterable[Sequence[Any]], limits: Limits) -> list[list[Any]]:
    """The rows of a sheet that have a cell. A row may end before the header does. Raises LIMIT."""
    rows, n_cells, n_bytes = [], 0, 0
    for number, row in enumerate(sheet):
        n_cells += len(row)
        n_bytes += sum(len(cell) for cell in row if isinstance(cell, str))
        if number > limits["rows"] or n_cells > limits["cells"] or n_bytes > limits["table_bytes"]:
            raise FaultError("LIMIT", "has more rows, cells or bytes than the limits rows, cells and table_bytes allow")
        if any(cell is not None for cell in row):
            rows.append(list(map(_cell_value, row)))
    return rows


def _cell_value(cell: Any) -> Any:
    """A cell of a sheet: days and times as ISO texts, durations as `26:30:00`, texts with their line ends."""
    if isinstance(cell, str):
        return cell.replace(_LINE_END, "\r\n")
    if isinstance(cell, timedelta):
        minutes, seconds = divmod(abs(cell).total_seconds(), 60)
        return f"{'-' * (cell < timedelta())}{minutes // 60:.0f}:{minutes % 60:02.0f}:{seconds:02.0f}"
    return cell.isoformat() if isinstance(cell, date | time) else cell


def read_parquet(path: Path, limits: Limits) -> Table:
    """The rows of a Parquet file and nothing else: its name is no pattern, and folders named `year=2024` give no column.

    Raises:
        FaultError: WRONG_ANSWER_TYPE, BAD_DUCKDB or LIMIT.
    """
    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": 1,
        "autoload_known_extensions": False,
        "memory_limit": f"{int(limits['memory_mib']) // 2}MiB",
    }
    with open_trusted(path, limit_bytes=limits["file_bytes"]) as handle:
        if handle.read(4) != b"PAR1":
            raise FaultError("WRONG_ANSWER_TYPE", "is not a Parquet file")
        source = str(descriptor_path(handle.fileno()) if os.name == "posix" else path).replace("'", "''")
        try:
            with duckdb.connect(config=config) as connection:
                connection.execute("SET TimeZone = 'UTC'")
                read = read_rows(connection, path.name, path.name, f"read_parquet('{source}', hive_partitioning = false)", limits)
        except (MemoryError, duckdb.OutOfMemoryException):
            raise FaultError("LIMIT", "does not fit into memory_mib") from None
        except duckdb.Error:
            raise FaultError("BAD_DUCKDB", "cannot be read as Parquet") from None
    if isinstance(read, Fault):
        raise FaultError(read.code, read.detail)
    return read


def _are_flat(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(row, Mapping) and not any(isinstance(cell, Mapping | list) for cell in row.values()) for row in value)
    )


def _table_of_records(records: Sequence[Mapping[str, Any]], name: str) -> Table:
    header = tuple(dict.fromkeys(key for record in records for key in record))
    columns = tuple([None if (cell := record.get(key)) is None else _text_of_value(cell) for record in records] for key in header)
    return Table(header=header, columns=columns, n_rows=len(records), name=name)
