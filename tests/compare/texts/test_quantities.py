"""Quantities have scipy's factors, prefixes those of the SI, dates their days; what functions say of drawn texts, to the letter."""

import json
import math
import re
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy

from evalsuite.compare.characters import clean, digits_only, is_joined, is_spaceless, is_visible, looks_like, spelled_out, visible
from evalsuite.compare.dates import date_readings, days_of, instant_of, moment_of
from evalsuite.compare.quantities import _LONG, _PREFIXED, _PREFIXES, SYMBOLS, _read_tables, parse_quantity
from evalsuite.compare.quantities import WORDS as WORDS_OF_UNITS
from evalsuite.compare.result_sets import equal_as_bags, equal_as_sets, soft_f1
from tests.compare.texts.test_values import CORPUS

NAMES = {"Y": "yotta", "Z": "zetta", "E": "exa", "P": "peta", "T": "tera", "G": "giga", "M": "mega", "k": "kilo", "h": "hecto", "d": "deci"}
NAMES |= {"c": "centi", "m": "milli", "μ": "micro", "u": "micro", "n": "nano", "p": "pico", "f": "femto", "a": "atto", "z": "zepto"}
NAMES |= {"y": "yocto"}
UNITS = {
    "in": "inch", "ft": "foot", "yd": "yard", "miles": "mile", "nmi": "nautical_mile", "lb": "pound", "oz": "oz", "st": "stone",
    "min": "minute", "h": "hour", "d": "day", "wk": "week", "yr": "Julian_year", "atm": "atm", "psi": "psi", "Torr": "torr", "bar": "bar",
    "eV": "eV", "Da": "u", "ha": "hectare", "acre": "acre", "L": "liter", "kn": "knot", "deg": "degree", "Å": "angstrom", "t": "metric_ton",
    "hp": "hp", "pc": "parsec", "km/h": "kmh", "mph": "mph", "gal": "gallon", "dyn": "dyn", "erg": "erg", "cal": "calorie", "lbf": "lbf",
    "BTU": "Btu", "micron": "micron",
}  # fmt: skip


WORDS = {
    "metre": "m", "gram": "g", "second": "s", "amp": "A", "hertz": "Hz", "litre": "L", "hour": "h", "week": "wk", "inches": "in",
    "feet": "ft",
    "yard": "yd", "pound": "lb", "ounce": "oz", "tonne": "t", "percent": "%", "angstrom": "Å", "degree": "deg", "mole": "mol", "byte": "B",
    "dalton": "Da", "calorie": "cal", "dollar": "USD", "cent": "¢", "electronvolt": "eV", "knot": "kn", "hectare": "ha", "poise": "P",
}  # fmt: skip


def amount(text: Any, **more: Any) -> float:
    """In base units."""
    found = parse_quantity(text, **more)
    assert found is not None
    return float(found.amount)


def test_every_prefix() -> None:
    """Before a symbol, and those that are written out before a word."""
    assert NAMES.keys() == _PREFIXES.keys()
    for sign, name in NAMES.items():
        factor = getattr(scipy.constants, name, 1e-24)
        assert amount(f"3 {sign}W") == pytest.approx(3 * factor, rel=1e-12, abs=0), name
        if name in _LONG:
            assert amount(f"3 {name}watts") == pytest.approx(3 * factor, rel=1e-12, abs=0), name
    assert amount("3 daN") == 30


def test_units() -> None:
    """Each is as many base units as scipy says; a word is its symbol, in one or in many; tables are read as they are written."""
    factors = {unit: getattr(scipy.constants, name) for unit, name in UNITS.items()}
    assert {unit: amount(f"1 {unit}") for unit in UNITS} == pytest.approx(factors, rel=1e-8, abs=0)
    for word, symbol in WORDS.items():
        assert amount(f"3 {word}") == amount(f"3 {word.title()}s") == amount(f"3 {symbol}"), word
    assert _read_tables() == (SYMBOLS, _PREFIXED, WORDS_OF_UNITS)


def _lines(name: str) -> list[str]:
    """The lines of a table of dates: a text, and what it names, with bars between."""
    return (CORPUS / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def span_of(line: str) -> str:
    """The line again, as `days_of` reads its text."""
    text = line.partition("|")[0]
    form = re.fullmatch(r"(?P<text>\d+/\d+/\d+) (?P<locale>\w+)", text)
    found = days_of(form["text"], (), form["locale"]) if form else days_of(text)
    return "|".join([text, *dict.fromkeys(map(str, found or [""]))])


def test_spans_of_days() -> None:
    """Days, months, quarters and years; what the end of a range names of month and year is the beginning's too."""
    lines = _lines("days")
    assert list(map(span_of, lines)) == lines


def test_months_and_numbers_in_any_order_end_no_reader() -> None:
    """A text of months and numbers is a date or none, and of the two readers of days one finds what the other does."""
    words, signs = ["5", "123", "2023", "May"], [" ", "-", " - ", ", "]
    for first, sign, second, other_sign, third in product(words, signs, words, signs, words):
        text = f"{first}{sign}{second}{other_sign}{third}"
        moment, days = instant_of(text), days_of(text)
        assert moment is None or (days is not None and np.datetime64(moment, "ns").astype("M8[D]").item() == days.first), text


def test_numbers_that_name_days() -> None:
    """Years of four digits and days of eight."""
    years = (999, None), (1000, 1000), (9999, 9999), (10_000, None), (10_000_100, None), (10_000_101, 1000), (True, None), (2024.0, None)
    for number, year in years:
        found = days_of(number)
        assert (found and found.last.year) == year
    assert (days_of("2024" + " " * 96), days_of("2024" + " " * 97)) == (days_of(2024), None)


def test_instants() -> None:
    """Nanoseconds since 1970 of a day or a time, in UTC unless the text names a zone; each form that a date can have, with its day."""
    lines = [line.split("|") for line in _lines("instants")]
    expected = {text: int(np.datetime64(moment, "ns").astype(np.int64)) if moment else None for text, moment in lines}
    assert {text: instant_of(text) for text in expected} == expected
    for line in _lines("date_forms"):
        text, *readings = line.split("|")
        found = [word for since, form in date_readings(text) for word in (form, str(np.datetime64(since, "ns").astype("datetime64[D]")))]
        assert found == readings, text


QUANTITIES: list[tuple[Any, dict[str, Any], Fraction | None, dict[str, int] | None]] = [
    ("$1.2 million", {}, Fraction(1_200_000), {"USD": 1}),
    ("-€3k", {}, Fraction(-3000), {"EUR": 1}),
    *((f"$2 {word}", {}, Fraction(2000), {"USD": 1}) for word in ("thousand", "k")),
    *((f"$2 {word}", {}, Fraction(2 * 10**6), {"USD": 1}) for word in ("million", "mio", "mn", "m")),
    *((f"$2 {word}", {}, Fraction(2 * 10**9), {"USD": 1}) for word in ("billion", "bn", "b")),
    *((f"$2 {word}", {}, Fraction(2 * 10**12), {"USD": 1}) for word in ("trillion", "tn")),
    ("5 EUR", {}, Fraction(5), {"EUR": 1}),
    ("1" + "0" * 197 + " m", {}, Fraction(10**197), {"m": 1}),
    ("1" + "0" * 198 + " m", {}, None, None),
    ("3 k", {"unit": "m"}, Fraction(3), {"k": 1}),
    ("5 mA/cm2", {}, Fraction(50), {"A": 1, "m": -2}),
    ("2 J/(mol K)", {}, Fraction(2), {"kg": 1, "m": 2, "s": -2, "mol": -1, "K": -1}),
    ("2 square metres", {}, Fraction(2), {"m": 2}),
    ("2 cubic cm", {}, Fraction(2, 10**6), {"m": 3}),
    ("0 °C", {}, Fraction("273.15"), {"K": 1}),
    ("212 degrees Fahrenheit", {}, Fraction("373.15"), {"K": 1}),
    ("9 °C/m", {}, Fraction(9), {"K": 1, "m": -1}),
    ("9 °F/m", {}, Fraction(5), {"K": 1, "m": -1}),
    ("5 % (w/w)", {}, Fraction(1, 20), {"wt": 1}),
    ("3 m * s", {}, Fraction(3), {"m": 1, "s": 1}),
    ("3 m/m", {}, Fraction(3), {}),
    ("3 widgets", {}, Fraction(3), {"widgets": 1}),
    ({"value": 3, "unit": "km"}, {}, Fraction(3000), {"m": 1}),
    ({"value": 3}, {"unit": "km"}, Fraction(3000), {"m": 1}),
    ("3 box", {"extra": {"box": (12, "kg")}}, Fraction(36), {"kg": 1}),
    ("1" + " " * 198 + "m", {}, Fraction(1), {"m": 1}),
    ("3 m) s", {}, None, None),
    ("x" * 201, {}, None, None),
    ({"value": [3], "unit": "m"}, {}, None, None),
    ({"value": 3, "unit": 3}, {}, None, None),
    (True, {}, None, None),
    (math.inf, {}, None, None),
    (math.nan, {}, None, None),
    ("m", {}, None, None),
]


def test_texts() -> None:
    """Amounts of money, products, quotients, temperatures, units of a check; what is no quantity is None."""
    for text, more, expected, dimension in QUANTITIES:
        found = parse_quantity(text, **more)
        assert (found and (found.amount, found.dimension)) == (None if expected is None else (expected, dimension)), text


def read_quantity(value: Any, unit: str, locale: str, extra: dict[str, Any]) -> list[Any] | None:
    """Amount, dimension, unit and factor."""
    found = parse_quantity(value, unit=unit, locale=locale, extra=extra)
    return None if found is None else [str(found.amount), dict(found.dimension), found.unit, str(found.scale)]


def describe(text: str) -> list[Any]:
    """What the first character looks like and stands for, and what it is next to others."""
    first = text[0]
    shapes = [sorted(looks_like(first)), spelled_out(first), digits_only(f"5{text}6"), visible(text)]
    return [*shapes, is_joined(first, text[1:2]), is_spaceless(first), is_visible(first)]


def compare(gold: list[Any], predicted: list[Any]) -> list[Any]:
    """Under each evaluator of SQL."""
    sides = [list(map(tuple, side)) for side in (gold, predicted)]
    bags = [equal_as_bags(*sides, ordered=ordered) for ordered in (False, True)]
    return [equal_as_sets(*sides), *bags, round(soft_f1(*sides), 9)]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "moment": lambda *arguments: None if (found := moment_of(*arguments)) is None else str(found),
    "days": lambda *arguments: (span := days_of(*arguments)) and list(map(str, span)),
    "readings": lambda text: list(map(list, date_readings(text))),
    "instant": instant_of,
    "quantity": read_quantity,
    "clean": clean,
    "shapes": describe,
    "rows": compare,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_recorded_results(name: str) -> None:
    """Of each row the same result."""
    rows = [row for row in map(json.loads, (CORPUS / "functions.jsonl").read_text(encoding="utf-8").splitlines()) if row[0] == name]
    assert rows
    assert [[*row[:2], FUNCTIONS[name](*row[1])] for row in rows] == rows
