"""Base tables of a DuckDB file -> `Table`s of native values. The file is hostile: copied, attached locked down, never queried by name.

What a file can still do is kill the process (a crafted one makes duckdb segfault), so submissions are read in a worker.
"""

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from evalsuite.errors import FaultError
from evalsuite.readers import duckdb_digests
from evalsuite.readers.duckdb_connections import answer_attached, gold_attached
from evalsuite.readers.duckdb_views import RefusedViewError, expanded_view
from evalsuite.readers.limits import Limits
from evalsuite.tables.digested import AnyTable, Digest, DigestedTable
from evalsuite.types import Fault, Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# From so many rows on, arrays cost less than values.
ARRAY_ROWS = 2_000
_TARGET_CHUNK_BYTES = 4 << 20
_FIRST_CHUNK_ROWS = 64
_MOST_CHUNK_ROWS = 50_000
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
_GENERATED = re.compile(r"\bGENERATED\s+ALWAYS\b", re.IGNORECASE)
# Types whose native value loses digits or needs pytz are fetched as text, in UTC.
_AS_INSTANT = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ", "TIMESTAMP_NS")
# Makes what to be blamed with of the fault that a table shows only when all of it is read.
Blame = Callable[[FaultError], Exception]
# Names and types of columns.
Described = tuple[tuple[str, ...], tuple[str, ...]]
_SIZED = ("VARCHAR", "BLOB", "JSON", "BIT", "BIGNUM", "GEOMETRY")


def read_duckdb(
    source: Path | BinaryIO, *, names: Sequence[str] | None, limits: Limits, as_it_comes: bool = False, stem: str = ""
) -> dict[str, AnyTable | Fault]:
    """Each named table (None: all base tables, in the order of `duckdb_table_names`) as a Table, or the Fault in its place.

    Names fold case and are keys as they were given. `types` holds duckdb's type names; cells are native values in stored order, but
    TIMESTAMPTZ is an aware datetime in UTC, and an instant Python cannot hold (infinity, nanoseconds, year 10000) stays text.
    A handle is copied first; a Path is taken as private already and opened where it lies. A view over base tables of the file is read as a
    table that says so; `stem` is the name that its texts may call the database by, that of the file as it was handed in.
    `as_it_comes` takes tables of many rows as arrays, and very big ones of a Path as `DigestedTable`s: the Path must stay as long as they
    may be asked for their rows.

    Raises:
        FaultError: BAD_DUCKDB, or LIMIT where memory runs out. MISSING_TABLE, NOT_A_TABLE and LIMIT of one table stand in the result.
    """
    with answer_attached(source, limits) as connection:
        catalog = _Catalog(connection, "answer", stem)
        wanted = catalog.table_names() if names is None else names
        if not as_it_comes or not isinstance(source, Path):
            return {name: catalog.read(name, limits, as_arrays=as_it_comes) for name in wanted}
        salt = secrets.randbits(duckdb_digests.SALT_BITS)
        read: dict[str, AnyTable | Fault] = {}
        for name in wanted:
            table = catalog.digested(name, limits)
            known = catalog.digest(table, salt) if table is not None else None
            if table is None or known is None:
                read[name] = catalog.read(name, limits, as_arrays=True)
            else:
                read[name] = replace(table, known=known, source=_AnswerTable(source, name, limits))
        return read


def duckdb_table_names(source: Path | BinaryIO, *, limits: Limits) -> list[str]:
    """The names of the base tables of schema main, sorted as `SHOW TABLES` sorts them."""
    with answer_attached(source, limits) as connection:
        return _Catalog(connection, "answer").table_names()


def read_trusted_duckdb(
    path: Path, *, names: Sequence[str] | None, limits: Limits, blame: Blame | None = None
) -> dict[str, AnyTable | Fault]:
    """`read_duckdb` for a gold database: attached read-only to one connection that lives as long as the process.

    Opening a connection anew costs 20 ms, attaching a file half a millisecond. No file of a submission ever reaches this connection. With
    `blame` tables come `as_it_comes`; it makes what gold is blamed with where a file turns out to be at fault later.
    """
    with gold_attached(path, limits) as connection:
        catalog = _Catalog(connection, "gold")
        wanted = catalog.table_names() if names is None else names
        if blame is None:
            return {name: catalog.read(name, limits) for name in wanted}
        read = {name: catalog.digested(name, limits) or catalog.read(name, limits, as_arrays=True) for name in wanted}
    for name, table in read.items():
        if isinstance(table, DigestedTable):
            read[name] = replace(table, source=_GoldTable(path, name, limits, blame))
    return read


@dataclass(frozen=True, slots=True)
class _AnswerTable:
    """A big table of a private copy."""

    path: Path
    name: str
    limits: Limits

    def digest(self, salt: int) -> Digest | None:
        """Nothing: its digest was worked out when the file was read."""
        return None

    def rows(self) -> Table | Fault:
        """The table, or why it is not read."""
        try:
            with answer_attached(self.path, self.limits) as connection:
                return _Catalog(connection, "answer").read(self.name, self.limits, as_arrays=True)
        except FaultError as error:
            return error.fault


@dataclass(frozen=True, slots=True)
class _GoldTable(_AnswerTable):
    """A big table of gold."""

    blame: Blame

    def digest(self, salt: int) -> Digest | None:
        """The digest, None where equal cells are not all there is to the table."""
        try:
            with gold_attached(self.path, self.limits) as connection:
                catalog = _Catalog(connection, "gold")
                table = catalog.digested(self.name, self.limits)
                return catalog.digest(table, salt, self.limits) if table is not None else None
        except FaultError:
            return None

    def rows(self) -> Table | Fault:
        """The table, or why it is not read. Raises what gold is blamed with."""
        try:
            with gold_attached(self.path, self.limits) as connection:
                return _Catalog(connection, "gold").read(self.name, self.limits, as_arrays=True)
        except FaultError as error:
            raise self.blame(error) from None


def trusted_table_names(path: Path, *, limits: Limits) -> list[str]:
    """`duckdb_table_names` for a gold database."""
    with gold_attached(path, limits) as connection:
        return _Catalog(connection, "gold").table_names()


class _Catalog:
    """What a connection's file holds in schema main.

    The catalog is asked through system.main and without any function by its bare name: a macro of the file can shadow those.
    """

    def __init__(self, connection: "DuckDBPyConnection", database: str, stem: str = "") -> None:
        self.connection, self._stem = connection, stem
        rows = connection.execute(
            "SELECT database_name, table_name, estimated_size, column_count, sql, schema_name FROM system.main.duckdb_tables() "
            "WHERE NOT internal AND NOT temporary"
        ).fetchall()
        self._rows = [row for row in rows if row[0] == database]
        self.tables = {str(row[1]).lower(): row for row in self._rows if row[5] == "main"}

    def has_view(self, name: str) -> bool:
        """Whether a view of that name stands in schema main."""
        views = self.connection.execute(
            "SELECT view_name FROM system.main.duckdb_views() WHERE schema_name = 'main' AND NOT internal"
        ).fetchall()
        return name.lower() in {str(view).lower() for (view,) in views}

    def table_names(self) -> list[str]:
        """Base tables, sorted by code point."""
        return sorted(str(row[1]) for row in self.tables.values())

    def digested(self, name: str, limits: Limits) -> DigestedTable | None:
        """A big table of plain types as one that can be digested, without its digest; None where it has to be read."""
        row = self.tables.get(name.lower())
        if row is None or row[2] < duckdb_digests.DIGESTED_ROWS or self._refusal(name, row, limits) is not None:
            return None
        header, types = self._described(_place(row))
        return DigestedTable(header=header, types=types, name=str(row[1])) if duckdb_digests.are_plain(types) else None

    def digest(self, table: DigestedTable, salt: int, limits: Limits | None = None) -> Digest | None:
        """The digest of a table; with limits, None where equal cells are not all there is to it."""
        place, columns = _place(self.tables[table.name.lower()]), [quoted_name(name) for name in table.header]
        types = table.types or ()
        if limits is not None and not duckdb_digests.is_plain(self.connection, place, columns, types, limits):
            return None
        return duckdb_digests.read_digest(self.connection, place, columns, types, salt)

    def read(self, name: str, limits: Limits, *, as_arrays: bool = False) -> Table | Fault:
        """One table, or why it is not read; `as_arrays` where it has many rows and plain types."""
        row = self.tables.get(name.lower())
        if row is None:
            if self.has_view(name):
                return self._read_view(name, limits)
            return Fault(code="MISSING_TABLE", detail=f"the database has no table {name!r} in schema main")
        refusal = self._refusal(name, row, limits)
        if refusal is not None:
            return refusal
        place, stored = _place(row), str(row[1])
        if as_arrays and row[2] >= ARRAY_ROWS and (found := self._fetch_arrays(name, stored, place, limits)) is not None:
            return found
        return self._fetch(name, stored, place, limits)

    def _refusal(self, name: str, row: tuple[Any, ...], limits: Limits) -> Fault | None:
        """Why a table is not read, as far as the catalog tells."""
        _, _, n_rows, n_columns, sql, _ = row
        if _GENERATED.search(_QUOTED.sub("", str(sql))):
            return Fault(code="NOT_A_TABLE", detail=f"{name!r} has generated columns; hand in plain ones")
        for limit, size in (("rows", n_rows), ("columns", n_columns), ("cells", n_rows * n_columns)):
            if size > limits[limit]:
                return Fault(code="LIMIT", detail=f"{name!r} has {size} {limit} (limit {limit}: {int(limits[limit])})")
        return None

    def _described(self, place: str) -> Described:
        """The columns of a table; the catalog would list those of the system too, for four times as much."""
        return _described(self.connection.execute(f"SELECT * FROM {place} LIMIT 0"))

    def _fetch_arrays(self, name: str, stored: str, place: str, limits: Limits) -> Table | Fault | None:
        """All rows of a table of plain types, one column after the other; None where a cell is none that Python can hold."""
        header, types = self._described(place)
        if not duckdb_digests.are_plain(types):
            return None
        quoted = list(map(quoted_name, header))
        size = duckdb_digests.read_size(self.connection, place, quoted, types)
        if size is None:
            return None
        if size > limits["table_bytes"]:
            return _more(name, f"than {int(limits['table_bytes'])} bytes (limit table_bytes)")
        columns = [duckdb_digests.read_array(self.connection, place, *column) for column in zip(quoted, types, strict=True)]
        n_rows = len(columns[0])
        if n_rows > limits["rows"] or n_rows * len(header) > limits["cells"] or any(len(column) != n_rows for column in columns):
            return _more(name, "rows than it says (limits rows and cells)")
        return Table(header=header, columns=tuple(columns), n_rows=n_rows, types=types, name=stored)

    def _read_view(self, name: str, limits: Limits) -> Table | Fault:
        """The rows of a view over base tables of an answer's own file, or why it is not read."""
        import duckdb

        if not self._stem:
            return Fault(code="NOT_A_TABLE", detail=f"{name!r} is a view; hand in a table")
        rows = [(str(row[5]), str(row[1])) for row in self._rows if self._refusal(name, row, limits) is None]
        tables = {(schema.lower(), table.lower()): (schema, table) for schema, table in rows}
        # duckdb calls a database by its file's name up to the first dot.
        catalogs = {self._stem.lower(), self._stem.lower().partition(".")[0], "answer"} - {""}
        try:
            query = expanded_view(self.connection, "answer", name, tables=tables, catalogs=catalogs)
            described = [(str(row[0]), str(row[1])) for row in self.connection.execute(f"DESCRIBE {query}").fetchall()]
            if len(described) > limits["columns"] or len({column.lower() for column, _ in described}) < len(described):
                return Fault(code="NOT_A_TABLE", detail=f"{name!r} is a view with columns of one name, or too many; hand in a table")
            found = self._fetch(name, name, f"({query})", limits)
        except RefusedViewError as refused:
            return Fault(code="NOT_A_TABLE", detail=f"{name!r} is a view that {refused}; hand in a table")
        except (duckdb.ProgrammingError, duckdb.DataError, duckdb.NotSupportedError):
            return Fault(code="NOT_A_TABLE", detail=f"{name!r} is a view that cannot be run; hand in a table")
        return replace(found, is_view=True) if isinstance(found, Table) else found

    def _fetch(self, name: str, stored: str, place: str, limits: Limits) -> Table | Fault:
        """The rows of what stands behind FROM, in chunks small enough for the byte cap to act between them."""
        header, types = _described(self.connection.execute(f"SELECT * FROM {place}"))
        if any(map(_needs_text, types)):
            selected = ", ".join(map(_expression, header, types))
            self.connection.execute(f"SELECT {selected} FROM {place}")
        columns: list[list[Any]] = [[] for _ in header]
        n_bytes, n_rows, chunk = 0, 0, _FIRST_CHUNK_ROWS
        while rows := self.connection.fetchmany(chunk):
            n_rows += len(rows)
            for index, cells in enumerate(zip(*rows, strict=True)):
                n_bytes += _bytes_of_cells(cells, types[index])
                columns[index].extend(map(_instant, cells) if types[index] in _AS_INSTANT else cells)
            if n_bytes > limits["table_bytes"]:
                return _more(name, f"than {int(limits['table_bytes'])} bytes (limit table_bytes)")
            if n_rows > limits["rows"] or n_rows * len(header) > limits["cells"]:
                return _more(name, "rows than it says (limits rows and cells)")
            chunk = max(1, min(_MOST_CHUNK_ROWS, chunk * 4, _TARGET_CHUNK_BYTES * n_rows // n_bytes))
        return Table(header=header, columns=tuple(columns), n_rows=n_rows, types=types, name=stored)


def _more(name: str, what: str) -> Fault:
    return Fault(code="LIMIT", detail=f"{name!r} has more {what}")


def quoted_name(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _place(row: Sequence[Any]) -> str:
    """A table of the catalog as it stands behind FROM."""
    return f"{quoted_name(str(row[0]))}.main.{quoted_name(str(row[1]))}"


def _described(result: "DuckDBPyConnection") -> Described:
    columns = result.description or []
    return tuple(str(column[0]) for column in columns), tuple(str(column[1]) for column in columns)


def _needs_text(type_: str) -> bool:
    """Whether the client cannot make a native value of a type."""
    return "TIME ZONE" in type_ or type_ in _AS_INSTANT


def _expression(column: str, type_: str) -> str:
    """What to select for a column: itself or its text."""
    return f"CAST({quoted_name(column)} AS VARCHAR)" if _needs_text(type_) else quoted_name(column)


def _bytes_of_cells(cells: Sequence[Any], type_: str) -> int:
    """About how many bytes cells take; at least 8 each."""
    if type_.startswith(_SIZED):
        return sum(len(cell) for cell in cells if cell is not None) + 8 * len(cells)
    if type_.endswith("]") or type_.startswith(("STRUCT", "MAP", "UNION", "VARIANT")):
        return sum(len(str(cell)) for cell in cells) + 8 * len(cells)
    return 8 * len(cells)


def _instant(text: str | None) -> datetime | str | None:
    """The datetime an ISO text names where Python can hold it exactly, else the text."""
    if text is None or re.search(r"\.\d{6}0*[1-9]", text):
        return text
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return text
