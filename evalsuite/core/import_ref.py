"""References to modules and their attributes that are imported on first use. All tables of names use `ImportRef`.

Written without dataclasses and typing: `evalsuite --help` reads a table, and importing those two would dominate its start-up time.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any, AnyStr

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["ArrayLike", "Floats", "ImportRef", "LazyModule", "LazyPattern", "NDArray", "lazy_pattern", "np"]


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
    """A module that is imported when one of its attributes is first read: `np = LazyModule("numpy")` costs nothing at start-up."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> "Any":
        from importlib import import_module

        value = getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)  # the next read finds it without this function
        return value


if not TYPE_CHECKING:
    # numpy for the modules that need it in many functions; its types stand in annotations alone.
    np, ArrayLike, Floats, NDArray = LazyModule("numpy"), object, object, object


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
