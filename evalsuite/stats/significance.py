"""The comparison of two submissions in one call: test, difference, interval, effect and what a reader needs to repeat it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from evalsuite.stats.effects import effect_size
from evalsuite.stats.intervals import Interval, t_interval
from evalsuite.stats.paired import PairedTest, mcnemar, paired_bootstrap, paired_t, sign_flip
from evalsuite.stats.samples import N_RESAMPLES, SEED, StatsError, checked_pairs, differences, is_binary, share, z_value

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
        note=tested.note,
    )


def difference_interval(a: Sequence[float], b: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """The interval of the mean difference a - b over n pairs.

    For 0/1 scores Bonett and Price (2012): one more discordant pair of each kind, so that no flips at all do not give +-0. For others
    Student's t; where all differences are equal it has no width and a note says so.
    """
    left, right = checked_pairs(a, b)
    apart = differences(left, right)
    n = len(apart)
    if is_binary(left) and is_binary(right):
        only_a, only_b = (apart.count(1.0) + 1) / (n + 2), (apart.count(-1.0) + 1) / (n + 2)
        centre, estimate = only_a - only_b, sum(apart) / n
        se = math.sqrt((only_a + only_b - centre**2) / (n + 2))
        low, high = max(-1.0, centre - z_value(confidence) * se), min(1.0, centre + z_value(confidence) * se)
        low, high = min(low, estimate), max(high, estimate)
        return Interval(estimate=estimate, low=low, high=high, confidence=confidence, method="Bonett-Price", n=n, se=se)
    found = t_interval(apart, confidence=confidence)
    if found.low is not None or n == 1:
        return found
    note = f"all {n} differences are equal: their spread is not known"
    return Interval(
        estimate=found.estimate, low=found.estimate, high=found.estimate, confidence=confidence, method="t", n=n, se=0.0, note=note
    )


def _tests(confidence: float, n_resamples: int, seed: int) -> dict[str, Callable[[Sequence[float], Sequence[float]], PairedTest]]:
    from evalsuite.stats.wilcoxon import wilcoxon

    return {
        "mcnemar": mcnemar,
        "permutation": lambda a, b: sign_flip(a, b, n_resamples=n_resamples, seed=seed),
        "t": paired_t,
        "wilcoxon": wilcoxon,
        "bootstrap": lambda a, b: paired_bootstrap(a, b, confidence=confidence, n_resamples=n_resamples, seed=seed),
    }
