"""Ranks: a table of ties, and the other direction."""

import pytest

from evalsuite.stats.samples import competition_ranks


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
