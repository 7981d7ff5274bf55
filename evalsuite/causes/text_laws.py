"""The laws of wrong texts: what is gold's but for spaces, case, marks, quotation or encoding."""

import html
import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from itertools import combinations
from typing import Any, Final

from evalsuite.causes.laws import NO, Fixed
from evalsuite.causes.value_pairs import Pair

# In front of a number only behind letters, digits or `#`: elsewhere a hyphen is its sign.
_SPACES: Final = re.compile(r"(?<=[\w#])[\s_\-\u00a0]+(?=\w)|(?<=\S)[\s_\-\u00a0]+(?=[^\s\d.])|\s+|_")
# A hyphen behind a word or a mark is no sign.
_FIGURES: Final = re.compile(r"(?:(?<![^\s(])[+-])?\d+(?:[.,:]\d+)*")
# Marks that are neither inside a number nor its sign.
_MARKS: Final = re.compile(r"(?<!\d)[^\w\s+-]|[^\w\s](?!\d)")
_PARTS: Final = {"spaces": "spaces, hyphens or underscores", "case": "upper and lower case", "accents": "accents or forms of letters",
                 "punctuation": "punctuation"}  # fmt: skip
_QUOTES: Final = "\"'`\u201c\u201d\u2018\u2019\u00ab\u00bb"


def same_text(part: str) -> Callable[[Sequence[Pair]], Fixed | None]:
    """A law by which texts differ in one part of their form, and in no more of the parts before it than are needed.

    Parts are `spaces`, `case`, `accents` and `punctuation`. A prediction becomes gold's text.
    """
    before = list(_PARTS)[: list(_PARTS).index(part)]

    def fix(pairs: Sequence[Pair]) -> Fixed | None:
        texts = [(pair.gold_text, pair.predicted_text) for pair in pairs]
        if not texts or any(gold is None or predicted is None or gold == predicted for gold, predicted in texts):
            return None
        for parts in (set(some) | {part} for n in range(len(before) + 1) for some in combinations(before, n)):
            if all(gold and predicted and _same_without(parts, gold, predicted) for gold, predicted in texts):
                words = [_PARTS[name] for name in _PARTS if name in parts]
                listed = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
                return Fixed(tuple(pair.gold for pair in pairs), f"{listed} differ{'s' if words == ['punctuation'] else ''}")
        return None

    return fix


def _same_without(parts: Collection[str], gold: str, predicted: str) -> bool:
    """Whether two texts are the same, and not empty, but for some parts of their form."""
    a, b = (_without(parts, text) for text in (gold, predicted))
    return a == b != ""


def _without(parts: Collection[str], text: str) -> str:
    if "accents" in parts:
        text = bare(text)
    if "case" in parts:
        text = text.casefold()
    if "punctuation" in parts:
        text = _MARKS.sub(" ", text)
        return "".join(text.split()) if "spaces" in parts else " ".join(text.split())
    return squeezed(text) if "spaces" in parts else text


def squeezed(text: str) -> str:
    """The text with one plain space for each run of spaces of any kind, hyphens or underscores between words."""
    return _SPACES.sub(" ", text).strip()


def quotes(pairs: Sequence[Pair]) -> Fixed | None:
    """Gold's text, or number, in quotation marks; or gold's quotation marks are missing."""
    for says, marked, plain in (
        ("quotation marks stand around the text", "predicted", "gold"),
        ("quotation marks around the text are missing", "gold", "predicted"),
    ):
        sides = [(getattr(pair, marked), getattr(pair, plain)) for pair in pairs]
        if sides and all(_is_quoted(quoted, text) for quoted, text in sides):
            return Fixed(tuple(pair.gold for pair in pairs), says)
    return None


def _is_quoted(quoted: Any, text: Any) -> bool:
    if not isinstance(quoted, str) or not isinstance(text, str):
        return False
    outer = quoted.strip()
    return len(outer) >= 2 and outer[0] in _QUOTES and outer[-1] in _QUOTES and outer[1:-1].strip() == text.strip() != ""


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
    lost = {in_ascii(gold).strip(), gold.encode("ascii", "ignore").decode("ascii").strip()}
    return pair.gold if predicted.strip() in lost else NO


def alphanumeric(text: str) -> str:
    """The letters without case and marks, and the numbers with theirs: `4.2` and `42` stay apart."""
    letters = "".join(c for c in bare(text).casefold() if c.isalpha())
    return f"{letters} {' '.join(_FIGURES.findall(text))}" if letters else ""


def encoding(pairs: Sequence[Pair]) -> Fixed | None:
    """Texts that were read in another encoding than they were written in, or whose characters stand as HTML entities."""
    texts = [(pair.gold_text, pair.predicted_text) for pair in pairs]
    golds = tuple(pair.gold for pair in pairs)
    if not texts or any(gold is None or predicted is None or gold == predicted for gold, predicted in texts):
        return None
    if all(html.unescape(str(predicted)) == gold for gold, predicted in texts):
        return Fixed(golds, "characters stand as HTML entities")
    for name, shown in (("cp1252", "Windows-1252"), ("latin-1", "Latin-1")):
        if all(_decoded(str(predicted), name) == gold for gold, predicted in texts):
            return Fixed(golds, f"the text was read in the wrong encoding, UTF-8 as {shown}")
    return None


def _decoded(text: str, name: str) -> str | None:
    try:
        return text.encode(name).decode("utf-8")
    except UnicodeError:
        return None


def leading_zeros(pair: Pair) -> Any:
    texts = [str(value).strip() for value in (pair.gold, pair.predicted)]
    if texts[0] == texts[1] or not all(text.isascii() and text.isdigit() for text in texts):
        return NO
    return pair.gold if texts[0].lstrip("0") == texts[1].lstrip("0") else NO
