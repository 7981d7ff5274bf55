"""The columns of two tables as the reference compares them, each made at most once, and what it says of one that none equals."""

from collections.abc import Sequence
from typing import Any

from evalsuite.tables.evidence import Evidence
from evalsuite.tables.fetched import database_columns
from evalsuite.tables.official_arrays import OfficialArrays
from evalsuite.tables.official_cells import RESULT_SUITES, Column, Reference, Uncomparable, columns_equal, differing_rows
from evalsuite.tables.official_packed import OfficialColumns, partners_of
from evalsuite.tables.packed import first_rows, packed_of
from evalsuite.tables.pandas_typing import Typed, official_frame, raw_column, typed_column
from evalsuite.tables.wording import FEW_RANKED_CELLS, LONGEST_FLOAT, RANKED_CELLS, all_found, is_worded, no_equal, shorten, shown
from evalsuite.types import Score, Table


class Side:
    """The chosen columns of one table as the reference compares them, each typed and sorted at most once."""

    def __init__(self, table: Table, chosen: Sequence[int], ignore_order: bool, reference: Reference) -> None:
        self.table = table
        self.chosen = chosen
        self.ignore_order = ignore_order
        self.reference = reference
        self._columns: dict[int, Column] = {}
        self._raw: dict[int, list[str]] = {}
        self._typed: list[Typed] | None = None
        self._native: list[Column] | None = None

    def __len__(self) -> int:
        return len(self.chosen)

    def first(self, n_rows: int) -> "Side":
        """The same of the first rows alone."""
        return Side(first_rows(self.table, n_rows), self.chosen, self.ignore_order, self.reference)

    def header(self, position: int) -> str:
        """The header of a chosen column without case."""
        return self.table.header[self.chosen[position]].casefold()

    def column(self, position: int) -> Column:
        """A chosen column, ready to be compared."""
        if position not in self._columns:
            column = self._unsorted(position)
            column = column.with_zeros() if self.reference in RESULT_SUITES else column
            self._columns[position] = column.ordered() if self.ignore_order else column
        return self._columns[position]

    def fingerprint(self, position: int) -> tuple[str, list[str]] | None:
        """What makes two columns of text files equal without a look at their values, or None for a database's column.

        In order it is the text itself; sorted apart it is the sorted text and the kind it is read as, which decides the order.
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
            return all(self._unsorted(position).safe for position in range(len(self)))
        return is_safe_text(self.table, self.chosen)

    def _unsorted(self, position: int) -> Column:
        if self.table.types is not None:
            if self._native is None:
                self._native = database_columns(self.table, self.chosen)
            return self._native[position]
        if self.ignore_order:
            return _as_column(self._frame()[position])
        # in order, a whole frame of numbers turned to floats compares as its columns do: one column is enough
        return _as_column(typed_column(raw_column(self.table, self.chosen[position])))

    def _frame(self) -> list[Typed]:
        if self._typed is None:
            self._typed = official_frame(self.table, self.chosen)
        return self._typed


def _as_column(typed: Typed) -> Column:
    if typed.overflows:
        return Column(typed.values, "other")
    return Column(typed.values, "text" if typed.kind in ("text", "raw") else "number")


def compare_sides(gold: Side, predicted: Side, evidence: Evidence) -> Score:
    shortcuts = gold.safe and predicted.safe
    pairs: list[tuple[int, int]] = []
    for position in range(len(gold)):
        partner = _twin(gold, position, predicted) if shortcuts else None
        if partner is None:
            partner = _first_equal(gold.column(position), predicted)
        if partner is None:
            return _explain(gold, predicted, evidence, len(pairs))
        pairs.append((gold.chosen[position] + 1, predicted.chosen[partner] + 1))
    return all_found(gold.table.n_rows, pairs)


def is_safe_text(table: Table, chosen: Sequence[int] | None = None) -> bool:
    """Whether no cell of these text columns (None: all) is long enough to be an integer that no float can hold."""
    if (packed := packed_of(table)) is not None:
        return packed.longest <= LONGEST_FLOAT
    return not any(_has_long(column) for column in (table.columns if chosen is None else [table.columns[index] for index in chosen]))


def _has_long(column: Sequence[str | None]) -> bool:
    """Whether a cell is longer than `LONGEST_FLOAT`: one step over many short ones that follow each other, for a tenth of asking each."""
    at = 0
    try:
        text = "\0".join(column)  # type: ignore[arg-type]
    except TypeError:
        text = "\0".join(filter(None, column))
    if text.count("\0") >= len(column):
        return any(len(cell or "") > LONGEST_FLOAT for cell in column)
    while len(text) - at > LONGEST_FLOAT:
        end = text.rfind("\0", at, at + LONGEST_FLOAT + 1)
        if end < 0:
            return True
        at = end + 1
    return False


def _twin(gold: Side, position: int, predicted: Side) -> int | None:
    """The first predicted column that holds the same text, where both sides are text files."""
    print_of_gold = gold.fingerprint(position)
    if print_of_gold is None:
        return None
    return next((index for index in range(len(predicted)) if predicted.fingerprint(index) == print_of_gold), None)


def _first_equal(gold: Column, predicted: Side) -> int | None:
    """The first equal predicted column; the order is the reference's, for one that cannot be compared ends the search (not in dbt's)."""
    for index in range(len(predicted)):
        try:
            if columns_equal(gold, predicted.column(index)):
                return index
        except Uncomparable:
            if predicted.reference != "dbt":
                raise
    return None


def compare_packed(expected: "Side", predicted: "Side", evidence: Evidence) -> Score | None:
    """The score of packed tables, None where only their values can tell."""
    columns = OfficialColumns(evidence, ignore_order=expected.ignore_order, empty_is_zero=expected.reference in RESULT_SUITES)
    found = partners_of(columns, expected.chosen, len(predicted))
    if found is None:
        return None
    partners, is_all = found
    if is_all:
        return all_found(evidence.n_rows, [(i + 1, k + 1) for i, k in zip(expected.chosen, partners, strict=True)])
    return _explain(expected, predicted, evidence, len(partners), columns)


def compare_arrays(expected: "Side", predicted: "Side", evidence: Evidence) -> Score | None:
    """The score of tables that are held as arrays, None for others, and where empty cells or the order of rows hang on all of them."""
    sides = ((evidence.gold, expected.chosen), (evidence.predicted, predicted.chosen))
    if expected.ignore_order or not all(OfficialArrays.can_judge(*side) for side in sides):
        return None
    columns = OfficialArrays(evidence, expected.chosen)
    partners = columns.partners()
    if len(partners) == len(expected):
        return all_found(evidence.n_rows, [(i + 1, k + 1) for i, k in zip(expected.chosen, partners, strict=True)])
    return _explain(expected, predicted, evidence, len(partners), arrays=columns)


def _explain(
    expected: "Side",
    predicted: "Side",
    evidence: Evidence,
    n_found: int,
    packed: OfficialColumns | None = None,
    arrays: OfficialArrays | None = None,
) -> Score:
    """The 0 of the needed column `n_found`, which none equals: names the predicted column with the fewest differing cells."""
    i, n_rows, n_predicted = expected.chosen[n_found], evidence.n_rows, len(predicted)
    gold, ignore_order = evidence.gold, expected.ignore_order
    details: dict[str, Any] = {"n_found": n_found, "n_needed": len(expected), "gold_column": i + 1, "n_rows": n_rows}
    if not is_worded():
        return Score(official=0.0, reason="", details=details)
    if not n_predicted:
        return Score(official=0.0, reason=no_equal(i, gold.header[i], "no column handed in"), details=details)
    n_ranked = min(n_rows, max(1, (FEW_RANKED_CELLS if packed is not None or arrays is not None else RANKED_CELLS) // n_predicted))
    mine, theirs = expected, predicted
    if packed is not None or arrays is not None:
        mine, theirs = expected.first(n_ranked), predicted.first(n_ranked)

    def distance(k: int) -> tuple[int, bool, int]:
        n_differ = len(differing_rows(mine.column(n_found), theirs.column(k), n_ranked))
        return n_differ, expected.header(n_found) != predicted.header(k), abs(i - k)

    k = min(range(n_predicted), key=distance)
    details["predicted_column"] = k + 1
    word = "nearest is" if n_ranked == n_rows else "a near one is"
    place = f"{word} predicted column {k + 1} {shorten(evidence.predicted.header[k])}"
    if packed is not None and packed.are_many:
        return Score(official=0.0, reason=no_equal(i, gold.header[i], f"{place}, whose cells cannot be paired"), details=details)
    rows = packed.differing(i, k) if packed is not None and not ignore_order else arrays.differing(i, k) if arrays is not None else None
    if rows is not None and packed is not None:
        _, a, b = next(evidence.cells(i, k, rows[:1]))
        cells = f"{shown(packed.value(0, i, a))} vs {shown(packed.value(1, k, b))}"
    elif rows is not None and arrays is not None:
        cells = f"{shown(arrays.value(0, i, rows[0]))} vs {shown(arrays.value(1, k, rows[0]))}"
    else:
        if packed is not None:
            # One column of packed text is typed as it is in its frame, but for how integers are held.
            mine, theirs = (Side(side.table, [at], ignore_order, side.reference) for side, at in ((expected, i), (predicted, k)))
        column, other = (mine.column(0), theirs.column(0)) if packed is not None else (mine.column(n_found), theirs.column(k))
        rows = differing_rows(column, other, n_rows)
        cells = f"{shown(column.values[rows[0]])} vs {shown(other.values[rows[0]])}"
    details["n_differ"] = len(rows)
    where = "first when sorted"
    if not ignore_order:
        where, details["first_row"] = f"first at row {int(rows[0]) + 1}", int(rows[0]) + 1
    reason = no_equal(i, gold.header[i], f"{place}, {len(rows)} of {n_rows} cells differ, {where}: {cells}")
    return Score(official=0.0, reason=reason, details=details)
