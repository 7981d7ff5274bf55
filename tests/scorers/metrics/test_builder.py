"""Metrics built by a chain and out of plain dicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import yaml

from evalsuite.core.import_ref import ImportRef
from evalsuite.core.metric import Measure, Metric, MetricError
from evalsuite.scorers import SCORERS
from evalsuite.scorers.metrics import METRICS, metric_from, runs_programs
from evalsuite.scorers.metrics.chain import Custom, MetricBuilder
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
    assert [part["weight"] for part in found.details["parts"].values()] == [3, 1, 1, 1, 1]


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
        ({"composite": {"parts": ["f1", {"bleu": {}, "weight": -1}]}}, "from 0"),
        ({"composite": {}}, "parts"),
    ],
)
def test_specs_nobody_can_mean_are_refused(spec: Any, message: str) -> None:
    """A wrong spec is an error that names its word."""
    with pytest.raises(MetricError, match=message):
        metric_from(spec)


def test_a_metric_by_its_name_alone() -> None:
    """As with no options; anything else than one name is refused."""
    assert metric_from("f1") == metric_from({"f1": {}}) == TokenF1()
    for spec in ({}, {"f1": {}, "bleu": {}}, ["f1"], 3):
        with pytest.raises(MetricError, match="a metric is a name, or one name with its options"):
            metric_from(spec)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("part", "why"),
    [
        ({"f1": {}, "scale": [0]}, "a scale is two numbers [low, high], found [0]"),
        ({"f1": {}, "scale": [0, "1"]}, "a scale is two numbers [low, high], found [0, '1']"),
        ({"f1": {}, "scale": 1}, "a scale is two numbers [low, high], found 1"),
        ({"f1": {}, "weight": True}, "a weight must be a number, found True"),
        ({"f1": {}, "weight": "1"}, "a weight must be a number, found '1'"),
        ({"f1": {}, "bleu": {}}, "a part names one metric, found 2: f1, bleu"),
        ({"weight": 1}, "a part names one metric, found 0: none"),
        (7, "a part is a name or an object, found int"),
    ],
)
def test_parts_that_are_none(part: Any, why: str) -> None:
    """Each mistake in a part is named with what was written; a judge is asked by none of them."""
    with pytest.raises(MetricError) as refused:
        metric_from({"composite": {"parts": [part]}})
    assert refused.value.message == why
    entry = SCORERS.load("composite")
    assert [problem.message for problem in entry.problems({"gold": "x", "parts": [part]})] == [why]
    assert entry.asks_judge({"gold": "x", "parts": [part]}) is entry.asks_judge({"gold": "x", "parts": "f1"}) is False
    assert entry.asks_judge({"gold": "x", "parts": ["f1", "llm_judge"]}) is True
    with pytest.raises(TypeError, match="composite has no parameter odd"):
        entry.function("x", gold="y", parts=["f1"], odd=1)


def test_which_checks_run_programs() -> None:
    """By the name of the scorer or of any part; what gold's text says does not count."""
    program = "python_unit_testing"
    for spec in (
        program,
        {program: {}},
        ["f1", program],
        {"composite": {"parts": ["f1", {program: {}}]}},
        ("composite", {"parts": [program]}),
    ):
        assert runs_programs(spec) is True
    for spec in ("f1", {}, [], None, 3, {"composite": {"parts": ["f1"], "gold": program}}):
        assert runs_programs(spec) is False


def test_a_function_gets_the_text_and_all_references() -> None:
    """None where there is no reference; what it gives is a share, or nothing."""
    seen: list[Any] = []
    own = Custom(function=lambda *pair: seen.append(pair) or (0.5 if pair[1] else None))
    assert (own.measure("a", ["b", "c"]).value, own.measure("a", []).value) == (0.5, None)
    assert seen == [("a", ["b", "c"]), ("a", None)]
    assert own.needs_reference is False
    assert Custom(function=half).signature.startswith(f"custom|function:{__name__}.half|version:")
    for value, is_fine in ((0, True), (1, True), (-0.1, False), (1.1, False), (float("nan"), False), ("1", False), (float("inf"), False)):
        metric = Custom(function=lambda *_, value=value: value)
        if is_fine:
            assert metric.detailed_evaluate("a").value == value
        else:
            with pytest.raises(MetricError, match="which is no number in"):
                metric.detailed_evaluate("a")
