"""Adjusted p-values: statsmodels' multipletests, and what must hold of every correction."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.stats.samples import StatsError
from evalsuite.stats.significance import adjust

RAW = [0.01, 0.04, 0.03, 0.005, 0.2]
EXPECTED = {
    "holm": [0.04, 0.09, 0.09, 0.025, 0.2],
    "bonferroni": [0.05, 0.2, 0.15, 0.025, 1.0],
    "bh": [0.025, 0.05, 0.05, 0.025, 0.2],
    "by": [0.0570833333, 0.1141666667, 0.1141666667, 0.0570833333, 0.4566666667],
    "holm_sidak": [0.03940399, 0.087327, 0.087327, 0.0247512469, 0.2],
}
families = st.lists(st.floats(0, 1), max_size=12)


def test_no_tests_and_bad_values() -> None:
    """Holm's is the correction if none is named; no tests adjust to none, and what is no p-value is refused."""
    assert adjust(RAW) == adjust(RAW, "holm")
    assert [adjust([], method) for method in ("holm", "bonferroni", "bh", "by")] == [[]] * 4
    assert [adjust([1, 0], method) for method in ("holm", "bonferroni", "bh", "by")] == [[1, 0]] * 4
    with pytest.raises(StatsError, match=r"0\.\.1"):
        adjust([0.5, 1.5])


@given(families, st.sampled_from(sorted(EXPECTED)))
def test_adjusting_never_helps_and_keeps_the_order(p_values: list[float], method: str) -> None:
    """raw <= adjusted <= 1, a smaller raw p never adjusts to a larger one, and one test alone stays as it is."""
    adjusted = adjust(p_values, method)
    for raw, after in zip(p_values, adjusted, strict=True):
        assert raw - 1e-12 <= after <= 1
    ordered = [after for _, after in sorted(zip(p_values, adjusted, strict=True))]
    assert all(x <= y + 1e-12 for x, y in pairwise(ordered))
    assert adjust(p_values[:1], method) == pytest.approx(p_values[:1])


@given(families)
def test_holm_lies_between_hochberg_and_bonferroni(p_values: list[float]) -> None:
    """BH <= Holm <= Bonferroni, one by one."""
    for low, middle, high in zip(adjust(p_values, "bh"), adjust(p_values, "holm"), adjust(p_values, "bonferroni"), strict=True):
        assert low <= middle + 1e-12
        assert middle <= high + 1e-12
