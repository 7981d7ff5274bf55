"""The judge: one question gives one decision, from one verdict or several (models, repeats); and the scorers that ask one question.

Includes the messages of a question, and the second request after an unreadable reply. `llm_judge` is a separate metric.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from statistics import mean, multimode
from typing import Any, Final, Protocol

from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.errors import FaultError
from evalsuite.core.registry import scorer
from evalsuite.core.scores import Fault, Score
from evalsuite.scorers.judge.client import Client, Wait
from evalsuite.scorers.judge.replies import NOTHING, Reading, Verdict, choice_reading, claims_reading, read_results
from evalsuite.scorers.judge.settings import Message, Prompt, Settings, read_prompt
from evalsuite.scorers.judge.transport import Reply, Request

_LONGEST_REPLY = 4000
# Finish reasons of providers for replies that were cut or blocked: such a reply is never a verdict.
_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"})
_STOPPED = frozenset({
    *("content_filter", "refusal", "safety", "recitation", "blocklist", "prohibited_content", "spii", "image_safety", "language"),
    *("malformed_function_call", "pause_turn", "abort", "error"),
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question for a judge.

    Attributes:
        read: reads the text of a reply as a `Verdict`; `wanted` describes the required reply for a second request.
        choice: True if verdicts are categories (yes, no) rather than points on a scale.
    """

    messages: tuple[Message, ...]
    read: Reading
    prompt: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    choice: bool = False
    wanted: str = "the verdict"

    def verdict(self, reply: Reply) -> Verdict:
        """Return the verdict in a reply; None if the reply was cut or blocked."""
        finish = reply.finish.lower()
        if finish in _CUT:
            return Verdict(value=None, why="it was cut at max_tokens")
        if finish in _STOPPED:
            return Verdict(value=None, why=f"it was ended by the provider ({finish})")
        return self.read(reply.text)

    def again(self, reply: Reply, why: str) -> tuple[Message, ...]:
        """Return the messages of a second request: the question, the unreadable reply, the problem, and the required form."""
        *before, last = self.messages
        first_reply = reply.text[:_LONGEST_REPLY].strip()
        mark = hashlib.sha256(f"{last['content']}\0{first_reply}".encode("utf-8", "surrogatepass")).hexdigest()[:12]
        quoted = (
            f"Your first reply was:\n<reply {mark}>\n{first_reply}\n</reply {mark}>\n" if first_reply else "Your first reply was empty.\n"
        )
        required = f"It could not be read as a verdict: {why or 'it holds none'}. Reply with {self.wanted} alone."
        return *before, {**last, "content": f"{last['content']}\n\n{quoted}{required}"}


log = logging.getLogger(__name__)

# Number of further requests after an unreadable reply.
_SECOND_TRIES = 1
_LONGEST_RAW = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One verdict with its model, messages, raw reply and cost. `unreadable` has unreadable earlier replies and why."""

    model: str
    verdict: Verdict
    raw: str
    finish: str
    n_prompt_tokens: int
    n_completion_tokens: int
    n_known: int
    messages: tuple[Message, ...] = ()
    unreadable: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Combination of verdicts: a value in [0, 1] or None, and the fraction of verdicts that agree with the most frequent one.

    `agreement` is None for a single verdict. `cost` is 0 without prices; cached replies cost nothing.
    """

    value: float | None
    votes: tuple[Vote, ...]
    agreement: float | None = None
    why: str = ""
    cost: float = 0.0

    @property
    def verdict(self) -> Verdict:
        """The verdict to quote: the first one with the decision's value, else the first readable one."""
        ranked = sorted(self.votes, key=lambda vote: (vote.verdict.value != self.value, vote.verdict.value is None))
        return ranked[0].verdict

    def details(self, prompt: str) -> dict[str, Any]:
        """Return JSON-safe details: models, prompt version, verdicts, agreement, tokens, cost; the raw text of unreadable replies.

        `transcript` has the messages and the reply of each verdict, with an unreadable first reply as `unreadable` and `why`. Messages that
        equal those of the previous verdict are left out.
        """
        verdicts, transcript = [], []
        before: tuple[Message, ...] = ()
        for vote in self.votes:
            row: dict[str, Any] = {"model": vote.model, "value": vote.verdict.value, "label": vote.verdict.label}
            if vote.verdict.value is None:
                row["raw"] = vote.raw[:_LONGEST_RAW]
            verdicts.append(row)
            messages = {} if vote.messages == before else {"asked": [dict(message) for message in vote.messages]}
            first = {} if vote.unreadable is None else dict(zip(("unreadable", "why"), vote.unreadable, strict=True))
            transcript.append({**messages, **first, "reply": vote.raw[:_LONGEST_REPLY]})
            before = vote.messages
        return {
            "prompt": prompt,
            "verdicts": verdicts,
            "transcript": transcript,
            "agreement": self.agreement,
            "prompt_tokens": sum(vote.n_prompt_tokens for vote in self.votes),
            "completion_tokens": sum(vote.n_completion_tokens for vote in self.votes),
            "known_replies": sum(vote.n_known for vote in self.votes),
            "cost": round(self.cost, 9),
        }


class Judge:
    """Asks the models of its settings. Thread-safe.

        judge = Judge(read_settings({"base_url": "http://localhost:8000/v1", "model": "m"}))
        judge.decide(question).value

    Args:
        settings: the endpoint, models and limits.

    Attributes:
        account: counts of paid and cached replies, tokens and cost.
    """

    def __init__(self, settings: Settings, *, wait: Wait | None = None, ledger: Path | None = None) -> None:
        self.settings = settings
        self.client = Client(settings, wait=wait, ledger=ledger)
        self.account = self.client.account

    def __reduce__(self) -> tuple[type["Judge"], tuple[Settings]]:
        """Pickle the settings only; the copy creates its own client."""
        return Judge, (self.settings,)

    def ask(self, question: Question, *, model: str = "", sample: int = 0) -> Vote:
        """Return one verdict. After an unreadable reply the judge is asked once more; then the verdict is None.

        Args:
            question: what to ask and how to read the reply.
            model: by default the first model of the settings.
            sample: distinguishes repeats of the same question.

        Raises:
            FaultError: NO_JUDGE or JUDGE_FAILED.
        """
        self.settings.require()
        model = model or self.settings.all_models[0]
        parameters = {**question.parameters, **self.settings.parameters}
        replies: list[Reply] = []
        messages, why = question.messages, ""
        for attempt in count():
            request = Request(
                model=model, messages=messages, parameters=parameters, sample=sample * (1 + _SECOND_TRIES) + attempt, prompt=question.prompt
            )
            if 0 < self.settings.max_cost <= self.account.cost:
                raise FaultError("JUDGE_FAILED", f"not asked: judge.max_cost, {self.settings.max_cost:g}, is spent")
            replies.append(self.client.ask(request, is_usable=lambda reply: question.verdict(reply).is_read))
            verdict = question.verdict(replies[-1])
            if verdict.is_read or attempt == _SECOND_TRIES:
                break
            log.debug("the judge's reply contains no verdict (%s): %r", verdict.why, replies[-1].text)
            why = verdict.why
            messages = question.again(replies[-1], why)
        paid = [reply for reply in replies if not reply.known]
        return Vote(
            model=model,
            verdict=verdict,
            raw=replies[-1].text,
            finish=replies[-1].finish,
            n_prompt_tokens=sum(reply.n_prompt_tokens for reply in paid),
            n_completion_tokens=sum(reply.n_completion_tokens for reply in paid),
            n_known=len(replies) - len(paid),
            messages=question.messages,
            unreadable=(replies[0].text[:_LONGEST_REPLY], why) if len(replies) > 1 else None,
        )

    def decide(self, question: Question, *, models: Sequence[str] = (), repeats: int | None = None) -> Decision:
        """Return the decision over all models and repeats. A model that cannot be reached has no vote.

        Args:
            question: what to ask and how to read the reply.
            models: by default those of the settings.
            repeats: verdicts per model, by default as in the settings.

        Raises:
            FaultError: no model could be reached.
        """
        self.settings.require()
        votes: list[Vote] = []
        failure: FaultError | None = None
        for model in models or self.settings.all_models:
            for sample in range(repeats or self.settings.repeats):
                try:
                    votes.append(self.ask(question, model=model, sample=sample))
                except FaultError as error:
                    failure = error
                    silent = Verdict(value=None)
                    counts: Any = {"n_prompt_tokens": 0, "n_completion_tokens": 0, "n_known": 0}
                    votes.append(Vote(model=model, verdict=silent, raw="", finish="", messages=question.messages, **counts))
        if failure is not None and all(not vote.raw and vote.verdict.value is None for vote in votes):
            raise failure
        how = self.settings.aggregate
        return self._settle(votes, majority=how == "majority" or (how == "auto" and question.choice))

    def pairwise(self, ask_in: Callable[[bool], Question]) -> tuple[Decision, bool]:
        """Return (the decision for the second item, whether the judge contradicts itself when the order is swapped).

        `ask_in(swapped)` makes the question. Its verdicts are 1.0 if the second item is better, 0.0 if the first is, 0.5 if they are equal.
        The value is the mean of both orders, so that a position bias cancels out; it is None unless both orders have a verdict.
        """
        try:
            straight = self.decide(ask_in(False))
        except FaultError:
            if self.client.queue is not None:
                # Both orders go into the same batch.
                self.decide(ask_in(True))
            raise
        crossed = self.decide(ask_in(True))
        mirrored = [(vote, None if vote.verdict.value is None else 1 - vote.verdict.value) for vote in crossed.votes]
        votes = (*straight.votes, *(replace(vote, verdict=replace(vote.verdict, value=value)) for vote, value in mirrored))
        cost = straight.cost + crossed.cost
        if straight.value is None or crossed.value is None:
            return Decision(value=None, votes=votes, why=straight.why or crossed.why, cost=cost), False
        values = [straight.value, 1 - crossed.value]
        return replace(straight, value=sum(values) / 2, votes=votes, agreement=_agreement(votes), cost=cost), values[0] != values[1]

    def close(self) -> None:
        """Forbid further calls."""
        self.client.close()

    def _settle(self, votes: Sequence[Vote], *, majority: bool) -> Decision:
        """Combine verdicts. Unreadable ones have no vote; if fewer than half are readable there is no decision."""
        values = [vote.verdict.value for vote in votes if vote.verdict.value is not None]
        agreement = _agreement(votes) if len(votes) > 1 else None
        cost = self.settings.cost_of(sum(vote.n_prompt_tokens for vote in votes), sum(vote.n_completion_tokens for vote in votes))
        decision = Decision(value=None, votes=tuple(votes), agreement=agreement, cost=cost)
        if 2 * len(values) < len(votes) or not values:
            return replace(decision, why=_why_silent(votes))
        if not majority:
            # Exact arithmetic, so that three times 0.8 is 0.8.
            return replace(decision, value=mean(values))
        value, *others = multimode(values)
        if others:
            return replace(decision, why=f"the verdicts are split {values.count(value)} to {values.count(value)}")
        return replace(decision, value=value)


def needed(judge: Judge | None) -> Judge:
    """Return the judge if it is configured.

    Args:
        judge: the judge that a scorer received; None if neither the suite nor a `judge.yaml` names one.

    Returns:
        The same judge.

    Raises:
        FaultError: NO_JUDGE; the detail names the missing key.
    """
    judge = judge or Judge(Settings())
    judge.settings.require()
    return judge


def _agreement(votes: Sequence[Vote]) -> float | None:
    """Return the fraction of the most frequent verdict among the readable ones; None for fewer than two."""
    values = [vote.verdict.value for vote in votes if vote.verdict.value is not None]
    return max(map(values.count, values)) / len(values) if len(values) > 1 else None


def _why_silent(votes: Sequence[Vote]) -> str:
    silent = [vote.verdict for vote in votes if vote.verdict.value is None]
    if len(votes) > 1:
        return f"{len(silent)} of {len(votes)} verdicts could not be read"
    if silent[0].declines:
        return "the judge says that it cannot decide"
    return f"the judge's reply contains no verdict: {silent[0].why}" if silent[0].why else "the judge's reply contains no verdict"


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
    fields = {"prediction": prediction, "question": question, "context": context}
    decision = judge.decide(question_of(prompt, fields, choice_reading(QA_CHOICES), judge.settings, expected="1, 0 or NA", max_tokens=100))
    return score_of(decision, prompt=prompt.version, details={"category": decision.verdict.label or "invalid"})


@scorer(reads="batch")
def summary_quality(prediction: str, judge: Judge | None = None, *, gold: str, text: str = "", question: str = "") -> Score:
    """1 if the summary is better than the reference summary, 0.5 if they are equal, 0 if the reference is better.

    Asked twice with the order swapped, so that a position bias cancels out; a judge that contradicts itself gives 0.5 and
    `details.order_disagreement`. Unlike Arthur Bench, an unreadable reply is left out and counted, not a -1 in the mean.

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
            prompt, {"text": text or question, "first": first, "second": second}, read, settings, expected=WANTED_CHOICE, max_tokens=100
        )

    decision, disagrees = judge.pairwise(ask_in)
    category = "invalid" if decision.value is None else _CATEGORIES.get(decision.value, "mixed")
    summary = "the judge prefers another one when the order is swapped" if disagrees else f"the judge's choice: {category}"
    return score_of(decision, prompt=prompt.version, summary=summary, details={"category": category, "order_disagreement": disagrees})


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
    fields = {"prediction": prediction, "context": context}
    decision = judge.decide(question_of(prompt, fields, claims_reading(), judge.settings, expected="the JSON", max_tokens=2000))
    claims = decision.verdict.details.get("claims", [])
    unsupported = [claim["claim"] for claim in claims if not claim["supported"]]
    summary = decision.verdict.label + (f": not supported: {unsupported[0][:150]}" if unsupported else "")
    details = {"category": decision.verdict.label or "invalid", "claims": claims}
    return score_of(decision, prompt=prompt.version, summary=summary, details=details)


def question_of(
    prompt: Prompt,
    fields: Mapping[str, str],
    read: Reading,
    settings: Settings,
    *,
    expected: str,
    choice: bool = True,
    temperature: float = 0.0,
    max_tokens: int | None,
) -> Question:
    """Return a prompt with its fields filled in as a question.

    Args:
        read: reads the reply.
        expected: describes the required reply for a second request.
        choice: True if the verdicts are categories.
    """
    return Question(
        messages=prompt.messages(fields, most_chars=settings.most_chars),
        read=read,
        prompt=prompt.version,
        parameters={"temperature": temperature, "max_tokens": max_tokens},
        choice=choice,
        wanted=expected,
    )


def score_of(decision: Decision, *, prompt: str, summary: str = "", details: Mapping[str, Any] | None = None) -> Score:
    """Return the score of a decision, the same under both rules; without a value it is unscored, never 0."""
    account = {**(details or {}), "judge": decision.details(prompt)}
    if decision.value is None:
        fault = Fault(code="NO_VERDICT", detail=decision.why)
        return Score(official=None, reason=f"NO_VERDICT: {decision.why}", fault=fault, strict_fault=fault, details=account)
    reason = ": ".join(part for part in (summary or decision.verdict.label, decision.verdict.reason[:_LONGEST_REASON]) if part)
    n_silent = sum(vote.verdict.value is None for vote in decision.votes)
    notes = []
    if decision.agreement is not None and decision.agreement < 1:
        notes.append(f"agreement {decision.agreement:.2f} of {len(decision.votes) - n_silent} verdicts")
    if n_silent:
        notes.append(f"{n_silent} of {len(decision.votes)} missing")
    reason += f" ({', '.join(notes)})" if notes else ""
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

    def __init__(self, judge: Judge, *, most_pairs: int) -> None:
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
            portion = fresh[begin : begin + self._most_pairs]
            verdicts |= zip(portion, self._ask(portion), strict=True)
        return [verdicts[line] for line in lines]

    __call__ = judge_batch

    def _ask(self, lines: Sequence[str]) -> list[float | None]:
        """Send one call. A list of another length gives no verdict for any pair, because it is unknown which one is missing."""
        settings = self._judge.settings
        prompt = read_prompt("semantic", settings.prompts_folder)
        pairs = "\n".join(f"{n}. {line}" for n, line in enumerate(lines, start=1))

        def read(text: str) -> Verdict:
            results = read_results(text)
            if results is None or len(results) != len(lines):
                return NOTHING
            return Verdict(value=1.0, details={"results": results})

        question = Question(
            messages=prompt.messages({"pairs": pairs, "n_pairs": str(len(lines))}, most_chars=10 * settings.most_chars),
            read=read,
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

    Returns:
        The comparator: two texts score 1 if the judge says that they mean the same, else 0.
    """
    return SemanticJudge(judge, most_pairs=most_pairs)


def _quotable(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
