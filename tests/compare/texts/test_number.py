"""Numbers in answers under the official rules."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.compare.answer_rules import find_official_numbers, gold_numbers, match_number
from tests.models.official_number import score_number
from tests.properties import examples

CASES: list[tuple[str, Any, dict[str, Any], int, str]] = [
    ("5", "5", {}, 1, "the number itself"),
    ("-5", "5", {}, 1, "signs are not seen in the answer"),
    ("-5", "-5", {}, 0, "so a negative gold never matches"),
    ("5 and 6", "5", {}, 0, "a gold given as text takes exactly one number"),
    ("5 and 6", 5.0, {}, 0, "and so does a float"),
    ("5 and 6", ["5"], {}, 0, "and a list of one"),
    ("5 and 6", 5, {}, 1, "an integer gold takes any"),
    ("5 and 6", ["5", "7"], {}, 1, "several golds take any"),
    ("5 and 6", ["5", "7"], {"conj": "and"}, 0, "each gold is needed"),
    ("5", [5, 5], {"conj": "and"}, 1, "one number serves two golds"),
    ("1e5", "100000", {}, 0, "digits that touch a letter are no number"),
    ("1.5e3", "1.5", {}, 1, "but their decimals are cut off"),
    ("1000", "1e3", {}, 1, "gold may be written so"),
    ("12km", "12", {}, 0, "a unit without a space hides the number"),
    ("$12", "12", {}, 1, "a sign does not"),
    (".5", "5", {}, 1, "the leading point is lost"),
    ("700,500", "700500", {}, 1, "commas group thousands"),
    ("12,34", "12", {}, 0, "otherwise they separate"),
    ("1,234,567.5", "1234567.5", {}, 1, "groups and decimals"),
    ("1234,567", ["1234"], {}, 0, "four digits before a comma are a number of their own"),
    ("１２", "12", {}, 1, "full-width digits count"),
    ("٣", "3", {}, 1, "so do Arabic ones"),
    ("17.5%", "0.175", {}, 1, "percent divides by 100"),
    ("0.175", "17.5%", {}, 1, "in gold too"),
    ("17.5 %", "17.5", {}, 1, "but not after a space"),
    ("1750", "17.5", {"percentage": True}, 1, "percentage accepts 100 times the gold"),
    ("0.175", "17.5", {"percentage": True}, 0, "and never a hundredth"),
    ("17.5%", "17.5", {"percentage": True}, 0, "nor the same with a sign"),
    ("50", "0.5", {"percentage": True, "precision": 0}, 1, "both forms with a wide tolerance"),
    ("0.5, 50", ["0.5"], {"percentage": True, "conj": "and"}, 0, "one number is all a single gold takes"),
    ("0.5, 50, 7", ["0.5", "0.07"], {"percentage": True, "conj": "and"}, 0, "with `and` each form of each gold is needed"),
    ("0.5, 50, 7, 0.07", ["0.5", "0.07"], {"percentage": True, "conj": "and"}, 1, "and then it is enough"),
    ("6", "5", {"precision": 0}, 1, "precision 0 is a tolerance of 1"),
    ("6.01", "5", {"precision": 0}, 0, "and no more"),
    ("5.01", "5", {"precision": 2}, 1, "precision 2: 5.01 - 5 is a little less than 0.01"),
    ("1.01", "1", {"precision": 2}, 0, "precision 2: 1.01 - 1 is a little more than 0.01"),
    ("5.000000001", "5", {"precision": 8}, 1, "precision 8"),
    ("5.0000001", "5", {"precision": 8}, 0, "precision 8 is strict"),
    ("5.0001", "5", {}, 1, "the edge is float noise: a little less than 1e-4"),
    ("100.0001", "100", {}, 0, "the edge is float noise: a little more than 1e-4"),
    ("0.00003", "0", {}, 1, "the tolerance is absolute"),
    ("2604.24", "2604.2362912", {}, 0, "whatever the size"),
    ("5 of York", "5", {"exclude": ["york"]}, 0, "an excluded text decides first"),
    ("", "5", {}, 0, "nothing is no number"),
    ("none", 5, {"conj": "and"}, 0, "nor is a word"),
]


def test_cases() -> None:
    """The score is the reference's, and a one-sentence reason says why."""
    for answer, gold, options, expected, why in CASES:
        score = match_number(answer, gold, **options)
        assert score.official == expected, why
        assert score_number(answer, gold, **options) == expected, "the model disagrees"
        assert score.reason
        assert not score.reason.endswith(".")


def test_reasons_are_true() -> None:
    """A reason names the numbers that decided."""
    assert match_number("2604.24", "2604.2362912").reason == "no number within 0.0001 of gold 2604.2362912: closest is 2604.24"
    assert match_number("3 of 7", "3").reason == "2 numbers in the answer, this gold takes exactly one: 3, 7"
    assert match_number("it is 3", "3").reason == "contains 3"


@pytest.mark.parametrize("gold", ["five", "", "nan", "inf", ["1", "x"]])
def test_gold_that_is_no_number(gold: Any) -> None:
    """A gold that is no finite number is told by a ValueError before any answer is judged."""
    with pytest.raises(ValueError):
        gold_numbers(gold)


ANSWERS = st.text(alphabet=st.sampled_from("0123456789,.%- aeké१٣_\n"), max_size=30) | st.text(max_size=20)
GOLDS = st.sampled_from(["1", "12", "1,234", "0.5", "17.5%", "1e3"]) | st.integers(-5, 999) | st.floats(0, 1000).map(lambda x: round(x, 2))


@examples(500)
@given(
    ANSWERS,
    GOLDS | st.lists(GOLDS, min_size=1, max_size=3),
    st.booleans(),
    st.sampled_from([0, 2, 4, 8]),
    st.sampled_from(["and", "or"]),
)
def test_any_answer_scores_as_the_model(answer: str, gold: Any, percentage: bool, precision: int, conj: Any) -> None:
    """The score of any text equals the plain model's."""
    official = match_number(answer, gold, percentage=percentage, precision=precision, conj=conj).official
    assert official == score_number(answer, gold, percentage, precision, conj)


def test_huge_runs_of_digits() -> None:
    """5,000 digits are an infinite number, not a crash."""
    assert find_official_numbers("9" * 5000) == [float("inf")]
    assert match_number("9" * 5000, "9").official == 0
