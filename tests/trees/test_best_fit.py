"""The alignment of unordered lists is the best for the record's F1, and no order of such a list moves anything."""

import random
from collections import Counter
from typing import Any

import pytest

from evalsuite.trees import RunResult, evaluate

Sums = set[tuple[float, float]]  # what a record's fields may add up to: (2 x scores, weight)
BEST = {"match_by": "hungarian"}
LEAF = {"type": "string"}
PART = {"type": "object", "properties": {"k": LEAF, "v": LEAF}}
ITEM = {
    "type": "object",
    "properties": {"x": LEAF, "y": LEAF, "tags": {"type": "array", "x-eval-align": BEST, "items": LEAF}},
}
SCHEMA = {
    "type": "object",
    "properties": {
        "name": LEAF,
        "parts": {"type": "array", "x-eval-align": BEST, "items": PART},
        "items": {"type": "array", "x-eval-align": BEST, "items": ITEM},
    },
}


def draw(source: random.Random, schema: Any, size: int, letters: str = "abc") -> Any:
    """A random value of a schema; keys may be missing, lists hold up to `size` elements."""
    if schema["type"] == "string":
        return source.choice(letters)
    if schema["type"] == "array":
        return [draw(source, schema["items"], size, letters) for _ in range(source.randint(0, size))]
    return {key: draw(source, sub, size, letters) for key, sub in schema["properties"].items() if source.random() < 0.85}


def plus(left: Sums, right: Sums) -> Sums:
    """Every sum of one of each."""
    return {(a + c, b + d) for a, b in left for c, d in right}


def lone(schema: Any, value: Any) -> float:
    """The weight of a value that stands on one side only."""
    if schema["type"] == "string":
        return 1
    if schema["type"] == "array":
        return sum(lone(schema["items"], item) for item in value) if value else 1
    return sum(lone(schema["properties"][key], item) for key, item in value.items())


def reachable(schema: Any, gold: Any, found: Any) -> Sums:
    """Everything that two values can add up to, over all ways to align every list in them."""
    if schema["type"] == "string":
        return {(2.0 * (gold == found), 2.0)}
    if not gold and not found:
        return {(2.0, 2.0)}
    if schema["type"] == "object":
        sums: Sums = {(0.0, 0.0)}
        for key, sub in schema["properties"].items():
            if key in gold and key in found:
                sums = plus(sums, reachable(sub, gold[key], found[key]))
            elif key in gold or key in found:
                sums = plus(sums, {(0.0, lone(sub, gold.get(key, found.get(key))))})
        return sums
    states: dict[int, Sums] = {0: {(0.0, 0.0)}}  # used elements of the answer -> sums so far
    for expected in gold:
        after: dict[int, Sums] = {}
        for used, sums in states.items():
            after.setdefault(used, set()).update(plus(sums, {(0.0, lone(schema["items"], expected))}))
            for j, element in enumerate(found):
                if not used >> j & 1:
                    after.setdefault(used | 1 << j, set()).update(plus(sums, reachable(schema["items"], expected, element)))
        states = after
    rest = {used: sum(lone(schema["items"], element) for j, element in enumerate(found) if not used >> j & 1) for used in states}
    return {total for used, sums in states.items() for total in plus(sums, {(0.0, rest[used])})}


def best_f1(schema: Any, gold: Any, found: Any) -> float:
    """The highest F1 that any alignment reaches."""
    return max(reached / weight if weight else 1.0 for reached, weight in reachable(schema, gold, found))


def shuffled(source: random.Random, value: Any) -> Any:
    """A value with every list in it in another order."""
    if isinstance(value, dict):
        return {key: shuffled(source, item) for key, item in value.items()}
    if isinstance(value, list):
        return source.sample([shuffled(source, item) for item in value], len(value))
    return value


def numbers(result: RunResult) -> Any:
    """Everything of a result that an order could move: scores, counts, and the rows without their indexes."""
    rows = Counter(
        (record.record_id, row.schema_path, row.status, row.score, repr(row.gold_value), repr(row.extracted_value))
        for record in result.records
        for row in record.field_results
        if not isinstance(row.gold_value, list) and not isinstance(row.extracted_value, list)
    )
    averages = result.mean_precision, result.mean_recall, result.mean_f1, result.micro, result.macro
    return averages, result.total_omissions, result.total_hallucinations, sorted(result.per_schema_path.items()), rows


@pytest.mark.parametrize("seed", range(6))
def test_the_alignment_is_the_best_for_f1_by_brute_force(seed: int) -> None:
    """No way to align the lists of a record, nested ones too, has a higher F1 than the one that is reported."""
    source = random.Random(seed)
    for _ in range(20):
        gold, found = (draw(source, SCHEMA, 3) for _ in range(2))
        assert evaluate([gold], [found], SCHEMA).mean_f1 == pytest.approx(best_f1(SCHEMA, gold, found), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_seven_by_seven_by_brute_force(seed: int) -> None:
    """The same for lists of seven objects."""
    source, schema = random.Random(seed), {"type": "object", "properties": {"parts": SCHEMA["properties"]["parts"]}}  # type: ignore[index]
    gold, found = ({"parts": [draw(source, PART, 0, "abcd") for _ in range(7)]} for _ in range(2))
    assert evaluate([gold], [found], schema).mean_f1 == pytest.approx(best_f1(schema, gold, found), abs=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_no_order_of_unordered_lists_moves_anything(seed: int) -> None:
    """Shuffling every list on either side leaves every score, count and row as it was, to the last digit."""
    source = random.Random(seed)
    for _ in range(15):
        gold, found = ([draw(source, SCHEMA, 4, "ab") for _ in range(2)] for _ in range(2))
        before = numbers(evaluate(gold, found, SCHEMA))
        assert numbers(evaluate(gold, [shuffled(source, record) for record in found], SCHEMA)) == before
        assert numbers(evaluate([shuffled(source, record) for record in gold], found, SCHEMA)) == before


@pytest.mark.parametrize("shape", [(1, 4), (2, 3), (5, 5), (4, 2), (7, 7), (9, 9), (3, 12)])
def test_assignments_of_many_blocks_are_those_of_each_block(shape: tuple[int, int]) -> None:
    """The sums for blocks of a matrix, many at once, are scipy's for each block; what has no weight is no pair."""
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    from evalsuite.trees.all_pairs import matched_sums

    n, m = shape
    matrix = np.random.default_rng(n).integers(0, 5, size=(6 * n, 5 * m)) / 4
    (sums,) = matched_sums(matrix[None], matrix, (np.arange(7) * n, np.arange(6) * m))
    for i, j in np.ndindex(6, 5):
        block = matrix[i * n : (i + 1) * n, j * m : (j + 1) * m]
        assert sums[i, j] == pytest.approx(block[linear_sum_assignment(block, maximize=True)].sum())
    one_column = np.arange(5 * m) % m == 0
    pairs = matched_sums(np.ones((1, *matrix.shape)), np.where(one_column, 1.0, 0.0 * matrix), (np.arange(7) * n, np.arange(6) * m))
    assert np.array_equal(pairs, np.ones((1, 6, 5)))
