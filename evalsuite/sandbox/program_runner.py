"""The program's side: an interpreter that runs a program and then performs what its test requests.

Nothing here is secret and nothing is decided here. Whatever a program does to this interpreter, only data leaves it, for the test's process
(`program_test`), which has the asserts.
"""

import io
import os
import sys
import types
from importlib import import_module
from typing import Any, Final, NoReturn

from evalsuite.sandbox.program_values import perform

# Modules of this project that a program would not find in a new interpreter.
_OURS: Final = ("evalsuite", "msgspec", "ctypes", "_ctypes", "typing_extensions")
_ABSENT: Final = object()
# Audit-hook events: prefixes that are refused, modules that may not be imported, and what is allowed in the own folder only.
_REFUSED: Final = (
    *("socket.connect", "socket.bind", "socket.send", "socket.get", "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn"),
    *("os.spawn", "os.kill", "pty.", "ctypes.", "os.chmod", "os.chown", "os.link", "os.symlink", "os.truncate", "os.setxattr", "os.utime"),
    *("shutil.", "ftplib.", "smtplib.", "urllib.", "http.", "sqlite3.", "sqlite3.load_extension", "sqlite3.enable_load_extension"),
    *("winreg.", "os.startfile", "resource.", "cpython.", "mmap.", "syslog.", "signal.pthread_kill"),
)
_UNSEEN: Final = ("_ctypes", "_testcapi", "_testinternalcapi", "_xxsubinterpreters", "_interpreters")
_CHANGING: Final = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.listdir", "os.scandir", "os.chdir")


class _Nowhere(io.RawIOBase):
    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return len(data)


class ProgramSide:
    """Run the program as the module `__main__` and serve requests on it."""

    strict = False

    def __init__(self) -> None:
        self.space = types.ModuleType("__main__")
        vars(self.space)["__builtins__"] = sys.modules["builtins"]
        # Names that the test uses, with the values it knows; module attributes that the test replaced, with their original values.
        self._sent: dict[str, Any] = {}
        self._replaced: dict[tuple[str, str], Any] = {}
        self._loop: Any = None

    def perform(self, target: Any, operation: str, parts: list[Any]) -> Any:
        """Perform an operation on an object of the program."""
        if operation == "await":
            return self._run_awaitable(target)
        if operation == "get" and parts[0] == "__signature__":
            import inspect

            return inspect.signature(target)
        return perform(target, operation, parts)

    def _run_awaitable(self, awaitable: Any) -> Any:
        import asyncio

        async def finish() -> Any:
            return await awaitable

        if self._loop is None or self._loop.is_running():
            self._loop = asyncio.new_event_loop()
        return self._loop.run_until_complete(finish())

    def command(self, name: str, parts: list[Any]) -> Any:
        """Run the program, or return the values of the names that its test uses (all names if the test may use any)."""
        if name == "run":
            sys.modules["__main__"] = self.space
            exec(compile(parts[0], "<program>", "exec", dont_inherit=True), vars(self.space))
            return None
        space = vars(self.space)
        words = [word for word in space if not word.startswith("__")] if parts[0] is None else [word for word in parts[0] if word in space]
        self._sent = {word: space[word] for word in words}
        return tuple(self._sent.items())

    def news(self) -> list[tuple[Any, ...]]:
        """Return the names whose values have changed since the test received them."""
        space = vars(self.space)
        changed = [(name, space[name]) for name, value in self._sent.items() if space.get(name, value) is not value]
        self._sent.update(changed)
        return changed

    def apply_change(self, what: str, parts: tuple[Any, ...]) -> None:
        """Apply a change of the test's interpreter: a replaced module attribute, a seed, an environment variable."""
        if what == "name":
            setattr(self.space, *parts)
        elif what == "replace":
            module, name, value = parts
            place = import_module(module)
            self._replaced.setdefault((module, name), getattr(place, name, _ABSENT))
            setattr(place, name, value)
        elif what == "restore":
            original = self._replaced.pop(parts, _ABSENT)
            delattr(import_module(parts[0]), parts[1]) if original is _ABSENT else setattr(import_module(parts[0]), parts[1], original)
        elif what == "environ":
            os.environ.clear()
            os.environ.update(parts[0])
        else:
            _STATES[what](*parts)

    def check(self, value: Any) -> None:
        """Accept every object of the program."""

    def refuse(self, reason: str) -> NoReturn:
        """Never called: this side compares as Python does."""
        raise TypeError(reason)

    def give_up(self, reason: str) -> NoReturn:
        """Raise an error: a class of the test cannot have subclasses here."""
        raise TypeError(reason)


def _set_decimal(settings: tuple[Any, ...]) -> None:
    import decimal

    context = decimal.getcontext()
    context.prec, context.rounding, context.Emin, context.Emax, context.capitals, context.clamp = settings


def _forward_warnings(issue: Any) -> None:
    import warnings

    def show(message: Any, category: Any, *_: Any) -> None:
        issue(str(message), category)

    warnings.simplefilter("always")
    warnings.showwarning = show  # type: ignore[assignment]


_STATES: Final[dict[str, Any]] = {
    "decimal": _set_decimal,
    "random": lambda state: import_module("random").setstate(state),
    "numpy": lambda state: import_module("numpy.random").set_state(state),
    "recursion": sys.setrecursionlimit,
    "folder": os.chdir,
    "warnings": _forward_warnings,
}


def prepare() -> ProgramSide:
    """Set up this interpreter: no input, discarded output, no arguments."""
    sys.stdin = io.StringIO()
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Nowhere()), encoding="utf-8", errors="replace")
    sys.stderr = io.TextIOWrapper(io.BufferedWriter(_Nowhere()), encoding="utf-8", errors="replace")
    sys.argv = [""]
    # The recursion depth of a file that runs alone.
    depth, frame = 0, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    sys.setrecursionlimit(1000 + depth + 10)
    return ProgramSide()


def clear_traces(*, sandboxed: bool) -> None:
    """Remove the modules of this project, which a program would not find in a new interpreter, and set the audit hook."""
    for name in [name for name in sys.modules if name.partition(".")[0] in _OURS]:
        del sys.modules[name]
    # Databases are files, and SQL opens them without audit events.
    build_hook(_REFUSED if not sandboxed else tuple(event for event in _REFUSED if event != "sqlite3."))


def build_hook(refused: tuple[str, ...]) -> None:
    """Refuse by an audit hook what the system's sandbox refuses too. Without a sandbox the hook is the only protection."""
    roots = tuple(os.path.realpath(p) + os.sep for p in {os.path.dirname(os.__file__), "/usr/share/zoneinfo", *sys.path} if p)  # noqa: PTH120
    folder = os.path.realpath(os.getcwd())  # noqa: PTH109
    folder = folder + os.sep if folder != os.sep else ""
    unseen, changing = _UNSEEN, _CHANGING
    realpath, fspath = os.path.realpath, os.fspath

    def inside(path: Any, roots: tuple[str, ...]) -> bool:
        place = realpath(fspath(path))
        place = place.decode("utf-8", "replace") if isinstance(place, bytes) else place
        return any((place + os.sep).startswith(root) for root in roots if root)

    def refuse(event: str, arguments: Any) -> None:
        if event == "import" and arguments[0] in unseen:
            # A library that can do without the feature expects this error.
            raise ImportError("not allowed here: " + arguments[0])
        if event.startswith(refused):
            raise PermissionError("not allowed here: " + event)
        if event == "import" and arguments[1] and (inside(arguments[1], (folder,)) or not inside(arguments[1], roots)):
            raise PermissionError("not allowed here: an extension module from a folder that can be written")
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, int):
                return
            writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
            if not inside(path, (folder,)) and (writes or not inside(path, roots)):
                raise PermissionError("not allowed here: open")
        elif event in changing:
            for path in arguments[:2]:
                lists = event in ("os.listdir", "os.scandir")
                if isinstance(path, str | bytes | os.PathLike) and not inside(path, (folder, *roots) if lists else (folder,)):
                    raise PermissionError("not allowed here: " + event)

    sys.addaudithook(refuse)
