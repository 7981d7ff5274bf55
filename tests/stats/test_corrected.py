"""A judge's mean corrected by labels of people: how often the interval holds the truth, and what it gains."""

import random

import pytest

from evalsuite.stats.intervals import corrected_mean, cut_to_scale
from evalsuite.stats.samples import StatsError


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
        assert found.low is not None
        assert found.high is not None
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


def test_what_cannot_be_corrected() -> None:
    """Less than two labels, or what is no number, is refused."""
    with pytest.raises(StatsError, match="at least 2 labels"):
        corrected_mean([(1, 1)])
    with pytest.raises(StatsError):
        corrected_mean([(1, 1), (0, float("nan"))])
