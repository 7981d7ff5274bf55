"""Which condition tells some rows of a table from the others: what a filter that was dropped, or one too many, says.

The smallest is looked for on either side of the cut: one on a column (a value, a few, all but a few, a bound, a range, how texts begin, end
or what they hold), one that compares two columns, then two such joined by `and`. Each is drawn as tightly around its rows as it can be, so
that two of them tell the rest apart wherever any two of their forms do.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, lgamma, log
from typing import Any, Final

from evalsuite.causes.thresholds import bound
from evalsuite.tables.outlines import place
from evalsuite.tables.strict_cells import Cell, key
from evalsuite.tables.strict_columns import read_columns
from evalsuite.types import Table

MOST_VALUES: Final = 5
MOST_COMPARED: Final = 8
MOST_WORDS: Final = 20
LONGEST: Final = 60
# Conditions of a column that are kept for a pair of two.
_EXCLUDED: Final = 3


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition that some rows meet and no other: `words` say it, with names of columns and values; `column` (from 0) is its first.

    `size` counts what it has to name; `chance` is how likely any such condition tells as many rows, taken at random, from the rest.
    `of_others`: it is the other rows that meet it, and none of the rows asked about.
    """

    column: int
    words: str
    size: int
    chance: float
    of_others: bool = False


@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition that all rows in question meet: `meets` (bool, one a row of the table), `words` of it where it shuts out some others.

    `beside` is the column that is compared with `column`, -1 where values are.
    """

    column: int
    size: int
    meets: Any
    words: Callable[[Any], str]
    beside: int = -1


@dataclass(frozen=True, slots=True)
class _Column:
    """A column's cells as numbers: `codes` are equal where cells are, `places` are those of numbers and instants (NaN for others)."""

    name: str
    codes: Any
    places: Any
    null: int
    n_values: int
    raw: Sequence[Any]
    dated: bool


def predicate_of(table: Table, rows: Sequence[int], others: Sequence[int]) -> Predicate | None:
    """The smallest condition that all of `rows` meet and none of `others`, or the other way round; None where nothing tells them apart."""
    import numpy as np

    if not len(rows) or not len(others):
        return None
    columns = [_column_of(column.cells, table, k) for k, column in enumerate(read_columns(table, range(len(table.columns))))]
    inside, beyond = (np.asarray(side, dtype=np.int64) for side in (rows, others))
    n, n_rows = len(rows), len(rows) + len(others)
    log_comb = lgamma(n_rows + 1) - lgamma(n + 1) - lgamma(n_rows - n + 1)
    found: list[tuple[int, bool, int, int, str]] = []
    sides = [(False, inside, beyond), (True, beyond, inside)]
    all_conditions = []
    for of_others, own, rest in sides:
        conditions = [one for k, column in enumerate(columns) for one in _conditions(k, column, own, rest)]
        conditions += _comparisons(columns, own)
        all_conditions.append(conditions)
        for one in conditions:
            if not one.meets[rest].any():
                found.append((one.size, of_others, columns[one.column].n_values, one.column, one.words(rest)))
    # About as many conditions of each form as there are values that n rows can share, on either side.
    n_tried = 2.0 * len(columns) * (n_rows // n + n_rows // max(1, n_rows - n) + 4)
    if not found:
        for (of_others, _, rest), conditions in zip(sides, all_conditions, strict=True):
            found += ((size, of_others, 0, k, words) for size, k, words in _joined(conditions, rest))
        # Each pair of bounds or values of two columns.
        n_tried = (sum(column.n_values * (column.n_values + 1.0) for column in columns)) ** 2
    if not found:
        return None
    size, of_others, _, k, words = min(found)
    return Predicate(k, words, size, exp(min(0.0, log(n_tried * size) - log_comb)), of_others)


def _column_of(cells: Sequence[Cell], table: Table, k: int) -> _Column:
    import numpy as np

    known: dict[Any, int] = {}
    codes = np.fromiter((known.setdefault(key(cell), len(known)) for cell in cells), dtype=np.int64, count=len(cells))
    places = np.fromiter((_ordered(cell) for cell in cells), dtype=np.float64, count=len(cells))
    dated = any(isinstance(cell, tuple) and cell[0] == "instant" for cell in cells[:100])
    return _Column(table.header[k], codes, places, known.get(key(None), -1), len(known), table.columns[k], dated)


def _ordered(cell: Cell) -> float:
    """Where a number or an instant stands among its like, NaN for anything else."""
    if isinstance(cell, tuple) and cell[0] == "instant":
        return float(cell[1])
    at = place(cell)
    return float("nan") if at is None else at


def _conditions(k: int, column: _Column, rows: Any, others: Any) -> Iterator[_Condition]:
    """The tightest conditions of each form on one column that all of `rows` meet."""
    import numpy as np

    name, raw, codes = repr(column.name), column.raw, column.codes
    values, firsts = np.unique(codes[rows], return_index=True)
    # A few values of rows that have one each are no condition.
    if len(values) == 1 or 2 * len(values) <= min(len(rows), 2 * MOST_VALUES):
        shown = ", ".join(_shown(raw[row]) for row in rows[np.sort(firsts)])
        words = f"{name} is {shown}" if len(values) == 1 else f"{name} is one of {shown}"
        yield _Condition(k, 1 if len(values) == 1 else len(values) + 1, np.isin(codes, values), _as_it_is(words))
    if column.null >= 0 and column.null not in values:
        yield _Condition(k, 2, codes != column.null, _as_it_is(f"{name} is not NULL"))
    shut_out, first, counts = np.unique(codes[others], return_index=True, return_counts=True)
    absent = ~np.isin(shut_out, values) & (shut_out != column.null)
    if absent.sum() == 1 or 0 < 2 * absent.sum() <= min(counts[absent].sum(), 2 * MOST_VALUES):
        texts = ", ".join(_shown(raw[row]) for row in others[np.sort(first[absent])])
        many = int(absent.sum())
        lacking = f"{name} is not {texts}" if many == 1 else f"{name} is none of {texts}"
        yield _Condition(k, many + (1 if many == 1 else 2), ~np.isin(codes, shut_out[absent]), _as_it_is(lacking))
    elif absent.any():
        for at in [int(at) for at in np.argsort(-counts) if absent[at]][:_EXCLUDED]:
            text = _shown(raw[others[first[at]]])
            yield _Condition(k, 2, codes != shut_out[at], _as_it_is(f"{name} is not {text}"))
    yield from _bounds(k, column, rows)
    if column.null not in values:
        yield from _text_conditions(k, column, rows)


def _bounds(k: int, column: _Column, rows: Any) -> Iterator[_Condition]:
    """At least the lowest, at most the highest, or between the two; where all rows are numbers, or all are times."""
    import numpy as np

    places, name = column.places, repr(column.name)
    own = places[rows]
    if np.isnan(own).any():
        return
    low_row, high_row = int(rows[own.argmin()]), int(rows[own.argmax()])
    above, below = places >= places[low_row], places <= places[high_row]

    def side(rest: Any, *, up: bool) -> str:
        beyond = places[rest]
        beyond = beyond[~np.isnan(beyond)]
        beyond = beyond[beyond < places[low_row]] if up else beyond[beyond > places[high_row]]
        nearest = None if not len(beyond) else float(beyond.max() if up else beyond.min())
        row = low_row if up else high_row
        return bound(float(places[row]), nearest, _shown(column.raw[row]), up=up, dated=column.dated)

    yield _Condition(k, 2, above, lambda rest: f"{name} is {side(rest, up=True)}")
    yield _Condition(k, 2, below, lambda rest: f"{name} is {side(rest, up=False)}")
    yield _Condition(k, 4, above & below, lambda rest: f"{name} is {side(rest, up=True)} and {side(rest, up=False)}")


def _text_conditions(k: int, column: _Column, rows: Any) -> Iterator[_Condition]:
    """How all the texts begin or end, or a word that all of them hold."""
    import numpy as np

    texts = [str(value) for value in column.raw]
    own = list(dict.fromkeys(texts[row] for row in rows))
    in_words = column.dated or not all(text.strip()[:1].isdigit() for text in own)
    if len(own) < 2 or not in_words:
        return
    name, least, most = repr(column.name), min(own), max(own)
    n = next((i for i, (a, b) in enumerate(zip(least, most, strict=False)) if a != b), min(len(least), len(most)))
    turned = [text[::-1] for text in own]
    low, high = min(turned), max(turned)
    m = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    candidates: list[tuple[str, str, Callable[[str, str], bool]]] = [(least[:n], "begins with", str.startswith)] if n else []
    candidates += [(low[:m][::-1], "ends with", str.endswith)] if m else []
    words = [word for word in dict.fromkeys(own[0].split()) if all(word in text for text in own)]
    candidates += [(word, "holds", str.__contains__) for word in words[:MOST_WORDS]]
    for part, verb, test in candidates:
        meets = np.fromiter((test(text, part) for text in texts), dtype=bool, count=len(texts))
        yield _Condition(k, 3, meets, _as_it_is(f"{name} {verb} {_shown(part)}"))


def _comparisons(columns: Sequence[_Column], rows: Any) -> Iterator[_Condition]:
    """What holds between two columns of numbers, or of times, in all the rows."""
    import numpy as np

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
                yield _Condition(k, 3, meets, _as_it_is(f"{a.name!r} {verb} {b.name!r}"), m)


def _joined(conditions: Sequence[_Condition], others: Any) -> Iterator[tuple[int, int, str]]:
    """(size, first column, words) of the smallest pair of conditions that none of the others meets."""
    left = [one.meets[others] for one in conditions]
    best: tuple[int, int, int] | None = None
    for i, j in combinations(range(len(conditions)), 2):
        size = conditions[i].size + conditions[j].size + 1
        apart = (conditions[i].column, conditions[i].beside) != (conditions[j].column, conditions[j].beside)
        if apart and (best is None or size < best[0]) and not (left[i] & left[j]).any():
            best = size, i, j
    if best is not None:
        size, i, j = best
        words = conditions[i].words(others[left[j]]), conditions[j].words(others[left[i]])
        yield size, conditions[i].column, " and ".join(words)


def _as_it_is(words: str) -> Callable[[Any], str]:
    """The words of a condition that does not depend on what it shuts out."""
    return lambda _: words


def _shown(value: Any) -> str:
    text = "NULL" if value in (None, "") else repr(str(value))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
