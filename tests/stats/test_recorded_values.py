"""Statistics equal what statsmodels and scipy said, as `python -m tests.upstream.record statistics` wrote it, or a plain model."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from evalsuite.stats.agreement import cohen_kappa
from evalsuite.stats.intervals import clustered_interval, clustered_se, proportion_interval, t_interval
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
