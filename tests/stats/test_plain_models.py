"""Statistics equal what a direct computation from their definition gives, or what statsmodels and scipy said."""

import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import astuple
from itertools import product
from operator import attrgetter, itemgetter
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
import scipy

from evalsuite.core.dataclasses import replace
from evalsuite.core.types import Result
from evalsuite.stats import units
from evalsuite.stats.agreement import cohen_kappa
from evalsuite.stats.intervals import (
    N_CORRELATIONS,
    N_MEANS,
    _likely_means,
    _wilson_of,
    bounded_interval,
    clustered_interval,
    clustered_score_interval,
    clustered_se,
    corrected_mean,
    count_repeats,
    few_clusters_note,
    interval_of_units,
    proportion_interval,
    reported_interval,
    score_interval,
    t_interval,
    wilson_interval,
)
from evalsuite.stats.power import Units, can_show, n_needed, power_units
from evalsuite.stats.ranking import rank_submissions, shared_ranks
from evalsuite.stats.samples import mean_under
from evalsuite.stats.significance import (
    adjust,
    clustered_p,
    compare_paired,
    difference_interval,
    mcnemar_counts,
    paired_bootstrap,
    paired_t,
    segment_bootstrap_test,
    wilcoxon,
)
from tests.models.cluster_robust import bell_mccaffrey
from tests.upstream.record import RECORDED


def a_result(
    official: float | None = 1.0, strict: float = 1.0, scorer: str = "tree_score", details: dict[str, Any] | None = None
) -> Result:
    """A scored result under the strict rules."""
    more = {"scorer": scorer, "reason": "", "fault": None, "details": details or {}}
    return Result(instance_id="q", status="scored", score=strict, official=official, strict=strict, **more)  # type: ignore[arg-type]


def test_the_prediction_powered_mean() -> None:
    """Estimate, error and ends of PPI++ for a mean, computed with numpy; two labels are enough."""
    rng = np.random.default_rng(4)
    shapes = [(2, 0, 0, 1), (2, 3, 0, 1), (12, 1, 0, 1), (40, 300, 0, 1), (20, 30, -0.5, 1), (20, 30, 0, 2.5)]
    for (n, n_others, low, high), part in (*((shape, 1) for shape in shapes), (shapes[3], 0.25), (shapes[3], -1)):
        dear = np.where(rng.random(n) < 0.6, high, low).astype(float)
        cheap = np.where(rng.random(n) < 0.8, dear, 1 - dear)
        # One more label stands a scale's width away on either side.
        width = max(dear.max(), 1) - min(dear.min(), 0)
        # A rater of a narrower scale counts once at most, one that says the opposite not at all.
        cheap, others = part * cheap, part * (rng.random(n_others) < 0.5).astype(float)
        found = corrected_mean(list(zip(cheap.tolist(), dear.tolist(), strict=True)), others.tolist())
        spread = np.var([*cheap, *others], ddof=1)
        weight = 0.0
        if n_others and spread > 0:
            weight = float(np.clip(np.cov(cheap, dear)[0, 1] / (spread * (1 + n / n_others)), 0, 1))
        left = dear - weight * cheap
        estimate = left.mean() + (weight * others.mean() if n_others else 0)
        variance = np.var([*left, left.mean() - width, left.mean() + width], ddof=1) / n
        variance += weight**2 * np.var(others, ddof=1) / n_others if n_others > 1 else 0
        half = scipy.stats.t.ppf(0.975, n - 1) * math.sqrt(variance)
        assert [found.estimate, found.se] == pytest.approx([estimate, math.sqrt(variance)], abs=1e-12)
        assert [found.low, found.high] == pytest.approx([estimate - half, estimate + half], abs=1e-9)
        assert (found.n, found.note) == (n, f"{n_others} others, weight {weight:.2f}")
    # One cluster of all labels is one label: only what stands on either side is known of its spread.
    assert corrected_mean([(1, 1), (0, 0), (1, 1)], clusters="aaa").se == math.sqrt(2)
    # Of three clusters alike inside: the variance of their sums, 1/9, and one more of three independent labels at either end.
    alike = corrected_mean([(1, 1), (1, 1), (0, 0), (0, 0), (1, 0), (1, 0)], clusters="aabbcc")
    assert alike.se == pytest.approx(math.sqrt(1 / 9 + 2 / 3**2))
    # Less alike, the six labels are worth 6 * (1 / 20) / (1 / 12) = 3.6 independent ones.
    mixed = corrected_mean([(1, 1), (1, 1), (0, 0), (0, 0), (1, 1), (1, 0)], clusters="aabbcc")
    assert mixed.se == pytest.approx(math.sqrt(1 / 12 + 2 / 3.6**2))
    # With others in clusters, the labels' own and further ones: the variance of the sums of all parts, and as many independent ones.
    both, others = [(1, 1), (0, 1), (0, 0), (0, 0), (1, 1), (1, 0), (1, 0), (1, 1)], [1, 0, 0, 1, 1, 1]
    among = corrected_mean(both, others, clusters="aabbccddaeeffe")
    cheap, dear = np.array(both).T
    weight = np.cov(cheap, dear)[0, 1] / (np.var([*cheap, *others], ddof=1) * (1 + 8 / 6))
    left = dear - weight * cheap
    parts = [*(left - left.mean()) / 8, *weight * (np.array(others) - np.mean(others)) / 6]
    totals = [sum(part for part, name in zip(parts, "aabbccddaeeffe", strict=True) if name == cluster) for cluster in "abcdef"]
    between, independent = 6 * np.var(totals, ddof=1), np.var(left, ddof=1) / 8 + weight**2 * np.var(others, ddof=1) / 6
    assert 0 < weight < 1 and 4 < (effective := 8 * independent / between) < 8  # noqa: PT018
    assert among.se == pytest.approx(math.sqrt(between + 2 / effective**2))


def test_clusters_that_do_not_show_their_spread() -> None:
    """Equal scores count once a cluster, clusters of one mean at least as independent scores; without bounds it is Student's interval."""
    names = list("aabbccdd")
    level = clustered_score_interval([1.0] * 8, names)
    assert level.low == pytest.approx(min(wilson_interval(4, 4)[0], _likely_means(1.0, [(2.0, 2)] * 4, 0.95)[0]))
    scores = [0.0, 1.0] * 4
    found, likely = clustered_score_interval(scores, names), _likely_means(0.5, [(1.0, 2)] * 4, 0.95)
    naive = np.std(scores, ddof=1) / math.sqrt(8)
    ends = zip(_wilson_of(0.5, naive, NormalDist().inv_cdf(0.975)), likely, strict=True)
    assert [found.low, found.high] == pytest.approx([min(next(ends)), max(next(ends))])
    # Four clusters of 0.5: a beta from 0.5 to the end with 0.7 of a fifth cluster, wider than eight independent scores.
    graded, reach = clustered_score_interval([0.4, 0.6] * 4, names), float(scipy.stats.beta.ppf(0.975, 0.7, 4)) / 2
    assert [graded.low, graded.high] == pytest.approx([0.5 - reach, 0.5 + reach])
    assert found.se == pytest.approx(0, abs=1e-12)
    for raw in ([-0.5, 0.5, 0.75, 1.0], [0.5, 0.25, 0.75, 1.5]):
        assert clustered_score_interval(raw, list("aabb")) == clustered_interval(raw, list("aabb"))


@pytest.mark.parametrize("totals", [
    [(3.0, 5), (5.0, 5), (1.0, 4), (4.0, 6)], [(0.0, 3), (0.0, 4)], [(4.0, 4), (2.0, 2), (3.0, 3)], [(1.0, 2)] * 900 + [(0.0, 2)] * 99,
])  # fmt: skip
def test_the_likelihood_of_clusters(totals: list[tuple[float, int]]) -> None:
    """The range of means with 95 % of the beta-binomial likelihood, written out; the interval of clusters holds it."""
    scores = [float(at < total) for total, size in totals for at in range(size)]
    names = [name for name, (_, size) in enumerate(totals) for _ in range(size)]
    found = clustered_score_interval(scores, names)
    middles = np.sin((np.arange(N_MEANS) + 0.5) / N_MEANS * np.pi / 2) ** 2
    edges = np.sin(np.arange(N_MEANS + 1) / N_MEANS * np.pi / 2) ** 2
    scale = 1 / ((np.arange(N_CORRELATIONS) + 0.5) / N_CORRELATIONS) ** 2 - 1
    p = middles[:, None]
    logs = sum(n * scipy.stats.betabinom.logpmf(*one, p * scale, (1 - p) * scale) for one, n in Counter(totals).items())
    # Of many clusters each likelihood alone is less than the least float.
    weights = np.diff(edges) * np.exp(logs - np.max(logs)).sum(axis=1)
    below = np.concatenate([[0], np.cumsum(weights) / weights.sum()])
    centre = sum(scores) / len(scores)
    if centre in (0, 1):
        low, high = (0, np.interp(0.95, below, edges)) if centre == 0 else (np.interp(0.05, below, edges), 1)
    else:
        low, high = np.interp([0.025, 0.975], below, edges)
    assert found.low <= low + 1e-9
    assert found.high >= high - 1e-9
    assert _likely_means(centre, totals, 0.95) == pytest.approx((low, high), abs=1e-9)
    error = clustered_se(scores, names)
    if error.naive and error.cr2 and error.df:
        # The widest of it and of Wilson's intervals for as many coins as either error is worth.
        z, t = NormalDist().inv_cdf(0.975), float(scipy.stats.t.ppf(0.975, error.df))
        lows, highs = zip((low, high), _wilson_of(centre, error.naive, z), _wilson_of(centre, error.cr2, t), strict=True)
        assert [found.low, found.high] == pytest.approx([min(lows), max(highs)], abs=1e-9)
    # Reports of the next version state the same, so that the grid stays as fine as it is.
    assert (N_MEANS, N_CORRELATIONS) == (160, 24)


@pytest.mark.parametrize("n", [2, 7, 14, 15, 16, 40])
def test_whole_clusters_are_flipped(n: int) -> None:
    """Up to 14 clusters on no grid all flips are counted; more have Student's t by CR2, which is never below what flips reach."""
    rng = np.random.default_rng(n)
    sizes = rng.integers(1, 6, n).tolist()
    signs = np.array(list(product((1, -1), repeat=n))) if n < 15 else np.zeros((0, n))
    for digits, totals in ((4, rng.normal(0.3, 1, n).round(4)), (9, rng.uniform(1, 2, n).round(9)), (9, rng.normal(0.1, 1, n).round(9))):
        names = np.repeat(np.arange(n), sizes).tolist()
        error, df = bell_mccaffrey(np.repeat(totals / sizes, sizes).tolist(), names)
        t = 2 * scipy.stats.t.sf(abs(totals.sum() / sum(sizes)) / error, df)
        expected = np.mean(np.abs(signs @ totals) >= abs(totals.sum()) - 1e-12) if n < 15 else max(t, 2.0 ** (1 - n))
        assert clustered_p(totals.tolist(), sizes, digits) == pytest.approx(expected)
    # On a coarse grid all flips are counted whatever their number; of equal differences t would be sure.
    ones = [1.0] * n + [0.0] * 3
    assert clustered_p(ones, [1] * len(ones), 9) == pytest.approx(2.0 ** (1 - n))
    sizes = list(range(1000, 1000 + n))
    assert clustered_p([0.5 * size for size in sizes], sizes, 9) == pytest.approx(2.0 ** (1 - n))


def test_what_few_clusters_cannot_show() -> None:
    """Named from the chance of 2 / 2^G on: six can show 0.05, five cannot, nor six over two pairs; one has another note."""
    assert few_clusters_note(6) == few_clusters_note(1) == few_clusters_note(3, n_tests=0) == few_clusters_note(5, 0.0625) == ""
    assert few_clusters_note(5) == "5 clusters: no test can reach 0.05"
    assert few_clusters_note(6, n_tests=2, what="groups") == "6 groups: no test can reach 0.05 over 2 pairs"
    assert [can_show(n, 0.0625) for n in (4, 5)] == [False, True]


def test_the_interval_of_one_score_of_many_units() -> None:
    """That of the mean where the score is it; else Wilson's at the same effective size; wide enough for a score at an end."""
    scores = [1.0, 1.0, 0.0, 1.0, 0.5, 1.0, 0.0, 1.0]
    middle = sum(scores) / len(scores)
    assert astuple(interval_of_units(middle, scores))[:3] == astuple(score_interval(scores))[:3]
    found, se = interval_of_units(0.5, scores), score_interval(scores).se
    n, z = 0.25 / se**2, scipy.stats.t.ppf(0.975, 7)
    half = z * math.sqrt(0.25 / n + z * z / (4 * n * n)) / (1 + z * z / n)
    assert [found.low, found.high] == pytest.approx([0.5 - half, 0.5 + half], abs=1e-9)
    assert (found.estimate, found.method) == (0.5, "effective size of units")
    whole = score_interval(scores)
    assert astuple(interval_of_units(1.0, scores))[:3] == (1.0, whole.low, 1.0)
    assert astuple(interval_of_units(0.0, scores))[:3] == (0.0, 0.0, whole.high)


@pytest.mark.parametrize("scores", [
    [0.0, 1.0], [0.0, 0.25, 1.0], [0.1, 0.1, 0.2], [1.0] * 29 + [0.0], [0.5, 0.5 + 1e-12], [0.5, 0.5 + 7e-10], [0.1 + 0.2, 0.3, 0.3],
    [0.25], [1.0] * 3,
])  # fmt: skip
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 1.0), (1.0, 5.0), (-2.0, 3.0)])
def test_bounded_scores_may_have_missed_some_at_an_end(scores: list[float], low: float, high: float) -> None:
    """The beta of their randomly weighted mean with 0.7 of a further score at the one end, and at the other; equal ones are a coin each."""
    values = [low + (high - low) * score for score in scores]
    n = len(scores)
    spread = np.std(values, ddof=1) / (high - low) if n > 1 else 0.0

    def limit(parts: np.ndarray) -> float:
        weights, total = np.append(np.ones(n), 0.7), n + 0.7
        mean = np.average(np.append(parts, 1), weights=weights)
        variance = np.average((np.append(parts, 1) - mean) ** 2, weights=weights) / (total + 1)
        least, width = parts.min(), 1 - parts.min()
        share = (mean - least) / width
        worth = share * (1 - share) * width**2 / variance - 1
        return float(scipy.stats.beta.ppf(0.95, share * worth, (1 - share) * worth, loc=least, scale=width))

    found, parts = bounded_interval(values, confidence=0.9, low=low, high=high), (np.array(values) - low) / (high - low)
    ends = wilson_interval(n * parts.mean(), n, z=NormalDist().inv_cdf(0.95)) if spread < 1e-9 else (1 - limit(1 - parts), limit(parts))
    assert [found.low, found.high] == pytest.approx([low + (high - low) * end for end in ends], abs=1e-9)
    assert (found.estimate, found.n, bool(found.note)) == (pytest.approx(np.mean(values)), n, spread < 1e-9)
    assert found.se == (None if n == 1 else pytest.approx(np.std(values, ddof=1) / math.sqrt(n), abs=1e-15))


def test_clusters_count_as_their_means_by_size() -> None:
    """Graded scores near 0: the upper limit is that of the clusters' means; a large cluster weighs more, and so may one that was missed."""
    alike = clustered_score_interval([0.0, 0.02, 0.01, 0.02, 0.01, 0.0], list("aabbcc"))
    assert alike.high == pytest.approx(bounded_interval([0.01, 0.015, 0.005]).high)
    mixed = clustered_score_interval([0.02, 0.01, 0.02, 0.0, 0.01, 0.0, 0.02], list("abbbccc"))
    weights, parts = np.array([1, 3, 3, 0.7 * 7 / 3]) * 3 / 7, np.array([0.02, 0.01, 0.01, 1.0])
    middle = weights @ parts / 3.7
    # The end counts 0.7 times with its own square, and not with 0.7 squared.
    variance = (((weights * (parts - middle))[:3] ** 2).sum() + 0.7 * (1 - middle) ** 2) / (3.7 * 4.7)
    share = (middle - 0.01) / 0.99
    worth = share * (1 - share) * 0.99**2 / variance - 1
    assert mixed.high == pytest.approx(scipy.stats.beta.ppf(0.975, share * worth, (1 - share) * worth, loc=0.01, scale=0.99))


@pytest.mark.parametrize("score", [0.001, 0.25, 0.9])
@pytest.mark.parametrize("units_", [[0.0, 1.0], [0.25, 0.5, 0.25, 0.5], [1.0, 1.0, 0.0, 1.0, 0.5]])
def test_a_score_has_the_worth_of_its_units(score: float, units_: list[float]) -> None:
    """As many coins as give the error of their mean, at least one; from the one to the other where the interval would miss it."""
    error = score_interval(units_).se
    worth, z = max(1.0, score * (1 - score) / error**2), scipy.stats.t.ppf(0.975, len(units_) - 1)
    low, high = wilson_interval(score * worth, worth, z=z)
    found = interval_of_units(score, units_)
    assert [found.low, found.high, found.estimate] == pytest.approx([low, high, score])
    # Units that all agree say little of a score that is none of them: the interval reaches from one to the other.
    assert [astuple(interval_of_units(end, [1 - end] * 3))[:3] for end in (0.0, 1.0)] == [(0.0, 0.0, 1.0), (1.0, 0.0, 1.0)]


@pytest.mark.parametrize("effective", [None, 2, 5])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_one_more_flip_of_each_kind(effective: int | None, confidence: float) -> None:
    """Bonett and Price: of n pairs, or of as many as they are worth, one more is won and one more lost."""
    for a, b in (([1, 1, 0, 1, 0], [0, 1, 0, 0, 1]), ([1, 0, 1], [1, 0, 1]), ([1] * 4, [0] * 4), ([0] * 4, [1] * 4)):
        n, size, z = len(a), effective or len(a), NormalDist().inv_cdf((1 + confidence) / 2)
        won, lost = ((sum(sign * (x - y) > 0 for x, y in zip(a, b, strict=True)) / n * size + 1) / (size + 2) for sign in (1, -1))
        half = z * math.sqrt((won + lost - (won - lost) ** 2) / (size + 2))
        found = difference_interval(a, b, confidence=confidence, effective=effective)
        mean = (sum(a) - sum(b)) / n
        assert [found.low, found.high] == pytest.approx([min(mean, max(-1, won - lost - half)), max(mean, min(1, won - lost + half))])
        assert (found.estimate, found.se, found.n, found.method) == (mean, pytest.approx(half / z), n, "Bonett-Price")


def test_the_interval_that_is_reported() -> None:
    """By clusters, by the units of a score in [0, 1], or by the scores; that of Student's t for values without bounds."""
    scores, names = [1.0, 0.0, 0.5, 1.0, 0.25], list("aabbc")
    assert reported_interval(scores) == reported_interval(scores, clusters=[]) == score_interval(scores)
    assert reported_interval(scores, clusters=names, score=0.5) == clustered_score_interval(scores, names)
    assert reported_interval(scores, is_raw=True) == reported_interval(scores, is_raw=True, score=0.5) == t_interval(scores)
    assert reported_interval(scores, is_raw=True, clusters=names) == clustered_interval(scores, names)
    for score in (0.0, 0.5, 1.0):
        assert reported_interval(scores, score=score) == interval_of_units(score, scores)
    for score in (-0.1, 1.5):
        assert reported_interval(scores, score=score) == score_interval(scores)


def test_the_power_of_many_units() -> None:
    """Above 500 units of several sizes it is the normal approximation, and so it is where the difference is beyond doubt."""
    made = power_units([0.25, -0.5, 1.0, 0.0] * 150)
    assert (made.n, made.share, made.size, made.square) == (600, 0.75, pytest.approx(1.75 / 3), pytest.approx(1.3125 / 3))
    difference, square = 0.05, 0.75 * 1.3125 / 3
    sd = math.sqrt(square - difference**2)
    critical, middle, normal = NormalDist().inv_cdf(0.975) * math.sqrt(square), difference * math.sqrt(600), NormalDist()
    expected = normal.cdf((middle - critical) / sd) + normal.cdf((-middle - critical) / sd)
    assert made.power(difference, 0.05) == pytest.approx(expected, abs=1e-9)
    assert made.power(-difference, 0.05) == pytest.approx(expected, abs=1e-9)
    least = n_needed(made, difference, 0.05)
    assert made.power(difference, 0.05, least) >= 0.8 > made.power(difference, 0.05, math.floor(least * 0.99) - 1)
    assert power_units([0.0, 0.0]) is None
    assert power_units([0.0, 0.0], binary=True) == Units(2, (1.0,), 1.0, 1.0, 0.0)


def test_places_that_tests_leave_open() -> None:
    """A pair whose p is at most alpha is apart, also at alpha itself; without tests apart each may have every place."""
    p = [[1.0, 0.05, 0.2], [0.05, 1.0, 0.050001], [0.2, 0.050001, 1.0]]
    assert shared_ranks([3.0, 1.0, 2.0], p) == [(1, 2), (2, 3), (1, 3)]
    assert shared_ranks([3.0, 1.0, 2.0], p, higher_is_better=False) == [(2, 3), (1, 2), (1, 3)]
    p = [[1, 0.5, 0.01], [0.5, 1, 0.2], [0.01, 0.2, 1]]
    assert shared_ranks([0.9, 0.8, 0.7], p) == [(1, 2), (1, 3), (2, 3)]
    # Published means may be equal where the pairs are apart.
    assert shared_ranks([2.0, 2.0, 1.0], [[1.0, 0.01, 0.01], [0.01, 1.0, 0.01], [0.01, 0.01, 1.0]]) == [(1, 2), (1, 2), (3, 3)]
    rows = [[1.0, 1.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]]
    ranked = rank_submissions(rows, n_resamples=50)
    assert [ranked.p_values[i][i] for i in range(3)] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(("apart", "p"), [(0.25, (0.0, 0.0, 1.0)), (-0.25, (0.0, 1.0, 0.0)), (0.0, (1.0, 1.0, 1.0))])
def test_differences_without_variation(apart: float, p: tuple[float, ...]) -> None:
    """All equal: two-sided 0, one-sided by their sign; all 0: 1."""
    sides = [0.5 + apart] * 3, [0.5] * 3
    found = [paired_t(*sides, alternative=alternative).p for alternative in ("two-sided", "greater", "less")]
    assert tuple(found) == p
    assert paired_t([1.0], [0.5]).p == 1.0


def test_repeated_samples() -> None:
    """Variances, shares and the number of samples of a one-way analysis, by numpy; pass@k by drawing every k of n."""
    rows = [[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]]
    found = count_repeats(rows)
    within, apart = np.mean([np.var(row, ddof=1) for row in rows]), np.var(np.mean(rows, axis=1), ddof=1)
    between = apart - within / 3
    assert [found.sample_variance, found.question_variance] == pytest.approx([within, between])
    assert found.question_share == pytest.approx(between / apart)
    assert (found.n_questions, found.n_samples, found.questions_to_halve) == (5, (3, 3), 15)
    assert found.samples_to_halve is None
    for k, passed in enumerate(found.passes, 1):
        picked = [[[row[i] for i in range(3) if mask >> i & 1] for mask in range(8) if mask.bit_count() == k] for row in rows]
        any_right = [np.mean([1.0 in some for some in sets]) for sets in picked]
        all_right = [np.mean([0.0 not in some for some in sets]) for sets in picked]
        error = [np.std(values, ddof=1) / math.sqrt(5) for values in (any_right, all_right)]
        numbers = (passed.k, passed.any, passed.any_se, passed.all, passed.all_se)
        assert numbers == pytest.approx((k, np.mean(any_right), error[0], np.mean(all_right), error[1]))
    noisy = count_repeats([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    apart, within = np.var([0.5, 0.5, 0.5, 1.0], ddof=1), np.mean([0.5, 0.5, 0.5, 0.0])
    assert (noisy.question_variance, noisy.question_share) == (max(0, apart - within / 2), 0)
    assert noisy.samples_to_halve == math.ceil(within / (within / 2 / 4) - 2)


def row(path: str, matches: int, mismatches: int, omissions: int, hallucinations: int, precision: float) -> dict[str, object]:
    """A row of fields, with credits that fit its precision."""
    reached = precision * (matches + mismatches + hallucinations)
    recall = reached / max(1, matches + mismatches + omissions)
    counts = {"matches": matches, "mismatches": mismatches, "omissions": omissions, "hallucinations": hallucinations}
    return {"path": path, **counts, "precision": precision, "recall": recall, "f1": 0.5}


def test_fields_are_pooled() -> None:
    """Counts are summed and shares computed from the sums, the worst F1 first, then by name; a field with nothing to find is 1."""
    results = [
        a_result(
            details={"fields": [row("a", 2, 1, 1, 1, 0.6), row("b", 0, 0, 0, 0, 1.0), row("d", 0, 0, 2, 1, 0.0), row("c", 0, 0, 2, 1, 0.0)]}
        ),
        a_result(details={"fields": [row("a", 1, 0, 0, 0, 1.0)]}),
        a_result(details={"fields": "forged"}),
    ]
    found = units.pooled_fields(results)
    assert list(found) == ["c", "d", "a", "b"]
    # Of a 2.4 + 1 of four that were compared are right.
    counts = {"matches": 3, "mismatches": 1, "omissions": 1, "hallucinations": 1}
    assert found["a"] == pytest.approx({**counts, "precision": 3.4 / 5, "recall": 3.4 / 5, "f1": 6.8 / 10})
    assert [found[path][share] for path in "bc" for share in units.SHARES] == [1, 1, 1, 0, 0, 0]


def test_the_mean_of_what_was_judged() -> None:
    """What gold prevented counts as 0 and what lacks the grader's side is in no mean; the bounds count both as 0 and as 1."""
    prevented = replace(a_result(), status="gold_fault", fault="BAD_GOLD_FILE", score=None, official=None, strict=None)
    lacking = replace(prevented, status="unscored", fault="NO_JUDGE")
    for results, expected in (
        ([a_result(0.0), a_result(0.5)], ((2, 1.0, 1.0, 0, 0), 1.0, (2, 0.25, 0.25, 0, 0))),
        ([a_result(0.0), prevented], ((2, 0.5, 1.0, 1, 0), 0.5, (2, 0.0, 0.5, 1, 0))),
        ([a_result(0.5), lacking, lacking, prevented], ((4, 0.25, 1.0, 3, 2), 0.5, (4, 0.125, 0.875, 3, 2))),
        ([lacking], ((1, 0.0, 1.0, 1, 1), None, (1, 0.0, 1.0, 1, 1))),
        ([], ((0, 0.0, 0.0, 0, 0), None, (0, 0.0, 0.0, 0, 0))),
    ):
        strict, value, official = expected
        means = [mean_under(results, which) for which in ("score", "strict", "official")]
        assert [astuple(one) for one in means] == [strict, strict, official]
        assert (means[0].value, means[0].points, means[0].n_judged) == (value, strict[1] * strict[0], strict[0] - strict[4])


def test_the_scores_of_units() -> None:
    """Kept short, both rules only where they differ; read for either rule; what is no list of at least two scores is one unit."""
    assert units.unit_details([1.0]) == {}
    assert (
        repr(units.unit_details([1.0, 0.5, 0.0, None], official=[1.0, 0.5, 0.0, None]))
        == "{'units': {'n': 4, 'scores': [1, 0.5, 0, None]}}"
    )
    both = units.unit_details([1.0, None], official=[0.0, None], fields={"a": [0.25, None]})
    assert both == {"units": {"n": 2, "scores": [1, None], "official": [0, None], "fields": {"a": [0.25, None]}}}
    made = a_result(details=both)
    assert [units.units_of(made, rules) for rules in (None, "strict", "official")] == [[1, None], [1, None], [0, None]]
    assert units.fields_of_units(made) == {"a": [0.25, None]}
    assert units.units_of(a_result(details={"units": [1, 0.5, None]}), "official") == [1, 0.5, None]
    for wrong in ([1.0], [1, 1.5], [1, "x"], "text", {"scores": "text"}, {"scores": [0.5]}, None):
        assert units.units_of(a_result(details={"units": wrong})) is None
    assert units.n_units([made, a_result()]) == 3
    assert units.at_one_length([[0.5], [1.0, 0.0], [0.25, 0.5, 0.75]]) == [[0.5] * 3, [1.0, 0.0, 1.0], [0.25, 0.5, 0.75]]
    assert units.mean_units([[1.0, None], [0.0, None]]) == [0.5, None]


def test_the_units_of_several_samples() -> None:
    """Means unit by unit; a missing answer is 0 in each, also in its fields; nothing where none has units."""
    first = a_result(details=units.unit_details([1.0, 0.0], official=[1.0, 1.0], fields={"a": [1.0, 0.5], "b": [None, 1.0]}))
    absent = a_result(official=0.0, strict=0.0)
    other = a_result(official=0.5, strict=0.5)
    assert units.mean_unit_details([absent, other]) == {}
    found = units.mean_unit_details([first, absent])["units"]
    assert found == {"n": 2, "scores": [0.5, 0], "official": [0.5, 0.5], "fields": {"a": [0.5, 0.25], "b": [0, 0.5]}}
    # An answer that is right in part and has no fields says nothing of them.
    assert units.mean_unit_details([first, other])["units"]["fields"] == {"a": [1, 0.5], "b": [None, 1]}


def test_the_numbers_of_query_pairs() -> None:
    """BIRD's rewards by the ratio of times; wrong pairs are 0, a right one that was not timed counts in soft F1 alone."""
    assert [units.reward_of(ratio) for ratio in (2, 1.99, 0.95, 0.94, 0.5, 0.49, 0.25, 0.24, 0)] == [
        *(1.25, 1.0, 1.0, 0.75, 0.75, 0.5, 0.5, 0.25, 0.25)
    ]

    def pair(official: float | None, **details: object) -> Result:
        return a_result(official=official, strict=official or 0.0, scorer="sql_match", details=details)

    made = [pair(1.0, soft_f1=1.0, time_ratio=4.0), pair(0.0, soft_f1=0.5, time_ratio=4.0), pair(1.0, soft_f1=1.0), pair(None), a_result()]
    root = math.sqrt(1.25)
    assert units.pair_numbers(made) == pytest.approx({"n": 3, "soft_f1": 2.5 / 3, "n_timed": 1, "ves": 100.0, "r_ves": 50 * root})
    assert units.pair_numbers(made[1:3]) == {"n": 2, "soft_f1": 0.75}
    slow = {"n": 1, "soft_f1": 1.0, "n_timed": 1, "ves": 50.0, "r_ves": 100 * math.sqrt(0.5)}
    assert units.pair_numbers([pair(1.0, soft_f1=1, time_ratio=0.25)]) == pytest.approx(slow)
    assert units.pair_numbers([a_result()]) == {}
    for forged in (-1, math.inf, math.nan, "x", 10**400):
        assert units.pair_numbers([pair(1.0, soft_f1=forged)]) == {"n": 1, "soft_f1": 0.0}


def test_confusions_are_counted() -> None:
    """Equal ones are one row with their sum, the commonest first, ten at most."""
    one = {"n": 2, "path": "a", "status": "mismatch", "expected": "x", "got": "y"}
    other = {**one, "got": "z", "n": 3}
    results = [a_result(details={"confusions": [one, other]}), a_result(details={"confusions": [{**one, "n": 5}]})]
    assert units.pooled_confusions(results) == [{**one, "n": 7}, other]
    assert len(units.pooled_confusions([a_result(details={"confusions": [{**one, "got": str(at)}]}) for at in range(12)])) == 10


@pytest.mark.parametrize(("centre", "n"), [(0.3, 50), (0.5, 4), (0.9, 1), (0.5, 1), (0.2, 1.0001), (0.4, 0.99)])
def test_the_interval_of_an_error_is_that_of_as_many_coins(centre: float, n: float) -> None:
    """An error of sqrt(p (1 - p) / n) is worth n independent scores; less than one says nothing."""
    error = math.sqrt(centre * (1 - centre) / n)
    expected = wilson_interval(centre * n, n, z=1.96) if n > 0.995 else (0.0, 1.0)
    # At one of two coins the error is 0.5 without rounding.
    assert _wilson_of(centre, error * (1 - 1e-12 * (centre != 0.5)), 1.96) == pytest.approx(expected)


@pytest.mark.parametrize("method", ["mcnemar", "permutation", "t", "wilcoxon", "bootstrap"])
def test_each_test_has_the_same_interval(method: Any) -> None:
    """That of the mean difference; only the bootstrap has its own."""
    a, b = [1.0] * 9 + [0.0] * 6, [0.0] * 5 + [1.0] * 3 + [0.0] * 7
    found, plain = compare_paired(a, b, method=method), difference_interval(a, b, confidence=0.95)
    own = paired_bootstrap(a, b, confidence=0.95).interval
    assert own != plain
    assert found.interval == (own if method == "bootstrap" else plain)
    assert (found.wins, found.ties, found.losses, found.verdict == "a is better") == (6, 9, 0, found.p <= 0.05)


ROWS = [json.loads(line) for line in (RECORDED / "statistics.jsonl").read_text(encoding="utf-8").splitlines()]


def ends(interval: Any) -> list[float]:
    """Both ends."""
    return [interval.low, interval.high]


OURS: dict[str, Callable[..., Any]] = {
    "adjust": adjust,
    "clustered_interval": lambda scores, names: ends(clustered_interval(scores, names)),
    "clustered_se": lambda scores, names: attrgetter("mean", "cr0", "cr1")(clustered_se(scores, names)),
    "cohen_kappa": lambda a, b, weights: [cohen_kappa(a, b, weights=weights).value],
    "mcnemar_counts": lambda b, c: itemgetter("exact_p", "chi2_p", "chi2_corrected_p")(mcnemar_counts(b, c)),
    "paired_t": lambda a, b: [(found := paired_t(a, b)).p, found.statistic, *ends(found.interval)],
    "proportion_interval": lambda k, n, confidence, method: ends(proportion_interval(k, n, confidence=confidence, method=method)),
    "t_interval": lambda scores, confidence: ends(t_interval(scores, confidence=confidence)),
    "wilcoxon": lambda a, b, exact: [wilcoxon(a, b, method="exact" if exact else "approx").p],
}


@pytest.mark.parametrize("name", OURS)
def test_values_are_the_recorded_ones(name: str) -> None:
    """Each recorded value of a function, to nine digits; no recorded function is left out."""
    rows = [row for row in ROWS if row["name"] == name]
    assert rows
    assert {row["name"] for row in ROWS} == set(OURS)
    for row in rows:
        assert list(OURS[name](*row["given"])) == pytest.approx(row["expected"], rel=1e-9, abs=1e-9), row["given"]


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
    assert ends(found.interval) == pytest.approx(list(np.quantile(apart, (0.05, 0.95))))
    assert found.interval.se == pytest.approx(np.std(apart))
