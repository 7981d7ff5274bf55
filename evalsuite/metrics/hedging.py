"""hedging_language: whether a text hides behind being a language model (Arthur Bench; case and kind of apostrophe are ignored)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Final

from evalsuite.metrics.base import IN_PYTHON, Direction, Measure, Metric
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
    """1 - likeness to the disclaimer "As an AI language model, ...": 1 is no hedging. The likeness stands in `details.raw`.

    Without a model a list of phrases decides, 0 or 1.

    Args:
        threshold: the likeness from which on the category is `hedging`.
        model: the folder of a local model (extra `bertscore`); then the likeness is BERTScore F1.
        layer: the hidden layer whose vectors are taken.
        hedging_language: another disclaimer.
        embedder: anything with `embed`, in the place of a model.

    Example:
        `{"func": "hedging_language", "parameters": {}}`
    """

    name: ClassVar[str] = "hedging_language"
    direction: ClassVar[Direction] = "lower"
    needs_reference: ClassVar[bool] = False

    threshold: float = 0.5
    hedging_language: str = field(default=DISCLAIMER, metadata=IN_PYTHON)
    model: str | None = None
    layer: int = -1
    embedder: Embedder | None = field(default=None, metadata=IN_PYTHON)

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
