"""Clustered standard errors: statsmodels' values, the two ends of clustering, and what is refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsuite.stats.intervals import clustered_interval, clustered_se, t_interval
from evalsuite.stats.samples import StatsError

SCORES = [0.5, 0.6, 0.7, 0.2, 0.1, 0.15, 0.9, 0.95]
GROUPS = [0, 0, 0, 1, 1, 1, 2, 2]


def test_equals_statsmodels() -> None:
    """cr0 is the cluster covariance of a regression on a constant; cr1 is larger by sqrt(3 / 2)."""
    found = clustered_se(SCORES, GROUPS)
    assert found.cr0 == pytest.approx(0.17375393, abs=1e-8)
    assert found.cr1 == pytest.approx(found.cr0 * 1.5**0.5)
    assert found.cr1 > found.naive
    assert found.n_clusters == 3


def test_interval_has_clusters_minus_one_degrees_of_freedom() -> None:
    """Three clusters: 4.303 standard errors to each side."""
    found = clustered_interval(SCORES, GROUPS)
    assert (found.high - found.low) / 2 == pytest.approx(4.302653 * found.se)


def test_one_cluster_is_undefined_not_zero() -> None:
    """Nothing is known of the spread between clusters."""
    found = clustered_interval([0.1, 0.9, 0.5], ["a", "a", "a"])
    assert (found.low, found.high, found.se) == (None, None, None)
    assert "one cluster" in found.note


def test_a_missing_cluster_is_an_error() -> None:
    """None is not a cluster, and every score needs one."""
    with pytest.raises(StatsError, match="score 1 has no cluster"):
        clustered_se([0.1, 0.2], ["a", None])
    with pytest.raises(StatsError, match="2 scores but 1"):
        clustered_se([0.1, 0.2], ["a"])


@given(st.lists(st.floats(0, 1, allow_subnormal=False), min_size=2, max_size=20))
@settings(max_examples=40, deadline=None)
def test_a_cluster_each_is_no_clustering(scores: list[float]) -> None:
    """With a cluster of its own for each score cr1 is the naive error, and the interval that of t."""
    found = clustered_se(scores, range(len(scores)))
    assert found.cr1 == pytest.approx(found.naive, abs=1e-12)
    assert found.miller == pytest.approx(found.naive, abs=1e-7)
    plain = t_interval(scores)
    if plain.low is not None:
        assert clustered_interval(scores, range(len(scores))).low == pytest.approx(plain.low, abs=1e-9)
