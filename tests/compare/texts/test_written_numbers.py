"""Every text of the labelled table: what a careful judge says of it is what strict says."""

import json
from itertools import product
from typing import Any

import pytest

from evalsuite.compare.answer_rules import match_number_strictly, match_text_strictly
from evalsuite.compare.numbers import Tolerance
from evalsuite.compare.strict_columns import equal
from evalsuite.compare.values import read_cell
from tests.compare.texts.written_numbers import ANSWERS, CELLS

TEXTS = [(gold, text, value) for gold, sides in ANSWERS.items() for value, texts in zip((1, 0), sides, strict=True) for text in texts]


def test_the_table_is_large_enough() -> None:
    """At least 150 texts, right and wrong ones beside each gold."""
    assert len(set(TEXTS)) >= 150
    assert all(right and wrong for right, wrong in ANSWERS.values())


def value_of(gold: Any, text: str) -> float | None:
    """The strict verdict on a text."""
    listed = isinstance(gold, str) and gold.startswith("[")
    return match_number_strictly(text, json.loads(gold) if listed else gold, conj="and" if listed else "or").value


def test_numbers_in_answers() -> None:
    """Each text names its gold or does not."""
    assert [(gold, text, value_of(gold, text)) for gold, text, _ in TEXTS] == TEXTS


def test_numbers_in_cells() -> None:
    """Cells that are the gold cell, and cells that are not."""
    for gold, right, wrong in CELLS:
        told = {text: equal(read_cell(gold), read_cell(text), Tolerance()) for text in [*right, *wrong]}
        assert told == {text: text in right for text in told}, gold


def grouped(digits: str, parting: str) -> str:
    """Digits in groups of three, counted from the right."""
    first = len(digits) % 3 or 3
    return parting.join([digits[:first], *(digits[at : at + 3] for at in range(first, len(digits), 3))])


@pytest.mark.parametrize("first", "123456789")
def test_a_cell_is_the_number_that_was_written_into_it(first: str) -> None:
    """A whole number with each sign, currency and parting of groups is read as itself; behind a 0 it is text."""
    for n_digits, parting, currency in product(range(1, 13), ["", ",", "'", "’", " ", "\u00a0", "\u2009", "\u202f"], ["", *"$€£¥"]):
        digits = (first + "507283946012")[:n_digits]
        amount = currency + grouped(digits, parting)
        plus = [amount, f"+{amount}"]
        assert {text: read_cell(text) for text in plus} == dict.fromkeys(plus, int(digits))
        minus = [*(f"{sign}{amount}" for sign in "-‒–−"), f"({amount})"]
        assert {text: read_cell(text) for text in minus} == dict.fromkeys(minus, -int(digits))
        behind_zero = [f"{sign}{currency}0{grouped(digits, parting)}" for sign in ("", "-")]
        assert {text: read_cell(text) for text in behind_zero} == {text: ("text", text) for text in behind_zero}


@pytest.mark.parametrize("text", ["room 42A", "42A", "It is 42A."])
def test_a_name_with_a_letter_is_a_text(text: str) -> None:
    """`42A` is no quantity, but a gold text that it names."""
    assert match_text_strictly(text, "42A").value == 1
    assert match_text_strictly(text, "42").value == 0


@pytest.mark.parametrize(
    ("gold", "text", "value"),
    [("-3.2", "–3.2", 1), ("3.2", "–3.2", 0), ("-3.2", "minus 3.2", 1), ("3.2", "minus 3.2", 0), ("42", "$42k", 0), ("10", "10 000", 0)],
)
def test_a_text_gold_that_is_a_number(gold: str, text: str, value: int) -> None:
    """A number looked for as text has the signs of a number."""
    assert match_text_strictly(text, gold).value == value
