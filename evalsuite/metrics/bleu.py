"""BLEU, by sacrebleu."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from evalsuite.errors import MissingExtraError
from evalsuite.metrics.sacre import SacreMetric, sacrebleu_metrics


@dataclass(frozen=True, kw_only=True)
class Bleu(SacreMetric):
    """BLEU on 0..100. One segment: `effective_order` leaves out n-grams longer than the text, so "the cat" against itself is 100, not 0.

    Two empty texts score 0. The default tokenizer `13a` sees one token in a Chinese or Japanese sentence: name `zh`, `ja-mecab`,
    `ko-mecab`, `char` or `intl`. The corpus score never uses the effective order, as in sacrebleu.
    """

    name: ClassVar[str] = "bleu"
    description: ClassVar[str] = "n-gram precision with a brevity penalty (sacrebleu)"
    high: ClassVar[float | None] = 100.0

    tokenize: Literal["13a", "none", "zh", "intl", "char", "ja-mecab", "ko-mecab"] = "13a"
    lowercase: bool = False
    smooth_method: Literal["exp", "floor", "add-k", "none"] = "exp"
    smooth_value: float | None = None
    max_ngram_order: int = 4
    effective_order: bool = True

    def build(self, *, corpus: bool) -> Any:
        """A sacrebleu `BLEU`."""
        try:
            return sacrebleu_metrics().BLEU(
                lowercase=self.lowercase,
                tokenize=self.tokenize,
                smooth_method=self.smooth_method,
                smooth_value=self.smooth_value,
                max_ngram_order=self.max_ngram_order,
                effective_order=self.effective_order and not corpus,
            )
        except RuntimeError as error:
            # The two mecab tokenizers are packages of their own.
            hint = f"pip install 'sacrebleu[{self.tokenize[:2]}]'"
            raise MissingExtraError(f"bleu needs a package for the tokenizer {self.tokenize}", hint=hint) from error

    def details_of(self, score: Any) -> dict[str, Any]:
        """Precisions, brevity penalty and both lengths in tokens."""
        precisions = [float(p) for p in score.precisions]
        return {"precisions": precisions, "bp": float(score.bp), "sys_len": int(score.sys_len), "ref_len": int(score.ref_len)}
