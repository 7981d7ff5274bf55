"""One pair of values under one comparator: transforms, the comparator, and what its answer is worth.

What is not the reference's own is called by `foreign.call`: its failure is a `FaultError`, which leaves the record undecided.
"""

from collections.abc import Mapping
from typing import Any

from evalsuite import foreign
from evalsuite.trees.plan import Plan
from evalsuite.trees.results import ComparatorResult
from evalsuite.trees.transforms import TRANSFORMS

LONGEST_REASON = 200
# What the built-in transforms raise at a value that they cannot take.
_CANNOT_TAKE = (TypeError, ValueError, ArithmeticError)


def transformed(plan: Plan, value: Any) -> Any:
    """The value after the field's transforms, left to right. What a built-in one raises comes through; of another it is a `FaultError`."""
    for name, function, params in plan.transforms:
        value = _transform(name, function, value, params)
    return value


def try_transformed(plan: Plan, value: Any) -> tuple[Any, str]:
    """(value after the transforms, "") or (the value itself, why a built-in transform could not take it). Raises `FaultError`."""
    found = value
    for name, function, params in plan.transforms:
        try:
            found = _transform(name, function, found, params)
        except _CANNOT_TAKE as error:
            return value, f"transform {name}: {error}"[:LONGEST_REASON]
    return found, ""


def _transform(name: str, function: Any, value: Any, params: Mapping[str, Any]) -> Any:
    if name in TRANSFORMS:
        return function(value, params)
    return foreign.call(f"transform {name}", function, value, params)


def compare(plan: Plan, gold: Any, extracted: Any) -> ComparatorResult:
    """The comparator's answer with its score in [0, 1]. Raises `FaultError` where one that is not the reference's own fails."""
    function = plan.compare
    assert function is not None
    if plan.is_own:
        result: ComparatorResult = function(gold, extracted, plan.params)
        return result
    what = f"comparator {plan.name}"
    return checked(what, foreign.call(what, function, gold, extracted, plan.params), plan.name)


def judge(plan: Plan, gold: Any, extracted: Any) -> ComparatorResult:
    """The same with the field's threshold applied."""
    result, threshold = compare(plan, gold, extracted), plan.threshold
    if threshold is None or not 0 < result.score < 1:
        return result
    reason = f"score {result.score:.3g} {'reaches' if result.score >= threshold else 'is below'} the threshold {threshold:g}"
    return ComparatorResult(float(result.score >= threshold), plan.name, reason, result.skip)


def checked(what: str, result: Any, name: str) -> ComparatorResult:
    """A comparator's answer as a result in [0, 1]; plain numbers and bools are scores. Raises `FaultError` for all else."""
    if not isinstance(result, ComparatorResult):
        return ComparatorResult(foreign.unit(what, result), name)
    return ComparatorResult(foreign.unit(what, result.score), result.comparator, result.reason, result.skip)
