"""The columns of a table as the strict rules see them: cells with a value, the tolerance of each, and the label it bears."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, overload

from evalsuite.tables.columns import Column, HeldColumn
from evalsuite.tables.digested import AnyTable
from evalsuite.tables.outlines import Outline
from evalsuite.tables.strict_cells import Cell, Percent, read_native, read_text
from evalsuite.texts.numbers import Tolerance
from evalsuite.types import Table

PerColumn = float | Mapping[str, float] | None

# Names that engines and frames make up: `f0_`, `_c1`, `col2`, `?column?`, `Unnamed: 3`, digits; folded as below.
_MADE: Final = re.compile(r"|\?column\?|(?:[cfvx]|col|column|field|var|expr\$?|unnamed:|\$)?[0-9]+")
_BETWEEN: Final = re.compile(r"[\s_-]")


def labels(header: Sequence[str], other: Sequence[str]) -> list[str | None]:
    """For each column its name, folded, where that names one column of either table and is not made up; else None.

    Two columns with different labels contradict each other: each one's name stands on another column of the other table.
    """
    mine, theirs = list(map(_folded, header)), list(map(_folded, other))
    n_mine, n_theirs = Counter(mine), Counter(theirs)
    return [name if n_mine[name] == n_theirs[name] == 1 and not _MADE.fullmatch(name) else None for name in mine]


def _folded(name: str) -> str:
    return name.casefold() if name.isalnum() else _BETWEEN.sub("", name.casefold())


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a check may say of how strictly cells are compared: tolerances of its own (for all columns or by header or position), whether
    a number may be a percentage, and whether labels that contradict the values count."""

    abs_tol: PerColumn = None
    rel_tol: PerColumn = None
    percentage: bool = False
    heeds_labels: bool = True

    def tolerance(self, table: AnyTable, index: int) -> Tolerance:
        """The tolerance of a gold column."""
        absolute, relative = _of_column(self.abs_tol, table, index), _of_column(self.rel_tol, table, index)
        if absolute is None and relative is None:
            return Tolerance()
        return Tolerance(rel=relative or 0.0, abs=absolute or 0.0, own=True)


PLAIN_TERMS: Final = Terms()


class Cells(Sequence[Cell]):
    """The cells of a column, each read when it is asked for; all of them at most once, equal texts as the same object."""

    def __init__(self, written: Sequence[Any], read: Callable[[Any], Cell]) -> None:
        self._written, self.read = written, read
        self._all: list[Cell] | None = None
        self._outline: Outline | None = None

    def __len__(self) -> int:
        return len(self._written)

    def __iter__(self) -> Iterator[Cell]:
        if self._all is None:
            self._all = self._read_all(self._written)
        return iter(self._all)

    @overload
    def __getitem__(self, at: int) -> Cell: ...
    @overload
    def __getitem__(self, at: slice) -> list[Cell]: ...
    def __getitem__(self, at: int | slice) -> Cell | list[Cell]:
        if self._all is not None:
            return self._all[at]
        return self._read_all(self._written[at]) if isinstance(at, slice) else self.read(self._written[at])

    def outline(self) -> Outline:
        """What pairing asks of the column: of one that is held the same each time."""
        if not isinstance(self._written, HeldColumn):
            return Outline(self)
        self._outline = self._outline or Outline(self)
        return self._outline

    def _read_all(self, written: Sequence[Any]) -> list[Cell]:
        if self.read is read_native:
            return list(map(self.read, written))
        known: dict[Any, Cell] = {}
        return [known[text] if text in known else known.setdefault(text, self.read(text)) for text in written]


def read_columns(table: Table, chosen: Sequence[int], terms: Terms = PLAIN_TERMS, *, labelled: Sequence[str | None] = ()) -> list[Column]:
    """The chosen columns as cells that are read as they are asked for."""
    read = partial(read_text, percentage=True) if terms.percentage else read_text
    found = []
    for index in chosen:
        own = read if table.types is None else read_native
        cells = _cells_of(table.columns[index], own, terms.percentage)
        column = Column(
            cells=cells,
            name=table.header[index] if index < len(table.header) else "",
            position=index,
            tolerance=terms.tolerance(table, index),
            label=labelled[index] if index < len(labelled) else None,
            read=own,
            has_percent=terms.percentage and any(isinstance(cell, Percent) for cell in cells),
        )
        found.append(column)
    return found


def _cells_of(written: Sequence[Any], read: Callable[[Any], Cell], percentage: bool) -> Cells:
    if not isinstance(written, HeldColumn):
        return Cells(written, read)
    found: Cells = written.known.setdefault(percentage, Cells(written, read))
    return found


def _of_column(value: PerColumn, table: AnyTable, index: int) -> float | None:
    """A tolerance given for the whole check, or per column by header or by position (as text, from 0)."""
    if value is None or isinstance(value, int | float):
        return value
    header = table.header[index] if index < len(table.header) else ""
    return value.get(header, value.get(str(index)))
