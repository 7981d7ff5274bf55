"""Find the numbers of a text and compare numbers under the strict rules: by value and by the decimals that they show.

A number is an optional sign (`-`, `−`, `–`, `+`, the words `minus` and `negative`), an optional currency sign, digits with groups of
thousands, decimals, an exponent, an optional `%` (a space may precede it), a unit. `.5` is 0.5. A sign touches its number; after a colon or
an equals sign a space may be between them, but `Berlin - 5` is a dash, `5 - 7` and `5-7` are ranges and `- 5` at the start of a line is a
bullet. Accounting parentheses are a sign only around a currency sign, as the whole answer or as a value after a label (`Net: ($1,250)`):
`(42)`, `(42,)`, `[(42,)]` are 42. Groups of thousands are separated by commas, apostrophes or spaces; `1, 234` and `12,34` are two numbers.
A letter of scale joined to a number is part of it (`42k`, `1.25m`, `42bn` have one reading); separate from it (`42 million`) it leaves two
readings, plain and scaled. Any other letter joined to it that is not a unit (unlike `42s`, `42kg`) makes it a name: `42A`. ISO dates, clock
times and versions are not numbers, nor are identifiers (`V8`, `x12`, `GPT-4`). Digits of any script are read, but superscripts, enclosed
digits and single-character fractions are letters: `4²` is not a number, `12 m²` is 12.

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
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_UP, Context, Decimal, InvalidOperation
from functools import cache, lru_cache
from math import inf, nextafter
from typing import Final, Literal, NamedTuple

from evalsuite.compare.characters import LETTER, digits_only

ZERO_TOL: Final = 1e-9
NOISE_REL: Final = 1e-9
NOISE_FLOOR: Final = 0.005
NOISE_BEYOND: Final = 1e-12
FEWEST_DECIMALS: Final = 2
FIRST_INEXACT: Final = 1 << 53

# Floats decide alone only beyond this share of gold from a limit; otherwise exact arithmetic decides.
_FLOAT_ERROR: Final = 1e-15
# Rounding changes a number by less than this share of it, because at least two digits are significant.
_MOST_ROUNDED: Final = 0.053
# Upper bounds are generous: larger than the true bound by more than any float rounding.
SLACK: Final = 1 + 1e-6
# A distance with more digits than a decimal keeps is never rounded down: 1e-400 is more than 1 away from -1.
_AWAY: Final = Context(rounding=ROUND_UP)


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
        distance = _apart(g, p)
        return within(distance, g, tolerance) or (g == 0 and distance <= _decimal(ZERO_TOL))
    if isinstance(gold, int) and isinstance(predicted, int):
        return gold == predicted
    quick = _by_floats(gold, predicted)
    if quick is not None:
        return quick
    return equal_but_for_noise(gold, predicted) or (isinstance(gold, Number) and is_rounding(gold, predicted))


def equal_but_for_noise(gold: int | Number, predicted: int | Number) -> bool:
    """Whether the numbers differ by float noise only: rules 1 to 4, and 5 without its rounding."""
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
    """Whether a distance from gold is within the check's own tolerance."""
    return distance <= _decimal(tolerance.abs) or distance <= _decimal(tolerance.rel) * abs(gold)


def is_rounding(gold: Number, predicted: int | Number) -> bool:
    """Whether the side that shows fewer decimals may be the rounding of the other; a tie may round either way."""
    shown = decimals_of(predicted)
    coarse = predicted if shown < gold.decimals else gold
    decimals = max(FEWEST_DECIMALS, min(shown, gold.decimals))
    return rounds(gold, predicted, decimals) and abs(exact_of(coarse)) >= Decimal(1).scaleb(1 - decimals)


def rounds(gold: int | Number, predicted: int | Number, decimals: int) -> bool:
    """Whether the numbers differ by at most half a unit of the last of so many decimals."""
    return _apart(exact_of(gold), exact_of(predicted)) <= half_unit(decimals)


def decimals_of(number: int | Number) -> int:
    """How many decimals the number shows."""
    return number.decimals if isinstance(number, Number) else 0


def is_whole(number: int | Number) -> bool:
    """Whether the number is an integer by its value, however it is written."""
    return isinstance(number, int) or number.exact == number.exact.to_integral_value()


@cache
def half_unit(decimals: int) -> Decimal:
    """Half a unit of the last of so many decimals."""
    return Decimal("0.5").scaleb(-decimals)


def reach(predicted: int | Number, tolerance: Tolerance, coarsest: int | None) -> float | None:
    """How far a gold number may be from a predicted one at most; None for one that no float can represent.

    `coarsest` are the fewest decimals among gold's numbers, None if all of them are integers.
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
    # The noise is a share of gold, and gold is at most this much larger than the prediction.
    size *= 1.1
    if coarsest is None:
        return max(min(NOISE_REL * size, NOISE_FLOOR), _FLOAT_ERROR * size, zero) * SLACK
    rounded = min(0.5 * 10.0 ** -max(FEWEST_DECIMALS, min(decimals_of(predicted), coarsest)), _MOST_ROUNDED * size)
    return max(min(NOISE_REL * size, max(NOISE_FLOOR, NOISE_BEYOND * size)), rounded, zero) * SLACK


def _by_floats(gold: int | Number, predicted: int | Number) -> bool | None:
    """The verdict if float arithmetic is certain of it, else None."""
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
    """A tolerance as `details.margin` reports it: None if no tolerance changes the verdict."""
    return needed if 0 < needed < inf else None


def upward(distance: Decimal) -> float:
    """The smallest float that is not below a distance."""
    found = float(distance)
    return found if Decimal(repr(found)) >= distance else nextafter(found, inf)


YEARS: Final = range(1500, 2200)
MAX_SHOWN: Final = 40
# A precision below this, negated, has the same effect: any two numbers are within it.
MOST_PLACES: Final = 308

_LETTERS: Final = {"k": 3, "K": 3, "m": 6, "M": 6, "b": 9, "B": 9, "T": 12, "MM": 6}
_SHORT_WORDS: Final = {"mn": 6, "mln": 6, "mio": 6, "bn": 9, "bln": 9, "tn": 12, "trn": 12}
_WORDS: Final = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
# Letters that are a unit directly after a number: seconds, hours, days, years, grams, litres, tonnes, times.
_UNITS: Final = frozenset("shdyglLtx")
_MONTH: Final = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE: Final = re.compile(
    rf"\b(?:{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?|\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH}(?:,?\s+\d{{4}})?"
    r"|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}/\d{1,2}/\d{4})\b",
    re.IGNORECASE,
)
_ISO: Final = re.compile(r"(?<![\w-])\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s?(?:Z|UTC|[+-]\d{2}:?\d{2})?)?(?![\w-])")
_CLOCK: Final = re.compile(r"(?<![\w:.])(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?(?:\s?[ap]\.?m\b)?(?!\w|:\d)", re.IGNORECASE)
_VERSION: Final = re.compile(r"(?<![\w.])[vV]?\d+(?:\.\d+){2,}(?![\w])")
_MARKER: Final = re.compile(r"^[ \t]*\(?(\d{1,3})[.)][ \t]", re.MULTILINE)
_BY_SPACES: Final = r"|(?: \d{3})+"
_FORM: Final = (
    r"(?<![\w.])"
    rf"(?P<digits>(?:[1-9]\d{{0,2}}(?:(?:,\d{{3}})+|(?:['\u2019]\d{{3}})+{_BY_SPACES})(?!\d)|\d+)(?:\.\d+)?|\.\d+)"
    r"(?P<exponent>[eE][+-]?\d{1,3}(?![\w.]))?"
    rf"(?P<tail>\s?%|\s?(?i:{'|'.join([*_WORDS, *_SHORT_WORDS])})\b|(?:[mb]|\s?[kKMB])\b|(?:st|nd|rd|th)\b"
    rf"|[^\W\d_{LETTER}]+{LETTER}?(?![\w-]))?(?P<glued>[\w])?"
)
_NUMBER: Final = re.compile(_FORM)
_NUMBER_APART: Final = re.compile(_FORM.replace(_BY_SPACES, ""))
_PARTING: Final = re.compile(r"[,'\u2019 ]")
_ODD_PARTING: Final = re.compile(r"['\u2019 ]")
_BEFORE: Final = re.compile(r"(?P<sign>[-+])?(?P<space>\s?)(?P<currency>[$€£¥]|USD|EUR|GBP)?(?P<gap>\s?)(?P<late>[-+])?$")
# A minus in words; after a number it subtracts: `5 minus 3`.
_SIGN_WORD: Final = re.compile(
    r"(?:^|(?P<before>\S)[^\S\n]*)(?<![\w-])(?:minus|negative)[^\S\n]+(?:[$€£¥]|USD\s|EUR\s|GBP\s)?$", re.IGNORECASE
)
# The number after these words is not the answer: `not 42`, `more than 42`, `<42`; `<42>` is the number.
_DENIED: Final = re.compile(
    r"(?:(?:\bnot|n['\u2019]t|\b(?:more|less|fewer|greater|higher|lower) than)[^\S\n]+"
    r"|(?:!=|\u2260|<(?!-))\s?)[-+]?(?:[$€£¥]|USD|EUR|GBP)?\s?$",
    re.IGNORECASE,
)
# A dash that touches a number and nothing before it.
_DASH_SIGN: Final = re.compile(r"(?<![\w)\]%])[\u2012\u2013](?=[$€£¥]?\.?\d)")
_ACCOUNTING: Final = re.compile(
    r"(?P<before>(?:^|[:=]|\b(?:is|was|are|were|of|be|to|at))\s*[\"'*_`]*)"
    r"\((?P<amount>(?:[$€£¥]|(?:USD|EUR|GBP)\s)\s?(?=[\d.])[\d.,' ]*\w*)\)"
)
# What may be between a hyphen and the beginning of a word that it joins to a number; no identifier is longer.
_LONGEST_WORD: Final = 64
_WORD_END: Final = re.compile(r"[\w-]*\w$")
_MOST_DIGITS: Final = 400
_CURRENCIES: Final = ("USD", "EUR", "GBP")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A number of the answer: its readings (one, or two if a scale follows it), its text, and whether it is only context.

    A percentage is read as a share, `shift` decimals smaller than it is written; `is_scaled` means that the only reading is the scaled one.
    `form` names a way of writing that the official rules read differently.
    """

    readings: tuple[int | Number, ...]
    text: str
    shift: int = 0
    is_scaled: bool = False
    context: bool = False
    year: bool = False
    form: Literal["percent form", "number form"] | None = None


@lru_cache(maxsize=64, typed=True)
def read_number(item: str | float) -> int | Number:
    """A gold number: text with thousands, `%` and a sign, or a JSON number. Raises ValueError if it is not a number."""
    text = unicodedata.normalize("NFKC", str(item)).replace(",", "").replace("\u2212", "-").strip()
    scale = 0
    if text.endswith("%"):
        text, scale = text[:-1].strip(), -2
    try:
        exact = Decimal(text).scaleb(scale)
    except InvalidOperation as error:
        raise ValueError(f"{item!r} is no number") from error
    return _as_number(exact, is_plain=scale == 0 and text.lstrip("+-").isdigit())


@lru_cache(maxsize=1)
def find_numbers(answer: str, apart: frozenset[str] = frozenset()) -> tuple[Found, ...]:
    """The numbers of a text in order; years are marked but not yet treated as context.

    Groups of digits separated by spaces are one number, unless `apart` contains one of the groups (it is itself a gold). The result for the
    last text is cached, because several checks read the same answer.
    """
    return tuple(_numbers_of(answer, apart))


def _numbers_of(answer: str, apart: frozenset[str]) -> Iterator[Found]:
    text = _DASH_SIGN.sub(_as_sign, digits_only(answer).replace("\u2212", "-").replace("\u2010", "-"))
    text = _ACCOUNTING.sub(r"\g<before>-\g<amount>", text)
    context = _Spans([match.span() for match in _DATE.finditer(text)] + [match.span(1) for match in _MARKER.finditer(text)])
    skipped = _Spans([match.span() for pattern in (_ISO, _CLOCK, _VERSION) for match in pattern.finditer(text)])
    at = 0
    while (match := _NUMBER.search(text, at)) is not None:
        if not apart.isdisjoint(match["digits"].split(" ")):
            match = _NUMBER_APART.match(text, match.start()) or match
        beyond = skipped.end_at(match.start())
        at = beyond or match.end()
        if beyond is None and match["glued"] is None and _is_quantity(match):
            before = text[max(0, match.start() - _LONGEST_WORD) : match.start()]
            sign = _sign(before)
            if sign is not None and not (_DENIED.search(before) and text[match.end() : match.end() + 1] != ">"):
                yield _number_found(match, sign, context.end_at(match.start()) is not None)


class _Spans:
    """Spans of a text, found by position."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self._spans = sorted(spans)
        self._starts = [start for start, _ in self._spans]

    def end_at(self, at: int) -> int | None:
        """The end of the last span that begins at or before `at`, if it ends beyond it."""
        k = bisect_right(self._starts, at) - 1
        return self._spans[k][1] if k >= 0 and self._spans[k][1] > at else None


def _as_sign(match: re.Match[str]) -> str:
    """A minus for a dash, unless it follows a number: `5 –7` is a range."""
    return match[0] if match.string[: match.start()].rstrip()[-1:].isdigit() else "-"


def sign_in_words(before: str) -> bool:
    """Whether a text ends with `minus` or `negative` as the sign of what follows."""
    match = _SIGN_WORD.search(before)
    return match is not None and not (match["before"] or "").isdigit()


def _is_quantity(match: re.Match[str]) -> bool:
    """Whether the letters joined to the digits leave them a number: a single letter that is neither unit nor scale makes a name of them."""
    tail = match["tail"] or ""
    return len(tail) != 1 or not (tail.isascii() and tail.isalpha()) or tail in _UNITS or tail in _LETTERS


def _number_found(match: re.Match[str], sign: str, in_context: bool) -> Found:
    digits, tail, exponent = match["digits"], (match["tail"] or "").strip(), match["exponent"] or ""
    plain = Decimal(_PARTING.sub("", digits) + exponent)
    plain = -plain if sign == "-" else plain
    if tail == "%":
        plain = plain.scaleb(-2)
    is_plain = tail != "%" and "." not in digits and not exponent
    readings, power = [_as_number(plain, is_plain=is_plain)], _power(tail)
    is_scale = bool(power and match["tail"]) and match["tail"] == tail
    if power:
        # After a space the word may be a unit: "42 million" may be compared with a gold in millions.
        readings = [*(() if is_scale else readings), _as_number(plain.scaleb(power), is_plain=False)]
    return Found(
        readings=tuple(readings),
        is_scaled=is_scale,
        text=(sign if sign == "-" else "") + _cut(digits) + exponent + (tail if tail == "%" or is_scale else ""),
        shift=2 if tail == "%" else 0,
        context=in_context or tail in ("st", "nd", "rd", "th"),
        year=_is_year(digits) and not (tail or exponent or sign),
        form=_form_of(match, digits, tail),
    )


def _is_year(digits: str) -> bool:
    return digits.isdigit() and len(digits) == 4 and int(digits) in YEARS


def _form_of(match: re.Match[str], digits: str, tail: str) -> Literal["percent form", "number form"] | None:
    """A form that the official rules misread: percentage, exponent, no leading digit, other separators than commas, joined letters."""
    if tail == "%":
        return "percent form"
    is_odd = match["exponent"] or not digits[0].isdigit() or _ODD_PARTING.search(digits) or match["tail"]
    return "number form" if is_odd else None


def _sign(before: str) -> str | None:
    """The sign in front of a number, "" without one, None if a hyphen joins it to a word; a hyphen after digits alone is a range."""
    match = _BEFORE.search(before)
    if match is None:
        return ""
    if sign_in_words(before):
        return "-"
    late = match["late"]
    sign, place = (late, match.start("late")) if late else (match["sign"], match.start("sign"))
    if sign is None:
        return ""
    previous = before[:place]
    if not late and (match["space"] or (match["gap"] and not match["currency"])) and not previous.rstrip().endswith((":", "=")):
        return ""
    word = _WORD_END.search(previous)
    if word is None:
        return sign
    if not any(map(str.isalpha, word[0])):
        return ""
    if word[0].endswith(_CURRENCIES):
        return sign
    return None if sign == "-" else ""


def _power(tail: str) -> int:
    """The number of digits by which a scale moves the point, 0 for any other text."""
    return _LETTERS.get(tail) or _SHORT_WORDS.get(tail.lower()) or _WORDS.get(tail.lower(), 0)


def _cut(digits: str) -> str:
    return digits if len(digits) <= MAX_SHOWN else digits[: MAX_SHOWN - 3] + "..."


def _as_number(exact: Decimal, *, is_plain: bool) -> int | Number:
    """The number; an integer if written as one, without point, exponent and percent sign. Raises ValueError for infinities."""
    if not exact.is_finite():
        raise ValueError("a number must be finite")
    return int(exact) if is_plain and exact.adjusted() < _MOST_DIGITS else number_of(exact)
