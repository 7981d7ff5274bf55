"""Name -> comparator or transform: the built-in tables, what a process registered, and what one run adds."""

import difflib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from evalsuite.registry.plugins import PART_MODULES
from evalsuite.trees.comparators import BUILTIN, COMPAT, PROTECTED, SHIPPED

Params = Mapping[str, Any]
_TRUTH = {"0": False, "1": True, "true": True, "false": False}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"string required, got {type(value).__name__}")
    return value


def lowercase(value: Any, _: Params) -> Any:
    """The text in lower case."""
    return None if value is None else _text(value).lower()


def strip(value: Any, _: Params) -> Any:
    """The text without white space at its ends."""
    return None if value is None else _text(value).strip()


def normalize_whitespace(value: Any, _: Params) -> Any:
    """The text with every run of white space as one blank, trimmed."""
    return None if value is None else re.sub(r"\s+", " ", _text(value)).strip()


def sort_tokens(value: Any, _: Params) -> Any:
    """The text's words in code point order."""
    return None if value is None else " ".join(sorted(_text(value).split()))


def round_digits(value: Any, params: Params) -> Any:
    """The number rounded to `digits` decimals, halves to the even neighbour."""
    if value is None:
        return None
    if not isinstance(value, int | float):
        raise TypeError(f"number required, got {type(value).__name__}")
    if "digits" not in params:
        raise TypeError("'digits' is missing")
    return round(value, int(params["digits"]))


def type_convert(value: Any, params: Params) -> Any:
    """The value as `to`: float, int, str or bool, by Python's conversion; bool takes bools, 0, 1 and their texts only."""
    if value is None:
        return None
    if "to" not in params:
        raise TypeError("'to' is missing")
    target = params["to"]
    if target == "bool":
        if isinstance(value, bool):
            return value
        if type(value) is int and value in (0, 1):
            return bool(value)
        if isinstance(value, str) and (found := _TRUTH.get(value.strip().lower())) is not None:
            return found
        raise TypeError(f"cannot convert {type(value).__name__} to bool")
    convert = {"float": float, "int": int, "str": str}.get(target) if isinstance(target, str) else None
    if convert is None:
        raise ValueError(f"unknown target type {target!r}")
    try:
        return convert(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"cannot convert {type(value).__name__} to {target}") from error


def check_transform(name: str, params: Params) -> str | None:
    """What is wrong with a built-in transform's parameters, None where nothing is."""
    if name == "round_digits" and (not isinstance(params.get("digits"), int) or isinstance(params.get("digits"), bool)):
        return "round_digits needs an integer 'digits'"
    if name == "type_convert" and params.get("to") not in ("float", "int", "str", "bool"):
        return "type_convert needs 'to': float, int, str or bool"
    return None


TRANSFORMS: dict[str, Callable[[Any, Params], Any]] = {
    "lowercase": lowercase,
    "strip": strip,
    "normalize_whitespace": normalize_whitespace,
    "sort_tokens": sort_tokens,
    "round_digits": round_digits,
    "type_convert": type_convert,
}


Kind = Literal["comparator", "batch", "transform", "post_process"]

_comparators: dict[str, Callable[..., Any]] = {}
_transforms: dict[str, Callable[..., Any]] = {}
_post_processors: dict[str, Callable[..., Any]] = {}
_batch: set[str] = set()


class UnknownNameError(KeyError):
    """A comparator or transform that no table knows; the text names the nearest one."""

    def __str__(self) -> str:
        return str(self.args[0])


def register(name: str, function: Callable[..., Any], *, overwrite: bool = False, kind: Kind = "comparator") -> None:
    """Make a comparator, batch comparator, transform or post-processor known to this process under `name`.

    A comparator takes (gold, extracted, params) and returns a `ComparatorResult`; a batch comparator (`kind="batch"`, or an object whose
    `is_batch` is True) takes the list of a record's `BatchItem`; a transform takes (value, params); a post-processor takes and
    returns the list of a record's rows. The names exact, numeric, oneof and
    those of the built-in transforms cannot be taken; the other shipped comparators (date, regex, ...) may be replaced.

    Raises:
        TypeError: `function` is not callable.
        ValueError: the name is built in, or taken and `overwrite` is False.
    """
    if not callable(function):
        raise TypeError(f"{kind} {name!r} must be callable, got {type(function).__name__}")
    table, protected = _table_of(kind)
    if name in protected:
        raise ValueError(f"{name!r} is built in and cannot be replaced")
    if name in table and not overwrite:
        raise ValueError(f"{kind} {name!r} is already registered; pass overwrite=True to replace it")
    table[name] = function
    # A plugin file that registers something needs no scorer of its own.
    PART_MODULES.add(sys._getframe(1).f_globals.get("__name__", ""))
    if kind in ("comparator", "batch"):
        (_batch.add if kind == "batch" else _batch.discard)(name)


def unregister(name: str, *, kind: Kind = "comparator") -> None:
    """Forget a registered name; one that is not registered is no error."""
    _table_of(kind)[0].pop(name, None)
    if kind in ("comparator", "batch"):
        _batch.discard(name)


def _table_of(kind: Kind) -> tuple[dict[str, Callable[..., Any]], tuple[str, ...]]:
    """(the names of a kind, those that cannot be taken)."""
    if kind == "transform":
        return _transforms, tuple(TRANSFORMS)
    if kind == "post_process":
        return _post_processors, ("reclassify_nulls", "propagate_batch_errors")
    return _comparators, PROTECTED


def post_processor(name: str) -> Callable[..., Any] | None:
    """The post-processor that somebody registered under a name, None where nobody did."""
    return _post_processors.get(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """The names of one run: its own come first, then the process's, then the built-in ones of its mode."""

    compat: bool = False
    comparators: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    transforms: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        taken = [name for name in self.comparators if name in PROTECTED] + [name for name in self.transforms if name in TRANSFORMS]
        if taken:
            raise ValueError(f"{taken[0]!r} is built in and cannot be replaced")

    def comparator(self, name: str) -> Callable[..., Any]:
        """The comparator of that name.

        Raises:
            UnknownNameError: nobody registered it.
        """
        for table in (self.comparators, _comparators, COMPAT if self.compat else BUILTIN, SHIPPED):
            if name in table:
                return table[name]
        raise UnknownNameError(f"Unknown comparator: {name!r}" + _near(name, {*self.comparators, *_comparators, *BUILTIN, *SHIPPED}))

    def transform(self, name: str) -> Callable[..., Any]:
        """The transform of that name.

        Raises:
            UnknownNameError: nobody registered it.
        """
        for table in (self.transforms, _transforms, TRANSFORMS):
            if name in table:
                return table[name]
        raise UnknownNameError(f"Unknown transform: {name!r}" + _near(name, {*self.transforms, *_transforms, *TRANSFORMS}))

    def is_batch(self, name: str) -> bool:
        """Whether a comparator gets all rows of a record at once."""
        return (name in _batch and name not in self.comparators) or getattr(self.comparator(name), "is_batch", False) is True


def _near(name: str, known: set[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""
