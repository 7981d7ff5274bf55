"""Token F1: how many words prediction and reference share.

`squad`: SQuAD's normal form, multiset overlap; no tokens on both sides 1, on one side 0. `multiset`: lower case, split on spaces.
`issue_set`: the Desiru issue's set overlap over list lengths, so "a a" against itself is 0.5. `desiru_repo`: the same over runs of
ASCII letters and digits, nothing against nothing 0.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from evalsuite.metrics.base import Measure, Metric, MetricError, best
from evalsuite.metrics.tokens import squad, unicode_tokens


@dataclass(frozen=True, kw_only=True)
class TokenF1(Metric):
    """The harmonic mean of token precision and recall, the best over several references.

    "the Eiffel Tower" against "Eiffel Tower" is 1: `squad` drops articles.

    Args:
        variant: `squad`, `multiset` (lower case, split on spaces), `issue_set` or `desiru_repo` (both set overlap).
        tokens: `char` for scripts without spaces, `regex` for Unicode words; `squad` and `multiset` only.

    Example:
        `{"func": "f1", "parameters": {"gold": "in the Eiffel Tower"}}`
    """

    name: ClassVar[str] = "f1"

    variant: Literal["squad", "multiset", "issue_set", "desiru_repo"] = "squad"
    tokens: Literal["word", "char", "regex"] = "word"

    def __post_init__(self) -> None:
        """Raise `MetricError` for a choice that is none, or for other tokens in a variant that fixes them."""
        super().__post_init__()
        if self.tokens != "word" and self.variant in ("issue_set", "desiru_repo"):
            raise MetricError(f"f1: the variant {self.variant} fixes its tokens", code="bad_option")

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """F1 with precision and recall in the details."""
        own = self.tokens_of(prediction)
        return best([self._against(own, self.tokens_of(reference)) for reference in references])

    def tokens_of(self, text: str) -> list[str]:
        """The tokens of a text under this variant."""
        if self.variant == "desiru_repo":
            return [token for token in re.split(r"\W+", text.lower(), flags=re.ASCII) if token]
        if self.variant == "issue_set":
            # Ruby's `split(/\s+/)`: a leading empty token stays, trailing ones go.
            tokens = re.split(r"\s+", text.lower(), flags=re.ASCII)
            while tokens and not tokens[-1]:
                tokens.pop()
            return tokens
        if self.tokens == "regex":
            return unicode_tokens(text)
        normal = squad(text) if self.variant == "squad" else text.lower()
        return [c for c in normal if not c.isspace()] if self.tokens == "char" else normal.split()

    def _against(self, own: list[str], other: list[str]) -> Measure:
        if not own or not other:
            empty_pair = 0.0 if self.variant == "desiru_repo" else 1.0
            share = empty_pair if not own and not other else 0.0
            return _measure(share, share, share)
        if self.variant in ("squad", "multiset"):
            overlap = sum((Counter(own) & Counter(other)).values())
        else:
            overlap = len(set(own) & set(other))
        if not overlap:
            return _measure(0.0, 0.0, 0.0)
        precision, recall = overlap / len(own), overlap / len(other)
        return _measure(precision, recall, 2 * precision * recall / (precision + recall))


def _measure(precision: float, recall: float, f1: float) -> Measure:
    return Measure(value=f1, details={"precision": precision, "recall": recall})
