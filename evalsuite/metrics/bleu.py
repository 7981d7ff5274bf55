"""BLEU, by sacrebleu."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from evalsuite.errors import MissingExtraError
from evalsuite.metrics.sacre import SacreMetric, sacrebleu_metrics


@dataclass(frozen=True, kw_only=True)
class Bleu(SacreMetric):
    """The answer's sentence BLEU divided by 100; the raw 0..100 stands in `details.raw`.

    The mean over instances is not the corpus BLEU, which `metrics.bleu` gives.

    Args:
        tokenize: sacrebleu's tokenizer; `13a` takes a Chinese sentence as one token.
        lowercase: lower-case both sides.
        smooth_method: what to do with an n-gram order without a match.
        smooth_value: its constant for `floor` and `add-k`.
        max_ngram_order: the longest n-gram.
        effective_order: leave out orders longer than the answer, so that "the cat" against itself is 1.

    Example:
        `{"func": "bleu", "parameters": {"gold": ["the cat is on the mat", "there is a cat on the mat"]}}`
    """

    name: ClassVar[str] = "bleu"
    high: ClassVar[float | None] = 100.0

    tokenize: Literal["13a", "none", "zh", "intl", "char", "ja-mecab", "ko-mecab"] = "13a"
    lowercase: bool = False
    smooth_method: Literal["exp", "floor", "add-k", "none"] = "exp"
    smooth_value: float | None = None
    max_ngram_order: int = 4
    effective_order: bool = True

    def build(self, *, corpus: bool) -> Any:
        """A sacrebleu `BLEU`; as in sacrebleu, a corpus never uses the effective order."""
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
