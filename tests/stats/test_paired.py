"""Paired tests: recorded values of scipy 1.17 and statsmodels 0.15, a brute-force model, and what must hold of every p-value."""

import itertools
import math
from typing import Any

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.stats import significance
from evalsuite.stats.samples import StatsError, decimals, differences
from evalsuite.stats.significance import PairedTest, mcnemar, mcnemar_counts, paired_bootstrap, paired_t, sign_flip, wilcoxon
from tests.properties import examples

A = [0.9, 0.4, 0.7, 0.3, 0.8, 0.6, 0.5, 0.95]
B = [0.7, 0.5, 0.6, 0.3, 0.5, 0.4, 0.55, 0.9]
TESTS = [paired_t, sign_flip, wilcoxon, paired_bootstrap]
pairs = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=2, max_size=9).map(
    lambda rows: ([x / 8 for x, _ in rows], [y / 8 for _, y in rows])
)


@pytest.mark.parametrize(
    ("b", "c", "exact", "mid"),
    [
        (0, 0, 1.0, 1.0),
        (0, 5, 0.0625, 0.03125),
        (3, 9, 0.14599609375, 0.09228515625),
        (1, 9, 0.021484375, 0.01171875),
        (12, 30, 0.007915897334896727, 0.0054015726545912895),
        (600, 700, 0.0060157938610449395, 0.005543558709501235),
        (5, 5, 1.0, 1.0),
    ],
)
def test_mcnemar_equals_statsmodels(b: int, c: int, exact: float, mid: float) -> None:
    """Exact and mid-p of discordant counts, few and many."""
    found = mcnemar_counts(b, c)
    assert (found["exact_p"], found["mid_p"]) == pytest.approx((exact, mid))
    assert mcnemar_counts(c, b)["exact_p"] == found["exact_p"]


@pytest.mark.parametrize("n", range(21, 40))
def test_no_p_is_below_what_flips_can_reach(n: int) -> None:
    """Of n differences of one sign on no grid it is 2 / 2^n, one-sided half of that, and 1 on the other side."""
    a, zeros = [math.sqrt(at) for at in range(1, n + 1)], [0.0] * n
    for p, least in ((sign_flip(a, zeros).p, 2.0 ** (1 - n)), (sign_flip(zeros, a, alternative="less").p, 2.0**-n)):
        assert least <= p <= least * 1.0001
    assert sign_flip(a, zeros, alternative="less").p == pytest.approx(1)


def test_mcnemar_counts_who_alone_was_right() -> None:
    """Of five instances a alone is right on two, b alone on one."""
    found = mcnemar([1, 1, 1, 0, 0], [1, 0, 0, 1, 0])
    assert (found.details["b"], found.details["c"], found.difference) == (2, 1, pytest.approx(0.2))
    assert mcnemar_counts(0, 1001)["exact_p"] == 2.0**-1000
    for counts in ((-1, 0), (0, -1)):
        with pytest.raises(StatsError, match="discordant pairs"):
            mcnemar_counts(*counts)
    none = {"b": 0, "c": 0, "exact_p": 1.0, "mid_p": 1.0, "chi2": 0.0, "chi2_p": 1.0, "chi2_corrected": 0.0, "chi2_corrected_p": 1.0}
    assert mcnemar_counts(0, 0) == none
    with pytest.raises(StatsError, match="0 and 1"):
        mcnemar([0.5], [1])


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_paired_t_equals_scipy(alternative: Any) -> None:
    """ttest_rel, two-sided and one-sided, with the two-sided interval and the degrees of freedom."""
    found, expected = paired_t(A, B, alternative=alternative, confidence=0.9), scipy.stats.ttest_rel(A, B, alternative=alternative)
    assert (found.statistic, found.p, found.details) == (pytest.approx(expected.statistic), pytest.approx(expected.pvalue), {"df": 7})
    assert found.interval is not None
    ends = scipy.stats.ttest_rel(A, B).confidence_interval(0.9)
    assert (found.interval.low, found.interval.high) == pytest.approx((ends.low, ends.high))


def test_sign_flip_equals_the_full_enumeration() -> None:
    """scipy's permutation test over all 256 signs."""
    found = sign_flip(A, B)
    assert found.p == pytest.approx(0.15625)
    assert (found.seed, found.method) == (None, "exact sign-flip permutation")


def brute_force(a: list[float], b: list[float], alternative: str) -> float:
    """The obviously right p-value: every sign of every difference, in eighths."""
    apart = [round((x - y) * 8) for x, y in zip(a, b, strict=True)]
    sums = [sum(s * d for s, d in zip(signs, apart, strict=True)) for signs in itertools.product((1, -1), repeat=len(apart))]
    less, greater = (sum(s <= sum(apart) for s in sums) / len(sums), sum(s >= sum(apart) for s in sums) / len(sums))
    return {"less": less, "greater": greater, "two-sided": min(1.0, 2 * min(less, greater))}[alternative]


@given(pairs, st.sampled_from(["two-sided", "less", "greater"]))
@examples(60)
def test_sign_flip_is_the_brute_force_one(sample: tuple[list[float], list[float]], alternative: str) -> None:
    """The folded distribution and the enumeration of sums both equal the plain model."""
    expected = brute_force(*sample, alternative)
    assert sign_flip(*sample, alternative=alternative).p == pytest.approx(expected)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(significance, "EXACT_CELLS", 0)
        assert sign_flip(*sample, alternative=alternative).p == pytest.approx(expected)


def test_no_p_stops_at_a_number_of_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes on no grid: 24 and 200 of one sign give what counting gives, down to 1e-12, and what balances gives 1."""
    monkeypatch.setattr(significance, "EXACT_CELLS", 0)
    assert sign_flip([1.0] * 24, [0.0] * 24).p == pytest.approx(2.0**-23, rel=1e-3)
    sizes = [0.1 + (i * 0.6180339887) % 1 for i in range(200)]
    assert sign_flip(sizes, [0.0] * 200).p == pytest.approx(2e-12)
    assert sign_flip([0.0] * 200, sizes, alternative="greater").p == 1.0
    assert sign_flip(sizes + [0.0] * 200, [0.0] * 200 + sizes).p == 1.0


def test_ties_hidden_by_rounding_are_found() -> None:
    """0.3 - 0.1 and 0.4 - 0.2 are one difference, also on a scale of hundreds, and none of them is a negative zero."""
    assert [math.copysign(1, value) for value in differences([0.3 - 0.1, 0.2], [0.2, 0.3 - 0.1])] == [1, 1]
    assert len(set(differences([0.3, 0.4, 0.7], [0.1, 0.2, 0.5]))) == 1
    assert len(set(differences([30.3, 40.4], [10.1, 20.2]))) == 1


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("sample", [[0.5, 0.25, 1.0], [1.0, 0.0, 1.0, 1.0], [0.3]])
def test_identical_samples_have_p_one(test: object, sample: list[float]) -> None:
    """No difference is p = 1 with a note, and no crash."""
    found: PairedTest = test(sample, sample)  # type: ignore[operator]
    assert (found.p, found.difference) == (1.0, 0.0)
    assert found.note == "no differences"


@given(pairs)
@examples(40)
def test_p_is_a_probability_and_does_not_mind_the_order(sample: tuple[list[float], list[float]]) -> None:
    """p lies in [0, 1]; swapping a and b keeps it and turns the difference round."""
    a, b = sample
    for test in (paired_t, sign_flip, wilcoxon):
        there, back = test(a, b), test(b, a)
        assert 0 <= there.p <= 1
        assert there.p == pytest.approx(back.p, abs=1e-12)
        assert there.difference == pytest.approx(-back.difference)
        less, greater = test(a, b, alternative="less").p, test(b, a, alternative="greater").p
        assert less == pytest.approx(greater, abs=1e-12)


def test_lengths_must_agree() -> None:
    """Paired tests never shorten."""
    with pytest.raises(StatsError, match="3 scores against 2"):
        sign_flip([1, 2, 3], [1, 2])


@pytest.mark.parametrize(
    ("values", "digits"),
    [([], 9), ([0], 9), ([1], 9), ([-1, 0.5], 9), ([0.1], 10), ([0.01], 11), ([2], 8), ([10], 8), ([-100], 7), ([1000, 3], 6)],
)
def test_significant_decimals(values: list[float], digits: int) -> None:
    """A billionth of the largest value is the last decimal that counts: nine for values up to 1."""
    assert decimals(values) == digits


@pytest.mark.parametrize("shift", [0.0, 0.02, 0.2])
def test_signs_on_a_grid_give_the_exact_p(monkeypatch: pytest.MonkeyPatch, shift: float) -> None:
    """24 differences rounded to the grid: within 0.5 % of the exact p (rounding parts equal sums), whatever the sides; none is drawn."""
    a, b = A * 3, [y - 0.02 * i + shift for i, y in enumerate(B * 3)]
    sides: list[Any] = ["two-sided", "less", "greater"]
    exact = [sign_flip(a, b, alternative=side).p for side in sides]
    monkeypatch.setattr(significance, "EXACT_CELLS", 0)
    found = [sign_flip(a, b, alternative=side) for side in sides]
    assert [one.p for one in found] == pytest.approx(exact, rel=5e-3)
    assert {(one.method, one.seed, one.n_resamples) for one in found} == {("sign-flip permutation", None, None)}
