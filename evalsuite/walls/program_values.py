"""Values as data: what a program's process and its test's process send each other, as msgpack and never as a pickle.

Types are kept apart (a tuple is no list, True is no 1). A list, dict, set or another mutable container is one object on both sides: each
message carries the contents that have changed, so that a change in place is seen where the object came from. What is no data goes as a
number that the other side holds a proxy for (`program_objects`).
"""

import array
import collections
import datetime
import decimal
import fractions
import inspect
import pathlib
import sys
import types
import uuid
import zoneinfo
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol

from evalsuite.walls.program_containers import (
    ATOMS,
    CONTAINERS,
    ByIdentity,
    MessageError,
    are_plain,
    are_same,
    contents,
    fill,
    fits,
    is_block,
    new_array,
    numpy_value,
    numpy_wire,
)

_TAGS: Final = {kind: tag for tag, kind in CONTAINERS.items()}
_NONE = type(None)
_PATHS: Final = (pathlib.PurePosixPath, pathlib.PureWindowsPath, type(pathlib.Path()))
# Classes that both sides have and that a message may name. None of them runs code that it is given.
SAFE_CLASSES: Final[dict[str, type]] = {
    kind.__name__: kind
    for kind in (
        *(bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range, slice, object, _NONE),
        *(collections.deque, collections.OrderedDict, collections.defaultdict, collections.Counter, array.array),
        *(decimal.Decimal, fractions.Fraction, uuid.UUID, datetime.date, datetime.time, datetime.datetime, datetime.timedelta),
        *_PATHS,
    )
}
# Values of these classes are rebuilt by calling the class with plain arguments.
REBUILT: Final[dict[type, Callable[[Any], Sequence[Any]]]] = {
    complex: lambda v: (v.real, v.imag),
    decimal.Decimal: lambda v: (str(v),),
    fractions.Fraction: lambda v: (v.numerator, v.denominator),
    range: lambda v: (v.start, v.stop, v.step),
    slice: lambda v: (v.start, v.stop, v.step),
    frozenset: lambda v: (tuple(v),),
    uuid.UUID: lambda v: (str(v),),
    datetime.date: lambda v: (v.year, v.month, v.day),
    datetime.time: lambda v: (v.hour, v.minute, v.second, v.microsecond, v.tzinfo),
    datetime.datetime: lambda v: (v.year, v.month, v.day, v.hour, v.minute, v.second, v.microsecond, v.tzinfo),
    datetime.timedelta: lambda v: (v.days, v.seconds, v.microseconds),
    **{kind: (lambda v: (str(v),)) for kind in _PATHS},
}
_OF_CODE: Final = (
    *("co_name", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount"),
    *("co_varnames", "co_flags", "co_filename", "co_firstlineno"),
)
_CONSTANTS: Final = {"...": Ellipsis, "not implemented": NotImplemented}
_VIEWS: Final = {"keys": type({}.keys()), "values": type({}.values()), "items": type({}.items())}
_FOLDED: Final = {datetime.time, datetime.datetime}
_ZONE: Final = zoneinfo.ZoneInfo
_TIMEZONE: Final = datetime.timezone


class Objects(Protocol):
    """What sends and receives the values that are no data."""

    def send(self, value: Any) -> list[Any]:
        """The wire form of a value that is no data."""

    def receive(self, wire: list[Any]) -> Any:
        """The value of a wire form that `send` gave on the other side."""


class Values:
    """The values of one side of a channel; `first` is 0 or 1, so that the two sides number their containers apart."""

    def __init__(self, first: int, objects: Objects) -> None:
        self._objects, self._next = objects, first
        # number -> [container, its contents when they were last the same on both sides].
        self._shared: dict[int, list[Any]] = {}
        self._numbers = ByIdentity()
        self._sent: set[int] = set()

    def encode(self, value: Any) -> Any:
        """A value as what msgpack can hold."""
        kind = type(value)
        if kind in ATOMS:
            return value if fits(value) else self._odd_atom(value)
        if kind is tuple:
            plain = are_plain(value)
            return ["tuple", plain, list(value) if plain else [self.encode(item) for item in value]]
        if kind in _TAGS:
            return self._container(value, _TAGS[kind])
        if is_block(value):
            return self._container(value, "ndarray")
        if kind in REBUILT:
            fold = [value.fold] if kind in _FOLDED else []
            return ["value", kind.__name__, [self.encode(part) for part in REBUILT[kind](value)], *fold]
        for name, constant in _CONSTANTS.items():
            if value is constant:
                return ["constant", name]
        return self._rare(value, kind)

    def _odd_atom(self, value: Any) -> list[Any]:
        if isinstance(value, int):
            return ["int", f"{value:x}"]
        if isinstance(value, str):
            return ["text", value.encode("utf-8", "surrogatepass")]
        return self._objects.send(value)

    def _rare(self, value: Any, kind: type) -> Any:
        if kind is _TIMEZONE:
            return ["zone", self.encode(value.utcoffset(None)), value.tzname(None)]
        if kind is _ZONE and value.key:
            return ["zoneinfo", value.key]
        if kind is types.CodeType:
            shown = (
                "co_name",
                "co_argcount",
                "co_posonlyargcount",
                "co_kwonlyargcount",
                "co_varnames",
                "co_flags",
                "co_filename",
                "co_firstlineno",
            )
            return ["code", [[name, self.encode(getattr(value, name))] for name in shown]]
        if kind is inspect.Signature:
            missing = inspect.Parameter.empty
            defaults = [["no"] if p.default is missing else ["yes", self.encode(p.default)] for p in value.parameters.values()]
            return ["signature", [[p.name, int(p.kind), d] for p, d in zip(value.parameters.values(), defaults, strict=True)]]
        if kind is types.TracebackType:
            return None
        for name, view in _VIEWS.items():
            if kind is view:
                return ["view", name, [self.encode(item) for item in value]]
        return numpy_wire(value, self.encode) or self._objects.send(value)

    def _container(self, value: Any, tag: str) -> list[Any]:
        number = self._numbers.get(value)
        if number is None:
            number, self._next = self._next, self._next + 2
            items = contents(value)
            self._share(number, value, items)
            self._sent.add(number)
            extra = {"deque": lambda: value.maxlen, "default": lambda: self.encode(value.default_factory)}.get(tag, lambda: None)()
            return [tag, number, *self._items(items), extra]
        self._sent.add(number)
        return ["same", number]

    def _items(self, items: list[Any]) -> tuple[bool, list[Any]]:
        plain = are_plain(items)
        return plain, items if plain else [self.encode(item) for item in items]

    def _share(self, number: int, value: Any, items: list[Any]) -> None:
        self._shared[number] = [value, items]
        self._numbers.put(value, number)

    def changes(self) -> tuple[list[Any], list[int]]:
        """The containers that differ from when they were last the same on both sides, and those that this side does not need any more.

        To be called when the rest of a message is encoded. A container that only this table holds is not shared any longer.
        """
        changed, gone = [], []
        for number in list(self._shared):
            entry = self._shared[number]
            now = contents(entry[0])
            if not are_same(now, entry[1]):
                entry[1] = now
                changed.append([number, *self._items(now)])
        for number in list(self._shared):
            entry = self._shared[number]
            # Two references are the tables', one is the argument's.
            if number not in self._sent and sys.getrefcount(entry[0]) <= 3:
                gone.append(number)
                self._forget(number)
        self._sent.clear()
        return changed, gone

    def _forget(self, number: int) -> None:
        entry = self._shared.pop(number, None)
        if entry is not None:
            self._numbers.drop(entry[0])

    def apply(self, changed: Iterable[Any], gone: Iterable[int]) -> None:
        """Make the changes that the other side sent to the containers of this one."""
        for number, plain, wire in changed:
            items = wire if plain else [self.decode(item) for item in wire]
            entry = self._shared.get(number)
            if entry is not None:
                fill(entry[0], items)
                entry[1] = contents(entry[0])
        for number in gone:
            self._forget(number)

    def decode(self, wire: Any) -> Any:
        """The value that the other side encoded."""
        if type(wire) is not list:
            return wire
        tag = wire[0]
        if tag in CONTAINERS or tag == "ndarray":
            return self._new_container(*wire)
        if tag == "tuple":
            return tuple(wire[2]) if wire[1] else tuple([self.decode(item) for item in wire[2]])
        if tag == "same":
            return self._shared[wire[1]][0]
        known = getattr(self, f"_of_{tag}", None)
        return self._objects.receive(wire) if known is None else known(*wire[1:])

    def _new_container(self, tag: str, number: int, plain: bool, wire: list[Any], extra: Any) -> Any:
        if type(number) is not int or number % 2 == self._next % 2 or number in self._shared:
            raise MessageError("a container under a number that is taken")
        arguments: dict[str, Any] = {"deque": lambda: ((), extra), "default": lambda: (self.decode(extra),), "array": lambda: (wire[0],)}
        made: Any = new_array(wire) if tag == "ndarray" else CONTAINERS[tag](*arguments.get(tag, tuple)())
        self._share(number, made, [])
        fill(made, wire if plain else [self.decode(item) for item in wire])
        self._shared[number][1] = contents(made)
        return made

    def _of_int(self, digits: str) -> int:
        return int(digits, 16)

    def _of_text(self, data: bytes) -> str:
        return data.decode("utf-8", "surrogatepass")

    def _of_value(self, name: str, parts: list[Any], fold: int = 0) -> Any:
        kind = SAFE_CLASSES[name]
        if kind not in REBUILT:
            raise MessageError("a class whose values are not rebuilt")
        made = kind(*[self.decode(part) for part in parts])
        return made.replace(fold=1) if fold else made

    def _of_constant(self, name: str) -> Any:
        return _CONSTANTS[name]

    def _of_zone(self, offset: Any, name: str) -> datetime.timezone:
        zone = datetime.timezone(self.decode(offset))
        return zone if zone.tzname(None) == name else datetime.timezone(self.decode(offset), name)

    def _of_zoneinfo(self, key: str) -> zoneinfo.ZoneInfo:
        return zoneinfo.ZoneInfo(key)

    def _of_code(self, fields: list[Any]) -> types.SimpleNamespace:
        return types.SimpleNamespace(**{name: self.decode(one) for name, one in fields})

    def _of_signature(self, fields: list[Any]) -> inspect.Signature:
        made = []
        for name, kind, default in fields:
            value = self.decode(default[1]) if default[0] == "yes" else inspect.Parameter.empty
            made.append(inspect.Parameter(name, inspect._ParameterKind(kind), default=value))
        return inspect.Signature(made)

    def _of_view(self, name: str, wire: list[Any]) -> Any:
        items = [self.decode(item) for item in wire]
        made = {"keys": dict.fromkeys, "values": lambda them: dict(enumerate(them)), "items": dict}[name](items)  # type: ignore[operator]
        return getattr(made, name)()

    def _of_numpy(self, *wire: Any) -> Any:
        return numpy_value(wire[0], wire[1], wire[2], self.decode)
