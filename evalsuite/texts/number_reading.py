"""The numbers of a text as a careful reader finds them: value, sign, form, and whether they are only context.

A number is an optional sign (`-`, `−`, `–`, `+`, the words `minus` and `negative`), an optional currency sign, digits with groups of
thousands, decimals, an exponent, an optional `%` (a space may stand before it), a unit. `.5` is 0.5. A sign touches its number; behind a
colon or an equals sign a space may stand between, but `Berlin - 5` is a dash, `5 - 7` and `5-7` are ranges and `- 5` at the start of a
line is a bullet. Accounting parentheses are a sign only around a currency sign, as the whole answer or as what it says of something
(`Net: ($1,250)`): `(42)`, `(42,)`, `[(42,)]` are 42. Groups of thousands are parted by commas, apostrophes or spaces; `1, 234` and `12,34`
are two numbers. A letter of scale joined to a number is part of it (`42k`, `1.25m`, `42bn` have one reading); apart from it (`42 million`)
it leaves two, the plain and the scaled one. Another letter joined to it, if it is no unit (`42s`, `42kg`), makes a name of it: `42A`.
ISO dates, clock times and versions are not numbers, nor are identifiers (`V8`, `x12`, `GPT-4`). Digits of any script are read, but
superscripts, enclosed digits and fractions of one character are letters: `4²` is no number, `12 m²` is 12.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Final, Literal

from evalsuite.texts.characters import LETTER, digits_only
from evalsuite.texts.numbers import Number, number_of

YEARS: Final = range(1500, 2200)
MAX_SHOWN: Final = 40
# A precision below this, negated, says the same: any two numbers are that near.
MOST_PLACES: Final = 308

_LETTERS: Final = {"k": 3, "K": 3, "m": 6, "M": 6, "b": 9, "B": 9, "T": 12, "MM": 6}
_SHORT_WORDS: Final = {"mn": 6, "mln": 6, "mio": 6, "bn": 9, "bln": 9, "tn": 12, "trn": 12}
_WORDS: Final = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
# Letters that are a unit where they stand at a number: seconds, hours, days, years, grams, litres, tonnes, times.
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
# A minus in words; behind a number it takes away: `5 minus 3`.
_SIGN_WORD: Final = re.compile(
    r"(?:^|(?P<before>\S)[^\S\n]*)(?<![\w-])(?:minus|negative)[^\S\n]+(?:[$€£¥]|USD\s|EUR\s|GBP\s)?$", re.IGNORECASE
)
# What stands behind it is said not to be the number: `not 42`, `more than 42`, `<42`; `<42>` is the number.
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
# What may stand between a hyphen and the beginning of a word that it joins a number to; no identifier is longer.
_LONGEST_WORD: Final = 64
_WORD_END: Final = re.compile(r"[\w-]*\w$")
_MOST_DIGITS: Final = 400
_CURRENCIES: Final = ("USD", "EUR", "GBP")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A number of the answer: its readings (one, or two where a scale stands behind it), its text, and whether it is context.

    A percentage is read as a share, `shift` decimals smaller than it is written; `is_scaled` says that the only reading is that of a scale.
    `form` names a way of writing that the official rules read otherwise.
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
    """A gold number: text with thousands, `%` and a sign, or a JSON number. Raises ValueError where it is none."""
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
    """The numbers of a text in order; years are marked but not yet taken for context.

    Groups of digits parted by spaces are one number, unless one of them stands in `apart`: it is itself looked for. Those of
    the last text are known: of one answer they are asked for several times.
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
    """Places of a text, looked up by position."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self._spans = sorted(spans)
        self._starts = [start for start, _ in self._spans]

    def end_at(self, at: int) -> int | None:
        """The end of the last span that begins at or before `at`, if it reaches beyond."""
        k = bisect_right(self._starts, at) - 1
        return self._spans[k][1] if k >= 0 and self._spans[k][1] > at else None


def _as_sign(match: re.Match[str]) -> str:
    """A minus for a dash, unless it stands behind a number: `5 –7` is a range."""
    return match[0] if match.string[: match.start()].rstrip()[-1:].isdigit() else "-"


def sign_in_words(before: str) -> bool:
    """Whether a text ends with `minus` or `negative` as the sign of what follows."""
    match = _SIGN_WORD.search(before)
    return match is not None and not (match["before"] or "").isdigit()


def _is_quantity(match: re.Match[str]) -> bool:
    """Whether what is joined to the digits leaves them a number: one letter that is no unit and no scale makes a name of them."""
    tail = match["tail"] or ""
    return len(tail) != 1 or not (tail.isascii() and tail.isalpha()) or tail in _UNITS or tail in _LETTERS


def _number_found(match: re.Match[str], sign: str, in_context: bool) -> Found:
    digits, tail = match["digits"], (match["tail"] or "").strip()
    plain = Decimal(_PARTING.sub("", digits) + (match["exponent"] or ""))
    plain = -plain if sign == "-" else plain
    if tail == "%":
        plain = plain.scaleb(-2)
    is_plain = tail != "%" and "." not in digits and not match["exponent"]
    readings, power = [_as_number(plain, is_plain=is_plain)], _power(tail)
    is_joined = bool(match["tail"]) and match["tail"] == tail
    if power:
        # A space leaves open what the word is of: "42 million", asked for in millions.
        readings = [*(() if is_joined else readings), _as_number(plain.scaleb(power), is_plain=False)]
    year = digits.isdigit() and len(digits) == 4 and int(digits) in YEARS and not tail and not match["exponent"] and not sign
    ordinal = tail in ("st", "nd", "rd", "th")
    is_scale = bool(power) and is_joined
    odd = bool(match["exponent"]) or not digits[0].isdigit() or bool(_ODD_PARTING.search(digits)) or (bool(match["tail"]) and tail != "%")
    return Found(
        readings=tuple(readings),
        is_scaled=is_scale,
        text=(sign if sign == "-" else "") + _cut(digits) + (match["exponent"] or "") + (tail if tail == "%" or is_scale else ""),
        shift=2 if tail == "%" else 0,
        context=in_context or ordinal,
        year=year,
        form="percent form" if tail == "%" else "number form" if odd else None,
    )


def _sign(before: str) -> str | None:
    """The sign in front of a number, "" without one, None where a hyphen joins it to a word; a hyphen after digits alone is a range."""
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
    """By how many digits a scale moves the point, 0 for what is none."""
    return _LETTERS.get(tail) or _SHORT_WORDS.get(tail.lower()) or _WORDS.get(tail.lower(), 0)


def _cut(digits: str) -> str:
    return digits if len(digits) <= MAX_SHOWN else digits[: MAX_SHOWN - 3] + "..."


def _as_number(exact: Decimal, *, is_plain: bool) -> int | Number:
    """The number; an integer where it is written as one, without point, exponent and percent sign. Raises ValueError for infinities."""
    if not exact.is_finite():
        raise ValueError("a number must be finite")
    return int(exact) if is_plain and exact.adjusted() < _MOST_DIGITS else number_of(exact)
