"""Error hypotheses about values: texts, numbers, dates and times.

Each hypothesis looks at (gold, predicted) pairs, decides whether one simple error made all of them wrong, and undoes it. `undo` gets the
pairs of one column (or text, or tree) that differ. If the hypothesis holds for every pair it returns its sentence, or "" for the general
one; the error undone gives gold's values, unless a `Fixed` names others. `inject` does the opposite to one gold value, or returns `NOTHING`
if it cannot.
"""

import html
import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import (
    ROUND_CEILING,
    ROUND_DOWN,
    ROUND_FLOOR,
    ROUND_HALF_DOWN,
    ROUND_HALF_EVEN,
    ROUND_HALF_UP,
    ROUND_UP,
    Decimal,
    InvalidOperation,
)
from itertools import combinations
from typing import Any, Final

from evalsuite.analysis.causes.values import (
    DAY,
    Pair,
    decimals,
    instant,
    instants,
    is_near,
    is_null,
    plain,
    readings,
    write_instant,
    write_number,
)
from evalsuite.compare.numbers import Number, exact_of
from evalsuite.compare.values import PLACEHOLDERS, is_null_word, read_cell
from evalsuite.core.dataclasses import dataclass

MOST_PLACES: Final = 15
MOST_SIGNIFICANT: Final = 12
_TENS: Final = ("whole numbers", "tens", "hundreds", "thousands", "ten thousands", "hundred thousands", "millions")
_NUMBERS: Final = ("zero", "one", "two", "three", "four", "five", "six")
_HALF, _TENTH = Decimal("0.5"), Decimal("0.1")
# (exact, shown) -> the unit that a number is a multiple of, as an exponent of ten.
Unit = Callable[[Decimal, Decimal], int]


def lost_digits(exact: Sequence[Decimal], rounded: Sequence[Decimal], *, to_decimals: bool = False) -> str:
    """Return how each exact number became the shown one, as `rounded to 2 decimals`; empty if no single way holds for all of them.

    Several possible ways are joined by `or`; the treatment of halves is added if the numbers decide it. With `to_decimals` neither tens nor
    significant digits are tried.
    """
    if not exact or any(abs(value.adjusted()) > 2 * MOST_PLACES for value in (*exact, *rounded) if value):
        return ""
    for unit, words in _units(rounded, to_decimals=to_decimals):
        try:
            if ways := _ways(exact, rounded, unit):
                return f"{ways[0]} to {words}{ways[1]}"
        except InvalidOperation:
            continue
    return ""


def _units(rounded: Sequence[Decimal], *, to_decimals: bool) -> list[tuple[Unit, str]]:
    """Return (unit, its words), the likeliest first: decimals as written, decimals as needed, significant digits, each number's own
    decimals.
    """
    needed = [-int(value.normalize().as_tuple().exponent) for value in rounded if value]
    written, least = max(map(decimals, rounded)), max(needed, default=0)
    digits = max(len(value.normalize().as_tuple().digits) for value in rounded)
    units: list[tuple[Unit, str]] = []
    for places in dict.fromkeys((written, least) if written >= least else (least,)):
        if (0 if to_decimals else 1 - len(_TENS)) <= places <= MOST_PLACES:
            units.append((lambda _, __, places=places: -places, places_in_words(places)))  # type: ignore[misc]
    if to_decimals:
        return units
    if digits <= MOST_SIGNIFICANT and len(rounded) > 1:
        word = _NUMBERS[digits] if digits < len(_NUMBERS) else str(digits)
        plural = "" if digits == 1 else "s"
        units.append((lambda value, _: value.adjusted() - digits + 1, f"{word} significant digit{plural}"))
    if needed and 0 <= min(needed) < least <= MOST_PLACES:
        words_of_decimals = f"{min(needed)} to {least} decimals, each to those that it has"
        units.append((lambda _, value: min(0, int(value.normalize().as_tuple().exponent)) if value else 0, words_of_decimals))
    return units


def places_in_words(places: int) -> str:
    """`2 decimals`, `whole numbers`, `tens`."""
    return f"{places} decimal{'' if places == 1 else 's'}" if places > 0 else _TENS[-places]


def _ways(exact: Sequence[Decimal], rounded: Sequence[Decimal], unit: Unit) -> tuple[str, str] | None:
    """Return (way, treatment of halves) that holds for all pairs at that unit; None if no way does."""
    steps = [Decimal(1).scaleb(unit(value, result)) for value, result in zip(exact, rounded, strict=True)]
    ratios = [(value / step, result / step) for value, result, step in zip(exact, rounded, steps, strict=True)]
    if any(result != result.to_integral_value() for _, result in ratios):
        return None
    names = ["rounded"] if all(abs(value - result) <= _HALF for value, result in ratios) else []
    directed = _directed_ways(exact)
    names += [name for name, way in directed.items() if all(value.to_integral_value(way) == result for value, result in ratios)]
    if not names:
        return None
    if names != ["rounded"]:
        return " or ".join(names), ""
    return "rounded", _halves([(value, result) for value, result in ratios if abs(value - result) == _HALF])


def _directed_ways(exact: Sequence[Decimal]) -> dict[str, str]:
    """Return the ways of rounding in one direction by name, those that the signs of the numbers tell apart."""
    below, above = any(value < 0 for value in exact), any(value > 0 for value in exact)
    directed = {"cut off": ROUND_DOWN}
    if above or not below:
        directed["rounded up"] = ROUND_CEILING
    if below:
        directed["rounded down"] = ROUND_FLOOR
    if below and above:
        directed["rounded away from zero"] = ROUND_UP
    return directed


def _halves(ties: Sequence[tuple[Decimal, Decimal]]) -> str:
    """Return how numbers half-way between two were rounded; empty if there are none, or if both usual rules hold."""
    ways = {"to even": ROUND_HALF_EVEN, "away from zero": ROUND_HALF_UP, "towards zero": ROUND_HALF_DOWN}
    names = [name for name, way in ways.items() if all(value.to_integral_value(way) == result for value, result in ties)]
    if {"to even", "away from zero"} <= set(names):
        return ""
    if not names:
        names = [name for name, is_up in (("up", True), ("down", False)) if all((result > value) is is_up for value, result in ties)]
    return f" (halves {' or '.join(names) or 'either way'})"


Inject = Callable[[Any, bool], Any]
_TRUE: Final = {"true", "t", "yes", "y", "1", "1.0", "on"}
_FALSE: Final = {"false", "f", "no", "n", "0", "0.0", "off"}


@dataclass(frozen=True, slots=True)
class Fixed:
    """What each prediction becomes, and the sentence (empty: the hypothesis's own); only `where` contains values."""

    values: tuple[Any, ...]
    says: str = ""
    where: str = ""


Undo = Callable[[Sequence[Pair]], Fixed | str | None]


@dataclass(frozen=True, slots=True)
class ErrorHypothesis:
    """A hypothesis about wrong values: `says` is its sentence, `undo` undoes the error, `inject` injects it into a gold value.

    A `partial` hypothesis leaves some cells of a column right. `scope` gets the right pairs of a column, and returns in words which of its
    cells were changed (empty if all of them).
    """

    name: str
    says: str
    undo: Undo
    inject: Inject | None = None
    partial: bool = False
    scope: Callable[[Sequence[Pair]], str] | None = None

    def fix(self, pairs: Sequence[Pair]) -> Fixed | None:
        """Return what each prediction becomes when the error is undone; None if the hypothesis does not hold for every pair."""
        undone = self.undo(pairs)
        return Fixed(tuple(pair.gold for pair in pairs), undone) if isinstance(undone, str) else undone


def for_each_value(holds: Callable[[Pair], bool]) -> Undo:
    """Return an `undo` for a hypothesis that holds value by value."""
    return lambda pairs: "" if all(map(holds, pairs)) else None


def _numbers(pairs: Sequence[Pair], *, zeros: bool = False) -> list[tuple[Decimal, Decimal]] | None:
    """Return (gold, prediction) of each pair as numbers; None if a side of one is no number, or 0 without `zeros`."""
    numbers = []
    for pair in pairs:
        gold, predicted = pair.gold_number, pair.predicted_number
        if gold is None or predicted is None or not (zeros or (gold and predicted)):
            return None
        numbers.append((gold, predicted))
    return numbers


def null_and_zero(pairs: Sequence[Pair]) -> str | None:
    """0 or false where gold is NULL, or NULL where gold is 0."""
    words = dict[str, None]()
    for pair in pairs:
        gold, predicted = is_null(pair.gold, native=pair.native), is_null(pair.predicted, native=pair.native)
        if gold and (pair.predicted_number == 0 or pair.predicted is False):
            words[f"{'false' if pair.predicted is False else '0'} where gold is NULL"] = None
        elif predicted and pair.gold_number == 0:
            words["NULL where gold is 0"] = None
        else:
            return None
    return ", ".join(words)


def null_word(pair: Pair) -> bool:
    if not is_null(pair.gold, native=pair.native) or not isinstance(pair.predicted, str):
        return False
    word = pair.predicted.strip().lower()
    return is_null_word(word) or word in PLACEHOLDERS


def value_lost(pair: Pair) -> bool:
    return is_null(pair.predicted, native=pair.native) and not is_null(pair.gold, native=pair.native)


def default_value(pairs: Sequence[Pair]) -> str | None:
    """One constant where gold is NULL, at least three times, so that it is unlikely to be a row's own value."""
    is_one = len(pairs) >= 3 and len({repr(pair.predicted) for pair in pairs}) == 1
    return "one constant where gold is NULL" if is_one and all(is_null(pair.gold, native=pair.native) for pair in pairs) else None


def number_in_text(pairs: Sequence[Pair]) -> Fixed | None:
    values, ways, numbers = [], dict[str, None](), list[tuple[Decimal, Decimal]]()
    for pair in pairs:
        gold = pair.gold_number
        if gold is None or not isinstance(pair.predicted, str) or pair.predicted_number is not None:
            return None
        # A number in words is often rounded: it matches gold to a ten thousandth.
        near = Decimal("1e-4") * abs(gold)
        read = next(((v, way) for v, way in readings(pair.predicted) if is_near(v, gold) or abs(v - gold) <= near), None)
        if read is None:
            return None
        values.append(write_number(read[0], pair.gold))
        ways[read[1]] = None
        numbers.append((gold, read[0]))
    if all(_is_another_number(pair.predicted, value) for pair, (_, value) in zip(pairs, numbers, strict=True)):
        return None
    says = f"the numbers are written {' or '.join(ways)}"
    if all(is_near(gold, number) for gold, number in numbers):
        return Fixed(tuple(values), says)
    lost = lost_digits(*zip(*numbers, strict=True))
    return Fixed(tuple(values), f"{says}, and are {lost}") if lost else None


def _is_another_number(text: str, value: Decimal) -> bool:
    """Whether the strict rules read a number of the text as another one: `1,234` is 1234 there, whatever else it may mean."""
    number = read_cell(text)
    return isinstance(number, int | Number) and not is_near(exact_of(number), value)


def stored_as_text(pairs: Sequence[Pair]) -> str | None:
    """Database values stored as text, or texts stored as values."""
    sides = {(isinstance(pair.gold, str), isinstance(pair.predicted, str)) for pair in pairs}
    if len(sides) != 1 or not all(map(_is_same_as_text, pairs)):
        return None
    return "values are stored as text" if sides == {(False, True)} else "texts are stored as values of another type"


def _is_same_as_text(pair: Pair) -> bool:
    if not pair.native or isinstance(pair.predicted, str) == isinstance(pair.gold, str) or pair.gold is None or pair.predicted is None:
        return False
    a, b = (Pair(str(value), str(value)) for value in (pair.gold, pair.predicted))
    x, y = a.gold_number, b.gold_number
    if x is not None and y is not None:
        # Whole numbers have no float noise.
        is_whole = x == x.to_integral_value() and y == y.to_integral_value()
        return x == y or (is_near(x, y) and not is_whole)
    at, other = (instant(str(value), native=False) for value in (pair.gold, pair.predicted))
    if at is not None and at == other:
        return True
    return str(pair.gold).casefold() == str(pair.predicted).casefold()


def truth(value: Any) -> bool | None:
    """Return the boolean that a value means, None if it means neither."""
    text = str(value).strip().lower()
    return True if text in _TRUE else False if text in _FALSE else None


def truths(*, same: bool) -> Undo:
    """Return an `undo` for booleans that are the same as gold's in other words, or all the opposite."""

    def undo(pairs: Sequence[Pair]) -> str | None:
        booleans = [(truth(pair.gold), truth(pair.predicted)) for pair in pairs]
        words = {str(value).strip().lower() for pair in pairs for value in (pair.gold, pair.predicted)}
        # Columns of only 0 and 1 are counts as often as booleans.
        if not pairs or words <= {"0", "1", "0.0", "1.0"} or any(None in pair for pair in booleans):
            return None
        return "" if all((gold == predicted) is same for gold, predicted in booleans) else None

    return undo


FEWEST_FACTOR_ROWS: Final = 3
# The largest number of copies of a row that a fan-out is assumed to make.
MOST_COPIES: Final = 12
# No rate has more digits than this; a larger factor is described by its size alone.
MOST_RATE_DIGITS: Final = 5
MOST_FACTOR_DIGITS: Final = 12
_SMALLEST: Final = Decimal("1e-6")
UNITS: Final = {
    "1000": "thousands", "1000000": "millions", "1000000000": "billions", "60": "minutes against hours or seconds",
    "3600": "seconds against hours", "24": "hours against days", "86400": "seconds against days", "1440": "minutes against days",
    "1024": "KiB", "1048576": "MiB", "1.609344": "miles against km",
}  # fmt: skip


def sign(pairs: Sequence[Pair]) -> str | None:
    """Gold's numbers with the opposite sign, rounded or not."""
    lost = _explain_lost_digits(_numbers(pairs) or (), Decimal(-1))
    return None if lost is None else f"the sign is the opposite{lost}"


def _explain_lost_digits(numbers: Sequence[tuple[Decimal, Decimal]], factor: Decimal) -> str | None:
    """Return how the predictions lost digits of gold times `factor` (`, and ...`); empty if they equal it, None if they do not fit it."""
    changed_pairs = []
    for gold, predicted in numbers:
        changed = gold * factor
        if abs(changed - predicted) > _TENTH * abs(changed):
            return None
        changed_pairs.append((changed, predicted))
    if not changed_pairs:
        return None
    noisy = [(a, b) for a, b in changed_pairs if not is_near(a, b)]
    # Too many numbers round to a number of one digit.
    if any(len(b.as_tuple().digits) < 2 for _, b in noisy):
        return None
    words = lost_digits(*zip(*changed_pairs, strict=True), to_decimals=True) if noisy else ""
    return f", and the numbers are {words}" if words else None if noisy else ""


def scale_by(factors: Sequence[str]) -> Undo:
    """Return an `undo` for predictions that are gold times, or divided by, one of the factors.

    A share shown as percent is often rounded too. With many factors, some factor always fits one or two rounded numbers.
    """

    ways = [(text, *way) for text in factors for way in ((Decimal(text), "times"), (1 / Decimal(text), "divided by"))]

    def undo(pairs: Sequence[Pair]) -> str | None:
        numbers = _numbers(pairs)
        if not numbers or all(map(_has_other_reading, pairs)):
            return None
        for text, factor, word in ways:
            lost = _explain_lost_digits(numbers, factor)
            if lost == "" or (lost and (len(factors) == 1 or len(pairs) >= FEWEST_FACTOR_ROWS)):
                unit = f" (as {UNITS[text]})" if text in UNITS else ""
                return f"the numbers are gold's {word} {text}{unit}{lost}"
        return None

    return undo


def _has_other_reading(pair: Pair) -> bool:
    """Whether the prediction is gold's number as another country writes it: `1.234` for 1234."""
    gold = pair.gold_number
    return gold is not None and isinstance(pair.predicted, str) and any(is_near(value, gold) for value, _ in readings(pair.predicted))


def constant_factor(pairs: Sequence[Pair]) -> Fixed | None:
    """One factor for at least three different gold values (with fewer there always is one); exact, or a rate followed by rounding."""
    numbers = _numbers(pairs)
    if numbers is None or len({g for g, _ in numbers}) < FEWEST_FACTOR_ROWS or all(map(_has_other_reading, pairs)):
        return None
    golds, factor = tuple(pair.gold for pair in pairs), numbers[0][1] / numbers[0][0]
    if all(is_near(p / g, factor) for g, p in numbers):
        if is_near(abs(factor), Decimal(1)):
            return None
        return Fixed(golds, "all numbers are off by one factor", f"gold's {_exact_rate(numbers, factor)}")
    if len({p - g for g, p in numbers}) == 1:
        # All numbers are off by one difference: no factor made that.
        return None
    places = max(decimals(p.normalize()) for _, p in numbers)
    rate = _rate(numbers, Decimal("0.5").scaleb(-places))
    if rate is None:
        return None
    words, value = rate
    lost = lost_digits([g * value if words == "times" else g / value for g, _ in numbers], [p for _, p in numbers])
    return Fixed(golds, f"all numbers are off by one factor and {lost}", f"gold's {words} {plain(value)}") if lost else None


def _exact_rate(numbers: Sequence[tuple[Decimal, Decimal]], factor: Decimal) -> str:
    """Return the factor of fewest digits that gives each prediction within float noise: `times 1.08` or `divided by 1.19`."""
    for places in range(MOST_FACTOR_DIGITS):
        for words, exact in (("times", factor), ("divided by", 1 / factor)):
            rate = exact.quantize(Decimal(f"1e-{places}"))
            if rate and all(is_near(g * rate if words == "times" else g / rate, p) for g, p in numbers):
                return f"{words} {plain(rate)}"
    return f"times {plain(factor)}"


def _rate(numbers: Sequence[tuple[Decimal, Decimal]], half: Decimal) -> tuple[str, Decimal] | None:
    """Return `times` or `divided by` and the factor of fewest digits that gives each prediction to within `half`; None if there is none."""
    sides = [sorted(((p - half) / g, (p + half) / g)) for g, p in numbers]
    low, high = max(side[0] for side in sides), min(side[1] for side in sides)
    if low > high or any(low <= plain_one <= high for plain_one in (1, -1)) or not _SMALLEST < abs(low) < 1 / _SMALLEST:
        return None
    for places in range(MOST_RATE_DIGITS):
        for word, least, most in (("times", low, high), ("divided by", 1 / high, 1 / low)):
            rate = least.quantize(Decimal(f"1e-{places}"), ROUND_CEILING)
            if least <= rate <= most and len(rate.normalize().as_tuple().digits) <= MOST_RATE_DIGITS:
                return word, rate
    return None


def fan_out(pairs: Sequence[Pair]) -> Fixed | None:
    """Each number a multiple of gold's: sums and counts over rows that a join repeats."""
    numbers = _numbers(pairs)
    copies = [round(predicted / gold) for gold, predicted in numbers or ()]
    if numbers is None or not all(
        2 <= n <= MOST_COPIES and is_near(predicted, gold * n) for n, (gold, predicted) in zip(copies, numbers, strict=True)
    ):
        return None
    words = f"{min(copies)} times gold's" if len(set(copies)) == 1 else f"multiples of gold's, {min(copies)} to {max(copies)} times"
    values = tuple(write_number(p / n, pair.predicted) for n, (_, p), pair in zip(copies, numbers, pairs, strict=True))
    return Fixed(values, f"the numbers are {words}, as over rows that a join repeats")


def off_by_one(pairs: Sequence[Pair]) -> Fixed | None:
    """Whole numbers that are all one too large or all one too small."""
    numbers = _numbers(pairs, zeros=True)
    shifts = {predicted - gold for gold, predicted in numbers or ()}
    if not numbers or shifts not in ({Decimal(1)}, {Decimal(-1)}) or any(gold != gold.to_integral_value() for gold, _ in numbers):
        return None
    (shift,) = shifts
    values = tuple(write_number(predicted - shift, pair.predicted) for (_, predicted), pair in zip(numbers, pairs, strict=True))
    return Fixed(values, f"the numbers are one too {'large' if shift > 0 else 'small'}")


def rounding(pairs: Sequence[Pair]) -> str | None:
    """Gold's numbers with fewer digits, lost in one way."""
    numbers = _numbers(pairs, zeros=True)
    if not numbers or any(gold == predicted for gold, predicted in numbers):
        return None
    exact, rounded = zip(*numbers, strict=True)
    words = lost_digits(exact, rounded)
    return f"the numbers are {words}{'' if any(rounded) else ', which leaves only 0'}" if words else None


# A hyphen in front of a number counts as punctuation only after letters, digits or `#`: elsewhere it is the sign.
_SPACES: Final = re.compile(r"(?<=[\w#])[\s_\-\u00a0]+(?=\w)|(?<=\S)[\s_\-\u00a0]+(?=[^\s\d.])|\s+|_")
# A hyphen after a word or punctuation is not a sign.
_FIGURES: Final = re.compile(r"(?:(?<![^\s(])[+-])?\d+(?:[.,:]\d+)*")
# Punctuation that is neither inside a number nor its sign.
_MARKS: Final = re.compile(r"(?<!\d)[^\w\s+-]|[^\w\s](?!\d)")
_PARTS: Final = {"spaces": "spaces, hyphens or underscores", "case": "upper and lower case", "accents": "accents or forms of letters",
                 "punctuation": "punctuation"}  # fmt: skip
_QUOTES: Final = "\"'`\u201c\u201d\u2018\u2019\u00ab\u00bb"


def same_text(part: str) -> Undo:
    """Return an `undo` for texts that differ in one part of their form, plus as few of the parts before it as needed.

    Parts are `spaces`, `case`, `accents` and `punctuation`. The prediction becomes gold's text.
    """
    before = list(_PARTS)[: list(_PARTS).index(part)]

    def undo(pairs: Sequence[Pair]) -> str | None:
        texts = _different_texts(pairs)
        for parts in (set(some) | {part} for n in range(len(before) + 1) for some in combinations(before, n)):
            if texts and all(
                (bare_text := _remove_marks(parts, gold)) and bare_text == _remove_marks(parts, other) for gold, other in texts
            ):
                words = [_PARTS[name] for name in _PARTS if name in parts]
                change_words = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
                return f"{change_words} differ{'s' if words == ['punctuation'] else ''}"
        return None

    return undo


def _different_texts(pairs: Sequence[Pair]) -> list[tuple[str, str]]:
    """Return (gold, prediction) of pairs of different texts; empty if one of the pairs is none."""
    texts = [(gold, other) for pair in pairs if (gold := pair.gold_text) and (other := pair.predicted_text) and gold != other]
    return texts if len(texts) == len(pairs) else []


def _remove_marks(parts: Collection[str], text: str) -> str:
    if "accents" in parts:
        text = strip_accents(text)
    if "case" in parts:
        text = text.casefold()
    if "punctuation" in parts:
        text = _MARKS.sub(" ", text)
        return "".join(text.split()) if "spaces" in parts else " ".join(text.split())
    return _SPACES.sub(" ", text).strip() if "spaces" in parts else text


def quotes(pairs: Sequence[Pair]) -> str | None:
    """Gold's text or number in quotation marks, or gold's quotation marks are missing."""
    sides = [(pair.predicted, pair.gold) for pair in pairs]
    if sides and all(_is_quoted(*side) for side in sides):
        return "quotation marks around the text are added"
    return "quotation marks around the text are missing" if sides and all(_is_quoted(*side[::-1]) for side in sides) else None


def _is_quoted(quoted: Any, text: Any) -> bool:
    if not isinstance(quoted, str) or not isinstance(text, str):
        return False
    outer = quoted.strip()
    return len(outer) >= 2 and outer[0] in _QUOTES and outer[-1] in _QUOTES and outer[1:-1].strip() == text.strip() != ""


def strip_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def force_ascii(text: str) -> str:
    """Return the text forced into ASCII: letters lose their accents, other characters (a long dash, a Greek letter) are dropped."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")


def drop_symbols(text: str) -> str:
    """Return the text forced into ASCII if that drops whole characters; unchanged if it would only remove accents."""
    return text if strip_accents(text).isascii() else force_ascii(text)


def characters_lost(pair: Pair) -> bool:
    """Gold without its non-ASCII characters."""
    gold, predicted = pair.gold_text, pair.predicted_text
    if gold is None or predicted is None or gold.isascii() or not predicted.isascii():
        return False
    return predicted.strip() in (force_ascii(gold).strip(), gold.encode("ascii", "ignore").decode("ascii").strip())


def alphanumeric(text: str) -> str:
    """Return letters without case and punctuation, and numbers with theirs: `4.2` and `42` stay different."""
    letters = "".join(c for c in strip_accents(text).casefold() if c.isalpha())
    return f"{letters} {' '.join(_FIGURES.findall(text))}" if letters else ""


def encoding(pairs: Sequence[Pair]) -> str | None:
    """Texts that were read in the wrong encoding, or whose characters are written as HTML entities."""
    texts = _different_texts(pairs)
    if texts and all(html.unescape(predicted) == gold for gold, predicted in texts):
        return "characters are written as HTML entities"
    for name, title in (("cp1252", "Windows-1252"), ("latin-1", "Latin-1")):
        with suppress(UnicodeError):
            if texts and all(predicted.encode(name).decode("utf-8") == gold for gold, predicted in texts):
                return f"the text was read in the wrong encoding, UTF-8 as {title}"
    return None


def leading_zeros(pair: Pair) -> bool:
    gold, predicted = (str(value).strip() for value in (pair.gold, pair.predicted))
    are_figures = all(text.isascii() and text.isdigit() for text in (gold, predicted))
    return gold != predicted and are_figures and gold.lstrip("0") == predicted.lstrip("0")


HOUR: Final = DAY // 24
_EPOCH: Final = datetime(1970, 1, 1)
# Nanoseconds per second, millisecond, microsecond and nanosecond.
_CUTS: Final = {"second": 10**9, "minute": 60 * 10**9, "hour": HOUR, "day": DAY, "month": 0, "year": 0}
_TICKS: Final = {10**9: "seconds", 10**6: "milliseconds", 10**3: "microseconds", 1: "nanoseconds"}


def date_form(pairs: Sequence[Pair]) -> str | None:
    """Gold's dates in another form: all in one, or each in one of two; `01/02/2024` is never read in both orders in one column."""
    forms: list[set[str]] = []
    for pair in pairs:
        gold = instant(pair.gold, native=pair.native)
        if gold is None or pair.predicted is None or str(pair.gold) == str(pair.predicted):
            return None
        forms.append({form for at, form in instants(pair.predicted) if at == gold})
        if not forms[-1] or instant(pair.predicted, native=pair.native) not in (None, gold):
            return None
    names = sorted(set().union(*forms), key=lambda name: (-sum(name in form_names for form_names in forms), name))
    choices = (some for n in (1, 2) for some in combinations(names, n) if not {"DD", "MM"} <= {name[:2] for name in some})
    some = next((some for some in choices if all(form_names & set(some) for form_names in forms)), None)
    return f"dates are written in another form, as {' or '.join(some)}" if some else None


def day_and_month(pairs: Sequence[Pair]) -> str | None:
    """Dates with day and month exchanged, as `2024-05-03` for `2024-03-05`, in one form."""
    return "days and months are exchanged" if pairs and all(map(_is_exchanged, pairs)) else None


def exchanged_days(right: Sequence[Pair]) -> str:
    """Return the scope if only dates with a day of at most 12 were exchanged, and the others of the column are right."""
    moments = [gold_moments[0][1] for pair in right if (gold_moments := _moments(pair.gold))]
    days = [max(moment.day, moment.month) for moment in moments if moment.day != moment.month]
    return "wherever the day is at most 12" if days and all(day > 12 for day in days) else ""


def _moments(value: Any) -> list[tuple[str, datetime]]:
    """Return (form, moment) of each reading of a date."""
    return [(form, _EPOCH + timedelta(microseconds=at // 1000)) for at, form in instants(value)]


def _is_exchanged(pair: Pair) -> bool:
    predicted = dict(_moments(pair.predicted))
    for form, gold in _moments(pair.gold):
        if gold.day <= 12 and gold.day != gold.month and gold.replace(day=gold.month, month=gold.day) == predicted.get(form):
            return True
    return False


def epoch_time(pairs: Sequence[Pair]) -> str | None:
    """Times as numbers since 1970, or numbers since 1970 as times: all pairs in the same unit and direction."""
    for size, unit in _TICKS.items():
        for says, number, time in (
            (f"times are written as {unit} since 1970", "predicted", "gold"),
            (f"{unit} since 1970 are written as times", "gold", "predicted"),
        ):
            moments = [instant(getattr(pair, time), native=pair.native) for pair in pairs]
            ticks = [getattr(pair, f"{number}_number") for pair in pairs]
            numbers = [getattr(pair, f"{time}_number") for pair in pairs]
            if pairs and all(
                tick and at is not None and other is None and at == tick * size
                for tick, at, other in zip(ticks, moments, numbers, strict=True)
            ):
                return says
    return None


def shifts(pairs: Sequence[Pair]) -> list[int] | None:
    """Return by how many nanoseconds each prediction is late; None if one side is not a time."""
    late = []
    for pair in pairs:
        gold, predicted = instant(pair.gold, native=pair.native), instant(pair.predicted, native=pair.native)
        if gold is None or predicted is None:
            return None
        late.append(predicted - gold)
    return late


def off_by_a_day(pairs: Sequence[Pair]) -> str | None:
    """All dates one day late, or one day early."""
    late = shifts(pairs)
    if not late or len(set(late)) > 1 or abs(late[0]) != DAY:
        return None
    return f"the dates are one day {'late' if late[0] > 0 else 'early'}"


def time_zone(pairs: Sequence[Pair]) -> str | None:
    """One shift by quarters of an hour up to 14 h, or two shifts an hour apart, as with summer time."""
    late = shifts(pairs)
    sizes = sorted(set(late or ()))
    if not late or len(sizes) > 2 or 0 in sizes or any(abs(size) > 14 * HOUR or size % (HOUR // 4) for size in sizes):
        return None
    words = _shift_in_words(sizes[0])
    if len(sizes) == 2:
        if sizes[1] - sizes[0] != HOUR:
            return None
        season = _season(pairs, [size == sizes[1] for size in late])
        if season is None:
            return None
        summer, name = season
        words = f"{_shift_in_words(sizes[not summer])}, in {name} summer time {_shift_in_words(sizes[summer])}"
    return f"the times are {words}, as in another time zone"


def _shift_in_words(size: int) -> str:
    return f"{abs(size) / HOUR:g} h {'late' if size > 0 else 'early'}"


def summer_time(pairs: Sequence[Pair]) -> str | None:
    """Times that are one hour off, all of them in one season; the others of the column are right."""
    late = shifts(pairs)
    season = _season(pairs, [True] * len(pairs)) if late and len(set(late)) == 1 and abs(late[0]) == HOUR else None
    if not late or season is None:
        return None
    summer, name = season
    when = f"in {name} summer time" if summer else f"outside {name} summer time"
    return f"the times are {_shift_in_words(late[0])}, all of them {when}"


def _season(pairs: Sequence[Pair], marked: Sequence[bool]) -> tuple[bool, str] | None:
    """Return (whether the marked pairs are in summer time, of which zone) if exactly these pairs are in one season; None otherwise.

    On a day on which zones differ the season is unknown, so at least one pair has to be on another day.
    """
    moments = [(instant(pair.gold, native=pair.native) or 0) // 10**9 for pair in pairs]
    for name, bounds in _SUMMERS.items():
        seasons = [_is_summer(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=moment), *bounds) for moment in moments]
        for is_summer in (True, False):
            agree = [season is (mark is is_summer) for season, mark in zip(seasons, marked, strict=True) if season is not None]
            if agree and all(agree):
                return is_summer, name if None not in seasons else f"{name} (some days near its ends aside)"
    return None


# Zone -> the Sundays on which its summer time begins and ends, as (month, n) of `_sunday`; North America since 2007.
_SUMMERS: Final = {"European": ((4, -1), (11, -1)), "North American": ((3, 2), (11, 1))}


def _is_summer(at: datetime, begin: tuple[int, int], end: tuple[int, int]) -> bool | None:
    """Whether a moment is in summer time; None on its first and last day and the adjacent ones, on which zones differ."""
    first, last = _sunday(at.year, *begin), _sunday(at.year, *end)
    return None if min(abs(at - first), abs(at - last)) < timedelta(days=2) else first < at < last


def _sunday(year: int, month: int, n: int) -> datetime:
    """Return the n-th Sunday of a month; with -1 the last one before it."""
    start = datetime(year, month, 1, tzinfo=UTC)
    ahead = timedelta(days=(6 - start.weekday()) % 7)
    return start + ahead + timedelta(weeks=n - 1 if n > 0 else n)


def time_cut(pairs: Sequence[Pair]) -> str | None:
    """Times without their seconds, minutes or hours, or dates without their day or month, as `2024-05-01`, `2024-05` or `2024`."""
    moments = [instant(pair.gold, native=pair.native) for pair in pairs]
    for unit in _CUTS:
        if pairs and all(_is_cut(pair, at, unit) for pair, at in zip(pairs, moments, strict=True)):
            return f"the times are cut off after the {unit}"
    return None


def _is_cut(pair: Pair, gold: int | None, unit: str) -> bool:
    predicted = instant(pair.predicted, native=pair.native)
    if gold is None or gold == predicted:
        return False
    if step := _CUTS[unit]:
        return predicted is not None and gold - gold % step == predicted
    day = str(write_instant(gold, "2000-01-01"))
    short, first = (day[:7], f"{day[:7]}-01") if unit == "month" else (day[:4], f"{day[:4]}-01-01")
    # A year that a table stores as a number.
    written = str(pair.predicted).strip().removesuffix(".0")
    return written == short or (predicted is not None and predicted == instant(first, native=pair.native))
