"""The strict text rule: whole words, folded forms, and exclusions that no disguise dodges."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.compare.answer_rules import fold, match_text_strictly, occurrences
from evalsuite.compare.characters import looks_like, spelled_out, visible
from evalsuite.scorers import SCORERS
from tests.properties import examples

WORDS = st.text(alphabet="aAbé1 .-ßﬁ東\u00a0\u0301", min_size=1, max_size=6).filter(lambda text: bool(fold(text)))


@pytest.mark.parametrize(
    ("prediction", "gold", "options", "cause"),
    [
        ("it is 213", "1", {}, "part of a word"),
        ("New\u00a0York", "New York", {}, "spelling form"),
        ("1,000", "1000", {}, "number form"),
        ("1,000 in Lyon", ["1000", "Lyon"], {"conj": "and"}, "number form"),
        ("New Yorker", "New Yorker", {"exclude": ["York"]}, "exclude inside a word"),
        ("Lon\u200bdon, Paris", "Paris", {"exclude": ["London"]}, "exclude"),
    ],
)
def test_flips_name_their_cause(prediction: str, gold: Any, options: dict[str, Any], cause: str) -> None:
    """Where the two rules differ the flip begins with what one of them overlooked."""
    score = SCORERS.load("string_match").function(prediction, gold=gold, **options)
    assert score.official != score.strict
    assert score.flip.partition(":")[0] == cause


@examples(300)
@given(WORDS, st.lists(WORDS, max_size=3))
def test_a_word_between_spaces_is_found(gold: str, others: list[str]) -> None:
    """Gold between line breaks is found whatever stands around it, in any case of letters."""
    text = "\n".join([*others, gold.upper(), *others])
    folded = fold(gold)
    assert any(occurrences(fold(f"x {gold} x"), folded))
    assert match_text_strictly(text, gold.upper()).value == 1


@examples(300)
@given(st.text(alphabet="ab1. é'-s+", max_size=12), st.text(alphabet="ab1é", min_size=1, max_size=3))
def test_occurrences_are_whole_tokens(text: str, part: str) -> None:
    """A text contains a word exactly where one of its tokens is that word: letters and digits, joined by single signs, ended by `+`."""
    folded = fold(text)
    tokens = set()
    for match in re.finditer(r"[^\W_]+(?:[-.'+][^\W_]+)*\+?", folded):
        tokens |= {match[0], *(match[0][: own.start()] for own in re.finditer(r"'s(?![^\W_])", match[0]))}
    assert any(occurrences(folded, fold(part))) == (fold(part) in tokens)


@pytest.mark.parametrize("planes", [(0, 1, 14), pytest.param(range(17), marks=pytest.mark.slow)], ids=str)
def test_hidden_characters_are_unicodes(planes: Sequence[int]) -> None:
    """What is never shown is what Unicode's table says is ignorable by default, each code point of the planes with such ones, or of all."""
    ignorable = regex.compile(r"\p{Default_Ignorable_Code_Point}")
    points = [chr(code) for plane in planes for code in range(plane << 16, plane + 1 << 16) if not 0xD800 <= code < 0xE000]
    assert [char for char in points if (visible(char) == "") != bool(ignorable.match(char))] == []


def test_what_a_character_stands_for() -> None:
    """Letters without their marks, ligatures and letters that are two in other alphabets; what also looks like another letter stays."""
    said = {"e": "e", "é": "e", "æ": "ae", "Œ": "oe", "ß": "ss", "ﬁ": "fi", "㎏": "kg", "ⅳ": "iv", "Ａ": "a", "²": "2", "ŉ": "ʼn"}
    said |= {char: char for char in "øłðþđıᴀ٣о"}
    assert {char: spelled_out(char) for char in said} == said
    letters = {"l": "l", "I": "i", "é": "e", "ø": "o", "ł": "l", "đ": "d", "ᴀ": "a", "ʟ": "l", "о": "o", "Ꮃ": "w", "ǀ": "i1l", "ⵔ": "o0"}
    assert {char: "".join(sorted(filter(str.isascii, looks_like(char)))) for char in letters} == {
        char: "".join(sorted(text)) for char, text in letters.items()
    }
