"""TER, by sacrebleu."""

from dataclasses import dataclass
from typing import Any, ClassVar

from evalsuite.metrics.base import Direction
from evalsuite.metrics.sacre import SacreMetric, sacrebleu_metrics


@dataclass(frozen=True, kw_only=True)
class Ter(SacreMetric):
    """The translation edit rate in percent of the reference's words: 0 is best, no upper end (a long wrong text exceeds 100)."""

    name: ClassVar[str] = "ter"
    description: ClassVar[str] = "edits needed, in percent of the reference's words (sacrebleu)"
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
