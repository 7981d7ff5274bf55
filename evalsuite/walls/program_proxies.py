"""Proxies: classes and objects here that stand for those of the other side of a channel.

What an object does runs where it lives. On the side with the asserts, which is `strict`, no operation that gives the other side's object a
plain value to compare itself with is answered by that object.
"""

from collections.abc import Callable
from typing import Any, Final, NoReturn, Protocol

from evalsuite.walls.program_containers import ATOMS, CONTAINERS
from evalsuite.walls.program_operators import BINARY, ORDERING, PLAIN_NAMES, PREDICATES
from evalsuite.walls.program_values import REBUILT

_PLAIN: Final = frozenset({*ATOMS, *CONTAINERS.values(), *REBUILT, tuple})


class Owner(Protocol):
    """What keeps the proxies of one side."""

    strict: bool
    released: list[tuple[int, int]]
    ask: Callable[..., Any]
    refuse: Callable[[str], NoReturn]
    give_up: Callable[[str], NoReturn]


class Reference:
    """What a proxy stands for: a number of the other side, how often it was sent, and whether the asserting side knows it for an object."""

    __slots__ = ("count", "known", "number", "proxies")

    def __init__(self, proxies: Owner, number: int) -> None:
        self.proxies, self.number, self.count, self.known = proxies, number, 1, not proxies.strict

    def ask(self, operation: str, *parts: Any) -> Any:
        """What the other side answers."""
        return self.proxies.ask(operation, self.number, *parts)

    def __del__(self) -> None:
        self.proxies.released.append((self.number, self.count))


def reference_of(value: Any) -> Reference:
    """The reference of a proxy."""
    found: Reference = object.__getattribute__(value, "_reference_")
    return found


class RemoteClass(type):
    """The class of the classes that stand for one of the other side."""

    _class_: Reference
    _operations_: frozenset[str]

    def __new__(mcs, _: str, bases: tuple[Any, ...], *__: Any, **___: Any) -> "RemoteClass":
        """Called by a class statement alone: a class of this side cannot have parents on the other one."""
        parent = next(base for base in bases if isinstance(base, RemoteClass))
        parent._class_.proxies.give_up("derives a class from one of the program's")

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        made = cls._class_.ask("call", arguments, tuple(named.items()))
        if cls._class_.known and is_remote(made):
            reference_of(made).known = True
        return made

    def __getattr__(cls, name: str) -> Any:
        _refuse_numpy(cls._class_, name)
        found = cls._class_.ask("get", name)
        return _fields(found) if name == "__dataclass_fields__" else found

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
    """What every proxy can do; its other methods it has from the class that it stands for."""

    __dict__ = property(lambda self: reference_of(self).ask("get", "__dict__"))

    def __getattr__(self, name: str) -> Any:
        reference = reference_of(self)
        _refuse_numpy(reference, name)
        if name == "__dataclass_fields__":
            return getattr(type(self), name)
        if name in PREDICATES and not reference.known:
            reference.proxies.refuse(f"calls {name} of an object of the program's own class")
        elif name not in PLAIN_NAMES and not name.startswith("__"):
            # Whoever asks for a name that no plain value has knows an object when it sees one.
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
        return True if self is other else _equal(self, other)

    def __ne__(self, other: object) -> Any:
        equal = True if self is other else _equal(self, other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        reference = reference_of(self)
        return int(reference.ask("operate", "__hash__", ())) if "__eq__" in type(self)._operations_ else hash(reference.number)  # type: ignore[attr-defined]

    def __copy__(self) -> Any:
        return reference_of(self).ask("copy", False)

    def __deepcopy__(self, memo: Any) -> Any:
        return reference_of(self).ask("copy", True)

    def __reduce_ex__(self, _: Any) -> Any:
        # A pickle is a copy: one is made now, and one of that each time it is read.
        _PICKLED.append(self.__deepcopy__(None))
        return _unpickled, (len(_PICKLED) - 1,)


def _refuse_numpy(reference: Reference, name: str) -> None:
    """Raise `AttributeError` for what numpy asks an object for that then does the comparing itself."""
    if reference.proxies.strict and name.startswith("__array"):
        raise AttributeError(name)


def _fields(names: Any) -> Any:
    """The fields of a dataclass as this side's `dataclasses` knows them."""
    import dataclasses

    made = {name: dataclasses.field() for name in names}
    for name, field in made.items():
        vars_of = {"name": name, "_field_type": dataclasses._FIELD}  # type: ignore[attr-defined]
        for one, value in vars_of.items():
            setattr(field, one, value)
    return made


_PICKLED: Final[list[Any]] = []


def _unpickled(place: int) -> Any:
    return _PICKLED[place].__deepcopy__(None)


def is_remote(value: Any) -> bool:
    """Whether a value is a proxy."""
    return isinstance(type(value), RemoteClass)


def _equal(proxy: Any, other: Any) -> Any:
    """Whether a proxy equals something: two proxies are compared where they live, a plain value never is."""
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
    """The method of a proxy that runs where the object lives."""

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
        found = reference.ask("operate", name, (other, *rest))
        if reference.proxies.strict and not is_remote(other) and not is_remote(found):
            # `abs(answer - 3)` would be whatever the answer's own class says.
            reference.proxies.refuse("reckons with an object of the program's own class and a plain value")
        return found

    def contains(self: Any, item: Any) -> Any:
        if is_remote(item) or reference_of(self).known:
            return bool(reference_of(self).ask("operate", name, (item,)))
        return any(one is item or one == item for one in self)

    if name == "__contains__":
        return contains
    return ordering if name in ORDERING else binary if name in BINARY else method


def wait_for(self: Any) -> Any:
    """`__await__` of a proxy: the other side waits, all at once."""
    yield from ()
    return reference_of(self).ask("await")


def send_to(self: Any, _: Any) -> NoReturn:
    """`send` of a coroutine's proxy."""
    raise StopIteration(reference_of(self).ask("await"))


def reads(name: str) -> Callable[[Any], Any]:
    """The getter of a property that is read where the object lives."""
    return lambda self: reference_of(self).ask("get", name)
