"""`llm_judge`: a model rates the answer against the reference."""

import re
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final, Literal

from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.errors import FaultError, describe
from evalsuite.core.metric import IN_PYTHON, Measure, Metric, MetricError
from evalsuite.core.scores import Reads, Score
from evalsuite.scorers.judge.judge import Decision, Judge, Question, question_of, score_of
from evalsuite.scorers.judge.replies import Reading, Verdict, plain, score_reading, without_thoughts, yes_no_reading
from evalsuite.scorers.judge.settings import Prompt, Settings, read_prompt

# Placeholders that a prompt may contain in addition to `boundary`.
FIELDS: Final = ("question", "reference", "prediction", "top", "bottom")


@dataclass(frozen=True, kw_only=True)
class LlmJudge(Metric):
    """Rating by a judge model: a score of 1 to 5 divided by 5, or yes and no as 1 and 0. No verdict is no score, never a 0.

    The judge is reached over the network as configured in the `judge` section of suite.yaml.

    Range: 0 to 1, higher is better. Source: Desiru.

    Args:
        gold: the reference, or several accepted ones.
        question: the question; by default the `question` or `instruction` of the gold instance.
        prompt: another prompt: its text with {{question}}, {{reference}}, {{prediction}}, {{top}}, {{bottom}}, or the name of its file.
        reply: the requested form of the reply.
        scale: bottom and top of the scores; a number outside the scale is not a verdict.
        from_zero: whether the bottom of the scale is worth 0; else n is worth n/top, so that 1 of 5 is 0.2.
        extractor: a regular expression whose first group is the score in the reply; by default JSON and the usual forms are read.
        variant: how the reply is read: tolerant, or as earlier tools did (issue_default: first digit 1-5, else 0; issue_literal: bare YES).
        temperature: the sampling temperature.
        max_tokens: the maximum length of the reply; null sends no limit.
        model: another model than the suite's.
        repeats: the number of verdicts of each model; by default the suite's.
        base_url: another endpoint than the settings'.
        key_env: the environment variable of its key.
        settings: the settings of a judge, or an existing judge.

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
        """Raise `MetricError` for an invalid scale, an unknown placeholder, or an invalid extractor."""
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
        """The judge of the metric."""
        if isinstance(self.settings, Judge):
            return self.settings
        settings = self.settings or Settings()
        if self.model:
            settings = replace(settings, model=self.model, models=())
        return Judge(replace(settings, base_url=self.base_url or settings.base_url, key_env=self.key_env or settings.key_env))

    @property
    def asks(self) -> bool:
        """Always True."""
        return True

    @property
    def at_once(self) -> int:
        """The number of parallel calls in the judge's settings."""
        return self.judge.settings.concurrency

    def bind_judge(self, judge: Judge) -> "LlmJudge":
        """Return the metric with the run's judge; one with its own settings or address keeps its own judge."""
        return self if self.settings is not None or self.base_url else replace(self, settings=judge)

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """Return the rating, with the judge's details; None if it gave no verdict, with a fault if the request failed."""
        try:
            decision, version = self._decide(prediction, references)
        except FaultError as error:
            return Measure(value=None, reason=describe(error.fault), fault=error.fault)
        return Measure(value=decision.value, reason=decision.why, details=decision.details(version))

    def score(self, prediction: str, gold: str | Sequence[str] | None, *, scale: Sequence[float] | None = None) -> Score:
        """Return the score with the judge's own reason. Raises `FaultError` if the request failed."""
        del scale
        decision, version = self._decide(prediction, self.references_of(gold))
        label = decision.verdict.label
        summary = (
            f"the judge says {label}" + (f" of {self.scale[1]:g}" if self.reply == "score" else "") if label else "the judge's verdict"
        )
        return score_of(decision, prompt=version, summary=summary)

    def _decide(self, prediction: str, references: Sequence[str]) -> tuple[Decision, str]:
        """Return (the decision, the version of its prompt). Raises `FaultError`."""
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
        read, expected = yes_no_reading(variant=self.variant), "yes or no"
        if self.reply != "score" and self.variant == "tolerant":
            read = _unless_repeated(read, (*references, prediction))
        if self.reply == "score":
            expected = "the score in the form asked for above" if self.extractor else f"the number from {bottom:g} to {top:g}"
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
            expected=expected,
            choice=self.reply != "score",
            temperature=self.temperature,
            max_tokens=self.max_tokens,
        )

    def versions(self) -> list[str]:
        """Return the models, then the parts that end every signature."""
        return ["models:" + ",".join(self.judge.settings.all_models), *super().versions()]


# A whole reply that may be the judge's verdict or the yes or no of an answer that it read.
_ANSWER_ALONE = re.compile(
    r"\s*(?:the\s+)?(?:answer|a)\s*(?:\bis\b|\bwas\b|[:=-])+\s*[\"'(]*(?P<word>yes|no)[\"')]*[.!]?\s*", re.IGNORECASE
)
_ANSWER_AS_JSON = re.compile(
    r"\s*(?:```\w*\s*)?\{\s*[\"']answer[\"']\s*:\s*[\"']\s*(?P<word>yes|no)[.!]?\s*[\"']\s*,?\s*\}\s*(?:```\s*)?", re.IGNORECASE
)
_FIRST_WORD = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)


def _unless_repeated(read: Reading, given: Collection[str]) -> Reading:
    """Return a reader for which `Answer: no`, or that as JSON, is no verdict if a text of `given` says no: it may only repeat that."""
    said = {match[1].lower() for text in given if (match := _FIRST_WORD.match(text))}

    def read_own(text: str) -> Verdict:
        own = without_thoughts(text) or ""
        alone = _ANSWER_ALONE.fullmatch(plain(own)) or _ANSWER_AS_JSON.fullmatch(own)
        if alone is None or alone["word"].lower() not in said:
            return read(text)
        return Verdict(value=None, why=f"its {alone['word'].lower()} may be that of the answer which it judges")

    return read_own
