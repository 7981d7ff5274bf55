"""The official verdicts alone agree with the plain models and with the matches that give a reason."""

from typing import Any

import regex
from hypothesis import example, given
from hypothesis import strategies as st

from evalsuite.compare.answer_rules import NUMBER, find_official_numbers, match_number, match_text
from tests.models.official_number import score_number
from tests.models.official_text import score_text
from tests.properties import examples

WORDS = st.text(st.sampled_from("aAßİıΣſ 1"), max_size=5)
ANSWERS = st.text(st.sampled_from("0123456789,.%_-ax \n²٣é"), max_size=14)
GOLD = st.one_of(
    st.integers(0, 2000),
    st.sampled_from([17.5, 0.175, 9.999, 10.001, 1e15, 0.0, -0.0]),
    st.sampled_from(["1,234", "17.5%", "5"]),
)


@examples(100)
@given(
    answer=WORDS,
    gold=st.one_of(WORDS, st.lists(WORDS, min_size=1, max_size=3)),
    conj=st.sampled_from(["and", "or"]),
    exclude=st.one_of(st.just(()), st.lists(WORDS, max_size=2)),
)
def test_text(answer: str, gold: Any, conj: Any, exclude: Any) -> None:
    """The official value of `match_text` is the model's rule."""
    assert match_text(answer, gold, conj=conj, exclude=exclude).official == score_text(answer, gold, conj, exclude)


@examples(100)
@given(
    answer=ANSWERS,
    gold=st.one_of(GOLD, st.lists(GOLD, min_size=1, max_size=3)),
    percentage=st.booleans(),
    precision=st.integers(-1, 5),
    conj=st.sampled_from(["and", "or"]),
    exclude=st.one_of(st.just(()), st.lists(st.sampled_from(["7", "x"]), max_size=2)),
)
@example(answer="100.0001", gold=100.0, percentage=False, precision=4, conj="or", exclude=())
@example(answer="1_000", gold=1000, percentage=False, precision=4, conj="or", exclude=())
def test_number(answer: str, gold: Any, percentage: bool, precision: int, conj: Any, exclude: Any) -> None:
    """The official value of `match_number` is the model's rule."""
    options: dict[str, Any] = {"percentage": percentage, "precision": precision, "conj": conj, "exclude": exclude}
    assert match_number(answer, gold, **options).official == score_number(answer, gold, **options)


@examples(400)
@given(st.text(st.sampled_from("0123456789,.%_-ax \n"), max_size=16))
@example("12,345,678.90%, 1234,567 and x1 1x 1.2.3")
def test_the_fast_search_finds_what_the_reference_finds(text: str) -> None:
    """In ASCII the own expression gives the numbers of the reference's expression in the reference's package."""
    found = [one.replace(",", "") for one in regex.findall(NUMBER, text)]
    assert find_official_numbers(text) == [float(one[:-1]) / 100 if one.endswith("%") else float(one) for one in found]
