"""Texts in answers under the official rules."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evalsuite.compare.answer_rules import match_text
from tests.models.official_text import score_text
from tests.properties import examples

CASES: list[tuple[str, Any, dict[str, Any], int, str]] = [
    ("It is Paris", "paris", {}, 1, "case does not count"),
    ("213", "1", {}, 1, "there is no word boundary"),
    ("not Paris", ["Paris"], {}, 1, "a denial is not seen"),
    ("Rome", ["Paris", "Rome"], {}, 1, "one gold is enough"),
    ("Rome", ["Paris", "Rome"], {"conj": "and"}, 0, "unless all are needed"),
    ("Rome, Paris", ["Paris", "Rome"], {"conj": "and"}, 1, "in any order"),
    ("New York City", "new york city", {"exclude": ["York"]}, 0, "an excluded text decides first, inside a word too"),
    ("abc", "abc", {"exclude": ["x", "B"]}, 0, "any excluded text does, without case"),
    ("abc", "abc", {"exclude": "xyc"}, 0, "a bare text excludes each of its letters"),
    ("straße", "STRASSE", {}, 0, "letters are only lowered"),
    ("a  b", "a b", {}, 0, "spaces count"),
    ("", "x", {}, 0, "nothing holds nothing"),
]


def test_cases() -> None:
    """The score is the reference's, and a one-sentence reason says why."""
    for answer, gold, options, expected, why in CASES:
        score = match_text(answer, gold, **options)
        assert score.official == expected, why
        assert score_text(answer, gold, **options) == expected, "the model disagrees"
        assert score.reason
        assert not score.reason.endswith(".")


LETTERS = "abABßİıΣſ 1"
WORDS = st.text(LETTERS, max_size=5)


@examples(300)
@given(
    st.text(LETTERS, max_size=12),
    WORDS | st.lists(WORDS, min_size=1, max_size=3),
    st.sampled_from(["and", "or"]),
    st.lists(WORDS, max_size=2),
)
def test_any_answer_scores_as_the_model(answer: str, gold: Any, conj: Any, exclude: list[str]) -> None:
    """The score of any text equals the plain model's."""
    assert match_text(answer, gold, conj=conj, exclude=exclude).official == score_text(answer, gold, conj, exclude)
