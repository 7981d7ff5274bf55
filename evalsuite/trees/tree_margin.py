"""How near a tree is to gold: the smallest tolerance of numbers under which it would be gold in every leaf."""

from decimal import Decimal
from math import inf
from typing import Any

from evalsuite.texts.numbers import as_margin, upward


def tree_margin(prediction: Any, gold: Any, id_field: str | None = None) -> float | None:
    """The tolerance, None where none is needed or none is enough: another key, length, type or text.

    Records with an id stand beside those of the same id, everything else beside what stands in its place.
    """
    sides = [_by_id(side, id_field) for side in (prediction, gold)]
    try:
        return as_margin(upward(_needed(*sides)))
    except (ArithmeticError, RecursionError, ValueError):
        return None


def _by_id(value: Any, id_field: str | None) -> Any:
    if id_field is None or not (isinstance(value, list) and all(isinstance(item, dict) and id_field in item for item in value)):
        return value
    return sorted(value, key=lambda item: str(item[id_field]))


def _needed(prediction: Any, gold: Any) -> Decimal:
    """The tolerance; infinite where none is enough."""
    if isinstance(gold, dict) and isinstance(prediction, dict) and gold.keys() == prediction.keys():
        return max((_needed(prediction[name], gold[name]) for name in gold), default=Decimal(0))
    if isinstance(gold, list) and isinstance(prediction, list) and len(gold) == len(prediction):
        return max((_needed(p, g) for p, g in zip(prediction, gold, strict=True)), default=Decimal(0))
    are_numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (gold, prediction))
    if are_numbers:
        return abs(Decimal(repr(gold)) - Decimal(repr(prediction)))
    return Decimal(0) if type(gold) is type(prediction) and gold == prediction else Decimal(inf)
