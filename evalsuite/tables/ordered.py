"""Two streamed tables whose rows stand in the same order, compared in one reading of both in the memory of a few blocks.

Each needed gold column goes through the file beside one predicted column, chosen by name, place and the first rows. Where that one is
unequal, the other columns are ruled out by the first rows, or the question is left open for the exact rules.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from evalsuite.tables.blocks import Block, equal_cells, is_same_run, side_by_side
from evalsuite.tables.number_blocks import surely_unequal
from evalsuite.tables.packed import pack
from evalsuite.tables.pairs import Pair
from evalsuite.tables.pandas_typing import raw_column
from evalsuite.tables.strict_cells import equal, read_text
from evalsuite.tables.wording import LONGEST_FLOAT
from evalsuite.texts.numbers import Tolerance
from evalsuite.types import Table

_HEAD_ROWS, _HEAD_CELLS = 256, 100_000


_EMPTY = Table(header=(), columns=(), n_rows=0)


@dataclass(slots=True)
class Compared:
    """What one reading of both tables tells: `head` are the first rows of both as plain tables."""

    pairs: list[Pair]
    n_gold: int = 0
    n_predicted: int = 0
    longest: int = 0
    head: tuple[Table, Table] = (_EMPTY, _EMPTY)


def compare_in_order(gold: Table, predicted: Table, chosen: Sequence[int], tolerances: Sequence[Tolerance]) -> Compared | None:
    """The needed gold columns beside their likely predicted ones over all rows; None where there are too few columns.

    Raises `OddError`.
    """
    if len(predicted.header) < len(chosen):
        return None
    found = _compare(gold, predicted, chosen, tolerances, from_start=frozenset())
    late = frozenset(pair.gold for pair in found.pairs if pair.numeric_from and pair.official_fits is None)
    return _compare(gold, predicted, chosen, tolerances, from_start=late) if late else found


def _compare(
    gold: Table, predicted: Table, chosen: Sequence[int], tolerances: Sequence[Tolerance], *, from_start: frozenset[int]
) -> Compared:
    import numpy as np

    found = Compared([])
    slabs = side_by_side(pack(gold).blocks(), pack(predicted).blocks())
    first = next(slabs, None)
    if first is None:
        return found
    found.head = _head(gold, first[0]), _head(predicted, first[1])
    partners = likely_partners(found.head[0], found.head[1], chosen)
    found.pairs = [Pair(i, k, t, numeric_from=0 if i in from_start else None) for i, k, t in zip(chosen, partners, tolerances, strict=True)]
    is_all = list(chosen) == partners == list(range(len(gold.header)))
    nothing = np.empty(0, np.int64)
    for a, b in chain([first], slabs):
        if len(a) and len(b):
            found.longest = max(found.longest, int(a.lengths.max()), int(b.lengths.max()))
            differs: dict[int, Any] = {}
            if not (is_all and is_same_run(a, b)):
                same = equal_cells(a, chosen, b, partners)
                differs = {column: np.flatnonzero(~same[:, column]) for column in np.flatnonzero(~same.all(axis=0)).tolist()}
            for index, pair in enumerate(found.pairs):
                if index in differs or pair.numeric_from is not None:
                    pair.look(a, b, differs.get(index, nothing), found.n_gold)
        found.n_gold += len(a)
        found.n_predicted += len(b)
        if len(a) != len(b):
            found.n_gold += sum(len(x) for x, _ in slabs) if len(a) else 0
            found.n_predicted += 0 if len(a) else sum(len(y) for _, y in slabs)
            break
    return found


def _head(table: Table, block: Block) -> Table:
    n = min(len(block), _HEAD_ROWS, max(8, _HEAD_CELLS // len(table.header)))
    rows = block.rows(0, n)
    columns = tuple(rows.texts(column) for column in range(len(table.header)))
    return Table(header=table.header, columns=columns, n_rows=n, name=table.name)


def first_rows(table: Table, n: int) -> Table:
    """The first n rows as a plain table. Raises `OddError`."""
    columns: list[list[str]] = [[] for _ in table.header]
    left = n
    for block in pack(table).blocks():
        part = block.rows(0, left)
        for k, cells in enumerate(columns):
            cells.extend(part.texts(k))
        left -= len(part)
        if left <= 0:
            break
    return Table(header=table.header, columns=tuple(columns), n_rows=n - left, name=table.name)


def likely_partners(gold: Table, predicted: Table, chosen: Sequence[int]) -> list[int]:
    """For each needed gold column a predicted column of its own: one with the same first rows, of the same name or place first."""
    by_name: dict[str, list[int]] = {}
    by_rows: dict[tuple[str, ...], list[int]] = {}
    n = min(gold.n_rows, predicted.n_rows)
    for k, name in enumerate(predicted.header):
        by_name.setdefault(name, []).append(k)
        by_rows.setdefault(tuple(predicted.columns[k][:n]), []).append(k)
    taken: dict[int, None] = {}
    found: dict[int, int] = {}
    for i in chosen:
        same = by_rows.get(tuple(gold.columns[i][:n]), [])
        ranked = sorted((k for k in same if k not in taken), key=lambda k: (predicted.header[k] != gold.header[i], k != i))
        if ranked:
            taken[ranked[0]], found[i] = None, ranked[0]
    for i in chosen:
        if i not in found:
            near = [*by_name.get(gold.header[i], ()), *([i] if i < len(predicted.header) else []), *range(len(predicted.header))]
            free = list(dict.fromkeys(k for k in near if k not in taken))
            best = next((k for k in free if not _told_apart(gold, i, predicted, k, Tolerance())[0]), free[0])
            taken[best], found[i] = None, best
    return [found[i] for i in chosen]


def _told_apart(gold: Table, i: int, predicted: Table, k: int, tolerance: Tolerance) -> tuple[bool, bool]:
    """Whether the first rows rule a pair out under the official and under the strict rules."""
    official = strict = False
    for a, b in zip(raw_column(gold, i), raw_column(predicted, k), strict=False):
        if a != b:
            official = official or surely_unequal(a, b)
            strict = strict or not equal(read_text(a), read_text(b), tolerance)
            if official and strict:
                break
    return official, strict


def ruled_out(found: Compared, pair: Pair) -> tuple[bool, bool]:
    """Whether no other predicted column can be equal to the pair's gold column: under the official, under the strict rules."""
    gold, predicted = found.head
    official = strict = True
    for k in range(len(predicted.header)):
        if k != pair.predicted:
            told = _told_apart(gold, pair.gold, predicted, k, pair.tolerance)
            official, strict = official and told[0], strict and told[1]
            if not (official or strict):
                break
    return official, strict


def is_safe(found: Compared) -> bool:
    """Whether no cell is long enough to be an integer that no float can hold."""
    return found.longest <= LONGEST_FLOAT
