"""Edit distance over code points: as a similarity on [0, 1], and as a number of edits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from evalsuite.metrics.base import Direction, Measure, Metric, best

Edits = Literal["levenshtein", "damerau", "indel"]


@dataclass(frozen=True, kw_only=True)
class Levenshtein(Metric):
    """1 - distance / longest, the best over several references; two empty texts are 1.

    `edits`: `levenshtein` inserts, deletes and substitutes; `damerau` also swaps neighbours (unrestricted); `indel` only inserts and
    deletes, over the sum of lengths, which is `rapidfuzz.fuzz.ratio / 100` and difflib's ratio on its best day.
    """

    name: ClassVar[str] = "levenshtein"
    description: ClassVar[str] = "similarity by edit distance"

    edits: Edits = "levenshtein"

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """The similarity, with the distance in the details."""
        how = _module(self.edits)
        measures = [
            Measure(value=float(how.normalized_similarity(prediction, other)), details={"distance": int(how.distance(prediction, other))})
            for other in references
        ]
        return best(measures)


@dataclass(frozen=True, kw_only=True)
class LevenshteinDistance(Metric):
    """The number of edits, the smallest over several references; unbounded, less is better."""

    name: ClassVar[str] = "levenshtein_distance"
    description: ClassVar[str] = "number of edits between the texts"
    high: ClassVar[float | None] = None
    direction: ClassVar[Direction] = "lower"

    edits: Edits = "levenshtein"

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """The distance as a float."""
        how = _module(self.edits)
        return Measure(value=float(min(how.distance(prediction, other) for other in references)))


def _module(edits: Edits) -> Any:
    from rapidfuzz import distance

    return {"levenshtein": distance.Levenshtein, "damerau": distance.DamerauLevenshtein, "indel": distance.Indel}[edits]
