"""Lint of order: rows that must stand as gold has them, though nothing says how ties are broken."""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any

from evalsuite.tables.strict_cells import read_native, read_text
from evalsuite.texts.numbers import Number
from evalsuite.trust.lint.book import Found, GoldTable, Kind

# With fewer rows a column is in order by chance too often.
FEWEST_ROWS = 4
# Nobody sorts by more columns than these, and trying all would take for ever on wide tables.
MOST_KEYS = 4
_CALENDAR = (
    ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    ("mon", "tue", "wed", "thu", "fri", "sat", "sun"),
)


def ties(table: GoldTable) -> Iterator[Found]:
    """An order that a person can name but not repeat: sorted by a column with ties, which nothing breaks."""
    if not table.ordered or table.table.n_rows < FEWEST_ROWS or table.spot.check.parameters.get("order_by"):
        return
    ranks = [rank for index in table.needed if (rank := _ranks(table, index)) is not None]
    rows = list(zip(*ranks, strict=True)) if ranks else []
    if not rows or len(set(rows)) < 2:
        return
    # A column of one value is in order and says nothing.
    sorted_by = [at for at, column in enumerate(ranks) if len(set(column)) > 1 and _direction(column)]
    if not sorted_by:
        message = "the order of the rows counts, and no needed column is in order"
        yield table.found("no-order", message, hint="does the question say how to sort?")
        return
    if any(_explained(rows, at, list(range(len(rows)))) for at in sorted_by):
        return
    index = table.needed[sorted_by[0]]
    message = f"the order of the rows counts; {table.column(index)} is in order but has ties, and nothing says how they stand"
    line = f'add "order_by": [{index}] to the parameters' if table.spot.check.scorer == "table_match" else "set ignore_orders"
    yield table.found("order-ties", message, hint=f"{line}, or break the ties in the question")


def _ranks(table: GoldTable, index: int) -> list[int] | None:
    """The cells of a column as ranks among themselves, empty ones first; None where they cannot be put in order."""
    read = read_text if table.is_csv else read_native
    cells = [read(cell) for cell in table.table.columns[index]]
    keys = [_key(cell) for cell in cells]
    for names in _CALENDAR:
        if all(key[0] == 2 and str(key[1][1])[:3].lower() in names for key in keys):
            return [names.index(str(key[1][1])[:3].lower()) for key in keys]
    try:
        order = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    except TypeError:
        return None
    return [order[key] for key in keys]


def _key(cell: Any) -> tuple[int, Any]:
    if cell is None:
        return (0, 0)
    if isinstance(cell, int | Number):
        return (1, cell if isinstance(cell, int) else cell.exact)
    return (2, (str(cell[0]), cell[1]))


def _direction(ranks: Sequence[int]) -> int:
    """1 for a column in rising order, -1 for a falling one, 0 for neither; equal neighbours do not matter."""
    pairs = list(pairwise(ranks))
    if all(x <= y for x, y in pairs):
        return 1
    return -1 if all(x >= y for x, y in pairs) else 0


def _explained(rows: Sequence[tuple[int, ...]], by: int, group: Sequence[int], used: frozenset[int] = frozenset()) -> bool:
    """Whether sorting a group of rows by column `by`, then by others, gives their order; equal rows have no order to explain."""
    column = [rows[at][by] for at in group]
    if not _direction(column):
        return False
    used |= {by}
    # In order, equal values stand together.
    tied = [list(part) for _, part in groupby(group, key=lambda at: rows[at][by])]
    open_ = [part for part in tied if len({rows[at] for at in part}) > 1]
    if not open_:
        return True
    others = [other for other in range(len(rows[0])) if other not in used] if len(used) < MOST_KEYS else []
    return any(all(_explained(rows, other, part, used) for part in open_) for other in others)


PER_TABLE = {
    "order-ties": Kind("warning", ties, "the order of rows counts, and ties in it are broken by nothing"),
    "no-order": Kind("note", ties, "the order of rows counts, and no column is in order"),
}
