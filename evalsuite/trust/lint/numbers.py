"""Lint of number golds: what the tolerance swallows, and signs and percents that a rule does not see."""

from collections.abc import Iterator
from itertools import combinations

from evalsuite.texts.official_number import gold_numbers
from evalsuite.trust.lint.book import Found, Kind, Spot


def _numbers(spot: Spot) -> list[float]:
    if spot.check.scorer != "number_match":
        return []
    try:
        return gold_numbers(spot.check.parameters["gold"])
    except (ValueError, OverflowError, TypeError, KeyError):
        return []


def _tolerance(spot: Spot) -> float:
    precision = spot.check.parameters.get("precision", 4)
    return float(10.0**-precision) if isinstance(precision, int) and abs(precision) < 300 else 1e-4


def tolerance(spot: Spot) -> Iterator[Found]:
    """Numbers that the tolerance cannot tell from zero or from one another, and a tolerance of whole numbers."""
    numbers, tolerance = _numbers(spot), _tolerance(spot)
    for number in numbers:
        if 0 < abs(number) <= tolerance:
            message = f"gold {number:g} lies within the tolerance {tolerance:g} of 0: official takes a 0 for it"
            yield spot.found("number-near-zero", message, hint="raise precision")
    for one, other in combinations(sorted(set(numbers)), 2):
        if other - one <= tolerance:
            message = f"golds {one!r} and {other!r} lie within the tolerance {tolerance:g} of one another"
            yield spot.found("golds-in-tolerance", message, hint="keep one, or raise precision")
    if numbers and tolerance >= 1:
        precision = spot.check.parameters.get("precision")
        message = f"precision {precision} accepts anything within {tolerance:g} of gold"
        yield spot.found("coarse-precision", message, hint="precision counts decimal places")


def sign(spot: Spot) -> Iterator[Found]:
    """Negative golds: official reads no sign, so it never finds them."""
    for number in _numbers(spot):
        if number < 0:
            message = f"gold {number:g} is negative, and the official rules read no sign"
            yield spot.found("negative-number", message, hint="the strict rules do")


def percentage(spot: Spot) -> Iterator[Found]:
    """`percentage` where it changes nothing, asks too much, or takes a hundred times what is meant."""
    numbers = _numbers(spot)
    if not spot.check.parameters.get("percentage"):
        return
    if any(number == 0 for number in numbers):
        yield spot.found("percentage-zero", "percentage changes nothing for a gold of 0", hint="remove it")
    if spot.check.parameters.get("conj") == "and":
        message = "percentage with conj 'and' asks for each gold as share and as percent under the official rules"
        yield spot.found("percentage-and", message, hint="give the golds in one form and leave percentage out")
    big = next((number for number in numbers if abs(number) > 100), None)
    if big is not None:
        message = f"gold {big:g} is over 100: official takes {100 * big:g} for it too"
        yield spot.found("percentage-large", message, hint="is it a percentage at all?")


PER_CHECK = {
    "number-near-zero": Kind("warning", tolerance, "a number within the tolerance of 0: a 0 is right"),
    "golds-in-tolerance": Kind("warning", tolerance, "two golds within the tolerance of one another"),
    "coarse-precision": Kind("warning", tolerance, "a precision that accepts whole numbers beside gold"),
    "negative-number": Kind("note", sign, "a negative number, whose sign the official rules do not read"),
    "percentage-zero": Kind("warning", percentage, "`percentage` for a gold of 0"),
    "percentage-and": Kind("warning", percentage, "`percentage` with `conj: and` asks for both forms of each gold"),
    "percentage-large": Kind("warning", percentage, "`percentage` for a gold over 100"),
}
