"""`llm_judge`: a model rates the answer against the reference."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from evalsuite.judge.judge import Judge
from evalsuite.judge.prompts import Prompt
from evalsuite.judge.questions import SCORE_FIELDS, score_question
from evalsuite.registry import scorer
from evalsuite.scorers.judged import needed, score_of
from evalsuite.types import Problem, Score


def problems(parameters: Mapping[str, Any]) -> Iterator[Problem]:
    """What keeps a check from being asked: a scale that is none, a placeholder that nothing fills, a broken extractor."""
    scale = parameters.get("scale", (1, 5))
    if len(scale) != 2 or not scale[0] < scale[1] or scale[1] <= 0:
        yield Problem(code="BAD_SPEC", message="scale must be two numbers, bottom and top, with a top above 0", hint="write [1, 5]")
    prompt = parameters.get("prompt", "")
    for name in sorted(Prompt(name="custom", text=prompt).placeholders - {*SCORE_FIELDS, "boundary"}):
        message = f"the prompt has the unknown placeholder {name!r}"
        yield Problem(code="BAD_SPEC", message=message, hint="known: " + ", ".join(SCORE_FIELDS))
    if parameters.get("reply") == "yes_no" and (parameters.get("extractor") or parameters.get("from_zero")):
        yield Problem(code="BAD_SPEC", message="extractor and from_zero belong to scores, not to yes_no", hint="remove them")
    try:
        re.compile(parameters.get("extractor", ""))
    except re.error:
        yield Problem(code="BAD_SPEC", message="extractor is no regular expression", hint=r"for example 'Score: (\d)'")


@scorer(reads="batch", validate=problems)
def llm_judge(
    prediction: str,
    judge: Judge | None = None,
    *,
    gold: str | Sequence[str] = "",
    question: str = "",
    prompt: str = "",
    reply: Literal["score", "yes_no"] = "score",
    scale: Sequence[float] = (1, 5),
    from_zero: bool = False,
    extractor: str = "",
    variant: Literal["tolerant", "issue_default", "issue_literal"] = "tolerant",
    temperature: float = 0.1,
    max_tokens: int | None = 50,
    model: str = "",
    repeats: int | None = None,
) -> Score:
    """What a judge model gives the answer: a score of 1 to 5 by 5, or yes and no as 1 and 0. No verdict is no score, never a 0.

    The judge is asked over the network as the `judge` section of suite.yaml says.

    Official and strict: the same verdict.

    Args:
        prediction: the answer.
        judge: the judge to ask; a run makes it out of suite.yaml.
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

    Example:
        `{"func": "llm_judge", "parameters": {"question": "Who wrote Faust?", "gold": "Johann Wolfgang von Goethe"}}`
    """
    judge = needed(judge)
    asked = score_question(
        prediction,
        settings=judge.settings,
        reference=gold if isinstance(gold, str) else list(gold),
        question=question,
        prompt=prompt,
        reply=reply,
        scale=scale,
        from_zero=from_zero,
        variant=variant,
        extractor=extractor,
        temperature=temperature,
        max_tokens=max_tokens,
    )
    decision = judge.decide(asked, models=(model,) if model else (), repeats=repeats)
    label = decision.verdict.label
    says = f"the judge says {label}" + (f" of {scale[1]:g}" if reply == "score" else "") if label else "the judge's verdict"
    return score_of(decision, prompt=asked.prompt, says=says)
