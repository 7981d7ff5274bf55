"""What a test does to its own interpreter for the program to see: replaced module attributes, seeds, variables of the environment.

Program and test stood in one interpreter once, and tests are written as if they still did (`sys.stdin = ...`, `mock.patch`,
`random.seed`). Before each call the program's interpreter hears of what has changed here.
"""

import os
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Final

# Attributes of `sys` that a test may set; the others change by themselves.
_SYS: Final = frozenset({"stdin", "stdout", "stderr", "argv", "maxsize", "platform", "version_info"})
# Modules whose attributes are their own memory.
_NOISY: Final = frozenset({"random._inst", "warnings.filters", "warnings._filters_version", "warnings.onceregistry", "asyncio.events"})
# What a test says that is seen by neither way.
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
    """Why a test cannot be run apart from its program, as its text shows; None where nothing speaks against it."""
    return next((why for word, why in _UNSEEN.items() if re.search(rf"\b{word}\b", text)), None)


class State:
    """The changes of this interpreter since the last call."""

    def __init__(self, text: str, modules: set[str]) -> None:
        self._modules: dict[str, dict[str, Any]] = {}
        self._replaced: dict[tuple[str, str], Any] = {}
        for name in sorted(modules):
            try:
                module = import_module(name)
            except Exception:
                continue
            self._modules[name] = dict(vars(module))
        words = {"random": "random", "numpy": "np.random|numpy", "decimal": "context", "recursion": "setrecursionlimit", "folder": "chdir"}
        self._read = {what: _READERS[what] for what, word in words.items() if re.search(word, text)}
        self._last = {what: read() for what, read in self._read.items()}
        self._environ = dict(os.environ) if re.search("environ|putenv|setenv", text) else None
        self._warns = re.search(r"warn", text) is not None

    def news(self) -> Iterator[tuple[Any, ...]]:
        """What changed, as `ProgramSide.hear` takes it."""
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
            own, key = before.get(name, place), (module, name)
            if own is value:
                if self._replaced.pop(key, place) is not place:
                    yield "restore", key
            elif own is place:
                # A submodule that was imported meanwhile, or a memory of the module's own.
                before[name] = value
            elif self._replaced.get(key, place) is not value and not name.startswith("_") and self._is_set(module, name, own):
                self._replaced[key] = value
                yield "replace", (*key, value)

    def _is_set(self, module: str, name: str, own: Any) -> bool:
        return name in _SYS if module == "sys" else f"{module}.{name}" not in _NOISY


def _random() -> Any:
    module = sys.modules.get("random")
    return None if module is None else module.getstate()


def _numpy() -> Any:
    module = sys.modules.get("numpy.random")
    if module is None:
        return None
    kind, keys, *rest = module.get_state()
    return (kind, tuple(keys.tolist()), *rest)


def _decimal() -> Any:
    module = sys.modules.get("decimal")
    if module is None:
        return None
    context = module.getcontext()
    return (context.prec, context.rounding, context.Emin, context.Emax, context.capitals, context.clamp)


_READERS: Final[dict[str, Callable[[], Any]]] = {
    "random": _random,
    "numpy": _numpy,
    "decimal": _decimal,
    "recursion": sys.getrecursionlimit,
    "folder": os.getcwd,
}


def _warn(message: str, category: Any) -> None:
    import warnings

    warnings.warn(message, category if isinstance(category, type) and issubclass(category, Warning) else UserWarning, stacklevel=2)
