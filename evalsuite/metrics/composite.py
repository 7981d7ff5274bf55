"""A composite: several metrics of one pair combined to one score on [0, 1], each part visible."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from evalsuite.metrics.base import Measure, Metric, MetricError, on_unit
from evalsuite.metrics.combining import Aggregation, check_aggregation, combine, normalised

if TYPE_CHECKING:
    from evalsuite.judge.judge import Judge

OnMissing = Literal["null", "renormalise", "zero"]


@dataclass(frozen=True, kw_only=True)
class Part:
    """One metric of a composite with its raw weight. `scale` is the (low, high) that maps its values to [0, 1], by default its range."""

    metric: Metric
    weight: float = 1.0
    name: str = ""
    scale: tuple[float, float] | None = None

    @property
    def signature(self) -> str:
        """The metric's signature in brackets, with weight, name and scale where they were given."""
        scale = f" scale {self.scale[0]:g}..{self.scale[1]:g}" if self.scale else ""
        return f"{self.weight:g}*{self.name}[{self.metric.signature}]{scale}"

    def unit(self, value: float | None) -> float | None:
        """The part's value on [0, 1] where more is better."""
        if value is None or self.scale is None:
            return self.metric.unit(value)
        return on_unit(value, *self.scale, self.metric.direction)


@dataclass(frozen=True, kw_only=True)
class Composite(Metric):
    """Parts on [0, 1], more is better, combined by `aggregation`; each part is scored once.

    `on_missing`, for a part without a value: `null` makes the composite undefined, `renormalise` leaves the part out, `zero` counts it 0.
    An unbounded part (TER, readability) needs a `scale`. A part of the same name as an earlier one becomes `name#2`.
    """

    name: ClassVar[str] = "composite"
    # A reference is asked for by the parts that need one.
    needs_reference: ClassVar[bool] = False

    parts: tuple[Part, ...]
    aggregation: Aggregation = "weighted_mean"
    on_missing: OnMissing = "null"

    def __post_init__(self) -> None:
        """Name the parts apart; raise `MetricError` for weights, an aggregation or a part that cannot be meant."""
        check_aggregation(self.aggregation)
        super().__post_init__()
        object.__setattr__(self, "parts", _named_apart(self.parts))
        normalised([part.weight for part in self.parts], len(self.parts))
        for part in self.parts:
            unbounded = part.metric.low is None or part.metric.high is None
            if part.scale is None and unbounded:
                message = f"{part.name} is unbounded and needs a scale"
                raise MetricError(message, code="no_scale", hint="name the values that count as 0 and 1: scale: [0, 100]")
            if part.scale is not None and not part.scale[0] < part.scale[1]:
                raise MetricError(f"{part.name}: the scale's low must be below its high", code="no_scale")

    def detailed_evaluate(self, prediction: Any, reference: Any = None) -> Measure:
        """The composite with, for each part in `details.parts`, its raw value, its value on [0, 1], both weights and its details."""
        shares = normalised([part.weight for part in self.parts], len(self.parts))
        shown: dict[str, dict[str, Any]] = {}
        for part, share in zip(self.parts, shares, strict=True):
            measure = part.metric.detailed_evaluate(prediction, reference)
            if measure.fault is not None:
                # Not this answer's lack but the grader's: nothing stands in for such a part, whatever `on_missing` says.
                return Measure(value=None, reason=f"{part.name}: {measure.reason}", fault=measure.fault)
            seen = {"value": part.unit(measure.value), "raw": measure.value, "weight": part.weight, "share": share}
            note = {"reason": measure.reason} if measure.reason else {}
            shown[part.name] = seen | note | ({"details": dict(measure.details)} if measure.details else {})
        return self._combined(shown)

    @property
    def asks(self) -> bool:
        """Whether a part asks a judge."""
        return any(part.metric.asks for part in self.parts)

    def asking(self, judge: "Judge") -> "Composite":
        """The composite with this judge for every part that asks one."""
        return replace(self, parts=tuple(replace(part, metric=part.metric.asking(judge)) for part in self.parts))

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """The composite of a plain text."""
        return self.detailed_evaluate(prediction, list(references) or None)

    def _combined(self, shown: Mapping[str, Mapping[str, Any]]) -> Measure:
        details = {"parts": dict(shown), "aggregation": self.aggregation}
        missing = [name for name, part in shown.items() if part["value"] is None]
        counted = [part for part in shown.values() if part["value"] is not None or self.on_missing == "zero"]
        weights = [part["weight"] for part in counted]
        if (missing and self.on_missing == "null") or not counted or not sum(weights):
            return Measure(value=None, reason=f"no value for {', '.join(missing)}", details=details)
        value = combine([part["value"] or 0.0 for part in counted], weights, self.aggregation)
        return Measure(value=value, reason=f"no value for {', '.join(missing)}" if missing else "", details=details)


def _named_apart(parts: Sequence[Part]) -> tuple[Part, ...]:
    taken: set[str] = set()
    named = []
    for part in parts:
        name = wanted = part.name or part.metric.name
        number = 1
        while name in taken:
            number += 1
            name = f"{wanted}#{number}"
        taken.add(name)
        named.append(replace(part, name=name))
    return tuple(named)
