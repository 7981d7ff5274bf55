"""Metrics, the choice of metrics, files side by side, and the scorer over them."""

import json
from pathlib import Path

import numpy as np
import pytest

from evalsuite.scorers.tree_scorers import tree_score
from evalsuite.trees import PairMetric, create_tree_metrics, load_json_files, treeval_score
from evalsuite.trees.json_schema import join
from evalsuite.trees.treeval_metrics import ExactMatch, Levenshtein, nearly_equal

VALUES = [None, True, False, 0, 1, 2, 1.0, 1.00001, 1e6, 1000000.5, "", "1", "ab", 2**53, 2**53 + 1, 10**400, float("nan"), float("inf")]


def test_matrices_agree_with_pairs() -> None:
    """The matrix of a metric holds what it says of each pair."""
    for metric in (
        ExactMatch(), ExactMatch(compat=True), Levenshtein(), Levenshtein(compat=True),
        PairMetric(name="same", function=lambda p, r: float(p == r)),
    ):  # fmt: skip
        found = metric.matrix(VALUES, VALUES)
        by_pair = [metric.scores([reference] * len(VALUES), VALUES) for reference in VALUES]
        assert np.array_equal(found, np.array(by_pair), equal_nan=True), metric.name
    near = ExactMatch(compat=True).matrix(VALUES, VALUES)
    assert near.tolist() == [[float(nearly_equal(r, p)) for p in VALUES] for r in VALUES]


@pytest.mark.parametrize(
    ("reference", "prediction", "near", "equal"),
    [
        (1, True, True, False), (1, 1.0, True, True), (1000000.0, 1000009.5, True, False), (1000000.0, 1000011.0, False, False),
        (2**53, 2**53 + 1, False, False), (2.0**53, 2**53 + 1, True, False), ("1", 1, False, False), (None, None, True, True),
        (None, 0, False, False), (10**400, 1.0, False, False), (float("nan"), float("nan"), False, False), (True, True, True, True),
        (0.1 + 0.2, 0.3, True, False), ("caf\u00e9", "cafe\u0301", False, True),
    ],
)  # fmt: skip
def test_exact_match(reference: object, prediction: object, near: bool, equal: bool) -> None:
    """Numbers are equal in value alone, and never a text or boolean; the reference has a tolerance of 1e-5 and takes true for 1."""
    assert nearly_equal(reference, prediction) is near
    assert bool(ExactMatch().scores([reference], [prediction])[0]) is equal
    scored = tree_score({"a": prediction}, gold={"a": reference}, schema={"a": "number"})
    assert scored.strict == float(equal)


@pytest.mark.parametrize(("reference", "prediction"), [("5", 5), ("True", True), ("1", True), (5, "5"), ("None", None)])
def test_a_text_is_no_number(reference: object, prediction: object) -> None:
    """Likeness is one of texts; the reference prints whatever else there is."""
    assert Levenshtein().scores([reference], [prediction])[0] == 0
    assert Levenshtein().matrix([reference, "5"], [prediction, "5"])[0, 0] == 0


def test_create_tree_metrics() -> None:
    """Leaf entries add to the type's metrics, or replace them; arrays take the metrics of their items."""
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


def test_own_metric() -> None:
    """A function (prediction, reference) -> number is a metric by its name; results say which metrics were used."""
    found = treeval_score(
        [{"a": "abcd"}],
        [{"a": "ab"}],
        {"a": "string"},
        metrics={"share": lambda p, r: len(r) / len(p)},
        types_metrics={"string": ["share"]},
    )
    assert found.score == 0.5
    assert "string=share" in found.signature
    assert "string=levenshtein" in treeval_score([{"a": "x"}], [{"a": "x"}], {"a": "string"}).signature


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


def test_what_is_said_of_fields() -> None:
    """Items of a list are one field, and each confusion has its number; keys that are no names are quoted in a path."""
    schema = {"a": ["string"], "b": "integer"}
    details = tree_score([{"a": ["x", "q"], "b": 1}], gold=[{"a": ["x", "z"], "b": 2}], schema=schema).details
    assert {field["path"] for field in details["fields"]} == {"a[]", "b"}
    assert details["confusions"] == [
        {"path": path, "status": "mismatch", "expected": gold, "got": got, "n": 1} for path, gold, got in (("a[]", "z", "q"), ("b", 2, 1))
    ]
    assert [join(*parts) for parts in (("a", "b"), ("", "b"), ("a", "b.c"), ("", "b c"))] == ["a.b", "b", "a['b.c']", "['b c']"]


def test_scorer() -> None:
    """One record or several; where the reference raises official is 0 with the reason, strict stands."""
    schema = {"a": ["string"], "b": "integer"}
    right = tree_score({"a": ["x", "y"], "b": 1}, gold={"a": ["y", "x"], "b": 1}, schema=schema)
    assert (right.official, right.strict, right.flip) == (1, 1, "")
    empty = tree_score({"a": [], "b": 1}, gold={"a": [], "b": 1}, schema=schema)
    assert (empty.official, empty.strict, empty.flip) == (0, 1, "the reference raises")
    assert "hang" in empty.reason
    short = tree_score([{"a": ["x"], "b": 1}], gold=[{"a": ["x"], "b": 1}, {"a": ["z"], "b": 2}], schema=schema)
    assert short.strict is not None
    assert 0 < short.strict < 1
    for junk in (None, "text", 3, [], {}, [[]], float("nan"), {"a": {"b": 1}, "b": [1]}):
        found = tree_score(junk, gold={"a": ["x"], "b": 1}, schema=schema)
        assert (found.official, found.strict) == (0, 0)
        assert found.reason
        assert found.strict_reason
        json.dumps(found.details)


def test_official_items_are_aligned_by_their_lists() -> None:
    """Items with lists of several metrics inside are aligned by what these lists add up to."""
    gold, answer = ([{"l": [{"t": [text]} for text in texts]}] for texts in (("ab", "cd"), ("cd", "ab")))
    both = {"string": ["levenshtein", "exact_match"]}
    assert treeval_score(answer, gold, {"l": [{"t": ["string"]}]}, types_metrics=both, compat=True).score == 1
