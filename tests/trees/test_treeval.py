"""Treeval's sound rules: the examples of its specification, what holds for any records, metrics and files as given, numbers or texts."""

import copy
import json
import pickle
import random
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite import score
from evalsuite.core.errors import FaultError, MissingExtraError, UsageError
from evalsuite.core.runtime import extra_line
from evalsuite.scorers.metrics import get_metric
from evalsuite.scorers.tree_scorers import tree_score
from evalsuite.trees import (
    PairMetric,
    aggregate_results_per_leaf_type,
    aggregate_results_per_metric,
    create_tree_metrics,
    create_treeval_score_default_tree_metrics,
    load_json_files,
    treeval_score,
)
from evalsuite.trees.json_schema import json_schema_of
from evalsuite.trees.treeval import TreevalResult
from evalsuite.trees.treeval_metrics import ExactMatch, Levenshtein, nearly_equal, normalise
from tests.properties import examples
from tests.scorers.metrics.hash_embedder import HashEmbedder
from tests.trees.test_xeval import rounded

TABLE = Path(__file__).with_name("treeval.txt")
EXACT = dict.fromkeys(("string", "integer", "number", "boolean", "()"), "exact_match")
STRINGS, XY = {"a": ["string"]}, {"a": [{"x": "integer", "y": "string"}]}
TWO, PAIR, BRANCH = {"a": "string", "b": "string"}, {"a": "string", "b": "integer"}, {"a": {"x": "string", "y": "string"}}
NESTED = {"a": [{"x": "integer", "b": [{"y": "integer"}]}]}
ITEMS, DEEP_ITEMS, INTEGERS = {"a": [{"x": "integer"}]}, {"a": [{"x": "integer", "y": {"z": "integer"}}]}, {"a": ["integer"]}
NINE, ONE = {"x": 9, "y": {"z": 9}}, {"x": 1, "y": {"z": 1}}
NESTED_GOLD = {"a": [{"x": 1, "b": [{"y": 1}]}, {"x": 2, "b": [{"y": 3}, {"y": 4}]}]}


def scored(schema: dict[str, Any], predictions: list[Any], references: list[Any], **options: Any) -> TreevalResult:
    """Scored with exact matches for every type."""
    return treeval_score(predictions, references, schema, types_metrics=options.pop("types_metrics", EXACT), **options)


@pytest.mark.parametrize(("schema", "predictions", "references", "counts", "expected"), [
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
    (NESTED, [{"a": [{"x": 2, "b": [{"y": n} for n in (4, 9, 3)]}, NESTED_GOLD["a"][0]]}], [NESTED_GOLD], (9, 8, 0, 8, 0, 0), 16 / 17),
    (DEEP_ITEMS, [{"a": [NINE, ONE]}], [{"a": [ONE]}], (7, 4, 0, 3, 0, 0), 8 / 11),
    (DEEP_ITEMS, [{"a": [ONE, NINE]}], [{"a": [ONE]}], (7, 4, 0, 3, 0, 0), 8 / 11),
    (ITEMS, [{"a": [{"x": 9, "u": 1, "v": {"w": 2}}, {"x": 1}]}], [{"a": [{"x": 1}]}], (6, 2, 0, 2, 0, 0), 0.5),
    (INTEGERS, [{"a": [None, 1, 2]}], [{"a": [1, None, 3]}], (1, 1, 0, 1, 0, 0), 2 / 3),
    (INTEGERS, [{"a": [None]}], [{"a": [None, 1]}], (1, 1, 1, 1, 0, 0), 2 / 3),
])  # fmt: skip
def test_numbered_examples(schema: Any, predictions: Any, references: Any, counts: tuple[int, ...], expected: float) -> None:
    """Examples 1 to 7: the six counters and the score."""
    found = scored(schema, predictions, references)
    assert tuple(found.counts) == counts
    assert found.score == pytest.approx(expected, abs=1e-9)


def test_means_of_example_two_and_four() -> None:
    """A leaf that no pair shares has no mean; a wrong container is a 0 of that leaf."""
    second = scored(XY, [{"a": [{"x": 2, "y": None}, {"x": 1}]}], [{"a": [{"x": 1, "y": "s"}, {"x": 2, "y": None}]}])
    assert second.tree == {"a": {"x": {"exact_match": {"exact_match": 1.0}}, "y": None}}
    fourth = scored(PAIR, [{"a": {"k": 1}, "b": 1}], [{"a": "x", "b": 1}])
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
    found = scored(nest(200, {"a": "integer"}), [nest(200, {"a": 1})], [nest(200, {"a": 1})])
    assert (tuple(found.counts), found.score) == ((201, 201, 0, 1, 0, 0), 1)
    assert scored({"a": [nest(190, {"a": "integer"})]}, [{"a": [nest(190, {"a": 1})]}], [{"a": [nest(190, {"a": 1})]}]).score == 1
    assert json_schema_of(nest(256, "string"))["type"] == "object"
    for deeper in (json_schema_of, lambda schema: scored(schema, [{}], [{}])):
        with pytest.raises(ValueError, match=r"nested deeper than 256 at k\.k"):
            deeper(nest(257, "string"))
    with pytest.raises(ValueError, match=r"nested deeper than 256 at k\.k"):
        scored(nest(5000, {"a": "integer"}), [{}], [{}])


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
    """Records in another order give the same numbers; whatever is predicted, the score is in [0, 1] in both modes; a copy scores 1."""
    golds, gots = [gold for gold, _ in batch], [got for _, got in batch]
    one = treeval_score(gots, golds, SCHEMA)
    other = treeval_score(gots[::-1], golds[::-1], SCHEMA)
    assert 0 <= one.score <= 1
    assert other.summary == one.summary
    assert other.tree == one.tree
    assert 0 <= treeval_score(gots, golds, SCHEMA, compat=True).score <= 1
    copied = treeval_score(json.loads(json.dumps(golds)), golds, SCHEMA)
    assert copied.score == 1
    assert {row.status for row in copied.rows} <= {"match", "both_null"}


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


@pytest.mark.parametrize(("seed", "n"), [(20, 20), *(pytest.param(seed, 25_000, marks=pytest.mark.slow) for seed in range(4))])
def test_no_order_matters(seed: int, n: int) -> None:
    """Random batches with the records, keys and items in any order: the same counters, score and means, to the last digit."""
    source = random.Random(seed)
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


VALUES = [None, True, False, 0, 1, 2, 1.0, 1.00001, 1e6, 1000000.5, "", "1", "ab", 2**53, 2**53 + 1, 10**400, float("nan"), float("inf")]


def test_matrices_agree_with_pairs() -> None:
    """The matrix of a metric holds what it says of each pair."""
    small = [value for value in VALUES if not isinstance(value, int) or value < 2**53]
    for values, metric in product(
        (VALUES, small, [0.5, 0.500004, 0.50002, 1e-9, 0, 1, -1.0], ["ab"] * 8 + ["b", "é"]),
        (
            ExactMatch(), ExactMatch(compat=True), Levenshtein(), Levenshtein(compat=True), Levenshtein(reads_numbers=True),
            PairMetric(name="same", function=lambda p, r: float(p == r)),
        ),
    ):  # fmt: skip
        for some in (values, values[::-3]):
            found = metric.matrix(some, values)
            by_pair = [metric.scores([reference] * len(values), values) for reference in some]
            assert np.array_equal(found, np.array(by_pair), equal_nan=True), metric.name
    likeness = Levenshtein(compat=True).scores([None, None, "", 5, 1.0, None], [None, "", None, 5.0, True, "a"])
    assert likeness.tolist() == [1, 0, 0, 0.5, 0, 0]
    near = ExactMatch(compat=True).matrix(VALUES, VALUES)
    assert near.tolist() == [[float(nearly_equal(r, p)) for p in VALUES] for r in VALUES]


@pytest.mark.parametrize(("reference", "prediction", "near", "equal"), [
    (1, True, True, False), (1, 1.0, True, True), (1000000.0, 1000009.5, True, False), (1000000.0, 1000011.0, False, False),
    (2**53, 2**53 + 1, False, False), (2.0**53, 2**53 + 1, True, False), ("1", 1, False, False), (None, None, True, True),
    (None, 0, False, False), (10**400, 1.0, False, False), (float("nan"), float("nan"), False, False), (True, True, True, True),
    (0.1 + 0.2, 0.3, True, False), ("caf\u00e9", "cafe\u0301", False, True),
])  # fmt: skip
def test_exact_match(reference: object, prediction: object, near: bool, equal: bool) -> None:
    """Numbers are equal in value alone, and never a text or boolean; the reference has a tolerance of 1e-5 and takes true for 1."""
    assert nearly_equal(reference, prediction) is near
    assert bool(ExactMatch().scores([reference], [prediction])[0]) is equal
    scored = tree_score({"a": prediction}, gold={"a": reference}, schema={"a": "number"})
    assert scored.strict == float(equal)


def test_create_tree_metrics() -> None:
    """Leaf entries add to the type's metrics, or replace them; arrays take those of their items; the default ones are the sound ones."""
    schema = {"a": "string", "b": ["x", "y"], "c": [{"d": "string", "e": ["integer"]}]}
    types = {"string": ["levenshtein"], "integer": "exact_match", (): {"exact_match"}}
    leaves = {"c": {"d": "exact_match"}}
    both = {"levenshtein", "exact_match"}
    assert create_tree_metrics(schema, leaves, types) == {
        "a": {"levenshtein"},
        "b": {"exact_match"},
        "c": {"d": both, "e": {"exact_match"}},
    }
    assert create_tree_metrics(schema, leaves, types, exclusive=True)["c"]["d"] == {"exact_match"}
    with pytest.raises(ValueError, match="reserved"):
        create_tree_metrics({"a": "string"}, {"a": "f1_node"}, types)
    chosen, metrics = create_treeval_score_default_tree_metrics({"a": "string", "b": ["x", "y"], "c": [{"d": "boolean"}]})
    assert chosen == {"a": {"levenshtein"}, "b": {"exact_match"}, "c": {"d": {"boolean_accuracy"}}}
    assert metrics == {
        "exact_match": ExactMatch(), "boolean_accuracy": ExactMatch(name="boolean_accuracy"), "levenshtein": Levenshtein(),
    }  # fmt: skip


def test_files_stay_in_step(tmp_path: Path) -> None:
    """A file that cannot be read keeps its place as null with a reason; a byte order mark is no fault."""
    gold, got = tmp_path / "gold", tmp_path / "got"
    gold.mkdir()
    got.mkdir()
    for name in ("a", "b", "c", "d"):
        (gold / f"{name}.json").write_text(json.dumps({"x": 1}), encoding="utf-8")
    (got / "a.json").write_text('\ufeff{"x": 1}', encoding="utf-8")
    (got / "b.json").write_text('{"x": ', encoding="utf-8")
    (got / "d.json").write_bytes(b'{"x": "\xff"}')
    references = load_json_files(sorted(gold.iterdir()))
    predictions = load_json_files(map(str, got.iterdir()), ids=references.ids)
    assert references.ids == predictions.ids == ["a", "b", "c", "d"]
    assert predictions.values == [{"x": 1}, None, None, None]
    assert predictions.failures == {"b": "not JSON, line 1", "c": "no file", "d": "not UTF-8"}
    assert 0 < treeval_score(predictions.values, references.values, {"x": "integer"}).score < 1
    with pytest.raises(ValueError, match="two files have the id 'a'"):
        load_json_files([gold / "a.json", got / "a.json"])


class Ranged:
    """A metric object with a range, a direction and arrays of its own."""

    name, higher_is_better = "own", True

    def __init__(self, ends: tuple[float, float] = (0.0, 1.0), scores: Any = None) -> None:
        self.score_range, self._scores = ends, scores

    def scores(self, references: Any, predictions: Any) -> Any:
        """n values."""
        return np.ones(len(references)) if self._scores is None else self._scores

    def matrix(self, references: Any, predictions: Any) -> Any:
        """n x m values."""
        return np.ones((len(references), len(predictions))) if self._scores is None else self._scores

    def summary(self, references: Any, predictions: Any, mean: float | None) -> dict[str, float | None]:
        """The mean."""
        return {self.name: mean}


def lacks_extra(_: Any, __: Any) -> float:
    """A metric of which a package is missing."""
    raise MissingExtraError("own needs a package", extra="bertscore")


THREE = {"a": "string", "l": [{"b": "string"}], "o": {"c": "string"}}
WHOLE = {"a": "x", "l": [{"b": "y"}], "o": {"c": "z"}}


@pytest.mark.parametrize(("options", "message"), [
    ({"metrics": [Ranged((1.0, 0.0))]}, "metric 'own': score_range must be two finite numbers, low before high"),
    ({"metrics": [Ranged((0.0, 0.0))]}, "metric 'own': score_range must be"),
    ({"metrics": [Ranged((0.0, float("inf")))]}, "score_range"),
    ({"metrics": [Ranged((float("-inf"), 0.0))]}, "score_range"),
    ({"metrics": {"x": 5}}, "metric 'x' is neither a metric object nor a function"),
    ({"metrics": {"x": {"bleu": {"lower": 1}}}}, r"metric 'x': bleu: unknown option 'lower' \(did you mean 'lowercase'\?\)"),
    ({"metrics": {"x": {}}}, r"metric 'x': a metric is a name, or one name with its options \(\{f1"),
    ({"types_metrics": {"string": 5}}, r"types_metrics\['string'\] must be a metric name or a list of them"),
    ({"types_metrics": {"string": [5]}}, r"types_metrics\['string'\] must be"),
    ({"types_metrics": {"string": {"f1": 1}}}, r"types_metrics\['string'\] must be"),
    ({"types_metrics": {"string": ["f1", "f1_leaf"]}}, r"types_metrics\['string'\]: 'f1_leaf' is a reserved name"),
    ({"types_metrics": {"string": []}}, "no metric for the leaf a of type 'string': name one in types_metrics or leaves_metrics$"),
    ({"leaves_metrics": {"l": {"b": "nope"}}}, "leaves_metrics: unknown metric 'nope'"),
    ({"leaves_metrics": 5}, "leaves_metrics at the top must be an object"),
    ({"leaves_metrics": {"o": 5}}, "leaves_metrics at o must be an object"),
    ({"leaves_metrics": {"o": {"d": "f1"}}}, "leaves_metrics names o.d, which the schema lacks; known: c"),
    ({"leaves_metrics": {"l": [{"d": "f1"}]}}, "leaves_metrics names l.d"),
    ({"leaves_metrics": {"a": 5}}, "leaves_metrics at a must be a metric name or a list"),
    ({"leaves_metrics": {"l": [{"b": "f1"}, {"b": "f1"}]}}, "leaves_metrics at l must be an object"),
    ({"types_metrics": {"string": "ter"}}, "the metric 'ter' has no bounds"),
])  # fmt: skip
def test_metrics_that_cannot_be_used(options: dict[str, Any], message: str) -> None:
    """What is wrong, where it was written, and the closest name."""
    with pytest.raises(ValueError, match=f"{message}"):
        treeval_score([WHOLE], [WHOLE], THREE, **options)


@pytest.mark.parametrize(("metric", "message"), [
    (Ranged(scores=np.ones((1, 2))), "metric own: matrix gave an array of shape (1, 2), expected (1, 1)"),
    (Ranged(scores=[[float("nan")]]), "metric own gave nan, expected a number"),
    (lacks_extra, "metric own raised MissingExtraError at test_treeval.py"),
    (lambda *_: "x", "metric own gave a text, expected a number"), (Ranged(scores=[["x"]]), "metric own raised ValueError"),
])  # fmt: skip
def test_metrics_that_fail(metric: Any, message: str) -> None:
    """A wrong shape, NaN, a value that is no number and an exception are faults that name the metric."""
    with pytest.raises(FaultError) as raised:
        treeval_score([WHOLE], [WHOLE], {"l": [{"b": "string"}]}, metrics={"own": metric}, types_metrics={"string": "own"})
    assert raised.value.fault.code == "SCORER_ERROR"
    assert raised.value.fault.detail.startswith(message) or message.endswith("a number")


def test_a_metric_that_needs_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a fault of its own, with the line that installs it."""
    for name in ("torch", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    metrics = {"near": {"bertscore": {"model": str(tmp_path)}}}
    with pytest.raises(FaultError) as raised:
        treeval_score([{"a": "x"}], [{"a": "y"}], {"a": "string"}, metrics=metrics, types_metrics={"string": "near"})
    assert (raised.value.fault.code, raised.value.fault.detail) == (
        "NEEDS_EXTRA", f"bertscore needs transformers and torch: {extra_line('bertscore')}",
    )  # fmt: skip


def test_ranges_and_directions_of_metrics() -> None:
    """A value counts by its place in the range, from its better end; outside it is clipped; a pair without a value has the worst."""
    for ends, better, value, expected in (
        ((0, 10), True, 4, 0.4), ((0, 10), False, 4, 0.6), ((-1, 1), True, 0, 0.5), ((0, 10), True, 12, 1), ((0, 10), False, -3, 1),
        ((0, 10), False, None, 0), ((2, 4), True, None, 0),
    ):  # fmt: skip
        metric = PairMetric(name="own", function=lambda *_, value=value: value, score_range=ends, higher_is_better=better)
        result = treeval_score([{"a": "x"}], [{"a": "y"}], {"a": "string"}, metrics=[metric], types_metrics={"string": "own"})
        assert result.score == pytest.approx(expected), (ends, better, value)
        assert result.tree["a"]["own"]["own"] == (value if value is not None else ends[0 if better else 1])
        listed = treeval_score([{"a": ["x"]}], [{"a": ["y"]}], {"a": ["string"]}, metrics=[metric], types_metrics={"string": "own"})
        assert listed.score == pytest.approx(expected)
    for ends, value, clipped, whole in (((0, 1), 1.5, 1, 1.5), ((0, 1), -0.5, 0, -0.5), ((0, 10), 4, 0.4, 0.4), ((0, 10), 12, 1, 1)):
        metric = PairMetric(name="own", function=lambda *_: 0.0, score_range=ends)
        assert (normalise(metric, value), normalise(metric, value, clip=False)) == (clipped, whole)
    high = PairMetric(name="own", function=lambda *_: 1.5)
    options = {"metrics": [high], "types_metrics": {"string": "own"}}
    scores = [treeval_score([{"a": "x"}], [{"a": "y"}], {"a": "string"}, compat=compat, **options).score for compat in (False, True)]
    assert scores == [1, 1.5]

    class Picky(Ranged):
        def matrix(self, references: Any, predictions: Any) -> Any:
            assert references
            assert predictions
            return super().matrix(references, predictions)

    for answer, gold, expected in (([], ["x"], 0), (["x"], [], 0), ([], [], 1), (["x"], ["x"], 1)):
        options = {"metrics": [Picky()], "types_metrics": {"string": "own"}}
        assert treeval_score([{"l": answer}], [{"l": gold}], {"l": ["string"]}, **options).score == expected
    calls: list[Any] = []
    counted = PairMetric(name="own", function=lambda p, r: calls.append((p, r)) or 1.0)
    assert counted.matrix(["a", "a", None], ["a", 1, True, 1]).tolist() == [[1] * 4, [1] * 4, [0] * 4]
    assert calls == [("a", "a"), (1, "a"), (True, "a")]
    assert counted.scores([], []).shape == Levenshtein().scores([], []).shape == (0,)
    assert (counted.matrix([], ["a"]).shape, Levenshtein().matrix([], ["a"]).shape, ExactMatch().matrix(["a"], []).shape) == (
        (0, 1),
        (0, 1),
        (1, 0),
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [({"own": 0.5, "score": 1}, 0.5), ({"score": 0.25, "x": 1}, 0.25), ({"x": 0.75}, 0.75), ({"x": 1, "y": 0}, 0),
     ({"x": "1"}, 0), (None, 0), (1, 1)],
)  # fmt: skip
def test_what_a_metric_of_a_corpus_gives(given: Any, expected: float) -> None:
    """The number under its name, under `score`, or the only one; without one the worst. Nulls and containers are empty texts."""
    asked: list[Any] = []

    class Corpus:
        name = "own"

        def compute(self, predictions: list[Any], references: list[Any]) -> Any:
            asked.append((predictions, references))
            return given

    result = treeval_score(
        [{"a": "x"}, {"a": ["q"]}], [{"a": "y"}, {"a": "z"}], {"a": "string"}, metrics=[Corpus()], types_metrics={"string": "own"}
    )
    assert result.per_metric["own"] == expected
    assert (["x", ""], ["y", "z"]) in asked
    assert [row.score for row in result.rows] == [expected, 0]
    given = {"own": "high"}
    with pytest.raises(FaultError, match="metric own"):
        treeval_score([{"a": "x"}], [{"a": "x"}], {"a": "string"}, metrics=[Corpus()], types_metrics={"string": "own"})


@pytest.mark.parametrize(("reference", "message"), [
    (5, "reference 1 must be an object, found int"), (None, "reference 1 must be an object, found NoneType"),
    ({"o": []}, "reference 1: o must be an object, found list"),
    ({"a": {}}, "reference 1: a must be a plain value, found dict; name its parts in the schema, or leave it out with x-eval-skip"),
    ({"a": ["x"]}, "reference 1: a must be a plain value, found list"), ({"l": {}}, "reference 1: l must be a list, found dict"),
    ({"l": [{}, 5]}, r"reference 1: l\[1\] must be an object, found int"),
    ({"l": [None, {"b": [1]}]}, r"reference 1: l\[1\].b must be a plain value, found list"),
    ({"o": {"c": {}}}, r"reference 1: o.c must be a plain value"),
])  # fmt: skip
def test_references_of_another_shape(reference: Any, message: str) -> None:
    """The first such value is named by its record and path; null and what is left out are fine."""
    with pytest.raises(ValueError, match=f"^{message}"):
        treeval_score([WHOLE] * 2, [WHOLE, reference], THREE)
    assert treeval_score([WHOLE] * 2, [WHOLE, {"a": None, "l": [None], "o": None}], THREE).score < 1


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """Each reason; ids may be given, and those of others are left out."""
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "bad.json").write_text('{"a": 1,\n\n "b"}')
    (tmp_path / "good.json").write_text("[1]")
    paths = {name: tmp_path / f"{name}.json" for name in ("deep", "bad", "good", "none")} | {"folder": tmp_path}
    found = load_json_files(paths)
    assert (found.ids, found.values) == (list(paths), [None, None, [1], None, None])
    assert found.failures == {
        "deep": "nested too deep", "bad": "not JSON, line 3", "none": "No such file or directory",
        "folder": "expected a file, found a folder",
    }  # fmt: skip
    assert load_json_files(paths, ids=["good", "other"]).failures == {"other": "no file"}
    result = treeval_score([{"a": 1, "z": 2}, {"a": "x"}], [{"a": 1}, {"a": 5}], {"a": "integer"})
    assert [row.flag for row in result.flagged_rows] == ["unknown key", "wrong type"]
    assert result.summary == {key: getattr(result, "score" if key == "treeval_score" else key) for key in result.summary}
    assert pickle.loads(pickle.dumps(result.rows)) == list(result.rows)
    assert result.rows != treeval_score([{"a": 1}], [{"a": 1}], {"a": "integer"}).rows
    assert aggregate_results_per_metric(result) == result.per_metric
    assert aggregate_results_per_leaf_type(result) == result.per_leaf_type


EITHER: dict[str, Any] = {"anyOf": [{"type": "number"}, {"type": "string"}]}


def test_numbers_of_all_kinds_score_as_under_type_number() -> None:
    """300 drawn pairs of integers and floats, alone and in a list; `types_metrics` for string holds unless the type has its own."""
    either, number = ({"type": "object", "properties": {"price": leaf}} for leaf in (EITHER, {"type": "number"}))
    drawn = random.Random(4)
    numbers = [drawn.choice([drawn.randrange(50), float(drawn.randrange(50)), drawn.randrange(500) / 10]) for _ in range(600)]
    gold, answers = ([{"price": number} for number in numbers[at::2]] for at in (0, 1))
    found = [[row.score for row in treeval_score(answers, gold, schema).rows] for schema in (either, number)]
    assert found[0] == found[1]
    assert {*found[0]} == {0, 1}
    lists = [{"type": "object", "properties": {"price": {"type": "array", "items": leaf}}} for leaf in (EITHER, {"type": "number"})]
    of_either, of_numbers = (score("tree_score", {"price": numbers[:20]}, gold={"price": numbers[20:40]}, schema=each) for each in lists)
    assert of_either.strict == of_numbers.strict
    for types, expected in ({"string": "exact_match"}, 0), ({"string": "exact_match", "number or string": "levenshtein"}, 1):
        assert score("tree_score", {"price": "5.0"}, gold={"price": "5"}, schema=either, types_metrics=types).strict == expected
    assert score("tree_score", {"price": "5.0"}, gold={"price": "5"}, schema={"price": "number or string"}).strict == 1


def test_bertscore_of_a_leaf_gets_its_options() -> None:
    """A metric with options, as Python or gold writes it, scores a leaf with them; its signature stands in the result's."""
    gold, found = [{"t": ["the big cat", "a dog"]}], [{"t": ["a dog", "the cat"]}]
    near = get_metric("bertscore", embedder=HashEmbedder(), precision_weight=None)
    assert pickle.loads(pickle.dumps(near)) == near
    result = treeval_score(found, gold, {"t": ["string"]}, metrics={"near": near}, types_metrics={"string": "near"})
    assert result.per_metric["near"] == pytest.approx((1 + near("the cat", "the big cat")) / 2)
    assert "near:bertscore|" in result.signature
    assert pickle.loads(pickle.dumps(near)).evaluate("a", "a") == pytest.approx(1)
    options = {"metrics": {"near": {"bertscore": {"model": "no/such/folder"}}}, "types_metrics": {"string": "near"}}
    with pytest.raises(FaultError, match="no local folder"):
        score("tree_score", found, gold=gold, schema={"t": ["string"]}, **options)
    lower = {"metrics": {"near": {"bleu": {"lowercase": True}}}, "types_metrics": {"string": "near"}}
    assert score("tree_score", [{"t": "A CAT"}], gold=[{"t": "a cat"}], schema={"t": "string"}, **lower).strict == pytest.approx(1)
    wrong = {"near": {"bertscore": {"modle": "x"}}}
    with pytest.raises(UsageError, match=r"metric 'near'.*unknown option 'modle'.*did you mean 'model'"):
        score("tree_score", found, gold=gold, schema={"t": ["string"]}, metrics=wrong, types_metrics={"string": "near"})
