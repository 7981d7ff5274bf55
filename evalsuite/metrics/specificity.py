"""Specificity: few vague words, rare words, names and numbers (Arthur Bench).

Names and numbers are capitalised words that do not begin a sentence, and words with a digit; the source asked an nltk tagger for NNP
and CD, which needs a download.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from evalsuite.errors import MissingExtraError
from evalsuite.metrics.base import Measure, Metric
from evalsuite.metrics.word_count import words

# "most" stands twice, as in the source: it counts double.
VAGUE: Final = (
    "around", "about", "almost", "basically", "approximately", "nearly", "roughly", "some", "most", "least", "good", "bad", "nice",
    "great", "may", "could", "certain", "most", "might", "usually", "typically", "like", "sure",
)  # fmt: skip
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, kw_only=True)
class Specificity(Metric):
    """0.33 (vague + rare + proper) over its highest value, 0.99; null for a text without words.

    English; needs the extra `wordfreq`.

    Args:
        match: `substring` counts "some" in "something" as vague, as Arthur Bench does; `word` counts whole words.

    Example:
        `{"func": "specificity", "parameters": {"match": "word"}}`
    """

    name: ClassVar[str] = "specificity"
    high: ClassVar[float | None] = 0.99
    needs_reference: ClassVar[bool] = False

    match: Literal["substring", "word"] = "substring"

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """The value, with its three parts in the details."""
        if not words(prediction):
            return Measure(value=None, reason="a text without words has no specificity")
        parts = {"vague": vague(prediction, match=self.match), "rare": rare(prediction), "proper": proper(prediction)}
        return Measure(value=0.33 * sum(parts.values()), details=parts)


def vague(text: str, *, match: Literal["substring", "word"] = "substring") -> float:
    """1 without a vague word, falling to 0 where a fifth of the words are vague."""
    lowered = text.lower()
    n_words = len(words(text))
    if match == "word":
        own = words(lowered)
        hits = sum(own.count(word) for word in VAGUE)
    else:
        hits = sum(lowered.count(word) for word in VAGUE)
    return max(0.0, (n_words - hits) / n_words / 0.2 - 4)


def rare(text: str) -> float:
    """1 for words rarer than 4 in 10,000 of English on average, 0 for common ones; raises `MissingExtraError` without wordfreq."""
    try:
        from wordfreq import word_frequency
    except ImportError as error:
        raise MissingExtraError("specificity needs the package wordfreq", hint="pip install 'evalsuite[wordfreq]'") from error
    plain = re.sub(r"[^\w\s']", "", text.replace("/", " ")).split()
    mean = sum(min(word_frequency(word, "en"), 0.001) for word in plain) / len(plain)
    return min(1.0, max(0.0, 2 - mean / 0.0004))


def proper(text: str) -> float:
    """1 where at least a fifth of the words are names or numbers."""
    hits = sum(
        any(character.isdigit() for character in word) or (place > 0 and word[0].isupper())
        for sentence in _SENTENCE_END.split(text)
        for place, word in enumerate(words(sentence))
    )
    return min(1.0, 5 * hits / len(words(text)))
