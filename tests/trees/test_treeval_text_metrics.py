"""Metrics of the text room as leaf metrics of Treeval."""

import pytest

from evalsuite.metrics import METRICS, get_metric
from evalsuite.trees import treeval_score

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
    unbounded = next(name for name in METRICS if name not in ("composite", "llm_judge", "bertscore") and get_metric(name).high is None)
    with pytest.raises(ValueError, match="has no bounds"):
        treeval_score([{"a": "x"}], [{"a": "x"}], {"a": "string"}, types_metrics={"string": [unbounded]})
