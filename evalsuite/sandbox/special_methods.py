"""Special methods that a proxy forwards, by name, with the functions that perform them where the object is."""

import operator
import re
import types
from collections.abc import Callable
from copy import copy, deepcopy
from typing import Any, Final

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


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda target, other: function(other, target)


OPERATIONS: Final = _FUNCTIONS | {f"__r{name}__": _reflected(_FUNCTIONS[f"__{name}__"]) for name in _BINARY}
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
