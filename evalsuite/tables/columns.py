"""Columns as the strict rules see them, what matching them to each other gives, and which of them likely belong together."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from evalsuite.tables.flows import bipartite_matching
from evalsuite.tables.strict_cells import Cell, read_text
from evalsuite.texts.numbers import Tolerance
from evalsuite.types import Table

Verdict = Literal["equal", "labels", "no column", "not injective", "rows", "shape", "limit"]


class HeldColumn(list[Any]):
    """The cells of a column that is compared again and again, with what was worked out of them by name. Nobody changes its cells."""

    def __init__(self, cells: Iterable[Any]) -> None:
        super().__init__(cells)
        self.known: dict[Any, Any] = {}


def held(table: Table) -> Table:
    """The table with columns that keep what is worked out of them; one that is not of lists stays as it is."""
    if not all(isinstance(column, list | tuple) for column in table.columns):
        return table
    return replace(table, columns=tuple(column if isinstance(column, HeldColumn) else HeldColumn(column) for column in table.columns))


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column as cells; `name` is its header, `position` its place in its own table (from 0), `label` what it says it is, if anything.

    `has_percent` says that cells hold percent signs that can be read in two ways; `read` makes a cell of what is written.
    """

    cells: Sequence[Cell]
    name: str
    position: int
    tolerance: Tolerance = field(default_factory=Tolerance)
    label: str | None = None
    has_percent: bool = False
    read: Callable[[Any], Cell] = read_text

    def contradicts(self, other: "Column") -> bool:
        """Whether the labels of a gold and a predicted column say that they are different columns."""
        return None not in (self.label, other.label) and self.label != other.label


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """The verdict on two tables, with what explains it.

    `assignment[i]` is the predicted column (index into the predicted list) of needed gold column i, where one was found or tried;
    `candidates[i]` all that fit it one by one. `moved` says that tied rows changed places.
    """

    verdict: Verdict
    assignment: tuple[int | None, ...] = ()
    candidates: tuple[tuple[int, ...], ...] = ()
    n_tried: int = 0
    moved: bool = False

    @property
    def is_equal(self) -> bool:
        """Whether the table is the gold table."""
        return self.verdict == "equal"


def matched_as(assignment: Iterable[int]) -> Matching:
    """The verdict that the table is the gold table under this assignment."""
    chosen = tuple(assignment)
    return Matching(verdict="equal", assignment=chosen, candidates=tuple((k,) for k in chosen))


def likely_columns(gold: Sequence[Column], predicted: Sequence[Column]) -> list[int] | None:
    """For each gold column the predicted one of the same name, the one in the same place among several or without one; None if taken."""
    by_name: dict[str, list[int]] = {}
    for k, column in enumerate(predicted):
        by_name.setdefault(column.name, []).append(k)
    found: dict[int, None] = {}
    for column in gold:
        named = [k for k in by_name.get(column.name, ()) if k not in found]
        k = min(named, key=lambda k: (predicted[k].position != column.position, k)) if named else column.position
        if k >= len(predicted) or k in found:
            return None
        found[k] = None
    return list(found)


def in_likely_order(gold: Column, predicted: Sequence[Column], chosen: Iterable[int]) -> list[int]:
    """Columns with an equal header first, then the one in the same place, then in order."""
    return sorted(chosen, key=lambda k: (predicted[k].name != gold.name, predicted[k].position != gold.position, k))


def decided(candidates: Sequence[Sequence[int]], otherwise: Verdict) -> Matching:
    """The verdict where the candidates alone give one, else `otherwise`."""
    assignment = tuple(bipartite_matching(candidates))
    verdict: Verdict = "no column" if not all(candidates) else "not injective" if None in assignment else otherwise
    return Matching(verdict=verdict, candidates=tuple(map(tuple, candidates)), assignment=assignment)
