"""DuckDB: a database file, or a folder of .csv and .parquet files with a view for each; locked down before a statement is seen."""

import contextlib
import logging
from collections.abc import Generator, Iterator, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalsuite.errors import FaultError, UsageError
from evalsuite.sql.arrow_stream import StreamError
from evalsuite.sql.cell_forms import INSTANT, INTEGERS, decode
from evalsuite.sql.clock import asks_time, duckdb_macros, frozen
from evalsuite.sql.duckdb_lines import line_query, read_lines
from evalsuite.sql.duckdb_statement import refuse_changes
from evalsuite.sql.session import (
    NOT_SELECT,
    OUTSIDE,
    Connection,
    Lines,
    QueryLimits,
    Stream,
    digest_of,
    existing,
    not_allowed,
    part_named,
    sql_error,
    text_of,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_log = logging.getLogger(__name__)

_MAGIC = b"DUCK"
_CHUNK_ROWS = 2048
_CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "threads": "1",
}
# The order matters: once external access is off, the folder of temporary files cannot be taken away any more.
_LOCKS = (
    "temp_directory = ''",
    "max_temp_directory_size = '0KB'",
    "enable_external_access = false",
    "TimeZone = 'UTC'",
    "enable_progress_bar = false",
    "lock_configuration = true",
)
_READERS = {".csv": "read_csv", ".parquet": "read_parquet"}
# The text of each view and macro that the database brings.
_MADE = """SELECT sql FROM duckdb_views() WHERE NOT internal
UNION ALL SELECT macro_definition FROM duckdb_functions() WHERE NOT internal"""
# Types whose cells are neutral as duckdb gives them.
_NEUTRAL = INTEGERS | {"DOUBLE", "FLOAT", "BOOLEAN", "VARCHAR", "BLOB"}
# The client makes other values of these than the database holds (an infinite date becomes the last day), so their text is fetched.
_INSTANTS = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ")
_AS_TEXT = (
    *_INSTANTS,
    "DATE",
    "TIMESTAMP",
    "TIMESTAMP_S",
    "TIMESTAMP_MS",
    "TIMESTAMP_NS",
    "INTERVAL",
    "TIME WITH TIME ZONE",
    "TIMETZ",
    "BIT",
)
_NESTED = ("STRUCT", "MAP", "UNION", "VARIANT")


def open_session(connection: Connection, limits: QueryLimits) -> "DuckdbSession":
    """An open session; raises `UsageError` where the database is no DuckDB file and no folder."""
    path = existing(connection)
    if path.is_dir():
        opened, files = _open_folder(path, limits, connection.name)
    else:
        with path.open("rb") as handle:
            if handle.read(12)[8:] != _MAGIC:
                raise UsageError(f"connection {connection.name!r}: {path.name} is no DuckDB database", hint="check `database`")
        # A log of changes beside the file is replayed when it is opened, even read-only.
        files = [file for file in (path, path.with_name(path.name + ".wal")) if file.exists()]
        opened = _open_file(path, limits, connection.name)
    for macro in duckdb_macros(limits.clock) if limits.clock else ():
        opened.execute(macro)
    for setting in _LOCKS:
        opened.execute(f"SET {setting}")
    return DuckdbSession(opened, files, limits.clock)


def _config(limits: QueryLimits) -> dict[str, str | bool | int | float | list[str]]:
    return {**_CONFIG, "memory_limit": f"{max(64, limits.memory_mib // 2)}MiB"}


def _open_file(path: Path, limits: QueryLimits, name: str) -> "DuckDBPyConnection":
    import duckdb

    try:
        return duckdb.connect(text_of(path), read_only=True, config=_config(limits))
    except (duckdb.Error, RuntimeError) as error:
        _log.debug("duckdb: %r", error)
        raise UsageError(f"connection {name!r}: {path.name} cannot be opened read-only", hint="is another process writing to it?") from None


def _open_folder(folder: Path, limits: QueryLimits, name: str) -> "tuple[DuckDBPyConnection, list[Path]]":
    """A connection in memory with a view `<file's stem>` for each file directly in the folder; only these files can be read."""
    import duckdb

    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in _READERS and path.is_file())
    if not files:
        raise UsageError(f"connection {name!r}: no .csv and no .parquet file in {folder.name}", hint="check `database`")
    opened = duckdb.connect(config=_config(limits))
    try:
        for path in files:
            view = text_of(Path(path.stem)).replace('"', '""')
            opened.execute(f'CREATE VIEW "{view}" AS FROM {_READERS[path.suffix.lower()]}({_quoted(path)})')
        opened.execute(f"SET allowed_paths = [{', '.join(map(_quoted, files))}]")
    except (duckdb.Error, UnicodeDecodeError) as error:
        _log.debug("duckdb: %r", error)
        raise UsageError(f"connection {name!r}: {path.name} cannot be read as a table", hint="one name must not stand twice") from None
    return opened, files


def _quoted(path: Path) -> str:
    return "'" + text_of(path).replace("'", "''") + "'"


class DuckdbSession:
    """One locked connection."""

    billed_bytes: int | None = None

    def __init__(self, connection: "DuckDBPyConnection", files: Sequence[Path], clock: int = 0) -> None:
        self.connection, self._clock = connection, clock
        self._files = files
        self._lines: Generator[Lines] | None = None

    def stream(self, sql: str, *, as_text: bool = False) -> Stream:
        """The result of one SELECT, chunk by chunk."""
        sql = frozen(sql, "duckdb", self._clock)
        with _faults(sql):
            refuse_changes(self.connection, sql)
            described = self.connection.execute(f"DESCRIBE {sql}").fetchall()
            header, types = tuple(str(row[0]) for row in described), tuple(_type_name(str(row[1])) for row in described)
            names = ", ".join(f"c{index}" for index in range(len(header)))
            own = [str(row[1]) for row in described]
            expressions = [_expression(f"c{index}", type_) for index, type_ in enumerate(own)]
            if as_text and (written := line_query(sql, own, expressions)):
                self._lines = self._read_lines(written, own)
                return Stream(header=header, types=types, chunks=iter(()), lines=self._lines)
            # A line of its own for the bracket: the statement may end in a comment.
            self.connection.execute(f"SELECT {', '.join(expressions)} FROM (\n{sql}\n) AS answer({names})")
        return Stream(header=header, types=types, chunks=self._chunks(own))

    def _chunks(self, types: Sequence[str]) -> Iterator[Sequence[Sequence[Any]]]:
        with _faults():
            while rows := self.connection.fetchmany(_CHUNK_ROWS):
                columns = [_neutral_cells(column, type_) for column, type_ in zip(zip(*rows, strict=True), types, strict=True)]
                yield list(zip(*columns, strict=True))

    def _read_lines(self, written: str, types: Sequence[str]) -> Generator[Lines]:
        with _faults():
            try:
                yield from read_lines(self.connection.sql(written).__arrow_c_stream__(), types)
            except StreamError as error:
                _log.debug("duckdb: %s", error)
                if str(error).startswith("INTERRUPT"):
                    raise sql_error("other") from None
                # The stream has words for its error and no kind: the rows, asked for once more, raise it.
                self.connection.execute(written)
                while self.connection.fetchmany(_CHUNK_ROWS):
                    pass
                raise FaultError("LIMIT", "some rows of the result are too long to be read at once") from None

    def cancel(self) -> None:
        """Interrupt; duckdb heeds it between two chunks of its work."""
        self.connection.interrupt()

    def describe(self) -> str:
        """`DuckDB v2.0.0, 1 file`."""
        row = self.connection.execute("SELECT version()").fetchone()
        return f"DuckDB {row[0] if row else ''}, {len(self._files)} file{'s' * (len(self._files) > 1)}"

    def fingerprint(self) -> str | None:
        """A digest of every byte of the file, or of the folder's files; None where a view or macro of it asks a clock that goes."""
        made = [] if self._clock else self.connection.execute(_MADE).fetchall()
        return None if any(asks_time(text or "", "duckdb") for (text,) in made) else digest_of(self._files)

    def close(self) -> None:
        """Close the connection, and the stream of its last statement, wherever it stands."""
        if self._lines is not None:
            self._lines.close()
        self.connection.close()


def _is_nested(type_: str) -> bool:
    return type_.endswith("]") or type_.startswith(_NESTED)


def _type_name(type_: str) -> str:
    if type_ in _INSTANTS:
        return INSTANT
    if _is_nested(type_):
        return "JSON"
    return "TIMESTAMP" if type_.startswith("TIMESTAMP_") else "VARCHAR" if type_.startswith("ENUM") else type_


def _expression(column: str, type_: str) -> str:
    if _is_nested(type_):
        return f"CAST(system.main.to_json({column}) AS VARCHAR)"
    return f"CAST({column} AS VARCHAR)" if type_ in _AS_TEXT else column


def _neutral_cells(column: Sequence[Any], type_: str) -> Sequence[Any]:
    """Neutral cells; a nanosecond that Python would drop keeps its text."""
    name = _type_name(type_)
    if type_ in _NEUTRAL:
        return column
    if type_ == "TIMESTAMP_NS":
        return [text if text is not None and len(text) > len("2020-01-01 00:00:00.000000") else decode([text], name)[0] for text in column]
    if type_ in _AS_TEXT and name in ("DATE", "TIMESTAMP", INSTANT):
        return decode(column, name)
    return [cell if not isinstance(cell, date | time | datetime) or isinstance(cell, time) else str(cell) for cell in column]


@contextlib.contextmanager
def _faults(sql: str = "") -> Iterator[None]:
    """Turn what duckdb raises into a fault with fixed words, and the part of the statement that it names."""
    import duckdb

    try:
        yield
    except FaultError:
        raise
    except (MemoryError, duckdb.OutOfMemoryException):
        raise FaultError("LIMIT", "the statement needs more memory than it may have (limit memory_mib)") from None
    except (duckdb.Error, UnicodeDecodeError, OverflowError, ValueError, RuntimeError, RecursionError) as error:
        _log.debug("duckdb: %r", error)
        raise _fault_of(error, sql) from None


def _fault_of(error: Exception, sql: str) -> FaultError:
    import duckdb

    text = str(error)
    # What no statement can make it say: one that raises a text of its own raises another kind.
    if type(error) in (duckdb.Error, duckdb.IOException, duckdb.FatalException) and text.startswith(("Corrupt", "IO Error: Corrupt")):
        return FaultError("NEEDS_CONNECTION", "the database is damaged: DuckDB cannot read its file", side="setup")
    if isinstance(error, duckdb.PermissionException):
        return not_allowed(OUTSIDE, part_named(text, sql) or "a file is opened")
    if isinstance(error, duckdb.CatalogException) and "extension" in text.partition("\n")[0]:
        return not_allowed(OUTSIDE, part_named(text, sql))
    if isinstance(error, duckdb.InvalidInputException) and "configuration has been locked" in text:
        return not_allowed(OUTSIDE, "a setting is changed")
    if isinstance(error, duckdb.InvalidInputException) and "read-only" in text:
        return not_allowed(NOT_SELECT, "this changes the database")
    if "expression depth" in text or isinstance(error, RecursionError):
        return sql_error("deep")
    kinds: list[tuple[type[Exception], str]] = [
        (duckdb.ParserException, "syntax"),
        (duckdb.SyntaxException, "syntax"),
        (duckdb.CatalogException, "name"),
        (duckdb.BinderException, "name" if text.startswith("Binder Error: Referenced ") else "form"),
        (duckdb.DataError, "value"),
        (duckdb.InvalidInputException, "value"),
    ]
    return sql_error(next((kind for known, kind in kinds if isinstance(error, known)), "other"))
