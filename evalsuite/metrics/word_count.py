"""word_count_match: how near the length in words comes to the reference's (Arthur Bench)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from evalsuite.metrics.base import Measure, Metric, best

# Apostrophes of contractions stay, every other sign goes (textstat 0.7.3, remove_punctuation).
_APOSTROPHE: Final = re.compile(r"\'(?![tsd]\b|ve\b|ll\b|re\b)")
_SIGN: Final = re.compile(r"[^\w\s\']")


def without_signs(text: str) -> str:
    """Only letters, digits, `_`, white space and the apostrophes of contractions: "don't - 'go'!" -> "don't  go"."""
    return _SIGN.sub("", _APOSTROPHE.sub("", text))


def words(text: str) -> list[str]:
    """The words of a text as textstat 0.7.3 counts them: a hyphenated word is one."""
    return without_signs(text).split()


@dataclass(frozen=True, kw_only=True)
class WordCountMatch(Metric):
    """1 - |difference in words| / words of the reference, not below 0; the best over several references.

    A hyphenated word is one; nothing against nothing is 1.

    Example:
        `{"func": "word_count_match", "parameters": {"gold": "a summary of about this length"}}`
    """

    name: ClassVar[str] = "word_count_match"

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """The share, with both word counts in the details."""
        own = len(words(prediction))
        return best([_against(own, len(words(reference))) for reference in references])


def _against(own: int, other: int) -> Measure:
    details = {"words": own, "reference_words": other}
    if not other:
        return Measure(value=float(own == 0), details=details)
    return Measure(value=max(0.0, (other - abs(other - own)) / other), details=details)
