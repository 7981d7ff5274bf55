"""The strict text rule: whole words, folded forms, and exclusions that no disguise dodges."""

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.compare.answer_rules import excluded_token, find_word, fold, match_text_strictly, occurrences
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


def disguises() -> Iterator[tuple[str, str]]:
    """(a letter, a character of another alphabet that Unicode calls confusable with it)."""
    table = json.loads((files("confusable_homoglyphs") / "confusables.json").read_text(encoding="utf-8"))
    for char, entries in table.items():
        if len(char) == 1 and not char.isascii() and unicodedata.name(char, "").startswith(ALPHABETS):
            yield from ((entry["c"], char) for entry in entries if len(entry["c"]) == 1 and entry["c"].isascii() and entry["c"].isalnum())


ALPHABETS = ("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE", "LISU", "FULLWIDTH", "MATHEMATICAL")


def test_no_alphabet_hides_an_exclusion() -> None:
    """A letter of an excluded word may be replaced by any character that looks like it."""
    found = list(disguises())
    assert len(found) > 1000
    missed = [(letter, char) for letter, char in found if excluded_token(f"say a{char}b now", [f"a{letter}b"]) is None]
    assert missed == []


def test_what_a_character_stands_for() -> None:
    """Letters without their marks, ligatures and letters that are two in other alphabets; what also looks like another letter stays."""
    said = {"e": "e", "é": "e", "æ": "ae", "Œ": "oe", "ß": "ss", "ﬁ": "fi", "㎏": "kg", "ⅳ": "iv", "Ａ": "a", "²": "2", "ŉ": "ʼn"}
    said |= {char: char for char in "øłðþđıᴀ٣о"}
    assert {char: spelled_out(char) for char in said} == said
    letters = {"l": "l", "I": "i", "é": "e", "ø": "o", "ł": "l", "đ": "d", "ᴀ": "a", "ʟ": "l", "о": "o", "Ꮃ": "w", "ǀ": "i1l", "ⵔ": "o0"}
    assert {char: "".join(sorted(filter(str.isascii, looks_like(char)))) for char in letters} == {
        char: "".join(sorted(text)) for char, text in letters.items()
    }


def test_nothing_invisible_hides_an_exclusion() -> None:
    """Nor do characters that are never shown, nor marks over its letters."""
    hidden = [chr(code) for code in range(0x20, 0x20000) if visible(chr(code)) == "" or unicodedata.category(chr(code)) in ("Mn", "Me")]
    assert len(hidden) > 1500
    assert [char for char in hidden if excluded_token(f"say Lo{char}ndon", ["London"]) is None] == []


@pytest.mark.parametrize(
    ("text", "part", "word"),
    [
        ("apart of it", "part", "apart"), ("a part of it", "part", "part of"), ("a part of", "part", "part of"), ("a part", "part", "part"),
        ("part", "part", "part"), ("parts", "part", "parts"),
        ("x part- y z", "part", "part-"), ("a b", "a b", "a b"), ("a b c d", "b", "b c"),
    ],
)  # fmt: skip
def test_the_word_around_a_part(text: str, part: str, word: str) -> None:
    """Up to the next spaces, with the neighbour if that is only the part itself."""
    assert find_word(text, part) == word


def test_a_thousand_doubts_are_enough() -> None:
    """An answer that denies gold at a thousand places does not name it, whatever follows."""
    assert match_text_strictly("not Paris. " * 1000 + "It is Paris.", "Paris").value == 0
