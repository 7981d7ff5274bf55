"""Bootstrap intervals: scipy's values at 200,000 draws, the seed, blocks, and corpus metrics."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.stats import intervals
from evalsuite.stats.intervals import bootstrap_interval, resampled_means, resampled_totals, segment_bootstrap
from evalsuite.stats.samples import StatsError
from tests.properties import examples

SKEWED = [0.1, 0.1, 0.2, 0.1, 0.9, 0.3, 0.1, 0.2, 0.15, 1.0]


@pytest.mark.parametrize(("method", "ends"), [("percentile", (0.14, 0.54)), ("basic", (0.09, 0.49)), ("bca", (0.155, 0.59))])
def test_intervals_equal_scipy(method: str, ends: tuple[float, float]) -> None:
    """Ten skewed scores, scipy 1.17 with 200,000 draws: BCa moves to the right, basic to the left."""
    found = bootstrap_interval(SKEWED, method=method, n_resamples=40_000)
    assert (found.low, found.high) == pytest.approx(ends, abs=0.011)
    assert found.estimate == pytest.approx(0.315)


def test_a_seed_repeats_and_another_one_differs() -> None:
    """The returned seed gives the same ends again."""
    first = bootstrap_interval(SKEWED, seed=7)
    assert (first.seed, first.n_resamples) == (7, 10_000)
    assert bootstrap_interval(SKEWED, seed=first.seed) == first
    assert not np.array_equal(resampled_means(SKEWED, seed=7), resampled_means(SKEWED, seed=8))


def test_blocks_do_not_change_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand draws in one block or in sixty-seven are the same draws, and those of sacrebleu's one call."""
    whole = resampled_means(SKEWED, n_resamples=1000)
    monkeypatch.setattr(intervals, "CELLS_AT_ONCE", 150)
    assert np.array_equal(resampled_means(SKEWED, n_resamples=1000), whole)
    rows = np.random.default_rng(12345).choice(10, size=(1000, 10), replace=True)
    assert np.array_equal(np.asarray(SKEWED)[rows].mean(axis=1), whole)


def test_totals_are_the_sums_of_the_drawn_rows() -> None:
    """The matrix product equals plain indexing."""
    table = np.arange(12.0).reshape(4, 3)
    rows = np.random.default_rng(3).choice(4, size=(50, 4), replace=True)
    assert np.array_equal(resampled_totals(table, n_resamples=50, seed=3), table[rows].sum(axis=1))


def test_a_mean_is_the_simplest_corpus_metric() -> None:
    """Over the statistics (score, 1) the ratio of sums is the mean: same draws, same ends, for percentile and BCa."""
    table = [[score, 1.0] for score in SKEWED]
    for method in ("percentile", "bca"):
        found = segment_bootstrap(table, lambda sums: sums[:, 0] / sums[:, 1], method=method)
        mean = bootstrap_interval(SKEWED, method=method)
        assert (found.estimate, found.low, found.high) == pytest.approx((mean.estimate, mean.low, mean.high))


def test_bad_segments_are_refused() -> None:
    """No segments, ragged rows and no draws are errors."""
    for table in ([], [[1.0, 2.0], [1.0]]):
        with pytest.raises(StatsError, match="segments"):
            segment_bootstrap(table, lambda sums: sums[:, 0])
    with pytest.raises(StatsError, match="resamples"):
        bootstrap_interval([0.1, 0.2], n_resamples=0)


@given(st.lists(st.floats(0, 1, allow_subnormal=False), min_size=2, max_size=15), st.sampled_from(["percentile", "bca"]))
@examples(30)
def test_ends_lie_among_the_scores(scores: list[float], method: str) -> None:
    """low <= high, both between the smallest and the largest score."""
    found = bootstrap_interval(scores, method=method, n_resamples=300)
    assert min(scores) - 1e-9 <= found.low <= found.high <= max(scores) + 1e-9


def test_one_segment_has_no_other_to_leave_out() -> None:
    """A corpus of one segment has its score as both ends, and nothing is divided by the sums of none."""
    with np.errstate(all="raise"):
        found = segment_bootstrap([[1.0, 2.0]], lambda sums: sums[:, 0] / sums[:, 1], method="bca", n_resamples=50)
    assert (found.low, found.estimate, found.high) == (0.5, 0.5, 0.5)
