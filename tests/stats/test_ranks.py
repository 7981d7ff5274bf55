"""Ranks and rank correlations: a table of ties, scipy's values, and what must hold of every ranking."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.stats.samples import StatsError, competition_ranks, kendall_tau, spearman


@pytest.mark.parametrize(
    ("scores", "method", "ranks"),
    [
        ([9, 8, 8, 7], "min", [1, 2, 2, 4]),
        ([9, 8, 8, 7], "dense", [1, 2, 2, 3]),
        ([9, 8, 8, 7], "average", [1, 2.5, 2.5, 4]),
        ([0.1, 0.1, 0.1], "min", [1, 1, 1]),
        ([0.1, 0.1, 0.1], "average", [2, 2, 2]),
        ([], "min", []),
    ],
)
def test_equal_scores_share_a_rank(scores: list[float], method: str, ranks: list[float]) -> None:
    """Three ways to share, as scipy's rankdata."""
    assert competition_ranks(scores, method=method) == ranks


def test_lower_can_be_better() -> None:
    """An error rate ranks the other way round."""
    assert competition_ranks([3, 1, 2], higher_is_better=False) == [3, 1, 2]


def test_correlations_equal_scipy() -> None:
    """kendalltau and spearmanr with ties on both sides."""
    a, b = [1, 2, 2, 4, 5], [2, 1, 3, 3, 5]
    assert kendall_tau(a, b) == pytest.approx(0.6666666666666666)
    assert spearman(a, b) == pytest.approx(0.7631578947368421)


def test_without_order_there_is_no_correlation() -> None:
    """Equal scores throughout give None, one item an error."""
    assert kendall_tau([1, 1, 1], [1, 2, 3]) is None
    assert spearman([1, 2, 3], [5, 5, 5]) is None
    with pytest.raises(StatsError, match="no order"):
        kendall_tau([1], [2])


@given(st.lists(st.integers(0, 5), min_size=2, max_size=10))
def test_a_ranking_agrees_with_itself_and_opposes_its_mirror(scores: list[int]) -> None:
    """tau and rho are 1 with itself and -1 with its mirror, where there is an order."""
    mirror = [-score for score in scores]
    for correlation in (kendall_tau, spearman):
        if len(set(scores)) > 1:
            assert correlation(scores, scores) == pytest.approx(1)
            assert correlation(scores, mirror) == pytest.approx(-1)
