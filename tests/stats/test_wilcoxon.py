"""The signed-rank test against scipy 1.17 and against a plain enumeration."""

import itertools

import pytest

from evalsuite.stats.significance import wilcoxon

A = [0.9, 0.4, 0.7, 0.3, 0.8, 0.6, 0.5, 0.95]
B = [0.7, 0.5, 0.6, 0.3, 0.5, 0.4, 0.55, 0.9]


@pytest.mark.parametrize(
    ("zeros", "alternative", "statistic", "p"),
    [
        ("wilcox", "two-sided", 5.0, 0.1261421642843225),
        ("wilcox", "greater", 23.0, 0.06307108214216126),
        ("pratt", "two-sided", 7.0, 0.1390369385546064),
        ("pratt", "greater", 28.0, 0.0695184692773032),
        ("zsplit", "two-sided", 7.5, 0.140016503197169),
        ("zsplit", "greater", 28.5, 0.0700082515985845),
    ],
)
def test_approximation_equals_scipy(zeros: str, alternative: str, statistic: float, p: float) -> None:
    """One zero and tied ranks, in three ways."""
    found = wilcoxon(A, B, zeros=zeros, method="approx", alternative=alternative)
    assert (found.statistic, found.p) == pytest.approx((statistic, p))
    assert found.details["n_zero"] == 1


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
    assert auto.p == pytest.approx(exact.p, abs=0.01)
    assert wilcoxon(a, b, correction=True).p >= auto.p
