"""The short entry `significance_test`: which test, what it returns, and what must hold of every comparison."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.stats import significance_test
from evalsuite.stats.samples import StatsError
from evalsuite.stats.significance import interval_note
from tests.properties import examples

A = [0.9, 0.4, 0.7, 0.3, 0.8, 0.6, 0.5, 0.95]
B = [0.7, 0.5, 0.6, 0.3, 0.5, 0.4, 0.55, 0.9]


def test_says_everything_needed_to_repeat_it() -> None:
    """Name, statistic, p, effect, interval, counts, alpha, verdict and seed."""
    found = significance_test(A, B)
    assert (found.method, found.p, found.statistic) == ("exact sign-flip permutation", pytest.approx(0.15625), pytest.approx(0.0875))
    assert (found.n, found.wins, found.ties, found.losses) == (8, 5, 1, 2)
    assert (found.alpha, found.verdict, found.is_significant, found.seed) == (0.05, "no difference shown", False, None)
    assert found.effect == pytest.approx(1.79042103334258 / 8**0.5)
    assert found.interval.low == pytest.approx(-0.06614770327025747)  # of t with one more of each sign; t alone: -0.028


def test_zero_one_scores_get_mcnemar() -> None:
    """Nine flips one way, one back: significant at 5 %, not at 1 %; Bonett-Price around the difference."""
    a, b = [1] * 9 + [0] + [1] * 10, [0] * 9 + [1] + [1] * 10
    found = significance_test(a, b)
    assert (found.method, found.p, found.verdict) == ("exact McNemar", pytest.approx(0.021484375), "a is better")
    assert significance_test(b, a).verdict == "b is better"
    # Sixteen small gains have the ranks, one loss has their size.
    even = significance_test([0.0625] * 16 + [0.0], [0.0] * 16 + [1.0], method="wilcoxon")
    assert (even.difference, even.p < 0.01, even.verdict) == (0.0, True, "no difference shown")
    assert significance_test(a, b, 0.01).verdict == "no difference shown"
    at_alpha = significance_test([1, 1], [0, 0], 0.5)
    assert (at_alpha.p, at_alpha.is_significant, at_alpha.verdict) == (0.5, True, "a is better")
    assert found.interval.method == "Bonett-Price"
    # (9 + 1) / 22 - (1 + 1) / 22 +- 1.96 * sqrt((12 / 22 - (8 / 22)^2) / 22)
    assert (found.interval.low, found.interval.high) == pytest.approx((0.095022, 0.632251), abs=1e-5)


def test_each_method_by_name() -> None:
    """The named test is the one that runs; a drawn one shows its seed."""
    names = {"t": "paired t", "wilcoxon": "Wilcoxon", "bootstrap": "paired bootstrap", "permutation": "sign-flip"}
    for method, title in names.items():
        assert title in significance_test(A, B, method=method).method
    drawn = significance_test(A, B, method="bootstrap")
    assert (drawn.seed, drawn.n_resamples, drawn.interval.method) == (12345, 10_000, "bca bootstrap")
    with pytest.raises(StatsError, match="unknown test 'z'"):
        significance_test(A, B, method="z")
    with pytest.raises(StatsError, match="alpha must be between 0 and 1, not 5"):
        significance_test(A, B, 5)


levels = st.sampled_from([0.0, 0.2, 0.25, 1 / 3, 0.5, 2 / 3, 1.0])
binary = st.sampled_from([0.0, 1.0])


@given(st.one_of(*(st.lists(st.tuples(kind, kind), min_size=2, max_size=12) for kind in (levels, binary))))
@examples(60)
def test_comparisons_are_symmetric(pairs: list[tuple[float, float]]) -> None:
    """p in [0, 1], the interval holds the difference, counts add up, and swapping turns everything round."""
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    there, back = significance_test(a, b), significance_test(b, a)
    assert 0 <= there.p <= 1
    assert there.p == pytest.approx(back.p, abs=1e-12)
    assert there.wins + there.ties + there.losses == there.n == len(pairs)
    assert (there.wins, there.losses) == (back.losses, back.wins)
    assert there.interval.low - 1e-9 <= there.difference <= there.interval.high + 1e-9
    assert there.interval.low == pytest.approx(-back.interval.high, abs=1e-9)
    if a == b:
        assert there.p == 1.0


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.4), (-0.4, 0.0)])
def test_an_interval_that_ends_at_zero_contains_it(low: float, high: float) -> None:
    """So a significant difference next to it has a note, and one that is not significant has none."""
    assert "0" in interval_note(low, high, p=0.01, adjusted=0.01, alpha=0.05)
    assert interval_note(low, high, p=0.2, adjusted=0.2, alpha=0.05) == ""
