"""The strict number rule: what a careful judge reads as a number, which numbers count, and how near they must be."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalsuite.compare.answer_rules import match_number_strictly
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


FLIPS: list[tuple[str, Any, dict[str, Any], str]] = [
    ("-5", 5, {}, "sign"),
    ("-3.2", "-3.2", {}, "sign"),
    ("1.25e6", 1250000, {}, "number form"),
    ("12km", 12, {}, "number form"),
    (".5", 5, {}, "number form"),
    ("0.175", "17.5", {"percentage": True}, "percent form"),
    ("17.5 %", "17.5", {}, "percent form"),
    ("646.5", "6.465", {"percentage": True}, "percent form"),
    ("3 of 10", "0.3", {"percentage": True}, "percent form"),
    ("17 of 40", "0.43", {"percentage": True}, "rounding"),
    ("\uff11\uff17.5", "17.5", {"percentage": True, "conj": "and"}, "percent form"),
    ("\uff11\uff17.5", "17.5", {"conj": "and"}, ""),
    ("2604.24", "2604.2362912", {}, "rounding"),
    ("5.4", "5.3", {"abs_tol": 0.5}, "own tolerance"),
    ("9.00009", 9, {}, "tolerance by size"),
    ("In 2017 it was 17.5", "17.5", {}, "context numbers"),
    ("It is 17.5 % in 2019", "17.5", {"percentage": True}, "context numbers"),
    ("1.2 million in 2019", "1200000", {}, "number form"),
    ("42, 43", [42, 44], {"conj": "or"}, ""),
    ("1, 2, 3", [1, 2], {}, "hedged"),
    ("2020 and 7", 7, {}, ""),
    *((f"{year} and 7", 7, {}, "hedged") for year in ("-2020", "+2020", "2020%", "2020e1", "2020 k")),
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
