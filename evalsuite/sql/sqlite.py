"""SQLite: a file opened read-only and immutable, with an authorizer that allows only reading it."""

import contextlib
import io
import logging
import re
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from evalsuite.core.errors import FaultError, UsageError
from evalsuite.core.files import exists, is_file
from evalsuite.core.library_calls import OwnErrors
from evalsuite.sandbox.limits import Deadline
from evalsuite.sql.frozen_clock import freeze_sqlite, reads_time
from evalsuite.sql.session import (
    MIB,
    NOT_SELECT,
    OUTSIDE,
    Connection,
    QueryLimits,
    Session,
    Stream,
    database_path,
    digest_of,
    not_allowed_error,
    sql_error,
    text_of,
    unread_database_error,
)

_log = logging.getLogger(__name__)

_MAGIC = b"SQLite format 3\0"
_CHUNK_ROWS = 2048
_STEPS = 100_000
# Pages of the file kept in memory, and how much is sorted in memory before a file would be used.
_CACHE_KIB = 32 << 10
DAMAGED = "damaged: SQLite cannot read its file"
# The file itself is only read, so these errors are about a temporary one.
_NO_FILE = frozenset({"SQLITE_IOERR_GETTEMPPATH", "SQLITE_IOERR_WRITE", "SQLITE_FULL", "SQLITE_CANTOPEN"})
NO_TEMPORARY_FILE = "the statement needs a temporary file, and none may be written"
_RECURSIVE = 33
_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, _RECURSIVE})
# Pragmas that a SELECT reads through a table such as `pragma_table_info`, about the database and the build, not the file's path; and the
# settings that it may read so, but not set.
_PRAGMAS = frozenset(
    {
        *("table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list", "foreign_key_check"),
        *("collation_list", "function_list", "module_list", "pragma_list", "compile_options", "integrity_check", "quick_check"),
    }
)
_SETTINGS = frozenset(
    {
        *("application_id", "data_version", "encoding", "freelist_count", "page_count", "page_size", "schema_version", "user_version"),
        *("auto_vacuum", "automatic_index", "cache_size", "default_cache_size", "foreign_keys", "journal_mode", "journal_size_limit"),
        *("locking_mode", "max_page_count", "query_only", "recursive_triggers", "secure_delete", "synchronous", "temp_store", "threads"),
    }
)
# The names of refused actions; the `first` argument of the authorizer is then its name.
_ACTIONS = {
    sqlite3.SQLITE_PRAGMA: "PRAGMA",
    sqlite3.SQLITE_ATTACH: "ATTACH",
    sqlite3.SQLITE_INSERT: "INSERT INTO",
    sqlite3.SQLITE_UPDATE: "UPDATE",
    sqlite3.SQLITE_DELETE: "DELETE FROM",
}
# Functions with access outside the database, if a build of SQLite has them.
_FORBIDDEN = frozenset({"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "sqlite_log", "lsdir", "fsdir"})
# Text that draws random numbers under any spelling, or calls a function under a quoted name.
_MAY_DRAW = re.compile(r"random|[\"`\]]\s*\(", re.IGNORECASE)
_LIMITS = (
    (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
    (sqlite3.SQLITE_LIMIT_LENGTH, 10_000_000),
    (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 100_000),
    (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 200),
    (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
)


def open_session(connection: Connection, limits: QueryLimits, *, temp_in_memory: bool = True) -> "SqliteSession":
    """An open session; raises `UsageError` if the file is not an SQLite database or has changes in another file.

    Temporary data of a statement stay in memory. SQLite sorts faster with a temporary file: without `temp_in_memory` a statement ends with
    the fault `NO_TEMPORARY_FILE` as soon as it needs one, for a process that may write none (`writes_nothing`).
    """
    path = database_path(connection)
    try:
        with path.open("rb") if is_file(path) else io.BytesIO() as handle:
            is_database = handle.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        raise UsageError(f"connection {connection.name!r}: {path.name} cannot be read", hint=str(error.strerror)) from None
    if not is_database:
        raise UsageError(f"connection {connection.name!r}: {path.name} is not an SQLite database", hint="check `database`")
    # Opened as immutable, only the file is read: changes in a journal next to it would be ignored silently.
    for beside in ("-wal", "-journal"):
        journal = path.with_name(path.name + beside)
        if exists(journal) and journal.stat().st_size:
            raise UsageError(
                f"connection {connection.name!r}: {journal.name} contains changes that are not in the file",
                hint="close its writer, or merge it: sqlite3 FILE 'PRAGMA wal_checkpoint(TRUNCATE)'",
            )
    try:
        return SqliteSession(path, limits, temp_in_memory=temp_in_memory)
    except sqlite3.Error as error:
        _log.debug("sqlite: %r", error)
        raise UsageError(f"connection {connection.name!r}: {path.name} is {DAMAGED}", hint="copy it again") from None


def is_steady(sql: str, *, clock: int = 0) -> bool:
    """Whether the text of a statement or view shows that its result is deterministic: no random numbers, no running clock.

    If in doubt the answer is False.
    """
    return not _MAY_DRAW.search(sql) and (clock > 0 or not reads_time(sql, "sqlite"))


def writes_nothing() -> bool:
    """Whether this process may write no byte to any file, as in the sandbox of a worker."""
    if sys.platform == "win32":
        return False
    import resource

    return resource.getrlimit(resource.RLIMIT_FSIZE)[0] == 0


def _is_virtual_table(action: int, first: str | None, second: str | None) -> bool:
    """Whether a virtual table uses an action to describe itself or to read its data.

    SQLite declares such a table with an UPDATE of the schema that is not executed; it refuses that of a statement itself. No statement that
    begins as a SELECT begins a transaction: the checks of an R*Tree do.
    """
    if action == sqlite3.SQLITE_PRAGMA:
        return first in _PRAGMAS or (first in _SETTINGS and second is None)
    return action == sqlite3.SQLITE_TRANSACTION or (action, first) == (sqlite3.SQLITE_UPDATE, "sqlite_master")


class SqliteSession(Session):
    """One locked connection."""

    def __init__(self, path: Path, limits: QueryLimits, *, temp_in_memory: bool = True) -> None:
        self._path = path
        self._seconds, self._clock = limits.seconds, limits.clock
        self._refused, self._temp_in_memory, self._own_errors = ("", ""), temp_in_memory, OwnErrors()
        uri = f"file:{quote(text_of(path))}?mode=ro&immutable=1"
        self.connection = sqlite3.connect(uri, uri=True, isolation_level=None, cached_statements=0, check_same_thread=False)
        self.connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        # With a trusted schema a view may call functions that are not SQLite's own; the authorizer checks its calls all the same.
        pragmas = (
            "query_only = 1",
            f"trusted_schema = {int(limits.clock > 0)}",
            f"cache_size = -{_CACHE_KIB}",
            f"temp_store = {2 if temp_in_memory else 1}",
        )
        for pragma in (*pragmas, f"hard_heap_limit = {limits.memory_mib * MIB // 2}"):
            self.connection.execute(f"PRAGMA {pragma}")
        for limit, value in _LIMITS:
            self.connection.setlimit(limit, value)
        if limits.clock:
            freeze_sqlite(self.connection, limits.clock, self._own_errors)
        self._open_virtual_tables()
        self.connection.set_authorizer(self._own_errors.kept()(self._authorise))

    def _open_virtual_tables(self) -> None:
        """Let the file's own virtual tables prepare statements that never run: an R*Tree its INSERT, which the authorizer would refuse."""
        # The statement itself reports what cannot be read.
        with contextlib.suppress(sqlite3.Error):
            for (name,) in self.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage = 0").fetchall():
                quoted = name.replace('"', '""')
                with contextlib.suppress(sqlite3.Error):
                    self.connection.execute(f'SELECT 1 FROM "{quoted}" LIMIT 0')

    def _authorise(self, action: int, first: str | None, second: str | None, database: str | None, inner: str | None) -> int:
        if action not in _ALLOWED and not _is_virtual_table(action, first, second):
            self._refused = NOT_SELECT, f"{_ACTIONS.get(action, 'this is another statement')} {first or ''}"
        elif action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FORBIDDEN:
            self._refused = OUTSIDE, f"{second}()"
        else:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    def stream(self, sql: str, *, deadline: Deadline | None = None) -> Stream:
        """The result of one SELECT, chunk by chunk; each cell has its own type. `deadline` may be shared with other statements."""
        deadline = deadline or Deadline(self._seconds)
        # In addition to the interrupt from outside, which has no effect between two statements.
        self.connection.set_progress_handler(self._own_errors.kept()(lambda: int(deadline())), _STEPS)
        self._refused = ("", "")
        with self._faults():
            cursor = self.connection.execute(sql)
        if cursor.description is None:
            raise not_allowed_error(NOT_SELECT)
        header = tuple(str(column[0]) for column in cursor.description)

        def chunks() -> Iterator[Sequence[Sequence[Any]]]:
            with self._faults():
                while rows := cursor.fetchmany(_CHUNK_ROWS):
                    yield rows

        return Stream(header=header, types=None, chunks=chunks())

    @contextlib.contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn sqlite's exceptions into faults with fixed texts."""
        with self._own_errors.watched():
            try:
                yield
            except MemoryError:
                raise FaultError("LIMIT", "the statement needs more memory than the limit memory_mib") from None
            except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
                _log.debug("sqlite: %r", error)
                raise self._fault_of(error) from None

    def _fault_of(self, error: Exception) -> FaultError:
        name, text = str(getattr(error, "sqlite_errorname", "") or ""), str(error)
        if any(self._refused):
            return not_allowed_error(*self._refused)
        if "one statement at a time" in text or "may not be modified" in text or name.startswith(("SQLITE_READONLY", "SQLITE_AUTH")):
            return not_allowed_error(NOT_SELECT)
        if name == "SQLITE_INTERRUPT":
            return FaultError("TIMEOUT", f"the statement took longer than {self._seconds:g} seconds (limit seconds)")
        if "not authorized" in text:
            return not_allowed_error(OUTSIDE)
        if not self._temp_in_memory and name in _NO_FILE:
            return FaultError("LIMIT", NO_TEMPORARY_FILE)
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            return FaultError("NEEDS_CONNECTION", f"the database is {DAMAGED}", side="setup")
        if name.startswith("SQLITE_IOERR"):
            return unread_database_error()
        if name == "SQLITE_NOMEM":
            return FaultError("LIMIT", "the statement needs more memory than the limit memory_mib")
        kinds = (
            ("too big", "value"),
            ("stack overflow", "deep"),
            ("too large (maximum depth", "deep"),
            ("no such", "name"),
            ("ambiguous column", "form"),
            ("syntax error", "syntax"),
            ("unrecognized token", "syntax"),
            ("incomplete input", "syntax"),
            ("malformed", "value"),
            ("overflow", "value"),
            ("Could not decode", "encoding"),
        )
        return sql_error(next((kind for part, kind in kinds if part in text), "other"))

    def describe(self) -> str:
        """`SQLite 3.40.1`."""
        return f"SQLite {sqlite3.sqlite_version}"

    def fingerprint(self) -> str | None:
        """SQLite's version and a digest of every byte of the file; None if one of its views is not deterministic."""
        return f"{sqlite3.sqlite_version}|{digest_of([self._path])}" if self.has_steady_views else None

    @cached_property
    def has_steady_views(self) -> bool:
        """Whether each view of the file is deterministic."""
        views: list[tuple[str]] = []
        # The statement itself reports what cannot be read.
        with contextlib.suppress(sqlite3.Error):
            views = self.connection.execute("SELECT sql FROM sqlite_master WHERE type = 'view'").fetchall()
        return all(is_steady(text or "", clock=self._clock) for (text,) in views)
