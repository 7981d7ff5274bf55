"""`llm_judge` as a metric: what composites, builders and optimisers take."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

from evalsuite.errors import FaultError, describe
from evalsuite.judge.judge import Judge
from evalsuite.judge.questions import score_question
from evalsuite.judge.settings import Settings
from evalsuite.metrics.base import Measure, Metric
from evalsuite.metrics.composite import Composite


@dataclass(frozen=True, kw_only=True)
class LlmJudge(Metric):
    """A model's rating of the answer against the reference, on [0, 1]; None where it gave no verdict or could not be asked.

    `settings` says which judge and how; `model`, `base_url` and `key_env` stand for its fields of that name.
    """

    name: ClassVar[str] = "llm_judge"
    description: ClassVar[str] = "a model rates the answer"
    needs_reference: ClassVar[bool] = False

    model: str = ""
    base_url: str = ""
    key_env: str = ""
    settings: Settings | None = None
    question: str = ""
    prompt: str = ""
    reply: Literal["score", "yes_no"] = "score"
    scale: tuple[float, float] = (1, 5)
    from_zero: bool = False
    extractor: str | Callable[[str], Any] = ""
    temperature: float = 0.1
    max_tokens: int | None = 50
    repeats: int | None = None

    @cached_property
    def judge(self) -> Judge:
        """The judge behind the metric."""
        settings = self.settings or Settings()
        if self.model:
            settings = replace(settings, model=self.model, models=())
        return Judge(replace(settings, base_url=self.base_url or settings.base_url, key_env=self.key_env or settings.key_env))

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """The rating, with the judge's account in the details."""
        try:
            asked = score_question(
                prediction,
                settings=self.judge.settings,
                reference=references,
                question=self.question,
                prompt=self.prompt,
                reply=self.reply,
                scale=self.scale,
                from_zero=self.from_zero,
                extractor=self.extractor,
                temperature=self.temperature,
                max_tokens=self.max_tokens,
            )
            decision = self.judge.decide(asked, models=(self.model,) if self.model else (), repeats=self.repeats)
        except FaultError as error:
            return Measure(value=None, reason=describe(error.fault))
        return Measure(value=decision.value, reason=decision.why, details=decision.details(asked.prompt))

    def versions(self) -> list[str]:
        """The models, then what every signature ends with."""
        return ["models:" + ",".join(self.judge.settings.all_models), *super().versions()]


def asking(metric: Metric, judge: Judge | None) -> Metric:
    """The metric with every `llm_judge` in it, parts of composites too, asking this judge; those with an address of their own keep it."""
    if isinstance(metric, LlmJudge) and judge is not None and metric.settings is None and not metric.base_url:
        made = replace(metric)
        # The cached property filled in advance: one judge, with its one limit of calls at once, for all metrics of a run.
        made.__dict__["judge"] = judge
        return made
    if isinstance(metric, Composite):
        return replace(metric, parts=tuple(replace(part, metric=asking(part.metric, judge)) for part in metric.parts))
    return metric


def asks(spec: Any) -> bool:
    """Whether a metric as gold or YAML writes it holds an `llm_judge` anywhere."""
    if isinstance(spec, str):
        return spec == LlmJudge.name
    if isinstance(spec, Mapping):
        return any(key == LlmJudge.name or asks(value) for key, value in spec.items() if key not in ("name", "weight", "scale"))
    return isinstance(spec, Sequence) and any(asks(item) for item in spec)
