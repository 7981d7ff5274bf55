"""Texts with the gold that each may or may not be: strict accepts at most 1 % of the wrong ones and refuses at most 3 % of the right ones.

The corpus (tests/data/values) was written for this test, right and wrong texts for each gold; the labels are what a careful person says.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.compare.answer_rules import match_number_strictly, match_text_strictly
from evalsuite.compare.number_columns import plain_words
from evalsuite.compare.numbers import Number, Tolerance
from evalsuite.compare.packed_text import pack_lists
from evalsuite.compare.strict_columns import equal
from evalsuite.compare.values import (
    Percent,
    find_numbers,
    number_at_start,
    number_in_locale,
    number_readings,
    plain_amounts,
    read_cell,
)
from tests.conftest import ROOT
from tests.models import strict_table
from tests.properties import examples

CORPUS = ROOT / "tests" / "data" / "values"
FEWEST = {"numbers": 3_500, "cells": 700, "texts": 2_000}


def rows_of(name: str) -> list[dict[str, Any]]:
    """The rows of a corpus."""
    return [json.loads(line) for line in (CORPUS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def _cells_equal(gold: str, text: str, **parameters: Any) -> bool:
    pair = [read_cell(gold, **parameters), read_cell(text, **parameters)]
    readings = [[getattr(cell, reading) if isinstance(cell, Percent) else cell for cell in pair] for reading in ("figure", "share")]
    return any(equal(g, p, Tolerance()) for g, p in readings)


def verdict(name: str, row: Mapping[str, Any]) -> int:
    """The strict verdict on a row of the corpus."""
    parameters = row.get("parameters", {})
    if name == "cells":
        return int(_cells_equal(row["gold"], row["text"], **parameters))
    match = match_number_strictly if name == "numbers" else match_text_strictly
    return int(match(row["text"], row["gold"], **parameters).value or 0)


@pytest.mark.parametrize("name", FEWEST)
def test_wrong_texts_are_refused_and_right_ones_accepted(name: str) -> None:
    """Every one, but for those that are marked as missed: few enough of the wrong and of the right ones."""
    rows = rows_of(name)
    assert len(rows) >= FEWEST[name]
    assert len({row["style"] for row in rows}) >= 3
    assert [row for row in rows if verdict(name, row) != (row["right"] ^ row.get("missed", 0))] == []
    for label, most in ((0, 0.01), (1, 0.03)):
        missed = [row.get("missed", 0) for row in rows if row["right"] == label]
        assert sum(missed) <= most * len(missed)


def _amounts(digits: str, marks: str, around: str) -> str:
    whole, _, part = digits.partition(".")
    sign, whole = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    first = len(whole) % 3 or 3
    grouped = whole if marks[0] == "0" else marks[0].join([whole[:first], *(whole[at : at + 3] for at in range(first, len(whole), 3))])
    return around.format(sign + (f"{grouped}{marks[1]}{part}" if part else grouped))


DIGITS = ["0", "5", "12", "1234", "45678", "-1234", "1234567", "20230105", "0.5", "12.3456", "1234.5", "-1234567.891", "7.250"]
AROUND = ["{}", "{}", "${}", "€{}", "{} €", "USD {}", "{} EUR", "US${}", "({})", "(${})", "${}k", "{}M", "€{}M", "{}%", "–{}"]
AMOUNTS = st.builds(
    _amounts, st.sampled_from(DIGITS), st.sampled_from(["0.", "0,", ",.", ".,", " .", " ,", "'.", "\u202f,"]), st.sampled_from(AROUND)
)
DAYS = ["%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%B %d, %Y", "%d %b %Y", "%d-%b-%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y%m%d"]
CLOCKS = ["", "", "", " %H:%M", " %H:%M:%S", "T%H:%M:%S", " %I:%M %p", " %H:%M:%S UTC"]
MOMENTS = st.builds(
    lambda moment, day, clock: moment.strftime(day + clock),
    st.sampled_from([datetime(year, month, day, 13, 0, 15) for year in (1999, 2023) for month in (1, 5, 12) for day in (1, 5, 12, 13)]),
    st.sampled_from(DAYS),
    st.sampled_from(CLOCKS),
)
WORDS = st.sampled_from(
    ["", *["NULL", "\\N", "#NA", "none", "true", "007", "A-17", "V8", "3/4", "12:30", "Paris", "May", "Q1 2023", "2023-01"]]
)


@examples(500)
@given(
    st.from_regex(r"[0-9]{0,12}\.?[0-9]{1,12}", fullmatch=True, alphabet="0123456789."),
    st.frozensets(st.sampled_from(["0", "1", "12", "42", "100"])),
)
def test_a_bare_number_is_read_as_in_a_text(text: str, apart: frozenset[str]) -> None:
    """A text that is nothing but a number has the value that the same number has on a line of its own."""
    assert find_numbers(text, apart) == find_numbers(f"{text}\n", apart)


@examples(500)
@given(st.lists(AMOUNTS | MOMENTS | WORDS, min_size=8, max_size=8))
def test_cells_are_those_of_the_model(texts: list[str]) -> None:
    """Two cells are equal exactly where the plain model of the tests says so."""
    for gold, text in product(texts, texts):
        assert _cells_equal(gold, text) == strict_table.cells_equal(gold, text), (gold, text)


@examples(300)
@given(st.lists(AMOUNTS | MOMENTS | WORDS, min_size=1, max_size=8))
def test_plain_words_are_only_texts(texts: list[str]) -> None:
    """Two different texts of columns that are compared as text are never equal cells."""
    blocks = [next(iter(pack_lists([[text]]).blocks())) for text in texts]
    plain = [text for text, block in zip(texts, blocks, strict=True) if plain_words(block).all()]
    assert [(a, b) for a, b in combinations(plain, 2) if a != b and _cells_equal(a, b)] == []


@examples(500)
@given(AMOUNTS | st.from_regex(r"[+-]?[$€]?[+-]?[0-9]{1,4}(,[0-9]{3}){0,3}(\.[0-9]{0,3})?", fullmatch=True, alphabet="0123456789.,+-$€"))
def test_a_plain_amount_is_what_the_reader_of_cells_reads(text: str) -> None:
    """`plain_amounts` gives the number of the same value and decimals, or leaves the text to `read_cell`."""
    if (plain := plain_amounts([text])[0]) is not None:
        assert read_cell(text) == read_cell(plain)
        assert isinstance(read_cell(plain), int | Number)


SCALES = {3: "k K thousand", 6: "m M MM mn mln mio million millones millionen", 9: "b B bn bln billion milliarden mrd"}
SCALES |= {5: "lakh", 7: "crore", 12: "T tn trn trillion"}


READINGS = {
    "-5 km": "-5 with a unit or currency",
    "\u22121,234": "-1234 with thousands separators; -1.234 with a decimal comma",
    "3,5": "3.5 with a decimal comma",
    "1.234": "1.234 in another form; 1234 with thousands separators",
    "1.234,5": "1234.5 with a decimal comma",
    "12 %": "12 with a percent sign; 0.12 with a percent sign",
    "-3,5%": "-3.5 with a percent sign; -0.035 with a percent sign",
    "12k": "12 with a unit or currency; 12000 in thousands",
    "1'234": "1234 with thousands separators",
    "-12": "-12 in another form",
    "abc": "",
}


def test_every_reading_of_a_number() -> None:
    """A text with one number in each form that people write, with its sign."""
    assert {text: "; ".join(f"{number:f} {way}" for number, way in number_readings(text)) for text in READINGS} == READINGS


def test_a_text_without_a_number_begins_with_none() -> None:
    """Neither words nor nothing is a number."""
    assert number_at_start("abc") is number_at_start("") is None


def grouped(digits: str, parting: str) -> str:
    """Digits in groups of three, counted from the right."""
    first = len(digits) % 3 or 3
    return parting.join([digits[:first], *(digits[at : at + 3] for at in range(first, len(digits), 3))])


@pytest.mark.parametrize(
    ("gold", "text", "value"),
    [("-3.2", "–3.2", 1), ("3.2", "–3.2", 0), ("-3.2", "minus 3.2", 1), ("3.2", "minus 3.2", 0), ("42", "$42k", 0), ("10", "10 000", 0)],
)
def test_a_text_gold_that_is_a_number(gold: str, text: str, value: int) -> None:
    """A number looked for as text has the signs of a number."""
    assert match_text_strictly(text, gold).value == value


@pytest.mark.parametrize(
    ("text", "locale", "number"),
    [
        ("1.5", "", 1.5), ("1,5", "de", 1.5), ("1.5", "de", None), ("1.234", "de-AT", 1234), ("1'234.5", "de-CH", 1234.5),
        ("1'234.5", "de", None),
        ("1 234,5", "fr", 1234.5), ("1,234.5", "en_US", 1234.5), ("1,234.5", "xx", 1234.5), ("5 m", "", None), ("m", "", None),
        ("-2×10^3", "", -2000),
        ("1" * 200, "", int("1" * 200)), ("1" * 201, "", None), ("10^3", "", 1000), ("−5", "", -5),
    ],
)  # fmt: skip
def test_a_number_in_a_locale(text: str, locale: str, number: float | None) -> None:
    """With the marks of the region, else of the language, else those that the text shows; up to 200 characters."""
    assert number_in_locale(text, locale) == number
