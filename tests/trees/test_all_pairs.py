"""Matrices of all pairs of elements are what each pair gives alone: fields by their rows, Treeval's counters and scores by a walk."""

import random
from typing import Any

import numpy as np
import pytest

from evalsuite.trees.field_matching import FieldGrid, compat_fits
from evalsuite.trees.field_results import ComparatorResult, tally
from evalsuite.trees.record_scoring import Scoring, Walk
from evalsuite.trees.treeval import Place, prepare
from evalsuite.trees.treeval import Walk as TreevalWalk
from evalsuite.trees.treeval_counts import Counts, Options, TreevalGrid, flat_means, pair_weights, total_score, used_metrics

BEST, KEYED = {"match_by": "hungarian"}, {"match_by": "key_field", "key": "k"}
KEYED_OR_BEST = {**KEYED, "fallback": "hungarian"}
ANY_OF = "x-eval-any-of"


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
    for at in range(30):
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


INNER = {"u": "integer", "v": "string"}
ITEM: dict[str, Any] = {
    "x": "integer", "y": "string", "c": ["a", "b"], "o": {"z": "number", "w": "boolean"}, "t": ["string"], "m": ["integer"], "d": [INNER],
}  # fmt: skip
TYPES: dict[str, Any] = {"string": [0, "", "a", "ab", "abc", "b"], "integer": [0, 1, 2], "number": [0, 1.5, 2], "boolean": [True, False]}


def draw_item(source: random.Random, schema: Any, odd: float, absent: float = 0.2) -> Any:
    """A value of Treeval's types, maybe null or another one; objects of lists in items are whole, so that no two alignments differ."""
    if source.random() < odd:
        return source.choice([None, None, [], {}, "ab", 1, True, ["a"], {"x": 1, "n": {"p": 2}}, [{}]])
    if isinstance(schema, dict):
        keys = [key for key in schema if source.random() >= absent]
        return {key: draw_item(source, schema[key], odd if key != "d" else 0, absent if key != "d" else 0) for key in keys}
    if isinstance(schema, list) and len(schema) == 1:
        return [draw_item(source, schema[0], 0, 0) for _ in range(source.randrange(4))]
    return source.choice(schema if isinstance(schema, list) else TYPES[schema][1:] if schema == "string" else TYPES[schema])


@pytest.mark.parametrize("compat", [False, True])
def test_counts_of_all_pairs_are_those_of_each_pair(compat: bool) -> None:
    """Treeval's six counters, the sum of the scores and the weight of a pair of items, by matrices and by a walk over the pair alone."""
    source = random.Random(2)
    for at in range(40):
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
            walk.items(node.item, [want[i]], [Place(0, "", 0, i, j)], [got[j]], listed=True)
            found = [np.broadcast_to(sums.get(name, 0.0), (n, m))[i, j] for name in Counts._fields]
            assert found == walk.counts, (keys, want[i], got[j])
            means = flat_means(used, walk.outcomes.values())
            score = total_score(means, used, Counts(*walk.counts), clip=not compat)
            assert weights[i, j] == pytest.approx(score, abs=1e-9), (keys, want[i], got[j])
