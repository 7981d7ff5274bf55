"""Dataclasses as in the standard library, but a class costs a tenth of the time: its `__init__` is compiled only for many objects.

The standard decorator compiles up to six methods per class: a quarter of the CPU of `evalsuite run` for one answer. Compiling one costs as
much as setting the fields of some thirty objects one by one. `fields`, `asdict`, `is_dataclass` and `replace` of the standard library work
with these classes, and its dataclasses may inherit from them.
"""

from operator import attrgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from dataclasses import dataclass, field, fields, replace
    from typing import Any

__all__ = ["dataclass", "field", "fields", "replace"]

_MISSING: "Any" = object()
_SPECS = "__evalsuite_fields__"
# Objects of a class that get their fields one by one before its `__init__` is compiled.
_N_UNCOMPILED = 20


class _Field:
    """A field: its default or the function that makes it, and whether it is a parameter, compared and shown."""

    __slots__ = ("compare", "default", "default_factory", "init", "kw_only", "metadata", "name", "repr", "type")

    def __init__(self, options: "dict[str, Any]", name: str, kind: "Any", *, kw_only: bool) -> None:
        self.name, self.type, self.kw_only = name, kind, kw_only
        self.default, self.default_factory = options.get("default", _MISSING), options.get("default_factory", _MISSING)
        self.init, self.repr, self.compare = options.get("init", True), options.get("repr", True), options.get("compare", True)
        self.metadata = options.get("metadata")


class _Given(dict):  # type: ignore[type-arg]
    """The arguments of `field`."""


def _field(**options: "Any") -> "Any":
    """Return the definition of a field, with the arguments of `dataclasses.field`."""
    return _Given(options)


def _dataclass(
    *, frozen: bool = False, slots: bool = False, kw_only: bool = False, eq: bool = True, repr: bool = True
) -> "Callable[[type[Any]], type[Any]]":
    """Return the decorator that makes a class a dataclass, with the arguments of `dataclasses.dataclass`."""

    def decorate(cls: "type[Any]") -> "type[Any]":
        return _make_class(cls, frozen=frozen, slots=slots, kw_only=kw_only, eq=eq, with_repr=repr)

    return decorate


def _make_class(cls: "type[Any]", *, frozen: bool, slots: bool, kw_only: bool, eq: bool, with_repr: bool) -> "type[Any]":
    inherited = {name: spec for base in cls.__mro__[:0:-1] for name, spec in vars(base).get(_SPECS, {}).items()}
    specs = _own_fields(cls, kw_only=kw_only, slots=slots)
    all_fields = {**inherited, **specs}
    new: dict[str, Any] = {
        **(_FROZEN if frozen else _THAWED),
        _SPECS: all_fields,
        "__match_args__": tuple([field.name for field in all_fields.values() if field.init and not field.kw_only]),
    }
    if frozen:
        new |= {"__setattr__": _refuse_setattr, "__delattr__": _refuse_delattr}
    if frozen and slots and "__getstate__" not in vars(cls):
        new |= {"__getstate__": _getstate, "__setstate__": _setstate}
    if with_repr and "__repr__" not in vars(cls):
        new["__repr__"] = _repr
    if eq:
        new |= _comparison(cls, [field.name for field in all_fields.values() if field.compare], frozen=frozen)
    if slots:
        # In the body of the class: Python compares each special method that is set later with those of all bases.
        cls = _with_slots(cls, specs, new, inherited)
    else:
        for name, value in new.items():
            setattr(cls, name, value)
    cls.__init__ = _first_init(cls, list(all_fields.values()), frozen=frozen)
    return cls


def _own_fields(cls: "type[Any]", *, kw_only: bool, slots: bool) -> "dict[str, _Field]":
    """Return the fields that a class annotates; without slots their defaults stay its attributes."""
    specs: dict[str, _Field] = {}
    for name, kind in cls.__annotations__.items():
        if "ClassVar" in (kind if isinstance(kind, str) else str(getattr(kind, "__origin__", kind))):
            continue
        default = vars(cls).get(name, _MISSING)
        specs[name] = _Field(default if isinstance(default, _Given) else {"default": default}, name, kind, kw_only=kw_only)
        if isinstance(default, _Given) and not slots:
            if specs[name].default is _MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, specs[name].default)
    return specs


def _comparison(cls: "type[Any]", names: "list[str]", *, frozen: bool) -> "dict[str, Any]":
    values: Any = attrgetter(*names) if names else type
    new: dict[str, Any] = {} if "__eq__" in vars(cls) else {"__eq__": _equality(values)}
    if vars(cls).get("__hash__") is None:
        new["__hash__"] = (lambda self: hash(values(self))) if frozen else None
    return new


def _with_slots(cls: "type[Any]", specs: "dict[str, _Field]", new: "dict[str, Any]", inherited: "dict[str, _Field]") -> "type[Any]":
    """Return the same class with a slot for each own field, and with the `new` attributes."""
    body = {name: value for name, value in vars(cls).items() if name not in specs and name not in ("__dict__", "__weakref__")}
    kind: Any = type(cls)
    slots = tuple([name for name in specs if name not in inherited])
    slotted: type[Any] = kind(cls.__name__, cls.__bases__, {**body, **new, "__slots__": slots})
    slotted.__qualname__ = cls.__qualname__
    return slotted


def _first_init(cls: "type[Any]", all_fields: "list[_Field]", *, frozen: bool) -> "Any":
    """Return an `__init__` for the first objects of a class: it sets their fields one by one.

    The compiled one takes its place for many objects, and at once for wrong arguments and for fields that are no parameters.
    """
    n_left = _N_UNCOMPILED if all(field.init for field in all_fields) else 0

    def __init__(self: "Any", *args: "Any", **kwargs: "Any") -> None:  # noqa: N807 - the name in tracebacks
        nonlocal n_left
        n_left -= 1
        first = dict(zip([field.name for field in all_fields if not field.kw_only], args, strict=False))
        values = {**first, **kwargs}
        names = {field.name for field in all_fields}
        needed = {field.name for field in all_fields if field.default is _MISSING and field.default_factory is _MISSING}
        if n_left < 0 or len(values) < len(args) + len(kwargs) or not needed <= values.keys() <= names:
            cls.__init__ = init = _compiled_init(cls, all_fields, frozen=frozen)
            init(self, *args, **kwargs)
            return
        for field in all_fields:
            value = values.get(field.name, field.default)
            (object.__setattr__ if frozen else setattr)(self, field.name, field.default_factory() if value is _MISSING else value)
        if hasattr(cls, "__post_init__"):
            self.__post_init__()

    return __init__


def _compiled_init(cls: "type[Any]", all_fields: "list[_Field]", *, frozen: bool) -> "Any":
    names: dict[str, Any] = {"_missing": _MISSING, "_set": object.__setattr__}
    positional, keywords, body = ["self"], list[str](), list[str]()
    for field in all_fields:
        name = field.name
        value = name
        if field.default_factory is not _MISSING:
            names[f"_make_{name}"] = field.default_factory
            value = f"_make_{name}() if {name} is _missing else {name}" if field.init else f"_make_{name}()"
        names[f"_default_{name}"] = _MISSING if field.default_factory is not _MISSING else field.default
        if field.init:
            optional = field.default_factory is not _MISSING or field.default is not _MISSING
            (keywords if field.kw_only else positional).append(f"{name}=_default_{name}" if optional else name)
        names[f"_set_{name}"] = getattr(getattr(cls, name, None), "__set__", None)
        frozen_way = f"_set_{name}(self, {value})" if names[f"_set_{name}"] else f"_set(self, {name!r}, {value})"
        body.append(frozen_way if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    arguments = ", ".join([*positional, *(["*", *keywords] if keywords else [])])
    exec(f"def __init__({arguments}):\n  " + "\n  ".join(body or ["pass"]), names)
    init = names["__init__"]
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return init


class _Standard:
    """An attribute by which the standard library knows a dataclass; made, with its own decorator, when it is read."""

    def __init__(self, name: str, *, frozen: bool) -> None:
        self._name, self._frozen = name, frozen

    def __get__(self, _: object, owner: "type[Any]") -> "Any":
        import dataclasses
        import inspect

        cls = next(base for base in owner.__mro__ if vars(base).get(self._name) is self)
        is_signature = self._name == "__signature__"
        if is_signature and cls is not owner:
            # A class that inherits has an `__init__` of its own.
            return None
        # Each method that is not asked for takes as long to compile as `__init__`.
        is_whole = self._name == "__dataclass_params__"
        methods: dict[str, Any] = {"init": is_whole or is_signature, "repr": is_whole, "eq": is_whole, "frozen": is_whole and self._frozen}
        standard = dataclasses.make_dataclass(cls.__name__, _standard_fields(vars(cls)[_SPECS].values()), **methods)
        attribute = inspect.signature(standard) if is_signature else getattr(standard, self._name)
        if not is_signature:
            setattr(cls, self._name, attribute)
        return attribute


_STANDARD = ("__dataclass_fields__", "__dataclass_params__", "__signature__")
_FROZEN, _THAWED = ({name: _Standard(name, frozen=is_frozen) for name in _STANDARD} for is_frozen in (True, False))


def _standard_fields(all_fields: "Any") -> "Iterator[tuple[str, Any, Any]]":
    import dataclasses

    for field in all_fields:
        defaults = {name: value for name in ("default", "default_factory") if (value := getattr(field, name)) is not _MISSING}
        how = {"init": field.init, "repr": field.repr, "compare": field.compare, "kw_only": field.kw_only, "metadata": field.metadata}
        yield field.name, field.type, dataclasses.field(**defaults, **how)


def _repr(self: "Any") -> str:
    values = ", ".join(f"{spec.name}={getattr(self, spec.name)!r}" for spec in getattr(self, _SPECS).values() if spec.repr)
    return f"{type(self).__qualname__}({values})"


def _equality(values: "Callable[[Any], Any]") -> "Callable[[Any, object], Any]":
    def __eq__(self: "Any", other: object) -> "Any":  # noqa: N807 - the name in tracebacks
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _refuse_setattr(_self: object, name: str, _: object) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delattr(_self: object, name: str) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: "Any") -> "list[Any]":
    return [getattr(self, name) for name in getattr(self, _SPECS)]


def _setstate(self: "Any", state: "list[Any]") -> None:
    for name, value in zip(getattr(self, _SPECS), state, strict=True):
        getattr(type(self), name).__set__(self, value)


def _replace(instance: "Any", /, **changes: "Any") -> "Any":
    """Return a copy of a dataclass, or of a Struct of msgspec, with other values, as `dataclasses.replace`."""
    specs = vars(type(instance)).get(_SPECS)
    if specs is None and hasattr(instance, "__struct_fields__"):
        from msgspec.structs import replace

        return replace(instance, **changes)
    if specs is None:
        import dataclasses

        return dataclasses.replace(instance, **changes)
    return type(instance)(**{**{name: getattr(instance, name) for name, spec in specs.items() if spec.init}, **changes})


def _fields(kind: "Any") -> "tuple[Any, ...]":
    """Return the fields of a dataclass; one without a default has the standard library's `MISSING` only if the class is its own."""
    specs = getattr(kind, _SPECS, None)
    if specs is not None:
        return tuple(specs.values())
    import dataclasses

    return dataclasses.fields(kind)


if not TYPE_CHECKING:
    dataclass, field, fields, replace = _dataclass, _field, _fields, _replace
