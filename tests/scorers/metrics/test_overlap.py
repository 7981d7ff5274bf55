"""Exact match, token F1, word counts and edit distances: tables of cases beside the recorded ones."""

from typing import Any

import pytest

from evalsuite.scorers.metrics import get_metric
from evalsuite.scorers.metrics.prose import words

EXACT: list[tuple[str, str, dict[str, Any], float]] = [
    ("Paris", "Paris", {}, 1),
    ("paris", "Paris", {}, 0),
    ("paris", "Paris", {"ignore_case": True}, 1),
    (" Paris\u00a0", "Paris", {}, 1),
    (" Paris", "Paris", {"normalize_whitespace": False}, 0),
    ("cafe\u0301", "café", {}, 1),
    ("cafe\u0301", "café", {"variant": "issue_literal"}, 0),
    ("STRASSE", "straße", {"ignore_case": True}, 1),
    ("hello !", "hello", {"ignore_punctuation": True}, 1),
    ("hello !", "hello", {"ignore_punctuation": True, "variant": "issue_literal"}, 0),
    ("a \n b", "a b", {"variant": "issue_literal"}, 1),
    ("a  b", "a b", {"variant": "issue_literal", "normalize_whitespace": False}, 0),
    ("«Да»", "Да", {"ignore_punctuation": True}, 1),
    ("价格：5$", "价格5", {"ignore_punctuation": True}, 1),
    ("5 €", "5", {"ignore_punctuation": True}, 0),
    ("ﬁn", "fin", {}, 0),
    ("the Paris!", "Paris", {"variant": "squad"}, 1),
    ("Paris", "paris", {"variant": "arthur", "ignore_case": True}, 1),
    ("Paris ", "Paris", {"variant": "arthur"}, 0),
]
F1: list[tuple[str, str, dict[str, Any], float]] = [
    ("the cat sat", "a cat sat", {}, 1),
    ("Paris.", "paris", {}, 1),
    ("", "", {}, 1),
    ("the", "a", {}, 1),
    ("", "x", {}, 0),
    ("Paris.", "paris", {"variant": "multiset"}, 0),
    ("a a", "a a", {"variant": "multiset"}, 1),
    ("a a", "a a", {"variant": "issue_set"}, 0.5),
    ("a b  ", "a b", {"variant": "issue_set"}, 1),
    (" a b", "a b", {"variant": "issue_set"}, 0.8),
    ("the cat", "cat", {"normalize_whitespace": False}, 2 / 3),
    ("the  cat", "the cat", {"normalize_whitespace": False}, 0.8),
    ("The Cat", "cat", {"ignore_case": False}, 0),
    ("The cat", "cat", {"ignore_case": False}, 1),
    ("cat!", "cat", {"ignore_punctuation": False}, 0),
    ("cat!", "cat", {"variant": "multiset", "ignore_punctuation": True}, 1),
    ("the cat", "cat", {"variant": "multiset"}, 2 / 3),
    ("", "", {"variant": "desiru_repo"}, 0),
    ("日本語", "日本", {}, 0),
    ("日本語", "日本", {"tokens": "char"}, 0.8),
    ("日本 go", "日本", {"tokens": "regex"}, 0.8),
    ("Ёлка!", "ёлка", {"tokens": "regex"}, 1),
    ("Ёлка!", "ёлка", {"tokens": "regex", "ignore_case": False}, 0),
    ("“Paris”, I", "paris, i", {}, 0.5),
    ("“Paris”, I", "paris, i", {"ignore_case": True}, 0.5),
    ("“Paris”, I", "Paris, I", {"ignore_case": False}, 0.5),
    ("“Paris”, I", "paris, i", {"ignore_punctuation": True}, 1),
]


@pytest.mark.parametrize(("prediction", "reference", "options", "expected"), EXACT)
def test_exact_match(prediction: str, reference: str, options: dict[str, Any], expected: float) -> None:
    """Each flag and variant does what it says."""
    assert get_metric("exact_match", **options)(prediction, reference) == expected


def test_two_texts_of_punctuation_are_equal_with_a_note() -> None:
    """Dropping punctuation can empty both sides: that match is said."""
    found = get_metric("exact_match", ignore_punctuation=True).detailed_evaluate("!!!", "???")
    assert found.value == 1
    assert found.details == {"category": "match", "note": "both texts are empty after normalisation"}


@pytest.mark.parametrize(("prediction", "reference", "options", "expected"), F1)
def test_f1(prediction: str, reference: str, options: dict[str, Any], expected: float) -> None:
    """Each variant and way of cutting gives its own value."""
    assert get_metric("f1", **options)(prediction, reference) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("don't stop", ["don't", "stop"]),
        ("'quoted' words", ["quoted", "words"]),
        ("well-known fact", ["wellknown", "fact"]),
        ("we'll, they've", ["we'll", "they've"]),
        ("rock 'n' roll", ["rock", "n", "roll"]),
        ("a - b", ["a", "b"]),
        ("...", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    """Apostrophes of contractions stay, other signs go without leaving a space."""
    assert words(text) == expected


@pytest.mark.parametrize(("edits", "distance", "similarity"), [("levenshtein", 2, 0.5), ("damerau", 1, 0.75), ("indel", 2, 0.75)])
def test_edits(edits: str, distance: float, similarity: float) -> None:
    """A swap of neighbours is two edits, one with damerau; indel divides by both lengths."""
    assert get_metric("levenshtein_distance", edits=edits)("abdc", "abcd") == distance
    assert get_metric("levenshtein", edits=edits)("abdc", "abcd") == similarity
