"""Token vectors out of a hash, for tests of what is done with vectors."""

import hashlib
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class HashEmbedder:
    """Vectors out of a hash of each lower-case word: equal words are equal, others nearly orthogonal. Knows no meaning."""

    size: int = 64

    @property
    def signature(self) -> str:
        """`hash-64`."""
        return f"hash-{self.size}"

    def embed(self, text: str) -> NDArray[Any]:
        """One vector of -1 and 1 for each word."""
        words = re.findall(r"\w+", text.lower())
        rows = [np.unpackbits(np.frombuffer(self._digest(word), dtype=np.uint8)) for word in words]
        return np.array(rows, dtype=float).reshape(len(words), self.size) * 2 - 1

    def _digest(self, word: str) -> bytes:
        return hashlib.shake_256(word.encode("utf-8", "surrogatepass")).digest(self.size // 8)
