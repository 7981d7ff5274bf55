"""Parse and compare single cells under the strict rules: null, integer, decimal, instant or text, each without the rest of its column.

The equality of two cells is `equal`; `key` gives a hashable form for the cells whose equality is plain (everything but decimals).
- null words in any case are null; null equals only null.
- `true` and `false` are the integers 1 and 0.
- numbers are equal by the rules of `numbers`. Groups of thousands (by commas, apostrophes, spaces) and one currency sign are removed,
  brackets and dashes before a number are a minus; 007 is text. `%` is text, unless the
  check says `percentage`: then a cell may be a percent figure or a share, with one reading for the whole column (`in_reading`).
- infinities equal themselves. ISO dates and timestamps are instants (naive = UTC). Text is stripped and NFC; its case counts.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

from evalsuite.compare.numbers import Number, Tolerance, exact_of, number_of, numbers_equal

_NA_AS_WRITTEN: Final = frozenset({"NA", "N/A", "n/a", "#NA", "#N/A", "#N/A N/A", "<NA>"})
_ANY_CASE: Final = frozenset({"null", "none", "nan", "-nan", "1.#ind", "1.#qnan", "-1.#ind", "-1.#qnan", ""})
_SHORT: Final = 40
_INTEGER: Final = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_DECIMAL: Final = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_INFINITY: Final = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf, "infinity": math.inf, "-infinity": -math.inf}
_INSTANT: Final = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?)?\s?(Z|UTC|[+-]\d{2}(?::?\d{2})?)?", re.ASCII
)
_LONGEST_NUMBER = 400
_CURRENCY: Final = "$€£¥"
_MINUS: Final = "-\u2012\u2013\u2212"
_SPACES: Final = " \u00a0\u2009\u202f"
_GROUPED: Final = rf"[1-9][0-9]{{0,2}}(?:(?:,[0-9]{{3}})+|(?:['\u2019][0-9]{{3}})+|(?:[{_SPACES}][0-9]{{3}})+)"
_AMOUNT: Final = rf"((?:{_GROUPED}|0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)"
_WRITTEN: Final = re.compile(rf"([{_MINUS}+]?)[{_CURRENCY}]?{_AMOUNT}")
# The accounting notation of a negative amount.
_IN_BRACKETS: Final = re.compile(rf"(\()[{_CURRENCY}]?{_AMOUNT}\)")
_PARTING: Final = re.compile(rf"[,'\u2019{_SPACES}]")

Reading = Literal["figure", "share"]


class Percent(NamedTuple):
    """A number with a percent sign: `12.5%` as the figure 12.5 and as the share 0.125."""

    figure: int | Number
    share: Number


Cell = Any
"""A parsed cell: None, int, `Number`, `Percent`, or a tuple (kind, value) for infinities, instants, texts and other values."""


def read_text(text: str | None, *, percentage: bool = False) -> Cell:
    """Parse a CSV field; with `percentage` a number with a percent sign becomes a `Percent`."""
    if text is None:
        return None
    # Both sides of a comparison, and all answers to one gold, contain the same texts; caching long ones would fill the memory.
    return _known(text, percentage) if len(text) <= _SHORT else _cell_of(text, percentage)


def _cell_of(text: str, percentage: bool) -> Cell:
    text = text.strip()
    if text in _NA_AS_WRITTEN or text.lower() in _ANY_CASE:
        return None
    first = text[0]
    if percentage and text[-1] == "%" and (figure := _finite(_number_or_text(text[:-1].rstrip()))) is not None:
        return Percent(figure, number_of(exact_of(figure).scaleb(-2)))
    if (first.isascii() and (first.isdigit() or first in "+-.(")) or first in _CURRENCY or first in _MINUS:
        return _number_or_text(text)
    lowered = text.lower()
    if lowered == "true" or lowered == "false":
        return int(lowered == "true")
    if lowered in _INFINITY:
        return ("inf", _INFINITY[lowered])
    return ("text", text if text.isascii() else unicodedata.normalize("NFC", text))


_known: Final = lru_cache(maxsize=1 << 14)(_cell_of)


def is_written_form(text: str) -> bool:
    """Whether the text of a number contains groups of thousands, a currency sign, brackets or a sign other than a hyphen."""
    return _PARTING.search(text) is not None or text.lstrip("+-")[:1] in tuple(_CURRENCY + "(" + _MINUS)


def read_native(value: Any) -> Cell:
    """Parse a database value: its type decides, so the text '1' is not the number 1."""
    if value is None or isinstance(value, int):
        return None if value is None else int(value)
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return ("inf", value) if math.isinf(value) else _number(Decimal(repr(value)))
    if isinstance(value, Decimal):
        if not value.is_finite():
            return ("inf", float(value))
        # A DECIMAL without decimals is written like an integer.
        return int(value) if value.as_tuple().exponent == 0 else _number(value)
    if isinstance(value, str):
        return ("text", value if value.isascii() else unicodedata.normalize("NFC", value))
    if isinstance(value, datetime):
        return ("instant", _nanoseconds(value))
    if isinstance(value, date):
        return ("instant", _nanoseconds(datetime(value.year, value.month, value.day)))
    # Times, intervals, blobs, lists and structs are compared as values of their type, recursively, in a hashable form.
    if isinstance(value, dict):
        return ("struct", tuple((str(k), key(read_native(v))) for k, v in sorted(value.items(), key=lambda item: str(item[0]))))
    if isinstance(value, list | tuple):
        return ("list", tuple(key(read_native(item)) for item in value))
    if isinstance(value, bytes | bytearray | memoryview):
        return ("bytes", bytes(value))
    if isinstance(value, time | timedelta):
        return (type(value).__name__, value)
    return (type(value).__name__, str(value))


def key(cell: Cell) -> Any:
    """A hashable value that is equal for cells that are plainly equal; a whole decimal has the key of its integer."""
    if isinstance(cell, Number):
        return int(cell.exact) if cell.exact == cell.exact.to_integral_value() else ("decimal", cell.exact)
    return cell


def equal(gold: Cell, predicted: Cell, tolerance: Tolerance) -> bool:
    """Whether the predicted cell equals the gold cell under the rules of this module."""
    if isinstance(gold, int | Number) and isinstance(predicted, int | Number):
        return numbers_equal(gold, predicted, tolerance)
    return bool(gold == predicted) and type(gold) is type(predicted)


def in_reading(cells: Sequence[Cell], reading: Reading) -> list[Cell]:
    """The cells of a column with all percent signs read in one way."""
    return [getattr(cell, reading) if isinstance(cell, Percent) else cell for cell in cells]


def readings(gold: Sequence[Cell], predicted: Sequence[Cell]) -> list[tuple[Sequence[Cell], Sequence[Cell]]]:
    """The possible readings of two columns: with all percent signs as figures, then with all as shares."""
    return [(in_reading(gold, reading), in_reading(predicted, reading)) for reading in ("figure", "share")]


def show(cell: Cell) -> str:
    """The text of a cell in a reason."""
    if cell is None:
        return "null"
    if isinstance(cell, Number):
        return str(cell.exact)
    if isinstance(cell, Percent):
        return f"{show(cell.figure)}%"
    if isinstance(cell, int):
        return str(cell) if cell.bit_length() < 1000 else "a huge integer"
    kind, value = cell[0], cell[1]
    if kind == "instant":
        try:
            return str(datetime(1970, 1, 1) + timedelta(microseconds=value // 1000))
        except OverflowError:  # an offset moved it out of the years 1 to 9999
            return f"{value} ns"
    if kind == "list":
        return f"[{', '.join(map(show, value))}]"
    if kind == "struct":
        return "{" + ", ".join(f"{name}: {show(item)}" for name, item in value) + "}"
    return repr(value) if kind == "text" else str(value)


def _number_or_text(text: str) -> Cell:
    if len(text) <= _LONGEST_NUMBER:
        if _INTEGER.fullmatch(text):
            return int(text)
        if _DECIMAL.fullmatch(text):
            return _number(Decimal(text))
        if (written := _WRITTEN.fullmatch(text) or _IN_BRACKETS.fullmatch(text)) is not None:
            sign = written[1] if written[1] in ("", "+") else "-"
            return _number_or_text(sign + _PARTING.sub("", written[2]))
    if text.lower() in _INFINITY:
        return ("inf", _INFINITY[text.lower()])
    instant = _INSTANT.fullmatch(text)
    if instant is not None:
        found = _instant(instant)
        if found is not None:
            return ("instant", found)
    return ("text", text if text.isascii() else unicodedata.normalize("NFC", text))


def _finite(cell: Cell) -> int | Number | None:
    return cell if isinstance(cell, int | Number) else None


def _number(exact: Decimal) -> Cell:
    number = number_of(exact)
    return ("huge", exact) if math.isinf(number.value) else number  # no infinity: it equals itself only


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
