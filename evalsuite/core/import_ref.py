"""A thing by its place: the one form of every table of names, so that a test can follow each line as the import it is.

Written without dataclass and typing: `evalsuite --help` reads a table, and those two would be most of what it costs.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ImportRef:
    """`module:attribute` (or `module`) with one line that says what it is; nothing is imported until `load`."""

    __slots__ = ("summary", "target")

    def __init__(self, target: str, summary: str = "") -> None:
        self.target = target
        self.summary = summary

    def load(self) -> "Any":
        """The thing itself; a target without `:` is the module. Raises whatever its import raises."""
        from importlib import import_module

        module, _, attribute = self.target.partition(":")
        found = import_module(module)
        return getattr(found, attribute) if attribute else found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ImportRef) and (self.target, self.summary) == (other.target, other.summary)

    def __hash__(self) -> int:
        return hash((self.target, self.summary))

    def __repr__(self) -> str:
        return f"Lazy({self.target!r}, {self.summary!r})"
