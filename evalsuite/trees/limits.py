"""How large a tree may be: past a limit there is an error with path and sizes, never a silent change of method."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evalsuite.errors import FaultError

ANY_OF = "x-eval-any-of"


class TreeLimitError(FaultError):
    """A value or a comparison is larger than a limit allows (LIMIT); `path` says where."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__("LIMIT", f"{path}: {message}" if path else message)
        self.message = message
        self.path = path


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeLimits:
    """The limits of one comparison.

    `max_pairs` elements x elements of one list pair; `max_row_pairs` the same where each pair has to be scored by rows (a batch comparator
    or alternatives inside); `max_depth` nested containers; `max_string` characters of one text; `max_keys` keys of one object;
    `max_nodes` values of one record.
    """

    max_pairs: int = 10_000_000
    max_row_pairs: int = 250_000
    max_depth: int = 100
    max_string: int = 1_000_000
    max_keys: int = 100_000
    max_nodes: int = 1_000_000


DEFAULT_LIMITS = TreeLimits()


def inspect(value: Any, limits: TreeLimits = DEFAULT_LIMITS, *, where: str = "") -> bool:
    """Whether gold alternatives stand anywhere in a JSON value; the walk is a loop, so that depth cannot break it.

    Raises:
        TreeLimitError: the value passes a limit.
    """
    alternatives = False
    n_nodes = 0
    level: list[Any] = [value]
    depth = 0
    while level:
        depth += 1
        n_nodes += len(level)
        if depth > limits.max_depth + 1:
            raise TreeLimitError(f"nested deeper than {limits.max_depth} levels", where)
        if n_nodes > limits.max_nodes:
            raise TreeLimitError(f"more than {limits.max_nodes:,} values", where)
        below: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is str:
                if len(item) > limits.max_string:
                    raise TreeLimitError(f"a text of {len(item):,} characters, the limit is {limits.max_string:,}", where)
            elif kind is dict:
                if len(item) > limits.max_keys:
                    raise TreeLimitError(f"an object of {len(item):,} keys, the limit is {limits.max_keys:,}", where)
                alternatives = alternatives or ANY_OF in item
                below.extend(item.values())
            elif kind is list:
                below.extend(item)
        level = below
    return alternatives


def alternatives_of(value: Any) -> list[Any] | None:
    """The accepted values of `{"x-eval-any-of": [...]}`, None where the value is no list of alternatives."""
    if isinstance(value, dict) and len(value) == 1 and isinstance(found := value.get(ANY_OF), list) and found:
        return found
    return None


def choices(value: Any) -> Iterator[Any]:
    """Every plain value that gold accepts here: the value itself, or each of its alternatives, nested ones unfolded."""
    waiting = [value]
    while waiting:
        found = alternatives_of(item := waiting.pop(0))
        if found is None:
            yield item
        else:
            waiting = [*found, *waiting]
