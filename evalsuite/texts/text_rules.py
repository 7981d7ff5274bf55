"""Whether an answer holds gold's texts: official by Spider2's `eval_utils.string_match`, strict as a careful judge reads it.

Strict looks for whole tokens, in any spelling form.
Both sides are NFKC, case-folded, with collapsed spaces and without characters that are never shown. A gold that begins or ends with a
letter or a digit must begin or end a token there: letters and digits, one of `- _ . & ' / @ + #` between two of them, `+` and `#` directly
behind a word (`C++`); a possessive `'s` is none of it. Scripts that write no spaces (Chinese, Japanese, Thai ...) have no such boundary.
A gold that is a number is named by its value (`numeric_golds`). Excluded texts are looked for by what they look like (`exclusions`).
"""

import unicodedata
from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, Final, Literal

from evalsuite.texts.characters import is_joined, is_spaceless, visible
from evalsuite.texts.exclusions import excluded_token
from evalsuite.texts.numeric_golds import number_gold, numbers_named
from evalsuite.texts.verdict import Official, Strict

MAX_SHOWN: Final = 60
_JOINING: Final = frozenset("-_.&'/@+#\u2010\u2019")
_BELONGING: Final = frozenset("+#")
_APOSTROPHES: Final = frozenset("'\u2019")


# Stands in a reason for the one gold text; a report that may show gold says it instead.
LACKED: Final = "the gold text"


def match_text(answer: str, gold: str | Sequence[str], *, conj: Literal["and", "or"] = "or", exclude: str | Sequence[str] = ()) -> Official:
    """1 where a gold text (each one with `conj="and"`) lies in the answer without regard to case, else 0.

    An excluded text in the answer gives 0 first. There are no word boundaries: "1" lies in "213".
    """
    if exclude and (forbidden := excluded_text(answer, exclude)) is not None:
        return Official(0.0, f"the answer holds the excluded text {shorten(forbidden)}")
    lowered, golds, met = answer.lower(), [gold] if isinstance(gold, str) else gold, []
    for text in golds:
        if text.lower() in lowered:
            met.append(text)
    n_missing = len(golds) - len(met)
    if n_missing if conj == "and" else not met:
        return _lacks(n_missing, len(golds), conj)
    found = "every gold text" if conj == "and" and len(golds) > 1 else shorten(met[0] if met else "")
    return Official(1.0, f"the answer holds {found}", {"n_missing": n_missing, "n_golds": len(golds)})


@lru_cache(maxsize=64)
def _lacks(n_missing: int, n_golds: int, conj: Literal["and", "or"]) -> Official:
    """The verdict on an answer that lacks gold: it hangs on numbers alone, so the answers of a run share a few."""
    return Official(0.0, f"the answer lacks {_lacking(n_missing, n_golds, conj)}", {"n_missing": n_missing, "n_golds": n_golds})


def _lacking(n_missing: int, n_golds: int, conj: Literal["and", "or"]) -> str:
    """What an answer lacks. A text gold is the answer itself, so a reason that travels to whoever handed in never quotes it."""
    if n_golds == 1:
        return LACKED
    return f"all {n_golds} gold texts" if conj == "or" else f"{n_missing} of {n_golds} gold texts"


def excluded_text(answer: str, exclude: str | Sequence[str]) -> str | None:
    """The first excluded text that lies in the answer without regard to case; a bare text counts letter by letter, as in the reference."""
    lowered = answer.lower()
    return next((text for text in exclude if text.lower() in lowered), None)


def shorten(text: str) -> str:
    """Quoted text of at most 60 characters."""
    return repr(text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "...")


def match_text_strictly(
    answer: str, gold: str | Sequence[str], *, conj: Literal["and", "or"] = "or", exclude: str | Sequence[str] = ()
) -> Strict:
    """The strict verdict on an answer: a gold text (each one with `conj="and"`) as whole words, and no excluded one."""
    forbidden = excluded_token(answer, exclude)
    if forbidden is not None:
        return Strict(value=0.0, reason=f"the answer holds the excluded text {_cut(forbidden)!r}", kind="exclude")
    golds = [gold] if isinstance(gold, str) else list(gold)
    text = fold(answer)
    # Looked for once, and only where a gold is a number: both lists can have hundreds of them.
    numbers = cache(lambda: numbers_named(answer, golds))
    missing = [item for item in golds if not _names(text, item, numbers)]
    details: dict[str, Any] = {"n_missing": len(missing), "n_golds": len(golds)}
    if not missing or (conj == "or" and len(missing) < len(golds)):
        met = [item for item in golds if item not in missing]
        is_number = all(number_gold(item) is not None for item in met)
        which = "every gold text" if conj == "and" and len(golds) > 1 else _cut(met[0].strip()) if is_number else repr(_cut(met[0]))
        reason = f"the answer {'names' if is_number else 'holds'} {which}"
        return Strict(value=1.0, reason=reason, cause="number form" if is_number else "spelling form", details=details)
    inside = next((item for item in missing if fold(item) in text), None)
    if inside is not None:
        word = word_around(text, fold(inside))
        reason = f"part of a word: {_cut(inside)!r} stands only inside {_cut(word)!r}"
        return Strict(value=0.0, reason=reason, kind="part of a word", details=details)
    return Strict(value=0.0, reason=f"the answer lacks {_lacking(len(missing), len(golds), conj)}", kind="lacking", details=details)


def _names(folded: str, gold: str, numbers: Callable[[], Collection[Decimal]]) -> bool:
    """Whether the answer names one gold: by its value where it is a number, else as whole tokens."""
    number = number_gold(gold)
    return holds(folded, fold(gold)) if number is None else number in numbers()


def fold(text: str) -> str:
    """The text as it is compared: NFKC, case folded, invisible characters gone, runs of white space one space."""
    text = visible(text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(text.casefold().split())


def holds(text: str, part: str) -> bool:
    """Whether folded `part` stands in folded `text` as whole tokens where it begins or ends with a letter or a digit."""
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
    """What `part` stands in: all up to the next spaces, and the neighbour too where that is no more than the part itself."""
    at = text.find(part)
    start, end = text.rfind(" ", 0, at) + 1, at + len(part)
    stop = text.find(" ", end) % (len(text) + 1)
    if text[start:stop] == part:
        stop = text.find(" ", stop + 1) % (len(text) + 1)
    return text[start:stop]


def _goes_on_before(text: str, at: int) -> bool:
    """Whether the token that begins at a place has begun before it."""
    if is_joined(text[at - 1 : at], text[at : at + 1]):
        return True
    return at > 1 and text[at - 1] in _JOINING and _links(text[at - 2], text[at : at + 1])


def _goes_on_behind(text: str, end: int) -> bool:
    """Whether the token that ends at a place goes on behind it."""
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
    """Whether a sign between these two characters makes one token of them."""
    return left.isalnum() and right.isalnum() and not (is_spaceless(left) or is_spaceless(right))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."
