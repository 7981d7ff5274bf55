"""Values as data: what the processes of a program and its test exchange, as msgpack and never as a pickle.

Types are kept (a tuple is no list, True is not 1). A list, dict, set or other mutable container is one object on both sides: each message
contains the changed contents, so a change in place is visible on the other side. Other objects travel as numbers for which the other side
has proxies (`program_channel`). Python's own exceptions arrive as themselves, with their arguments.
"""

import array
import builtins
import collections
import datetime
import decimal
import fractions
import inspect
import math
import operator
import pathlib
import re
import sys
import types
import uuid
import zoneinfo
from collections.abc import Callable, Iterable, Sequence
from copy import copy, deepcopy
from typing import Any, Final, Protocol

ATOMS: Final = frozenset({type(None), bool, int, float, str, bytes})
MAPPINGS: Final = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)
# Mutable containers by their tag.
CONTAINERS: Final[dict[str, Any]] = {
    "list": list, "dict": dict, "set": set, "bytearray": bytearray, "deque": collections.deque, "ordered": collections.OrderedDict,
    "default": collections.defaultdict, "counter": collections.Counter, "array": array.array,
}  # fmt: skip
_LEAST_INT, _MOST_INT = -(1 << 63), (1 << 64) - 1


class ByIdentity:
    """Map objects, compared by identity, to values; the objects are kept alive."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[Any, Any]] = {}

    def get(self, value: Any) -> Any:
        """Return the value of an object, None if there is none."""
        return self._held.get(_identity(value), (None, None))[1]

    def put(self, value: Any, entry: Any) -> None:
        """Set the value of an object."""
        self._held[_identity(value)] = (value, entry)

    def drop(self, value: Any) -> None:
        """Forget an object."""
        del self._held[_identity(value)]


def _identity(value: Any) -> int:
    return id(value)


class MessageError(Exception):
    """A message does not have the form that this project sends."""


def fits(value: Any) -> bool:
    """Return whether msgpack can represent an atom: a 64-bit number, no NaN (which equals only itself), text without a lone surrogate."""
    kind = type(value)
    if kind is int:
        return bool(_LEAST_INT <= value <= _MOST_INT)
    if kind is float:
        return not math.isnan(value)
    return kind is not str or value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)


def is_block(value: Any) -> bool:
    """Return whether a value is a numpy array that stores its numbers directly."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray and not value.dtype.hasobject and not value.dtype.names


def are_plain(items: Sequence[Any]) -> bool:
    """Return whether all items are atoms that msgpack can represent."""
    return set(map(type, items)) <= ATOMS and all(map(fits, items))


def contents(value: Any) -> list[Any]:
    """Return the items of a container as a list; of a mapping as key, value, key, value; of an array its type, shape and bytes."""
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
    """Return whether two contents are the same objects, or the same bytes."""
    if len(now) != len(before):
        return False
    return all(map(operator.is_, now, before)) or (type(now[-1]) is bytes and are_plain(now) and now == before)


def fill(value: Any, items: list[Any]) -> None:
    """Replace the contents of a container in place."""
    if isinstance(value, list | bytearray):
        value[:] = items if isinstance(value, list) else items[0]
    elif isinstance(value, array.array):
        value[:] = array.array(value.typecode, items[1])
    elif isinstance(value, (*MAPPINGS, set, collections.deque)):
        value.clear()
        if isinstance(value, MAPPINGS):
            for key, item in zip(items[::2], items[1::2], strict=True):
                value[key] = item
        else:
            (value.update if isinstance(value, set) else value.extend)(items)
    else:
        import numpy

        value[...] = numpy.frombuffer(items[-1], dtype=value.dtype).reshape(value.shape)


def numpy_wire(value: Any, encode: Callable[[Any], Any]) -> list[Any] | None:
    """Encode a numpy scalar or an object array as data; None for everything else."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.ndarray | numpy.generic) or value.dtype.names:
        return None
    if value.dtype.hasobject:
        return ["numpy", "O", list(value.shape), [encode(item) for item in value.ravel().tolist()]]
    return ["numpy", value.dtype.str, None, value.tobytes()]


def numpy_value(kind: str, shape: list[int] | None, data: Any, decode: Callable[[Any], Any]) -> Any:
    """Decode what `numpy_wire` encoded: an array if it has a shape."""
    import numpy

    if shape is None:
        return new_array([kind, data])[()]
    array = numpy.empty(len(data), dtype=object)
    array[:] = [decode(item) for item in data]
    return array.reshape(shape)


def new_array(items: list[Any]) -> Any:
    """Create an array from its type, shape and bytes."""
    import numpy

    dtype = numpy.dtype(items[0])
    if dtype.hasobject:
        raise MessageError("an array of addresses")
    return numpy.frombuffer(bytearray(items[-1]), dtype=dtype).reshape(items[1:-1])


STANDARD: Final = sys.stdlib_module_names | {"builtins"}
# Exceptions of these modules end a test, as `unittest.SkipTest` does.
_OF_TESTS: Final = frozenset({"unittest", "doctest", "bdb"})


def is_known(kind: type) -> bool:
    """Return whether an exception class is Python's own."""
    return issubclass(kind, BaseException) and kind.__module__.partition(".")[0] in STANDARD


def native_name(kind: type) -> str:
    """Return the name of the built-in exception that a class is or derives from."""
    return next(base.__name__ for base in kind.__mro__ if base.__module__ == "builtins")


def known_exception(module: str, qualname: str, native: str) -> type[BaseException]:
    """Return the class of that name if its module is imported here, else its built-in base; never import a module."""
    by_name = getattr(sys.modules.get(module), qualname, None) if module.partition(".")[0] in STANDARD - _OF_TESTS else None
    for candidate in (by_name, getattr(builtins, native, None)):
        if isinstance(candidate, type) and issubclass(candidate, BaseException):
            return candidate
    return Exception


def arguments_of(error: BaseException) -> tuple[Any, ...]:
    """Return the arguments from which an exception is rebuilt."""
    try:
        arguments = error.__reduce__()[1]
    except Exception:  # a class of the program may define it: `args` are then what the exception was created with
        arguments = error.args
    return arguments if isinstance(arguments, tuple) else error.args


def new_exception(native: type[BaseException], kind: type[BaseException], arguments: Any) -> BaseException:
    """Create an exception with these arguments through the built-in class only."""
    arguments = arguments if isinstance(arguments, tuple) else ()
    try:
        error = native.__new__(kind, *arguments)
        native.__init__(error, *arguments)
    except Exception:  # arguments that the built-in class refuses are kept without its initialisation
        error = BaseException.__new__(kind)
        error.args = arguments
    return error


def without_frames(error: BaseException) -> BaseException:
    """Return the exception without its traceback and those of its causes."""
    seen: list[int] = []
    at: BaseException | None = error
    while at is not None and _identity(at) not in seen:
        seen.append(_identity(at))
        at.__traceback__ = None
        at = at.__cause__ or at.__context__
    return error


_TAGS: Final = {kind: tag for tag, kind in CONTAINERS.items()}
_NONE = type(None)
_PATHS: Final = (pathlib.PurePosixPath, pathlib.PureWindowsPath, type(pathlib.Path()))
# Classes that both sides have and a message may name. None of them runs code that it is given.
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
    """Encoder and decoder of values that are not plain data."""

    def send(self, value: Any) -> list[Any]:
        """Encode a value that is not plain data."""

    def receive(self, wire: list[Any]) -> Any:
        """Decode what `send` encoded on the other side."""


class Values:
    """The values of one side of a channel; `first` is 0 or 1, so that the two sides use different container numbers."""

    def __init__(self, first: int, objects: Objects) -> None:
        self._objects, self._next = objects, first
        # number -> [container, its contents when both sides last agreed].
        self._shared: dict[int, list[Any]] = {}
        self._numbers = ByIdentity()
        self._sent: set[int] = set()

    def encode(self, value: Any) -> Any:
        """Encode a value for msgpack."""
        kind = type(value)
        if kind in ATOMS:
            if fits(value):
                return value
            if kind is int:
                return ["int", f"{value:x}"]
            return ["text", value.encode("utf-8", "surrogatepass")] if kind is str else self._objects.send(value)
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

    def _rare(self, value: Any, kind: type) -> Any:
        if kind is _TIMEZONE:
            return ["zone", self.encode(value.utcoffset(None)), value.tzname(None)]
        if kind is _ZONE and value.key:
            return ["zoneinfo", value.key]
        if kind is types.CodeType:
            return ["code", [[name, self.encode(getattr(value, name))] for name in _OF_CODE]]
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
        """Return the containers that changed since both sides last agreed, and those that this side no longer uses.

        Call it after the rest of a message is encoded. A container that only this table references is no longer shared.
        """
        changed, dead_numbers = [], []
        for number in list(self._shared):
            entry = self._shared[number]
            now = contents(entry[0])
            if not are_same(now, entry[1]):
                entry[1] = now
                changed.append([number, *self._items(now)])
        for number in list(self._shared):
            entry = self._shared[number]
            # Two references are from the tables, one is from the argument.
            if number not in self._sent and sys.getrefcount(entry[0]) <= 3:
                dead_numbers.append(number)
                self._forget(number)
        self._sent.clear()
        return changed, dead_numbers

    def _forget(self, number: int) -> None:
        entry = self._shared.pop(number, None)
        if entry is not None:
            self._numbers.drop(entry[0])

    def apply(self, changed: Iterable[Any], dead_numbers: Iterable[int]) -> None:
        """Apply the changes that the other side sent."""
        for number, plain, wire in changed:
            items = wire if plain else [self.decode(item) for item in wire]
            entry = self._shared.get(number)
            if entry is not None:
                fill(entry[0], items)
                entry[1] = contents(entry[0])
        for number in dead_numbers:
            self._forget(number)

    def decode(self, wire: Any) -> Any:
        """Decode a value of the other side."""
        if type(wire) is not list:
            return wire
        tag = wire[0]
        if tag in CONTAINERS or tag == "ndarray":
            return self._new_container(*wire)
        if tag == "tuple":
            return tuple(wire[2]) if wire[1] else tuple([self.decode(item) for item in wire[2]])
        if tag == "same":
            return self._shared[wire[1]][0]
        if tag == "int":
            return int(wire[1], 16)
        if tag == "text":
            return wire[1].decode("utf-8", "surrogatepass")
        if tag == "constant":
            return _CONSTANTS[wire[1]]
        if tag == "zoneinfo":
            return zoneinfo.ZoneInfo(wire[1])
        decoder = getattr(self, f"_of_{tag}", None)
        return self._objects.receive(wire) if decoder is None else decoder(*wire[1:])

    def _new_container(self, tag: str, number: int, plain: bool, wire: list[Any], extra: Any) -> Any:
        if type(number) is not int or number % 2 == self._next % 2 or number in self._shared:
            raise MessageError("a container under a number that is taken")
        arguments: dict[str, Any] = {"deque": lambda: ((), extra), "default": lambda: (self.decode(extra),), "array": lambda: (wire[0],)}
        container: Any = new_array(wire) if tag == "ndarray" else CONTAINERS[tag](*arguments.get(tag, tuple)())
        self._share(number, container, [])
        fill(container, wire if plain else [self.decode(item) for item in wire])
        self._shared[number][1] = contents(container)
        return container

    def _of_value(self, name: str, parts: list[Any], fold: int = 0) -> Any:
        kind = SAFE_CLASSES[name]
        if kind not in REBUILT:
            raise MessageError("a class whose values are not rebuilt")
        value = kind(*[self.decode(part) for part in parts])
        return value.replace(fold=1) if fold else value

    def _of_zone(self, offset: Any, name: str) -> datetime.timezone:
        zone = datetime.timezone(self.decode(offset))
        return zone if zone.tzname(None) == name else datetime.timezone(self.decode(offset), name)

    def _of_code(self, fields: list[Any]) -> types.SimpleNamespace:
        return types.SimpleNamespace(**{name: self.decode(wire) for name, wire in fields})

    def _of_signature(self, fields: list[Any]) -> inspect.Signature:
        parameters = []
        for name, kind, default in fields:
            value = self.decode(default[1]) if default[0] == "yes" else inspect.Parameter.empty
            parameters.append(inspect.Parameter(name, inspect._ParameterKind(kind), default=value))
        return inspect.Signature(parameters)

    def _of_view(self, name: str, wire: list[Any]) -> Any:
        items = [self.decode(item) for item in wire]
        mapping = {"keys": dict.fromkeys, "values": lambda them: dict(enumerate(them)), "items": dict}[name](items)  # type: ignore[operator]
        return getattr(mapping, name)()

    def _of_numpy(self, kind: str, shape: list[int] | None, data: Any) -> Any:
        return numpy_value(kind, shape, data, self.decode)


_BINARY: Final = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift", "and", "or", "xor", "divmod")
ORDERING: Final = ("__lt__", "__le__", "__gt__", "__ge__")
_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    **{name: getattr(operator, name) for name in (*ORDERING, "__eq__", "__ne__", "__getitem__", "__setitem__", "__delitem__")},
    **{name: getattr(operator, name) for name in ("__neg__", "__pos__", "__abs__", "__invert__", "__index__", "__contains__")},
    **{f"__{name}__": getattr(operator, f"__{name}__") for name in _BINARY if name != "divmod"},
    **{f"__i{name}__": getattr(operator, f"__i{name}__") for name in _BINARY if name != "divmod"},
    "__divmod__": divmod, "__pow__": pow, "__len__": len, "__iter__": iter, "__next__": next, "__bool__": bool, "__str__": str,
    "__repr__": repr, "__hash__": hash, "__int__": int, "__float__": float, "__complex__": complex, "__round__": round, "__bytes__": bytes,
    "__format__": format, "__reversed__": reversed, "__aiter__": aiter, "__anext__": anext,
}  # fmt: skip


def _reflect(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda target, other: function(other, target)


OPERATIONS: Final = _FUNCTIONS | {f"__r{name}__": _reflect(_FUNCTIONS[f"__{name}__"]) for name in _BINARY}
# Binary operations: a plain value of the test must not get a plain value back.
BINARY: Final = frozenset(f"__{side}{name}__" for name in _BINARY for side in ("", "r", "i"))
# Looked up on the class, as Python does, since no function performs them.
_METHODS: Final = (
    "__call__", "__enter__", "__exit__", "__aenter__", "__aexit__", "__trunc__", "__floor__", "__ceil__", "__length_hint__", "__await__",
    "__fspath__", "send", "throw", "close", "asend", "athrow", "aclose",
)  # fmt: skip
FORWARDED: Final = frozenset({*OPERATIONS, *_METHODS})
# Boolean methods of strings and sets that take an argument.
PREDICATES: Final = frozenset({"startswith", "endswith", "issubset", "issuperset", "isdisjoint"})
PLAIN_NAMES: Final = frozenset(name for kind in (int, float, str, bytes, list, tuple, dict, set, bytearray, range) for name in dir(kind))
# Types that libraries check by class: a proxy for such an object reports the same class.
_FORMS: Final[tuple[type, ...]] = (
    *(types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.GeneratorType, types.CoroutineType),
    *(types.AsyncGeneratorType, re.Match, re.Pattern),
)
FORMS: Final[dict[str, type]] = {kind.__name__: kind for kind in _FORMS}


def operate(target: Any, name: str, arguments: tuple[Any, ...]) -> Any:
    """Call a special method in the way of the expression that uses it."""
    function = OPERATIONS.get(name)
    return getattr(type(target), name)(target, *arguments) if function is None else function(target, *arguments)


def perform(target: Any, operation: str, parts: list[Any]) -> Any:
    """Perform an operation on a local object for the other side's proxy."""
    if operation == "call":
        return target(*parts[0], **dict(parts[1]))
    if operation == "operate":
        return operate(target, *parts)
    if operation == "get":
        return getattr(target, parts[0])
    if operation == "set":
        return setattr(target, *parts)
    if operation == "delete":
        return delattr(target, *parts)
    if operation == "copy":
        return deepcopy(target) if parts[0] else copy(target)
    raise ValueError(operation)
