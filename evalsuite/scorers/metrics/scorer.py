"""Make a scorer of a metric: options become gold's parameters, the docstring the help, and the range maps the value to [0, 1]."""

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_type_hints

from evalsuite.core.errors import EvalsuiteError
from evalsuite.core.metric import Metric
from evalsuite.core.plugin_calls import MOST_RAW
from evalsuite.core.registry import fits, scorer
from evalsuite.core.scores import Problem, Score
from evalsuite.scorers.metrics import METRICS, metric_from

if TYPE_CHECKING:
    from evalsuite.scorers.judge.judge import Judge


Options = dict[str, inspect.Parameter]
_HEADING = re.compile(r"^(?=[A-Z]\w+:$)", re.MULTILINE)


def metric_scorer(metric: Callable[..., Metric] | Mapping[str, Any]) -> Callable[..., Score]:
    """Return the scorer function of a metric class, of a function that makes one, or of a plain value (`{composite: {parts: [...]}}`).

    Its parameters are `gold`, the options, and for an unbounded metric `scale`. Raises `MetricError` if a plain value is not a metric.
    """
    if isinstance(metric, Mapping):
        fixed = metric_from(metric)
        summary = METRICS[next(iter(metric))].summary or fixed.description
        return _scorer_of(lambda: fixed, type(fixed), {}, f"{summary}\n\n{fixed.signature}")
    kind: type[Metric] = metric if isinstance(metric, type) else get_type_hints(metric)["return"]
    return _scorer_of(metric, kind, _options(metric), inspect.getdoc(metric) or "")


def _scorer_of(make: Callable[..., Metric], kind: type[Metric], options: Options, doc: str) -> Callable[..., Score]:
    unbounded = kind.low is None or kind.high is None

    @lru_cache(maxsize=256)
    def metric_with(options: str) -> Metric:
        return make(**json.loads(options))

    def metric_of(parameters: Mapping[str, Any]) -> Metric:
        return metric_with(json.dumps({name: parameters[name] for name in options if name in parameters}))

    def problems(parameters: Mapping[str, Any]) -> Iterator[Problem]:
        if parameters.get("gold") == []:
            yield Problem(code="BAD_SPEC", message="gold is an empty list", hint="name at least one reference")
        scale = parameters.get("scale") if unbounded else None
        if scale is not None and not (len(scale) == 2 and -MOST_RAW <= scale[0] < scale[1] <= MOST_RAW):
            message = f"scale must be two numbers from {-MOST_RAW:g} to {MOST_RAW:g}, the low one first"
            yield Problem(code="BAD_SPEC", message=message, hint='"scale": [0, 100]')
        try:
            metric_of(parameters)
        except EvalsuiteError as error:
            yield Problem(code="BAD_SPEC", message=error.message, hint=error.hint)

    def asks(parameters: Mapping[str, Any]) -> bool:
        # Invalid parameters are reported by the check of gold; then no judge is needed.
        if not all(fits(parameters.get(name, option.default), option.annotation) for name, option in options.items()):
            return False
        try:
            return metric_of(parameters).asks
        except EvalsuiteError:
            return False

    @scorer(reads=kind.reads, validate=problems, asks=asks, range=None if unbounded else (0.0, 1.0), raw_direction=kind.direction)
    def by_metric(prediction: str, judge: "Judge | None" = None, **parameters: Any) -> Score:
        if unknown := parameters.keys() - accepted.keys():
            raise TypeError(f"{kind.name} has no parameter {', '.join(sorted(unknown))}")
        metric = metric_of(parameters)
        scale = parameters.get("scale") if unbounded else None
        return (metric if judge is None else metric.bind_judge(judge)).score(prediction, parameters.get("gold"), scale=scale)

    gold = str | list[str] if kind.needs_reference else str | list[str] | None
    accepted = {"gold": _keyword("gold", gold, inspect.Parameter.empty if kind.needs_reference else None), **options}
    if unbounded:
        accepted["scale"] = _keyword("scale", list[float] | None, None)
    by_metric.__doc__ = _help(doc, accepted, kind)
    by_metric.__annotations__ = {name: parameter.annotation for name, parameter in accepted.items()}
    prediction = inspect.Parameter("prediction", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=str)
    by_metric.__signature__ = inspect.Signature([prediction, *accepted.values()])  # type: ignore[attr-defined]
    return by_metric


def _options(make: Callable[..., Metric]) -> Options:
    """Return the options that a gold file may set, by name, with their types there."""
    hints = get_type_hints(make, include_extras=True)
    metadata: dict[str, Mapping[str, Any]] = {option.name: option.metadata for option in fields(make)} if isinstance(make, type) else {}
    options = {}
    for name, parameter in inspect.signature(make).parameters.items():
        annotation = metadata.get(name, {}).get("gold", hints[name])
        if annotation is not None:
            default = parameter.default if fits(parameter.default, annotation) else inspect.Parameter.empty
            options[name] = parameter.replace(annotation=annotation, default=default)
    return options


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _help(doc: str, parameters: Options, kind: type[Metric]) -> str:
    """Return a metric's docstring as a scorer's, with `gold` and `scale` explained if it does not, and a note that both rules agree."""
    summary, *sections = _HEADING.split(doc)
    texts = {section.partition(":\n")[0]: section.partition(":\n")[2].rstrip() for section in sections}
    meanings = {
        "gold": "the reference or references." if kind.needs_reference else "not used.",
        "scale": f"the values that count as {'0 and as 1' if kind.direction == 'higher' else '1 and as 0'}.",
    }
    args = texts.pop("Args", "")
    for name, meaning in meanings.items():
        if name in parameters and not re.search(rf"^ +{name}: ", args, re.MULTILINE):
            args += f"\n    {name}: {meaning}"
    rest = "".join(f"\n\n{heading}:\n{text}" for heading, text in texts.items())
    return f"{summary.rstrip()}\n\nOfficial and strict: the same.\n\nArgs:\n{args.strip(chr(10))}{rest}"
