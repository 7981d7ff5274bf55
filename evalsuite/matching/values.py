"""One cell as a careful judge reads it: null, integer, decimal, instant or text, each by itself, whatever the rest of its column holds.

The equality of two cells is `equal`; `key` gives a hashable form for the cells whose equality is plain (everything but decimals).
Rules (gold decides):
- null words in any case are null; null equals only null.
- `true` and `false` are the integers 1 and 0.
- an integer (`[+-]?(0|[1-9]\\d*)`, so 007 is text) equals that integer; a decimal must be it within rel 1e-9.
- a gold cell with decimals equals a number within rel 1e-4 or abs 1e-9, or the number it gives when rounded to the decimals that the
  prediction shows, if these are at least 2 and the prediction has at least 2 significant digits; rounding never makes a zero.
- infinities equal themselves. ISO dates and timestamps are instants (naive = UTC). Text is stripped and NFC; its case counts.
"""

import math
import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation
from functools import cache
from typing import Any, Final, NamedTuple

INT_REL_TOL: Final = 1e-9
REL_TOL: Final = 1e-4
ABS_TOL: Final = 1e-9

_NA_AS_WRITTEN: Final = frozenset({"NA", "N/A", "n/a", "#NA", "#N/A", "#N/A N/A", "<NA>"})
_ANY_CASE: Final = frozenset({"null", "none", "nan", "-nan", "1.#ind", "1.#qnan", "-1.#ind", "-1.#qnan", ""})
_INTEGER: Final = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_DECIMAL: Final = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_INFINITY: Final = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf, "infinity": math.inf, "-infinity": -math.inf}
_INSTANT: Final = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?)?\s?(Z|UTC|[+-]\d{2}(?::?\d{2})?)?", re.ASCII
)
_LONGEST_NUMBER = 400
# Floats decide a comparison alone where they are farther than this share of gold from the edge; exact arithmetic decides the rest.
_FLOAT_NOISE = 1e-15
SLACK: Final = 1 + 1e-6  # what is only bounded is bounded generously, beyond all rounding of floats


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How near a number must be to a gold number with decimals: within `rel` of gold or within `abs`.

    `rounding` says whether a prediction rounded to its own decimals counts; a check that sets its own tolerance turns it off.
    """

    rel: float = REL_TOL
    abs: float = ABS_TOL
    rounding: bool = True
    integers: bool = False


class Number(NamedTuple):
    """A decimal number: its exact value, the value as a float, and how many decimals and significant digits it was written with."""

    exact: Decimal
    value: float
    decimals: int
    significant: int


Cell = Any
"""A cell as `read` makes it: None, int, `Number`, or a tuple (kind, value) for infinities, instants, texts and other values."""


def read_text(text: str | None) -> Cell:
    """The cell behind a CSV field."""
    if text is None:
        return None
    text = text.strip()
    if text in _NA_AS_WRITTEN or text.lower() in _ANY_CASE:
        return None
    first = text[0]
    if first.isascii() and (first.isdigit() or first in "+-."):
        return _number_or_instant(text)
    lowered = text.lower()
    if lowered == "true" or lowered == "false":
        return int(lowered == "true")
    if lowered in _INFINITY:
        return ("inf", _INFINITY[lowered])
    return ("text", text if text.isascii() else unicodedata.normalize("NFC", text))


def read_native(value: Any) -> Cell:
    """The cell behind a database value: its type decides, so the text '1' is not the number 1."""
    if value is None or isinstance(value, int):
        return None if value is None else int(value)
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return ("inf", value) if math.isinf(value) else _number(Decimal(repr(value)))
    if isinstance(value, Decimal):
        return _number(value) if value.is_finite() else ("inf", float(value))
    if isinstance(value, str):
        return ("text", value if value.isascii() else unicodedata.normalize("NFC", value))
    if isinstance(value, datetime):
        return ("instant", _nanoseconds(value))
    if isinstance(value, date):
        return ("instant", _nanoseconds(datetime(value.year, value.month, value.day)))
    return _other(value)


def key(cell: Cell) -> Any:
    """A hashable value that is equal for cells that are plainly equal; a whole decimal has the key of its integer."""
    if isinstance(cell, Number):
        return int(cell.exact) if cell.exact == cell.exact.to_integral_value() else ("decimal", cell.exact)
    return cell


def equal(gold: Cell, predicted: Cell, tolerance: Tolerance) -> bool:
    """Whether the predicted cell is the gold cell under the rules of this module."""
    if isinstance(gold, Number):
        return _near(gold, predicted, tolerance)
    if isinstance(gold, int):
        if tolerance.integers and isinstance(predicted, int | Number):
            return close(Decimal(gold), predicted, tolerance)
        if isinstance(predicted, Number):
            return predicted.exact == gold or abs(predicted.exact - gold) <= _exact(INT_REL_TOL) * abs(gold)
        return isinstance(predicted, int) and predicted == gold
    return bool(gold == predicted) and type(gold) is type(predicted)


def accepted_interval(predicted: Cell, tolerance: Tolerance) -> tuple[float, float] | None:
    """The interval (low, high) of gold values that a predicted number can equal at most; None for a cell that is no number."""
    if isinstance(predicted, Number):
        value, decimals = predicted.value, predicted.decimals
        half = 0.5 * 10.0**-decimals if _rounds(predicted, tolerance) else 0.0
    elif isinstance(predicted, int):
        try:
            value, half = float(predicted), 0.0
        except OverflowError:
            return None
    else:
        return None
    rel = max(tolerance.rel, INT_REL_TOL)
    if rel >= 1:
        return -math.inf, math.inf
    reach = max(abs(value) * (rel / (1 - rel)), tolerance.abs, half) * SLACK
    return value - reach, value + reach


def show(cell: Cell) -> str:
    """The cell as a reason names it."""
    if cell is None:
        return "null"
    if isinstance(cell, Number):
        return str(cell.exact)
    if isinstance(cell, int):
        return str(cell) if cell.bit_length() < 1000 else "a huge integer"
    kind, value = cell[0], cell[1]
    if kind == "instant":
        return _shown_instant(value)
    if kind == "list":
        return f"[{', '.join(map(show, value))}]"
    if kind == "struct":
        return "{" + ", ".join(f"{name}: {show(item)}" for name, item in value) + "}"
    return repr(value) if kind == "text" else str(value)


def _shown_instant(nanoseconds: int) -> str:
    try:
        return str(datetime(1970, 1, 1) + timedelta(microseconds=nanoseconds // 1000))
    except OverflowError:  # an offset moved it out of the years 1 to 9999
        return f"{nanoseconds} ns"


def _near(gold: Number, predicted: Cell, tolerance: Tolerance) -> bool:
    if not isinstance(predicted, int | Number):
        return False
    rounds = isinstance(predicted, Number) and _rounds(predicted, tolerance)
    if isinstance(predicted, Number):
        distance, noise = abs(gold.value - predicted.value), _FLOAT_NOISE * abs(gold.value)
        reach = max(tolerance.rel * abs(gold.value), tolerance.abs)
        if distance + noise < reach:
            return True
        if distance > 1.001 * (max(reach, 0.5 * 10.0**-predicted.decimals if rounds else 0.0) + noise):
            return False
    if close(gold.exact, predicted, tolerance):
        return True
    return isinstance(predicted, Number) and rounds and rounds_to(gold.exact, predicted)


def close(gold: Decimal, predicted: int | Number, tolerance: Tolerance) -> bool:
    """Whether the numbers are within the tolerance, rounding aside."""
    exact = predicted.exact if isinstance(predicted, Number) else Decimal(predicted)
    if gold == exact:
        return True
    distance = abs(gold - exact)
    return distance <= _exact(tolerance.abs) or distance <= _exact(tolerance.rel) * abs(gold)


@cache
def _exact(share: float) -> Decimal:
    return Decimal(repr(share))


def _rounds(predicted: Number, tolerance: Tolerance) -> bool:
    return tolerance.rounding and predicted.decimals >= 2 and predicted.significant >= 2 and predicted.exact != 0


def rounds_to(gold: Decimal, predicted: Number) -> bool:
    """Whether gold, rounded half up or half to even to the prediction's decimals, is the prediction."""
    unit = Decimal(1).scaleb(-predicted.decimals)
    try:
        return any(gold.quantize(unit, rounding) == predicted.exact for rounding in (ROUND_HALF_UP, ROUND_HALF_EVEN))
    except InvalidOperation:
        return False


def _number_or_instant(text: str) -> Cell:
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) <= _LONGEST_NUMBER else ("text", text)
    if _DECIMAL.fullmatch(text):
        return _number(Decimal(text)) if len(text) <= _LONGEST_NUMBER else ("text", text)
    if text.lower() in _INFINITY:
        return ("inf", _INFINITY[text.lower()])
    instant = _INSTANT.fullmatch(text)
    if instant is not None:
        found = _instant(instant)
        if found is not None:
            return ("instant", found)
    return ("text", text if text.isascii() else unicodedata.normalize("NFC", text))


def _number(exact: Decimal) -> Cell:
    _, digits, exponent = exact.as_tuple()
    assert isinstance(exponent, int)
    value = float(exact)
    if math.isinf(value):
        return ("huge", exact)  # no infinity: it equals itself only
    return Number(exact, value, max(0, -exponent), len(digits))


def _instant(match: re.Match[str]) -> int | None:
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    if zone and zone[0] in "+-" and hour is None:
        return None
    try:
        moment = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=UTC)
    except ValueError:
        return None
    nanoseconds = _nanoseconds(moment) + (int(fraction.ljust(9, "0")) if fraction else 0)
    if zone and zone[0] in "+-":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        offset = (int(digits[:2]) * 60 + int(digits[2:])) * 60 * 10**9
        nanoseconds += -offset if zone[0] == "+" else offset
    return nanoseconds


def _nanoseconds(moment: datetime) -> int:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return ((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds) * 1000


def _other(value: Any) -> Cell:
    """Times, intervals, blobs, lists and structs: compared as what they are, deeply, in a hashable form."""
    if isinstance(value, dict):
        return ("struct", tuple((str(k), key(read_native(v))) for k, v in sorted(value.items(), key=lambda item: str(item[0]))))
    if isinstance(value, list | tuple):
        return ("list", tuple(key(read_native(item)) for item in value))
    if isinstance(value, bytes | bytearray | memoryview):
        return ("bytes", bytes(value))
    if isinstance(value, time | timedelta):
        return (type(value).__name__, value)
    return (type(value).__name__, str(value))
