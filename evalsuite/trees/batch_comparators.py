"""Batch comparators, which get all their fields of a record at once: fields that only count together, and semantic equality by a judge.

A judge is any callable, or object with `judge_batch`, that takes items and returns a score for each. `PromptJudge` makes one from a
function that sends a prompt to a model and returns its text.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Literal, NamedTuple, Protocol

from evalsuite.core import plugin_calls
from evalsuite.core.dataclasses import dataclass
from evalsuite.core.errors import FaultError
from evalsuite.core.scores import Fault
from evalsuite.trees.comparators import Registry
from evalsuite.trees.field_matching import check_result
from evalsuite.trees.field_results import ComparatorResult, FieldResult
from evalsuite.trees.json_values import TreeLimitError, are_identical, are_loosely_equal


@dataclass(frozen=True, slots=True)
class BatchItem:
    """One field to judge. `name` is the field's own name, `parent` the path of its object.

    `one_sided` are the names of fields in the same object under the same comparator that only one side has; None in compat mode.
    """

    path: str
    gold_raw: Any
    extracted_raw: Any
    gold_compared: Any
    extracted_compared: Any
    params: Mapping[str, Any]
    name: str = ""
    parent: str = ""
    one_sided: tuple[str, ...] | None = None


def call_batch(what: str, function: Callable[..., Any], items: Sequence[Any]) -> list[Any]:
    """Return the list that a function of a plugin makes of the items; the fault for each item if it fails or returns no list."""
    try:
        results = plugin_calls.call_plugin(what, function, items)
    except TreeLimitError:
        raise
    except FaultError as error:
        return [error.fault] * len(items)
    if not isinstance(results, list):
        return [Fault(code="SCORER_ERROR", detail=f"{what} gave {type(results).__name__}, expected a list")] * len(items)
    return results


class Dispatcher:
    """Let the batch comparators of a run judge pending rows, in place. `faults` collects their failures."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.faults: list[Fault] = []

    def __call__(self, rows: Sequence[FieldResult]) -> None:
        """Judge the pending rows: one call per comparator, groups in order of their first row."""
        groups: dict[str, list[FieldResult]] = {}
        for row in rows:
            if row.status == "pending":
                groups.setdefault(row.comparator, []).append(row)
        for name, group in groups.items():
            verdicts = call_batch(f"comparator {name}", self.registry.comparator(name), self.items(group, rows))
            for row, verdict in zip_longest(group, verdicts[: len(group)]):
                self.settle(row, verdict)

    def items(self, group: list[FieldResult], rows: Sequence[FieldResult]) -> list[BatchItem]:
        lone: dict[str, list[str]] = {}
        for row in rows:
            if row.status in ("omission", "hallucination") and row.comparator == group[0].comparator:
                lone.setdefault(parent_of(row), []).append(row.name)
        items = []
        for row in group:
            parent = parent_of(row)
            one_sided = None if self.registry.compat else tuple(lone.get(parent, ()))
            values = row.gold_value, row.extracted_value, row.gold_compared, row.extracted_compared
            items.append(BatchItem(row.path, *values, row.params or {}, row.name, parent, one_sided))
        return items

    def settle(self, row: FieldResult, verdict: Any) -> None:
        """Write an answer into its row. None is no verdict; a fault is also collected in `faults`."""
        row.params = None
        what = f"comparator {row.comparator}"
        if isinstance(verdict, ComparatorResult):
            try:
                verdict = check_result(what, verdict, row.comparator)
            except FaultError as error:
                verdict = error.fault
        elif verdict is not None and not isinstance(verdict, Fault):
            verdict = Fault(code="SCORER_ERROR", detail=f"{what} gave {type(verdict).__name__}, expected a ComparatorResult")
        if verdict is None or isinstance(verdict, Fault):
            row.status = "batch_error"
            if verdict is not None:
                self.faults.append(verdict)
                row.reason = None if self.registry.compat else verdict.detail
            return
        row.reason = verdict.reason
        if verdict.skip:
            row.status, row.score = "skipped", 0.0
        else:
            row.score = verdict.score
            row.status = "match" if verdict.score >= 1.0 else "mismatch"


def parent_of(row: FieldResult) -> str:
    """Return the path of the object that contains a row's field."""
    return row.path.removesuffix(row.name).removesuffix(".") if row.name != "[]" else row.path


Rule = Literal["all_equal", "casefold", "fraction"]


Group = list[tuple[int, BatchItem]]


# (gold's fields, the answer's) -> score: whether all are equal, also as lower-case texts, and the share of equal ones.
RULES: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], float]] = {
    "all_equal": lambda gold, found: float(all(are_identical(value, found.get(name)) for name, value in gold.items())),
    "casefold": lambda gold, found: float(all(str(value).lower() == str(found.get(name)).lower() for name, value in gold.items())),
    "fraction": lambda gold, found: sum(are_identical(value, found.get(name)) for name, value in gold.items()) / len(gold),
}


class CompoundComparator:
    """A batch comparator over sibling fields: `compare(gold, extracted)` gets both as objects of the declared fields.

    `primary` carries the score, the other fields are skipped. A part that both sides lack is left out; if one side lacks a part, the
    group is a mismatch. In a compat run the reference's rule applies: any missing part makes every present one a mismatch.
    """

    is_batch = True

    def __init__(
        self, fields: Sequence[str], primary: str, name: str = "compound", compare: Callable[..., Any] | Rule = "all_equal"
    ) -> None:
        if primary not in fields:
            raise ValueError(f"primary {primary!r} is not among the fields {list(fields)}")
        if isinstance(compare, str) and compare not in RULES:
            raise ValueError(f"unknown rule {compare!r}: one of {', '.join(RULES)}")
        self.fields = tuple(fields)
        self.primary = primary
        self.name = name
        self.compare = RULES[compare] if isinstance(compare, str) else compare

    def __call__(self, items: list[BatchItem]) -> list[ComparatorResult | None]:
        """Return one answer per item; the items of one object are a group."""
        answers: list[ComparatorResult | None] = [None] * len(items)
        groups: dict[str, Group] = {}
        for place, item in enumerate(items):
            groups.setdefault(_parent(item), []).append((place, item))
        for group in groups.values():
            for place, answer in self.judge(group):
                answers[place] = answer
        return answers

    def judge(self, group: Group) -> list[tuple[int, ComparatorResult]]:
        """Return the answers of one object's items, each with its place."""
        present = {_field(item): item for _, item in group}
        one_sided = group[0][1].one_sided
        missing = [name for name in self.fields if (name not in present if one_sided is None else name in one_sided)]
        incomplete = ComparatorResult(0.0, self.name, f"incomplete compound (missing {missing!r})")
        if one_sided is None and missing:
            return [(place, incomplete) for place, _ in group]
        declared = {name: item for name, item in present.items() if one_sided is None or name in self.fields}
        answers = []
        for place, item in group:
            if _field(item) not in declared:
                equal = are_identical(item.gold_compared, item.extracted_compared)
                answers.append((place, ComparatorResult(float(equal), self.name, f"not a part of this compound: {_field(item)}")))
        parts = [(place, _field(item)) for place, item in group if _field(item) in declared]
        return answers + (self.results_of_parts(parts, declared, incomplete if missing else self.result(declared)) if parts else [])

    def results_of_parts(
        self, parts: list[tuple[int, str]], declared: Mapping[str, BatchItem], result: ComparatorResult
    ) -> list[tuple[int, ComparatorResult]]:
        """Return the result for the primary field, or the first of the others, and that the rest is skipped."""
        carrier = self.primary if self.primary in declared else next(name for name in self.fields if name in declared)
        others = ComparatorResult(0.0, self.name, f"compound with {declared[carrier].path}", skip=True)
        return [(place, result if name == carrier else others) for place, name in parts]

    def result(self, present: Mapping[str, BatchItem]) -> ComparatorResult:
        parts = [name for name in self.fields if name in present]
        answer = self.compare({n: present[n].gold_compared for n in parts}, {n: present[n].extracted_compared for n in parts})
        score = answer.score if isinstance(answer, ComparatorResult) else float(answer)
        return ComparatorResult(score, self.name, "compound: match" if score >= 1 else "compound: mismatch")


def _field(item: BatchItem) -> str:
    return item.path.rsplit(".", 1)[-1] if item.one_sided is None else item.name


def _parent(item: BatchItem) -> str:
    if item.one_sided is not None:
        return item.parent
    return item.path.rsplit(".", 1)[0] if "." in item.path else ""


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
    """Anything that judges pairs: a score for each item, None if it cannot decide."""

    def judge_batch(self, items: list[JudgeItem]) -> list[Any]:
        """Return a score in [0, 1] or None for each item, in order."""


class SemanticBatchComparator:
    """A batch comparator: equal values match without a request, the rest go to the judge in one call."""

    is_batch = True
    independent = True

    def __init__(self, judge: Judge | Callable[[list[JudgeItem]], list[Any]], name: str = "semantic") -> None:
        self.ask: Callable[[list[JudgeItem]], list[Any]] = getattr(judge, "judge_batch", judge)  # type: ignore[arg-type]
        self.name = name

    def __call__(self, items: list[BatchItem]) -> list[ComparatorResult | Fault | None]:
        """Return one answer per item: None if the judge gave none, the fault for each open item if the judge failed."""
        answers: list[ComparatorResult | Fault | None] = [None] * len(items)
        open_places = []
        for place, item in enumerate(items):
            if are_loosely_equal(item.gold_compared, item.extracted_compared):
                answers[place] = ComparatorResult(1.0, self.name, "exact")
            else:
                open_places.append(place)
        judge_items = [JudgeItem(items[p].path, items[p].gold_compared, items[p].extracted_compared) for p in open_places]
        scores = call_batch(f"judge of {self.name}", self.ask, judge_items) if judge_items else []
        for place, score in zip(open_places, scores, strict=False):
            if isinstance(score, Fault):
                answers[place] = score
            elif score is not None:
                reason = "judge match" if score >= 1 else "judge mismatch"
                answers[place] = ComparatorResult(float(score), self.name, reason)
        return answers


def as_text(value: Any) -> str:
    """Return a value as the judge gets it: texts unchanged, all else as JSON with sorted keys."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


class FakeJudge:
    """A judge for tests: a table of (gold text, extracted text) -> score, else `default_score`, else equality as trimmed lower case."""

    def __init__(self, responses: Mapping[tuple[str, str], float] | None = None, default_score: float | None = None) -> None:
        self.responses = dict(responses or {})
        self.default_score = default_score
        self.calls: list[list[JudgeItem]] = []

    def judge_batch(self, items: list[JudgeItem]) -> list[float]:
        """Return the table's scores. Each call is kept in `calls`."""
        self.calls.append(list(items))
        return [self.score(as_text(item.gold), as_text(item.extracted)) for item in items]

    def score(self, gold: str, extracted: str) -> float:
        if (gold, extracted) in self.responses:
            return self.responses[gold, extracted]
        if self.default_score is not None:
            return self.default_score
        return float(gold.strip().lower() == extracted.strip().lower())


class PromptJudge:
    """A judge over `ask(prompt) -> reply`: one prompt per call. Decided pairs are remembered, so that each pair is sent once.

    `template` must contain `{pairs}`; other braces in it are doubled. Exceptions of `ask` are raised.
    """

    def __init__(self, ask: Callable[[str], str], *, template: str = PROMPT, model: str = "") -> None:
        if "{pairs}" not in template:
            raise ValueError("the template must contain {pairs}")
        self.ask = ask
        self.template = template
        self.model = model
        self.known: dict[tuple[str, str, str, str], float] = {}

    def judge_batch(self, items: list[JudgeItem]) -> list[float | None]:
        """Return 1.0 or 0.0 for each item, None if the reply does not contain its verdict."""
        keys = [(self.model, item.path, as_text(item.gold), as_text(item.extracted)) for item in items]
        open_keys = list(dict.fromkeys(key for key in keys if key not in self.known))
        if open_keys:
            lines = [
                f"{n}. field={path!r} gold={gold!r} extracted={extracted!r}" for n, (_, path, gold, extracted) in enumerate(open_keys, 1)
            ]
            replies = parse_judge_reply(self.ask(self.template.format(pairs="\n".join(lines))))
            self.known.update({key: score for key, score in zip(open_keys, replies, strict=False) if score is not None})
        return [self.known.get(key) for key in keys]


def parse_judge_reply(text: str) -> list[float | None]:
    """Return the scores in a reply `{"results": [...]}`, in code fences or not; [] without results, None for a value that is no verdict."""
    text = text.strip()
    if fenced := _FENCE.match(text):
        text = fenced[1].strip("`").removeprefix("json").strip()
    try:
        reply = json.loads(text)
    except (ValueError, RecursionError):
        return []
    results = reply.get("results") if isinstance(reply, dict) else None
    return [_verdict(value) for value in results] if isinstance(results, list) else []


def _verdict(value: Any) -> float | None:
    if isinstance(value, str):
        return _TRUTH.get(value.strip().lower())
    return float(value) if isinstance(value, int | float) and value in (0, 1) else None
