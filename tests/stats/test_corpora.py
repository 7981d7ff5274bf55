"""Tests of corpus metrics over per-segment statistics: a model by plain loops, and the ends of the scale."""

import numpy as np
import pytest

from evalsuite.stats import significance
from evalsuite.stats.intervals import segment_bootstrap
from evalsuite.stats.samples import StatsError
from evalsuite.stats.significance import approximate_randomisation, segment_bootstrap_test

TESTS = [approximate_randomisation, segment_bootstrap_test]


def micro_f1(sums: np.ndarray) -> np.ndarray:
    """2 * matches / (predicted + gold) of m rows."""
    return 2 * sums[:, 0] / (sums[:, 1] + sums[:, 2])


def segments(share: float, n: int = 40, seed: int = 0) -> np.ndarray:
    """n segments of (matches, predicted, gold) with about this share matched."""
    rng = np.random.default_rng(seed)
    gold = np.random.default_rng(99).integers(3, 12, n)
    return np.stack([rng.binomial(gold, share), gold, gold], axis=1).astype(float)


@pytest.mark.parametrize("test", TESTS)
def test_identical_submissions_have_p_one(test: object) -> None:
    """No difference, p = 1, and the seed is shown."""
    found = test(segments(0.5), segments(0.5), micro_f1, n_resamples=200)  # type: ignore[operator]
    assert (found.p, found.difference, found.seed, found.n_resamples) == (1.0, 0.0, 12345, 200)


@pytest.mark.parametrize("test", TESTS)
def test_a_large_difference_has_the_smallest_p(test: object) -> None:
    """p is 1 / (R + 1), never 0, and does not mind who comes first."""
    found = test(segments(0.9), segments(0.3, seed=1), micro_f1, n_resamples=400)  # type: ignore[operator]
    assert found.p == pytest.approx(1 / 401)
    back = test(segments(0.3, seed=1), segments(0.9), micro_f1, n_resamples=400)  # type: ignore[operator]
    assert (back.p, back.difference) == (found.p, pytest.approx(-found.difference))


def test_randomisation_is_the_loop_it_stands_for() -> None:
    """Swap segments one by one, as a plain loop over the same draws does."""
    a, b = segments(0.55), segments(0.5, seed=1)
    observed = abs(micro_f1(a.sum(0, keepdims=True)) - micro_f1(b.sum(0, keepdims=True)))[0]
    far = 0
    for swap in np.random.default_rng(4).integers(2, size=(300, 40), dtype=bool):
        first, second = np.where(swap[:, None], b, a).sum(0, keepdims=True), np.where(swap[:, None], a, b).sum(0, keepdims=True)
        far += abs(micro_f1(first) - micro_f1(second))[0] >= observed - 1e-9
    assert approximate_randomisation(a, b, micro_f1, n_resamples=300, seed=4).p == pytest.approx((far + 1) / 301)


@pytest.mark.parametrize("cells", [1, 80, 120, 400, 10**6])
def test_draws_in_blocks_are_as_many(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    """However many are drawn at once, there are as many as were asked for: of 40 segments one at a time, or all."""
    monkeypatch.setattr(significance, "CELLS_AT_ONCE", cells)
    rows: list[int] = []

    def counting(sums: np.ndarray) -> np.ndarray:
        rows.append(len(sums))
        return micro_f1(sums)

    assert approximate_randomisation(segments(0.9), segments(0.3, seed=1), counting, n_resamples=10).p == 1 / 11
    at_once = min(10, max(1, cells // 40))
    # Both sides as they are, then both of each block.
    blocks = [min(at_once, 10 - start) for start in range(0, 10, at_once) for _ in "ab"]
    assert rows == [1, 1, *blocks]


def test_unequal_segments_are_refused() -> None:
    """Forty segments against thirty-nine cannot be paired."""
    with pytest.raises(StatsError, match="40 segments"):
        approximate_randomisation(segments(0.5), segments(0.5)[:39], micro_f1)


@pytest.mark.parametrize("test", TESTS)
def test_without_draws_there_is_no_p(test: object) -> None:
    """No draw is no evidence of either kind."""
    for n_resamples in (0, -1, 1.5, float("nan"), 10**12):
        with pytest.raises(StatsError, match=f"^n_resamples must be an integer from 1 to 10000000, not {n_resamples}"):
            test(segments(0.9), segments(0.3), micro_f1, n_resamples=n_resamples)  # type: ignore[operator]
    for seed in (-1, 1.5, None):
        with pytest.raises(StatsError, match=f"^seed must be an integer of at least 0, not {seed}"):
            test(segments(0.9), segments(0.3), micro_f1, seed=seed)  # type: ignore[operator]


def test_what_is_no_number_and_no_method_is_refused() -> None:
    """An infinite count would make a score that is no number; an unknown method is not the percentile one."""
    table = segments(0.5)
    table[6, 1] = np.inf
    with pytest.raises(StatsError, match=r"^segment 7 has a number that is not finite"):
        segment_bootstrap(table, micro_f1)
    with pytest.raises(StatsError, match=r"^unknown method 'bka'") as raised:
        segment_bootstrap(segments(0.5), micro_f1, method="bka")  # type: ignore[arg-type]
    assert raised.value.hint == "known: percentile, basic, bca"
