"""The roundest number or date between the rows that meet a bound and those that do not: what a person would have written."""

from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Final, NamedTuple

from evalsuite.causes.value_pairs import plain

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_PLACES: Final = 12


class Bound(NamedTuple):
    """A bound on one side in words, as `at least '100'`: `edge` is what is compared with, and `inclusive` whether it meets the bound."""

    words: str
    edge: float
    inclusive: bool


def bound(edge: float, beyond: float | None, shown: str, *, up: bool, dated: bool) -> Bound:
    """`at least`, `more than`, `at most`, `less than` or `before` a number or a day.

    `edge` is the outermost value that meets it, `shown` that value as it is written, `beyond` the nearest one that does not (None: there is
    none). Times are in nanoseconds since 1970. What lies between is named where it is written with fewer digits.
    """
    at_edge = Bound(f"{'at least' if up else 'at most'} {shown}", edge, inclusive=True)
    if beyond is None:
        return at_edge
    if dated:
        moment = _round_moment(edge, beyond, up=up)
        if moment is None:
            return at_edge
        return Bound(f"{'at least' if up else 'before'} '{moment.date().isoformat()}'", _nanoseconds(moment), inclusive=up)
    low, high = (Decimal(repr(value)) for value in sorted((edge, beyond)))
    for exponent in range(_MOST_PLACES, -_MOST_PLACES, -1):
        step = Decimal(1).scaleb(exponent)
        least = (low / step).to_integral_value(ROUND_CEILING) * step
        if least > high:
            continue
        number = least if up else (high / step).to_integral_value(ROUND_FLOOR) * step
        if number == Decimal(repr(edge)):
            return at_edge
        return Bound(f"{'more than' if up else 'less than'} '{plain(number)}'", float(number), inclusive=False)
    return at_edge


def _nanoseconds(moment: datetime) -> float:
    return (moment - _EPOCH).total_seconds() * 1e9


def _round_moment(edge: float, beyond: float, *, up: bool) -> datetime | None:
    """The first day of a year or a month, or a midnight, that parts the two: not after the later one, after the earlier one."""
    later, earlier = (max(edge, beyond), min(edge, beyond))
    try:
        day = (_EPOCH + timedelta(microseconds=later // 1000)).replace(hour=0, minute=0, second=0, microsecond=0)
    except OverflowError:
        return None
    for moment in (day.replace(month=1, day=1), day.replace(day=1), day):
        at = _nanoseconds(moment)
        if earlier < at and (at <= edge if up else at <= beyond):
            return moment
    return None
