"""Build a composite metric step by step in Python, and make a metric of any function.

MetricBuilder().exact_match(weight=0.3).f1(weight=0.3).llm_judge(weight=0.4, model="m").custom(fn).build()
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

from evalsuite.core import plugin_calls
from evalsuite.core.dataclasses import dataclass
from evalsuite.core.metric import Measure, Metric, MetricError
from evalsuite.scorers.metrics import get_metric
from evalsuite.scorers.metrics.composite import Composite, OnMissing, Part, normalise_weights

Function = Callable[[Any, Any], float | None]


@dataclass(frozen=True, kw_only=True)
class Custom(Metric):
    """The return value of `function(prediction, reference)`: a number in [0, 1] where more is better, or None for undefined.

    The function gets prediction and reference unchanged, including records and lists of references; it may ignore the reference.
    """

    name: ClassVar[str] = "custom"
    needs_reference: ClassVar[bool] = False

    function: Function

    @property
    def label(self) -> str:
        """The function's own name."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    @property
    def signature(self) -> str:
        """`custom|function:module.name|version:...`; only the name of the function is known, not its code."""
        return "|".join([self.name, f"function:{getattr(self.function, '__module__', '?')}.{self.label}", *self.versions()])

    def detailed_evaluate(self, prediction: Any, reference: Any = None) -> Measure:
        """Return the function's value. Raises `MetricError` if it is not a number in [0, 1], `FaultError` if the function fails."""
        value = plugin_calls.call_plugin(self.label, self.function, prediction, reference)
        if value is None:
            return Measure(value=None, reason=f"{self.label} gave no value")
        if not isinstance(value, int | float) or not 0 <= value <= 1:
            raise MetricError(f"{self.label} returned {value!r}, which is no number in [0, 1]", code="bad_value")
        return Measure(value=float(value))

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """Return the function's value for a plain text with all references."""
        return self.detailed_evaluate(prediction, list(references) or None)


def _adder(name: str) -> Callable[..., "MetricBuilder"]:
    """Return the method of `MetricBuilder` that adds a metric by name."""

    def add(self: "MetricBuilder", *, weight: float = 1.0, **options: Any) -> "MetricBuilder":
        return self.add(name, weight=weight, **options)

    add.__name__, add.__doc__ = name, f"Add an `{name}` part with its options. Raises `MetricError` for an invalid one."
    return add


class MetricBuilder:
    """Collects parts in order. `build` returns a `Composite` of them, or of a single part that metric itself.

    Each method (`f1`, `rouge`, `custom`, ...) adds a part with a `weight` and the options of the metric, and returns the builder.
    """

    def __init__(self) -> None:
        self._parts: list[Part] = []

    def add(
        self, metric: str | Metric, /, *, weight: float = 1.0, as_name: str = "", scale: tuple[float, float] | None = None, **options: Any
    ) -> Self:
        """Add a part.

        Args:
            metric: a name, with its options as keywords, or a metric object.
            weight: the raw weight; weights are normalised to a sum of 1.
            as_name: the name in the details, by default the metric's.
            scale: (low, high), the ends that map to 0 and 1; required for an unbounded metric.
            **options: the fields of the named metric.

        Raises:
            MetricError: an unknown name or option.
        """
        part_metric = get_metric(metric, **options) if isinstance(metric, str) else metric
        self._parts.append(Part(metric=part_metric, weight=weight, name=as_name, scale=scale))
        return self

    exact_match, f1, bleu, llm_judge = map(_adder, ("exact_match", "f1", "bleu", "llm_judge"))

    def rouge(self, *, weight: float = 1.0, kind: str = "rougeL", **options: Any) -> Self:
        """Add a ROUGE part: `rouge1`, `rouge2`, `rougeL` or `rougeLsum`."""
        return self.add(kind, weight=weight, **options)

    def custom(self, function: Function, *, weight: float = 1.0, as_name: str = "") -> Self:
        """Add a function (prediction, reference) -> number in [0, 1] as a part, by default under its own name."""
        custom_metric = Custom(function=function)
        return self.add(custom_metric, weight=weight, as_name=as_name or custom_metric.label)

    def build(self, *, aggregation: str = "weighted_mean", on_missing: OnMissing = "null") -> Metric:
        """Return the metric.

        Args:
            aggregation: how the parts are combined.
            on_missing: for a part without a value: no score (`null`), leave it out (`renormalise`), or count 0 (`zero`).

        Raises:
            MetricError: no parts, invalid weights, or an unknown aggregation.
        """
        if not self._parts:
            raise MetricError("the builder has no metric", code="empty")
        normalise_weights([part.weight for part in self._parts], len(self._parts))
        if len(self._parts) == 1 and self._parts[0].scale is None:
            return self._parts[0].metric
        return Composite(parts=tuple(self._parts), aggregation=aggregation, on_missing=on_missing)  # type: ignore[arg-type]
