"""Metrics built by a chain and out of plain dicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import yaml

from evalsuite.core.import_ref import ImportRef
from evalsuite.core.metric import Measure, Metric, MetricError
from evalsuite.scorers.metrics import METRICS, metric_from
from evalsuite.scorers.metrics.chain import MetricBuilder
from evalsuite.scorers.metrics.short_answers import TokenF1


@dataclass(frozen=True, kw_only=True)
class FixedJudge(Metric):
    """A stand-in for the judge: says 0.8 whatever it sees."""

    name: ClassVar[str] = "llm_judge"

    model: str

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """0.8."""
        return Measure(value=0.8, details={"model": self.model})


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge's place in the table taken by the stand-in."""
    monkeypatch.setitem(METRICS, "llm_judge", ImportRef(f"{__name__}:FixedJudge"))


def half(prediction: Any, reference: Any) -> float:
    """A function of one's own."""
    return 0.5


@pytest.mark.usefixtures("judge")
def test_chain_and_yaml_build_the_same() -> None:
    """The chain of the issue and the same in YAML are equal metrics with one value."""
    chained = MetricBuilder().exact_match(weight=0.3, ignore_case=True).f1(weight=0.3).llm_judge(weight=0.4, model="m").build()
    text = """
    composite:
      parts:
        - {exact_match: {ignore_case: true}, weight: 0.3}
        - {f1: {}, weight: 0.3}
        - {llm_judge: {model: m}, weight: 0.4}
    """
    assert metric_from(yaml.safe_load(text)) == chained
    assert chained("paris", "Paris") == pytest.approx(0.3 + 0.3 + 0.4 * 0.8)
    assert chained.detailed_evaluate("x", "y").details["parts"]["llm_judge"]["details"] == {"model": "m"}


def test_functions_take_part_under_their_own_name() -> None:
    """A custom part is shown as its function is named; weights need not sum to 1."""
    metric = MetricBuilder().f1(weight=3).custom(half).rouge(kind="rouge1").bleu().add("ter", scale=(0, 100)).build(aggregation="median")
    found = metric.detailed_evaluate("a b", "a b")
    assert list(found.details["parts"]) == ["f1", "half", "rouge1", "bleu", "ter"]
    assert found.value == 1


def test_one_part_is_that_metric_itself() -> None:
    """A builder with one metric gives it unwrapped; with none it is an error."""
    assert MetricBuilder().f1(variant="multiset").build() == TokenF1(variant="multiset")
    with pytest.raises(MetricError, match="no metric"):
        MetricBuilder().build()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"f1": {}, "bleu": {}}, "one name"),
        ({"f1": ["x"]}, "must be an object"),
        ({"composite": {"parts": []}}, "nothing to combine"),
        ({"composite": {"parts": "f1"}}, "must be a list"),
        ({"composite": {"parts": [3]}}, "name or an object"),
        ({"composite": {"parts": [{"f1": {}, "wieght": 2}]}}, "names one metric, found 2"),
        ({"composite": {"parts": [{"weight": 2}]}}, "found 0: none"),
        ({"composite": {"parts": [{"f1": {}, "weight": "2"}]}}, "weight must be a number"),
        ({"composite": {"parts": [{"f1": {}, "scale": [1]}]}}, "two numbers"),
        ({"composite": {"parts": ["f1"], "aggregation": "mode"}}, "unknown aggregation"),
        ({"composite": {"parts": ["f1"], "on_missing": "guess"}}, "on_missing"),
        ({"composite": {"parts": ["f1", {"bleu": {}, "weight": -1}]}}, "at least 0"),
        ({"composite": {}}, "parts"),
    ],
)
def test_specs_nobody_can_mean_are_refused(spec: Any, message: str) -> None:
    """A wrong spec is an error that names its word."""
    with pytest.raises(MetricError, match=message):
        metric_from(spec)
