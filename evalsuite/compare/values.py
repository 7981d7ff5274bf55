"""Read the values of a text as a careful person does: numbers, money, percentages, dates, instants, booleans and nulls.

A text with two readings has two candidates: `42 million` is 42,000,000 and, because a question may ask for millions, 42; `01/02/2024` is
two days. `1,234` is 1234 and `1.234` is 1.234 in a check; other callers see `certain` and make no claim where it is False.

In a sentence a number is an optional sign (`-`, `−`, `–`, `+`, the words `minus` and `negative`), an optional currency sign, digits
with groups of thousands, decimals, an exponent (`1.2e6`, `1.2 × 10^6`), an optional `%` and a unit. A sign touches its number; after a
colon or an equals sign a space may be between them, but `Berlin - 5` is a dash, `5 - 7` and `5-7` are ranges and `- 5` at the start of
a line is a bullet. Accounting parentheses are a sign only around a currency sign, as the whole answer or as a value after a label
(`Net: ($1,250)`): `(42)`, `(42,)`, `[(42,)]` are 42. A letter of scale joined to a number is part of it (`42k`, `1.25m`, `42bn` have
one reading). Any other letter joined to it that is not a unit (unlike `42s`, `42kg`) makes it a name: `42A`. `3/4` is 0.75, and `17 out
of 40` is 17, or 0.425 for a gold that may be a percentage. ISO dates, clock times and versions are not numbers, nor are identifiers
(`V8`, `x12`, `GPT-4`, `42-A`) and arguments of functions (`sqrt(42)`). Digits of any script are read, but superscripts, enclosed digits and
single-character fractions are letters: `4²` is not a number, `12 m²` is 12. What an answer denies (`not 42`, `~~42~~`) or uses as a bound
(`at least 42`, `almost 42`) is not a number of it. A whole answer `- 42` is -42 or, after a bullet, 42.
"""

import math
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from evalsuite.compare.characters import LETTER, digits_only, is_joined
from evalsuite.compare.claims import CURRENCY, NEAR, REACH, Claims, ends_with
from evalsuite.compare.dates import DAYS, ISO_DATES, MONTHS, SMALL_WORDS, SPOKEN_DATES, fold_letters, instant_of
from evalsuite.compare.numbers import Number, as_number, digits_of_words, exact_decimal, exact_of, negated, number_of, shifted
from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.import_ref import lazy_pattern

if TYPE_CHECKING:
    from fractions import Fraction

YEARS: Final = range(1500, 2200)
MAX_SHOWN: Final = 40

_LETTERS: Final = {"k": 3, "K": 3, "m": 6, "M": 6, "b": 9, "B": 9, "T": 12, "MM": 6}
_SHORT_WORDS: Final = {
    "mn": 6,
    "mln": 6,
    "mio": 6,
    "bn": 9,
    "bln": 9,
    "tn": 12,
    "trn": 12,
    "millones": 6,
    "millionen": 6,
    "milliarden": 9,
    "mrd": 9,
    "lakh": 5,
    "crore": 7,
}
SCALE_WORDS: Final = {
    "thousand": 3,
    "million": 6,
    "billion": 9,
    "trillion": 12,
}
# Signs behind a number that is a share, with the decimals by which it is smaller than it is written.
SHARE_SIGNS: Final = {
    "%": 2,
    "‰": 3,
}
_SHARE_WORDS: Final = {"percent": 2, "per cent": 2, "pct": 2}
# A number after one of these is a name of something.
_NUMBERED: Final = frozenset(
    {"clause", "invoice", "page", "line", "section", "article", "chapter", "figure", "room", "ticket", "error", "code"}
)
# Letters that are a unit directly after a number: seconds, hours, days, years, grams, litres, tonnes, times.
_UNITS: Final = frozenset("shdyglLtx")
# Of limited length, as are chains of terms: what is tried again from each of its own places would cost by the square of it.
_TERM: Final = r"\(?[$€£¥]?\d[\d.,]{0,40}\)?"
# Markers of lists and of the output of tools, the terms of `40 + 2 = 42` and of `58 != 59`.
_LABEL: Final = lazy_pattern(
    r"^[ \t]*\(?(\d{1,3})[.)][ \t]|^\[(\d{1,3})\][ \t]|^(\d{1,2}) {2,}(?=[-+]?[\d.,]+$)"
    rf"|{_TERM}(?:\s?(?:[-+*/×x÷·^]|\*\*|plus|minus|times|divided by)\s?{_TERM}){{1,100}}\s?(?:=|equals|is|makes|gives)(?=\s?[-+$€£]?\d)"
    rf"|=\s?{_TERM}(?:\s?[-+*/×x÷·^]\s?{_TERM}){{1,100}}(?!\s?=)|{_TERM}\s?(?:!=|≠|<>)\s?{_TERM}"
    r"|(?i:\b(?:step|question|item|part|page|figure|table|section|chapter|example|phase|task)) (\d{1,4})(?=[:)])",
    re.MULTILINE,
)
_CLOCK: Final = lazy_pattern(
    r"(?<![\w:.])(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?(?:\s?[ap]\.?m\b)?(?!\w|:\d)|(?<![\w:.])(?:0?[1-9]"
    r"|1[0-2])\s?[ap]\.?m\b",
    re.IGNORECASE,
)
# Numbers that say something else: days of written dates, how sure the answer is.
_CONTEXT: Final = lazy_pattern(
    rf"{SPOKEN_DATES.pattern}|^\((\d+) rows?(?: in set)?\)\s*$|\bcolumn (\d+)\b|^Out\[(\d+)\]"
    r"|\bconfiden(?:ce|t)\b[^\d\n]{0,12}(\d+(?:\.\d+)?)|(?<!\d)(\d+(?:\.\d+)?)\s?%\s(?:confiden|sure\b|certain)",
    re.IGNORECASE | re.MULTILINE,
)
# Points between groups of three digits are thousands, except in an address of four numbers.
_VERSION: Final = lazy_pattern(
    r"(?<![\w.])(?![1-9]\d{0,2}(?:\.\d{3}){2,}(?![\w.]*\d))[vV]?\d+(?:\.\d+){2,}(?![\w])|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])"
    r"|(?<![\w-])(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?![\w-])|&#\d+;"
)
_NO_NUMBER: Final = lazy_pattern("|".join(pattern.pattern for pattern in (ISO_DATES, _CLOCK, _VERSION)), re.IGNORECASE)
_BY_SPACES: Final = r"|(?: \d{3})+"
_BY_COMMAS: Final = r"|(?:\d+,(?:\d{1,2}|\d{4,})|0,\d+)(?![\d,]|\.\d)"
_FORM: Final = (
    r"(?<![\w.])"
    r"(?P<digits>"
    # Points between groups and a decimal comma: 1.234,50 and 1.250.000.
    r"[1-9]\d{0,2}(?:\.\d{3})+,\d+(?![\d,])|[1-9]\d{0,2}(?:\.\d{3}){2,}(?!\.?\d)"
    rf"|[1-9]\d{{0,2}}(?:(?:['\u2019]\d{{3}})+{_BY_SPACES}),\d{{1,2}}(?![\d,])"
    # A lakh of more digits is a list of numbers, of which each would be read to its end.
    rf"|(?:[1-9]\d?(?:,\d{{2}}){{1,150}},\d{{3}}(?![\d,])|[1-9]\d{{0,2}}(?:(?:,\d{{3}})+|(?:['\u2019]\d{{3}})+{_BY_SPACES})(?!\d))(?:\.\d+)?"
    rf"{_BY_COMMAS}|\d+(?:\.\d+)?|\.\d+)"
    r"(?P<exponent>[eE][+-]?\d{1,3}(?!\w|\.\d)|(?<=(?<!\w)10)(?:\^|\*\*)\{?\d{1,2}(?!\d)\}?|\s?(?:[x×*·⋅]|\\times"
    r"|\\cdot)\s?10(?:\^|\*\*)[({]?[+-]?\d{1,3}(?!\d)[)}]?)?"
    rf"(?P<tail>\s?(?:\\?[{''.join(SHARE_SIGNS)}])|\s?(?i:percent|per\scent|pct)\b"
    rf"|\s?(?i:{'|'.join([*SCALE_WORDS, *_SHORT_WORDS])})\b|(?:[mb]|\s?[kKMB])\b|(?:st|nd|rd|th)\b(?!-\w)"
    rf"|[^\W\d_{LETTER}]+{LETTER}?(?![\w-]))?(?P<glued>[\w])?"
)
_NUMBER: Final = lazy_pattern(_FORM)
_NUMBER_APART: Final = lazy_pattern(_FORM.replace(_BY_SPACES, "").replace(_BY_COMMAS, ""))
_FRACTION: Final = lazy_pattern(r"(?<![\w/.,:$€£¥-])(?:(?P<whole>\d{1,3})\s)?(?P<over>\d{1,3})/(?P<under>[1-9]\d{0,2})(?![\w/]|[.,]\d)")
_PART_OF: Final = lazy_pattern(r"(?:\s[^\W\d]+)?\s\(?(?:out\s)?of\s(?:the\s|all\s|a\stotal\sof\s)?(?P<total>\d[\d,]*)(?![\w%]|[.:]\d)")
_PARTING: Final = lazy_pattern(r"[,'\u2019 ]")
_ONE_MARK: Final = lazy_pattern(r"[1-9]\d{0,2}[.,]\d{3}")
_ODD_PARTING: Final = lazy_pattern(r"['\u2019 ]")
_POWER: Final = lazy_pattern(r"[+-]?\d+(?=\D*$)")
_BEFORE: Final = lazy_pattern(rf"(?P<sign>[-+])?(?P<space>[^\S\n]?)(?P<currency>{CURRENCY})?(?P<gap>[^\S\n]?)(?P<late>[-+])?\Z")
# A minus in words; after a number it subtracts: `5 minus 3`.
_SIGN_WORD: Final = lazy_pattern(
    r"(?:^|(?P<before>\S)[^\S\n]*)(?<![\w-])(?:minus|negative|menos|moins)[^\S\n]+(?:[$€£¥]|USD\s|EUR\s|GBP\s)?$", re.IGNORECASE
)
# Functions whose value is another number, before their argument; a wrapper such as `int` or `SUM` leaves its only argument as it is.
_WRAPPERS: Final = (
    "int|integer|bigint|float|double|decimal|number|numeric|str|string|round|abs|sum|count|total|avg|mean|median|min|max|cast|print|return|echo"
    "|answer|result|value|output|row|list|tuple|array|set|text"
)
_FUNCTION: Final = lazy_pattern(
    r"(?:\b(?i:sqrt|cbrt|log(?:2|10)?|ln|exp|a?(?:sin|cos|tan))[^\S\n]?[({]|[\u221a\u221b]"
    r"|\b(?i:twice|half(?: of)?|double|triple|(?:third|quarter|root|square|log|times|multiple) of) "
    rf"|(?<![\w.])(?!(?i:{_WRAPPERS}|[a-z_]{{3,}}s)\(|(?:np|numpy|decimal)\.)(?:[a-z_][\w.]*|[A-Z])\()[^\S\n]?[-+]?$"
)
# A capital letter makes a name of the number before it, unless it is the sign of a unit: `42-A`, but `42-V`. Others make another number.
_NAME_BEHIND: Final = lazy_pattern(
    r"\s(?:squared|cubed|dozen|hundred|pi|and (?:an? |one |two |three )?(?:half|halves|quarters?|thirds?)"
    r"|(?:plus|minus|less|times) (?:one|two|three))\b|\s?(?:[π万萬億亿兆千만억조천]|ではな|ではあ|じゃな|でない|以[上下内]|未[满滿])"
    r"|[-/](?:[A-FH-JN-SUX-Z]|[A-Z]+\d\w*)(?![\w-])"
)
# `1_000_000`, `40..44` and `USD5`.
_JOINED_DIGITS: Final = lazy_pattern(r"(?<=\d)(?:_(?=\d{3}(?!\d))|\.\.\.?(?=\d))|\b(?:USD|EUR|GBP|CHF)(?=\d)")
_DASH_APART: Final = lazy_pattern(r"\s*-[^\S\n]+[^\s-]\S*\s*")
# A dash that touches a number and nothing before it.
_DASH_SIGN: Final = lazy_pattern(rf"(?<![\w)\]%])[\u2012\u2013](?=(?:(?:{CURRENCY})\s?)?\.?\d)")
# Markdown's other signs of emphasis: `__42__` and `_42_`, whose signs would otherwise be part of a name.
_EMPHASIS: Final = lazy_pattern(r"(?<!\w)(__?)(?=[^\s_])([^_\n]{1,80})(?<!\s)\1(?!\w)")
_ACCOUNTING: Final = lazy_pattern(
    r"(?P<before>(?:^|[:=]|\b(?:is|was|are|were|of|be|to|at))\s*[\"'*_`]*)"
    rf"\((?P<amount>(?:{CURRENCY})\s?(?=[\d.])[\d.,' ]{{0,60}}\w{{0,10}})\)"
)
# How many surroundings of numbers are known: a text may repeat one a hundred thousand times.
_MOST_KEPT: Final = 1000
_SCALED_END: Final = lazy_pattern(r"(?<![\w.])\d[\d.,]*(?:[kKmMB]|bn)$")
_WORD_END: Final = lazy_pattern(r"[\w-]*\w$")
_CURRENCIES: Final = ("USD", "EUR", "GBP", "US$")

Kind = Literal["number", "percent", "money", "date", "datetime", "duration", "boolean", "null", "text"]
Role = Literal["", "context", "label", "denied"]
# Ordinals.
_ROLES: Final[Mapping[str, Role]] = dict.fromkeys(("st", "nd", "rd", "th"), "context")


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A value in a text.

    Attributes:
        kind: what it is.
        candidates: the readings that a check takes. Numbers are int or `Number`; a percentage is a share.
        others: readings in another convention, which no check takes: 1.234 for `1,234`.
        text: the value as it is written, shortened.
        span: where it begins and ends in the text.
        share: `17 out of 40` as a share; None without a whole.
        shift: by how many decimals the value is smaller than it is written (2 for a percentage).
        role: `context` (an ordinal, part of a date) names a gold only in a short answer, `label` (a list marker, the whole of a share) only
            next to another gold, `denied` names none.
        is_year: whether it can be a year.
        is_scaled: whether the only reading is the scaled one (`42k`).
        form: a way of writing that the official rules read differently.
    """

    kind: Kind = "number"
    candidates: tuple[int | Number, ...]
    others: tuple[Number, ...] = ()
    text: str
    span: tuple[int, int]
    share: Number | None = None
    shift: int = 0
    role: Role = ""
    is_year: bool = False
    is_scaled: bool = False
    form: Literal["percent form", "number form"] | None = None

    @property
    def certain(self) -> bool:
        """Whether there is only one reading."""
        return len(self.candidates) == 1 and not self.others


@lru_cache(maxsize=64, typed=True)
def read_number(item: str | float) -> int | Number:
    """A gold number: text with thousands, `%` and a sign, or a JSON number. Raises ValueError if it is not a number."""
    text = unicodedata.normalize("NFKC", str(item)).replace(",", "").replace("\u2212", "-").strip()
    scale = 0
    if text.endswith("%"):
        text, scale = text[:-1].strip(), -2
    try:
        exact = shifted(exact_decimal(text), scale)
    except ArithmeticError as error:
        raise ValueError(f"{item!r} is no number") from error
    return as_number(exact, is_plain=scale == 0 and text.lstrip("+-").isdigit())


def find_numbers(answer: str, short_golds: frozenset[str] = frozenset(), *, denied: bool = False, most: float = math.inf) -> list[Value]:
    """The numbers of a text in order; years are marked but not yet treated as context.

    Args:
        answer: the text.
        short_golds: golds of few digits. Groups of digits separated by spaces, and numbers around a comma or a slash, are one number
            unless one of the groups is in it and the whole is not.
        denied: whether to return the numbers that the text denies or uses as a bound (`not 42`) instead of those that it states.
        most: after so many different values that it states the rest of the text is not read.
    """
    return [value for value in _all_numbers(answer, short_golds, most) if (value.role == "denied") == denied]


@lru_cache(maxsize=1)  # several checks read the same answer
def _all_numbers(answer: str, short_golds: frozenset[str], most: float) -> tuple[Value, ...]:
    if answer.isascii() and answer.replace(".", "", 1).isdigit() and (match := _NUMBER.fullmatch(answer)) is not None:
        return (_number_in(match, "", "", None),)  # most answers are a number with nothing around it
    text = _in_plain_signs(answer)
    if not any(map(str.isdigit, text)):
        text = digits_of_words(text)
    values, different = [], set[int | Number]()
    for value in _numbers_of(text, short_golds):
        values.append(value)
        different.update([] if value.role or value.is_year else value.candidates[:1])
        if len(different) > most:
            break
    return (_of_either_sign(values[0]),) if len(values) == 1 and _DASH_APART.fullmatch(text) else tuple(values)


def _in_plain_signs(answer: str) -> str:
    """The text with ASCII digits, one minus sign, no amounts in accountants' brackets and no underscores of Markdown."""
    if not answer.isascii():
        answer = _RAISED_POWER.sub(_write_power, answer)
    plain = digits_only(answer).replace("\u2212", "-").replace("\u2010", "-")
    # A dash is a minus unless it follows a number: `5 –7` is a range.
    text = _DASH_SIGN.sub(lambda m: m[0] if plain[max(0, m.start() - NEAR) : m.start()].rstrip()[-1:].isdigit() else "-", plain)
    text = _JOINED_DIGITS.sub(lambda m: "" if m[0] == "_" else " - " if m[0][0] == "." else m[0] + " ", text)
    return _EMPHASIS.sub(r"*\g<2>*", _ACCOUNTING.sub(r"\g<before>-\g<amount>", text))


def _numbers_of(text: str, short_golds: frozenset[str]) -> Iterator[Value]:
    context, labels, skipped = (_Spans(pattern, text) for pattern in (_CONTEXT, _LABEL, _NO_NUMBER))
    claims = Claims(text)
    known: dict[tuple[Role, str, str], Value] = {}
    at = total_at = 0
    while (match := _next_number(text, at, short_golds)) is not None:
        start = match.start()
        skip_end = skipped.end_at(start)
        at = skip_end or match.end()
        if skip_end is not None:
            continue
        is_label = start < total_at or labels.end_at(start) is not None
        role: Role = "label" if is_label else "context" if context.end_at(start) is not None else ""
        surroundings = (role, text[max(0, start - REACH) : start], text[start : at + REACH])
        fraction = None if role else _FRACTION.match(text, start)
        if (value := known.get(surroundings)) is not None:
            yield replace(value, span=match.span("digits"))
        elif fraction is not None and short_golds.isdisjoint(fraction.group("over", "under")):
            at = fraction.end()
            yield _fraction(fraction, "denied" if claims.leaves_out(*fraction.span()) else "")
        elif (sign := _sign_of(match)) is not None:
            role = "denied" if claims.leaves_out(*match.span()) else role
            part = _whole_of(match, role)
            total_at = total_at if part is None else part.end()
            is_plain = part is None and match[0].isdigit()
            yield (value := _plain_number(match, sign, role) if is_plain else _number_in(match, sign, role, part))
            if part is None and len(known) < _MOST_KEPT:
                known[surroundings] = value


def _next_number(text: str, at: int, short_golds: frozenset[str]) -> re.Match[str] | None:
    match = _NUMBER.search(text, at)
    if match is not None and short_golds and _is_apart(match["digits"], short_golds):
        return _NUMBER_APART.match(text, match.start()) or match
    return match


def _whole_of(match: re.Match[str], role: Role) -> re.Match[str] | None:
    """The whole that a number is a part of: ` out of 40`."""
    return None if role or match["exponent"] else _PART_OF.match(match.string, match.end())


def _is_apart(digits: str, golds: frozenset[str]) -> bool:
    """Whether digits with separators are several numbers: one group is a gold, and the whole is none (42 for `42,00`). `12,12` is 12.12."""
    groups = _PARTING.split(digits)
    if golds.isdisjoint(groups) or ("," in digits and len(groups[-1]) < 3 and groups == groups[:1] * 2):
        return False
    return golds.issuperset(groups) or format(Decimal(plain_digits(digits) or "NaN").normalize(), "f") not in golds


def _sign_of(match: re.Match[str]) -> str | None:
    """The sign of a number, "" without one; None if the match is part of a name or the argument of a function."""
    tail = match["tail"] or ""
    # A single letter that is neither unit nor scale makes a name of the digits.
    is_name = len(tail) == 1 and tail.isascii() and tail.isalpha() and tail not in _UNITS and tail not in _LETTERS
    is_another = any(_NAME_BEHIND.match(match.string, end) for end in (match.end(), match.end("digits")))
    if is_name or is_another or match["glued"] is not None or _is_argument(match.string, match.start()):
        return None
    return _sign(match.string[max(0, match.start() - NEAR) : match.start()])


def _is_argument(text: str, start: int) -> bool:
    """Whether a number that begins here is the argument of a function."""
    before = text[max(0, start - NEAR) : start]
    return ends_with(before, "({\u221a\u221b") and _FUNCTION.search(before) is not None


class _Spans:
    """Spans of a text, found by positions that ascend; no more of the text is searched than they need."""

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self._matches = pattern.finditer(text)
        self._span = self._next = (-1, -1)

    def end_at(self, at: int) -> int | None:
        """The end of the last span that begins at or before `at`, if it ends beyond it."""
        while self._next[0] <= at:
            self._span = self._next
            match = next(self._matches, None)
            self._next = (1 << 62, 0) if match is None else match.span(match.lastindex or 0)
        return self._span[1] if self._span[1] > at else None


def sign_in_words(before: str) -> bool:
    """Whether a text ends with `minus` or `negative` as the sign of what follows."""
    match = _SIGN_WORD.search(before) if ends_with(before, "") else None
    return match is not None and not (match["before"] or "").isdigit()


def _number_in(match: re.Match[str], sign: str, role: Role, part: re.Match[str] | None) -> Value:
    digits, exponent, tail = match["digits"], match["exponent"] or "", match["tail"] or ""
    is_joined, tail = tail == tail.strip(), tail.strip().lstrip("\\")
    shift = SHARE_SIGNS.get(tail) or _SHARE_WORDS.get(tail.lower(), 0)
    plain = shifted(_exact_value(digits, exponent, sign), -shift)
    scale = _power(tail)
    is_scale = is_joined and scale > 0
    number = as_number(plain, is_plain=not (shift or exponent) and plain.as_tuple().exponent == 0)
    # After a space the word may be a unit: "42 million" may be compared with a gold in millions.
    scaled = as_number(shifted(plain, scale), is_plain=False)
    whole = Decimal(part["total"].replace(",", "") if part else 0)
    candidates = (scaled,) if is_scale else (number, scaled) if scale else (number,)
    return Value(
        kind="percent" if shift else "number",
        candidates=candidates,
        others=_other_readings(digits, sign) if match["tail"] is match["exponent"] is None else (),
        is_scaled=is_scale,
        text=sign.strip("+") + _cut_digits(digits) + exponent + tail * (tail == "%" or is_scale),
        span=match.span("digits"),
        share=number_of(plain / whole) if whole else None,
        shift=shift,
        role=role or _ROLES.get(tail, ""),
        is_year=(_is_year(digits) and not (tail or exponent or sign)) or _is_id(match),
        form="percent form" if shift else _odd_form(match, digits),
    )


def _plain_number(match: re.Match[str], sign: str, role: Role) -> Value:
    """Only digits, as most numbers are: a text can contain 300,000 of them."""
    minus, is_year = sign.strip("+"), (_is_year(match[0]) and not sign) or _is_id(match)
    number = as_number(Decimal(minus + match[0]), is_plain=True)
    return Value(candidates=(number,), text=minus + _cut_digits(match[0]), span=match.span(), role=role, is_year=is_year)


def _of_either_sign(value: Value) -> Value:
    """A number after a dash and a space: a minus, or a bullet."""
    negative = tuple(-number if isinstance(number, int) else number_of(negated(number.exact)) for number in value.candidates)
    return replace(value, candidates=(*value.candidates, *negative))


def _exact_value(digits: str, exponent: str, sign: str) -> Decimal:
    power = int(_POWER.findall(exponent)[-1]) if exponent else 0
    mantissa = "1" if exponent.startswith(("^", "**")) else plain_digits(digits.replace("\u2019", "'")) or "NaN"
    plain = shifted(Decimal(mantissa), power)
    return negated(plain) if sign == "-" else plain


def _other_readings(digits: str, sign: str) -> tuple[Number, ...]:
    """`1,234` as 1.234, and `1.234` as 1234."""
    if not _ONE_MARK.fullmatch(digits):
        return ()
    plain = digits.replace(",", ".") if "," in digits else digits.replace(".", "")
    return (number_of(_exact_value(plain, "", sign)),)


def _fraction(match: re.Match[str], role: Role) -> Value:
    """`3/4` and `1 1/2`."""
    value = int(match["whole"] or 0) + Decimal(match["over"]) / Decimal(match["under"])
    return Value(candidates=(number_of(value),), text=match[0], span=match.span(), role=role, form="number form")


def _is_year(digits: str) -> bool:
    return digits.isdigit() and len(digits) == 4 and int(digits) in YEARS


def _is_id(match: re.Match[str]) -> bool:
    """Whether the word before a number makes a name of it: `invoice 5521`."""
    before = match.string[max(0, match.start() - 12) : match.start()]
    return before[-1:] == " " and before[-2:-1].isalpha() and before.split()[-1].lower().lstrip("([") in _NUMBERED


def _odd_form(match: re.Match[str], digits: str) -> Literal["number form"] | None:
    """The form of a number that the official rules misread: exponent, no leading digit, other separators than commas, joined letters."""
    is_odd = match["exponent"] or not digits[0].isdigit() or _ODD_PARTING.search(digits) or match["tail"]
    return "number form" if is_odd or plain_digits(digits) != digits.replace(",", "") else None


def _sign(before: str) -> str | None:
    """The sign in front of a number, "" without one, None if a hyphen joins it to a word; a hyphen after digits alone is a range."""
    if sign_in_words(before):
        return "-"
    match = _BEFORE.search(before, max(0, len(before) - len("- USD -")))
    if match is None:
        return ""
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
    if not any(map(str.isalpha, word[0])) or _SCALED_END.search(previous):
        return ""
    if word[0].endswith(_CURRENCIES):
        return sign
    return None if sign == "-" else ""


def _power(tail: str) -> int:
    """The number of digits by which a scale moves the point, 0 for any other text."""
    return _LETTERS.get(tail) or _SHORT_WORDS.get(tail.lower()) or SCALE_WORDS.get(tail.lower(), 0)


def _cut_digits(digits: str) -> str:
    return digits if len(digits) <= MAX_SHOWN else digits[: MAX_SHOWN - 3] + "..."


_PLAIN: Final = r"(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|0|[1-9][0-9]*)(?:\.[0-9]+)?"
_NUMBER_GOLD: Final = lazy_pattern(rf"\s*(?P<sign>[-+\u2212\u2013]?)(?P<digits>{_PLAIN})\s*")
# A run of digits with everything that may belong to it; the characters around it decide which part is a token.
_RUN: Final = lazy_pattern(r"\d+(?:,\d{3}(?!\d))*(?:\.\d+)?|(?<![\w.])\.\d+")
_NEXT_GROUP: Final = lazy_pattern(r"[^\S\n\t](\d{3})(?!\d)")
_TOKEN: Final = lazy_pattern(rf"{_PLAIN}|\.[0-9]+")
_MINUS_SIGNS: Final = frozenset("-\u2212\u2012\u2013")
_DASHES: Final = "-\u2010\u2011\u2012\u2013\u2014\u2212"
# Between a digit and a letter or digit these make one larger token.
_JOINING_NUMBERS: Final = frozenset(":/&@^'\u2019." + _DASHES)
_COMMA_GROUP: Final = lazy_pattern(r",\d{3}(?!\d)")
_SPACED_RANGE_BEFORE: Final = lazy_pattern(rf"\d[^\S\n][{_DASHES}][^\S\n]$")
_SPACED_RANGE_BEHIND: Final = lazy_pattern(rf"[^\S\n][{_DASHES}][^\S\n]\d")


def number_gold(gold: str) -> Decimal | None:
    """The value of a gold that is a number (digits with sign, groups and decimals, no leading zero), None for any other text."""
    match = _NUMBER_GOLD.fullmatch(digits_only(gold))
    return None if match is None else _token_value(match["digits"], match["sign"])


def numeric_tokens(text: str, golds: set[str], values: Collection[Decimal]) -> Iterator[tuple[Decimal, int, int]]:
    """(value, start, end) of the numeric tokens of a text that have one of these values."""
    sizes = set(map(Decimal.copy_abs, values))
    at = 0
    while (match := _RUN.search(text, at)) is not None:
        start, end = match.span()
        digits = match[0]
        if digits.isdigit() and len(digits) <= 3:
            while (group := _NEXT_GROUP.match(text, end)) is not None and group[1] not in golds:
                digits, end = digits + group[1], group.end()
        at = end
        if not _TOKEN.fullmatch(digits) or _token_value(digits, "") not in sizes:
            continue
        sign = _sign_before(text, start)
        is_token = sign is not None and not _goes_on(text, end) and not _is_argument(text, start)
        if is_token and (value := _token_value(digits, sign)) in values:
            yield value, start, end


def _token_value(digits: str, sign: str | None) -> Decimal:
    value = Decimal(digits.replace(",", ""))
    return negated(value) if sign in _MINUS_SIGNS else value


def _sign_before(text: str, start: int) -> str | None:
    """The minus in front of a token, "" without one, None if the token began earlier."""
    near = text[max(0, start - NEAR) : start]
    if near.endswith("_"):
        # An underscore of markdown is not part of a word.
        return None if is_joined(near.rstrip("_")[-1:], text[start]) else ""
    before, earlier = near[-1:], near[-2:-1]
    if is_joined(before, text[start]) or _SPACED_RANGE_BEFORE.search(near) or (before in _JOINING_NUMBERS and earlier.isalnum()):
        return None
    return "-" if before in _MINUS_SIGNS or sign_in_words(near) else ""


def _goes_on(text: str, end: int) -> bool:
    """Whether a token continues here."""
    near = text[end : end + NEAR]
    if near.startswith("_"):
        return is_joined(text[end - 1], near.lstrip("_")[:1])
    if is_joined(text[end - 1], near[:1]) or _SPACED_RANGE_BEHIND.match(near) or _COMMA_GROUP.match(near):
        return True
    return near[:1] in _JOINING_NUMBERS and near[1:2].isalnum()


# locale -> (decimal sign, group signs); one that is not listed by its region is read by its language.
NUMBER_LOCALES: Mapping[str, tuple[str, str]] = {
    "en": (".", ", "), "en-IN": (".", ","), "zh": (".", ","), "ja": (".", ","), "de": (",", ". "), "de-CH": (".", "' "),
    "fr-CH": (",", "' "), "it-CH": (".", "' "), "fr": (",", " ."), "es": (",", ". "), "es-MX": (".", ", "), "it": (",", ". "),
    "pt": (",", ". "), "nl": (",", ". "), "sv": (",", " ."), "da": (",", ". "), "nb": (",", " ."), "fi": (",", " "),
    "pl": (",", " ."), "cs": (",", " ."), "ru": (",", " "),
}  # fmt: skip
_SUPERSCRIPTS: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_RAISED: Final = lazy_pattern("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+")
_RAISED_POWER: Final = lazy_pattern("(?<=10)[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+")
_HYPHENS: Final = lazy_pattern("[−‐‑﹣－]")
_BLANKS: Final = lazy_pattern(r"[\s\u00a0\u2007\u2009\u202f]+")
MANTISSA = r"\d(?:[\d.,' ]*\d)?|\.\d+"
POWER = r"(?:\s?[x×*·⋅]\s?10(?:\^|\*\*)\s?(?P<power>[+-]?\d{1,4})|[eE](?P<exponent>[+-]?\d{1,4}))"
_WITH_POWER: Final = lazy_pattern(rf"(?P<sign>[+-]?)\s?(?:10(?:\^|\*\*)\s?(?P<bare>[+-]?\d{{1,4}})|(?P<mantissa>{MANTISSA}){POWER}?)")


def plain_text(text: str) -> str:
    """The text with one form for each sign: "×10⁻⁵" as "×10^-5", "−" as "-", any blank as " ", other compatibility forms folded (NFKC)."""
    text = _RAISED.sub(_write_power, text)
    text = _HYPHENS.sub("-", unicodedata.normalize("NFKC", text)).replace("’", "'")
    return _BLANKS.sub(" ", text).strip()


def _write_power(match: re.Match[str]) -> str:
    return "^" + match[0].translate(_SUPERSCRIPTS)


def number_at_start(text: str, locale: str = "") -> "tuple[Fraction, str] | None":
    """(the number that a plain text begins with, the rest), None where it begins with none."""
    from fractions import Fraction

    match = _WITH_POWER.match(text)
    if match is None:
        return None
    if (bare := match["bare"]) is not None:
        value, end = Fraction(10) ** int(bare), match.end()
    else:
        mantissa, end = match["mantissa"], match.end()
        signs = signs_of(locale)
        while (digits := plain_digits(mantissa, *signs)) is None and " " in mantissa:  # the blank was no group's: "1000 1/m"
            mantissa = mantissa.rpartition(" ")[0]
            end = match.start("mantissa") + len(mantissa)
        if digits is None:
            return None
        power = int(match["power"] or match["exponent"] or 0) if end == match.end() else 0
        value = Fraction(digits) * Fraction(10) ** power
    return (-value if match["sign"] == "-" else value), text[end:]


def number_in_locale(text: str, locale: str = "") -> "Fraction | None":
    """The number that a text is as a whole, None where it is none."""
    if len(text) > 200:
        return None
    number = number_at_start(plain_text(text), locale)
    return number[0] if number is not None and not number[1] else None


def signs_of(locale: str) -> tuple[str, str]:
    """(decimal sign, group signs) of a locale such as `de` or `de-CH`, ("", "") for none and for one that is not known."""
    if not locale:
        return "", ""
    name = locale.replace("_", "-")
    return NUMBER_LOCALES.get(name) or NUMBER_LOCALES.get(name.split("-")[0], ("", ""))


def plain_digits(text: str, decimal: str = "", groups: str = "") -> str | None:
    """The digits with a decimal point and without the marks of groups, None if the marks between them mean no number.

    Args:
        text: digits and what separates them.
        decimal: the decimal mark; "" takes the marks that the text itself shows.
        groups: what may separate groups of thousands (or of lakhs: 12,34,567).
    """
    if not decimal:
        decimal, groups = _marks_of(text)
    whole, _, part = text.rpartition(decimal) if decimal in text else (text, "", "")
    marks = {mark for mark in whole if not mark.isdigit()}
    if text.count(decimal) > 1 or (part and not part.isdigit()) or len(marks) > 1 or not marks <= set(groups):
        return None
    if marks:
        head, *rest = whole.split(marks.pop())
        sizes = {len(group) for group in rest[:-1]}
        if not 1 <= len(head) <= 3 or head[0] == "0" or len(rest[-1]) != 3 or sizes not in (set(), {3}, {2}):
            return None
        whole = head + "".join(rest)
    return f"{whole or '0'}.{part}" if part else whole or "0"


def _marks_of(text: str) -> tuple[str, str]:
    """(decimal sign, group signs) as the text shows them."""
    dots, commas = text.count("."), text.count(",")
    if dots and commas:
        return (",", ". '") if text.rindex(",") > text.rindex(".") else (".", ", '")
    if commas == 1 and (len(text) - text.index(",") - 1 != 3 or text.startswith("0,") or " " in text or "'" in text):
        return ",", " '"
    return (",", ".") if dots > 1 else (".", ", '")


# Null words. Every comparison, cause and check of gold that reads a table uses these.
NULLS_AS_WRITTEN: Final = frozenset({"NA", "N/A", "n/a", "#NA", "#N/A", "#N/A N/A", "<NA>", "\\N"})
NULLS_IN_ANY_CASE: Final = frozenset({"null", "none", "nan", "-nan", "1.#ind", "1.#qnan", "-1.#ind", "-1.#qnan", ""})
_INTEGER: Final = lazy_pattern(r"[+-]?(0|[1-9][0-9]*)")
_DECIMAL: Final = lazy_pattern(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_INFINITY: Final = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf, "infinity": math.inf, "-infinity": -math.inf}
_LONGEST_NUMBER: Final = 400
_SHORT: Final = 40
_SIGNS: Final = "$€£¥"
_MINUSES: Final = "-\u2012\u2013\u2212"
_MONEY: Final = rf"(?:(?:[{_SIGNS}]|US\$|USD|EUR|GBP)\s?)"
_AMOUNT: Final = r"(?:[1-9][0-9.,'\u2019 \u00a0\u2009\u202f]*[0-9]|0[.,][0-9]+|[0-9])"
_WRITTEN: Final = lazy_pattern(
    rf"(?P<open>\()?(?P<sign>(?:[{_MINUSES}+]\s?)?)(?P<front>{_MONEY})?(?P<late>[{_MINUSES}+])?(?P<amount>{_AMOUNT})(?P<scale>[kKmMB]|bn)?(?P<back>\s?{_MONEY})?(?(open)\))",
    re.ASCII,
)
_PLAIN_AMOUNT: Final = lazy_pattern(rf"(?:[+-]?[{_SIGNS}]?|[{_SIGNS}][+-])(?:[1-9][0-9]{{0,2}}(?:,[0-9]{{3}})+|0|[1-9][0-9]*)(?:\.[0-9]+)?")
_UNGROUPED: Final = dict.fromkeys(map(ord, ",+" + _SIGNS))
# Words of letters that are no text, in small letters.
WORDS_WITH_VALUE: Final = frozenset(
    word.lower() for word in (*NULLS_AS_WRITTEN, *NULLS_IN_ANY_CASE, *_INFINITY, "true", "false") if word[:1].isalpha()
)
# The first three characters, without marks, of a cell that begins with a letter and may be a date or an amount: any other is only a text.
STARTS_OF_VALUES: Final = frozenset(f"{name.lower()} "[:3] for name in (*MONTHS, *DAYS.split("|"), *_CURRENCIES, *SMALL_WORDS.split("|")))
# The first three letters with their marks.
_START: Final = 12
_SPACES: Final = lazy_pattern("[\u00a0\u2009\u202f]")
_ADDRESS: Final = lazy_pattern(r"\d{1,3}(?:\.\d{1,3}){3}")


class Percent(NamedTuple):
    """A number with a percent sign: `12.5%` as the figure 12.5 and as the share 0.125."""

    figure: int | Number
    share: Number


Cell = Any
"""A parsed cell: None, int, `Number`, `Percent`, or a tuple (kind, value) for infinities, instants, texts and other values."""


def read_cell(text: str | None, *, percentage: bool = False) -> Cell:
    """Read a CSV field.

    Null words are None, `true` and `false` are 1 and 0. Groups of thousands, a decimal comma, a currency in front or behind and the letter
    of scale of an amount of money (`$42k`) are read; brackets and dashes before a number are a minus; 007 is text. Dates and times in any
    form with one reading are instants (naive = UTC), a month is its first day: `01/02/2024` is text. Text is stripped and NFC; its case
    counts.

    Args:
        text: the field, None for a null.
        percentage: whether a number with a percent sign becomes a `Percent`; otherwise it is text.

    Returns:
        None, an int, a `Number`, a `Percent`, or (kind, value) of an infinity, an instant (nanoseconds since 1970) or a text.
    """
    if text is None:
        return None
    # Both sides of a comparison, and all answers to one gold, contain the same texts; caching long ones would fill the memory.
    return _cached_cell(text, percentage) if len(text) <= _SHORT else _cell_of(text, percentage)


def _cell_of(text: str, percentage: bool) -> Cell:
    text = text.strip()
    if is_null_word(text):
        return None
    if percentage and text[-1] == "%" and (figure := _number_or_text(text[:-1].rstrip())) is not None and isinstance(figure, int | Number):
        return Percent(figure, number_of(shifted(exact_of(figure), -2)))
    if text[0].isalpha():
        lowered = text.lower()
        if lowered in ("true", "false"):
            return int(lowered == "true")
        start = lowered if text.isascii() else fold_letters(text[:_START])
        if start[:3] not in STARTS_OF_VALUES and lowered not in _INFINITY:
            return text_cell(text)
    return _number_or_text(text)


_cached_cell: Final = lru_cache(maxsize=1 << 14)(_cell_of)


def plain_amounts(texts: list[str]) -> list[str | None]:
    """The digits of each cell that is a number with groups of thousands by commas or a currency sign in front, None for any other text.

    `read_cell` reads the same number at ten times the cost.
    """
    return [text.translate(_UNGROUPED) if len(text) <= _SHORT and _PLAIN_AMOUNT.fullmatch(text) else None for text in texts]


def is_null_word(text: str) -> bool:
    """Whether a stripped text is empty or a word for NULL."""
    return text in NULLS_AS_WRITTEN or text.lower() in NULLS_IN_ANY_CASE


def text_cell(text: str) -> Cell:
    """The cell of a text that is only a text."""
    return ("text", text if text.isascii() else unicodedata.normalize("NFC", text))


def number_cell(exact: Decimal) -> Cell:
    """The cell of a finite decimal; one that is beyond every float equals itself only."""
    number = number_of(exact)
    return ("huge", exact) if math.isinf(number.value) else number


def is_written_form(text: str) -> bool:
    """Whether the text of a number contains groups of thousands, a decimal comma, a currency, brackets or a sign other than a hyphen."""
    return not (_INTEGER.fullmatch(text) or _DECIMAL.fullmatch(text)) and _written_number(text) is not None


def _number_or_text(text: str) -> Cell:
    if len(text) <= _LONGEST_NUMBER:
        if _INTEGER.fullmatch(text):
            return int(text)
        if _DECIMAL.fullmatch(text):
            return number_cell(Decimal(text))
        if (written := _written_number(text)) is not None:
            return _number_or_text(written)
    if text.lower() in _INFINITY:
        return ("inf", _INFINITY[text.lower()])
    if (instant := instant_of(text)) is not None:
        return ("instant", instant)
    return text_cell(text)


def _written_number(text: str) -> str | None:
    """The number in plain digits, None for any other text: `$1,234.50`, `1.234,50 €`, `(1,250)`, `–3.2`, `$-5`, `$42k`."""
    match = _WRITTEN.fullmatch(text)
    if match is None or _ADDRESS.fullmatch(match["amount"]):
        return None
    is_money = match["front"] or match["back"]
    digits = plain_digits(_SPACES.sub(" ", match["amount"]).replace("\u2019", "'"))
    # `$-5` has its sign behind the currency; `--5` and `(-5)` have two.
    signs = (match["open"] or "") + match["sign"].strip() + (match["late"] or "")
    if digits is None or (match["scale"] and not is_money) or len(signs) > 1 or (match["late"] and not match["front"]):
        return None
    sign = "-" if signs not in ("", "+") else ""
    scale = _power(match["scale"] or "")
    return sign + (f"{shifted(Decimal(digits), scale):f}" if scale else digits)


# Words that people write where a value is missing; a table reader takes only the null words for NULL.
PLACEHOLDERS: Final = frozenset({"", "-", "--", "\u2013", "\u2014", "unknown", "missing", "nil", ".", "?", "false"})
_DECORATED: Final = lazy_pattern(
    r"\s*(?P<front>[^\d+\-.\u2212'\"]{0,12})(?P<sign>[+\-\u2212]?)(?P<number>[.,]?\d(?:[\d.,' \u00a0\u202f]*\d)?)(?P<back>[^\d]{0,24})",
    re.ASCII,
)
# A number in a text with all that belongs to it.
NUMBER_TEXT: Final = lazy_pattern(
    r"[+\-\u2212]?[$\u20ac\u00a3\u00a5]?\d(?:[\d.,'\u00a0\u202f]|(?<=\d) (?=\d{3}\b))*"
    r"(?:[eE][+-]?\d+)?(?:[^\S\r\n]?(?:%|bn\b|[kKmMB]\b|thousand\b|million\b|billion\b))?"
)
_SCALE_NAMES: Final = {3: "thousands", 6: "millions", 9: "billions", 12: "trillions"}


def number_readings(text: str) -> Iterator[tuple[Decimal, str]]:
    """Every (number, way of writing) that a text with one number can mean: `$1,234`, `12 km`, `3,5`, `17 %`, `12k`, `1.234` as 1234."""
    match = _DECORATED.fullmatch(text)
    if match is None:
        return
    back, digits = match["back"].strip().lower(), _SPACES.sub(" ", match["number"])
    scale, is_bare = _power(back), not (match["front"].strip() or back)
    for point, groups in ((".", ", '"), (",", ". '")):
        plain = plain_digits(digits, point, groups) if point == "." or "," in digits or "." in digits else None
        if plain is None:
            continue
        value = Decimal(f"-{plain}" if match["sign"] in ("-", "\u2212") else plain)
        if back.startswith("%"):
            yield value, "with a percent sign"
            yield shifted(value, -2), "with a percent sign"
            continue
        is_grouped = not set(digits).isdisjoint(groups)
        way = "with a decimal comma" if point == "," and "," in digits else "with thousands separators" if is_grouped else "in another form"
        yield value, way if is_bare else "with a unit or currency"
        if scale:
            yield shifted(value, scale), f"in {_SCALE_NAMES[scale]}"
