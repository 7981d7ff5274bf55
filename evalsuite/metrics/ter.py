"""TER, by sacrebleu."""

from dataclasses import dataclass
from typing import Any, ClassVar

from evalsuite.metrics.base import Direction
from evalsuite.metrics.sacre import SacreMetric, sacrebleu_metrics


@dataclass(frozen=True, kw_only=True)
class Ter(SacreMetric):
    """The translation edit rate on `scale`, 1 at its low end; null without a scale, because the rate has no upper end.

    With `scale: [0, 100]` a rate of 25 is 0.75.

    Args:
        normalized: split punctuation off first.
        no_punct: drop punctuation.
        asian_support: take characters of Asian scripts one by one.
        case_sensitive: keep case.
        scale: the rates that count as 1 and as 0.

    Example:
        `{"func": "ter", "parameters": {"gold": "the cat is on the mat", "scale": [0, 100]}}`
    """

    name: ClassVar[str] = "ter"
    high: ClassVar[float | None] = None
    direction: ClassVar[Direction] = "lower"

    normalized: bool = False
    no_punct: bool = False
    asian_support: bool = False
    case_sensitive: bool = False

    def build(self, *, corpus: bool) -> Any:
        """A sacrebleu `TER`."""
        return sacrebleu_metrics().TER(
            normalized=self.normalized,
            no_punct=self.no_punct,
            asian_support=self.asian_support,
            case_sensitive=self.case_sensitive,
        )

    def details_of(self, score: Any) -> dict[str, Any]:
        """Edits and the mean length of the references in words."""
        return {"num_edits": int(score.num_edits), "ref_length": float(score.ref_length)}
