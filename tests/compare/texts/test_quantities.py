"""Quantities have the factors of scipy's constants, prefixes those of the SI, and texts of other forms are none."""

import math
from datetime import date
from fractions import Fraction
from typing import Any

import pytest
from scipy import constants

from evalsuite.compare.dates import days_of
from evalsuite.compare.quantities import _LONG, _PREFIXES, parse_quantity

NAMES = {"Y": "yotta", "Z": "zetta", "E": "exa", "P": "peta", "T": "tera", "G": "giga", "M": "mega", "k": "kilo", "h": "hecto", "d": "deci"}
NAMES |= {"c": "centi", "m": "milli", "μ": "micro", "u": "micro", "n": "nano", "p": "pico", "f": "femto", "a": "atto", "z": "zepto"}
NAMES |= {"y": "yocto"}
UNITS = {
    "in": "inch", "ft": "foot", "yd": "yard", "miles": "mile", "nmi": "nautical_mile", "lb": "pound", "oz": "oz", "st": "stone",
    "min": "minute", "h": "hour", "d": "day", "wk": "week", "yr": "Julian_year", "atm": "atm", "psi": "psi", "Torr": "torr", "bar": "bar",
    "eV": "eV",
    "Da": "u", "ha": "hectare", "acre": "acre", "L": "liter", "kn": "knot", "deg": "degree", "Å": "angstrom", "t": "metric_ton", "hp": "hp",
    "pc": "parsec", "km/h": "kmh", "mph": "mph", "gal": "gallon", "dyn": "dyn", "erg": "erg", "cal": "calorie", "lbf": "lbf", "BTU": "Btu",
    "micron": "micron",
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
        factor = getattr(constants, name, 1e-24)
        assert amount(f"3 {sign}W") == pytest.approx(3 * factor, rel=1e-12), name
        if name in _LONG:
            assert amount(f"3 {name}watts") == pytest.approx(3 * factor, rel=1e-12), name
    assert amount("3 daN") == 30


@pytest.mark.parametrize(("unit", "name"), UNITS.items())
def test_units(unit: str, name: str) -> None:
    """Each is as many base units as scipy says."""
    assert amount(f"1 {unit}") == pytest.approx(getattr(constants, name), rel=1e-8)


def test_words() -> None:
    """A word is its symbol, in one or in many."""
    for word, symbol in WORDS.items():
        assert amount(f"3 {word}") == amount(f"3 {word.title()}s") == amount(f"3 {symbol}"), word


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("May 3-5 2024", ((2024, 5, 3), (2024, 5, 5))),
        ("3-5 May 2024", ((2024, 5, 3), (2024, 5, 5))),
        ("May-June 2024", ((2024, 5, 1), (2024, 6, 30))),
        ("30 December 2023 - 2 January 2024", ((2023, 12, 30), (2024, 1, 2))),
        ("5-3 May 2024", None),
    ],
)
def test_spans_of_days(text: str, span: tuple[tuple[int, int, int], tuple[int, int, int]] | None) -> None:
    """What the end names of month and year is the beginning's too."""
    found = days_of(text)
    assert (found and (found.first, found.last)) == (span and (date(*span[0]), date(*span[1])))


@pytest.mark.parametrize(
    ("text", "more", "expected", "dimension"),
    [
        ("$1.2 million", {}, Fraction(1_200_000), {"USD": 1}),
        ("-€3k", {}, Fraction(-3000), {"EUR": 1}),
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
    ],
)
def test_texts(text: Any, more: dict[str, Any], expected: Fraction | None, dimension: dict[str, int] | None) -> None:
    """Amounts of money, products, quotients, temperatures, units of a check; what is no quantity is None."""
    found = parse_quantity(text, **more)
    assert (found and (found.amount, found.dimension)) == (None if expected is None else (expected, dimension))
