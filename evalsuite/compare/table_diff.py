"""Differences between two tables, computed once and used by both rules: which cells are written differently, and which rows.

Equal text is equal under every rule, so only cells that are written differently are parsed. `TableDiff` compares small tables cell by cell,
`BulkDiff` thousands of packed cells at a time. Both return identical results, and no other file knows which tables are small.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

from evalsuite.compare.columns import Arrays, Column, are_worth_arrays, packed_of, with_columns
from evalsuite.compare.packed_text import Packed, equal_cells, is_same_run, side_by_side
from evalsuite.compare.table_hashes import HashedRows, spare_rows
from evalsuite.core.import_ref import np
from evalsuite.core.scores import Table

Result = TypeVar("Result")

# About this many cells of a small table are looked at to tell which column is nearest.
_RANKED_CELLS: Final = 20_000
_AT_ONCE: Final = 4_096
# About this many cells of each side are compared to find the row of a key.
_MOST_SEARCHED: Final = 20_000_000
# A cell that more rows contain identifies none of them.
_MOST_ALIKE: Final = 10_000
Rows = Any
"""Row numbers from 0, ascending: a list, or an array of a `BulkDiff`."""


class RowByKey(NamedTuple):
    """A predicted row that has the key of a gold row: the pairs of columns of the key, and their cells."""

    row: int
    columns: Sequence[tuple[int, int]]
    cells: Sequence[str]


class TableDiff:
    """A gold and a predicted table of equally many rows, compared cell by cell; `columns` are those of either, `tables` the two as read.

    `cell_cost` is what reading a cell costs, in cells that a verdict compares.
    """

    cell_cost: ClassVar[int] = 2

    def __init__(self, gold: Table, predicted: Table) -> None:
        self.tables, self.arrays = (gold, predicted), Arrays()
        # Cells of databases are compared as values, unless both tables are packed.
        by_value = not (gold.types is predicted.types is None) and (packed_of(gold) is None or packed_of(predicted) is None)
        self.gold, self.predicted = (with_columns(table, self.arrays, by_value=by_value) for table in self.tables)
        self.columns: tuple[Sequence[Column], Sequence[Column]] = (self.gold.columns, self.predicted.columns)  # type: ignore[assignment]
        self._results: dict[Any, Any] = {}

    @cached_property
    def hashes(self) -> HashedRows:
        """The hashes of rows and columns, and what they show."""
        return HashedRows(self.columns, self.arrays)

    @property
    def n_rows(self) -> int:
        """The number of rows of each side."""
        return self.gold.n_rows

    def compute_once(self, name: Any, compute: Callable[[], Result]) -> Result:
        """The result of a function, which is called once for each name."""
        if name not in self._results:
            self._results[name] = compute()
        result: Result = self._results[name]
        return result

    def try_in_bulk(self, compute: "Callable[[BulkDiff], Result | None]") -> Result | None:
        """What a function finds out in bulk; None where comparing cell by cell is quicker, or if the function returns None."""
        return None

    def n_sampled(self, n_columns: int) -> int:
        """How many first rows of so many columns a reason compares to tell which column is nearest."""
        return min(self.n_rows, max(1, _RANKED_CELLS // max(1, n_columns)))

    def unlike(self, i: int, k: int) -> Rows:
        """The rows in which gold column i and predicted column k are written differently."""
        self.look([(i, k)])
        return self._results["unlike", i, k]

    def look(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Compute the unlike rows of several pairs in one pass over both tables."""
        if new := [pair for pair in pairs if ("unlike", *pair) not in self._results]:
            self._results.update((("unlike", *pair), rows) for pair, rows in zip(new, self._unlike_rows(new), strict=True))

    def _unlike_rows(self, pairs: Sequence[tuple[int, int]]) -> list[Rows]:
        return [_unlike_cells(self.columns[0][i], self.columns[1][k]) for i, k in pairs]

    def is_same_text(self, i: int, k: int) -> bool:
        """Whether two columns are written alike in every row."""
        gold_type, predicted_type = (table.types and table.types[at] for table, at in ((self.gold, i), (self.predicted, k)))
        if self.columns[0][i].head != self.columns[1][k].head or gold_type != predicted_type:
            return False
        return not len(self.unlike(i, k))

    def with_head(self, side: int, columns: Iterable[int]) -> dict[tuple[str, ...], list[int]]:
        """Some columns of a side by their first rows."""
        by_head: dict[tuple[str, ...], list[int]] = {}
        for column in columns:
            by_head.setdefault(self.head(side, column), []).append(column)
        return by_head

    def head(self, side: int, column: int) -> tuple[str, ...]:
        """The first cells of a column, in a form that distinguishes values of different types."""
        return tuple(map(repr, self.columns[side][column].head))

    def identical(self, chosen: Sequence[int]) -> list[int] | None:
        """For each chosen gold column a predicted column of its own with the very same values in the same order, or None.

        Such rows agree under every tolerance and order, so no cell is parsed and a correct answer costs almost nothing.
        """
        if not self.n_rows or (self.gold.types is None) != (self.predicted.types is None):
            return None
        by_head, names = self.with_head(1, range(len(self.predicted.columns))), self.predicted.header
        candidates = [sorted(by_head.get(self.head(0, i), ()), key=lambda k: (k != i, names[k] != self.gold.header[i], k)) for i in chosen]
        if not all(candidates):
            return None
        self.look((i, near[0]) for i, near in zip(chosen, candidates, strict=True))
        partners: dict[int, int] = {}
        for i, near in zip(chosen, candidates, strict=True):
            partner = next((k for k in near if k not in partners and self.is_same_text(i, k)), None)
            if partner is None:
                return None
            partners[partner] = i
        return list(partners)

    def cells(self, i: int, k: int, rows: Rows) -> Iterator[tuple[int, Any, Any]]:
        """(row, gold cell, predicted cell) of some rows, as written."""
        for start in range(0, len(rows), _AT_ONCE):
            part = rows[start : start + _AT_ONCE]
            yield from zip(map(int, part), self.columns[0][i].cells(part), self.columns[1][k].cells(part), strict=True)

    def row_by_key(self, row: int, pairs: Sequence[tuple[int, int]]) -> RowByKey | None:
        """The only predicted row that is written like a gold row in a key that no other row has on either side; None if there is none.

        The key consists of as few as possible of these pairs of columns; decimals are tried last, and only if nothing else tells rows
        apart.
        """
        cells = {pair: cell for pair in pairs if (cell := self.columns[0][pair[0]].cells([row])[0]) not in (None, "")}
        if len(cells) * self.n_rows > _MOST_SEARCHED:
            return None
        key, rows = list[tuple[int, int]](), self._all_rows
        for pair in sorted(cells, key=lambda pair: "." in str(cells[pair])):
            alike = self._rows_alike(rows, pair, cells[pair])
            if alike[1] and (key or max(map(len, alike)) <= _MOST_ALIKE):
                key, rows = [*key, pair], alike
            if len(rows[0]) == len(rows[1]) == 1:
                break
        else:
            return None
        for part in key[:-1]:
            rest, rows_of_rest = [pair for pair in key if pair != part], self._all_rows
            for pair in rest:
                rows_of_rest = self._rows_alike(rows_of_rest, pair, cells[pair])
            key = rest if len(rows_of_rest[0]) == len(rows_of_rest[1]) == 1 else key
        return RowByKey(rows[1][0], tuple(key), tuple(str(cells[pair]) for pair in key))

    @property
    def _all_rows(self) -> tuple[Sequence[int], Sequence[int]]:
        return range(self.n_rows), range(self.n_rows)

    def _rows_alike(self, rows: tuple[Sequence[int], Sequence[int]], pair: tuple[int, int], cell: Any) -> tuple[list[int], list[int]]:
        """Those of some gold and predicted rows in which a pair of columns contains this cell, as it is written."""

        def alike(side: int) -> list[int]:
            column = self.columns[side][pair[side]]
            if len(rows[side]) == self.n_rows:
                return column.rows_of(cell)
            return [row for row, written in zip(rows[side], column.cells(rows[side]), strict=True) if written == cell]

        predicted = alike(1)
        return alike(0) if predicted else [], predicted

    def spare(self, columns: Sequence[int], partners: Sequence[int]) -> tuple[Rows, Rows]:
        """The gold and the predicted rows that remain when rows that are written alike in these columns are paired off from the top."""
        gold, predicted = (
            list(zip(*(side[at].texts() for at in positions), strict=True))
            for side, positions in zip(self.columns, (columns, partners), strict=True)
        )
        return spare_rows(gold, Counter(predicted)), spare_rows(predicted, Counter(gold))

    def are_permuted(self, columns: Sequence[int], partners: Sequence[int]) -> bool:
        """Whether both sides have the same rows in these columns, in any order, as they are written."""
        return not any(map(len, self.spare(columns, partners)))


class BulkDiff(TableDiff):
    """Two tables as packed text, compared by numpy."""

    cell_cost = 15

    def try_in_bulk(self, compute: "Callable[[BulkDiff], Result | None]") -> Result | None:
        """As in `TableDiff`."""
        return compute(self)

    def n_sampled(self, n_columns: int) -> int:
        """As in `TableDiff`."""
        return len(self.columns[0][0].head)

    def _unlike_rows(self, pairs: Sequence[tuple[int, int]]) -> list[Rows]:
        unlike = _unlike_packed(self.columns[0][0].packed, self.columns[1][0].packed, pairs)
        return [self._without_equal(*pair, rows) for pair, rows in zip(pairs, unlike, strict=True)]

    def _without_equal(self, i: int, k: int, rows: Rows) -> Rows:
        """The rows without those in which the cells of a database are equal values: 0.0 and -0.0, 1.0 and 1.00."""
        if len(rows) and self.columns[0][i].kind == self.columns[1][k].kind and self.columns[0][i].kind in ("float", "decimal"):
            return np.array([row for row, a, b in self.cells(i, k, rows) if a != b], np.int64)
        return rows

    def spare(self, columns: Sequence[int], partners: Sequence[int]) -> tuple[Rows, Rows]:
        """As in `TableDiff`."""
        return self.hashes.spare(columns, partners)

    def are_permuted(self, columns: Sequence[int], partners: Sequence[int]) -> bool:
        """As in `TableDiff`."""
        for side, positions in enumerate((columns, partners)):
            self.hashes.compute_bags(side, positions)
        return all(map(self.hashes.may_be_alike, columns, partners)) and super().are_permuted(columns, partners)


def compare(gold: Table, predicted: Table) -> TableDiff:
    """The differences of two tables of equally many rows; the number of cells decides how they are compared, not their source."""
    return (BulkDiff if are_worth_arrays(gold, predicted) else TableDiff)(gold, predicted)


class Comparisons:
    """The comparisons of one answer: each of its tables is compared with each gold table once, for both rules."""

    def __init__(self) -> None:
        self._known: list[TableDiff] = []
        self._identical: list[tuple[Table, Table, list[int], list[int] | None]] = []
        self._judged: list[tuple[Table, Table, Any, Any]] = []

    def compare(self, gold: Table, predicted: Table) -> TableDiff:
        """The differences of two tables of equally many rows."""
        for diff in self._known:
            if diff.tables[0] is gold and diff.tables[1] is predicted:
                return diff
        self._known.append(compare(gold, predicted))
        return self._known[-1]

    def judge_once(self, gold: Table, predicted: Table, options: Any, judge: "Callable[[], Result]") -> Result:
        """What `judge` returns for two tables under these options; it is called once."""
        for table, other, known, result in self._judged:
            if table is gold and other is predicted and known == options:
                return result  # type: ignore[no-any-return]
        self._judged.append((gold, predicted, options, judge()))
        return self._judged[-1][-1]  # type: ignore[no-any-return]

    def identical(self, gold: Table, predicted: Table, chosen: Sequence[int]) -> list[int] | None:
        """`TableDiff.identical` of two tables of equally many rows; if gold's texts are in the same columns, no `TableDiff` is created."""
        for table, other, columns, partners in self._identical:
            if table is gold and other is predicted and columns == chosen:
                return partners
        partners = list(chosen) if _are_texts_in_place(gold, predicted, chosen) else self.compare(gold, predicted).identical(chosen)
        self._identical.append((gold, predicted, list(chosen), partners))
        return partners


def _are_texts_in_place(gold: Table, predicted: Table, chosen: Sequence[int]) -> bool:
    """Whether each chosen column, a list of texts, equals the predicted column with the same number."""
    if gold.types is not None or predicted.types is not None or not gold.n_rows or len(set(chosen)) < len(chosen):
        return False
    n_shared = min(len(gold.columns), len(predicted.columns))
    return all(i < n_shared and gold.columns[i] == predicted.columns[i] for i in chosen)


def _unlike_cells(gold: Column, predicted: Column) -> list[int]:
    pairs = enumerate(zip(gold, predicted, strict=True))
    if not (gold.kind or predicted.kind):
        return [] if gold == predicted else [row for row, (x, y) in pairs if x != y]
    return [row for row, (x, y) in pairs if x is not y and (type(x) is not type(y) or x != y) and not (x != x and y != y)]


def _unlike_packed(gold: Packed, predicted: Packed, pairs: Sequence[tuple[int, int]]) -> list[Rows]:
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
    return [np.concatenate(parts) if is_same_kind else everywhere for parts, is_same_kind in zip(parts_of, same_kinds, strict=True)]
