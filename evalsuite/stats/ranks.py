"""Ranks of n submissions, and how far two rankings agree."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal

from evalsuite.stats.samples import StatsError, checked, checked_pairs, mean


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
    left, right = _at_least_two(a, b)
    agree = pairs_a = pairs_b = 0
    for i in range(len(left)):
        for j in range(i):
            x, y = _sign(left[i] - left[j]), _sign(right[i] - right[j])
            agree += x * y
            pairs_a += abs(x)
            pairs_b += abs(y)
    return agree / math.sqrt(pairs_a * pairs_b) if pairs_a and pairs_b else None


def spearman(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Spearman's rank correlation in [-1, 1], ties at their average rank; None where one of the lists has no order at all."""
    left, right = _at_least_two(a, b)
    x, y = competition_ranks(left, method="average"), competition_ranks(right, method="average")
    centre = mean(x)
    across = math.fsum((u - centre) * (v - centre) for u, v in zip(x, y, strict=True))
    own = math.fsum((u - centre) ** 2 for u in x) * math.fsum((v - centre) ** 2 for v in y)
    return max(-1.0, min(1.0, across / math.sqrt(own))) if own else None


def _at_least_two(a: Sequence[float], b: Sequence[float]) -> tuple[list[float], list[float]]:
    left, right = checked_pairs(a, b)
    if len(left) < 2:
        raise StatsError("one item has no order")
    return left, right


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
