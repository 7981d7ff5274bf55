"""p-values of a family of tests, adjusted for their number."""

from collections.abc import Sequence
from typing import Literal

from evalsuite.stats.samples import StatsError

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
