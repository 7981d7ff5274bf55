"""When a number is the gold number, as a careful judge reads both: by its value and by the decimals it shows.

Gold g and prediction p; a number shows the digits behind its point, zeros counted (an exponent shifts them). In this order:

1. Equal values are equal.
2. A gold of 0 takes what cancellation leaves (1e-9); nothing else is 0.
3. Two whole numbers are equal as such, `12.0` too, unless both are one double beyond 2^53 and one of them is written as a double.
4. A gold written as an integer takes only float noise.
5. Any other gold takes `noise`, what sums of doubles lose, and the rounding of one side to the decimals the other shows: at least 2,
   because zeros may have been dropped (`64.2` is `64.20`), and at least 2 digits that count, so that rounding stays below 5 %.

A tolerance of the check's own stands in the place of 3 to 5. Nothing here knows how numbers are held; `big.numbers` says the same of
whole columns of floats.
"""

from dataclasses import dataclass
from decimal import ROUND_UP, Context, Decimal
from functools import cache
from math import inf, nextafter
from typing import Final, NamedTuple

ZERO_TOL: Final = 1e-9
NOISE_REL: Final = 1e-9
NOISE_FLOOR: Final = 0.005
NOISE_BEYOND: Final = 1e-12
FEWEST_DECIMALS: Final = 2
FIRST_INEXACT: Final = 1 << 53

# Floats decide alone only beyond this share of gold from an edge; exact arithmetic decides the rest.
_FLOAT_ERROR: Final = 1e-15
# Rounding moves a number by less than this share of itself, for at least two of its digits count.
_MOST_ROUNDED: Final = 0.053
# What is only bounded is bounded generously, beyond all rounding of floats.
SLACK: Final = 1 + 1e-6
# A distance with more digits than a decimal keeps is never called shorter than it is: 1e-400 is more than 1 away from -1.
_AWAY: Final = Context(rounding=ROUND_UP)


class Number(NamedTuple):
    """A number written with a point or an exponent: its exact value, the value as a float, and how many decimals it shows."""

    exact: Decimal
    value: float
    decimals: int


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How near a number must be to gold: within `rel` of gold or within `abs` where a check sets its `own`, else by this module's rules."""

    rel: float = 0.0
    abs: float = 0.0
    own: bool = False


def number_of(exact: Decimal) -> Number:
    """The number behind a finite decimal, which shows as many decimals as were written; its float may be infinite."""
    exponent = exact.as_tuple().exponent
    assert isinstance(exponent, int)
    return Number(exact, float(exact), max(0, -exponent))


def exact_of(number: int | Number) -> Decimal:
    """The exact value."""
    return number.exact if isinstance(number, Number) else Decimal(number)


def float_of(number: int | Number) -> float | None:
    """The value as a float, None for an integer that is too large for one."""
    if isinstance(number, Number):
        return number.value
    try:
        return float(number)
    except OverflowError:
        return None


def numbers_equal(gold: int | Number, predicted: int | Number, tolerance: Tolerance) -> bool:
    """Whether the predicted number is the gold number."""
    if tolerance.own:
        g, p = exact_of(gold), exact_of(predicted)
        distance = _apart(g, p)
        return within(distance, g, tolerance) or (g == 0 and distance <= _decimal(ZERO_TOL))
    if isinstance(gold, int) and isinstance(predicted, int):
        return gold == predicted
    quick = _by_floats(gold, predicted)
    if quick is not None:
        return quick
    return equal_but_for_noise(gold, predicted) or (isinstance(gold, Number) and is_rounding(gold, predicted))


def equal_but_for_noise(gold: int | Number, predicted: int | Number) -> bool:
    """Whether nothing but the noise of floats is between the numbers: rules 1 to 4, and 5 without its rounding."""
    g, p = exact_of(gold), exact_of(predicted)
    if g == p:
        return True
    distance = _apart(g, p)
    if g == 0 or p == 0:
        return g == 0 and distance <= _decimal(ZERO_TOL)
    if is_whole(gold) and is_whole(predicted):
        written_alike = isinstance(gold, int) and isinstance(predicted, int)
        value = float_of(gold)
        return abs(g) >= FIRST_INEXACT and not written_alike and value == float_of(predicted) and value not in (None, inf, -inf)
    if isinstance(gold, int):
        return distance <= min(_decimal(NOISE_REL) * abs(g), _decimal(NOISE_FLOOR))
    return distance <= noise(g)


def _apart(gold: Decimal, predicted: Decimal) -> Decimal:
    return _AWAY.abs(_AWAY.subtract(gold, predicted))


def noise(gold: Decimal) -> Decimal:
    """How far a sum of doubles may be from gold: a billionth of it, but never a cent of an ordinary amount."""
    size = abs(gold)
    return min(_decimal(NOISE_REL) * size, max(_decimal(NOISE_FLOOR), _decimal(NOISE_BEYOND) * size))


def within(distance: Decimal, gold: Decimal, tolerance: Tolerance) -> bool:
    """Whether a distance from gold is inside a check's own tolerance."""
    return distance <= _decimal(tolerance.abs) or distance <= _decimal(tolerance.rel) * abs(gold)


def is_rounding(gold: Number, predicted: int | Number) -> bool:
    """Whether the side that shows fewer decimals may be the rounding of the other; a tie may go either way."""
    shown = decimals_of(predicted)
    coarse = predicted if shown < gold.decimals else gold
    decimals = max(FEWEST_DECIMALS, min(shown, gold.decimals))
    return rounds(gold, predicted, decimals) and abs(exact_of(coarse)) >= Decimal(1).scaleb(1 - decimals)


def rounds(gold: int | Number, predicted: int | Number, decimals: int) -> bool:
    """Whether the numbers are no farther apart than half of the last place of so many decimals."""
    return _apart(exact_of(gold), exact_of(predicted)) <= half_unit(decimals)


def decimals_of(number: int | Number) -> int:
    """How many decimals the number shows."""
    return number.decimals if isinstance(number, Number) else 0


def is_whole(number: int | Number) -> bool:
    """Whether the number is an integer by its value, however it is written."""
    return isinstance(number, int) or number.exact == number.exact.to_integral_value()


@cache
def half_unit(decimals: int) -> Decimal:
    """Half of the last place that so many decimals show."""
    return Decimal("0.5").scaleb(-decimals)


def reach(predicted: int | Number, tolerance: Tolerance, coarsest: int | None) -> float | None:
    """How far a gold number may be from a predicted one at most; None for one that no float can hold.

    `coarsest` are the fewest decimals among gold's numbers, None where all of them are integers.
    """
    value = float_of(predicted)
    if value is None:
        return None
    size = abs(value)
    zero = ZERO_TOL if size <= ZERO_TOL * SLACK else 0.0
    if tolerance.own:
        if tolerance.rel >= 1:
            return inf
        return max(size * (tolerance.rel / (1 - tolerance.rel)), tolerance.abs, zero) * SLACK
    # The noise is gold's; gold is at most so much larger than the prediction.
    size *= 1.1
    if coarsest is None:
        return max(min(NOISE_REL * size, NOISE_FLOOR), _FLOAT_ERROR * size, zero) * SLACK
    rounded = min(0.5 * 10.0 ** -max(FEWEST_DECIMALS, min(decimals_of(predicted), coarsest)), _MOST_ROUNDED * size)
    return max(min(NOISE_REL * size, max(NOISE_FLOOR, NOISE_BEYOND * size)), rounded, zero) * SLACK


def _by_floats(gold: int | Number, predicted: int | Number) -> bool | None:
    """The verdict where floats alone are sure of it."""
    a, b = float_of(gold), float_of(predicted)
    if a is None or b is None:
        return None
    distance, size = abs(a - b), abs(a)
    if distance > 2 * NOISE_FLOOR + 2 * NOISE_BEYOND * size:
        return False
    inside = distance + _FLOAT_ERROR * size < min(NOISE_REL * size, NOISE_FLOOR)
    return True if inside and a and b and not (a.is_integer() and b.is_integer()) else None


@cache
def _decimal(share: float) -> Decimal:
    return Decimal(repr(share))


def as_margin(needed: float) -> float | None:
    """A tolerance as `details.margin` gives it: None where the verdict turns under none."""
    return needed if 0 < needed < inf else None


def upward(distance: Decimal) -> float:
    """The float nearest to a distance that is not below it."""
    found = float(distance)
    return found if Decimal(repr(found)) >= distance else nextafter(found, inf)
