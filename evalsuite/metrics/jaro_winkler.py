"""Jaro-Winkler similarity of two short texts, such as names."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from evalsuite.metrics.base import Measure, Metric, MetricError, best


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
