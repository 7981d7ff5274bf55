"""The comparators every schema may name: exact, numeric, oneof, each with the sound meaning and the reference's.

A comparator takes (gold, extracted, params) and returns a `ComparatorResult`. The reference's meaning differs in: lists and objects are
compared loosely (`exact`), gold inf, bools, "1_0" and huge integers (`numeric`), gold is not looked at (`oneof`).
"""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from evalsuite.trees.field_results import ComparatorResult
from evalsuite.trees.json_values import loosely_same, same
from evalsuite.trees.more_comparators import CHECKS as MORE_CHECKS
from evalsuite.trees.more_comparators import SHIPPED

Params = Mapping[str, Any]
Compare = Callable[[Any, Any, Params], ComparatorResult]

_EXACT = ComparatorResult(1.0, "exact")
_NOT_EXACT = ComparatorResult(0.0, "exact", "mismatch")
_NEAR = ComparatorResult(1.0, "numeric")
_NO_NUMBER = ComparatorResult(0.0, "numeric", "type_error")
_DIFFERENT = ComparatorResult(0.0, "numeric", "values differ without tolerance")
_LARGEST_EXACT = 2**53


def exact(gold: Any, extracted: Any, _: Params) -> ComparatorResult:
    """1 where both have one type and are equal down to every leaf; null equals null, NaN nothing."""
    return _EXACT if same(gold, extracted) else _NOT_EXACT


def compat_exact(gold: Any, extracted: Any, _: Params) -> ComparatorResult:
    """1 where both have one type and are equal by Python's `==`, so [1] equals [true]."""
    return _EXACT if loosely_same(gold, extracted) else _NOT_EXACT


def numeric(gold: Any, extracted: Any, params: Params) -> ComparatorResult:
    """1 where both are numbers (or texts of one) within `tolerance`: `rel` of gold, `abs`, or both; without one, equal.

    null matches null, NaN matches NaN, inf only the inf of the same sign. Integers are compared exactly, however large. A bool and a
    text like "1_000" are no numbers (`type_error`).
    """
    if gold is None and extracted is None:
        return _NEAR
    if not params and gold == extracted and type(gold) is type(extracted) and type(gold) in (float, int):
        return _NEAR
    g, e = _number(gold), _number(extracted)
    if g is None or e is None:
        return _NO_NUMBER
    if (isinstance(g, float) and isinstance(e, float)) or (_small(g) and _small(e)):
        return _within(float(g), float(e), params)
    return _within_exactly(g, e, params)


def _number(value: Any) -> int | float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    if isinstance(value, str) and "_" not in value:
        try:
            return float(value)
        except ValueError:
            return None
    return None


def _small(value: int | float) -> bool:
    return -_LARGEST_EXACT <= value <= _LARGEST_EXACT


def _within(g: float, e: float, params: Params) -> ComparatorResult:
    if math.isnan(g) or math.isnan(e):
        return _NEAR if math.isnan(g) and math.isnan(e) else _NO_NUMBER
    if math.isinf(g) or math.isinf(e):
        return _NEAR if g == e else ComparatorResult(0.0, "numeric", "only inf of the same sign equals inf")
    return _tolerated(g, e, params)


def _within_exactly(g: int | float, e: int | float, params: Params) -> ComparatorResult:
    if not all(isinstance(value, int) or math.isfinite(value) for value in (g, e)):
        return _NO_NUMBER if g != g or e != e else ComparatorResult(0.0, "numeric", "only inf of the same sign equals inf")
    return _tolerated(Fraction(g), Fraction(e), params)


def _tolerated(g: Any, e: Any, params: Params) -> ComparatorResult:
    """The verdict on two finite numbers; bounds are inclusive and both must hold."""
    tolerance = params.get("tolerance") or {}
    relative, absolute = tolerance.get("rel"), tolerance.get("abs")
    if relative is None and absolute is None:
        return _NEAR if g == e else _DIFFERENT
    if relative is not None and not abs(g - e) / (abs(g) if g else 1) <= relative:
        return ComparatorResult(0.0, "numeric", f"relative error exceeds {relative}")
    if absolute is not None and not abs(g - e) <= absolute:
        return ComparatorResult(0.0, "numeric", f"absolute error exceeds {absolute}")
    return _NEAR


def compat_numeric(gold: Any, extracted: Any, params: Params) -> ComparatorResult:
    """The reference's numeric: Python's float() of anything, so that "1_0", true and gold inf pass, and 10**400 raises."""
    if gold is None or extracted is None:
        return _NEAR if gold is extracted else _NO_NUMBER
    try:
        g, e = float(gold), float(extracted)
    except (TypeError, ValueError):
        return _NO_NUMBER
    if math.isnan(g) or math.isnan(e):
        return _NEAR if math.isnan(g) and math.isnan(e) else _NO_NUMBER
    tolerance = params.get("tolerance") or {}
    relative, absolute = tolerance.get("rel"), tolerance.get("abs")
    if relative is None and absolute is None:
        return _NEAR if g == e else _DIFFERENT
    if relative is not None and abs(g - e) / (abs(g) if g else 1.0) > relative:
        return ComparatorResult(0.0, "numeric", f"relative error exceeds {relative}")
    if absolute is not None and abs(g - e) > absolute:
        return ComparatorResult(0.0, "numeric", f"absolute error exceeds {absolute}")
    return _NEAR


def oneof(gold: Any, extracted: Any, params: Params) -> ComparatorResult:
    """1 where gold and extracted are both listed in `values` and are equal or stand in one group.

    A group is a list in `groups`, or a list among `values`: {"values": ["CVD", ["PVD", "sputtering"]]} takes sputtering for PVD.
    """
    values = params.get("values") or []
    groups = [*(params.get("groups") or []), *(value for value in values if isinstance(value, list))]
    listed = [*values, *(value for group in groups for value in group)]
    if not any(same(gold, value) for value in listed):
        return ComparatorResult(0.0, "oneof", "gold not in values")
    together = same(gold, extracted) or any(_holds(group, gold) and _holds(group, extracted) for group in groups)
    if together:
        return ComparatorResult(1.0, "oneof")
    return ComparatorResult(0.0, "oneof", "no match in values")


def _holds(group: list[Any], value: Any) -> bool:
    return any(same(value, item) for item in group)


def compat_oneof(_: Any, extracted: Any, params: Params) -> ComparatorResult:
    """The reference's oneof: 1 where extracted is in `values` by Python's `in`; gold is not looked at."""
    values = params.get("values")
    if not isinstance(values, list):
        raise TypeError(f"oneof needs a list 'values', got {type(values).__name__}")
    return ComparatorResult(1.0, "oneof") if extracted in values else ComparatorResult(0.0, "oneof", "no match in values")


def _check_numeric(params: Params) -> str | None:
    tolerance = params.get("tolerance")
    if tolerance is None:
        return None
    if not isinstance(tolerance, dict):
        return "numeric: 'tolerance' must be an object with 'abs' or 'rel'"
    for key in ("abs", "rel"):
        bound = tolerance.get(key)
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int | float)):
            return f"numeric: tolerance {key!r} must be a number"
    return None


def _check_oneof(params: Params) -> str | None:
    groups = params.get("groups", [])
    if not isinstance(groups, list) or not all(isinstance(group, list) for group in groups):
        return "oneof: 'groups' must be a list of lists"
    if not isinstance(params.get("values"), list) and not groups:
        return "oneof needs a list 'values'"
    return None


PROTECTED = ("exact", "numeric", "oneof")
BUILTIN: dict[str, Compare] = {"exact": exact, "numeric": numeric, "oneof": oneof}
COMPAT: dict[str, Compare] = {"exact": compat_exact, "numeric": compat_numeric, "oneof": compat_oneof}
CHECKS: dict[str, Callable[[Params], str | None]] = {"numeric": _check_numeric, "oneof": _check_oneof, **MORE_CHECKS}

__all__ = ["BUILTIN", "CHECKS", "COMPAT", "PROTECTED", "SHIPPED", "Compare", "Params"]
