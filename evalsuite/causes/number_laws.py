"""The laws of wrong numbers: another sign or unit, off by one, rounded, by one factor, counted twice. See `laws` for the form of a law."""

from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any, Final

from evalsuite.causes.laws import NO, Fixed
from evalsuite.causes.value_pairs import Pair, decimals, nearly, plain, write_number

FEWEST_FACTOR_ROWS: Final = 3
# How often a join that fans out counts a row.
MOST_COPIES: Final = 12
# More digits than these no rate has; a factor of more is told by its size alone.
MOST_RATE_DIGITS: Final = 5
_SMALLEST: Final = Decimal("1e-6")
UNITS: Final = {
    "1000": "thousands", "1000000": "millions", "1000000000": "billions", "60": "minutes against hours or seconds",
    "3600": "seconds against hours", "24": "hours against days", "86400": "seconds against days", "1440": "minutes against days",
    "1024": "KiB", "1048576": "MiB", "1.609344": "miles against km",
}  # fmt: skip


def sign(pair: Pair) -> Any:
    """Gold's number with the opposite sign, rounded or not."""
    gold, predicted = pair.gold_number, pair.predicted_number
    if gold is None or predicted is None or not predicted:
        return NO
    if nearly(gold, -predicted):
        return write_number(-predicted, pair.predicted)
    return pair.gold if len(predicted.as_tuple().digits) >= 2 and _rounds(gold, -predicted, at_tens=False) else NO


def scaled_by(factors: Sequence[str]) -> Callable[[Sequence[Pair]], Fixed | None]:
    """A law by which every prediction is gold times one of the factors, or divided by it."""

    def fix(pairs: Sequence[Pair]) -> Fixed | None:
        numbers = []
        for pair in pairs:
            gold, predicted = pair.gold_number, pair.predicted_number
            if not gold or not predicted:
                return None
            numbers.append((gold, predicted))
        for text in factors if numbers else ():
            for factor, word in ((Decimal(text), "times"), (1 / Decimal(text), "divided by")):
                values = []
                for pair, (gold, predicted) in zip(pairs, numbers, strict=True):
                    if nearly(predicted, gold * factor):
                        values.append(write_number(predicted / factor, pair.predicted))
                    # A share shown as percent is often rounded too.
                    elif len(predicted.as_tuple().digits) >= 2 and _rounds(gold * factor, predicted, at_tens=False):
                        values.append(pair.gold)
                    else:
                        break
                if len(values) == len(pairs):
                    unit = f" ({UNITS[text]})" if text in UNITS else ""
                    return Fixed(tuple(values), f"the numbers are gold's {word} {text}{unit}")
        return None

    return fix


def constant_factor(pairs: Sequence[Pair]) -> Fixed | None:
    """One factor for at least three different gold values, with fewer there always is one; exact, or a rate with rounding after it."""
    numbers = [(g, p) for pair in pairs if (g := pair.gold_number) and (p := pair.predicted_number)]
    if len(numbers) < len(pairs) or len({g for g, _ in numbers}) < FEWEST_FACTOR_ROWS:
        return None
    factor = numbers[0][1] / numbers[0][0]
    if all(nearly(p / g, factor) for g, p in numbers):
        if nearly(abs(factor), Decimal(1)):
            return None
        values = tuple(write_number(p / factor, pair.predicted) for (_, p), pair in zip(numbers, pairs, strict=True))
        return Fixed(values, "all numbers are off by one factor", f"gold's times {float(factor):.6g}")
    places = max(decimals(p) for _, p in numbers)
    rate = _rate(numbers, Decimal("0.5").scaleb(-places))
    words = f"all numbers are off by one factor and rounded to {places} decimal{'' if places == 1 else 's'}"
    # What is within the rounding is gold's number.
    return Fixed(tuple(pair.gold for pair in pairs), words, f"gold's {rate}") if rate else None


def _rate(numbers: Sequence[tuple[Decimal, Decimal]], half: Decimal) -> str:
    """`times 1.08` or `divided by 1.19`: the factor of fewest digits that makes each prediction to within `half`; empty for none."""
    sides = [sorted(((p - half) / g, (p + half) / g)) for g, p in numbers]
    low, high = max(side[0] for side in sides), min(side[1] for side in sides)
    if low > high or any(low <= plain_one <= high for plain_one in (1, 0, -1)) or not _SMALLEST < abs(low) < 1 / _SMALLEST:
        return ""
    for places in range(MOST_RATE_DIGITS):
        for word, least, most in (("times", low, high), ("divided by", 1 / high, 1 / low)):
            rate = least.quantize(Decimal(1).scaleb(-places), ROUND_CEILING)
            if least <= rate <= most and len(rate.normalize().as_tuple().digits) <= MOST_RATE_DIGITS:
                return f"{word} {plain(rate)}"
    return ""


def fan_out(pairs: Sequence[Pair]) -> Fixed | None:
    """Each number a whole number of times gold's: sums and counts over rows that a join has repeated."""
    values, copies = [], set()
    for pair in pairs:
        gold, predicted = pair.gold_number, pair.predicted_number
        if not gold or not predicted:
            return None
        times = round(predicted / gold)
        if not 2 <= times <= MOST_COPIES or not nearly(predicted, gold * times):
            return None
        copies.add(times)
        values.append(write_number(predicted / times, pair.predicted))
    words = f"{min(copies)}" if len(copies) == 1 else f"{min(copies)} to {max(copies)}"
    return Fixed(tuple(values), f"the numbers are {words} times gold's, as over rows that a join repeats")


def off_by_one(pairs: Sequence[Pair]) -> Fixed | None:
    """Whole numbers, all one too large or all one too small."""
    shifts = set()
    for pair in pairs:
        gold, predicted = pair.gold_number, pair.predicted_number
        if gold is None or predicted is None or gold != gold.to_integral_value():
            return None
        shifts.add(predicted - gold)
    if shifts not in ({Decimal(1)}, {Decimal(-1)}):
        return None
    shift = shifts.pop()
    values = tuple(write_number((pair.predicted_number or 0) - shift, pair.predicted) for pair in pairs)
    return Fixed(values, f"the numbers are one too {'large' if shift > 0 else 'small'}")


def rounding(pairs: Sequence[Pair]) -> Fixed | None:
    """Gold's numbers rounded, or cut off, where the predictions end."""
    places = set()
    for pair in pairs:
        gold, predicted = pair.gold_number, pair.predicted_number
        if gold is None or predicted is None or gold == predicted or not _rounds(gold, predicted):
            return None
        places.add(decimals(predicted))
    most = max(places)
    words = f"{most} decimal{'' if most == 1 else 's'}" if most else "whole numbers"
    zero = "" if any(pair.predicted_number for pair in pairs) else ", which leaves nothing but 0"
    return Fixed(tuple(pair.gold for pair in pairs), f"the numbers are rounded or cut to {words}{zero}")


def _rounds(gold: Decimal, predicted: Decimal, *, at_tens: bool = True) -> bool:
    """Whether the prediction is gold rounded, or cut off, where the prediction ends; whole numbers also at tens to thousands."""
    shown = decimals(predicted)
    # A float has no zeros at its end of its own: 13.0 was rounded to 13.
    kept = decimals(predicted.normalize())
    exponents = [-shown, *([-kept] if kept < shown else [])] if kept else [-shown, 0, *((1, 2, 3) if at_tens else ())]
    try:
        return any(
            gold.quantize(Decimal(1).scaleb(exponent), way) == predicted
            for exponent in exponents
            for way in (ROUND_HALF_UP, ROUND_HALF_EVEN, ROUND_DOWN)
        )
    except InvalidOperation:
        return False
