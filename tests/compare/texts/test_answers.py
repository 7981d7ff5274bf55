"""Texts and numbers in answers under both rules: official as the plain models have it, strict as a careful judge reads them, and claims."""

import json
import re
import sys
from collections.abc import Sequence
from typing import Any

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from evalsuite.compare import claims
from evalsuite.compare.answer_rules import (
    NUMBER,
    find_official_numbers,
    fold,
    match_number,
    match_number_strictly,
    match_text,
    match_text_strictly,
    occurrences,
)
from evalsuite.compare.characters import looks_like, spelled_out, visible
from evalsuite.compare.claims import Claims
from evalsuite.compare.numbers import exact_of
from evalsuite.compare.values import find_numbers
from evalsuite.scorers import SCORERS
from tests.compare.texts.test_values import CORPUS
from tests.models import strict_number
from tests.models.official_number import score_number
from tests.models.official_text import score_text
from tests.properties import LETTERS, examples

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


ODD_LETTERS = "abABßİıΣſ 1"
SHORT = st.text(ODD_LETTERS, max_size=5)


@examples(300)
@given(
    st.text(ODD_LETTERS, max_size=12),
    SHORT | st.lists(SHORT, min_size=1, max_size=3),
    st.sampled_from(["and", "or"]),
    st.lists(SHORT, max_size=2),
)
def test_any_answer_scores_as_the_model(answer: str, gold: Any, conj: Any, exclude: list[str]) -> None:
    """The score of any text equals the plain model's."""
    assert match_text(answer, gold, conj=conj, exclude=exclude).official == score_text(answer, gold, conj, exclude)


def test_cases_of_numbers() -> None:
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
def test_any_number_scores_as_the_model(answer: str, gold: Any, percentage: bool, precision: int, conj: Any, exclude: Any) -> None:
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


WORDS = st.text(alphabet="aAbé1 .-ßﬁ東\u00a0\u0301", min_size=1, max_size=6).filter(lambda text: bool(fold(text)))


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


DECIMALS = st.decimals(min_value=-2000, max_value=2000, allow_nan=False, places=4).map(lambda d: format(d, "f"))


def values(text: str) -> list[list[float]]:
    """The readings of each number in a text."""
    return [[float(exact_of(reading)) for reading in item.candidates] for item in find_numbers(text)]


FLIPS: list[tuple[str, Any, dict[str, Any], str]] = [
    ("-5", 5, {}, "sign"), ("-3.2", "-3.2", {}, "sign"), ("1.25e6", 1250000, {}, "number form"), ("12km", 12, {}, "number form"),
    (".5", 5, {}, "number form"), ("0.175", "17.5", {"percentage": True}, "percent form"), ("17.5 %", "17.5", {}, "percent form"),
    ("646.5", "6.465", {"percentage": True}, "percent form"), ("3 of 10", "0.3", {"percentage": True}, "percent form"),
    ("17 of 40", "0.43", {"percentage": True}, "rounding"), ("\uff11\uff17.5", "17.5", {"percentage": True, "conj": "and"}, "percent form"),
    ("\uff11\uff17.5", "17.5", {"conj": "and"}, ""), ("2604.24", "2604.2362912", {}, "rounding"),
    ("5.4", "5.3", {"abs_tol": 0.5}, "own tolerance"), ("9.00009", 9, {}, "tolerance by size"),
    ("In 2017 it was 17.5", "17.5", {}, "context numbers"), ("It is 17.5 % in 2019", "17.5", {"percentage": True}, "context numbers"),
    ("1.2 million in 2019", "1200000", {}, "number form"), ("42, 43", [42, 44], {"conj": "or"}, ""), ("1, 2, 3", [1, 2], {}, "hedged"),
    ("2020 and 7", 7, {}, ""), *((f"{year} and 7", 7, {}, "hedged") for year in ("-2020", "+2020", "2020%", "2020e1", "2020 k")),
    ("0.00003", "0.0", {}, "value taken for zero"), ("42 of York", 42, {"exclude": ["or"]}, "exclude inside a word"),
]  # fmt: skip
OF_TEXTS: list[tuple[str, Any, dict[str, Any], str]] = [
    ("it is 213", "1", {}, "part of a word"),
    ("New\u00a0York", "New York", {}, "spelling form"),
    ("1,000", "1000", {}, "number form"),
    ("1,000 in Lyon", ["1000", "Lyon"], {"conj": "and"}, "number form"),
    ("New Yorker", "New Yorker", {"exclude": ["York"]}, "exclude inside a word"),
    ("Lon\u200bdon, Paris", "Paris", {"exclude": ["London"]}, "exclude"),
]


@pytest.mark.parametrize(("scorer", "flips"), [("number_match", FLIPS), ("string_match", OF_TEXTS)])
def test_flips_name_their_cause(scorer: str, flips: list[tuple[str, Any, dict[str, Any], str]]) -> None:
    """Where the two rules differ the flip begins with what one of them overlooked."""
    for prediction, gold, options, cause in flips:
        score = SCORERS.load(scorer).function(prediction, gold=gold, **options)
        assert (score.official != score.strict) == bool(cause), (score.reason, score.strict_reason)
        assert score.flip.partition(":")[0] == cause


@examples(400)
@given(DECIMALS, DECIMALS, st.integers(0, 4), st.booleans(), st.booleans())
@example("0.0050", "0.005", 2, False, False)
@example("17.5000", "1750", 0, True, False)
def test_distance_equals_the_model(gold: str, other: str, decimals: int, percentage: bool, rounded: bool) -> None:
    """A number, gold's own rounded or any other, is gold exactly where the plain model says so."""
    shown = f"{float(gold):.{decimals}f}" if rounded else other
    for text in (shown, shown + "%"):
        expected = strict_number.numbers_equal(gold, text, percentage)
        assert match_number_strictly(text, gold, percentage=percentage).value == expected, text


@examples(200)
@given(st.text(alphabet="0123456789.,-+%eE ()\n$kMx\u2212", max_size=40), st.integers(-50, 50))
def test_any_text_gets_a_verdict(text: str, gold: int) -> None:
    """No text of digits and signs breaks the reader, and saying it twice changes no verdict for the better."""
    verdict = match_number_strictly(text, gold)
    assert verdict.value in (0, 1)
    assert verdict == match_number_strictly(text, gold)


@pytest.mark.parametrize(("unit", "value"), [("not 42 ", 0.0), ("42 is wrong. ", 0.0), ("42. ", 1.0), ("41, but 42. ", 0.0)])
def test_a_long_text_of_denials_is_read_up_to_a_limit(unit: str, value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more places of a text than the limit are read for denials; the verdict is that of a short text."""
    n_read = 0
    read = Claims._is_denied

    def count(claims: Claims, start: int, end: int) -> bool:
        nonlocal n_read
        n_read += 1
        return read(claims, start, end)

    monkeypatch.setattr(Claims, "_is_denied", count)
    monkeypatch.setattr("evalsuite.compare.claims._MOST_READ", 50)
    # No place has the surroundings of another: those are read once.
    short, long = ("".join(f"item{n} {unit}" for n in range(k)) for k in (3, 60))
    assert match_number_strictly(short, 42).value == value
    is_read, n_read = n_read > 0, 0
    assert (match_number_strictly(long, 42).value, n_read) == (value, 50 * is_read)


def test_an_answer_of_very_many_numbers_is_read_until_it_is_hedged() -> None:
    """After 1,001 different numbers of one gold the rest is not read, unless they all may be gold; repetitions are read to the end."""
    refused = match_number_strictly("; ".join(map(str, range(1100))), 42)
    assert (refused.value, refused.kind, refused.details["n_numbers"]) == (0, "hedged", 1002)
    assert "more than 1001 different numbers" in refused.reason
    near = [*(f"42.{n:04}" for n in range(1100)), "97"]
    assert match_number_strictly("; ".join(near[:-1]), 42, abs_tol=1).value == 1
    assert match_number_strictly("; ".join(near), 42, abs_tol=1).kind == "hedged"
    assert match_number_strictly("42; " * 1500, 42).value == 1


def read(text: str, golds: list[str], kind: str) -> list[Any]:
    """What a text claims of these golds, whether it claims something else, and where a contrast begins."""
    reading = claims._Reading(text, text.lower(), tuple(golds), kind)
    return [[text[start:end] for start, end in reading._claims], reading._is_rivalled, reading._contrast]


def overrules(text: str, golds: list[str], start: int, end: int) -> bool:
    """Whether a text overrules the name at a place."""
    return claims._Reading(text, text.lower(), tuple(golds), "name").overrules(start, end, has_none=False)


STEPS: dict[str, Any] = {
    "claims": read,
    "crossed": claims._is_crossed,
    "denial": lambda text: [claims._is_denial(text.split(), is_number=is_number) for is_number in (False, True)],
    "denies before": lambda text, before, place: claims._denies_before(text.split(), before, place),
    "denies behind": claims._denies_behind,
    "ends clause": lambda text: [claims._ends_clause(text.split(), k) for k in range(len(text.split()))],
    "ends sentence": lambda text: [claims._ends_sentence([(word, 0, 0) for word in text.split()], k) for k in range(len(text.split()))],
    "is like": lambda gold, text: [word for word in text.split() if claims._is_like(claims._kind_of(gold), word)],
    "list": lambda text: claims._denied_list(text.split()),
    "overrules": overrules,
    "subject": lambda text, k: [claims._subject_of(text.split(), k), [claims._begins_clause(text.split(), at) for at in range(k + 1)]],
    "superlatives": lambda text: list(filter(claims._is_superlative, text.split())),
    "words apart": lambda text: [
        claims._n_words_apart(text.split(), k, is_number=is_number) for is_number in (False, True) for k in range(len(text.split()))
    ],
    "words before": claims._words_before,
    "wrong word": lambda text: claims._wrong_word(text.split()),
}


def test_steps() -> None:
    """Every step says of each of its clauses what stands in the table."""
    rows = [json.loads(line) for line in (CORPUS / "claim_steps.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {step for step, _, _ in rows} == STEPS.keys()
    assert [[step, given, STEPS[step](*given)] for step, given, _ in rows] == rows
