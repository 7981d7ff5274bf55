"""The judge of the trees' `semantic` comparator: pairs of field values, many a call."""

import json
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from evalsuite.judge.judge import Judge, Question
from evalsuite.judge.parsing import NOTHING, Verdict, read_results
from evalsuite.judge.prompts import read_prompt


class Pair(Protocol):
    """What is compared: two values of a field, and the field's path."""

    @property
    def path(self) -> str: ...
    @property
    def gold(self) -> Any: ...
    @property
    def extracted(self) -> Any: ...


class SemanticJudge:
    """`judge_batch(pairs)` -> 1.0, 0.0 or None for each; also callable. At most `most_pairs` go into one call."""

    def __init__(self, judge: Judge, *, most_pairs: int = 25) -> None:
        self._judge, self._most_pairs = judge, most_pairs

    def judge_batch(self, items: Sequence[Pair]) -> list[float | None]:
        """n verdicts in the order of the n pairs; equal pairs are asked once. None where the judge gave no verdict.

        Raises:
            FaultError: there is no judge, or it could not be reached.
        """
        lines = [_line(item) for item in items]
        fresh = list(dict.fromkeys(lines))
        verdicts: dict[str, float | None] = {}
        for begin in range(0, len(fresh), self._most_pairs):
            some = fresh[begin : begin + self._most_pairs]
            verdicts |= zip(some, self._ask(some), strict=True)
        return [verdicts[line] for line in lines]

    __call__ = judge_batch

    def _ask(self, lines: Sequence[str]) -> list[float | None]:
        """One call; a list of another length is no verdict on any pair, because nobody knows which one was left out."""
        settings = self._judge.settings
        prompt = read_prompt("semantic", settings.prompts_folder)
        pairs = "\n".join(f"{n}. {line}" for n, line in enumerate(lines, start=1))
        question = Question(
            messages=prompt.messages({"pairs": pairs, "n_pairs": str(len(lines))}, most_chars=10 * settings.most_chars),
            read=_reading(len(lines)),
            prompt=prompt.version,
            parameters={"temperature": 0, "max_tokens": 20 + 8 * len(lines)},
        )
        results = self._judge.ask(question).verdict.details.get("results")
        return list(results) if results is not None else [None] * len(lines)


def semantic_comparator(judge: Judge, *, most_pairs: int = 25) -> SemanticJudge:
    """The judge as the semantic comparator of the trees takes it: an object with `judge_batch`."""
    return SemanticJudge(judge, most_pairs=most_pairs)


def _reading(n_pairs: int) -> Callable[[str], Verdict]:
    def read(text: str) -> Verdict:
        results = read_results(text)
        if results is None or len(results) != n_pairs:
            return NOTHING
        return Verdict(value=1.0, details={"results": results})

    return read


def _line(item: Pair) -> str:
    return f"field={item.path!r} gold={_text(item.gold)!r} extracted={_text(item.extracted)!r}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
