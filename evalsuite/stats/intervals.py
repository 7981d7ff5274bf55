"""Confidence intervals: floats in, numbers out."""

import math


def wilson_interval(successes: float, n: int, *, z: float = 1.959963984540054) -> tuple[float, float]:
    """The Wilson score interval (low, high) in [0, 1] of a proportion, by default at 95 %.

    Source: Wilson (1927), Journal of the American Statistical Association 22. `n` is the number of instances, at least 1.
    """
    if n < 1:
        raise ValueError("n must be at least 1")
    share = successes / n
    centre = share + z * z / (2 * n)
    spread = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)
