"""Totals and subtotals among the rows: too many, as ROLLUP or a spreadsheet adds them, or missing. See `row_repairs` for a repair."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import comb, log10
from typing import Any, Final

from evalsuite.causes.row_repairs import MOST_CHANCE, Repaired, as_predicted, pick, rows_of, with_rows
from evalsuite.causes.table_alignment import Alignment
from evalsuite.causes.value_pairs import decimals, is_null, nearly, number

# Texts that stand in the place of a key in a total.
_LABEL: Final = re.compile(r"\W*(?:(?:.*\W)?(?:sub-?|grand )?totals?(?:\W.*)?|all|sum|overall|everything)\W*", re.IGNORECASE | re.DOTALL)
MOST_TOTALS: Final = 2000
_LEAST_CHANCE: Final = 1e-12
# Rows without an open key have nothing but their numbers to be totals by.
_MOST_OF_NUMBERS: Final = 0.005


def total_rows(a: Alignment) -> Iterator[Repaired]:
    """Rows too many, or too few, that are sums, means or extremes of the other rows, by the keys that are not NULL in them."""
    if a.extra and not a.missing and len(a.pairs) == a.gold.n_rows:
        kept = sorted(p for _, p in a.pairs)
        # A row that stands twice is no total of what it repeats.
        if not {a.predicted_row(row) for row in kept}.isdisjoint(map(a.predicted_row, a.extra)):
            return
        found = _totals(a.prediction.header, a.prediction.columns, a.extra, kept, native=a.native)
        if found is not None:
            n = len(a.extra)
            yield Repaired(
                pick(a.prediction, kept), f"{n} extra row{'s' if n > 1 else ''} {found.says(n)}", found.where, chance=found.chance
            )
    elif a.missing and not a.extra and a.pairs and None not in a.partners:
        if not {a.gold_row(row) for row, _ in a.pairs}.isdisjoint(map(a.gold_row, a.missing)):
            return
        header, columns = [a.gold.header[i] for i in a.needed], [a.gold.columns[i] for i in a.needed]
        found = _totals(header, columns, a.missing, [g for g, _ in a.pairs], native=a.native)
        if found is not None:
            rows, partner, n = rows_of(a.prediction), dict(a.pairs), len(a.missing)
            cells = [rows[partner[row]] if row in partner else as_predicted(a, row) for row in range(a.gold.n_rows)]
            says = f"{n} row{'s' if n > 1 else ''} of gold {'are' if n > 1 else 'is'} missing: {'they' if n > 1 else 'it'} {found.says(n)}"
            yield Repaired(with_rows(a.prediction, cells), says, found.where, puts_gold_in=True, chance=found.chance)


@dataclass(frozen=True, slots=True)
class _Totals:
    """What the rows are: totals of all other rows, or of those that agree in some keys; `verified` by what their numbers are."""

    of_all: bool
    where: str
    chance: float
    verified: bool = True

    def says(self, n: int) -> str:
        if not self.verified:
            return f"{'stand' if n > 1 else 'stands'} where ROLLUP adds subtotals"
        if self.of_all:
            return "is the total of the others" if n == 1 else "are totals of the others"
        return "is a subtotal of the others" if n == 1 else "are subtotals of the others, as ROLLUP adds them"


def _totals(
    header: Sequence[str], columns: Sequence[Sequence[Any]], rows: Sequence[int], others: Sequence[int], *, native: bool
) -> _Totals | None:
    """What the rows are of the others; None where they are no totals."""
    if len(others) < 2 or len(rows) > MOST_TOTALS:
        return None
    numbers = [[number(value, native=native) for value in column] for column in columns]
    numeric = [
        k
        for k, column in enumerate(columns)
        if all(numbers[k][row] is not None or is_null(column[row], native=native) for row in (*others, *rows))
        and any(numbers[k][row] is not None for row in others)
    ]
    # A year is a number and a key.
    repeated = [k for k in numeric if {numbers[k][row] for row in rows} <= {None, *(numbers[k][row] for row in others)}]
    for keys_too in ([], repeated) if repeated else ([],):
        measures = [k for k in numeric if k not in keys_too]
        keys = [k for k in range(len(columns)) if k not in measures]
        groups = [_group(columns, keys, row, others, native=native) for row in rows]
        if measures and all(group is not None and len(group[1]) for group in groups):
            told = [group for group in groups if group is not None]
            found = _verified(header, numbers, (measures, keys), rows, told, len(others))
            found = found or _in_places_of_totals(header, columns, keys, rows, told, others)
            if found is not None:
                return found
    return None


def _in_places_of_totals(
    header: Sequence[str],
    columns: Sequence[Sequence[Any]],
    keys: Sequence[int],
    rows: Sequence[int],
    groups: Sequence[tuple[list[int], list[int]]],
    others: Sequence[int],
) -> _Totals | None:
    """Rows of which there is one for each value of the keys that are not open, as ROLLUP adds them; their numbers may be anything."""
    if len(rows) < 2:
        return None
    by_open: dict[tuple[int, ...], list[int]] = {}
    for row, (left_open, _) in zip(rows, groups, strict=True):
        by_open.setdefault(tuple(left_open), []).append(row)
    words = []
    for unheld, own in by_open.items():
        held = [k for k in keys if k not in unheld]
        there = [tuple(columns[k][row] for k in held) for row in own]
        if len(set(there)) < len(there) or set(there) != {tuple(columns[k][row] for k in held) for row in others}:
            return None
        one = f"one for each {_names(header, held)}" if held else "one"
        words.append(f"{one} with NULL or a label in {_names(header, unheld)}")
    return _Totals(of_all=False, where=", ".join(words), chance=MOST_CHANCE, verified=False)


def _group(
    columns: Sequence[Sequence[Any]], keys: Sequence[int], row: int, others: Sequence[int], *, native: bool
) -> tuple[list[int], list[int]] | None:
    """(keys that are left open, the other rows that agree in the rest); None where no key is open."""
    held = []
    for k in keys:
        value = columns[k][row]
        if not (is_null(value, native=native) or (isinstance(value, str) and _LABEL.fullmatch(value))):
            held.append(k)
    if keys and len(held) == len(keys):
        return None
    return [k for k in keys if k not in held], [other for other in others if all(columns[k][other] == columns[k][row] for k in held)]


def _mean(values: Sequence[Decimal]) -> Decimal:
    return sum(values, Decimal(0)) / len(values)


_WAYS: Final[dict[str, Callable[[Sequence[Decimal]], Decimal]]] = {
    "sum": lambda values: sum(values, Decimal(0)), "maximum": max, "minimum": min, "mean": _mean,
}  # fmt: skip


def _verified(
    header: Sequence[str],
    numbers: Sequence[Sequence[Decimal | None]],
    split: tuple[Sequence[int], Sequence[int]],
    rows: Sequence[int],
    groups: Sequence[tuple[list[int], list[int]]],
    n_others: int,
) -> _Totals | None:
    """What was found where at least one column of numbers is taken together in one way in all rows, of more than one row in some."""
    measures, keys = split
    words, chance = [], 1.0
    for k in measures:
        sides = [(numbers[k][row], [value for other in group if (value := numbers[k][other]) is not None]) for row, (_, group) in zip(rows, groups, strict=True)]  # fmt: skip  # noqa: E501
        whole = [(value, values) for value, values in sides if value is not None and values]
        if len(whole) < len(rows) or max(len(values) for _, values in whole) < 2:
            continue
        for name, together in _WAYS.items():
            if name != "sum" and all_constant(values for _, values in whole):
                continue
            if all(nearly(value, together(values)) for value, values in whole):
                words.append(f"{header[k]!r} is the {name}")
                chance *= _chance(name, whole)
            elif name == "sum" and all(abs(value - together(values)) <= _noise(values) for value, values in whole):
                words.append(f"{header[k]!r} is the sum but for rounding")
                chance *= _chance(name, whole) * max(len(values) + 1 for _, values in whole)
            else:
                continue
            break
    # Of many columns one fits sooner than the only one.
    chance = max(_LEAST_CHANCE, chance * comb(len(measures), len(words)))
    in_places = all(left_open for left_open, _ in groups)
    if not words or chance > (MOST_CHANCE if in_places else _MOST_OF_NUMBERS):
        return None
    of_all = all(len(group) == n_others for _, group in groups)
    over = "all other rows" if of_all else f"the other rows with the same {_names(header, keys)}, where NULL or a label stands for all"
    return _Totals(of_all, f"{', '.join(words)} over {over}", chance)


def all_constant(groups: Iterable[Sequence[Decimal]]) -> bool:
    """Whether each group holds one value only, so that this is its maximum, its minimum and its mean."""
    return all(len(set(values)) < 2 for values in groups)


def _chance(way: str, whole: Sequence[tuple[Decimal, Sequence[Decimal]]]) -> float:
    """How likely unrelated numbers, 1 or more, are each its values taken together in this way."""
    logarithm = 0.0  # of the chance, base 10
    for value, values in whole:
        if way == "sum" and value not in values:
            logarithm -= len(value.normalize().as_tuple().digits)
            continue
        # A number among its like is any between the least and the largest; where they repeat themselves, any of them.
        steps = (max(values) - min(values)).scaleb(max(map(decimals, (value, *values)))) + 1
        n_different = len(set(values))
        logarithm -= log10(min(int(steps), n_different) if n_different < len(values) else int(steps))
    n_other_ways = 1 if way == "sum" else len(_WAYS) - 1
    return float(n_other_ways * 10.0 ** max(logarithm, log10(_LEAST_CHANCE)))


def _names(header: Sequence[str], keys: Sequence[int]) -> str:
    return " and ".join(repr(header[k]) for k in keys)


def _noise(values: Sequence[Decimal]) -> Decimal:
    """How far a sum may be off whose parts, and which itself, are rounded where they end; whole numbers are taken for exact."""
    places = max(map(decimals, values))
    return Decimal("0.5").scaleb(-places) * (len(values) + 1) if places else Decimal(0)
