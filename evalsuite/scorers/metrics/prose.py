"""Metrics of the words of a text: length compared with a reference, reading ease, specificity, hedging (Arthur Bench).

Words, sentences and syllables are counted as in textstat 0.7.3 (pyphen, no download). Reading ease is 206.835 - 1.015 words per
sentence - 84.6 syllables per word: about 0 (hard) to 121 (easy), without bounds; `upstream` rounds both ratios to one decimal, halves up,
and the result to two, as Arthur Bench's textstat does; there the empty text has 206.84. Names and numbers are capitalised words that do
not begin a sentence, and words with a digit; the source uses an nltk tagger for NNP and CD, which needs a download.
"""

import math
import re
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Annotated, Any, ClassVar, Final, Literal

from evalsuite.core.dataclasses import dataclass, field
from evalsuite.core.errors import MissingExtraError
from evalsuite.core.metric import IN_PYTHON, Direction, Measure, Metric, best
from evalsuite.core.scores import Within
from evalsuite.scorers.metrics.bertscore import Embedder, embedder_of, greedy_match

# Apostrophes of contractions are kept, all other punctuation is removed (textstat 0.7.3, remove_punctuation).
_APOSTROPHE: Final = re.compile(r"\'(?![tsd]\b|ve\b|ll\b|re\b)")
_SIGN: Final = re.compile(r"[^\w\s\']")
_SENTENCE: Final = re.compile(r"\b[^.!?]+[.!?]*")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+")
# "most" is listed twice, as in the source: it counts double.
VAGUE: Final = (
    "around", "about", "almost", "basically", "approximately", "nearly", "roughly", "some", "most", "least", "good", "bad", "nice",
    "great", "may", "could", "certain", "most", "might", "usually", "typically", "like", "sure",
)  # fmt: skip
DISCLAIMER: Final = "As an AI language model, I don't have personal opinions, emotions, or beliefs."
PHRASES: Final = (
    "as an ai", "as a language model", "as a large language model", "i am an ai", "i'm an ai", "i am just an ai", "i'm just an ai",
    "i am only an ai", "i am a language model", "i'm a language model", "i don't have personal", "i do not have personal",
    "i don't have opinions", "i do not have opinions", "i don't have feelings", "i do not have feelings", "i don't have emotions",
    "i do not have emotions", "i don't have beliefs", "i do not have beliefs", "my training data", "my knowledge cutoff",
)  # fmt: skip


def words(text: str) -> list[str]:
    """Return the words of a text as in textstat 0.7.3: letters, digits, `_` and apostrophes, so that a hyphenated word is one."""
    return _SIGN.sub("", _APOSTROPHE.sub("", text)).split()


@dataclass(frozen=True, kw_only=True)
class WordCountMatch(Metric):
    """1 - |difference in words| / words of the reference, at least 0; the best over several references.

    A hyphenated word is one word; two empty texts give 1.

    Range: 0 to 1, higher is better. Source: Arthur Bench.

    Example:
        `{"func": "word_count_match", "parameters": {"gold": "a summary of about this length"}}`
    """

    name: ClassVar[str] = "word_count_match"

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """Return the ratio, with both word counts in the details."""
        n = len(words(prediction))
        measures = []
        for n_reference in (len(words(reference)) for reference in references):
            value = max(0.0, (n_reference - abs(n_reference - n)) / n_reference) if n_reference else float(n == 0)
            measures.append(Measure(value=value, details={"words": n, "reference_words": n_reference}))
        return best(measures)


@dataclass(frozen=True, kw_only=True)
class Readability(Metric):
    """The Flesch reading ease mapped by `scale`, 1 at its high end; null without a scale, because it is unbounded, and without words.

    With `scale: [0, 100]` an ease of 60 is 0.6. English.

    Range: unbounded, about 0 to 121, higher is easier; 0 to 1 with `scale`. Source: Arthur Bench, textstat 0.7.3.

    Args:
        variant: `upstream` rounds as Arthur Bench does.
        scale: the values that count as 0 and as 1.

    Example:
        `{"func": "readability", "parameters": {"scale": [0, 100]}}`
    """

    name: ClassVar[str] = "readability"
    low: ClassVar[float | None] = None
    high: ClassVar[float | None] = None
    needs_reference: ClassVar[bool] = False

    variant: Literal["unrounded", "upstream"] = "unrounded"

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """Return the reading ease, with the three counts in the details."""
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
    """Return (words, sentences, syllables). Sentences of at most two words are not counted, but there is at least one."""
    n_sentences = sum(len(words(sentence)) > 2 for sentence in _SENTENCE.findall(text))
    plain = words(text.lower())
    breaks = sum(len(_hyphenation().positions(word)) + 1 for word in plain)
    return len(words(text)), max(1, n_sentences), breaks


def _legacy_round(value: float, digits: int) -> float:
    # floor with the sign's half: textstat's Python 2 rounding, which is .01 too low for negative values.
    scale = 10**digits
    rounded: float = math.floor(value * scale + math.copysign(0.5, value)) / scale
    return rounded


@cache
def _hyphenation() -> Any:
    from pyphen import Pyphen  # type: ignore[import-untyped]

    return Pyphen(lang="en_US")


@dataclass(frozen=True, kw_only=True)
class Specificity(Metric):
    """0.33 (vague + rare + proper) divided by its maximum, 0.99; null for a text without words.

    English; needs the extra `wordfreq`.

    Range: 0 to 1, higher is better; `details.raw` has Arthur Bench's 0 to 0.99. Source: Arthur Bench.

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
        """Return the value, with its three parts in the details."""
        if not words(prediction):
            return Measure(value=None, reason="a text without words has no specificity")
        parts = {"vague": vague(prediction, match=self.match), "rare": rare(prediction), "proper": proper(prediction)}
        return Measure(value=0.33 * sum(parts.values()), details=parts)


def vague(text: str, *, match: Literal["substring", "word"] = "substring") -> float:
    """Return 1 without vague words, falling to 0 if a fifth of the words are vague."""
    lowered = text.lower()
    n_words = len(words(text))
    if match == "word":
        text_words = words(lowered)
        hits = sum(text_words.count(word) for word in VAGUE)
    else:
        hits = sum(lowered.count(word) for word in VAGUE)
    return max(0.0, (n_words - hits) / n_words / 0.2 - 4)


def rare(text: str) -> float:
    """Return 1 for words rarer than 4 in 10,000 of English on average, 0 for common ones. Raises `MissingExtraError` without wordfreq."""
    try:
        from wordfreq import word_frequency
    except ImportError as error:
        raise MissingExtraError("specificity needs the package wordfreq", extra="wordfreq") from error
    plain = re.sub(r"[^\w\s']", "", text.replace("/", " ")).split()
    mean = sum(min(word_frequency(word, "en"), 0.001) for word in plain) / len(plain)
    return float(min(1.0, max(0.0, 2 - mean / 0.0004)))


def proper(text: str) -> float:
    """Return 1 if at least a fifth of the words are names or numbers."""
    hits = sum(
        any(character.isdigit() for character in word) or (place > 0 and word[0].isupper())
        for sentence in _SENTENCE_END.split(text)
        for place, word in enumerate(words(sentence))
    )
    return min(1.0, 5 * hits / len(words(text)))


@dataclass(frozen=True, kw_only=True)
class HedgingLanguage(Metric):
    """1 - similarity to the disclaimer "As an AI language model, ...": 1 is no hedging. The similarity is in `details.raw`.

    Without a model a list of phrases decides, 0 or 1.

    Range: 0 to 1, higher is better. Source: Arthur Bench.

    Args:
        threshold: the similarity from which the category is `hedging`.
        model: the folder of a local model (extra `bertscore`), or `tiny`; then the similarity is BERTScore F1.
        layer: the hidden layer with the vectors.
        hedging_language: another disclaimer.
        embedder: any object with `embed`, instead of a model.

    Example:
        `{"func": "hedging_language", "parameters": {}}`
    """

    name: ClassVar[str] = "hedging_language"
    direction: ClassVar[Direction] = "lower"
    needs_reference: ClassVar[bool] = False

    threshold: Annotated[float, Within(0, 1)] = 0.5
    hedging_language: str = field(default=DISCLAIMER, metadata=IN_PYTHON)
    model: str | None = None
    layer: int = -1
    embedder: Embedder | None = field(default=None, metadata=IN_PYTHON)

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """Return the similarity, with the category in the details."""
        vectors = self.vectors
        if vectors is None:
            plain = " ".join(prediction.lower().replace("’", "'").split())
            phrases = [phrase for phrase in PHRASES if phrase in plain]
            value, details = float(bool(phrases)), {"phrases": phrases}
        else:
            likeness = greedy_match(vectors.embed(prediction), vectors.embed(self.hedging_language)).f1
            value, details = min(1.0, max(0.0, likeness)), {}
        return Measure(value=value, details={"category": "hedging" if value >= self.threshold else "no hedging", **details})

    @cached_property
    def vectors(self) -> Embedder | None:
        """The embedder in use; None if the phrase list decides."""
        return self.embedder or (embedder_of(self.model, self.layer) if self.model else None)
