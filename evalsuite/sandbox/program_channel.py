"""Channel between the process of a program and that of its test. Each side requests operations on objects of the other and serves them.

While a side waits for a reply it serves incoming requests, so a callback runs in the middle of a call.
"""

import collections.abc
import struct
import sys
import threading
import types
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, NoReturn, Protocol
from weakref import WeakValueDictionary

from evalsuite.sandbox.program_values import (
    ATOMS,
    BINARY,
    CONTAINERS,
    FORMS,
    FORWARDED,
    ORDERING,
    PLAIN_NAMES,
    PREDICATES,
    REBUILT,
    SAFE_CLASSES,
    STANDARD,
    ByIdentity,
    MessageError,
    Values,
    arguments_of,
    is_known,
    known_exception,
    native_name,
    new_exception,
    without_frames,
)

_PLAIN: Final = frozenset({*ATOMS, *CONTAINERS.values(), *REBUILT, tuple})


class Owner(Protocol):
    """Owner of the proxies of one side."""

    strict: bool
    released: list[tuple[int, int]]
    ask: Callable[..., Any]
    refuse: Callable[[str], NoReturn]
    give_up: Callable[[str], NoReturn]


class Reference:
    """Object of the other side that a proxy represents.

    It has the object's number, how often the number was sent, and whether the strict side knows that it is an object.
    """

    __slots__ = ("count", "known", "number", "proxies")

    def __init__(self, proxies: Owner, number: int) -> None:
        self.proxies, self.number, self.count, self.known = proxies, number, 1, not proxies.strict

    def ask(self, operation: str, *parts: Any) -> Any:
        """Request an operation on the object and return its value."""
        return self.proxies.ask(operation, self.number, *parts)

    def __del__(self) -> None:
        self.proxies.released.append((self.number, self.count))


def reference_of(value: Any) -> Reference:
    """Return the reference of a proxy."""
    reference: Reference = object.__getattribute__(value, "_reference_")
    return reference


class RemoteClass(type):
    """Metaclass of the proxy classes."""

    _class_: Reference
    _operations_: frozenset[str]

    def __new__(mcs, _: str, bases: tuple[Any, ...], *__: Any, **___: Any) -> "RemoteClass":
        """Called only by a class statement: a local class cannot derive from a class of the other side."""
        parent = next(base for base in bases if isinstance(base, RemoteClass))
        parent._class_.proxies.give_up("derives a class from one of the program's")

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        instance = cls._class_.ask("call", arguments, tuple(named.items()))
        if cls._class_.known and is_remote(instance):
            reference_of(instance).known = True
        return instance

    def __getattr__(cls, name: str) -> Any:
        _refuse_numpy(cls._class_, name)
        value = cls._class_.ask("get", name)
        return _fields(value) if name == "__dataclass_fields__" else value

    def __setattr__(cls, name: str, value: Any) -> None:
        cls._class_.ask("set", name, value)

    def __delattr__(cls, name: str) -> None:
        cls._class_.ask("delete", name)

    def __iter__(cls) -> Any:
        return iter(cls._class_.ask("operate", "__iter__", ()))

    def __len__(cls) -> int:
        return int(cls._class_.ask("operate", "__len__", ()))

    def __getitem__(cls, key: Any) -> Any:
        return cls._class_.ask("operate", "__getitem__", (key,))

    def __contains__(cls, item: Any) -> bool:
        return is_remote(item) and bool(cls._class_.ask("operate", "__contains__", (item,)))

    def __bool__(cls) -> bool:
        return True


class Remote:
    """Base of every proxy. The other methods come from the represented class."""

    __dict__ = property(lambda self: reference_of(self).ask("get", "__dict__"))

    def __getattr__(self, name: str) -> Any:
        reference = reference_of(self)
        _refuse_numpy(reference, name)
        if name == "__dataclass_fields__":
            return getattr(type(self), name)
        if name in PREDICATES and not reference.known:
            reference.proxies.refuse(f"calls {name} of an object of the program's own class")
        elif name not in PLAIN_NAMES and not name.startswith("__"):
            # A test that reads a name that no plain value has knows that this is an object.
            reference.known = True
        return reference.ask("get", name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_reference_" or (name.startswith("__") and name.endswith("__")):
            super().__setattr__(name, value)
        else:
            reference_of(self).ask("set", name, value)

    def __delattr__(self, name: str) -> None:
        reference_of(self).ask("delete", name)

    def __eq__(self, other: object) -> Any:
        return _equal(self, other)

    def __ne__(self, other: object) -> Any:
        equal = _equal(self, other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        reference = reference_of(self)
        return int(reference.ask("operate", "__hash__", ())) if "__eq__" in type(self)._operations_ else hash(reference.number)  # type: ignore[attr-defined]

    def __copy__(self) -> Any:
        return reference_of(self).ask("copy", False)

    def __deepcopy__(self, memo: Any) -> Any:
        return reference_of(self).ask("copy", True)

    def __reduce_ex__(self, _: Any) -> Any:
        # A pickle is a copy: one is made now, and one of that at each load.
        _PICKLED.append(self.__deepcopy__(None))
        return _unpickle, (len(_PICKLED) - 1,)


def _refuse_numpy(reference: Reference, name: str) -> None:
    """Raise `AttributeError` for the attributes that would let numpy do the comparison itself."""
    if reference.proxies.strict and name.startswith("__array"):
        raise AttributeError(name)


def _fields(names: Any) -> Any:
    """Return the fields of a dataclass in the form of the local `dataclasses`."""
    import dataclasses

    fields: dict[str, Any] = {name: dataclasses.field() for name in names}
    for name, field in fields.items():
        field.name, field._field_type = name, dataclasses._FIELD  # type: ignore[attr-defined]
    return fields


_PICKLED: Final[list[Any]] = []


def _unpickle(place: int) -> Any:
    return _PICKLED[place].__deepcopy__(None)


def is_remote(value: Any) -> bool:
    """Return whether a value is a proxy."""
    return isinstance(type(value), RemoteClass)


def _equal(proxy: Any, other: Any) -> Any:
    """Compare a proxy: with another proxy where the objects are; with a plain value never on the strict side."""
    if proxy is other:
        return True
    reference = reference_of(proxy)
    if is_remote(other) or isinstance(other, RemoteClass):
        return "__eq__" in type(proxy)._operations_ and bool(reference.ask("operate", "__eq__", (other,)))
    if not reference.proxies.strict:
        return bool(reference.ask("operate", "__eq__", (other,)))
    if type(other) not in _PLAIN:
        return NotImplemented
    if other is not None and not reference.known:
        reference.proxies.refuse("compares an object of the program's own class with a plain value")
    return False


def forward(name: str) -> Callable[..., Any]:
    """Return a proxy method that runs where the object is."""

    def method(self: Any, *arguments: Any, **named: Any) -> Any:
        if name == "__call__":
            return reference_of(self).ask("call", arguments, tuple(named.items()))
        return reference_of(self).ask("operate", name, arguments)

    def ordering(self: Any, other: Any) -> Any:
        reference = reference_of(self)
        if reference.proxies.strict and not is_remote(other):
            if type(other) in _PLAIN:
                reference.proxies.refuse("compares an object of the program's own class with a plain value")
            return NotImplemented
        return reference.ask("operate", name, (other,))

    def binary(self: Any, other: Any, *rest: Any) -> Any:
        reference = reference_of(self)
        result = reference.ask("operate", name, (other, *rest))
        if reference.proxies.strict and not is_remote(other) and not is_remote(result):
            # The answer's own class would decide the value of `abs(answer - 3)`.
            reference.proxies.refuse("computes with an object of the program's own class and a plain value")
        return result

    def contains(self: Any, item: Any) -> Any:
        if is_remote(item) or reference_of(self).known:
            return bool(reference_of(self).ask("operate", name, (item,)))
        return any(member is item or member == item for member in self)

    if name == "__contains__":
        return contains
    return ordering if name in ORDERING else binary if name in BINARY else method


def wait_for(self: Any) -> Any:
    """`__await__` of a proxy: the other side awaits to the end."""
    yield from ()
    return reference_of(self).ask("await")


def send_to(self: Any, _: Any) -> NoReturn:
    """`send` of a coroutine's proxy."""
    raise StopIteration(reference_of(self).ask("await"))


def reads(name: str) -> Callable[[Any], Any]:
    """Return the getter of a property that is read where the object is."""
    return lambda self: reference_of(self).ask("get", name)


# Subclasses of these keep their data on both sides, unless they define their own comparisons.
_READ: Final[dict[type, Callable[[Any], Any]]] = {
    int: int.__pos__,
    float: float.__pos__,
    complex: complex.__pos__,
    str: str.__str__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    tuple: lambda value: tuple.__getitem__(value, slice(None)),
    frozenset: lambda value: frozenset(frozenset.__iter__(value)),
}
_DATA: Final = tuple(_READ)
_DECIDES: Final = (*ORDERING, "__eq__", "__ne__", "__hash__", "__contains__", "__getitem__", "__iter__", "__len__")


def _data_class(kind: type) -> type | None:
    """Return the plain-data class that a class derives from without changing its comparisons; else None."""
    data = next((base for base in _DATA if issubclass(kind, base)), None)
    return data if data is not None and all(_method(kind, name) is _method(data, name) for name in _DECIDES) else None


def _method(kind: type, name: str) -> Any:
    """Return what a class defines under that name for its instances, not what its metaclass defines."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


class Proxies:
    """Objects that one side has sent, and proxies for those that it received.

    Args:
        first: 0 or 1, so that the two sides use different numbers.
        strict: Whether this side has the asserts.
        ask: Requests an operation on an object of the other side and returns its value.
        refuse: Ends the test as failed.
        give_up: Ends the test as unknown.
    """

    def __init__(
        self, first: int, *, strict: bool, ask: Callable[..., Any], refuse: Callable[[str], NoReturn], give_up: Callable[[str], NoReturn]
    ) -> None:
        self.strict, self.ask, self.refuse, self.give_up = strict, ask, refuse, give_up
        self.released: list[tuple[int, int]] = []
        self._next = first
        # number -> [object, how often it was sent].
        self._own: dict[int, list[Any]] = {}
        self._numbers = ByIdentity()
        self._proxies: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self._kept: dict[int, Any] = {}
        # Local values that represent an object of the other side and are sent back as that object.
        self._borrowed = ByIdentity()

    def number(self, value: Any) -> int:
        """Return the number of a local object and count that it is sent once more."""
        number: int | None = self._numbers.get(value)
        if number is None:
            number, self._next = self._next, self._next + 2
            self._own[number] = [value, 0]
            self._numbers.put(value, number)
        self._own[number][1] += 1
        return number

    def release(self, counts: list[Any]) -> None:
        """Forget objects whose proxies on the other side are gone."""
        for number, count in counts:
            entry = self._own.get(number)
            if entry is not None and not isinstance(entry[0], type):
                entry[1] -= count
                if entry[1] <= 0:
                    self._numbers.drop(entry[0])
                    del self._own[number]

    def local_object(self, number: int) -> Any:
        """Return the local object with a number that was sent."""
        return self._own[number][0]

    def borrow(self, number: int, value: Any) -> Any:
        """Register a local value that represents an object of the other side, and return it."""
        self._borrowed.put(value, number)
        return value

    def encode_known(self, value: Any) -> list[Any] | None:
        """Encode a value that the other side already has: its own object, or one with a borrowed local value; else None."""
        if is_remote(value):
            return ["yours", reference_of(value).number]
        if isinstance(value, RemoteClass):
            return ["yours", value._class_.number]
        borrowed = self._borrowed.get(value)
        return None if borrowed is None else ["yours", borrowed]

    def data_of(self, value: Any) -> Any:
        """Return the plain data of an object whose class keeps some, else None."""
        data = _data_class(type(value))
        return None if data is None else _READ[data](value)

    def class_wire(self, kind: type) -> list[Any]:
        """Encode a class: by name if both sides have it, else by number, with its description the first time."""
        if SAFE_CLASSES.get(kind.__name__) is kind:
            return ["safe", kind.__name__]
        wire = self.encode_known(kind)
        if wire is not None:
            return wire
        if is_known(kind):
            return ["exception", kind.__module__, kind.__qualname__, native_name(kind)]
        was_sent = self._numbers.get(kind) is not None
        number = self.number(kind)
        if was_sent:
            return ["class", number]
        names = {name for parent in kind.__mro__ if parent not in (object, BaseException, Exception) for name in vars(parent)}
        keeps = _data_class(kind) is not None
        bases = [self.class_wire(base) for base in kind.__bases__ if base is not object and (keeps or not issubclass(base, _DATA))]
        doc = kind.__doc__ if isinstance(kind.__doc__, str) else None
        return ["class", number, [kind.__name__, kind.__qualname__, kind.__module__, doc], bases, sorted(names & FORWARDED)]

    def class_of(self, wire: list[Any]) -> Any:
        """Decode what `class_wire` encoded on the other side."""
        tag, number, *description = wire
        if tag == "safe":
            return SAFE_CLASSES[number]
        if tag == "yours":
            return self.local_object(number)
        if tag == "exception":
            return known_exception(number, *description)
        if description and number not in self._kept:
            self._kept[number] = self._new_class(number, *description)
        return self._kept[number]

    def _new_class(self, number: int, words: list[Any], bases: list[Any], operations: list[str]) -> type:
        """Create a class from its description: built-in bases and forwarding methods. Its plain data decides comparisons itself."""
        parents = self._parents(bases)
        keeps = any(issubclass(base, _DATA) for base in parents)
        native = {
            attribute
            for base in parents
            if keeps
            for attribute in dir(base)
            if getattr(base, attribute) is not getattr(object, attribute, None)
        }
        forwarded_names = FORWARDED.intersection(operations) - (native - {"__str__", "__repr__"}) - {"__eq__", "__ne__", "__hash__"}
        space: dict[str, Any] = {attribute: wait_for if attribute == "__await__" else forward(attribute) for attribute in forwarded_names}
        name, qualname, module, doc = words
        space |= {"__module__": module, "__qualname__": qualname, "__doc__": doc, "_operations_": frozenset(operations)}
        if module in ("builtins", "re") and name in FORMS:
            space["__class__"] = property(lambda _, kind=FORMS[name]: kind)  # type: ignore[misc]
            space |= {attribute: property(reads(attribute)) for attribute in ("__doc__", "__module__")}
            space |= {"send": send_to} if name == "coroutine" else {}
        new_class = type.__new__(RemoteClass, name, tuple(parents), space)
        if module == "collections.abc" and hasattr(collections.abc, name):
            getattr(collections.abc, name).register(new_class)
        type.__setattr__(new_class, "_class_", Reference(self, number))
        return new_class

    def _parents(self, bases: list[Any]) -> list[type]:
        """Return the base classes that exist here."""
        parents = [base for base in map(self.class_of, bases) if isinstance(base, RemoteClass) or issubclass(base, (BaseException, *_DATA))]
        if not any(isinstance(base, RemoteClass) for base in parents):
            parents.insert(0 if any(issubclass(base, BaseException) for base in parents) else len(parents), Remote)
        return parents

    def proxy(self, number: int, kind: Any, data: Any) -> Any:
        """Return the proxy for an object of the other side; there is at most one at a time."""
        existing = self._kept.get(number)
        existing = self._proxies.get(number) if existing is None else existing
        if existing is not None:
            reference_of(existing).count += 1
            return existing
        if not isinstance(kind, RemoteClass):
            raise MessageError("an object whose class is not the other side's")
        native: Any = next((base for base in kind.__mro__ if not isinstance(base, RemoteClass) and base is not Remote), object)
        if native is object:
            new_proxy: Any = object.__new__(kind)  # type: ignore[arg-type]
        elif issubclass(native, BaseException):
            new_proxy = new_exception(native, kind, data)  # type: ignore[arg-type]
        else:
            new_proxy = native.__new__(kind, data)
        new_proxy._reference_ = Reference(self, number)
        if issubclass(native, _DATA):
            # These do not support weak references.
            self._kept[number] = new_proxy
        else:
            self._proxies[number] = new_proxy
        return new_proxy


_LENGTH: Final = struct.Struct("=I")
_CHUNK: Final = 1 << 20
_FUNCTIONS: Final = (types.FunctionType, types.BuiltinFunctionType, type(str.upper), type(str.__len__), type)


class Side(Protocol):
    """What differs between the program's side and the test's side."""

    strict: bool

    def perform(self, target: Any, operation: str, parts: list[Any]) -> Any:
        """Perform an operation on an object of this side."""

    def command(self, name: str, parts: list[Any]) -> Any:
        """Perform a command that concerns no object."""

    def check(self, value: Any) -> None:
        """Raise an error for an object that cannot be sent."""

    def news(self) -> list[tuple[Any, ...]]:
        """Return state changes that the other side applies before the rest of a message."""

    def apply_change(self, what: str, value: Any) -> None:
        """Apply one state change of the other side."""

    def refuse(self, reason: str) -> NoReturn:
        """End the test as failed."""

    def give_up(self, reason: str) -> NoReturn:
        """End the test as unknown."""


class Channel:
    """One end of a channel: `read(n)` returns up to n bytes, none at the end; `write` returns how many bytes it took."""

    def __init__(self, read: Callable[[int], bytes], write: Callable[[Any], int], side: Side) -> None:
        self._read, self._write, self._side = read, write, side
        from msgspec import msgpack

        first = int(side.strict)
        self._proxies = Proxies(first, strict=side.strict, ask=self.ask, refuse=side.refuse, give_up=side.give_up)
        self._values = Values(first, self)
        self._lock = threading.RLock()
        self._decode = msgpack.Decoder(Any).decode
        self._encode = msgpack.Encoder().encode

    def ask(self, operation: str, number: int, *parts: Any) -> Any:
        """Perform an operation on an object of the other side; return its value or raise its error."""
        with self._lock:
            self._send("ask", operation, number, *map(self._values.encode, parts))
            while True:
                kind, answer = self._receive()
                if kind == "value":
                    return answer[0]
                if kind == "raise":
                    error = answer[0]
                    answer.clear()
                    error.__from_other_side__ = True
                    raise error
                self._answer(*answer)

    def command(self, name: str, *parts: Any) -> Any:
        """Perform a command on the other side and return its value."""
        return self.ask(name, -1, *parts)

    def serve(self) -> None:
        """Serve requests until the other side closes."""
        while True:
            kind, request = self._receive()
            if kind != "ask":
                raise MessageError(kind)
            self._answer(*request)
            del request

    def _answer(self, operation: str, number: int, parts: list[Any]) -> None:
        kind = "value"
        try:
            if number == -1:
                value = self._side.command(operation, parts)
            else:
                value = self._side.perform(self._proxies.local_object(number), operation, parts)
        except BaseException as error:  # sent to the caller on the other side, as a call in one process would raise it
            kind, value = "raise", without_frames(error)
        # Drop references to the call, so that unused containers are found.
        parts.clear()
        try:
            wire = self._values.encode(value)
        except Exception as error:  # a value that cannot be sent: the caller gets a TypeError with the reason
            kind, wire = "raise", self._values.encode(TypeError(f"{type(value).__name__}: {error}"))
        del value
        self._send(kind, wire)

    def _send(self, kind: str, *wires: Any) -> None:
        news = [(what, self._values.encode(value)) for what, value in self._side.news()]
        changed, dead_numbers = self._values.changes()
        released, self._proxies.released = self._proxies.released, []
        data = self._encode([news, changed, dead_numbers, released, kind, wires])
        left = memoryview(_LENGTH.pack(len(data)) + data)
        while left:
            left = left[self._write(left) :]

    def _receive(self) -> tuple[str, list[Any]]:
        (length,) = _LENGTH.unpack(self._take(_LENGTH.size))
        message: Any = self._decode(self._take(length))
        news, changed, dead_numbers, released, kind, wires = message
        decode = self._values.decode
        body = [*wires[:2], [decode(wire) for wire in wires[2:]]] if kind == "ask" else [decode(wire) for wire in wires]
        applied = [(what, decode(wire)) for what, wire in news]
        self._values.apply(changed, dead_numbers)
        self._proxies.release(released)
        for what, value in applied:
            self._side.apply_change(what, value)
        return kind, body

    def _take(self, size: int) -> bytes:
        got = bytearray()
        while len(got) < size:
            piece = self._read(min(size - len(got), _CHUNK))
            if not piece:
                raise EOFError
            got += piece
        return bytes(got)

    def send(self, value: Any) -> list[Any]:
        """Encode a value that is not plain data."""
        wire = self._proxies.encode_known(value)
        if wire is not None:
            return wire
        if type(value) is float:
            return ["nan", self._proxies.number(value)]
        if isinstance(value, BaseException) and is_known(type(value)):
            fields = {name: part for name, part in vars(value).items() if name != "__from_other_side__"}
            return [
                "error",
                self._proxies.class_wire(type(value)),
                *map(self._values.encode, (arguments_of(value), fields, value.__cause__)),
            ]
        if isinstance(value, types.ModuleType) and sys.modules.get(value.__name__) is value and value.__name__ != "__main__":
            return ["module", value.__name__]
        if self._side.strict and isinstance(value, _FUNCTIONS) and (place := _library_place(value)):
            return ["named", self._proxies.number(value), *place]
        if isinstance(value, type):
            return self._proxies.class_wire(value)
        self._side.check(value)
        kind = self._proxies.class_wire(type(value))
        data = arguments_of(value) if isinstance(value, BaseException) else self._proxies.data_of(value)
        return ["object", self._proxies.number(value), kind, self._values.encode(data)]

    def receive(self, wire: list[Any]) -> Any:
        """Decode what `send` encoded on the other side."""
        tag = wire[0]
        if tag == "yours":
            return self._proxies.local_object(wire[1])
        if tag == "nan":
            return self._proxies.borrow(wire[1], float("nan"))
        if tag == "module":
            return import_module(wire[1])
        if tag == "object":
            return self._proxies.proxy(wire[1], self._proxies.class_of(wire[2]), self._values.decode(wire[3]))
        if tag == "error":
            kind = self._proxies.class_of(wire[1])
            arguments, fields, cause = map(self._values.decode, wire[2:])
            error = new_exception(kind, kind, arguments)
            vars(error).update(fields)
            error.__cause__ = cause
            return error
        if tag == "named" and not self._side.strict:
            target: Any = import_module(wire[2])
            for name in wire[3].split("."):
                target = getattr(target, name)
            return self._proxies.borrow(wire[1], target)
        return self._proxies.class_of(wire)


def _library_place(value: Any) -> tuple[str, str] | None:
    """Return the module and name under which the standard library has a function or class; None if it has not."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if module is None:
        module = getattr(getattr(value, "__objclass__", None), "__module__", None)
    if not isinstance(module, str) or module.partition(".")[0] not in STANDARD or (isinstance(value, type) and is_known(value)):
        return None
    target: Any = sys.modules.get(module)
    for part in name.split("."):
        target = getattr(target, part, None)
    return (module, name) if target is value else None
