"""Composite metric: several metrics of one pair combined to one score on [0, 1], with each part in the details."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, get_args

from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.errors import count_words, did_you_mean
from evalsuite.core.metric import Measure, Metric, MetricError, on_unit
from evalsuite.core.plugin_calls import MOST_RAW

if TYPE_CHECKING:
    from evalsuite.scorers.judge.judge import Judge


Aggregation = Literal["weighted_mean", "min", "max", "geometric_mean", "weighted_geometric_mean", "harmonic_mean", "median"]
AGGREGATIONS: Final = get_args(Aggregation)
OnMissing = Literal["null", "renormalise", "zero"]


def normalise_weights(weights: Sequence[float], n: int) -> list[float]:
    """Return the weights divided by their sum. Raises `MetricError` (length, negative, zero_sum, empty) for invalid ones."""
    if not n:
        raise MetricError("there is nothing to combine", code="empty")
    if len(weights) != n:
        raise MetricError(f"{count_words(n, 'part')} but {count_words(len(weights), 'weight')}", code="length")
    if not all(0 <= weight <= MOST_RAW for weight in weights):
        raise MetricError(f"weights must be numbers from 0 to {MOST_RAW:g}", code="negative")
    total = math.fsum(weights)
    if total <= 0:
        raise MetricError("the weights sum to 0", code="zero_sum")
    return [weight / total for weight in weights]


def check_aggregation(aggregation: str) -> None:
    """Raise `MetricError` for an unknown aggregation."""
    if aggregation not in AGGREGATIONS:
        raise MetricError(
            f"unknown aggregation {aggregation!r}", code="unknown_aggregation", hint=did_you_mean(str(aggregation), AGGREGATIONS)
        )


def combine(scores: Sequence[float], weights: Sequence[float] | None = None, aggregation: str = "weighted_mean") -> float:
    """Combine n scores to one, by default with equal weights; weights are always normalised.

    min, max, geometric_mean and median ignore the weights. harmonic_mean is sum(w) / sum(w/x); it and both geometric means are 0 if a
    score is 0 (a score of weight 0 does not count in the weighted ones) and raise `MetricError` (negative_score) below 0.
    """
    check_aggregation(aggregation)
    shares = normalise_weights([1.0] * len(scores) if weights is None else weights, len(scores))
    if aggregation == "min":
        return min(scores)
    if aggregation == "max":
        return max(scores)
    if aggregation == "median":
        import statistics

        return statistics.median(scores)
    if aggregation == "weighted_mean":
        return math.fsum(share * score for share, score in zip(shares, scores, strict=True))
    if min(scores) < 0:
        raise MetricError(f"{aggregation} is not defined for a negative score", code="negative_score")
    if aggregation == "geometric_mean":
        shares = [1 / len(scores)] * len(scores)
    weighted = [(score, share) for score, share in zip(scores, shares, strict=True) if share > 0]
    if any(score == 0 for score, _ in weighted):
        return 0.0
    if aggregation == "harmonic_mean":
        low = min(score for score, _ in weighted)  # in units of the smallest score, because its reciprocal may overflow
        return low / math.fsum(share * (low / score) for score, share in weighted)
    return math.exp(math.fsum(share * math.log(score) for score, share in weighted))


@dataclass(frozen=True, kw_only=True)
class Part:
    """One metric of a composite.

    Attributes:
        metric: the metric.
        weight: the raw weight.
        scale: (low, high), the ends that map to 0 and 1; by default the metric's range.
    """

    metric: Metric
    weight: float = 1.0
    name: str = ""
    scale: tuple[float, float] | None = None

    @property
    def signature(self) -> str:
        """The metric's signature in brackets, with weight, name and scale if they were set."""
        scale = f" scale {self.scale[0]:g}..{self.scale[1]:g}" if self.scale else ""
        return f"{self.weight:g}*{self.name}[{self.metric.signature}]{scale}"

    def unit(self, value: float | None) -> float | None:
        """Return the part's value on [0, 1] where more is better."""
        if value is None or self.scale is None:
            return self.metric.unit(value)
        return on_unit(value, *self.scale, self.metric.direction)


@dataclass(frozen=True, kw_only=True)
class Composite(Metric):
    """Metrics mapped to [0, 1], more is better, combined to one score; each part is scored once.

    Attributes:
        parts: the metrics with their weights. An unbounded one (TER, readability) needs a `scale`. A part with the name of an earlier one
            becomes `name#2`.
        aggregation: how the values of the parts become one, see `AGGREGATIONS`.
        on_missing: for a part without a value, `null` makes the composite undefined, `renormalise` leaves the part out, `zero` counts 0.
    """

    name: ClassVar[str] = "composite"
    # The parts that need a reference check for it.
    needs_reference: ClassVar[bool] = False

    parts: tuple[Part, ...]
    aggregation: Aggregation = "weighted_mean"
    on_missing: OnMissing = "null"

    def __post_init__(self) -> None:
        """Make the names of parts unique. Raises `MetricError` for invalid weights, parts or an unknown aggregation."""
        check_aggregation(self.aggregation)
        super().__post_init__()
        object.__setattr__(self, "parts", _with_unique_names(self.parts))
        normalise_weights([part.weight for part in self.parts], len(self.parts))
        for part in self.parts:
            unbounded = part.metric.low is None or part.metric.high is None
            if part.scale is None and unbounded:
                message = f"{part.name} is unbounded and needs a scale"
                raise MetricError(message, code="no_scale", hint="name the values that count as 0 and 1: scale: [0, 100]")
            if part.scale is not None and not -MOST_RAW <= part.scale[0] < part.scale[1] <= MOST_RAW:
                raise MetricError(f"{part.name}: the scale's low must be below its high, both finite", code="no_scale")

    def detailed_evaluate(self, prediction: Any, reference: Any = None) -> Measure:
        """Return the composite. For each part `details.parts` has its raw value, its value on [0, 1], both weights and its details."""
        shares = normalise_weights([part.weight for part in self.parts], len(self.parts))
        rows: dict[str, dict[str, Any]] = {}
        for part, share in zip(self.parts, shares, strict=True):
            measure = part.metric.detailed_evaluate(prediction, reference)
            if measure.fault is not None:
                # The grader's side, not the answer, lacks something: the composite is undefined, whatever `on_missing` says.
                return Measure(value=None, reason=f"{part.name}: {measure.reason}", fault=measure.fault)
            seen = {"value": part.unit(measure.value), "raw": measure.value, "weight": part.weight, "share": share}
            note = {"reason": measure.reason} if measure.reason else {}
            rows[part.name] = seen | note | ({"details": dict(measure.details)} if measure.details else {})
        details = {"parts": rows, "aggregation": self.aggregation}
        missing = [name for name, part in rows.items() if part["value"] is None]
        counted_parts = [part for part in rows.values() if part["value"] is not None or self.on_missing == "zero"]
        weights = [part["weight"] for part in counted_parts]
        if (missing and self.on_missing == "null") or not sum(weights):
            return Measure(value=None, reason=f"no value for {', '.join(missing)}", details=details)
        value = combine([part["value"] or 0.0 for part in counted_parts], weights, self.aggregation)
        return Measure(value=value, reason=f"no value for {', '.join(missing)}" if missing else "", details=details)

    @property
    def asks(self) -> bool:
        """Whether a part asks a judge."""
        return any(part.metric.asks for part in self.parts)

    @property
    def at_once(self) -> int:
        """The highest number of the parts."""
        return max(part.metric.at_once for part in self.parts)

    def bind_judge(self, judge: "Judge") -> "Composite":
        """Return the composite with this judge in every part that asks one."""
        return replace(self, parts=tuple(replace(part, metric=part.metric.bind_judge(judge)) for part in self.parts))

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """Return the composite of a plain text."""
        return self.detailed_evaluate(prediction, list(references) or None)


def _with_unique_names(parts: Sequence[Part]) -> tuple[Part, ...]:
    names: set[str] = set()
    renamed = []
    for part in parts:
        name = base = part.name or part.metric.name
        number = 1
        while name in names:
            number += 1
            name = f"{base}#{number}"
        names.add(name)
        renamed.append(replace(part, name=name))
    return tuple(renamed)
