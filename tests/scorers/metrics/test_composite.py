"""Composites: aggregations, missing parts, names, and that each part is scored once."""

from collections.abc import Callable
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


@pytest.mark.parametrize(
    ("aggregation", "expected"),
    [
        ("weighted_mean", 4.4 / 6),
        ("min", 0.4),
        ("max", 1.0),
        ("median", 0.5),
        ("geometric_mean", 0.2 ** (1 / 3)),
        ("weighted_geometric_mean", (0.4 * 0.5**2) ** (1 / 6)),
        ("harmonic_mean", 6 / (1 / 0.4 + 2 / 0.5 + 3)),
    ],
)
def test_aggregations(aggregation: str, expected: float) -> None:
    """Only the weighted ones and the harmonic mean look at the weights 1, 2, 3, whose sum does not matter."""
    assert composite(0.4, 0.5, 1.0, aggregation=aggregation).evaluate("x") == pytest.approx(expected)
    if aggregation not in ("min", "max", "median", "geometric_mean"):
        assert combine([0.0, 0.5], [0, 1], aggregation) == 0.5
    assert combine([0.4, 0.5, 1.0], [10, 20, 30], aggregation) == pytest.approx(combine([0.4, 0.5, 1.0], [1, 2, 3], aggregation))


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


@pytest.mark.parametrize(("on_missing", "expected"), [("null", None), ("renormalise", 0.5), ("zero", 0.125)])
def test_missing_parts(on_missing: str, expected: float | None) -> None:
    """A part without a value makes the whole undefined, is left out with its weight, or counts 0."""
    found = composite(0.5, None, aggregation="weighted_mean", on_missing=on_missing)
    three = Composite(parts=(Part(metric=fixed(0.5), weight=1), Part(metric=fixed(None), weight=3)), on_missing=on_missing)  # type: ignore[arg-type]
    measure = three.detailed_evaluate("x")
    assert measure.value == expected
    assert "custom#2" in measure.reason
    assert found.detailed_evaluate("x").details["parts"]["custom#2"]["value"] is None


def test_nothing_left_to_renormalise_is_undefined() -> None:
    """Where every part is missing there is no value under `null` and `renormalise`."""
    assert composite(None, None, on_missing="renormalise").evaluate("x") is None
    weightless = Part(metric=fixed(0.5), weight=0), Part(metric=fixed(None))
    assert Composite(parts=weightless, on_missing="renormalise").evaluate("x") is None
    assert Composite(parts=weightless, on_missing="zero").evaluate("x") == 0


def test_each_part_is_scored_once_and_shown() -> None:
    """A detailed evaluation asks each metric one time and shows value, raw value and weights under a name of its own."""
    calls: list[str] = []

    def counted(name: str) -> Callable[[Any, Any], float]:
        def give(prediction: Any, reference: Any) -> float:
            calls.append(name)
            return 1.0

        return give

    metric = Composite(
        parts=(
            Part(metric=Custom(function=counted("a")), weight=1),
            Part(metric=Custom(function=counted("b")), weight=2),
            Part(metric=get_metric("bleu"), weight=1),
        )
    )
    found = metric.detailed_evaluate("the cat", "the cat")
    assert calls == ["a", "b"]
    parts = found.details["parts"]
    assert list(parts) == ["custom", "custom#2", "bleu"]
    assert (parts["bleu"]["value"], parts["bleu"]["raw"]) == (pytest.approx(1), pytest.approx(100))
    assert [parts[name]["share"] for name in parts] == [0.25, 0.5, 0.25]


def test_an_unbounded_part_needs_a_scale() -> None:
    """TER has no place on [0, 1] by itself; with a scale less is better, and what lies beyond counts as its end."""
    ter = get_metric("ter")
    with pytest.raises(MetricError, match="needs a scale"):
        Composite(parts=(Part(metric=ter),))
    with pytest.raises(MetricError, match="below its high"):
        Composite(parts=(Part(metric=ter, scale=(5, 5)),))
    metric = Composite(parts=(Part(metric=ter, scale=(0, 100)),))
    assert metric("a b c d", "a b c e") == pytest.approx(0.75)
    assert metric("one two three four", "six") == 0


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


@pytest.mark.parametrize("value", [1.5, -0.1, float("nan"), "1"])
def test_a_function_must_stay_on_the_scale(value: Any) -> None:
    """What a function returns beyond [0, 1] is an error and is never clipped."""
    with pytest.raises(MetricError, match=r"no number in \[0, 1\]"):
        Custom(function=lambda *_: value).evaluate("x", "y")
