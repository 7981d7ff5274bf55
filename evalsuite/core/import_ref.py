"""References to modules and their attributes that are imported on first use. All tables of names use `ImportRef`.

Written without dataclasses and typing: `evalsuite --help` reads a table, and importing those two would dominate its start-up time.
"""

from _thread import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any, AnyStr

    import duckdb
    import numpy as np
    from numpy.typing import ArrayLike, NDArray
    from scipy import optimize, special

    Floats = NDArray[np.float64]

__all__ = ["ArrayLike", "Floats", "ImportRef", "LazyModule", "NDArray", "duckdb", "lazy_pattern", "np", "optimize", "special"]

_PART_LOCK = RLock()


class ImportRef:
    """`module:attribute` (or `module`) with a one-line summary. Nothing is imported until `load`."""

    __slots__ = ("summary", "target")

    def __init__(self, target: str, summary: str = "") -> None:
        self.target = target
        self.summary = summary

    def load(self) -> "Any":
        """Import and return the object; a target without `:` is the module. Raises whatever its import raises."""
        from importlib import import_module

        module, _, attribute = self.target.partition(":")
        target = import_module(module)
        return getattr(target, attribute) if attribute else target

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ImportRef) and (self.target, self.summary) == (other.target, other.summary)

    def __hash__(self) -> int:
        return hash((self.target, self.summary))

    def __repr__(self) -> str:
        return f"ImportRef({self.target!r}, {self.summary!r})"


class LazyModule:
    """A module that is imported when one of its attributes is first read: `np = LazyModule("numpy")` costs nothing at start-up.

    What the compiled module `part` of a package has is taken from there, without the rest of the package, where that can be:
    `scipy.special` takes several times as long to import as its functions.
    """

    def __init__(self, name: str, part: str = "") -> None:
        self._name, self._part = name, part

    def __getattr__(self, attribute: str) -> "Any":
        from importlib import import_module

        part = _import_part(self._name, self._part) if self._part else None
        value = getattr(part, attribute) if hasattr(part, attribute) else getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)  # the next read finds it without this function
        return value


def _import_part(package: str, part: str) -> "Any":
    """Import a module of a package without the package; None where that is loaded already, or the module needs it or is missing."""
    import sys
    from importlib import import_module
    from importlib.util import find_spec

    top, *below = package.split(".")
    name = ".".join([package, part])
    with _PART_LOCK:
        if package in sys.modules or not (spec := find_spec(top)):
            return None
        stand_in: Any = type(sys)(package)
        stand_in.__path__ = ["/".join([folder, *below]) for folder in spec.submodule_search_locations or ()]
        stand_in.__getattr__ = lambda attribute: _of_package(stand_in, attribute)
        sys.modules[package] = stand_in
        try:
            return import_module(name)
        except ImportError:
            return None
        finally:
            del sys.modules[package]


def _of_package(stand_in: "Any", attribute: str) -> "Any":
    """The attribute of the package, for another thread that met the stand-in: it waits for the end of that import."""
    import sys
    from importlib import import_module

    with _PART_LOCK:
        if sys.modules.get(stand_in.__name__) is stand_in:
            raise AttributeError(attribute)
    return getattr(import_module(stand_in.__name__), attribute)


if not TYPE_CHECKING:
    # Large packages that single functions need; the types of numpy stand in annotations alone.
    duckdb, np, ArrayLike, Floats, NDArray = LazyModule("duckdb"), LazyModule("numpy"), object, object, object
    optimize, special = LazyModule("scipy.optimize", "_lsap"), LazyModule("scipy.special", "_ufuncs")


class LazyPattern:
    """A regular expression that is compiled when one of its attributes is first read: dozens of them cost as much as the interpreter."""

    def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
        self.pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> "Any":
        import re

        value = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, value)
        return value


def lazy_pattern(pattern: "AnyStr", flags: int = 0) -> "re.Pattern[AnyStr]":
    """`re.compile`, done on first use."""
    return LazyPattern(pattern, flags)  # type: ignore[return-value]
