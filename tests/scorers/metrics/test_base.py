"""What every metric has: batches, aggregates, records, ranges, signatures, and a plain call."""

import math
import pickle
import threading
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.core.errors import EvalsuiteError, FaultError, MissingExtraError
from evalsuite.core.metric import Measure, Metric, MetricError, aggregate, text_of
from evalsuite.core.types import Fault
from evalsuite.scorers.metrics import METRICS, get_metric
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


class Share(Stated):
    """The same on [0, 1]."""

    high = 1.0


class Falling(Stated):
    """The same, of which less is better."""

    direction = "lower"


class Endless(Falling):
    """The same without an upper end."""

    high = None


@pytest.mark.parametrize(
    ("kind", "value", "why", "score", "reason"),
    [
        (Stated, None, "no words", None, "stated is undefined: no words"),
        (Stated, 0, "nothing", 0.0, "nothing"),
        (Stated, 1, "one of ten", 0.1, "one of ten"),
        (Stated, 5.0, "half", 0.5, "half: stated 5"),
        (Stated, 2.34567, "", 0.234567, "stated 2.346 counts 0.2346"),
        (Stated, 12.0, "", 1.0, "stated 12 counts 1"),
        (Share, 0.25, "", 0.25, "stated 0.25"),
        (Falling, 2.0, "", 0.8, "stated 2 counts 0.8, less is better"),
        (Falling, -1.0, "", 1.0, "stated -1 counts 1, less is better"),
        (Endless, 7.0, "", None, "stated 7 on its own scale, less is better"),
    ],
)
def test_the_reason_of_a_score(kind: type[Stated], value: float | None, why: str, score: float | None, reason: str) -> None:
    """What was measured and what it counts; on [0, 1] they are one; a reason of the metric's own comes first, alone at 0 and 1."""
    found = kind(told=Measure(value=value, reason=why, details={"n": 1})).score("text", None)
    assert (found.official, found.strict, found.reason) == (pytest.approx(score), pytest.approx(score), reason)
    assert found.fault == found.strict_fault == (Fault(code="UNDEFINED", detail=reason) if value is None else None)
    assert found.details == {"raw": value, "n": 1}


def test_texts_are_measured_one_after_the_other() -> None:
    """Only a metric that waits for a judge has several at once."""
    assert {made(name).at_once for name in NAMES} == {1}


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


@pytest.mark.parametrize(
    ("value", "field", "expected"),
    [
        ("plain", None, "plain"),
        ("plain", "answer", "plain"),
        (42, None, "42"),
        ({"text": "t", "answer": "a"}, None, "a"),
        ({"text": "t", "result": "r"}, None, "r"),
        ({"output": "o", "result": "r"}, None, "o"),
        ({"answer": "a", "own": "x"}, "own", "x"),
        ({"answer": "a"}, "own", "a"),
        ({"choice": {"message": "deep"}, "answer": "a"}, "choice.message", "deep"),
        ({"answer": {"text": "inside"}}, None, "inside"),
        ({"answer": None, "text": "t"}, None, "t"),
    ],
)
def test_records_have_a_text(value: Any, field: str | None, expected: str) -> None:
    """A named field, else answer, output, result, text, in this order."""
    assert text_of(value, field) == expected


@pytest.mark.parametrize("value", [{"other": "x"}, {}, None, ["a"], {"answer": ["a"]}])
def test_what_has_no_text_is_an_error(value: Any) -> None:
    """A record without any of the fields, or no record at all, is named."""
    with pytest.raises(EvalsuiteError):
        text_of(value, "mine")


def test_predictions_and_references_may_be_records() -> None:
    """A metric with a field reads it on both sides and says so in its signature."""
    metric = get_metric("exact_match", field="city")
    assert metric({"city": "Oslo"}, [{"city": "Rome"}, {"answer": "Oslo"}]) == 1
    assert "field:city" in metric.signature
    assert [f"|ignore_case:{word}|" in get_metric("f1", ignore_case=word == "yes").signature for word in ("yes", "no")] == [True, True]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("exakt_match", {}, "unknown metric"),
        ("f1", {"variant": "sqad"}, "variant cannot be 'sqad'"),
        ("f1", {"variant": "issue_set", "tokens": "char"}, "fixes its tokens"),
        ("f1", {"colour": 1}, "colour"),
        ("bleu", {"tokenize": "13b"}, "tokenize"),
        ("jaro_winkler", {"prefix_weight": 0.5}, "prefix_weight"),
        ("python_unit_testing", {"timeout_seconds": 0}, "timeout_seconds"),
        ("llm_judge", {"reply": "stars"}, "reply cannot be 'stars'"),
    ],
)
def test_options_nobody_can_mean_are_refused(name: str, options: dict[str, Any], message: str) -> None:
    """A wrong name or option is an error with its word in it."""
    with pytest.raises(MetricError, match=message):
        get_metric(name, **options)
