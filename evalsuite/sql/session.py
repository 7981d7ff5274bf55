"""Shared by all engines: connections, the limits of a query, the protocol of a session, neutral cells, files of embedded engines."""

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

from evalsuite.core.errors import FaultError, MissingExtraError, UsageError
from evalsuite.core.types import Table

MIB = 1 << 20
_LONGEST_PART = 60

# Why a statement failed, in fixed texts: an engine's own text can contain paths and any part of the statement.
REASONS = {
    "syntax": "the statement is not valid SQL of this engine",
    "name": "the statement names a table, column or function that the database does not have",
    "form": "the parts of the statement do not fit together: its types, columns, grouping or names",
    "value": "a value cannot be converted or computed",
    "empty": "there is no statement",
    "deep": "the statement is nested too deeply",
    "long": "the statement is too long",
    "range": "the result contains a value outside the supported range, such as a date after the year 9999",
    "encoding": "the result contains a text that is not UTF-8",
    "other": "the engine refused the statement",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The description of one database: plain data that is pickled to a worker and opened there.

    `options` can contain secrets: neither `repr` nor `str` nor an error shows any of its values.
    """

    name: str
    engine: str
    database: str = ""
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLimits:
    """The limits of one statement.

    `seconds` wall clock · `rows`, `columns` of the result · `held_bytes` of cells if they are in memory · `result_bytes` of a result in all
    · `memory_mib` of an embedded engine · `billed_bytes` that BigQuery may bill · `sql_bytes` length of the statement · `clock` the frozen
    time of the statement, in seconds since 1970 (0: the real clock).
    """

    seconds: float = 10
    rows: int = 5_000_000
    columns: int = 20_000
    held_bytes: int = 256 * MIB
    result_bytes: int = 16 << 30
    memory_mib: int = 2048
    billed_bytes: int = 10 << 30
    sql_bytes: int = 100_000
    clock: int = 0

    @classmethod
    def of(cls, limits: Mapping[str, int | float]) -> "QueryLimits":
        """The limits by the names of suite.yaml and --limit; `table_bytes` becomes `held_bytes`. Names of other limits are ignored."""
        known = {name: limits[name] for name in cls.__dataclass_fields__ if name in limits}
        if "table_bytes" in limits:
            known.setdefault("held_bytes", limits["table_bytes"])
        return cls(**known)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of a statement: wall-clock seconds, rows and bytes of its result, bytes billed (None: the engine bills none)."""

    seconds: float
    rows: int
    bytes: int
    billed_bytes: int | None = None
    cached: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """A statement's table with its cost. `sql` is the statement that ran, without its fence."""

    table: Table
    cost: Cost
    sql: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A statement's result as the CSV file that is scored, with its cost. `sql` is the statement that ran, without its fence."""

    place: Path
    header: tuple[str, ...]
    cost: Cost
    sql: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Rows as text written by the engine, equal to `result_csv.as_lines` of them; the columns with timestamps at midnight, and at other
    times.
    """

    text: bytes
    n_rows: int
    at_midnight: frozenset[int] = frozenset()
    at_other_times: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A result being read: header, types (None: each cell has its own, as in SQLite), and chunks of rows of neutral cells, or `lines`."""

    header: tuple[str, ...]
    types: tuple[str, ...] | None
    chunks: Iterator[Sequence[Sequence[Any]]]
    lines: Iterator[Lines] | None = None


class Session(Protocol):
    """An open read-only connection. Every method raises `FaultError` with fixed texts; engines' texts go to the debug log."""

    billed_bytes: int | None

    def stream(self, sql: str) -> Stream:
        """Start a statement from `statement.only_statement`; refuses everything that the engine does not parse as one SELECT.

        An engine that writes text itself returns `lines` instead of chunks for `as_text=True`, if it can write this result so.
        """
        ...

    def cancel(self) -> None:
        """Stop the running statement; called from another thread."""
        ...

    def describe(self) -> str:
        """The engine and its version."""
        ...

    def fingerprint(self) -> str | None:
        """A value that changes whenever the data change; None if the engine cannot report that, and then no result is cached."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


def client(module: str, engine: str) -> Any:
    """An engine's client library; raises `MissingExtraError` with the pip line if it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(f"{engine} needs its client library", extra=engine) from error


def sql_error(kind: str) -> FaultError:
    """SQL_ERROR with the fixed text of a kind of `REASONS`."""
    return FaultError("SQL_ERROR", REASONS[kind])


def not_allowed(reason: str, part: str = "") -> FaultError:
    """SQL_NOT_ALLOWED with a fixed reason, and the part of the statement that it is about, if it is plain text."""
    shown = re.sub(r"[^\w$.()*:/ -]", "", part)[:_LONGEST_PART].strip()
    return FaultError("SQL_NOT_ALLOWED", f"{reason}: {shown}" if shown else reason)


def named_part(text: str, sql: str) -> str:
    """The first name in an engine's first line that also occurs in the statement; nothing else of the engine's text is shown. Empty if
    none.
    """
    found = re.findall(r"\"([^\"]+)\"|'([^']+)'|(\w+)", text.partition("\n")[0])
    quoted = [name for double, single, _ in found if (name := double or single) and name in sql]
    return next(iter(quoted or [word for *_, word in found[::-1] if word and re.search(rf"\b{word}\b", sql)]), "")


def server_gone(engine: str) -> FaultError:
    """NEEDS_CONNECTION for a server that disconnected while it ran a statement: not the answer's fault."""
    return FaultError("NEEDS_CONNECTION", f"{engine} disconnected while it ran the statement", side="setup")


NOT_SELECT = "only one SELECT is run"
OUTSIDE = "the statement reaches outside its database"


def neutral(value: Any) -> Any:
    """A cell in the form that is the same for every engine: instants in UTC, lists and objects as JSON text, other types as text."""
    if value is None or isinstance(value, bool | int | float | str | bytes | Decimal | UUID):
        return value
    if isinstance(value, datetime):
        return value if value.tzinfo is None else value.astimezone(UTC)
    if isinstance(value, date | time):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, list | tuple | Mapping):
        return as_json(value)
    return str(value)


def as_json(value: Any) -> str:
    """A nested value as JSON text; values without a JSON form become text."""
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return value.isoformat() if isinstance(value, date | time) else str(value)


def existing(connection: Connection) -> Path:
    """The connection's file or folder; raises `UsageError` if it does not exist."""
    if not connection.database:
        raise UsageError(f"connection {connection.name!r} names no database", hint="add `database: FILE`")
    path = Path(connection.database)
    if not is_there(path):
        raise UsageError(
            f"connection {connection.name!r}: no {'/'.join(path.parts[-2:])}",
            hint="a relative path starts in --databases DIR, then in the folder of the configuration file",
        )
    if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
        raise UsageError(f"connection {connection.name!r}: {path.name} cannot be read", hint="check its permissions")
    path = path.resolve()
    try:
        text_of(path)
    except UnicodeDecodeError:
        raise UsageError(f"connection {connection.name!r}: the path of {path.name} is not UTF-8", hint="rename it") from None
    return path


def text_of(path: Path) -> str:
    """The path in UTF-8, as engines expect it, whatever encoding this process uses for file names. Raises `UnicodeDecodeError`."""
    return os.fsencode(path).decode()


def is_there(path: Path) -> bool:
    """Whether a file or folder exists; False inside a folder without read permission."""
    return os.path.exists(path)  # noqa: PTH110 - `Path.exists` raises there


def read_of(connection: Connection) -> list[str]:
    """The paths that an embedded engine reads: the file and its write-ahead log, or the folder and the targets of the links in it."""
    found = [connection.database, f"{connection.database}.wal"]
    with contextlib.suppress(OSError):
        found += [os.path.realpath(entry) for entry in os.scandir(connection.database) if entry.is_symlink()]
    return found


def digest_of(files: Sequence[Path]) -> str:
    """SHA-256 over the names and bytes of files; unchanged files are not read again in this process."""
    digest = hashlib.sha256()
    for path in files:
        status = path.stat()
        content = _file_digest(path, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        digest.update(os.fsencode(path.name) + f"\0{content}\0".encode())
    return digest.hexdigest()


@lru_cache(maxsize=4096)
def _file_digest(path: Path, *_state: int) -> str:
    """The digest of a file in the state that the other arguments describe."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
