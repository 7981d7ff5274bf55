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


def metric_from(spec: str | Mapping[str, Any]) -> Metric:
    """The metric a plain value names: `f1`, `{f1: {variant: multiset}}` or `{composite: {parts: [...]}}`."""
    if isinstance(spec, str):
        return get_metric(spec)
    if not isinstance(spec, Mapping) or len(spec) != 1:
        raise MetricError("a metric is a name, or one name with its options", code="bad_spec", hint="{f1: {variant: multiset}}")
    [(name, options)] = spec.items()
    if options is not None and not isinstance(options, Mapping):
        raise MetricError(f"the options of {name} must be an object, found {type(options).__name__}", code="bad_spec")
    if "allow_programs" in (options or {}):
        hint = "--allow-programs, in Python allow_programs=True"
        raise MetricError(f"{name}: allow_programs is said by whoever scores, not written down", code="bad_spec", hint=hint)
    return get_metric(name, **(options or {}))


def composite(*, parts: Sequence[str | Mapping[str, Any] | Part], aggregation: str = "weighted_mean", on_missing: str = "null") -> Metric:
    """A `Composite` of parts given as `Part`s, names, or `{name: options, weight: 0.3, scale: [0, 100], name: shown}`."""
    if isinstance(parts, str) or not isinstance(parts, Sequence):
        raise MetricError("parts must be a list", code="bad_spec")
    made = tuple(part if isinstance(part, Part) else _part(part) for part in parts)
    return Composite(parts=made, aggregation=aggregation, on_missing=on_missing)  # type: ignore[arg-type]


def _part(spec: str | Mapping[str, Any]) -> Part:
    if isinstance(spec, str):
        return Part(metric=get_metric(spec))
    if not isinstance(spec, Mapping):
        raise MetricError(f"a part is a name or an object, found {type(spec).__name__}", code="bad_spec")
    own = {key: value for key, value in spec.items() if key not in _PART_KEYS}
    if len(own) != 1:
        unknown = next((key for key in own if key not in METRICS), "")
        hint = did_you_mean(unknown, [*METRICS, *_PART_KEYS]) if unknown else "{f1: {}, weight: 0.3}"
        raise MetricError(f"a part names one metric, found {len(own)}: {', '.join(map(str, own)) or 'none'}", code="bad_spec", hint=hint)
    weight, scale = spec.get("weight", 1.0), spec.get("scale")
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise MetricError(f"a weight must be a number, found {weight!r}", code="bad_spec")
    return Part(metric=metric_from(own), weight=weight, name=str(spec.get("name", "")), scale=_scale(scale))


def _scale(scale: Any) -> tuple[float, float] | None:
    if scale is None:
        return None
    if not isinstance(scale, Sequence) or len(scale) != 2 or not all(isinstance(end, int | float) for end in scale):
        raise MetricError(f"a scale is two numbers [low, high], found {scale!r}", code="bad_spec")
    return (float(scale[0]), float(scale[1]))
