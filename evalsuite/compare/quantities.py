"""Quantities, numbers with a unit, in texts: an exact amount in base units and its dimension.

Examples: "300 nm", "5 mA/cm²", "$1.2 million". A unit is a product of prefix x symbol x power: `mW/(cm2 nm)`, `kg m s^-2`, `J/mol K`.
Everything after a slash divides, as chemists write it. Symbols are those of the SI, of laboratories and of trade; an unknown word is a unit
of its own.
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from evalsuite.compare.values import number_at_start, plain_text

Dimension = Mapping[str, int]
# symbol -> (factor, base units with powers). `*` marks those that take a prefix.
_TABLE = """
*m 1 m|*g 1/1000 kg|*s 1 s|*A 1 A|*K 1 K|*mol 1 mol|*cd 1 cd|*bit 1 bit|*B 8 bit|*Hz 1 s-1|*N 1 kg m s-2|*Pa 1 kg m-1 s-2
*J 1 kg m2 s-2|*W 1 kg m2 s-3|*V 1 kg m2 s-3 A-1|*C 1 A s|*F 1 kg-1 m-2 s4 A2|*T 1 kg s-2 A-1|*Wb 1 kg m2 s-2 A-1|*H 1 kg m2 s-2 A-2
*Ω 1 kg m2 s-3 A-2|*S 1 kg-1 m-2 s3 A2|*lm 1 cd|*lx 1 cd m-2|*Bq 1 s-1|*Gy 1 m2 s-2|*Sv 1 m2 s-2|*kat 1 mol s-1
*eV 1.602176634e-19 kg m2 s-2|*cal 4.184 kg m2 s-2|*Wh 3600 kg m2 s-2|*Ah 3600 A s|*L 1/1000 m3|*l 1/1000 m3|*bar 100000 kg m-1 s-2
*M 1000 mol m-3|*Da 1.66053906660e-27 kg|*t 1000 kg|*pc 30856775814913673 m|*Ci 37000000000 s-1
*Torr 101325/760 kg m-1 s-2|*torr 101325/760 kg m-1 s-2
*psi 6894.757293168 kg m-1 s-2|*rad 1 rad|*ohm 1 kg m2 s-3 A-2|min 60 s|h 3600 s|hr 3600 s|d 86400 s|wk 604800 s|yr 31557600 s
in 0.0254 m|ft 0.3048 m|yd 0.9144 m|mi 1609.344 m|nmi 1852 m|Å 1/10000000000 m|lb 0.45359237 kg|lbs 0.45359237 kg
oz 0.028349523125 kg|st 6.35029318 kg|atm 101325 kg m-1 s-2|mmHg 133.322387415 kg m-1 s-2|lbf 4.4482216152605 kg m s-2
cc 1/1000000 m3|gal 0.003785411784 m3|ha 10000 m2|acre 4046.8564224 m2|rpm 1/60 s-1|mph 0.44704 m s-1|kph 5/18 m s-1
kn 1852/3600 m s-1|hp 745.6998715822702 kg m2 s-3|BTU 1055.05585262 kg m2 s-2|erg 1/10000000 kg m2 s-2|dyn 1/100000 kg m s-2
P 1/10 kg m-1 s-1|cP 1/1000 kg m-1 s-1|G 1/10000 kg s-2 A-1|Nm 1 kg m2 s-2|% 1/100|‰ 1/1000|ppm 1/1000000|ppb 1/1000000000
wt% 1/100 wt|at% 1/100 at|vol% 1/100 vol|mol% 1/100 molar|sccm 1 sccm|slm 1000 sccm|slpm 1000 sccm|dB 1 dB|dBm 1 dBm
° 0.017453292519943295 rad|deg 0.017453292519943295 rad|$ 1 USD|€ 1 EUR|£ 1 GBP|¥ 1 JPY|₹ 1 INR|₩ 1 KRW|US$ 1 USD|A$ 1 AUD|C$ 1 CAD
¢ 1/100 USD|ct 1/100 EUR
"""
_WORDS = """
meter metre m|gram gramme g|second sec s|ampere amp A|kelvin K|hertz Hz|newton N|pascal Pa|joule J|watt W|volt V|farad F|tesla T
henry H|ohm Ω|liter litre L|minute mins min|hour hrs h|day d|week wk|year yrs yr|inch inches in|foot feet ft|yard yd|mile mi
pound lb|ounce oz|tonne ton t|percent pct %|permille ‰|micron µm|angstrom ångström Å|degree degrees deg|molar M|mole mol
byte B|bits bit|dalton Da|calorie cal|dollar dollars USD|euro euros EUR|cent cents ¢|electronvolt eV|curie Ci|revolution rpm
knot knots kn|acres acre|hectare ha|gauss G|poise P
"""
_CURRENCIES = ("USD", "EUR", "GBP", "JPY", "CHF", "CNY", "INR", "AUD", "CAD", "SEK", "NOK", "DKK", "PLN", "CZK", "BRL", "MXN", "KRW", "ZAR")
_MONEY = frozenset((*_CURRENCIES, "$", "€", "£", "¥", "₹", "₩", "US$", "A$", "C$"))
_POWERS = (24, 21, 18, 15, 12, 9, 6, 3, 2, -1, -2, -3, -6, -6, -9, -12, -15, -18, -21, -24)
_PREFIXES = dict(zip("YZEPTGMkhdcmμunpfazy", _POWERS, strict=True))
_LONG = {
    "tera": 12, "giga": 9, "mega": 6, "kilo": 3, "hecto": 2, "centi": -2, "milli": -3, "micro": -6, "nano": -9, "pico": -12, "femto": -15,
}  # fmt: skip

_MANY = {"thousand": 3, "k": 3, "million": 6, "mio": 6, "mn": 6, "m": 6, "billion": 9, "bn": 9, "b": 9, "trillion": 12, "tn": 12}
_AFFINE = {"°C": (Fraction(1), Fraction("273.15")), "°F": (Fraction(5, 9), Fraction("459.67") * 5 / 9), "°R": (Fraction(5, 9), Fraction(0))}
_SAME = (
    (re.compile(r"(?i)\b(?:deg(?:rees?)?\.? ?|° ?)(?:celsius|c)\b|\bcelsius\b|℃"), "°C"),
    (re.compile(r"(?i)\b(?:deg(?:rees?)?\.? ?|° ?)(?:fahrenheit|f)\b|\bfahrenheit\b"), "°F"),
    (re.compile(r"(?i)\b(wt|at|vol|mol)(?:\.|-| )? ?(?:%|percent)"), lambda found: found[1].lower() + "%"),
    (re.compile(r"(?i)\b(?:weight|mass) ?(?:%|percent)|% ?\(?w/w\)?"), "wt%"),
    (re.compile(r"(?i)% ?\(?v/v\)?"), "vol%"),
    (re.compile(r"(?i)\bper\b"), "/"),
    (re.compile(r"(?i)\bsq(?:uare|\.)? ?([a-zµμ]+)\b"), r"\1^2"),
    (re.compile(r"(?i)\bcu(?:bic|\.)? ?([a-zµμ]+)\b"), r"\1^3"),
)
_FACTOR = re.compile(r"(?P<symbol>[^\d\s*·⋅./()^+-]+|1(?=/))(?:(?:\^|\*\*)?\(?(?P<power>[+-]?\d{1,2})\)?)?")
_MONEY_FIRST = re.compile(r"(?P<sign>-?)\s?(?P<unit>(?:US|A|C)?\$|[€£¥₹₩]|[A-Z]{3}(?=[\s\d]))\s?(?=[\d.-])")
_MANY_BEHIND = re.compile(r"(?i)\s?(thousand|million|mio|mn|billion|bn|trillion|tn|[kmb])\b\.?")


class Quantity(NamedTuple):
    """An amount in base units, the base units with their powers, the unit as written and its factor."""

    amount: Fraction
    dimension: Dimension
    unit: str
    scale: Fraction


def parse_quantity(value: Any, *, unit: str = "", extra: Mapping[str, Any] | None = None, locale: str = "") -> Quantity | None:
    """Return the quantity of a number, a text or an object with `value` and `unit`, None if it is none."""
    if isinstance(value, dict):
        own_unit, value = value.get("unit"), value.get("value")
        if isinstance(value, dict | list) or not isinstance(own_unit, str | None):
            return None
        unit = own_unit or unit
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value != value or value in (float("inf"), float("-inf")):
        return None
    text = plain_text(value if isinstance(value, str) else repr(value))
    if len(text) > 200:
        return None
    if money := _MONEY_FIRST.match(text):
        text = money["sign"] + text[money.end() :] + " " + money["unit"]
    quantity = number_at_start(text, "" if not isinstance(value, str) else locale)
    if quantity is None:
        return None
    number, rest = quantity
    many = _MANY_BEHIND.match(rest)
    if many and (len(many[1]) > 1 or rest[many.end() :].strip() in _MONEY):
        number, rest = number * 10 ** _MANY[many[1].lower()], rest[many.end() :]
    written = rest.strip() or unit
    factor = factor_of(written, extra or {})
    if factor is None:
        return None
    scale, dimension, offset = factor
    return Quantity(number * scale + offset, dimension, written, scale)


def factor_of(unit: str, extra: Mapping[str, Any]) -> tuple[Fraction, Dimension, Fraction] | None:
    """Return (factor to base units, base units with powers, what is added) of a unit, None if the text is none."""
    if unit in extra:
        scale, base = extra[unit]
        base_factor = _factor_of(base)
        return None if base_factor is None else (Fraction(scale) * base_factor[0], base_factor[1], Fraction(0))
    return _factor_of(unit)


@lru_cache(4096)
def _factor_of(unit: str) -> tuple[Fraction, Dimension, Fraction] | None:
    text = plain_text(unit)
    for pattern, instead in _SAME:
        text = pattern.sub(instead, text)
    if text in _AFFINE:
        return _AFFINE[text][0], {"K": 1}, _AFFINE[text][1]
    scale, dimension, place, sign, depth = Fraction(1), dict[str, int](), 0, 1, 0
    while place < len(text):
        if text[place] in " *·⋅()/.":
            # Behind a slash everything divides up to the next slash's own factor or the closing bracket.
            sign = -1 if text[place] == "/" else 1 if text[place] == ")" else sign
            depth += {"(": 1, ")": -1}.get(text[place], 0)
            place += 1
            continue
        match = _FACTOR.match(text, place)
        if match is None or not match["symbol"] or depth < 0:
            return None
        factor, base = symbol_of(match["symbol"])
        power = sign * int(match["power"] or 1)
        scale *= factor**power
        for name, exponent in base.items():
            dimension[name] = dimension.get(name, 0) + exponent * power
        place = match.end()
    return scale, {name: power for name, power in dimension.items() if power}, Fraction(0)


def symbol_of(symbol: str) -> tuple[Fraction, Dimension]:
    """Return (factor, base units) of one symbol or word with its prefix; an unknown word is a unit of its own."""
    if symbol in SYMBOLS:
        return SYMBOLS[symbol]
    if symbol[0] in _PREFIXES and symbol[1:] in _PREFIXED:
        factor, base = SYMBOLS[symbol[1:]]
        return factor * Fraction(10) ** _PREFIXES[symbol[0]], base
    if symbol[:2] == "da" and symbol[2:] in _PREFIXED:
        return SYMBOLS[symbol[2:]][0] * 10, SYMBOLS[symbol[2:]][1]
    word = symbol.casefold()
    for long, power in (("", 0), *_LONG.items()):
        rest = word.removeprefix(long)
        if word.startswith(long) and (base_word := WORDS.get(rest) or WORDS.get(rest.removesuffix("s"))):
            factor, base = symbol_of(base_word)
            return factor * Fraction(10) ** power, base
    if symbol[0] in "°" and symbol[1:] in ("C", "F", "K"):
        return (Fraction(5, 9) if symbol[1:] == "F" else Fraction(1)), {"K": 1}
    return Fraction(1), {symbol: 1}


def _read_tables() -> tuple[dict[str, tuple[Fraction, Dimension]], frozenset[str], dict[str, str]]:
    symbols: dict[str, tuple[Fraction, Dimension]] = {"1": (Fraction(1), {})}
    prefixed = set()
    for line in _TABLE.replace("\n", "|").strip("|").split("|"):
        name, factor, *base = line.split()
        if name.startswith("*"):
            prefixed.add(name := name[1:])
        powers = [re.fullmatch(r"(\D+?)(-?\d*)", part) for part in base]
        symbols[plain_text(name)] = Fraction(factor), {power[1]: int(power[2] or 1) for power in powers if power}
    symbols |= {code: (Fraction(1), {code: 1}) for code in _CURRENCIES}
    prefixed |= {*_CURRENCIES, "$", "€", "£"}
    rows = [line.split() for line in _WORDS.replace("\n", "|").strip("|").split("|")]
    return symbols, frozenset(map(plain_text, prefixed)), {word: plain_text(row[-1]) for row in rows for word in row[:-1]}


SYMBOLS, _PREFIXED, WORDS = _read_tables()
