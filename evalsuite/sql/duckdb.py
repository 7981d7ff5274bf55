"""DuckDB: a database file, or a folder of .csv and .parquet files with a view for each; locked down before a statement runs.

DuckDB's own parser decides whether a text is one statement that only selects. DuckDB writes the CSV text of a result itself, one text per
row, identical to `result_csv.as_lines` of the row's neutral cells, and sends it through Arrow's C stream, without pyarrow: buffers per
batch, and no Python value per row. The structures are those of Arrow's stable C data interface; only a relation of one VARCHAR and one
BIGINT column without NULL is read. Functions are called by their full name, so that no macro of a database can replace them.
"""

import contextlib
import ctypes
import json
import logging
import re
import struct
from collections.abc import Generator, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, Final

from evalsuite.core.dataclasses import dataclass
from evalsuite.core.errors import FaultError, UsageError
from evalsuite.core.files import exists, is_dir, is_file
from evalsuite.core.import_ref import duckdb
from evalsuite.core.library_calls import LibraryError, guarded
from evalsuite.sql.frozen_clock import duckdb_macros, freeze_statement, reads_time
from evalsuite.sql.result_csv import INSTANT, INTEGERS, as_lines, decode, quoted_codes
from evalsuite.sql.session import (
    DUCKDB,
    NOT_SELECT,
    OUTSIDE,
    Connection,
    Lines,
    QueryLimits,
    Session,
    Stream,
    changes,
    database_path,
    digest_of,
    find_name,
    not_allowed_error,
    sql_error,
    text_of,
    unread_database_error,
)

_FORMATS = [b"u", b"l"]


class StreamError(Exception):
    """The stream ended with this message of the engine, or has another shape than expected."""


# Places of fields in Arrow's structures, which consist of 8-byte words.
_LENGTH, _OFFSET, _BUFFERS, _CHILDREN, _RELEASE, _ARRAY_WORDS = 0, 2, 5, 6, 8, 10
_SCHEMA_N_CHILDREN, _SCHEMA_CHILDREN, _SCHEMA_RELEASE, _SCHEMA_WORDS = 4, 5, 7, 9


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows: the bytes of all texts, `ends` (n_rows + 1) with the start of each and the end of the last, and the numbers.

    The views are of the engine's own memory, which is freed when the next batch is requested.
    """

    text: memoryview
    ends: memoryview
    numbers: memoryview


def read_batches(capsule: Any) -> Generator[Batch]:
    """The rows of a relation of (VARCHAR, BIGINT), given its `__arrow_c_stream__()`, in its order. Raises `StreamError`.

    The stream is released at the end, also if it is closed earlier: until then its database cannot be opened again.
    """
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    fill, release = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p), ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    place = pointer(capsule, b"arrow_array_stream")
    get_schema, get_next, get_last_error, release_stream, _ = _words(place, 5)

    def fill_structure(get: int, n_words: int) -> Any:
        structure = (ctypes.c_int64 * n_words)()
        if fill(get)(place, ctypes.addressof(structure)):
            raise StreamError((ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(get_last_error)(place) or b"").decode("utf-8", "replace"))
        return structure

    try:
        schema = fill_structure(get_schema, _SCHEMA_WORDS)
        formats = [ctypes.string_at(_words(child, 1)[0]) for child in _words(schema[_SCHEMA_CHILDREN], schema[_SCHEMA_N_CHILDREN])]
        release(schema[_SCHEMA_RELEASE])(ctypes.addressof(schema))
        if formats != _FORMATS:
            raise StreamError(f"columns of other formats: {formats!r}")
        while (batch := fill_structure(get_next, _ARRAY_WORDS))[_RELEASE]:
            try:
                texts, numbers = (_words(child, _ARRAY_WORDS) for child in _words(batch[_CHILDREN], 2))
                n_rows, first, number = texts[_LENGTH], texts[_OFFSET], numbers[_OFFSET]
                _, ends_place, text_place = _words(texts[_BUFFERS], 3)
                ends = _view(ends_place, 4 * (first + n_rows + 1)).cast("i")[first:]
                values = _view(_words(numbers[_BUFFERS], 2)[1], 8 * (number + n_rows)).cast("q")[number:]
                yield Batch(_view(text_place, ends[n_rows])[ends[0] :], ends, values)
            finally:
                release(batch[_RELEASE])(ctypes.addressof(batch))
    finally:
        release(release_stream)(place)


def _words(place: int, n: int) -> Any:
    return (ctypes.c_int64 * n).from_address(place)


def _view(place: int, n_bytes: int) -> memoryview:
    return memoryview((ctypes.c_char * n_bytes).from_address(place)).cast("B") if place and n_bytes else memoryview(bytearray(n_bytes))


# The nodes that a serialised statement may contain; since 2.0 a WITH can contain an INSERT.
_NODES: Final = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})


def refuse_changes(connection: "duckdb.DuckDBPyConnection", sql: str) -> None:
    """Raise SQL_NOT_ALLOWED unless the text is one SELECT that only selects, or a form of one in DuckDB: PIVOT, SUMMARIZE, SHOW."""
    statements = connection.extract_statements(sql)
    if [statement.type for statement in statements] == [duckdb.StatementType.MULTI]:
        _refuse_all_but_pivot(connection, sql)
    elif [statement.type for statement in statements] == [duckdb.StatementType.SELECT]:
        _refuse_nodes(connection, sql)
    else:
        raise not_allowed_error(
            NOT_SELECT, f"this is {statements[0].type.name}" if len(statements) == 1 else f"{len(statements)} statements"
        )


def _refuse_nodes(connection: "duckdb.DuckDBPyConnection", sql: str) -> None:
    row = connection.execute("SELECT system.main.json_serialize_sql($1)", [sql]).fetchone()
    tree = json.loads(row[0]) if row else {"error": True}
    if tree["error"]:
        raise not_allowed_error(NOT_SELECT)
    refused = sorted(kind for kind in set(_node_kinds(tree)) if kind.endswith("_NODE") and kind not in _NODES)
    if refused:
        raise not_allowed_error(NOT_SELECT, ", ".join(kind.removesuffix("_NODE") for kind in refused))


def _refuse_all_but_pivot(connection: "duckdb.DuckDBPyConnection", sql: str) -> None:
    """Raise unless the text is a SELECT with a PIVOT that takes its columns from the data.

    DuckDB splits it into two statements, which it cannot serialise. Only a SELECT can be in brackets, a change in its WITH has keywords of
    its own, and the file is open for reading only.
    """
    if change := changes(sql, DUCKDB):
        raise not_allowed_error(NOT_SELECT, change)
    # The bracket is on a line of its own, because the statement may end in a comment.
    with contextlib.suppress(duckdb.ParserException):
        if [statement.type for statement in connection.extract_statements(f"FROM (\n{sql}\n)")] == [duckdb.StatementType.MULTI]:
            return
    raise not_allowed_error(NOT_SELECT, "this is MULTI")


def _node_kinds(tree: Any) -> Iterator[str]:
    """Every `type` of a serialised statement that names a node; walked without recursion."""
    todo = [tree]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            if isinstance(item.get("type"), str):
                yield item["type"]
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)


_PART_BYTES = 4 << 20
_COMMA = ", ',', "
# Types whose text in DuckDB is that of their neutral cells, and never quoted.
_AS_IS = INTEGERS | {'"NULL"', "DATE", "UUID", "INTERVAL", "TIME WITH TIME ZONE", "TIMETZ", "BIT"}
# If there is no digit before the point, the text has none either.
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_FLOATS = ("DOUBLE", "FLOAT")
_TEXTS = ("VARCHAR", "JSON")
_MOMENTS = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
_INSTANTS = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ")
# Bits of a row's mark: two for each column of timestamps (at midnight, at another time), and its sign if floats must be formatted by
# Python.
_MOST_MOMENTS, _ODD = 31, "-9223372036854775808"
_MOST_COLUMNS = 1000
_LONGEST_MOMENT, _LONGEST_TIME = len("2020-01-01 00:00:00.000000"), len("00:00:00.000000")


def line_query(sql: str, types: Sequence[str], expressions: Sequence[str]) -> str | None:
    """A SELECT of the line and the mark of each row of a statement, for `read_lines`; None if Python has to write the lines.

    `types` are those of its columns, `expressions` the SQL for the neutral cells of c0, c1, ...
    """
    texts = [_text(f"c{index}", type_, expressions[index]) for index, type_ in enumerate(types)]
    moments = [(f"c{index}", type_) for index, type_ in enumerate(types) if type_ in _MOMENTS]
    if not types or len(types) > _MOST_COLUMNS or len(moments) > _MOST_MOMENTS or None in texts:
        return None
    cells = [_quoted_cell(str(text)) if _may_need_quotes(type_) else str(text) for text, type_ in zip(texts, types, strict=True)]
    if len(cells) == 1:
        # An empty line would not be a row.
        cells = [f"CASE WHEN system.main.length(system.main.concat({cells[0]})) = 0 THEN '\"\"' ELSE {cells[0]} END"]
    line = f"system.main.concat({_COMMA.join(cells)}, system.main.chr(10))"
    hour = "CASE WHEN CAST({} AS TIME) = TIME '00:00:00' THEN 1 ELSE 2 END"
    marks = [f"{1 << 2 * n} * CASE WHEN {_is_plain(c, type_)} THEN {hour.format(c)} ELSE 0 END" for n, (c, type_) in enumerate(moments)]
    mark = " + ".join(marks)
    floats = {index: f"c{index}" for index, type_ in enumerate(types) if type_ in _FLOATS}
    if floats:
        line, mark = _exact_floats(line, mark, texts, floats)
    names = ", ".join(f"c{index}" for index in range(len(types)))
    # The bracket is on a line of its own, because the statement may end in a comment.
    return f"SELECT {line}, CAST({mark or '0'} AS BIGINT) FROM (\n{sql}\n) AS answer({names})"


def _exact_floats(line: str, mark: str, texts: Sequence[str | None], floats: Mapping[int, str]) -> tuple[str, str]:
    """The line and the mark of rows in which floats (by column number) that Python must format are sent as their bits."""
    # Beyond these bounds DuckDB rounds some floats to another last digit than Python.
    is_odd = "({0} <> 0 AND system.main.isfinite({0}) AND NOT system.main.abs({0}) BETWEEN 1e-4 AND 1e15)"
    odd = " OR ".join(f"coalesce({is_odd.format(c)}, false)" for c in floats.values())
    bits = "CAST(CAST(CAST({} AS DOUBLE) AS BIT) AS VARCHAR)"
    exact = ", ".join(bits.format(floats[index]) if index in floats else str(text) for index, text in enumerate(texts))
    line = f"CASE WHEN {odd} THEN CAST(system.main.to_json([{exact}]) AS VARCHAR) ELSE {line} END"
    return line, f"CASE WHEN {odd} THEN {_ODD} ELSE 0 END + {mark or '0'}"


def read_lines(capsule: Any, types: Sequence[str]) -> Iterator[Lines]:
    """The lines of a `line_query`, some MiB at once, from its Arrow stream; `types` are those it was made for. Raises like
    `read_batches`.
    """
    moments = [index for index, type_ in enumerate(types) if type_ in _MOMENTS]
    floats = [index for index, type_ in enumerate(types) if type_ in _FLOATS]
    with contextlib.closing(read_batches(capsule)) as batches:
        for batch in batches:
            marks = set(batch.numbers) if moments or floats else set()
            text = _with_floats(batch, floats) if min(marks, default=0) < 0 else batch.text
            bits = reduce(or_, marks, 0)
            yield Lines.from_bits(b"", len(batch.numbers), bits, moments)
            yield from (Lines(text=bytes(text[start : start + _PART_BYTES]), n_rows=0) for start in range(0, len(text), _PART_BYTES))


def _with_floats(batch: Batch, floats: Sequence[int]) -> bytes:
    """The text of a batch, with floats that DuckDB and Python may format differently in Python's form."""
    parts, done, first = list[bytes](), 0, batch.ends[0]
    for row, mark in enumerate(batch.numbers):
        if mark < 0:
            begin, end = batch.ends[row] - first, batch.ends[row + 1] - first
            cells = json.loads(bytes(batch.text[begin:end]))
            for index in floats:
                cells[index] = None if cells[index] is None else struct.unpack(">d", int(cells[index], 2).to_bytes(8))[0]
            parts += [bytes(batch.text[done:begin]), as_lines([cells])]
            done = end
    return b"".join([*parts, batch.text[done:]])


def _text(c: str, type_: str, expression: str) -> str | None:
    """The text of a column's cells before any quotes, None for a type that Python has to write."""
    if type_ in _AS_IS or ((size := _DECIMAL.fullmatch(type_)) and size[1] != size[2]):
        return f"CAST({c} AS VARCHAR)"
    if type_ in _FLOATS:
        # The sign of NaN, which a calculation may set, is none of Python's text.
        return f"CASE WHEN system.main.isnan({c}) THEN 'nan' ELSE CAST(CAST({c} AS DOUBLE) AS VARCHAR) END"
    if type_ == "BOOLEAN":
        return f"CASE WHEN {c} THEN 'True' WHEN NOT {c} THEN 'False' END"
    if type_ == "BLOB":
        return f"system.main.lower(system.main.hex({c}))"
    if type_ in _MOMENTS:
        text = f"CAST({c} AS VARCHAR)"
        return f"CASE WHEN {_is_plain(c, type_)} THEN {_six_digits(text)} ELSE {text} END"
    if type_ == "TIME":
        return _six_digits(f"CAST({c} AS VARCHAR)", _LONGEST_TIME)
    if type_ in _INSTANTS:
        text = f"CAST({c} AS VARCHAR)"
        bare = f"system.main.left({text}, -3)"
        inside = f"{c} BETWEEN TIMESTAMPTZ '0001-01-01 00:00:00+00' AND TIMESTAMPTZ '9999-12-31 23:59:59.999999+00'"
        return f"CASE WHEN {inside} THEN system.main.concat({_six_digits(bare)}, '+00:00') ELSE {text} END"
    if type_ in _TEXTS or type_.startswith("ENUM("):
        return f"CAST({c} AS VARCHAR)"
    return expression if _may_need_quotes(type_) else None


def _may_need_quotes(type_: str) -> bool:
    return type_ in _TEXTS or type_.startswith(("ENUM(", "STRUCT(", "MAP(", "UNION(")) or type_.endswith("]")


def _is_plain(c: str, type_: str) -> str:
    """Whether Python can represent a timestamp."""
    if type_ == "TIMESTAMP_NS":
        return f"(system.main.isfinite({c}) AND system.main.length(CAST({c} AS VARCHAR)) <= {_LONGEST_MOMENT})"
    return f"({c} BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59.999999')"


def _six_digits(text: str, longest: int = _LONGEST_MOMENT) -> str:
    """The text of a timestamp with all six fractional digits of the seconds or none."""
    return f"CASE WHEN system.main.contains({text}, '.') THEN system.main.rpad({text}, {longest}, '0') ELSE {text} END"


def _quoted_cell(text: str) -> str:
    needs = " OR ".join(f"system.main.contains({text}, system.main.chr({code}))" for code in quoted_codes())
    quoted = f"system.main.concat('\"', system.main.replace({text}, '\"', '\"\"'), '\"')"
    return f"CASE WHEN {needs} THEN {quoted} ELSE {text} END"


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
# The order matters: once external access is off, the temporary folder cannot be changed.
_LOCKS = (
    "temp_directory = ''",
    "max_temp_directory_size = '0KB'",
    "enable_external_access = false",
    "TimeZone = 'UTC'",
    "enable_progress_bar = false",
    "lock_configuration = true",
)
_READERS = {".csv": "read_csv", ".parquet": "read_parquet"}
# The text of each view and macro of the database.
_MADE = """SELECT sql FROM duckdb_views() WHERE NOT internal
UNION ALL SELECT macro_definition FROM duckdb_functions() WHERE NOT internal"""
# Types whose cells are neutral as duckdb returns them.
_NEUTRAL = INTEGERS | {"DOUBLE", "FLOAT", "BOOLEAN", "VARCHAR", "BLOB"}
# The client converts these to other values than the database contains (an infinite date becomes the last day), so their text is fetched.
_AS_TEXT = (*_INSTANTS, *_MOMENTS, "DATE", "INTERVAL", "TIME WITH TIME ZONE", "TIMETZ", "BIT")
_NESTED = ("STRUCT", "MAP", "UNION", "VARIANT")


def open_session(connection: Connection, limits: QueryLimits) -> "DuckdbSession":
    """An open session; raises `UsageError` if the database is neither a DuckDB file nor a folder."""
    path = database_path(connection)
    if is_dir(path):
        opened, files = _open_folder(path, limits, connection.name)
    else:
        with path.open("rb") as handle:
            if handle.read(12)[8:] != _MAGIC:
                raise UsageError(f"connection {connection.name!r}: {path.name} is not a DuckDB database", hint="check `database`")
        # A write-ahead log next to the file is replayed when it is opened, even read-only.
        files = [file for file in (path, path.with_name(path.name + ".wal")) if exists(file)]
        try:
            opened = guarded(duckdb.connect(text_of(path), read_only=True, config=_config(limits)))
        except (duckdb.Error, RuntimeError) as error:
            _log.debug("duckdb: %r", error)
            message = f"connection {connection.name!r}: {path.name} cannot be opened read-only"
            raise UsageError(message, hint="is another process writing to it?") from None
    for macro in duckdb_macros(limits.clock) if limits.clock else ():
        opened.execute(macro)
    for setting in _LOCKS:
        opened.execute(f"SET {setting}")
    return DuckdbSession(opened, files, limits.clock)


def _config(limits: QueryLimits) -> dict[str, str | bool | int | float | list[str]]:
    return {**_CONFIG, "memory_limit": f"{max(64, limits.memory_mib // 2)}MiB"}


def _open_folder(folder: Path, limits: QueryLimits, name: str) -> "tuple[duckdb.DuckDBPyConnection, list[Path]]":
    """A connection in memory with a view `<file's stem>` for each file directly in the folder; only these files can be read."""
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in _READERS and is_file(path))
    if not files:
        raise UsageError(f"connection {name!r}: no .csv or .parquet file in {folder.name}", hint="check `database`")
    opened = guarded(duckdb.connect(config=_config(limits)))
    try:
        for path in files:
            view = text_of(Path(path.stem)).replace('"', '""')
            opened.execute(f'CREATE VIEW "{view}" AS FROM {_READERS[path.suffix.lower()]}({_quote_path(path)})')
        opened.execute(f"SET allowed_paths = [{', '.join(map(_quote_path, files))}]")
    except (duckdb.Error, LibraryError, UnicodeDecodeError) as error:
        _log.debug("duckdb: %r", error)
        raise UsageError(f"connection {name!r}: {path.name} cannot be read as a table", hint="column names must not repeat") from None
    return opened, files


def _quote_path(path: Path) -> str:
    return "'" + text_of(path).replace("'", "''") + "'"


class DuckdbSession(Session):
    """One locked connection."""

    def __init__(self, connection: "duckdb.DuckDBPyConnection", files: Sequence[Path], clock: int = 0) -> None:
        self.connection, self._clock = connection, clock
        self._files = files
        self._lines: Generator[Lines] | None = None

    def stream(self, sql: str, *, as_text: bool = False) -> Stream:
        """The result of one SELECT, chunk by chunk."""
        sql = freeze_statement(sql, "duckdb", self._clock)
        with _faults(sql):
            refuse_changes(self.connection, sql)
            described = self.connection.execute(f"DESCRIBE {sql}").fetchall()
            header, types = tuple(str(row[0]) for row in described), tuple(_type_name(str(row[1])) for row in described)
            names = ", ".join(f"c{index}" for index in range(len(header)))
            native = [str(row[1]) for row in described]
            expressions = [_expression(f"c{index}", type_) for index, type_ in enumerate(native)]
            if as_text and (written := line_query(sql, native, expressions)):
                self._lines = self._read_lines(written, native)
                return Stream(header=header, types=types, chunks=iter(()), lines=self._lines)
            # The bracket is on a line of its own, because the statement may end in a comment.
            self.connection.execute(f"SELECT {', '.join(expressions)} FROM (\n{sql}\n) AS answer({names})")
        return Stream(header=header, types=types, chunks=self._chunks(native))

    def _chunks(self, types: Sequence[str]) -> Iterator[Sequence[Sequence[Any]]]:
        with _faults():
            while rows := self.connection.fetchmany(_CHUNK_ROWS):
                columns = [_neutral_cells(column, type_) for column, type_ in zip(zip(*rows, strict=True), types, strict=True)]
                yield list(zip(*columns, strict=True))

    def _read_lines(self, written: str, types: Sequence[str]) -> Generator[Lines]:
        with _faults():
            try:
                yield from read_lines(guarded(self.connection.sql(written)).__arrow_c_stream__(), types)
            except StreamError as error:
                _log.debug("duckdb: %s", error)
                if str(error).startswith("INTERRUPT"):
                    raise sql_error("other") from None
                # The stream reports an error's text but not its class: running the query again for rows raises it.
                self.connection.execute(written)
                while self.connection.fetchmany(_CHUNK_ROWS):
                    pass
                raise FaultError("LIMIT", "some rows of the result are too long to be read at once") from None

    def cancel(self) -> None:
        """Interrupt; duckdb checks for it between two chunks of its work."""
        self.connection.interrupt()

    def describe(self) -> str:
        """`DuckDB v2.0.0, 1 file`."""
        row = self.connection.execute("SELECT version()").fetchone()
        return f"DuckDB {row[0] if row else ''}, {len(self._files)} file{'s' * (len(self._files) > 1)}"

    def fingerprint(self) -> str | None:
        """duckdb's version and a digest of every byte of the file or of the folder's files.

        None if one of its views or macros reads a running clock.
        """
        objects = [] if self._clock else self.connection.execute(_MADE).fetchall()
        reads_clock = any(reads_time(text or "", "duckdb") for (text,) in objects)
        return None if reads_clock else f"{duckdb.__version__}|{digest_of(self._files)}"

    def close(self) -> None:
        """Close the connection, and the stream of its last statement, at any position."""
        if self._lines is not None:
            self._lines.close()
        super().close()


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
    """Neutral cells; a timestamp with nanoseconds, which Python would drop, keeps its text."""
    name = _type_name(type_)
    if type_ in _NEUTRAL:
        return column
    if type_ == "TIMESTAMP_NS":
        return [text if text is not None and len(text) > _LONGEST_MOMENT else decode([text], name)[0] for text in column]
    if type_ in _AS_TEXT and name in ("DATE", "TIMESTAMP", INSTANT):
        return decode(column, name)
    return [cell if not isinstance(cell, date | time | datetime) or isinstance(cell, time) else str(cell) for cell in column]


@contextlib.contextmanager
def _faults(sql: str = "") -> Iterator[None]:
    """Turn duckdb's exceptions into faults with fixed texts, and the part of the statement that they name."""
    try:
        yield
    except FaultError:
        raise
    except (MemoryError, duckdb.OutOfMemoryException):
        raise FaultError("LIMIT", "the statement needs more memory than the limit memory_mib") from None
    except (duckdb.Error, LibraryError, RecursionError) as error:
        _log.debug("duckdb: %r", error)
        raise _fault_of(error, sql) from None


def _fault_of(error: Exception, sql: str) -> FaultError:
    text = str(error)
    # An error class that no statement can trigger with a text of its own: `error()` raises another class.
    if type(error) in (duckdb.Error, duckdb.IOException, duckdb.FatalException) and text.startswith(("Corrupt", "IO Error: Corrupt")):
        return FaultError("NEEDS_CONNECTION", "the database is damaged: DuckDB cannot read its file", side="setup")
    if type(error) is duckdb.IOException and text.startswith("IO Error: Could not read from file"):
        return unread_database_error()
    if isinstance(error, duckdb.PermissionException):
        return not_allowed_error(OUTSIDE, find_name(text, sql) or "a file is opened")
    if isinstance(error, duckdb.CatalogException) and "extension" in text.partition("\n")[0]:
        return not_allowed_error(OUTSIDE, find_name(text, sql))
    if isinstance(error, duckdb.InvalidInputException) and "configuration has been locked" in text:
        return not_allowed_error(OUTSIDE, "a setting is changed")
    if isinstance(error, duckdb.InvalidInputException) and "read-only" in text:
        return not_allowed_error(NOT_SELECT, "this changes the database")
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
    return sql_error(next((kind for error_type, kind in kinds if isinstance(error, error_type)), "other"))
