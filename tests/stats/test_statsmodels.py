"""Values of statsmodels itself, on data of any shape; skipped where it is not installed (it is no dependency of the tests)."""

import numpy as np
import pytest
from numpy.typing import NDArray

from evalsuite.stats.agreement import cohen_kappa
from evalsuite.stats.intervals import clustered_interval, clustered_se, proportion_interval, t_interval
from evalsuite.stats.significance import adjust, mcnemar_counts

pytest.importorskip("statsmodels", reason="statsmodels is not installed")

NAMES = {"wilson": "wilson", "clopper_pearson": "beta", "agresti_coull": "agresti_coull", "jeffreys": "jeffreys", "normal": "normal"}
CORRECTIONS = {"holm": "holm", "bonferroni": "bonferroni", "holm_sidak": "holm-sidak", "bh": "fdr_bh", "by": "fdr_by"}


def clustered_scores(seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Scores in [0, 1] of 4 to 30 clusters of 1 to 12, and the cluster of each."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 13, rng.integers(4, 31))
    names = np.repeat(np.arange(len(sizes)), sizes)
    return np.clip(0.6 + rng.normal(0, 0.2, len(sizes))[names] + rng.normal(0, 0.2, len(names)), 0, 1), names


@pytest.mark.parametrize("seed", range(8))
def test_clustered_errors(seed: int) -> None:
    """A regression on a constant with its cluster covariance: plain (CR0) and with both small-sample factors but for n (CR1)."""
    from statsmodels.api import OLS

    scores, names = clustered_scores(seed)
    found, fit = clustered_se(scores.tolist(), names.tolist()), OLS(scores, np.ones(len(scores)))
    plain = fit.fit(cov_type="cluster", cov_kwds={"groups": names, "use_correction": False})
    corrected = fit.fit(cov_type="cluster", cov_kwds={"groups": names, "use_correction": True})
    # statsmodels' correction is G / (G - 1) * (n - 1) / (n - k), of which the second is 1 for one constant.
    assert (found.mean, found.cr0, found.cr1) == pytest.approx((plain.params[0], plain.bse[0], corrected.bse[0]), rel=1e-9)


def test_alike_clusters_have_the_interval_of_their_means() -> None:
    """Clusters of one size: CR2 with its degrees of freedom is Student's interval of the G means."""
    from statsmodels.stats.weightstats import DescrStatsW

    table = np.random.default_rng(5).random((12, 7))
    found = clustered_interval(table.ravel().tolist(), np.repeat(np.arange(12), 7).tolist())
    assert (found.low, found.high) == pytest.approx(DescrStatsW(table.mean(axis=1)).tconfint_mean(), rel=1e-9)


@pytest.mark.parametrize("method", NAMES)
def test_intervals_of_shares(method: str) -> None:
    """Every number of successes of 1, 7 and 50, at 90 and 95 %."""
    from statsmodels.stats.proportion import proportion_confint

    for n in (1, 7, 50):
        for k in range(n + 1):
            for confidence in (0.9, 0.95):
                found = proportion_interval(k, n, confidence=confidence, method=method)  # type: ignore[arg-type]
                low, high = proportion_confint(k, n, alpha=1 - confidence, method=NAMES[method])
                assert (found.low, found.high) == pytest.approx((max(0.0, low), min(1.0, high)), abs=1e-9), (k, n)


def test_student_s_interval() -> None:
    """The mean of 30 scores."""
    from statsmodels.stats.weightstats import DescrStatsW

    scores = np.random.default_rng(6).random(30)
    found = t_interval(scores.tolist(), confidence=0.9)
    assert (found.low, found.high) == pytest.approx(DescrStatsW(scores).tconfint_mean(alpha=0.1), rel=1e-12)


def test_mcnemar() -> None:
    """Exact, by chi-square and by the corrected one, for every pair of counts below 12."""
    from statsmodels.stats.contingency_tables import mcnemar

    for b in range(12):
        for c in range(12):
            found, table = mcnemar_counts(b, c), [[5, b], [c, 5]]
            assert found["exact_p"] == pytest.approx(min(1.0, mcnemar(table, exact=True).pvalue) if b + c else 1.0)
            if b + c:
                assert found["chi2_p"] == pytest.approx(mcnemar(table, exact=False, correction=False).pvalue)
                assert found["chi2_corrected_p"] == pytest.approx(mcnemar(table, exact=False, correction=True).pvalue)


@pytest.mark.parametrize("method", CORRECTIONS)
def test_corrections(method: str) -> None:
    """One to forty p-values, ties among them."""
    from statsmodels.stats.multitest import multipletests

    rng = np.random.default_rng(7)
    for n in (1, 2, 7, 40):
        values = np.round(rng.random(n) ** 3, 2)
        assert adjust(values.tolist(), method) == pytest.approx(multipletests(values, method=CORRECTIONS[method])[1])  # type: ignore[arg-type]


def test_kappa() -> None:
    """Two raters with three labels, unweighted and weighted."""
    from statsmodels.stats.inter_rater import cohens_kappa

    rng = np.random.default_rng(8)
    a = rng.integers(0, 3, 80)
    b = np.where(rng.random(80) < 0.6, a, rng.integers(0, 3, 80))
    table = np.zeros((3, 3))
    np.add.at(table, (a, b), 1)
    for weights, kind in ((None, None), ("linear", "linear"), ("quadratic", "quadratic")):
        expected = cohens_kappa(table, wt=kind).kappa
        assert cohen_kappa(a.tolist(), b.tolist(), weights=weights).value == pytest.approx(expected)  # type: ignore[arg-type]
