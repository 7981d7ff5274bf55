"""Load a table from a file that a person names, in any format: CSV, Parquet, JSON records, a table of a DuckDB file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import FaultError, UsageError
from evalsuite.core.types import Fault, Table
from evalsuite.readers.csv_table import read_csv_table
from evalsuite.readers.duckdb_tables import duckdb_table_names, read_duckdb
from evalsuite.readers.json_text import read_tree
from evalsuite.readers.limits import Limits
from evalsuite.readers.paths import open_trusted

DATABASES: Final = (".duckdb", ".ddb", ".db")
TREES: Final = (".json", ".jsonl")
ENDINGS: Final = (".csv", ".parquet", *TREES, *DATABASES)
_PACKED: Final = (".gz", ".bz2", ".xz")


def ending_of(path: Path) -> str:
    """The member of `ENDINGS` that a file has, for CSV without that of its compression; empty if it has none of them."""
    last, before = path.suffix.lower(), Path(path.stem).suffix.lower()
    return ".csv" if last in _PACKED and before == ".csv" else last if last in ENDINGS else ""


def load_table(path: Path, limits: Limits, *, table: str | None = None, private: Path | None = None) -> Any:
    """A `Table`, or the value of a JSON file that is not a list of flat records.

    `table` names one of a DuckDB file that has several, `private` is a copy of it that no other process can reach. Cells of CSV and JSON
    are text, others native.

    Raises:
        FaultError: The readers' faults, with the file's name.
        UsageError: A database of several tables and no name, or no such table.
    """
    ending = ending_of(path)
    try:
        if ending in DATABASES:
            return _database_table(path, limits, table, private or path)
        if ending == ".parquet":
            return _parquet_table(path, limits)
        with open_trusted(path, limit_bytes=limits["file_bytes"]) as handle:
            if ending in TREES:
                value = read_tree(handle, name=path.name, limits=limits)
                return _table_of_records(value, path.name) if _are_flat(value) else value
            return read_csv_table(handle, name=path.name, limits=limits)
    except FaultError as error:
        raise FaultError(error.fault.code, error.fault.detail, where=str(path)) from None


def as_texts(table: Table) -> Table:
    """The table with cells as a CSV file would contain them, to compare a typed table with one of texts."""
    if table.types is None:
        return table
    columns = tuple([None if cell is None else _written(cell) for cell in column] for column in table.columns)
    return replace(table, columns=columns, types=None)


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _database_table(path: Path, limits: Limits, name: str | None, opened: Path) -> Table:
    names = duckdb_table_names(opened, limits=limits)
    known = {one.lower(): one for one in names}
    if name is None and len(names) != 1:
        raise UsageError(f"{path.name} contains {len(names)} tables", hint=f"--table NAME: {', '.join(names[:10]) or 'there is none'}")
    wanted = names[0] if name is None else known.get(name.lower())
    if wanted is None:
        raise UsageError(f"{path.name} has no table {name!r}", hint=f"it contains {', '.join(names[:10]) or 'none'}")
    read = read_duckdb(opened, names=[wanted], limits=limits)[wanted]
    if isinstance(read, Fault):
        raise FaultError(read.code, read.detail)
    assert isinstance(read, Table)
    return read


def _parquet_table(path: Path, limits: Limits) -> Table:
    """The rows of a Parquet file. It is loaded into a database in memory, so that its cells are read like those of any other."""
    import duckdb

    with open_trusted(path, limit_bytes=limits["file_bytes"]) as handle:
        if handle.read(4) != b"PAR1":
            raise FaultError("WRONG_ANSWER_TYPE", "is not a Parquet file")
    try:
        with duckdb.connect(config={"threads": 1, "autoload_known_extensions": False}) as connection:
            rows = connection.execute("SELECT * FROM read_parquet(?)", [str(path)])
            described = [(str(name), str(type_)) for name, type_, *_ in rows.description]
            cells = rows.fetchmany(int(limits["rows"]) + 1)
    except duckdb.Error:
        raise FaultError("BAD_DUCKDB", "cannot be read as Parquet") from None
    if len(cells) > limits["rows"] or len(cells) * len(described) > limits["cells"]:
        raise FaultError("LIMIT", "has more rows or cells than the limits rows and cells allow")
    columns = tuple(map(list, zip(*cells, strict=True))) if cells else tuple([] for _ in described)
    types = tuple("VARCHAR" if type_ == "STRING" else type_ for _, type_ in described)
    return Table(header=tuple(name for name, _ in described), columns=columns, n_rows=len(cells), types=types, name=path.name)


def _are_flat(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(row, Mapping) and not any(isinstance(cell, Mapping | list) for cell in row.values()) for row in value)
    )


def _table_of_records(records: Sequence[Mapping[str, Any]], name: str) -> Table:
    header = tuple(dict.fromkeys(key for record in records for key in record))
    columns = tuple([None if (cell := record.get(key)) is None else _written(cell) for record in records] for key in header)
    return Table(header=header, columns=columns, n_rows=len(records), name=name)
