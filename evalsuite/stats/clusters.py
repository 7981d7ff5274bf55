"""Standard errors where instances come in clusters: questions about one passage, project or author are not independent."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from evalsuite.stats.intervals import Interval
from evalsuite.stats.samples import StatsError, checked, mean, sample_sd, t_value


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteredError:
    """Standard errors of the mean of n scores in G clusters; None where one score or one cluster leaves them undefined.

    `naive` takes scores as independent; `cr0` sums deviations by cluster; `cr1` corrects that by sqrt(G / (G - 1)) and is the one to
    report; `miller` is the naive variance plus the cross products within clusters (Miller 2024, arXiv 2411.00640).
    """

    mean: float
    n: int
    n_clusters: int
    naive: float | None
    cr0: float | None
    cr1: float | None
    miller: float | None
    note: str = ""


def clustered_se(scores: Sequence[float], clusters: Sequence[Hashable]) -> ClusteredError:
    """The standard errors of the mean; `clusters` names each score's cluster and None is an error, not a cluster of its own.

    One cluster gives None, never 0: nothing is known of the spread between clusters.
    """
    values = checked(scores)
    if len(clusters) != len(values):
        raise StatsError(f"{len(values)} scores but {len(clusters)} cluster names")
    if any(name is None for name in clusters):
        raise StatsError(f"score {list(clusters).index(None)} has no cluster", hint="every instance needs its group")
    n, centre, sd = len(values), mean(values), sample_sd(values)
    naive = None if sd is None else sd / math.sqrt(n)
    sums: dict[Hashable, float] = {}
    for value, name in zip(values, clusters, strict=True):
        sums[name] = sums.get(name, 0.0) + value - centre
    size = len(sums)
    if size < 2 or naive is None:
        note = "one cluster: the spread between clusters is not known"
        return ClusteredError(mean=centre, n=n, n_clusters=size, naive=naive, cr0=None, cr1=None, miller=None, note=note)
    square = math.fsum(total * total for total in sums.values())
    own = math.fsum((value - centre) ** 2 for value in values)
    cr0 = math.sqrt(square) / n
    miller = math.sqrt(max(0.0, naive * naive + (square - own) / (n * n)))
    return ClusteredError(mean=centre, n=n, n_clusters=size, naive=naive, cr0=cr0, cr1=cr0 * math.sqrt(size / (size - 1)), miller=miller)


def clustered_interval(scores: Sequence[float], clusters: Sequence[Hashable], *, confidence: float = 0.95) -> Interval:
    """The mean with `cr1` times Student's quantile at G - 1 degrees of freedom to each side; undefined for one cluster."""
    error = clustered_se(scores, clusters)
    low = high = None
    if error.cr1 is not None:
        spread = error.cr1 * t_value(confidence, error.n_clusters - 1)
        low, high = error.mean - spread, error.mean + spread
    return Interval(
        estimate=error.mean, low=low, high=high, confidence=confidence, method="clustered t", n=error.n, se=error.cr1, note=error.note
    )
