"""A metric's value as a `Score`: mapped to [0, 1] by the metric's range, the raw value in `details.raw`."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from evalsuite.errors import EvalsuiteError, FaultError, MissingExtraError
from evalsuite.judge.judge import Judge
from evalsuite.metrics import get_metric, metric_from
from evalsuite.metrics.base import Measure, Metric, on_unit
from evalsuite.metrics.llm_judge import asking, asks
from evalsuite.registry import scorer
from evalsuite.types import Fault, Problem, Score

NOT_OPTIONS = ("gold", "scale")


def score_by(name: str, prediction: Any, gold: str | list[str] | None, *, scale: list[float] | None = None, **options: Any) -> Score:
    """The score of the metric of that name with these options, the same under both rules.

    Official is None for a value that is undefined, and for an unbounded metric without a `scale`. Raises `FaultError` where an extra is
    missing.
    """
    return score_with(_made(name, json.dumps(options, sort_keys=True)), prediction, gold, scale=scale)


def score_with(metric: Metric, prediction: Any, gold: str | list[str] | None, *, scale: list[float] | None = None) -> Score:
    """The same with a metric that is made already."""
    try:
        measure = metric.detailed_evaluate(prediction, gold)
    except MissingExtraError as error:
        raise FaultError("SCORER_ERROR", f"{error.message}: {error.hint}") from error
    value = (
        metric.unit(measure.value)
        if scale is None or measure.value is None
        else on_unit(measure.value, scale[0], scale[1], metric.direction)
    )
    details = {"raw": measure.value, **measure.details}
    reason = measure.reason if measure.fault is not None else _reason(metric, measure, value)
    fault = measure.fault or (Fault(code="UNDEFINED", detail=reason) if value is None else None)
    return Score(official=value, strict=value, reason=reason, fault=fault, strict_fault=fault, details=details)


def metric_scorer(spec: Mapping[str, Any]) -> Callable[..., Score]:
    """A scorer made of one metric with its options, `{composite: {parts: [...]}}`; gold gives the references. Raises `MetricError`."""
    made = metric_from(spec)

    @scorer(reads="text", asks=lambda _: asks(spec))
    def by_metric(prediction: str, *, judge: Judge | None = None, gold: str | list[str] | None = None) -> Score:
        return score_with(asking(made, judge), prediction, gold)

    by_metric.__doc__ = f"{made.description}\n\n{made.signature}"
    return by_metric


def valid(name: str) -> Callable[[Mapping[str, Any]], Iterator[Problem]]:
    """The check of a gold entry's parameters for the metric of that name: options it refuses, an empty list of golds, a bad scale."""

    def problems(parameters: Mapping[str, Any]) -> Iterator[Problem]:
        if parameters.get("gold") == []:
            yield Problem(code="BAD_SPEC", message="gold is an empty list", hint="name at least one reference")
        scale = parameters.get("scale")
        if scale is not None and not (len(scale) == 2 and scale[0] < scale[1]):
            yield Problem(code="BAD_SPEC", message="scale must be two numbers, the low one first", hint='"scale": [0, 100]')
        try:
            get_metric(metric_name(name, parameters), **{k: v for k, v in parameters.items() if k not in NOT_OPTIONS and k != "kind"})
        except EvalsuiteError as error:
            yield Problem(code="BAD_SPEC", message=error.message, hint=error.hint)

    return problems


def metric_name(name: str, parameters: Mapping[str, Any]) -> str:
    """The metric behind a scorer: of `rouge` the one its `kind` names."""
    return str(parameters.get("kind", "rougeL")) if name == "rouge" else name


@lru_cache(maxsize=256)
def _made(name: str, options: str) -> Metric:
    return get_metric(name, **json.loads(options))


def _reason(metric: Metric, measure: Measure, value: float | None) -> str:
    if measure.value is None:
        return f"{metric.name} is undefined: {measure.reason}"
    shown = f"{metric.name} {measure.value:.4g}"
    if value is None:
        return f"{shown}, which has no fixed range: give `scale` to score it"
    better = ", less is better" if metric.direction == "lower" else ""
    return shown if (metric.low, metric.high) == (0, 1) and not better else f"{shown} counts {value:.4g}{better}"
