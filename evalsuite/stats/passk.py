"""pass@k: how likely one of k samples is right."""

import math

from evalsuite.stats.samples import StatsError


def pass_at_k(n: int, c: int, k: int) -> float:
    """The unbiased estimate 1 - C(n - c, k) / C(n, k) in [0, 1], from n samples of which c are right.

    Source: Chen et al. (2021), arXiv 2107.03374. 1 where fewer than k samples are wrong; raises `StatsError` unless 1 <= k <= n and
    0 <= c <= n, because no estimate is unbiased for k above n.
    """
    if not 1 <= k <= n or not 0 <= c <= n:
        raise StatsError(f"pass@{k} from {c} right of {n} samples", hint="k may not exceed the number of samples")
    return 1 - math.comb(n - c, k) / math.comb(n, k)
