"""The signed-rank test against scipy and against a plain enumeration."""

import itertools
from typing import Any

import numpy as np
import pytest
import scipy

from evalsuite.stats.significance import wilcoxon

A = [0.9, 0.4, 0.7, 0.3, 0.8, 0.6, 0.5, 0.95]
B = [0.7, 0.5, 0.6, 0.3, 0.5, 0.4, 0.55, 0.9]


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("zeros", ["wilcox", "pratt", "zsplit"])
def test_approximation_equals_scipy(zeros: Any, alternative: Any) -> None:
    """Zeros and tied ranks in three ways, either side ahead, with and without the correction for continuity."""
    rng = np.random.default_rng(5)
    samples = [(A, B), (B, A), *((rng.integers(0, 5, n) / 4, rng.integers(0, 6, n) / 4) for n in (9, 30, 80))]
    for correction, (a, b) in itertools.product((False, True), samples):
        apart = np.round(np.asarray(a) - np.asarray(b), 9)
        options = {"correction": correction, "alternative": alternative}
        found = wilcoxon(list(map(float, a)), list(map(float, b)), zeros=zeros, method="approx", **options)
        expected = scipy.stats.wilcoxon(apart, zero_method=zeros, method="approx", **options)
        assert (found.statistic, found.p) == pytest.approx((expected.statistic, expected.pvalue))
        if alternative != "two-sided":
            assert found.details["rank_sum_plus"] == pytest.approx(expected.statistic)
        of_zeros = np.count_nonzero(apart == 0) if zeros != "zsplit" else 0
        n = len(apart) - (of_zeros if zeros == "wilcox" else 0)
        ranks = n * (n + 1) / 2 - (of_zeros * (of_zeros + 1) / 2 if zeros == "pratt" else 0)
        assert found.details["rank_sum_plus"] + found.details["rank_sum_minus"] == pytest.approx(ranks)
        assert (found.details["n_zero"], found.method) == (np.count_nonzero(apart == 0), f"Wilcoxon signed-rank ({zeros})")


def test_exact_equals_scipy_without_ties() -> None:
    """Seven different sizes; "auto" is exact for so few."""
    apart = [0.1, -0.2, 0.35, 0.4, -0.05, 0.6, 0.7]
    found = wilcoxon(apart, [0.0] * 7)
    assert (found.statistic, found.p) == (4.0, pytest.approx(0.109375))
    assert "exact" in found.method
    assert wilcoxon(apart, [0.0] * 7, alternative="greater").p == pytest.approx(0.0546875)


@pytest.mark.parametrize("zeros", ["wilcox", "pratt", "zsplit"])
def test_exact_counts_the_ranks_at_hand(zeros: str) -> None:
    """With ties and a zero it is the enumeration of all signs of the ranks, where scipy's exact table does not hold."""
    found = wilcoxon(A, B, zeros=zeros, method="exact")
    # |differences| .2 .1 .1 0 .3 .2 .05 .05, ranked with and without the zero
    ranks = [5.5, 3.5, 3.5, 7, 5.5, 1.5, 1.5] if zeros == "wilcox" else [6.5, 4.5, 4.5, 8, 6.5, 2.5, 2.5]
    signs = [1, -1, 1, 1, 1, -1, 1]
    plus = sum(r for r, s in zip(ranks, signs, strict=True) if s > 0)
    sums = [sum(r for r, s in zip(ranks, kept, strict=True) if s) for kept in itertools.product((0, 1), repeat=7)]
    tail = min(sum(s >= plus for s in sums), sum(s <= plus for s in sums)) / len(sums)
    assert found.p == pytest.approx(min(1.0, 2 * tail))


def test_many_differences_are_approximated() -> None:
    """Above fifty differences "auto" takes the normal approximation, close to the exact value."""
    a, b = [i / 7 for i in range(60)], [((i * 37) % 60) / 7 + 0.9 for i in range(60)]
    auto, exact = wilcoxon(a, b), wilcoxon(a, b, method="exact")
    assert "exact" not in auto.method
    apart = [float(at) for at in range(1, 52)]
    assert ["exact" in wilcoxon(apart[:n], [0.0] * n).method for n in (50, 51)] == [True, False]
    # Zeros that are dropped do not count; as many ranks on either side have nothing to be corrected.
    assert ["exact" in wilcoxon([*apart[:50], 0.0], [0.0] * 51, zeros=zeros).method for zeros in ("wilcox", "pratt")] == [True, False]
    assert wilcoxon([1.0, -1.0], [0.0] * 2, method="approx", correction=True).p == 1.0
    assert auto.p == pytest.approx(exact.p, abs=0.01)
    assert wilcoxon(a, b, correction=True).p >= auto.p
