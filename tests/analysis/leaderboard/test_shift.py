"""The shift of score distributions, held to a plain count of all exchanges."""

import itertools

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.analysis.leaderboard import comparison
from evalsuite.analysis.leaderboard.comparison import score_shift
from tests.properties import examples, is_full

pytestmark = pytest.mark.usefixtures("shared_fork_server")

GRADES = st.sampled_from([0.0, 0.25, 0.5, 1.0])


@given(st.lists(st.tuples(GRADES, GRADES), min_size=1, max_size=7 if is_full() else 5), st.integers(1, 7))
@examples(60)
def test_paired_shift_counts_all_exchanges(pairs: list[tuple[float, float]], n_clusters: int) -> None:
    """Distance as scipy's, p as the share of all exchanges within instances, or whole clusters of them, that move the scores as far."""
    left, right = dict(enumerate(a for a, _ in pairs)), dict(enumerate(b for _, b in pairs))
    found = score_shift("s", left, right, clusters=None if n_clusters == 7 else {i: f"c{i % n_clusters}" for i in left})
    distances = [
        scipy.stats.wasserstein_distance(
            [pair[swaps[i % n_clusters]] for i, pair in enumerate(pairs)], [pair[1 - swaps[i % n_clusters]] for i, pair in enumerate(pairs)]
        )
        for swaps in itertools.product([0, 1], repeat=n_clusters)
    ]
    assert found is not None
    assert found.distance == pytest.approx(distances[0])
    assert found.p == pytest.approx(np.mean(np.asarray(distances) >= distances[0] - 1e-9))
    assert found.seed is None


def test_two_sets_of_instances_are_pooled() -> None:
    """Without a shared instance the two samples are exchanged as a whole; equal samples have distance 0."""
    found = score_shift("s", {"a1": 0.0, "a2": 1.0}, {"b1": 0.0, "b2": 1.0, "b3": 0.0, "b4": 1.0})
    assert found is not None
    assert (found.paired, found.distance, found.p) == (False, pytest.approx(0), 1)


def test_a_drawn_shift_repeats_itself() -> None:
    """The same seed gives the same p, close to another's."""
    rng = np.random.default_rng(1)
    a, b = ({str(i): value for i, value in enumerate(rng.random(40))} for _ in range(2))
    first, again, other = score_shift("s", a, b), score_shift("s", a, b), score_shift("s", a, b, seed=1)
    assert first == again
    assert first is not None
    assert other is not None
    assert first.p == pytest.approx(other.p, abs=0.03)
    assert (first.seed, other.seed, first.n_resamples) == (12345, 1, 10_000)


@pytest.mark.parametrize("cells", [1, 40, 4_000_000])
def test_draws_in_blocks_are_the_same_draws(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    """Exchanges are counted one by one or at once: all 2^7 of them, or as many as were asked for, drawn by plain loops."""
    monkeypatch.setattr(comparison, "CELLS_AT_ONCE", cells)
    rng = np.random.default_rng(2)
    a, b = ({str(i): value for i, value in enumerate(rng.integers(0, 5, 7) / 4)} for _ in range(2))
    pairs = [(x, b[key]) for key, x in a.items()]
    observed = scipy.stats.wasserstein_distance(list(a.values()), list(b.values()))

    def is_far(left: list[float], right: list[float]) -> bool:
        return bool(scipy.stats.wasserstein_distance(left, right) >= observed - 1e-9)

    far = [
        is_far(*zip(*(pair[::sign] for pair, sign in zip(pairs, signs, strict=True)), strict=True))
        for signs in itertools.product((1, -1), repeat=7)
    ]
    found = score_shift("s", a, b, n_resamples=2 ** sum(x != y for x, y in pairs))
    assert found is not None
    assert (found.p, found.n_resamples, found.distance) == (pytest.approx(np.mean(far)), None, pytest.approx(observed))
    apart = score_shift("s", {f"a{key}": value for key, value in a.items()}, b, n_resamples=30, seed=3)
    weights = np.repeat([1 / 7, -1 / 7], 7)
    values = np.array([*a.values(), *b.values()])
    order = np.argsort(values, kind="stable")
    rng = np.random.default_rng(3)
    rows = [rng.permuted(weights[order][None, :], axis=1)[0] for _ in range(30)]
    n_far = sum(is_far(list(values[order][row > 0]), list(values[order][row < 0])) for row in rows)
    assert apart is not None
    assert (apart.p, apart.n_resamples, apart.seed, apart.n_a) == (pytest.approx((n_far + 1) / 31), 30, 3, 7)


def test_a_shift_of_nothing() -> None:
    """A side without scores has none; pairs that are all equal did not move."""
    assert score_shift("s", {"x": 1.0}, {}) is score_shift("s", {}, {"x": 1.0}) is score_shift("s", {}, {}) is None
    same = score_shift("s", {"x": 1.0, "y": 0.5}, {"y": 0.5, "x": 1.0, "z": 0.0})
    assert same is not None
    assert (same.distance, same.p, same.seed, same.n_b, same.mean_b) == (0.0, 1.0, None, 2, 0.75)
