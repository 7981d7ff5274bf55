"""Composites: aggregations, missing parts, names, and that each part is scored once."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.core.metric import MetricError
from evalsuite.scorers.metrics import get_metric
from evalsuite.scorers.metrics.chain import Custom
from evalsuite.scorers.metrics.composite import AGGREGATIONS, Composite, Part, combine


def fixed(value: float | None) -> Custom:
    """A metric that always gives this value."""
    return Custom(function=lambda *_: value)


def composite(*values: float | None, **options: Any) -> Composite:
    """A composite of fixed values with weights 1, 2, 3 ..."""
    return Composite(parts=tuple(Part(metric=fixed(value), weight=n) for n, value in enumerate(values, 1)), **options)


@given(scores=st.lists(st.floats(0, 1), min_size=1, max_size=6), aggregation=st.sampled_from(AGGREGATIONS))
def test_an_aggregate_lies_between_the_worst_and_the_best(scores: list[float], aggregation: str) -> None:
    """No aggregation leaves the range of its parts."""
    assert min(scores) - 1e-9 <= combine(scores, None, aggregation) <= max(scores) + 1e-9


@pytest.mark.parametrize(
    ("scores", "weights", "aggregation", "code"),
    [
        ([0.5], [0.5, 0.5], "weighted_mean", "length"),
        ([0.5, 0.5], [1, -1], "weighted_mean", "negative"),
        ([0.5, 0.5], [1, float("nan")], "weighted_mean", "negative"),
        ([0.5, 0.5], [1e308, 1e308], "weighted_mean", "negative"),
        ([0.5, 0.5], [0, 0], "min", "zero_sum"),
        ([], [], "max", "empty"),
        ([0.5], [1], "mean_of_means", "unknown_aggregation"),
        ([-0.5, 1], [1, 1], "weighted_geometric_mean", "negative_score"),
        ([-0.5, 1], [1, 1], "harmonic_mean", "negative_score"),
    ],
)
def test_what_cannot_be_combined_is_an_error(scores: list[float], weights: list[float], aggregation: str, code: str) -> None:
    """Each fault has its own code."""
    with pytest.raises(MetricError) as caught:
        combine(scores, weights, aggregation)
    assert caught.value.code == code


def test_the_signature_names_every_part() -> None:
    """Two composites with other weights, options or aggregation have other signatures."""
    signatures = {
        composite(1.0, 1.0).signature,
        composite(1.0, 1.0, aggregation="min").signature,
        Composite(parts=(Part(metric=get_metric("f1")),)).signature,
        Composite(parts=(Part(metric=get_metric("f1", variant="multiset")),)).signature,
        Composite(parts=(Part(metric=get_metric("f1"), scale=(0, 2)),)).signature,
    }
    assert len(signatures) == 5
