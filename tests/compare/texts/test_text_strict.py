"""The strict text rule: whole words, folded forms, and exclusions that no disguise dodges."""

import json
import re
import unicodedata
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.compare.answer_rules import excluded_token, fold, match_text_strictly, occurrences
from evalsuite.compare.characters import looks_like, spelled_out, visible
from evalsuite.scorers import SCORERS
from tests.properties import examples

WORDS = st.text(alphabet="aAbé1 .-ßﬁ東\u00a0\u0301", min_size=1, max_size=6).filter(lambda text: bool(fold(text)))


RULES: list[tuple[str, Any, dict[str, Any], int, str]] = [
    ("it is 213", "1", {}, 0, "no part of a number"),
    ("it is 1", "1", {}, 1, "the number itself"),
    ("it is 1.", "1", {}, 1, "at the end of a sentence"),
    ("it is 1.5", "1", {}, 0, "decimals belong to the number"),
    ("1,2,3", "2", {}, 1, "a tight list"),
    ("Parisian", "Paris", {}, 0, "no part of a word"),
    ("**Paris**", "Paris", {}, 1, "marks are no letters"),
    ("level_end_quickplay", "end", {}, 0, "a name goes on over its underscores"),
    ("_end_", "end", {}, 1, "which markdown puts around words"),
    ("a.end, b/end, x@end, c#end", "end", {}, 0, "as over other signs"),
    ("the end. The end/ #end", "end", {}, 1, "that end there"),
    ("Paris\u2019s streets", "Paris", {}, 1, "a possessive is none of it"),
    ("O'Paris, Paris'st", "Paris", {}, 0, "another apostrophe is"),
    ("C#", "C", {}, 0, "signs that belong to a word"),
    ("C++ and C", "C", {}, 1, "and the word beside it"),
    ("\u6771\u4eac-\u5927\u962a", "\u6771\u4eac", {}, 1, "not in scripts without spaces"),
    ("/detail", "/detail", {}, 1, "a gold that begins with a mark"),
    ("x/detail", "/detail", {}, 1, "needs no boundary there"),
    ("-10", "-10", {}, 1, "a negative number"),
    ("\u221210", "-10", {}, 1, "with the true minus"),
    ("10", "-10", {}, 0, "is not its opposite"),
    ("1,000.50", "1000.5", {}, 1, "groups and zeros"),
    ("10.", "10", {}, 1, "the end of a sentence"),
    ("10%, _10_", "10", {}, 1, "percent and markdown"),
    ("v10 10km 10th x_10 10_x", "10", {}, 0, "no part of a word"),
    ("1e10 10e1 2^10 10^2", "10", {}, 0, "nor of a power"),
    ("10 - 12 1.2.10 10.12.2020 10:30 8/10", "10", {}, 0, "nor of ranges, versions, dates, times, fractions"),
    ("010 10\u00b2 \u2469 1\u00bd", "10", {}, 0, "nor of what only looks like it"),
    ("10\n200", "10", {}, 1, "lines are apart"),
    ("10 200", ["10", "200"], {"conj": "and"}, 1, "as are groups where one is a gold"),
    ("10 200", "10200", {}, 1, "else they are one number"),
    ("1, 2, 10, 20", "10", {}, 1, "a list with spaces"),
    ("10'000", "10", {}, 0, "another way to write groups"),
    ("007", "7", {}, 0, "a code is no number"),
    ("7", "007", {}, 0, "in either direction"),
    ("007", "007", {}, 1, "but itself"),
    ("東京都", "東京", {}, 1, "scripts without spaces have none"),
    ("not Paris", "Paris", {}, 0, "a denied text is no answer"),
    ("Paris or London", "Paris", {}, 0, "one of two alternatives"),
    ("Paris or London", "Paris", {"exclude": ["London"]}, 0, "and not with it"),
    ("New York City", "New York City", {"exclude": ["York"]}, 0, "an excluded word stands there"),
    ("New Yorker", "New Yorker", {"exclude": ["York"]}, 1, "no part of a word"),
    ("Paris", "Paris", {"exclude": "a"}, 1, "a bare text is one exclusion"),
    ("Paris, New-York", "Paris", {"exclude": ["New York"]}, 0, "however its words are joined"),
    ("Paris, L\u0336o\u0336n\u0336don", "Paris", {"exclude": ["London"]}, 0, "struck through"),
    ("Paris, \u039dew", "Paris", {"exclude": ["New"]}, 0, "capitals of another alphabet"),
    ("Paris, AIice", "Paris", {"exclude": ["Alice"]}, 0, "even of the same one"),
    ("All in Paris", "Paris", {"exclude": ["ALI"]}, 1, "which must look the same"),
    ("I say Paris", "Paris", {"exclude": ["1"]}, 1, "and be long enough"),
    ("Paris in \u041c\u043e\u0441\u043a\u0432\u0430", "Paris", {"exclude": ["Mockba"]}, 0, "both ways"),
    ("Paris, Mockba", "Paris", {"exclude": ["\u041c\u043e\u0441\u043a\u0432\u0430"]}, 0, "round"),
    ("Paris, L\u00f8ndon, L\u2800ima", "Paris", {"exclude": ["Lima"]}, 0, "an empty Braille cell"),
    ("Stra\u00dfe", "STRASSE", {}, 1, "case folding"),
    ("Cafe\u0301", "caf\u00e9", {}, 1, "composed and decomposed"),
    ("New\u00a0 York", "new york", {}, 1, "spaces"),
    ("\uff12\uff10", "20", {}, 1, "full-width digits"),
    ("Par\u200bis", "Paris", {}, 1, "zero-width characters"),
    ("Lon\u200bdon and Paris", "Paris", {"exclude": ["London"]}, 0, "do not hide an exclusion"),
    ("L\u043endon and Paris", "Paris", {"exclude": ["London"]}, 0, "nor do look-alike letters"),
    ("a b", ["a", "b"], {"conj": "and"}, 1, "and: all"),
    ("a", ["a", "b"], {"conj": "and"}, 0, "and: not one"),
    ("b", ["a", "b"], {"conj": "or"}, 1, "or: one"),
    ("Peru is close, but Chile has the most orders.", ["A1", "Peru"], {}, 0, "each gold is only mentioned next to names of its kind"),
    ("A1 is close, but Chile has the most orders.", ["A1", "Peru"], {}, 1, "and not next to names of another kind"),
    ("", "a", {}, 0, "an empty answer"),
]


def test_rules() -> None:
    """Each strict line of the rule's specification, with a case on either side."""
    for prediction, gold, options, expected, why in RULES:
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


def test_hidden_characters_are_unicodes() -> None:
    """What is never shown is what Unicode's table says is ignorable by default, each code point."""
    ignorable = regex.compile(r"\p{Default_Ignorable_Code_Point}")
    points = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
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
