"""Comparators and transforms by name: built-in ones with their parameters, those registered in a process, and those of one run.

A comparator takes (gold, extracted, params) and returns a `ComparatorResult`. A built-in one accepts every value identical to gold, and
texts that differ only in their Unicode form (NFC) are identical. The reference's comparators (exact, numeric, oneof) are here with the
sound meaning and with its own, which differs in: loose comparison of lists and objects (`exact`), gold inf, bools, "1_0" and huge integers
(`numeric`), and ignoring gold (`oneof`).
"""

import difflib
import math
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC
from fractions import Fraction
from functools import wraps
from itertools import chain
from typing import Any, Literal

from evalsuite.compare.dates import DATE_LOCALES, days_of, moment_of
from evalsuite.compare.quantities import parse_quantity
from evalsuite.compare.values import NUMBER_LOCALES, number_in_locale
from evalsuite.core.dataclasses import dataclass, field
from evalsuite.core.errors import count_words
from evalsuite.core.registry import PART_MODULES, PLUGIN_MODULE
from evalsuite.trees.field_results import ComparatorResult
from evalsuite.trees.json_values import TreeLimitError, are_identical, are_loosely_equal, number_in_text


def compare_date(gold: Any, extracted: Any, params: Mapping[str, Any]) -> ComparatorResult:
    """Return 1 if both name the same days, however written: "May 2024" is "2024-05", "3-5 May 2024" is "2024-05-03/2024-05-05".

    A month does not match a day in it. `days` is the allowed difference at both ends, `locale` gives the order of "3/4/2024" (`en-US`,
    `en-GB`, `de`), `formats` (strptime) are tried first.
    """
    g, e = (days_of(value, params.get("formats") or (), params.get("locale", "")) for value in (gold, extracted))
    if g is None or e is None:
        return ComparatorResult(0.0, "date", f"{'gold' if g is None else 'the answer'} is no date")
    if (g.first.year == 4) != (e.first.year == 4):
        return ComparatorResult(0.0, "date", "one side has no year")
    n_days = max(abs((g.first - e.first).days), abs((g.last - e.last).days))
    if n_days <= params.get("days", 0):
        return ComparatorResult(1.0, "date")
    if (g.first == g.last) != (e.first == e.last):
        return ComparatorResult(0.0, "date", "one side is a day, the other a longer time")
    return ComparatorResult(0.0, "date", f"{count_words(n_days, 'day')} apart")


def compare_datetime(gold: Any, extracted: Any, params: Mapping[str, Any]) -> ComparatorResult:
    """Return 1 if both name one moment within `seconds` (0); a time without zone counts as UTC."""
    g, e = (moment_of(value, params.get("formats") or (), params.get("locale", "")) for value in (gold, extracted))
    if g is None or e is None:
        return ComparatorResult(0.0, "datetime", f"{'gold' if g is None else 'the answer'} is no date and time")
    g, e = (value if value.tzinfo else value.replace(tzinfo=UTC) for value in (g, e))
    n_seconds = abs((g - e).total_seconds())
    if n_seconds <= params.get("seconds", 0):
        return ComparatorResult(1.0, "datetime")
    return ComparatorResult(0.0, "datetime", f"{n_seconds:g} {'second' if n_seconds == 1 else 'seconds'} apart")


def compare_quantity(gold: Any, extracted: Any, params: Mapping[str, Any]) -> ComparatorResult:
    """Return 1 if both are one amount of one dimension: "0.3 um" is "300 nm", {"value": 300, "unit": "nm"} too.

    `unit` is used for values without one, `units` adds names ({"furlong": [201.168, "m"]}), `locale` gives the form of numbers, `rel`
    (1e-9) and `abs` (in gold's unit) bound the difference.
    """
    unit, extra, locale = params.get("unit", ""), params.get("units") or {}, params.get("locale", "")
    g, e = (parse_quantity(value, unit=unit, extra=extra, locale=locale) for value in (gold, extracted))
    if g is None or e is None:
        return ComparatorResult(0.0, "quantity", f"{'gold' if g is None else 'the answer'} is no number with a unit")
    if g.dimension != e.dimension:
        return ComparatorResult(0.0, "quantity", f"unit of another kind: {g.unit or 'none'} and {e.unit or 'none'}")
    bound = max(Fraction(params.get("rel", 1e-9)) * max(abs(g.amount), abs(e.amount)), Fraction(params.get("abs", 0)) * g.scale)
    near = abs(g.amount - e.amount) <= bound
    return ComparatorResult(1.0, "quantity") if near else ComparatorResult(0.0, "quantity", "amounts differ")


Params = Mapping[str, Any]
Check = Callable[[Any], str | None]  # the value of an option -> why it cannot be used


def problem_of(name: str, params: Params) -> str | None:
    """Return why a built-in comparator cannot work with these parameters; None if it can."""
    for key, check in OPTIONS.get(name, {}).items():
        if key in params and check is not None and (problem := check(params[key])):
            return f"{name}: {problem}"
    is_empty = name == "oneof" and not isinstance(params.get("values"), list) and not params.get("groups")
    return "oneof: a list 'values' is needed" if is_empty else None


def unknown_options(name: str, params: Params) -> list[str]:
    """Return the parameters that a shipped comparator does not take; `tolerance` of `numeric` takes `abs` and `rel`."""
    names = [key for key in params if key not in OPTIONS[name]]
    tolerance = params.get("tolerance")
    inner = [f"tolerance.{key}" for key in tolerance if key not in ("abs", "rel")] if isinstance(tolerance, dict) else []
    return names + inner


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _tolerance(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        return "'tolerance' must be an object with 'abs' or 'rel'"
    wrong = [key for key in ("abs", "rel") if value.get(key) is not None and not _is_number(value[key])]
    return f"tolerance {wrong[0]!r} must be a number" if wrong else None


def _option(name: str, is_fine: Callable[[Any], bool], what: str) -> Check:
    return lambda value: None if is_fine(value) else f"{name!r} must be {what}"


def _at_least_0(name: str) -> Check:
    return _option(name, lambda value: _is_number(value) and 0 <= value < math.inf, "a number of at least 0")


def _text(name: str) -> Check:
    return _option(name, lambda value: isinstance(value, str), "a text")


def _separator(value: Any) -> str | None:
    return "'separator' must not be empty" if value == "" else _text("separator")(value)


def _lists(name: str, kind: type, what: str) -> Check:
    return _option(name, lambda value: isinstance(value, list) and all(isinstance(item, kind) for item in value), f"a list of {what}")


_formats = _lists("formats", str, "texts")


def _units(value: Any) -> str | None:
    for unit, entry in value.items() if isinstance(value, dict) else [("units", None)]:
        if not (isinstance(entry, list) and len(entry) == 2 and _is_number(entry[0]) and isinstance(entry[1], str)):
            return f'unit {unit!r} must be [factor, unit], such as [201.168, "m"]'
    return None


def _locale(value: Any) -> str | None:
    if not isinstance(value, str):
        return _text("locale")(value)
    language = value.replace("_", "-").split("-")[0]
    languages = sorted({*(locale.split("-")[0] for locale in NUMBER_LOCALES), *DATE_LOCALES})
    return None if not language or language in languages else f"unknown locale {value!r}: one of {', '.join(languages)}, or with a region"


def _pattern(value: Any) -> str | None:
    import regex

    try:
        regex.compile(value)
    except (regex.error, TypeError):
        return "'pattern' is not a pattern"
    return None


# The options of each comparator, each with the check of its value.
OPTIONS: dict[str, dict[str, Check | None]] = {
    "exact": {},
    "numeric": {"tolerance": _tolerance, "locale": _locale},
    "oneof": {"values": None, "groups": _lists("groups", list, "lists")},
    "date": {"formats": _formats, "days": _at_least_0("days"), "locale": _locale},
    "datetime": {"formats": _formats, "seconds": _at_least_0("seconds"), "locale": _locale},
    "quantity": {"unit": _text("unit"), "units": _units, "rel": _at_least_0("rel"), "abs": _at_least_0("abs"), "locale": _locale},
    "regex": {"pattern": _pattern, "ignore_case": None},
    "set": {"separator": _separator},
    "text": {"long": _at_least_0("long")},
    "edit_distance": {},
    "token_f1": {},
    "number_or_text": {"tolerance": _tolerance},
}


Compare = Callable[[Any, Any, Params], ComparatorResult]

MAX_CELLS = 400_000_000
PATTERN_SECONDS = 1.0
_EXACT = ComparatorResult(1.0, "exact")
_NOT_EXACT = ComparatorResult(0.0, "exact", "mismatch")
_NEAR = ComparatorResult(1.0, "numeric")
_NO_NUMBER = ComparatorResult(0.0, "numeric", "type_error")
_DIFFERENT = ComparatorResult(0.0, "numeric", "values differ without tolerance")
_LARGEST_EXACT = 2**53


def nfc(value: Any) -> Any:
    """Return the value with every text in it, keys aside, in Unicode's composed form."""
    if isinstance(value, str):
        return value if value.isascii() else unicodedata.normalize("NFC", value)
    if isinstance(value, dict):
        return {key: nfc(item) for key, item in value.items()}
    return [nfc(item) for item in value] if isinstance(value, list) else value


def are_alike(a: Any, b: Any) -> bool:
    """Return whether two values have one type and are equal down to every leaf, texts in NFC."""
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is str:
        return bool(a == b) or (not (a.isascii() and b.isascii()) and bool(nfc(a) == nfc(b)))
    return are_identical(a, b) or (kind in (dict, list) and are_identical(nfc(a), nfc(b)))


def accepting_itself(name: str, *, texts: bool = False) -> Callable[[Compare], Compare]:
    """Return a comparator that is called only if gold and answer are not identical; with `texts`, only for two texts."""

    def with_identity(compare: Compare) -> Compare:
        @wraps(compare)
        def compared(gold: Any, extracted: Any, params: Params) -> ComparatorResult:
            if are_alike(gold, extracted):
                return ComparatorResult(1.0, name)
            if texts and not (isinstance(gold, str) and isinstance(extracted, str)):
                return ComparatorResult(0.0, name, "not a text")
            return compare(gold, extracted, params)

        return compared

    return with_identity


def exact(gold: Any, extracted: Any, _: Params) -> ComparatorResult:
    """Return 1 if both have one type and are equal down to every leaf; null equals null, NaN nothing."""
    return _EXACT if are_alike(gold, extracted) else _NOT_EXACT


def compat_exact(gold: Any, extracted: Any, _: Params) -> ComparatorResult:
    """Return 1 if both have one type and are equal by Python's `==`, so [1] equals [true]."""
    return _EXACT if are_loosely_equal(gold, extracted) else _NOT_EXACT


def numeric(gold: Any, extracted: Any, params: Params) -> ComparatorResult:
    """Return 1 if both are numbers (or texts of one) within `tolerance`: `rel` of gold, `abs`, or both; without one, equal.

    null matches null, NaN matches NaN, inf only the inf of the same sign. Integers are compared exactly, however large. A text may be
    written as people do ("1,234.5", "−3 × 10⁵"), in the form of a `locale` if one is set. A bool and a text like "1_000" are no numbers
    (`type_error`).
    """
    kind = type(gold)
    if kind is type(extracted) and (not params and gold == extracted if kind is float or kind is int else are_alike(gold, extracted)):
        return _NEAR
    locale = params.get("locale", "")
    g, e = _number(gold, locale), _number(extracted, locale)
    if g is None or e is None:
        return _NO_NUMBER
    if not all(isinstance(value, int) or math.isfinite(value) for value in (g, e)):
        if g != g or e != e:
            return _NEAR if g != g and e != e else _NO_NUMBER
        return _NEAR if g == e else ComparatorResult(0.0, "numeric", "only inf of the same sign equals inf")
    if (isinstance(g, float) and isinstance(e, float)) or (abs(g) <= _LARGEST_EXACT and abs(e) <= _LARGEST_EXACT):
        return _compare_numbers(float(g), float(e), params)
    return _compare_numbers(Fraction(g), Fraction(e), params)


def _number(value: Any, locale: str) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if not isinstance(value, str):
        return value
    number = number_in_locale(value, locale)
    if number is None:
        try:
            return None if "_" in value or any(sign.isdigit() for sign in value) else float(value)  # inf and nan
        except ValueError:
            return None
    return number.numerator if number.denominator == 1 else float(number)


def _compare_numbers(g: Any, e: Any, params: Params, *, compat: bool = False) -> ComparatorResult:
    """Compare two numbers. Bounds are inclusive and both apply; with `compat` a difference of NaN, as of two infinities, passes."""
    tolerance = params.get("tolerance") or {}
    relative, absolute = tolerance.get("rel"), tolerance.get("abs")
    if relative is None and absolute is None:
        return _NEAR if g == e else _DIFFERENT
    distance = abs(g - e)
    for name, bound, error in (("relative", relative, distance / (abs(g) if g else 1)), ("absolute", absolute, distance)):
        if bound is not None and (error > bound if compat else not error <= bound):
            return ComparatorResult(0.0, "numeric", f"{name} error exceeds {bound}")
    return _NEAR


def number_or_text(gold: Any, extracted: Any, params: Params) -> ComparatorResult:
    """Compare a field that may be a number or a text: a gold number as by `numeric`, a gold text that is a number by its value.

    "500" equals every number and text of that value (500, "500.00"); any other text equals only itself.
    """
    if _is_number(gold):
        return numeric(gold, extracted, params)
    expected, answer = number_in_text(gold), number_in_text(extracted)
    if expected is None or (answer is None and not _is_number(extracted)):
        return exact(gold, extracted, params)
    if answer is None:
        return numeric(gold, extracted, params)
    return _NEAR if expected == answer else _compare_numbers(Fraction(expected), Fraction(answer), params)


def compat_numeric(gold: Any, extracted: Any, params: Params) -> ComparatorResult:
    """Compare as the reference's numeric: Python's float() of anything, so that "1_0", true and gold inf pass, and 10**400 raises."""
    if gold is None or extracted is None:
        return _NEAR if gold is extracted else _NO_NUMBER
    try:
        g, e = float(gold), float(extracted)
    except (TypeError, ValueError):
        return _NO_NUMBER
    if math.isnan(g) or math.isnan(e):
        return _NEAR if math.isnan(g) and math.isnan(e) else _NO_NUMBER
    return _compare_numbers(g, e, params, compat=True)


@accepting_itself("oneof")
def oneof(gold: Any, extracted: Any, params: Params) -> ComparatorResult:
    """Return 1 if gold and extracted are accepted for each other: `values` is one group of synonyms, `groups` are several.

    With groups (or lists among the values: {"values": ["CVD", ["PVD", "sputtering"]]}) a plain value is a group of its own.
    """
    values = [value for value in params.get("values") or [] if not isinstance(value, list)]
    groups = [*(params.get("groups") or []), *(value for value in params.get("values") or [] if isinstance(value, list))]
    groups = [*groups, *([value] for value in values)] if groups else [values]
    with_gold = [group for group in groups if _holds(group, gold)]
    if not with_gold:
        return ComparatorResult(0.0, "oneof", f"gold not in values: add {_short(gold)} to 'values', or to a list of 'groups'")
    if any(_holds(group, extracted) for group in with_gold):
        return ComparatorResult(1.0, "oneof")
    if any(_holds(group, extracted) for group in groups):
        reason = f"no match in values: {_short(extracted)} is in another group; add it to the list of {_short(gold)} if they are equivalent"
    else:
        reason = f"no match in values: {_short(extracted)} is not listed; add it next to {_short(gold)} if they are equivalent"
    return ComparatorResult(0.0, "oneof", reason)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _holds(group: list[Any], value: Any) -> bool:
    return any(are_alike(value, item) for item in group)


def compat_oneof(_: Any, extracted: Any, params: Params) -> ComparatorResult:
    """Return the reference's oneof: 1 if extracted is in `values` by Python's `in`; gold is not used."""
    values = params.get("values")
    if not isinstance(values, list):
        raise TypeError(f"oneof needs a list 'values', got {type(values).__name__}")
    return ComparatorResult(1.0, "oneof") if extracted in values else ComparatorResult(0.0, "oneof", "no match in values")


def fold_text(text: str) -> str:
    """Return the text without regard to case, in NFC, each run of white space one blank."""
    return " ".join(nfc(nfc(text).casefold()).split())


@accepting_itself("text", texts=True)
def compare_text(gold: Any, extracted: Any, params: Params) -> ComparatorResult:
    """Return 1 if two texts are equal without regard to case, white space and Unicode form ("STRASSE" is "straße").

    If gold has more than `long` characters, other texts get their similarity, as by `edit_distance`.
    """
    g, e = fold_text(gold), fold_text(extracted)
    if g == e:
        return ComparatorResult(1.0, "text")
    return similarity(g, e, "text") if len(g) > params.get("long", math.inf) else ComparatorResult(0.0, "text", "other text")


@accepting_itself("regex")
def compare_regex(gold: Any, extracted: Any, params: Params) -> ComparatorResult:
    """Return 1 if the extracted text matches `pattern` (default: gold is the pattern) as a whole; `ignore_case` for any case."""
    import regex

    pattern = params.get("pattern", gold)
    if not isinstance(pattern, str) or not isinstance(extracted, str):
        return ComparatorResult(0.0, "regex", "not a text")
    try:
        match = regex.fullmatch(pattern, extracted, regex.IGNORECASE if params.get("ignore_case") else 0, timeout=PATTERN_SECONDS)
    except regex.error:
        return ComparatorResult(0.0, "regex", "gold is not a pattern")
    except TimeoutError:
        return ComparatorResult(0.0, "regex", f"the pattern took longer than {PATTERN_SECONDS:g} s")
    return ComparatorResult(1.0, "regex") if match else ComparatorResult(0.0, "regex", "no match")


@accepting_itself("set")
def compare_set(gold: Any, extracted: Any, params: Params) -> ComparatorResult:
    """Return the F1 of the two lists' distinct elements, order aside (Dice); a text is split at `separator` (","), its parts trimmed."""
    g, e = (_elements(value, params.get("separator", ",")) for value in (gold, extracted))
    if g is None or e is None:
        return ComparatorResult(0.0, "set", "not a list")
    if not g and not e:
        return ComparatorResult(1.0, "set")
    shared = sum(any(are_alike(a, b) for b in e) for a in g)
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
        if not any(are_alike(item, other) for other in distinct):
            distinct.append(item)
    return distinct


@accepting_itself("edit_distance", texts=True)
def compare_edit_distance(gold: Any, extracted: Any, _: Params) -> ComparatorResult:
    """Return 1 - edits / longer length, in [0, 1] (Levenshtein); partial credit counts."""
    return similarity(nfc(gold), nfc(extracted), "edit_distance")


def similarity(gold: str, extracted: str, name: str) -> ComparatorResult:
    """Return the similarity of two texts, 1 - edits / longer length. Raises `TreeLimitError` if they are too long."""
    if len(gold) * len(extracted) > MAX_CELLS:
        raise TreeLimitError(f"edit distance of {len(gold):,} and {len(extracted):,} characters")
    from rapidfuzz.distance import Levenshtein

    score = Levenshtein.normalized_similarity(gold, extracted)
    return ComparatorResult(score, name, None if score == 1 else f"similarity {score:.3g}")


@accepting_itself("token_f1", texts=True)
def compare_token_f1(gold: Any, extracted: Any, _: Params) -> ComparatorResult:
    """Return the F1 of the two texts' words as bags, lower case (SQuAD's measure, articles kept)."""
    g, e = Counter(fold_text(gold).split()), Counter(fold_text(extracted).split())
    if not g and not e:
        return ComparatorResult(1.0, "token_f1")
    shared = (g & e).total()
    score = 2 * shared / (g.total() + e.total())
    return ComparatorResult(score, "token_f1", None if score == 1 else f"{count_words(shared, 'word')} shared")


PROTECTED = ("exact", "numeric", "oneof")
BUILTIN: dict[str, Compare] = {"exact": exact, "numeric": numeric, "oneof": oneof}
COMPAT: dict[str, Compare] = {"exact": compat_exact, "numeric": compat_numeric, "oneof": compat_oneof}
SHIPPED: dict[str, Compare] = {
    "date": accepting_itself("date")(compare_date),
    "datetime": accepting_itself("datetime")(compare_datetime),
    "quantity": accepting_itself("quantity")(compare_quantity),
    "regex": compare_regex,
    "set": compare_set,
    "text": compare_text,
    "edit_distance": compare_edit_distance,
    "token_f1": compare_token_f1,
    "number_or_text": number_or_text,
}


_TRUTH = {"0": False, "1": True, "true": True, "false": False}


def _text_of(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"string required, got {type(value).__name__}")
    return value


def lowercase(value: Any, _: Params) -> Any:
    """Return the text in lower case."""
    return None if value is None else _text_of(value).lower()


def strip(value: Any, _: Params) -> Any:
    """Return the text without white space at its ends."""
    return None if value is None else _text_of(value).strip()


def normalize_whitespace(value: Any, _: Params) -> Any:
    """Return the text with every run of white space as one blank, trimmed."""
    return None if value is None else re.sub(r"\s+", " ", _text_of(value)).strip()


def sort_tokens(value: Any, _: Params) -> Any:
    """Return the text's words in code point order."""
    return None if value is None else " ".join(sorted(_text_of(value).split()))


def round_digits(value: Any, params: Params) -> Any:
    """Return the number rounded to `digits` decimals, halves to the even neighbour."""
    if value is None:
        return None
    if not isinstance(value, int | float):
        raise TypeError(f"number required, got {type(value).__name__}")
    if "digits" not in params:
        raise TypeError("'digits' is missing")
    return round(value, int(params["digits"]))


def type_convert(value: Any, params: Params) -> Any:
    """Return the value as `to`: float, int, str or bool, by Python's conversion; bool takes bools, 0, 1 and their texts only."""
    if value is None:
        return None
    if "to" not in params:
        raise TypeError("'to' is missing")
    target = params["to"]
    if target == "bool":
        if isinstance(value, bool):
            return value
        if type(value) is int and value in (0, 1):
            return bool(value)
        if isinstance(value, str) and (truth := _TRUTH.get(value.strip().lower())) is not None:
            return truth
        raise TypeError(f"cannot convert {type(value).__name__} to bool")
    convert = {"float": float, "int": int, "str": str}.get(target) if isinstance(target, str) else None
    if convert is None:
        raise ValueError(f"unknown target type {target!r}")
    try:
        return convert(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"cannot convert {type(value).__name__} to {target}") from error


def check_transform(name: str, params: Params) -> str | None:
    """Return why a built-in transform cannot work with these parameters; None if it can."""
    if name == "round_digits" and (not isinstance(params.get("digits"), int) or isinstance(params.get("digits"), bool)):
        return "round_digits needs an integer 'digits'"
    if name == "type_convert" and params.get("to") not in ("float", "int", "str", "bool"):
        return "type_convert needs 'to': float, int, str or bool"
    return None


TRANSFORMS: dict[str, Callable[[Any, Params], Any]] = {
    "lowercase": lowercase,
    "strip": strip,
    "normalize_whitespace": normalize_whitespace,
    "sort_tokens": sort_tokens,
    "round_digits": round_digits,
    "type_convert": type_convert,
}


Kind = Literal["comparator", "batch", "transform", "post_process"]

_registered: dict[str, dict[str, Callable[..., Any]]] = {"comparator": {}, "transform": {}, "post_process": {}}
_batch: set[str] = set()
_TABLES = {"batch": "comparator"}  # kinds that share the names of another
_PROTECTED_NAMES = {
    "comparator": PROTECTED, "transform": tuple(TRANSFORMS), "post_process": ("reclassify_nulls", "propagate_batch_errors"),
}  # fmt: skip


class UnknownNameError(KeyError):
    """No table contains this comparator or transform; the text names the closest one."""

    def __str__(self) -> str:
        return str(self.args[0])


def register(name: str, function: Callable[..., Any], *, overwrite: bool = False, kind: Kind = "comparator") -> None:
    """Register a comparator, batch comparator, transform or post-processor in this process under `name`.

    A comparator takes (gold, extracted, params) and returns a `ComparatorResult`; a batch comparator (`kind="batch"`, or an object with
    `is_batch` True) takes the list of a record's `BatchItem`; a transform takes (value, params); a post-processor takes and returns the
    list of a record's rows. The names exact, numeric, oneof and those of the built-in transforms cannot be taken; the other shipped
    comparators (date, regex, ...) may be replaced.

    Args:
        name: the name in schemas.
        function: the function or object.
        overwrite: whether a registered name may be replaced.
        kind: `comparator`, `batch`, `transform` or `post_process`.

    Raises:
        TypeError: `function` is not callable.
        ValueError: the name is built in, or taken and `overwrite` is False.
    """
    if not callable(function):
        raise TypeError(f"{kind} {name!r} must be callable, got {type(function).__name__}")
    table = _registered[_TABLES.get(kind, kind)]
    if name in _PROTECTED_NAMES[_TABLES.get(kind, kind)]:
        raise ValueError(f"{name!r} is built in and cannot be replaced")
    if name in table and not overwrite and not _is_outdated(table[name], function):
        raise ValueError(f"{kind} {name!r} is already registered; pass overwrite=True to replace it")
    table[name] = function
    # A plugin file that registers a part needs no scorer.
    PART_MODULES.add(sys._getframe(1).f_globals.get("__name__", ""))
    if kind in ("comparator", "batch"):
        (_batch.add if kind == "batch" else _batch.discard)(name)


def _is_outdated(registered: Callable[..., Any], function: Callable[..., Any]) -> bool:
    """Return whether a function may replace a registered one: of the same file, imported again, or of an earlier call's plugin."""
    (module, variables), (new_module, new_variables) = _origin(registered), _origin(function)
    return (module.startswith(PLUGIN_MODULE) and module not in PART_MODULES) or (module == new_module and variables is not new_variables)


def _origin(function: Callable[..., Any]) -> tuple[str, Any]:
    """Return the name of the module that defines a function, and its variables: those of a plugin file that is imported again differ."""
    return str(function.__module__), getattr(function, "__globals__", None)


def unregister(name: str, *, kind: Kind = "comparator") -> None:
    """Remove a registered name; an unknown name is no error."""
    _registered[_TABLES.get(kind, kind)].pop(name, None)
    if kind in ("comparator", "batch"):
        _batch.discard(name)


def post_processor(name: str) -> Callable[..., Any] | None:
    """Return the registered post-processor of that name, or None."""
    return _registered["post_process"].get(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """The names of one run: its own, then the process's, then the built-in ones of its mode."""

    compat: bool = False
    comparators: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    transforms: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        builtin_names = [name for name in self.comparators if name in PROTECTED] + [name for name in self.transforms if name in TRANSFORMS]
        if builtin_names:
            raise ValueError(f"{builtin_names[0]!r} is built in and cannot be replaced")

    def comparator(self, name: str) -> Callable[..., Any]:
        """Return the comparator of that name. Raises `UnknownNameError`."""
        defaults = COMPAT if self.compat else BUILTIN
        return _find_function("comparator", name, self.comparators, _registered["comparator"], defaults, SHIPPED)

    def transform(self, name: str) -> Callable[..., Any]:
        """Return the transform of that name. Raises `UnknownNameError`."""
        return _find_function("transform", name, self.transforms, _registered["transform"], TRANSFORMS)

    def is_batch(self, name: str) -> bool:
        """Return whether a comparator gets all rows of a record at once."""
        return (name in _batch and name not in self.comparators) or getattr(self.comparator(name), "is_batch", False) is True


def _find_function(kind: str, name: str, *tables: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """Return the function of that name in the first table that has it. Raises `UnknownNameError` with the closest name."""
    for table in tables:
        if name in table:
            return table[name]
    near = difflib.get_close_matches(name, sorted({*chain.from_iterable(tables)}), n=1, cutoff=0.6)
    raise UnknownNameError(f"Unknown {kind}: {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
