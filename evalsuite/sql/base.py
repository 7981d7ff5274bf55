"""What all engines share: the description of a connection, the limits of a query, the protocol of a session, and neutral cells."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from importlib import import_module
from typing import Any, Protocol
from uuid import UUID

from evalsuite.errors import FaultError, MissingExtraError
from evalsuite.types import Table

MIB = 1 << 20

# Why a statement failed, in fixed words: an engine's own text can carry paths and whatever the statement says.
REASONS = {
    "syntax": "the statement is not valid SQL of this engine",
    "name": "the statement names a table, column or function that the database does not have",
    "value": "a value cannot be converted or computed",
    "empty": "there is no statement",
    "deep": "the statement is nested too deeply",
    "long": "the statement is too long",
    "range": "the result holds a value that lies outside what can be read, such as a date after the year 9999",
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

    `seconds` wall clock · `rows`, `columns` of the result · `held_bytes` of cells kept in memory, beyond which they are spilled to
    Parquet files · `result_bytes` of cells in all · `memory_mib` of an embedded engine · `billed_bytes` that BigQuery may bill ·
    `sql_bytes` length of the statement.
    """

    seconds: float = 10
    rows: int = 5_000_000
    columns: int = 20_000
    held_bytes: int = 256 * MIB
    result_bytes: int = 16 << 30
    memory_mib: int = 2048
    billed_bytes: int = 10 << 30
    sql_bytes: int = 100_000

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
class Stream:
    """A result on its way: header, types (None: each cell has its own, as in SQLite), and chunks of rows of neutral cells."""

    header: tuple[str, ...]
    types: tuple[str, ...] | None
    chunks: Iterator[Sequence[Sequence[Any]]]


class Session(Protocol):
    """An open read-only connection. Every method raises `FaultError` with fixed words; engines' texts go to the debug log."""

    billed_bytes: int | None

    def stream(self, sql: str) -> Stream:
        """Start a statement that `statement.only_statement` let through; refuses whatever the engine does not take for one SELECT."""
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


def not_allowed(reason: str) -> FaultError:
    """SQL_NOT_ALLOWED with a reason in fixed words."""
    return FaultError("SQL_NOT_ALLOWED", reason)


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
