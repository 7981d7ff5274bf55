"""The official rules on database tables that are held as arrays, in order: only rows that are not written alike become values.

Two plain cells of one type that are the same are equal to the reference, whatever their frames make of them, as long as no cell is empty:
what an empty one is hangs on all others.
"""

from collections.abc import Sequence
from typing import Any, Final

from evalsuite.tables.arrays import array_columns
from evalsuite.tables.evidence import Evidence
from evalsuite.tables.fetched import cells_of_column
from evalsuite.tables.official_cells import Column, columns_equal, differing_rows
from evalsuite.types import Table

_AT_ONCE: Final = 4_096


class OfficialArrays:
    """The columns of two tables as the reference compares them; all of the predicted one's, the `chosen` of gold's."""

    def __init__(self, evidence: Evidence, chosen: Sequence[int]) -> None:
        self.evidence, self._tables = evidence, (evidence.gold, evidence.predicted)
        self._chosen = list(chosen), list(range(len(evidence.predicted.columns)))

    @staticmethod
    def can_judge(table: Table, chosen: Sequence[int]) -> bool:
        """Whether the chosen columns are arrays without an empty cell."""
        columns = array_columns(table)
        return columns is not None and all(columns[at].empty is None for at in chosen)

    def are_equal(self, i: int, k: int) -> bool:
        """Whether gold column i equals predicted column k."""
        head = range(len(self.evidence.heads[0].columns[i]))
        return columns_equal(*self._cells(i, k, list(head))) and next(self._unequal(i, k), None) is None

    def differing(self, i: int, k: int) -> list[int]:
        """The rows in which they differ."""
        return [row for part in self._unequal(i, k) for row in part]

    def _unequal(self, i: int, k: int) -> Any:
        """The rows in which they differ, some at once."""
        rows = self.evidence.unlike(i, k)
        for start in range(0, len(rows), _AT_ONCE):
            part = rows[start : start + _AT_ONCE]
            found = [part[at] for at in differing_rows(*self._cells(i, k, part), len(part))]
            if found:
                yield found

    def _cells(self, i: int, k: int, rows: Sequence[int]) -> tuple[Column, Column]:
        gold, predicted = self._tables
        return cells_of_column(gold, self._chosen[0], i, rows), cells_of_column(predicted, self._chosen[1], k, rows)

    def value(self, side: int, column: int, row: int) -> Any:
        """A cell as it is compared."""
        return cells_of_column(self._tables[side], self._chosen[side], column, [row]).values[0]

    def partners(self) -> list[int]:
        """The first equal predicted column of each needed one, until one has none."""
        found: list[int] = []
        for i in self._chosen[0]:
            partner = next((k for k in self._chosen[1] if self.are_equal(i, k)), None)
            if partner is None:
                break
            found.append(partner)
        return found
