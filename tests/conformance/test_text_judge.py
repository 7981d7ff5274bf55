"""Judge replies read as the recorded cases say: the earlier tools' variants, and the default that never makes a 0 of silence."""

from collections import Counter
from typing import Any

import pytest

from evalsuite.scorers.judge.judge import QA_CHOICES, SUMMARY_CHOICES
from evalsuite.scorers.judge.replies import Verdict, choice_reading, score_reading, yes_no_reading
from tests.conformance.text_kinds import JUDGE_KINDS, cases_of, some_cases_of

pytestmark = pytest.mark.conformance


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
