"""n scores and n weights -> one score: the arithmetic of composites, floats in and a float out."""

import math
from collections.abc import Sequence
from typing import Final, Literal

from evalsuite.metrics.base import MetricError
from evalsuite.registry import did_you_mean

Aggregation = Literal["weighted_mean", "min", "max", "geometric_mean", "weighted_geometric_mean", "harmonic_mean", "median"]
AGGREGATIONS: Final = ("weighted_mean", "min", "max", "geometric_mean", "weighted_geometric_mean", "harmonic_mean", "median")


def normalised(weights: Sequence[float], n: int) -> list[float]:
    """The weights over their sum; raises `MetricError` (length, negative, zero_sum, empty) for n weights that cannot be meant."""
    if not n:
        raise MetricError("there is nothing to combine", code="empty")
    if len(weights) != n:
        raise MetricError(f"{n} parts but {len(weights)} weights", code="length")
    if not all(weight >= 0 and math.isfinite(weight) for weight in weights):
        raise MetricError("weights must be finite numbers of at least 0", code="negative")
    total = math.fsum(weights)
    if total <= 0:
        raise MetricError("the weights sum to 0", code="zero_sum")
    return [weight / total for weight in weights]


def check_aggregation(aggregation: str) -> None:
    """Raise `MetricError` for a name that is no aggregation."""
    if aggregation not in AGGREGATIONS:
        raise MetricError(f"unknown aggregation {aggregation!r}", code="unknown_aggregation", hint=did_you_mean(aggregation, AGGREGATIONS))


def combine(scores: Sequence[float], weights: Sequence[float] | None = None, aggregation: str = "weighted_mean") -> float:
    """One score out of n, equal weights by default; the weights are always normalised.

    min, max, geometric_mean and median ignore the weights. harmonic_mean is sum(w) / sum(w/x); it and both geometric means are 0 where a
    score is 0 (a score of weight 0 does not count in the weighted ones) and raise `MetricError` (negative_score) below 0.
    """
    check_aggregation(aggregation)
    shares = normalised([1.0] * len(scores) if weights is None else weights, len(scores))
    if aggregation == "min":
        return min(scores)
    if aggregation == "max":
        return max(scores)
    if aggregation == "median":
        import statistics

        return statistics.median(scores)
    if aggregation == "weighted_mean":
        return math.fsum(share * score for share, score in zip(shares, scores, strict=True))
    if min(scores) < 0:
        raise MetricError(f"{aggregation} is not defined for a negative score", code="negative_score")
    return _mean_of_positives(scores, shares, aggregation)


def _mean_of_positives(scores: Sequence[float], shares: Sequence[float], aggregation: str) -> float:
    if aggregation == "geometric_mean":
        shares = [1 / len(scores)] * len(scores)
    counted = [(score, share) for score, share in zip(scores, shares, strict=True) if share > 0]
    if any(score == 0 for score, _ in counted):
        return 0.0
    if aggregation == "harmonic_mean":
        return 1 / math.fsum(share / score for score, share in counted)
    return math.exp(math.fsum(share * math.log(score) for score, share in counted))
