"""Metrics, composites and judges' replies equal the recorded values of the originals, case by case within each case's tolerance."""

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from evalsuite.core.errors import EvalsuiteError
from evalsuite.core.metric import Measure, MetricError, aggregate
from evalsuite.scorers.judge.judge import QA_CHOICES, SUMMARY_CHOICES
from evalsuite.scorers.judge.replies import Verdict, choice_reading, score_reading, yes_no_reading
from evalsuite.scorers.metrics import get_metric
from evalsuite.scorers.metrics.bertscore import greedy_match
from evalsuite.scorers.metrics.composite import combine
from evalsuite.scorers.metrics.prose import rare, vague
from tests.conformance.recorded import (
    ALL_KINDS,
    JUDGE_KINDS,
    METRIC_KINDS,
    STATISTICS_KINDS,
    SUITE_KINDS,
    cases_of,
    is_in_part,
    recorded_cases,
    some_cases_of,
)
from tests.conftest import is_default_corpus
from tests.properties import is_full

pytestmark = pytest.mark.conformance

Case = Mapping[str, Any]


def measured(case: Case, name: str, **more: Any) -> Measure:
    """Our metric of that name with the case's own parameters; how references are combined is not one of them."""
    options = {key: value for key, value in case["params"].items() if key != "multi"} | more
    return get_metric(name, **options).detailed_evaluate(case["prediction"], case["references"])


def value(name: str, **more: Any) -> Callable[[Case], Any]:
    """The plain value."""
    return lambda case: measured(case, name, **more).value


def with_details(name: str) -> Callable[[Case], Any]:
    """The value as `score`, beside the details."""

    def give(case: Case) -> Any:
        found = measured(case, name)
        return {"score": found.value, **found.details}

    return give


def of_corpus(name: str) -> Callable[[Case], Measure]:
    """The corpus score; recorded references are a list a segment."""
    return lambda case: get_metric(name, **case["params"]).evaluate_corpus(case["prediction"], case["references"])  # type: ignore[attr-defined]


def bertscore_greedy(case: Case) -> Any:
    """Greedy matching of given vectors."""
    found = greedy_match(case["prediction"], case["references"])
    weighted = found.weight(case["params"]["precision_weight"])
    return {"precision": found.precision, "recall": found.recall, "f1": found.f1, "arthur": weighted}


def composite(case: Case) -> Any:
    """The combination of given scores, or the code of the error."""
    assert case["params"]["normalize_weights"]
    try:
        return combine(case["prediction"], case["params"]["weights"], case["params"]["aggregation"])
    except MetricError as error:
        return {"error": error.code}


def flagged(name: str, case: Case, **options: Any) -> Any:
    """A value with its category."""
    found = get_metric(name, **options).detailed_evaluate(case["prediction"], case["references"])
    return {"score": found.value, "category": found.details["category"]}


def unit_testing(case: Case) -> Any:
    """Pass or fail in a fresh process; what fails for its time need not have all of it. On a busy machine it may be unjudged: once more."""
    seconds = case["params"]["timeout_s"] if is_full() or case["expected"]["score"] else 0.5
    for patience in (1, 2, 4, 8, 16):
        metric = get_metric("python_unit_testing", timeout_seconds=patience * seconds, allow_programs=True)
        found = metric.detailed_evaluate(case["prediction"], case["references"])
        if "category" in found.details:
            break
    return {"score": found.value, "category": found.details["category"]}


STD = {"std_sample": "std"}


OURS: dict[str, Callable[[Case], Any]] = {
    "aggregate": lambda case: {name: getattr(aggregate(case["prediction"]), STD.get(name, name)) for name in case["expected"]},
    # Arthur Bench's flag, as it is documented.
    "arthur_exact_match": lambda case: flagged("exact_match", case, variant="arthur", ignore_case=not case["params"]["case_sensitive"]),
    "bertscore_greedy": bertscore_greedy,
    "bleu_corpus": lambda case: {"score": of_corpus("bleu")(case).value, **of_corpus("bleu")(case).details},
    "bleu_sentence": with_details("bleu"),
    "chrf_corpus": lambda case: of_corpus("chrf")(case).value,
    "chrf_sentence": value("chrf"),
    "composite": composite,
    "exact_match": value("exact_match"),
    "f1": value("f1"),
    "jaro_winkler": lambda case: {"jaro": measured(case, "jaro_winkler").details["jaro"], "jaro_winkler": value("jaro_winkler")(case)},
    "levenshtein": lambda case: {
        "distance": measured(case, "levenshtein_distance").value,
        "damerau_distance": measured(case, "levenshtein_distance", edits="damerau").value,
        "normalized_similarity": measured(case, "levenshtein").value,
        "indel_ratio": measured(case, "levenshtein", edits="indel").value,
    },
    "pass_at_k": value("pass_at_k"),
    "python_unit_testing": unit_testing,
    # The upstream score alone, or the score with its counts.
    "readability": lambda case: (value if case["params"]["variant"] == "upstream" else with_details)("readability")(case),
    "rouge": lambda case: {kind: dict(measured(case, kind).details) for kind in ("rouge1", "rouge2", "rougeL", "rougeLsum")},
    "specificity": value("specificity"),
    "specificity_vague": lambda case: vague(case["prediction"]),
    "specificity_wordfreq": lambda case: rare(case["prediction"]),
    "squad_em": value("exact_match", variant="squad"),
    "squad_f1": value("f1", variant="squad"),
    "ter_corpus": lambda case: of_corpus("ter")(case).value,
    "ter_sentence": value("ter"),
    "word_count_match": value("word_count_match"),
}


# Of these a part is replayed in the line, of all others every case.
DEAR = {"exact_match", "f1", "bleu_corpus", "bleu_sentence", "levenshtein", "python_unit_testing", "rouge", "ter_corpus", "ter_sentence"}


def differs(ours: Any, recorded: Any, tolerance: float) -> bool:
    """Whether a value is not the recorded one; of an object every recorded key counts."""
    if isinstance(recorded, dict):
        return not isinstance(ours, dict) or any(key not in ours or differs(ours[key], recorded[key], tolerance) for key in recorded)
    if isinstance(recorded, list):
        return len(ours) != len(recorded) or any(differs(a, b, tolerance) for a, b in zip(ours, recorded, strict=True))
    if recorded is None or isinstance(recorded, str) or ours is None or isinstance(ours, dict):
        return bool(ours != recorded)
    return not math.isclose(ours, recorded, rel_tol=tolerance, abs_tol=tolerance)


def test_every_recorded_kind_has_a_test() -> None:
    """Each kind of the corpus is in exactly one of the sets, so that a new kind fails here; the default corpus holds 1,459 of metrics."""
    assert {case["metric"] for case in recorded_cases()} <= ALL_KINDS
    assert len(ALL_KINDS) == len(METRIC_KINDS) + len(JUDGE_KINDS) + len(STATISTICS_KINDS) + len(SUITE_KINDS)
    assert set(OURS) == METRIC_KINDS
    total = sum(len(cases_of(kind)) for kind in METRIC_KINDS)
    assert total == 1459 if is_default_corpus() else total


@pytest.mark.parametrize("kind", sorted(METRIC_KINDS))
def test_metric_equals_the_record(kind: str) -> None:
    """Every recorded case of the kind is our value within its tolerance."""
    differing = []
    for case in (case for case in some_cases_of(kind) if kind not in DEAR or is_in_part(json.dumps(case))):
        try:
            ours = OURS[kind](case)
        except EvalsuiteError as error:
            ours = f"{type(error).__name__}: {error}"
        if differs(ours, case["expected"], case["tol"]):
            differing.append((case["id"], case["params"], case["prediction"], case["references"], case["expected"], ours))
    assert differing == []


def verdict_of(case: dict[str, Any]) -> Verdict:
    """Our verdict on the reply of a recorded case, in the case's variant."""
    params, text = case["params"], case["prediction"]
    variant = {"recommended": "tolerant"}.get(params["variant"], params["variant"])
    if case["metric"] == "judge_score_1_5":
        return score_reading(variant=variant)(text)
    if case["metric"] == "judge_yes_no":
        return yes_no_reading(variant=variant)(text)
    assert variant == "upstream", case["id"]
    if params["judge"] == "qa_correctness":
        return choice_reading({word: QA_CHOICES[word] for word in ("0", "1")}, upstream_length=0)(text)
    return choice_reading(SUMMARY_CHOICES, upstream_length=3)(text)


@pytest.mark.parametrize("kind", sorted(JUDGE_KINDS))
def test_every_reply_is_read_as_recorded(kind: str) -> None:
    """Value (and category where one is recorded) equal the record within the case's tolerance."""
    differing, seen = [], Counter[str]()
    for case in some_cases_of(kind):
        verdict, expected = verdict_of(case), case["expected"]
        seen[case["params"]["variant"]] += 1
        value = expected["score"] if isinstance(expected, dict) else expected
        label = expected["category"] if isinstance(expected, dict) else verdict.label
        same = verdict.value == value if value is None else verdict.value == pytest.approx(value, abs=case["tol"])
        if not same or verdict.label != label:
            differing.append((case["id"], case["params"], case["prediction"], expected, verdict))
    print(f"\n{kind}: " + ", ".join(f"{variant} {n}" for variant, n in seen.items()))
    assert differing == []


def test_silence_is_never_a_number_by_default() -> None:
    """Of the recorded replies that a variant made 0 or -1 for want of a verdict, the default reading makes None."""
    silent = [case["prediction"] for case in cases_of("judge_parse") if case["expected"]["category"] == "invalid"]
    words = {"tie", "tied", "tie.", "tie!", "0", "1", "1.", "Tie"}
    for text in set(silent) - words:
        assert choice_reading(QA_CHOICES)(text).value is None, text
        assert choice_reading(SUMMARY_CHOICES)(text).value is None, text
    for text in ("", "N/A", "five", "½", "Score: 10", "100"):
        assert score_reading()(text).value is None
