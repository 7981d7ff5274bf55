"""chrF and chrF++, by sacrebleu."""

from dataclasses import dataclass
from typing import Any, ClassVar

from evalsuite.metrics.sacre import SacreMetric, sacrebleu_metrics


@dataclass(frozen=True, kw_only=True)
class Chrf(SacreMetric):
    """The F-score of character n-grams on 0..100; `word_order=2` is chrF++. Needs no tokenizer, so it serves every script."""

    name: ClassVar[str] = "chrf"
    description: ClassVar[str] = "F-score of character n-grams (sacrebleu)"
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
