"""Whether an answer names a text gold that is a number: a whole numeric token of equal value.

Quotes, brackets, marks of markdown, `$`, `#`, `+`, `=`, a closing point or percent sign around a token do not count. Digits inside
something larger name nothing: behind a sign, in groups, decimals, exponents, clock times, dates, ranges, hyphenated numbers and words.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from evalsuite.texts.characters import digits_only, is_joined
from evalsuite.texts.number_reading import sign_in_words

_PLAIN: Final = r"(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|0|[1-9][0-9]*)(?:\.[0-9]+)?"
_GOLD: Final = re.compile(rf"\s*(?P<sign>[-+\u2212\u2013]?)(?P<digits>{_PLAIN})\s*")
# A run of digits with all that may belong to it; which part of it is a token is decided by what stands around.
_RUN: Final = re.compile(r"\d+(?:,\d{3}(?!\d))*(?:\.\d+)?|(?<![\w.])\.\d+")
_NEXT_GROUP: Final = re.compile(r"[^\S\n\t](\d{3})(?!\d)")
_TOKEN: Final = re.compile(rf"{_PLAIN}|\.[0-9]+")
_MINUS: Final = frozenset("-\u2212\u2012\u2013")
_DASHES: Final = "-\u2010\u2011\u2012\u2013\u2014\u2212"
# Between a digit and a letter or digit these make something larger of both.
_JOINING: Final = frozenset(":/&@^'\u2019." + _DASHES)
_GROUP: Final = re.compile(r",\d{3}(?!\d)")
# No line of underscores around a number is longer.
_LONGEST_RULE: Final = 64
_SPACED_RANGE_BEFORE: Final = re.compile(rf"\d[^\S\n][{_DASHES}][^\S\n]$")
_SPACED_RANGE_BEHIND: Final = re.compile(rf"[^\S\n][{_DASHES}][^\S\n]\d")


def number_gold(gold: str) -> Decimal | None:
    """The value of a gold that is a number (digits with sign, groups and decimals, no leading zero), None for any other text."""
    match = _GOLD.fullmatch(digits_only(gold))
    return None if match is None else _value(match["digits"], match["sign"])


def numbers_named(answer: str, golds: Sequence[str] = ()) -> frozenset[Decimal]:
    """The values of the answer's numeric tokens. Groups parted by spaces are one number, unless one is itself a gold."""
    return frozenset(_tokens(digits_only(answer), {gold.strip() for gold in golds}))


def _tokens(text: str, golds: set[str]) -> Iterator[Decimal]:
    """The values of the numeric tokens of a text."""
    at = 0
    while (match := _RUN.search(text, at)) is not None:
        start, end = match.span()
        digits = match[0]
        if digits.isdigit() and len(digits) <= 3:
            while (group := _NEXT_GROUP.match(text, end)) is not None and group[1] not in golds:
                digits, end = digits + group[1], group.end()
        at = end
        sign = _sign_before(text, start)
        if sign is not None and not _goes_on(text, end) and _TOKEN.fullmatch(digits):
            yield _value(digits, sign)


def _value(digits: str, sign: str) -> Decimal:
    value = Decimal(digits.replace(",", ""))
    return -value if sign in _MINUS else value


def _sign_before(text: str, start: int) -> str | None:
    """The minus in front of a token, "" without one, None where the token has begun before."""
    near = text[max(0, start - _LONGEST_RULE) : start]
    if near.endswith("_"):
        # An underscore of markdown is no part of a word.
        return None if is_joined(near.rstrip("_")[-1:], text[start]) else ""
    before, earlier = near[-1:], near[-2:-1]
    if is_joined(before, text[start]) or _SPACED_RANGE_BEFORE.search(near) or (before in _JOINING and earlier.isalnum()):
        return None
    return "-" if before in _MINUS or sign_in_words(near) else ""


def _goes_on(text: str, end: int) -> bool:
    """Whether a token does not end here."""
    near = text[end : end + _LONGEST_RULE]
    if near.startswith("_"):
        return is_joined(text[end - 1], near.lstrip("_")[:1])
    if is_joined(text[end - 1], near[:1]) or _SPACED_RANGE_BEHIND.match(near) or _GROUP.match(near):
        return True
    return near[:1] in _JOINING and near[1:2].isalnum()
