"""Numbers in answers under the official rules."""

import json
import sys
from typing import Any

import regex
from hypothesis import example, given
from hypothesis import strategies as st

from evalsuite.compare.answer_rules import NUMBER, find_official_numbers, match_number
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


ANSWERS = st.text(alphabet=st.sampled_from("0123456789,.%- aekxé१٣²_\n"), max_size=30) | st.text(LETTERS, max_size=20)
GOLDS = (
    st.sampled_from(["1", "5", "12", "1,234", "0.5", "17.5%", "1e3", 17.5, 0.175, 9.999, 10.001, 1e15, 0.0, -0.0])
    | st.integers(-5, 2000)
    | st.floats(0, 1000).map(lambda x: round(x, 2))
)


@examples(600)
@given(
    answer=ANSWERS,
    gold=GOLDS | st.lists(GOLDS, min_size=1, max_size=3),
    percentage=st.booleans(),
    precision=st.sampled_from([-1, 0, 1, 2, 3, 4, 5, 8]),
    conj=st.sampled_from(["and", "or"]),
    exclude=st.just(()) | st.lists(st.sampled_from(["7", "x"]), max_size=2),
)
@example(answer="100.0001", gold=100.0, percentage=False, precision=4, conj="or", exclude=())
@example(answer="1_000", gold=1000, percentage=False, precision=4, conj="or", exclude=())
def test_any_answer_scores_as_the_model(answer: str, gold: Any, percentage: bool, precision: int, conj: Any, exclude: Any) -> None:
    """The score of any text equals the plain model's."""
    options: dict[str, Any] = {"percentage": percentage, "precision": precision, "conj": conj, "exclude": exclude}
    assert match_number(answer, gold, **options).official == score_number(answer, gold, **options)


@examples(400)
@given(st.text(st.sampled_from("0123456789,.%_-ax \n"), max_size=16))
@example("12,345,678.90%, 1234,567 and x1 1x 1.2.3")
def test_the_fast_search_finds_what_the_reference_finds(text: str) -> None:
    """In ASCII the own expression gives the numbers of the reference's expression in the reference's package."""
    found = [one.replace(",", "") for one in regex.findall(NUMBER, text)]
    assert find_official_numbers(text) == [float(one[:-1]) / 100 if one.endswith("%") else float(one) for one in found]


def test_digits_that_python_does_not_know() -> None:
    """A digit of a script younger than this Python is no number, and no crash."""
    digits = regex.findall(r"\d", "".join(map(chr, range(sys.maxunicode + 1))))
    assert all(find_official_numbers(char) == ([float(char)] if char.isdecimal() else []) for char in digits)
    assert find_official_numbers("7 \U00011de0 8") == [7, 8]
