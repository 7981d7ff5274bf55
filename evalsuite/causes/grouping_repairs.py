"""Numbers grouped at another level than gold's: more finely, or more coarsely. See `row_repairs` for the form of a repair."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from evalsuite.causes.row_repairs import MOST_CHANCE, Repaired, gold_header, with_rows
from evalsuite.causes.table_alignment import Alignment
from evalsuite.causes.total_rows import all_constant
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
    ways, chance = dict[str, None](), 1.0
    for j, k in numbers:
        sides = a.prediction.columns[k], a.gold.columns[a.needed[j]]
        way = _way(sides if n_own > n_gold else sides[::-1], fine, coarse, native=a.native)
        if way is None:
            return
        ways[way[0]] = None
        cells[k] = way[1]
        chance *= way[2]
    # Numbers that are one among their group, or of one digit, are made of others by accident.
    if chance > MOST_CHANCE:
        return
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
        says = f"{n_own} rows stand for gold's {n_gold}: their {words} by group is gold's, so they are grouped too finely"
        yield Repaired(table, says, where, chance=chance)
    else:
        says = (
            f"{n_own} row{'s stand' if n_own > 1 else ' stands'} for gold's {n_gold}: the {words} of gold's by group, grouped too coarsely"
        )
        yield Repaired(replace(a.gold, name=a.prediction.name), says, where, puts_gold_in=True, chance=chance)


def _groups(keys: Sequence[Sequence[Any]], by: Sequence[int], n_rows: int) -> Groups:
    """The rows of each group, in the order of their first row."""
    groups: Groups = defaultdict(list)
    for row in range(n_rows):
        groups[tuple(keys[k][row] for k in by)].append(row)
    return dict(groups)


def _way(sides: Sequence[Sequence[Any]], fine: Groups, coarse: Groups, *, native: bool) -> tuple[str, list[Any], float] | None:
    """(how, one value a fine group, chance) where the finer column, taken together by groups, is the coarser one; None where it is not."""
    numbers = [[number(value, native=native) for value in column] for column in sides]
    if any(value is None for column in numbers for value in column):
        return None
    several = [
        (wanted, [value for row in rows if (value := numbers[0][row]) is not None])
        for group, rows in fine.items()
        if len(rows) > 1 and (wanted := numbers[1][coarse[group][0]]) is not None
    ]
    for name, together in _TOGETHER.items():
        if name != "sum" and all_constant(values for _, values in several):
            continue
        values = []
        for group, rows in fine.items():
            value = together([at for row in rows if (at := numbers[0][row]) is not None])
            wanted = numbers[1][coarse[group][0]]
            if wanted is None or not nearly(value, wanted):
                break
            values.append(write_number(value, sides[0][rows[0]]))
        if len(values) == len(fine):
            return name, values, _chance(name, several)
    return None


def _chance(way: str, several: Sequence[tuple[Decimal, Sequence[Decimal]]]) -> float:
    """How likely a group with a row added at random has the wanted number, multiplied over the groups of several rows.

    A row that was there before is the largest of n with a chance of 1 in n, and so is the smallest; a sum of d digits is met once in 10^d.
    """
    chance = 1.0 if way == "sum" else len(_TOGETHER) - 1.0
    for wanted, values in several:
        chance *= 1 / len(values) if wanted in values else 10.0 ** -len(wanted.normalize().as_tuple().digits)
    return chance
