"""Exceptions on their way from one side of a channel to the other: Python's own arrive as what they are, with their arguments."""

import builtins
import sys
from typing import Any, Final

STANDARD: Final = sys.stdlib_module_names | {"builtins"}
# Their exceptions say how a test ended, as `unittest.SkipTest` does.
_OF_TESTS: Final = frozenset({"unittest", "doctest", "bdb"})


def is_known(kind: type) -> bool:
    """Whether a class of exceptions is Python's own."""
    return issubclass(kind, BaseException) and kind.__module__.partition(".")[0] in STANDARD


def native_name(kind: type) -> str:
    """The built-in exception that a class is or derives from."""
    return next(one.__name__ for one in kind.__mro__ if one.__module__ == "builtins")


def known_exception(module: str, qualname: str, native: str) -> type[BaseException]:
    """The class of that name where its module was imported here, else the built-in one that it derives from; nothing is imported."""
    found = getattr(sys.modules.get(module), qualname, None) if module.partition(".")[0] in STANDARD - _OF_TESTS else None
    for one in (found, getattr(builtins, native, None)):
        if isinstance(one, type) and issubclass(one, BaseException):
            return one
    return Exception


def arguments_of(error: BaseException) -> tuple[Any, ...]:
    """What an exception is made again from."""
    try:
        made = error.__reduce__()[1]
    except Exception:
        made = error.args
    return made if isinstance(made, tuple) else error.args


def new_exception(native: type[BaseException], kind: type[BaseException], arguments: Any) -> BaseException:
    """An exception of a class with these arguments, made by the built-in class alone."""
    arguments = arguments if isinstance(arguments, tuple) else ()
    try:
        made = native.__new__(kind, *arguments)
        native.__init__(made, *arguments)
    except Exception:
        made = BaseException.__new__(kind)
        made.args = arguments
    return made


def without_frames(error: BaseException) -> BaseException:
    """The exception without the frames that hold what it passed through, nor those of its causes."""
    seen: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and not any(at is one for one in seen):
        seen.append(at)
        at.__traceback__ = None
        at = at.__cause__ or at.__context__
    return error
