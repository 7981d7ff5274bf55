"""Types and the text forms of cells: how a neutral cell goes into a Parquet part and comes back, and how a CSV file would show it.

The names of types are DuckDB's, for every engine: BOOLEAN, BIGINT, DOUBLE, DECIMAL(p,s), VARCHAR, BLOB, DATE, TIME, TIMESTAMP,
TIMESTAMP WITH TIME ZONE, UUID, JSON, and whatever else DuckDB itself has.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from evalsuite.types import Table

# A column whose cells each have their own type: SQLite's.
ANY = "ANY"
INSTANT = "TIMESTAMP WITH TIME ZONE"
INTEGERS = frozenset({f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")})
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_WIDEST_DECIMAL = 38
_MIDNIGHT = time()


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


_PLAIN: dict[str, tuple[str, Callable[[str], Any]]] = {
    "BOOLEAN": ("BOOLEAN", lambda text: {"true": True, "false": False}[text]),
    "DOUBLE": ("DOUBLE", float),
    "FLOAT": ("DOUBLE", float),
    "BLOB": ("BLOB", bytes.fromhex),
    "DATE": ("DATE", date.fromisoformat),
    "TIME": ("TIME", time.fromisoformat),
    "TIMESTAMP": ("TIMESTAMP", datetime.fromisoformat),
    INSTANT: ("TIMESTAMPTZ", _instant),
    "UUID": ("UUID", UUID),
    "DECIMAL": ("VARCHAR", Decimal),
    **{name: (name, int) for name in INTEGERS},
    # Parquet has no integers of 128 bits: DuckDB would write them as floats.
    **dict.fromkeys(("HUGEINT", "UHUGEINT"), ("VARCHAR", int)),
}


def is_typed(type_: str) -> bool:
    """Whether all cells of a column of this type have one Python type (text is one of them); only mixed columns have not."""
    return type_ != ANY


def parquet_type(type_: str) -> str:
    """DuckDB's type for a column in a Parquet part; text for what has no type of its own there."""
    decimal = _DECIMAL.fullmatch(type_)
    if decimal:
        return type_ if int(decimal[1]) <= _WIDEST_DECIMAL else "VARCHAR"
    return _PLAIN[type_][0] if type_ in _PLAIN else "VARCHAR"


def encode(column: Iterable[Any], type_: str) -> list[str | None]:
    """The text forms that `decode` reads back; None stays None."""
    if type_ != ANY:
        return [None if cell is None else _as_text(cell) for cell in column]
    tags: dict[type, str] = {bytes: "b", int: "i", float: "f"}
    return [None if cell is None else tags.get(type(cell), "s") + _as_text(cell) for cell in column]


def decode(texts: Iterable[str | None], type_: str) -> list[Any]:
    """The cells behind text forms; a text that is no value of the type is itself the cell (an infinite date, say)."""
    if type_ == ANY:
        makers: dict[str, Callable[[str], Any]] = {"b": bytes.fromhex, "i": int, "f": float, "s": str}
        return [None if text is None else makers[text[0]](text[1:]) for text in texts]
    maker = Decimal if _DECIMAL.fullmatch(type_) else _PLAIN[type_][1] if type_ in _PLAIN else str
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


def csv_form(table: Table) -> Table:
    """The table as the CSV reader would give it had pandas written it: text cells, "" for NULL, no types.

    Gold of the same question is a CSV file, so its rules of reading must hold for both sides. A column of instants that all lie on
    midnight shows days, as pandas does; booleans are True and False.
    """
    types = table.types or ("VARCHAR",) * len(table.columns)
    columns = tuple(_csv_column(column, type_) for column, type_ in zip(table.columns, types, strict=True))
    return Table(header=table.header, columns=columns, n_rows=table.n_rows, name=table.name)


# What all cells of one such type turn into, as `csv_cell` has it.
_CSV_FORMS: dict[type, Callable[[Any], str]] = {int: str, float: repr, str: str}


def _csv_column(column: Sequence[Any], type_: str) -> list[str]:
    kinds = set(map(type, column))
    if len(kinds) == 1 and (form := _CSV_FORMS.get(kinds.pop())) is not None:
        return list(map(form, column))
    instants = type_ in ("TIMESTAMP", INSTANT)
    days = instants and all(cell.timetz().replace(tzinfo=None) == _MIDNIGHT for cell in column if isinstance(cell, datetime))
    return [csv_cell(cell, days=days) for cell in column]


def csv_cell(cell: Any, *, days: bool = False) -> str:
    """The text of a cell in a CSV file; `days` is for a moment of a column that shows them."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell)
    if isinstance(cell, datetime):
        return cell.date().isoformat() if days and cell.tzinfo is None else cell.isoformat(" ")
    return _as_text(cell)
