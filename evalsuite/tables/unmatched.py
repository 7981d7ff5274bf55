"""Which cells of two columns differ: row by row, or without order the gold cells that find no partner, as few as possible."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from evalsuite.tables.clusters import windows_of
from evalsuite.tables.flows import largest_flow
from evalsuite.tables.outlines import place
from evalsuite.tables.strict_cells import Cell, equal, key
from evalsuite.texts.numbers import Tolerance

MOST_EDGES: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmatched:
    """The gold cells (row from 0, cell) that differ. `partners` are the predicted cells against them: one each when order counts,
    without order those that are left over, in file order. `exact` is False where `cells` may be more than needed."""

    cells: Sequence[tuple[int, Cell]]
    partners: Sequence[Cell]
    exact: bool = True


def unmatched_in_order(gold: Sequence[Cell], predicted: Sequence[Cell], tolerance: Tolerance) -> Unmatched:
    """The rows whose cells differ."""
    rows = [row for row, (g, p) in enumerate(zip(gold, predicted, strict=True)) if g is not p and not equal(g, p, tolerance)]
    return Unmatched(cells=[(row, gold[row]) for row in rows], partners=[predicted[row] for row in rows])


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
        return Unmatched(cells=spare, partners=[cell for _, cell in extra], exact=False)
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
