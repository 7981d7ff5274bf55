"""The laws of wrong values: each says of (gold, predicted) pairs whether one simple thing made all of them wrong, and undoes it.

`fix` gets the pairs of one column (or text, or tree) that differ, and gives back what each prediction becomes when the thing is undone,
or None where the law does not hold for every pair. `plant` does the opposite to one gold value, or gives None where it cannot.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from evalsuite.causes.value_pairs import Pair, decorated_number, instant, is_null, nearly, write_number

Plant = Callable[[Any, bool], Any]
_NULL_WORDS: Final = {"", "-", "--", "\u2013", "\u2014", "n/a", "na", "none", "null", "nan", "unknown", "missing", "nil", ".", "?", "false"}
_TRUE: Final = {"true", "t", "yes", "y", "1", "1.0", "on"}
_FALSE: Final = {"false", "f", "no", "n", "0", "0.0", "off"}


@dataclass(frozen=True, slots=True)
class Fixed:
    """What the predictions become, one for each pair, and what was found (empty: the law's own words); only `where` holds values."""

    values: tuple[Any, ...]
    says: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class Law:
    """A cause by name: `says` is its sentence; `fix` undoes it; `plant` makes gold wrong; a `partial` one leaves some cells right."""

    name: str
    says: str
    fix: Callable[[Sequence[Pair]], Fixed | None]
    plant: Plant | None = None
    partial: bool = False


def each(one: Callable[[Pair], Any]) -> Callable[[Sequence[Pair]], Fixed | None]:
    """A law that holds value by value: `one` gives the undone prediction, or `NO` where the law does not hold."""

    def fix(pairs: Sequence[Pair]) -> Fixed | None:
        values = []
        for pair in pairs:
            value = one(pair)
            if value is NO:
                return None
            values.append(value)
        return Fixed(tuple(values))

    return fix


NO: Final = object()


def null_and_zero(pair: Pair) -> Any:
    gold, predicted = is_null(pair.gold, native=pair.native), is_null(pair.predicted, native=pair.native)
    if gold and (pair.predicted_number == 0 or pair.predicted is False):
        return pair.gold
    if predicted and pair.gold_number == 0:
        return pair.gold
    return NO


def null_word(pair: Pair) -> Any:
    if not is_null(pair.gold, native=pair.native) or not isinstance(pair.predicted, str):
        return NO
    return pair.gold if pair.predicted.strip().lower() in _NULL_WORDS else NO


def value_lost(pair: Pair) -> Any:
    lost = is_null(pair.predicted, native=pair.native) and not is_null(pair.gold, native=pair.native)
    return pair.gold if lost else NO


def default_value(pairs: Sequence[Pair]) -> Fixed | None:
    """One constant where gold is NULL, at least three times, so that it cannot be the value of a row."""
    filled = {repr(pair.predicted) for pair in pairs}
    if len(pairs) < 3 or len(filled) != 1 or not all(is_null(pair.gold, native=pair.native) for pair in pairs):
        return None
    return Fixed(tuple(pair.gold for pair in pairs), "one constant stands where gold is NULL")


def number_in_text(pairs: Sequence[Pair]) -> Fixed | None:
    values, ways = [], dict[str, None]()
    for pair in pairs:
        gold = pair.gold_number
        if gold is None or not isinstance(pair.predicted, str) or pair.predicted_number is not None:
            return None
        # A number in words is often rounded: to a ten thousandth it is gold's.
        near = Decimal("1e-4") * abs(gold)
        read = next(((v, way) for v, way in decorated_number(pair.predicted) if nearly(v, gold) or abs(v - gold) <= near), None)
        if read is None:
            return None
        values.append(write_number(read[0], pair.gold))
        ways[read[1]] = None
    return Fixed(tuple(values), f"the numbers are written with {' and '.join(ways)}")


def stored_as_text(pair: Pair) -> Any:
    texts = isinstance(pair.predicted, str), isinstance(pair.gold, str)
    if not pair.native or texts[0] == texts[1] or pair.gold is None or pair.predicted is None:
        return NO
    a, b = (Pair(str(value), str(value)) for value in (pair.gold, pair.predicted))
    if a.gold_number is not None and b.gold_number is not None:
        return pair.gold if nearly(a.gold_number, b.gold_number) else NO
    moments = instant(str(pair.gold), native=False), instant(str(pair.predicted), native=False)
    if moments[0] is not None and moments[0] == moments[1]:
        return pair.gold
    return pair.gold if str(pair.gold).casefold() == str(pair.predicted).casefold() else NO


def truth(value: Any) -> bool | None:
    """What a value says of yes and no; None where it says neither."""
    text = str(value).strip().lower()
    return True if text in _TRUE else False if text in _FALSE else None


def _truths(pairs: Sequence[Pair], *, same: bool) -> tuple[Any, ...] | None:
    found = [(truth(pair.gold), truth(pair.predicted)) for pair in pairs]
    words = {str(pair.gold).strip().lower() for pair in pairs} | {str(pair.predicted).strip().lower() for pair in pairs}
    # Columns of 0 and 1 alone are counts as often as truths.
    if any(None in pair for pair in found) or words <= {"0", "1", "0.0", "1.0"}:
        return None
    return tuple(pair.gold for pair in pairs) if all((g == p) is same for g, p in found) else None


def truth_form(pairs: Sequence[Pair]) -> Fixed | None:
    values = _truths(pairs, same=True)
    return Fixed(values, "yes and no are written in other words") if values else None


def inverted(pairs: Sequence[Pair]) -> Fixed | None:
    values = _truths(pairs, same=False)
    return Fixed(values, "true and false are exchanged") if values else None
