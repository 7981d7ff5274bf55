"""Fields that only count together, such as a name's parts: one of them carries the score, the others are skipped."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from evalsuite.trees.batch import BatchItem
from evalsuite.trees.results import ComparatorResult
from evalsuite.trees.values import same

Rule = Literal["all_equal", "casefold", "fraction"]
Group = list[tuple[int, BatchItem]]


def all_equal(gold: Mapping[str, Any], extracted: Mapping[str, Any]) -> float:
    """1 where every field is equal."""
    return float(all(same(value, extracted.get(name)) for name, value in gold.items()))


def casefold(gold: Mapping[str, Any], extracted: Mapping[str, Any]) -> float:
    """1 where every field is equal as lower-case text."""
    return float(all(str(value).lower() == str(extracted.get(name)).lower() for name, value in gold.items()))


def fraction(gold: Mapping[str, Any], extracted: Mapping[str, Any]) -> float:
    """The share of equal fields."""
    return sum(same(value, extracted.get(name)) for name, value in gold.items()) / len(gold)


RULES: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], float]] = {
    "all_equal": all_equal, "casefold": casefold, "fraction": fraction,
}  # fmt: skip


class CompoundComparator:
    """A batch comparator over sibling fields: `compare(gold, extracted)` gets both as objects of the declared fields.

    `primary` carries the score, the other fields are skipped. A part that both sides lack is left out; where one side lacks one the group
    is a mismatch. Inside a compat run the reference's rule holds: any missing part makes every present one a mismatch.
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
        """One answer an item, groups being the objects they stand in."""
        answers: list[ComparatorResult | None] = [None] * len(items)
        groups: dict[str, Group] = {}
        for place, item in enumerate(items):
            groups.setdefault(_parent(item), []).append((place, item))
        for group in groups.values():
            for place, answer in self.judge(group):
                answers[place] = answer
        return answers

    def judge(self, group: Group) -> list[tuple[int, ComparatorResult]]:
        present = {_field(item): item for _, item in group}
        lacking = [name for name in self.fields if name not in present]
        upstream = group[0][1].one_sided is None
        if not upstream:
            return self.judge_soundly(group, present)
        if lacking:
            reason = f"incomplete compound (missing {lacking!r})"
            return [(place, ComparatorResult(0.0, self.name, reason)) for place, _ in group]
        return self.carried(group, self.primary, self.result(present))

    def judge_soundly(self, group: Group, present: dict[str, BatchItem]) -> list[tuple[int, ComparatorResult]]:
        declared = {name: item for name, item in present.items() if name in self.fields}
        found = []
        for place, item in group:
            if _field(item) not in declared:
                equal = same(item.gold_compared, item.extracted_compared)
                found.append((place, ComparatorResult(float(equal), self.name, f"not a part of this compound: {_field(item)}")))
        parts = [(place, item) for place, item in group if _field(item) in declared]
        if not parts:
            return found
        carrier = self.primary if self.primary in declared else next(name for name in self.fields if name in declared)
        missing = [name for name in self.fields if name in (group[0][1].one_sided or ())]
        result = ComparatorResult(0.0, self.name, f"incomplete compound (missing {missing!r})") if missing else self.result(declared)
        return found + self.carried(parts, carrier, result)

    def result(self, present: Mapping[str, BatchItem]) -> ComparatorResult:
        parts = [name for name in self.fields if name in present]
        answer = self.compare({n: present[n].gold_compared for n in parts}, {n: present[n].extracted_compared for n in parts})
        score = answer.score if isinstance(answer, ComparatorResult) else float(answer)
        return ComparatorResult(score, self.name, "compound: match" if score >= 1 else "compound: mismatch")

    def carried(self, group: Group, carrier: str, result: ComparatorResult) -> list[tuple[int, ComparatorResult]]:
        path = next(item.path for _, item in group if _field(item) == carrier)
        others = ComparatorResult(0.0, self.name, f"compound with {path}", skip=True)
        return [(place, result if _field(item) == carrier else others) for place, item in group]


def _field(item: BatchItem) -> str:
    return item.path.rsplit(".", 1)[-1] if item.one_sided is None else item.name


def _parent(item: BatchItem) -> str:
    if item.one_sided is not None:
        return item.parent
    return item.path.rsplit(".", 1)[0] if "." in item.path else ""
