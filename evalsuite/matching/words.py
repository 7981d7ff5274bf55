"""Where a word ends: between two characters, of whatever script."""

import unicodedata
from typing import Final

# Scripts that write no spaces between words.
_NO_SPACES: Final = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR")


def is_joined(left: str, right: str) -> bool:
    """Whether two neighbouring characters (or none, "") belong to one word."""
    if not (left and right and _in_word(left) and _in_word(right)):
        return False
    return not (is_spaceless(left) or is_spaceless(right))


def is_spaceless(char: str) -> bool:
    """Whether the character is of a script that writes no spaces."""
    return bool(char) and not char.isascii() and unicodedata.name(char, "").startswith(_NO_SPACES)


def _in_word(char: str) -> bool:
    return char.isalnum() or unicodedata.combining(char) != 0
