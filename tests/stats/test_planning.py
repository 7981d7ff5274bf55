"""Sample sizes, pass@k, effect sizes, aggregates, histograms and pages: tables of values worked out by hand."""

import math
from itertools import pairwise
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.stats.samples import StatsError, aggregate, histogram, pass_at_k
from evalsuite.stats.significance import detectable_difference, effect_size, paired_sample_size


@pytest.mark.parametrize(
    "options",
    [
        {"difference": 0},
        {"difference": math.inf},
        {"difference": 1e-300},
        {"difference": 0.1, "alpha": 5},
        {"difference": 0.1, "power": 80},
        {"difference": 0.1, "power": 0.01},
        {"difference": 0.1, "alpha": 1e-17},
    ],
)
def test_planning_needs_shares_and_a_difference(options: dict[str, float]) -> None:
    """No difference cannot be found, and alpha and power are shares."""
    with pytest.raises(
        StatsError, match=r"difference of (0|inf)|must be between 0 and 1|more than 1e\+18 instances|power must be above alpha, 0.05"
    ):
        paired_sample_size(sd_difference=0.3, **options)
    for sd, n, why in (
        (-1, 10, "deviation of -1"),
        (math.nan, 10, "deviation of nan"),
        (1, 0, "not 0"),
        (1, -1, "not -1"),
        (1, math.nan, "not nan"),
    ):
        with pytest.raises(StatsError, match=why):
            detectable_difference(sd_difference=sd, n=n)
    assert detectable_difference(sd_difference=1, n=1) == pytest.approx(NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8))
    with pytest.raises(StatsError, match="0 bins"):
        histogram([1.0], n_bins=0)
    assert [one.count for one in histogram([0.0, 1.0, 2.0], n_bins=1)] == [3]


@given(st.floats(0.01, 2), st.floats(0.01, 1))
def test_more_power_needs_more_instances(sd: float, difference: float) -> None:
    """n grows with power and with a smaller alpha."""
    n = paired_sample_size(sd_difference=sd, difference=difference)
    assert paired_sample_size(sd_difference=sd, difference=difference, power=0.9) >= n
    assert paired_sample_size(sd_difference=sd, difference=difference, alpha=0.01) >= n
    assert detectable_difference(sd_difference=sd, n=n) <= difference + 1e-12


@pytest.mark.parametrize(("n", "c", "k"), [(5, 6, 1), (5, -1, 1), (5, 2, 6), (5, 2, 0)])
def test_pass_at_k_has_no_estimate_beyond_the_samples(n: int, c: int, k: int) -> None:
    """k above n, and counts that cannot be, are errors."""
    with pytest.raises(StatsError):
        pass_at_k(n, c, k)


@given(st.integers(1, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_pass_at_k_grows_with_k(counts: tuple[int, int]) -> None:
    """From c / n at k = 1, never down."""
    n, c = counts
    values = [pass_at_k(n, c, k) for k in range(1, n + 1)]
    assert values[0] == pytest.approx(c / n)
    assert all(x <= y + 1e-12 for x, y in pairwise(values))


def test_effect_sizes_by_hand() -> None:
    """Differences 1, 0, 2: mean 1, sd 1; both sides have sd 1 and 0."""
    found = effect_size([1, 0, 2], [0, 0, 0])
    assert (found.d_z, found.d_pooled, found.d_av) == pytest.approx((1.0, 2**0.5, 2.0))
    assert found.hedges_g_z == pytest.approx(1 - 3 / 7)
    same = effect_size([0.3, 0.5], [0.3, 0.5])
    assert (same.d_z, same.d_pooled, same.d_av) == (0, 0, 0)
    assert effect_size([2, 2], [1, 1]).d_z is None


def test_aggregate_by_hand() -> None:
    """1, 3 and a missing one: mean 2, sample sd sqrt 2; one score has no sd; none is an error."""
    found = aggregate([1, None, 3])
    assert (found.n, found.n_missing, found.mean, found.median) == (2, 1, 2, 2)
    assert (found.sd, found.sd_population, found.se) == pytest.approx((2**0.5, 1, 1))
    assert (aggregate([0.5]).sd, aggregate([0.5]).se) == (None, None)
    with pytest.raises(StatsError, match="no scores"):
        aggregate([None])
