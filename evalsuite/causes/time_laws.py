"""The laws of wrong dates and times: written in another form, shifted, cut off. See `laws` for the form of a law."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from evalsuite.causes.laws import NO, Fixed
from evalsuite.causes.value_pairs import DAY, Pair, instant, instants, write_instant, write_number

HOUR: Final = DAY // 24
# Seconds, milliseconds, microseconds and nanoseconds since 1970, as nanoseconds.
_TICKS: Final = {10**9: "seconds", 10**6: "milliseconds", 10**3: "microseconds", 1: "nanoseconds"}


def date_form(pair: Pair) -> Any:
    """Gold's date in another form."""
    gold = instant(pair.gold, native=pair.native)
    if gold is None or pair.predicted is None or instant(pair.predicted, native=pair.native) not in (None, gold):
        return NO
    if str(pair.gold) == str(pair.predicted):
        return NO
    return pair.gold if gold in (instant(pair.predicted, native=False), *instants(pair.predicted)) else NO


def epoch_time(pairs: Sequence[Pair]) -> Fixed | None:
    """Times as numbers since 1970, or numbers since 1970 as times: of all pairs in the same unit."""
    for size, unit in _TICKS.items():
        values = []
        for pair in pairs:
            gold, predicted = pair.gold_number, pair.predicted_number
            moments = instant(pair.gold, native=pair.native), instant(pair.predicted, native=pair.native)
            if gold is None and predicted and moments[0] is not None and moments[0] == predicted * size:
                values.append(write_instant(int(predicted * size), pair.gold))
            elif predicted is None and gold and moments[1] is not None and moments[1] == gold * size:
                values.append(write_number(Decimal(moments[1]) / size, pair.gold))
            else:
                break
        if values and len(values) == len(pairs):
            return Fixed(tuple(values), f"times stand as {unit} since 1970, or such {unit} as times")
    return None


def shifts(pairs: Sequence[Pair]) -> list[int] | None:
    """By how many nanoseconds each prediction is late; None where one side is no time."""
    found = []
    for pair in pairs:
        gold, predicted = instant(pair.gold, native=pair.native), instant(pair.predicted, native=pair.native)
        if gold is None or predicted is None:
            return None
        found.append(predicted - gold)
    return found


def off_by_a_day(pairs: Sequence[Pair]) -> Fixed | None:
    """All dates one day late, or one day early."""
    late = shifts(pairs)
    if not late or len(set(late)) > 1 or abs(late[0]) != DAY:
        return None
    return Fixed(_shifted(pairs, late), f"the dates are one day {'late' if late[0] > 0 else 'early'}")


def time_zone(pairs: Sequence[Pair]) -> Fixed | None:
    """One shift by quarters of an hour up to 14 h, or two that are an hour apart as summer time has them."""
    late = shifts(pairs)
    sizes = sorted(set(late or ()))
    if not late or len(sizes) > 2 or 0 in sizes or any(abs(size) > 14 * HOUR or size % (HOUR // 4) for size in sizes):
        return None
    words = f"{abs(sizes[0]) / HOUR:g} h"
    if len(sizes) == 2:
        if sizes[1] - sizes[0] != HOUR or not _by_season(pairs, [size == sizes[1] for size in late]):
            return None
        words = f"{abs(sizes[0]) / HOUR:g} or, by summer time, {abs(sizes[1]) / HOUR:g} h"
    return Fixed(_shifted(pairs, late), f"the times are {words} {'late' if sizes[0] > 0 else 'early'}, as in another time zone")


def summer_time(pairs: Sequence[Pair]) -> Fixed | None:
    """Times that are one hour off, all of them in one season of summer time: the others of the column are right."""
    late = shifts(pairs)
    if not late or len(set(late)) > 1 or abs(late[0]) != HOUR or not _by_season(pairs, [True] * len(pairs)):
        return None
    return Fixed(_shifted(pairs, late), f"the times are 1 h {'late' if late[0] > 0 else 'early'} where summer time begins or ends")


def _by_season(pairs: Sequence[Pair], marked: Sequence[bool]) -> bool:
    """Whether the marked pairs, and they alone, lie in the summer time, or the winter time, of Europe or of North America."""
    moments = [(instant(pair.gold, native=pair.native) or 0) // 10**9 for pair in pairs]
    for summer in (_european_summer, _american_summer):
        seasons = [summer(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=moment)) for moment in moments]
        if any(all(season in (None, mark is wanted) for season, mark in zip(seasons, marked, strict=True)) for wanted in (True, False)):
            return True
    return False


def _european_summer(at: datetime) -> bool | None:
    """Last Sunday of March to last Sunday of October; None on these days and those beside them, where zones differ."""
    return _between(at, _sunday(at.year, 4, 1, -1), _sunday(at.year, 11, 1, -1))


def _american_summer(at: datetime) -> bool | None:
    """Second Sunday of March to first Sunday of November, as since 2007; None on these days and those beside them."""
    return _between(at, _sunday(at.year, 3, 1, 2), _sunday(at.year, 11, 1, 1))


def _between(at: datetime, begin: datetime, end: datetime) -> bool | None:
    if min(abs(at - begin), abs(at - end)) < timedelta(days=2):
        return None
    return begin < at < end


def _sunday(year: int, month: int, day: int, n: int) -> datetime:
    """The n-th Sunday on or after a day; -1 for the last one before it."""
    start = datetime(year, month, day, tzinfo=UTC)
    ahead = timedelta(days=(6 - start.weekday()) % 7)
    return start + ahead + timedelta(weeks=n - 1 if n > 0 else n)


def _shifted(pairs: Sequence[Pair], late: Sequence[int]) -> tuple[Any, ...]:
    moments = [instant(pair.predicted, native=pair.native) or 0 for pair in pairs]
    return tuple(write_instant(at - shift, pair.gold) for at, shift, pair in zip(moments, late, pairs, strict=True))


def time_cut(pair: Pair) -> Any:
    """The time without its seconds, minutes or hours, or the date without its day or month, as `2024-05-01`, `2024-05` or `2024`."""
    gold, predicted = instant(pair.gold, native=pair.native), instant(pair.predicted, native=pair.native)
    if gold is None or gold == predicted:
        return NO
    day = write_instant(gold, "2000-01-01")
    if str(pair.predicted).strip().removesuffix(".0") in (day[:4], day[:7]):
        return pair.gold
    steps = (10**9, 60 * 10**9, HOUR, DAY)
    if predicted is None or any(gold - gold % step == predicted for step in steps):
        return NO if predicted is None else pair.gold
    months = [day[:length] + rest for length, rest in ((7, "-01"), (4, "-01-01"))]
    return pair.gold if predicted in [instant(text, native=False) for text in months] else NO
