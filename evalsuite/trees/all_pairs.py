"""All pairs of two lists at once: what each pair's fields add up to, as matrices, one field after the other; no pair is walked alone.

A `Grid` has the sums of n gold x m answered elements by name; lists inside the elements are aligned for every pair of them in
`InnerLists`. Both ways of scoring stand on it: fields sum their scores and weights (`field_matching`), Treeval its six counters and the
scores of each leaf (`treeval_counts`). Sums that are the same for all rows or columns are stored in that form (shape (1, m), (n, 1) or a
plain number) and expanded only when combined with others.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from evalsuite.compare.bipartite_matching import block_assignments, block_sums
from evalsuite.core.import_ref import Floats, np
from evalsuite.trees.eval_schema import SchemaNode
from evalsuite.trees.json_values import ABSENT

__all__ = ["Cells", "Chosen", "Columns", "Floats", "Grid", "InnerLists", "Names", "matched_sums", "np", "pick"]

Chosen = tuple[Sequence[int], Sequence[int]]
Cells = Any  # a number or an array that broadcasts to n x m
Names = Mapping[Any, Cells]
CELLS_AT_ONCE = 2_000_000


def pick(values: Sequence[Any], chosen: Sequence[int]) -> Sequence[Any]:
    """Return the values at some places; the values themselves if these are all."""
    return values if len(chosen) == len(values) else [values[i] for i in chosen]


class Columns:
    """Pairs of values compared field by field, a whole column of values at a time.

    `rows` and `columns` are the places of the values of both sides: of n x m pairs in a matrix, or of n pairs, then equal. `present` counts
    the pairs of a field that are not compared further, and returns the places of the others, None if there is none; `leaf` and `array`
    compare those of values and lists; `objects` counts what objects have in addition to their fields.
    """

    absent: Any = ABSENT  # the value of a field that gold lacks
    present: Callable[..., Chosen | None]
    objects: Callable[..., None]
    leaf: Callable[..., None]
    array: Callable[..., None]

    def field(self, node: SchemaNode, gold: Any, rows: Sequence[Any], answered: Any, columns: Sequence[Any]) -> None:
        """Compare the values of one field; `ABSENT` for an object that lacks it."""
        chosen = self.present(node, gold, rows, answered, columns)
        if chosen is not None:
            left, right = chosen
            compare = self.array if node.structural and node.is_array else self.branch if node.structural else self.leaf
            compare(node, pick(gold, left), pick(rows, left), pick(answered, right), pick(columns, right))

    def branch(self, node: SchemaNode, gold: Sequence[Any], rows: Sequence[Any], answered: Sequence[Any], columns: Sequence[Any]) -> None:
        """Compare objects."""
        if not gold or not answered:
            return
        self.objects(node, gold, rows, answered, columns)
        for child in node.fields:
            if not child.skip:
                sides = ([value.get(child.key, absent) for value in side] for side, absent in ((gold, self.absent), (answered, ABSENT)))
                expected, answers = sides
                self.field(child, expected, rows, answers, columns)


class Grid(Columns):
    """n x m pairs: their sums by name, and the lists inside the elements, each with the rows and columns that have one."""

    def __init__(self, n: int, m: int) -> None:
        self.shape = n, m
        self.sums: dict[Any, Cells] = {}
        self.lists: list[tuple[Sequence[int], Sequence[int], InnerLists]] = []
        self._full: set[Any] = set()  # names whose n x m array belongs to this grid alone

    def add(self, sums: Names, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Add numbers or matrices to the cells rows x columns."""
        if not len(rows) or not len(columns):
            return
        whole = (len(rows), len(columns)) == self.shape
        for name, cells in sums.items():
            if isinstance(cells, int | float) and cells == 0:
                continue
            if not whole and name not in self._full:
                self.sums[name] = np.array(np.broadcast_to(self.sums.get(name, 0.0), self.shape), dtype=np.float64)
                self._full.add(name)
            if name in self._full:
                self.sums[name][np.s_[:, :] if whole else np.ix_(rows, columns)] += cells
            else:
                is_new = name not in self.sums and getattr(cells, "dtype", None) == np.float64
                self.sums[name] = cells if is_new else self.sums.get(name, 0.0) + cells

    def totals(self) -> dict[Any, Cells]:
        """Return the sums with those of the lists inside, aligned at their best."""
        if not self.lists:
            return self.sums
        whole = Grid(*self.shape)
        whole.sums.update(self.sums)
        for rows, columns, lists in self.lists:
            whole.add(lists.totals(), rows, columns)
        return whole.sums


class InnerLists:
    """a gold x b answered lists under one array of the schema: all their elements crossed at once, then aligned for each pair of lists.

    `cross` gives the grid of some elements, `lone` what each element of a side (0 gold, 1 answered) adds if it has no partner.
    `matched(sums, layers, part, lists)` gives the sums of each layer over the matched elements of each pair of lists, for some gold lists:
    layers x lists x lists; `sums` are those of each pair, `layers` in their order what is beyond both alone, `part` and `lists` the places
    of the elements and of their lists.
    """

    cross: Callable[..., Grid]
    lone: Callable[[int], Mapping[Any, Floats]]
    sum_matches: Callable[..., Floats]

    def __init__(self, gold: Sequence[Sequence[Any]], answered: Sequence[Sequence[Any]]) -> None:
        self.elements = [[item for items in side for item in items] for side in (gold, answered)]
        self.ends = [np.array([0, *accumulate(map(len, side))]) for side in (gold, answered)]
        self.n_cells = len(self.elements[0]) * len(self.elements[1])
        self.whole = self.cross(*self.elements) if self.n_cells <= CELLS_AT_ONCE or len(gold) == 1 else None

    def bounds(self, lists: slice) -> tuple[Any, Any]:
        """Return the ends of some gold lists among their elements, and those of the answered ones."""
        return self.ends[0][lists.start : lists.stop + 1] - self.ends[0][lists.start], self.ends[1]

    def totals(self) -> dict[Any, Floats]:
        """Return the sums of each pair of lists by name, a x b."""
        lone = [self.lone(side) for side in (0, 1)]
        totals: dict[Any, Floats] = {}
        shape = tuple(len(ends) - 1 for ends in self.ends)
        for lists, grid in self._blocks():
            part = slice(self.ends[0][lists.start], self.ends[0][lists.stop])
            sums = {name: 0.0 for names in lone for name in names} | grid.totals()
            layers = np.array([np.broadcast_to(cells, grid.shape) for cells in sums.values()], dtype=np.float64)
            for side, place in ((0, np.s_[part, None]), (1, np.s_[None, :])):
                for name, costs in lone[side].items():
                    layers[list(sums).index(name)] -= costs[place]
            for name, total in zip(sums, self.sum_matches(sums, layers, part, lists), strict=True):
                totals.setdefault(name, np.zeros(shape))[lists] = total
        for side, sums_of in enumerate(lone):
            for name, costs in sums_of.items():
                alone = block_sums(costs[None, :], np.array([0, 1]), self.ends[side])[0]
                totals[name] += alone[:, None] if side == 0 else alone[None, :]
        return totals

    def _blocks(self) -> Iterator[tuple[slice, Grid]]:
        """Yield (some gold lists, their elements crossed with all answered ones), as many at once as memory allows."""
        n, ends = len(self.ends[0]) - 1, self.ends[0]
        if self.whole is not None:
            yield slice(0, n), self.whole
            return
        first = 0
        while first < n:
            last = first + 1
            while last < n and (ends[last + 1] - ends[first]) * self.ends[1][-1] <= CELLS_AT_ONCE:
                last += 1
            yield slice(first, last), self.cross(self.elements[0][ends[first] : ends[last]], self.elements[1])
            first = last


def matched_sums(layers: Floats, weights: Floats, ends: tuple[Any, Any]) -> Floats:
    """Return the sums of each layer over the pairs of the assignment with the largest sum of weights, for each pair of lists.

    Pairs without a weight above 0 are none. `ends` are the bounds of the lists.
    """
    totals = np.zeros((len(layers), len(ends[0]) - 1, len(ends[1]) - 1))
    for above, left, down, chosen in block_assignments(weights, *ends):
        places = down[:, None, :], chosen
        matched_layers = layers[:, *places] * ((chosen >= 0) & (weights[places] > 0))
        totals[:, above[:, None], left[None, :]] = matched_layers.sum(axis=3)
    return totals
