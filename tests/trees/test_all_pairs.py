"""Matrices of all pairs of elements are what each pair gives alone: fields by their rows, Treeval's counters and scores by a walk."""

import random
from itertools import product
from typing import Any

import numpy as np
import pytest

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


def maybe_skip(gold: Any, extracted: Any, params: Any) -> ComparatorResult:
    """A comparator of a plugin, with shares, that leaves some pairs out."""
    return ComparatorResult(0.25 if gold != extracted else 1, "own", skip=gold == "c")


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


@pytest.fixture(params=[1, 2_000_000], autouse=True)
def cells_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of many elements in parts, and all at once."""
    monkeypatch.setattr("evalsuite.trees.all_pairs.CELLS_AT_ONCE", request.param)


@pytest.mark.parametrize("compat", [False, True])
def test_fields_of_all_pairs_are_those_of_each_pair(compat: bool) -> None:
    """What a pair is worth at a rate, by arrays and by its rows: every comparator, alignment and kind of value."""
    source = random.Random(1)
    for at in range(20):
        properties = {name: FIELDS[name] for name in source.sample([*FIELDS], 5)} | (OWN if at % 3 == 0 else {})
        if compat:
            properties.pop("u", None)  # a transform raises there
        items = {"type": "object", "properties": properties, "x-eval-ignore": ["free"]}
        schema = {"type": "object", "properties": {"t": some(items, **BEST)}}
        scoring = Scoring(schema, compat=compat, comparators={"own": maybe_skip})
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
    [NAN, "a", None],
    ["a", "A", "\u00e9", "e\u0301", ""], [None, True, False, 0, 1, 1.0, "1", "x"], [[1], [True], {"a": 1}, 1, "1"],
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
