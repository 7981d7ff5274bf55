"""Official rules for tables: whether a predicted table contains the needed columns of gold, and a database all of gold's tables.

Each needed gold column must equal some predicted column; headers, additional columns and the association of cells to rows are ignored
(Spider2 `eval_utils.compare_pandas_table`). The reference compares every pair of columns each time; here each column is typed and sorted at
most once, and columns with equal text are accepted without typing.

`Side` types columns as Python values. For big tables `OfficialColumns` creates Python values only for cells that are written
differently, and returns None where only all values can decide. Two plain cells of a database of one type that are the same are equal to the
reference whatever their frames make of them, except empty integers and booleans, which make a comparison fail.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from evalsuite.compare.columns import Column, has_long_integer
from evalsuite.compare.duckdb_fetchdf_compat import column_of, database_columns, turns_into_floats
from evalsuite.compare.messages import (
    LONGEST_FLOAT,
    SORTED_APART,
    Closeness,
    all_match,
    are_reasons_wanted,
    cell_of_row,
    cell_text,
    cells_differ,
    closest,
    nearest_by_rank,
    no_match,
    reference_fails,
    row_count,
    shorten,
    table_count,
    unlike_cells,
)
from evalsuite.compare.number_columns import (
    differ_officially,
    in_order,
    in_parts,
    is_surely_text,
    officially_equal,
    surely_unequal,
)
from evalsuite.compare.official_cells import (
    NA_WORDS,
    NAN,
    RESULT_SUITES,
    Reference,
    Typed,
    Uncomparable,
    Vector,
    columns_equal,
    count_unmatched,
    differing_rows,
    n_numbers_left,
    official_frame,
    raw_column,
    surely_equal,
    typed_column,
)
from evalsuite.compare.table_diff import BulkDiff, Comparisons, TableDiff
from evalsuite.core.dataclasses import replace
from evalsuite.core.errors import count_words, describe
from evalsuite.core.import_ref import np
from evalsuite.core.scores import Fault, Score, Table

# Up to this many rows are looked at to find one whose key the other side has too.
_ROWS_TRIED: Final = 5
# An integer of this many characters may be written differently as a float, or exceed 64 bits.
_WIDE: Final = 16
_PLAIN: Final = 1e15
# An empty cell of a database column of these kinds is a NaN or NaT of pandas, which can be compared with everything.
_COMPARABLE_NULLS: Final = ("text", "float", "decimal", "date", "moment")


class Kind(NamedTuple):
    """The type that pandas gives a column: `number`, `bool`, `text`, `value` (other types of a database) or undecided (""), and how many
    cells are empty or true.
    """

    name: str
    is_whole: bool = False
    n_empty: int = 0
    n_true: int = 0


class OfficialColumns:
    """The columns of two big tables as the reference compares them: `chosen` ones of gold, all of the predicted table."""

    def __init__(self, evidence: BulkDiff, chosen: Sequence[int], *, ignore_order: bool, empty_is_zero: bool) -> None:
        self.evidence, self.ignore_order, self.empty_is_zero = evidence, ignore_order, empty_is_zero
        self.tables, self.chosen = (evidence.gold, evidence.predicted), (list(chosen), list(range(len(evidence.predicted.columns))))
        self.is_database = evidence.gold.types is not None
        frames = [[table.types[at] for at in chosen] for table, chosen in zip(self.tables, self.chosen, strict=True) if table.types]
        self.has_like_frames = len(set(map(turns_into_floats, frames))) < 2

    def can_judge(self) -> bool:
        """Whether, in a database, no comparison with an empty cell can raise and no column has only empty cells."""
        columns = [side[at] for side, chosen in zip(self.evidence.columns, self.chosen, strict=True) for at in chosen]
        with_null = [column for column in columns if self.is_database and column.has_null]
        return all(not self.empty_is_zero and column.kind in _COMPARABLE_NULLS and self.kind(column).name for column in with_null)

    def _pair(self, i: int, k: int) -> tuple[Column, Column]:
        return self.evidence.columns[0][i], self.evidence.columns[1][k]

    def are_equal(self, i: int, k: int) -> bool | None:
        """Whether gold column i equals predicted column k, None if undecided."""
        if self.ignore_order:
            return self.evidence.compute_once(("bags", i, k, self.empty_is_zero, self.has_like_frames), lambda: self._as_bags(i, k))
        if self._are_heads_apart(i, k):
            return False
        return None if (unequal := self._unequal(i, k)) is None else next(unequal, None) is None

    def _are_heads_apart(self, i: int, k: int) -> bool:
        """Whether the first rows show that two columns differ in order."""
        a, b = (column.head for column in self._pair(i, k))
        if self.is_database:
            return not columns_equal(self._column(0, i, a), self._column(1, k, b))
        pairs = (pair for pair in zip(a, b, strict=True) if not (self.empty_is_zero and not NA_WORDS.isdisjoint(pair)))
        return any(surely_unequal(x, y) for x, y in pairs)

    def differing_rows(self, i: int, k: int) -> Any:
        """The rows, in order, in which two columns differ; None if undecided."""
        parts = self._unequal(i, k)
        return None if parts is None else np.concatenate([np.empty(0, np.int64), *parts])

    def _unequal(self, i: int, k: int) -> "Iterator[Any] | None":
        """The rows in which two columns differ, in parts; None if undecided."""
        if not len(self.evidence.unlike(i, k)):
            return iter(())
        gold, predicted = self._pair(i, k)
        kinds = self.kind(gold).name, self.kind(predicted).name
        if "" in kinds or ("bool" in kinds and not self.is_database):
            return None
        # Cells that are written alike are equal in columns of one kind.
        rows = self.evidence.unlike(i, k) if kinds[0] == kinds[1] else np.arange(self.evidence.n_rows)
        if kinds == ("number", "number"):
            values = list(map(self._values, self._pair(i, k)))
            unequal = (part[~officially_equal(values[0][part], values[1][part])] for (part,) in in_parts(rows))
        elif kinds == ("text", "text"):
            unequal = (part[~(gold.are_null(part) & predicted.are_null(part))] for (part,) in in_parts(rows))
        else:
            unequal = (self._unequal_cells(i, k, part) for (part,) in in_parts(rows))
        return (part for part in unequal if len(part))

    def _unequal_cells(self, i: int, k: int, rows: Any) -> Any:
        gold, predicted = (self._column(side, at, self.evidence.columns[side][at].cells(rows)) for side, at in ((0, i), (1, k)))
        return rows[differing_rows(gold, predicted, len(rows))]

    def _column(self, side: int, column: int, cells: Sequence[Any]) -> Vector:
        """Some cells of a column as the reference compares them."""
        if self.is_database:
            return column_of(cells, self.tables[side], self.chosen[side], column)
        kind, empty = self.kind(self.evidence.columns[side][column]), 0 if self.empty_is_zero else NAN
        if kind.name != "number":
            return Vector([empty if cell in NA_WORDS else cell for cell in cells], "text")
        read = int if kind.is_whole else float
        return Vector([empty if cell in NA_WORDS else read(cell) for cell in cells], "number")

    def value(self, side: int, column: int, row: int) -> Any:
        """A cell as the reference compares it."""
        return self._column(side, column, self.evidence.columns[side][column].cells([row])).values[0]

    def _as_bags(self, i: int, k: int) -> bool | None:
        if self.evidence.hashes.has_same_texts(i, k):
            return None if self.is_wide(self.evidence.columns[0][i]) else True
        gold, predicted = map(self.kind, self._pair(i, k))
        names = {gold.name, predicted.name}
        if "" in names:
            return None
        if "text" in names:
            return names == {"text"} and self._are_rest_empty(i, k)
        if names == {"bool"}:
            return gold.n_true == predicted.n_true
        if names <= {"bool", "number"}:
            return self._numbers_as_bags(i, k, gold, predicted)
        kinds = {column.kind for column in self._pair(i, k)}
        if kinds == {"date", "moment"}:
            days = [Counter(str(cell).removesuffix(" 00:00:00") for cell in column) for column in self._pair(i, k)]
            return days[0] == days[1]
        return None if kinds.isdisjoint({"date", "moment"}) else False

    def _are_rest_empty(self, i: int, k: int) -> bool:
        """Whether the cells of two columns of text that remain when equal ones are paired off are empty."""
        gold, predicted = self._pair(i, k)
        if self._filled_bag(gold) != self._filled_bag(predicted):
            return False
        return all(bool(column.are_null(rows).all()) for column, rows in zip((gold, predicted), self.evidence.spare([i], [k]), strict=True))

    def _filled_bag(self, column: Column) -> int:
        """The sum of the hashes of the cells that are not empty."""

        def compute() -> int:
            return int(column.hashes()[~column.are_null(np.arange(len(column)))].sum(dtype=np.uint64))

        return column.array(("filled", column.arrays.keys.are_numbers), compute)

    def _numbers_as_bags(self, i: int, k: int, gold: Kind, predicted: Kind) -> bool | None:
        """Compare in ascending order: if numbers can be paired within the tolerance at all, the i-th smallest pair with each other."""
        x, y = map(self._ascending, self._pair(i, k))
        if len(x) != len(y) or any(bool(differ_officially(*part).any()) for part in in_parts(x, y)):
            return False
        is_mixed = gold.name != predicted.name or (self.empty_is_zero and (gold.n_empty or predicted.n_empty))
        if is_mixed or max(column.summary.size for column in self._pair(i, k)) >= _PLAIN:
            return None
        a, b = map(self._values, self._pair(i, k))
        if bool((x == y).all()) and int(np.signbit(a).sum()) == int(np.signbit(b).sum()) == int((a < 0).sum()):
            return True
        return bool(officially_equal(_by_text(a, gold.is_whole), _by_text(b, predicted.is_whole)).all())

    def _ascending(self, column: Column) -> Any:
        """The numbers of a column in ascending order, where booleans are 0 and 1."""
        if (kind := self.kind(column)).name == "bool":
            return np.repeat([0.0, 1.0], [len(column) - kind.n_true, kind.n_true])
        return in_order(self._values(column)) if self.empty_is_zero else column.sorted_numbers()

    def _values(self, column: Column) -> Any:
        numbers = column.numbers()
        assert numbers is not None
        return np.where(np.isnan(numbers.values), 0.0, numbers.values) if self.empty_is_zero else numbers.values

    def kind(self, column: Column) -> Kind:
        """The type that pandas gives a column."""
        return column.once("kind", lambda: self._kind(column))

    def _kind(self, column: Column) -> Kind:
        if column.kind in ("text", "date", "moment"):
            is_empty = column.has_null and all(cell is None for cell in column)
            return Kind("" if is_empty else "text" if column.kind == "text" else "value")
        if not self.is_database and any(map(is_surely_text, column.head)):
            return Kind("" if self.is_wide(column) else "text")
        summary = column.summary
        if summary.n_empty == len(column):
            return Kind("")
        if not (summary.are_numbers and _are_floats(column)):
            return self._no_numbers(column) if column.kind in ("", "bool") else Kind("value")
        is_whole = summary.is_whole and column.kind in ("", "int")
        # Integers with an empty cell become floats.
        if not (is_whole or summary.n_empty or summary.are_plain or self.is_database):
            is_whole = typed_column(list(column)).kind in ("int", "uint")
        return Kind("number", is_whole, summary.n_empty)

    def _no_numbers(self, column: Column) -> Kind:
        texts = Counter(map(str, column))
        if any(map(is_surely_text, texts)):
            return Kind("" if self.is_wide(column) else "text")
        if not {text.lower() for text in texts} <= {"true", "false"}:
            return Kind("")
        return Kind("bool", n_true=sum(n for text, n in texts.items() if text.lower() == "true"))

    def is_wide(self, column: Column) -> bool:
        """Whether a cell may be an integer that is written differently as a float, or exceeds 64 bits."""
        if self.is_database:
            return not self.has_like_frames and column.kind == "int" and column.summary.size >= _PLAIN
        return column.once("wide", lambda: column.has_long_integer(_WIDE))

    def count_unmatched(self, i: int, k: int) -> tuple[int, Sequence[int]] | None:
        """`count_unmatched` of two columns; None if undecided."""
        gold, predicted = self._pair(i, k)
        kinds = self.kind(gold).name, self.kind(predicted).name
        if self.empty_is_zero or not set(kinds) <= {"number", "text"}:
            return None
        if kinds == ("number", "number"):
            values, x, y = self._values(gold), self._ascending(gold), self._ascending(predicted)
            n_empty, n_shared = self.kind(predicted).n_empty, min(len(x), len(y))
            # Numbers are paired in ascending order, up to the first that does not equal its counterpart without a look at the others.
            start = int(np.argmin(np.append(officially_equal(x[:n_shared], y[:n_shared]), False)))
            n_filled = n_numbers_left(x[start:].data, y[start:].data)
            # How many equal numbers precede one on its own side, and how many the other side has.
            before = np.arange(len(x)) - np.searchsorted(x, x)
            there = np.searchsorted(y, x, "right") - np.searchsorted(y, x)
            filled = np.argsort(values, kind="stable")[: len(x)][before >= there] if n_filled else np.empty(0, np.int64)
            empty = np.flatnonzero(np.isnan(values))[n_empty:]
        else:
            rows = self.evidence.spare([i], [k])
            # Equal texts among numbers are numbers too, which equal no text.
            everywhere = np.arange(self.evidence.n_rows)
            rows = rows if kinds[0] == kinds[1] else (everywhere, everywhere)
            are_empty = gold.are_null(rows[0]), predicted.are_null(rows[1])
            filled, empty = rows[0][~are_empty[0]], rows[0][are_empty[0]][int(are_empty[1].sum()) :]
            n_filled = len(filled)
        remaining: Any = np.sort(np.concatenate([filled, empty]))
        return n_filled + len(empty), remaining

    def _same_text_columns(self) -> dict[int, list[int]]:
        """For each chosen gold column the predicted ones that likely contain its text: by their first rows, or in any order by hash."""
        hashes, (chosen, all_columns) = self.evidence.hashes, self.chosen
        if not self.ignore_order:
            by_head = self.evidence.with_head(1, all_columns)
            near = {i: by_head.get(self.evidence.head(0, i), []) for i in chosen}
            self.evidence.look((i, i if i in near[i] else near[i][0]) for i in chosen if near[i])
            return near
        hashes.compute_bags(0, chosen)
        hashes.compute_bags(1, all_columns)
        twins: dict[int, list[int]] = {}
        for k in all_columns:
            twins.setdefault(hashes.bag(1, k), []).append(k)
        near = {i: twins.get(hashes.bag(0, i), []) for i in chosen}
        hashes.compare([(i, near[i][0]) for i in chosen if near[i]])
        return near

    def _possible(self, i: int) -> Iterable[int]:
        """The predicted columns that may equal gold column i in some order by their numbers of empty cells and their numbers at some
        ranks, if reading all costs less than comparing.
        """
        (gold, _), all_columns = self._pair(i, 0), self.chosen[1]
        if self.empty_is_zero or self.kind(gold).name != "number" or not (self.ignore_order or len(gold) < len(all_columns)):
            return all_columns

        def offers() -> list[Any]:
            columns = [(k, column) for k, column in enumerate(self.evidence.columns[1]) if column.summary.are_numbers]
            return [np.array(part) for part in zip(*((k, column.summary.n_empty, column.ranks()) for k, column in columns), strict=True)]

        possible = np.ones(len(all_columns), bool)
        if numeric := self.evidence.compute_once("offers", offers):
            ks, n_empty, ranks = numeric
            possible[ks] = (n_empty == gold.summary.n_empty) & ~differ_officially(gold.ranks(), ranks).any(axis=1)
        return np.flatnonzero(possible).tolist()

    def partners(self) -> list[int] | None:
        """The first equal predicted column of each needed one, up to the first without one; None if undecided."""
        near = self._same_text_columns()
        by_name = {name: k for k, name in reversed(list(enumerate(self.tables[1].header)))}
        partners: list[int] = []
        for i in self.chosen[0]:
            are_same = self.evidence.hashes.has_same_texts if self.ignore_order else self.evidence.is_same_text
            partner = next((k for k in near[i] if are_same(i, k)), None)
            namesake = by_name.get(self.tables[0].header[i])
            if partner is None and namesake is not None and self.are_equal(i, namesake):
                partner = namesake
            if partner is None or (self.ignore_order and not self.are_equal(i, partner)):
                fits = ((k, self.are_equal(i, k)) for k in self._possible(i))
                partner, is_equal = next(((k, fit) for k, fit in fits if fit is not False), (None, False))
                if is_equal is None:
                    return None
            if partner is None:
                break
            partners.append(partner)
        return partners


def _are_floats(column: Column) -> bool:
    """Whether the reference's values are the floats that the texts of these numbers denote."""
    scale = int(column.type[:-1].split(",")[1]) if column.kind == "decimal" else 0
    return not scale or column.summary.size * 10.0**scale < _PLAIN


def _by_text(values: Any, is_whole: bool) -> Any:
    """Numbers sorted by their text, as the reference sorts them."""
    items = values.tolist()
    return np.array(sorted(map(int, items) if is_whole else items, key=str), np.float64)


class Side:
    """The chosen columns of one table as the reference compares them, each typed and sorted at most once."""

    def __init__(self, table: Table, chosen: Sequence[int], ignore_order: bool, reference: Reference) -> None:
        self.table = table
        self.chosen = chosen
        self.ignore_order = ignore_order
        self.reference = reference
        self._columns: dict[int, Vector] = {}
        self._raw: dict[int, list[str]] = {}
        self._typed: list[Typed] | None = None
        self._native: list[Vector] | None = None

    def __len__(self) -> int:
        return len(self.chosen)

    def head(self, n_rows: int) -> "Side":
        """The same columns with only the first rows."""
        if n_rows >= self.table.n_rows:
            return self
        head = replace(self.table, columns=tuple(column[:n_rows] for column in self.table.columns), n_rows=n_rows)
        return Side(head, self.chosen, self.ignore_order, self.reference)

    def header(self, position: int) -> str:
        """The folded header of a chosen column."""
        return self.table.header[self.chosen[position]].casefold()

    def column(self, position: int) -> Vector:
        """A chosen column, ready to be compared."""
        if position not in self._columns:
            column = self.unsorted_column(position)
            self._columns[position] = column.sort() if self.ignore_order else column
        return self._columns[position]

    def unsorted_column(self, position: int) -> Vector:
        """A chosen column in the order of its rows."""
        column = self._column_at(position)
        return column.with_zeros() if self.reference in RESULT_SUITES else column

    def fingerprint(self, position: int) -> tuple[str, list[str]] | None:
        """A key that is equal for columns of text files that are certainly equal, or None for a column of a database.

        In row order it is the text itself; with sorted columns it is the sorted text and its type, which decides the order.
        """
        if self.table.types is not None:
            return None
        if position not in self._raw:
            raw = raw_column(self.table, self.chosen[position])
            self._raw[position] = sorted(raw) if self.ignore_order else raw
        kind = self._frame()[position].kind if self.ignore_order else ""
        return kind, self._raw[position]

    @property
    def safe(self) -> bool:
        """Whether no comparison with these columns can raise."""
        if self.table.types is not None:
            return all(self._column_at(position).safe for position in range(len(self)))
        return is_safe_text(self.table, self.chosen)

    def _column_at(self, position: int) -> Vector:
        if self.table.types is not None:
            if self._native is None:
                self._native = database_columns(self.table, self.chosen)
            return self._native[position]
        if self.ignore_order:
            return _as_column(self._frame()[position])
        # In row order, a frame of numbers converted to floats compares like its columns do: typing one column is enough.
        return _as_column(typed_column(raw_column(self.table, self.chosen[position])))

    def _frame(self) -> list[Typed]:
        if self._typed is None:
            self._typed = official_frame(self.table, self.chosen)
        return self._typed


def _as_column(typed: Typed) -> Vector:
    if typed.overflows:
        return Vector(typed.values, "other")
    return Vector(typed.values, "text" if typed.kind in ("text", "raw") else "number")


def compare_sides(gold: Side, predicted: Side, evidence: TableDiff) -> Score:
    shortcuts = gold.safe and predicted.safe
    pairs: list[tuple[int, int]] = []
    for position in range(len(gold)):
        partner = _twin(gold, position, predicted) if shortcuts else None
        if partner is None:
            partner = _first_equal(gold.column(position), predicted)
        if partner is None:
            if not shortcuts and gold.table.types is None and gold.reference != "lite":
                # The others look at all columns: one that makes the reference fail ends the search among several golds.
                for later in range(position + 1, len(gold)):
                    _first_equal(gold.column(later), predicted)
            return _explain(gold, predicted, evidence, len(pairs))
        pairs.append((gold.chosen[position] + 1, predicted.chosen[partner] + 1))
    return all_match(gold.table.n_rows, pairs)


def is_safe_text(table: Table, chosen: Sequence[int] | None = None) -> bool:
    """Whether no cell of these text columns (None: all) may be an integer beyond the range of floats."""
    places = range(len(table.columns)) if chosen is None else chosen
    return not any(has_long_integer(table.columns[index], LONGEST_FLOAT + 1) for index in places)


def _has_wide(gold: Table, chosen: Sequence[int]) -> bool:
    """Whether these text columns may hold integers that are written differently as floats."""
    return any(has_long_integer(gold.columns[index], _WIDE) for index in chosen)


def _twin(gold: Side, position: int, predicted: Side) -> int | None:
    """The first predicted column that contains the same text, if both sides are text files."""
    print_of_gold = gold.fingerprint(position)
    if print_of_gold is None:
        return None
    return next((index for index in range(len(predicted)) if predicted.fingerprint(index) == print_of_gold), None)


def _first_equal(gold: Vector, predicted: Side) -> int | None:
    """The first equal predicted column; the order is the reference's, because a column that cannot be compared ends the search (not in
    dbt).
    """
    for index in range(len(predicted)):
        try:
            if columns_equal(gold, predicted.column(index)):
                return index
        except Uncomparable:
            if predicted.reference != "dbt":
                raise
    return None


def compare_in_bulk(expected: "Side", predicted: "Side", evidence: BulkDiff) -> Score | None:
    """The score of big tables, None if only all their values can decide."""
    empty_is_zero = expected.reference in RESULT_SUITES
    columns = OfficialColumns(evidence, expected.chosen, ignore_order=expected.ignore_order, empty_is_zero=empty_is_zero)
    partners = columns.partners() if columns.can_judge() else None
    if partners is None:
        return None
    if len(partners) == len(expected):
        return all_match(evidence.n_rows, [(i + 1, k + 1) for i, k in zip(expected.chosen, partners, strict=True)])
    if not (columns.is_database or expected.safe):
        return None
    return _explain(expected, predicted, evidence, len(partners), columns)


def _explain(expected: "Side", predicted: "Side", evidence: TableDiff, n_found: int, columns: OfficialColumns | None = None) -> Score:
    """The score 0 of the needed column `n_found`, which has no match: the reason names the predicted column with the fewest differing
    cells.
    """
    i, n_rows, gold = expected.chosen[n_found], evidence.n_rows, evidence.gold
    details: dict[str, Any] = {"n_found": n_found, "n_needed": len(expected), "gold_column": i + 1, "n_rows": n_rows}
    if not are_reasons_wanted():
        return Score(official=0.0, reason="", details=details)
    if not len(predicted):
        return Score(official=0.0, reason=no_match(i, gold.header[i], "no column submitted"), details=details)
    k, why = _closest_column(expected, predicted, n_found, evidence)
    details["predicted_column"] = k + 1
    explain = _count_unmatched if expected.ignore_order else _differing_cells
    differ, more = explain((expected, predicted), (n_found, k), evidence, columns)
    reason = no_match(i, gold.header[i], closest(evidence.predicted.header, k, differ, why=why))
    return Score(official=0.0, reason=reason, details=details | more)


def _closest_column(expected: "Side", predicted: "Side", n_found: int, evidence: TableDiff) -> tuple[int, Closeness]:
    """The predicted column to compare gold's with in the reason, and why, see `nearest_by_rank`."""
    n_predicted, i, n_rows = len(predicted), expected.chosen[n_found], evidence.n_rows
    n_ranked = evidence.n_sampled(n_predicted)
    names = [k for k in range(n_predicted) if predicted.header(k) == expected.header(n_found)]
    if names and expected.ignore_order and n_ranked < n_rows:
        return min(names, key=lambda k: abs(i - k)), "name"
    gold_start, predicted_start = (side.head(n_ranked) for side in (expected, predicted))
    column, ranks = gold_start.unsorted_column(n_found), dict[int, tuple[int, int]]()
    for k in range(n_predicted):
        if expected.ignore_order:
            n_differ, _ = count_unmatched(column.values[:n_ranked], predicted_start.unsorted_column(k).values[:n_ranked])
        else:
            n_differ = len(differing_rows(column, predicted_start.unsorted_column(k), n_ranked))
        ranks[k] = n_differ, abs(i - k)
    return nearest_by_rank(ranks, names, is_sample=n_ranked < n_rows)


def _count_unmatched(
    sides: tuple[Side, Side], at: tuple[int, int], evidence: TableDiff, columns: OfficialColumns | None
) -> tuple[str, dict[str, int]]:
    """How many cells of a gold column have no partner in a predicted column (at: positions in their sides), as words and details.

    The example is a cell of the row with gold's key, or gold's cell alone: in any order, no other two cells belong together.
    """
    i, k = sides[0].chosen[at[0]], at[1]
    cell: Callable[[int, int], Any]
    if columns is not None and (unpaired := columns.count_unmatched(i, k)) is not None:
        big, (n, rows) = columns, unpaired

        def cell(side: int, row: int) -> Any:
            return big.value(side, (i, k)[side], row)
    else:
        whole = _whole_columns(sides, at, columns)
        n, rows = count_unmatched(whole[0].values, whole[1].values)

        def cell(side: int, row: int) -> Any:
            return whole[side].values[row]

    if not n:
        return SORTED_APART, {"n_differ": 0}
    header = evidence.predicted.header
    by_name = {name: at for at, name in reversed(list(enumerate(header))) if at != k}
    pairs = [(j, by_name[name]) for j in sides[0].chosen if j != i and (name := evidence.gold.header[j]) in by_name]
    for row in map(int, rows[:_ROWS_TRIED]):
        partner = evidence.row_by_key(row, pairs)
        if partner is not None and not surely_equal(gold_cell := cell(0, row), predicted_cell := cell(1, partner.row)):
            first = cell_of_row(header[k], partner.cells, *unlike_cells(predicted_cell, gold_cell))
            return cells_differ(n, evidence.n_rows, first), {"n_differ": n, "first_row": row + 1}
    row = int(rows[0])
    first = f"at row {row + 1}: {cell_text(cell(0, row))} has no partner"
    return cells_differ(n, evidence.n_rows, first), {"n_differ": n, "first_row": row + 1}


def _differing_cells(
    sides: tuple[Side, Side], at: tuple[int, int], evidence: TableDiff, columns: OfficialColumns | None
) -> tuple[str, dict[str, int]]:
    """How many cells of a gold and a predicted column (at: positions in their sides) differ in order, as words and details."""
    i, k = sides[0].chosen[at[0]], at[1]
    rows = columns.differing_rows(i, k) if columns is not None else None
    if rows is not None and columns is not None:
        cells = columns.value(0, i, rows[0]), columns.value(1, k, rows[0])
    else:
        whole = _whole_columns(sides, at, columns)
        rows = differing_rows(*whole, evidence.n_rows)
        cells = whole[0].values[rows[0]], whole[1].values[rows[0]]
    row = int(rows[0]) + 1
    first = f"at row {row}: {' vs '.join(unlike_cells(*cells))}"
    return cells_differ(len(rows), evidence.n_rows, first), {"n_differ": len(rows), "first_row": row}


def _whole_columns(sides: tuple[Side, Side], at: tuple[int, int], columns: OfficialColumns | None) -> tuple[Vector, Vector]:
    """The values of two columns (at: positions in their sides) in the order of their rows.

    A column of a big text file is typed alone: it has the values that it has in its frame, except how integers are represented.
    """
    whole = []
    for side, position in zip(sides, at, strict=True):
        if columns is not None and not columns.is_database:
            side, position = Side(side.table, [side.chosen[position]], side.ignore_order, side.reference), 0
        whole.append(side.unsorted_column(position))
    return whole[0], whole[1]


def match_table(
    prediction: Table,
    gold: Table,
    *,
    needed: Sequence[int] = (),
    ignore_order: bool = False,
    reference: Reference = "original",
    comparisons: Comparisons | None = None,
) -> Score:
    """Compare two tables under the official rules.

    `ignore_order` sorts each column on its own first; `reference` decides what an empty cell and two incomparable cells mean.

    Args:
        prediction: The submitted table.
        gold: The gold table.
        needed: Positions (from 0) of the gold columns to compare; none means all.
        ignore_order: Whether rows may be in any order.
        reference: The Spider 2.0 suite whose rules apply.
        comparisons: Comparisons of the same answer to reuse.

    Returns:
        1 if every needed gold column equals some predicted column, else 0; None with a gold fault if `needed` names a column that gold
        does not have.
    """
    try:
        chosen = resolve(needed, len(gold.header))
    except IndexError as error:
        return Score(official=None, reason=str(error), fault=Fault(code="BAD_SPEC", detail=str(error)))
    if prediction.n_rows != gold.n_rows:
        return Score(
            official=0.0,
            reason=row_count(prediction.n_rows, gold.n_rows),
            details={"n_rows": prediction.n_rows, "n_gold_rows": gold.n_rows},
        )
    seen = comparisons or Comparisons()
    how = (chosen, ignore_order, reference)
    return seen.judge_once(gold, prediction, how, lambda: _match_rows(prediction, gold, how, seen))


def _match_rows(prediction: Table, gold: Table, how: tuple[list[int], bool, Reference], seen: Comparisons) -> Score:
    """`match_table` for tables of equally many rows."""
    chosen, ignore_order, reference = how
    is_safe = gold.types is None and is_safe_text(prediction)
    # Beside columns of its own the answer's integers may be floats, which are sorted otherwise.
    may_differ = is_safe and ignore_order and len(prediction.columns) > len(chosen) and _has_wide(gold, chosen)
    same = seen.identical(gold, prediction, chosen) if is_safe and not may_differ else None
    if same is not None:
        return all_match(gold.n_rows, [(i + 1, k + 1) for i, k in zip(chosen, same, strict=True)])
    evidence = seen.compare(gold, prediction)
    predicted = Side(evidence.predicted, range(len(prediction.columns)), ignore_order, reference)
    expected = Side(evidence.gold, chosen, ignore_order, reference)
    if is_safe or gold.types is not None:
        score = evidence.try_in_bulk(lambda bulk: compare_in_bulk(expected, predicted, bulk))
        if score is not None:
            return score
    try:
        return compare_sides(expected, predicted, evidence)
    except Uncomparable as error:
        return Score(official=0.0, reason=reference_fails(error), details={"reference_fails": True})


def match_column_cells(prediction: Table, gold: Table, column: int, *, ignore_order: bool, reference: Reference) -> Score:
    """The result of the original and dbt for a bare number in `condition_cols`: 1 if each gold cell of that column is a predicted column.

    `gold.iloc[:, 0]` is a column and not a table, so each of its cells is treated as a column: a text as its characters. For any other cell
    the original raises, and dbt treats it as unequal: 0 for both.
    """
    try:
        (at,) = resolve([column], len(gold.header))
    except IndexError as error:
        return Score(official=None, reason=str(error), fault=Fault(code="BAD_SPEC", detail=str(error)))
    cells = Side(gold, [at], False, reference).column(0).values
    predicted = Side(prediction, range(len(prediction.columns)), ignore_order, reference)
    if all(isinstance(cell, str) and _is_some_column(cell, predicted) for cell in cells):
        return Score(official=1.0, reason=f"each cell of gold column {at + 1} is a predicted column, character by character")
    reason = f"the reference fails on a bare condition_cols: write [{column}]"
    return Score(official=0.0, reason=reason, details={"reference_fails": True})


def _is_some_column(cell: str, predicted: Side) -> bool:
    characters = Vector(sorted(cell) if predicted.ignore_order else list(cell), "text")
    try:
        return any(columns_equal(characters, predicted.column(position)) for position in range(len(predicted)))
    except Uncomparable:
        return False


def match_golds(
    prediction: Table,
    golds: Sequence[Table | Fault],
    *,
    needed: Sequence[Sequence[int] | int | Fault],
    ignore_order: bool,
    reference: Reference = "original",
    comparisons: Comparisons | None = None,
) -> list[Score]:
    """The scores against the golds in order, up to the first that matches or at which the reference raises.

    A `Fault` in `needed` is the reason why the reference raises at that gold; a number is one for `match_column_cells`.
    """
    scores: list[Score] = []
    for position, (gold, columns) in enumerate(zip(golds, needed, strict=True), start=1):
        if isinstance(gold, Fault):
            score = Score(official=None, reason=describe(gold), fault=gold)
        elif isinstance(columns, Fault):
            score = Score(official=None, reason=columns.detail, fault=columns)
        elif isinstance(columns, int):
            score = match_column_cells(prediction, gold, columns, ignore_order=ignore_order, reference=reference)
        else:
            score = match_table(prediction, gold, needed=columns, ignore_order=ignore_order, reference=reference, comparisons=comparisons)
        scores.append(_with_position(score, "gold", position, len(golds), "" if isinstance(gold, Fault) else gold.name))
        if score.official == 1.0 or score.details.get("reference_fails") or (not isinstance(gold, Fault) and score.official is None):
            break  # where the reference raises, a later gold cannot help
    return scores


def nearest_of(scores: Sequence[Score]) -> Score:
    """The official score of an answer that may match any gold: of the one that matches, else of the nearest one.

    A gold that cannot be read or compared does not exclude the others, but without a match it leaves the verdict open.
    """
    if scores[-1].official == 1.0 or scores[-1].details.get("reference_fails"):
        return scores[-1]
    unjudged = next((score for score in scores if score.official is None), None)
    return unjudged or max(scores, key=lambda score: score.details.get("n_found", -1))


def match_table_list(
    predictions: Sequence[Table | Fault],
    golds: Sequence[Table | Fault],
    *,
    needed: Sequence[Sequence[int]],
    ignore_orders: Sequence[bool],
    reference: Reference = "original",
    comparisons: Comparisons | None = None,
) -> Score:
    """1 if the i-th prediction matches the i-th gold for all n golds, else 0 with the first that fails."""
    if len(predictions) != len(golds):
        return Score(official=0.0, reason=table_count(len(predictions), len(golds)))
    scores = []
    for index, (prediction, gold) in enumerate(zip(predictions, golds, strict=True)):
        score = match_pair(
            prediction, gold, needed=needed[index], ignore_order=ignore_orders[index], reference=reference, comparisons=comparisons
        )
        name = "" if isinstance(gold, Fault) else gold.name
        scores.append(_with_position(score, "table", index + 1, len(golds), name))
        if score.official == 0:
            break
    return combine_scores(scores)


def match_pair(
    prediction: Table | Fault,
    gold: Table | Fault,
    *,
    needed: Sequence[int] = (),
    ignore_order: bool = False,
    reference: Reference = "original",
    comparisons: Comparisons | None = None,
) -> Score:
    """`match_table`, where either side may be a fault instead of a table."""
    if isinstance(prediction, Fault):
        return Score(official=0.0, reason=describe(prediction), fault=prediction)
    if isinstance(gold, Fault):
        return Score(official=None, reason=describe(gold), fault=gold)
    return match_table(prediction, gold, needed=needed, ignore_order=ignore_order, reference=reference, comparisons=comparisons)


def combine_scores(scores: Sequence[Score]) -> Score:
    """The score of a check that needs every part: the first 0, else the first that cannot be scored, else 1."""
    for value in (0.0, None):
        for score in scores:
            if score.official == value:
                return score
    reasons = f"all {len(scores)} tables match" if len(scores) > 1 else scores[0].reason
    return Score(official=1.0, reason=reasons)


def resolve(needed: Sequence[int], n_columns: int) -> list[int]:
    """The needed columns as positions from 0, all if none is named; a negative one counts from the end.

    Raises:
        IndexError: A column does not exist; the message is the reason.
    """
    for index in needed:
        if not -n_columns <= index < n_columns:
            raise IndexError(f"condition_cols names column {index}, gold has {count_words(n_columns, 'column')} (the first is 0)")
    return [index % n_columns for index in needed] if needed else list(range(n_columns))


def _with_position(score: Score, word: str, position: int, n_all: int, name: str) -> Score:
    """The score with `table 2 of 3 'orders.csv': ` in front of its reason."""
    if n_all == 1:
        return score
    title = f" {shorten(name)}" if name else ""
    details = {**score.details, word: position}
    return replace(score, reason=f"{word} {position} of {n_all}{title}: {score.reason}", details=details)
