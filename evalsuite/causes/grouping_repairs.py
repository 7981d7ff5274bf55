"""Numbers grouped at another level than gold's: more finely, or more coarsely. See `row_repairs` for the form of a repair."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from evalsuite.causes.row_repairs import Repaired, gold_header, with_rows
from evalsuite.causes.table_alignment import Alignment
from evalsuite.causes.value_pairs import nearly, number, write_number

_TOGETHER: Final[dict[str, Callable[[Sequence[Decimal]], Decimal]]] = {"sum": sum, "maximum": max, "minimum": min}  # type: ignore[dict-item]
Groups = dict[tuple[Any, ...], list[int]]


def wrong_level(a: Alignment) -> Iterator[Repaired]:
    """An answer whose groups make up gold's, or are made up of gold's: each number the sum, the largest or the smallest of a group."""
    n_gold, n_own = a.gold.n_rows, a.prediction.n_rows
    if not n_gold or not n_own or n_gold == n_own:
        return
    by = [(j, k) for j, k in enumerate(a.partners) if k is not None and set(a.columns.gold_bags[j]) == set(a.columns.predicted_bags[k])]
    numbers = [(j, k) for j, k in enumerate(a.partners) if k is not None and (j, k) not in by]
    golds, own = _groups(a.columns.gold_keys, [j for j, _ in by], n_gold), _groups(a.columns.predicted_keys, [k for _, k in by], n_own)
    fine, coarse = (own, golds) if n_own > n_gold else (golds, own)
    if (
        not numbers
        or golds.keys() != own.keys()
        or any(len(rows) > 1 for rows in coarse.values())
        or not any(len(r) > 1 for r in fine.values())
    ):
        return
    cells: dict[int, list[Any]] = {}
    ways = dict[str, None]()
    for j, k in numbers:
        sides = a.prediction.columns[k], a.gold.columns[a.needed[j]]
        way = _way(sides if n_own > n_gold else sides[::-1], fine, coarse, native=a.native)
        if way is None:
            return
        ways[way[0]] = None
        cells[k] = way[1]
    if not by and n_own < n_gold and not ways.keys() - {"maximum", "minimum"}:
        # The answer is one of gold's rows: that the others are missing says the same with less.
        return
    where = f"by {', '.join(gold_header(a, j) for j, _ in by)}" if by else "all rows together"
    words = " and ".join(ways)
    if n_own > n_gold:
        firsts = [rows[0] for rows in own.values()]
        table = with_rows(a.prediction, [[column[row] for column in a.prediction.columns] for row in firsts])
        table = replace(table, columns=tuple(cells.get(k, column) for k, column in enumerate(table.columns)))
        if a.ordered:
            order = [list(own).index(name) for name in golds]
            table = replace(table, columns=tuple([column[at] for at in order] for column in table.columns))
        yield Repaired(
            table, f"{n_own} rows stand for gold's {n_gold}: their {words} by group is gold's, so they are grouped too finely", where
        )
    else:
        says = (
            f"{n_own} row{'s stand' if n_own > 1 else ' stands'} for gold's {n_gold}: the {words} of gold's by group, grouped too coarsely"
        )
        yield Repaired(replace(a.gold, name=a.prediction.name), says, where, puts_gold_in=True)


def _groups(keys: Sequence[Sequence[Any]], by: Sequence[int], n_rows: int) -> Groups:
    """The rows of each group, in the order of their first row."""
    groups: Groups = defaultdict(list)
    for row in range(n_rows):
        groups[tuple(keys[k][row] for k in by)].append(row)
    return dict(groups)


def _way(sides: Sequence[Sequence[Any]], fine: Groups, coarse: Groups, *, native: bool) -> tuple[str, list[Any]] | None:
    """(how, one value a fine group) where the finer column, taken together by groups, is the coarser one; None where it is not."""
    numbers = [[number(value, native=native) for value in column] for column in sides]
    if any(value is None for column in numbers for value in column):
        return None
    for name, together in _TOGETHER.items():
        values = []
        for group, rows in fine.items():
            value = together([at for row in rows if (at := numbers[0][row]) is not None])
            wanted = numbers[1][coarse[group][0]]
            if wanted is None or not nearly(value, wanted):
                break
            values.append(write_number(value, sides[0][rows[0]]))
        if len(values) == len(fine):
            return name, values
    return None
