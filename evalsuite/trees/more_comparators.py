"""Comparators beyond the reference's three: dates, quantities, patterns, sets and texts with partial credit.

Each is shipped under its name and may be replaced by `register`. A value that cannot be read is a mismatch that says so.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any

from evalsuite.trees.field_results import ComparatorResult
from evalsuite.trees.json_values import TreeLimitError, same
from evalsuite.trees.quantities import parse_quantity

Params = Mapping[str, Any]
MAX_CELLS = 400_000_000
PATTERN_SECONDS = 1.0
_DATE_FORMATS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%Y%m%d")


def compare_date(gold: Any, extracted: Any, params: Params) -> ComparatorResult:
    """1 where both name one calendar day, however written; `formats` are tried before ISO, `days` is how far apart they may be."""
    g, e = (_day(value, params.get("formats") or ()) for value in (gold, extracted))
    if g is None or e is None:
        return _both_null("date", gold, extracted) or ComparatorResult(0.0, "date", "not a date")
    apart = abs((g - e).days)
    return ComparatorResult(1.0, "date") if apart <= params.get("days", 0) else ComparatorResult(0.0, "date", f"{apart} days apart")


def _day(value: Any, formats: Any) -> date | None:
    found = _moment(value, (*formats, *_DATE_FORMATS))
    return None if found is None else found.date()


def _moment(value: Any, formats: Any) -> datetime | None:
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
        return None


def compare_datetime(gold: Any, extracted: Any, params: Params) -> ComparatorResult:
    """1 where both name one moment within `seconds` (0); a time without zone is taken as UTC."""
    g, e = (_moment(value, params.get("formats") or ()) for value in (gold, extracted))
    if g is None or e is None:
        return _both_null("datetime", gold, extracted) or ComparatorResult(0.0, "datetime", "not a date and time")
    g, e = (value if value.tzinfo else value.replace(tzinfo=UTC) for value in (g, e))
    apart = abs((g - e).total_seconds())
    if apart <= params.get("seconds", 0):
        return ComparatorResult(1.0, "datetime")
    return ComparatorResult(0.0, "datetime", f"{apart:g} seconds apart")


def compare_quantity(gold: Any, extracted: Any, params: Params) -> ComparatorResult:
    """1 where both are one amount of one dimension: "0.3 um" is "300 nm", {"value": 300, "unit": "nm"} too.

    `unit` is taken where a value has none, `units` adds names ({"torr": [133.322, "Pa"]}), `rel` (1e-9) and `abs` (in gold's unit) bound
    the difference.
    """
    g, e = (parse_quantity(value, unit=params.get("unit", ""), extra=params.get("units") or {}) for value in (gold, extracted))
    if g is None or e is None:
        return _both_null("quantity", gold, extracted) or ComparatorResult(0.0, "quantity", "not a number with a known unit")
    if g.dimension != e.dimension:
        return ComparatorResult(0.0, "quantity", f"unit of another kind: {g.unit or 'none'} and {e.unit or 'none'}")
    absolute = params.get("abs", 0.0) * g.scale
    near = math.isclose(g.amount, e.amount, rel_tol=params.get("rel", 1e-9), abs_tol=absolute)
    return ComparatorResult(1.0, "quantity") if near else ComparatorResult(0.0, "quantity", "amounts differ")


def compare_regex(gold: Any, extracted: Any, params: Params) -> ComparatorResult:
    """1 where the extracted text matches `pattern` (default: gold is the pattern) as a whole; `ignore_case` for any case."""
    import regex

    pattern = params.get("pattern", gold)
    if not isinstance(pattern, str) or not isinstance(extracted, str):
        return _both_null("regex", gold, extracted) or ComparatorResult(0.0, "regex", "not a text")
    try:
        found = regex.fullmatch(pattern, extracted, regex.IGNORECASE if params.get("ignore_case") else 0, timeout=PATTERN_SECONDS)
    except regex.error:
        return ComparatorResult(0.0, "regex", "gold is not a pattern")
    except TimeoutError:
        return ComparatorResult(0.0, "regex", f"the pattern took longer than {PATTERN_SECONDS:g} s")
    return ComparatorResult(1.0, "regex") if found else ComparatorResult(0.0, "regex", "no match")


def compare_set(gold: Any, extracted: Any, params: Params) -> ComparatorResult:
    """F1 of the two lists' distinct elements, order aside (Dice); a text is split at `separator` (","), its parts trimmed."""
    g, e = (_elements(value, params.get("separator", ",")) for value in (gold, extracted))
    if g is None or e is None:
        return _both_null("set", gold, extracted) or ComparatorResult(0.0, "set", "not a list")
    if not g and not e:
        return ComparatorResult(1.0, "set")
    shared = sum(any(same(a, b) for b in e) for a in g)
    score = 2 * shared / (len(g) + len(e))
    return ComparatorResult(score, "set", None if score == 1 else f"{shared} shared of {len(g)} expected and {len(e)} found")


def _elements(value: Any, separator: str) -> list[Any] | None:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(separator) if part.strip()]
    if not isinstance(value, list):
        return None
    if len(value) > 2_000:
        raise TreeLimitError(f"a set of {len(value):,} elements, the limit is 2,000")
    distinct: list[Any] = []
    for item in value:
        if not any(same(item, known) for known in distinct):
            distinct.append(item)
    return distinct


def compare_edit_distance(gold: Any, extracted: Any, _: Params) -> ComparatorResult:
    """1 - edits / longer length, in [0, 1] (Levenshtein); partial credit counts."""
    if not isinstance(gold, str) or not isinstance(extracted, str):
        return _both_null("edit_distance", gold, extracted) or ComparatorResult(0.0, "edit_distance", "not a text")
    if len(gold) * len(extracted) > MAX_CELLS:
        raise TreeLimitError(f"edit distance of {len(gold):,} and {len(extracted):,} characters")
    from rapidfuzz.distance import Levenshtein

    score = Levenshtein.normalized_similarity(gold, extracted)
    return ComparatorResult(score, "edit_distance", None if score == 1 else f"similarity {score:.3g}")


def compare_token_f1(gold: Any, extracted: Any, _: Params) -> ComparatorResult:
    """F1 of the two texts' words as bags, lower case (SQuAD's measure, articles kept)."""
    if not isinstance(gold, str) or not isinstance(extracted, str):
        return _both_null("token_f1", gold, extracted) or ComparatorResult(0.0, "token_f1", "not a text")
    g, e = Counter(gold.lower().split()), Counter(extracted.lower().split())
    if not g and not e:
        return ComparatorResult(1.0, "token_f1")
    shared = (g & e).total()
    score = 2 * shared / (g.total() + e.total())
    return ComparatorResult(score, "token_f1", None if score == 1 else f"{shared} words shared")


def _both_null(name: str, gold: Any, extracted: Any) -> ComparatorResult | None:
    return ComparatorResult(1.0, name) if gold is None and extracted is None else None


def _numbers(*names: str) -> Callable[[Params], str | None]:
    def check(params: Params) -> str | None:
        for name in names:
            value = params.get(name, 0)
            if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
                return f"{name!r} must be a number of at least 0"
        return None

    return check


def _check_regex(params: Params) -> str | None:
    import regex

    if "pattern" not in params:
        return None
    try:
        regex.compile(params["pattern"])
    except (regex.error, TypeError):
        return "regex: 'pattern' is not a pattern"
    return None


SHIPPED: dict[str, Callable[[Any, Any, Params], ComparatorResult]] = {
    "date": compare_date,
    "datetime": compare_datetime,
    "quantity": compare_quantity,
    "regex": compare_regex,
    "set": compare_set,
    "edit_distance": compare_edit_distance,
    "token_f1": compare_token_f1,
}
CHECKS: dict[str, Callable[[Params], str | None]] = {
    "date": _numbers("days"),
    "datetime": _numbers("seconds"),
    "quantity": _numbers("rel", "abs"),
    "regex": _check_regex,
}
