"""What every metric has, in batches, aggregates, records, ranges, signatures; metrics built by a chain and of plain dicts; composites."""

import math
import pickle
import threading
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, fields
from typing import Any, ClassVar

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.core.errors import EvalsuiteError, FaultError, MissingExtraError
from evalsuite.core.import_ref import ImportRef
from evalsuite.core.metric import Measure, Metric, MetricError, aggregate, text_of
from evalsuite.core.types import Fault
from evalsuite.scorers import SCORERS
from evalsuite.scorers.metrics import METRICS, get_metric, metric_from, runs_programs
from evalsuite.scorers.metrics.chain import Custom, MetricBuilder
from evalsuite.scorers.metrics.composite import AGGREGATIONS, Composite, Part, combine
from evalsuite.scorers.metrics.short_answers import TokenF1
from tests.properties import examples
from tests.scorers.metrics.hash_embedder import HashEmbedder

OPTIONS: dict[str, dict[str, Any]] = {"composite": {"parts": ["f1", "exact_match"]}, "bertscore": {"embedder": HashEmbedder()}}
# Run by a process each, or asked of a model.
SLOW = {"python_unit_testing", "pass_at_k", "llm_judge"}
NAMES = sorted(set(METRICS) - SLOW)
SYMMETRIC = ("exact_match", "f1", "rouge1", "rouge2", "rougeL", "levenshtein", "levenshtein_distance", "jaro_winkler", "bertscore")
TEXT = st.text(alphabet=st.sampled_from("abc the,.!?\n éΣ中1"), max_size=30)


def made(name: str) -> Metric:
    """A metric with the options it needs."""
    return get_metric(name, **OPTIONS.get(name, {}))


@pytest.mark.parametrize("name", [name for name in METRICS if name != "llm_judge"])
def test_it_describes_itself(name: str) -> None:
    """Each metric has its table's name, a description, a direction, a picklable form, and a signature with every option and a version."""
    metric = made(name)
    assert metric.name == name
    assert metric.description
    assert metric.direction in ("higher", "lower")
    assert pickle.loads(pickle.dumps(metric)) == metric
    parts = dict(part.split(":", 1) for part in metric.signature.split("|")[1:])
    assert metric.signature.split("|")[0] == name
    assert set(parts) >= {field.name for field in fields(metric)} - {"field"} | {"version"}
    # Only one that waits for a judge measures several texts at once.
    assert name in SLOW or metric.at_once == 1


@pytest.mark.parametrize("name", NAMES)
@examples(40)
@given(prediction=TEXT, reference=TEXT)
def test_values_stay_in_range(name: str, prediction: str, reference: str) -> None:
    """A value lies in the declared range, and on [0, 1] once mapped; None only with a reason."""
    metric = made(name)
    measure = metric.detailed_evaluate(prediction, reference)
    if measure.value is None:
        assert measure.reason
        return
    low, high = metric.low, metric.high
    assert math.isfinite(measure.value)
    assert low is None or measure.value >= low - 1e-9
    assert high is None or measure.value <= high + 1e-9
    unit = metric.unit(measure.value)
    assert unit is None if low is None or high is None else unit is not None and 0 <= unit <= 1


@pytest.mark.parametrize("name", SYMMETRIC)
@examples(40)
@given(a=TEXT, b=TEXT)
def test_swapping_the_texts_changes_nothing(name: str, a: str, b: str) -> None:
    """A symmetric measure is symmetric; bertscore with equal weights."""
    metric = get_metric(name, precision_weight=0.5, embedder=HashEmbedder()) if name == "bertscore" else made(name)
    assert metric(a, b) == pytest.approx(metric(b, a))


@pytest.mark.parametrize("name", [name for name in NAMES if made(name).needs_reference])
def test_a_text_is_like_itself(name: str) -> None:
    """A text against itself is the best of the scale, among several references too; without a reference there is an error."""
    metric = made(name)
    text = "The quick brown fox jumps over the lazy dog"
    best = metric(text, text)
    assert best == pytest.approx((metric.high if metric.direction == "higher" else metric.low) or 0)
    assert metric(text, ["nothing of this kind", text]) == best
    with pytest.raises(MetricError, match="needs a reference"):
        metric.evaluate(text, [])


def test_aggregate_leaves_nulls_out_and_counts_them() -> None:
    """Mean, both deviations and the rest are over what is there; one value has no deviation, none is an error."""
    found = aggregate([1.0, None, 0.0, 0.5])
    assert astuple(found) == (0.5, 0.5, pytest.approx(1 / 6**0.5), 0.0, 1.0, 3, 0.5, 1)
    assert (aggregate([0.3]).std, aggregate([0.1, 0.3]).std) == (None, pytest.approx(0.02**0.5))
    with pytest.raises(MetricError, match="no scores"):
        aggregate([None])


@dataclass(frozen=True, kw_only=True)
class Stated(Metric):
    """A metric on [0, 10] with a stated value."""

    name = "stated"
    low, high = 0.0, 10.0
    needs_reference = False
    told: Measure = field(default_factory=lambda: Measure(value=None))

    def measure(self, prediction: str, references: Sequence[str]) -> Measure:
        """The stated one."""
        return self.told


# The same on [0, 1]; one of which less is better, and one without an upper end too.
Share, Falling = type("Share", (Stated,), {"high": 1.0}), type("Falling", (Stated,), {"direction": "lower"})
Endless = type("Endless", (Falling,), {"high": None})


@pytest.mark.parametrize(("kind", "value", "why", "score", "reason"), [
    (Stated, None, "no words", None, "stated is undefined: no words"), (Stated, 0, "nothing", 0.0, "nothing"),
    (Stated, 1, "one of ten", 0.1, "one of ten"), (Stated, 5.0, "half", 0.5, "half: stated 5"),
    (Stated, 2.34567, "", 0.234567, "stated 2.346 counts 0.2346"), (Stated, 12.0, "", 1.0, "stated 12 counts 1"),
    (Share, 0.25, "", 0.25, "stated 0.25"), (Falling, 2.0, "", 0.8, "stated 2 counts 0.8, less is better"),
    (Falling, -1.0, "", 1.0, "stated -1 counts 1, less is better"), (Endless, 7.0, "", None, "stated 7 on its own scale, less is better"),
])  # fmt: skip
def test_the_reason_of_a_score(kind: type[Stated], value: float | None, why: str, score: float | None, reason: str) -> None:
    """What was measured and what it counts; on [0, 1] they are one; a reason of the metric's own comes first, alone at 0 and 1."""
    found = kind(told=Measure(value=value, reason=why, details={"n": 1})).score("text", None)
    assert (found.official, found.strict, found.reason) == (pytest.approx(score), pytest.approx(score), reason)
    assert found.fault == found.strict_fault == (Fault(code="UNDEFINED", detail=reason) if value is None else None)
    assert found.details == {"raw": value, "n": 1}


def test_a_batch_must_be_as_long_as_its_references() -> None:
    """Values come in order; unequal lengths are an error and never cut short."""
    metric = get_metric("exact_match")
    assert metric.evaluate_batch(["a", "b"], ["a", "c"]) == [1.0, 0.0]
    assert metric.pairs("ab", None) == [("a", None), ("b", None)]
    with pytest.raises(MetricError, match="2 predictions but 1 reference"):
        metric.evaluate_batch(["a", "b"], ["a"])


def test_a_metric_that_waits_measures_pairs_at_once() -> None:
    """Values come in order; one pair needs no thread; what a metric lacks is the fault of the set-up."""
    threads = set()

    class Waiting(Stated):
        at_once = 3

        def measure(self, prediction: str, references: Sequence[str]) -> Measure:
            threads.add(threading.current_thread())
            return Measure(value=float(prediction))

    class Bare(Stated):
        def measure(self, prediction: str, references: Sequence[str]) -> Measure:
            raise MissingExtraError("it needs a model", other="install one")

    assert Waiting().evaluate_batch("12345") == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert threading.main_thread() not in threads
    threads.clear()
    assert (Waiting().evaluate_batch("7"), threads) == ([7.0], {threading.main_thread()})
    with pytest.raises(FaultError, match="it needs a model: install one") as lacks:
        Bare().score("x", None)
    assert lacks.value.fault.code == "NEEDS_EXTRA"
    assert (Waiting().asks, Waiting().bind_judge(None)) == (False, Waiting())  # type: ignore[arg-type]
    assert (Waiting().description, Stated().description) == ("stated", "A metric on [0, 10] with a stated value.")


@pytest.mark.parametrize(("value", "field", "expected"), [
    ("plain", None, "plain"), ("plain", "answer", "plain"), (42, None, "42"), ({"text": "t", "answer": "a"}, None, "a"),
    ({"text": "t", "result": "r"}, None, "r"), ({"output": "o", "result": "r"}, None, "o"), ({"answer": "a", "own": "x"}, "own", "x"),
    ({"answer": "a"}, "own", "a"), ({"choice": {"message": "deep"}, "answer": "a"}, "choice.message", "deep"),
    ({"answer": {"text": "inside"}}, None, "inside"), ({"answer": None, "text": "t"}, None, "t"),
])  # fmt: skip
def test_records_have_a_text(value: Any, field: str | None, expected: str) -> None:
    """A named field, else answer, output, result, text, in this order; without any of them, or without a record, there is an error."""
    assert text_of(value, field) == expected
    for none in ({"other": "x"}, {}, None, ["a"], {"answer": ["a"]}):
        with pytest.raises(EvalsuiteError):
            text_of(none, "mine")


def test_predictions_and_references_may_be_records() -> None:
    """A metric with a field reads it on both sides and says so in its signature."""
    metric = get_metric("exact_match", field="city")
    assert metric({"city": "Oslo"}, [{"city": "Rome"}, {"answer": "Oslo"}]) == 1
    assert "field:city" in metric.signature
    assert [f"|ignore_case:{word}|" in get_metric("f1", ignore_case=word == "yes").signature for word in ("yes", "no")] == [True, True]


@pytest.mark.parametrize(("name", "options", "message"), [
    ("exakt_match", {}, "unknown metric"), ("f1", {"variant": "sqad"}, "variant cannot be 'sqad'"),
    ("f1", {"variant": "issue_set", "tokens": "char"}, "fixes its tokens"), ("f1", {"colour": 1}, "colour"),
    ("bleu", {"tokenize": "13b"}, "tokenize"), ("jaro_winkler", {"prefix_weight": 0.5}, "prefix_weight"),
    ("python_unit_testing", {"timeout_seconds": 0}, "timeout_seconds"), ("llm_judge", {"reply": "stars"}, "reply cannot be 'stars'"),
])  # fmt: skip
def test_options_nobody_can_mean_are_refused(name: str, options: dict[str, Any], message: str) -> None:
    """A wrong name or option is an error with its word in it."""
    with pytest.raises(MetricError, match=message):
        get_metric(name, **options)


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


@pytest.mark.parametrize(("spec", "message"), [
    ({"f1": {}, "bleu": {}}, "one name"), *((spec, "a metric is a name, or one name with its options") for spec in ({}, ["f1"], 3)),
    ({"f1": ["x"]}, "must be an object"), ({"composite": {"parts": []}}, "nothing to combine"),
    ({"composite": {"parts": "f1"}}, "must be a list"), ({"composite": {"parts": ["f1"], "aggregation": "mode"}}, "unknown aggregation"),
    ({"composite": {"parts": ["f1"], "on_missing": "guess"}}, "on_missing"),
    ({"composite": {"parts": ["f1", {"bleu": {}, "weight": -1}]}}, "from 0"), ({"composite": {}}, "parts"),
])  # fmt: skip
def test_specs_nobody_can_mean_are_refused(spec: Any, message: str) -> None:
    """A wrong spec is an error that names its word; a name alone is the metric with no options."""
    with pytest.raises(MetricError, match=message):
        metric_from(spec)
    assert metric_from("f1") == metric_from({"f1": {}}) == TokenF1()


@pytest.mark.parametrize(("part", "why"), [
    ({"f1": {}, "scale": [0]}, "a scale is two numbers [low, high], found [0]"),
    ({"f1": {}, "scale": [0, "1"]}, "a scale is two numbers [low, high], found [0, '1']"),
    ({"f1": {}, "scale": 1}, "a scale is two numbers [low, high], found 1"),
    ({"f1": {}, "weight": True}, "a weight must be a number, found True"),
    ({"f1": {}, "weight": "1"}, "a weight must be a number, found '1'"),
    ({"f1": {}, "wieght": 2}, "a part names one metric, found 2: f1, wieght"),
    ({"weight": 1}, "a part names one metric, found 0: none"),
    (7, "a part is a name or an object, found int"),
])  # fmt: skip
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


def fixed(value: float | None) -> Custom:
    """A metric that always gives this value."""
    return Custom(function=lambda *_: value)


def composite(*values: float | None, **options: Any) -> Composite:
    """A composite of fixed values with weights 1, 2, 3 ..."""
    return Composite(parts=tuple(Part(metric=fixed(value), weight=n) for n, value in enumerate(values, 1)), **options)


@given(scores=st.lists(st.floats(0, 1), min_size=1, max_size=6), aggregation=st.sampled_from(AGGREGATIONS))
def test_an_aggregate_lies_between_the_worst_and_the_best(scores: list[float], aggregation: str) -> None:
    """No aggregation leaves the range of its parts."""
    assert min(scores) - 1e-9 <= combine(scores, None, aggregation) <= max(scores) + 1e-9


@pytest.mark.parametrize(("scores", "weights", "aggregation", "code"), [
    ([0.5], [0.5, 0.5], "weighted_mean", "length"), ([0.5, 0.5], [1, -1], "weighted_mean", "negative"),
    ([0.5, 0.5], [1, float("nan")], "weighted_mean", "negative"), ([0.5, 0.5], [1e308, 1e308], "weighted_mean", "negative"),
    ([0.5, 0.5], [0, 0], "min", "zero_sum"), ([], [], "max", "empty"), ([0.5], [1], "mean_of_means", "unknown_aggregation"),
    ([-0.5, 1], [1, 1], "weighted_geometric_mean", "negative_score"), ([-0.5, 1], [1, 1], "harmonic_mean", "negative_score"),
])  # fmt: skip
def test_what_cannot_be_combined_is_an_error(scores: list[float], weights: list[float], aggregation: str, code: str) -> None:
    """Each fault has its own code."""
    with pytest.raises(MetricError) as caught:
        combine(scores, weights, aggregation)
    assert caught.value.code == code


def test_the_signature_names_every_part() -> None:
    """Two composites with other weights, options or aggregation have other signatures."""
    signatures = {
        composite(1.0, 1.0).signature,
        composite(1.0, 1.0, aggregation="min").signature,
        Composite(parts=(Part(metric=get_metric("f1")),)).signature,
        Composite(parts=(Part(metric=get_metric("f1", variant="multiset")),)).signature,
        Composite(parts=(Part(metric=get_metric("f1"), scale=(0, 2)),)).signature,
    }
    assert len(signatures) == 5
