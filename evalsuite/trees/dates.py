"""Dates and times in text: partial dates, names of months in ten languages, ranges, quarters; with an optional locale.

"3/4/2024" is 4 March in America and 3 April nearly everywhere else: without a `locale` it is not a date, but "13/4/2024" is.
"""

import calendar
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

from evalsuite.trees.field_results import ComparatorResult

# January to December; a name counts from its first three letters on where that is written, so each stands with its short forms.
_NAMES = """
january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sep sept|october oct|november nov|december dec
januar janner jan|februar feb|marz mrz|april|mai|juni|juli|august|september|oktober okt|november|dezember dez
janvier janv|fevrier fevr fev|mars|avril avr|mai|juin|juillet juil|aout|septembre|octobre|novembre|decembre
enero ene|febrero|marzo|abril abr|mayo|junio|julio|agosto ago|septiembre setiembre|octubre|noviembre|diciembre dic
gennaio gen|febbraio|marzo|aprile|maggio mag|giugno giu|luglio lug|agosto|settembre set|ottobre ott|novembre|dicembre
janeiro|fevereiro|marco|abril|maio|junho|julho|agosto|setembro|outubro out|novembro|dezembro
januari|februari|maart mrt|april|mei|juni|juli|augustus|september|oktober|november|december
januari|februari|mars|april|maj|juni|juli|augusti|september|oktober|november|december
stycznia|lutego|marca|kwietnia|maja|czerwca|lipca|sierpnia|wrzesnia|pazdziernika|listopada|grudnia
januar|februar|marts|april|maj|juni|juli|august|september|oktober|november|december
"""
MONTHS = {name: n for line in _NAMES.strip().splitlines() for n, names in enumerate(line.split("|"), 1) for name in names.split()}
MONTH_FIRST = ("en", "en-US", "en-PH")
LOCALES = ("en", "de", "fr", "es", "it", "pt", "nl", "sv", "pl", "da", "nb", "fi", "cs", "ru", "ja", "zh", "ko")
_DAY_NAMES = re.compile(
    r"^(?:mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday|montag|dienstag|mittwoch"
    r"|donnerstag|freitag|samstag|sonntag|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miercoles|jueves|viernes|sabado"
    r"|domingo)\b[.,]? "
)
_SMALL_WORDS = re.compile(r"\b(?:de|del|of|the|den|le|du)\b")
_ORDINAL = re.compile(r"(?<=\d)(?:(?:st|nd|rd|th|er|re|º|ª|o)\b|°)")
_BETWEEN = re.compile(r"\s+(?:to|until|bis|au|a|al|hasta|through|till|-)\s+|\s*/\s*(?=\d{4})|\s*\.\.+\s*")
_QUARTER = re.compile(r"q([1-4])[ -/](\d{4})|(\d{4})[ -]?q([1-4])|(\d)(?:st|nd|rd|th) quarter (\d{4})")
_NUMERIC = re.compile(r"(\d{1,4})([-/. ])(\d{1,2})(?:\2(\d{1,4}))?\.?")
_CLOCK = re.compile(r"[t ]\d{1,2}:\d\d.*$")
Day = tuple[int | None, int, int | None]  # year, month, day; None where it is not said


class Span(NamedTuple):
    """The days that a text names, from the first to the last; in year 4, a leap year, where none is said."""

    first: date
    last: date


def compare_date(gold: Any, extracted: Any, params: Mapping[str, Any]) -> ComparatorResult:
    """1 where both name the same days, however written: "May 2024" is "2024-05", "3-5 May 2024" is "2024-05-03/2024-05-05".

    A month is not a day in it. `days` is how far both ends may be apart, `locale` says the order of "3/4/2024" (`en-US`, `en-GB`, `de`),
    `formats` (strptime) are tried first.
    """
    g, e = (days_of(value, params.get("formats") or (), params.get("locale", "")) for value in (gold, extracted))
    if g is None or e is None:
        return ComparatorResult(0.0, "date", f"{'gold' if g is None else 'the answer'} is no date")
    if (g.first.year == 4) != (e.first.year == 4):
        return ComparatorResult(0.0, "date", "one side has no year")
    apart = max(abs((g.first - e.first).days), abs((g.last - e.last).days))
    if apart <= params.get("days", 0):
        return ComparatorResult(1.0, "date")
    if (g.first == g.last) != (e.first == e.last):
        return ComparatorResult(0.0, "date", "one side is a day, the other a longer time")
    return ComparatorResult(0.0, "date", f"{apart} days apart")


def compare_datetime(gold: Any, extracted: Any, params: Mapping[str, Any]) -> ComparatorResult:
    """1 where both name one moment within `seconds` (0); a time without zone is taken as UTC."""
    g, e = (_moment(value, params.get("formats") or (), params.get("locale", "")) for value in (gold, extracted))
    if g is None or e is None:
        return ComparatorResult(0.0, "datetime", f"{'gold' if g is None else 'the answer'} is no date and time")
    g, e = (value if value.tzinfo else value.replace(tzinfo=UTC) for value in (g, e))
    apart = abs((g - e).total_seconds())
    if apart <= params.get("seconds", 0):
        return ComparatorResult(1.0, "datetime")
    return ComparatorResult(0.0, "datetime", f"{apart:g} seconds apart")


def _moment(value: Any, formats: Sequence[str], locale: str) -> datetime | None:
    if not isinstance(value, str) or len(value) > 100:
        return None
    text = value.strip()
    for form in formats:
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    clock = re.search(r"[ ,T]+(?:at |um |à )?(\d{1,2}):(\d\d)(?::(\d\d))?\s*([AaPp])?\.?[Mm]?\.?\s*(Z|UTC|GMT|[+-]\d\d:?\d\d)?$", text)
    days = days_of(text[: clock.start()] if clock else text, (), locale)
    if days is None or days.first != days.last:
        return None
    hour, minute, second = (int(part or 0) for part in clock.groups()[:3]) if clock else (0, 0, 0)
    if clock and clock[4]:
        hour = hour % 12 + 12 * (clock[4] in "pP")
    zone = (clock[5] or "") if clock else ""
    try:
        return datetime.fromisoformat(f"{days.first}T{hour:02}:{minute:02}:{second:02}{'+00:00' if zone.isalpha() else zone}")
    except ValueError:
        return None


def days_of(value: Any, formats: Sequence[str] = (), locale: str = "") -> Span | None:
    """The days that a text (or a number such as 2024 or 20240517) names, None where it names none or could be read in two ways."""
    if isinstance(value, int) and not isinstance(value, bool) and (1000 <= value <= 9999 or 10000101 <= value <= 99991231):
        value = str(value)
    if not isinstance(value, str) or len(value) > 100:
        return None
    for form in formats:
        try:
            day = datetime.strptime(value.strip(), form).date()
        except ValueError:
            continue
        return Span(day, day)
    folded = unicodedata.normalize("NFKD", value.casefold())
    text = "".join(sign for sign in folded if not unicodedata.combining(sign))
    text = re.sub(r"(\d+)[年년] ?(\d+)[月월] ?(\d+)[日일]", r"\1-\2-\3", text)
    text = re.sub("[‐-―−]", "-", text).replace("ł", "l")
    text = " ".join(_ORDINAL.sub("", _SMALL_WORDS.sub(" ", text.replace(",", " "))).split())
    text = _DAY_NAMES.sub("", text)
    text = _CLOCK.sub("", text) if re.match(r"\d{4}-\d\d-\d\d", text) else text
    if quarter := _QUARTER.fullmatch(text):
        number, year = int(quarter[1] or quarter[4] or quarter[5]), int(quarter[2] or quarter[3] or quarter[6])
        return _span((year, 3 * number - 2, None), (year, 3 * number, None))
    if (one := _day(text, locale)) is not None:
        return _span(one, one)
    return _range(text, locale)


def _range(text: str, locale: str) -> Span | None:
    """Two dates with something between them; what the first lacks it takes from the second: "3-5 May 2024", "May 3 - June 5, 2024"."""
    parts = _BETWEEN.split(text)
    if len(parts) != 2:
        parts = re.split(r"(?<=[a-z\d])-(?=[a-z\d])", text, maxsplit=1) if text.count("-") == 1 else []
    if len(parts) != 2:
        return None
    left, right = parts
    last = _day(right, locale)
    if last is None and (words := re.fullmatch(r"([a-z]+)\.? (\d{1,2})", left)):  # "May 3-5 2024"
        last = _day(f"{words[1]} {right}", locale)
    if last is None:
        return None
    first = _day(left, locale)
    if left.isdigit() and len(left) <= 2 and last[2] is not None:
        first = (last[0], last[1], int(left))
    elif left in MONTHS:
        first = (last[0], MONTHS[left], None)
    if first is None:
        return None
    span = _span((first[0] if first[0] is not None else last[0], *first[1:]), last)
    return span if span is not None and span.first <= span.last else None


def _day(text: str, locale: str) -> Day | None:
    """(year, month, day) of one date, the month 0 where only a year is said."""
    if re.fullmatch(r"\d{4}", text):
        return int(text), 0, None
    if re.fullmatch(r"\d{8}", text):
        return int(text[:4]), int(text[4:6]), int(text[6:])
    words = [word.rstrip(".") for word in re.split(r"[ ]+|(?<=[a-z])-(?=\d)|(?<=\d)-(?=[a-z])|(?<=\d)\.(?=[a-z])", text)]
    months = [MONTHS[word] for word in words if word in MONTHS]
    digits = [word.lstrip("'") for word in words if word not in MONTHS]
    if len(months) == 1 and all(word.isdigit() for word in digits) and len(digits) <= 2:
        years = [int(word) for word in digits if len(word) == 4]
        days = [int(word) for word in digits if len(word) <= 2]
        if len(digits) == 2 and not years and words[0] not in MONTHS:  # "5 May 24"
            years, days = [_century(days[1])], days[:1]
        return (years[0] if years else None, months[0], days[0] if days else None) if len(years) <= 1 and len(days) <= 1 else None
    found = _NUMERIC.fullmatch(text)
    return None if found is None else _numeric(found, locale)


def _numeric(found: "re.Match[str]", locale: str) -> Day | None:
    """The date of two or three numbers, None where their order is not known."""
    first, sign, second, third = found.groups()
    if len(first) == 4:
        return (int(first), int(second), None if third is None else int(third)) if third is None or len(third) <= 2 else None
    if len(first) > 2:
        return None
    if third is None:
        return None
    if len(third) == 4 or ((locale or sign == ".") and len(third) == 2):
        year, a, b = int(third) if len(third) == 4 else _century(int(third)), int(first), int(second)
        if locale.replace("_", "-") in MONTH_FIRST:
            return year, a, b
        if locale or sign == "." or a > 12 or a == b:
            return year, b, a
        return (year, a, b) if b > 12 else None
    return None


def _century(year: int) -> int:
    return year + (2000 if year < 70 else 1900)


def _span(first: Day, last: Day) -> Span | None:
    """The days from the start of one to the end of the other, None where there are no such days."""
    try:
        begin = date(first[0] or 4, first[1] or 1, first[2] if first[2] is not None else 1)
        year, month = last[0] or 4, last[1] or 12
        end = date(year, month, last[2] if last[2] is not None else calendar.monthrange(year, month)[1])
    except (ValueError, IndexError):
        return None
    return Span(begin, end)
