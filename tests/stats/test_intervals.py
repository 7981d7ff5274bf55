"""Closed-form intervals: what must hold of every one (values of statsmodels and scipy: `test_recorded_values`)."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.stats import confidence_interval
from evalsuite.stats.intervals import (
    bounded_interval,
    interval_of_units,
    named_interval,
    normal_interval,
    proportion_interval,
    score_interval,
    t_interval,
    wilson_interval,
)
from evalsuite.stats.samples import StatsError
from evalsuite.stats.significance import difference_interval
from tests.properties import examples

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


def test_t_interval_equals_scipy() -> None:
    """Ten skewed scores: scipy's t.interval."""
    found = t_interval(SKEWED)
    assert (found.low, found.high) == pytest.approx((0.07063001367651811, 0.5593699863234819))
    assert (found.estimate, found.n, found.method) == (pytest.approx(0.315), 10, "t")
    narrower = normal_interval(SKEWED)
    assert narrower.low > found.low
    assert narrower.high < found.high


def test_bounded_interval_knows_its_scale() -> None:
    """The same scores on 1..5 give the interval mapped to 1..5."""
    unit = bounded_interval(SKEWED)
    mapped = bounded_interval([1 + 4 * score for score in SKEWED], low=1, high=5)
    assert (mapped.low, mapped.high) == pytest.approx((1 + 4 * unit.low, 1 + 4 * unit.high))
    for scores, low, high in (([0.5, 1.5], 0, 1), ([-0.5, 0.5], 0, 1)):
        with pytest.raises(StatsError, match="are not in"):
            bounded_interval(scores, low=low, high=high)
    for low, high in ((1, 1), (1, 0), (math.nan, 1), (0, math.inf)):
        for interval in (bounded_interval, score_interval):
            with pytest.raises(StatsError, match=r"^low and high must be two numbers, the low one first, not "):
                interval([1.0, 1.0], low=low, high=high)


def test_short_entry_takes_each_method() -> None:
    """`confidence_interval` reaches every method by name, and clusters."""
    for method in ("bounded", "t", "normal"):
        assert confidence_interval(SKEWED, method=method).method == method
    for method in ("percentile", "basic", "bca"):
        found = confidence_interval(SKEWED, method=method)
        assert (found.seed, found.n_resamples) == (12345, 10_000)
    assert confidence_interval(SKEWED, 0.9, clusters=list("aabbccddee")).method == "clustered"
    assert confidence_interval([1, 1, 0, 1], method="wilson").low == pytest.approx(0.3006, abs=1e-4)
    with pytest.raises(StatsError, match="0 and 1"):
        confidence_interval(SKEWED, method="wilson")
    assert (interval_of_units(0.0, [0.0, 0.0]).low, interval_of_units(1.0, [1.0, 1.0]).high) == (0.0, 1.0)
    for successes, n in ((3, 2), (-1, 2), (0, 0)):
        with pytest.raises(StatsError, match=f"{successes} successes of {n}"):
            proportion_interval(successes, n)
    with pytest.raises(StatsError, match="unknown interval"):
        named_interval(SKEWED, "wald")


@pytest.mark.parametrize(
    ("scores", "why"),
    [
        ([], "no scores"),
        ([0.5, None], "score 1 of 2 is None"),
        ([float("nan")], "score 0 of 1 is nan"),
        ([float("inf"), 0.0], "score 0 of 2 is inf"),
        ([0.5, "1"], "scores must be numbers, not text"),
        ("10", "scores must be numbers, not text"),
    ],
)
def test_missing_and_endless_scores_are_refused(scores: list[float], why: str) -> None:
    """None, NaN, infinity and no scores at all are errors: an interval over them would be about something else."""
    with pytest.raises(StatsError, match=f"^{why}$"):
        confidence_interval(scores)


@pytest.mark.parametrize("effective", [0, -1, math.nan, math.inf])
def test_pairs_count_as_one_or_more(effective: float) -> None:
    """As no pair, and as endlessly many, they have no interval."""
    with pytest.raises(StatsError, match=f"^effective must be at least 1, not {effective}$"):
        difference_interval([1, 0], [0, 1], effective=effective)  # type: ignore[arg-type]


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.5, "0.95", None])
def test_confidence_is_a_share(confidence: float) -> None:
    """95 is an error, not 0.95."""
    for scores in ([0.1, 0.5], [0.5, 0.5], [0, 1], [2.0, 3.0]):
        with pytest.raises(StatsError, match="confidence"):
            confidence_interval(scores, confidence)


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


@pytest.mark.parametrize(("scores", "note"), [([0.4], "one score"), ([2.5, 2.5, 2.5], "all scores are equal")])
def test_t_is_undefined_without_variation(scores: list[float], note: str) -> None:
    """One score and equal scores have no interval, and a note says why: never +-0."""
    found = t_interval(scores)
    assert (found.low, found.high, found.se) == (None, None, None if len(scores) == 1 else 0.0)
    assert note in found.note
