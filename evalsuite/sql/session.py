"""What all engines share: connections, the limits of a query, the protocol of a session, neutral cells, files of embedded engines."""

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

# Why a statement failed, in fixed words: an engine's own text can carry paths and whatever the statement says.
REASONS = {
    "syntax": "the statement is not valid SQL of this engine",
    "name": "the statement names a table, column or function that the database does not have",
    "form": "the parts of the statement do not fit together: its types, columns, grouping or names",
    "value": "a value cannot be converted or computed",
    "empty": "there is no statement",
    "deep": "the statement is nested too deeply",
    "long": "the statement is too long",
    "range": "the result holds a value that lies outside what can be read, such as a date after the year 9999",
    "encoding": "the result holds a text that is not UTF-8",
    "other": "the engine refused the statement",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How to reach one database: plain data that pickles to a worker and is opened there.

    `options` can hold secrets: neither `repr` nor `str` nor an error shows any of its values.
    """

    name: str
    engine: str
    database: str = ""
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLimits:
    """The limits of one statement.

    `seconds` wall clock · `rows`, `columns` of the result · `held_bytes` of cells where they are kept in memory ·
    `result_bytes` of a result in all · `memory_mib` of an embedded engine · `billed_bytes` that BigQuery may bill ·
    `sql_bytes` length of the statement · `clock` where the clock of the statement stands, in seconds since 1970 (0: it goes).
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
        """The limits by the names of suite.yaml and --limit; `table_bytes` is what is held. Names of other limits are passed over."""
        known = {name: limits[name] for name in cls.__dataclass_fields__ if name in limits}
        if "table_bytes" in limits:
            known.setdefault("held_bytes", limits["table_bytes"])
        return cls(**known)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a statement cost: wall-clock seconds, rows and bytes of its result, bytes billed (None: the engine bills none)."""

    seconds: float
    rows: int
    bytes: int
    billed_bytes: int | None = None
    cached: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """A statement's table with what it cost. `sql` is the statement as it ran, out of its fence."""

    table: Table
    cost: Cost
    sql: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A statement's result as the CSV file it is judged by, with what it cost. `sql` is the statement as it ran, out of its fence."""

    place: Path
    header: tuple[str, ...]
    cost: Cost
    sql: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Rows as an engine wrote them itself, `csv_text.as_lines` of them; which columns hold moments at midnight, and at other times."""

    text: bytes
    n_rows: int
    at_midnight: frozenset[int] = frozenset()
    at_other_times: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A result on its way: header, types (None: each cell has its own, as in SQLite), and chunks of rows of neutral cells, or `lines`."""

    header: tuple[str, ...]
    types: tuple[str, ...] | None
    chunks: Iterator[Sequence[Sequence[Any]]]
    lines: Iterator[Lines] | None = None


class Session(Protocol):
    """An open read-only connection. Every method raises `FaultError` with fixed words; engines' texts go to the debug log."""

    billed_bytes: int | None

    def stream(self, sql: str) -> Stream:
        """Start a statement that `statement.only_statement` let through; refuses whatever the engine does not take for one SELECT.

        Of an engine that writes text itself `as_text=True` asks for `lines` in place of chunks, where it can write this result so.
        """
        ...

    def cancel(self) -> None:
        """Stop the running statement; called from another thread."""
        ...

    def describe(self) -> str:
        """The engine and its version, in a few words."""
        ...

    def fingerprint(self) -> str | None:
        """What changes whenever the data change; None where the engine cannot say, and then no result is kept."""
        ...

    def close(self) -> None:
        """Let go of the connection."""
        ...


def client(module: str, engine: str) -> Any:
    """An engine's client library; raises `MissingExtraError` with the pip line where it is absent."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(f"{engine} needs its client library", extra=engine) from error


def sql_error(kind: str) -> FaultError:
    """SQL_ERROR with the fixed words of a kind of `REASONS`."""
    return FaultError("SQL_ERROR", REASONS[kind])


def not_allowed(reason: str, part: str = "") -> FaultError:
    """SQL_NOT_ALLOWED with a reason in fixed words, and the part of the statement that it is about, as far as it is plain."""
    shown = re.sub(r"[^\w$.()*:/ -]", "", part)[:_LONGEST_PART].strip()
    return FaultError("SQL_NOT_ALLOWED", f"{reason}: {shown}" if shown else reason)


def part_named(text: str, sql: str) -> str:
    """The first name in an engine's first line that stands in the statement itself: of its words nothing else is shown. Empty without."""
    found = re.findall(r"\"([^\"]+)\"|'([^']+)'|(\w+)", text.partition("\n")[0])
    quoted = [name for double, single, _ in found if (name := double or single) and name in sql]
    return next(iter(quoted or [word for *_, word in found[::-1] if word and re.search(rf"\b{word}\b", sql)]), "")


def server_gone(engine: str) -> FaultError:
    """NEEDS_CONNECTION of a server that went away while it ran a statement: nobody's answer is to blame."""
    return FaultError("NEEDS_CONNECTION", f"{engine} went away while it ran the statement", side="setup")


NOT_SELECT = "only one SELECT is run"
OUTSIDE = "the statement reaches outside its database"


def neutral(value: Any) -> Any:
    """A cell in the form it has whatever the engine: instants in UTC, lists and objects as JSON text, what has no plain form as text."""
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
    """A nested value as JSON text; what JSON has no form for stands in it as text."""
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return value.isoformat() if isinstance(value, date | time) else str(value)


def existing(connection: Connection) -> Path:
    """The connection's file or folder; raises `UsageError` where there is none."""
    if not connection.database:
        raise UsageError(f"connection {connection.name!r} names no database", hint="add `database: FILE`")
    path = Path(connection.database)
    if not is_there(path):
        raise UsageError(
            f"connection {connection.name!r}: no {'/'.join(path.parts[-2:])}",
            hint="a relative path starts in --databases DIR, then in the folder of the file that configures it",
        )
    if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
        raise UsageError(f"connection {connection.name!r}: {path.name} cannot be read", hint="who may read it?")
    path = path.resolve()
    try:
        text_of(path)
    except UnicodeDecodeError:
        raise UsageError(f"connection {connection.name!r}: the path of {path.name} is not UTF-8", hint="rename it") from None
    return path


def text_of(path: Path) -> str:
    """The path as engines take it: in UTF-8, whatever this process takes names of files to be in. Raises `UnicodeDecodeError`."""
    return os.fsencode(path).decode()


def is_there(path: Path) -> bool:
    """Whether there is a file or folder; what lies behind a folder that lets nobody in is not."""
    return os.path.exists(path)  # noqa: PTH110 - `Path.exists` raises there


def read_of(connection: Connection) -> list[str]:
    """What an embedded engine reads: the file and its log of changes, or the folder and the ends of the links in it."""
    found = [connection.database, f"{connection.database}.wal"]
    with contextlib.suppress(OSError):
        found += [os.path.realpath(entry) for entry in os.scandir(connection.database) if entry.is_symlink()]
    return found


def digest_of(files: Sequence[Path]) -> str:
    """SHA-256 over the names and bytes of files; a file that has not been touched since is not read again in this process."""
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
