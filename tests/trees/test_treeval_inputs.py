"""Metrics, the choice of metrics, files side by side, and the scorer over them."""

import json
import pickle
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalsuite.core.errors import FaultError, MissingExtraError
from evalsuite.core.runtime import extra_line
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
from evalsuite.trees.treeval_metrics import ExactMatch, Levenshtein, nearly_equal, normalise

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


def test_the_default_metrics_are_the_sound_ones() -> None:
    """By the types of the schema, each with its object."""
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


SCHEMA = {"a": "string", "l": [{"b": "string"}], "o": {"c": "string"}}
WHOLE = {"a": "x", "l": [{"b": "y"}], "o": {"c": "z"}}


@pytest.mark.parametrize(
    ("options", "message"),
    [
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
    ],
)  # fmt: skip
def test_metrics_that_cannot_be_used(options: dict[str, Any], message: str) -> None:
    """What is wrong, where it was written, and the closest name."""
    with pytest.raises(ValueError, match=f"{message}"):
        treeval_score([WHOLE], [WHOLE], SCHEMA, **options)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (Ranged(scores=np.ones((1, 2))), "metric own: matrix gave an array of shape (1, 2), expected (1, 1)"),
        (Ranged(scores=[[float("nan")]]), "metric own gave nan, expected a number"),
        (lacks_extra, "metric own raised MissingExtraError at test_treeval_inputs.py"),
        (lambda *_: "x", "metric own gave a text, expected a number"), (Ranged(scores=[["x"]]), "metric own raised ValueError"),
    ],
)  # fmt: skip
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

    for answer, gold, score in (([], ["x"], 0), (["x"], [], 0), ([], [], 1), (["x"], ["x"], 1)):
        options = {"metrics": [Picky()], "types_metrics": {"string": "own"}}
        assert treeval_score([{"l": answer}], [{"l": gold}], {"l": ["string"]}, **options).score == score
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


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (5, "reference 1 must be an object, found int"), (None, "reference 1 must be an object, found NoneType"),
        ({"o": []}, "reference 1: o must be an object, found list"),
        ({"a": {}}, "reference 1: a must be a plain value, found dict; name its parts in the schema, or leave it out with x-eval-skip"),
        ({"a": ["x"]}, "reference 1: a must be a plain value, found list"), ({"l": {}}, "reference 1: l must be a list, found dict"),
        ({"l": [{}, 5]}, r"reference 1: l\[1\] must be an object, found int"),
        ({"l": [None, {"b": [1]}]}, r"reference 1: l\[1\].b must be a plain value, found list"),
        ({"o": {"c": {}}}, r"reference 1: o.c must be a plain value"),
    ],
)  # fmt: skip
def test_references_of_another_shape(reference: Any, message: str) -> None:
    """The first such value is named by its record and path; null and what is left out are fine."""
    with pytest.raises(ValueError, match=f"^{message}"):
        treeval_score([WHOLE] * 2, [WHOLE, reference], SCHEMA)
    assert treeval_score([WHOLE] * 2, [WHOLE, {"a": None, "l": [None], "o": None}], SCHEMA).score < 1


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
