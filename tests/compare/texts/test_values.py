"""Texts and numbers in answers under both rules, claims, and a corpus of which strict takes and refuses what a careful person would."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import combinations, product
from typing import Any

import numpy as np
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
from evalsuite.compare.number_columns import number_groups, numbers_of, plain_words, surely_strictly_equal
from evalsuite.compare.numbers import Number, Tolerance, as_number, equal_but_for_noise, number_of, numbers_equal, reach
from evalsuite.compare.packed_text import Block, pack_lists
from evalsuite.compare.strict_columns import all_pairs_equal, can_pair, equal, places_of
from evalsuite.compare.values import (
    Percent,
    find_numbers,
    number_at_start,
    number_in_locale,
    number_readings,
    plain_amounts,
    read_cell,
    read_number,
)
from evalsuite.scorers import SCORERS
from tests.conftest import ROOT
from tests.models import strict_number, strict_table
from tests.models.official_number import score_number
from tests.models.official_text import score_text
from tests.properties import LETTERS, examples

CORPUS = ROOT / "tests" / "data" / "values"
FEWEST = {"numbers": 3_500, "cells": 700, "texts": 2_000}


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
    rows = [json.loads(line) for line in (CORPUS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
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
    assert number_at_start("abc") is number_at_start("") is None


@pytest.mark.parametrize(
    ("gold", "text", "value"),
    [("-3.2", "–3.2", 1), ("3.2", "–3.2", 0), ("-3.2", "minus 3.2", 1), ("3.2", "minus 3.2", 0), ("42", "$42k", 0), ("10", "10 000", 0)],
)
def test_a_text_gold_that_is_a_number(gold: str, text: str, value: int) -> None:
    """A number looked for as text has the signs of a number."""
    assert match_text_strictly(text, gold).value == value


@pytest.mark.parametrize(("text", "locale", "number"), [
    ("1.5", "", 1.5), ("1,5", "de", 1.5), ("1.5", "de", None), ("1.234", "de-AT", 1234), ("1'234.5", "de-CH", 1234.5),
    ("1'234.5", "de", None), ("1 234,5", "fr", 1234.5), ("1,234.5", "en_US", 1234.5), ("1,234.5", "xx", 1234.5), ("5 m", "", None),
    ("m", "", None), ("-2×10^3", "", -2000), ("1" * 200, "", int("1" * 200)), ("1" * 201, "", None), ("10^3", "", 1000), ("−5", "", -5),
])  # fmt: skip
def test_a_number_in_a_locale(text: str, locale: str, number: float | None) -> None:
    """With the marks of the region, else of the language, else those that the text shows; up to 200 characters."""
    assert number_in_locale(text, locale) == number


OWN = [Tolerance(own=True, abs=0.01), Tolerance(own=True, rel=0.001), Tolerance(own=True, abs=1.0, rel=0.5), Tolerance(own=True)]
TOLERANCES = st.sampled_from([Tolerance(), Tolerance(), *OWN])
EDGES = [
    *("0", "0.0", "-0.0", "1e-9", "1.1e-9", "1e-400", "9007199254740992", "9007199254740993", "9007199254740992.0", "1e16"),
    *("0.005", "0.1"),
]


@st.composite
def numbers(draw: st.DrawFn) -> str:
    """A number as a file may hold it: a few digits, many, an exponent."""
    digits, decimals = draw(st.integers(0, 10 ** draw(st.integers(1, 18)))), draw(st.integers(0, 8))
    sign = draw(st.sampled_from(["", "", "-"]))
    text = str(digits).rjust(decimals + 1, "0")
    plain = sign + (f"{text[:-decimals]}.{text[-decimals:]}" if decimals else text)
    return draw(st.sampled_from([plain, plain, plain, f"{float(plain)!r}", f"{float(plain):.6e}", *EDGES]))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[str, str]:
    """A number and one like it: rounded, cut off, a little beside, or any other; on either side."""
    gold = draw(numbers())
    value = float(gold)
    n = draw(st.integers(0, 7))
    near = draw(st.sampled_from([0.0, 0.004, 0.005, 0.0051, 0.5, 1.0, value * 1e-9, value * 1.1e-9, value * 1e-12, 1e-10, value * 1e-16]))
    other = draw(st.one_of(st.just(f"{value:.{n}f}"), st.just(f"{value + near:.{n + 6}f}"), st.just(repr(value - near)), numbers()))
    return draw(st.sampled_from([(gold, other), (other, gold)]))


@examples(1500)
@given(pairs(), TOLERANCES)
def test_numbers_equal_the_model(pair: tuple[str, str], tolerance: Tolerance) -> None:
    """Whatever way leads to it, the verdict on two numbers is that of exact fractions."""
    gold, predicted = map(read_cell, pair)
    own: dict[str, Any] = {"abs_tol": tolerance.abs, "rel_tol": tolerance.rel} if tolerance.own else {}
    assert numbers_equal(gold, predicted, tolerance) == strict_table.cells_equal(*pair, **own)


@examples(600)
@example([("0.1", "0.1"), ("-0.1", "-0.1")], Tolerance(own=True, rel=0.5))
@example([("10", "10"), ("11", "11")], Tolerance(own=True, rel=0.1))
@example([("-11", "-10"), ("-10", "-11")], Tolerance(own=True, rel=0.1))
@example([("893151021.15", "893151021.154")], Tolerance(own=True, abs=0.004))
@example([("517413596.91", "517413596.905")], Tolerance())
@example([("7831386299159.48", "7831386299159.38")], Tolerance(own=True, abs=0.1))
@given(st.lists(pairs(), min_size=1, max_size=4), TOLERANCES)
def test_nothing_equal_lies_out_of_reach(found: list[tuple[str, str]], tolerance: Tolerance) -> None:
    """Equal numbers lie within the reach and in the places that are looked at, and columns of equal cells can be paired."""
    golds, predictions = ([read_cell(pair[side]) for pair in found] for side in (0, 1))
    coarsest = min((cell.decimals for cell in golds if isinstance(cell, Number)), default=None)
    places = places_of(golds, predictions, tolerance)
    assert places is not None
    for gold in golds:
        for k, predicted in enumerate(predictions):
            if numbers_equal(gold, predicted, tolerance):
                distance = abs(
                    float(gold.exact if isinstance(gold, Number) else gold)
                    - float(predicted[0] if isinstance(predicted, Number) else predicted)
                )
                assert distance <= (reach(predicted, tolerance, coarsest) or 0.0)
                assert k in places.find_near(gold)
    if all(map(numbers_equal, golds, predictions, [tolerance] * len(golds))):
        assert can_pair(golds, predictions, tolerance)
    assert all_pairs_equal(golds, predictions, tolerance) is all(numbers_equal(g, p, tolerance) for g, p in product(golds, predictions))


def block(cells: list[str]) -> Block:
    """One column of packed text."""
    starts, data = [], b""
    for cell in cells:
        starts.append([len(data)])
        data += cell.encode() + b"\n"
    return Block(data, np.array(starts), np.array([[len(cell)] for cell in cells]))


@examples(600)
@given(st.lists(pairs().filter(lambda pair: max(map(len, pair)) <= 32), min_size=1, max_size=6), TOLERANCES)
def test_what_floats_are_sure_of_is_so(found: list[tuple[str, str]], tolerance: Tolerance) -> None:
    """Whole columns of floats call nothing equal that the exact rule does not."""
    sides = [numbers_of(block([pair[side] for pair in found]), 0) for side in (0, 1)]
    assert sides[0] is not None
    assert sides[1] is not None
    for pair, sure in zip(found, surely_strictly_equal(*sides, tolerance), strict=True):  # type: ignore[misc]
        assert not sure or numbers_equal(*map(read_cell, pair), tolerance)


def test_floats_are_sure_of_plain_cases() -> None:
    """Rounded, noisy and dropped digits of ordinary numbers need no closer look, nor do numbers within the check's own tolerance."""
    found = []
    for gold, predicted, own, _ in SURE:
        sides = numbers_of(block([gold]), 0), numbers_of(block([predicted]), 0)
        found.append((gold, predicted, own, *surely_strictly_equal(*sides, Tolerance(**own, own=bool(own))).tolist()))  # type: ignore[arg-type]
    assert found == SURE


# (gold, predicted, the check's own tolerance, whether floats are sure): what is equal and near a limit needs the exact rule.
SURE: list[tuple[str, str, dict[str, float], bool]] = [
    ("2604.2362912", "2604.24", {}, True),
    ("12.5", "12.4961", {}, True),
    ("0.3", "0.30000000000000004", {}, True),
    ("7.25", "7.25", {}, True),
    ("1", "1.0", {}, True),
    ("0", "0", {}, False),
    ("9007199254740991", "9007199254740991", {}, True),
    ("70368744177663", "70368744177663.0", {}, True),
    ("70368744177664", "70368744177664.0", {}, False),
    ("9007199254740992", "9007199254740992", {}, False),
    ("1234", "1235", {}, False),
    ("1.0000000005e9", "1000000000.504", {}, True),
    ("1.0000000005e9", "1000000000.506", {}, False),
    ("2.345", "2.35", {}, False),
    ("2.3451", "2.35", {}, True),
    ("2.35", "2.3451", {}, True),
    ("-2.3451", "-2.35", {}, True),
    ("0.1049", "0.10", {}, False),
    ("0.1149", "0.11", {}, True),
    ("0.1149", "0.1", {}, False),
    ("0.10", "0.1049", {}, False),
    ("0.11", "0.1149", {}, True),
    ("12.3451", "1.235e1", {}, True),
    ("19.998", "20", {}, True),
    ("20", "19.998", {}, False),
    ("20.0", "19.998", {}, True),
    ("2.3", "2.3049", {}, True),
    ("2.3", "2.305", {}, False),
    ("1", "1.0099", {"abs": 0.01}, True),
    ("1", "1.0101", {"abs": 0.01}, False),
    ("1000", "1000.99", {"rel": 0.001}, True),
    ("1000", "1001.0001", {"rel": 0.001}, False),
    ("1000", "999.001", {"rel": 0.001}, True),
    ("0", "0.005", {"abs": 0.01}, True),
]


def grouped(golds: list[str], predictions: list[str], tolerance: Tolerance) -> tuple[list[int], list[bool]]:
    """(the group of each number, whether each group is loose)."""
    sides = [numbers_of(block(side), 0) for side in (golds, predictions)]
    values, digits = (np.concatenate([side[at] for side in sides if side]) for at in (0, 1))
    groups, loose = number_groups(values, digits, np.arange(len(values)) < len(golds), tolerance)
    return groups.tolist(), loose.tolist()


@examples(600)
@given(st.lists(pairs().filter(lambda pair: max(map(len, pair)) <= 32), min_size=1, max_size=4), TOLERANCES)
def test_groups_have_all_that_is_equal(found: list[tuple[str, str]], tolerance: Tolerance) -> None:
    """Equal numbers are in one group, and in a group that is not loose all are equal."""
    golds, predictions = ([pair[side] for pair in found] for side in (0, 1))
    groups, loose = grouped(golds, predictions, tolerance)
    for (i, gold), (k, predicted) in product(enumerate(golds), enumerate(predictions)):
        is_equal = numbers_equal(read_cell(gold), read_cell(predicted), tolerance)  # type: ignore[arg-type]
        is_in_one = groups[i] == groups[len(golds) + k]
        assert not is_equal or is_in_one
        assert is_equal or not is_in_one or loose[groups[i]]


# (golds, predictions, the check's own tolerance, how many groups, which of them are loose).
GROUPS: list[tuple[str, str, dict[str, float], int, list[int]]] = [
    ("1 1.0", "1.00", {}, 1, []),
    ("12.345", "12.35", {}, 1, [0]),
    ("12.3451", "12.35", {}, 1, []),
    ("12.35", "12.3451 12.3549", {}, 1, []),
    ("12.35 12.3541", "12.3499", {}, 1, [0]),
    ("-12.3451", "-12.35", {}, 1, []),
    ("2.5", "2.5004 2.4996", {}, 1, []),
    ("12.3451", "1.235e1", {}, 1, []),
    ("1000000.5", "1000000.5009", {}, 1, []),
    ("1e3", "1000.0000001", {}, 1, []),
    ("0", "0.0", {}, 1, []),
    ("0", "0e0", {}, 1, [0]),
    ("0.0", "1e-10", {}, 1, [0]),
    ("-0.001 0.001", "0.001 -0.001", {}, 2, []),
    ("9007199254740993", "9007199254740992", {}, 1, [0]),
    ("70368744177663", "70368744177663.0", {}, 1, []),
    ("70368744177664", "70368744177664.0", {}, 1, [0]),
    ("0.1149", "0.11", {}, 1, []),
    ("0.1049", "0.10", {}, 1, [0]),
    ("20.0", "19.998", {}, 1, []),
    ("20", "19.998", {}, 1, [0]),
    ("7 3 3", "3 5", {}, 3, []),
    ("5", "6", {"abs": 1.5}, 1, []),
    ("5", "6 4.2", {"abs": 1.5}, 1, []),
    ("5 6", "4.2 7", {"abs": 1.5}, 1, [0]),
    ("100", "100.9", {"rel": 0.01}, 1, []),
    ("100", "101.5", {"rel": 0.01}, 2, []),
    ("1 1000", "1 1000", {"rel": 1.0}, 1, [0]),
]


def test_groups_are_loose_only_near_a_limit() -> None:
    """What is written alike, rounded or noisy needs no comparison of each with each."""
    for golds, predictions, own, n_groups, are_loose in GROUPS:
        groups, loose = grouped(golds.split(), predictions.split(), Tolerance(**own, own=bool(own)))  # type: ignore[arg-type]
        assert (max(groups) + 1, [at for at, one in enumerate(loose) if one]) == (n_groups, are_loose), (golds, predictions)


# Each limit, reached and passed by one digit: gold, what is equal but for noise, what is not.
NOISE = [
    ("5", "5.0", "6"), ("0", "1e-9", "1.1e-9"), ("0.0", "-1e-9", "-1.1e-9"), ("1e-9", "1.0e-9", "0"), ("1", "1.000000001", "1.0000000011"),
    ("1000", "1000.000001", "1000.0000011"), ("10000000", "10000000.005", "10000000.0051"), ("-1000", "-1000.000001", "-1000.0000011"),
    ("1.5", "1.5000000015", "1.5000000016"), ("10000000.5", "10000000.505", "10000000.5051"),
    ("10000000000.5", "10000000000.5100000000005", "10000000000.5100000000006"),
    ("9007199254740993.0", "9007199254740992", "9007199254740994"), ("9007199254740993", "9007199254740993.0", "9007199254740992"),
    ("9007199254740991.0", "9007199254740991", "9007199254740990"),
]  # fmt: skip
ROUNDINGS = [
    ("0.125", "0.13", "0.131"), ("0.125", "0.12", "0.119"), ("0.1251", "0.13", "0.12"), ("0.104", "0.1", "0.1091"),
    ("0.096", "0.1", "0.09"), ("1.5", "1.505", "1.5051"), ("0.014", "0.014", "0.01"), ("12.3456", "12.35", "12.36"),
    ("12.3456", "12.346", "12.345"), ("12.995", "13", "12"),
]  # fmt: skip
WITHIN = [
    ("100", "101", "101.01", Tolerance(own=True, abs=1.0)), ("100", "99", "98.99", Tolerance(own=True, rel=0.01)),
    ("0", "1e-9", "1.1e-9", Tolerance(own=True)), ("0.5", "0.5", "0.500000001", Tolerance(own=True)),
    ("-4", "-6", "-6.1", Tolerance(own=True, abs=1.0, rel=0.5)), ("1e-400", "1", "1.1", Tolerance(own=True, abs=1.0)),
]  # fmt: skip


def test_numbers_are_equal_up_to_each_limit_and_no_further() -> None:
    """Noise by the size of gold, rounding by the decimals shown, and the check's own tolerance."""
    for gold, near, far in NOISE:
        seen = [equal_but_for_noise(number_cell(gold), number_cell(other)) for other in (near, far)]
        assert seen == [True, False], (gold, near, far)
    for gold, near, far, tolerance in [*((*row, Tolerance()) for row in ROUNDINGS), *WITHIN]:
        seen = [numbers_equal(number_cell(gold), number_cell(other), tolerance) for other in (near, far)]
        assert seen == [True, False], (gold, near, far)


def number_cell(text: str) -> Any:
    """The number that a cell writes."""
    cell = read_cell(text)
    assert isinstance(cell, int | Number)
    return cell


def test_what_is_no_finite_number() -> None:
    """Neither infinity nor a word is a gold number."""
    for text, message in (("inf", "finite"), ("nan", "finite"), ("x", "'x' is no number"), ("", "'' is no number")):
        with pytest.raises(ValueError, match=message):
            read_number(text)
    assert [as_number(Decimal(10) ** power, is_plain=True) for power in (399, 400)] == [10**399, number_of(Decimal(10) ** 400)]


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
    numbers = map(json.loads, (CORPUS / "official_numbers.jsonl").read_text(encoding="utf-8").splitlines())
    for match, model, rows in ((match_text, score_text, CASES), (match_number, score_number, numbers)):
        for answer, gold, options, expected, why in rows:
            score = match(answer, gold, **options)
            assert score.official == expected, why
            assert model(answer, gold, **options) == expected, "the model disagrees"
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


TOKENS = st.text(alphabet="aAbé1 .-ßﬁ東\u00a0\u0301", min_size=1, max_size=6).filter(lambda text: bool(fold(text)))


@examples(300)
@given(TOKENS, st.lists(TOKENS, max_size=3))
def test_a_word_between_spaces_is_found(gold: str, others: list[str]) -> None:
    """Gold between line breaks is found whatever stands around it, in any case of letters."""
    text = "\n".join([*others, gold.upper(), *others])
    folded = fold(gold)
    assert any(occurrences(fold(f"x {gold} x"), folded))
    assert match_text_strictly(text, gold.upper()).value == 1


@examples(300)
@given(st.text(alphabet="ab1. é'-s+", max_size=12), st.text(alphabet="ab1é", min_size=1, max_size=3))
def test_occurrences_are_whole_tokens(text: str, part: str) -> None:
    """A text contains a word exactly where one of its tokens is that word: letters and digits, joined by single signs, ended by `+`.

    A number behind a minus, which begins the text or a word, is another number.
    """
    folded = fold(text)
    tokens = set()
    for match in re.finditer(r"(?P<minus>(?<![^ ])-(?=\d))?(?P<token>[^\W_]+(?:[-.'+][^\W_]+)*\+?)", folded):
        if match["minus"]:
            continue
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
