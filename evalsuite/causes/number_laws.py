"""The laws of wrong numbers: another sign or unit, off by one, rounded, by one factor, counted twice. See `laws` for the form of a law."""

from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, Decimal
from typing import Final

from evalsuite.causes.laws import Fixed
from evalsuite.causes.lost_digits import lost_digits
from evalsuite.causes.value_pairs import Pair, decimals, nearly, plain, write_number

FEWEST_FACTOR_ROWS: Final = 3
# How often a join that fans out counts a row.
MOST_COPIES: Final = 12
# More digits than these no rate has; a factor of more is told by its size alone.
MOST_RATE_DIGITS: Final = 5
MOST_FACTOR_DIGITS: Final = 12
_SMALLEST: Final = Decimal("1e-6")
UNITS: Final = {
    "1000": "thousands", "1000000": "millions", "1000000000": "billions", "60": "minutes against hours or seconds",
    "3600": "seconds against hours", "24": "hours against days", "86400": "seconds against days", "1440": "minutes against days",
    "1024": "KiB", "1048576": "MiB", "1.609344": "miles against km",
}  # fmt: skip


def sign(pairs: Sequence[Pair]) -> Fixed | None:
    """Gold's numbers with the opposite sign, rounded or not."""
    found = _made(pairs, lambda gold: -gold)
    if found is None:
        return None
    return Fixed(tuple(pair.gold for pair in pairs), f"the sign is the opposite{found}")


def _made(pairs: Sequence[Pair], change: Callable[[Decimal], Decimal]) -> str | None:
    """How the predictions lost digits of changed gold (`, and ...`), empty where they are just that; None where they are something else."""
    exact, shown = list[Decimal](), list[Decimal]()
    for pair in pairs:
        gold, predicted = pair.gold_number, pair.predicted_number
        if not gold or not predicted:
            return None
        exact.append(change(gold))
        shown.append(predicted)
    if not exact or any(abs(a - b) > Decimal("0.1") * abs(a) for a, b in zip(exact, shown, strict=True)):
        return None
    if all(nearly(a, b) for a, b in zip(exact, shown, strict=True)):
        return ""
    # A number of one digit is too many numbers rounded.
    if any(len(b.as_tuple().digits) < 2 and not nearly(a, b) for a, b in zip(exact, shown, strict=True)):
        return None
    words = lost_digits(exact, shown, to_decimals=True)
    return f", and the numbers are {words}" if words else None


def scaled_by(factors: Sequence[str]) -> Callable[[Sequence[Pair]], Fixed | None]:
    """A law by which every prediction is gold times one of the factors, or divided by it.

    A share shown as percent is often rounded too; of many factors one or two rounded numbers always fit some.
    """

    def fix(pairs: Sequence[Pair]) -> Fixed | None:
        for text in factors:
            for factor, word in ((Decimal(text), "times"), (1 / Decimal(text), "divided by")):
                found = _made(pairs, lambda gold, factor=factor: gold * factor)  # type: ignore[misc]
                if found == "" or (found and (len(factors) == 1 or len(pairs) >= FEWEST_FACTOR_ROWS)):
                    unit = f" ({UNITS[text]})" if text in UNITS else ""
                    return Fixed(tuple(pair.gold for pair in pairs), f"the numbers are gold's {word} {text}{unit}{found}")
        return None

    return fix


def constant_factor(pairs: Sequence[Pair]) -> Fixed | None:
    """One factor for at least three different gold values, with fewer there always is one; exact, or a rate with rounding after it."""
    numbers = [(g, p) for pair in pairs if (g := pair.gold_number) and (p := pair.predicted_number)]
    if len(numbers) < len(pairs) or len({g for g, _ in numbers}) < FEWEST_FACTOR_ROWS:
        return None
    golds, factor = tuple(pair.gold for pair in pairs), numbers[0][1] / numbers[0][0]
    if all(nearly(p / g, factor) for g, p in numbers):
        if nearly(abs(factor), Decimal(1)):
            return None
        return Fixed(golds, "all numbers are off by one factor", f"gold's {_exact_rate(numbers, factor)}")
    places = max(decimals(p.normalize()) for _, p in numbers)
    rate = _rate(numbers, Decimal("0.5").scaleb(-places))
    if rate is None:
        return None
    words, value = rate
    lost = lost_digits([g * value if words == "times" else g / value for g, _ in numbers], [p for _, p in numbers], to_decimals=True)
    return Fixed(golds, f"all numbers are off by one factor and {lost}", f"gold's {words} {plain(value)}") if lost else None


def _exact_rate(numbers: Sequence[tuple[Decimal, Decimal]], factor: Decimal) -> str:
    """`times 1.08` or `divided by 1.19`: the factor of fewest digits that gives each prediction, but for the noise of floats."""
    for places in range(MOST_FACTOR_DIGITS):
        for words, exact in (("times", factor), ("divided by", 1 / factor)):
            rate = exact.quantize(Decimal(1).scaleb(-places))
            if rate and all(nearly(g * rate if words == "times" else g / rate, p) for g, p in numbers):
                return f"{words} {plain(rate)}"
    return f"times {plain(factor)}"


def _rate(numbers: Sequence[tuple[Decimal, Decimal]], half: Decimal) -> tuple[str, Decimal] | None:
    """`times` or `divided by` and the factor of fewest digits that makes each prediction to within `half`; None where there is none."""
    sides = [sorted(((p - half) / g, (p + half) / g)) for g, p in numbers]
    low, high = max(side[0] for side in sides), min(side[1] for side in sides)
    if low > high or any(low <= plain_one <= high for plain_one in (1, 0, -1)) or not _SMALLEST < abs(low) < 1 / _SMALLEST:
        return None
    for places in range(MOST_RATE_DIGITS):
        for word, least, most in (("times", low, high), ("divided by", 1 / high, 1 / low)):
            rate = least.quantize(Decimal(1).scaleb(-places), ROUND_CEILING)
            if least <= rate <= most and len(rate.normalize().as_tuple().digits) <= MOST_RATE_DIGITS:
                return word, rate
    return None


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
    words = f"{min(copies)} times gold's" if len(copies) == 1 else f"whole numbers of times gold's, {min(copies)} to {max(copies)}"
    return Fixed(tuple(values), f"the numbers are {words}, as over rows that a join repeats")


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
    """Gold's numbers with fewer digits, lost in one way."""
    exact, shown = list[Decimal](), list[Decimal]()
    for pair in pairs:
        gold, predicted = pair.gold_number, pair.predicted_number
        if gold is None or predicted is None or gold == predicted:
            return None
        exact.append(gold)
        shown.append(predicted)
    words = lost_digits(exact, shown)
    if not words:
        return None
    zero = "" if any(shown) else ", which leaves nothing but 0"
    return Fixed(tuple(pair.gold for pair in pairs), f"the numbers are {words}{zero}")
