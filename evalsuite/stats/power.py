"""Planning: how many instances a difference needs, and what difference a suite can show."""

import math
from statistics import NormalDist

from evalsuite.stats.samples import StatsError, share, z_value


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
