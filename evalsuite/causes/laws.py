"""The laws of wrong values: each says of (gold, predicted) pairs whether one simple thing made all of them wrong, and undoes it.

`fix` gets the pairs of one column (or text, or tree) that differ, and gives back what each prediction becomes when the thing is undone,
or None where the law does not hold for every pair. `plant` does the opposite to one gold value, or gives None where it cannot.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any, Final

from evalsuite.causes.value_pairs import (
    DAY,
    Pair,
    decimals,
    decorated_number,
    instant,
    instants,
    is_null,
    nearly,
    write_instant,
    write_number,
)

Plant = Callable[[Any, bool], Any]
FEWEST_FACTOR_ROWS: Final = 3
UNITS: Final = {
    "1000": "thousands", "1000000": "millions", "1000000000": "billions", "60": "minutes against hours or seconds",
    "3600": "seconds against hours", "24": "hours against days", "86400": "seconds against days", "1440": "minutes against days",
    "1024": "KiB", "1048576": "MiB", "1.609344": "miles against km",
}  # fmt: skip
_NULL_WORDS: Final = {"", "-", "--", "\u2013", "\u2014", "n/a", "na", "none", "null", "nan", "unknown", "missing", "nil", ".", "?", "false"}
_TRUE: Final = {"true", "t", "yes", "y", "1", "1.0", "on"}
_FALSE: Final = {"false", "f", "no", "n", "0", "0.0", "off"}


@dataclass(frozen=True, slots=True)
class Fixed:
    """What the predictions become, one for each pair, and what was found (empty: the law's own words); only `where` holds values."""

    values: tuple[Any, ...]
    says: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class Law:
    """A cause by name: `says` is its sentence; `fix` undoes it; `plant` makes gold wrong."""

    name: str
    says: str
    fix: Callable[[Sequence[Pair]], Fixed | None]
    plant: Plant | None = None


def each(one: Callable[[Pair], Any]) -> Callable[[Sequence[Pair]], Fixed | None]:
    """A law that holds value by value: `one` gives the undone prediction, or `NO` where the law does not hold."""

    def fix(pairs: Sequence[Pair]) -> Fixed | None:
        values = []
        for pair in pairs:
            value = one(pair)
            if value is NO:
                return None
            values.append(value)
        return Fixed(tuple(values))

    return fix


NO: Final = object()


def null_and_zero(pair: Pair) -> Any:
    gold, predicted = is_null(pair.gold, native=pair.native), is_null(pair.predicted, native=pair.native)
    if gold and (pair.predicted_number == 0 or pair.predicted is False):
        return pair.gold
    if predicted and pair.gold_number == 0:
        return pair.gold
    return NO


def null_word(pair: Pair) -> Any:
    if not is_null(pair.gold, native=pair.native) or not isinstance(pair.predicted, str):
        return NO
    return pair.gold if pair.predicted.strip().lower() in _NULL_WORDS else NO


def value_lost(pair: Pair) -> Any:
    lost = is_null(pair.predicted, native=pair.native) and not is_null(pair.gold, native=pair.native)
    return pair.gold if lost else NO


def default_value(pairs: Sequence[Pair]) -> Fixed | None:
    """One constant where gold is NULL, at least three times, so that it cannot be the value of a row."""
    filled = {repr(pair.predicted) for pair in pairs}
    if len(pairs) < 3 or len(filled) != 1 or not all(is_null(pair.gold, native=pair.native) for pair in pairs):
        return None
    return Fixed(tuple(pair.gold for pair in pairs), "one constant stands where gold is NULL")


def number_in_text(pairs: Sequence[Pair]) -> Fixed | None:
    values, ways = [], dict[str, None]()
    for pair in pairs:
        gold = pair.gold_number
        if gold is None or not isinstance(pair.predicted, str) or pair.predicted_number is not None:
            return None
        # A number in words is often rounded: to a ten thousandth it is gold's.
        near = Decimal("1e-4") * abs(gold)
        read = next(((v, way) for v, way in decorated_number(pair.predicted) if nearly(v, gold) or abs(v - gold) <= near), None)
        if read is None:
            return None
        values.append(write_number(read[0], pair.gold))
        ways[read[1]] = None
    return Fixed(tuple(values), f"the numbers are written with {' and '.join(ways)}")


def stored_as_text(pair: Pair) -> Any:
    texts = isinstance(pair.predicted, str), isinstance(pair.gold, str)
    if not pair.native or texts[0] == texts[1] or pair.gold is None or pair.predicted is None:
        return NO
    a, b = (Pair(str(value), str(value)) for value in (pair.gold, pair.predicted))
    if a.gold_number is not None and b.gold_number is not None:
        return pair.gold if nearly(a.gold_number, b.gold_number) else NO
    moments = instant(str(pair.gold), native=False), instant(str(pair.predicted), native=False)
    if moments[0] is not None and moments[0] == moments[1]:
        return pair.gold
    return pair.gold if str(pair.gold).casefold() == str(pair.predicted).casefold() else NO


def date_form(pair: Pair) -> Any:
    gold = instant(pair.gold, native=pair.native)
    if gold is None or pair.predicted is None or instant(pair.predicted, native=pair.native) not in (None, gold):
        return NO
    if str(pair.gold) == str(pair.predicted):
        return NO
    return pair.gold if gold in (instant(pair.predicted, native=False), *instants(pair.predicted)) else NO


def _shifts(pairs: Sequence[Pair]) -> int | None:
    """The one time by which all predictions are late, in nanoseconds; None where there is no single one."""
    found = set()
    for pair in pairs:
        gold, predicted = instant(pair.gold, native=pair.native), instant(pair.predicted, native=pair.native)
        if gold is None or predicted is None:
            return None
        found.add(predicted - gold)
        if len(found) > 1:
            return None
    return found.pop() if found else None


def off_by_a_day(pairs: Sequence[Pair]) -> Fixed | None:
    shift = _shifts(pairs)
    if shift is None or abs(shift) != DAY:
        return None
    return Fixed(_shifted(pairs, shift), f"the dates are one day {'late' if shift > 0 else 'early'}")


def time_zone(pairs: Sequence[Pair]) -> Fixed | None:
    shift = _shifts(pairs)
    if not shift or abs(shift) > 14 * DAY // 24 or shift % (15 * 60 * 10**9):
        return None
    hours = abs(shift) / (3600 * 10**9)
    return Fixed(_shifted(pairs, shift), f"the times are {hours:g} h {'late' if shift > 0 else 'early'}, as in another time zone")


def _shifted(pairs: Sequence[Pair], shift: int) -> tuple[Any, ...]:
    return tuple(write_instant((instant(pair.predicted, native=pair.native) or 0) - shift, pair.gold) for pair in pairs)


def time_cut(pair: Pair) -> Any:
    gold, predicted = instant(pair.gold, native=pair.native), instant(pair.predicted, native=pair.native)
    if gold is None or predicted is None or gold == predicted:
        return NO
    steps = (10**9, 60 * 10**9, 3600 * 10**9, DAY)
    if any(gold - gold % step == predicted for step in steps):
        return pair.gold
    months = [write_instant(gold, "2000-01-01")[:length] + rest for length, rest in ((7, "-01"), (4, "-01-01"))]
    return pair.gold if predicted in [instant(text, native=False) for text in months] else NO


def sign(pair: Pair) -> Any:
    gold, predicted = pair.gold_number, pair.predicted_number
    if gold is None or predicted is None or not predicted or not nearly(gold, -predicted):
        return NO
    return write_number(-predicted, pair.predicted)


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
    """One factor for at least three different gold values: with fewer there always is one."""
    golds, predictions = [pair.gold_number for pair in pairs], [pair.predicted_number for pair in pairs]
    if len(set(golds)) < FEWEST_FACTOR_ROWS or not all(golds) or not all(predictions):
        return None
    factors = [p / g for g, p in zip(golds, predictions, strict=True) if g and p]
    if not all(nearly(factor, factors[0]) for factor in factors) or nearly(abs(factors[0]), Decimal(1)):
        return None
    values = tuple(write_number(p / factors[0], pair.predicted) for p, pair in zip(predictions, pairs, strict=True) if p)
    return Fixed(values, "all numbers are off by one factor", f"gold's times {float(factors[0]):.6g}")


def off_by_one(pairs: Sequence[Pair]) -> Fixed | None:
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


def truth(value: Any) -> bool | None:
    """What a value says of yes and no; None where it says neither."""
    text = str(value).strip().lower()
    return True if text in _TRUE else False if text in _FALSE else None


def _truths(pairs: Sequence[Pair], *, same: bool) -> tuple[Any, ...] | None:
    found = [(truth(pair.gold), truth(pair.predicted)) for pair in pairs]
    words = {str(pair.gold).strip().lower() for pair in pairs} | {str(pair.predicted).strip().lower() for pair in pairs}
    # Columns of 0 and 1 alone are counts as often as truths.
    if any(None in pair for pair in found) or words <= {"0", "1", "0.0", "1.0"}:
        return None
    return tuple(pair.gold for pair in pairs) if all((g == p) is same for g, p in found) else None


def truth_form(pairs: Sequence[Pair]) -> Fixed | None:
    values = _truths(pairs, same=True)
    return Fixed(values, "yes and no are written in other words") if values else None


def inverted(pairs: Sequence[Pair]) -> Fixed | None:
    values = _truths(pairs, same=False)
    return Fixed(values, "true and false are exchanged") if values else None
