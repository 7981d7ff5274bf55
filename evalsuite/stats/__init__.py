"""Statistics: numbers in, numbers out. The two public functions are here, the rest in one file per subject.

Functions that draw random samples take a `seed`, by default 12345, and return it with the result.
"""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from evalsuite.stats.intervals import Interval
    from evalsuite.stats.significance import Method, Significance


IntervalMethod = Literal["auto", "wilson", "bounded", "t", "normal", "percentile", "basic", "bca"]


def significance_test(a: Sequence[float], b: Sequence[float], alpha: float = 0.05, *, method: "Method" = "auto") -> "Significance":
    """Test the scores a against the scores b of the same n instances, paired and two-sided.

        significance_test([1, 1, 0], [1, 0, 0]).p  # 1.0: a single flip shows nothing

    Args:
        a: n scores.
        b: n scores of the same instances, in the same order.
        alpha: the significance level.
        method: "auto" (exact McNemar for 0/1 scores, sign-flip permutation for others), "mcnemar", "permutation", "t", "wilcoxon" or
            "bootstrap".

    Returns:
        The p-value, the mean difference with its interval, the effect size and a verdict.

    Raises:
        StatsError: different lengths, or values that are not finite numbers.
    """
    from evalsuite.stats.significance import compare_paired

    return compare_paired(a, b, alpha=alpha, method=method)


def confidence_interval(
    scores: Sequence[float], confidence: float = 0.95, *, method: IntervalMethod = "auto", clusters: Sequence[Hashable] | None = None
) -> "Interval":
    """Return the mean of n scores with its interval.

        confidence_interval([1, 1, 0, 1])  # 0.75 in [0.30, 0.95]

    Args:
        scores: n scores.
        confidence: the level, in (0, 1).
        method: "auto" (Wilson for 0/1 scores, `bounded_interval` for scores in [0, 1], Student's t for others) or the name of one.
        clusters: one name per score, for scores that are not independent: `clustered_score_interval`.

    Returns:
        The estimate with `low` and `high`.

    Raises:
        StatsError: no scores, values that are not finite numbers, or an invalid option.
    """
    from evalsuite.stats.intervals import clustered_score_interval, named_interval

    if clusters is not None:
        return clustered_score_interval(scores, clusters, confidence=confidence)
    return named_interval(scores, method, confidence=confidence)
