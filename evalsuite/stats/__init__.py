"""Statistics: floats in, numbers out. The two short entries stand here; one subject a file stands behind them.

Everything that draws takes a `seed`, by default 12345, and says it in what it returns.
"""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from evalsuite.stats.intervals import Interval
    from evalsuite.stats.significance import Method, Significance


IntervalMethod = Literal["auto", "wilson", "bounded", "t", "normal", "percentile", "basic", "bca"]


def significance_test(a: Sequence[float], b: Sequence[float], alpha: float = 0.05, *, method: "Method" = "auto") -> "Significance":
    """What a paired, two-sided test says of the scores a over the scores b of the same n instances, in the same order.

    Exact McNemar for 0/1 scores, sign-flip permutation for others, unless `method` names one: "mcnemar", "permutation", "t", "wilcoxon"
    or "bootstrap". `significance_test([1, 1, 0], [1, 0, 0]).p` is 1.0: one flip shows nothing.
    """
    from evalsuite.stats.significance import compare_paired

    return compare_paired(a, b, alpha=alpha, method=method)


def confidence_interval(
    scores: Sequence[float],
    confidence: float = 0.95,
    *,
    method: IntervalMethod = "auto",
    clusters: Sequence[Hashable] | None = None,
) -> "Interval":
    """The mean of n scores with its interval.

    "auto": Wilson for 0/1 scores, a score interval for scores in [0, 1] (`bounded_interval`), Student's t for others; with `clusters`
    (one name a score) that of `clustered_score_interval`. `confidence_interval([1, 1, 0, 1])` is 0.75 in [0.30, 0.95].
    """
    if clusters is not None:
        from evalsuite.stats.intervals import clustered_score_interval

        return clustered_score_interval(scores, clusters, confidence=confidence)
    if method in ("percentile", "basic", "bca"):
        from evalsuite.stats.intervals import bootstrap_interval

        return bootstrap_interval(scores, confidence=confidence, method=method)
    from evalsuite.stats.intervals import named_interval

    return named_interval(scores, method, confidence=confidence)
