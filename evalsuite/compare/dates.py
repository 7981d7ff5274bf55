"""Read dates and times that texts name.

Dates may be partial, ranges or quarters, with names of months in ten languages. "3/4/2024" is 4 March in America and 3 April nearly
everywhere else: without a `locale` it is not a date, but "13/4/2024" is, and so is "3.4.2024" (3 April).
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Any, Final, NamedTuple

from evalsuite.core.import_ref import lazy_pattern

# January to December, each name with the short forms that people write.
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
_ENGLISH: Final = _NAMES.strip().splitlines()[0].replace("|", " ").split()
# The first three letters of the months and of the days of the week, in English.
CALENDAR: Final = (tuple(dict.fromkeys(name[:3] for name in _ENGLISH)), ("mon", "tue", "wed", "thu", "fri", "sat", "sun"))
MONTH_FIRST = ("en", "en-US", "en-PH")
DATE_LOCALES = ("en", "de", "fr", "es", "it", "pt", "nl", "sv", "pl", "da", "nb", "fi", "cs", "ru", "ja", "zh", "ko")
DAYS: Final = (
    "mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday|montag|dienstag|mittwoch"
    "|donnerstag|freitag|samstag|sonntag|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miercoles|jueves|viernes|sabado"
    "|domingo"
)
_DAY_NAMES: Final = lazy_pattern(rf"^(?:{DAYS})\b[.,]? ")
SMALL_WORDS: Final = "de|del|of|the|den|le|du"
_SMALL_WORDS = lazy_pattern(rf"\b(?:{SMALL_WORDS})\b")
_ORDINAL = lazy_pattern(r"(?<=\d)(?:(?:st|nd|rd|th|er|re|º|ª|o)\b|°)")
_BETWEEN = lazy_pattern(r"\s+(?:to|until|bis|au|a|al|hasta|through|till|-)\s+|\s*/\s*(?=\d{4})|\s*\.\.+\s*")
_QUARTER = lazy_pattern(r"q([1-4])[ -/](\d{4})|(\d{4})[ -]?q([1-4])|([1-4]) quarter (\d{4})")
_NUMERIC = lazy_pattern(r"(\d{1,4})([-/. ])(\d{1,2})(?:\2(\d{1,4}))?\.?")
_CLOCK_BEHIND: Final = lazy_pattern(r"[t ]\d{1,2}:\d\d.*$")
_CLOCK_AT_END: Final = lazy_pattern(
    r"[ ,T]+(?:at |um |à )?(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?"
    r"\s*(?P<half>[AaPp])?\.?[Mm]?\.?\s*(?P<zone>Z(?: UTC)?|UTC|GMT|[+-]\d\d:?\d\d)?$"
)
# The year of dates without one: a leap year, so that it has a 29 February.
_NO_YEAR: Final = 4
Day = tuple[int | None, int, int | None]  # year, month, day; None where it is not said
_INSTANT: Final = lazy_pattern(
    r"(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?)?\s?(Z(?: UTC)?|UTC|[+-]\d{2}(?::?\d{2})?)?", re.ASCII
)
_LONGEST_DATE: Final = 40
_HAS_YEAR: Final = lazy_pattern(
    r"\d{4}[-/. T]\d|[-/.][0-9]{4}(?!\d)|[^\W\d_][^\W\d_.]*[., -]+(?:\d{1,2}[., -]+)?(?:\d{4}){1,2}(?!\d)|\d{8}T"
)
_IN_NUMBERS: Final = lazy_pattern(r"(\d{1,4})([-/. ])\d{1,2}\2(\d{1,4})(?!\d)")
_MONTH_NAME: Final = lazy_pattern(r"[A-Za-z]{3,}")
_DAY_AND_NAME: Final = lazy_pattern(
    r"(?P<first>\d{1,2}|[^\W\d_]+)(?P<mark>\.?[ -])(?P<last>\d{1,2}|[^\W\d_]+)(?P<sign>\.?,?[ -])(?P<year>\d{1,4})"
)
_MONTH: Final = rf"(?:{'|'.join(sorted(_ENGLISH, key=len, reverse=True))})\.?"
# Dates inside a sentence: those with a month or slashes, and ISO dates.
SPOKEN_DATES: Final = lazy_pattern(
    rf"\b(?:{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?|\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH}(?:,?\s+\d{{4}})?"
    r"|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}/\d{1,2}/\d{4}"
    r")(?!\w)",
    re.IGNORECASE,
)
ISO_DATES: Final = lazy_pattern(
    r"(?<![\w-])\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s?(?:Z|UTC|[+-]\d{2}:?\d{2})?)?(?![\w-])"
)
# Days, months and quarters as a text or a gold text writes them, with their year.
_WITH_YEAR: Final = lazy_pattern(
    rf"(?<![\w./-])(?:\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?:[T ]00:00(?::00(?:\.0+)?)?Z?)?|\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{4}}"
    rf"|\d{{4}}-\d{{2}}"
    rf"|q[1-4][ /-]\d{{4}}|\d{{4}}[ -]?q[1-4]|\d{{1,2}}(?:st|nd|rd|th)?(?: of)?[ -]{_MONTH},?[ -]\d{{4}}"
    rf"|{_MONTH}(?: \d{{1,2}}(?:st|nd|rd|th)?)?,? \d{{4}})(?![\w/-]|\.\d|:\d)",
    re.IGNORECASE,
)
_MIDNIGHT: Final = lazy_pattern(r"[Tt ]00:00.*$")


class Span(NamedTuple):
    """The days that a text names, from the first to the last; in year 4, a leap year, if the text names none."""

    first: date
    last: date


def moment_of(value: Any, formats: Sequence[str], locale: str) -> datetime | None:
    """The moment that a text names, with its zone if it names one; None if it names none or could be read in two ways."""
    if not isinstance(value, str) or len(value) > 100:
        return None
    text = value.strip()
    for form in formats:
        with suppress(ValueError):
            return datetime.strptime(text, form)
    with suppress(ValueError):
        return datetime.fromisoformat(text)
    clock = _CLOCK_AT_END.search(text)
    days = days_of(text[: clock.start()] if clock else text, (), locale) if clock or ":" not in text else None
    if days is None or days.first != days.last:
        return None
    if clock is None:
        return datetime(days.first.year, days.first.month, days.first.day)
    hour = int(clock["hour"])
    hour = hour % 12 + 12 * (clock["half"] in "pP") if clock["half"] else hour
    zone = "+00:00" if (clock["zone"] or "")[:1].isalpha() else clock["zone"] or ""
    rest = f"{clock['minute']}:{clock['second'] or '00'}.{(clock['fraction'] or '0')[:6]:0<6}{zone}"
    try:
        return datetime.fromisoformat(f"{days.first}T{hour:02}:{rest}")
    except ValueError:
        return None


def days_of(value: Any, formats: Sequence[str] = (), locale: str = "") -> Span | None:
    """The days that a text (or a number such as 2024 or 20240517) names, None where it names none or could be read in two ways."""
    if isinstance(value, int) and not isinstance(value, bool) and (1000 <= value <= 9999 or 10000101 <= value <= 99991231):
        value = str(value)
    if not isinstance(value, str) or len(value) > 100:
        return None
    for form in formats:
        with suppress(ValueError):
            day = datetime.strptime(value.strip(), form).date()
            return Span(day, day)
    text = fold_letters(value)
    text = re.sub(r"(\d+)[年년] ?(\d+)[月월] ?(\d+)[日일]", r"\1-\2-\3", text)
    text = re.sub("[‐-―−]", "-", text).replace("ł", "l")
    text = " ".join(_ORDINAL.sub("", _SMALL_WORDS.sub(" ", text.replace(",", " "))).split())
    text = _DAY_NAMES.sub("", text)
    text = _CLOCK_BEHIND.sub("", text) if re.match(r"\d{4}-\d\d-\d\d", text) else text
    if quarter := _QUARTER.fullmatch(text):
        number, year = int(quarter[1] or quarter[4] or quarter[5]), int(quarter[2] or quarter[3] or quarter[6])
        return _span((year, 3 * number - 2, None), (year, 3 * number, None))
    if (whole_day := _day(text, locale)) is not None:
        return _span(whole_day, whole_day)
    return _range(text, locale)


def fold_letters(text: str) -> str:
    """The text in small letters without their marks."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(sign for sign in letters if not unicodedata.combining(sign))


def date_gold(gold: str) -> Span | None:
    """The days that a gold text is as a whole (a day, a month or a quarter of a year), None for any other text."""
    text = gold.strip()
    return days_of(_without_midnight(text)) if len(text) <= _LONGEST_DATE and _WITH_YEAR.fullmatch(text) else None


def places_of_date(text: str, days: Span) -> Iterator[tuple[int, int]]:
    """Where a text names the same days in any form with one reading."""
    for match in _WITH_YEAR.finditer(text):
        if days_of(_without_midnight(match[0])) == days:
            yield match.span()


def _without_midnight(text: str) -> str:
    return _MIDNIGHT.sub("", text)


def _range(text: str, locale: str) -> Span | None:
    """Two dates with something between them; what the first lacks it takes from the second: "3-5 May 2024", "May 3 - June 5, 2024"."""
    parts = _BETWEEN.split(text)
    if len(parts) != 2:
        parts = re.split(r"(?<=[a-z\d])-(?=[a-z\d])", text) if text.count("-") == 1 else []
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
    """(year, month, day) of one date; month 0 if the text names only a year."""
    if re.fullmatch(r"\d{4}", text):
        return int(text), 0, None
    if month := re.fullmatch(r"(\d{1,2})[/-](\d{4})", text):  # "05/2024"
        return int(month[2]), int(month[1]), None
    if re.fullmatch(r"\d{8}", text):
        return int(text[:4]), int(text[4:6]), int(text[6:])
    words = [word.rstrip(".") for word in re.split(r"[ ]+|(?<=[a-z])-(?=\d)|(?<=\d)-(?=[a-z])|(?<=\d)\.(?=[a-z])", text)]
    months = [MONTHS[word] for word in words if word in MONTHS]
    digits = [word.lstrip("'") for word in words if word not in MONTHS]
    if len(months) == 1 and all(word.isdigit() for word in digits):
        return _named_day(months[0], digits, is_day_first=words[0] not in MONTHS)
    match = _NUMERIC.fullmatch(text)
    return None if match is None else _numeric_day(match, locale)


def _named_day(month: int, digits: list[str], *, is_day_first: bool) -> Day | None:
    """Return the date of a month's name and numbers, None where several are years or days, or one is neither."""
    years = [int(word) for word in digits if len(word) == 4]
    days = [int(word) for word in digits if len(word) <= 2]
    if len(days) == 2 and is_day_first:  # "5 May 24"
        years, days = [_century(days[1])], days[:1]
    if len(years) > 1 or len(days) > 1 or len(years) + len(days) < len(digits):
        return None
    return years[0] if years else None, month, days[0] if days else None


def _numeric_day(match: "re.Match[str]", locale: str) -> Day | None:
    """Return the date of two or three numbers, None where their order is not known."""
    first, sign, second, third = match.groups()
    if len(first) == 4:
        return (int(first), int(second), None if third is None else int(third)) if third is None or len(third) <= 2 else None
    if len(first) > 2 or third is None:
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
    from calendar import monthrange

    try:
        begin = date(first[0] or _NO_YEAR, first[1] or 1, first[2] if first[2] is not None else 1)
        year, month = last[0] or _NO_YEAR, last[1] or 12
        end = date(year, month, last[2] if last[2] is not None else monthrange(year, month)[1])
    except (ValueError, IndexError):
        return None
    return Span(begin, end)


def instant_of(text: str) -> int | None:
    """Nanoseconds since 1970 of a date or time with one reading, the first day of a month; None for any other text."""
    match = _INSTANT.fullmatch(text)
    if match is not None:
        return _iso_instant(match)
    if len(text) > _LONGEST_DATE or not _HAS_YEAR.search(text):
        return None
    moment = moment_of(text, (), "")
    if moment is None:
        from calendar import monthrange

        days = days_of(text)
        if days is None or days.first.replace(day=1) != days.last.replace(day=1) or days.first.day != 1:
            return None
        moment = datetime(days.first.year, days.first.month, 1)
        if days.last.day != monthrange(moment.year, moment.month)[1]:
            return None
    return None if moment.year == _NO_YEAR else nanoseconds(moment)


def _iso_instant(match: re.Match[str]) -> int | None:
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    if zone and zone[0] in "+-" and hour is None:
        return None
    try:
        moment = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=UTC)
    except ValueError:
        return None
    since = nanoseconds(moment) + (int(fraction.ljust(9, "0")) if fraction else 0)
    if zone and zone[0] in "+-":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        offset = (int(digits[:2]) * 60 + int(digits[2:])) * 60 * 10**9
        since += -offset if zone[0] == "+" else offset
    return since


def date_readings(text: str) -> Iterator[tuple[int, str]]:
    """Every (nanoseconds since 1970, form) that the text of a date can mean: `01/02/2024` is 2 January and 1 February."""
    text = text.strip()
    iso = _INSTANT.fullmatch(text)
    if iso is not None:
        if (iso_moment := _iso_instant(iso)) is not None:
            yield iso_moment, "ISO text"
        return
    if len(text) > _LONGEST_DATE:
        return
    if len(text) == len("YYYYMMDD") and text.isdigit():
        forms = [("YYYYMMDD", "")]
    elif (numbers := _IN_NUMBERS.match(text)) is not None:
        first, mark, last = numbers.groups()
        forms = [("YYYY?MM?DD", "")] if len(first) == 4 else [("MM?DD?YYYY", "en-US"), ("DD?MM?YYYY", "de")]
        forms = [(form.replace("YYYY", "Y" * max(len(first), len(last))).replace("?", mark), locale) for form, locale in forms]
    elif _MONTH_NAME.search(text) is not None and text[-1].isdigit():
        forms = [(form, "") for form in _forms_in_words(text)]
    else:
        return
    for form, locale in forms:
        moment = moment_of(text, (), locale)
        if moment is not None and moment.year != _NO_YEAR:
            yield nanoseconds(moment), form


def _forms_in_words(text: str) -> list[str]:
    """`D Mon YYYY` or `Month D, YYYY` with the signs and as many digits of the year as in the text; `a date in words` for any other."""
    match = _DAY_AND_NAME.fullmatch(text)
    if match is None:
        return ["a date in words"]
    first, last, year = match["first"].isdigit(), match["last"].isdigit(), "Y" * len(match["year"])
    names = _name_forms((match["last"] if first else match["first"]).lower())
    return [] if first == last else [f"{'D' if first else n}{match['mark']}{'D' if last else n}{match['sign']}{year}" for n in names]


def _name_forms(name: str) -> tuple[str, ...]:
    """`Mon` for an abbreviation, `Month` for a whole name; both for `may` and for a short name of another language."""
    if any(whole.startswith(name) and whole != name for whole in _ENGLISH):
        return ("Mon",)
    return ("Month",) if name != "may" and (name in _ENGLISH or len(name) > 4) else ("Mon", "Month")


def nanoseconds(moment: datetime) -> int:
    """Nanoseconds since 1970; a time without a zone is UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return ((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds) * 1000
