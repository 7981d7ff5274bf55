"""Whether an answer in text contains gold's texts or states its numbers, under the official and the strict rules.

Texts. Official is Spider2's `eval_utils.string_match`. Strict looks for whole tokens, in any spelling form. Both sides are NFKC,
case-folded, with collapsed spaces and without invisible characters. A gold that begins or ends with a letter or a digit must begin or end a
token there: letters and digits, one of `- _ . & ' / @ + #` between two of them, `+` and `#` directly after a word (`C++`); a possessive
`'s` is not part of it. Scripts that write no spaces (Chinese, Japanese, Thai ...) have no such boundary. A gold that is a number is found
by its value, as a whole numeric token. Quotes, brackets, marks of markdown, `$`, `#`, `+`, `=`, a closing point or percent sign around a
token do not count. Digits inside something larger do not match: after a sign, in groups, decimals, exponents, clock times, dates, ranges,
hyphenated numbers and words.

Excluded texts are found by their appearance: invisible characters and marks (strokes through letters too) are removed, runs of hyphens,
underscores and points are a space, and a letter or digit of another alphabet counts as each one that it looks like. Only letters and digits
are a boundary, so an exclusion finds more than a gold does, on purpose: forbidden text must not be hidden in `New-York`.

An answer that declares its answer (`Final answer:`, `so the winner is`, `\\boxed{}`, `<answer>`, a JSON key) is what it declares; what it
works out before, strikes through or thinks aloud does not count. `claims` reads what it says about gold there.

Numbers (`numbers` defines what one is). Official is Spider2's `eval_utils.number_match`. The arithmetic is the reference's, including float
noise at the edge of the tolerance: 100.0001 - 100 is a little more than 1e-4, 5.0001 - 5 a little less. Strict: the answer must name every
gold (or one of them, `conj="or"`), and no more different candidates than there are golds. Context never counts as a candidate: years next
to other numbers, days and months of written dates, list markers, ordinals. It names a gold only if the answer contains few numbers in all.
If a gold is itself a year, years are candidates. A whole gold must be that number. A gold with decimals allows float noise and rounding, in
the units as written (62.5 % is 62.5): rounding must leave two significant digits, and four if no decimals are left; digits that gold cut
off may be present.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache, lru_cache
from itertools import islice
from math import inf, isfinite
from typing import Any, Final, Literal

from evalsuite.compare.answer_messages import (
    MAX_LISTED,
    NO_NUMBER,
    contains,
    contains_excluded,
    cut,
    hedged,
    in_part,
    is_denied,
    is_doubted,
    lacks,
    missing_number,
    no_number_near,
    only_context,
    other_form,
    part_of_word,
    shorten,
    too_many_numbers,
)
from evalsuite.compare.characters import digits_only, is_joined, is_spaceless, looks_like, spelled_out, visible
from evalsuite.compare.claims import NEAR, Claims, is_bound
from evalsuite.compare.dates import date_gold, places_of_date
from evalsuite.compare.numbers import (
    FEWEST_DECIMALS,
    Number,
    Tolerance,
    are_far_apart,
    as_margin,
    decimals_of,
    equal_but_for_noise,
    exact_of,
    is_whole,
    is_within,
    negated,
    number_of,
    rounds,
    shifted,
    upward,
)
from evalsuite.compare.values import YEARS, Value, find_numbers, number_gold, numeric_tokens, read_number
from evalsuite.compare.verdict import NumberCause, Official, Strict
from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.import_ref import lazy_pattern

# Annotation marks, and a Braille cell without dots.
_BLANK: Final = lazy_pattern("[\ufff9-\ufffb\u2800]")
_SEPARATORS: Final = frozenset("-_.\u00b7\u2212")
# In capitals and digits these look alike even in plain ASCII; shorter texts would be found by chance.
_SAME_SHAPE: Final = {"I": "l1", "l": "I1", "O": "0"}
_FEWEST_LOOKED_AT: Final = 3


def excluded_token(answer: str, exclude: str | Sequence[str]) -> str | None:
    """The first excluded text that is in the answer as whole words, disguises included; a bare text is one exclusion."""
    items = [exclude] if isinstance(exclude, str) else exclude
    if not items:
        return None
    text, drawn = _skeleton(answer), _respace(answer)
    meanings = {char: looks_like(char) for char in set(text) if not char.isascii()}
    return next((item for item in items if _stands_in(text, _skeleton(item), meanings) or _is_drawn_in(drawn, _respace(item))), None)


def _skeleton(text: str) -> str:
    """The text without the additions of a disguise; characters that can be mistaken for several stay as they are."""
    visible_text = _BLANK.sub("", visible(text))
    if visible_text.isascii():
        return _respace(visible_text.lower())
    # Small and capital letters of another alphabet look like different letters, so only ASCII is case-folded.
    return _respace("".join(char.lower() if char.isascii() else char if _separates(char) else spelled_out(char) for char in visible_text))


def _respace(text: str) -> str:
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
        similar_chars = [other for other, looks in meanings.items() if looks & meant]
        classes.append("[" + "".join(map(re.escape, {char, *meant, *similar_chars})) + "]")
    return _is_whole_word(re.compile("".join(classes)), text)


def _is_drawn_in(text: str, item: str) -> bool:
    """Whether the item is in the text after mapping look-alike strokes: `AIice` is Alice."""
    if len(item) < _FEWEST_LOOKED_AT or not any(char in _SAME_SHAPE for char in item):
        return False
    return _is_whole_word(re.compile("".join(f"[{re.escape(char)}{_SAME_SHAPE.get(char, '')}]" for char in item)), text)


def _is_whole_word(pattern: re.Pattern[str], text: str) -> bool:
    """Whether a match begins and ends at a word boundary."""
    at = 0
    while (match := pattern.search(text, at)) is not None:
        start, end = match.span()
        if not (is_joined(text[start - 1 : start], text[start]) or is_joined(text[end - 1], text[end : end + 1])):
            return True
        at = start + 1
    return False


def find_named_numbers(answer: str, golds: Sequence[str]) -> dict[Decimal, str]:
    """The golds that are numeric tokens of the answer, each with what makes it doubtful ("" for one that is stated).

    Groups separated by spaces are one number, unless one is itself a gold.
    """
    doubts: dict[Decimal, str] = {}
    text, gold_texts = digits_only(answer), {gold.strip() for gold in golds}
    claims = Claims(text, gold_texts)
    values = {value for gold in golds if (value := number_gold(gold)) is not None}
    for value, start, end in numeric_tokens(text, gold_texts, values):
        # `12,5` may be twelve and a half, but if both are golds it is a list, as `12,5,7` is.
        if {_whole_units(text, start), _decimals_behind(text, end)} - {"", *gold_texts}:
            continue
        if is_bound(text, start, end) or claims.denies(start, end):
            doubts[value] = "negated"
        elif doubts.get(value) != "":
            doubts[value] = claims.doubt(start, end)
    return doubts


def _whole_units(text: str, start: int) -> str:
    """The units before the decimal comma of a number whose decimals begin at a place, `12` of `12,5`; empty if none do."""
    before = _COMMA_BEFORE.search(text, max(0, start - NEAR), start) if _DECIMALS.match(text, start) else None
    return before[1] if before is not None else ""


def _decimals_behind(text: str, end: int) -> str:
    """The decimals behind the comma that follows units which end at a place; empty if none do."""
    behind = _COMMA_BEHIND.match(text, end) if _LISTED.search(text, max(0, end - NEAR), end) is None else None
    return behind[1] if behind is not None else ""


_DECIMALS: Final = lazy_pattern(r"\d{1,2}(?![\d,])")
_COMMA_BEHIND: Final = lazy_pattern(r"(?<=\d),(\d{1,2})(?![\d,])")
_LISTED: Final = lazy_pattern(r"\d,\d+\Z")
_COMMA_BEFORE: Final = lazy_pattern(r"(?<![\d,])(\d+),\Z")
_MINUS: Final = frozenset("-\u2212\u2012\u2013\u2014")
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
    which = "every gold text" if conj == "and" and len(golds) > 1 else shorten(met[0] if met else "")
    return Official(1.0, contains(which), {"n_missing": n_missing, "n_golds": len(golds)})


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
    part = _part_that_counts(answer, gold, conj)
    return _name_part(_match_part(part, [gold] if isinstance(gold, str) else list(gold), conj), is_part=part != answer)


# What an answer declares.
_STRUCK: Final = lazy_pattern(r"~~[^~\n]{1,80}~~|<(del|s|strike)>[^<\n]{1,80}</\1>", re.IGNORECASE)
_THOUGHT: Final = lazy_pattern(r"</(?:think|thinking|thought|reasoning|scratchpad)>", re.IGNORECASE)
_DECLARED: Final = lazy_pattern(
    r"<answer>(?P<tag>[^<]{1,400})</answer>"
    r"|\\boxed\{(?P<box>(?:[^{}\n]|\{[^{}\n]{0,100}\}){1,200})\}"
    r"|[\"'](?:final_?)?answer[\"']\s?:\s?(?P<value>\"(?:[^\"\\\n]|\\.){0,400}\"|'(?:[^'\\\n]|\\.){0,400}'|[^\s\"',}\[{]+)"
    r"|^####[^\S\n]+(?P<hash>[^\n]+)\s*\Z"
    r"|[,;]?\s(?:(?:and|so|which|that)\s)?(?:leaves|leaving|makes|making|gives|giving|yields|yielding|totall?ing|for a total of)\s"
    r"(?P<sum>[^\s,;]+(?: [a-z]+)?)[.!]?\s*\Z"
    r"|(?:^|[.;,]\s|\b(?:so|but|and)\s)it(?:['’]s|\sis)\s(?P<it>[$€£]?-?\d[^\s;]*)[.!]?\s*\Z"
    r"|(?:^|[.!?;]\s)\W*(?:total|count|sum|result)\s?[:=](?P<label>(?!\s?- )[^\n;:=]*)\Z"
    r"|(?:\bfinal answer\b|(?:^|[.!?;,:]\s|\b(?:so|but|and)\s)\W{0,12}(?:(?:so|thus|therefore|hence|the|my),? )*"
    r"(?:correct |right |real |actual )?answer\b"
    r"|(?:^|[.!?;,]\s|\b(?:so|but|and)\s)\W{0,4}(?:(?:so|thus|therefore|hence|in conclusion|overall),? (?:the|my|our) (?:\w+ )?\w+"
    r"|the (?:correct|right|real|actual|true) (?:\w+ )?\w+)(?= (?:is|was|should be|must be)\b(?! not| wrong| in | un| clear\b(?!:))))"
    r"(?=[\s*_`]*(?:[:=–—-]|(?:is|was|should|must)\b|\d|\*\*|\Z)|\n)(?P<rest>)",
    re.IGNORECASE | re.MULTILINE,
)
_MAY_DECLARE: Final = lazy_pattern(
    r"\\boxed|####|answer|\b(?:leav|mak|giv|yield|totall?)(?:es|s|ing)\b|for a total"
    r"|\bit(?:['’]s| is) [$€£]?-?\d|\b(?:total|count|sum|result)\s?[:=]"
    r"|\b(?:so|thus|therefore|hence|conclusion|summary|overall|correct|right|real|actual|true)\b",
    re.IGNORECASE,
)


def declared_answer(answer: str) -> str:
    """The part of an answer that counts: what it declares as its answer where it does, else all of it but what is struck through."""
    text = answer
    if "~~" in text or "</" in text:
        text = _STRUCK.sub(" ", text)
        behind_thoughts = _THOUGHT.split(text)[-1]
        text = behind_thoughts if behind_thoughts.strip() else text
    if not _MAY_DECLARE.search(text):
        return text
    last: re.Match[str] | None = None
    for match in _DECLARED.finditer(text):
        last = match
    if last is None:
        return text
    if last["rest"] is None:
        answer_text = last[last.lastgroup or 0]
    else:
        line = re.split(r"\n|(?<=[.!]) (?=\()", text[last.end() :], maxsplit=1)[0]
        is_whole = any(map(str.isalnum, line)) and not line.rstrip(" \t*_").endswith(":")
        answer_text = line if is_whole else text[last.end() :]
    return answer_text if any(map(str.isalnum, answer_text)) else text


def _name_part(verdict: Strict, *, is_part: bool) -> Strict:
    """The verdict; a reason for a refusal says that it is about a part of the answer only."""
    return replace(verdict, reason=in_part(verdict.reason)) if is_part and not verdict.value else verdict


def _match_part(answer: str, golds: Sequence[str], conj: Literal["and", "or"]) -> Strict:
    lines = fold(answer, keep_lines=True)
    text = lines.replace("\n", " ")
    # Computed once, and only if a gold is a number: both lists can have hundreds of entries.
    numbers = cache(lambda: find_named_numbers(answer, golds))
    folded_golds = frozenset(map(fold, golds))
    claims = Claims(lines, folded_golds, lambda: fold(answer, keep_lines=True, keep_case=True))
    doubts = [_names(text, item, numbers, claims) for item in golds]
    missing = [item for item, doubt in zip(golds, doubts, strict=True) if doubt]
    details: dict[str, Any] = {"n_missing": len(missing), "n_golds": len(golds)}
    if not missing or (conj == "or" and len(missing) < len(golds)):
        met = [item for item in golds if item not in missing]
        is_number = all(number_gold(item) is not None for item in met)
        which = "every gold text" if conj == "and" and len(golds) > 1 else cut(met[0].strip()) if is_number else repr(cut(met[0]))
        return Strict(value=1.0, reason=contains(which), cause="number form" if is_number else "spelling form", details=details)
    return _missing_text(text, missing, doubts, conj, details)


def _missing_text(text: str, missing: Sequence[str], doubts: Sequence[str], conj: Literal["and", "or"], details: dict[str, Any]) -> Strict:
    """The verdict on a folded answer that lacks golds; `doubts` says of each gold why it is not named ("" for one that is)."""
    doubted = next((pair for pair in zip(missing, filter(None, doubts), strict=True) if pair[1] != "lacking"), None)
    if doubted is not None:
        return Strict(value=0.0, reason=is_doubted(*doubted), kind=doubted[1], details=details)
    inside = next((item for item in missing if fold(item) in text), None)
    if inside is not None:
        word = find_word(text, fold(inside))
        return Strict(value=0.0, reason=part_of_word(inside, word), kind="part of a word", details=details)
    return Strict(value=0.0, reason=lacks(len(missing), len(doubts), conj), kind="lacking", details=details)


def _names(folded_text: str, gold: str, numbers: Callable[[], Mapping[Decimal, str]], claims: Claims) -> str:
    """ "" if the answer names one gold, by its value if it is a number, else as whole tokens; otherwise the reason why not.

    One place without a doubt is enough, unless the last one is denied.
    """
    number = number_gold(gold)
    if number is not None:
        return numbers().get(number, "lacking")
    part, doubt = fold(gold), "lacking"
    for start, end in islice(occurrences(folded_text, part), _MOST_PLACES):
        doubt = claims.doubt(start, end)
        if not doubt and len(part) < len(folded_text) and claims.overrules(start, end, part):
            doubt = "negated"
        if not doubt:
            last = _last_occurrence(folded_text, part)
            return "negated" if last != start and claims.denies(last, last + len(part)) else ""
    if doubt == "lacking" and (days := date_gold(gold)) is not None:
        for start, end in places_of_date(folded_text, days):
            if not (doubt := claims.doubt(start, end)):
                break
    return doubt


# An answer that doubts gold at so many places does not name it.
_MOST_PLACES: Final = 1000


def _last_occurrence(text: str, part: str) -> int:
    """Where the last whole token begins that is `part`; there is one."""
    at = text.rfind(part)
    while _goes_on_before(text, at) or _goes_on_behind(text, at + len(part)):
        at = text.rfind(part, 0, at + len(part) - 1)
    return at


def fold(text: str, *, keep_lines: bool = False, keep_case: bool = False) -> str:
    """The text as it is compared: NFKC, case folded, invisible characters removed, runs of white space one space (or one line break)."""
    text = visible(text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    if not keep_case:
        text = unicodedata.normalize("NFKC", text.casefold()).casefold()
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines()))) if keep_lines else " ".join(text.split())


def occurrences(text: str, part: str) -> Iterator[tuple[int, int]]:
    """Where folded `text` contains folded `part`, as whole tokens where `part` begins or ends with a letter or a digit."""
    at = text.find(part) if part else -1
    while at >= 0:
        end = at + len(part)
        if not (_goes_on_before(text, at) or _goes_on_behind(text, end)):
            yield at, end
        at = text.find(part, at + 1)


def find_word(text: str, part: str) -> str:
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
    before, first, sign = text[max(0, at - 2) : max(0, at - 1)], text[at : at + 1], text[at - 1 : at]
    # A minus, the beginning of a range (`3%-5%`), or whole units before a decimal comma.
    if first.isdigit() or first in tuple("$€£¥"):
        if sign in _MINUS and (not before or before in tuple(" \n(:=%") or before.isdigit()):
            return True
        if _whole_units(text, at):
            return True
    return at > 1 and sign in _JOINING and _links(before, first)


def _goes_on_behind(text: str, end: int) -> bool:
    """Whether the token continues after a position."""
    last, sign, following = text[end - 1 : end], text[end : end + 1], text[end + 1 : end + 2]
    if is_joined(last, sign) or _decimals_behind(text, end) or (last == "%" and sign in _MINUS and following.isdigit()):
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


NUMBER: Final = r"\b\d{1,3}(?:,\d{3})*\b(?:\.\d+)?%?|\b\d+\b(?:\.\d+)?%?"
# The same numbers in an ASCII text, three times as fast: the pattern finds a digit first and looks behind only there.
_ASCII_NUMBER: Final = r"[0-9](?<!\w[0-9])(?:[0-9]{0,2}(?:,[0-9]{3})*\b(?:\.[0-9]+)?%?|[0-9]*\b(?:\.[0-9]+)?%?)"

Golds = str | float | Sequence[str | float]


def match_number(
    answer: str,
    gold: Golds,
    *,
    percentage: bool = False,
    precision: int = 4,
    conj: Literal["and", "or"] = "or",
    exclude: str | Sequence[str] = (),
) -> Official:
    """1 if a number in the answer is within 10**-precision of a gold (of each gold with `conj="and"`), else 0.

    A gold that is text, a float or a list of one takes exactly one number in the answer; an integer or several golds take any. Signs are
    ignored, `%` divides by 100, and `percentage` accepts 100 times each gold too. Raises ValueError for a gold that is not a number:
    `gold_numbers` finds those before.
    """
    if exclude and (forbidden := excluded_text(answer, exclude)) is not None:
        return Official(0.0, contains_excluded(forbidden))
    numbers = find_official_numbers(answer)
    head = numbers if len(numbers) <= MAX_LISTED else numbers[:MAX_LISTED]
    details = {"numbers": [None if number == inf else number for number in head] if inf in head else head, "n_numbers": len(numbers)}
    if not numbers:
        return Official(0.0, NO_NUMBER, details)
    if len(numbers) > 1 and takes_one_number(gold):
        return Official(0.0, too_many_numbers(len(numbers), list(map(_shortest, numbers[: MAX_LISTED + 1]))), details)
    accepted = gold_numbers(gold)
    if percentage:
        accepted += [100 * value for value in accepted]
    tolerance, distance = _tolerance(precision)
    met, missed = _met_and_missed(accepted, numbers, tolerance)
    if not missed or (met and conj == "or"):
        return Official(1.0, contains("every gold" if conj == "and" and len(met) > 1 else _shortest(met[0])), details)
    first = missed[0]
    nearest = min(numbers, key=lambda number: abs(number - first))
    return Official(0.0, no_number_near(distance, _shortest(first), _shortest(nearest)), details)


def _met_and_missed(accepted: Sequence[float], numbers: Sequence[float], tolerance: float) -> tuple[list[float], list[float]]:
    met, missed = [], []
    for value in accepted:
        for number in numbers:
            if abs(number - value) <= tolerance:
                met.append(value)
                break
        else:
            missed.append(value)
    return met, missed


@cache
def _tolerance(precision: int) -> tuple[float, str]:
    """The largest accepted distance from gold, and how the reason writes it."""
    distance = 10 ** -max(precision, -2 * MOST_PLACES)
    return distance, _shortest(distance)


def find_official_numbers(text: str) -> list[float]:
    """The numbers in a text, in order: digits at word boundaries with groups of thousands, decimals and percent."""
    numbers = []
    for number in _find_ascii(text) if text.isascii() else _find_any()(text):
        plain = number.replace(",", "") if "," in number else number
        numbers.append(float(plain[:-1]) / 100 if plain[-1] == "%" else float(plain))
    return numbers


def gold_numbers(gold: Golds) -> list[float]:
    """Gold's numbers as floats; raises ValueError if one is not a finite number."""
    if type(gold) is float and isfinite(gold):
        return [gold]
    values = [
        _gold_value(item) if isinstance(item, str) else float(item) for item in ([gold] if isinstance(gold, str | int | float) else gold)
    ]
    if not all(map(isfinite, values)):
        raise ValueError("a gold number must be finite")
    return values


def takes_one_number(gold: Golds) -> bool:
    """Whether the answer must contain exactly one number: not for an integer gold, nor for several."""
    return isinstance(gold, str | float) or (not isinstance(gold, int) and len(gold) == 1)


def _gold_value(text: str) -> float:
    text = text.replace(",", "")
    return float(text[:-1]) / 100 if text[-1:] == "%" else float(text)


_find_ascii: Callable[[str], list[str]] = re.compile(_ASCII_NUMBER, re.ASCII).findall


_NO_DIGITS: Final = str.maketrans("", "", ",.%")


@cache
def _find_any() -> Callable[[str], list[str]]:
    """`findall` of the pattern with the package that the reference uses, which recognises digits and word characters beyond ASCII.

    Digits of scripts younger than this Python, which cannot read them, are no number.
    """
    import regex

    find_all = regex.compile(NUMBER).findall
    return lambda text: [number for number in find_all(text) if number.isascii() or number.translate(_NO_DIGITS).isdecimal()]


def _shortest(number: float) -> str:
    text = repr(number)
    return str(int(number)) if text.endswith(".0") and abs(number) < 1e15 else text


OFFICIAL_TOL: Final = Decimal("1e-4")
HUNDREDFOLD_TOL: Final = Decimal("1e-6")
DEFAULT_PRECISION: Final = 4
_MOST_TRIED: Final = 50
_LONGEST_GROUP: Final = 12
# A precision below this, negated, has the same effect: any two numbers are within it.
MOST_PLACES: Final = 308
# Of an answer that states so many more numbers than there are golds the rest is not read: it is hedged.
_MOST_DIFFERENT: Final = 1000
# Without decimals a number counts as gold's rounding only with at least this many digits: 20 is not 19.6.
WHOLE_ROUNDING: Final = 1000


def match_number_strictly(
    answer: str,
    gold: Any,
    *,
    percentage: bool = False,
    precision: int = DEFAULT_PRECISION,
    conj: Literal["and", "or"] = "or",
    exclude: str | Sequence[str] = (),
    abs_tol: float | None = None,
    rel_tol: float | None = None,
) -> Strict:
    """The strict verdict on an answer. A `precision` other than 4, `abs_tol` and `rel_tol` widen the tolerance."""
    forbidden = excluded_token(answer, exclude)
    if forbidden is not None:
        return Strict(value=0.0, reason=contains_excluded(forbidden), kind="exclude")
    part = _part_that_counts(answer, gold, conj)
    near = _Closeness(percentage=percentage, own=_own_tolerance(precision, abs_tol, rel_tol))
    return _name_part(_match_numbers(part, _distinct_golds(gold), conj, near), is_part=part != answer)


def _match_numbers(answer: str, golds: Sequence[int | Number], conj: Literal["and", "or"], near: "_Closeness") -> Strict:
    short_golds, most = _short_golds(golds), _MOST_DIFFERENT + len(golds)
    numbers, values = _read_values(answer, golds, near, short_golds, most)
    by_gold, candidates = _match_golds(values, golds, near)
    n_others = len(candidates) - sum(any(not item.role for item in items) for items in by_gold.values())
    details = _number_details(numbers, n_others)
    denied = (
        None
        if _find_named_gold(values, golds, near) is not None
        else _find_named_gold(find_numbers(answer, short_golds, denied=True, most=most), golds, near)
    )
    if denied is not None:
        return Strict(value=0.0, reason=is_denied(_number_text(denied)), kind="negated", details=details)
    if not numbers:
        return Strict(value=0.0, reason=NO_NUMBER, kind="no number")
    if len(candidates) > len(golds):
        return Strict(value=0.0, reason=hedged(candidates, len(golds), most), kind="hedged", details=details)
    met, missed = [g for g in golds if by_gold[exact_of(g)]], [g for g in golds if not by_gold[exact_of(g)]]
    if not missed or (conj == "or" and met):
        which = "every gold number" if conj == "and" and len(golds) > 1 else _number_text(met[0])
        cause = next((cause for g in met if (cause := _odd_form(g, by_gold[exact_of(g)], near))), None)
        return Strict(value=1.0, reason=contains(which), cause=cause or "context numbers", details=details)
    return _explain_miss(missed[0], values, near, details)


def _read_values(
    answer: str, golds: Sequence[int | Number], near: "_Closeness", short_golds: frozenset[str], most: int
) -> tuple[list[Value], list[Value]]:
    """(the numbers that the answer states, the different ones); after `most` the rest is read only if they may all be gold."""
    numbers = find_numbers(answer, short_golds, most=most)
    values = _different(numbers, golds)
    if len(values) > most and len(_match_golds(values, golds, near)[1]) <= len(golds):
        numbers = find_numbers(answer, short_golds)
        values = _different(numbers, golds)
    return numbers, values


def _part_that_counts(answer: str, gold: Any, conj: Literal["and", "or"]) -> str:
    """What the answer declares; all of it where several golds are needed, because each may be declared for itself."""
    return answer if conj == "and" and isinstance(gold, list | tuple) and len(gold) > 1 else declared_answer(answer)


def _find_named_gold(numbers: Sequence[Value], golds: Sequence[int | Number], near: "_Closeness") -> int | Number | None:
    return next((gold for gold in golds for item in numbers if near.names(item, gold)), None)


def _number_details(numbers: Sequence[Value], n_others: int) -> dict[str, Any]:
    details: dict[str, Any] = {
        "numbers": [item.text for item in numbers[:MAX_LISTED]],
        "n_numbers": len(numbers),
        "n_other_candidates": n_others,
    }
    uncertain = [item.text for item in numbers if not item.certain]
    return details | ({"uncertain": uncertain[:MAX_LISTED]} if uncertain else {})


def _distinct_golds(gold: Any) -> list[int | Number]:
    numbers = map(read_number, gold if isinstance(gold, list | tuple) else [gold])
    return list({exact_of(number): number for number in numbers}.values())


def _short_golds(golds: Sequence[int | Number]) -> frozenset[str]:
    """The golds that can be one of several groups of digits separated by spaces."""
    return frozenset(text for g in golds if len(text := str(exact_of(g))) <= _LONGEST_GROUP)


def _match_golds(
    numbers: Sequence[Value], golds: Sequence[int | Number], near: "_Closeness"
) -> tuple[dict[Decimal, list[Value]], list[str]]:
    """(for each gold the numbers that name it, the different values that are candidates)."""
    naming = [item for item in numbers if item.role != "label" or len(golds) > 1]
    by_gold = {exact_of(g): [item for item in naming if near.names(item, g)] for g in golds}
    candidates = _candidates([item for item in numbers if not item.role], golds, by_gold)
    ordinals = {item.candidates for item in numbers if item.role == "context" and item.form}
    if len(_candidates(numbers, golds, by_gold)) > len(golds) + 1 or len(ordinals) > len(golds):
        # Among many numbers one equals gold by chance: then only candidates count.
        by_gold = {g: [item for item in items if not item.role] for g, items in by_gold.items()}
    return by_gold, candidates


def _own_tolerance(precision: int, abs_tol: float | None, rel_tol: float | None) -> Tolerance:
    """The check's own tolerance; a `precision` other than 4 is a distance as well."""
    is_own = abs_tol is not None or rel_tol is not None or precision != DEFAULT_PRECISION
    distance = abs_tol if abs_tol is not None else 10.0 ** -max(precision, -MOST_PLACES) if precision != DEFAULT_PRECISION else 0.0
    return Tolerance(abs=distance, rel=rel_tol or 0.0, own=is_own)


def _different(numbers: Sequence[Value], golds: Sequence[int | Number]) -> list[Value]:
    """The numbers without repetitions; years are context if there are other numbers and no gold is a year."""
    values = list({(item.candidates, item.text, item.role, item.share): item for item in reversed(numbers)}.values())[::-1]
    if any(is_whole(g) and exact_of(g) in YEARS for g in golds) or all(item.is_year or item.role for item in values):
        return values
    return [replace(item, role="context") if item.is_year else item for item in values]


def _candidates(numbers: Sequence[Value], golds: Sequence[int | Number], by_gold: dict[Decimal, list[Value]]) -> list[str]:
    """The different values of the answer, in order: one for each gold it names, one for each other number."""
    gold_of = {id(item): exact_of(g) for g in reversed(golds) for item in by_gold[exact_of(g)]}
    values: dict[tuple[bool, Decimal], str] = {}
    for item in numbers:
        is_gold = id(item) in gold_of
        values.setdefault((is_gold, gold_of[id(item)] if is_gold else exact_of(item.candidates[0])), item.text)
    return list(values.values())


@dataclass(frozen=True, slots=True)
class _Closeness:
    """When a number of the answer equals a gold number; the check's `own` tolerance only widens this."""

    percentage: bool
    own: Tolerance

    def names(self, item: Value, gold: int | Number) -> bool:
        """Whether a reading of the number equals gold, in one of the forms that `percentage` allows."""
        return any(self.in_form(item, form, gold) for form in self.forms(gold))

    def forms(self, gold: int | Number) -> list[int | Number]:
        """Gold itself, and with `percentage` a share as percent or a percent figure as share."""
        g = exact_of(gold)
        if not self.percentage or g == 0:
            return [gold]
        return [gold, _scale_by(gold, 2 if abs(g) <= 1 else -2)]

    def in_form(self, item: Value, form: int | Number, gold: int | Number) -> bool:
        """Whether the number equals this form of gold: as written within noise or rounding, scaled (`1.2 million`) exactly."""
        written = item.candidates[0]
        if self.percentage and item.share is not None and (form is not gold or _is_near(form, item.share, rounding=not is_whole(gold))):
            return _is_near(form, item.share, rounding=not is_whole(gold))
        if form is not gold and item.shift and abs(exact_of(gold)) <= 1:
            return False  # a share with its sign is no percent figure: 4200% is not 0.42
        if any(exact_of(form) == exact_of(reading) for reading in item.candidates) or self.is_within_own(item, form):
            return True
        return not item.is_scaled and _is_near(_scale_by(form, item.shift), _scale_by(written, item.shift), rounding=not is_whole(gold))

    def is_within_own(self, item: Value, form: int | Number) -> bool:
        """Whether a reading is within the check's own tolerance."""
        g = exact_of(form)
        return self.own.own and any(is_within(abs(g - exact_of(reading)), g, self.own) for reading in item.candidates)


def _is_near(gold: int | Number, predicted: int | Number, *, rounding: bool) -> bool:
    if are_far_apart(gold, predicted, 0.5):
        return False  # dumps of numbers are long
    return equal_but_for_noise(gold, predicted) or (rounding and _is_rounding(gold, predicted))


def _is_rounding(gold: int | Number, predicted: int | Number) -> bool:
    """Whether the answer rounds gold to the decimals it shows, or gold rounds the answer."""
    decimals, gold_decimals, size = decimals_of(predicted), decimals_of(gold), abs(exact_of(predicted))
    if decimals > gold_decimals:
        return rounds(gold, predicted, max(FEWEST_DECIMALS, gold_decimals))
    if decimals == gold_decimals:
        return False
    fewest = shifted(Decimal(1), 1 - decimals) if decimals else Decimal(WHOLE_ROUNDING)
    if size >= fewest and rounds(gold, predicted, decimals):
        return True
    # Zeros may have been dropped: 20 is 20.00.
    return decimals < FEWEST_DECIMALS and size >= Decimal("0.1") and rounds(gold, predicted, FEWEST_DECIMALS)


def _scale_by(number: int | Number, places: int) -> int | Number:
    """The number with its point moved to the right."""
    return number if places == 0 else number_of(shifted(exact_of(number), places))


def _odd_form(gold: int | Number, items: Sequence[Value], near: _Closeness) -> NumberCause | None:
    """Why the official rules may not recognise gold in these numbers; None if one of them is gold in plain form."""
    causes: list[NumberCause | None] = []
    for item in items:
        is_far = min(abs(exact_of(gold) - exact_of(reading)) for reading in item.candidates) > OFFICIAL_TOL
        plain = near.in_form(item, gold, gold)
        # `3 of 10`, a share that official rules would take if they read it
        is_share = is_far and near.percentage and item.share is not None and abs(exact_of(gold) - exact_of(item.share)) <= OFFICIAL_TOL
        if item.form is not None or not plain or is_share:
            causes.append(item.form or "percent form")
        elif exact_of(gold) < 0:
            causes.append("sign")
        elif is_far:
            causes.append("own tolerance" if near.own.own and near.is_within_own(item, gold) else "rounding")
        else:
            causes.append(None)
    return None if None in causes else causes[0]


def _explain_miss(gold: int | Number, values: Sequence[Value], near: _Closeness, details: dict[str, Any]) -> Strict:
    g = exact_of(gold)
    opposite = -gold if isinstance(gold, int) else number_of(negated(gold.exact))
    numbers = [(item, exact_of(reading)) for item in values for reading in item.candidates]
    mirrored = next((item for item in values if g != 0 and near.names(item, opposite)), None)
    if mirrored is not None:
        return Strict(value=0.0, reason=other_form("sign", mirrored.text, _number_text(gold)), kind="sign", details=details)
    hundredfold = next(
        (
            item
            for item, value in numbers
            if g != 0 and any(abs(shifted(g, power) - value) <= HUNDREDFOLD_TOL * abs(value) for power in (-2, 2))
        ),
        None,
    )
    if hundredfold is not None and (near.percentage or hundredfold.form == "percent form"):
        reason = other_form("percent form", hundredfold.text, _number_text(gold))
        return Strict(value=0.0, reason=reason, kind="percent form", details=details)
    nearest, value = min(numbers, key=lambda pair: abs(pair[1] - g))
    kind = nearest.form or ("value taken for zero" if (g == 0) != (value == 0) else "tolerance by size")
    if near.names(nearest, gold):
        return Strict(value=0.0, reason=only_context(_number_text(gold), nearest.text), kind="context numbers", details=details)
    return Strict(value=0.0, reason=missing_number(_number_text(gold), nearest.text), kind=kind, details=details)


def _number_text(number: int | Number) -> str:
    text = str(exact_of(number))
    return text if len(text) <= 40 else f"{float(exact_of(number))!r}"


def number_margin(
    answer: str, gold: Any, *, conj: Literal["and", "or"], percentage: bool, is_right: bool, accepts: Callable[[float], bool]
) -> float | None:
    """The smallest tolerance under which the answer names gold; None if none is needed, or none is enough.

    `accepts` returns whether a tolerance is enough. With many numbers it is not called, and the nearest number counts.
    """
    answer = _part_that_counts(answer, gold, conj)
    values = [exact_of(reading) for item in find_numbers(answer) for reading in item.candidates]
    if not values:
        return None
    distances = []
    for number in map(read_number, gold if isinstance(gold, list | tuple) else [gold]):
        g = exact_of(number)
        forms = [g, shifted(g, 2 if abs(g) <= 1 else -2)] if percentage else [g]
        distances.append(sorted(abs(form - value) for form in forms for value in values))
    nearest = upward((max if conj == "and" else min)(per_gold[0] for per_gold in distances))
    if (is_right and not nearest) or len(values) > _MOST_TRIED:
        return as_margin(nearest)
    candidates = sorted({upward(distance) for per_gold in distances for distance in per_gold})
    at = bisect_left(candidates, True, key=accepts)
    return as_margin(candidates[at]) if at < len(candidates) else None
