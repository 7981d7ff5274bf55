"""Leaf metrics: what one value is worth against another; a small protocol so that any other metric can be plugged in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import eq
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, runtime_checkable

from evalsuite.errors import FaultError
from evalsuite.registry import foreign

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
    """

    name: str
    function: Callable[[Any, Any], float | None]
    score_range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    accepts: Callable[[Any], bool] = lambda value: value is not None

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
class ExactMatch:
    """1 where two values are equal: numbers in value, a pair with a float within rel 1e-5 of the reference, True like 1; else 0."""

    name: str = "exact_match"
    score_range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True

    def scores(self, references: Sequence[Any], predictions: Sequence[Any]) -> "Floats":
        """n times 0 or 1."""
        import numpy as np

        kinds = set(map(type, references)) | set(map(type, predictions))
        same = map(eq, references, predictions) if float not in kinds else map(equal_values, references, predictions)
        return np.fromiter(same, dtype=np.float64, count=len(references))

    def matrix(self, references: Sequence[Any], predictions: Sequence[Any]) -> "Floats":
        """n x m times 0 or 1."""
        import numpy as np

        codes = {value: i for i, value in enumerate(dict.fromkeys([*references, *predictions]))}
        rows, columns = (np.array(list(map(codes.__getitem__, side)), dtype=np.intp) for side in (references, predictions))
        found: Floats = (rows[:, None] == columns[None, :]).astype(np.float64)
        if float in set(map(type, references)) | set(map(type, predictions)):
            left, right = ([i for i, v in enumerate(side) if isinstance(v, int | float)] for side in (references, predictions))
            found[np.ix_(left, right)] = _numbers_matrix([references[i] for i in left], [predictions[i] for i in right])
        return found

    def summary(self, references: Sequence[Any], predictions: Sequence[Any], mean: float | None) -> dict[str, float | None]:
        """The share of equal pairs."""
        return {self.name: mean}


@dataclass(frozen=True, slots=True, kw_only=True)
class Levenshtein:
    """1 - indel distance / (len(a) + len(b)) of two texts, 1 for two empty ones or two nulls; other values as Python prints them."""

    name: str = "levenshtein"
    score_range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True

    def scores(self, references: Sequence[Any], predictions: Sequence[Any]) -> "Floats":
        """n ratios."""
        import numpy as np
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import cpdist

        if not references:
            return np.zeros(0)
        left, right = _texts(references), _texts(predictions)
        # rapidfuzz leaves cells of None unset, so that it never gets any
        found: Floats = cpdist(_filled(left), _filled(right), scorer=Indel.normalized_similarity, dtype=np.float64)
        if None in left or None in right:
            nulls = [[text is None for text in side] for side in (left, right)]
            found = np.where(np.any(nulls, axis=0), np.all(nulls, axis=0).astype(np.float64), found)
        return found

    def matrix(self, references: Sequence[Any], predictions: Sequence[Any]) -> "Floats":
        """n x m ratios; equal texts are compared once."""
        import numpy as np
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import cdist

        sides = []
        for side in (_texts(references), _texts(predictions)):
            different = list(dict.fromkeys(side))
            place = {text: i for i, text in enumerate(different)}
            sides.append((different, None if len(different) == len(side) else list(map(place.__getitem__, side))))
        (left, rows), (right, columns) = sides
        if not left or not right:
            return np.zeros((len(references), len(predictions)))
        found: Floats = cdist(_filled(left), _filled(right), scorer=Indel.normalized_similarity, dtype=np.float64)
        if None in left:
            found[left.index(None), :] = 0.0
        if None in right:
            found[:, right.index(None)] = 0.0
        if None in left and None in right:
            found[left.index(None), right.index(None)] = 1.0
        if rows is not None or columns is not None:
            found = found[np.ix_(range(len(left)) if rows is None else rows, range(len(right)) if columns is None else columns)]
        return found

    def summary(self, references: Sequence[Any], predictions: Sequence[Any], mean: float | None) -> dict[str, float | None]:
        """The mean edit distance (a substitution costs 1) under the metric's name, the mean ratio beside it."""
        from rapidfuzz.distance import Levenshtein as Edits

        pairs = zip(_texts(references), _texts(predictions), strict=True)
        distances = [Edits.distance(a or "", b or "") for a, b in pairs]
        distance = sum(distances) / len(distances) if distances else None
        return {self.name: distance, f"{self.name}_ratio": mean}


def equal_values(reference: Any, prediction: Any) -> bool:
    """Whether two scalars are equal, as `ExactMatch` has it."""
    numbers = isinstance(reference, int | float) and isinstance(prediction, int | float)
    if numbers and (isinstance(reference, float) or isinstance(prediction, float)):
        try:
            return bool(reference == prediction or abs(prediction - reference) <= 1e-8 + 1e-5 * abs(reference) < float("inf"))
        except OverflowError:  # an integer beyond every float
            return False
    return bool(reference == prediction) and (numbers or type(reference) is type(prediction))


def built_in_metrics() -> dict[str, Metric]:
    """The metrics that need nothing: exact_match, boolean_accuracy (its other name), levenshtein."""
    return {metric.name: metric for metric in (ExactMatch(), ExactMatch(name="boolean_accuracy"), Levenshtein())}


def all_metrics(more: "Mapping[str, Any] | Sequence[Metric] | None") -> dict[str, Metric]:
    """The built-in metrics and `more`: metric objects, or by name plain functions (prediction, reference) -> number in [0, 1].

    Raises:
        ValueError: neither a metric nor a function, or a range that is not two finite numbers, low before high.
    """
    known = built_in_metrics()
    given = more.items() if isinstance(more, Mapping) else [(metric.name, metric) for metric in more or ()]
    for name, metric in given:
        if not isinstance(metric, Metric):
            if not callable(metric):
                raise ValueError(f"metric {name!r} is neither a metric object nor a function")
            metric = PairMetric(name=name, function=metric)
        low, high = metric.score_range
        if not float("-inf") < low < high < float("inf"):
            raise ValueError(f"metric {name!r}: score_range must be two finite numbers, low before high")
        known[name] = metric
    return known


def text_metric(name: str) -> Metric | None:
    """A metric of the text room as a leaf metric, with its range and direction; None where there is none of that name.

    Raises:
        ValueError: a metric without bounds, which no leaf can be scored by.
    """
    from evalsuite.metrics import METRICS, get_metric

    if name not in METRICS:
        return None
    metric = get_metric(name)
    if metric.low is None or metric.high is None:
        raise ValueError(f"the metric {name!r} has no bounds; pass a metric object with a score_range")

    def evaluated(prediction: Any, reference: Any) -> float | None:
        measure = metric.detailed_evaluate(str(prediction), str(reference))
        if measure.fault is not None:
            raise FaultError(measure.fault.code, measure.fault.detail)
        return measure.value

    return PairMetric(name=name, function=evaluated, score_range=(metric.low, metric.high), higher_is_better=metric.direction == "higher")


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

    low, high = metric.score_range
    if clip or (low, high) != (0, 1):
        raw = (np.clip(raw, low, high) - low) / (high - low)
    return raw if metric.higher_is_better else 1 - raw


def worst(metric: Metric) -> float:
    """The worst raw value of the declared range."""
    return metric.score_range[0 if metric.higher_is_better else 1]


def _texts(values: Sequence[Any]) -> list[str | None]:
    if set(map(type, values)) == {str}:
        return list(values)
    return [value if value is None or isinstance(value, str) else str(value) for value in values]


def _filled(texts: list[str | None]) -> list[str]:
    return [text or "" for text in texts] if None in texts else cast("list[str]", texts)


def _numbers_matrix(references: Sequence[float], predictions: Sequence[float]) -> "Floats":
    """The n x m equality of numbers, floats among them; one by one where an integer is too large for a float."""
    import numpy as np

    if any(type(v) is int and abs(v) >= 2**53 for side in (references, predictions) for v in side):
        listed = [[float(equal_values(r, p)) for p in predictions] for r in references]
        return np.array(listed, dtype=np.float64).reshape(len(references), len(predictions))
    rows, columns = np.array(references, dtype=np.float64)[:, None], np.array(predictions, dtype=np.float64)[None, :]
    float_rows, float_columns = (np.array([type(v) is float for v in side], dtype=bool) for side in (references, predictions))
    with np.errstate(invalid="ignore", over="ignore"):
        near = (np.abs(columns - rows) <= 1e-8 + 1e-5 * np.abs(rows)) & np.isfinite(rows)
    found: Floats = ((rows == columns) | (near & (float_rows[:, None] | float_columns[None, :]))).astype(np.float64)
    return found
