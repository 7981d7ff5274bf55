"""Effect sizes of a paired difference."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evalsuite.stats.samples import checked_pairs, differences, mean, sample_sd


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
