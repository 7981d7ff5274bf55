"""Text metrics by name. A new metric is one file in this folder and one line in this table."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalsuite.metrics.base import Metric

METRICS: dict[str, str] = {
    "exact_match": "evalsuite.metrics.exact_match:ExactMatch",
    "f1": "evalsuite.metrics.f1:TokenF1",
    "bleu": "evalsuite.metrics.bleu:Bleu",
    "chrf": "evalsuite.metrics.chrf:Chrf",
    "ter": "evalsuite.metrics.ter:Ter",
    "rouge1": "evalsuite.metrics.rouge:Rouge1",
    "rouge2": "evalsuite.metrics.rouge:Rouge2",
    "rougeL": "evalsuite.metrics.rouge:RougeL",
    "rougeLsum": "evalsuite.metrics.rouge:RougeLsum",
    "levenshtein": "evalsuite.metrics.levenshtein:Levenshtein",
    "levenshtein_distance": "evalsuite.metrics.levenshtein:LevenshteinDistance",
    "jaro_winkler": "evalsuite.metrics.jaro_winkler:JaroWinkler",
    "word_count_match": "evalsuite.metrics.word_count:WordCountMatch",
    "readability": "evalsuite.metrics.readability:Readability",
    "specificity": "evalsuite.metrics.specificity:Specificity",
    "hedging_language": "evalsuite.metrics.hedging:HedgingLanguage",
    "bertscore": "evalsuite.metrics.bertscore:BertScore",
    "python_unit_testing": "evalsuite.metrics.python_unit_testing:PythonUnitTesting",
    "pass_at_k": "evalsuite.metrics.pass_at_k:PassAtK",
    "composite": "evalsuite.metrics.builder:composite",
    "llm_judge": "evalsuite.judge.llm_judge:LlmJudge",
}


# Whether an answer that is a program may be run here and now. A metric may stand deep in composites, trees and plugins, so that the
# permission goes around the judging of one answer instead of through all of them; what nobody permitted is not run.
PROGRAMS_ALLOWED: ContextVar[bool] = ContextVar("PROGRAMS_ALLOWED", default=False)


@contextmanager
def allowing_programs(allowed: bool) -> Iterator[None]:
    """Inside, in this thread, answers that are programs are run where `allowed`, and nowhere else."""
    before = PROGRAMS_ALLOWED.set(allowed)
    try:
        yield
    finally:
        PROGRAMS_ALLOWED.reset(before)


def get_metric(name: str, /, **options: Any) -> "Metric":
    """The metric of that name with these options; raises `MetricError` for an unknown name or option, or a room that is not there."""
    from evalsuite.metrics.base import MetricError
    from evalsuite.registry import did_you_mean

    if name not in METRICS:
        raise MetricError(f"unknown metric {name!r}", code="unknown_metric", hint=did_you_mean(name, METRICS))
    module, _, attribute = METRICS[name].partition(":")
    try:
        factory: Callable[..., Metric] = getattr(import_module(module), attribute)
    except (ModuleNotFoundError, AttributeError) as error:
        raise MetricError(f"the metric {name!r} is not available: there is no {error.name}", code="unavailable") from error
    try:
        return factory(**options)
    except TypeError as error:
        raise MetricError(f"{name} cannot be made with {', '.join(options) or 'no options'}: {error}", code="bad_option") from error
