"""The strict table rule, written out plainly: the model `matching.table_strict` is held to.

Every way to give each needed gold column a predicted column of its own, every order of the rows; no clusters, no flow.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import Any

NULLS = {"", "na", "n/a", "#na", "#n/a", "<na>", "null", "none", "nan"}


def score_tables(
    gold: Sequence[Sequence[str | None]],
    predicted: Sequence[Sequence[str | None]],
    ordered: bool,
    abs_tol: float | None = None,
    rel_tol: float | None = None,
) -> int:
    """1 or 0 for needed gold columns against predicted ones, both as lists of text cells; tolerances as a check may set them."""
    n_gold, n_predicted = (len(side[0]) if side else 0 for side in (gold, predicted))
    if len(predicted) < len(gold) or n_gold != n_predicted:
        return 0
    gold_rows = list(zip(*gold, strict=True))
    for chosen in permutations(range(len(predicted)), len(gold)):
        predicted_rows = list(zip(*(predicted[k] for k in chosen), strict=True))
        orders = [tuple(range(n_gold))] if ordered else permutations(range(n_gold))
        fits = [[all(cells_equal(a, b, abs_tol, rel_tol) for a, b in zip(g, p, strict=True)) for p in predicted_rows] for g in gold_rows]
        if any(all(fits[row][order[row]] for row in range(n_gold)) for order in orders):
            return 1
    return 0


@lru_cache(maxsize=100_000)
def cells_equal(gold: str | None, predicted: str | None, abs_tol: float | None = None, rel_tol: float | None = None) -> bool:
    """Whether one text cell is the other, gold deciding how."""
    a, b = meaning(gold), meaning(predicted)
    if a is None or b is None:
        return a is b
    if not (is_number(a) and is_number(b)):
        return type(a) is type(b) and a == b
    distance = abs(a - b)
    if abs_tol is not None or rel_tol is not None:
        return distance <= exact(abs_tol or 0.0) or distance <= exact(rel_tol or 0.0) * abs(a)
    if not has_decimals(gold):
        return bool(distance == 0 if not has_decimals(predicted) else distance <= exact(1e-9) * abs(a))
    return distance <= exact(1e-4) * abs(a) or distance <= exact(1e-9) or rounded_alike(a, predicted or "")


def rounded_alike(gold: Fraction, predicted: str) -> bool:
    """Whether gold rounded to the decimals of the prediction is the prediction: at least 2 decimals, at least 2 digits that count."""
    mantissa, _, power = predicted.strip().lower().partition("e")
    digits = mantissa.lstrip("+-")
    decimals = len(digits.partition(".")[2]) - int(power or 0)
    value = meaning(predicted)
    if decimals < 2 or value == 0 or len(digits.replace(".", "").lstrip("0")) < 2:
        return False
    shifted = gold * 10**decimals
    return value * 10**decimals in (round(shifted), half_up(shifted))


def half_up(number: Fraction) -> int:
    """The nearest integer, halves away from zero."""
    return int(math.copysign(1, number)) * math.floor(abs(number) + Fraction(1, 2))


@lru_cache(maxsize=100_000)
def meaning(text: str | None) -> Any:
    """None, a Fraction, an infinity, an instant or a text."""
    text = unicodedata.normalize("NFC", (text or "").strip())
    if text.lower() in NULLS:
        return None
    if text.lower() in ("true", "false"):
        return Fraction(text.lower() == "true")
    if re.fullmatch(r"[+-]?(0|[1-9][0-9]*)", text) or re.fullmatch(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        return Fraction(text + ("0" if text.endswith(".") else ""))
    if re.fullmatch(r"[+-]?inf(inity)?", text.lower()):
        return float(text)
    if re.match(r"\d{4}-\d\d-\d\d", text):
        try:
            moment = datetime.fromisoformat(re.sub(r"\s?(UTC|Z)$", "+00:00", text))
        except ValueError:
            return text
        return moment if moment.tzinfo else moment.replace(tzinfo=timezone(timedelta(0)))
    return text


def is_number(value: Any) -> bool:
    """Whether a meaning is a finite number."""
    return isinstance(value, Fraction)


def has_decimals(text: str | None) -> bool:
    """Whether a number was written with a point or an exponent."""
    return any(sign in (text or "").lower() for sign in ".e") and (text or "").strip().lower() not in ("true", "false")


def exact(share: float) -> Fraction:
    """A tolerance as it is written."""
    return Fraction(repr(share))
