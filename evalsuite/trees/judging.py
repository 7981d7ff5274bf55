"""One pair of values under one comparator: transforms, the comparator, and what its answer is worth."""

import math
from typing import Any

from evalsuite.trees.limits import TreeLimitError
from evalsuite.trees.plan import Plan
from evalsuite.trees.results import ComparatorResult

LONGEST_REASON = 200


def transformed(plan: Plan, value: Any) -> Any:
    """The value after the field's transforms, left to right; whatever they raise comes through."""
    for _, function, params in plan.transforms:
        value = function(value, params)
    return value


def try_transformed(plan: Plan, value: Any) -> tuple[Any, str]:
    """(value after the transforms, "") or (the value itself, why a transform could not take it)."""
    found = value
    for name, function, params in plan.transforms:
        try:
            found = function(found, params)
        except TreeLimitError:
            raise
        except Exception as error:  # a transform may be anybody's: its failure costs this row and is told there
            return value, f"transform {name}: {error}"[:LONGEST_REASON]
    return found, ""


def judge(plan: Plan, gold: Any, extracted: Any) -> ComparatorResult:
    """The comparator's answer with its score in [0, 1], the threshold applied; a failure is a 0 that says so."""
    assert plan.compare is not None
    try:
        result = plan.compare(gold, extracted, plan.params)
    except TreeLimitError:
        raise
    except Exception as error:  # a comparator may be anybody's: its failure costs this row and is told there
        return ComparatorResult(0.0, plan.name, f"comparator {plan.name}: {error}"[:LONGEST_REASON])
    return bounded(result, plan.name, plan.threshold)


def bounded(result: Any, name: str, threshold: float | None) -> ComparatorResult:
    """A comparator's answer as a result in [0, 1]: plain numbers and bools are taken as scores, others are a 0 that says so."""
    if not isinstance(result, ComparatorResult):
        if not isinstance(result, int | float):
            return ComparatorResult(0.0, name, f"comparator {name}: no result but {type(result).__name__}")
        result = ComparatorResult(float(result), name)
    checked: ComparatorResult = result
    score = checked.score
    if isinstance(score, bool) or not isinstance(score, int | float) or math.isnan(score):
        return ComparatorResult(0.0, name, f"comparator {name}: score {score!r}", result.skip)
    if not 0 <= score <= 1:
        return ComparatorResult(min(1.0, max(0.0, score)), name, f"comparator {name}: score {score} is outside [0, 1]", result.skip)
    if threshold is not None and 0 < score < 1:
        reason = f"score {score:.3g} {'reaches' if score >= threshold else 'is below'} the threshold {threshold:g}"
        return ComparatorResult(float(score >= threshold), name, reason, result.skip)
    return checked
