"""Do clustered 95 % intervals cover 95 %? Beta-binomial clusters over a grid of sizes, correlations and means.

A corner of the grid with 100 draws here; the whole of it with 1,000 by `pytest -m slow tests/stats`, which prints the table with `-s`.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.stats.intervals import clustered_score_interval, score_interval
from tests.properties import examples

CLUSTERS, SIZES, CORRELATIONS, MEANS = (5, 10, 30, 100), (1, 5, 20, 50), (0.0, 0.2, 0.5), (0.1, 0.5, 0.9)


def sizes_of(n_clusters: int, size: int, *, balanced: bool) -> np.ndarray:
    """The number of scores of each cluster: `size`, or from 1 up to twice as many."""
    return np.full(n_clusters, size) if balanced else np.linspace(1, 2 * size - 1, n_clusters).round().astype(int)


def coverage(n_clusters: int, size: int, correlation: float, mean: float, *, balanced: bool, n_draws: int) -> float:
    """The share of intervals that hold the true mean."""
    rng = np.random.default_rng([n_clusters, size, round(10 * correlation), round(10 * mean), balanced])
    counts = sizes_of(n_clusters, size, balanced=balanced)
    names = np.repeat(np.arange(n_clusters), counts).tolist()
    held = 0
    for _ in range(n_draws):
        wide = 1 / correlation - 1 if correlation else 0.0
        chances = rng.beta(mean * wide, (1 - mean) * wide, n_clusters) if correlation else np.full(n_clusters, mean)
        scores = (rng.random(len(names)) < np.repeat(chances, counts)).astype(float).tolist()
        found = clustered_score_interval(scores, names)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= mean <= found.high
    return held / n_draws


def is_covered(share: float, n_clusters: int, n_draws: int) -> bool:
    """Whether a share of draws agrees with 92 to 99.7 % from ten clusters on, with 88 % or more below; three standard errors of room."""
    low = 0.88 if n_clusters < 10 else 0.92
    room = 3 * (low * (1 - low) / n_draws) ** 0.5
    return share >= low - room and (n_clusters < 10 or share <= 0.997 or (1 - share) * n_draws >= 0.003 * n_draws - 3)


@pytest.mark.parametrize(("n_clusters", "balanced"), [(5, True), (10, False)])
def test_few_clusters_are_covered(n_clusters: int, balanced: bool) -> None:
    """At five and ten clusters, alike by 0.5 and not at all, near the end and in the middle."""
    for correlation, mean in ((0.5, 0.9), (0.5, 0.5), (0.0, 0.9)):
        share = coverage(n_clusters, 20, correlation, mean, balanced=balanced, n_draws=100)
        assert is_covered(share, n_clusters, 100), (correlation, mean, share)


@pytest.mark.parametrize("n_clusters", [5, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 10, 20, 50))])
def test_a_cluster_far_from_the_others_may_have_been_missed(n_clusters: int) -> None:
    """One cluster of 20 is all right and the others nearly all wrong, by less than 0.02: 93 % or more contain the mean."""
    rng, names, held = np.random.default_rng(n_clusters), np.repeat(np.arange(n_clusters), 5).tolist(), 0
    for _ in range(200):
        right = np.repeat(rng.random(n_clusters) < 0.05, 5)
        found = clustered_score_interval(np.where(right, 1.0, 0.02 * rng.random(len(right))).tolist(), names)
        assert found.high is not None
        held += (found.low or 0.0) <= 0.05 + 0.95 * 0.01 <= found.high
    assert held >= 0.93 * 200


@pytest.mark.slow
@pytest.mark.parametrize("n_clusters", CLUSTERS)
def test_clusters_are_covered_everywhere(n_clusters: int) -> None:
    """The whole grid: from ten clusters on 92 % at least and never over 99.7 %, at five 88 %."""
    missed = []
    for size, balanced, correlation, mean in itertools.product(SIZES, (True, False), CORRELATIONS, MEANS):
        if size == 1 and (correlation or not balanced):
            continue  # a score each is no cluster
        share = coverage(n_clusters, size, correlation, mean, balanced=balanced, n_draws=1000)
        print(f"{n_clusters:4} clusters of {size:2} {'alike' if balanced else 'mixed'}  ICC {correlation}  p {mean}  {100 * share:5.1f} %")
        if not is_covered(share, n_clusters, 1000):
            missed.append((size, balanced, correlation, mean, share))
    assert not missed


@given(
    scores=st.lists(st.sampled_from([0.0, 1.0]) | st.floats(0, 1), min_size=1, max_size=40),
    n_clusters=st.integers(1, 8),
)
@examples(300)
def test_no_interval_is_without_width(scores: list[float], n_clusters: int) -> None:
    """Whatever the scores in [0, 1] and their clusters, one alone too: the interval holds the mean and has a width."""
    names = [i % n_clusters for i in range(len(scores))]
    for found in (score_interval(scores), clustered_score_interval(scores, names)):
        assert found.low is not None
        assert found.high is not None
        assert 0 <= found.low <= found.estimate <= found.high <= 1
        assert found.high > found.low + 1e-12
