"""`llm_judge`: a model rates the answer against the reference."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Final, Literal

from evalsuite.core.errors import FaultError, describe
from evalsuite.core.metric import IN_PYTHON, Measure, Metric, MetricError
from evalsuite.core.types import Reads, Score
from evalsuite.scorers.judge.judge import Decision, Judge, Question
from evalsuite.scorers.judge.replies import score_reading, yes_no_reading
from evalsuite.scorers.judge.scorers import question_of, score_of
from evalsuite.scorers.judge.settings import Prompt, Settings, read_prompt

# The placeholders a prompt may hold, beside the mark `boundary`.
FIELDS: Final = ("question", "reference", "prediction", "top", "bottom")


@dataclass(frozen=True, kw_only=True)
class LlmJudge(Metric):
    """What a judge model gives the answer: a score of 1 to 5 by 5, or yes and no as 1 and 0. No verdict is no score, never a 0.

    The judge is asked over the network as the `judge` section of suite.yaml says.

    Args:
        gold: the reference, or several accepted ones.
        question: what was asked; by default the `question` or `instruction` of the gold instance.
        prompt: another prompt: its text with {{question}}, {{reference}}, {{prediction}}, {{top}}, {{bottom}}, or the name of its file.
        reply: what is asked for.
        scale: bottom and top of the scores; a number off the scale is no verdict.
        from_zero: whether the bottom of the scale is worth 0; else n is worth n/top, so that 1 of 5 is 0.2.
        extractor: a regular expression whose first group is the score in the reply; by default JSON and the usual forms are read.
        variant: how the reply is read: tolerant, or as earlier tools did (issue_default: first digit 1-5, else 0; issue_literal: bare YES).
        temperature: the sampling temperature.
        max_tokens: the longest reply; null sends no limit.
        model: another model than the suite's.
        repeats: how many verdicts each model gives; the suite's number where not set.
        base_url: another endpoint than the settings'.
        key_env: the environment variable of its key.
        settings: which judge and how, or a judge that is there already.

    Example:
        `{"func": "llm_judge", "parameters": {"question": "Who wrote Faust?", "gold": "Johann Wolfgang von Goethe"}}`
    """

    name: ClassVar[str] = "llm_judge"
    needs_reference: ClassVar[bool] = False
    reads: ClassVar[Reads] = "batch"

    question: str = ""
    prompt: str = ""
    reply: Literal["score", "yes_no"] = "score"
    scale: Sequence[float] = (1, 5)
    from_zero: bool = False
    extractor: str | Callable[[str], Any] = field(default="", metadata={"gold": str})
    variant: Literal["tolerant", "issue_default", "issue_literal"] = "tolerant"
    temperature: float = 0.1
    max_tokens: int | None = 50
    model: str = ""
    repeats: int | None = None
    base_url: str = field(default="", metadata=IN_PYTHON)
    key_env: str = field(default="", metadata=IN_PYTHON)
    settings: Settings | Judge | None = field(default=None, metadata=IN_PYTHON)

    def __post_init__(self) -> None:
        """Raise `MetricError` for a scale that is none, a placeholder that nothing fills, a broken extractor."""
        super().__post_init__()
        if len(self.scale) != 2 or not self.scale[0] < self.scale[1] or self.scale[1] <= 0:
            message = "scale must be two numbers, bottom and top, with a top above 0"
            raise MetricError(message, code="bad_option", hint="write [1, 5]")
        for name in sorted(Prompt(name="custom", text=self.prompt).placeholders - {*FIELDS, "boundary"}):
            message = f"the prompt has the unknown placeholder {name!r}"
            raise MetricError(message, code="bad_option", hint="known: " + ", ".join(FIELDS))
        if self.reply == "yes_no" and (self.extractor or self.from_zero):
            message = "extractor and from_zero belong to scores, not to yes_no"
            raise MetricError(message, code="bad_option", hint="remove them")
        try:
            re.compile(self.extractor if isinstance(self.extractor, str) else "")
        except re.error as error:
            hint = r"for example 'Score: (\d)'"
            raise MetricError("extractor is no regular expression", code="bad_option", hint=hint) from error

    @cached_property
    def judge(self) -> Judge:
        """The judge behind the metric."""
        if isinstance(self.settings, Judge):
            return self.settings
        settings = self.settings or Settings()
        if self.model:
            settings = replace(settings, model=self.model, models=())
        return Judge(replace(settings, base_url=self.base_url or settings.base_url, key_env=self.key_env or settings.key_env))

    @property
    def asks(self) -> bool:
        """Always."""
        return True

    @property
    def at_once(self) -> int:
        """As many as the judge's settings let be under way."""
        return self.judge.settings.concurrency

    def asking(self, judge: Judge) -> "LlmJudge":
        """The metric asking this judge, one for all metrics of a run; one with settings or an address of its own keeps it."""
        return self if self.settings is not None or self.base_url else replace(self, settings=judge)

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """The rating, with the judge's account in the details; None where it gave no verdict, with a fault where it could not be asked."""
        try:
            decision, version = self._decide(prediction, references)
        except FaultError as error:
            return Measure(value=None, reason=describe(error.fault), fault=error.fault)
        return Measure(value=decision.value, reason=decision.why, details=decision.details(version))

    def score(self, prediction: str, gold: str | Sequence[str] | None, *, scale: Sequence[float] | None = None) -> Score:
        """The score with the judge's own reason. Raises `FaultError` where the request to the judge failed."""
        del scale
        decision, version = self._decide(prediction, self.references_of(gold))
        label = decision.verdict.label
        says = f"the judge says {label}" + (f" of {self.scale[1]:g}" if self.reply == "score" else "") if label else "the judge's verdict"
        return score_of(decision, prompt=version, says=says)

    def _decide(self, prediction: str, references: Sequence[str]) -> tuple[Decision, str]:
        """(the decision, the version of the prompt it was asked with). Raises `FaultError`."""
        self.judge.settings.require()
        question = self._question(prediction, references)
        return self.judge.decide(question, models=(self.model,) if self.model else (), repeats=self.repeats), question.prompt

    def _question(self, prediction: str, references: Sequence[str]) -> Question:
        settings = self.judge.settings
        bottom, top = (float(end) for end in self.scale)
        if "{{" in self.prompt:
            prompt = Prompt(name="custom", text=self.prompt)
        else:
            bundled = "llm_judge" if self.reply == "score" else "llm_judge_yes_no"
            prompt = read_prompt(self.prompt or bundled, settings.prompts_folder)
        read, wanted = yes_no_reading(variant=self.variant), "yes or no"
        if self.reply == "score":
            wanted = "the score in the form asked for above" if self.extractor else f"the number from {bottom:g} to {top:g}"
            read = score_reading(scale=(bottom, top), from_zero=self.from_zero, variant=self.variant, extractor=self.extractor)
        return question_of(
            prompt,
            {
                "question": self.question,
                "reference": "\n(or)\n".join(references),
                "prediction": prediction,
                "top": f"{top:g}",
                "bottom": f"{bottom:g}",
            },
            read,
            settings,
            wanted=wanted,
            choice=self.reply != "score",
            temperature=self.temperature,
            max_tokens=self.max_tokens,
        )

    def versions(self) -> list[str]:
        """The models, then what every signature ends with."""
        return ["models:" + ",".join(self.judge.settings.all_models), *super().versions()]
