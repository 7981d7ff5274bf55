"""Base class of metrics: a value for (prediction, reference) with a range, a direction and a signature.

A metric is a frozen dataclass. Its fields are its options, so that it pickles, compares and has a signature. A subclass implements
`measure` for plain texts; records, several references, batches, aggregates and scores are handled here. The docstring of a metric is the
help of its scorer (see `metric_scorer`): what the value is, `Args:` with every option, and `Example:`, a gold entry.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, get_args, get_origin, get_type_hints

from evalsuite.core.dataclasses import dataclass, fields
from evalsuite.core.dataclasses import field as option
from evalsuite.core.errors import EvalsuiteError, FaultError, MissingExtraError, count_words, did_you_mean
from evalsuite.core.registry import fits, readable
from evalsuite.core.scores import Fault, Reads, Score
from evalsuite.core.version import __version__

if TYPE_CHECKING:
    from evalsuite.scorers.judge.judge import Judge


Direction = Literal["higher", "lower"]
# Metadata of an option that only Python code can set. `gold` is its type in a gold file, if that differs from the field's.
IN_PYTHON: Final[Mapping[str, Any]] = {"gold": None}
# Fields that may contain a record's text, tried in this order if no field is named.
TEXT_FIELDS: Final = ("answer", "output", "result", "text")


class RecordError(EvalsuiteError, ValueError):
    """A record without a field that contains its text."""


class MetricError(EvalsuiteError, ValueError):
    """Invalid inputs or options of a metric.

    Attributes:
        code: a short identifier of the problem, such as `no_reference`.
        hint: how to solve it, or empty.
    """

    def __init__(self, message: str, *, code: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """The value of a metric for one prediction.

    Attributes:
        value: on the metric's own scale; None if it is undefined.
        reason: one sentence that explains the value.
        fault: set if the value is missing because something that measuring needs is absent, rather than because of the answer.
        details: JSON-safe details.
    """

    value: float | None
    reason: str = ""
    fault: Fault | None = None
    details: Mapping[str, Any] = option(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """Summary statistics of n values.

    Attributes:
        mean, median, min, max: of the values that are not null.
        std: the sample standard deviation (n - 1), None for one value.
        std_population: the standard deviation of the values as a whole population (n).
        count: the number of values that are not null.
        n_null: the number of nulls.
    """

    mean: float
    std: float | None
    std_population: float
    min: float
    max: float
    count: int
    median: float
    n_null: int = 0


def aggregate(values: Sequence[float | None]) -> Aggregate:
    """Return the statistics of the values that are not None. Raises `MetricError` if there are none."""
    import statistics

    numbers = [value for value in values if value is not None]
    if not numbers:
        raise MetricError("no scores to aggregate", code="empty")
    return Aggregate(
        mean=statistics.fmean(numbers),
        std=statistics.stdev(numbers) if len(numbers) > 1 else None,
        std_population=statistics.pstdev(numbers),
        min=min(numbers),
        max=max(numbers),
        count=len(numbers),
        median=statistics.median(numbers),
        n_null=len(values) - len(numbers),
    )


@dataclass(frozen=True, kw_only=True)
class Metric(ABC):
    """A measure of (prediction, reference). Subclass it as a frozen dataclass and implement `measure`; the fields are the options.

    Attributes:
        name: the name in gold files, signatures and reasons.
        low: the lower end of the range; None if unbounded.
        high: the upper end of the range; None if unbounded.
        direction: `higher` or `lower`, whichever is better.
        needs_reference: whether `measure` needs at least one reference.
        reads: what the metric reads of a run, `text` or `batch` (the texts of all instances at once).
        field: path (`a.b`) of the text in predictions and references that are records; without it the first of answer, output, result,
            text.
    """

    name: ClassVar[str]
    low: ClassVar[float | None] = 0.0
    high: ClassVar[float | None] = 1.0
    direction: ClassVar[Direction] = "higher"
    needs_reference: ClassVar[bool] = True
    reads: ClassVar[Reads] = "text"

    field: str | None = option(default=None, metadata=IN_PYTHON)

    def __post_init__(self) -> None:
        """Raise `MetricError` if an option has a value outside its listed choices or its bounds."""
        for name, choices in _choices(type(self)).items():
            if (value := getattr(self, name)) not in choices:
                hint = did_you_mean(str(value), map(str, choices))
                raise MetricError(f"{self.name}: {name} cannot be {value!r}", code="bad_option", hint=hint)
        for name, annotation in _bounded(type(self)).items():
            if not fits(value := getattr(self, name), annotation):
                message = f"{self.name}: {name} must be {readable(annotation)}, found {value!r:.60}"
                raise MetricError(message, code="bad_option")

    @abstractmethod
    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """Return the value for a text.

        Args:
            prediction: the text of the answer.
            references: at least one text; may be empty if `needs_reference` is False.

        Returns:
            The value on the metric's own scale with its reason and details.
        """

    def detailed_evaluate(self, prediction: Any, reference: Any = None) -> Measure:
        """Return the value with its details.

        Args:
            prediction: a text, a number, or a record that contains the text in `field`.
            reference: the same, or a list of several references.

        Raises:
            MetricError: a required reference is missing.
            RecordError: a record has no text.
        """
        references = self.references_of(reference)
        if self.needs_reference and not references:
            raise MetricError(f"{self.name} needs a reference", code="no_reference")
        return self.measure(text_of(prediction, self.field), references)

    def score(self, prediction: str, gold: str | Sequence[str] | None, *, scale: Sequence[float] | None = None) -> Score:
        """Return the score of an answer, the same under both rules. `details.raw` is the value on the metric's own scale.

        Args:
            prediction: the text of the answer.
            gold: the reference, or several.
            scale: `[low, high]`, the ends that map to 0 and 1; by default the metric's range.

        Returns:
            A score in [0, 1]. None with a fault if the value is undefined; None without a fault for an unbounded metric without `scale`.

        Raises:
            FaultError: a required extra is not installed.
        """
        try:
            measure = self.detailed_evaluate(prediction, gold)
        except MissingExtraError as error:
            raise FaultError("NEEDS_EXTRA", f"{error.message}: {error.hint}") from error
        if scale is None or measure.value is None:
            value = self.unit(measure.value)
        else:
            value = on_unit(measure.value, scale[0], scale[1], self.direction)
        reason = measure.reason if measure.fault is not None else self._reason_for(measure, value)
        fault = measure.fault or (Fault(code="UNDEFINED", detail=reason) if measure.value is None else None)
        details = {"raw": measure.value, **measure.details}
        return Score(official=value, strict=value, reason=reason, fault=fault, strict_fault=fault, details=details)

    @property
    def description(self) -> str:
        """The first line of the metric's docstring."""
        from inspect import getdoc

        return (getdoc(self) or self.name).splitlines()[0]

    @property
    def label(self) -> str:
        """The metric's name in reasons."""
        return self.name

    @property
    def asks(self) -> bool:
        """Whether the metric, or one of its parts, asks a judge."""
        return False

    def bind_judge(self, judge: "Judge") -> "Metric":
        """Return the metric with this judge in every part that asks one."""
        del judge
        return self

    def evaluate(self, prediction: Any, reference: Any = None) -> float | None:
        """Return the value on the metric's own scale, None if undefined. Arguments as in `detailed_evaluate`."""
        return self.detailed_evaluate(prediction, reference).value

    def __call__(self, prediction: Any, reference: Any = None) -> float:
        """Return the value as a float, NaN if undefined. Optimisers call metrics this way."""
        value = self.evaluate(prediction, reference)
        return math.nan if value is None else value

    def evaluate_batch(self, predictions: Iterable[Any], references: Iterable[Any] | None = None) -> list[float | None]:
        """Return n values for n predictions, in order. `at_once` pairs are measured in parallel.

        Args:
            predictions: n predictions.
            references: n references, or None for a metric that needs none.

        Raises:
            MetricError: the lengths differ.
        """
        pairs = self.pairs(predictions, references)
        if self.at_once == 1 or len(pairs) < 2:
            return [self.evaluate(p, r) for p, r in pairs]
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self.at_once) as threads:
            return list(threads.map(lambda pair: self.evaluate(*pair), pairs))

    @property
    def at_once(self) -> int:
        """Number of pairs of a batch measured in parallel; more than one if the metric waits for a judge."""
        return 1

    def pairs(self, predictions: Iterable[Any], references: Iterable[Any] | None) -> list[tuple[Any, Any]]:
        """Return n (prediction, reference) pairs. Raises `MetricError` if the lengths differ."""
        predictions = list(predictions)
        others = [None] * len(predictions) if references is None else list(references)
        if len(others) != len(predictions):
            raise MetricError(f"{count_words(len(predictions), 'prediction')} but {count_words(len(others), 'reference')}", code="length")
        return list(zip(predictions, others, strict=True))

    def aggregate(self, values: Sequence[float | None]) -> Aggregate:
        """Return mean, sample standard deviation, min, max, count and median of the values that are not None."""
        return aggregate(values)

    def unit(self, value: float | None) -> float | None:
        """Return the value mapped to [0, 1] where more is better; None for an undefined value and for an unbounded metric."""
        if value is None or self.low is None or self.high is None:
            return None
        return on_unit(value, self.low, self.high, self.direction)

    @property
    def signature(self) -> str:
        """Name, all options in order and the version, in sacrebleu's format: `f1|variant:squad|tokens:word|version:0.2.0`."""
        options = [f"{f.name}:{_option_in_words(getattr(self, f.name))}" for f in fields(self) if f.name != "field" or self.field]
        return "|".join([self.name, *sorted(options, key=lambda text: text.startswith("field:")), *self.versions()])

    def versions(self) -> list[str]:
        """Return the `name:version` parts that end the signature."""
        return [f"version:{__version__}"]

    def references_of(self, reference: Any) -> tuple[str, ...]:
        """Return the references as texts: none for None, one for a text or record, one per item of a list."""
        if reference is None:
            return ()
        if isinstance(reference, str | Mapping) or not isinstance(reference, Sequence):
            return (text_of(reference, self.field),)
        return tuple(text_of(item, self.field) for item in reference)

    def _reason_for(self, measure: Measure, value: float | None) -> str:
        if measure.value is None:
            return f"{self.label} is undefined: {measure.reason}"
        measured = f"{self.label} {measure.value:.4g}"
        if measure.reason:
            return measure.reason if measure.value in (0, 1) else f"{measure.reason}: {measured}"
        if value is None:
            return f"{measured} on its own scale" + (", less is better" if self.direction == "lower" else "")
        better = ", less is better" if self.direction == "lower" else ""
        return measured if (self.low, self.high) == (0, 1) and not better else f"{measured} counts {value:.4g}{better}"


def text_of(value: Any, field: str | None = None) -> str:
    """Return the text of a value: a text itself, a number as printed, a record's `field`, else its answer, output, result or text.

    `field` is a path of keys joined by dots (`choice.message`). If the named field is absent, the four names are tried, as in the Desiru
    issue. Raises `RecordError` if the record has none of them.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return str(value)
    if not isinstance(value, Mapping):
        raise RecordError(f"a text or a record is needed, found {type(value).__name__}")
    names = (field, *TEXT_FIELDS) if field else TEXT_FIELDS
    for path in names:
        part: Any = value
        for key in path.split("."):
            part = part.get(key) if isinstance(part, Mapping) else None
        if part is not None:
            return text_of(part)
    its_own = ", ".join(map(str, value)) or "none"
    raise RecordError(f"the record has none of the fields {', '.join(names)}", hint=f"its fields: {its_own}")


def on_unit(value: float, low: float, high: float, direction: Direction) -> float:
    """Map a value of the range low..high to [0, 1] where more is better. Values outside the range count as the nearest end.

    Raises `MetricError` for NaN.
    """
    if math.isnan(value):
        raise MetricError("a metric returned nan", code="bad_value")
    share = min(1.0, max(0.0, (value - low) / (high - low)))
    return share if direction == "higher" else 1.0 - share


def best(measures: Sequence[Measure], key: Sequence[float] | None = None) -> Measure:
    """Return the highest of the measures, the first of equals. `key` replaces the values for the comparison."""
    values = key if key is not None else [-math.inf if m.value is None else m.value for m in measures]
    return measures[max(range(len(measures)), key=values.__getitem__)]


@cache
def _choices(kind: type[Metric]) -> dict[str, tuple[Any, ...]]:
    hints = get_type_hints(kind)
    return {f.name: get_args(hints[f.name]) for f in fields(kind) if get_origin(hints[f.name]) is Literal}


@cache
def _bounded(kind: type[Metric]) -> dict[str, Any]:
    """Return the types of the options with bounds."""
    hints, plain = get_type_hints(kind, include_extras=True), get_type_hints(kind)
    return {f.name: hints[f.name] for f in fields(kind) if hints[f.name] != plain[f.name]}


def _option_in_words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ",".join(map(_option_in_words, value))
    if value is None:
        return "none"
    signature = getattr(value, "signature", None)
    return str(signature if signature is not None else value)
