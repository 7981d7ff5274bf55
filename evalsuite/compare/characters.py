"""Unicode rules for untrusted text: which characters are visible, are digits, look like others, or end a word.

`clean` is the one function that escapes untrusted text for reports. Look-alikes are Unicode's own (confusables.txt, from the package
confusable-homoglyphs).
"""

import json
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final

from evalsuite.core.import_ref import lazy_pattern

# Scripts that write no spaces between words.
_NO_SPACES: Final = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR")

# Default_Ignorable_Code_Point of Unicode's DerivedCoreProperties.
_IGNORABLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_HIDDEN: Final = lazy_pattern(f"[{_IGNORABLE}]")
# A letter that NFKC leaves alone and that no answer uses. It replaces characters that are neither digits nor marks of a number.
LETTER: Final = "\u01c0"


# Printable by Python's rule but drawn as nothing: Unicode's default-ignorable characters (joiners, fillers, inherent vowels and all
# variation selectors), the blank Braille pattern, the null notehead and the Khitan filler.
_BLANK_RANGES: Final = (
    *((0x34F, 0x34F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180D), (0x180F, 0x180F), (0x3164, 0x3164), (0xFFA0, 0xFFA0)),
    *((0xFE00, 0xFE0F), (0xE0100, 0xE01EF), (0x2800, 0x2800), (0x1D159, 0x1D159), (0x16FE4, 0x16FE4)),
)
_BLANK: Final = frozenset(chr(code) for first, last in _BLANK_RANGES for code in range(first, last + 1))
# More combining marks than any script puts on one letter.
MOST_MARKS: Final = 8


def is_visible(char: str) -> bool:
    """Whether a character is visible: printable, and not one that Unicode draws as nothing."""
    return char.isprintable() and char not in _BLANK


def visible(text: str) -> str:
    """The text without invisible characters."""
    return text if text.isascii() else _HIDDEN.sub("", text)


def digits_only(text: str) -> str:
    """The text under NFKC, where only decimal digits become digits: superscripts, enclosed digits and fractions become letters.

    Digits under a combining mark that encloses them or strikes them through become letters too.
    """
    if text.isascii():
        return text
    text_digits: list[str] = []
    for char in visible(text):
        if char.isascii():
            text_digits.append(char)
        elif unicodedata.category(char) in ("Mn", "Me"):
            if text_digits and text_digits[-1].isdigit():
                text_digits[-1] = LETTER
            else:
                text_digits.append(char)
        else:
            text_digits.append(LETTER if _looks_like_digits(char) else char)
    return unicodedata.normalize("NFKC", "".join(text_digits))


def _looks_like_digits(char: str) -> bool:
    """Whether a character that is no decimal digit would become one, or has a number's value."""
    category = unicodedata.category(char)
    return category in ("No", "Nl") or (category != "Nd" and any(map(str.isdigit, unicodedata.normalize("NFKC", char))))


@lru_cache(maxsize=1 << 14)
def looks_like(char: str) -> frozenset[str]:
    """The ASCII letters and digits (lower case, without marks) that a character can be mistaken for, including its own plain form."""
    if char.isascii():
        return frozenset(char.lower())
    shapes = _shapes(char)
    names = [name for text in (char, *shapes) if len(text) == 1 and _SMALL_CAPITAL.fullmatch(name := unicodedata.name(text, ""))]
    letters = {_bare(char), *map(_bare, shapes), *(name[-1].lower() for name in names)}
    if not any(map(str.isascii, letters)) and len(char.upper()) == 1 and char.upper() != char:
        letters |= looks_like(char.upper())
    # Unicode maps each family of strokes and circles to one member.
    letters |= {"i", "1"} if "l" in shapes else set()
    letters |= {"0"} if "O" in shapes else set()
    return frozenset(text for text in letters if len(text) == 1)


@lru_cache(maxsize=1 << 14)
def spelled_out(char: str) -> str:
    """The plain characters that a character stands for (`æ`: `ae`, `é`: `e`); the character itself if it also looks like another one."""
    bare = _bare(char)
    if len(bare) == 1 and not bare.isascii():
        several = next((text for text in map(_bare, _shapes(char)) if len(text) > 1 and text.isascii() and text.isalnum()), None)
        if several is not None:
            return several
    return bare if len(bare) != 1 or looks_like(char) <= looks_like(bare) else char


def _bare(text: str) -> str:
    """The text under NFKD and case folding, without marks."""
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(char for char in decomposed if unicodedata.category(char) not in ("Mn", "Me")).casefold()


_SMALL_CAPITAL: Final = lazy_pattern(r"LATIN LETTER SMALL CAPITAL [A-Z]")


def _shapes(char: str) -> tuple[str, ...]:
    """The characters that Unicode lists as confusable with a character, without invisible direction marks."""
    return _confusables().get(char, ())


@cache
def _confusables() -> Mapping[str, tuple[str, ...]]:
    from importlib.resources import files

    table = json.loads((files("confusable_homoglyphs") / "confusables.json").read_text(encoding="utf-8"))
    return {char: tuple(visible(entry["c"]) for entry in entries) for char, entries in table.items()}


def is_joined(left: str, right: str) -> bool:
    """Whether two neighbouring characters (or none, "") belong to one word."""
    if not (left and right and _in_word(left) and _in_word(right)):
        return False
    return not (is_spaceless(left) or is_spaceless(right))


def is_spaceless(char: str) -> bool:
    """Whether the character belongs to a script that writes no spaces."""
    return bool(char) and not char.isascii() and unicodedata.name(char, "").startswith(_NO_SPACES)


def _in_word(char: str) -> bool:
    return char.isalnum() or unicodedata.combining(char) != 0


def clean(text: str) -> str:
    """The text with every invisible character (ESC, C1, bidi, zero-width, selectors, surrogates, line ends) replaced by its escape.

    Visible characters of any script stay. Of a run of combining marks the first eight stay, so that no cell is drawn over its neighbours.
    """
    if text.isascii() and text.isprintable():
        return text
    out: list[str] = []
    marks = 0
    for char in text:
        if not is_visible(char):
            signs = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
            code = ord(char)
            out.append(signs.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"))
            marks = 0
            continue
        marks = marks + 1 if unicodedata.category(char)[0] == "M" else 0
        if marks <= MOST_MARKS:
            out.append(char)
    return "".join(out)
