"""Calls of libraries on data that nobody has checked: whose fault an error is.

A library such as duckdb raises classes of its own for what it finds in a file, and ValueError or RuntimeError for some of it. A bug of ours
raises the latter too. So the objects of a library are `guarded`: an error of its call becomes a `LibraryError`, an error of the code around
the call never does. In the other direction, a function of ours that a library calls is `kept`: a library hides its errors.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, TypeVar, cast

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class LibraryError(Exception):
    """An error that a library's call raised, of a class that code of ours raises too; its text is the library's."""


class LibraryRangeError(LibraryError, OverflowError):
    """A value that the library cannot give to Python."""


class LibraryDepthError(LibraryError, RecursionError):
    """A value that nests deeper than the library can give to Python."""


def guarded(target: T) -> T:
    """Return an object of a library whose calls raise `LibraryError` in place of ValueError, RuntimeError and OverflowError."""
    return cast(T, _Guarded(target))


class _Guarded:
    def __init__(self, target: Any) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        return partial(self._call, value) if callable(value) else value

    def _call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        try:
            result = function(*arguments, **named)
        except RecursionError as error:
            raise LibraryDepthError(str(error)) from error
        except OverflowError as error:
            raise LibraryRangeError(str(error)) from error
        except (ValueError, RuntimeError) as error:
            raise LibraryError(str(error)) from error
        # Many methods return their own object.
        return self if result is self._target else result


class OwnErrors:
    """The errors of functions of ours that a library calls, which the library hides behind an error of its own."""

    def __init__(self) -> None:
        self._errors: list[Exception] = []

    def kept(self, *theirs: type[Exception]) -> Callable[[F], F]:
        """Return a decorator that keeps the errors of a function, except those of the classes `theirs`, which its arguments may cause."""

        def decorate(function: F) -> F:
            @wraps(function)
            def call(*arguments: Any, **named: Any) -> Any:
                try:
                    return function(*arguments, **named)
                except Exception as error:
                    if not isinstance(error, theirs):
                        self._errors.append(error)
                    raise

            return cast(F, call)

        return decorate

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Raise the first error that was kept inside the block, in place of the one that ended it. A library ignores some: then too."""
        self._errors.clear()
        try:
            yield
        except Exception:
            if not self._errors:
                raise
        if self._errors:
            raise self._errors.pop(0)
