"""The test's side: an interpreter that holds the asserts and meets the program's values as data and as proxies.

The test's names are its own; those that it does not define are the program's. It passes when it comes to its end.
"""

import collections
import functools
import io
import operator
import os
import random
import re
import sys
import types
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Final, NoReturn

from evalsuite.walls.program_channel import Channel
from evalsuite.walls.program_errors import STANDARD
from evalsuite.walls.program_names import TestNames
from evalsuite.walls.program_operators import FORWARDED, perform
from evalsuite.walls.program_proxies import RemoteClass
from evalsuite.walls.program_state import State, unseen_use

PASSED, FAILED, UNKNOWN = b"passed", b"failed ", b"unknown "
_FUNCTIONS: Final = (
    *(types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.MethodWrapperType, functools.partial),
    *(operator.itemgetter, operator.attrgetter, operator.methodcaller, type(functools.lru_cache(int))),
)
# Objects of the library that a test may give to a program, which calls their methods.
_GIVEN: Final = (io.IOBase, random.Random, re.Pattern, re.Match, types.SimpleNamespace)
_CONTAINERS: Final = (list, dict, set, bytearray, collections.deque, collections.UserDict, collections.UserList)
_OF_FUNCTIONS: Final = frozenset({"__name__", "__qualname__", "__doc__", "__module__", "__code__", "__signature__", "cache_clear"})
_OF_GENERATORS: Final = frozenset({"send", "throw", "close", "asend", "athrow", "aclose"})
_OF_MOCKS: Final = ("assert", "_", "mock_", "call", "method_calls", "return_value", "side_effect", "configure", "attach", "reset")


class TestSide:
    """Runs a test; `tell` sends its one verdict."""

    __test__ = False
    strict = True

    def __init__(self, tell: Callable[[bytes], Any], text: str) -> None:
        self._tell = tell
        self.names = TestNames(text)
        self.space = types.ModuleType("__main__")
        vars(self.space)["__builtins__"] = sys.modules["builtins"]
        # Names of the program that stand among the test's own, with the values that they had there.
        self._given: dict[str, Any] = {}
        self._set: dict[str, Any] = {}
        self._asked = 0
        self._program = ""
        self._state: State | None = None

    def refuse(self, reason: str) -> NoReturn:
        """End the test, which failed."""
        self._end(FAILED + reason.encode())

    def give_up(self, reason: str) -> NoReturn:
        """End the test, of which nothing is known."""
        self._end(UNKNOWN + reason.encode("utf-8", "replace"))

    def _end(self, verdict: bytes) -> NoReturn:
        self._tell(verdict)
        os._exit(0)

    def run(self, channel: Channel, program: str) -> None:
        """Run the program in its process and the test in this one."""
        why = unseen_use(self.names.text)
        if why is not None:
            self.give_up(f"the test {why}, and it runs in a process of its own")
        self._program = program
        channel.command("run", program)
        sys.modules["__main__"] = self.space
        self._state = State(self.names.text, self.names.modules())
        for name, value in channel.command("names", self.names.wanted()):
            self._take(name, value)
        exec(compile(self.names.tree, "<test>", "exec", dont_inherit=True), vars(self.space))

    def _take(self, name: str, value: Any) -> None:
        """Let a name of the program stand among the test's, unless it would stand for one of Python's own."""
        if name.startswith("__"):
            return
        module = self.names.own_module(name)
        if module is not None:
            value = sys.modules[module]
        elif name in vars(sys.modules["builtins"]) and name != self.names.tested_builtin():
            return
        if isinstance(value, RemoteClass):
            # A class under a function's name is no class that the test knows of.
            value._class_.known = name[:1].isupper()
        self._given[name] = vars(self.space)[name] = value

    def news(self) -> list[tuple[Any, ...]]:
        """What the test has changed that the program sees."""
        if self._state is None:
            return []
        found = list(self._state.news())
        space = vars(self.space)
        for name in self._program_names():
            if name in self.names.imported and not _is_of_library(space.get(name)):
                continue
            if name in space and self._set.get(name, space) is not space[name] and space[name] is not self._given.get(name, space):
                self._set[name] = space[name]
                found.append(("name", (name, space[name])))
            elif name in self._set and name in self._given and space.get(name) is self._given[name]:
                del self._set[name]
                found.append(("name", (name, space[name])))
        return found

    @functools.cache  # noqa: B019 - one of these lives as long as its process
    def _program_names(self) -> list[str]:
        patched = re.findall(r"__main__\.(\w+)", self.names.text)
        # What the program does not mention it does not use, and need not import.
        imported = self.names.imported.intersection(re.findall(r"\w+", self._program))
        return sorted(one for one in {*self.names.set_for_program(), *patched, *imported} if not one.startswith("__"))

    def hear(self, name: str, value: Any) -> None:
        """A name of the program has another value; the test's own value of that name stays."""
        space = vars(self.space)
        if name in self._given and space.get(name) is self._given[name]:
            self._take(name, value)

    def command(self, name: str, parts: list[Any]) -> NoReturn:
        """The program asks for nothing but operations on what it was given."""
        raise ValueError(name)

    def perform(self, target: Any, operation: str, parts: list[Any]) -> Any:
        """Carry out an operation that any holder of the object may ask for; an assert that fails in it fails the test."""
        self._allow(target, operation, parts)
        if operation == "await":
            return self._driven(target)
        if operation == "get" and parts[0] == "__signature__":
            import inspect

            return inspect.signature(target)
        self._asked += operation == "get"
        try:
            return perform(target, operation, parts)
        except AssertionError as error:
            if not hasattr(error, "__from_other_side__"):
                self.refuse("an assertion failed in what the program called")
            raise
        finally:
            self._asked -= operation == "get"

    def _driven(self, awaitable: Awaitable[Any]) -> Any:
        """What a coroutine of the test comes to, which the program awaits."""
        steps = awaitable.__await__()
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                return end.value
            if step is not None:
                self.give_up("the program waits for a coroutine of the test, which waits for another")

    def _allow(self, target: Any, operation: str, parts: list[Any]) -> None:
        name = parts[0] if parts and isinstance(parts[0], str) else ""
        if operation in ("call", "copy", "await") or (operation == "operate" and name in FORWARDED):
            return
        if operation == "get" and self._may_read(target, name):
            return
        own = _is_of_test(type(target)) or isinstance(target, types.SimpleNamespace)
        if operation in ("set", "delete") and own and not name.startswith("_") and not callable(getattr(type(target), name, None)):
            return
        raise AttributeError(f"{type(target).__name__!r} object has no attribute {name!r} for the program")

    def _may_read(self, target: Any, name: str) -> bool:
        if _is_mock(target):
            return not name.startswith(_OF_MOCKS)
        if isinstance(target, _FUNCTIONS):
            return name in _OF_FUNCTIONS
        if isinstance(target, Iterator | Awaitable | AsyncIterator) and not _is_of_test(type(target)) and not isinstance(target, io.IOBase):
            return name in _OF_GENERATORS
        return not name.startswith("_")

    def check(self, value: Any) -> None:
        """Refuse to send an object that would not be on the other side what it is here."""
        kind = value if isinstance(value, type) else type(value)
        own = _is_of_test(kind) and not issubclass(kind, _CONTAINERS)
        if own or kind is object or isinstance(value, (*_FUNCTIONS, *_GIVEN, Iterator, Awaitable, AsyncIterator)) or _is_mock(value):
            return
        if self._asked:
            raise TypeError(f"the program cannot have a {kind.__name__}")
        self.give_up(
            f"the test gives the program an object of {kind.__module__}.{kind.__qualname__}, which cannot leave the test's process"
        )


def _is_of_library(value: Any) -> bool:
    """Whether a value is a module of the library or of numpy, or a function or class: a program may use what its test imports."""
    if isinstance(value, types.ModuleType):
        return value.__name__.partition(".")[0] in {*STANDARD, "numpy"}
    return isinstance(value, types.FunctionType | types.BuiltinFunctionType | type)


def _is_of_test(kind: type) -> bool:
    return kind.__module__ == "__main__" and not isinstance(kind, RemoteClass)


def _is_mock(value: Any) -> bool:
    mock = sys.modules.get("unittest.mock")
    return mock is not None and isinstance(value, mock.NonCallableMock)


def judge(read: Callable[[int], bytes], write: Callable[[Any], int], tell: Callable[[bytes], Any], program: str, test: str) -> None:
    """Run a test on a program at the other end of a channel, and tell how it ended."""
    try:
        side = TestSide(tell, test)
        side.run(Channel(read, write, side), program)
    except SystemExit as end:
        # `unittest.main()` ends so. The program's exits come from the other side.
        passed = not end.code and not hasattr(end, "__from_other_side__")
        tell(PASSED if passed else FAILED)
    except BaseException:
        tell(FAILED)
    else:
        tell(PASSED)
