"""Normal forms and tokens that several metrics share."""

import re
import string
import unicodedata
from typing import Final

# One token each: scripts written without spaces.
_UNSPACED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
UNICODE_TOKEN: Final = rf"[{_UNSPACED}]\p{{M}}*|(?:(?![{_UNSPACED}])[\p{{L}}\p{{M}}\p{{N}}])+"
_NO_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


def squad(text: str) -> str:
    """Lower case, ASCII punctuation and the words a, an, the dropped, spaces collapsed: "The Eiffel Tower." -> "eiffel tower".

    Source: the evaluation script of SQuAD 1.1 and 2.0. English articles only.
    """
    text = text.lower().translate(_NO_PUNCTUATION)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def unicode_tokens(text: str) -> list[str]:
    """Runs of letters, marks and digits, NFC and case-folded; each character of an unspaced script (Han, Kana, Thai ...) alone."""
    import regex

    tokens: list[str] = regex.findall(UNICODE_TOKEN, unicodedata.normalize("NFC", text).casefold())
    return tokens
