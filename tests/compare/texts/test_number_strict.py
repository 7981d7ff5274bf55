"""The strict number rule: what a careful judge reads as a number, which numbers count, and how near they must be."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalsuite.compare.answer_rules import match_number_strictly, match_text_strictly
from evalsuite.compare.claims import Claims
from evalsuite.compare.numbers import exact_of
from evalsuite.compare.values import find_numbers
from evalsuite.scorers import SCORERS
from tests.models import strict_number
from tests.properties import examples

DECIMALS = st.decimals(min_value=-2000, max_value=2000, allow_nan=False, places=4).map(lambda d: format(d, "f"))


def values(text: str) -> list[list[float]]:
    """The readings of each number in a text."""
    return [[float(exact_of(reading)) for reading in item.candidates] for item in find_numbers(text)]


READ: list[tuple[str, list[list[float]], str]] = [
    ("-5", [[-5]], "a sign touches its number"),
    ("\u22125", [[-5]], "the true minus is one"),
    ("+5", [[5]], "a plus says nothing"),
    ("+-5", [[-5]], "of two signs the nearer one counts"),
    ("-$5", [[-5]], "a currency may stand between"),
    ("$-5", [[-5]], "on either side"),
    ("($5)", [[-5]], "accounting parentheses around a currency sign as the whole answer"),
    ("(5)", [[5]], "without one they are brackets"),
    ("Net: ($5)", [[-5]], "or as what is said of something"),
    ("five ($5)", [[5]], "but no apposition"),
    ("profit (5)", [[5]], "but not inside a sentence"),
    ("- 5\n- 7", [[5], [7]], "bullets are no signs"),
    ("Berlin - 5", [[5]], "a dash is no sign"),
    ("change: - 5", [[-5]], "behind a colon it is one"),
    ("5-7", [[5], [7]], "a range has two positive numbers"),
    ("5 - 7", [[5], [7]], "with spaces too"),
    ("-2--1", [[-2], [-1]], "and signs of its own"),
    (".5", [[0.5]], "a leading point"),
    ("1e5 and 1.5E-3", [[100000.0], [0.0015]], "scientific notation"),
    ("1,234,567", [[1234567]], "groups of thousands"),
    ("700,500", [[700500]], "one number"),
    ("700, 500", [[700], [500]], "a list, with a space"),
    ("12,34", [[12.34]], "a decimal comma"),
    ("1 234", [[1234]], "spaces make groups"),
    ("1 23", [[1], [23]], "of three digits"),
    ("17.5%", [[0.175]], "percent divides by 100"),
    ("17.5 %", [[0.175]], "with a space too"),
    ("12km, 3 m", [[12], [3]], "units are accepted"),
    ("1.5M", [[1500000]], "a letter of scale is part of the number"),
    ("1.25 million", [[1.25, 1250000]], "a scale word as well"),
    ("V8 x12 b_3", [], "identifiers hold no numbers"),
    ("GPT-4, A\u201117-42, covid-19b", [], "a hyphen joins them to a word"),
    ("EUR-5", [[-5]], "a currency is no such word"),
    ("At 10:30 or 7:05 pm, 10:30:15", [], "clock times"),
    ("16:70 1:2", [[16], [70], [1], [2]], "and what is none"),
    ("4\u00b2 \u2463\u2461 \u2474 1\u00bd \u00bd 4\u20e3", [], "superscripts, enclosed digits, fractions"),
    ("12 m\u00b2, 12m\u00b2", [[12], [12]], "the exponent belongs to the unit"),
    ("4\u03362", [], "digits struck through are none"),
    ("2020-01-02 and 1.2.3", [], "ISO dates and versions are no numbers"),
    ("2020-01-02T10:00:00Z", [], "nor are timestamps"),
    ("\uff11\uff12", [[12]], "full-width digits (NFKC)"),
    ("1\u200b2", [[12]], "zero-width characters are not there"),
    ("3rd", [[3]], "an ordinal is read (and context)"),
]


def test_reading() -> None:
    """What is a number in a text, and which."""
    assert [(text, values(text), why) for text, _, why in READ] == READ


RULES: list[tuple[str, Any, dict[str, Any], int, str]] = [
    ("-5", 5, {}, 0, "signs count"),
    ("5", "-5", {}, 0, "in both directions"),
    ("\u22123.2", "-3.2", {}, 1, "the true minus"),
    ("On 2017-03-14 it was 17.5", "17.5", {}, 1, "dates do not disqualify"),
    ("In 2017 it was 17.5", "17.5", {}, 1, "nor do years beside other numbers"),
    ("17.5, again 17.5", "17.5", {}, 1, "nor do repeats"),
    ("17.5 or 18.5", "17.5", {}, 0, "two candidates do"),
    ("42 to 50 %", 42, {}, 0, "as do the ends of a range"),
    ("42 - 50 million", 42, {}, 0, "whatever its sign or scale"),
    ("1 234 to 42", 42, {}, 0, "or groups of thousands"),
    ("1 234 567 and 42.", 42, {}, 0, "as numbers of their own"),
    ("March 5, 2017: 42", 42, {}, 1, "written dates are context"),
    ("1. 42", 42, {}, 1, "list markers are context"),
    ("It rose 3rd time to 42", 42, {}, 1, "ordinals are context"),
    ("GPT-4 says 42", 42, {}, 1, "numbers joined to a word are context"),
    ("2017", 2017, {}, 1, "a year that is gold"),
    ("2017 or 2018", 2017, {}, 0, "years are candidates where gold is one"),
    ("In 2017, 2018", 17, {}, 0, "years alone are candidates"),
    (" or ".join(map(str, range(50))), 42, {}, 0, "an integer gold takes no dump either"),
    ("1, 2, 3", [1, 2], {"conj": "and"}, 0, "more candidates than golds"),
    ("1, 2", [1, 2], {"conj": "and"}, 1, "as many"),
    ("2, 2, 1", [1, 2], {"conj": "and"}, 1, "repeats are one candidate"),
    ("1, 3", [1, 2], {"conj": "or"}, 1, "at most len(gold) candidates, one is gold"),
    ("5", [5, 5], {"conj": "and"}, 1, "a repeated gold asks for one"),
    ("1.25e6", 1250000, {}, 1, "scientific notation"),
    ("1e3", "1e3", {}, 1, "on both sides"),
    ("12km", 12, {}, 1, "units"),
    ("1.5M", 1500000, {}, 1, "scaled"),
    ("1.5M", "1.5", {}, 0, "and not plain"),
    ("1.25 million", 1250000, {}, 1, "in words"),
    ("a V8 engine", 8, {}, 0, "identifiers are no numbers"),
    ("x12", 12, {}, 0, "whatever the letter"),
    (".5", "0.5", {}, 1, "a leading point"),
    (".5", 5, {}, 0, "is no 5"),
    ("700,500", "700500", {}, 1, "groups of thousands"),
    ("1, 234", [1, 234], {"conj": "and"}, 1, "a comma list with spaces is a list"),
    ("version 1.2.3", 2, {}, 0, "versions are no numbers"),
    ("2017-12-05", 12, {}, 0, "nor are dates"),
    ("\uff14\uff12", 42, {}, 1, "full-width digits"),
    ("17.5 %", "17.5%", {}, 1, "the space is allowed"),
    ("17.5%", "17.5", {}, 0, "a percent sign divides"),
    ("17.5%", "17.5", {"percentage": True}, 1, "unless shares may be percent"),
    ("0.175", "17.5", {"percentage": True}, 1, "as a fraction"),
    ("1750", "17.5", {"percentage": True}, 0, "not a hundredfold"),
    ("17.5", "0.175", {"percentage": True}, 1, "a share as percent"),
    ("17.5%", "0.175", {"percentage": True}, 1, "with its sign"),
    ("0", "0", {"percentage": True}, 1, "zero is zero"),
    ("17.5%, 20", ["0.175", "0.2"], {"percentage": True, "conj": "and"}, 1, "one form each"),
    ("2604.24", "2604.2362912", {}, 1, "rounded as shown"),
    ("2604.2", "2604.2362912", {}, 1, "one decimal, five digits"),
    ("3000", "2604.2362912", {}, 0, "not rounded to thousands"),
    ("8", "7.76", {}, 0, "one digit is too few"),
    ("7.8", "7.76", {}, 1, "two are enough"),
    ("20", "19.998", {}, 1, "zeros may have been dropped"),
    ("62.5%", "0.62499", {}, 1, "in the units as written"),
    ("62%", "0.62499", {}, 0, "where two digits are no rounding to a whole number"),
    ("17.4961", "17.5", {}, 1, "gold may have been rounded"),
    ("42.004", "42.0", {}, 0, "a whole gold is that number"),
    ("1.2 million", "1234567.5", {}, 0, "a scaled number is exact"),
    ("3rd of 20", 3, {}, 1, "context names a gold among few numbers"),
    ("1st, 2nd or 3rd", 2, {}, 0, "and not among many"),
    ("2nd or 3rd", 3, {}, 0, "nor one of two"),
    ("3rd, 17 of 20", [3, 17, 20], {}, 1, "many is more than golds and one"),
    ("0", "0.00003", {}, 0, "zero only equals zero"),
    ("0.00003", "0", {}, 0, "on both sides"),
    ("0.0", "0", {}, 1, "however it is written"),
    ("0.125", "0.125", {}, 1, "exact"),
    ("0.12", "0.125", {}, 1, "halves to even"),
    ("0.13", "0.125", {}, 1, "halves up"),
    ("5.0001", 5, {}, 0, "no absolute edge"),
    ("42 but not 43", 42, {"exclude": ["43"]}, 0, "exclude"),
    ("142", 142, {"exclude": ["42"]}, 1, "as whole tokens"),
    ("80502.5", "80502.5", {"exclude": ["80502"]}, 0, "and finds more than a gold does"),
    ("5.004", 5, {"precision": 2}, 1, "a precision of its own widens"),
    ("5.4", 5, {"abs_tol": 0.5}, 1, "so does abs_tol"),
    ("5.4", 5, {"rel_tol": 0.1}, 1, "and rel_tol"),
    ("none", 5, {}, 0, "no number at all"),
    ("", 5, {}, 0, "an empty answer"),
]


def test_rules() -> None:
    """Each strict line of the rule's specification, with a case on either side."""
    for prediction, gold, options, expected, why in RULES:
        verdict = match_number_strictly(prediction, gold, **options)
        assert verdict.value == expected, (why, verdict.reason)
        assert verdict.reason


FLIPS: list[tuple[str, Any, dict[str, Any], str]] = [
    ("-5", 5, {}, "sign"),
    ("-3.2", "-3.2", {}, "sign"),
    ("1.25e6", 1250000, {}, "number form"),
    ("12km", 12, {}, "number form"),
    (".5", 5, {}, "number form"),
    ("0.175", "17.5", {"percentage": True}, "percent form"),
    ("17.5 %", "17.5", {}, "percent form"),
    ("646.5", "6.465", {"percentage": True}, "percent form"),
    ("\uff11\uff17.5", "17.5", {"percentage": True, "conj": "and"}, "percent form"),
    ("\uff11\uff17.5", "17.5", {"conj": "and"}, ""),
    ("2604.24", "2604.2362912", {}, "rounding"),
    ("5.4", "5.3", {"abs_tol": 0.5}, "own tolerance"),
    ("9.00009", 9, {}, "tolerance by size"),
    ("In 2017 it was 17.5", "17.5", {}, "context numbers"),
    ("42, 43", [42, 44], {"conj": "or"}, ""),
    ("1, 2, 3", [1, 2], {}, "hedged"),
    ("0.00003", "0.0", {}, "value taken for zero"),
    ("42 of York", 42, {"exclude": ["or"]}, "exclude inside a word"),
]


def test_flips_name_their_cause() -> None:
    """Where the two rules differ the flip begins with what one of them overlooked."""
    for prediction, gold, options, cause in FLIPS:
        score = SCORERS.load("number_match").function(prediction, gold=gold, **options)
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
    """At most 2,000 places of a text are read for denials; the verdict is that of a short text."""
    n_read = 0
    read = Claims._is_denied

    def count(claims: Claims, start: int, end: int) -> bool:
        nonlocal n_read
        n_read += 1
        return read(claims, start, end)

    monkeypatch.setattr(Claims, "_is_denied", count)
    assert match_number_strictly(unit * 3, 42).value == match_number_strictly(unit * 5_000, 42).value == value
    assert n_read <= 2_000 + 6


def test_an_answer_of_very_many_numbers_is_read_until_it_is_hedged() -> None:
    """After 1,001 different numbers of one gold the rest is not read, unless they all may be gold; repetitions are read to the end."""
    refused = match_number_strictly("; ".join(map(str, range(10_000))), 42)
    assert (refused.value, refused.kind, refused.details["n_numbers"]) == (0, "hedged", 1002)
    assert "more than 1001 different numbers" in refused.reason
    near = [*(f"42.{n:04}" for n in range(2000)), "97"]
    assert match_number_strictly("; ".join(near[:-1]), 42, abs_tol=1).value == 1
    assert match_number_strictly("; ".join(near), 42, abs_tol=1).kind == "hedged"
    assert match_number_strictly("42; " * 5000, 42).value == 1


def test_a_reason_about_a_part_says_so() -> None:
    """An answer that declares something else than gold is not said to lack it everywhere; a whole answer has no such words."""
    part = ", in the part of the answer that counts"
    assert match_number_strictly("42 is close, but the answer is 58", 42).reason == f"gold 42 is missing: closest is 58{part}"
    assert match_number_strictly("It was 42. Final answer: unknown", 42).reason == f"no number in the answer{part}"
    assert match_text_strictly("Peru is close, but the answer is Chile", "Peru").reason == f"the answer lacks the gold text{part}"
    assert match_text_strictly("Chile", "Peru").reason == "the answer lacks the gold text"
    assert match_number_strictly("Final answer: 42", 42).reason == "contains 42"
