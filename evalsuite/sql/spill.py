"""Results of any size: collected chunk by chunk, held in memory up to a cap, beyond it in Parquet files read back part by part.

A folder of parts is also the form in which a result is saved and cached: `part-00000.parquet`, ... with columns c0, c1, ... and
`table.json` with the header and the types. Written and read by an own DuckDB connection that never sees a submission's statement.
"""

import itertools
import json
import os
import threading
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from evalsuite.errors import FaultError
from evalsuite.sql import cell_forms
from evalsuite.sql.session import QueryLimits
from evalsuite.types import Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PART_ROWS = 50_000
_INDEX = "table.json"
_CELL_BYTES = 8
_SIZED = {str, bytes, type(None)}


class Collector:
    """Takes a result's chunks in order and gives its `Table`; raises LIMIT as soon as one of the limits is passed."""

    def __init__(self, header: Sequence[str], types: Sequence[str] | None, limits: QueryLimits, folder: Path | None) -> None:
        if len(header) > limits.columns:
            raise FaultError("LIMIT", f"the result has {len(header)} columns (limit columns: {limits.columns})")
        self.n_bytes = self.n_rows = 0
        self._header, self._types = tuple(header), None if types is None else tuple(types)
        self._limits, self._folder = limits, folder
        self._kinds = [cell_forms.ColumnKind() for _ in header] if types is None else []
        self._held: list[list[Any]] = [[] for _ in header]
        self._held_bytes = 0
        self._parts: list[int] = []

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        """Take a chunk of rows of neutral cells."""
        self.add_columns(list(zip(*rows, strict=True)), len(rows))

    def add_columns(self, columns: Sequence[Sequence[Any]], n_rows: int) -> None:
        """Take a chunk of so many rows by its columns."""
        self.n_rows += n_rows
        if self.n_rows > self._limits.rows:
            raise FaultError("LIMIT", f"the result has more than {self._limits.rows} rows (limit rows)")
        for index, column in enumerate(columns):
            self._held_bytes += bytes_of_cells(column)
            self._held[index].extend(column)
            if self._kinds:
                self._kinds[index].see(column)
        if self.n_bytes + self._held_bytes > self._limits.result_bytes:
            raise FaultError("LIMIT", f"the result has more than {self._limits.result_bytes} bytes (limit result_bytes)")
        if self._held_bytes > self._limits.held_bytes or (self._parts and len(self._held[0]) >= PART_ROWS):
            self._spill()

    def table(self) -> Table:
        """The whole result; its columns are lists, or read back from the folder where it was spilled."""
        types = self._types or tuple(kind.name for kind in self._kinds)
        if not self._parts:
            self.n_bytes += self._held_bytes
            return Table(header=self._header, columns=tuple(self._held), n_rows=self.n_rows, types=types)
        if self._held[0]:
            self._spill()
        assert self._folder is not None
        _write_index(self._folder, self._header, types, self._stored_types(), self._parts)
        return load_table(self._folder)

    def _stored_types(self) -> tuple[str, ...]:
        return self._types or (cell_forms.ANY,) * len(self._header)

    def _spill(self) -> None:
        if self._folder is None:
            raise FaultError("LIMIT", f"the result has more than {self._limits.held_bytes} bytes (limit table_bytes)")
        write_part(self._folder, len(self._parts), self._held, self._stored_types())
        self._parts.append(len(self._held[0]))
        self.n_bytes, self._held_bytes = self.n_bytes + self._held_bytes, 0
        self._held = [[] for _ in self._header]


def bytes_of_cells(column: Sequence[Any]) -> int:
    """About how many bytes the cells take: 8 each, and their length where they are text or bytes."""
    kinds = set(map(type, column))
    if kinds <= _SIZED:
        return _CELL_BYTES * len(column) + sum(map(len, filter(None, column)))
    return _CELL_BYTES * len(column) + (sum(len(cell) for cell in column if isinstance(cell, str | bytes)) if kinds & _SIZED else 0)


def save_table(table: Table, folder: Path) -> None:
    """Write a table of neutral cells as a folder of parts; one that is spilled is copied part by part, never held whole."""
    types = table.types or ("VARCHAR",) * len(table.header)
    stored = tuple(type_ if cell_forms.is_typed(type_) else cell_forms.ANY for type_ in types)
    counts: list[int] = []
    for start in range(0, table.n_rows, PART_ROWS):
        part = [list(column[start : start + PART_ROWS]) for column in table.columns]
        write_part(folder, len(counts), part, stored)
        counts.append(min(PART_ROWS, table.n_rows - start))
    _write_index(folder, table.header, types, stored, counts)


def load_table(folder: Path) -> Table:
    """The table saved in a folder; its cells are read when they are asked for. Raises OSError or ValueError where there is none."""
    index = json.loads((folder / _INDEX).read_text(encoding="utf-8"))
    counts = tuple(index["parts"])
    columns = tuple(SpilledColumn(folder, position, type_, counts) for position, type_ in enumerate(index["stored"]))
    return Table(header=tuple(index["header"]), columns=columns, n_rows=sum(counts), types=tuple(index["types"]))


def write_part(folder: Path, number: int, columns: Sequence[Sequence[Any]], types: Sequence[str]) -> None:
    """Write one part. A column whose cells do not fit its type (a decimal that is no number) stands in this part as text."""
    import duckdb

    folder.mkdir(parents=True, exist_ok=True)
    encoded = [cell_forms.encode(column, type_) for column, type_ in zip(columns, types, strict=True)]
    parquet = [cell_forms.parquet_type(type_) for type_ in types]
    try:
        _copy(folder / _part_name(number), encoded, parquet)
    except duckdb.Error:
        _copy(folder / _part_name(number), encoded, ["VARCHAR"] * len(types))


def _copy(file: Path, columns: list[list[str | None]], types: list[str]) -> None:
    parts = []
    for index, type_ in enumerate(types):
        text = f"unnest(${index + 1}::VARCHAR[])"
        parts.append(f"{f'unhex({text})' if type_ == 'BLOB' else f'CAST({text} AS {type_})'} AS c{index}")
    name = str(file).replace("'", "''")
    _own_connection(os.getpid(), threading.get_ident()).execute(f"COPY (SELECT {', '.join(parts)}) TO '{name}' (FORMAT parquet)", columns)


def _write_index(folder: Path, header: Sequence[str], types: Sequence[str], stored: Sequence[str], counts: Sequence[int]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    index = {"header": list(header), "types": list(types), "stored": list(stored), "parts": list(counts)}
    (folder / _INDEX).write_text(json.dumps(index), encoding="utf-8")


class SpilledColumn(Sequence[Any]):
    """A column that lies in Parquet parts; at most one part of it is in memory. Pickles as the place where it lies."""

    def __init__(self, folder: Path, position: int, type_: str, counts: tuple[int, ...]) -> None:
        self._folder, self._position, self._type, self._counts = folder, position, type_, counts
        self._starts = [0, *itertools.accumulate(counts)]

    def __len__(self) -> int:
        return self._starts[-1]

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        import bisect

        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return [self[position] for position in range(start, stop, step)]
            return list(itertools.islice(self._from(start), max(0, stop - start)))
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(index)
        part = bisect.bisect_right(self._starts, position) - 1
        return self._part(part)[position - self._starts[part]]

    def __iter__(self) -> Iterator[Any]:
        return self._from(0)

    def _from(self, start: int) -> Iterator[Any]:
        for number, first in enumerate(self._starts[:-1]):
            if self._starts[number + 1] > start:
                yield from self._part(number)[max(0, start - first) :]

    def _part(self, number: int) -> list[Any]:
        return _read_part(self._folder, number, self._position, self._type, os.getpid())


@lru_cache(maxsize=8)
def _read_part(folder: Path, number: int, position: int, type_: str, process: int) -> list[Any]:
    connection = _own_connection(process, threading.get_ident())
    file = str(folder / _part_name(number))
    connection.execute(f"SELECT c{position} FROM read_parquet($1) LIMIT 0", [file])
    is_bytes = str(connection.description[0][1]) == "BLOB"
    shown = f"hex(c{position})" if is_bytes else f"CAST(c{position} AS VARCHAR)"
    rows = connection.execute(f"SELECT {shown} FROM read_parquet($1)", [file]).fetchall()
    return cell_forms.decode((row[0] for row in rows), type_)


def _part_name(number: int) -> str:
    return f"part-{number:05}.parquet"


@lru_cache(maxsize=64)
def _own_connection(_process: int, _thread: int) -> "DuckDBPyConnection":
    """A connection of this process (a fork must not share it) and of this thread (two results would mix).

    It reads and writes parts in one thread, in order.
    """
    import duckdb

    connection = duckdb.connect(config={"threads": "1", "autoinstall_known_extensions": "false", "python_enable_replacements": "false"})
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")
    return connection
