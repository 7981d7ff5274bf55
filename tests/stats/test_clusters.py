"""Clustered standard errors: statsmodels' values, the two ends of clustering, and what is refused."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.stats.intervals import (
    clustered_difference_interval,
    clustered_interval,
    clustered_se,
    t_interval,
)
from evalsuite.stats.samples import StatsError
from tests.models.cluster_robust import bell_mccaffrey
from tests.properties import examples


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


def test_a_missing_cluster_is_an_error() -> None:
    """None is not a cluster, and every score needs one."""
    with pytest.raises(StatsError, match="score 1 has no cluster"):
        clustered_se([0.1, 0.2], ["a", None])
    with pytest.raises(StatsError, match="2 scores but 1"):
        clustered_se([0.1, 0.2], ["a"])


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
    assert plain.high is not None
    assert plain.low is not None
    assert more.low is not None
    assert (found.low, found.high) == pytest.approx((min(plain.low, more.low), more.high))
    assert found.high > plain.high
    assert (found.estimate, found.se, found.method) == (plain.estimate, plain.se, plain.method)
    level = clustered_difference_interval([0.5] * 4, list("aabb"))
    assert (level.low, level.high) == (None, None)
