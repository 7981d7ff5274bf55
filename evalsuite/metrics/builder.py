"""Metrics put together as a chain in Python.

MetricBuilder().exact_match(weight=0.3).f1(weight=0.3).llm_judge(weight=0.4, model="m").custom(fn).build()
"""

from typing import Any, Self

from evalsuite.metrics import get_metric
from evalsuite.metrics.base import Metric, MetricError
from evalsuite.metrics.combining import normalised
from evalsuite.metrics.composite import Composite, OnMissing, Part
from evalsuite.metrics.custom import Custom, Function


class MetricBuilder:
    """Collects parts in order; `build` makes one metric of them. One part is that metric itself, several are a `Composite`."""

    def __init__(self) -> None:
        self._parts: list[Part] = []

    def add(
        self, metric: str | Metric, /, *, weight: float = 1.0, as_name: str = "", scale: tuple[float, float] | None = None, **options: Any
    ) -> Self:
        """A part by name with its options, or a metric made before; `as_name` shows it under another name."""
        made = get_metric(metric, **options) if isinstance(metric, str) else metric
        self._parts.append(Part(metric=made, weight=weight, name=as_name, scale=scale))
        return self

    def exact_match(self, *, weight: float = 1.0, **options: Any) -> Self:
        """An `exact_match` part."""
        return self.add("exact_match", weight=weight, **options)

    def f1(self, *, weight: float = 1.0, **options: Any) -> Self:
        """An `f1` part."""
        return self.add("f1", weight=weight, **options)

    def bleu(self, *, weight: float = 1.0, **options: Any) -> Self:
        """A `bleu` part, counted as score / 100."""
        return self.add("bleu", weight=weight, **options)

    def rouge(self, *, weight: float = 1.0, kind: str = "rougeL", **options: Any) -> Self:
        """A ROUGE part: `rouge1`, `rouge2`, `rougeL` or `rougeLsum`."""
        return self.add(kind, weight=weight, **options)

    def llm_judge(self, *, weight: float = 1.0, **options: Any) -> Self:
        """An `llm_judge` part; raises `MetricError` where the judge is not there."""
        return self.add("llm_judge", weight=weight, **options)

    def custom(self, function: Function, *, weight: float = 1.0, as_name: str = "") -> Self:
        """A part out of a function (prediction, reference) -> number in [0, 1]; shown under the function's name."""
        made = Custom(function=function)
        return self.add(made, weight=weight, as_name=as_name or made.label)

    def build(self, *, aggregation: str = "weighted_mean", on_missing: OnMissing = "null") -> Metric:
        """The metric; raises `MetricError` where there is no part, or for weights and an aggregation that cannot be meant."""
        if not self._parts:
            raise MetricError("the builder holds no metric", code="empty")
        normalised([part.weight for part in self._parts], len(self._parts))
        if len(self._parts) == 1 and self._parts[0].scale is None:
            return self._parts[0].metric
        return Composite(parts=tuple(self._parts), aggregation=aggregation, on_missing=on_missing)  # type: ignore[arg-type]
