"""Serialization of submitted content as msgpack: texts, tables cell by cell or packed, and faults.

It goes from the worker that reads it to the worker that compares it. A large table is only announced here; its blocks follow separately.
The sender is not trusted: malformed bytes raise ValueError.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from typing import Any
from uuid import UUID

from evalsuite.compare.columns import UnreadTable, from_message, to_message
from evalsuite.core.scores import SQLITE_CELLS, Fault, Table

_INT64 = 1 << 63
# Extension codes of values that msgpack cannot represent.
_BIG, _DECIMAL, _DATETIME, _DATE, _TIME, _DELTA, _UUID, _PAIRS, _OTHER, _WILD = range(1, 11)


_SURROGATE = re.compile(r"[\ud800-\udfff]")
# Receives a table of this header, name and types, whose blocks come next.
Receive = Callable[[tuple[str, ...], str, tuple[str, ...] | None], Table | Fault]


def encode_payloads(forms: Mapping[str, Any]) -> bytes:
    """Encode payloads as msgpack: texts, tables, lists of tables, tables by name, and faults in their place."""
    return bytes(_encoder()({name: _encode(value) for name, value in forms.items()}))


def unread_tables(forms: Mapping[str, Any]) -> list[UnreadTable]:
    """Return the tables whose blocks follow the payloads, in the order in which `decode_payloads` requests them."""
    flat: list[Any] = []
    for form in forms.values():
        flat += _distinct(form)[0] if isinstance(form, list | tuple) else form.values() if isinstance(form, Mapping) else [form]
    return [item for item in flat if isinstance(item, UnreadTable)]


def _distinct(values: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """Return (each object once, the index of each position's object). Only identical objects count as the same."""
    distinct = list({id(value): value for value in values}.values())
    at = {id(value): place for place, value in enumerate(distinct)}
    return distinct, [at[id(value)] for value in values]


def decode_payloads(data: bytes, unread: Receive | None = None) -> dict[str, Any]:
    """Decode what `encode_payloads` returned; `unread` gets header, name and types of the next table that comes in blocks.

    Raises ValueError for malformed bytes.
    """
    import msgspec

    try:
        forms = _decoder()(data)
        return {str(name): _decode(value, unread) for name, value in forms.items()}
    except (msgspec.MsgspecError, KeyError, TypeError, AttributeError, IndexError, ArithmeticError, RecursionError) as error:
        raise ValueError("a worker sent malformed bytes") from error


def _encode(value: Any) -> Any:
    if isinstance(value, UnreadTable):
        return ["unread", list(value.header), value.name, value.types]
    if isinstance(value, Table):
        # msgpack represents all cells of SQLite.
        return to_message(value, list if set(value.types or ()) == {SQLITE_CELLS} else _column_to_msgpack)
    if isinstance(value, Fault):
        return ["fault", value.code, value.detail, value.where, value.side]
    if isinstance(value, Mapping):
        return ["named", [[name, _encode(item)] for name, item in value.items()]]
    if isinstance(value, list | tuple):
        distinct, places = _distinct(value)
        return ["list", list(map(_encode, distinct)), places]
    if isinstance(value, str) and not value.isascii() and _SURROGATE.search(value):
        from msgspec.msgpack import Ext

        return ["text", Ext(_WILD, value.encode("utf-8", "surrogatepass"))]
    return ["text", _to_msgpack(value)]


_OF_MSGPACK = {str, float, bool, bytes}


def _decode(value: Any, unread: Receive | None) -> Any:
    kind = value[0]
    if kind == "unread" and unread is not None:
        return unread(tuple(map(str, value[1])), str(value[2]), None if value[3] is None else tuple(map(str, value[3])))
    if kind in ("table", "packed"):
        return from_message(value)
    if kind == "fault":
        return Fault(code=str(value[1]), detail=str(value[2]), where=str(value[3]), side="setup" if value[4] == "setup" else "")
    if kind == "named":
        tables = {str(name): _decode(item, unread) for name, item in value[1]}
        # A database is broken as a whole, even if only the reading of a big table shows it.
        return next((table for table in tables.values() if isinstance(table, Fault) and table.code == "BAD_DUCKDB"), tables)
    if kind == "list":
        distinct = [_decode(item, unread) for item in value[1]]
        return [distinct[at] for at in value[2]]
    if kind != "text":
        raise ValueError(f"a form of unknown kind {kind!r}")
    return value[1]


def _column_to_msgpack(column: Sequence[Any]) -> Sequence[Any]:
    """Convert the cells of a column with `_to_msgpack`; return a column of msgpack types unchanged."""
    kinds = set(map(type, column)) - {type(None)}
    if kinds <= _OF_MSGPACK:
        return column
    if kinds == {int} and min(filter(None, column), default=0) >= -_INT64 and max(filter(None, column), default=0) < _INT64:
        return column
    return [_to_msgpack(cell) for cell in column]


def _to_msgpack(value: Any) -> Any:
    """Convert a database value for msgpack; unsupported types become an extension that `_extension` decodes."""
    if value is None or isinstance(value, str | float | bool | bytes):
        return value
    from msgspec.msgpack import Ext

    if isinstance(value, int):
        return value if -_INT64 <= value < _INT64 else Ext(_BIG, str(value).encode())
    if isinstance(value, list | tuple):
        return [_to_msgpack(item) for item in value]
    if isinstance(value, dict):
        return Ext(_PAIRS, bytes(_encoder()([[_to_msgpack(k), _to_msgpack(v)] for k, v in value.items()])))
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, timedelta):
        return Ext(_DELTA, f"{value.days} {value.seconds} {value.microseconds}".encode())
    for kind, code in ((Decimal, _DECIMAL), (datetime, _DATETIME), (date, _DATE), (time, _TIME), (UUID, _UUID)):
        if isinstance(value, kind):
            return Ext(code, (value.isoformat() if isinstance(value, date | time) else str(value)).encode())
    return Ext(_OTHER, str(value).encode("utf-8", "backslashreplace"))


def _extension(code: int, data: memoryview) -> Any:
    raw = bytes(data)
    if code == _PAIRS:
        return {_hashable(k): v for k, v in _decoder()(raw)}
    if code == _WILD:
        return raw.decode("utf-8", "surrogatepass")
    text = raw.decode()
    if code == _DELTA:
        days, seconds, microseconds = map(int, text.split())
        return timedelta(days=days, seconds=seconds, microseconds=microseconds)
    makers: dict[int, Callable[[str], Any]] = {
        _BIG: int, _DECIMAL: Decimal, _DATETIME: datetime.fromisoformat, _DATE: date.fromisoformat,
        _TIME: time.fromisoformat, _UUID: UUID, _OTHER: str,
    }  # fmt: skip
    return makers[code](text)


def _hashable(value: Any) -> Any:
    return str(value) if isinstance(value, list | dict) else value


@cache
def _encoder() -> Callable[[Any], bytes]:
    import msgspec

    return msgspec.msgpack.Encoder().encode


@cache
def _decoder() -> Callable[[bytes], Any]:
    import msgspec

    return msgspec.msgpack.Decoder(ext_hook=_extension).decode
