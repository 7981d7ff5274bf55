"""Treeval schemas and leaf metrics: parsed schemas, their metrics, and conversion from and to JSON Schema.

Treeval's two default metrics are equality of values and similarity of texts, each also in the reference's version. Other metrics are
plugged in through the protocol `Metric`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from operator import eq
from typing import Any, Literal, Protocol, runtime_checkable
from unicodedata import normalize

from evalsuite.core import plugin_calls
from evalsuite.core.dataclasses import dataclass
from evalsuite.core.errors import FaultError, MissingExtraError, did_you_mean
from evalsuite.core.metric import Metric as TextMetric
from evalsuite.core.metric import MetricError
from evalsuite.trees.all_pairs import Floats, np
from evalsuite.trees.eval_schema import SchemaNode, read_treeval_schema
from evalsuite.trees.json_schema import CHOICE, NUMBER_OR_TEXT, TYPES, SchemaError, join, type_key
from evalsuite.trees.json_values import number_in_text


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactMatch:
    """1 if two values are equal, else 0: numbers by value, never a number and a boolean or text, texts in Unicode's composed form.

    With `compat`, as in the reference: a predicted float within rel 1e-5 of the expected number, True like 1.
    """

    name: str = "exact_match"
    score_range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    compat: bool = False

    def scores(self, references: Sequence[Any], predictions: Sequence[Any]) -> Floats:
        """n times 0 or 1."""
        kinds = set(map(type, references)) | set(map(type, predictions))
        if not self.compat:
            same = map(eq, *_exact_sides(references, predictions))
        else:
            same = map(eq, references, predictions) if float not in kinds else map(nearly_equal, references, predictions)
        return np.fromiter(same, dtype=np.float64, count=len(references))

    def matrix(self, references: Sequence[Any], predictions: Sequence[Any]) -> Floats:
        """n x m times 0 or 1."""
        sides = (references, predictions) if self.compat else _exact_sides(references, predictions)
        codes = {value: i for i, value in enumerate(dict.fromkeys([*sides[0], *sides[1]]))}
        rows, columns = (np.array(list(map(codes.__getitem__, side)), dtype=np.intp) for side in sides)
        equal: Floats = (rows[:, None] == columns[None, :]).astype(np.float64)
        if self.compat and float in set(map(type, references)) | set(map(type, predictions)):
            left, right = ([i for i, v in enumerate(side) if isinstance(v, int | float)] for side in (references, predictions))
            equal[np.ix_(left, right)] = _numbers_matrix([references[i] for i in left], [predictions[i] for i in right])
        return equal

    def summary(self, references: Sequence[Any], predictions: Sequence[Any], mean: float | None) -> dict[str, float | None]:
        """The share of equal pairs."""
        return {self.name: mean}


@dataclass(frozen=True, slots=True, kw_only=True)
class Levenshtein:
    """1 - indel distance / (len(a) + len(b)) of two texts (in NFC), 1 for two empty ones or two nulls; other values as Python prints them.

    Two numbers are equal (1) or not (0), with `reads_numbers` also two texts that are numbers ("500" and "500.00"). A text against a number
    or a boolean, or one of these against the other, is 0. With `compat` all of these are texts, as in the reference.
    """

    name: str = "levenshtein"
    score_range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    compat: bool = False
    reads_numbers: bool = False

    def scores(self, references: Sequence[Any], predictions: Sequence[Any]) -> Floats:
        """n ratios."""
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import cpdist

        ratios: Floats = cpdist(self._texts(references), self._texts(predictions), scorer=Indel.normalized_similarity, dtype=np.float64)
        if self._is_likeness(references, predictions):
            return ratios
        pairs = zip(self._values(references), self._values(predictions), ratios.tolist(), strict=True)
        return np.fromiter((_of_one_kind(*pair) for pair in pairs), np.float64, len(references))

    def matrix(self, references: Sequence[Any], predictions: Sequence[Any]) -> Floats:
        """n x m ratios; equal texts are compared once where there are many."""
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import cdist

        sides = []
        for side in (self._texts(references), self._texts(predictions)):
            place = {text: i for i, text in enumerate(dict.fromkeys(side))}
            # To compare a few texts again costs less than to put the others back into their places.
            fewer = 4 * len(place) < 3 * len(side)
            sides.append((list(place), list(map(place.__getitem__, side))) if fewer else (side, None))
        (left, rows), (right, columns) = sides
        ratios: Floats = cdist(left, right, scorer=Indel.normalized_similarity, dtype=np.float64)
        ratios = ratios if rows is None else ratios.take(rows, axis=0)
        ratios = ratios if columns is None else ratios.take(columns, axis=1)
        if not self._is_likeness(references, predictions):
            expected, others = self._values(references), self._values(predictions)
            rows_of = zip(expected, ratios.tolist(), strict=True)
            scores = [[_of_one_kind(r, p, value) for p, value in zip(others, row, strict=True)] for r, row in rows_of]
            ratios = np.array(scores, dtype=np.float64).reshape(len(references), len(predictions))
        return ratios

    def _is_likeness(self, references: Sequence[Any], predictions: Sequence[Any]) -> bool:
        """Whether the likeness of the texts is the score of every pair."""
        kinds = {*map(type, references), *map(type, predictions)}
        return type(None) not in kinds if self.compat else kinds == {str} and not self.reads_numbers

    def _texts(self, values: Sequence[Any]) -> Sequence[str]:
        texts = values if set(map(type, values)) == {str} else ["" if value is None else str(value) for value in values]
        return texts if self.compat or all(map(str.isascii, texts)) else [normalize("NFC", text) for text in texts]

    def _values(self, values: Sequence[Any]) -> Sequence[Any]:
        """The values as they are compared: a text that is a number as a `Decimal` where texts may be numbers."""
        if self.compat:
            return [value if value is None else "" for value in values]
        return [value if (number := number_in_text(value)) is None else number for value in values] if self.reads_numbers else values

    def summary(self, references: Sequence[Any], predictions: Sequence[Any], mean: float | None) -> dict[str, float | None]:
        """Return the mean edit distance (a substitution costs 1) under the metric's name, and the mean ratio."""
        from rapidfuzz.distance import Levenshtein as Edits

        pairs = zip(self._texts(references), self._texts(predictions), strict=True)
        distances = [Edits.distance(a, b) for a, b in pairs]
        distance = sum(distances) / len(distances) if distances else None
        return {self.name: distance, f"{self.name}_ratio": mean}


_KINDS = {str: "text", Decimal: "text", bool: "boolean", int: "number", float: "number", type(None): "null"}


def _of_one_kind(reference: Any, prediction: Any, likeness: float) -> float:
    """Return the similarity of the texts of two values of one kind, 0 for two kinds; numbers are equal or not, a `Decimal` is its text."""
    kind, other = type(reference), type(prediction)
    if kind is Decimal is other or _KINDS.get(kind) == _KINDS.get(other) == "number":
        return float(reference == prediction)
    return likeness if _KINDS.get(kind, "other") == _KINDS.get(other, "other") else 0.0


def _exact_sides(references: Sequence[Any], predictions: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return both sides in forms that `==` compares exactly; unchanged if it does so anyway."""
    kinds = (set(map(type, references)) | set(map(type, predictions))) - {type(None)}
    if kinds in ({int}, {bool}, set()) or (kinds == {str} and all(map(str.isascii, filter(None, (*references, *predictions))))):
        return references, predictions
    return list(map(_exactly, references)), list(map(_exactly, predictions))


def _exactly(value: Any) -> Any:
    """Return a form of the value that equals only the same value: a boolean is no number, texts are in NFC, NaN equals nothing."""
    if isinstance(value, str):
        return value if value.isascii() else normalize("NFC", value)
    return (value,) if isinstance(value, bool) else object() if value != value else value


def nearly_equal(reference: Any, prediction: Any) -> bool:
    """Return whether two scalars are equal, as in the reference, which compares a predicted integer exactly and other numbers nearly."""
    numbers = isinstance(reference, int | float) and isinstance(prediction, int | float)
    if numbers and float in (type(reference), type(prediction)):
        try:
            is_near = type(prediction) is not int and abs(prediction - reference) <= 1e-8 + 1e-5 * abs(reference) < float("inf")
            return float(reference) == float(prediction) or is_near
        except OverflowError:  # an integer beyond every float
            return False
    return bool(reference == prediction) and (numbers or type(reference) is type(prediction))


def _numbers_matrix(references: Sequence[float], predictions: Sequence[float]) -> Floats:
    """Return the n x m equality of numbers, floats among them; one by one if an integer is too large for a float."""
    if any(type(v) is int and abs(v) >= 2**53 for side in (references, predictions) for v in side):
        scores = [[float(nearly_equal(r, p)) for p in predictions] for r in references]
        return np.array(scores, dtype=np.float64).reshape(len(references), len(predictions))
    rows, columns = np.array(references, dtype=np.float64)[:, None], np.array(predictions, dtype=np.float64)[None, :]
    is_near = np.array([type(v) is not int for v in predictions], dtype=bool)
    with np.errstate(invalid="ignore", over="ignore"):
        near = (np.abs(columns - rows) <= 1e-8 + 1e-5 * np.abs(rows)) & np.isfinite(rows)
    equal: Floats = ((rows == columns) | (near & is_near[None, :])).astype(np.float64)
    return equal


@runtime_checkable
class Metric(Protocol):
    """Interface of a leaf metric; `PairMetric` makes one from any function of two values."""

    @property
    def name(self) -> str:
        """The name in results."""

    @property
    def score_range(self) -> tuple[float, float]:
        """(low, high), finite."""

    @property
    def higher_is_better(self) -> bool:
        """The direction."""

    def scores(self, references: Sequence[Any], predictions: Sequence[Any]) -> Floats:
        """Return n raw values of n pairs, the worst of the range for a pair without one; NaN is a fault."""

    def matrix(self, references: Sequence[Any], predictions: Sequence[Any]) -> Floats:
        """Return n references x m predictions raw values."""

    def summary(self, references: Sequence[Any], predictions: Sequence[Any], mean: float | None) -> dict[str, float | None]:
        """Return the entry of the results tree for this leaf outside arrays; `mean` is that of `scores`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairMetric:
    """A metric made of a function (prediction, reference) -> number, or None if undefined, which counts as the worst value.

    `accepts` decides which values the function takes; a pair with another one gets the worst value. Equal pairs are computed once per
    call. `signature` contains what moves the values in addition to the name.
    """

    name: str
    function: Callable[[Any, Any], float | None]
    score_range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    accepts: Callable[[Any], bool] = lambda value: value is not None
    signature: str = ""

    def scores(self, references: Sequence[Any], predictions: Sequence[Any]) -> Floats:
        """n raw values of n pairs."""
        cache: dict[Any, float] = {}
        return np.array([self._score_pair(r, p, cache) for r, p in zip(references, predictions, strict=True)], dtype=np.float64)

    def matrix(self, references: Sequence[Any], predictions: Sequence[Any]) -> Floats:
        """n references x m predictions raw values."""
        cache: dict[Any, float] = {}
        rows = [[self._score_pair(r, p, cache) for p in predictions] for r in references]
        return np.array(rows, dtype=np.float64).reshape(len(references), len(predictions))

    def summary(self, references: Sequence[Any], predictions: Sequence[Any], mean: float | None) -> dict[str, float | None]:
        """The mean under the metric's name."""
        return {self.name: mean}

    def _score_pair(self, reference: Any, prediction: Any, cache: dict[Any, float]) -> float:
        key = (type(reference), reference, type(prediction), prediction)
        if key not in cache:
            value = plugin_calls.call_plugin(f"metric {self.name}", self._value, reference, prediction)
            cache[key] = worst(self) if value is None else plugin_calls.number(f"metric {self.name}", value)
        return cache[key]

    def _value(self, reference: Any, prediction: Any) -> float | None:
        return self.function(prediction, reference) if self.accepts(reference) and self.accepts(prediction) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusMetric(PairMetric):
    """A metric of many pairs at once: `function(predictions=..., references=...)` returns a number, or an object with one under its name.

    A leaf, a type and the whole batch each get its value over all their pairs together. A single pair, for aligning lists and making
    rows, gets its value over that one alone.
    """

    def measure_together(self, references: Sequence[Any], predictions: Sequence[Any]) -> float | None:
        """Return the raw value of n pairs together, None for none; the worst if the function returns nothing."""
        if not references:
            return None
        texts = [["" if value is None or isinstance(value, dict | list) else value for value in side] for side in (predictions, references)]
        compute: Callable[..., Any] = self.function
        result = plugin_calls.call_plugin(f"metric {self.name}", compute, predictions=texts[0], references=texts[1])
        if isinstance(result, Mapping):
            numbers = [value for value in result.values() if isinstance(value, int | float)]
            result = result.get(self.name, result.get("score", numbers[0] if len(numbers) == 1 else None))
        return worst(self) if result is None else plugin_calls.number(f"metric {self.name}", result)

    def _value(self, reference: Any, prediction: Any) -> float | None:
        return self.measure_together([reference], [prediction])


def all_metrics(more: "Mapping[str, Any] | Sequence[Any] | None", *, compat: bool = False) -> dict[str, Metric]:
    """Return the metrics without requirements (exact_match, its other name boolean_accuracy, levenshtein), and `more`.

    With `compat` the former are the reference's. Raises SchemaError for an invalid metric, or a range that is not two finite numbers, low
    before high.
    """
    standard: list[Metric] = [ExactMatch(compat=compat), ExactMatch(name="boolean_accuracy", compat=compat), Levenshtein(compat=compat)]
    by_name = {metric.name: metric for metric in standard}
    for name, entry in more.items() if isinstance(more, Mapping) else [(metric.name, metric) for metric in more or ()]:
        metric = _leaf_metric(name, entry)
        low, high = metric.score_range
        if not float("-inf") < low < high < float("inf"):
            raise SchemaError(f"metric {name!r}: score_range must be two finite numbers, low before high")
        by_name[name] = metric
    return by_name


def _leaf_metric(name: str, entry: Any) -> Metric:
    """Return a caller's metric as a metric of leaves."""
    from evalsuite import metric_from

    if isinstance(entry, TextMetric | Mapping | str):
        try:
            return text_metric(name, metric_from(entry) if not isinstance(entry, TextMetric) else entry)
        except MetricError as error:
            raise SchemaError(f"metric {name!r}: {error.message}" + (f" ({error.hint})" if error.hint else "")) from error
    if isinstance(entry, Metric):
        return entry
    if callable(compute := getattr(entry, "compute", None)):
        ends, better = getattr(entry, "score_range", (0.0, 1.0)), getattr(entry, "higher_is_better", True)
        return CorpusMetric(name=name, function=compute, score_range=ends, higher_is_better=better)
    if not callable(entry):
        raise SchemaError(f"metric {name!r} is neither a metric object nor a function")
    return PairMetric(name=name, function=entry)


def text_metric(name: str, metric: TextMetric) -> Metric:
    """Return a text metric as a leaf metric, with its range and direction. Raises SchemaError for one without bounds."""
    if metric.low is None or metric.high is None:
        raise SchemaError(f"the metric {name!r} has no bounds; pass a metric object with a score_range")

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


def measure(metric: Metric, kind: Literal["scores", "matrix"], references: Sequence[Any], predictions: Sequence[Any]) -> Floats:
    """Return the metric's `scores` (n) or `matrix` (n x m). Raises `FaultError` if a plugin's fails, or returns another shape or NaN."""
    make = getattr(metric, kind)
    if isinstance(metric, ExactMatch | Levenshtein):
        scores: Floats = make(references, predictions)
        return scores
    what = f"metric {metric.name}"
    raw: Floats = plugin_calls.call_plugin(what, lambda: np.asarray(make(references, predictions), dtype=np.float64))
    shape = (len(references),) if kind == "scores" else (len(references), len(predictions))
    if raw.shape != shape:
        raise FaultError("SCORER_ERROR", f"{what}: {kind} gave an array of shape {raw.shape}, expected {shape}")
    if np.isnan(raw).any():
        raise FaultError("SCORER_ERROR", f"{what} gave nan, expected a number")
    return raw


def normalise(metric: Metric, raw: Any, *, clip: bool = True) -> Any:
    """Return raw values mapped by the declared range to 0..1, 1 the best."""
    low, high = metric.score_range
    if (clip and not isinstance(metric, ExactMatch | Levenshtein)) or (low, high) != (0, 1):  # these two give nothing outside 0..1
        raw = (np.clip(raw, low, high) - low) / (high - low)
    return raw if metric.higher_is_better else 1 - raw


def worst(metric: Metric) -> float:
    """Return the worst raw value of the declared range."""
    return metric.score_range[0 if metric.higher_is_better else 1]


ROOT_KEYS = ("precision_node", "recall_node", "f1_node", "precision_leaf", "recall_leaf", "f1_leaf", "treeval_score")
DEFAULT_METRICS: dict[str, tuple[str, ...]] = {
    "integer": ("exact_match",),
    "number": ("exact_match",),
    CHOICE: ("exact_match",),
    "boolean": ("boolean_accuracy",),
    "string": ("levenshtein",),
}


def create_tree_metrics(
    schema: Any,
    leaves_metrics: Mapping[str, Any] | None = None,
    types_metrics: Mapping[Any, Any] | None = None,
    exclusive: bool = False,
) -> dict[str, Any]:
    """Return the schema's shape with a set of metric names at each leaf; the item's shape represents an array of objects.

    A leaf's metrics are its entry in `leaves_metrics` plus those of its type; with `exclusive` an entry replaces the type's.

    Args:
        schema: the Treeval schema, or a schema in any other form (see `plain_schema`).
        leaves_metrics: metric names (one, or a list) at the same path; for an array of objects straight at the item's keys.
        types_metrics: leaf type -> metric names; a choice is "()", an array takes the type of its items.
        exclusive: whether an entry of a leaf replaces its type's metrics.

    Raises:
        SchemaError: a leaf without metrics, a path the schema lacks, a reserved name, a schema that cannot be read.
    """
    branch = read_treeval_schema(schema)
    choose_metrics(branch, leaves_metrics, types_metrics, exclusive)
    return _names_in_shape(branch)


def _names_in_shape(branch: SchemaNode) -> dict[str, Any]:
    fields = [(child.key, child.item if child.is_array else child) for child in branch.children]
    return {key: _names_in_shape(field) if field.structural else set(field.metrics) for key, field in fields}


def with_defaults(types_metrics: Mapping[Any, Any] | None) -> dict[str, Any]:
    """Return `types_metrics` over the default of each of the five types."""
    return {**DEFAULT_METRICS, **{type_key(key): value for key, value in (types_metrics or {}).items()}}


def is_of_shape(node: SchemaNode, values: Sequence[Any]) -> bool:
    """Return whether all expected values have the schema's shape here and below, whole columns at a time; null is always allowed."""
    kinds = set(map(type, values)) - {type(None)}
    if not node.structural:
        return not kinds & {dict, list}
    values = [value for value in values if value is not None] if type(None) in set(map(type, values)) else values
    if node.is_object:
        columns = ((child, [value.get(child.key) for value in values]) for child in node.children)
        return kinds <= {dict} and all(is_of_shape(child, column) for child, column in columns)
    return kinds <= {list} and is_of_shape(node.item, [item for value in values for item in value])


def check_reference(branch: SchemaNode, record: Any, name: str) -> None:
    """Raise SchemaError with the path if an expected record does not have the schema's shape; null is allowed below the root."""
    if not isinstance(record, dict):
        raise SchemaError(f"{name} must be an object, found {type(record).__name__}")
    waiting: list[tuple[SchemaNode, Any, str]] = [(branch, record, "")]
    while waiting:
        node, value, path = waiting.pop()
        if value is None:
            continue
        if node.is_object:
            if not isinstance(value, dict):
                raise SchemaError(f"{name}: {path} must be an object, found {type(value).__name__}")
            waiting.extend((child, value.get(child.key), join(path, child.key)) for child in node.children)
        elif not node.structural:
            if isinstance(value, dict | list):
                hint = "name its parts in the schema, or leave it out with x-eval-skip"
                raise SchemaError(f"{name}: {path} must be a plain value, found {type(value).__name__}; {hint}")
        elif not isinstance(value, list):
            raise SchemaError(f"{name}: {path} must be a list, found {type(value).__name__}")
        else:
            waiting.extend((node.item, item, f"{path}[{place}]") for place, item in enumerate(value))


def names_of(entry: Any, where: str) -> list[str]:
    """Return metric names, written as one text or as a list, tuple or set of texts."""
    names = [entry] if isinstance(entry, str) else list(entry) if isinstance(entry, Iterable) and not isinstance(entry, Mapping) else None
    if names is None or not all(isinstance(name, str) for name in names):
        raise SchemaError(f"{where} must be a metric name or a list of them")
    reserved = [name for name in names if name in ROOT_KEYS]
    if reserved:
        raise SchemaError(f"{where}: {reserved[0]!r} is a reserved name")
    return sorted(names) if isinstance(entry, set | frozenset) else names


def choose_metrics(branch: SchemaNode, leaves: Any, types_metrics: Mapping[Any, Any] | None, exclusive: bool, path: str = "") -> None:
    """Give each leaf the names of its metrics, in place. Raises SchemaError as `create_tree_metrics` does."""
    types = {type_key(key): names_of(value, f"types_metrics[{key!r}]") for key, value in (types_metrics or {}).items()}
    types.setdefault(NUMBER_OR_TEXT, types.get("string", []))
    leaves = {} if leaves is None else leaves
    if not isinstance(leaves, Mapping):
        raise SchemaError(f"leaves_metrics at {path or 'the top'} must be an object, as in the schema")
    for key in leaves:
        if key not in branch.by_key:
            hint = did_you_mean(str(key), list(branch.by_key))
            raise SchemaError(f"leaves_metrics names {join(path, str(key))}, which the schema lacks; {hint}")
    for child in branch.children:
        leaf_path, field, entry = join(path, child.key), child.item if child.is_array else child, leaves.get(child.key)
        if field.structural:
            if isinstance(entry, list | tuple) and len(entry) == 1 and isinstance(entry[0], Mapping):
                (entry,) = entry
            choose_metrics(field, entry, types_metrics, exclusive, leaf_path)
            continue
        own_names = [] if entry is None else names_of(entry, f"leaves_metrics at {leaf_path}")
        field.metrics = tuple({*own_names, *(() if own_names and exclusive else types.get(field.json_type, ()))})
        if not field.metrics:
            hint = "" if field.json_type in TYPES else f"; {did_you_mean(field.json_type, TYPES)}"
            raise SchemaError(
                f"no metric for the leaf {leaf_path} of type {field.json_type!r}: name one in types_metrics or leaves_metrics{hint}"
            )
