"""Error hypotheses about values: texts, numbers, dates and times.

Each hypothesis looks at (gold, predicted) pairs, decides whether one simple error made all of them wrong, and undoes it. `fix` gets the
pairs
of one column (or text, or tree) that differ; it returns what each prediction becomes when the error is undone, or None if the hypothesis
does not hold for every pair. `plant` does the opposite to one gold value, or returns `NOTHING` if it cannot.
"""

import html
import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
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
    is_null,
    nearly,
    plain,
    write_instant,
    write_number,
)
from evalsuite.compare.values import PLACEHOLDERS, is_null_word, number_readings
from evalsuite.core.dataclasses import dataclass

MOST_PLACES: Final = 15
MOST_SIGNIFICANT: Final = 12
_TENS: Final = ("whole numbers", "tens", "hundreds", "thousands", "ten thousands", "hundred thousands", "millions")
_NUMBERS: Final = ("zero", "one", "two", "three", "four", "five", "six")
_HALF: Final = Decimal("0.5")
# (exact, shown) -> the unit that a number is a multiple of, as an exponent of ten.
Unit = Callable[[Decimal, Decimal], int]


def lost_digits(exact: Sequence[Decimal], shown: Sequence[Decimal], *, to_decimals: bool = False) -> str:
    """Return how each exact number became the shown one, as `rounded to 2 decimals`; empty if no single way holds for all of them.

    Several possible ways are joined by `or`; the treatment of halves is added if the numbers decide it. With `to_decimals` neither tens nor
    significant digits are tried.
    """
    if not exact or any(abs(value.adjusted()) > 2 * MOST_PLACES for value in (*exact, *shown) if value):
        return ""
    for unit, words in _units(shown, to_decimals=to_decimals):
        try:
            if found := _ways(exact, shown, unit):
                return f"{found[0]} to {words}{found[1]}"
        except InvalidOperation:
            continue
    return ""


def _units(shown: Sequence[Decimal], *, to_decimals: bool) -> list[tuple[Unit, str]]:
    """Return (unit, its words), the likeliest first: decimals as written, decimals as needed, significant digits, each number's own
    decimals.
    """
    needed = [-int(value.normalize().as_tuple().exponent) for value in shown if value]
    written, least = max(map(decimals, shown)), max(needed, default=0)
    digits = max((len(value.normalize().as_tuple().digits) for value in shown if value), default=0)
    found: list[tuple[Unit, str]] = []
    for places in dict.fromkeys((written, least) if written >= least else (least,)):
        if (0 if to_decimals else 1 - len(_TENS)) <= places <= MOST_PLACES:
            found.append((lambda _, __, places=places: -places, places_in_words(places)))  # type: ignore[misc]
    if to_decimals:
        return found
    if 0 < digits <= MOST_SIGNIFICANT and len(shown) > 1:
        word = _NUMBERS[digits] if digits < len(_NUMBERS) else str(digits)
        plural = "" if digits == 1 else "s"
        found.append((lambda value, _: value.adjusted() - digits + 1, f"{word} significant digit{plural}"))
    if needed and 0 <= min(needed) < least <= MOST_PLACES:
        own = f"{min(needed)} to {least} decimals, each to those that it has"
        found.append((lambda _, value: min(0, int(value.normalize().as_tuple().exponent)) if value else 0, own))
    return found


def places_in_words(places: int) -> str:
    """`2 decimals`, `whole numbers`, `tens`."""
    return f"{places} decimal{'' if places == 1 else 's'}" if places > 0 else _TENS[-places]


def _ways(exact: Sequence[Decimal], shown: Sequence[Decimal], unit: Unit) -> tuple[str, str] | None:
    """Return (way, treatment of halves) that holds for all pairs at that unit; None if no way does."""
    steps = [Decimal(1).scaleb(unit(value, result)) for value, result in zip(exact, shown, strict=True)]
    ratios = [(value / step, result / step) for value, result, step in zip(exact, shown, steps, strict=True)]
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
        names = [name for name, sign in (("up", 1), ("down", -1)) if all((result - value) * sign > 0 for value, result in ties)]
    return f" (halves {' or '.join(names) or 'either way'})"


Plant = Callable[[Any, bool], Any]
_TRUE: Final = {"true", "t", "yes", "y", "1", "1.0", "on"}
_FALSE: Final = {"false", "f", "no", "n", "0", "0.0", "off"}


@dataclass(frozen=True, slots=True)
class Fixed:
    """What each prediction becomes, and the sentence (empty: the hypothesis's own); only `where` contains values."""

    values: tuple[Any, ...]
    says: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class ErrorHypothesis:
    """A hypothesis about wrong values: `says` is its sentence, `fix` undoes the error, `plant` injects it into a gold value.

    A `partial` hypothesis leaves some cells of a column right. `scope` gets the right pairs of a column, and returns in words which of its
    cells
    were changed (empty if all of them).
    """

    name: str
    says: str
    fix: Callable[[Sequence[Pair]], Fixed | None]
    plant: Plant | None = None
    partial: bool = False
    scope: Callable[[Sequence[Pair]], str] | None = None


def each(one: Callable[[Pair], Any]) -> Callable[[Sequence[Pair]], Fixed | None]:
    """Return a `fix` that works value by value: `one` returns the repaired prediction, or `NO` if the hypothesis does not hold."""

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


def null_and_zero(pairs: Sequence[Pair]) -> Fixed | None:
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
    return Fixed(tuple(pair.gold for pair in pairs), ", ".join(words))


def null_word(pair: Pair) -> Any:
    if not is_null(pair.gold, native=pair.native) or not isinstance(pair.predicted, str):
        return NO
    word = pair.predicted.strip().lower()
    return pair.gold if is_null_word(word) or word in PLACEHOLDERS else NO


def value_lost(pair: Pair) -> Any:
    lost = is_null(pair.predicted, native=pair.native) and not is_null(pair.gold, native=pair.native)
    return pair.gold if lost else NO


def default_value(pairs: Sequence[Pair]) -> Fixed | None:
    """One constant where gold is NULL, at least three times, so that it is unlikely to be a row's own value."""
    filled = {repr(pair.predicted) for pair in pairs}
    if len(pairs) < 3 or len(filled) != 1 or not all(is_null(pair.gold, native=pair.native) for pair in pairs):
        return None
    return Fixed(tuple(pair.gold for pair in pairs), "one constant where gold is NULL")


def number_in_text(pairs: Sequence[Pair]) -> Fixed | None:
    values, ways = [], dict[str, None]()
    exact, shown = list[Decimal](), list[Decimal]()
    for pair in pairs:
        gold = pair.gold_number
        if gold is None or not isinstance(pair.predicted, str) or pair.predicted_number is not None:
            return None
        # A number in words is often rounded: it matches gold to a ten thousandth.
        near = Decimal("1e-4") * abs(gold)
        read = next(((v, way) for v, way in number_readings(pair.predicted) if nearly(v, gold) or abs(v - gold) <= near), None)
        if read is None:
            return None
        values.append(write_number(read[0], pair.gold))
        ways[read[1]] = None
        exact.append(gold)
        shown.append(read[0])
    says = f"the numbers are written {' or '.join(ways)}"
    if all(nearly(a, b) for a, b in zip(exact, shown, strict=True)):
        return Fixed(tuple(values), says)
    lost = lost_digits(exact, shown)
    return Fixed(tuple(values), f"{says}, and are {lost}") if lost else None


def stored_as_text(pairs: Sequence[Pair]) -> Fixed | None:
    """Database values stored as text, or texts stored as values."""
    sides = {(isinstance(pair.gold, str), isinstance(pair.predicted, str)) for pair in pairs}
    if len(sides) != 1 or not all(map(_is_same_as_text, pairs)):
        return None
    says = "values are stored as text" if sides == {(False, True)} else "texts are stored as values of another type"
    return Fixed(tuple(pair.gold for pair in pairs), says)


def _is_same_as_text(pair: Pair) -> bool:
    if not pair.native or isinstance(pair.predicted, str) == isinstance(pair.gold, str) or pair.gold is None or pair.predicted is None:
        return False
    a, b = (Pair(str(value), str(value)) for value in (pair.gold, pair.predicted))
    x, y = a.gold_number, b.gold_number
    if x is not None and y is not None:
        # Whole numbers have no float noise.
        is_whole = x == x.to_integral_value() and y == y.to_integral_value()
        return x == y or (nearly(x, y) and not is_whole)
    moments = instant(str(pair.gold), native=False), instant(str(pair.predicted), native=False)
    if moments[0] is not None and moments[0] == moments[1]:
        return True
    return str(pair.gold).casefold() == str(pair.predicted).casefold()


def truth(value: Any) -> bool | None:
    """Return the boolean that a value means, None if it means neither."""
    text = str(value).strip().lower()
    return True if text in _TRUE else False if text in _FALSE else None


def _truths(pairs: Sequence[Pair], *, same: bool) -> tuple[Any, ...] | None:
    found = [(truth(pair.gold), truth(pair.predicted)) for pair in pairs]
    words = {str(pair.gold).strip().lower() for pair in pairs} | {str(pair.predicted).strip().lower() for pair in pairs}
    # Columns of only 0 and 1 are counts as often as booleans.
    if any(None in pair for pair in found) or words <= {"0", "1", "0.0", "1.0"}:
        return None
    return tuple(pair.gold for pair in pairs) if all((g == p) is same for g, p in found) else None


def truth_form(pairs: Sequence[Pair]) -> Fixed | None:
    values = _truths(pairs, same=True)
    return Fixed(values, "yes and no are written in other words") if values else None


def inverted(pairs: Sequence[Pair]) -> Fixed | None:
    values = _truths(pairs, same=False)
    return Fixed(values, "true and false are exchanged") if values else None


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


def sign(pairs: Sequence[Pair]) -> Fixed | None:
    """Gold's numbers with the opposite sign, rounded or not."""
    found = _made(pairs, lambda gold: -gold)
    if found is None:
        return None
    return Fixed(tuple(pair.gold for pair in pairs), f"the sign is the opposite{found}")


def _made(pairs: Sequence[Pair], change: Callable[[Decimal], Decimal]) -> str | None:
    """Return how the predictions lost digits of changed gold (`, and ...`); empty if they equal it, None if they are something else."""
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
    # Too many numbers round to a number of one digit.
    if any(len(b.as_tuple().digits) < 2 and not nearly(a, b) for a, b in zip(exact, shown, strict=True)):
        return None
    words = lost_digits(exact, shown, to_decimals=True)
    return f", and the numbers are {words}" if words else None


def scaled_by(factors: Sequence[str]) -> Callable[[Sequence[Pair]], Fixed | None]:
    """Return a `fix` for predictions that are gold times, or divided by, one of the factors.

    A share shown as percent is often rounded too. With many factors, some factor always fits one or two rounded numbers.
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
    """One factor for at least three different gold values (with fewer there always is one); exact, or a rate followed by rounding."""
    numbers = [(g, p) for pair in pairs if (g := pair.gold_number) and (p := pair.predicted_number)]
    if len(numbers) < len(pairs) or len({g for g, _ in numbers}) < FEWEST_FACTOR_ROWS:
        return None
    golds, factor = tuple(pair.gold for pair in pairs), numbers[0][1] / numbers[0][0]
    if all(nearly(p / g, factor) for g, p in numbers):
        if nearly(abs(factor), Decimal(1)):
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
    lost = lost_digits([g * value if words == "times" else g / value for g, _ in numbers], [p for _, p in numbers], to_decimals=True)
    return Fixed(golds, f"all numbers are off by one factor and {lost}", f"gold's {words} {plain(value)}") if lost else None


def _exact_rate(numbers: Sequence[tuple[Decimal, Decimal]], factor: Decimal) -> str:
    """Return the factor of fewest digits that gives each prediction within float noise: `times 1.08` or `divided by 1.19`."""
    for places in range(MOST_FACTOR_DIGITS):
        for words, exact in (("times", factor), ("divided by", 1 / factor)):
            rate = exact.quantize(Decimal(1).scaleb(-places))
            if rate and all(nearly(g * rate if words == "times" else g / rate, p) for g, p in numbers):
                return f"{words} {plain(rate)}"
    return f"times {plain(factor)}"


def _rate(numbers: Sequence[tuple[Decimal, Decimal]], half: Decimal) -> tuple[str, Decimal] | None:
    """Return `times` or `divided by` and the factor of fewest digits that gives each prediction to within `half`; None if there is none."""
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
    """Each number a multiple of gold's: sums and counts over rows that a join repeats."""
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
    words = f"{min(copies)} times gold's" if len(copies) == 1 else f"multiples of gold's, {min(copies)} to {max(copies)} times"
    return Fixed(tuple(values), f"the numbers are {words}, as over rows that a join repeats")


def off_by_one(pairs: Sequence[Pair]) -> Fixed | None:
    """Whole numbers that are all one too large or all one too small."""
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
    zero = "" if any(shown) else ", which leaves only 0"
    return Fixed(tuple(pair.gold for pair in pairs), f"the numbers are {words}{zero}")


# A hyphen in front of a number counts as punctuation only after letters, digits or `#`: elsewhere it is the sign.
_SPACES: Final = re.compile(r"(?<=[\w#])[\s_\-\u00a0]+(?=\w)|(?<=\S)[\s_\-\u00a0]+(?=[^\s\d.])|\s+|_")
# A hyphen after a word or punctuation is not a sign.
_FIGURES: Final = re.compile(r"(?:(?<![^\s(])[+-])?\d+(?:[.,:]\d+)*")
# Punctuation that is neither inside a number nor its sign.
_MARKS: Final = re.compile(r"(?<!\d)[^\w\s+-]|[^\w\s](?!\d)")
_PARTS: Final = {"spaces": "spaces, hyphens or underscores", "case": "upper and lower case", "accents": "accents or forms of letters",
                 "punctuation": "punctuation"}  # fmt: skip
_QUOTES: Final = "\"'`\u201c\u201d\u2018\u2019\u00ab\u00bb"


def same_text(part: str) -> Callable[[Sequence[Pair]], Fixed | None]:
    """Return a `fix` for texts that differ in one part of their form, plus as few of the parts before it as needed.

    Parts are `spaces`, `case`, `accents` and `punctuation`. The fix replaces the prediction by gold's text.
    """
    before = list(_PARTS)[: list(_PARTS).index(part)]

    def fix(pairs: Sequence[Pair]) -> Fixed | None:
        texts = [(pair.gold_text, pair.predicted_text) for pair in pairs]
        if not texts or any(gold is None or predicted is None or gold == predicted for gold, predicted in texts):
            return None
        for parts in (set(some) | {part} for n in range(len(before) + 1) for some in combinations(before, n)):
            if all(gold and predicted and _same_without(parts, gold, predicted) for gold, predicted in texts):
                words = [_PARTS[name] for name in _PARTS if name in parts]
                listed = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
                return Fixed(tuple(pair.gold for pair in pairs), f"{listed} differ{'s' if words == ['punctuation'] else ''}")
        return None

    return fix


def _same_without(parts: Collection[str], gold: str, predicted: str) -> bool:
    """Whether two texts are equal, and not empty, without some parts of their form."""
    a, b = (_without(parts, text) for text in (gold, predicted))
    return a == b != ""


def _without(parts: Collection[str], text: str) -> str:
    if "accents" in parts:
        text = bare(text)
    if "case" in parts:
        text = text.casefold()
    if "punctuation" in parts:
        text = _MARKS.sub(" ", text)
        return "".join(text.split()) if "spaces" in parts else " ".join(text.split())
    return squeezed(text) if "spaces" in parts else text


def squeezed(text: str) -> str:
    """Return the text with one plain space for each run of spaces of any kind, and of hyphens or underscores between words."""
    return _SPACES.sub(" ", text).strip()


def quotes(pairs: Sequence[Pair]) -> Fixed | None:
    """Gold's text or number in quotation marks, or gold's quotation marks are missing."""
    for says, marked, bare_side in (
        ("quotation marks around the text are added", "predicted", "gold"),
        ("quotation marks around the text are missing", "gold", "predicted"),
    ):
        sides = [(getattr(pair, marked), getattr(pair, bare_side)) for pair in pairs]
        if sides and all(_is_quoted(quoted, text) for quoted, text in sides):
            return Fixed(tuple(pair.gold for pair in pairs), says)
    return None


def _is_quoted(quoted: Any, text: Any) -> bool:
    if not isinstance(quoted, str) or not isinstance(text, str):
        return False
    outer = quoted.strip()
    return len(outer) >= 2 and outer[0] in _QUOTES and outer[-1] in _QUOTES and outer[1:-1].strip() == text.strip() != ""


def bare(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def in_ascii(text: str) -> str:
    """Return the text forced into ASCII: letters lose their accents, other characters (a long dash, a Greek letter) are dropped."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")


def without_symbols(text: str) -> str:
    """Return the text forced into ASCII if that drops whole characters; unchanged if it would only remove accents."""
    return text if bare(text).isascii() else in_ascii(text)


def characters_lost(pair: Pair) -> Any:
    """Gold without its non-ASCII characters."""
    gold, predicted = pair.gold_text, pair.predicted_text
    if gold is None or predicted is None or gold.isascii() or not predicted.isascii():
        return NO
    lost = {in_ascii(gold).strip(), gold.encode("ascii", "ignore").decode("ascii").strip()}
    return pair.gold if predicted.strip() in lost else NO


def alphanumeric(text: str) -> str:
    """Return letters without case and punctuation, and numbers with theirs: `4.2` and `42` stay different."""
    letters = "".join(c for c in bare(text).casefold() if c.isalpha())
    return f"{letters} {' '.join(_FIGURES.findall(text))}" if letters else ""


def encoding(pairs: Sequence[Pair]) -> Fixed | None:
    """Texts that were read in the wrong encoding, or whose characters are written as HTML entities."""
    texts = [(pair.gold_text, pair.predicted_text) for pair in pairs]
    golds = tuple(pair.gold for pair in pairs)
    if not texts or any(gold is None or predicted is None or gold == predicted for gold, predicted in texts):
        return None
    if all(html.unescape(str(predicted)) == gold for gold, predicted in texts):
        return Fixed(golds, "characters are written as HTML entities")
    for name, shown in (("cp1252", "Windows-1252"), ("latin-1", "Latin-1")):
        if all(_decoded(str(predicted), name) == gold for gold, predicted in texts):
            return Fixed(golds, f"the text was read in the wrong encoding, UTF-8 as {shown}")
    return None


def _decoded(text: str, name: str) -> str | None:
    try:
        return text.encode(name).decode("utf-8")
    except UnicodeError:
        return None


def leading_zeros(pair: Pair) -> Any:
    texts = [str(value).strip() for value in (pair.gold, pair.predicted)]
    if texts[0] == texts[1] or not all(text.isascii() and text.isdigit() for text in texts):
        return NO
    return pair.gold if texts[0].lstrip("0") == texts[1].lstrip("0") else NO


HOUR: Final = DAY // 24
_EPOCH: Final = datetime(1970, 1, 1)
# Nanoseconds per second, millisecond, microsecond and nanosecond.
_CUTS: Final = {"second": 10**9, "minute": 60 * 10**9, "hour": HOUR, "day": DAY, "month": 0, "year": 0}
_TICKS: Final = {10**9: "seconds", 10**6: "milliseconds", 10**3: "microseconds", 1: "nanoseconds"}


def date_form(pairs: Sequence[Pair]) -> Fixed | None:
    """Gold's dates in another form: all in one, or each in one of two."""
    found: list[set[str]] = []
    for pair in pairs:
        gold = instant(pair.gold, native=pair.native)
        if gold is None or pair.predicted is None or str(pair.gold) == str(pair.predicted):
            return None
        forms = {form for at, form in instants(pair.predicted) if at == gold}
        if not forms or instant(pair.predicted, native=pair.native) not in (None, gold):
            return None
        found.append(forms)
    known = sorted(set().union(*found), key=lambda form: (-sum(form in forms for forms in found), form))
    choices = (some for n in (1, 2) for some in combinations(known, n))
    some = next((some for some in choices if all(forms & set(some) for forms in found)), None) if found else None
    return Fixed(tuple(pair.gold for pair in pairs), f"dates are written in another form, as {' or '.join(some)}") if some else None


def day_and_month(pairs: Sequence[Pair]) -> Fixed | None:
    """Dates with day and month exchanged, as `2024-05-03` for `2024-03-05`, in one form."""
    if not pairs or not all(_is_exchanged(pair) for pair in pairs):
        return None
    return Fixed(tuple(pair.gold for pair in pairs), "days and months are exchanged")


def exchanged_days(right: Sequence[Pair]) -> str:
    """Return the scope if only dates with a day of at most 12 were exchanged, and the others of the column are right."""
    fixed = [_day_of(pair.gold) for pair in right]
    days = [day for day in fixed if day is not None and day[0] != day[1]]
    return "wherever the day is at most 12" if days and all(max(day) > 12 for day in days) else ""


def _is_exchanged(pair: Pair) -> bool:
    predicted = {form: _EPOCH + timedelta(microseconds=at // 1000) for at, form in instants(pair.predicted)}
    for at, form in instants(pair.gold):
        gold, other = _EPOCH + timedelta(microseconds=at // 1000), predicted.get(form)
        if other is not None and other != gold and gold.day <= 12 and gold.replace(day=gold.month, month=gold.day) == other:
            return True
    return False


def _day_of(value: Any) -> tuple[int, int] | None:
    """Return (day, month) of a date in either order; None for anything else."""
    at = next(instants(value), None)
    moment = _EPOCH + timedelta(microseconds=at[0] // 1000) if at is not None else None
    return (moment.day, moment.month) if moment is not None else None


def epoch_time(pairs: Sequence[Pair]) -> Fixed | None:
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
                return Fixed(tuple(pair.gold for pair in pairs), says)
    return None


def shifts(pairs: Sequence[Pair]) -> list[int] | None:
    """Return by how many nanoseconds each prediction is late; None if one side is not a time."""
    found = []
    for pair in pairs:
        gold, predicted = instant(pair.gold, native=pair.native), instant(pair.predicted, native=pair.native)
        if gold is None or predicted is None:
            return None
        found.append(predicted - gold)
    return found


def off_by_a_day(pairs: Sequence[Pair]) -> Fixed | None:
    """All dates one day late, or one day early."""
    late = shifts(pairs)
    if not late or len(set(late)) > 1 or abs(late[0]) != DAY:
        return None
    return Fixed(_shifted(pairs, late), f"the dates are one day {'late' if late[0] > 0 else 'early'}")


def time_zone(pairs: Sequence[Pair]) -> Fixed | None:
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
    return Fixed(_shifted(pairs, late), f"the times are {words}, as in another time zone")


def _shift_in_words(size: int) -> str:
    return f"{abs(size) / HOUR:g} h {'late' if size > 0 else 'early'}"


def summer_time(pairs: Sequence[Pair]) -> Fixed | None:
    """Times that are one hour off, all of them in one season; the others of the column are right."""
    late = shifts(pairs)
    season = _season(pairs, [True] * len(pairs)) if late and len(set(late)) == 1 and abs(late[0]) == HOUR else None
    if not late or season is None:
        return None
    summer, name = season
    when = f"in {name} summer time" if summer else f"outside {name} summer time"
    return Fixed(_shifted(pairs, late), f"the times are {_shift_in_words(late[0])}, all of them {when}")


def _season(pairs: Sequence[Pair], marked: Sequence[bool]) -> tuple[bool, str] | None:
    """Return (whether the marked pairs are in summer time, of which zone) if exactly these pairs are in one season; None otherwise.

    On a day on which zones differ the season is unknown, so at least one pair has to be on another day.
    """
    moments = [(instant(pair.gold, native=pair.native) or 0) // 10**9 for pair in pairs]
    for summer, name in ((_european_summer, "European"), (_american_summer, "North American")):
        seasons = [summer(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=moment)) for moment in moments]
        for wanted in (True, False):
            known = [season is (mark is wanted) for season, mark in zip(seasons, marked, strict=True) if season is not None]
            if known and all(known):
                return wanted, name if None not in seasons else f"{name} (some days near its ends aside)"
    return None


def _european_summer(at: datetime) -> bool | None:
    """Last Sunday of March to last Sunday of October; None on these days and the adjacent ones, on which zones differ."""
    return _between(at, _sunday(at.year, 4, 1, -1), _sunday(at.year, 11, 1, -1))


def _american_summer(at: datetime) -> bool | None:
    """Second Sunday of March to first Sunday of November, as since 2007; None on these days and the adjacent ones."""
    return _between(at, _sunday(at.year, 3, 1, 2), _sunday(at.year, 11, 1, 1))


def _between(at: datetime, begin: datetime, end: datetime) -> bool | None:
    if min(abs(at - begin), abs(at - end)) < timedelta(days=2):
        return None
    return begin < at < end


def _sunday(year: int, month: int, day: int, n: int) -> datetime:
    """Return the n-th Sunday on or after a day; with -1 the last one before it."""
    start = datetime(year, month, day, tzinfo=UTC)
    ahead = timedelta(days=(6 - start.weekday()) % 7)
    return start + ahead + timedelta(weeks=n - 1 if n > 0 else n)


def _shifted(pairs: Sequence[Pair], late: Sequence[int]) -> tuple[Any, ...]:
    moments = [instant(pair.predicted, native=pair.native) or 0 for pair in pairs]
    return tuple(write_instant(at - shift, pair.gold) for at, shift, pair in zip(moments, late, pairs, strict=True))


def time_cut(pairs: Sequence[Pair]) -> Fixed | None:
    """Times without their seconds, minutes or hours, or dates without their day or month, as `2024-05-01`, `2024-05` or `2024`."""
    moments = [instant(pair.gold, native=pair.native) for pair in pairs]
    for unit in _CUTS:
        if pairs and all(_is_cut(pair, at, unit) for pair, at in zip(pairs, moments, strict=True)):
            return Fixed(tuple(pair.gold for pair in pairs), f"the times are cut off after the {unit}")
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
    return written == short or (predicted is not None and predicted == instant(first, native=False))
