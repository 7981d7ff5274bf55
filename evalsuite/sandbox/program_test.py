"""The test's side: an interpreter that runs the asserts and sees the program's values as data and proxies.

Names that the test does not define are the program's, unless the test clearly means Python's own. The test passes if it runs to its end.

Tests are written as if they shared an interpreter with the program (`sys.stdin = ...`, `mock.patch`, `random.seed`). So before each call
this side sends its changes to the program's interpreter: replaced module attributes, seeds, environment variables.
"""

import ast
import builtins
import collections
import functools
import io
import operator
import os
import random
import re
import symtable
import sys
import types
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from importlib import import_module
from typing import Any, Final, NoReturn

from evalsuite.sandbox.program_channel import Channel, RemoteClass
from evalsuite.sandbox.program_values import FORWARDED, STANDARD, perform

_WORD: Final = re.compile(r"[^\W\d]\w*")
_ANY_NAME: Final = re.compile(r"\b(?:globals|vars|locals|dir|getmembers|__main__|__dict__)\b")
_BUILTINS: Final = frozenset(vars(builtins))
# With these a test can look up a program's names without writing them.
_LOOKS_UP: Final = frozenset({"eval", "exec", "compile", "globals", "locals", "vars", "getattr", "__import__"})
# Common short names of packages.
_ALIASES: Final = {"np": "numpy", "pd": "pandas", "plt": "matplotlib.pyplot", "dt": "datetime"}


class TestNames:
    """The names of a test, read from its source."""

    __test__ = False

    def __init__(self, text: str) -> None:
        self.text, self.tree = text, ast.parse(text)
        table = symtable.symtable(text, "<test>", "exec")
        self.bound = {
            symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
        }
        self.imported = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_imported()}
        self.read = set(_names_read(table))
        self.free = self.read - self.bound

    def words(self) -> tuple[str, ...] | None:
        """Return the names that may be the program's: every word of the test, or None (all) if the test looks names up."""
        return None if _ANY_NAME.search(self.text) else tuple(sorted({*_WORD.findall(self.text)}))

    def tested_builtin(self) -> str | None:
        """Return the one built-in name that the test is about, such as `sum` in `assert sum(1, 2) == 3`; None if there is none."""
        used = self.free & _BUILTINS
        if not used or used & _LOOKS_UP or self.free - _BUILTINS:
            return None
        if len(used) == 1:
            return next(iter(used))
        # Module-level calls of functions that the test defines, such as `check(candidate)`.
        calls = [call for statement in self.tree.body if isinstance(statement, ast.Expr) for call in _named_calls(statement)]
        arguments = [argument for name, call in calls if name in self.bound for argument in call.args]
        passed = [argument.id for argument in arguments if isinstance(argument, ast.Name) and argument.id in used]
        if passed:
            return passed[0]
        asserts = [node.test for node in ast.walk(self.tree) if isinstance(node, ast.Assert)]
        # `ast.walk` yields the outermost call first.
        return next((name for test in asserts for name, _ in _named_calls(test) if name in used), None)

    def own_module(self, name: str) -> str | None:
        """Return the module that a free name stands for, if the test uses the name only for attributes of that module."""
        module = _ALIASES.get(name, name if name in sys.stdlib_module_names else None)
        if module is None or name not in self.free:
            return None
        nodes = list(ast.walk(self.tree))
        dotted = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
        attributes = [node.attr for node in dotted if isinstance(node.value, ast.Name) and node.value.id == name]
        if sum(isinstance(node, ast.Name) and node.id == name for node in nodes) != len(attributes):
            return None
        try:
            imported: Any = __import__(module, fromlist=["*"])
        except ImportError:
            return None
        return module if all(hasattr(imported, attribute) for attribute in attributes) else None

    def modules(self) -> set[str]:
        """Return the modules that the test imports or names in a string such as `time.sleep`."""
        names = {"builtins", "sys"}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
                parts = node.value.split(".")
                names |= {".".join(parts[:end]) for end in range(1, len(parts)) if parts[0].isidentifier()}
        return {name for name in names if name.partition(".")[0] in sys.stdlib_module_names or name in sys.modules}

    def set_for_program(self) -> set[str]:
        """Return the names that the test sets and never reads, which only the program can use."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        return self.bound - self.read - self.imported - {node.name for node in self.tree.body if isinstance(node, kinds)}


def _named_calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Yield (name, call) for each call of a plain name, the outermost first."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id, node


def _names_read(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the module-level names that any scope reads."""
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (table.get_type() == "module" or symbol.is_global()):
            yield symbol.get_name()
    for child in table.get_children():
        yield from _names_read(child)


# Attributes of `sys` that a test may set; the others change by themselves.
_SYS: Final = frozenset({"stdin", "stdout", "stderr", "argv", "maxsize", "platform", "version_info"})
# Attributes in which modules keep their own state.
_NOISY: Final = frozenset({"random._inst", "warnings.filters", "warnings._filters_version", "warnings.onceregistry", "asyncio.events"})
# Words of tests that this design cannot support, with the reason.
_UNSEEN: Final = {
    "assertLogs": "asks for the program's log records",
    "caplog": "asks for the program's log records",
    "setlocale": "sets a locale",
    "gettrace": "traces the program",
    "settrace": "traces the program",
    "tracemalloc": "measures the program's memory",
    "getsource": "reads the program's source",
}


def unseen_use(text: str) -> str | None:
    """Return why a test cannot run in a process of its own, judging by its text; None if nothing prevents it."""
    return next((why for word, why in _UNSEEN.items() if re.search(rf"\b{word}\b", text)), None)


class State:
    """Changes of this interpreter since the last call."""

    def __init__(self, text: str, modules: set[str]) -> None:
        self._modules: dict[str, dict[str, Any]] = {}
        self._replaced: dict[tuple[str, str], Any] = {}
        for name in sorted(modules):
            try:
                module = import_module(name)
            except Exception:  # a module that the test cannot import has no changes to report; the test's own import raises
                continue
            self._modules[name] = dict(vars(module))
        words = {"random": "random", "numpy": "np.random|numpy", "decimal": "context", "recursion": "setrecursionlimit", "folder": "chdir"}
        self._read = {what: _READERS[what] for what, word in words.items() if re.search(word, text)}
        self._last = {what: read() for what, read in self._read.items()}
        self._environ = dict(os.environ) if re.search("environ|putenv|setenv", text) else None
        self._warns = re.search(r"warn", text) is not None

    def news(self) -> Iterator[tuple[Any, ...]]:
        """Yield the changes in the form that `ProgramSide.apply_change` takes."""
        for module, before in self._modules.items():
            yield from self._attributes(module, before)
        for what, read in self._read.items():
            now = read()
            if now != self._last[what]:
                self._last[what] = now
                yield what, (now,)
        if self._environ is not None and self._environ != dict(os.environ):
            self._environ = dict(os.environ)
            yield "environ", (self._environ,)
        if self._warns:
            self._warns = False
            yield "warnings", (_warn,)

    def _attributes(self, module: str, before: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
        place = vars(sys.modules[module]) if module in sys.modules else before
        for name, value in list(place.items()):
            original, key = before.get(name, place), (module, name)
            if original is value:
                if self._replaced.pop(key, place) is not place:
                    yield "restore", key
            elif original is place:
                # A submodule that was imported meanwhile, or a module's own state.
                before[name] = value
            elif self._replaced.get(key, place) is not value and not name.startswith("_") and _is_settable(module, name):
                self._replaced[key] = value
                yield "replace", (*key, value)


def _is_settable(module: str, name: str) -> bool:
    """Return whether only the test changes an attribute of a module."""
    return name in _SYS if module == "sys" else f"{module}.{name}" not in _NOISY


def _of_module(name: str, read: Callable[[Any], Any]) -> Callable[[], Any]:
    """Return a reader of a module's state: None as long as the module is not imported."""
    return lambda: read(sys.modules[name]) if name in sys.modules else None


def _numpy_state(module: Any) -> tuple[Any, ...]:
    kind, keys, *rest = module.get_state()
    return (kind, tuple(keys.tolist()), *rest)


_of_context = operator.attrgetter("prec", "rounding", "Emin", "Emax", "capitals", "clamp")
_READERS: Final[dict[str, Callable[[], Any]]] = {
    "random": _of_module("random", lambda module: module.getstate()),
    "numpy": _of_module("numpy.random", _numpy_state),
    "decimal": _of_module("decimal", lambda module: _of_context(module.getcontext())),
    "recursion": sys.getrecursionlimit,
    "folder": os.getcwd,
}


def _warn(message: str, category: Any) -> None:
    import warnings

    warnings.warn(message, category if isinstance(category, type) and issubclass(category, Warning) else UserWarning, stacklevel=2)


PASSED, FAILED, UNKNOWN = b"passed", b"failed ", b"unknown "
_FUNCTIONS: Final = (
    *(types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.MethodWrapperType, functools.partial),
    *(operator.itemgetter, operator.attrgetter, operator.methodcaller, type(functools.lru_cache(int))),
)
# Library objects that a test may pass to a program, which calls their methods.
_GIVEN: Final = (io.IOBase, random.Random, re.Pattern, re.Match, types.SimpleNamespace)
_CONTAINERS: Final = (list, dict, set, bytearray, collections.deque, collections.UserDict, collections.UserList)
_OF_FUNCTIONS: Final = frozenset({"__name__", "__qualname__", "__doc__", "__module__", "__code__", "__signature__", "cache_clear"})
_OF_GENERATORS: Final = frozenset({"send", "throw", "close", "asend", "athrow", "aclose"})
_OF_MOCKS: Final = ("assert", "_", "mock_", "call", "method_calls", "return_value", "side_effect", "configure", "attach", "reset")


class TestSide:
    """Run a test; `send_verdict` sends its one verdict."""

    __test__ = False
    strict = True

    def __init__(self, send_verdict: Callable[[bytes], Any], text: str) -> None:
        self._send_verdict = send_verdict
        self.names = TestNames(text)
        self.space = types.ModuleType("__main__")
        vars(self.space)["__builtins__"] = sys.modules["builtins"]
        # Names of the program in the test's namespace, with their original values.
        self._given: dict[str, Any] = {}
        self._set: dict[str, Any] = {}
        self._asked = 0
        self._program = ""
        self._state: State | None = None

    def refuse(self, reason: str) -> NoReturn:
        """End the test as failed."""
        self._end(FAILED + reason.encode())

    def give_up(self, reason: str) -> NoReturn:
        """End the test as unknown."""
        self._end(UNKNOWN + reason.encode("utf-8", "replace"))

    def _end(self, verdict: bytes) -> NoReturn:
        self._send_verdict(verdict)
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
        for name, value in channel.command("names", self.names.words()):
            self._take(name, value)
        exec(compile(self.names.tree, "<test>", "exec", dont_inherit=True), vars(self.space))

    def _take(self, name: str, value: Any) -> None:
        """Add a name of the program to the test's namespace, unless it would replace one of Python's own."""
        if name.startswith("__"):
            return
        module = self.names.own_module(name)
        if module is not None:
            value = sys.modules[module]
        elif name in vars(sys.modules["builtins"]) and name != self.names.tested_builtin():
            return
        if isinstance(value, RemoteClass):
            # A class with a lower-case name is not known to the test as a class.
            value._class_.known = name[:1].isupper()
        self._given[name] = vars(self.space)[name] = value

    def news(self) -> list[tuple[Any, ...]]:
        """Return the changes of the test that the program must see."""
        if self._state is None:
            return []
        changes = list(self._state.news())
        space = vars(self.space)
        for name in self._program_names():
            if name in self.names.imported and not _is_of_library(space.get(name)):
                continue
            if name in space and self._set.get(name, space) is not space[name] and space[name] is not self._given.get(name, space):
                self._set[name] = space[name]
                changes.append(("name", (name, space[name])))
            elif name in self._set and name in self._given and space.get(name) is self._given[name]:
                del self._set[name]
                changes.append(("name", (name, space[name])))
        return changes

    @functools.cache  # noqa: B019 - one of these lives as long as its process
    def _program_names(self) -> list[str]:
        patched = re.findall(r"__main__\.(\w+)", self.names.text)
        # The program does not use, and need not import, what it does not mention.
        imported = self.names.imported.intersection(re.findall(r"\w+", self._program))
        return sorted(name for name in {*self.names.set_for_program(), *patched, *imported} if not name.startswith("__"))

    def apply_change(self, name: str, value: Any) -> None:
        """Apply a new value of a program's name; the test's own value of that name stays."""
        space = vars(self.space)
        if name in self._given and space.get(name) is self._given[name]:
            self._take(name, value)

    def command(self, name: str, parts: list[Any]) -> NoReturn:
        """Reject: the program may request operations on objects only."""
        raise ValueError(name)

    def perform(self, target: Any, operation: str, parts: list[Any]) -> Any:
        """Perform an operation that any owner of the object may request. An assert that fails in it fails the test."""
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
        """Run a coroutine of the test, which the program awaits, and return its result."""
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
        is_own = _is_of_test(type(target)) or isinstance(target, types.SimpleNamespace)
        if operation in ("set", "delete") and is_own and not name.startswith("_") and not callable(getattr(type(target), name, None)):
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
        """Raise an error for an object that would behave differently on the other side."""
        kind = value if isinstance(value, type) else type(value)
        is_own = _is_of_test(kind) and not issubclass(kind, _CONTAINERS)
        if is_own or kind is object or isinstance(value, (*_FUNCTIONS, *_GIVEN, Iterator, Awaitable, AsyncIterator)) or _is_mock(value):
            return
        if self._asked:
            raise TypeError(f"the program cannot have a {kind.__name__}")
        self.give_up(
            f"the test gives the program an object of {kind.__module__}.{kind.__qualname__}, which cannot leave the test's process"
        )


def _is_of_library(value: Any) -> bool:
    """Return whether a value is a module, function or class of the standard library or numpy. A program may use what its test imports."""
    if isinstance(value, types.ModuleType):
        return value.__name__.partition(".")[0] in {*STANDARD, "numpy"}
    return isinstance(value, types.FunctionType | types.BuiltinFunctionType | type)


def _is_of_test(kind: type) -> bool:
    return kind.__module__ == "__main__" and not isinstance(kind, RemoteClass)


def _is_mock(value: Any) -> bool:
    mock = sys.modules.get("unittest.mock")
    return mock is not None and isinstance(value, mock.NonCallableMock)


def run_test(
    read: Callable[[int], bytes], write: Callable[[Any], int], send_verdict: Callable[[bytes], Any], program: str, test: str
) -> None:
    """Run a test on the program at the other end of a channel, and send the verdict."""
    try:
        side = TestSide(send_verdict, test)
        side.run(Channel(read, write, side), program)
    except SystemExit as end:
        # `unittest.main()` ends so. Exits of the program come from the other side.
        passed = not end.code and not hasattr(end, "__from_other_side__")
        send_verdict(PASSED if passed else FAILED)
    except BaseException:  # what a test raises, of whatever kind, is its verdict
        send_verdict(FAILED)
    else:
        send_verdict(PASSED)
