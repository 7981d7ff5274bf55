"""Normal forms and tokens shared by several metrics, and Porter's stemmer.

The stemmer is that of rouge-score, with nltk's differences from M. F. Porter (1980), "An algorithm for suffix stripping": an irregular
list, short words unchanged, "ies" and "ied" of four letters, y after a consonant only.
"""

import re
import string
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Final

# Scripts without spaces: each character is a token.
_UNSPACED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
UNICODE_TOKEN: Final = rf"[{_UNSPACED}]\p{{M}}*|(?:(?![{_UNSPACED}])[\p{{L}}\p{{M}}\p{{N}}])+"
_NO_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


def squad(text: str) -> str:
    """Lower-case the text, drop ASCII punctuation and the words a, an, the, collapse spaces: "The Eiffel Tower." -> "eiffel tower".

    Source: the evaluation script of SQuAD 1.1 and 2.0. English articles only.
    """
    text = text.lower().translate(_NO_PUNCTUATION)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def unicode_tokens(text: str) -> list[str]:
    """Return runs of letters, marks and digits, NFC and case-folded; each character of an unspaced script (Han, Kana, Thai ...) is a
    token.
    """
    import regex

    tokens: list[str] = regex.findall(UNICODE_TOKEN, unicodedata.normalize("NFC", text).casefold())
    return tokens


VOWELS: Final = frozenset("aeiou")
IRREGULAR: Final = {
    "skies": "sky", "sky": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news", "innings": "inning", "inning": "inning",
    "outings": "outing", "outing": "outing", "cannings": "canning", "canning": "canning", "howe": "howe", "proceed": "proceed",
    "exceed": "exceed", "succeed": "succeed",
}  # fmt: skip
Rule = tuple[str, str]
_STEP_2: Final[tuple[Rule, ...]] = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"), ("alli", "al"),
    ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al"),
    ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"), ("fulli", "ful"),
    ("logi", "log"),
)  # fmt: skip
_STEP_3: Final[tuple[Rule, ...]] = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4: Final = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti", "ous", "ive", "ize",
)  # fmt: skip


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the stem of a lower-case word: "relational" -> "relat", "skies" -> "sky"; words of one or two letters are unchanged."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) <= 2:
        return word
    for step in (_plural, _past, _final_y, _step_2, _step_3, _step_4, _final_e, _double_l):
        word = step(word)
    return word


def _measure(stem: str) -> int:
    """Return how often a consonant follows a vowel."""
    kinds = _kinds(stem)
    return sum(a and not b for a, b in pairwise(kinds))


def _kinds(stem: str) -> list[bool]:
    """Return for each letter whether it is a vowel, in one pass, because a run of y would make the definition quadratic."""
    is_vowel: list[bool] = []
    for place, letter in enumerate(stem):
        is_vowel.append(letter in VOWELS or (letter == "y" and place > 0 and not is_vowel[-1]))
    return is_vowel


def _ends_cvc(word: str) -> bool:
    kinds = _kinds(word)
    if len(word) >= 3:
        return kinds[-3:] == [False, True, False] and word[-1] not in "wxy"
    return len(word) == 2 and kinds == [True, False]


def _plural(word: str) -> str:
    if word.endswith("ies") and len(word) == 4:
        return word[:-1]
    for suffix, new in (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")):
        if word.endswith(suffix):
            return word[: -len(suffix)] + new
    return word


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix) and any(_kinds(short := word[: -len(suffix)])):
            # Repair a stem after removal of -ed or -ing: "hopp" -> "hop", "fil" -> "file".
            if short.endswith(("at", "bl", "iz")):
                return short + "e"
            if short[-1:] == short[-2:-1] and short and not _kinds(short)[-1]:
                return short if short[-1] in "lsz" else short[:-1]
            return short + "e" if _measure(short) == 1 and _ends_cvc(short) else short
    return word


def _final_y(word: str) -> str:
    if word.endswith("y") and len(word) > 2 and not _kinds(word[:-1])[-1]:
        return word[:-1] + "i"
    return word


def _step_2(word: str) -> str:
    # "-alli" becomes "-al" and the step starts again: "hopefulli".
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _step_2(word[:-4] + "al")
    return _replaced(word, _STEP_2, lambda suffix: word[:-3] if suffix == "logi" else word[: -len(suffix)])


def _step_3(word: str) -> str:
    return _replaced(word, _STEP_3, lambda suffix: word[: -len(suffix)])


def _replaced(word: str, rules: tuple[Rule, ...], measured: Callable[[str], str]) -> str:
    """Return the word with the first matching suffix replaced, if the part before it contains a syllable."""
    for suffix, new in rules:
        if word.endswith(suffix):
            return word[: -len(suffix)] + new if _measure(measured(suffix)) > 0 else word
    return word


def _step_4(word: str) -> str:
    for suffix in _STEP_4:
        if word.endswith(suffix):
            short = word[: -len(suffix)]
            fits = _measure(short) > 1 and (suffix != "ion" or short[-1] in "st")
            return short if fits else word
    return word


def _final_e(word: str) -> str:
    if not word.endswith("e"):
        return word
    short = word[:-1]
    return short if _measure(short) > 1 or (_measure(short) == 1 and not _ends_cvc(short)) else word


def _double_l(word: str) -> str:
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
