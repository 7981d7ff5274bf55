"""Flesch reading ease, with the word, sentence and syllable counts of textstat 0.7.3 (pyphen, no download).

206.835 - 1.015 words per sentence - 84.6 syllables per word: about 0 (hard) to 121 (easy), without bounds. `upstream` rounds both ratios
to one decimal, halves up, and the result to two, as Arthur Bench's textstat did; its empty text is 206.84.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Final, Literal

from evalsuite.metrics.base import Measure, Metric
from evalsuite.metrics.word_count import words

_SENTENCE: Final = re.compile(r"\b[^.!?]+[.!?]*")


@dataclass(frozen=True, kw_only=True)
class Readability(Metric):
    """The Flesch reading ease on `scale`, 1 at its high end; null without a scale, because it has no ends, and for a text without words.

    With `scale: [0, 100]` an ease of 60 is 0.6. English.

    Args:
        variant: `upstream` rounds as Arthur Bench did.
        scale: the eases that count as 0 and as 1.

    Example:
        `{"func": "readability", "parameters": {"scale": [0, 100]}}`
    """

    name: ClassVar[str] = "readability"
    low: ClassVar[float | None] = None
    high: ClassVar[float | None] = None
    needs_reference: ClassVar[bool] = False

    variant: Literal["unrounded", "upstream"] = "unrounded"

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """The reading ease, with the three counts in the details."""
        n_words, n_sentences, n_syllables = counts(prediction)
        details = {"words": n_words, "sentences": n_sentences, "syllables": n_syllables}
        upstream = self.variant == "upstream"
        if not n_words and not upstream:
            return Measure(value=None, reason="a text without words has no reading ease", details=details)
        lengths = (n_words / n_sentences, n_syllables / n_words) if n_words else (0.0, 0.0)
        if upstream:
            lengths = (_legacy_round(lengths[0], 1), _legacy_round(lengths[1], 1))
        value = 206.835 - 1.015 * lengths[0] - 84.6 * lengths[1]
        return Measure(value=_legacy_round(value, 2) if upstream else value, details=details)


def counts(text: str) -> tuple[int, int, int]:
    """(words, sentences, syllables). Sentences of at most two words are not counted, but there is at least one."""
    n_sentences = sum(len(words(sentence)) > 2 for sentence in _SENTENCE.findall(text))
    plain = words(text.lower())
    breaks = sum(len(_hyphenation().positions(word)) + 1 for word in plain)
    return len(words(text)), max(1, n_sentences), breaks


def _legacy_round(value: float, digits: int) -> float:
    # floor with the sign's half: textstat's Python 2 rounding, which comes out .01 low for negative values.
    scale = 10**digits
    rounded: float = math.floor(value * scale + math.copysign(0.5, value)) / scale
    return rounded


@cache
def _hyphenation() -> Any:
    from pyphen import Pyphen  # type: ignore[import-untyped]

    return Pyphen(lang="en_US")
