"""Find the condition that separates some rows of a table from the others: the filter that is missing or superfluous.

The smallest condition on either side of the cut wins: one on a column (a value, a few, all but a few, a bound, a range, how texts begin,
end, or what they contain), one that compares two columns, then two joined by `and`. Each condition is as tight around its rows as possible,
so that two of them separate the rest wherever any two of their forms do. Bounds are the roundest number or date between the rows that meet
them and those that do not: what a person would have written.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import partial
from itertools import combinations
from math import exp, lgamma, log
from typing import Any, Final, NamedTuple

from evalsuite.analysis.causes.values import plain
from evalsuite.compare.strict_columns import key, place, read_columns
from evalsuite.compare.values import Cell
from evalsuite.core.dataclasses import dataclass
from evalsuite.core.import_ref import np
from evalsuite.core.scores import Table

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_PLACES: Final = 12


class Bound(NamedTuple):
    """A one-sided bound in words, as `at least '100'`: `edge` is the compared value, `inclusive` whether it meets the bound."""

    words: str
    edge: float
    inclusive: bool


def bound(edge: float, next_edge: float | None, text: str, *, up: bool, dated: bool) -> Bound:
    """Return `at least`, `more than`, `at most`, `less than` or `before` a number or a day.

    Args:
        edge: the outermost value that meets the bound.
        next_edge: the nearest value that does not meet it, None if there is none. A value in between is named if it has fewer digits.
        text: the outermost value as it is written.
        up: whether the bound is a lower one.
        dated: whether the values are days.

    Times are in nanoseconds since 1970.
    """
    at_edge = Bound(f"{'at least' if up else 'at most'} {text}", edge, inclusive=True)
    if next_edge is None:
        return at_edge
    if dated:
        moment = _round_moment(edge, next_edge, up=up)
        if moment is None:
            return at_edge
        return Bound(f"{'at least' if up else 'before'} '{moment.date().isoformat()}'", _nanoseconds(moment), inclusive=up)
    low, high = (Decimal(repr(value)) for value in sorted((edge, next_edge)))
    for exponent in range(_MOST_PLACES, -_MOST_PLACES, -1):
        step = Decimal(1).scaleb(exponent)
        least = (low / step).to_integral_value(ROUND_CEILING) * step
        if least > high:
            continue
        number = least if up else (high / step).to_integral_value(ROUND_FLOOR) * step
        if number == Decimal(repr(edge)):
            return at_edge
        return Bound(f"{'more than' if up else 'less than'} '{plain(number)}'", float(number), inclusive=False)
    return at_edge


def _nanoseconds(moment: datetime) -> float:
    return (moment - _EPOCH).total_seconds() * 1e9


def _round_moment(edge: float, next_edge: float, *, up: bool) -> datetime | None:
    """Return the first day of a year or a month, or a midnight, that separates the two: after the earlier one, not after the later one."""
    later, earlier = (max(edge, next_edge), min(edge, next_edge))
    try:
        day = (_EPOCH + timedelta(microseconds=later // 1000)).replace(hour=0, minute=0, second=0, microsecond=0)
    except OverflowError:
        return None
    for moment in (day.replace(month=1, day=1), day.replace(day=1), day):
        at = _nanoseconds(moment)
        if earlier < at and (at <= edge if up else at <= next_edge):
            return moment
    return None


MOST_VALUES: Final = 5
MOST_COMPARED: Final = 8
MOST_WORDS: Final = 20
LONGEST: Final = 60
# Conditions per column that are kept for pairs of two.
_EXCLUDED: Final = 3


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition that some rows meet and no others: `words` contain names of columns and values; `column` (from 0) is its first column.

    `size` counts the things it names; `chance` is how likely any such condition separates as many rows, taken at random, from the rest.
    `of_others`: the other rows meet it, and none of the rows in question.
    """

    column: int
    words: str
    size: int
    chance: float
    of_others: bool = False


@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition that all rows in question meet: `meets` (bool, one per row of the table), as tight as possible.

    `loosened` gets the other rows that it has to exclude, and returns its words and which rows of the table meet these words.
    `other_column` is the column that is compared with `column`, -1 for a comparison with values.
    """

    column: int
    size: int
    meets: Any
    loosened: Callable[[Any], tuple[str, Any]]
    other_column: int = -1


@dataclass(frozen=True, slots=True)
class _Column:
    """A column's cells as numbers: `codes` are equal if cells are equal, `places` are those of numbers and instants (NaN for others)."""

    name: str
    codes: Any
    places: Any
    null: int
    n_values: int
    raw: Sequence[Any]
    dated: bool


def predicate_of(table: Table, rows: Sequence[int], others: Sequence[int]) -> Predicate | None:
    """Return the smallest condition that all of `rows` meet and none of `others`, or the reverse; None if nothing separates them."""
    if not len(rows) or not len(others):
        return None
    columns = [_column_of(column.cells, table, k) for k, column in enumerate(read_columns(table, range(len(table.columns))))]
    row_array, other_array = (np.asarray(side, dtype=np.int64) for side in (rows, others))
    n, n_rows = len(rows), len(rows) + len(others)
    log_comb = lgamma(n_rows + 1) - lgamma(n + 1) - lgamma(n_rows - n + 1)
    separating: list[tuple[int, bool, int, int, str]] = []
    sides = [(False, row_array, other_array), (True, other_array, row_array)]
    all_conditions = []
    for of_others, own_rows, rest in sides:
        conditions = [condition for k, column in enumerate(columns) for condition in _conditions(k, column, own_rows, rest)]
        conditions += _comparisons(columns, own_rows)
        all_conditions.append(conditions)
        for condition in conditions:
            if not condition.meets[rest].any():
                words, meets = condition.loosened(rest)
                if meets[own_rows].all() and not meets[rest].any():
                    separating.append((condition.size, of_others, columns[condition.column].n_values, condition.column, words))
    # Roughly as many conditions of each form as there are values that n rows can share, on either side.
    n_tried = 2.0 * len(columns) * (n_rows // n + n_rows // max(1, n_rows - n) + 4)
    if not separating:
        for (of_others, own_rows, rest), conditions in zip(sides, all_conditions, strict=True):
            separating += ((size, of_others, 0, k, words) for size, k, words in _join_conditions(conditions, own_rows, rest))
        # Each pair of bounds, or of values of two columns.
        n_tried = (sum(column.n_values * (column.n_values + 1.0) for column in columns)) ** 2
    if not separating:
        return None
    size, of_others, _, k, words = min(separating)
    return Predicate(k, words, size, exp(min(0.0, log(n_tried * size) - log_comb)), of_others)


def _column_of(cells: Sequence[Cell], table: Table, k: int) -> _Column:
    code_of: dict[Any, int] = {}
    codes = np.fromiter((code_of.setdefault(key(cell), len(code_of)) for cell in cells), dtype=np.int64, count=len(cells))
    ordered = (cell[1] if isinstance(cell, tuple) and cell[0] == "instant" else place(cell) for cell in cells)
    places = np.fromiter((np.nan if at is None else float(at) for at in ordered), dtype=np.float64, count=len(cells))
    dated = any(isinstance(cell, tuple) and cell[0] == "instant" for cell in cells[:100])
    return _Column(table.header[k], codes, places, code_of.get(key(None), -1), len(code_of), table.columns[k], dated)


def _conditions(k: int, column: _Column, rows: Any, others: Any) -> Iterator[_Condition]:
    """Yield the tightest conditions of each form on one column that all of `rows` meet."""
    values, firsts = np.unique(column.codes[rows], return_index=True)
    yield from _value_lists(k, column, values, rows[np.sort(firsts)], len(rows))
    if column.null >= 0 and column.null not in values:
        yield from _fixed_condition(k, 2, column.codes != column.null, f"{column.name!r} is not NULL")
    yield from _exclusions(k, column, values, others)
    yield from _bounds(k, column, rows)
    if column.null not in values:
        yield from _text_conditions(k, column, rows)


def _value_lists(k: int, column: _Column, values: Any, firsts: Any, n_rows: int) -> Iterator[_Condition]:
    """Yield that the column is the value, or one of the few values, of n rows; `firsts` are the rows in which these values occur first."""
    # A list of values that are unique per row is not a condition.
    if len(values) == 1 or 2 * len(values) <= min(n_rows, 2 * MOST_VALUES):
        listing = _list_values(column.raw[row] for row in firsts)
        words = f"{column.name!r} is {listing}" if len(values) == 1 else f"{column.name!r} is one of {listing}"
        yield from _fixed_condition(k, 1 if len(values) == 1 else len(values) + 1, np.isin(column.codes, values), listing and words)


def _exclusions(k: int, column: _Column, values: Any, others: Any) -> Iterator[_Condition]:
    """Yield that the column is none of the few values that only the other rows have; if they are many, not one of the most frequent."""
    name, raw, codes = repr(column.name), column.raw, column.codes
    shut_out, first, counts = np.unique(codes[others], return_index=True, return_counts=True)
    absent = ~np.isin(shut_out, values) & (shut_out != column.null)
    if not absent.any():
        return
    if absent.sum() == 1 or 2 * absent.sum() <= min(counts[absent].sum(), 2 * MOST_VALUES):
        listing, many = _list_values(raw[row] for row in others[np.sort(first[absent])]), int(absent.sum())
        words = f"{name} is not {listing}" if many == 1 else f"{name} is none of {listing}"
        yield from _fixed_condition(k, many + (1 if many == 1 else 2), ~np.isin(codes, shut_out[absent]), listing and words)
    else:
        for at in [int(at) for at in np.argsort(-counts) if absent[at]][:_EXCLUDED]:
            listing = _list_values([raw[others[first[at]]]])
            yield from _fixed_condition(k, 2, codes != shut_out[at], listing and f"{name} is not {listing}")


def _bounds(k: int, column: _Column, rows: Any) -> Iterator[_Condition]:
    """Yield at least the lowest, at most the highest, or between the two, if all rows are numbers or all are times."""
    places, name = column.places, repr(column.name)
    row_places = places[rows]
    if np.isnan(row_places).any():
        return
    low_row, high_row = int(rows[row_places.argmin()]), int(rows[row_places.argmax()])
    above, below = places >= places[low_row], places <= places[high_row]

    if not (_list_values([column.raw[low_row]]) and _list_values([column.raw[high_row]])):
        return

    def side(rest: Any, *, up: bool) -> tuple[str, Any]:
        rest_places = places[rest]
        rest_places = rest_places[~np.isnan(rest_places)]
        rest_places = rest_places[rest_places < places[low_row]] if up else rest_places[rest_places > places[high_row]]
        nearest = None if not len(rest_places) else float(rest_places.max() if up else rest_places.min())
        row = low_row if up else high_row
        words, edge, inclusive = bound(float(places[row]), nearest, _list_values([column.raw[row]]), up=up, dated=column.dated)
        further = places > edge if up else places < edge
        return words, further | (places == edge) if inclusive else further

    def one_side(rest: Any, *, up: bool) -> tuple[str, Any]:
        words, meets = side(rest, up=up)
        return f"{name} is {words}", meets

    def both_sides(rest: Any) -> tuple[str, Any]:
        (low, least), (high, most) = side(rest, up=True), side(rest, up=False)
        return f"{name} is {low} and {high}", least & most

    yield _Condition(k, 2, above, partial(one_side, up=True))
    yield _Condition(k, 2, below, partial(one_side, up=False))
    yield _Condition(k, 4, above & below, both_sides)


def _text_conditions(k: int, column: _Column, rows: Any) -> Iterator[_Condition]:
    """Yield how all the texts begin or end, or a word that all of them contain."""
    texts = [str(value) for value in column.raw]
    row_texts = list(dict.fromkeys(texts[row] for row in rows))
    in_words = column.dated or not all(text.strip()[:1].isdigit() for text in row_texts)
    if len(row_texts) < 2 or not in_words:
        return
    for part, verb, test in _shared_parts(row_texts):
        meets = np.fromiter((test(text, part) for text in texts), dtype=bool, count=len(texts))
        yield from _fixed_condition(k, 3, meets, f"{column.name!r} {verb} {part!r}" if len(part) <= LONGEST else "")


def _shared_parts(texts: Sequence[str]) -> Iterator[tuple[str, str, Callable[[str, str], bool]]]:
    """Yield (part, verb, test) of the beginning, the end and the words that all the texts share."""
    if start := _shared_start(texts):
        yield start, "begins with", str.startswith
    if turned := _shared_start([text[::-1] for text in texts]):
        yield turned[::-1], "ends with", str.endswith
    words = [word for word in dict.fromkeys(texts[0].split()) if all(word in text for text in texts)]
    for word in words[:MOST_WORDS]:
        yield word, "contains", str.__contains__


def _shared_start(texts: Sequence[str]) -> str:
    """Return the longest text with which all of them begin."""
    least, most = min(texts), max(texts)
    n = next((i for i, (a, b) in enumerate(zip(least, most, strict=False)) if a != b), min(len(least), len(most)))
    return least[:n]


def _comparisons(columns: Sequence[_Column], rows: Any) -> Iterator[_Condition]:
    """Yield the relations between two columns of numbers, or of times, that hold in all the rows."""
    ordered = [k for k, column in enumerate(columns) if not np.isnan(column.places[rows]).any()][:MOST_COMPARED]
    for k, m in combinations(ordered, 2):
        a, b = columns[k], columns[m]
        if a.dated != b.dated:
            continue
        tests = {
            "is less than": a.places < b.places,
            "is more than": a.places > b.places,
            "is at most": a.places <= b.places,
            "is at least": a.places >= b.places,
            "is": a.places == b.places,
            "is not": ~np.isnan(a.places) & ~np.isnan(b.places) & (a.places != b.places),
        }
        for verb, meets in tests.items():
            if meets[rows].all():
                yield from _fixed_condition(k, 3, meets, f"{a.name!r} {verb} column {b.name!r}", m)


def _join_conditions(conditions: Sequence[_Condition], rows: Any, others: Any) -> Iterator[tuple[int, int, str]]:
    """Return (size, first column, words) of the smallest pair of conditions that none of the others meets."""
    rests = [condition.meets[others] for condition in conditions]
    best: tuple[int, int, int] | None = None
    for i, j in combinations(range(len(conditions)), 2):
        size = conditions[i].size + conditions[j].size + 1
        are_of_other_columns = (conditions[i].column, conditions[i].other_column) != (conditions[j].column, conditions[j].other_column)
        if are_of_other_columns and (best is None or size < best[0]) and not (rests[i] & rests[j]).any():
            best = size, i, j
    if best is None:
        return
    size, i, j = best
    # The second condition has to exclude the rows that the words of the first allow.
    first, meets = conditions[i].loosened(others[rests[j]])
    second, also = conditions[j].loosened(others[meets[others]])
    meets = meets & also
    if meets[rows].all() and not meets[others].any():
        yield size, conditions[i].column, f"{first} and {second}"


def _fixed_condition(k: int, size: int, meets: Any, words: str, other_column: int = -1) -> Iterator[_Condition]:
    """Yield a condition with fixed words; nothing if there are no words."""
    if words:
        yield _Condition(k, size, meets, lambda _: (words, meets), other_column)


def _list_values(values: Iterable[Any]) -> str:
    """Return the values one by one, empty if one of them is too long."""
    texts = ["NULL" if value in (None, "") else repr(str(value)) for value in values]
    return "" if any(len(text) > LONGEST for text in texts) else ", ".join(texts)
