"""Text metrics by name, or from a plain value of YAML or gold. A new metric is one file in this folder and one entry in this table.

An entry with a summary is also a scorer of the same name; its parameters, checks and help are the metric's own.

composite:
  parts: [{exact_match: {ignore_case: true}, weight: 0.3}, {f1: {}, weight: 0.3}, {llm_judge: {model: m}, weight: 0.4}]
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalsuite.core.errors import did_you_mean
from evalsuite.core.import_ref import ImportRef
from evalsuite.core.metric import Aggregate, Measure, Metric, MetricError
from evalsuite.scorers.metrics.composite import Aggregation, Composite, OnMissing, Part

METRICS: dict[str, ImportRef] = {
    "exact_match": ImportRef("evalsuite.scorers.metrics.short_answers:ExactMatch", "the answer equals a reference after normalisation"),
    "f1": ImportRef("evalsuite.scorers.metrics.short_answers:TokenF1", "the words answer and reference share"),
    "bleu": ImportRef("evalsuite.scorers.metrics.translation:Bleu", "n-gram precision with a brevity penalty, score / 100"),
    "chrf": ImportRef("evalsuite.scorers.metrics.translation:Chrf", "F-score of character n-grams, score / 100"),
    "ter": ImportRef("evalsuite.scorers.metrics.translation:Ter", "edits in percent of the reference's words, less is better"),
    "rouge": ImportRef("evalsuite.scorers.metrics.rouge:Rouge", "overlap of words, word pairs or the longest common subsequence"),
    "rouge1": ImportRef("evalsuite.scorers.metrics.rouge:Rouge1"),
    "rouge2": ImportRef("evalsuite.scorers.metrics.rouge:Rouge2"),
    "rougeL": ImportRef("evalsuite.scorers.metrics.rouge:RougeL"),
    "rougeLsum": ImportRef("evalsuite.scorers.metrics.rouge:RougeLsum"),
    "levenshtein": ImportRef("evalsuite.scorers.metrics.short_answers:Levenshtein", "similarity by edit distance"),
    "levenshtein_distance": ImportRef("evalsuite.scorers.metrics.short_answers:LevenshteinDistance", "number of edits, less is better"),
    "jaro_winkler": ImportRef(
        "evalsuite.scorers.metrics.short_answers:JaroWinkler", "similarity of short texts, a common beginning counts more"
    ),
    "word_count_match": ImportRef(
        "evalsuite.scorers.metrics.prose:WordCountMatch", "how near the number of words comes to the reference's"
    ),
    "readability": ImportRef("evalsuite.scorers.metrics.prose:Readability", "Flesch reading ease of the answer"),
    "specificity": ImportRef("evalsuite.scorers.metrics.prose:Specificity", "few vague words, rare words, names and numbers"),
    "hedging_language": ImportRef("evalsuite.scorers.metrics.prose:HedgingLanguage", "no disclaimer of a language model"),
    "bertscore": ImportRef("evalsuite.scorers.metrics.bertscore:BertScore", "similarity of meaning by token vectors of a local model"),
    "python_unit_testing": ImportRef(
        "evalsuite.scorers.metrics.programs:PythonUnitTesting", "a program that passes the tests (--allow-programs)"
    ),
    "pass_at_k": ImportRef(
        "evalsuite.scorers.metrics.programs:PassAtK", "the chance that one of k programs passes the tests (--allow-programs)"
    ),
    "composite": ImportRef("evalsuite.scorers.metrics:composite", "several metrics combined to one score"),
    "llm_judge": ImportRef("evalsuite.scorers.metrics.llm_judge:LlmJudge", "a model rates the answer against the reference"),
}

__all__ = ["METRICS", "Aggregate", "Composite", "Measure", "Metric", "MetricError", "Part", "composite", "get_metric", "metric_from"]
_PART_KEYS = ("weight", "name", "scale")
# Metrics that run an answer as a program.
_PROGRAMS = ("python_unit_testing", "pass_at_k")


def get_metric(name: str, /, **options: Any) -> Metric:
    """Return the metric of that name with these options.

        get_metric("f1", variant="multiset").evaluate("a b", "a c")  # 0.5

    Args:
        name: a key of `METRICS`.
        **options: the fields of the metric.

    Returns:
        The metric; `evaluate` returns values on its own scale, `unit` maps them to [0, 1].

    Raises:
        MetricError: an unknown name or option, or an invalid value.
    """
    import inspect

    if name not in METRICS:
        raise MetricError(f"unknown metric {name!r}", code="unknown_metric", hint=did_you_mean(name, METRICS))
    factory: Callable[..., Metric] = METRICS[name].load()
    parameters = inspect.signature(factory).parameters
    if unknown := [option for option in options if option not in parameters]:
        raise MetricError(f"{name}: unknown option {unknown[0]!r}", code="bad_option", hint=did_you_mean(unknown[0], parameters))
    try:
        return factory(**options)
    except TypeError as error:
        raise MetricError(f"{name} cannot be made with {', '.join(options) or 'no options'}: {error}", code="bad_option") from error


def runs_programs(spec: object) -> bool:
    """Return whether a check's scorer and parameters, as gold or YAML writes them, run answers as programs in any part."""
    if isinstance(spec, str):
        return spec in _PROGRAMS
    if isinstance(spec, Mapping):
        return any(runs_programs(key) or runs_programs(value) for key, value in spec.items() if key != "gold")
    return isinstance(spec, Sequence) and any(map(runs_programs, spec))


def metric_from(spec: str | Mapping[str, Any]) -> Metric:
    """Return the metric of a plain value: `f1`, `{f1: {variant: multiset}}` or `{composite: {parts: [...]}}`.

    Args:
        spec: a name, or an object with one name and its options.

    Returns:
        The metric, as `get_metric` returns it.

    Raises:
        MetricError: an unknown name or option, or an invalid value.
    """
    if isinstance(spec, str):
        return get_metric(spec)
    if not isinstance(spec, Mapping) or len(spec) != 1:
        raise MetricError("a metric is a name, or one name with its options", code="bad_spec", hint="{f1: {variant: multiset}}")
    [(name, options)] = spec.items()
    if options is not None and not isinstance(options, Mapping):
        raise MetricError(f"the options of {name} must be an object, found {type(options).__name__}", code="bad_spec")
    if "allow_programs" in (options or {}):
        hint = "--allow-programs, in Python allow_programs=True"
        raise MetricError(f"{name}: allow_programs cannot be set in a file; whoever scores decides", code="bad_spec", hint=hint)
    return get_metric(name, **(options or {}))


def composite(
    *, parts: Sequence[str | Mapping[str, Any]], aggregation: Aggregation = "weighted_mean", on_missing: OnMissing = "null"
) -> Composite:
    """Several metrics of the same answer combined to one score; every part's value is in `details.parts`.

    min, max, geometric_mean and median ignore the weights.

    Range: 0 to 1, higher is better.

    Args:
        gold: the reference or references of the parts that need one.
        parts: metric names, or objects of one metric with its options and `weight`, `scale` and `name`.
        aggregation: how the parts are combined.
        on_missing: for a part without a value: no score (`null`), leave it out, or count 0.

    Example:
        `{"func": "composite", "parameters": {"gold": "Paris", "parts": [{"exact_match": {}, "weight": 0.3}, {"f1": {}, "weight": 0.7}]}}`
    """
    if isinstance(parts, str) or not isinstance(parts, Sequence):
        raise MetricError("parts must be a list", code="bad_spec")
    own_parts = tuple(part if isinstance(part, Part) else Part(metric=part) if isinstance(part, Metric) else _part(part) for part in parts)
    return Composite(parts=own_parts, aggregation=aggregation, on_missing=on_missing)


def _part(spec: str | Mapping[str, Any]) -> Part:
    if isinstance(spec, str):
        return Part(metric=get_metric(spec))
    if not isinstance(spec, Mapping):
        raise MetricError(f"a part is a name or an object, found {type(spec).__name__}", code="bad_spec")
    metric = {key: value for key, value in spec.items() if key not in _PART_KEYS}
    if len(metric) != 1:
        unknown = next((key for key in metric if key not in METRICS), "")
        hint = did_you_mean(unknown, [*METRICS, *_PART_KEYS]) if unknown else "{f1: {}, weight: 0.3}"
        names = ", ".join(map(str, metric)) or "none"
        raise MetricError(f"a part names one metric, found {len(metric)}: {names}", code="bad_spec", hint=hint)
    weight, scale = spec.get("weight", 1.0), spec.get("scale")
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise MetricError(f"a weight must be a number, found {weight!r}", code="bad_spec")
    ends: Sequence[Any] = scale if isinstance(scale, Sequence) else [scale]
    if scale is not None and (len(ends) != 2 or not all(isinstance(end, int | float) for end in ends)):
        raise MetricError(f"a scale is two numbers [low, high], found {scale!r}", code="bad_spec")
    low_high = None if scale is None else (float(ends[0]), float(ends[1]))
    return Part(metric=metric_from(metric), weight=weight, name=str(spec.get("name", "")), scale=low_high)
