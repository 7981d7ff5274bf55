"""ROUGE-1, ROUGE-2, ROUGE-L and ROUGE-Lsum, equal to rouge-score 0.1.2 with its tokenizer."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from evalsuite.core.metric import Measure, Metric, best
from evalsuite.scorers.metrics.tokens import stem, unicode_tokens

MIN_STEMMED: Final = 4
_ASCII_TOKEN: Final = re.compile("[a-z0-9]+")
Overlap = tuple[int, int, int]
Kind = Literal["rouge1", "rouge2", "rougeL", "rougeLsum"]


@dataclass(frozen=True, kw_only=True)
class Rouge(Metric):
    """ROUGE of the answer against the reference with the best F.

    The tokenizer `rouge` keeps a-z and 0-9 only, as rouge-score does: for any other script use `unicode`.

    Range: 0 to 1, higher is better. Source: Lin (2004), as in rouge-score 0.1.2.

    Args:
        kind: `rouge1` words, `rouge2` word pairs, `rougeL` longest common subsequence, `rougeLsum` the same line by line.
        part: which of the three numbers is the score.
        tokenizer: `rouge`, or `unicode` for every script.
        use_stemmer: stem words of more than 3 letters (English).

    Example:
        `{"func": "rouge", "parameters": {"gold": "the cat is on the mat", "kind": "rouge1"}}`
    """

    name: ClassVar[str] = "rouge"

    kind: Kind = "rougeL"
    part: Literal["fmeasure", "precision", "recall"] = "fmeasure"
    tokenizer: Literal["rouge", "unicode"] = "rouge"
    use_stemmer: bool = False

    @property
    def label(self) -> str:
        """The kind."""
        return self.kind

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """Return the chosen part, with precision, recall and F in the details."""
        measures = [self._against(prediction, reference) for reference in references]
        return best(measures, key=[m.details["fmeasure"] for m in measures])

    def tokens_of(self, text: str) -> list[str]:
        """Return the tokens of a text."""
        tokens = unicode_tokens(text) if self.tokenizer == "unicode" else _ASCII_TOKEN.findall(text.lower())
        return [stem(token) if len(token) >= MIN_STEMMED else token for token in tokens] if self.use_stemmer else tokens

    def _against(self, prediction: str, reference: str) -> Measure:
        hits, n_prediction, n_reference = self._overlap(prediction, reference)
        precision = hits / n_prediction if n_prediction else 0.0
        recall = hits / n_reference if n_reference else 0.0
        fmeasure = 2 * precision * recall / (precision + recall) if hits else 0.0
        details = {"precision": precision, "recall": recall, "fmeasure": fmeasure}
        return Measure(value=details[self.part], details=details)

    def _overlap(self, prediction: str, reference: str) -> Overlap:
        """Return (matches, size of the prediction, size of the reference) for the kind."""
        if self.kind == "rougeLsum":
            return _line_by_line(*([self.tokens_of(line) for line in text.split("\n") if line] for text in (prediction, reference)))
        own, other = self.tokens_of(prediction), self.tokens_of(reference)
        if self.kind == "rougeL":
            return lcs_length(own, other), len(own), len(other)
        n = 1 if self.kind == "rouge1" else 2
        own_counts, other_counts = (Counter(zip(*(tokens[i:] for i in range(n)), strict=False)) for tokens in (own, other))
        return (own_counts & other_counts).total(), own_counts.total(), other_counts.total()


def _line_by_line(own: list[list[str]], other: list[list[str]]) -> Overlap:
    """Match each line of the reference with the union of its common subsequences with all lines; a word counts at most as often as in
    either text.
    """
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


@dataclass(frozen=True, kw_only=True)
class Rouge1(Rouge):
    """ROUGE-1: single words."""

    name: ClassVar[str] = "rouge1"
    kind: Literal["rouge1"] = "rouge1"


@dataclass(frozen=True, kw_only=True)
class Rouge2(Rouge):
    """ROUGE-2: pairs of neighbouring words."""

    name: ClassVar[str] = "rouge2"
    kind: Literal["rouge2"] = "rouge2"


@dataclass(frozen=True, kw_only=True)
class RougeL(Rouge):
    """ROUGE-L: the longest common subsequence of words, line ends ignored."""

    name: ClassVar[str] = "rougeL"
    kind: Literal["rougeL"] = "rougeL"


@dataclass(frozen=True, kw_only=True)
class RougeLsum(Rouge):
    """ROUGE-Lsum: the longest common subsequences line by line."""

    name: ClassVar[str] = "rougeLsum"
    kind: Literal["rougeLsum"] = "rougeLsum"


def lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, by rapidfuzz over integer ids of the tokens."""
    from rapidfuzz.distance import LCSseq

    number: dict[str, int] = {}
    numbers = [[number.setdefault(token, len(number)) for token in tokens] for tokens in (first, second)]
    return LCSseq.similarity(*numbers)


def lcs_places(first: Sequence[str], second: Sequence[str]) -> list[int]:
    """Return the positions in `first` of a longest common subsequence with `second`, ascending; with ties the one of rouge-score.

    Columns of the dynamic programme are big integers (Hyyro 2004): bit i of column j is 0 if row i adds one to the length. The
    backtracking prefers a match, then left if this row adds, else up: the tie-breaking of rouge-score, which affects Lsum.
    """
    matches: defaultdict[str, int] = defaultdict(int)
    for i, token in enumerate(first):
        matches[token] |= 1 << i
    everything = (1 << len(first)) - 1
    column, columns = everything, []
    for token in second:
        hit = column & matches.get(token, 0)
        column = ((column + hit) | (column - hit)) & everything
        columns.append(column)
    places = []
    i, j = len(first) - 1, len(second) - 1
    while i >= 0 and j >= 0:
        if first[i] == second[j]:
            places.append(i)
            i, j = i - 1, j - 1
        elif columns[j] >> i & 1:
            i -= 1
        else:
            j -= 1
    return places[::-1]
