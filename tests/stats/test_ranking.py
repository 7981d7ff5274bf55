"""Rankings, repeated samples and agreement: clear cases, recorded values, plain loops, and what must hold of each."""

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.analysis.leaderboard.reliability import ModelSamples
from evalsuite.reports.analysis_documents import noise_words
from evalsuite.stats.agreement import cohen_kappa, confusion, fleiss_kappa, krippendorff_alpha
from evalsuite.stats.intervals import clustered_score_interval, clustered_se, count_repeats, draw_indices, wilson_interval
from evalsuite.stats.ranking import rank_submissions
from evalsuite.stats.samples import StatsError, competition_ranks
from evalsuite.stats.significance import adjust, clustered_p, mcnemar, paired_t
from tests.properties import examples


def made(*shares: float, n: int = 200, seed: int = 0) -> list[list[float]]:
    """0/1 submissions with these chances to be right, over the same n instances of differing difficulty."""
    rng = np.random.default_rng(seed)
    hard = rng.random(n)
    return [[float(x) for x in (0.7 * hard + 0.3 * rng.random(n) < share)] for share in shares]


def test_clear_order_is_sure_and_a_close_pair_shares() -> None:
    """Of .9, .6, .58 and .2 the first and last stand alone, the two between share 2-3."""
    found = rank_submissions(made(0.9, 0.6, 0.58, 0.2), n_resamples=2000)
    first, second, third, last = found.submissions
    assert (first.rank, first.low_rank, first.high_rank, first.p_first) == (1, 1, 1, 1.0)
    assert (first.shared_from, first.shared_to) == (1, 1)
    assert (second.shared_from, second.shared_to) == (third.shared_from, third.shared_to) == (2, 3)
    assert (last.rank, last.shared_from, last.shared_to) == (4, 4, 4)
    assert found.test == "exact McNemar"
    assert (found.family, found.correction, found.seed, found.n_resamples) == (6, "holm", 12345, 2000)
    assert 0.6 < found.tau <= 1


def test_identical_submissions_share_everything() -> None:
    """Three copies: rank 1 all, 1-3 shared and possible for each, none beats another, no order to correlate."""
    found = rank_submissions([made(0.5)[0]] * 3, n_resamples=500)
    assert {(s.rank, s.low_rank, s.high_rank, s.shared_from, s.shared_to, s.p_first) for s in found.submissions} == {(1, 1, 3, 1, 3, 1.0)}
    assert found.p_beats == ((0.0,) * 3,) * 3
    assert found.tau is None


@pytest.mark.parametrize("names", [None, "aaabbcccccddefghhhiijkkl", "abcdefghijklmnopqrstuvwx"])
@pytest.mark.parametrize("values", [(0, 1), (0, 0.5, 1), (-1, 3, 8)])
@pytest.mark.parametrize("falling", [False, True])
def test_a_board_is_that_of_plain_loops(values: tuple[float, ...], names: str | None, falling: bool) -> None:
    """p pair by pair, places, wins and tau are those of plain loops, whether instances or groups are drawn, with either end the best."""
    rng = np.random.default_rng(7)
    shares = [0.5, 0.97, 0.1, 0.9, 0.6, 0.9, 0.03]
    rows = [[values[round((random < share) * rng.integers(1, len(values)))] for random in rng.random(24)] for share in shares]
    # A copy, and one of the same mean.
    rows[3], rows[0] = rows[5], rows[5][::-1]
    found = rank_submissions(rows, n_resamples=20, clusters=names, higher_is_better=not falling)
    pairs, table = [(i, j) for i in range(7) for j in range(i)], np.asarray(rows) * (-1 if falling else 1)
    groups = [[at for at, name in enumerate(names or range(24)) if name == one] for one in dict.fromkeys(names or range(24))]
    if names:
        flips = np.array(list(product((1, -1), repeat=len(groups)))) if len(groups) < 14 else None
        totals = np.array([table[:, group].sum(axis=1) for group in groups]).T
        sizes = list(map(len, groups))
        raw = [
            clustered_p((totals[i] - totals[j]).tolist(), sizes, 8)
            if flips is None
            else float(np.mean(np.abs(flips @ (totals[i] - totals[j])) >= abs(sum(totals[i] - totals[j])) - 1e-9))
            for i, j in pairs
        ]
    else:
        raw = [mcnemar(rows[i], rows[j]).p if values == (0, 1) else least_t(rows[i], rows[j]) for i, j in pairs]
    assert found.test == ("sign flips of whole clusters" if names else "exact McNemar" if values == (0, 1) else "paired t")
    assert [found.p_values[i][j] for i, j in pairs] == pytest.approx(adjust(raw, "holm"), abs=1e-9)
    assert [found.p_values[j][i] for i, j in pairs] == pytest.approx(adjust(raw, "holm"), abs=1e-9)
    places = [[at for one in draw for at in groups[one]] for block in draw_indices(len(groups), 20, 12345) for draw in block]
    drawn = [np.round(table[:, at].mean(axis=1), 12) for at in places]
    means = np.round(table.mean(axis=1), 12)
    for i, one in enumerate(found.submissions):
        assert (one.rank, one.mean) == (1 + sum(means > means[i]), pytest.approx(np.mean(rows[i])))
        assert one.p_first == np.mean([not any(row > row[i]) for row in drawn])
        assert found.p_beats[i] == pytest.approx([np.mean([row[i] > row[j] for row in drawn]) for j in range(7)])
        others = [j for j in range(7) if j != i]
        alone = adjust([raw[pairs.index((max(i, j), min(i, j)))] for j in others], "holm")
        for p_values, places_left in (
            (alone, (one.low_rank, one.high_rank)),
            ([found.p_values[i][j] for j in others], (one.shared_from, one.shared_to)),
        ):
            apart = [j for j, p in zip(others, p_values, strict=True) if p <= 0.05]
            assert places_left == (1 + sum(means[apart] > means[i]), 7 - sum(means[apart] < means[i]))
    taus = [scipy.stats.kendalltau(row, means).statistic for row in drawn]
    assert found.tau == pytest.approx(np.nanmean(taus))
    assert (found.family, found.n, found.seed, found.n_resamples) == (21, 24, 12345, 20)


def least_t(a: Sequence[float], b: Sequence[float]) -> float:
    """The p of Student's t, never below what flips of the signs can reach."""
    changed = sum(round(x - y, 9) != 0 for x, y in zip(a, b, strict=True))
    return max(paired_t(a, b).p, min(1.0, 2.0 ** (1 - changed)))


def test_all_pairs_at_once_are_the_pairs_one_by_one() -> None:
    """The block-wise paired t is `paired_t`, never below what flips reach; also for copies, constant differences and a single instance."""
    rows = np.round(np.random.default_rng(6).random((5, 12)), 2)
    rows = [*rows.tolist(), rows[0].tolist(), (rows[1] + 0.25).tolist()]
    for scores in (rows, *([row[:n] for row in rows] for n in (1, 2, 3))):
        matrix = rank_submissions(scores, correction="bonferroni", n_resamples=1).p_values
        pairs = [(i, j) for i in range(7) for j in range(i)]
        expected = adjust([least_t(scores[i], scores[j]) for i, j in pairs], "bonferroni")
        assert [matrix[i][j] for i, j in pairs] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("ask", "why"), [
    (lambda: rank_submissions([]), ""), (lambda: rank_submissions([[1, 0], [1]]), ""),
    (lambda: rank_submissions([[1, 0]], confidence=95), "confidence must be between 0 and 1, not 95"),
    (lambda: count_repeats([]), ""), (lambda: krippendorff_alpha([[1, 2], [1]]), "same number"),
    (lambda: krippendorff_alpha([[1, 2], [1, math.nan]]), "NaN"),
    # A ratio of -1 and 1 would divide by zero.
    (lambda: krippendorff_alpha([[1, 2], [-1, 2]], level="ratio"), "at least 0"),
    *((partial(fleiss_kappa, rows), "same number") for rows in ([[1, 1], [1]], [[1], [1]], [])),
    (lambda: confusion([1, 2], [1, 1], labels=[1]), "not listed"), (lambda: confusion([1], [1, 2]), "1 label against 2"),
    (lambda: confusion([], []), "no labels"),
])  # fmt: skip
def test_what_cannot_be_ranked_or_agree_is_refused(ask: Callable[[], object], why: str) -> None:
    """Nothing, unequal lengths, and values that cannot be."""
    with pytest.raises(StatsError, match=why or None):
        ask()


def test_one_submission_is_first() -> None:
    """A board of one has no pair; samples that are all alike have no variance to split."""
    assert count_repeats([[1, 1], [1, 1]]).question_share is None
    only = rank_submissions([[1, 0, 1]], n_resamples=100)
    assert (only.submissions[0].rank, only.family, only.submissions[0].p_first) == (1, 0, 1.0)


def told_apart(n_draws: int, *, n_clusters: int | None, graded: bool, n: int = 60, n_submissions: int = 6) -> float:
    """The share of boards of equally good submissions on which some pair is told apart.

    With clusters each submission is better at whole clusters by chance, as two models of different training are.
    """
    rng = np.random.default_rng([n_draws, n_clusters or 0, graded])
    at = np.arange(n) % (n_clusters or n)
    calls = 0
    for _ in range(n_draws):
        hard = 0.5 * rng.random(n)
        lean = rng.normal(0, 0.4, (n_submissions, n_clusters))[:, at] if n_clusters else 0.0
        drawn = hard + lean + rng.normal(0, 0.3, (n_submissions, n))
        rows = (np.clip(drawn, 0, 1) if graded else (drawn > 0.3).astype(float)).tolist()
        p_values = rank_submissions(rows, n_resamples=1, clusters=at.tolist() if n_clusters else None).p_values
        calls += min(p for row in p_values for p in row) <= 0.05
    return calls / n_draws


BOARDS = [(None, False), (None, True), (6, False), (10, True), (12, False), (20, False), (20, True)]
IN_LINE = BOARDS[1:6:2]


@pytest.mark.parametrize(
    ("n_clusters", "graded", "n_boards"),
    [*((*one, 100) for one in IN_LINE), *(pytest.param(*one, 1000, marks=pytest.mark.slow) for one in BOARDS)],
)
def test_equal_submissions_are_rarely_told_apart(n_clusters: int | None, graded: bool, n_boards: int) -> None:
    """Of boards of six equal submissions, clustered or not, at most 6 % tell some pair apart (of 100: three standard errors more)."""
    share = told_apart(n_boards, n_clusters=n_clusters, graded=graded)
    print(f"{n_clusters or 'no':>3} clusters {'graded' if graded else '0/1':6}  {100 * share:.1f} %")
    assert share <= 0.06 + (3 * (0.06 * 0.94 / 100) ** 0.5 if n_boards == 100 else 0)


@pytest.mark.parametrize(("n", "records"), [(2, 5), (2, 20), (3, 10), (4, 1)])
def test_few_graded_instances_tell_nobody_apart(n: int, records: int) -> None:
    """Six equal submissions over two to four instances, means of few records: no p is below what so few can show."""
    rng = np.random.default_rng([n, records])
    for _ in range(50):
        rows = rng.integers(0, records + 1, (6, n)) / records
        p_values = rank_submissions(rows.tolist(), n_resamples=1).p_values
        assert min(p for row in p_values for p in row) > 0.05


def true_ranks_held(n_boards: int, *, n: int, n_submissions: int = 30) -> tuple[float, float, float]:
    """(share of rank intervals that hold the true rank, their mean width, that of the shared ranks) over boards with ties in truth."""
    rng = np.random.default_rng([n_boards, n])
    true = np.sort(rng.uniform(0.2, 0.8, n_submissions))[::-1]
    true[5:8] = true[5]
    held, own, shared = 0, 0, 0
    for _ in range(n_boards):
        hard = rng.random(n)
        found = rank_submissions([(0.7 * hard + 0.3 * rng.random(n) < share).astype(float).tolist() for share in true], n_resamples=10)
        for i, place in enumerate(found.submissions):
            first, last = 1 + int((true > true[i]).sum()), n_submissions - int((true < true[i]).sum())
            held += place.low_rank <= first and last <= place.high_rank
            own += place.high_rank - place.low_rank
            shared += place.shared_to - place.shared_from
    return tuple(value / n_boards / n_submissions for value in (held, own, shared))  # type: ignore[return-value]


@pytest.mark.parametrize(("n_boards", "n"), [(2, 200), *(pytest.param(100, n, marks=pytest.mark.slow) for n in (100, 500))])
def test_rank_intervals_hold_the_true_ranks_of_30_teams(n_boards: int, n: int) -> None:
    """At least 95 % of them, ties included, and they are narrower than the places that all pairs leave open."""
    held, own, shared = true_ranks_held(n_boards, n=n)
    print(f"30 teams, {n} instances: {100 * held:.1f} % hold, {own:.1f} places wide; shared ranks {shared:.1f}")
    assert held >= 0.95
    assert own < shared


@pytest.mark.parametrize(("scores", "method", "ranks"), [
    ([9, 8, 8, 7], "min", [1, 2, 2, 4]), ([9, 8, 8, 7], "dense", [1, 2, 2, 3]), ([9, 8, 8, 7], "average", [1, 2.5, 2.5, 4]),
    ([0.1, 0.1, 0.1], "min", [1, 1, 1]), ([0.1, 0.1, 0.1], "average", [2, 2, 2]), ([], "min", []),
])  # fmt: skip
def test_equal_scores_share_a_rank(scores: list[float], method: str, ranks: list[float]) -> None:
    """Three ways to share, as scipy's rankdata; an error rate ranks the other way round."""
    assert (
        competition_ranks(scores, method=method) == competition_ranks([-x for x in scores], method=method, higher_is_better=False) == ranks
    )


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=5), min_size=1, max_size=5))
@examples(60)
def test_passes_are_those_of_all_choices(questions: list[list[float]]) -> None:
    """pass@k and pass^k are the shares of all choices of k samples with one right, and with all right."""
    for passes in count_repeats(questions).passes:
        chosen = [list(itertools.combinations(row, passes.k)) for row in questions]
        assert passes.any == pytest.approx(np.mean([np.mean([max(some) for some in row]) for row in chosen]))
        assert passes.all == pytest.approx(np.mean([np.mean([min(some) for some in row]) for row in chosen]))


def test_questions_of_a_cluster_count_together() -> None:
    """Means, pass@k and pass^k have the interval and error over clusters: questions of two clusters that are alike count as two."""
    found = count_repeats([[1, 1], [1, 1], [0, 1], [0, 1]], clusters=list("aabb"))
    for interval, values in (
        ((found.interval.low, found.interval.high), [1, 1, 0.5, 0.5]),
        (found.passes[1].any_interval_95, [1] * 4),
        (found.passes[1].all_interval_95, [1, 1, 0, 0]),
    ):
        expected = clustered_score_interval(values, list("aabb"))
        assert interval == (expected.low, expected.high)
    assert found.passes[1].all_se == clustered_se([1, 1, 0, 0], list("aabb")).cr2
    # The means differ by cluster alone: that is no noise of the samples, and more questions of these clusters would not remove it.
    assert (found.question_share, found.n_clusters, found.samples_to_halve) == (pytest.approx(0.5), 2, None)
    *_, last = noise_words(ModelSamples(model="m", runs=(), numbers=found))
    assert last == "m: 12 more questions in new clusters halve the width; no number of samples does"
    apart = count_repeats([[1, 1], [1, 1], [0, 1], [0, 1]])
    assert (apart.question_share, apart.n_clusters, apart.samples_to_halve) == (0, None, 6)
    # One cluster says nothing of the spread of clusters.
    one = count_repeats([[1, 1], [0, 1], [0, 0]], clusters=list("aaa"))
    assert (one.interval.se, one.question_share, one.n_clusters, one.samples_to_halve) == (None, None, 1, None)
    *_, last = noise_words(ModelSamples(model="m", runs=(), numbers=apart))
    assert last == "m: 12 more questions halve the width, or 6 more samples of each question"


@pytest.mark.parametrize(("of_questions", "of_samples"), [(0.04, 0.01), (0.01, 0.09), (0.0, 0.05)])
def test_the_split_finds_the_variances_that_were_put_in(of_questions: float, of_samples: float) -> None:
    """Over 4,000 questions of 5 samples both variances come back to a tenth, and the shares with them."""
    rng = np.random.default_rng(1)
    scores = 0.5 + rng.normal(0, math.sqrt(of_questions), 4000)[:, None] + rng.normal(0, math.sqrt(of_samples), (4000, 5))
    found = count_repeats(scores.tolist())
    assert found.question_variance == pytest.approx(of_questions, rel=0.1, abs=0.001)
    assert found.sample_variance == pytest.approx(of_samples, rel=0.1)
    assert found.question_share == pytest.approx(of_questions / (of_questions + of_samples / 5), abs=0.05)


def test_what_halves_the_width_does() -> None:
    """With as many more samples as are named, a quarter of the variance is left; where questions alone make more, none is named."""
    rng = np.random.default_rng(2)
    noisy = count_repeats((0.5 + rng.normal(0, 0.02, 200)[:, None] + rng.normal(0, 0.3, (200, 4))).tolist())
    between, within = noisy.question_variance, noisy.sample_variance
    before, after = between + within / 4, between + within / (4 + noisy.samples_to_halve)
    assert after <= before / 4 < between + within / (3 + noisy.samples_to_halve)
    steady = count_repeats((0.5 + rng.normal(0, 0.3, 200)[:, None] + rng.normal(0, 0.02, (200, 4))).tolist())
    assert (steady.samples_to_halve, steady.questions_to_halve) == (None, 600)
    # The questions make a quarter of the variance: no number of samples leaves nothing of their own.
    assert count_repeats([[-5.0, -2.0, 1.0], [-3.0, 0.0, 3.0], [-1.0, 2.0, 5.0]]).samples_to_halve is None


FIRST, SECOND = [1, 2, 3, 4, 5, 3, 2, 1, 4, 5], [1, 3, 3, 5, 5, 2, 2, 1, 3, 4]
THREE = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5],
]


@pytest.mark.parametrize(("found", "value"), [
    # Ten ratings, plain and weighted (scikit-learn); three raters with gaps, at four levels (krippendorff); six items (statsmodels).
    (cohen_kappa(FIRST, SECOND), 0.375),
    (cohen_kappa(FIRST, SECOND, weights="linear"), 0.6835443037974684),
    (cohen_kappa(FIRST, SECOND, weights="quadratic"), 0.8717948717948718),
    (krippendorff_alpha(THREE, level="nominal"), 0.6752577319587629),
    (krippendorff_alpha(THREE, level="ordinal"), 0.8048605240912934),
    (krippendorff_alpha(THREE, level="interval"), 0.8621041879468846),
    (krippendorff_alpha(THREE, level="ratio"), 0.7445566811992647),
    (fleiss_kappa([[1, 1, 2], [2, 2, 2], [1, 3, 3], [3, 3, 3], [1, 1, 1], [2, 1, 3]]), 0.4112149532710279),
    # Both raters say yes throughout.
    *(
        (one, None)
        for one in (cohen_kappa(["yes"] * 4, ["yes"] * 4), fleiss_kappa([["yes", "yes"]] * 4), krippendorff_alpha([[1, 1], [1, 1]]))
    ),
])  # fmt: skip
def test_agreement_equals_other_packages(found: Any, value: float | None) -> None:
    """Their values; where chance agrees fully there is none, with a reason and raw agreement 1."""
    assert found.value == (None if value is None else pytest.approx(value))
    assert value is not None or (found.observed == 1.0 and "chance agrees fully" in found.note)


def test_confusion_says_who_said_what() -> None:
    """Rows are the first rater, columns the second; order and labels as given; mixed labels still sort. Items rated once do not count."""
    found = confusion(["no", "yes", "yes"], ["yes", "yes", "no"], labels=["yes", "no"])
    assert (found.labels, found.counts) == (("yes", "no"), ((1, 1), (1, 0)))
    assert len(confusion(["a", 1], [None, 1]).labels) == 3
    plain = cohen_kappa(FIRST, SECOND)
    assert (plain.observed, plain.n, krippendorff_alpha([[1, 2, 3], [1, 2, None]]).n) == (0.5, 10, 2)
    nothing = krippendorff_alpha([[1, None], [None, 2]])
    assert (nothing.value, nothing.note, nothing.n, nothing.observed) == (None, "no item has two values", 0, 0)
    assert krippendorff_alpha([[0, 1], [0, 1]], level="ratio").value == 1


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=20), st.sampled_from([None, "linear", "quadratic"]))
def test_kappa_does_not_mind_the_order_of_raters(ratings: list[tuple[int, int]], weights: str | None) -> None:
    """Symmetric, at most 1, and 1 for a rater against itself where more than one label is used."""
    a, b = [x for x, _ in ratings], [y for _, y in ratings]
    there, back = cohen_kappa(a, b, weights=weights, labels=[1, 2, 3, 4]), cohen_kappa(b, a, weights=weights, labels=[1, 2, 3, 4])
    assert there.value == (None if back.value is None else pytest.approx(back.value))
    assert there.value is None or there.value <= 1
    own = cohen_kappa(a, a, weights=weights)
    assert own.value == (1.0 if len(set(a)) > 1 else None)


def test_weights_need_the_whole_scale() -> None:
    """A label nobody used still counts for distance: 1 and 5 lie four apart on 1..5 but one apart among the used ones."""
    assert cohen_kappa([1, 5, 3], [1, 3, 3], weights="quadratic", labels=[1, 2, 3, 4, 5]).value == pytest.approx(
        cohen_kappa([1, 5, 3], [1, 3, 3], weights="quadratic").value
    )
    spread = cohen_kappa([1, 2, 5], [1, 5, 5], weights="linear", labels=[1, 2, 3, 4, 5]).value
    assert spread != pytest.approx(cohen_kappa([1, 2, 5], [1, 5, 5], weights="linear").value)


def test_errors_are_over_questions() -> None:
    """pass@1 has the error of the questions' means, each counts once whatever its samples, and one that never passes may be missed."""
    found = count_repeats([[1, 1], [0, 1], [0, 0], [1, 1]])
    assert found.passes[0].any_se == pytest.approx(np.std([1, 0.5, 0, 1], ddof=1) / 2)
    assert count_repeats([[1, 0]]).passes[0].any_se is None
    assert found.passes[1].all_interval_95 == pytest.approx(wilson_interval(2, 4))
    # No interval is without width: five questions that all passed do not show that each will.
    assert count_repeats([[1, 1]] * 5).passes[1].any_interval_95 == pytest.approx(wilson_interval(5, 5))
    passes = count_repeats([[1] * 20] * 29 + [[1] * 8 + [0] * 12]).passes[9]
    low, high = passes.any_interval_95
    assert 0.9999 < passes.any < high < 1
    assert low == pytest.approx(0.904, abs=0.001)
    found = count_repeats([[1, 1, 1, 1], [0]])
    assert (found.interval.estimate, found.n_samples, len(found.passes)) == (0.5, (1, 4), 1)
