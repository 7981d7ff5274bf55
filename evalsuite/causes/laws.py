"""The laws of wrong values: each says of (gold, predicted) pairs whether one simple thing made all of them wrong, and undoes it.

`fix` gets the pairs of one column (or text, or tree) that differ, and gives back what each prediction becomes when the thing is undone,
or None where the law does not hold for every pair. `plant` does the opposite to one gold value, or gives None where it cannot.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from evalsuite.causes.lost_digits import lost_digits
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
    """A cause by name: `says` is its sentence; `fix` undoes it; `plant` makes gold wrong; a `partial` one leaves some cells right.

    `scope` gets the pairs of a column that are right, and says which of its cells were made wrong, empty where that has no name.
    """

    name: str
    says: str
    fix: Callable[[Sequence[Pair]], Fixed | None]
    plant: Plant | None = None
    partial: bool = False
    scope: Callable[[Sequence[Pair]], str] | None = None


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


def null_and_zero(pairs: Sequence[Pair]) -> Fixed | None:
    """0 or false where gold is NULL, or NULL where gold is 0."""
    words = dict[str, None]()
    for pair in pairs:
        gold, predicted = is_null(pair.gold, native=pair.native), is_null(pair.predicted, native=pair.native)
        if gold and (pair.predicted_number == 0 or pair.predicted is False):
            words[f"{'false' if pair.predicted is False else '0'} stands where gold is NULL"] = None
        elif predicted and pair.gold_number == 0:
            words["NULL stands where gold is 0"] = None
        else:
            return None
    return Fixed(tuple(pair.gold for pair in pairs), ", ".join(words))


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
    exact, shown = list[Decimal](), list[Decimal]()
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
        exact.append(gold)
        shown.append(read[0])
    says = f"the numbers are written {' or '.join(ways)}"
    if all(nearly(a, b) for a, b in zip(exact, shown, strict=True)):
        return Fixed(tuple(values), says)
    lost = lost_digits(exact, shown)
    return Fixed(tuple(values), f"{says}, and are {lost}") if lost else None


def stored_as_text(pairs: Sequence[Pair]) -> Fixed | None:
    """Values of a database as their texts, or texts as values."""
    sides = {(isinstance(pair.gold, str), isinstance(pair.predicted, str)) for pair in pairs}
    if len(sides) != 1 or not all(map(_is_same_as_text, pairs)):
        return None
    says = "values are stored as text" if sides == {(False, True)} else "texts are stored as values of another type"
    return Fixed(tuple(pair.gold for pair in pairs), says)


def _is_same_as_text(pair: Pair) -> bool:
    if not pair.native or isinstance(pair.predicted, str) == isinstance(pair.gold, str) or pair.gold is None or pair.predicted is None:
        return False
    a, b = (Pair(str(value), str(value)) for value in (pair.gold, pair.predicted))
    x, y = a.gold_number, b.gold_number
    if x is not None and y is not None:
        # Whole numbers have no noise of floats.
        is_whole = x == x.to_integral_value() and y == y.to_integral_value()
        return x == y or (nearly(x, y) and not is_whole)
    moments = instant(str(pair.gold), native=False), instant(str(pair.predicted), native=False)
    if moments[0] is not None and moments[0] == moments[1]:
        return True
    return str(pair.gold).casefold() == str(pair.predicted).casefold()


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
