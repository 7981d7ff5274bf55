"""Numbers with a unit: "300 nm" -> an amount in base units and its dimension. A small table; a schema may add units of its own."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# unit -> (factor to the base unit, base unit, offset); temperature is the one affine dimension.
_UNITS: dict[str, tuple[float, str]] = {
    "": (1.0, ""), "%": (0.01, ""), "ppm": (1e-6, ""),
    "m": (1.0, "m"), "g": (1e-3, "kg"), "s": (1.0, "s"), "A": (1.0, "A"), "mol": (1.0, "mol"), "Hz": (1.0, "Hz"), "N": (1.0, "N"),
    "Pa": (1.0, "Pa"), "J": (1.0, "J"), "W": (1.0, "W"), "V": (1.0, "V"), "C": (1.0, "C"), "F": (1.0, "F"), "T": (1.0, "T"),
    "eV": (1.602176634e-19, "J"), "cal": (4.184, "J"), "Wh": (3600.0, "J"),
    "L": (1e-3, "m3"), "l": (1e-3, "m3"), "B": (8.0, "bit"), "bit": (1.0, "bit"), "bar": (1e5, "Pa"), "Ω": (1.0, "Ω"), "ohm": (1.0, "Ω"),
}  # fmt: skip
_WHOLE: dict[str, tuple[float, str]] = {
    "min": (60.0, "s"), "h": (3600.0, "s"), "hr": (3600.0, "s"), "d": (86400.0, "s"), "day": (86400.0, "s"), "days": (86400.0, "s"),
    "in": (0.0254, "m"), "ft": (0.3048, "m"), "mi": (1609.344, "m"), "Å": (1e-10, "m"),
    "lb": (0.45359237, "kg"), "oz": (0.028349523125, "kg"), "t": (1000.0, "kg"), "atm": (101325.0, "Pa"), "Torr": (101325 / 760, "Pa"),
    "cm2": (1e-4, "m2"), "m2": (1.0, "m2"), "mm2": (1e-6, "m2"), "cm3": (1e-6, "m3"), "m3": (1.0, "m3"),
    "K": (1.0, "K"), "mK": (1e-3, "K"), "rpm": (1 / 60, "Hz"),
}  # fmt: skip
_AFFINE = {"°C": (1.0, 273.15), "degC": (1.0, 273.15), "°F": (5 / 9, 459.67 * 5 / 9), "degF": (5 / 9, 459.67 * 5 / 9)}
_PREFIXES = {"G": 1e9, "M": 1e6, "k": 1e3, "d": 1e-1, "c": 1e-2, "m": 1e-3, "µ": 1e-6, "μ": 1e-6, "u": 1e-6, "n": 1e-9, "p": 1e-12}
_PATTERN = re.compile(r"\s*([+-]?(?:\d+(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([^\d\s].*?)?\s*")


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount in base units, the dimension as its base unit, the unit as written and its factor."""

    amount: float
    dimension: str
    unit: str
    scale: float


def parse_quantity(value: Any, *, unit: str = "", extra: Mapping[str, Any] | None = None) -> Quantity | None:
    """The quantity that a number, a text or an object with `value` and `unit` names, None where it is none."""
    if isinstance(value, dict):
        unit = value.get("unit") or unit
        value = value.get("value")
    if isinstance(value, str):
        found = _PATTERN.fullmatch(value[:200])
        if not found or not found[1]:
            return None
        number, unit = found[1].replace(",", ""), found[2] or unit
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = str(value)
    else:
        return None
    factor = _factor(unit, extra or {}) if isinstance(unit, str) else None
    if factor is None:
        return None
    try:
        amount = float(number)
    except ValueError:
        return None
    scale, dimension, offset = factor
    return Quantity(amount * scale + offset, dimension, unit, scale)


def _factor(unit: str, extra: Mapping[str, Any]) -> tuple[float, str, float] | None:
    if unit in extra:
        scale, base = extra[unit]
        known = _factor(base, {})
        return (scale * known[0], known[1], 0.0) if known else (scale, base, 0.0)
    if unit in _AFFINE:
        return _AFFINE[unit][0], "K", _AFFINE[unit][1]
    for table in (_WHOLE, _UNITS):
        if unit in table:
            return (*table[unit], 0.0)
    if len(unit) > 1 and unit[0] in _PREFIXES and unit[1:] in _UNITS:
        scale, base = _UNITS[unit[1:]]
        return _PREFIXES[unit[0]] * scale, base, 0.0
    return None
