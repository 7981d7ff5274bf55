"""Whether an answer holds gold's texts, as a careful judge reads it: whole words, and letters that look alike count as alike.

Both sides are NFKC, case-folded, with collapsed spaces and without zero-width characters. A gold that begins or ends with a letter or a
digit must begin or end a word there, and a number ends only where its decimals do: `3` is not in `3.14`. Scripts that write no spaces
(Chinese, Japanese, Thai ...) have no such boundary. Excluded texts are looked for in the same way, with letters of other alphabets that
look Latin folded first, so that no disguise dodges them.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Final, Literal

from evalsuite.matching.verdict import Strict

MAX_SHOWN: Final = 60
_HIDDEN: Final = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff]")
_LOOK_ALIKES: Final = str.maketrans(
    "аеорсухіјѕԁԛԝһкмтвнАВЕКМНОРСТУХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧοανρτυχικɡıᴏ",
    "aeopcyxijsdqwhkmtbhABEKMHOPCTYXIJSABEZHIKMNOPTYXoavptuxikgio",
)
_NO_SPACES: Final = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR")


def match_text_strictly(
    answer: str, gold: str | Sequence[str], *, conj: Literal["and", "or"] = "or", exclude: str | Sequence[str] = ()
) -> Strict:
    """The strict verdict on an answer: a gold text (each one with `conj="and"`) as whole words, and no excluded one."""
    forbidden = excluded_token(answer, exclude)
    if forbidden is not None:
        return Strict(value=0.0, reason=f"the answer holds the excluded text {_cut(forbidden)!r}", kind="exclude")
    golds = [gold] if isinstance(gold, str) else list(gold)
    text = fold(answer)
    missing = [item for item in golds if not holds(text, fold(item))]
    details: dict[str, Any] = {"n_missing": len(missing), "n_golds": len(golds)}
    if not missing or (conj == "or" and len(missing) < len(golds)):
        which = "every gold text" if conj == "and" and len(golds) > 1 else repr(_cut(next(g for g in golds if g not in missing)))
        return Strict(value=1.0, reason=f"the answer holds {which}", details=details)
    inside = next((item for item in missing if fold(item) in text), None)
    if inside is not None:
        word = word_around(text, fold(inside))
        reason = f"part of a word: {_cut(inside)!r} stands only inside {_cut(word)!r}"
        return Strict(value=0.0, reason=reason, kind="part of a word", details=details)
    # A text gold is the answer itself, so a reason that travels to whoever handed in never quotes it.
    what = (
        "the gold text"
        if len(golds) == 1
        else f"all {len(golds)} gold texts"
        if conj == "or"
        else f"{len(missing)} of {len(golds)} gold texts"
    )
    return Strict(value=0.0, reason=f"the answer lacks {what}", kind="lacking", details=details)


def fold(text: str) -> str:
    """The text as it is compared: NFKC, case folded, zero-width characters gone, runs of white space one space."""
    text = _HIDDEN.sub("", text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(text.casefold().split())


def holds(text: str, part: str) -> bool:
    """Whether folded `part` stands in folded `text` with word boundaries where it begins or ends with a letter or a digit."""
    if not part:
        return False
    at = text.find(part)
    while at >= 0:
        end = at + len(part)
        if not (_joined(text, at) or _joined(text, end)):
            return True
        at = text.find(part, at + 1)
    return False


def excluded_token(answer: str, exclude: str | Sequence[str]) -> str | None:
    """The first excluded text that stands in the answer as whole words, disguises folded; a bare text is one exclusion."""
    items = [exclude] if isinstance(exclude, str) else exclude
    if not items:
        return None
    text = fold(_undisguised(answer))
    return next((item for item in items if holds(text, fold(_undisguised(item)))), None)


def word_around(text: str, part: str) -> str:
    """The word of the text in which `part` stands."""
    at = text.find(part)
    start, end = at, at + len(part)
    while start > 0 and _joined(text, start):
        start -= 1
    while end < len(text) and _joined(text, end):
        end += 1
    return text[start:end]


def _joined(text: str, at: int) -> bool:
    """Whether the characters on both sides of a place belong to one word; a point between digits joins them."""
    if at <= 0 or at >= len(text):
        return False
    left, right = text[at - 1], text[at]
    if _is_point(text, at - 1) or _is_point(text, at):
        return True
    return _in_word(left) and _in_word(right) and not (_spaceless(left) or _spaceless(right))


def _is_point(text: str, at: int) -> bool:
    return text[at] == "." and text[at - 1 : at].isdigit() and text[at + 1 : at + 2].isdigit()


def _in_word(char: str) -> bool:
    return char.isalnum() or unicodedata.combining(char) != 0


def _spaceless(char: str) -> bool:
    return not char.isascii() and unicodedata.name(char, "").startswith(_NO_SPACES)


def _undisguised(text: str) -> str:
    return text if text.isascii() else _HIDDEN.sub("", text).translate(_LOOK_ALIKES)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."
