"""How numbers lost digits: rounded, cut off, rounded up or down; to decimals, tens or significant digits. What is said holds for each."""

from collections.abc import Callable, Sequence
from decimal import (
    ROUND_CEILING,
    ROUND_DOWN,
    ROUND_FLOOR,
    ROUND_HALF_DOWN,
    ROUND_HALF_EVEN,
    ROUND_HALF_UP,
    ROUND_UP,
    Decimal,
    InvalidOperation,
)
from typing import Final

from evalsuite.causes.value_pairs import decimals

MOST_PLACES: Final = 15
MOST_SIGNIFICANT: Final = 12
_TENS: Final = ("whole numbers", "tens", "hundreds", "thousands", "ten thousands", "hundred thousands", "millions")
_NUMBERS: Final = ("zero", "one", "two", "three", "four", "five", "six")
_HALF: Final = Decimal("0.5")
# The unit that a number is a multiple of, as an exponent of ten; None where the number itself has none.
Unit = Callable[[Decimal, Decimal], int]


def lost_digits(exact: Sequence[Decimal], shown: Sequence[Decimal], *, to_decimals: bool = False) -> str:
    """How each exact number became the one that is shown, as `rounded to 2 decimals`; empty where no one way holds for all of them.

    Where the numbers fit several ways these are joined by `or`; what halves became is said where the numbers decide it. With `to_decimals`
    neither tens nor significant digits are tried.
    """
    if not exact or any(abs(value.adjusted()) > 2 * MOST_PLACES for value in (*exact, *shown) if value):
        return ""
    for unit, words in _units(shown, to_decimals=to_decimals):
        try:
            if found := _ways(exact, shown, unit):
                return f"{found[0]} to {words}{found[1]}"
        except InvalidOperation:
            continue
    return ""


def _units(shown: Sequence[Decimal], *, to_decimals: bool) -> list[tuple[Unit, str]]:
    """(unit, its words), the likeliest first: decimals as they are written, as they are needed, significant digits, each its own."""
    needed = [-int(value.normalize().as_tuple().exponent) for value in shown if value]
    written, least = max(map(decimals, shown)), max(needed, default=0)
    digits = max((len(value.normalize().as_tuple().digits) for value in shown if value), default=0)
    found: list[tuple[Unit, str]] = []
    for places in dict.fromkeys((written, least) if written >= least else (least,)):
        if (0 if to_decimals else 1 - len(_TENS)) <= places <= MOST_PLACES:
            found.append((lambda _, __, places=places: -places, places_in_words(places)))  # type: ignore[misc]
    if to_decimals:
        return found
    if 0 < digits <= MOST_SIGNIFICANT and len(shown) > 1:
        word = _NUMBERS[digits] if digits < len(_NUMBERS) else str(digits)
        plural = "" if digits == 1 else "s"
        found.append((lambda value, _: value.adjusted() - digits + 1, f"{word} significant digit{plural}"))
    if needed and 0 <= min(needed) < least <= MOST_PLACES:
        own = f"{min(needed)} to {least} decimals, each to those that it has"
        found.append((lambda _, value: min(0, int(value.normalize().as_tuple().exponent)) if value else 0, own))
    return found


def places_in_words(places: int) -> str:
    """`2 decimals`, `whole numbers`, `tens`."""
    return f"{places} decimal{'' if places == 1 else 's'}" if places > 0 else _TENS[-places]


def _ways(exact: Sequence[Decimal], shown: Sequence[Decimal], unit: Unit) -> tuple[str, str] | None:
    """(how, what became of halves) that holds for all pairs at that unit; None where nothing does."""
    steps = [Decimal(1).scaleb(unit(value, result)) for value, result in zip(exact, shown, strict=True)]
    ratios = [(value / step, result / step) for value, result, step in zip(exact, shown, steps, strict=True)]
    if any(result != result.to_integral_value() for _, result in ratios):
        return None
    below, above = any(value < 0 for value in exact), any(value > 0 for value in exact)
    directed = {"cut off": ROUND_DOWN}
    if above or not below:
        directed["rounded up"] = ROUND_CEILING
    if below:
        directed["rounded down"] = ROUND_FLOOR
    if below and above:
        directed["rounded away from zero"] = ROUND_UP
    names = ["rounded"] if all(abs(value - result) <= _HALF for value, result in ratios) else []
    names += [name for name, way in directed.items() if all(value.to_integral_value(way) == result for value, result in ratios)]
    if not names:
        return None
    if names != ["rounded"]:
        return " or ".join(names), ""
    return "rounded", _halves([(value, result) for value, result in ratios if abs(value - result) == _HALF])


def _halves(ties: Sequence[tuple[Decimal, Decimal]]) -> str:
    """What became of the numbers half-way between two; empty where there are none, or where both usual rules hold."""
    ways = {"to even": ROUND_HALF_EVEN, "away from zero": ROUND_HALF_UP, "towards zero": ROUND_HALF_DOWN}
    names = [name for name, way in ways.items() if all(value.to_integral_value(way) == result for value, result in ties)]
    if {"to even", "away from zero"} <= set(names):
        return ""
    if not names:
        names = [name for name, sign in (("up", 1), ("down", -1)) if all((result - value) * sign > 0 for value, result in ties)]
    return f" (halves {' or '.join(names) or 'either way'})"
