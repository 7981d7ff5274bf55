"""Semantic equality by a judge: any callable, or object with `judge_batch`, that takes items and returns a score for each.

`PromptJudge` makes one from a function that sends a prompt to a model and returns its text.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from evalsuite.core import plugin_calls
from evalsuite.core.errors import FaultError
from evalsuite.core.types import Fault
from evalsuite.trees.field_results import ComparatorResult
from evalsuite.trees.json_values import loosely_same
from evalsuite.trees.record_scoring import BatchItem

_TRUTH = {"0": 0.0, "false": 0.0, "1": 1.0, "true": 1.0}
_FENCE = re.compile(r"\A```(?:json)?(.*?)`*\Z", re.DOTALL)
PROMPT = """You compare values that were extracted from a text with the expected values.
For each numbered pair decide whether both say the same thing.
Count as the same: other letter case, spacing or punctuation, synonyms, other words for one meaning.
Count as different: other facts, other numbers, other units, more or less than what is expected. In doubt say 0.
The field path tells what the value stands for; it is context only.

{pairs}

Answer with JSON only: {{"results": [...]}} with one 0 or 1 for each pair, in this order and as many as there are pairs."""


class JudgeItem(NamedTuple):
    """One pair to judge."""

    path: str
    gold: Any
    extracted: Any


class Judge(Protocol):
    """Whatever decides pairs: a score for each item, None where it cannot say."""

    def judge_batch(self, items: list[JudgeItem]) -> list[Any]:
        """A score in [0, 1] or None for each item, in order."""


class SemanticBatchComparator:
    """A batch comparator: equal values match without asking, the rest go to the judge in one call."""

    is_batch = True
    independent = True

    def __init__(self, judge: Judge | Callable[[list[JudgeItem]], list[Any]], name: str = "semantic") -> None:
        self.ask: Callable[[list[JudgeItem]], list[Any]] = getattr(judge, "judge_batch", judge)  # type: ignore[arg-type]
        self.name = name

    def __call__(self, items: list[BatchItem]) -> list[ComparatorResult | Fault | None]:
        """One answer an item, None where the judge gave none, the fault for each that it was asked for where it failed."""
        answers: list[ComparatorResult | Fault | None] = [None] * len(items)
        open_places = []
        for place, item in enumerate(items):
            if loosely_same(item.gold_compared, item.extracted_compared):
                answers[place] = ComparatorResult(1.0, self.name, "exact")
            else:
                open_places.append(place)
        asked = [JudgeItem(items[p].path, items[p].gold_compared, items[p].extracted_compared) for p in open_places]
        for place, score in zip(open_places, self.scores(asked), strict=False):
            if isinstance(score, Fault):
                answers[place] = score
            elif score is not None:
                reason = "judge match" if score >= 1 else "judge mismatch"
                answers[place] = ComparatorResult(float(score), self.name, reason)
        return answers

    def scores(self, asked: list[JudgeItem]) -> list[Any]:
        if not asked:
            return []
        what = f"judge of {self.name}"
        try:
            found: Any = plugin_calls.call_plugin(what, self.ask, asked)
        except FaultError as error:
            return [error.fault] * len(asked)
        if not isinstance(found, list):
            return [Fault(code="SCORER_ERROR", detail=f"{what} gave {type(found).__name__}, expected a list")] * len(asked)
        return found


def as_text(value: Any) -> str:
    """A value as the judge sees it: texts as they are, all else as JSON with sorted keys."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


class FakeJudge:
    """A judge for tests: a table of (gold text, extracted text) -> score, else `default_score`, else equality as trimmed lower case."""

    def __init__(self, responses: Mapping[tuple[str, str], float] | None = None, default_score: float | None = None) -> None:
        self.responses = dict(responses or {})
        self.default_score = default_score
        self.calls: list[list[JudgeItem]] = []

    def judge_batch(self, items: list[JudgeItem]) -> list[float]:
        """The table's scores; each call is kept in `calls`."""
        self.calls.append(list(items))
        return [self.score(as_text(item.gold), as_text(item.extracted)) for item in items]

    def score(self, gold: str, extracted: str) -> float:
        if (gold, extracted) in self.responses:
            return self.responses[gold, extracted]
        if self.default_score is not None:
            return self.default_score
        return float(gold.strip().lower() == extracted.strip().lower())


class PromptJudge:
    """A judge over `ask(prompt) -> reply`: one prompt a call, decided pairs remembered, so that a pair is asked once.

    `template` must hold `{pairs}`; other braces in it are doubled. A call that raises is let through.
    """

    def __init__(self, ask: Callable[[str], str], *, template: str = PROMPT, model: str = "") -> None:
        if "{pairs}" not in template:
            raise ValueError("the template must contain {pairs}")
        self.ask = ask
        self.template = template
        self.model = model
        self.known: dict[tuple[str, str, str, str], float] = {}

    def judge_batch(self, items: list[JudgeItem]) -> list[float | None]:
        """1.0 or 0.0 for each item, None where the reply does not say."""
        keys = [(self.model, item.path, as_text(item.gold), as_text(item.extracted)) for item in items]
        open_keys = list(dict.fromkeys(key for key in keys if key not in self.known))
        if open_keys:
            lines = [f"{n}. field={path!r} gold={gold!r} extracted={found!r}" for n, (_, path, gold, found) in enumerate(open_keys, 1)]
            replies = parse_judge_reply(self.ask(self.template.format(pairs="\n".join(lines))))
            self.known.update({key: score for key, score in zip(open_keys, replies, strict=False) if score is not None})
        return [self.known.get(key) for key in keys]


def parse_judge_reply(text: str) -> list[float | None]:
    """The scores in a reply `{"results": [...]}`, in code fences or not; [] where there are none, None for a value that is no verdict."""
    text = text.strip()
    if fenced := _FENCE.match(text):
        text = fenced[1].strip("`").removeprefix("json").strip()
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    results = found.get("results") if isinstance(found, dict) else None
    return [_verdict(value) for value in results] if isinstance(results, list) else []


def _verdict(value: Any) -> float | None:
    if isinstance(value, str):
        return _TRUTH.get(value.strip().lower())
    return float(value) if isinstance(value, int | float) and value in (0, 1) else None
