"""Which cells of two columns differ: row by row, or without order the gold cells that find no partner, as few as possible."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from evalsuite.tables.clusters import windows_of
from evalsuite.tables.columns import Column
from evalsuite.tables.evidence import Evidence
from evalsuite.tables.flows import largest_flow
from evalsuite.tables.outlines import place
from evalsuite.tables.remainders import cells_of, remainder
from evalsuite.tables.strict_cells import Cell, equal, key
from evalsuite.tables.strict_matching import differing_cells
from evalsuite.texts.numbers import Tolerance

MOST_EDGES: Final = 100_000
MOST_COUNTED: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmatched:
    """The gold cells (row from 0, cell) that differ. `partners` are the predicted cells against them: one each when order counts,
    without order those that are left over, in file order. `bound` says that there are more of them, or may be less."""

    cells: Sequence[tuple[int, Cell]]
    partners: Sequence[Cell]
    bound: str = ""


def unmatched_in_order(gold: Column, predicted: Column, evidence: Evidence) -> Unmatched:
    """The rows whose cells differ, at most so many."""
    found = list(islice(differing_cells(gold, predicted, evidence), MOST_COUNTED + 1))
    bound = "more than " if len(found) > MOST_COUNTED else ""
    found = found[:MOST_COUNTED]
    return Unmatched(cells=[(row, cell) for row, cell, _ in found], partners=[cell for _, _, cell in found], bound=bound)


def unmatched_in_bags(gold: Column, predicted: Column, evidence: Evidence) -> Unmatched:
    """`unmatched_in_any_order` of packed columns: of the cells that are written alike only those in reach of others."""
    rows = remainder(evidence, gold, predicted)
    if rows is None:
        rows = evidence.spare([gold.position], [predicted.position])
        cells = cells_of(evidence, 0, gold, rows[0][:MOST_COUNTED])
        named = list(zip(map(int, rows[0]), cells, strict=False)) + [(int(row), None) for row in rows[0][MOST_COUNTED:]]
        return Unmatched(cells=named, partners=cells_of(evidence, 1, predicted, rows[1][:MOST_COUNTED]), bound="at most ")
    left = cells_of(evidence, 0, gold, rows[0]), cells_of(evidence, 1, predicted, rows[1])
    found = unmatched_in_any_order(*left, gold.tolerance)
    return replace(found, cells=[(int(rows[0][at]), cell) for at, cell in found.cells])


def unmatched_in_any_order(gold: Sequence[Cell], predicted: Sequence[Cell], tolerance: Tolerance) -> Unmatched:
    """The gold cells without a partner when as many as possible have one; cells with a partner that is plainly equal keep one."""
    spare, extra = _left_by_key(gold, predicted), _left_by_key(predicted, gold)
    known = Counter(map(key, predicted))
    numbers = sorted((cell for cell in Counter(gold) if place(cell) is not None), key=lambda cell: known[key(cell)] == 0)
    others = [cell for cell in Counter(predicted) if place(cell) is not None]
    if not any(place(cell) is not None for _, cell in spare):
        return Unmatched(cells=spare, partners=[cell for _, cell in extra])
    edges = _edges(numbers, others, tolerance)
    if edges is None:
        return Unmatched(cells=spare, partners=[cell for _, cell in extra], bound="at most ")
    supply, demand = Counter(gold), Counter(predicted)
    left, room = largest_flow([supply[c] for c in numbers], [demand[c] for c in others], edges)
    cells = [item for item in spare if place(item[1]) is None] + _last(gold, dict(zip(numbers, left, strict=True)))
    rest = [item for item in extra if place(item[1]) is None] + _last(predicted, dict(zip(others, room, strict=True)))
    return Unmatched(cells=sorted(cells, key=lambda item: item[0]), partners=[cell for _, cell in sorted(rest, key=lambda item: item[0])])


def n_unmatched_by_key(gold: Sequence[Any], predicted: Sequence[Any]) -> int:
    """How many gold cells find no plainly equal partner: quick, and more than differ where a tolerance matters."""
    return (Counter(map(key, gold)) - Counter(map(key, predicted))).total()


def _left_by_key(cells: Sequence[Cell], others: Sequence[Cell]) -> list[tuple[int, Cell]]:
    """The (row, cell) that are left when cells with equal keys are paired off from above."""
    spare = Counter(map(key, others))
    left = []
    for row, cell in enumerate(cells):
        name = key(cell)
        if spare[name] > 0:
            spare[name] -= 1
        else:
            left.append((row, cell))
    return left


def _edges(gold: Sequence[Cell], predicted: Sequence[Cell], tolerance: Tolerance) -> list[list[int]] | None:
    """For each gold number the predictions that equal it, plainly equal ones first; None where that is too much to look at."""
    windows = windows_of(gold, predicted, tolerance)
    if windows is None or windows.width > MOST_EDGES:
        return None
    keys = list(map(key, predicted))
    edges = []
    for row, cell in enumerate(gold):
        found = [k for k in windows[row] if equal(cell, predicted[k], tolerance)]
        name = key(cell)
        edges.append([k for k in found if keys[k] == name] + [k for k in found if keys[k] != name])
    return edges


def _last(cells: Sequence[Cell], counts: dict[Cell, int]) -> list[tuple[int, Cell]]:
    """The last `counts[cell]` places of each cell."""
    wanted = {cell: n for cell, n in counts.items() if n}
    found = []
    for row in range(len(cells) - 1, -1, -1):
        if wanted.get(cells[row], 0):
            wanted[cells[row]] -= 1
            found.append((row, cells[row]))
    return found
