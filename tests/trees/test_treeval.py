"""Treeval's sound rules: the numbered examples of its specification, and what holds for any records."""

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.trees.json_schema import json_schema_of
from evalsuite.trees.treeval import TreevalResult, treeval_score
from tests.properties import examples

TABLE = Path(__file__).with_name("treeval.txt")
EXACT = dict.fromkeys(("string", "integer", "number", "boolean", "()"), "exact_match")
STRINGS, XY = {"a": ["string"]}, {"a": [{"x": "integer", "y": "string"}]}
TWO, PAIR, BRANCH = {"a": "string", "b": "string"}, {"a": "string", "b": "integer"}, {"a": {"x": "string", "y": "string"}}
NESTED = {"a": [{"x": "integer", "b": [{"y": "integer"}]}]}
ITEMS, DEEP_ITEMS, INTEGERS = {"a": [{"x": "integer"}]}, {"a": [{"x": "integer", "y": {"z": "integer"}}]}, {"a": ["integer"]}
NESTED_GOLD = {"a": [{"x": 1, "b": [{"y": 1}]}, {"x": 2, "b": [{"y": 3}, {"y": 4}]}]}


def score(schema: dict[str, Any], predictions: list[Any], references: list[Any], **options: Any) -> TreevalResult:
    """Scored with exact matches for every type."""
    return treeval_score(predictions, references, schema, types_metrics=options.pop("types_metrics", EXACT), **options)


@pytest.mark.parametrize(
    ("schema", "predictions", "references", "counts", "expected"),
    [
        (STRINGS, [{"a": []}], [{"a": ["x", "y"]}], (1, 1, 2, 1, 0, 0), 0),
        (STRINGS, [{"a": []}], [{"a": []}], (1, 1, 0, 1, 0, 0), 1),
        (STRINGS, [{"a": ["x", "y"]}], [{"a": []}], (3, 1, 0, 1, 0, 0), 0),
        (STRINGS, [{"a": ["x", {}, {"k": {"l": 1}}]}], [{"a": ["x"]}], (3, 1, 0, 1, 0, 0), 0.5),
        (XY, [{"a": []}], [{"a": [{"x": 1, "y": "s"}, {"x": 2, "y": "t"}]}], (1, 1, 4, 1, 0, 0), 0),
        (STRINGS, [{"a": []}, {"a": ["x"]}], [{"a": ["x", "y"]}, {"a": ["x"]}], (2, 2, 2, 2, 0, 0), 2 / 3),
        (XY, [{"a": [{"x": 2, "y": None}, {"x": 1}]}], [{"a": [{"x": 1, "y": "s"}, {"x": 2, "y": None}]}], (4, 4, 1, 3, 0, 0), 8 / 9),
        (XY, [{"a": [{"x": 1, "y": None}]}], [{"a": [{"x": 1, "y": None}]}], (3, 3, 0, 2, 0, 0), 1),
        (XY, [{"a": [{"x": 1, "y": None}]}], [{"a": [{"x": None, "y": "s"}]}], (3, 3, 0, 1, 1, 1), 0),
        (TWO, [{"a": None, "b": None}], [{"a": None, "b": None}], (2, 2, 0, 0, 0, 0), 1),
        (TWO, [{"a": None, "b": None}], [{"a": "x", "b": "y"}], (2, 2, 0, 0, 2, 0), 0),
        (TWO, [{"a": "x", "b": "y"}], [{"a": None, "b": None}], (2, 2, 0, 0, 0, 2), 0),
        (TWO, [{}], [{"a": "x", "b": "y"}], (0, 0, 2, 0, 0, 0), 0),
        (TWO, [{"z": 1}], [{"a": "x", "b": "y"}], (1, 0, 2, 0, 0, 0), 0),
        (PAIR, [{"a": {"k": 1}, "b": 1}], [{"a": "x", "b": 1}], (3, 2, 0, 1, 1, 1), 0.2),
        (STRINGS, [{"a": "x"}], [{"a": ["x", "y"]}], (1, 1, 2, 0, 1, 1), 0),
        (BRANCH, [{"a": "abc"}], [{"a": {"x": "1", "y": "2"}}], (1, 1, 2, 0, 2, 1), 0),
        (TWO, [None], [{"a": "x", "b": "y"}], (1, 0, 2, 0, 0, 0), 0),
        (TWO, ["abc"], [{"a": "x", "b": "y"}], (1, 0, 2, 0, 0, 0), 0),
        (NESTED, [{"a": [{"x": 2, "b": [{"y": 4}, {"y": 3}]}, {"x": 1, "b": [{"y": 1}]}]}], [NESTED_GOLD], (8, 8, 0, 8, 0, 0), 1),
        (
            NESTED,
            [{"a": [{"x": 2, "b": [{"y": 4}, {"y": 9}, {"y": 3}]}, {"x": 1, "b": [{"y": 1}]}]}],
            [NESTED_GOLD],
            (9, 8, 0, 8, 0, 0),
            0.9411764705882353,
        ),
        (
            DEEP_ITEMS,
            [{"a": [{"x": 9, "y": {"z": 9}}, {"x": 1, "y": {"z": 1}}]}],
            [{"a": [{"x": 1, "y": {"z": 1}}]}],
            (7, 4, 0, 3, 0, 0),
            0.7272727272727273,
        ),
        (
            DEEP_ITEMS,
            [{"a": [{"x": 1, "y": {"z": 1}}, {"x": 9, "y": {"z": 9}}]}],
            [{"a": [{"x": 1, "y": {"z": 1}}]}],
            (7, 4, 0, 3, 0, 0),
            0.7272727272727273,
        ),
        (ITEMS, [{"a": [{"x": 9, "u": 1, "v": {"w": 2}}, {"x": 1}]}], [{"a": [{"x": 1}]}], (6, 2, 0, 2, 0, 0), 0.5),
        (INTEGERS, [{"a": [None, 1, 2]}], [{"a": [1, None, 3]}], (1, 1, 0, 1, 0, 0), 2 / 3),
        (INTEGERS, [{"a": [None]}], [{"a": [None, 1]}], (1, 1, 1, 1, 0, 0), 2 / 3),
    ],
)
def test_numbered_examples(schema: Any, predictions: Any, references: Any, counts: tuple[int, ...], expected: float) -> None:
    """Examples 1 to 7: the six counters and the score."""
    found = score(schema, predictions, references)
    assert tuple(found.counts) == counts
    assert found.score == pytest.approx(expected, abs=1e-9)


def test_means_of_example_two_and_four() -> None:
    """A leaf that no pair shares has no mean; a wrong container is a 0 of that leaf."""
    second = score(XY, [{"a": [{"x": 2, "y": None}, {"x": 1}]}], [{"a": [{"x": 1, "y": "s"}, {"x": 2, "y": None}]}])
    assert second.tree == {"a": {"x": {"exact_match": {"exact_match": 1.0}}, "y": None}}
    fourth = score(PAIR, [{"a": {"k": 1}, "b": 1}], [{"a": "x", "b": 1}])
    assert fourth.per_metric["exact_match"] == 0.5
    assert (fourth.f1_node, fourth.f1_leaf) == (pytest.approx(0.8), 0.5)
    assert [(row.path, row.flag) for row in fourth.flagged_rows] == [("a", "wrong container")]


def nest(levels: int, inside: Any) -> Any:
    """A value under `levels` objects of one key."""
    for _ in range(levels):
        inside = {"k": inside}
    return inside


def test_depth() -> None:
    """Example 9: 200 branches are scored; past 256 there is a ValueError with the path, also for a list of them."""
    found = score(nest(200, {"a": "integer"}), [nest(200, {"a": 1})], [nest(200, {"a": 1})])
    assert (tuple(found.counts), found.score) == ((201, 201, 0, 1, 0, 0), 1)
    assert score({"a": [nest(190, {"a": "integer"})]}, [{"a": [nest(190, {"a": 1})]}], [{"a": [nest(190, {"a": 1})]}]).score == 1
    assert json_schema_of(nest(256, "string"))["type"] == "object"
    for deeper in (json_schema_of, lambda schema: score(schema, [{}], [{}])):
        with pytest.raises(ValueError, match=r"nested deeper than 256 at k\.k"):
            deeper(nest(257, "string"))
    with pytest.raises(ValueError, match=r"nested deeper than 256 at k\.k"):
        score(nest(5000, {"a": "integer"}), [{}], [{}])


def test_refused() -> None:
    """No records, unequal lengths, unreadable schemas and unknown names are ValueErrors that say what is meant."""
    for schema, match in [({}, "empty"), ({"a": []}, "empty list at a"), ({"a": [["string"]]}, "array of arrays at a"), (3, "object")]:
        with pytest.raises(ValueError, match=match):
            treeval_score([{}], [{}], schema)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no records"):
        treeval_score([], [], TWO)
    with pytest.raises(ValueError, match="2 predictions for 1"):
        treeval_score([{}, {}], [{}], TWO)
    with pytest.raises(ValueError, match="did you mean 'levenshtein'"):
        treeval_score([{}], [{}], TWO, types_metrics={"string": "levenstein"})
    with pytest.raises(ValueError, match="did you mean 'author'"):
        treeval_score([{}], [{}], {"author": "string"}, leaves_metrics={"autor": "exact_match"})
    with pytest.raises(ValueError, match="no metric for the leaf a of type 'datetime'"):
        treeval_score([{}], [{}], {"a": "datetime"})
    with pytest.raises(ValueError, match=r"reference 0: a must be a list"):
        treeval_score([{"a": "x"}], [{"a": "x"}], STRINGS)
    for wrong in ({}, []):
        with pytest.raises(ValueError, match=r"reference 0: a must be a plain value"):
            treeval_score([{"a": "x"}], [{"a": wrong}], {"a": "string"})


SCHEMA = {
    "s": "string",
    "n": "number",
    "c": ["red", "blue"],
    "o": {"i": "integer", "t": ["string"]},
    "l": [{"i": "integer", "s": "string", "o": {"b": "boolean"}, "t": ["integer"], "d": [{"s": "string", "t": ["string"]}]}],
}
TEXT, NUMBER = st.sampled_from(["", "a", "ab", "b", "ba"]), st.sampled_from([0, 1, 2, 1.5])


def records(schema: Any, *, nulls: bool = True) -> st.SearchStrategy[Any]:
    """Records of the schema, every value possibly null."""
    if isinstance(schema, dict):
        found: st.SearchStrategy[Any] = st.fixed_dictionaries({key: records(node) for key, node in schema.items()})
    elif isinstance(schema, list) and len(schema) == 1:
        found = st.lists(records(schema[0], nulls=False), max_size=4)
    elif isinstance(schema, list):
        found = st.sampled_from(schema)
    else:
        found = {"string": TEXT, "number": NUMBER, "integer": st.integers(0, 2), "boolean": st.booleans()}[schema]
    return st.none() | found if nulls else found


GOLD = records(SCHEMA, nulls=False)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("snocliotdb"), inner, max_size=4),
    max_leaves=12,
)


@examples(60)
@given(batch=st.lists(st.tuples(GOLD, ANY_JSON | GOLD), min_size=1, max_size=4))
def test_the_batch_has_no_order(batch: list[tuple[Any, Any]]) -> None:
    """Records in another order give the same numbers; whatever is predicted, the score is in [0, 1] in both modes."""
    golds, gots = [gold for gold, _ in batch], [got for _, got in batch]
    one = treeval_score(gots, golds, SCHEMA)
    other = treeval_score(gots[::-1], golds[::-1], SCHEMA)
    assert 0 <= one.score <= 1
    assert other.summary == one.summary
    assert other.tree == one.tree
    assert 0 <= treeval_score(gots, golds, SCHEMA, compat=True).score <= 1


def test_rows_are_a_sequence() -> None:
    """The rows have a length and places at once, are iterated, compared and copied."""
    made = [treeval_score([{"a": 1, "x": 2}], [{"a": 1}], {"a": "integer"}).rows for _ in range(4)]
    assert len(made[0]) == 2
    assert made[1][-1].status == "match"
    assert made[2] == made[3] == list(made[0])
    assert copy.copy(made[0]) == list(made[0])
    invented = treeval_score([{"a": 1}], [{"a": None}], {"a": "integer"}).rows
    assert invented == [(0, "a", "hallucination", None, 1, 0.0, None, None, "")]


@examples(60)
@given(golds=st.lists(GOLD, min_size=1, max_size=3))
def test_a_copy_is_perfect(golds: list[Any]) -> None:
    """Predicting the references exactly scores 1, and every row agrees."""
    found = treeval_score(json.loads(json.dumps(golds)), golds, SCHEMA)
    assert found.score == 1
    assert {row.status for row in found.rows} <= {"match", "both_null"}


@examples(60)
@given(gold=GOLD, got=GOLD, value=ANY_JSON)
def test_inventing_and_dropping(gold: Any, got: Any, value: Any) -> None:
    """A field that the schema lacks never raises precision; dropping a value never raises recall."""
    before = treeval_score([got], [gold], SCHEMA)
    invented = treeval_score([{**got, "invented": value}], [gold], SCHEMA)
    assert invented.precision_node <= before.precision_node
    assert invented.precision_leaf == before.precision_leaf
    assert invented.score <= before.score
    for key in ("s", "n", "c"):
        if got[key] is not None:
            dropped = treeval_score([{k: v for k, v in got.items() if k != key}], [gold], SCHEMA)
            assert dropped.recall_node <= before.recall_node
            assert dropped.recall_leaf <= before.recall_leaf


LISTS = {"a": [{"x": "integer", "y": "string", "t": ["integer"], "d": [{"z": "string"}]}], "n": ["integer"], "s": ["string"]}


def made(source: random.Random, node: Any) -> Any:
    """A value of a schema's node: few different ones, so that many alignments are equally good."""
    if isinstance(node, dict):
        return {key: None if source.random() < 0.1 else made(source, inner) for key, inner in node.items() if source.random() < 0.9}
    if isinstance(node, list):
        return [made(source, node[0]) for _ in range(source.randrange(4))]
    return source.randrange(3) if node == "integer" else source.choice(["a", "ab", "ba", "b"])


def turned(source: random.Random, value: Any) -> Any:
    """The value with its keys and the items of its lists in another order."""
    if isinstance(value, dict):
        return {key: turned(source, value[key]) for key in source.sample(list(value), len(value))}
    return [turned(source, item) for item in source.sample(value, len(value))] if isinstance(value, list) else value


@pytest.mark.parametrize("n", [20, pytest.param(100_000, marks=pytest.mark.slow)])
def test_no_order_matters(n: int) -> None:
    """Random batches with the records, keys and items in any order: the same counters, score and means, to the last digit."""
    source = random.Random(n)
    for _ in range(n):
        records = [(made(source, LISTS), made(source, LISTS)) for _ in range(source.randrange(1, 4))]
        other = [(turned(source, p), turned(source, r)) for p, r in source.sample(records, len(records))]
        before, after = (treeval_score([p for p, _ in batch], [r for _, r in batch], LISTS) for batch in (records, other))
        assert (before.counts, before.summary, before.per_metric) == (after.counts, after.summary, after.per_metric), records


def test_records_of_every_kind() -> None:
    """The table: what the reference takes a value for and where it raises, what the sound rules count, and which rows they show."""
    lines = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    for source, *expected in zip(*[iter(lines)] * 3, strict=True):
        schema, references, predictions, metrics = json.loads(source)
        found = []
        for compat in (True, False):
            result = treeval_score(predictions, references, schema, types_metrics=metrics, compat=compat)
            means = {name: rounded(mean) for name, mean in result.per_metric.items() if name not in result.summary}
            by_type = {name: each for name, each in result.per_leaf_type.items() if name not in result.summary}
            types = {name: each and {metric: rounded(mean) for metric, mean in each.items()} for name, each in by_type.items()}
            rows = [
                [row.record, row.path, row.status, rounded(row.score), *row[6:]] for row in result.rows if row.status != "match" or row.flag
            ]
            said = [rounded(result.score), [*map(int, result.counts)], means, types, result.reference_raises if compat else rows]
            found.append("=> " + json.dumps(said))
        assert found == expected, source


def rounded(value: float | None) -> float | None:
    """Six decimals."""
    return None if value is None else round(value, 6)


def test_rates_of_nothing() -> None:
    """No node predicted or expected is precision or recall 0 of nodes; no leaf is 1 of leaves; an invented one costs precision."""
    for record, n in (({}, 2), (5, 2), ({"x": 1}, 2), ({"x": 1, "y": {"z": 2}}, 4)):
        assert treeval_score([{"a": "x"}], [{"a": "x"}], {"a": "string"}, invented=[record]).counts.predicted == n
    empty = treeval_score([{}], [{"a": None}], {"a": "string"})
    assert (empty.precision_node, empty.recall_node, empty.f1_node) == (0, 0, 0)
    assert (empty.precision_leaf, empty.recall_leaf, empty.f1_leaf) == (1, 1, 1)
    half = treeval_score([{"a": "x", "z": 1}], [{"a": "x"}], {"a": "string"})
    assert (half.precision_node, half.recall_node, half.precision_leaf) == (0.5, 1, 1)
    invented = treeval_score([{"a": "y", "b": "x"}], [{"a": None, "b": "x"}], TWO)
    assert (invented.precision_leaf, invented.recall_leaf) == (0.5, 1)
