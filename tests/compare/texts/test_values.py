"""Texts with the gold that each may or may not be: strict accepts at most 1 % of the wrong ones and refuses at most 3 % of the right ones.

The corpus (tests/data/values) was written for this test, right and wrong texts for each gold; the labels are what a careful person says.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from itertools import combinations, product
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from evalsuite.analysis.causes import table_repairs
from evalsuite.compare import values
from evalsuite.compare.answer_rules import find_named_numbers, match_number_strictly, match_text_strictly
from evalsuite.compare.characters import LETTER, MOST_MARKS, _confusables, _shapes, clean, digits_only, is_visible
from evalsuite.compare.claims import REACH
from evalsuite.compare.number_columns import plain_words
from evalsuite.compare.numbers import Number, Tolerance, exact_of
from evalsuite.compare.packed_text import pack_lists
from evalsuite.compare.strict_columns import equal
from evalsuite.compare.values import (
    Percent,
    find_numbers,
    number_at_start,
    number_in_locale,
    number_readings,
    numeric_tokens,
    plain_amounts,
    read_cell,
)
from evalsuite.core.dataclasses import replace
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


PLAIN_WORDS = (
    "1999-09-09|a|Z|z{|2023-01-05|nanx|infinityx|nullable|abc1|Paris5|x1|january|theory|abcdefgh1|falsey|a b|Paris 5|a!|null  x|deal 5"
)
NO_PLAIN_WORDS = (
    "2023-1-05|2023-01-5|20230-1-05|2023/01/05|2023-01-0a|+023-01-05|12345-6789|202-301-05|2023-01-050|2023-01-05 |true|TRUE|None|nan|inf"
    "|INF|Infinity|NA|NAN|null|n/a|le 5|may9|May5|mon5|usd5|the5|then5|january5|may 5|1a|7|$5|-a|_a|@a|[a|`a|{a| a|a |true |nan ||a\0|zz\t"
)


def test_which_words_are_plain() -> None:
    """Letters first and no space last, no word for a value and no beginning of a date or an amount; of dates the ISO form alone."""
    texts = [*PLAIN_WORDS.split("|"), *NO_PLAIN_WORDS.split("|")]
    found = plain_words(next(iter(pack_lists([texts]).blocks())))[:, 0].tolist()
    assert [text for text, is_plain in zip(texts, found, strict=True) if is_plain] == PLAIN_WORDS.split("|")
    assert not plain_words(next(iter(pack_lists([["a", "\u00e9"]]).blocks()))).any()


@pytest.mark.parametrize("text", ["Straße 1234", "név 1234", "É 1, 2023", "Paris 1234", "Ünï-2023"])
def test_other_words_are_not_parsed_as_dates(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell whose first letters begin no date costs no search for one, whatever its alphabet: each search costs 50 microseconds."""
    monkeypatch.setattr(values, "instant_of", lambda text: pytest.fail(f"{text!r} is parsed"))
    assert values._cell_of(text, False) == ("text", text)


@examples(500)
@given(AMOUNTS | st.from_regex(r"[+-]?[$€]?[+-]?[0-9]{1,4}(,[0-9]{3}){0,3}(\.[0-9]{0,3})?", fullmatch=True, alphabet="0123456789.,+-$€"))
def test_a_plain_amount_is_what_the_reader_of_cells_reads(text: str) -> None:
    """`plain_amounts` gives the number of the same value and decimals, or leaves the text to `read_cell`."""
    if (plain := plain_amounts([text])[0]) is not None:
        assert read_cell(text) == read_cell(plain)
        assert isinstance(read_cell(plain), int | Number)


def test_a_gold_text_is_named_as_what_it_is() -> None:
    """A number is named by its value; among texts and numbers the reason quotes what is in the answer."""
    number, mixed = match_text_strictly("42.0", "42"), match_text_strictly("42, Paris", ["42", "Paris"])
    assert (number.reason, number.cause) == ("contains 42", "number form")
    assert (mixed.reason, mixed.cause) == ("contains '42'", "spelling form")


@pytest.mark.parametrize(
    ("gold", "text", "percentage", "kind"),
    [("17.5", "17.5%", False, "percent form"), ("17.5", "1750", True, "percent form"), ("17.5", "1750", False, "tolerance by size")],
)
def test_a_hundredfold_is_named_where_a_percentage_may_be_meant(gold: str, text: str, percentage: bool, kind: str) -> None:
    """The check allows percentages, or the answer writes one."""
    assert match_number_strictly(text, gold, percentage=percentage).kind == kind


@pytest.mark.parametrize(("text", "expected"), [("__10__", 1), ("10__x", 0), ("x__10", 0), ("10_ x", 1), ("10_.", 1)])
def test_underscores_of_markdown_belong_to_no_number(text: str, expected: int) -> None:
    """Underscores between a number and a letter or digit join them; others are marks."""
    assert match_text_strictly(text, "10").value == expected


SCALES = {3: "k K thousand", 6: "m M MM mn mln mio million millones millionen", 9: "b B bn bln billion milliarden mrd"}
SCALES |= {5: "lakh", 7: "crore", 12: "T tn trn trillion"}
SHARES = {2: "% percent pct", 3: "‰"}


def test_a_scaled_reading_names_its_scale() -> None:
    """The last reading of a number with a scale is the scaled one; shares are divided."""
    names = {3: "in thousands", 6: "in millions", 9: "in billions", 12: "in trillions"}
    for power, words in SCALES.items():
        for word in words.split():
            text = f"12{word}" if len(word) < 3 else f"12 {word}"
            (value,) = find_numbers(text)
            assert exact_of(value.candidates[-1]) == 12 * 10**power, text
            if word in ("k", "thousand", "million", "bn", "billion", "trillion"):
                assert [way for _, way in number_readings(text)][-1] == names[power], text
    for power, words in SHARES.items():
        for word in words.split():
            (value,) = find_numbers(f"12 {word}")
            assert (exact_of(value.candidates[0]), value.shift) == (Decimal(12).scaleb(-power), power), word


@pytest.mark.parametrize(("year", "is_year"), [(1499, False), (1500, True), (2199, True), (2200, False)])
def test_which_numbers_may_be_years(year: int, is_year: bool) -> None:
    """Beside another number a year is context."""
    assert [value.is_year for value in find_numbers(f"{year}")] == [is_year]


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


def test_a_printed_text_has_few_marks_and_no_control_characters() -> None:
    """ASCII texts are escaped too, and printable ones lose marks beyond the limit."""
    assert clean("a\x1b") == "a\\x1b"
    assert clean("e" + "\u0301" * 12) == "e" + "\u0301" * MOST_MARKS


def grouped(digits: str, parting: str) -> str:
    """Digits in groups of three, counted from the right."""
    first = len(digits) % 3 or 3
    return parting.join([digits[:first], *(digits[at : at + 3] for at in range(first, len(digits), 3))])


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


@pytest.mark.parametrize(
    ("char", "plain"), [("Ⅳ", LETTER), ("²", LETTER), ("½", LETTER), ("㏠", LETTER), ("㊿", LETTER), ("٣", "٣"), ("ａ", "a")]
)
def test_what_only_looks_like_digits_becomes_a_letter(char: str, plain: str) -> None:
    """Numerals, powers, fractions and signs that contain digits; digits of any script stay."""
    assert digits_only(f"x{char}") == f"x{plain}"


@pytest.mark.parametrize(
    ("answer", "doubts"),
    [("at least 5", ["negated"]), ("it is not 5", ["negated"]), ("5", [""]), ("5 or more, not 6", ["negated"] * 2), ("5 and 6", ["", ""])],
)
def test_a_bound_and_a_denial_are_no_statements(answer: str, doubts: list[str]) -> None:
    """Either alone is enough."""
    assert list(find_named_numbers(answer, ["5", "6"]).values()) == doubts


@pytest.mark.parametrize(
    ("text", "values"), [("1234 567", [1234, 567]), ("123 456", [123_456]), ("12 345 678", [12_345_678]), ("123 4567", [123, 4567])]
)
def test_groups_of_three_digits_are_one_number(text: str, values: list[int]) -> None:
    """If the first group has at most three digits and each other one exactly three."""
    wanted = list(map(Decimal, (1234, 567, 123, 456, 4567, 123_456, 12_345_678, 1_234_567)))
    assert [value for value, _, _ in numeric_tokens(text, set(), wanted)] == values


def test_blank_characters_are_those_of_unicode() -> None:
    """Of what Python prints: the default-ignorable ones, the blank Braille pattern, the null notehead and the Khitan filler."""
    printable = "".join(filter(str.isprintable, map(chr, range(sys.maxunicode + 1))))
    blank = {char for char in printable if not is_visible(char)}
    assert blank == {*regex.findall(r"\p{Default_Ignorable_Code_Point}", printable), "\u2800", "\U0001d159", "\U00016fe4"}


def test_letters_of_other_alphabets_look_like_those_of_unicode() -> None:
    """Read from the package's table, which is kept afterwards."""
    _confusables.cache_clear()
    assert {char: "a" in _shapes(char) for char in "\u0430b"} == {"\u0430": True, "b": False}


def test_a_number_is_read_where_it_stands() -> None:
    """What surrounds it decides, also where the same number stood before; after so many different values the rest is not read."""
    filler = "x " * 2 * REACH
    assert [value.text for value in find_numbers(f"{filler} -5 {filler} 5 {filler}")] == ["-5", "5"]
    assert [value.text for value in find_numbers(f"{filler}5 {filler}5% {filler}5")] == ["5", "5%", "5"]
    assert [value.kind for value in find_numbers(f"{filler}5% {filler}5% {filler}")] == ["percent"] * 2
    for unit in ("42k, ", "-5 ", "1,234 ", "5% ", "3 kg ", "not 4 ", "3 of 40 "):
        (first, *_), values = find_numbers(f"{filler}{unit}", denied=unit[0] == "n"), find_numbers(unit * 90, denied=unit[0] == "n")[30:60]
        assert {replace(value, span=first.span) for value in values if value.text == first.text} == {first}, unit
        assert len({value.span for value in values}) == 30, unit
    for text, n in (("1 2 2 3 4 5", 4), ("1 1 1 1", 4), ("1990 1991 1992 1993 5", 5), ("1st 2nd 3rd 4 5 6 7", 6), ("12 million 3 4 5", 3)):
        assert len(find_numbers(text, most=2)) == n, text
    kinds = {
        text: (value.kind, value.is_year, len(value.others))
        for text in ("5%", "invoice 5.5", "2023", "5 km")
        for value in find_numbers(text)
    }
    assert kinds == {
        "5%": ("percent", False, 0),
        "invoice 5.5": ("number", True, 0),
        "2023": ("number", True, 0),
        "5 km": ("number", False, 0),
    }
    assert [exact_of(other) for text in ("1,234", "-1.234") for value in find_numbers(text) for other in value.others] == [
        Decimal("1.234"),
        -1234,
    ]


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


def _read_labels(text: str) -> None:
    assert not list(values._LABEL.finditer(text)) + list(values._CONTEXT.finditer(text))


@pytest.mark.parametrize(
    ("part", "read"),
    [
        *((part, _read_labels) for part in ("1", "1,", "1-", "1 plus ")),
        ("11,", lambda text: list(values._NUMBER.finditer(text))),
        ("-", table_repairs._LABEL.fullmatch),
    ],
)
def test_a_long_run_of_digits_and_signs_costs_by_its_length(part: str, read: Callable[[str], object]) -> None:
    """Eight times as many take at most 24 times the CPU; looked at again from each of their own places they would take 64 times."""

    def cpu(n: int) -> float:
        begin = time.process_time()
        read(part * n)
        return time.process_time() - begin

    assert min(cpu(2000) for _ in range(3)) <= 24 * min(cpu(250) for _ in range(5))
