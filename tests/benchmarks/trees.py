"""Treeval's array scoring in units of the bare work: cost matrices (cdist, equality) and one assignment for each pair of lists."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist
from scipy.optimize import linear_sum_assignment

from evalsuite.trees.treeval import treeval_score
from tests.benchmarks.measure import cpu_seconds

WORDS = ["invoice", "total", "net", "gross", "Paris", "Tokyo", "guitar", "violin", "alpha", "beta", "Smith", "Jones", "red", "blue"]
ITEM = {
    "name": "string",
    "note": "string",
    "city": "string",
    "amount": "integer",
    "paid": "boolean",
    "kind": ["order", "refund", "gift"],
}
WITH_LISTS = {**ITEM, "tags": ["string"], "parts": ["integer"]}


def text(chance: random.Random) -> str:
    """Two to four words."""
    return " ".join(chance.choices(WORDS, k=chance.randint(2, 4)))


def item(chance: random.Random, *, lists: bool) -> dict[str, Any]:
    """One object of the benchmark."""
    made = {"name": text(chance), "note": text(chance), "city": chance.choice(WORDS), "amount": chance.randint(0, 500)}
    made |= {"paid": chance.random() < 0.5, "kind": chance.choice(["order", "refund", "gift"])}
    if lists:
        made |= {"tags": chance.choices(WORDS, k=3), "parts": chance.choices(range(9), k=3)}
    return made


def changed(value: Any, chance: random.Random) -> Any:
    """A prediction: the items in another order, one value in ten another one."""
    items = [{k: (text(chance) if isinstance(v, str) else v) if chance.random() < 0.1 else v for k, v in one.items()} for one in value]
    chance.shuffle(items)
    return items


def bare_objects(golds: list[list[dict[str, Any]]], gots: list[list[dict[str, Any]]]) -> None:
    """The matrices of six columns and the assignment, nothing else."""
    for gold, got in zip(golds, gots, strict=True):
        weights = np.zeros((len(gold), len(got)))
        for key, kind in ITEM.items():
            left, right = [one[key] for one in gold], [one[key] for one in got]
            if kind == "string":
                weights += cdist(left, right, scorer=Indel.normalized_similarity, dtype=np.float64)
            else:
                weights += np.array(left)[:, None] == np.array(right)[None, :]
        linear_sum_assignment(weights, maximize=True)


def bare_strings(golds: list[list[str]], gots: list[list[str]]) -> None:
    """One matrix of ratios and the assignment."""
    for gold, got in zip(golds, gots, strict=True):
        linear_sum_assignment(cdist(gold, got, scorer=Indel.normalized_similarity, dtype=np.float64), maximize=True)


def run(scratch: Path, *, n: int = 5) -> dict[str, Any]:
    """Ratios to the bare work, and all medians in CPU seconds."""
    chance = random.Random(5)
    golds = [[item(chance, lists=False) for _ in range(100)] for _ in range(50)]
    gots = [changed(gold, chance) for gold in golds]
    nested = [[item(chance, lists=True) for _ in range(100)] for _ in range(5)]
    nested_gots = [changed(gold, chance) for gold in nested]
    strings = [[text(chance) + " " + text(chance) for _ in range(300)] for _ in range(5)]
    string_gots = [chance.sample([one if chance.random() < 0.7 else text(chance) for one in gold], 300) for gold in strings]

    def score(schema: Any, predictions: Any, references: Any, **options: Any) -> Callable[[], object]:
        records = [[{"a": one} for one in side] for side in (predictions, references)]
        return lambda: treeval_score(*records, {"a": [schema]}, **options)

    texts: dict[str, Callable[[], object]] = {
        "bare 5 x 300 strings": lambda: bare_strings(strings, string_gots),
        "5 x 300 strings": score("string", string_gots, strings),
        "5 x 300 strings, compat": score("string", string_gots, strings, compat=True),
    }
    objects: dict[str, Callable[[], object]] = {
        "bare 50 x 100 objects x 6 leaves": lambda: bare_objects(golds, gots),
        "50 x 100 objects x 6 leaves": score(ITEM, gots, golds),
        "50 x 100 objects x 6 leaves, compat": score(ITEM, gots, golds, compat=True),
    }
    # One after the other: what large arrays cost depends on what the heap has seen before.
    costs = cpu_seconds(texts, n) | cpu_seconds(objects, n)
    costs |= cpu_seconds({"5 x 100 objects x 6 leaves and 2 lists": score(WITH_LISTS, nested_gots, nested)}, 1)
    ratios = {name: round(cost / costs[bare], 2) for name, cost in costs.items() if (bare := f"bare {name.split(', ')[0]}") in costs}
    return {"ratios": ratios, "medians": costs}
