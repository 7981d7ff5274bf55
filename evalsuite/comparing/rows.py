"""One paired difference: the scores of two submissions on the same n instances, tested and put between its limits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from evalsuite.stats.intervals import Interval, clustered_interval
from evalsuite.stats.paired import PairedTest, sign_flip
from evalsuite.stats.samples import SEED, differences, mean
from evalsuite.stats.significance import Significance, compare_paired, detectable_difference, difference_interval, holm, paired_sample_size


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The difference b - a over n pairs; all is None where there is no pair.

    `a` and `b` are means in [0, 1]. `low` and `high` are the limits of the difference at confidence 1 - alpha (Bonett and Price for 0/1
    scores, else t, which covers graded differences at least as well as BCa at n = 15 to 100; clustered t with clusters) and are not
    adjusted. `p` is two-sided: exact McNemar for 0/1, else sign flips (of whole clusters with clusters); `p_adjusted` is Holm's over the
    part of the comparison it stands in. `effect` is Cohen's d_z. `wins` counts the instances on which b is better.
    """

    name: str
    n: int
    a: float | None = None
    b: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    interval_method: str = ""
    se: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    method: str = ""
    effect: float | None = None
    wins: int = 0
    ties: int = 0
    losses: int = 0
    n_clusters: int | None = None
    seed: int | None = None
    n_resamples: int | None = None
    note: str = ""

    def is_significant(self, alpha: float) -> bool:
        """Whether the adjusted p-value is at most alpha."""
        return self.p_adjusted is not None and self.p_adjusted <= alpha

    def is_regression(self, alpha: float) -> bool:
        """Whether b is worse than a at alpha."""
        return self.is_significant(alpha) and (self.difference or 0.0) < 0


def row(
    name: str, a: Sequence[float], b: Sequence[float], *, alpha: float = 0.05, clusters: Sequence[str] | None = None, seed: int = SEED
) -> Row:
    """The row of n pairs in the same order; `clusters` names each pair's cluster."""
    if not a:
        return Row(name=name, n=0, note="no instance in common that both were judged on")
    found = compare_paired(b, a, alpha=alpha, seed=seed)
    tested = Row(
        name=name,
        n=found.n,
        a=mean(a),
        b=mean(b),
        difference=found.difference,
        low=found.interval.low,
        high=found.interval.high,
        interval_method=found.interval.method,
        se=found.interval.se,
        p=found.p,
        method=found.method,
        effect=found.effect,
        wins=found.wins,
        ties=found.ties,
        losses=found.losses,
        seed=found.seed,
        n_resamples=found.n_resamples,
        note=found.note or _note(found, alpha),
    )
    return tested if clusters is None else _clustered(tested, a, b, clusters, alpha, seed)


def _note(found: Significance, alpha: float) -> str:
    """What a reader may stumble over: too few flips for any small p, or limits and test that do not agree."""
    changed, low, high = found.wins + found.losses, found.interval.low, found.interval.high
    if changed and found.method.startswith("exact") and 2.0 ** (1 - changed) > alpha:
        return f"{changed} differences: no p below {2.0 ** (1 - changed):g} is possible"
    if low is not None and high is not None and (low > 0 or high < 0) and found.p > alpha:
        return "the interval is approximate and leaves 0 out, the exact test does not: the test decides"
    return ""


def _clustered(tested: Row, a: Sequence[float], b: Sequence[float], clusters: Sequence[str], alpha: float, seed: int) -> Row:
    """The row with limits and p-value that take whole clusters as independent instead of instances."""
    apart = differences(b, a)
    totals = dict.fromkeys(clusters, 0.0)
    for cluster, value in zip(clusters, apart, strict=True):
        totals[cluster] += value
    flipped: PairedTest = sign_flip(list(totals.values()), [0.0] * len(totals), seed=seed)
    interval: Interval = clustered_interval(apart, clusters, confidence=1 - alpha)
    if not interval.se and len(totals) > 1:
        # Clusters that all agree say nothing of their spread; the plain interval is at least no point.
        interval = difference_interval(b, a, confidence=1 - alpha)
    return replace(
        tested,
        low=interval.low,
        high=interval.high,
        interval_method=interval.method,
        se=interval.se,
        p=flipped.p,
        method=f"{flipped.method} of clusters",
        n_clusters=len(totals),
        seed=flipped.seed,
        n_resamples=flipped.n_resamples,
        note=flipped.note or interval.note,
    )


def adjusted(rows: Sequence[Row]) -> list[Row]:
    """The rows with Holm's p-values over all of them that have one: they are one family."""
    at = [i for i, one in enumerate(rows) if one.p is not None]
    found = dict(zip(at, holm([p for one in rows if (p := one.p) is not None]), strict=True))
    return [replace(one, p_adjusted=found.get(i)) for i, one in enumerate(rows)]


def detectable(one: Row, alpha: float) -> float | None:
    """The smallest difference that this many instances, differing as these do, show with 80 % power; None where nothing is known."""
    if not one.se:
        return None
    return detectable_difference(sd_difference=one.se * math.sqrt(one.n), n=one.n, alpha=alpha)


def instances_needed(one: Row, alpha: float) -> int | None:
    """How many instances would show the difference found, if it is the true one, with 80 % power; None without a difference."""
    if not one.se or not one.difference:
        return None
    return paired_sample_size(sd_difference=one.se * math.sqrt(one.n), difference=one.difference, alpha=alpha)
