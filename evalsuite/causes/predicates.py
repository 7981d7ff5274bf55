"""Which condition on one column tells some rows of a table from the others: what a filter that was dropped, or one too many, says."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any, Final

from evalsuite.tables.outlines import place
from evalsuite.tables.strict_cells import Cell, key
from evalsuite.tables.strict_columns import read_columns
from evalsuite.types import Table

MOST_VALUES: Final = 3
LONGEST: Final = 60


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition on column `column` (from 0) that some rows meet and no other: `words` say it, with the column's name and values.

    `size` counts what it has to name; `chance` is how likely any such condition tells as many rows, taken at random, from the rest.
    """

    column: int
    words: str
    size: int
    chance: float


def predicate_of(table: Table, rows: Sequence[int], others: Sequence[int]) -> Predicate | None:
    """The smallest condition that all of `rows` meet and none of `others`, None where no column tells them apart.

    Looked for are a value, one of up to three, everything but a value, and numbers or dates at a side of the others or between two.
    """
    if not rows or not others:
        return None
    found: list[tuple[int, int, int, str]] = []
    for k, column in enumerate(read_columns(table, range(len(table.columns)))):
        n_values = len({key(cell) for cell in column.cells})
        raw = table.columns[k]
        for size, words in _conditions(column.cells, raw, rows, others):
            found.append((size, n_values, k, f"{table.header[k]!r} {words}"))
    if not found:
        return None
    size, _, k, words = min(found)
    n, n_rows = len(rows), len(rows) + len(others)
    # About as many conditions of each form as there are values that n rows can share, on either side.
    n_tried = len(table.columns) * (n_rows // n + n_rows // max(1, n_rows - n) + 4) * size
    return Predicate(k, words, size, min(1.0, n_tried / comb(n_rows, n)))


def _conditions(cells: Sequence[Cell], raw: Sequence[Any], rows: Sequence[int], others: Sequence[int]) -> Iterator[tuple[int, str]]:
    """(size, words) of each condition on one column."""
    inside = {key(cells[row]): row for row in rows}
    beyond = {key(cells[row]): row for row in others}
    if not inside.keys() & beyond.keys():
        if len(inside) == 1:
            yield 1, f"is {_shown(raw[rows[0]])}"
        elif len(beyond) == 1:
            yield 2, f"is not {_shown(raw[others[0]])}"
        elif len(inside) <= MOST_VALUES:
            yield len(inside) + 1, f"is one of {', '.join(_shown(raw[row]) for row in inside.values())}"
    sides = [[(at, row) for row in side if (at := _ordered(cells[row])) is not None] for side in (rows, others)]
    if len(sides[0]) < len(rows) or not sides[1]:
        return
    (low, low_row), (high, high_row) = min(sides[0]), max(sides[0])
    if low > max(sides[1])[0]:
        yield 2, f"is at least {_shown(raw[low_row])}"
    elif high < min(sides[1])[0]:
        yield 2, f"is at most {_shown(raw[high_row])}"
    elif not any(low <= at <= high for at, _ in sides[1]):
        yield 4, f"lies between {_shown(raw[low_row])} and {_shown(raw[high_row])}"


def _ordered(cell: Cell) -> float | None:
    """Where a number or an instant stands among its like, None for anything else."""
    if isinstance(cell, tuple) and cell[0] == "instant":
        return float(cell[1])
    return place(cell)


def _shown(value: Any) -> str:
    text = "NULL" if value in (None, "") else repr(str(value))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
