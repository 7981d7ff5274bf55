"""Wilcoxon's signed-rank test."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from evalsuite.stats.paired import PairedTest
from evalsuite.stats.samples import Alternative, competition_ranks, differences, mean, normal_tail, p_of

ZeroMethod = Literal["wilcox", "pratt", "zsplit"]
EXACT_UP_TO = 50


def wilcoxon(
    a: Sequence[float],
    b: Sequence[float],
    *,
    zeros: ZeroMethod = "wilcox",
    method: Literal["auto", "exact", "approx"] = "auto",
    correction: bool = False,
    alternative: Alternative = "two-sided",
) -> PairedTest:
    """The signed-rank test; `statistic` is the smaller rank sum, or that of the positive differences where one-sided.

    `zeros`: "wilcox" drops equal pairs, "pratt" ranks them and leaves them out of the sums, "zsplit" gives half to each side. "auto" is
    exact up to 50 differences. Exact counts the distribution of the ranks at hand, so it stays exact with ties and zeros, where scipy's
    `exact` is conservative; without them both agree. `correction` is for the normal approximation.
    """
    apart = differences(a, b)
    n, centre = len(apart), mean(apart)
    kept = [value for value in apart if value] if zeros == "wilcox" else apart
    title = f"Wilcoxon signed-rank ({zeros})"
    if not any(kept):
        return PairedTest(method=title, p=1.0, n=n, difference=centre, alternative=alternative, note="no differences")
    ranks = competition_ranks([-abs(value) for value in kept], method="average")
    plus = math.fsum(rank for value, rank in zip(kept, ranks, strict=True) if value > 0)
    minus = math.fsum(rank for value, rank in zip(kept, ranks, strict=True) if value < 0)
    split = math.fsum(rank for value, rank in zip(kept, ranks, strict=True) if value == 0) / 2 if zeros == "zsplit" else 0.0
    exact = method == "exact" or (method == "auto" and len(kept) <= EXACT_UP_TO)
    if exact:
        less, greater = _exactly([rank for value, rank in zip(kept, ranks, strict=True) if value], plus)
        p = p_of(less, greater, alternative)
    else:
        p = _approximately(kept, plus + split, zeros, correction, alternative)
    statistic = min(plus, minus) + split if alternative == "two-sided" else plus + split
    name = f"exact {title}" if exact else title
    details = {"n_zero": apart.count(0.0), "rank_sum_plus": plus + split, "rank_sum_minus": minus + split}
    return PairedTest(method=name, p=p, n=n, difference=centre, statistic=statistic, alternative=alternative, details=details)


def _exactly(ranks: Sequence[float], plus: float) -> tuple[float, float]:
    """P(rank sum <= plus) and P(rank sum >= plus) when each rank is positive with chance one half."""
    import numpy as np

    # Average ranks are halves: doubled they are whole.
    chances = np.ones(1)
    for rank in ranks:
        size = round(2 * rank)
        wider = np.zeros(len(chances) + size)
        wider[: len(chances)] += chances / 2
        wider[size:] += chances / 2
        chances = wider
    at = round(2 * plus)
    return float(chances[: at + 1].sum()), float(chances[at:].sum())


def _approximately(kept: Sequence[float], plus: float, zeros: ZeroMethod, correction: bool, alternative: Alternative) -> float:
    n = len(kept)
    expected = n * (n + 1) / 4
    variance = float(n * (n + 1) * (2 * n + 1))
    counts = Counter(map(abs, kept))
    if zeros == "pratt":
        # Cureton (1967): the zeros' ranks are in neither sum, nor in the correction for ties.
        none = counts.pop(0.0, 0)
        expected -= none * (none + 1) / 4
        variance -= none * (none + 1) * (2 * none + 1)
    variance -= sum(count**3 - count for count in counts.values()) / 2
    error = math.sqrt(variance / 24)
    if error == 0:
        return 1.0
    z = (plus - expected) / error
    if correction:
        sign = {"greater": 1.0, "less": -1.0}.get(alternative, math.copysign(1.0, z) if z else 0.0)
        z -= sign * 0.5 / error
    return p_of(normal_tail(-z), normal_tail(z), alternative)
