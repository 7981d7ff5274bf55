"""Metrics of the text room as leaf metrics of Treeval."""

import pickle
from typing import Any

import pytest

from evalsuite import score
from evalsuite.core.errors import FaultError, UsageError
from evalsuite.scorers.metrics import get_metric
from evalsuite.trees import treeval_score
from tests.scorers.metrics.hash_embedder import HashEmbedder


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


def test_a_metric_of_a_corpus_that_gives_nothing_usable_is_a_fault() -> None:
    """What `compute` gives has to hold a number under the metric's name."""

    class Odd:
        name = "odd"

        def compute(self, predictions: list[Any], references: list[Any]) -> Any:
            """Two numbers, neither of them named."""
            return {"p": 1.0, "r": "0.5"} if len(predictions) > 1 else {"odd": "high"}

    with pytest.raises(FaultError, match="metric odd"):
        treeval_score([{"a": "x"}], [{"a": "x"}], {"a": "string"}, metrics=[Odd()], types_metrics={"string": "odd"})
