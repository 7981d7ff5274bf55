"""Whether an answer states gold's numbers, as a careful judge reads it.

What is a number: an optional sign (`-`, `−`, `+`), an optional currency sign, digits with groups of thousands, decimals, an exponent,
an optional `%` (a space may stand before it), a unit. `.5` is 0.5. Accounting parentheses are a sign only where they are the whole
answer. `k`, `K`, `M`, `B`, `bn` at a number stand for both readings, the plain and the scaled one. ISO dates and versions are not
numbers, nor are identifiers (`V8`, `x12`).

What is asked of the answer: every gold (or one of them, `conj="or"`) is named, and no more different candidates than there are golds.
Context never counts as a candidate but may match: years beside other numbers, days and months of written dates, list markers, numbers
joined to a word by a hyphen (`GPT-4`), ordinals. Where a gold is itself a year, years are candidates.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Literal

from evalsuite.matching.text_strict import excluded_token
from evalsuite.matching.values import Number, rounds_to
from evalsuite.matching.verdict import Strict

REL_TOL: Final = Decimal("1e-6")
DEFAULT_PRECISION: Final = 4
MAX_LISTED: Final = 5
YEARS: Final = range(1500, 2200)

_SCALES: Final = {"k": 3, "K": 3, "M": 6, "B": 9, "bn": 9}
_MONTH: Final = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE: Final = re.compile(
    rf"\b(?:{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?|\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH}(?:,?\s+\d{{4}})?"
    r"|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}/\d{1,2}/\d{4})\b",
    re.IGNORECASE,
)
_ISO: Final = re.compile(r"(?<![\w-])\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s?(?:Z|UTC|[+-]\d{2}:?\d{2})?)?(?![\w-])")
_VERSION: Final = re.compile(r"(?<![\w.])[vV]?\d+(?:\.\d+){2,}(?![\w])")
_MARKER: Final = re.compile(r"^[ \t]*\(?(\d{1,3})[.)][ \t]", re.MULTILINE)
_NUMBER: Final = re.compile(
    r"(?<![\w.])(?P<hyphen>(?<=[^\W\d_]-))?"
    r"(?P<digits>(?:[1-9]\d{0,2}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)(?P<exponent>[eE][+-]?\d{1,3}(?![\w.]))?"
    r"(?P<tail>\s?%|bn\b|[kKMB]\b|(?:st|nd|rd|th)\b|[^\W\d_]+[²³]?(?![\w-]))?(?P<glued>[\w])?"
)
_BEFORE: Final = re.compile(r"(?P<sign>[-+])?\s?(?:[$€£¥]|USD|EUR|GBP)?\s?(?P<late>[-+])?$")
_WHOLE_PARENTHESES: Final = re.compile(r"\(\s*([$€£¥]?\s?[\d.,]+\s?%?)\s*\)")
_HIDDEN: Final = re.compile("[\u200b-\u200f\u2060\ufeff\u00ad]")


@dataclass(frozen=True, slots=True)
class Found:
    """A number of the answer: its readings (one, or two where a scale letter stands behind it), its text, and whether it is context."""

    readings: tuple[Number, ...]
    text: str
    context: bool
    year: bool


def match_number_strictly(
    answer: str,
    gold: Any,
    *,
    percentage: bool = False,
    precision: int = DEFAULT_PRECISION,
    conj: Literal["and", "or"] = "or",
    exclude: str | Sequence[str] = (),
    abs_tol: float | None = None,
    rel_tol: float | None = None,
) -> Strict:
    """The strict verdict on an answer. A `precision` other than 4, `abs_tol` and `rel_tol` widen the tolerance as the author asked."""
    forbidden = excluded_token(answer, exclude)
    if forbidden is not None:
        return Strict(value=0.0, reason=f"the answer holds the excluded text {forbidden!r}", kind="exclude")
    golds = [read_number(item) for item in (gold if isinstance(gold, list | tuple) else [gold])]
    near = _Nearness(percentage=percentage, abs_tol=_abs_tol(precision, abs_tol), rel_tol=rel_tol)
    found = _with_years(list(find(answer)), golds)
    if not found:
        return Strict(value=0.0, reason="no number in the answer", kind="no number")
    met = [any(near.equal(g, reading) for item in found for reading in item.readings) for g in golds]
    others = _distinct([item for item in found if not item.context and not any(near.equal(g, r) for g in golds for r in item.readings)])
    n_named = sum(any(near.equal(g, r) for item in found if not item.context for r in item.readings) for g in _distinct_golds(golds))
    cap = max(1, len(_distinct_golds(golds)))
    details = {"numbers": [item.text for item in found[:MAX_LISTED]], "n_numbers": len(found), "n_other_candidates": len(others)}
    if n_named + len(others) > cap:
        expected = "one was expected" if cap == 1 else f"at most {cap} were expected"
        listed = ", ".join(item.text for item in others[:MAX_LISTED])
        reason = f"hedged: found {n_named + len(others)} different numbers, {expected}: {listed}"
        return Strict(value=0.0, reason=reason, kind="hedged", details=details)
    if all(met) or (conj == "or" and any(met)):
        which = "every gold number" if conj == "and" and len(golds) > 1 else _shown(next(g for g, ok in zip(golds, met, strict=True) if ok))
        return Strict(value=1.0, reason=f"the answer names {which}", details=details)
    missed = next(g for g, ok in zip(golds, met, strict=True) if not ok)
    return _missed(missed, found, details)


def read_number(item: str | float) -> Number:
    """A gold number: text with thousands, `%` and a sign, or a JSON number. Raises ValueError where it is none."""
    text = str(item).replace(",", "").replace("\u2212", "-").strip()
    scale = 0
    if text.endswith("%"):
        text, scale = text[:-1].strip(), -2
    try:
        exact = Decimal(text).scaleb(scale)
    except InvalidOperation as error:
        raise ValueError(f"{item!r} is no number") from error
    return _as_number(exact)


def find(answer: str) -> Iterator[Found]:
    """The numbers of a text in order; years are marked but not yet taken for context."""
    text = _HIDDEN.sub("", unicodedata.normalize("NFKC", answer)).replace("\u2212", "-")
    whole = _WHOLE_PARENTHESES.fullmatch(text.strip())
    if whole is not None:
        text = "-" + whole.group(1)
    spans = [match.span() for match in _DATE.finditer(text)] + [match.span(1) for match in _MARKER.finditer(text)]
    skipped = [match.span() for pattern in (_ISO, _VERSION) for match in pattern.finditer(text)]
    at = 0
    while (match := _NUMBER.search(text, at)) is not None:
        at = match.end()
        beyond = next((end for start, end in skipped if start <= match.start() < end), None)
        if beyond is not None:
            at = beyond
        elif match["glued"] is None:
            yield _found(match, text, any(start <= match.start() < end for start, end in spans))


def _found(match: re.Match[str], text: str, in_context: bool) -> Found:
    before = text[max(0, match.start() - 8) : match.start()]
    sign, joined = _sign(before)
    tail = (match["tail"] or "").strip()
    plain = Decimal(match["digits"].replace(",", "") + (match["exponent"] or ""))
    plain = -plain if sign == "-" else plain
    if tail == "%":
        plain = plain.scaleb(-2)
    readings = [_as_number(plain)]
    if tail in _SCALES:
        readings.append(_as_number(plain.scaleb(_SCALES[tail])))
    bare = match["digits"]
    year = bare.isdigit() and len(bare) == 4 and int(bare) in YEARS and not tail and not match["exponent"] and sign is None
    context = in_context or joined or tail in ("st", "nd", "rd", "th")
    shown = (sign if sign == "-" else "") + match["digits"] + (match["exponent"] or "") + ("%" if tail == "%" else "")
    return Found(readings=tuple(readings), text=shown, context=context, year=year)


def _sign(before: str) -> tuple[str | None, bool]:
    """The sign in front of a number, and whether a hyphen joins it to a word; a hyphen after a digit is a range."""
    match = _BEFORE.search(before)
    if match is None:
        return None, False
    sign = match["sign"] or match["late"]
    if sign is None:
        return None, False
    place = before.rfind(sign)
    previous = before[place - 1] if place > 0 else ""
    if previous.isalnum() or previous == "_":
        return None, previous.isalpha()
    return sign, False


def _as_number(exact: Decimal) -> Number:
    _, digits, exponent = exact.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError("a number must be finite")
    return Number(exact, float(exact), max(0, -exponent), len(digits))


def _with_years(found: list[Found], golds: Sequence[Number]) -> list[Found]:
    """Years become context where other numbers stand beside them and no gold is a year."""
    if any(g.exact == g.exact.to_integral_value() and int(g.exact) in YEARS for g in golds):
        return found
    if not any(not item.year and not item.context for item in found):
        return found
    return [Found(item.readings, item.text, item.context or item.year, item.year) for item in found]


def _distinct(items: Sequence[Found]) -> list[Found]:
    seen: dict[Any, Found] = {}
    for item in items:
        seen.setdefault(item.readings[0].exact.normalize(), item)
    return list(seen.values())


def _distinct_golds(golds: Sequence[Number]) -> list[Number]:
    return list({g.exact.normalize(): g for g in golds}.values())


@dataclass(frozen=True, slots=True)
class _Nearness:
    """When a number of the answer is a gold number."""

    percentage: bool
    abs_tol: Decimal | None
    rel_tol: float | None

    def equal(self, gold: Number, predicted: Number) -> bool:
        """Whether the number is gold, in one of the forms that `percentage` allows."""
        if self._close(gold.exact, predicted):
            return True
        if not self.percentage or gold.exact == 0:
            return False
        other = gold.exact.scaleb(2) if abs(gold.exact) <= 1 else gold.exact.scaleb(-2)
        return self._close(other, predicted)

    def _close(self, gold: Decimal, predicted: Number) -> bool:
        distance = abs(gold - predicted.exact)
        if distance == 0 or (self.abs_tol is not None and distance <= self.abs_tol):
            return True
        if gold == 0 or predicted.exact == 0:
            return False
        rel = REL_TOL if self.rel_tol is None else Decimal(repr(self.rel_tol))
        if distance <= rel * abs(gold):
            return True
        return predicted.significant >= 2 and rounds_to(gold, predicted)


def _abs_tol(precision: int, abs_tol: float | None) -> Decimal | None:
    if abs_tol is not None:
        return Decimal(repr(abs_tol))
    return Decimal(1).scaleb(-precision) if precision != DEFAULT_PRECISION else None


def _missed(gold: Number, found: Sequence[Found], details: dict[str, Any]) -> Strict:
    numbers = [(item, reading) for item in found for reading in item.readings]
    opposite = next((item for item, reading in numbers if reading.exact == -gold.exact != 0), None)
    if opposite is not None:
        return Strict(value=0.0, reason=f"sign: the answer says {opposite.text}, gold is {_shown(gold)}", kind="sign", details=details)
    nearest, value = min(numbers, key=lambda pair: abs(pair[1].exact - gold.exact))
    kind = "value taken for zero" if (gold.exact == 0) != (value.exact == 0) else "tolerance by size"
    return Strict(value=0.0, reason=f"gold {_shown(gold)} is not named: nearest is {nearest.text}", kind=kind, details=details)


def _shown(number: Number) -> str:
    text = str(number.exact)
    return text if len(text) <= 40 else f"{number.value!r}"
