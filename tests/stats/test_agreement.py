"""Agreement: recorded values of scikit-learn 1.9, krippendorff 0.9 and statsmodels 0.15, the undefined cases, and two properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.stats.agreement import cohen_kappa, confusion, fleiss_kappa, krippendorff_alpha
from evalsuite.stats.samples import StatsError

FIRST, SECOND = [1, 2, 3, 4, 5, 3, 2, 1, 4, 5], [1, 3, 3, 5, 5, 2, 2, 1, 3, 4]
THREE = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5],
]
LEVELS = {"nominal": 0.6752577319587629, "ordinal": 0.8048605240912934, "interval": 0.8621041879468846, "ratio": 0.7445566811992647}


@pytest.mark.parametrize(("weights", "kappa"), [(None, 0.375), ("linear", 0.6835443037974684), ("quadratic", 0.8717948717948718)])
def test_cohen_equals_scikit_learn(weights: str | None, kappa: float) -> None:
    """Ten ratings from 1 to 5, plain and weighted."""
    found = cohen_kappa(FIRST, SECOND, weights=weights)
    assert (found.value, found.observed, found.n) == (pytest.approx(kappa), 0.5, 10)


def test_one_label_leaves_kappa_undefined() -> None:
    """Both raters say yes throughout: None with a reason, raw agreement 1."""
    for found in (cohen_kappa(["yes"] * 4, ["yes"] * 4), fleiss_kappa([["yes", "yes"]] * 4), krippendorff_alpha([[1, 1], [1, 1]])):
        assert (found.value, found.observed) == (None, 1.0)
        assert "chance agrees fully" in found.note


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_equals_the_krippendorff_package(level: str) -> None:
    """Three raters with gaps, at four levels of measurement."""
    assert krippendorff_alpha(THREE, level=level).value == pytest.approx(LEVELS[level])


def test_alpha_counts_items_with_two_values() -> None:
    """An item rated once does not count; none with two leaves it undefined."""
    assert krippendorff_alpha([[1, 2, 3], [1, 2, None]]).n == 2
    nothing = krippendorff_alpha([[1, None], [None, 2]])
    assert (nothing.value, nothing.note, nothing.n, nothing.observed) == (None, "no item has two values", 0, 0)
    with pytest.raises(StatsError, match="same number"):
        krippendorff_alpha([[1, 2], [1]])
    with pytest.raises(StatsError, match="NaN"):
        krippendorff_alpha([[1, 2], [1, float("nan")]])
    # A ratio of -1 and 1 would divide by zero; 0 is a value, and stands for itself.
    with pytest.raises(StatsError, match="at least 0"):
        krippendorff_alpha([[1, 2], [-1, 2]], level="ratio")
    assert krippendorff_alpha([[0, 1], [0, 1]], level="ratio").value == 1


def test_fleiss_equals_statsmodels() -> None:
    """Six items, three raters."""
    assert fleiss_kappa([[1, 1, 2], [2, 2, 2], [1, 3, 3], [3, 3, 3], [1, 1, 1], [2, 1, 3]]).value == pytest.approx(0.4112149532710279)
    for rows in ([[1, 1], [1]], [[1], [1]], []):
        with pytest.raises(StatsError, match="same number"):
            fleiss_kappa(rows)


def test_confusion_says_who_said_what() -> None:
    """Rows are the first rater, columns the second; order and labels as given; mixed labels still sort."""
    found = confusion(["no", "yes", "yes"], ["yes", "yes", "no"], labels=["yes", "no"])
    assert (found.labels, found.counts) == (("yes", "no"), ((1, 1), (1, 0)))
    assert len(confusion(["a", 1], [None, 1]).labels) == 3
    with pytest.raises(StatsError, match="not listed"):
        confusion([1, 2], [1, 1], labels=[1])
    for a, b, why in (([1], [1, 2], "1 label against 2"), ([], [], "no labels")):
        with pytest.raises(StatsError, match=why):
            confusion(a, b)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=20), st.sampled_from([None, "linear", "quadratic"]))
def test_kappa_does_not_mind_the_order_of_raters(ratings: list[tuple[int, int]], weights: str | None) -> None:
    """Symmetric, at most 1, and 1 for a rater against itself where more than one label is used."""
    a, b = [x for x, _ in ratings], [y for _, y in ratings]
    there, back = cohen_kappa(a, b, weights=weights, labels=[1, 2, 3, 4]), cohen_kappa(b, a, weights=weights, labels=[1, 2, 3, 4])
    assert there.value == (None if back.value is None else pytest.approx(back.value))
    assert there.value is None or there.value <= 1
    own = cohen_kappa(a, a, weights=weights)
    assert own.value == (1.0 if len(set(a)) > 1 else None)
