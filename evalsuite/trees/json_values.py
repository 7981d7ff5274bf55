"""JSON values: equality, size limits, canonical order, and the tolerance that a tree needs.

Beyond a limit there is an error with path and sizes, never a silent change of method.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from json import JSONEncoder, dumps, loads
from math import inf, nextafter
from typing import Any, Generic, TypeVar

from evalsuite.compare.numbers import as_margin, upward
from evalsuite.core.dataclasses import dataclass
from evalsuite.core.errors import FaultError

SCALARS = frozenset((str, int, float, bool, type(None)))
JSON_NAMES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object", type(None): "null"}


class _Absent:
    """The value of an absent key; None is a value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "absent"


ABSENT: Any = _Absent()
T = TypeVar("T")


class ByObject(Generic[T]):
    """Values computed once for a name and some lists or objects, which are identified by `id` and kept, so that no id is reused."""

    def __init__(self) -> None:
        self._values: dict[tuple[Any, ...], tuple[T, tuple[Any, ...]]] = {}

    def get(self, name: Any, objects: tuple[Any, ...], make: Callable[[], T]) -> T:
        """Return the value for these, computed by `make` on first use."""
        key = (name, *map(id, objects))
        if key not in self._values:
            self._values[key] = make(), objects
        return self._values[key][0]


def json_name(value: Any) -> str:
    """Return the JSON name of a value's type."""
    return JSON_NAMES.get(type(value), type(value).__name__)


def are_loosely_equal(a: Any, b: Any) -> bool:
    """Return whether two values have one type and are equal; inside containers 1, 1.0 and true are one (the reference's equality)."""
    return type(a) is type(b) and bool(a == b)


def are_identical(a: Any, b: Any) -> bool:
    """Return whether two values have one type and are equal, down to every leaf: [1] is neither [1.0] nor [true]."""
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is dict:
        return a.keys() == b.keys() and all(are_identical(value, b[key]) for key, value in a.items())
    if kind is list:
        return len(a) == len(b) and all(map(are_identical, a, b))
    return bool(a == b)


# A number as JSON and pydantic's Decimal write it; "007", "1,000" and "+5" are texts.
_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?", re.ASCII)


def number_in_text(value: Any) -> Decimal | None:
    """Return the number that a text is in the notation of JSON; None for any other text or value."""
    return Decimal(value) if isinstance(value, str) and _PLAIN_NUMBER.fullmatch(value) else None


ANY_OF = "x-eval-any-of"


class TreeLimitError(FaultError):
    """A value or a comparison exceeds a limit (LIMIT; BAD_SPEC if gold or its schema does so alone); `path` is its place."""

    def __init__(self, message: str, path: str = "", *, of_gold: bool = False) -> None:
        super().__init__("BAD_SPEC" if of_gold else "LIMIT", f"{path}: {message}" if path else message)
        self.message = message
        self.path = path


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeLimits:
    """The limits of one comparison.

    `max_pairs` elements x elements of one list pair; `max_cells` the same summed over all pairs of lists inside the elements of one
    list; `max_row_pairs` the same if each pair has to be scored by rows (a batch comparator or alternatives inside); `max_depth` nested
    containers; `max_string` characters of one text; `max_keys` keys of one object; `max_nodes` values of one record.
    """

    max_pairs: int = 10_000_000
    max_cells: int = 400_000_000
    max_row_pairs: int = 250_000
    max_depth: int = 100
    max_string: int = 1_000_000
    max_keys: int = 100_000
    max_nodes: int = 1_000_000


DEFAULT_LIMITS = TreeLimits()
_ENCODER = JSONEncoder(sort_keys=True, default=repr)


def inspect(value: Any, limits: TreeLimits = DEFAULT_LIMITS, *, where: str = "", of_gold: bool = False) -> bool:
    """Return whether a JSON value contains gold alternatives. The walk is a loop, so that deep values cannot break it.

    Raises `TreeLimitError` if the value exceeds a limit.
    """
    alternatives = False
    n_nodes = 0
    level: list[Any] = [value]
    depth = 0
    while level:
        depth += 1
        n_nodes += len(level)
        if depth > limits.max_depth + 1:
            raise TreeLimitError(f"nested deeper than {limits.max_depth} levels", where, of_gold=of_gold)
        if n_nodes > limits.max_nodes:
            raise TreeLimitError(f"more than {limits.max_nodes:,} values", where, of_gold=of_gold)
        below: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is str:
                if len(item) > limits.max_string:
                    message = f"a text of {len(item):,} characters, the limit is {limits.max_string:,}"
                    raise TreeLimitError(message, where, of_gold=of_gold)
            elif kind is dict:
                if len(item) > limits.max_keys:
                    message = f"an object of {len(item):,} keys, the limit is {limits.max_keys:,}"
                    raise TreeLimitError(message, where, of_gold=of_gold)
                alternatives = alternatives or ANY_OF in item
                below.extend(item.values())
            elif kind is list:
                below.extend(item)
        level = below
    return alternatives


def alternatives_of(value: Any) -> list[Any] | None:
    """Return the accepted values of `{"x-eval-any-of": [...]}`, None if the value is no list of alternatives."""
    if isinstance(value, dict) and len(value) == 1 and isinstance(values := value.get(ANY_OF), list) and values:
        return values
    return None


def choices(value: Any) -> Iterator[Any]:
    """Yield every plain value that gold accepts here: the value itself, or each of its alternatives, nested ones unfolded."""
    waiting = [value]
    while waiting:
        options = alternatives_of(item := waiting.pop(0))
        if options is None:
            yield item
        else:
            waiting = [*options, *waiting]


def canonical_order(items: Sequence[Any]) -> list[int]:
    """Return the positions of the items, sorted by their canonical JSON; equal items keep their order."""
    keys = canonical(items)
    return sorted(range(len(items)), key=keys.__getitem__)


def exact_text(value: Any) -> str:
    """Return a text that two values share if they are the same except for the order of keys: JSON with sorted keys."""
    return _ENCODER.encode(value)


def unordered_text(value: Any) -> str:
    """Return the text of `canonical` for one value: the order of list items does not count either."""
    return canonical([value])[0].decode("utf-8", "surrogatepass")


_DEEPEST = 256


def canonical(items: Sequence[Any]) -> list[bytes]:
    """Return for each item a text that two of them share if they differ only in the order of keys and of list items, at any depth."""
    from msgspec import MsgspecError
    from msgspec.json import Encoder

    encode = Encoder(order="sorted").encode
    try:
        texts = [encode(item) for item in items]
    except (MsgspecError, TypeError, ValueError, RecursionError, OverflowError):
        return [_canonical_text(item) for item in items]
    for i, text in enumerate(texts):
        if b"[" in text or (b"null" in text and "nan" in repr(items[i])):  # msgspec writes NaN as null
            texts[i] = _canonical_text(items[i])
    return texts


def _canonical_text(value: Any, depth: int = 0) -> bytes:
    """Return the canonical text; what is nested deeper than any schema looks alike."""
    if isinstance(value, dict | list) and depth > _DEEPEST:
        return b"deep"
    if isinstance(value, dict):
        return b"{" + b",".join(sorted(_scalar(key) + b":" + _canonical_text(item, depth + 1) for key, item in value.items())) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(sorted(_canonical_text(item, depth + 1) for item in value)) + b"]"
    return _scalar(value)


def _scalar(value: Any) -> bytes:
    return dumps(value, ensure_ascii=False, default=repr).encode("utf-8", "surrogatepass")


class Margin:
    """The smallest tolerance of numbers under which every leaf matches; `value` is None if none is needed or none is enough."""

    def __init__(self) -> None:
        self._needed: Decimal | None = Decimal(0)

    def add(self, gold: Any, prediction: Any, *, is_right: bool) -> None:
        """Take one leaf that counts, an element of a list as it was aligned; `is_right`: the rule accepts it."""
        if self._needed is None:
            return
        try:
            if type(gold) in (int, float) and type(prediction) in (int, float):
                self._needed = max(self._needed, _distance(gold, prediction) if gold != prediction else self._needed)
            elif not is_right:
                self._needed = None
        except (ArithmeticError, ValueError):  # NaN
            self._needed = None

    @property
    def value(self) -> float | None:
        """The tolerance as a float that is large enough."""
        return None if self._needed is None else as_margin(upward(self._needed))


def _distance(gold: Any, prediction: Any) -> Decimal:
    """Return the difference of two numbers, both as written and as `numeric` compares them, whichever is larger."""
    written = abs(Decimal(repr(gold)) - Decimal(repr(prediction)))
    if (isinstance(gold, float) and isinstance(prediction, float)) or max(abs(gold), abs(prediction)) <= 2**53:
        return max(written, Decimal(repr(abs(float(gold) - float(prediction)))))
    exact = abs(Fraction(gold) - Fraction(prediction))
    near = float(exact)
    return max(written, Decimal(repr(near if Fraction(near) >= exact else nextafter(near, inf))))


def other_container(gold: Any, answer: Any) -> str:
    """How an answer contains gold's fields in another container than gold, if it does; only the names are compared."""
    records = gold if isinstance(gold, list) else [gold]
    if not records or not all(isinstance(record, dict) for record in records):
        return ""
    names: set[str] = set().union(*records)
    if isinstance(answer, str):
        with suppress(ValueError, RecursionError):
            return "the answer is a text that contains JSON" if isinstance(loads(answer), dict | list) else ""
    if not isinstance(answer, dict) or not names:
        return ""
    if isinstance(gold, list) and _are_columns(gold, answer, names):
        return "the answer is one object with all values of each field, gold one object for each record"
    members = answer.items() if names.isdisjoint(answer) else ()
    return next((f"{text}, below its key {key[:40]!r}" for key, value in members if (text := _member_with(names, value))), "")


def _are_columns(gold: list[dict[str, Any]], answer: dict[str, Any], names: set[str]) -> bool:
    """Whether an object has a list, or an object, of one length for each of gold's fields, which are none of both themselves."""
    if names != answer.keys() or any(isinstance(cell, dict | list) for record in gold for cell in record.values()):
        return False
    return all(isinstance(column, dict | list) for column in answer.values()) and len(set(map(len, answer.values()))) == 1


def _member_with(names: set[str], value: Any) -> str:
    """How a member of an object contains these names of fields, if it contains all of them."""
    inner = value if isinstance(value, list) else [value]
    if inner and all(isinstance(record, dict) for record in inner) and names <= set().union(*inner):
        return "the answer has gold's fields one level deeper"
    are_values = all(isinstance(name, str) for name in inner) and names <= set(inner)
    return "the answer has the names of gold's fields as values" if are_values else ""
