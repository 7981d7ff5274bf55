"""Whether an answer states gold's numbers, as a careful judge reads it (`number_reading` says what a number is).

What is asked of the answer: every gold (or one of them, `conj="or"`) is named, and no more different candidates than there are golds.
Context never counts as a candidate but may match: years beside other numbers, days and months of written dates, list markers, numbers
joined to a word by a hyphen (`GPT-4`), ordinals. Where a gold is itself a year, years are candidates.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final, Literal

from evalsuite.matching.number_reading import YEARS, Found, find_numbers, read_number
from evalsuite.matching.text import shorten
from evalsuite.matching.text_strict import excluded_token
from evalsuite.matching.values import Number, rounds_to
from evalsuite.matching.verdict import Strict

REL_TOL: Final = Decimal("1e-6")
OFFICIAL_TOL: Final = Decimal("1e-4")
DEFAULT_PRECISION: Final = 4
MAX_LISTED: Final = 5


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
        return Strict(value=0.0, reason=f"the answer holds the excluded text {shorten(forbidden)}", kind="exclude")
    golds = list({number.exact: number for number in map(read_number, gold if isinstance(gold, list | tuple) else [gold])}.values())
    near = _Nearness(percentage=percentage, abs_tol=_abs_tol(precision, abs_tol), rel_tol=rel_tol)
    found = _with_years(list(find_numbers(answer)), golds)
    if not found:
        return Strict(value=0.0, reason="no number in the answer", kind="no number")
    named = {g.exact: [item for item in found if near.names(item, g)] for g in golds}
    candidates = _candidates(found, golds, named)
    n_others = len(candidates) - sum(any(not item.context for item in items) for items in named.values())
    details = {"numbers": [item.text for item in found[:MAX_LISTED]], "n_numbers": len(found), "n_other_candidates": n_others}
    if len(candidates) > len(golds):
        return Strict(value=0.0, reason=_hedged(candidates, len(golds)), kind="hedged", details=details)
    missed = [g for g in golds if not named[g.exact]]
    if not missed or (conj == "or" and len(missed) < len(golds)):
        met = [g for g in golds if named[g.exact]]
        which = "every gold number" if conj == "and" and len(golds) > 1 else _shown(met[0])
        kind = next((kind for g in met if (kind := _odd_form(g, named[g.exact], near))), "")
        return Strict(value=1.0, reason=f"the answer names {which}", kind=kind, details=details)
    return _missed(missed[0], found, near, details)


def _with_years(found: list[Found], golds: Sequence[Number]) -> list[Found]:
    """Years become context where other numbers stand beside them and no gold is a year."""
    if any(g.exact == g.exact.to_integral_value() and g.exact in YEARS for g in golds):
        return found
    if not any(not item.year and not item.context for item in found):
        return found
    return [replace(item, context=True) if item.year else item for item in found]


def _candidates(found: Sequence[Found], golds: Sequence[Number], named: dict[Decimal, list[Found]]) -> list[str]:
    """The different values that the answer puts forward, in order: one for each gold it names, one for each other number."""
    gold_of = {id(item): g.exact for g in reversed(golds) for item in named[g.exact]}
    values: dict[tuple[bool, Decimal], str] = {}
    for item in found:
        if not item.context:
            is_gold = id(item) in gold_of
            values.setdefault((is_gold, gold_of[id(item)] if is_gold else item.readings[0].exact), item.text)
    return list(values.values())


def _hedged(candidates: Sequence[str], n_golds: int) -> str:
    expected = "one was expected" if n_golds == 1 else f"at most {n_golds} were expected"
    more = ", ..." if len(candidates) > MAX_LISTED else ""
    return f"hedged: found {len(candidates)} different numbers, {expected}: {', '.join(candidates[:MAX_LISTED])}{more}"


@dataclass(frozen=True, slots=True)
class _Nearness:
    """When a number of the answer is a gold number."""

    percentage: bool
    abs_tol: Decimal | None
    rel_tol: float | None

    def names(self, item: Found, gold: Number) -> bool:
        """Whether a reading of the number is gold, in one of the forms that `percentage` allows."""
        return any(self.close(form, reading) for form in self.forms(gold.exact) for reading in item.readings)

    def forms(self, gold: Decimal) -> list[Decimal]:
        """Gold itself, and with `percentage` a share as percent or a percent figure as share."""
        if not self.percentage or gold == 0:
            return [gold]
        return [gold, gold.scaleb(2) if abs(gold) <= 1 else gold.scaleb(-2)]

    def close(self, gold: Decimal, predicted: Number) -> bool:
        """Whether the number is near gold: rel 1e-6, or equal when rounded as shown; zero only equals zero."""
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


def _odd_form(gold: Number, items: Sequence[Found], near: _Nearness) -> str:
    """Why the official rules may not see that these numbers are gold; nothing where one of them is gold plainly."""
    kinds = []
    for item in items:
        plain = any(near.close(gold.exact, reading) for reading in item.readings)
        apart = min(abs(gold.exact - reading.exact) for reading in item.readings) > OFFICIAL_TOL
        kinds.append(item.form or ("percent form" if not plain else "sign" if gold.exact < 0 else "tolerance by size" if apart else ""))
    return "" if "" in kinds else kinds[0]


def _missed(gold: Number, found: Sequence[Found], near: _Nearness, details: dict[str, Any]) -> Strict:
    numbers = [(item, reading) for item in found for reading in item.readings]
    opposite = next((item for item, reading in numbers if gold.exact != 0 and near.close(-gold.exact, reading)), None)
    if opposite is not None:
        return Strict(value=0.0, reason=f"sign: the answer says {opposite.text}, gold is {_shown(gold)}", kind="sign", details=details)
    hundredfold = next((item for item, r in numbers if _is_hundredfold(gold.exact, r.exact)), None)
    if hundredfold is not None and (near.percentage or hundredfold.form == "percent form"):
        reason = f"percent form: the answer says {hundredfold.text}, gold is {_shown(gold)}"
        return Strict(value=0.0, reason=reason, kind="percent form", details=details)
    nearest, value = min(numbers, key=lambda pair: abs(pair[1].exact - gold.exact))
    zero = (gold.exact == 0) != (value.exact == 0)
    kind = nearest.form or ("value taken for zero" if zero else "tolerance by size")
    return Strict(value=0.0, reason=f"gold {_shown(gold)} is not named: nearest is {nearest.text}", kind=kind, details=details)


def _is_hundredfold(gold: Decimal, value: Decimal) -> bool:
    return gold != 0 and any(abs(gold.scaleb(power) - value) <= REL_TOL * abs(value) for power in (-2, 2))


def _shown(number: Number) -> str:
    text = str(number.exact)
    return text if len(text) <= 40 else f"{number.value!r}"
