"""BERTScore: greedy cosine matching of token vectors, without idf weights and without rescaling; negative is 0."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from evalsuite.metrics.base import IN_PYTHON, Measure, Metric, MetricError, best
from evalsuite.metrics.embedding import Embedder, TransformersEmbedder


@dataclass(frozen=True, slots=True, kw_only=True)
class Greedy:
    """How well two sets of token vectors cover each other, as mean best cosines; usually 0 to 1, at the lowest -1."""

    precision: float
    recall: float
    f1: float

    def weighted(self, precision_weight: float) -> float:
        """`w * precision + (1 - w) * recall`, which is Arthur Bench's score at 0.1."""
        return precision_weight * self.precision + (1 - precision_weight) * self.recall


def greedy_match(prediction: Any, reference: Any) -> Greedy:
    """Each row of one n x d matrix with its nearest of the other: the mean over rows is precision, over columns recall.

    Nothing against nothing is 1, nothing against something 0; a zero vector is near to nothing.
    """
    import numpy as np

    own, other = np.asarray(prediction, dtype=float), np.asarray(reference, dtype=float)
    if not len(own) or not len(other):
        share = float(len(own) == len(other))
        return Greedy(precision=share, recall=share, f1=share)
    cosines = _unit_rows(own) @ _unit_rows(other).T
    precision, recall = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    total = precision + recall
    return Greedy(precision=precision, recall=recall, f1=2 * precision * recall / total if total else 0.0)


@dataclass(frozen=True, kw_only=True)
class BertScore(Metric):
    """`w * precision + (1 - w) * recall` of greedily matched token vectors, the best over several references.

    Nothing is downloaded; needs the extra `bertscore`.

    Args:
        model: the folder of a local model.
        layer: the hidden layer whose vectors are taken.
        precision_weight: w; null scores F1.
        embedder: anything with `embed`, in the place of a model.

    Example:
        `{"func": "bertscore", "parameters": {"gold": "the cat is on the mat", "model": "models/deberta-v3-base"}}`
    """

    name: ClassVar[str] = "bertscore"

    model: str | None = field(default=None, metadata={"gold": str})
    layer: int = -1
    precision_weight: float | None = 0.1
    embedder: Embedder | None = field(default=None, metadata=IN_PYTHON)

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """The score, with precision, recall and F1 in the details."""
        own = self.vectors.embed(prediction)
        return best([self._against(own, reference) for reference in references])

    @cached_property
    def vectors(self) -> Embedder:
        """The embedder in use; raises `MetricError` where none was given."""
        if self.embedder is not None:
            return self.embedder
        if self.model is None:
            raise MetricError("bertscore needs `model`, the folder of a local model", code="no_model", hint="nothing is downloaded")
        return TransformersEmbedder(self.model, self.layer)

    def _against(self, own: Any, reference: str) -> Measure:
        found = greedy_match(own, self.vectors.embed(reference))
        value = found.f1 if self.precision_weight is None else found.weighted(self.precision_weight)
        return Measure(value=min(1.0, max(0.0, value)), details={"precision": found.precision, "recall": found.recall, "f1": found.f1})


def _unit_rows(matrix: Any) -> Any:
    import numpy as np

    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
