"""Several samples a question: pass@k and pass^k counted one by one, and a split of the noise that finds what was put in."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.analysis.leaderboard.reliability import ModelSamples
from evalsuite.reports.analysis_documents import noise_words
from evalsuite.stats.intervals import clustered_score_interval, clustered_se, count_repeats
from evalsuite.stats.samples import StatsError
from tests.properties import examples


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
    assert noisy.samples_to_halve is not None
    between, within = noisy.question_variance, noisy.sample_variance
    assert between is not None
    assert within is not None
    before, after = between + within / 4, between + within / (4 + noisy.samples_to_halve)
    assert after <= before / 4 < between + within / (3 + noisy.samples_to_halve)
    steady = count_repeats((0.5 + rng.normal(0, 0.3, 200)[:, None] + rng.normal(0, 0.02, (200, 4))).tolist())
    assert (steady.samples_to_halve, steady.questions_to_halve) == (None, 600)
    # The questions make a quarter of the variance: no number of samples leaves nothing of their own.
    assert count_repeats([[-5.0, -2.0, 1.0], [-3.0, 0.0, 3.0], [-1.0, 2.0, 5.0]]).samples_to_halve is None


def test_nothing_is_refused_and_sameness_is_not_split() -> None:
    """No question is an error; samples that are all alike have no variance to split."""
    with pytest.raises(StatsError):
        count_repeats([])
    assert count_repeats([[1, 1], [1, 1]]).question_share is None
