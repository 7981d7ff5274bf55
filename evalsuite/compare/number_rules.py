"""Whether an answer states gold's numbers, under the official and the strict rules (`numbers` defines what a number is).

Official is Spider2's `eval_utils.number_match`. The arithmetic is the reference's, including float noise at the edge of the tolerance:
100.0001 - 100 is a little more than 1e-4, 5.0001 - 5 a little less.

Strict: the answer must name every gold (or one of them, `conj="or"`), and no more different candidates than there are golds. Context never
counts as a candidate: years next to other numbers, days and months of written dates, list markers, ordinals. It names a gold only if the
answer contains few numbers in all. If a gold is itself a year, years are candidates.

A whole gold must be that number. A gold with decimals allows float noise and rounding, in the units as written (62.5 % is 62.5): rounding
must leave two significant digits, and four if no decimals are left; digits that gold cut off may be present.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from math import inf, isfinite
from typing import Any, Final, Literal

from evalsuite.compare.answer_messages import (
    MAX_LISTED,
    NO_NUMBER,
    contains,
    contains_excluded,
    hedged,
    missing_number,
    no_number_near,
    only_context,
    other_form,
    too_many_numbers,
)
from evalsuite.compare.numbers import (
    FEWEST_DECIMALS,
    MOST_PLACES,
    YEARS,
    Found,
    Number,
    Tolerance,
    as_margin,
    decimals_of,
    equal_but_for_noise,
    exact_of,
    find_numbers,
    float_of,
    is_whole,
    number_of,
    read_number,
    rounds,
    upward,
    within,
)
from evalsuite.compare.text_rules import excluded_text, excluded_token
from evalsuite.compare.verdict import NumberCause, Official, Strict

NUMBER: Final = r"\b\d{1,3}(?:,\d{3})*\b(?:\.\d+)?%?|\b\d+\b(?:\.\d+)?%?"
# The same numbers in an ASCII text, three times as fast: the pattern finds a digit first and looks behind only there.
_ASCII_NUMBER: Final = r"[0-9](?<!\w[0-9])(?:[0-9]{0,2}(?:,[0-9]{3})*\b(?:\.[0-9]+)?%?|[0-9]*\b(?:\.[0-9]+)?%?)"

Golds = str | float | Sequence[str | float]


def match_number(
    answer: str,
    gold: Golds,
    *,
    percentage: bool = False,
    precision: int = 4,
    conj: Literal["and", "or"] = "or",
    exclude: str | Sequence[str] = (),
) -> Official:
    """1 if a number in the answer is within 10**-precision of a gold (of each gold with `conj="and"`), else 0.

    A gold that is text, a float or a list of one takes exactly one number in the answer; an integer or several golds take any. Signs are
    ignored, `%` divides by 100, and `percentage` accepts 100 times each gold too. Raises ValueError for a gold that is not a number:
    `gold_numbers` finds those before.
    """
    if exclude and (forbidden := excluded_text(answer, exclude)) is not None:
        return Official(0.0, contains_excluded(forbidden))
    numbers = find_official_numbers(answer)
    listed = numbers if len(numbers) <= MAX_LISTED else numbers[:MAX_LISTED]
    details = {"numbers": [None if one == inf else one for one in listed] if inf in listed else listed, "n_numbers": len(numbers)}
    if not numbers:
        return Official(0.0, NO_NUMBER, details)
    if len(numbers) > 1 and takes_one_number(gold):
        return Official(0.0, too_many_numbers(len(numbers), list(map(_shortest, numbers[: MAX_LISTED + 1]))), details)
    accepted = gold_numbers(gold)
    if percentage:
        accepted += [100 * value for value in accepted]
    tolerance, shown = _tolerance(precision)
    met, missed = _met_and_missed(accepted, numbers, tolerance)
    if not missed or (met and conj == "or"):
        return Official(1.0, contains("every gold" if conj == "and" and len(met) > 1 else _shortest(met[0])), details)
    first = missed[0]
    nearest = numbers[0] if len(numbers) == 1 else _nearest(numbers, first)
    return Official(0.0, no_number_near(shown, _shortest(first), _shortest(nearest)), details)


def _met_and_missed(accepted: Sequence[float], numbers: Sequence[float], tolerance: float) -> tuple[list[float], list[float]]:
    met, missed = [], []
    for value in accepted:
        for number in numbers:
            if abs(number - value) <= tolerance:
                met.append(value)
                break
        else:
            missed.append(value)
    return met, missed


def _nearest(numbers: Sequence[float], value: float) -> float:
    return min(numbers, key=lambda number: abs(number - value))


@cache
def _tolerance(precision: int) -> tuple[float, str]:
    """The largest accepted distance from gold, and how the reason writes it."""
    distance = 10 ** -max(precision, -2 * MOST_PLACES)
    return distance, _shortest(distance)


def find_official_numbers(text: str) -> list[float]:
    """The numbers in a text, in order: digits at word boundaries with groups of thousands, decimals and percent."""
    numbers = []
    for number in _find_ascii(text) if text.isascii() else _find_any()(text):
        plain = number.replace(",", "") if "," in number else number
        numbers.append(float(plain[:-1]) / 100 if plain[-1] == "%" else float(plain))
    return numbers


def gold_numbers(gold: Golds) -> list[float]:
    """Gold's numbers as floats; raises ValueError if one is not a finite number."""
    if type(gold) is float and isfinite(gold):
        return [gold]
    values = [_value(item) if isinstance(item, str) else float(item) for item in ([gold] if isinstance(gold, str | int | float) else gold)]
    if not all(map(isfinite, values)):
        raise ValueError("a gold number must be finite")
    return values


def takes_one_number(gold: Golds) -> bool:
    """Whether the answer must contain exactly one number: not for an integer gold, nor for several."""
    return isinstance(gold, str | float) or (not isinstance(gold, int) and len(gold) == 1)


def _value(text: str) -> float:
    text = text.replace(",", "")
    return float(text[:-1]) / 100 if text[-1:] == "%" else float(text)


_find_ascii: Callable[[str], list[str]] = re.compile(_ASCII_NUMBER, re.ASCII).findall


@cache
def _find_any() -> Callable[[str], list[str]]:
    """`findall` of the pattern with the package that the reference uses, which recognises digits and word characters beyond ASCII."""
    import regex

    return regex.compile(NUMBER).findall


def _shortest(number: float) -> str:
    text = repr(number)
    return str(int(number)) if text.endswith(".0") and abs(number) < 1e15 else text


OFFICIAL_TOL: Final = Decimal("1e-4")
HUNDREDFOLD_TOL: Final = Decimal("1e-6")
DEFAULT_PRECISION: Final = 4
_MOST_TRIED: Final = 50
_LONGEST_GROUP: Final = 3
# Without decimals a number counts as gold's rounding only with at least this many digits: 20 is not 19.6.
WHOLE_ROUNDING: Final = 1000


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
    """The strict verdict on an answer. A `precision` other than 4, `abs_tol` and `rel_tol` widen the tolerance."""
    forbidden = excluded_token(answer, exclude)
    if forbidden is not None:
        return Strict(value=0.0, reason=contains_excluded(forbidden), kind="exclude")
    golds = _distinct_golds(gold)
    near = _Closeness(percentage=percentage, own=_own_tolerance(precision, abs_tol, rel_tol))
    found = _with_years(list(find_numbers(answer, _short_golds(golds))), golds)
    if not found:
        return Strict(value=0.0, reason=NO_NUMBER, kind="no number")
    named, candidates = _named_golds(found, golds, near)
    n_others = len(candidates) - sum(any(not item.context for item in items) for items in named.values())
    details = {"numbers": [item.text for item in found[:MAX_LISTED]], "n_numbers": len(found), "n_other_candidates": n_others}
    if len(candidates) > len(golds):
        return Strict(value=0.0, reason=hedged(candidates, len(golds)), kind="hedged", details=details)
    met, missed = [g for g in golds if named[exact_of(g)]], [g for g in golds if not named[exact_of(g)]]
    if not missed or (conj == "or" and met):
        which = "every gold number" if conj == "and" and len(golds) > 1 else _shown(met[0])
        cause = next((cause for g in met if (cause := _odd_form(g, named[exact_of(g)], near))), None)
        return Strict(value=1.0, reason=contains(which), cause=cause or "context numbers", details=details)
    return _missed(missed[0], found, near, details)


def _distinct_golds(gold: Any) -> list[int | Number]:
    numbers = map(read_number, gold if isinstance(gold, list | tuple) else [gold])
    return list({exact_of(number): number for number in numbers}.values())


def _short_golds(golds: Sequence[int | Number]) -> frozenset[str]:
    """The golds that can be one of several groups of digits separated by spaces."""
    return frozenset(text for g in golds if len(text := str(exact_of(g))) <= _LONGEST_GROUP)


def _named_golds(found: Sequence[Found], golds: Sequence[int | Number], near: "_Closeness") -> tuple[dict[Decimal, list[Found]], list[str]]:
    """(for each gold the numbers that name it, the different values that are candidates)."""
    named = {exact_of(g): [item for item in found if near.names(item, g)] for g in golds}
    candidates = _candidates([item for item in found if not item.context], golds, named)
    if len(_candidates(found, golds, named)) > len(golds) + 1:
        # Among many numbers one equals gold by chance: then only candidates count.
        named = {g: [item for item in items if not item.context] for g, items in named.items()}
    return named, candidates


def _own_tolerance(precision: int, abs_tol: float | None, rel_tol: float | None) -> Tolerance:
    """The check's own tolerance; a `precision` other than 4 is a distance as well."""
    is_own = abs_tol is not None or rel_tol is not None or precision != DEFAULT_PRECISION
    distance = abs_tol if abs_tol is not None else 10.0 ** -max(precision, -MOST_PLACES) if precision != DEFAULT_PRECISION else 0.0
    return Tolerance(abs=distance, rel=rel_tol or 0.0, own=is_own)


def _with_years(found: list[Found], golds: Sequence[int | Number]) -> list[Found]:
    """Mark years as context if there are other numbers and no gold is a year."""
    if any(is_whole(g) and exact_of(g) in YEARS for g in golds):
        return found
    if not any(not item.year and not item.context for item in found):
        return found
    return [replace(item, context=True) if item.year else item for item in found]


def _candidates(found: Sequence[Found], golds: Sequence[int | Number], named: dict[Decimal, list[Found]]) -> list[str]:
    """The different values of the answer, in order: one for each gold it names, one for each other number."""
    gold_of = {id(item): exact_of(g) for g in reversed(golds) for item in named[exact_of(g)]}
    values: dict[tuple[bool, Decimal], str] = {}
    for item in found:
        is_gold = id(item) in gold_of
        values.setdefault((is_gold, gold_of[id(item)] if is_gold else exact_of(item.readings[0])), item.text)
    return list(values.values())


@dataclass(frozen=True, slots=True)
class _Closeness:
    """When a number of the answer equals a gold number; the check's `own` tolerance only widens this."""

    percentage: bool
    own: Tolerance

    def names(self, item: Found, gold: int | Number) -> bool:
        """Whether a reading of the number equals gold, in one of the forms that `percentage` allows."""
        return any(self.in_form(item, form, gold) for form in self.forms(gold))

    def forms(self, gold: int | Number) -> list[int | Number]:
        """Gold itself, and with `percentage` a share as percent or a percent figure as share."""
        g = exact_of(gold)
        if not self.percentage or g == 0:
            return [gold]
        return [gold, _shifted(gold, 2 if abs(g) <= 1 else -2)]

    def in_form(self, item: Found, form: int | Number, gold: int | Number) -> bool:
        """Whether the number equals this form of gold: as written within noise or rounding, scaled (`1.2 million`) exactly."""
        written = item.readings[0]
        if any(exact_of(form) == exact_of(reading) for reading in item.readings) or self.within_own(item, form):
            return True
        return not item.is_scaled and _is_near(_shifted(form, item.shift), _shifted(written, item.shift), rounding=not is_whole(gold))

    def within_own(self, item: Found, form: int | Number) -> bool:
        """Whether a reading is within the check's own tolerance."""
        g = exact_of(form)
        return self.own.own and any(within(abs(g - exact_of(reading)), g, self.own) for reading in item.readings)


def _is_near(gold: int | Number, predicted: int | Number, *, rounding: bool) -> bool:
    a, b = float_of(gold), float_of(predicted)
    if a is not None and b is not None and abs(a - b) > 1 + 1e-8 * abs(a):
        return False  # no noise and no rounding comes so far, and dumps of numbers are long
    return equal_but_for_noise(gold, predicted) or (rounding and _is_rounding(gold, predicted))


def _is_rounding(gold: int | Number, predicted: int | Number) -> bool:
    """Whether the answer rounds gold to the decimals it shows, or gold rounds the answer."""
    shown, given, size = decimals_of(predicted), decimals_of(gold), abs(exact_of(predicted))
    if shown > given:
        return rounds(gold, predicted, max(FEWEST_DECIMALS, given))
    if shown == given:
        return False
    fewest = Decimal(1).scaleb(1 - shown) if shown else Decimal(WHOLE_ROUNDING)
    if size >= fewest and rounds(gold, predicted, shown):
        return True
    # Zeros may have been dropped: 20 is 20.00.
    return shown < FEWEST_DECIMALS and size >= Decimal("0.1") and rounds(gold, predicted, FEWEST_DECIMALS)


def _shifted(number: int | Number, places: int) -> int | Number:
    """The number with its point moved to the right."""
    return number if places == 0 else number_of(exact_of(number).scaleb(places))


def _odd_form(gold: int | Number, items: Sequence[Found], near: _Closeness) -> NumberCause | None:
    """Why the official rules may not recognise gold in these numbers; None if one of them is gold in plain form."""
    causes: list[NumberCause | None] = []
    for item in items:
        apart = min(abs(exact_of(gold) - exact_of(reading)) for reading in item.readings) > OFFICIAL_TOL
        plain = near.in_form(item, gold, gold)
        if item.form is not None or not plain:
            causes.append(item.form or "percent form")
        elif exact_of(gold) < 0:
            causes.append("sign")
        elif apart:
            causes.append("own tolerance" if near.own.own and near.within_own(item, gold) else "rounding")
        else:
            causes.append(None)
    return None if None in causes else causes[0]


def _missed(gold: int | Number, found: Sequence[Found], near: _Closeness, details: dict[str, Any]) -> Strict:
    g = exact_of(gold)
    opposite = -gold if isinstance(gold, int) else number_of(-gold.exact)
    numbers = [(item, exact_of(reading)) for item in found for reading in item.readings]
    mirrored = next((item for item in found if g != 0 and near.names(item, opposite)), None)
    if mirrored is not None:
        return Strict(value=0.0, reason=other_form("sign", mirrored.text, _shown(gold)), kind="sign", details=details)
    hundredfold = next(
        (
            item
            for item, value in numbers
            if g != 0 and any(abs(g.scaleb(power) - value) <= HUNDREDFOLD_TOL * abs(value) for power in (-2, 2))
        ),
        None,
    )
    if hundredfold is not None and (near.percentage or hundredfold.form == "percent form"):
        reason = other_form("percent form", hundredfold.text, _shown(gold))
        return Strict(value=0.0, reason=reason, kind="percent form", details=details)
    nearest, value = min(numbers, key=lambda pair: abs(pair[1] - g))
    kind = nearest.form or ("value taken for zero" if (g == 0) != (value == 0) else "tolerance by size")
    if near.names(nearest, gold):
        return Strict(value=0.0, reason=only_context(_shown(gold), nearest.text), kind="context numbers", details=details)
    return Strict(value=0.0, reason=missing_number(_shown(gold), nearest.text), kind=kind, details=details)


def _shown(number: int | Number) -> str:
    text = str(exact_of(number))
    return text if len(text) <= 40 else f"{float(exact_of(number))!r}"


def number_margin(
    answer: str, gold: Any, *, conj: Literal["and", "or"], percentage: bool, is_right: bool, accepts: Callable[[float], bool]
) -> float | None:
    """The smallest tolerance under which the answer names gold; None if none is needed, or none is enough.

    `accepts` returns whether a tolerance is enough. With many numbers it is not called, and the nearest number counts.
    """
    found = [exact_of(reading) for item in find_numbers(answer) for reading in item.readings]
    if not found:
        return None
    distances = []
    for number in map(read_number, gold if isinstance(gold, list | tuple) else [gold]):
        g = exact_of(number)
        forms = [g, g.scaleb(2 if abs(g) <= 1 else -2)] if percentage else [g]
        distances.append(sorted(abs(form - value) for form in forms for value in found))
    nearest = upward((max if conj == "and" else min)(own[0] for own in distances))
    if (is_right and not nearest) or len(found) > _MOST_TRIED:
        return as_margin(nearest)
    tried = sorted({upward(distance) for own in distances for distance in own})
    at = bisect_left(tried, True, key=accepts)
    return as_margin(tried[at]) if at < len(tried) else None
