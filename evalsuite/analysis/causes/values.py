"""A gold value and its predicted value, and how error hypotheses read and write numbers, instants and texts."""

import math
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from evalsuite.compare.dates import date_readings
from evalsuite.compare.numbers import Number, exact_of
from evalsuite.compare.strict_columns import read_native
from evalsuite.compare.values import Cell, is_written_form, number_readings, read_cell, read_number
from evalsuite.core.dataclasses import dataclass

DAY: Final = 86_400 * 10**9
_EPOCH: Final = datetime(1970, 1, 1)
_NOISE: Final = Decimal("1e-9")
_ISO_HEAD: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Pair:
    """One value of gold and of the prediction. With `native`, types decide (databases, JSON) and a text is never a number."""

    gold: Any
    predicted: Any
    native: bool = False

    @property
    def gold_number(self) -> Decimal | None:
        """Gold as a finite number, None for anything else."""
        return number(self.gold, native=self.native)

    @property
    def predicted_number(self) -> Decimal | None:
        """The prediction as a finite number, None for anything else."""
        return number(self.predicted, native=self.native)

    @property
    def gold_text(self) -> str | None:
        """Gold as a text that is neither empty nor a number."""
        return _plain_text(self.gold, native=self.native)

    @property
    def predicted_text(self) -> str | None:
        """The prediction as a text that is neither empty nor a number."""
        return _plain_text(self.predicted, native=self.native)


def cell(value: Any, *, native: bool) -> Cell:
    """Return the value as the strict rules read it."""
    return read_native(value) if native else read_cell(value if value is None else str(value))


def number(value: Any, *, native: bool) -> Decimal | None:
    """Return the finite number of a value; None for booleans, dates, texts, and numbers in a written form like `$1,234`."""
    if isinstance(value, str):
        return _number_in(value, native)
    if isinstance(value, bool):
        return None
    return _finite(cell(value, native=native))


@lru_cache(maxsize=1 << 14)  # a hypothesis is tried on the same answer with many golds
def _number_in(text: str, native: bool) -> Decimal | None:
    bare = text.strip().lower()
    return None if bare in ("true", "false") or is_written_form(bare) else _finite(cell(text, native=native))


def _finite(number: Cell) -> Decimal | None:
    if isinstance(number, Number):
        return number.exact
    return Decimal(number) if isinstance(number, int) else None


def read_gold_number(gold: Any) -> Decimal | None:
    """Return the finite number of a text check's gold: 1,234 as 1234, 17% as 0.17; None for anything else."""
    if isinstance(gold, bool) or not isinstance(gold, int | float | str):
        return None
    try:
        return exact_of(read_number(gold))
    except (ValueError, ArithmeticError):
        return None


def is_null(value: Any, *, native: bool) -> bool:
    """Whether the value is NULL or a word for it."""
    return cell(value, native=native) is None


def write_number(value: Decimal, like: Any) -> Any:
    """Write the number in the form of `like`: the same type, or plain digits if that is a text."""
    if isinstance(like, float):
        return float(value)
    if isinstance(like, Decimal):
        return value
    whole = value == value.to_integral_value()
    if isinstance(like, int):
        return int(value) if whole else float(value)
    return plain(value)


def plain(value: Decimal) -> str:
    """Write the number as digits, without exponent and trailing zeros."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def decimals(value: Decimal) -> int:
    """Return how many decimals the number was written with."""
    exponent = value.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def is_near(a: Decimal, b: Decimal) -> bool:
    """Whether two numbers are equal within float noise."""
    return a == b or abs(a - b) <= _NOISE * max(abs(a), abs(b))


@lru_cache(maxsize=1 << 10)
def readings(text: str) -> Sequence[tuple[Decimal, str]]:
    """Return `number_readings` of a text."""
    return tuple(number_readings(text))


def instant(value: Any, *, native: bool) -> int | None:
    """Return the nanoseconds since 1970 of a date or timestamp in ISO form, None for anything else."""
    read = cell(value, native=native)
    if native and isinstance(value, str):
        read = read_cell(value)
    return int(read[1]) if isinstance(read, tuple) and read[0] == "instant" else None


def instants(value: Any) -> Iterator[tuple[int, str]]:
    """Yield each (instant, form) that a date in another form can mean."""
    if isinstance(value, date):
        yield from ((at, "a date") for at, _ in date_readings(value.isoformat()))
    else:
        yield from date_readings(str(value))


def write_instant(nanoseconds: int, like: Any) -> Any:
    """Write the instant in the form of `like`: a date, a timestamp, or text with or without a time of day."""
    moment = _EPOCH + timedelta(microseconds=nanoseconds // 1000)
    if isinstance(like, datetime):
        return moment.replace(tzinfo=like.tzinfo)
    if isinstance(like, date):
        return moment.date()
    text = str(like).strip()
    if _ISO_HEAD.fullmatch(text):
        return moment.date().isoformat()
    tail = "Z" if text.endswith("Z") else " UTC" if text.endswith(" UTC") else ""
    return moment.isoformat(sep="T" if text[10:11] == "T" else " ") + tail


def is_finite(value: Any) -> bool:
    """Whether a value can be computed with: everything except infinite floats and NaN."""
    return not isinstance(value, float) or math.isfinite(value)


def _plain_text(value: Any, *, native: bool) -> str | None:
    if not isinstance(value, str) or is_null(value, native=native) or number(value, native=native) is not None:
        return None
    return value
