"""What `explain` says of the values of a column, executed on the (gold, answer) pairs of cells that differ.

Written without the code that makes the sentences: numbers are fractions of their digits, dates are those of the standard library.
"""

import html
import re
import unicodedata
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from math import ceil, floor, trunc
from zoneinfo import ZoneInfo

Pairs = Sequence[tuple[str | None, str | None]]
Match = re.Match[str]
_UNITS = {"whole numbers": 0, "tens": 1, "hundreds": 2, "thousands": 3, "ten thousands": 4, "hundred thousands": 5, "millions": 6}
_COUNTS = ("zero", "one", "two", "three", "four", "five", "six")
_TICKS = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
_CUTS = {
    "second": "%Y-%m-%d %H:%M:%S",
    "minute": "%Y-%m-%d %H:%M",
    "hour": "%Y-%m-%d %H",
    "day": "%Y-%m-%d",
    "month": "%Y-%m",
    "year": "%Y",
}
_FORMS = {
    "YYYYMMDD": ["%Y%m%d"], "UTC": ["%Y-%m-%d %H:%M:%S UTC"], "ISO text": ["%Y-%m-%d"], "Mon D, YYYY": ["%b %d, %Y"],
    "D Mon YYYY": ["%d %b %Y"], "Month D, YYYY": ["%B %d, %Y"], "D Month YYYY": ["%d %B %Y"],
}  # fmt: skip


def number(text: str | None) -> Fraction:
    """The number that a cell is. Raises ValueError."""
    match = re.fullmatch(r"([+-]?)[$€£¥]?((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?(?:e[+-]?\d+)?)", (text or "").strip().lower())
    if match is None:
        raise ValueError(text)
    return Fraction(match[1] + match[2].replace(",", ""))


def moment(text: str | None) -> datetime:
    """The time that a cell is, `2024/01/31` too. Raises ValueError."""
    return datetime.fromisoformat(re.sub(r"^(\d{4})/(\d\d)/(\d\d)", r"\1-\2-\3", (text or "").strip()))


def near(a: Fraction, b: Fraction) -> bool:
    """Whether two numbers are one but for the noise of floats."""
    return abs(a - b) <= Fraction(1, 10**9) * max(abs(a), abs(b))


def _away(value: Fraction) -> int:
    return floor(value) if value < 0 else ceil(value)


_WAYS: dict[str, Callable[[Fraction], int]] = {
    "cut off": trunc, "rounded up": ceil, "rounded down": floor, "rounded away from zero": _away,
}  # fmt: skip
_HALVES: dict[str, Callable[[Fraction], int]] = {
    "to even": round, "away from zero": _away, "towards zero": trunc, "up": ceil, "down": floor,
}  # fmt: skip


def _exponent(unit: str, exact: Fraction, shown: Fraction) -> int:
    """The power of ten that a number was brought to a multiple of."""
    if unit in _UNITS:
        return _UNITS[unit]
    if match := re.fullmatch(r"(\d+) decimals?", unit):
        return -int(match[1])
    if match := re.fullmatch(r"(\w+) significant digits?", unit):
        n = _COUNTS.index(match[1]) if match[1] in _COUNTS else int(match[1])
        magnitude = 0
        while abs(exact) >= Fraction(10) ** (magnitude + 1):
            magnitude += 1
        while exact and abs(exact) < Fraction(10) ** magnitude:
            magnitude -= 1
        return magnitude - n + 1
    match = re.fullmatch(r"(\d+) to (\d+) decimals, each to those that it has", unit)
    assert match is not None, unit
    own = next(n for n in range(20) if (shown * 10**n).denominator == 1)
    assert int(match[1]) <= own <= int(match[2]), (unit, shown)
    return -own


def lost(words: str, exact: Sequence[Fraction], shown: Sequence[Fraction]) -> bool:
    """Whether `rounded or cut off to 2 decimals` holds, each way of it, for all numbers."""
    match = re.fullmatch(r"(?P<ways>(?:rounded|cut)[a-z ]*?) to (?P<unit>.*?)(?: \(halves (?P<halves>.*)\))?", words)
    assert match is not None, words
    steps = [Fraction(10) ** _exponent(match["unit"], a, b) for a, b in zip(exact, shown, strict=True)]
    ratios = [(a / step, b / step) for a, b, step in zip(exact, shown, steps, strict=True)]
    for way in match["ways"].split(" or "):
        if way == "rounded":
            if not all(b.denominator == 1 and abs(a - b) <= Fraction(1, 2) for a, b in ratios):
                return False
        elif not all(_WAYS[way](a) == b for a, b in ratios):
            return False
    ties = [(a, b) for a, b in ratios if abs(a - b) == Fraction(1, 2)]
    for rule in (match["halves"] or "").split(" or "):
        if rule and rule != "either way" and not (ties and all(_HALVES[rule](a) == b for a, b in ties)):
            return False
    return True


def _numbers(pairs: Pairs, change: Callable[[Fraction], Fraction], then: str | None) -> bool:
    exact, shown = [change(number(gold)) for gold, _ in pairs], [number(answer) for _, answer in pairs]
    if then:
        return lost(then, exact, shown)
    return all(near(a, b) for a, b in zip(exact, shown, strict=True))


def _scaled(match: Match, pairs: Pairs) -> bool:
    by = Fraction(match["by"])
    return _numbers(pairs, (lambda n: n * by) if match["word"] == "times" else (lambda n: n / by), match["then"])


def _multiples(match: Match, pairs: Pairs) -> bool:
    low, high = int(match["low"]), int(match["high"] or match["low"])
    return all(any(near(number(b), number(a) * n) for n in range(low, high + 1)) for a, b in pairs)


def _bare(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def _texts(match: Match, pairs: Pairs) -> bool:
    def plain(text: str | None) -> str:
        text = text or ""
        if "accents" in match[0]:
            text = _bare(text)
        if "upper and lower case" in match[0]:
            text = text.casefold()
        if "punctuation" in match[0]:
            text = "".join(" " if unicodedata.category(c)[0] in "PS" else c for c in text)
            return "".join(text.split()) if "spaces" in match[0] else " ".join(text.split())
        return re.sub(r"[\s_\-]+", " ", text).strip() if "spaces" in match[0] else text

    return all(a != b and plain(a) == plain(b) for a, b in pairs)


def _written(form: str, text: str) -> list[datetime]:
    given = re.fullmatch(r"(YYYY|MM|DD)([/.-])(YYYY|MM|DD)\2(YYYY|MM|DD)", form)
    date, _, time = text.partition(" ")
    if given is None:
        kinds, date, time = _FORMS[form], text, ""
    else:
        kinds = [given[2].join({"YYYY": "%Y", "MM": "%m", "DD": "%d"}[given[i]] for i in (1, 3, 4))]
    found = []
    for kind in kinds:
        try:
            day = datetime.strptime(date, kind)
        except ValueError:
            continue
        found.append(datetime.fromisoformat(f"{day.date().isoformat()} {time}") if time else day)
    return found


def _dates(match: Match, pairs: Pairs) -> bool:
    return all(any(moment(a) in _written(form, b or "") for form in match["forms"].split(" or ")) for a, b in pairs)


def _day_and_month(match: Match, pairs: Pairs) -> bool:
    def turned(text: str | None) -> str:
        text = text or ""
        if given := re.fullmatch(r"(\d+)([/.-])(\d+)([/.-]\d{4}.*)", text):
            return f"{given[3]}{given[2]}{given[1]}{given[4]}"
        return f"{text[:5]}{text[8:10]}-{text[5:7]}{text[10:]}"

    return all(turned(a) == b for a, b in pairs)


def _shift(hours: str, word: str) -> timedelta:
    return timedelta(hours=float(hours)) * (1 if word == "late" else -1)


def _summer(text: str | None, zone: str) -> bool:
    place = ZoneInfo("Europe/Berlin" if zone == "European" else "America/New_York")
    return bool(moment(text).replace(tzinfo=place).dst())


def _zones(match: Match, pairs: Pairs) -> bool:
    own = _shift(match["h"], match["w"])
    if match["h2"] is None:
        return all(moment(b) - moment(a) == own for a, b in pairs)
    summer = _shift(match["h2"], match["w2"])
    return all(moment(b) - moment(a) == (summer if _summer(a, match["zone"]) else own) or match["aside"] for a, b in pairs)


def _one_season(match: Match, pairs: Pairs) -> bool:
    shifted = all(moment(b) - moment(a) == _shift(match["h"], match["w"]) for a, b in pairs)
    return shifted and all(_summer(a, match["zone"]) is (match["in"] == "in") or bool(match["aside"]) for a, _ in pairs)


def _is_cut(match: Match, pairs: Pairs) -> bool:
    form = _CUTS[match["unit"]]

    def same(a: str | None, b: str | None) -> bool:
        cut = moment(a).strftime(form)
        short = (b or "").strip() == cut
        return short or (len(b or "") >= 10 and moment(b) == datetime.strptime(cut, form))

    return all(same(a, b) for a, b in pairs)


def _since_1970(match: Match, pairs: Pairs) -> bool:
    size = _TICKS[match["unit"]]
    return all(number(b) == Fraction((moment(a) - datetime(1970, 1, 1)) // timedelta(microseconds=1)) * size / 10**6 for a, b in pairs)


def _is_null(text: str | None) -> bool:
    return (text or "").strip().lower() in ("", "null", "none", "nan", "na", "n/a")


def _quoted(match: Match, pairs: Pairs) -> bool:
    marks = "\"'`\u201c\u201d\u2018\u2019\u00ab\u00bb"
    return all((b or "")[:1] in marks and (b or "")[-1:] in marks and (b or "")[1:-1].strip() == (a or "").strip() for a, b in pairs)


def _truths(same: bool) -> Callable[[Match, Pairs], bool]:
    yes = ("true", "t", "yes", "y", "1", "on")
    return lambda _, pairs: all((((a or "").lower() in yes) == ((b or "").lower() in yes)) is same for a, b in pairs)


def _in_text(match: Match, pairs: Pairs) -> bool:
    def readings(text: str) -> list[Fraction]:
        digits = re.sub(r"[^\d.,+-]", "", text.replace("\u2212", "-"))
        found = [digits.replace(",", ""), digits.replace(".", "").replace(",", ".")]
        numbers = [Fraction(one) for one in found if re.fullmatch(r"[+-]?\d+(\.\d+)?", one)]
        scale = 10**3 if "thousands" in match[0] else 10**6 if "millions" in match[0] else 1
        return [n * by for n in numbers for by in (1, scale, Fraction(1, 100) if "%" in text else 1)]

    return all(any(abs(n - number(a)) <= abs(number(a)) / 10**4 for n in readings(b or "")) for a, b in pairs)


SENTENCES: list[tuple[str, Callable[[Match, Pairs], bool]]] = [
    (r"the sign is the opposite(?:, and the numbers are (?P<then>.+))?", lambda m, p: _numbers(p, lambda n: -n, m["then"])),
    (
        r"the numbers are gold's (?P<word>times|divided by) (?P<by>[\d.]+)(?: \([^)]*\))?(?:, and the numbers are (?P<then>.+))?",
        _scaled,
    ),
    (r"all numbers are off by one factor(?: and (?P<then>.+))? \[gold's (?P<word>times|divided by) (?P<by>-?[\d.]+)\]", _scaled),
    (r"the numbers are one too (?P<word>large|small)", lambda m, p: _numbers(p, lambda n: n + (1 if m["word"] == "large" else -1), None)),
    (r"the numbers are (?P<low>\d+)(?P<high>) times gold's, as over rows that a join repeats", _multiples),
    (r"the numbers are multiples of gold's, (?P<low>\d+) to (?P<high>\d+) times, as over rows that a join repeats", _multiples),
    (
        r"the numbers are (?P<then>(?:rounded|cut off).+?)(?P<zero>, which leaves only 0)?",
        lambda m, p: _numbers(p, lambda n: n, m["then"]) and (not m["zero"] or all(number(b) == 0 for _, b in p)),
    ),
    (r"the numbers are written (?P<how>.+)", _in_text),
    (r"leading zeros differ", lambda _, p: all((a or "").lstrip("0") == (b or "").lstrip("0") for a, b in p)),
    (r"(?:(?:spaces, hyphens or underscores|upper and lower case|accents or forms of letters|punctuation)(?:, | and )?)+ differs?", _texts),
    (r"quotation marks around the text are added", _quoted),
    (r"characters are written as HTML entities", lambda _, p: all(html.unescape(b or "") == a for a, b in p)),
    (
        r"the text was read in the wrong encoding, UTF-8 as (?P<name>Windows-1252|Latin-1)",
        lambda m, p: all((a or "").encode().decode({"Latin-1": "latin-1"}.get(m["name"], "cp1252")) == b for a, b in p),
    ),
    (
        r"characters beyond ASCII are lost",
        lambda _, p: all(
            (b or "").strip() in {t.encode("ascii", "ignore").decode().strip() for t in (_bare(a or ""), a or "")} for a, b in p
        ),
    ),
    (r"dates are written in another form, as (?P<forms>.+)", _dates),
    (r"days and months are exchanged(?: wherever the day is at most 12)?", _day_and_month),
    (
        r"the dates are one day (?P<word>late|early)",
        lambda m, p: all(moment(b) - moment(a) == timedelta(days=1 if m["word"] == "late" else -1) for a, b in p),
    ),
    (
        r"the times are (?P<h>[\d.]+) h (?P<w>late|early)(?:, in (?P<zone>European|North American)(?P<aside> \(.*?\))? summer time"
        r" (?P<h2>[\d.]+) h (?P<w2>late|early))?, as in another time zone",
        _zones,
    ),
    (
        r"the times are (?P<h>[\d.]+) h (?P<w>late|early), all of them (?P<in>in|outside) (?P<zone>European|North American)"
        r"(?P<aside> \(.*?\))? summer time",
        _one_season,
    ),
    (r"the times are cut off after the (?P<unit>\w+)", _is_cut),
    (r"times are written as (?P<unit>\w+) since 1970", _since_1970),
    (r"0 where gold is NULL", lambda _, p: all(_is_null(a) and number(b) == 0 for a, b in p)),
    (r"NULL where gold is 0", lambda _, p: all(_is_null(b) and number(a) == 0 for a, b in p)),
    (r"a word where gold is NULL", lambda _, p: all(_is_null(a) and bool((b or "").strip()) for a, b in p)),
    (r"one constant where gold is NULL", lambda _, p: all(_is_null(a) for a, _ in p) and len({b for _, b in p}) == 1),
    (r"NULL where gold has a value", lambda _, p: all(_is_null(b) and not _is_null(a) for a, b in p)),
    (r"yes and no are written in other words", _truths(same=True)),
    (r"true and false are exchanged", _truths(same=False)),
]


def holds(sentence: str, pairs: Pairs) -> bool:
    """Whether a sentence on values holds for all the pairs. Raises LookupError for one that cannot be executed."""
    for pattern, check in SENTENCES:
        match = re.fullmatch(pattern, sentence)
        if match is not None:
            try:
                return bool(pairs) and check(match, pairs)
            except ValueError:
                return False
    raise LookupError(sentence)
