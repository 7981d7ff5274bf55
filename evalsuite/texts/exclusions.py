"""Whether an excluded text stands in an answer, however it is disguised.

Both are compared by what a reader sees: characters that are never shown and marks (strokes through letters too) are gone, runs of hyphens,
underscores and points are a space, and a letter or digit of another alphabet counts as each one it looks like. Letters and digits
alone are a boundary, so this finds more than a gold does, on purpose: what is forbidden is not to be hidden in `New-York`.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final

from evalsuite.texts.characters import is_joined, looks_like, spelled_out, visible

# Marks of annotation, and a Braille cell without dots.
_BLANK: Final = re.compile("[\ufff9-\ufffb\u2800]")
_SEPARATORS: Final = frozenset("-_.\u00b7\u2212")
# In capitals and digits these look alike even in plain ASCII; so short a text would be found by chance.
_SAME_SHAPE: Final = {"I": "l1", "l": "I1", "O": "0"}
_FEWEST_LOOKED_AT: Final = 3


def excluded_token(answer: str, exclude: str | Sequence[str]) -> str | None:
    """The first excluded text that stands in the answer as whole words, disguises seen through; a bare text is one exclusion."""
    items = [exclude] if isinstance(exclude, str) else exclude
    if not items:
        return None
    text, drawn = _skeleton(answer), _spaced(answer)
    meanings = {char: looks_like(char) for char in set(text) if not char.isascii()}
    return next((item for item in items if _stands_in(text, _skeleton(item), meanings) or _is_drawn_in(drawn, _spaced(item))), None)


def _skeleton(text: str) -> str:
    """The text without what a disguise adds; characters that can be taken for several stay as they are."""
    shown = _BLANK.sub("", visible(text))
    if shown.isascii():
        return _spaced(shown.lower())
    # Small and capital letters of another alphabet look like different letters, so only ASCII is folded.
    return _spaced("".join(char.lower() if char.isascii() else char if _separates(char) else spelled_out(char) for char in shown))


def _spaced(text: str) -> str:
    return " ".join("".join(" " if _separates(char) else char for char in text).split())


def _separates(char: str) -> bool:
    return char in _SEPARATORS or (not char.isascii() and unicodedata.category(char) == "Pd")


def _stands_in(text: str, item: str, meanings: Mapping[str, frozenset[str]]) -> bool:
    """Whether the item stands in the text, each of its characters as itself or as one that looks like it."""
    if not item:
        return False
    classes = []
    for char in item:
        meant = looks_like(char)
        alike = [other for other, looks in meanings.items() if looks & meant]
        classes.append("[" + "".join(map(re.escape, {char, *meant, *alike})) + "]")
    return _stands_apart(re.compile("".join(classes)), text)


def _is_drawn_in(text: str, item: str) -> bool:
    """Whether the item stands in the text stroke by stroke: `AIice` is Alice."""
    if len(item) < _FEWEST_LOOKED_AT or not any(char in _SAME_SHAPE for char in item):
        return False
    return _stands_apart(re.compile("".join(f"[{re.escape(char)}{_SAME_SHAPE.get(char, '')}]" for char in item)), text)


def _stands_apart(pattern: re.Pattern[str], text: str) -> bool:
    """Whether a match stands where no word goes on."""
    at = 0
    while (match := pattern.search(text, at)) is not None:
        start, end = match.span()
        if not (is_joined(text[start - 1 : start], text[start]) or is_joined(text[end - 1], text[end : end + 1])):
            return True
        at = start + 1
    return False
