"""Leaf metrics: what one value is worth against another; a small protocol so that any other metric can be plugged in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from evalsuite.errors import FaultError, MissingExtraError
from evalsuite.metrics.base import Metric as TextMetric
from evalsuite.metrics.base import MetricError
from evalsuite.registry import foreign
from evalsuite.trees.leaf_metrics import ExactMatch, Levenshtein

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@runtime_checkable
class Metric(Protocol):
    """What a leaf metric must have; `PairMetric` makes one from any function of two values."""

    @property
    def name(self) -> str:
        """The name in results."""

    @property
    def score_range(self) -> tuple[float, float]:
        """(low, high), finite."""

    @property
    def higher_is_better(self) -> bool:
        """The direction."""

    def scores(self, references: Sequence[Any], predictions: Sequence[Any]) -> "Floats":
        """n raw values of n pairs, the worst of the range for a pair that has none; NaN is a fault."""

    def matrix(self, references: Sequence[Any], predictions: Sequence[Any]) -> "Floats":
        """n references x m predictions raw values."""

    def summary(self, references: Sequence[Any], predictions: Sequence[Any], mean: float | None) -> dict[str, float | None]:
        """What the results tree holds for this leaf outside arrays; `mean` is that of `scores`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairMetric:
    """A metric made of a function (prediction, reference) -> number, or None for undefined, which is worth the worst.

    `accepts` says which values the function takes; a pair with another one is worth the worst. Equal pairs are computed once a call.
    `signature` says what beside the name moves its values.
    """

    name: str
    function: Callable[[Any, Any], float | None]
    score_range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    accepts: Callable[[Any], bool] = lambda value: value is not None
    signature: str = ""

    def scores(self, references: Sequence[Any], predictions: Sequence[Any]) -> "Floats":
        """n raw values of n pairs."""
        import numpy as np

        known: dict[Any, float] = {}
        return np.array([self._one(r, p, known) for r, p in zip(references, predictions, strict=True)], dtype=np.float64)

    def matrix(self, references: Sequence[Any], predictions: Sequence[Any]) -> "Floats":
        """n references x m predictions raw values."""
        import numpy as np

        known: dict[Any, float] = {}
        rows = [[self._one(r, p, known) for p in predictions] for r in references]
        return np.array(rows, dtype=np.float64).reshape(len(references), len(predictions))

    def summary(self, references: Sequence[Any], predictions: Sequence[Any], mean: float | None) -> dict[str, float | None]:
        """The mean under the metric's name."""
        return {self.name: mean}

    def _one(self, reference: Any, prediction: Any, known: dict[Any, float]) -> float:
        key = (type(reference), reference, type(prediction), prediction)
        if key not in known:
            value = foreign.call(f"metric {self.name}", self._value, reference, prediction)
            known[key] = worst(self) if value is None else foreign.number(f"metric {self.name}", value)
        return known[key]

    def _value(self, reference: Any, prediction: Any) -> float | None:
        return self.function(prediction, reference) if self.accepts(reference) and self.accepts(prediction) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusMetric(PairMetric):
    """A metric of many pairs at once: `function(predictions=..., references=...)` gives a number, or an object with one under its name.

    A leaf, a type and the whole batch are each worth what it gives over all their pairs together. A single pair, by which lists are aligned
    and rows are made, is worth what it gives over that one alone.
    """

    def pooled(self, references: Sequence[Any], predictions: Sequence[Any]) -> float | None:
        """The raw value of n pairs together, None for none; the worst where it gives nothing."""
        if not references:
            return None
        texts = [["" if value is None or isinstance(value, dict | list) else value for value in side] for side in (predictions, references)]
        compute: Callable[..., Any] = self.function
        found = foreign.call(f"metric {self.name}", compute, predictions=texts[0], references=texts[1])
        if isinstance(found, Mapping):
            numbers = [value for value in found.values() if isinstance(value, int | float)]
            found = found.get(self.name, found.get("score", numbers[0] if len(numbers) == 1 else None))
        return worst(self) if found is None else foreign.number(f"metric {self.name}", found)

    def _value(self, reference: Any, prediction: Any) -> float | None:
        return self.pooled([reference], [prediction])


def all_metrics(more: "Mapping[str, Any] | Sequence[Any] | None", *, compat: bool = False) -> dict[str, Metric]:
    """The metrics that need nothing (exact_match, its other name boolean_accuracy, levenshtein), and `more` (see `treeval_score`).

    With `compat` those that need nothing are the reference's.

    Raises:
        ValueError: no metric, or a range that is not two finite numbers, low before high.
    """
    own: list[Metric] = [ExactMatch(compat=compat), ExactMatch(name="boolean_accuracy", compat=compat), Levenshtein(compat=compat)]
    known = {metric.name: metric for metric in own}
    given = more.items() if isinstance(more, Mapping) else [(metric.name, metric) for metric in more or ()]
    for name, entry in given:
        metric = _leaf_metric(name, entry)
        low, high = metric.score_range
        if not float("-inf") < low < high < float("inf"):
            raise ValueError(f"metric {name!r}: score_range must be two finite numbers, low before high")
        known[name] = metric
    return known


def _leaf_metric(name: str, entry: Any) -> Metric:
    """What somebody gave as a metric, as one of leaves."""
    from evalsuite import metric_from

    if isinstance(entry, TextMetric | Mapping | str):
        try:
            return text_metric(name, metric_from(entry) if not isinstance(entry, TextMetric) else entry)
        except MetricError as error:
            raise ValueError(f"metric {name!r}: {error.message}" + (f" ({error.hint})" if error.hint else "")) from error
    if isinstance(entry, Metric):
        return entry
    if callable(compute := getattr(entry, "compute", None)):
        ends, better = getattr(entry, "score_range", (0.0, 1.0)), getattr(entry, "higher_is_better", True)
        return CorpusMetric(name=name, function=compute, score_range=ends, higher_is_better=better)
    if not callable(entry):
        raise ValueError(f"metric {name!r} is neither a metric object nor a function")
    return PairMetric(name=name, function=entry)


def text_metric(name: str, metric: TextMetric) -> Metric:
    """A metric of the text room as a leaf metric, with its range and direction.

    Raises:
        ValueError: a metric without bounds, which no leaf can be scored by.
    """
    if metric.low is None or metric.high is None:
        raise ValueError(f"the metric {name!r} has no bounds; pass a metric object with a score_range")

    def evaluated(prediction: Any, reference: Any) -> float | None:
        try:
            measure = metric.detailed_evaluate(str(prediction), str(reference))
        except MissingExtraError as error:
            raise FaultError("NEEDS_EXTRA", f"{error.message}: {error.hint}") from error
        except MetricError as error:
            raise FaultError("BAD_SPEC", f"metric {name}: {error.message}", side="gold") from error
        if measure.fault is not None:
            raise FaultError(measure.fault.code, measure.fault.detail)
        return measure.value

    ends, better = (metric.low, metric.high), metric.direction == "higher"
    return PairMetric(name=name, function=evaluated, score_range=ends, higher_is_better=better, signature=metric.signature)


def measured(metric: Metric, kind: Literal["scores", "matrix"], references: Sequence[Any], predictions: Sequence[Any]) -> "Floats":
    """The metric's `scores` (n) or `matrix` (n x m). Raises `FaultError` where one of somebody's fails, or gives another shape or NaN."""
    import numpy as np

    make = getattr(metric, kind)
    if isinstance(metric, ExactMatch | Levenshtein):
        own: Floats = make(references, predictions)
        return own
    what = f"metric {metric.name}"
    raw: Floats = foreign.call(what, lambda: np.asarray(make(references, predictions), dtype=np.float64))
    shape = (len(references),) if kind == "scores" else (len(references), len(predictions))
    if raw.shape != shape:
        raise FaultError("SCORER_ERROR", f"{what}: {kind} gave an array of shape {raw.shape}, expected {shape}")
    if np.isnan(raw).any():
        raise FaultError("SCORER_ERROR", f"{what} gave nan, expected a number")
    return raw


def normalise(metric: Metric, raw: Any, *, clip: bool = True) -> Any:
    """Raw values mapped by the declared range to 0..1, 1 the best."""
    import numpy as np

    if isinstance(metric, ExactMatch | Levenshtein) and metric.score_range == (0.0, 1.0) and metric.higher_is_better:
        return raw  # nothing outside 0..1 to map
    low, high = metric.score_range
    if clip or (low, high) != (0, 1):
        raw = (np.clip(raw, low, high) - low) / (high - low)
    return raw if metric.higher_is_better else 1 - raw


def worst(metric: Metric) -> float:
    """The worst raw value of the declared range."""
    return metric.score_range[0 if metric.higher_is_better else 1]
