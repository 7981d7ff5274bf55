"""Differences between two tables, computed once and used by both rules: which cells are written differently, and which rows.

Equal text is equal under every rule, so only cells that are written differently are parsed. Tables of text with many cells are compared as
packed text, thousands of cells at a time; all others as sequences. Both paths return identical results.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from evalsuite.compare.number_columns import NumberColumns, in_parts, surely_strictly_equal
from evalsuite.compare.numbers import Tolerance
from evalsuite.compare.official_cells import raw_column
from evalsuite.compare.strict_columns import with_cache
from evalsuite.compare.string_columns import (
    Packed,
    equal_cells,
    first_rows,
    is_same_run,
    pack,
    pack_values,
    packed_of,
    side_by_side,
    unpacked,
)
from evalsuite.compare.table_hashes import ArrayCache, HashedRows, left
from evalsuite.core.dataclasses import dataclass, field, replace
from evalsuite.core.types import Table

# From this many cells of one side on, packed text is worth the import of numpy.
PACKED_CELLS: Final = 2_000
_HEAD_ROWS: Final = 16
_AT_ONCE: Final = 4_096
# About this many cells of each side are compared to find the row of a key.
_MOST_SEARCHED: Final = 20_000_000
# A cell that more rows contain identifies none of them.
_MOST_ALIKE: Final = 10_000
Rows = Any
"""Row numbers from 0, ascending: a list, or an array if tables are packed."""


class RowByKey(NamedTuple):
    """A predicted row that has the key of a gold row: the pairs of columns of the key, and their cells."""

    row: int
    columns: Sequence[tuple[int, int]]
    cells: Sequence[str]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class TableDiff:
    """A gold and a predicted table of equally many rows: `tables` as read, `packed` if they are compared as packed text.

    Results are cached in `known`; for packed tables also in `numbers` and `hashes`.
    """

    gold: Table
    predicted: Table
    tables: tuple[Table, Table]
    packed: tuple[Packed, Packed] | None
    heads: tuple[Table, Table]
    numbers: NumberColumns
    hashes: HashedRows
    arrays: ArrayCache
    known: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def n_rows(self) -> int:
        """The number of rows of each side."""
        return self.gold.n_rows

    @property
    def is_big(self) -> bool:
        """Whether the tables have so many cells that a reason examines only some of them."""
        return self.packed is not None

    def as_packed(self) -> "TableDiff":
        """The same two tables compared as packed text, whatever their size and types."""
        if self.packed is not None:
            return self
        if "packed" not in self.known:
            is_text = self.gold.types is self.predicted.types is None
            packed = (pack(self.gold), pack(self.predicted)) if is_text else pack_values(self.gold, self.predicted)
            self.known["packed"] = _table_diff(self.gold, self.predicted, self.tables, packed)
        diff: TableDiff = self.known["packed"]
        return diff

    def unlike(self, i: int, k: int) -> Rows:
        """The rows in which gold column i and predicted column k are written differently."""
        if ("unlike", i, k) not in self.known:
            self.look([(i, k)])
        return self.known["unlike", i, k]

    def look(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Compute the unlike rows of several pairs in one pass over both tables."""
        new = [pair for pair in pairs if ("unlike", *pair) not in self.known]
        if not new:
            return
        if self.packed is None:
            unlike = [_unlike_cells(self.gold, self.predicted, *pair) for pair in new]
        else:
            unlike = [self._without_equal(*pair, rows) for pair, rows in zip(new, _unlike_packed(*self.packed, new), strict=True)]
        self.known.update((("unlike", *pair), rows) for pair, rows in zip(new, unlike, strict=True))

    def _without_equal(self, i: int, k: int, rows: Rows) -> Rows:
        """The rows without those in which the cells of a database are equal values: 0.0 and -0.0, 1.0 and 1.00."""
        import numpy as np

        assert self.packed is not None
        if len(rows) and self.packed[0].kinds[i] == self.packed[1].kinds[k] and self.packed[0].kinds[i] in ("float", "decimal"):
            return np.array([row for row, a, b in self.cells(i, k, rows) if a != b], np.int64)
        return rows

    def same(self, i: int, k: int) -> bool:
        """Whether two columns are written alike in every row."""
        types = self.gold.types, self.predicted.types
        if self.heads[0].columns[i] != self.heads[1].columns[k] or (types[0] and types[1] and types[0][i] != types[1][k]):
            return False
        return not len(self.unlike(i, k))

    def identical(self, chosen: Sequence[int]) -> list[int] | None:
        """For each chosen gold column a predicted column of its own with the very same values in the same order, or None.

        Such rows agree under every tolerance and order, so no cell is parsed and a correct answer costs almost nothing.
        """
        if not self.n_rows or (self.gold.types is None) != (self.predicted.types is None):
            return None
        by_name: dict[str, list[int]] = {}
        for k, name in enumerate(self.predicted.header):
            by_name.setdefault(name, []).append(k)
        by_head: dict[tuple[str, ...], list[int]] = {}
        for k, cells in enumerate(self.heads[1].columns):
            by_head.setdefault(tuple(map(repr, cells)), []).append(k)
        likely = []
        for i in chosen:
            near = by_head.get(tuple(map(repr, self.heads[0].columns[i])), [])
            likely.append(sorted(near, key=lambda k: (k != i, k not in by_name.get(self.gold.header[i], ()), k)))
        if not all(likely):
            return None
        self.look([(i, near[0]) for i, near in zip(chosen, likely, strict=True)])
        partners: dict[int, int] = {}
        for i, near in zip(chosen, likely, strict=True):
            partner = next((k for k in near if k not in partners and self.same(i, k)), None)
            if partner is None:
                return None
            partners[partner] = i
        return list(partners)

    def cells(self, i: int, k: int, rows: Rows) -> Iterator[tuple[int, Any, Any]]:
        """(row, gold cell, predicted cell) of some rows, as written."""
        for start in range(0, len(rows), _AT_ONCE):
            part = rows[start : start + _AT_ONCE]
            yield from zip(_plain(part), self.written(0, i, part), self.written(1, k, part), strict=True)

    def written(self, side: int, column: int, rows: Rows) -> list[Any]:
        """The cells of a column (side 0: gold's) in some rows as written."""
        if self.packed is not None:
            return self.packed[side].cells(column, rows)
        cells = (self.gold, self.predicted)[side].columns[column]
        return [cells[row] for row in rows]

    def suspects(self, i: int, k: int, tolerance: Tolerance) -> Rows:
        """The unlike rows without those whose cells certainly are the same number under the strict rules."""
        rows = self.unlike(i, k)
        if self.packed is None or len(rows) <= _HEAD_ROWS:
            return rows
        import numpy as np

        a, b = self.numbers.column(0, i), self.numbers.column(1, k)
        if a is None or b is None:
            return rows
        return np.concatenate([part[~surely_strictly_equal(a.at(part), b.at(part), tolerance)] for (part,) in in_parts(rows)])

    def are_numbers(self, i: int, k: int) -> bool:
        """Whether all cells of two packed columns are numbers or empty."""
        return self.numbers.column(0, i) is not None and self.numbers.column(1, k) is not None

    def row_by_key(self, row: int, pairs: Sequence[tuple[int, int]]) -> RowByKey | None:
        """The only predicted row that is written like a gold row in a key that no other row has on either side; None if there is none.

        The key consists of as few as possible of these pairs of columns; decimals are tried last, and only if nothing else tells rows
        apart.
        """
        key: list[tuple[tuple[int, int], set[int], set[int]]] = []
        mine, theirs = set[int](), set[int]()
        for pair, own, others in self._rows_alike(row, pairs):
            if key and not others & theirs:
                continue
            mine, theirs = (mine & own, theirs & others) if key else (own, others)
            key.append((pair, own, others))
            if len(mine) == len(theirs) == 1:
                break
        if len(mine) != 1 or len(theirs) != 1:
            return None
        for part in key[:-1]:
            rest = [item for item in key if item is not part]
            if _is_unique([own for _, own, _ in rest]) and _is_unique([others for _, _, others in rest]):
                key = rest
        columns = tuple(pair for pair, _, _ in key)
        return RowByKey(min(theirs), columns, tuple(str(self.written(0, i, [row])[0]) for i, _ in columns))

    def _rows_alike(self, row: int, pairs: Sequence[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], set[int], set[int]]]:
        """(Pair of columns, the gold and the predicted rows that are written like a gold row there), for cells that say something."""
        texts = {pair: text for pair in pairs if (text := self.written(0, pair[0], [row])[0]) not in (None, "")}
        if len(texts) * self.n_rows > _MOST_SEARCHED:
            return
        for pair in sorted(texts, key=lambda pair: "." in str(texts[pair])):
            own, others = (self._rows_written(side, pair[side], texts[pair]) for side in (0, 1))
            if others and max(len(own), len(others)) <= _MOST_ALIKE:
                yield pair, own, others

    def _rows_written(self, side: int, column: int, text: Any) -> set[int]:
        """The rows of a column (side 0: gold's) whose cells are written in this way."""
        packed = self.packed[side] if self.packed is not None else None
        if packed is not None and _AS_TEXT.get(packed.kinds[column]) is type(text):
            return set(packed.rows_of(column, str(text)).tolist())
        cells = (self.gold, self.predicted)[side].columns[column]
        return {row for row, cell in enumerate(cells) if cell == text}

    def spare(self, columns: Sequence[int], partners: Sequence[int]) -> tuple[Rows, Rows]:
        """The gold and the predicted rows that remain when rows that are written alike in these columns are paired off from the top."""
        if self.packed is not None:
            return self.hashes.spare(columns, partners)
        gold = list(zip(*(_written(self.gold, i) for i in columns), strict=True))
        predicted = list(zip(*(_written(self.predicted, k) for k in partners), strict=True))
        try:
            return left(gold, Counter(predicted)), left(predicted, Counter(gold))
        except TypeError:
            # Lists and structs have no hash.
            return list(range(self.n_rows)), list(range(self.n_rows))


# The kinds of packed columns whose cells are equal exactly when their texts are, with the type of the cells.
_AS_TEXT: Final[dict[str, type]] = {"": str, "text": str, "int": int}


def _is_unique(rows: Sequence[set[int]]) -> bool:
    """Whether one row is in all of these sets."""
    return len(set.intersection(*rows)) == 1


def compare(gold: Table, predicted: Table) -> TableDiff:
    """The differences of two tables of equally many rows; the number of cells decides how they are compared, not their source."""
    tables, packed = (gold, predicted), None
    is_small = gold.n_rows * max(len(gold.columns), len(predicted.columns)) < PACKED_CELLS
    sides = [packed_of(table) for table in tables]
    if not is_small and gold.columns and predicted.columns and (all(sides) or gold.types is predicted.types is None):
        # Comparing lists that are equal is faster than packing them.
        mine, is_same = sides[0] or pack(gold), not any(sides) and gold.columns == predicted.columns
        packed = mine, mine if is_same else sides[1] or pack(predicted)
    elif is_small:
        gold, predicted = with_cache(gold), with_cache(predicted)
    else:
        gold, predicted = unpacked(gold), unpacked(predicted)
    return _table_diff(gold, predicted, tables, packed)


def _table_diff(gold: Table, predicted: Table, tables: tuple[Table, Table], packed: tuple[Packed, Packed] | None) -> TableDiff:
    if packed is not None:
        gold, predicted = (replace(table, columns=side.columns()) for table, side in zip((gold, predicted), packed, strict=True))
    heads, arrays = (first_rows(gold, _HEAD_ROWS), first_rows(predicted, _HEAD_ROWS)), ArrayCache(gold.n_rows)
    return TableDiff(
        gold=gold,
        predicted=predicted,
        tables=tables,
        packed=packed,
        heads=heads,
        numbers=NumberColumns(packed or (), heads, arrays),
        hashes=HashedRows(packed or (), arrays),
        arrays=arrays,
    )


class Comparisons:
    """The comparisons of one answer: each of its tables is compared with each gold table once, for both rules."""

    def __init__(self) -> None:
        self._known: list[TableDiff] = []
        self._identical: list[tuple[Table, Table, list[int], list[int] | None]] = []

    def of(self, gold: Table, predicted: Table) -> TableDiff:
        """The differences of two tables of equally many rows."""
        for known in self._known:
            if known.tables[0] is gold and known.tables[1] is predicted:
                return known
        self._known.append(compare(gold, predicted))
        return self._known[-1]

    def identical(self, gold: Table, predicted: Table, chosen: Sequence[int]) -> list[int] | None:
        """`TableDiff.identical` of two tables of equally many rows; if gold's texts are in the same columns, no `TableDiff` is created."""
        for table, other, asked, partners in self._identical:
            if table is gold and other is predicted and asked == chosen:
                return partners
        partners = list(chosen) if _are_texts_in_place(gold, predicted, chosen) else self.of(gold, predicted).identical(chosen)
        self._identical.append((gold, predicted, list(chosen), partners))
        return partners


def _are_texts_in_place(gold: Table, predicted: Table, chosen: Sequence[int]) -> bool:
    """Whether each chosen column, a list of texts, equals the predicted column with the same number."""
    if gold.types is not None or predicted.types is not None or not gold.n_rows or len(set(chosen)) < len(chosen):
        return False
    n_shared = min(len(gold.columns), len(predicted.columns))
    pairs = [(gold.columns[i], predicted.columns[i]) for i in chosen if i < n_shared]
    return len(pairs) == len(chosen) and all(isinstance(a, list) and isinstance(b, list) and a == b for a, b in pairs)


def _written(table: Table, column: int) -> Sequence[Any]:
    """A column as written, in a form that is equal for cells that are."""
    return raw_column(table, column) if table.types is None else table.columns[column]


def _plain(rows: Rows) -> list[int]:
    return rows if isinstance(rows, list) else list(map(int, rows))


def _unlike_cells(gold: Table, predicted: Table, i: int, k: int) -> list[int]:
    if gold.types is None and predicted.types is None and gold.columns[i] == predicted.columns[k]:
        return []
    a, b = _written(gold, i), _written(predicted, k)
    if gold.types is None and predicted.types is None:
        return [row for row, (x, y) in enumerate(zip(a, b, strict=True)) if x != y]
    return [
        row
        for row, (x, y) in enumerate(zip(a, b, strict=True))
        if x is not y and (type(x) is not type(y) or x != y) and not (x != x and y != y)
    ]


def _unlike_packed(gold: Packed, predicted: Packed, pairs: Sequence[tuple[int, int]]) -> list[Rows]:
    import numpy as np

    chosen, partners = [i for i, _ in pairs], [k for _, k in pairs]
    parts_of: list[list[Any]] = [[np.empty(0, np.int32)] for _ in pairs]
    is_all = chosen == partners == list(range(gold.width)) == list(range(predicted.width))
    if is_all and gold.kinds == predicted.kinds and gold.frames == predicted.frames:
        return [parts[0] for parts in parts_of]
    start = 0
    for a, b in side_by_side(gold.blocks(), predicted.blocks()):
        if not (is_all and is_same_run(a, b)):
            same = equal_cells(a, chosen, b, partners)
            for at in np.flatnonzero(~same.all(axis=0)).tolist():
                parts_of[at].append(np.flatnonzero(~same[:, at]).astype(np.int32) + np.int32(start))
        start += len(a)
    everywhere = np.arange(start, dtype=np.int32)
    same_kinds = [gold.kinds[i] == predicted.kinds[k] for i, k in pairs]
    return [np.concatenate(parts) if alike else everywhere for parts, alike in zip(parts_of, same_kinds, strict=True)]
