"""Ranks of n submissions, and how far two rankings agree."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any, Literal

from evalsuite.stats.samples import StatsError, checked, checked_pairs


def competition_ranks(
    scores: Sequence[float], *, higher_is_better: bool = True, method: Literal["min", "dense", "average"] = "min"
) -> list[float]:
    """The rank of each score, 1 for the best. Equal scores share one: 9 8 8 7 ranks 1 2 2 4 ("min"), 1 2 2 3 ("dense"), 1 2.5 2.5 4."""
    values = [-value if higher_is_better else value for value in checked(scores, at_least=0)]
    ordered = sorted(set(values)) if method == "dense" else sorted(values)
    first = {value: bisect_left(ordered, value) + 1 for value in set(values)}
    if method != "average":
        return [first[value] for value in values]
    count = dict.fromkeys(first, 0)
    for value in values:
        count[value] += 1
    return [first[value] + (count[value] - 1) / 2 for value in values]


def kendall_tau(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Kendall's tau-b in [-1, 1] of two score lists, corrected for ties; None where one of them has no order at all."""
    from scipy.stats import kendalltau

    return _correlation(kendalltau, a, b)


def spearman(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Spearman's rank correlation in [-1, 1], ties at their average rank; None where one of the lists has no order at all."""
    from scipy.stats import spearmanr

    return _correlation(spearmanr, a, b)


def _correlation(method: Callable[..., Any], a: Sequence[float], b: Sequence[float]) -> float | None:
    left, right = checked_pairs(a, b)
    if len(left) < 2:
        raise StatsError("one item has no order")
    return float(method(left, right).statistic) if len(set(left)) > 1 and len(set(right)) > 1 else None
