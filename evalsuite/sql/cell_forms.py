"""Types and the text forms of cells: how a cell is read from an engine's text, and how a CSV file would show it.

The names of types are DuckDB's, for every engine: BOOLEAN, BIGINT, DOUBLE, DECIMAL(p,s), VARCHAR, BLOB, DATE, TIME, TIMESTAMP,
TIMESTAMP WITH TIME ZONE, UUID, JSON, and whatever else DuckDB itself has.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

# A column whose cells each have their own type: SQLite's.
ANY = "ANY"
INSTANT = "TIMESTAMP WITH TIME ZONE"
INTEGERS = frozenset({f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")})
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


_MAKERS: dict[str, Callable[[str], Any]] = {
    "BOOLEAN": lambda text: {"true": True, "false": False}[text],
    "DOUBLE": float,
    "FLOAT": float,
    "BLOB": bytes.fromhex,
    "DATE": date.fromisoformat,
    "TIME": time.fromisoformat,
    "TIMESTAMP": datetime.fromisoformat,
    INSTANT: _instant,
    "UUID": UUID,
    "DECIMAL": Decimal,
    **dict.fromkeys(INTEGERS, int),
}


def decode(texts: Iterable[str | None], type_: str) -> list[Any]:
    """The cells behind text forms; a text that is no value of the type is itself the cell (an infinite date, say)."""
    maker = Decimal if _DECIMAL.fullmatch(type_) else _MAKERS.get(type_, str)
    return [None if text is None else _made(maker, text) for text in texts]


def _made(maker: Callable[[str], Any], text: str) -> Any:
    try:
        return maker(text)
    except (ValueError, ArithmeticError, KeyError):
        return text


def _as_text(cell: Any) -> str:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return repr(cell)
    if isinstance(cell, bytes):
        return cell.hex()
    if isinstance(cell, Decimal):
        return format(cell, "f") if cell.is_finite() else str(cell)
    return cell.isoformat(" ") if isinstance(cell, datetime) else str(cell)


class ColumnKind:
    """The type of a column whose engine names none, from the cells it turns out to hold."""

    _NAMES = (
        (frozenset({int}), "BIGINT"),
        (frozenset({int, float}), "DOUBLE"),
        (frozenset({str}), "VARCHAR"),
        (frozenset({bytes}), "BLOB"),
    )

    def __init__(self) -> None:
        self._seen: set[type] = set()

    def see(self, column: Sequence[Any]) -> None:
        """Take note of a chunk of cells."""
        self._seen.update(map(type, column))

    @property
    def name(self) -> str:
        """The type: NULL for no value at all, ANY for texts, numbers and bytes mixed."""
        kinds = frozenset(self._seen - {type(None)})
        if not kinds:
            return '"NULL"'
        return next((name for known, name in self._NAMES if kinds <= known), ANY)


def csv_cell(cell: Any, *, days: bool = False) -> str:
    """The text of a cell in a CSV file; `days` is for a moment of a column that shows them."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell)
    if isinstance(cell, datetime):
        return cell.date().isoformat() if days and cell.tzinfo is None else cell.isoformat(" ")
    return _as_text(cell)
