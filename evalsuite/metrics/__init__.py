"""Text metrics by name, or as a plain value out of YAML or gold. A new metric is one file in this folder and one line in this table.

composite:
  parts: [{exact_match: {ignore_case: true}, weight: 0.3}, {f1: {}, weight: 0.3}, {llm_judge: {model: m}, weight: 0.4}]
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalsuite.lazy import Lazy
from evalsuite.metrics.base import Metric, MetricError
from evalsuite.metrics.composite import Composite, Part
from evalsuite.registry import did_you_mean

METRICS: dict[str, Lazy] = {
    "exact_match": Lazy("evalsuite.metrics.exact_match:ExactMatch"),
    "f1": Lazy("evalsuite.metrics.f1:TokenF1"),
    "bleu": Lazy("evalsuite.metrics.bleu:Bleu"),
    "chrf": Lazy("evalsuite.metrics.chrf:Chrf"),
    "ter": Lazy("evalsuite.metrics.ter:Ter"),
    "rouge1": Lazy("evalsuite.metrics.rouge:Rouge1"),
    "rouge2": Lazy("evalsuite.metrics.rouge:Rouge2"),
    "rougeL": Lazy("evalsuite.metrics.rouge:RougeL"),
    "rougeLsum": Lazy("evalsuite.metrics.rouge:RougeLsum"),
    "levenshtein": Lazy("evalsuite.metrics.levenshtein:Levenshtein"),
    "levenshtein_distance": Lazy("evalsuite.metrics.levenshtein:LevenshteinDistance"),
    "jaro_winkler": Lazy("evalsuite.metrics.jaro_winkler:JaroWinkler"),
    "word_count_match": Lazy("evalsuite.metrics.word_count:WordCountMatch"),
    "readability": Lazy("evalsuite.metrics.readability:Readability"),
    "specificity": Lazy("evalsuite.metrics.specificity:Specificity"),
    "hedging_language": Lazy("evalsuite.metrics.hedging:HedgingLanguage"),
    "bertscore": Lazy("evalsuite.metrics.bertscore:BertScore"),
    "python_unit_testing": Lazy("evalsuite.metrics.python_unit_testing:PythonUnitTesting"),
    "pass_at_k": Lazy("evalsuite.metrics.pass_at_k:PassAtK"),
    "composite": Lazy("evalsuite.metrics:composite"),
    "llm_judge": Lazy("evalsuite.metrics.llm_judge:LlmJudge"),
}


_PART_KEYS = ("weight", "name", "scale")


def get_metric(name: str, /, **options: Any) -> Metric:
    """The metric of that name with these options; raises `MetricError` for an unknown name or option."""
    if name not in METRICS:
        raise MetricError(f"unknown metric {name!r}", code="unknown_metric", hint=did_you_mean(name, METRICS))
    factory: Callable[..., Metric] = METRICS[name].load()
    try:
        return factory(**options)
    except TypeError as error:
        raise MetricError(f"{name} cannot be made with {', '.join(options) or 'no options'}: {error}", code="bad_option") from error


def metric_from(spec: str | Mapping[str, Any]) -> Metric:
    """The metric a plain value names: `f1`, `{f1: {variant: multiset}}` or `{composite: {parts: [...]}}`."""
    if isinstance(spec, str):
        return get_metric(spec)
    if not isinstance(spec, Mapping) or len(spec) != 1:
        raise MetricError("a metric is a name, or one name with its options", code="bad_spec", hint="{f1: {variant: multiset}}")
    [(name, options)] = spec.items()
    if options is not None and not isinstance(options, Mapping):
        raise MetricError(f"the options of {name} must be an object, found {type(options).__name__}", code="bad_spec")
    if "allow_programs" in (options or {}):
        hint = "--allow-programs, in Python allow_programs=True"
        raise MetricError(f"{name}: allow_programs is said by whoever scores, not written down", code="bad_spec", hint=hint)
    return get_metric(name, **(options or {}))


def composite(*, parts: Sequence[str | Mapping[str, Any] | Part], aggregation: str = "weighted_mean", on_missing: str = "null") -> Metric:
    """A `Composite` of parts given as `Part`s, names, or `{name: options, weight: 0.3, scale: [0, 100], name: shown}`."""
    if isinstance(parts, str) or not isinstance(parts, Sequence):
        raise MetricError("parts must be a list", code="bad_spec")
    made = tuple(part if isinstance(part, Part) else _part(part) for part in parts)
    return Composite(parts=made, aggregation=aggregation, on_missing=on_missing)  # type: ignore[arg-type]


def _part(spec: str | Mapping[str, Any]) -> Part:
    if isinstance(spec, str):
        return Part(metric=get_metric(spec))
    if not isinstance(spec, Mapping):
        raise MetricError(f"a part is a name or an object, found {type(spec).__name__}", code="bad_spec")
    own = {key: value for key, value in spec.items() if key not in _PART_KEYS}
    if len(own) != 1:
        unknown = next((key for key in own if key not in METRICS), "")
        hint = did_you_mean(unknown, [*METRICS, *_PART_KEYS]) if unknown else "{f1: {}, weight: 0.3}"
        raise MetricError(f"a part names one metric, found {len(own)}: {', '.join(map(str, own)) or 'none'}", code="bad_spec", hint=hint)
    weight, scale = spec.get("weight", 1.0), spec.get("scale")
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise MetricError(f"a weight must be a number, found {weight!r}", code="bad_spec")
    return Part(metric=metric_from(own), weight=weight, name=str(spec.get("name", "")), scale=_scale(scale))


def _scale(scale: Any) -> tuple[float, float] | None:
    if scale is None:
        return None
    if not isinstance(scale, Sequence) or len(scale) != 2 or not all(isinstance(end, int | float) for end in scale):
        raise MetricError(f"a scale is two numbers [low, high], found {scale!r}", code="bad_spec")
    return (float(scale[0]), float(scale[1]))
