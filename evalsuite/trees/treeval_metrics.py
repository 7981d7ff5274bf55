"""Leaf metrics: the score of one value against another, and the protocol by which other metrics are plugged in.

Treeval's two defaults are equality of values and similarity of texts, each also in the reference's version.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import eq
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, runtime_checkable
from unicodedata import normalize

from evalsuite.core import plugin_calls
from evalsuite.core.errors import FaultError, MissingExtraError
from evalsuite.core.metric import Metric as TextMetric
from evalsuite.core.metric import MetricError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactMatch:
    """1 where two values are equal, else 0: numbers in value, never a number a boolean or text, texts in Unicode's composed form.

    With `compat`, as the reference has it: a pair with a float within rel 1e-5 of the reference, True like 1.
    """

    name: str = "exact_match"
    score_range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    compat: bool = False

    def scores(self, references: Sequence[Any], predictions: Sequence[Any]) -> "Floats":
        """n times 0 or 1."""
        import numpy as np

        kinds = set(map(type, references)) | set(map(type, predictions))
        if not self.compat:
            same = map(eq, *_exact_sides(references, predictions))
        else:
            same = map(eq, references, predictions) if float not in kinds else map(nearly_equal, references, predictions)
        return np.fromiter(same, dtype=np.float64, count=len(references))

    def matrix(self, references: Sequence[Any], predictions: Sequence[Any]) -> "Floats":
        """n x m times 0 or 1."""
        import numpy as np

        sides = (references, predictions) if self.compat else _exact_sides(references, predictions)
        codes = {value: i for i, value in enumerate(dict.fromkeys([*sides[0], *sides[1]]))}
        rows, columns = (np.array(list(map(codes.__getitem__, side)), dtype=np.intp) for side in sides)
        found: Floats = (rows[:, None] == columns[None, :]).astype(np.float64)
        if self.compat and float in set(map(type, references)) | set(map(type, predictions)):
            left, right = ([i for i, v in enumerate(side) if isinstance(v, int | float)] for side in (references, predictions))
            found[np.ix_(left, right)] = _numbers_matrix([references[i] for i in left], [predictions[i] for i in right])
        return found

    def summary(self, references: Sequence[Any], predictions: Sequence[Any], mean: float | None) -> dict[str, float | None]:
        """The share of equal pairs."""
        return {self.name: mean}


@dataclass(frozen=True, slots=True, kw_only=True)
class Levenshtein:
    """1 - indel distance / (len(a) + len(b)) of two texts, 1 for two empty ones or two nulls; other values as Python prints them.

    Two numbers, where a leaf may be a number or a text, are equal (1) or not (0). A text against
    a number or a boolean, or one of these against the other, is 0; with `compat` they are texts too, as in the reference.
    """

    name: str = "levenshtein"
    score_range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    compat: bool = False

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
        if self.compat or set(map(type, references)) == set(map(type, predictions)) == {str}:
            return found
        pairs = zip(references, predictions, found.tolist(), strict=True)
        return np.fromiter((_of_one_kind(*pair) for pair in pairs), np.float64, len(references))

    def matrix(self, references: Sequence[Any], predictions: Sequence[Any]) -> "Floats":
        """n x m ratios; equal texts are compared once where there are many."""
        import numpy as np
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import cdist

        sides = []
        for side in (_texts(references), _texts(predictions)):
            place = {text: i for i, text in enumerate(dict.fromkeys(side))}
            # To compare a few texts again costs less than to put the others back into their places.
            fewer = 4 * len(place) < 3 * len(side) or None in place
            sides.append((list(place), list(map(place.__getitem__, side))) if fewer else (side, None))
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
        found = found if rows is None else found.take(rows, axis=0)
        found = found if columns is None else found.take(columns, axis=1)
        if not self.compat and not set(map(type, references)) == set(map(type, predictions)) == {str}:
            rows_of = zip(references, found.tolist(), strict=True)
            listed = [[_of_one_kind(r, p, value) for p, value in zip(predictions, row, strict=True)] for r, row in rows_of]
            found = np.array(listed, dtype=np.float64).reshape(len(references), len(predictions))
        return found

    def summary(self, references: Sequence[Any], predictions: Sequence[Any], mean: float | None) -> dict[str, float | None]:
        """The mean edit distance (a substitution costs 1) under the metric's name, the mean ratio beside it."""
        from rapidfuzz.distance import Levenshtein as Edits

        pairs = zip(_texts(references), _texts(predictions), strict=True)
        distances = [Edits.distance(a or "", b or "") for a, b in pairs]
        distance = sum(distances) / len(distances) if distances else None
        return {self.name: distance, f"{self.name}_ratio": mean}


_KINDS = {str: "text", bool: "boolean", int: "number", float: "number", type(None): "null"}


def _of_one_kind(reference: Any, prediction: Any, likeness: float) -> float:
    """The likeness of the texts of two values of one kind, 0 for two kinds; numbers are equal or not."""
    kind = _KINDS.get(type(reference), "other")
    if kind != _KINDS.get(type(prediction), "other"):
        return 0.0
    return float(reference == prediction) if kind == "number" else likeness


def _exact_sides(references: Sequence[Any], predictions: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Both sides so that `==` says what is equal; as they are where it says so anyway."""
    kinds = (set(map(type, references)) | set(map(type, predictions))) - {type(None)}
    if kinds in ({int}, {bool}, set()) or (kinds == {str} and all(map(str.isascii, filter(None, (*references, *predictions))))):
        return references, predictions
    return list(map(_exactly, references)), list(map(_exactly, predictions))


def _exactly(value: Any) -> Any:
    """What equals another value's only where both are the same: a boolean is no number, a text stands in NFC, NaN is nothing."""
    if isinstance(value, str):
        return value if value.isascii() else normalize("NFC", value)
    return (value,) if isinstance(value, bool) else object() if value != value else value


def nearly_equal(reference: Any, prediction: Any) -> bool:
    """Whether two scalars are equal, as the reference has it."""
    numbers = isinstance(reference, int | float) and isinstance(prediction, int | float)
    if numbers and (isinstance(reference, float) or isinstance(prediction, float)):
        try:
            return bool(reference == prediction or abs(prediction - reference) <= 1e-8 + 1e-5 * abs(reference) < float("inf"))
        except OverflowError:  # an integer beyond every float
            return False
    return bool(reference == prediction) and (numbers or type(reference) is type(prediction))


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
        listed = [[float(nearly_equal(r, p)) for p in predictions] for r in references]
        return np.array(listed, dtype=np.float64).reshape(len(references), len(predictions))
    rows, columns = np.array(references, dtype=np.float64)[:, None], np.array(predictions, dtype=np.float64)[None, :]
    float_rows, float_columns = (np.array([type(v) is float for v in side], dtype=bool) for side in (references, predictions))
    with np.errstate(invalid="ignore", over="ignore"):
        near = (np.abs(columns - rows) <= 1e-8 + 1e-5 * np.abs(rows)) & np.isfinite(rows)
    found: Floats = ((rows == columns) | (near & (float_rows[:, None] | float_columns[None, :]))).astype(np.float64)
    return found


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
            value = plugin_calls.call_plugin(f"metric {self.name}", self._value, reference, prediction)
            known[key] = worst(self) if value is None else plugin_calls.number(f"metric {self.name}", value)
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
        found = plugin_calls.call_plugin(f"metric {self.name}", compute, predictions=texts[0], references=texts[1])
        if isinstance(found, Mapping):
            numbers = [value for value in found.values() if isinstance(value, int | float)]
            found = found.get(self.name, found.get("score", numbers[0] if len(numbers) == 1 else None))
        return worst(self) if found is None else plugin_calls.number(f"metric {self.name}", found)

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
    raw: Floats = plugin_calls.call_plugin(what, lambda: np.asarray(make(references, predictions), dtype=np.float64))
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
