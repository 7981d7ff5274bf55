"""The laws of wrong dates and times: written in another form, shifted, cut off. See `laws` for the form of a law."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any, Final

from evalsuite.causes.laws import Fixed
from evalsuite.causes.value_pairs import DAY, Pair, instant, instants, write_instant

HOUR: Final = DAY // 24
# Seconds, milliseconds, microseconds and nanoseconds since 1970, as nanoseconds.
_CUTS: Final = {"second": 10**9, "minute": 60 * 10**9, "hour": HOUR, "day": DAY, "month": 0, "year": 0}
_SLASHED_DAY: Final = re.compile(r"(?P<one>\d{1,2})(?P<mark>[/.-])(?P<two>\d{1,2})(?P=mark)(?P<year>\d{4})(?P<rest>.*)", re.ASCII)
_TICKS: Final = {10**9: "seconds", 10**6: "milliseconds", 10**3: "microseconds", 1: "nanoseconds"}


def date_form(pairs: Sequence[Pair]) -> Fixed | None:
    """Gold's dates in another form: all in one, or each in one of two."""
    found: list[set[str]] = []
    for pair in pairs:
        gold = instant(pair.gold, native=pair.native)
        if gold is None or pair.predicted is None or str(pair.gold) == str(pair.predicted):
            return None
        forms = {form for at, form in instants(pair.predicted) if at == gold}
        if not forms or instant(pair.predicted, native=pair.native) not in (None, gold):
            return None
        found.append(forms)
    known = sorted(set().union(*found), key=lambda form: (-sum(form in forms for forms in found), form))
    choices = (some for n in (1, 2) for some in combinations(known, n))
    some = next((some for some in choices if all(forms & set(some) for forms in found)), None) if found else None
    return Fixed(tuple(pair.gold for pair in pairs), f"dates are written in another form, as {' or '.join(some)}") if some else None


def day_and_month(pairs: Sequence[Pair]) -> Fixed | None:
    """Dates whose day and month stand in each other's place, as `2024-05-03` for `2024-03-05`; both in one form."""
    if not pairs or not all(_is_exchanged(pair) for pair in pairs):
        return None
    return Fixed(tuple(pair.gold for pair in pairs), "days and months are exchanged")


def exchanged_days(right: Sequence[Pair]) -> str:
    """That all dates were exchanged that can be, where others of the column stand as they are, for their day is no month."""
    fixed = [_day_of(pair.gold, native=pair.native) for pair in right]
    days = [day for day in fixed if day is not None and day[0] != day[1]]
    return "wherever the day is at most 12" if days and all(max(day) > 12 for day in days) else ""


def _is_exchanged(pair: Pair) -> bool:
    texts = [_SLASHED_DAY.fullmatch(str(value).strip()) for value in (pair.gold, pair.predicted)]
    if texts[0] is not None and texts[1] is not None:
        (a, *others), (b, *turned) = (match.group("one", "mark", "two", "year", "rest") for match in texts if match is not None)
        same = [others[0], *others[2:]] == [turned[0], *turned[2:]]
        return same and (int(a), int(others[1])) == (int(turned[1]), int(b)) and int(a) != int(b)
    moments = [instant(value, native=pair.native) for value in (pair.gold, pair.predicted)]
    if moments[0] is None or moments[1] is None or moments[0] == moments[1]:
        return False
    gold, predicted = (write_instant(moment or 0, datetime(1970, 1, 1)) for moment in moments)
    return bool(gold.day <= 12 and gold.replace(day=gold.month, month=gold.day) == predicted)


def _day_of(value: Any, *, native: bool) -> tuple[int, int] | None:
    """The day and the month of a date, in whichever order they stand; None for anything else."""
    match = _SLASHED_DAY.fullmatch(str(value).strip())
    if match is not None:
        return int(match["one"]), int(match["two"])
    moment = instant(value, native=native)
    if moment is None:
        return None
    at = write_instant(moment, datetime(1970, 1, 1))
    return at.day, at.month


def epoch_time(pairs: Sequence[Pair]) -> Fixed | None:
    """Times as numbers since 1970, or numbers since 1970 as times: of all pairs in the same unit and direction."""
    for size, unit in _TICKS.items():
        for says, number, time in (
            (f"times stand as {unit} since 1970", "predicted", "gold"),
            (f"{unit} since 1970 stand as times", "gold", "predicted"),
        ):
            moments = [instant(getattr(pair, time), native=pair.native) for pair in pairs]
            ticks = [getattr(pair, f"{number}_number") for pair in pairs]
            numbers = [getattr(pair, f"{time}_number") for pair in pairs]
            if pairs and all(
                tick and at is not None and other is None and at == tick * size
                for tick, at, other in zip(ticks, moments, numbers, strict=True)
            ):
                return Fixed(tuple(pair.gold for pair in pairs), says)
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
    words = _shift_in_words(sizes[0])
    if len(sizes) == 2:
        if sizes[1] - sizes[0] != HOUR:
            return None
        season = _season(pairs, [size == sizes[1] for size in late])
        if season is None:
            return None
        summer, name = season
        words = f"{_shift_in_words(sizes[not summer])}, in {name} summer time {_shift_in_words(sizes[summer])}"
    return Fixed(_shifted(pairs, late), f"the times are {words}, as in another time zone")


def _shift_in_words(size: int) -> str:
    return f"{abs(size) / HOUR:g} h {'late' if size > 0 else 'early'}"


def summer_time(pairs: Sequence[Pair]) -> Fixed | None:
    """Times that are one hour off, all of them in one season of summer time: the others of the column are right."""
    late = shifts(pairs)
    season = _season(pairs, [True] * len(pairs)) if late and len(set(late)) == 1 and abs(late[0]) == HOUR else None
    if not late or season is None:
        return None
    summer, name = season
    when = f"in {name} summer time" if summer else f"outside {name} summer time"
    return Fixed(_shifted(pairs, late), f"the times are {_shift_in_words(late[0])}, all of them {when}")


def _season(pairs: Sequence[Pair], marked: Sequence[bool]) -> tuple[bool, str] | None:
    """(whether the marked pairs lie in summer time, whose) where they and they alone lie there, or in winter time; None for no season.

    A day on which a zone may be in either season tells nothing, so one of the pairs has to lie elsewhere.
    """
    moments = [(instant(pair.gold, native=pair.native) or 0) // 10**9 for pair in pairs]
    for summer, name in ((_european_summer, "European"), (_american_summer, "North American")):
        seasons = [summer(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=moment)) for moment in moments]
        for wanted in (True, False):
            known = [season is (mark is wanted) for season, mark in zip(seasons, marked, strict=True) if season is not None]
            if known and all(known):
                return wanted, name if None not in seasons else f"{name} (some days near its ends aside)"
    return None


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


def time_cut(pairs: Sequence[Pair]) -> Fixed | None:
    """Times without their seconds, minutes or hours, or dates without their day or month, as `2024-05-01`, `2024-05` or `2024`."""
    moments = [instant(pair.gold, native=pair.native) for pair in pairs]
    for unit in _CUTS:
        if pairs and all(_is_cut(pair, at, unit) for pair, at in zip(pairs, moments, strict=True)):
            return Fixed(tuple(pair.gold for pair in pairs), f"the times are cut off after the {unit}")
    return None


def _is_cut(pair: Pair, gold: int | None, unit: str) -> bool:
    predicted = instant(pair.predicted, native=pair.native)
    if gold is None or gold == predicted:
        return False
    if step := _CUTS[unit]:
        return predicted is not None and gold - gold % step == predicted
    day = str(write_instant(gold, "2000-01-01"))
    short, first = (day[:7], f"{day[:7]}-01") if unit == "month" else (day[:4], f"{day[:4]}-01-01")
    # A year that a table holds as a number.
    written = str(pair.predicted).strip().removesuffix(".0")
    return written == short or (predicted is not None and predicted == instant(first, native=False))
