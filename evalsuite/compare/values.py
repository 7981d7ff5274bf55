"""Read the values of a text as a careful person does: numbers, money, percentages, dates, instants, booleans and nulls.

The official rules keep the references' own expressions (`number_rules`, `pandas_typing`); everything else reads here. A text with two
readings has two candidates: `42 million` is 42,000,000 and, because a question may ask for millions, 42; `01/02/2024` is two days.
`1,234` is 1234 and `1.234` is 1.234 in a check; other callers see `certain` and make no claim where it is False.

In a sentence a number is an optional sign (`-`, `−`, `–`, `+`, the words `minus` and `negative`), an optional currency sign, digits
with groups of thousands, decimals, an exponent (`1.2e6`, `1.2 × 10^6`), an optional `%` and a unit. A sign touches its number; after a
colon or an equals sign a space may be between them, but `Berlin - 5` is a dash, `5 - 7` and `5-7` are ranges and `- 5` at the start of
a line is a bullet. Accounting parentheses are a sign only around a currency sign, as the whole answer or as a value after a label
(`Net: ($1,250)`): `(42)`, `(42,)`, `[(42,)]` are 42. A letter of scale joined to a number is part of it (`42k`, `1.25m`, `42bn` have
one reading). Any other letter joined to it that is not a unit (unlike `42s`, `42kg`) makes it a name: `42A`. `3/4` is 0.75, and `17 out
of 40` is 17, or 0.425 for a gold that may be a percentage. ISO dates, clock times and versions are not numbers, nor are identifiers
(`V8`, `x12`, `GPT-4`). Digits of any script are read, but superscripts, enclosed digits and single-character fractions are letters:
`4²` is not a number, `12 m²` is 12. What an answer denies (`not 42`) or uses as a bound (`at least 42`) is not a number of it.
"""

import calendar
import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

from evalsuite.compare.characters import LETTER, digits_only
from evalsuite.compare.numbers import Number, as_number, number_of

YEARS: Final = range(1500, 2200)
MAX_SHOWN: Final = 40

_LETTERS: Final = {"k": 3, "K": 3, "m": 6, "M": 6, "b": 9, "B": 9, "T": 12, "MM": 6}
_SHORT_WORDS: Final = {"mn": 6, "mln": 6, "mio": 6, "bn": 9, "bln": 9, "tn": 12, "trn": 12}
_WORDS: Final = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_PERCENT: Final = frozenset({"%", "percent", "per cent", "pct"})
# Letters that are a unit directly after a number: seconds, hours, days, years, grams, litres, tonnes, times.
_UNITS: Final = frozenset("shdyglLtx")
_CURRENCY: Final = r"[$€£¥]|USD|EUR|GBP"
_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?"
    r"|dec(?:ember)?)\.?"
)
_CONTEXT: Final = re.compile(
    rf"\b(?:{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?|\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH}(?:,?\s+\d{{4}})?"
    r"|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}/\d{1,2}/\d{4}"
    r")(?!\w)",
    re.IGNORECASE,
)
_LABEL: Final = re.compile(
    r"^[ \t]*\(?(\d{1,3})[.)][ \t]"
    r"|(?i:\b(?:step|question|item|part|page|figure|table|section|chapter|example|phase|task)) (\d{1,4})(?=[:)])",
    re.MULTILINE,
)
_ISO: Final = re.compile(r"(?<![\w-])\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s?(?:Z|UTC|[+-]\d{2}:?\d{2})?)?(?![\w-])")
_CLOCK: Final = re.compile(
    r"(?<![\w:.])(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?(?:\s?[ap]\.?m\b)?(?!\w|:\d)|(?<![\w:.])(?:0?[1-9]|1[0-2])\s?[ap]\.?m\b",
    re.IGNORECASE,
)
# Points between groups of three digits are thousands, except in an address of four numbers.
_VERSION: Final = re.compile(
    r"(?<![\w.])(?![1-9]\d{0,2}(?:\.\d{3}){2,}(?![\w.]*\d))[vV]?\d+(?:\.\d+){2,}(?![\w])|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])"
)
_NO_NUMBER: Final = re.compile("|".join(pattern.pattern for pattern in (_ISO, _CLOCK, _VERSION)), re.IGNORECASE)
_BY_SPACES: Final = r"|(?: \d{3})+"
_BY_COMMAS: Final = r"|(?:\d+,\d{1,2}|0,\d+)(?![\d,]|\.\d)"
_FORM: Final = (
    r"(?<![\w.])"
    r"(?P<digits>"
    # Points between groups and a decimal comma: 1.234,50 and 1.250.000.
    r"[1-9]\d{0,2}(?:\.\d{3})+,\d+(?![\d,])|[1-9]\d{0,2}(?:\.\d{3}){2,}(?!\.?\d)"
    rf"|[1-9]\d{{0,2}}(?:(?:['\u2019]\d{{3}})+{_BY_SPACES}),\d{{1,2}}(?![\d,])"
    rf"|(?:[1-9]\d?(?:,\d{{2}})+,\d{{3}}(?![\d,])|[1-9]\d{{0,2}}(?:(?:,\d{{3}})+|(?:['\u2019]\d{{3}})+{_BY_SPACES})(?!\d))(?:\.\d+)?"
    rf"{_BY_COMMAS}|\d+(?:\.\d+)?|\.\d+)"
    r"(?P<exponent>[eE][+-]?\d{1,3}(?!\w|\.\d)|(?<=(?<!\w)10)(?:\^|\*\*)\{?\d{1,2}(?!\d)\}?|\s?(?:[x×*·⋅]|\\times|\\cdot)\s?10(?:\^|\*\*)[({]?[+-]?\d{1,3}(?!\d)[)}]?)?"
    r"(?P<tail>\s?(?:\\?%|‰)|\s?(?i:percent|per\scent|pct)\b"
    rf"|\s?(?i:{'|'.join([*_WORDS, *_SHORT_WORDS])})\b|(?:[mb]|\s?[kKMB])\b|(?:st|nd|rd|th)\b"
    rf"|[^\W\d_{LETTER}]+{LETTER}?(?![\w-]))?(?P<glued>[\w])?"
)
_NUMBER: Final = re.compile(_FORM)
_NUMBER_APART: Final = re.compile(_FORM.replace(_BY_SPACES, "").replace(_BY_COMMAS, ""))
_FRACTION: Final = re.compile(r"(?<![\w/.,:$€£¥-])(?:(?P<whole>\d{1,3})\s)?(?P<over>\d{1,3})/(?P<under>[1-9]\d{0,2})(?![\w/]|[.,]\d)")
_PART_OF: Final = re.compile(r"(?:\s[^\W\d]+)?\s\(?(?:out\s)?of\s(?:the\s|all\s|a\stotal\sof\s)?(?P<total>\d[\d,]*)(?![\w%]|[.:]\d)")
_PARTING: Final = re.compile(r"[,'\u2019 ]")
_ONE_MARK: Final = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")
_ODD_PARTING: Final = re.compile(r"['\u2019 ]")
_POWER: Final = re.compile(r"[+-]?\d+(?=\D*$)")
_BEFORE: Final = re.compile(rf"(?P<sign>[-+])?(?P<space>\s?)(?P<currency>{_CURRENCY})?(?P<gap>\s?)(?P<late>[-+])?$")
# A minus in words; after a number it subtracts: `5 minus 3`.
_SIGN_WORD: Final = re.compile(
    r"(?:^|(?P<before>\S)[^\S\n]*)(?<![\w-])(?:minus|negative)[^\S\n]+(?:[$€£¥]|USD\s|EUR\s|GBP\s)?$", re.IGNORECASE
)
# The number after these words is not the answer: `not 42`, `more than 42`, `<42`; `<42>` is the number, `<b>42` and `-> 42` too.
_DENIED: Final = re.compile(
    r"(?:(?:\b(?:not|cannot|never)|n['\u2019]t)(?:\s(?:be|equal|equals|equal to|exactly|the))?[^\S\n]+"
    r"|\b(?:anything but|instead of|except(?: for)?|excluding)[^\S\n]+"
    r"|\b(?:more|less|fewer|greater|higher|lower|larger|smaller|other|rather) than(?: or equal to)?[^\S\n]+"
    r"|\b(?:at least|at most|over|under|above|below|beyond|up to|exceed(?:s|ed|ing)?|(?:minimum|maximum) of)[^\S\n]+"
    r"|(?:!=|[\u2260\u2264\u2265]|<=|<(?!-)|(?<![\w\"'/=-])>=?)\s?)[-+]?(?:" + _CURRENCY + r")?\s?$",
    re.IGNORECASE,
)
_BOUND: Final = re.compile(
    r"\s?\+(?!\s?[\d(])|(?:\s[^\W\d]+)?\s(?:or (?:more|less|fewer|greater|higher|lower|above|below|over|under)"
    r"|at (?:least|most|(?:a )?minimum|(?:a )?maximum)|minimum|maximum)\b",
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
_CURRENCIES: Final = ("USD", "EUR", "GBP", "US$")

Kind = Literal["number", "percent", "money", "date", "datetime", "duration", "boolean", "null", "text"]
Role = Literal["", "context", "label"]
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
            next to another gold.
        is_year: whether it can be a year.
        is_scaled: whether the only reading is the scaled one (`42k`).
        form: a way of writing that the official rules read differently.
    """

    kind: Kind = "number"
    candidates: tuple[int | Number, ...]
    others: tuple[Number, ...] = ()
    text: str
    span: tuple[int, int] = (0, 0)
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
        exact = Decimal(text).scaleb(scale)
    except InvalidOperation as error:
        raise ValueError(f"{item!r} is no number") from error
    return as_number(exact, is_plain=scale == 0 and text.lstrip("+-").isdigit())


@lru_cache(maxsize=1)
def find_numbers(answer: str, apart: frozenset[str] = frozenset()) -> tuple[Value, ...]:
    """The numbers of a text in order; years are marked but not yet treated as context.

    Groups of digits separated by spaces, and numbers around a comma or a slash, are one number, unless `apart` contains one of the groups
    (it is itself a gold). The result for the last text is cached, because several checks read the same answer.
    """
    return tuple(_numbers_of(answer, apart))


def _numbers_of(answer: str, apart: frozenset[str]) -> Iterator[Value]:
    if not answer.isascii():
        answer = _RAISED_POWER.sub(_lowered, answer)
    text = _DASH_SIGN.sub(_as_sign, digits_only(answer).replace("\u2212", "-").replace("\u2010", "-"))
    text = _ACCOUNTING.sub(r"\g<before>-\g<amount>", text)
    context = _Spans(_CONTEXT, text)
    labels = _Spans(_LABEL, text)
    skipped = _Spans(_NO_NUMBER, text)
    at = total_at = 0
    while (match := _NUMBER.search(text, at)) is not None:
        if apart and not apart.isdisjoint(_PARTING.split(match["digits"])):
            match = _NUMBER_APART.match(text, match.start()) or match
        start = match.start()
        beyond = skipped.end_at(start)
        at = beyond or match.end()
        if beyond is not None:
            continue
        is_label = start < total_at or labels.end_at(start) is not None
        role: Role = "label" if is_label else "context" if context.end_at(start) is not None else ""
        fraction = None if role else _FRACTION.match(text, start)
        if fraction is not None and apart.isdisjoint(fraction.group("over", "under")):
            at = fraction.end()
            yield _fraction(fraction)
        elif (sign := _sign_of(match)) is not None:
            part = None if role or match["exponent"] else _PART_OF.match(text, at)
            if part is not None:
                total_at = part.end()
            yield _number_in(match, sign, role, part and part["total"])


def _sign_of(match: re.Match[str]) -> str | None:
    """The sign of a number, "" without one; None if the match is part of a name, is denied or is a bound."""
    if match["glued"] is not None or not _is_quantity(match):
        return None
    before = match.string[max(0, match.start() - _LONGEST_WORD) : match.start()]
    sign = _sign(before)
    return None if sign is None or _is_denied(match.string, before, match.end()) else sign


def _is_denied(text: str, before: str, end: int) -> bool:
    """Whether a number is denied or a bound; `<42>` is the number, and `> 42` in a text of several lines a quotation."""
    if _BOUND.match(text, end):
        return True
    denied = _DENIED.search(before)
    return (
        denied is not None
        and text[end : end + 1] != ">"
        and not (before.endswith(("\n> ", "\n>")) or ("\n" in text and before in ("> ", ">")))
    )


class _Spans:
    """Spans of a text, found by position."""

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self._spans = [match.span(match.lastindex or 0) for match in pattern.finditer(text)]
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


def _number_in(match: re.Match[str], sign: str, role: Role, total: str | None) -> Value:
    digits, exponent, tail = match["digits"], match["exponent"] or "", match["tail"] or ""
    is_joined, tail = tail == tail.strip(), tail.strip().lstrip("\\")
    shift = 2 if tail.lower() in _PERCENT else 3 if tail == "‰" else 0
    plain = _exact_value(digits, exponent, sign).scaleb(-shift)
    scale = _power(tail)
    is_scale = is_joined and scale > 0
    number = as_number(plain, is_plain=not (shift or exponent) and plain.as_tuple().exponent == 0)
    # After a space the word may be a unit: "42 million" may be compared with a gold in millions.
    scaled = as_number(plain.scaleb(scale), is_plain=False)
    whole = Decimal((total or "0").replace(",", ""))
    return Value(
        kind="percent" if shift else "number",
        candidates=(scaled,) if is_scale else (number, scaled) if scale else (number,),
        others=_other_readings(digits, sign) if match["tail"] is match["exponent"] is None else (),
        is_scaled=is_scale,
        text=sign.strip("+") + _cut(digits) + exponent + tail * (tail == "%" or is_scale),
        span=match.span("digits"),
        share=number_of(plain / whole) if whole else None,
        shift=shift,
        role=role or _ROLES.get(tail, ""),
        is_year=_is_year(digits) and not (tail or exponent or sign),
        form="percent form" if shift else _odd_form(match, digits),
    )


def _exact_value(digits: str, exponent: str, sign: str) -> Decimal:
    power = int(_POWER.findall(exponent)[-1]) if exponent else 0
    mantissa = "1" if exponent.startswith(("^", "**")) else plain_digits(digits.replace("\u2019", "'")) or "NaN"
    plain = Decimal(mantissa).scaleb(power)
    return -plain if sign == "-" else plain


def _other_readings(digits: str, sign: str) -> tuple[Number, ...]:
    """`1,234` as 1.234, and `1.234` as 1234."""
    if not _ONE_MARK.fullmatch(digits):
        return ()
    plain = digits.replace(",", ".") if "," in digits else digits.replace(".", "")
    return (number_of(_exact_value(plain, "", sign)),)


def _fraction(match: re.Match[str]) -> Value:
    """`3/4` and `1 1/2`."""
    value = int(match["whole"] or 0) + Decimal(match["over"]) / Decimal(match["under"])
    return Value(candidates=(number_of(value),), text=match[0], span=match.span(), form="number form")


def _is_year(digits: str) -> bool:
    return digits.isdigit() and len(digits) == 4 and int(digits) in YEARS


def _odd_form(match: re.Match[str], digits: str) -> Literal["number form"] | None:
    """The form of a number that the official rules misread: exponent, no leading digit, other separators than commas, joined letters."""
    is_odd = match["exponent"] or not digits[0].isdigit() or _ODD_PARTING.search(digits) or match["tail"]
    return "number form" if is_odd or plain_digits(digits) != digits.replace(",", "") else None


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


# locale -> (decimal sign, group signs); one that is not listed by its region is read by its language.
NUMBER_LOCALES: Mapping[str, tuple[str, str]] = {
    "en": (".", ", "), "en-IN": (".", ","), "zh": (".", ","), "ja": (".", ","), "de": (",", ". "), "de-CH": (".", "' "),
    "fr-CH": (",", "' "), "it-CH": (".", "' "), "fr": (",", " ."), "es": (",", ". "), "es-MX": (".", ", "), "it": (",", ". "),
    "pt": (",", ". "), "nl": (",", ". "), "sv": (",", " ."), "da": (",", ". "), "nb": (",", " ."), "fi": (",", " "),
    "pl": (",", " ."), "cs": (",", " ."), "ru": (",", " "),
}  # fmt: skip
_SUPERSCRIPTS: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_RAISED: Final = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+")
_RAISED_POWER: Final = re.compile("(?<=10)[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+")
_HYPHENS: Final = re.compile("[−‐‑﹣－]")
_BLANKS: Final = re.compile(r"[\s\u00a0\u2007\u2009\u202f]+")
MANTISSA = r"\d(?:[\d.,' ]*\d)?|\.\d+"
POWER = r"(?:\s?[x×*·⋅]\s?10(?:\^|\*\*)\s?(?P<power>[+-]?\d{1,4})|[eE](?P<exponent>[+-]?\d{1,4}))"
_WITH_POWER: Final = re.compile(rf"(?P<sign>[+-]?)\s?(?:10(?:\^|\*\*)\s?(?P<bare>[+-]?\d{{1,4}})|(?P<mantissa>{MANTISSA}){POWER}?)")


def plain_text(text: str) -> str:
    """The text with one form for each sign: "×10⁻⁵" as "×10^-5", "−" as "-", any blank as " ", other compatibility forms folded (NFKC)."""
    text = _RAISED.sub(_lowered, text)
    text = _HYPHENS.sub("-", unicodedata.normalize("NFKC", text)).replace("’", "'")
    return _BLANKS.sub(" ", text).strip()


def _lowered(match: re.Match[str]) -> str:
    return "^" + match[0].translate(_SUPERSCRIPTS)


def number_at_start(text: str, locale: str = "") -> tuple[Fraction, str] | None:
    """(the number that a plain text begins with, the rest), None where it begins with none."""
    found = _WITH_POWER.match(text)
    if found is None:
        return None
    if (bare := found["bare"]) is not None:
        value, end = Fraction(10) ** int(bare), found.end()
    else:
        mantissa, end = found["mantissa"], found.end()
        signs = signs_of(locale)
        while (digits := plain_digits(mantissa, *signs)) is None and " " in mantissa:  # the blank was no group's: "1000 1/m"
            mantissa = mantissa.rpartition(" ")[0]
            end = found.start("mantissa") + len(mantissa)
        if digits is None:
            return None
        power = int(found["power"] or found["exponent"] or 0) if end == found.end() else 0
        value = Fraction(digits) * Fraction(10) ** power
    return (-value if found["sign"] == "-" else value), text[end:]


def number_in_locale(text: str, locale: str = "") -> Fraction | None:
    """The number that a text is as a whole, None where it is none."""
    if len(text) > 200:
        return None
    found = number_at_start(plain_text(text), locale)
    return found[0] if found is not None and not found[1] else None


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
        if not 1 <= len(head) <= 3 or len(rest[-1]) != 3 or sizes not in (set(), {3}, {2}):
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


# January to December; a name counts from its first three letters on where that is written, so each stands with its short forms.
_NAMES = """
january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sep sept|october oct|november nov|december dec
januar janner jan|februar feb|marz mrz|april|mai|juni|juli|august|september|oktober okt|november|dezember dez
janvier janv|fevrier fevr fev|mars|avril avr|mai|juin|juillet juil|aout|septembre|octobre|novembre|decembre
enero ene|febrero|marzo|abril abr|mayo|junio|julio|agosto ago|septiembre setiembre|octubre|noviembre|diciembre dic
gennaio gen|febbraio|marzo|aprile|maggio mag|giugno giu|luglio lug|agosto|settembre set|ottobre ott|novembre|dicembre
janeiro|fevereiro|marco|abril|maio|junho|julho|agosto|setembro|outubro out|novembro|dezembro
januari|februari|maart mrt|april|mei|juni|juli|augustus|september|oktober|november|december
januari|februari|mars|april|maj|juni|juli|augusti|september|oktober|november|december
stycznia|lutego|marca|kwietnia|maja|czerwca|lipca|sierpnia|wrzesnia|pazdziernika|listopada|grudnia
januar|februar|marts|april|maj|juni|juli|august|september|oktober|november|december
"""
MONTHS = {name: n for line in _NAMES.strip().splitlines() for n, names in enumerate(line.split("|"), 1) for name in names.split()}
MONTH_FIRST = ("en", "en-US", "en-PH")
DATE_LOCALES = ("en", "de", "fr", "es", "it", "pt", "nl", "sv", "pl", "da", "nb", "fi", "cs", "ru", "ja", "zh", "ko")
_DAYS: Final = (
    "mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday|montag|dienstag|mittwoch"
    "|donnerstag|freitag|samstag|sonntag|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miercoles|jueves|viernes|sabado"
    "|domingo"
)
_DAY_NAMES: Final = re.compile(rf"^(?:{_DAYS})\b[.,]? ")
_SMALL_WORDS = re.compile(r"\b(?:de|del|of|the|den|le|du)\b")
_ORDINAL = re.compile(r"(?<=\d)(?:(?:st|nd|rd|th|er|re|º|ª|o)\b|°)")
_BETWEEN = re.compile(r"\s+(?:to|until|bis|au|a|al|hasta|through|till|-)\s+|\s*/\s*(?=\d{4})|\s*\.\.+\s*")
_QUARTER = re.compile(r"q([1-4])[ -/](\d{4})|(\d{4})[ -]?q([1-4])|(\d)(?:st|nd|rd|th) quarter (\d{4})")
_NUMERIC = re.compile(r"(\d{1,4})([-/. ])(\d{1,2})(?:\2(\d{1,4}))?\.?")
_CLOCK_BEHIND: Final = re.compile(r"[t ]\d{1,2}:\d\d.*$")
_CLOCK_AT_END: Final = re.compile(
    r"[ ,T]+(?:at |um |à )?(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?"
    r"\s*(?P<half>[AaPp])?\.?[Mm]?\.?\s*(?P<zone>Z(?: UTC)?|UTC|GMT|[+-]\d\d:?\d\d)?$"
)
# A leap year that stands for no year.
_NO_YEAR: Final = 4
Day = tuple[int | None, int, int | None]  # year, month, day; None where it is not said


class Span(NamedTuple):
    """The days that a text names, from the first to the last; in year 4, a leap year, where none is said."""

    first: date
    last: date


def moment_of(value: Any, formats: Sequence[str], locale: str) -> datetime | None:
    """The moment that a text names, with its zone if it names one; None if it names none or could be read in two ways."""
    if not isinstance(value, str) or len(value) > 100:
        return None
    text = value.strip()
    for form in formats:
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    clock = _CLOCK_AT_END.search(text)
    days = days_of(text[: clock.start()] if clock else text, (), locale) if clock or ":" not in text else None
    if days is None or days.first != days.last:
        return None
    if clock is None:
        return datetime(days.first.year, days.first.month, days.first.day)
    hour = int(clock["hour"])
    hour = hour % 12 + 12 * (clock["half"] in "pP") if clock["half"] else hour
    zone = "+00:00" if (clock["zone"] or "")[:1].isalpha() else clock["zone"] or ""
    rest = f"{clock['minute']}:{clock['second'] or '00'}.{(clock['fraction'] or '0')[:6]:0<6}{zone}"
    try:
        return datetime.fromisoformat(f"{days.first}T{hour:02}:{rest}")
    except ValueError:
        return None


def days_of(value: Any, formats: Sequence[str] = (), locale: str = "") -> Span | None:
    """The days that a text (or a number such as 2024 or 20240517) names, None where it names none or could be read in two ways."""
    if isinstance(value, int) and not isinstance(value, bool) and (1000 <= value <= 9999 or 10000101 <= value <= 99991231):
        value = str(value)
    if not isinstance(value, str) or len(value) > 100:
        return None
    for form in formats:
        try:
            day = datetime.strptime(value.strip(), form).date()
        except ValueError:
            continue
        return Span(day, day)
    folded = unicodedata.normalize("NFKD", value.casefold())
    text = "".join(sign for sign in folded if not unicodedata.combining(sign))
    text = re.sub(r"(\d+)[年년] ?(\d+)[月월] ?(\d+)[日일]", r"\1-\2-\3", text)
    text = re.sub("[‐-―−]", "-", text).replace("ł", "l")
    text = " ".join(_ORDINAL.sub("", _SMALL_WORDS.sub(" ", text.replace(",", " "))).split())
    text = _DAY_NAMES.sub("", text)
    text = _CLOCK_BEHIND.sub("", text) if re.match(r"\d{4}-\d\d-\d\d", text) else text
    if quarter := _QUARTER.fullmatch(text):
        number, year = int(quarter[1] or quarter[4] or quarter[5]), int(quarter[2] or quarter[3] or quarter[6])
        return _span((year, 3 * number - 2, None), (year, 3 * number, None))
    if (one := _day(text, locale)) is not None:
        return _span(one, one)
    return _range(text, locale)


def _range(text: str, locale: str) -> Span | None:
    """Two dates with something between them; what the first lacks it takes from the second: "3-5 May 2024", "May 3 - June 5, 2024"."""
    parts = _BETWEEN.split(text)
    if len(parts) != 2:
        parts = re.split(r"(?<=[a-z\d])-(?=[a-z\d])", text, maxsplit=1) if text.count("-") == 1 else []
    if len(parts) != 2:
        return None
    left, right = parts
    last = _day(right, locale)
    if last is None and (words := re.fullmatch(r"([a-z]+)\.? (\d{1,2})", left)):  # "May 3-5 2024"
        last = _day(f"{words[1]} {right}", locale)
    if last is None:
        return None
    first = _day(left, locale)
    if left.isdigit() and len(left) <= 2 and last[2] is not None:
        first = (last[0], last[1], int(left))
    elif left in MONTHS:
        first = (last[0], MONTHS[left], None)
    if first is None:
        return None
    span = _span((first[0] if first[0] is not None else last[0], *first[1:]), last)
    return span if span is not None and span.first <= span.last else None


def _day(text: str, locale: str) -> Day | None:
    """(year, month, day) of one date, the month 0 where only a year is said."""
    if re.fullmatch(r"\d{4}", text):
        return int(text), 0, None
    if month := re.fullmatch(r"(\d{1,2})[/-](\d{4})", text):  # "05/2024"
        return int(month[2]), int(month[1]), None
    if re.fullmatch(r"\d{8}", text):
        return int(text[:4]), int(text[4:6]), int(text[6:])
    words = [word.rstrip(".") for word in re.split(r"[ ]+|(?<=[a-z])-(?=\d)|(?<=\d)-(?=[a-z])|(?<=\d)\.(?=[a-z])", text)]
    months = [MONTHS[word] for word in words if word in MONTHS]
    digits = [word.lstrip("'") for word in words if word not in MONTHS]
    if len(months) == 1 and all(word.isdigit() for word in digits) and len(digits) <= 2:
        return _named_day(months[0], digits, is_day_first=words[0] not in MONTHS)
    found = _NUMERIC.fullmatch(text)
    return None if found is None else _numeric_day(found, locale)


def _named_day(month: int, digits: list[str], *, is_day_first: bool) -> Day | None:
    """Return the date of a month's name and at most two numbers, None where both are years or days."""
    years = [int(word) for word in digits if len(word) == 4]
    days = [int(word) for word in digits if len(word) <= 2]
    if len(digits) == 2 and not years and is_day_first:  # "5 May 24"
        years, days = [_century(days[1])], days[:1]
    return (years[0] if years else None, month, days[0] if days else None) if len(years) <= 1 and len(days) <= 1 else None


def _numeric_day(found: "re.Match[str]", locale: str) -> Day | None:
    """Return the date of two or three numbers, None where their order is not known."""
    first, sign, second, third = found.groups()
    if len(first) == 4:
        return (int(first), int(second), None if third is None else int(third)) if third is None or len(third) <= 2 else None
    if len(first) > 2 or third is None:
        return None
    if len(third) == 4 or ((locale or sign == ".") and len(third) == 2):
        year, a, b = int(third) if len(third) == 4 else _century(int(third)), int(first), int(second)
        if locale.replace("_", "-") in MONTH_FIRST:
            return year, a, b
        if locale or sign == "." or a > 12 or a == b:
            return year, b, a
        return (year, a, b) if b > 12 else None
    return None


def _century(year: int) -> int:
    return year + (2000 if year < 70 else 1900)


def _span(first: Day, last: Day) -> Span | None:
    """The days from the start of one to the end of the other, None where there are no such days."""
    try:
        begin = date(first[0] or _NO_YEAR, first[1] or 1, first[2] if first[2] is not None else 1)
        year, month = last[0] or _NO_YEAR, last[1] or 12
        end = date(year, month, last[2] if last[2] is not None else calendar.monthrange(year, month)[1])
    except (ValueError, IndexError):
        return None
    return Span(begin, end)


# Null words. Every comparison, cause and check of gold that reads a table uses these.
NULLS_AS_WRITTEN: Final = frozenset({"NA", "N/A", "n/a", "#NA", "#N/A", "#N/A N/A", "<NA>", "\\N"})
NULLS_IN_ANY_CASE: Final = frozenset({"null", "none", "nan", "-nan", "1.#ind", "1.#qnan", "-1.#ind", "-1.#qnan", ""})
_INTEGER: Final = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_DECIMAL: Final = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_INFINITY: Final = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf, "infinity": math.inf, "-infinity": -math.inf}
_INSTANT: Final = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?)?\s?(Z(?: UTC)?|UTC|[+-]\d{2}(?::?\d{2})?)?", re.ASCII
)
_LONGEST_NUMBER: Final = 400
_LONGEST_DATE: Final = 40
_SHORT: Final = 40
_SIGNS: Final = "$€£¥"
_MINUSES: Final = "-\u2012\u2013\u2212"
_MONEY: Final = rf"(?:(?:[{_SIGNS}]|US\$|USD|EUR|GBP)\s?)"
_AMOUNT: Final = r"(?:[1-9][0-9.,'\u2019 \u00a0\u2009\u202f]*[0-9]|0[.,][0-9]+|[0-9])"
_WRITTEN: Final = re.compile(
    rf"(?P<open>\()?(?P<sign>[{_MINUSES}+]?)(?P<front>{_MONEY})?(?P<amount>{_AMOUNT})(?P<scale>[kKmMB]|bn)?(?P<back>\s?{_MONEY})?(?(open)\))",
    re.ASCII,
)
# The first three letters of an ASCII cell that begins with a letter and may be a date or an amount: every other one is only a text.
STARTS_OF_VALUES: Final = frozenset(name.lower()[:3] for name in (*MONTHS, *_DAYS.split("|"), *_CURRENCIES, "the"))
_SPACES: Final = re.compile("[\u00a0\u2009\u202f]")
_ADDRESS: Final = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_HAS_YEAR: Final = re.compile(r"\d{4}[-/. T]\d|[-/.][0-9]{4}|[^\W\d_][^\W\d_.]*[., -]+(?:\d{1,2}[., -]+)?\d{4}|\d{8}T")


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
        return Percent(figure, number_of((figure.exact if isinstance(figure, Number) else Decimal(figure)).scaleb(-2)))
    if text[0].isalpha():
        lowered = text.lower()
        if lowered in ("true", "false"):
            return int(lowered == "true")
        if text.isascii() and lowered[:3] not in STARTS_OF_VALUES and lowered not in _INFINITY:
            return text_cell(text)
    return _number_or_text(text)


_cached_cell: Final = lru_cache(maxsize=1 << 14)(_cell_of)


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
    if len(text) <= _LONGEST_DATE and (found := _instant_of(text)) is not None:
        return ("instant", found)
    return text_cell(text)


def _written_number(text: str) -> str | None:
    """The number in plain digits, None for any other text: `$1,234.50`, `1.234,50 €`, `(1,250)`, `–3.2`, `$42k`."""
    match = _WRITTEN.fullmatch(text)
    if match is None or _ADDRESS.fullmatch(match["amount"]):
        return None
    is_money = match["front"] or match["back"]
    digits = plain_digits(_SPACES.sub(" ", match["amount"]).replace("\u2019", "'"))
    if digits is None or (match["scale"] and not is_money) or (match["open"] and match["sign"]):
        return None
    sign = "-" if match["open"] or match["sign"] not in ("", "+") else ""
    scale = _power(match["scale"] or "")
    return sign + (f"{Decimal(digits).scaleb(scale):f}" if scale else digits)


def _instant_of(text: str) -> int | None:
    """Nanoseconds since 1970 of a date or time with one reading, the first day of a month; None for any other text."""
    match = _INSTANT.fullmatch(text)
    if match is not None:
        return _iso_instant(match)
    if not _HAS_YEAR.search(text):
        return None
    moment = moment_of(text, (), "")
    if moment is None:
        days = days_of(text)
        if days is None or days.first.replace(day=1) != days.last.replace(day=1) or days.first.day != 1:
            return None
        moment = datetime(days.first.year, days.first.month, 1)
        if days.last.day != calendar.monthrange(moment.year, moment.month)[1]:
            return None
    return None if moment.year == _NO_YEAR else nanoseconds(moment)


def _iso_instant(match: re.Match[str]) -> int | None:
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    if zone and zone[0] in "+-" and hour is None:
        return None
    try:
        moment = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=UTC)
    except ValueError:
        return None
    since = nanoseconds(moment) + (int(fraction.ljust(9, "0")) if fraction else 0)
    if zone and zone[0] in "+-":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        offset = (int(digits[:2]) * 60 + int(digits[2:])) * 60 * 10**9
        since += -offset if zone[0] == "+" else offset
    return since


def nanoseconds(moment: datetime) -> int:
    """Nanoseconds since 1970; a time without a zone is UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return ((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds) * 1000
