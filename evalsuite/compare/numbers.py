"""Compare numbers under the strict rules: by value and by the decimals that they show. `values` reads numbers from texts.

Two numbers, gold g and prediction p, are equal by these rules, in this order; a number shows the digits after its point, zeros included (an
exponent shifts them):

1. Equal values are equal.
2. A gold of 0 accepts what cancellation leaves (1e-9); nothing else is 0.
3. Two whole numbers are equal only by value, `12.0` too, unless both are one double beyond 2^53 and one of them is written as a double.
4. A gold written as an integer accepts only float noise.
5. Any other gold accepts `noise` (what sums of doubles lose) and the rounding of one side to the decimals that the other shows: at least 2,
   because zeros may have been dropped (`64.2` is `64.20`), and at least 2 significant digits, so that rounding stays below 5 %.

A tolerance of the check replaces rules 3 to 5. `number_columns` applies the same rules to whole columns of floats.
"""

import re
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, ROUND_UP, Context, Decimal
from functools import cache
from math import inf, nextafter
from typing import Final, NamedTuple

from evalsuite.core.dataclasses import dataclass
from evalsuite.core.import_ref import lazy_pattern

ZERO_TOL: Final = 1e-9
NOISE_REL: Final = 1e-9
NOISE_FLOOR: Final = 0.005
NOISE_BEYOND: Final = 1e-12
FEWEST_DECIMALS: Final = 2
FIRST_INEXACT: Final = 1 << 53
_MOST_DIGITS: Final = 400

# Rounding changes a number by less than this share of it, because at least two digits are significant.
_MOST_ROUNDED: Final = 0.053
# Upper bounds are generous: larger than the true bound by more than any float rounding.
SLACK: Final = 1 + 1e-6
# The difference of two numbers as floats, and a limit added to one, are wrong by less than this share of the larger number.
FLOAT_ERROR: Final = 1e-15
# A distance with more digits than a decimal keeps is never rounded down: 1e-400 is more than 1 away from -1.
_AWAY: Final = Context(rounding=ROUND_UP)
# Keeps every digit; of the usual context only 28 remain.
_EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


class Number(NamedTuple):
    """A number written with a point or an exponent: its exact value, the value as a float, and how many decimals it shows."""

    exact: Decimal
    value: float
    decimals: int


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How near a number must be to gold: within `rel` of gold or within `abs` if the check sets its `own`, else by this module's rules."""

    rel: float = 0.0
    abs: float = 0.0
    own: bool = False


def number_of(exact: Decimal) -> Number:
    """The number with the value of a finite decimal, showing as many decimals as were written; its float may be infinite."""
    exponent = exact.as_tuple().exponent
    assert isinstance(exponent, int)
    return Number(exact, float(exact), max(0, -exponent))


def exact_decimal(text: str) -> Decimal:
    """The decimal of a text with all its digits; 0 if it is nearer to 0 than any decimal. Raises ArithmeticError."""
    return _EXACT.create_decimal(text)


def shifted(exact: Decimal, places: int) -> Decimal:
    """The decimal with its point moved to the right and all its digits, unlike by its method `scaleb`."""
    return _EXACT.scaleb(exact, places)


def negated(exact: Decimal) -> Decimal:
    """The decimal with the other sign and all its digits."""
    return _EXACT.minus(exact)


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
    """Whether the predicted number equals the gold number."""
    if tolerance.own:
        g, p = exact_of(gold), exact_of(predicted)
        distance = _distance(g, p)
        return is_within(distance, g, tolerance) or (g == 0 and distance <= _decimal(ZERO_TOL))
    if isinstance(gold, int) and isinstance(predicted, int):
        return gold == predicted
    if are_far_apart(gold, predicted, NOISE_FLOOR):
        return False
    return equal_but_for_noise(gold, predicted) or (isinstance(gold, Number) and is_rounding(gold, predicted))


def equal_but_for_noise(gold: int | Number, predicted: int | Number) -> bool:
    """Whether the numbers differ by float noise only: rules 1 to 4, and 5 without its rounding."""
    g, p = exact_of(gold), exact_of(predicted)
    if g == p:
        return True
    distance = _distance(g, p)
    if g == 0 or p == 0:
        return g == 0 and distance <= _decimal(ZERO_TOL)
    if is_whole(gold) and is_whole(predicted):
        written_alike = isinstance(gold, int) and isinstance(predicted, int)
        value = float_of(gold)
        return abs(g) >= FIRST_INEXACT and not written_alike and value == float_of(predicted) and value not in (None, inf, -inf)
    if isinstance(gold, int):
        return distance <= min(_decimal(NOISE_REL) * abs(g), _decimal(NOISE_FLOOR))
    return distance <= noise(g)


def _distance(gold: Decimal, predicted: Decimal) -> Decimal:
    return _AWAY.abs(_AWAY.subtract(gold, predicted))


def noise(gold: Decimal) -> Decimal:
    """How far a sum of doubles may be from gold: a billionth of it, but never a cent of an ordinary amount."""
    size = abs(gold)
    return min(_decimal(NOISE_REL) * size, max(_decimal(NOISE_FLOOR), _decimal(NOISE_BEYOND) * size))


def is_within(distance: Decimal, gold: Decimal, tolerance: Tolerance) -> bool:
    """Whether a distance from gold is within the check's own tolerance."""
    return distance <= _decimal(tolerance.abs) or distance <= _decimal(tolerance.rel) * abs(gold)


def is_rounding(gold: Number, predicted: int | Number) -> bool:
    """Whether the side that shows fewer decimals may be the rounding of the other; a tie may round either way."""
    n_decimals = decimals_of(predicted)
    coarse = min(gold, predicted, key=decimals_of)
    decimals = max(FEWEST_DECIMALS, min(n_decimals, gold.decimals))
    return rounds(gold, predicted, decimals) and abs(exact_of(coarse)) >= shifted(Decimal(1), 1 - decimals)


def rounds(gold: int | Number, predicted: int | Number, decimals: int) -> bool:
    """Whether the numbers differ by at most half a unit of the last of so many decimals."""
    return _distance(exact_of(gold), exact_of(predicted)) <= half_unit(decimals)


def decimals_of(number: int | Number) -> int:
    """How many decimals the number shows."""
    return number.decimals if isinstance(number, Number) else 0


def is_whole(number: int | Number) -> bool:
    """Whether the number is an integer by its value, however it is written."""
    return isinstance(number, int) or number.exact == number.exact.to_integral_value()


@cache
def half_unit(decimals: int) -> Decimal:
    """Half a unit of the last of so many decimals."""
    return shifted(Decimal("0.5"), -decimals)


def reach(predicted: int | Number, tolerance: Tolerance, coarsest: int | None) -> float | None:
    """How far a gold number may be from a predicted one at most; None for one that no float can represent.

    `coarsest` are the fewest decimals among gold's numbers, None if all of them are integers.
    """
    value = float_of(predicted)
    if value is None:
        return None
    size = abs(value)
    if tolerance.own:
        if tolerance.rel >= 1:
            return inf
        return max(size * (tolerance.rel / (1 - tolerance.rel)), tolerance.abs, ZERO_TOL) * SLACK + FLOAT_ERROR * size
    # The floats of large numbers are not exact.
    size *= 1.1
    rounded = 0.0
    if coarsest is not None:
        rounded = min(0.5 * 10.0 ** -max(FEWEST_DECIMALS, min(decimals_of(predicted), coarsest)), _MOST_ROUNDED * size)
    return max(min(NOISE_REL * size, max(NOISE_FLOOR, NOISE_BEYOND * size)), rounded, ZERO_TOL) * SLACK + FLOAT_ERROR * size


def are_far_apart(gold: int | Number, predicted: int | Number, rounded: float) -> bool:
    """Whether the numbers as floats are farther from each other than any noise, and than a rounding of at most so much."""
    a, b = float_of(gold), float_of(predicted)
    return a is not None and b is not None and abs(a - b) > 2 * (rounded + NOISE_BEYOND * abs(a))


@cache
def _decimal(share: float) -> Decimal:
    return Decimal(repr(share))


def as_margin(needed: float) -> float | None:
    """A tolerance as `details.margin` reports it: None if no tolerance changes the verdict."""
    return needed if 0 < needed < inf else None


def upward(distance: Decimal) -> float:
    """The smallest float that is not below a distance."""
    number = float(distance)
    return number if Decimal(repr(number)) >= distance else nextafter(number, inf)


def as_number(exact: Decimal, *, is_plain: bool) -> int | Number:
    """The number; an integer if written as one, without point, exponent and percent sign. Raises ValueError for infinities."""
    if not exact.is_finite():
        raise ValueError("a number must be finite")
    return int(exact) if is_plain and exact.adjusted() < _MOST_DIGITS else number_of(exact)


# Numbers in words, which are read where a text has no digits; `one` is more often a pronoun, `the three` and `the top five` say no number.
_BELOW_TEN: Final = "zero one two three four five six seven eight nine"
_TEENS: Final = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TEN_WORDS: Final = "- - twenty thirty forty fifty sixty seventy eighty ninety"
_ONES, _TENS = f"{_BELOW_TEN} {_TEENS}".split(), _TEN_WORDS.split()
_NUMBER_WORD: Final = lazy_pattern(
    r"(?<![\w-])(?<!\bthe )(?<!\bthese )(?<!\bthose )(?<!\ball )(?<!\btop )(?<!\bfirst )(?<!\blast )(?<!\bother )(?<!\banother )"
    rf"(?:(?P<tens>{'|'.join(_TENS[2:])})(?:[- ](?P<ones>{'|'.join(_ONES[1:10])}))?|(?P<word>zero|{'|'.join(_ONES[2:])}))"
    r"(?![\w-]| hundred| dozen| and a| th)",
    re.IGNORECASE,
)


def digits_of_words(text: str) -> str:
    """The text with digits for the numbers below a hundred that it has in words."""
    return _NUMBER_WORD.sub(_write_digits, text)


def _write_digits(match: re.Match[str]) -> str:
    tens, ones = (match["tens"] or "-").lower(), (match["word"] or match["ones"] or "zero").lower()
    return f"{10 * _TENS.index(tens) + _ONES.index(ones)} "  # a point after it would make it the marker of a list
