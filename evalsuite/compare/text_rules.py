"""Whether an answer contains gold's texts, under the official rules (Spider2's `eval_utils.string_match`) and the strict rules.

Strict looks for whole tokens, in any spelling form. Both sides are NFKC, case-folded, with collapsed spaces and without invisible
characters. A gold that begins or ends with a letter or a digit must begin or end a token there: letters and digits, one of `- _ . & ' / @ +
#` between two of them, `+` and `#` directly after a word (`C++`); a possessive `'s` is not part of it. Scripts that write no spaces
(Chinese, Japanese, Thai ...) have no such boundary.

A gold that is a number is found by its value, as a whole numeric token. Quotes, brackets, marks of markdown, `$`, `#`, `+`, `=`, a closing
point or percent sign around a token do not count. Digits inside something larger do not match: after a sign, in groups, decimals,
exponents, clock times, dates, ranges, hyphenated numbers and words.

Excluded texts are found by their appearance: invisible characters and marks (strokes through letters too) are removed, runs of hyphens,
underscores and points are a space, and a letter or digit of another alphabet counts as each one that it looks like. Only letters and digits
are a boundary, so an exclusion finds more than a gold does, on purpose: forbidden text must not be hidden in `New-York`.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, Final, Literal

from evalsuite.compare.answer_messages import contains, contains_excluded, cut, lacks, part_of_word, shorten
from evalsuite.compare.characters import digits_only, is_joined, is_spaceless, looks_like, spelled_out, visible
from evalsuite.compare.numbers import sign_in_words
from evalsuite.compare.verdict import Official, Strict

# Annotation marks, and a Braille cell without dots.
_BLANK: Final = re.compile("[\ufff9-\ufffb\u2800]")
_SEPARATORS: Final = frozenset("-_.\u00b7\u2212")
# In capitals and digits these look alike even in plain ASCII; shorter texts would be found by chance.
_SAME_SHAPE: Final = {"I": "l1", "l": "I1", "O": "0"}
_FEWEST_LOOKED_AT: Final = 3


def excluded_token(answer: str, exclude: str | Sequence[str]) -> str | None:
    """The first excluded text that is in the answer as whole words, disguises included; a bare text is one exclusion."""
    items = [exclude] if isinstance(exclude, str) else exclude
    if not items:
        return None
    text, drawn = _skeleton(answer), _spaced(answer)
    meanings = {char: looks_like(char) for char in set(text) if not char.isascii()}
    return next((item for item in items if _stands_in(text, _skeleton(item), meanings) or _is_drawn_in(drawn, _spaced(item))), None)


def _skeleton(text: str) -> str:
    """The text without the additions of a disguise; characters that can be mistaken for several stay as they are."""
    shown = _BLANK.sub("", visible(text))
    if shown.isascii():
        return _spaced(shown.lower())
    # Small and capital letters of another alphabet look like different letters, so only ASCII is case-folded.
    return _spaced("".join(char.lower() if char.isascii() else char if _separates(char) else spelled_out(char) for char in shown))


def _spaced(text: str) -> str:
    return " ".join("".join(" " if _separates(char) else char for char in text).split())


def _separates(char: str) -> bool:
    return char in _SEPARATORS or (not char.isascii() and unicodedata.category(char) == "Pd")


def _stands_in(text: str, item: str, meanings: Mapping[str, frozenset[str]]) -> bool:
    """Whether the item is in the text, each of its characters as itself or as one that looks like it."""
    if not item:
        return False
    classes = []
    for char in item:
        meant = looks_like(char)
        alike = [other for other, looks in meanings.items() if looks & meant]
        classes.append("[" + "".join(map(re.escape, {char, *meant, *alike})) + "]")
    return _stands_apart(re.compile("".join(classes)), text)


def _is_drawn_in(text: str, item: str) -> bool:
    """Whether the item is in the text after mapping look-alike strokes: `AIice` is Alice."""
    if len(item) < _FEWEST_LOOKED_AT or not any(char in _SAME_SHAPE for char in item):
        return False
    return _stands_apart(re.compile("".join(f"[{re.escape(char)}{_SAME_SHAPE.get(char, '')}]" for char in item)), text)


def _stands_apart(pattern: re.Pattern[str], text: str) -> bool:
    """Whether a match begins and ends at a word boundary."""
    at = 0
    while (match := pattern.search(text, at)) is not None:
        start, end = match.span()
        if not (is_joined(text[start - 1 : start], text[start]) or is_joined(text[end - 1], text[end : end + 1])):
            return True
        at = start + 1
    return False


_PLAIN: Final = r"(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|0|[1-9][0-9]*)(?:\.[0-9]+)?"
_GOLD: Final = re.compile(rf"\s*(?P<sign>[-+\u2212\u2013]?)(?P<digits>{_PLAIN})\s*")
# A run of digits with everything that may belong to it; the characters around it decide which part is a token.
_RUN: Final = re.compile(r"\d+(?:,\d{3}(?!\d))*(?:\.\d+)?|(?<![\w.])\.\d+")
_NEXT_GROUP: Final = re.compile(r"[^\S\n\t](\d{3})(?!\d)")
_TOKEN: Final = re.compile(rf"{_PLAIN}|\.[0-9]+")
_MINUS: Final = frozenset("-\u2212\u2012\u2013")
_DASHES: Final = "-\u2010\u2011\u2012\u2013\u2014\u2212"
# Between a digit and a letter or digit these make one larger token.
_JOINING_NUMBERS: Final = frozenset(":/&@^'\u2019." + _DASHES)
_GROUP: Final = re.compile(r",\d{3}(?!\d)")
# The longest run of underscores that is skipped around a number.
_LONGEST_RULE: Final = 64
_SPACED_RANGE_BEFORE: Final = re.compile(rf"\d[^\S\n][{_DASHES}][^\S\n]$")
_SPACED_RANGE_BEHIND: Final = re.compile(rf"[^\S\n][{_DASHES}][^\S\n]\d")


def number_gold(gold: str) -> Decimal | None:
    """The value of a gold that is a number (digits with sign, groups and decimals, no leading zero), None for any other text."""
    match = _GOLD.fullmatch(digits_only(gold))
    return None if match is None else _value(match["digits"], match["sign"])


def numbers_named(answer: str, golds: Sequence[str] = ()) -> frozenset[Decimal]:
    """The values of the answer's numeric tokens. Groups separated by spaces are one number, unless one is itself a gold."""
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
    """The minus in front of a token, "" without one, None if the token began earlier."""
    near = text[max(0, start - _LONGEST_RULE) : start]
    if near.endswith("_"):
        # An underscore of markdown is not part of a word.
        return None if is_joined(near.rstrip("_")[-1:], text[start]) else ""
    before, earlier = near[-1:], near[-2:-1]
    if is_joined(before, text[start]) or _SPACED_RANGE_BEFORE.search(near) or (before in _JOINING_NUMBERS and earlier.isalnum()):
        return None
    return "-" if before in _MINUS or sign_in_words(near) else ""


def _goes_on(text: str, end: int) -> bool:
    """Whether a token continues here."""
    near = text[end : end + _LONGEST_RULE]
    if near.startswith("_"):
        return is_joined(text[end - 1], near.lstrip("_")[:1])
    if is_joined(text[end - 1], near[:1]) or _SPACED_RANGE_BEHIND.match(near) or _GROUP.match(near):
        return True
    return near[:1] in _JOINING_NUMBERS and near[1:2].isalnum()


_JOINING: Final = frozenset("-_.&'/@+#\u2010\u2019")
_BELONGING: Final = frozenset("+#")
_APOSTROPHES: Final = frozenset("'\u2019")


def match_text(answer: str, gold: str | Sequence[str], *, conj: Literal["and", "or"] = "or", exclude: str | Sequence[str] = ()) -> Official:
    """1 if the answer contains a gold text (each one with `conj="and"`), ignoring case, else 0.

    An excluded text in the answer gives 0 first. There are no word boundaries: "213" contains "1".
    """
    if exclude and (forbidden := excluded_text(answer, exclude)) is not None:
        return Official(0.0, contains_excluded(forbidden))
    lowered, golds, met = answer.lower(), [gold] if isinstance(gold, str) else gold, []
    for text in golds:
        if text.lower() in lowered:
            met.append(text)
    n_missing = len(golds) - len(met)
    if n_missing if conj == "and" else not met:
        return _lacks(n_missing, len(golds), conj)
    found = "every gold text" if conj == "and" and len(golds) > 1 else shorten(met[0] if met else "")
    return Official(1.0, contains(found), {"n_missing": n_missing, "n_golds": len(golds)})


@lru_cache(maxsize=64)
def _lacks(n_missing: int, n_golds: int, conj: Literal["and", "or"]) -> Official:
    """The verdict on an answer that lacks gold: it depends on numbers only, so the answers of a run share a few objects."""
    return Official(0.0, lacks(n_missing, n_golds, conj), {"n_missing": n_missing, "n_golds": n_golds})


def excluded_text(answer: str, exclude: str | Sequence[str]) -> str | None:
    """The first excluded text that the answer contains, ignoring case; a bare text counts letter by letter, as in the reference."""
    lowered = answer.lower()
    return next((text for text in exclude if text.lower() in lowered), None)


def match_text_strictly(
    answer: str, gold: str | Sequence[str], *, conj: Literal["and", "or"] = "or", exclude: str | Sequence[str] = ()
) -> Strict:
    """The strict verdict on an answer: a gold text (each one with `conj="and"`) as whole words, and no excluded one."""
    forbidden = excluded_token(answer, exclude)
    if forbidden is not None:
        return Strict(value=0.0, reason=contains_excluded(forbidden), kind="exclude")
    golds = [gold] if isinstance(gold, str) else list(gold)
    text = fold(answer)
    # Computed once, and only if a gold is a number: both lists can have hundreds of entries.
    numbers = cache(lambda: numbers_named(answer, golds))
    missing = [item for item in golds if not _names(text, item, numbers)]
    details: dict[str, Any] = {"n_missing": len(missing), "n_golds": len(golds)}
    if not missing or (conj == "or" and len(missing) < len(golds)):
        met = [item for item in golds if item not in missing]
        is_number = all(number_gold(item) is not None for item in met)
        which = "every gold text" if conj == "and" and len(golds) > 1 else cut(met[0].strip()) if is_number else repr(cut(met[0]))
        return Strict(value=1.0, reason=contains(which), cause="number form" if is_number else "spelling form", details=details)
    inside = next((item for item in missing if fold(item) in text), None)
    if inside is not None:
        word = word_around(text, fold(inside))
        return Strict(value=0.0, reason=part_of_word(inside, word), kind="part of a word", details=details)
    return Strict(value=0.0, reason=lacks(len(missing), len(golds), conj), kind="lacking", details=details)


def _names(folded: str, gold: str, numbers: Callable[[], Collection[Decimal]]) -> bool:
    """Whether the answer contains one gold: by its value if it is a number, else as whole tokens."""
    number = number_gold(gold)
    return holds(folded, fold(gold)) if number is None else number in numbers()


def fold(text: str) -> str:
    """The text as it is compared: NFKC, case folded, invisible characters removed, runs of white space one space."""
    text = visible(text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(text.casefold().split())


def holds(text: str, part: str) -> bool:
    """Whether folded `text` contains folded `part`, as whole tokens where `part` begins or ends with a letter or a digit."""
    if not part:
        return False
    at = text.find(part)
    while at >= 0:
        end = at + len(part)
        if not (_goes_on_before(text, at) or _goes_on_behind(text, end)):
            return True
        at = text.find(part, at + 1)
    return False


def word_around(text: str, part: str) -> str:
    """The word that contains `part`: everything up to the next spaces, plus the neighbouring word if that is only the part itself."""
    at = text.find(part)
    start, end = text.rfind(" ", 0, at) + 1, at + len(part)
    stop = text.find(" ", end) % (len(text) + 1)
    if text[start:stop] == part:
        stop = text.find(" ", stop + 1) % (len(text) + 1)
    return text[start:stop]


def _goes_on_before(text: str, at: int) -> bool:
    """Whether the token that ends at a position began before it."""
    if is_joined(text[at - 1 : at], text[at : at + 1]):
        return True
    return at > 1 and text[at - 1] in _JOINING and _links(text[at - 2], text[at : at + 1])


def _goes_on_behind(text: str, end: int) -> bool:
    """Whether the token continues after a position."""
    last, sign, following = text[end - 1 : end], text[end : end + 1], text[end + 1 : end + 2]
    if is_joined(last, sign):
        return True
    if sign not in _JOINING or not last.isalnum():
        return False
    if sign in _BELONGING and not is_spaceless(last):
        return True
    is_possessive = sign in _APOSTROPHES and following == "s" and not text[end + 2 : end + 3].isalnum()
    return _links(last, following) and not is_possessive


def _links(left: str, right: str) -> bool:
    """Whether a sign between these two characters joins them to one token."""
    return left.isalnum() and right.isalnum() and not (is_spaceless(left) or is_spaceless(right))
