"""The laws of wrong texts: what is gold's but for spaces, case, marks, quotation or encoding."""

import html
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, Final

from evalsuite.causes.laws import NO, Fixed, each
from evalsuite.causes.value_pairs import Pair

# Between letters or digits only: a hyphen in front of a number is its sign.
_SPACES: Final = re.compile(r"(?<=\w)[\s_\-\u00a0]+(?=\w)|\s+|_")
_FIGURES: Final = re.compile(r"[+-]?\d+(?:[.,:]\d+)*")
_QUOTES: Final = "\"'`\u201c\u201d\u2018\u2019\u00ab\u00bb"


def same_text(normal: Callable[[str], str]) -> Callable[[Sequence[Pair]], Fixed | None]:
    """A law by which two texts are one: where they are the same in normal form, the prediction becomes gold's text."""

    def undone(pair: Pair) -> Any:
        gold, predicted = pair.gold_text, pair.predicted_text
        if gold is None or predicted is None or gold == predicted or not normal(gold):
            return NO
        return pair.gold if normal(gold) == normal(predicted) else NO

    return each(undone)


def squeezed(text: str) -> str:
    """The text with one plain space for each run of spaces of any kind, hyphens or underscores between words."""
    return _SPACES.sub(" ", text).strip()


def caseless(text: str) -> str:
    """The text without case and with plain spaces."""
    return squeezed(text).casefold()


def unquoted(text: str) -> str:
    return text.strip().strip(_QUOTES).strip()


def quotes(pair: Pair) -> Any:
    """Gold's text, or number, in quotation marks."""
    texts = pair.gold, pair.predicted
    if not all(isinstance(text, str) for text in texts) or texts[0] == texts[1]:
        return NO
    return pair.gold if unquoted(texts[0]) == unquoted(texts[1]) != "" else NO


def bare(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def in_ascii(text: str) -> str:
    """What is left of a text that was forced into ASCII: letters without their accents, and nothing of a long dash or a Greek letter."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")


def without_symbols(text: str) -> str:
    """The text forced into ASCII where that takes whole characters out of it; as it is where only accents would go."""
    return text if bare(text).isascii() else in_ascii(text)


def characters_lost(pair: Pair) -> Any:
    """A prediction that is gold with the characters beyond ASCII taken out, and gold has such."""
    gold, predicted = pair.gold_text, pair.predicted_text
    if gold is None or predicted is None or gold.isascii() or not predicted.isascii():
        return NO
    return pair.gold if in_ascii(gold).strip() == predicted.strip() else NO


def alphanumeric(text: str) -> str:
    """The letters without case and marks, and the numbers with theirs: `4.2` and `42` stay apart."""
    letters = "".join(c for c in bare(text).casefold() if c.isalpha())
    return f"{letters} {' '.join(_FIGURES.findall(text))}" if letters else ""


def _decoded(text: str) -> str:
    for name in ("cp1252", "latin-1"):
        try:
            return html.unescape(text).encode(name).decode("utf-8")
        except UnicodeError:
            continue
    return html.unescape(text)


def encoding(pair: Pair) -> Any:
    gold, predicted = pair.gold_text, pair.predicted_text
    if gold is None or predicted is None or gold == predicted:
        return NO
    return pair.gold if _decoded(predicted) == gold else NO


def leading_zeros(pair: Pair) -> Any:
    texts = [str(value).strip() for value in (pair.gold, pair.predicted)]
    if texts[0] == texts[1] or not all(text.isascii() and text.isdigit() for text in texts):
        return NO
    return pair.gold if texts[0].lstrip("0") == texts[1].lstrip("0") else NO
