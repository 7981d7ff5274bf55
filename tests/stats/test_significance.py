"""Tests of a difference against scipy, statsmodels and plain enumerations, and what must hold of every p-value."""

import itertools
import math
import re
import sys
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.stats import significance, significance_test
from evalsuite.stats.intervals import segment_bootstrap
from evalsuite.stats.samples import StatsError, decimals, differences
from evalsuite.stats.significance import (
    PairedTest,
    adjust,
    approximate_randomisation,
    difference_interval,
    interval_note,
    mcnemar,
    mcnemar_counts,
    paired_bootstrap,
    paired_t,
    segment_bootstrap_test,
    sign_flip,
    wilcoxon,
)
from tests.processes import finished
from tests.properties import examples

EXPECTED = {
    "holm": [0.04, 0.09, 0.09, 0.025, 0.2],
    "bonferroni": [0.05, 0.2, 0.15, 0.025, 1.0],
    "bh": [0.025, 0.05, 0.05, 0.025, 0.2],
    "by": [0.0570833333, 0.1141666667, 0.1141666667, 0.0570833333, 0.4566666667],
    "holm_sidak": [0.03940399, 0.087327, 0.087327, 0.0247512469, 0.2],
}


A = [0.9, 0.4, 0.7, 0.3, 0.8, 0.6, 0.5, 0.95]
B = [0.7, 0.5, 0.6, 0.3, 0.5, 0.4, 0.55, 0.9]


def test_says_everything_needed_to_repeat_it() -> None:
    """Name, statistic, p, effect, interval, counts, alpha, verdict and seed; the named test is the one that runs."""
    found = significance_test(A, B)
    assert (found.method, found.p, found.statistic) == ("exact sign-flip permutation", pytest.approx(0.15625), pytest.approx(0.0875))
    assert (found.n, found.wins, found.ties, found.losses) == (8, 5, 1, 2)
    assert (found.alpha, found.verdict, found.is_significant, found.seed) == (0.05, "no difference shown", False, None)
    assert found.effect == pytest.approx(1.79042103334258 / 8**0.5)
    assert found.interval.low == pytest.approx(-0.06614770327025747)  # of t with one more of each sign; t alone: -0.028
    names = {"t": "paired t", "wilcoxon": "Wilcoxon", "bootstrap": "paired bootstrap", "permutation": "sign-flip"}
    for method, title in names.items():
        assert title in significance_test(A, B, method=method).method
    drawn = significance_test(A, B, method="bootstrap")
    assert (drawn.seed, drawn.n_resamples, drawn.interval.method) == (12345, 10_000, "bca bootstrap")


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


TESTS = [paired_t, sign_flip, wilcoxon, paired_bootstrap]
pairs = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=2, max_size=9).map(
    lambda rows: ([x / 8 for x, _ in rows], [y / 8 for _, y in rows])
)


@pytest.mark.parametrize(("b", "c", "exact", "mid"), [
    (0, 0, 1.0, 1.0), (0, 5, 0.0625, 0.03125), (3, 9, 0.14599609375, 0.09228515625), (1, 9, 0.021484375, 0.01171875),
    (12, 30, 0.007915897334896727, 0.0054015726545912895), (600, 700, 0.0060157938610449395, 0.005543558709501235), (5, 5, 1.0, 1.0),
])  # fmt: skip
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
    """Of five instances a alone is right on two, b alone on one; integers up to 1,000 pairs and the beta function above meet."""
    found = mcnemar([1, 1, 1, 0, 0], [1, 0, 0, 1, 0])
    assert (found.details["b"], found.details["c"], found.difference) == (2, 1, pytest.approx(0.2))
    assert mcnemar_counts(0, 1001)["exact_p"] == 2.0**-1000
    none = {"b": 0, "c": 0, "exact_p": 1.0, "mid_p": 1.0, "chi2": 0.0, "chi2_p": 1.0, "chi2_corrected": 0.0, "chi2_corrected_p": 1.0}
    assert mcnemar_counts(0, 0) == none
    assert mcnemar_counts(470, 530)["exact_p"] == pytest.approx(mcnemar_counts(470, 531)["exact_p"], rel=0.1)
    below, at = significance._binomial_half(480, 1001)
    exact = sum(math.comb(1001, i) for i in range(480)) / 2**1001
    assert (below, below + at) == pytest.approx((exact, exact + math.comb(1001, 480) / 2**1001))


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_paired_t_equals_scipy(alternative: Any) -> None:
    """ttest_rel, two-sided and one-sided, with the two-sided interval and the degrees of freedom."""
    found, expected = paired_t(A, B, alternative=alternative, confidence=0.9), scipy.stats.ttest_rel(A, B, alternative=alternative)
    assert (found.statistic, found.p, found.details) == (pytest.approx(expected.statistic), pytest.approx(expected.pvalue), {"df": 7})
    ends = scipy.stats.ttest_rel(A, B).confidence_interval(0.9)
    assert (found.interval.low, found.interval.high) == pytest.approx((ends.low, ends.high))


def test_sign_flip_equals_the_full_enumeration() -> None:
    """scipy's permutation test over all 256 signs; five differences cannot give p < .05 two-sided, six can."""
    found = sign_flip(A, B)
    assert found.p == pytest.approx(0.15625)
    assert (found.seed, found.method) == (None, "exact sign-flip permutation")
    assert "no p below 0.0625" in sign_flip([1] * 5, [0] * 5).note
    assert sign_flip([1] * 6, [0] * 6).note == ""
    assert sign_flip([1] * 4, [0] * 4, alternative="greater").note == "4 differences: no p below 0.0625 is possible"
    assert sign_flip([1] * 5, [0] * 5, alternative="less").note == ""


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


@pytest.mark.parametrize(("values", "digits"), [
    ([], 9), ([0], 9), ([1], 9), ([-1, 0.5], 9), ([0.1], 10), ([0.01], 11), ([2], 8), ([10], 8), ([-100], 7), ([1000, 3], 6),
])  # fmt: skip
def test_significant_decimals(values: list[float], digits: int) -> None:
    """A billionth of the largest value is the last decimal that counts: nine for values up to 1."""
    assert decimals(values) == digits


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("zeros", ["wilcox", "pratt", "zsplit"])
def test_approximation_equals_scipy(zeros: Any, alternative: Any) -> None:
    """Zeros and tied ranks in three ways, either side ahead, with and without the correction for continuity."""
    rng = np.random.default_rng(5)
    samples = [(A, B), (B, A), *((rng.integers(0, 5, n) / 4, rng.integers(0, 6, n) / 4) for n in (9, 30, 80))]
    for correction, (a, b) in itertools.product((False, True), samples):
        apart = np.round(np.asarray(a) - np.asarray(b), 9)
        options = {"correction": correction, "alternative": alternative}
        found = wilcoxon(list(map(float, a)), list(map(float, b)), zeros=zeros, method="approx", **options)
        expected = scipy.stats.wilcoxon(apart, zero_method=zeros, method="approx", **options)
        assert (found.statistic, found.p) == pytest.approx((expected.statistic, expected.pvalue))
        if alternative != "two-sided":
            assert found.details["rank_sum_plus"] == pytest.approx(expected.statistic)
        of_zeros = np.count_nonzero(apart == 0) if zeros != "zsplit" else 0
        n = len(apart) - (of_zeros if zeros == "wilcox" else 0)
        ranks = n * (n + 1) / 2 - (of_zeros * (of_zeros + 1) / 2 if zeros == "pratt" else 0)
        assert found.details["rank_sum_plus"] + found.details["rank_sum_minus"] == pytest.approx(ranks)
        assert (found.details["n_zero"], found.method) == (np.count_nonzero(apart == 0), f"Wilcoxon signed-rank ({zeros})")


def test_exact_equals_scipy_without_ties() -> None:
    """ "auto" is exact for seven different sizes, and above fifty differences the normal approximation, close to the exact value."""
    apart = [0.1, -0.2, 0.35, 0.4, -0.05, 0.6, 0.7]
    found = wilcoxon(apart, [0.0] * 7)
    assert (found.statistic, found.p) == (4.0, pytest.approx(0.109375))
    assert "exact" in found.method
    assert wilcoxon(apart, [0.0] * 7, alternative="greater").p == pytest.approx(0.0546875)
    a, b = [i / 7 for i in range(60)], [((i * 37) % 60) / 7 + 0.9 for i in range(60)]
    auto, exact = wilcoxon(a, b), wilcoxon(a, b, method="exact")
    assert "exact" not in auto.method
    apart = [float(at) for at in range(1, 52)]
    assert ["exact" in wilcoxon(apart[:n], [0.0] * n).method for n in (50, 51)] == [True, False]
    # Zeros that are dropped do not count; as many ranks on either side have nothing to be corrected.
    assert ["exact" in wilcoxon([*apart[:50], 0.0], [0.0] * 51, zeros=zeros).method for zeros in ("wilcox", "pratt")] == [True, False]
    assert wilcoxon([1.0, -1.0], [0.0] * 2, method="approx", correction=True).p == 1.0
    assert auto.p == pytest.approx(exact.p, abs=0.01)
    assert wilcoxon(a, b, correction=True).p >= auto.p


@pytest.mark.parametrize("zeros", ["wilcox", "pratt", "zsplit"])
def test_exact_counts_the_ranks_at_hand(zeros: str) -> None:
    """With ties and a zero it is the enumeration of all signs of the ranks, where scipy's exact table does not hold."""
    found = wilcoxon(A, B, zeros=zeros, method="exact")
    # |differences| .2 .1 .1 0 .3 .2 .05 .05, ranked with and without the zero
    ranks = [5.5, 3.5, 3.5, 7, 5.5, 1.5, 1.5] if zeros == "wilcox" else [6.5, 4.5, 4.5, 8, 6.5, 2.5, 2.5]
    signs = [1, -1, 1, 1, 1, -1, 1]
    plus = sum(r for r, s in zip(ranks, signs, strict=True) if s > 0)
    sums = [sum(r for r, s in zip(ranks, kept, strict=True) if s) for kept in itertools.product((0, 1), repeat=7)]
    tail = min(sum(s >= plus for s in sums), sum(s <= plus for s in sums)) / len(sums)
    assert found.p == pytest.approx(min(1.0, 2 * tail))


RAW = [0.01, 0.04, 0.03, 0.005, 0.2]
families = st.lists(st.floats(0, 1), max_size=12)


def test_no_tests_and_bad_values() -> None:
    """Holm's is the correction if none is named; no tests adjust to none, and sure ones stay."""
    assert adjust(RAW) == adjust(RAW, "holm")
    assert [adjust([], method) for method in ("holm", "bonferroni", "bh", "by")] == [[]] * 4
    assert [adjust([1, 0], method) for method in ("holm", "bonferroni", "bh", "by")] == [[1, 0]] * 4


@given(families, st.sampled_from(["holm", "bonferroni", "bh", "by", "holm_sidak"]))
def test_adjusting_never_helps_and_keeps_the_order(p_values: list[float], method: str) -> None:
    """raw <= adjusted <= 1, a smaller raw p never adjusts to a larger one, one alone stays as it is; BH <= Holm <= Bonferroni."""
    adjusted = adjust(p_values, method)
    for raw, after in zip(p_values, adjusted, strict=True):
        assert raw - 1e-12 <= after <= 1
    ordered = [after for _, after in sorted(zip(p_values, adjusted, strict=True))]
    assert all(x <= y + 1e-12 for x, y in pairwise(ordered))
    assert adjust(p_values[:1], method) == pytest.approx(p_values[:1])
    for low, middle, high in zip(adjust(p_values, "bh"), adjust(p_values, "holm"), adjust(p_values, "bonferroni"), strict=True):
        assert low - 1e-12 <= middle <= high + 1e-12


CORPUS_TESTS = [approximate_randomisation, segment_bootstrap_test]


def micro_f1(sums: np.ndarray) -> np.ndarray:
    """2 * matches / (predicted + gold) of m rows."""
    return 2 * sums[:, 0] / (sums[:, 1] + sums[:, 2])


def segments(share: float, n: int = 40, seed: int = 0) -> np.ndarray:
    """n segments of (matches, predicted, gold) with about this share matched."""
    rng = np.random.default_rng(seed)
    gold = np.random.default_rng(99).integers(3, 12, n)
    return np.stack([rng.binomial(gold, share), gold, gold], axis=1).astype(float)


@pytest.mark.parametrize("test", CORPUS_TESTS)
def test_a_large_difference_has_the_smallest_p(test: object) -> None:
    """p is 1 / (R + 1), never 0, and does not mind who comes first; no difference has p = 1, and the seed is shown."""
    found = test(segments(0.9), segments(0.3, seed=1), micro_f1, n_resamples=400)  # type: ignore[operator]
    assert found.p == pytest.approx(1 / 401)
    back = test(segments(0.3, seed=1), segments(0.9), micro_f1, n_resamples=400)  # type: ignore[operator]
    assert (back.p, back.difference) == (found.p, pytest.approx(-found.difference))
    same = test(segments(0.5), segments(0.5), micro_f1, n_resamples=200)  # type: ignore[operator]
    assert (same.p, same.difference, same.seed, same.n_resamples) == (1.0, 0.0, 12345, 200)


def test_randomisation_is_the_loop_it_stands_for() -> None:
    """Swap segments one by one, as a plain loop over the same draws does."""
    a, b = segments(0.55), segments(0.5, seed=1)
    observed = abs(micro_f1(a.sum(0, keepdims=True)) - micro_f1(b.sum(0, keepdims=True)))[0]
    far = 0
    for swap in np.random.default_rng(4).integers(2, size=(300, 40), dtype=bool):
        first, second = np.where(swap[:, None], b, a).sum(0, keepdims=True), np.where(swap[:, None], a, b).sum(0, keepdims=True)
        far += abs(micro_f1(first) - micro_f1(second))[0] >= observed - 1e-9
    assert approximate_randomisation(a, b, micro_f1, n_resamples=300, seed=4).p == pytest.approx((far + 1) / 301)


@pytest.mark.parametrize("cells", [1, 80, 120, 400, 10**6])
def test_draws_in_blocks_are_as_many(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    """However many are drawn at once, there are as many as were asked for: of 40 segments one at a time, or all."""
    monkeypatch.setattr(significance, "CELLS_AT_ONCE", cells)
    rows: list[int] = []

    def counting(sums: np.ndarray) -> np.ndarray:
        rows.append(len(sums))
        return micro_f1(sums)

    assert approximate_randomisation(segments(0.9), segments(0.3, seed=1), counting, n_resamples=10).p == 1 / 11
    at_once = min(10, max(1, cells // 40))
    # Both sides as they are, then both of each block.
    blocks = [min(at_once, 10 - start) for start in range(0, 10, at_once) for _ in "ab"]
    assert rows == [1, 1, *blocks]


INFINITE = segments(0.5)
INFINITE[6, 1] = np.inf


@pytest.mark.parametrize(("ask", "why"), [
    (lambda: significance_test(A, B, method="z"), "unknown test 'z'"),
    (lambda: significance_test(A, B, 5), "alpha must be between 0 and 1, not 5"),
    (lambda: sign_flip([1, 2, 3], [1, 2]), "3 scores against 2"), (lambda: mcnemar_counts(-1, 0), "discordant pairs"),
    (lambda: mcnemar_counts(0, -1), "discordant pairs"), (lambda: mcnemar([0.5], [1]), "0 and 1"), (lambda: adjust([0.5, 1.5]), r"0\.\.1"),
    (lambda: approximate_randomisation(segments(0.5), segments(0.5)[:39], micro_f1), "40 segments"),
    # An infinite count would make a score that is no number; an unknown method is not the percentile one.
    (lambda: segment_bootstrap(INFINITE, micro_f1), "^segment 7 has a number that is not finite"),
    (lambda: segment_bootstrap(segments(0.5), micro_f1, method="bka"), r"^unknown method 'bka' known: percentile, basic, bca"),
    # No draw is no evidence of either kind.
    *(
        (
            partial(test, segments(0.9), segments(0.3), micro_f1, n_resamples=n),
            f"^n_resamples must be an integer from 1 to 10000000, not {n}",
        )
        for test in CORPUS_TESTS
        for n in (0, -1, 1.5, math.nan, 10**12)
    ),
    *(
        (partial(test, segments(0.9), segments(0.3), micro_f1, seed=seed), f"^seed must be an integer of at least 0, not {seed}")
        for test in CORPUS_TESTS
        for seed in (-1, 1.5, None)
    ),
])  # fmt: skip
def test_what_cannot_be_tested_is_refused(ask: Callable[[], object], why: str) -> None:
    """Pairs of unequal lengths, values that are no counts, shares or numbers, unknown names and draws that cannot be."""
    with pytest.raises(StatsError) as raised:
        ask()
    assert re.search(why, f"{raised.value} {raised.value.hint}")


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.4), (-0.4, 0.0)])
def test_an_interval_that_ends_at_zero_contains_it(low: float, high: float) -> None:
    """So a significant difference next to it has a note, and one that is not significant has none."""
    assert "0" in interval_note(low, high, p=0.01, adjusted=0.01, alpha=0.05)
    assert interval_note(low, high, p=0.2, adjusted=0.2, alpha=0.05) == ""


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


def test_no_flips_do_not_make_a_certain_zero() -> None:
    """Thirty equal 0/1 pairs: p 1, effect 0, and an interval with width."""
    found = significance_test([1, 0] * 15, [1, 0] * 15)
    assert (found.p, found.effect, found.difference) == (1.0, 0.0, 0.0)
    assert found.interval.low == pytest.approx(-found.interval.high)
    assert found.interval.high > 0.05


def test_core_numbers_do_not_load_scipy() -> None:
    """Wilson, McNemar, Holm, kappa and the exact sign flip stand without scipy; importing the room loads nothing heavy at all.

    Student's t takes the one module of scipy that has it; the whole package can still be imported, and has the same function.
    """
    code = (
        "import sys\n"
        "import evalsuite.stats, evalsuite.stats.significance, evalsuite.stats.ranking, evalsuite.stats.agreement\n"
        "assert not {'numpy', 'scipy'} & set(sys.modules)\n"
        "from evalsuite.stats import *\n"
        "evalsuite.stats.confidence_interval([1, 0, 1])\n"
        "evalsuite.stats.significance_test([1, 0, 1], [0, 0, 1])\n"
        "evalsuite.stats.agreement.cohen_kappa([1, 2], [1, 1])\n"
        "assert not {'numpy', 'scipy'} & set(sys.modules)\n"
        "from evalsuite.stats.significance import sign_flip\n"
        "sign_flip([.5, .25], [.1, .5])\n"
        "assert 'scipy' not in sys.modules\n"
        "from evalsuite.stats.samples import special, t_value\n"
        "assert f'{t_value(.95, 9):.4f}' == '2.2622'\n"
        "assert 'scipy.special' not in sys.modules\n"
        "from scipy.special import stdtrit\n"
        "assert special.stdtrit is stdtrit\n"
    )
    done = finished([sys.executable, "-c", code])
    assert done.returncode == 0, done.stderr


def test_equal_differences_have_a_note_for_their_interval() -> None:
    """All apart by 0.25: the widest interval that is possible, and a note; one pair has none."""
    found = difference_interval([0.5, 0.75], [0.25, 0.5])
    assert found.low < 0.25 < found.high
    assert "their spread is not known" in difference_interval([0.5, 0.75], [0.25, 0.5]).note
    assert difference_interval([0.5], [0.25]).low is None
    assert difference_interval([1.5, 2.5], [0.5, 1.5]).low < 1.0 == difference_interval([1.5, 2.5], [0.5, 1.5]).high
    for apart, low, high in ((1.5, 1.5, 1.5), (-1.5, -1.5, -1.5)):
        found = difference_interval([2.0 + apart, 3.0 + apart], [2.0, 3.0])
        assert (found.low, found.high, found.estimate) == (low, high, apart)
        assert "their spread is not known" in found.note


def test_the_grid_reaches_eight_deviations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums further out than five are counted too, in either direction: rounding moves p by less than a tenth there."""
    sizes = [float(1 + at % 10) for at in range(60)]
    for n_behind in (6, 8):
        a, b = [0.0 if at < n_behind else size for at, size in enumerate(sizes)], [sizes[at] if at < n_behind else 0.0 for at in range(60)]
        exact = [sign_flip(a, b).p, sign_flip(b, a, alternative="less").p]
        with monkeypatch.context() as patch:
            patch.setattr(significance, "EXACT_CELLS", 0)
            assert [sign_flip(a, b).p, sign_flip(b, a, alternative="less").p] == pytest.approx(exact, rel=0.1)
        assert 1e-12 < exact[1] < 1e-6
    assert [significance._flip_on_grid([sign] * 64) for sign in (-1, 1)] == [(1e-12, 1.0), (1.0, 1e-12)]


@pytest.mark.parametrize("method", EXPECTED)
def test_adjusted_values_equal_statsmodels(method: str) -> None:
    """Five p-values, five corrections, in the order given."""
    assert adjust(RAW, method) == pytest.approx(EXPECTED[method])


def test_equal_differences_leave_t_undefined() -> None:
    """All differences 0.25: t is None, and the note names the test to use; sign_flip gives 2^(1-n)."""
    found = paired_t([0.5, 0.75, 1.0], [0.25, 0.5, 0.75])
    assert found.statistic is None
    assert "sign_flip" in found.note
    assert sign_flip([0.5, 0.75, 1.0], [0.25, 0.5, 0.75]).p == 0.25
    assert paired_t([0.5], [0.25]).p == 1.0
