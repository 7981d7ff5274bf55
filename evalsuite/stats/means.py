"""Means over instances, of which some may not have been judged: the value, and between what it lies."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from evalsuite.outcome import is_ungraded
from evalsuite.types import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """The mean over n instances with its bounds: `low` counts the unjudged as 0, `high` as 1.

    What gold kept from being judged counts as in `low`; the `n_ungraded` that the grader's side left unjudged are in no mean.
    """

    n: int
    low: float
    high: float
    n_unjudged: int
    n_ungraded: int = 0

    @property
    def n_judged(self) -> int:
        """How many instances the score is over."""
        return self.n - self.n_ungraded

    @property
    def points(self) -> float:
        """The sum of the judged scores: the numerator of `low`."""
        return self.low * self.n

    @property
    def value(self) -> float | None:
        """The score, None where nobody judged any instance."""
        if self.n_unjudged == self.n:
            return None
        return self.points / self.n_judged if self.n_ungraded else self.low


def mean_under(results: Sequence[Result], which: Literal["score", "official", "strict"]) -> Mean:
    """The mean of the results' scores, under the rules of the run or under one of both."""
    n = len(results)
    values = [getattr(result, which) for result in results]
    unjudged = sum(value is None for value in values)
    low = sum(value for value in values if value is not None) / n if n else 0.0
    ungraded = sum(value is None and is_ungraded(result) for value, result in zip(values, results, strict=True))
    return Mean(n=n, low=low, high=low + (unjudged / n if n else 0.0), n_unjudged=unjudged, n_ungraded=ungraded)
