"""The comparison of two submissions in one call: test, difference, interval, effect and what a reader needs to repeat it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal

from evalsuite.stats.intervals import Interval, t_interval
from evalsuite.stats.paired import PairedTest, mcnemar, paired_bootstrap, paired_t, sign_flip
from evalsuite.stats.samples import N_RESAMPLES, SEED, StatsError, checked_pairs, differences, is_binary, mean, sample_sd, share, z_value


def paired_sample_size(*, sd_difference: float, difference: float, alpha: float = 0.05, power: float = 0.8) -> int:
    """The number of instances at which a paired test finds a mean `difference` with this power.

    n = ((z(1 - alpha / 2) + z(power)) * sd / difference)^2, rounded up, at least 1. `sd_difference` is the standard deviation of the
    per-instance differences: two submissions that agree on nine of ten 0/1 instances have about 0.32.
    """
    if difference == 0:
        raise StatsError("a difference of 0 cannot be found with any number of instances")
    _check_sd(sd_difference)
    return max(1, math.ceil((_factor(alpha, power) * sd_difference / difference) ** 2))


def detectable_difference(*, sd_difference: float, n: int, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest mean difference that n paired instances show with this power: z-sum * sd / sqrt(n)."""
    _check_sd(sd_difference)
    if n < 1:
        raise StatsError(f"{n} instances")
    return _factor(alpha, power) * sd_difference / math.sqrt(n)


def _factor(alpha: float, power: float) -> float:
    return z_value(1 - share(alpha, "alpha")) + NormalDist().inv_cdf(share(power, "power"))


def _check_sd(sd: float) -> None:
    if not (math.isfinite(sd) and sd >= 0):
        raise StatsError(f"a standard deviation of {sd}")


Correction = Literal["holm", "bonferroni", "holm_sidak", "bh", "by"]


def adjust(p_values: Sequence[float], method: Correction = "holm") -> list[float]:
    """The n adjusted p-values in the order given; a test is significant where its adjusted value is at most alpha.

    `holm` (the default), `bonferroni` and `holm_sidak` bound the chance of one false call in the family; `bh` (Benjamini-Hochberg) and
    `by` (under any dependence) bound the share of false calls. [0.01, 0.04, 0.03] becomes [0.03, 0.06, 0.06] by Holm.
    """
    if any(not 0 <= p <= 1 for p in p_values):
        raise StatsError("a p-value outside 0..1")
    n = len(p_values)
    if method == "bonferroni":
        return [min(1.0, p * n) for p in p_values]
    if method == "bh" or method == "by":
        from scipy.stats import false_discovery_control

        return [float(p) for p in false_discovery_control(p_values, method=method)] if n else []
    adjusted, worst = [0.0] * n, 0.0
    for rank, i in enumerate(sorted(range(n), key=p_values.__getitem__)):
        left = n - rank
        worst = max(worst, p_values[i] * left if method == "holm" else 1 - (1 - p_values[i]) ** left)
        adjusted[i] = min(1.0, worst)
    return adjusted


def holm(p_values: Sequence[float]) -> list[float]:
    """The n p-values adjusted by Holm's step-down method."""
    return adjust(p_values, "holm")


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectSize:
    """Cohen's d of n pairs by what the mean difference is divided by; None where that is 0 or undefined.

    `d_z`: sd of the differences. `d_pooled`: sqrt((sd_a^2 + sd_b^2) / 2). `d_av`: (sd_a + sd_b) / 2. `hedges_g_z`: `d_z` corrected for
    small n. About 0.2 is small, 0.5 medium, 0.8 large.
    """

    d_z: float | None
    d_pooled: float | None
    d_av: float | None
    hedges_g_z: float | None


def effect_size(a: Sequence[float], b: Sequence[float]) -> EffectSize:
    """The effect sizes of a over b; identical samples give 0 throughout, not None."""
    left, right = checked_pairs(a, b)
    apart = differences(a, b)
    centre, spread = mean(apart), sample_sd(apart)
    sd_a, sd_b = sample_sd(left), sample_sd(right)

    def over(divisor: float | None) -> float | None:
        if centre == 0:
            return 0.0
        return centre / divisor if divisor else None

    d_z = over(spread)
    shrink = 1 - 3 / (4 * (len(apart) - 1) - 1)
    return EffectSize(
        d_z=d_z,
        d_pooled=over(math.sqrt((sd_a**2 + sd_b**2) / 2) if sd_a is not None and sd_b is not None else None),
        d_av=over((sd_a + sd_b) / 2 if sd_a is not None and sd_b is not None else None),
        hedges_g_z=None if d_z is None else d_z * shrink,
    )


Method = Literal["auto", "mcnemar", "permutation", "t", "wilcoxon", "bootstrap"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Significance:
    """What a paired test says of a over b on n instances.

    `effect` is Cohen's d_z (None where the differences do not vary), `interval` that of the mean difference, `verdict` one of "a is
    better", "b is better" (the higher mean) and "no difference shown" at `alpha`.
    """

    method: str
    statistic: float | None
    p: float
    difference: float
    interval: Interval
    effect: float | None
    n: int
    wins: int
    ties: int
    losses: int
    alpha: float
    verdict: str
    seed: int | None
    n_resamples: int | None
    note: str = ""

    @property
    def is_significant(self) -> bool:
        """Whether p is at most alpha."""
        return self.p <= self.alpha


def compare_paired(
    a: Sequence[float],
    b: Sequence[float],
    *,
    alpha: float = 0.05,
    method: Method = "auto",
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> Significance:
    """The two-sided comparison; "auto" is exact McNemar for 0/1 scores and the sign-flip permutation test for all others."""
    left, right = checked_pairs(a, b)
    share(alpha, "alpha")
    binary = is_binary(left) and is_binary(right)
    chosen = ("mcnemar" if binary else "permutation") if method == "auto" else method
    tests = _tests(1 - alpha, n_resamples, seed)
    if chosen not in tests:
        raise StatsError(f"unknown test {chosen!r}", hint=f"one of auto, {', '.join(tests)}")
    tested = tests[chosen](left, right)
    apart = differences(left, right)
    interval = tested.interval if chosen == "bootstrap" and tested.interval else difference_interval(left, right, confidence=1 - alpha)
    better = "no difference shown" if tested.p > alpha else "a is better" if tested.difference > 0 else "b is better"
    return Significance(
        method=tested.method,
        statistic=tested.statistic,
        p=tested.p,
        difference=tested.difference,
        interval=interval,
        effect=effect_size(left, right).d_z,
        n=tested.n,
        wins=sum(value > 0 for value in apart),
        ties=sum(value == 0 for value in apart),
        losses=sum(value < 0 for value in apart),
        alpha=alpha,
        verdict=better,
        seed=tested.seed,
        n_resamples=tested.n_resamples,
        note="; ".join(filter(None, (tested.note, interval_note(interval.low, interval.high, p=tested.p, adjusted=tested.p, alpha=alpha)))),
    )


def interval_note(low: float | None, high: float | None, *, p: float, adjusted: float, alpha: float) -> str:
    """What a reader of both must know where an interval and the test it stands beside do not agree; empty where they do."""
    if low is None or high is None:
        return ""
    excludes, shown = low > 0 or high < 0, adjusted <= alpha
    if excludes and p <= alpha < adjusted:
        return "the interval leaves 0 out because it is for this comparison alone, the test is adjusted for all: the test decides"
    if excludes and not shown:
        return "the interval is approximate and leaves 0 out, the exact test does not: the test decides"
    if shown and not excludes:
        return "the interval is approximate and holds 0, the exact test does not: the test decides"
    return ""


def difference_interval(a: Sequence[float], b: Sequence[float], *, confidence: float = 0.95, effective: int | None = None) -> Interval:
    """The interval of the mean difference a - b over n pairs, which count as `effective` ones (default: n).

    For 0/1 scores Bonett and Price (2012): one more discordant pair of each kind, so that no flips at all do not give +-0. For others
    Student's t. Where all differences are equal their spread is not known: within -1..1 they count as 0/1 flips of that mean, the widest
    that is possible; others have no width. A note says so. One pair of them has no interval.
    """
    left, right = checked_pairs(a, b)
    apart = differences(left, right)
    n, note, method = len(apart), "", "Bonett-Price"
    if effective is None and not (is_binary(left) and is_binary(right)):
        found = t_interval(apart, confidence=confidence)
        if found.low is not None or n == 1:
            return found
        note = f"all {n} differences are equal: their spread is not known"
        if abs(apart[0]) > 1:
            return replace(found, low=found.estimate, high=found.estimate, note=note)
        method = "Bonett-Price of equal differences"
    size = n if effective is None else effective
    only_a, only_b = ((math.fsum(max(0.0, sign * value) for value in apart) / n * size + 1) / (size + 2) for sign in (1, -1))
    centre, estimate = only_a - only_b, math.fsum(apart) / n
    se = math.sqrt((only_a + only_b - centre**2) / (size + 2))
    low, high = max(-1.0, centre - z_value(confidence) * se), min(1.0, centre + z_value(confidence) * se)
    low, high = min(low, estimate), max(high, estimate)
    return Interval(estimate=estimate, low=low, high=high, confidence=confidence, method=method, n=n, se=se, note=note)


def _tests(confidence: float, n_resamples: int, seed: int) -> dict[str, Callable[[Sequence[float], Sequence[float]], PairedTest]]:
    from evalsuite.stats.wilcoxon import wilcoxon

    return {
        "mcnemar": mcnemar,
        "permutation": sign_flip,
        "t": paired_t,
        "wilcoxon": wilcoxon,
        "bootstrap": lambda a, b: paired_bootstrap(a, b, confidence=confidence, n_resamples=n_resamples, seed=seed),
    }
