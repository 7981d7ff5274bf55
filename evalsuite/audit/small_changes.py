"""The smallest wrong answers that people hand in: the last digit, one more, one row short in a sum, two labels exchanged."""

import random
from collections.abc import Iterator, Sequence
from decimal import ROUND_DOWN, Decimal
from typing import Any, Final

from evalsuite.audit.made_answers import Edit, Made
from evalsuite.causes.table_pairs import TablePair
from evalsuite.causes.value_pairs import decimals, number, plain, write_number
from evalsuite.tables.strict_columns import labels

# More decimals are noise of a float, and no digits that were meant to be shown.
MOST_PLACES: Final = 6
# One row of a thousand is missing from a sum.
SHORT: Final = Decimal("0.999")
_LOOKED_AT: Final = 50


def small_changes(pair: TablePair, columns: Sequence[int], random_: random.Random) -> Iterator[Edit]:
    """Each small change in one cell of the columns that allow it, and two labels of columns of numbers exchanged."""
    native, n = pair.gold.types is not None, pair.gold.n_rows
    rows = random_.sample(range(n), min(n, _LOOKED_AT))
    shuffled = random_.sample(list(columns), len(columns))
    cells = [(k, row, value) for k in shuffled for row in rows if (value := number(pair.gold.columns[k][row], native=native)) is not None]
    for kind in ("last digit", "plus one", "plus one on x.0", "one row short in a sum"):
        changed = next(((k, row, value, new) for k, row, value in cells if (new := _changed(kind, value)) is not None), None)
        if changed is not None:
            k, row, value, new = changed
            written = _written(new, pair.gold.columns[k][row])
            yield Edit(kind=kind, cells={k: {row: written}}, size=size_of(value, new))
    header = list(pair.gold.header)
    # A name that is made up, or stands twice, says nothing.
    said = labels(header, header)
    numeric = [k for k in dict.fromkeys(k for k, _, _ in cells) if said[k] is not None]
    if len(numeric) > 1:
        a, b = numeric[:2]
        header[a], header[b] = header[b], header[a]
        yield Edit(kind="labels exchanged", header=header)


def small_numbers(golds: Sequence[Decimal], *, every: bool) -> Iterator[Made]:
    """The same of numbers in a text, where each of them allows it; and whole golds inside a longer number, as `-10,000` for 10."""
    for kind in ("last digit", "plus one"):
        pairs = [(gold, new) for gold in golds[: None if every else 1] if (new := _changed(kind, gold)) is not None and new not in golds]
        if pairs and len(pairs) == (len(golds) if every else 1):
            sizes = [size_of(*pair) or 0.0 for pair in pairs]
            yield Made(kind=kind, right=False, value=" and ".join(_written(new, str(old)) for old, new in pairs), size=max(sizes))
    own = golds if every else golds[:1]
    if all(gold == gold.to_integral_value() and 1 <= gold < 1000 for gold in own) and not any(-1000 * gold in golds for gold in own):
        yield Made(kind="inside a longer number", right=False, value=" and ".join(f"-{int(gold)},000" for gold in own))


def _changed(kind: str, value: Decimal) -> Decimal | None:
    """The number after the change; None where it does not allow it."""
    places, whole = decimals(value), value == value.to_integral_value()
    if kind == "last digit":
        return value + Decimal(1).scaleb(-places) if 1 <= places <= MOST_PLACES and not whole else None
    if kind == "plus one":
        return value + 1 if whole and not places else None
    if kind == "plus one on x.0":
        return value + 1 if whole and places else None
    if abs(value) < 100 or places > MOST_PLACES:
        return None
    short = (value * SHORT).quantize(Decimal(1).scaleb(-places), ROUND_DOWN)
    return short if short != value else None


def size_of(value: Decimal, new: Decimal) -> float | None:
    """By which share of itself a number changed; None for one that was 0."""
    return float(abs(new - value) / abs(value)) if value else None


def _written(new: Decimal, like: Any) -> Any:
    """The number in the form of `like`, with as many decimals where that is a text."""
    if not isinstance(like, str):
        return write_number(new, like)
    places = len(like.strip().partition(".")[2])
    return f"{new:.{places}f}" if places and like.strip().replace(".", "").lstrip("-+").isdigit() else plain(new)
