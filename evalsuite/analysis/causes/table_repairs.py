"""What can go wrong with the rows and columns of a table as a whole, each as a generator of repaired tables.

A repair gets an `Alignment` and yields (repaired prediction, sentence, where); the search asks the scorer about each. The sentence never
contains a cell; `where` does, and is shown only if cells may be shown. The repairs: CSV separator, header line, exchanged rows and columns;
rows that are extra or missing and what they share (a filter, a join, a group of NULL); totals and subtotals as ROLLUP or a spreadsheet adds
them; numbers that are grouped more finely or more coarsely than gold's.
"""

import io
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import combinations, pairwise
from math import comb, exp, lgamma, log10
from typing import Any, Final

from evalsuite.analysis.causes.predicates import predicate_of
from evalsuite.analysis.causes.table_alignment import Alignment, match, pair_in_any_order
from evalsuite.analysis.causes.values import decimals, is_near, is_null, number, write_number
from evalsuite.core.dataclasses import dataclass, replace
from evalsuite.core.errors import count_words
from evalsuite.core.scores import Table
from evalsuite.readers.csv_table import csv_rows

# How likely an unrelated row contains a key of gold's: one of many digits, or any.
_SAME_LONG_KEY, _SAME_KEY = 0.05, 0.3
# Above this chance, rows are separated by accident.
MOST_CHANCE: Final = 0.2
MOST_SWAPPED: Final = 20


@dataclass(frozen=True, slots=True)
class Repaired:
    """A repaired table with its sentence, and where with the cells named.

    `puts_gold_in`: it contains cells that the answer did not; `chance` is how likely as much is found by accident; `name` is the cause if
    it is another one than the repair's.
    """

    table: Table
    says: str
    where: str = ""
    puts_gold_in: bool = False
    chance: float = 0.0
    name: str = ""


Repair = Callable[[Alignment], Iterator[Repaired]]


def rows_of(table: Table) -> list[tuple[Any, ...]]:
    """Return the table's rows, n_rows tuples of n_columns cells."""
    return list(zip(*table.columns, strict=True)) if table.columns else []


def set_rows(table: Table, rows: Sequence[Sequence[Any]]) -> Table:
    """Return the table with other rows of the same width."""
    columns = tuple(list(column) for column in zip(*rows, strict=True)) if rows else tuple([] for _ in table.columns)
    return replace(table, columns=columns, n_rows=len(rows))


def pick(table: Table, rows: Sequence[int]) -> Table:
    """Return the table with some of its rows, in the given order."""
    return replace(table, columns=tuple([column[row] for row in rows] for column in table.columns), n_rows=len(rows))


def set_column(table: Table, k: int, cells: Sequence[Any], *, like: str = "") -> Table:
    """Return the table with column `k` replaced; in a database's table it gets the type `like`, if given."""
    types = table.types
    if types is not None and like:
        types = (*types[:k], like, *types[k + 1 :])
    return replace(table, columns=(*table.columns[:k], list(cells), *table.columns[k + 1 :]), types=types)


def wrong_order(a: Alignment) -> Iterator[Repaired]:
    """The right rows in the wrong order, where the order counts."""
    if not a.ordered or a.gold.n_rows != a.prediction.n_rows:
        return
    free = pair_in_any_order(a)
    if free.n_wrong or free.missing or free.extra or all(g == p for g, p in free.pairs):
        return
    table, cells = pick(a.prediction, [p for _, p in free.pairs]), a.columns
    for j, k in enumerate(a.partners):
        keys = cells.gold_keys[j]
        n_runs = sum(x != y for x, y in pairwise(keys)) + 1
        if k is not None and keys == cells.predicted_keys[k] and 1 < n_runs == len(cells.gold_bags[j]) < len(keys):
            n_moved = sum(g != p for g, p in free.pairs)
            says = f"{n_moved} rows that tie in gold's column {a.needed[j] + 1} are in another order"
            yield Repaired(table, says, gold_header(a, j), name="ties in another order")
            return
    yield Repaired(table, "the rows are gold's in another order")


def unscramble_rows(a: Alignment) -> Iterator[Repaired]:
    """Each column contains gold's cells, but rows are combined wrongly."""
    cells, table = a.columns, a.prediction
    for j, k in enumerate(a.partners):
        if k is None or cells.gold_bags[j] != cells.predicted_bags[k]:
            return
        if cells.gold_keys[j] != cells.predicted_keys[k]:
            pairs, _, _ = match(cells.gold_keys[j], cells.predicted_keys[k])
            table = set_column(table, k, [a.prediction.columns[k][row] for _, row in pairs])
    if table is not a.prediction:
        yield Repaired(table, "each column contains gold's cells, but the rows are combined wrongly")


def swapped_cells(a: Alignment) -> Iterator[Repaired]:
    """Two columns whose cells are exchanged in the rows that differ."""
    unpaired = _unpaired_rows(a)
    partners = [k for k in a.partners if k is not None]
    if unpaired is None or not unpaired[0] or len(unpaired[0]) != len(unpaired[1]) or len(partners) > MOST_SWAPPED:
        return
    missing_rows = Counter(a.gold_row(row) for row in unpaired[0])
    for x, y in combinations(range(len(partners)), 2):
        counts = Counter[Any]()
        counts.update(missing_rows)
        for row in unpaired[1]:
            keys = list(a.predicted_row(row))
            if keys[x] is None or keys[y] is None:
                break
            keys[x], keys[y] = keys[y], keys[x]
            if counts[tuple(keys)] <= 0:
                break
            counts[tuple(keys)] -= 1
        if any(counts.values()):
            continue
        first, second = list(a.prediction.columns[partners[x]]), list(a.prediction.columns[partners[y]])
        for row in unpaired[1]:
            first[row], second[row] = second[row], first[row]
        table = set_column(set_column(a.prediction, partners[x], first), partners[y], second)
        where = " and ".join(f"column {k + 1} {a.prediction.header[k]!r}" for k in (partners[x], partners[y]))
        yield Repaired(table, f"two columns are exchanged in {count_words(len(unpaired[1]), 'row')}", where)


def drop_duplicates(a: Alignment) -> Iterator[Repaired]:
    """Rows that occur several times, as after a join that fans out: each k times, or some more often than others."""
    table, gold = a.prediction, a.gold
    if table.n_rows <= gold.n_rows or a.missing or not gold.n_rows:
        return
    seen: Counter[Any] = Counter(a.predicted_row(row) for row in range(table.n_rows))
    times, rest = divmod(table.n_rows, gold.n_rows)
    n_more = table.n_rows - gold.n_rows
    if not rest and all(n % times == 0 for n in seen.values()):
        often = "" if max(seen.values()) == times else " as often as in gold"
        rows = [row for name, n in seen.items() for row in [name] * (n // times)]
        remaining = sorted(p for _, p in match(rows, [a.predicted_row(row) for row in range(table.n_rows)])[0])
        says = f"every row occurs {times} times{often}: {_rows_are(n_more, 'row')} repeated, as after a join that fans out"
        yield Repaired(pick(table, remaining), says)
    golds: Counter[Any] = Counter(a.gold_row(row) for row in range(gold.n_rows))
    if all(name in golds for name in seen):
        remaining = sorted(p for _, p in a.pairs)
        occur = "it occurs" if n_more == 1 else "they occur"
        says = f"{_rows_are(n_more, 'row')} repeated: {occur} more often than in gold, as after a join that fans out"
        yield Repaired(pick(table, remaining), says)


def repeated_keys(a: Alignment) -> Iterator[Repaired]:
    """Extra rows that repeat a unique value of gold's first key column with other cells, as a join that matches several times."""
    if a.missing or not a.extra or len(a.pairs) < a.gold.n_rows or a.gold.n_rows < 2:
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
        column, (values, occur) = f"gold's column {a.needed[j] + 1}", ("the value", "occurs") if n == 1 else ("the values", "occur")
        says = f"{_rows_are(n, 'row')} repeated with other cells: {values} of {column} {occur} once there, as after a join that fans out"
        yield Repaired(pick(a.prediction, sorted(p for _, p in a.pairs)), says, gold_header(a, j), chance=chance, name="rows duplicated")
        return


def _is_fraction(name: Any) -> bool:
    return (isinstance(name, tuple) and name[0] == "decimal") or (isinstance(name, float) and not name.is_integer())


def tie_at_the_cut(a: Alignment) -> Iterator[Repaired]:
    """Last places of a ranking: rows beyond the cut tie with gold's last row."""
    if not a.gold.n_rows or not a.prediction.n_rows or not (a.extra or a.n_wrong):
        return
    if len(a.missing) > len(a.extra):
        return
    for j, k in enumerate(a.partners):
        numbers = [cell for cell in a.gold.columns[a.needed[j]] if cell is not None]
        if k is None or len(numbers) != a.gold.n_rows or not _is_ranked_by(a, j):
            continue
        last = a.columns.gold_keys[j][a.gold.n_rows - 1]
        rows = _unpaired_rows(a)
        if rows is None or not rows[1] or any(a.columns.predicted_keys[k][row] != last for row in rows[1]):
            continue
        if any(a.columns.gold_keys[j][row] != last for row in rows[0]):
            continue
        where = f"{gold_header(a, j)} is {a.gold.columns[a.needed[j]][-1]!r} in all of them"
        n_tied = f"{len(rows[1])} row{'s tie' if len(rows[1]) > 1 else ' ties'}"
        yield Repaired(
            _put_gold_rows(a, rows[0], rows[1]),
            f"{n_tied} with gold's last place, and {'other tied rows were taken' if rows[0] else 'there are more rows than gold has'}",
            where,
            puts_gold_in=bool(rows[0]),
            chance=min(1.0, _chance_of_ranking(a, j) * _chance_of_tie(a, j) ** len(rows[1])),
        )


def _chance_of_tie(a: Alignment, j: int) -> float:
    """Return how likely another number equals gold's last: by its digits, and by the steps from the smallest to the largest number."""
    numbers = [value for cell in a.gold.columns[a.needed[j]] if (value := number(cell, native=a.native)) is not None]
    if len(numbers) < a.gold.n_rows:
        return 0.5
    n_steps = (max(numbers) - min(numbers)).scaleb(max(map(decimals, numbers))) + 1
    return max(1 / float(n_steps), 10.0 ** -len(numbers[-1].normalize().as_tuple().digits))


def _chance_of_ranking(a: Alignment, j: int) -> float:
    """Return how likely cells in random order rise or fall throughout: two of all their orders."""
    bag = a.columns.gold_bags[j]
    return 2 * exp(sum(lgamma(n + 1) for n in bag.values()) - lgamma(bag.total() + 1))


def _is_ranked_by(a: Alignment, j: int) -> bool:
    """Whether gold is ranked by this column: its numbers never rise, or never fall, and are not all equal."""
    keys = a.columns.gold_keys[j]
    if not all(isinstance(name, int | float) for name in keys) or len(set(keys)) < 2:
        return False
    steps = list(pairwise(keys))
    return all(x >= y for x, y in steps) or all(x <= y for x, y in steps)


def _unpaired_rows(a: Alignment) -> tuple[list[int], list[int]] | None:
    """Return (gold rows that the prediction lacks, predicted rows that gold lacks), in any position; None if more are lacking."""
    _, missing, extra = a.equal_rows()
    return (missing, extra) if len(missing) <= len(extra) else None


def _put_gold_rows(a: Alignment, missing: Sequence[int], extra: Sequence[int]) -> Table:
    """Return the prediction with gold's rows in place of some extra ones, and without the other extra ones."""
    rows = rows_of(a.prediction)
    for gold_row, row in zip(missing, extra, strict=False):
        rows[row] = align_gold_row(a, gold_row)
    dropped = set(extra[len(missing) :])
    return set_rows(a.prediction, [row for i, row in enumerate(rows) if i not in dropped])


def align_gold_row(a: Alignment, gold_row: int) -> tuple[Any, ...]:
    """Return a gold row's cells for the columns that the prediction has, None for the others."""
    cells: list[Any] = [None] * len(a.prediction.columns)
    for j, k in enumerate(a.partners):
        if k is not None:
            cells[k] = a.gold.columns[a.needed[j]][gold_row]
    return tuple(cells)


def missing_column(a: Alignment) -> Iterator[Repaired]:
    """A needed gold column that is missing: with it added, the rest is right."""
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
    where = "gold's " + ", ".join(gold_header(a, j) for j in absent)
    yield Repaired(table, f"{_rows_are(len(absent), 'needed column')} missing", where, puts_gold_in=True)


def gold_header(a: Alignment, j: int) -> str:
    """Return the number, from 1, and the header of a needed gold column."""
    return f"column {a.needed[j] + 1} {a.gold.header[a.needed[j]]!r}"


SEPARATORS: Final = {";": "semicolons", "\t": "tabs", "|": "bars"}


def delimiter(a: Alignment) -> Iterator[Repaired]:
    """A CSV file whose separator is not a comma, read as intended."""
    table = a.prediction
    if a.native or len(a.gold.columns) < 2 or len(table.columns) > len(a.gold.columns):
        return
    for mark, name in SEPARATORS.items():
        if not any(mark in header for header in table.header):
            continue
        lines = [",".join(map(_text_or_empty, row)) for row in [table.header, *rows_of(table)]]
        rows = [row for _, row in csv_rows(io.StringIO("\n".join(lines)), delimiter=mark)]
        if mark == "|":
            rows = [[cell.strip() for cell in row[1:-1]] for row in rows if not set("".join(row).strip()) <= set("-: ")]
        width = len(rows[0]) if rows else 0
        if width > 1 and all(len(row) == width for row in rows):
            yield Repaired(_table(table, rows), f"the columns are separated by {name}, not commas")


def no_header(a: Alignment) -> Iterator[Repaired]:
    """A file without a header line: its first row was read as one."""
    table = a.prediction
    if a.native or table.n_rows + 1 != a.gold.n_rows:
        return
    seen = {str(cell) for i in a.needed for cell in a.gold.columns[i]}
    if seen.isdisjoint(table.header):
        return
    rows = [table.header, *rows_of(table)]
    says = "the header line is missing, so the first row is read as one"
    yield Repaired(_table(table, [a.gold.header, *rows]), says)


def transpose_back(a: Alignment) -> Iterator[Repaired]:
    """Rows and columns exchanged; with gold's headers in the first column, or without them."""
    table, gold, says = a.prediction, a.gold, "rows and columns are exchanged"
    if a.native or not gold.n_rows:
        return
    # A single column leaves only its header and cell, side by side as a header.
    labels = list(map(_text_or_empty, table.columns[0])) if table.n_rows else list(table.header[:1])
    headers = {header.strip().casefold() for header in gold.header}
    if len(table.columns) == gold.n_rows + 1 and any(label.strip().casefold() in headers for label in labels):
        turned = zip(table.header, *rows_of(table), strict=True)
        yield Repaired(_table(table, list(turned)), says)
    elif (len(table.columns), table.n_rows) == (gold.n_rows, len(gold.columns)) and len(gold.columns) > 1:
        names = [f"column {i}" for i in range(1, table.n_rows + 1)]
        yield Repaired(_table(table, [names, *table.columns]), says)


def _text_or_empty(cell: Any) -> str:
    return "" if cell is None else str(cell)


def _table(like: Table, rows: Sequence[Sequence[Any]]) -> Table:
    """Return a text table from rows, the first of which is the header and may be longer or shorter than the others."""
    width = len(rows[min(1, len(rows) - 1)])
    header = tuple(map(_text_or_empty, rows[0]))[:width]
    header += tuple(f"column {i + 1}" for i in range(len(header), width))
    body = [list(row)[:width] for row in rows[1:]]
    columns = tuple([row[i] for row in body] for i in range(width))
    return Table(header=header, columns=columns, n_rows=len(body), name=like.name)


def missing_filter(a: Alignment) -> Iterator[Repaired]:
    """Extra rows that a condition separates from all wanted rows: a missing filter, or a missing join that would drop them."""
    if not a.extra or a.missing or not a.pairs:
        return
    remaining, n = sorted(p for _, p in a.pairs), len(a.extra)
    table = pick(a.prediction, remaining)
    keys = a.columns.predicted_keys
    if (group := _null_group(keys, a.prediction.header, a.extra, remaining)) is not None:
        yield Repaired(table, "one extra row with a NULL key: a group of NULL, or a total", group, chance=MOST_CHANCE, name="NULL group")
        return
    if n < 2:
        return
    predicate = predicate_of(a.prediction, a.extra, remaining)
    # A value shared by only a few rows is named too, as `fits` and not as a proof.
    if predicate is not None and (predicate.chance <= MOST_CHANCE or (predicate.size == 1 and not predicate.of_others)):
        at = f"column {predicate.column + 1}"
        if predicate.of_others:
            says = f"{n} extra rows fail a condition on {at} that all wanted rows meet"
            where = f"{predicate.words} in each wanted row, and in none of them"
        else:
            shared = "share one value of" if predicate.size == 1 else "meet one condition on"
            says, where = f"{n} extra rows {shared} {at}", f"{predicate.words} in each of them and in no wanted row"
        yield Repaired(table, f"{says}: a filter is missing", where, chance=min(predicate.chance, MOST_CHANCE))
    elif (lone := _lone_keys(keys, a.extra, remaining)) is not None:
        k, n_values, chance = lone
        values = count_words(n_values, "value")
        says = f"{n} extra rows are all those of {values} of column {k + 1}, which no wanted row has: a join is missing"
        yield Repaired(table, says, repr(a.prediction.header[k]), chance=chance, name="join lost")


def extra_rows(a: Alignment) -> Iterator[Repaired]:
    """Rows too many."""
    if a.extra and not a.missing and len(a.pairs) == a.gold.n_rows:
        remaining = sorted(p for _, p in a.pairs)
        yield Repaired(pick(a.prediction, remaining), count_words(len(a.extra), "extra row"))


def missing_rows(a: Alignment) -> Iterator[Repaired]:
    """Rows are missing, and all present rows are gold's: a LIMIT, a filter, a join that drops rows, or no visible reason."""
    if not a.missing or a.extra or (not a.pairs and a.prediction.n_rows) or all(k is None for k in a.partners):
        return
    n = len(a.missing)
    says, where, name, chance = _explain_missing(a)
    if not says:
        kind = " at the end, as by a LIMIT" if a.missing[0] == len(a.pairs) and n > 1 else ""
        says = f"{_rows_are(n, 'row', ' of gold')} missing{kind}"
    yield Repaired(_add_missing_rows(a), says, where, puts_gold_in=True, chance=chance, name=name)


def _add_missing_rows(a: Alignment) -> Table:
    """Return the prediction in gold's order, with gold's rows where it lacks them."""
    rows, partner = rows_of(a.prediction), dict(a.pairs)
    return set_rows(a.prediction, [rows[partner[row]] if row in partner else align_gold_row(a, row) for row in range(a.gold.n_rows)])


def _rows_are(n: int, noun: str, of: str = "") -> str:
    """`1 row is`, `2 rows of gold are`."""
    return f"{n} {noun}{of} is" if n == 1 else f"{n} {noun}s{of} are"


def _explain_missing(a: Alignment) -> tuple[str, str, str, float]:
    """Return (sentence, where, the name of a cause of its own, chance) for the missing rows; empty if they have nothing in common."""
    n, present = len(a.missing), [g for g, _ in a.pairs]
    if (group := _null_group(a.columns.gold_keys, [a.gold.header[i] for i in a.needed], a.missing, present)) is not None:
        return "one row of gold with a NULL key is missing: a group of NULL, or a total", group, "NULL group", MOST_CHANCE
    if n < 2:
        return "", "", "", 0.0
    predicate = predicate_of(a.gold, a.missing, present)
    if predicate is not None and predicate.chance < MOST_CHANCE:
        at = f"column {predicate.column + 1}"
        if predicate.of_others:
            says = f"{n} rows of gold are missing, all that fail one condition on its {at}: an extra filter"
            return says, f"{predicate.words} in each row that is present, and in none of them", "", predicate.chance
        where = f"{predicate.words} in each of them and in no row that is present"
        if predicate.words.endswith(" is NULL"):
            says = f"all {n} rows of gold whose {at} is NULL are missing, as by an inner join instead of a left one"
            return says, where, "join lost", predicate.chance
        what = ", the last ones: an extra filter or LIMIT" if a.missing[0] == len(a.pairs) else ": an extra filter"
        return f"all {n} rows of gold that meet one condition on its {at} are missing{what}", where, "", predicate.chance
    if (lone := _lone_keys(a.columns.gold_keys, a.missing, present)) is not None:
        j, n_values, chance = lone
        values = count_words(n_values, "value")
        says = f"all {n} rows of gold of {values} of its column {a.needed[j] + 1} are missing, as by a join that lacks them"
        return says, gold_header(a, j), "join lost", chance
    return "", "", "", 0.0


def _null_group(keys: Sequence[Sequence[Any]], header: Sequence[str], rows: Sequence[int], others: Sequence[int]) -> str | None:
    """Return the column in which a single row is NULL and all others have unique values, as groups do; None if there is none."""
    if len(rows) != 1 or len(others) < 2:
        return None
    for j, column in enumerate(keys):
        values = {column[row] for row in others}
        if column[rows[0]] is None and len(values) == len(others) and None not in values:
            return f"{header[j]!r} is NULL"
    return None


def _lone_keys(keys: Sequence[Sequence[Any]], rows: Sequence[int], others: Sequence[int]) -> tuple[int, int, float] | None:
    """Return (column, number of values, chance) if the rows are all those of some values of a column whose values repeat; else None.

    The chance is that rows taken at random are whole values: C(values, theirs) of C(rows, theirs), for each column.
    """
    best: tuple[float, int, int] | None = None
    for j, column in enumerate(keys):
        keys_of_rows, rest = {column[row] for row in rows}, {column[row] for row in others}
        if keys_of_rows & rest:
            continue
        n_keys, n_rows = len(keys_of_rows) + len(rest), len(rows) + len(others)
        chance = len(keys) * exp(min(0.0, _log_comb(n_keys, len(keys_of_rows)) - _log_comb(n_rows, len(rows))))
        if chance <= MOST_CHANCE and (best is None or (chance, len(keys_of_rows)) < best[:2]):
            best = chance, len(keys_of_rows), j
    return None if best is None else (best[2], best[1], best[0])


def _log_comb(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


# Texts in the place of a key in a total row.
_LABEL: Final = re.compile(r"(?:.*\W)?(?:sub-?|grand )?totals?(?:\W.*)?|\W*+(?:all|sum|overall|everything)\W*", re.IGNORECASE | re.DOTALL)
MOST_TOTALS: Final = 2000
_LEAST_CHANCE: Final = 1e-12
# Without an open key, only the numbers can show that rows are totals.
_MOST_OF_NUMBERS: Final = 0.005


def total_rows(a: Alignment) -> Iterator[Repaired]:
    """Extra or missing rows that are sums, means or extremes of the other rows, by the keys that are not NULL in them."""
    header: Sequence[str] = a.prediction.header
    if a.extra and not a.missing and len(a.pairs) == a.gold.n_rows:
        columns, rows, others, row_of = a.prediction.columns, a.extra, sorted(p for _, p in a.pairs), a.predicted_row
    elif a.missing and not a.extra and a.pairs and None not in a.partners:
        header, columns = [a.gold.header[i] for i in a.needed], tuple(a.gold.columns[i] for i in a.needed)
        rows, others, row_of = a.missing, [g for g, _ in a.pairs], a.gold_row
    else:
        return
    # A row that occurs twice is not a total of its copy.
    if not {row_of(row) for row in others}.isdisjoint(map(row_of, rows)):
        return
    n, totals = len(rows), _totals(header, columns, rows, others, native=a.native)
    if totals is not None and a.extra:
        says = f"{count_words(n, 'extra row')} {totals.says(n)}"
        yield Repaired(pick(a.prediction, others), says, totals.where, chance=totals.chance)
    elif totals is not None:
        says = f"{_rows_are(n, 'row', ' of gold')} missing: {'they' if n > 1 else 'it'} {totals.says(n)}"
        yield Repaired(_add_missing_rows(a), says, totals.where, puts_gold_in=True, chance=totals.chance)


Cells = Sequence[Sequence[Any]]
Numbers = Sequence[Sequence[Decimal | None]]
# The keys without a value in a row, and the other rows that agree in the rest.
_OpenGroup = tuple[list[int], list[int]]


@dataclass(frozen=True, slots=True)
class _Totals:
    """What the rows are: totals of all other rows, or of those that agree in some keys; `verified` by their numbers."""

    of_all: bool
    where: str
    chance: float
    verified: bool = True

    def says(self, n: int) -> str:
        if not self.verified:
            return f"{'are' if n > 1 else 'is'} where ROLLUP adds subtotals"
        if self.of_all:
            return "is the total of the others" if n == 1 else "are totals of the others"
        return "is a subtotal of the others" if n == 1 else "are subtotals of the others, as ROLLUP adds them"


def _totals(
    header: Sequence[str], columns: Sequence[Sequence[Any]], rows: Sequence[int], others: Sequence[int], *, native: bool
) -> _Totals | None:
    """Return how the rows are totals of the others; None if they are not."""
    if len(others) < 2 or len(rows) > MOST_TOTALS:
        return None
    numbers = [[number(value, native=native) for value in column] for column in columns]
    for measures in _measures(columns, numbers, rows, others, native=native):
        keys = [k for k in range(len(columns)) if k not in measures]
        groups = [_group(columns, keys, row, others, native=native) for row in rows]
        if measures and all(group is not None and len(group[1]) for group in groups):
            complete = [group for group in groups if group is not None]
            totals = _verify_totals(header, numbers, (measures, keys), rows, complete, len(others))
            totals = totals or _find_rollup_rows(header, columns, keys, rows, complete, others)
            if totals is not None:
                return totals
    return None


def _measures(columns: Cells, numbers: Numbers, rows: Sequence[int], others: Sequence[int], *, native: bool) -> list[list[int]]:
    """Return the columns that may be totalled: all with only numbers and NULL, then, if some may be keys, those that are none."""
    numeric = [
        k
        for k, column in enumerate(columns)
        if all(numbers[k][row] is not None or is_null(column[row], native=native) for row in (*others, *rows))
        and any(numbers[k][row] is not None for row in others)
    ]
    # A year is both a number and a key.
    repeated = [k for k in numeric if {numbers[k][row] for row in rows} <= {None, *(numbers[k][row] for row in others)}]
    return [numeric, [k for k in numeric if k not in repeated]] if repeated else [numeric]


def _find_rollup_rows(
    header: Sequence[str], columns: Cells, keys: Sequence[int], rows: Sequence[int], groups: Sequence[_OpenGroup], others: Sequence[int]
) -> _Totals | None:
    """Rows of which there is one per value of the keys that are not open, as ROLLUP adds them; their numbers may be anything."""
    if len(rows) < 2:
        return None
    by_open: dict[tuple[int, ...], list[int]] = {}
    for row, (left_open, _) in zip(rows, groups, strict=True):
        by_open.setdefault(tuple(left_open), []).append(row)
    words = []
    for unheld, open_rows in by_open.items():
        held = [k for k in keys if k not in unheld]
        values = [tuple(columns[k][row] for k in held) for row in open_rows]
        if len(set(values)) < len(values) or set(values) != {tuple(columns[k][row] for k in held) for row in others}:
            return None
        single = f"one for each {_names(header, held)}" if held else "one"
        words.append(f"{single} with NULL or a label in {_names(header, unheld)}")
    return _Totals(of_all=False, where=", ".join(words), chance=MOST_CHANCE, verified=False)


def _group(columns: Cells, keys: Sequence[int], row: int, others: Sequence[int], *, native: bool) -> _OpenGroup | None:
    """Return (the open keys, the other rows that agree in the rest); None if no key is open."""

    def is_open(value: Any) -> bool:
        return is_null(value, native=native) or (isinstance(value, str) and _LABEL.fullmatch(value) is not None)

    left_open = [k for k in keys if is_open(columns[k][row])]
    if keys and not left_open:
        return None
    held = [k for k in keys if k not in left_open]
    return left_open, [other for other in others if all(columns[k][other] == columns[k][row] for k in held)]


Aggregate = Callable[[Sequence[Decimal]], Decimal]
_TOGETHER: Final[dict[str, Aggregate]] = {"sum": sum, "maximum": max, "minimum": min}  # type: ignore[dict-item]
_WAYS: Final[Mapping[str, Aggregate]] = {
    **_TOGETHER,
    "mean": lambda values: sum(values, Decimal(0)) / len(values),
}


def _verify_totals(
    header: Sequence[str],
    numbers: Numbers,
    split: tuple[Sequence[int], Sequence[int]],
    rows: Sequence[int],
    groups: Sequence[_OpenGroup],
    n_others: int,
) -> _Totals | None:
    """Return the totals if at least one number column is aggregated in one way in all rows, over more than one row in some."""
    measures, keys = split
    words, chance = [], 1.0
    for k in measures:
        sides = [(numbers[k][row], [value for other in group if (value := numbers[k][other]) is not None]) for row, (_, group) in zip(rows, groups, strict=True)]  # fmt: skip  # noqa: E501
        whole = [(value, values) for value, values in sides if value is not None and values]
        if len(whole) < len(rows) or max(len(values) for _, values in whole) < 2:
            continue
        aggregate = _aggregate(whole)
        if aggregate is not None:
            words.append(f"{header[k]!r} is the {aggregate[0]}")
            chance *= aggregate[1]
    # With many columns one of them fits by accident more easily.
    chance = max(_LEAST_CHANCE, chance * comb(len(measures), len(words)))
    in_places = all(left_open for left_open, _ in groups)
    if not words or chance > (MOST_CHANCE if in_places else _MOST_OF_NUMBERS):
        return None
    of_all = all(len(group) == n_others for _, group in groups)
    over = "all other rows" if of_all else f"the other rows with the same {_names(header, keys)}, where NULL or a label means all"
    return _Totals(of_all, f"{', '.join(words)} over {over}", chance)


def _aggregate(whole: Sequence[tuple[Decimal, Sequence[Decimal]]]) -> tuple[str, float] | None:
    """Return the way in which each number aggregates its group, and its chance; None if there is none."""
    if (name := _find_aggregate(whole, {"sum": _WAYS["sum"]})) is None and all(abs(value - sum(of)) <= _noise(of) for value, of in whole):
        return "sum but for rounding", _chance("sum", whole) * max(len(values) + 1 for _, values in whole)
    name = name or _find_aggregate(whole, _WAYS)
    return None if name is None else (name, _chance(name, whole))


def _find_aggregate(whole: Sequence[tuple[Decimal, Sequence[Decimal]]], ways: Mapping[str, Aggregate]) -> str | None:
    """Return the first way in which each number aggregates its group. A constant group's extremes and mean are no evidence."""
    is_constant = all(len(set(values)) < 2 for _, values in whole)
    ways_to_try = (name for name in ways if name == "sum" or not is_constant)
    return next((name for name in ways_to_try if all(is_near(value, ways[name](values)) for value, values in whole)), None)


def _chance(way: str, whole: Sequence[tuple[Decimal, Sequence[Decimal]]]) -> float:
    """Return how likely unrelated numbers, one or more, are the aggregates of their groups."""
    logarithm = 0.0  # logarithm of the chance, base 10
    for value, values in whole:
        if way == "sum" and value not in values:
            logarithm -= len(value.normalize().as_tuple().digits)
            continue
        # An unrelated number is any between the smallest and the largest; if values repeat, any of them.
        steps = (max(values) - min(values)).scaleb(max(map(decimals, (value, *values)))) + 1
        n_different = len(set(values))
        logarithm -= log10(min(int(steps), n_different) if n_different < len(values) else int(steps))
    n_other_ways = 1 if way == "sum" else len(_WAYS) - 1
    return float(n_other_ways * 10.0 ** max(logarithm, log10(_LEAST_CHANCE)))


def _names(header: Sequence[str], keys: Sequence[int]) -> str:
    return " and ".join(repr(header[k]) for k in keys)


def _noise(values: Sequence[Decimal]) -> Decimal:
    """Return how far a sum of rounded parts may be off; whole numbers count as exact."""
    places = max(map(decimals, values))
    return Decimal("0.5").scaleb(-places) * (len(values) + 1) if places else Decimal(0)


Groups = dict[tuple[Any, ...], list[int]]


def wrong_level(a: Alignment) -> Iterator[Repaired]:
    """An answer whose groups make up gold's, or are made up of gold's: each number is the sum, maximum or minimum of a group."""
    n_gold, n_own = a.gold.n_rows, a.prediction.n_rows
    if not n_gold or not n_own or n_gold == n_own:
        return
    by, numbers = _keys_and_numbers(a)
    gold_groups, answer_groups = (
        _groups(a.columns.gold_keys, [j for j, _ in by], n_gold),
        _groups(a.columns.predicted_keys, [k for _, k in by], n_own),
    )
    fine, coarse = (answer_groups, gold_groups) if n_own > n_gold else (gold_groups, answer_groups)
    # The same groups, of one row each in the coarser table and of several rows somewhere in the finer one.
    is_finer = fine.keys() == coarse.keys() and max(map(len, coarse.values())) == 1 < max(map(len, fine.values()))
    if not numbers or not is_finer:
        return
    aggregated = _ways(a, numbers, fine, coarse)
    # A single number per group, or one of one digit, matches by accident.
    if aggregated is None or aggregated[2] > MOST_CHANCE:
        return
    ways, cells, chance = aggregated
    if not by and n_own < n_gold and not ways.keys() - {"maximum", "minimum"}:
        # The answer is one of gold's rows: "missing rows" is the simpler explanation.
        return
    where = f"by {', '.join(gold_header(a, j) for j, _ in by)}" if by else "all rows together"
    words = " and ".join(ways)
    if n_own > n_gold:
        says = f"{n_own} rows instead of gold's {n_gold}: their {words} by group equals gold's, so they are grouped too finely"
        yield Repaired(_one_row_per_group(a, cells, answer_groups, gold_groups), says, where, chance=chance)
    else:
        says = f"{count_words(n_own, 'row')} instead of gold's {n_gold}: the {words} of gold's by group, grouped too coarsely"
        yield Repaired(replace(a.gold, name=a.prediction.name), says, where, puts_gold_in=True, chance=chance)


def _keys_and_numbers(a: Alignment) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the pairs of a gold and a predicted column: (those with the same values, the others)."""
    pairs = [(j, k) for j, k in enumerate(a.partners) if k is not None]
    by = [(j, k) for j, k in pairs if set(a.columns.gold_bags[j]) == set(a.columns.predicted_bags[k])]
    return by, [pair for pair in pairs if pair not in by]


def _ways(
    a: Alignment, numbers: Sequence[tuple[int, int]], fine: Groups, coarse: Groups
) -> tuple[dict[str, None], dict[int, list[Any]], float] | None:
    """Return (ways, the aggregated cells of each predicted column, chance); None if a number column is aggregated in no way."""
    cells: dict[int, list[Any]] = {}
    ways, chance = dict[str, None](), 1.0
    for j, k in numbers:
        sides = a.prediction.columns[k], a.gold.columns[a.needed[j]]
        way = _match_aggregates(sides if a.prediction.n_rows > a.gold.n_rows else sides[::-1], fine, coarse, native=a.native)
        if way is None:
            return None
        ways[way[0]] = None
        cells[k] = way[1]
        chance *= way[2]
    return ways, cells, chance


def _one_row_per_group(a: Alignment, cells: dict[int, list[Any]], answer_groups: Groups, gold_groups: Groups) -> Table:
    """Return the prediction with the first row of each group and the aggregated cells in it, in gold's order if that counts."""
    firsts = [rows[0] for rows in answer_groups.values()]
    table = set_rows(a.prediction, [[column[row] for column in a.prediction.columns] for row in firsts])
    table = replace(table, columns=tuple(cells.get(k, column) for k, column in enumerate(table.columns)))
    if a.ordered:
        order = [list(answer_groups).index(name) for name in gold_groups]
        table = replace(table, columns=tuple([column[at] for at in order] for column in table.columns))
    return table


def _groups(keys: Sequence[Sequence[Any]], by: Sequence[int], n_rows: int) -> Groups:
    """Return the rows of each group, in the order of their first row."""
    groups: Groups = defaultdict(list)
    for row in range(n_rows):
        groups[tuple(keys[k][row] for k in by)].append(row)
    return dict(groups)


def _match_aggregates(sides: Sequence[Sequence[Any]], fine: Groups, coarse: Groups, *, native: bool) -> tuple[str, list[Any], float] | None:
    """Return (way, one value per fine group, chance) if the finer column aggregated by groups is the coarser one; else None.

    The chance is that of a group with a randomly added row, multiplied over the groups of several rows. One of n rows is the largest, or
    the smallest, with a chance of 1 in n; an unrelated number equals a sum of d digits once in 10^d.
    """
    finer, coarser = ([number(value, native=native) for value in column] for column in sides)
    if None in finer or None in coarser:
        return None
    whole = [
        (coarser[coarse[group][0]] or Decimal(0), [value for row in rows if (value := finer[row]) is not None])
        for group, rows in fine.items()
    ]
    if (way := _find_aggregate(whole, _TOGETHER)) is None:
        return None
    written = [write_number(_TOGETHER[way](values), sides[0][rows[0]]) for (_, values), rows in zip(whole, fine.values(), strict=True)]
    chance = 1.0 if way == "sum" else len(_TOGETHER) - 1.0
    for total, values in whole:
        if len(values) > 1:
            chance *= 1 / len(values) if total in values else 10.0 ** -len(total.normalize().as_tuple().digits)
    return way, written, chance
