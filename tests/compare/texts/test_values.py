"""Texts with the gold that each may or may not be: strict accepts at most 1 % of the wrong ones and refuses at most 3 % of the right ones.

The corpus (tests/data/values) was written for this test, right and wrong texts for each gold; the labels are what a careful person says.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalsuite.compare.answer_rules import match_number_strictly, match_text_strictly
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


READINGS = {
    "-5 km": "-5 with a unit or currency", "\u22121,234": "-1234 with thousands separators; -1.234 with a decimal comma",
    "3,5": "3.5 with a decimal comma", "1.234": "1.234 in another form; 1234 with thousands separators",
    "1.234,5": "1234.5 with a decimal comma", "12 %": "12 with a percent sign; 0.12 with a percent sign",
    "-3,5%": "-3.5 with a percent sign; -0.035 with a percent sign", "12k": "12 with a unit or currency; 12000 in thousands",
    "1'234": "1234 with thousands separators", "-12": "-12 in another form", "abc": "",
}  # fmt: skip


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
    ("2604.2362912", "2604.24", {}, True), ("12.5", "12.4961", {}, True), ("0.3", "0.30000000000000004", {}, True),
    ("7.25", "7.25", {}, True), ("1", "1.0", {}, True), ("0", "0", {}, False), ("9007199254740991", "9007199254740991", {}, True),
    ("70368744177663", "70368744177663.0", {}, True), ("70368744177664", "70368744177664.0", {}, False),
    ("9007199254740992", "9007199254740992", {}, False), ("1234", "1235", {}, False), ("1.0000000005e9", "1000000000.504", {}, True),
    ("1.0000000005e9", "1000000000.506", {}, False), ("2.345", "2.35", {}, False), ("2.3451", "2.35", {}, True),
    ("2.35", "2.3451", {}, True), ("-2.3451", "-2.35", {}, True), ("0.1049", "0.10", {}, False), ("0.1149", "0.11", {}, True),
    ("0.1149", "0.1", {}, False), ("0.10", "0.1049", {}, False), ("0.11", "0.1149", {}, True), ("12.3451", "1.235e1", {}, True),
    ("19.998", "20", {}, True), ("20", "19.998", {}, False), ("20.0", "19.998", {}, True), ("2.3", "2.3049", {}, True),
    ("2.3", "2.305", {}, False), ("1", "1.0099", {"abs": 0.01}, True), ("1", "1.0101", {"abs": 0.01}, False),
    ("1000", "1000.99", {"rel": 0.001}, True), ("1000", "1001.0001", {"rel": 0.001}, False), ("1000", "999.001", {"rel": 0.001}, True),
    ("0", "0.005", {"abs": 0.01}, True),
]  # fmt: skip


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
    ("1 1.0", "1.00", {}, 1, []), ("12.345", "12.35", {}, 1, [0]), ("12.3451", "12.35", {}, 1, []), ("12.35", "12.3451 12.3549", {}, 1, []),
    ("12.35 12.3541", "12.3499", {}, 1, [0]), ("-12.3451", "-12.35", {}, 1, []), ("2.5", "2.5004 2.4996", {}, 1, []),
    ("12.3451", "1.235e1", {}, 1, []), ("1000000.5", "1000000.5009", {}, 1, []), ("1e3", "1000.0000001", {}, 1, []),
    ("0", "0.0", {}, 1, []), ("0", "0e0", {}, 1, [0]), ("0.0", "1e-10", {}, 1, [0]), ("-0.001 0.001", "0.001 -0.001", {}, 2, []),
    ("9007199254740993", "9007199254740992", {}, 1, [0]), ("70368744177663", "70368744177663.0", {}, 1, []),
    ("70368744177664", "70368744177664.0", {}, 1, [0]), ("0.1149", "0.11", {}, 1, []), ("0.1049", "0.10", {}, 1, [0]),
    ("20.0", "19.998", {}, 1, []), ("20", "19.998", {}, 1, [0]), ("7 3 3", "3 5", {}, 3, []), ("5", "6", {"abs": 1.5}, 1, []),
    ("5", "6 4.2", {"abs": 1.5}, 1, []), ("5 6", "4.2 7", {"abs": 1.5}, 1, [0]), ("100", "100.9", {"rel": 0.01}, 1, []),
    ("100", "101.5", {"rel": 0.01}, 2, []), ("1 1000", "1 1000", {"rel": 1.0}, 1, [0]),
]  # fmt: skip


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
