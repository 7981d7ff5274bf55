"""Column values as `fetchdf()` of duckdb 2.0.0 with pandas 3.1.1 returns them: the values that the reference compares.

An empty integer or boolean cell is NA, which cannot be compared with a value, so an exact copy with such a column in another order scores 0
(not under the reference dbt). Decimals and HUGEINT become floats.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal

from evalsuite.compare.columns import packed_of
from evalsuite.compare.official_cells import NA, NAN, NAT, Bits, Far, Items, Vector
from evalsuite.core.dataclasses import dataclass
from evalsuite.core.import_ref import lazy_pattern
from evalsuite.core.scores import Table

Group = Literal["integer", "masked", "float", "boolean", "text", "moment", "duration", "object"]
_SIGNED = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT"})
_INTEGERS = _SIGNED | {"UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}
_FLOATS = frozenset({"FLOAT", "DOUBLE", "HUGEINT"})
_MOMENTS = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"})
_ZONED = frozenset({"TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ"})
_UNSUPPORTED = frozenset({"UHUGEINT", "BIGNUM", "VARINT"})
_ZONED_TIMES = frozenset({"TIME WITH TIME ZONE", "TIMETZ"})
_NESTED = ("STRUCT(", "MAP(", "UNION(", "TUPLE(", "VARIANT")
_IN_NANOSECONDS = lazy_pattern(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{7,9}")
_END_OF_MICROSECONDS = len("2024-01-01 00:00:00.123456")
_EPOCH = datetime(1970, 1, 1)
# The first and the last day whose microseconds since 1970 have 64 bits, as year (below 1: before Christ), month, day.
_FIRST_DAY, _LAST_DAY = (-290308, 12, 22), (294247, 1, 10)
_LONGEST = timedelta(microseconds=2**63 - 1)


class Duration(timedelta):
    """A timedelta whose text, and so its sort order, is the one of pandas."""

    def __str__(self) -> str:
        hours, rest = divmod(self.seconds, 3600)
        sign = "+" if self.days < 0 else ""
        fraction = f".{self.microseconds:06d}" if self.microseconds else ""
        return f"{self.days} days {sign}{hours:02d}:{rest // 60:02d}:{rest % 60:02d}{fraction}"


@dataclass(slots=True)
class _Fetched:
    """A column as `fetchdf` types it alone, before the frame is transposed."""

    group: Group
    type: str
    values: list[Any]
    has_null: bool

    @property
    def is_number(self) -> bool:
        """Whether a frame of such columns only has one numeric type."""
        return self.group in ("integer", "float")


def database_columns(table: Table, needed: Sequence[int] | None = None) -> list[Vector]:
    """The lists of `fetchdf().iloc[:, needed].transpose().values.tolist()` for a database table, NULL as `NA`, `NAT`, NaN or None."""
    assert table.types is not None
    chosen = range(len(table.columns)) if needed is None else needed
    fetched = [_fetch(table.columns[index], table.types[index]) for index in chosen]
    if (alone := _one_group(fetched, table.n_rows)) is not None:
        return alone
    if all(column.is_number for column in fetched) and _become_floats([column.type for column in fetched]):
        return [Vector(list(map(float, column.values)), "number") for column in fetched]
    return [_column(column) for column in fetched]


def _one_group(fetched: Sequence[_Fetched], n_rows: int) -> list[Vector] | None:
    """The columns of a frame whose types all belong to one group with values of its own, None for other frames."""
    groups = {column.group for column in fetched}
    if groups == {"moment"} and not any(column.type in _ZONED for column in fetched):
        return _moment_columns(fetched)
    if groups == {"duration"}:
        return [Vector([None if cell is NAT else timedelta(0) + cell for cell in column.values], "moment") for column in fetched]
    if groups == {"masked"} and n_rows == 1 and len({column.type for column in fetched}) == 1 and fetched[0].type != "BOOLEAN":
        return [Vector([NAN], "number") for _ in fetched]
    return None


def column_of(cells: Sequence[Any], table: Table, chosen: Sequence[int], column: int) -> Vector:
    """Some cells of one chosen column, equal to `database_columns` for plain types if no integer or boolean is empty."""
    names = [(table.types or ())[index].upper() for index in chosen]
    fetched = _fetch(cells, (table.types or ())[column])
    if turns_into_floats(names):
        return Vector(list(map(float, fetched.values)), "number")
    return _column(fetched)


def turns_into_floats(types: Iterable[str]) -> bool:
    """Whether a frame of columns of these types, without NULL, is one of floats."""
    names = [name.upper() for name in types]
    return {_find_conversion(name)[0] for name in names} <= {"integer", "float"} and _become_floats(names)


def are_only_integers_null(tables: Iterable[Table]) -> bool:
    """Whether all empty cells that cannot be compared are in columns of integers."""
    columns = ((kind.upper(), column) for table in tables for kind, column in zip(table.types or (), table.columns, strict=True))
    return {kind for kind, column in columns if _find_conversion(kind)[2] is NA and None in column} <= _INTEGERS


def unreadable_column(table: Table) -> str | None:
    """What of the first column that `fetchdf` rejects the reference cannot read: its type, or a value; None if it can read the table."""
    is_packed = packed_of(table) is not None
    for column, name in zip(table.columns, table.types or (), strict=False):
        item = name.partition("[")[0]
        if item in _UNSUPPORTED | _ZONED_TIMES:
            is_read = item != name or (item in _ZONED_TIMES and table.n_rows == 0)
            if is_read and all(cell is None for cell in column):
                continue
            return f"a column of type {name}"
        if "INTERVAL" in name and (value := next((cell for cell in column if isinstance(cell, str)), None)) is not None:
            return f"the interval {value}"
        if item in ("DATE", "INTERVAL") and not is_packed and (value := next(filter(_is_beyond, column), None)) is not None:
            return f"the {item.lower()} {value}"
    return None


def _is_beyond(cell: Any) -> bool:
    """Whether a day or an interval, or one in a list, has more microseconds than 64 bits can count."""
    if isinstance(cell, list | tuple):
        return any(map(_is_beyond, cell))
    if isinstance(cell, timedelta):
        return abs(cell) > _LONGEST
    if not isinstance(cell, str):
        return False
    if cell.endswith("infinity"):
        return True
    year, month, day = map(int, cell.removesuffix(" (BC)").split("-"))
    return not _FIRST_DAY <= (1 - year if cell.endswith("(BC)") else year, month, day) <= _LAST_DAY


def _fetch(cells: Sequence[Any], type_name: str) -> _Fetched:
    """One column as pandas stores it; types that `_find_conversion` does not know become object columns."""
    name = type_name.upper()
    group, convert, null = _find_conversion(name)
    if group == "object" and name.startswith("ENUM("):
        # A list of them contains the places of its values in the type, and -1 for NULL.
        names = [value.replace("''", "'") for value in re.findall(r"'((?:[^']|'')*)'", type_name)]
        codes: dict[Any, int] = {None: -1, **{value: code for code, value in enumerate(names)}}
        convert = lambda cell: Items(item if isinstance(item, list | tuple) else codes[item] for item in cell)  # noqa: E731
    has_null = any(cell is None for cell in cells)
    values = [null if cell is None else cell if convert is None else convert(cell) for cell in cells]
    if group == "text" and all(cell is None for cell in cells) and not name.startswith("ENUM("):
        return _Fetched("object", name, list(cells), has_null)
    if has_null and (group in ("integer", "boolean")):
        group = "masked"
    return _Fetched(group, name, values, has_null)


def _find_conversion(name: str) -> tuple[Group, Callable[[Any], Any] | None, Any]:
    """For a type: the group, the conversion from a native cell to pandas' value, and the value for NULL."""
    if name.endswith("]") or name.startswith(_NESTED):
        return "object", _find_nested_conversion(name), NA
    if name in _INTEGERS:
        return "integer", None, NA
    if name in _FLOATS or name.startswith("DECIMAL"):
        return "float", _float, NAN
    if name == "BOOLEAN":
        return "boolean", None, NA
    if name in ("VARCHAR", "JSON") or name.startswith("ENUM("):
        return "text", None, NAN
    if name in _MOMENTS or name in _ZONED:
        return "moment", _instant if name in _ZONED else _midnight, NAT
    if name == "INTERVAL":
        return "duration", _duration, NAT
    if name == "BIT":
        return "object", lambda cell: Bits(cell.encode()) if isinstance(cell, str) else cell, NA
    return "object", None, None if name == '"NULL"' else NA


def _find_nested_conversion(name: str) -> Callable[[Any], Any] | None:
    """The conversion of a list or of a type with members, of which the client clips infinite dates and cuts off nanoseconds."""
    convert = _items if name.endswith("]") else None
    if not name.startswith(_NESTED) or "TIME ZONE" in name or not any(type_ in name for type_ in ("DATE", "TIMESTAMP", "VARIANT")):
        return convert
    ends = (datetime.min, datetime.max) if "TIMESTAMP" in name and "DATE" not in name else (date.min, date.max)
    return lambda cell: convert(_clip(cell, ends)) if convert else _clip(cell, ends)


def _clip(cell: Any, ends: tuple[date, date]) -> Any:
    if isinstance(cell, dict):
        return {_clip(name, ends): _clip(item, ends) for name, item in cell.items()}
    if isinstance(cell, list | tuple):
        return type(cell)(_clip(item, ends) for item in cell)
    if not isinstance(cell, str):
        return cell
    return (
        ends[cell == "infinity"] if cell.endswith("infinity") else datetime.fromisoformat(cell) if _IN_NANOSECONDS.fullmatch(cell) else cell
    )


def _items(cell: Any) -> Items:
    """A list, where days are moments; one of moments with a zone comes as text."""
    if isinstance(cell, str):
        return Items(cell[1:-1].split(", ") if len(cell) > 2 else ())
    return Items(datetime(item.year, item.month, item.day) if type(item) is date else item for item in cell)


def _float(cell: Any) -> float:
    """A decimal as duckdb converts it: the digits as a float, divided by the power of ten; every NaN is the same NaN object."""
    if isinstance(cell, Decimal) and cell.is_finite():
        sign, digits, exponent = cell.as_tuple()
        unscaled = int("".join(map(str, digits)) or "0")
        value = float(unscaled) / 10.0 ** -int(exponent) if int(exponent) < 0 else float(cell.copy_abs())
        return -value if sign else value
    value = float(cell)
    return value if value == value else NAN


def _midnight(cell: Any) -> Any:
    if isinstance(cell, str):
        return Far(("moment", cell if " " in cell.removesuffix(" (BC)") else f"{cell} 00:00:00"))
    return datetime(cell.year, cell.month, cell.day) if isinstance(cell, date) and not isinstance(cell, datetime) else cell


def _instant(cell: Any) -> Any:
    """A timestamp with its zone; text that the reader could not parse stays distinct from a VARCHAR."""
    if not isinstance(cell, str):
        return cell
    try:
        return datetime.fromisoformat(cell)
    except ValueError:
        return Far(("timestamptz", cell))


def _duration(cell: Any) -> Any:
    return Duration(cell.days, cell.seconds, cell.microseconds) if isinstance(cell, timedelta) else cell


def _moment_columns(fetched: Sequence[_Fetched]) -> list[Vector]:
    """A frame of timestamps only keeps numpy's values: datetime and None, or nanoseconds if one column is in nanoseconds."""
    in_nanoseconds = any(column.type == "TIMESTAMP_NS" for column in fetched)
    convert: Callable[[Any], Any] = _nanoseconds if in_nanoseconds else lambda cell: cell

    def value(cell: Any) -> Any:
        # Such a frame gives a moment that Python does not have as an integer, and a mixed one as a Timestamp.
        cell = convert(cell)
        return None if cell is NAT else Far(("integer", cell[1])) if isinstance(cell, Far) else cell

    return [Vector(list(map(value, column.values)), "moment") for column in fetched]


def _nanoseconds(cell: Any) -> Any:
    """Nanoseconds since 1970 as a 64-bit integer, which wraps around outside 1677 to 2262."""
    beyond = 0
    if isinstance(cell, Far) and _IN_NANOSECONDS.fullmatch(cell[1]):
        beyond = int(cell[1][_END_OF_MICROSECONDS:].ljust(3, "0"))
        cell = datetime.fromisoformat(cell[1])
    if not isinstance(cell, datetime):
        return cell
    exact = (cell - _EPOCH) // timedelta(microseconds=1) * 1000 + beyond
    return (exact + 2**63) % 2**64 - 2**63


def _become_floats(names: Iterable[str]) -> bool:
    """Whether numeric columns of one frame become floats: if one is a float, or UBIGINT occurs together with a signed type."""
    types = set(names)
    return not types <= _INTEGERS or ("UBIGINT" in types and bool(types & _SIGNED))


def _column(column: _Fetched) -> Vector:
    if column.group in ("integer", "float", "boolean"):
        return Vector(column.values, "number")
    if column.group == "text":
        return Vector(column.values, "text")
    if column.group in ("moment", "duration") or all(cell is None for cell in column.values):
        return Vector(column.values, "moment")
    return Vector(column.values, "other")
