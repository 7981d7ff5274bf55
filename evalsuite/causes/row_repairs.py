"""What can go wrong with the rows and columns of a table as a whole, each as a generator of repaired tables.

Each gets an `Alignment` and yields (repaired prediction, what was found in plain words, where): the search asks the scorer of each. The
words never hold a cell; `where` does, and is shown only where cells may be.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any, Final

from evalsuite.causes.table_alignment import Alignment, any_order
from evalsuite.causes.value_pairs import decimals, number
from evalsuite.types import Table

# How likely an unrelated row holds a key of gold's: one of many digits, or any.
_SAME_LONG_KEY, _SAME_KEY = 0.05, 0.3
# Above this chance something tells rows apart by accident.
MOST_CHANCE: Final = 0.2
MOST_SWAPPED: Final = 20


@dataclass(frozen=True, slots=True)
class Repaired:
    """A table made right: what was found, and where with cells named.

    `puts_gold_in` says that it holds cells which the answer did not; `chance` is how likely as much is found where there is nothing;
    `name` is a cause of its own, where what was found is told apart from what the repair is named after.
    """

    table: Table
    says: str
    where: str = ""
    puts_gold_in: bool = False
    chance: float = 0.0
    name: str = ""


Repair = Callable[[Alignment], Iterator[Repaired]]


def rows_of(table: Table) -> list[tuple[Any, ...]]:
    """The table's rows, n_rows tuples of n_columns cells."""
    return list(zip(*table.columns, strict=True)) if table.columns else []


def with_rows(table: Table, rows: Sequence[Sequence[Any]]) -> Table:
    """The table with other rows of the same width."""
    columns = tuple(list(column) for column in zip(*rows, strict=True)) if rows else tuple([] for _ in table.columns)
    return replace(table, columns=columns, n_rows=len(rows))


def pick(table: Table, rows: Sequence[int]) -> Table:
    """The table with some of its rows, in the given order."""
    return replace(table, columns=tuple([column[row] for row in rows] for column in table.columns), n_rows=len(rows))


def with_column(table: Table, k: int, cells: Sequence[Any], *, like: str = "") -> Table:
    """The table with column `k` replaced; in a database's table it gets the type `like`, where one is given."""
    types = table.types
    if types is not None and like:
        types = (*types[:k], like, *types[k + 1 :])
    return replace(table, columns=(*table.columns[:k], list(cells), *table.columns[k + 1 :]), types=types)


def wrong_order(a: Alignment) -> Iterator[Repaired]:
    """The right rows in the wrong order, where the order counts."""
    if not a.ordered or a.gold.n_rows != a.prediction.n_rows:
        return
    free = any_order(a)
    if free.n_wrong or free.missing or free.extra or all(g == p for g, p in free.pairs):
        return
    table, cells = pick(a.prediction, [p for _, p in free.pairs]), a.columns
    for j, k in enumerate(a.partners):
        keys = cells.gold_keys[j]
        n_runs = sum(x != y for x, y in pairwise(keys)) + 1
        if k is not None and keys == cells.predicted_keys[k] and 1 < n_runs == len(cells.gold_bags[j]) < len(keys):
            n_moved = sum(g != p for g, p in free.pairs)
            says = f"{n_moved} rows that tie in gold's column {a.needed[j] + 1} stand in another order"
            yield Repaired(table, says, gold_header(a, j), name="ties in another order")
            return
    yield Repaired(table, "the rows are gold's in another order")


def scrambled(a: Alignment) -> Iterator[Repaired]:
    """Each column holds gold's cells, but rows were put together wrongly."""
    cells = a.columns
    if a.gold.n_rows != a.prediction.n_rows or None in a.partners:
        return
    table, moved = a.prediction, 0
    for j, k in enumerate(a.partners):
        if k is None or cells.gold_bags[j] != cells.predicted_bags[k]:
            return
        if cells.gold_keys[j] == cells.predicted_keys[k]:
            continue
        places: dict[Any, list[int]] = {}
        for row, name in enumerate(cells.predicted_keys[k]):
            places.setdefault(name, []).append(row)
        order = [places[name].pop(0) for name in cells.gold_keys[j]]
        table, moved = with_column(table, k, [a.prediction.columns[k][row] for row in order]), moved + 1
    if moved:
        yield Repaired(table, "each column holds gold's cells, but the rows are put together wrongly")


def swapped_cells(a: Alignment) -> Iterator[Repaired]:
    """Two columns whose cells are exchanged in the rows that differ."""
    apart = _rows_apart(a)
    partners = [k for k in a.partners if k is not None]
    if apart is None or not apart[0] or len(apart[0]) != len(apart[1]) or len(partners) > MOST_SWAPPED:
        return
    lacking = Counter(a.gold_row(row) for row in apart[0])
    for x, y in combinations(range(len(partners)), 2):
        left = Counter[Any]()
        left.update(lacking)
        for row in apart[1]:
            keys = list(a.predicted_row(row))
            if keys[x] is None or keys[y] is None:
                break
            keys[x], keys[y] = keys[y], keys[x]
            if left[tuple(keys)] <= 0:
                break
            left[tuple(keys)] -= 1
        if any(left.values()):
            continue
        one, other = list(a.prediction.columns[partners[x]]), list(a.prediction.columns[partners[y]])
        for row in apart[1]:
            one[row], other[row] = other[row], one[row]
        table = with_column(with_column(a.prediction, partners[x], one), partners[y], other)
        where = " and ".join(f"column {k + 1} {a.prediction.header[k]!r}" for k in (partners[x], partners[y]))
        yield Repaired(table, f"two columns are exchanged in {len(apart[1])} rows", where)


def duplicated(a: Alignment) -> Iterator[Repaired]:
    """Rows that stand several times, as after a join that fans out: each k times, or some more often than others."""
    table, gold = a.prediction, a.gold
    if table.n_rows <= gold.n_rows or a.missing or not gold.n_rows:
        return
    seen: Counter[Any] = Counter(a.predicted_row(row) for row in range(table.n_rows))
    times, rest = divmod(table.n_rows, gold.n_rows)
    n_more = table.n_rows - gold.n_rows
    if not rest and all(n % times == 0 for n in seen.values()):
        kept, used, often = [], Counter[Any](), "" if max(seen.values()) == times else " as often as in gold"
        for row in range(table.n_rows):
            name = a.predicted_row(row)
            used[name] += 1
            if used[name] <= seen[name] // times:
                kept.append(row)
        yield Repaired(
            pick(table, kept),
            f"every row stands {times} times{often}: {n_more} rows are repeated, as after a join that fans out",
        )
    golds: Counter[Any] = Counter(a.gold_row(row) for row in range(gold.n_rows))
    if all(name in golds for name in seen):
        kept = sorted(p for _, p in a.pairs)
        yield Repaired(
            pick(table, kept),
            f"{'1 row is' if n_more == 1 else f'{n_more} rows are'} repeated: {'it stands' if n_more == 1 else 'they stand'} more often"
            " than in gold, as after a join that fans out",
        )


def repeated_keys(a: Alignment) -> Iterator[Repaired]:
    """Rows beyond gold's that hold a value of its first column without repetitions, and other values beside it: what a join found again."""
    if a.missing or not a.extra or len(a.pairs) < a.gold.n_rows:
        return
    for j, k in enumerate(a.partners):
        bag = a.columns.gold_bags[j]
        # A key is a name or a whole number.
        if k is None or len(bag) < a.gold.n_rows or any(map(_is_fraction, bag)):
            continue
        if not all(a.columns.predicted_keys[k][row] in bag for row in a.extra):
            return
        n = len(a.extra)
        long = all(len(str(a.gold.columns[a.needed[j]][row])) >= 4 for row in range(min(20, a.gold.n_rows)))
        chance = min(MOST_CHANCE, (_SAME_LONG_KEY if long else _SAME_KEY) ** n)
        rows, values = ("1 row is", "the value") if n == 1 else (f"{n} rows are", "the values")
        says = (
            f"{rows} repeated with other cells: {values} of gold's column {a.needed[j] + 1} stand once there, as after a join that fans out"
        )
        yield Repaired(pick(a.prediction, sorted(p for _, p in a.pairs)), says, gold_header(a, j), chance=chance, name="rows duplicated")
        return


def _is_fraction(name: Any) -> bool:
    return (isinstance(name, tuple) and name[0] == "decimal") or (isinstance(name, float) and not name.is_integer())


def tie_at_the_cut(a: Alignment) -> Iterator[Repaired]:
    """The last places of a ranking: rows beyond the cut have the same value as gold's last row."""
    if not a.gold.n_rows or not a.prediction.n_rows or not (a.extra or a.n_wrong):
        return
    if len(a.missing) > len(a.extra):
        return
    for j, k in enumerate(a.partners):
        numbers = [cell for cell in a.gold.columns[a.needed[j]] if cell is not None]
        if k is None or len(numbers) != a.gold.n_rows or not _is_ranked_by(a, j):
            continue
        last = a.columns.gold_keys[j][a.gold.n_rows - 1]
        rows = _rows_apart(a)
        if rows is None or not rows[1] or any(a.columns.predicted_keys[k][row] != last for row in rows[1]):
            continue
        if any(a.columns.gold_keys[j][row] != last for row in rows[0]):
            continue
        where = f"{gold_header(a, j)} is {a.gold.columns[a.needed[j]][-1]!r} in all of them"
        n_tied = f"{len(rows[1])} row{'s tie' if len(rows[1]) > 1 else ' ties'}"
        yield Repaired(
            _with_gold_rows(a, rows[0], rows[1]),
            f"{n_tied} with gold's last place, and {'others of the tied were taken' if rows[0] else 'there are more rows than gold has'}",
            where,
            puts_gold_in=bool(rows[0]),
            chance=_chance_of_tie(a, j) ** len(rows[1]),
        )


def _chance_of_tie(a: Alignment, j: int) -> float:
    """How likely another number is that of gold's last row: by its digits, and by the steps from the least number to the largest."""
    numbers = [value for cell in a.gold.columns[a.needed[j]] if (value := number(cell, native=a.native)) is not None]
    if len(numbers) < a.gold.n_rows:
        return 0.5
    n_steps = (max(numbers) - min(numbers)).scaleb(max(map(decimals, numbers))) + 1
    return max(1 / float(n_steps), 10.0 ** -len(numbers[-1].normalize().as_tuple().digits))


def _is_ranked_by(a: Alignment, j: int) -> bool:
    """Whether gold is ranked by this column: its numbers never rise, or never fall, and are not all one."""
    keys = a.columns.gold_keys[j]
    if not all(isinstance(name, int | float) for name in keys) or len(set(keys)) < 2:
        return False
    steps = list(pairwise(keys))
    return all(x >= y for x, y in steps) or all(x <= y for x, y in steps)


def _rows_apart(a: Alignment) -> tuple[list[int], list[int]] | None:
    """(gold rows that the prediction lacks, predicted rows that gold lacks), wherever they stand."""
    left = Counter(a.gold_row(row) for row in range(a.gold.n_rows))
    extra = []
    for row in range(a.prediction.n_rows):
        name = a.predicted_row(row)
        if left[name] > 0:
            left[name] -= 1
        else:
            extra.append(row)
    missing = []
    for row in range(a.gold.n_rows - 1, -1, -1):
        if left[a.gold_row(row)] > 0:
            left[a.gold_row(row)] -= 1
            missing.append(row)
    return (missing[::-1], extra) if len(missing) <= len(extra) else None


def _with_gold_rows(a: Alignment, missing: Sequence[int], extra: Sequence[int]) -> Table:
    """The prediction with gold's rows in the places of some extra ones, and without the other extra ones."""
    rows = rows_of(a.prediction)
    for gold_row, row in zip(missing, extra, strict=False):
        rows[row] = as_predicted(a, gold_row)
    dropped = set(extra[len(missing) :])
    return with_rows(a.prediction, [row for i, row in enumerate(rows) if i not in dropped])


def as_predicted(a: Alignment, gold_row: int) -> tuple[Any, ...]:
    """A gold row's cells where the prediction has its columns, None in the others."""
    cells: list[Any] = [None] * len(a.prediction.columns)
    for j, k in enumerate(a.partners):
        if k is not None:
            cells[k] = a.gold.columns[a.needed[j]][gold_row]
    return tuple(cells)


def missing_column(a: Alignment) -> Iterator[Repaired]:
    """A gold column that was not handed in: with it put in, the rest is right."""
    headers = {header.strip().casefold() for header in a.prediction.header}
    if a.prediction.n_rows != a.gold.n_rows or len(a.prediction.columns) >= len(a.gold.columns) or not a.pairs:
        return
    absent = [
        j for j, k in enumerate(a.partners) if k is None or (a.wrong[j] and a.gold.header[a.needed[j]].strip().casefold() not in headers)
    ]
    if not absent:
        return
    partner = {p: g for g, p in a.pairs}
    table = a.prediction
    for j in absent:
        cells = [a.gold.columns[a.needed[j]][partner[row]] for row in range(table.n_rows)]
        types = (*table.types, (a.gold.types or ())[a.needed[j]]) if table.types is not None else None
        table = replace(table, header=(*table.header, a.gold.header[a.needed[j]]), columns=(*table.columns, cells), types=types)
    n = len(absent)
    where = "gold's " + ", ".join(gold_header(a, j) for j in absent)
    yield Repaired(table, f"{n} needed column{'s are' if n > 1 else ' is'} not handed in", where, puts_gold_in=True)


def gold_header(a: Alignment, j: int) -> str:
    """The number, from 1, and the header of a needed gold column."""
    return f"column {a.needed[j] + 1} {a.gold.header[a.needed[j]]!r}"
