"""hedging_language: whether a text hides behind being a language model."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final

from evalsuite.metrics.base import Direction, Measure, Metric
from evalsuite.metrics.bertscore import greedy_match
from evalsuite.metrics.embedding import Embedder, TransformersEmbedder

DISCLAIMER: Final = "As an AI language model, I don't have personal opinions, emotions, or beliefs."
PHRASES: Final = (
    "as an ai", "as a language model", "as a large language model", "i am an ai", "i'm an ai", "i am just an ai", "i'm just an ai",
    "i am only an ai", "i am a language model", "i'm a language model", "i don't have personal", "i do not have personal",
    "i don't have opinions", "i do not have opinions", "i don't have feelings", "i do not have feelings", "i don't have emotions",
    "i do not have emotions", "i don't have beliefs", "i do not have beliefs", "my training data", "my knowledge cutoff",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class HedgingLanguage(Metric):
    """How much a text sounds like the disclaimer of a model; less is better, the category is `hedging` from `threshold` on.

    Without a model: 1 where one of `PHRASES` stands in the text (case and kind of apostrophe ignored), else 0. With `model` (a local
    folder, extra `bertscore`) or `embedder`: BERTScore F1 against `hedging_language`, as in Arthur Bench.
    """

    name: ClassVar[str] = "hedging_language"
    description: ClassVar[str] = "disclaimers of a language model, less is better"
    direction: ClassVar[Direction] = "lower"
    needs_reference: ClassVar[bool] = False

    threshold: float = 0.5
    hedging_language: str = DISCLAIMER
    model: str | None = None
    layer: int = -1
    embedder: Embedder | None = None

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """The likeness, with the category in the details."""
        vectors = self.vectors
        if vectors is None:
            plain = " ".join(prediction.lower().replace("’", "'").split())
            found = [phrase for phrase in PHRASES if phrase in plain]
            value, details = float(bool(found)), {"phrases": found}
        else:
            likeness = greedy_match(vectors.embed(prediction), vectors.embed(self.hedging_language)).f1
            value, details = min(1.0, max(0.0, likeness)), {}
        return Measure(value=value, details={"category": "hedging" if value >= self.threshold else "no hedging", **details})

    @cached_property
    def vectors(self) -> Embedder | None:
        """The embedder in use, None where the phrase list decides."""
        return self.embedder or (TransformersEmbedder(self.model, self.layer) if self.model else None)
