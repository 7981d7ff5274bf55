"""Statistics equal what statsmodels and scipy said, as `python -m tests.upstream.record statistics` wrote it, or plain models."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from evalsuite.stats.agreement import cohen_kappa
from evalsuite.stats.intervals import clustered_interval, clustered_se, corrected_mean, proportion_interval, t_interval
from evalsuite.stats.ranking import rank_submissions
from evalsuite.stats.significance import adjust, mcnemar_counts, paired_t, segment_bootstrap_test, wilcoxon
from tests.upstream.record import RECORDED

ROWS = [json.loads(line) for line in (RECORDED / "statistics.jsonl").read_text(encoding="utf-8").splitlines()]


def ends(interval: Any) -> list[float]:
    """Both ends."""
    return [interval.low, interval.high]


def errors_of_clusters(scores: Sequence[float], names: Sequence[int]) -> list[float]:
    """The mean and its plain and corrected errors."""
    found = clustered_se(scores, names)
    return [found.mean, found.cr0, found.cr1 or 0.0]


def counted_p(b: int, c: int) -> list[float]:
    """Exact, by chi-square, and by the corrected one."""
    found = mcnemar_counts(b, c)
    return [found["exact_p"], found["chi2_p"], found["chi2_corrected_p"]]


def student(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """The test and its interval."""
    found = paired_t(a, b)
    return [found.p, found.statistic or 0.0, *ends(found.interval)]


OURS: dict[str, Callable[..., Any]] = {
    "adjust": adjust,
    "clustered_interval": lambda scores, names: ends(clustered_interval(scores, names)),
    "clustered_se": errors_of_clusters,
    "cohen_kappa": lambda a, b, weights: [cohen_kappa(a, b, weights=weights).value],
    "mcnemar_counts": counted_p,
    "paired_t": student,
    "proportion_interval": lambda k, n, confidence, method: ends(proportion_interval(k, n, confidence=confidence, method=method)),
    "t_interval": lambda scores, confidence: ends(t_interval(scores, confidence=confidence)),
    "wilcoxon": lambda a, b, exact: [wilcoxon(a, b, method="exact" if exact else "approx").p],
}


@pytest.mark.parametrize("name", OURS)
def test_values_are_the_recorded_ones(name: str) -> None:
    """Each recorded value of a function, to nine digits."""
    rows = [row for row in ROWS if row["name"] == name]
    assert rows
    for row in rows:
        assert OURS[name](*row["given"]) == pytest.approx(row["expected"], rel=1e-9, abs=1e-9), row["given"]


def test_all_of_the_record_is_used() -> None:
    """No recorded function is left out."""
    assert {row["name"] for row in ROWS} == set(OURS)


def test_prediction_powered_mean() -> None:
    """PPI++ for a mean: its weight, estimate and error from numpy's moments; one more label stands a scale's width away on either side"""
    both = [(0.9, 1.0), (0.2, -0.5), (0.7, 0.2), (0.4, 0.5), (0.1, 0.3), (0.8, 0.6)]
    others = [0.3, 0.9, 0.6, 0.75, 0.05, 0.5, 0.4, 0.95]
    cheap, dear = np.array(both).T
    weight = np.cov(cheap, dear)[0, 1] / (np.var([*cheap, *others], ddof=1) * (1 + 6 / 8))
    assert 0 < weight < 1
    left = dear - weight * cheap
    estimate = left.mean() + weight * np.mean(others)
    error = np.sqrt(np.var([*left, left.mean() - 1.5, left.mean() + 1.5], ddof=1) / 6 + weight**2 * np.var(others, ddof=1) / 8)
    found = corrected_mean(both, others)
    assert (found.estimate, found.se) == pytest.approx((estimate, error), rel=1e-12)
    # Student's quantile of 5 degrees of freedom, from a table.
    assert ends(found) == pytest.approx([estimate - 2.5705818356 * error, estimate + 2.5705818356 * error], rel=1e-9)


def test_segment_bootstrap_is_the_loop_it_stands_for() -> None:
    """Draw the segments one sample after the other: p, interval and error are those of a plain loop over the same draws."""

    def ratio(sums: Any) -> Any:
        return sums[:, 0] / sums[:, 1]

    rng = np.random.default_rng(0)
    a, b = (np.stack([rng.integers(0, 9, 12), rng.integers(9, 12, 12)], axis=1).astype(float) for _ in range(2))
    observed = ratio(a.sum(0, keepdims=True))[0] - ratio(b.sum(0, keepdims=True))[0]
    apart = []
    for rows in np.random.default_rng(5).choice(12, size=(200, 12)):
        apart.append(ratio(a[rows].sum(0, keepdims=True))[0] - ratio(b[rows].sum(0, keepdims=True))[0])
    sizes = np.abs(apart)
    far = np.count_nonzero(sizes - sizes.mean() > abs(observed) - 1e-9)
    assert 5 < far < 150
    found = segment_bootstrap_test(a, b, ratio, n_resamples=200, seed=5, confidence=0.9)
    assert (found.p, found.difference) == pytest.approx(((far + 1) / 201, observed))
    assert found.interval is not None
    assert ends(found.interval) == pytest.approx(list(np.quantile(apart, (0.05, 0.95))))
    assert found.interval.se == pytest.approx(np.std(apart))


# Four submissions of ten instances: a and b are close, c is far behind, d is c again.
SCORES = [
    [1.0, 0.9, 0.8, 1.0, 0.7, 0.9, 1.0, 0.8, 0.9, 0.95],
    [1.0, 0.8, 0.8, 0.9, 0.7, 1.0, 1.0, 0.8, 0.8, 0.90],
    [0.3, 0.2, 0.4, 0.1, 0.3, 0.2, 0.5, 0.1, 0.2, 0.30],
    [0.3, 0.2, 0.4, 0.1, 0.3, 0.2, 0.5, 0.1, 0.2, 0.30],
]


@pytest.mark.parametrize("falling", [False, True])
def test_a_ranking_is_that_of_plain_loops(falling: bool) -> None:
    """Places, shares of first places and of wins over the same draws, p by scipy's t and Holm by hand, either end of the scale the best."""
    from scipy.stats import kendalltau, rankdata, ttest_rel

    found = rank_submissions(SCORES, higher_is_better=not falling, n_resamples=300, seed=9)
    sign = -1 if not falling else 1
    table, means = np.array(SCORES), np.mean(SCORES, axis=1)
    drawn = np.array([table[:, rows].mean(axis=1) for rows in np.random.default_rng(9).choice(10, size=(300, 10))]).round(12)
    ranks = rankdata(sign * drawn, method="min", axis=1)
    assert [one.rank for one in found.submissions] == ([1, 2, 3, 3] if not falling else [4, 3, 1, 1])
    assert [one.mean for one in found.submissions] == pytest.approx(means)
    assert [one.p_first for one in found.submissions] == pytest.approx((ranks == 1).mean(axis=0))
    wins = [[(ranks[:, i] < ranks[:, j]).mean() for j in range(4)] for i in range(4)]
    assert np.array(found.p_beats) == pytest.approx(np.array(wins))
    taus = [kendalltau(row, sign * means).statistic for row in ranks]
    assert found.tau == pytest.approx(np.nanmean(taus))
    raw = {(i, j): ttest_rel(SCORES[i], SCORES[j]).pvalue if (i, j) != (3, 2) else 1.0 for i in range(4) for j in range(i)}
    order, holm, largest = sorted(raw, key=raw.__getitem__), {}, 0.0
    for at, pair in enumerate(order):
        largest = max(largest, min(1.0, raw[pair] * (6 - at)))
        holm[pair] = largest
    # Flipping signs can never be surer than this, of the ten or fewer differences that are not 0.
    for (i, j), p in holm.items():
        n_differ = np.count_nonzero(table[i] != table[j])
        if p > 6 * 2.0 ** (1 - n_differ) or n_differ == 0:
            assert found.p_values[i][j] == found.p_values[j][i] == pytest.approx(p)
    places = [(one.shared_from, one.shared_to) for one in found.submissions]
    assert places == ([(1, 2), (1, 2), (3, 4), (3, 4)] if not falling else [(3, 4), (3, 4), (1, 2), (1, 2)])
    assert (found.family, found.n, found.test) == (6, 10, "paired t")
