"""The smallest wrong answers that people hand in: the last digit, one more, one row short in a sum, two labels exchanged."""

import random
import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
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
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")


def small_changes(pair: TablePair, columns: Sequence[int], random_: random.Random) -> Iterator[Edit]:
    """Each small change in one cell of the columns that allow it, and two labels of columns of numbers exchanged."""
    native, n = pair.gold.types is not None, pair.gold.n_rows
    rows = random_.sample(range(n), min(n, _LOOKED_AT))
    shuffled = random_.sample(list(columns), len(columns))
    cells = [(k, row, value) for k in shuffled for row in rows if (value := number(pair.gold.columns[k][row], native=native)) is not None]
    # Where a column is judged more leniently, by a share or by a distance, the cell that changes least by that shows it.
    lenient = {k: pair.terms.tolerance(pair.gold, k) for k in shuffled}
    cells.sort(key=lambda cell: (not (lenient[cell[0]].rel or lenient[cell[0]].abs), _coarse(cell[2], by_share=lenient[cell[0]].rel > 0)))
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


def _coarse(value: Decimal, *, by_share: bool) -> Decimal | int:
    """What orders numbers by how little the smallest change of one is, by its share or by its distance."""
    return -abs(value) if by_share else -decimals(value)


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


def small_leaves(places: Sequence[tuple[Any, Any]], random_: random.Random) -> Iterator[tuple[str, Any, Any, float | None]]:
    """(kind, place, new value, size) of the smallest change of each of some leaves: a digit, one more, a letter, the other truth."""
    for place, value in random_.sample(list(places), len(places)):
        if isinstance(value, bool):
            yield "inverted", place, not value, None
        elif (found := number(value, native=True)) is not None:
            for kind in ("last digit", "plus one", "plus one on x.0"):
                if (new := _changed(kind, found)) is not None:
                    yield kind, place, _written(new, value), size_of(found, new)
                    break
        elif isinstance(value, str) and (later := _next_day(value)):
            yield "off by one day", place, later, None
        elif isinstance(value, str) and value[-1:].isalnum():
            yield (
                "one letter",
                place,
                value[:-1] + next(sign for sign in ("12" if value[-1].isdigit() else "ab") if sign != value[-1].lower()),
                None,
            )


def _next_day(text: str) -> str:
    """The day after one that is written as 2024-05-31, empty for every other text."""
    try:
        return (date.fromisoformat(text) + timedelta(days=1)).isoformat() if _DAY.fullmatch(text) else ""
    except (ValueError, OverflowError):
        return ""


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
