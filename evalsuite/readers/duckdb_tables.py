"""Read tables and views of an untrusted DuckDB file: copied, attached locked down, never queried by a bare name.

Gold and submissions have a connection each, and neither can open the other's files. A crafted file can still kill the process (it makes
duckdb segfault), so submissions are read in a worker.

Big tables of plain types are read as packed text, which duckdb writes. Functions are called by their full name, so that no macro of the
file can replace them.

Views (dbt creates views by default) are read as one query over base tables of the same file. A view's text is untrusted, so duckdb's own
parser parses it, and every node must be on a list of allowed ones: SELECT, joins, groups, ordering, and functions that make small values of
small ones. Names are then qualified, so that only a base table of the file can be meant, and each view that it reads becomes a CTE with a
generated name. Everything else is refused and the reason names it: reading files, generating rows, recursion, unknown functions.
"""

import contextlib
import ctypes
import json
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, lru_cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, BinaryIO, Final, cast

from evalsuite.compare.columns import UnreadTable, memory_of, packed_of
from evalsuite.compare.packed_text import NULL, Block, OddError, kind_of
from evalsuite.compare.table_parameters import fold_name
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import FaultError
from evalsuite.core.files import exists
from evalsuite.core.import_ref import duckdb, lazy_pattern, np
from evalsuite.core.library_calls import LibraryError, guarded
from evalsuite.core.scores import Fault, Table
from evalsuite.readers.duckdb_cells import header_and_types, quoted_name, read_rows, too_many_fault
from evalsuite.readers.file_signatures import LFS_POINTER, format_of, is_lfs_pointer
from evalsuite.readers.json_text import quote_value
from evalsuite.readers.limits import Limits
from evalsuite.readers.paths import DUCKDB_CALLS, NO_PLACE, SharedFile, check_readable, kept_from_duckdb, open_trusted
from evalsuite.sandbox.temp_dirs import TempDir, descriptor_path

_MAGIC = b"DUCK"
_SMALL_BYTES: Final = 8 << 20
_BLOCK: Final = 1 << 20
# After a file of more bytes the connection is closed: it would keep the memory that reading took.
_LONG: Final = 8 << 20
_CLOSE_ON_EXEC: Final = 1  # a flag of `memfd_create`
_DESCRIPTORS: Final = "descriptor://"
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "threads": "1",
}


def _debug(text: str, error: Exception) -> None:
    import logging

    logging.getLogger(__name__).debug(text, error)


@contextmanager
def attach_gold(path: Path, limits: Limits) -> "Iterator[duckdb.DuckDBPyConnection]":
    """The trusted connection of this process with a gold database attached read-only as `gold`."""
    with open_trusted(path, limit_bytes=limits["file_bytes"]) as handle:
        _check_magic(handle)
        with _faults(path, limits):
            connection = _gold_connection()
            name = str(path)
            if not name.isprintable():
                # duckdb opens no path that is not UTF-8.
                name = f"{_DESCRIPTORS}{handle.fileno()}"
                if "descriptor" not in connection.list_filesystems():
                    _register_descriptor_files(connection)
            quoted = name.replace("'", "''")
            connection.execute(f"ATTACH '{quoted}' AS gold (READ_ONLY, TYPE duckdb)")
            try:
                yield connection
            finally:
                connection.execute("DETACH gold")
                if path.stat().st_size > _LONG:
                    _gold_connection.cache_clear()
                    connection.close()


@cache
def _gold_connection() -> "duckdb.DuckDBPyConnection":
    connection = guarded(duckdb.connect(config=_CONFIG))
    for setting in ("TimeZone = 'UTC'", "enable_progress_bar = false"):
        connection.execute(f"SET {setting}")
    return connection


@contextmanager
def attach_answer(source: Path | BinaryIO, limits: Limits) -> "Iterator[duckdb.DuckDBPyConnection]":
    """The locked connection with a private copy attached read-only as `answer`; errors of duckdb become faults with a fixed text."""
    if not isinstance(source, Path):
        _check_magic(source)
        with private_copy(source, int(limits["file_bytes"])) as copy, attach_answer(copy, limits) as connection:
            yield connection
        return
    with open_trusted(source, limit_bytes=limits["file_bytes"]) as handle:
        _check_magic(handle)
    with _faults(source, limits), _attach(source.absolute(), int(limits["memory_mib"])) as connection:
        yield connection


@contextmanager
def private_copy(source: BinaryIO | IO[bytes], limit_bytes: int) -> Iterator[Path]:
    """A path under which this process can open a copy of a file; the copy exists only inside the block. Raises LIMIT."""
    # Not by the name of the system: the threads of duckdb read one descriptor by `pread`.
    if hasattr(os, "pread"):
        with unnamed_copy(source, limit_bytes) as copy:
            yield descriptor_path(copy.fileno())
        return
    with TempDir() as folder:
        place = folder / "answer.duckdb"
        with place.open("wb") as target:
            _copy(source, target, limit_bytes)
        yield place


def unnamed_copy(source: BinaryIO | IO[bytes], limit_bytes: int) -> IO[bytes]:
    """A copy of a file that is reachable only through its descriptor: no process can open it, no file is next to it, nothing remains.

    Even a read-only open would replay a `.wal` next to the original. The copy is in memory if the system allows that: at most `file_bytes`
    for each answer that is being read, without the holes of a sparse file, and without disk space. Raises LIMIT.
    """
    try:
        copy = _memory_file()
        try:
            _copy(source, copy, limit_bytes)
        except BaseException:
            # Buffered bytes that were not written yet do not fit now either.
            with contextlib.suppress(OSError):
                copy.close()
            raise
    except OSError as error:
        _debug("copy: %r", error)
        # The answer is no larger than `file_bytes`, so it is this machine that has no space.
        raise FaultError("LIMIT", "this machine has no space for a copy of the database", side="setup") from None
    return copy


def _copy(source: BinaryIO | IO[bytes], target: IO[bytes], limit_bytes: int) -> None:
    source.seek(0)
    left = limit_bytes
    # Bounded even if the file grows while it is copied.
    while block := source.read(min(left, _BLOCK)):
        left -= len(block)
        if block.count(0) == len(block):
            target.seek(len(block), os.SEEK_CUR)
        else:
            target.write(block)
    target.truncate(limit_bytes - left)


def _memory_file() -> IO[bytes]:
    """An empty file without a name, in memory if the system allows it.

    A Python compiled on an old system (as uv and conda ship it) lacks the call that libc has, and a sandboxed worker may not open a file on
    disk.
    """
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("evalsuite"), "w+b")
    # Without the call, or without a descriptor.
    with contextlib.suppress(AttributeError, TypeError, ValueError):
        return os.fdopen(ctypes.CDLL(None).memfd_create(b"evalsuite", _CLOSE_ON_EXEC), "w+b")
    import tempfile

    return tempfile.TemporaryFile()


@contextmanager
def _attach(path: Path, memory_mib: int) -> "Iterator[duckdb.DuckDBPyConnection]":
    """The file, attached as `answer` to the one locked connection of this process for files of its folder, or for descriptors.

    Opening a connection takes ten milliseconds and its first query as many, attaching half a one. An error may leave the whole connection
    unusable, so it is closed after one, and the next file gets a new one.
    """
    is_descriptor = path == descriptor_path(int(path.name)) if path.name.isdecimal() else False
    connection = _locked_connection(_DESCRIPTORS if is_descriptor else f"{path.parent}/", memory_mib)
    quoted = f"{_DESCRIPTORS}{path.name}" if is_descriptor else str(path).replace("'", "''")
    try:
        connection.execute(f"ATTACH '{quoted}' AS answer (READ_ONLY, TYPE duckdb)")
        yield connection
        connection.execute("DETACH answer")
        if path.stat().st_size > _LONG:
            _locked_connection.cache_clear()
            connection.close()
    except BaseException:
        _locked_connection.cache_clear()
        connection.close()
        raise


@lru_cache(maxsize=1)
def _locked_connection(root: str, memory_mib: int) -> "duckdb.DuckDBPyConnection":
    """A connection that can open only files below `root`, and whose settings cannot be changed."""
    connection = guarded(duckdb.connect(config={**_CONFIG, "memory_limit": f"{max(64, memory_mib // 2)}MiB"}))
    if root == _DESCRIPTORS:
        _register_descriptor_files(connection)
    folder = root.replace("'", "''")
    # The order matters: duckdb takes the folders and the temp_directory only before enable_external_access is off.
    for setting in (
        f"allowed_directories = ['{folder}']",
        "temp_directory = ''",
        "max_temp_directory_size = '0KB'",
        "enable_external_access = false",
        "TimeZone = 'UTC'",
        "enable_progress_bar = false",
        "lock_configuration = true",
    ):
        connection.execute(f"SET {setting}")
    return connection


class _FileSystem:
    """The class that duckdb requires of a file system; in fsspec, whose import takes as long as duckdb's own, it has another name."""


class _DescriptorFiles(_FileSystem):
    """A file system of duckdb in which `descriptor://5` is descriptor 5 of this process.

    From version 2.0.1 on, duckdb opens the file that `/proc/self/fd/5` points to, and a file without a name has no such path.
    """

    protocol = "descriptor"

    @kept_from_duckdb
    def exists(self, path: str) -> bool:
        """Whether the name is a plain number; others, such as `5.wal`, do not exist there."""
        return path.removeprefix(_DESCRIPTORS).isdecimal()

    isfile = exists

    @kept_from_duckdb
    def size(self, path: str) -> int:
        """The size of the file."""
        return os.fstat(int(path.removeprefix(_DESCRIPTORS))).st_size

    @kept_from_duckdb
    def open(self, path: str, _: str) -> IO[bytes]:
        """The open file."""
        return cast("IO[bytes]", SharedFile(descriptor_path(int(path.removeprefix(_DESCRIPTORS)))))


def _register_descriptor_files(connection: "duckdb.DuckDBPyConnection") -> None:
    """Register `_DescriptorFiles`. duckdb imports fsspec for the class, so a module with that one class is in its place meanwhile.

    The steps are C functions in one call of `list`: no other thread runs between them, so none can import that module.
    """
    before, module = dict[str, Any](), SimpleNamespace(AbstractFileSystem=_FileSystem)
    put: list[partial[Any]] = [partial(before.update, sys.modules), partial(sys.modules.update, fsspec=module)]
    restore: list[partial[Any]] = [partial(sys.modules.pop, "fsspec", None), partial(sys.modules.update, before)]
    try:
        list(map(partial.__call__, [*put, partial(connection.register_filesystem, _DescriptorFiles()), *restore]))
    except BaseException:
        list(map(partial.__call__, restore))
        raise


def _check_magic(handle: BinaryIO) -> None:
    """Raise BAD_DUCKDB unless the bytes are DuckDB's: for any other file duckdb would look for an extension that reads it."""
    head = handle.read(1024)
    if head[8:12] == _MAGIC:
        return
    if not head:
        raise FaultError("BAD_DUCKDB", "the file is empty")
    form = LFS_POINTER if is_lfs_pointer(head) else f"{format_of(head)}, not a DuckDB database" if format_of(head) else ""
    raise FaultError("BAD_DUCKDB", f"the file is {form or 'not a DuckDB database'}")


def _is_of_disk(text: str) -> bool:
    """Whether a text of duckdb is about a read that the system refused; of a file that is too short it says something else."""
    return text.startswith("IO Error: Could not read from file") and not any(os.strerror(number) in text for number in NO_PLACE)


@contextmanager
def _faults(path: Path, limits: Limits) -> Iterator[None]:
    """Turn exceptions of duckdb into faults of the database, the machine's own first; duckdb's own text goes to the debug log only."""
    with DUCKDB_CALLS.watched():
        try:
            yield
        except (MemoryError, duckdb.OutOfMemoryException):
            raise FaultError("LIMIT", "the database does not fit into memory_mib") from None
        except (duckdb.Error, LibraryError, RecursionError) as error:
            _debug("duckdb: %r", error)
            check_readable(path, limit_bytes=limits["file_bytes"])
            if type(error) is duckdb.IOException and _is_of_disk(str(error)):
                raise FaultError("LIMIT", "this machine did not read the database at the first try", side="setup") from None
            found = re.search(r"version number (\d{1,20}), but we can only read (?:storage )?versions (between \d+ and \d+)", str(error))
            raise FaultError(
                "BAD_DUCKDB", f"the duckdb here reads storage versions {found[2]}, this is {found[1]}" if found else ""
            ) from None


_MOMENTS = {
    "DATE": "BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'",
    "TIMESTAMP": "BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59.999999'",
}


def read_size(connection: "duckdb.DuckDBPyConnection", table: str, columns: Sequence[str], types: Sequence[str]) -> int | None:
    """The approximate size of the cells in bytes, None if a date or timestamp is beyond Python's range."""
    checks, sizes = ["system.main.count(*)"], []
    for column, type_ in zip(columns, types, strict=True):
        if type_ in _MOMENTS:
            checks.append(f"system.main.count(CASE WHEN {column} IS NULL OR {column} {_MOMENTS[type_]} THEN 1 END)")
        elif type_ == "VARCHAR":
            sizes.append(f"system.main.sum(system.main.length({column}))")
    row = connection.execute(f"SELECT {', '.join(checks + sizes)} FROM {table}").fetchone()
    if row is None or len(set(row[: len(checks)])) > 1:
        return None
    return int(row[0]) * len(columns) * 8 + sum(length or 0 for length in row[len(checks) :])


def read_blocks(connection: "duckdb.DuckDBPyConnection", table: str, columns: Sequence[str], types: Sequence[str]) -> Iterator[Block]:
    """The rows of a table of plain types in stored order, as blocks of text."""
    cells = []
    for at, (column, type_) in enumerate(zip(columns, types, strict=True)):
        # A float of 32 bits is the double that the client makes of it.
        value = f"CAST({column} AS DOUBLE)" if type_ == "FLOAT" else column
        cells.append(f"CAST({value} AS VARCHAR) AS c{at}")
    row = ", ".join(f"CASE WHEN c{at} IS NULL THEN ' ' ELSE c{at} END, ' '" for at in range(len(columns)))
    sizes = ", ".join(
        f"CASE WHEN c{at} IS NULL THEN -1 ELSE CAST(system.main.strlen(c{at}) AS INTEGER) END AS l{at}" for at in range(len(columns))
    )
    (last,) = connection.execute(f"SELECT system.main.max(rowid) FROM {table}").fetchone() or (None,)
    step = max(_FEWEST_AT_ONCE, _CELLS_AT_ONCE // len(columns))
    for start in range(0, (last or 0) + 1, step):
        part = f"SELECT {', '.join(cells)} FROM {table} WHERE rowid BETWEEN {start} AND {start + step - 1}"
        rows, *sizes_of = connection.execute(f"SELECT system.main.concat({row}) AS r, {sizes} FROM ({part})").fetchnumpy().values()
        lengths = np.stack(sizes_of, axis=1)
        is_null = lengths < 0
        lengths[is_null] = 1
        starts = (np.cumsum(lengths.ravel() + 1) - lengths.ravel() - 1).reshape(lengths.shape)
        data = "".join(rows).encode()
        if is_null.any():
            written = np.frombuffer(data, np.uint8).copy()
            written[starts[is_null]] = NULL[0]
            data = written.tobytes()
        yield Block(data, starts, lengths)


_MOST_VIEWS, _LONGEST_TEXT = 100, 100_000
_NAME: Final = r'(?:"(?:[^"]|"")*"|[^\W\d][\w$]*)'
_HEAD: Final = lazy_pattern(
    rf"CREATE\s+VIEW\s+{_NAME}(?:\.{_NAME}){{0,2}}\s*(\(\s*{_NAME}(?:\s*,\s*{_NAME})*\s*\))?\s*AS\s+(.*)", re.S | re.I
)
_NODES: Final = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "CTE_NODE"})
_SOURCES: Final = frozenset({"BASE_TABLE", "JOIN", "SUBQUERY", "EMPTY", "EMPTY_FROM", "EXPRESSION_LIST"})
_PARTS: Final = frozenset({"ORDER_MODIFIER", "LIMIT_MODIFIER", "DISTINCT_MODIFIER", "ORDER_DEFAULT", "ASCENDING", "DESCENDING"})

# Without `repeat`, `lpad`, `rpad`, `format` and similar functions: they make a value of any length from a short one.
_WORDS: Final = """
+ - * / // % ** ^ || ~~ !~~ ~~* !~~* & | << >> ~ @ abs ceil ceiling floor round round_even trunc sign sqrt cbrt power pow exp ln log
log10 log2 mod divide multiply add subtract greatest least isnan isinf isfinite sin cos tan asin acos atan atan2 pi radians degrees
lower lcase upper ucase trim ltrim rtrim length len strlen char_length character_length substring substr left right replace concat
concat_ws split_part contains starts_with prefix ends_with suffix instr position strpos regexp_matches regexp_replace regexp_extract
regexp_full_match like_escape not_like_escape ilike_escape not_ilike_escape reverse md5 hash ascii chr nullif ifnull coalesce if
date_part datepart date_trunc datetrunc date_diff datediff datesub date_sub date_add year month day hour minute second quarter week
weekofyear isoyear yearweek dayofweek dayofmonth dayofyear isodow weekday dayname monthname last_day strftime strptime try_strptime
make_date make_timestamp epoch epoch_ms age date to_days to_weeks to_months to_years to_hours to_minutes to_seconds to_timestamp count
count_star count_if countif sum sum_no_overflow min max avg mean median mode stddev stddev_pop stddev_samp variance var_pop var_samp
first last any_value arg_min arg_max min_by max_by string_agg group_concat listagg array_agg list bool_and bool_or bit_and bit_or
bit_xor quantile quantile_cont quantile_disc percentile_cont percentile_disc approx_count_distinct corr covar_pop covar_samp product
row_number rank dense_rank rank_dense percent_rank cume_dist ntile lag lead first_value last_value nth_value list_value array_value
struct_pack row struct_extract array_extract list_extract list_contains
"""
_FUNCTIONS: Final = frozenset(_WORDS.split())
_CLOCK: Final = frozenset({"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"})
_KINDS: Final = (
    "COLUMN_REF CONSTANT FUNCTION CAST COMPARISON CONJUNCTION OPERATOR CASE WINDOW STAR SUBQUERY BETWEEN TYPE POSITIONAL_REFERENCE"
)
_CLASSES: Final = frozenset(_KINDS.split())

# (schema, name) of a table or view.
Place = tuple[str, str]


class RefusedViewError(Exception):
    """A view that is not read; the text says which part of it is not allowed, or names what it reads."""


def expand_view(
    connection: "duckdb.DuckDBPyConnection", database: str, name: str, *, tables: Mapping[Place, Place], catalogs: Collection[str]
) -> tuple[str, bool]:
    """(A SELECT with the result of the view of that name in schema main (case ignored), over base tables of `database` only; whether it
    may read the clock.)

    `tables` maps case-folded names to the names of the base tables that may be read. `catalogs` are the case-folded names by which texts of
    views may call the file's own database: the stem of the file. Raises `RefusedViewError`.
    """
    rows = connection.execute(
        "SELECT schema_name, view_name, sql FROM system.main.duckdb_views() WHERE database_name = $1 AND NOT internal", [database]
    ).fetchall()
    # A macro of the file takes precedence over duckdb's function of the same name.
    macros = connection.execute(
        "SELECT function_name FROM system.main.duckdb_functions() WHERE database_name = $1 AND NOT internal", [database]
    ).fetchall()
    views = {(str(schema).lower(), str(view).lower()): str(sql) for schema, view, sql in rows}
    expansion = _ViewExpansion(connection, database, views, tables, catalogs, frozenset(str(macro).lower() for (macro,) in macros))
    last = expansion.add(("main", name.lower()))
    if not expansion.reads_table:
        raise RefusedViewError("reads no base table")
    return f"WITH {', '.join(expansion.texts)} SELECT * FROM {last}", expansion.reads_clock


class _ViewExpansion:
    """The views that one view reads, each expanded once and placed after the views that it reads itself."""

    def __init__(
        self,
        connection: "duckdb.DuckDBPyConnection",
        database: str,
        views: Mapping[Place, str],
        tables: Mapping[Place, Place],
        catalogs: Collection[str],
        macros: Collection[str],
    ) -> None:
        self._connection, self._database, self._views, self._tables, self._catalogs = connection, database, views, tables, catalogs
        self._macros = macros
        self._names: dict[Place, str] = {}
        # The views being expanded, the innermost last.
        self._open: list[Place] = []
        self.texts: list[str] = []
        self.reads_table = self.reads_clock = False

    def add(self, name: Place) -> str:
        """The generated name of a view, which is expanded first."""
        if name in self._names:
            return self._names[name]
        if name in self._open or len(self._open) + len(self._names) >= _MOST_VIEWS:
            raise RefusedViewError("reads itself" if name in self._open else f"reads more than {_MOST_VIEWS} views")
        self._open.append(name)
        head = _HEAD.fullmatch(self._views[name].strip().rstrip(";"))
        if head is None or len(head[2]) > _LONGEST_TEXT:
            raise RefusedViewError("has a text that cannot be parsed")
        tree = self._parse(head[2])
        self._check(tree["statements"], frozenset())
        ((text,),) = self._connection.execute("SELECT system.main.json_deserialize_sql($1::JSON)", [json.dumps(tree)]).fetchall()
        alias = self._names[name] = f'"view {len(self._names)}"'
        self._open.pop()
        self.texts.append(f"{alias}{head[1] or ''} AS (\n{text}\n)")
        return alias

    def _parse(self, sql: str) -> dict[str, Any]:
        ((text,),) = self._connection.execute("SELECT system.main.json_serialize_sql($1)", [sql]).fetchall()
        tree: dict[str, Any] = json.loads(text)
        if tree["error"] or len(tree["statements"]) != 1:
            raise RefusedViewError("is no plain SELECT")
        return tree

    def _check(self, part: Any, with_names: frozenset[str]) -> None:
        """Raise unless every node of a part of the tree is allowed; qualify its table names. `with_names` are names defined by WITH."""
        if isinstance(part, list):
            for item in part:
                self._check(item, with_names)
            return
        if not isinstance(part, dict):
            return
        if isinstance(part.get("type"), str):
            for why in _refusals(part, self._macros):
                raise RefusedViewError(why)
            self.reads_clock |= _may_read_clock(part)
            if part["type"] == "BASE_TABLE" and "class" not in part:
                self._resolve(part, with_names)
        if isinstance(part.get("cte_map"), dict):
            # A name in WITH is visible after its own definition, not inside it: `with base as (select * from base)` reads the table.
            for entry in part["cte_map"]["map"]:
                self._check(entry["value"], with_names)
                with_names |= {str(entry["key"]).lower()}
        for key, item in part.items():
            if key != "cte_map":
                self._check(item, with_names)

    def _resolve(self, part: dict[str, Any], with_names: frozenset[str]) -> None:
        """Qualify a table's name, or replace it with the generated name of a view."""
        catalog, schema, table = (str(part[key]).lower() for key in ("catalog_name", "schema_name", "table_name"))
        if not catalog and not schema and table in with_names:
            return
        # `p.t` may name a catalog instead of a schema; a bare name is first searched in the schema of the view that contains it.
        schemas = [schema] if schema else [self._open[-1][0], "main"]
        if not catalog and schema in self._catalogs:
            schemas.append("main")
        is_own_file = not catalog or catalog in self._catalogs
        source = next((place for place in ((name, table) for name in schemas) if place in self._tables or place in self._views), None)
        if not is_own_file or source is None:
            raise RefusedViewError(
                f"reads {quote_value('.'.join(filter(None, (catalog, schema, table))))}, which is not a table of the file"
            )
        part["alias"] = part["alias"] or part["table_name"]
        if source in self._tables:
            self.reads_table = True
            path = [self._database, *self._tables[source]]
        else:
            path = ["", "", self.add(source).strip('"')]
        part["catalog_name"], part["schema_name"], part["table_name"] = path
        part["qualified_name"] = {"path": [name for name in path if name]}


def _refusals(part: Mapping[str, Any], macros: Collection[str]) -> Iterator[str]:
    """The parts of a node that are not allowed."""
    type_, class_ = str(part["type"]), part.get("class")
    if part.get("sample") is not None or part.get("at_clause") is not None:
        yield "takes a sample or another time of a table"
    if class_ is not None:
        if class_ not in _CLASSES:
            yield f"holds {str(class_).lower().replace('_', ' ')}"
        if "function_name" in part:
            name, place = str(part["function_name"]), (str(part.get("catalog", "")), str(part.get("schema", "")))
            if name.lower() not in _FUNCTIONS or name.lower() in macros or any(word not in ("", "main", "system") for word in place):
                yield f"calls {_function_name(name)}"
    elif type_ == "RECURSIVE_CTE_NODE":
        yield "is recursive"
    elif type_ == "TABLE_FUNCTION":
        called = part.get("function")
        yield f"reads {_function_name(called.get('function_name')) if isinstance(called, dict) else 'a function'}()"
    elif type_ not in _NODES | _SOURCES | _PARTS:
        yield f"holds {type_.lower().replace('_', ' ')}"


def _may_read_clock(part: Mapping[str, Any]) -> bool:
    """Whether a node is a word for the time, which may be the name of a column too, or the age of one moment."""
    if part.get("class") == "COLUMN_REF":
        return [str(name).lower() in _CLOCK for name in part["column_names"]] == [True]
    return str(part.get("function_name")).lower() == "age" and len(part.get("arguments") or part.get("children") or ()) < 2


def _function_name(name: object) -> str:
    """A function's name for a reason: unchanged if it is a plain word, else quoted and cut."""
    text = str(name)
    return text if re.fullmatch(r"\w{1,40}", text, re.ASCII) else quote_value(text)


# From this many rows on, packed text costs less than values.
PACKED_ROWS = 2_000
# More at once cost memory, fewer cost time.
_CELLS_AT_ONCE, _FEWEST_AT_ONCE = 163_840, 1_024
_QUOTED = lazy_pattern(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
_GENERATED = lazy_pattern(r"\bGENERATED\s+ALWAYS\b", re.IGNORECASE)


def read_duckdb(
    source: Path | BinaryIO, *, names: Sequence[str] | None, limits: Limits, as_it_comes: bool = False, stem: str = ""
) -> dict[str, Table | Fault]:
    """Each named table (None: all base tables, in the order of `duckdb_table_names`) as a Table, or a Fault in its place.

    Names ignore case; keys are the names as given. `types` are duckdb's type names; cells are native values in stored order, but
    TIMESTAMPTZ is an aware datetime in UTC, and a timestamp beyond Python's range or precision (infinity, nanoseconds, year 10000) stays
    text. A handle is copied first; a Path must be private already and is opened directly. A view over base tables of the file is read as a
    table that is marked as a view; `stem` is the name by which its text may call the database, that of the submitted file. `as_it_comes`
    returns tables of many rows as packed text.

    Raises:
        FaultError: BAD_DUCKDB, or LIMIT if memory runs out. MISSING_TABLE, NOT_A_TABLE and LIMIT of one table are in the result.
    """
    with attach_answer(source, limits) as connection:
        catalog = _Catalog(connection, "answer", stem)
        return {name: catalog.read(name, limits, as_it_comes=as_it_comes) for name in (catalog.table_names() if names is None else names)}


def open_duckdb(source: Path, *, names: Sequence[str] | None, limits: Limits, stem: str = "") -> dict[str, Table | UnreadTable | Fault]:
    """`read_duckdb`, where tables of many rows and plain types are unread. The file must not change until they are read."""
    attached = partial(attach_answer, source, limits)
    with attached() as connection:
        catalog = _Catalog(connection, "answer", stem)
        return {name: catalog.open(name, limits, attached) for name in (catalog.table_names() if names is None else names)}


def duckdb_table_names(source: Path | BinaryIO, *, limits: Limits) -> list[str]:
    """The names of the base tables of schema main, sorted as `SHOW TABLES` sorts them."""
    with attach_answer(source, limits) as connection:
        return _Catalog(connection, "answer").table_names()


def read_trusted_duckdb(path: Path, *, names: Sequence[str] | None, limits: Limits, as_it_comes: bool = False) -> dict[str, Table | Fault]:
    """`read_duckdb` for a gold database: attached read-only to one connection that lives as long as the process.

    Opening a connection takes 20 ms, attaching a file half a millisecond. This connection never opens a file of a submission.
    """
    with attach_gold(path, limits) as connection:
        catalog = _Catalog(connection, "gold")
        return {name: catalog.read(name, limits, as_it_comes=as_it_comes) for name in (catalog.table_names() if names is None else names)}


def is_read_as_an_answer(path: Path, tables: Mapping[str, Any]) -> bool:
    """Whether an answer with the bytes of a gold database gives the same tables under its limits: small, plain, and without a log."""
    is_plain = all(isinstance(table, Table) and packed_of(table) is None for table in tables.values())
    is_logged = exists(path.with_name(f"{path.name}.wal"))
    return is_plain and not is_logged and path.stat().st_size + sum(map(memory_of, tables.values())) < _SMALL_BYTES


def trusted_table_names(path: Path, *, limits: Limits) -> list[str]:
    """`duckdb_table_names` for a gold database."""
    with attach_gold(path, limits) as connection:
        return _Catalog(connection, "gold").table_names()


Attached = Callable[[], AbstractContextManager["duckdb.DuckDBPyConnection"]]


class _Rows:
    """The `UnreadSource` of a table: each reading takes a connection of `attached`; `whole` reads its values."""

    def __init__(
        self,
        attached: Attached,
        rows: "Callable[[duckdb.DuckDBPyConnection], Iterator[Block]]",
        whole: "Callable[[duckdb.DuckDBPyConnection], Table | Fault]",
        limits: Limits,
    ) -> None:
        self._attached, self._rows, self._whole, self._limits = attached, rows, whole, limits

    def blocks(self) -> Iterator[Block]:
        """The rows, as `UnreadSource` defines it."""
        n_rows = 0
        try:
            with self._attached() as connection:
                for block in self._rows(connection):
                    n_rows += len(block)
                    if n_rows > self._limits["rows"] or n_rows * block.lengths.shape[1] > self._limits["cells"]:
                        raise OddError
                    yield block
        except FaultError:
            raise OddError from None

    def read_table(self) -> Table:
        """The table as values. Raises `FaultError`."""
        with self._attached() as connection:
            table = self._whole(connection)
        if isinstance(table, Fault):
            raise FaultError(table.code, table.detail)
        return table


class _Catalog:
    """The content of schema main in a connection's file.

    The catalog is queried through system.main and without any function by its bare name: a macro of the file can shadow those.
    """

    def __init__(self, connection: "duckdb.DuckDBPyConnection", database: str, stem: str = "") -> None:
        self.connection, self._database, self._stem = connection, database, stem
        rows = connection.execute(
            "SELECT database_name, table_name, estimated_size, column_count, sql, schema_name FROM system.main.duckdb_tables() "
            "WHERE NOT internal AND NOT temporary"
        ).fetchall()
        self._rows = [row for row in rows if row[0] == database]
        self.tables = {fold_name(str(row[1])): row for row in self._rows if row[5] == "main"}

    def table_names(self) -> list[str]:
        """Base tables, sorted by code point."""
        return sorted(str(row[1]) for row in self.tables.values())

    def read(self, name: str, limits: Limits, *, as_it_comes: bool) -> Table | Fault:
        """One table, or why it is not read; `as_it_comes` as packed text if it has many rows and plain types."""
        table = self.open(name, limits, (lambda: nullcontext(self.connection)) if as_it_comes else None)
        try:
            return table.read() if isinstance(table, UnreadTable) else table
        except FaultError as error:
            return error.fault

    def open(self, name: str, limits: Limits, attached: Attached | None) -> Table | UnreadTable | Fault:
        """One table, or why it is not read; if it has many rows and plain types, unread, to be read on what `attached` returns."""
        row = self.tables.get(fold_name(name))
        if row is None:
            query = "SELECT view_name FROM system.main.duckdb_views() WHERE schema_name = 'main' AND NOT internal"
            views = self.connection.execute(query).fetchall()
            if fold_name(name) in {fold_name(str(view)) for (view,) in views}:
                return self._read_view(name, limits)
            return Fault(code="MISSING_TABLE", detail=f"the database has no table {name!r} in schema main")
        refusal = self._refusal(name, row, limits)
        if refusal is not None:
            return refusal
        place, stored = _place(row), str(row[1])
        if attached is not None and row[2] >= PACKED_ROWS and (unread := self._unread(name, stored, limits, attached)) is not None:
            return unread
        return read_rows(self.connection, name, stored, place, limits)

    def _refusal(self, name: str, row: tuple[Any, ...], limits: Limits) -> Fault | None:
        """Why a table is not read, as far as the catalog shows."""
        _, _, n_rows, n_columns, sql, _ = row
        if _GENERATED.search(_QUOTED.sub("", str(sql))):
            return Fault(code="NOT_A_TABLE", detail=f"{name!r} has generated columns; submit plain ones")
        for limit, size in (("rows", n_rows), ("columns", n_columns), ("cells", n_rows * n_columns)):
            if size > limits[limit]:
                return Fault(code="LIMIT", detail=f"{name!r} has {size} {limit} (limit {limit}: {int(limits[limit])})")
        return None

    def _unread(self, name: str, stored: str, limits: Limits, attached: Attached) -> UnreadTable | Fault | None:
        """A table of plain types; None for other types, and if a cell is beyond Python's range."""
        place = _place(self.tables[fold_name(stored)])
        # The catalog would list the columns of the system too, in four times the time.
        header, types = header_and_types(self.connection.execute(f"SELECT * FROM {place} LIMIT 0"))
        if not types or not all(map(kind_of, types)) or "rowid" in map(str.lower, header):
            return None
        quoted = list(map(quoted_name, header))
        size = read_size(self.connection, place, quoted, types)
        if size is None:
            return None
        if size > limits["table_bytes"]:
            return too_many_fault(name, f"than {int(limits['table_bytes'])} bytes (limit table_bytes)")

        def whole(connection: "duckdb.DuckDBPyConnection") -> Table | Fault:
            return _Catalog(connection, self._database).read(name, limits, as_it_comes=False)

        rows = partial(read_blocks, table=place, columns=quoted, types=types)
        return UnreadTable(header=header, name=stored, source=_Rows(attached, rows, whole, limits), types=types)

    def _read_view(self, name: str, limits: Limits) -> Table | Fault:
        """The rows of a view over base tables of an answer's own file, or why it is not read."""
        if not self._stem:
            return Fault(code="NOT_A_TABLE", detail=f"{name!r} is a view; submit a table")
        rows = [(str(row[5]), str(row[1])) for row in self._rows if self._refusal(name, row, limits) is None]
        tables = {(schema.lower(), table.lower()): (schema, table) for schema, table in rows}
        # duckdb names a database after its file, up to the first dot.
        catalogs = {self._stem.lower(), self._stem.lower().partition(".")[0], "answer"} - {""}
        try:
            query, reads_clock = expand_view(self.connection, "answer", name, tables=tables, catalogs=catalogs)
            if len(self.connection.execute(f"DESCRIBE {query}").fetchall()) > limits["columns"]:
                return Fault(code="NOT_A_TABLE", detail=f"{name!r} is a view with too many columns; submit a table")
            view = read_rows(self.connection, name, name, f"({query})", limits)
        except RefusedViewError as refused:
            return Fault(code="NOT_A_TABLE", detail=f"{name!r} is a view that {refused}; submit a table")
        except (duckdb.ProgrammingError, duckdb.DataError, duckdb.NotSupportedError):
            return Fault(code="NOT_A_TABLE", detail=f"{name!r} is a view that cannot be run; submit a table")
        return replace(view, is_view=True, reads_clock=reads_clock) if isinstance(view, Table) else view


def _place(row: Sequence[Any]) -> str:
    """A table of the catalog, written for FROM."""
    return f"{quoted_name(str(row[0]))}.main.{quoted_name(str(row[1]))}"
