"""chrF and chrF++, by sacrebleu."""

from dataclasses import dataclass
from typing import Any, ClassVar

from evalsuite.metrics.sacre import SacreMetric, sacrebleu_metrics


@dataclass(frozen=True, kw_only=True)
class Chrf(SacreMetric):
    """The answer's chrF divided by 100; the raw 0..100 stands in `details.raw`.

    Args:
        char_order: the longest character n-gram.
        word_order: the longest word n-gram; 2 is chrF++.
        beta: how much more recall counts than precision.
        lowercase: lower-case both sides.
        whitespace: count white space as a character.
        eps_smoothing: the smoothing of nltk and Moses instead of the effective order.

    Example:
        `{"func": "chrf", "parameters": {"gold": "the cat is on the mat", "word_order": 2}}`
    """

    name: ClassVar[str] = "chrf"
    high: ClassVar[float | None] = 100.0

    char_order: int = 6
    word_order: int = 0
    beta: int = 2
    lowercase: bool = False
    whitespace: bool = False
    eps_smoothing: bool = False

    def build(self, *, corpus: bool) -> Any:
        """A sacrebleu `CHRF`."""
        return sacrebleu_metrics().CHRF(
            char_order=self.char_order,
            word_order=self.word_order,
            beta=self.beta,
            lowercase=self.lowercase,
            whitespace=self.whitespace,
            eps_smoothing=self.eps_smoothing,
        )

    def details_of(self, score: Any) -> dict[str, Any]:
        """Nothing beside the score."""
        return {}
