"""Metrics: batches, aggregates, ranges, signatures, composites; tables of cases, plain models, and the facts people trip over."""

import math
import pickle
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import astuple, dataclass, field, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.core.errors import EvalsuiteError, FaultError, MissingExtraError
from evalsuite.core.import_ref import ImportRef
from evalsuite.core.metric import Measure, Metric, MetricError, aggregate, text_of
from evalsuite.core.runtime import extra_line
from evalsuite.core.types import Fault
from evalsuite.scorers import SCORERS
from evalsuite.scorers.metrics import METRICS, get_metric, metric_from, runs_programs
from evalsuite.scorers.metrics.bertscore import TinyEmbedder, TransformersEmbedder, greedy_match
from evalsuite.scorers.metrics.chain import Custom, MetricBuilder
from evalsuite.scorers.metrics.composite import AGGREGATIONS, Composite, Part, combine
from evalsuite.scorers.metrics.prose import DISCLAIMER, proper, words
from evalsuite.scorers.metrics.rouge import lcs_length, lcs_places
from evalsuite.scorers.metrics.short_answers import TokenF1
from evalsuite.scorers.metrics.translation import Bleu
from tests.models.subsequence import f_measure, lcs, union_places
from tests.processes import finished
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
    """Values come in order; unequal lengths are an error and never cut short; a field is read on both sides, and in the signature."""
    metric = get_metric("exact_match")
    assert metric.evaluate_batch(["a", "b"], ["a", "c"]) == [1.0, 0.0]
    assert metric.pairs("ab", None) == [("a", None), ("b", None)]
    with pytest.raises(MetricError, match="2 predictions but 1 reference"):
        metric.evaluate_batch(["a", "b"], ["a"])
    metric = get_metric("exact_match", field="city")
    assert metric({"city": "Oslo"}, [{"city": "Rome"}, {"answer": "Oslo"}]) == 1
    assert "field:city" in metric.signature
    assert [f"|ignore_case:{word}|" in get_metric("f1", ignore_case=word == "yes").signature for word in ("yes", "no")] == [True, True]


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
    """A custom part is shown as its function is named; weights need not sum to 1; one metric is given unwrapped, none is an error."""
    metric = MetricBuilder().f1(weight=3).custom(half).rouge(kind="rouge1").bleu().add("ter", scale=(0, 100)).build(aggregation="median")
    found = metric.detailed_evaluate("a b", "a b")
    assert list(found.details["parts"]) == ["f1", "half", "rouge1", "bleu", "ter"]
    assert found.value == 1
    assert [part["weight"] for part in found.details["parts"].values()] == [3, 1, 1, 1, 1]
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
        program, {program: {}}, ["f1", program], {"composite": {"parts": ["f1", {program: {}}]}}, ("composite", {"parts": [program]}),
    ):  # fmt: skip
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


def composite(*values: float | None, **options: Any) -> Composite:
    """A composite of fixed values with weights 1, 2, 3 ..."""
    metrics = [Custom(function=lambda *_, value=value: value) for value in values]
    return Composite(parts=tuple(Part(metric=metric, weight=n) for n, metric in enumerate(metrics, 1)), **options)


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


EXACT: list[tuple[str, str, dict[str, Any], float]] = [
    ("Paris", "Paris", {}, 1),
    ("paris", "Paris", {}, 0),
    ("paris", "Paris", {"ignore_case": True}, 1),
    (" Paris\u00a0", "Paris", {}, 1),
    (" Paris", "Paris", {"normalize_whitespace": False}, 0),
    ("cafe\u0301", "café", {}, 1),
    ("cafe\u0301", "café", {"variant": "issue_literal"}, 0),
    ("STRASSE", "straße", {"ignore_case": True}, 1),
    ("hello !", "hello", {"ignore_punctuation": True}, 1),
    ("hello !", "hello", {"ignore_punctuation": True, "variant": "issue_literal"}, 0),
    ("a \n b", "a b", {"variant": "issue_literal"}, 1),
    ("a  b", "a b", {"variant": "issue_literal", "normalize_whitespace": False}, 0),
    ("«Да»", "Да", {"ignore_punctuation": True}, 1),
    ("价格：5$", "价格5", {"ignore_punctuation": True}, 1),
    ("5 €", "5", {"ignore_punctuation": True}, 0),
    ("ﬁn", "fin", {}, 0),
    ("the Paris!", "Paris", {"variant": "squad"}, 1),
    ("Paris", "paris", {"variant": "arthur", "ignore_case": True}, 1),
    ("Paris ", "Paris", {"variant": "arthur"}, 0),
]
F1: list[tuple[str, str, dict[str, Any], float]] = [
    ("the cat sat", "a cat sat", {}, 1),
    ("Paris.", "paris", {}, 1),
    ("", "", {}, 1),
    ("the", "a", {}, 1),
    ("", "x", {}, 0),
    ("Paris.", "paris", {"variant": "multiset"}, 0),
    ("a a", "a a", {"variant": "multiset"}, 1),
    ("a a", "a a", {"variant": "issue_set"}, 0.5),
    ("a b  ", "a b", {"variant": "issue_set"}, 1),
    (" a b", "a b", {"variant": "issue_set"}, 0.8),
    ("the cat", "cat", {"normalize_whitespace": False}, 2 / 3),
    ("the  cat", "the cat", {"normalize_whitespace": False}, 0.8),
    ("The Cat", "cat", {"ignore_case": False}, 0),
    ("The cat", "cat", {"ignore_case": False}, 1),
    ("cat!", "cat", {"ignore_punctuation": False}, 0),
    ("cat!", "cat", {"variant": "multiset", "ignore_punctuation": True}, 1),
    ("the cat", "cat", {"variant": "multiset"}, 2 / 3),
    ("", "", {"variant": "desiru_repo"}, 0),
    ("日本語", "日本", {}, 0),
    ("日本語", "日本", {"tokens": "char"}, 0.8),
    ("日本 go", "日本", {"tokens": "regex"}, 0.8),
    ("Ёлка!", "ёлка", {"tokens": "regex"}, 1),
    ("Ёлка!", "ёлка", {"tokens": "regex", "ignore_case": False}, 0),
    ("“Paris”, I", "paris, i", {}, 0.5),
    ("“Paris”, I", "paris, i", {"ignore_case": True}, 0.5),
    ("“Paris”, I", "Paris, I", {"ignore_case": False}, 0.5),
    ("“Paris”, I", "paris, i", {"ignore_punctuation": True}, 1),
]


@pytest.mark.parametrize("name", ["exact_match", "f1"])
def test_options(name: str) -> None:
    """Each flag, variant and way of cutting gives its own value."""
    for prediction, reference, options, expected in EXACT if name == "exact_match" else F1:
        assert get_metric(name, **options)(prediction, reference) == pytest.approx(expected), (prediction, reference, options)


@pytest.mark.parametrize(("text", "expected"), [
    ("don't stop", ["don't", "stop"]), ("'quoted' words", ["quoted", "words"]), ("well-known fact", ["wellknown", "fact"]),
    ("we'll, they've", ["we'll", "they've"]), ("rock 'n' roll", ["rock", "n", "roll"]), ("a - b", ["a", "b"]), ("...", []),
])  # fmt: skip
def test_words(text: str, expected: list[str]) -> None:
    """Apostrophes of contractions stay, other signs go without leaving a space."""
    assert words(text) == expected


@pytest.mark.parametrize(("edits", "distance", "similarity"), [("levenshtein", 2, 0.5), ("damerau", 1, 0.75), ("indel", 2, 0.75)])
def test_edits(edits: str, distance: float, similarity: float) -> None:
    """A swap of neighbours is two edits, one with damerau; indel divides by both lengths."""
    assert get_metric("levenshtein_distance", edits=edits)("abdc", "abcd") == distance
    assert get_metric("levenshtein", edits=edits)("abdc", "abcd") == similarity


TOKENS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=14)
LINES = st.lists(TOKENS, max_size=4)


@examples(200)
@given(first=TOKENS, second=TOKENS)
def test_subsequence_equals_the_plain_table(first: list[str], second: list[str]) -> None:
    """Length and places of the longest common subsequence are those of the textbook."""
    assert lcs_length(first, second) == lcs(first, second)
    assert set(lcs_places(first, second)) == union_places(first, [second])


@examples(100)
@given(prediction=TOKENS, reference=TOKENS)
def test_rouge_l_and_n_equal_the_plain_model(prediction: list[str], reference: list[str]) -> None:
    """ROUGE-L and ROUGE-1 are the F-measures of a plain table and of plain counts."""
    a, b = " ".join(prediction), " ".join(reference)
    sizes = (len(prediction), len(reference))
    assert get_metric("rougeL")(a, b) == pytest.approx(f_measure(lcs(prediction, reference), *sizes))
    shared = sum(min(count, Counter(reference)[token]) for token, count in Counter(prediction).items())
    assert get_metric("rouge1")(a, b) == pytest.approx(f_measure(shared, *sizes))


@examples(100)
@given(prediction=LINES, reference=LINES)
def test_rouge_lsum_equals_the_plain_model(prediction: list[list[str]], reference: list[list[str]]) -> None:
    """ROUGE-Lsum unites the subsequences of each line and counts a token at most as often as it stands on either side."""
    a, b = ("\n".join(" ".join(line) for line in lines) for lines in (prediction, reference))
    united = Counter(line[place] for line in reference for place in union_places(line, prediction))
    own, other = (Counter(token for line in lines for token in line) for lines in (prediction, reference))
    hits = (united & own & other).total()
    assert get_metric("rougeLsum")(a, b) == pytest.approx(f_measure(hits, own.total(), other.total()))


def test_the_reference_with_the_best_f_is_taken_whatever_part_is_asked() -> None:
    """Precision is that of the reference with the best F, not the best precision."""
    references = ["a b c d e f g h", "a b x"]
    assert get_metric("rouge1", part="precision")("a b c", references) == pytest.approx(2 / 3)
    assert get_metric("rouge1")("a b c", references) == pytest.approx(2 / 3)
    assert get_metric("rouge1").score("a b c", references).reason.startswith("rouge1 0.6667")


def test_a_short_text_against_itself() -> None:
    """The effective order makes "the cat" 100 against itself; without it the score is 0. Signatures name tokenizer and sacrebleu."""
    assert get_metric("bleu")("the cat", "the cat") == pytest.approx(100)
    assert get_metric("bleu", effective_order=False)("the cat", "the cat") == 0
    assert get_metric("bleu")("", "") == 0
    assert "tokenize:zh" in get_metric("bleu", tokenize="zh").signature
    assert "sacrebleu:" in get_metric("chrf").signature


def test_the_corpus_score_is_not_the_mean() -> None:
    """The corpus score pools the n-grams of all segments, each with its references; without a segment or a reference there is an error."""
    metric = Bleu()
    predictions = ["the cat sat on the mat today", "all wrong"]
    references = [["the cat sat on a mat today", "the cat sat on the mat today"], "a dog ran home"]
    whole = metric.evaluate_corpus(predictions, references)
    mean = metric.aggregate(metric.evaluate_batch(predictions, references)).mean
    assert whole.value is not None
    assert abs(whole.value - mean) > 1
    assert whole.details["sys_len"] == 9
    for predictions, references in (([], []), (["a"], ["a", "b"]), (["a"], [None])):  # type: ignore[assignment]
        with pytest.raises(MetricError):
            metric.evaluate_corpus(predictions, references)


def test_a_tokenizer_that_is_not_installed_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Japanese tokenizer and wordfreq are named with the pip line; a text without words is undefined either way."""
    monkeypatch.setitem(sys.modules, "MeCab", None)
    monkeypatch.delitem(sys.modules, "sacrebleu.tokenizers.tokenizer_ja_mecab", raising=False)
    with pytest.raises(MissingExtraError) as caught:
        get_metric("bleu", tokenize="ja-mecab").evaluate("猫", "猫")
    assert "sacrebleu[ja]" in caught.value.hint
    monkeypatch.setitem(sys.modules, "wordfreq", None)
    with pytest.raises(MissingExtraError) as caught:
        get_metric("specificity").evaluate("Oslo is a city")
    assert caught.value.hint == extra_line("wordfreq")
    assert get_metric("specificity").evaluate("...") is None


def test_it_works_where_nothing_can_be_written() -> None:
    """Without any temporary folder, as behind a worker's walls, sacrebleu still loads, and the setting is as before."""
    code = (
        "import os, tempfile\n"
        "tempfile._get_default_tempdir = lambda *_: (_ for _ in ()).throw(FileNotFoundError())\n"
        "from evalsuite.scorers.metrics import get_metric\n"
        "print(get_metric('chrf')('a', 'a'), tempfile.tempdir)"
    )
    shown = finished([sys.executable, "-c", code], check=True).stdout
    assert shown.split() == ["100.0", "None"]


def test_readability_of_nothing() -> None:
    """A text without words has no reading ease, upstream gave it 206.84; two texts of punctuation are equal without it, which is said."""
    assert get_metric("readability").evaluate("...") is None
    assert get_metric("readability", variant="upstream").evaluate("") == 206.84
    found = get_metric("exact_match", ignore_punctuation=True).detailed_evaluate("!!!", "???")
    assert found.value == 1
    assert found.details == {"category": "match", "note": "both texts are empty after normalisation"}


def test_what_makes_an_answer_specific(monkeypatch: pytest.MonkeyPatch) -> None:
    """A capital unless it begins a sentence, a digit always; the "some" of "something" is vague unless whole words are asked for."""
    for text, expected in (
        ("We met Anna in Oslo", 1.0), ("See Oslo soon", 1.0), ("Nobody came to us. Nothing happened then", 0.0),
        ("He paid 5 of all his many coins now ok", 0.5),
    ):  # fmt: skip
        assert proper(text) == pytest.approx(expected)
    monkeypatch.setitem(sys.modules, "wordfreq", SimpleNamespace(word_frequency=lambda *_, **__: 0))
    for options, vague in (({}, 0), ({"match": "word"}, 1)):
        assert get_metric("specificity", **options).detailed_evaluate("He said something").details["vague"] == vague


def test_bertscore_with_a_hash_embedder() -> None:
    """Equal words match in any order, texts without words each other; the disclaimer is 1, a threshold decides; no value is above 1."""
    metric = get_metric("bertscore", embedder=HashEmbedder(size=256), precision_weight=None)
    assert metric("the cat sat", "sat the cat") == pytest.approx(1)
    assert metric("the cat sat", "dogs ran home") < 0.5
    assert (metric("...", "!"), metric("", "cat")) == (1, 0)
    assert "embedder:hash-256" in metric.signature
    # The cosine of this vector with itself is 1.0000000000000002.
    one = SimpleNamespace(embed=lambda _: [[0.1, 0.7, 0.5]], signature="one")
    assert greedy_match(one.embed(""), one.embed("")).f1 > 1
    assert (get_metric("bertscore", embedder=one)("a", "b"), get_metric("hedging_language", embedder=one)("a")) == (1, 1)
    # Each word has the counts of its runs of three letters, in any case.
    rows = TinyEmbedder(size=7).embed("Aa, aaa é")
    assert rows.shape == (3, 7)
    assert rows.sum(axis=1).tolist() == [2, 3, 1]
    assert (TinyEmbedder().signature, TinyEmbedder().embed("...").shape) == ("tiny-256", (0, 256))
    assert TinyEmbedder().embed("AB").tolist() == TinyEmbedder().embed("ab").tolist()
    metric = get_metric("hedging_language", embedder=HashEmbedder(), threshold=0.9)
    assert metric(DISCLAIMER) == pytest.approx(1)
    near = metric.detailed_evaluate("As an AI language model, I don't have any view.")
    assert near.value is not None
    assert 0.3 < near.value < 0.9
    assert near.details["category"] == "no hedging"


def test_bertscore_downloads_nothing(tmp_path: Path) -> None:
    """Without a model, or with one that is no local folder, there is an error before anything is loaded."""
    with pytest.raises(MetricError, match="needs `model`"):
        get_metric("bertscore").evaluate("a", "a")
    with pytest.raises(MetricError, match="no local folder"):
        get_metric("bertscore", model="microsoft/deberta-v3-base").evaluate("a", "a")
    for name in ("bertscore", "hedging_language"):
        assert get_metric(name, model="models/m", layer=3).signature != get_metric(name, model="models/m").signature
        assert TransformersEmbedder("models/m").signature == "m-L-1"
        assert "|layer:-1|" in get_metric(name, model="models/m").signature


def test_bertscore_with_a_tiny_model(tmp_path: Path) -> None:
    """A randomly initialised model from a local folder gives 1 for a text against itself and less for another."""
    pytest.importorskip("torch", reason="needs the extra bertscore")
    transformers = pytest.importorskip("transformers", reason="needs the extra bertscore")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "dog", "ran"]
    (tmp_path / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    transformers.BertTokenizerFast(vocab_file=str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    transformers.BertModel(transformers.BertConfig(vocab_size=len(words), **size)).save_pretrained(tmp_path)
    metric = get_metric("bertscore", model=str(tmp_path))
    assert metric("the cat sat", "the cat sat") == pytest.approx(1, abs=1e-4)
    assert metric("the dog ran", "the cat sat") < 0.9999
    assert metric("", "the cat") == 0


class Vectors(list[Any]):
    """Stands in for the arrays of a library: what it holds, as numpy."""

    def numpy(self) -> Any:
        """The array."""
        import numpy as np

        return np.array(list(self))


@pytest.mark.parametrize(("longest", "of_the_model", "layer"), [(4, 512, -1), (10**30, 6, 0), (7, None, 1)])
def test_what_a_local_model_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, longest: int, of_the_model: Any, layer: int) -> None:
    """Texts are cut at the smaller of both limits, special tokens are left out, and the named layer gives the vectors."""
    asked: list[Any] = []

    def tokenize(text: str, **options: Any) -> Any:
        asked.append((text, options))
        return {"ids": [1, 2, 3], "special_tokens_mask": [Vectors([1, 0, 1])]}

    def run(**encoded: Any) -> Any:
        asked.append(encoded)
        return SimpleNamespace(hidden_states=[[Vectors([[at, 0.5], [at, 1.5], [at, 2.5]])] for at in range(3)])

    tokenize.model_max_length = longest  # type: ignore[attr-defined]
    run.config = SimpleNamespace(**({"max_position_embeddings": of_the_model} if of_the_model else {}))  # type: ignore[attr-defined]
    model = SimpleNamespace(eval=lambda: run)
    loaded: list[Any] = []
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(inference_mode=nullcontext))
    made = {"AutoTokenizer": tokenize, "AutoModel": model}

    def load(one: Any) -> Any:
        return SimpleNamespace(from_pretrained=lambda *args, **keys: loaded.append((args, keys)) or one)

    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(**{name: load(one) for name, one in made.items()}))
    embedder = TransformersEmbedder(str(tmp_path), layer)
    assert embedder.embed("a text").tolist() == [[layer % 3, 1.5]]
    options = {"return_tensors": "pt", "truncation": True, "return_special_tokens_mask": True}
    options["max_length"] = min(longest, of_the_model or 512)
    assert asked == [("a text", options), {"ids": [1, 2, 3], "output_hidden_states": True}]
    assert loaded == [((str(tmp_path),), {"local_files_only": True})] * 2
    assert embedder.signature == f"{tmp_path.name}-L{layer}"
    assert embedder.embed("b").shape == (1, 2)
    assert len(loaded) == 2


@pytest.mark.parametrize(("name", "lines"), [
    ("readability", ["    scale: the values that count as 0 and as 1.", "    gold: not used."]),
    ("bleu", ["    gold: the reference or references."]),
])  # fmt: skip
def test_what_a_scorers_help_says_of_gold_and_scale(name: str, lines: list[str]) -> None:
    """As the metric uses them."""
    documented = (SCORERS.load(name).function.__doc__ or "").splitlines()
    assert [line for line in documented if line.startswith(("    gold: ", "    scale: "))] == lines
