"""ROUGE-1, ROUGE-2, ROUGE-L and ROUGE-Lsum, equal to rouge-score 0.1.2 where its tokenizer is chosen."""

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from evalsuite.metrics.base import Measure, Metric, best
from evalsuite.metrics.lcs import lcs_length, lcs_places
from evalsuite.metrics.normalise import unicode_tokens
from evalsuite.metrics.porter import stem

MIN_STEMMED: Final = 4
_ASCII_TOKEN: Final = re.compile("[a-z0-9]+")
Overlap = tuple[int, int, int]


@dataclass(frozen=True, kw_only=True)
class Rouge(Metric):
    """Overlap of both texts' tokens as precision, recall and F; over several references the one with the best F.

    Two texts without tokens score 0. The tokenizer `rouge` keeps only a-z and 0-9, as rouge-score does: Russian, Arabic and Chinese
    score 0 and "café" is "caf"; `unicode` keeps every letter and takes characters of unspaced scripts one by one. `use_stemmer` stems
    words of more than 3 letters (Porter, English).
    """

    part: Literal["fmeasure", "precision", "recall"] = "fmeasure"
    tokenizer: Literal["rouge", "unicode"] = "rouge"
    use_stemmer: bool = False

    @abstractmethod
    def overlap(self, prediction: str, reference: str) -> Overlap:
        """(hits, size of the prediction, size of the reference)."""

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """The chosen part, with precision, recall and F in the details."""
        measures = [self._against(prediction, reference) for reference in references]
        return best(measures, key=[m.details["fmeasure"] for m in measures])

    def tokens_of(self, text: str) -> list[str]:
        """The tokens of a text."""
        tokens = unicode_tokens(text) if self.tokenizer == "unicode" else _ASCII_TOKEN.findall(text.lower())
        return [stem(token) if len(token) >= MIN_STEMMED else token for token in tokens] if self.use_stemmer else tokens

    def _against(self, prediction: str, reference: str) -> Measure:
        hits, n_prediction, n_reference = self.overlap(prediction, reference)
        precision = hits / n_prediction if n_prediction else 0.0
        recall = hits / n_reference if n_reference else 0.0
        fmeasure = 2 * precision * recall / (precision + recall) if hits else 0.0
        details = {"precision": precision, "recall": recall, "fmeasure": fmeasure}
        return Measure(value=details[self.part], details=details)

    def _ngrams(self, prediction: str, reference: str, n: int) -> Overlap:
        own, other = (_ngram_counts(self.tokens_of(text), n) for text in (prediction, reference))
        return (own & other).total(), own.total(), other.total()


@dataclass(frozen=True, kw_only=True)
class Rouge1(Rouge):
    """ROUGE-1: single words."""

    name: ClassVar[str] = "rouge1"
    description: ClassVar[str] = "overlap of single words"

    def overlap(self, prediction: str, reference: str) -> Overlap:
        """Words in both, each at most as often as in either."""
        return self._ngrams(prediction, reference, 1)


@dataclass(frozen=True, kw_only=True)
class Rouge2(Rouge):
    """ROUGE-2: pairs of neighbouring words."""

    name: ClassVar[str] = "rouge2"
    description: ClassVar[str] = "overlap of word pairs"

    def overlap(self, prediction: str, reference: str) -> Overlap:
        """Word pairs in both, each at most as often as in either."""
        return self._ngrams(prediction, reference, 2)


@dataclass(frozen=True, kw_only=True)
class RougeL(Rouge):
    """ROUGE-L: the longest common subsequence of words."""

    name: ClassVar[str] = "rougeL"
    description: ClassVar[str] = "longest common subsequence of words"

    def overlap(self, prediction: str, reference: str) -> Overlap:
        """The length of the longest common subsequence, line ends ignored."""
        own, other = self.tokens_of(prediction), self.tokens_of(reference)
        return lcs_length(own, other), len(own), len(other)


@dataclass(frozen=True, kw_only=True)
class RougeLsum(Rouge):
    """ROUGE-Lsum: for each line of the reference, the union of its common subsequences with every line of the prediction."""

    name: ClassVar[str] = "rougeLsum"
    description: ClassVar[str] = "longest common subsequences line by line"

    def overlap(self, prediction: str, reference: str) -> Overlap:
        """Words of the unions, each at most as often as it stands in either text."""
        own, other = ([self.tokens_of(line) for line in text.split("\n") if line] for text in (prediction, reference))
        left = [Counter(token for line in lines for token in line) for lines in (own, other)]
        hits = 0
        for line in other:
            places: set[int] = set().union(*(lcs_places(line, candidate) for candidate in own))
            for token in (line[place] for place in places):
                if all(counter[token] > 0 for counter in left):
                    hits += 1
                    for counter in left:
                        counter[token] -= 1
        return hits, sum(map(len, own)), sum(map(len, other))


def _ngram_counts(tokens: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[i:] for i in range(n)), strict=False))
