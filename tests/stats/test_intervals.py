"""Intervals: closed forms, bootstraps, clusters and corrected means (other recorded values: `test_plain_models`)."""

import math
import random
from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.stats import confidence_interval, intervals
from evalsuite.stats.intervals import (
    ONE_CLUSTER,
    bootstrap_interval,
    bounded_interval,
    clustered_difference_interval,
    clustered_interval,
    clustered_score_interval,
    clustered_se,
    corrected_mean,
    cut_to_scale,
    interval_of_units,
    named_interval,
    normal_interval,
    proportion_interval,
    resampled_means,
    resampled_totals,
    score_interval,
    segment_bootstrap,
    t_interval,
    wilson_interval,
)
from evalsuite.stats.samples import StatsError
from evalsuite.stats.significance import difference_interval
from tests.models.cluster_robust import bell_mccaffrey
from tests.properties import examples

GROUPS = [0, 0, 0, 1, 1, 1, 2, 2]


SCORES = [0.5, 0.6, 0.7, 0.2, 0.1, 0.15, 0.9, 0.95]


METHODS = ("wilson", "clopper_pearson", "agresti_coull", "jeffreys", "normal")
SKEWED = [0.1, 0.1, 0.2, 0.1, 0.9, 0.3, 0.1, 0.2, 0.15, 1.0]
unit_scores = st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=40)


def test_wilson_default_is_95_per_cent() -> None:
    """17 of 24 gives the interval of the design's example, and 0 and n end at 0 and 1 exactly."""
    assert wilson_interval(17, 24) == pytest.approx((0.508, 0.851), abs=5e-4)
    assert {wilson_interval(0, n)[0] for n in range(1, 200)} == {0.0}
    assert {wilson_interval(n, n)[1] for n in range(1, 200)} == {1.0}
    with pytest.raises(ValueError, match="at least 1"):
        wilson_interval(0, 0)


def test_bounded_interval_knows_its_scale() -> None:
    """The same scores on 1..5 give the interval mapped to 1..5; of 0/1 scores it lies between Jeffreys' and Clopper and Pearson's."""
    unit = bounded_interval(SKEWED)
    mapped = bounded_interval([1 + 4 * score for score in SKEWED], low=1, high=5)
    assert (mapped.low, mapped.high) == pytest.approx((1 + 4 * unit.low, 1 + 4 * unit.high))
    found = bounded_interval([1.0] * 21 + [0.0] * 9)
    jeffreys, exact = (proportion_interval(21, 30, method=name) for name in ("jeffreys", "clopper_pearson"))
    assert exact.low is not None
    assert jeffreys.low is not None
    assert exact.low < found.low < jeffreys.low
    assert jeffreys.high < found.high < exact.high


SIDES = "^low and high must be two numbers, the low one first, not "


@pytest.mark.parametrize(("ask", "why"), [
    # An interval over what is missing or endless would be about something else; 95 is an error, not 0.95.
    (lambda: confidence_interval([]), "^no scores$"),
    (lambda: confidence_interval([0.5, None]), "^score 1 of 2 is None$"),
    (lambda: confidence_interval([math.nan]), "^score 0 of 1 is nan$"),
    (lambda: confidence_interval([math.inf, 0.0]), "^score 0 of 2 is inf$"),
    (lambda: confidence_interval([0.5, "1"]), "^scores must be numbers, not text$"),
    (lambda: confidence_interval("10"), "^scores must be numbers, not text$"),
    *((partial(confidence_interval, scores, 95), "confidence") for scores in ([0.1, 0.5], [0.5, 0.5], [0, 1], [2.0, 3.0])),
    *((partial(confidence_interval, [0.1, 0.5], confidence), "confidence") for confidence in (0, 1, -0.5, "0.95", None)),
    (lambda: confidence_interval(SKEWED, method="wilson"), "0 and 1"),
    (lambda: named_interval(SKEWED, "wald"), "unknown interval"),
    (lambda: bounded_interval([0.5, 1.5], low=0, high=1), "are not in"),
    (lambda: bounded_interval([-0.5, 0.5], low=0, high=1), "are not in"),
    *((partial(bounded_interval, [1.0], low=low, high=high), SIDES) for low, high in ((1, 1), (1, 0), (math.nan, 1), (0, math.inf))),
    *((partial(score_interval, [1.0], low=low, high=high), SIDES) for low, high in ((1, 1), (1, 0), (math.nan, 1), (0, math.inf))),
    *((partial(proportion_interval, k, n), f"{k} successes of {n}") for k, n in ((3, 2), (-1, 2), (0, 0))),
    *(
        (partial(difference_interval, [1, 0], [0, 1], effective=n), f"^effective must be at least 1, not {n}$")
        for n in (0, -1, math.nan, math.inf)
    ),
    (lambda: segment_bootstrap([], lambda sums: sums[:, 0]), "segments"),
    (lambda: segment_bootstrap([[1.0, 2.0], [1.0]], lambda sums: sums[:, 0]), "segments"),
    (lambda: bootstrap_interval([0.1, 0.2], n_resamples=0), "resamples"),
    (lambda: clustered_se([0.1, 0.2], ["a", None]), "score 1 has no cluster"),
    (lambda: clustered_se([0.1, 0.2], ["a"]), "2 scores but 1"), (lambda: corrected_mean([(1, 1)]), "at least 2 labels"),
    (lambda: corrected_mean([(1, 1), (0, math.nan)]), "nan"),
])  # fmt: skip
def test_what_has_no_interval_is_refused(ask: Callable[[], object], why: str) -> None:
    """No, missing and endless scores, ends or shares that cannot be, clusters that are not there."""
    with pytest.raises(StatsError, match=why):
        ask()


def test_short_entry_takes_each_method() -> None:
    """`confidence_interval` reaches every method by name, and clusters."""
    for method in ("bounded", "t", "normal"):
        assert confidence_interval(SKEWED, method=method).method == method
    student, narrower = t_interval(SKEWED), normal_interval(SKEWED)
    assert student.low < narrower.low < student.estimate < narrower.high < student.high
    for method in ("percentile", "basic", "bca"):
        found = confidence_interval(SKEWED, method=method)
        assert (found.seed, found.n_resamples) == (12345, 10_000)
    assert confidence_interval(SKEWED, 0.9, clusters=list("aabbccddee")).method == "clustered"
    assert confidence_interval([1, 1, 0, 1], method="wilson").low == pytest.approx(0.3006, abs=1e-4)
    assert (interval_of_units(0.0, [0.0, 0.0]).low, interval_of_units(1.0, [1.0, 1.0]).high) == (0.0, 1.0)


@given(unit_scores, st.floats(0.5, 0.999))
@examples(60)
def test_an_interval_holds_its_estimate_and_stays_in_the_range(scores: list[float], confidence: float) -> None:
    """Whatever the scores, low <= mean <= high within [0, 1]; more confidence is never narrower."""
    found = confidence_interval(scores, confidence)
    assert 0 <= found.low <= found.estimate <= found.high <= 1
    wider = confidence_interval(scores, 0.9995)
    assert wider.low <= found.low + 1e-9
    assert wider.high >= found.high - 1e-9


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from(METHODS))
@examples(80)
def test_shares_and_their_complements_mirror(counts: tuple[int, int], method: str) -> None:
    """The interval of the failures is the mirror of that of the successes."""
    successes, n = counts
    right, wrong = proportion_interval(successes, n, method=method), proportion_interval(n - successes, n, method=method)
    assert (right.low, right.high) == pytest.approx((1 - wrong.high, 1 - wrong.low), abs=1e-9)
    assert (right.method, right.n, right.estimate) == (method, n, successes / n)
    assert right.se == pytest.approx((successes * (n - successes) / n**3) ** 0.5)


@pytest.mark.parametrize(("method", "ends"), [("percentile", (0.14, 0.54)), ("basic", (0.09, 0.49)), ("bca", (0.155, 0.59))])
def test_intervals_equal_scipy(method: str, ends: tuple[float, float]) -> None:
    """Ten skewed scores, scipy 1.17 with 200,000 draws: BCa moves to the right, basic to the left."""
    found = bootstrap_interval(SKEWED, method=method, n_resamples=40_000)
    assert (found.low, found.high) == pytest.approx(ends, abs=0.011)
    assert found.estimate == pytest.approx(0.315)


def test_a_seed_repeats_and_another_one_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The returned seed gives the same ends again, in one block or in sixty-seven; the draws are those of sacrebleu's one call."""
    first = bootstrap_interval(SKEWED, seed=7)
    assert (first.seed, first.n_resamples) == (7, 10_000)
    assert bootstrap_interval(SKEWED, seed=first.seed) == first
    assert not np.array_equal(resampled_means(SKEWED, seed=7), resampled_means(SKEWED, seed=8))
    whole = resampled_means(SKEWED, n_resamples=1000)
    monkeypatch.setattr(intervals, "CELLS_AT_ONCE", 150)
    assert np.array_equal(resampled_means(SKEWED, n_resamples=1000), whole)
    rows = np.random.default_rng(12345).choice(10, size=(1000, 10), replace=True)
    assert np.array_equal(np.asarray(SKEWED)[rows].mean(axis=1), whole)
    table = np.arange(30.0).reshape(10, 3)
    assert np.array_equal(resampled_totals(table, n_resamples=1000), table[rows].sum(axis=1))


def test_a_mean_is_the_simplest_corpus_metric() -> None:
    """Over the statistics (score, 1) the ratio of sums is the mean: same draws, same ends; one segment has its score as both."""
    table = [[score, 1.0] for score in SKEWED]
    for method in ("percentile", "bca"):
        found = segment_bootstrap(table, lambda sums: sums[:, 0] / sums[:, 1], method=method)
        mean = bootstrap_interval(SKEWED, method=method)
        assert (found.estimate, found.low, found.high) == pytest.approx((mean.estimate, mean.low, mean.high))
    # Of one segment nothing is divided by the sums of none.
    with np.errstate(all="raise"):
        found = segment_bootstrap([[1.0, 2.0]], lambda sums: sums[:, 0] / sums[:, 1], method="bca", n_resamples=50)
    assert (found.low, found.estimate, found.high) == (0.5, 0.5, 0.5)


@given(st.lists(st.floats(0, 1, allow_subnormal=False), min_size=2, max_size=15), st.sampled_from(["percentile", "bca"]))
@examples(30)
def test_ends_lie_among_the_scores(scores: list[float], method: str) -> None:
    """low <= high, both between the smallest and the largest score."""
    found = bootstrap_interval(scores, method=method, n_resamples=300)
    assert min(scores) - 1e-9 <= found.low <= found.high <= max(scores) + 1e-9


@given(st.lists(st.tuples(st.sampled_from("uvwxyz"), st.floats(0, 1)), min_size=3, max_size=25))
@examples(60)
def test_the_closed_form_is_the_matrix_form(items: list[tuple[str, float]]) -> None:
    """CR2 and Satterthwaite's degrees of freedom are those of the regression on a constant, written out with matrices."""
    names, scores = [name for name, _ in items], [value for _, value in items]
    if len(set(names)) < 2 or max(scores) - min(scores) < 1e-6:
        return
    found = clustered_se(scores, names)
    error, df = bell_mccaffrey(scores, names)
    assert found.cr2 == pytest.approx(error, abs=1e-9)
    assert found.df == pytest.approx(df, rel=1e-9)
    n, apart = len(scores), np.asarray(scores) - np.mean(scores)
    within = [
        [x * y for (i, x), (j, y) in product(enumerate(apart), repeat=2) if names[i] == names[j] and (i == j) is same]
        for same in (True, False)
    ]
    naive = sum(within[0]) / (n - 1) / n
    assert (found.naive, found.miller) == pytest.approx((naive**0.5, max(0.0, naive + sum(within[1]) / n**2) ** 0.5), abs=1e-7)
    size = len(set(names))
    assert found.cr0 == pytest.approx(max(0.0, sum(map(sum, within))) ** 0.5 / n, abs=1e-7)
    assert (found.cr1, found.n_clusters) == (pytest.approx(found.cr0 * (size / (size - 1)) ** 0.5), size)


@given(st.lists(st.floats(0, 1, allow_subnormal=False), min_size=2, max_size=20))
@examples(40)
def test_a_cluster_each_is_no_clustering(scores: list[float]) -> None:
    """With a cluster of its own for each score cr1 is the naive error, and the interval that of t."""
    found = clustered_se(scores, range(len(scores)))
    assert found.cr1 == pytest.approx(found.naive, abs=1e-12)
    assert found.miller == pytest.approx(found.naive, abs=1e-7)
    assert (found.n, found.n_clusters) == (len(scores), len(scores))
    plain = t_interval(scores)
    if plain.se is not None and plain.se > 1e-9:
        assert clustered_interval(scores, range(len(scores))).low == pytest.approx(plain.low, abs=1e-9)


def test_a_difference_allows_for_one_more_cluster_of_each_sign() -> None:
    """Of eight clusters one lost three points of four: as if one more had lost three and one won three."""
    lost, names = [-1.0, -1.0, -1.0] + [0.0] * 29, [at // 4 for at in range(32)]
    found, plain = clustered_difference_interval(lost, names), clustered_interval(lost, names)
    more = clustered_interval([*lost, -0.75, -0.75, -0.75, -0.75, *[0.75] * 4], [*names, *[8] * 4, *[9] * 4])
    assert plain.low is not None
    assert more.low is not None
    assert (found.low, found.high) == pytest.approx((min(plain.low, more.low), more.high))
    assert found.high > plain.high
    assert (found.estimate, found.se, found.method) == (plain.estimate, plain.se, plain.method)
    level = clustered_difference_interval([0.5] * 4, list("aabb"))
    assert (level.low, level.high) == (None, None)


def world(seed: int, n_others: int, wrong: float, share: float) -> tuple[list[float], list[float]]:
    """What people would say of 100 instances and the others, and what a judge says that is wrong in a share of them."""
    source = random.Random(seed)
    people = [float(source.random() < share) for _ in range(100 + n_others)]
    return people, [1 - said if source.random() < wrong else said for said in people]


@pytest.mark.parametrize("share", [0.5, 0.7, 0.9])
def test_the_interval_covers_the_truth(share: float) -> None:
    """With a planted error of 15 % and 100 labels 95 % of 200 worlds are covered; the judge's own mean is not near."""
    covered, plain_error = 0, 0.0
    for seed in range(200):
        people, judge = world(seed, 1000, 0.15, share)
        found = corrected_mean(list(zip(judge[:100], people[:100], strict=True)), judge[100:])
        truth = sum(people) / len(people)
        covered += found.low <= truth <= found.high
        plain_error += sum(judge) / len(judge) - truth
    assert covered >= 190
    assert plain_error / 200 == pytest.approx(0.15 * (1 - 2 * share), abs=0.005)


@pytest.mark.parametrize(("share", "n_clusters"), [(0.5, 10), (0.8, 15)])
def test_clusters_are_independent_and_not_their_cases(share: float, n_clusters: int) -> None:
    """Truth and a judge's errors that are alike within clusters: 93 % of 150 worlds are covered, without the clusters' names far fewer."""
    source, covered, naive = random.Random(3), 0, 0
    for _ in range(150):
        names = [at for at in range(n_clusters) for _ in range(15)]
        right, wrong = ([source.betavariate(mean, 1 - mean) for _ in range(n_clusters)] for mean in (share, 0.15))
        people = [float(source.random() < right[name]) for name in names]
        judge = [1 - said if source.random() < wrong[name] else said for said, name in zip(people, names, strict=True)]
        order = source.sample(range(len(names)), len(names))
        both, others = [(judge[at], people[at]) for at in order[:60]], [judge[at] for at in order[60:]]
        found, plain = corrected_mean(both, others, clusters=[names[at] for at in order]), corrected_mean(both, others)
        assert found.estimate == plain.estimate
        covered += (found.low or 0) <= share <= (found.high or 0)
        naive += (plain.low or 0) <= share <= (plain.high or 0)
    assert covered >= 0.93 * 150
    assert naive < 0.8 * 150


def test_a_good_judge_shortens_and_a_blind_one_does_not_harm() -> None:
    """The width beside that of the labels alone."""

    def width(judge: list[float], people: list[float]) -> float:
        both = list(zip(judge[:100], people[:100], strict=True))
        found, alone = corrected_mean(both, judge[100:]), corrected_mean(both)
        assert None not in (found.low, found.high, alone.low, alone.high)
        return (found.high - found.low) / (alone.high - alone.low)  # type: ignore[operator]

    people, good = world(1, 2000, 0.05, 0.6)
    assert width(good, people) < 0.65
    blind = [float(random.Random(seed).random() < 0.5) for seed in range(len(people))]
    assert width(blind, people) < 1.05


def test_an_interval_within_the_scale() -> None:
    """Two labels have an interval wider than all shares: it is cut to the scale of scores or differences, but not for other values."""
    wide = corrected_mean([(1, 1), (0, 0.5)], [1, 0])
    assert (wide.low or 0) < -1
    shares, differences = cut_to_scale(wide, [0, 0.5, 1]), cut_to_scale(wide, [-0.5, 1], least=-1)
    assert [(shares.low, shares.high), (differences.low, differences.high)] == [(0, 1), (-1, 1)]
    assert shares.estimate == differences.estimate == wide.estimate
    assert cut_to_scale(wide, [0, 1, 5]) == cut_to_scale(wide, [-0.5, 1]) == wide


def test_equal_scores_have_a_note() -> None:
    """t has no interval, never +-0, a bounded one Wilson's width; the bootstrap cannot know what it has not seen. Each says so."""
    for scores, why in (([0.4], "one score"), ([2.5, 2.5, 2.5], "all scores are equal")):
        found = t_interval(scores)
        assert (found.low, found.high, found.se) == (None, None, None if len(scores) == 1 else 0.0)
        assert why in found.note
    for level, successes in ((1.0, 30), (0.5, 15)):
        found = bounded_interval([level] * 30)
        assert (found.low, found.high) == pytest.approx(wilson_interval(successes, 30))
        assert "all scores are equal" in found.note
    for method in ("percentile", "basic", "bca"):
        # The sum of twelve times 0.3 is not 3.6, so that means of resamples lie beside it.
        found = bootstrap_interval([0.3] * 12, method=method)
        assert (found.low, found.estimate, found.high, found.se) == (0.3, 0.3, 0.3, 0.0)
        assert "no resample differs" in found.note


def test_scores_that_do_not_vary() -> None:
    """Their errors are 0, with the degrees of freedom of the clusters; of one cluster, or of one score, nothing is known of a spread."""
    level = clustered_se([0.3] * 6, list("aabbcc"))
    assert (level.naive, level.cr0, level.cr1, level.cr2, level.miller, level.df, level.note) == (0, 0, 0, 0, 0, pytest.approx(2), "")
    one, alone = clustered_se([0.25, 0.75], ["a", "a"]), clustered_se([0.25], ["a"])
    assert (one.mean, one.n, one.n_clusters, one.naive, one.cr2, one.df) == (0.5, 2, 1, pytest.approx(0.25), None, None)
    assert (alone.naive, alone.cr0, alone.note) == (None, None, ONE_CLUSTER)
    found = clustered_interval([0.1, 0.9, 0.5], ["a", "a", "a"])
    assert (found.low, found.high, found.se) == (None, None, None)
    assert "one cluster" in found.note


def test_interval_has_clusters_minus_one_degrees_of_freedom() -> None:
    """Three clusters of one size: 4.303 standard errors to each side; of unlike sizes it is wider."""
    found = clustered_interval([*SCORES, 0.7], [*GROUPS, 2])
    assert (found.high - found.low) / 2 == pytest.approx(4.302653 * found.se)
    unlike = clustered_interval(SCORES, GROUPS)
    assert (unlike.high - unlike.low) / 2 > 4.32 * unlike.se


@pytest.mark.parametrize(("scores", "method"), [
    ([1, 0, 1], "wilson"), ([0.5, 0, 1], "bounded"), ([0.5, 3, 1], "t"), ([True, False], "wilson"), ([-0.1, 0.2], "t"),
])  # fmt: skip
def test_auto_picks_by_the_scores(scores: list[float], method: str) -> None:
    """0/1 scores get Wilson, scores in [0, 1] the bounded interval, all others t."""
    assert score_interval(scores).method == method
    assert confidence_interval(scores) == score_interval(scores)


@pytest.mark.parametrize("scores", [[1.0] * 20, [0.0] * 20, [1.0, 0.0] * 10, [0.4, 0.6, 0.5], [0.7] * 9])
def test_one_cluster_counts_as_one_score(scores: list[float]) -> None:
    """Its mean has an interval in [0, 1], at least as wide as that of one right or wrong answer is at its narrowest, and a note."""
    found = clustered_score_interval(scores, ["a"] * len(scores))
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.estimate <= found.high <= 1
    assert found.high - found.low >= 0.79
    assert (found.se, "one cluster" in found.note) == (None, True)


def test_the_fewest_clusters() -> None:
    """Clusters of one case each are no clusters; labels of a single cluster show nothing of the others."""
    both, others = [(1.0, 1.0), (0.0, 0.0), (1.0, 0.0)], [1.0, 0.0]
    assert corrected_mean(both, others, clusters="abcde") == corrected_mean(both, others)
    for clusters in ("aaaaa", "aaabb"):
        found = cut_to_scale(corrected_mean(both, others, clusters=clusters), [0, 1])
        assert (found.low, found.high) == (0, 1)
