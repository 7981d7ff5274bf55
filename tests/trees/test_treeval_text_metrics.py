"""Metrics of the text room as leaf metrics of Treeval."""

import pickle
from typing import Any

import pytest

from evalsuite import score
from evalsuite.core.errors import FaultError, UsageError
from evalsuite.scorers.metrics import METRICS, get_metric
from evalsuite.trees import treeval_score
from tests.scorers.metrics.hash_embedder import HashEmbedder

BOUNDED = [
    name for name in ("f1", "bleu", "chrf", "rouge1", "rougeL", "jaro_winkler", "word_count_match") if get_metric(name).high is not None
]


@pytest.mark.parametrize("name", BOUNDED)
def test_a_text_metric_scores_a_leaf(name: str) -> None:
    """An exact copy is 1, and a near one the metric's own value on [0, 1]."""
    schema = {"title": "string"}
    same = treeval_score([{"title": "the big cat"}], [{"title": "the big cat"}], schema, types_metrics={"string": [name]})
    near = treeval_score([{"title": "the cat"}], [{"title": "the big cat"}], schema, types_metrics={"string": [name]})
    metric = get_metric(name)
    assert same.score == pytest.approx(1)
    assert near.score == pytest.approx(metric.unit(metric.evaluate("the cat", "the big cat")))


def test_metrics_that_cannot_score_a_leaf_say_so() -> None:
    """An unknown name is met with the near one, a metric without bounds with what it lacks."""
    with pytest.raises(ValueError, match="did you mean 'bleu'"):
        treeval_score([{"a": "x"}], [{"a": "x"}], {"a": "string"}, types_metrics={"string": ["blue"]})
    unbounded = next(name for name in METRICS if name not in ("composite", "llm_judge") and get_metric(name).high is None)
    with pytest.raises(ValueError, match="has no bounds"):
        treeval_score([{"a": "x"}], [{"a": "x"}], {"a": "string"}, types_metrics={"string": [unbounded]})


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


class Shares:
    """A metric of a corpus: the share of characters that all answers have of all references."""

    name = "shares"

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def compute(self, predictions: list[Any], references: list[Any]) -> dict[str, Any]:
        """{name: share}."""
        self.sizes.append(len(predictions))
        most = sum(max(len(p), len(r)) for p, r in zip(predictions, references, strict=True))
        return {"shares": sum(min(len(p), len(r)) for p, r in zip(predictions, references, strict=True)) / most, "other": 5}


def test_a_metric_of_a_corpus_is_asked_for_all_leaves_of_a_type() -> None:
    """`compute(predictions=, references=)` gets the pairs of a leaf, and of all leaves of a type: the whole is no mean of means."""
    gold = [{"a": "x" * 90, "b": {"c": "y"}}, {"a": "x" * 5, "b": {"c": "y" * 4}}]
    found = [{"a": "x" * 45, "b": {"c": "y"}}, {"a": "x" * 5, "b": {"c": "y" * 4}}]
    metric = Shares()
    result = treeval_score(found, gold, {"a": "string", "b": {"c": "string"}}, metrics=[metric], types_metrics={"string": "shares"})
    assert result.tree["a"]["shares"]["shares"] == pytest.approx(50 / 95)
    assert result.tree["b"]["c"]["shares"]["shares"] == 1
    assert result.per_metric["shares"] == result.per_leaf_type["string"]["shares"] == pytest.approx(55 / 100)
    assert result.score == pytest.approx(0.55)
    assert max(metric.sizes) == 4
    lists = treeval_score(
        [{"l": ["bb", "a"]}], [{"l": ["a", "bb"]}], {"l": ["string"]}, metrics=[metric], types_metrics={"string": "shares"}
    )
    assert lists.score == 1


def test_a_metric_of_a_corpus_that_gives_nothing_usable_is_a_fault() -> None:
    """What `compute` gives has to hold a number under the metric's name."""

    class Odd:
        name = "odd"

        def compute(self, predictions: list[Any], references: list[Any]) -> Any:
            """Two numbers, neither of them named."""
            return {"p": 1.0, "r": "0.5"} if len(predictions) > 1 else {"odd": "high"}

    with pytest.raises(FaultError, match="metric odd"):
        treeval_score([{"a": "x"}], [{"a": "x"}], {"a": "string"}, metrics=[Odd()], types_metrics={"string": "odd"})
