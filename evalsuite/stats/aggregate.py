"""One number over many scores: what a report shows of n of them, and their histogram."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from evalsuite.stats.samples import StatsError, checked, mean, sample_sd


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """n scores in numbers. `sd` has n - 1 below and `se` is sd / sqrt(n), both None for one score; missing ones are only counted."""

    n: int
    n_missing: int
    mean: float
    median: float
    sd: float | None
    sd_population: float
    se: float | None
    min: float
    max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """One bar: how many scores lie in low <= score < high (the last bar includes `high`)."""

    count: int
    low: float
    high: float


def aggregate(scores: Sequence[float | None]) -> Aggregate:
    """The aggregate of the scores that are not None; raises `StatsError` where there is none."""
    known = checked([score for score in scores if score is not None])
    n, sd = len(known), sample_sd(known)
    return Aggregate(
        n=n,
        n_missing=len(scores) - n,
        mean=mean(known),
        median=statistics.median(known),
        sd=sd,
        sd_population=0.0 if sd is None else sd * ((n - 1) / n) ** 0.5,
        se=None if sd is None else sd / n**0.5,
        min=min(known),
        max=max(known),
    )


def histogram(scores: Sequence[float], *, n_bins: int = 20) -> list[Bin]:
    """`n_bins` equal bars from 0 to the largest score, at least to 1; scores below 0 stand in none, as in Arthur Bench."""
    values = checked(scores, at_least=0)
    if n_bins < 1:
        raise StatsError(f"{n_bins} bins")
    import numpy as np

    top = max([1.0, *values])
    counts, edges = np.histogram(values, bins=n_bins, range=(0.0, top))
    return [Bin(count=int(c), low=float(a), high=float(b)) for c, a, b in zip(counts, edges[:-1], edges[1:], strict=True)]
