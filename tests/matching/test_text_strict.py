"""The strict text rule: whole words, folded forms, and exclusions that no disguise dodges."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsuite.matching.text_strict import fold, holds, match_text_strictly
from evalsuite.scorers import SCORERS

WORDS = st.text(alphabet="aAbé1 .-ßﬁ東\u00a0\u0301", min_size=1, max_size=6).filter(lambda text: bool(fold(text)))


@pytest.mark.parametrize(
    ("prediction", "gold", "options", "expected", "why"),
    [
        ("it is 213", "1", {}, 0, "S21 no part of a number"),
        ("it is 1", "1", {}, 1, "S21 the number itself"),
        ("it is 1.", "1", {}, 1, "S21 at the end of a sentence"),
        ("it is 1.5", "1", {}, 0, "S21 decimals belong to the number"),
        ("1,2,3", "2", {}, 1, "S21 a tight list"),
        ("Parisian", "Paris", {}, 0, "S21 no part of a word"),
        ("**Paris**", "Paris", {}, 1, "S21 marks are no letters"),
        ("level_end_quickplay", "end", {}, 1, "S21 an underscore ends a word"),
        ("/detail", "/detail", {}, 1, "S21 a gold that begins with a mark"),
        ("x/detail", "/detail", {}, 1, "S21 needs no boundary there"),
        ("東京都", "東京", {}, 1, "S21 scripts without spaces have none"),
        ("not Paris", "Paris", {}, 1, "S23 the text alone is judged"),
        ("Paris or London", "Paris", {}, 1, "S23 lists pass without exclude"),
        ("Paris or London", "Paris", {"exclude": ["London"]}, 0, "S23 and not with it"),
        ("New York City", "New York City", {"exclude": ["York"]}, 0, "S24 an excluded word stands there"),
        ("New Yorker", "New Yorker", {"exclude": ["York"]}, 1, "S24 no part of a word"),
        ("Paris", "Paris", {"exclude": "a"}, 1, "S24 a bare text is one exclusion"),
        ("Stra\u00dfe", "STRASSE", {}, 1, "S25 case folding"),
        ("Cafe\u0301", "caf\u00e9", {}, 1, "S25 composed and decomposed"),
        ("New\u00a0 York", "new york", {}, 1, "S25 spaces"),
        ("\uff12\uff10", "20", {}, 1, "S25 full-width digits"),
        ("Par\u200bis", "Paris", {}, 1, "S25 zero-width characters"),
        ("Lon\u200bdon and Paris", "Paris", {"exclude": ["London"]}, 0, "S25 do not hide an exclusion"),
        ("L\u043endon and Paris", "Paris", {"exclude": ["London"]}, 0, "S25 nor do look-alike letters"),
        ("a b", ["a", "b"], {"conj": "and"}, 1, "and: all"),
        ("a", ["a", "b"], {"conj": "and"}, 0, "and: not one"),
        ("b", ["a", "b"], {"conj": "or"}, 1, "or: one"),
        ("", "a", {}, 0, "an empty answer"),
    ],
)
def test_rules(prediction: str, gold: Any, options: dict[str, Any], expected: int, why: str) -> None:
    """Each strict line of the rule's specification, with a case on either side."""
    verdict = match_text_strictly(prediction, gold, **options)
    assert verdict.value == expected, (why, verdict.reason)
    assert verdict.reason


@pytest.mark.parametrize(
    ("prediction", "gold", "options", "cause"),
    [
        ("it is 213", "1", {}, "part of a word"),
        ("New\u00a0York", "New York", {}, "spelling form"),
        ("New Yorker", "New Yorker", {"exclude": ["York"]}, "exclude inside a word"),
        ("Lon\u200bdon, Paris", "Paris", {"exclude": ["London"]}, "exclude"),
    ],
)
def test_flips_name_their_cause(prediction: str, gold: Any, options: dict[str, Any], cause: str) -> None:
    """Where the two rules differ the flip begins with what one of them overlooked."""
    score = SCORERS.load("string_match").function(prediction, gold=gold, **options)
    assert score.official != score.strict
    assert score.flip.partition(":")[0] == cause


@settings(max_examples=300, deadline=None)
@given(WORDS, st.lists(WORDS, max_size=3))
def test_a_word_between_spaces_is_found(gold: str, others: list[str]) -> None:
    """Gold between line breaks is found whatever stands around it, in any case of letters."""
    text = "\n".join([*others, gold.upper(), *others])
    folded = fold(gold)
    assert holds(fold(f"x {gold} x"), folded)
    assert match_text_strictly(text, gold.upper()).value == 1


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab1. é", max_size=12), st.text(alphabet="ab1é", min_size=1, max_size=3))
def test_holds_is_a_search_for_whole_words(text: str, part: str) -> None:
    """A text holds a word exactly where one of its words, cut at all but letters, digits and decimal points, is that word."""
    folded = fold(text)
    words, word = set(), ""
    for i, char in enumerate(folded + " "):
        point = char == "." and folded[i - 1 : i].isdigit() and folded[i + 1 : i + 2].isdigit()
        if char.isalnum() or point:
            word += char
        else:
            words.add(word)
            word = ""
    assert holds(folded, fold(part)) == (fold(part) in words)
