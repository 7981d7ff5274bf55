"""Plain questions about JSON values that all of this room asks: is it the same, what is it called, what is absent."""

from typing import Any, Final

JSON_NAMES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object", type(None): "null"}


class _Absent:
    """The value of a key that is not there; None is a value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = _Absent()


def json_name(value: Any) -> str:
    """The JSON name of a value's type."""
    return JSON_NAMES.get(type(value), type(value).__name__)


def python_name(value: Any) -> str:
    """The Python name of a value's type, as upstream writes it in reasons (`NoneType` for null)."""
    return type(value).__name__


def loosely_same(a: Any, b: Any) -> bool:
    """Same type and equal; inside containers 1, 1.0 and true are one (the reference's equality)."""
    return type(a) is type(b) and bool(a == b)


def same(a: Any, b: Any) -> bool:
    """Same type and equal, down to every leaf: [1] is neither [1.0] nor [true]."""
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is dict:
        return a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    if kind is list:
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)
