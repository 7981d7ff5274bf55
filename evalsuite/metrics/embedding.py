"""Token vectors for bertscore: the protocol, a hash embedder that needs nothing, and a local transformers model."""

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from evalsuite.errors import MissingExtraError
from evalsuite.metrics.base import MetricError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Anything that turns a text into token vectors and names itself for the signature."""

    @property
    def signature(self) -> str:
        """A name that changes whenever the vectors may."""

    def embed(self, text: str) -> "NDArray[Any]":
        """n tokens x d numbers; 0 x d for a text without tokens."""


@dataclass(frozen=True)
class HashEmbedder:
    """Vectors out of a hash of each lower-case word: equal words are equal, others nearly orthogonal. Knows no meaning."""

    size: int = 64

    @property
    def signature(self) -> str:
        """`hash-64`."""
        return f"hash-{self.size}"

    def embed(self, text: str) -> "NDArray[Any]":
        """One vector of -1 and 1 for each word."""
        import numpy as np

        words = re.findall(r"\w+", text.lower())
        rows = [np.unpackbits(np.frombuffer(self._digest(word), dtype=np.uint8)) for word in words]
        return np.array(rows, dtype=float).reshape(len(words), self.size) * 2 - 1

    def _digest(self, word: str) -> bytes:
        return hashlib.shake_256(word.encode("utf-8", "surrogatepass")).digest(self.size // 8)


@dataclass(frozen=True)
class TransformersEmbedder:
    """The last hidden layer of a model in a local folder; nothing is ever downloaded. Needs the extra `bertscore`.

    Special tokens are left out and texts are cut at the model's longest input. bert-score lets them be matched and takes an inner layer
    for some models: name it by `layer`.
    """

    folder: str
    layer: int = -1

    @property
    def signature(self) -> str:
        """The folder's name and the layer."""
        return f"{Path(self.folder).name}-L{self.layer}"

    def embed(self, text: str) -> "NDArray[Any]":
        """One vector for each token that is not special."""
        tokenizer, model = self._loaded
        import numpy as np
        import torch  # type: ignore[import-not-found, unused-ignore]

        longest = min(int(tokenizer.model_max_length), int(getattr(model.config, "max_position_embeddings", 512)))
        encoded = tokenizer(text, return_tensors="pt", truncation=True, max_length=longest, return_special_tokens_mask=True)
        special = encoded.pop("special_tokens_mask")[0].numpy().astype(bool)
        with torch.inference_mode():
            hidden = model(**encoded, output_hidden_states=True).hidden_states[self.layer][0]
        vectors: NDArray[Any] = np.asarray(hidden.numpy(), dtype=float)[~special]
        return vectors

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        if not Path(self.folder).is_dir():
            raise MetricError("bertscore: the model is no local folder", code="no_model", hint="download it once and name its folder")
        try:
            import torch  # noqa: F401
            from transformers import AutoModel, AutoTokenizer  # type: ignore[import-not-found, unused-ignore]
        except ImportError as error:
            raise MissingExtraError("bertscore needs transformers and torch", hint="pip install 'evalsuite[bertscore]'") from error
        tokenizer = AutoTokenizer.from_pretrained(self.folder, local_files_only=True)
        return tokenizer, AutoModel.from_pretrained(self.folder, local_files_only=True).eval()
