"""The assignment against trying them all, the alignment of lists that is best for F1, and matrices of all pairs against each pair."""

import json
import random
from collections import Counter
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.compare import bipartite_matching as module
from evalsuite.compare.bipartite_matching import EQUAL_SUMS, best_assignment, best_sparse_assignment
from evalsuite.trees import RunResult, evaluate
from evalsuite.trees.field_matching import ContentOrder, FieldGrid, compat_fits, score_matrix
from evalsuite.trees.field_results import ComparatorResult, tally
from evalsuite.trees.record_scoring import Scoring, Walk
from evalsuite.trees.treeval import Place, prepare
from evalsuite.trees.treeval import Walk as TreevalWalk
from evalsuite.trees.treeval_counts import (
    Counts,
    Options,
    TreevalGrid,
    flat_means,
    mean_over_metrics,
    pair_weights,
    total_score,
    used_metrics,
)
from tests.conftest import ROOT
from tests.properties import examples

FEW_VALUES = st.sampled_from([0.0, 0.25, 0.5, 1.0, 1 / 3, -1.0])
MANY_LARGEST = st.sampled_from([1.0, 1.0, 0.25, 0.5, 0.75, 1 / 3])
NEAR_TIES = st.sampled_from([0.5, 0.5 + 4e-10, 0.5 - 3.1e-10, 0.5 + 2e-9, 1.0])


def matrices(values: st.SearchStrategy[float], most: int) -> st.SearchStrategy[list[list[float]]]:
    """Lists of n rows x m columns, n and m from 1 to `most`."""
    sizes = st.tuples(st.integers(1, most), st.integers(1, most))
    return sizes.flatmap(lambda size: st.lists(st.lists(values, min_size=size[1], max_size=size[1]), min_size=size[0], max_size=size[0]))


def by_trying(weights: list[list[float]]) -> list[tuple[int, int]]:
    """The lexicographically smallest of all assignments within 1e-9 of the best sum."""
    n_rows, n_columns = len(weights), len(weights[0])
    if n_rows <= n_columns:
        every = [list(enumerate(choice)) for choice in permutations(range(n_columns), n_rows)]
    else:
        every = [sorted(zip(choice, range(n_columns), strict=True)) for choice in permutations(range(n_rows), n_columns)]
    sums = [sum(weights[row][column] for row, column in pairs) for pairs in every]
    best = max(sums)
    return min(pairs for pairs, total in zip(every, sums, strict=True) if total >= best - EQUAL_SUMS)


@examples(900)
@given(weights=matrices(FEW_VALUES, 6) | matrices(NEAR_TIES, 5) | matrices(MANY_LARGEST, 6))
def test_ties_go_to_the_first_list_of_pairs(weights: list[list[float]]) -> None:
    """The smallest list of pairs among all best ones, also from the guess that large matrices begin with; below 1e-9 all are ties."""
    assert best_assignment(weights) == (expected := by_trying(weights))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evalsuite.compare.bipartite_matching.GUESS_FROM", 2)
        assert best_assignment(weights) == expected


@examples(300)
@given(edges=st.lists(st.dictionaries(st.integers(0, 5), st.sampled_from([0.25, 1.0, 1.5, 3.0]), max_size=4), max_size=6))
def test_a_sparse_assignment_has_the_largest_sum(edges: list[dict[int, float]]) -> None:
    """Only given pairs, each side once, and no selection of pairs has a larger sum."""
    found = best_sparse_assignment(edges)
    assert all(right in edges[left] for left, right in found)
    assert len({left for left, _ in found}) == len({right for _, right in found}) == len(found)

    def best(left: int, free: frozenset[int]) -> float:
        if left == len(edges):
            return 0.0
        return max(
            [best(left + 1, free), *(weight + best(left + 1, free - {right}) for right, weight in edges[left].items() if right in free)]
        )

    assert sum(edges[left][right] for left, right in found) == pytest.approx(best(0, frozenset(range(6))))


@examples(100)
@given(weights=matrices(st.floats(-5, 5, allow_nan=False), 5))
def test_any_weights(weights: list[list[float]]) -> None:
    """The sum is the largest there is, whatever the weights, and the solver's own choice has the same sum."""
    found = best_assignment(weights)
    best = sum(weights[row][column] for row, column in by_trying(weights))
    assert len(found) == min(len(weights), len(weights[0]))
    assert sum(weights[row][column] for row, column in found) == pytest.approx(best, abs=3e-9)
    assert sum(weights[row][column] for row, column in best_assignment(weights, ties="solver")) == pytest.approx(best, abs=3e-9)


def test_equal_weights_pair_in_order() -> None:
    """Item i goes to item i, also of many, and where another choice is larger by less than a tie; NaN is refused."""
    assert best_assignment(np.ones((400, 300))) == [(i, i) for i in range(300)]
    assert best_assignment(np.ones((300, 400))) == [(i, i) for i in range(300)]
    assert best_assignment([]) == best_assignment([[], []]) == []
    with pytest.raises(ValueError, match="not a finite number"):
        best_assignment([[float("nan")]])
    n = 60
    ring = np.full((n, n), -1.0)
    for i in range(n):
        ring[i, i], ring[i, (i + 1) % n] = 1.0, 1.0 + 1e-12
    assert best_assignment(ring, ties="solver") == [(i, (i + 1) % n) for i in range(n)]
    assert best_assignment(ring) == [(i, i) for i in range(n)]


def result_of(name: str, arguments: list[Any], patch: pytest.MonkeyPatch) -> Any:
    """What a function returns, with its limits as low as the row says."""
    first, *rest = arguments
    match name:
        case "best" | "best by a guess":
            patch.setattr(module, "GUESS_FROM", 2 if name == "best by a guess" else 128)
            return [best_assignment(first), best_assignment(first, ties="solver")]
        case "sparse":
            patch.setattr(module, "PART_CELLS", *rest)
            return best_sparse_assignment([{int(right): weight for right, weight in row.items()} for row in first])
        case "match":
            return module.bipartite_matching(first)
        case "flow":
            looks: list[int] = []
            return [module.saturating_flow(first, *rest, looks.append), looks, module.largest_flow(first, *rest), rest[0]]
        case "blocks":
            patch.setattr(module, "BLOCK_CELLS", rest.pop())
            return [[part.tolist() for part in parts] for parts in module.block_assignments(*map(np.array, arguments[:3]))]
        case "sums":
            return module.block_sums(*map(np.array, arguments)).tolist()

    def split(state: int, left: int, right: int) -> int | None:
        following = (3 * state + 2 * left + right) % 7
        return None if following == rest[1] else following

    return list(module.assignments(first, 0, split, rest[0].__getitem__, len(rest[0])))


def test_recorded_assignments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each function the very pairs, flows, blocks and looks, in their order."""
    rows = [json.loads(line) for line in (ROOT / "tests/data/values/assignments.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [json.loads(json.dumps([*row[:2], result_of(*row[:2], monkeypatch)])) for row in rows] == rows


Sums = set[tuple[float, float]]  # what a record's fields may add up to: (2 x scores, weight)
BEST = {"match_by": "hungarian"}
LEAF = {"type": "string"}
PAIR = {"type": "object", "properties": {"k": LEAF, "v": LEAF}}
TAGGED = {"type": "object", "properties": {"x": LEAF, "y": LEAF, "tags": {"type": "array", "x-eval-align": BEST, "items": LEAF}}}
LISTS = {
    "type": "object",
    "properties": {
        "name": LEAF,
        "parts": {"type": "array", "x-eval-align": BEST, "items": PAIR},
        "items": {"type": "array", "x-eval-align": BEST, "items": TAGGED},
    },
}


def drawn(source: random.Random, schema: Any, size: int, letters: str = "abc") -> Any:
    """A random value of a schema; keys may be missing, lists hold up to `size` elements."""
    if schema["type"] == "string":
        return source.choice(letters)
    if schema["type"] == "array":
        return [drawn(source, schema["items"], size, letters) for _ in range(source.randint(0, size))]
    return {key: drawn(source, sub, size, letters) for key, sub in schema["properties"].items() if source.random() < 0.85}


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
        gold, found = (drawn(source, LISTS, 3) for _ in range(2))
        assert evaluate([gold], [found], LISTS).mean_f1 == pytest.approx(best_f1(LISTS, gold, found), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_seven_by_seven_by_brute_force(seed: int) -> None:
    """The same for lists of seven objects."""
    source, schema = random.Random(seed), {"type": "object", "properties": {"parts": LISTS["properties"]["parts"]}}  # type: ignore[index]
    gold, found = ({"parts": [drawn(source, PAIR, 0, "abcd") for _ in range(7)]} for _ in range(2))
    assert evaluate([gold], [found], schema).mean_f1 == pytest.approx(best_f1(schema, gold, found), abs=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_no_order_of_unordered_lists_moves_anything(seed: int) -> None:
    """Shuffling every list on either side leaves every score, count and row as it was, to the last digit."""
    source = random.Random(seed)
    for _ in range(15):
        gold, found = ([drawn(source, LISTS, 4, "ab") for _ in range(2)] for _ in range(2))
        before = numbers(evaluate(gold, found, LISTS))
        assert numbers(evaluate(gold, [shuffled(source, record) for record in found], LISTS)) == before
        assert numbers(evaluate([shuffled(source, record) for record in gold], found, LISTS)) == before


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


BEST, KEYED = {"match_by": "hungarian"}, {"match_by": "key_field", "key": "k"}
KEYED_OR_BEST = {**KEYED, "fallback": "hungarian"}
ANY_OF = "x-eval-any-of"
NAN, INF = float("nan"), float("inf")


def leaf(kind: str, **keys: Any) -> dict[str, Any]:
    """A leaf with its `x-eval-*` keys."""
    return {"type": kind, **{f"x-eval-{key}": value for key, value in keys.items()}}


def some(items: Any, **align: Any) -> dict[str, Any]:
    """A list."""
    return {"type": "array", "items": items, **({"x-eval-align": align} if align else {})}


PART = {"type": "object", "properties": {"k": leaf("string", compare="exact"), "v": leaf("number", compare="numeric")}}
FIELDS: dict[str, Any] = {
    "s": leaf("string", compare="exact", weight=2),
    "n": leaf("number", compare={"numeric": {"tolerance": {"rel": 0.5}}}),
    "e": leaf("string", compare="edit_distance", threshold=0.5),
    "u": leaf("string", compare="exact", transform=["lowercase"]),
    "q": leaf("string", compare="token_f1", weight=0.5),
    "x": leaf("string", compare="exact", skip=True),
    "r": leaf("string", compare="exact", required=True),
    "p": leaf("string", compare="exact", optional=True),
    "o": {"type": "object", "properties": {"i": leaf("integer", compare="numeric")}},
    "l": some(leaf("string", compare="exact")),
    "b": some(leaf("string", compare="exact"), **BEST),
    "d": some(PART, **BEST),
    "f": some(PART, **KEYED),
    "g": some(PART, **KEYED_OR_BEST),
}
OWN = {"w": leaf("string", compare="own", weight=3)}
VALUES: dict[str, Any] = {"string": ["a", "A", "ab", "b", "c", "", "ab c"], "number": [0, 1, 1.5, 2, -1, 3.0], "integer": [0, 1, True, 2]}
ODD = [None, [], {}, "a", 1, ["a"], {"k": "a"}, [1, {}], True]


def draw(source: random.Random, schema: Any, odd: float) -> Any:
    """A value of a schema, now and then another one; its keys may be missing, or unknown."""
    if source.random() < odd:
        return source.choice(ODD)
    if schema["type"] == "array":
        return [draw(source, schema["items"], odd) for _ in range(source.randrange(4))]
    if schema["type"] == "object":
        record = {key: draw(source, sub, odd) for key, sub in schema["properties"].items() if source.random() < 0.8}
        return {**record, **{key: 1 for key in ("note", "free") if source.random() < 3 * odd}}
    return source.choice(VALUES[schema["type"]])


@pytest.fixture(params=[1, 2_000_000])
def cells_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of many elements in parts, and all at once."""
    monkeypatch.setattr("evalsuite.trees.all_pairs.CELLS_AT_ONCE", request.param)


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.usefixtures("cells_at_once")
def test_fields_of_all_pairs_are_those_of_each_pair(compat: bool) -> None:
    """What a pair is worth at a rate, by arrays and by its rows: every comparator, alignment and kind of value."""
    source = random.Random(1)
    for at in range(20):
        properties = {name: FIELDS[name] for name in source.sample([*FIELDS], 5)} | (OWN if at % 3 == 0 else {})
        if compat:
            properties.pop("u", None)  # a transform raises there
        items = {"type": "object", "properties": properties, "x-eval-ignore": ["free"]}
        schema = {"type": "object", "properties": {"t": some(items, **BEST)}}
        # A comparator of a plugin, with shares, that leaves some pairs out.
        own = {"own": lambda a, b, _: ComparatorResult(0.25 if a != b else 1, "own", skip=a == "c")}
        scoring = Scoring(schema, compat=compat, comparators=own)
        node, n, m = scoring.node.by_key["t"].item, source.randrange(1, 5), source.randrange(1, 5)
        gold, answer = ([draw(source, items, 0.1) for _ in range(size)] for size in (n, m))
        has_choice = at % 4 == 0 and not compat
        if has_choice:
            gold[0] = {ANY_OF: [gold[0], draw(source, items, 0)]}
        walk = Walk(scoring, alternatives=has_choice)
        walk.rate = source.choice([0.5, 0.75, 1])
        worth = compat_fits(walk, node, gold, answer) if compat else FieldGrid(walk, node, gold, answer).values()
        assert worth.shape == (n, m)
        for i, j in np.ndindex(n, m):
            counts = tally(walk.attempt(node, gold[i], answer[j], "", ())[0])
            expected = counts.f1 if compat else walk.gain_of(counts)
            assert worth[i, j] == pytest.approx(expected), (list(properties), gold[i], answer[j])


TOLERANCES = [{"rel": 0.5}, {"abs": 1}, {"rel": 0.5, "abs": 1}]
COLUMNS: list[list[Any]] = [
    [0, 1, 2, -1, 2**53, -(2**53)], [0.0, 1.0, 1.5, -1.0, 3.0, 2.0**53], [2**53 + 1, 2**53, 10**400, 1], [NAN, 1.0, INF, -INF, 1],
    [NAN, "a", None], ["a", "A", "\u00e9", "e\u0301", ""], [None, True, False, 0, 1, 1.0, "1", "x"], [[1], [True], {"a": 1}, 1, "1"],
    [1e308, -1e308, 5e-324, 0.0],
]  # fmt: skip


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.parametrize("compare", ["exact", "numeric", *({"numeric": {"tolerance": each}} for each in TOLERANCES)], ids=str)
def test_a_column_is_compared_as_each_of_its_pairs(compare: Any, compat: bool) -> None:
    """Whatever kinds of values stand in it, with a transform and a threshold too."""
    for keys in ({}, {"threshold": 0.5}, {"transform": ["normalize_whitespace"]}):
        scoring = Scoring({"type": "object", "properties": {"a": leaf("string", compare=compare, **keys)}}, compat=compat)
        walk, node = Walk(scoring, alternatives=False), scoring.node.fields[0]
        for gold, answer in product(COLUMNS, repeat=2):
            if compat and (keys.get("transform") or 10**400 in (*gold, *answer)):
                continue  # raises there
            found = score_matrix(node, gold, answer, compat=compat)
            expected = [[walk.unit(node, g, e, "", ()).score for e in answer] for g in gold]
            assert np.array_equal(found, np.array(expected)), (gold, answer)


def test_the_order_by_content_ignores_what_the_schema_does() -> None:
    """Two elements have one text if they differ only in the order of keys and of lists without an order, at any depth."""
    part = {
        "n": some(leaf("string", compare="exact")),
        "u": some(leaf("string", compare="exact"), **BEST),
        "e": leaf("array", compare="exact"),
    }
    part |= {"s": leaf("array", compare="set"), "k": some(PART, **KEYED), "o": {"type": "object", "properties": {"u": some(PART, **BEST)}}}
    node = Scoring({"type": "object", "properties": {"t": some({"type": "object", "properties": part}, **BEST)}}).node.by_key["t"].item
    pairs = [{"k": "a", "v": 1}, {"k": "b", "v": [1, 2]}]
    for key, value, is_free in (
        ("n", ["a", "b"], False), ("u", ["a", "b"], True), ("e", ["a", "b"], False), ("s", ["a", "b"], True), ("k", pairs, True),
        ("z", ["a", "b"], False),
    ):  # fmt: skip
        one, other = (ContentOrder().text(node, {key: each, "n": ["q"]} if key != "n" else {key: each}) for each in (value, value[::-1]))
        assert (one == other) is is_free, key
    order = ContentOrder()
    assert order.text(node, {"o": {"u": pairs}, "u": []}) == order.text(node, {"u": [], "o": {"u": pairs[::-1]}})
    assert order.text(node, {"o": {"u": [{"k": "a", "v": [1, 2]}]}}) != order.text(node, {"o": {"u": [{"k": "a", "v": [2, 1]}]}})
    different = [
        {},
        [],
        None,
        "a",
        1,
        True,
        {"u": None},
        {"u": "a"},
        {"u": {}},
        {"o": []},
        {"o": {}},
        {"o": {"u": {}}},
        {"n": {"a": 1}},
        {ANY_OF: [{"u": ["a"]}]},
    ]
    assert len({order.text(node, value) for value in different}) == len(different)


INNER = {"u": "integer", "v": "string", "t": ["string"]}
ITEM: dict[str, Any] = {
    "x": "integer", "y": "string", "c": ["a", "b"], "o": {"z": "number", "w": "boolean"}, "t": ["string"], "m": ["integer"], "d": [INNER],
}  # fmt: skip
TYPES: dict[str, Any] = {"string": [0, "", "a", "ab", "abc", "b"], "integer": [0, 1, 2], "number": [0, 1.5, 2], "boolean": [True, False]}


def draw_item(source: random.Random, schema: Any, odd: float, absent: float = 0.2) -> Any:
    """A value of Treeval's types, maybe null or another one; objects of lists in items are whole, so that no alignments differ."""
    if source.random() < odd:
        return source.choice([None, None, [], {}, "ab", 1, True, ["a"], {"x": 1, "n": {"p": 2}}, [{}]])
    if isinstance(schema, dict):
        keys = [key for key in schema if source.random() >= absent]
        return {key: draw_item(source, schema[key], odd if key != "d" else 0, absent if key != "d" else 0) for key in keys}
    if isinstance(schema, list) and len(schema) == 1:
        return [draw_item(source, schema[0], 0, 0) for _ in range(source.randrange(4) if absent else 2)]
    return source.choice(schema if isinstance(schema, list) else TYPES[schema][1:] if schema == "string" else TYPES[schema])


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.usefixtures("cells_at_once")
def test_counts_of_all_pairs_are_those_of_each_pair(compat: bool) -> None:
    """Treeval's six counters, the sum of the scores and the weight of a pair of items, by matrices and by a walk over the pair alone."""
    source = random.Random(2)
    for at in range(12):
        keys = source.sample([*ITEM], 4)
        types = {"string": ["levenshtein", "exact_match"]} if at % 3 == 0 else None
        branch, _ = prepare({"l": [{key: ITEM[key] for key in keys}]}, None, types, compat=compat)
        node, options = branch.children[0], Options(compat=compat)
        n, m = source.randrange(1, 5), source.randrange(1, 5)
        schema = {key: ITEM[key] for key in keys}
        want = [None if source.random() < 0.1 else draw_item(source, schema, 0.0) for _ in range(n)]
        want = [item and {key: None if source.random() < 0.1 else value for key, value in item.items()} for item in want]
        got = [draw_item(source, schema, 0.0 if compat else 0.15) for _ in range(m)]
        grid = TreevalGrid(node, want, got, options)
        sums = grid.totals()
        weights = pair_weights(node, sums, grid.shape, options)
        used = used_metrics(branch)
        for i, j in np.ndindex(n, m):
            walk = TreevalWalk(options)
            walk.items(node.item, [want[i]], [Place(0, "", 0, i, j)], [got[j]])
            found = [np.broadcast_to(sums.get(name, 0.0), (n, m))[i, j] for name in Counts._fields]
            assert found == walk.counts, (keys, want[i], got[j])
            means = flat_means(used, walk.outcomes.values())
            score = total_score(mean_over_metrics(means, used, clip=not compat), Counts(*walk.counts))
            assert weights[i, j] == pytest.approx(score, abs=1e-9), (keys, want[i], got[j])
