"""Scorers that ask a judge one question: the question, and the score of the decision. `llm_judge` is a separate metric."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from evalsuite.core.scorer_contract import scorer
from evalsuite.core.types import Fault, Score
from evalsuite.scorers.judge.judge import Decision, Judge, Question, needed
from evalsuite.scorers.judge.replies import NOTHING, Reading, Verdict, choice_reading, claims_reading, read_results
from evalsuite.scorers.judge.settings import Prompt, Settings, read_prompt

Choices = Mapping[str, tuple[float | None, str]]
QA_CHOICES: Final[Choices] = {"0": (0.0, "incorrect"), "1": (1.0, "correct"), "na": (None, "")}
SUMMARY_CHOICES: Final[Choices] = {"0": (0.0, "reference"), "1": (1.0, "candidate"), "tie": (0.5, "equal")}
# The same with the reference as the second item.
_SWAPPED_CHOICES: Final[Choices] = {"0": (0.0, "candidate"), "1": (1.0, "reference"), "tie": (0.5, "equal")}
WANTED_CHOICE: Final = "0, 1 or tie"
_CATEGORIES = {0.0: "reference", 0.5: "equal", 1.0: "candidate"}
_LONGEST_REASON = 200


@scorer(reads="batch")
def qa_correctness(prediction: str, judge: Judge | None = None, *, context: str, question: str = "") -> Score:
    """1 if the context supports the answer to the question, 0 if it does not. NA (the context does not say) is no score.

    As in Arthur Bench there is no reference. Unlike there, an NA or an unreadable reply is left out and counted, not a -1 in the mean.

    Official and strict: the same verdict. Range: 0 or 1. Source: Arthur Bench.

    Args:
        prediction: the answer.
        judge: the judge; a run takes it from suite.yaml.
        context: the text that must support the answer.
        question: the question; by default the `question` or `instruction` of the gold instance.

    Example:
        `{"func": "qa_correctness", "parameters": {"question": "When was it built?", "context": "The mill was built in 1870."}}`
    """
    judge = needed(judge)
    prompt = read_prompt("qa_correctness", judge.settings.prompts_folder)
    shown = {"prediction": prediction, "question": question, "context": context}
    decision = judge.decide(question_of(prompt, shown, choice_reading(QA_CHOICES), judge.settings, wanted="1, 0 or NA", max_tokens=100))
    return score_of(decision, prompt=prompt.version, details={"category": decision.verdict.label or "invalid"})


@scorer(reads="batch")
def summary_quality(prediction: str, judge: Judge | None = None, *, gold: str, text: str = "", question: str = "") -> Score:
    """1 if the summary is better than the reference summary, 0.5 if they are equal, 0 if the reference is better.

    Asked twice with the order swapped, so that a position bias cancels out; a judge that contradicts itself
    gives 0.5 and `details.order_disagreement`. Unlike Arthur Bench, an unreadable reply is left out and counted, not a -1 in the mean.

    Official and strict: the same verdict. Range: 0, 0.5 or 1. Source: Arthur Bench.

    Args:
        prediction: the summary.
        judge: the judge; a run takes it from suite.yaml.
        gold: the reference summary.
        text: the text to summarise.
        question: replaces an empty text; by default the `question` or `instruction` of the gold instance.

    Example:
        `{"func": "summary_quality", "parameters": {"text": "Rain fell all day, and the match was off.", "gold": "Rain stopped play."}}`
    """
    judge = needed(judge)
    settings = judge.settings
    prompt = read_prompt("summary_quality", settings.prompts_folder)

    def ask_in(swapped: bool) -> Question:
        first, second = (prediction, gold) if swapped else (gold, prediction)
        read = choice_reading(_SWAPPED_CHOICES if swapped else SUMMARY_CHOICES)
        return question_of(
            prompt, {"text": text or question, "first": first, "second": second}, read, settings, wanted=WANTED_CHOICE, max_tokens=100
        )

    decision, disagrees = judge.pairwise(ask_in)
    category = "invalid" if decision.value is None else _CATEGORIES.get(decision.value, "mixed")
    says = "the judge prefers another one when the order is swapped" if disagrees else f"the judge's choice: {category}"
    return score_of(decision, prompt=prompt.version, says=says, details={"category": category, "order_disagreement": disagrees})


@scorer(reads="batch")
def hallucination(prediction: str, judge: Judge | None = None, *, context: str) -> Score:
    """1 if the context supports every claim of the answer (no hallucination), 0 if it does not support one (hallucination).

    Higher is better. A verdict that contradicts the judge's own list of claims is unreadable.

    Official and strict: the same verdict. Range: 0 or 1. Source: Arthur Bench.

    Args:
        prediction: the answer.
        judge: the judge; a run takes it from suite.yaml.
        context: the text that must support every claim.

    Example:
        `{"func": "hallucination", "parameters": {"context": "The mill was built in 1870."}}`
    """
    judge = needed(judge)
    prompt = read_prompt("hallucination", judge.settings.prompts_folder)
    shown = {"prediction": prediction, "context": context}
    decision = judge.decide(question_of(prompt, shown, claims_reading(), judge.settings, wanted="the JSON", max_tokens=2000))
    claims = decision.verdict.details.get("claims", [])
    unsupported = [claim["claim"] for claim in claims if not claim["supported"]]
    says = decision.verdict.label + (f": not supported: {unsupported[0][:150]}" if unsupported else "")
    details = {"category": decision.verdict.label or "invalid", "claims": claims}
    return score_of(decision, prompt=prompt.version, says=says, details=details)


def question_of(
    prompt: Prompt,
    fields: Mapping[str, str],
    read: Reading,
    settings: Settings,
    *,
    wanted: str,
    choice: bool = True,
    temperature: float = 0.0,
    max_tokens: int | None,
) -> Question:
    """Return a prompt with its fields filled in as a question.

    Args:
        read: reads the reply.
        wanted: describes the required reply for a second request.
        choice: True if the verdicts are categories.
    """
    return Question(
        messages=prompt.messages(fields, most_chars=settings.most_chars),
        read=read,
        prompt=prompt.version,
        parameters={"temperature": temperature, "max_tokens": max_tokens},
        choice=choice,
        wanted=wanted,
    )


def score_of(decision: Decision, *, prompt: str, says: str = "", details: Mapping[str, Any] | None = None) -> Score:
    """Return the score of a decision, the same under both rules; without a value it is unscored, never 0."""
    account = {**(details or {}), "judge": decision.details(prompt)}
    if decision.value is None:
        fault = Fault(code="NO_VERDICT", detail=decision.why)
        return Score(official=None, reason=f"NO_VERDICT: {decision.why}", fault=fault, strict_fault=fault, details=account)
    reason = ": ".join(part for part in (says or decision.verdict.label, decision.verdict.reason[:_LONGEST_REASON]) if part)
    if decision.agreement is not None and decision.agreement < 1:
        reason += f" (agreement {decision.agreement:.2f} of {len(decision.asked)} verdicts)"
    return Score(official=decision.value, strict=decision.value, reason=reason or "the judge's verdict", details=account)


class Pair(Protocol):
    """Two values of a field to compare, and the field's path."""

    @property
    def path(self) -> str: ...
    @property
    def gold(self) -> Any: ...
    @property
    def extracted(self) -> Any: ...


class SemanticJudge:
    """`judge_batch(pairs)` returns 1.0, 0.0 or None for each; also callable. At most `most_pairs` go into one call."""

    def __init__(self, judge: Judge, *, most_pairs: int = 25) -> None:
        self._judge, self._most_pairs = judge, most_pairs

    def judge_batch(self, items: Sequence[Pair]) -> list[float | None]:
        """Return n verdicts in the order of the n pairs; equal pairs are asked once. None if the judge gave no verdict.

        Raises:
            FaultError: there is no judge, or it could not be reached.
        """
        lines = [f"field={item.path!r} gold={_quotable(item.gold)!r} extracted={_quotable(item.extracted)!r}" for item in items]
        fresh = list(dict.fromkeys(lines))
        verdicts: dict[str, float | None] = {}
        for begin in range(0, len(fresh), self._most_pairs):
            some = fresh[begin : begin + self._most_pairs]
            verdicts |= zip(some, self._ask(some), strict=True)
        return [verdicts[line] for line in lines]

    __call__ = judge_batch

    def _ask(self, lines: Sequence[str]) -> list[float | None]:
        """Send one call. A list of another length gives no verdict for any pair, because it is unknown which one is missing."""
        settings = self._judge.settings
        prompt = read_prompt("semantic", settings.prompts_folder)
        pairs = "\n".join(f"{n}. {line}" for n, line in enumerate(lines, start=1))
        question = Question(
            messages=prompt.messages({"pairs": pairs, "n_pairs": str(len(lines))}, most_chars=10 * settings.most_chars),
            read=_reading(len(lines)),
            prompt=prompt.version,
            parameters={"temperature": 0, "max_tokens": 20 + 8 * len(lines)},
            wanted="the JSON",
        )
        results = self._judge.ask(question).verdict.details.get("results")
        return list(results) if results is not None else [None] * len(lines)


def semantic_comparator(judge: Judge, *, most_pairs: int = 25) -> SemanticJudge:
    """Return the judge as the `semantic` comparator of trees: an object with `judge_batch`.

    Args:
        judge: the judge.
        most_pairs: the maximum number of pairs in one call.
    """
    return SemanticJudge(judge, most_pairs=most_pairs)


def _reading(n_pairs: int) -> Callable[[str], Verdict]:
    def read(text: str) -> Verdict:
        results = read_results(text)
        if results is None or len(results) != n_pairs:
            return NOTHING
        return Verdict(value=1.0, details={"results": results})

    return read


def _quotable(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
