"""Tests of two submissions on the same instances. Each returns a `PairedTest`; none looks at scores instance by instance twice."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalsuite.stats.bootstrap import bootstrap_interval, resampled_means
from evalsuite.stats.clustered import cr2_of
from evalsuite.stats.intervals import Interval, t_interval
from evalsuite.stats.samples import (
    N_RESAMPLES,
    SEED,
    Alternative,
    StatsError,
    checked_pairs,
    decimals,
    differences,
    is_binary,
    mean,
    normal_tail,
    p_of,
    sample_sd,
)

NO_VARIATION = "all differences are equal: t says nothing, use sign_flip"
EXACT_CELLS = 20_000_000
"""How much work an exact sign-flip distribution may take: n differences times their span in units."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """A test's p-value over n pairs. `statistic` is None where undefined; `seed` and `n_resamples` are None where nothing is drawn."""

    method: str
    p: float
    n: int
    difference: float
    statistic: float | None = None
    alternative: Alternative = "two-sided"
    interval: Interval | None = None
    seed: int | None = None
    n_resamples: int | None = None
    note: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


def mcnemar(a: Sequence[float], b: Sequence[float]) -> PairedTest:
    """The exact McNemar test of two 0/1 submissions; `statistic` is the number of instances that only a got right.

    `details` hold b and c (only a right, only b right), the mid-p value and both chi-square versions. p is two-sided.
    """
    left, right = checked_pairs(a, b)
    if not is_binary(left) or not is_binary(right):
        raise StatsError("McNemar's test needs scores of 0 and 1", hint="use sign_flip for other scores")
    only_a = sum(x > y for x, y in zip(left, right, strict=True))
    only_b = sum(x < y for x, y in zip(left, right, strict=True))
    details = mcnemar_counts(only_a, only_b)
    n = len(left)
    return PairedTest(
        method="exact McNemar", p=details["exact_p"], n=n, difference=(only_a - only_b) / n, statistic=float(only_a), details=details
    )


def mcnemar_counts(b: int, c: int) -> dict[str, float]:
    """The p-values of b against c discordant pairs: `exact_p`, `mid_p`, `chi2` and `chi2_corrected` with their own; all 1 for none."""
    if b < 0 or c < 0:
        raise StatsError(f"{b} and {c} discordant pairs")
    n, low = b + c, min(b, c)
    below, at = _binomial_half(low, n)
    plain = (b - c) ** 2 / n if n else 0.0
    corrected = (abs(b - c) - 1) ** 2 / n if n else 0.0
    return {
        "b": b,
        "c": c,
        "exact_p": min(1.0, 2 * (below + at)) if n else 1.0,
        "mid_p": min(1.0, 2 * below + at) if n else 1.0,
        "chi2": plain,
        "chi2_p": 2 * normal_tail(math.sqrt(plain)),
        "chi2_corrected": corrected,
        "chi2_corrected_p": 2 * normal_tail(math.sqrt(corrected)),
    }


def _binomial_half(k: int, n: int) -> tuple[float, float]:
    """P(X < k) and P(X = k) of n fair coins: exact in integers, by the incomplete beta function for many."""
    if n > 1000:
        from scipy.special import bdtr

        below = float(bdtr(k - 1, n, 0.5)) if k else 0.0
        return below, float(bdtr(k, n, 0.5)) - below
    term, total = 1, 0
    for i in range(k):
        total += term
        term = term * (n - i) // (i + 1)
    return total / 2**n, term / 2**n


def paired_t(a: Sequence[float], b: Sequence[float], *, alternative: Alternative = "two-sided", confidence: float = 0.95) -> PairedTest:
    """Student's t test of the differences; the interval is two-sided whatever the alternative.

    Without variation t is None: p is 1 where all differences are 0 and the limit 0 (or 1, one-sided) where all are the same other value.
    Where they vary by floating-point rounding only, t is as huge and meaningless as scipy's; a note says so.
    """
    left, right = checked_pairs(a, b)
    apart = [x - y for x, y in zip(left, right, strict=True)]
    n, centre, sd = len(apart), mean(apart), sample_sd(apart)
    interval = t_interval(apart, confidence=confidence)
    if not sd:
        if centre == 0:
            p, note = 1.0, "no differences"
        elif n == 1:
            p, note = 1.0, "one pair: no test is possible"
        else:
            sided = 0.0 if centre > 0 else 1.0
            p, note = p_of(1 - sided, sided, alternative), NO_VARIATION
        return PairedTest(method="paired t", p=p, n=n, difference=centre, alternative=alternative, interval=interval, note=note)
    from scipy.special import stdtr

    t = centre / (sd / math.sqrt(n))
    p = p_of(float(stdtr(n - 1, t)), float(stdtr(n - 1, -t)), alternative)
    return PairedTest(
        method="paired t",
        p=p,
        n=n,
        difference=centre,
        statistic=t,
        alternative=alternative,
        interval=interval,
        note="" if sample_sd(differences(a, b)) else NO_VARIATION,
        details={"df": n - 1},
    )


def sign_flip(a: Sequence[float], b: Sequence[float], *, alternative: Alternative = "two-sided") -> PairedTest:
    """The paired permutation test: how often random signs of the n differences give a sum as far out as theirs.

    Exact wherever that can be counted (scores on a grid such as 0.25 or four decimals, or up to 20 differences), in whole units so that
    equal sums are equal; else exact for the differences rounded to a grid, see `_flip_on_grid`. Nothing is drawn, so that no p stops at
    one in so many draws. `statistic` is the mean difference.
    """
    apart = differences(a, b)
    n, centre = len(apart), mean(apart)
    units = [unit for unit in in_units(apart, decimals([*a, *b])) if unit]
    counted = True
    if not units:
        less = greater = 1.0
    elif len(units) * (sum(map(abs, units)) + 1) <= EXACT_CELLS:
        less, greater = _flip_exactly(units)
    elif len(units) <= 20:
        less, greater = _flip_all(units)
    else:
        less, greater = _flip_on_grid(units)
        counted = False
    return PairedTest(
        method="exact sign-flip permutation" if counted else "sign-flip permutation",
        p=p_of(less, greater, alternative),
        n=n,
        difference=centre,
        statistic=centre,
        alternative=alternative,
        note=_floor_note(len(units), alternative),
    )


def _floor_note(n: int, alternative: Alternative) -> str:
    if n == 0:
        return "no differences"
    least = 2.0 ** (1 - n if alternative == "two-sided" else -n)
    return f"{n} difference{'s' * (n != 1)}: no p below {least:g} is possible" if least >= 0.05 else ""


def in_units(apart: Sequence[float], digits: int) -> list[int]:
    """The differences in whole multiples of their greatest common unit."""
    scaled = [round(value * 10.0**digits) for value in apart]
    unit = math.gcd(*scaled)
    return [value // unit for value in scaled] if unit else scaled


def _flip_exactly(units: Sequence[int]) -> tuple[float, float]:
    """P(sum <= observed) and P(sum >= observed): the whole distribution, one difference folded in at a time."""
    import numpy as np

    # A sum of flipped signs is -total + 2 * (the chosen sizes), so the distribution of the chosen sizes is enough.
    chances = np.ones(1)
    for size in map(abs, units):
        wider = np.zeros(len(chances) + size)
        wider[: len(chances)] += chances / 2
        wider[size:] += chances / 2
        chances = wider
    observed = sum(unit for unit in units if unit > 0)
    return float(chances[: observed + 1].sum()), float(chances[observed:].sum())


def _flip_all(units: Sequence[int]) -> tuple[float, float]:
    import numpy as np

    sums = np.zeros(1, dtype=np.int64)
    for size in map(abs, units):
        sums = np.concatenate([sums - size, sums + size])
    observed = sum(units)
    return float((sums <= observed).mean()), float((sums >= observed).mean())


GRID_STEPS = 4096
"""Steps of the grid in one standard deviation of the flipped sum."""
LEAST_P = 1e-12
"""What the sums of a grid can still tell from nothing."""


def _flip_on_grid(units: Sequence[int]) -> tuple[float, float]:
    """P(sum <= observed) and P(sum >= observed) of the sizes rounded to 1/4096 of the sum's standard deviation, at least 1e-12.

    The test is exact for the rounded sizes, so that it calls no more than it says; rounding moves the sum of 20,000 of them by 1 % of its
    deviation. The distribution is its characteristic function, a product of cosines, turned back on a circle of 16 deviations; what lies
    more than 8 out has a chance of 2.5e-14 at most (Hoeffding).
    """
    import numpy as np

    step = math.sqrt(math.fsum(unit * unit for unit in units)) / GRID_STEPS
    steps = [round(unit / step) for unit in units]
    observed, n_places = sum(steps), 16 * GRID_STEPS
    least = max(LEAST_P, 2.0 ** -len(units))
    if abs(observed) >= n_places // 2:
        return (least, 1.0) if observed < 0 else (1.0, least)
    turns = 2 * np.pi / n_places * np.arange(n_places // 2 + 1)
    shape = np.ones(len(turns))
    for size, times in zip(*np.unique(np.abs(steps), return_counts=True), strict=True):
        shape *= np.cos(size * turns) ** times
    chances = np.fft.fftshift(np.fft.irfft(shape, n_places))
    at = observed + n_places // 2
    return max(least, float(chances[: at + 1].sum())), max(least, float(chances[at:].sum()))


def clustered_p(totals: Sequence[float], sizes: Sequence[int], digits: int = 9) -> float:
    """The two-sided p of a mean difference when the signs of whole clusters are flipped; one of many on a board.

    `totals` are the sums of the differences in each cluster of `sizes` pairs, `digits` the decimals that mean something. Exact where the
    flips can be counted fast (scores on a coarse grid, or up to 14 clusters). Else Student's t by CR2 with Satterthwaite's degrees of
    freedom, never below what flips could reach: a drawn p could not go below 1 / R.
    """
    units = [unit for unit in in_units(totals, digits) if unit]
    if not units:
        return 1.0
    if len(units) * (sum(map(abs, units)) + 1) <= EXACT_CELLS / 1000:
        return p_of(*_flip_exactly(units), "two-sided")
    if len(units) <= 14:
        return p_of(*_flip_all(units), "two-sided")
    from scipy.special import stdtr

    centre, cr2, df = cr2_of(totals, sizes)
    return max(2 * float(stdtr(df, -abs(centre) / cr2)) if cr2 else 0.0, 2.0 ** (1 - len(units)))


def paired_bootstrap(
    a: Sequence[float], b: Sequence[float], *, confidence: float = 0.95, n_resamples: int = N_RESAMPLES, seed: int = SEED
) -> PairedTest:
    """The two-sided bootstrap test of the mean difference, with its BCa interval.

    p is the share of resampled means that lie as far from the observed one as that lies from 0, (c + 1) / (R + 1); identical samples
    give 1. Slightly liberal below n = 50: prefer `sign_flip`.
    """
    import numpy as np

    apart = differences(a, b)
    centre = mean(apart)
    drawn = resampled_means(apart, n_resamples=n_resamples, seed=seed)
    far = int((np.abs(drawn - centre) >= abs(centre) - 1e-12).sum())
    return PairedTest(
        method="paired bootstrap",
        p=(far + 1) / (n_resamples + 1),
        n=len(apart),
        difference=centre,
        statistic=centre,
        interval=bootstrap_interval(apart, confidence=confidence, n_resamples=n_resamples, seed=seed),
        seed=seed,
        n_resamples=n_resamples,
        note="" if any(apart) else "no differences",
    )
