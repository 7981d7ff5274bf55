"""The contents of mutable containers as lists, and what msgpack holds as it is."""

import array
import collections
import math
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

ATOMS: Final = frozenset({type(None), bool, int, float, str, bytes})
MAPPINGS: Final = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)
# Mutable containers by the tag under which they travel.
CONTAINERS: Final[dict[str, Any]] = {
    "list": list, "dict": dict, "set": set, "bytearray": bytearray, "deque": collections.deque, "ordered": collections.OrderedDict,
    "default": collections.defaultdict, "counter": collections.Counter, "array": array.array,
}  # fmt: skip
_LEAST_INT, _MOST_INT = -(1 << 63), (1 << 64) - 1


class ByIdentity:
    """Something for each of some objects, whatever they say of being equal; the objects are held."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[Any, Any]] = {}

    def get(self, value: Any) -> Any:
        """What is kept for an object, None where nothing is."""
        found = self._held.get(_identity(value))
        return None if found is None else found[1]

    def put(self, value: Any, kept: Any) -> None:
        """Keep something for an object."""
        self._held[_identity(value)] = (value, kept)

    def drop(self, value: Any) -> None:
        """Forget an object."""
        del self._held[_identity(value)]


def _identity(value: Any) -> int:
    return id(value)


class MessageError(Exception):
    """Raised where a message is not of the form that this project sends."""


def fits(value: Any) -> bool:
    """Whether msgpack holds an atom as it is: a number of 64 bits, no NaN (which is itself alone), text without a lone surrogate."""
    kind = type(value)
    if kind is int:
        return bool(_LEAST_INT <= value <= _MOST_INT)
    if kind is float:
        return not math.isnan(value)
    return kind is not str or value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)


def is_block(value: Any) -> bool:
    """Whether a value is an array of numpy that holds its numbers itself."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray and not value.dtype.hasobject and not value.dtype.names


def are_plain(items: Sequence[Any]) -> bool:
    """Whether all items are atoms that msgpack holds as they are."""
    return set(map(type, items)) <= ATOMS and all(map(fits, items))


def contents(value: Any) -> list[Any]:
    """The items of a container in a list, those of a mapping as key, value, key, value; of a block of numbers its type and its bytes."""
    if isinstance(value, MAPPINGS):
        return [part for pair in value.items() for part in pair]
    if isinstance(value, bytearray):
        return [bytes(value)]
    if isinstance(value, array.array):
        return [value.typecode, value.tobytes()]
    if isinstance(value, list | set | collections.deque):
        return list(value)
    return [value.dtype.str, *value.shape, value.tobytes()]


def are_same(now: list[Any], before: list[Any]) -> bool:
    """Whether contents are the same objects, or the same bytes."""
    if len(now) != len(before):
        return False
    return all(map(operator.is_, now, before)) or (type(now[-1]) is bytes and are_plain(now) and now == before)


def fill(value: Any, items: list[Any]) -> None:
    """Give a container these contents, in place."""
    if isinstance(value, list):
        value[:] = items
        return
    if isinstance(value, bytearray):
        value[:] = items[0]
        return
    if not isinstance(value, (*MAPPINGS, set, collections.deque)):
        _fill_numbers(value, items)
        return
    value.clear()
    if isinstance(value, MAPPINGS):
        for key, one in zip(items[::2], items[1::2], strict=True):
            value[key] = one
    else:
        (value.update if isinstance(value, set) else value.extend)(items)


def _fill_numbers(value: Any, items: list[Any]) -> None:
    if isinstance(value, array.array):
        value[:] = array.array(value.typecode, items[1])
    else:
        import numpy

        value[...] = numpy.frombuffer(items[-1], dtype=value.dtype).reshape(value.shape)


def numpy_wire(value: Any, encode: Callable[[Any], Any]) -> list[Any] | None:
    """A scalar of numpy, or an array of objects, as data; None for everything else."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.ndarray | numpy.generic) or value.dtype.names:
        return None
    if value.dtype.hasobject:
        return ["numpy", "O", list(value.shape), [encode(item) for item in value.ravel().tolist()]]
    return ["numpy", value.dtype.str, None, value.tobytes()]


def numpy_value(kind: str, shape: list[int] | None, data: Any, decode: Callable[[Any], Any]) -> Any:
    """What `numpy_wire` told of: an array where it has a shape."""
    import numpy

    if shape is None:
        return new_array([kind, data])[()]
    made = numpy.empty(len(data), dtype=object)
    made[:] = [decode(item) for item in data]
    return made.reshape(shape)


def new_array(items: list[Any]) -> Any:
    """An array of these contents: its type, its shape, its bytes."""
    import numpy

    dtype = numpy.dtype(items[0])
    if dtype.hasobject:
        raise MessageError("an array of addresses")
    return numpy.frombuffer(bytearray(items[-1]), dtype=dtype).reshape(items[1:-1])
