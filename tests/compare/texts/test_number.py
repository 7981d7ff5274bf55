"""Numbers in answers under the official rules."""

import json
import sys
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.compare.answer_rules import find_official_numbers, gold_numbers, match_number
from tests.compare.texts.test_values import CORPUS
from tests.models.official_number import score_number
from tests.properties import LETTERS, examples


def test_cases() -> None:
    """The score is the reference's, and a one-sentence reason says why."""
    lines = (CORPUS / "official_numbers.jsonl").read_text(encoding="utf-8").splitlines()
    for answer, gold, options, expected, why in map(json.loads, lines):
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


ANSWERS = st.text(alphabet=st.sampled_from("0123456789,.%- aeké१٣_\n"), max_size=30) | st.text(LETTERS, max_size=20)
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


def test_digits_that_python_does_not_know() -> None:
    """A digit of a script younger than this Python is no number, and no crash."""
    digits = regex.findall(r"\d", "".join(map(chr, range(sys.maxunicode + 1))))
    assert all(find_official_numbers(char) == ([float(char)] if char.isdecimal() else []) for char in digits)
    assert find_official_numbers("7 \U00011de0 8") == [7, 8]


def test_huge_runs_of_digits() -> None:
    """5,000 digits are an infinite number, not a crash."""
    assert find_official_numbers("9" * 5000) == [float("inf")]
    assert match_number("9" * 5000, "9").official == 0
