"""BERTScore: greedy cosine matching of token vectors, without idf weights and without rescaling; negative values count 0.

The vectors come from a transformers model in a local folder, or from any object with `embed`.
"""

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Protocol

from evalsuite.core.dataclasses import dataclass, field
from evalsuite.core.errors import MissingExtraError
from evalsuite.core.files import is_dir
from evalsuite.core.import_ref import np
from evalsuite.core.metric import IN_PYTHON, Measure, Metric, MetricError, best
from evalsuite.core.scores import Within

if TYPE_CHECKING:
    from numpy.typing import NDArray


TINY: Final = "tiny"
MODEL_HINT: Final = "nothing is downloaded: config={'model': FOLDER} of a suite, model in gold; 'tiny' compares spellings, to try it out"


class Embedder(Protocol):
    """Object that converts a text to token vectors and has a signature."""

    @property
    def signature(self) -> str:
        """A name that changes whenever the vectors may change."""

    def embed(self, text: str) -> "NDArray[Any]":
        """Return n tokens x d numbers; 0 x d for a text without tokens."""


@dataclass(frozen=True)
class TransformersEmbedder:
    """The last hidden layer of a model in a local folder; nothing is downloaded. Needs the extra `bertscore`.

    Special tokens are left out and texts are cut at the model's maximum input. bert-score matches special tokens and uses an inner layer
    for some models: set it by `layer`.
    """

    folder: str
    layer: int = -1

    @property
    def signature(self) -> str:
        """The folder's name and the layer."""
        return f"{Path(self.folder).name}-L{self.layer}"

    def embed(self, text: str) -> "NDArray[Any]":
        """Return one vector for each token that is not special."""
        tokenizer, model = self._model_and_tokenizer
        import torch  # type: ignore[import-not-found, unused-ignore]

        longest = min(int(tokenizer.model_max_length), int(getattr(model.config, "max_position_embeddings", 512)))
        encoded = tokenizer(text, return_tensors="pt", truncation=True, max_length=longest, return_special_tokens_mask=True)
        special = encoded.pop("special_tokens_mask")[0].numpy().astype(bool)
        with torch.inference_mode():
            hidden = model(**encoded, output_hidden_states=True).hidden_states[self.layer][0]
        vectors: NDArray[Any] = np.asarray(hidden.numpy(), dtype=float)[~special]
        return vectors

    @cached_property
    def _model_and_tokenizer(self) -> tuple[Any, Any]:
        if not is_dir(Path(self.folder)):
            raise MetricError("bertscore: the model is no local folder", code="no_model", hint=MODEL_HINT)
        try:
            import torch  # noqa: F401
            from transformers import AutoModel, AutoTokenizer  # type: ignore[import-not-found, unused-ignore]
        except ImportError as error:
            raise MissingExtraError("bertscore needs transformers and torch", extra="bertscore") from error
        tokenizer = AutoTokenizer.from_pretrained(self.folder, local_files_only=True)
        return tokenizer, AutoModel.from_pretrained(self.folder, local_files_only=True).eval()


@dataclass(frozen=True)
class TinyEmbedder:
    """Vectors from the letters of each word, without a model, for trying things out. It compares spellings, not meanings."""

    size: int = 256

    @property
    def signature(self) -> str:
        """`tiny-256`."""
        return f"{TINY}-{self.size}"

    def embed(self, text: str) -> "NDArray[Any]":
        """Return one vector per word, with counts of its runs of three letters."""
        words = re.findall(r"\w+", text.casefold())
        rows = np.zeros((len(words), self.size))
        for row, word in zip(rows, words, strict=True):
            padded = f"^{word}$"
            for start in range(len(padded) - 2):
                row[zlib.crc32(padded[start : start + 3].encode("utf-8", "surrogatepass")) % self.size] += 1
        return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Greedy:
    """Mean best cosines of two sets of token vectors in both directions; usually 0 to 1, at least -1."""

    precision: float
    recall: float
    f1: float

    def weight(self, precision_weight: float | None) -> float:
        """Return `w * precision + (1 - w) * recall`, which is Arthur Bench's score at 0.1; F1 for None."""
        return self.f1 if precision_weight is None else precision_weight * self.precision + (1 - precision_weight) * self.recall


def greedy_match(prediction: Any, reference: Any) -> Greedy:
    """Match each row of one n x d matrix with its nearest row of the other: the mean over rows is precision, over columns recall.

    Two empty matrices give 1, one empty matrix 0; a zero vector is similar to nothing.
    """
    answer_vectors, reference_vectors = np.asarray(prediction, dtype=float), np.asarray(reference, dtype=float)
    if not len(answer_vectors) or not len(reference_vectors):
        share = float(len(answer_vectors) == len(reference_vectors))
        return Greedy(precision=share, recall=share, f1=share)
    cosines = _unit_rows(answer_vectors) @ _unit_rows(reference_vectors).T
    precision, recall = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    total = precision + recall
    return Greedy(precision=precision, recall=recall, f1=2 * precision * recall / total if total else 0.0)


@dataclass(frozen=True, kw_only=True)
class BertScore(Metric):
    """`w * precision + (1 - w) * recall` of greedily matched token vectors, the best over several references.

    Nothing is downloaded. Needs the extra `bertscore`, except for the model `tiny`, which compares spellings and is for trying things out.

    Range: 0 to 1, higher is better. Source: BERTScore (Zhang et al. 2020); the weighting is Arthur Bench's.

    Args:
        model: the folder of a local model, or `tiny`.
        layer: the hidden layer with the vectors.
        precision_weight: w; null scores F1.
        embedder: any object with `embed`, instead of a model.

    Example:
        `{"func": "bertscore", "parameters": {"gold": "the cat is on the mat", "model": "models/deberta-v3-base"}}`
    """

    name: ClassVar[str] = "bertscore"

    model: str | None = field(default=None, metadata={"gold": str})
    layer: int = -1
    precision_weight: Annotated[float, Within(0, 1)] | None = 0.1
    embedder: Embedder | None = field(default=None, metadata=IN_PYTHON)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the options only, not the model."""
        return {option.name: getattr(self, option.name) for option in fields(self)}

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """Return the score, with precision, recall and F1 in the details."""
        rows = self._embed_cached(prediction)
        matches = [greedy_match(rows, self._embed_cached(reference)) for reference in references]
        return best([Measure(value=min(1.0, max(0.0, m.weight(self.precision_weight))), details=asdict(m)) for m in matches])

    @cached_property
    def _embed_cached(self) -> Callable[[str], Any]:
        # A text that is compared with many others goes through the model once.
        return lru_cache(maxsize=256)(self.vectors.embed)

    @cached_property
    def vectors(self) -> Embedder:
        """The embedder in use. Raises `MetricError` if none was set."""
        if self.embedder is not None:
            return self.embedder
        return embedder_of(self.model, self.layer)

    @property
    def label(self) -> str:
        """The name, with a note if meanings are not compared."""
        return f"{self.name} ({TINY}: spellings only)" if self.embedder is None and self.model == TINY else self.name


def embedder_of(model: str | None, layer: int) -> Embedder:
    """Return the embedder of a model's name. Raises `MetricError` if there is none."""
    if model is None:
        raise MetricError("bertscore needs `model`, the folder of a local model", code="no_model", hint=MODEL_HINT)
    return TinyEmbedder() if model == TINY else TransformersEmbedder(model, layer)


def _unit_rows(matrix: Any) -> Any:
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
