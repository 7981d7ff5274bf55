"""Edit distance over code points, as a similarity and as a number of edits; and the Jaro-Winkler similarity of short texts.

`damerau` swaps neighbours without restriction; `indel` is `rapidfuzz.fuzz.ratio / 100` and difflib's ratio on its best day. Two empty
texts are equal.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from evalsuite.metrics.base import Direction, Measure, Metric, MetricError, best

Edits = Literal["levenshtein", "damerau", "indel"]


@dataclass(frozen=True, kw_only=True)
class Levenshtein(Metric):
    """1 - edits / longest text, the best over several references.

    "kitten" against "sitting" is 1 - 3/7.

    Args:
        edits: `damerau` also swaps neighbours; `indel` has no substitution and divides by both lengths.

    Example:
        `{"func": "levenshtein", "parameters": {"gold": "Reykjavik"}}`
    """

    name: ClassVar[str] = "levenshtein"

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
    """The number of edits on `scale`, 1 at its low end; null without a scale, because it has no upper end.

    Args:
        gold: the reference or references, the nearest counts.
        edits: `damerau` also swaps neighbours; `indel` has no substitution.
        scale: the numbers of edits that count as 1 and as 0.

    Example:
        `{"func": "levenshtein_distance", "parameters": {"gold": "Reykjavik", "scale": [0, 3]}}`
    """

    name: ClassVar[str] = "levenshtein_distance"
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


@dataclass(frozen=True, kw_only=True)
class JaroWinkler(Metric):
    """The Jaro-Winkler similarity, the best over several references.

    Args:
        prefix_weight: what each of the first 4 common characters adds, 0 to 0.25.

    Example:
        `{"func": "jaro_winkler", "parameters": {"gold": "MARTHA"}}`
    """

    name: ClassVar[str] = "jaro_winkler"

    prefix_weight: float = 0.1

    def __post_init__(self) -> None:
        """Raise `MetricError` for a prefix weight outside [0, 0.25], where the value could leave [0, 1]."""
        super().__post_init__()
        if not 0 <= self.prefix_weight <= 0.25:
            raise MetricError("jaro_winkler: prefix_weight lies in [0, 0.25]", code="bad_option")

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """The similarity, with the plain Jaro value in the details."""
        from rapidfuzz.distance import Jaro
        from rapidfuzz.distance import JaroWinkler as Winkler

        return best(
            [
                Measure(
                    value=Winkler.similarity(prediction, other, prefix_weight=self.prefix_weight),
                    details={"jaro": Jaro.similarity(prediction, other)},
                )
                for other in references
            ]
        )
