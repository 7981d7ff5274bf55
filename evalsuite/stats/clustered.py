"""Means of scores that hang together: standard errors and intervals that take whole clusters, not scores, as independent."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalsuite.stats.intervals import SMALLEST_SPREAD, Interval, score_interval, wilson_interval
from evalsuite.stats.samples import StatsError, checked, mean, sample_sd, share, t_value, z_value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ONE_CLUSTER = "one cluster: it counts as one score, because the spread between clusters is not known"


def said_of_few(n_clusters: int, alpha: float = 0.05, n_tests: int = 1, what: str = "clusters") -> str:
    """What so few clusters cannot show, empty where there are enough: flipping the signs of G clusters gives no p below 2 / 2^G."""
    if n_clusters < 2 or not n_tests or n_tests * 2.0 ** (1 - n_clusters) <= alpha + 1e-12:
        return ""
    return f"{n_clusters} {what}: no test can reach {round(alpha, 12):g}" + (f" over {n_tests} pairs" if n_tests > 1 else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteredError:
    """Standard errors of the mean of n scores in G clusters; None where one score or one cluster leaves them undefined.

    `naive` takes scores as independent; `cr0` sums deviations by cluster; `cr1` corrects that by sqrt(G / (G - 1)); `cr2` corrects each
    cluster for its own pull on the mean and is the one to report, with `df` degrees of freedom (Satterthwaite's): G - 1 for clusters of
    one size, fewer where some are large. `miller` is the naive variance plus the cross products within clusters (Miller 2024, arXiv
    2411.00640).
    """

    mean: float
    n: int
    n_clusters: int
    naive: float | None
    cr0: float | None = None
    cr1: float | None = None
    cr2: float | None = None
    df: float | None = None
    miller: float | None = None
    note: str = ""


def clustered_se(scores: Sequence[float], clusters: Sequence[Hashable]) -> ClusteredError:
    """The standard errors of the mean; `clusters` names each score's cluster and None is an error, not a cluster of its own.

    One cluster gives None, never 0: nothing is known of the spread between clusters.
    """
    values = checked(scores)
    totals = cluster_totals(values, clusters)
    n, centre, sd = len(values), mean(values), sample_sd(values)
    naive = None if sd is None else sd / math.sqrt(n)
    size = len(totals)
    if size < 2 or naive is None:
        return ClusteredError(mean=centre, n=n, n_clusters=size, naive=naive, note=ONE_CLUSTER)
    sums, sizes = zip(*totals, strict=True)
    square = math.fsum((total - count * centre) ** 2 for total, count in totals) if sd else 0.0
    own = math.fsum((value - centre) ** 2 for value in values)
    cr0 = math.sqrt(square) / n
    _, cr2, df = cr2_of(sums, sizes)
    return ClusteredError(
        mean=centre,
        n=n,
        n_clusters=size,
        naive=naive,
        cr0=cr0,
        cr1=cr0 * math.sqrt(size / (size - 1)),
        cr2=cr2 if sd else 0.0,
        df=df,
        miller=math.sqrt(max(0.0, naive * naive + (square - own) / (n * n))),
    )


def cr2_of(totals: Sequence[float], sizes: Sequence[int]) -> tuple[float, float, float]:
    """(mean, its CR2 standard error, Satterthwaite's degrees of freedom) from the sums and sizes of at least two clusters.

    Source: Bell and McCaffrey (2002), in closed form for a mean, where the share of the values that a cluster holds is its leverage.
    """
    n = sum(sizes)
    centre, pulls = math.fsum(totals) / n, [size / n for size in sizes]
    rests = [total - size * centre for total, size in zip(totals, sizes, strict=True)]
    cr2 = math.sqrt(math.fsum(rest * rest / (1 - pull) for rest, pull in zip(rests, pulls, strict=True))) / n
    crossed = [pull * pull / (1 - pull) for pull in pulls]
    spread = math.fsum(pull * pull for pull in pulls) + math.fsum(crossed) ** 2 - math.fsum(value * value for value in crossed)
    return centre, cr2, 1 / spread


def cluster_totals(values: Sequence[float], clusters: Sequence[Hashable]) -> list[tuple[float, int]]:
    """(sum, number) of the scores of each of G clusters, in the order in which they first appear."""
    if len(clusters) != len(values):
        raise StatsError(f"{len(values)} scores but {len(clusters)} cluster names")
    if any(name is None for name in clusters):
        raise StatsError(f"score {list(clusters).index(None)} has no cluster", hint="every instance needs its group")
    members: dict[Hashable, list[float]] = {}
    for value, name in zip(values, clusters, strict=True):
        members.setdefault(name, []).append(value)
    return [(math.fsum(own), len(own)) for own in members.values()]


def clustered_interval(scores: Sequence[float], clusters: Sequence[Hashable], *, confidence: float = 0.95) -> Interval:
    """The mean with `cr2` times Student's quantile at `df` degrees of freedom to each side; undefined for one cluster.

    Fit for unbounded values such as differences; for scores in [0, 1] see `clustered_score_interval`.
    """
    error = clustered_se(scores, clusters)
    low = high = None
    if error.cr2 is not None and error.df is not None:
        spread = error.cr2 * t_value(confidence, error.df)
        low, high = error.mean - spread, error.mean + spread
    return Interval(
        estimate=error.mean, low=low, high=high, confidence=confidence, method="clustered t", n=error.n, se=error.cr2, note=error.note
    )


def clustered_score_interval(scores: Sequence[float], clusters: Sequence[Hashable], *, confidence: float = 0.95) -> Interval:
    """The mean of scores in [0, 1] over G clusters; never without width. One cluster counts as one score, and a note says so.

    The wider of two: Wilson's interval at the effective sample size m * (1 - m) / cr2^2 with Student's quantile, and the likelihood of a
    beta-binomial averaged over how alike a cluster's scores may be. The first holds in the middle and falls short near the ends, where
    few clusters say nothing of their spread (81 % instead of 95 for ten clusters of 50 at 0.9 with a correlation of 0.5); the second
    holds there and falls short for few clusters in the middle. Together they cover 92 to 99.7 % from ten clusters on.
    Clusters of one score each are no clusters: the interval is `score_interval`'s.
    """
    values = checked(scores)
    share(confidence, "confidence")
    if min(values) < 0 or max(values) > 1:
        return clustered_interval(values, clusters, confidence=confidence)
    error, totals = clustered_se(values, clusters), cluster_totals(values, clusters)
    if len(totals) == len(values):
        return score_interval(values, confidence=confidence)
    low, high = _at_effective_size(error, len(totals), confidence)
    likely = _likely_means(values, totals, confidence)
    return Interval(
        estimate=error.mean,
        low=min(low, likely[0], error.mean),
        high=max(high, likely[1], error.mean),
        confidence=confidence,
        method="clustered",
        n=error.n,
        se=error.cr2,
        note=error.note,
    )


def _at_effective_size(error: ClusteredError, n_clusters: int, confidence: float) -> tuple[float, float]:
    """Wilson's interval for as many 0/1 scores as the clustered error is worth, at least as wide as that of independent scores.

    Scores that are all equal, and those of one cluster, say nothing of how alike a cluster's scores are: each cluster counts once.
    """
    centre, naive, cr2 = error.mean, error.naive or 0.0, error.cr2 or 0.0
    if naive < SMALLEST_SPREAD or n_clusters == 1:
        return wilson_interval(centre * n_clusters, n_clusters, z=z_value(confidence))
    low, high = _wilson_of(centre, naive, z_value(confidence))
    if cr2 < SMALLEST_SPREAD:
        return low, high
    start, end = _wilson_of(centre, cr2, t_value(confidence, error.df or 1.0))
    # A cluster's scores that differ more than independent ones would are chance.
    return min(low, start), max(high, end)


def _wilson_of(centre: float, error: float, z: float) -> tuple[float, float]:
    effective = centre * (1 - centre) / error**2
    return wilson_interval(centre * effective, effective, z=z) if effective >= 1 else (0.0, 1.0)


N_MEANS = 160
N_CORRELATIONS = 24


def _likely_means(values: Sequence[float], totals: Sequence[tuple[float, int]], confidence: float) -> tuple[float, float]:
    """The range of true means that holds `confidence` of the beta-binomial likelihood of the clusters' totals.

    Means weigh alike, and correlations within a cluster by 1 / sqrt(correlation), on a grid that is denser near 0 for both. Scores
    between 0 and 1 that vary less than 0/1 scores of their mean count for more of them. At 0 and at 1 the whole tail lies on one side.
    """
    import numpy as np
    from scipy.special import gammaln

    n, centre, sd = len(values), mean(values), sample_sd(values) or 0.0
    worth = max(1.0, centre * (1 - centre) * n / (n - 1) / sd**2) if sd > SMALLEST_SPREAD else 1.0
    edges = np.sin(np.linspace(0, np.pi / 2, N_MEANS + 1)) ** 2
    middles = np.sin((np.arange(N_MEANS) + 0.5) / N_MEANS * np.pi / 2) ** 2
    correlations = ((np.arange(N_CORRELATIONS) + 0.5) / N_CORRELATIONS) ** 2
    scale = 1 / correlations - 1
    right, wrong = middles[:, None] * scale, (1 - middles)[:, None] * scale
    pairs, times = np.unique(np.round([(total * worth, (count - total) * worth) for total, count in totals], 6), axis=0, return_counts=True)
    logs = np.log(np.diff(edges))[:, None] - len(totals) * (gammaln(right) + gammaln(wrong) - gammaln(scale))
    for (total, rest), count in zip(pairs, times, strict=True):
        logs = logs + count * (gammaln(right + total) + gammaln(wrong + max(0.0, rest)) - gammaln(scale + total + rest))
    weights = np.exp(logs - logs.max()).sum(axis=1)
    below = np.concatenate([[0.0], np.cumsum(weights) / weights.sum()])
    tail = (1 - confidence) / 2
    if centre in (0.0, 1.0):
        end = float(np.interp(2 * tail if centre else 1 - 2 * tail, below, edges))
        return (end, 1.0) if centre else (0.0, end)
    low, high = np.interp((tail, 1 - tail), below, edges)
    return float(low), float(high)
