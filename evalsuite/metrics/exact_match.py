"""Exact match: 1 where prediction and reference are equal after the chosen normalisation.

`recommended`: NFC, casefold with `ignore_case`, punctuation dropped with `ignore_punctuation`, Unicode spaces collapsed and stripped
with `normalize_whitespace`. `issue_literal`: the order of the Desiru issue, ASCII spaces, always stripped: "hello !" keeps its blank.
`squad`: lower case, no ASCII punctuation, no a/an/the. `arthur`: plain equality, lower-cased with `ignore_case` (Arthur Bench's
code has that flag inverted; this is what it documents).
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Final, Literal

from evalsuite.metrics.base import Measure, Metric, best
from evalsuite.metrics.tokens import squad

ASCII_SPACES: Final = " \t\n\v\f\r\0"
# What Ruby's [[:punct:]] holds beside Unicode's category P.
RUBY_SYMBOLS: Final = frozenset("$+<=>^`|~")


@dataclass(frozen=True, kw_only=True)
class ExactMatch(Metric):
    """1 where the answer equals a reference after normalisation, else 0.

    With no flag "Paris " equals "Paris" but "paris" does not.

    Args:
        gold: the reference or references, the best one counts.
        variant: `recommended` (NFC, Unicode); `issue_literal` (the Desiru issue's order, ASCII spaces); `squad`; `arthur` (plain equality).
        ignore_case: fold case on both sides.
        ignore_punctuation: drop punctuation on both sides.
        normalize_whitespace: collapse white space; `recommended` also strips it.

    Example:
        `{"func": "exact_match", "parameters": {"gold": "Paris", "ignore_case": true}}`
    """

    name: ClassVar[str] = "exact_match"

    variant: Literal["recommended", "issue_literal", "squad", "arthur"] = "recommended"
    ignore_case: bool = False
    ignore_punctuation: bool = False
    normalize_whitespace: bool = True

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """1.0 or 0.0, with the category `match` or `non match`."""
        own = self.normal(prediction)
        return best([self._against(own, prediction, reference) for reference in references])

    def normal(self, text: str) -> str:
        """The text as it is compared."""
        if self.variant == "squad":
            return squad(text)
        if self.variant == "arthur":
            return text.lower() if self.ignore_case else text
        if self.variant == "issue_literal":
            text = text.strip(ASCII_SPACES)
            text = text.lower() if self.ignore_case else text
            text = re.sub(r"\s+", " ", text, flags=re.ASCII) if self.normalize_whitespace else text
            return without_punctuation(text) if self.ignore_punctuation else text
        text = unicodedata.normalize("NFC", text)
        text = text.casefold() if self.ignore_case else text
        text = without_punctuation(text) if self.ignore_punctuation else text
        return " ".join(text.split()) if self.normalize_whitespace else text

    def _against(self, own: str, prediction: str, reference: str) -> Measure:
        other = self.normal(reference)
        equal = own == other
        # Two texts of nothing but punctuation are equal once it is dropped: said, because nobody means it.
        empty = equal and not own and prediction != reference
        note = {"note": "both texts are empty after normalisation"} if empty else {}
        return Measure(value=float(equal), details={"category": "match" if equal else "non match"} | note)


def without_punctuation(text: str) -> str:
    """The text without Unicode punctuation and ``$+<=>^`|~``, which is what Ruby calls punctuation."""
    return "".join(character for character in text if not _is_punctuation(character))


@cache
def _is_punctuation(character: str) -> bool:
    return character in RUBY_SYMBOLS or unicodedata.category(character).startswith("P")
