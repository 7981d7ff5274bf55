"""Transforms prepare both values before they are compared: (value, params) -> value. Null passes through untouched."""

import re
from collections.abc import Callable, Mapping
from typing import Any

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
        return _boolean(value)
    convert = {"float": float, "int": int, "str": str}.get(target) if isinstance(target, str) else None
    if convert is None:
        raise ValueError(f"unknown target type {target!r}")
    try:
        return convert(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"cannot convert {type(value).__name__} to {target}") from error


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if type(value) is int and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and (found := _TRUTH.get(value.strip().lower())) is not None:
        return found
    raise TypeError(f"cannot convert {type(value).__name__} to bool")


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
